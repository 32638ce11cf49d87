"""Parsing loaded texts, column by column: blanks around values, numbers and dates in usual notations.

The kind of a column is first tested on a few rows, so that plain columns cost one cheap pass; every decision then uses
all rows, by counting distinct values. Nothing is changed: a column in another notation gets an expression.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.engines import notations as notation
from sfumato.engines.duckdb.grouped import literal
from sfumato.engines.protocol import Reading, number_column, numbers_in, text_column
from sfumato.texts.catalogue import refusal, t

LOOKED_AT = 1000
MEASURED = 0.3
"""The least share of numbers or dates among the sampled texts of such a column."""


MOST_VALUES = 1_000_000
MOST_COLUMNS = 50
"""The most values and columns of a table for which all columns are counted at once."""


@dataclass(frozen=True)
class CountedColumn:
    """A column of a small table: its distinct values t in the order of texts, with n and first row; those of rows."""

    values: pa.Table
    codes: NDArray[np.int64]
    """For each row the index of its value."""


def count_values(connection: duckdb.DuckDBPyConnection, columns: int) -> dict[str, CountedColumn]:
    """Count the distinct values of all columns of a small table of texts, also in a table `counted`.

    A statement for each column would cost more than its rows. Large tables are not counted in advance.
    """
    [(rows,)] = connection.execute("SELECT count(*) FROM rows").fetchall()
    if not 0 < rows * columns <= MOST_VALUES or columns > MOST_COLUMNS:
        return {}
    texts = connection.sql("SELECT * FROM rows").to_arrow_table()
    counted = {f"c{i}": _counted_column(texts[i].combine_chunks()) for i in range(columns)}
    tables = [
        column.values.append_column("base", text_column([name] * len(column.values)))
        for name, column in counted.items()
    ]
    connection.register("counted", pa.concat_tables(tables))
    return counted


def _counted_column(texts: pa.Array) -> CountedColumn:
    encoded = texts.dictionary_encode(null_encoding="encode")
    places, order = numbers_in(encoded.indices), numbers_in(pc.sort_indices(encoded.dictionary))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    codes, first = rank[places], np.empty(len(order), np.int64)
    first[codes[::-1]] = np.arange(len(codes), 0, -1)
    counts = np.bincount(codes, minlength=len(order))
    values = {"t": encoded.dictionary.take(number_column(order)), "n": number_column(counts)}
    return CountedColumn(pa.table({**values, "first": number_column(first)}), codes)


@dataclass(frozen=True)
class RowColumn:
    """A column of `rows`, and the expression of its text."""

    base: str
    text: str
    is_counted: bool

    @property
    def values(self) -> str:
        """Return a query of its distinct values, as texts t, with the number n of rows of each."""
        distinct = f"SELECT {self.base}, count(*) AS n FROM rows GROUP BY ALL"
        if self.is_counted:
            distinct = f"SELECT t AS {self.base}, n FROM counted WHERE base = '{self.base}'"
        return f"(SELECT {self.text} AS t, n FROM ({distinct}))"


@dataclass(frozen=True)
class Settled:
    """How the columns of a source are read: changed expressions, notations, notices."""

    expressions: Mapping[str, str] = field(default_factory=dict)
    """By the engine's internal names of columns."""

    notations: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


def settle(
    connection: duckdb.DuckDBPyConnection,
    names: Sequence[str],
    reading: Reading,
    trims: bool,
    values: Mapping[str, str],
    counted: Mapping[str, CountedColumn],
) -> Settled:
    """Determine how the texts of `rows` are read; `trims` is whether blanks around values are ignored.

    `values` has the expressions of columns that are already changed, `counted` the values of columns that were
    counted before.
    """
    reading.check_columns(names)
    kinds = connection.sql("SELECT * FROM rows").types
    texts = {
        name: RowColumn(c, values.get(c, c), c in counted)
        for c, name, kind in zip((f"c{i}" for i in range(len(names))), names, kinds, strict=False)
        if str(kind) == "VARCHAR" and name not in reading.as_written
    }
    if not texts:
        return Settled()
    blanks = _with_blanks(connection, texts, counted) if trims else {}
    columns = {name: _trimmed(column, reading) if name in blanks else column for name, column in texts.items()}
    notices = _blank_notice(reading.origin, blanks)
    candidates, decimals = _candidates(connection, columns, reading)
    numbers = {name: _number_counts(connection, columns[name]) for name in candidates}
    styles, said = notation.number_styles(numbers, reading.usual, decimals)
    styles |= _wanted(connection, columns, reading, numbers)
    notices += [notice for notice in said if not any(f"{name!r}" in notice for name in reading.decided)]
    others = [name for name in candidates if name not in styles]
    dates = {name: counts for name in others if (counts := _date_counts(connection, columns[name])) is not None}
    orders, more = notation.date_orders(dates, reading.dates, reading.usual)
    changed = {name: columns[name].text for name in blanks}
    changed |= {name: _number(columns[name].text, style) for name, style in styles.items()}
    changed |= {name: _date(connection, columns[name], dates[name], order) for name, order in orders.items()}
    return Settled(
        {texts[name].base: expression for name, expression in changed.items()},
        {**styles, **orders},
        (*notices, *more),
    )


# -- blanks ------------------------------------------------------------------------------------------------------


def _trimmed(column: RowColumn, reading: Reading) -> RowColumn:
    """Return the expression that trims blanks; a trimmed missing text is missing."""
    bare, missing = f"trim({column.text}, {literal(notation.BLANKS)})", ", ".join(map(literal, ("", *reading.na)))
    return replace(column, text=f"CASE WHEN {bare} NOT IN ({missing}) THEN {bare} END")


def _with_blanks(
    connection: duckdb.DuckDBPyConnection, texts: Mapping[str, RowColumn], counted: Mapping[str, CountedColumn]
) -> dict[str, int]:
    """Count the values with blanks around them, of columns that have any."""
    blank, numbers = _count(f"t <> trim(t, {literal(notation.BLANKS)})"), {}
    for name, column in texts.items():
        if column.is_counted and column.text == column.base:  # no statement for a few values
            values = counted[column.base].values
            changed = pc.not_equal(values["t"], pc.utf8_trim(values["t"], characters=notation.BLANKS))
            numbers[name] = pc.sum(values["n"].filter(changed)).as_py()
        else:
            numbers[name] = connection.execute(f"SELECT {blank} FROM {column.values}").fetchall()[0][0]
    return {name: number for name, number in numbers.items() if number}


def _blank_notice(origin: str, blanks: Mapping[str, int]) -> list[str]:
    if not blanks:
        return []
    listed = ", ".join(f"{name!r}" for name in [*blanks][:5]) + (f" and {len(blanks) - 5} more" * (len(blanks) > 5))
    return [t("engines.blanks_trimmed", origin=origin, values=sum(blanks.values()), listed=listed)]


# -- numbers -----------------------------------------------------------------------------------------------------


def _candidates(
    connection: duckdb.DuckDBPyConnection, columns: Mapping[str, RowColumn], reading: Reading
) -> tuple[list[str], bool]:
    """List the columns that may need parsing, and return whether another one has decimal points."""
    listed = ", ".join(column.text for column in columns.values())
    few = connection.sql(f"SELECT {listed} FROM rows LIMIT {LOOKED_AT}").to_arrow_table()
    candidates: list[str] = []
    plain: list[str] = []
    for i, name in enumerate(columns):
        texts = {text for text in few.column(i).unique().to_pylist() if text is not None}
        if texts and (sum(map(notation.looks_measured, texts)) < MEASURED * len(texts) or notation.is_iso(texts)):
            continue
        (plain if notation.is_plain(texts) and name not in reading.decided else candidates).append(name)
    decimals = False
    for name in plain:
        conditions = (
            "t IS NOT NULL",
            "TRY_CAST(t AS DOUBLE) IS NOT NULL",
            "contains(t, '.')",
            _fits("t", notation.EITHER),
        )
        present, numbers, points, unclear = connection.execute(
            f"SELECT {', '.join(map(_count, conditions))} FROM {columns[name].values}"
        ).fetchall()[0]
        if present and (numbers < present or (points and unclear == points)):
            candidates.append(name)
        decimals |= unclear < points and numbers == present
    return [name for name in columns if name in candidates], decimals


def _number_counts(connection: duckdb.DuckDBPyConnection, column: RowColumn) -> notation.NumberCounts:
    """Count the notations in the values of a column."""
    comma, point, unclear, plain = (
        _fits("t", pattern) for pattern in (notation.COMMA, notation.POINT, notation.EITHER, notation.PLAIN)
    )
    conditions = [
        "t IS NOT NULL",
        "NOT regexp_matches(t, '[0-9]')",
        comma,
        point,
        f"{comma} AND {point}",
        f"{unclear} AND contains(t, '.')",
        f"{unclear} AND contains(t, ',')",
        plain,
    ]
    counted = ", ".join(map(_count, conditions))
    return notation.NumberCounts(*connection.execute(f"SELECT {counted} FROM {column.values}").fetchall()[0])


def _count(condition: str) -> str:
    """Return the SQL for the number of rows that satisfy a condition, among values t of n rows each."""
    return f"coalesce(sum(n) FILTER (WHERE {condition}), 0)::BIGINT"


def _fits(column: str, pattern: str) -> str:
    return f"regexp_full_match({column}, {literal(pattern)})"


def _wanted(
    connection: duckdb.DuckDBPyConnection,
    columns: Mapping[str, RowColumn],
    reading: Reading,
    counts: Mapping[str, notation.NumberCounts],
) -> dict[str, notation.NumberStyle]:
    """Return the declared notations; a value that does not fit is an error."""
    styles: dict[str, notation.NumberStyle] = {}
    asked: list[tuple[str, notation.NumberStyle]] = [(name, "comma") for name in reading.decimal_comma]
    asked += [(name, "point") for name in reading.decimal_point]
    for name, style in asked:
        if name not in columns:
            raise refusal("column_holds_no_texts", origin=reading.origin, name=name, style=style)
        column, pattern = columns[name].text, notation.COMMA if style == "comma" else notation.POINT
        odd = connection.execute(
            f"SELECT {column}, rowid + 1 FROM rows WHERE regexp_matches({column}, '[0-9]') AND NOT "
            f"{_fits(column, pattern)} ORDER BY rowid LIMIT 1"
        ).fetchall()
        for text, row in odd:
            raise refusal("column_row", origin=reading.origin, name=name, row=row, text=text, style=style)
        styles[name] = style
    return styles


def _number(column: str, style: notation.NumberStyle) -> str:
    """Return the expression that writes a number with a point and without thousands separators."""
    pattern, thousands = (
        (notation.COMMA, f".{notation.SPACES}") if style == "comma" else (notation.POINT, f",{notation.SPACES}")
    )
    bare = f"translate({column}, {literal(thousands)}, '')"
    number = f"replace({bare}, ',', '.')" if style == "comma" else bare
    return f"CASE WHEN {_fits(column, pattern)} THEN {number} ELSE {column} END"


# -- dates -------------------------------------------------------------------------------------------------------


def _date_counts(connection: duckdb.DuckDBPyConnection, column: RowColumn) -> notation.DateCounts | None:
    """Count the dates in the form of the first values of a column."""
    forms = ", ".join(_count(_fits("t", form.pattern)) for form in notation.DATE_FORMS)
    counts = connection.execute(f"SELECT {forms} FROM {column.values}").fetchall()[0]
    form, dates = max(zip(notation.DATE_FORMS, counts, strict=True), key=lambda pair: pair[1])
    if not dates:
        return None
    parts = [f"max(CASE WHEN fits THEN TRY_CAST(regexp_extract(t, '{place}', 1) AS INTEGER) END)" for place in PLACES]
    valid = [_count(f"{_day('t', formats)} IS NOT NULL") for formats in form.formats.values()]
    told = [_count("t IS NOT NULL"), _count("NOT regexp_matches(t, '[0-9]')"), *parts, *valid]
    present, words, first, second, *counted = connection.execute(
        f"SELECT {', '.join(told)} FROM (SELECT *, {_fits('t', form.pattern)} AS fits FROM {column.values})"
    ).fetchall()[0]
    valid_by_order = dict(zip(form.formats, counted, strict=True))
    return notation.DateCounts(form, present, words, dates, first or 0, second or 0, valid_by_order)


PLACES = (r"^([0-9]{1,2})[^0-9]", r"^[0-9]{1,2}[^0-9]([0-9]{1,2})[^0-9]")
"""The first and the second number of a date that ends with the year."""


def _day(column: str, formats: Sequence[str]) -> str:
    listed = ", ".join(literal(form + time) for form in formats for time in notation.TIMES)
    return f"try_strptime({column}, [{listed}])"


def _date(connection: duckdb.DuckDBPyConnection, column: RowColumn, counts: notation.DateCounts, order: str) -> str:
    """Return the expression of a date in ISO format, with its time if any value has one."""
    day = _day(column.text, counts.form.formats[order])
    timed = connection.execute(f"SELECT bool_or(contains(t, ':')) FROM {column.values}").fetchall()[0][0]
    text = f"strftime({day}, '{'%Y-%m-%d %H:%M:%S' if timed else '%Y-%m-%d'}')"
    return f"coalesce({text}, {column.text})"
