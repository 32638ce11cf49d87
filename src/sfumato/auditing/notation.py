"""The meaning of published texts: labels of a hierarchy first, then the values that occur, then notations.

Notations are intervals (`20-29`, `20~29`, `-5..-1`, `1.5..<2.5`, `[20, 30[`, `[20,30)`, `(20, 30]`), open ends
(`>=90`, `<18`, `90+`), days, months, years and decades, sets (`{a, "b, c", ?}`, `?` being the missing value; `a~b` and
`a,b` if both are known values), masked codes (`816**`), `*` for everything and the empty field for a missing value.
Any other text is a value.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Set
from dataclasses import dataclass, field
from functools import cached_property, reduce
from math import inf, isnan, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.hierarchies.hierarchy import Hierarchy

Mask = NDArray[np.bool_]
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
DAY = r"\d{4}-\d{2}-\d{2}"
ENDS = rf"({DAY}|{NUMBER}|[+-]?(?:inf|∞))"
DOTTED = re.compile(rf"({DAY}|{NUMBER})\.\.(<?)({DAY}|{NUMBER})", re.ASCII)
DASHED = re.compile(r"(\d+(?:\.\d+)?) ?[-–] ?(\d+(?:\.\d+)?)", re.ASCII)
TILDE = re.compile(rf"({NUMBER}) ?~ ?({NUMBER})", re.ASCII)
BRACKETED = re.compile(rf"([\[\](])\s*{ENDS}\s*[,;]\s*{ENDS}\s*([\[\])])", re.IGNORECASE)
COMPARED = re.compile(rf"(>=|<=|>|<|≥|≤)\s*({DAY}|{NUMBER})")
AND_MORE = re.compile(rf"({DAY}|{NUMBER})\+", re.ASCII)
MASKED = re.compile(r"([^*]+)\*+|\*+([^*]+)")
MEMBER = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^",{}]*[^",{}\s]))\s*(,|\Z)')
JOINED = ("~", ",")
"""Separators of the values of a set without brackets."""

PERIOD = re.compile(r"(\d{4})(?:-(\d{2})|-(\d{4}))?", re.ASCII)
VALUE_DAY = re.compile(rf"({DAY})(?:[ T]\d{{2}}:\d{{2}}.*)?", re.ASCII)


@dataclass(frozen=True)
class NumberStretch:
    """Numbers, or days as ordinals, from low to high; each end is included or not."""

    low: float
    high: float
    low_in: bool = True
    high_in: bool = True

    def meets(self, other: NumberStretch) -> bool:
        """Return whether two intervals have a common value."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return low < high or (low == high and bool(self.among(low) & other.among(low)))

    def among(self, values: Any) -> Any:
        """Return which values, or whether a single one, are in it."""
        above = values >= self.low if self.low_in else values > self.low
        return above & (values <= self.high if self.high_in else values < self.high)


@dataclass(frozen=True)
class Meaning:
    """The possible values of a published text; it covers a value that any of the fields has."""

    everything: bool = False
    missing: bool = False
    texts: frozenset[str] = frozenset()
    masks: tuple[str, ...] = ()
    numbers: tuple[NumberStretch, ...] = ()
    days: tuple[NumberStretch, ...] = ()

    def joined(self, other: Meaning) -> Meaning:
        """Return the possible values of either of two texts."""
        return Meaning(
            self.everything or other.everything,
            self.missing or other.missing,
            self.texts | other.texts,
            self.masks + other.masks,
            self.numbers + other.numbers,
            self.days + other.days,
        )

    def meets(self, other: Meaning) -> bool:
        """Return whether two texts have a common possible value."""
        if self.everything or other.everything or (self.missing and other.missing):
            return True
        if self.texts & other.texts:
            return True
        if any(_masks(mask, text) for a, b in ((self, other), (other, self)) for mask in a.masks for text in b.texts):
            return True
        if any(_masks_meet(mine, theirs) for mine in self.masks for theirs in other.masks):
            return True
        pairs = ((self.numbers, other.numbers), (self.days, other.days))
        return any(a.meets(b) for mine, theirs in pairs for a in mine for b in theirs)


@dataclass(frozen=True, eq=False)
class ValueDomain:
    """The distinct values of an original column, prepared for tests of coverage."""

    values: tuple[str, ...]
    _places: dict[str, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._places.update({value: place for place, value in enumerate(self.values)})

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """Every value as a number, NaN for other texts."""
        return np.array([read_number(value) for value in self.values])

    @cached_property
    def days(self) -> NDArray[np.float64]:
        """Every value as the ordinal of a day, NaN for other texts."""
        return np.array([read_day(value) for value in self.values])

    def covered(self, meaning: Meaning) -> Mask:
        """Return which values a text with this meaning covers."""
        inside = np.full(len(self.values), meaning.everything)
        if meaning.everything:
            return inside
        for text in (*meaning.texts, *([""] if meaning.missing else [])):
            if text in self._places:
                inside[self._places[text]] = True
        for mask in meaning.masks:
            inside |= np.array([_masks(mask, value) for value in self.values], np.bool_)
        with np.errstate(invalid="ignore"):
            for stretch in meaning.numbers:
                inside |= stretch.among(self.numbers)
            for stretch in meaning.days:
                inside |= stretch.among(self.days)
        return inside


@dataclass(frozen=True, eq=False)
class Notation:
    """How the texts of one published column are read."""

    hierarchy: Hierarchy | None = None
    values: Set[str] = frozenset()
    """The values of the original, if there is one; such a text is a value."""

    def read(self, text: str) -> Meaning:
        """Return the meaning of a published text."""
        if text == "":
            return Meaning(missing=True)
        if text == "*":
            return Meaning(everything=True)
        if self.hierarchy is not None and text in self.hierarchy.intervals:
            return _label(self.hierarchy, *self.hierarchy.intervals[text])
        if text in self.values:
            return exact(text)
        members = set_members(text)
        if members is not None:
            return reduce(Meaning.joined, (self._member(*member) for member in members), Meaning())
        for mark in JOINED:
            parts = [part.strip() for part in text.split(mark)]
            if len(parts) > 1 and all(map(self._knows, parts)):
                return reduce(Meaning.joined, map(self.read, parts), Meaning())
        return notation(text)

    def _knows(self, text: str) -> bool:
        """Return whether a text is a non-numeric label of the hierarchy or value of the original."""
        known = text in self.values or (self.hierarchy is not None and text in self.hierarchy.intervals)
        return known and isnan(read_number(text))

    def _member(self, text: str, quoted: bool) -> Meaning:
        if not quoted:
            return Meaning(missing=True) if text == "?" else self.read(text)
        if self.hierarchy is not None and text in self.hierarchy.intervals:
            return self.read(text)
        return exact(text)


def _label(hierarchy: Hierarchy, lo: int, hi: int) -> Meaning:
    """Return the meaning of a node."""
    if hierarchy.scale == "category":
        leaves = hierarchy.leaves[lo : hi + 1]
        masks = tuple(leaf for leaf in leaves if leaf.endswith("*")) if hierarchy.keep else ()
        return Meaning(texts=frozenset(leaves) - frozenset(masks), masks=masks)
    half_open = hierarchy.continuous and hi < len(hierarchy.lasts) - 1
    stretch = NumberStretch(hierarchy.firsts[lo], hierarchy.lasts[hi], True, not half_open)
    return Meaning(days=(stretch,)) if hierarchy.scale == "date" else Meaning(numbers=(stretch,))


def exact(text: str) -> Meaning:
    """Return the meaning of a text that is a value: also `39.0` for `39`."""
    number, day = read_number(text), read_day(text)
    return Meaning(
        texts=frozenset([text]),
        numbers=() if isnan(number) else (NumberStretch(number, number),),
        days=() if isnan(day) else (NumberStretch(day, day),),
    )


def notation(text: str) -> Meaning:
    """Parse a text by its notation: an interval, a period, a masked code, or a value."""
    stretched = _bounds(text)
    meaning = exact(text)
    if stretched is not None:
        ends = [_end(end) for end in stretched[:2]]
        stretch = NumberStretch(ends[0][0], ends[1][0], *stretched[2:])
        days = any(is_day for _, is_day in ends)
        meaning = meaning.joined(Meaning(days=(stretch,)) if days else Meaning(numbers=(stretch,)))
    period = _period(text)
    if period is not None:
        meaning = meaning.joined(Meaning(days=(period,)))
    if MASKED.fullmatch(text):
        meaning = meaning.joined(Meaning(masks=(text,), numbers=_masked_numbers(text)))
    return meaning


def _masked_numbers(text: str) -> tuple[NumberStretch, ...]:
    """Return the numbers of a masked number such as `816**`, of that length: 81600 to 81699."""
    digits = text.rstrip("*")
    if not re.fullmatch(r"[1-9]\d*", digits, re.ASCII):
        return ()
    return (NumberStretch(float(digits + text[len(digits) :].replace("*", "0")), float(text.replace("*", "9"))),)


def _bounds(text: str) -> tuple[str, str, bool, bool] | None:
    """Return the ends of an interval and whether they are included, or None."""
    if match := DOTTED.fullmatch(text):
        return match[1], match[3], True, not match[2]
    if match := DASHED.fullmatch(text):
        return match[1], match[2], True, True
    if match := TILDE.fullmatch(text):
        return match[1], match[2], True, True
    if match := BRACKETED.fullmatch(text):
        return match[2], match[3], match[1] == "[", match[4] == "]"
    if match := AND_MORE.fullmatch(text):
        return match[1], "inf", True, True
    if match := COMPARED.fullmatch(text):
        sign, end = match[1].replace("≥", ">=").replace("≤", "<="), match[2]
        return (end, "inf", "=" in sign, True) if ">" in sign else ("-inf", end, True, "=" in sign)
    return None


def _end(text: str) -> tuple[float, bool]:
    """Parse one end of an interval; return also whether it is a day."""
    day = read_day(text)
    return (float(text.lower().replace("∞", "inf")), False) if isnan(day) else (day, True)


def _period(text: str) -> NumberStretch | None:
    """Return the days of a month, a year or a decade."""
    match = PERIOD.fullmatch(text)
    if match is None:
        return None
    year, month, last = int(match[1]), match[2], match[3]
    try:
        first = datetime.date(year, int(month or 1), 1)
        if month:
            end = datetime.date(year + int(month) // 12, int(month) % 12 + 1, 1)
        else:
            end = datetime.date(int(last or year) + 1, 1, 1)
    except ValueError:
        return None
    return NumberStretch(float(first.toordinal()), float(end.toordinal() - 1))


def set_members(text: str) -> list[tuple[str, bool]] | None:
    """Split a set into its members, each with whether it was quoted; None if the text is no set."""
    if len(text) < 3 or text[0] != "{" or text[-1] != "}":
        return None
    inside, members, position = text[1:-1], [], 0
    inside = inside.removesuffix(",")  # distinguishes a set from a category that looks like it
    while True:
        word = MEMBER.match(inside, position)
        if word is None:  # not our quoting: ARX joins members unquoted
            return [(member, False) for member in inside.split(", ")]
        members.append((word[2], False) if word[1] is None else (word[1].replace('""', '"'), True))
        if word[3] == "":
            return members
        position = word.end()


def read_number(text: str) -> float:
    """Parse a number; NaN for other texts."""
    return float(text) if re.fullmatch(NUMBER, text.strip(), re.ASCII) else nan


def read_day(text: str) -> float:
    """Parse the day of an ISO date or timestamp, or of 31.12.1999, as its ordinal; NaN for other texts."""
    if re.fullmatch(r"\d{1,2}\.\d{1,2}\.\d{4}", text.strip(), re.ASCII):
        day, month, year = text.strip().split(".")
        text = f"{year}-{month:0>2}-{day:0>2}"
    match = VALUE_DAY.fullmatch(text.strip())
    try:
        return float(datetime.date.fromisoformat(match[1]).toordinal()) if match else nan
    except ValueError:
        return nan


def _masks(mask: str, value: str) -> bool:
    """Return whether a masked code such as `816**` covers a value."""
    unmasked = mask.strip("*")
    fits = value.endswith(unmasked) if mask.startswith("*") else value.startswith(unmasked)
    return fits and len(value) <= len(mask)


def _masks_meet(mine: str, theirs: str) -> bool:
    """Return whether two masked codes may be one code; if they mask different sides they may."""
    a, b = mine.strip("*"), theirs.strip("*")
    if mine.startswith("*") != theirs.startswith("*"):
        return True
    return a.endswith(b) or b.endswith(a) if mine.startswith("*") else a.startswith(b) or b.startswith(a)


def leaves_covered(hierarchy: Hierarchy, meaning: Meaning) -> Mask:
    """Return which leaves of a hierarchy a text covers; an interval by its first value (its last, if that is open)."""
    covered = np.full(hierarchy.size, meaning.everything)
    if hierarchy.missing and meaning.missing:
        covered[-1] = True
    if hierarchy.scale == "category":
        known = ValueDomain(hierarchy.leaves)
        return covered | known.covered(meaning)
    firsts, lasts = np.asarray(hierarchy.firsts), np.asarray(hierarchy.lasts)
    stand_ins = np.where(firsts == -inf, np.nextafter(lasts, -inf) if hierarchy.continuous else lasts, firsts)
    for stretch in meaning.days if hierarchy.scale == "date" else meaning.numbers:
        covered[: len(stand_ins)] |= stretch.among(stand_ins)
    return covered
