"""The nearest records by Gower's distance (Biometrics 27, 1971), exactly, over columns of every kind.

A column of numbers or dates adds the difference of two values as a share of the table's range, a column of categories
0 or 1; a missing value is a category of its own, so two that are missing are alike. All this is one formula: put
every leaf on a line, numbers at their share of the range, categories 2 apart and what is missing far away, and a column
adds min(|x - y|, 1).

    nearest(targets, candidates, k): for every target, over all candidates in their order:
        add up the columns; give up as soon as the sum reaches the k-th best so far
        else it takes its place among the k best; of equal ones the first stays

Candidates come in random order, so ties are broken at random, and of identical candidates only the first k can be
found: the others are never looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.arrays import Codes, Counts, Numbers
from sfumato.kernels import kernel
from sfumato.release.records import leaf_numbers
from sfumato.table import Hierarchy, distinct_rows

APART = 2.0
"""How far categories are from each other on their line; more than 1 is all that counts."""

MISSING, STRANGE = 1e6, 2e6
"""Where values are put that are missing, or that the domain does not have."""


def leaf_places(hierarchy: Hierarchy, codes: Codes) -> Numbers:
    """Put every leaf on a line; `codes` are those that records of the table have. Behind the last: any other value."""
    places: Numbers = APART * np.arange(hierarchy.size + 1, dtype=np.float64)
    if hierarchy.scale != "category":
        numbers = leaf_numbers(hierarchy)
        seen = numbers[codes[(codes >= 0) & (codes < hierarchy.size)]]
        seen = seen[np.isfinite(seen)]
        extent = float(seen.max() - seen.min()) if len(seen) else 0.0
        places[:-1] = np.where(np.isfinite(numbers), numbers / (extent or 1.0), MISSING)
    places[-1] = STRANGE
    return places


def placed(lines: Sequence[Numbers], codes: Codes) -> Numbers:
    """Put records on the lines of their columns."""
    columns = []
    for line, column in zip(lines, codes.T, strict=True):
        known = (column >= 0) & (column < len(line) - 1)
        columns.append(line[np.where(known, column, len(line) - 1)])
    return np.ascontiguousarray(np.column_stack(columns))


def nearest_records(
    targets: Numbers, candidates: Numbers, neighbours: int, generator: np.random.Generator
) -> tuple[Counts, Numbers]:
    """Find the nearest candidates of every target, ties at random: which they are, and how far."""
    order = generator.permutation(len(candidates))
    mixed = np.ascontiguousarray(candidates[order])
    kept = _first_of_each(mixed, neighbours)
    found, apart = nearest(np.ascontiguousarray(targets), np.ascontiguousarray(mixed[kept]), min(neighbours, len(kept)))
    return order[kept[found]], apart / max(targets.shape[1], 1)


def _first_of_each(rows: Numbers, most: int) -> Counts:
    """Find the first few of every set of equal rows, in order."""
    first, number = distinct_rows(rows.view(np.int64))
    if most == 1:
        return first
    order = np.argsort(number, kind="stable")
    starts = np.searchsorted(number[order], np.arange(len(first)))
    rank = np.arange(len(rows)) - starts[number[order]]
    return np.sort(order[rank < most])


@kernel
def nearest(targets: Numbers, candidates: Numbers, neighbours: int) -> tuple[Counts, Numbers]:
    """Find the k nearest of the candidates; O(targets x candidates), most of them given up after a column or two."""
    found = np.zeros((len(targets), neighbours), np.int64)
    apart = np.full((len(targets), neighbours), np.inf)
    for i in range(len(targets)):
        worst = np.inf
        for j in range(len(candidates)):
            distance = 0.0
            for a in range(targets.shape[1]):
                distance += min(abs(targets[i, a] - candidates[j, a]), 1.0)
                if distance >= worst:
                    break
            if distance < worst:
                place = neighbours - 1
                while place > 0 and apart[i, place - 1] > distance:
                    apart[i, place], found[i, place] = apart[i, place - 1], found[i, place - 1]
                    place -= 1
                apart[i, place], found[i, place] = distance, j
                worst = apart[i, neighbours - 1]
    return found, apart
