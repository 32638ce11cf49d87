"""Writing rows to a file, from a query or a stream: CSV by DuckDB, Parquet batch by batch."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import TypeAlias

import duckdb
import pyarrow as pa

from sfumato.engines.duckdb.connections import connect, unwritable
from sfumato.engines.duckdb.statements import literal

Rows: TypeAlias = str | pa.RecordBatchReader
"""A query, or a stream."""

ROWS_AT_ONCE = 1 << 16

SCHEMA = b"ARROW:schema"
"""Under this name a Parquet file says which types of Arrow its columns had."""


def plain(schema: pa.Schema) -> pa.Schema:
    """Return a schema in which texts are texts, not numbers with a list of texts: how they travel is nobody's type."""
    kinds = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in schema]
    return pa.schema(list(zip(schema.names, kinds, strict=True)))


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
    batches = connection.sql(rows).to_arrow_reader(ROWS_AT_ONCE) if isinstance(rows, str) else rows
    schema = pa.schema([field.with_name(name) for field, name in zip(batches.schema, names, strict=True)])
    told = schema.with_metadata({SCHEMA: b64encode(plain(schema).serialize().to_pybytes())})
    options = {"compression": "zstd", "write_batch_size": ROWS_AT_ONCE, "store_schema": False}
    with pq.ParquetWriter(temporary, told, **options) as writer:
        for batch in batches:
            writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=told))
            written += batch.num_rows
    return written
