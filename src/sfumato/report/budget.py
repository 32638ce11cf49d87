"""The section "What the budget bought": the score of a tuned map over time, and what was tried last with success."""

from __future__ import annotations

from html import escape
from itertools import pairwise

import altair as alt

from sfumato.drawing import as_svg
from sfumato.errors import BadInputError
from sfumato.phrases import counted
from sfumato.tradeoff import Map
from sfumato.tradeoff.chart import LOOK, QUIET

Step = tuple[float, float]
"""Seconds since the start, and the score from then on."""


def score_over_time(shown: Map) -> list[Step]:
    """Return the score after each candidate, in the order of trying; empty where nothing can be scored.

    It never rises: a further release can only take area from under the staircase.
    """
    steps: list[Step] = []
    tried = []
    for seconds, id in shown.about.get("tuning", {}).get("order", ()):
        tried.append(shown[id])
        try:
            steps.append((seconds, shown.score(tried)))
        except BadInputError:  # nothing measured on these axes, or all alike
            return []
    return steps


def tuning_section(shown: Map) -> str:
    """Write the section; empty for a map without a budget, such as the public one."""
    steps = score_over_time(shown)
    if len(steps) < 2:
        return ""
    tuning = shown.about["tuning"]
    own = len(steps) - tuning["added"]
    before = steps[own - 1][1] if own else 1.0
    told = (
        f"After the study's own candidates the score was {before:.4f}; {counted(tuning['added'], 'further release')} "
        f"brought it to {steps[-1][1]:.4f} (lower is better). {_latest(steps)} The same command with a larger budget "
        "goes on from here."
    )
    text = f"<h2>What the budget bought</h2><p>{escape(told)}</p>"
    return f'<section id="tuning">{text}<figure>{_chart(steps)}</figure></section>'


def _latest(steps: list[Step]) -> str:
    """Say when the score last fell: whether more time is likely to help."""
    fell = [right[0] for left, right in pairwise(steps) if right[1] < left[1]]
    if not fell:
        return "Nothing that was tried lowered it."
    return f"It last fell {fell[-1]:.0f} seconds after the start, of {steps[-1][0]:.0f}."


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
