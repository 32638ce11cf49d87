"""The nearest distribution that a requirement admits, for requirements that bound the distance from Q.

Each admits a convex set of distributions around Q, its ball. For rows P: the R of the ball with the least JS(P, R).

    t-closeness distance=js      `nearest_js`
    t-closeness distance=equal   larger shares are scaled down and smaller ones up, each until half the L1 distance is
                                 t; shares between equal those of Q
    delta-disclosure             q e^-delta < R < q e^delta: R is P times a constant, clipped
    beta-likeness                R <= q (1 + beta) or q (1 + min(beta, -ln q)): likewise

These are nearest because the slopes of JS(P, R), ln(2 R_i / (P_i + R_i)) / 2, depend only on R_i / P_i, so unbounded
values keep their proportions.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.cells import Sensitive, find_sensitive
from sfumato.requirements._jensen_shannon import nearest_js
from sfumato.requirements._predicates import TOLERANCE, Rules, groups_admitted
from sfumato.requirements.requirement import BetaLikeness, DeltaDisclosure, KAnonymity, Requirement, TCloseness
from sfumato.runtime.arrays import Numbers
from sfumato.texts.catalogue import refusal

WORKING = (
    "t-closeness with distance=js or distance=equal, delta-disclosure and beta-likeness, alone or joined, with or "
    "without k-anonymity"
)
FAINT = 1e-12
"""The share of Q's that replaces a zero share in a row, so that it can be scaled up."""

HALVINGS = 60
ROUNDS = 4
"""The number of alternating projections on several balls."""


@dataclass(frozen=True, eq=False)
class Ball:
    """The distributions of one sensitive attribute that all distance-based parts of a requirement admit."""

    attribute: Sensitive
    parts: tuple[Requirement, ...]
    rules: Rules

    @property
    def centre(self) -> Numbers:
        """Q, the distribution of the whole table."""
        return self.attribute.shares

    def holds(self, rows: Numbers) -> NDArray[np.bool_]:
        """Return which distributions are inside, by the predicates that check releases."""
        shares: Any = np.ascontiguousarray(rows, np.float64)  # counts of one record, divided among values
        ones: Any = np.ones(len(rows))
        return groups_admitted(self.rules, shares, ones)

    def nearest(self, rows: Numbers) -> Numbers:
        """Return for each distribution the nearest one of the ball; for several parts an approximation."""
        points = rows
        for _ in range(1 if len(self.parts) == 1 else ROUNDS):
            for part in self.parts:
                points = _nearest(part, points, self.centre)
        return self.drawn_in(points)

    def drawn_in(self, rows: Numbers) -> Numbers:
        """Move distributions outside towards Q, just until they are inside."""
        outside = np.flatnonzero(~self.holds(rows))
        if not len(outside):
            return rows
        outliers, low, high = rows[outside], np.zeros(len(outside)), np.ones(len(outside))
        for _ in range(50):
            middle = (low + high) / 2
            inside = self.holds(self.centre + middle[:, None] * (outliers - self.centre))
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        rows = rows.copy()
        rows[outside] = self.centre + low[:, None] * (outliers - self.centre)
        return rows


def ball_of(requirement: Requirement, sensitive: tuple[Sensitive, ...]) -> Ball:
    """Return the ball of a requirement; raise if a part bounds no distance, or if several attributes are bounded."""
    parts = [part for part in requirement.parts if not isinstance(part, KAnonymity)]
    for part in parts:
        if not (isinstance(part, DeltaDisclosure | BetaLikeness) or _is_close(part)):
            raise refusal("no_bound_to_exchange_for", part=part, working=WORKING)
    if not parts:
        raise refusal("nothing_to_exchange", requirement=requirement, working=WORKING)
    places = {find_sensitive(sensitive, part.on) for part in parts}
    if len(places) > 1:
        names = ", ".join(sensitive[place].name for place in sorted(places))
        raise refusal("sensitive_attribute_can_balanced", names=names)
    attribute = sensitive[places.pop()]
    joined = parts[0]
    for part in parts[1:]:
        joined = joined & part
    return Ball(attribute, tuple(parts), joined.compile((attribute,)))


def _is_close(part: Requirement) -> bool:
    return isinstance(part, TCloseness) and part.distance in ("js", "equal")


def _nearest(part: Requirement, rows: Numbers, q: Numbers) -> Numbers:
    if isinstance(part, TCloseness):
        return nearest_js(rows, q, part.t).points if part.distance == "js" else nearest_equal(rows, q, part.t)
    if isinstance(part, DeltaDisclosure):  # also where absent values are ignored: what is present must be inside
        delta = max(part.delta - 2 * TOLERANCE, 0.0)
        return nearest_between(rows, q * math.exp(-min(delta, 700.0)), q * math.exp(min(delta, 700.0)), q)
    assert isinstance(part, BetaLikeness)
    return nearest_between(rows, np.zeros(len(q)), part.most_shares(q), q)


def nearest_between(rows: Numbers, low: Numbers, high: Numbers, q: Numbers) -> Numbers:
    """Return for every P the R with low <= R <= high and the least JS(P, R): P times a constant, clipped."""
    rows = np.maximum(rows, FAINT * q)
    factor = _solved(lambda scale: np.clip(scale * rows, low, high).sum(axis=1), 1.0, len(rows))
    return _whole(np.clip(factor * rows, low, high))


def nearest_equal(rows: Numbers, q: Numbers, t: float) -> Numbers:
    """Return for every P the R with half the L1 distance from Q at most t and the least JS(P, R)."""
    rows = np.maximum(rows, FAINT * q)
    rows /= rows.sum(axis=1, keepdims=True)
    down = _solved(lambda scale: np.maximum(scale * rows - q, 0.0).sum(axis=1), t, len(rows))
    up = _solved(lambda scale: -np.maximum(q - scale * rows, 0.0).sum(axis=1), -t, len(rows))
    bounded = np.where(down * rows > q, down * rows, np.where(up * rows < q, up * rows, q))
    inside = np.abs(rows - q).sum(axis=1, keepdims=True) / 2 <= t
    return _whole(np.where(inside, rows, bounded))


def _solved(growing: Callable[[Numbers], Numbers], wanted: float, rows: int) -> Numbers:
    """Solve by bisection for each row the factor at which an increasing function has a value."""
    low, high = np.full((rows, 1), -60.0), np.full((rows, 1), 60.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        enough = growing(np.exp(middle))[:, None] >= wanted
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    factors: Numbers = np.exp((low + high) / 2)
    return factors


def _whole(rows: Numbers) -> Numbers:
    shares: Numbers = rows / rows.sum(axis=1, keepdims=True)
    return shares
