"""PostgreSQL behind the protocol, on a real server: the same as DuckDB of the same rows, and what goes wrong there."""

from __future__ import annotations

import datetime
import json
import math
import random
import struct

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato
from command_line import run
from sfumato.engines import open_rows
from sfumato.engines.duckdb.engine import DuckDBEngine
from sfumato.engines.postgresql.engine import PostgreSQLEngine
from sfumato.engines.protocol import Coding, Layout, Placement, Reading, Rule, Texts
from sfumato.errors import BadInputError

UTC = datetime.UTC


def floats(number):
    """Numbers of every size, and those whose shortest text lies exactly between two numbers."""
    rng = random.Random(20)
    values = [struct.unpack("d", struct.pack("Q", rng.getrandbits(64)))[0] for _ in range(number)]
    values += [float(rng.randrange(1, 1000)) * 10.0**power for power in range(-8, 24) for _ in range(number // 200)]
    values += [rng.randrange(2**53, 2**62) * 1.0 for _ in range(number // 2)]
    values += [1e23, 9007199254740993.0, 33554430.0, 1e15, 1e16, 123456789.5, -0.0, 0.0, math.inf, -math.inf, math.nan]
    return [*(math.nan if math.isnan(value) else value for value in values), None]


MOMENTS = [datetime.datetime(2020, 1, 31, 10, 0, 0, 500000), datetime.datetime(1, 1, 1), None]
TYPED = {
    "float8": pa.array(floats(2000), pa.float64()),
    "int2": pa.array([-3, 4, None], pa.int16()),
    "int8": pa.array([2**62, -1, None], pa.int64()),
    "bool": pa.array([True, False, None]),
    "date": pa.array([datetime.date(2020, 1, 31), datetime.date(1, 1, 1), None]),
    "time": pa.array([datetime.time(10, 0, 0, 500000), datetime.time(23, 59), None]),
    "timestamp": pa.array(MOMENTS, pa.timestamp("us")),
    "timestamptz": pa.array(MOMENTS, pa.timestamp("us", tz="UTC")),
    "text": pa.array(["a", "ä", "Z", "", "\\", "'", "a\nb", "😀", None]),
}


@pytest.mark.parametrize("kind", TYPED)
def test_the_texts_of_values_are_those_of_duckdb(postgresql, kind):
    content = pa.table({"c": TYPED[kind]})
    theirs, ours = open_rows(postgresql.load(f"typed_{kind}", content)), DuckDBEngine.open(content, Reading())
    assert theirs.digest() == ours.digest()
    there, here = theirs.distinct("c"), ours.distinct("c")
    assert list(there.values) == list(here.values) and there.counts.tolist() == here.counts.tolist()
    assert there.first_rows is None


def test_of_32_bits_short_numbers_have_one_text_and_long_ones_are_refused(postgresql):
    rng = random.Random(3)
    short = [round(rng.uniform(-1, 1), rng.randrange(6)) * 10.0 ** rng.randrange(-20, 7) for _ in range(300)]
    numbers = pa.array([*short, 9999990, 0.0001, 1e-5, -0.0, 7, float("nan"), float("-inf"), None], pa.float32())
    content = pa.table({"c": numbers})
    rows, plain = open_rows(postgresql.load("float4", content)), DuckDBEngine.open(content, Reading())
    assert list(rows.distinct("c").values) == list(plain.distinct("c").values)
    for i, long in enumerate((0.123456789, 16777216, 12345678, -1e10)):
        table = postgresql.load(f"long_{i}", pa.table({"a 'b\"{}": pa.array([1, long], pa.float32())}))
        with pytest.raises(BadInputError, match=r"""column 'a .*b"{}' holds a 32-bit .*cast it"""):
            open_rows(table).distinct("a 'b\"{}")


def test_decimals_enumerations_domains_and_old_days_have_the_texts_of_duckdb(postgresql):
    postgresql.run(
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE DOMAIN euro AS numeric(6, 2)",
        "CREATE TABLE odd (a euro, b numeric(3, 3), c numeric, d mood, e char(4), f date, g timestamp, h uuid)",
        "INSERT INTO odd VALUES (1.5, 0.5, 1.50, 'sad', 'x', '0044-03-15 BC', '0044-03-15 10:00 BC', "
        "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'), (-0.25, -0.25, 1.5, 'ok', 'x ', 'infinity', '-infinity', NULL)",
    )
    rows = open_rows(postgresql.url("public.odd"))
    expected = duckdb.connect().execute(
        "SELECT 1.5::DECIMAL(6,2)::VARCHAR, (-0.25)::DECIMAL(6,2)::VARCHAR, 0.5::DECIMAL(3,3)::VARCHAR, "
        "(-0.25)::DECIMAL(3,3)::VARCHAR, '0044-03-15 (BC)'::DATE::VARCHAR, 'infinity'::DATE::VARCHAR, "
        "'0044-03-15 (BC) 10:00:00'::TIMESTAMP::VARCHAR, '-infinity'::TIMESTAMP::VARCHAR, "
        "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::UUID::VARCHAR"
    )
    values = [value for column in "abfgh" for value in rows.distinct(column).values]
    assert {*values} == {*expected.fetchall()[0], None}
    assert list(rows.distinct("c").values) == ["1.5"]  # equal numbers have one text
    assert list(rows.distinct("e").values) == ["x"] and list(rows.distinct("d").values) == ["ok", "sad"]
    assert rows.texts == {"d", "e"}


def test_types_without_a_shared_text_are_refused_by_name_once_they_are_used(postgresql):
    postgresql.run(
        "CREATE TABLE strange (a text, b interval, c jsonb, d bytea, e numeric(50, 2))",
        "INSERT INTO strange VALUES ('x', '1 day', '{}', '\\x00', 1)",
    )
    rows = open_rows(postgresql.url("strange"))
    assert rows.nested == {"b": "INTERVAL", "c": "JSONB", "d": "BLOB", "e": "NUMERIC"}
    with pytest.raises(BadInputError, match=r"column 'b' is of the type interval, .* give a view that writes it as"):
        rows.distinct("b")
    assert rows.digest() and list(rows.distinct("a").values) == ["x"]


# -- the verbs ---------------------------------------------------------------------------------------------------


def people(number=400):
    """Rows with missing values, negative numbers, typed neutral columns and a repeated tuple."""
    rng = random.Random(7)
    return pa.table(
        {
            "age": pa.array([rng.randrange(20, 30) for _ in range(number)], pa.int32()),
            "town": [rng.choice(["a", "b", "Ä", None, "o'b\\"]) for _ in range(number)],
            "ill": [rng.choice(["flu", "gout", "none"]) for _ in range(number)],
            "pay": pa.array([round(rng.uniform(-5, 5), 1) for _ in range(number)], pa.float64()),
            "day": pa.array([datetime.date(2020, 1, rng.randrange(1, 29)) for _ in range(number)]),
            "note": [rng.choice(["", "n", None, 'x,\n"y"']) for _ in range(number)],
        }
    )


@pytest.fixture(scope="module")
def both(postgresql):
    """The same rows on the server and in DuckDB."""
    content = people()
    reading = Reading(origin="people", na=("24",))
    return PostgreSQLEngine.open(postgresql.load("people", content), reading), DuckDBEngine.open(content, reading)


def test_columns_are_counted_as_duckdb_counts_them(both):
    theirs, ours = both
    assert theirs.row_count == ours.row_count and theirs.digest() == ours.digest()
    for column in theirs.columns:
        assert theirs.facts(column) == ours.facts(column), column
        for complete in ((), ("town", "note")):
            there, here = theirs.distinct(column, complete), ours.distinct(column, complete)
            assert list(there.values) == list(here.values) and there.counts.tolist() == here.counts.tolist()
    counted = [
        {tuple(row.values()) for b in e.count_texts(["age", "town"], ["note"]) for row in b.to_pylist()} for e in both
    ]
    assert counted[0] == counted[1] and (None, "a") in {row[:2] for row in counted[0]}


def test_a_column_of_odd_numbers_and_days_is_described(postgresql):
    values = ["1.50", "-2", "007", "1e3", "1999-12-31", "2000-01-02 10:00", "31.1.2001", "30.2.2001", " 4 ", None]
    values += ["1e999", "1e-999", "1e99999", "-1e-99999", "9" * 400, "0000-01-01", "2001-13-01", "+.5", "1.", "²", "٣"]
    content = pa.table({"c": values})
    theirs = open_rows(postgresql.load("odd_numbers", content), Reading(as_it_stands=True)).facts("c")
    ours = DuckDBEngine.open(content, Reading(as_it_stands=True)).facts("c")
    assert (theirs.numbers, theirs.lowest, theirs.highest, theirs.decimals) == (8, -2.0, 1000.0, 99)
    assert (theirs.present, theirs.distinct, theirs.shortest, theirs.longest) == (20, 20, 1, 400)
    assert (ours.numbers, ours.lowest, ours.highest) == (theirs.numbers, theirs.lowest, theirs.highest)
    assert (theirs.days, theirs.first, theirs.last) == (3, datetime.date(1999, 12, 31), datetime.date(2001, 1, 31))


CODINGS = (
    Coding("town", {"a": 0, "b": 1, "Ä": 1, None: 2, "\0": 5}),
    Coding("age", {str(age): age // 25 for age in range(20, 29)} | {None: 7}),
)


def placed(engine, path, neutral=("note", "pay", "day"), permuted=frozenset()):
    """Cells by town and age; the first cell is split, group 1 is left out."""
    cells = engine.count_cells(CODINGS)
    assert cells.codes.dtype == np.int32
    size = len(cells.counts)
    cell, group = np.r_[0, 0, 2:size], np.r_[0, 2, 2:size]
    number = np.r_[3, cells.counts[0] - 3, cells.counts[2:]]
    order = ["age", "ill", *neutral, "group"]
    layout = Layout(
        order=order,
        by_group=[Texts("age", [f"g{i}" for i in range(size)], np.arange(size, dtype=np.int32))],
        by_cell=[Texts("ill", ["flu", None], (np.arange(size) % 2).astype(np.int32))],
        neutral=list(neutral),
        permuted=permuted,
        group_column="group",
        group_labels=np.arange(1, size + 1),
    )
    placement = Placement(cell, group, number, cells.link)
    assert engine.write(placement, layout, path, path.suffix[1:]) == number.sum()
    return cells, engine.placed_rows(placement, layout), engine.tuples(("note", "pay"), cells.link)


@pytest.mark.parametrize("neutral", [("note", "pay", "day"), ()])
def test_cells_tuples_and_releases_are_those_of_duckdb(both, neutral, tmp_path):
    answers = []
    for name, engine in zip(("there", "here"), both, strict=True):
        permuted = frozenset(["ill"]) if neutral else frozenset()
        cells, rows, tuples = placed(engine, tmp_path / f"{name}.csv", neutral, permuted)
        placed(engine, tmp_path / f"{name}.parquet", neutral, permuted)
        shown = [[texts[i] for i in tuples.values[:, place]] for place, texts in enumerate(tuples.texts)]
        files = (tmp_path / f"{name}.csv").read_bytes(), pq.read_table(tmp_path / f"{name}.parquet")
        counts = cells.codes.tolist(), cells.counts.tolist(), tuples.cell.tolist(), tuples.counts.tolist()
        answers.append([cells.dropped, counts, rows, shown, files])
    assert answers[0] == answers[1]
    assert answers[0][0] == sum(
        town == "o'b\\" or age == 29 for town, age in zip(*people().select([1, 0]).to_pydict().values(), strict=True)
    )


def test_codes_that_are_too_large_for_one_number_find_their_cells(both):
    """Three columns of codes up to 2^31 need two numbers of 64 bits."""
    most = 2**31 - 2
    codings = [
        Coding("town", {"a": most, "b": 5, "Ä": -1, None: 0}),
        Coding("ill", {"flu": most, "gout": 3, "none": 0}),
        Coding("age", {str(age): most - age for age in range(20, 30)} | {None: 1}),
    ]
    answers = []
    for engine in both:
        cells = engine.count_cells(codings)
        tuples = engine.tuples(("note",), cells.link)
        shown = [tuples.texts[0][i] for i in tuples.values[:, 0]]
        answers.append(
            [cells.codes.tolist(), cells.counts.tolist(), tuples.cell.tolist(), shown, tuples.counts.tolist()]
        )
        assert engine.cell_number(codings) == len(cells.counts) > 50
    assert answers[0] == answers[1] and [-1, 0, most - 20] in answers[0][0]
    assert both[0].all_different(["age", "note"]) == []


def test_a_rule_makes_texts_fewer_on_the_server(both):
    rules = {"town": Rule("prefix", 2), "day": Rule("day"), "pay": Rule("floor", 3), "note": Rule("floor", 2)}
    answers = []
    for engine in both:
        found = {name: engine.distinct_by(rule, name, ("town",)) for name, rule in rules.items()}
        said = [[one.values, one.counts.tolist(), one.kinds.tolist()] for one in found.values()]
        codings = [
            Coding(name, {text: i for i, text in enumerate(found[name].values)}, rule) for name, rule in rules.items()
        ]
        cells = engine.count_cells(codings)
        assert engine.cell_number(codings) == len(cells.counts) and cells.dropped > 0  # towns that are missing
        answers.append([said, cells.codes.tolist(), cells.counts.tolist(), engine.tuples(("ill",), cells.link).counts])
    assert answers[0][:3] == answers[1][:3] and (answers[0][3] == answers[1][3]).all()
    assert answers[0][0][2][0][:2] == ["-3.0", "-6.0"]


def test_numbers_and_dates_as_people_write_them_are_read_as_duckdb_reads_them(postgresql):
    content = pa.table(
        {
            "pay": ["1.234,5", "7", None, "k.A.", "2,25", "7"],
            "born": ["31/12/1999", "1/2/2000", "1/2/2000", None, "3/4/2001", "5/6/2002"],
            "code": ["19991231", "20000101", "20000102", "20000103", "20000104", None],
            "plain": ["1.5", "2", "x1", "y2", "z3", "w4"],
            "own": ["1,5", "2,5", "3,5", "4,5", "5,5", None],
        }
    )
    url, reading = postgresql.load("written", content), Reading(as_written=("own",), na=("7",))
    theirs, ours = open_rows(url, reading), DuckDBEngine.open(content, reading)
    assert theirs.notations == ours.notations and set(theirs.notations) == {"pay", "born", "code"}
    assert theirs.notices == ours.notices and theirs.digest() == ours.digest() and theirs.texts == ours.texts
    assert list(theirs.distinct("pay").values) == ["1234.5", "2.25", "k.A.", None]
    with pytest.raises(BadInputError, match=r"column 'plain': '1.5' is no number with a decimal comma") as told:
        open_rows(url, Reading(decimal_comma=("plain",)))
    assert "row" not in str(told.value)


def test_arrays_and_rows_of_items_are_counted(postgresql):
    postgresql.run(
        "CREATE TABLE baskets (items text[], numbers int[], who int, item text)",
        "INSERT INTO baskets VALUES ('{b,a}', '{2,10}', 1, 'y'), ('{b,a}', '{}', 2, 'x'), ('{a,NULL}', NULL, 1, 'B'), "
        "(NULL, '{2,10}', 3, NULL)",
    )
    rows = open_rows(postgresql.url("baskets"), Reading(layout="lists"))
    assert rows.nested == {"items": "TEXT[]", "numbers": "INT4[]"}
    for column, expected in (("items", {("b", "a"): 2, ("a", None): 1, (): 1}), ("numbers", {("2", "10"): 2, (): 2})):
        assert as_dict(rows.lists(column)) == expected
    assert as_dict(rows.gathered("who", "item")) == {("B", "y"): 1, ("x",): 1, (): 1}
    with pytest.raises(BadInputError, match="'item' is missing, so nobody knows whose '3' it is"):
        rows.gathered("item", "who")


def as_dict(lists):
    """What counted lists say: for every list its count."""
    ends, said = np.cumsum(lists.lengths).tolist(), {}
    for start, end, number in zip([0, *ends], ends, lists.counts.tolist(), strict=False):
        key = tuple(lists.texts[code] for code in lists.codes[start:end])
        said[key] = said.get(key, 0) + number
    return said


def test_a_sample_is_a_part_of_a_table_and_the_same_at_every_call(postgresql):
    postgresql.run(
        "CREATE TABLE many AS SELECT i FROM generate_series(1, 5000) AS s(i)",
        "CREATE VIEW many_seen AS SELECT * FROM many",
    )
    rows = open_rows(postgresql.url("many"))
    once, again = rows.sample("i", 500), rows.sample("i", 500)
    assert list(once.values) == list(again.values) and 300 < len(once.values) < 700
    assert len(open_rows(postgresql.url("many_seen")).sample("i", 500).values) == 5000


def test_everything_is_read_from_the_rows_of_one_moment(postgresql):
    url = postgresql.load("moment", pa.table({"a": ["x", "y"]}))
    rows = open_rows(url)
    before = rows.digest()
    postgresql.run("INSERT INTO moment VALUES ('z')", "UPDATE moment SET a = 'w' WHERE a = 'x'")
    assert rows.digest() == before and list(rows.distinct("a").values) == ["x", "y"]
    assert list(open_rows(url).distinct("a").values) == ["w", "y", "z"]


# -- names, rights, secrets ------------------------------------------------------------------------------------------

NAMES = [
    'a"; DROP TABLE victim; --',
    "Größe in m²",
    "c0",
    "{}",
    "%s $1 :x",
    "rows",
    "UPPER lower",
    "x" * 63,
    "a.b",
    "'",
]


def test_names_of_any_characters_are_only_names(postgresql):
    url = postgresql.load("victim", pa.table({"a": ["x"]}))
    columns = ", ".join('"' + name.replace('"', '""') + '" text' for name in NAMES)
    values = ", ".join(["$$x;'$$"] * len(NAMES))
    table = '"odd.schema"."a ""table"" #1"'
    postgresql.run(
        'CREATE SCHEMA IF NOT EXISTS "odd.schema"',
        f"CREATE TABLE {table} ({columns})",
        f"INSERT INTO {table} VALUES ({values})",
    )
    rows = open_rows(postgresql.url(table))
    assert list(rows.columns) == NAMES
    for name in NAMES:
        assert list(rows.distinct(name, NAMES).values) == ["x;'"]
    hostile = ["'", "\\'; DROP TABLE victim; --", "\0", "x;'"]
    coding = Coding(NAMES[0], {text: i for i, text in enumerate(hostile)})
    assert rows.count_cells([coding]).codes.tolist() == [[3]]
    assert list(open_rows(url, Reading(na=tuple(hostile))).distinct("a").values) == ["x"]
    for table in ("victim; --", '"victim', "a.b.c", "", "Victim", "x" * 64):
        with pytest.raises(BadInputError, match=r"names no table|there is no table|does not say which"):
            open_rows(postgresql.url(table) if table else postgresql.url())


def test_a_role_that_may_read_is_enough_unless_numbers_are_read_as_people_write_them(postgresql, tmp_path):
    postgresql.load("seen", people())
    postgresql.run("CREATE ROLE reader LOGIN")
    with pytest.raises(BadInputError, match="the role may read no column of it; let its owner GRANT SELECT"):
        open_rows(postgresql.url("seen", "reader"))
    postgresql.run("GRANT SELECT ON seen TO reader")
    objects = "SELECT count(*) FROM pg_class WHERE relpersistence <> 't'"
    before = postgresql.run(objects)
    placed(PostgreSQLEngine.open(postgresql.url("seen", "reader"), Reading(na=("24",))), tmp_path / "out.csv")
    assert postgresql.run(objects) == before
    postgresql.run("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
    try:
        rows = open_rows(postgresql.url("seen", "reader"))
        placed(rows, tmp_path / "again.csv")  # which needs no more than SELECT
        postgresql.load("measured", pa.table({"size": ["1,5", "2,25", "10,5"] * 5}))
        postgresql.run("GRANT SELECT ON measured TO reader")
        with pytest.raises(BadInputError, match=r"may not create temporary tables there .* GRANT TEMPORARY"):
            open_rows(postgresql.url("measured", "reader"))
    finally:
        postgresql.run("GRANT TEMPORARY ON DATABASE postgres TO PUBLIC", "REVOKE ALL ON seen, measured FROM reader")


STUDY = """
name = "walk"
[table]
source = "{source}"
quasi = ["age", "town"]
sensitive = ["ill"]
neutral = ["note", "day"]
[scales]
queries = "queries number=20 dimensions=2 selectivity=0.2"
[[candidates]]
anonymizers = ["mondrian", "full-domain"]
requirements = ["k-anonymity k=5"]
forms = ["generalization", "bucketization"]
"""
SECRET, USER = "hush-5f1c", "whisperer"


def walked(folder, source):
    """Explore a study, publish one of its points, and return what the map and the file say."""
    folder.mkdir()
    (folder / "study.toml").write_text(STUDY.format(source=source))
    said = [run("explore", "study.toml", "--out", "map", cwd=folder)]
    points = (folder / "map/points.json").read_bytes()
    point = json.loads(points)["points"][0]["id"]
    said += [run("release", "map", "--point", point, "--to", "out.csv", "--mapping", "m.json", cwd=folder)]
    said += [run("audit", "out.csv", "--original", "map/study.toml", "--require", "k-anonymity k=5", cwd=folder)]
    said += [run("check", source, "--quasi", "age,town", cwd=folder), run("init", source, "--to", "s.toml", cwd=folder)]
    return said, points, sorted((folder / "out.csv").read_text().splitlines())


@pytest.mark.usefixtures("undrawn")
def test_a_study_of_a_server_has_the_points_and_releases_of_duckdb_and_no_secret_gets_out(
    postgresql, tmp_path, monkeypatch
):
    content = people()
    postgresql.load("walk", content)
    postgresql.run(f"CREATE ROLE {USER} LOGIN PASSWORD '{SECRET}'", f"GRANT SELECT ON walk TO {USER}")
    url = postgresql.tcp("public.walk", USER)
    monkeypatch.setenv("PGPASSWORD", "wrong " + SECRET[::-1])
    refused = run("check", url, "--quasi", "age", cwd=tmp_path)
    assert refused.returncode == 2 and "the server cannot be reached" in refused.stderr
    monkeypatch.delenv("PGPASSWORD")
    (tmp_path / "pass").write_text(f"127.0.0.1:{postgresql.port}:*:{USER}:{SECRET}\n")
    (tmp_path / "pass").chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pass"))
    said, *theirs = walked(tmp_path / "there", url)
    pq.write_table(content, tmp_path / "people.parquet")
    ours = walked(tmp_path / "here", tmp_path / "people.parquet")[1:]
    assert theirs == list(ours)
    inside = run("check", url.replace("@", f":{SECRET}@"), "--quasi", "age", cwd=tmp_path)
    assert inside.returncode == 2 and "the URL holds a password" in inside.stderr
    outputs = "".join(ended.stdout + ended.stderr for ended in (*said, refused, inside))
    assert [ended.returncode for ended in said] == [0] * len(said), outputs
    files = {path: path.read_bytes() for path in (tmp_path / "there").rglob("*") if path.is_file()}
    assert len(files) > 8 and not [path for path, content in files.items() if SECRET.encode() in content]
    assert SECRET not in outputs and SECRET[::-1] not in outputs and USER not in outputs
    shown = [path.name for path, content in files.items() if USER.encode() in content]
    assert sorted(shown) == ["s.toml", "study.toml", "study.toml"]  # where the address is declared, and nowhere else


# -- servers that die ------------------------------------------------------------------------------------------------


def test_a_connection_that_is_cut_while_rows_stream_leaves_nothing_behind(postgresql, tmp_path):
    postgresql.load("long", people(30_000))
    postgresql.run(
        "CREATE VIEW doomed AS SELECT age, town, ill, CASE WHEN day = '2020-01-28' AND EXISTS (SELECT FROM pg_locks "
        "WHERE objid = 7 AND locktype = 'advisory') THEN pg_terminate_backend(pg_backend_pid())::text ELSE note END "
        "AS note FROM long"
    )
    url = postgresql.url("doomed")
    table = sfumato.read(url, quasi=["age", "town"], sensitive=["ill"], neutral=["note"])
    release = sfumato.anonymize(table, "k-anonymity k=5", "mondrian")
    import adbc_driver_postgresql.dbapi as driver

    with driver.connect(postgresql.url(), autocommit=True) as other, other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(7)")  # nobody else takes it: the view looks whether it is taken
        cursor.fetchall()
        for file in ("out.csv", "out.parquet"):
            with pytest.raises(BadInputError, match=r"the connection to the server was lost .* run the same command"):
                release.to_csv(tmp_path / file) if file.endswith("csv") else release.to_parquet(tmp_path / file)
    assert not list(tmp_path.iterdir())
    again = sfumato.read(url, quasi=["age", "town"], sensitive=["ill"], neutral=["note"])
    sfumato.anonymize(again, "k-anonymity k=5", "mondrian").to_csv(tmp_path / "out.csv")


def test_a_server_that_stops_is_told_in_a_sentence_and_the_same_command_goes_on(postgresql, tmp_path):
    url = postgresql.load("stopping", people())
    rows = open_rows(url)
    postgresql.stop()
    try:
        with pytest.raises(BadInputError, match="the connection to the server was lost"):
            rows.digest()
        ended = run("anonymize", url, "--quasi", "age,town", "--require", "k-anonymity k=5", "--to", tmp_path / "o.csv")
        assert (
            ended.returncode == 2 and "the server cannot be reached" in ended.stderr and ended.stderr.count("\n") == 1
        )
        assert not list(tmp_path.iterdir())
    finally:
        postgresql.start()
    ended = run("anonymize", url, "--quasi", "age,town", "--require", "k-anonymity k=5", "--to", tmp_path / "o.csv")
    assert ended.returncode == 0 and (tmp_path / "o.csv").exists()
