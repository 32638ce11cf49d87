"""Columns of Arrow, from arrays and back.

Arrow's own `pyarrow.array` and `to_numpy` import pandas where it is installed, to see whether they are handed one of
its values: a quarter of a second of every command. Here the memory of a column is taken as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def numbers_in(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Return the numbers of a column of which none is missing; they cannot be written to."""
    return np.from_dlpack(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)


def number_column(numbers: NDArray[Any]) -> pa.Array:
    """Make a column of numbers."""
    whole = np.ascontiguousarray(numbers)
    return pa.Array.from_buffers(pa.from_numpy_dtype(whole.dtype), len(whole), [None, pa.py_buffer(whole)])


def text_column(texts: Iterable[str | None]) -> pa.Array:
    """Make a column of texts, some of which may be missing."""
    builder = pa.lib.StringBuilder()
    builder.append_values(texts)
    return builder.finish()
