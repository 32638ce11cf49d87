"""Education by level, told by keywords in English and German.

The levels are those of UNESCO's ISCED 2011 (Eurostat's list CL_ISCED11), joined: 0 and 1, 2 and 3, 4 and 5, and 6, 7, 8
each by itself; where German schools belong was held against Germany's assignment (glossary of the ministry's data
portal, G294). Two are placed by what they are called: a Meister (level 6 in Germany) stands with the vocational ones,
a Volksschule (primary in Austria, more in Germany) with the primary ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from sfumato.documents import bundled_facts
from sfumato.table.hierarchies.hierarchy import Hierarchy
from sfumato.table.structures.structure import Place, grouped, share_known

NAMED = re.compile(r"educ|school|degree|qualif|bildung|abschluss|schul", re.IGNORECASE)
MOST = 0.7
NEARLY_ALL = 0.9


def education(values: Iterable[object], observed: bool = False) -> Hierarchy:
    """Build the hierarchy of schools and degrees by level, and above these up to secondary school or beyond it.

    >>> education(["Bachelors", "Masters", "HS-grad", "10th"]).levels[1].labels
    ('secondary school', 'bachelor', 'master')
    """
    return grouped(values, _place, observed)


def looks_like_education(column: str, values: Sequence[str]) -> bool:
    """Say whether values are levels of education: by keywords, fewer where the name of the column says so as well."""
    known, share = share_known(values, _place)
    levels = {place[1][0] for value in values if (place := _place(value)) is not None}
    named = NAMED.search(column) is not None
    return len(levels) >= 3 and (share >= MOST if named else known >= 5 and share >= NEARLY_ALL)


@cache
def _keywords() -> list[tuple[str, re.Pattern[str]]]:
    """Return the keywords of levels in the order in which they are tried, each at the beginning of a word."""
    pairs = bundled_facts("education")["keywords"]
    return [(level, re.compile(rf"(?<![a-z0-9])({words})", re.IGNORECASE)) for level, words in pairs]


def _place(text: str) -> Place | None:
    facts = bundled_facts("education")
    level = next((level for level, words in _keywords() if words.search(text.strip())), None)
    if level is None:
        return None
    rank = facts["order"].index(level)
    return (rank,), (level, facts["beyond"][rank > 1])
