"""How rows on a server find their cells again: by the codes of their values, which small temporary tables give.

The codes of a row are packed into one number on the server, or a few where one is too short, and the number becomes
that of a cell here. So a row costs the server one look into a small table for each of its columns, and nothing is made
there that is as large as the rows or the cells.

Rows that another engine has counted, and sends to be written: what is published as it is, and their cells.

They are kept on disk where memory is short, and placed, put in order and written as DuckDB does with its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.engines.duckdb.connection import connect, readable
from sfumato.engines.duckdb.engine import DuckDBEngine
from sfumato.engines.duckdb.grouped import CodedColumn, Packing
from sfumato.engines.duckdb.sources import LoadedRows
from sfumato.engines.protocol import Coding, CountedCodes, Reading


@dataclass(frozen=True, eq=False)
class ServerLink:
    """The codings of some columns, and the cells that were counted by them."""

    codings: tuple[Coding, ...]
    counted: CountedCodes

    @cached_property
    def packing(self) -> Packing:
        """How codes become numbers; the tables of codes are called after the link."""
        sizes = [max([*coding.codes.values(), -1]) + 1 for coding in self.codings]
        return Packing(tuple(CodedColumn(self.table(i), "", size) for i, size in enumerate(sizes)))

    def table(self, i: int) -> str:
        """Name the temporary table with the codes of a column."""
        return f"{self.counted.link}_{i}"

    @property
    def numbers(self) -> list[str]:
        """Write the numbers of a row, as p0, p1, ..."""
        return [f"{number} AS p{i}" for i, number in enumerate(self.packing.numbers)]

    def cells(self, numbers: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return the cells of rows with these numbers."""
        return np.searchsorted(self._keys, self._key(numbers))

    def celled(self, batches: pa.RecordBatchReader) -> pa.RecordBatchReader:
        """Put the number of the cell in place of the numbers p0, p1, ... that rows begin with, while they come."""
        parts = len(self.packing.names)
        schema = pa.schema([("cell", pa.int64()), *list(batches.schema)[parts:]])

        def rows() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                cell = self.cells([column.to_numpy() for column in batch.columns[:parts]])
                yield pa.record_batch([pa.array(cell), *batch.columns[parts:]], schema)

        return pa.RecordBatchReader.from_batches(schema, rows())

    @cached_property
    def _packed(self) -> list[NDArray[np.int64]]:
        """The numbers of all cells, which are in their order."""
        codes, packed = self.counted.codes, []
        for part in self.packing.parts:
            number = np.zeros(len(codes), np.int64)
            for i in part:
                number = number * (self.packing.columns[i].size + 1) + codes[:, i] + 1
            packed.append(number)
        return packed

    @cached_property
    def _known(self) -> list[NDArray[np.int64]]:
        return [np.unique(number) for number in self._packed]

    @cached_property
    def _keys(self) -> NDArray[np.int64]:
        return self._key(self._packed)

    def _key(self, numbers: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Make one number of the places of several among those that cells have; it keeps their order."""
        key: NDArray[np.int64] = np.zeros(len(numbers[0]), np.int64)
        for known, number in zip(self._known, numbers, strict=True):
            key = key * len(known) + np.searchsorted(known, number)
        return key


class Landing(DuckDBEngine):
    """Rows that have the number of their cell with them."""

    link: ClassVar[str] = "landed"
    """What their link is called."""

    @staticmethod
    def of(
        batches: pa.RecordBatchReader, kinds: Mapping[str, str], sizes: NDArray[np.int64], reading: Reading
    ) -> Landing:
        """Take rows as they come: `cell`, and c0, c1, ... for the columns in `kinds`, which become these types.

        `sizes` are the numbers of rows of all cells.
        """
        connection = connect(reading)
        columns = [f"c{i}::{kind} AS c{i}" for i, kind in enumerate(kinds.values())]
        connection.register("incoming", batches)
        with readable(reading.origin):
            connection.execute(f"CREATE TABLE rows AS SELECT {', '.join([*columns, 'cell'])} FROM incoming")
        connection.unregister("incoming")
        landing = Landing(connection, replace(reading, notations=False), LoadedRows(tuple(kinds)))
        landing._links[Landing.link] = Packing(()), sizes
        return landing

    def _linked(self, link: str, parts: str | None = None) -> str:
        """Write rows with the number of their cell, and what a table of parts says of it."""
        return "FROM rows" if parts is None else f"FROM rows JOIN {parts} USING (cell)"
