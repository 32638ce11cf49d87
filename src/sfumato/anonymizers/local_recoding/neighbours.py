"""Nearest neighbours among points: a tree of boxes over them, and a search that leaves out far branches.

The distance of two points is the loss of the smallest box of nodes that covers both, so it is what a person would lose
by being published together with the other. Near points are found without looking at all of them: no branch is opened
whose box is farther away than the farthest neighbour found so far.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.anonymizers.local_recoding.sweep import PointDomain
from sfumato.arrays import Codes, Counts, Numbers
from sfumato.kernels import kernel

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
