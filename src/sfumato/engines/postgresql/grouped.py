"""The SQL for the server's catalogue, and for facts of a column."""

from collections.abc import Sequence

from sfumato.engines.postgresql.connection import literal
from sfumato.engines.postgresql.values import KINDS
from sfumato.engines.protocol import DIGITS, Rule

LARGEST = "1.7976931348623157e308"
SMALLEST = "1e-300"
"""Smaller numbers become 0, because the server refuses to parse some of them."""

NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
READABLE = r"^[+-]?([0-9]{1,200}\.?[0-9]{0,200}|\.[0-9]{1,200})([eE][+-]?[0-9]{1,2})?$"
"""Numbers that the server parses with certainty; it fails on numbers that are too large."""

ISO_DAY = "^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T].*)?$"
PADDED = "^0[0-9]+$"
DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}.*)?$"
DOTTED_DAY = r"^[0-9]{1,2}\.[0-9]{1,2}\.[1-9][0-9]{3}$"


def relation_of(schema: str | None, table: str) -> str:
    """Return the query for the table with a name: of its schema, or the one that the role finds."""
    where = "pg_table_is_visible(c.oid)" if schema is None else f"n.nspname = {literal(schema)}"
    return (
        "SELECT c.oid::int8 AS oid, n.nspname::text AS schema, c.relkind::text AS kind FROM pg_class AS c "
        f"JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relname = {literal(table)} AND {where} "
        "AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"
    )


def columns_of(oid: int) -> str:
    """Return the query for the readable columns of a table, with their types; domains are replaced by their base."""
    return (
        "WITH RECURSIVE based AS (SELECT attnum, attname, atttypid AS kind, atttypmod AS modifier, attcollation "
        "FROM pg_attribute "
        f"WHERE attrelid = {oid} AND attnum > 0 AND NOT attisdropped "
        f"AND has_column_privilege({oid}::oid, attnum, 'SELECT') "
        "UNION ALL SELECT based.attnum, based.attname, t.typbasetype, t.typtypmod, based.attcollation FROM based "
        "JOIN pg_type AS t ON t.oid = based.kind WHERE t.typtype = 'd') "
        "SELECT based.attname::text, t.typname::text, t.typtype::text, t.typcategory::text, based.modifier, "
        "coalesce(pg_collation.collisdeterministic, true) AND t.typname <> 'citext', "
        "element.typname::text, element.typtype::text, element.typcategory::text FROM based "
        "JOIN pg_type AS t ON t.oid = based.kind AND t.typtype <> 'd' "
        "LEFT JOIN pg_collation ON pg_collation.oid = based.attcollation "
        "LEFT JOIN pg_type AS element ON element.oid = t.typelem AND t.typcategory = 'A' ORDER BY based.attnum"
    )


def ruled(text: str, rule: Rule | None) -> str:
    """Return the result of a rule for a text; without a rule the text."""
    if rule is None:
        return text
    if rule.kind == "prefix":
        made = f"left({text}, {rule.number})"
    elif rule.kind == "day":
        made = f"CASE WHEN {text} ~ '{ISO_DAY}' THEN left({text}, 10) ELSE {text} END"
    else:
        number = KINDS["float8"].key_of(f"(floor(({text})::float8 / {rule.number}) * {rule.number} + 0)")
        made = f"CASE WHEN {text} ~ '{READABLE}' THEN {number} ELSE {text} END"
    return f'(({made}) COLLATE "C")'


def framed(texts: Sequence[str]) -> str:
    """Return one text for several texts, as the protocol defines."""
    return " || ".join(f"coalesce(length({text}) || ':' || {text}, '-')" for text in texts) or "''"


def row_sums(texts: Sequence[str], rows: str, times: str = "1") -> str:
    """Return the query for the sum over all rows of the first digits of their MD5, for the digest of a table."""
    digits = f"left(md5(convert_to({framed(texts)}, 'UTF8')), {DIGITS})"
    number = f"('x' || lpad({digits}, 16, '0'))::bit(64)::int8"
    return f"SELECT coalesce(sum({number}::numeric * {times}), 0)::text FROM {rows}"


def column_facts(text: str, rows: str) -> str:
    """Return the query of the facts of a column, the fields of `ColumnFacts` in order; it cannot fail."""
    exponent = "coalesce(substring(t FROM '[eE]([+-]?[0-9]+)$'), '0')"
    size = f"ltrim(regexp_replace({exponent}, '^[+-]', ''), '0')"
    exact = (
        f"CASE WHEN length({size}) > 4 THEN CASE WHEN {exponent} LIKE '-%' THEN 0 END "
        "WHEN length(t) < 4000 THEN t::numeric END"
    )
    value = f"CASE WHEN abs(e) <= {LARGEST} THEN CASE WHEN abs(e) < {SMALLEST} THEN 0 ELSE e END::float8 END"
    decimals = (
        "CASE WHEN lower(t) LIKE '%e%' THEN 99 "
        r"ELSE length(rtrim(coalesce(substring(t FROM '\.([0-9]*)'), ''), '0')) END"
    )
    iso = _day("substr(t, 1, 4)", "substr(t, 6, 2)", "substr(t, 9, 2)")
    dotted = _day("split_part(t, '.', 3)", "split_part(t, '.', 2)", "split_part(t, '.', 1)")
    day = f"CASE WHEN t ~ '{DAY}' THEN {iso} WHEN t ~ '{DOTTED_DAY}' THEN {dotted} END"
    number = f"t ~ '{NUMBER}' AND t !~ '{PADDED}'"
    return (
        "SELECT count(raw), count(DISTINCT raw), coalesce(min(length(raw)), 0), coalesce(max(length(raw)), 0), "
        f"count(v), min(v), max(v), coalesce(max(CASE WHEN v IS NOT NULL THEN {decimals} END), 0), "
        f"count(d), min(d), max(d) FROM (SELECT raw, t, {day} AS d, {value} AS v FROM (SELECT raw, t, "
        f"CASE WHEN {number} THEN {exact} END AS e FROM (SELECT raw, btrim(raw) AS t "
        f"FROM (SELECT {text} AS raw FROM {rows}) AS a) AS b) AS c) AS f"
    )


def _day(*parts: str) -> str:
    """Return the SQL of a day from year, month and day in digits; null if it is invalid."""
    year, month, day = (f"{part}::int4" for part in parts)
    last = f"extract(day FROM make_date({year}, {month}, 1) + interval '1 month' - interval '1 day')"
    return (
        f"CASE WHEN {year} > 0 AND {month} BETWEEN 1 AND 12 THEN CASE WHEN {day} BETWEEN 1 AND {last} "
        f"THEN make_date({year}, {month}, {day}) END END"
    )
