"""Shared code of kernels: growing arrays, sorting, queues, hashing, and random numbers.

Each function is compiled for the arrays with which it is called.
"""

import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.runtime.arrays import Codes, Counts
from sfumato.runtime.kernels import kernel

NO_HASH = np.uint64(14695981039346656037)
"""The hash of an empty row."""


# -- arrays that grow ------------------------------------------------------------------------------------------------


@kernel
def room(array: NDArray[Any], needed: int) -> NDArray[Any]:
    """Return the array, or a copy of at least twice the length (or rows) if it is too short."""
    if needed <= len(array):
        return array
    longer = np.empty((max(needed, 2 * len(array)),) + array.shape[1:], array.dtype)  # noqa: RUF005 (numba knows no *)
    put(longer, 0, array)
    return longer


@kernel
def put(target: NDArray[Any], start: int, source: NDArray[Any]) -> None:
    """Copy the source into the target from an index on."""
    for i in range(len(source)):
        target[start + i] = source[i]


# -- sorting ---------------------------------------------------------------------------------------------------------


@kernel
def members_by(number: Codes | Counts, groups: int) -> tuple[Counts, Counts]:
    """List the rows of each group, ascending: those of group g are in `offsets[g]:offsets[g + 1]`. Linear time."""
    offsets = np.zeros(groups + 1, np.int64)
    for i in range(len(number)):
        offsets[number[i] + 1] += 1
    for g in range(groups):
        offsets[g + 1] += offsets[g]
    members, place = np.empty(len(number), np.int64), offsets[:groups].copy()
    for i in range(len(number)):
        members[place[number[i]]] = i
        place[number[i]] += 1
    return offsets, members


@kernel
def sort_falling(order: Counts, keys: Counts) -> None:
    """Sort numbers by their keys, the largest first, by insertion: for few numbers, or an almost sorted order."""
    for i in range(1, len(order)):
        number, place = order[i], i
        while place > 0 and keys[order[place - 1]] < keys[number]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = number


@kernel
def falling(counts: Counts) -> Counts:
    """Return the nonzero counts, the largest first, by insertion (groups have few values)."""
    ordered = np.empty(len(counts), counts.dtype)
    present = 0
    for s in range(len(counts)):
        if counts[s] > 0:
            place = present
            while place > 0 and ordered[place - 1] < counts[s]:
                ordered[place] = ordered[place - 1]
                place -= 1
            ordered[place] = counts[s]
            present += 1
    return ordered[:present]


@kernel
def sorted_together(keys: Counts, weights: Counts) -> tuple[Counts, Counts]:
    """Sort keys, with their weights, by merging; the given arrays are overwritten."""
    n = len(keys)
    other_keys, other_weights = np.empty(n, np.int64), np.empty(n, np.int64)
    run = 1
    while run < n:
        for start in range(0, n, 2 * run):
            a, b = start, min(start + run, n)
            a_end, b_end = b, min(start + 2 * run, n)
            for i in range(start, b_end):
                if b >= b_end or (a < a_end and keys[a] <= keys[b]):
                    other_keys[i], other_weights[i] = keys[a], weights[a]
                    a += 1
                else:
                    other_keys[i], other_weights[i] = keys[b], weights[b]
                    b += 1
        keys, other_keys = other_keys, keys
        weights, other_weights = other_weights, weights
        run *= 2
    return keys, weights


@kernel
def first_from(ordered: Codes | Counts, start: int, end: int, wanted: int) -> int:
    """Return the first of the ascending numbers at start..end that is at least `wanted`; numpy's compiles slower."""
    while start < end:
        middle = (start + end) // 2
        if ordered[middle] < wanted:
            start = middle + 1
        else:
            end = middle
    return start


@kernel
def has_number(ordered: Codes | Counts, start: int, end: int, wanted: int) -> bool:
    """Return whether a number is among the ascending ones at start..end."""
    at = first_from(ordered, start, end, wanted)
    return bool(at < end and ordered[at] == wanted)


# -- queues ----------------------------------------------------------------------------------------------------------


@kernel
def pushed(keys: Counts, stamps: Counts, size: int, key: int, stamp: int) -> tuple[Counts, Counts]:
    """Push an entry on the heap of `size` entries (least key first); return its arrays, grown if they were full."""
    keys, stamps = room(keys, size + 1), room(stamps, size + 1)
    at = size
    while at > 0 and keys[(at - 1) // 2] > key:
        keys[at], stamps[at] = keys[(at - 1) // 2], stamps[(at - 1) // 2]
        at = (at - 1) // 2
    keys[at], stamps[at] = key, stamp
    return keys, stamps


@kernel
def pop(keys: Counts, stamps: Counts, size: int) -> None:
    """Remove the first entry from the heap of `size` entries."""
    key, stamp = keys[size - 1], stamps[size - 1]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size - 1:
            break
        if child + 1 < size - 1 and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[at], stamps[at] = keys[child], stamps[child]
        at = child
    keys[at], stamps[at] = key, stamp


# -- hashing ---------------------------------------------------------------------------------------------------------


@kernel
def slots_for(entries: int) -> int:
    """Return a power of two that is at least twice the number of entries of a hash table."""
    slots = 16
    while slots < 2 * entries:
        slots *= 2
    return slots


@kernel
def hashed(key: int, shift: int) -> np.uint64:
    """Return the first slot of a key: the highest 64 - shift bits of a product."""
    return (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift)


@kernel
def mixed_in(before: np.uint64, number: int) -> np.uint64:
    """Add one number to a hash."""
    mixed = (before ^ np.uint64(number)) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(32))


# -- drawing ---------------------------------------------------------------------------------------------------------


def drawing_state(seed: int | None) -> NDArray[np.uint64]:
    """Return the state for `uniform`: from a seed, or unpredictable without one."""
    return np.array([secrets.randbits(64) if seed is None else seed], np.uint64)


@kernel
def uniform(state: NDArray[np.uint64]) -> float:
    """Draw a number in [0, 1) by SplitMix64 and advance the state."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    mixed = state[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(11)) * (1.0 / 9007199254740992.0)
