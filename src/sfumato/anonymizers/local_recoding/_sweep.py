"""Sweeping the levels of all hierarchies from fine to coarse: every group is taken as soon as it is admitted.

A level vector says for each quasi-identifier on which level of its hierarchy records are compared; records that
agree there form a group. The sweep visits vectors in the order of their mean loss, takes every admitted group of the
records that are still without one, and goes on with the rest. So most records end in groups that are hardly
generalized, whatever the outliers need: this is local recoding.

Nearest neighbours among points: a tree of boxes over them, and a search that leaves out far branches.

The distance of two points is the loss of the smallest box of nodes that covers both, so it is what a person would lose
by being published together with the other. Near points are found without looking at all of them: no branch is opened
whose box is farther away than the farthest neighbour found so far.
"""

from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.mondrian._cuts import CutProblem, cells_admitted, only_sizes, problem_of, sizes_admitted
from sfumato.data.cells import Cells
from sfumato.requirements._predicates import Rules, group_admitted
from sfumato.requirements.requirement import Requirement
from sfumato.runtime._kernel_helpers import NO_HASH, members_by, mixed_in, room, slots_for
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.runtime.kernels import kernel

MOST_VECTORS = 5_000
"""A lattice with more level vectors than this is sampled."""

STRIDE = 2_654_435_761
"""A prime: its multiples modulo the size of a lattice are spread evenly over it."""


class PointDomain(NamedTuple):
    """The kernels' input: points (distinct quasi-identifiers) with their cells, the hierarchies, the requirement."""

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
    """The increase of a record's loss by publishing that node: the weighted mean over the attributes."""

    heights: Counts
    rules: Rules
    problem: CutProblem
    """The cells and their persons: where these are counted, the rules are about sizes."""


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
    problem = problem_of(cells, requirement)
    return PointDomain(
        cells.points.codes,
        cells.points.counts,
        np.append(cells.points.first, cells.size),
        cells.counts,
        cells.columns,
        above,
        losses,
        heights,
        problem.rules,
        problem,
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
    sizes_only = domain.problem.persons.k == 0 and only_sizes(domain.rules)
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
    """Return whether two points agree on the levels of a vector."""
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
            admitted[b] = admitted[b] and persons_admitted(domain, points[members[offsets[b] : offsets[b + 1]]], size)


@kernel
def persons_admitted(domain: PointDomain, points: Counts, size: int) -> bool:
    """Return whether these points, with so many records together, satisfy what is required of persons."""
    if domain.problem.persons.k == 0:
        return True
    cells, used = np.empty(16, np.int64), 0
    for point in points:
        cells = room(cells, used + domain.cells[point + 1] - domain.cells[point])
        for cell in range(domain.cells[point], domain.cells[point + 1]):
            cells[used] = cell
            used += 1
    return cells_admitted(domain.problem, cells[:used], size)


@kernel
def add_point(domain: PointDomain, point: int, sign: int, histogram: Counts) -> int:
    """Add the sensitive values of a point's records to a histogram (or subtract them); return how many they are."""
    for cell in range(domain.cells[point], domain.cells[point + 1]):
        for s in range(domain.columns.shape[1]):
            histogram[domain.columns[cell, s]] += sign * domain.cell_counts[cell]
    return int(sign * domain.counts[point])


LEAF = 8
"""A branch with at most this many points is not divided further."""

FARTHEST = 2.0
"""More than any distance: a loss is at most 1."""


class Tree(NamedTuple):
    """Branches over points: branch b holds `points[starts[b]:ends[b]]`, its halves are `halves[b]` and the next."""

    starts: Counts
    ends: Counts
    halves: Counts
    """The first of a branch's two halves, -1 where it is not divided."""

    lo: Codes
    hi: Codes
    points: Counts
    depth: int


@kernel
def joint_level(domain: PointDomain, a: int, code: int, level: int, other: int) -> int:
    """Return the lowest level from `level` on, on which two codes of an attribute have the same node above them."""
    while domain.above[a, level, code] != domain.above[a, level, other]:
        level += 1
    return level


@kernel
def distance(domain: PointDomain, p: int, q: int, limit: float) -> float:
    """Return the loss of the smallest box over two points, or anything from the limit on if it is not below it."""
    loss = 0.0
    for a in range(domain.codes.shape[1]):
        code, other = domain.codes[p, a], domain.codes[q, a]
        if code != other:
            loss += domain.losses[a, joint_level(domain, a, code, 0, other), code]
            if loss >= limit:
                break
    return loss


@kernel
def branch_distance(domain: PointDomain, tree: Tree, branch: int, p: int, limit: float) -> float:
    """Return a distance that no point of a branch falls below: of each attribute's range the nearer end counts."""
    loss = 0.0
    for a in range(domain.codes.shape[1]):
        code = domain.codes[p, a]
        nearer = min(max(code, tree.lo[branch, a]), tree.hi[branch, a])
        if code != nearer:
            loss += domain.losses[a, joint_level(domain, a, code, 0, nearer), code]
            if loss >= limit:
                break
    return loss


@kernel
def build_tree(domain: PointDomain) -> Tree:
    """Divide the points again and again, at the mean code of the attribute whose range loses most."""
    n, d = domain.codes.shape
    most = max(2 * n, 2)
    starts, ends = np.zeros(most, np.int64), np.zeros(most, np.int64)
    halves, depths = np.full(most, -1, np.int64), np.zeros(most, np.int64)
    lo, hi = np.empty((most, d), np.int32), np.empty((most, d), np.int32)
    points, aside = np.arange(n), np.empty(n, np.int64)
    ends[0] = n
    branches = 1
    branch = 0
    while branch < branches:
        start, end = starts[branch], ends[branch]
        widest, most_loss = -1, -1.0
        for a in range(d):
            lo[branch, a] = hi[branch, a] = domain.codes[points[start], a]
            for i in range(start, end):
                lo[branch, a] = min(lo[branch, a], domain.codes[points[i], a])
                hi[branch, a] = max(hi[branch, a], domain.codes[points[i], a])
            first, last = lo[branch, a], hi[branch, a]
            loss = domain.losses[a, joint_level(domain, a, first, 0, last), first]
            if first < last and loss > most_loss:
                widest, most_loss = a, loss
        if widest >= 0 and end - start > LEAF:
            middle = part(domain.codes[:, widest], points, start, end, aside)
            halves[branch] = branches
            starts[branches], ends[branches] = start, middle
            starts[branches + 1], ends[branches + 1] = middle, end
            depths[branches] = depths[branches + 1] = depths[branch] + 1
            branches += 2
        branch += 1
    return Tree(
        starts[:branches].copy(),
        ends[:branches].copy(),
        halves[:branches].copy(),
        lo[:branches].copy(),
        hi[:branches].copy(),
        points,
        depths[branches - 1],
    )


@kernel
def part(codes: Codes, points: Counts, start: int, end: int, aside: Counts) -> int:
    """Move the points with at most the mean code to the front, keeping their order; return where the others start."""
    total = 0
    for i in range(start, end):
        total += codes[points[i]]
    middle, others = start, 0
    for i in range(start, end):
        if codes[points[i]] * (end - start) <= total:
            points[middle] = points[i]
            middle += 1
        else:
            aside[others] = points[i]
            others += 1
    for i in range(others):
        points[middle + i] = aside[i]
    return middle


class NearestHeap(NamedTuple):
    """Room for the nearest found so far: a heap with the farthest on top, and a stack of branches still to open."""

    distances: Numbers
    numbers: Counts
    branches: Counts
    bounds: Numbers


def room_for_nearest(most: int, tree: Tree) -> NearestHeap:
    """Make room for this many."""
    return NearestHeap(
        np.zeros(most), np.zeros(most, np.int64), np.zeros(tree.depth + 2, np.int64), np.zeros(tree.depth + 2)
    )


@kernel
def keep_nearest(nearest: NearestHeap, count: int, distance: float, number: int) -> int:
    """Offer one to the nearest; return how many they are. Of equally distant ones those that came first stay."""
    distances, numbers = nearest.distances, nearest.numbers
    if count < len(distances):
        at = count
        while at > 0 and distances[(at - 1) // 2] < distance:
            distances[at], numbers[at] = distances[(at - 1) // 2], numbers[(at - 1) // 2]
            at = (at - 1) // 2
        distances[at], numbers[at] = distance, number
        return count + 1
    if distance >= distances[0]:
        return count
    at = 0
    while 2 * at + 1 < count:
        below = 2 * at + 1
        if below + 1 < count and distances[below + 1] > distances[below]:
            below += 1
        if distance >= distances[below]:
            break
        distances[at], numbers[at] = distances[below], numbers[below]
        at = below
    distances[at], numbers[at] = distance, number
    return count
