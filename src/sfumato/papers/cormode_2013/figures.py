"""The figures of Cormode et al. 2013 with our points: 1 to 4 by parameter, 5 the maps, 6 heights and data sizes.

Breaches are over the true share of the commonest value. Points that the paper's text names stand as crosses, moved
from its 11 % to that share, so that equal accuracies lie at equal heights. A map has the error to the right and the
breach upwards, as in the paper: the ideal corner is at the bottom left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Literal

from sfumato.papers.claims import Figure, FigureLine
from sfumato.papers.cormode_2013.claims import PAPER_RHO
from sfumato.papers.cormode_2013.study import (
    ADULT,
    ALPHABET,
    CENSUS,
    DP,
    QUADTREE,
    T_EQUAL,
    T_STOP,
    T_STOP_EQUAL,
    Cormode2013,
    Curves,
    K,
    L,
    Number,
    Outcome,
    T,
    error,
    kd_tree,
)

TITLE = "Cormode et al. 2013, figure"
ERROR, BREACH = "median relative error of queries", "empirical breach (beta)"
CUT = "{}, counts cut at 0"


def figures(study: Cormode2013) -> Iterator[Figure]:
    """Draw all figures."""
    yield from _by_parameter(study)
    yield from _budgets(study)
    yield from _maps(study)
    yield from _effects(study)


parameter: Number = attrgetter("parameter")


def breach(rho: float) -> Number:
    """Return the breach over a share of the commonest value."""
    return lambda outcome: outcome.accuracy / rho - 1


def curve(label: str, outcomes: Iterable[Outcome], x: Number, y: Number) -> FigureLine:
    """Draw a line through outcomes."""
    return FigureLine(label, [{"x": x(o), "y": y(o), "parameter": o.parameter} for o in outcomes])


def crosses(rho: float, *points: tuple[float, float]) -> list[dict[str, Any]]:
    """Place breaches that the paper prints, over its own rho, on our axis."""
    return [{"x": x, "y": (1 + beta) * PAPER_RHO / rho - 1, "label": "paper"} for x, beta in points]


def _by_parameter(study: Cormode2013) -> Iterator[Figure]:
    """Figures 1 to 3: what k, l and t do on every table."""
    plots = {"1": ("k", (K,)), "2": ("l", (L,)), "3": ("t", (T_STOP, T_STOP_EQUAL, T, T_EQUAL))}
    rho = study.rho()
    printed = {"1": crosses(rho, (8, 1.8), (1024, 0.5)), "2": crosses(rho, (6, 0.2))}
    for number, (axis, names) in plots.items():
        scale: Literal["log", "linear"] = "log" if number == "1" else "linear"
        lines = [
            (f"{panel}: {name}" if len(names) > 1 else panel, panel, curves[name])
            for panel, curves in study.outcomes.items()
            for name in names
            if name in curves and (number != "3" or panel == ADULT.name or name == T_STOP)
        ]
        errors = [curve(label, outcomes, parameter, error) for label, _, outcomes in lines]
        yield Figure(f"{number}-error", f"{TITLE} {number}: error", axis, ERROR, errors, x_scale=scale)
        breaches = [curve(label, outcomes, parameter, breach(study.rho(panel))) for label, panel, outcomes in lines]
        title, paper = f"{TITLE} {number}: breach", printed.get(number, ())
        yield Figure(f"{number}-breach", title, axis, BREACH, breaches, paper, x_scale=scale)


def _budgets(study: Cormode2013) -> Iterator[Figure]:
    """Figure 4: what epsilon does on every table, and on Adult for trees of all heights, in both readings."""
    private = {f"{panel}: kd-tree": (panel, curves[DP]) for panel, curves in study.outcomes.items()}
    private[f"{ADULT.name}: quadtree"] = (ADULT.name, study.adult[QUADTREE])
    errors = [curve(label, outcomes, parameter, error) for label, (_, outcomes) in private.items()]
    breaches = [curve(label, both[1], parameter, breach(study.rho(both[0]))) for label, both in private.items()]
    printed = [{"x": 0.01, "y": 1.0, "label": "paper"}]
    title = f"{TITLE} 4:"
    yield _logarithmic("4-error", f"{title} error, counts as drawn", ERROR, errors, printed)
    yield _logarithmic("4-breach", f"{title} breach", BREACH, breaches, y_scale="linear")
    heights = {f"height {height}": study.adult[kd_tree(height)] for height in study.grid.heights}
    as_drawn = [curve(label, outcomes, parameter, error) for label, outcomes in heights.items()]
    cut = [curve(label, [o.cut for o in outcomes], parameter, error) for label, outcomes in heights.items()]
    attacked = [curve(label, outcomes, parameter, breach(study.rho())) for label, outcomes in heights.items()]
    yield _logarithmic("4-heights-error", f"{title} Adult by height, counts as drawn", ERROR, as_drawn, printed)
    yield _logarithmic("4-heights-error-cut", f"{title} Adult by height, counts cut at 0", ERROR, cut, printed)
    yield _logarithmic("4-heights-breach", f"{title} Adult by height", BREACH, attacked, y_scale="linear")


def _logarithmic(
    name: str,
    title: str,
    y: str,
    curves: Sequence[FigureLine],
    paper: Sequence[Mapping[str, Any]] = (),
    y_scale: Literal["linear", "log"] = "log",
) -> Figure:
    return Figure(name, title, "epsilon", y, curves, paper, x_scale="log", y_scale=y_scale)


def _map(name: str, title: str, curves: Curves, rho: float) -> Figure:
    """Draw a map: error to the right, breach upwards."""
    lines = [curve(label, outcomes, error, breach(rho)) for label, outcomes in curves.items()]
    return Figure(name, f"{TITLE} {title}", ERROR, BREACH, lines, x_scale="symlog")


def _maps(study: Cormode2013) -> Iterator[Figure]:
    """Figure 5: all models on one map, on every table; then the private trees by height in both readings."""
    for letter, panel in (("a", ADULT), ("b", CENSUS), ("a-alphabet", ALPHABET)):
        curves = study.outcomes[panel.name]
        models: dict[str, Sequence[Outcome]] = {name: curves[name] for name in (K, L, T_STOP)}
        models["DP"] = curves[DP]
        yield _map(f"5{letter}", f"5: {panel.name}", models, study.rho(panel.name))
    trees = {f"DP, height {height}": study.adult[kd_tree(height)] for height in study.grid.heights}
    trees[QUADTREE] = study.adult[QUADTREE]
    others = {name: study.adult[name] for name in (K, T_STOP, T_STOP_EQUAL)}
    yield _map("5a-heights", "5: Adult, private trees, counts as drawn", {**others, **trees}, study.rho())
    cut = {CUT.format(name): [outcome.cut for outcome in outcomes] for name, outcomes in trees.items()}
    yield _map("5a-heights-cut", "5: Adult, private trees, counts cut at 0", {**others, **cut}, study.rho())


def _effects(study: Cormode2013) -> Iterator[Figure]:
    """Figure 6: heights on the table that stands for Census, shares of the data of Adult."""
    yield _map("6a", f"6a: heights, {CENSUS.name}", study.heights, study.rho(CENSUS.name))
    yield _map("6b", "6b: shares of the data, Adult", study.sizes, study.rho())
