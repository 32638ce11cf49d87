"""The groups of MDAV over distinct points with counts: `microaggregation` says what it is and what it promises.

Every group looks at all points that are left, so time is points x groups x columns: 45,222 records of Adult, k = 5,
take about a second. All arrays are made once; a point that is divided stays, with the records that are left of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sfumato.arrays import Codes, Counts, Numbers
from sfumato.kernels import kernel
from sfumato.table import laid_out

MEAN, MEDIAN, MODE = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Space:
    """Points with counts, and what distances between them are."""

    rank: Codes
    """One row per point, one column per attribute: which of the values that occur it has."""

    counts: Counts
    numbers: tuple[Numbers, ...]
    """Of every attribute the values that occur as numbers, scaled; NaN where a value is none."""

    apart: Numbers
    """Of every attribute the squared distance of two different values of which one is no number."""

    kinds: Counts
    """Of every attribute what its average is."""

    @staticmethod
    def of(codes: Codes, counts: Counts, leaf_numbers: Sequence[Numbers], kinds: Counts) -> Space:
        """Scale every column so that two records drawn at random differ by 1 on average, in squares."""
        rank, numbers, apart = np.empty_like(codes), [], np.empty(codes.shape[1])
        for a, leaves in enumerate(leaf_numbers):
            values, where = np.unique(codes[:, a], return_inverse=True)
            rank[:, a] = where.ravel()
            weights = np.bincount(where.ravel(), counts, len(values))
            scaled, apart[a] = _scaled(leaves[values], weights / weights.sum())
            numbers.append(scaled)
        return Space(rank, counts, tuple(numbers), apart, kinds)

    def weighted(self, weights: Sequence[float]) -> Space:
        """Let distances in every attribute count by a weight."""
        numbers = tuple(column * np.sqrt(weight) for column, weight in zip(self.numbers, weights, strict=True))
        return replace(self, numbers=numbers, apart=self.apart * np.array(weights))

    def only(self, points: Counts) -> Space:
        """Return the space of some of its points; distances stay as they are."""
        return replace(self, rank=np.ascontiguousarray(self.rank[points]), counts=self.counts[points])


def _scaled(numbers: Numbers, shares: Numbers) -> tuple[Numbers, float]:
    """Scale the values of a column; return them with the squared distance of those that are no numbers."""
    known = ~np.isnan(numbers)
    if not known.any():
        different = 1 - float(shares @ shares)
        return numbers, 1 / different if different > 0 else 1.0
    mean = np.average(numbers[known], weights=shares[known])
    spread = 2 * float(np.average((numbers[known] - mean) ** 2, weights=shares[known]))
    scaled = (numbers - mean) / np.sqrt(spread) if spread > 0 else numbers * 0.0
    return scaled, max(float(np.ptp(scaled[known])) ** 2, 1.0)


class Plane(NamedTuple):
    """A space as kernels read it."""

    rank: Codes
    numbers: Numbers
    """One row per point: its values as numbers."""

    values: Numbers
    """The values of all attributes as numbers, one attribute behind the other from `starts` on."""

    starts: Counts
    apart: Numbers
    kinds: Counts


def grouped(space: Space, k: int) -> tuple[Counts, Counts, Counts]:
    """Form groups of at least k records: how many records of which point go to which group."""
    values, starts = laid_out(space.numbers)
    numbers = np.column_stack([column[space.rank[:, a]] for a, column in enumerate(space.numbers)])
    plane = Plane(space.rank, np.ascontiguousarray(numbers), values, starts, space.apart, space.kinds)
    return mdav(plane, space.counts.copy(), k)


@kernel
def mdav(plane: Plane, left: Counts, k: int) -> tuple[Counts, Counts, Counts]:
    """Follow the pseudo-code of the module; `left` counts the records of every point that are in no group."""
    n, d = plane.rank.shape
    remaining = left.sum()
    present = np.zeros(len(plane.values), np.int64)  # how many records that are left have each value
    for i in range(n):
        for a in range(d):
            present[plane.starts[a] + plane.rank[i, a]] += left[i]
    active, distance = np.arange(n), np.empty(n)
    near, near_distance = np.empty(min(k, n), np.int64), np.empty(min(k, n))
    most = n + remaining // k + 1  # every group divides at most one point
    point, group, count = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    size, filled, groups = n, 0, 0
    rank, number = np.empty(d, np.int32), np.empty(d)
    from_other = False  # whether the next group begins at the record farthest from the last one's
    while remaining >= 2 * k:
        size = compacted(active, size, left)
        if from_other:
            from_other = False
        else:
            average_record(plane, present, rank, number)
            distances(plane, rank, number, active, size, distance)
            from_other = remaining >= 3 * k
        start = farthest(active, size, distance)
        rank[:], number[:] = plane.rank[start], plane.numbers[start]
        distances(plane, rank, number, active, size, distance)
        nearest(active, size, distance, near, near_distance)
        wanted, j = k, 0
        while wanted > 0:
            i = near[j]
            part = min(wanted, left[i])
            point[filled], group[filled], count[filled] = i, groups, part
            filled, j = filled + 1, j + 1
            wanted -= part
            left[i] -= part
            for a in range(d):
                present[plane.starts[a] + plane.rank[i, a]] -= part
        remaining -= k
        groups += 1
    for i in range(n):
        if left[i] > 0:
            point[filled], group[filled], count[filled] = i, groups, left[i]
            filled += 1
    return point[:filled], group[:filled], count[:filled]


@kernel
def compacted(active: Counts, size: int, left: Counts) -> int:
    """Keep the points that have records left, in their order; return how many."""
    kept = 0
    for j in range(size):
        if left[active[j]] > 0:
            active[kept] = active[j]
            kept += 1
    return kept


@kernel
def average_record(plane: Plane, present: Counts, rank: Codes, number: Numbers) -> None:
    """Find the average of the records that are left: of every attribute a value, or (rank -1) a number."""
    for a in range(len(rank)):
        start, end = plane.starts[a], plane.starts[a + 1]
        known = total = mode = 0
        together = 0.0
        for v in range(start, end):
            total += present[v]
            if present[v] > present[start + mode]:
                mode = v - start
            if not np.isnan(plane.values[v]):
                known += present[v]
                together += present[v] * plane.values[v]
        rank[a], number[a] = mode, plane.values[start + mode]
        if plane.kinds[a] == MODE:
            continue
        if 2 * known < total:  # more than half are missing, which is the last value
            rank[a], number[a] = end - start - 1, np.nan
        elif plane.kinds[a] == MEAN:
            rank[a], number[a] = -1, together / known
        else:
            below = v = 0
            while 2 * (below + present[start + v]) < known:
                below += present[start + v]
                v += 1
            rank[a], number[a] = v, plane.values[start + v]


@kernel
def distances(plane: Plane, rank: Codes, number: Numbers, active: Counts, size: int, distance: Numbers) -> None:
    """Measure how far every point that is left is from a record, in squares."""
    for j in range(size):
        i, total = active[j], 0.0
        for a in range(len(rank)):
            if plane.rank[i, a] != rank[a]:
                between = plane.numbers[i, a] - number[a]
                total += plane.apart[a] if np.isnan(between) else between * between
        distance[i] = total


@kernel
def farthest(active: Counts, size: int, distance: Numbers) -> int:
    """Find the point that is farthest; of equally far ones the first."""
    best = active[0]
    for j in range(1, size):
        if distance[active[j]] > distance[best]:
            best = active[j]
    return int(best)


@kernel
def nearest(active: Counts, size: int, distance: Numbers, near: Counts, near_distance: Numbers) -> None:
    """List the nearest points in their order, as many as there is room for; of equally near ones the first."""
    found = 0
    for j in range(size):
        far = distance[active[j]]
        if found == len(near) and far >= near_distance[found - 1]:
            continue
        found = min(found + 1, len(near))
        place = found - 1
        while place > 0 and near_distance[place - 1] > far:
            near[place], near_distance[place] = near[place - 1], near_distance[place - 1]
            place -= 1
        near[place], near_distance[place] = active[j], far
