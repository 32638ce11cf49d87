"""The match of a published file with items and its original, and the loss of items.

**Baskets**: if every item has one published form, the published forms of the original's sets must be exactly the sets
of the file. If items have several forms, no text may be in more records than have one of its items.

**Tables**: a published record matches an original one under three conditions. Its quasi-identifiers cover the values
of that record, the other common columns are equal, and its set is the published form of the record's items. If every
item has one published form in a group (or none: it is suppressed there), that set is known exactly; otherwise every
text must contain an item of the record. Rows are matched one to one with records: by counting if each record has one
place, else by a flow.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, log2
from typing import TypeVar

import numpy as np

from sfumato.auditing.coverage import MOST_EDGES, MOST_NAMED, Coverage, Located, match
from sfumato.auditing.items import ItemSets, PublishedRecords, Readings, Shown
from sfumato.auditing.notation import set_members
from sfumato.auditing.published_file import Counted
from sfumato.data.items import Baskets
from sfumato.texts.catalogue import SMALLEST, t
from sfumato.texts.catalogue import counted as counted_words

EXAMPLES = 5
Item = TypeVar("Item")
Label = TypeVar("Label")

Row = tuple[int, tuple[str, ...], frozenset[int]]
"""A kind of published record: its group, its other columns, and its labels."""

Kind = tuple[int, tuple[str, ...], frozenset[str]]
"""A kind of original record: its quasi-identifiers, its other columns, and its items."""


@dataclass(frozen=True, eq=False)
class OriginalRecords:
    """The records of the original: counted tuples, and the set of items of each."""

    counted: Counted
    items: str
    sets: ItemSets

    def kinds(self, number: Sequence[int], others: Sequence[str]) -> Counter[Kind]:
        """Count the records that are equal in quasi-identifiers (by number), other columns and items."""
        held = [frozenset(self.sets.of(place)) for place in range(len(self.sets.starts) - 1)]
        kinds: Counter[Kind] = Counter()
        rows = zip(number, self.counted.texts(others), self.counted.columns[self.items].codes.tolist(), strict=True)
        for (point, texts, place), n in zip(rows, self.counted.counts.tolist(), strict=True):
            kinds[point, texts, held[place]] += n
        return kinds


@dataclass(frozen=True, eq=False)
class RowMatching:
    """The kinds of published rows and of original records, and the possible rows of each record."""

    published: PublishedRecords
    original: OriginalRecords
    located: Located
    others: tuple[str, ...]
    readings: Sequence[frozenset[str]]
    """For each label its items of the original."""

    local: bool = False
    """Whether an item may have several published forms within a group."""

    @cached_property
    def rows(self) -> Counter[Row]:
        """The number of published records of each kind."""
        rows: Counter[Row] = Counter()
        kinds = zip(
            self.published.group.tolist(),
            self.published.counted.texts(self.others),
            (frozenset(codes.tolist()) for codes in np.split(self.published.codes, self.published.starts[1:-1])),
            self.published.weights.tolist(),
            strict=True,
        )
        for group, texts, shown, n in kinds:
            rows[group, texts, shown] += n
        return rows

    @cached_property
    def one_way(self) -> list[dict[str, int] | None]:
        """For each group the published form of each item; None if some item has several."""
        labels: list[set[int]] = [set() for _ in self.published.sizes]
        for group, _, shown in self.rows:
            labels[group] |= shown
        return [
            None if self.local else one_way((label, self.readings[label]) for label in of_group) for of_group in labels
        ]

    @cached_property
    def places(self) -> dict[Kind, list[Row]] | None:
        """For each kind of record the possible kinds of rows; None if there are too many pairs."""
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
        """Return the group of each box: both are the distinct quasi-identifiers of the file, numbered separately."""
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
        """The number of original records of each kind."""
        return self.original.kinds(self.located.points.number.tolist(), self.others)

    def coverage(self) -> Coverage:
        """Match rows and records, if there are not too many pairs."""
        agree = f"that agrees in {', '.join(self.others)}, " if self.others else ""
        checked = t("audit_notice.rows_with_items_checked", agree=agree)
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
        within = "" if exact else "; where a group publishes an item in several ways, that every text includes one"
        worst = sorted(short.items(), key=lambda entry: -entry[1])[:MOST_NAMED]
        named = tuple(f"{counted_words(n, 'row')} of {self.rows[row]:,} with {self._words(row)}" for row, n in worst)
        return Coverage(f"{checked}, one to one{within}", exact, sum(short.values()), named)

    def _words(self, row: Row) -> str:
        group, texts, shown = row
        columns = {**self.published.shows(group), **dict(zip(self.others, texts, strict=True))}
        items = " + ".join(self.published.labels[label] for label in sorted(shown)) or "nothing"
        return ", ".join(f"{name} {text!r}" for name, text in columns.items()) + f" and {items}"

    def losses(self, sizes: Sequence[int], domain: int) -> dict[str, float]:
        """Measure the loss of items, if every record has one place: NCP, and the share of occurrences suppressed.

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


def one_way(readings: Iterable[tuple[Label, Iterable[Item]]]) -> dict[Item, Label] | None:
    """Return the published form of every item; None if some item has several."""
    ways: dict[Item, Label] = {}
    for label, items in readings:
        for item in items:
            if ways.setdefault(item, label) != label:
                return None
    return ways


# -- of baskets ----------------------------------------------------------------------------------------------------


def covered(read: PublishedRecords, original: Baskets, readings: Readings, local: bool = False) -> Coverage:
    """Check that the records match those of the original: exactly if every item has one published form."""
    unread = [label for label, items in readings.items() if not items]
    if unread:
        rows = sum(n for row, n in read.rows.items() if any(label in row for label in unread))
        examples = tuple(f"{label!r} corresponds to no item of the original" for label in unread[:EXAMPLES])
        return Coverage("the items of every published text", True, rows, examples)
    if read.records != original.size:
        examples = (f"the file has {read.records:,} records, the original {original.size:,}",)
        return Coverage("the number of records", True, abs(read.records - original.size), examples)
    shown_as = None if local else one_way(readings.items())
    if shown_as is None:
        return _each_label(read, original, readings)
    wanted: Counter[Shown] = Counter()
    for distinct, weight in enumerate(original.weights.tolist()):
        codes = original.codes[original.starts[distinct] : original.starts[distinct + 1]].tolist()
        wanted[frozenset(shown_as[code] for code in codes if code in shown_as)] += weight
    beyond = read.rows - wanted
    examples = tuple(f"{{{', '.join(sorted(row))}}}" for row in sorted(beyond, key=sorted)[:EXAMPLES])
    checked = "every record of the original, published item by item, against the records of the file"
    return Coverage(checked, True, sum(beyond.values()), examples)


Whose = Counter[tuple[Shown, int]]
"""The records of each kind of persons that show a set of texts; persons of one kind have equal records."""


def records_by_persons(original: Baskets, readings: Readings) -> Whose:
    """Return whose records show what, where every item is published in one way."""
    shown_as, whose = one_way(readings.items()), Whose()
    assert shown_as is not None, "required the assignment of records, which is unknown"
    for row, weight in enumerate(original.weights.tolist()):
        codes = original.codes[original.starts[row] : original.starts[row + 1]].tolist()
        shown = frozenset(shown_as[code] for code in codes if code in shown_as)
        whose[shown, int(original.people.kind[row])] += weight
    return whose


def persons_in(read: PublishedRecords, original: Baskets, whose: Whose) -> dict[tuple[Shown, int], int]:
    """Return the persons of each kind with such a record; raise where records are not the file's or the original's."""
    kinds, numbers = (each.tolist() for each in original.people)
    rows, records, of_kind = Counter[Shown](), Counter[int](), Counter[int]()
    for (shown, kind), count in whose.items():
        rows[shown] += count
        records[kind] += count
    for kind, count in zip(kinds, original.weights.tolist(), strict=True):
        of_kind[kind] += count
    if rows != read.rows or records != of_kind:
        raise AssertionError("the written file does not hold the rows of which persons were counted")
    number = dict(zip(kinds, numbers, strict=True))
    return {(shown, kind): number[kind] for shown, kind in whose}


def _each_label(read: PublishedRecords, original: Baskets, readings: Readings) -> Coverage:
    """For several published forms of an item: no text may be in more records than have one of its items."""
    having: dict[int, set[int]] = {}
    row = np.repeat(np.arange(original.distinct), original.lengths)
    for code, place in zip(original.codes.tolist(), row.tolist(), strict=True):
        having.setdefault(code, set()).add(place)
    examples, beyond, records = [], 0, read.supports
    for label, items in readings.items():
        rows = set().union(*(having.get(code, set()) for code in items))
        most = int(original.weights[list(rows)].sum()) if rows else 0
        if records[label] > most:
            beyond += records[label] - most
            examples.append(f"{label!r} is shown by {records[label]:,} records, and {most:,} have one of its items")
    checked = "for every published text that no more records show it than have one of its items"
    return Coverage(checked, False, beyond, tuple(examples[:EXAMPLES]))


def losses(read: PublishedRecords, original: Baskets, readings: Readings) -> dict[str, float]:
    """Measure the loss, if every item has one published form: NCP, UL, suppression."""
    shown_as = one_way(readings.items())
    if shown_as is None:
        return {}
    domain = len(original.items) if original.tree is None else original.tree.size
    sizes = {label: size_behind(label, items, original) for label, items in readings.items()}
    supports = original.supports.tolist()
    total = sum(supports)
    lost = Fraction(0)
    for code, support in enumerate(supports):
        size = sizes[shown_as[code]] if code in shown_as else domain
        lost += Fraction(size, domain) * support if size > 1 or code not in shown_as else 0
    had = [code for code, support in enumerate(supports) if support]  # of all that are known
    gone = [code for code in had if code not in shown_as]
    records = read.supports
    loss = sum(
        (Fraction(2 ** sizes[label] - 1, 2**domain - 1) * Fraction(n, original.size) for label, n in records.items()),
        Fraction(sum(supports[code] for code in gone), original.size),
    )
    return {
        "ncp": float(lost / max(total, 1)),
        **({"ul": float(loss)} if float(loss) >= SMALLEST or not loss else {}),  # a small loss must not read as none
        "ul_log2": log2(loss.numerator) - log2(loss.denominator) if loss else -inf,
        "items_suppressed": len(gone) / max(len(had), 1),
        "occurrences_suppressed": sum(supports[code] for code in gone) / max(total, 1),
    }


def size_behind(label: str, items: frozenset[int], original: Baskets) -> int:
    """Return the number of items of a published text: for a node of the tree all its leaves."""
    tree = original.tree
    if tree is None or label in original.places or set_members(label) is not None:
        return len(items)
    widths = [hi - lo + 1 for (lo, hi), name in tree.nodes.items() if name == label]
    return widths[0] if widths else tree.size if label == "*" else len(items)
