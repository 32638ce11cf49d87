"""The SQL of published rows and of facts of a column, and the packing of codes.

Small tables of a column's distinct values are joined to the rows. The codes of a row are packed into one number, or a
few if one is too short, because grouping by these is cheaper than grouping by the values. The order of packed numbers
is the lexicographic order of the codes.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.engines._text_files import BEGINNING, HARMLESS, MARK
from sfumato.engines.protocol import Coding, Layout, Rule, numbers_in


def literal(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def runs(expression: str, marks: str = "") -> str:
    """Return the condition that a text is a formula after some marks (a pattern; default: none)."""
    beginning, harmless = (literal(f"{marks}{pattern}") for pattern in (BEGINNING, HARMLESS))
    return f"(regexp_full_match({expression}, {beginning}) AND NOT regexp_full_match({expression}, {harmless}))"


def unescaped(expression: str) -> str:
    """Return a text without the mark before a formula."""
    return f"CASE WHEN {runs(expression, f'{MARK}+')} THEN substr({expression}, 2) ELSE {expression} END"


def published(layout: Layout, placed: str, values: Mapping[str, str], many: bool) -> str:
    """Return the query of the published rows, in an order that depends only on their content.

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
    """Return for each published column its expression."""
    expressions = {column.name: f"grp_texts.t{i}" for i, column in enumerate(layout.by_group)}
    expressions |= {column.name: f"cell_texts.t{i}" for i, column in enumerate(layout.by_cell)}
    expressions |= {name: f"placed.{values[name]}" for name in layout.neutral}
    if layout.group_column is not None:
        expressions[layout.group_column] = "grp_texts.label"
    return expressions


def _listed(order: Iterable[str], expressions: dict[str, str]) -> str:
    return ", ".join(f"{expressions[name]} AS o{i}" for i, name in enumerate(order))


def _permuted(layout: Layout, expressions: dict[str, str], placed: str) -> str:
    """Permute columns within each group: both sides are sorted by their own published content.

    The pairing is a function of the two published margins of the group, so it reveals nothing about who had which
    value.
    """
    sides = []
    for permuted in (False, True):
        listed = {i: expressions[name] for i, name in enumerate(layout.order) if (name in layout.permuted) == permuted}
        columns = "".join(f"{expression} AS o{i}, " for i, expression in listed.items())
        order = shuffled(_by_name(layout, listed))  # the digest of all engines, because it decides the pairing
        sides.append(
            f"SELECT *, row_number() OVER (PARTITION BY grp ORDER BY {order}) AS turn "
            f"FROM (SELECT {columns}placed.grp {_source(layout, placed)})"
        )
    columns = ", ".join(f"o{i}" for i in range(len(layout.order)))
    return f"SELECT {columns} FROM ({sides[0]}) AS kept JOIN ({sides[1]}) AS dealt USING (grp, turn)"


def _by_name(layout: Layout, positions: Iterable[int]) -> list[str]:
    """List outputs by column name, so that nothing depends on the order of columns."""
    return [f"o{i}" for i in sorted(positions, key=lambda i: layout.order[i])]


def shuffled(outputs: Sequence[str], many: bool = False) -> str:
    """Order by a digest of the content: independent of the input's order, equal for equal content.

    For many rows the digest is a hash of 128 bits, ten times cheaper; rows with equal hashes are equal.
    """
    if many:
        listed = ", ".join(outputs)
        return f"hash({listed}), hash('again', {listed})"
    return f"md5({framed([f'{output}::VARCHAR' for output in outputs])}), {', '.join(outputs)}"


def framed(texts: Sequence[str]) -> str:
    """Return one text for several texts, as the protocol defines: each with its length before it, `-` if missing.

    It is one call, because DuckDB plans a chain of hundreds of `||` for longer than it needs for the rows.
    """
    parts = ", ".join(f"coalesce(length({text}) || ':' || {text}, '-')" for text in texts)
    return f"concat({parts})" if parts else "''"


def ruled(text: str, rule: Rule) -> str:
    """Return the result of a rule for a text."""
    if rule.kind == "prefix":
        return f"left({text}, {rule.number})"
    if rule.kind == "day":
        return f"CASE WHEN regexp_full_match({text}, '{ISO_DAY}') THEN left({text}, 10) ELSE {text} END"
    number = f"(floor(TRY_CAST({text} AS DOUBLE) / {rule.number}) * {rule.number} + 0)::VARCHAR"  # no -0.0
    return f"CASE WHEN regexp_full_match({text}, '{NUMBER}') THEN {number} ELSE {text} END"


def gathered_lists(owner: str, item: str) -> str:
    """Return the query that aggregates rows to one list per owner, numbered by the owners' first rows."""
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
    """Return the query of the facts of a column: the fields of `ColumnFacts` in order."""
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


LARGEST = (1 << 63) - 1
"""The largest number of packed codes."""

AT_ONCE = 1 << 16
"""The number of codes that are unpacked at a time, to stay in the processor's cache."""

KEYED_BY_VALUE = re.compile("(VARCHAR|BOOLEAN|DATE|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|UUID|TIMESTAMP|DECIMAL|ENUM)\\b")
"""Types whose values are equal exactly if their texts are; for other types texts are compared."""


@dataclass(frozen=True)
class CodedColumn:
    """A column with codes: their table, its lookup key, and the number of codes."""

    table: str
    key: str
    """The lookup key of a row: the column itself, or its text."""

    size: int
    """Codes are from -1 to below this."""

    @property
    def join(self) -> str:
        """Return the join for the codes of a row; a value without a code has none, and a missing one may have one."""
        return f"JOIN {self.table} ON {self.table}.value IS NOT DISTINCT FROM {self.key}"


@dataclass(frozen=True)
class Packing:
    """The packing of the codes of some columns into one number, or a few."""

    columns: tuple[CodedColumn, ...]

    @property
    def parts(self) -> list[list[int]]:
        """Return the columns of each number, by index."""
        parts: list[list[int]] = [[]]
        room = LARGEST
        for place, column in enumerate(self.columns):
            if room // (column.size + 1) == 0:
                parts.append([])
                room = LARGEST
            parts[-1].append(place)
            room //= column.size + 1
        return parts

    @property
    def names(self) -> list[str]:
        """The names of the numbers."""
        return [f"k{i}" for i in range(len(self.parts))]

    @property
    def joins(self) -> str:
        """Return the joins for the codes of rows."""
        return " ".join(column.join for column in self.columns)

    @property
    def numbers(self) -> list[str]:
        """Return the expression of each number; it is missing if a value has no code."""
        return [
            " + ".join(["0", *(f"({self.columns[i].table}.code + 1)::BIGINT * {s}" for i, s in self._strides(part))])
            for part in self.parts
        ]

    @property
    def codes(self) -> list[str]:
        """Return the expression that extracts the code of each column from the numbers."""
        found = {}
        for name, part in zip(self.names, self.parts, strict=True):
            for place, stride in self._strides(part):
                found[place] = f"({name} // {stride}) % {self.columns[place].size + 1} - 1"
        return [found[place] for place in range(len(self.columns))]

    def _strides(self, part: Sequence[int]) -> list[tuple[int, int]]:
        strides, stride = [], 1
        for place in reversed(part):
            strides.append((place, stride))
            stride *= self.columns[place].size + 1
        return strides[::-1]

    def packed(self, codes: Sequence[NDArray[np.integer]]) -> list[NDArray[np.int64]]:
        """Return the numbers of tuples of codes, given by column."""
        numbers = []
        for part in self.parts:
            number = np.zeros(len(codes[0]), np.int64)
            for place, stride in self._strides(part):
                number += (codes[place].astype(np.int64) + 1) * stride
            numbers.append(number)
        return numbers

    def unpacked(self, keys: Sequence[NDArray[np.int64]]) -> NDArray[np.int32]:
        """Return the codes of numbers: one row per tuple, one column per coded column."""
        codes = np.empty((len(keys[0]), len(self.columns)), np.int32)
        strides = [self._strides(part) for part in self.parts]
        for start in range(0, len(codes), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            for key, places in zip(keys, strides, strict=True):
                rest = key[some].copy()
                for place, stride in places:
                    code = rest // stride
                    rest -= code * stride
                    codes[some, place] = code - 1
        return codes


def packing_of(codings: Sequence[Coding]) -> Packing:
    """Return the packing of codes in fields s0, s1, ..."""
    sizes = [max(coding.codes.values(), default=-1) + 1 for coding in codings]
    return Packing(tuple(CodedColumn(f"s{i}", f"y{i}", size) for i, size in enumerate(sizes)))


def in_order(counted: pa.Table, keys: int) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Sort counted numbers, so that their codes are in lexicographic order.

    If a number and its count fit into one integer, that is sorted, in half of the time.
    """
    columns, counts = [numbers_in(counted.column(i)) for i in range(keys)], numbers_in(counted.column(keys))
    bits = int(counts.max(initial=0)).bit_length()
    if keys == 1 and int(columns[0].max(initial=0)) < LARGEST >> bits:
        both = columns[0] << bits
        both |= counts
        both.sort()
        return [both >> bits], both & ((1 << bits) - 1)
    order = np.argsort(columns[0]) if keys == 1 else np.lexsort(columns[::-1])
    return [column[order] for column in columns], counts[order]
