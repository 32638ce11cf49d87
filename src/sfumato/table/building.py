"""Builders of hierarchies: trees written by hand, level tables, numbers, dates, prefixes of codes, flat lists.

Every builder returns a `Hierarchy`; two builders that describe the same tree return equal hierarchies, so a loss
does not depend on how a hierarchy was given.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from itertools import pairwise
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from sfumato.configuration import check_whole
from sfumato.errors import BadInputError
from sfumato.table.hierarchy import (
    MISSING,
    ROOT,
    Hierarchy,
    Level,
    Scale,
    read_number,
    stretch_notations,
    write_date,
    write_number,
)

Number = int | float | Decimal
MOST_LEAVES = 200_000
"""A domain with more leaves than this is refused: it needs a coarser resolution."""

LARGEST = 2**53
"""Beyond this whole numbers have no exact floating-point form."""

DATE_LEVELS = ("month", "year", "decade")


# -- categories ------------------------------------------------------------------------------------------------


def flat(values: Iterable[object], observed: bool = False) -> Hierarchy:
    """Build a hierarchy of one level: every value a leaf, in ascending order (numbers as numbers), and the root."""
    leaves = _in_order([_text(value) for value in _listed("values", values)])
    return from_level_table([[leaf, ROOT] for leaf in leaves], observed=observed)


def tree(children: Sequence[object]) -> Hierarchy:
    """Build a hierarchy from nested lists: the root's children; a list is a node, its first item the label.

    >>> tree([["Government", "Federal", "State"], "Private"]).leaves
    ('Federal', 'State', 'Private')
    """
    paths: list[list[str]] = []
    for child in _listed("children", children):
        _walk(child, [], paths)
    depth = max((len(path) for path in paths), default=0)
    rows = []
    for path in paths:
        padded = path + [path[-1]] * (depth - len(path))
        rows.append([*reversed(padded), ROOT])
    return from_level_table(rows)


def _walk(node: object, above: list[str], paths: list[list[str]]) -> None:
    if isinstance(node, list | tuple):
        if len(node) < 2 or isinstance(node[0], list | tuple):
            raise BadInputError(f"a node of a tree is a list of its label and its children, not {node!r}")
        for child in node[1:]:
            _walk(child, [*above, _text(node[0])], paths)
    else:
        paths.append([*above, _text(node)])


def _listed(name: str, given: object) -> list[object]:
    """Return a list that was given as one; a single text is not."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise BadInputError(f"{name} must be a list, not {given!r}")
    return list(given)


def _text(value: object) -> str:
    """Write a value of a TOML file or a list the way a table would show it."""
    if isinstance(value, bool):
        return str(value).lower()
    return write_number(value) if isinstance(value, float) else str(value)


def from_level_table(table: Sequence[Sequence[object]], observed: bool = False, numbers: bool = True) -> Hierarchy:
    """Build a hierarchy from rows `value, level 1, level 2, ...`, the last level one node (`*` is added if not).

    Values that all are numbers become a numeric domain, unless `numbers` is false.
    """
    rows = [[_text(label) for label in _listed("a row", row)] for row in _listed("rows", table)]
    _check_level_table(rows)
    if len({row[-1] for row in rows}) > 1 or len(rows[0]) == 1:
        rows = [[*row, ROOT] for row in rows]
    elif len(rows) > 1:
        rows = [[*row[:-1], ROOT] for row in rows]
    ordered = _sorted_by_tree(rows)
    levels = tuple(_level([row[depth] for row in ordered]) for depth in range(len(ordered[0])))
    values = [_exact_number(row[0]) for row in ordered]
    stretches = tuple(value for value in values if value is not None)
    if numbers and len(stretches) == len(rows) and all(a < b for a, b in pairwise(stretches)):
        return Hierarchy(levels, (1.0,) * len(rows), "number", stretches, stretches, observed=observed)
    return Hierarchy(levels, (1.0,) * len(rows), observed=observed)


def _check_level_table(rows: list[list[str]]) -> None:
    if not rows:
        raise BadInputError("the hierarchy has no rows")
    seen: dict[str, int] = {}
    parents: dict[tuple[int, str], tuple[str, int]] = {}
    for number, row in enumerate(rows, start=1):
        if not row:
            raise BadInputError(f"row {number} is empty")
        if len(row) != len(rows[0]):
            raise BadInputError(f"row {number} has {len(row)} levels where row 1 has {len(rows[0])}")
        if row[0] == MISSING:
            raise BadInputError(
                f"row {number} has an empty value; missing values get a leaf of their own without a row"
            )
        if row[0] in seen:
            raise BadInputError(f"the value {row[0]!r} is listed twice, in rows {seen[row[0]]} and {number}")
        seen[row[0]] = number
        if MISSING in row:
            raise BadInputError(f"row {number} ({row[0]!r}) has an empty label, which would read as a missing value")
        for depth, (label, parent) in enumerate(pairwise(row)):
            known, first = parents.setdefault((depth, label), (parent, number))
            if known != parent:
                raise BadInputError(
                    f"not a tree: {label!r} (level {depth}) is under {known!r} in row {first} "
                    f"but under {parent!r} in row {number}"
                )


def _sorted_by_tree(rows: list[list[str]]) -> list[list[str]]:
    """Sort rows so that every node is a run of rows: by first appearance, or by value if all values are numbers."""
    values = [_exact_number(row[0]) for row in rows]
    numeric = all(value is not None for value in values)
    first: dict[tuple[int, str], float] = {}
    for position, (row, value) in enumerate(zip(rows, values, strict=True)):
        rank = float(value) if numeric and value is not None else float(position)
        for depth, label in enumerate(row):
            first[depth, label] = min(rank, first.get((depth, label), inf))
    return sorted(rows, key=lambda row: [first[depth, row[depth]] for depth in range(len(row) - 1, -1, -1)])


def _level(labels: list[str]) -> Level:
    starts = [0] + [i for i in range(1, len(labels)) if labels[i] != labels[i - 1]]
    return Level(tuple(starts), tuple(labels[i] for i in starts))


def _exact_number(text: str) -> float | None:
    """Read a number that would be written back in just this way, None otherwise (`007` is a code, not a number)."""
    value = read_number(text)
    return value if isfinite(value) and write_number(value) == text else None


def _in_order(values: list[str]) -> list[str]:
    numbers = [read_number(value) for value in values]
    if all(isfinite(number) for number in numbers):
        return [value for _, value in sorted(zip(numbers, values, strict=True))]
    return sorted(values)


def prefixes(values: Iterable[object], keep: Sequence[int] | None = None, observed: bool = False) -> Hierarchy:
    """Build the hierarchy of codes (ZIP, ICD) whose levels keep fewer and fewer leading characters.

    >>> prefixes(["81667", "81675", "81925"], keep=[3, 1]).levels[1].labels
    ('816**', '819**')
    """
    codes = sorted(_text(value) for value in _listed("values", values))
    longest = max((len(code) for code in codes), default=0)
    keep = list(range(longest - 1, 0, -1)) if keep is None else list(keep)
    if any(not 0 < length < longest for length in keep) or any(a <= b for a, b in pairwise(keep)):
        raise BadInputError(f"keep must fall from below {longest} (the longest code) to at least 1, not {keep}")
    rows = [[code, *(_masked(code, length, longest) for length in keep), ROOT] for code in codes]
    return from_level_table(rows, observed=observed, numbers=False)


def _masked(code: str, length: int, longest: int) -> str:
    return code if len(code) <= length else code[:length] + "*" * (longest - length)


# -- numbers and dates -------------------------------------------------------------------------------------------


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
