"""The verbs on PostgreSQL: the server counts, and the rows that are published stream into DuckDB, which writes them.

The rows of a cell are found again by their values, not by their places: nothing is numbered, nothing is copied, and a
view will do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from sfumato.engines import protocol
from sfumato.engines.derived import by_text, coded_columns, distinct_in, lists_in, tuples_in
from sfumato.engines.duckdb.connection import connect
from sfumato.engines.duckdb.engine import DuckDBEngine
from sfumato.engines.postgresql.connection import Session, address_of, is_address
from sfumato.engines.postgresql.grouped import column_facts, row_sums, ruled
from sfumato.engines.postgresql.sources import SAMPLED, Read, ServerRelation, find_source, settled
from sfumato.engines.postgresql.values import ColumnKind, kind_of, nested_name
from sfumato.engines.postgresql.write import Landing, ServerLink
from sfumato.engines.protocol import (
    Coding,
    ColumnFacts,
    CountedCodes,
    CountedLists,
    DistinctValues,
    Layout,
    Placement,
    Reading,
    Rule,
    Tuples,
    content_digest,
    too_many_texts,
)
from sfumato.errors import BadInputError

SEED = 20
"""Of samples: the same rows at every call."""

BATCH = 1 << 17
MARK = "v"
"""Stands before texts where the empty one means a missing value."""

FEW_ROWS = 10_000
"""By so many rows most columns are told that have equal values."""


class PostgreSQLEngine:
    """Rows of a table or view on a server; columns are called c0, c1, ... inside, so any name is a good one outside."""

    name: ClassVar[str] = "postgresql"

    def __init__(self, session: Session, source: ServerRelation, reading: Reading) -> None:
        self._session, self._source, self._reading = session, source, reading
        self.columns, self.origin, self.na = source.names, reading.origin, reading.na
        self._read = settled(session, source, reading) if reading.settles else Read()
        self.notices, self.notations = self._read.notices, self._read.notations
        self._rows = source.rows(self._read.tables)
        self._numbers = count()
        self._links: dict[str, ServerLink] = {}
        self._tuples: dict[tuple[tuple[str, Rule | None], ...], str] = {}
        self._made: set[str] = set()

    @classmethod
    def takes(cls, source: Any) -> bool:
        """Take the URL of a server."""
        return is_address(source)

    @classmethod
    def open(cls, source: Any, reading: Reading) -> Self:
        """Open a table on a server: from now on the rows are seen as they are at this moment."""
        if not is_address(source):
            raise BadInputError(f"{reading.origin}: PostgreSQL opens postgresql://host/database#schema.table, not this")
        address = address_of(source, reading.origin)
        if reading.escaped or reading.layout == "lines":
            what = "--escaped-formulas" if reading.escaped else "a basket on every line"
            raise BadInputError(f"{reading.origin}: {what} is about text files, and this is a table; leave it out")
        session = Session(address.uri, reading.origin)
        return cls(session, find_source(session, address, reading), reading)

    # -- the verbs -----------------------------------------------------------------------------------------

    @property
    def nested(self) -> Mapping[str, str]:
        """The columns of arrays, of bytes, and of types whose values have no text that engines share."""
        columns = zip(self.columns, self._source.described, self._source.kinds, strict=True)
        return {name: nested_name(described) for name, described, kind in columns if kind is None}

    @property
    def texts(self) -> frozenset[str]:
        """The columns that are texts by their types, or because somebody says so."""
        typed = {self.columns[place] for place in self._source.texts}
        return frozenset(typed - self.notations.keys() | set(self._reading.as_written))

    @cached_property
    def row_count(self) -> int:
        """The number of rows that are seen."""
        return int(self._session.query(f"SELECT count(*) FROM {self._source.relation}")[0][0].as_py())

    def digest(self, columns: Sequence[str] = ()) -> str:
        """Return a digest of names and values of some columns, or all; of some, equal rows are counted first."""
        names = sorted(columns or self.columns)
        keys = ", ".join(f"c{self.columns.index(name)}" for name in names)
        grouped = f"(SELECT {keys}, count(*) AS n FROM {self._rows} GROUP BY {keys}) AS rows"
        texts = [self._some_text(name) for name in names]
        query = row_sums(texts, grouped, "n") if columns else row_sums(texts, self._rows)
        return content_digest(names, self.row_count, int(self._session.query(query)[0][0].as_py()))

    def distinct(self, column: str, complete: Sequence[str] = ()) -> DistinctValues:
        """List the distinct values of a column, in ascending order of their text."""
        return distinct_in(self._listed(column, self._counting([column], complete, self._rows)))

    def distinct_by(self, rule: Rule, column: str, complete: Sequence[str] = ()) -> DistinctValues:
        """List what a rule makes of the texts of a column, and of how many texts each."""
        counting, text = self._counting([column], complete, self._rows), ruled("t0", rule)
        answer = f"SELECT {text} AS t, sum(n)::int8 AS n, count(t0) AS kinds FROM ({counting}) AS counted GROUP BY 1"
        table = by_text(self._listed(column, answer), 1)
        return replace(distinct_in(table), kinds=table["kinds"].to_numpy())

    def all_different(self, columns: Sequence[str]) -> list[str]:
        """Say which of some columns have another value in every row: a few rows rule most out."""
        for few in (f" LIMIT {FEW_ROWS}", ""):
            if not columns:
                break
            keys = [f"c{self.columns.index(name)}" for name in columns]
            counts = ", ".join(f"count(DISTINCT {key}) + coalesce(max(({key} IS NULL)::int), 0)" for key in keys)
            rows = f"(SELECT {', '.join(dict.fromkeys(keys))} FROM {self._rows}{few}) AS rows"
            answer = self._session.query(f"SELECT count(*), {counts} FROM {rows}")
            number, *different = (values[0].as_py() for values in answer.columns)
            columns = [name for name, values in zip(columns, different, strict=True) if values == number]
        return list(columns)

    def sample(self, column: str, rows: int) -> DistinctValues:
        """List the distinct values of a column among about this many rows, the same at every call; all of a view."""
        if self.row_count <= rows or self._source.relkind not in SAMPLED:
            return self.distinct(column)
        sampled = f"TABLESAMPLE BERNOULLI ({100 * rows / self.row_count}) REPEATABLE ({SEED})"
        return distinct_in(self._counted([column], (), self._source.rows(self._read.tables, sampled)))

    def facts(self, column: str) -> ColumnFacts:
        """Say what the whole of a column is like, in one pass."""
        answer = self._session.query(column_facts(self._text(column), self._rows))
        return ColumnFacts(*(values[0].as_py() for values in answer.columns))

    def count_texts(self, columns: Sequence[str], complete: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Count the distinct tuples of texts of some columns (null: missing); the last column is the count."""
        yield from self._counted(columns, complete, self._rows).to_batches(BATCH)

    def count_cells(self, codings: Sequence[Coding]) -> CountedCodes:
        """Count the distinct tuples of codes; rows with a text that has no code are dropped and counted.

        The server counts tuples of texts, which it does in parallel, and these get their codes here while they come:
        to bring the codes up and join them there was measured to cost more (docs/design.md).
        """
        columns = [coding.column for coding in codings]
        keys = [f"k{i}" for i in range(len(codings))]
        places = [self._kind(column)[0] for column in columns]
        rules = [coding.rule for coding in codings]
        if any(rules) or not self._read.tables.keys().isdisjoint(places):
            counting = self._counting(columns, (), self._rows, rules)
        else:
            counting = self._source.counted(places)
        with connect(self._reading) as local:
            with self._session.stream(counting) as batches:
                local.register("coded", _coded_batches(batches, codings))
                local.execute(
                    f"CREATE TABLE cells AS SELECT {', '.join(keys)}, sum(n)::BIGINT AS n FROM coded "
                    f"WHERE {' AND '.join(f'{key} IS NOT NULL' for key in keys)} GROUP BY {', '.join(keys)}"
                )
            cells = local.sql(f"SELECT * FROM cells ORDER BY {', '.join(keys)}").to_arrow_table()
        matrix = np.stack([cells[key].to_numpy() for key in keys], axis=1)
        counts = cells["n"].to_numpy().astype(np.int64)
        name = f"link{next(self._numbers)}"
        counted = CountedCodes(matrix, counts, self.row_count - int(counts.sum()), name)
        self._links[name] = ServerLink(tuple(codings), counted)
        return counted

    def cell_number(self, codings: Sequence[Coding]) -> int:
        """Count how many distinct tuples of codes there are."""
        keys = ", ".join(f"k{i}" for i in range(len(codings)))
        with self._coded(codings) as coded, self._session.hashing():
            counted = self._session.query(f"SELECT count(*) FROM (SELECT DISTINCT {keys} FROM {coded}) AS cells")
        return int(counted[0][0].as_py())

    def tuples(self, columns: Sequence[str], link: str) -> Tuples:
        """List the tuples of values that the rows of every cell have, in the order of cells and texts."""
        known = self._links[link]
        numbers = [f"p{i}" for i in range(len(known.numbers))]
        keys = list(dict.fromkeys(f"c{self.columns.index(column)}" for column in columns))
        texts = [f"{self._text(column)} AS v{i}" for i, column in enumerate(columns)]
        grouped = ", ".join([*numbers, *keys])
        linked = f"SELECT {', '.join([*known.numbers, *keys])} FROM {self._rows} {self._linked(known)}"
        with self._session.hashing():
            table = self._session.query(
                f"SELECT {', '.join([*numbers, *texts, 'n'])} FROM (SELECT {grouped}, count(*) AS n FROM ({linked}) "
                f"AS linked GROUP BY {grouped}) AS rows"
            )
        cell = known.cells([table[number].to_numpy() for number in numbers])
        table = table.drop_columns(numbers).add_column(0, "cell", pa.array(cell))
        return tuples_in(by_text(table, 1 + len(columns)))

    def write(self, placement: Placement, layout: Layout, path: Path, format: str) -> int:
        """Write the placed rows as "csv" or "parquet", shuffled; return the number of rows."""
        landed = self._landed(placement.link, layout.neutral)
        return landed.write(replace(placement, link=Landing.link), layout, path, format)

    def placed_rows(self, placement: Placement, layout: Layout) -> pa.Table:
        """Return the placed rows as `write` writes them, neutral columns with their types."""
        landed = self._landed(placement.link, layout.neutral)
        return landed.placed_rows(replace(placement, link=Landing.link), layout)

    def write_table(self, content: pa.Table, path: Path, format: str) -> int:
        """Write a small table of our own making in the same way, its rows shuffled."""
        return self._beside.write_table(content, path, format)

    def shuffled_table(self, content: pa.Table) -> pa.Table:
        """Return a small table of our own making as `write_table` writes it."""
        return self._beside.shuffled_table(content)

    def lists(self, column: str) -> CountedLists:
        """Count the distinct lists of a column."""
        place = self.columns.index(column)
        element = self._source.described[place].element
        kind = None if element is None else kind_of(element)
        if kind is None:
            raise self._no_text(column)
        text = kind.text_of(kind.key_of("item"))
        items = (
            f"CASE WHEN c{place} IS NOT NULL THEN ARRAY(SELECT {text} FROM unnest(c{place}) WITH ORDINALITY "
            "AS listed(item, turn) ORDER BY turn) END"
        )
        return self._counted_lists(f"SELECT {items} AS items FROM {self._rows}")

    def gathered(self, who: str, item: str) -> CountedLists:
        """Count the distinct lists that rows of (who, item) make; items in the order of their texts."""
        owner, text = f"c{self.columns.index(who)}", self._text(item)
        if not self._reading.as_it_stands:
            lost = self._session.query(f"SELECT {text} FROM {self._rows} WHERE {owner} IS NULL LIMIT 1")
            for label in lost[0].to_pylist():
                raise BadInputError(f"{self.origin}: {who!r} is missing, so nobody knows whose {label!r} it is")
        ordered = f'array_agg({text} ORDER BY ({text}) COLLATE "C") FILTER (WHERE {text} IS NOT NULL)'
        return self._counted_lists(f"SELECT {ordered} AS items FROM {self._rows} GROUP BY {owner}")

    # -- how ---------------------------------------------------------------------------------------------------

    def _kind(self, column: str) -> tuple[int, ColumnKind]:
        place = self.columns.index(column)
        kind = self._source.kinds[place]
        if kind is None:
            raise self._no_text(column)
        return place, kind

    def _text(self, column: str) -> str:
        """Write the text of a column of `rows`."""
        place, kind = self._kind(column)
        return kind.text_of(f"c{place}")

    def _some_text(self, column: str) -> str:
        """Write a text also of columns that no other engine could have: it tells whether they have changed."""
        return f"c{self.columns.index(column)}::text" if column in self.nested else self._text(column)

    def _no_text(self, column: str) -> BadInputError:
        return BadInputError(
            f"{self.origin}: the column {column!r} is of the type {self.nested[column].lower()}, whose values have no "
            "text that is the same everywhere; give a view that writes it as text or number, or leave it out"
        )

    def _values(self, codings: Sequence[Coding]) -> str:
        """Count the tuples of values of some columns once, in a temporary table; the server does it in parallel."""
        key = tuple((coding.column, coding.rule) for coding in codings)
        if key not in self._tuples:
            name = f"values{next(self._numbers)}"
            listed = [f"{self._key(column, rule)} AS c{self.columns.index(column)}" for column, rule in key]
            keys = ", ".join(str(i + 1) for i in range(len(key)))
            self._session.execute(
                f"CREATE TEMPORARY TABLE {name} AS SELECT {', '.join(listed)}, count(*) AS n FROM {self._rows} "
                f"GROUP BY {keys}"
            )
            self._session.execute(f"ANALYZE pg_temp.{name}")
            self._tuples[key] = name
        return self._tuples[key]

    def _key(self, column: str, rule: Rule | None) -> str:
        """Write what rows are grouped by: the key of a value, or what a rule makes of its text."""
        return f"c{self.columns.index(column)}" if rule is None else ruled(self._text(column), rule)

    @contextmanager
    def _coded(self, codings: Sequence[Coding]) -> Iterator[str]:
        """Bring codes up, and write the codes k0, k1, ... of the tuples of values in which all have one."""
        values = self._values(codings)
        texts = [self._text(one.column) if one.rule is None else self._key(one.column, None) for one in codings]
        joins = [self._joined(f"coding{i}", coding, texts[i]) for i, coding in enumerate(codings)]
        listed = ", ".join(f"coding{i}.code AS k{i}" for i in range(len(codings)))
        yield f"(SELECT {listed} FROM pg_temp.{values} AS rows {' '.join(joins)}) AS coded"
        names = [f"coding{i}" for i in range(len(codings))]
        self._session.execute("DROP TABLE " + ", ".join(f"pg_temp.{name}" for name in names))
        self._made.difference_update(names)

    def _linked(self, link: ServerLink) -> str:
        """Write the joins by which rows get their codes."""
        texts = [ruled(self._text(coding.column), coding.rule) for coding in link.codings]
        return " ".join(self._joined(link.table(i), coding, texts[i]) for i, coding in enumerate(link.codings))

    def _joined(self, name: str, coding: Coding, text: str) -> str:
        """Write the join with a table of codes, which is brought up once; who has a text without a code is left out."""
        if name not in self._made:
            self._upload_coding(name, coding)
            self._made.add(name)
        handle = text if coding.codes.get(None) is None else f"coalesce('{MARK}' || {text}, '')"
        return f'JOIN pg_temp.{name} ON {name}.text = ({handle}) COLLATE "C"'

    def _counting(
        self, columns: Sequence[str], complete: Sequence[str], rows: str, rules: Sequence[Rule | None] = ()
    ) -> str:
        """Write the query that counts tuples: by keys, whose texts t0, t1, ... are then written."""
        asked = list(zip(columns, rules or [None] * len(columns), strict=True))
        keys = [f"{self._key(column, rule)} AS r{i}" for i, (column, rule) in enumerate(asked)]
        texts = [
            f"{self._kind(column)[1].text_of(f'r{i}') if rule is None else f'r{i}'} AS t{i}"
            for i, (column, rule) in enumerate(asked)
        ]
        kept = " AND ".join(f"c{self.columns.index(name)} IS NOT NULL" for name in complete) or "true"
        counted = f"SELECT {', '.join([*keys, 'count(*) AS n'])} FROM {rows} WHERE {kept}"
        grouped = f"{counted} GROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else counted
        return f"SELECT {', '.join([*texts, 'n'])} FROM ({grouped}) AS rows"

    def _listed(self, column: str, texts: str) -> pa.Table:
        """Bring the distinct texts of a column, unless there are more than anybody lists."""
        listed = self._session.query(f"{texts} LIMIT {protocol.MOST_TEXTS + 1}")
        if listed.num_rows > protocol.MOST_TEXTS:
            number = self._session.query(f"SELECT count(*) FROM ({texts}) AS texts")[0][0].as_py()
            raise too_many_texts(self.origin, column, number)
        return listed

    def _counted(self, columns: Sequence[str], complete: Sequence[str], rows: str) -> pa.Table:
        return self._session.query(self._counting(columns, complete, rows))

    def _counted_lists(self, records: str) -> CountedLists:
        """Count equal lists, in the order of their items."""
        return lists_in(
            self._session.query(
                f'SELECT items, count(*) FROM ({records}) AS records GROUP BY items ORDER BY items COLLATE "C"'
            )
        )

    def _upload_coding(self, name: str, coding: Coding) -> None:
        """Bring the codes of texts up; where a missing value has one, behind a mark, so that it has a text too."""
        mark = "" if coding.codes.get(None) is None else MARK
        codes = {mark + text: code for text, code in coding.codes.items() if text is not None and "\0" not in text}
        if (missing := coding.codes.get(None)) is not None:
            codes[""] = missing
        content = {"text": pa.array(codes, pa.string()), "code": pa.array(codes.values(), pa.int32())}
        self._session.upload(name, pa.table(content))

    @cached_property
    def _beside(self) -> DuckDBEngine:
        """The engine that writes tables of our own, and what counts alone tell."""
        return DuckDBEngine.open(pa.table({"none": pa.nulls(0, pa.string())}), Reading(origin=self.origin))

    def _landed(self, link: str, neutral: Sequence[str]) -> DuckDBEngine:
        """Let the rows that are published land in DuckDB: the number of their cell, and what is published as it is.

        Where nothing of a row is published as it is, counts say everything, and no row needs to come.
        """
        if not neutral:
            return self._beside
        shown, kinds = [], {}
        for i, name in enumerate(neutral):
            place, kind = self._kind(name)
            value = f"v{place}" if kind.is_shown_otherwise else f"c{place}"
            shown.append(f"{value if kind.crosses else kind.text_of(value)} AS c{i}")
            kinds[name] = kind.name
        known = self._links[link]
        statement = f"SELECT {', '.join([*known.numbers, *shown])} FROM {self._rows} {self._linked(known)}"
        with self._session.hashing(), self._session.stream(statement) as batches:
            return Landing.of(known.celled(batches), kinds, known.counted.counts, self._reading)


def _coded_batches(batches: pa.RecordBatchReader, codings: Sequence[Coding]) -> pa.RecordBatchReader:
    """Give tuples of texts, as they come, their codes; none to a text that has none."""
    schema = pa.schema([*((f"k{i}", pa.int32()) for i in range(len(codings))), ("n", pa.int64())])

    def coded() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.record_batch([*coded_columns(batch.columns[:-1], codings), batch.columns[-1]], schema)

    return pa.RecordBatchReader.from_batches(schema, coded())
