"""What no release of a table can have, whoever makes it: told from all records in one group.

To put groups together never lowers k or l, so one group of everybody has the most that a release of all records can
have. Leaving records out never helps k or the number of values; of the commonest value it can take so many that its
share falls, and how many that would have to be is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil, floor, isfinite
from typing import TYPE_CHECKING

from sfumato.phrases import counted, listed, percent
from sfumato.table.hierarchies.declared import Filed
from sfumato.tradeoff.choice.bounds import Bound
from sfumato.tradeoff.choice.exposure import shows_exact

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Map, Point

EVEN = 1e-9
"""Counts that follow from measures are whole up to this share of them."""


def impossible(map_: Map, bound: Bound) -> str:
    """Say why no release of the table keeps within a bound, and what to do then; nothing where one may."""
    if bound.measure not in WHY:
        return ""
    most, records = _most(map_), map_.about.get("records")
    if bound.side != "min" or bound.measure not in most or bound.outside(most[bound.measure]) == 0 or not records:
        return ""
    return WHY[bound.measure](map_, bound, most[bound.measure])


def _most(map_: Map) -> Mapping[str, float]:
    """Return what all records in one group have of k and l: as far as the map says it."""
    records, whole = map_.about.get("records"), _whole(map_)
    sizes = {} if records is None else {"k": records, "smallest_group": records}
    return {**({} if whole is None else {name: whole.measures[name] for name in WHY if whole.has([name])}), **sizes}


def _whole(map_: Map) -> Point | None:
    """Return the trivial release that has all records in one group, where the map has it."""
    records = map_.about.get("records")
    trivial = (point for point in map_.points if point.is_baseline and not shows_exact(point))
    return next((point for point in trivial if point.measures.get("k") == records), None)


def _too_few_records(map_: Map, bound: Bound, most: float) -> str:
    return (
        f"No release of this table can have {bound}: the table has {counted(int(most), 'record')}. Publish nothing of "
        "single persons then, but a statement in words, or wait for more records."
    )


def _too_few_values(map_: Map, bound: Bound, most: float) -> str:
    values = counted(int(most), "different value")
    return f"No release of this table can have {bound}: {_column(map_, bound.measure)} has {values}. {_instead(map_)}"


def _too_common(map_: Map, bound: Bound, most: float) -> str:
    records = int(map_.about["records"])
    common = round(records / most)
    kept = floor((records - common) / (bound.value - 1) + EVEN) if isfinite(bound.value) else 0
    gone = common - kept
    column = _column(map_, bound.measure)
    return (
        f"No release of this table can have {bound} unless at least {counted(gone, 'record')} "
        f"({percent(gone / records)}) are left out: {percent(common / records)} of the {records:,} records have the "
        f"same value of {column}, so in some group of every release that keeps them at least that share has it, and a "
        f"guess is right that often. {_finer(map_, column)}{_instead(map_)}"
    )


def _too_uneven(map_: Map, bound: Bound, most: float) -> str:
    return (
        f"No release of all records of this table can have {bound}: the values of {_column(map_, bound.measure)} are "
        f"so uneven that even all records in one group have {ceil(100 * most) / 100:g} at most. {_instead(map_)}"
    )


def _column(map_: Map, measure: str) -> str:
    """Name the sensitive column; of several that which has the least, as far as it is known of each."""
    whole = _whole(map_)
    known = {} if whole is None else {name: own[measure] for name, own in whole.by_sensitive.items() if measure in own}
    if known:
        return f"'{min(known, key=lambda name: known[name])}'"
    names = [f"'{name}'" for name in map_.about.get("sensitive", ())]
    return names[0] if len(names) == 1 else f"one of {listed(names)}" if names else "the sensitive column"


def _finer(map_: Map, column: str) -> str:
    """Explain how to repair a column whose commonest value is an interval that was made automatically."""
    declared = getattr(getattr(map_.study, "table", None), "hierarchy", {}).get(column[1:-1])
    entry = declared.content if isinstance(declared, Filed) else declared
    if not isinstance(entry, Mapping) or entry.get("type") != "numeric" or not entry.get("observed"):
        return ""
    return (
        f"The intervals of {column} were made automatically: give it others in the study, such as edges near its "
        "quantiles (under [table.hierarchy]), and explore again. "
    )


def _instead(map_: Map) -> str:
    return (
        "What a publisher does then: leave that column out (give it no role) and publish the others; or tell its "
        "totals alone, in a sentence; or decide, and write down, that its commonest value needs no protection, and "
        "give a bound of your own; or hand it over by contract (--for partner)."
    )


WHY: Mapping[str, Callable[[Map, Bound, float], str]] = {
    "k": _too_few_records,
    "smallest_group": _too_few_records,
    "l_distinct": _too_few_values,
    "l_frequency": _too_common,
    "l_entropy": _too_uneven,
}
"""By measure, what is said of a bound that is beyond the table."""
