"""Walking all sets of codes that some row has, depth first.

The rows that hold a prefix are listed together with the place of its last code, and what stands behind those places is
tallied. So no set is hashed or stored, and the memory is the rows once per size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.arrays import Codes, Counts
from sfumato.kernel_helpers import members_by
from sfumato.kernels import kernel


def holders(starts: Counts, codes: Codes, items: int) -> tuple[Counts, Codes, Codes]:
    """List for every code the rows that hold it, ascending, and where in these rows it stands."""
    begins, entries = members_by(codes, items)
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[entries]
    return begins, rows.astype(np.int32), (entries - starts[rows]).astype(np.int32)


class Walk(NamedTuple):
    """Where a walk is: depth d has the rows that hold a prefix of d + 1 codes."""

    starts: Counts
    codes: Codes
    weights: Counts
    """The rows that are walked, codes ascending, and how many records have each."""

    rows: Codes
    places: Codes
    """By depth: the rows that hold a prefix, a stretch for each of its last codes, and where these stand in them."""

    last: Codes
    ends: Counts
    """By depth: the last codes of the prefixes, and where the stretch of each begins and ends."""

    branches: Counts
    turn: Counts
    """By depth: how many prefixes there are, and how many have been looked at."""

    seen: Codes
    slots: Counts
    tally: Counts
    """What stands behind a prefix: the codes; by code its rows, and its records. Zero where nothing is tallied."""


def begin_walk(starts: Counts, codes: Codes, weights: Counts, items: int, depths: int) -> Walk:
    """Begin with all single codes."""
    begins, held, where = holders(starts, codes, items)
    rows, places = np.empty((depths, len(held)), np.int32), np.empty((depths, len(held)), np.int32)
    last, ends = np.empty((depths, items), np.int32), np.zeros((depths, items + 1), np.int64)
    branches, turn = np.zeros(depths, np.int64), np.zeros(depths, np.int64)
    rows[0], places[0], last[0], ends[0], branches[0] = held, where, np.arange(items), begins, items
    seen, slots, tally = np.empty(items, np.int32), np.zeros(items, np.int64), np.zeros(items, np.int64)
    return Walk(starts, codes, weights, rows, places, last, ends, branches, turn, seen, slots, tally)


@kernel
def tally_behind(walk: Walk, depth: int, branch: int) -> int:
    """Tally what stands behind a prefix in the rows that hold it; return how many codes that are."""
    following = 0
    for at in range(walk.ends[depth, branch], walk.ends[depth, branch + 1]):
        row = walk.rows[depth, at]
        weight = walk.weights[row]
        for place in range(walk.starts[row] + walk.places[depth, at] + 1, walk.starts[row + 1]):
            code = walk.codes[place]
            if walk.slots[code] == 0:
                walk.seen[following] = code
                following += 1
            walk.slots[code] += 1
            walk.tally[code] += weight
    return following


@kernel
def go_down(walk: Walk, depth: int, branch: int, following: int) -> None:
    """List, one depth below, the rows of a prefix with each of the codes that were tallied behind it."""
    below, filled = depth + 1, 0
    walk.branches[below], walk.turn[below] = following, 0
    for i in range(following):
        code = walk.seen[i]
        walk.last[below, i], walk.ends[below, i] = code, filled
        filled, walk.slots[code] = filled + walk.slots[code], filled
    walk.ends[below, following] = filled
    for at in range(walk.ends[depth, branch], walk.ends[depth, branch + 1]):
        row = walk.rows[depth, at]
        for place in range(walk.starts[row] + walk.places[depth, at] + 1, walk.starts[row + 1]):
            code = walk.codes[place]
            walk.rows[below, walk.slots[code]] = row
            walk.places[below, walk.slots[code]] = place - walk.starts[row]
            walk.slots[code] += 1


@kernel
def forget(walk: Walk, following: int) -> None:
    """Clear what was tallied behind a prefix."""
    for i in range(following):
        walk.slots[walk.seen[i]], walk.tally[walk.seen[i]] = 0, 0


@kernel
def write_prefix(walk: Walk, length: int, target: Codes) -> None:
    """Write the first codes of the prefix that is looked at."""
    for depth in range(length):
        target[depth] = walk.last[depth, walk.turn[depth] - 1]
