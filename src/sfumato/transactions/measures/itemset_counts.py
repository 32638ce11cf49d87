"""Counting sets of items in rows: who has an item, and which sets are in some rows but in fewer than k.

Sets are counted depth first: the rows that hold a prefix are listed together with the place of its last item, and what
stands behind those places is tallied. So no set is hashed or stored, and the memory is the rows once per size.
"""

from __future__ import annotations

import numpy as np

from sfumato.arrays import Codes, Counts
from sfumato.kernel_helpers import members_by
from sfumato.kernels import kernel

NO_HISTOGRAM = np.zeros(0, np.int64)
"""In place of a histogram where none is counted."""


def holders(starts: Counts, codes: Codes, items: int) -> tuple[Counts, Codes, Codes]:
    """List for every item the rows that hold it, ascending, and where in these rows it stands."""
    begins, entries = members_by(codes, items)
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[entries]
    return begins, rows.astype(np.int32), (entries - starts[rows]).astype(np.int32)


def rare_itemsets(
    starts: Counts, codes: Codes, weights: Counts, items: int, size: int, k: int, most: int = 1 << 24
) -> tuple[Codes, Counts, int]:
    """Find the sets of `size` items that some row has but fewer than k records have.

    Returns at most `most` of them, in a fixed order, with their supports; and the least support of any set of this
    size that occurs (0 if none does). Rows are ascending. Time: the number of such sets over all rows.
    """
    begins, rows, places = holders(starts, codes, items)
    room = 1 << 18
    while True:
        itemsets, supports, number, least = _rare(
            starts, codes, weights, begins, rows, places, size, k, min(room, max(most, 1)), NO_HISTOGRAM, 0
        )
        if number <= room or room >= most:
            kept = min(number, most)
            return itemsets[:kept], supports[:kept], least
        room = min(number, most)


def support_histogram(starts: Counts, codes: Codes, weights: Counts, items: int, size: int) -> Counts:
    """Count for every support how many sets of `size` items have it; place 0 is empty. No set is kept."""
    histogram = np.zeros(int(weights.sum()) + 1, np.int64)
    _rare(starts, codes, weights, *holders(starts, codes, items), size, 0, 1, histogram, 0)
    return histogram


def least_support_of_sets(starts: Counts, codes: Codes, weights: Counts, items: int, size: int, floor: int = 1) -> int:
    """Return the least support of any set of `size` items that occurs; 0 if none does.

    The search ends with the first set of support `floor`, which must be a bound: no set that occurs has less than 1.
    """
    return int(_rare(starts, codes, weights, *holders(starts, codes, items), size, 0, 1, NO_HISTOGRAM, floor)[3])


@kernel
def _rare(
    starts: Counts,
    codes: Codes,
    weights: Counts,
    begins: Counts,
    rows: Codes,
    places: Codes,
    size: int,
    k: int,
    room: int,
    histogram: Counts,
    floor: int,
) -> tuple[Codes, Counts, int, int]:
    """Walk all sets of `size` items that occur, depth first; list the first `room` rare ones and count all of them.

    Supports are counted in `histogram`, where it has places. Ends early once a support of `floor` was met.
    Depth d has the rows that hold a prefix of d + 1 items, a stretch of `prefix_rows[d]` for each of its last items.
    """
    items = len(begins) - 1
    itemsets, supports = np.empty((room, size), np.int32), np.empty(room, np.int64)
    number, least = 0, 0
    depths = max(size - 1, 1)
    prefix_rows, prefix_places = np.empty((depths, len(rows)), np.int32), np.empty((depths, len(rows)), np.int32)
    prefix_rows[0], prefix_places[0] = rows, places
    last, ends = np.empty((depths, items), np.int32), np.zeros((depths, items + 1), np.int64)
    tally, slots = np.zeros(items, np.int64), np.zeros(items, np.int64)
    seen = np.empty(items, np.int32)
    count, turn = np.zeros(depths, np.int64), np.zeros(depths, np.int64)
    for item in range(items):
        last[0, item], ends[0, item + 1] = item, begins[item + 1]
    count[0] = items
    depth = 0
    while depth >= 0:
        if turn[depth] == count[depth]:
            depth -= 1
            continue
        if 0 < least <= floor:
            break
        branch = turn[depth]
        turn[depth] += 1
        lo, hi = ends[depth, branch], ends[depth, branch + 1]
        if size == 1:
            support = 0
            for at in range(lo, hi):
                support += weights[prefix_rows[0, at]]
            if support > 0 and (least == 0 or support < least):
                least = support
            if support > 0 and len(histogram) > 0:
                histogram[support] += 1
            if 0 < support < k:
                if number < room:
                    itemsets[number, 0], supports[number] = last[0, branch], support
                number += 1
            continue
        following = 0
        for at in range(lo, hi):
            row = prefix_rows[depth, at]
            for place in range(starts[row] + prefix_places[depth, at] + 1, starts[row + 1]):
                code = codes[place]
                if slots[code] == 0:
                    seen[following] = code
                    following += 1
                slots[code] += 1
                tally[code] += weights[row]
        if depth == size - 2:
            for i in range(following):
                support = tally[seen[i]]
                if least == 0 or support < least:
                    least = support
                if len(histogram) > 0:
                    histogram[support] += 1
                if support < k:
                    if number < room:
                        for d in range(size - 1):
                            itemsets[number, d] = last[d, turn[d] - 1]
                        itemsets[number, size - 1], supports[number] = seen[i], support
                    number += 1
        else:
            below = depth + 1
            count[below], turn[below] = following, 0
            filled = 0
            for i in range(following):
                code = seen[i]
                last[below, i], ends[below, i] = code, filled
                filled, slots[code] = filled + slots[code], filled
            ends[below, following] = filled
            for at in range(lo, hi):
                row = prefix_rows[depth, at]
                for place in range(starts[row] + prefix_places[depth, at] + 1, starts[row + 1]):
                    code = codes[place]
                    prefix_rows[below, slots[code]] = row
                    prefix_places[below, slots[code]] = place - starts[row]
                    slots[code] += 1
        for i in range(following):
            slots[seen[i]], tally[seen[i]] = 0, 0
        if depth < size - 2:
            depth += 1
    return itemsets, supports, number, least
