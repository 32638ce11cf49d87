"""The frontier of a search in words: how many points were found, and some of them, the most private first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sfumato.phrases import counted
from sfumato.texts.catalogue import t
from sfumato.tradeoff import Frontier, Problem

EARLY = {"time": " (time was up)", "interrupted": " (interrupted)"}
ROWS = 20
"""Points that are listed, evenly."""


def frontier_lines(frontier: Frontier) -> Iterator[str]:
    """Write a frontier as lines for the terminal."""
    points, looked = counted(len(frontier), "point"), counted(frontier.evaluations, "cut vector")
    whole = t("frontier.which_all") if frontier.exact else EARLY.get(frontier.stopped, "")
    yield t("frontier.frontier_looked", points=points, frontier=frontier, looked=looked, whole=whole)
    if not len(frontier):
        yield t("frontier.no_cuts")
        return
    names = list(frontier.points[0].values)
    yield "  " + " ".join(f"{name.replace('generalization', 'general.'):>18}" for name in names)
    for point in frontier.points[:: max(1, -(-len(frontier) // ROWS))]:
        yield "  " + " ".join(f"{_number(point.values[name]):>18}" for name in names)


def search_lines(frontier: Frontier) -> Iterator[str]:
    """Write a frontier that stands on a map as lines for the terminal."""
    yield from frontier_lines(frontier)
    if frontier.stopped:
        yield t("frontier.search_stopped")
    yield f"\n{drawn_on(frontier.problem)}"


def frontier_values(frontier: Frontier) -> dict[str, Any]:
    """Return a frontier as plain values."""
    return {
        "problem": str(frontier.problem),
        "evaluations": frontier.evaluations,
        "exact": frontier.exact,
        "stopped": frontier.stopped,
        "frontier": [{**point.values, "cuts": point.cuts} for point in frontier],
    }


def drawn_on(problem: Problem) -> str:
    """Say on which measures the map of a frontier is drawn, and why points of it may look beaten there."""
    sentence = t("frontier.map_drawn", axes=" and ".join(problem.axes))
    if problem.axes == problem.objectives:
        return f"{sentence}."
    return t("frontier.frontier_so", sentence=sentence, problem=problem)


def _number(value: float) -> str:
    """Write a number of a column: whole ones without a point, all others with as many digits behind it."""
    return f"{value:,.0f}" if value >= 1 and value == int(value) else f"{value:,.4f}"
