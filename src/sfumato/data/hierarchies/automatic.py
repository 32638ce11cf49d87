"""Automatic hierarchies for columns without one: from the values that occur, by their kind."""

from __future__ import annotations

import datetime
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate, cycle
from math import isfinite
from typing import TypeVar

from sfumato.data.hierarchies.categorical import flat, prefixes
from sfumato.data.hierarchies.classifications import looks_like_countries, looks_like_education, looks_like_icd
from sfumato.data.hierarchies.declared import from_entry
from sfumato.data.hierarchies.hierarchy import Hierarchy, round_widths
from sfumato.data.hierarchies.notation import read_date
from sfumato.data.hierarchies.numeric import MOST_LEAVES, dates
from sfumato.errors import BadInputError
from sfumato.texts.catalogue import refusal

Value = TypeVar("Value", int, Decimal)

MOST_CATEGORIES = 10_000
"""The most distinct values of a text column with an automatic hierarchy."""

MOST_CODES = 100_000
"""The number of codes above which they are considered identifiers of persons, not places or the like."""

FINEST = 100_000
"""The most leaves of an automatic numeric domain; above it the resolution is coarser."""

BLANKS = r"[^\S\x1c-\x1f]*"  # float() accepts no separators of files, groups, records and units
NUMBER = re.compile(rf"{BLANKS}[+-]?(\d+\.?\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?|nan|inf|infinity){BLANKS}", re.IGNORECASE)
LEADING_ZERO = re.compile(r"0\d+")
CODE = re.compile(r"(?=.*\d)[0-9A-Za-z]{3,12}")
FEW_YEARS = 5
"""The most years of dates that are also grouped by quarters."""

TAIL = Decimal("0.02")
"""The largest share of the records in a tail of small or of large numbers."""

DECIDING = 5
"""The number of records that determine the ends of numbers or years; fewer in small tables, see `deciding`."""

NEAR = Decimal("0.4")
"""The largest distance of a cut from its quantile, as a share of a part."""

SKEWED = Decimal(5)
"""The least ratio of the largest amount, without a tail, to the median of skewed amounts."""

PARTS = 16
"""The approximate number of parts of skewed amounts, with equal numbers of records."""

FEWEST = 50
"""The least number of records for cuts at quantiles."""

FEW = 20
"""The most distinct codes that are plain categories."""


def looks_numeric(values: Sequence[str]) -> bool:
    """Return whether all values are numbers (including NaN and infinities, so that an error can name them)."""
    return all(map(NUMBER.fullmatch, values)) and not any(map(LEADING_ZERO.fullmatch, values))


def looks_like_dates(values: Sequence[str]) -> bool:
    """Return whether all values are dates: ISO dates or timestamps, or in the form 31.12.1999."""
    return all(isfinite(read_date(value)) for value in values)


def looks_like_codes(values: Sequence[str]) -> bool:
    """Return whether values are many codes of one length, such as ZIP codes."""
    return len(values) > FEW and len({len(value) for value in values}) == 1 and all(map(CODE.fullmatch, values))


def automatic(column: str, values: Sequence[str], counts: Sequence[int] = ()) -> Hierarchy:
    """Build the hierarchy of a quasi-identifier from its distinct values; with their counts, tails become one value."""
    if not values:
        raise refusal("column_no_value_all", column=column)
    structure = structure_of(column, values)
    if structure is not None:
        return from_entry({"type": structure}, lambda: (values, counts))
    if looks_numeric(values):
        try:
            return _numbers(values, counts)
        except BadInputError as error:
            raise BadInputError(f"column {column!r}: {error}") from None
    if looks_like_dates(values):
        years = [datetime.date.fromordinal(int(read_date(value))).year for value in values]
        first, last = datetime.date(min(years), 1, 1), datetime.date(max(years), 12, 31)
        if (last - first).days >= MOST_LEAVES:
            raise refusal(
                "column_days_from_years",
                column=column,
                year=first.year,
                year_2=last.year,
                values=max(values, key=read_date),
            )
        return dates(first, last, date_levels(*reach(years, counts or [1] * len(years))), observed=True)
    if looks_like_codes(values) and len(values) <= MOST_CODES:
        return prefixes(values, observed=True)
    if len(values) > MOST_CATEGORIES:
        raise refusal("too_many_texts", column=column, many_values=len(values))
    return flat(values, observed=True)


STRUCTURES = {"icd": looks_like_icd, "countries": looks_like_countries, "education": looks_like_education}
"""Types of entries for values of known classifications, with their tests."""


def structure_of(column: str, values: Sequence[str]) -> str | None:
    """Return the type of entry for values of a known classification; None for others."""
    if len(values) > MOST_CATEGORIES:
        return None
    return next((name for name, fits in STRUCTURES.items() if fits(column, values)), None)


def date_levels(first: int, last: int) -> list[str]:
    """Return the levels above days for the first and the last year: quarters if there are few years."""
    quarters = ["quarter"] if last - first < FEW_YEARS else []
    return ["month", *quarters, "year", *(["decade"] if first // 10 < last // 10 else [])]


# -- protection of single records in automatic bounds ----------------------------------------------------------------
#
# A published interval reveals how its column was cut. If the largest value or the longest fraction decided this, a
# file would reveal a fact about a single record that it does not contain.


def deciding(records: int) -> int:
    """Return the number of records that decide: at most a tail and one; in fewer than 50 records each one decides."""
    return min(DECIDING, int(TAIL * records) + 1)


def reach(values: Sequence[Value], counts: Sequence[int]) -> tuple[Value, Value]:
    """Return a low and a high value such that enough records are at or beyond each of them."""
    ordered = sorted(zip(values, counts, strict=True))
    wanted = deciding(sum(counts))
    return _reached(ordered, wanted), _reached(ordered[::-1], wanted)


def _reached(ordered: Sequence[tuple[Value, int]], wanted: int) -> Value:
    summed = list(accumulate(count for _, count in ordered))
    return ordered[bisect_left(summed, wanted)][0]


# -- numbers -------------------------------------------------------------------------------------------------------


def _numbers(values: Sequence[str], counts: Sequence[int]) -> Hierarchy:
    """Build leaves at the resolution of the data, or coarser if these would be too many."""
    numbers = [Decimal(value.strip()) for value in values]
    if min(numbers) == max(numbers):
        return flat(values, observed=True)
    return from_entry(Core.of(numbers, counts or [1] * len(numbers)).entry(FINEST), lambda: ((), ()))


@dataclass(frozen=True)
class Core:
    """The interval of nearly all numbers of a column; the numbers outside of it are a leaf at either end."""

    low: Decimal
    high: Decimal
    least: Decimal
    most: Decimal
    """The smallest and the largest number of all."""

    exponent: int
    """The last digits have the value 10^exponent."""

    finer: bool
    """Whether a few numbers have further digits."""

    counted: tuple[tuple[Decimal, int], ...] = ()
    """All numbers in order, each with its records."""

    @staticmethod
    def of(numbers: Sequence[Decimal], counts: Sequence[int], enough: int = FEW) -> Core:
        """Compute it: a tail has a share of at most `TAIL` of the records and extends farther than all the others."""
        ordered = sorted(zip(numbers, counts, strict=True))
        low, high = reach(numbers, counts)
        digits = [_last_digit(number) for number in numbers]
        exponent = reach(digits, counts)[0]
        ends = ordered[0][0], ordered[-1][0], exponent, min(digits) < exponent, tuple(ordered)
        if len(ordered) <= enough:
            return Core(low, high, *ends)
        summed = list(accumulate(count for _, count in ordered))
        first = ordered[bisect_right(summed, TAIL * summed[-1])][0]
        last = ordered[bisect_left(summed, (1 - TAIL) * summed[-1])][0]
        below, above = Decimal(0) < last - first < first - low, Decimal(0) < last - first < high - last
        return Core(first if below else low, last if above else high, *ends)

    def entry(self, leaves: int, levels: bool = True) -> dict[str, object]:
        """Declare round bounds and intervals, fewer leaves than `leaves`, and tails as one leaf.

        If one interval would contain more than half of the records, the cuts are round numbers near quantiles instead.
        The quantiles are those of the leaves, or of the levels above them for amounts whose largest are many times the
        median.
        """
        span = rounded_span(self.low, self.high, self.exponent, leaves, self.finer)
        if not levels and self._holds_most(span.resolution):
            return self._cut_at_quantiles(span, leaves)
        entry: dict[str, object] = {"type": "numeric", "lower": plain(span.lower), "upper": plain(span.upper)}
        if span.resolution != 1:
            entry["resolution"] = plain(span.resolution)
        if levels and span.intervals:
            cuts = self._nested_cuts(span) if self._holds_most(span.intervals[-1]) else []
            entry |= {"cuts": cuts} if cuts else {"intervals": [plain(width) for width in span.intervals]}
        if self.least < span.lower:
            entry["open_below"] = plain(span.lower)
        if self.most >= span.end and (self.most > span.end or not span.continuous):
            entry["upper"] = entry["open_above"] = plain(span.end)
        if span.continuous:
            entry["continuous"] = True
        return entry | {"observed": True}

    def _holds_most(self, width: Decimal) -> bool:
        """Return whether an interval of this width, but no single number, contains more than half of the records."""
        records = sum(count for _, count in self.counted)
        held: Counter[Decimal] = Counter()
        for number, count in self.counted:
            held[(number / width).to_integral_value("ROUND_FLOOR")] += count
        most = max((count for _, count in self.counted), default=0)
        return records >= FEWEST and 2 * max(held.values()) > records >= 2 * most

    def _cut_at_quantiles(self, span: Span, leaves: int) -> dict[str, object]:
        """Declare leaves that begin at round numbers near quantiles; the last one has an open end."""
        whole = self.exponent >= 0 and not self.finer
        lower = Decimal(0) if self.least >= 0 and span.lower < span.resolution else span.lower
        unit = Decimal(1) if whole else Decimal(1).scaleb(max(self.exponent, -6))
        cuts = [cut for cut in round_quantiles(self.counted, min(leaves, PARTS), unit) if cut > lower]
        entry: dict[str, object] = {"type": "numeric", "lower": plain(lower), "upper": plain(cuts[-1])}
        if len(cuts) > 1:
            entry["edges"] = [plain(cut) for cut in cuts[:-1]]
        if self.least < lower:
            entry["open_below"] = plain(lower)
        entry["open_above"] = plain(cuts[-1])
        return entry | ({} if whole else {"continuous": True}) | {"observed": True}

    def _nested_cuts(self, span: Span) -> list[list[int | float]]:
        """Return the cuts of three levels, each with half as many as the one below; empty if amounts are not skewed."""
        if self.low < 0 or self.high < SKEWED * _reached(self.counted, sum(n for _, n in self.counted) // 2 + 1):
            return []
        cuts = round_quantiles(self.counted, PARTS, max(span.resolution, Decimal(1).scaleb(max(self.exponent, -6))))
        cuts = [cut for cut in cuts if span.lower < cut < span.end and cut % span.resolution == 0]
        levels = [cuts, cuts[1::2], cuts[3::4]]
        return [[plain(cut) for cut in level] for level in levels if level]


def round_quantiles(counted: Sequence[tuple[Decimal, int]], parts: int, unit: Decimal) -> list[Decimal]:
    """Cut sorted numbers with counts into about `parts` parts of equally many records, at round multiples of a unit.

    A cut is the roundest number between two quantiles, each less than half a part away from the intended one.

    >>> [int(cut) for cut in round_quantiles([(Decimal(n), 1) for n in range(1, 101)], 4, Decimal(1))]
    [20, 50, 80]
    """
    records = sum(count for _, count in counted)
    summed = list(accumulate(count for _, count in counted))

    def quantile(share: Decimal) -> Decimal:
        return counted[min(bisect_left(summed, share * records), len(counted) - 1)][0]

    cuts: list[Decimal] = []
    for part in range(1, parts):
        low, high = (quantile((part + side * NEAR) / Decimal(parts)) for side in (-1, 1))
        middle = quantile(Decimal(part) / parts)
        cut = _roundest(max([low, *cuts[-1:]]), high, middle, unit)
        if cut is not None:
            cuts.append(cut)
    return cuts


def _roundest(low: Decimal, high: Decimal, middle: Decimal, unit: Decimal) -> Decimal | None:
    """Return the multiple of 1, 2 or 5 times the largest power of ten above low, and at most high."""
    power = Decimal(1).scaleb((high - low).adjusted() + 1) if high > low else Decimal(0)
    while power >= unit:
        for step in (5 * power, 2 * power, power):
            nearest = (middle / step).to_integral_value() * step
            for multiple in (nearest, nearest + step, nearest - step):
                if low < multiple <= high and multiple % unit == 0:
                    return multiple
        power /= 10
    return None


@dataclass(frozen=True)
class Span:
    """Bounds, resolution and levels for an interval of numbers."""

    lower: Decimal
    upper: Decimal
    end: Decimal
    """The first value beyond; the upper bound itself for continuous values."""

    resolution: Decimal
    intervals: tuple[Decimal, ...]
    continuous: bool


def rounded_span(low: Decimal, high: Decimal, exponent: int, most: int, finer: bool = False) -> Span:
    """Cover numbers with last digits at 10^exponent by fewer than `most` leaves, and levels of round intervals.

    If some have `finer` digits, leaves are half-open intervals, which contain them.

    The bounds are multiples of the coarsest interval, so that no label reveals the smallest or largest value.

    >>> [int(width) for width in rounded_span(Decimal(17), Decimal(90), 0, 1000).intervals]
    [5, 10, 20]
    """
    finest = Decimal(1).scaleb(max(exponent, -6))
    step = finest
    factors = cycle((5, 2))
    while (high - low) / step >= most:
        step *= next(factors)
    continuous = finer or exponent < -6 or (step > finest and finest < 1)
    widths = (step, *round_widths(high - low, step))
    bottom = (low / widths[-1]).to_integral_value("ROUND_FLOOR") * widths[-1]
    top = ((high / widths[-1]).to_integral_value("ROUND_FLOOR") + 1) * widths[-1]
    upper = top if continuous else top - (Decimal(1) if finest >= 1 else finest)
    return Span(bottom, upper, top, step, widths[1:], continuous)


def _last_digit(number: Decimal) -> int:
    """The power of ten of the last digit that is not zero, at most 0."""
    exponent = number.normalize().as_tuple().exponent
    return min(int(exponent), 0)


def plain(number: Decimal) -> int | float:
    """Write a number as a TOML file would."""
    return int(number) if number == number.to_integral_value() else float(number)
