"""Loading files and frames into a DuckDB table `rows` with columns c0, c1, ... and missing values as NULL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from sfumato.engines.duckdb.statements import literal
from sfumato.engines.frames import arrow_table, check_decimals
from sfumato.engines.headers import checked_header
from sfumato.engines.item_files import lines_of_items
from sfumato.engines.json_texts import json_lists, json_texts
from sfumato.engines.labelled_files import LABELLED, read_labelled
from sfumato.engines.protocol import Reading
from sfumato.engines.text_files import (
    JSON,
    PARQUET,
    DelimitedText,
    as_utf8,
    encoding_of,
    existing_file,
    explained,
    sniff,
)
from sfumato.engines.workbooks import SHEETS, read_sheet
from sfumato.errors import BadInputError
from sfumato.process.interrupts import interruptible
from sfumato.process.memory import allowed_bytes, machine_bytes, read_size
from sfumato.process.spilling import spill_folder
from sfumato.workers import workers

WHOLE_KINDS = ("STRUCT", "MAP", "UNION", "VARIANT", "GEOMETRY", "BLOB")
"""How a DuckDB type is told whose values are made of several, or of bytes: their texts need not tell them apart."""

BYTES_OF_A_THREAD = 1 << 30
"""Under a limit of address space DuckDB gets one thread for so much of it; each has a stack and an arena of its own."""


def connect(reading: Reading | None = None) -> duckdb.DuckDBPyConnection:
    """Open a database of our own in memory, which works in a private folder where that is short."""
    connection: duckdb.DuckDBPyConnection = interruptible(duckdb.connect())
    connection.execute("SET preserve_insertion_order = true")
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET TimeZone = 'UTC'")  # an instant has one text, wherever it is read
    threads, allowed = workers(), allowed_bytes()  # DuckDB looks at the machine, and knows nothing of either
    if allowed is not None:
        threads = max(1, min(threads, allowed // BYTES_OF_A_THREAD))
    connection.execute(f"SET threads = {threads}")
    if (limit := memory_limit(reading)) is not None:
        connection.execute(f"SET memory_limit = '{limit}B'")
    folder = spill_folder(reading.spill if reading else None)
    connection.execute(f"SET temp_directory = {literal(str(folder))}")
    return connection


def memory_limit(reading: Reading | None = None) -> int | None:
    """Return how many bytes a database may hold: what is declared, or half of what there is; None: nobody knows."""
    if reading is not None and reading.memory is not None:
        return read_size("memory", reading.memory)
    there = machine_bytes()
    return None if there is None else there // 2


@dataclass(frozen=True)
class Loaded:
    """A source in `rows`: the names of its columns, whether blanks around its values mean nothing, what is said."""

    names: tuple[str, ...]
    trims: bool = False
    notices: tuple[str, ...] = ()
    typed: bool = False
    """Whether the source itself says what are texts, and what is not."""


def load(connection: duckdb.DuckDBPyConnection, source: Any, reading: Reading) -> Loaded:
    """Load a file or a frame."""
    if not isinstance(source, str | Path):
        table, notices = arrow_table(source, reading.origin, reading.columns)
        return Loaded(load_table(connection, table, reading.origin, reading.missing), notices=notices, typed=True)
    path = Path(source)
    if reading.layout == "lines":
        encoding, said = encoding_of(existing_file(path, "give one with a basket per line"), reading.encoding)
        items = lines_of_items(path, replace(reading, encoding=encoding))
        names = load_table(connection, pa.table({"items": items}), reading.origin, ())
        return Loaded(names, notices=tuple(said))
    existing_file(path)
    ending = path.suffix.lower()
    if reading.layout == "lists" and ending in JSON:
        return Loaded(load_table(connection, json_lists(path), reading.origin, ()))
    if ending in PARQUET:
        return Loaded(_load_parquet(connection, path, reading.missing, reading.columns), typed=True)
    if ending in JSON:
        return Loaded(load_table(connection, json_texts(path), str(path), reading.missing, reading.columns))
    if ending in SHEETS or ending in LABELLED:
        return _load_cells(connection, path, reading)
    return _load_delimited(connection, path, reading)


def _load_cells(connection: duckdb.DuckDBPyConnection, path: Path, reading: Reading) -> Loaded:
    """Load a workbook or the file of a statistics program, cells as texts."""
    sheet = path.suffix.lower() in SHEETS
    content, notices = read_sheet(path, reading) if sheet else read_labelled(path)
    names = load_table(connection, content, str(path), reading.missing, () if sheet else reading.columns)
    return Loaded(names, True, notices)


def _load_delimited(connection: duckdb.DuckDBPyConnection, path: Path, reading: Reading) -> Loaded:
    """Load a delimited text; an empty field is missing in any case, in quotes or not."""
    na = [text for text in reading.missing if text != ""]
    text, rewrite = sniff(path, reading)
    for again in (rewrite, True):
        with as_utf8(text, again) as copy:
            try:
                _load_text(connection, copy, na)
                break
            except duckdb.Error as error:
                if again or "state machine" not in str(error):
                    raise _memory_error(error) or explained(path, str(error), len(text.header.names)) from None
    return Loaded(text.header.names, True, text.header.notices)


def viewable(source: Any, reading: Reading) -> bool:
    """Say whether a source can be counted where it is, and is not loaded."""
    counted = reading.as_it_stands and not reading.escaped and reading.layout == "table"
    return counted and isinstance(source, str | Path) and Path(source).suffix.lower() in PARQUET


def view_parquet(
    connection: duckdb.DuckDBPyConnection, source: str | Path, columns: Sequence[str] = ()
) -> tuple[str, ...]:
    """Let `rows` be a view of a Parquet file, so that a count reads only the columns it needs; return the names."""
    path = existing_file(Path(source))
    names = _renamed(str(path), _parquet_names(path), columns)
    numbered = "file_row_number" not in map(str.lower, names)  # else nobody asks for the first rows of values
    listed = ", ".join([*(f"c{i}" for i in range(len(names))), *(["rowid"] if numbered else [])])
    file = f"read_parquet({_path(path)}, hive_partitioning = false, file_row_number = {numbered})"
    connection.execute(f"CREATE VIEW rows AS SELECT * FROM {file} AS file({listed})")
    return names


@contextmanager
def readable(origin: str) -> Iterator[None]:
    """Say in a sentence that a source cannot be read; a lack of memory is none of its faults."""
    try:
        yield
    except (duckdb.Error, pa.ArrowException) as error:
        first = str(error).splitlines()[0]
        raise _memory_error(error) or BadInputError(f"{origin}: the file cannot be read ({first})") from None


def unwritable(error: Exception) -> Exception:
    """Say that a file cannot be written, as the operating system does."""
    return _memory_error(error) or OSError(str(error).splitlines()[0])


def _memory_error(error: Exception) -> MemoryError | None:
    """Return a lack of memory as Python has it; DuckDB passes on what it met while it read a frame of ours."""
    lacking = isinstance(error, duckdb.OutOfMemoryException | pa.ArrowMemoryError) or "MemoryError" in str(error)
    return MemoryError(str(error)) if lacking else None


def load_table(
    connection: duckdb.DuckDBPyConnection,
    table: pa.Table,
    origin: str,
    missing: Sequence[str],
    columns: Sequence[str] = (),
) -> tuple[str, ...]:
    """Load a table and return the names of its columns."""
    header = _renamed(origin, tuple(table.column_names), columns)
    connection.register("given", table.rename_columns([f"c{i}" for i in range(len(header))]))
    _store(connection, connection.sql("SELECT * FROM given"), missing)
    connection.unregister("given")
    return header


def _renamed(origin: str, names: tuple[str, ...], columns: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns, or those that somebody gives them."""
    if columns and len(columns) != len(names):
        raise BadInputError(f"{origin}: {len(columns)} names are given (--columns) for {len(names)} columns")
    return checked_header(origin, tuple(columns) or names)


def _load_text(connection: duckdb.DuckDBPyConnection, text: DelimitedText, na: Sequence[str]) -> None:
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(text.header.names)))
    relation = connection.sql(
        f"SELECT * FROM read_csv({_path(text.path)}, columns = {{{columns}}}, delim = {literal(text.delimiter)}, "
        "quote = '\"', escape = '\"', header = false, "
        f"skip = {text.skipped}, auto_detect = false, strict_mode = true)"
    )
    if na:
        _store(connection, relation, ["", *na])
    else:
        relation.create("rows")


def _load_parquet(
    connection: duckdb.DuckDBPyConnection, path: Path, missing: Sequence[str], columns: Sequence[str]
) -> tuple[str, ...]:
    """Load a Parquet file with the types of its values, such as lists."""
    relation = connection.sql(f"SELECT * FROM read_parquet({_path(path)}, hive_partitioning = false)")
    names = _renamed(str(path), _parquet_names(path), columns)
    _store(connection, relation, missing)
    return names


def _parquet_names(path: Path) -> tuple[str, ...]:
    """Read the true names: DuckDB renames columns that differ in case only."""
    import pyarrow.parquet as pq  # slow to import, and needed for Parquet files alone

    schema = pq.ParquetFile(path).schema_arrow
    check_decimals(str(path), schema)
    return tuple(schema.names)


def _store(connection: duckdb.DuckDBPyConnection, relation: duckdb.DuckDBPyRelation, missing: Sequence[str]) -> None:
    """Store a relation as `rows`, some texts as missing values."""
    texts = ", ".join(map(literal, missing))
    columns = []
    for i, (name, kind) in enumerate(zip(relation.columns, relation.types, strict=True)):
        quoted = '"' + name.replace('"', '""') + '"'
        if any(missing) or (missing and str(kind) == "VARCHAR"):
            quoted = f"CASE WHEN {quoted}::VARCHAR IN ({texts}) THEN NULL ELSE {quoted} END"
        columns.append(f"{quoted} AS c{i}")
    relation.query("incoming", f"SELECT {', '.join(columns)} FROM incoming").create("rows")


def _path(path: Path) -> str:
    """Write a path for DuckDB, which would take some characters for a pattern of many files."""
    escaped = "".join(f"[{character}]" if character in "[*?" else character for character in str(path))
    return literal(escaped)


def parquet_part(path: Path, column: str, values: Sequence[str], complete: bool) -> pa.Table:
    """Read the rows of a Parquet file with certain values in one column, without it; perhaps the complete ones only."""
    kept = f"{column} IN ({', '.join(map(literal, values))})" + (" AND COLUMNS(*) IS NOT NULL" if complete else "")
    with readable(str(path)), connect() as connection:
        query = f"SELECT * EXCLUDE ({column}) FROM read_parquet({_path(path)}) WHERE {kept}"
        return connection.sql(query).to_arrow_table()
