"""The section "How good can a release be?": the limit in words, the scores, and who gives which part of the frontier.

**Why it may stand on the public page.** The limit and the scores are facts of the table's large populations (at least
the study's share of its records each) and of the measures that the page shows anyway; nothing in them is about
few people. But the line has dozens of vertices, each a sum over all these populations, so on the public page they
are rounded, downwards, so that the line stays a limit. Noisy releases are left out there, as everywhere.
"""

from __future__ import annotations

from dataclasses import replace
from html import escape
from math import floor
from typing import Any

from sfumato.errors import BadInputError
from sfumato.tradeoff import Map
from sfumato.tradeoff.chart import limit_rows
from sfumato.tradeoff.limit import AXES, MEANING
from sfumato.tradeoff.scoring import Part, Scores
from sfumato.tradeoff.words import counted

PUBLIC_STEPS = 100_000
"""On the public page the limit's vertices are rounded down to whole parts of this: five decimals."""

HEADS = ("Anonymizer", "On the frontier", "Best choice for {x}", "Part of the range", "Score", "Without it")


def scores_of(shown: Map, public: bool = False) -> Scores | None:
    """Score a map, for the public without noisy releases; None where nothing can be scored."""
    if public:
        shown = replace(shown, points=tuple(point for point in shown.points if not point.is_noisy))
    try:
        return shown.scores()
    except BadInputError:  # nothing measured on these axes, or all alike
        return None


def limit_content(shown: Map, public: bool) -> dict[str, Any] | None:
    """Return what the page's script draws of the limit; None where there is none."""
    if shown.limit is None:
        return None
    vertices = list(shown.limit.points)
    if public:
        lower = {_down(p): _down(u) for p, u in vertices}  # of several that become one, the last is the lowest
        vertices = sorted(lower.items())
    named = [
        bool(row["label"])
        for row in limit_rows(replace(shown, limit=replace(shown.limit, points=tuple(vertices))), *AXES)
    ]
    return {"axes": list(AXES), "points": [list(vertex) for vertex in vertices], "named": named.index(True)}


def _down(value: float) -> float:
    return floor(value * PUBLIC_STEPS) / PUBLIC_STEPS


def limit_section(shown: Map, public: bool) -> str:
    """Write the section; empty where nothing can be scored."""
    found = scores_of(shown, public)
    if found is None or not found.parts:
        return ""
    told = _floor(found) if found.limit is not None else _spanned(found)
    heads = "".join(
        f"<th{'' if i == 0 else ' class=number'}>{escape(head.format(x=found.axes[0]))}</th>"
        for i, head in enumerate(HEADS)
    )
    rows = "".join(_row(part) for part in sorted(found.parts, key=lambda part: part.score))
    table = f'<div class="wide"><table class="parts"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
    return (
        f'<section id="limit"><h2>How good can a release be?</h2>{told}'
        f"<h4>Which anonymizer gives which part of the frontier</h4>{table}"
        f'<p class="quiet">{escape(_columns(found))}</p></section>'
    )


def _floor(found: Scores) -> str:
    """Say what the limit is and how near the releases of this map come to it."""
    assert found.limit is not None
    score = (
        "One number for all of it: the score, the area under the frontier. 1 would be no better than publishing the "
        "sensitive values alone, without any quasi-identifier; 0 would be no loss of utility at any risk. The releases "
        f"on this map together score {_score(found.union)}. No truthful releases, however many and however made, can "
        f"score below {_score(found.limit)}, the limit's. What lies between the two is the most that a better method "
        "could still win."
    )
    lead = (
        "However a release of this table is made, at a given privacy loss it cannot be more useful than the dashed "
        "line on the map shows."
    )
    return f'<p class="answer">{escape(lead)}</p><p>{escape(MEANING)}</p><p>{escape(score)}</p>'


def _spanned(found: Scores) -> str:
    x, y = found.axes
    text = (
        f"For {x} and {y} no limit is proved. The score is the part of the map, between the best and the worst of all "
        f"points, that no release beats: 0 would be the best of both at once. All releases together score "
        f"{_score(found.union)}. It compares the anonymizers of this map, and nothing else."
    )
    return f"<p>{escape(text)}</p>"


def _columns(found: Scores) -> str:
    return (
        "Score: that of this anonymizer's releases alone, lower is better. Without it: what all the others score; "
        f"where that is {_score(found.union)}, the score of all, this anonymizer adds nothing. The release without "
        "quasi-identifiers, which anybody can make, counts in every score, the original in none."
    )


def _row(part: Part) -> str:
    stretches = "<br>".join(f"{low:.3g} to {high:.3g}" for low, high in part.stretches) or "nowhere"
    cells = (
        counted(part.frontier, "release"),
        stretches,
        f"{100 * part.share:.1f} %",
        _score(part.score),
        _score(part.without),
    )
    told = "".join(f'<td class="number">{cell}</td>' for cell in cells)
    return f"<tr><td>{escape(part.anonymizer)}, {escape(part.form)}</td>{told}</tr>"


def _score(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".")
