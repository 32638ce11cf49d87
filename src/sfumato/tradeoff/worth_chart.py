"""The picture of Brickell & Shmatikov (2008): what a researcher gains from every release against what an adversary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from sfumato.tradeoff.chart import (
    LOOK,
    QUIET,
    baselines,
    dots,
    families,
    family,
    labels_of,
    ring,
    unchecked,
    verdict_marks,
)
from sfumato.tradeoff.map import Point
from sfumato.tradeoff.verdicts import VERDICTS, Verdicts, mark_of, worth_of

ACROSS = ["what an adversary gains, percentage points", "a_acc, lower is better"]
UPWARD = ["what a researcher gains, percentage points", "utility_gain, higher is better"]
ROOM = 0.07
"""The share of an axis that is left free at each end."""


def worth_rows(verdicts: Verdicts) -> list[dict[str, Any]]:
    """List what the chart shows of every compared point; gains in percentage points."""
    labels = labels_of(verdicts.known, lambda point: (worth_of(point)["adversary"], worth_of(point)["gain"]))
    return [_row(point) | {"label": labels.get(point.id, "")} for point in verdicts.known]


def _row(point: Point) -> dict[str, Any]:
    worth = worth_of(point)
    return {
        "id": point.id,
        "x": 100 * worth["adversary"],
        "y": 100 * worth["gain"],
        "low": 100 * worth["low"],
        "high": 100 * worth["high"],
        "family": family(point),
        "form": point.form,
        "frontier": True,
        "verdict": mark_of(point),
        "told": "" if point.is_baseline else VERDICTS[worth["verdict"]],
        "baseline": point.is_baseline,
    }


@unchecked
def worth_chart(verdicts: Verdicts) -> alt.TopLevelMixin:
    """Draw the researcher's gain with its interval against the adversary's, and where the two are equal."""
    rows = worth_rows(verdicts)
    across = _domain([row["x"] for row in rows])
    upward = _domain([row[end] for row in rows for end in ("low", "high")])
    axis, scale = alt.Axis(title=UPWARD, format=",~r"), alt.Scale(domain=upward, nice=False)
    x = alt.X("x:Q", axis=alt.Axis(title=ACROSS, format=",~r"), scale=alt.Scale(domain=across, nice=False))
    y, low = alt.Y("y:Q", axis=axis, scale=scale), alt.Y("low:Q", axis=axis, scale=scale)
    tooltip = [alt.Tooltip("told:N", title="worth"), alt.Tooltip("id:N")]
    base = alt.Chart(alt.NamedData("points")).encode(x=x, y=y, tooltip=tooltip)
    bars = base.mark_rule(color=QUIET, strokeWidth=1.3, tooltip=None).encode(y=low, y2="high:Q")
    layers = [
        *_guides(x, y, across, upward),
        bars,
        dots(base, families(verdicts.map_)),
        *baselines(base, "datum.y < 0"),
    ]
    drawn: alt.TopLevelMixin = (
        alt.layer(*layers, verdict_marks(base), ring(base), datasets={"points": rows})
        .add_params(alt.param(name="chosen", value=""))
        .properties(width=560, height=320)
        .configure(**LOOK)
    )
    return drawn


def _domain(values: Sequence[float]) -> list[float]:
    """Span the values and zero, with room at both ends."""
    low, high = min(0.0, *values), max(0.0, *values)
    room = ROOM * ((high - low) or 1.0)
    return [low - room, high + room]


def _guides(x: alt.X, y: alt.Y, across: list[float], upward: list[float]) -> list[alt.Chart]:
    """Draw where both gain the same, and where the researcher gains nothing."""
    start, end = max(across[0], upward[0]), min(across[1], upward[1])
    ends = [{"x": start, "y": start, "said": ""}, {"x": end, "y": end, "said": "equal gains"}]
    diagonal = alt.Chart(alt.InlineData(ends)).encode(x=x, y=y)
    nothing = alt.Chart(alt.InlineData([{"y": 0}])).mark_rule(color=QUIET, strokeDash=[4, 3], opacity=0.7)
    at_right = "scale('x', datum.x) > width / 2"
    named = diagonal.mark_text(
        align=alt.ExprRef(f"{at_right} ? 'right' : 'left'"),
        dx=alt.ExprRef(f"{at_right} ? -4 : 6"),
        dy=alt.ExprRef(f"{at_right} ? -8 : 8"),
        fontSize=11.5,
        fontStyle="italic",
        color=QUIET,
    )
    line = diagonal.mark_line(color=QUIET, strokeWidth=1.3, opacity=0.7)
    return [nothing.encode(y=y), line, named.encode(text="said:N")]
