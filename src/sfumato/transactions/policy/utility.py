"""Which items may be published together: utility constraints (Loukides, Gkoulalas-Divanis & Malin 2011)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from sfumato.arrays import Codes
from sfumato.configuration import Configured, Option, parse
from sfumato.errors import BadInputError
from sfumato.transactions.baskets import Baskets
from sfumato.transactions.policy.item_lists import itemsets_of
from sfumato.transactions.policy.requirements import FILE


@dataclass(frozen=True)
class UtilityConstraints(Configured):
    """Which items may be published together: those of one line of a file, or under one node of a level of the tree.

    An item that no line names is on its own: it is published as it is or not at all; or all these may be published
    together, as a group of their own.
    """

    file: Annotated[str | None, Option("A file: the items of a line may be published together.", takes="file")] = None
    level: Annotated[
        int | None,
        Option("A level of the tree of items, counted from the leaves (1: the nodes just above the items).", least=0),
    ] = None

    rest: Annotated[
        Literal["alone", "together"],
        Option("Whether items that no line of the file names stay alone, or may be published together."),
    ] = "alone"

    name: ClassVar[str] = "utility-constraints"
    example: ClassVar[str | None] = "utility-constraints file=groups.txt, or utility-constraints level=1"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.file is None) == (self.level is None):
            raise BadInputError(f"utility-constraints need either a file or a level of the tree; write {self.example}")
        if self.rest == "together" and self.file is None:
            raise BadInputError(
                "rest=together is about items that no line of a file names, and a level of the tree has a node for "
                "every item; leave it out, or give a file"
            )

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
        unnamed = np.flatnonzero(blocks < 0)
        others = np.zeros(len(unnamed)) if self.rest == "together" else np.arange(len(unnamed))
        blocks[unnamed] = int(blocks.max(initial=0)) + 1 + others
        return blocks

    @property
    def public(self) -> UtilityConstraints:
        """The same without the name of a file."""
        return self if self.file is None else replace(self, file=FILE)

    def in_words(self) -> str:
        """Say which items are published together only."""
        where = f"a line of {self.file}" if self.file else f"a node of level {self.level} of the item tree"
        rest = ", and the items in no line" if self.rest == "together" else ""
        return f"items published together only within {where}{rest}"


def utility_constraints(text: str) -> UtilityConstraints:
    """Read utility constraints from their text form, such as `utility-constraints level=2`."""
    return parse(text, (UtilityConstraints,), "utility constraint")
