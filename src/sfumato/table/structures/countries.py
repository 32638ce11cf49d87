"""Countries by the regions of the United Nations (M49 standard): names in English and German, ISO 3166 codes.

They stand in `data/countries.toml` and are facts, held against the M49 overview as the package country-converter 1.3.2
has it, and the German names against ISO 3166's in pycountry 26.2; who belongs where is the statistics division's
grouping and says nothing else. Melanesia, Micronesia and Polynesia are joined, the parts of Africa south of the
Sahara and of Latin America too (as the standard itself does), and Taiwan and Kosovo,
which the standard does not list, stand with their neighbours.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from sfumato.documents import bundled_facts
from sfumato.table.hierarchies.hierarchy import Hierarchy
from sfumato.table.structures.structure import Place, grouped, share_known

NAMED = re.compile(
    r"countr|nation|(?<!bundes)land$|staat|pays|pais|paese|citizen|herkunft|(?<![a-z])cob", re.IGNORECASE
)
SMALL = frozenset(["the", "of", "and", "und", "der", "die", "das"])
FORMS = frozenset(
    re.findall(r"\w+", "republic republik kingdom konigreich state stat federal islamic democratic principality")
)
"""Words that say how a country is governed: left out where a name is not known with them."""

MOST = 0.7
NEARLY_ALL = 0.9


def countries(values: Iterable[object], observed: bool = False) -> Hierarchy:
    """Build the hierarchy of countries by the United Nations' regions: names, or their ISO codes.

    >>> countries(["Germany", "France", "Poland", "Japan"]).levels[2].labels
    ('Asia', 'Europe')
    """
    return grouped(values, _place, observed)


def looks_like_countries(column: str, values: Sequence[str]) -> bool:
    """Say whether values are countries: by name, or by code where the column's name says so (states have codes too)."""
    named = NAMED.search(column) is not None
    names = [value for value in values if len(value.strip()) > 3]
    known, _ = share_known(names, _place)
    if known >= 3 and known >= MOST * len(values):
        return True
    known, share = share_known(values, _place)
    return named and known >= 3 and share >= NEARLY_ALL


def _place(text: str) -> Place | None:
    words = _words(text)
    bare = [word for word in words if word not in FORMS]
    region = next((_regions()[key] for key in (*_keys(words), *_keys(bare)) if key in _regions()), None)
    return None if region is None else (region, (region[1], region[0]))


@cache
def _regions() -> dict[str, tuple[str, str]]:
    """Return the region and its part of every name and code."""
    return {key: (region, part) for region, part, name in _names() for key in _keys(_words(name))}


def _names() -> Iterator[tuple[str, str, str]]:
    for region in bundled_facts("countries")["regions"]:
        for country in region["countries"]:
            first, *others = country.split("/")
            yield from ((region["world"], region["name"], text) for text in (*first.rsplit(" ", 2), *others))


def _words(text: str) -> list[str]:
    """Take a name apart: no case, accents, articles and marks; umlauts as one letter however they are written."""
    bare = unicodedata.normalize("NFKD", text.casefold().replace(".", ""))
    letters = "".join(letter for letter in bare if not unicodedata.combining(letter))
    words = re.findall(r"\w+", re.sub("([aou])e", r"\1", letters))
    telling = [word for word in words if word not in SMALL] or words  # AND is Andorra
    return ["saint" if word in ("st", "sankt") and len(telling) > 1 else word for word in telling]


def _keys(words: Sequence[str]) -> list[str]:
    """Join words in their order, and in one that "Korea, Republic of" and "Republic of Korea" have in common."""
    return ["".join(words), " ".join(sorted(words))] if words else []
