"""The frontier of two measures as a curve: what a step along it costs, where it is flat or steep.

Flat and steep stretches are those of Dewri et al. 2011, section 7.2. Both axes are turned so that lower is better, and
scaled to 0..1 between the ends of the curve.

The place of one measure of a release on the scale from publishing nothing (0 %) to the original (100 %).

The ends are the trivial release without quasi-identifiers and the original; of counts of items, an empty file and the
original.

What a release keeps of the original's risk and utility, and the knee of the whole frontier on that scale.

Publishing nothing (the trivial release) keeps 0 % of both, the original 100 %. The knee is the release with the most
utility beyond its risk: of all it lies furthest inside the line between these two ends, so it is a corner of the
frontier's convex hull, and nothing that happens between two neighbours can move it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
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

FLAT, STEEP = 1 / 3, 3.0
"""A step is flat or steep where it costs less or more than so many times what a step costs on average."""

LEAST_STRETCH = 0.05
"""A flat stretch is told where it gains this share of the first axis, a steep one where it costs it of the second."""

ALIKE = 1e-9


@dataclass(frozen=True)
class Step:
    """From one point of the frontier to the next more private one: what it gains, what it costs."""

    start: str
    end: str
    gain: float
    cost: float
    rate: float | None
    """Cost per unit of gain, in the units of the measures; None where one of them is infinite."""

    relative: float | None
    """The same with both axes scaled to 0..1: 1 is what a step costs on average."""


@dataclass(frozen=True)
class CurveStretch:
    """Consecutive steps of the frontier on which privacy is almost free (flat) or expensive (steep)."""

    kind: str
    start: str
    end: str
    first: tuple[float, float]
    """The first axis at the start and at the end, the more private one."""

    second: tuple[float, float]
    gain_share: float
    cost_share: float


@dataclass(frozen=True, eq=False)
class Curve:
    """The points that no other point beats in two measures, the most private first, one where several are equal."""

    points: tuple[Point, ...]
    axes: tuple[str, str]

    @staticmethod
    def through(points: Sequence[Point], axes: tuple[str, str]) -> Curve:
        """Find the frontier of some points; those that lack one of the measures do not count."""
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
        """Place a point in the square of the curve: 0 is the best of each axis, 1 the worst on the curve."""
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
        """The points whose two measures are finite: the others have no place in a drawing."""
        return tuple(point for point in self.points if all(isfinite(point.measures[axis]) for axis in self.axes))

    @cached_property
    def square(self) -> NDArray[np.float64]:
        """The places of the finite points."""
        return np.array([self.scaled(point) for point in self.finite]).reshape(-1, 2)

    def distance(self, point: Point) -> float:
        """Measure how far a point is from the ideal corner, where both measures are as good as anywhere."""
        return float(np.hypot(*self.scaled(point)))

    def steps(self) -> list[Step]:
        """List the steps from the least to the most private point."""
        return [self._step(start, end) for end, start in reversed(list(pairwise(self.points)))]

    def _step(self, start: Point, end: Point) -> Step:
        first, second = self.axes
        gain = abs(start.measures[first] - end.measures[first])
        paid = abs(end.measures[second] - start.measures[second])
        if not (isfinite(gain) and isfinite(paid)):
            return Step(start.id, end.id, gain, paid, None, None)
        (x, y), (u, v) = self.scaled(start), self.scaled(end)
        return Step(start.id, end.id, gain, paid, _ratio(paid, gain), _ratio(v - y, x - u))

    def stretches(self) -> list[CurveStretch]:
        """List the flat and the steep stretches, from the least to the most private one."""
        stretches = []
        for kind, steps in groupby(self.steps(), key=_kind):
            run = list(steps)
            if kind:
                stretch = self._stretch(kind, run[0].start, run[-1].end)
                if (stretch.gain_share if kind == "flat" else stretch.cost_share) >= LEAST_STRETCH:
                    stretches.append(stretch)
        return stretches

    def _stretch(self, kind: str, start: str, end: str) -> CurveStretch:
        by_id = {point.id: point for point in self.points}
        a, b = by_id[start], by_id[end]
        (x, y), (u, v) = self.scaled(a), self.scaled(b)
        first, second = ((a.measures[axis], b.measures[axis]) for axis in self.axes)
        return CurveStretch(kind, start, end, first, second, x - u, v - y)


def _ratio(paid: float, gain: float) -> float | None:
    """Divide, where the numbers are large enough for it."""
    ratio = paid / gain if gain else inf
    return ratio if isfinite(ratio) else None


def _kind(step: Step) -> str:
    if step.relative is None:
        return ""
    return "flat" if step.relative <= FLAT else "steep" if step.relative >= STEEP else ""


@dataclass(frozen=True)
class Place:
    """Where a measure lies: 0 as publishing nothing, 1 as the original; None with the reason why there is no scale."""

    share: float | None
    reason: str = ""


COUNT_ERRORS: Mapping[str, Callable[[float], float]] = {
    "are": float,
    "query_utility": lambda utility: 1 / utility if utility else inf,
    "bounded_utility": lambda utility: 1 / utility - 1 if utility else inf,
    "joint_query_error": float,
}
"""Measures of how far counts of items are from the truth, and the mean relative error that each stands for.

Publishing nothing is an empty file here, which answers 0 to every question: an error of 1.
"""


def usefulness(error: float) -> float:
    """Return the usefulness of counts with a mean relative error: 1 where exact, 0 as an empty file, below 0 if worse.

    >>> usefulness(0.0), usefulness(0.25), usefulness(1.0), usefulness(4.0), usefulness(inf)
    (1.0, 0.75, 0.0, -0.75, -1.0)
    """
    return 1 - error if error <= 1 else 1 / error - 1


def ends(points: Sequence[Point], names: Sequence[str]) -> tuple[list[Point], list[Point]]:
    """List the trivial releases that hide quasi-identifiers, and the originals, of which these measures are known."""
    known = [point for point in points if point.is_baseline and point.has(names)]
    trivial = [point for point in known if point.candidate.anonymizer.is_release and not shows_exact(point)]
    return trivial, [point for point in known if not point.candidate.anonymizer.is_release]


def place(map_: Map, name: str, point: Point) -> Place:
    """Find the place of one measure of a point between the ends of its map."""
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
    """Turn a measure so that lower is better: a risk that is a count, such as k, is 1 / k."""
    if (MEASURES[name].kind, MEASURES[name].better) != ("risk", "higher"):
        return cost(name, value)
    return 1 / value if value > 0 else inf


TRIVIAL = 0.02
"""Who keeps at most this share of the utility publishes as good as nothing; all but this of the risk is all of it."""


@dataclass(frozen=True)
class KeptShares:
    """What a release keeps of the original, as shares: 0 is as publishing nothing, 1 as the original."""

    risk: float
    utility: float

    @property
    def advantage(self) -> float:
        """How much more of the utility it keeps than of the risk."""
        return self.utility - self.risk

    @property
    def is_useless(self) -> bool:
        """Whether it is no more useful than publishing nothing."""
        return self.utility <= TRIVIAL

    @property
    def is_open(self) -> bool:
        """Whether it is as risky as the original."""
        return self.risk >= 1 - TRIVIAL

    @property
    def is_trivial(self) -> bool:
        """Whether one of the ends of the map would do as well."""
        return self.is_useless or self.is_open


@dataclass(frozen=True)
class Scale:
    """Two axes from the end that is all private to the one that is all useful."""

    axes: tuple[str, str]
    private: Point
    useful: Point
    is_absolute: bool
    """Whether the ends are the trivial release and the original, not merely those of the frontier."""

    @staticmethod
    def of(points: Sequence[Point], curve: Curve) -> Scale | None:
        """Take the trivial release and the original for ends, or the frontier's; None where these are no two."""
        trivial, original = ends(points, curve.axes)
        pairs = [(p, q, True) for p in trivial[:1] for q in original[:1]]
        pairs += [(curve.finite[0], curve.finite[-1], False)] if curve.finite else []
        for private, useful, is_absolute in pairs:
            (x, y), (u, v) = (_place(p, curve.axes) for p in (private, useful))
            if all(map(isfinite, (x, y, u, v))) and x < u and y > v:
                return Scale(curve.axes, private, useful, is_absolute)
        return None

    def kept(self, point: Point) -> KeptShares:
        """Say which part of the risk and of the utility a point keeps."""
        (x, y), (low, worst), (high, best) = (_place(p, self.axes) for p in (point, self.private, self.useful))
        return KeptShares((x - low) / (high - low), (worst - y) / (worst - best))

    def knees(self, curve: Curve) -> list[Point]:
        """List the points of the frontier that keep more utility than risk, the most first."""
        place = {point.id: round(self.kept(point).advantage, 9) for point in curve.finite}
        return sorted((p for p in curve.finite if place[p.id] > ALIKE), key=lambda p: -place[p.id])

    def weights(self, point: Point, others: Sequence[Point]) -> tuple[float, float]:
        """Say how much utility a unit of risk may count for, at least and at most, with the point still the first.

        These are the slopes of the two edges of the hull that meet in it.
        """
        mine, rivals = self.kept(point), [self.kept(other) for other in others]
        dearer = [(r.utility - mine.utility) / (r.risk - mine.risk) for r in rivals if r.risk > mine.risk + ALIKE]
        cheaper = [(mine.utility - r.utility) / (mine.risk - r.risk) for r in rivals if r.risk < mine.risk - ALIKE]
        return max(dearer, default=0.0), min(cheaper, default=inf)


def _place(point: Point, axes: tuple[str, str]) -> tuple[float, float]:
    """Turn two measures so that lower is better."""
    first, second = (as_cost(axis, point.measures[axis]) for axis in axes)
    return first, second
