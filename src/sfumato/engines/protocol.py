"""The protocol of engines: few verbs on rows, in terms of columns, texts, codes and cells.

An engine does not know hierarchies, roles or requirements. It lists the distinct texts of a column, counts the distinct
tuples of codes of these texts, and writes rows whose cells have been placed. It returns distinct texts, cells and
counts, and of rows only the published ones; errors are our own on every engine.

Engines are equal because the text of a value has one definition, that of DuckDB. Whole numbers in digits; `true` and
`false`; decimals with all digits of their scale (`1.50`, `0.0000001`); floating point numbers by the fewest digits
that give them back, always with a point or exponent, as in (`1.0`, `0.0001`, `1e-05`, `1e+16`, `nan`, `inf`, `-inf`,
`-0.0`). Days `2020-01-31`; times `10:00:00.5`, without zeros at the end of a fraction; times of a day `2020-01-31
10:00:00.5`, and instants in UTC with a final `+00`. Texts are ordered by their bytes in UTF-8, missing values last.
Several texts become one (`framed`): before each its number of characters and a colon, and `-` for a missing one:
`1:a-2:xy`.
"""

import datetime
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.engines.notations import DayOrder
from sfumato.errors import BadInputError
from sfumato.runtime.arrays import Counts, RedactedRepr
from sfumato.texts.catalogue import refusal, t

DIGITS = 15
"""The number of hexadecimal digits of a row's MD5 in the digest of a table, which fit into numbers of every engine."""

BYTES = "BLOB"
"""The engines' type of a column of bytes."""

LONG_FLOAT = (
    "a 32-bit number of more than 6 digits, or above 10 million; engines write it differently: cast it to double"
)
"""The error about such a value, except in DuckDB, whose texts are the definition."""

MOST_TEXTS = 2_000_000
"""The most distinct values of a column that are returned for coding."""

SourceLayout = Literal["table", "lists", "lines"]


@dataclass(frozen=True)
class Reading:
    """How a source is read, by any engine."""

    na: tuple[str, ...] = ()
    """Texts that mean a missing value, besides the empty one."""

    delimiter: str | None = None
    """For a text file: the separator of fields, or of the items of a line; None detects it."""

    encoding: str | None = None
    """For a text file; None detects it."""

    origin: str = ""
    """The name of the source in messages; default: its path, or its kind of frame."""

    layout: SourceLayout = "table"
    """Rows with columns; the same with lists in some of them; or a list of items on every line, one column `items`."""

    every_line: bool = False
    """For lines of items: whether every line is one, without comments, header or marks of SPMF."""

    as_it_stands: bool = False
    """Whether values are counted as the source's readers see them: an empty text is then no missing value."""

    escaped: bool = False
    """Whether formulas in a text file were escaped, and are to be restored."""

    empty: bool = False
    """Whether a source without rows is accepted."""

    sheet: str | None = None
    """For a workbook with several sheets."""

    header: bool | None = None
    """Whether the first record of a text file or sheet is the names of its columns; None detects it."""

    header_row: int | None = None
    """The row of a sheet, or the line of a text file, with the names of the columns; earlier ones are skipped."""

    columns: tuple[str, ...] = ()
    """The names of the columns, if they differ from those of the source."""

    decimal_comma: tuple[str, ...] = ()
    decimal_point: tuple[str, ...] = ()
    """Columns whose numbers have this notation, whatever they look like."""

    dates: DayOrder | None = None
    """The order of day and month for ambiguous columns."""

    as_written: tuple[str, ...] = ()
    """Columns whose texts are unchanged: with their blanks, and not parsed as numbers or dates."""

    notations: bool | None = None
    """Whether blanks are trimmed, and numbers and dates parsed; default: unless `as_it_stands`."""

    usual: Mapping[str, str] = field(default_factory=dict)
    """The notations of an earlier table's columns, for ambiguous ones of this table."""

    engine: str | None = None
    """The name of the engine, if the location does not determine it."""

    memory: str | None = None
    """The memory of the engine before it works on disk, such as 4GB."""

    spill: str | None = None
    """The parent of its private folder for that; default: the system's temporary folder."""

    @property
    def missing(self) -> tuple[str, ...]:
        """All texts that mean a missing value."""
        return () if self.as_it_stands or self.escaped else ("", *self.na)

    @property
    def settles(self) -> bool:
        """Whether blanks are trimmed, and numbers and dates parsed."""
        wanted = not self.as_it_stands if self.notations is None else self.notations
        return wanted and not self.escaped and self.layout == "table"

    @property
    def decided(self) -> tuple[str, ...]:
        """The columns with a declared notation of numbers."""
        return (*self.decimal_comma, *self.decimal_point)

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise unless every declared column exists, with one declaration."""
        options = {
            "--decimal-comma": self.decimal_comma,
            "--decimal-point": self.decimal_point,
            "--as-written": self.as_written,
        }
        said: dict[str, str] = {}
        for option, columns in options.items():
            for name in columns:
                if name not in names:
                    known = ", ".join(map(repr, names[:30]))
                    raise refusal("no_column_columns", origin=self.origin, name=name, option=option, known=known)
                if said.setdefault(name, option) != option:
                    raise refusal("column_named", name=name, said=said[name], option=option)


OWN_FILE = Reading(delimiter=",", encoding="utf-8", header=True, notations=False, empty=True)
"""How a file that we wrote is read."""


@dataclass(frozen=True, repr=False)
class DistinctValues(RedactedRepr):
    """The distinct values of one column as text (None: missing), each with its count and first row (from 1)."""

    values: Sequence[str | None]
    counts: NDArray[np.int64]
    first_rows: NDArray[np.int64] | None
    """None on an engine whose rows have no order."""

    kinds: NDArray[np.int64] | None = None
    """For values that are results of a rule: the number of texts of each."""

    def place(self, i: int) -> str:
        """Return the first place of a value for a message; empty if rows have no order."""
        return "" if self.first_rows is None else t("notice.row_header_not_counted", first_rows=self.first_rows[i])


@dataclass(frozen=True, repr=False)
class ColumnFacts(RedactedRepr):
    """Facts of a whole column, counted by the engine; the only values in it are the ends of ranges."""

    present: int
    """Records with a value."""

    distinct: int
    shortest: int
    longest: int
    """The lengths of its texts, in characters."""

    numbers: int
    """Records with a finite number, written without leading zeros."""

    lowest: float | None
    highest: float | None
    decimals: int
    """The most decimals of a number, without final zeros; an upper bound for an exponent."""

    days: int
    """Records with an ISO date or timestamp, or a date such as 31.12.1999."""

    first: datetime.date | None
    last: datetime.date | None


@dataclass(frozen=True)
class Rule:
    """A rule that reduces the texts of a column in the engine, if there are too many to return.

    `prefix`: the first `number` characters. `day`: of a text `2020-01-31`, possibly with more after a blank or a T, the
    first ten. `floor`: of a number x in digits, possibly with a sign, a point and an exponent, the floating point
    number floor(x / number) * number. Other texts and missing values are unchanged.
    """

    kind: Literal["prefix", "day", "floor"]
    number: int = 0


@dataclass(frozen=True, repr=False)
class Coding(RedactedRepr):
    """A code for each text of one column, or for each result of a rule; None is the key of missing values."""

    public_fields: ClassVar[tuple[str, ...]] = ("column",)

    column: str
    codes: Mapping[str | None, int]
    rule: Rule | None = None


@dataclass(frozen=True, repr=False)
class CountedCodes(RedactedRepr):
    """The distinct tuples of codes in lexicographic order, the number of rows of each, and of the dropped rows."""

    codes: NDArray[np.int32]
    counts: NDArray[np.int64]
    dropped: int
    link: str
    """The engine's name for the link from its rows to these tuples."""


@dataclass(frozen=True, repr=False)
class CellValues(RedactedRepr):
    """The distinct pairs of a cell and a value of one column, by cell and text, and the number of rows of each."""

    cell: NDArray[np.int64]
    value: NDArray[np.int64]
    """Indices of `values`."""

    counts: NDArray[np.int64]
    values: Sequence[str | None]
    """The distinct values as text (None: missing), in the order of the pairs."""


@dataclass(frozen=True, repr=False)
class Pairs(RedactedRepr):
    """The distinct pairs of a cell and a value of one column that is not missing, and the number of rows of each."""

    cell: NDArray[np.int64]
    value: NDArray[np.int64]
    """Numbers from 0, in the order of the values' texts; the texts remain in the engine."""

    counts: NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class PersonCounts(RedactedRepr):
    """The persons of groups of cells, by a value of the cells: those who have it, and the weight of their records."""

    group: Counts
    value: Counts
    persons: Counts
    """The persons with a record in the group that has the value."""

    most: Counts
    """The most such records of one person."""

    weights: NDArray[np.float64]
    """The sum over these records of 1 / the records of their person in the group, from whole 2^-40 rounded down."""


@dataclass(frozen=True, repr=False)
class Tuples(RedactedRepr):
    """The distinct tuples of a cell and values of some columns, by cell and texts, and the number of rows of each."""

    cell: NDArray[np.int64]
    values: NDArray[np.int64]
    """One row per tuple, one column per requested column: indices of its `texts`."""

    counts: NDArray[np.int64]
    texts: Sequence[Sequence[str | None]]
    """For each column its distinct values as text (None: missing)."""


@dataclass(frozen=True, repr=False)
class CountedLists(RedactedRepr):
    """The distinct lists of items and the number of records of each, in the order of first occurrence, if any."""

    texts: Sequence[str | None]
    """The distinct items as text (None: missing)."""

    lengths: NDArray[np.int64]
    """The number of items of each list, 0 if it is missing."""

    codes: NDArray[np.int32]
    """The items of all lists, concatenated in their order: indices of `texts`."""

    counts: NDArray[np.int64]
    first_records: NDArray[np.int64] | None
    """The first record that has the list (from 1); None on an engine whose rows have no order."""


@dataclass(frozen=True, repr=False)
class Texts(RedactedRepr):
    """A published column made of texts: row i of the cells or groups it belongs to shows `texts[codes[i]]`."""

    name: str
    texts: Sequence[str | None]
    codes: NDArray[np.int32]


@dataclass(frozen=True, repr=False)
class Placement(RedactedRepr):
    """The groups of the rows of each cell: `count` rows of `cell` go to `group`; other rows are suppressed."""

    cell: NDArray[np.int64]
    group: NDArray[np.int64]
    count: NDArray[np.int64]
    link: str
    """The link of these cells."""


@dataclass(frozen=True, repr=False)
class Layout(RedactedRepr):
    """The columns of a published file, and their dependencies.

    Texts `by_group` are published for the group of a row; texts `by_cell` for its cell; `neutral` columns are the row's
    own. Columns in `permuted` (among `by_cell`) are exchanged within each group in a way that depends only on the
    published columns. `order` lists all names in writing order.
    """

    order: Sequence[str]
    by_group: Sequence[Texts]
    by_cell: Sequence[Texts]
    neutral: Sequence[str]
    permuted: frozenset[str] = frozenset()
    group_column: str | None = None
    group_labels: NDArray[np.int64] | None = None


class Engine(Protocol):
    """Rows of one table, at any place."""

    name: ClassVar[str]
    """Its name for `--engine`."""

    @classmethod
    def takes(cls, source: Any) -> bool:
        """Return whether this engine opens a source."""

    @classmethod
    def open(cls, source: Any, reading: Reading) -> Self:
        """Open a source."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns."""

    @property
    def row_count(self) -> int:
        """The number of rows."""

    @property
    def origin(self) -> str:
        """The name of the source in messages."""

    @property
    def na(self) -> Sequence[str]:
        """The texts that were read as missing values, besides the empty one."""

    @property
    def notices(self) -> Sequence[str]:
        """Notices about reading the source."""

    @property
    def notations(self) -> Mapping[str, str]:
        """The notations of columns whose texts were parsed as numbers or dates."""

    @property
    def nested(self) -> Mapping[str, str]:
        """The columns of several values per row, or of bytes, with the engine's types; those of lists end in `[]`."""

    @property
    def texts(self) -> frozenset[str]:
        """The columns that remain texts in memory, whatever their values; in a text file values decide."""

    def digest(self, columns: Sequence[str] = ()) -> str:
        """Return a digest of names and values of some columns, by default all: the same on every engine.

        It is `content_digest` of the sum over all rows of the first `DIGITS` digits of the MD5 of a row: its texts
        framed, columns ordered by name.
        """

    def distinct(self, column: str, complete: Sequence[str] = ()) -> DistinctValues:
        """List the distinct values of a column, by text, of the rows without missing values in `complete` columns."""

    def distinct_by(self, rule: Rule, column: str, complete: Sequence[str] = ()) -> DistinctValues:
        """List the results of a rule for the texts of a column, each with its number of texts."""

    def all_different(self, columns: Sequence[str]) -> list[str]:
        """Return those of some columns whose values are all different; a few rows exclude most."""

    def sample(self, column: str, rows: int) -> DistinctValues:
        """List the distinct values of a column among about this many rows, the same at every call."""

    def facts(self, column: str) -> ColumnFacts:
        """Return facts of a whole column."""

    def count_texts(self, columns: Sequence[str], complete: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Count the distinct tuples of texts of some columns (null: missing), the last column of a batch the count."""

    def count_cells(self, codings: Sequence[Coding]) -> CountedCodes:
        """Count the distinct tuples of codes; rows with a text that has no code are dropped and counted."""

    def cell_number(self, codings: Sequence[Coding]) -> int:
        """Count the distinct tuples of codes, without returning them."""

    def tuples(self, columns: Sequence[str], link: str) -> Tuples:
        """List the tuples of values of the rows of each cell, in the order in which `write` assigns rows."""

    def pairs(self, column: str, link: str, most: int, cells: NDArray[np.int64] | None = None) -> Pairs | int:
        """Count the pairs of a cell, or one of some cells, and a value of a column; return more than `most` uncounted.

        The number of pairs is returned then.
        """

    def person_counts(self, column: str, link: str, group: NDArray[np.int64], value: NDArray[np.int64]) -> PersonCounts:
        """Count the persons that a column names, by the group and the value of each cell; group -1 is skipped."""

    def write(self, placement: Placement, layout: Layout, path: Path, format: str) -> int:
        """Write the placed rows as "csv" or "parquet", shuffled; return the number of rows; `OSError` if it fails."""

    def placed_rows(self, placement: Placement, layout: Layout) -> pa.Table:
        """Return the placed rows in writing order: texts, neutral columns with their types."""

    def lists(self, column: str) -> CountedLists:
        """Count the distinct lists of a column."""

    def gathered(self, who: str, item: str) -> CountedLists:
        """Count the distinct lists of rows of (who, item): a record is all rows of one text in `who`.

        Records are numbered by their first rows, items are in row order; without an order of rows, items are ordered by
        text. A missing item is skipped; a row without owner is an error, unless the rows are read as they stand.
        """


@runtime_checkable
class KeepsOrder(Protocol):
    """An engine whose rows have an order."""

    def texts_in_order(self, columns: Sequence[str], most: int | None = None) -> pa.Table:
        """Return the texts of some columns (null: missing) in row order: all, or at most so many."""


WEIGHTS = (
    "SELECT g, v, count(*) AS persons, max(n) AS most, CAST(sum({whole}) AS DOUBLE) / 1099511627776 AS weights FROM "
    "(SELECT g, v, n, sum(n) OVER (PARTITION BY g, t) AS total FROM {rows}) AS held GROUP BY g, v"
)
"""The query of `PersonCounts` over records `n` of each group, value and person: every engine divides in its own way."""


def too_many_texts(origin: str, column: str, number: int) -> BadInputError:
    """Return the error about a column with too many values."""
    return BadInputError(
        t("engines.too_many_texts", origin=origin, column=column, number=number, most_texts=MOST_TEXTS)
    )


def content_digest(columns: Sequence[str], rows: int, total: int) -> str:
    """Return the digest of a table from the names of its columns, the number of its rows and the sum over them."""
    return hashlib.sha256(repr((sorted(columns), rows, total)).encode()).hexdigest()


def column_pairs(engine: Engine, column: str, link: str) -> CellValues:
    """List the values of one column, in any role, of the rows of each cell."""
    tuples = engine.tuples((column,), link)
    return CellValues(tuples.cell, tuples.values[:, 0], tuples.counts, tuples.texts[0])


def numbers_in(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Return the numbers of a column without missing values, read-only."""
    return np.from_dlpack(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)


def number_column(numbers: NDArray[Any], known: NDArray[np.bool_] | None = None) -> pa.Array:
    """Make a column of numbers, of which some may be missing."""
    whole = np.ascontiguousarray(numbers)
    bits = None if known is None else pa.py_buffer(np.packbits(known, bitorder="little"))
    return pa.Array.from_buffers(pa.from_numpy_dtype(whole.dtype), len(whole), [bits, pa.py_buffer(whole)])


def text_column(texts: Iterable[str | None]) -> pa.Array:
    """Make a column of texts, some of which may be missing."""
    builder = pa.lib.StringBuilder()
    builder.append_values(texts)
    return builder.finish()


def by_text(table: pa.Table, columns: int) -> pa.Table:
    """Sort rows by their first columns: texts by their bytes in UTF-8, missing values last."""
    keys = [(name, "ascending") for name in table.column_names[:columns]]
    return table.take(pc.sort_indices(table, sort_keys=keys)) if keys else table


def distinct_in(table: pa.Table) -> DistinctValues:
    """Return the distinct texts of a column and their counts, of rows without an order."""
    table = by_text(table, 1)
    return DistinctValues(table[0].to_pylist(), numbers_in(table[1]), None)


def tuples_in(table: pa.Table) -> Tuples:
    """Return sorted tuples: the number of a cell, texts, and the number of rows."""
    encoded = [_encoded(column.combine_chunks()) for column in table.columns[1:-1]]
    values = np.empty((table.num_rows, len(encoded)), np.int64)
    for i, (codes, _) in enumerate(encoded):
        values[:, i] = codes
    return Tuples(numbers_in(table[0]), values, numbers_in(table[-1]), [texts for _, texts in encoded])


def lists_in(table: pa.Table) -> CountedLists:
    """Return distinct lists, the number of records of each, and the first record if they have an order."""
    lists = table[0].combine_chunks()
    codes, texts = _encoded(lists.flatten())
    lengths = numbers_in(lists.value_lengths().fill_null(0)).astype(np.int64)
    first = numbers_in(table[2]) if table.num_columns > 2 else None
    return CountedLists(texts, lengths, codes.astype(np.int32), numbers_in(table[1]), first)


def coded_columns(texts: Sequence[pa.Array], codings: Sequence[Coding]) -> list[pa.Array]:
    """Return the codes of the texts of columns; null for a text without one."""
    columns = []
    for column, coding in zip(texts, codings, strict=True):
        is_listed = pa.types.is_dictionary(column.type)
        encoded = column if is_listed else column.dictionary_encode(null_encoding="encode")
        listed = encoded.dictionary.to_pylist()
        codes = np.array([coding.codes.get(text, 0) for text in listed], np.int32)
        known = np.array([text in coding.codes for text in listed], bool)
        columns.append(number_column(codes, known).take(encoded.indices))
    return columns


def _encoded(column: pa.Array) -> tuple[NDArray[np.int64], list[str | None]]:
    """Number the values of a column in the order of their first occurrence; a missing one counts as a value."""
    coded = column.dictionary_encode(null_encoding="encode")
    return numbers_in(coded.indices).astype(np.int64), coded.dictionary.to_pylist()


def received_names(number: int) -> list[str]:
    """Return names for columns of texts from another engine, different from all names of a source."""
    return [f"\0{i}" for i in range(number)]


def received(codings: Sequence[Coding]) -> list[Coding]:
    """Return codings for such columns, whose texts are already results of rules."""
    names = received_names(len(codings))
    return [replace(coding, column=name, rule=None) for coding, name in zip(codings, names, strict=True)]
