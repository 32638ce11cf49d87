"""Membership inference against a holdout: was this person among those the release was made from?

The attacker has a record of the person, the release, and a reference: one record each of other persons of the source.
A record that was used tends to be nearer to the release than its surroundings explain. The score is the ratio of both
distances, which is the density ratio of DOMIAS (van Breugel et al., AISTATS 2023) with densities estimated by the
nearest neighbour:

    `score(x)` = distance of x to the release / distance of x to the reference; 0 where x itself is in the release.
    Members, others: a record each of equally many persons of the table and of the control, each distinct, that nobody
        else in table and control has. Records on both sides cannot be distinguished.
    Choose, on one half of them, the threshold with the largest TPR - FPR; count both on the other half.
    Advantage = TPR - FPR there; 0 is guessing, 1 is certainty.

Members and others are equally many, and the same is left out from both sides. So against a release that has nothing to
do with the table both have the same scores on average and the advantage is 0. The table published as it is
gives 1: every member is at distance 0 and nobody else is. Since the threshold is chosen on other records than those it
is counted on, the advantage is not too large by having been chosen.

**The bound by a guarantee.** Let a release be (epsilon, delta)-differentially private for one record replaced. Then
every test has TPR - FPR <= (e^epsilon - 1 + 2 delta) / (e^epsilon + 1) (Kairouz et al., ICML 2015; Humphries et al.,
CSF 2023). Our epsilon is for one record more or less, and a member here replaces another record. These are two such
steps, so epsilon counts twice, and delta 1 + e^epsilon times.

It does not show that no attack could do better. It is one attack, on average over records. The distance to the closest
record alone is no measure of risk (Yao et al., arXiv 2505.01524: releases that pass such tests leak membership). So it
is reported as a description only.

Membership inference by shadow models: releases with and without a record, told apart (Stadler et al. 2022).

"Synthetic Data - Anonymisation Groundhog Day" (USENIX Security). An attacker who knows how a release is made can make
many of them, with and without a target, and learn what the target does to them. Then the attacker judges the published
one.

    Targets: the records that are farthest from any other; where persons are counted, persons by their known record.
    Halve the other records: the attacker's, and the publisher's.
    For every target, often: draw records of the attacker's half, put the target instead of one or not, make a release.
    Learn (a random forest) from features of these releases whether the target was in.
    Do the same with the publisher's half, and let the forest judge.
    Advantage = TPR - FPR over all targets.

Features: of every column the shares of its values (numbers in ten stretches), mean and spread; all pairs' correlations;
how far the target is from the closest released record, and how many are equal to it. Every release is made with
separate random numbers, and both kinds have the same number of records, so that neither reveals the target.

**What a guarantee says**: the same as of every membership attack (`membership.py`).

It is run on draws of half of a half of the records, and of 2,000 at most, because it makes hundreds of releases. A
record has more influence on a release of few records than on one of all, so the result errs on the side of caution. A
requirement that needs more records than that cannot be judged by it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, sqrt

import numpy as np

from sfumato.data.cells import distinct_rows
from sfumato.data.dataset import RemainingTable
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.reading import Table
from sfumato.measures.attacks._persons import PersonRecords, records_of
from sfumato.measures.attacks.advantage import Advantage, Interval, Rate
from sfumato.measures.attacks.record_linkage import nearest_records, placed
from sfumato.release.content import Guarantee
from sfumato.release.records import cell_codes, read_as_records
from sfumato.release.release import Published
from sfumato.runtime.arrays import Codes, Counts, Flags, Numbers, RedactedRepr
from sfumato.runtime.cancellation import check_cancelled

REFERENCE = 1 / 3
"""The share of the control that is the attacker's reference; the others are the ones who were not in the table."""

Z = 1.959963984540054
"""The normal quantile of a 95 % interval."""


@dataclass(frozen=True, eq=False)
class Suspects:
    """The known records of the persons in question, in random order, and those of the reference."""

    members: Codes
    others: Codes
    reference: Codes

    @staticmethod
    def drawn(training: PersonRecords, control: PersonRecords, most: int, generator: np.random.Generator) -> Suspects:
        """Draw at most so many members and others, and the reference."""
        mixed = generator.permutation(len(control))
        referred = round(REFERENCE * len(mixed))
        reference, others = control.some(mixed[:referred]), control.some(mixed[referred:])
        order = generator.permutation(len(training))
        members, rest = training.some(order[: len(others)]), training.some(order[len(others) :])
        parts = [members.known_codes, others.known_codes, members.codes, others.codes, rest.codes]
        rows = np.ascontiguousarray(np.concatenate(parts))
        first, number = distinct_rows(rows)
        on = np.zeros((len(first), 3), np.bool_)
        on[number, np.repeat([0, 1, 0, 1, 2], [*map(len, parts)])] = True
        alone = (on.sum(axis=1) == 1) & (first < len(members) + len(others))
        chosen = [rows[first[alone & on[:, which]]] for which in (0, 1)]
        drawn = [each[generator.permutation(len(each))[:most]] for each in chosen]
        return Suspects(drawn[0], drawn[1], reference.known_codes)

    @property
    def both(self) -> Codes:
        """Members, then the others."""
        return np.concatenate([self.members, self.others])


def scores(to_release: Numbers, to_reference: Numbers) -> Numbers:
    """Return how little a record looks like a member: the ratio of both distances, 0 where it is in the release."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(to_release == 0, 0.0, to_release / to_reference)


def membership(to_release: Numbers, to_reference: Numbers, members: int) -> Advantage:
    """Tell members from others by their distances, `members` of the first; half of each choose the threshold."""
    score = scores(to_release, to_reference)
    inside, outside = score[:members], score[members:]
    chosen = best_threshold(inside[::2], outside[::2])
    true, false = inside[1::2] <= chosen, outside[1::2] <= chosen
    return Advantage(
        "membership",
        Rate(int(true.sum()), len(true)),
        Rate(int(false.sum()), len(false)),
        of_failures=False,
    )


def best_threshold(inside: Numbers, outside: Numbers) -> float:
    """Find the threshold with the largest TPR - FPR; below everything where none tells anything."""
    if not len(inside) or not len(outside):
        return -1.0
    thresholds = np.unique(inside)
    rates = [
        np.searchsorted(np.sort(scores_of), thresholds, side="right") / len(scores_of)
        for scores_of in (inside, outside)
    ]
    gains = rates[0] - rates[1]
    best = int(np.argmax(gains))
    return float(thresholds[best]) if gains[best] > 0 else -1.0


def area(to_release: Numbers, to_reference: Numbers, members: int) -> tuple[float, Interval]:
    """Return the area under the attacker's curve (.5 is guessing), and its interval by Hanley and McNeil (1982)."""
    score = scores(to_release, to_reference)
    inside, outside = score[:members], np.sort(score[members:])
    n, m = len(inside), len(outside)
    if not n or not m:
        return 0.5, (0.0, 1.0)
    above = m - np.searchsorted(outside, inside, side="right")
    at_least = m - np.searchsorted(outside, inside, side="left")
    value = float((above + at_least).sum() / (2 * n * m))
    first, second = value / (2 - value), 2 * value * value / (1 + value)
    spread = value * (1 - value) + (n - 1) * (first - value**2) + (m - 1) * (second - value**2)
    reach = Z * sqrt(max(spread, 0.0) / (n * m))
    return value, (max(value - reach, 0.0), min(value + reach, 1.0))


def proved_bound(epsilon: float, delta: float = 0.0) -> float:
    """Return the largest TPR - FPR of any test, for one record replaced by another."""
    if epsilon > 300:
        return 1.0
    doubled, grown = exp(2 * epsilon), (1 + exp(epsilon)) * delta
    return min((doubled - 1 + 2 * grown) / (doubled + 1), 1.0)


def bounded(advantage: Advantage, guarantee: Guarantee | None) -> Advantage:
    """Put beside a membership attack what differential privacy proves of it."""
    if guarantee is None:
        return advantage
    return replace(
        advantage,
        bound=proved_bound(guarantee.epsilon, guarantee.delta),
        bound_by=f"differential privacy with epsilon {guarantee.epsilon:g}",
    )


PAIRS = 20
"""Releases with a target, and as many without, to learn from; and so many again to judge."""

RECORDS = 2000
"""Of so many records each of them is made at most."""

BINS = 10
"""Into so many stretches numbers are put, and at most so many values of a column are counted."""

OneRelease = Callable[[Table, int], Published]
"""Makes a candidate of a table, with the randomness of a turn."""


@dataclass(frozen=True, eq=False, repr=False)
class ShadowAttack(RedactedRepr):
    """The attack on makers that can be run again, on one table."""

    table: Table
    hierarchies: tuple[Hierarchy, ...]
    lines: Sequence[Numbers]
    targets: int
    seed: int

    def against(self, make: OneRelease) -> Advantage:
        """Attack a candidate: learn from releases of one half of the records, judge those of the other."""
        random = np.random.default_rng([self.seed, len(self.hierarchies)])
        halves = _halves(self._kinds[0], random)
        true = false = tries = turn = 0
        release = None
        for cell in self.outliers():
            described: list[list[Numbers]] = []
            for half in halves:
                described.append([])
                for kept in (each for _ in range(PAIRS) for each in self._pair(cell, half, random)):
                    check_cancelled()
                    turn += 1
                    release = make(self._remaining(kept), turn)
                    described[-1].append(self.features(release, cell, random))
            inside = np.tile([True, False], PAIRS)
            guesses = _judged(np.array(described[0]), inside, np.array(described[1]), self.seed)
            true, false = true + int(guesses[inside].sum()), false + int(guesses[~inside].sum())
            tries += PAIRS
        advantage = Advantage("membership_shadow", Rate(true, tries), Rate(false, tries), of_failures=False)
        return bounded(advantage, None if release is None else release.guarantee)

    def outliers(self) -> Counts:
        """Find the kinds of one record (or person) that are farthest from any other."""
        numbers, codes = self._kinds
        alone, places = np.flatnonzero(numbers == 1), placed(self.lines, codes)
        some = alone[np.linspace(0, len(alone) - 1, min(len(alone), RECORDS)).astype(np.int64)] if len(alone) else alone
        apart = nearest_records(places[some], places, 2, np.random.default_rng(self.seed))[1][:, -1]
        return some[np.argsort(-apart, kind="stable")[: self.targets]]

    def _pair(self, cell: int, half: Counts, random: np.random.Generator) -> tuple[Counts, Counts]:
        """Draw records of a half, with the target replacing one of them, and without."""
        others = half.copy()
        others[cell] = 0
        size = min(RECORDS, int(others.sum()) // 2)
        drawn = random.multivariate_hypergeometric(others, size, method="marginals")
        replaced = random.multivariate_hypergeometric(drawn, 1, method="marginals")
        inside = drawn - replaced
        inside[cell] += 1
        return inside, drawn

    def features(self, release: Published, cell: int, random: np.random.Generator) -> Numbers:
        """Describe a release in numbers, and where the target stands to it."""
        codes = read_as_records(release, random).codes
        width = codes.shape[1]
        if not len(codes):  # of a very noisy release, it may be
            return np.zeros(2 + width * (BINS + 2) + width * (width - 1) // 2)
        columns = np.flatnonzero((codes >= 0).any(axis=0))
        target, places = (placed(self.lines, each)[:, columns] for each in (self._kinds[1][[cell]], codes))
        closest = float(nearest_records(target, places, 1, random)[1][0, 0])
        equal = float((places == target).all(axis=1).sum())
        return np.concatenate([[closest, equal], *self._columns(codes), _correlations(codes)])

    @cached_property
    def _kinds(self) -> tuple[Counts, Codes]:
        """The number of records of every cell, and its codes; or of persons of equal records, with a known record."""
        cells = self.table.cells
        if cells.persons is None:
            return cells.counts, cell_codes(cells)
        numbers = cells.persons.kinds[1]
        known = records_of(cells, np.random.default_rng(self.seed)).known_codes
        return numbers, known[np.cumsum(numbers) - numbers]

    def _remaining(self, kept: Counts) -> RemainingTable:
        """Keep so many records of every kind."""
        persons = self.table.cells.persons
        if persons is None:
            return RemainingTable.of(self.table, kept)
        return RemainingTable.without(self.table, persons, ~persons.some_of_kinds(kept))

    def _columns(self, codes: Codes) -> list[Numbers]:
        """Describe every column: shares of its values or stretches, mean and spread of its codes."""
        parts = []
        for place, hierarchy in enumerate(self.hierarchies):
            column = np.maximum(codes[:, place], 0)
            bins = np.minimum(column * BINS // max(hierarchy.size, BINS), BINS - 1)
            shares = np.bincount(bins, minlength=BINS) / len(column)
            parts.append(np.concatenate([shares, [column.mean(), column.std()]]))
        return parts


def _halves(counts: Counts, random: np.random.Generator) -> tuple[Counts, Counts]:
    """Divide the records of a table into two halves."""
    first = random.multivariate_hypergeometric(counts, int(counts.sum()) // 2, method="marginals")
    return first, counts - first


def _correlations(codes: Codes) -> Numbers:
    """Correlate the codes of all pairs of columns; 0 where one does not vary."""
    with np.errstate(divide="ignore", invalid="ignore"):
        matrix = np.atleast_2d(np.corrcoef(codes.T))
    return np.nan_to_num(matrix[np.triu_indices(codes.shape[1], 1)])


def _judged(features: Numbers, truth: Flags, asked: Numbers, seed: int) -> Flags:
    """Learn from releases of which it is known whether the target was in, and judge others."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(100, random_state=seed)
    return np.asarray(forest.fit(features, truth).predict(asked), np.bool_)
