"""The limit and the scores of a map, for the section "How good can a release be?".

It stands on the internal page alone: the line has dozens of vertices, each a fact of all records.
"""

from __future__ import annotations

from typing import Any

from sfumato.errors import BadInputError
from sfumato.tradeoff import Map
from sfumato.tradeoff.chart import limit_rows
from sfumato.tradeoff.limit.limit import AXES
from sfumato.tradeoff.limit.score import Scores


def scores_of(map_: Map) -> Scores | None:
    """Score a map; None where nothing can be scored."""
    try:
        return map_.scores()
    except BadInputError:  # nothing measured on these axes, or all alike
        return None


def limit_content(map_: Map) -> dict[str, Any] | None:
    """Return what the page's script draws of the limit; None where there is none."""
    if map_.limit is None:
        return None
    named = [bool(row["label"]) for row in limit_rows(map_, *AXES)]
    return {"axes": list(AXES), "points": [list(vertex) for vertex in map_.limit.points], "named": named.index(True)}
