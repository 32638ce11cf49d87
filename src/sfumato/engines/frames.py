"""Frames in memory: their kinds, and their conversion to an Arrow table.

If a column cannot be read, the message names it, its content and a remedy. The index of a pandas frame is never read:
it contains the order of rows, or identities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pyarrow as pa

from sfumato.engines._headers import checked_header
from sfumato.errors import BadInputError
from sfumato.runtime.arrays import RedactedRepr
from sfumato.texts.catalogue import refusal, t

FrameKind = Literal["pandas", "polars", "arrow", "spark"]
"""The kinds of frames that a release comes back as."""

PANDAS_INDEX = "__index_level_"
MOST_DIGITS = 38
"""The most digits of decimals that DuckDB reads exactly."""

UTC = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")
SHOWN_AS_TEXT = ("period", "interval")
"""Types of pandas that Arrow would split into parts; they are read as pandas displays them."""

ANY_FRAME = "give a file's path, or a frame of pandas, polars, pyarrow or whatever else speaks the Arrow interface"
RENAME = "rename columns, or name them all (columns=[...])"
CONVERT: dict[FrameKind, str] = {
    "pandas": "make each column one type (frame[column].astype('string'), pandas.to_numeric, pandas.to_datetime)",
    "polars": "cast each to a plain type (frame.with_columns(polars.col(column).cast(polars.String)))",
    "arrow": "make each column numbers, texts, dates or times",
}
"""Remedies for columns that cannot be read."""


@dataclass(frozen=True, eq=False, repr=False)
class Frame(RedactedRepr):
    """A frame instead of a file name; it equals only itself, and its representation has no rows."""

    public_fields: ClassVar[tuple[str, ...]] = ("origin",)

    content: Any
    origin: str
    """Its name in messages."""

    @staticmethod
    def of(content: Any) -> Frame:
        """Wrap a frame; a frame that can be read only once is read now."""
        origin = frame_origin(content)
        lasts = isinstance(content, pa.Table) or frame_kind(content) != "arrow" or hasattr(content, "columns")
        return Frame(content if lasts else arrow_table(content, origin)[0], origin)


def frame_origin(content: Any) -> str:
    """Return the name of a frame in messages, by its kind."""
    return f"{type(content).__module__.partition('.')[0]} {type(content).__name__}"


def frame_kind(source: Any) -> FrameKind:
    """Return the kind of frame in which a release of a source is returned: its own, or Arrow for others and files."""
    rooms = {base.__module__.partition(".")[0] for base in type(source).__mro__}
    kinds: dict[str, FrameKind] = {"pandas": "pandas", "polars": "polars", "pyspark": "spark"}
    return next((kind for room, kind in kinds.items() if room in rooms), "arrow")


def arrow_table(frame: Any, origin: str, columns: Sequence[str] = ()) -> tuple[pa.Table, tuple[str, ...]]:
    """Read a frame, with these names of columns or its own, and notices."""
    kind, notices = frame_kind(frame), []
    if kind != "arrow":
        _check_shape(frame, origin)
        _check_names(origin, tuple(map(str, frame.columns)), columns)
        table = _from_pandas(frame, origin) if kind == "pandas" else _from_polars(frame, origin)
        names = tuple(map(str, frame.columns))
        if kind == "pandas":
            notices += _about_index(frame, origin)
    else:
        table = _from_arrow(frame, origin)
        table = table.select([i for i, name in enumerate(table.column_names) if not name.startswith(PANDAS_INDEX)])
        names = tuple(table.column_names)
        _check_names(origin, names, columns)
    table = table.rename_columns(list(columns or names))
    check_decimals(origin, table.schema)
    return table, (*notices, *_about_zones(table, origin))


def check_decimals(origin: str, schema: pa.Schema) -> None:
    """Raise if decimals have more digits than the engine distinguishes."""
    for field in schema:
        if pa.types.is_decimal256(field.type) and field.type.precision > MOST_DIGITS:
            raise refusal(
                "column_holds_decimals_digits",
                origin=origin,
                name=field.name,
                precision=field.type.precision,
                MOST_DIGITS=MOST_DIGITS,
            )


def _check_shape(frame: Any, origin: str) -> None:
    if hasattr(frame, "collect"):
        raise refusal("query_whose_rows_not", origin=origin)
    if not hasattr(frame, "columns"):
        raise refusal("column_give_frame", origin=origin)
    if getattr(frame.columns, "nlevels", 1) > 1:
        raise refusal("engines.levels_of_names", origin=origin, nlevels=frame.columns.nlevels)


def _check_names(origin: str, names: tuple[str, ...], columns: Sequence[str]) -> None:
    """Raise unless all columns have different names, their own or the declared ones."""
    if columns and len(columns) != len(names):
        raise refusal("names_given_frames", origin=origin, columns=len(columns), names=len(names))
    checked_header(origin, tuple(columns) or names, remedy=RENAME)


def _from_arrow(frame: Any, origin: str) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame  # pa.table would import pandas to see whether it is one of its frames
    if not hasattr(frame, "__arrow_c_stream__"):
        raise refusal("neither_path_nor_frame", origin=origin, ANY_FRAME=ANY_FRAME)
    try:
        return pa.table(frame)
    except (ValueError, TypeError, OverflowError, pa.ArrowException) as error:
        why = str(error).splitlines()[0]
        raise refusal("cannot_read_table", origin=origin, why=why, CONVERT=CONVERT["arrow"]) from None


def _from_pandas(frame: Any, origin: str) -> pa.Table:
    numbered = frame.set_axis(range(frame.shape[1]), axis=1)
    for place, kind in enumerate(numbered.dtypes):
        inner = getattr(getattr(kind, "categories", None), "dtype", kind)
        if str(inner).startswith(SHOWN_AS_TEXT):
            numbered[place] = numbered[place].astype("string")
    try:
        return pa.Table.from_pandas(numbered, preserve_index=False)
    except (ValueError, TypeError, OverflowError, pa.ArrowException):
        whys = [_why_not_pandas(numbered[place], str(name)) for place, name in enumerate(frame.columns)]
    raise _unreadable(origin, whys, "pandas")


def _why_not_pandas(series: Any, name: str) -> str:
    """Describe why a column cannot be read; empty if it can."""
    try:
        pa.Array.from_pandas(series)
    except (ValueError, TypeError, OverflowError, pa.ArrowException) as error:
        first: dict[str, int] = {}
        if series.dtype == object:
            for row, (value, present) in enumerate(zip(series, series.notna(), strict=True), start=1):
                if present:
                    first.setdefault(type(value).__name__, row)
        if len(first) > 1:
            kinds = " and ".join(f"{kind} (row {row})" for kind, row in first.items())
            return t("notice.column_holds_values_several", name=name, kinds=kinds)
        return t("notice.column_cannot_read", name=name, dtype=series.dtype, splitlines=str(error).splitlines()[0])
    return ""


def _from_polars(frame: Any, origin: str) -> pa.Table:
    objects = [
        t("notice.column_holds_objects_python", name=name)
        for name, kind in frame.schema.items()
        if str(kind) == "Object"
    ]
    if objects:  # Arrow would store their memory addresses
        raise _unreadable(origin, objects, "polars")
    try:
        return pa.table(frame)
    except (ValueError, TypeError, OverflowError, pa.ArrowException):
        whys = [_why_not_polars(frame[name], name) for name in frame.columns]
    raise _unreadable(origin, whys, "polars")


def _why_not_polars(series: Any, name: str) -> str:
    try:
        pa.chunked_array(series)
    except (ValueError, TypeError, OverflowError, pa.ArrowException):
        return t("notice.column_type", name=name, dtype=series.dtype)
    return ""


def _unreadable(origin: str, whys: Sequence[str], kind: FrameKind) -> BadInputError:
    said = "; ".join(filter(None, whys)) or t("notice.cannot_read_table")
    return BadInputError(t("notice.leave_out", origin=origin, said=said, CONVERT=CONVERT[kind]))


def _about_index(frame: Any, origin: str) -> list[str]:
    """Report a named index, which is not read."""
    names = [repr(str(name)) for name in frame.index.names if name is not None]
    if not names:
        return []
    return [t("notice.index_no_column_not", origin=origin, names=", ".join(names))]


def _about_zones(table: pa.Table, origin: str) -> list[str]:
    """Report days that may differ from the local ones."""
    zones = {field.name: getattr(field.type, "tz", None) for field in table.schema}
    away = [f"{name!r} ({zone})" for name, zone in zones.items() if zone not in (None, *UTC)]
    if not away:
        return []
    return [t("engines.other_time_zone", origin=origin, away=", ".join(away))]
