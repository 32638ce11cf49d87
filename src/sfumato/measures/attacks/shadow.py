"""Membership inference by shadow models: releases with and without a record, told apart (Stadler et al. 2022).

"Synthetic Data - Anonymisation Groundhog Day" (USENIX Security): whoever knows how a release is made can make many of
his own, with and without a target, learn what the target does to them, and then judge the one that is published.

    targets: the records that are farthest from any other
    halve the other records: the attacker's, and the publisher's
    for every target, often: draw records of the attacker's half, put the target in place of one or not, make a release
    learn (a random forest) from features of these releases whether the target was in
    do the same with the publisher's half, and let the forest judge
    advantage = TPR - FPR over all targets

Features: of every column the shares of its values (numbers in ten stretches), mean and spread; all pairs' correlations;
how far the target is from the closest released record, and how many are equal to it. Every release is made with
randomness of its own, and both kinds have the same number of records, so that neither gives the target away.

**What a guarantee says**: the same as of every membership attack (`membership.py`).

It is run on draws of half of a half of the records, and of 2,000 at most, because it makes hundreds of releases. What
a record does to a release of few is more than what it does to one of all, so it errs on the side of caution; a
requirement that needs more records than that cannot be judged by it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.arrays import Codes, Counts, Flags, Numbers
from sfumato.measures.attacks.advantage import Advantage, Rate
from sfumato.measures.attacks.membership import bounded
from sfumato.measures.attacks.nearest import nearest_records, placed
from sfumato.process.interrupts import look
from sfumato.quiet import Quiet
from sfumato.release import NoisyRelease, Published, RecordRelease, read_as_records
from sfumato.release.records import cell_codes
from sfumato.table import Hierarchy, Table
from sfumato.table.held_out import RemainingTable

PAIRS = 20
"""Releases with a target, and as many without, to learn from; and so many again to judge."""

RECORDS = 2000
"""Of so many records each of them is made at most."""

BINS = 10
"""Into so many stretches numbers are put, and at most so many values of a column are counted."""

OneRelease = Callable[[Table, int], Published]
"""Makes a candidate of a table, with the randomness of a turn."""


@dataclass(frozen=True, eq=False, repr=False)
class ShadowAttack(Quiet):
    """The attack on makers that can be run again, on one table."""

    table: Table
    hierarchies: tuple[Hierarchy, ...]
    lines: Sequence[Numbers]
    targets: int
    seed: int

    def against(self, make: OneRelease) -> Advantage:
        """Attack a candidate: learn from releases of one half of the records, judge those of the other."""
        random = np.random.default_rng([self.seed, len(self.hierarchies)])
        halves = _halves(self.table.cells.counts, random)
        true = false = tries = turn = 0
        release = None
        for cell in self.outliers():
            described: list[list[Numbers]] = []
            for half in halves:
                described.append([])
                for kept in (each for _ in range(PAIRS) for each in self._pair(cell, half, random)):
                    look()
                    turn += 1
                    release = make(RemainingTable.of(self.table, kept), turn)
                    described[-1].append(self.features(release, cell, random))
            inside = np.tile([True, False], PAIRS)
            guesses = _judged(np.array(described[0]), inside, np.array(described[1]), self.seed)
            true, false = true + int(guesses[inside].sum()), false + int(guesses[~inside].sum())
            tries += PAIRS
        advantage = Advantage("membership_shadow", Rate(true, tries), Rate(false, tries), of_failures=False)
        return bounded(advantage, release.guarantee if isinstance(release, NoisyRelease | RecordRelease) else None)

    def outliers(self) -> Counts:
        """Find the cells of one record that are farthest from any other."""
        cells = self.table.cells
        alone = np.flatnonzero(cells.counts == 1)
        places = placed(self.lines, self._codes)
        some = alone[np.linspace(0, len(alone) - 1, min(len(alone), RECORDS)).astype(np.int64)] if len(alone) else alone
        apart = nearest_records(places[some], places, 2, np.random.default_rng(self.seed))[1][:, -1]
        return some[np.argsort(-apart, kind="stable")[: self.targets]]

    def _pair(self, cell: int, half: Counts, random: np.random.Generator) -> tuple[Counts, Counts]:
        """Draw records of a half, with the target in place of one of them, and without."""
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
        target, places = (placed(self.lines, each)[:, columns] for each in (self._codes[[cell]], codes))
        closest = float(nearest_records(target, places, 1, random)[1][0, 0])
        equal = float((places == target).all(axis=1).sum())
        return np.concatenate([[closest, equal], *self._columns(codes), _correlations(codes)])

    @cached_property
    def _codes(self) -> Codes:
        return cell_codes(self.table.cells)

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
