"""Which items may be published together: utility constraints (Loukides, Gkoulalas-Divanis & Malin 2011).

What items are worth to their owner: the weights w and the penalties Y of UL (Loukides et al. 2011), from a file.

One line for an item, some items or a node of the tree: names, a colon, a weight, and perhaps a penalty:

    250.01 250.02: 3
    290-319: 2 10

A published part weighs the mean of its items' weights; an item that is left out costs its penalty for every record that
has it. Where nothing is said a weight is 1, and a penalty 1: as much as everything published as one. The papers leave
both to the owner; that a part weighs the mean of its items is ours.

How much may be left out of a release of baskets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from sfumato.config.options import Configured, Option, parse
from sfumato.data.items import Baskets
from sfumato.errors import BadInputError
from sfumato.requirements.item_lists import itemsets_of, lines_of, named_items, names_in
from sfumato.requirements.items import FILE
from sfumato.runtime.arrays import Codes, Numbers
from sfumato.texts.format import percent


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


LARGEST = 1e9


@dataclass(frozen=True, eq=False)
class ItemWeights:
    """For every item its weight, and what it costs to leave it out of a record."""

    weights: Numbers
    penalties: Numbers
    may_choose: bool = True
    """Whether a maker may leave items out that could be published with others; not where the limit is another's."""

    def of_some(self, items: Codes) -> ItemWeights:
        """Return what some items are worth, to a maker that sees only these and leaves out no more than it must."""
        return ItemWeights(self.weights[items], self.penalties[items], may_choose=False)


def read_weights(baskets: Baskets, file: str) -> ItemWeights:
    """Read the weights of items; an item that stands in two lines, or a number that is none, is an error."""
    lines, mark = lines_of(baskets, file)
    worth = ItemWeights(np.ones(len(baskets.items)), np.ones(len(baskets.items)))
    seen: dict[int, int] = {}
    for number, text in lines:
        names, colon, rest = text.rpartition(":")
        values = [_positive(part) for part in rest.split()]
        if not colon or not names.strip() or len(values) not in (1, 2) or None in values:
            raise BadInputError(
                f"{file}, line {number}: a line has items, a colon, a weight above 0 and perhaps a penalty above 0; "
                "write for example 250.01 250.02: 3 10"
            )
        for code in named_items(baskets, names_in(baskets, names, mark), f"{file}, line {number}"):
            if code in seen:
                raise BadInputError(
                    f"{file}, line {number}: the item {baskets.items[code]!r} is in line {seen[code]} already; an "
                    "item has one weight"
                )
            seen[code] = number
            worth.weights[code], worth.penalties[code] = values[0], values[-1] if len(values) == 2 else 1.0
    return worth


def _positive(text: str) -> float | None:
    """Read a number above 0; nothing where it is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value <= LARGEST else None


@dataclass(frozen=True)
class SuppressionLimit(Configured):
    """How much may be left out: a share of the items, or of their occurrences in records."""

    share: Annotated[float, Option("The largest share that may be left out.", least=0, most=1)] = 0.0
    of: Annotated[Literal["items", "occurrences"], Option("Of the items, or of their occurrences in records.")] = (
        "items"
    )
    name: ClassVar[str] = "suppression"

    def used(self, baskets: Baskets, suppressed: Iterable[int]) -> float:
        """Return the share that suppressing these items takes."""
        gone = np.fromiter(suppressed, np.int64)
        if self.of == "items":
            return len(gone) / max(len(baskets.items), 1)
        return float(baskets.supports[gone].sum()) / max(baskets.occurrences, 1)

    def shares(self, baskets: Baskets) -> Numbers:
        """Return for every item how much of all its suppression takes."""
        if self.of == "items":
            return np.full(len(baskets.items), 1 / max(len(baskets.items), 1))
        return baskets.supports / max(baskets.occurrences, 1)

    def allows(self, share: float) -> bool:
        """Say whether a share is within the limit."""
        return share <= self.share + 1e-9

    def rule_in_words(self) -> str:
        """Say how much may be left out."""
        return f"at most {percent(self.share, 3)} of the {self.of} left out"


def suppression_limit(text: str) -> SuppressionLimit:
    """Read a limit from its text form, such as `suppression share=.05 of=occurrences`."""
    return parse(text, (SuppressionLimit,), "limit")
