"""Baskets: records that are sets of items (purchases, diagnoses, pages), with equal baskets counted once.

A basket is a sorted run of item codes (`starts`, `codes`), so nothing depends on the order of records or of items. An
empty basket is kept and counted as a record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.data.cells import weighted_counts
from sfumato.data.hierarchies.categorical import in_order
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.persons import PersonPairs
from sfumato.engines.protocol import Pairs
from sfumato.errors import BadInputError
from sfumato.runtime.arrays import Codes, Counts, RedactedRepr
from sfumato.runtime.kernels import kernel
from sfumato.texts.catalogue import refusal, t

SHOWN = 3
"""The most items that a message names."""


class RowPersons(NamedTuple):
    """Whose the records of rows are. Persons whose records are all equal are of one kind, so they are counted once."""

    kind: Codes
    """For every row the kind of person who has it: numbers from 0, never falling."""

    number: Counts
    """For every row how many persons of this kind there are."""

    def some(self, rows: Counts) -> RowPersons:
        """Return those of some rows, in ascending order; kinds are numbered again."""
        kinds = np.unique(self.kind[rows], return_inverse=True)[1].ravel()
        return RowPersons(kinds.astype(np.int32), self.number[rows])

    @property
    def total(self) -> int:
        """The number of all persons."""
        return self.count(np.arange(len(self.kind)))

    def count(self, rows: Counts) -> int:
        """Count the persons who have a record in some rows, each once."""
        return int(self.number[rows][np.unique(self.kind[rows], return_index=True)[1]].sum())

    def by_group(self, group: Counts, groups: int) -> Counts:
        """Count the persons who have a record in each group of rows."""
        _, first = np.unique(group * (int(self.kind.max(initial=0)) + 1) + self.kind, return_index=True)
        return weighted_counts(group[first], self.number[first], groups)


def rows_of_persons(basket: Counts, person: Counts, count: Counts) -> tuple[Counts, Counts, RowPersons]:
    """Put records in the order of kinds of persons, however persons are called: the basket of every row, its records.

    The baskets of a kind ascend.
    """
    width = int(basket.max(initial=0)) + 1
    keys, pair = np.unique(person.astype(np.int64) * width + basket, return_inverse=True)
    who, what = np.divmod(keys, width)
    records = weighted_counts(pair.ravel(), count, len(keys))
    pairs = PersonPairs.of(Pairs(what, np.unique(who, return_inverse=True)[1].ravel(), records), width)
    kind, alike = pairs.kinds
    one_of_each = np.flatnonzero(np.isin(pairs.person, np.unique(kind, return_index=True)[1]))
    rows = one_of_each[np.argsort(kind[pairs.person[one_of_each]], kind="stable")]
    kinds = kind[pairs.person[rows]]
    persons = RowPersons(kinds, alike[kinds])
    return pairs.cell[rows].astype(np.int64), pairs.count[rows] * persons.number, persons


@dataclass(frozen=True, eq=False, repr=False)
class Baskets(RedactedRepr):
    """The distinct baskets of a data set with their numbers of records.

    Where a person may have several records, a basket stands in a row for each kind of persons who have it.

    >>> baskets = baskets_of([{"a", "b"}, {"b"}, {"b", "a"}])
    >>> baskets.items, baskets.size, [baskets.basket(i) for i in range(baskets.distinct)], baskets.weights.tolist()
    (('a', 'b'), 3, [('a', 'b'), ('b',)], [2, 1])
    """

    items: tuple[str, ...]
    """The labels of all items, in order (numbers as numbers). The code of an item is its index here."""

    starts: Counts
    """Basket b has the items `codes[starts[b] : starts[b + 1]]`."""

    codes: Codes
    """The items of all distinct baskets, ascending within a basket; the baskets in lexicographic order."""

    weights: Counts
    """The number of records of each basket."""

    tree: Hierarchy | None = None
    """The tree of items: a hierarchy with items as leaves (possibly more than occur)."""

    origin: str = "baskets"
    """Their origin, for messages."""

    notices: tuple[str, ...] = ()
    """Notices of reading: repeated items, empty baskets."""

    persons: RowPersons | None = None
    """Whose they are, where a person may have several; None: every record is another person."""

    def __post_init__(self) -> None:
        for array in (self.starts, self.codes, self.weights):
            array.setflags(write=False)
        lacking = [] if self.tree is None else [self.items[i] for i in np.flatnonzero(self.leaf < 0)]
        if lacking:
            raise refusal(
                "not_item_tree", origin=self.origin, items_in_words=items_in_words(lacking), lacking=len(lacking)
            )

    @property
    def size(self) -> int:
        """N: the number of records."""
        return int(self.weights.sum())

    @property
    def distinct(self) -> int:
        """The number of different baskets."""
        return len(self.weights)

    @cached_property
    def people(self) -> RowPersons:
        """Whose the rows are, also where every record is another person."""
        rows = RowPersons(np.arange(self.distinct, dtype=np.int32), self.weights)
        return rows if self.persons is None else self.persons

    @property
    def unit(self) -> str:
        """The counted unit: who shows items."""
        return "record" if self.persons is None else "person"

    @cached_property
    def supports(self) -> Counts:
        """The number of records of each item."""
        return weighted_counts(self.codes, np.repeat(self.weights, self.lengths), len(self.items))

    @cached_property
    def lengths(self) -> Counts:
        """The number of items of each distinct basket."""
        return np.diff(self.starts)

    @cached_property
    def filled(self) -> int:
        """The number of persons with an item, an upper bound on the support of a published set."""
        return self.people.count(np.flatnonzero(self.lengths > 0))

    @cached_property
    def occurrences(self) -> int:
        """The number of items of all records together."""
        return int(self.supports.sum())

    @cached_property
    def places(self) -> dict[str, int]:
        """The code of every label."""
        return {label: code for code, label in enumerate(self.items)}

    @cached_property
    def leaf(self) -> Codes:
        """The leaf of each item in the tree."""
        assert self.tree is not None, t("notice.asked_leaves_no_tree")
        return leaf_codes(self.tree, self.items)

    @cached_property
    def digest(self) -> str:
        """A digest of the records (in any order), the items and the tree."""
        made = hashlib.sha256("\n".join(self.items).encode())
        for array in (self.starts, self.codes, self.weights, *(self.persons or ())):
            made.update(np.ascontiguousarray(array).tobytes())
        if self.tree is not None:
            made.update(repr(self.tree.content).encode())
        return made.hexdigest()

    def basket(self, distinct: int) -> tuple[str, ...]:
        """Return the labels of one distinct basket."""
        return tuple(self.items[code] for code in self.codes[self.starts[distinct] : self.starts[distinct + 1]])

    def with_tree(self, tree: Hierarchy | None) -> Baskets:
        """Return the baskets with another tree of items."""
        return replace(self, tree=tree)


def baskets_of(
    records: Iterable[Iterable[object]],
    tree: Hierarchy | None = None,
    origin: str = "baskets",
    persons: Iterable[object] | None = None,
) -> Baskets:
    """Make baskets from any collection of sets of items; an item that appears twice in a record counts once.

    `persons` names the person of each record, where a person may have several.
    """
    sets = []
    for number, record in enumerate(records, start=1):
        if isinstance(record, str | bytes) or not isinstance(record, Iterable):
            raise refusal("record_basket_set_items", origin=origin, number=number, record=record)
        sets.append([str(item) for item in record])
    items = tuple(in_order(sorted({item for basket in sets for item in basket})))
    place = {label: code for code, label in enumerate(items)}
    lengths = np.array([len(basket) for basket in sets], np.int64)
    codes = np.fromiter((place[item] for basket in sets for item in basket), np.int32, int(lengths.sum()))
    starts, once = rows_once(np.repeat(np.arange(len(sets)), lengths), codes, len(sets))
    called: dict[object, int] = {}
    person = None if persons is None else np.array([called.setdefault(who, len(called)) for who in persons], np.int64)
    if person is not None and len(person) != len(sets):
        raise BadInputError(
            f"{origin}: {len(sets):,} records and {len(person):,} persons; name the person of each record"
        )
    return counted_baskets(items, starts, once, np.ones(len(sets), np.int64), tree, origin, person)


def counted_baskets(
    items: tuple[str, ...],
    starts: Counts,
    codes: Codes,
    counts: Counts,
    tree: Hierarchy | None,
    origin: str,
    person: Counts | None = None,
) -> Baskets:
    """Make baskets from rows of ascending codes and the number of records of each; equal rows are counted together.

    `person` is a number for the person of each row, where a person may have several records.
    """
    if len(counts) == 0:
        raise refusal("no_baskets", origin=origin)
    first, link = equal_rows(starts, codes)
    kept = taken_rows(starts, codes, first)
    if person is None:
        return Baskets(items, *kept, weighted_counts(link, counts, len(first)), tree, origin)
    basket, weights, persons = rows_of_persons(link, person, counts)
    return Baskets(items, *taken_rows(*kept, basket), weights, tree, origin, persons=persons)


def rows_once(row: NDArray[np.integer], codes: NDArray[np.integer], rows: int) -> tuple[Counts, Codes]:
    """Collect (row, code) pairs as rows of ascending codes, each code once; negative codes are dropped."""
    return _sorted_rows(row.astype(np.int32), codes.astype(np.int32), rows, int(codes.max(initial=0)) + 1)


@kernel
def _sorted_rows(row: Codes, codes: Codes, rows: int, width: int) -> tuple[Counts, Codes]:
    """Sort pairs by code, then by row, so that codes are ascending in each row. Linear time."""
    by_code, ends = np.zeros(width + 1, np.int64), np.zeros(rows + 1, np.int64)
    for i in range(len(codes)):
        if codes[i] >= 0:
            by_code[codes[i] + 1] += 1
            ends[row[i] + 1] += 1
    for code in range(width):
        by_code[code + 1] += by_code[code]
    for place in range(rows):
        ends[place + 1] += ends[place]
    dealt = np.empty(by_code[width], np.int32)
    filled = by_code[:-1].copy()
    for i in range(len(codes)):
        if codes[i] >= 0:
            dealt[filled[codes[i]]] = row[i]
            filled[codes[i]] += 1
    gathered, at = np.empty(len(dealt), np.int32), ends[:-1].copy()
    for code in range(width):
        for i in range(by_code[code], by_code[code + 1]):
            place = dealt[i]
            if at[place] == ends[place] or gathered[at[place] - 1] != code:
                gathered[at[place]] = code
                at[place] += 1
    starts, kept = np.zeros(rows + 1, np.int64), np.empty(len(dealt), np.int32)
    for place in range(rows):
        starts[place + 1] = starts[place] + at[place] - ends[place]
        for i in range(at[place] - ends[place]):
            kept[starts[place] + i] = gathered[ends[place] + i]
    return starts, kept[: starts[rows]].copy()


def equal_rows(starts: Counts, codes: Codes) -> tuple[Counts, Counts]:
    """Return the index of each distinct row's first occurrence, in lexicographic order, and each row's number."""
    raw, at = codes.astype(">i4").tobytes(), (4 * starts).tolist()
    number: dict[bytes, int] = {}
    link = np.empty(len(starts) - 1, np.int64)
    first: list[int] = []
    for row in range(len(starts) - 1):
        key = raw[at[row] : at[row + 1]]
        link[row] = group = number.setdefault(key, len(number))
        if group == len(first):
            first.append(row)
    order = np.array(sorted(range(len(first)), key=list(number).__getitem__), np.int64)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return np.array(first, np.int64)[order], rank[link]


def taken_rows(starts: Counts, codes: Codes, rows: Counts) -> tuple[Counts, Codes]:
    """Return some rows of a ragged array, in the given order."""
    lengths = np.diff(starts)[rows]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    at = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths) + np.repeat(starts[:-1][rows], lengths)
    return ends, codes[at]


def leaf_codes(tree: Hierarchy, items: tuple[str, ...]) -> Codes:
    """Return the leaf of each item, -1 if the tree has none; items are texts, even if they look like numbers."""
    known = {label: code for code, label in enumerate(tree.leaves)}
    return np.array([known.get(item, -1) for item in items], np.int32)


def items_in_words(labels: list[str]) -> str:
    """Return some items and their number, with the verb."""
    if len(labels) == 1:
        return t("notice.item", labels=labels[0])
    named = ", ".join(map(repr, labels[:SHOWN])) + (", ..." if len(labels) > SHOWN else "")
    return f"{len(labels):,} items ({named}) are"
