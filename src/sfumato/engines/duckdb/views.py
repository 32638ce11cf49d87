"""Sources that stay where they are: Parquet files, tables of a DuckDB database and URLs as a view called `rows`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import duckdb

from sfumato.engines.duckdb.connections import connect, readable
from sfumato.engines.duckdb.statements import literal
from sfumato.engines.frames import check_decimals
from sfumato.engines.places import partition_of, split_table
from sfumato.engines.text_files import PARQUET, existing_file
from sfumato.errors import BadInputError

NUMBER = "file_row_number"
"""What DuckDB calls the place of a row in its file, from 0."""

MOST_LISTED = 20
MISSING_EXTENSION = re.compile("install the required extension '(\\w+)")


def path_literal(path: Path) -> str:
    """Write a path for DuckDB, which would take some characters for a pattern of many files."""
    return literal("".join(f"[{character}]" if character in "[*?" else character for character in str(path)))


# -- Parquet ---------------------------------------------------------------------------------------------------


def check_parquet_files(paths: Sequence[Path]) -> None:
    """Raise where Parquet files that another engine reads together differ, as where DuckDB does."""
    with readable(str(paths[0])), connect() as connection:
        names = parquet_names(paths[0])
        _check_alike(connection, f"[{', '.join(map(path_literal, paths))}]", paths)
        _keys(paths, names)


def view_parquet(connection: duckdb.DuckDBPyConnection, paths: Sequence[Path], many: bool) -> tuple[str, ...]:
    """View Parquet files, and return the names of their columns; of many, `key=value` folders are columns too."""
    names = parquet_names(paths[0])
    files = f"[{', '.join(map(path_literal, paths))}]"
    if many:
        _check_alike(connection, files, paths)
    keys = _keys(paths, names) if many else {}
    listed = [f"c{i}" for i in range(len(names))]
    numbered = NUMBER not in map(str.lower, names)  # else nobody asks for the first rows of values
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
    """Read the true names: DuckDB renames columns that differ in case only."""
    import pyarrow.parquet as pq  # slow to import, and needed for Parquet files alone

    schema = pq.ParquetFile(path).schema_arrow
    check_decimals(str(path), schema)
    return tuple(schema.names)


def _by_file(values: Sequence[object], kind: str = "VARCHAR") -> str:
    """Write an expression with another value for every file."""
    if len(set(values)) == 1:
        return f"{_constant(values[0])}::{kind}"
    return f"([{', '.join(map(_constant, values))}]::{kind}[])[file_index::BIGINT + 1]"


def _constant(value: object) -> str:
    return "NULL" if value is None else literal(value) if isinstance(value, str) else str(value)


def _offsets(connection: duckdb.DuckDBPyConnection, files: str) -> list[int]:
    """Count the rows before every file."""
    rows = connection.execute(f"SELECT num_rows FROM parquet_file_metadata({files})").fetchall()
    offsets = [0]
    for (number,) in rows[:-1]:
        offsets.append(offsets[-1] + number)
    return offsets


def _keys(paths: Sequence[Path], names: Sequence[str]) -> dict[str, list[str | None]]:
    """Return the values of the folders `key=value` by key, for every file; all files need the same keys."""
    parts = [partition_of(path) for path in paths]
    for path, part in zip(paths, parts, strict=True):
        if part.keys() != parts[0].keys():
            keys, others = (", ".join(each) or "none" for each in (part, parts[0]))
            raise BadInputError(
                f"{path}: the keys of its folders are {keys}, those of {paths[0]} {others}; files that are read "
                "together need the same"
            )
    return {key: [part[key] for part in parts] for key in parts[0] if key not in names}


def _check_alike(connection: duckdb.DuckDBPyConnection, files: str, paths: Sequence[Path]) -> None:
    """Raise where files have other columns than the first, or columns of another type: DuckDB would convert these."""
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
            what = f"only one of them has a column {odd[0]!r}" if odd else "their columns stand in another order"
            raise BadInputError(
                f"{path}: its columns are not those of {paths[0]}: {what}; files that are read together need the same"
            )
        for name, kind in other.items():
            if kind != first[name]:
                raise BadInputError(
                    f"{path}: column {name!r} is of the type {kind}, and {first[name]} in {paths[0]}; write the files "
                    "with one type"
                )


def _kinds(connection: duckdb.DuckDBPyConnection, path: Path) -> dict[str, str]:
    relation = connection.sql(f"SELECT * FROM read_parquet({path_literal(path)}, hive_partitioning = false)")
    return dict(zip(relation.columns, map(str, relation.types), strict=True))


# -- databases and URLs ----------------------------------------------------------------------------------------


def view_database(connection: duckdb.DuckDBPyConnection, source: str) -> tuple[tuple[str, ...], Path]:
    """View a table of a DuckDB database, which is opened for reading alone; return its columns and the file."""
    file, table = split_table(source)
    path = existing_file(Path(file))
    try:
        connection.execute(f"ATTACH {literal(str(path))} AS given (READ_ONLY)")
    except duckdb.Error as error:
        raise BadInputError(f"{path}: the database cannot be opened ({str(error).splitlines()[0]})") from None
    found = connection.execute(
        "SELECT table_schema, table_name, table_type FROM information_schema.tables WHERE table_catalog = 'given' "
        "ORDER BY ALL"
    ).fetchall()
    named = [row for row in found if table is None or table in (row[1], f"{row[0]}.{row[1]}")]
    if len(named) != 1:
        known = ", ".join(f"{schema}.{name}" for schema, name, _ in found[:MOST_LISTED]) or "none"
        what = "several tables" if table is None and found else f"no table {table!r}" if table else "no table"
        raise BadInputError(
            f"{path}: there are {what}; name one of these: {known} ({path}#schema.table)".replace(
                "there are no", "there is no"
            )
        )
    schema, name, kind = named[0]
    place = f"given.{_quoted(schema)}.{_quoted(name)}"
    columns = tuple(connection.sql(f"SELECT * FROM {place}").columns)
    listed = ", ".join(f"{_quoted(column)} AS c{i}" for i, column in enumerate(columns))
    number = "rowid" if kind == "BASE TABLE" else "row_number() OVER () - 1"
    connection.execute(f"CREATE VIEW rows AS SELECT {listed}, {number} AS rowid FROM {place}")
    return columns, path


def view_url(connection: duckdb.DuckDBPyConnection, url: str, origin: str) -> tuple[str, ...]:
    """View Parquet files behind a URL, by whatever extension of DuckDB reads it; return their columns."""
    if not url.partition("?")[0].lower().endswith(PARQUET):
        raise BadInputError(
            f"{origin}: by a URL Parquet files are read ({', '.join(PARQUET)}); copy the file here, or name one"
        )
    try:
        relation = connection.sql(f"SELECT * FROM read_parquet({literal(url)}, hive_partitioning = false)")
    except duckdb.Error as error:
        why = str(error).splitlines()[0]
        if lacking := MISSING_EXTENSION.search(why):
            why, remedy = f"its extension {lacking[1]} is not installed", f"install it (INSTALL {lacking[1]} in DuckDB)"
        else:
            remedy = "see to its name and to the variables of the store (AWS_ACCESS_KEY_ID, AWS_REGION, ...)"
        raise BadInputError(f"{origin}: DuckDB cannot read this URL: {why}; {remedy}, or copy the files here") from None
    names = tuple(relation.columns)
    listed = ", ".join(f"c{i}" for i in range(len(names)))
    connection.execute(
        f"CREATE VIEW rows AS SELECT *, row_number() OVER () - 1 AS rowid FROM (SELECT * FROM read_parquet("
        f"{literal(url)}, hive_partitioning = false)) AS file({listed})"
    )
    return names


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
