"""The frontier of two measures as a curve: what a step along it costs, where it is flat or steep.

Flat and steep stretches are those of Dewri et al. 2011, section 7.2. Both axes are turned so that lower is better, and
scaled to 0..1 between the ends of the curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from math import inf, isfinite
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.tradeoff.dominance import cost, non_dominated

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Point

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


def rank(point: Point) -> tuple[bool, bool, bool, str]:
    """Order points that are equal otherwise: what hides more first, and then by id, so that ties are decided."""
    return not point.candidate.anonymizer.is_release, point.form == "bucketization", point.is_baseline, point.id


def _ratio(paid: float, gain: float) -> float | None:
    """Divide, where the numbers are large enough for it."""
    ratio = paid / gain if gain else inf
    return ratio if isfinite(ratio) else None


def _kind(step: Step) -> str:
    if step.relative is None:
        return ""
    return "flat" if step.relative <= FLAT else "steep" if step.relative >= STEEP else ""
