"""Counting a published file: an engine groups equal texts, the rest is arithmetic over the counts.

Every column is read as text: a JSON value as written, a typed value of Parquet as a text that no other value of the
column has. A missing value is the empty text, a separate value. If a published column has both missing values (NULL)
and empty texts, its readers distinguish them, and so does the audit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.auditing.notation import set_members
from sfumato.data.bundled import open_source as open_table
from sfumato.data.reading import Table
from sfumato.engines import open_rows
from sfumato.engines.notations import BLANKS
from sfumato.engines.protocol import BYTES, Engine, Reading, numbers_in
from sfumato.runtime.arrays import Codes, Counts
from sfumato.runtime.threads import together
from sfumato.texts.catalogue import refusal

STAR = "*"
EMPTY = "\udc00"
"""The code of an empty text besides missing values: half of a surrogate pair, which no file contains."""

EMPTY_SHOWN = '""'
"""Its displayed form."""

MOST_KEYS = 1 << 24
"""The most possible keys that a table numbers; more are sorted."""

LARGEST_KEY = 1 << 62


def shown_text(text: str) -> str:
    """Return a counted text for display."""
    return EMPTY_SHOWN if text == EMPTY else text


@dataclass(frozen=True, eq=False)
class TextColumn:
    """A column of counted tuples: its distinct texts, and the index of each tuple's text."""

    texts: tuple[str, ...]
    codes: Codes

    def where(self, kept: NDArray[np.bool_]) -> TextColumn:
        """Keep some tuples, and their texts."""
        used, codes = np.unique(self.codes[kept], return_inverse=True)
        return TextColumn(tuple(self.texts[code] for code in used), codes.astype(np.int32))

    def called(self, names: Sequence[str]) -> TextColumn:
        """Rename the texts; equal ones are merged."""
        known = {name: place for place, name in enumerate(dict.fromkeys(names))}
        return TextColumn(tuple(known), np.array([known[name] for name in names], np.int32)[self.codes])


@dataclass(frozen=True, eq=False)
class Counted:
    """Distinct tuples of texts, with the number of rows of each."""

    columns: Mapping[str, TextColumn]
    counts: Counts

    @property
    def records(self) -> int:
        """The number of rows."""
        return int(self.counts.sum())

    def where(self, kept: NDArray[np.bool_]) -> Counted:
        """Keep some tuples, and their texts."""
        columns = {name: column.where(kept) for name, column in self.columns.items()}
        return Counted(columns, self.counts[kept])

    def replaced(self, name: str, column: TextColumn) -> Counted:
        """Return the tuples with other texts in one column."""
        return Counted({**self.columns, name: column}, self.counts)

    def all_stars(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Return which tuples have `*` in all of these columns."""
        if not all(STAR in self.columns[name].texts for name in names):
            return np.zeros(len(self.counts), np.bool_)
        stars = np.ones(len(self.counts), np.bool_)
        for name in names:
            column = self.columns[name]
            stars &= np.array([text == STAR for text in column.texts], np.bool_)[column.codes]
        return stars

    def number(self, names: Sequence[str]) -> tuple[Counts, Counts]:
        """Number the distinct combinations of some columns: a tuple of each, and each tuple's number."""
        return number_combinations([self.columns[name] for name in names], len(self.counts))

    def texts(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the texts of some columns for every tuple."""
        columns = [self.columns[name] for name in names]
        listed = [[column.texts[code] for code in column.codes.tolist()] for column in columns]
        return list(zip(*listed, strict=True)) if listed else [()] * len(self.counts)

    def show(self, tuple_number: int, names: Sequence[str]) -> dict[str, str]:
        """Return the texts of one tuple."""
        columns = ((name, self.columns[name]) for name in names)
        return {name: shown_text(column.texts[column.codes[tuple_number]]) for name, column in columns}


@dataclass(frozen=True)
class Source:
    """Rows to be counted: of a file, a frame, a bundled table or an open `Table`, with a filter."""

    engine: Engine
    complete: tuple[str, ...] = ()
    """Only rows without a missing value in these columns count."""

    published: bool = False
    """Whether rows are read unchanged, as their readers see them; in our tables an empty text is a missing value."""

    @property
    def origin(self) -> str:
        """The file, for messages."""
        return self.engine.origin

    def check(self, names: Sequence[str], what: str) -> None:
        """Raise unless these columns exist."""
        for name in names:
            if name not in self.engine.columns:
                known = ", ".join(map(repr, self.engine.columns[:30]))
                raise refusal("no_column_published_file", origin=self.origin, name=name, what=what, known=known)
            kind = self.engine.nested.get(name, BYTES)
            if self.published and kind != BYTES:  # bytes have a text, by which they can be compared
                raise refusal("audit_error.nested", origin=self.origin, name=name, kind=kind)

    def count(self, names: Sequence[str]) -> Counted:
        """Count the distinct combinations of texts of some columns."""
        parts: list[list[Codes]] = [[] for _ in names]
        known: list[dict[str | None, int]] = [{} for _ in names]
        counts: list[Counts] = []

        def code(batch: pa.RecordBatch, place: int) -> None:
            parts[place].append(_coded(batch.column(place), known[place], None if self.published else ""))

        for batch in self.engine.count_texts(names, self.complete):
            together(partial(code, batch), range(len(names)))
            counts.append(numbers_in(batch.column(len(names))).astype(np.int64))
        columns = {name: _column(*coded) for name, coded in zip(names, zip(known, parts, strict=True), strict=True)}
        return Counted(columns, np.concatenate(counts) if counts else np.zeros(0, np.int64))


def group_sizes_in(rows: Engine, names: Sequence[str], complete: Sequence[str] = ()) -> tuple[int, int]:
    """Return the size of the smallest group of rows with equal texts, and the number of unique rows.

    Texts are not kept, because with neutral columns nearly all rows may be different.
    """
    smallest, alone = 0, 0
    for batch in rows.count_texts(names, complete):
        counts = numbers_in(batch.column(len(names)))
        if len(counts):
            smallest = min(smallest or int(counts.min()), int(counts.min()))
            alone += int((counts == 1).sum())
    return smallest, alone


def open_published(given: Any, reading: Reading | None = None) -> Source:
    """Open a published file or frame as its readers see it, without trimming or parsing."""
    if isinstance(given, Source):
        return given
    return Source(open_rows(given, replace(reading or Reading(), as_it_stands=True)), published=True)


def blank_columns(file: Source, names: Iterable[str]) -> list[str]:
    """List the columns of a published file with blanks around values; its original must have them, too."""
    texts = {name: file.engine.distinct(name).values for name in names if name in file.engine.columns}
    return [name for name, values in texts.items() if any(text and _has_blanks(text) for text in values)]


def _has_blanks(text: str) -> bool:
    """Return whether a published text, or a member of its set, has blanks around it."""
    members = [member for member, _ in set_members(text) or ()]
    return any(part != part.strip(BLANKS) for part in (text, *members))


def open_source(given: Any, reading: Reading) -> Source:
    """Open an original: a path, the name of a bundled table, a frame, or an open table."""
    if isinstance(given, Table):
        person = () if given.roles.person is None else (given.roles.person,)
        coded = (*given.roles.quasi, *given.roles.sensitive, *person)
        return Source(given.engine, coded if given.missing == "drop" else ())
    return Source(open_table(given, replace(reading, as_it_stands=not reading.na, notations=True)))


def _coded(texts: Any, known: dict[str | None, int], missing: str | None) -> Codes:
    """Return the number of each text of a batch among all texts so far; `missing` replaces missing values."""
    coded = texts if isinstance(texts, pa.DictionaryArray) else texts.dictionary_encode("encode")
    listed = (missing if text is None else text for text in coded.dictionary.to_pylist())
    numbers = [known.setdefault(text, len(known)) for text in listed]
    indices = coded.indices
    if indices.null_count:
        indices = indices.cast(pa.int32()).fill_null(len(numbers))
        numbers.append(known.setdefault(missing, len(known)))
    codes: Codes = np.asarray(numbers, np.int32)[numbers_in(indices)]
    return codes


def text_column(texts: Any) -> TextColumn:
    """Read an Arrow column row by row; a missing value is the empty text."""
    known: dict[str | None, int] = {}
    whole = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    return _column(known, [_coded(whole, known, "")])


def _column(known: Mapping[str | None, int], parts: Sequence[Codes]) -> TextColumn:
    """Return a column from numbered texts and its parts; its texts are ordered, unlike those of engines."""
    order = sorted(known, key=lambda text: (text is None, text or ""))
    codes = np.concatenate(parts) if parts else np.zeros(0, np.int32)
    if order != list(known):
        place = np.empty(len(known), np.int32)
        place[[known[text] for text in order]] = np.arange(len(known))
        codes = place[codes]
    return TextColumn(_named(order), codes)


def _named(texts: Iterable[str | None]) -> tuple[str, ...]:
    """Replace missing values by the empty text, and the empty text by `EMPTY` if a column has both."""
    listed = list(texts)
    empty = EMPTY if None in listed else ""
    return tuple("" if text is None else text or empty for text in listed)


def number_combinations(columns: Sequence[TextColumn], length: int) -> tuple[Counts, Counts]:
    """Number distinct combinations of codes: the first index of each, and the number at every index."""
    key, size = np.zeros(length, np.int64), 1
    for column in columns:
        if size * len(column.texts) > LARGEST_KEY:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            size = int(key.max()) + 1
        key = key * len(column.texts) + column.codes
        size *= max(len(column.texts), 1)
    return number_keys(key, size)


def number_keys(key: Counts, size: int) -> tuple[Counts, Counts]:
    """Number the distinct keys below `size` in ascending order: the index of one of each, and every key's number."""
    if (key[1:] >= key[:-1]).all():
        new = np.ones(len(key), np.bool_)
        new[1:] = key[1:] != key[:-1]
        return np.flatnonzero(new), np.cumsum(new) - 1
    if size > max(MOST_KEYS, 4 * len(key)):
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
        return first, number.astype(np.int64)
    position = np.full(size, -1, np.int64)
    position[key] = np.arange(len(key))
    used = np.flatnonzero(position >= 0)
    first = position[used]
    position[used] = np.arange(len(used))
    return first, position[key]
