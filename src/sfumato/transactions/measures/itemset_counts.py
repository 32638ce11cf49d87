"""Counting sets of items in rows: which are in some rows but in fewer than k, and how many have which support."""

from __future__ import annotations

import numpy as np

from sfumato.arrays import Codes, Counts
from sfumato.kernels import kernel
from sfumato.transactions.measures.set_walk import Walk, begin_walk, forget, go_down, tally_behind, write_prefix

NO_HISTOGRAM = np.zeros(0, np.int64)
"""In place of a histogram where none is counted."""


def rare_itemsets(
    starts: Counts, codes: Codes, weights: Counts, items: int, size: int, k: int, most: int = 1 << 24
) -> tuple[Codes, Counts, int]:
    """Find the sets of `size` items that some row has but fewer than k records have.

    Returns at most `most` of them, in a fixed order, with their supports; and the least support of any set of this
    size that occurs (0 if none does). Rows are ascending. Time: the number of such sets over all rows.
    """
    room = 1 << 18
    while True:
        walk = begin_walk(starts, codes, weights, items, max(size - 1, 1))
        itemsets, supports, number, least = _rare(walk, size, k, min(room, max(most, 1)), NO_HISTOGRAM, 0)
        if number <= room or room >= most:
            kept = min(number, most)
            return itemsets[:kept], supports[:kept], least
        room = min(number, most)


def support_histogram(starts: Counts, codes: Codes, weights: Counts, items: int, size: int) -> Counts:
    """Count for every support how many sets of `size` items have it; place 0 is empty. No set is kept."""
    histogram = np.zeros(int(weights.sum()) + 1, np.int64)
    _rare(begin_walk(starts, codes, weights, items, max(size - 1, 1)), size, 0, 1, histogram, 0)
    return histogram


def least_support_of_sets(starts: Counts, codes: Codes, weights: Counts, items: int, size: int, floor: int = 1) -> int:
    """Return the least support of any set of `size` items that occurs; 0 if none does.

    The search ends with the first set of support `floor`, which must be a bound: no set that occurs has less than 1.
    """
    walk = begin_walk(starts, codes, weights, items, max(size - 1, 1))
    return int(_rare(walk, size, 0, 1, NO_HISTOGRAM, floor)[3])


@kernel
def _rare(walk: Walk, size: int, k: int, room: int, histogram: Counts, floor: int) -> tuple[Codes, Counts, int, int]:
    """Walk all sets of `size` items that occur; list the first `room` rare ones and count all of them.

    Supports are counted in `histogram`, where it has places. Ends early once a support of `floor` was met.
    """
    itemsets, supports = np.empty((room, size), np.int32), np.empty(room, np.int64)
    number, least, depth = 0, 0, 0
    while depth >= 0 and not 0 < least <= floor:
        if walk.turn[depth] == walk.branches[depth]:
            depth -= 1
            continue
        branch = walk.turn[depth]
        walk.turn[depth] += 1
        following = _single(walk, branch) if size == 1 else tally_behind(walk, depth, branch)
        if depth < size - 2:
            go_down(walk, depth, branch, following)
            forget(walk, following)
            depth += 1
            continue
        for i in range(following):
            support = walk.tally[walk.seen[i]]
            if least == 0 or support < least:
                least = support
            if len(histogram) > 0:
                histogram[support] += 1
            if support < k:
                if number < room:
                    write_prefix(walk, size - 1, itemsets[number])
                    itemsets[number, size - 1], supports[number] = walk.seen[i], support
                number += 1
        forget(walk, following)
    return itemsets, supports, number, least


@kernel
def _single(walk: Walk, item: int) -> int:
    """Tally an item alone, as if it stood behind an empty prefix; return 1, or 0 where no record has it."""
    walk.seen[0] = item
    for at in range(walk.ends[0, item], walk.ends[0, item + 1]):
        walk.tally[item] += walk.weights[walk.rows[0, at]]
    return 1 if walk.tally[item] > 0 else 0
