"""Putting together what is published, in Spark, and writing it to a folder of part files.

A release without neutral columns follows from cells and their counts, so no row is read for it. Otherwise every row
finds its cell by its codes, by joins that are broadcast. Rows go to parts by a hash of what they show and are sorted
by it there, so neither the number of a part nor a row's place in it tells where in the input a row stood.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.engines.duckdb.publishing import parts_of, text_tables
from sfumato.engines.protocol import Layout, Placement
from sfumato.engines.spark.sources import collected, settings
from sfumato.engines.spark.values import framed, has_text, text_of
from sfumato.errors import BadInputError

ROWS_OF_A_PART = 1_000_000
"""About so many rows go to one file, whatever the cluster: the same release has the same files everywhere."""

BROADCAST_BYTES = 256 << 20
"""Up to this size a table of cells or groups is sent to all executors; Spark decides beyond."""

INSTANTS = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}
"""Instants are written as such; by default Spark writes them in a way that other programs take for a clock's time."""

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
SUPPRESSED, SPLIT = -1, -2
"""Instead of a group's number: no row of the cell is published; not all go to one group."""

DONE = "_SUCCESS"
"""Spark's own mark of a folder that is complete."""


@dataclass(frozen=True)
class Cells:
    """The packed codes of all cells by the names of their numbers, and the session in which rows are linked to them."""

    session: Any
    keys: Mapping[str, NDArray[np.int64]]
    counts: NDArray[np.int64]

    def linked(self, coded: Any, **beside: NDArray[np.int64]) -> Any:
        """Give the rows of a frame with packed codes the number of their cell, and what stands beside it."""
        table = pa.table({**self.keys, "cell": np.arange(len(self.counts)), **beside})
        return coded.join(self.sent(table), list(self.keys)).drop(*self.keys)

    def sent(self, table: pa.Table) -> Any:
        """Bring a small table to Spark, to all executors where it is not too large."""
        frame = self.session.createDataFrame(table)
        return frame.hint("broadcast") if table.nbytes <= BROADCAST_BYTES else frame


@dataclass(frozen=True)
class Published:
    """The rows of a release: columns o0, o1, ..., and `times` where a row stands for several that are equal."""

    frame: Any
    outputs: tuple[str, ...]
    rows: int
    counted: bool

    def ordered(self, parts: int | None = None) -> Any:
        """Deal the rows out to parts and sort them there, by nothing but what they show."""
        parts = parts or max(1, ceil(self.rows / ROWS_OF_A_PART))
        listed = ", ".join(self.outputs)
        dealt = self.frame.selectExpr("*", f"xxhash64({listed}) AS place").repartition(parts, "place")
        dealt = dealt.sortWithinPartitions("place", *self.outputs)
        if self.counted:
            dealt = dealt.selectExpr(*self.outputs, "explode(sequence(1L, times)) AS turn")
        return dealt.select(*self.outputs)


def published(
    cells: Cells,
    placement: Placement,
    layout: Layout,
    rows: Any,
    neutral: Mapping[str, tuple[str, str]],
    as_texts: bool,
) -> Published:
    """Say what every published row shows; `rows` have codes and neutral columns, None where there are no such columns.

    `neutral` has the column and the type of each, and with `as_texts` they are published as texts.
    """
    if rows is None:
        entries = {"cell": placement.cell, "grp": placement.group, "times": placement.count}
        placed = cells.session.createDataFrame(pa.table(entries))
    else:
        placed = _placed(cells, placement, rows, [text_of(*neutral[name], name) for name in layout.neutral])
    for table in text_tables(layout).values():
        key, *names = table.column_names
        placed = placed.join(cells.sent(table.rename_columns([key, *(f"{key}_{name}" for name in names)])), key)
    shown = {column.name: f"grp_t{i}" for i, column in enumerate(layout.by_group)}
    shown |= {column.name: f"cell_t{i}" for i, column in enumerate(layout.by_cell)}
    for name, (column, kind) in neutral.items():
        shown[name] = text_of(column, kind, name) if as_texts and has_text(kind) else column
    if layout.group_column is not None:
        shown[layout.group_column] = "grp_label"
    outputs = tuple(f"o{i}" for i in range(len(layout.order)))
    listed = [f"{shown[name]} AS {output}" for name, output in zip(layout.order, outputs, strict=True)]
    number = int(placement.count.sum())
    if not layout.permuted:
        return Published(placed.selectExpr(*listed, *(["times"] * (rows is None))), outputs, number, rows is None)
    if rows is None:
        placed = placed.selectExpr("*", "explode(sequence(1L, times)) AS turn").drop("turn", "times")
    kinds = {name: kind for name, (_, kind) in neutral.items() if not as_texts}
    return Published(_permuted(placed.selectExpr(*listed, "grp"), layout, kinds), outputs, number, False)


def _placed(cells: Cells, placement: Placement, rows: Any, texts: Sequence[str]) -> Any:
    """Give every row its group. Rows of a cell that is split are told apart by their neutral values only."""
    parts = parts_of(placement, placement.group, cells.counts)
    of_cell = np.full(len(cells.counts), SUPPRESSED, np.int64)
    of_cell[parts["split"]["cell"]] = SPLIT
    of_cell[parts["whole"]["cell"]] = parts["whole"]["grp"]
    linked = cells.linked(rows, grp=of_cell)
    whole = linked.where("grp >= 0")
    if not len(parts["split"]["cell"]):
        return whole
    by_neutral = ", ".join(f"{text} NULLS LAST" for text in texts)
    turn = f"row_number() OVER (PARTITION BY cell ORDER BY {by_neutral}) - 1 AS turn"
    numbered = linked.where(f"grp = {SPLIT}").drop("grp").selectExpr("*", turn)
    split = numbered.join(cells.sent(pa.table(parts["split"])), "cell").where("turn >= first AND turn < last")
    return whole.unionByName(split.drop("turn", "first", "last"))


def _permuted(placed: Any, layout: Layout, kinds: Mapping[str, str]) -> Any:
    """Deal the permuted columns out anew within each group: both sides sorted by what they themselves show."""
    sides = []
    for permuted in (False, True):
        places = [i for i, name in enumerate(layout.order) if (name in layout.permuted) == permuted]
        by_name = sorted(places, key=lambda i: layout.order[i])
        texts = [text_of(f"o{i}", kinds.get(layout.order[i], "string")) for i in by_name]
        shown = [f"{text} AS d{i}" for i, text in enumerate(texts)]
        listed = [*(f"o{i}" for i in places), "grp"]
        turn = f"row_number() OVER (PARTITION BY grp ORDER BY md5({framed([f'd{i}' for i in range(len(texts))])}))"
        sides.append(placed.selectExpr(*listed, *shown).selectExpr(*listed, f"{turn} AS turn"))
    return sides[0].join(sides[1], ["grp", "turn"]).drop("grp", "turn")


# -- files -----------------------------------------------------------------------------------------------------


def save(rows: Published, names: Sequence[str], folder: Path, format: str) -> int:
    """Write rows to a folder of part files; return how many were written."""
    session, ordered = rows.frame.sparkSession, rows.ordered()
    if format == "csv" and len(names) == 1:  # a missing value alone would be an empty line, which readers skip
        ordered = ordered.selectExpr("coalesce(o0, '') AS o0")
    folder.unlink(missing_ok=True)
    options = CSV if format == "csv" else {}
    with settings(session, INSTANTS):
        ordered.toDF(*names).write.format(format).options(**options).save(str(folder.absolute()))
    if not (folder / DONE).exists():
        raise BadInputError(
            f"{folder.parent}: Spark wrote the release where this program cannot see it; give a folder that both see "
            "(on Databricks one under /Volumes), or run sfumato where Spark runs"
        )
    _name_parts(folder, format)
    parts = [str(part.absolute()) for part in sorted(folder.glob("part-*"))]
    written = session.read.format(format).options(**options, multiLine=True).load(parts)
    return int(collected(written.selectExpr("count(*) AS rows"))["rows"][0].as_py())


def _name_parts(folder: Path, format: str) -> None:
    """Name the files by their numbers alone: Spark's names are others every time, and tell a job's number."""
    for check in folder.glob(".*.crc"):
        check.unlink()
    for number, part in enumerate(sorted(folder.glob("part-*"))):
        part.rename(folder / f"part-{number:05d}.{format}")
