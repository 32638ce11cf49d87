"""The figures of Dewri et al. 2011, drawn with our frontiers: 6 (with insets), 7 (zooms and a fit), 8 to 11."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from sfumato.papers.dewri_2011.study import (
    DISTINCT,
    ETA,
    FREQUENCY,
    LIMIT,
    PAPER_K,
    PAPER_L,
    RELAXED,
    SHOWN,
    Dewri2011,
)
from sfumato.papers.results import Curve, Figure
from sfumato.tradeoff import Frontier, FrontierPoint, Problem1, Problem2, Problem3
from sfumato.tradeoff.search.questions import within


def _series(points: Iterable[FrontierPoint], x: str, y: str) -> list[dict[str, Any]]:
    return [{"x": point.values[x], "y": point.values[y]} for point in points]


def figures(study: Dewri2011) -> Iterator[Figure]:
    """Draw all figures."""
    yield from _weighted_figures(study)
    yield from _limited_figures(study)
    yield from _free_figures(study)
    yield from _safe_figures(study)


def _weighted_figures(study: Dewri2011) -> Iterator[Figure]:
    one = study.frontiers[Problem1()]
    paper: list[dict[str, Any]] = [{"x": 2528, "y": 0.22, "label": "paper"}]
    points = _series(one, "weighted_k", "generalization_loss")
    yield Figure("6", "Problem 1", "weighted-k", "generalization loss", [Curve("ours", points, line=False)], paper)
    title = "Records in groups up to a size"
    yield Figure("6-insets", title, "group size", "share", _insets(study, one), x_scale="log")


def _limited_figures(study: Dewri2011) -> Iterator[Figure]:
    named: list[dict[str, Any]] = [{"x": 14, "y": 0.25, "label": "paper"}, {"x": 36, "y": 0.26, "label": "paper"}]
    for number, most in enumerate((None, 2000, 200, 50)):
        curves = []
        for eta in (ETA, 0.01):
            inside = [p for p in study.frontiers[Problem2(eta)] if most is None or p.values["k"] <= most]
            curves.append(Curve(f"at most {eta:.0%} suppressed", _series(inside, "k", "loss"), line=False))
        title = "Problem 2" if most is None else f"Problem 2, k up to {most}"
        yield Figure(f"7{'abcd'[number]}", title, "k", "loss", curves, named if most in (200, 50) else ())
    front, (fitted, error) = study.frontiers[Problem2(ETA)], fitted_curve(study.frontiers[Problem2(ETA)])
    curves = [Curve("ours", _series(front, "k", "generalization_loss"), line=False), Curve("fitted", fitted)]
    title = f"Section 7.5: a cubic of ln k, at most {error:.3f} off"
    yield Figure("7-fitted", title, "k", "generalization loss", curves, x_scale="log")


def _free_figures(study: Dewri2011) -> Iterator[Figure]:
    three = study.frontiers[Problem3()]
    names = {
        "weighted_k_before": "weighted-k",
        "generalization_loss": "generalization loss",
        "suppression_loss": "suppression loss",
    }
    rows = [{label: point.values[name] for name, label in names.items()} for point in three]
    yield Figure("8", "Problem 3", "", "", [Curve("ours", rows, line=False)], matrix=tuple(names.values()))
    for letter, name, bound, x, y in (
        ("a", "suppression_loss", 0.2, "weighted_k_before", "generalization_loss"),
        ("b", "generalization_loss", 0.3, "weighted_k_before", "suppression_loss"),
    ):
        inside = [point for point in three if point.values[name] < bound]
        title = f"Problem 3, {names[name]} below {bound:.0%}"
        crosses: list[dict[str, Any]] = [{"x": 5000, "y": 0.35, "label": "paper"}] if letter == "a" else []
        curve = Curve("ours", _series(inside, x, y), line=False)
        yield Figure(f"9{letter}", title, names[x], names[y], [curve], crosses)


def _safe_figures(study: Dewri2011) -> Iterator[Figure]:
    for letter, printed, preferred in (("a", PAPER_K, "k"), ("b", PAPER_L, "l")):
        curves = []
        for label, problem in (
            ("sound, l by frequency", FREQUENCY),
            ("sound, l distinct", DISTINCT),
            (f"as printed, {preferred} preferred (unsound)", printed),
        ):
            inside = [point for point in study.frontiers[problem] if point.values["loss"] < SHOWN]
            curves.append(Curve(label, _series(inside, "k", problem.letter), line=False))
        paper: list[dict[str, Any]] = [{"x": 15, "y": 7, "label": "paper"}] if letter == "b" else []
        yield Figure(f"10{letter}", f"Problem 4, loss below {SHOWN:.0%}", "k", "l", curves, paper)
    for letter, most, pairs in (("a", LIMIT, [(20, 4)]), ("b", RELAXED, [(20, 5), (22, 3), (18, 6)])):
        curves = [
            Curve(label, _series(within(study.frontiers[problem], most), "k", problem.letter), line=False)
            for label, problem in (("l by frequency", FREQUENCY), ("l distinct", DISTINCT))
        ]
        named = [{"x": x, "y": y, "label": "paper"} for x, y in pairs]
        yield Figure(f"11{letter}", f"Problem 4, loss at most {most:.0%}", "k", "l", curves, named)


def _insets(study: Dewri2011, front: Frontier) -> list[Curve]:
    """The share of records in groups up to a size, for a release of low and one of high loss."""
    curves = []
    for share in (0.05, 0.22, 0.5):
        point = min(front, key=lambda each: abs(each.values["generalization_loss"] - share))
        sizes = np.sort(study.release(front.problem, point).sizes)
        cumulated = np.cumsum(sizes) / sizes.sum()
        last = np.flatnonzero(np.append(np.diff(sizes) > 0, True))
        points = [{"x": int(sizes[i]), "y": float(cumulated[i])} for i in last]
        curves.append(Curve(f"loss {point.values['generalization_loss']:.0%}", points))
    return curves


def fitted_curve(front: Frontier) -> tuple[list[dict[str, Any]], float]:
    """Fit the loss of a frontier by a cubic of ln k (least squares); return its points and the largest error."""
    points = sorted((point.values["k"], point.values["generalization_loss"]) for point in front)
    sizes, losses = np.array(points).T
    fit = np.polynomial.Polynomial.fit(np.log(sizes), losses, min(3, len(points) - 1))
    fitted = fit(np.log(sizes))
    return [{"x": float(x), "y": float(y)} for x, y in zip(sizes, fitted, strict=True)], float(
        np.abs(fitted - losses).max()
    )
