"""Which boxes of a release cover a point: a tree of boxes, each node with the bounds of those below it.

Boxes are halved by their centres, along the attribute in which these lie farthest apart for its domain. If boxes
are parts of a partition, the bounds of two halves hardly overlap, and a point meets some logarithm of the boxes. To
look boxes up by the leaves of one attribute alone met a share of all of them: points x boxes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.runtime._kernel_helpers import room, sorted_together
from sfumato.runtime.arrays import Codes, Counts
from sfumato.runtime.kernels import kernel

FEW_BOXES = 4
"""About so many boxes are looked at one by one."""

FEW_FOUND = 32
"""Up to so many boxes that cover a point are sorted by insertion."""


@dataclass(frozen=True, eq=False)
class BoxTree:
    """A tree over boxes: node 1 is above all, nodes 2 n and 2 n + 1 are the halves of node n."""

    order: Counts
    """The boxes, those of every node together."""

    lo: Codes
    hi: Codes
    """The bounds of every node."""

    depth: int
    """How often boxes were halved."""

    @staticmethod
    def of(lo: Codes, hi: Codes, sizes: Counts) -> BoxTree:
        """Build the tree; `sizes` are the numbers of leaves of all attributes. Time n log n, memory linear."""
        depth = max(len(lo) // FEW_BOXES, 1).bit_length() - 1
        nodes = np.empty((2 << depth, lo.shape[1]), np.int32), np.empty((2 << depth, lo.shape[1]), np.int32)
        return BoxTree(halved(lo, hi, sizes, depth, *nodes), *nodes, depth)


@kernel
def halved(lo: Codes, hi: Codes, sizes: Counts, depth: int, node_lo: Codes, node_hi: Codes) -> Counts:
    """Order boxes so that those of every node stand together, and fill in the bounds of all nodes."""
    n, d = lo.shape
    order = np.arange(n)
    for level in range(depth + 1):
        for place in range(1 << level):
            node, start, stop = (1 << level) + place, n * place >> level, n * (place + 1) >> level
            widest, spread = 0, -1.0
            for a in range(d):
                least, most = np.int32(2147483647), np.int32(-1)
                first, last = np.int64(1) << 40, np.int64(-1)
                for i in range(start, stop):
                    b = order[i]
                    least, most = min(least, lo[b, a]), max(most, hi[b, a])
                    centre = np.int64(lo[b, a]) + hi[b, a]
                    first, last = min(first, centre), max(last, centre)
                node_lo[node, a], node_hi[node, a] = least, most
                if (last - first) / sizes[a] > spread:
                    widest, spread = a, (last - first) / sizes[a]
            if level < depth:
                part_at(order, start, stop, n * (2 * place + 1) >> (level + 1), lo[:, widest], hi[:, widest])
    return order


@kernel
def part_at(order: Counts, start: int, stop: int, middle: int, lo: Codes, hi: Codes) -> None:
    """Reorder boxes from start to stop so that no centre before the middle is above one behind it (Hoare's FIND)."""
    left, right = start, stop - 1
    while left < right:
        b = order[(left + right) // 2]
        pivot = np.int64(lo[b]) + hi[b]
        i, j = left, right
        while i <= j:
            while np.int64(lo[order[i]]) + hi[order[i]] < pivot:
                i += 1
            while np.int64(lo[order[j]]) + hi[order[j]] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            right = j
        elif middle >= i:
            left = i
        else:
            return


@kernel
def covers(lo: Codes, hi: Codes, row: int, codes: Codes, point: int) -> bool:
    """Return whether a box, or the bounds of a node, cover a point."""
    for a in range(codes.shape[1]):  # noqa: SIM110 (numba knows no `all`)
        if codes[point, a] < lo[row, a] or codes[point, a] > hi[row, a]:
            return False
    return True


@kernel
def covering(
    codes: Codes,
    point: int,
    lo: Codes,
    hi: Codes,
    order: Counts,
    node_lo: Codes,
    node_hi: Codes,
    depth: int,
    found: Counts,
    open_: Counts,
) -> tuple[Counts, int]:
    """List the boxes that cover a point, ascending: in `found`, grown where it was too short, and how many they are.

    `open_` has depth + 2 entries for the nodes that are still to be visited.
    """
    n, number, waiting = len(lo), 0, 1
    open_[0] = 1
    while waiting:
        waiting -= 1
        node = open_[waiting]
        if not covers(node_lo, node_hi, node, codes, point):
            continue
        if node < 1 << depth:
            open_[waiting], open_[waiting + 1] = 2 * node, 2 * node + 1
            waiting += 2
            continue
        place = node - (1 << depth)
        for i in range(n * place >> depth, n * (place + 1) >> depth):
            if covers(lo, hi, order[i], codes, point):
                found = room(found, number + 1)
                found[number] = order[i]
                number += 1
    if number <= FEW_FOUND:
        for i in range(1, number):
            box, at = found[i], i
            while at > 0 and found[at - 1] > box:
                found[at] = found[at - 1]
                at -= 1
            found[at] = box
        return found, number
    return sorted_together(found[:number].copy(), found[:number].copy())[0], number
