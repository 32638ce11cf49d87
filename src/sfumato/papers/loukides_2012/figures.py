"""The figures of Loukides et al. 2012 with our points: R-U maps with utility to the right and risk upwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.papers.loukides_2012.ru_map import (
    BOUND,
    ESTIMATORS,
    MAKERS,
    RISK,
    WITHIN,
    WITHOUT,
    MeasuredRelease,
    RUMap,
    axes,
)
from sfumato.papers.results import Figure, FigureLine
from sfumato.tradeoff.map import Point

BEATEN = "beaten by another k"
PANELS = {"AA": "6a", "COAT": "6b", "PCTA": "6c"}


def figures_6_and_7(map_: RUMap) -> list[Figure]:
    """Draw one map for every anonymizer, and all of them on one for every estimator."""
    single = [_single(map_, label, name) for label, name in PANELS.items()]
    return [*single, *(_compared(map_, estimator, "7") for estimator in ESTIMATORS)]


def figure_5(map_: RUMap) -> list[Figure]:
    """Draw COAT's map of diagnoses, with and without the utility constraints of their tree; and all anonymizers'."""
    labels = [label for label in ("COAT", WITHIN) if label in map_.grids]
    drawn = []
    for estimator in ESTIMATORS:
        curves = _curves(map_, labels, estimator) + _knees(map_, "COAT", estimator)
        title = f"Loukides et al. 2012, figure 5: COAT on {map_.name} ({estimator})"
        drawn.append(Figure(_name("5", estimator), title, _utility(estimator), "risk", curves))
    return [*drawn, *(_compared(map_, estimator, "5-compared") for estimator in ESTIMATORS)]


def _single(map_: RUMap, label: str, name: str) -> Figure:
    curves: list[FigureLine] = []
    beaten: list[Mapping[str, Any]] = []
    for estimator in ESTIMATORS:
        drawn = _curves(map_, [label], estimator, [estimator])
        curves += [drawn[0], *_knees(map_, label, estimator, f", {estimator}")]
        beaten += [point for curve in drawn[1:] for point in curve.points]
    curves += [FigureLine(BEATEN, beaten, line=False)] if beaten else []
    title = f"Loukides et al. 2012, figure {name}: {label} on {map_.name}"
    return Figure(name, title, "utility (1/ARE)", "risk", curves, x_scale="log")


def _compared(map_: RUMap, estimator: str, name: str) -> Figure:
    curves = _curves(map_, [label for label in (*MAKERS, WITHOUT) if label in map_.grids], estimator)
    ends = [float(point["x"]) for curve in curves for point in curve.points]
    bound = [{"x": x, "y": BOUND} for x in (min(ends), max(ends))] if ends else []
    title = f"Loukides et al. 2012, figure {name.partition('-')[0]}: three anonymizers on {map_.name} ({estimator})"
    return Figure(
        _name(name, estimator),
        title,
        _utility(estimator),
        "risk",
        [*curves, FigureLine(f"risk {BOUND:g}", bound, marks=False)],
        x_scale="log",
    )


def _name(figure: str, estimator: str) -> str:
    return figure if estimator == ESTIMATORS[0] else f"{figure}-{estimator}"


def _utility(estimator: str) -> str:
    return f"utility (1/ARE, {estimator})"


def _points(runs: Sequence[MeasuredRelease], estimator: str) -> list[dict[str, float]]:
    return [
        {"x": run.point.measures[axes(estimator)[1]], "y": run.point.measures[RISK], "parameter": run.k} for run in runs
    ]


def _curves(map_: RUMap, labels: Sequence[str], estimator: str, names: Sequence[str] | None = None) -> list[FigureLine]:
    """Join the releases of each anonymizer that no other of it beats, and mark the rest."""
    joined, beaten = [], list[MeasuredRelease]()
    for label, name in zip(labels, names or labels, strict=True):
        kept = {_place(point, estimator) for point in map_.curve(label, estimator).points}
        joined.append(
            FigureLine(
                name, _points([run for run in map_.of(label) if _place(run.point, estimator) in kept], estimator)
            )
        )
        beaten += [run for run in map_.of(label) if _place(run.point, estimator) not in kept]
    return [*joined, FigureLine(BEATEN, _points(beaten, estimator), line=False)] if beaten else joined


def _place(point: Point, estimator: str) -> tuple[float, ...]:
    return tuple(point.measures[axis] for axis in axes(estimator))


def _knees(map_: RUMap, label: str, estimator: str, suffix: str = "") -> list[FigureLine]:
    """Mark the knees; one mark where both methods find the same."""
    knees = {way: run for way, run in map_.knees(label, estimator).items() if run is not None}
    if len(knees) == 2 and knees["angle"] is knees["kneedle"]:
        knees = {"both": knees["angle"]}
    names = {"angle": "knee by angle", "kneedle": "knee by Kneedle", "both": "knee"}
    return [FigureLine(f"{names[way]}{suffix}", _points([run], estimator), line=False) for way, run in knees.items()]
