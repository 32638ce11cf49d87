"""Plain twins of what is measured of baskets: sets of Python, straight from the definitions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, compress
from typing import Any


def supports(rows: list[frozenset[str]], most: int, whose: Sequence[Any] | None = None) -> dict[frozenset[str], int]:
    """Count the persons (by default the records) of every set of up to `most` items that some record has."""
    found: dict[frozenset[str], set[Any]] = {}
    for row, who in zip(rows, range(len(rows)) if whose is None else whose, strict=True):
        for size in range(1, most + 1):
            for own in combinations(sorted(row), size):
                found.setdefault(frozenset(own), set()).add(who)
    return {own: len(persons) for own, persons in found.items()}


def published(row: frozenset[str], part: dict[str, str | None]) -> frozenset[str]:
    """Publish a record: every item as its part, suppressed ones not at all."""
    return frozenset(own for item in row if (own := part[item]) is not None)


def matches(
    rows: list[frozenset[str]],
    parts: list[dict[str, str | None]],
    known: frozenset[str],
    whose: Sequence[Any] | None = None,
) -> int:
    """Count the persons (by default the records) who fit known items; a suppressed item helps nobody."""
    fits = [
        all(part[item] is None or part[item] in published(row, part) for item in known)
        for row, part in zip(rows, parts, strict=True)
    ]
    return len(set(compress(range(len(rows)) if whose is None else whose, fits)))


def odds(estimator: str, size: int, known: int, joint: str) -> Fraction:
    """Say how likely known members of a set are all in a record, by counting the subsets an estimator allows."""
    if size == 1 or known == 0 or estimator == "expanded":
        return Fraction(1)
    if joint == "product":
        return odds(estimator, size, 1, "exact") ** known
    members = range(size)
    subsets = [set(own) for n in range(size + 1) for own in combinations(members, n)]
    if estimator == "nonempty":
        subsets = [own for own in subsets if own]
    if estimator == "uniform":
        subsets = [own for own in subsets if len(own) == 1]
    return Fraction(sum(set(range(known)) <= own for own in subsets), len(subsets))


def estimate(
    rows: list[frozenset[str]], parts: list[dict[str, str | None]], query: frozenset[str], estimator: str, joint: str
) -> Fraction:
    """Add up over records how likely each has all items of a query."""
    total = Fraction(0)
    for row, part in zip(rows, parts, strict=True):
        if any(part[item] is None or part[item] not in published(row, part) for item in query):
            continue
        share = Fraction(1)
        for own in {part[item] for item in query}:
            size = sum(other == own for other in part.values())
            share *= odds(estimator, size, sum(part[item] == own for item in query), joint)
        total += share
    return total


def utility_loss(rows: list[frozenset[str]], part: dict[str, str | None], singletons: bool = True) -> Fraction:
    """Return UL with weights of one."""
    total, items = Fraction(0), len(part)
    for own in {own for own in part.values() if own is not None}:
        size = sum(other == own for other in part.values())
        if size > 1 or singletons:
            shown = sum(own in published(row, part) for row in rows)
            total += Fraction(2**size - 1, 2**items - 1) * Fraction(shown, len(rows))
    gone = sum(part[item] is None for row in rows for item in row)
    return total + Fraction(gone, len(rows))


def ncp(rows: list[frozenset[str]], part: dict[str, str | None], leaf_zero: bool = True) -> Fraction:
    """Return NCP."""
    total, occurrences = Fraction(0), 0
    for row in rows:
        for item in row:
            occurrences += 1
            size = sum(own == part[item] for own in part.values())
            if part[item] is None:
                total += 1
            elif size > 1 or not leaf_zero:
                total += Fraction(size, len(part))
    return total / max(occurrences, 1)


def rho(
    rows: list[frozenset[str]], part: dict[str, str | None], sensitive: set[str], known: int, whose: Sequence[Any]
) -> Fraction:
    """Return the largest confidence of a sensitive item, given up to `known` other published items, in persons."""
    shown = [published(row, part) for row in rows]
    worst = Fraction(0)
    for target in {part[item] for item in sensitive} - {None}:
        members = [item for item in part if part[item] == target]
        share = Fraction(len(set(members) & sensitive), len(members))
        for given in supports([row - {target} for row in shown], known):
            having = [(row, who) for row, who in zip(shown, whose, strict=True) if given <= row]
            also = {who for row, who in having if target in row}
            worst = max(worst, share * Fraction(len(also), len({who for _, who in having})))
    return worst
