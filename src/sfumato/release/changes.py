"""A summary of the changes of each column of a release: `by decade`, `to 2 digits`, `unchanged`.

It is computed from the boxes alone, weighted by their records, so it applies to every maker. If a column has several
published forms, the finest and the coarsest are named, and the form of most records.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from sfumato.data.cells import Histograms, Sensitive, distinct_rows, weighted_counts
from sfumato.data.hierarchies.hierarchy import ROOT, Hierarchy
from sfumato.data.hierarchies.notation import read_date, read_number
from sfumato.data.reading import Ranges
from sfumato.release.release import Release, present_leaves
from sfumato.runtime.arrays import Codes, Numbers
from sfumato.texts.catalogue import counted, number, t

UNCHANGED, LEFT_OUT = t("change.unchanged"), t("change.left_out")
HALF, NEARLY_ALL, EVEN = 0.5, 0.95, 1e-9
UNITS = {"day": (1, 1), "month": (28, 31), "quarter": (90, 92), "year": (365, 366), "decade": (3652, 3653)}
"""Least and most days of a named interval of dates."""

YEAR, MONTH = 365.2425, 30.44
OPEN_END = re.compile(r"<=?-?[\d.]+|-?[\d.]+\+")
"""The published texts of open ends of numbers: <20, 25000+."""

STRETCHES = (re.compile(r"(.+?)\.\.(<?)(.+)"), re.compile(r"(\d+)()-(\d+)"))
"""The published texts of intervals: -5..-1, 0..<5, 2020-01-01..2020-12-31; 20-29."""


@dataclass(frozen=True)
class Piece:
    """One published form of a column, and its share of the records."""

    width: float
    """Its coarseness; within one column wider is coarser."""

    noun: str
    """The form as a noun: `ranges of 10`, `decades`."""

    alone: str
    """The change if all records have this form: `in ranges of 10`, `by decade`."""

    share: float = 0.0


EXACT = Piece(0, "single values", UNCHANGED)
WHOLE = Piece(inf, ROOT, LEFT_OUT)


IN_STRETCHES = "in stretches"
"""The change of a sensitive column whose single values are intervals of numbers or days."""


def column_changes(release: Release) -> dict[str, str]:
    """Summarize the changes of each column, including unpublished ones."""
    roles, places = release.table.roles, {quasi.name: a for a, quasi in enumerate(release.cells.quasi)}
    changes = {name: _quasi(release, places[name]) for name in roles.quasi}
    if release.histograms is None:
        kept = "not published"
    elif release.form == "bucketization":
        kept = t("notice.dealt_out_within_each")
    else:
        kept = UNCHANGED
    sensitive = {
        name: IN_STRETCHES if kept == UNCHANGED and _is_stretched(release, name) else kept for name in roles.sensitive
    }
    return changes | sensitive | dict.fromkeys(roles.neutral, UNCHANGED)


def _is_stretched(release: Release, sensitive: str) -> bool:
    """Return whether a sensitive column was read as intervals of numbers or days, which are published."""
    hierarchy = release.table.hierarchies[sensitive]
    return hierarchy.firsts != hierarchy.lasts


def _quasi(release: Release, attribute: int) -> str:
    """Summarize the change of one quasi-identifier."""
    hierarchy, boxes = release.cells.quasi[attribute].hierarchy, release.boxes
    lo, hi = boxes.lo[:, attribute], boxes.hi[:, attribute]
    if (lo == hi).all():  # fast also for millions of exact records
        mass = weighted_counts(lo, boxes.mass, hierarchy.size)
        lo = hi = np.flatnonzero(mass).astype(np.int32)
        mass = mass[lo]
    else:
        first, place = distinct_rows(np.stack([lo, hi], axis=1))
        mass = weighted_counts(place, boxes.mass, len(first))
        lo, hi = lo[first], hi[first]
    shares = mass / max(int(mass.sum()), 1)
    chosen = release.levels[attribute] if release.levels else 0
    if words := _level(hierarchy, lo, hi, shares, chosen):
        return words
    present = present_leaves(release.cells, release.assignment, attribute) if hierarchy.observed else None
    pieces = [_piece(hierarchy, first, last, present) for first, last in zip(lo.tolist(), hi.tolist(), strict=True)]
    return summary(
        Piece(piece.width, piece.noun, piece.alone, share) for piece, share in zip(pieces, shares.tolist(), strict=True)
    )


def summary(pieces: Iterable[Piece]) -> str:
    """Describe the published form of a column: one, or between two, with the form of most records.

    >>> decade, year = Piece(10, "decades", "by decade", 0.7), Piece(1, "years", "by year", 0.3)
    >>> summary([decade]), summary([decade, year])
    ('by decade', 'between years and decades, mostly decades')
    """
    kinds: dict[str, Piece] = {}
    shares: dict[str, float] = {}
    for piece in pieces:
        kinds.setdefault(piece.noun, piece)
        shares[piece.noun] = shares.get(piece.noun, 0.0) + piece.share
    merged = (replace(piece, share=shares[noun]) for noun, piece in kinds.items())
    ordered = sorted(merged, key=lambda piece: piece.width)
    if len(ordered) == 1:
        return ordered[0].alone
    most = max(ordered, key=lambda piece: piece.share)
    if most.noun == ROOT and most.share > NEARLY_ALL:
        return t("notice.left_out_share", left_out=LEFT_OUT, share=most.share)
    if most.share > HALF:
        usual = t("change.mostly", noun=most.noun)
    else:
        reached = np.cumsum([piece.share for piece in ordered])
        middle = ordered[int(np.searchsorted(reached, HALF - EVEN))]
        usual = t("notice.half_finer", noun=middle.noun)
    finest, coarsest = ordered[0].noun, ordered[-1].noun
    kind = f"{finest.rpartition(' of ')[0]} of "
    return t("change.between", finest=finest, coarsest=coarsest.removeprefix(kind), usual=usual)


# -- pieces ------------------------------------------------------------------------------------------------


def _piece(hierarchy: Hierarchy, lo: int, hi: int, present: NDArray[np.bool_] | None) -> Piece:
    """Describe the published form of an interval of leaves."""
    if lo == 0 and hi == hierarchy.size - 1 > 0:
        return WHOLE
    if hierarchy.scale == "category" or lo >= hierarchy.domain_size:
        leaves = hi - lo + 1 if present is None else int(present[lo : hi + 1].sum())
        return set_piece(leaves) if hi > lo else EXACT
    last = min(hi, hierarchy.domain_size - 1)  # a missing value besides a range does not widen its description
    first, end = hierarchy.firsts[lo], hierarchy.lasts[last]
    if hierarchy.scale == "date":
        return date_piece(first, end)
    if not (isfinite(first) and isfinite(end)):
        return open_piece(hierarchy.text(lo, last))
    return number_piece(first, end, hierarchy.has_whole_numbers and not hierarchy.continuous)


def set_piece(values: int) -> Piece:
    """Describe a set of so many values."""
    return Piece(values, t("change.groups", values=values), t("notice.groups", values=values))


def number_piece(first: float, last: float, whole: bool) -> Piece:
    """Describe an interval of numbers."""
    if first == last:
        return EXACT
    width = last - first + whole
    return Piece(width, t("change.ranges", width=number(width)), t("notice.ranges", width=width))


def open_piece(text: str) -> Piece:
    """Describe an interval without an end, such as 90+."""
    return Piece(1e300, text, t("change.all_as", text=text))


def date_piece(first: float, last: float) -> Piece:
    """Describe an interval of days, both given as ordinals."""
    if not (isfinite(first) and isfinite(last)):
        return open_piece(t("notice.open_stretch_time"))
    days = last - first + 1
    if days == 1:
        return EXACT
    for unit, (least, most) in UNITS.items():
        if least <= days <= most:
            return Piece(least, f"{unit}s", t("change.by", unit=unit))
    for name, length in (("years", YEAR), ("months", MONTH)):
        if (many := round(days / length)) > 1 and abs(days - many * length) <= many + 1:
            stretch = {"many": many, "name": name}
            return Piece(days, t("change.stretches", **stretch), t("notice.stretches_changes", **stretch))
    return Piece(days, t("change.stretches_of_days", days=int(days)), t("notice.stretches", days=int(days)))


# -- whole levels ------------------------------------------------------------------------------------------


def _level(hierarchy: Hierarchy, lo: Codes, hi: Codes, shares: Numbers, chosen: int) -> str:
    """Return the name of the level of a hierarchy of categories that has all intervals; empty without one.

    If two levels have the same nodes, it is the chosen one, whose labels are published.
    """
    if hierarchy.scale != "category":
        return ""
    levels = range(1, hierarchy.height)
    for level in sorted(levels, key=lambda level: level != chosen):
        starts = np.array(hierarchy.levels[level].starts)
        index, ends = hierarchy.ancestors[level, lo], np.append(starts[1:], hierarchy.size) - 1
        if (starts[index] == lo).all() and (ends[index] == hi).all():
            if (lo == hi).all():
                return ""
            labels = hierarchy.levels[level].labels
            if digits := _prefix(hierarchy, level):
                return digits
            example = labels[index[int(np.argmax(np.where(lo < hi, shares, -1)))]]
            return t("notice.such", lo=len(lo), example=example)
    return ""


def _prefix(hierarchy: Hierarchy, level: int) -> str:
    """Describe the remaining characters if the labels of a level are prefixes of its leaves."""
    labels, size = hierarchy.levels[level].labels, hierarchy.domain_size
    stems = [label.rstrip("*xX.-_# ") for label in labels]
    pairs = [(hierarchy.leaves[leaf], stems[hierarchy.ancestors[level, leaf]]) for leaf in range(size)]
    lengths = {len(stem) for _, stem in pairs}
    if len(lengths) != 1 or 0 in lengths or not all(leaf.startswith(stem) for leaf, stem in pairs):
        return ""
    left = lengths.pop()
    return t("change.to_digits" if all(stem.isdigit() for _, stem in pairs) else "change.to_characters", left=left)


# -- texts of a file ---------------------------------------------------------------------------------------


LABELS = "single labels"
"""The published form of texts that may be values or names of groups."""


def shown_in_file(texts: Sequence[str], counts: Sequence[int]) -> str:
    """Describe the published form of a column by the texts of a file alone, which do not show changes of values."""
    total = max(sum(counts), 1)
    pieces = [replace(piece, share=count / total) for piece, count in zip(text_pieces(texts), counts, strict=True)]
    alone = [text for text, piece in zip(texts, pieces, strict=True) if piece.noun == EXACT.noun]
    single = EXACT.noun if all(map(_is_value, alone)) else LABELS
    if len(alone) == len(pieces):
        return t("notice.different_ones", single=single, texts=len(set(texts)))
    withheld = sum(piece.share for piece in pieces if piece.noun == ROOT)
    rest = [replace(piece, share=piece.share / (1 - withheld)) for piece in pieces if piece.noun != ROOT]
    if not withheld or not rest:
        return summary(pieces).replace(EXACT.noun, single)
    words = summary(rest).replace(UNCHANGED, f"as {single}").replace(EXACT.noun, single)
    return t("notice.rows", words=words, withheld=withheld)


def _is_value(text: str) -> bool:
    """Return whether a text is missing, a number or a day, and so no name of a group."""
    return not text or isfinite(read_number(text)) or isfinite(read_date(text))


def text_pieces(texts: Sequence[str]) -> list[Piece]:
    """Describe the texts of one column: `90+` is an open range if all others are numbers or ranges.

    >>> [[piece.noun for piece in text_pieces(texts)] for texts in (("20-29", "90+"), ("A+", "0+", "B-"))]
    [['ranges of 10', '90+'], ['single values', 'single values', 'single values']]
    """
    pieces = [text_piece(text) for text in texts]
    is_open = [OPEN_END.fullmatch(text) is not None for text in texts]
    other = sum(
        piece.noun == EXACT.noun and not open_ and not _is_value(text)
        for text, piece, open_ in zip(texts, pieces, is_open, strict=True)
    )
    if other > 1:  # one text may be the name of missing values
        return pieces
    return [open_piece(text) if open_ else piece for text, piece, open_ in zip(texts, pieces, is_open, strict=True)]


def text_piece(text: str) -> Piece:
    """Describe one text of a published file.

    >>> [text_piece(text).noun for text in ("*", "20-29", "{a, b}", "2020-01-01..2020-12-31", "nurse", "-5..-1")]
    ['*', 'ranges of 10', 'sets', 'years', 'single values', 'ranges of 5']
    """
    if text == ROOT:
        return WHOLE
    if text.startswith("{") and text.endswith("}"):
        return Piece(1e299, "sets", t("notice.sets_values"))
    match = next(filter(None, (pattern.fullmatch(text) for pattern in STRETCHES)), None)
    if match is None:
        return EXACT
    first, is_open, last = match.groups()
    start, end = read_date(first), read_date(last)
    if isfinite(start) and isfinite(end):
        return date_piece(start, end)
    low, high = read_number(first), read_number(last)
    if not low < high < inf:
        return EXACT
    return number_piece(low, high, low.is_integer() and high.is_integer() and not is_open)


@dataclass(frozen=True)
class PublishedEnds:
    """The numbers or days of one column that a file shows as an end of a range or as a single value."""

    column: str
    number: int
    of_one_record: int
    """The number of them that exactly one record of the table has."""

    def __str__(self) -> str:
        ends = counted(self.number, t("notice.published_end_value"), t("notice.published_ends_values"))
        belong = t("notice.belongs_record") if self.of_one_record == 1 else t("notice.belong_record_each")
        return f"{self.of_one_record:,} of {ends} of {self.column} {belong}"


def ends_of_single_records(release: Release, ranges: Ranges) -> list[PublishedEnds]:
    """Count the ends for each column of numbers or dates of which one belongs to a single record.

    An end of a band that equals some record's value reveals nothing about the record, so ends count only for tight
    ranges.
    """
    found: list[PublishedEnds] = []
    if release.form == "bucketization" or release.is_exact:
        return found  # every value is published unchanged
    for a, quasi in enumerate(release.cells.quasi):
        hierarchy = quasi.hierarchy
        if hierarchy.scale == "category":
            continue
        lo, hi = release.boxes.lo[:, a], release.boxes.hi[:, a]
        begins, lasts = hierarchy.bands
        exact = (lo == hi) | (ranges == "tight")
        shown = (lo > 0) | (hi < hierarchy.size - 1)
        ends = np.unique(np.append(lo[shown & (exact | (begins[lo] < lo))], hi[shown & (exact | (hi < lasts[hi]))]))
        ends = ends[ends < hierarchy.domain_size]
        single = np.array(hierarchy.firsts) == np.array(hierarchy.lasts)
        ends = ends[single[ends]]  # the end of a leaf that is an interval is nobody's value
        alone = int((release.cells.leaf_counts[a][ends] == 1).sum())
        if alone:
            found.append(PublishedEnds(quasi.name, len(ends), alone))
    return found


def unique_numbers(attribute: Sensitive, histograms: Histograms, place: int) -> int:
    """Count the published numbers of a sensitive column that occur in one record each."""
    once = histograms.of(place).sum(axis=0) == 1
    return sum(isfinite(read_number(label)) for label, alone in zip(attribute.labels, once, strict=True) if alone)
