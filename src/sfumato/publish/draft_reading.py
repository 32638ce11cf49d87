"""Reading a draft back as it was written: every column of a CSV file is text, and nothing is guessed from it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import csv, parquet

from sfumato.engines.formulas import unescaped
from sfumato.release import Format


def read_draft(path: Path, format: Format, escape: bool = False, encoding: str = "utf-8") -> pa.Table:
    """Read a file of our own; an empty text is a missing value. `escape` says that formulas were escaped."""
    if format == "parquet":
        return parquet.read_table(path)
    read, parsed = csv.ReadOptions(encoding=encoding), csv.ParseOptions(newlines_in_values=True)
    with csv.open_csv(path, read_options=read, parse_options=parsed) as opened:
        names = opened.schema.names
    texts = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), null_values=[""], strings_can_be_null=True
    )
    table = csv.read_csv(path, read_options=read, parse_options=parsed, convert_options=texts)
    return _unescaped(table) if escape else table


def _unescaped(table: pa.Table) -> pa.Table:
    columns = []
    for column in table.columns:
        coded = column.combine_chunks().dictionary_encode()
        texts = pa.array([unescaped(text) for text in coded.dictionary.to_pylist()], pa.string())
        columns.append(texts.take(coded.indices))
    return pa.table(columns, names=[unescaped(name) for name in table.column_names])
