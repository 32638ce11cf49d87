"""What no release of a table can have, whoever makes it: told from all records in one group.

To put groups together never lowers k or l, so one group of everybody has the most that a release of all records can
have. Leaving records out never helps k or the number of values; of the commonest value it can take so many that its
share falls, and how many that would have to be is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil, floor, isfinite
from typing import TYPE_CHECKING

from sfumato.table.hierarchies.declared import Filed
from sfumato.texts.catalogue import t
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
    return t("ceiling.records", bound=bound, most=int(most))


def _too_few_values(map_: Map, bound: Bound, most: float) -> str:
    return t("ceiling.values", bound=bound, column=_column(map_, bound.measure), most=int(most))


def _too_common(map_: Map, bound: Bound, most: float) -> str:
    records = int(map_.about["records"])
    common = round(records / most)
    kept = floor((records - common) / (bound.value - 1) + EVEN) if isfinite(bound.value) else 0
    column, gone = _column(map_, bound.measure), common - kept
    shares = {"gone_share": gone / records, "share": common / records, "records": records}
    return t("ceiling.common", bound=bound, gone=gone, **shares, column=column, finer=_finer(map_, column))


def _too_uneven(map_: Map, bound: Bound, most: float) -> str:
    return t("ceiling.uneven", bound=bound, column=_column(map_, bound.measure), most=ceil(100 * most) / 100)


def _column(map_: Map, measure: str) -> str:
    """Name the sensitive column; of several that which has the least, as far as it is known of each."""
    whole = _whole(map_)
    known = {} if whole is None else {name: own[measure] for name, own in whole.by_sensitive.items() if measure in own}
    if known:
        return f"'{min(known, key=lambda name: known[name])}'"
    names = [f"'{name}'" for name in map_.about.get("sensitive", ())]
    return names[0] if len(names) == 1 else t("ceiling.one", names=names) if names else t("ceiling.sensitive_column")


def _finer(map_: Map, column: str) -> str:
    """Explain how to repair a column whose commonest value is an interval that was made automatically."""
    declared = getattr(getattr(map_.study, "table", None), "hierarchy", {}).get(column[1:-1])
    entry = declared.content if isinstance(declared, Filed) else declared
    if not isinstance(entry, Mapping) or entry.get("type") != "numeric" or not entry.get("observed"):
        return ""
    return t("ceiling.intervals_made", column=column)


WHY: Mapping[str, Callable[[Map, Bound, float], str]] = {
    "k": _too_few_records,
    "smallest_group": _too_few_records,
    "l_distinct": _too_few_values,
    "l_frequency": _too_common,
    "l_entropy": _too_uneven,
}
"""By measure, what is said of a bound that is beyond the table."""
