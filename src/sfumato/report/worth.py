"""The section "Is it worth it?" of the report: what was asked, what the trivial sanitizations give, and every verdict.

It is there only where a column was learned. Its intervals are facts of single folds, so the public page is without it.
"""

from __future__ import annotations

from html import escape
from typing import Any

from sfumato.phrases import counted, percent
from sfumato.tradeoff import Map, Point
from sfumato.tradeoff.verdicts import VERDICTS, Verdicts, worth_of
from sfumato.tradeoff.worth_chart import worth_chart
from sfumato.words import verdicts as words
from sfumato.words.points import settings
from sfumato.words.verdicts import INTERVAL, signed, unsigned

AT_FIRST = 12
"""Rows that are in sight at once; the others unfold."""

REFERENCES = {
    "without-quasi": "trivial sanitization",
    "without-sensitive": "trivial sanitization",
    "original": "no release, to compare with",
}
KINDS = {"better": "good", "no better": "bad", "not shown": "open"}
RIGHT, GAIN, ADVERSARY = "Right answers", "Gain<br>percentage points", "Adversary&#39;s gain<br>percentage points"
MINUS = "\u2212"
CAPTION = (
    "Upward: what a researcher gains in accuracy beyond the better trivial sanitization, with its interval. Across: "
    "what an adversary gains. Left of the slanted line the researcher gains more than the adversary, right of it less; "
    "below the dashed line a trivial sanitization is better. Colours, shapes and marks are those of the map."
)


def worth_section(shown: Map) -> str:
    """Write the section as HTML; nothing where no column was learned."""
    verdicts = shown.verdicts
    if verdicts is None:
        return ""
    asked = f"<p>{escape(words.question(verdicts))}</p><p>{escape(words.reach(verdicts))}</p>"
    answer = f'<p class="answer">{escape(words.tally(verdicts))} {escape(words.best(verdicts))}</p>'
    beside = f"<p>{escape(words.adversaries(verdicts))}</p>" if words.adversaries(verdicts) else ""
    figure = (
        '<figure class="worth"><div id="worth-chart" role="img" aria-label="Researcher\'s gain against adversary\'s '
        f'gain"></div><figcaption>{escape(CAPTION)}</figcaption></figure>'
        if verdicts.has_adversary
        else ""
    )
    notes = f'<p class="quiet">{escape(words.by_chance())}</p>'
    return (
        f'<section id="worth"><h2>Is it worth it?</h2>{asked}{answer}{beside}{figure}'
        f"{_tables(verdicts)}{notes}</section>"
    )


def worth_content(shown: Map) -> dict[str, Any] | None:
    """Collect what the page's script needs: the chart, what its marks mean, and what is said of every point."""
    verdicts = shown.verdicts
    if verdicts is None:
        return None
    spec = None
    if verdicts.has_adversary:
        spec = worth_chart(verdicts).to_dict()
        spec |= {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
        spec["config"] |= {"background": None, "padding": 4}
    return {"spec": spec, "marks": verdicts.marks}


def worth_of_point(shown: Map, point: Point) -> dict[str, Any] | None:
    """Say what one point is worth, for its panel and its tooltip."""
    verdicts = shown.verdicts
    if verdicts is None or point.worth is None:
        return None
    told = "" if point.is_baseline else VERDICTS[point.worth["verdict"]]
    return {**point.worth, "told": told, "said": words.sentence(verdicts, point)}


def _tables(verdicts: Verdicts) -> str:
    """List the releases, the largest gain first, then what they are compared with."""
    references = [point for point in verdicts.known if point.is_baseline]
    first, rest = verdicts.releases[:AT_FIRST], verdicts.releases[AT_FIRST:]
    table = _table(verdicts, [*first, *references])
    if not rest:
        return table
    return (
        f"{table}<details><summary>The other {counted(len(rest), 'release')}, with smaller gains</summary>"
        f"{_table(verdicts, rest)}</details>"
    )


def _table(verdicts: Verdicts, points: list[Point]) -> str:
    heads = [("Release", ""), (RIGHT, "number"), (f"{GAIN}<br>({INTERVAL})", "number")]
    heads += [(ADVERSARY, "number")] if verdicts.has_adversary else []
    head = "".join(f'<th class="{kind}">{text}</th>' for text, kind in [*heads, ("Verdict", "")])
    rows = "".join(_row(point, verdicts.has_adversary) for point in points)
    return (
        f'<div class="wide"><table class="verdicts"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _row(point: Point, has_adversary: bool) -> str:
    own, id = worth_of(point), escape(point.id)
    low, gain, high = (signed(own[name]).replace("-", MINUS) for name in ("low", "gain", "high"))
    is_base = point.anonymizer == own["base"]
    between = "" if is_base else f' <span class="quiet">({low} to {high})</span>'
    name = f'<button class="link" type="button" data-point="{id}">{escape(settings(point))}</button>'
    numbers = _number(RIGHT, percent(own["accuracy"])) + _number(GAIN, f"<b>{gain}</b>{between}")
    numbers += _number(ADVERSARY, unsigned(own["adversary"]).replace("-", MINUS)) if has_adversary else ""
    kind, told = KINDS[own["verdict"]], VERDICTS[own["verdict"]]
    if point.is_baseline:
        kind, told = "quiet", REFERENCES[point.anonymizer] + (", the better one" if is_base else "")
    return (
        f'<tr data-id="{id}"><td>{name}<br><code>{id}</code></td>{numbers}<td class="{kind}">{escape(told)}</td></tr>'
    )


def _number(name: str, html: str) -> str:
    """Write a cell that knows its column's name, which narrow pages show beside it."""
    label = name.replace("<br>", ", ")
    return f'<td class="number" data-label="{label}">{html}</td>'
