"""Automatic hierarchies for columns that have none: from the values that occur, by what they look like."""

from __future__ import annotations

import datetime
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate, cycle
from math import isfinite
from typing import TypeVar

from sfumato.errors import BadInputError
from sfumato.table.hierarchies.categories import flat, prefixes
from sfumato.table.hierarchies.declared import from_entry
from sfumato.table.hierarchies.hierarchy import Hierarchy, read_date
from sfumato.table.hierarchies.ranges import MOST_LEAVES, dates
from sfumato.table.structures.countries import looks_like_countries
from sfumato.table.structures.education import looks_like_education
from sfumato.table.structures.icd import looks_like_icd

Value = TypeVar("Value", int, Decimal)

MOST_CATEGORIES = 10_000
"""A text column with more distinct values than this gets no automatic hierarchy."""

MOST_CODES = 100_000
"""More codes than this are taken for the identifiers of persons, not for places or the like."""

FINEST = 100_000
"""An automatic numeric domain has fewer leaves than this: its resolution becomes coarser."""

NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|nan|inf|infinity)\s*", re.IGNORECASE)
LEADING_ZERO = re.compile(r"0\d+")
CODE = re.compile(r"(?=.*\d)[0-9A-Za-z]{3,12}")
FEW_YEARS = 5
"""Dates of fewer years than this are grouped by quarters as well."""

BROADEST = 6
"""The coarsest intervals of numbers cut their stretch into at most so many."""

TAIL = Decimal("0.02")
"""At most this share of the records is a tail of small or of large numbers."""

DECIDING = 5
"""So many records together decide where numbers or years begin and end; fewer in small tables, see `deciding`."""

FEW = 20
"""Up to this many distinct codes are shown as plain categories."""


def looks_numeric(values: Sequence[str]) -> bool:
    """Say whether all values are numbers (NaN and infinities included, so that they can be named in an error)."""
    return all(map(NUMBER.fullmatch, values)) and not any(map(LEADING_ZERO.fullmatch, values))


def looks_like_dates(values: Sequence[str]) -> bool:
    """Say whether all values are dates: ISO dates or timestamps, or written as 31.12.1999."""
    return all(isfinite(read_date(value)) for value in values)


def looks_like_codes(values: Sequence[str]) -> bool:
    """Say whether values are many codes of one length, such as ZIP codes."""
    return len(values) > FEW and len({len(value) for value in values}) == 1 and all(map(CODE.fullmatch, values))


def automatic(column: str, values: Sequence[str], counts: Sequence[int] = ()) -> Hierarchy:
    """Build the hierarchy of a quasi-identifier from its distinct values; with their counts, tails become one value."""
    if not values:
        raise BadInputError(f"column {column!r} has no value at all; leave it out of the quasi-identifiers")
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
            raise BadInputError(
                f"column {column!r} has days from the years {first.year:04} to {last.year:04}, which are too many; "
                f"declare those missing that stand for no day (such as --na {max(values, key=read_date)}), or give it "
                "a hierarchy (--hierarchies)"
            )
        return dates(first, last, date_levels(*reach(years, counts or [1] * len(years))), observed=True)
    if looks_like_codes(values) and len(values) <= MOST_CODES:
        return prefixes(values, observed=True)
    if len(values) > MOST_CATEGORIES:
        raise BadInputError(
            f"column {column!r} has {len(values):,} distinct texts and no hierarchy; give it one (--hierarchies), "
            "or give it another role: --identifier drops it, --neutral publishes it as it is"
        )
    return flat(values, observed=True)


STRUCTURES = {"icd": looks_like_icd, "countries": looks_like_countries, "education": looks_like_education}
"""Types of entries for values that the world has put in order, and what tells them."""


def structure_of(column: str, values: Sequence[str]) -> str | None:
    """Name the type of entry for values that the world has put in order; None where they are no such values."""
    if len(values) > MOST_CATEGORIES:
        return None
    return next((name for name, fits in STRUCTURES.items() if fits(column, values)), None)


def date_levels(first: int, last: int) -> list[str]:
    """Choose the levels above days, given the first and the last year: quarters where there are few years."""
    quarters = ["quarter"] if last - first < FEW_YEARS else []
    return ["month", *quarters, "year", *(["decade"] if first // 10 < last // 10 else [])]


# -- what few records cannot decide ----------------------------------------------------------------------------------
#
# Whoever knows this code reads from a published interval how the column was cut. Were that decided by the largest value
# or the longest fraction, a file would tell of a single record that it does not hold.


def deciding(records: int) -> int:
    """Say how many records it takes: never more than a tail and one; in fewer than 50 records each one decides."""
    return min(DECIDING, int(TAIL * records) + 1)


def reach(values: Sequence[Value], counts: Sequence[int]) -> tuple[Value, Value]:
    """Find a low and a high value beyond which, it included, are enough records to decide."""
    ordered = sorted(zip(values, counts, strict=True))
    wanted = deciding(sum(counts))
    return _reached(ordered, wanted), _reached(ordered[::-1], wanted)


def _reached(ordered: Sequence[tuple[Value, int]], wanted: int) -> Value:
    summed = list(accumulate(count for _, count in ordered))
    return ordered[bisect_left(summed, wanted)][0]


# -- numbers -------------------------------------------------------------------------------------------------------


def _numbers(values: Sequence[str], counts: Sequence[int]) -> Hierarchy:
    """Leaves at the resolution of the data, or coarser where these would be too many."""
    numbers = [Decimal(value.strip()) for value in values]
    if min(numbers) == max(numbers):
        return flat(values, observed=True)
    return from_entry(Core.of(numbers, counts or [1] * len(numbers)).entry(FINEST), lambda: ((), ()))


@dataclass(frozen=True)
class Core:
    """The stretch in which nearly all numbers of a column are; what lies outside of it is a leaf at either end."""

    low: Decimal
    high: Decimal
    least: Decimal
    most: Decimal
    """The smallest and the largest number of all."""

    exponent: int
    """Last digits stand at 10^exponent."""

    finer: bool
    """Whether a few numbers have digits behind that."""

    @staticmethod
    def of(numbers: Sequence[Decimal], counts: Sequence[int], enough: int = FEW) -> Core:
        """Find it: a tail is a share of at most `TAIL` of the records that reaches farther than all the others."""
        ordered = sorted(zip(numbers, counts, strict=True))
        low, high = reach(numbers, counts)
        digits = [_last_digit(number) for number in numbers]
        exponent = reach(digits, counts)[0]
        ends = ordered[0][0], ordered[-1][0], exponent, min(digits) < exponent
        if len(ordered) <= enough:
            return Core(low, high, *ends)
        summed = list(accumulate(count for _, count in ordered))
        first = ordered[bisect_right(summed, TAIL * summed[-1])][0]
        last = ordered[bisect_left(summed, (1 - TAIL) * summed[-1])][0]
        below, above = Decimal(0) < last - first < first - low, Decimal(0) < last - first < high - last
        return Core(first if below else low, last if above else high, *ends)

    def entry(self, leaves: int, levels: bool = True) -> dict[str, object]:
        """Declare round bounds and intervals, fewer leaves than said, and tails as one leaf."""
        span = rounded_span(self.low, self.high, self.exponent, leaves, self.finer)
        entry: dict[str, object] = {"type": "numeric", "lower": plain(span.lower), "upper": plain(span.upper)}
        if span.resolution != 1:
            entry["resolution"] = plain(span.resolution)
        if levels and span.intervals:
            entry["intervals"] = [plain(width) for width in span.intervals]
        if self.least < span.lower:
            entry["open_below"] = plain(span.lower)
        if self.most >= span.end and (self.most > span.end or not span.continuous):
            entry["upper"] = entry["open_above"] = plain(span.end)
        if span.continuous:
            entry["continuous"] = True
        return entry | {"observed": True}


@dataclass(frozen=True)
class Span:
    """Bounds, resolution and levels for a stretch of numbers."""

    lower: Decimal
    upper: Decimal
    end: Decimal
    """The first value beyond; the upper bound itself where values are continuous."""

    resolution: Decimal
    intervals: tuple[Decimal, ...]
    continuous: bool


def rounded_span(low: Decimal, high: Decimal, exponent: int, most: int, finer: bool = False) -> Span:
    """Cover numbers whose last digits stand at 10^exponent: fewer leaves than `most`, and levels of round intervals.

    Where some have `finer` digits, leaves are half-open stretches, which hold them.

    The bounds are multiples of the coarsest interval, so that no label tells the smallest or largest value.

    >>> [int(width) for width in rounded_span(Decimal(17), Decimal(90), 0, 1000).intervals]
    [5, 10, 20]
    """
    finest = Decimal(1).scaleb(max(exponent, -6))
    step = finest
    factors = cycle((5, 2))
    while (high - low) / step >= most:
        step *= next(factors)
    continuous = finer or exponent < -6 or (step > finest and finest < 1)
    widths = (step, *_round_widths(high - low, step))
    bottom = (low / widths[-1]).to_integral_value("ROUND_FLOOR") * widths[-1]
    top = ((high / widths[-1]).to_integral_value("ROUND_FLOOR") + 1) * widths[-1]
    upper = top if continuous else top - (Decimal(1) if finest >= 1 else finest)
    return Span(bottom, upper, top, step, widths[1:], continuous)


def _round_widths(reach: Decimal, step: Decimal) -> list[Decimal]:
    """Choose the widths of levels as a person would: up to `BROADEST` groups at the top, halves of these, tens below.

    These are 5, 10 and 20; 5, 10 and 50; 5, 25, 50 and 100; or the same with zeros behind them.
    """
    if reach <= 2 * step:
        return []
    ten = Decimal(1).scaleb((reach / BROADEST).adjusted())
    top = max(next(width for width in (ten, 2 * ten, 5 * ten, 10 * ten) if reach <= BROADEST * width), 5 * step)
    if top.normalize().as_tuple().digits == (1,):
        quarter = top / 4 % step == 0
        widths = [top, top / 2, *([top / 4, top / 20] if quarter else [top / 10])]
    else:
        widths = [top, *([top / 2, top / 4] if top.normalize().as_tuple().digits == (2,) else [top / 5, top / 10])]
    while widths[-1] / 10 > step:
        widths.append(Decimal(1).scaleb((widths[-1] / 2).adjusted()))
    return sorted(width for width in widths if width > step and width % step == 0)


def _last_digit(number: Decimal) -> int:
    """The power of ten of the last digit that is not zero, at most 0."""
    exponent = number.normalize().as_tuple().exponent
    return min(int(exponent), 0)


def plain(number: Decimal) -> int | float:
    """Write a number as a TOML file would."""
    return int(number) if number == number.to_integral_value() else float(number)
