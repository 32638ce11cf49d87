"""The values that occur in every row of a large array of counts, so that kernels need not look at all the others.

A box of five records has at most five of thousands of sensitive values. Rows are walked in the same order as they
would be with all their zeros, so sums over rows come out the same to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.arrays import Codes, Counts, Numbers
from sfumato.kernels import kernel


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
