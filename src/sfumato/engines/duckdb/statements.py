"""The SQL by which DuckDB puts together what is published, and says what a column is like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sfumato.engines.formulas import BEGINNING, HARMLESS, MARK
from sfumato.engines.protocol import Layout, Rule


def literal(text: str) -> str:
    """Write a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def runs(expression: str, marks: str = "") -> str:
    """Write whether a text is a formula behind some marks, given as a pattern: none by default."""
    beginning, harmless = (literal(f"{marks}{pattern}") for pattern in (BEGINNING, HARMLESS))
    return f"(regexp_full_match({expression}, {beginning}) AND NOT regexp_full_match({expression}, {harmless}))"


def unescaped(expression: str) -> str:
    """Write a text without the mark before a formula."""
    return f"CASE WHEN {runs(expression, f'{MARK}+')} THEN substr({expression}, 2) ELSE {expression} END"


def published(layout: Layout, placed: str, values: Mapping[str, str], many: bool) -> str:
    """Write the query that gives the published rows in an order that depends on nothing but what they show.

    `placed` is a query of rows with their cell and group and their neutral columns, which `values` names.
    """
    expressions = _shown(layout, values)
    if layout.permuted:
        query = _permuted(layout, expressions, placed)
    else:
        query = f"SELECT {_listed(layout.order, expressions)} {_source(layout, placed)}"
    return f"SELECT * FROM ({query}) ORDER BY {shuffled(_by_name(layout, range(len(layout.order))), many)}"


def _source(layout: Layout, placed: str) -> str:
    joins = [f"FROM ({placed}) AS placed"]
    if layout.by_group or layout.group_column is not None:
        joins.append("JOIN grp_texts USING (grp)")
    if layout.by_cell:
        joins.append("JOIN cell_texts USING (cell)")
    return " ".join(joins)


def _shown(layout: Layout, values: Mapping[str, str]) -> dict[str, str]:
    """Say for every published column by which expression it is found."""
    expressions = {column.name: f"grp_texts.t{i}" for i, column in enumerate(layout.by_group)}
    expressions |= {column.name: f"cell_texts.t{i}" for i, column in enumerate(layout.by_cell)}
    expressions |= {name: f"placed.{values[name]}" for name in layout.neutral}
    if layout.group_column is not None:
        expressions[layout.group_column] = "grp_texts.label"
    return expressions


def _listed(order: Iterable[str], expressions: dict[str, str]) -> str:
    return ", ".join(f"{expressions[name]} AS o{i}" for i, name in enumerate(order))


def _permuted(layout: Layout, expressions: dict[str, str], placed: str) -> str:
    """Deal the permuted columns out anew within each group: both sides sorted by what they themselves show.

    The pairing is a function of the two published margins of the group, so it tells nothing about who had what.
    """
    sides = []
    for permuted in (False, True):
        listed = {i: expressions[name] for i, name in enumerate(layout.order) if (name in layout.permuted) == permuted}
        columns = "".join(f"{expression} AS o{i}, " for i, expression in listed.items())
        order = shuffled(_by_name(layout, listed))  # the digest of all engines: it decides who is paired with whom
        sides.append(
            f"SELECT *, row_number() OVER (PARTITION BY grp ORDER BY {order}) AS turn "
            f"FROM (SELECT {columns}placed.grp {_source(layout, placed)})"
        )
    columns = ", ".join(f"o{i}" for i in range(len(layout.order)))
    return f"SELECT {columns} FROM ({sides[0]}) AS kept JOIN ({sides[1]}) AS dealt USING (grp, turn)"


def _by_name(layout: Layout, positions: Iterable[int]) -> list[str]:
    """List outputs in the order of their columns' names, so that nothing depends on the order of columns."""
    return [f"o{i}" for i in sorted(positions, key=lambda i: layout.order[i])]


def shuffled(outputs: Sequence[str], many: bool = False) -> str:
    """Order by a digest of what is shown: no trace of the input's order, the same for the same content.

    Of many rows the digest is a hash of 128 bits, which costs a tenth; rows with the same one are the same rows.
    """
    if many:
        listed = ", ".join(outputs)
        return f"hash({listed}), hash('again', {listed})"
    return f"md5({framed([f'{output}::VARCHAR' for output in outputs])}), {', '.join(outputs)}"


def framed(texts: Sequence[str]) -> str:
    """Write the one text of several texts that the protocol defines: the length of each before it, `-` if missing.

    It is one call, for DuckDB plans a chain of hundreds of `||` for longer than it works on the rows.
    """
    parts = ", ".join(f"coalesce(length({text}) || ':' || {text}, '-')" for text in texts)
    return f"concat({parts})" if parts else "''"


def ruled(text: str, rule: Rule) -> str:
    """Write what a rule makes of a text."""
    if rule.kind == "prefix":
        return f"left({text}, {rule.number})"
    if rule.kind == "day":
        return f"CASE WHEN regexp_full_match({text}, '{ISO_DAY}') THEN left({text}, 10) ELSE {text} END"
    number = f"(floor(TRY_CAST({text} AS DOUBLE) / {rule.number}) * {rule.number} + 0)::VARCHAR"  # no -0.0
    return f"CASE WHEN regexp_full_match({text}, '{NUMBER}') THEN {number} ELSE {text} END"


def gathered_lists(owner: str, item: str) -> str:
    """Write the query that gathers rows to one list an owner, with the owners' numbers by their first rows."""
    return (
        f"SELECT list({item} ORDER BY rowid) FILTER (WHERE {item} IS NOT NULL) AS items, "
        f"row_number() OVER (ORDER BY min(rowid)) AS record FROM rows GROUP BY {owner}"
    )


NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
ISO_DAY = r"(?s)\d{4}-\d{2}-\d{2}([ T].*)?"
PADDED = r"0\d+"
DAY = r"(\d{4}-\d{2}-\d{2})([ T]\d{2}:\d{2}.*)?"
DOTTED_DAY = r"\d{1,2}\.\d{1,2}\.[1-9]\d{3}"


def column_facts(text: str) -> str:
    """Write the query that counts what the values of one column are like, the fields of `ColumnFacts` in order."""
    number = f"regexp_full_match(t, '{NUMBER}') AND NOT regexp_full_match(t, '{PADDED}')"
    value = f"CASE WHEN {number} THEN TRY_CAST(t AS DOUBLE) END"
    decimals = (
        "CASE WHEN contains(lower(t), 'e') THEN 99 ELSE length(rtrim(regexp_extract(t, '\\.(\\d*)', 1), '0')) END"
    )
    day = (
        f"CASE WHEN regexp_full_match(t, '{DAY}') THEN TRY_CAST(t[:10] AS DATE) "
        f"WHEN regexp_full_match(t, '{DOTTED_DAY}') THEN CAST(try_strptime(t, '%d.%m.%Y') AS DATE) END"
    )
    finite = f"CASE WHEN isfinite({value}) THEN {value} END"
    return (
        "SELECT count(raw), count(DISTINCT raw), coalesce(min(length(raw)), 0), coalesce(max(length(raw)), 0), "
        f"count(v), min(v), max(v), coalesce(max(CASE WHEN v IS NOT NULL THEN {decimals} END), 0), "
        f"count(d), min(d), max(d) FROM (SELECT *, {finite} AS v, {day} AS d "
        f"FROM (SELECT {text} AS raw, trim(raw) AS t FROM rows))"
    )
