"""Membership inference against a holdout: was this record among those the release was made from?

The attacker has a record, the release, and a reference: other records of the same source. A record that was used tends
to be nearer to the release than its surroundings explain. The score is the ratio of both distances, which is the
density ratio of DOMIAS (van Breugel et al., AISTATS 2023) with densities estimated by the nearest neighbour:

    score(x) = distance of x to the release / distance of x to the reference; 0 where x itself stands in the release
    members, others: equally many records of the table and of the control, each distinct, that occur nowhere else in
        table and control: what is on both sides cannot be told apart by anybody
    choose, on one half of them, the threshold with the largest TPR - FPR; count both on the other half
    advantage = TPR - FPR there; 0 is guessing, 1 is certainty

Members are drawn as many as there are others, and from both sides the same is left out, so against a release that has
nothing to do with the table both have the same scores on average and the advantage is 0. The table published as it is
gives 1: every member is at distance 0 and nobody else is. Since the threshold is chosen on other records than those it
is counted on, the advantage is not too large by having been chosen.

**What a guarantee says.** If a release is (epsilon, delta)-differentially private for one record replaced, every
test has TPR - FPR <= (e^epsilon - 1 + 2 delta) / (e^epsilon + 1) (Kairouz et al., ICML 2015; Humphries et al., CSF
2023). Ours is for one record more or less, and a member here is one record in place of another: two such steps, so
epsilon counts twice, and delta 1 + e^epsilon times.

What it does not show: that nobody could do better. It is one attack, on average over records. The distance to the
closest record by itself is no measure of risk (Yao et al., arXiv 2505.01524: releases that pass such tests leak
membership), so it is told as a description only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, sqrt

import numpy as np

from sfumato.arrays import Codes, Numbers
from sfumato.measures.attacks.advantage import Advantage, Interval, Rate
from sfumato.release import Guarantee
from sfumato.table import distinct_rows

REFERENCE = 1 / 3
"""The share of the control that is the attacker's reference; the others are the ones who were not in the table."""

Z = 1.959963984540054
"""The normal quantile of a 95 % interval."""


@dataclass(frozen=True, eq=False)
class Suspects:
    """Whom the attacker asks about, in random order, and what he compares with."""

    members: Codes
    others: Codes
    reference: Codes

    @staticmethod
    def drawn(training: Codes, control: Codes, most: int, generator: np.random.Generator) -> Suspects:
        """Draw at most so many members and others, and the reference."""
        mixed = control[generator.permutation(len(control))]
        referred = round(REFERENCE * len(mixed))
        reference, others = mixed[:referred], mixed[referred:]
        order = generator.permutation(len(training))
        members, rest = training[order[: len(others)]], training[order[len(others) :]]
        rows = np.ascontiguousarray(np.concatenate([members, others, rest]))
        side = np.repeat([0, 1, 2], [len(members), len(others), len(rest)])
        first, number = distinct_rows(rows)
        on = np.zeros((len(first), 3), np.bool_)
        on[number, side] = True
        alone = on.sum(axis=1) == 1
        chosen = [rows[first[alone & on[:, which]]] for which in (0, 1)]
        drawn = [each[generator.permutation(len(each))[:most]] for each in chosen]
        return Suspects(drawn[0], drawn[1], reference)

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
    """Return the largest TPR - FPR of any test, for one record in place of another."""
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
