"""Record linkage by distance: finding a person's own record in the release (Domingo-Ferrer and Torra 2001).

The attacker knows the quasi-identifiers of a record of every person and takes the released record that is nearest to
them for one of the person's. It needs the link from people to records, which the publisher has where records were
generalized or perturbed one by one. Of a box the distance is that of its nearest value, so a box that the record lies
in is at distance 0.

    Success: where m records are nearest and c of them are the person's, with probability c / m.
    Somebody of whom no record is published is never found.
    At random: the person's share of the released records.

**The bound by k.** Let every combination of published quasi-identifiers be that of k records, none of them with several
of one person. Then nobody is found with a probability of more than 1 / k, at whatever distance. If persons have
several records, that is the largest share of one person in a combination.

The nearest records by Gower's distance (Biometrics 27, 1971), exactly, over columns of every kind.

A column of numbers or dates adds the difference of two values as a share of the table's range, a column of categories
0 or 1. A missing value counts as one more category, so two that are missing are alike. All this is one formula: put
every leaf on a line, numbers at their share of the range, categories 2 apart and what is missing far away, and a
column adds min(|x - y|, 1).

    nearest(targets, candidates, k): for every target, over all candidates in their order:
        add up the columns; give up as soon as the sum reaches the k-th best so far
        else it takes its place among the k best; of equal ones the first stays

Candidates come in random order, so ties are broken at random, and of identical candidates only the first k can be
found: the others are never looked at.

Replicated uniques: persons with a record that nobody else has, and that is in the release exactly as it is.

A synthetic record that equals somebody's may be chance; many more than among people whom the maker never saw are not.
It is a count and no attack: whoever reads the release does not know which of its records these are. A box of several
values repeats nobody.
"""

from collections.abc import Sequence

import numpy as np

from sfumato.data.cells import Assignment, Cells, distinct_rows, weighted_counts
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.items import taken_rows
from sfumato.measures.attacks._persons import PersonRecords
from sfumato.measures.attacks.advantage import Advantage, Rate
from sfumato.release.records import RecordRelease, leaf_numbers, released_boxes
from sfumato.release.release import Grouped, Published, Release
from sfumato.runtime.arrays import Codes, Counts, Flags, Numbers
from sfumato.runtime.kernels import kernel
from sfumato.texts.catalogue import percent

APART = 2.0
"""How far categories are from each other on their line; more than 1 is all that counts."""

MISSING, STRANGE = 1e6, 2e6
"""The place of values that are missing, or that the domain does not have."""


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
def distance(one: Numbers, other: Numbers, worst: float) -> float:
    """Add up the columns; give up as soon as the sum reaches the worst that counts."""
    total = 0.0
    for a in range(len(one)):
        total += min(abs(one[a] - other[a]), 1.0)
        if total >= worst:
            break
    return total


@kernel
def nearest(targets: Numbers, candidates: Numbers, neighbours: int) -> tuple[Counts, Numbers]:
    """Find the k nearest of the candidates; O(targets x candidates), most of them given up after a column or two."""
    found = np.zeros((len(targets), neighbours), np.int64)
    apart = np.full((len(targets), neighbours), np.inf)
    for i in range(len(targets)):
        worst = np.inf
        for j in range(len(candidates)):
            far = distance(targets[i], candidates[j], worst)
            if far < worst:
                place = neighbours - 1
                while place > 0 and apart[i, place - 1] > far:
                    apart[i, place], found[i, place] = apart[i, place - 1], found[i, place - 1]
                    place -= 1
                apart[i, place], found[i, place] = far, j
                worst = apart[i, neighbours - 1]
    return found, apart


TOLERANCE = 1e-9
"""Distances that differ by less are equal: sums come out a little different in another order."""


def record_linkage(
    release: Grouped, lines: list[Numbers], tries: int, generator: np.random.Generator
) -> Advantage | None:
    """Look for records of some persons, drawn at random; None where nobody knows whose record is whose."""
    link = release.link if isinstance(release, RecordRelease) else getattr(release, "assignment", None)
    if link is None:
        return None
    cells = release.cells
    cell, entry, owner = linked_records(link, cells)
    order = np.argsort(owner, kind="stable").astype(np.int32)
    starts = np.searchsorted(owner[order], np.arange(owner.max() + 2))
    persons = np.sort(generator.permutation(len(starts) - 1)[:tries])
    ends, own = taken_rows(starts, order, persons)
    known = own[ends[:-1] + (generator.random(len(persons)) * np.diff(ends)).astype(np.int64)]
    whose, own = np.repeat(np.arange(len(persons)), np.diff(ends))[entry[own] >= 0], own[entry[own] >= 0]
    group = link.group[entry[own]]
    if isinstance(release, RecordRelease):
        shown = release.lo[group], release.hi[group]
    elif isinstance(release, Release) and release.form == "generalization":
        shown = release.boxes.lo[group], release.boxes.hi[group]
    else:
        shown = cells.codes[cell[own]], cells.codes[cell[own]]
    boxes, everybody = release.boxes, int(release.records)
    own_lo, own_hi, lo, hi = (placed(lines, leaves) for leaves in (*shown, boxes.lo, boxes.hi))
    first = np.searchsorted(whose, np.arange(len(persons) + 1))
    targets, mass = placed(lines, cells.codes[cell[known]]), boxes.mass.astype(np.float64)
    chances = own_found(targets, first, own_lo, own_hi, lo, hi, mass)
    at_random = np.maximum(np.diff(first), 1).sum() / everybody
    largest, why = _largest_share(release)
    return Advantage(
        "record_linkage",
        Rate(float(chances.sum()), len(persons)),
        Rate(float(at_random), len(persons), known=True),
        on="the release itself",
        bound=largest,
        bound_by=f"that {why}",
    )


def _largest_share(release: Grouped) -> tuple[float, str]:
    """Return the largest share of one person in the records of a published combination, with a reason in words."""
    counted = release.group_persons
    if counted is None:
        smallest = int(release.quasi_counts.min())
        return 1 / smallest, f"every published combination is that of {smallest} records"
    share = float((counted.largest / release.sizes).max())
    return share, f"nobody has more than {percent(share, 3)} of the records of a published combination"


def linked_records(link: Assignment, cells: Cells) -> tuple[Counts, Counts, Counts]:
    """List all records in the order of the link, suppressed ones last: the cell, the entry (or -1) and the person.

    The records of a cell are alike, so they are dealt to its entries in any order. Persons are numbered in the order of
    their first record.
    """
    left = cells.counts - weighted_counts(link.cell, link.count, cells.size)
    cell = np.concatenate([np.repeat(link.cell, link.count), np.repeat(np.arange(cells.size), left)])
    entry = np.concatenate([np.repeat(np.arange(len(link.count)), link.count), np.full(left.sum(), -1)])
    pairs, owner = cells.persons, np.arange(len(cell))
    if pairs is not None:
        place = np.empty(pairs.number, np.int64)
        place[pairs.ordered] = np.arange(pairs.number)
        order = np.lexsort((place[pairs.person], pairs.cell))
        owner[np.argsort(cell, kind="stable")] = np.repeat(place[pairs.person[order]], pairs.count[order])
        first = np.unique(owner, return_index=True)[1]
        owner = np.argsort(np.argsort(first))[owner]
    return cell, entry, owner


@kernel
def own_found(
    targets: Numbers, first: Counts, own_lo: Numbers, own_hi: Numbers, lo: Numbers, hi: Numbers, mass: Numbers
) -> Numbers:
    """Return for every target the probability of choosing the target's own record; O(targets x boxes).

    The boxes of the records of target i are at `first[i]:first[i + 1]`.
    """
    chances = np.zeros(len(targets))
    for i in range(len(targets)):
        own, mine = np.inf, 0
        for e in range(first[i], first[i + 1]):
            distance = 0.0
            for a in range(targets.shape[1]):
                distance += min(max(own_lo[e, a] - targets[i, a], targets[i, a] - own_hi[e, a], 0.0), 1.0)
            if distance < own - TOLERANCE:
                own, mine = distance, 0
            mine += distance <= own + TOLERANCE
        if mine == 0:
            continue
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
            chances[i] = mine / tied
    return chances


def replicated_uniques(uniques: PersonRecords, exact: Codes) -> Rate:
    """Count the persons of whom the release has a unique record."""
    return Rate(int(uniques.any(repeated(uniques.codes, exact)).sum()), len(uniques), known=True)


def exact_rows(release: Published, width: int, generator: np.random.Generator) -> Codes:
    """List the released records that show one value of every quasi-identifier, by their first columns."""
    lo, hi, values = released_boxes(release, generator)
    return np.ascontiguousarray(np.column_stack([lo, values])[(lo == hi).all(axis=1), :width], dtype=np.int32)


def repeated(rows: Codes, released: Codes) -> Flags:
    """Return which rows occur in the release unchanged."""
    together = np.ascontiguousarray(np.concatenate([released, rows]))
    first, number = distinct_rows(together)
    return np.asarray(first[number[len(released) :]] < len(released))
