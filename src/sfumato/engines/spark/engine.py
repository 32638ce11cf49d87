"""The verbs on Spark: frames and SQL expressions, so that executors do all work on rows, under Connect as well.

No Python function runs on executors, and only features of Connect sessions are used. Distinct texts, cells and
aggregates are returned, always through `sources.collected`. Rows have no order and no number in Spark, so cells are
linked to rows by computing their codes again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.engines import protocol
from sfumato.engines.duckdb.grouped import in_order, packing_of
from sfumato.engines.locations import is_spark_frame
from sfumato.engines.protocol import by_text, distinct_in, lists_in, numbers_in, tuples_in
from sfumato.engines.spark.grouped import coded_rows, column_facts, counted_cells, ruled
from sfumato.engines.spark.sources import LoadedFrame, collected, load, nested_kind, reported_errors
from sfumato.engines.spark.values import SHORT, WHOLE, bare, framed, has_text, text_of
from sfumato.engines.spark.write import LinkedCells, PublishedRows, SourceRows, published, save
from sfumato.runtime.arrays import Counts
from sfumato.texts.catalogue import refusal

FEW_ROWS = 1000

Verb = TypeVar("Verb", bound=Callable[..., Any])


def translated(verb: Verb) -> Verb:
    """Make a verb raise our own errors."""

    @wraps(verb)
    def run(engine: SparkEngine, *given: Any, **named: Any) -> Any:
        with reported_errors(engine.origin):
            return verb(engine, *given, **named)

    return cast("Verb", run)


@dataclass(frozen=True)
class SparkLink:
    """The link from rows to their cells: the codes of their texts."""

    codings: tuple[protocol.Coding, ...]
    keys: tuple[NDArray[np.int64], ...]
    """The codes of every cell, packed."""

    counts: NDArray[np.int64]


class SparkEngine:
    """Rows in Spark; columns have internal names c0, c1, ..., so any name is valid outside."""

    name: ClassVar[str] = "spark"

    def __init__(self, loaded: LoadedFrame, reading: protocol.Reading) -> None:
        self.columns, self._kinds = loaded.names, dict(zip(loaded.names, loaded.kinds, strict=True))
        self.origin, self.na, self.notices = reading.origin, reading.na, loaded.notices
        self.notations: Mapping[str, str] = {}
        self._frame, self._typed = loaded.frame, loaded.typed
        self._as_it_stands, self._as_written = reading.as_it_stands, reading.as_written
        self._links: list[SparkLink] = []

    @classmethod
    def takes(cls, source: Any) -> bool:
        """Accept frames of Spark; paths and names of tables need the engine's name."""
        return is_spark_frame(source)

    @classmethod
    def open(cls, source: Any, reading: protocol.Reading) -> Self:
        """Open a frame, a table or files; no row is read yet."""
        with reported_errors(reading.origin):
            return cls(load(source, reading), reading)

    # -- the verbs -----------------------------------------------------------------------------------------

    @property
    def nested(self) -> Mapping[str, str]:
        """The columns of lists, records or bytes, with their types."""
        kinds = {name: nested_kind(kind) for name, kind in self._kinds.items()}
        return {name: kind for name, kind in kinds.items() if kind is not None}

    @property
    def texts(self) -> frozenset[str]:
        """The columns that are texts by the types of the source, or by declaration."""
        typed = {name for name, kind in self._kinds.items() if bare(kind) == "string"} if self._typed else set()
        return frozenset(typed | set(self._as_written))

    @cached_property
    @translated
    def row_count(self) -> int:
        """The number of rows."""
        return self._number(self._frame)

    @translated
    def digest(self, columns: Sequence[str] = ()) -> str:
        """Return a digest of names and values, whatever the order of rows and columns."""
        names = list(columns or self.columns)
        texts = {f"t{i}": self._shown(name) for i, name in enumerate(sorted(names))}
        row = framed(list(texts))
        shown = self._frame.selectExpr(*(f"{text} AS {name}" for name, text in texts.items()), "1 AS one")
        total = f"sum(CAST(conv(left(md5({row}), {protocol.DIGITS}), 16, 10) AS DECIMAL(20, 0)))"
        [summed] = collected(shown.selectExpr(f"CAST({total} AS STRING) AS total", "count(*) AS rows")).to_pylist()
        return protocol.content_digest(names, summed["rows"], int(summed["total"] or 0))

    def distinct(self, column: str, complete: Sequence[str] = ()) -> protocol.DistinctValues:
        """List the distinct values of a column, in ascending order of their text."""
        return self._distinct(column, self._complete(complete))

    @translated
    def distinct_by(self, rule: protocol.Rule, column: str, complete: Sequence[str] = ()) -> protocol.DistinctValues:
        """List the results of a rule for the texts of a column, each with its number of texts."""
        texts = self._counted([column], self._complete(complete))
        made = self._session.sql(
            "SELECT t, sum(n) AS n, count(text) AS kinds FROM {made} GROUP BY t",
            made=texts.selectExpr(f"{ruled('t0', rule, column)} AS t", "n", "t0 AS text"),
        )
        table = by_text(self._listed(column, made), 1)
        return replace(distinct_in(table), kinds=table["kinds"].to_numpy())

    @translated
    def all_different(self, columns: Sequence[str]) -> list[str]:
        """Return those of some columns whose values are all different; a few rows exclude most."""
        few = "size(collect_set(v{i}))"  # counting the distinct values of n columns at once copies rows n times
        for frame, number in ((self._frame.limit(FEW_ROWS), few), (self._frame, "count(DISTINCT v{i})")):
            if columns:
                texts = [f"{self._shown(name)} AS v{i}" for i, name in enumerate(columns)]
                counts = [f"{number.format(i=i)} + max(CAST(v{i} IS NULL AS INT))" for i in range(len(columns))]
                numbers = collected(frame.selectExpr(*texts).selectExpr("count(*) AS rows", *counts)).columns
                rows, *different = (number[0].as_py() for number in numbers)
                columns = [name for name, number in zip(columns, different, strict=True) if number == rows]
        return list(columns)

    def sample(self, column: str, rows: int) -> protocol.DistinctValues:
        """List the distinct values of a column among the rows whose hash is in a share of all."""
        every = -(-self.row_count // rows)
        hashed = ", ".join(self._column(name) for name in self.columns if has_text(self._kinds[name]))
        return self._distinct(column, "true" if every == 1 else f"pmod(xxhash64({hashed}), {every}) = 0")

    @translated
    def facts(self, column: str) -> protocol.ColumnFacts:
        """Return facts of a whole column, in one pass."""
        frame = self._frame.selectExpr(f"{self._text(column)} AS raw")
        [facts] = collected(column_facts(frame)).to_pylist()
        return protocol.ColumnFacts(*facts.values())

    @translated
    def count_texts(self, columns: Sequence[str], complete: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Count the distinct tuples of texts of some columns (null: missing); the last column is the count."""
        return iter(collected(self._counted(columns, self._complete(complete))).to_batches())

    @translated
    def count_cells(self, codings: Sequence[protocol.Coding]) -> protocol.CountedCodes:
        """Count the distinct tuples of codes; rows with a text that has no code are dropped and counted."""
        packing = packing_of(codings)
        keys, counts = in_order(collected(self._counted_cells(codings)), len(packing.names))
        self._links.append(SparkLink(tuple(codings), tuple(keys), counts))
        dropped = self.row_count - int(counts.sum())
        return protocol.CountedCodes(packing.unpacked(keys), counts, dropped, str(len(self._links) - 1))

    @translated
    def cell_number(self, codings: Sequence[protocol.Coding]) -> int:
        """Count the distinct tuples of codes."""
        return self._number(self._counted_cells(codings))

    @translated
    def tuples(self, columns: Sequence[str], link: str) -> protocol.Tuples:
        """List the tuples of values that the rows of every cell have, in the order of cells and texts."""
        shown = {f"v{i}": self._text(name) for i, name in enumerate(columns)}
        linked = self._texts_of_cells(shown, link, None)
        return tuples_in(by_text(collected(linked.select("cell", *shown, "count")), len(shown) + 1))

    @translated
    def pairs(self, column: str, link: str, most: int, cells: NDArray[np.int64] | None = None) -> protocol.Pairs | int:
        """Count the pairs of a cell and a value; the distinct values are collected once and numbered."""
        counted = self._texts_of_cells({"t": self._text(column)}, link, cells).where("t IS NOT NULL")
        if self.row_count > most and (number := self._number(counted)) > most:
            return number
        values = by_text(collected(counted.select("t").distinct()), 1)
        numbered = self._session.createDataFrame(values.append_column("u", pa.array(np.arange(values.num_rows))))
        table = collected(counted.join(numbered, "t").select("cell", "u", "count"))
        return protocol.Pairs(*map(numbers_in, table.columns))

    @translated
    def person_counts(self, column: str, link: str, group: Counts, value: Counts) -> protocol.PersonCounts:
        """Count the persons that a column names, by the group and the value of each cell; group -1 is skipped."""
        kept = np.flatnonzero(group >= 0)
        texts = self._texts_of_cells({"t": self._text(column)}, link, kept, g=group[kept], v=value[kept])
        rows = texts.where("t IS NOT NULL").groupBy("g", "v", "t").sum("count").toDF("g", "v", "t", "n")
        whole = "CAST(CAST(n AS DECIMAL(19, 0)) * 1099511627776 DIV total AS DECIMAL(19, 0))"
        query = protocol.WEIGHTS.format(whole=whole, rows="{rows}")
        table = collected(self._session.sql(query, rows=rows))
        return protocol.PersonCounts(*(values.to_numpy() for values in table.columns))

    def _texts_of_cells(self, texts: Mapping[str, str], link: str, cells: Counts | None, **numbers: Counts) -> Any:
        """Count the tuples of texts in some cells, or all, with numbers of these."""
        coded, kept = self._coded(self._links[int(link)].codings, texts), self._cells(link)
        some = np.arange(len(kept.counts)) if cells is None else cells
        return kept.linked(coded.groupBy(*coded.columns).count(), some, **numbers or {"cell": some})

    @translated
    def write(self, placement: protocol.Placement, layout: protocol.Layout, path: Path, format: str) -> int:
        """Write the placed rows to a folder of part files, as Spark does; return the number of rows."""
        return save(self._published(placement, layout, format == "csv"), layout.order, path, format)

    @translated
    def placed_rows(self, placement: protocol.Placement, layout: protocol.Layout) -> pa.Table:
        """Collect the placed rows in memory."""
        rows = self._published(placement, layout, False)
        return collected(rows.ordered(parts=1)).rename_columns(list(layout.order))

    def placed_frame(self, placement: protocol.Placement, layout: protocol.Layout) -> Any:
        """Return the placed rows as a frame of Spark, without collecting them."""
        with reported_errors(self.origin):
            return self._published(placement, layout, False).ordered().toDF(*layout.order)

    def frame_of(self, table: pa.Table) -> Any:
        """Transfer a small table to Spark."""
        with reported_errors(self.origin):
            return self._session.createDataFrame(table)

    @translated
    def lists(self, column: str) -> protocol.CountedLists:
        """Count the distinct lists of a column."""
        kind = self._kinds[column].removeprefix("array<").removesuffix(">")
        items = f"transform({self._column(column)}, x -> {text_of('x', kind, column)})"
        return _counted_lists(collected(self._frame.selectExpr(f"{items} AS items").groupBy("items").count()))

    @translated
    def gathered(self, who: str, item: str) -> protocol.CountedLists:
        """Count the distinct lists of rows of (who, item)."""
        rows = self._frame.selectExpr(f"{self._text(who)} AS who", f"{self._text(item)} AS item")
        if not self._as_it_stands:
            for label in collected(rows.where("who IS NULL").limit(1))["item"].to_pylist():
                raise refusal("missing_nobody_knows_whose_engine", origin=self.origin, who=who, label=label)
        lists = self._session.sql(
            "SELECT items, count(*) AS count FROM (SELECT sort_array(collect_list(item)) AS items FROM {rows} "
            "GROUP BY who) GROUP BY items",
            rows=rows,
        )
        return _counted_lists(collected(lists))

    # -- how ---------------------------------------------------------------------------------------------------

    def _column(self, name: str) -> str:
        return f"c{self.columns.index(name)}"

    def _text(self, name: str) -> str:
        return text_of(self._column(name), self._kinds[name], name)

    def _shown(self, name: str) -> str:
        """Return the SQL of the text of a value of any type, for the digest."""
        kind = self._kinds[name]
        return self._text(name) if has_text(kind) else f"to_json(struct({self._column(name)}))"

    def _complete(self, names: Sequence[str]) -> str:
        return " AND ".join(f"{self._column(name)} IS NOT NULL" for name in names) or "true"

    def _distinct(self, column: str, kept: str) -> protocol.DistinctValues:
        with reported_errors(self.origin):
            return distinct_in(self._listed(column, self._counted([column], kept)))

    def _listed(self, column: str, texts: Any) -> pa.Table:
        """Collect the distinct texts of a column; raise if there are too many."""
        listed = collected(texts.limit(protocol.MOST_TEXTS + 1))
        if listed.num_rows > protocol.MOST_TEXTS:
            raise protocol.too_many_texts(self.origin, column, self._number(texts))
        return listed

    def _key(self, name: str) -> tuple[str, str]:
        """Return the SQL and type of a key that distinguishes values of a column: Spark equates 0.0 and -0.0."""
        kind = self._kinds[name]
        return (self._text(name), "string") if bare(kind) in SHORT else (self._column(name), kind)

    def _lookup_key(self, coding: protocol.Coding) -> tuple[str, pa.DataType]:
        """Return the SQL of a lookup key, and its type: whole numbers and days unchanged, others as texts."""
        column = coding.column
        if coding.rule is not None:
            return ruled(self._text(column), coding.rule, column), pa.string()
        key, kind = self._key(column)
        if bare(kind) in WHOLE:
            return f"CAST({key} AS BIGINT)", pa.int64()
        return (key, pa.date32()) if kind == "date" else (text_of(key, kind, column), pa.string())

    def _counted(self, columns: Sequence[str], kept: str) -> Any:
        """Count the distinct tuples of texts: t0, t1, ... and n."""
        keys = [self._key(name) for name in columns]
        frame = self._frame.where(kept).selectExpr(*(f"{key} AS g{i}" for i, (key, _) in enumerate(keys)), "1 AS one")
        grouped = frame.groupBy(*(f"g{i}" for i in range(len(keys)))).count()
        texts = [f"{text_of(f'g{i}', kind, columns[i])} AS t{i}" for i, (_, kind) in enumerate(keys)]
        return grouped.selectExpr(*texts, "count AS n")

    def _counted_cells(self, codings: Sequence[protocol.Coding]) -> Any:
        return counted_cells(self._coded(codings, {}))

    def _number(self, frame: Any) -> int:
        return int(collected(frame.selectExpr("count(*) AS rows"))["rows"][0].as_py())

    def _coded(self, codings: Sequence[protocol.Coding], kept: Mapping[str, str]) -> Any:
        return coded_rows(self._frame, codings, [self._lookup_key(coding) for coding in codings], kept)

    def _cells(self, link: str) -> LinkedCells:
        found = self._links[int(link)]
        packing = packing_of(found.codings)
        keys = dict(zip(packing.names, found.keys, strict=True))
        return LinkedCells(self._session, keys, found.counts, packing.columns[-1].size + 1)

    @property
    def _session(self) -> Any:
        return self._frame.sparkSession

    def _published(self, placement: protocol.Placement, layout: protocol.Layout, as_texts: bool) -> PublishedRows:
        """Return the published rows; without neutral columns, no row is read."""
        neutral = {name: (self._column(name), self._kinds[name]) for name in layout.neutral}
        rows = None
        if neutral:
            kept = {column: column for column, _ in neutral.values()}
            rows = SourceRows(self._links[int(placement.link)].codings, lambda codings: self._coded(codings, kept))
        return published(self._cells(placement.link), placement, layout, rows, neutral, as_texts)


def _counted_lists(table: pa.Table) -> protocol.CountedLists:
    """Return counted lists in the order of their items, because their records have none."""
    lists = table["items"].to_pylist()
    order = sorted(range(len(lists)), key=lambda i: [(item is None, item or "") for item in lists[i] or ()])
    return lists_in(table.take(pa.array(order, pa.int64())))
