"""What is published of a table with a set-valued column: groups of quasi-identifiers, and within each its own parts.

A `MixedRelease` is a release of the table (groups) and, for every row, the parts that its items are published as. Rows
are the distinct pairs of a group and a basket. A part is an item, a node of the item tree, or a set `{a, b}`, and
stands for "one or more of these"; an item may be published as one part in one group and as another in the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sfumato.arrays import Codes, Counts
from sfumato.mixed.anonymizers.placed import Placed
from sfumato.mixed.mixed_table import MixedTable
from sfumato.quiet import Quiet
from sfumato.release import Release
from sfumato.table import Hierarchy, weighted_counts
from sfumato.table.hierarchies.hierarchy import ROOT
from sfumato.transactions.baskets import Baskets, rows_once, taken_rows
from sfumato.transactions.recoding import set_label

SUPPRESSED = -1


@dataclass(frozen=True, eq=False, repr=False)
class ItemParts(Quiet):
    """Everything that stands for items somewhere in a release, each once."""

    labels: tuple[str, ...]
    sizes: Counts
    """How many items each stands for: leaves under its node in the tree, else its members."""

    starts: Counts
    items: Codes
    """Part p stands for the items `items[starts[p] : starts[p + 1]]`, of those that occur in the data."""

    domain: int
    """How many items there are: leaves of the tree, else the items that occur."""

    def members(self, part: int) -> tuple[int, ...]:
        """Return the items of a part."""
        return tuple(self.items[self.starts[part] : self.starts[part + 1]].tolist())


@dataclass
class PartsInUse:
    """Parts while a release is made: every set of items and every node gets its number when it first comes up."""

    baskets: Baskets
    tree: Hierarchy | None
    """The tree whose nodes are published by their names; None where none is given."""

    labels: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    members: list[tuple[int, ...]] = field(default_factory=list)
    _numbers: dict[object, int] = field(default_factory=dict)

    @cached_property
    def _taken(self) -> frozenset[str]:
        """What no set may look like: items, and nodes of the tree."""
        nodes = () if self.tree is None else self.tree.nodes.values()
        return frozenset((*self.baskets.items, *nodes))

    @cached_property
    def nodes(self) -> dict[str, tuple[int, int]]:
        """The interval of leaves of every node of the tree, by its name."""
        return {} if self.tree is None else {label: interval for interval, label in self.tree.nodes.items()}

    @property
    def domain(self) -> int:
        """How many items there are: leaves of the tree, else the items that occur."""
        return len(self.baskets.items) if self.tree is None else self.tree.size

    def item(self, item: int) -> int:
        """Return the part that is an item by itself."""
        return self.of_set((item,))

    def of_set(self, members: tuple[int, ...]) -> int:
        """Return the part that is a set of items."""
        if members not in self._numbers:
            labels = [self.baskets.items[code] for code in members]
            self._add(members, set_label(labels, self._taken), len(members), members)
        return self._numbers[members]

    def of_node(self, label: str) -> int:
        """Return the part that is a node of the tree."""
        if label not in self._numbers:
            first, last = self.nodes[label]
            leaf = self.baskets.leaf
            below = tuple(np.flatnonzero((leaf >= first) & (leaf <= last)).tolist())
            self._add(label, label, last - first + 1, below)
        return self._numbers[label]

    def of_all(self) -> int:
        """Return the part that stands for every item."""
        if ROOT in self.nodes:
            return self.of_node(ROOT)
        everything = tuple(range(len(self.baskets.items)))
        if ROOT in self.baskets.places:
            return self.of_set(everything)
        if ROOT not in self._numbers:
            self._add(ROOT, ROOT, len(everything), everything)
        return self._numbers[ROOT]

    def _add(self, key: object, label: str, size: int, members: tuple[int, ...]) -> None:
        self._numbers[key] = len(self.labels)
        self.labels.append(label)
        self.sizes.append(size)
        self.members.append(members)

    def done(self) -> ItemParts:
        """Return all parts that came up."""
        lengths = [len(members) for members in self.members]
        items = np.fromiter((code for members in self.members for code in members), np.int32, sum(lengths))
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        assert len(set(self.labels)) == len(self.labels), "two different parts would look the same"
        return ItemParts(tuple(self.labels), np.array(self.sizes, np.int64), starts, items, self.domain)


@dataclass(frozen=True, eq=False, repr=False)
class MixedRelease(Quiet):
    """What is published of a table with a set-valued column, record by record."""

    data: MixedTable
    relational: Release
    placed: Placed
    """Which records of which pair of cell and basket are in which group."""

    group: Counts
    basket: Counts
    count: Counts
    """The rows: the distinct pairs of a group and a basket, by group and basket, and how many records each has."""

    parts: ItemParts
    part: Codes
    """For every item of every row's basket, one row after the other, what it is published as; -1 where it is not."""

    maker: str = ""

    def __post_init__(self) -> None:
        assert len(self.part) == int(self.lengths.sum()), (
            "every item of every row is published as something or left out"
        )

    @property
    def records(self) -> int:
        """The number of records that are published."""
        return int(self.count.sum())

    @cached_property
    def lengths(self) -> Counts:
        """How many items the basket of every row has."""
        return self.data.baskets.lengths[self.basket]

    @cached_property
    def items(self) -> Codes:
        """The items of every row's basket, one row after the other, as `part` has them."""
        return taken_rows(self.data.baskets.starts, self.data.baskets.codes, self.basket)[1]

    @cached_property
    def row_of_item(self) -> Counts:
        """The row of each of them."""
        return np.repeat(np.arange(len(self.count)), self.lengths)

    @cached_property
    def shown(self) -> tuple[Counts, Codes]:
        """What every row shows: its parts, each once, ascending, as a ragged array."""
        return rows_once(self.row_of_item, self.part, len(self.count))

    @cached_property
    def part_supports(self) -> Counts:
        """How many records of the file show each part."""
        starts, codes = self.shown
        return weighted_counts(codes, np.repeat(self.count, np.diff(starts)), len(self.parts.labels))

    @cached_property
    def suppressed_occurrences(self) -> int:
        """How many items of published records are left out."""
        return int(self.count[self.row_of_item[self.part == SUPPRESSED]].sum())

    @cached_property
    def suppressed_items(self) -> Counts:
        """The items that are left out of some published record."""
        return np.unique(self.items[self.part == SUPPRESSED])

    @cached_property
    def is_one_way(self) -> bool:
        """Whether every item is published in one way within each group, or left out of all its records."""
        keys = self.group[self.row_of_item] * max(len(self.data.baskets.items), 1) + self.items
        ways = np.unique(np.stack([keys, self.part], axis=1), axis=0)
        return len(ways) == len(np.unique(keys))

    @cached_property
    def rows_of_placed(self) -> Counts:
        """For every entry of `placed` its row."""
        width = self.data.baskets.distinct
        keys = self.group * width + self.basket
        return np.searchsorted(keys, self.placed.group * width + self.data.pairs.basket[self.placed.pair])


def rows_of(data: MixedTable, entries: Placed) -> tuple[Counts, Counts, Counts]:
    """Gather placed pairs to rows: the distinct pairs of a group and a basket, in order, with their records."""
    width = data.baskets.distinct
    keys, number = np.unique(entries.group * width + data.pairs.basket[entries.pair], return_inverse=True)
    return keys // width, keys % width, weighted_counts(number.ravel(), entries.count, len(keys))
