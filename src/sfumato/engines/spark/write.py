"""Assembling the published rows in Spark, and writing them to a folder of part files.

A release without neutral columns follows from cells and their counts, so no row is read. Otherwise each row finds, by
its codes and broadcast joins, the number of its published content besides neutral columns. If every published column
follows from one column of the row (a global recoding), values are coded directly by their published form, without
cells. Rows are distributed to parts by a hash of that number and of their neutral columns, and sorted within a part by
another hash. So neither the number of a part nor a row's place in it reveals its place in the input. Texts are joined
to the numbers in the parts, so only a number and the neutral columns are shuffled.

The hash has 64 bits and is the only sort key, which doubles the speed of Spark's sort. Two different rows with equal
hashes, one pair in a million releases of ten million rows, are in any order.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.engines.duckdb.grouped import packing_of
from sfumato.engines.duckdb.write import Shown, entries, parts_of, text_tables
from sfumato.engines.protocol import Coding, Layout, Placement, number_column, numbers_in
from sfumato.engines.spark.sources import collected, settings
from sfumato.engines.spark.values import framed, has_text, text_of
from sfumato.texts.catalogue import refusal

ROWS_OF_A_PART = 1_000_000
"""The approximate number of rows of a file, independent of the cluster, so that equal releases have equal files."""

BROADCAST_BYTES = 192 << 20
"""The largest table of cells, groups or texts that is broadcast; above it Spark decides."""

INSTANTS = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}
"""The type of instants; Spark's default is read by other programs as local time."""

CSV = {
    "header": True,
    "sep": ",",
    "quote": '"',
    "escape": '"',
    "nullValue": "",
    "emptyValue": '""',
    "lineSep": "\n",
    "ignoreLeadingWhiteSpace": False,
    "ignoreTrailingWhiteSpace": False,
}
NUMBERS_AT_ONCE = 10_000

SPLIT = -1
"""In place of a number: the rows of the cell have different published content."""

DONE = "_SUCCESS"
"""Spark's mark of a complete folder."""


@dataclass(frozen=True)
class LinkedCells:
    """The packed codes of all cells by the names of their numbers, with the session."""

    session: Any
    keys: Mapping[str, NDArray[np.int64]]
    counts: NDArray[np.int64]
    last: int
    """The number of codes of the last column, including the missing one: the divisor of the last number."""

    def linked(self, coded: Any, cells: NDArray[np.int64] | None = None, **beside: NDArray[np.int64]) -> Any:
        """Join columns of their cells to the rows of these cells (or of all) of a frame with packed codes."""
        keys = self.keys if cells is None else {name: numbers[cells] for name, numbers in self.keys.items()}
        return coded.join(self.sent_numbers({**keys, **beside}), list(self.keys)).drop(*self.keys)

    def numbered(self, coded: Any, group: NDArray[np.int64], number: NDArray[np.int64]) -> Any | None:
        """Give rows the number of their cell by two small tables, if all cells are published and it is possible.

        All codes but the last mostly determine the group; group and last code determine the number. Transferring a
        large table to the executors takes seconds. None if a cell would get another number.
        """
        [(name, keys), *others] = self.keys.items()
        front, last = np.divmod(keys, self.last)
        points, first = np.unique(front, return_index=True)
        kind = group * self.last + last
        kinds, place, of_cell = np.unique(kind, return_index=True, return_inverse=True)
        of_point = np.repeat(group[first], np.diff(np.r_[first, len(front)]))  # cells are in the order of their codes
        if others or not (of_point == group).all() or not (number[place][of_cell] == number).all():
            return None
        split = coded.selectExpr("*", f"{name} DIV {self.last} AS front", f"{name} % {self.last} AS last").drop(name)
        grouped = split.join(self.sent_numbers({"front": points, "mine": group[first]}), "front")
        kept = [column for column in coded.columns if column != name]
        grouped = grouped.selectExpr(*kept, f"mine * {self.last} + last AS kind")
        return grouped.join(self.sent_numbers({"kind": kinds, "grp": number[place]}), "kind").drop("kind")

    def sent_numbers(self, columns: Mapping[str, NDArray[np.int64]]) -> Any:
        """Transfer columns of numbers to Spark, many to a row: unpacking them there is cheaper than rows are."""
        size = len(next(iter(columns.values())))
        ends = number_column(np.r_[0:size:NUMBERS_AT_ONCE, size].astype(np.int32))
        table = pa.table({name: pa.ListArray.from_arrays(ends, number_column(v)) for name, v in columns.items()})
        frame = self.session.createDataFrame(table).selectExpr(f"inline(arrays_zip({', '.join(columns)}))")
        return frame.hint("broadcast") if _is_small(table) else frame

    def sent(self, table: pa.Table) -> Any:
        """Transfer a small table to Spark, broadcast if it is not too large."""
        frame = self.session.createDataFrame(table)
        return frame.hint("broadcast") if _is_small(table) else frame


def _is_small(table: pa.Table) -> bool:
    return bool(table.nbytes <= BROADCAST_BYTES)


@dataclass(frozen=True)
class SourceRows:
    """The rows of the source with their neutral columns: the codings of the cells, and a function that codes rows."""

    codings: Sequence[Coding]
    coded: Callable[[Sequence[Coding]], Any]


@dataclass(frozen=True)
class PublishedRows:
    """The rows of a release: columns o0, o1, ..., and `times` if a row represents several equal ones.

    Rows are sorted by `keys`. `beside` is a small table with further columns for their `number`.
    """

    frame: Any
    outputs: tuple[str, ...]
    rows: int
    keys: tuple[str, ...]
    beside: Any = None

    def ordered(self, parts: int | None = None) -> Any:
        """Distribute the rows to parts and sort them there, only by their content."""
        parts = parts or max(1, ceil(self.rows / ROWS_OF_A_PART))
        dealt = self.frame.repartition(parts, *self.keys)
        dealt = dealt.selectExpr("*", f"xxhash64({', '.join(self.keys)}) AS place").sortWithinPartitions("place")
        if "times" in dealt.columns:
            dealt = dealt.selectExpr(*self.outputs, "explode(sequence(1L, times)) AS turn")
        if self.beside is not None:  # Spark drops a sort below a join, unless an operator between may multiply rows
            dealt = dealt.selectExpr("*", "explode(array(1)) AS turn").join(self.beside, "number")
        return dealt.select(*self.outputs)


def published(
    cells: LinkedCells,
    placement: Placement,
    layout: Layout,
    rows: SourceRows | None,
    neutral: Mapping[str, tuple[str, str]],
    as_texts: bool,
) -> PublishedRows:
    """Return the published rows; `rows` are those of the source, None without neutral columns.

    `neutral` has the column and the type of each; with `as_texts` they are published as texts.
    """
    texts = [text_of(*neutral[name], name) for name in layout.neutral]
    values = {name: column for name, (column, _) in neutral.items()}
    if as_texts:
        values |= {name: text_of(*given, name) for name, given in neutral.items() if has_text(given[1])}
    if layout.permuted:
        kinds = {name: kind for name, (_, kind) in neutral.items() if not as_texts}
        return _permuted(_by_group(cells, placement, layout, rows, texts, values), placement, layout, kinds)
    outputs = {name: f"o{i}" for i, name in enumerate(layout.order)}
    every = entries(placement, layout)
    shown, number = _numbered(every)
    facts = tuple(outputs.values()), int(placement.count.sum()), ("number", *(outputs[name] for name in layout.neutral))
    if rows is None:
        table = _table(shown, outputs, np.arange(len(shown.counts))).append_column("times", [shown.counts])
        return PublishedRows(cells.session.createDataFrame(table), *facts)
    frame, names = _with_numbers(cells, placement, rows, every, number, texts)
    table = _table(shown, outputs, names)
    listed = [f"{value} AS {outputs[name]}" for name, value in values.items()]
    frame = frame.selectExpr("grp AS number", *listed)
    if _is_small(table):
        return PublishedRows(frame, *facts, cells.sent(table))
    return PublishedRows(frame.join(cells.sent(table), "number"), *facts)


def _with_numbers(
    cells: LinkedCells,
    placement: Placement,
    rows: SourceRows,
    every: Shown,
    number: NDArray[np.int64],
    texts: Sequence[str],
) -> tuple[Any, NDArray[np.int64]]:
    """Give rows the number of their published content, as `grp`, in the cheapest way; return also these numbers."""
    distinct = np.arange(int(number.max(initial=-1)) + 1)
    if np.array_equal(placement.cell, np.arange(len(cells.counts))) and np.array_equal(placement.count, cells.counts):
        if (recoded := _recoded_columns(cells, rows.codings, every)) is not None:
            packing = packing_of(recoded.codings)
            [names] = packing.packed(recoded.of_numbers(number, len(distinct)))
            return rows.coded(recoded.codings).withColumnRenamed(*packing.names, "grp"), names
        if (frame := cells.numbered(rows.coded(rows.codings), placement.group, number)) is not None:
            return frame, distinct
    return _placed(cells, placement, number, rows.coded(rows.codings), texts), distinct


@dataclass(frozen=True)
class RecodedColumns:
    """Codings of values by their published form, and the codes of each cell."""

    codings: list[Coding]
    codes: list[NDArray[np.int32]]

    def of_numbers(self, number: NDArray[np.int64], distinct: int) -> list[NDArray[np.int32]]:
        """Return the codes of each of the distinct numbers of cells."""
        a_cell = np.empty(distinct, np.int64)
        a_cell[number] = np.arange(len(number))
        return [codes[a_cell] for codes in self.codes]


def _recoded_columns(cells: LinkedCells, codings: Sequence[Coding], every: Shown) -> RecodedColumns | None:
    """Code values by their published texts; None if a column's text depends on more than its value."""
    if not {coding.column for coding in codings} >= every.columns.keys():
        return None
    recoded, shown, packing = [], [], packing_of(codings)
    columns = np.ascontiguousarray(packing.unpacked([*cells.keys.values()]).T)
    for coding, column, values in zip(codings, packing.columns, columns, strict=True):
        texts, codes = every.columns.get(coding.column, (pa.array([""]), np.zeros(len(values), np.int32)))
        published = (numbers_in(pc.rank(texts)) - 1).astype(np.int32)[codes]
        of_value = np.zeros(column.size + 1, np.int32)
        of_value[values] = published  # the code -1 is the last
        if not (of_value[values] == published).all():
            return None
        recoded.append(replace(coding, codes={text: int(of_value[code]) for text, code in coding.codes.items()}))
        shown.append(published)
    return RecodedColumns(recoded, shown) if len(packing_of(recoded).parts) == 1 else None


def _numbered(every: Shown) -> tuple[Shown, NDArray[np.int64]]:
    """Number the published content besides neutral columns by its texts; return also the number of each entry."""
    shown, number = every.joined()
    ranks = [numbers_in(pc.rank(texts))[codes] for texts, codes in shown.columns.values()]
    order = np.lexsort((np.arange(len(shown.counts)), *reversed(ranks)))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return shown.taken(order, shown.counts[order]), place[number]


def _table(shown: Shown, outputs: Mapping[str, str], numbers: NDArray[np.int64]) -> pa.Table:
    """Return the published content as a table, with its numbers."""
    texts = {outputs[name]: texts.take(number_column(codes)) for name, (texts, codes) in shown.columns.items()}
    return pa.table({"number": numbers, **texts})


def _by_group(
    cells: LinkedCells,
    placement: Placement,
    layout: Layout,
    rows: SourceRows | None,
    texts: Sequence[str],
    values: Mapping[str, str],
) -> Any:
    """Give rows their published content, as o0, o1, ..., and their group, within which values are permuted."""
    if rows is None:
        table = pa.table({"cell": placement.cell, "grp": placement.group, "times": placement.count})
        placed = cells.session.createDataFrame(table).selectExpr("*", "explode(sequence(1L, times)) AS turn")
    else:
        placed = _placed(cells, placement, placement.group, rows.coded(rows.codings), texts)
    for table in text_tables(layout).values():
        key, *names = table.column_names
        placed = placed.join(cells.sent(table.rename_columns([key, *(f"{key}_{name}" for name in names)])), key)
    shown = {column.name: f"grp_t{i}" for i, column in enumerate(layout.by_group)}
    shown |= {column.name: f"cell_t{i}" for i, column in enumerate(layout.by_cell)}
    shown |= values
    if layout.group_column is not None:
        shown[layout.group_column] = "grp_label"
    return placed.selectExpr(*(f"{shown[name]} AS o{i}" for i, name in enumerate(layout.order)), "grp")


def _placed(
    cells: LinkedCells, placement: Placement, number: NDArray[np.int64], rows: Any, texts: Sequence[str]
) -> Any:
    """Give each row its cell, and the number of its entry, as `grp`.

    Rows of a split cell are distinguished only by their neutral values.
    """
    parts = parts_of(placement, number, cells.counts)
    whole, split = parts["whole"], parts["split"]
    apart = np.unique(split["cell"])
    every = np.r_[whole["cell"], apart]
    linked = cells.linked(rows, every, cell=every, grp=np.r_[whole["grp"], np.full(len(apart), SPLIT)])
    if not len(apart):
        return linked
    by_neutral = ", ".join(f"{text} NULLS LAST" for text in texts)
    turn = f"row_number() OVER (PARTITION BY cell ORDER BY {by_neutral}) - 1 AS turn"
    numbered = linked.where(f"grp = {SPLIT}").drop("grp").selectExpr("*", turn)
    dealt = numbered.join(cells.sent_numbers(split), "cell").where("turn >= first AND turn < last")
    return linked.where("grp >= 0").unionByName(dealt.drop("turn", "first", "last"))


def _permuted(placed: Any, placement: Placement, layout: Layout, kinds: Mapping[str, str]) -> PublishedRows:
    """Permute columns within each group: both sides are sorted by their own published content."""
    sides = []
    for permuted in (False, True):
        places = [i for i, name in enumerate(layout.order) if (name in layout.permuted) == permuted]
        by_name = sorted(places, key=lambda i: layout.order[i])
        texts = [text_of(f"o{i}", kinds.get(layout.order[i], "string")) for i in by_name]
        shown = [f"{text} AS d{i}" for i, text in enumerate(texts)]
        listed = [*(f"o{i}" for i in places), "grp"]
        turn = f"row_number() OVER (PARTITION BY grp ORDER BY md5({framed([f'd{i}' for i in range(len(texts))])}))"
        sides.append(placed.selectExpr(*listed, *shown).selectExpr(*listed, f"{turn} AS turn"))
    outputs = tuple(f"o{i}" for i in range(len(layout.order)))
    dealt = sides[0].join(sides[1], ["grp", "turn"]).drop("grp", "turn")
    return PublishedRows(dealt, outputs, int(placement.count.sum()), outputs)


# -- files -----------------------------------------------------------------------------------------------------


def save(rows: PublishedRows, names: Sequence[str], folder: Path, format: str) -> int:
    """Write rows to a folder of part files; return their number."""
    session, ordered = rows.frame.sparkSession, rows.ordered()
    if format == "csv" and len(names) == 1:  # a single missing value would be an empty line, which readers skip
        ordered = ordered.selectExpr("coalesce(o0, '') AS o0")
    folder.unlink(missing_ok=True)
    options = CSV if format == "csv" else {}
    with settings(session, INSTANTS):
        ordered.toDF(*names).write.format(format).options(**options).save(str(folder.absolute()))
    if not (folder / DONE).exists():
        raise refusal("engines.unseen_release", parent=folder.parent)
    _name_parts(folder, format)
    parts = [str(part.absolute()) for part in sorted(folder.glob("part-*"))]
    written = session.read.format(format).options(**options, multiLine=True).load(parts)
    return int(collected(written.selectExpr("count(*) AS rows"))["rows"][0].as_py())


def _name_parts(folder: Path, format: str) -> None:
    """Number the files: Spark's names are different every time, and contain a job's number."""
    for check in folder.glob(".*.crc"):
        check.unlink()
    for number, part in enumerate(sorted(folder.glob("part-*"))):
        part.rename(folder / f"part-{number:05d}.{format}")
