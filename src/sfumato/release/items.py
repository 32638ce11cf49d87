"""What is published of items: each as the part it belongs to, or not at all; of baskets, or within groups of a table.

A `Recoding` is a partition of the items and a suppressed rest; a published part stands for "one or more of these
items". A `BasketRelease` applies one recoding to all baskets (AA, COAT, PCTA) or to each *piece* of them its own (LRA,
Partition). A `MixedRelease` is a release of the table (groups) and, for every row, the parts that its items are
published as; rows are the distinct pairs of a group and a basket. A part is an item, a node of the item tree, or a set
`{a, b}`; an item may be published as one part in one group and as another in the next.

`Placed` says which records of a cell go to which group. A maker of tables says how many do. Where a cell is divided, or
some of its records are left out, its records differ in their baskets. They are dealt out in the order of a digest of
their basket that is keyed by the digest of the whole data: the same data give the same release, the order of rows does
not matter, and a reader, who knows neither the data nor that digest, learns nothing of a basket from its group. An
order by the baskets themselves would tell which items are in which group.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.data.cells import Assignment, number_numbers, weighted_counts
from sfumato.data.dataset import MixedTable
from sfumato.data.hierarchies.hierarchy import ROOT, Hierarchy
from sfumato.data.hierarchies.notation import set_text
from sfumato.data.items import Baskets, RowPersons, rows_once, taken_rows
from sfumato.release.release import Release
from sfumato.runtime.arrays import Codes, Counts, Quiet

SUPPRESSED = -1


@dataclass(frozen=True, eq=False, repr=False)
class Recoding(Quiet):
    """For every item the part it is published as, and what the parts are called."""

    parts: Codes
    """For every item its part, `SUPPRESSED` (-1) where it is not published. Parts are numbered by their first item."""

    labels: tuple[str, ...]
    """What stands in the file for every part: the item itself, a node of the tree, or a set `{a, b}`."""

    leaves: Counts
    """How many items every part stands for: leaves under its node in the tree, else its members."""

    domain: int
    """How many items there are: leaves of the tree, else the items that occur."""

    def __post_init__(self) -> None:
        self.parts.setflags(write=False)
        self.leaves.setflags(write=False)
        assert len(set(self.labels)) == len(self.labels), "two different parts would look the same"

    @property
    def size(self) -> int:
        """The number of parts."""
        return len(self.labels)

    @cached_property
    def suppressed(self) -> Counts:
        """The items that are not published."""
        return np.flatnonzero(self.parts == SUPPRESSED)

    @cached_property
    def members_by_part(self) -> tuple[Counts, Codes]:
        """The items (those that occur) of part p are `items[ends[p] : ends[p + 1]]`: ends and items."""
        order = np.argsort(self.parts, kind="stable").astype(np.int32)
        return np.searchsorted(self.parts[order], np.arange(self.size + 1)), order

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """For every part its items (those that occur)."""
        ends, items = self.members_by_part
        return tuple(tuple(items[ends[part] : ends[part + 1]].tolist()) for part in range(self.size))

    @cached_property
    def sizes(self) -> Counts:
        """How many of the items that occur every part has."""
        return weighted_counts(self.parts[self.parts >= 0], None, self.size)


def numbered(keys: NDArray[np.integer]) -> Codes:
    """Number the parts that items share a key with, in the order of their first item; a negative key is suppressed."""
    kept = keys >= 0
    parts = np.full(len(keys), SUPPRESSED, np.int32)
    parts[kept] = number_numbers(keys[kept].astype(np.int64))[1]
    return parts


def set_recoding(items: Sequence[str], keys: NDArray[np.integer]) -> Recoding:
    """Publish items with the same key as the set of them (set-based generalization); negative keys are suppressed.

    >>> set_recoding("abcd", np.array([7, 2, 7, -1])).labels
    ('{a, c}', 'b')
    """
    parts = numbered(keys)
    groups: list[list[str]] = [[] for _ in range(int(parts.max(initial=-1)) + 1)]
    for label, part in zip(items, parts.tolist(), strict=True):
        if part != SUPPRESSED:
            groups[part].append(label)
    known = frozenset(items)
    labels = tuple(set_label(members, known) for members in groups)
    return Recoding(parts, labels, np.array([len(members) for members in groups], np.int64), len(items))


def set_label(members: list[str], known: frozenset[str]) -> str:
    """Spell a set out, so that it looks like none of the known items; a single item is itself."""
    if len(members) == 1:
        return members[0]
    written = set_text(members, with_missing=False)
    if written in known:
        written = set_text(members, with_missing=False, quote_all=True)
    while written in known:  # an item that looks like a set
        written = written[:-1] + ",}"
    return written


@dataclass(frozen=True, eq=False, repr=False)
class Recoded(Quiet):
    """Sets of items as they are published: rows of records with the same items, every part once per row."""

    starts: Counts
    codes: Codes
    """Parts, ascending within a row, by their place in `labels`."""

    weights: Counts
    """How many records every row stands for."""

    labels: tuple[str, ...]


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

    def __post_init__(self) -> None:
        for array in (self.sizes, self.starts, self.items):
            array.setflags(write=False)

    def members(self, part: int) -> Codes:
        """Return the items (of those that occur) that a part stands for."""
        return self.items[self.starts[part] : self.starts[part + 1]]


class ShowsItems(Quiet):
    """What stands in a file of items: rows of records with the same items, and what each item became.

    A part stands for the same items in all rows, so a reader need not know of pieces.
    """

    if TYPE_CHECKING:  # fields, or properties

        @property
        def baskets(self) -> Baskets:
            """The sets of items."""

        @property
        def data(self) -> Baskets | MixedTable:
            """The data: sets of items, or a table with these."""

    basket: Counts
    """For every row its set of items."""

    count: Counts
    """For every row its records."""

    parts: ItemParts
    part: Codes
    """For every item of every row's set, one row after the other, what it is published as; -1 where it is not."""

    @property
    def persons(self) -> RowPersons | None:
        """Whose the rows are, where a person may have several records."""
        return self.baskets.persons

    @cached_property
    def lengths(self) -> Counts:
        """How many items the set of every row has."""
        return self.baskets.lengths[self.basket]

    @cached_property
    def items(self) -> Codes:
        """The items of every row's set, one row after the other, as `part` has them."""
        return taken_rows(self.baskets.starts, self.baskets.codes, self.basket)[1]

    @cached_property
    def row_of_item(self) -> Counts:
        """The row of each of them."""
        return np.repeat(np.arange(len(self.count)), self.lengths)

    @cached_property
    def shown(self) -> tuple[Counts, Codes]:
        """What every row shows: its parts, each once, ascending, as a ragged array."""
        return rows_once(self.row_of_item, self.part, len(self.count))

    @cached_property
    def recoded(self) -> Recoded:
        """The published rows."""
        return Recoded(*self.shown, self.count, self.labels)

    @property
    def labels(self) -> tuple[str, ...]:
        """What stands for items, each label once."""
        return self.parts.labels

    @cached_property
    def part_supports(self) -> Counts:
        """How many records of the file show each part."""
        starts, codes = self.shown
        return weighted_counts(codes, np.repeat(self.count, np.diff(starts)), len(self.labels))

    @cached_property
    def suppressed_occurrences(self) -> int:
        """How many items of published records are left out."""
        return int(self.count[self.row_of_item[self.part == SUPPRESSED]].sum())

    @cached_property
    def unpublished(self) -> Counts:
        """The items that no record shows although some have them."""
        published = np.zeros(len(self.baskets.items), np.bool_)
        published[self.items[self.part >= 0]] = True
        return np.flatnonzero((self.baskets.supports > 0) & ~published)

    def to_csv(self, path: str | Path, force: bool = False, **options: Any) -> list[Path]:
        """Write the release as CSV, with its legend where it needs one, all or nothing; data only."""
        from sfumato.release.writing_items import write_items

        return write_items(self, path, force=force, **options)


class PublishedParts(NamedTuple):
    """What the items of sets are published as, one set after the other."""

    parts: ItemParts
    part: Codes
    withheld: tuple[tuple[int, Counts], ...] = ()
    """The pieces that leave items out, with these items."""


class PieceRecodings(Sequence[Recoding], ABC):
    """The recodings of very many pieces, each made when it is asked for: in full they would be pieces x items."""

    @abstractmethod
    def published(self) -> PublishedParts:
        """Say what stands in the file without making the recodings."""


def published_by(baskets: Baskets, recodings: Sequence[Recoding], piece: Codes) -> PublishedParts:
    """Say what recodings publish of the baskets of their pieces."""
    codes = np.full(len(baskets.codes), SUPPRESSED, np.int32)
    places: dict[str, int] = {}
    leaves: list[int] = []
    members: list[Codes] = []
    occurrences = rows_by_piece(np.repeat(piece, baskets.lengths), len(recodings))  # places in `Baskets.codes`
    for recoding, at in zip(recodings, occurrences, strict=True):
        parts = recoding.parts[baskets.codes[at]]
        labels = np.unique(parts[parts >= 0])
        numbers = np.full(recoding.size + 1, SUPPRESSED, np.int32)
        ends, items = recoding.members_by_part
        for part in labels.tolist():
            label = recoding.labels[part]
            if label not in places:
                places[label] = len(leaves)
                leaves.append(int(recoding.leaves[part]))
                members.append(items[ends[part] : ends[part + 1]])
            numbers[part] = places[label]
        codes[at] = numbers[parts]
    withheld = tuple((number, one.suppressed) for number, one in enumerate(recodings) if len(one.suppressed))
    lengths = np.array([0, *(len(items) for items in members)], np.int64)
    joined = np.concatenate(members) if members else np.zeros(0, np.int32)
    sizes, starts, items = np.array(leaves, np.int64), np.cumsum(lengths), joined.astype(np.int32)
    return PublishedParts(ItemParts(tuple(places), sizes, starts, items, recodings[0].domain), codes, withheld)


def rows_by_piece(piece: Codes, pieces: int) -> list[Counts]:
    """List for every piece its rows, ascending."""
    order = np.argsort(piece, kind="stable")
    return np.split(order, np.searchsorted(piece[order], np.arange(1, pieces)))


@dataclass(frozen=True, eq=False, repr=False)
class BasketRelease(ShowsItems):
    """Baskets and what is published of them."""

    kind: ClassVar[str] = "baskets"

    baskets: Baskets
    recodings: Sequence[Recoding]
    """One for every piece."""

    piece: Codes
    """For every distinct basket its piece."""

    maker: str = ""
    """The anonymizer that made it, as text."""

    def __post_init__(self) -> None:
        self.piece.setflags(write=False)
        assert len(self.piece) == self.baskets.distinct, "every distinct basket has one piece"
        if not isinstance(self.recodings, PieceRecodings):
            assert all(len(recoding.parts) == len(self.baskets.items) for recoding in self.recodings), (
                "every item has a part"
            )

    @property
    def is_global(self) -> bool:
        """Whether an item is published alike in all baskets."""
        return len(self.recodings) == 1

    @property
    def recoding(self) -> Recoding:
        """The one recoding of a global release."""
        assert self.is_global, "a release of several pieces has a recoding for each"
        return self.recodings[0]

    @cached_property
    def _published(self) -> PublishedParts:
        """What stands in the file; linear in the baskets, however many pieces there are."""
        if isinstance(self.recodings, PieceRecodings):
            return self.recodings.published()
        return published_by(self.baskets, self.recodings, self.piece)

    @property
    def parts(self) -> ItemParts:  # type: ignore[override]
        """Everything that stands for items, each once."""
        return self._published.parts

    @property
    def part(self) -> Codes:  # type: ignore[override]
        """For every item of every set what it is published as; -1 where it is not."""
        return self._published.part

    @property
    def withheld(self) -> tuple[tuple[int, Counts], ...]:
        """The pieces that leave items out, with these items."""
        return self._published.withheld

    @property
    def data(self) -> Baskets:
        """The sets of items, which are all the data."""
        return self.baskets

    @cached_property
    def basket(self) -> Counts:  # type: ignore[override]
        """For every row its set of items."""
        return np.arange(self.baskets.distinct)

    @property
    def count(self) -> Counts:  # type: ignore[override]
        """For every row its records."""
        return self.baskets.weights

    @property
    def items(self) -> Codes:
        """The items of every row."""
        return self.baskets.codes

    def published_in(self, piece: int) -> Codes:
        """Return for every item its label in one piece, by its place in `labels`; -1 where no record can show it."""
        place = {label: number for number, label in enumerate(self.labels)}
        recoding = self.recodings[piece]
        numbers = np.array([*(place.get(label, SUPPRESSED) for label in recoding.labels), SUPPRESSED], np.int32)
        return numbers[recoding.parts]


def global_release(baskets: Baskets, recoding: Recoding, maker: str = "") -> BasketRelease:
    """Publish all baskets under one recoding."""
    return BasketRelease(baskets, (recoding,), np.zeros(baskets.distinct, np.int32), maker)


@dataclass(frozen=True, eq=False, repr=False)
class Placed(Quiet):
    """Where the records of every pair go: `count` records of `pair` to `group`; what no entry takes is left out."""

    pair: Counts
    group: Counts
    count: Counts


def placed(data: MixedTable, assignment: Assignment) -> Placed:
    """Say of every pair of a cell and a basket how many of its records go to which group."""
    cells, pairs = data.cells, data.pairs
    starts = np.searchsorted(pairs.cell, np.arange(cells.size + 1))
    entries = np.bincount(assignment.cell, minlength=cells.size)
    taken = np.bincount(assignment.cell, assignment.count, cells.size).astype(np.int64)
    whole = (entries == 1) & (taken == cells.counts)
    group_of = np.full(cells.size, -1, np.int64)
    group_of[assignment.cell] = assignment.group
    kept = np.flatnonzero(whole[pairs.cell])
    parts = [np.stack([kept, group_of[pairs.cell[kept]], pairs.count[kept]])]
    order = np.lexsort((assignment.group, assignment.cell))
    at = np.searchsorted(assignment.cell[order], np.arange(cells.size + 1))
    divided = np.flatnonzero((entries > 0) & ~whole)
    for cell in divided.tolist():
        places = range(int(starts[cell]), int(starts[cell + 1]))
        shares = order[at[cell] : at[cell + 1]]
        parts.append(_dealt(data, places, assignment.group[shares], assignment.count[shares]))
    pair, group, count = np.concatenate(parts, axis=1)
    return Placed(pair, group, count)


def _dealt(data: MixedTable, places: range, groups: Counts, counts: Counts) -> Counts:
    """Deal the pairs of one cell out to groups, so many records to each, in the order of their digests."""
    key = bytes.fromhex(data.digest)
    labels = {place: repr(data.baskets.basket(int(data.pairs.basket[place]))).encode() for place in places}
    order = sorted(places, key=lambda place: hashlib.sha256(key + labels[place]).digest())
    left = {place: int(data.pairs.count[place]) for place in order}
    entries, at = [], 0
    for group, wanted in zip(groups.tolist(), counts.tolist(), strict=True):
        while wanted:
            place = order[at]
            number = min(wanted, left[place])
            entries.append((place, group, number))
            wanted, left[place] = wanted - number, left[place] - number
            at += left[place] == 0
    return np.array(entries, np.int64).T


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
class MixedRelease(ShowsItems):
    """What is published of a table with a set-valued column, record by record."""

    kind: ClassVar[str] = "items"

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

    @property
    def baskets(self) -> Baskets:
        """The sets of items."""
        return self.data.baskets

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
