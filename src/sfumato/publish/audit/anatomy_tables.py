"""Anatomy's two tables put together as rows: within a group any pairing of rows and sensitive values says the same.

Text files are read as the text that stands in them; nothing is taken for a number but the counts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import compute

from sfumato.engines import Reading, open_rows
from sfumato.errors import BadInputError

COUNT = "count"
"""The column of the second table that says how often a group has a value."""


def joined_tables(
    rows: Path, values: Path, group: str, encoding: str | None = None, escaped_formulas: bool = False
) -> pa.Table:
    """Give the rows of every group its sensitive values, each as often as it is counted."""
    people, counted = (_read(path, group, encoding, escaped_formulas) for path in (rows, values))
    if COUNT not in counted.column_names:
        raise BadInputError(f"{values}: there is no column {COUNT!r}, which says how often a group has a value")
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


def _read(path: Path, group: str, encoding: str | None, escaped: bool) -> pa.Table:
    """Read a file of ours as text, an empty field of a text file missing."""
    rows = open_rows(path, Reading(delimiter=",", encoding=encoding, header=True, as_it_stands=True, escaped=escaped))
    names = list(rows.columns)
    if group not in names:
        known = ", ".join(map(repr, names))
        raise BadInputError(f"{path}: there is no column {group!r}; the columns are {known}")
    table = pa.Table.from_batches(rows.count_texts(names))
    times = table.column(len(names)).to_numpy()
    texts = [compute.cast(column, pa.string()) for column in table.columns[: len(names)]]
    return pa.table(texts, names).take(pa.array(np.repeat(np.arange(len(times)), times)))
