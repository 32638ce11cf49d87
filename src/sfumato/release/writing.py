"""Writing a release: one file of rows, shuffled, all or nothing; and a release as a frame in memory.

Quasi-identifiers and sensitive values are written as the texts of their hierarchy, neutral columns unchanged. In a
bucketization the sensitive values are permuted within each group. The permutation depends only on the published
content of the group, so the file reveals no more than the group's histogram.

In a frame, a neutral column has its source's type, as in a Parquet file. The type of any other follows from its
published values, and from whether its source declares it as text, so it reveals nothing about suppressed records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.engines._text_files import escape_file
from sfumato.engines.locations import input_files
from sfumato.engines.protocol import Layout, Placement, Texts
from sfumato.runtime.staging import parts_of
from sfumato.texts.catalogue import refusal, t

if TYPE_CHECKING:
    from sfumato.release.release import Published, Release


GROUP = "group"
Format = Literal["csv", "parquet"]
ENDINGS: dict[str, Format] = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}


def write_draft(release: Release, draft: Path, format: Format, escape_formulas: bool = False) -> None:
    """Write the rows of a release to a draft."""
    check_group_column(release)
    _check_all_written(release, release.table.engine.write(*placed(release), draft, format))
    for part in parts_of(draft) if escape_formulas else ():
        escape_file(part)


def release_rows(release: Release) -> pa.Table:
    """Return the content of a release's file, in the same order of rows."""
    rows = release.table.engine.placed_rows(*placed(release))
    _check_all_written(release, rows.num_rows)
    return rows


def write_named_rows(release: Release, path: Path) -> None:
    """Write the rows of a release with the person of each, for counting persons in them; internal."""
    roles = release.table.roles
    shown = replace(roles, neutral=(*roles.neutral, str(roles.person)), person=None, identifier=())
    named = replace(release, table=replace(release.table, roles=shown))
    vars(named.table)["_counted"] = vars(release.table)["_counted"]
    release.table.engine.write(_placement(release), row_layout(named), path, format_of(path))


def placed(release: Release) -> tuple[Placement, Layout]:
    """Return the placement and the layout of a release's rows."""
    check_group_column(release)
    return _placement(release), row_layout(release)


def _placement(release: Release) -> Placement:
    assignment = release.assignment
    return Placement(assignment.cell, assignment.group, assignment.count, release.table.link)


def _check_all_written(release: Release, rows: int) -> None:
    if rows != release.assignment.records:
        raise AssertionError(t("refusal.rows_written_records", rows=rows, records=release.assignment.records))


def format_of(path: Path) -> Format:
    """Return the format of a file by its extension."""
    if path.suffix.lower() not in ENDINGS:
        raise refusal("unknown_ending", path=path, endings=" or ".join(ENDINGS))
    return ENDINGS[path.suffix.lower()]


def check_group_column(release: Release) -> None:
    """Raise if a column of the table has the name of the column of groups."""
    clash = [name for name in release.table.published if name.casefold() == GROUP]
    if release.form == "bucketization" and clash:
        raise refusal("column_called_like_ours", clash=clash)


def inputs_of(release: Published) -> list[Path]:
    """Return the input files of a release, which no output may replace."""
    return input_files(release.table.engine.origin)


def row_layout(release: Release) -> Layout:
    """Return the content of each column in the file of rows."""
    cells, bucketized = release.cells, release.form == "bucketization"
    by_group, by_cell = [], []
    for i, quasi in enumerate(cells.quasi):
        if bucketized:
            by_cell.append(_leaves(quasi.name, quasi.hierarchy, cells.codes[:, i]))
        else:
            texts, codes = release.quasi_texts(i)
            by_group.append(Texts(quasi.name, [text or None for text in texts], codes))
    permuted = frozenset[str]()
    if release.histograms is not None:
        for j, sensitive in enumerate(cells.sensitive):
            by_cell.append(_leaves(sensitive.name, sensitive.hierarchy, sensitive.leaves[cells.values[:, j]]))
        permuted = frozenset(sensitive.name for sensitive in cells.sensitive) if bucketized else permuted
    names = {column.name for column in [*by_group, *by_cell]} | set(release.table.roles.neutral)
    order = [name for name in release.table.published if name in names]
    return Layout(
        order=[*order, GROUP] if bucketized else order,
        by_group=by_group,
        by_cell=by_cell,
        neutral=[name for name in order if name in release.table.roles.neutral],
        permuted=permuted,
        group_column=GROUP if bucketized else None,
        group_labels=np.arange(1, release.groups + 1) if bucketized else None,
    )


def _leaves(name: str, hierarchy: Hierarchy, codes: NDArray[np.int32]) -> Texts:
    return Texts(name, [label or None for label in hierarchy.leaves], codes)


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
"""The parser of texts for each type, raising an error for others; the first type of all texts is used.

A text is parsed only if it can be restored: `007` and a number of more digits than a type has remain texts.
"""

NULLABLE = {pa.bool_(): "boolean"} | {
    getattr(pa, name.lower())(): name for sign in ("", "U") for name in (f"{sign}Int{bits}" for bits in (8, 16, 32, 64))
}
"""Types whose values pandas would convert if some are missing, unless it uses its own nullable types."""


def typed(table: pa.Table, texts: Collection[str]) -> pa.Table:
    """Give the columns of texts their types, except the declared texts."""
    for place, name in enumerate(table.column_names):
        if name not in texts and pa.types.is_string(table.schema.types[place]):
            table = table.set_column(place, name, _typed(table.column(place)))
    return table


def _typed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Parse a column of texts as the first type that all of them have, else return it unchanged."""
    distinct = column.unique().drop_null()
    for read, kind in TYPES if len(distinct) else ():
        try:
            values = pa.array([read(text) for text in distinct.to_pylist()], kind)
        except (ValueError, KeyError, ArithmeticError):
            continue
        return values.take(pc.index_in(column, value_set=distinct))
    return column


def pandas_frame(table: pa.Table) -> Any:
    """Return a table as a pandas frame; whole numbers and truth values keep their types with missing values."""
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
        raise refusal("needs_pip_install", verb=verb, package=package) from None
