"""The verbs on DuckDB: it holds the rows, spills to disk where memory is short, and writes the files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, wraps
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, Self, TypeVar, cast

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.engines.answers import lists_in, tuples_in
from sfumato.engines.duckdb.settling import Settled, settle
from sfumato.engines.duckdb.sources import (
    WHOLE_KINDS,
    Loaded,
    connect,
    load,
    readable,
    unwritable,
    view_parquet,
    viewable,
)
from sfumato.engines.duckdb.statements import (
    column_facts,
    framed,
    gathered_lists,
    literal,
    published,
    runs,
    shuffled,
    unescaped_rows,
)
from sfumato.engines.formulas import unescaped
from sfumato.engines.protocol import (
    DIGITS,
    Coding,
    ColumnFacts,
    CountedCodes,
    CountedLists,
    DistinctValues,
    Layout,
    Placement,
    Reading,
    Texts,
    Tuples,
    content_digest,
)
from sfumato.errors import BadInputError

Verb = TypeVar("Verb", bound=Callable[..., Any])

MOST_ENUMERATED = 20_000
"""Up to about so many distinct texts of a column are counted as an enumeration."""


def translated(verb: Verb) -> Verb:
    """Let a verb fail with errors of our own."""

    @wraps(verb)
    def run(engine: DuckDBEngine, *given: Any, **named: Any) -> Any:
        with readable(engine.origin):
            return verb(engine, *given, **named)

    return cast("Verb", run)


class DuckDBEngine:
    """Rows in an in-process DuckDB; columns are called c0, c1, ... inside, so any name is a good name outside."""

    name: ClassVar[str] = "duckdb"

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        names: tuple[str, ...],
        reading: Reading,
        viewed: Path | None = None,
        settled: Settled | None = None,
        notices: tuple[str, ...] = (),
        typed: bool = False,
    ) -> None:
        self.columns = names
        self.origin, self.na, self.notices = reading.origin, reading.na, notices
        self._settled = settled or Settled()
        self.notations = self._settled.notations
        self._connection = connection
        self._reading = reading
        self._as_it_stands = reading.as_it_stands
        self._typed, self._as_written = typed, reading.as_written
        self._viewed = viewed
        self._links = count()
        self._lock = Lock()

    @classmethod
    def takes(cls, source: Any) -> bool:
        """Take every source: what is neither a file nor a frame is refused when it is opened."""
        return True

    @classmethod
    def open(cls, source: Any, reading: Reading) -> Self:
        """Load a file (delimited text, JSON, Parquet, a workbook, ...) or a frame that speaks the Arrow interface.

        A Parquet file whose values are only counted is not loaded.
        """
        connection, viewed = connect(reading), viewable(source, reading)
        with readable(reading.origin):
            if viewed:
                loaded = Loaded(view_parquet(connection, source, reading.columns))
            else:
                loaded = load(connection, source, reading)
            names = loaded.names
            if reading.escaped and reading.layout != "lines":
                names = _unescape(connection, names, reading.origin)
            settled = settle(connection, names, reading, loaded.trims) if reading.settles else Settled()
            settled.change(connection, len(names), viewed)
        notices = (*loaded.notices, *settled.notices)
        return cls(connection, names, reading, Path(source) if viewed else None, settled, notices, loaded.typed)

    @classmethod
    def landed(
        cls, batches: pa.RecordBatchReader, kinds: Mapping[str, str], reading: Reading
    ) -> tuple[DuckDBEngine, str]:
        """Take rows that another engine has counted, and return their link too.

        They come with the number of their cell and with columns by the names in `kinds`, to become these types.
        """
        connection = connect()
        connection.register("incoming", batches)
        listed = ", ".join(["cell", *(f"c{i}::{kind} AS c{i}" for i, kind in enumerate(kinds.values()))])
        with readable(reading.origin):
            connection.execute(f"CREATE TABLE arrived AS SELECT {listed} FROM incoming")
        connection.unregister("incoming")
        connection.execute("CREATE VIEW rows AS SELECT * EXCLUDE (cell), rowid FROM arrived")
        connection.execute("CREATE VIEW link AS SELECT rowid AS line, cell FROM arrived")
        return cls(connection, tuple(kinds), replace(reading, as_written=())), "link"

    # -- the verbs -----------------------------------------------------------------------------------------

    @cached_property
    @translated
    def _kinds(self) -> Mapping[str, str]:
        """The types of all columns."""
        kinds = self._connection.sql("SELECT * FROM rows").types
        return dict(zip(self.columns, map(str, kinds[: len(self.columns)]), strict=True))

    @property
    def nested(self) -> Mapping[str, str]:
        """The columns that hold lists, records or bytes, with their types."""
        return {n: kind for n, kind in self._kinds.items() if kind.startswith(WHOLE_KINDS) or kind.endswith("]")}

    @property
    def texts(self) -> frozenset[str]:
        """The columns that are texts by the types of the source, or because somebody says so."""
        typed = {name for name, kind in self._kinds.items() if kind == "VARCHAR"} if self._typed else set()
        return frozenset(typed - self.notations.keys() | set(self._as_written))

    @cached_property
    @translated
    def row_count(self) -> int:
        """The number of rows that were read."""
        return int(self._connection.execute("SELECT count(*) FROM rows").fetchall()[0][0])

    @translated
    def digest(self) -> str:
        """Return a digest of names and values, whatever the order of rows and columns."""
        row = framed([self._text(name) for name in sorted(self.columns)])
        query = f"SELECT sum(('0x' || left(md5({row}), {DIGITS}))::BIGINT) FROM rows"
        total = self._connection.execute(query).fetchall()[0][0] or 0
        return content_digest(self.columns, self.row_count, int(total))

    def distinct(self, column: str, complete: Sequence[str] = ()) -> DistinctValues:
        """List the distinct values of a column, in ascending order of their text."""
        return self._distinct(column, " AND ".join(f"{self._text(name)} IS NOT NULL" for name in complete) or "true")

    def sample(self, column: str, rows: int) -> DistinctValues:
        """List the distinct values of a column among about this many rows, the same at every call."""
        every = -(-self.row_count // rows)
        return self._distinct(column, "true" if every == 1 else f"hash(rowid) % {every} = 0")

    @translated
    def facts(self, column: str) -> ColumnFacts:
        """Say what the whole of a column is like, in one pass."""
        return ColumnFacts(*self._connection.execute(column_facts(self._text(column))).fetchall()[0])

    @translated
    def _distinct(self, column: str, kept: str) -> DistinctValues:
        text = self._text(column)
        query = f"SELECT {text}, count(*), min(rowid) + 1 FROM rows WHERE {kept} GROUP BY ALL ORDER BY 1 NULLS LAST"
        table = self._connection.sql(query).to_arrow_table()
        return DistinctValues(table[0].to_pylist(), table[1].to_numpy(), table[2].to_numpy())

    def count_texts(self, columns: Sequence[str], complete: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Count the distinct tuples of texts of some columns (null: missing); the last column is the count.

        DuckDB keeps the memory of a large GROUP BY until its database is closed, so a file that is only viewed is
        counted in a database of its own; there columns with few texts become enumerations, which take a third of the
        memory and come out as dictionaries.
        """
        texts = [self._text(name) for name in columns]
        kept = " AND ".join(f"{self._text(name)} IS NOT NULL" for name in complete) or "true"

        def query(texts: Sequence[str]) -> str:
            listed = [f"{text} AS t{i}" for i, text in enumerate(texts)]
            return f"SELECT {', '.join([*listed, 'count(*) AS n'])} FROM rows WHERE {kept} GROUP BY ALL"

        with readable(self.origin):
            if self._viewed is None:
                yield from self._connection.sql(query(texts)).to_arrow_reader(1 << 17)
                return
            with connect(self._reading) as connection:
                view_parquet(connection, self._viewed)
                self._settled.change(connection, len(self.columns), viewed=True)
                yield from connection.sql(query(enumerated(connection, texts))).to_arrow_reader(1 << 17)

    @translated
    def count_cells(self, codings: Sequence[Coding]) -> CountedCodes:
        """Count the distinct tuples of codes; rows with a text that has no code are dropped and counted."""
        columns, joins = [], []
        for i, coding in enumerate(codings):
            texts = [text for text in coding.codes if text is not None]
            codes = [coding.codes[text] for text in texts]
            lookup = pa.table({"text": pa.array(texts, pa.string()), "code": pa.array(codes, pa.int32())})
            self._replace_table(f"coding{i}", lookup)
            text = self._text(coding.column)
            missing = coding.codes.get(None)
            code = (
                f"coding{i}.code"
                if missing is None
                else f"CASE WHEN {text} IS NULL THEN {missing} ELSE coding{i}.code END"
            )
            columns.append(f"({code})::INTEGER AS k{i}")
            joins.append(f"LEFT JOIN coding{i} ON coding{i}.text = {text}")
        names = [f"k{i}" for i in range(len(codings))]
        self._connection.execute("DROP TABLE IF EXISTS coded")
        self._connection.execute(
            f"CREATE TEMP TABLE coded AS SELECT rows.rowid AS line, {', '.join(columns)} FROM rows {' '.join(joins)}"
        )
        complete = " AND ".join(f"{name} IS NOT NULL" for name in names)
        keys = ", ".join(names)
        cells = self._connection.sql(
            f"SELECT {keys}, count(*) AS n FROM coded WHERE {complete} GROUP BY {keys} ORDER BY {keys}"
        ).to_arrow_table()
        matrix = np.empty((cells.num_rows, len(names)), dtype=np.int32)
        for i, name in enumerate(names):
            matrix[:, i] = cells[name].to_numpy()
        counts = cells["n"].to_numpy().astype(np.int64)
        link = self._link(matrix, names)
        return CountedCodes(matrix, counts, self.row_count - int(counts.sum()), link)

    @translated
    def tuples(self, columns: Sequence[str], link: str) -> Tuples:
        """List the tuples of values that the rows of every cell have, in the order of cells and texts."""
        texts = [f"{self._text(column)} AS v{i}" for i, column in enumerate(columns)]
        names = [f"v{i} NULLS LAST" for i in range(len(columns))]
        query = (
            f"SELECT {', '.join([f'{link}.cell', *texts, 'count(*) AS n'])} FROM {link} "
            f"JOIN rows ON rows.rowid = {link}.line GROUP BY ALL ORDER BY {', '.join(['1', *names])}"
        )
        with self._lock:
            table = self._connection.sql(query).to_arrow_table()
        return tuples_in(table)

    @translated
    def write(self, placement: Placement, layout: Layout, path: Path, format: str) -> int:
        """Write the placed rows as "csv" or "parquet", shuffled; return the number of rows."""
        with self._lock:
            return self._save(self._published(placement, layout), list(layout.order), path, format)

    @translated
    def placed_rows(self, placement: Placement, layout: Layout) -> pa.Table:
        """Return the placed rows as `write` writes them, neutral columns with their types."""
        with self._lock:
            table = self._connection.sql(self._published(placement, layout)).to_arrow_table()
        return table.rename_columns(list(layout.order))

    @translated
    def write_table(self, content: pa.Table, path: Path, format: str) -> int:
        """Write a small table of our own making in the same way, its rows shuffled."""
        return self._save(self._shuffled(content), list(content.column_names), path, format)

    @translated
    def shuffled_table(self, content: pa.Table) -> pa.Table:
        """Return a small table of our own making as `write_table` writes it."""
        return self._connection.sql(self._shuffled(content)).to_arrow_table().rename_columns(content.column_names)

    @translated
    def lists(self, column: str) -> CountedLists:
        """Count the distinct lists of a column."""
        return self._lists(f"SELECT c{self.columns.index(column)}::VARCHAR[] AS items, rowid + 1 AS record FROM rows")

    @translated
    def gathered(self, who: str, item: str) -> CountedLists:
        """Count the distinct lists that rows of (who, item) make, the records numbered by their first rows."""
        owner, text = self._text(who), self._text(item)
        if not self._as_it_stands:
            lost = self._connection.execute(
                f"SELECT rowid + 1, {text} FROM rows WHERE {owner} IS NULL ORDER BY rowid LIMIT 1"
            ).fetchall()
            for number, label in lost:
                raise BadInputError(
                    f"{self.origin}, row {number}: {who!r} is missing, so nobody knows whose {label!r} it is"
                )
        return self._lists(gathered_lists(owner, text))

    # -- how ---------------------------------------------------------------------------------------------------

    def _published(self, placement: Placement, layout: Layout) -> str:
        """Place the rows, and write the query that gives them as they are published."""
        self._place(placement, layout.neutral)
        self._register_texts(layout)
        return published(layout, self.columns)

    def _shuffled(self, content: pa.Table) -> str:
        """Write the query that gives a table in an order that depends on nothing but what its rows show."""
        outputs = [f"o{i}" for i in range(content.num_columns)]
        self._replace_table("content", content.rename_columns(outputs))
        return f"SELECT {', '.join(outputs)} FROM content ORDER BY {shuffled(outputs)}"

    def _text(self, column: str) -> str:
        return f"rows.c{self.columns.index(column)}::VARCHAR"

    def _lists(self, records: str) -> CountedLists:
        """Count equal lists among those that a query gives with the numbers of their records."""
        table = self._connection.sql(
            f"SELECT items, count(*), min(record) AS first FROM ({records}) GROUP BY items ORDER BY first"
        ).to_arrow_table()
        return lists_in(table)

    def _replace_table(self, name: str, content: pa.Table) -> None:
        self._connection.register("incoming", content)
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM incoming")
        self._connection.unregister("incoming")

    def _link(self, codes: NDArray[np.int32], names: list[str]) -> str:
        """Keep for every row the number of its cell, under a name of its own."""
        link = f"link{next(self._links)}"
        cells = {name: pa.array(codes[:, i]) for i, name in enumerate(names)}
        cells["cell"] = pa.array(np.arange(len(codes), dtype=np.int64))
        self._replace_table("cells", pa.table(cells))
        same = " AND ".join(f"coded.{name} = cells.{name}" for name in names)
        self._connection.execute(f"CREATE TEMP TABLE {link} AS SELECT line, cell FROM coded JOIN cells ON {same}")
        self._connection.execute("DROP TABLE coded")
        self._connection.execute("DROP TABLE cells")
        return link

    def _place(self, placement: Placement, neutral: Sequence[str]) -> None:
        """Give every row its group. Rows of a cell that is split are told apart by their neutral values only."""
        order = np.lexsort((placement.group, placement.cell))
        cell, group, number = placement.cell[order], placement.group[order], placement.count[order]
        ends = np.cumsum(number)
        starts_of_cell = np.flatnonzero(np.r_[True, cell[1:] != cell[:-1]]) if len(cell) else np.array([], int)
        before = np.repeat((ends - number)[starts_of_cell], np.diff(np.r_[starts_of_cell, len(cell)]))
        parts = {"cell": cell, "grp": group, "first": ends - number - before, "last": ends - before}
        self._replace_table("parts", pa.table({name: pa.array(values) for name, values in parts.items()}))
        texts = ", ".join(self._text(name) for name in neutral)
        link = placement.link
        within = f"row_number() OVER (PARTITION BY {link}.cell ORDER BY {texts or 'NULL'}) - 1"
        self._connection.execute(
            f"CREATE OR REPLACE TEMP TABLE numbered AS SELECT {link}.line, {link}.cell, {within} AS place "
            f"FROM {link} JOIN rows ON rows.rowid = {link}.line"
        )
        self._connection.execute(
            "CREATE OR REPLACE TEMP TABLE placed AS SELECT numbered.line, numbered.cell, parts.grp FROM numbered "
            "JOIN parts ON parts.cell = numbered.cell AND numbered.place >= first AND numbered.place < last"
        )
        self._connection.execute("DROP TABLE numbered")

    def _register_texts(self, layout: Layout) -> None:
        groups = {f"t{i}": _dictionary(column) for i, column in enumerate(layout.by_group)}
        if layout.group_labels is not None:
            groups["label"] = pa.array(layout.group_labels)
        cells = {f"t{i}": _dictionary(column) for i, column in enumerate(layout.by_cell)}
        for key, columns in (("grp", groups), ("cell", cells)):
            if columns:
                number = pa.array(np.arange(len(next(iter(columns.values()))), dtype=np.int64))
                self._replace_table(f"{key}_texts", pa.table({key: number, **columns}))

    def _save(self, query: str, names: list[str], path: Path, format: str) -> int:
        save = self._save_parquet if format == "parquet" else self._save_csv
        try:
            return save(query, names, str(path))
        except (duckdb.Error, pa.ArrowException) as error:
            raise unwritable(error) from None

    def _save_csv(self, query: str, names: list[str], temporary: str) -> int:
        header = ", ".join(literal(name) for name in names)
        texts = ", ".join(f"o{i}::VARCHAR" for i in range(len(names)))
        if len(names) == 1:  # a missing value alone would be an empty line, which readers skip
            texts = "coalesce(o0::VARCHAR, '')"
        columns = ", ".join(f"h{i}" for i in range(len(names)))
        body = f"SELECT {texts} FROM ({query})"
        written = self._connection.execute(
            f"COPY (FROM (VALUES ({header})) AS header({columns}) UNION ALL ({body})) TO {literal(temporary)} "
            f"(FORMAT csv, USE_TMP_FILE false, HEADER false, DELIMITER ',', QUOTE '\"', ESCAPE '\"')"
        ).fetchall()
        return int(written[0][0]) - 1

    def _save_parquet(self, query: str, names: list[str], temporary: str) -> int:
        import pyarrow.parquet as pq  # slow to import, and needed for Parquet files alone

        written = 0
        batches = self._connection.sql(query).to_arrow_reader(1 << 16)
        schema = pa.schema([field.with_name(name) for field, name in zip(batches.schema, names, strict=True)])
        with pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
            for batch in batches:
                writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
                written += batch.num_rows
        return written


def _unescape(connection: duckdb.DuckDBPyConnection, names: Sequence[str], origin: str) -> tuple[str, ...]:
    """Take the marks before formulas away; a formula without one says that the file was not written so."""
    for i, name in enumerate(names):
        bare = connection.execute(f"SELECT any_value(c{i}) FROM rows WHERE {runs(f'c{i}')}").fetchall()[0][0]
        if bare is not None:
            raise BadInputError(
                f"{origin}, column {name!r}: {bare!r} is a formula, so this file was not written with "
                "--escape-formulas; leave --escaped-formulas out"
            )
    connection.execute(f"CREATE OR REPLACE TABLE rows AS {unescaped_rows(len(names))}")
    return tuple(map(unescaped, names))


def enumerated(connection: duckdb.DuckDBPyConnection, texts: Sequence[str]) -> list[str]:
    """Cast those of some expressions over `rows` that have few distinct texts to enumerations."""
    if not texts:
        return []
    numbers = connection.execute(
        f"SELECT {', '.join(f'approx_count_distinct({text})' for text in texts)} FROM rows"
    ).fetchall()[0]
    cast = []
    for i, (text, number) in enumerate(zip(texts, numbers, strict=True)):
        if number <= MOST_ENUMERATED:
            connection.execute(
                f"CREATE TYPE enumeration{i} AS ENUM (SELECT DISTINCT {text} FROM rows WHERE {text} IS NOT NULL)"
            )
        cast.append(f"{text}::enumeration{i}" if number <= MOST_ENUMERATED else text)
    return cast


def _dictionary(column: Texts) -> pa.Array:
    return pa.DictionaryArray.from_arrays(
        pa.array(column.codes, pa.int32()), pa.array(list(column.texts), pa.string())
    ).cast(pa.string())
