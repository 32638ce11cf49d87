"""AIM (McKenna, Mullins, Sheldon & Miklau 2022): count, again and again, what the model so far tells worst.

    W = all tables of `ways` columns; candidates = these and all smaller ones
    T = 16 x number of columns; each round has rho / T: .9 of it to count a table, .1 to choose it
    count every single column, with noise; estimate a model
    repeat until the budget is spent:
        choose r of the candidates that keep the model small enough, by the exponential mechanism, with the score
            w_r x (|counts of r - the model's| - what the noise alone would make of it)
        count r with noise; estimate the model again
        if r then tells hardly more than noise: a round gets four times as much from now on
        if hardly two rounds are left: the last round gets all that is left.
    Draw records from the model.

`w_r` is how many columns r shares with the tables of W, summed up: a table that is part of many is worth more. A model
is small enough if its junction tree has at most `most_counts` numbers, times the share of the budget that is spent
after the round. Early tables cannot use up the whole allowance. The estimate is a graphical model (`_models`),
as in the paper.

Promised: epsilon and delta, for all columns together; the budget is kept in rho of zCDP. Not promised: joint
distributions of three columns beyond the tables that were counted. It takes seconds where MST takes a tenth of one.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, ClassVar

import numpy as np

from sfumato.anonymizers.dp._models import Estimate, JunctionTree, Model
from sfumato.anonymizers.dp._private_cells import LEAST_VARIANCE, Places, PrivateRecords, RecordDomain, split
from sfumato.anonymizers.dp.mechanism import Contribution, Delta, Epsilon, RecordMechanism
from sfumato.anonymizers.dp.noise import variance
from sfumato.config.options import Option
from sfumato.release.content import rounded_down
from sfumato.runtime.cancellation import check_cancelled

ROUNDS_PER_COLUMN = 16
CHOICE_SHARE = 0.1
"""McKenna et al.'s constants: how finely the budget is cut, and the share of a round that chooses."""

FITTING, LAST_FITTING = 50, 500
"""How many rounds an estimate takes at most, in between and in the end."""


@dataclass(frozen=True)
class AIM(RecordMechanism):
    """Count what the model tells worst, again and again, with noise; draw records from the model."""

    epsilon: Epsilon
    delta: Delta
    ways: Annotated[int, Option(least=2, most=3)] = 2
    """Of how many columns the tables are that shall be right."""

    most_counts: Annotated[int, Option(least=1000, most=100000000)] = 100000
    """How many numbers the model has at most. More is finer, and slower."""

    contribution: Contribution = None

    name: ClassVar[str] = "aim"
    example: ClassVar[str | None] = "aim epsilon=1 delta=1e-6"
    effort: ClassVar[float] = 20.0

    def estimate(self, domain: RecordDomain, private: PrivateRecords) -> Model:
        """Measure columns; then select, measure and estimate until nothing is left."""
        account, estimate = private.account, Estimate(domain)
        weights = workload_weights(domain, self.ways)
        each = account.amount / (ROUNDS_PER_COLUMN * len(domain.sizes))
        for_choice, for_counts = split(each, CHOICE_SHARE)
        for place in range(len(domain.sizes)):
            _count(private, estimate, (place,), 0, for_counts)
        model, level, last = estimate.fit(FITTING), 0, False
        while not last:
            check_cancelled()
            level += 1
            last = account.left <= 2 * (for_choice + for_counts)
            if last:
                for_choice, for_counts = split(rounded_down(account.left), CHOICE_SHARE)
            used = 1 - float((account.left - for_choice - for_counts) / account.amount)
            candidates = self._small(domain, estimate, weights, used)
            predicted = {places: model.total * model.shares(places) for places in candidates}
            noise = _noise(for_counts)
            allowed = {places: noise * domain.cells(places) for places in candidates}
            chosen = private.worst(predicted, "choice of tables", level, for_choice, weights, allowed)
            _count(private, estimate, chosen, level, for_counts)
            model = estimate.fit(LAST_FITTING if last else FITTING)
            learned = np.abs(model.total * model.shares(chosen) - predicted[chosen]).sum()
            if learned <= allowed[chosen]:
                for_choice, for_counts = 4 * for_choice, 4 * for_counts
        return model

    def _small(
        self, domain: RecordDomain, estimate: Estimate, weights: Mapping[Places, int], used: float
    ) -> list[Places]:
        """List the tables that keep the model small enough; single columns and tables that are in it always do."""
        room, tree = used * self.most_counts, estimate.tree
        return [
            places
            for places in weights
            if len(places) == 1
            or any(set(places) <= set(clique) for clique in tree.cliques)
            or JunctionTree.of(domain.sizes, [*estimate.counts, places]).counts <= room
        ]


def workload_weights(domain: RecordDomain, ways: int) -> dict[Places, int]:
    """Weigh every table of at most so many columns by the columns that it shares with all tables of just so many."""
    columns = range(len(domain.sizes))
    workload = list(combinations(columns, min(ways, len(domain.sizes))))
    tables = [places for size in range(1, ways + 1) for places in combinations(columns, size)]
    return {places: sum(len(set(places) & set(wanted)) for wanted in workload) for places in tables}


def _count(private: PrivateRecords, estimate: Estimate, places: Places, level: int, amount: float) -> None:
    """Count a table and take it into the model."""
    counts = private.marginal(places, "columns" if level == 0 else "tables", level, amount)
    estimate.add(places, counts, max(variance(amount, private.unit), LEAST_VARIANCE))


def _noise(amount: float) -> float:
    """Return the mean absolute noise in a count: sqrt(2 / pi) standard deviations of a Gaussian."""
    return math.sqrt(2 / math.pi * variance(amount, "rho"))
