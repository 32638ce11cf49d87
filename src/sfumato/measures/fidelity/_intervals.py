"""Any release as weighted rows of intervals, one interval of leaves per column: what all of fidelity reads.

A release says two things of a group: which boxes its records are in, and which sensitive values they have; not which
record has which. A row of a group's boxes and a row of its sensitive values are therefore assumed to be independent
within the group. A value is assumed to be anywhere in its interval, by the width of leaves (the uniformity assumption
of all our estimates). If a group is one box, as in all releases but bucketizations, that is the joined row itself.

A column that is not published at all is the interval of its whole domain. So is everything where nothing is published.

The coded columns of a table as fidelity looks at them: leaves taken together into bins, and leaves as numbers.

A column of at most `bins` leaves has one bin per leaf. A longer one is cut, in the order of its leaves, into intervals
with about the same number of the table's records. Intervals of equal width would put nearly all of a skewed column
(incomes) into one. Missing values, and values that the declared domain lacks, have bins of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.data.cells import Cells, Points, distinct_rows, weighted_counts
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.release.content import NoisyRelease
from sfumato.release.records import NOT_SHOWN, RecordRelease, Records, cell_codes, leaf_numbers
from sfumato.release.release import Published, Release
from sfumato.runtime.arrays import Codes, Counts, Numbers


@dataclass(frozen=True, eq=False)
class BinnedColumn:
    """A coded column: its hierarchy, and the bin of every leaf."""

    name: str
    hierarchy: Hierarchy
    bin_of: Counts
    """By leaf code; behind the last leaf, and so at -1, the bin of values outside of the domain."""

    bins: int

    @property
    def is_number(self) -> bool:
        """Whether it has numbers or dates, which can be averaged."""
        return self.hierarchy.scale != "category"

    @cached_property
    def numbers(self) -> Numbers:
        """Every leaf as a number, 0 where it is missing or none; behind the last leaf that of other values."""
        return np.append(np.nan_to_num(leaf_numbers(self.hierarchy)), 0.0)

    @cached_property
    def present(self) -> Numbers:
        """1 for every leaf that is a number, 0 where it is missing or none."""
        return np.append(np.isfinite(leaf_numbers(self.hierarchy)), False).astype(np.float64)

    def means(self, lo: Codes, hi: Codes, values: Numbers) -> Numbers:
        """Average values of leaves over intervals, by the width of leaves; of a single leaf it is the value itself."""
        widths = np.asarray(self.hierarchy.widths)
        sums = np.append(0.0, np.cumsum(widths * values[:-1]))
        total = self.hierarchy.cumulative[hi + 1] - self.hierarchy.cumulative[lo]
        means: Numbers = np.where(lo == hi, values[lo], (sums[hi + 1] - sums[lo]) / total)
        return means


def coded_columns(cells: Cells, bins: int) -> tuple[BinnedColumn, ...]:
    """Return the columns of a table, quasi-identifiers first, in at most so many bins each (missing values apart)."""
    codes, records = cell_codes(cells), Records(cells, np.zeros((0, 0), np.int32))
    return tuple(
        _column(name, hierarchy, codes[:, place], cells.counts, bins)
        for place, (name, hierarchy) in enumerate(zip(records.names, records.hierarchies, strict=True))
    )


def _column(name: str, hierarchy: Hierarchy, codes: Codes, counts: Counts, bins: int) -> BinnedColumn:
    inside = hierarchy.domain_size
    bin_of = np.arange(hierarchy.size + 1)
    if inside > bins:
        known = (codes >= 0) & (codes < inside)
        records = weighted_counts(codes[known], counts[known], inside)
        middles = np.cumsum(records) - records / 2
        cut = np.minimum((middles * (bins / max(records.sum(), 1))).astype(np.int64), bins - 1)
        bin_of[:inside] = np.unique(cut, return_inverse=True)[1]
        bin_of[inside:] += bin_of[inside - 1] + 1 - inside
    outside = bool((codes < 0).any())
    return BinnedColumn(name, hierarchy, bin_of, int(bin_of[-1]) + int(outside))


@dataclass(frozen=True, eq=False)
class ShownIntervals:
    """The content of rows in one column: the different intervals, and which of them every row has."""

    lo: Codes
    hi: Codes
    place: Counts

    @staticmethod
    def of(column: BinnedColumn, lo: Codes, hi: Codes) -> ShownIntervals:
        """Find the different intervals; a value that is not shown may be anything."""
        hidden = lo == NOT_SHOWN
        lo, hi = np.where(hidden, 0, lo).astype(np.int64), np.where(hidden, column.hierarchy.size - 1, hi)
        keys, place = np.unique(lo * column.hierarchy.size + hi, return_inverse=True)
        first, last = np.divmod(keys, column.hierarchy.size)
        return ShownIntervals(first.astype(np.int32), last.astype(np.int32), place.astype(np.int64))

    @property
    def are_points(self) -> bool:
        """Whether every interval is a single leaf."""
        return bool((self.lo == self.hi).all())


@dataclass(frozen=True, eq=False)
class Side:
    """Rows of some columns: the group of each, its records, and what it shows."""

    group: Counts
    mass: Numbers
    shown: tuple[ShownIntervals, ...]


@dataclass(frozen=True, eq=False)
class ReleaseRows:
    """A release as rows of boxes and rows of sensitive values, joined by their groups."""

    columns: tuple[BinnedColumn, ...]
    boxes: Side
    values: Side
    sizes: Numbers
    """The records of every group."""

    @property
    def records(self) -> float:
        """How many records it has, as its counts say."""
        return float(self.boxes.mass.sum())

    def shown(self, place: int) -> ShownIntervals:
        """Return what is shown of a column."""
        quasi = len(self.boxes.shown)
        return self.boxes.shown[place] if place < quasi else self.values.shown[place - quasi]

    def joined(self, places: Sequence[int]) -> tuple[list[Counts], Numbers]:
        """Return rows of some columns: for each column which of its intervals, and the records of every row."""
        quasi = len(self.boxes.shown)
        inside = [self.boxes.shown[place].place for place in places if place < quasi]
        beside = [self.values.shown[place - quasi].place for place in places if place >= quasi]
        if not beside:
            return inside, self.boxes.mass
        if not inside:
            return beside, self.values.mass
        left, right = _fewer(self.boxes, inside), _fewer(self.values, beside)
        one, other = _pairs(left[0], right[0], len(self.sizes))
        mass = self.group_shares(left[0], left[2])[one] * right[2][other]
        return [*(column[one] for column in left[1]), *(column[other] for column in right[1])], mass

    def group_shares(self, group: Counts, mass: Numbers) -> Numbers:
        """Return the share of rows in their groups; one that is alone there is all of it, whatever noise says."""
        alone = np.bincount(group, minlength=len(self.sizes))[group] == 1
        sizes = np.where(self.sizes == 0, 1.0, self.sizes)[group]
        shares: Numbers = np.where(alone, 1.0, mass / sizes)
        return shares


def _fewer(side: Side, places: list[Counts]) -> tuple[Counts, list[Counts], Numbers]:
    """Add up the rows of a side that have the same group and the same intervals: groups, places, records."""
    first, number = distinct_rows(np.stack([side.group, *places], axis=1).astype(np.int32))
    mass = np.bincount(number, side.mass, len(first)).astype(np.float64)
    return side.group[first], [place[first] for place in places], mass


def _pairs(left: Counts, right: Counts, groups: int) -> tuple[Counts, Counts]:
    """Pair every row on the left with every row on the right of the same group."""
    order = np.argsort(right, kind="stable")
    many = np.bincount(right, minlength=groups)
    starts = np.cumsum(many) - many
    times = many[left]
    one = np.repeat(np.arange(len(left)), times)
    within = np.arange(len(one)) - np.repeat(np.cumsum(times) - times, times)
    return one, order[starts[left[one]] + within]


def read(release: Published, columns: tuple[BinnedColumn, ...]) -> ReleaseRows:
    """Read a release as rows."""
    if isinstance(release, NoisyRelease):
        box, value = np.nonzero(release.counts)
        rows = release.boxes.lo, release.boxes.hi, np.arange(len(release.boxes.lo)), release.counts.sum(axis=1)
        values = value[:, None].astype(np.int32), box, release.counts[box, value]
    elif isinstance(release, RecordRelease):
        group, mass = np.arange(len(release.counts)), release.counts.astype(np.float64)
        rows, values = (release.lo, release.hi, group, mass), (release.values, group, mass)
    else:
        assert isinstance(release, Release)
        boxes = release.boxes
        rows = boxes.lo, boxes.hi, boxes.group, boxes.mass.astype(np.float64)
        values = _values_of_groups(release)
    if not rows[3].sum() > 0:
        return _nothing(release.cells, columns)
    return _reading(columns, *rows, *values)


def read_original(cells: Cells, columns: tuple[BinnedColumn, ...]) -> ReleaseRows:
    """Read the table itself."""
    codes, mass, group = cell_codes(cells), cells.counts.astype(np.float64), np.arange(cells.size)
    quasi = codes[:, : len(cells.quasi)]
    intervals = tuple(
        ShownIntervals(leaves, leaves, place.astype(np.int64))
        for leaves, place in (np.unique(column, return_inverse=True) for column in quasi.T)
    )
    values = _shown_values(columns, codes[:, len(cells.quasi) :])
    return ReleaseRows(columns, Side(group, mass, intervals), Side(group, mass, values), mass)


def _reading(
    columns: tuple[BinnedColumn, ...],
    lo: Codes,
    hi: Codes,
    group: Counts,
    mass: Numbers,
    leaves: Codes,
    value_group: Counts,
    value_mass: Numbers,
) -> ReleaseRows:
    sizes = np.bincount(group, mass, int(group.max()) + 1).astype(np.float64)
    intervals = tuple(ShownIntervals.of(columns[a], lo[:, a], hi[:, a]) for a in range(lo.shape[1]))
    values = _shown_values(columns, leaves)
    return ReleaseRows(columns, Side(group, mass, intervals), Side(value_group, value_mass, values), sizes)


def _shown_values(columns: tuple[BinnedColumn, ...], leaves: Codes) -> tuple[ShownIntervals, ...]:
    sensitive = columns[len(columns) - leaves.shape[1] :] if leaves.shape[1] else ()
    return tuple(ShownIntervals.of(column, leaves[:, s], leaves[:, s]) for s, column in enumerate(sensitive))


def _values_of_groups(release: Release) -> tuple[Codes, Counts, Numbers]:
    """List the sensitive leaves of every group, with how many records have them."""
    entries = release.assignment
    leaves = cell_codes(release.cells)[:, len(release.cells.quasi) :][entries.cell]
    if release.histograms is None:
        leaves = np.full_like(leaves, NOT_SHOWN)
    distinct = Points.of(np.column_stack([entries.group.astype(np.int32), leaves]), entries.count)
    return (
        np.ascontiguousarray(distinct.codes[:, 1:]),
        distinct.codes[:, 0].astype(np.int64),
        distinct.counts.astype(np.float64),
    )


def _nothing(cells: Cells, columns: tuple[BinnedColumn, ...]) -> ReleaseRows:
    """Read a release without any record: everything may be anything."""
    one, none = np.ones(1), np.zeros(1, np.int64)
    lo, hi = (ends[None, :] for ends in cells.whole)
    hidden = np.full((1, len(cells.sensitive)), NOT_SHOWN, np.int32)
    return _reading(columns, lo, hi, none, one, hidden, none, one)
