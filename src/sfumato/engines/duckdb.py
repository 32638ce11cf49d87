"""The embedded engine: DuckDB holds the rows, spills to disk where memory is short, and writes the files."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.engines.protocol import Coding, CountedCodes, DistinctValues, Layout, Placement, Texts
from sfumato.engines.reading import READERS, checked_header, existing_file, explained, sniff
from sfumato.errors import BadInputError

PANDAS_INDEX = "__index_level_"


class DuckDBEngine:
    """Rows in an in-process DuckDB; columns are called c0, c1, ... inside, so any name is a good name outside."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, names: tuple[str, ...], origin: str) -> None:
        self._connection = connection
        self._names = names
        self._origin = origin
        if not names:
            raise BadInputError(f"{origin}: there is no column")
        if self.row_count == 0:
            raise BadInputError(f"{origin}: there is a header but no row")

    @classmethod
    def from_file(
        cls, path: Path, delimiter: str | None = None, encoding: str = "utf-8", na: Sequence[str] = ()
    ) -> DuckDBEngine:
        """Read a file: delimited text with a header, or any format that DuckDB reads by itself."""
        existing_file(path)
        connection = _connect()
        reader = READERS.get(path.suffix.lower())
        if reader is None:
            names = _load_text(connection, path, delimiter, encoding, na)
        else:
            names = _load_other(connection, path, reader, na)
        return cls(connection, names, str(path))

    @classmethod
    def from_frame(cls, frame: Any, na: Sequence[str] = ()) -> DuckDBEngine:
        """Take a frame of pandas, polars, pyarrow or whatever else speaks the Arrow interface."""
        origin = f"{type(frame).__module__.partition('.')[0]} {type(frame).__name__}"
        if isinstance(frame, pa.Table):
            table = frame
        elif hasattr(frame, "__arrow_c_stream__"):
            table = pa.table(frame)
        else:
            raise BadInputError(f"{origin} is neither a path nor a frame that speaks the Arrow interface")
        names = [str(name) for name in table.column_names]
        kept = [i for i, name in enumerate(names) if not name.startswith(PANDAS_INDEX)]
        names = list(checked_header(origin, tuple(names[i] for i in kept)))
        connection = _connect()
        connection.register("given", table.select(kept).rename_columns([f"c{i}" for i in range(len(names))]))
        _load_relation(connection, connection.sql("SELECT * FROM given"), na)
        connection.unregister("given")
        return cls(connection, tuple(names), origin)

    # -- the verbs -----------------------------------------------------------------------------------------

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns."""
        return self._names

    @property
    def origin(self) -> str:
        """The file or kind of frame, for messages."""
        return self._origin

    @cached_property
    def row_count(self) -> int:
        """The number of rows that were read."""
        return int(self._connection.execute("SELECT count(*) FROM rows").fetchall()[0][0])

    def digest(self) -> str:
        """Return a digest of names and values, whatever the order of rows and columns."""
        digest = hashlib.sha256()
        for name in sorted(self._names):
            digest.update(repr(name).encode())
        parts = ", ".join(f"coalesce('v' || {self._text(name)}, 'n')" for name in sorted(self._names))
        query = f"SELECT sum(md5_number_lower(to_json([{parts}])::VARCHAR)::HUGEINT), count(*) FROM rows"
        digest.update(repr(self._connection.execute(query).fetchall()).encode())
        return digest.hexdigest()

    def distinct(self, column: str) -> DistinctValues:
        """List the distinct values of a column, in ascending order of their text."""
        text = self._text(column)
        query = f"SELECT {text}, count(*), min(rowid) + 1 FROM rows GROUP BY ALL ORDER BY 1 NULLS LAST"
        found = self._connection.sql(query).to_arrow_table()
        return DistinctValues(found[0].to_pylist(), found[1].to_numpy(), found[2].to_numpy())

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
        found = self._connection.sql(
            f"SELECT {keys}, count(*) AS n FROM coded WHERE {complete} GROUP BY {keys} ORDER BY {keys}"
        ).to_arrow_table()
        matrix = np.empty((found.num_rows, len(names)), dtype=np.int32)
        for i, name in enumerate(names):
            matrix[:, i] = found[name].to_numpy()
        counts = found["n"].to_numpy().astype(np.int64)
        self._link(matrix, names)
        return CountedCodes(matrix, counts, self.row_count - int(counts.sum()))

    def write(self, placement: Placement, layout: Layout, path: Path, format: str) -> int:
        """Write the placed rows as CSV or Parquet, shuffled, all or nothing; return the number of rows."""
        self._place(placement, layout.neutral)
        self._register_texts(layout)
        return self._save(_published(layout, self._names), list(layout.order), path, format)

    def write_table(self, content: pa.Table, path: Path, format: str) -> int:
        """Write a small table of our own making in the same way, its rows shuffled."""
        names = list(content.column_names)
        self._replace_table("own", content.rename_columns([f"o{i}" for i in range(len(names))]))
        outputs = [f"o{i}" for i in range(len(names))]
        return self._save(f"SELECT {', '.join(outputs)} FROM own ORDER BY {_shuffled(outputs)}", names, path, format)

    # -- how ---------------------------------------------------------------------------------------------------

    def _text(self, column: str) -> str:
        return f"rows.c{self._names.index(column)}::VARCHAR"

    def _replace_table(self, name: str, content: pa.Table) -> None:
        self._connection.register("incoming", content)
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM incoming")
        self._connection.unregister("incoming")

    def _link(self, codes: NDArray[np.int32], names: list[str]) -> None:
        """Keep for every row the number of its cell."""
        cells = {name: pa.array(codes[:, i]) for i, name in enumerate(names)}
        cells["cell"] = pa.array(np.arange(len(codes), dtype=np.int64))
        self._replace_table("cells", pa.table(cells))
        same = " AND ".join(f"coded.{name} = cells.{name}" for name in names)
        self._connection.execute(
            f"CREATE OR REPLACE TEMP TABLE link AS SELECT line, cell FROM coded JOIN cells ON {same}"
        )
        self._connection.execute("DROP TABLE coded")
        self._connection.execute("DROP TABLE cells")

    def _place(self, placement: Placement, neutral: Sequence[str]) -> None:
        """Give every row its group. Rows of a cell that is split are told apart by their neutral values only."""
        order = np.lexsort((placement.group, placement.cell))
        cell, group, count = placement.cell[order], placement.group[order], placement.count[order]
        ends = np.cumsum(count)
        starts_of_cell = np.flatnonzero(np.r_[True, cell[1:] != cell[:-1]]) if len(cell) else np.array([], int)
        before = np.repeat((ends - count)[starts_of_cell], np.diff(np.r_[starts_of_cell, len(cell)]))
        parts = {"cell": cell, "grp": group, "first": ends - count - before, "last": ends - before}
        self._replace_table("parts", pa.table({name: pa.array(values) for name, values in parts.items()}))
        own = ", ".join(f"rows.c{self._names.index(name)}::VARCHAR" for name in neutral)
        within = f"row_number() OVER (PARTITION BY link.cell ORDER BY {own or 'NULL'}) - 1"
        self._connection.execute(
            f"CREATE OR REPLACE TEMP TABLE numbered AS SELECT link.line, link.cell, {within} AS place "
            f"FROM link JOIN rows ON rows.rowid = link.line"
        )
        self._connection.execute(
            "CREATE OR REPLACE TEMP TABLE placed AS SELECT numbered.line, numbered.cell, parts.grp FROM numbered "
            "JOIN parts ON parts.cell = numbered.cell AND numbered.place >= first AND numbered.place < last"
        )
        self._connection.execute("DROP TABLE numbered")

    def _register_texts(self, layout: Layout) -> None:
        for kind, columns in (("grp", layout.by_group), ("cell", layout.by_cell)):
            size = len(columns[0].codes) if columns else 0
            if kind == "grp" and layout.group_labels is not None:
                size = len(layout.group_labels)
            content = {kind: pa.array(np.arange(size, dtype=np.int64))}
            for i, column in enumerate(columns):
                content[f"t{i}"] = _dictionary(column)
            if kind == "grp" and layout.group_labels is not None:
                content["label"] = pa.array(layout.group_labels)
            self._replace_table(f"{kind}_texts", pa.table(content))

    def _save(self, query: str, names: list[str], path: Path, format: str) -> int:
        """Write to a temporary neighbour, then rename: a reader sees the whole file or none."""
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        os.close(handle)
        try:
            if format == "parquet":
                written = self._save_parquet(query, names, temporary)
            else:
                written = self._save_csv(query, names, temporary)
            with open(temporary, "rb+") as stream:
                os.fsync(stream.fileno())
            Path(temporary).chmod(0o666 & ~_umask())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return written

    def _save_csv(self, query: str, names: list[str], temporary: str) -> int:
        header = ", ".join(_literal(name) for name in names)
        texts = ", ".join(f"o{i}::VARCHAR" for i in range(len(names)))
        if len(names) == 1:  # a missing value alone would be an empty line, which readers skip
            texts = "coalesce(o0::VARCHAR, '')"
        columns = ", ".join(f"h{i}" for i in range(len(names)))
        body = f"SELECT {texts} FROM ({query})"
        found = self._connection.execute(
            f"COPY (FROM (VALUES ({header})) AS header({columns}) UNION ALL ({body})) TO {_literal(temporary)} "
            f"(FORMAT csv, HEADER false, DELIMITER ',', QUOTE '\"', ESCAPE '\"')"
        ).fetchall()
        return int(found[0][0]) - 1

    def _save_parquet(self, query: str, names: list[str], temporary: str) -> int:
        import pyarrow.parquet as pq  # a second of imports that most runs do not need

        written = 0
        batches = self._connection.sql(query).to_arrow_reader(1 << 16)
        schema = pa.schema([field.with_name(name) for field, name in zip(batches.schema, names, strict=True)])
        with pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
            for batch in batches:
                writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
                written += batch.num_rows
        return written


def _connect() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET preserve_insertion_order = true")
    connection.execute("SET enable_progress_bar = false")
    return connection


def _load_text(
    connection: duckdb.DuckDBPyConnection, path: Path, delimiter: str | None, encoding: str, na: Sequence[str]
) -> tuple[str, ...]:
    shape = sniff(path, encoding, delimiter)
    names = checked_header(str(path), shape.header)
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
    missing = ", ".join(map(_literal, ["", *na]))
    try:
        connection.execute(
            f"CREATE TABLE rows AS SELECT * FROM read_csv({_literal(str(path))}, columns = {{{columns}}}, "
            f"delim = {_literal(shape.delimiter)}, quote = '\"', escape = '\"', header = true, nullstr = [{missing}], "
            f"auto_detect = false, strict_mode = true, encoding = {_literal(encoding)})"
        )
    except duckdb.Error as error:
        raise explained(path, str(error), len(names)) from None
    return names


def _load_other(connection: duckdb.DuckDBPyConnection, path: Path, reader: str, na: Sequence[str]) -> tuple[str, ...]:
    try:
        relation = connection.sql(f"SELECT * FROM {reader}({_literal(str(path))})")
        names = checked_header(str(path), tuple(relation.columns))
        _load_relation(connection, relation, na)
    except duckdb.Error as error:
        raise BadInputError(f"{path}: the file cannot be read ({str(error).splitlines()[0]})") from None
    return names


def _load_relation(connection: duckdb.DuckDBPyConnection, relation: duckdb.DuckDBPyRelation, na: Sequence[str]) -> None:
    """Store a typed relation as `rows`, the empty text and the texts declared in `na` as missing values."""
    missing = ", ".join(map(_literal, ["", *na]))
    columns = []
    for i, (name, kind) in enumerate(zip(relation.columns, relation.types, strict=True)):
        quoted = '"' + name.replace('"', '""') + '"'
        if str(kind) == "VARCHAR":
            quoted = f"CASE WHEN {quoted} IN ({missing}) THEN NULL ELSE {quoted} END"
        columns.append(f"{quoted} AS c{i}")
    relation.query("incoming", f"SELECT {', '.join(columns)} FROM incoming").create("rows")


def _published(layout: Layout, names: Sequence[str]) -> str:
    """Write the query that gives the published rows in an order that depends on nothing but what they show."""
    shown = _shown(layout, names)
    if layout.permuted:
        query = _permuted(layout, shown)
    else:
        query = f"SELECT {_listed(layout.order, shown)} {_SOURCE}"
    outputs = [f"o{i}" for i in range(len(layout.order))]
    return f"SELECT * FROM ({query}) ORDER BY {_shuffled(outputs)}"


_SOURCE = "FROM placed JOIN rows ON rows.rowid = placed.line JOIN grp_texts USING (grp) JOIN cell_texts USING (cell)"


def _shown(layout: Layout, names: Sequence[str]) -> dict[str, str]:
    """Say for every published column by which expression it is found."""
    shown = {column.name: f"grp_texts.t{i}::VARCHAR" for i, column in enumerate(layout.by_group)}
    shown |= {column.name: f"cell_texts.t{i}::VARCHAR" for i, column in enumerate(layout.by_cell)}
    shown |= {name: f"rows.c{names.index(name)}" for name in layout.neutral}
    if layout.group_column is not None:
        shown[layout.group_column] = "grp_texts.label"
    return shown


def _listed(order: Iterable[str], shown: dict[str, str]) -> str:
    return ", ".join(f"{shown[name]} AS o{i}" for i, name in enumerate(order))


def _permuted(layout: Layout, shown: dict[str, str]) -> str:
    """Deal the permuted columns out anew within each group: both sides sorted by what they themselves show.

    The pairing is a function of the two published margins of the group, so it tells nothing about who had what.
    """
    sides = []
    for permuted in (False, True):
        listed = {i: shown[name] for i, name in enumerate(layout.order) if (name in layout.permuted) == permuted}
        columns = ", ".join(f"{expression} AS o{i}" for i, expression in listed.items())
        outputs = [f"o{i}" for i in listed]
        columns = f"{columns}, " if columns else ""
        sides.append(
            f"SELECT *, row_number() OVER (PARTITION BY grp ORDER BY {_shuffled(outputs)}) AS turn "
            f"FROM (SELECT {columns}placed.grp {_SOURCE})"
        )
    columns = ", ".join(f"o{i}" for i in range(len(layout.order)))
    return f"SELECT {columns} FROM ({sides[0]}) AS kept JOIN ({sides[1]}) AS dealt USING (grp, turn)"


def _shuffled(outputs: Sequence[str]) -> str:
    """An order by a digest of what is shown: no trace of the input's order, the same for the same content."""
    if not outputs:
        return "NULL"
    texts = ", ".join(f"coalesce('v' || {output}::VARCHAR, 'n')" for output in outputs)
    return f"md5(to_json([{texts}])::VARCHAR), {', '.join(outputs)}"


def _dictionary(column: Texts) -> pa.Array:
    return pa.DictionaryArray.from_arrays(
        pa.array(column.codes, pa.int32()), pa.array(list(column.texts), pa.string())
    ).cast(pa.string())


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
