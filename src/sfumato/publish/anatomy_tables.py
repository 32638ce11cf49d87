"""Anatomy's two tables put together as rows: within a group any pairing of rows and sensitive values says the same.

Everything is read as the text that stands in the files; nothing is taken for a number but the counts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import compute, csv, parquet

from sfumato.errors import BadInputError

COUNT = "count"
"""The column of the second table that says how often a group has a value."""


def joined_tables(rows: Path, values: Path, group: str, encoding: str = "utf-8") -> pa.Table:
    """Give the rows of every group its sensitive values, each as often as it is counted."""
    people, counted = (_texts(path, encoding) for path in (rows, values))
    for path, table, names in ((rows, people, (group,)), (values, counted, (group, COUNT))):
        for name in names:
            if name not in table.column_names:
                known = ", ".join(map(repr, table.column_names))
                raise BadInputError(f"{path}: there is no column {name!r}; the columns are {known}")
    shared = [name for name in counted.column_names if name in people.column_names and name != group]
    if shared:
        raise BadInputError(f"column {shared[0]!r} stands both in {rows} and in {values}; rename one")
    try:
        times = compute.cast(counted.column(COUNT), pa.int64()).to_numpy()
    except pa.ArrowException as error:
        raise BadInputError(f"{values}: column {COUNT!r} must hold whole numbers ({error})") from None
    dealt = counted.take(pa.array(np.repeat(np.arange(len(counted)), np.maximum(times, 0)))).sort_by(group)
    people = people.sort_by(group)
    if not people.column(group).equals(dealt.column(group)):
        raise BadInputError(f"{values}: its counts are not the numbers of rows that the groups have in {rows}")
    for name in dealt.column_names:
        if name not in (group, COUNT):
            people = people.append_column(name, dealt.column(name))
    return people


def _texts(path: Path, encoding: str) -> pa.Table:
    """Read a file of ours with every column as text, an empty field as a missing value."""
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            table = parquet.read_table(path)
            columns = [compute.cast(column, pa.string()) for column in table.columns]
        else:
            read, parsed = csv.ReadOptions(encoding=encoding), csv.ParseOptions(newlines_in_values=True)
            with csv.open_csv(path, read_options=read, parse_options=parsed) as stream:
                names = stream.schema.names
            kinds = csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), null_values=[""], strings_can_be_null=True
            )
            table = csv.read_csv(path, read_options=read, parse_options=parsed, convert_options=kinds)
            columns = table.columns
    except (OSError, ValueError) as error:
        raise BadInputError(f"{path}: the file cannot be read ({str(error).splitlines()[0]})") from None
    return pa.table(dict(zip(table.column_names, (column.combine_chunks() for column in columns), strict=True)))
