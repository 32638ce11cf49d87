"""The verbs on DuckDB: it reads rows in place, works on disk if memory is short, and writes the files.

Nothing is stored for single rows. A verb that needs the cells of rows computes their codes again, with small tables of
the values of each column. This is cheaper than writing and reading a table of all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, wraps
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, Self, TypeVar, cast
from weakref import finalize

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.engines import protocol
from sfumato.engines._text_files import unescaped
from sfumato.engines.duckdb import grouped
from sfumato.engines.duckdb.grouped import unescaped as without_mark
from sfumato.engines.duckdb.sources import WHOLE_KINDS, LoadedRows, connect, load, readable
from sfumato.engines.duckdb.values import Settled, count_values, settle
from sfumato.engines.duckdb.write import (
    MANY_ROWS,
    ROWS_AT_ONCE,
    numbered_rows,
    parts_of,
    plain,
    save,
    shown_rows,
    text_tables,
)
from sfumato.engines.protocol import (
    DIGITS,
    WEIGHTS,
    Coding,
    ColumnFacts,
    CountedCodes,
    CountedLists,
    DistinctValues,
    Layout,
    Pairs,
    PersonCounts,
    Placement,
    Reading,
    Rule,
    Tuples,
    coded_columns,
    content_digest,
    lists_in,
    number_column,
    numbers_in,
    text_column,
    too_many_texts,
    tuples_in,
)
from sfumato.runtime.arrays import Counts
from sfumato.texts.catalogue import refusal

Verb = TypeVar("Verb", bound=Callable[..., Any])

MOST_ENUMERATED = 20_000
"""The most distinct texts of a column that are sent as a dictionary with every batch."""

TUPLES_AT_ONCE = 1 << 17
"""The number of tuples in a batch."""

MOST_NUMBERED = 1_000_000
"""The most rows for which the first row of each value is computed, which costs as much as counting."""

FEW_ROWS = 1000
"""The number of rows that are read before all are."""

MOST_DIVERSE = 10_000
"""The least number of distinct values among ten times as many rows for a column with hardly any equal ones."""


def translated(verb: Verb) -> Verb:
    """Make a verb raise our own errors."""

    @wraps(verb)
    def run(engine: DuckDBEngine, *given: Any, **named: Any) -> Any:
        with readable(engine.origin):
            return verb(engine, *given, **named)

    return cast("Verb", run)


class DuckDBEngine:
    """Rows in an in-process DuckDB; columns have internal names c0, c1, ..., so any name is valid outside."""

    name: ClassVar[str] = "duckdb"

    def __init__(self, connection: duckdb.DuckDBPyConnection, reading: Reading, loaded: LoadedRows) -> None:
        self.columns = loaded.names
        self.origin, self.na = reading.origin, reading.na
        self._small = count_values(connection, len(loaded.names)) if loaded.trims else {}
        settled = Settled()
        if reading.settles:
            settled = settle(connection, loaded.names, reading, loaded.trims, loaded.values, self._small)
        self.notices = (*loaded.notices, *settled.notices)
        self.notations = settled.notations
        self._values = {**loaded.values, **settled.expressions}
        self._connection = connection
        self._as_it_stands = reading.as_it_stands
        self._times = ["times"] if loaded.counted else []
        self._number = "sum(times)::BIGINT" if loaded.counted else "count(*)"
        self._typed, self._as_written = loaded.typed, reading.as_written
        self._files = {path: _stamp(path) for path in loaded.files}
        self._numbers = count()
        self._tables: dict[tuple[str, str, Rule | None], str] = {}
        self._texts: dict[tuple[str, str], tuple[grouped.CodedColumn, str]] = {}
        self._links: dict[str, tuple[grouped.Packing, NDArray[np.int64]]] = {}
        self._unlinked: dict[str, tuple[tuple[Coding, ...], list[NDArray[np.int64]]]] = {}
        self._last: tuple[tuple[Coding, ...], grouped.Packing, str] | None = None
        self._lock = Lock()
        finalize(self, _close, connection, loaded.store)

    @classmethod
    def takes(cls, source: Any) -> bool:
        """Accept every source: opening refuses other objects than files and frames."""
        return True

    @classmethod
    def open(cls, source: Any, reading: Reading) -> Self:
        """Open files, a table of a database, a URL, or a frame with the Arrow interface.

        Parquet and databases are read in place; everything else is loaded, to disk if it is large.
        """
        connection = connect(reading)
        with readable(reading.origin):
            loaded = load(connection, source, reading)
            if reading.escaped and reading.layout != "lines":
                loaded = _unescaped(connection, loaded, reading.origin)
            return cls(connection, reading, loaded)

    @classmethod
    def receive(
        cls, batches: pa.RecordBatchReader, kinds: Mapping[str, str], reading: Reading, counted: bool = False
    ) -> Self:
        """Load rows of another engine, or tuples with their counts: columns of these names and types."""
        connection = connect(reading)
        connection.register("incoming", batches)
        names = [f"c{i}" for i in range(len(kinds))] + ["times"] * counted
        columns = [f"{name}::{kind} AS {name}" for name, kind in zip(names, [*kinds.values(), "BIGINT"], strict=False)]
        with readable(reading.origin):
            connection.execute(
                f"CREATE TABLE rows AS SELECT {', '.join(columns)} FROM incoming AS t({', '.join(names)})"
            )
        connection.unregister("incoming")
        return cls(connection, replace(reading, notations=False), LoadedRows(tuple(kinds), counted=counted))

    # -- the verbs -----------------------------------------------------------------------------------------

    @cached_property
    @translated
    def _kinds(self) -> Mapping[str, str]:
        """The types of all columns."""
        kinds = self._connection.sql("SELECT * FROM rows").types
        return dict(zip(self.columns, map(str, kinds[: len(self.columns)]), strict=True))

    @property
    def nested(self) -> Mapping[str, str]:
        """The columns of lists, records or bytes, with their types."""
        return {n: kind for n, kind in self._kinds.items() if kind.startswith(WHOLE_KINDS) or kind.endswith("]")}

    @property
    def texts(self) -> frozenset[str]:
        """The columns that are texts by the types of the source, or by declaration."""
        typed = {name for name, kind in self._kinds.items() if kind == "VARCHAR"} if self._typed else set()
        return frozenset(typed - self.notations.keys() | set(self._as_written))

    @cached_property
    @translated
    def row_count(self) -> int:
        """The number of rows."""
        return int(self._connection.execute(f"SELECT {self._number} FROM rows").fetchall()[0][0] or 0)

    @translated
    def digest(self, columns: Sequence[str] = ()) -> str:
        """Return a digest of names and values of some columns, or all; equal rows are counted before hashing."""
        names = sorted(columns or self.columns)
        if any(self._is_diverse(name) for name in names):  # then hardly any rows are equal
            row = grouped.framed([self._text(name) for name in names])
            query = f"SELECT sum(('0x' || left(md5({row}), {DIGITS}))::BIGINT) FROM rows"
            total = self._connection.execute(query).fetchall()[0][0] or 0
            return content_digest(names, self.row_count, int(total))
        packing, tables = self._texts_packing(names, "true")
        texts = [f"{table}.text" for table in tables]
        number = f"('0x' || left(md5({grouped.framed(texts)}), {DIGITS}))::BIGINT::HUGEINT"
        found = " ".join(
            f"JOIN {table} ON {table}.code = {code}" for table, code in zip(tables, packing.codes, strict=True)
        )
        query = f"SELECT sum(n * {number}) FROM ({self._counted(packing, 'true')}) {found}"
        total = self._connection.execute(query).fetchall()[0][0] or 0
        return content_digest(names, self.row_count, int(total))

    def distinct(self, column: str, complete: Sequence[str] = ()) -> DistinctValues:
        """List the distinct values of a column, in ascending order of their text."""
        return self._distinct(column, self._complete(complete))

    def distinct_by(self, rule: Rule, column: str, complete: Sequence[str] = ()) -> DistinctValues:
        """List the results of a rule for the texts of a column, each with its number of texts."""
        return self._distinct(column, self._complete(complete), rule)

    @translated
    def all_different(self, columns: Sequence[str]) -> list[str]:
        """Return those of some columns whose values are all different; the first rows exclude most.

        Counting the distinct values of hundreds of columns at once takes DuckDB minutes.
        """
        if not columns:
            return []
        texts = ", ".join(f"{self._text(name)} AS v{i}" for i, name in enumerate(columns))
        few = self._connection.sql(f"SELECT {texts} FROM rows LIMIT {FEW_ROWS}").to_arrow_table()
        numbers = [pc.count_distinct(values, mode="all").as_py() for values in few.columns]
        left = [name for name, number in zip(columns, numbers, strict=True) if number == few.num_rows]
        counted = (f"count(DISTINCT {self._text(name)}) + max(({self._text(name)} IS NULL)::INTEGER)" for name in left)
        whole = [self._connection.execute(f"SELECT {number} FROM rows").fetchall()[0][0] for number in counted]
        return [name for name, number in zip(left, whole, strict=True) if number == self.row_count]

    def sample(self, column: str, rows: int) -> DistinctValues:
        """List the distinct values of a column among about this many rows, the same at every call."""
        every = -(-self.row_count // rows)
        return self._distinct(column, "true" if every == 1 else f"hash(rowid) % {every} = 0")

    @translated
    def facts(self, column: str) -> ColumnFacts:
        """Return facts of a whole column, in one pass."""
        return ColumnFacts(*self._connection.execute(grouped.column_facts(self._text(column))).fetchall()[0])

    @translated
    def _distinct(self, column: str, kept: str, rule: Rule | None = None) -> DistinctValues:
        if kept == "true" and rule is None and self._value(column) in self._small:
            table = self._small[self._value(column)].values
            return DistinctValues(table["t"].to_pylist(), numbers_in(table["n"]), numbers_in(table["first"]))
        values = self._values_of(column, kept, rule)
        if self.row_count > protocol.MOST_TEXTS:
            number = self._connection.execute(f"SELECT count(*) FROM {values}").fetchall()[0][0]
            if number > protocol.MOST_TEXTS:
                raise too_many_texts(self.origin, column, number)
        numbered = self.row_count <= MOST_NUMBERED
        _, alias, text = self._keyed(column, rule)
        told = f"sum(n)::BIGINT AS n, {'min(first)' if numbered else 'NULL'} AS first, sum(kinds)::BIGINT AS kinds"
        query = f"SELECT t, {told} FROM {values} GROUP BY t ORDER BY t NULLS LAST"
        if text == alias and numbered:  # every value is its text, so every text is in one row
            query = f"SELECT t, n, first, kinds::BIGINT AS kinds FROM {values} ORDER BY t NULLS LAST"
        table = self._connection.sql(query).to_arrow_table()
        first = numbers_in(table["first"]) if numbered else None
        kinds = None if rule is None else numbers_in(table["kinds"])
        return DistinctValues(table["t"].to_pylist(), numbers_in(table["n"]), first, kinds)

    def count_texts(self, columns: Sequence[str], complete: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Count the distinct tuples of texts of some columns (null: missing); the last column is the count.

        Texts get codes, and rows are grouped by these; columns with few texts come as dictionaries. Tuples are sorted
        by their texts, so callers that group them need no sort.
        """
        with readable(self.origin):
            with self._lock:  # several workers compare external files with the table at once
                kept = self._complete(complete)
                packing, tables = self._texts_packing(columns, kept)
                texts = [self._connection.sql(f"SELECT text FROM {t} ORDER BY code").to_arrow_table() for t in tables]
                counted = self._connection.sql(self._counted(packing, kept)).to_arrow_table()
            dictionaries = [listed.column(0).combine_chunks() for listed in texts]
            names = [*(f"t{i}" for i in range(len(columns))), "n"]
            keys, counts = grouped.in_order(counted, len(packing.names))
            del counted
            for start in range(0, len(counts), TUPLES_AT_ONCE):
                some = slice(start, start + TUPLES_AT_ONCE)
                codes = packing.unpacked([key[some] for key in keys])
                listed = [_listed(codes[:, i], texts) for i, texts in enumerate(dictionaries)]
                yield pa.RecordBatch.from_arrays([*listed, number_column(counts[some])], names)

    @translated
    def texts_in_order(self, columns: Sequence[str], most: int | None = None) -> pa.Table:
        """Return the texts of some columns in row order: all, or at most so many."""
        texts = ", ".join(f"{self._text(name)} AS v{i}" for i, name in enumerate(columns))
        limit = "" if most is None else f" LIMIT {most:d}"
        with self._lock:
            table = self._connection.sql(f"SELECT {texts} FROM rows ORDER BY rowid{limit}").to_arrow_table()
        return table.rename_columns(list(columns))

    @translated
    def count_cells(self, codings: Sequence[Coding]) -> CountedCodes:
        """Count the distinct tuples of codes; rows with a text that has no code are dropped and counted."""
        if (self._small or self._times) and not any(coding.rule for coding in codings):
            packing = grouped.packing_of(codings)
            keys, counts = self._counted_here(codings, packing)
            link = self._link_later(codings, keys, counts)
        else:
            packing, table = self._counted_table(tuple(codings))
            counted = self._connection.sql(f"SELECT * FROM {table}").to_arrow_table()
            self._forget_counted()
            keys, counts = grouped.in_order(counted, len(packing.names))
            link = f"link{next(self._numbers)}"
            self._link_cells(link, packing, keys)
            self._links[link] = packing, counts
        return CountedCodes(packing.unpacked(keys), counts, self.row_count - int(counts.sum()), link)

    def link(self, codings: Sequence[Coding], cells: CountedCodes) -> str:
        """Register cells that were counted elsewhere; return the name of the link from these rows to them."""
        return self._link_later(codings, grouped.packing_of(codings).packed(list(cells.codes.T)), cells.counts)

    @translated
    def cell_number(self, codings: Sequence[Coding]) -> int:
        """Count the distinct tuples of codes; the result is kept for `count_cells`."""
        _, table = self._counted_table(tuple(codings))
        return int(self._connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])

    @translated
    def tuples(self, columns: Sequence[str], link: str) -> Tuples:
        """List the tuples of values that the rows of every cell have, in the order of cells and texts."""
        texts = [f"{self._text(column)} AS v{i}" for i, column in enumerate(columns)]
        names = [f"v{i} NULLS LAST" for i in range(len(columns))]
        with self._lock:
            query = (
                f"SELECT {', '.join(['cell', *texts, f'{self._number} AS n'])} {self._linked(link)} "
                f"GROUP BY ALL ORDER BY {', '.join(['cell', *names])}"
            )
            table = self._connection.sql(query).to_arrow_table()
        return tuples_in(table)

    @translated
    def pairs(self, column: str, link: str, most: int, cells: Counts | None = None) -> Pairs | int:
        """Count the pairs of a cell and a value: values are numbered once, so that no text of a pair leaves DuckDB."""
        with self._lock:
            linked = self._linked(link, self._sent(cell=cells) if cells is not None else None)
            made = f"SELECT cell, {self._text(column)} AS t, {self._number} AS n {linked} GROUP BY ALL"
            self._connection.execute(f"CREATE OR REPLACE TEMP TABLE pairs AS {made}")
            number = self._connection.execute("SELECT count(t) FROM pairs").fetchall()[0][0]
            if number > most:
                self._connection.execute("DROP TABLE pairs")
                return int(number)
            numbered = "SELECT t, row_number() OVER (ORDER BY t) - 1 AS u FROM (SELECT DISTINCT t FROM pairs)"
            query = f"SELECT cell, u, n FROM pairs JOIN ({numbered}) USING (t)"
            table = self._connection.sql(query).to_arrow_table()
            self._connection.execute("DROP TABLE pairs")
        return Pairs(*map(numbers_in, table.columns))

    @translated
    def person_counts(self, column: str, link: str, group: NDArray[np.int64], value: NDArray[np.int64]) -> PersonCounts:
        """Count the persons that a column names, by the group and the value of each cell; group -1 is skipped."""
        kept = np.flatnonzero(group >= 0)
        with self._lock:
            linked = self._linked(link, self._sent(cell=kept, g=group[kept], v=value[kept]))
            held = f"SELECT g, v, {self._text(column)} AS t, {self._number} AS n {linked} GROUP BY ALL"
            query = WEIGHTS.format(whole="n * 1099511627776 // total", rows=f"({held}) WHERE t IS NOT NULL")
            table = self._connection.sql(query).to_arrow_table()
        return PersonCounts(*(values.to_numpy() for values in table.columns))

    @translated
    def write(self, placement: Placement, layout: Layout, path: Path, format: str) -> int:
        """Write the placed rows as "csv" or "parquet", shuffled; return the number of rows."""
        with self._lock:
            return save(self._connection, self._published(placement, layout), list(layout.order), path, format)

    @translated
    def placed_rows(self, placement: Placement, layout: Layout) -> pa.Table:
        """Return the placed rows as `write` writes them, neutral columns with their types."""
        with self._lock:
            rows = self._published(placement, layout)
            table = self._connection.sql(rows).to_arrow_table() if isinstance(rows, str) else rows.read_all()
            table = table.cast(plain(table.schema))
        return table.rename_columns(list(layout.order))

    @translated
    def lists(self, column: str) -> CountedLists:
        """Count the distinct lists of a column."""
        return self._lists(f"SELECT c{self.columns.index(column)}::VARCHAR[] AS items, rowid + 1 AS record FROM rows")

    @translated
    def gathered(self, who: str, item: str) -> CountedLists:
        """Count the distinct lists of rows of (who, item), the records numbered by their first rows."""
        owner, text = self._text(who), self._text(item)
        if not self._as_it_stands:
            lost = self._connection.execute(
                f"SELECT rowid + 1, {text} FROM rows WHERE {owner} IS NULL ORDER BY rowid LIMIT 1"
            ).fetchall()
            for number, label in lost:
                raise refusal("missing_nobody_knows_whose", origin=self.origin, number=number, who=who, label=label)
        return self._lists(grouped.gathered_lists(owner, text))

    # -- values and their texts --------------------------------------------------------------------------------

    def _value(self, column: str) -> str:
        """Return the SQL of a neutral column's published value."""
        base = f"c{self.columns.index(column)}"
        return self._values.get(base, base)

    def _text(self, column: str) -> str:
        return f"({self._value(column)})::VARCHAR"

    def _complete(self, columns: Sequence[str]) -> str:
        return " AND ".join(f"{self._text(name)} IS NOT NULL" for name in columns) or "true"

    def _keyed(self, column: str, rule: Rule | None = None) -> tuple[str, str, str]:
        """Return the SQL of a grouping key, its name afterwards, and its text.

        The stored values are grouped if they distinguish texts, so that texts are made from distinct values.
        """
        base, kind, text = f"c{self.columns.index(column)}", self._kinds[column], self._text(column)
        if rule is not None:
            return grouped.ruled(text, rule), "value", "value"
        if grouped.KEYED_BY_VALUE.match(kind) and not kind.endswith("]"):
            return base, base, text
        return text, "value", "value"

    def _is_diverse(self, column: str) -> bool:
        """Return whether a column has so many values that rows are hardly ever equal; decided by the first rows."""
        if not self._keyed(column)[0].startswith("c"):
            return True
        few = f"SELECT {self._keyed(column)[0]} AS v FROM rows LIMIT {10 * MOST_DIVERSE}"
        return bool(
            self._connection.execute(f"SELECT count(DISTINCT v) > {MOST_DIVERSE} FROM ({few})").fetchall()[0][0]
        )

    # -- codes -------------------------------------------------------------------------------------------------

    def _values_of(self, column: str, kept: str = "true", rule: Rule | None = None) -> str:
        """Create a table of the distinct values of a column with their texts and counts, once; return its name.

        Rows are grouped by values, from which texts are made; first rows are omitted for many rows.
        """
        if (column, kept, rule) not in self._tables:
            key, alias, text = self._keyed(column, rule)
            first = ", min(rowid) + 1 AS first" if self.row_count <= MOST_NUMBERED else ""
            kinds = "1" if rule is None else f"count(DISTINCT {self._text(column)})"
            self._tables[column, kept, rule] = self._made(
                f"SELECT {alias} AS value, {text} AS t, * EXCLUDE ({alias}) FROM (SELECT {key} AS {alias}, "
                f"{self._number} AS n, {kinds} AS kinds{first} FROM rows WHERE {kept} GROUP BY {key})"
            )
        return self._tables[column, kept, rule]

    def _texts_packing(self, columns: Sequence[str], kept: str) -> tuple[grouped.Packing, list[str]]:
        """Number the texts of some columns, including the missing one; return also the tables of texts."""
        numbered = [self._numbered_texts(column, kept) for column in columns]
        return grouped.Packing(tuple(coded for coded, _ in numbered)), [texts for _, texts in numbered]

    def _numbered_texts(self, column: str, kept: str) -> tuple[grouped.CodedColumn, str]:
        """Number the texts of a column, once: columns are counted repeatedly with others."""
        if (column, kept) not in self._texts:
            values = self._values_of(column, kept)
            texts = self._made(f"SELECT t AS text, row_number() OVER (ORDER BY t) - 1 AS code FROM {values} GROUP BY t")
            codes = self._made(f"SELECT value, code FROM {values} JOIN {texts} ON text IS NOT DISTINCT FROM t")
            size = self._connection.execute(f"SELECT count(*) FROM {texts}").fetchall()[0][0]
            self._texts[column, kept] = grouped.CodedColumn(codes, self._keyed(column)[0], size), texts
        return self._texts[column, kept]

    def _code(self, coding: Coding) -> grouped.CodedColumn:
        """Give each value of a column the code of its text, if the text has one."""
        texts = [text for text in coding.codes if text is not None]
        numbers = np.array([coding.codes[text] for text in texts], np.int32)
        lookup = pa.table({"text": text_column(texts), "number": number_column(numbers)})
        missing = coding.codes.get(None)
        self._connection.register("lookup", lookup)
        codes = self._made(
            f"SELECT value, CASE WHEN t IS NULL THEN {'NULL' if missing is None else missing} ELSE number END AS code "
            f"FROM {self._values_of(coding.column, rule=coding.rule)} LEFT JOIN lookup ON lookup.text = t"
        )
        self._connection.unregister("lookup")
        return grouped.CodedColumn(
            codes, self._keyed(coding.column, coding.rule)[0], max([*coding.codes.values(), -1]) + 1
        )

    def _made(self, query: str) -> str:
        """Create a small table; return its name."""
        name = f"made{next(self._numbers)}"
        self._connection.execute(f"CREATE TEMP TABLE {name} AS {query}")
        return name

    def _counted(self, packing: grouped.Packing, kept: str) -> str:
        """Return the query that counts the distinct packed codes of rows in which every value has one."""
        keys = [f"{number} AS {name}" for number, name in zip(packing.numbers, packing.names, strict=True)]
        there = " AND ".join(f"{name} IS NOT NULL" for name in packing.names)
        names, read = ", ".join(packing.names), ", ".join(keys + self._times)
        return (
            f"SELECT {names}, {self._number} AS n FROM (SELECT {read} FROM rows {packing.joins} WHERE {kept}) "
            f"WHERE {there} GROUP BY {names}"
        )

    def _counted_table(self, codings: tuple[Coding, ...]) -> tuple[grouped.Packing, str]:
        """Count the distinct packed codes into a table, kept until the next count or use."""
        if self._last is None or self._last[0] != codings:
            self._forget_counted()
            packing = grouped.Packing(tuple(map(self._code, codings)))
            self._last = codings, packing, self._made(self._counted(packing, "true"))
        return self._last[1:]

    def _forget_counted(self) -> None:
        if self._last is not None:
            self._connection.execute(f"DROP TABLE {self._last[2]}")
        self._last = None

    def _counted_here(
        self, codings: Sequence[Coding], packing: grouped.Packing
    ) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
        """Count tuples by their texts, and code these on arrival: a join for every column costs more."""
        names = [*packing.names, "n"]
        parts = [pa.table([number_column(np.zeros(0, np.int64))] * len(names), names)]
        for batch in self._tuples_to_code(codings):
            coded = pa.table([*coded_columns(batch.columns[:-1], codings), batch.columns[-1]], batch.schema.names)
            *codes, counts = map(numbers_in, coded.drop_null().columns)
            parts.append(pa.table(list(map(number_column, [*packing.packed(codes), counts])), names))
        keys, counts = grouped.in_order(pa.concat_tables(parts), len(packing.names))
        first = np.flatnonzero(np.any([np.diff(key, prepend=-1) != 0 for key in keys], axis=0))
        return [key[first] for key in keys], np.add.reduceat(counts, first) if len(first) else counts

    def _tuples_to_code(self, codings: Sequence[Coding]) -> Iterator[pa.RecordBatch]:
        """Yield tuples of texts with their counts: received ones, or every row of a small table, as dictionaries."""
        if self._times:
            texts = ", ".join(f"{self._text(coding.column)} AS t{i}" for i, coding in enumerate(codings))
            yield from self._connection.sql(f"SELECT {texts}, times FROM rows").to_arrow_reader(TUPLES_AT_ONCE)
            return
        columns = []
        for coding in codings:
            base = f"c{self.columns.index(coding.column)}"
            texts = self._small[base].values["t"]
            if self._value(coding.column) != base:
                values = f"(SELECT t AS {base} FROM counted WHERE base = '{base}')"
                texts = self._connection.sql(f"SELECT {self._text(coding.column)} FROM {values}").to_arrow_table()[0]
            columns.append(
                pa.DictionaryArray.from_arrays(number_column(self._small[base].codes), texts.combine_chunks())
            )
        ones = number_column(np.ones(self.row_count, np.int64))
        yield pa.record_batch([*columns, ones], [*(f"t{i}" for i in range(len(codings))), "n"])

    def _link_later(self, codings: Sequence[Coding], keys: list[NDArray[np.int64]], counts: NDArray[np.int64]) -> str:
        """Keep cells by their packed codes until their rows are requested."""
        link = f"link{next(self._numbers)}"
        self._unlinked[link] = tuple(codings), keys
        self._links[link] = grouped.packing_of(codings), counts
        return link

    def _link_cells(self, link: str, packing: grouped.Packing, keys: Sequence[NDArray[np.int64]]) -> None:
        """Create the table by which rows find their cells."""
        cells = {name: number_column(key) for name, key in zip(packing.names, keys, strict=True)}
        self._replace_table(link, pa.table({**cells, "cell": number_column(np.arange(len(keys[0])))}))

    def _linked(self, link: str, parts: str | None = None) -> str:
        """Return the SQL of rows with the number of their cell, as `cell`, and the columns of a table of parts.

        The two tables of cells are joined first, because there are fewer cells than rows.
        """
        packing, sizes = self._links[link]
        if link in self._unlinked:
            codings, keys = self._unlinked.pop(link)
            packing = grouped.Packing(tuple(map(self._code, codings)))
            self._link_cells(link, packing, keys)
            self._links[link] = packing, sizes
        if parts is not None:
            self._connection.execute(f"CREATE OR REPLACE TEMP TABLE linked AS FROM {link} JOIN {parts} USING (cell)")
            link = "linked"
        same = [f"{link}.{name} = {number}" for name, number in zip(packing.names, packing.numbers, strict=True)]
        return f"FROM rows {packing.joins} JOIN {link} ON {' AND '.join(same)}"

    # -- what is published -------------------------------------------------------------------------------------

    def _published(self, placement: Placement, layout: Layout) -> str | pa.RecordBatchReader:
        """Return the published rows: a query, or a stream if that is cheaper."""
        many = int(placement.count.sum()) > MANY_ROWS
        if not layout.neutral:
            return shown_rows(self._connection, placement, layout).batches(layout.order)
        self._check_unchanged()
        if many and not layout.permuted:
            return self._many(placement, layout)
        for name, content in text_tables(layout).items():
            self._replace_table(name, content)
        values = {name: f"n{i}" for i, name in enumerate(layout.neutral)}
        placed = self._placed(placement, placement.group, layout.neutral)
        return grouped.published(layout, placed, values, many)

    def _many(self, placement: Placement, layout: Layout) -> pa.RecordBatchReader:
        """Return many rows as a stream, ordered by their text without neutral columns, then by these.

        Only neutral columns and a number are sorted; the other columns are joined afterwards.
        """
        shown, number = numbered_rows(self._connection, placement, layout)
        neutral = ", ".join(f"n{i}" for i in range(len(layout.neutral)))
        rows = self._connection.sql(
            f"SELECT grp, {neutral} FROM ({self._placed(placement, number, layout.neutral)}) "
            f"ORDER BY grp, {grouped.shuffled([f'n{i}' for i in range(len(layout.neutral))], many=True)}"
        )
        return shown.beside(rows.to_arrow_reader(ROWS_AT_ONCE), layout.neutral, layout.order)

    def _placed(self, placement: Placement, number: NDArray[np.int64], neutral: Sequence[str]) -> str:
        """Return the SQL of rows with cell, neutral columns and the number of their entry, as `grp`.

        Rows of a split cell are distinguished only by their neutral columns.
        """
        parts = parts_of(placement, number, self._links[placement.link][1])
        for table, content in parts.items():
            self._replace_table(table, pa.table({key: number_column(values) for key, values in content.items()}))
        listed = ", ".join(f"{self._value(name)} AS n{i}" for i, name in enumerate(neutral))
        rows = f"SELECT {listed}, cell, grp {self._linked(placement.link, 'whole')}"
        if not len(parts["split"]["cell"]):
            return rows
        texts = ", ".join(self._text(name) for name in neutral)
        within = f"row_number() OVER (PARTITION BY cell ORDER BY {texts}) - 1"
        apart = (
            f"SELECT {listed}, cell, {within} AS place {self._linked(placement.link)} "
            "WHERE cell IN (SELECT cell FROM split)"
        )
        columns = ", ".join(f"n{i}" for i in range(len(neutral)))
        return (
            f"{rows} UNION ALL SELECT {columns}, cell, grp FROM ({apart}) JOIN split USING (cell) "
            "WHERE place >= first AND place < last"
        )

    def _check_unchanged(self) -> None:
        """Raise if a file that is read in place has changed since it was counted."""
        for path, stamp in self._files.items():
            if _stamp(path) != stamp:
                raise refusal("file_changed_since_counted", path=path)

    # -- how ---------------------------------------------------------------------------------------------------

    def _lists(self, records: str) -> CountedLists:
        """Count equal lists among those that a query gives with the numbers of their records."""
        table = self._connection.sql(
            f"SELECT items, count(*), min(record) AS first FROM ({records}) GROUP BY items ORDER BY first"
        ).to_arrow_table()
        return lists_in(table)

    def _sent(self, **columns: Counts) -> str:
        """Create a table of numbers by cell; return its name."""
        self._replace_table("sent", pa.table({name: number_column(numbers) for name, numbers in columns.items()}))
        return "sent"

    def _replace_table(self, name: str, content: pa.Table) -> None:
        self._connection.register("incoming", content)
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM incoming")
        self._connection.unregister("incoming")


def _unescaped(connection: duckdb.DuckDBPyConnection, loaded: LoadedRows, origin: str) -> LoadedRows:
    """Remove the marks before formulas; a formula without mark shows that the file was not escaped."""
    for i, name in enumerate(loaded.names):
        bare = connection.execute(f"SELECT any_value(c{i}) FROM rows WHERE {grouped.runs(f'c{i}')}").fetchall()[0][0]
        if bare is not None:
            raise refusal("engines.column_not_escaped", origin=origin, name=name, bare=bare)
    values = {f"c{i}": without_mark(f"c{i}") for i in range(len(loaded.names))}
    return replace(loaded, names=tuple(map(unescaped, loaded.names)), values=values)


def _stamp(path: Path) -> tuple[int, int]:
    """Return the version of a file: its time and size."""
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def _close(connection: duckdb.DuckDBPyConnection, store: Path | None) -> None:
    """Close a database, and remove its file of rows."""
    connection.close()
    if store is not None:
        store.unlink(missing_ok=True)


def _listed(codes: NDArray[np.int32], texts: pa.Array) -> pa.Array:
    """Return the texts of codes, as a dictionary if there are few."""
    if len(texts) > MOST_ENUMERATED:
        return texts.take(number_column(codes))
    return pa.DictionaryArray.from_arrays(number_column(codes), texts)
