"""The verbs on Spark: frames and expressions of SQL, so that executors do all work on rows, under Connect as well.

Neither a function of Python runs there, nor is anything asked of Spark that a Connect session does not offer. What
comes back is distinct texts, cells and aggregates, through one door (`sources.collected`). Rows have no order and no
number in Spark: cells are linked to rows by working out their codes anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.engines.answers import by_text, distinct_in, lists_in, tuples_in
from sfumato.engines.duckdb import DuckDBEngine
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
    Tuples,
    content_digest,
)
from sfumato.engines.spark.releases import Cells, Published, published, save
from sfumato.engines.spark.sources import Loaded, collected, is_frame, load, nested_kind, spoken
from sfumato.engines.spark.statements import column_facts
from sfumato.engines.spark.values import SHORT, WHOLE, bare, framed, has_text, text_of
from sfumato.errors import BadInputError

FEW_ROWS = 1000
NUMBER = re.compile(r"0|-?[1-9][0-9]*")
"""A whole number, as it is written."""

Verb = TypeVar("Verb", bound=Callable[..., Any])


def translated(verb: Verb) -> Verb:
    """Let a verb fail with errors of our own."""

    @wraps(verb)
    def run(engine: SparkEngine, *given: Any, **named: Any) -> Any:
        with spoken(engine.origin):
            return verb(engine, *given, **named)

    return cast("Verb", run)


@dataclass(frozen=True)
class Link:
    """How rows come to their cells: by the codes of their texts."""

    codings: tuple[Coding, ...]
    codes: NDArray[np.int32]
    counts: NDArray[np.int64]


class SparkEngine:
    """Rows in Spark; columns are called c0, c1, ... inside, so any name is a good name outside."""

    name: ClassVar[str] = "spark"

    def __init__(self, loaded: Loaded, reading: Reading) -> None:
        self.columns, self._kinds = loaded.names, dict(zip(loaded.names, loaded.kinds, strict=True))
        self.origin, self.na, self.notices = reading.origin, reading.na, loaded.notices
        self.notations: Mapping[str, str] = {}
        self._frame, self._typed = loaded.frame, loaded.typed
        self._as_it_stands, self._as_written = reading.as_it_stands, reading.as_written
        self._links: list[Link] = []

    @classmethod
    def takes(cls, source: Any) -> bool:
        """Take frames of Spark; paths and names of tables are opened where this engine is named."""
        return is_frame(source)

    @classmethod
    def open(cls, source: Any, reading: Reading) -> Self:
        """Open a frame, a table or files; no row is read yet."""
        with spoken(reading.origin):
            return cls(load(source, reading), reading)

    # -- the verbs -----------------------------------------------------------------------------------------

    @property
    def nested(self) -> Mapping[str, str]:
        """The columns that hold lists, records or bytes, with their types."""
        kinds = {name: nested_kind(kind) for name, kind in self._kinds.items()}
        return {name: kind for name, kind in kinds.items() if kind is not None}

    @property
    def texts(self) -> frozenset[str]:
        """The columns that are texts by the types of the source, or because somebody says so."""
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
        total = f"sum(CAST(conv(left(md5({row}), {DIGITS}), 16, 10) AS DECIMAL(20, 0)))"
        [summed] = collected(shown.selectExpr(f"CAST({total} AS STRING) AS total", "count(*) AS rows")).to_pylist()
        return content_digest(names, summed["rows"], int(summed["total"] or 0))

    def distinct(self, column: str, complete: Sequence[str] = ()) -> DistinctValues:
        """List the distinct values of a column, in ascending order of their text."""
        return self._distinct(column, self._complete(complete))

    @translated
    def all_different(self, columns: Sequence[str]) -> list[str]:
        """Say which of some columns have another value in every row: a few rows rule most out."""
        for frame in (self._frame.limit(FEW_ROWS), self._frame):
            if columns:
                texts = [f"{self._shown(name)} AS v{i}" for i, name in enumerate(columns)]
                counts = [f"count(DISTINCT v{i}) + max(CAST(v{i} IS NULL AS INT))" for i in range(len(columns))]
                numbers = collected(frame.selectExpr(*texts).selectExpr("count(*) AS rows", *counts)).columns
                rows, *different = (number[0].as_py() for number in numbers)
                columns = [name for name, number in zip(columns, different, strict=True) if number == rows]
        return list(columns)

    def sample(self, column: str, rows: int) -> DistinctValues:
        """List the distinct values of a column among the rows whose hash falls into a share of all."""
        every = -(-self.row_count // rows)
        hashed = ", ".join(self._column(name) for name in self.columns if has_text(self._kinds[name]))
        return self._distinct(column, "true" if every == 1 else f"pmod(xxhash64({hashed}), {every}) = 0")

    @translated
    def facts(self, column: str) -> ColumnFacts:
        """Say what the whole of a column is like, in one pass."""
        frame = self._frame.selectExpr(f"{self._text(column)} AS raw")
        [facts] = collected(column_facts(frame)).to_pylist()
        return ColumnFacts(*facts.values())

    @translated
    def count_texts(self, columns: Sequence[str], complete: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Count the distinct tuples of texts of some columns (null: missing); the last column is the count."""
        return iter(collected(self._counted(columns, self._complete(complete))).to_batches())

    @translated
    def count_cells(self, codings: Sequence[Coding]) -> CountedCodes:
        """Count the distinct tuples of codes; rows with a text that has no code are dropped and counted.

        Rows are grouped by their values first: that is the bare GROUP BY, and what is left to be coded is little.
        """
        counted = collected(self._counted_cells(codings))
        names = counted.column_names[:-1]
        matrix = np.empty((counted.num_rows, len(names)), np.int32)
        for i, name in enumerate(names):
            matrix[:, i] = counted[name].to_numpy()
        order = np.lexsort(matrix.T[::-1])
        counts = counted[-1].to_numpy().astype(np.int64)[order]
        self._links.append(Link(tuple(codings), matrix[order], counts))
        dropped = self.row_count - int(counts.sum())
        return CountedCodes(self._links[-1].codes, counts, dropped, str(len(self._links) - 1))

    @translated
    def cell_number(self, codings: Sequence[Coding]) -> int:
        """Count how many distinct tuples of codes there are."""
        return self._number(self._counted_cells(codings))

    @translated
    def tuples(self, columns: Sequence[str], link: str) -> Tuples:
        """List the tuples of values that the rows of every cell have, in the order of cells and texts."""
        codings = self._links[int(link)].codings
        grouped = self._grouped([coding.column for coding in codings], columns)
        shown = [f"v{i}" for i in range(len(columns))]
        linked = self._cells(link).linked(self._coded(grouped, codings, [*shown, "n"]))
        return tuples_in(by_text(collected(linked.groupBy("cell", *shown).sum("n")), len(shown) + 1))

    @translated
    def write(self, placement: Placement, layout: Layout, path: Path, format: str) -> int:
        """Write the placed rows to a folder of part files, as Spark does; return the number of rows."""
        return save(self._published(placement, layout, format == "csv"), layout.order, path, format)

    @translated
    def placed_rows(self, placement: Placement, layout: Layout) -> pa.Table:
        """Bring the placed rows to Python, since somebody asks for them in memory."""
        rows = self._published(placement, layout, False)
        return collected(rows.ordered(parts=1)).rename_columns(list(layout.order))

    def placed_frame(self, placement: Placement, layout: Layout) -> Any:
        """Return the placed rows as a frame of Spark, none of which is brought here."""
        with spoken(self.origin):
            return self._published(placement, layout, False).ordered().toDF(*layout.order)

    def frame_of(self, table: pa.Table) -> Any:
        """Bring a small table of our own making to Spark."""
        with spoken(self.origin):
            return self._session.createDataFrame(table)

    def write_table(self, content: pa.Table, path: Path, format: str) -> int:
        """Write a small table of our own making, which never was in Spark."""
        return self._beside.write_table(content, path, format)

    def shuffled_table(self, content: pa.Table) -> pa.Table:
        """Return a small table of our own making as `write_table` writes it."""
        return self._beside.shuffled_table(content)

    @translated
    def lists(self, column: str) -> CountedLists:
        """Count the distinct lists of a column."""
        kind = self._kinds[column].removeprefix("array<").removesuffix(">")
        items = f"transform({self._column(column)}, x -> {text_of('x', kind, column)})"
        return _counted_lists(collected(self._frame.selectExpr(f"{items} AS items").groupBy("items").count()))

    @translated
    def gathered(self, who: str, item: str) -> CountedLists:
        """Count the distinct lists that rows of (who, item) make."""
        rows = self._frame.selectExpr(f"{self._text(who)} AS who", f"{self._text(item)} AS item")
        if not self._as_it_stands:
            for label in collected(rows.where("who IS NULL").limit(1))["item"].to_pylist():
                raise BadInputError(f"{self.origin}: {who!r} is missing, so nobody knows whose {label!r} it is")
        lists = self._session.sql(
            "SELECT items, count(*) AS count FROM (SELECT sort_array(collect_list(item)) AS items FROM {rows} "
            "GROUP BY who) GROUP BY items",
            rows=rows,
        )
        return _counted_lists(collected(lists))

    # -- how ---------------------------------------------------------------------------------------------------

    @cached_property
    def _beside(self) -> DuckDBEngine:
        """Who writes small tables of our own."""
        return DuckDBEngine.open(pa.table({"none": [""]}), Reading(origin=self.origin, empty=True))

    def _column(self, name: str) -> str:
        return f"c{self.columns.index(name)}"

    def _text(self, name: str) -> str:
        return text_of(self._column(name), self._kinds[name], name)

    def _shown(self, name: str) -> str:
        """Write the text of a value of any type, for the digest."""
        kind = self._kinds[name]
        return self._text(name) if has_text(kind) else f"to_json(struct({self._column(name)}))"

    def _complete(self, names: Sequence[str]) -> str:
        return " AND ".join(f"{self._column(name)} IS NOT NULL" for name in names) or "true"

    def _distinct(self, column: str, kept: str) -> DistinctValues:
        with spoken(self.origin):
            return distinct_in(collected(self._counted([column], kept)))

    def _key(self, name: str) -> tuple[str, str]:
        """Write what tells the values of a column apart, and its type: Spark would take -0.0 for 0.0."""
        kind = self._kinds[name]
        return (self._text(name), "string") if bare(kind) in SHORT else (self._column(name), kind)

    def _counted(self, columns: Sequence[str], kept: str) -> Any:
        """Count the distinct tuples of texts: t0, t1, ... and n."""
        keys = [self._key(name) for name in columns]
        frame = self._frame.where(kept).selectExpr(*(f"{key} AS g{i}" for i, (key, _) in enumerate(keys)), "1 AS one")
        grouped = frame.groupBy(*(f"g{i}" for i in range(len(keys)))).count()
        texts = [f"{text_of(f'g{i}', kind, columns[i])} AS t{i}" for i, (_, kind) in enumerate(keys)]
        return grouped.selectExpr(*texts, "count AS n")

    def _grouped(self, coded: Sequence[str], shown: Sequence[str] = ()) -> Any:
        """Group rows by the values of columns that will be coded (x0, x1, ...) and the texts of others (v0, ...)."""
        keys = [self._key(name)[0] for name in coded]
        listed = [f"{key} AS x{i}" for i, key in enumerate(keys)]
        listed += [f"{self._text(name)} AS v{i}" for i, name in enumerate(shown)]
        names = [expression.rpartition(" AS ")[2] for expression in listed]
        return self._frame.selectExpr(*listed).groupBy(*names).count().withColumnRenamed("count", "n")

    def _counted_cells(self, codings: Sequence[Coding]) -> Any:
        """Count the distinct tuples of codes of all rows whose texts have codes: k0, k1, ... and their number."""
        names = [f"k{i}" for i in range(len(codings))]
        grouped = self._grouped([coding.column for coding in codings])
        coded = self._coded(grouped, codings, ["n"]).where(" AND ".join(f"{name} IS NOT NULL" for name in names))
        if all(len(set(coding.codes.values())) == len(coding.codes) for coding in codings):
            return coded  # every value has a code of its own, so nothing is left to be added up
        return coded.groupBy(*names).sum("n")

    def _number(self, frame: Any) -> int:
        return int(collected(frame.selectExpr("count(*) AS rows"))["rows"][0].as_py())

    def _coded(self, frame: Any, codings: Sequence[Coding], kept: Sequence[str]) -> Any:
        """Give the values x0, x1, ... of a frame their codes k0, k1, ..., by broadcasting which text has which."""
        keys = [self._key(coding.column) for coding in codings]
        whole = [bare(kind) in WHOLE for _, kind in keys]
        looked_up = [
            f"{f'CAST(x{i} AS BIGINT)' if whole[i] else text_of(f'x{i}', kind, codings[i].column)} AS y{i}"
            for i, (_, kind) in enumerate(keys)
        ]
        frame = frame.selectExpr("*", *looked_up)
        codes = []
        for i, coding in enumerate(codings):
            lookup = self._session.createDataFrame(_lookup(coding, i, whole[i])).hint("broadcast")
            frame = frame.join(lookup, f"y{i}", "left")
            missing = coding.codes.get(None)
            code = f"code{i}" if missing is None else f"CASE WHEN y{i} IS NULL THEN {missing} ELSE code{i} END"
            codes.append(f"CAST({code} AS INT) AS k{i}")
        return frame.selectExpr(*codes, *kept)

    def _cells(self, link: str) -> Cells:
        return Cells(self._session, self._links[int(link)].codes, self._links[int(link)].counts)

    @property
    def _session(self) -> Any:
        return self._frame.sparkSession

    def _published(self, placement: Placement, layout: Layout, as_texts: bool) -> Published:
        """Put together what is published; where no column is a row's own, no row has to be read."""
        neutral = {name: (self._column(name), self._kinds[name]) for name in layout.neutral}
        rows = None
        if neutral:
            codings = self._links[int(placement.link)].codings
            keys = [f"{self._key(coding.column)[0]} AS x{i}" for i, coding in enumerate(codings)]
            columns = [column for column, _ in neutral.values()]
            rows = self._coded(self._frame.selectExpr(*keys, *columns), codings, columns)
        return published(self._cells(placement.link), placement, layout, rows, neutral, as_texts)


def _lookup(coding: Coding, i: int, whole: bool) -> pa.Table:
    """List the texts of a coding with their codes; whole numbers as numbers, which are found faster."""
    texts = [text for text in coding.codes if text is not None]
    if whole:
        texts = [text for text in texts if NUMBER.fullmatch(text)]
    values = pa.array(list(map(int, texts)), pa.int64()) if whole else pa.array(texts, pa.string())
    return pa.table({f"y{i}": values, f"code{i}": pa.array([coding.codes[text] for text in texts], pa.int32())})


def _counted_lists(table: pa.Table) -> CountedLists:
    """Take counted lists in the order of their items: their records have none."""
    lists = table["items"].to_pylist()
    order = sorted(range(len(lists)), key=lambda i: [(item is None, item or "") for item in lists[i] or ()])
    return lists_in(table.take(pa.array(order, pa.int64())))
