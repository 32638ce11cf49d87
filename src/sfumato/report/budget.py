"""The section "What the budget bought": the score of a tuned map over time, and what was tried last with success."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import altair as alt

from sfumato.errors import BadInputError
from sfumato.pages import drawing
from sfumato.tradeoff import Map
from sfumato.tradeoff.chart import LOOK, QUIET
from sfumato.vega import as_svg

Step = tuple[float, float]
"""Seconds since the start, and the score from then on."""


def score_over_time(map_: Map) -> list[Step]:
    """Return the score after each candidate, in the order of trying; empty where nothing can be scored.

    It never rises: a further release can only take area from under the staircase.
    """
    steps: list[Step] = []
    tried = []
    for seconds, id in map_.about.get("tuning", {}).get("order", ()):
        tried.append(map_[id])
        try:
            steps.append((seconds, map_.score(tried)))
        except BadInputError:  # nothing measured on these axes, or all alike
            return []
    return steps


def tuning_content(map_: Map) -> dict[str, Any] | None:
    """Collect what the section says; None for a map without a budget, such as the public one."""
    steps = score_over_time(map_)
    if len(steps) < 2:
        return None
    added = map_.about["tuning"]["added"]
    untuned = len(steps) - added
    return {
        "added": added,
        "before": steps[untuned - 1][1] if untuned else 1.0,
        "after": steps[-1][1],
        "fell": max((right[0] for left, right in pairwise(steps) if right[1] < left[1]), default=None),
        "seconds": steps[-1][0],
        "chart": drawing(_chart(steps)),
    }


def _chart(steps: list[Step]) -> str:
    rows = [{"seconds": seconds, "score": score} for seconds, score in steps]
    drawn = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(interpolate="step-after", color=QUIET, strokeWidth=1.8)
        .encode(
            x=alt.X("seconds:Q", title="seconds since the start"),
            y=alt.Y("score:Q", title="score, lower is better", scale=alt.Scale(zero=False)),
        )
        .properties(width=620, height=170)
        .configure(**(LOOK | {"background": "transparent"}))
    )
    return as_svg(drawn.to_json())
