"""Reading a draft back as it was written: every column of a CSV file is text, and nothing is guessed from it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import csv, parquet

from sfumato.release import Format


def read_draft(path: Path, format: Format) -> pa.Table:
    """Read a file of our own; an empty text is a missing value."""
    if format == "parquet":
        return parquet.read_table(path)
    parsed = csv.ParseOptions(newlines_in_values=True)
    with csv.open_csv(path, parse_options=parsed) as opened:
        names = opened.schema.names
    texts = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), null_values=[""], strings_can_be_null=True
    )
    return csv.read_csv(path, parse_options=parsed, convert_options=texts)
