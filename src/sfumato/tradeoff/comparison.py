"""Dominance between releases, the verdicts on releases, and disagreements between measures.

**Verdicts.** Brickell & Shmatikov (2008): a release must give a researcher more than the better trivial sanitization
does, and this gain is compared with the adversary's gain. Accuracies are shares, gains differences of accuracies.
`report/verdicts.py` has the sentences.

**Disagreements.** A release looks good by one measure and bad by another of the same kind. Trivial sanitizations and
the original are excluded. A release looks good by a measure if at most a third of the releases, itself included, are
as good or better. It looks bad if at most a third are as bad or worse. `COMPARED` lists the measures for each kind. An
attack that does not beat its baseline is never reported as bad.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.measures.all_measures import MEASURES
from sfumato.measures.classification.classification import Classification
from sfumato.runtime.arrays import RedactedRepr

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Map, Point


def cost(name: str, value: float) -> float:
    """Return a measure with its sign changed where needed, so that lower is better."""
    return value if MEASURES[name].better == "lower" else -value


def non_dominated(costs: NDArray[np.float64]) -> list[int]:
    """Find the rows that no other row dominates (at most as large everywhere, smaller somewhere)."""
    order = np.lexsort(costs.T[::-1])
    if costs.shape[1] == 2 and len(costs):
        return sorted(order[_on_staircase(costs[order])].tolist())
    kept: list[int] = []
    front = np.empty((0, costs.shape[1]))
    for i in order:
        row = costs[i]
        worse = (front <= row).all(axis=1) & (front < row).any(axis=1)
        if not worse.any():
            kept.append(int(i))
            front = np.concatenate([front, row[None]])
    return sorted(kept)


def _on_staircase(rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which of some sorted pairs no other pair dominates; equal pairs get equal results.

    A pair is nondominated if its second number is below all before it.
    """
    stands = np.append(True, rows[1:, 1] < np.minimum.accumulate(rows[:-1, 1]))
    is_new = np.append(True, (rows[1:] != rows[:-1]).any(axis=1))
    return stands[np.maximum.accumulate(np.where(is_new, np.arange(len(rows)), 0))]


def hypervolume(costs: NDArray[np.float64], corner: NDArray[np.float64]) -> float:
    """Return the hypervolume of some rows up to a corner; rows that are not below the corner count zero.

    Row by row: its volume less the part that later rows dominate, too (While, Bradstreet & Barone 2012).
    """
    inside = np.unique(costs[(costs < corner).all(axis=1)], axis=0)
    front = inside[non_dominated(inside)]
    if len(corner) <= 2 and len(front):  # a staircase: sorted by the first, descending in the second
        ends = np.append(front[1:, 0], corner[0])
        return float(((ends - front[:, 0]) * (corner[1:] - front[:, 1:]).prod(axis=1)).sum())
    return sum((exclusive(row, front[i + 1 :], corner) for i, row in enumerate(front)), 0.0)


def exclusive(row: NDArray[np.float64], others: NDArray[np.float64], corner: NDArray[np.float64]) -> float:
    """Return the exclusive hypervolume of a row up to a corner."""
    if not (row < corner).all():
        return 0.0
    if len(row) == 2:
        return _above(row, others, corner)
    return max(float((corner - row).prod()) - hypervolume(np.maximum(others, row), corner), 0.0)


def _above(row: NDArray[np.float64], others: NDArray[np.float64], corner: NDArray[np.float64]) -> float:
    """Return the exclusive area of a pair: between it and the staircase of the others."""
    steps = others[np.argsort(others[:, 0])]
    edges = np.concatenate([row[:1], np.clip(steps[:, 0], row[0], corner[0]), corner[:1]])
    heights = np.minimum.accumulate(np.append(corner[1], steps[:, 1]))
    return float(np.diff(edges) @ np.maximum(heights - row[1], 0.0))


VERDICTS = {
    "better": "beats both trivial sanitizations",
    "no better": "does not beat the better trivial sanitization",
    "not shown": "not shown to beat the better trivial sanitization: the interval of its gain contains zero",
}
"""The meaning of each verdict."""


@dataclass(frozen=True, repr=False)
class Verdicts(RedactedRepr):
    """The worth of the releases of a map for the workload of its study."""

    map_: Map
    workload: Classification

    @staticmethod
    def of(map_: Map) -> Verdicts | None:
        """Return the verdicts of a map; None if no column was learned."""
        workload = map_.study.learned
        if workload is None or all(point.worth is None for point in map_.points):
            return None
        return Verdicts(map_, workload)

    @cached_property
    def known(self) -> list[Point]:
        """All compared points, including trivial sanitizations and original."""
        return [point for point in self.map_.points if point.worth is not None]

    @cached_property
    def releases(self) -> list[Point]:
        """The judged releases, largest gain first."""
        judged = [point for point in self.known if not point.is_baseline]
        return sorted(judged, key=lambda point: (-worth_of(point)["gain"], point.id))

    @cached_property
    def by_verdict(self) -> dict[str, list[str]]:
        """The ids of the judged releases by verdict."""
        return {verdict: [p.id for p in self.releases if worth_of(p)["verdict"] == verdict] for verdict in VERDICTS}

    @cached_property
    def has_adversary(self) -> bool:
        """Whether there is a sensitive value for an adversary to guess."""
        return any("a_acc" in point.measures for point in self.known)

    @property
    def marks(self) -> str:
        """The legend of the marks on the map; empty if no release is marked."""
        crossed, struck = (bool(self.by_verdict[verdict]) for verdict in ("no better", "not shown"))
        beat = f"beat the better trivial sanitization at learning {self.workload.target}"
        if crossed:
            other = "; a single stroke marks one that is not shown to" if struck else ""
            return f"A cross marks a release that does not {beat}{other}."
        return f"A stroke marks a release that is not shown to {beat}." if struck else ""


def worth_of(point: Point) -> Mapping[str, Any]:
    """Return the worth of a point."""
    assert point.worth is not None
    return point.worth


def mark_of(point: Point) -> str:
    """Return the mark of a point: the verdict of a release that is not better, else nothing."""
    if point.is_baseline or point.worth is None or point.worth["verdict"] == "better":
        return ""
    return str(point.worth["verdict"])


COMPARED = {
    "risk": ("p_loss", "a_know", "attack_accuracy", "definetti_accuracy"),
    "utility": ("u_loss", "u_loss_em", "query_error", "query_error_em"),
}
"""Measures compared with an axis: losses of the worst and the mean person and two attacks; two tasks of analysts."""

BEATEN = {"attack_accuracy": "empirical_breach", "definetti_accuracy": "definetti_gain"}
"""The gain of each attack over its baseline. Without a gain the rank of a release by the attack means nothing."""

FEWEST = 6
"""The fewest releases for which a third is meaningful."""

ALIKE = 1e-9
"""Measures closer than this, relative to their size, are equal."""


@dataclass(frozen=True, repr=False)
class StandingByMeasure(RedactedRepr):
    """The rank of a release by one measure."""

    public_fields: ClassVar[tuple[str, ...]] = ("measure", "side")

    measure: str
    value: float
    rank: int
    """1 is the best; equal releases share the best of their ranks."""

    of: int
    side: str
    """good, bad, or empty."""


@dataclass(frozen=True, repr=False)
class Disagreement(RedactedRepr):
    """A release that looks good by an axis and bad by other measures of the same kind, or the other way round."""

    public_fields: ClassVar[tuple[str, ...]] = ("point",)

    point: Point
    axis: StandingByMeasure
    others: tuple[StandingByMeasure, ...]


@dataclass(frozen=True, repr=False)
class Disagreements(RedactedRepr):
    """The disagreements between measures about the releases of a map."""

    map_: Map

    @staticmethod
    def of(map_: Map) -> Disagreements | None:
        """Return the disagreements of a map; None if it has too few releases to rank."""
        disagreements = Disagreements(map_)
        return disagreements if len(disagreements.releases) >= FEWEST else None

    @cached_property
    def releases(self) -> list[Point]:
        """The measured releases, without trivial sanitizations and the original."""
        return [point for point in self.map_.points if point.status == "measured" and not point.is_baseline]

    @cached_property
    def _costs(self) -> dict[str, list[float]]:
        """For each measure, the costs of all releases that have it, best first."""
        return {name: sorted(cost(name, p.measures[name]) for p in self.releases if p.has([name])) for name in MEASURES}

    def standing(self, point: Point, measure: str) -> StandingByMeasure | None:
        """Return the rank of a release by a measure; None if too few releases, or not this one, have the measure."""
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
        """For each axis of the study, the other measured measures of its kind in `COMPARED`."""
        by_axis = {}
        for axis in self.map_.study.axes:
            others = [name for name in COMPARED[MEASURES[axis].kind] if name != axis]
            by_axis[axis] = [name for name in others if len(self._costs[name]) >= FEWEST]
        return {axis: others for axis, others in by_axis.items() if others and len(self._costs[axis]) >= FEWEST}

    def of_point(self, point: Point, axes: Sequence[str] = ()) -> list[Disagreement]:
        """List the disagreements between the axes (default: the study's) and the measures compared with them."""
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
    """Return the sensitive column that an attack guesses best, with its measures; no name if there is one column."""
    columns = [(name, own) for name, own in point.by_sensitive.items() if attack in own]
    return max(columns, key=lambda column: column[1][attack]) if columns else (None, point.measures)


def _is_idle(point: Point, standing: StandingByMeasure) -> bool:
    """Return whether a release looks bad only by an attack that does not beat its baseline."""
    if standing.side != "bad" or standing.measure not in BEATEN:
        return False
    return attacked_column(point, standing.measure)[1].get(BEATEN[standing.measure], 1.0) <= ALIKE
