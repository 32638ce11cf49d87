"""Sweeping the levels of all hierarchies from fine to coarse: every group is taken as soon as it is admitted.

A level vector says for each quasi-identifier on which level of its hierarchy records are compared; records that
agree there form a group. The sweep visits vectors in the order of their mean loss, takes every admitted group of the
records that are still without one, and goes on with the rest. So most records end in groups that are hardly
generalized, whatever the outliers need: this is local recoding.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.mondrian.cut_kernels import only_sizes, sizes_admitted
from sfumato.arrays import Codes, Counts, Numbers
from sfumato.kernel_helpers import NO_HASH, members_by, mixed_in, slots_for
from sfumato.kernels import kernel
from sfumato.requirements import Requirement
from sfumato.requirements.predicates import Rules, group_admitted
from sfumato.table import Cells

MOST_VECTORS = 5_000
"""A lattice with more level vectors than this is sampled."""

STRIDE = 2_654_435_761
"""A prime: its multiples modulo the size of a lattice are spread evenly over it."""


class PointDomain(NamedTuple):
    """What kernels read: points (distinct quasi-identifiers) with their cells, the hierarchies, the requirement."""

    codes: Codes
    """One row of leaf codes per point, in lexicographic order."""

    counts: Counts
    """The records of every point."""

    cells: Counts
    """The cells of point p stand at `cells[p]:cells[p + 1]`, for cells are sorted by quasi-identifiers first."""

    cell_counts: Counts
    columns: Counts
    """For every cell the columns of a histogram it adds to, one per sensitive attribute."""

    above: Codes
    """The node above a leaf: attribute x level x leaf. Attributes with fewer levels repeat their root."""

    losses: Numbers
    """What publishing that node adds to the loss of a record: the weighted mean over the attributes."""

    heights: Counts
    rules: Rules


def domain_of(cells: Cells, requirement: Requirement) -> PointDomain:
    """Lay cells, hierarchies and requirement out for the kernels."""
    hierarchies = [quasi.hierarchy for quasi in cells.quasi]
    heights = np.array([hierarchy.height for hierarchy in hierarchies], np.int64)
    shape = (len(hierarchies), int(heights.max()) + 1, max(hierarchy.size for hierarchy in hierarchies))
    above, losses = np.zeros(shape, np.int32), np.zeros(shape)
    for a, hierarchy in enumerate(hierarchies):
        for level in range(shape[1]):
            ancestors = hierarchy.ancestors[min(level, hierarchy.height)]
            starts = np.asarray(hierarchy.levels[min(level, hierarchy.height)].starts)
            ends = np.append(starts[1:], hierarchy.size) - 1
            above[a, level, : hierarchy.size] = ancestors
            lost = cells.weights[a] * hierarchy.losses(starts, ends)[ancestors]
            losses[a, level, : hierarchy.size] = lost / len(hierarchies)
    return PointDomain(
        cells.points.codes,
        cells.points.counts,
        np.append(cells.points.first, cells.size),
        cells.counts,
        cells.columns,
        above,
        losses,
        heights,
        requirement.compile(cells.sensitive),
    )


def level_vectors(domain: PointDomain, most: int = MOST_VECTORS) -> Codes:
    """List level vectors in the order of the mean loss they cause: all of them, or an even sample with the root."""
    levels = [int(height) + 1 for height in domain.heights]
    size = prod(levels)
    numbers = [size - 1, *(i * STRIDE % size for i in range(most))] if size > most else list(range(size))
    vectors = np.empty((len(numbers), len(levels)), np.int32)
    for row, number in zip(vectors, numbers, strict=True):
        for a in reversed(range(len(levels))):
            number, row[a] = divmod(number, levels[a])
    losses = np.zeros(len(vectors))
    for a, count in enumerate(levels):
        each = domain.losses[a, :count, domain.codes[:, a]]  # points x levels
        losses += (each.T @ domain.counts / domain.counts.sum())[vectors[:, a]]
    order = np.lexsort((*vectors.T[::-1], np.round(losses, 12)))
    return np.ascontiguousarray(vectors[order])


@kernel
def sweep(domain: PointDomain, vectors: Codes) -> Counts:
    """Give every point the number of its group, -1 where it is left over after the last vector.

    Time is O(vectors x points that are still without a group x attributes).
    """
    n = len(domain.codes)
    group = np.full(n, -1, np.int64)
    rest = np.arange(n)
    slots = slots_for(n)
    table, stamps = np.empty(slots, np.int64), np.full(slots, -1, np.int64)
    first, size, bucket = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    sizes_only = only_sizes(domain.rules)
    groups = 0
    for v in range(len(vectors)):
        buckets = 0
        any_admitted = False
        for i in range(len(rest)):
            slot = slot_of(domain, vectors[v], rest[i], slots)
            while stamps[slot] == v and not together(domain, vectors[v], first[table[slot]], rest[i]):
                slot = (slot + 1) & (slots - 1)
            if stamps[slot] != v:
                stamps[slot], table[slot] = v, buckets
                first[buckets], size[buckets] = rest[i], 0
                buckets += 1
            bucket[i] = table[slot]
            size[bucket[i]] += domain.counts[rest[i]]
            any_admitted = any_admitted or sizes_admitted(domain.rules, size[bucket[i]])
        if not any_admitted:
            continue
        admitted = np.empty(buckets, np.bool_)
        for b in range(buckets):
            admitted[b] = sizes_admitted(domain.rules, size[b])
        if not sizes_only:
            ask_histograms(domain, rest, bucket, admitted)
        number = np.full(buckets, -1, np.int64)
        kept = 0
        for i in range(len(rest)):
            b = bucket[i]
            if admitted[b]:
                if number[b] < 0:
                    number[b] = groups
                    groups += 1
                group[rest[i]] = number[b]
            else:
                rest[kept] = rest[i]
                kept += 1
        rest = rest[:kept]
        if kept == 0:
            break
    return group


@kernel
def slot_of(domain: PointDomain, vector: Codes, point: int, slots: int) -> int:
    """Hash the nodes above a point on the levels of a vector to a slot of a table with a power of two of them."""
    mixed = NO_HASH
    for a in range(len(vector)):
        mixed = mixed_in(mixed, domain.above[a, vector[a], domain.codes[point, a]])
    return int(np.int64(mixed & np.uint64(slots - 1)))


@kernel
def together(domain: PointDomain, vector: Codes, p: int, q: int) -> bool:
    """Say whether two points agree on the levels of a vector."""
    for a in range(len(vector)):
        if domain.above[a, vector[a], domain.codes[p, a]] != domain.above[a, vector[a], domain.codes[q, a]]:
            return False
    return True


@kernel
def ask_histograms(domain: PointDomain, points: Counts, bucket: Counts, admitted: NDArray[np.bool_]) -> None:
    """Ask the requirement about every bucket of points that is large enough; write the answers to `admitted`."""
    offsets, members = members_by(bucket[: len(points)], len(admitted))
    histogram = np.zeros(len(domain.rules.q), np.int64)
    for b in range(len(admitted)):
        if admitted[b]:
            histogram[:] = 0
            size = 0
            for i in range(offsets[b], offsets[b + 1]):
                size += add_point(domain, points[members[i]], 1, histogram)
            admitted[b] = group_admitted(domain.rules, histogram, size)


@kernel
def add_point(domain: PointDomain, point: int, sign: int, histogram: Counts) -> int:
    """Add the sensitive values of a point's records to a histogram (or subtract them); return how many they are."""
    for cell in range(domain.cells[point], domain.cells[point + 1]):
        for s in range(domain.columns.shape[1]):
            histogram[domain.columns[cell, s]] += sign * domain.cell_counts[cell]
    return int(sign * domain.counts[point])
