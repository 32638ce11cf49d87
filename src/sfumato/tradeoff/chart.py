"""The charts of a map as Vega-Lite specifications, made with Altair, for notebook, report and picture.

All marks read one named data set, `points`. The report replaces it when a user chooses other axes.

The worth chart follows Brickell & Shmatikov (2008): the researcher's gain from each release against the adversary's.

A picture needs no script and no network, so notebooks show it offline.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from math import ceil, floor, isfinite, log10
from textwrap import wrap
from typing import Any, ParamSpec, TypeVar

import altair as alt
from altair.utils.schemapi import debug_mode

from sfumato.config.documents import bundled_facts
from sfumato.measures.all_measures import MEASURES
from sfumato.runtime.arrays import RedactedRepr
from sfumato.texts.html import as_png, as_svg
from sfumato.tradeoff.comparison import VERDICTS, mark_of
from sfumato.tradeoff.limit import AXES
from sfumato.tradeoff.map import Map, Point

Given = ParamSpec("Given")
Built = TypeVar("Built")

COLORS = ["#4477aa", "#dd7744", "#3a9a6c", "#aa4488", "#999933", "#55a9bd", "#c2404f", "#7a6a58", "#7d6bb5"]
INK, QUIET, MIDDLE = "#26282b", "#62666b", "#85888c"
LOOK: dict[str, Any] = {**bundled_facts("chart", "tradeoff"), "view": {"stroke": None}}
FAMILIES = {"alpha-k": "(alpha, k)-anonymity"}
READING = "The line joins the releases that no other release beats on both measures; beaten releases are faded."
LIMIT_READING = "No truthful release of this table can be below the dashed line, the limit."
CROSS, STROKE = "M-1,-1L1,1M-1,1L1,-1", "M-1,1L1,-1"
"""SVG paths: over a release that is no better than the trivial sanitizations, and over one not shown to be better."""

LIMIT = "limit"
LINE = 120
"""Characters per line under the title."""

LOG_FROM = 100
"""Sizes and counts that span more than this factor are drawn on a logarithmic scale."""


def family(point: Point) -> str:
    """Return the family of a point for its colour: its requirement, or that it is a baseline."""
    if point.is_baseline:
        return "baseline"
    if point.family:
        return point.family
    if point.candidate.anonymizer.drawn_as:
        return point.candidate.anonymizer.drawn_as
    names = [part.strip().split(" ")[0] for part in point.requirement.split("&")]
    return " & ".join(FAMILIES.get(name, name) for name in names)


def requires_nothing(point: Point) -> bool:
    """Return whether a release has no requirement: the ends of a map, noisy releases and external ones."""
    return point.is_baseline or not point.is_grouped or point.candidate.anonymizer.external


def baseline_label(point: Point) -> str:
    """Return the label of a baseline; empty for a release."""
    return (point.family or point.candidate.anonymizer.in_words()) if point.is_baseline else ""


def families(map_: Map) -> list[str]:
    """List the families of a map without the baselines, in the order of the study."""
    return list(dict.fromkeys(family(point) for point in map_.points if not point.is_baseline))


def family_title(map_: Map) -> str:
    """Return the title of the legend: the requirements or the anonymizers of the families."""
    made_here = [point for point in map_.points if not (point.is_baseline or point.candidate.anonymizer.external)]
    return "anonymizer" if any(point.family for point in made_here) else "requirement"


def scale_of(map_: Map, name: str) -> str:
    """Return the scale of a measure: logarithmic if sizes or counts span orders of magnitude."""
    values = [point.measures[name] for point in map_.points if point.has((name,))]
    drawn = [value for value in values if isfinite(value)]
    return "log" if drawn and min(drawn) >= 1 and max(drawn) > LOG_FROM * min(drawn) else "linear"


def ticks_of(map_: Map, name: str) -> list[float] | None:
    """List the powers of ten of a logarithmic axis; Vega-Lite chooses the ticks of a linear one."""
    if scale_of(map_, name) == "linear":
        return None
    values = [value for p in map_.points if p.has((name,)) and isfinite(value := p.measures[name])]
    return [float(10**power) for power in range(floor(log10(min(values))), ceil(log10(max(values))) + 1)]


def rows(map_: Map, x: str, y: str) -> list[dict[str, Any]]:
    """List the points that have both measures, with the values that the chart shows."""
    frontier = {point.id for point in map_.frontier(x, y)}
    drawn = [point for point in map_.points if point.has((x, y)) and all(isfinite(point.measures[n]) for n in (x, y))]
    labels = labels_of(drawn, lambda point: (point.measures[x], point.measures[y]))
    return [
        {
            "id": point.id,
            "x": point.measures[x],
            "y": point.measures[y],
            **ends(point, x, y),
            "family": family(point),
            "form": point.form,
            "requirement": "" if requires_nothing(point) else point.requirement,
            "anonymizer": point.anonymizer,
            "frontier": point.id in frontier,
            "told": "" if point.worth is None or point.is_baseline else VERDICTS[point.worth["verdict"]],
            "baseline": point.is_baseline,
            "verdict": mark_of(point),
            "label": labels.get(point.id, ""),
        }
        for point in drawn
    ]


def ends(point: Point, x: str, y: str) -> dict[str, float]:
    """Return the smallest and largest value over the draws of a point; without draws, its values."""
    bounds: dict[str, float] = {}
    for axis, name in (("x", x), ("y", y)):
        low, high = point.intervals.get(name, (point.measures[name], point.measures[name]))
        bounds |= {f"{axis}1": low, f"{axis}2": high}
    return bounds


def labels_of(drawn: Sequence[Point], place: Callable[[Point], tuple[float, float]]) -> dict[str, str]:
    """Label the baselines by id; baselines at one place share the label of the first."""
    by_place: dict[tuple[float, float], list[Point]] = {}
    for point in drawn:
        if point.is_baseline:
            by_place.setdefault(place(point), []).append(point)
    return {points[0].id: ", ".join(map(baseline_label, points)) for points in by_place.values()}


def drawn_axes(map_: Map) -> tuple[str, str]:
    """Return the two initial axes: the study's, or the first measure of each kind if those are not measured."""
    x, y = axes = map_.study.axes[:2]
    if any(point.has(axes) for point in map_.points):
        return x, y
    known = [measure for measure in MEASURES.values() if any(measure.name in point.measures for point in map_.points)]
    across, upward = (
        next((measure.name for measure in known if measure.kind == kind), axis)
        for kind, axis in zip(("risk", "utility"), axes, strict=True)
    )
    return across, upward


def unchecked(build: Callable[Given, Built]) -> Callable[Given, Built]:
    """Build a chart without validating each part against Vega-Lite's schema; the tests validate all charts."""

    @wraps(build)
    def built(*given: Given.args, **named: Given.kwargs) -> Built:
        with debug_mode(False):
            return build(*given, **named)

    return built


def specification(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """Return the Vega-Lite specification of a chart."""
    values: dict[str, Any] = chart.to_dict(validate=False)
    return values


@unchecked
def map_chart(map_: Map, x: str | None = None, y: str | None = None, title: str | None = None) -> alt.TopLevelMixin:
    """Draw the points on two measures, and the frontier as a line through the nondominated points."""
    x, y = x or map_.study.axes[0], y or map_.study.axes[1]
    verdicts = map_.verdicts
    base = alt.Chart(alt.NamedData("points")).encode(
        x=alt.X("x:Q", axis=_axis(map_, x), scale=_scale(map_, x)),
        y=alt.Y("y:Q", axis=_axis(map_, y), scale=_scale(map_, y)),
        tooltip=[
            alt.Tooltip("anonymizer:N"),
            alt.Tooltip("requirement:N"),
            alt.Tooltip("form:N"),
            alt.Tooltip("x:Q", title=x, format=".4~g"),
            alt.Tooltip("y:Q", title=y, format=".4~g"),
            *([] if verdicts is None else [alt.Tooltip("told:N", title="worth")]),
            alt.Tooltip("id:N"),
        ],
    )
    chosen = alt.param(name="chosen", value="")
    name = title or f"{map_.study.name}: what each release risks and what it costs"
    marks = [] if verdicts is None else [verdict_marks(base)]
    floor = limit_rows(map_, x, y)
    notes = [map_.about.get("note", ""), "" if verdicts is None else verdicts.marks]
    reading = [READING, *([LIMIT_READING] if floor else []), *(line for note in notes for line in wrap(note, LINE))]
    spreads = intervals(base) if any(point.intervals for point in map_.points) else []
    below = limit_line(base) if floor else []
    kinds = families(map_)
    layers = [
        _line(base, x).add_params(chosen),
        *spreads,
        *([dots(base, kinds, family_title(map_))] if kinds else []),  # a legend of nothing has no size
        *baselines(base),
        *marks,
        ring(base),
        *below,
    ]
    return alt.layer(  # all at once, since every further step copies what there is
        *layers,
        width=680,
        height=440,
        title=alt.TitleParams(name, subtitle=reading, anchor="start", offset=16),
        config=alt.Config(**LOOK),
        datasets={"points": rows(map_, x, y)} | ({"limit": floor} if below else {}),
    )


def limit_rows(map_: Map, x: str, y: str) -> list[dict[str, Any]]:
    """List the vertices of the limit for two axes, one of them with its label; empty if no limit is proved."""
    if map_.limit is None or {x, y} != set(AXES):
        return []
    height = map_.limit.trivial / 6
    named = min(map_.limit.points, key=lambda vertex: abs(vertex[1] - height))
    return [
        {"x": p if x == AXES[0] else u, "y": u if x == AXES[0] else p, "label": LIMIT if (p, u) == named else ""}
        for p, u in map_.limit.points
    ]


def limit_line(base: alt.Chart) -> list[alt.Chart]:
    """Draw the limit as a labelled dashed line; no release can be below it."""
    layer = base.properties(data=alt.NamedData("limit"), name=LIMIT).encode(tooltip=alt.TooltipValue(None))
    line = layer.mark_line(color=INK, strokeWidth=1.3, strokeDash=[5, 4], opacity=0.8)
    label = layer.properties(name=f"{LIMIT} label").mark_text(
        align="right", dx=-7, dy=11, fontSize=11.5, fontStyle="italic", color=INK
    )
    return [line, label.encode(text="label:N")]


def intervals(base: alt.Chart) -> list[alt.Chart]:
    """Draw the range of the draws of a noisy release along both axes."""
    rule = base.transform_filter("datum.x1 !== datum.x2 || datum.y1 !== datum.y2").mark_rule(
        color=QUIET, strokeWidth=1, opacity=0.7, tooltip=None
    )
    across = rule.encode(x=alt.X("x1:Q"), x2=alt.X2("x2"), y=alt.Y("y:Q"))
    upward = rule.encode(x=alt.X("x:Q"), y=alt.Y("y1:Q"), y2=alt.Y2("y2"))
    return [across, upward]


def axis_title(name: str) -> list[str]:
    """Return the title of an axis: the measure and its better direction."""
    measure = MEASURES[name]
    return [measure.meaning, f"{name}, {measure.better} is better"]


def step(better: str) -> str:
    """Return the Vega-Lite interpolation of the frontier: at the level of the horizontally better point."""
    return "step-after" if better == "lower" else "step-before"


def _axis(map_: Map, name: str) -> alt.Axis:
    ticks = ticks_of(map_, name)
    return alt.Axis(title=axis_title(name), format=",~r", values=alt.Undefined if ticks is None else ticks)


def _scale(map_: Map, name: str) -> alt.Scale:
    if scale_of(map_, name) == "log":
        return alt.Scale(type="log", nice=False, padding=26)
    return alt.Scale(type="linear", nice=False, padding=26, zero=True)


def _line(base: alt.Chart, x: str) -> alt.Chart:
    drawn: alt.Chart = base.transform_filter("datum.frontier").mark_line(
        interpolate=step(MEASURES[x].better),  # type: ignore[arg-type]
        color=QUIET,
        strokeWidth=1.5,
        opacity=0.55,
        tooltip=None,
    )
    return drawn


def dots(base: alt.Chart, known: list[str], title: str = "requirement") -> alt.Chart:
    """Draw the releases, coloured by requirement and shaped by form; faded where `frontier` is false."""
    drawn: alt.Chart = base.mark_point(filled=True, cursor="pointer").encode(
        size=_sizes("datum.baseline ? 0 : 80"),
        color=alt.Color("family:N", title=title, scale=alt.Scale(domain=known, range=COLORS)),
        shape=alt.Shape(
            "form:N",
            legend=alt.Legend(title="|  form", symbolFillColor=MIDDLE, symbolStrokeColor=MIDDLE, symbolSize=80)
            if title == "requirement"
            else None,
            scale=alt.Scale(domain=["generalization", "bucketization"], range=["circle", "triangle-up"]),
        ),
        opacity=alt.condition("datum.frontier", alt.value(1), alt.value(0.45)),
    )
    return drawn


def baselines(base: alt.Chart, below: str = "scale('y', datum.y) > height / 2") -> list[alt.Chart]:
    """Draw the trivial releases and the original as diamonds with labels; `below` is true where the label is below."""
    marks = base.mark_point(shape="diamond", filled=False, color=INK, strokeWidth=1.6, opacity=1, cursor="pointer")
    labels = base.mark_text(
        align=alt.ExprRef("scale('x', datum.x) > width / 2 ? 'right' : 'left'"),
        dx=alt.ExprRef("scale('x', datum.x) > width / 2 ? 7 : -7"),
        dy=alt.ExprRef(f"{below} ? 17 : -16"),
        fontSize=11.5,
        fontStyle="italic",
        color=INK,
    ).encode(text="label:N")
    return [marks.encode(size=_sizes("datum.baseline ? 130 : 0")), labels]


def verdict_marks(base: alt.Chart) -> alt.Chart:
    """Draw a cross over each release that is no better than the trivial ones, a stroke over each not shown to be."""
    drawn: alt.Chart = base.mark_point(
        shape=alt.ExprRef(f"datum.verdict === 'no better' ? '{CROSS}' : '{STROKE}'"),
        filled=False,
        color=INK,
        strokeWidth=1.3,
        opacity=1,
        cursor="pointer",
    ).encode(size=_sizes("datum.verdict ? 190 : 0"))
    return drawn


def ring(base: alt.Chart) -> alt.Chart:
    """Draw a ring around the chosen point."""
    rings = base.mark_point(filled=False, color=INK, strokeWidth=2, tooltip=None)
    drawn: alt.Chart = rings.encode(size=_sizes("datum.id === chosen ? 330 : 0"))
    return drawn


def _sizes(expression: str) -> alt.SizeValue:
    """Set the size of each mark; 0 hides it in a layer, so that all layers have the same domain."""
    return alt.SizeValue(alt.ExprRef(expression))


SHARPNESS = 2
"""Pixels of the picture per point of the chart."""


@dataclass(frozen=True, repr=False)
class Picture(RedactedRepr):
    """A drawn chart, as its Vega-Lite specification."""

    specification: str

    def png(self) -> bytes:
        """Return the picture as a PNG."""
        return as_png(self.specification, SHARPNESS)

    def svg(self) -> str:
        """Return the picture as an SVG."""
        return as_svg(self.specification)

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the notebook display, in the size of the chart."""
        image = self.png()
        width = int.from_bytes(image[16:20], "big") // SHARPNESS  # where a PNG says how wide it is
        data = {"image/png": b64encode(image).decode("ascii"), "text/plain": repr(self)}
        return data, {"image/png": {"width": width}}


def picture(map_: Map, x: str | None = None, y: str | None = None) -> Picture:
    """Draw a map on two measures, by default the initial axes."""
    usual = drawn_axes(map_)
    return Picture(json.dumps(specification(map_chart(map_, x or usual[0], y or usual[1]))))
