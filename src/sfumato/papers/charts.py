"""The figures of a reproduction as charts: curves with the paper's points as crosses, bars, or a scatter matrix."""

from itertools import cycle
from typing import Any

import altair as alt

from sfumato.papers.claims import Figure, Inset

PALETTE = ["#2f6f9f", "#c8702b", "#3d8b5f", "#9b4a7a", "#6b6b6b", "#a38a2d", "#4f9aa8", "#b04a4a"]
PALETTE += ["#7d6bb5", "#d8a03c", "#7fb069", "#c98bb0"]
SHAPES = ["circle", "square", "triangle-up", "diamond", "triangle-down", "triangle-right", "triangle-left"]
"""The marks of series, so that they are told apart without colours; crosses are the paper's."""

MOST_LABELS = 14
"""The most points of a curve whose parameters are printed beside them."""

INK = "#222"
"""The colour of the paper's own points and of the limit."""

WIDTH, HEIGHT = 560, 360
INSET = (0.25, 0.26)
"""Width and height of an inset, as shares of the figure."""

RING = 14
"""The diameter in pixels of a ring around a point."""


def draw(figure: Figure) -> alt.TopLevelMixin:
    """Draw a figure as bars, as a scatter matrix or as curves."""
    if figure.matrix:
        return draw_matrix(figure)
    return draw_bars(figure) if figure.bars else draw_curves(figure)


def draw_matrix(figure: Figure) -> alt.TopLevelMixin:
    """Draw a scatter matrix: every value against every other one, and histograms on the diagonal."""
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
    """Draw a figure of bars: for each name one bar of each curve, side by side."""
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
    """Return the horizontal axis; around 0 a symlog scale has no good default ticks."""
    if figure.whole:
        return alt.X("x:Q", title=figure.x, axis=_counting(figure, "x"))
    if figure.x_scale != "symlog":
        apart = alt.Axis(labelOverlap=True, labelSeparation=8)
        around = RING if figure.encircled else alt.Undefined  # keeps a ring at the end clear of the axis
        return alt.X("x:Q", title=figure.x, scale=alt.Scale(type=figure.x_scale, padding=around), axis=apart)
    ticks = [0, *(digit * power for power in (0.01, 0.1, 1.0, 10.0, 100.0) for digit in (1, 2, 5))]
    return alt.X(
        "x:Q", title=figure.x, scale=alt.Scale(type="symlog", constant=0.02), axis=alt.Axis(values=ticks, format="~r")
    )


def _y(figure: Figure) -> alt.Y:
    if figure.whole:
        return alt.Y("y:Q", title=figure.y, axis=_counting(figure, "y"))
    return alt.Y(
        "y:Q", title=figure.y, scale=alt.Scale(type=figure.y_scale, zero=alt.Undefined if figure.zero else False)
    )


def _counting(figure: Figure, name: str) -> alt.Axis:
    """Return the axis of a count: whole numbers, at most about ten ticks."""
    values = [point[name] for points in (*(curve.points for curve in figure.curves), figure.paper) for point in points]
    low, high = int(min(values, default=0)), int(max(values, default=1))
    steps = (digit * 10**power for power in range(9) for digit in (1, 2, 5))
    step = next(step for step in steps if (high - low) / step <= 10)
    return alt.Axis(values=list(range(low - low % step, high + step, step)), format=",d")


def draw_curves(figure: Figure) -> alt.TopLevelMixin:
    """Draw a figure: our curves, the paper's points as crosses, rings around points, insets."""
    x, y = _x(figure), _y(figure)
    chart = alt.layer(*_series(figure, x, y), *_named(figure, x, y))
    if figure.insets:
        leading = [_leading(inset, x, y) for inset in figure.insets]
        insets = [_inset(inset) for inset in figure.insets]
        chart = alt.layer(chart + alt.layer(*leading), *insets).resolve_scale(x="independent", y="independent")
    drawn: alt.TopLevelMixin = chart.properties(width=WIDTH, height=HEIGHT, title=figure.title)
    return drawn


def _series(figure: Figure, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """Draw the curves: lines, marks, and dashed lines."""
    rows = [
        {"label": curve.label, **point, "order": i, "line": curve.line, "marks": curve.marks, "ink": curve.opacity}
        for curve in figure.curves
        for i, point in enumerate(sorted(curve.points, key=lambda point: float(point["x"])))
    ]
    marked = {curve.label: curve.marks for curve in figure.curves}
    colors = [next_color if marks else INK for marks, next_color in zip(marked.values(), cycle(PALETTE), strict=False)]
    scale = alt.Scale(domain=list(marked), range=colors)
    color = alt.Color("label:N", title=None, scale=scale, legend=alt.Legend(labelLimit=0, symbolOpacity=1))
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, y=y, color=color)
    drawn = [shape for shape, _ in zip(cycle(SHAPES), marked, strict=False)]
    shape = alt.Shape("label:N", title=None, scale=alt.Scale(domain=list(marked), range=drawn))
    marks = base.transform_filter("datum.marks").mark_point(filled=True, size=50).encode(shape=shape)
    layers = [
        base.mark_line(strokeWidth=1.5, opacity=0.8)
        .encode(order="order:Q")
        .transform_filter("datum.line && datum.marks"),
        marks.encode(opacity=alt.Opacity("ink:Q", scale=None, legend=None)),
    ]
    if all(len(curve.points) <= MOST_LABELS or not curve.marks for curve in figure.curves):
        named = base.transform_filter("datum.marks && isNumber(datum.parameter)")
        layers.append(named.mark_text(fontSize=8, dx=4, dy=7, align="left").encode(text="parameter:Q"))
    if not all(curve.marks for curve in figure.curves):
        layers.append(base.transform_filter("!datum.marks").mark_line(strokeDash=[5, 4]).encode(order="order:Q"))
    return layers


def _named(figure: Figure, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """Draw rings around our points, and the paper's points as crosses."""
    layers = []
    if figure.encircled:
        rings = alt.Chart(alt.InlineData(values=list(figure.encircled))).encode(x=x, y=y)
        layers.append(rings.mark_point(shape="circle", size=260, filled=False, color=INK, strokeWidth=1.2))
    if figure.paper:
        crosses = alt.Chart(alt.InlineData(values=list(figure.paper))).encode(x=x, y=y)
        layers.append(crosses.mark_point(shape="cross", size=120, color=INK, filled=True))
        words = crosses.encode(text="label:N")
        layers.append(
            words.mark_text(dx=9, dy=-9, align="left", stroke="white", strokeWidth=4)
        )  # legible on points, too
        layers.append(words.mark_text(dx=9, dy=-9, align="left", color=INK))
    return layers


def _corners(inset: Inset) -> tuple[float, float, float, float]:
    """Return left, right, lower and upper end of an inset, in pixels from the upper left corner of its figure."""
    left, low = inset.place
    return left * WIDTH, (left + INSET[0]) * WIDTH, (1 - low) * HEIGHT, (1 - low - INSET[1]) * HEIGHT


def _leading(inset: Inset, x: alt.X, y: alt.Y) -> alt.Chart:
    """Draw the line from a point to its inset."""
    left, right, low, high = _corners(inset)
    rule = alt.Chart(alt.InlineData(values=[dict(inset.point)])).mark_rule(color=INK, strokeDash=[3, 3])
    led: alt.Chart = rule.encode(x=x, y=y, x2=alt.value((left + right) / 2), y2=alt.value((low + high) / 2))
    return led


def _inset(inset: Inset) -> Any:
    """Draw a small plot with its own axes on white ground; its x is logarithmic for group sizes."""
    left, right, low, high = _corners(inset)
    ground = alt.Chart(alt.InlineData(values=[{}])).mark_rect(fill="white", stroke="#bbb")
    ends = {
        "x": alt.value(left - 46),
        "x2": alt.value(right + 12),
        "y": alt.value(high - 20),
        "y2": alt.value(low + 34),
    }
    small: dict[str, Any] = {
        "labelFontSize": 8,
        "titleFontSize": 9,
        "titleFontWeight": "normal",
        "grid": False,
        "tickCount": 4,
        "zindex": 1,
    }
    across = alt.Axis(orient="bottom", offset=low - HEIGHT, labelOverlap=True, format="~s", **small)
    up = alt.Axis(orient="left", offset=-left, format="~%", **small)
    steps = alt.Chart(alt.InlineData(values=list(inset.curve.points)))
    drawn = steps.mark_line(color=PALETTE[1], strokeWidth=1.5, interpolate="step-after").encode(
        x=alt.X("x:Q", title=inset.x, scale=alt.Scale(type="log", range=[left, right]), axis=across),
        y=alt.Y("y:Q", title=inset.y, scale=alt.Scale(domain=[0, 1], range=[low, high]), axis=up),
    )
    label = alt.Chart(alt.InlineData(values=[{}])).mark_text(
        fontSize=10, align="center", color=INK, text=inset.curve.label
    )
    titled = label.encode(x=alt.value((left + right) / 2), y=alt.value(high - 9))
    return alt.layer(ground.encode(**ends), drawn, titled)
