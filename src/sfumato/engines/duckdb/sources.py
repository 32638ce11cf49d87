"""Opening sources as `rows` with columns c0, c1, ... and `rowid`: files that stay where they are, or a table of texts.

Parquet files, tables of a DuckDB database and URLs are views, so a verb reads the columns that it needs and no others.
Text is read once, into a table in memory, or on disk where it is large; so are workbooks, JSON and frames. What
values mean (a missing one, a number) is an expression over a column, which nobody applies before it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from sfumato.engines.duckdb.connections import connect, memory_limit, readable, use_store
from sfumato.engines.duckdb.statements import literal
from sfumato.engines.duckdb.views import path_literal, view_database, view_parquet, view_url
from sfumato.engines.frames import arrow_table
from sfumato.engines.headers import checked_header
from sfumato.engines.items.files import lines_of_items
from sfumato.engines.json_texts import json_lists, json_texts
from sfumato.engines.labelled_files import LABELLED, read_labelled
from sfumato.engines.places import files_in, is_database, is_many, partition_of, scheme_of
from sfumato.engines.protocol import Reading
from sfumato.engines.text_files import (
    JSON,
    PARQUET,
    DelimitedText,
    as_utf8,
    check_line_lengths,
    encoding_of,
    existing_file,
    explained,
    sniff,
)
from sfumato.engines.workbooks import SHEETS, read_sheet
from sfumato.errors import BadInputError
from sfumato.process.limits import check_columns

WHOLE_KINDS = ("STRUCT", "MAP", "UNION", "VARIANT", "GEOMETRY", "BLOB")
"""How a DuckDB type is told whose values are made of several, or of bytes: their texts need not tell them apart."""

LARGE_TEXT = 256 << 20
"""Text of more bytes than this, or than a sixteenth of the memory allowed, is read to disk."""


@dataclass(frozen=True)
class LoadedRows:
    """A source in `rows`: the names of its columns, whether blanks around its values mean nothing, what is said."""

    names: tuple[str, ...]
    trims: bool = False
    notices: tuple[str, ...] = ()
    typed: bool = False
    """Whether the source itself says what are texts, and what is not."""

    files: tuple[Path, ...] = ()
    """The files that stay where they are, and are read whenever rows are."""

    store: Path | None = None
    """The file of our own that holds the rows."""

    na: tuple[str, ...] = ()
    """Texts that mean a missing value and are still there."""

    values: Mapping[str, str] = field(default_factory=dict)
    """What stands for a column, where that is not what was read: an expression."""


def load(connection: duckdb.DuckDBPyConnection, source: Any, reading: Reading) -> LoadedRows:
    """Open a file, many files, a table of a database, a URL or a frame; say what means a missing value in it."""
    loaded = _opened(connection, source, reading)
    if not loaded.na:
        return loaded
    return replace(loaded, values=_without_missing(connection, len(loaded.names), loaded.na))


def _opened(connection: duckdb.DuckDBPyConnection, source: Any, reading: Reading) -> LoadedRows:
    if not isinstance(source, str | Path):
        return _load_frame(connection, source, reading)
    if scheme_of(source) is not None:
        names = _renamed(reading.origin, view_url(connection, str(source), reading.origin), reading.columns)
        return LoadedRows(names, typed=True, na=reading.missing)
    if is_database(source):
        found, file = view_database(connection, str(source))
        return LoadedRows(
            _renamed(reading.origin, found, reading.columns), typed=True, files=(file,), na=reading.missing
        )
    many = is_many(source) and reading.layout != "lines"
    paths = files_in(source) if many else [Path(source)]
    if reading.layout == "lines":
        return _load_lines(connection, paths[0], reading)
    for path in paths:
        existing_file(path)
    ending = paths[0].suffix.lower()
    if ending in PARQUET:
        found = view_parquet(connection, paths, many)
        check_columns(reading.origin, len(found))
        return LoadedRows(
            _renamed(reading.origin, found, reading.columns), typed=True, files=tuple(paths), na=reading.missing
        )
    if reading.layout == "lists" and ending in JSON:
        return LoadedRows(load_table(connection, json_lists(paths[0]), reading.origin))
    if ending in JSON:
        content = json_texts(paths[0])
        return LoadedRows(load_table(connection, content, str(paths[0]), reading.columns), na=reading.missing)
    if ending in SHEETS or ending in LABELLED:
        return _load_cells(connection, paths[0], reading)
    return _load_texts(connection, paths, reading, many)


def _load_frame(connection: duckdb.DuckDBPyConnection, source: Any, reading: Reading) -> LoadedRows:
    """Load a frame; a relation of DuckDB's, whose rows are nowhere yet, as a stream."""
    if isinstance(source, duckdb.DuckDBPyRelation):
        names = _renamed(reading.origin, tuple(source.columns), reading.columns)
        store = use_store(connection, reading)
        _store(connection, source.to_arrow_reader(1 << 17), len(names))
        return LoadedRows(names, typed=True, store=store, na=reading.missing)
    table, notices = arrow_table(source, reading.origin, reading.columns)
    return LoadedRows(load_table(connection, table, reading.origin), notices=notices, typed=True, na=reading.missing)


def _load_lines(connection: duckdb.DuckDBPyConnection, path: Path, reading: Reading) -> LoadedRows:
    """Load a list of items from every line of a text."""
    encoding, said = encoding_of(existing_file(path, "give one with a basket per line"), reading.encoding)
    items, noticed = lines_of_items(path, replace(reading, encoding=encoding))
    return LoadedRows(load_table(connection, pa.table({"items": items}), reading.origin), notices=(*said, *noticed))


def _load_cells(connection: duckdb.DuckDBPyConnection, path: Path, reading: Reading) -> LoadedRows:
    """Load a workbook or the file of a statistics program, cells as texts."""
    sheet = path.suffix.lower() in SHEETS
    content, notices = read_sheet(path, reading) if sheet else read_labelled(path)
    names = load_table(connection, content, str(path), () if sheet else reading.columns)
    return LoadedRows(names, True, notices, na=reading.missing)


# -- delimited text --------------------------------------------------------------------------------------------


def _load_texts(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[Path], reading: Reading, many: bool
) -> LoadedRows:
    """Load delimited texts with one header, to disk where they are large; an empty field is missing, in quotes or not.

    The `key=value` folders of many files are columns, behind those of the files.
    """
    store = None
    size = sum(path.stat().st_size for path in paths)
    if size > min(LARGE_TEXT, (memory_limit(reading) or 1 << 40) // 16):
        store = use_store(connection, reading)
    first = None
    for path in paths:
        text, rewrite = sniff(path, reading)
        first = first or text
        parts = partition_of(path) if many else {}
        if first is text:
            keys = tuple(parts)
        check_header(first, text, keys, tuple(parts))
        _load_delimited(connection, text, rewrite, list(parts.values()), first is text)
    assert first is not None
    names = checked_header(reading.origin, (*first.header.names, *keys))
    na = tuple(text for text in reading.missing if text != "")
    return LoadedRows(names, True, first.header.notices, store=store, na=("", *na) if na else ())


def check_header(first: DelimitedText, text: DelimitedText, keys: Sequence[str], others: Sequence[str]) -> None:
    """Raise where a file, or its `key=value` folders, have other columns than the first, or in another order."""
    ours, theirs = (*first.header.names, *keys), (*text.header.names, *others)
    if ours == theirs:
        return
    lacking = next((f"it has no column {name!r}" for name in ours if name not in theirs), None)
    more = next((f"it has a column {name!r}" for name in theirs if name not in ours), None)
    what = lacking or more or "its columns stand in another order"
    raise BadInputError(
        f"{text.path}: {what}, other than {first.path}; files that are read together need the same columns"
    )


def _load_delimited(
    connection: duckdb.DuckDBPyConnection, text: DelimitedText, rewrite: bool, parts: Sequence[str | None], first: bool
) -> None:
    """Load one delimited text, again as a plain copy where DuckDB cannot read it as it is."""
    for again in (rewrite, True):
        with as_utf8(text, again) as copy:
            try:
                connection.execute(
                    f"{'CREATE TABLE rows AS' if first else 'INSERT INTO rows'} {_text_rows(copy, parts)}"
                )
                return
            except duckdb.Error as error:
                if again or "state machine" not in str(error):
                    with readable(str(text.path)):
                        if isinstance(error, duckdb.OutOfMemoryException):
                            raise
                    raise explained(text.path, str(error), len(text.header.names)) from None


def _text_rows(text: DelimitedText, parts: Sequence[str | None]) -> str:
    names = text.header.names
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
    more = "".join(
        f", {'NULL' if part is None else literal(part)}::VARCHAR AS c{len(names) + i}" for i, part in enumerate(parts)
    )
    check_line_lengths(text.path)
    return (
        f"SELECT *{more} FROM read_csv({path_literal(text.path)}, columns = {{{columns}}}, "
        f"delim = {literal(text.delimiter)}, quote = '\"', escape = '\"', header = false, "
        f"skip = {text.skipped}, auto_detect = false, strict_mode = true)"
    )


# -- tables ----------------------------------------------------------------------------------------------------


def load_table(
    connection: duckdb.DuckDBPyConnection, table: pa.Table, origin: str, columns: Sequence[str] = ()
) -> tuple[str, ...]:
    """Load a table and return the names of its columns."""
    header = _renamed(origin, tuple(table.column_names), columns)
    _store(connection, table, len(header))
    return header


def _store(connection: duckdb.DuckDBPyConnection, content: Any, columns: int) -> None:
    """Store an Arrow table, or a stream, as `rows`."""
    listed = ", ".join(f"c{i}" for i in range(columns))
    connection.register("given", content)
    connection.execute(f"CREATE TABLE rows AS SELECT * FROM given AS given({listed})")
    connection.unregister("given")


def _renamed(origin: str, names: tuple[str, ...], columns: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns, or those that somebody gives them."""
    if columns and len(columns) != len(names):
        raise BadInputError(f"{origin}: {len(columns)} names are given (--columns) for {len(names)} columns")
    return checked_header(origin, tuple(columns) or names)


def _without_missing(connection: duckdb.DuckDBPyConnection, columns: int, missing: Sequence[str]) -> dict[str, str]:
    """Write what stands for the columns in which a text may mean a missing value."""
    texts = ", ".join(map(literal, missing))
    values = {}
    for name, kind in zip((f"c{i}" for i in range(columns)), connection.sql("SELECT * FROM rows").types, strict=False):
        if any(missing) or str(kind) == "VARCHAR":  # nothing but a text is empty
            text = name if str(kind) == "VARCHAR" else f"{name}::VARCHAR"
            values[name] = f"CASE WHEN {text} IN ({texts}) THEN NULL ELSE {name} END"
    return values


def parquet_part(path: Path, column: str, values: Sequence[str], complete: bool) -> pa.Table:
    """Read the rows of a Parquet file with certain values in one column, without it; perhaps the complete ones only."""
    kept = f"{column} IN ({', '.join(map(literal, values))})" + (" AND COLUMNS(*) IS NOT NULL" if complete else "")
    with readable(str(path)), connect() as connection:
        query = f"SELECT * EXCLUDE ({column}) FROM read_parquet({path_literal(path)}) WHERE {kept}"
        return connection.sql(query).to_arrow_table()
