"""Reading and counting the items of a published file for an audit, without code of the makers of releases.

In a file of baskets a line is a record; or a record is all rows with one value of a column, or a list (Parquet). In a
table items are in a column: a list (Parquet, JSON), or a cell with `;` between published items, quoted if an item
contains a `;`. A cell without the separator is one text, which is the safe reading: it is no more frequent than any
part of it. Texts are opaque; only with an original does the audit determine their items. A group is all records with
the same published quasi-identifiers; baskets are one group.

For sensitive items every occurring set of published items is counted. A set with a sensitive item, and the same set
without it, are a rule: the share of the records with the latter that also have the sensitive item. Rules of a file are
counted by posting lists.
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
"""The items of each published text."""

BLOCK = 1 << 21
"""The number of sets counted at a time."""


NOTHING_COUNTED = Counted({}, np.zeros(0, np.int64))


class SetSupports(NamedTuple):
    """Sets of published items of one size that occur in some group, with their numbers of records."""

    group: Counts
    sets: Counts
    """Indices of labels, one row per set."""

    records: Counts


@dataclass(frozen=True, eq=False)
class PublishedRecords:
    """The records of a published file with items: equal ones counted, with labels and group."""

    origin: str
    labels: tuple[str, ...]
    """All published labels, in order."""

    starts: NDArray[np.int64]
    """The start of the codes of each distinct record, and the end."""

    codes: NDArray[np.int64]
    """The labels of each distinct record, in order."""

    weights: NDArray[np.int64]
    """The number of records equal to each distinct one."""

    person: NDArray[np.int64] | None = None
    """If persons are counted, the kind of persons of each distinct record, and `weights` how many these are.
    A record of another kind is another distinct one."""

    notices: tuple[str, ...] = ()
    """Notices of reading them."""

    counted: Counted = NOTHING_COUNTED
    """The distinct records by all columns, if there are quasi-identifiers."""

    quasi: tuple[str, ...] = ()

    @staticmethod
    def beside(counted: Counted, quasi: tuple[str, ...], items: str, sets: ItemSets) -> PublishedRecords:
        """Split the counted tuples of a table with a column of item sets."""
        starts, codes = taken_rows(sets.starts, sets.codes, counted.columns[items].codes)  # type: ignore[arg-type]
        return PublishedRecords("", sets.labels, starts, codes, counted.counts, None, (), counted, quasi)  # type: ignore[arg-type]

    def of_persons(self, whose: Mapping[tuple[Shown, int], int]) -> PublishedRecords:
        """Count persons instead: `whose` has the number of persons of each kind with a record that shows a set of
        texts."""
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
        """For each distinct record the number of its group."""
        return self._groups[1]

    @cached_property
    def sizes(self) -> Counts:
        """The number of records of each group."""
        return np.bincount(self.group, self.weights).astype(np.int64)

    @cached_property
    def lengths(self) -> Counts:
        """The number of items of each distinct record."""
        return np.diff(self.starts)

    def shows(self, group: int) -> dict[str, str]:
        """Return the published quasi-identifiers of a group."""
        return self.counted.show(int(self._groups[0][group]), self.quasi)

    @cached_property
    def rows(self) -> Counter[Shown]:
        """The distinct sets of published texts, with their numbers of records."""
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
        """The number of records without items."""
        return int(self.weights[self.lengths == 0].sum())

    @property
    def alone(self) -> int:
        """The number of records with a unique set of items."""
        return int(((self.weights == 1) & (self.lengths > 0)).sum())

    @cached_property
    def supports(self) -> Counter[str]:
        """The number of records, or persons, with each label."""
        return Counter({label: self.count(rows) for label, rows in self.postings.items()})

    @cached_property
    def postings(self) -> Mapping[str, NDArray[np.int64]]:
        """The distinct records with each label, ascending."""
        row = np.repeat(np.arange(len(self.weights)), self.lengths)[np.argsort(self.codes, kind="stable")]
        ends = np.cumsum(np.bincount(self.codes, minlength=len(self.labels)))
        return dict(zip(self.labels, np.split(row, ends[:-1]), strict=False))  # without labels there is one empty part

    def rows_showing(self, known: Iterable[tuple[str, ...]]) -> NDArray[np.int64]:
        """Return the distinct records with at least one label of every tuple, by posting lists, the shortest first."""
        rows, *others = sorted((self._rows_showing_any(labels) for labels in known), key=len)
        for posting in others:
            at = np.searchsorted(posting, rows)
            rows = rows[np.take(posting, at, mode="clip") == rows] if len(posting) else posting
        return rows

    def _rows_showing_any(self, labels: tuple[str, ...]) -> NDArray[np.int64]:
        """Return the distinct records with at least one of some labels, ascending."""
        if len(labels) == 1:
            return self.postings[labels[0]]
        return np.unique(np.concatenate([np.zeros(0, np.int64), *(self.postings[label] for label in labels)]))

    def itemsets(self, size: int) -> SetSupports:
        """Count the records, or persons, of every occurring set of `size` published items, by group."""
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
    """Return the published labels of each item."""
    shows: dict[int, list[str]] = {}
    for label, items in readings.items():
        for code in items:
            shows.setdefault(code, []).append(label)
    return {code: tuple(labels) for code, labels in shows.items()}


def choices(length: int, size: int) -> Iterator[NDArray[np.int64]]:
    """Yield the combinations of indices of a row, in chunks, because a long row has millions."""
    ways = combinations(range(length), size)
    while some := list(islice(ways, BLOCK)):
        yield np.array(some, np.int64)


class SetTally:
    """Sums the records of sets of codes, each with its group in front."""

    def __init__(self, size: int, width: int, groups: int) -> None:
        self.size, self.width, self.groups = size, max(width, 1), groups
        self.sets: list[NDArray[np.int64]] = []
        self.counts: list[NDArray[np.int64]] = []
        self.waiting = 0

    def add(self, sets: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        """Add sets with their records; many are merged."""
        self.sets.append(sets)
        self.counts.append(counts)
        self.waiting += len(sets)
        if self.waiting > 4 * BLOCK:
            joined, total = self.joined()
            self.sets, self.counts, self.waiting = [joined], [total], 0

    def joined(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return each set once with its records."""
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
    """Read a file of baskets, made by any tool: lines of items, rows of (`who`, `item`), or Parquet lists.

    Rows are recognized by the names of their columns, unless every line is a record (`lines`). `escaped_formulas` means
    that formulas in a text file were escaped. Beyond `memory` an engine counts on disk, in a private folder of `spill`.
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
    """Return the columns of a file with one item per row; None if their names are unclear, so a line is a record."""
    with opened_text(path, encoding) as stream:
        first = stream.readline().strip()
    if first == ",".join(LONG.values()):
        return LONG["who"], LONG["item"]
    rows = named_rows(path, encoding, separator)
    return None if rows is None else (rows.who, rows.item)


def _counted(origin: str, lists: CountedLists, texts: Sequence[str | None]) -> PublishedRecords:
    """Count lists as sets, without order, repetition and empty texts."""
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
    """Return the column of lists: the given one, or the first."""
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
    """Sets of published items, one for each text of a counted column."""

    labels: tuple[str, ...]
    """All labels of sets, in order."""

    starts: NDArray[np.int64]
    """The start of the codes of each set, and the end."""

    codes: NDArray[np.int64]
    """The labels of each set, ascending."""

    def of(self, place: int) -> tuple[str, ...]:
        """Return the labels of one set."""
        return tuple(self.labels[code] for code in self.codes[self.starts[place] : self.starts[place + 1]].tolist())


def item_sets(source: Source, column: str, texts: Sequence[str], separator: str | None) -> ItemSets:
    """Split the texts of a column of items."""
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
    """Raise unless a column of items exists and can be read."""
    if column not in source.engine.columns:
        known = ", ".join(map(repr, source.engine.columns[:30]))
        raise BadInputError(f"{source.origin}: there is no column {column!r} (--items); the columns are {known}")
    kind = source.engine.nested.get(column, "VARCHAR[]")
    if not kind.endswith("[]") or kind.endswith("[][]"):
        raise BadInputError(f"{source.origin}: the column {column!r} holds {kind}, no lists of items (--items)")
    if separator is not None and len(separator) != 1:
        raise BadInputError(f"a separator is one character, not {separator!r} (--separator)")


def is_listed(source: Source, column: str) -> bool:
    """Return whether a column has lists, which need no separator."""
    return column in source.engine.nested or _is_json(source)


def _is_json(source: Source) -> bool:
    return Path(source.origin.removesuffix(".gz")).suffix.lower() in JSON


def _splitter(source: Source, column: str, separator: str | None) -> Split:
    """Return the function that splits the texts of a column."""
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
    r"""Parse an engine's text of a list: `[a, 'b, c', NULL]`, with a backslash before a quote or a backslash.

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
"""The number of records that match the known items; these items, and the inferred one after an arrow."""

SLACK = 1e-9


def faults(
    read: PublishedRecords,
    wanted: InferenceRequirement,
    original: Baskets,
    readings: Readings,
    sizes: Mapping[str, int],
) -> Iterator[Fault]:
    """Yield inferences of too high confidence, and known items with too few records; `sizes` counts a text's items."""
    sensitive = frozenset(wanted.sensitive_items(original))
    for label, items in readings.items():
        if items & sensitive and sizes[label] != 1:
            yield read.supports[label], (f"{label} (it includes a sensitive item and others)",)
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
    """Compare the records of each set of up to `most` known texts with those of the set and one sensitive text."""
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
    """Count the records with the items before each arrow, and those of them with all items after it."""
    shows = labels_by_item(readings)
    everybody = np.arange(len(read.weights))
    for known, concluded in wanted.rules(original):
        visible = [shows[code] for code in known if code in shows]  # a suppressed item reveals nothing
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
"""The items of each published item, in a document."""

Legend = Mapping[str, Sequence[str]]
"""The items of each published text."""

WHAT = "a legend, a mapping or a certificate of baskets"
LEGEND = fields({"schema": one_of(SCHEMA), "file": text, "sha256": text, "legend": WORDS})


def legend_file(path: Path) -> Path:
    """Return the legend of a data file, next to it."""
    return path.with_name(f"{path.name}.legend.json")


def read_legend(path: Path) -> dict[str, list[str]]:
    """Read the items of published ones, from a legend, a mapping, or a certificate with a legend next to it."""
    content = read_json(path, WHAT, fields({"kind": one_of(KIND, MAPPING, "sfumato certificate")}))
    if content["kind"] == KIND:
        in_shape(content, str(path), WHAT, LEGEND)
        return dict(content["legend"])
    if content["kind"] == MAPPING:
        in_shape(content, str(path), WHAT, fields({"published": WORDS}))
        return dict(content["published"])
    in_shape(content, str(path), WHAT, fields({}, {"legend": fields({"file": text})}))
    if "legend" not in content:
        raise BadInputError(f"{path}: this certificate names no legend: every published item is self-explanatory")
    return read_legend(path.with_name(Path(content["legend"]["file"]).name))


def legend_beside(path: Path) -> tuple[Legend | None, tuple[str, ...]]:
    """Read the legend next to a data file; a legend of another file is ignored with a notice."""
    beside = legend_file(path)
    if not beside.is_file():
        return None, ()
    content = read_json(beside, WHAT, fields({"kind": one_of(KIND)}))
    in_shape(content, str(beside), WHAT, LEGEND)
    if content["sha256"] != file_digest(path):
        return None, (t("audit_notice.other_legend", beside=beside, path=path),)
    return dict(content["legend"]), (f"{beside}: read as the legend of this file",)
