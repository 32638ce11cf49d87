"""Writing rows to a file, from a query or a stream: CSV by DuckDB, Parquet batch by batch."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import duckdb
import pyarrow as pa

from sfumato.engines.duckdb.connections import connect, unwritable
from sfumato.engines.duckdb.statements import literal

Rows: TypeAlias = str | pa.RecordBatchReader
"""A query, or a stream."""


def save(connection: duckdb.DuckDBPyConnection, rows: Rows, names: list[str], path: Path, format: str) -> int:
    """Write rows with columns o0, o1, ... under these names; return their number; `OSError` if it fails."""
    try:
        if format == "parquet":
            return _save_parquet(connection, rows, names, str(path))
        return _save_csv(connection, rows, names, str(path))
    except (duckdb.Error, pa.ArrowException) as error:
        raise unwritable(error) from None


def _save_csv(connection: duckdb.DuckDBPyConnection, rows: Rows, names: list[str], temporary: str) -> int:
    header = ", ".join(literal(name) for name in names)
    texts = ", ".join(f"o{i}::VARCHAR" for i in range(len(names)))
    if len(names) == 1:  # a missing value alone would be an empty line, which readers skip
        texts = "coalesce(o0::VARCHAR, '')"
    columns = ", ".join(f"h{i}" for i in range(len(names)))
    if not isinstance(rows, str):
        with connect() as other:  # a stream may come from this one, which then cannot do that too
            other.register("stream", rows)
            return _save_csv(other, "SELECT * FROM stream", names, temporary)
    written = connection.execute(
        f"COPY (FROM (VALUES ({header})) AS header({columns}) UNION ALL (SELECT {texts} FROM ({rows}))) "
        f"TO {literal(temporary)} (FORMAT csv, USE_TMP_FILE false, HEADER false, DELIMITER ',', QUOTE '\"', "
        "ESCAPE '\"')"
    ).fetchall()
    return int(written[0][0]) - 1


def _save_parquet(connection: duckdb.DuckDBPyConnection, rows: Rows, names: list[str], temporary: str) -> int:
    import pyarrow.parquet as pq  # slow to import, and needed for Parquet files alone

    written = 0
    batches = connection.sql(rows).to_arrow_reader(1 << 16) if isinstance(rows, str) else rows
    schema = pa.schema([field.with_name(name) for field, name in zip(batches.schema, names, strict=True)])
    with pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
            written += batch.num_rows
    return written
