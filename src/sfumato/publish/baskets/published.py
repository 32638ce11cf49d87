"""Reading a published file of baskets for an audit, and counting in it: shares nothing with those who make releases.

A line is a record; or a record is all rows with one value of a column, or a list (Parquet). What stands there is taken
as text: only where an original is given does the audit ask which items a text stands for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.engines import CountedLists, Engine, Reading, open_rows
from sfumato.engines.protocol import SourceLayout
from sfumato.engines.text_files import PARQUET
from sfumato.errors import BadInputError

Shown = frozenset[str]
BLOCK = 1 << 21
"""Sets that are counted at a time."""


@dataclass(frozen=True, eq=False)
class PublishedBaskets:
    """The records of a published file: what each shows, equal ones counted."""

    origin: str
    rows: Mapping[Shown, int]

    @property
    def records(self) -> int:
        """The number of records."""
        return sum(self.rows.values())

    @property
    def empty(self) -> int:
        """Records that show nothing."""
        return self.rows.get(frozenset(), 0)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Everything that some record shows."""
        return tuple(sorted({label for row in self.rows for label in row}))

    def itemsets(self, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count the records of every set of `size` published items that occurs: the sets by place, their supports."""
        place = {label: number for number, label in enumerate(self.labels)}
        by_length: dict[int, list[tuple[list[int], int]]] = {}
        for row, weight in self.rows.items():
            if len(row) >= size:
                by_length.setdefault(len(row), []).append((sorted(place[label] for label in row), weight))
        tally = _Tally(size, len(self.labels))
        for length, rows in sorted(by_length.items()):
            codes = np.array([codes for codes, _ in rows], np.int64)
            weights = np.array([weight for _, weight in rows], np.int64)
            for chosen in _choices(length, size):
                step = max(1, BLOCK // len(chosen))
                for start in range(0, len(rows), step):
                    block = codes[start : start + step, chosen].reshape(-1, size)
                    tally.add(block, np.repeat(weights[start : start + step], len(chosen)))
        return tally.joined()


def _choices(length: int, size: int) -> Iterator[NDArray[np.int64]]:
    """Yield the ways to choose places of a row, some at a time: a long row has millions."""
    ways = combinations(range(length), size)
    while some := list(islice(ways, BLOCK)):
        yield np.array(some, np.int64)


class _Tally:
    """Adds up the records of sets of codes, equal sets together."""

    def __init__(self, size: int, width: int) -> None:
        self.size, self.width = size, max(width, 1)
        self.sets: list[NDArray[np.int64]] = []
        self.counts: list[NDArray[np.int64]] = []
        self.waiting = 0

    def add(self, sets: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        """Take sets with their records; they are joined with the others when many have come."""
        self.sets.append(sets)
        self.counts.append(counts)
        self.waiting += len(sets)
        if self.waiting > 4 * BLOCK:
            joined, total = self.joined()
            self.sets, self.counts, self.waiting = [joined], [total], 0

    def joined(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return every set once with its records."""
        every = np.concatenate([np.zeros((0, self.size), np.int64), *self.sets])
        counts = np.concatenate([np.zeros(0, np.int64), *self.counts])
        if self.width**self.size < 2**62:
            keys = every @ (self.width ** np.arange(self.size - 1, -1, -1, dtype=np.int64))
            _, first, number = np.unique(keys, return_index=True, return_inverse=True)
        else:
            _, first, number = np.unique(every, axis=0, return_index=True, return_inverse=True)
        total = np.zeros(len(first), np.int64)
        np.add.at(total, number.ravel(), counts)
        return every[first], total


def read_published(
    path: str | Path,
    who: str | None = None,
    item: str | None = None,
    column: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    escaped_formulas: bool = False,
) -> PublishedBaskets:
    """Read a file of baskets, whoever made it: lines of items, rows of (`who`, `item`), or Parquet lists.

    `escaped_formulas` says that formulas in a text file were escaped, and are to be read as they were.
    """
    if (who is None) != (item is None):
        raise BadInputError("rows of items need both columns: which record it is (--id) and the item (--item)")
    path = Path(path)
    if not path.is_file():
        raise BadInputError(f"{path}: there is no such file; give a published file of baskets")
    is_parquet = path.suffix.lower() in PARQUET
    layout: SourceLayout = "lists" if is_parquet else "table" if who is not None else "lines"
    escaped = escaped_formulas and not is_parquet
    rows = open_rows(path, Reading((), separator, encoding, "", layout, as_it_stands=True, escaped=escaped, empty=True))
    if layout == "table":
        lists = _gathered(rows, str(who), str(item))
    else:
        lists = rows.lists("items" if layout == "lines" else _list_column(rows, column))
    texts = [text if text is None or is_parquet else text.strip() or None for text in lists.texts]
    labels = [texts[code] for code in lists.codes.tolist()]
    ends = np.cumsum(lists.lengths).tolist()
    counted: Counter[Shown] = Counter()
    for start, end, number in zip([0, *ends], ends, lists.counts.tolist(), strict=False):
        counted[frozenset(label for label in labels[start:end] if label is not None)] += number
    if not counted:
        raise BadInputError(f"{path}: there is no record in it; one line is one record")
    return PublishedBaskets(str(path), dict(counted))


def _gathered(rows: Engine, who: str, item: str) -> CountedLists:
    for name in (who, item):
        if name not in rows.columns:
            known = ", ".join(rows.columns)
            raise BadInputError(f"{rows.origin}: there is no column {name!r}; its first line names {known}")
    return rows.gathered(who, item)


def _list_column(rows: Engine, column: str | None) -> str:
    """Return the column of lists: the one that was named, or the first."""
    for name, kind in rows.nested.items():
        if kind.endswith("[]") and column in (None, name):
            return name
    called = "" if column is None else f" called {column!r}"
    raise BadInputError(f"{rows.origin}: baskets in a Parquet file are a column of lists, and there is none{called}")
