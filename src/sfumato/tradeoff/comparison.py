"""Dominance between releases, and the verdicts on releases.

**Verdicts.** Brickell & Shmatikov (2008): a release must give a researcher more than the better trivial sanitization
does, and this gain is compared with the adversary's gain. Accuracies are shares, gains differences of accuracies.
`report/verdicts.py` has the sentences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

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
