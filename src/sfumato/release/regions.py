"""Regions of the quasi-identifiers' space, and what a release says of the people inside them.

A region selects leaves of some attributes: a large population, the predicate of a query. Under the uniformity
assumption a box of mass w puts w x overlap / volume of its records into a region, and every record has the sensitive
values of its group's histogram. For point boxes (a bucketization) this is exact in the quasi-identifiers.

Leaves of an attribute that no box of a release tells apart, taken together.

Between two neighbouring ends of boxes all leaves are in the same boxes, so whatever is spread over boxes by width is
spread evenly there. What is worked out of a release leaf by leaf can therefore be worked out stretch by stretch, and
costs what the release shows, not what the domain could hold.

The values that occur in every row of a large array of counts, so that kernels need not look at all the others.

A box of five records has at most five of thousands of sensitive values. Rows are walked in the same order as they
would be with all their zeros, so sums over rows come out the same to the last bit.
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
"""In a domain of up to this many leaves each is a stretch of its own: nothing would be gained."""


@dataclass(frozen=True, eq=False)
class Stretches:
    """The stretches into which the boxes of a release cut the leaves of one attribute."""

    bounds: Codes
    """The first leaf of every stretch, and behind the last one the number of leaves."""

    cumulative: Numbers
    """The width below every bound."""

    widths: Numbers
    """The width of every stretch."""

    widest: Numbers
    """The width of the widest leaf of every stretch."""

    @staticmethod
    def of(hierarchy: Hierarchy, lo: Codes, hi: Codes) -> Stretches:
        """Cut the leaves where an interval from `lo` to `hi` begins or ends."""
        if hierarchy.size <= FEW_LEAVES:
            bounds = np.arange(hierarchy.size + 1, dtype=np.int32)
        else:
            bounds = np.unique(np.concatenate([[0], lo, hi + 1, [hierarchy.size]])).astype(np.int32)
        widths = np.asarray(hierarchy.widths, np.float64)
        together, widest = np.add.reduceat(widths, bounds[:-1]), np.maximum.reduceat(widths, bounds[:-1])
        return Stretches(bounds, hierarchy.cumulative[bounds], together, widest)

    @property
    def size(self) -> int:
        """The number of stretches."""
        return len(self.widest)

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return int(self.bounds[-1])

    def of_leaves(self, leaves: Codes) -> Codes:
        """Say in which stretch each of some leaves is."""
        if self.size == self.leaves:
            return leaves.astype(np.int32)
        return (np.searchsorted(self.bounds, leaves, side="right") - 1).astype(np.int32)


def uniform_leaves(hierarchy: Hierarchy, lo: Codes, hi: Codes, generator: np.random.Generator) -> Codes:
    """Draw a leaf of every interval, each leaf in proportion to its width."""
    widths = hierarchy.cumulative
    point = widths[lo] + generator.random(len(lo)) * (widths[hi + 1] - widths[lo])
    leaf = np.searchsorted(widths, point, side="right") - 1
    return np.clip(leaf, lo, hi).astype(np.int32)  # rounding may reach the upper end


class Held(NamedTuple):
    """What is not zero, row by row: that of row r stands at `starts[r]:starts[r + 1]`."""

    starts: Counts
    value: Codes
    amount: Numbers
    values: int
    """How many values there are, those that do not occur included."""


def held_in(counts: Numbers) -> Held:
    """Find what is not zero in an array (rows, values)."""
    return Held(*find_held(np.ascontiguousarray(counts)), counts.shape[1])


@kernel
def find_held(counts: Numbers) -> tuple[Counts, Codes, Numbers]:
    """List the values of every row that are not zero."""
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
"""Rows of which less than one in so many numbers is not zero are faster walked by these alone."""


@dataclass(frozen=True, eq=False)
class Regions:
    """Many regions: for every attribute a bank of selections of leaves, and which one each region uses (-1: all)."""

    selections: tuple[Selections, ...]
    """Per attribute the selections of its leaves."""

    used: Codes
    """An array (regions, attributes) of indices into the banks."""

    @property
    def size(self) -> int:
        """The number of regions."""
        return len(self.used)

    @cached_property
    def bank(self) -> Bank:
        """The selections as kernels read them."""
        return bank_of(self.selections)

    def only(self, kept: Counts) -> Regions:
        """Keep some of the regions, and of the selections those that they use."""
        used, selections = self.used[kept], []
        for a, selection in enumerate(self.selections):
            asking = used[:, a] >= 0
            wanted, used[asking, a] = np.unique(used[asking, a], return_inverse=True)
            selections.append(selection.only(wanted))
        return Regions(tuple(selections), used)


def estimated_histograms(release: Release) -> Numbers:
    """Return what a release with point boxes says of the sensitive values of every point."""
    assignment, cells = release.assignment, release.cells
    points = np.zeros((len(cells.points.codes), int(cells.spans[-1])))
    spread_entries(cells.points.number[assignment.cell], assignment.group, assignment.count, release.profiles, points)
    return points


def are_points(release: Published) -> bool:
    """Say whether every box of a release is a point, so that its quasi-identifiers are exact."""
    return bool((release.boxes.lo == release.boxes.hi).all())


def overlap_estimates(release: Published, regions: Regions) -> Numbers:
    """Estimate the sensitive counts inside every region from boxes: regions x values."""
    content = np.ascontiguousarray(release.content)
    return combine_overlaps(regions.bank, regions.used, shown_intervals(release), held_in(content), content)


def shown_intervals(release: Published) -> Intervals:
    """Find the different intervals that the boxes of a release show of every attribute."""
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
    """The different intervals that boxes show: first leaf, last leaf + 1, one over the width.

    Those of attribute a stand at `offsets[a]:offsets[a + 1]`, and box b shows number `number[a, b]` of them.
    """

    lo: Codes
    end: Codes
    inverse: Numbers
    offsets: Counts
    number: Codes
    order: Counts
    """The attributes, those of narrow boxes first: they are missed most often."""


@kernel
def combine_overlaps(bank: Bank, used: Codes, intervals: Intervals, held: Held, content: Numbers) -> Numbers:
    """For every region multiply the boxes' overlaps of its attributes and add up what the boxes contain.

    Time is O(regions x boxes x attributes that a region selects in) at most: what an interval has in common with a
    region is worked out once for all boxes that show it, a box that a region misses is not looked at again, and what
    a region has in common with the one before (large populations come as a tree) is kept from there. `content` is
    what `held` lists the numbers of.
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
            if 2 * (behind - start) >= held.values:  # whole rows are faster than half of their numbers picked out
                for s in range(held.values):
                    estimates[r, s] += share * content[b, s]
            else:
                for entry in range(start, behind):
                    estimates[r, held.value[entry]] += share * held.amount[entry]
    return estimates


@kernel
def most_selected(used: Codes) -> int:
    """Say in how many attributes a region selects at most; at least 1."""
    most = 1
    for r in range(len(used)):
        selecting = 0
        for a in range(used.shape[1]):
            selecting += used[r, a] >= 0
        most = max(most, selecting)
    return most


@kernel
def shares_inside(bank: Bank, a: int, used: int, intervals: Intervals, common: Numbers, outside: Numbers) -> None:
    """Say which share of every interval of one attribute a region selects; `outside` is room to work in."""
    selection, start, behind = bank.starts[a] + used, intervals.offsets[a], intervals.offsets[a + 1]
    inverse = intervals.inverse[start:behind]
    all_widths_below(bank, a, selection, intervals.end[start:behind], common)
    all_widths_below(bank, a, selection, intervals.lo[start:behind], outside)
    for i in range(behind - start):
        common[i] = (common[i] - outside[i]) * inverse[i]


@kernel
def spread_entries(point: Counts, group: Counts, count: Counts, shares: Numbers, points: Numbers) -> None:
    """Give every point the sensitive distribution of the groups its records are in."""
    for i in range(len(point)):
        for s in range(shares.shape[1]):
            points[point[i], s] += count[i] * shares[group[i], s]


@dataclass(frozen=True, eq=False)
class Members:
    """The points inside every region: those of region r stand at `offsets[r]:offsets[r + 1]`."""

    offsets: Counts
    points: Codes

    @staticmethod
    def of(points: Points, regions: Regions) -> Members:
        """Find the points inside every region."""
        return Members(*find_members(points.codes, regions.bank, regions.used))

    def sums(self, values: Numbers) -> Numbers:
        """Add up the values (points x columns) of every region's points; mostly zeros are passed over."""
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
    """Add up the values of every region's points."""
    sums = np.zeros((len(offsets) - 1, held.values))
    for r in range(len(offsets) - 1):
        for i in range(offsets[r], offsets[r + 1]):
            for entry in range(held.starts[points[i]], held.starts[points[i] + 1]):
                sums[r, held.value[entry]] += held.amount[entry]
    return sums


@kernel
def sum_rows(offsets: Counts, points: Codes, values: Numbers) -> Numbers:
    """Add up the values of every region's points, four whole rows at a time: each column in the same order as above."""
    sums = np.zeros((len(offsets) - 1, values.shape[1]))
    for r in range(len(offsets) - 1):
        total, i, behind = sums[r], offsets[r], offsets[r + 1]
        while i + 4 <= behind:  # the totals wait for memory once in four rows
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
