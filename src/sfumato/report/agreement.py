"""The section "Do the axes agree?" of the report: releases that look good by one measure and bad by another.

The public page has it too, from its own rounded measures.
"""

from __future__ import annotations

from html import escape
from itertools import groupby

from sfumato.tradeoff import Map
from sfumato.tradeoff.disagreements import Disagreements
from sfumato.tradeoff.words import settings


def agreeing_section(shown: Map) -> str:
    """Write the section as HTML; nothing where there are too few releases to rank."""
    own = Disagreements.of(shown)
    if own is None or not own.compared:
        return ""
    told = f"<p>{escape(own.readers())}</p>" if own.readers() else ""
    items = "".join(
        f'<li><button class="link" type="button" data-point="{escape(id)}">{escape(settings(shown[id]))}</button> '
        f"<code>{escape(id)}</code>: {escape(' '.join(each.said for each in found))}</li>"
        for id, found in groupby(own.on_frontier, key=lambda each: each.point.id)
    )
    listing = f"<ul>{items}</ul>" if items else ""
    return (
        f'<section id="agreeing"><h2>Do the axes agree?</h2>{told}<p class="answer">{escape(own.tally())}</p>{listing}'
        f'<p class="quiet">{escape(own.rule())}</p></section>'
    )


def said_of_points(shown: Map) -> dict[str, list[str]]:
    """Say of every release where its measures disagree, for its panel."""
    own = Disagreements.of(shown)
    return {} if own is None else {p.id: [each.said for each in own.of_point(p)] for p in own.releases}
