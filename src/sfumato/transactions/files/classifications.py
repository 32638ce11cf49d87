"""Bundled trees of facts: the chapters and blocks of ICD-9-CM and ICD-10, as ranges of codes.

A tree is built for the codes that occur: code, three-character category, block, chapter. Levels between chapters and
everything are not in the classifications, so there are none. Where a chapter has no blocks, or a category stands in
none, the category has the chapter above it. There are ranges here and no titles: those of ICD-10 belong to the WHO.

Sources: ICD-9-CM of the US government (NCHS and CMS, sixth edition, the last of October 2011; public domain); ICD-10,
version of 2019 (WHO), its blocks of the lowest level.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

from sfumato.errors import BadInputError

Range = tuple[str, str]
NAMED = 5
"""Of codes that fit nothing so many are named."""


@dataclass(frozen=True)
class CodeCatalogue:
    """A catalogue of codes: how a code is written, and the ranges of its chapters and blocks."""

    name: str
    title: str
    pattern: re.Pattern[str]
    """What a code looks like; its group is the category."""

    @cached_property
    def chapters(self) -> list[tuple[Range, list[Range]]]:
        """Every chapter with its blocks: a line of the file each, its range first."""
        text = (files("sfumato.transactions") / "data" / f"{self.name}.txt").read_text(encoding="utf-8")
        ranges = [[_range(part) for part in line.split()] for line in text.splitlines()]
        return [(chapter, blocks) for chapter, *blocks in ranges]

    def category(self, code: str) -> str | None:
        """Return the category of a code; None where it is not written as a code is.

        >>> icd9 = CLASSIFICATIONS["icd-9-cm"]
        >>> icd9.category("250.01"), icd9.category("25001"), icd9.category("42"), icd9.category("E8120")
        ('250', '250', '042', 'E812')
        >>> CLASSIFICATIONS["icd-10"].category("e11.9"), CLASSIFICATIONS["icd-10"].category("diabetes")
        ('E11', None)
        """
        match = self.pattern.fullmatch(code.strip().upper())
        if match is None:
            return None
        category = next(group for group in match.groups() if group is not None)
        return category.zfill(3)

    def path(self, code: str) -> list[str] | None:
        """Return a code with its category, block and chapter; None where it fits none."""
        category = self.category(code)
        if category is None:
            return None
        for chapter, blocks in self.chapters:
            if _holds(chapter, category):
                block = next((_text(block) for block in blocks if _holds(block, category)), None)
                return [code, category, block or (category if blocks else _text(chapter)), _text(chapter)]
        return None

    def rows(self, codes: Iterable[str]) -> list[list[str]]:
        """Return the rows of a level table of codes; those that fit nothing are an error that names them."""
        paths = {code: self.path(code) for code in codes}
        unfit = [code for code, path in paths.items() if path is None]
        if unfit:
            named = ", ".join(map(repr, unfit[:NAMED])) + (", ..." if len(unfit) > NAMED else "")
            one = len(unfit) == 1
            raise BadInputError(
                f"{self.name}: {len(unfit):,} of {len(paths):,} items {'is no code' if one else 'are no codes'} of "
                f"{self.title} ({named}); correct {'it' if one else 'them'}, leave {'it' if one else 'them'} out, or "
                "give a level table of your own (--tree items.csv)"
            )
        return sorted((path for path in paths.values() if path is not None), key=lambda path: (path[1], path[0]))


def _range(text: str) -> Range:
    first, _, last = text.partition("-")
    return first, last or first


def _text(ends: Range) -> str:
    return ends[0] if ends[0] == ends[1] else "-".join(ends)


def _holds(ends: Range, category: str) -> bool:
    """Say whether a category lies in a range of categories that are as long."""
    return len(ends[0]) == len(category) and ends[0] <= category <= ends[1]


ICD_9_CM = CodeCatalogue(
    "icd-9-cm",
    "ICD-9-CM",
    re.compile(r"(V\d{2}|E\d{3})(?:\.?\d{1,2})?|(\d{1,3})(?:\.\d{1,2})?|(\d{3})\d{1,2}"),
)
"""With or without the point; codes below 100 also without the zeros that spreadsheets take away."""

ICD_10 = CodeCatalogue("icd-10", "ICD-10", re.compile(r"([A-Z]\d{2})(?:\.?[0-9A-Z]{1,4})?"))

CLASSIFICATIONS = {each.name: each for each in (ICD_9_CM, ICD_10)}
"""By the name that stands for a tree."""
