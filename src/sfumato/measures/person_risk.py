"""Risks of sensitive values by persons, and of persons all of whose records somebody knows.

An attacker who knows one record of a person knows its group: these risks read the shares of its persons. An attacker
who knows the quasi-identifiers of all records knows the multiset of the person's groups, and how many records are in
each.

    Certain:         more records of the person are in a group than it has rows without some value.
    `one_value_left`:  all records of the person have one value, and only one value is in all of the person's groups.
    `singled_out`:     no other person has as many records in the same groups.

The file does not link rows to persons, so `singled_out` is a risk only where somebody can link the rows of one person.
"""

import numpy as np

from sfumato.data.cells import Cells, Histograms, distinct_rows
from sfumato.data.persons import GroupPersons
from sfumato.measures.divergence import adversary_gains
from sfumato.requirements._predicates import TOLERANCE
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.runtime.kernels import kernel


def gains_of_persons(cells: Cells, counted: GroupPersons, columns: slice) -> dict[str, float]:
    """Average over sightings what is learned of one attribute; one guess per group is compared with one for all.

    A suppressed record is a sighting at its own combination of quasi-identifiers in that comparison.
    """
    q = next(each.q for place, each in enumerate(cells.sensitive) if cells.span(place) == columns)
    gains = adversary_gains(counted.weighted[:, columns], counted.persons, q)
    having, sightings = counted.having[:, columns], int(counted.persons.sum())
    everywhere, seen, left = having.sum(axis=0), sightings, counted.group < 0
    if left.any():
        group = np.full(cells.size, -1, np.int32)
        points, group[left] = np.unique(cells.points.number[left], return_inverse=True)
        suppressed = GroupPersons(counted.pairs, group, len(points), counted.columns, counted.spans)
        everywhere = everywhere + suppressed.having[:, columns].sum(axis=0)
        seen += int(suppressed.persons.sum())
    right = float(having.max(axis=1).sum()) / sightings
    return {**gains, "a_acc": right - float((everywhere / seen).max())}


def recursive_ranks(weighted: Numbers, persons: Counts, c: float) -> Counts:
    """Return for every group the largest l with r_1 < c (r_l + ... + r_m)."""
    falling = -np.sort(-weighted, axis=1)
    tails = np.cumsum(falling[:, ::-1], axis=1)[:, ::-1]
    enough = falling[:, :1] < c * tails - TOLERANCE * persons[:, None]
    ranks: Counts = (enough * np.arange(1, weighted.shape[1] + 1)).max(axis=1)
    return ranks


def exposures(counted: GroupPersons, values: Codes, place: int, histograms: Histograms) -> dict[str, float]:
    """Return the shares of the persons with a published record whose value of one attribute is known."""
    pairs = counted.pairs
    entries = pairs.cell, pairs.person, pairs.count, counted.group
    found = count_exposed(*entries, values, np.ascontiguousarray(histograms.of(place)), histograms.sizes)
    shown, certain, left = found.tolist()
    return {"certain": certain / shown, "one_value_left": left / shown}


@kernel
def count_exposed(
    cell: Codes, person: Codes, count: Codes, group: Codes, values: Codes, counts: Counts, sizes: Counts
) -> Counts:
    """Count persons with a published record, those with a certain value, and those with one value left; O(pairs)."""
    found, held, most = np.zeros(3, np.int64), np.zeros(len(sizes), np.int64), np.zeros(len(sizes), np.int64)
    for g in range(len(sizes)):
        most[g] = counts[g].max()
    start = end = 0
    while end < len(cell):
        start, shown, constant, certain = end, False, True, False
        while end < len(cell) and person[end] == person[start]:
            constant = constant and values[cell[end]] == values[cell[start]]
            if group[cell[end]] >= 0:
                held[group[cell[end]]] += count[end]
                shown = True
            end += 1
        if not shown:
            continue
        for i in range(start, end):
            g = group[cell[i]]
            certain = certain or (g >= 0 and held[g] > sizes[g] - most[g])
        left = 0
        for s in range(counts.shape[1] if constant else 0):
            everywhere = True
            for i in range(start, end):
                if group[cell[i]] >= 0 and counts[group[cell[i]], s] == 0:
                    everywhere = False
                    break
            left += everywhere
            if left > 1:
                break
        for i in range(start, end):
            held[max(group[cell[i]], 0)] = 0
        found[0] += 1
        found[1] += certain
        found[2] += left == 1
    return found


def singled_out(counted: GroupPersons) -> float:
    """Return the share of the persons with a published record who have a multiset of groups of their own.

    Multisets are compared by two sums of 64 random bits for every record's group.
    """
    group = counted.group[counted.pairs.cell]
    shown = group >= 0
    bits = np.iinfo(np.int64)
    drawn = np.random.default_rng(1).integers(bits.min, bits.max, (counted.groups, 2), endpoint=True)
    person, records = counted.pairs.person[shown], counted.pairs.count[shown].astype(np.int64)
    starts = np.flatnonzero(np.diff(person, prepend=-1))
    first, number = distinct_rows(np.add.reduceat(drawn[group[shown]] * records[:, None], starts))
    return float((np.bincount(number, minlength=len(first)) == 1).sum()) / len(starts)
