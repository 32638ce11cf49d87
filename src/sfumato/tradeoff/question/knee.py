"""The frontier of two measures as a curve, the scale from publishing nothing to the original, and the knee.

**Curve.** Both axes are costs (lower is better), scaled to 0..1 between the ends of the curve.

**Scale.** The ends of a measure are the trivial release without quasi-identifiers (0 %) and the original (100 %); for
counts of items, an empty file and the original.

**Knee.** The release with the largest difference of utility kept and risk kept on this scale. It is furthest from the
line between the two ends, so it is a corner of the frontier's convex hull, and its neighbours do not affect it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.measures.all_measures import MEASURES
from sfumato.texts.catalogue import t
from sfumato.tradeoff.comparison import cost, non_dominated
from sfumato.tradeoff.question.question import rank
from sfumato.tradeoff.question.recipients import shows_exact

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Map, Point

ALIKE = 1e-9


@dataclass(frozen=True, eq=False)
class Curve:
    """The nondominated points in two measures, the most private first, one of several equal ones."""

    points: tuple[Point, ...]
    axes: tuple[str, str]

    @staticmethod
    def through(points: Sequence[Point], axes: tuple[str, str]) -> Curve:
        """Return the frontier of the points that have both measures."""
        known = [point for point in points if point.has(axes)]
        costs = np.array([[cost(axis, point.measures[axis]) for axis in axes] for point in known]).reshape(-1, 2)
        order = sorted(non_dominated(costs), key=lambda i: (tuple(costs[i]), rank(known[i])))
        kept = [i for n, i in enumerate(order) if n == 0 or tuple(costs[order[n - 1]]) != tuple(costs[i])]
        return Curve(tuple(known[i] for i in kept), axes)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the points, in order."""
        return tuple(point.id for point in self.points)

    @cached_property
    def scale(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The least and the largest finite cost of each axis."""
        ends = []
        for axis in self.axes:
            finite = [c for c in (cost(axis, point.measures[axis]) for point in self.points) if isfinite(c)]
            ends.append((min(finite, default=0.0), max(finite, default=0.0)))
        return ends[0], ends[1]

    def scaled(self, point: Point) -> tuple[float, float]:
        """Return the coordinates of a point: 0 is the best of each axis, 1 the worst on the curve."""
        placed = []
        for axis, (low, high) in zip(self.axes, self.scale, strict=True):
            paid = cost(axis, point.measures[axis])
            if isfinite(paid):
                placed.append((paid - low) / (high - low) if high > low else paid - low)
            else:
                placed.append(inf if paid > 0 else 0.0)
        return placed[0], placed[1]

    @cached_property
    def finite(self) -> tuple[Point, ...]:
        """The points with two finite measures."""
        return tuple(point for point in self.points if all(isfinite(point.measures[axis]) for axis in self.axes))

    @cached_property
    def square(self) -> NDArray[np.float64]:
        """The coordinates of the finite points."""
        return np.array([self.scaled(point) for point in self.finite]).reshape(-1, 2)

    def distance(self, point: Point) -> float:
        """Return the distance of a point from the ideal corner, where both measures have their best values."""
        return float(np.hypot(*self.scaled(point)))


@dataclass(frozen=True)
class Place:
    """The place of a measure: 0 is publishing nothing, 1 the original; None with the reason if there is no scale."""

    share: float | None
    reason: str = ""


COUNT_ERRORS: Mapping[str, Callable[[float], float]] = {
    "are": float,
    "query_utility": lambda utility: 1 / utility if utility else inf,
    "bounded_utility": lambda utility: 1 / utility - 1 if utility else inf,
    "joint_query_error": float,
}
"""For each measure of errors of item counts, its conversion to the mean relative error.

Publishing nothing is an empty file, which answers 0 to every query: an error of 1.
"""


def usefulness(error: float) -> float:
    """Return the usefulness of counts with a mean relative error: 1 if exact, 0 for an empty file, negative if worse.

    >>> usefulness(0.0), usefulness(0.25), usefulness(1.0), usefulness(4.0), usefulness(inf)
    (1.0, 0.75, 0.0, -0.75, -1.0)
    """
    return 1 - error if error <= 1 else 1 / error - 1


def ends(points: Sequence[Point], names: Sequence[str]) -> tuple[list[Point], list[Point]]:
    """List the trivial releases that hide quasi-identifiers, and the originals, that have these measures."""
    known = [point for point in points if point.is_baseline and point.has(names)]
    trivial = [point for point in known if point.candidate.anonymizer.is_release and not shows_exact(point)]
    return trivial, [point for point in known if not point.candidate.anonymizer.is_release]


def place(map_: Map, name: str, point: Point) -> Place:
    """Return the place of one measure of a point between the ends of its map."""
    if not point.has([name]):
        return Place(None, t("scale.not_measured", name=name))
    if name in COUNT_ERRORS:
        return Place(usefulness(COUNT_ERRORS[name](point.measures[name])))
    trivial, original = ends(map_.baselines, [name])
    if not trivial or not original:
        missing = t("scale.trivial_release") if not trivial else t("scale.original")
        return Place(None, t("scale.not_known", name=name, missing=missing))
    here, nothing, everything = (as_cost(name, p.measures[name]) for p in (point, trivial[0], original[0]))
    if not all(map(isfinite, (here, nothing, everything))):
        return Place(None, t("scale.infinite_here", name=name))
    is_risk = MEASURES[name].kind == "risk"
    if (everything <= nothing) if is_risk else (everything >= nothing):
        return Place(None, t("scale.original_no", riskier=t("scale.riskier") if is_risk else t("scale.more_useful")))
    return Place((here - nothing) / (everything - nothing))


def as_cost(name: str, value: float) -> float:
    """Return a measure as cost (lower is better); a risk that is a count, such as k, becomes 1 / k."""
    if (MEASURES[name].kind, MEASURES[name].better) != ("risk", "higher"):
        return cost(name, value)
    return 1 / value if value > 0 else inf


TRIVIAL = 0.02
"""At most this share of the utility counts as none; all but this share of the risk counts as all."""


@dataclass(frozen=True)
class KeptShares:
    """The shares of the original's risk and utility that a release keeps: 0 is publishing nothing, 1 the original."""

    risk: float
    utility: float

    @property
    def advantage(self) -> float:
        """The difference of utility kept and risk kept."""
        return self.utility - self.risk

    @property
    def is_useless(self) -> bool:
        """Whether it is as useless as publishing nothing."""
        return self.utility <= TRIVIAL

    @property
    def is_open(self) -> bool:
        """Whether it is as risky as the original."""
        return self.risk >= 1 - TRIVIAL

    @property
    def is_trivial(self) -> bool:
        """Whether an end of the map is as good."""
        return self.is_useless or self.is_open


@dataclass(frozen=True)
class Scale:
    """Two axes between the most private and the most useful end."""

    axes: tuple[str, str]
    private: Point
    useful: Point
    is_absolute: bool
    """Whether the ends are the trivial release and the original; otherwise those of the frontier."""

    @staticmethod
    def of(points: Sequence[Point], curve: Curve) -> Scale | None:
        """Return the scale between trivial release and original, or the frontier's ends; None if these coincide."""
        trivial, original = ends(points, curve.axes)
        pairs = [(p, q, True) for p in trivial[:1] for q in original[:1]]
        pairs += [(curve.finite[0], curve.finite[-1], False)] if curve.finite else []
        for private, useful, is_absolute in pairs:
            (x, y), (u, v) = (_place(p, curve.axes) for p in (private, useful))
            if all(map(isfinite, (x, y, u, v))) and x < u and y > v:
                return Scale(curve.axes, private, useful, is_absolute)
        return None

    def kept(self, point: Point) -> KeptShares:
        """Return the shares of risk and utility that a point keeps."""
        (x, y), (low, worst), (high, best) = (_place(p, self.axes) for p in (point, self.private, self.useful))
        return KeptShares((x - low) / (high - low), (worst - y) / (worst - best))

    def knees(self, curve: Curve) -> list[Point]:
        """List the points of the frontier that keep more utility than risk, the largest difference first."""
        place = {point.id: round(self.kept(point).advantage, 9) for point in curve.finite}
        return sorted((p for p in curve.finite if place[p.id] > ALIKE), key=lambda p: -place[p.id])

    def weights(self, point: Point, others: Sequence[Point]) -> tuple[float, float]:
        """Return the range of exchange rates (utility per unit of risk) for which the point remains the best.

        The ends are the slopes of the two hull edges that meet in it.
        """
        mine, rivals = self.kept(point), [self.kept(other) for other in others]
        dearer = [(r.utility - mine.utility) / (r.risk - mine.risk) for r in rivals if r.risk > mine.risk + ALIKE]
        cheaper = [(mine.utility - r.utility) / (mine.risk - r.risk) for r in rivals if r.risk < mine.risk - ALIKE]
        return max(dearer, default=0.0), min(cheaper, default=inf)


def _place(point: Point, axes: tuple[str, str]) -> tuple[float, float]:
    """Return the costs of a point on two measures."""
    first, second = (as_cost(axis, point.measures[axis]) for axis in axes)
    return first, second
