"""What a reproduction says: claims of the paper with our number beside theirs, and the figures as series.

A claim holds or differs over some range (`tested_over`: which parameters, which stretch of an axis). Where no release
is in the range, it is not tested (`holds` is None), which for a required claim is as bad as not holding: a curve that
never gets there cannot confirm anything. `all_of` judges many comparisons that way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any, Literal

import altair as alt

from sfumato.plain import json_text

Progress = Callable[[int, int, str], None]
"""Told after every step: how many are done, of how many, and which was the last."""

PALETTE = ["#2f6f9f", "#c8702b", "#3d8b5f", "#9b4a7a", "#6b6b6b", "#a38a2d", "#4f9aa8", "#b04a4a"]
PALETTE += ["#7d6bb5", "#d8a03c", "#7fb069", "#c98bb0"]
INK = "#222"
"""What is no series of releases: the paper's own points, the limit."""


@dataclass(frozen=True)
class Claim:
    """One statement of a paper, what it says there, what comes out here."""

    id: str
    claim: str
    paper: Any
    ours: Any
    holds: bool | None
    """None: not tested, since nothing is in the range that the claim speaks of."""

    status: str = "required"
    """required: the reproduction fails without it; reported: told with our number and the likely reason."""

    reason: str | None = None
    tested_over: str | None = None
    """The range over which the claim was tested, where it is not the whole of what the claim names."""

    @property
    def verdict(self) -> Literal["holds", "differs", "not tested"]:
        """What came of it, in a word."""
        return "not tested" if self.holds is None else "holds" if self.holds else "differs"

    def content(self) -> dict[str, Any]:
        """Return what stands in `results.json`."""
        return {**asdict(self), "verdict": self.verdict}


def reported(
    id: str,
    claim: str,
    paper: Any,
    ours: Any,
    holds: bool | None,
    reason: str | None = None,
    tested_over: str | None = None,
) -> Claim:
    """Make a claim of which nothing depends: it is told with our number and the likely reason."""
    return Claim(id, claim, paper, ours, holds, "reported", reason, tested_over)


def all_of(comparisons: Iterable[bool | None]) -> bool | None:
    """Say whether all comparisons hold: no where one does not, None where one was not tested or there are none."""
    answers = list(comparisons)
    if False in answers:
        return False
    return None if not answers or None in answers else True


@dataclass(frozen=True)
class Curve:
    """One line of a figure: a label and its points (x, y, and the parameter that made them)."""

    label: str
    points: Sequence[Mapping[str, Any]]
    line: bool = True
    """Whether a line joins the points."""

    marks: bool = True
    """Whether each point is marked; a line that is no series of releases is dashed and has no marks."""


@dataclass(frozen=True)
class Figure:
    """A figure of the paper, drawn with our points."""

    name: str
    title: str
    x: str
    y: str
    curves: Sequence[Curve]
    paper: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    """Points that the paper's text names, drawn as crosses."""

    x_scale: Literal["linear", "log", "symlog"] = "linear"
    """How x is drawn; symlog is logarithmic but for a stretch around 0."""

    y_scale: Literal["linear", "log"] = "linear"
    bars: bool = False
    """Whether x are names, side by side, each with a bar for every curve."""

    matrix: Sequence[str] = ()
    """Names of values of which every two are drawn against each other, instead of x and y."""


@dataclass(frozen=True)
class Results:
    """Everything a reproduction found."""

    paper: str
    claims: Sequence[Claim]
    figures: Sequence[Figure]
    more: Mapping[str, Any] = field(default_factory=dict)
    """What else stands in `results.json`, by key."""

    @property
    def holds(self) -> bool:
        """Whether every required claim was tested and holds."""
        return all(claim.holds is True for claim in self.claims if claim.status == "required")

    def write(self, folder: Path) -> list[Path]:
        """Write `results.json` and one picture per figure."""
        folder.mkdir(parents=True, exist_ok=True)
        content = {
            "paper": self.paper,
            "claims": [claim.content() for claim in self.claims],
            "figures": {figure.name: [asdict(curve) for curve in figure.curves] for figure in self.figures},
            **self.more,
        }
        written = [folder / "results.json"]
        written[0].write_text(json_text(content), encoding="utf-8")
        for figure in self.figures:
            path = folder / f"figure-{figure.name}.png"
            draw(figure).save(str(path), format="png", scale_factor=2)
            written.append(path)
        return written


def draw(figure: Figure) -> alt.TopLevelMixin:
    """Draw a figure as bars, as a scatter matrix or as curves."""
    if figure.matrix:
        return draw_matrix(figure)
    return draw_bars(figure) if figure.bars else draw_curves(figure)


def draw_matrix(figure: Figure) -> alt.TopLevelMixin:
    """Draw a scatter matrix: every value against every other, and on the diagonal how often it occurs."""
    rows = [{"label": curve.label, **point} for curve in figure.curves for point in curve.points]
    base = alt.Chart(alt.InlineData(values=rows)).properties(width=190, height=150)
    lines = []
    for down in figure.matrix:
        line: list[alt.Chart] = []
        for across in figure.matrix:
            if across == down:
                counted = base.mark_bar(color=PALETTE[4])
                x = alt.X(f"{across}:Q", bin=alt.Bin(maxbins=24), title=across)
                line.append(counted.encode(x=x, y=alt.Y("count()", title="points")))
            else:
                points = base.mark_point(filled=True, size=12, opacity=0.6, color=PALETTE[0])
                line.append(points.encode(x=alt.X(f"{across}:Q", title=across), y=alt.Y(f"{down}:Q", title=down)))
        lines.append(alt.hconcat(*line))
    drawn: alt.TopLevelMixin = alt.vconcat(*lines).properties(title=figure.title)
    return drawn


def draw_bars(figure: Figure) -> alt.TopLevelMixin:
    """Draw a figure of bars: for every name one bar of every curve, side by side."""
    rows = [{"label": curve.label, **point} for curve in figure.curves for point in curve.points]
    labels = [curve.label for curve in figure.curves]
    names = list(dict.fromkeys(row["x"] for row in rows))
    chart = alt.Chart(alt.InlineData(values=rows)).mark_bar()
    drawn: alt.TopLevelMixin = chart.encode(
        x=alt.X("x:N", title=figure.x or None, sort=names, axis=alt.Axis(labelAngle=-40, labelLimit=220)),
        xOffset=alt.XOffset("label:N", sort=labels),
        y=alt.Y("y:Q", title=figure.y),
        color=alt.Color(
            "label:N",
            title=None,
            scale=alt.Scale(domain=labels, range=PALETTE[: len(labels)]),
            legend=alt.Legend(orient="top", labelLimit=0),
        ),
    ).properties(width=max(46 * len(names), 300), height=300, title=figure.title)
    return drawn


def _x(figure: Figure) -> alt.X:
    """Lay the horizontal axis out; around 0 a symlog scale finds no good ticks of its own."""
    if figure.x_scale != "symlog":
        return alt.X("x:Q", title=figure.x, scale=alt.Scale(type=figure.x_scale))
    ticks = [0, *(digit * power for power in (0.01, 0.1, 1.0, 10.0, 100.0) for digit in (1, 2, 5))]
    return alt.X(
        "x:Q", title=figure.x, scale=alt.Scale(type="symlog", constant=0.02), axis=alt.Axis(values=ticks, format="~r")
    )


def draw_curves(figure: Figure) -> alt.TopLevelMixin:
    """Draw a figure: our curves, and the points that the paper's text names as crosses."""
    rows = [
        {"label": curve.label, **point, "order": i, "line": curve.line, "marks": curve.marks}
        for curve in figure.curves
        for i, point in enumerate(sorted(curve.points, key=lambda point: float(point["x"])))
    ]
    labels = [curve.label for curve in figure.curves]
    x = _x(figure)
    y = alt.Y("y:Q", title=figure.y, scale=alt.Scale(type=figure.y_scale))
    colors = [
        next_color if curve.marks else INK for curve, next_color in zip(figure.curves, cycle(PALETTE), strict=False)
    ]
    legend = alt.Legend(labelLimit=0)
    color = alt.Color("label:N", title=None, scale=alt.Scale(domain=labels, range=colors), legend=legend)
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, y=y, color=color)
    joined = base.mark_line(strokeWidth=1.5, opacity=0.8).encode(order="order:Q")
    layers: list[Any] = [
        joined.transform_filter("datum.line && datum.marks"),
        base.transform_filter("datum.marks").mark_point(filled=True, size=45, opacity=1),
    ]
    if not all(curve.marks for curve in figure.curves):
        layers.append(base.transform_filter("!datum.marks").mark_line(strokeDash=[5, 4]).encode(order="order:Q"))
    if figure.paper:
        named = alt.Chart(alt.InlineData(values=list(figure.paper))).encode(x=x, y=y)
        layers.append(named.mark_point(shape="cross", size=120, color=INK, filled=True))
        layers.append(named.mark_text(dx=9, dy=-9, align="left", color=INK).encode(text="label:N"))
    return alt.layer(*layers).properties(width=560, height=360, title=figure.title)
