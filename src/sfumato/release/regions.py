"""Regions of the quasi-identifiers' space, and a release's estimates of the sensitive values in them.

A region selects leaves of some attributes: a large population, the predicate of a query. Under uniformity a box of mass
w has w x overlap / volume of its records in a region, each with the sensitive distribution of its group. For point
boxes (a bucketization) this is exact in the quasi-identifiers.

**Intervals of leaves.** Between two neighbouring ends of boxes all leaves are in the same boxes, so a distribution by
width is uniform there. Computations by leaf can therefore be done by such interval, with a cost that depends on the
release and not on the domain.

**Nonzero values** of each row of a large array of counts: a box of five records has at most five of thousands of
sensitive values. Rows are read in the same order as with all their zeros, so sums over rows are equal to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sfumato.data.cells import Points, distinct_rows, laid_out
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.release._selections import Bank, Selections, all_widths_below, bank_of, is_selected
from sfumato.release.release import Published, Release
from sfumato.runtime._kernel_helpers import room
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.runtime.kernels import kernel

FEW_LEAVES = 1000
"""In a domain of up to this many leaves each is a separate interval, because nothing would be gained."""


@dataclass(frozen=True, eq=False)
class Stretches:
    """The intervals into which the boxes of a release cut the leaves of one attribute."""

    bounds: Codes
    """The first leaf of each interval, followed by the number of leaves."""

    cumulative: Numbers
    """The width below every bound."""

    widths: Numbers
    """The width of each interval."""

    widest: Numbers
    """The width of the widest leaf of each interval."""

    @staticmethod
    def of(hierarchy: Hierarchy, lo: Codes, hi: Codes) -> Stretches:
        """Cut the leaves at the starts and ends of intervals from `lo` to `hi`."""
        if hierarchy.size <= FEW_LEAVES:
            bounds = np.arange(hierarchy.size + 1, dtype=np.int32)
        else:
            bounds = np.unique(np.concatenate([[0], lo, hi + 1, [hierarchy.size]])).astype(np.int32)
        widths = np.asarray(hierarchy.widths, np.float64)
        together, widest = np.add.reduceat(widths, bounds[:-1]), np.maximum.reduceat(widths, bounds[:-1])
        return Stretches(bounds, hierarchy.cumulative[bounds], together, widest)

    @property
    def size(self) -> int:
        """The number of intervals."""
        return len(self.widest)

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return int(self.bounds[-1])

    def of_leaves(self, leaves: Codes) -> Codes:
        """Return the interval of each of some leaves."""
        if self.size == self.leaves:
            return leaves.astype(np.int32)
        return (np.searchsorted(self.bounds, leaves, side="right") - 1).astype(np.int32)


def uniform_leaves(hierarchy: Hierarchy, lo: Codes, hi: Codes, generator: np.random.Generator) -> Codes:
    """Draw a leaf of each interval, in proportion to its width."""
    widths = hierarchy.cumulative
    point = widths[lo] + generator.random(len(lo)) * (widths[hi + 1] - widths[lo])
    leaf = np.searchsorted(widths, point, side="right") - 1
    return np.clip(leaf, lo, hi).astype(np.int32)  # rounding may reach the upper end


class Held(NamedTuple):
    """The nonzero values by row: those of row r are at `starts[r]:starts[r + 1]`."""

    starts: Counts
    value: Codes
    amount: Numbers
    values: int
    """The number of values, including those that do not occur."""


def held_in(counts: Numbers) -> Held:
    """Return the nonzero values of an array (rows, values)."""
    return Held(*find_held(np.ascontiguousarray(counts)), counts.shape[1])


@kernel
def find_held(counts: Numbers) -> tuple[Counts, Codes, Numbers]:
    """List the nonzero values of each row."""
    starts = np.zeros(len(counts) + 1, np.int64)
    for r in range(len(counts)):
        number = 0
        for s in range(counts.shape[1]):
            number += counts[r, s] != 0.0
        starts[r + 1] = starts[r] + number
    value, count = np.empty(starts[-1], np.int32), np.empty(starts[-1])
    for r in range(len(counts)):
        entry = starts[r]
        for s in range(counts.shape[1]):
            if counts[r, s] != 0.0:
                value[entry], count[entry] = s, counts[r, s]
                entry += 1
    return starts, value, count


SPARSE = 8
"""Rows with less than one nonzero number in so many are read faster by these alone."""


@dataclass(frozen=True, eq=False)
class Regions:
    """Many regions: for each attribute a bank of selections of leaves, and the selection of each region (-1: all)."""

    selections: tuple[Selections, ...]
    """Per attribute the selections of its leaves."""

    used: Codes
    """An array (regions, attributes) of indices of the banks."""

    @property
    def size(self) -> int:
        """The number of regions."""
        return len(self.used)

    @cached_property
    def bank(self) -> Bank:
        """The selections for kernels."""
        return bank_of(self.selections)

    def only(self, kept: Counts) -> Regions:
        """Keep some of the regions, and their selections."""
        used, selections = self.used[kept], []
        for a, selection in enumerate(self.selections):
            asking = used[:, a] >= 0
            wanted, used[asking, a] = np.unique(used[asking, a], return_inverse=True)
            selections.append(selection.only(wanted))
        return Regions(tuple(selections), used)


def estimated_histograms(release: Release) -> Numbers:
    """Return the estimates of a release with point boxes for the sensitive values of each point."""
    assignment, cells = release.assignment, release.cells
    points = np.zeros((len(cells.points.codes), int(cells.spans[-1])))
    spread_entries(cells.points.number[assignment.cell], assignment.group, assignment.count, release.profiles, points)
    return points


def are_points(release: Published) -> bool:
    """Return whether every box of a release is a point, so that its quasi-identifiers are exact."""
    return bool((release.boxes.lo == release.boxes.hi).all())


def overlap_estimates(release: Published, regions: Regions) -> Numbers:
    """Estimate the sensitive counts inside every region from boxes: regions x values."""
    content = np.ascontiguousarray(release.content)
    return combine_overlaps(regions.bank, regions.used, shown_intervals(release), held_in(content), content)


def shown_intervals(release: Published) -> Intervals:
    """Return the distinct intervals of each attribute in the boxes of a release."""
    boxes, ends, numbers, extent = release.boxes, [], [], []
    for a, attribute in enumerate(release.cells.quasi):
        cumulative = attribute.hierarchy.cumulative
        first, number = distinct_rows(np.stack([boxes.lo[:, a], boxes.hi[:, a]], axis=1))
        lo, hi = boxes.lo[first, a], boxes.hi[first, a]
        width = cumulative[hi + 1] - cumulative[lo]
        ends.append((lo, hi + 1, 1 / width))
        numbers.append(number.astype(np.int32))
        extent.append(width[number].mean() / cumulative[-1])
    (lo, offsets), (end, _), (inverse, _) = (laid_out(parts) for parts in zip(*ends, strict=True))
    return Intervals(lo, end, inverse, offsets, np.stack(numbers), np.argsort(extent, kind="stable"))


class Intervals(NamedTuple):
    """The distinct intervals of boxes: first leaf, last leaf + 1, one over the width.

    Those of attribute a are at `offsets[a]:offsets[a + 1]`, and box b has number `number[a, b]` of them.
    """

    lo: Codes
    end: Codes
    inverse: Numbers
    offsets: Counts
    number: Codes
    order: Counts
    """The attributes, those of narrow boxes first, because they exclude boxes most often."""


@kernel
def combine_overlaps(bank: Bank, used: Codes, intervals: Intervals, held: Held, content: Numbers) -> Numbers:
    """For each region multiply the boxes' overlaps of its attributes and sum the content of the boxes.

    Time is at most O(regions x boxes x attributes of a region). The overlap of an interval with a region is computed
    once for all boxes with this interval. A box outside a region is skipped, and common attributes of consecutive
    regions are reused (large populations come as a tree). `held` lists the nonzero values of `content`.
    """
    boxes, depth = len(held.starts) - 1, most_selected(used)
    estimates = np.zeros((len(used), held.values))
    weight, met, common = np.empty((depth, boxes)), np.empty((depth, boxes), np.int32), np.empty(boxes)
    outside = np.empty(boxes)
    number, attribute, selection = np.zeros(depth, np.int64), np.full(depth, -1), np.full(depth, -1)
    for r in range(len(used)):
        level, same = -1, True
        for a in intervals.order:
            if used[r, a] < 0:
                continue
            level += 1
            same = same and attribute[level] == a and selection[level] == used[r, a]
            if same:
                continue
            attribute[level], selection[level] = a, used[r, a]
            shares_inside(bank, a, used[r, a], intervals, common, outside)
            kept = 0
            for i in range(boxes if level == 0 else number[level - 1]):
                b, before = (i, 1.0) if level == 0 else (met[level - 1, i], weight[level - 1, i])
                share = common[intervals.number[a, b]]
                weight[level, kept], met[level, kept] = before * share, b
                kept += share > 0.0
            number[level] = kept
        attribute[level + 1 :] = -1
        for i in range(boxes if level < 0 else number[level]):
            b, share = (i, 1.0) if level < 0 else (met[level, i], weight[level, i])
            start, behind = held.starts[b], held.starts[b + 1]
            if 2 * (behind - start) >= held.values:  # whole rows are faster than half of their numbers
                for s in range(held.values):
                    estimates[r, s] += share * content[b, s]
            else:
                for entry in range(start, behind):
                    estimates[r, held.value[entry]] += share * held.amount[entry]
    return estimates


@kernel
def most_selected(used: Codes) -> int:
    """Return the most attributes of a region; at least 1."""
    most = 1
    for r in range(len(used)):
        selecting = 0
        for a in range(used.shape[1]):
            selecting += used[r, a] >= 0
        most = max(most, selecting)
    return most


@kernel
def shares_inside(bank: Bank, a: int, used: int, intervals: Intervals, common: Numbers, outside: Numbers) -> None:
    """Compute the share of each interval of one attribute that a region selects; `outside` is scratch space."""
    selection, start, behind = bank.starts[a] + used, intervals.offsets[a], intervals.offsets[a + 1]
    inverse = intervals.inverse[start:behind]
    all_widths_below(bank, a, selection, intervals.end[start:behind], common)
    all_widths_below(bank, a, selection, intervals.lo[start:behind], outside)
    for i in range(behind - start):
        common[i] = (common[i] - outside[i]) * inverse[i]


@kernel
def spread_entries(point: Counts, group: Counts, count: Counts, shares: Numbers, points: Numbers) -> None:
    """Add to each point the sensitive distribution of the groups of its records."""
    for i in range(len(point)):
        for s in range(shares.shape[1]):
            points[point[i], s] += count[i] * shares[group[i], s]


@dataclass(frozen=True, eq=False)
class Members:
    """The points inside each region: those of region r are at `offsets[r]:offsets[r + 1]`."""

    offsets: Counts
    points: Codes

    @staticmethod
    def of(points: Points, regions: Regions) -> Members:
        """Find the points inside every region."""
        return Members(*find_members(points.codes, regions.bank, regions.used))

    def sums(self, values: Numbers) -> Numbers:
        """Sum the values (points x columns) of each region's points; sparse arrays by their nonzero values."""
        if SPARSE * np.count_nonzero(values) < values.size:
            return sum_members(self.offsets, self.points, held_in(values))
        return sum_rows(self.offsets, self.points, np.ascontiguousarray(values))


@kernel
def find_members(codes: Codes, bank: Bank, used: Codes) -> tuple[Counts, Codes]:
    """List the points inside every region."""
    offsets = np.zeros(len(used) + 1, np.int64)
    members = np.empty(len(codes) + 1024, np.int32)
    count = 0
    for r in range(len(used)):
        members = room(members, count + len(codes))
        for p in range(len(codes)):
            inside = True
            for a in range(used.shape[1]):
                if used[r, a] >= 0 and not is_selected(bank, bank.starts[a] + used[r, a], codes[p, a]):
                    inside = False
                    break
            if inside:
                members[count] = p
                count += 1
        offsets[r + 1] = count
    return offsets, members[:count].copy()


@kernel
def sum_members(offsets: Counts, points: Codes, held: Held) -> Numbers:
    """Sum the values of each region's points."""
    sums = np.zeros((len(offsets) - 1, held.values))
    for r in range(len(offsets) - 1):
        for i in range(offsets[r], offsets[r + 1]):
            for entry in range(held.starts[points[i]], held.starts[points[i] + 1]):
                sums[r, held.value[entry]] += held.amount[entry]
    return sums


@kernel
def sum_rows(offsets: Counts, points: Codes, values: Numbers) -> Numbers:
    """Sum the values of each region's points, four whole rows at a time: each column in the same order as above."""
    sums = np.zeros((len(offsets) - 1, values.shape[1]))
    for r in range(len(offsets) - 1):
        total, i, behind = sums[r], offsets[r], offsets[r + 1]
        while i + 4 <= behind:  # one memory access for the totals per four rows
            one, two = values[points[i]], values[points[i + 1]]
            three, four = values[points[i + 2]], values[points[i + 3]]
            for s in range(values.shape[1]):
                total[s] = total[s] + one[s] + two[s] + three[s] + four[s]
            i += 4
        for rest in range(i, behind):
            row = values[points[rest]]
            for s in range(values.shape[1]):
                total[s] += row[s]
    return sums
