"""Columns that an engine reads coarser before it hands their texts over: of a large table nobody lists a million texts.

A declared hierarchy of days reads the day of every timestamp, one of continuous numbers the stretch of every number; so
a rule changes nothing there but how much crosses. Codes by prefixes (ZIP+4) are different: where there are very many,
the leaves are the longest prefixes that levels keep, and how many texts each stands for is counted, so that this loss
is measured too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sfumato.engines import DistinctValues, Engine, Rule
from sfumato.table.hierarchies.categories import prefixes
from sfumato.table.hierarchies.declared import Declared, Filed
from sfumato.table.hierarchies.hierarchy import Hierarchy

MANY_RECORDS = 1_000_000
"""Of so many records texts are read by a rule where there is one, and values that nobody codes are not listed."""

MOST_LISTED = 100_000
"""So many texts of a column are listed, even where prefixes would do."""


def rule_of(given: Declared | None) -> Rule | None:
    """Return the rule by which a column with this declaration may be read, if there is one."""
    content = _content(given)
    if isinstance(content, Hierarchy):
        return Rule("prefix", content.keep) if content.keep else Rule("day") if content.scale == "date" else None
    if not isinstance(content, Mapping):
        return None
    kind, keep = content.get("type"), content.get("keep")
    if kind == "dates":
        return Rule("day")
    if kind == "prefixes" and "values" not in content and isinstance(keep, list | tuple) and keep:
        return Rule("prefix", keep[0]) if isinstance(keep[0], int) and keep[0] > 0 else None
    step, lower = content.get("resolution", 1), content.get("lower")
    open_ended = content.keys() & {"open_below", "open_above", "quantiles"}
    whole = isinstance(step, int) and isinstance(lower, int) and not open_ended
    if kind == "numeric" and content.get("continuous") is True and whole and step > 0 and lower % step == 0:
        return Rule("floor", step)
    return None


def rule_for(engine: Engine, column: str, given: Declared | None) -> Rule | None:
    """Return the rule by which a column of a large table is read; prefixes only where there are many texts of a length.

    Texts of several lengths could not be masked without showing the longest in all of them.
    """
    rule = rule_of(given) if engine.row_count > MANY_RECORDS else None
    if rule is None or rule.kind != "prefix" or is_built(given):
        return rule
    facts = engine.facts(column)
    alike = rule.number < facts.shortest == facts.longest
    return rule if alike and facts.distinct > MOST_LISTED else None


def prefix_hierarchy(engine: Engine, rule: Rule, given: Declared, distinct: DistinctValues, column: str) -> Hierarchy:
    """Build the hierarchy whose leaves are prefixes, each with the number of texts that it stands for."""
    content = _content(given)
    assert isinstance(content, Mapping) and distinct.kinds is not None
    length = engine.facts(column).longest
    kinds = {value: int(n) for value, n in zip(distinct.values, distinct.kinds, strict=True) if value is not None}
    codes = prefixes([value.ljust(length, "*") for value in kinds], list(content["keep"])[1:], observed=True)
    inside = tuple(kinds[leaf[: rule.number]] for leaf in codes.leaves)
    return replace(codes, kinds=inside, widths=tuple(map(float, inside)), keep=rule.number)


def is_built(given: Declared | None) -> bool:
    """Say whether a declaration is a hierarchy already."""
    return isinstance(_content(given), Hierarchy)


def _content(given: Declared | None) -> object:
    return given.content if isinstance(given, Filed) else given
