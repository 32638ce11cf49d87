"""Can the records of a published table with items be those of its original, and what do they lose?

A published record can be an original one if its quasi-identifiers cover the values of that record, it agrees in all
other columns that both files have, and its set is what the record's items are published as. Where every item is
published in one way within a group (or nowhere in it: it is suppressed there), that set is known exactly; where a group
publishes an item in several ways, every text must at least stand for an item of the record. Rows are matched one to one
with records: by counting where a record has one place only, else by a flow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.auditing._published_items import ItemSets, PublishedRecords
from sfumato.auditing.coverage import MOST_EDGES, MOST_NAMED, Coverage, Located, match
from sfumato.auditing.published_file import Counted
from sfumato.texts.format import counted as counted_words

Row = tuple[int, tuple[str, ...], frozenset[int]]
"""A kind of published record: its group, its other columns, and the labels it shows."""

Kind = tuple[int, tuple[str, ...], frozenset[str]]
"""A kind of original record: its quasi-identifiers, its other columns, and its items."""


@dataclass(frozen=True, eq=False)
class OriginalRecords:
    """The records of the original: counted tuples, and the set of items of each."""

    counted: Counted
    items: str
    sets: ItemSets

    def kinds(self, number: Sequence[int], others: Sequence[str]) -> Counter[Kind]:
        """Count the records that are alike in quasi-identifiers (by number), other columns and items."""
        held = [frozenset(self.sets.of(place)) for place in range(len(self.sets.starts) - 1)]
        kinds: Counter[Kind] = Counter()
        rows = zip(number, texts_of(self.counted, others), self.counted.columns[self.items].codes.tolist(), strict=True)
        for (point, texts, place), n in zip(rows, self.counted.counts.tolist(), strict=True):
            kinds[point, texts, held[place]] += n
        return kinds


def texts_of(counted: Counted, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the texts of some columns for every counted tuple."""
    columns = [counted.columns[name] for name in names]
    codes = [column.codes.tolist() for column in columns]
    for place in range(len(counted.counts)):
        yield tuple(column.texts[code[place]] for column, code in zip(columns, codes, strict=True))


@dataclass(frozen=True, eq=False)
class RowMatching:
    """The kinds of published rows and of original records, and which rows each record can be."""

    published: PublishedRecords
    original: OriginalRecords
    located: Located
    others: tuple[str, ...]
    readings: Sequence[frozenset[str]]
    """For every label the items of the original it stands for."""

    local: bool = False
    """Whether an item may be published in several ways within a group, record by record."""

    @cached_property
    def rows(self) -> Counter[Row]:
        """How many records of each kind are published."""
        sets = self.published.sets
        shown = [
            frozenset(sets.codes[lo:hi].tolist()) for lo, hi in zip(sets.starts[:-1], sets.starts[1:], strict=True)
        ]
        rows: Counter[Row] = Counter()
        kinds = zip(
            self.published.group.tolist(),
            texts_of(self.published.counted, self.others),
            self.published.shown.tolist(),
            self.published.counted.counts.tolist(),
            strict=True,
        )
        for group, texts, place, n in kinds:
            rows[group, texts, shown[place]] += n
        return rows

    @cached_property
    def one_way(self) -> list[dict[str, int] | None]:
        """For every group the label each item is published as; None where a group does so in several ways."""
        labels: list[set[int]] = [set() for _ in self.published.sizes]
        for group, _, shown in self.rows:
            labels[group] |= shown
        return [None if self.local else self._ways(of_group) for of_group in labels]

    def _ways(self, labels: set[int]) -> dict[str, int] | None:
        ways: dict[str, int] = {}
        for label in labels:
            for item in self.readings[label]:
                if ways.setdefault(item, label) != label:
                    return None
        return ways

    @cached_property
    def places(self) -> dict[Kind, list[Row]] | None:
        """For every kind of record the kinds of rows it can be; None where there are too many pairs."""
        signature, boxes = self.located.places.signatures
        group_of = self._groups()
        several: dict[tuple[int, tuple[str, ...]], list[Row]] = {}
        for row in self.rows:
            if self.one_way[row[0]] is None:
                several.setdefault(row[:2], []).append(row)
        found: dict[Kind, list[Row]] = {}
        edges = 0
        for kind in self.kinds:
            rows = [
                row
                for box in boxes[signature[kind[0]]]
                for row in self._rows_of(kind, group_of[box], several)
                if row in self.rows
            ]
            found[kind] = rows
            edges += len(rows)
            if edges > MOST_EDGES:
                return None
        return found

    def _groups(self) -> list[int]:
        """Return for every box its group: both are the distinct quasi-identifiers of the file, numbered apart."""
        boxes = self.located.boxes.number
        group_of = np.zeros(int(boxes.max(initial=-1)) + 1, np.int64)
        group_of[boxes] = self.published.group
        listed: list[int] = group_of.tolist()
        return listed

    def _rows_of(
        self, kind: Kind, group: int, several: Mapping[tuple[int, tuple[str, ...]], Sequence[Row]]
    ) -> Iterator[Row]:
        _, texts, items = kind
        ways = self.one_way[group]
        if ways is not None:
            yield group, texts, frozenset(ways[item] for item in items if item in ways)
            return
        for row in several.get((group, texts), ()):
            if all(self.readings[label] & items for label in row[2]):
                yield row

    @cached_property
    def kinds(self) -> Counter[Kind]:
        """How many original records of each kind there are."""
        return self.original.kinds(self.located.points.number.tolist(), self.others)

    def coverage(self) -> Coverage:
        """Match rows and records, where there are not too many pairs."""
        agree = f"that agrees in {', '.join(self.others)}, " if self.others else ""
        checked = (
            f"every published row against an original record {agree}whose quasi-identifiers it covers and whose items "
            "are published as what it shows"
        )
        places = self.places
        assert places is not None
        kinds = self.kinds
        exact = all(ways is not None for ways in self.one_way)
        if all(len(rows) <= 1 for rows in places.values()):
            room: Counter[Row] = Counter()
            for kind, rows in places.items():
                for row in rows:
                    room[row] += kinds[kind]
            short: Mapping[Row, int] = self.rows - room
        else:
            reach: dict[Row, dict[Kind, int]] = {row: {} for row in self.rows}
            for kind, rows in places.items():
                for row in rows:
                    reach[row][kind] = kinds[kind]
            short = match(self.rows, kinds, reach)
        within = "" if exact else "; where a group publishes an item in several ways, that every text stands for one"
        worst = sorted(short.items(), key=lambda entry: -entry[1])[:MOST_NAMED]
        named = tuple(f"{counted_words(n, 'row')} of {self.rows[row]:,} with {self._words(row)}" for row, n in worst)
        return Coverage(f"{checked}, one to one{within}", exact, sum(short.values()), named)

    def _words(self, row: Row) -> str:
        group, texts, shown = row
        counted = self.published.counted
        quasi = counted.show(int(self.published.first[group]), self.located.boxes.names)
        columns = {**quasi, **dict(zip(self.others, texts, strict=True))}
        items = " + ".join(self.published.sets.labels[label] for label in sorted(shown)) or "nothing"
        return ", ".join(f"{name} {text!r}" for name, text in columns.items()) + f" and {items}"

    def losses(self, sizes: Sequence[int], domain: int) -> dict[str, float]:
        """Measure what items lose, where every record has one place: NCP, and the share of occurrences suppressed.

        An occurrence that is published as a text for s of the `domain` items costs s / domain, as itself nothing,
        suppressed (also with its record) 1.
        """
        places = self.places
        if places is None or any(ways is None for ways in self.one_way) or any(len(r) > 1 for r in places.values()):
            return {}
        left = Counter(self.rows)
        lost, gone, total = 0.0, 0, 0
        for kind, n in sorted(self.kinds.items(), key=str):
            row = next(iter(places[kind]), None)
            taken = 0 if row is None else min(n, left[row])
            total += n * len(kind[2])
            for item in kind[2]:
                ways = {} if row is None else self.one_way[row[0]]
                label = None if ways is None else ways.get(item)
                shown = 0 if label is None else taken
                gone += n - shown
                lost += n - shown
                if label is not None and sizes[label] > 1:
                    lost += shown * sizes[label] / domain
            if row is not None:
                left[row] -= taken
        return {"ncp": lost / max(total, 1), "occurrences_suppressed": gone / max(total, 1)}
