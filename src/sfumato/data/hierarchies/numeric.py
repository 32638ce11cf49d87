"""Builders of numeric and date hierarchies: leaves are intervals of values, levels join them."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.config.options import check_whole
from sfumato.data.hierarchies.hierarchy import ROOT, Hierarchy, Level
from sfumato.data.hierarchies.notation import stretch_notations, write_date, write_number
from sfumato.texts.catalogue import refusal

Number = int | float | Decimal
MOST_LEAVES = 2_000_000
"""The most leaves of a domain; a larger one needs a coarser resolution."""

LARGEST = 2**53
"""The largest whole number with an exact floating-point form."""

DATE_LEVELS = ("month", "quarter", "year", "decade")
USUAL_DATE_LEVELS = ("month", "year", "decade")


def numeric(
    lower: Number,
    upper: Number,
    resolution: Number = 1,
    *,
    edges: Sequence[Number] = (),
    intervals: Sequence[Number] = (),
    fan_out: int | None = None,
    quantiles: Sequence[int] = (),
    cuts: Sequence[Sequence[Number]] = (),
    labels: Mapping[str, str] | None = None,
    values: Sequence[float] = (),
    counts: Sequence[int] = (),
    open_below: Number | None = None,
    open_above: Number | None = None,
    continuous: bool = False,
    observed: bool = False,
) -> Hierarchy:
    """Build the hierarchy of a numeric attribute with declared bounds and resolution.

    Leaves are intervals of length `resolution`, aligned at its multiples, or begin at `edges` after the first;
    `continuous` makes them half-open. Levels are equal `intervals` (each a multiple of the one before), or join
    `fan_out` nodes at a time. They can also be `quantiles` of the given `values` with their `counts` (decreasing
    numbers of groups), or have `cuts`, a list for each level. `labels` rename intervals (`{"0-17": "minor"}`).
    `open_above=90` makes one leaf `90+` of all values from there on, also those above `upper`; `open_below=18` one
    leaf `<18`.

    >>> numeric(17, 90, intervals=[5, 20]).text(0, 2), numeric(17, 90, open_above=80).leaves[-1]
    ('17-19', '80+')
    """
    low, high, step = (
        _decimal(name, v) for name, v in [("lower", lower), ("upper", upper), ("resolution", resolution)]
    )
    if step <= 0 or high < low:
        raise refusal("numeric_hierarchy_needs_lower", low=low, high=high, step=step)
    if not isinstance(continuous, bool):
        raise refusal("continuous_must_true_false", continuous=continuous)
    if continuous and low == high:
        raise refusal("continuous_attribute_needs_lower", low=low)
    if max(abs(low), abs(high)) > LARGEST:
        raise refusal("numbers_too_large", largest=LARGEST)
    if sum(given is not None and len(given) > 0 for given in (intervals, quantiles, cuts)) + (fan_out is not None) > 1:
        raise refusal("give_intervals")
    unit = _unit(low, high, step)
    own = [_decimal("edges", edge) for edge in edges]
    places = _edges(low, high, step, unit, continuous, open_below, open_above, own)
    firsts, lasts, widths = _stretches(places, unit, continuous, open_below, open_above)
    ends = np.array([firsts, lasts])
    ends = ends[np.isfinite(ends)]
    whole = bool(((ends == np.floor(ends)) & (ends >= 0)).all())
    leaves = _leaf_labels(firsts, lasts, whole, continuous)
    groupings: Sequence[NDArray[Any]] = []
    if intervals:
        groupings = _equal_intervals(places, [_decimal("intervals", width) for width in intervals], step)
    elif fan_out is not None:
        groupings = _fan_out(len(firsts), fan_out)
    elif quantiles:
        groupings = _quantiles(np.asarray(firsts), quantiles, np.asarray(values, float), np.asarray(counts, float))
    elif cuts:
        edges_at = [[float(_decimal("cuts", cut)) for cut in _level_of_cuts(level)] for level in cuts]
        groupings = _own_cuts(firsts, edges_at, write_number)
    plain = _stretch_hierarchy(leaves, groupings, firsts, lasts, widths, continuous, observed)
    return renamed(plain, labels)


def dates(
    first: datetime.date | str,
    last: datetime.date | str,
    levels: Sequence[str] | None = None,
    observed: bool = False,
    *,
    cuts: Sequence[Sequence[datetime.date | str]] = (),
    labels: Mapping[str, str] | None = None,
) -> Hierarchy:
    """Build the hierarchy of the days from first to last, with months, years and decades (or quarters) above them.

    Instead, levels may have `cuts`, a list of days for each level.

    >>> dates("2019-12-30", "2020-01-02").levels[2].labels
    ('2019', '2020')
    >>> dates("2020-06-30", "2020-07-01", ["quarter"]).levels[1].labels
    ('2020-Q2', '2020-Q3')
    >>> dates("2020-01-01", "2020-12-31", cuts=[["2020-02-01", "2020-06-15"]]).levels[1].labels
    ('2020-01', '2020-02-01..2020-06-14', '2020-06-15..2020-12-31')
    """
    start, end = _date("first", first), _date("last", last)
    if levels is not None and len(cuts):
        raise refusal("give_levels_cuts")
    named = (() if len(cuts) else USUAL_DATE_LEVELS) if levels is None else levels
    unknown = [level for level in named if level not in DATE_LEVELS]
    if end < start or unknown or list(named) != [level for level in DATE_LEVELS if level in named]:
        raise refusal("dates_need_first_last", DATE_LEVELS=", ".join(DATE_LEVELS))
    days = range(start.toordinal(), end.toordinal() + 1)
    if len(days) > MOST_LEAVES:
        raise refusal("days_from_too_many", days=len(days), start=start, end=end)
    every = np.datetime64(start.isoformat()) + np.arange(len(days))
    parts = _periods(every)
    grown = [Level(tuple(range(len(days))), tuple(np.datetime_as_string(every).tolist()))]
    for level in named:
        starts = np.flatnonzero(np.append(True, parts[level][1:] != parts[level][:-1]))
        grown.append(Level(tuple(starts.tolist()), _date_labels(level, parts[level][starts])))
    stretches = tuple(map(float, days))
    root = Level((0,), (ROOT,))
    built = Hierarchy((*grown, root), (1.0,) * len(days), "date", stretches, stretches, observed=observed)
    if len(cuts):
        at = [[float(_date("cuts", cut).toordinal()) for cut in _level_of_cuts(level)] for level in cuts]
        above = _levels_of(built, _own_cuts(list(stretches), at, write_date), _named_periods(parts))
        built = replace(built, levels=(built.levels[0], *above, root))
    return renamed(built, labels)


def _periods(every: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return the month, quarter (counted from 1970), year and decade of each day."""
    years = every.astype("datetime64[Y]").astype(np.int64) + 1970
    months = every.astype("datetime64[M]")
    return {"month": months, "quarter": months.astype(np.int64) // 3, "year": years, "decade": years // 10 * 10}


def _named_periods(parts: Mapping[str, NDArray[Any]]) -> dict[tuple[int, int], str]:
    """Return the names of intervals of days that are a month, quarter, year or decade, cut at the domain's ends."""
    names: dict[tuple[int, int], str] = {}
    for level, periods in parts.items():
        starts = np.flatnonzero(np.append(True, periods[1:] != periods[:-1]))
        ends = [*(starts[1:] - 1).tolist(), len(periods) - 1]
        for stretch, label in zip(
            zip(starts.tolist(), ends, strict=True), _date_labels(level, periods[starts]), strict=True
        ):
            names.setdefault(stretch, label)
    return names


def _date_labels(level: str, parts: NDArray[Any]) -> tuple[str, ...]:
    """Format months, quarters (counted from 1970), years or decades."""
    if level == "month":
        return tuple(np.datetime_as_string(parts).tolist())
    if level == "quarter":
        return tuple(f"{1970 + quarter // 4:04}-Q{quarter % 4 + 1}" for quarter in parts.tolist())
    return tuple(f"{year:04}" if level == "year" else f"{year:04}-{year + 9:04}" for year in parts.tolist())


def _decimal(name: str, value: Number) -> Decimal:
    try:
        number = Decimal(str(value))
    except ArithmeticError:
        number = Decimal("nan")
    if not number.is_finite():
        raise refusal("must_finite_number", name=name, value=value)
    return number


def _date(name: str, value: datetime.date | str) -> datetime.date:
    try:
        return value if isinstance(value, datetime.date) else datetime.date.fromisoformat(str(value))
    except ValueError:
        raise refusal("must_iso_date_such", name=name, value=value) from None


def _unit(low: Decimal, high: Decimal, step: Decimal) -> Decimal:
    """Return the distance of neighbouring values: 1 for whole numbers, the step if bounds are its multiples."""
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
    own: Sequence[Decimal] = (),
) -> Edges:
    """List the lower edges of all leaves, followed by the end of the domain."""
    bottom = low if below is None else _decimal("open_below", below)
    top = high if above is None else _decimal("open_above", above)
    if not low <= bottom < top <= high and not (below is None and above is None):
        raise refusal("open_ends_must_lie", low=low, high=high)
    first = int((bottom / step).to_integral_value("ROUND_FLOOR"))
    count = int((top / step).to_integral_value("ROUND_FLOOR")) - first + 1
    if count > MOST_LEAVES and not own:
        raise refusal("leaves_from_too_many", count=count, low=low, high=high, step=step)
    grid = Edges.scale_of(low, high, step, unit, bottom, top, *own)
    bottom_edge, top_edge, stride = grid.whole(bottom), grid.whole(top), grid.whole(step)
    if own:
        starts = [bottom_edge, *map(grid.whole, own)]
        if any(a >= b for a, b in pairwise([*starts, top_edge + (above is None and not continuous)])):
            raise refusal("edges_must_rise", bottom=bottom, top=top)
        stride = max(b - a for a, b in pairwise(starts))
    else:
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
    """Numbers on a common grid: whole multiples of 1 / parts, exact and fast for a million of them."""

    parts: int
    places: NDArray[Any]
    """Whole numbers, as Python integers if they are too large for exact floating-point numbers."""

    @staticmethod
    def scale_of(*numbers: Decimal) -> Edges:
        """Return the coarsest decimal grid of these numbers."""
        finest = min(0, *(int(number.normalize().as_tuple().exponent) for number in numbers))
        return Edges(10**-finest, np.zeros(0, np.int64))

    def whole(self, number: Decimal) -> int:
        """Return the multiple of a number."""
        return int(number * self.parts)

    def at(self, places: list[int]) -> Edges:
        """Return edges on this grid."""
        small = max(abs(places[0]), abs(places[-1]), self.parts) <= LARGEST
        return Edges(self.parts, np.array(places, np.int64 if small else object))

    def floats(self, places: NDArray[Any], per: int | None = None) -> list[float]:
        """Return places as floating-point numbers (or as multiples of a unit), rounded once."""
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
            raise refusal("widths_that_do_not_nest", coarser=coarser, finer=finer)
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
        raise refusal("quantiles_need_values_column")
    if not np.isfinite(values).all():
        raise refusal("quantiles_need_column_numbers")
    if any(a <= b or a % b for a, b in pairwise(parts)) or min(parts) < 2:
        raise refusal("quantiles_must_fall", parts=parts)
    leaf = np.clip(np.searchsorted(firsts, values, side="right") - 1, 0, None)
    mass = np.bincount(leaf, weights=counts, minlength=len(firsts))
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    return [np.minimum((middle * part).astype(np.int64), part - 1) for part in parts]


def _level_of_cuts(level: object) -> list[Any]:
    if not isinstance(level, list | tuple):
        raise refusal("cuts_must_lists_values", level=level)
    return list(level)


def _own_cuts(
    firsts: list[float], levels: Sequence[Sequence[float]], write: Callable[[float], str]
) -> list[NDArray[np.int64]]:
    """Divide the leaves at given cuts: each is the start of a leaf, and each level has a subset of the cuts before."""
    places, finer = {first: leaf for leaf, first in enumerate(firsts)}, set(firsts)
    groupings = []
    for cuts in levels:
        if not cuts or any(a >= b for a, b in pairwise(cuts)):
            raise refusal("cuts_must_rise_within")
        strange = next((cut for cut in cuts if places.get(cut, 0) == 0), None)
        if strange is not None:
            raise refusal("cut_inside_a_leaf", strange=write(strange))
        lacking = next((cut for cut in cuts if cut not in finer), None)
        if lacking is not None:
            raise refusal("cut_through_a_level", lacking=write(lacking))
        finer = set(cuts)
        groupings.append(np.searchsorted([places[cut] for cut in cuts], np.arange(len(firsts)), side="right"))
    return groupings


def renamed(hierarchy: Hierarchy, labels: Mapping[str, str] | None) -> Hierarchy:
    """Rename nodes between leaves and root; an unknown label is refused."""
    if not labels:
        return hierarchy
    if not isinstance(labels, Mapping) or not all(isinstance(label, str) and label for label in labels.values()):
        raise refusal("labels_must_map_stretches")
    inner = hierarchy.levels[1:-1]
    strange = next((label for label in labels if not any(label in level.labels for level in inner)), None)
    if strange is not None:
        raise refusal("labels_no_stretch_between", strange=strange)
    levels = [Level(level.starts, tuple(labels.get(label, label) for label in level.labels)) for level in inner]
    return replace(hierarchy, levels=(hierarchy.levels[0], *levels, hierarchy.levels[-1]))


def _stretch_hierarchy(
    leaves: list[str],
    groupings: Sequence[NDArray[Any]],
    firsts: list[float],
    lasts: list[float],
    widths: list[float],
    continuous: bool,
    observed: bool,
) -> Hierarchy:
    """Return the hierarchy with levels of intervals, labelled by the notation of intervals, above the leaves."""
    size = len(leaves)
    bottom = Level(tuple(range(size)), tuple(leaves))
    above = (Level((0,), (ROOT,)),) if size > 1 else ()
    ends = tuple(firsts), tuple(lasts)
    plain = Hierarchy((bottom, *above), tuple(widths), "number", *ends, continuous, observed=observed)
    return replace(plain, levels=(bottom, *_levels_of(plain, groupings, {}), *above))


def _levels_of(
    plain: Hierarchy, groupings: Sequence[NDArray[Any]], names: Mapping[tuple[int, int], str]
) -> list[Level]:
    """Return the levels above the leaves by their groupings; an interval without a name has its notation as label."""
    levels = [plain.levels[0]]
    for groups in groupings:
        starts = [0, *(np.flatnonzero(groups[1:] != groups[:-1]) + 1).tolist()]
        if 1 < len(starts) < len(levels[-1].starts):
            ends = [*starts[1:], plain.domain_size]
            texts = plain.stretch_texts(starts, ends)
            stretches = [(start, end - 1) for start, end in zip(starts, ends, strict=True)]
            labels = [names.get(stretch, text) for stretch, text in zip(stretches, texts, strict=True)]
            levels.append(Level(tuple(starts), tuple(labels)))
    return levels[1:]
