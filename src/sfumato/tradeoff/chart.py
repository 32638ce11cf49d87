"""How a map is drawn: one Altair chart for notebook, report and picture."""

from __future__ import annotations

from typing import Any

import altair as alt

from sfumato.measures import MEASURES
from sfumato.tradeoff.map import Map, Point

COLORS = ["#2f6f9f", "#c8702b", "#3d8b5f", "#9b4a7a", "#6b6b6b", "#a38a2d"]
FAMILIES = {
    "k-anonymity": "k-anonymity",
    "l-diversity": "l-diversity",
    "t-closeness": "t-closeness",
    "delta-disclosure": "delta-disclosure",
    "beta-likeness": "beta-likeness",
    "alpha-k": "(alpha,k)-anonymity",
}


def family(point: Point) -> str:
    """Name what a point is drawn as: its requirement, or that it is a baseline."""
    if point.is_baseline:
        return "baseline"
    names = [part.strip().split(" ")[0] for part in point.requirement.split("&")]
    return " & ".join(FAMILIES.get(name, name) for name in names)


def rows(shown: Map, x: str, y: str) -> list[dict[str, Any]]:
    """List the measured points with what a chart shows of them."""
    frontier = {point.id for point in shown.frontier(x, y)}
    return [
        {
            "id": point.id,
            "x": point.measures[x],
            "y": point.measures[y],
            "family": family(point),
            "form": point.form,
            "requirement": point.requirement if not point.is_baseline else "",
            "anonymizer": point.anonymizer,
            "frontier": point.id in frontier,
        }
        for point in shown.points
        if point.has((x, y)) and all(abs(point.measures[name]) < float("inf") for name in (x, y))
    ]


def map_chart(shown: Map, x: str | None = None, y: str | None = None, title: str | None = None) -> alt.TopLevelMixin:
    """Draw the points on two measures and the frontier as a line through the points nobody beats."""
    x, y = x or shown.study.axes[0], y or shown.study.axes[1]
    data = rows(shown, x, y)
    base = alt.Chart(alt.InlineData(values=data))
    axes = {"x": alt.X("x:Q", title=axis_title(x)), "y": alt.Y("y:Q", title=axis_title(y))}
    line = (
        alt.Chart(alt.InlineData(values=[row for row in data if row["frontier"]]))
        .mark_line(interpolate="step-after", color="#b9b4a8", strokeWidth=2)
        .encode(**axes)
    )
    dots = base.mark_point(filled=True, size=70, opacity=0.9).encode(
        **axes,
        color=alt.Color("family:N", title=None, scale=alt.Scale(range=COLORS)),
        shape=alt.Shape("form:N", title=None),
        tooltip=[
            alt.Tooltip("anonymizer:N"),
            alt.Tooltip("requirement:N"),
            alt.Tooltip("form:N"),
            alt.Tooltip("x:Q", title=x, format=".4f"),
            alt.Tooltip("y:Q", title=y, format=".4f"),
            alt.Tooltip("id:N"),
        ],
    )
    name = title or f"{shown.study.name}: what each release risks and what it costs"
    return alt.layer(line, dots).properties(width=620, height=400, title=name)


def axis_title(name: str) -> str:
    """Say what an axis shows and which way is better."""
    measure = MEASURES[name]
    return f"{name}: {measure.meaning} ({measure.better} is better)"
