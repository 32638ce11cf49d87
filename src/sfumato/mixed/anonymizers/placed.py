"""Which records of a cell go to which group: the assignment of a table's release, for pairs of cell and basket.

A maker of tables says how many records of a cell go to a group. Where a cell is divided, or some of its records are
left out, its records differ in their baskets, and somebody must go. They are dealt out in the order of a digest of
their basket that is keyed by the digest of the whole data: the same data give the same release, the order of rows has
no say, and a reader, who knows neither the data nor that digest, learns nothing of a basket from the side that it is
on. An order by the baskets themselves would tell which items stand on which side.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import Counts
from sfumato.mixed.mixed_table import MixedTable
from sfumato.quiet import Quiet
from sfumato.table import Assignment


@dataclass(frozen=True, eq=False, repr=False)
class Placed(Quiet):
    """Where the records of every pair go: `count` records of `pair` to `group`; what no entry takes is left out."""

    pair: Counts
    group: Counts
    count: Counts


def placed(data: MixedTable, assignment: Assignment) -> Placed:
    """Say of every pair of a cell and a basket how many of its records go to which group."""
    cells, pairs = data.cells, data.pairs
    starts = np.searchsorted(pairs.cell, np.arange(cells.size + 1))
    entries = np.bincount(assignment.cell, minlength=cells.size)
    taken = np.bincount(assignment.cell, assignment.count, cells.size).astype(np.int64)
    whole = (entries == 1) & (taken == cells.counts)
    group_of = np.full(cells.size, -1, np.int64)
    group_of[assignment.cell] = assignment.group
    kept = np.flatnonzero(whole[pairs.cell])
    parts = [np.stack([kept, group_of[pairs.cell[kept]], pairs.count[kept]])]
    order = np.lexsort((assignment.group, assignment.cell))
    at = np.searchsorted(assignment.cell[order], np.arange(cells.size + 1))
    divided = np.flatnonzero((entries > 0) & ~whole)
    for cell in divided.tolist():
        places = range(int(starts[cell]), int(starts[cell + 1]))
        shares = order[at[cell] : at[cell + 1]]
        parts.append(_dealt(data, places, assignment.group[shares], assignment.count[shares]))
    pair, group, count = np.concatenate(parts, axis=1)
    return Placed(pair, group, count)


def _dealt(data: MixedTable, places: range, groups: Counts, counts: Counts) -> Counts:
    """Deal the pairs of one cell out to groups, so many records to each, in the order of their digests."""
    key = bytes.fromhex(data.digest)
    labels = {place: repr(data.baskets.basket(int(data.pairs.basket[place]))).encode() for place in places}
    order = sorted(places, key=lambda place: hashlib.sha256(key + labels[place]).digest())
    left = {place: int(data.pairs.count[place]) for place in order}
    entries, at = [], 0
    for group, wanted in zip(groups.tolist(), counts.tolist(), strict=True):
        while wanted:
            place = order[at]
            number = min(wanted, left[place])
            entries.append((place, group, number))
            wanted, left[place] = wanted - number, left[place] - number
            at += left[place] == 0
    return np.array(entries, np.int64).T
