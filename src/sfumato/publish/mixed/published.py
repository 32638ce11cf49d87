"""Reading a published table with a column of items for an audit, and counting sets within its groups.

Shares nothing with those who make releases. A group is all records with the same published quasi-identifiers. What
stands in the column of items is taken as texts: a list (Parquet, JSON), or a cell with `;` between published items,
in double quotes where an item holds a `;` itself. A cell without the separator is one text, which is the safe side:
it is no more frequent than any part of it.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Counts
from sfumato.engines.text_files import wide_fields
from sfumato.errors import BadInputError
from sfumato.evidence.counted import EMPTY, Counted, Source
from sfumato.publish.baskets.published import BLOCK, SetTally, choices

SEPARATOR = ";"
JSON = (".json", ".jsonl", ".ndjson")
LISTED = re.compile(r"\s*(?:'((?:[^'\\]|\\.)*)'|([^,]*))\s*(,|$)", re.DOTALL)
Split = Callable[[str], Sequence[str | None]]


@dataclass(frozen=True, eq=False)
class ItemSets:
    """Sets of published items, one for every text of a counted column."""

    labels: tuple[str, ...]
    """Everything that some set has, in order."""

    starts: NDArray[np.int64]
    """Where the codes of each set start, and where the last ones end."""

    codes: NDArray[np.int64]
    """Which labels a set has, in rising order."""

    def of(self, place: int) -> tuple[str, ...]:
        """Return the labels of one set."""
        return tuple(self.labels[code] for code in self.codes[self.starts[place] : self.starts[place + 1]].tolist())


def item_sets(source: Source, column: str, texts: Sequence[str], separator: str | None) -> ItemSets:
    """Take the texts of a column of items apart."""
    split = _splitter(source, column, separator)
    with wide_fields():  # a set may list thousands of items
        listed = [() if text in ("", EMPTY) else split(text) for text in texts]
    present = [{item for item in items if item} for items in listed]
    labels = tuple(sorted(set().union(*present)))
    place = {label: code for code, label in enumerate(labels)}
    rows = [sorted(place[item] for item in items) for items in present]
    starts = np.cumsum([0, *map(len, rows)])
    return ItemSets(labels, starts, np.array([code for row in rows for code in row], np.int64))


def check_items(source: Source, column: str, separator: str | None) -> None:
    """Raise unless a column of items is there and can be read."""
    if column not in source.engine.columns:
        known = ", ".join(map(repr, source.engine.columns[:30]))
        raise BadInputError(f"{source.origin}: there is no column {column!r} (--items); the columns are {known}")
    kind = source.engine.nested.get(column, "VARCHAR[]")
    if not kind.endswith("[]") or kind.endswith("[][]"):
        raise BadInputError(f"{source.origin}: the column {column!r} holds {kind}, no lists of items (--items)")
    if separator is not None and len(separator) != 1:
        raise BadInputError(f"a separator is one character, not {separator!r} (--separator)")


def is_listed(source: Source, column: str) -> bool:
    """Say whether a column holds lists, so that nothing has to separate items."""
    return column in source.engine.nested or _is_json(source)


def _is_json(source: Source) -> bool:
    return Path(source.origin.removesuffix(".gz")).suffix.lower() in JSON


def _splitter(source: Source, column: str, separator: str | None) -> Split:
    """Find how the texts of a column are taken apart."""
    mark = separator or SEPARATOR

    def separated(text: str) -> Sequence[str]:
        if '"' not in text:
            return [field.strip() for field in text.split(mark)]
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=mark)  # several where a line end is not in quotes
        return [field.strip() for line in lines for field in line]

    def of_json(text: str) -> Sequence[str | None]:
        values = json.loads(text, parse_int=str, parse_float=str) if text.startswith("[") else [text]
        return [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]

    return _of_list if column in source.engine.nested else of_json if _is_json(source) else separated


def _of_list(text: str) -> Sequence[str | None]:
    r"""Take apart how engines write a list: `[a, 'b, c', NULL]`, with a backslash before a quote or a backslash.

    >>> _of_list("[a, 'b, c', 'it\\'s', NULL, 'NULL']")
    ['a', 'b, c', "it's", None, 'NULL']
    """
    inside, items, position = text[1:-1], list[str | None](), 0
    while position < len(inside):
        member = LISTED.match(inside, position)
        if member is None:
            raise BadInputError(f"this is no list of items: {text[:80]}")
        if member[1] is not None:
            items.append(re.sub(r"\\(.)", r"\1", member[1], flags=re.DOTALL))
        else:
            items.append(None if member[2] == "NULL" else member[2])
        position = member.end()
    return items


@dataclass(frozen=True, eq=False)
class PublishedRecords:
    """The records of a published file: equal ones counted, the group of each, and the set it shows."""

    counted: Counted
    group: Counts
    """For every counted tuple the number of its group."""

    shown: Counts
    """For every counted tuple the place of its set."""

    sets: ItemSets
    sizes: Counts
    """How many records every group has."""

    first: Counts
    """For every group a counted tuple of it."""

    @staticmethod
    def of(counted: Counted, quasi: Sequence[str], items: str, sets: ItemSets) -> PublishedRecords:
        """Group the counted tuples of a file by its quasi-identifiers."""
        first, group = counted.number(quasi)
        sizes = np.bincount(group, counted.counts, len(first)).astype(np.int64)
        shown = counted.columns[items].codes.astype(np.int64)
        return PublishedRecords(counted, group, shown, sets, sizes, first)

    @property
    def longest(self) -> int:
        """How many items a record shows at most."""
        return int(np.diff(self.sets.starts)[self.shown].max(initial=0))

    @property
    def empty(self) -> int:
        """Records that show no item."""
        return int(self.counted.counts[np.diff(self.sets.starts)[self.shown] == 0].sum())

    def within_groups(self, size: int) -> tuple[NDArray[np.int64], Counts]:
        """Count the records of every set of `size` published items that a group shows: (group, items...), supports."""
        lengths = np.diff(self.sets.starts)[self.shown]
        starts = self.sets.starts[self.shown]
        tally = SetTally(size + 1, max(len(self.sets.labels), len(self.sizes)))
        for length in np.unique(lengths[lengths >= size]).tolist():
            rows = np.flatnonzero(lengths == length)
            codes = self.sets.codes[starts[rows, None] + np.arange(length)]
            for chosen in choices(length, size):
                step = max(1, BLOCK // len(chosen))
                for begin in range(0, len(rows), step):
                    some = rows[begin : begin + step]
                    block = codes[begin : begin + step, chosen].reshape(-1, size)
                    groups = np.repeat(self.group[some], len(chosen))
                    weights = np.repeat(self.counted.counts[some], len(chosen))
                    tally.add(np.column_stack([groups, block]), weights)
        return tally.joined()
