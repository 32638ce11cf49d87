"""The section "How good can a release be?": the limit in words, the scores, and who gives which part of the frontier.

It stands on the internal page alone: the line has dozens of vertices, each a fact of all records.
"""

from __future__ import annotations

from html import escape
from typing import Any

from sfumato.errors import BadInputError
from sfumato.phrases import counted
from sfumato.tradeoff import Map
from sfumato.tradeoff.chart import limit_rows
from sfumato.tradeoff.limit.limit import AXES, MEANING
from sfumato.tradeoff.limit.score import Part, Scores

HEADS = ("Anonymizer", "On the frontier", "Best choice for {x}", "Part of the range", "Score", "Without it")


def scores_of(shown: Map) -> Scores | None:
    """Score a map; None where nothing can be scored."""
    try:
        return shown.scores()
    except BadInputError:  # nothing measured on these axes, or all alike
        return None


def limit_content(shown: Map) -> dict[str, Any] | None:
    """Return what the page's script draws of the limit; None where there is none."""
    if shown.limit is None:
        return None
    named = [bool(row["label"]) for row in limit_rows(shown, *AXES)]
    return {"axes": list(AXES), "points": [list(vertex) for vertex in shown.limit.points], "named": named.index(True)}


def limit_section(shown: Map) -> str:
    """Write the section; empty where nothing can be scored."""
    found = scores_of(shown)
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
