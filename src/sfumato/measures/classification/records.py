"""Records one by one, as the written file has them: which group each goes to, and to which fold of a validation.

Records stand in the order in which an engine deals them out: by cell, within a cell by their neutral values. Equal
records stand side by side, so what belongs together is a stretch of positions, and counts are differences of sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Counts
from sfumato.table import Assignment, Table

NOT_DRAWN = -1
"""The fold of a record that a sample leaves out."""


@dataclass(frozen=True, eq=False)
class DealtRecords:
    """The distinct records of a table with its neutral columns, in the order in which a file deals them out."""

    cell: Counts
    neutral: Counts
    """One row per distinct record, one column per neutral column: positions in `texts`."""

    counts: Counts
    names: tuple[str, ...]
    texts: tuple[tuple[str | None, ...], ...]

    @cached_property
    def starts(self) -> Counts:
        """The position of the first record of every kind."""
        return np.cumsum(self.counts) - self.counts

    @property
    def size(self) -> int:
        """The number of records."""
        return int(self.counts.sum())


@dataclass(frozen=True, eq=False)
class Dealt:
    """Stretches of equal records that go to one group, or (-1) to none because they are suppressed."""

    record: Counts
    """Which of the distinct records."""

    group: Counts
    first: Counts
    last: Counts
    """Positions, the last one excluded."""


def records_of(table: Table) -> DealtRecords:
    """List the distinct records of a table."""
    names = tuple(name for name in table.published if name in table.roles.neutral)
    cells = table.cells  # counted first: the link comes with them
    if not names:
        none = np.zeros((cells.size, 0), np.int64)
        return DealtRecords(np.arange(cells.size), none, cells.counts, (), ())
    tuples = table.engine.tuples(names, table.link)
    return DealtRecords(tuples.cell, tuples.values, tuples.counts, names, tuple(map(tuple, tuples.texts)))


def deal(records: DealtRecords, assignment: Assignment) -> Dealt:
    """Send the records of every cell to its groups, in order: the first ones to the group with the lowest number."""
    order = np.lexsort((assignment.group, assignment.cell))
    cell, group, count = assignment.cell[order], assignment.group[order], assignment.count[order]
    starts_of_cell = records.starts[np.searchsorted(records.cell, cell)]
    before = np.cumsum(count) - count
    first_of_cell = np.searchsorted(cell, cell)
    first = starts_of_cell + before - before[first_of_cell]
    last = first + count
    breaks = np.unique(np.concatenate([records.starts, first, last]))
    ends = np.append(breaks[1:], records.size)
    inside = breaks < ends
    breaks, ends = breaks[inside], ends[inside]
    record = np.searchsorted(records.starts, breaks, side="right") - 1
    entry = np.searchsorted(first, breaks, side="right") - 1
    taken = (entry >= 0) & (breaks < last[entry]) if len(last) else np.zeros(len(breaks), np.bool_)
    return Dealt(record, np.where(taken, group[entry] if len(group) else -1, -1), breaks, ends)


def folds_of(labels: Counts, folds: int, sample: int, seed: int) -> NDArray[np.int16]:
    """Give every record a fold, each class spread evenly over the folds; beyond `sample` records only some are drawn.

    Which records fall into one fold depends on the seed and on the labels alone, never on a release: so the same
    fold of two releases holds the same people, and their results can be compared pair by pair.
    """
    random = np.random.default_rng(seed)
    shuffled = random.permutation(len(labels))
    drawn = shuffled[: min(sample, len(labels))] if sample else shuffled
    by_class = drawn[np.argsort(labels[drawn], kind="stable")]
    fold = np.full(len(labels), NOT_DRAWN, np.int16)
    fold[by_class] = np.arange(len(by_class)) % folds
    return fold


@dataclass(frozen=True, eq=False)
class Folds:
    """In which fold every record is, summed up so that any stretch of records is counted by a difference."""

    sums: NDArray[np.int32]
    """One row per fold: records of that fold before every position."""

    @staticmethod
    def of(fold: NDArray[np.int16], folds: int) -> Folds:
        """Sum up the records of every fold."""
        sums = np.zeros((folds, len(fold) + 1), np.int32)
        for f in range(folds):
            np.cumsum(fold == f, out=sums[f, 1:], dtype=np.int32)
        return Folds(sums)

    def counts(self, first: Counts, last: Counts) -> Counts:
        """Count the records of stretches by fold: stretches x folds."""
        return (self.sums[:, last] - self.sums[:, first]).T.astype(np.int64)
