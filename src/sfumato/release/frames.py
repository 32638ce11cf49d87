"""A release as a frame in memory: the rows of its file, with a type for every column whose values have one.

A neutral column has its source's own type, as in a Parquet file. Of any other the type follows from its published
values, and from whether its source calls it text, so it tells nothing of records that were left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from datetime import date, datetime
from decimal import Decimal
from importlib import import_module
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import BadInputError

WHOLE = re.compile(r"0|-?[1-9][0-9]*")
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[+-]?[0-9]+)?")
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?")
TRUTHS = {"true": True, "false": False}


def _whole(text: str) -> int:
    number = int(text)
    if not WHOLE.fullmatch(text) or not -(1 << 63) <= number < 1 << 63:
        raise ValueError
    return number


def _number(text: str) -> float:
    number = float(text)
    if not NUMBER.fullmatch(text) or Decimal(repr(number)) != Decimal(text):
        raise ValueError
    return number


def _day(text: str) -> date:
    if not DAY.fullmatch(text):
        raise ValueError
    return date.fromisoformat(text)


def _moment(text: str) -> datetime:
    if not MOMENT.fullmatch(text):
        raise ValueError
    return datetime.fromisoformat(text)


TYPES: tuple[tuple[Callable[[str], Any], pa.DataType], ...] = (
    (_whole, pa.int64()),
    (_number, pa.float64()),
    (_day, pa.date32()),
    (_moment, pa.timestamp("us")),
    (TRUTHS.__getitem__, pa.bool_()),
)
"""How a text is read as a value of each type, an error where it is none; the first type that all texts have is taken.

A text is read only if it can be written back: `007` and a number of more digits than a type has stay texts.
"""

NULLABLE = {pa.bool_(): "boolean"} | {
    getattr(pa, name.lower())(): name for sign in ("", "U") for name in (f"{sign}Int{bits}" for bits in (8, 16, 32, 64))
}
"""Types whose values pandas would turn into others where some are missing, unless it is told to use its own."""


def typed(table: pa.Table, texts: Collection[str]) -> pa.Table:
    """Give the columns of texts their types, except those that are called texts."""
    for place, name in enumerate(table.column_names):
        if name not in texts and pa.types.is_string(table.schema.types[place]):
            table = table.set_column(place, name, _typed(table.column(place)))
    return table


def _typed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Read a column of texts as the first type that all of them have; as it is where there is none."""
    distinct = column.unique().drop_null()
    for read, kind in TYPES if len(distinct) else ():
        try:
            values = pa.array([read(text) for text in distinct.to_pylist()], kind)
        except (ValueError, KeyError, ArithmeticError):
            continue
        return values.take(pc.index_in(column, value_set=distinct))
    return column


def pandas_frame(table: pa.Table) -> Any:
    """Return a table as a pandas frame; whole numbers and truth values stay what they are where some are missing."""
    pandas = _needed("pandas", "to_pandas")
    frame = table.to_pandas(date_as_object=False)
    for name in table.column_names:
        column = table.column(name)
        if column.null_count and column.type in NULLABLE:
            kind = pandas.api.types.pandas_dtype(NULLABLE[column.type])
            frame[name] = column.to_pandas(types_mapper={column.type: kind}.get)
    return frame


def polars_frame(table: pa.Table) -> Any:
    """Return a table as a polars frame."""
    return _needed("polars", "to_polars").from_arrow(table)


def _needed(package: str, verb: str) -> Any:
    try:
        return import_module(package)
    except ModuleNotFoundError:
        raise BadInputError(f"{verb} needs {package}: pip install {package}, or take to_arrow()") from None
