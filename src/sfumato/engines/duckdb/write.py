"""Writing published rows.

Without neutral columns, the published rows follow from counts alone: the distinct rows are ordered, each repeated by
its count, and the source is not read again. With neutral columns, rows are read once more and their codes computed
again, so that no link from rows to cells is stored. The order of a file depends only on the content of its rows, by a
digest. For many rows it is first a digest without the neutral columns, then one of these. So only neutral columns and a
number are sorted, and the digest is DuckDB's hash instead of MD5.

DuckDB writes CSV from a query or a stream; Parquet is written batch by batch.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.engines.duckdb.grouped import literal, shuffled
from sfumato.engines.duckdb.sources import connect, unwritable
from sfumato.engines.protocol import Layout, Placement, Texts, number_column, numbers_in, text_column

Rows: TypeAlias = str | pa.RecordBatchReader
"""A query, or a stream."""

ROWS_AT_ONCE = 1 << 16

SCHEMA = b"ARROW:schema"
"""The key under which a Parquet file stores the Arrow types of its columns."""


def plain(schema: pa.Schema) -> pa.Schema:
    """Return a schema with plain texts instead of dictionaries, whose encoding is no type of the data."""
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


def write_table(content: pa.Table, path: Path, format: str) -> int:
    """Write a small table in the order of `shuffled_table`; return the number of its rows."""
    with connect() as connection:
        return save(connection, _shuffled(connection, content), list(content.column_names), path, format)


def shuffled_table(content: pa.Table) -> pa.Table:
    """Return a small table in an order that depends only on the content of its rows."""
    with connect() as connection:
        return connection.sql(_shuffled(connection, content)).to_arrow_table().rename_columns(content.column_names)


def _shuffled(connection: duckdb.DuckDBPyConnection, content: pa.Table) -> str:
    outputs = [f"o{i}" for i in range(content.num_columns)]
    connection.register("content", content.rename_columns(outputs))
    return f"SELECT {', '.join(outputs)} FROM content ORDER BY {shuffled(outputs)}"


def _save_csv(connection: duckdb.DuckDBPyConnection, rows: Rows, names: list[str], temporary: str) -> int:
    header = ", ".join(literal(name) for name in names)
    texts = ", ".join(f"o{i}::VARCHAR" for i in range(len(names)))
    if len(names) == 1:  # a single missing value would be an empty line, which readers skip
        texts = "coalesce(o0::VARCHAR, '')"
    columns = ", ".join(f"h{i}" for i in range(len(names)))
    if not isinstance(rows, str):
        with connect() as other:  # the stream may come from this connection, which cannot do both
            other.register("stream", rows)
            return _save_csv(other, "SELECT * FROM stream", names, temporary)
    written = connection.execute(
        f"COPY (FROM (VALUES ({header})) AS header({columns}) UNION ALL (SELECT {texts} FROM ({rows}))) "
        f"TO {literal(temporary)} (FORMAT csv, USE_TMP_FILE false, HEADER false, DELIMITER ',', QUOTE '\"', "
        "ESCAPE '\"')"
    ).fetchall()
    return int(written[0][0]) - 1


def _save_parquet(connection: duckdb.DuckDBPyConnection, rows: Rows, names: list[str], temporary: str) -> int:
    import pyarrow.parquet as pq  # importing is slow, and only Parquet files need it

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


LARGEST = 1 << 62
MANY_ROWS = 100_000
"""The number of rows above which a cheaper digest orders them."""

MOST_LISTED = 4096
"""The most distinct texts of a column that are sent as a dictionary, at a third of the cost."""


@dataclass(frozen=True)
class Shown:
    """Distinct rows made of texts: the distinct texts of each column with their codes by row, and counts of rows."""

    columns: Mapping[str, tuple[pa.Array, NDArray[np.int32]]]
    counts: NDArray[np.int64]

    @property
    def rows(self) -> int:
        """The number of rows, counted with repetition."""
        return int(self.counts.sum())

    def taken(self, places: NDArray[np.int64], counts: NDArray[np.int64]) -> Shown:
        """Return some of the distinct rows, with other counts."""
        return Shown({name: (texts, codes[places]) for name, (texts, codes) in self.columns.items()}, counts)

    def lean(self) -> Shown:
        """Remove texts that no row shows: a file that lists them would reveal suppressed records."""
        columns = {}
        for name, (texts, codes) in self.columns.items():
            used = np.flatnonzero(np.bincount(codes, minlength=len(texts)))
            place = np.zeros(len(texts), np.int32)
            place[used] = np.arange(len(used))
            columns[name] = texts.take(number_column(used)), place[codes]
        return replace(self, columns=columns)

    def joined(self) -> tuple[Shown, NDArray[np.int64]]:
        """Merge equal rows; return also the new index of each row."""
        key, size = np.zeros(len(self.counts), np.int64), 1
        for texts, codes in self.columns.values():
            if size * len(texts) > LARGEST:
                key = np.unique(key, return_inverse=True)[1].reshape(-1)
                size = int(key.max()) + 1
            key = key * len(texts) + codes
            size *= max(len(texts), 1)
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
        number = number.reshape(-1)
        return self.taken(first, np.bincount(number, self.counts, len(first)).astype(np.int64)), number

    def table(self, more: Mapping[str, NDArray[np.int64]]) -> pa.Table:
        """Return the distinct rows as o0, o1, ... in the order of names, with further columns of numbers."""
        names = sorted(self.columns)
        columns = {f"o{i}": _texts(*self.columns[name]) for i, name in enumerate(names)}
        return pa.table({**columns, **{name: number_column(numbers) for name, numbers in more.items()}})

    def batches(self, order: Sequence[str]) -> pa.RecordBatchReader:
        """Return all rows as a stream, columns in this order."""
        schema = pa.schema([(f"o{i}", _kind(self.columns[name][0])) for i, name in enumerate(order)])
        return pa.RecordBatchReader.from_batches(schema, self._batches([self.columns[name] for name in order], schema))

    def beside(self, rows: pa.RecordBatchReader, others: Sequence[str], order: Sequence[str]) -> pa.RecordBatchReader:
        """Join the texts of distinct rows to a stream of their numbers and of other columns, in this order."""
        kinds = {name: field.type for name, field in zip(others, list(rows.schema)[1:], strict=True)}
        kinds |= {name: _kind(texts) for name, (texts, _) in self.columns.items()}
        schema = pa.schema([(f"o{i}", kinds[name]) for i, name in enumerate(order)])

        def batches() -> Iterator[Any]:
            for batch in rows:
                number = numbers_in(batch.column(0))
                listed = dict(zip(others, batch.columns[1:], strict=True))
                listed |= {name: _texts(texts, codes[number]) for name, (texts, codes) in self.columns.items()}
                yield pa.record_batch([listed[name] for name in order], schema)

        return pa.RecordBatchReader.from_batches(schema, batches())

    def _batches(self, columns: Sequence[tuple[pa.Array, NDArray[np.int32]]], schema: pa.Schema) -> Iterator[Any]:
        ends = np.cumsum(self.counts)
        for start in range(0, self.rows, ROWS_AT_ONCE):
            stop = min(start + ROWS_AT_ONCE, self.rows)
            first, last = np.searchsorted(ends, (start, stop - 1), "right")
            times = np.minimum(ends[first : last + 1], stop) - np.maximum(
                ends[first : last + 1] - self.counts[first : last + 1], start
            )
            places = np.repeat(np.arange(first, last + 1), times)
            yield pa.record_batch([_texts(texts, codes[places]) for texts, codes in columns], schema)


def _kind(texts: pa.Array) -> pa.DataType:
    """Return the Arrow type for a column of these texts."""
    few = pa.types.is_string(texts.type) and len(texts) <= MOST_LISTED
    return pa.dictionary(pa.int32(), texts.type) if few else texts.type


def _texts(texts: pa.Array, codes: NDArray[np.int32]) -> pa.Array:
    if not pa.types.is_dictionary(_kind(texts)):
        return texts.take(number_column(codes))
    there = texts.drop_null()  # a missing text is a missing index, because Parquet's dictionaries have none
    numbers = number_column(codes, codes != len(there)) if len(there) < len(texts) else number_column(codes)
    return pa.DictionaryArray.from_arrays(numbers, there)


def shown_rows(connection: duckdb.DuckDBPyConnection, placement: Placement, layout: Layout) -> Shown:
    """Return the published rows without neutral columns, in writing order."""
    every = entries(placement, layout)
    if layout.permuted:
        every = _dealt(connection, every, placement, layout)
    shown, _ = every.joined()
    order = _ordered(connection, shown, {})
    return shown.taken(order, shown.counts[order]).lean()


def numbered_rows(
    connection: duckdb.DuckDBPyConnection, placement: Placement, layout: Layout
) -> tuple[Shown, NDArray[np.int64]]:
    """Return the published rows besides neutral columns, in order, and the row of each entry of a placement."""
    shown, number = entries(placement, layout).joined()
    order = _ordered(connection, shown, {})
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return shown.taken(order, shown.counts[order]).lean(), place[number]


def entries(placement: Placement, layout: Layout) -> Shown:
    """Return the published texts of each entry of a placement."""
    columns = {}
    for column, numbers in chain(
        ((column, placement.group) for column in layout.by_group),
        ((column, placement.cell) for column in layout.by_cell),
    ):
        texts = sorted(dict.fromkeys(column.texts), key=lambda text: text is None)  # the missing one last
        place = {text: i for i, text in enumerate(texts)}
        codes = np.array([place[text] for text in column.texts], np.int32)
        columns[column.name] = text_column(texts), codes[np.asarray(column.codes)[numbers]]
    if layout.group_column is not None and layout.group_labels is not None:
        columns[layout.group_column] = number_column(layout.group_labels), placement.group.astype(np.int32)
    return Shown({name: columns[name] for name in layout.order if name in columns}, placement.count)


def _dealt(connection: duckdb.DuckDBPyConnection, shown: Shown, placement: Placement, layout: Layout) -> Shown:
    """Permute columns within each group: both sides are sorted by their own published content.

    The pairing is a function of the two published margins of the group, so it reveals nothing about who had which
    value.
    """
    sides, ends = [], []
    for permuted in (False, True):
        names = [name for name in shown.columns if (name in layout.permuted) == permuted]
        side = replace(shown, columns={name: shown.columns[name] for name in names})
        order = _ordered(connection, side, {"grp": placement.group})
        sides.append(side.taken(order, shown.counts[order]))
        ends.append(np.cumsum(shown.counts[order]))
    cuts = np.union1d(*ends)
    counts = np.diff(cuts, prepend=0)
    places = [np.searchsorted(end, cuts, "left") for end in ends]
    dealt = [side.taken(at, counts) for side, at in zip(sides, places, strict=True)]
    columns = {name: column for side in dealt for name, column in side.columns.items()}
    return Shown({name: columns[name] for name in layout.order}, counts)


def _ordered(
    connection: duckdb.DuckDBPyConnection, shown: Shown, within: Mapping[str, NDArray[np.int64]]
) -> NDArray[np.int64]:
    """Order distinct rows by a digest of their content, within groups if given.

    Within groups the order decides the pairing, so there it is the digest that all engines have.
    """
    outputs = [f"o{i}" for i in range(len(shown.columns))]
    content = shown.table({**within, "place": np.arange(len(shown.counts))})
    connection.register("shown", content)
    keys = ", ".join([*within, *([shuffled(outputs, shown.rows > MANY_ROWS and not within)] if outputs else [])])
    order = connection.sql(f"SELECT place FROM shown{f' ORDER BY {keys}' if keys else ''}").to_arrow_table()
    connection.unregister("shown")
    numbers: NDArray[np.int64] = numbers_in(order.column(0))
    return numbers


def parts_of(
    placement: Placement, entry: NDArray[np.int64], sizes: NDArray[np.int64]
) -> dict[str, dict[str, NDArray[np.int64]]]:
    """Return the rows of each cell by entry: of whole cells, and of split ones by index."""
    in_order = (placement.cell[1:] > placement.cell[:-1]).all()
    order = np.arange(len(placement.cell)) if in_order else np.lexsort((placement.group, placement.cell))
    cell, group, number = placement.cell[order], entry[order], placement.count[order]
    ends = np.cumsum(number)
    starts = np.flatnonzero(np.r_[True, cell[1:] != cell[:-1]]) if len(cell) else np.array([], int)
    before = np.repeat((ends - number)[starts], np.diff(np.r_[starts, len(cell)]))
    whole = number == sizes[cell]
    parts = {"cell": cell, "grp": group, "first": ends - number - before, "last": ends - before}
    return {
        "whole": {name: parts[name][whole] for name in ("cell", "grp")},
        "split": {name: values[~whole] for name, values in parts.items()},
    }


def text_tables(layout: Layout) -> dict[str, pa.Table]:
    """Return the texts by group and by cell, as tables to be joined."""
    groups = {f"t{i}": _texts_of(column) for i, column in enumerate(layout.by_group)}
    if layout.group_labels is not None:
        groups["label"] = number_column(layout.group_labels)
    cells = {f"t{i}": _texts_of(column) for i, column in enumerate(layout.by_cell)}
    tables = {}
    for key, columns in (("grp", groups), ("cell", cells)):
        if columns:
            number = number_column(np.arange(len(next(iter(columns.values()))), dtype=np.int64))
            tables[f"{key}_texts"] = pa.table({key: number, **columns})
    return tables


def _texts_of(column: Texts) -> pa.Array:
    return text_column(column.texts).take(number_column(np.asarray(column.codes, np.int32)))
