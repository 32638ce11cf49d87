"""Builders of numeric and date hierarchies: leaves are stretches of values, levels join them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.configuration import check_whole
from sfumato.errors import BadInputError
from sfumato.table.hierarchies.hierarchy import ROOT, Hierarchy, Level, stretch_notations, write_number

Number = int | float | Decimal
MOST_LEAVES = 2_000_000
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
    ends = np.array([firsts, lasts])
    ends = ends[np.isfinite(ends)]
    whole = bool(((ends == np.floor(ends)) & (ends >= 0)).all())
    labels = _leaf_labels(firsts, lasts, whole, continuous)
    groupings: Sequence[NDArray[Any]] = []
    if intervals:
        groupings = _equal_intervals(edges, [_decimal("intervals", width) for width in intervals], step)
    elif fan_out is not None:
        groupings = _fan_out(len(firsts), fan_out)
    elif quantiles:
        groupings = _quantiles(np.asarray(firsts), quantiles, np.asarray(values, float), np.asarray(counts, float))
    return _stretch_hierarchy(labels, groupings, firsts, lasts, widths, continuous, observed)


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
    every = np.datetime64(start.isoformat()) + np.arange(len(days))
    years = every.astype("datetime64[Y]").astype(np.int64) + 1970
    parts = {"month": every.astype("datetime64[M]"), "year": years, "decade": years // 10 * 10}
    grown = [Level(tuple(range(len(days))), tuple(np.datetime_as_string(every).tolist()))]
    for level in levels:
        starts = np.flatnonzero(np.append(True, parts[level][1:] != parts[level][:-1]))
        grown.append(Level(tuple(starts.tolist()), _date_labels(level, parts[level][starts])))
    stretches = tuple(map(float, days))
    levels_above = (*grown, Level((0,), (ROOT,)))
    return Hierarchy(levels_above, (1.0,) * len(days), "date", stretches, stretches, observed=observed)


def _date_labels(level: str, parts: NDArray[Any]) -> tuple[str, ...]:
    """Write months, years or decades."""
    if level == "month":
        return tuple(np.datetime_as_string(parts).tolist())
    return tuple(f"{year:04}" if level == "year" else f"{year:04}-{year + 9:04}" for year in parts.tolist())


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
) -> Edges:
    """List the lower edges of all leaves and, as the last one, the end of the domain."""
    bottom = low if below is None else _decimal("open_below", below)
    top = high if above is None else _decimal("open_above", above)
    if not low <= bottom < top <= high and not (below is None and above is None):
        raise BadInputError(f"open ends must lie within the bounds {low} and {high} and leave values between them")
    first = int((bottom / step).to_integral_value("ROUND_FLOOR"))
    count = int((top / step).to_integral_value("ROUND_FLOOR")) - first + 1
    if count > MOST_LEAVES:
        raise BadInputError(f"{count} leaves from {low} to {high} are too many; give a resolution coarser than {step}")
    grid = Edges.scale_of(low, high, step, unit, bottom, top)
    bottom_edge, top_edge, stride = grid.whole(bottom), grid.whole(top), grid.whole(step)
    starts = [max((first + i) * stride, bottom_edge) for i in range(count)]
    if above is not None or (continuous and starts[-1] == grid.whole(high) > grid.whole(low)):
        starts = [edge for edge in starts if edge < top_edge]
    if below is not None:
        starts = [grid.whole(low) if low < bottom else bottom_edge - stride, *starts]
    beyond = grid.whole(high) if continuous else grid.whole(high) + grid.whole(unit)
    if above is not None:
        return grid.at([*starts, top_edge, beyond if high > top else top_edge + stride])
    return grid.at([*starts, beyond])


@dataclass(frozen=True, eq=False)
class Edges:
    """Numbers on a common grid: whole multiples of 1 / parts, so that a million of them are exact and quick."""

    parts: int
    places: NDArray[Any]
    """Whole numbers, as Python's own where they are too large for floating-point numbers to hold."""

    @staticmethod
    def scale_of(*numbers: Decimal) -> Edges:
        """Take the coarsest decimal grid on which all these numbers are."""
        finest = min(0, *(int(number.normalize().as_tuple().exponent) for number in numbers))
        return Edges(10**-finest, np.zeros(0, np.int64))

    def whole(self, number: Decimal) -> int:
        """Say at which multiple a number is."""
        return int(number * self.parts)

    def at(self, places: list[int]) -> Edges:
        """Put edges on this grid."""
        small = max(abs(places[0]), abs(places[-1]), self.parts) <= LARGEST
        return Edges(self.parts, np.array(places, np.int64 if small else object))

    def floats(self, places: NDArray[Any], per: int | None = None) -> list[float]:
        """Write places as floating-point numbers (or as multiples of a unit), rounded once."""
        return [float(number) for number in (places / (per or self.parts)).tolist()]


def _stretches(
    edges: Edges, unit: Decimal, continuous: bool, below: Number | None, above: Number | None
) -> tuple[list[float], list[float], list[float]]:
    places, step = edges.places, edges.whole(unit)
    firsts = edges.floats(places[:-1])
    lasts = edges.floats(places[1:] if continuous else places[1:] - step)
    widths = edges.floats(np.diff(places), edges.parts if continuous else step)
    if below is not None:
        firsts[0] = -inf
    if above is not None:
        lasts[-1] = inf
    return firsts, lasts, widths


def _leaf_labels(firsts: list[float], lasts: list[float], whole: bool, continuous: bool) -> list[str]:
    if firsts == lasts and whole:
        return [str(int(first)) for first in firsts]
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


def _equal_intervals(edges: Edges, widths: list[Decimal], step: Decimal) -> list[NDArray[Any]]:
    for finer, coarser in pairwise([step, *widths]):
        if coarser <= finer or coarser % finer != 0:
            raise BadInputError(
                f"not a tree: intervals of {coarser} do not consist of whole intervals of {finer}; "
                "each width must be a multiple of the one before"
            )
    return [edges.places[:-1] // edges.whole(width) for width in widths]


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
    groupings: Sequence[NDArray[Any]],
    firsts: list[float],
    lasts: list[float],
    widths: list[float],
    continuous: bool,
    observed: bool,
) -> Hierarchy:
    """Put levels of stretches, labelled by the notation of stretches, above the leaves."""
    size = len(leaves)
    bottom = Level(tuple(range(size)), tuple(leaves))
    above = (Level((0,), (ROOT,)),) if size > 1 else ()
    ends = tuple(firsts), tuple(lasts)
    plain = Hierarchy((bottom, *above), tuple(widths), "number", *ends, continuous, observed=observed)
    levels = [bottom]
    for groups in groupings:
        starts = [0, *(np.flatnonzero(groups[1:] != groups[:-1]) + 1).tolist()]
        if 1 < len(starts) < len(levels[-1].starts):
            levels.append(Level(tuple(starts), tuple(plain.stretch_texts(starts, [*starts[1:], size]))))
    return replace(plain, levels=(*levels, *above))
