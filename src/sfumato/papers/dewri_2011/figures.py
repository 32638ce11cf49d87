"""The figures of Dewri et al. 2011, drawn with our frontiers: 6 with insets, 7 with a fit, 8 to 11, and convergence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import comb
from statistics import median
from typing import Any

import numpy as np

from sfumato.papers.claims import Figure, FigureLine, Inset
from sfumato.papers.dewri_2011.claims import HIGH, LOW, NEAR, ZOOMS, areas_of, below, cumulated, encircled, inset_point
from sfumato.papers.dewri_2011.study import (
    CROSSINGS,
    DISTINCT,
    ETA,
    FREQUENCY,
    LIMIT,
    PAPER_K,
    PAPER_L,
    RELAXED,
    SEEDS,
    SHOWN,
    Dewri2011,
    bought,
    hypervolume,
)
from sfumato.tradeoff.search._enumeration import Frontier, FrontierPoint
from sfumato.tradeoff.search.problems import Problem1, Problem2, Problem3


def _series(points: Iterable[FrontierPoint], x: str, y: str) -> list[dict[str, Any]]:
    return [{"x": point.values[x], "y": point.values[y]} for point in points]


def figures(study: Dewri2011) -> Iterator[Figure]:
    """Draw all figures."""
    yield from _weighted_figures(study)
    yield from _limited_figures(study)
    yield from _free_figures(study)
    yield from _safe_figures(study)
    yield from _solver_figures(study)


def _weighted_figures(study: Dewri2011) -> Iterator[Figure]:
    paper: list[dict[str, Any]] = [{"x": 2528, "y": 0.22, "label": "paper"}]
    points = _series(study.frontiers[Problem1()], "weighted_k", "generalization_loss")
    curve = FigureLine("ours", points, line=False, opacity=0.5)
    insets = [_inset(study, LOW, (0.34, 0.13)), _inset(study, HIGH, (0.71, 0.13))]
    yield Figure("6", "Problem 1", "weighted-k", "generalization loss", [curve], paper, insets=insets)


def _inset(study: Dewri2011, loss: float, place: tuple[float, float]) -> Inset:
    """The share of records in groups up to a size, for the release nearest to a loss."""
    point = inset_point(study, loss)
    sizes = cumulated(study.release(Problem1(), point).sizes)
    curve = FigureLine(f"loss {loss:.0%}", [{"x": size, "y": share} for size, share in [(1, 0.0), *sizes]])
    (at,) = _series([point], "weighted_k", "generalization_loss")
    return Inset(curve, at, place, "group size", "records in groups up to it")


def _limited_figures(study: Dewri2011) -> Iterator[Figure]:
    named: list[dict[str, Any]] = [{"x": 14, "y": 0.25, "label": "paper"}, {"x": 36, "y": 0.26, "label": "paper"}]
    for number, most in enumerate((None, *ZOOMS)):
        curves = []
        for eta in (ETA, 0.01):
            inside = [p for p in study.frontiers[Problem2(eta)] if most is None or p.values["k"] <= most]
            curves.append(FigureLine(f"at most {eta:.0%} suppressed", _series(inside, "k", "loss"), line=False))
        title = "Problem 2" if most is None else f"Problem 2, k up to {most}"
        yield Figure(f"7{'abcd'[number]}", title, "k", "loss", curves, named if most in (200, 50) else ())
    front, (fitted, error) = study.frontiers[Problem2(ETA)], fitted_curve(study.frontiers[Problem2(ETA)])
    curves = [
        FigureLine("ours", _series(front, "k", "generalization_loss"), line=False, opacity=0.5),
        FigureLine("fitted", fitted, marks=False),
    ]
    title = f"Section 7.5: a cubic of ln k that never falls nor is below 0, at most {error:.3f} off"
    yield Figure("7-fitted", title, "k", "generalization loss", curves, x_scale="log")


def _free_figures(study: Dewri2011) -> Iterator[Figure]:
    three = study.frontiers[Problem3()]
    names = {
        "weighted_k_before": "weighted-k",
        "generalization_loss": "generalization loss",
        "suppression_loss": "suppression loss",
    }
    rows = [{label: point.values[name] for name, label in names.items()} for point in three]
    yield Figure("8", "Problem 3", "", "", [FigureLine("ours", rows, line=False)], matrix=tuple(names.values()))
    for letter, name, bound, x, y in (
        ("a", "suppression_loss", 0.2, "weighted_k_before", "generalization_loss"),
        ("b", "generalization_loss", 0.3, "weighted_k_before", "suppression_loss"),
    ):
        inside = [point for point in three if point.values[name] < bound]
        title = f"Problem 3, {names[name]} below {bound:.0%}"
        crosses: list[dict[str, Any]] = [{"x": NEAR[0], "y": NEAR[1 if letter == "a" else 2], "label": "paper"}]
        curve = FigureLine("ours", _series(inside, x, y), line=False, opacity=0.5)
        rings = _series(encircled(inside), x, y)
        yield Figure(f"9{letter}", title, names[x], names[y], [curve], crosses, encircled=rings)


def _safe_figures(study: Dewri2011) -> Iterator[Figure]:
    for letter, printed, preferred in (("a", PAPER_K, "k"), ("b", PAPER_L, "l")):
        curves = []
        for label, problem in (
            ("sound, l distinct", DISTINCT),
            ("sound, l by frequency", FREQUENCY),
            (f"as printed, {preferred} preferred (unsound)", printed),
        ):
            inside = below(study.frontiers[problem], SHOWN)
            curves.append(FigureLine(label, _series(inside, "k", problem.letter), line=False, opacity=0.4))
        paper: list[dict[str, Any]] = [{"x": 15, "y": 7, "label": "paper"}] if letter == "b" else []
        yield Figure(f"10{letter}", f"Problem 4, loss below {SHOWN:.0%}", "k", "l", curves, paper, whole=True)
    for letter, most, pairs in (("a", LIMIT, [(20, 4)]), ("b", RELAXED, [(20, 5), (22, 3), (18, 6)])):
        curves = [
            FigureLine(label, _pairs(study.frontiers[problem], most), line=False, opacity=0.6)
            for label, problem in (("l distinct", DISTINCT), ("l by frequency", FREQUENCY))
        ]
        named = [{"x": x, "y": y, "label": "paper"} for x, y in pairs]
        fresh = [
            {"x": point.values["k"], "y": point.values[problem.letter]}
            for problem in (DISTINCT, FREQUENCY)
            for point in bought(study.frontiers[problem], LIMIT, RELAXED)
        ]
        title = f"Problem 4, loss at most {most:.0%}" + (": encircled what it offers anew" if letter == "b" else "")
        rings = fresh if letter == "b" else []
        yield Figure(f"11{letter}", title, "k", "l", curves, named, encircled=rings, whole=True)


def _pairs(front: Frontier, most: float) -> list[dict[str, Any]]:
    """All pairs (k, l) of a front within a loss, each once."""
    letter = front.problem.objectives[1]
    inside = [point for point in front if point.values["loss"] <= most]
    return [{"x": x, "y": y} for x, y in sorted({(point.values["k"], point.values[letter]) for point in inside})]


def _solver_figures(study: Dewri2011) -> Iterator[Figure]:
    """Hypervolume as generations go by: the median of the seeds as a line, every seed as a mark."""
    curves = []
    for crossing, label in zip(CROSSINGS, ("Lunacek's crossover", "Iyengar's, with repair"), strict=True):
        areas = areas_of(study.runs, crossing)
        middle = [{"x": step, "y": median(run[i] for run in areas)} for i, step in enumerate(study.steps)]
        every = [{"x": step, "y": run[i]} for run in areas for i, step in enumerate(study.steps)]
        curves += [FigureLine(label, middle), FigureLine(label, every, line=False, opacity=0.35)]
    area = hypervolume(study.frontiers[Problem2(ETA)], study.table.cells.records)
    ends = [{"x": step, "y": area} for step in (study.steps[0], study.steps[-1])]
    curves.append(FigureLine("what our operators end with", ends, marks=False))
    title = f"Sections 6.3 and 7: convergence in problem 2, {len(SEEDS)} seeds and their median"
    yield Figure("crossover", title, "generations", "hypervolume", curves, zero=False)


def fitted_curve(front: Frontier) -> tuple[list[dict[str, Any]], float]:
    """Fit the loss of a frontier by a cubic of ln k (least squares); return its points and the largest error.

    In Bernstein's form a cubic whose coefficients begin at 0 or more and never fall is itself never below 0 and never
    falls, as a loss must: their steps are fitted as numbers that are not negative.
    """
    from scipy.optimize import nnls  # slow to import

    points = sorted((point.values["k"], point.values["generalization_loss"]) for point in front)
    sizes, losses = np.array(points).T
    share = np.log(sizes / sizes[0]) / max(np.log(sizes[-1] / sizes[0]), 1e-9)
    basis = np.stack([comb(3, i) * share**i * (1 - share) ** (3 - i) for i in range(4)], axis=1)
    from_here_on = np.cumsum(basis[:, ::-1], axis=1)[:, ::-1]
    fitted = from_here_on @ nnls(from_here_on, losses)[0]
    curve = [{"x": float(x), "y": float(y)} for x, y in zip(sizes, fitted, strict=True)]
    return curve, float(np.abs(fitted - losses).max())
