"""The SQL by which Spark reads a column by a rule, and says what it is like: the fields of `ColumnFacts`."""

from typing import Any

from sfumato.engines.protocol import Rule
from sfumato.engines.spark.values import let, literal, matches, text_of

NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
ISO_DAY = r"(?s)[0-9]{4}-[0-9]{2}-[0-9]{2}([ T].*)?"
PADDED = r"0[0-9]+"
DAY = r"([0-9]{4}-[0-9]{2}-[0-9]{2})([ T][0-9]{2}:[0-9]{2}.*)?"
DOTTED_DAY = r"([0-9]{1,2})\.([0-9]{1,2})\.([1-9][0-9]{3})"


WHOLE_FROM = "9007199254740992D"
"""Floating point numbers from here on have no fraction."""


def ruled(text: str, rule: Rule, column: str) -> str:
    """Write what a rule makes of a text of a column."""
    if rule.kind == "prefix":
        return f"left({text}, {rule.number})"
    if rule.kind == "day":
        return let("t", text, f"CASE WHEN {matches('t', ISO_DAY)} THEN left(t, 10) ELSE t END")
    floor = f"CASE WHEN abs(q) < {WHOLE_FROM} THEN CAST(floor(q) AS DOUBLE) ELSE q END * {rule.number}"
    number = let("q", f"CAST(t AS DOUBLE) / {rule.number}", let("x", floor, text_of("x", "double", column)))
    return let("t", text, f"CASE WHEN {matches('t', NUMBER)} THEN {number} ELSE t END")


def column_facts(frame: Any) -> Any:
    """Count what the texts `raw` of a frame are like."""
    number = f"{matches('t', NUMBER)} AND NOT {matches('t', PADDED)}"
    value = f"CASE WHEN {number} THEN TRY_CAST(t AS DOUBLE) END"
    decimals = (
        "CASE WHEN contains(lower(t), 'e') THEN 99 "
        f"ELSE length(rtrim('0', regexp_extract(t, {literal('[.]([0-9]*)')}, 1))) END"
    )
    year, month, day = (f"regexp_extract(t, {literal(DOTTED_DAY)}, {i})" for i in (3, 2, 1))
    dotted = f"concat({year}, '-', lpad({month}, 2, '0'), '-', lpad({day}, 2, '0'))"
    days = (
        f"CASE WHEN {matches('t', DAY)} THEN TRY_CAST(left(t, 10) AS DATE) "
        f"WHEN {matches('t', DOTTED_DAY)} THEN TRY_CAST({dotted} AS DATE) END"
    )
    read = frame.selectExpr("raw", "trim(raw) AS t").selectExpr("raw", "t", f"{value} AS number", f"{days} AS d")
    finite = "CASE WHEN abs(number) < double('Infinity') THEN number END"
    return read.selectExpr("raw", "t", f"{finite} AS v", "d").selectExpr(
        "count(raw) AS present",
        "count(DISTINCT raw) AS several",
        "coalesce(min(length(raw)), 0) AS shortest",
        "coalesce(max(length(raw)), 0) AS longest",
        "count(v) AS numbers",
        "min(v) AS lowest",
        "max(v) AS highest",
        f"coalesce(max(CASE WHEN v IS NOT NULL THEN {decimals} END), 0) AS decimals",
        "count(d) AS days",
        "min(d) AS first",
        "max(d) AS last",
    )
