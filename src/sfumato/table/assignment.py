"""The assignment: how many records of which cell go to which group, and the histograms of the groups it makes.

Not cell to group: makers that exchange records or cut inside a value split a cell.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Codes, Counts
from sfumato.kernels import kernel
from sfumato.quiet import Quiet
from sfumato.table.rows import weighted_counts
from sfumato.workers import together

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
