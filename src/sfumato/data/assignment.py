"""The assignment: how many records of which cell go to which group, and the histograms of the groups it makes.

Not cell to group: makers that exchange records or cut inside a value split a cell.

Rows of codes by groups: the distinct ones, by hashing, and counts and ranges of the rows of every group.

What cells, groups and boxes all need. Groups are numbers from 0; `number` says of every row in which one it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.runtime._kernel_helpers import NO_HASH, hashed, mixed_in, slots_for
from sfumato.runtime.arrays import Codes, Counts, Quiet
from sfumato.runtime.kernels import kernel
from sfumato.runtime.threads import together

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, eq=False, repr=False)
class Points(Quiet):
    """The distinct rows of some codes, in the order of their first appearance, with the records of each."""

    codes: Codes
    first: Counts
    """Where each one appears first among the rows it was found in."""

    number: Counts
    """For every one of those rows, which point it is."""

    counts: Counts

    @staticmethod
    def of(rows: Codes, counts: Counts | NDArray[np.float64]) -> Points:
        """Find the distinct rows; each row has so many records."""
        first, number = distinct_rows(rows)
        return Points(np.ascontiguousarray(rows[first]), first, number, weighted_counts(number, counts, len(first)))

    def select(self, columns: Sequence[int]) -> Points:
        """Look at some columns only: the points that remain, and which of them every point here is."""
        return Points.of(self.codes[:, list(columns)], self.counts)


def weighted_counts(number: NDArray[np.integer], weights: Counts | NDArray[np.float64] | None, groups: int) -> Counts:
    """Add up the whole weights of every group's rows, or count them (exactly: no total comes near 2^53)."""
    return np.rint(np.bincount(number, weights=weights, minlength=groups)).astype(np.int64)


def ranges(number: Counts, low: Codes, high: Codes) -> tuple[Codes, Codes]:
    """Return the smallest `low` and the largest `high` of the rows of every group that has any, in rising order."""
    order = np.argsort(number, kind="stable")
    starts = np.flatnonzero(np.diff(number[order], prepend=-1))
    return np.minimum.reduceat(low[order], starts), np.maximum.reduceat(high[order], starts)


def laid_out(parts: Sequence[NDArray[Number]]) -> tuple[NDArray[Number], Counts]:
    """Put arrays one behind the other, as kernels read them; say where each starts, and where the last one ends."""
    return np.concatenate(parts), np.cumsum([0, *map(len, parts)], dtype=np.int64)


def distinct_rows(rows: Codes) -> tuple[Counts, Counts]:
    """Find the distinct rows: the position of each one's first appearance, in that order, and each row's number."""
    rows = np.ascontiguousarray(rows)
    if rows.shape[1] == 0:
        return np.zeros(min(len(rows), 1), np.int64), np.zeros(len(rows), np.int64)
    return number_rows(rows)


@kernel
def number_rows(rows: NDArray[np.integer]) -> tuple[Counts, Counts]:
    """Number distinct rows in the order of their first appearance, by open addressing; expected linear time.

    Returns the position of each one's first appearance, and each row's number. Rows of any whole numbers will do.
    """
    n, width = rows.shape
    slots = slots_for(n)
    table = np.full(slots, -1, np.int32)
    first = np.empty(n, np.int64)
    number = np.empty(n, np.int64)
    count = 0
    for i in range(n):
        mixed = NO_HASH
        for j in range(width):
            mixed = mixed_in(mixed, rows[i, j])
        slot = np.int64(mixed & np.uint64(slots - 1))
        while True:
            known = table[slot]
            if known < 0:
                table[slot] = count
                first[count] = i
                number[i] = count
                count += 1
                break
            same = True
            for j in range(width):
                if rows[first[known], j] != rows[i, j]:
                    same = False
                    break
            if same:
                number[i] = known
                break
            slot = (slot + 1) & (slots - 1)
    return first[:count].copy(), number


@kernel
def number_numbers(numbers: Counts) -> tuple[Counts, Counts]:
    """Do the same for rows of one number each, several times as fast."""
    n, bits = len(numbers), 4
    while 1 << bits < 2 * n:
        bits += 1
    last = (1 << bits) - 1
    table = np.full(1 << bits, -1, np.int32)
    known, first = np.empty(n, np.int64), np.empty(n, np.int64)
    number = np.empty(n, np.int64)
    count = 0
    for i in range(n):
        key = numbers[i]
        slot = np.int64(hashed(key, 64 - bits))
        place = table[slot]
        while place >= 0 and known[place] != key:
            slot = (slot + 1) & last
            place = table[slot]
        if place < 0:
            table[slot] = place = count
            known[count], first[count] = key, i
            count += 1
        number[i] = place
    return first[:count].copy(), number


MANY_ENTRIES = 200_000
"""From this many entries on, histograms are filled by two threads."""

MOST_SHORT = 256
"""This many sensitive values can be told apart by one byte."""

Short = NDArray[np.uint8]


@dataclass(frozen=True, eq=False, repr=False)
class Assignment(Quiet):
    """Where records go: `count` records of `cell` to `group`. A cell may be split; what is missing is suppressed."""

    cell: Counts
    group: Counts
    count: Counts

    @cached_property
    def records(self) -> int:
        """The number of records that are published."""
        return int(self.count.sum())

    @cached_property
    def digest(self) -> bytes:
        """Tell assignments apart, within one table."""
        digest = hashlib.sha256()
        for part in (self.cell, self.group, self.count):
            digest.update(np.ascontiguousarray(part).data)
        return digest.digest()

    @staticmethod
    def gathered(cell: Counts, group: Counts, count: Counts | None = None) -> Assignment:
        """Join what goes from the same cell to the same group (without a count, single records), sorted by groups."""
        size = int(cell.max(initial=0)) + 1
        keys, number = np.unique(group * size + cell, return_inverse=True)
        return Assignment(keys % size, keys // size, weighted_counts(number, count, len(keys)))

    def sizes(self, groups: int) -> Counts:
        """Count the records of every group."""
        return weighted_counts(self.group, self.count, groups)

    def merged(self, into: Counts) -> Assignment:
        """Send the records of group g to group `into[g]`; these are numbered in the order of their appearance."""
        if len(into) == 0 or into[-1] == len(into) - 1:  # all are different
            return self
        return Assignment.gathered(self.cell, into[self.group], self.count)

    def only(self, groups: NDArray[np.bool_]) -> Assignment:
        """Keep the records of some groups, which are numbered anew in their order."""
        kept, number = groups[self.group], np.cumsum(groups) - 1
        return Assignment(self.cell[kept], number[self.group[kept]], self.count[kept])

    def histograms(self, values: Codes, spans: Counts, groups: int) -> Counts:
        """Count the values of every group: one column a kind of value, from `spans` on one column a value."""
        counts = np.zeros((groups, int(spans[-1])), dtype=np.int64)
        few = np.diff(spans).max(initial=0) <= MOST_SHORT
        short = values.astype(np.uint8) if few else values  # read in no order: short ones stay in the cache

        def fill(part: slice) -> None:
            fill_histograms(short, spans, self.cell[part], self.group[part], self.count[part], counts)

        if len(self.group) < MANY_ENTRIES or not in_order(self.group):
            fill(slice(None))
        else:  # two threads, each with groups of its own
            middle = int(np.searchsorted(self.group, self.group[len(self.group) // 2]))
            together(fill, (slice(middle), slice(middle, None)))
        return counts


@kernel
def in_order(numbers: Counts) -> bool:
    """Say whether numbers never fall. Looking at all of them is faster than stopping: it takes several at a time."""
    falls = 0
    for i in range(1, len(numbers)):
        falls += numbers[i] < numbers[i - 1]
    return falls == 0


@kernel
def fill_histograms(
    values: Codes | Short, spans: Counts, cell: Counts, group: Counts, count: Counts, counts: Counts
) -> None:
    """Add every entry of an assignment to its group's histogram. Unsigned indices spare a test for negative ones."""
    for s in range(values.shape[1]):
        for i in range(len(cell)):
            column = spans[s] + values[np.uint64(cell[i]), s]
            counts[np.uint64(group[i]), np.uint64(column)] += count[i]
