"""Opening sources as `rows` with columns c0, c1, ... and `rowid`: a view of files in place, or a table of texts.

Parquet files, tables of a DuckDB database and URLs are views, so a verb reads only the columns that it needs. Text is
read once, into a table in memory, or on disk if it is large; so are workbooks, JSON and frames. Missing values and
numbers are expressions over a column, which are evaluated only on demand.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from sfumato.engines._headers import checked_header
from sfumato.engines._json_files import json_lists, json_texts
from sfumato.engines._text_files import (
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
from sfumato.engines._workbooks import LABELLED, SHEETS, read_labelled, read_sheet
from sfumato.engines.duckdb.grouped import literal
from sfumato.engines.frames import arrow_table, check_decimals
from sfumato.engines.item_files import lines_of_items
from sfumato.engines.locations import files_in, is_database, is_many, partition_of, scheme_of, split_table
from sfumato.engines.protocol import Reading
from sfumato.errors import BadInputError
from sfumato.runtime.cancellation import interruptible
from sfumato.runtime.memory import allowed_bytes, check_columns, machine_bytes, read_size, spill_folder
from sfumato.runtime.threads import workers
from sfumato.texts.catalogue import refusal, t

NUMBER = "file_row_number"
"""DuckDB's name of the index of a row in its file, from 0."""

MOST_LISTED = 20
MISSING_EXTENSION = re.compile("install the required extension '(\\w+)")


def path_literal(path: Path) -> str:
    """Return a path for DuckDB, with characters escaped that it would read as a pattern."""
    return literal("".join(f"[{character}]" if character in "[*?" else character for character in str(path)))


# -- Parquet ---------------------------------------------------------------------------------------------------


def check_parquet_files(paths: Sequence[Path]) -> None:
    """Raise if Parquet files for another engine differ, as for DuckDB."""
    with readable(str(paths[0])), connect() as connection:
        names = parquet_names(paths[0])
        _check_alike(connection, f"[{', '.join(map(path_literal, paths))}]", paths)
        _keys(paths, names)


def view_parquet(connection: duckdb.DuckDBPyConnection, paths: Sequence[Path], many: bool) -> tuple[str, ...]:
    """Create a view of Parquet files; return the names of their columns, and of the `key=value` folders of many."""
    names = parquet_names(paths[0])
    files = f"[{', '.join(map(path_literal, paths))}]"
    if many:
        _check_alike(connection, files, paths)
    keys = _keys(paths, names) if many else {}
    listed = [f"c{i}" for i in range(len(names))]
    numbered = NUMBER not in map(str.lower, names)  # otherwise first rows of values are not available
    number = [NUMBER] if numbered else []
    file = f"SELECT *, {', '.join([*number, 'file_index'])} FROM read_parquet({files}, hive_partitioning = false)"
    columns = [*listed, *(f"{_by_file(parts)} AS c{len(names) + i}" for i, parts in enumerate(keys.values()))]
    rowid = f"{NUMBER} + {_by_file(_offsets(connection, files), 'BIGINT')}" if many and numbered else NUMBER
    columns += [f"{rowid if numbered else 'NULL::BIGINT'} AS rowid"]
    connection.execute(
        f"CREATE VIEW rows AS SELECT {', '.join(columns)} "
        f"FROM ({file}) AS file({', '.join([*listed, *number, 'file_index'])})"
    )
    return (*names, *keys)


def parquet_names(path: Path) -> tuple[str, ...]:
    """Read the true names: DuckDB renames columns that differ only in case."""
    import pyarrow.parquet as pq  # importing is slow, and only Parquet files need it

    schema = pq.ParquetFile(path).schema_arrow
    check_decimals(str(path), schema)
    return tuple(schema.names)


def _by_file(values: Sequence[object], kind: str = "VARCHAR") -> str:
    """Return an expression with a different value for each file."""
    if len(set(values)) == 1:
        return f"{_constant(values[0])}::{kind}"
    return f"([{', '.join(map(_constant, values))}]::{kind}[])[file_index::BIGINT + 1]"


def _constant(value: object) -> str:
    return "NULL" if value is None else literal(value) if isinstance(value, str) else str(value)


def _offsets(connection: duckdb.DuckDBPyConnection, files: str) -> list[int]:
    """Return the number of rows before each file."""
    rows = connection.execute(f"SELECT num_rows FROM parquet_file_metadata({files})").fetchall()
    offsets = [0]
    for (number,) in rows[:-1]:
        offsets.append(offsets[-1] + number)
    return offsets


def _keys(paths: Sequence[Path], names: Sequence[str]) -> dict[str, list[str | None]]:
    """Return the values of the folders `key=value` by key, for each file; all files need the same keys."""
    parts = [partition_of(path) for path in paths]
    for path, part in zip(paths, parts, strict=True):
        if part.keys() != parts[0].keys():
            keys, others = (", ".join(each) or "none" for each in (part, parts[0]))
            raise refusal("engines.other_folder_keys", path=path, keys=keys, paths=paths[0], others=others)
    return {key: [part[key] for part in parts] for key in parts[0] if key not in names}


def _check_alike(connection: duckdb.DuckDBPyConnection, files: str, paths: Sequence[Path]) -> None:
    """Raise if files have other columns than the first, or columns of another type, which DuckDB would convert."""
    kinds = connection.execute(
        "SELECT min(file_name) FROM (SELECT file_name, list((name, type, converted_type, logical_type, type_length) "
        f"ORDER BY column_id) AS kind FROM parquet_schema({files}) WHERE name IS NOT NULL GROUP BY file_name) "
        "GROUP BY kind ORDER BY 1"
    ).fetchall()
    found = [Path(name) for (name,) in kinds]
    first = _kinds(connection, paths[0])
    for path in found:
        other = _kinds(connection, path)
        if list(other) != list(first):
            odd = [name for name in first if name not in other] + [name for name in other if name not in first]
            what = t("notice.only_them_column", odd=odd[0]) if odd else t("notice.columns_stand_another_order")
            raise refusal("engines.other_columns", path=path, paths=paths[0], what=what)
        for name, kind in other.items():
            if kind != first[name]:
                raise refusal("column_type", path=path, name=name, kind=kind, first=first[name], paths=paths[0])


def _kinds(connection: duckdb.DuckDBPyConnection, path: Path) -> dict[str, str]:
    relation = connection.sql(f"SELECT * FROM read_parquet({path_literal(path)}, hive_partitioning = false)")
    return dict(zip(relation.columns, map(str, relation.types), strict=True))


# -- databases and URLs ----------------------------------------------------------------------------------------


def view_database(connection: duckdb.DuckDBPyConnection, source: str) -> tuple[tuple[str, ...], Path]:
    """Create a view of a table of a DuckDB database, opened read-only; return its columns and the file."""
    file, table = split_table(source)
    path = existing_file(Path(file))
    try:
        connection.execute(f"ATTACH {literal(str(path))} AS given (READ_ONLY)")
    except duckdb.Error as error:
        raise refusal("database_cannot_opened", path=path, splitlines=str(error).splitlines()[0]) from None
    found = connection.execute(
        "SELECT table_schema, table_name, table_type FROM information_schema.tables WHERE table_catalog = 'given' "
        "ORDER BY ALL"
    ).fetchall()
    named = [row for row in found if table is None or table in (row[1], f"{row[0]}.{row[1]}")]
    if len(named) != 1:
        known = ", ".join(f"{schema}.{name}" for schema, name, _ in found[:MOST_LISTED]) or "none"
        what = "several tables" if table is None and found else f"no table {table!r}" if table else "no table"
        raise BadInputError(
            t("refusal.name_these", path=path, what=what, known=known).replace("there are no", "there is no")
        )
    schema, name, kind = named[0]
    place = f"given.{_quoted(schema)}.{_quoted(name)}"
    columns = tuple(connection.sql(f"SELECT * FROM {place}").columns)
    listed = ", ".join(f"{_quoted(column)} AS c{i}" for i, column in enumerate(columns))
    number = "rowid" if kind == "BASE TABLE" else "row_number() OVER () - 1"
    connection.execute(f"CREATE VIEW rows AS SELECT {listed}, {number} AS rowid FROM {place}")
    return columns, path


def view_url(connection: duckdb.DuckDBPyConnection, url: str, origin: str) -> tuple[str, ...]:
    """Create a view of Parquet files behind a URL, with an extension of DuckDB; return their columns."""
    if not url.partition("?")[0].lower().endswith(PARQUET):
        raise refusal("engines.url_of_text", origin=origin, parquet=", ".join(PARQUET))
    try:
        relation = connection.sql(f"SELECT * FROM read_parquet({literal(url)}, hive_partitioning = false)")
    except duckdb.Error as error:
        why = str(error).splitlines()[0]
        if lacking := MISSING_EXTENSION.search(why):
            why, remedy = (
                t("notice.extension_not_installed", lacking=lacking[1]),
                t("notice.install_install_duckdb", lacking=lacking[1]),
            )
        else:
            remedy = t("notice.see_name_variables_store")
        raise refusal("duckdb_cannot_read_url", origin=origin, why=why, remedy=remedy) from None
    names = tuple(relation.columns)
    listed = ", ".join(f"c{i}" for i in range(len(names)))
    connection.execute(
        f"CREATE VIEW rows AS SELECT *, row_number() OVER () - 1 AS rowid FROM (SELECT * FROM read_parquet("
        f"{literal(url)}, hive_partitioning = false)) AS file({listed})"
    )
    return names


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


WHOLE_KINDS = ("STRUCT", "MAP", "UNION", "VARIANT", "GEOMETRY", "BLOB")
"""The beginnings of DuckDB types with several parts, or of bytes: equal texts need not be equal values."""

SMALL_TEXT = 8 << 20
"""The largest text that one thread reads: for less, several threads cost more than they gain."""

LARGE_TEXT = 256 << 20
"""Text of more bytes, or than a sixteenth of the allowed memory, is read to disk."""


@dataclass(frozen=True)
class LoadedRows:
    """A source in `rows`: the names of its columns, whether blanks around values are ignored, notices."""

    names: tuple[str, ...]
    trims: bool = False
    notices: tuple[str, ...] = ()
    typed: bool = False
    """Whether the source itself declares types."""

    counted: bool = False
    """Whether a row counts as often as its column `times` contains."""

    files: tuple[Path, ...] = ()
    """The files that are read in place."""

    store: Path | None = None
    """Our own file with the rows."""

    na: tuple[str, ...] = ()
    """Texts that mean a missing value and are still present."""

    values: Mapping[str, str] = field(default_factory=dict)
    """The expression of each column that is changed."""


def load(connection: duckdb.DuckDBPyConnection, source: Any, reading: Reading) -> LoadedRows:
    """Open a file, many files, a table of a database, a URL or a frame, with its missing values."""
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
    """Load a frame; a relation of DuckDB, whose rows are not stored, as a stream."""
    if isinstance(source, duckdb.DuckDBPyRelation):
        names = _renamed(reading.origin, tuple(source.columns), reading.columns)
        store = use_store(connection, reading)
        _store(connection, source.to_arrow_reader(1 << 17), len(names))
        return LoadedRows(names, typed=True, store=store, na=reading.missing)
    table, notices = arrow_table(source, reading.origin, reading.columns)
    return LoadedRows(load_table(connection, table, reading.origin), notices=notices, typed=True, na=reading.missing)


def _load_lines(connection: duckdb.DuckDBPyConnection, path: Path, reading: Reading) -> LoadedRows:
    """Load a list of items from each line of a text."""
    encoding, said = encoding_of(existing_file(path, t("notice.give_basket_per_line")), reading.encoding)
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
    """Load delimited texts with one header, to disk if they are large; an empty field is missing, quoted or not.

    The `key=value` folders of many files are columns after those of the files.
    """
    store = None
    size = sum(path.stat().st_size for path in paths)
    if size < SMALL_TEXT:
        connection.execute("SET threads = 1")
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
    """Raise if a file, or its `key=value` folders, have other columns than the first, or another order."""
    ours, theirs = (*first.header.names, *keys), (*text.header.names, *others)
    if ours == theirs:
        return
    lacking = next((t("notice.no_column", name=name) for name in ours if name not in theirs), None)
    more = next((t("notice.column", name=name) for name in theirs if name not in ours), None)
    what = lacking or more or t("notice.columns_stand_another_order_sources")
    raise refusal("engines.other_header", path=text.path, what=what, path_2=first.path)


def _load_delimited(
    connection: duckdb.DuckDBPyConnection, text: DelimitedText, rewrite: bool, parts: Sequence[str | None], first: bool
) -> None:
    """Load one delimited text, via a plain copy if DuckDB cannot read it."""
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
    """Return the names of columns, or the declared ones."""
    if columns and len(columns) != len(names):
        raise refusal("names_given_columns", origin=origin, columns=len(columns), names=len(names))
    return checked_header(origin, tuple(columns) or names)


def _without_missing(connection: duckdb.DuckDBPyConnection, columns: int, missing: Sequence[str]) -> dict[str, str]:
    """Return the expressions of the columns in which a text may mean a missing value."""
    texts = ", ".join(map(literal, missing))
    values = {}
    for name, kind in zip((f"c{i}" for i in range(columns)), connection.sql("SELECT * FROM rows").types, strict=False):
        if any(missing) or str(kind) == "VARCHAR":  # nothing but a text is empty
            text = name if str(kind) == "VARCHAR" else f"{name}::VARCHAR"
            values[name] = f"CASE WHEN {text} IN ({texts}) THEN NULL ELSE {name} END"
    return values


def parquet_part(path: Path, column: str, values: Sequence[str], complete: bool) -> pa.Table:
    """Read the rows of a Parquet file with certain values in one column, without it; optionally only complete ones."""
    kept = f"{column} IN ({', '.join(map(literal, values))})" + (" AND COLUMNS(*) IS NOT NULL" if complete else "")
    with readable(str(path)), connect() as connection:
        query = f"SELECT * EXCLUDE ({column}) FROM read_parquet({path_literal(path)}) WHERE {kept}"
        return connection.sql(query).to_arrow_table()


BYTES_OF_A_THREAD = 1 << 30
"""Under a limit of address space, DuckDB gets one thread per this amount, because each has its own stack and arena."""

_stores = count()


def connect(reading: Reading | None = None) -> duckdb.DuckDBPyConnection:
    """Open an in-memory database, which spills to a private folder if memory is short."""
    connection: duckdb.DuckDBPyConnection = interruptible(duckdb.connect())
    connection.execute("SET preserve_insertion_order = true")
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET TimeZone = 'UTC'")  # an instant has one text everywhere
    threads, allowed = workers(), allowed_bytes()  # DuckDB only considers the machine
    if allowed is not None:
        threads = max(1, min(threads, allowed // BYTES_OF_A_THREAD))
    connection.execute(f"SET threads = {threads}")
    if (limit := memory_limit(reading)) is not None:
        connection.execute(f"SET memory_limit = '{limit}B'")
    folder = spill_folder(reading.spill if reading else None)
    connection.execute(f"SET temp_directory = {literal(str(folder))}")
    return connection


def queried(data: pa.Table, query: str) -> pa.Table:
    """Return the result of a query of the table `data`; it can read nothing else."""
    with connect() as connection:
        connection.register("data", data)
        connection.execute("SET enable_external_access = false")
        return connection.sql(query).to_arrow_table()


def memory_limit(reading: Reading | None = None) -> int | None:
    """Return the memory limit of a database: the declared one, or half of the available memory; None if unknown."""
    if reading is not None and reading.memory is not None:
        return read_size("memory", reading.memory)
    there = machine_bytes()
    return None if there is None else there // 2


def use_store(connection: duckdb.DuckDBPyConnection, reading: Reading) -> Path:
    """Create tables in a file of the private folder, where they are compressed and need no memory."""
    path = spill_folder(reading.spill) / f"rows-{next(_stores)}.duckdb"
    connection.execute(f"ATTACH {literal(str(path))} AS store")
    connection.execute("USE store")
    return path


@contextmanager
def readable(origin: str) -> Iterator[None]:
    """Turn errors of reading a source into a sentence; a lack of memory or of disk space is reported as such."""
    try:
        yield
    except (duckdb.Error, pa.ArrowException) as error:
        first = str(error).splitlines()[0]
        raise _lack(error) or BadInputError(t("refusal.file_cannot_read_sources", origin=origin, first=first)) from None


def unwritable(error: Exception) -> Exception:
    """Return the operating system's error for a file that cannot be written."""
    number = re.search(r'"errno":"(\d+)"', str(error))
    if number is not None:
        return OSError(int(number[1]), os.strerror(int(number[1])))
    return _lack(error) or OSError(str(error).splitlines()[0])


def _lack(error: Exception) -> Exception | None:
    """Return a lack of memory as a Python error; DuckDB passes on errors of reading a frame."""
    text = str(error)
    if "temporary" in text.lower() and ("space" in text or "temp_directory" in text):
        return BadInputError(t("engines.no_room_to_spill"))
    lacking = isinstance(error, duckdb.OutOfMemoryException | pa.ArrowMemoryError) or "MemoryError" in text
    return MemoryError(text) if lacking else None
