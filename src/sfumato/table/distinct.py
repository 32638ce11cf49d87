"""Distinct rows of an integer matrix, by hashing: the grouping that cells, groups and boxes all need."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import kernel

Codes = NDArray[np.int32]
Counts = NDArray[np.int64]


def distinct_rows(rows: Codes) -> tuple[Counts, Counts]:
    """Find the distinct rows: the position of each one's first appearance, in that order, and each row's number."""
    rows = np.ascontiguousarray(rows)
    if rows.shape[1] == 0:
        return np.zeros(min(len(rows), 1), np.int64), np.zeros(len(rows), np.int64)
    return number_rows(rows)


@kernel
def number_rows(rows: NDArray[np.integer]) -> tuple[Counts, Counts]:
    """Number distinct rows in the order of their first appearance, by open addressing; expected linear time.

    Returns the position of each one's first appearance, and each row's number. Rows of any whole numbers will do.
    """
    n, width = rows.shape
    slots = 16
    while slots < 2 * n:
        slots *= 2
    table = np.full(slots, -1, np.int32)
    first = np.empty(n, np.int64)
    number = np.empty(n, np.int64)
    found = 0
    for i in range(n):
        mixed = np.uint64(14695981039346656037)
        for j in range(width):
            mixed = (mixed ^ np.uint64(rows[i, j])) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(32)
        slot = np.int64(mixed & np.uint64(slots - 1))
        while True:
            known = table[slot]
            if known < 0:
                table[slot] = found
                first[found] = i
                number[i] = found
                found += 1
                break
            same = True
            for j in range(width):
                if rows[first[known], j] != rows[i, j]:
                    same = False
                    break
            if same:
                number[i] = known
                break
            slot = (slot + 1) & (slots - 1)
    return first[:found].copy(), number


@kernel
def number_numbers(numbers: Counts) -> tuple[Counts, Counts]:
    """Do the same for rows of one number each, several times as fast."""
    n, bits = len(numbers), 4
    while 1 << bits < 2 * n:
        bits += 1
    unused, last = np.uint64(64 - bits), (1 << bits) - 1
    table = np.full(1 << bits, -1, np.int32)
    known, first = np.empty(n, np.int64), np.empty(n, np.int64)
    number = np.empty(n, np.int64)
    found = 0
    for i in range(n):
        own = numbers[i]
        slot = np.int64((np.uint64(own) * np.uint64(0x9E3779B97F4A7C15)) >> unused)
        place = table[slot]
        while place >= 0 and known[place] != own:
            slot = (slot + 1) & last
            place = table[slot]
        if place < 0:
            table[slot] = place = found
            known[found], first[found] = own, i
            found += 1
        number[i] = place
    return first[:found].copy(), number
