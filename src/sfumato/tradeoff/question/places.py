"""The place of one measure of a release on the scale from publishing nothing (0 %) to the original (100 %).

The ends are the trivial release without quasi-identifiers and the original; of counts of items, an empty file and the
original.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING

from sfumato.measures.all_measures import MEASURES
from sfumato.texts.catalogue import t
from sfumato.tradeoff.dominance import cost
from sfumato.tradeoff.question.recipients import shows_exact

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Map, Point


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
