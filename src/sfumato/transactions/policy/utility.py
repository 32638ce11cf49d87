"""Which items may be published together: utility constraints (Loukides, Gkoulalas-Divanis & Malin 2011)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sfumato.arrays import Codes
from sfumato.configuration import Configured, Option, parse
from sfumato.errors import BadInputError
from sfumato.transactions.baskets import Baskets
from sfumato.transactions.policy.item_lists import itemsets_of


@dataclass(frozen=True)
class UtilityConstraints(Configured):
    """Which items may be published together: those of one line of a file, or under one node of a level of the tree.

    An item that no line names is on its own: it is published as it is or not at all.
    """

    file: Annotated[str | None, Option("A file: the items of a line may be published together.", takes="file")] = None
    level: Annotated[
        int | None,
        Option("A level of the tree of items, counted from the leaves (1: the nodes just above the items).", least=0),
    ] = None

    name: ClassVar[str] = "utility-constraints"
    example: ClassVar[str | None] = "utility-constraints file=groups.txt, or utility-constraints level=1"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.file is None) == (self.level is None):
            raise BadInputError(f"utility-constraints need either a file or a level of the tree; write {self.example}")

    def blocks(self, baskets: Baskets) -> Codes:
        """Say for every item which block it belongs to; items may be generalized within their block only."""
        return self._blocks_of_level(baskets) if self.file is None else self._blocks_of_file(baskets, self.file)

    def _blocks_of_level(self, baskets: Baskets) -> Codes:
        assert self.level is not None
        if baskets.tree is None:
            raise BadInputError(f"{self} needs a tree of items, and there is none; give one (--tree), or a file")
        if self.level > baskets.tree.height:
            raise BadInputError(f"{self}: the tree of items has levels 0 (items) to {baskets.tree.height} (everything)")
        return np.asarray(baskets.tree.ancestors[self.level][baskets.leaf], np.int32)

    def _blocks_of_file(self, baskets: Baskets, file: str) -> Codes:
        blocks = np.full(len(baskets.items), -1, np.int32)
        lines: dict[int, int] = {}
        for line, codes in itemsets_of(baskets, file):
            for code in codes:
                if code in lines:
                    raise BadInputError(
                        f"{file}, line {line}: the item {baskets.items[code]!r} is in line {lines[code]} already; "
                        "an item has one group"
                    )
                lines[code] = blocks[code] = line
        alone = blocks < 0
        blocks[alone] = int(blocks.max(initial=0)) + 1 + np.arange(alone.sum())
        return blocks


def utility_constraints(text: str) -> UtilityConstraints:
    """Read utility constraints from their text form, such as `utility-constraints level=2`."""
    return parse(text, (UtilityConstraints,), "utility constraint")
