"""What engines answer as Arrow tables, turned into the values of the protocol: the same for all of them.

Columns of Arrow, from arrays and back.

Arrow's own `pyarrow.array` and `to_numpy` import pandas where it is installed, to see whether they are handed one of
its values: a quarter of a second of every command. Here the memory of a column is taken as it is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.engines.protocol import Coding, CountedLists, DistinctValues, Tuples


def numbers_in(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Return the numbers of a column of which none is missing; they cannot be written to."""
    return np.from_dlpack(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)


def number_column(numbers: NDArray[Any], known: NDArray[np.bool_] | None = None) -> pa.Array:
    """Make a column of numbers, of which some may be missing."""
    whole = np.ascontiguousarray(numbers)
    bits = None if known is None else pa.py_buffer(np.packbits(known, bitorder="little"))
    return pa.Array.from_buffers(pa.from_numpy_dtype(whole.dtype), len(whole), [bits, pa.py_buffer(whole)])


def text_column(texts: Iterable[str | None]) -> pa.Array:
    """Make a column of texts, some of which may be missing."""
    builder = pa.lib.StringBuilder()
    builder.append_values(texts)
    return builder.finish()


def by_text(table: pa.Table, columns: int) -> pa.Table:
    """Sort rows by their first columns: texts by their bytes in UTF-8, missing values last."""
    keys = [(name, "ascending") for name in table.column_names[:columns]]
    return table.take(pc.sort_indices(table, sort_keys=keys)) if keys else table


def distinct_in(table: pa.Table) -> DistinctValues:
    """Take the distinct texts of a column and their counts, of rows without an order."""
    table = by_text(table, 1)
    return DistinctValues(table[0].to_pylist(), numbers_in(table[1]), None)


def tuples_in(table: pa.Table) -> Tuples:
    """Take sorted tuples: the number of a cell, texts, and how many rows have them."""
    encoded = [_encoded(column.combine_chunks()) for column in table.columns[1:-1]]
    values = np.empty((table.num_rows, len(encoded)), np.int64)
    for i, (codes, _) in enumerate(encoded):
        values[:, i] = codes
    return Tuples(numbers_in(table[0]), values, numbers_in(table[-1]), [texts for _, texts in encoded])


def lists_in(table: pa.Table) -> CountedLists:
    """Take distinct lists, how many records have each, and where records have an order the first of them."""
    lists = table[0].combine_chunks()
    codes, texts = _encoded(lists.flatten())
    lengths = numbers_in(lists.value_lengths().fill_null(0)).astype(np.int64)
    first = numbers_in(table[2]) if table.num_columns > 2 else None
    return CountedLists(texts, lengths, codes.astype(np.int32), numbers_in(table[1]), first)


def coded_columns(texts: Sequence[pa.Array], codings: Sequence[Coding]) -> list[pa.Array]:
    """Give the texts of columns their codes; none to a text that has none."""
    columns = []
    for column, coding in zip(texts, codings, strict=True):
        is_listed = pa.types.is_dictionary(column.type)
        encoded = column if is_listed else column.dictionary_encode(null_encoding="encode")
        texts = encoded.dictionary.to_pylist()
        codes = np.array([coding.codes.get(text, 0) for text in texts], np.int32)
        known = np.array([text in coding.codes for text in texts], bool)
        columns.append(number_column(codes, known).take(encoded.indices))
    return columns


def _encoded(column: pa.Array) -> tuple[NDArray[np.int64], list[str | None]]:
    """Number the values of a column in the order of their first appearance; a missing one counts as a value."""
    coded = column.dictionary_encode(null_encoding="encode")
    return numbers_in(coded.indices).astype(np.int64), coded.dictionary.to_pylist()


def received_names(number: int) -> list[str]:
    """Name columns of texts that another engine has sent to DuckDB: no column of a source is called so."""
    return [f"\0{i}" for i in range(number)]


def received(codings: Sequence[Coding]) -> list[Coding]:
    """Code such columns; their texts are what rules have made of them already."""
    names = received_names(len(codings))
    return [replace(coding, column=name, rule=None) for coding, name in zip(codings, names, strict=True)]
