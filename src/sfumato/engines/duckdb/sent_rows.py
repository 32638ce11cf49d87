"""Rows that another engine has counted, and sends to be written: what is published as it is, and their cells.

They are kept on disk where memory is short, and placed, put in order and written as DuckDB does with its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.engines.duckdb.coding import Packing
from sfumato.engines.duckdb.connections import connect, readable
from sfumato.engines.duckdb.engine import DuckDBEngine
from sfumato.engines.duckdb.sources import LoadedRows
from sfumato.engines.protocol import Reading


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
