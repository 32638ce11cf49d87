"""Record linkage by distance: finding a person's own record in the release (Domingo-Ferrer and Torra 2001).

The attacker knows everybody's quasi-identifiers and takes the released record that is nearest to them for the person's
own. It needs the link from people to records, which the publisher has where records were generalized or perturbed one
by one. Of a box the distance is that of its nearest value, so a box that the person lies in is at distance 0.

    success: the person's own record is among the nearest; where m of them are equally near, with probability 1 / m
    somebody whose record is not published is never found
    at random: 1 / the number of released records

**What k says.** Where every combination of published quasi-identifiers is that of k records, one's own is among k that
look alike, so nobody is found with a probability of more than 1 / k, at whatever distance.

The nearest records by Gower's distance (Biometrics 27, 1971), exactly, over columns of every kind.

A column of numbers or dates adds the difference of two values as a share of the table's range, a column of categories
0 or 1; a missing value is a category of its own, so two that are missing are alike. All this is one formula: put
every leaf on a line, numbers at their share of the range, categories 2 apart and what is missing far away, and a column
adds min(|x - y|, 1).

    nearest(targets, candidates, k): for every target, over all candidates in their order:
        add up the columns; give up as soon as the sum reaches the k-th best so far
        else it takes its place among the k best; of equal ones the first stays

Candidates come in random order, so ties are broken at random, and of identical candidates only the first k can be
found: the others are never looked at.

Replicated uniques: records that one person alone has, and that stand in the release exactly as they are.

A synthetic record that equals somebody's may be chance; many more than among people whom the maker never saw are not.
It is a count and no attack: whoever reads the release does not know which of its records these are. A box of several
values repeats nobody.
"""

from collections.abc import Sequence

import numpy as np

from sfumato.data.cells import distinct_rows
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.measures.attacks.advantage import Advantage, Rate
from sfumato.release.records import RecordRelease, leaf_numbers, released_boxes
from sfumato.release.release import Grouped, Published, Release
from sfumato.runtime.arrays import Codes, Counts, Flags, Numbers
from sfumato.runtime.kernels import kernel

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


TOLERANCE = 1e-9
"""Distances that differ by less are equal: sums come out a little different in another order."""


def record_linkage(
    release: Grouped, lines: list[Numbers], tries: int, generator: np.random.Generator
) -> Advantage | None:
    """Look for some persons' own records, drawn at random; None where nobody knows whose record is whose."""
    link = release.link if isinstance(release, RecordRelease) else getattr(release, "assignment", None)
    if link is None:
        return None
    cells = release.cells
    persons = np.sort(generator.permutation(cells.records)[:tries])
    entry = np.searchsorted(np.cumsum(link.count), persons, side="right")
    published = entry < len(link.count)
    entry = entry[published]
    codes = cells.codes[link.cell[entry]]
    if isinstance(release, RecordRelease):
        own = release.lo[link.group[entry]], release.hi[link.group[entry]]
    elif isinstance(release, Release) and release.form == "generalization":
        own = release.boxes.lo[link.group[entry]], release.boxes.hi[link.group[entry]]
    else:
        own = codes, codes
    boxes = release.boxes
    own_lo, own_hi, lo, hi = (placed(lines, ends) for ends in (*own, boxes.lo, boxes.hi))
    chances = own_found(placed(lines, codes), own_lo, own_hi, lo, hi, boxes.mass.astype(np.float64))
    everybody = int(release.records)
    smallest = int(release.quasi_counts.min())
    return Advantage(
        "record_linkage",
        Rate(float(chances.sum()), len(persons)),
        Rate(len(persons) / everybody, len(persons), known=True),
        on="the release itself",
        bound=1 / smallest,
        bound_by=f"that every published combination is that of {smallest} records",
    )


@kernel
def own_found(targets: Numbers, own_lo: Numbers, own_hi: Numbers, lo: Numbers, hi: Numbers, mass: Numbers) -> Numbers:
    """Return for every target the probability to take its own record; O(targets x boxes)."""
    chances = np.zeros(len(targets))
    for i in range(len(targets)):
        own = 0.0
        for a in range(targets.shape[1]):
            own += min(max(own_lo[i, a] - targets[i, a], targets[i, a] - own_hi[i, a], 0.0), 1.0)
        tied = 0.0
        for j in range(len(lo)):
            distance = 0.0
            for a in range(targets.shape[1]):
                distance += min(max(lo[j, a] - targets[i, a], targets[i, a] - hi[j, a], 0.0), 1.0)
                if distance > own + TOLERANCE:
                    break
            if distance < own - TOLERANCE:
                tied = 0.0
                break
            if distance <= own + TOLERANCE:
                tied += mass[j]
        if tied > 0:
            chances[i] = 1 / tied
    return chances


def replicated_uniques(uniques: Codes, exact: Codes) -> Rate:
    """Count the uniques that stand in the release."""
    return Rate(int(repeated(uniques, exact).sum()), len(uniques), known=True)


def exact_rows(release: Published, width: int, generator: np.random.Generator) -> Codes:
    """List the released records that show one value of every quasi-identifier, by their first columns."""
    lo, hi, values = released_boxes(release, generator)
    return np.ascontiguousarray(np.column_stack([lo, values])[(lo == hi).all(axis=1), :width], dtype=np.int32)


def repeated(rows: Codes, released: Codes) -> Flags:
    """Say which rows stand in the release as they are."""
    together = np.ascontiguousarray(np.concatenate([released, rows]))
    first, number = distinct_rows(together)
    return np.asarray(first[number[len(released) :]] < len(released))


def alone(codes: Codes, counts: Counts) -> Codes:
    """Return the records that one person alone has; `counts` people are behind every row."""
    first, number = distinct_rows(np.ascontiguousarray(codes))
    totals = np.bincount(number, counts, len(first))
    return np.ascontiguousarray(codes[first[totals == 1]])
