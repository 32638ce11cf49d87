"""Answering questions about boxes of quasi-identifiers and sets of items: the one loop behind estimates and attacks."""

from __future__ import annotations

import numpy as np

from sfumato.arrays import Codes, Counts, Numbers
from sfumato.kernels import kernel


@kernel
def _share(
    lo: Codes, hi: Codes, box_lo: Codes, box_hi: Codes, cumulative: Numbers, offsets: Counts, whole: bool
) -> float:
    """Return which share of a box lies in another one; 1 for any overlap where `whole`."""
    share = 1.0
    for a in range(len(lo)):
        first, last = max(lo[a], box_lo[a]), min(hi[a], box_hi[a])
        if first > last:
            return 0.0
        if not whole:
            base = offsets[a]
            inside = cumulative[base + last + 1] - cumulative[base + first]
            share *= inside / (cumulative[base + box_hi[a] + 1] - cumulative[base + box_lo[a]])
    return share


@kernel
def answers(
    lo: Codes,
    hi: Codes,
    starts: Counts,
    items: Codes,
    box_lo: Codes,
    box_hi: Codes,
    sizes: Counts,
    cumulative: Numbers,
    offsets: Counts,
    begins: Counts,
    rows: Codes,
    part_sizes: Codes,
    group: Counts,
    count: Counts,
    odds: Numbers,
    whole: bool,
) -> Numbers:
    """Add up, over the rows that show all items of a question, records times overlap times odds.

    The rows of the rarest item are walked, the others searched by halving; without items all groups are walked. The
    share of a group is worked out once as long as its rows follow each other, which they do.
    """
    totals = np.zeros(len(lo))
    for q in range(len(lo)):
        total = 0.0
        if starts[q] == starts[q + 1]:
            for g in range(len(sizes)):
                total += sizes[g] * _share(lo[q], hi[q], box_lo[g], box_hi[g], cumulative, offsets, whole)
            totals[q] = total
            continue
        anchor, fewest = -1, len(rows) + 1
        for at in range(starts[q], starts[q + 1]):
            item = items[at]
            if begins[item + 1] - begins[item] < fewest:
                anchor, fewest = at, begins[item + 1] - begins[item]
        last_group, share = -1, 0.0
        for p in range(begins[items[anchor]], begins[items[anchor] + 1]):
            row = rows[p]
            if group[row] != last_group:
                last_group = group[row]
                share = _share(lo[q], hi[q], box_lo[last_group], box_hi[last_group], cumulative, offsets, whole)
            if share == 0.0:
                continue
            likely = share * odds[part_sizes[p]]
            for at in range(starts[q], starts[q + 1]):
                if at == anchor:
                    continue
                low, high = begins[items[at]], begins[items[at] + 1]
                while low < high:
                    middle = (low + high) // 2
                    if rows[middle] < row:
                        low = middle + 1
                    else:
                        high = middle
                if low < begins[items[at] + 1] and rows[low] == row:
                    likely *= odds[part_sizes[low]]
                else:
                    likely = 0.0
                    break
            total += count[row] * likely
        totals[q] = total
    return totals
