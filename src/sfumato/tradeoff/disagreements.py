"""Where the axes disagree: releases that look good by one measure and bad by another of the same kind.

`report/disagreements.py` has the sentences. The rule is written down and no matter of taste: among the
measured releases (trivial sanitizations and the original left out) a release looks good by a measure when at most a
third of them, itself among them, are as good or better, and bad when at most a third are as bad or worse. A measure
that is an axis is compared with the others of its kind in `COMPARED`. An attack that is right no more often than a
guess without the release or its groups is no alarm, wherever it stands.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, ClassVar

from sfumato.measures.all_measures import MEASURES
from sfumato.runtime.arrays import Quiet
from sfumato.tradeoff.dominance import cost

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Map, Point

COMPARED = {
    "risk": ("p_loss", "a_know", "attack_accuracy", "definetti_accuracy"),
    "utility": ("u_loss", "u_loss_em", "query_error", "query_error_em"),
}
"""What is held against an axis: the worst and the mean person's loss, two attacks; two readers of two tasks."""

BEATEN = {"attack_accuracy": "empirical_breach", "definetti_accuracy": "definetti_gain"}
"""By attack, what it gains over its baseline: without a gain its rank says nothing of the release."""

FEWEST = 6
"""Among fewer releases than this a third says nothing."""

ALIKE = 1e-9
"""Measures closer than this, relative to their size, are equal."""


@dataclass(frozen=True, repr=False)
class StandingByMeasure(Quiet):
    """Where a release stands by one measure among those that have it."""

    spoken: ClassVar[tuple[str, ...]] = ("measure", "side")

    measure: str
    value: float
    rank: int
    """1 is the best; releases that are equal share the best of their ranks."""

    of: int
    side: str
    """good, bad, or nothing."""


@dataclass(frozen=True, repr=False)
class Disagreement(Quiet):
    """A release that looks good by an axis and bad by other measures of the same kind, or the other way round."""

    spoken: ClassVar[tuple[str, ...]] = ("point",)

    point: Point
    axis: StandingByMeasure
    others: tuple[StandingByMeasure, ...]


@dataclass(frozen=True, repr=False)
class Disagreements(Quiet):
    """What the measures of a map say of its releases where they do not say the same."""

    map_: Map

    @staticmethod
    def of(map_: Map) -> Disagreements | None:
        """Return the disagreements of a map; None where it has too few releases to rank them."""
        disagreements = Disagreements(map_)
        return disagreements if len(disagreements.releases) >= FEWEST else None

    @cached_property
    def releases(self) -> list[Point]:
        """The measured releases, without trivial sanitizations and the original."""
        return [point for point in self.map_.points if point.status == "measured" and not point.is_baseline]

    @cached_property
    def _costs(self) -> dict[str, list[float]]:
        """Of every measure the costs of all releases that have it, the best first."""
        return {name: sorted(cost(name, p.measures[name]) for p in self.releases if p.has([name])) for name in MEASURES}

    def standing(self, point: Point, measure: str) -> StandingByMeasure | None:
        """Say where a release stands by a measure; None where too few releases have it, or this one has not."""
        known = self._costs[measure]
        if point.is_baseline or not point.has([measure]) or len(known) < FEWEST:
            return None
        point_cost = cost(measure, point.measures[measure])
        near = ALIKE * abs(point_cost) if isfinite(point_cost) else 0.0
        better, worse = bisect_left(known, point_cost - near), len(known) - bisect_right(known, point_cost + near)
        good, bad = 3 * (len(known) - worse) <= len(known), 3 * (len(known) - better) <= len(known)
        side = "good" if good else "bad" if bad else ""
        return StandingByMeasure(measure, point.measures[measure], better + 1, len(known), side)

    @cached_property
    def compared(self) -> dict[str, list[str]]:
        """For each axis of the study the other measures of its kind that are held against it and are known."""
        by_axis = {}
        for axis in self.map_.study.axes:
            others = [name for name in COMPARED[MEASURES[axis].kind] if name != axis]
            by_axis[axis] = [name for name in others if len(self._costs[name]) >= FEWEST]
        return {axis: others for axis, others in by_axis.items() if others and len(self._costs[axis]) >= FEWEST}

    def of_point(self, point: Point, axes: Sequence[str] = ()) -> list[Disagreement]:
        """List where the axes (the study's, unless others are given) and the measures held against them disagree."""
        disagreements = []
        for name in axes or self.map_.study.axes:
            axis = self.standing(point, name)
            if axis is None or not axis.side or _is_idle(point, axis):
                continue
            beside = [self.standing(point, other) for other in COMPARED[MEASURES[name].kind] if other != name]
            apart = tuple(
                standing
                for standing in beside
                if standing and standing.side not in ("", axis.side) and not _is_idle(point, standing)
            )
            disagreements += [Disagreement(point, axis, apart)] if apart else []
        return disagreements

    @cached_property
    def frontier(self) -> list[Point]:
        """The releases on the frontier of the study's axes."""
        return [point for point in self.map_.frontier() if not point.is_baseline]

    @cached_property
    def on_frontier(self) -> list[Disagreement]:
        """All disagreements about releases on the frontier, in its order."""
        return [disagreement for point in self.frontier for disagreement in self.of_point(point)]


def attacked_column(point: Point, attack: str) -> tuple[str | None, Mapping[str, float]]:
    """Return the sensitive column that an attack guesses best, with its own measures; no name where there is one."""
    columns = [(name, own) for name, own in point.by_sensitive.items() if attack in own]
    return max(columns, key=lambda column: column[1][attack]) if columns else (None, point.measures)


def _is_idle(point: Point, standing: StandingByMeasure) -> bool:
    """Say whether a release looks bad by an attack that does not beat its baseline; where that is unknown, it may."""
    if standing.side != "bad" or standing.measure not in BEATEN:
        return False
    return attacked_column(point, standing.measure)[1].get(BEATEN[standing.measure], 1.0) <= ALIKE
