"""Reading the columns of a file that was made elsewhere: which leaves of the table's domain every text covers.

A text that is a value of the domain is its leaf. Any other text is read by its notation, as in the audit, and covers
its possible leaves; a box includes the leaves between them. A number outside the domain is moved to its nearest end,
and one between two values to the nearer value. Both are reported, and such a file is not considered truthful. A
category that the table does not have is an error that names its place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.auditing.notation import Mask, Meaning, Notation, NumberStretch, ValueDomain, read_day, read_number
from sfumato.auditing.published_file import EMPTY, STAR, TextColumn, shown_text
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.runtime.arrays import Codes, Counts, Flags, RedactedRepr
from sfumato.texts.catalogue import counted, refusal, t

USUAL_NA = ("NA", "<NA>", "NaN", "nan", "NULL", "null", "None")
"""How programs write a missing value; so they are read where the table has no such value."""

MissingMeans = Literal["value", "any"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SharedColumn(RedactedRepr):
    """A column of a file that the table has too."""

    public_fields: ClassVar[tuple[str, ...]] = ("name",)

    name: str
    column: TextColumn
    """With everything that means missing made one: `NA` and the empty text."""

    notices: tuple[str, ...]
    moved: int
    """How many rows show a number that the domain has not, so that the nearest one is taken."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ReadColumn(SharedColumn):
    """A quasi-identifier of a file: its texts, and of each the leaves that it covers."""

    lo: Codes
    hi: Codes
    """The first and the last leaf that every text covers."""

    sets: Mapping[int, Flags]
    """Of texts that do not cover all that lies between: which leaves they cover."""

    any_missing: bool
    """Whether a missing value can be any value."""

    def covered(self, leaves: int) -> Mask:
        """Return, for every text (rows), which leaves it covers."""
        codes = np.arange(leaves)
        masks: Mask = (self.lo[:, None] <= codes) & (codes <= self.hi[:, None])
        for place, mask in self.sets.items():
            masks[place] = mask
        return masks


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ReadValues(SharedColumn):
    """A sensitive column of a file: its texts, and of each the leaf that it is."""

    leaves: Codes


def read_quasi(
    origin: str, name: str, column: TextColumn, weights: Counts, hierarchy: Hierarchy, na: Sequence[str], means: str
) -> ReadColumn:
    """Read a quasi-identifier; `means` defines a missing value: one more value of the domain, or any value."""
    column, notices = _canonical(name, column, hierarchy, na)
    rows = _rows(column, weights)
    any_missing = "" in column.texts and (means == "any" or not hierarchy.missing)
    if any_missing and means != "any":
        notices.append(t("notice.column_misses_table_misses", name=name, rows=rows[column.texts.index("")]))
    lo, hi, unread = _exact_leaves(column.texts, hierarchy)
    notation = Notation(hierarchy, frozenset(hierarchy.leaves) - {STAR, ""})
    nowhere, sets = [], {}
    for place in unread:
        text = column.texts[place]
        if text == "" and any_missing:
            lo[place], hi[place] = 0, hierarchy.size - 1
            continue
        met = leaves_met(hierarchy, notation.read(text))
        inside = np.flatnonzero(met)
        if len(inside):
            lo[place], hi[place] = inside[0], inside[-1]
            if len(inside) <= inside[-1] - inside[0]:
                sets[place] = met
        else:
            nowhere.append(place)
    moved, remarks = _moved(origin, name, [column.texts[place] for place in nowhere], rows[nowhere], hierarchy)
    lo[nowhere] = hi[nowhere] = moved
    remarks += _apart(name, int(rows[list(sets)].sum()))
    return ReadColumn(
        name=name,
        column=column,
        notices=(*notices, *remarks),
        moved=int(rows[nowhere].sum()),
        lo=lo,
        hi=hi,
        sets=sets,
        any_missing=any_missing,
    )


def read_sensitive(
    origin: str, name: str, column: TextColumn, weights: Counts, hierarchy: Hierarchy, na: Sequence[str]
) -> ReadValues:
    """Read a sensitive column, whose texts must be single values."""
    column, notices = _canonical(name, column, hierarchy, na)
    rows = _rows(column, weights)
    if "" in column.texts and not hierarchy.missing:
        raise refusal("miss_sensitive_value", origin=origin, name=name, rows=rows[column.texts.index("")])
    known = {label: code for code, label in enumerate(hierarchy.leaves)}
    leaves = hierarchy.encode([text or None for text in column.texts])
    leaves = np.array([known.get(text, code) for text, code in zip(column.texts, leaves, strict=True)], np.int32)
    nowhere = np.flatnonzero(leaves < 0).tolist()
    leaves[nowhere], remarks = _moved(
        origin, name, [column.texts[place] for place in nowhere], rows[nowhere], hierarchy
    )
    moved = int(rows[nowhere].sum())
    return ReadValues(name=name, column=column, notices=(*notices, *remarks), moved=moved, leaves=leaves)


def leaves_met(hierarchy: Hierarchy, meaning: Meaning) -> Flags:
    """Return which leaves have a value in common with the possible values of a text."""
    met: Flags = np.full(hierarchy.size, meaning.everything)
    if hierarchy.missing and meaning.missing:
        met[-1] = True
    if hierarchy.scale == "category":
        codes = hierarchy.encode(sorted(meaning.texts))
        met[codes[codes >= 0]] = True
        return met | ValueDomain(hierarchy.leaves).covered(meaning)
    firsts, lasts = np.asarray(hierarchy.firsts), np.asarray(hierarchy.lasts)
    for stretch in meaning.days if hierarchy.scale == "date" else meaning.numbers:
        met[: len(firsts)] |= _meets(stretch, firsts, lasts, hierarchy.continuous)
    return met


def _meets(stretch: NumberStretch, firsts: NDArray[np.float64], lasts: NDArray[np.float64], half_open: bool) -> Flags:
    """Say which leaves a stretch meets; half-open ones do not have their upper end, but for the last."""
    below = stretch.low < lasts if half_open or not stretch.low_in else stretch.low <= lasts
    if half_open and stretch.low_in:
        below[-1] |= stretch.low == lasts[-1]
    if half_open:  # a leaf of one value has it
        below |= (firsts == lasts) & (stretch.low == firsts) & stretch.low_in
    above = firsts <= stretch.high if stretch.high_in else firsts < stretch.high
    flags: Flags = below & above
    return flags


def _canonical(name: str, column: TextColumn, hierarchy: Hierarchy, na: Sequence[str]) -> tuple[TextColumn, list[str]]:
    """Write everything that is missing alike; say where `NA` was taken for missing unasked."""
    usual = [text for text in USUAL_NA if text in column.texts and text not in na and text not in hierarchy.intervals]
    missing = {*na, *usual, EMPTY}
    remarks = [t("notice.read_missing", name=name, usual=usual[0])] if usual else []
    return column.called(["" if text in missing else text for text in column.texts]), remarks


def _rows(column: TextColumn, weights: Counts) -> Counts:
    """Count the rows that show each text."""
    return np.rint(np.bincount(column.codes, weights, len(column.texts))).astype(np.int64)


def _exact_leaves(texts: Sequence[str], hierarchy: Hierarchy) -> tuple[Codes, Codes, list[int]]:
    """Find the leaves of texts that are values or labels; return the places of all others behind."""
    lo = hierarchy.encode([text or None for text in texts])
    hi = lo.copy()
    unread = []
    for place, text in enumerate(texts):
        if text in hierarchy.intervals:
            lo[place], hi[place] = hierarchy.intervals[text]
        elif lo[place] < 0 or (hierarchy.keep and "*" in text):
            unread.append(place)
    return lo, hi, unread


def _moved(origin: str, name: str, texts: Sequence[str], rows: Counts, hierarchy: Hierarchy) -> tuple[Codes, list[str]]:
    """Find for numbers that the domain has not the nearest leaf, and say so; refuse everything else."""
    numbers = np.array([_middle(hierarchy, text) for text in texts])
    if not len(texts):
        return np.zeros(0, np.int32), []
    strange = np.flatnonzero(np.isnan(numbers))
    if len(strange):
        first, many = texts[strange[0]], len(strange)
        more = f" and {counted(many - 1, 'other text')}" if many > 1 else ""
        raise refusal(
            "no_value_table_domain",
            origin=origin,
            name=name,
            shown_text=shown_text(first),
            more=more,
            rows=int(rows[strange].sum()),
            domain_in_words=hierarchy.domain_in_words(),
            first=first,
        )
    firsts, lasts = np.asarray(hierarchy.firsts), np.asarray(hierarchy.lasts)
    outside = (numbers < firsts[0]) | (numbers > lasts[-1])
    remarks = [
        t(
            "notice.number_taken",
            name=name,
            rows=int(rows[which].sum()),
            rows_2=rows[which].sum(),
            where=where,
            what=what,
        )
        for which, where, what in (
            (outside, t("notice.outside_domain", domain_in_words=hierarchy.domain_in_words()), "its nearest end"),
            (~outside, t("notice.domain_not"), t("notice.nearest_value_domain")),
        )
        if which.any()
    ]
    return nearest_leaves(hierarchy, numbers), remarks


def nearest_leaves(hierarchy: Hierarchy, numbers: NDArray[np.float64]) -> Codes:
    """Find the leaves that are nearest to numbers, the lower one of two that are equally near."""
    firsts, lasts = np.asarray(hierarchy.firsts), np.asarray(hierarchy.lasts)
    above = np.clip(np.searchsorted(firsts, numbers, side="right"), 0, len(firsts) - 1)
    below = np.clip(above - 1, 0, None)
    nearer = np.abs(numbers - lasts[below]) <= np.abs(firsts[above] - numbers)
    inside = (numbers >= firsts[above]) & (numbers <= lasts[above])
    return np.where(inside | ~nearer, above, below).astype(np.int32)


def _middle(hierarchy: Hierarchy, text: str) -> float:
    """Return the number or day of a text, the middle of an interval; NaN where it is none."""
    if hierarchy.scale == "category" or text == "":
        return np.nan
    read = read_day if hierarchy.scale == "date" else read_number
    if not isnan(value := read(text)):
        return value
    meaning = Notation().read(text)
    stretches = meaning.days if hierarchy.scale == "date" else meaning.numbers
    if not stretches:
        return np.nan
    low, high = stretches[0].low, stretches[-1].high
    return high if low == -inf else low if high == inf else (low + high) / 2


def _apart(name: str, rows: int) -> list[str]:
    """Say where texts name values that are no neighbours, so that their box takes in what lies between."""
    if not rows:
        return []
    return [t("notice.sets_values_no_neighbours", name=name, rows=rows)]
