"""Reading a published file of baskets for an audit, and counting in it: shares nothing with those who make releases.

A line is a record; or a record is all rows with one value of a column, or a list (Parquet). What stands there is taken
as text: only where an original is given does the audit ask which items a text stands for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, islice, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.engines import CountedLists, Engine, Reading, open_rows
from sfumato.engines.items.files import LONG
from sfumato.engines.items.layouts import named_rows
from sfumato.engines.protocol import SourceLayout
from sfumato.engines.text_files import PARQUET, opened_text
from sfumato.errors import BadInputError

Shown = frozenset[str]
BLOCK = 1 << 21
"""Sets that are counted at a time."""


@dataclass(frozen=True, eq=False)
class PublishedBaskets:
    """The records of a published file: what each shows, equal ones counted."""

    origin: str
    labels: tuple[str, ...]
    """Everything that some record shows, in order."""

    starts: NDArray[np.int64]
    """Where the codes of each distinct record start, and where the last ones end."""

    codes: NDArray[np.int64]
    """Which labels a distinct record shows, in order."""

    weights: NDArray[np.int64]
    """How many records are like each distinct one."""

    notices: tuple[str, ...] = ()
    """What was noticed while reading them."""

    @cached_property
    def rows(self) -> Mapping[Shown, int]:
        """The distinct records as sets of texts, with their numbers."""
        labels = [self.labels[code] for code in self.codes.tolist()]
        bounds = pairwise(self.starts.tolist())
        return {frozenset(labels[lo:hi]): n for (lo, hi), n in zip(bounds, self.weights.tolist(), strict=True)}

    @property
    def records(self) -> int:
        """The number of records."""
        return int(self.weights.sum())

    @property
    def empty(self) -> int:
        """Records that show nothing."""
        return int(self.weights[np.diff(self.starts) == 0].sum())

    @property
    def alone(self) -> int:
        """Records that show something that no other record shows just so."""
        return int(((self.weights == 1) & (np.diff(self.starts) > 0)).sum())

    @cached_property
    def supports(self) -> Counter[str]:
        """How many records show each."""
        records: Counter[str] = Counter()
        for labels, n in self.rows.items():
            records.update(dict.fromkeys(labels, n))
        return records

    @cached_property
    def postings(self) -> Mapping[str, NDArray[np.int64]]:
        """The distinct records that show each label, ascending."""
        row = np.repeat(np.arange(len(self.weights)), np.diff(self.starts))[np.argsort(self.codes, kind="stable")]
        ends = np.cumsum(np.bincount(self.codes, minlength=len(self.labels)))
        return dict(zip(self.labels, np.split(row, ends[:-1]), strict=True))

    def rows_showing(self, known: Iterable[tuple[str, ...]]) -> NDArray[np.int64]:
        """Find the distinct records that show at least one label of every tuple: posting lists, the shortest first."""
        rows, *others = sorted((self._rows_showing_any(labels) for labels in known), key=len)
        for posting in others:
            at = np.searchsorted(posting, rows)
            rows = rows[np.take(posting, at, mode="clip") == rows] if len(posting) else posting
        return rows

    def _rows_showing_any(self, labels: tuple[str, ...]) -> NDArray[np.int64]:
        """Find the distinct records that show at least one of some labels, ascending."""
        if len(labels) == 1:
            return self.postings[labels[0]]
        return np.unique(np.concatenate([np.zeros(0, np.int64), *(self.postings[label] for label in labels)]))

    def itemsets(self, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count the records of every set of `size` published items that occurs: the sets by place, their supports."""
        lengths = np.diff(self.starts)
        tally = SetTally(size, len(self.labels))
        for length in np.unique(lengths[lengths >= size]).tolist():
            rows = np.flatnonzero(lengths == length)
            codes = self.codes[self.starts[rows, None] + np.arange(length)]
            weights = self.weights[rows]
            for chosen in choices(length, size):
                step = max(1, BLOCK // len(chosen))
                for start in range(0, len(rows), step):
                    block = codes[start : start + step, chosen].reshape(-1, size)
                    tally.add(block, np.repeat(weights[start : start + step], len(chosen)))
        return tally.joined()


def labels_by_item(readings: Mapping[str, frozenset[int]]) -> dict[int, tuple[str, ...]]:
    """List for every item the published labels that stand for it."""
    shows: dict[int, list[str]] = {}
    for label, items in readings.items():
        for code in items:
            shows.setdefault(code, []).append(label)
    return {code: tuple(labels) for code, labels in shows.items()}


def choices(length: int, size: int) -> Iterator[NDArray[np.int64]]:
    """Yield the ways to choose places of a row, some at a time: a long row has millions."""
    ways = combinations(range(length), size)
    while some := list(islice(ways, BLOCK)):
        yield np.array(some, np.int64)


class SetTally:
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
    memory: str | None = None,
    spill: str | None = None,
    lines: bool = False,
) -> PublishedBaskets:
    """Read a file of baskets, whoever made it: lines of items, rows of (`who`, `item`), or Parquet lists.

    Rows are recognised by the names of their columns, unless every line is a record (`lines`).

    `escaped_formulas` says that formulas in a text file were escaped, and are to be read as they were. Beyond `memory`
    an engine counts on disk, in a private folder of `spill`.
    """
    if (who is None) != (item is None):
        raise BadInputError("rows of items need both columns: which record it is (--id) and the item (--item)")
    path = Path(path)
    if not path.is_file():
        raise BadInputError(f"{path}: there is no such file; give a published file of baskets")
    is_parquet = path.suffix.lower() in PARQUET
    notices: tuple[str, ...] = ()
    if who is None and not is_parquet and not lines and (found := _named_columns(path, separator, encoding)):
        who, item = found
        notices = (
            f"{path}: read as a table of one item per row: the items in {item!r} with the same {who!r} are a set",
        )
    layout: SourceLayout = "lists" if is_parquet else "table" if who is not None else "lines"
    escaped = escaped_formulas and not is_parquet
    reading = Reading((), separator, encoding, "", layout, as_it_stands=True, empty=True, memory=memory, spill=spill)
    rows = open_rows(path, replace(reading, escaped=escaped))
    if layout == "table":
        lists = _gathered(rows, str(who), str(item))
    else:
        lists = rows.lists("items" if layout == "lines" else _list_column(rows, column))
    if not len(lists.counts):
        raise BadInputError(f"{path}: there is no record in it; one line is one record")
    texts = [text if text is None or is_parquet else text.strip() for text in lists.texts]
    return replace(_counted(str(path), lists, texts), notices=notices)


def _named_columns(path: Path, separator: str | None, encoding: str | None) -> tuple[str, str] | None:
    """Name the columns of a file with one item per row; where they do not tell by their names, a line is a record."""
    with opened_text(path, encoding) as stream:
        first = stream.readline().strip()
    if first == ",".join(LONG.values()):
        return LONG["who"], LONG["item"]
    rows = named_rows(path, encoding, separator)
    return None if rows is None else (rows.who, rows.item)


def _counted(origin: str, lists: CountedLists, texts: Sequence[str | None]) -> PublishedBaskets:
    """Count lists as sets: neither the order of a list nor a text that stands in it twice, or is empty, counts."""
    labels = tuple(sorted({text for text in texts if text}))
    place = {label: number for number, label in enumerate(labels)}
    codes = np.array([place.get(text or "", -1) for text in texts], np.int64)[lists.codes]
    row, width = np.repeat(np.arange(len(lists.lengths)), lists.lengths), max(len(labels), 1)
    keys = np.sort((row * width + codes)[codes >= 0])  # by row, then by code
    keys = keys[np.diff(keys, prepend=-1) > 0]  # np.unique of a million numbers takes twenty times as long
    ends = np.cumsum(np.bincount(keys // width, minlength=len(lists.lengths)))
    flat = (keys % width).tobytes()
    distinct: dict[bytes, int] = {}
    for (lo, hi), number in zip(pairwise([0, *(8 * ends).tolist()]), lists.counts.tolist(), strict=True):
        record = flat[lo:hi]
        distinct[record] = distinct.get(record, 0) + number
    starts = np.cumsum([0, *(len(record) // 8 for record in distinct)])
    weights = np.array(list(distinct.values()), np.int64)
    return PublishedBaskets(origin, labels, starts, np.frombuffer(b"".join(distinct), np.int64), weights)


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
