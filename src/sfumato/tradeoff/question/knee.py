"""What a release keeps of the original's risk and utility, and the knee of the whole frontier on that scale.

Publishing nothing (the trivial release) keeps 0 % of both, the original 100 %. The knee is the release with the most
utility beyond its risk: of all it lies furthest inside the line between these two ends, so it is a corner of the
frontier's convex hull, and nothing that happens between two neighbours can move it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING

from sfumato.tradeoff.question.curve import ALIKE, Curve
from sfumato.tradeoff.question.places import as_cost, ends

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Point

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
