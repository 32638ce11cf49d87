"""Reading the items of a published file for an audit, and counting in it: shares nothing with those who make releases.

Of baskets a line is a record; or a record is all rows with one value of a column, or a list (Parquet). Beside
quasi-identifiers items stand in a column: a list (Parquet, JSON), or a cell with `;` between published items, in double
quotes where an item holds a `;` itself. A cell without the separator is one text, which is the safe side: it is no more
frequent than any part of it. What stands there is taken as text: only where an original is given does the audit ask
which items a text stands for. A group is all records with the same published quasi-identifiers; baskets are one.

Of sensitive items every set of published items that occurs is counted. A set with a sensitive item, and the same set
without it, are a rule: of the records that show the latter, the share that also shows the sensitive item. Rules of a
file are counted by posting lists.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, islice, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.auditing.ledger import file_digest
from sfumato.auditing.published_file import EMPTY, Counted, Source
from sfumato.config.documents import fields, in_shape, listed, mapped, one_of, read_json, text
from sfumato.data.items import Baskets, taken_rows
from sfumato.engines import open_rows
from sfumato.engines._text_files import PARQUET, opened_text, wide_fields
from sfumato.engines.item_files import LONG, named_rows
from sfumato.engines.protocol import CountedLists, Engine, Reading, SourceLayout
from sfumato.errors import BadInputError
from sfumato.requirements.items import Coherence, InferenceRequirement, PSRules, RhoUncertainty
from sfumato.runtime.arrays import Counts
from sfumato.texts.catalogue import t

Shown = frozenset[str]
Readings = Mapping[str, frozenset[int]]
"""Which items each published text stands for."""

BLOCK = 1 << 21
"""Sets that are counted at a time."""


NOTHING_COUNTED = Counted({}, np.zeros(0, np.int64))


class SetSupports(NamedTuple):
    """Sets of published items of one size that some group shows, and how many of its records do."""

    group: Counts
    sets: Counts
    """Places of labels, a row for every set."""

    records: Counts


@dataclass(frozen=True, eq=False)
class PublishedRecords:
    """The records of a published file with items: equal ones counted, what each shows, and the group of each."""

    origin: str
    labels: tuple[str, ...]
    """Everything that some record shows, in order."""

    starts: NDArray[np.int64]
    """Where the codes of each distinct record start, and where the last ones end."""

    codes: NDArray[np.int64]
    """Which labels a distinct record shows, in order."""

    weights: NDArray[np.int64]
    """How many records are like each distinct one."""

    person: NDArray[np.int64] | None = None
    """Where persons are counted, the kind of persons whose each distinct record is, and `weights` how many these are.
    A record of another kind is another distinct one."""

    notices: tuple[str, ...] = ()
    """What was noticed while reading them."""

    counted: Counted = NOTHING_COUNTED
    """The distinct records by all columns, where there are quasi-identifiers."""

    quasi: tuple[str, ...] = ()

    @staticmethod
    def beside(counted: Counted, quasi: tuple[str, ...], items: str, sets: ItemSets) -> PublishedRecords:
        """Take the counted tuples of a table apart that has its sets of items in a column."""
        starts, codes = taken_rows(sets.starts, sets.codes, counted.columns[items].codes)  # type: ignore[arg-type]
        return PublishedRecords("", sets.labels, starts, codes, counted.counts, None, (), counted, quasi)  # type: ignore[arg-type]

    def of_persons(self, whose: Mapping[tuple[Shown, int], int]) -> PublishedRecords:
        """Count persons instead: `whose` says how many persons of each kind have a record that shows a set of texts."""
        place = {label: code for code, label in enumerate(self.labels)}
        rows = sorted((person, sorted(place[label] for label in shown), n) for (shown, person), n in whose.items())
        starts = np.cumsum([0, *(len(codes) for _, codes, _ in rows)])
        codes = np.array([code for _, codes, _ in rows for code in codes], np.int64)
        persons, weights = (np.array(each, np.int64) for each in zip(*((row[0], row[2]) for row in rows), strict=True))
        return PublishedRecords(self.origin, self.labels, starts, codes, weights, persons)

    def count(self, rows: NDArray[np.int64]) -> int:
        """Count the records, or the persons, that some distinct records are of."""
        if self.person is None:
            return int(self.weights[rows].sum())
        return sum(dict(zip(self.person[rows].tolist(), self.weights[rows].tolist(), strict=True)).values())

    @cached_property
    def _groups(self) -> tuple[Counts, Counts]:
        return self.counted.number(self.quasi) if self.quasi else (np.zeros(1, np.int64), np.zeros_like(self.weights))

    @property
    def group(self) -> Counts:
        """For every distinct record the number of its group."""
        return self._groups[1]

    @cached_property
    def sizes(self) -> Counts:
        """How many records every group has."""
        return np.bincount(self.group, self.weights).astype(np.int64)

    @cached_property
    def lengths(self) -> Counts:
        """How many items each distinct record shows."""
        return np.diff(self.starts)

    def shows(self, group: int) -> dict[str, str]:
        """Return what a group shows of the quasi-identifiers."""
        return self.counted.show(int(self._groups[0][group]), self.quasi)

    @cached_property
    def rows(self) -> Counter[Shown]:
        """The distinct sets of texts that records show, with their numbers."""
        rows: Counter[Shown] = Counter()
        labels = [self.labels[code] for code in self.codes.tolist()]
        for (lo, hi), n in zip(pairwise(self.starts.tolist()), self.weights.tolist(), strict=True):
            rows[frozenset(labels[lo:hi])] += n
        return rows

    @cached_property
    def records(self) -> int:
        """The number of records, or of persons."""
        return self.count(np.arange(len(self.weights)))

    @property
    def empty(self) -> int:
        """Records that show nothing."""
        return int(self.weights[self.lengths == 0].sum())

    @property
    def alone(self) -> int:
        """Records that show something that no other record shows just so."""
        return int(((self.weights == 1) & (self.lengths > 0)).sum())

    @cached_property
    def supports(self) -> Counter[str]:
        """How many records, or persons, show each."""
        return Counter({label: self.count(rows) for label, rows in self.postings.items()})

    @cached_property
    def postings(self) -> Mapping[str, NDArray[np.int64]]:
        """The distinct records that show each label, ascending."""
        row = np.repeat(np.arange(len(self.weights)), self.lengths)[np.argsort(self.codes, kind="stable")]
        ends = np.cumsum(np.bincount(self.codes, minlength=len(self.labels)))
        return dict(zip(self.labels, np.split(row, ends[:-1]), strict=False))  # without labels there is one empty part

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

    def itemsets(self, size: int) -> SetSupports:
        """Count the records, or persons, of every set of `size` published items that a group shows."""
        of_persons, whose = self.person is not None, self.group if self.person is None else self.person
        tally = SetTally(size, len(self.labels), int(whose.max(initial=0)) + 1)
        for length in np.unique(self.lengths[self.lengths >= size]).tolist():
            rows = np.flatnonzero(self.lengths == length)
            codes = self.codes[self.starts[rows, None] + np.arange(length)]
            for chosen in choices(length, size):
                step = max(1, BLOCK // len(chosen))
                for start in range(0, len(rows), step):
                    some = np.repeat(rows[start : start + step], len(chosen))
                    block = codes[start : start + step, chosen].reshape(-1, size)
                    tally.add(np.column_stack([whose[some], block]), self.weights[some])
        sets, records = tally.joined()
        if of_persons:  # a person is in a set once, whatever shows it
            number = dict(zip(whose.tolist(), self.weights.tolist(), strict=True))
            once = SetTally(size, len(self.labels), 1)
            persons = np.array([number[person] for person in sets[:, 0].tolist()], np.int64)
            once.add(np.column_stack([np.zeros(len(sets), np.int64), sets[:, 1:]]), persons)
            sets, records = once.joined()
        return SetSupports(sets[:, 0], sets[:, 1:], records)


def labels_by_item(readings: Readings) -> dict[int, tuple[str, ...]]:
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
    """Adds up the records of sets of codes, each with its group in front, equal ones together."""

    def __init__(self, size: int, width: int, groups: int) -> None:
        self.size, self.width, self.groups = size, max(width, 1), groups
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
        every = np.concatenate([np.zeros((0, self.size + 1), np.int64), *self.sets])
        counts = np.concatenate([np.zeros(0, np.int64), *self.counts])
        if self.groups * self.width**self.size < 2**62:
            keys = every @ (self.width ** np.arange(self.size, -1, -1, dtype=np.int64))
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
) -> PublishedRecords:
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
        notices = (t("audit_notice.item_per_row", path=path, item=item, who=who),)
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


def _counted(origin: str, lists: CountedLists, texts: Sequence[str | None]) -> PublishedRecords:
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
    return PublishedRecords(origin, labels, starts, np.frombuffer(b"".join(distinct), np.int64), weights)


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


Fault = tuple[int, tuple[str, ...]]
"""How many records fit what is known; what is known, and what is inferred from it behind an arrow."""

SLACK = 1e-9


def faults(
    read: PublishedRecords,
    wanted: InferenceRequirement,
    original: Baskets,
    readings: Readings,
    sizes: Mapping[str, int],
) -> Iterator[Fault]:
    """Find what a reader learns too surely, and known items that too few records fit; `sizes` counts a text's items."""
    sensitive = frozenset(wanted.sensitive_items(original))
    for label, items in readings.items():
        if items & sensitive and sizes[label] != 1:
            yield read.supports[label], (f"{label} (it stands for a sensitive item among others)",)
    if isinstance(wanted, PSRules):
        yield from _of_lines(read, wanted, original, readings)
        return
    secret = frozenset(label for label, items in readings.items() if items <= sensitive and items)
    for label in sorted(secret):
        if read.supports[label] > (wanted.share + SLACK) * read.records:
            yield read.records, (f"-> {label}",)
    assert isinstance(wanted, RhoUncertainty | Coherence)
    most, public_only = (wanted.m, False) if isinstance(wanted, RhoUncertainty) else (wanted.p, True)
    yield from _of_sets(read, wanted, secret, most, public_only)


def _of_sets(
    read: PublishedRecords, wanted: InferenceRequirement, secret: frozenset[str], most: int, public_only: bool
) -> Iterator[Fault]:
    """Compare the records of every set of up to `most` known texts with those of the set and one sensitive text."""
    hidden = [label in secret for label in read.labels]
    smaller = _basket_counted(read, 1)
    for size in range(1, most + 1):
        larger = _basket_counted(read, size + 1)
        for known, records in smaller.items():
            if records < wanted.k and not (public_only and any(hidden[code] for code in known)):
                yield records, tuple(read.labels[code] for code in known)
        for together, showing in larger.items():
            for place, code in enumerate(together):
                known = together[:place] + together[place + 1 :]
                if not hidden[code] or (public_only and any(hidden[other] for other in known)):
                    continue
                if showing > (wanted.share + SLACK) * smaller[known]:
                    yield smaller[known], (*(read.labels[other] for other in known), f"-> {read.labels[code]}")
        smaller = larger


def _basket_counted(read: PublishedRecords, size: int) -> dict[tuple[int, ...], int]:
    counted = read.itemsets(size)
    return dict(zip(map(tuple, counted.sets.tolist()), counted.records.tolist(), strict=True))


def _of_lines(read: PublishedRecords, wanted: PSRules, original: Baskets, readings: Readings) -> Iterator[Fault]:
    """Count the records that fit what stands before each arrow, and those of them that show all behind it."""
    shows = labels_by_item(readings)
    everybody = np.arange(len(read.weights))
    for known, concluded in wanted.rules(original):
        visible = [shows[code] for code in known if code in shows]  # a suppressed item tells nothing
        fitting = read.rows_showing(visible) if visible else everybody
        records = read.count(fitting)
        if visible and 0 < records < wanted.k:
            yield records, tuple(original.items[code] for code in known)
        both = read.rows_showing([*visible, *(shows.get(code, ()) for code in concluded)])
        if read.count(both) > (wanted.share + SLACK) * records:
            names = (original.items[code] for code in concluded)
            yield records, (*(original.items[code] for code in known), *(f"-> {name}" for name in names))


# -- legends -----------------------------------------------------------------------------------------------------------


KIND = "sfumato legend"
MAPPING = "sfumato mapping of baskets"
SCHEMA = 1
WORDS = mapped(listed(text))
"""Which items each published item stands for, in a document."""

Legend = Mapping[str, Sequence[str]]
"""Which items each published text stands for."""

WHAT = "a legend, a mapping or a certificate of baskets"
LEGEND = fields({"schema": one_of(SCHEMA), "file": text, "sha256": text, "legend": WORDS})


def legend_file(path: Path) -> Path:
    """Name the legend of a data file: it lies beside it."""
    return path.with_name(f"{path.name}.legend.json")


def read_legend(path: Path) -> dict[str, list[str]]:
    """Read which items stand behind published ones, from a legend, a mapping, or a certificate beside its legend."""
    content = read_json(path, WHAT, fields({"kind": one_of(KIND, MAPPING, "sfumato certificate")}))
    if content["kind"] == KIND:
        in_shape(content, str(path), WHAT, LEGEND)
        return dict(content["legend"])
    if content["kind"] == MAPPING:
        in_shape(content, str(path), WHAT, fields({"published": WORDS}))
        return dict(content["published"])
    in_shape(content, str(path), WHAT, fields({}, {"legend": fields({"file": text})}))
    if "legend" not in content:
        raise BadInputError(f"{path}: this certificate names no legend: every published item says what it stands for")
    return read_legend(path.with_name(Path(content["legend"]["file"]).name))


def legend_beside(path: Path) -> tuple[Legend | None, tuple[str, ...]]:
    """Read the legend that lies beside a data file; one that speaks of another file is passed over, and it is said."""
    beside = legend_file(path)
    if not beside.is_file():
        return None, ()
    content = read_json(beside, WHAT, fields({"kind": one_of(KIND)}))
    in_shape(content, str(beside), WHAT, LEGEND)
    if content["sha256"] != file_digest(path):
        return None, (t("audit_notice.other_legend", beside=beside, path=path),)
    return dict(content["legend"]), (f"{beside}: read as the legend of this file",)
