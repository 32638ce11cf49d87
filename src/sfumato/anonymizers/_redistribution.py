"""Redistribution of records from buckets of sensitive values to groups: what SABRE and BUREL have in common.

A bucket holds all records with one of its sensitive values. Repeated halving of all buckets makes a tree. A leaf lists
how many records a group takes from every bucket, nearly in proportion. A node is halved as long as both halves hold
*at worst*: whichever values of a bucket its records have. Then every group takes, around a record drawn at random, the
nearest records of each bucket that are still there, along the Hilbert curve.

At worst all records that a group takes of a bucket have one value, since all these distances are convex. For half L1
and for Jensen-Shannon the worst one is the rarest value of the bucket, and the sum over buckets is exact. For the
hierarchical earth mover's distance the triangle inequality gives a bound. It adds the distance from Q of the buckets'
own mixture in these shares, and the distance of each bucket's records from its own distribution.
"""

import math
from typing import NamedTuple

import numpy as np

from sfumato.anonymizers.hilbert import points_on_curve
from sfumato.data.cells import Assignment, Cells, weighted_counts
from sfumato.requirements._predicates import EQUAL, HIERARCHICAL, JS, TOLERANCE, hierarchical_distance
from sfumato.requirements.requirement import KAnonymity, Requirement
from sfumato.runtime._kernel_helpers import first_from, room
from sfumato.runtime.arrays import Counts, Numbers
from sfumato.runtime.kernels import kernel
from sfumato.texts.catalogue import refusal


class Worst(NamedTuple):
    """The numbers of records that a group may take from every bucket, whichever values they have."""

    kind: int
    """The rule of the requirement: a distance, or one of beta-likeness."""

    limit: float
    """The largest distance."""

    smallest: int
    """The least number of records of a group."""

    bucket: Counts
    """The bucket of every sensitive value."""

    sizes: Counts
    """The records of every bucket."""

    shares: Numbers
    """Their share of the table."""

    least: Numbers
    """The share of the rarest value of every bucket."""

    most: Numbers
    """For beta-likeness: the largest share of a group that may come from a bucket."""

    reach: Numbers
    """For the hierarchical distance: how far one value of a bucket can be from the bucket's own distribution."""

    q: Numbers
    levels: Counts


def worst_of(kind: int, limit: float, smallest: int, bucket: Counts, counts: Counts, levels: Counts) -> Worst:
    """Prepare the worst case of buckets of values with these counts in the table."""
    buckets, q = int(bucket.max()) + 1, counts / counts.sum()
    sizes = weighted_counts(bucket, counts, buckets)
    least = np.full(buckets, np.inf)
    np.minimum.at(least, bucket, q)
    reach = np.zeros(buckets)
    if kind == HIERARCHICAL:
        reach = np.array([own_reach(np.flatnonzero(bucket == b), q, levels) for b in range(buckets)])
    most = np.ones(buckets)
    return Worst(kind, limit, smallest, bucket, sizes, sizes / counts.sum(), least, most, reach, q, levels)


def own_reach(values: Counts, q: Numbers, levels: Counts) -> float:
    """Return the largest hierarchical distance of one of these values from their own distribution."""
    shares = q[values] / q[values].sum()
    apart = (levels[:-1, values][:, :, None] != levels[:-1, values][:, None, :]).sum(axis=0) / (len(levels) - 1)
    return float((apart @ shares).max())


def own_part(requirement: Requirement, kind: type[Requirement], maker: str, serves: str) -> tuple[Requirement, int]:
    """Return the part of the kind that an anonymizer serves, and the k of its k-anonymity; refuse everything else."""
    parts = [part for part in requirement.parts if isinstance(part, kind)]
    sizes = [part.k for part in requirement.parts if isinstance(part, KAnonymity)]
    if len(parts) != 1 or len(parts) + len(sizes) != len(requirement.parts):
        raise refusal("serves_sensitive_attribute", maker=maker, serves=serves, requirement=requirement)
    return parts[0], max(sizes, default=1)


def most_groups(worsts: list[Worst]) -> tuple[Worst, Counts]:
    """Take the buckets whose tree has the most leaves, the first of several; with what its groups take of each."""
    candidates = [(worst, halved(worst)) for worst in worsts]
    return max(candidates, key=lambda candidate: len(candidate[1]))


@kernel
def halved(worst: Worst) -> Counts:
    """Halve all buckets as long as both halves hold at worst: the leaves of the tree, groups x buckets."""
    m = len(worst.sizes)
    pending = np.empty((256, m), np.int64)  # halves of halves: no deeper than a number of records can be halved
    pending[0] = worst.sizes
    waiting, groups = 1, 0
    leaves = np.empty((16, m), np.int64)
    left, right = np.empty(m, np.int64), np.empty(m, np.int64)
    while waiting > 0:
        waiting -= 1
        lefts = rights = 0
        for b in range(m):
            left[b] = right[b] = pending[waiting, b] // 2
            if pending[waiting, b] % 2 == 1 and lefts <= rights:
                left[b] += 1
            elif pending[waiting, b] % 2 == 1:
                right[b] += 1
            lefts += left[b]
            rights += right[b]
        if holds_at_worst(worst, left, lefts) and holds_at_worst(worst, right, rights):
            pending[waiting] = left
            pending[waiting + 1] = right
            waiting += 2
            continue
        leaves = room(leaves, groups + 1)
        leaves[groups] = pending[waiting]
        groups += 1
    return leaves[:groups]


@kernel
def holds_at_worst(worst: Worst, taken: Counts, size: int) -> bool:
    """Return whether a group with these numbers of records per bucket is admitted whatever their values are."""
    if size < worst.smallest:
        return False
    if EQUAL <= worst.kind <= JS:
        return distance_at_worst(worst, taken, size) <= worst.limit + TOLERANCE / 2
    over = 0
    for b in range(len(taken)):
        over += taken[b] > size * worst.most[b]
    return over == 0


@kernel
def distance_at_worst(worst: Worst, taken: Counts, size: int) -> float:
    """Return the largest distance from Q that a group can have which takes so many records of every bucket."""
    total = 0.0
    if worst.kind == HIERARCHICAL:
        mixture = np.empty(len(worst.q))
        for v in range(len(worst.q)):
            b = worst.bucket[v]
            mixture[v] = taken[b] / size * worst.q[v] / worst.shares[b]
        for b in range(len(taken)):
            total += taken[b] / size * worst.reach[b]
        return total + hierarchical_distance(mixture, 1, worst.q, worst.levels)  # type: ignore[arg-type]
    for b in range(len(taken)):
        p, q, rest = taken[b] / size, worst.least[b], worst.shares[b] - worst.least[b]
        if worst.kind == EQUAL:
            total += abs(p - q) + rest
        elif p > 0:
            total += p * math.log(2 * p / (p + q)) + q * math.log(2 * q / (p + q)) + rest * math.log(2.0)
        else:
            total += (q + rest) * math.log(2.0)
    return total / 2


def redistributed(cells: Cells, place: int, worst: Worst, taken: Counts, draws: np.random.Generator) -> Assignment:
    """Send every record to a group, each group taking so many records of each bucket from around one record."""
    points = points_on_curve(cells)
    rank = np.empty(cells.size, np.int64)
    rank[points.cells] = np.repeat(np.arange(len(points.counts)), np.diff(points.offsets))
    key = worst.bucket[cells.values[:, place]] * len(points.counts) + rank
    records = draws.permutation(np.repeat(np.arange(cells.size), cells.counts))
    records = records[np.argsort(key[records], kind="stable")]  # by bucket, then along the curve, then at random
    offsets = np.concatenate([[0], np.cumsum(worst.sizes)])
    middles, order = draws.permutation(len(records)), draws.permutation(len(taken))
    group = take_nearest(taken[order], rank[records], offsets, middles)
    return Assignment.gathered(records, group)


@kernel
def take_nearest(taken: Counts, rank: Counts, offsets: Counts, middles: Counts) -> Counts:
    """Let one group after the other take the nearest free records of every bucket around a free record.

    Free neighbours are found by paths that are shortened as they are walked, so time is nearly linear.
    """
    n = len(rank)
    group = np.full(n, -1, np.int64)
    above, below = np.arange(n + 1), np.arange(n + 1)  # the next free record from here on; the last one before here
    next_middle = 0
    for g in range(len(taken)):
        while group[middles[next_middle]] >= 0:
            next_middle += 1
        middle = rank[middles[next_middle]]
        for b in range(len(offsets) - 1):
            here = first_from(rank, offsets[b], offsets[b + 1], middle)
            for _ in range(taken[g, b]):
                right, left = free(above, here), free(below, here) - 1
                is_right = right < offsets[b + 1]
                if is_right and left >= offsets[b]:
                    is_right = rank[right] - middle <= middle - rank[left]
                record = right if is_right else left
                group[record] = g
                above[record] = record + 1
                below[record + 1] = record
    return group


@kernel
def free(to: Counts, here: int) -> int:
    """Follow a path to its end, and shorten it."""
    while to[here] != here:
        to[here] = to[to[here]]
        here = to[here]
    return here
