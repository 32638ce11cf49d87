"""What a draw decides: releases that a point is ahead of by no more than what was drawn to measure them.

Workloads of queries and noise are drawn, and the measures that hang on them have intervals. Where intervals meet, which
release comes first is chance, and whoever chooses or asks is told so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sfumato.measures import MEASURES
from sfumato.tradeoff.map import Point


def not_told_apart(points: Iterable[Point], point: Point, axes: Sequence[str]) -> list[Point]:
    """List the releases that are not shown to be worse than a point: on no axis, as far as intervals tell.

    On an axis a release is worse where its whole interval is on the worse side of the point's; a measure without an
    interval is exact.
    """
    rivals = []
    for rival in points:
        if rival.id == point.id or rival.is_baseline or not rival.has(axes) or not point.has(axes):
            continue
        ahead = [_is_ahead(point, rival, name) for name in axes]
        if not any(by == "surely" for by in ahead) and "by chance" in ahead:
            rivals.append(rival)
    return rivals


def _is_ahead(point: Point, rival: Point, name: str) -> str:
    """Say whether a point is ahead of another by a measure: surely, by chance (their intervals meet), or not at all."""
    mine, theirs = ((each.intervals.get(name) or (each.measures[name],) * 2) for each in (point, rival))
    higher = MEASURES[name].better == "higher"
    if (mine[0] > theirs[1]) if higher else (mine[1] < theirs[0]):
        return "surely"
    by_value = point.measures[name] > rival.measures[name] if higher else point.measures[name] < rival.measures[name]
    return "by chance" if by_value else "no"
