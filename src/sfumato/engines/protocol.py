"""What an engine must be able to do with rows: few verbs, in terms of columns, texts, codes and cells.

An engine knows nothing of hierarchies, roles or requirements. It lists the distinct texts of a column, counts the
distinct tuples of codes once somebody has given every text a code, and writes rows whose cells have been placed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class DistinctValues:
    """The distinct values of one column as text (None: missing), each with its count and first row (from 1)."""

    values: Sequence[str | None]
    counts: NDArray[np.int64]
    first_rows: NDArray[np.int64]


@dataclass(frozen=True)
class Coding:
    """A code for every text of one column; None is the key of missing values."""

    column: str
    codes: Mapping[str | None, int]


@dataclass(frozen=True)
class CountedCodes:
    """The distinct tuples of codes in lexicographic order, the number of rows of each, and what was left out."""

    codes: NDArray[np.int32]
    counts: NDArray[np.int64]
    dropped: int
    link: str
    """The engine's name for the link from its rows to these tuples."""


@dataclass(frozen=True)
class Texts:
    """A published column made of texts: row i of the cells or groups it belongs to shows `texts[codes[i]]`."""

    name: str
    texts: Sequence[str | None]
    codes: NDArray[np.int32]


@dataclass(frozen=True)
class Placement:
    """Where the rows of every cell go: `count` rows of `cell` to `group`; rows that no entry takes are left out."""

    cell: NDArray[np.int64]
    group: NDArray[np.int64]
    count: NDArray[np.int64]
    link: str
    """Which cells these are: the link that came with them."""


@dataclass(frozen=True)
class Layout:
    """The columns of a published file and what moves with what.

    Texts `by_group` show what is published for the group of a row; texts `by_cell` what belongs to its cell;
    `neutral` columns are the row's own. Columns in `permuted` (among `by_cell`) are exchanged within each group in a
    way that depends on nothing but the published columns themselves. `order` lists all names as they shall stand.
    """

    order: Sequence[str]
    by_group: Sequence[Texts]
    by_cell: Sequence[Texts]
    neutral: Sequence[str]
    permuted: frozenset[str] = frozenset()
    group_column: str | None = None
    group_labels: NDArray[np.int64] | None = None


class Engine(Protocol):
    """Rows of one table, wherever they are."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns."""

    @property
    def row_count(self) -> int:
        """The number of rows that were read."""

    @property
    def origin(self) -> str:
        """The file or kind of frame, for messages."""

    def digest(self) -> str:
        """Return a digest of names and values of all columns, the same for the same content."""

    def distinct(self, column: str, complete: Sequence[str] = ()) -> DistinctValues:
        """List the distinct values of a column among the rows that miss no value in the `complete` columns."""

    def count_texts(self, columns: Sequence[str], complete: Sequence[str] = ()) -> Iterator[Any]:
        """Count the distinct tuples of texts of some columns, in Arrow batches whose last column is the count."""

    def count_cells(self, codings: Sequence[Coding]) -> CountedCodes:
        """Count the distinct tuples of codes; rows with a text that has no code are dropped and counted."""

    def write(self, placement: Placement, layout: Layout, path: Path, format: str) -> int:
        """Write the placed rows as "csv" or "parquet", shuffled; return the number of rows; `OSError` if it fails."""

    def write_table(self, content: Any, path: Path, format: str) -> int:
        """Write a small Arrow table of our own making in the same way."""
