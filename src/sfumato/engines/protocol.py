"""What an engine must be able to do with rows: few verbs, in terms of columns, texts, codes and cells.

An engine knows nothing of hierarchies, roles or requirements. It lists the distinct texts of a column, counts the
distinct tuples of codes once somebody has given every text a code, and writes rows whose cells have been placed. What
crosses is distinct texts, cells and counts, and of rows only what is published; what goes wrong is one of our own
errors on every engine.

Engines are equal because the text of a value is defined once, for all of them. It is DuckDB's: whole numbers in digits;
`true` and `false`; decimals with all digits of their scale (`1.50`, `0.0000001`); floating point numbers by the fewest
digits that give them back, with a point or an exponent always (`1.0`, `0.0001`, `1e-05`, `1e+16`, `nan`, `inf`,
`-inf`, `-0.0`); days `2020-01-31`; times `10:00:00.5`, without zeros at the end of a fraction; times of a day
`2020-01-31 10:00:00.5`, and where they are instants, in UTC with `+00` behind. Texts are ordered by their bytes in
UTF-8, missing values last. Several texts are one (`framed`) by writing before each how many characters it has and a
colon, and `-` for a missing one, one after the other: `1:a-2:xy`.
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
from sfumato.runtime.arrays import Quiet
from sfumato.texts.catalogue import refusal, t

DIGITS = 15
"""How many digits of a row's MD5, in base 16, go into the digest of a table: what every engine has numbers for."""

BYTES = "BLOB"
"""What an engine calls the type of a column of bytes."""

LONG_FLOAT = (
    "a 32-bit number of more than 6 digits, or above 10 million; engines write it differently: cast it to double"
)
"""What is said of such a value by an engine that meets it, DuckDB apart, whose texts are the definition."""

MOST_TEXTS = 2_000_000
"""More distinct values of a column are not handed over to be coded."""

SourceLayout = Literal["table", "lists", "lines"]


@dataclass(frozen=True)
class Reading:
    """How a source is read, whichever engine reads it."""

    na: tuple[str, ...] = ()
    """Texts that mean a missing value, beside the empty one."""

    delimiter: str | None = None
    """Of a text file, where it is not to be found out: what separates fields, or the items of a line."""

    encoding: str | None = None
    """Of a text file, where it is not to be found out."""

    origin: str = ""
    """What the source is called in messages: by default its path, or the kind of frame that it is."""

    layout: SourceLayout = "table"
    """Rows with columns; the same with lists in some of them; or a list of items on every line, one column `items`."""

    every_line: bool = False
    """Of lines of items: whether every line is one, so that no comment, header or mark of SPMF is looked for."""

    as_it_stands: bool = False
    """Whether values are only counted as the source's readers see them: an empty text is then no missing value."""

    escaped: bool = False
    """Whether formulas in a text file were escaped, and are to be read as they were."""

    empty: bool = False
    """Whether a source without rows will do."""

    sheet: str | None = None
    """Of a workbook with several."""

    header: bool | None = None
    """Whether the first record of a text file or sheet is the names of its columns, where it is not to be found out."""

    header_row: int | None = None
    """The row of a sheet, or the line of a text file, with the names of the columns; what is above is left out."""

    columns: tuple[str, ...] = ()
    """The names of the columns, where they are not those of the source."""

    decimal_comma: tuple[str, ...] = ()
    decimal_point: tuple[str, ...] = ()
    """Columns whose numbers are written so, whatever they look like."""

    dates: DayOrder | None = None
    """The order of day and month, of columns that do not tell it."""

    as_written: tuple[str, ...] = ()
    """Columns whose texts are left as they are: with their blanks, and no number or date is read in them."""

    notations: bool | None = None
    """Whether blanks are trimmed, and numbers and dates read as people write them; by default unless `as_it_stands`."""

    usual: Mapping[str, str] = field(default_factory=dict)
    """How columns of an earlier table were written; decides where this one does not tell."""

    engine: str | None = None
    """The name of the engine that opens the source, where its notation does not say it."""

    memory: str | None = None
    """How much memory the engine may take before it works on disk, such as 4GB."""

    spill: str | None = None
    """The folder in which it makes a private one for that; by default the system's temporary folder."""

    @property
    def missing(self) -> tuple[str, ...]:
        """All texts that mean a missing value."""
        return () if self.as_it_stands or self.escaped else ("", *self.na)

    @property
    def settles(self) -> bool:
        """Whether the source is one whose blanks are trimmed, and whose numbers and dates are read."""
        wanted = not self.as_it_stands if self.notations is None else self.notations
        return wanted and not self.escaped and self.layout == "table"

    @property
    def decided(self) -> tuple[str, ...]:
        """The columns whose numbers somebody says how to read."""
        return (*self.decimal_comma, *self.decimal_point)

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise unless every column that something is said of exists, and nothing else is said of it."""
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
"""How a file of our own writing is read."""


@dataclass(frozen=True, repr=False)
class DistinctValues(Quiet):
    """The distinct values of one column as text (None: missing), each with its count and first row (from 1)."""

    values: Sequence[str | None]
    counts: NDArray[np.int64]
    first_rows: NDArray[np.int64] | None
    """None on an engine whose rows have no order."""

    kinds: NDArray[np.int64] | None = None
    """Where a rule made these values: how many texts became each."""

    def place(self, i: int) -> str:
        """Say for a message, after its column, where a value stands first; nothing where rows have no order."""
        return "" if self.first_rows is None else t("notice.row_header_not_counted", first_rows=self.first_rows[i])


@dataclass(frozen=True, repr=False)
class ColumnFacts(Quiet):
    """What the whole of one column is like, counted by the engine: no value of it but the ends of its ranges."""

    present: int
    """Records that do not miss the value."""

    distinct: int
    shortest: int
    longest: int
    """The lengths of its texts, in characters."""

    numbers: int
    """Records with a finite number, written without leading zeros."""

    lowest: float | None
    highest: float | None
    decimals: int
    """The most decimals of a number, zeros at the end not counted; more than there are where one has an exponent."""

    days: int
    """Records with an ISO date or timestamp, or a date such as 31.12.1999."""

    first: datetime.date | None
    last: datetime.date | None


@dataclass(frozen=True)
class Rule:
    """How the texts of a column become fewer in the engine, where there are more than anybody hands over.

    `prefix`: the first `number` characters. `day`: of a text `2020-01-31`, perhaps with more behind a blank or a T, the
    first ten. `floor`: of a number x in digits, perhaps with a sign, a point and an exponent, the floating point number
    floor(x / number) * number. Texts of another form stay as they are, and missing values missing.
    """

    kind: Literal["prefix", "day", "floor"]
    number: int = 0


@dataclass(frozen=True, repr=False)
class Coding(Quiet):
    """A code for every text of one column, or for what a rule makes of it; None is the key of missing values."""

    spoken: ClassVar[tuple[str, ...]] = ("column",)

    column: str
    codes: Mapping[str | None, int]
    rule: Rule | None = None


@dataclass(frozen=True, repr=False)
class CountedCodes(Quiet):
    """The distinct tuples of codes in lexicographic order, the number of rows of each, and what was left out."""

    codes: NDArray[np.int32]
    counts: NDArray[np.int64]
    dropped: int
    link: str
    """The engine's name for the link from its rows to these tuples."""


@dataclass(frozen=True, repr=False)
class CellValues(Quiet):
    """The distinct pairs of a cell and a value of one column, by cell and text, and the number of rows of each."""

    cell: NDArray[np.int64]
    value: NDArray[np.int64]
    """Positions in `values`."""

    counts: NDArray[np.int64]
    values: Sequence[str | None]
    """The distinct values as text (None: missing), in the order in which the pairs first name them."""


@dataclass(frozen=True, repr=False)
class Pairs(Quiet):
    """The distinct pairs of a cell and a value of one column that is not missing, and the number of rows of each."""

    cell: NDArray[np.int64]
    value: NDArray[np.int64]
    """Numbers from 0, in the order of the values' texts; the texts themselves stay in the engine."""

    counts: NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Tuples(Quiet):
    """The distinct tuples of a cell and values of some columns, by cell and texts, and the number of rows of each."""

    cell: NDArray[np.int64]
    values: NDArray[np.int64]
    """One row per tuple, one column per column asked for: positions in its `texts`."""

    counts: NDArray[np.int64]
    texts: Sequence[Sequence[str | None]]
    """For every column its distinct values as text (None: missing)."""


@dataclass(frozen=True, repr=False)
class CountedLists(Quiet):
    """The distinct lists of items and the number of records of each, in the order in which they first stand if any."""

    texts: Sequence[str | None]
    """The distinct items as text (None: missing)."""

    lengths: NDArray[np.int64]
    """How many items every list has, none where it is missing."""

    codes: NDArray[np.int32]
    """The items of all lists, one list after the other and as they stand in it: positions in `texts`."""

    counts: NDArray[np.int64]
    first_records: NDArray[np.int64] | None
    """The first record that has the list (from 1); None on an engine whose rows have no order."""


@dataclass(frozen=True, repr=False)
class Texts(Quiet):
    """A published column made of texts: row i of the cells or groups it belongs to shows `texts[codes[i]]`."""

    name: str
    texts: Sequence[str | None]
    codes: NDArray[np.int32]


@dataclass(frozen=True, repr=False)
class Placement(Quiet):
    """Where the rows of every cell go: `count` rows of `cell` to `group`; rows that no entry takes are left out."""

    cell: NDArray[np.int64]
    group: NDArray[np.int64]
    count: NDArray[np.int64]
    link: str
    """Which cells these are: the link that came with them."""


@dataclass(frozen=True, repr=False)
class Layout(Quiet):
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

    name: ClassVar[str]
    """What it is called by `--engine`."""

    @classmethod
    def takes(cls, source: Any) -> bool:
        """Say whether this engine opens such a source."""

    @classmethod
    def open(cls, source: Any, reading: Reading) -> Self:
        """Open a source."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns."""

    @property
    def row_count(self) -> int:
        """The number of rows that were read."""

    @property
    def origin(self) -> str:
        """What the source is called in messages."""

    @property
    def na(self) -> Sequence[str]:
        """The texts that were read as missing values, beside the empty one."""

    @property
    def notices(self) -> Sequence[str]:
        """What should be known of how the source was read."""

    @property
    def notations(self) -> Mapping[str, str]:
        """How columns are written whose texts were read as numbers or dates."""

    @property
    def nested(self) -> Mapping[str, str]:
        """The columns of several values a row, or of bytes, by what the engine calls their type; lists end in `[]`."""

    @property
    def texts(self) -> frozenset[str]:
        """The columns that stay texts in memory, whatever their values look like; of a text file values decide."""

    def digest(self, columns: Sequence[str] = ()) -> str:
        """Return a digest of names and values of some columns, by default all: the same on every engine.

        It is `content_digest` of the sum over all rows of the first `DIGITS` digits of the MD5 of a row: its texts
        framed, columns in the order of their names.
        """

    def distinct(self, column: str, complete: Sequence[str] = ()) -> DistinctValues:
        """List the distinct values of a column, by text, among the rows that miss no value in `complete` columns."""

    def distinct_by(self, rule: Rule, column: str, complete: Sequence[str] = ()) -> DistinctValues:
        """List what a rule makes of the texts of a column, and of how many texts each."""

    def all_different(self, columns: Sequence[str]) -> list[str]:
        """Say which of some columns have another value in every row; most are ruled out by a few rows."""

    def sample(self, column: str, rows: int) -> DistinctValues:
        """List the distinct values of a column among about this many rows, the same at every call."""

    def facts(self, column: str) -> ColumnFacts:
        """Say what the whole of a column is like."""

    def count_texts(self, columns: Sequence[str], complete: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Count the distinct tuples of texts of some columns (null: missing), the last column of a batch the count."""

    def count_cells(self, codings: Sequence[Coding]) -> CountedCodes:
        """Count the distinct tuples of codes; rows with a text that has no code are dropped and counted."""

    def cell_number(self, codings: Sequence[Coding]) -> int:
        """Count how many distinct tuples of codes there are, without handing them over."""

    def tuples(self, columns: Sequence[str], link: str) -> Tuples:
        """List the tuples of values that the rows of every cell have, in the order in which `write` deals rows out."""

    def pairs(self, column: str, link: str, most: int) -> Pairs:
        """Count the pairs of a cell and a value of a column; raise where there are more than `most`."""

    def write(self, placement: Placement, layout: Layout, path: Path, format: str) -> int:
        """Write the placed rows as "csv" or "parquet", shuffled; return the number of rows; `OSError` if it fails."""

    def placed_rows(self, placement: Placement, layout: Layout) -> pa.Table:
        """Return the placed rows in the order in which `write` writes them: texts, neutral columns with their types."""

    def lists(self, column: str) -> CountedLists:
        """Count the distinct lists of a column."""

    def gathered(self, who: str, item: str) -> CountedLists:
        """Count the distinct lists that rows of (who, item) make: a record is all rows of one text in `who`.

        Records are numbered by their first rows, items as their rows stand; where rows have no order, items are in
        that of their texts. A missing item is none; a row that does not say whose it is, is an error, unless the rows
        are read as they stand.
        """


@runtime_checkable
class KeepsOrder(Protocol):
    """An engine whose rows have an order that it can hand over."""

    def texts_in_order(self, columns: Sequence[str], most: int | None = None) -> pa.Table:
        """Return the texts of some columns (null: missing), row by row as they stand: all, or at most so many."""


def too_many_pairs(origin: str, column: str, number: int, most: int) -> BadInputError:
    """Say that there are more pairs of a cell and a value than fit into memory, and what to do."""
    return BadInputError(t("engines.too_many_pairs", origin=origin, column=column, number=number, most=most))


def too_many_texts(origin: str, column: str, number: int) -> BadInputError:
    """Say that a column has more values than anybody lists, and what to do."""
    return BadInputError(
        t("engines.too_many_texts", origin=origin, column=column, number=number, most_texts=MOST_TEXTS)
    )


def content_digest(columns: Sequence[str], rows: int, total: int) -> str:
    """Make the digest of a table of the names of its columns, the number of its rows and the sum over them."""
    return hashlib.sha256(repr((sorted(columns), rows, total)).encode()).hexdigest()


def column_pairs(engine: Engine, column: str, link: str) -> CellValues:
    """List which values of one column, whatever its role, the rows of every cell have."""
    tuples = engine.tuples((column,), link)
    return CellValues(tuples.cell, tuples.values[:, 0], tuples.counts, tuples.texts[0])


def numbers_in(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Return the numbers of a column of which none is missing; they cannot be written to."""
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
    """Take the distinct texts of a column and their counts, of rows without an order."""
    table = by_text(table, 1)
    return DistinctValues(table[0].to_pylist(), numbers_in(table[1]), None)


def tuples_in(table: pa.Table) -> Tuples:
    """Take sorted tuples: the number of a cell, texts, and how many rows have them."""
    encoded = [_encoded(column.combine_chunks()) for column in table.columns[1:-1]]
    values = np.empty((table.num_rows, len(encoded)), np.int64)
    for i, (codes, _) in enumerate(encoded):
        values[:, i] = codes
    return Tuples(numbers_in(table[0]), values, numbers_in(table[-1]), [texts for _, texts in encoded])


def lists_in(table: pa.Table) -> CountedLists:
    """Take distinct lists, how many records have each, and where records have an order the first of them."""
    lists = table[0].combine_chunks()
    codes, texts = _encoded(lists.flatten())
    lengths = numbers_in(lists.value_lengths().fill_null(0)).astype(np.int64)
    first = numbers_in(table[2]) if table.num_columns > 2 else None
    return CountedLists(texts, lengths, codes.astype(np.int32), numbers_in(table[1]), first)


def coded_columns(texts: Sequence[pa.Array], codings: Sequence[Coding]) -> list[pa.Array]:
    """Give the texts of columns their codes; none to a text that has none."""
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
    """Number the values of a column in the order of their first appearance; a missing one counts as a value."""
    coded = column.dictionary_encode(null_encoding="encode")
    return numbers_in(coded.indices).astype(np.int64), coded.dictionary.to_pylist()


def received_names(number: int) -> list[str]:
    """Name columns of texts that another engine has sent to DuckDB: no column of a source is called so."""
    return [f"\0{i}" for i in range(number)]


def received(codings: Sequence[Coding]) -> list[Coding]:
    """Code such columns; their texts are what rules have made of them already."""
    names = received_names(len(codings))
    return [replace(coding, column=name, rule=None) for coding, name in zip(codings, names, strict=True)]
