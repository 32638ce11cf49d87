"""Builders of numeric and date hierarchies: leaves are stretches of values, levels join them."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import pairwise
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from sfumato.configuration import check_whole
from sfumato.errors import BadInputError
from sfumato.table.building import from_level_table
from sfumato.table.hierarchy import ROOT, Hierarchy, Level, Scale, stretch_notations, write_date, write_number

Number = int | float | Decimal
MOST_LEAVES = 200_000
"""A domain with more leaves than this is refused: it needs a coarser resolution."""

LARGEST = 2**53
"""Beyond this whole numbers have no exact floating-point form."""

DATE_LEVELS = ("month", "year", "decade")


def numeric(
    lower: Number,
    upper: Number,
    resolution: Number = 1,
    *,
    intervals: Sequence[Number] = (),
    fan_out: int | None = None,
    quantiles: Sequence[int] = (),
    values: Sequence[float] = (),
    counts: Sequence[int] = (),
    open_below: Number | None = None,
    open_above: Number | None = None,
    continuous: bool = False,
    observed: bool = False,
) -> Hierarchy:
    """Build the hierarchy of a numeric attribute with declared bounds and resolution.

    Leaves are stretches of `resolution`, aligned at its multiples; `continuous` makes them half-open. Levels are
    equal `intervals` (each a multiple of the one before), or join `fan_out` nodes at a time, or are `quantiles` of
    the given `values` with their `counts` (numbers of groups, falling). `open_above=90` makes one leaf `90+` of all
    values from there on, also those above `upper`; `open_below=18` one leaf `<18`.

    >>> numeric(17, 90, intervals=[5, 20]).text(0, 2), numeric(17, 90, open_above=80).leaves[-1]
    ('17-19', '80+')
    """
    low, high, step = (
        _decimal(name, v) for name, v in [("lower", lower), ("upper", upper), ("resolution", resolution)]
    )
    if step <= 0 or high < low:
        raise BadInputError(f"a numeric hierarchy needs lower <= upper and resolution > 0, not {low}, {high}, {step}")
    if not isinstance(continuous, bool):
        raise BadInputError(f"continuous must be true or false, not {continuous!r}")
    if continuous and low == high:
        raise BadInputError(f"a continuous attribute needs lower < upper, not {low} twice")
    if max(abs(low), abs(high)) > LARGEST:
        raise BadInputError(
            f"numbers beyond {LARGEST:,} are too large to be told apart; give the column as text codes, or as --neutral"
        )
    if sum(given is not None and given != () for given in (intervals, fan_out, quantiles)) > 1:
        raise BadInputError("give one of intervals, fan_out and quantiles, not several")
    unit = _unit(low, high, step)
    edges = _edges(low, high, step, unit, continuous, open_below, open_above)
    firsts, lasts, widths = _stretches(edges, unit, continuous, open_below, open_above)
    whole = all(end == int(end) and end >= 0 for end in (*firsts, *lasts) if isfinite(end))
    labels = _leaf_labels(firsts, lasts, whole, continuous)
    groupings: list[NDArray[np.int64]] = []
    if intervals:
        groupings = _equal_intervals(edges, [_decimal("intervals", width) for width in intervals], step)
    elif fan_out is not None:
        groupings = _fan_out(len(firsts), fan_out)
    elif quantiles:
        groupings = _quantiles(np.asarray(firsts), quantiles, np.asarray(values, float), np.asarray(counts, float))
    return _stretch_hierarchy(labels, groupings, firsts, lasts, widths, "number", continuous, observed)


def dates(
    first: datetime.date | str,
    last: datetime.date | str,
    levels: Sequence[str] = DATE_LEVELS,
    observed: bool = False,
) -> Hierarchy:
    """Build the hierarchy of the days from first to last, with months, years and decades above them.

    >>> dates("2019-12-30", "2020-01-02").levels[2].labels
    ('2019', '2020')
    """
    start, end = _date("first", first), _date("last", last)
    unknown = [level for level in levels if level not in DATE_LEVELS]
    if end < start or unknown or list(levels) != [level for level in DATE_LEVELS if level in levels]:
        raise BadInputError(f"dates need first <= last and levels from {', '.join(DATE_LEVELS)} in this order")
    days = range(start.toordinal(), end.toordinal() + 1)
    if len(days) > MOST_LEAVES:
        raise BadInputError(f"{len(days)} days from {start} to {end} are too many; narrow the bounds")
    naming: dict[str, Callable[[datetime.date], str]] = {
        "month": lambda day: f"{day.year:04}-{day.month:02}",
        "year": lambda day: f"{day.year:04}",
        "decade": lambda day: f"{day.year // 10 * 10:04}-{day.year // 10 * 10 + 9:04}",
    }
    all_days = [datetime.date.fromordinal(day) for day in days]
    rows = [[write_date(day.toordinal()), *(naming[level](day) for level in levels), ROOT] for day in all_days]
    stretches = tuple(float(day) for day in days)
    table = from_level_table(rows)
    return Hierarchy(table.levels, table.widths, "date", stretches, stretches, observed=observed)


def _decimal(name: str, value: Number) -> Decimal:
    try:
        number = Decimal(str(value))
    except ArithmeticError:
        number = Decimal("nan")
    if not number.is_finite():
        raise BadInputError(f"{name} must be a finite number, not {value!r}")
    return number


def _date(name: str, value: datetime.date | str) -> datetime.date:
    try:
        return value if isinstance(value, datetime.date) else datetime.date.fromisoformat(str(value))
    except ValueError:
        raise BadInputError(f"{name} must be an ISO date such as 2020-01-31, not {value!r}") from None


def _unit(low: Decimal, high: Decimal, step: Decimal) -> Decimal:
    """Find the distance of neighbouring values: 1 for whole numbers, the step where bounds are its multiples."""
    if all(number == number.to_integral_value() for number in (low, high, step)):
        return Decimal(1)
    if low % step == 0 and high % step == 0:
        return step
    return Decimal(1).scaleb(min(int(number.normalize().as_tuple().exponent) for number in (low, high, step)))


def _edges(
    low: Decimal,
    high: Decimal,
    step: Decimal,
    unit: Decimal,
    continuous: bool,
    below: Number | None,
    above: Number | None,
) -> list[Decimal]:
    """List the lower edges of all leaves and, as the last one, the end of the domain."""
    bottom = low if below is None else _decimal("open_below", below)
    top = high if above is None else _decimal("open_above", above)
    if not low <= bottom < top <= high and not (below is None and above is None):
        raise BadInputError(f"open ends must lie within the bounds {low} and {high} and leave values between them")
    first = (bottom / step).to_integral_value("ROUND_FLOOR")
    count = int((top / step).to_integral_value("ROUND_FLOOR") - first) + 1
    if count > MOST_LEAVES:
        raise BadInputError(f"{count} leaves from {low} to {high} are too many; give a resolution coarser than {step}")
    starts = [max((first + i) * step, bottom) for i in range(count)]
    if above is not None or (continuous and starts[-1] == high > low):
        starts = [edge for edge in starts if edge < top]
    if below is not None:
        starts = [low if low < bottom else bottom - step, *starts]
    if above is not None:
        return [*starts, top, (high if continuous else high + unit) if high > top else top + step]
    return [*starts, high if continuous else high + unit]


def _stretches(
    edges: list[Decimal], unit: Decimal, continuous: bool, below: Number | None, above: Number | None
) -> tuple[list[float], list[float], list[float]]:
    firsts = [float(edge) for edge in edges[:-1]]
    lasts = [float(edge if continuous else edge - unit) for edge in edges[1:]]
    widths = [float((b - a) / (1 if continuous else unit)) for a, b in pairwise(edges)]
    if below is not None:
        firsts[0] = -inf
    if above is not None:
        lasts[-1] = inf
    return firsts, lasts, widths


def _leaf_labels(firsts: list[float], lasts: list[float], whole: bool, continuous: bool) -> list[str]:
    labels = []
    for leaf, (first, last) in enumerate(zip(firsts, lasts, strict=True)):
        if last == inf:
            labels.append(f"{write_number(first)}+")
        elif first == -inf:
            labels.append(f"<{write_number(firsts[leaf + 1])}")
        elif first == last:
            labels.append(write_number(first))
        else:
            half_open = continuous and leaf < len(firsts) - 1
            labels.append(stretch_notations(write_number(first), write_number(last), whole, half_open)[0])
    return labels


def _equal_intervals(edges: list[Decimal], widths: list[Decimal], step: Decimal) -> list[NDArray[np.int64]]:
    for finer, coarser in pairwise([step, *widths]):
        if coarser <= finer or coarser % finer != 0:
            raise BadInputError(
                f"not a tree: intervals of {coarser} do not consist of whole intervals of {finer}; "
                "each width must be a multiple of the one before"
            )
    return [np.array([int((edge / width).to_integral_value("ROUND_FLOOR")) for edge in edges[:-1]]) for width in widths]


def _fan_out(leaves: int, fan_out: int) -> list[NDArray[np.int64]]:
    check_whole("fan_out", fan_out, least=2)
    groupings = []
    group = np.arange(leaves)
    while group[-1] >= fan_out:
        group = group // fan_out
        groupings.append(group)
    return groupings


def _quantiles(
    firsts: NDArray[np.float64],
    parts: Sequence[int],
    values: NDArray[np.float64],
    counts: NDArray[np.float64],
) -> list[NDArray[np.int64]]:
    """Cut the leaves into nested groups of about equal numbers of records."""
    if not len(values) or len(values) != len(counts):
        raise BadInputError("quantiles need the values of the column and as many counts")
    if not np.isfinite(values).all():
        raise BadInputError("quantiles need a column of numbers only")
    if any(a <= b or a % b for a, b in pairwise(parts)) or min(parts) < 2:
        raise BadInputError(f"quantiles must fall, each a divisor of the one before, down to at least 2, not {parts}")
    leaf = np.clip(np.searchsorted(firsts, values, side="right") - 1, 0, None)
    mass = np.bincount(leaf, weights=counts, minlength=len(firsts))
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    return [np.minimum((middle * part).astype(np.int64), part - 1) for part in parts]


def _stretch_hierarchy(
    leaves: list[str],
    groupings: list[NDArray[np.int64]],
    firsts: list[float],
    lasts: list[float],
    widths: list[float],
    scale: Scale,
    continuous: bool,
    observed: bool,
) -> Hierarchy:
    """Put levels of stretches, labelled by the notation of stretches, above the leaves."""
    size = len(leaves)
    bottom = Level(tuple(range(size)), tuple(leaves))
    if size == 1:
        return Hierarchy((bottom,), tuple(widths), scale, tuple(firsts), tuple(lasts), continuous, observed=observed)
    root = Level((0,), (ROOT,))
    plain = Hierarchy((bottom, root), tuple(widths), scale, tuple(firsts), tuple(lasts), continuous)
    levels = [bottom]
    for groups in groupings:
        starts = [0, *(int(i) for i in np.flatnonzero(np.diff(groups)) + 1)]
        if 1 < len(starts) < len(levels[-1].starts):
            ends = [*starts[1:], size]
            levels.append(Level(tuple(starts), tuple(plain.text(a, b - 1) for a, b in zip(starts, ends, strict=True))))
    return Hierarchy((*levels, root), tuple(widths), scale, tuple(firsts), tuple(lasts), continuous, observed=observed)
