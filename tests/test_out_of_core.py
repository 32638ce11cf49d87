"""Rows that stay where they are: many files, partitions, databases; files that differ; what is written of many rows.

Truth is computed by the plain engine, or by hand.
"""

from __future__ import annotations

import csv
import itertools
import os
import random
import signal
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato
from plain_engine import PlainEngine
from sfumato.engines import open_rows
from sfumato.engines.duckdb import write as published_rows
from sfumato.engines.duckdb.grouped import CodedColumn, Packing
from sfumato.engines.protocol import Coding, Layout, Placement, Reading, Texts
from sfumato.errors import BadInputError
from sfumato.runtime.memory import spill_folder

DRAWN = random.Random(7)
PEOPLE = {
    "town": [DRAWN.choice(["a", "b", "c", None]) for _ in range(400)],
    "age": [DRAWN.randrange(20, 50) for _ in range(400)],
    "note": [DRAWN.choice(["x", "y", None]) for _ in range(400)],
}


def written(folder, tables, ending="parquet"):
    """Write tables to files of a folder."""
    for name, content in tables.items():
        path = folder / f"{name}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if ending == "parquet":
            pq.write_table(content, path)
        else:
            with path.open("w", newline="") as stream:
                rows = zip(*(column.to_pylist() for column in content.columns), strict=True)
                csv.writer(stream).writerows([content.column_names, *rows])
    return folder


def parts(n=3):
    """The people in parts."""
    table = pa.table(PEOPLE)
    return {f"part{i}": table.slice(i * 150, 150) for i in range(n)}


def counted(rows, names):
    """What is counted, as a dictionary."""
    batches = pa.Table.from_batches(rows.count_texts(names))
    return {row[:-1]: row[-1] for row in zip(*(c.to_pylist() for c in batches.columns), strict=True)}


SOURCES = ["parquet", "csv", "pattern", "duckdb", "relation", "large text"]


@pytest.fixture(params=SOURCES)
def people(request, tmp_path, monkeypatch):
    """The same rows from everywhere."""
    if request.param == "duckdb":
        with duckdb.connect(tmp_path / "p.duckdb") as connection:
            content = pa.table(PEOPLE)
            connection.register("content", content)
            connection.execute("CREATE SCHEMA s; CREATE TABLE s.people AS SELECT * FROM content; CREATE TABLE t(a INT)")
        return open_rows(f"{tmp_path}/p.duckdb#s.people")
    if request.param == "relation":
        content = pa.table(PEOPLE)
        return open_rows(duckdb.connect().from_arrow(content))
    if request.param == "large text":
        monkeypatch.setattr("sfumato.engines.duckdb.sources.LARGE_TEXT", 10)
    folder = written(tmp_path / "in", parts(), "csv" if request.param in ("csv", "large text") else "parquet")
    return open_rows(f"{folder}/*.parquet" if request.param == "pattern" else folder)


def test_rows_are_the_same_from_wherever_they_come(people):
    plain = PlainEngine.open(pa.table(PEOPLE), Reading())
    assert (list(people.columns), people.row_count) == (["town", "age", "note"], 400)
    assert people.digest() == plain.digest() and people.digest(["town", "age"]) == plain.digest(["town", "age"])
    assert counted(people, ["town", "note"]) == counted(plain, ["town", "note"])
    for column in people.columns:
        ours, theirs = people.distinct(column, ["note"]), plain.distinct(column, ["note"])
        assert list(ours.values) == list(theirs.values) and ours.counts.tolist() == theirs.counts.tolist()
        assert people.distinct(column).first_rows.tolist() == plain.distinct(column).first_rows.tolist()


CODINGS = [Coding("town", {"a": 0, "b": 1, None: -1}), Coding("age", {str(age): age // 10 for age in range(20, 50)})]


def published(rows, path, permuted=frozenset(), neutral=("note",)):
    """Write towns and decades of age: cell 0 is split over two groups, c is unknown and dropped."""
    cells = rows.count_cells(CODINGS)
    sizes = cells.counts.tolist()
    taken = [(0, 0, 2), (0, 1, sizes[0] - 2)] + [(cell, 1 + cell % 2, n) for cell, n in enumerate(sizes) if cell]
    cell, group, count = (np.array(numbers) for numbers in zip(*taken, strict=True))
    by_group = [Texts("town", ["one", "two", "three"], np.arange(3, dtype=np.int32))]
    by_cell = [Texts("age", ["20s", "30s", None], (cells.codes[:, 1] - 2).astype(np.int32))]
    layout = Layout(["age", "town", *neutral], by_group, by_cell, list(neutral), permuted)
    assert rows.write(Placement(cell, group, count, cells.link), layout, path, path.suffix[1:]) == sum(sizes)
    table = rows.placed_rows(Placement(cell, group, count, cells.link), layout)
    return [tuple(row.values()) for row in table.to_pylist()], cells


def read_back(path):
    if path.suffix == ".parquet":
        return [tuple(row.values()) for row in pq.read_table(path).to_pylist()]
    with path.open(newline="") as stream:
        return [tuple(text or None for text in row) for row in csv.reader(stream)][1:]


@pytest.mark.parametrize("people", ["parquet", "large text"], indirect=True)
@pytest.mark.parametrize("many", [1_000_000, 10], ids=["few", "many"])
@pytest.mark.parametrize("case", ["plain", "neutral", "permuted", "both"])
def test_what_is_written_is_what_the_plain_engine_writes(people, case, many, tmp_path, monkeypatch):
    monkeypatch.setattr(published_rows, "MANY_ROWS", many)
    monkeypatch.setattr("sfumato.engines.duckdb.engine.MANY_ROWS", many)
    options = {
        "neutral": ("note",) if case in ("neutral", "both") else (),
        "permuted": frozenset(["age"]) if case in ("permuted", "both") else frozenset(),
    }
    truth, cells = published(PlainEngine.open(pa.table(PEOPLE), Reading()), tmp_path / "plain.csv", **options)
    rows, ours = published(people, tmp_path / "ours.csv", **options)
    assert ours.codes.tolist() == cells.codes.tolist() and ours.counts.tolist() == cells.counts.tolist()
    assert ours.dropped == cells.dropped > 0
    assert rows == read_back(tmp_path / "ours.csv")
    if case == "both" and many == 10:  # pairs within groups are dealt by another digest: each side is the same
        for side in ((0, 1), (1, 2)):
            assert sorted(map(repr, (tuple(row[i] for i in side) for row in rows))) == sorted(
                map(repr, (tuple(row[i] for i in side) for row in truth))
            )
    elif case != "permuted" or many > 10:
        assert sorted(map(repr, rows)) == sorted(map(repr, truth))
    if many > 10:
        assert rows == truth  # in the very order
    published(people, tmp_path / "ours.parquet", **options)
    assert read_back(tmp_path / "ours.parquet") == rows


def test_the_order_of_many_rows_tells_nothing_of_the_input(tmp_path, monkeypatch):
    monkeypatch.setattr(published_rows, "MANY_ROWS", 10)
    monkeypatch.setattr("sfumato.engines.duckdb.engine.MANY_ROWS", 10)
    table = pa.table(PEOPLE)
    order = list(range(table.num_rows))
    random.Random(3).shuffle(order)
    first, _ = published(open_rows(table), tmp_path / "first.csv")
    second, _ = published(open_rows(table.take(order)), tmp_path / "second.csv")
    assert first == second and (tmp_path / "first.csv").read_bytes() == (tmp_path / "second.csv").read_bytes()


def test_folders_of_partitions_are_columns(tmp_path):
    tables = {f"y={y}/k=%41/{name}": table for y, (name, table) in zip(("1", "01", "1"), parts().items(), strict=True)}
    for ending in ("parquet", "csv"):
        folder = written(tmp_path / ending, tables, ending)
        rows = open_rows(folder)
        assert list(rows.columns) == ["town", "age", "note", "y", "k"]
        assert counted(rows, ["y", "k"]) == {("1", "A"): 250, ("01", "A"): 150}
        empty = folder / "y=__HIVE_DEFAULT_PARTITION__/k=b"
        written(empty, {"x": pa.table(PEOPLE).slice(0, 1)}, ending)
        assert counted(open_rows(folder), ["y"]) == {("1",): 250, ("01",): 150, (None,): 1}
        written(folder / "z=2", {"x": pa.table(PEOPLE).slice(0, 1)}, ending)
        with pytest.raises(BadInputError, match=r"z=2/x\.\w+: (the keys of its folders are z|it has no column 'y')"):
            open_rows(folder)


def changed(change):
    """Parts of which the second one differs."""
    tables = parts()
    return tables | {"part1": change(tables["part1"])}


@pytest.mark.parametrize(
    ("ending", "change", "sentence"),
    [
        (
            "parquet",
            lambda t: t.set_column(1, "age", t["age"].cast(pa.float64())),
            "part1.parquet: column 'age' is of ",
        ),
        (
            "parquet",
            lambda t: t.drop_columns("note"),
            "part1.parquet: its columns are not those of .*part0.parquet: on",
        ),
        ("parquet", lambda t: t.select(["age", "town", "note"]), "their columns are in another order"),
        ("csv", lambda t: t.drop_columns("note"), "part1.csv: it has no column 'note', other than .*part0.csv"),
        ("csv", lambda t: t.append_column("more", t["note"]), "part1.csv: it has a column 'more', other than"),
        ("csv", lambda t: t.select(["age", "town", "note"]), "part1.csv: its columns are in another order"),
    ],
)
def test_a_file_that_differs_is_named(ending, change, sentence, tmp_path):
    with pytest.raises(BadInputError, match=sentence):
        open_rows(written(tmp_path / "in", changed(change), ending))


def test_empty_parts_are_no_fault_and_empty_files_are(tmp_path):
    folder = written(tmp_path / "in", changed(lambda table: table.slice(0, 0)))
    assert open_rows(folder).row_count == 250
    (folder / "part3.parquet").write_bytes(b"")
    with pytest.raises(BadInputError, match=r"part3.parquet: the file is empty"):
        open_rows(folder)
    (folder / "part3.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(BadInputError, match="cannot be read"):
        open_rows(folder)


def test_a_database_is_asked_for_a_table_that_it_has(tmp_path):
    path = tmp_path / "p.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE a(x INT); CREATE TABLE b(x INT); INSERT INTO a VALUES (1)")
        connection.execute("CREATE VIEW v AS SELECT x + 1 AS y FROM a")
    for source, sentence in {
        f"{path}": "there are several tables; name one of these: main.a, main.b, main.v",
        f"{path}#c": "there is no table 'c'; name one of these: main.a",
    }.items():
        with pytest.raises(BadInputError, match=sentence):
            open_rows(source)
    assert open_rows(f"{path}#a").row_count == 1 == open_rows(f"{path}#main.a").row_count
    assert list(open_rows(f"{path}#v").distinct("y").values) == ["2"]
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(BadInputError, match="the database cannot be opened"):
        open_rows(f"{path}#a")


def test_a_url_that_cannot_be_read_is_one_sentence(monkeypatch):
    with pytest.raises(BadInputError, match=r"https://host/t.csv: by a URL Parquet files are read"):
        open_rows("https://me@host/t.csv")
    with pytest.raises(BadInputError, match=r"^s3://no-such-bucket/t.parquet: DuckDB cannot read this URL: "):
        open_rows("s3://no-such-bucket/t.parquet")


def test_a_file_that_changes_before_it_is_written_is_noticed(tmp_path):
    pq.write_table(pa.table(PEOPLE), tmp_path / "p.parquet")
    table = sfumato.read(tmp_path / "p.parquet", quasi=["age"], neutral=["note"])
    release = sfumato.anonymize(table, "k-anonymity k=5")
    os.utime(tmp_path / "p.parquet", (1, 1))
    with pytest.raises(BadInputError, match=r"p.parquet: the file has changed since it was counted; do this once more"):
        release.to_csv(tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_columns_that_nobody_asks_for_are_not_read(tmp_path):
    """A column whose bytes are damaged is not noticed before it is published."""
    content = pa.table({"age": PEOPLE["age"], "note": [i / 7 for i in range(400)]})
    path = tmp_path / "p.parquet"
    pq.write_table(content, path, compression="none", use_dictionary=False)
    raw = bytearray(path.read_bytes())
    at = pq.ParquetFile(path).metadata.row_group(0).column(1).data_page_offset
    raw[at : at + 400] = b"\xff" * 400
    path.write_bytes(bytes(raw))
    table = sfumato.read(path, quasi=["age"])
    assert sfumato.anonymize(table, "k-anonymity k=5").to_csv(tmp_path / "out.csv") and table.digest()
    with pytest.raises(BadInputError, match="cannot be read"):
        open_rows(path).distinct("note")


@pytest.mark.parametrize("at_once", [7, 1 << 16])
def test_codes_are_packed_into_as_few_numbers_as_hold_them(at_once, monkeypatch):
    monkeypatch.setattr("sfumato.engines.duckdb.grouped.AT_ONCE", at_once)
    drawn = random.Random(1)
    sizes = [1 << 20, 3, 1 << 40, 1 << 62, 1, 7]
    packing = Packing(tuple(CodedColumn(f"t{i}", f"c{i}", size) for i, size in enumerate(sizes)))
    assert packing.parts == [[0, 1, 2], [3], [4, 5]][: len(packing.parts)] and len(packing.names) == 3
    rows = [[drawn.randrange(-1, size) for size in sizes] for _ in range(50)]
    keys = []
    for part in packing.parts:
        key = []
        for row in rows:
            number = 0
            for place in part:
                number = number * (sizes[place] + 1) + row[place] + 1
            key.append(number)
        keys.append(np.array(key, np.int64))
    small = [i for i, size in enumerate(sizes) if size < 1 << 31]
    assert packing.unpacked(keys)[:, small].tolist() == [[row[i] for i in small] for row in rows]
    order = sorted(range(50), key=rows.__getitem__)
    assert order == sorted(range(50), key=lambda i: [int(key[i]) for key in keys])


def test_the_private_folder_holds_large_text_as_long_as_it_is_used(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.engines.duckdb.sources.LARGE_TEXT", 10)
    folder = written(tmp_path / "in", parts(), "csv")
    rows = open_rows(folder, Reading(spill=str(tmp_path), memory="200MB"))
    stores = list(itertools.chain(*(Path(each).glob("rows-*.duckdb") for each in tmp_path.glob("sfumato-spill-*"))))
    assert len(stores) == 1 and rows.row_count == 400
    assert rows._connection.execute("SELECT current_setting('memory_limit')").fetchall()[0][0] == "200.0 MiB"
    del rows
    assert not stores[0].exists()


@pytest.mark.parametrize("neutral", [(), ("day",)])
def test_a_release_lists_no_text_of_a_record_that_is_left_out_and_its_texts_are_texts(neutral, tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.engines.duckdb.engine.MANY_ROWS", 0)
    rows = open_rows(pa.table({"town": ["b", "a", "secret", None], "day": [4, 3, 2, 1]}))
    cells = rows.count_cells([Coding("town", {"a": 0, "b": 1, "secret": 2, None: 3})])
    place, shown = np.array([0, 1, 3]), Texts("town", ["a", "b", "secret", None], np.arange(4, dtype=np.int32))
    placement = Placement(place, np.zeros(3, np.int64), np.ones(3, np.int64), cells.link)
    rows.write(placement, Layout(["town", *neutral], [], [shown], list(neutral)), tmp_path / "out.parquet", "parquet")
    assert b"secret" not in (tmp_path / "out.parquet").read_bytes()
    written = pq.read_table(tmp_path / "out.parquet")
    assert written.schema.field("town").type == pa.string()
    assert Counter(written["town"].to_pylist()) == Counter(["a", "b", None])


# -- what goes wrong in the middle -----------------------------------------------------------------------------

WRITING = """
    import resource, signal, sys
    from pathlib import Path
    import sfumato
    from sfumato.errors import BadInputError
    folder, ending = Path(sys.argv[1]), sys.argv[2]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    table = sfumato.read(folder / "in.parquet", quasi=["age"], neutral=["note"], spill=str(folder))
    release = sfumato.anonymize(table, "k-anonymity k=5")
    resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))  # a signal comes with the first byte that is too much
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL if ending == "killed" else signal.SIG_IGN)
    try:
        release.to_csv(folder / "out.csv")
    except BadInputError as error:
        print(f"told: {error}")
"""


@pytest.mark.parametrize("ending", ["killed", "disk full"])
def test_a_file_that_is_not_whole_never_gets_its_name(ending, tmp_path):
    size = 4_000
    rows = {"age": np.arange(size) % 90, "note": [f"note {i}" for i in range(size)]}
    pq.write_table(pa.table(rows), tmp_path / "in.parquet")
    code = textwrap.dedent(WRITING)
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path), ending], capture_output=True, text=True)
    assert not (tmp_path / "out.csv").exists()
    if ending == "killed":
        assert done.returncode == -signal.SIGXFSZ and list(tmp_path.glob("sfumato-spill-*"))
        assert [path.stat().st_size for path in tmp_path.glob(".*")] == [20000]  # it was in the middle of it
        spill_folder(str(tmp_path))
        assert len(list(tmp_path.glob("sfumato-spill-*"))) == 1  # that of this process
    else:
        assert done.returncode == 0 and "cannot be written (File too large); nothing was left" in done.stdout
        assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_a_private_folder_without_room_is_told_in_a_sentence(tmp_path):
    code = """
        import resource, signal, sys
        import numpy as np, pyarrow as pa
        from sfumato.engines.protocol import Coding, Reading
        from sfumato.engines import open_rows
        from sfumato.errors import BadInputError
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        rows = pa.table({"a": np.arange(3_000_000), "b": np.arange(3_000_000)[::-1]})
        rows = open_rows(rows, Reading(memory="130MB", spill=sys.argv[1]))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        try:
            sum(batch.num_rows for batch in rows.count_texts(["a", "b"]))
        except (BadInputError, MemoryError, OSError) as error:
            print(type(error).__name__, error)
    """
    words = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout, done.stderr
    assert not list(tmp_path.iterdir())
