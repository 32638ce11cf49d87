"""The verbs on PostgreSQL: the server counts, and the published rows stream into DuckDB, which writes them.

The rows of a cell are found by their values, not by numbers, so nothing is copied, and a view suffices.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import pyarrow as pa

from sfumato.engines import protocol
from sfumato.engines.duckdb.engine import DuckDBEngine
from sfumato.engines.locations import is_server
from sfumato.engines.postgresql.connection import Session, address_of
from sfumato.engines.postgresql.grouped import column_facts, row_sums, ruled
from sfumato.engines.postgresql.sources import SAMPLED, Read, ServerRelation, find_source, settled
from sfumato.engines.postgresql.values import ColumnKind, kind_of, nested_name
from sfumato.engines.protocol import by_text, distinct_in, lists_in, received, received_names
from sfumato.errors import BadInputError
from sfumato.runtime.arrays import Counts
from sfumato.texts.catalogue import refusal, t

SEED = 20
"""The seed of samples: the same rows at every call."""

BATCH = 1 << 17
FEW_ROWS = 10_000
"""The number of rows by which most columns with equal values are recognized."""


class PostgreSQLEngine:
    """Rows of a table or view on a server; columns have internal names c0, c1, ..., so any name is valid outside."""

    name: ClassVar[str] = "postgresql"

    def __init__(self, session: Session, source: ServerRelation, reading: protocol.Reading) -> None:
        self._session, self._source, self._reading = session, source, reading
        self.columns, self.origin, self.na = source.names, reading.origin, reading.na
        self._read = settled(session, source, reading) if reading.settles else Read()
        self.notices, self.notations = self._read.notices, self._read.notations
        self._rows = source.rows(self._read.tables)
        self._links: dict[str, tuple[tuple[protocol.Coding, ...], protocol.CountedCodes]] = {}
        self._last: tuple[list[tuple[str, protocol.Rule | None]], DuckDBEngine] | None = None

    @classmethod
    def takes(cls, source: Any) -> bool:
        """Accept the URL of a server."""
        return is_server(source)

    @classmethod
    def open(cls, source: Any, reading: protocol.Reading) -> Self:
        """Open a table on a server: all later reads see the rows of this moment."""
        if not is_server(source):
            raise refusal("postgresql_opens_postgresql", origin=reading.origin)
        address = address_of(source, reading.origin)
        if reading.escaped or reading.layout == "lines":
            what = "--escaped-formulas" if reading.escaped else t("notice.basket_every_line")
            raise refusal("about_text_files", origin=reading.origin, what=what)
        session = Session(address.uri, reading.origin)
        return cls(session, find_source(session, address, reading), reading)

    # -- the verbs -----------------------------------------------------------------------------------------

    @property
    def nested(self) -> Mapping[str, str]:
        """The columns of arrays, of bytes, and of types whose values have no common text of all engines."""
        columns = zip(self.columns, self._source.described, self._source.kinds, strict=True)
        return {name: nested_name(described) for name, described, kind in columns if kind is None}

    @property
    def texts(self) -> frozenset[str]:
        """The columns that are texts by their types, or by declaration."""
        typed = {self.columns[place] for place in self._source.texts}
        return frozenset(typed - self.notations.keys() | set(self._reading.as_written))

    @cached_property
    def row_count(self) -> int:
        """The number of rows."""
        return int(self._session.query(f"SELECT count(*) FROM {self._source.relation}")[0][0].as_py())

    def digest(self, columns: Sequence[str] = ()) -> str:
        """Return a digest of names and values of some columns, or all; of some, equal rows are counted first."""
        names = sorted(columns or self.columns)
        keys = ", ".join(f"c{self.columns.index(name)}" for name in names)
        grouped = f"(SELECT {keys}, count(*) AS n FROM {self._rows} GROUP BY {keys}) AS rows"
        texts = [self._some_text(name) for name in names]
        query = row_sums(texts, grouped, "n") if columns else row_sums(texts, self._rows)
        return protocol.content_digest(names, self.row_count, int(self._session.query(query)[0][0].as_py()))

    def distinct(self, column: str, complete: Sequence[str] = ()) -> protocol.DistinctValues:
        """List the distinct values of a column, in ascending order of their text."""
        return distinct_in(self._listed(column, self._counting([column], complete)))

    def distinct_by(self, rule: protocol.Rule, column: str, complete: Sequence[str] = ()) -> protocol.DistinctValues:
        """List the results of a rule for the texts of a column, each with its number of texts."""
        counting, text = self._counting([column], complete), ruled("t0", rule)
        answer = f"SELECT {text} AS t, sum(n)::int8 AS n, count(t0) AS kinds FROM ({counting}) AS counted GROUP BY 1"
        table = by_text(self._listed(column, answer), 1)
        return replace(distinct_in(table), kinds=table["kinds"].to_numpy())

    def all_different(self, columns: Sequence[str]) -> list[str]:
        """Return those of some columns whose values are all different; a few rows exclude most."""
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

    def sample(self, column: str, rows: int) -> protocol.DistinctValues:
        """List the distinct values of a column among about this many rows, the same at every call; all of a view."""
        if self.row_count <= rows or self._source.relkind not in SAMPLED:
            return self.distinct(column)
        sampled = f"TABLESAMPLE BERNOULLI ({100 * rows / self.row_count}) REPEATABLE ({SEED})"
        counting = self._counting([column], (), rows=self._source.rows(self._read.tables, sampled))
        return distinct_in(self._session.query(counting))

    def facts(self, column: str) -> protocol.ColumnFacts:
        """Return facts of a whole column, in one pass."""
        answer = self._session.query(column_facts(self._text(column), self._rows))
        return protocol.ColumnFacts(*(values[0].as_py() for values in answer.columns))

    def count_texts(self, columns: Sequence[str], complete: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Count the distinct tuples of texts of some columns (null: missing); the last column is the count."""
        yield from self._session.query(self._counting(columns, complete)).to_batches(BATCH)

    def count_cells(self, codings: Sequence[protocol.Coding]) -> protocol.CountedCodes:
        """Count the distinct tuples of codes; rows with a text that has no code are dropped and counted.

        The server counts tuples of texts in parallel, and DuckDB codes these; joining codes on the server costs more
        (docs/decisions/0003).
        """
        counted = self._received_tuples(codings).count_cells(received(codings))
        self._last = None
        link = f"link{len(self._links)}"
        self._links[link] = tuple(codings), counted
        return replace(counted, link=link)

    def cell_number(self, codings: Sequence[protocol.Coding]) -> int:
        """Count the distinct tuples of codes; the tuples are kept for `count_cells`."""
        return self._received_tuples(codings).cell_number(received(codings))

    def tuples(self, columns: Sequence[str], link: str) -> protocol.Tuples:
        """List the tuples of values that the rows of every cell have, in the order of cells and texts."""
        local, names, link = self._with_cells(columns, link)
        return local.tuples(names, link)

    def pairs(self, column: str, link: str, most: int, cells: Counts | None = None) -> protocol.Pairs | int:
        """Count the pairs of a cell and a value of a column."""
        local, [name], link = self._with_cells([column], link)
        return local.pairs(name, link, most, cells)

    def person_counts(self, column: str, link: str, group: Counts, value: Counts) -> protocol.PersonCounts:
        """Count the persons that a column names, by the group and the value of each cell, where tuples arrive."""
        local, [name], link = self._with_cells([column], link)
        return local.person_counts(name, link, group, value)

    def write(self, placement: protocol.Placement, layout: protocol.Layout, path: Path, format: str) -> int:
        """Write the placed rows as "csv" or "parquet", shuffled; return the number of rows."""
        local, link = self._received_rows(placement.link, layout.neutral)
        return local.write(replace(placement, link=link), layout, path, format)

    def placed_rows(self, placement: protocol.Placement, layout: protocol.Layout) -> pa.Table:
        """Return the placed rows as `write` writes them, neutral columns with their types."""
        local, link = self._received_rows(placement.link, layout.neutral)
        return local.placed_rows(replace(placement, link=link), layout)

    def lists(self, column: str) -> protocol.CountedLists:
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

    def gathered(self, who: str, item: str) -> protocol.CountedLists:
        """Count the distinct lists of rows of (who, item); items in the order of their texts."""
        owner, text = f"c{self.columns.index(who)}", self._text(item)
        if not self._reading.as_it_stands:
            lost = self._session.query(f"SELECT {text} FROM {self._rows} WHERE {owner} IS NULL LIMIT 1")
            for label in lost[0].to_pylist():
                raise refusal("missing_nobody_knows_whose_engine", origin=self.origin, who=who, label=label)
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
        """Return the SQL of the text of a column of `rows`."""
        place, kind = self._kind(column)
        return kind.text_of(f"c{place}")

    def _some_text(self, column: str) -> str:
        """Return the SQL of a text also for columns without a common one; it shows whether they have changed."""
        return f"c{self.columns.index(column)}::text" if column in self.nested else self._text(column)

    def _no_text(self, column: str) -> BadInputError:
        return BadInputError(
            t("engines.type_without_text", origin=self.origin, column=column, kind=self.nested[column].lower())
        )

    def _key(self, column: str, rule: protocol.Rule | None) -> str:
        """Return the SQL of a grouping key: of a value, or of the result of a rule."""
        return f"c{self.columns.index(column)}" if rule is None else ruled(self._text(column), rule)

    def _counting(
        self,
        columns: Sequence[str],
        complete: Sequence[str],
        rules: Sequence[protocol.Rule | None] = (),
        rows: str = "",
    ) -> str:
        """Return the query that counts tuples by keys, with their texts t0, t1, ..."""
        asked = list(zip(columns, rules or [None] * len(columns), strict=True))
        keys = [f"{self._key(column, rule)} AS r{i}" for i, (column, rule) in enumerate(asked)]
        texts = [
            f"{self._kind(column)[1].text_of(f'r{i}') if rule is None else f'r{i}'} AS t{i}"
            for i, (column, rule) in enumerate(asked)
        ]
        kept = " AND ".join(f"c{self.columns.index(name)} IS NOT NULL" for name in complete) or "true"
        counted = f"SELECT {', '.join([*keys, 'count(*) AS n'])} FROM {rows or self._rows} WHERE {kept}"
        grouped = f"{counted} GROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else counted
        return f"SELECT {', '.join([*texts, 'n'])} FROM ({grouped}) AS rows"

    def _listed(self, column: str, texts: str) -> pa.Table:
        """Return the distinct texts of a column; raise if there are too many."""
        listed = self._session.query(f"{texts} LIMIT {protocol.MOST_TEXTS + 1}")
        if listed.num_rows > protocol.MOST_TEXTS:
            number = self._session.query(f"SELECT count(*) FROM ({texts}) AS texts")[0][0].as_py()
            raise protocol.too_many_texts(self.origin, column, number)
        return listed

    def _counted_lists(self, records: str) -> protocol.CountedLists:
        """Count equal lists, in the order of their items."""
        return lists_in(
            self._session.query(
                f'SELECT items, count(*) FROM ({records}) AS records GROUP BY items ORDER BY items COLLATE "C"'
            )
        )

    def _with_cells(self, columns: Sequence[str], link: str) -> tuple[DuckDBEngine, Sequence[str], str]:
        """Transfer the counted tuples of cells and texts to DuckDB; return the names of columns and link there."""
        codings, cells = self._links[link]
        asked = [*((coding.column, coding.rule) for coding in codings), *((column, None) for column in columns)]
        local = self._received(self._counting([column for column, _ in asked], (), [rule for _, rule in asked]), asked)
        return local, local.columns[len(codings) :], local.link(received(codings), cells)

    @cached_property
    def _beside(self) -> DuckDBEngine:
        """The engine for our own tables, and for results of counts alone."""
        return DuckDBEngine.open(pa.table({"none": pa.nulls(0, pa.string())}), protocol.Reading(origin=self.origin))

    def _received_tuples(self, codings: Sequence[protocol.Coding]) -> DuckDBEngine:
        """Transfer the counted tuples of texts of some columns to DuckDB, where they remain until the next request.

        A server groups stored values faster than any expression of them.
        """
        asked = [(coding.column, coding.rule) for coding in codings]
        if self._last is None or self._last[0] != asked:
            places = [self._kind(column)[0] for column, _ in asked]
            if any(rule for _, rule in asked) or not self._read.tables.keys().isdisjoint(places):
                counting = self._counting([column for column, _ in asked], (), [rule for _, rule in asked])
            else:
                counting = self._source.counted(places)
            self._last = asked, self._received(counting, asked)
        return self._last[1]

    def _received(self, counting: str, asked: Sequence[object]) -> DuckDBEngine:
        with self._session.stream(counting) as batches:
            return DuckDBEngine.receive(
                batches, dict.fromkeys(received_names(len(asked)), "VARCHAR"), self._reading, True
            )

    def _received_rows(self, link: str, neutral: Sequence[str]) -> tuple[DuckDBEngine, str]:
        """Transfer the published rows to DuckDB: the texts of their cells, and the neutral columns.

        Without neutral columns counts suffice, and no row is transferred.
        """
        if not neutral:
            return self._beside, ""
        codings, cells = self._links[link]
        shown = [f"{ruled(self._text(coding.column), coding.rule)} AS t{i}" for i, coding in enumerate(codings)]
        kinds = dict.fromkeys(received_names(len(codings)), "VARCHAR")
        for i, name in enumerate(neutral):
            place, kind = self._kind(name)
            value = f"v{place}" if kind.is_shown_otherwise else f"c{place}"
            shown.append(f"{value if kind.crosses else kind.text_of(value)} AS n{i}")
            kinds[name] = kind.name
        with self._session.stream(f"SELECT {', '.join(shown)} FROM {self._rows}") as batches:
            local = DuckDBEngine.receive(batches, kinds, self._reading)
        return local, local.link(received(codings), cells)
