"""The section "Do the axes agree?" of the report: releases that look good by one measure and bad by another.

The public page has it too, from its own rounded measures.
"""

from __future__ import annotations

from html import escape
from itertools import groupby

from sfumato.tradeoff import Map
from sfumato.words import disagreements as words
from sfumato.words.points import settings


def agreeing_section(shown: Map) -> str:
    """Write the section as HTML; nothing where there are too few releases to rank."""
    own = shown.disagreements
    if own is None or not own.compared:
        return ""
    told = f"<p>{escape(words.readers(own))}</p>" if words.readers(own) else ""
    items = "".join(
        f'<li><button class="link" type="button" data-point="{escape(id)}">{escape(settings(shown[id]))}</button> '
        f"<code>{escape(id)}</code>: {escape(' '.join(map(words.sentence, found)))}</li>"
        for id, found in groupby(own.on_frontier, key=lambda each: each.point.id)
    )
    listing = f"<ul>{items}</ul>" if items else ""
    return (
        f'<section id="agreeing"><h2>Do the axes agree?</h2>{told}<p class="answer">{escape(words.tally(own))}</p>'
        f'{listing}<p class="quiet">{escape(words.rule(own))}</p></section>'
    )


def said_of_points(shown: Map) -> dict[str, list[str]]:
    """Say of every release where its measures disagree, for its panel."""
    own = shown.disagreements
    return {} if own is None else {p.id: list(map(words.sentence, own.of_point(p))) for p in own.releases}
