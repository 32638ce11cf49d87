"""Published items: each as its part, or suppressed; of baskets, or within groups of a table.

A `Recoding` is a partition of the items with a suppressed rest; a published part means "one or more of these items". A
`BasketRelease` applies one recoding to all baskets (AA, COAT, PCTA) or a different one to each *piece* of them (LRA,
Partition). A `MixedRelease` is a release of the table (groups) and, for each row, the parts of its items; rows are the
distinct pairs of a group and a basket. A part is an item, a node of the item tree, or a set `{a, b}`; an item may have
different parts in different groups.

`Placed` assigns the records of a cell to groups. A maker of tables returns numbers of records. If a cell is divided, or
partly suppressed, its records differ in their baskets. They are assigned in the order of a digest of their basket,
keyed by the digest of the whole data. So the same data give the same release, and the order of rows does not matter. An
analyst, who knows neither the data nor that digest, learns nothing about a basket from its group. An order by the
baskets themselves would reveal which items are in which group.
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
from sfumato.runtime.arrays import Codes, Counts, RedactedRepr

SUPPRESSED = -1


@dataclass(frozen=True, eq=False, repr=False)
class Recoding(RedactedRepr):
    """The part of each item, and the labels of parts."""

    parts: Codes
    """The part of each item, `SUPPRESSED` (-1) if it is not published. Parts are numbered by their first item."""

    labels: tuple[str, ...]
    """The published text of each part: the item itself, a node of the tree, or a set `{a, b}`."""

    leaves: Counts
    """The number of items of each part: leaves under its node in the tree, else its members."""

    domain: int
    """The number of items: leaves of the tree, else the items that occur."""

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
        """For each part its occurring items."""
        ends, items = self.members_by_part
        return tuple(tuple(items[ends[part] : ends[part + 1]].tolist()) for part in range(self.size))

    @cached_property
    def sizes(self) -> Counts:
        """For each part the number of its occurring items."""
        return weighted_counts(self.parts[self.parts >= 0], None, self.size)


def numbered(keys: NDArray[np.integer]) -> Codes:
    """Number the parts of items with equal keys, in the order of their first item; a negative key is suppressed."""
    kept = keys >= 0
    parts = np.full(len(keys), SUPPRESSED, np.int32)
    parts[kept] = number_numbers(keys[kept].astype(np.int64))[1]
    return parts


def set_recoding(items: Sequence[str], keys: NDArray[np.integer]) -> Recoding:
    """Publish items with equal keys as their set (set-based generalization); negative keys are suppressed.

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
    """Return the text of a set, different from all known items; a single item is itself."""
    if len(members) == 1:
        return members[0]
    written = set_text(members, with_missing=False)
    if written in known:
        written = set_text(members, with_missing=False, quote_all=True)
    while written in known:  # an item that looks like a set
        written = written[:-1] + ",}"
    return written


@dataclass(frozen=True, eq=False, repr=False)
class Recoded(RedactedRepr):
    """Published sets of items: rows of records with the same items, each part once per row."""

    starts: Counts
    codes: Codes
    """Parts, ascending within a row, by their index in `labels`."""

    weights: Counts
    """The number of records of each row."""

    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class ItemParts(RedactedRepr):
    """All parts of a release, each once."""

    labels: tuple[str, ...]
    sizes: Counts
    """The number of items of each: leaves under its node in the tree, else its members."""

    starts: Counts
    items: Codes
    """Part p has the items `items[starts[p] : starts[p + 1]]`, of those that occur in the data."""

    domain: int
    """The number of items: leaves of the tree, else the items that occur."""

    def __post_init__(self) -> None:
        for array in (self.sizes, self.starts, self.items):
            array.setflags(write=False)

    def members(self, part: int) -> Codes:
        """Return the occurring items of a part."""
        return self.items[self.starts[part] : self.starts[part + 1]]


class ShowsItems(RedactedRepr):
    """The content of a file with items: rows of records with the same items, and the published form of each item.

    A part has the same items in all rows, so an analyst need not know the pieces.
    """

    if TYPE_CHECKING:  # fields, or properties

        @property
        def baskets(self) -> Baskets:
            """The sets of items."""

        @property
        def data(self) -> Baskets | MixedTable:
            """The data: sets of items, or a table with these."""

    basket: Counts
    """For each row its set of items."""

    count: Counts
    """For each row its number of records."""

    parts: ItemParts
    part: Codes
    """For each item of each row's set, concatenated, its part; -1 if it is suppressed."""

    @property
    def persons(self) -> RowPersons | None:
        """Whose the rows are, where a person may have several records."""
        return self.baskets.persons

    @cached_property
    def lengths(self) -> Counts:
        """The number of items of each row's set."""
        return self.baskets.lengths[self.basket]

    @cached_property
    def items(self) -> Codes:
        """The items of each row's set, concatenated like `part`."""
        return taken_rows(self.baskets.starts, self.baskets.codes, self.basket)[1]

    @cached_property
    def row_of_item(self) -> Counts:
        """The row of each of them."""
        return np.repeat(np.arange(len(self.count)), self.lengths)

    @cached_property
    def shown(self) -> tuple[Counts, Codes]:
        """The parts of each row, each once, ascending, as a ragged array."""
        return rows_once(self.row_of_item, self.part, len(self.count))

    @cached_property
    def recoded(self) -> Recoded:
        """The published rows."""
        return Recoded(*self.shown, self.count, self.labels)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of parts, each once."""
        return self.parts.labels

    @cached_property
    def part_supports(self) -> Counts:
        """The number of records of the file with each part."""
        starts, codes = self.shown
        return weighted_counts(codes, np.repeat(self.count, np.diff(starts)), len(self.labels))

    @cached_property
    def suppressed_occurrences(self) -> int:
        """The number of suppressed items of published records."""
        return int(self.count[self.row_of_item[self.part == SUPPRESSED]].sum())

    @cached_property
    def unpublished(self) -> Counts:
        """The items that no record shows although some have them."""
        published = np.zeros(len(self.baskets.items), np.bool_)
        published[self.items[self.part >= 0]] = True
        return np.flatnonzero((self.baskets.supports > 0) & ~published)

    def to_csv(self, path: str | Path, force: bool = False, **options: Any) -> list[Path]:
        """Write the release as CSV, with its legend if it needs one, all or nothing; data only."""
        from sfumato.release.writing_items import write_items

        return write_items(self, path, force=force, **options)


class PublishedParts(NamedTuple):
    """The published forms of the items of sets, concatenated."""

    parts: ItemParts
    part: Codes
    withheld: tuple[tuple[int, Counts], ...] = ()
    """The pieces that suppress items, with these items."""


class PieceRecodings(Sequence[Recoding], ABC):
    """The recodings of very many pieces, made on demand: stored, they would be pieces x items."""

    @abstractmethod
    def published(self) -> PublishedParts:
        """Return the published content without making the recodings."""


def published_by(baskets: Baskets, recodings: Sequence[Recoding], piece: Codes) -> PublishedParts:
    """Return what recodings publish of the baskets of their pieces."""
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
    """Baskets and their published form."""

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
        """Whether an item has the same published form in all baskets."""
        return len(self.recodings) == 1

    @property
    def recoding(self) -> Recoding:
        """The one recoding of a global release."""
        assert self.is_global, "a release of several pieces has a recoding for each"
        return self.recodings[0]

    @cached_property
    def _published(self) -> PublishedParts:
        """The published content; linear in the baskets, for any number of pieces."""
        if isinstance(self.recodings, PieceRecodings):
            return self.recodings.published()
        return published_by(self.baskets, self.recodings, self.piece)

    @property
    def parts(self) -> ItemParts:  # type: ignore[override]
        """All parts, each once."""
        return self._published.parts

    @property
    def part(self) -> Codes:  # type: ignore[override]
        """For each item of each set its part; -1 if it is suppressed."""
        return self._published.part

    @property
    def withheld(self) -> tuple[tuple[int, Counts], ...]:
        """The pieces that suppress items, with these items."""
        return self._published.withheld

    @property
    def data(self) -> Baskets:
        """The sets of items, which are the whole data."""
        return self.baskets

    @cached_property
    def basket(self) -> Counts:  # type: ignore[override]
        """For each row its set of items."""
        return np.arange(self.baskets.distinct)

    @property
    def count(self) -> Counts:  # type: ignore[override]
        """For each row its number of records."""
        return self.baskets.weights

    @property
    def items(self) -> Codes:
        """The items of each row."""
        return self.baskets.codes

    def published_in(self, piece: int) -> Codes:
        """Return the label of each item in one piece, by its index in `labels`; -1 if no record can show it."""
        place = {label: number for number, label in enumerate(self.labels)}
        recoding = self.recodings[piece]
        numbers = np.array([*(place.get(label, SUPPRESSED) for label in recoding.labels), SUPPRESSED], np.int32)
        return numbers[recoding.parts]


def global_release(baskets: Baskets, recoding: Recoding, maker: str = "") -> BasketRelease:
    """Publish all baskets under one recoding."""
    return BasketRelease(baskets, (recoding,), np.zeros(baskets.distinct, np.int32), maker)


@dataclass(frozen=True, eq=False, repr=False)
class Placed(RedactedRepr):
    """The groups of the records of pairs: `count` records of `pair` go to `group`; the rest is suppressed."""

    pair: Counts
    group: Counts
    count: Counts


def placed(data: MixedTable, assignment: Assignment) -> Placed:
    """Return for each pair of a cell and a basket the numbers of records in groups."""
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
    """Assign the pairs of one cell to groups, so many records to each, in the order of their digests."""
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
    """Parts of a release in construction: each set of items and each node gets its number at its first use."""

    baskets: Baskets
    tree: Hierarchy | None
    """The tree whose nodes are published by name; None without one."""

    labels: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    members: list[tuple[int, ...]] = field(default_factory=list)
    _numbers: dict[object, int] = field(default_factory=dict)

    @cached_property
    def _taken(self) -> frozenset[str]:
        """The texts that no set may equal: items, and nodes of the tree."""
        nodes = () if self.tree is None else self.tree.nodes.values()
        return frozenset((*self.baskets.items, *nodes))

    @cached_property
    def nodes(self) -> dict[str, tuple[int, int]]:
        """The interval of leaves of each node of the tree, by its name."""
        return {} if self.tree is None else {label: interval for interval, label in self.tree.nodes.items()}

    @property
    def domain(self) -> int:
        """The number of items: leaves of the tree, else the items that occur."""
        return len(self.baskets.items) if self.tree is None else self.tree.size

    def item(self, item: int) -> int:
        """Return the part of a single item."""
        return self.of_set((item,))

    def of_set(self, members: tuple[int, ...]) -> int:
        """Return the part of a set of items."""
        if members not in self._numbers:
            labels = [self.baskets.items[code] for code in members]
            self._add(members, set_label(labels, self._taken), len(members), members)
        return self._numbers[members]

    def of_node(self, label: str) -> int:
        """Return the part of a node of the tree."""
        if label not in self._numbers:
            first, last = self.nodes[label]
            leaf = self.baskets.leaf
            below = tuple(np.flatnonzero((leaf >= first) & (leaf <= last)).tolist())
            self._add(label, label, last - first + 1, below)
        return self._numbers[label]

    def of_all(self) -> int:
        """Return the part of all items."""
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
        """Return all used parts."""
        lengths = [len(members) for members in self.members]
        items = np.fromiter((code for members in self.members for code in members), np.int32, sum(lengths))
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        assert len(set(self.labels)) == len(self.labels), "two different parts would look the same"
        return ItemParts(tuple(self.labels), np.array(self.sizes, np.int64), starts, items, self.domain)


@dataclass(frozen=True, eq=False, repr=False)
class MixedRelease(ShowsItems):
    """The published form of a table with items, record by record."""

    kind: ClassVar[str] = "items"

    data: MixedTable
    relational: Release
    placed: Placed
    """The groups of the records of each pair of cell and basket."""

    group: Counts
    basket: Counts
    count: Counts
    """The rows: the distinct pairs of a group and a basket, by group and basket, with their numbers of records."""

    parts: ItemParts
    part: Codes
    """For each item of each row's basket, concatenated, its part; -1 if it is suppressed."""

    maker: str = ""

    def __post_init__(self) -> None:
        assert len(self.part) == int(self.lengths.sum()), (
            "every item of every row is published as something or left out"
        )

    @property
    def records(self) -> int:
        """The number of published records."""
        return int(self.count.sum())

    @property
    def baskets(self) -> Baskets:
        """The sets of items."""
        return self.data.baskets

    @cached_property
    def suppressed_items(self) -> Counts:
        """The items that are suppressed in some published record."""
        return np.unique(self.items[self.part == SUPPRESSED])

    @cached_property
    def is_one_way(self) -> bool:
        """Whether each item has one published form within each group, or is suppressed in all its records."""
        keys = self.group[self.row_of_item] * max(len(self.data.baskets.items), 1) + self.items
        ways = np.unique(np.stack([keys, self.part], axis=1), axis=0)
        return len(ways) == len(np.unique(keys))

    @cached_property
    def rows_of_placed(self) -> Counts:
        """For each entry of `placed` its row."""
        width = self.data.baskets.distinct
        keys = self.group * width + self.basket
        return np.searchsorted(keys, self.placed.group * width + self.data.pairs.basket[self.placed.pair])


def rows_of(data: MixedTable, entries: Placed) -> tuple[Counts, Counts, Counts]:
    """Aggregate placed pairs to rows: the distinct pairs of a group and a basket, in order, with their records."""
    width = data.baskets.distinct
    keys, number = np.unique(entries.group * width + data.pairs.basket[entries.pair], return_inverse=True)
    return keys // width, keys % width, weighted_counts(number.ravel(), entries.count, len(keys))
