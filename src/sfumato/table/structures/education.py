"""Education by level, told by keywords in English and German.

The levels are those of UNESCO's ISCED 2011 (Eurostat's list CL_ISCED11), joined: 0 and 1, 2 and 3, 4 and 5, and 6, 7, 8
each by itself; where German schools belong was held against Germany's assignment (glossary of the ministry's data
portal, G294). Two are placed by what they are called: a Meister (level 6 in Germany) stands with the vocational ones,
a Volksschule (primary in Austria, more in Germany) with the primary ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sfumato.table.hierarchies.hierarchy import Hierarchy
from sfumato.table.structures.structure import Place, grouped, share_known

LEVELS = (
    ("doctorate", r"ph\.? ?d|doctor|doktor|promotion|promoviert|dr\.?($| )"),
    (
        "secondary school",
        r"high.?school|hs.?grad|(upper|lower)?.?secondary|middle.?school|abitur|matura|ged$",
    ),
    ("secondary school", r"(7|8|9|10|11|12)th|gymnas|hauptschul|realschul|mittlere.reife|(fach)?hochschulreife"),
    ("vocational or some college", r"some.?college|assoc|vocational|apprentice|trade.?school|technical"),
    ("vocational or some college", r"lehre|ausbildung|berufs|meister|fachschul|certificate"),
    (
        "master",
        r"master|m\.?(sc|a)\.?$|mba|magister|diplom(?!a)|staatsexamen|prof.?school|professional.?degree|post.?grad",
    ),
    ("bachelor", r"bachelor|b\.?(sc|a)\.?$|undergrad|college.?(degree|grad)|(fach)?hochschul|universit"),
    ("primary school or less", r"none$|no.?school|pre.?school|kindergarten|primary|elementary|grundschul|volksschul"),
    ("primary school or less", r"(1st|2nd|3rd|4th|5th|6th)|ohne.?(schul|abschluss)|kein.?abschluss"),
)
"""In the order in which they are tried; a keyword stands at the beginning of a word."""

ORDER = (
    "primary school or less",
    "secondary school",
    "vocational or some college",
    "bachelor",
    "master",
    "doctorate",
)
BEYOND = ("up to secondary school", "beyond secondary school")
KEYWORDS = [(level, re.compile(rf"(?<![a-z0-9])({words})", re.IGNORECASE)) for level, words in LEVELS]
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


def _place(text: str) -> Place | None:
    level = next((level for level, words in KEYWORDS if words.search(text.strip())), None)
    if level is None:
        return None
    rank = ORDER.index(level)
    return (rank,), (level, BEYOND[rank > 1])
