"""Grouping in Spark: cells by the codes of their values, a column by a rule, and the facts of a column.

Codes are packed into numbers, because grouping by a number is cheaper than grouping by the values.
"""

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from sfumato.engines.duckdb.grouped import packing_of
from sfumato.engines.protocol import Coding, Rule
from sfumato.engines.spark.values import let, literal, matches, text_of

NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
ISO_DAY = r"(?s)[0-9]{4}-[0-9]{2}-[0-9]{2}([ T].*)?"
PADDED = r"0[0-9]+"
DAY = r"([0-9]{4}-[0-9]{2}-[0-9]{2})([ T][0-9]{2}:[0-9]{2}.*)?"
WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")
PLAIN_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
"""A whole number and a day, as they are written."""

DOTTED_DAY = r"([0-9]{1,2})\.([0-9]{1,2})\.([1-9][0-9]{3})"


WHOLE_FROM = "9007199254740992D"
"""Floating point numbers from here on have no fraction."""


def ruled(text: str, rule: Rule, column: str) -> str:
    """Return the result of a rule for a text of a column."""
    if rule.kind == "prefix":
        return f"left({text}, {rule.number})"
    if rule.kind == "day":
        return let("t", text, f"CASE WHEN {matches('t', ISO_DAY)} THEN left(t, 10) ELSE t END")
    floor = f"CASE WHEN abs(q) < {WHOLE_FROM} THEN CAST(floor(q) AS DOUBLE) ELSE q END * {rule.number}"
    number = let("q", f"CAST(t AS DOUBLE) / {rule.number}", let("x", floor, text_of("x", "double", column)))
    return let("t", text, f"CASE WHEN {matches('t', NUMBER)} THEN {number} ELSE t END")


def column_facts(frame: Any) -> Any:
    """Return the facts of the texts `raw` of a frame."""
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


def coded_rows(
    frame: Any, codings: Sequence[Coding], keys: Sequence[tuple[str, pa.DataType]], kept: Mapping[str, str]
) -> Any:
    """Give rows the codes of their values, packed into numbers, by a broadcast join.

    `keys` are the lookup keys, each with its type. `kept` are further named columns of a row.
    """
    listed = [f"{key} AS y{i}" for i, (key, _) in enumerate(keys)]
    rows = frame.selectExpr(*listed, *(f"{value} AS {name}" for name, value in kept.items()))
    codes = []
    for i, (coding, (_, kind)) in enumerate(zip(codings, keys, strict=True)):
        lookup = frame.sparkSession.createDataFrame(_lookup(coding, i, kind)).hint("broadcast")
        rows = rows.join(lookup, f"y{i}", "left")
        missing = coding.codes.get(None)
        code = f"code{i}" if missing is None else f"CASE WHEN y{i} IS NULL THEN {missing} ELSE code{i} END"
        codes.append(f"named_struct('code', {code}) AS s{i}")
    packing = packing_of(codings)
    numbers = [f"{number} AS {name}" for name, number in zip(packing.names, packing.numbers, strict=True)]
    return rows.selectExpr(*codes, *kept).selectExpr(*numbers, *kept)


def counted_cells(coded: Any) -> Any:
    """Count the distinct tuples of codes of all rows whose texts have codes."""
    return coded.where(" AND ".join(f"{name} IS NOT NULL" for name in coded.columns)).groupBy(*coded.columns).count()


def _lookup(coding: Coding, i: int, kind: pa.DataType) -> pa.Table:
    """Return the values of a coding with their codes; a text that is invalid for the type is no value of the column."""
    read = {pa.int64(): _whole, pa.date32(): _day}.get(kind, str)
    values = {read(text): code for text, code in coding.codes.items() if text is not None}
    values.pop(None, None)
    codes = pa.array(list(values.values()), pa.int32())
    return pa.table({f"y{i}": pa.array(list(values), kind), f"code{i}": codes})


def _whole(text: str) -> int | None:
    return int(text) if WHOLE_NUMBER.fullmatch(text) else None


def _day(text: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(text) if PLAIN_DAY.fullmatch(text) else None
    except ValueError:
        return None
