"""Automatic hierarchies for columns that have none: from the values that occur, by what they look like."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite

from sfumato.errors import BadInputError
from sfumato.table.hierarchies.categories import flat, prefixes
from sfumato.table.hierarchies.hierarchy import Hierarchy, read_date
from sfumato.table.hierarchies.ranges import dates, numeric

MOST_CATEGORIES = 10_000
"""A text column with more distinct values than this gets no automatic hierarchy."""

MOST_CODES = 100_000
"""More codes than this are taken for the identifiers of persons, not for places or the like."""

FINEST = 100_000
"""An automatic numeric domain has fewer leaves than this: its resolution becomes coarser."""

NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|nan|inf|infinity)\s*", re.IGNORECASE)
LEADING_ZERO = re.compile(r"0\d+")
CODE = re.compile(r"(?=.*\d)[0-9A-Za-z]{3,12}")
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


def automatic(column: str, values: Sequence[str]) -> Hierarchy:
    """Build the hierarchy of a quasi-identifier from its distinct values."""
    if not values:
        raise BadInputError(f"column {column!r} has no value at all; leave it out of the quasi-identifiers")
    if looks_numeric(values):
        try:
            return _numbers(values)
        except BadInputError as error:
            raise BadInputError(f"column {column!r}: {error}") from None
    if looks_like_dates(values):
        years = [datetime.date.fromordinal(int(read_date(value))).year for value in values]
        return dates(datetime.date(min(years), 1, 1), datetime.date(max(years), 12, 31), observed=True)
    if looks_like_codes(values) and len(values) <= MOST_CODES:
        return prefixes(values, observed=True)
    if len(values) > MOST_CATEGORIES:
        raise BadInputError(
            f"column {column!r} has {len(values):,} distinct texts and no hierarchy; give it one (--hierarchies), "
            "or give it another role: --identifier drops it, --neutral publishes it as it is"
        )
    return flat(values, observed=True)


def _numbers(values: Sequence[str]) -> Hierarchy:
    """Leaves at the resolution of the data, or coarser where these would be too many."""
    numbers = [Decimal(value.strip()) for value in values]
    low, high = min(numbers), max(numbers)
    if low == high:
        return flat(values, observed=True)
    span = rounded_span(low, high, min(_last_digit(number) for number in numbers), FINEST)
    return numeric(
        span.lower, span.upper, span.resolution, intervals=span.intervals, continuous=span.continuous, observed=True
    )


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


def rounded_span(low: Decimal, high: Decimal, exponent: int, most: int) -> Span:
    """Cover numbers whose last digits stand at 10^exponent: fewer leaves than `most`, and levels x5, x2, x5, ...

    The bounds are multiples of the coarsest interval, so that no label tells the smallest or largest value.
    """
    finest = Decimal(1).scaleb(max(exponent, -6))
    step = finest
    factors = _factors()
    while (high - low) / step >= most:
        step *= next(factors)
    continuous = exponent < -6 or (step > finest and finest < 1)
    widths = [step]
    while widths[-1] * 2 < high - low:
        widths.append(widths[-1] * next(factors))
    bottom = (low / widths[-1]).to_integral_value("ROUND_FLOOR") * widths[-1]
    top = ((high / widths[-1]).to_integral_value("ROUND_FLOOR") + 1) * widths[-1]
    upper = top if continuous else top - (Decimal(1) if finest >= 1 else finest)
    return Span(bottom, upper, top, step, tuple(widths[1:]), continuous)


def _last_digit(number: Decimal) -> int:
    """The power of ten of the last digit that is not zero, at most 0."""
    exponent = number.normalize().as_tuple().exponent
    return min(int(exponent), 0)


def _factors() -> Iterator[int]:
    while True:
        yield 5
        yield 2
