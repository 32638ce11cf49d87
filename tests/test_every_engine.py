"""One fixture over all engines: the same rows, the same study and seed give the same answers, points and releases.

What is right is said by the plain engine of the tests, which shares nothing with the others. All that runs in Spark
is in this file, so that few processes of a test run start a JVM.
"""

from __future__ import annotations

import csv
import datetime
import itertools
import json
import os
import re
import subprocess
import sys
import textwrap
from collections import Counter
from decimal import Decimal
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import plain_persons
import sfumato
import sfumato.data.hierarchies.numeric
import sfumato.data.reading
from command_line import run
from plain_engine import PlainEngine
from sfumato import BadInputError, DataDeclaration, ItemsDeclaration, TableDeclaration
from sfumato.anonymizers.items.items_of_groups import anonymize_mixed
from sfumato.data.reading import Roles, with_roles
from sfumato.engines import open_rows
from sfumato.engines.duckdb.engine import DuckDBEngine
from sfumato.engines.postgresql.engine import PostgreSQLEngine
from sfumato.engines.protocol import Coding, Layout, Placement, Reading, Rule, Texts
from sfumato.engines.spark import sources
from sfumato.engines.spark.engine import SparkEngine
from sfumato.publish.pipeline import publish_point
from sfumato.release.writing_items import write_items
from sfumato.report.folder import save_map
from spark_sessions import connect_port, sessions

NUMBER = 60
WIDE = 70
HOSTILE = ['say "hi"', "a,b", "two\nlines", " blank ", "'", "\\", "{x}", None, "é", "7:7", "-", "#", "\U0001f600"]


NUMBERS = ["1.50", "-2", "007", "1e3", " 4 ", "1999-12-31", "31.1.2001", "30.2.2001", "x"]


def table():
    """Rows of every type, with the texts that break readers and writers."""
    day = datetime.datetime(2020, 3, 8, 6, 59, 59, 500000)
    rows = range(NUMBER)
    return pa.table(
        {
            "age": pa.array([None if i % 11 == 0 else i * 7 % 9 for i in rows], pa.int32()),
            "town": [HOSTILE[i % 5] for i in rows],
            "ill": [["flu", "gout", None][i * i % 3] for i in rows],
            "Income": pa.array([None if i % 13 == 0 else (i % 6) ** 9 / 7 for i in rows], pa.float64()),
            "zero": pa.array([-0.0 if i % 2 else 0.0 for i in rows]),
            "short": pa.array([i % 4 / 8 for i in rows], pa.float32()),
            "fee": pa.array([Decimal(i % 3) / 10**8 for i in rows], pa.decimal128(20, 9)),
            "ok": [[True, False, None][i % 3] for i in rows],
            "day": pa.array([datetime.date(1999 + i % 4, 12, 31) for i in rows]),
            "seen": pa.array([day + datetime.timedelta(hours=i % 5) for i in rows], pa.timestamp("us")),
            "when": pa.array([day + datetime.timedelta(hours=i % 5) for i in rows], pa.timestamp("us", "UTC")),
            "odd": [HOSTILE[i * 3 % len(HOSTILE)] for i in rows],
            "number": [NUMBERS[i % 9] for i in rows],
            "items": pa.array([[["b", "a"], [], ["a", None], None][i % 4] for i in rows], pa.list_(pa.string())),
        }
    )


OPENERS = {
    "duckdb": lambda path, reading: DuckDBEngine.open(path, reading),
    "spark": lambda path, reading: SparkEngine.open(sessions()["classic"].read.parquet(str(path)), reading),
    "connect": lambda path, reading: SparkEngine.open(sessions()["connect"].read.parquet(str(path)), reading),
}
READING = Reading(origin="rows", na=("x", "4", "1.0", "2001-12-31"), notations=False)


@pytest.fixture(scope="module", params=[*OPENERS, "postgresql"])
def opened(request, tmp_path_factory):
    """A function that opens rows in an engine."""
    server = request.getfixturevalue("postgresql") if request.param == "postgresql" else None
    numbers = itertools.count()

    def open_in_engine(content, reading=READING):
        if server is not None:
            return PostgreSQLEngine.open(server.load(f"every{next(numbers)}", content), reading)
        path = tmp_path_factory.mktemp("rows") / "rows.parquet"
        pq.write_table(content, path)
        return OPENERS[request.param](path, reading)

    return open_in_engine


one_spark = pytest.mark.parametrize("opened", ["duckdb", "spark", "postgresql"], indirect=True, scope="module")
"""For what is computed: Connect is sent the same frames and texts of SQL as a classic session; verbs run in both."""


@pytest.fixture(scope="module")
def truth():
    return described(PlainEngine.open(table(), READING))


def described(rows):
    """What every verb that counts says."""
    plain = [name for name in rows.columns if name not in rows.nested]
    answers = {
        "columns": (list(rows.columns), rows.row_count, list(rows.nested)),
        "facts": rows.facts("number"),
        "texts": counted(rows.count_texts(plain)),
        "digest": rows.digest(plain),
    }
    values = rows.distinct("odd", ["age", "ill"])
    answers["distinct"] = (list(values.values), list(values.counts))
    cells = rows.count_cells(codings())
    answers["cells"] = (cells.codes.tolist(), cells.counts.tolist(), cells.dropped)
    tuples = rows.tuples(("odd", "Income"), cells.link)
    shown = [tuple(texts[i] for texts, i in zip(tuples.texts, row, strict=True)) for row in tuples.values]
    answers["tuples"] = list(zip(tuples.cell.tolist(), shown, tuples.counts.tolist(), strict=True))
    for column in ("odd", "age"):
        pairs = rows.pairs(column, cells.link, NUMBER)
        answers[f"pairs of {column}"] = sorted(zip(*(part.tolist() for part in vars(pairs).values()), strict=True))
    answers["lists"] = as_lists(rows.lists("items"))
    answers["gathered"] = as_lists(rows.gathered("seen", "number"), sort=True)
    return answers


def counted(batches):
    columns = [column.to_pylist() for column in pa.Table.from_batches(batches).columns]
    return Counter({row[:-1]: row[-1] for row in zip(*columns, strict=True)})


def codings():
    towns = {text: i // 2 for i, text in enumerate(HOSTILE[:4])}  # the fifth has no code
    return [
        Coding("age", {str(age): age for age in range(9)} | {None: 9, "09": 3}),
        Coding("town", towns),
        Coding("Income", {repr(i**9 / 7): i % 2 for i in range(6)} | {None: 2}),
    ]


def as_lists(lists, sort=False):
    """What counted lists say, the items of each in their order or in any."""
    ends = np.cumsum(lists.lengths).tolist()
    items = [[lists.texts[code] for code in lists.codes[a:b]] for a, b in zip([0, *ends], ends, strict=False)]
    answers = Counter()
    for listed, count in zip(items, lists.counts.tolist(), strict=True):
        answers[tuple(sorted(listed) if sort else listed)] += count
    return answers


def test_every_verb_answers_as_the_plain_engine_does(opened, truth):
    answers = described(opened(table()))
    for name, answer in truth.items():
        assert answers[name] == answer, name


WRITTEN = ["12345-6789", "", "é日本x", "-0.5", "+7", "1e3", "7.", ".5", "-21", "-0", "19", "9007199254740993", "2e22"]
WRITTEN += ["2020-01-31", "2020-01-31 10:00", "x9", "2020-01-31T1\n2", "2020-1-31", "20200131", None, "2020-01-3100"]
RULES = {
    "text": (Rule("prefix", 3), Rule("day"), Rule("floor", 10), Rule("floor", 1)),
    "seen": (Rule("day"), Rule("prefix", 7)),
    "when": (Rule("day"),),
    "Income": (Rule("floor", 500), Rule("floor", 1)),
    "fee": (Rule("prefix", 4),),
}


def ruled_answers(rows):
    """What rules make of columns, and the cells and tuples by what they have made; the empty text is a text here."""
    answers = {}
    for column, rules in RULES.items():
        for rule in rules:
            found = rows.distinct_by(rule, column, ["short"])
            answers[column, rule] = [found.values, found.counts.tolist(), found.kinds.tolist()]
    codings = []
    for column, (rule, *_) in RULES.items():
        texts = [text for text in answers[column, rule][0] if column != "text" or text != "201"]
        codings.append(Coding(column, {text: i // 2 for i, text in enumerate(texts)}, rule))
    cells = rows.count_cells(codings)
    tuples = rows.tuples(("age",), cells.link)
    answers["cells"] = cells.codes.tolist(), cells.counts.tolist(), cells.dropped, rows.cell_number(codings)
    answers["tuples"] = tuples.cell.tolist(), tuples.counts.tolist()
    return answers


@one_spark
def test_a_rule_makes_texts_fewer_wherever_rows_are(opened):
    content = table().append_column("text", pa.array([WRITTEN[i % len(WRITTEN)] for i in range(NUMBER)]))
    reading = Reading(origin="rows", as_it_stands=True)
    expected, answers = ruled_answers(PlainEngine.open(content, reading)), ruled_answers(opened(content, reading))
    for name, answer in expected.items():
        assert answers[name] == answer, name
    assert "0.0" in expected["text", Rule("floor", 10)][0] and expected["cells"][2] < NUMBER


@one_spark
def test_texts_beyond_number_are_handed_over_by_no_engine(opened, monkeypatch):
    monkeypatch.setattr("sfumato.engines.protocol.MOST_TEXTS", 5)
    rows = opened(table())
    assert len(rows.distinct("short").values) == 4
    with pytest.raises(BadInputError, match=r"rows: column 'odd' has 13 distinct values, more than 5; give it another"):
        rows.distinct("odd")
    assert len(rows.distinct_by(Rule("prefix", 0), "odd").values) == 2
    with pytest.raises(BadInputError, match=r"column 'odd' has \d+ distinct values, more than 5"):
        rows.distinct_by(Rule("prefix", 1), "odd")


@one_spark
def test_many_columns_are_carried_through(opened):
    """Most columns are neutral; those with another value in every row are told, and none is lost."""
    many = {f"n{i}": pa.array(np.arange(NUMBER) % (i + 2) * (i + 1)) for i in range(WIDE)}
    content = pa.table({"age": [i % 4 for i in range(NUMBER)], **many})
    rows = opened(content, Reading(origin="rows", notations=False))
    assert rows.all_different(["age", *many]) == [name for i, name in enumerate(many) if i + 2 >= NUMBER]
    tree = {"age": sfumato.data.hierarchies.numeric.numeric(0, 3)}
    roles = sfumato.data.reading.Roles(quasi=("age",), neutral=tuple(many))
    release = sfumato.anonymize(sfumato.data.reading.with_roles(rows, roles, tree, "value"), "k-anonymity k=5")
    published = release.to_arrow()
    names = [name for name in published.column_names if name != "age"]
    assert sorted(names) == sorted(many) and published["age"].to_pylist() != content["age"].to_pylist()
    listed = sorted(tuple(row[name] for name in names) for row in published.to_pylist())
    assert listed == sorted(tuple(row[name] for name in names) for row in content.to_pylist())


CASES = ["all, group by group", "all, anyhow", "some are left out and some are split"]


@one_spark
@pytest.mark.parametrize("case", CASES)
def test_placed_rows_are_those_of_the_plain_engine(opened, case):
    """What rows show is put beside them whether groups follow from codes or not, and who is left out stays out."""
    content = table().select(["town", "ill", "Income", "day"])
    codings = [
        Coding("town", {text: i for i, text in enumerate(HOSTILE[:5])}),
        Coding("ill", {"flu": 0, "gout": 1, None: 2}),
    ]

    def placed(rows):
        cells = rows.count_cells(codings)
        cell, count = np.arange(len(cells.counts)), cells.counts.copy()
        group = {CASES[0]: cells.codes[:, 0] % 2, CASES[1]: cell % 3, CASES[2]: cell % 2}[case].astype(np.int64)
        if case == CASES[2]:
            cell, group, count = cell[2:], group[2:], count[2:]
            count[0] -= 1
            cell, group, count = np.r_[cell, cell[0]], np.r_[group, 1 - group[0]], np.r_[count, 1]
        by_group = [Texts("town", ["=one", "two\n", None], np.arange(3, dtype=np.int32))]
        by_cell = [Texts("ill", ["gout", "flu", None], ((cells.codes[:, 1] + 1) % 3).astype(np.int32))]
        layout = Layout(["ill", "Income", "town", "day"], by_group, by_cell, ["Income", "day"])
        answer = rows.placed_rows(Placement(cell, group, count, cells.link), layout)
        return Counter(
            repr([None if value is None else str(value) for value in row.values()]) for row in answer.to_pylist()
        )

    expected = placed(PlainEngine.open(content, READING))
    assert placed(opened(content)) == expected and expected.total() <= NUMBER


# -- patients: a table with items ----------------------------------------------------------------------------


def patients(text=True):
    """Rows with a set of items each, as one text or as a list."""
    codes = [["a", "b"], ["b", "a;c"], [], ["c"], ["a", "d", "é"], ["b"]]
    listed = [codes[i * i % 6] for i in range(NUMBER)]
    texts = [";".join(f'"{code}"' if ";" in code else code for code in row) for row in listed]
    return pa.table(
        {
            "id": [f"p{i}" for i in range(NUMBER)],
            "age": pa.array([20 + i * 7 % 9 for i in range(NUMBER)], pa.int32()),
            "sex": ["mf"[i % 2] for i in range(NUMBER)],
            "ill": [["flu", "gout", "none"][i % 3] for i in range(NUMBER)],
            "codes": texts if text else pa.array(listed, pa.list_(pa.string())),
        }
    )


def published_patients(rows, items, path):
    """Open patients in an engine, publish them, and say what was counted and written."""
    table = TableDeclaration("rows", quasi=("age", "sex"), sensitive=("ill",))
    data = DataDeclaration(table, items).open(rows)
    asked = "k-km-anonymity k=4 m=2 & l-diversity l=2 variant=distinct on=ill"
    write_items(anonymize_mixed(data, asked, limit="suppression share=1 of=occurrences"), path, force=True)
    return data.digest, path.read_bytes()


@one_spark
def test_patients_are_counted_and_published_alike_wherever_rows_are(opened, tmp_path):
    content = patients()
    second = tmp_path / "codes.csv"
    second.write_text("id,code\n" + "".join(f"p{i},{'abc'[i % 3]}\n" for i in range(0, NUMBER, 2)))
    for items in (ItemsDeclaration(column="codes"), ItemsDeclaration(source=str(second), id="id", item="code")):
        reading = Reading(origin="rows", notations=False, as_written=("codes", "id"))
        rows, plain = opened(content, reading), PlainEngine.open(content, reading)
        found = published_patients(rows, items, tmp_path / "out.csv")
        assert found == published_patients(plain, items, tmp_path / "plain.csv")
    rows = opened(patients(text=False), Reading(origin="rows", notations=False))
    column = ItemsDeclaration(column="codes")
    if isinstance(rows, DuckDBEngine):
        assert published_patients(rows, column, tmp_path / "out.csv")[1].count(b"\n") == NUMBER + 1
    else:  # one sentence that says what to do
        with pytest.raises(BadInputError, match=r"rows: a column of lists \('codes'\).*a separator.*--items-file"):
            published_patients(rows, column, tmp_path / "out.csv")


# -- the whole walk ------------------------------------------------------------------------------------------

STUDY = """
name = "walk"
[table]
source = "people.parquet"
engine = "{engine}"
quasi = ["age", "town"]
sensitive = ["ill"]
neutral = ["note", "paid"]
[scales]
queries = "queries number=20 dimensions=2 selectivity=0.2"
[[candidates]]
anonymizers = ["mondrian mode=relaxed seed=1"]
requirements = ["k-anonymity k=5"]
forms = ["bucketization"]
[[candidates]]
anonymizers = ["mondrian"]
requirements = ["k-anonymity k=5", "l-diversity l=2 variant=frequency"]
forms = ["generalization"]
"""


def people():
    rows = range(480)
    return pa.table(
        {
            "age": pa.array([i * 7 % 40 for i in rows], pa.int64()),
            "town": [f"town {i % 5}" for i in rows],
            "ill": [["flu", "none", "gout"][(i * i + i // 7) % 3] for i in rows],
            "note": [HOSTILE[i * i % len(HOSTILE)] for i in rows],
            "paid": [i % 7 / 3 for i in rows],
        }
    )


def walk(engine, folder):
    """Explore a study, publish two of its points, audit them: everything that comes out."""
    pq.write_table(people(), folder / "people.parquet")
    (folder / "study.toml").write_text(STUDY.format(engine=engine))
    (folder / "map").mkdir()
    map_ = sfumato.explore(folder / "study.toml")
    save_map(map_, folder / "map")
    results = {"points": json.loads((folder / "map" / "points.json").read_text())["points"]}
    for point, name in zip(map_.points[::2], ("parted.csv", "kept.parquet"), strict=False):
        publish_point(folder / "map", point.id, folder / name)
        results[name] = published_rows(folder / name)
        group = "group" if point.candidate.form == "bucketization" else None
        audit = sfumato.audit(folder / name, ["age", "town"], "ill", group=group, require="k-anonymity k=5")
        results[f"audit of {name}"] = audit.holds, dict(audit.measures)
    return results


def published_rows(path):
    """The rows of a release, a file or a folder of parts, whatever their order."""
    parts = sorted(path.glob("part-*")) if path.is_dir() else [path]
    if path.suffix == ".parquet":
        return Counter(tuple(row.items()) for part in parts for row in pq.read_table(part).to_pylist())
    rows = []
    for part in parts:
        with part.open(newline="", encoding="utf-8") as stream:
            header, *read = csv.reader(stream)
        rows += [tuple(zip(header, row, strict=True)) for row in read]
    return Counter(rows)


@pytest.mark.usefixtures("undrawn")
def test_the_same_study_gives_the_same_points_and_releases_in_spark(tmp_path, monkeypatch):
    monkeypatch.setattr(import_module("sfumato.auditing.audit"), "MOST_MATCHED", 100)
    results = {}
    for engine in ("duckdb", "classic"):
        monkeypatch.setattr(sources, "session", lambda kind=engine: sessions()[kind])
        (tmp_path / engine).mkdir()
        crossed = counted_crossings(monkeypatch)
        results[engine] = walk("duckdb" if engine == "duckdb" else "spark", tmp_path / engine)
        if engine != "duckdb":
            assert results[engine].keys() == results["duckdb"].keys()
            for name, result in results["duckdb"].items():
                assert results[engine][name] == result, (engine, name)
            cells = {tuple(row.values()) for row in people().select(["age", "town", "ill"]).to_pylist()}
            assert max(crossed) == len(cells) < people().num_rows / 2  # no list of rows came out of Spark


def counted_crossings(monkeypatch):
    """Note of everything that comes out of Spark how many rows it has."""
    crossed = []

    def collected(frame, collected=sources.collected):
        table = collected(frame)
        crossed.append(table.num_rows)
        return table

    for module in ("engine", "write", "sources"):
        monkeypatch.setattr(f"sfumato.engines.spark.{module}.collected", collected)
    return crossed


# -- what only Spark has: a session that is somebody else's, and files of its own ------------------------------

PAGE = Path(__file__).resolve().parents[1] / "docs" / "guides" / "spark.md"
PATIENTS = pa.table(
    {
        "age": pa.array([20 + i % 4 for i in range(24)], pa.int32()),
        "ill": ["flu" if i % 3 else "gout" for i in range(24)],
        "paid": [i % 5 / 3 for i in range(24)],
    }
)


@pytest.fixture
def spark(monkeypatch):
    """The classic session, as the one that is there."""
    monkeypatch.setattr(sources, "session", lambda: sessions()["classic"])
    return sessions()["classic"]


@pytest.fixture
def path(tmp_path):
    pq.write_table(PATIENTS, tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


def read(source, **more):
    return sfumato.read(source, quasi=["age"], sensitive=["ill"], neutral=["paid"], **more)


def test_no_setting_of_the_session_matters_and_all_are_left_as_they_were(spark, path, tmp_path):
    instants = PATIENTS.append_column("seen", pa.array(range(24), pa.timestamp("s", "UTC")))
    pq.write_table(instants, path)
    digest = DuckDBEngine.open(path, Reading()).digest()
    mine = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "Asia/Kathmandu"}
    with sources.settings(spark, {**mine, "spark.sql.parser.escapedStringLiterals": "true"}):
        before = {row["key"]: row["value"] for row in spark.sql("SET").collect()}
        table = sfumato.read(path, quasi=["age"], neutral=["seen", "paid"], engine="spark")
        assert table.engine.digest() == digest
        sfumato.anonymize(table, "k-anonymity k=6").to_parquet(tmp_path / "out.parquet")
        assert {row["key"]: row["value"] for row in spark.sql("SET").collect()} == before
    seen = pq.read_table(tmp_path / "out.parquet" / "part-00000.parquet")["seen"]
    assert sorted(seen.cast(pa.int64()).to_pylist()) == [1_000_000 * i for i in range(24)]


def visits_of_patients():
    """Visits with a person column of texts that break readers, and the number of the row."""
    names = [f"P {i % 7}" if i % 2 else f"P{i % 5}'é" for i in range(60)]
    ages = [20 + len(name) * 3 + i % 4 // 3 for i, name in enumerate(names)]
    columns = {"who": names, "age": ages, "zip": [f"Z{i * i % 3}" for i in range(60)]}
    return pa.table({**columns, "row": [f"r{i}" for i in range(60)]})


@one_spark
def test_persons_are_counted_wherever_rows_are(opened, tmp_path, monkeypatch):
    """The same pairs and the same written file as from DuckDB, audited; its groups are counted in plain Python."""
    content, roles = visits_of_patients(), Roles(("age", "zip"), neutral=("row",), person="who")
    written, reading = [], Reading(origin="rows", notations=False)
    for name, rows in (("duckdb", DuckDBEngine.open(content, reading)), ("here", opened(content, reading))):
        table, path = with_roles(rows, roles, {}, "value"), tmp_path / f"{name}.csv"
        pairs = table.cells.persons
        sfumato.anonymize(table, "k-anonymity k=3", "mondrian").publish(path)
        parts = sorted(path.glob("part-*")) if path.is_dir() else [path]
        found = [pairs.cell.tolist(), pairs.person.tolist(), pairs.count.tolist()]
        lines = b"".join(part.read_bytes() for part in parts).decode().splitlines()
        written.append([found, sorted(lines) if path.is_dir() else lines])
    written[0][1] = sorted(written[0][1]) if path.is_dir() else written[0][1]  # Spark has an order of its own
    assert written[0] == written[1]
    whose = dict(zip(content["row"].to_pylist(), content["who"].to_pylist(), strict=True))
    groups = {}
    for row in csv.DictReader(lines):
        groups.setdefault((row["age"], row["zip"]), []).append(whose[row["row"]])
    assert len(groups) > 1
    assert all(len({*own}) >= 3 and max(Counter(own).values()) * 2 <= len(own) for own in groups.values())


@one_spark
def test_persons_whose_pairs_exceed_memory_are_counted_in_the_engine(opened, tmp_path, monkeypatch):
    """Groups are searched with a bound; each is counted exactly, as the pairs in memory are, and the file in Python."""
    content, reading = visits_of_patients(), Reading(origin="rows", notations=False)
    ills = pa.array([("flu", "cold", "gout", "cough")[i * 7 % 11 % 4] for i in range(60)])
    content, roles = content.append_column("ill", ills), Roles(("age", "zip"), ("ill",), ("row",), person="who")
    inside = with_roles(DuckDBEngine.open(content, reading), roles, {}, "value").cells
    monkeypatch.setattr("sfumato.data.reading.BYTES_OF_A_PAIR", 1 << 60)
    table = with_roles(opened(content, reading), roles, {}, "value")
    cells = table.cells
    with pytest.raises(BadInputError, match=r"rows: \d+ pairs of .+ 'who' do not fit into memory \(at most 0 do\)"):
        _ = cells.persons.person
    assert (cells.persons.number, cells.persons.most) == (inside.persons.number, inside.persons.most)
    groups = np.random.default_rng(1).integers(-1, 3, cells.size)
    exact, found = (each.group_persons(each.assigned(groups), 3) for each in (inside, cells))
    for name in ("persons", "largest", "having", "weighted", "matchings"):
        assert getattr(found, name) == pytest.approx(getattr(exact, name)), name
    assert found.suppressed == exact.suppressed
    assert cells.sensitive[0].q == pytest.approx(inside.sensitive[0].q)
    release = sfumato.anonymize(table, "k-anonymity k=3 & l-diversity l=3 variant=distinct", "mondrian")
    assert "counted exactly" in release.details["persons_in_engine"]
    measures = sfumato.measure(release).values
    assert not {"certain", "one_value_left", "singled_out"} & measures.keys()
    release.publish(tmp_path / "out.csv")
    parts = sorted((tmp_path / "out.csv").glob("part-*")) or [tmp_path / "out.csv"]
    whose = {row["row"]: (row["who"], row["ill"]) for row in content.to_pylist()}
    grouped = {}
    for row in (row for part in parts for row in csv.DictReader(part.read_text().splitlines())):
        grouped.setdefault((row["age"], row["zip"]), []).append(whose[row["row"]])
    assert len(grouped) > 1 and min(map(plain_persons.matching, grouped.values())) == measures["l_distinct"] >= 3
    assert min(map(plain_persons.persons_in, grouped.values())) == measures["k"] >= 3
    assert float(max(map(plain_persons.row_share, grouped.values()))) == measures["prosecutor"] <= 0.5
    with pytest.raises(BadInputError, match="pairs with combinations of values do not fit into memory"):
        sfumato.anonymize(table, "k-anonymity k=3", "hilbert")


def test_the_same_release_has_the_same_bytes_and_replaces_nothing_but_a_release(spark, path, tmp_path):
    release = sfumato.anonymize(read(path, engine="spark"), "k-anonymity k=6")
    (one,), (two,) = release.to_csv(tmp_path / "one.csv"), release.to_csv(tmp_path / "two.csv")
    names = sorted(part.name for part in one.iterdir())
    assert names == ["_SUCCESS", "part-00000.csv"] == sorted(part.name for part in two.iterdir())
    assert (one / "part-00000.csv").read_bytes() == (two / "part-00000.csv").read_bytes()
    rows = (one / "part-00000.csv").read_text().splitlines()
    assert rows[1:] != sorted(rows[1:]) and len(rows) == 25
    with pytest.raises(BadInputError, match="exists already"):
        release.to_csv(one)
    release.to_csv(one, force=True)
    (two / "mine.txt").write_text("mine")
    with pytest.raises(BadInputError, match="is a folder; give the name of a file"):
        release.to_csv(two, force=True)
    assert (two / "mine.txt").exists() and not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("neutral", [(), ("paid",)])
def test_the_order_of_a_release_tells_nothing_of_that_of_the_input(spark, neutral, path, tmp_path):
    more = pa.concat_tables([PATIENTS.set_column(2, "paid", [[i / 7 for i in range(j, j + 24)]]) for j in range(20)])
    written = []
    for name, order in (("there", range(480)), ("back", reversed(range(480)))):
        frame = spark.createDataFrame(more.take(list(order))).coalesce(1)
        table = sfumato.read(frame, quasi=["age"], sensitive=["ill"], neutral=neutral)
        (folder,) = sfumato.anonymize(table, "k-anonymity k=6").to_csv(tmp_path / f"{name}.csv")
        written.append((folder / "part-00000.csv").read_bytes())
    assert written[0] == written[1] and len(written[0].splitlines()) == 481


def test_a_session_that_ends_is_said_in_a_sentence_and_leaves_nothing_half_written(path, tmp_path, monkeypatch):
    other = sessions()["connect"].newSession()
    monkeypatch.setattr(sources, "session", lambda: other)
    table = read(path, engine="spark")
    release = sfumato.anonymize(table, "k-anonymity k=6")
    other.stop()
    with pytest.raises(BadInputError, match=r"the Spark session ended while it worked on .*people.parquet; start it"):
        release.to_parquet(tmp_path / "out.parquet")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["people.parquet"]
    with pytest.raises(BadInputError, match="the Spark session ended"):
        table.engine.digest()


WRITING = """
    import os, signal, sys, threading, time
    from pathlib import Path
    import sfumato
    from sfumato.errors import BadInputError
    from spark_sessions import sessions

    folder, server = Path(sys.argv[1]), sys.argv[2]
    if server:
        from pyspark.sql.connect.session import SparkSession
        used = {"process": SparkSession.builder.remote(server).create()}
        killed = os.getpid()
    else:
        used = sessions()
        used["connect"].client.set_retry_policies([])  # else it waits ten minutes for the server to come back
        killed = used["classic"].sparkContext._gateway.proc.pid

    def watch():
        while len(list(folder.glob(".*/_temporary"))) < len(used):
            time.sleep(0.001)
        os.kill(killed, signal.SIGKILL)

    def write(name):
        try:
            releases[name].to_parquet(folder / f"{name}.parquet")
        except BadInputError as error:
            sys.stdout.write(f"{name}: {error}\\n")  # at once: two threads do

    # a second at least passes while rows are written, so that all are in the middle of it when the last begins
    slowly = "java_method('java.lang.Thread', 'sleep', CAST(10 AS BIGINT))"
    slow = f"IF(id % 100 = 0, {slowly}, '')"
    people = "id % 90 AS age", f"concat(sha2(CAST(id AS STRING), 512), {slow}) AS note"
    frames = {name: session.range(20_000).selectExpr(*people) for name, session in used.items()}
    tables = {name: sfumato.read(frame, quasi=["age"], neutral=["note"]) for name, frame in frames.items()}
    releases = {name: sfumato.anonymize(table, "k-anonymity k=6") for name, table in tables.items()}
    threads = [threading.Thread(target=watch, daemon=True)]
    threads += [threading.Thread(target=write, args=(name,)) for name in releases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
"""


@pytest.mark.parametrize(
    "killed", ["the JVM, of a classic session and of Connect", "the process, while the server lives"]
)
def test_what_is_killed_in_the_middle_of_a_release_leaves_nothing_that_is_taken_for_one(killed, spark, tmp_path):
    server = f"sc://127.0.0.1:{connect_port()}" if killed.startswith("the process") else ""
    code, here = textwrap.dedent(WRITING), str(Path(__file__).parent)
    given = [sys.executable, "-c", code, str(tmp_path), server]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([here, *sys.path])}
    done = subprocess.run(given, capture_output=True, text=True, env=environment, timeout=600)
    assert [path for path in tmp_path.iterdir() if not path.name.startswith(".")] == []
    if server:
        assert done.returncode == -9 and not done.stdout
    else:
        assert done.returncode == 0, done.stderr
        told = sorted(done.stdout.splitlines())
        assert [line.partition(":")[0] for line in told] == ["classic", "connect"]
        assert all("the Spark session ended while it worked on" in line for line in told)
    frame = spark.range(100).selectExpr("id % 9 AS age", "CAST(id AS STRING) AS note")
    again = sfumato.anonymize(sfumato.read(frame, quasi=["age"], neutral=["note"]), "k-anonymity k=6")
    for name in ("process", "classic", "connect"):
        (folder,) = again.to_parquet(tmp_path / f"{name}.parquet")  # the same name, as if nothing had been there
        assert sum(pq.read_metadata(part).num_rows for part in folder.glob("part-*")) == 100


def test_text_files_are_read_as_duckdb_reads_them(spark, tmp_path):
    lines = ["a;b", ' 1;"x ""y"""', "?;two", '2;"new\nline"', "3;"]
    (tmp_path / "one.csv").write_text("\n".join(lines) + "\n")
    rows, plain = (open_rows(tmp_path / "one.csv", Reading(na=("?",), engine=name)) for name in ("spark", "duckdb"))
    assert type(rows) is SparkEngine and rows.digest() == plain.digest() and rows.columns == plain.columns
    (tmp_path / "odd.csv").write_text("name,born\nann,31.12.1999\nbob,1.1.2001\n")
    with pytest.raises(BadInputError, match=r"odd.csv: column 'born' has numbers or dates as people write them, such"):
        open_rows(tmp_path / "odd.csv", Reading(engine="spark"))
    kept = open_rows(tmp_path / "odd.csv", Reading(engine="spark", as_written=("born",)))
    assert list(kept.distinct("born").values) == ["1.1.2001", "31.12.1999"]


def parted(folder, parts, ending):
    """Write tables to files of a folder."""
    for name, content in parts.items():
        path = folder / f"{name}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if ending == "parquet":
            pq.write_table(content, path)
        else:
            rows = [content.column_names, *(row.values() for row in content.to_pylist())]
            path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    return folder


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_that_differ_are_named_and_partitions_are_texts_in_spark_too(spark, ending, tmp_path):
    table = PATIENTS.select(["age", "ill"])
    parts = {f"y={y}/k=%41/{name}": table for y, name in (("1", "a"), ("01", "b"), ("1", "c"))}
    parts |= {"y=__HIVE_DEFAULT_PARTITION__/k=b/d": table.slice(0, 5), "y=2/k=b/e": table.slice(0, 0)}
    folder = parted(tmp_path / "in", parts, ending)
    ours, theirs = (open_rows(folder, Reading(engine=name)) for name in ("spark", "duckdb"))
    assert list(ours.columns) == ["age", "ill", "y", "k"] == list(theirs.columns)
    assert ours.digest() == theirs.digest() and ours.row_count == 77
    assert list(ours.distinct("y").values) == ["01", "1", None]
    for odd, sentence in {
        "lacking": (table.drop_columns("ill"), "'ill'"),
        "turned": (table.select(["ill", "age"]), "in another order"),
        "typed": (table.set_column(0, "age", table["age"].cast(pa.float64())), "column 'age' is of "),
    }.items():
        if (odd, ending) != ("typed", "csv"):
            mixed = parted(tmp_path / odd, {"a": table, "b": sentence[0]}, ending)
            with pytest.raises(BadInputError, match=f"b.{ending}: .*{sentence[1]}"):
                open_rows(mixed, Reading(engine="spark"))
    (folder / f"y=2/k=b/f.{ending}").write_bytes(b"")
    with pytest.raises(BadInputError, match=f"f.{ending}: the file is empty"):
        open_rows(folder, Reading(engine="spark"))


ENDED = r"the Spark session ended while it worked on \S*people.parquet; start it again and repeat the command"
DAILY = """
name = "daily"
[table]
source = "people.parquet"
engine = "spark"
quasi = ["age"]
sensitive = ["ill"]
neutral = ["paid"]
hierarchy.age = {type = "numeric", lower = 0, upper = 99, intervals = [20]}
[scales]
queries = "queries number=20 dimensions=1 selectivity=0.2"
[[candidates]]
anonymizers = ["full-domain"]
requirements = ["k-anonymity k=6"]
"""


@pytest.mark.usefixtures("undrawn")
def test_the_command_line_explores_publishes_applies_and_audits_in_spark_and_goes_on_after_its_session_has_ended(
    path, tmp_path, monkeypatch
):
    (tmp_path / "study.toml").write_text(DAILY)
    quasi = "--quasi", "age", "--sensitive", "ill"
    last = sessions()["connect"].newSession()
    monkeypatch.setattr(sources, "session", lambda: last)
    words = "explore", "study.toml", "--out", "map"
    assert run(*words, cwd=tmp_path).returncode == 0
    measured = (tmp_path / "map" / "points.json").read_bytes()
    [point] = json.loads(measured)["points"]
    publish = "release", "map", "--point", point["id"], "--to", "out.parquet", "--mapping", "mapping.json"
    last.stop()
    for command in (words, publish):
        ended = run(*command, cwd=tmp_path)
        assert ended.returncode == 2 and re.search(ENDED, ended.stderr)
    assert not list(tmp_path.glob("out*")) and not (tmp_path / "mapping.json").exists()
    monkeypatch.setattr(sources, "session", lambda: sessions()["connect"])
    again = run(*words, cwd=tmp_path)
    assert again.returncode == 0 and (tmp_path / "map" / "points.json").read_bytes() == measured
    assert run(*publish, cwd=tmp_path).returncode == 0
    plain = tmp_path / "plain"
    plain.mkdir()
    pq.write_table(PATIENTS, plain / path.name)
    (plain / "study.toml").write_text(DAILY.replace("spark", "duckdb"))
    assert run(*words, cwd=plain).returncode == run(*publish, cwd=plain).returncode == 0
    assert json.loads((plain / "map" / "points.json").read_text())["points"] == [point]
    assert published_rows(plain / "out.parquet") == published_rows(tmp_path / "out.parquet")
    days = {"monday": PATIENTS, "tuesday": pa.concat_tables([PATIENTS, PATIENTS.slice(3)])}
    for day, content in days.items():
        pq.write_table(content, tmp_path / f"{day}.parquet")
        given = "apply", "mapping.json", f"{day}.parquet", "--set", "engine=spark", "--to", f"{day}-out.parquet"
        ended = run(*given, cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
        assert sum(published_rows(tmp_path / f"{day}-out.parquet").values()) == content.num_rows
    ended = run(
        *("audit", "tuesday-out.parquet", "--set", "engine=spark", *quasi, "--original", "tuesday.parquet"),
        *("--with", "mapping.json.ledger.jsonl", "--require", "k-anonymity k=6"),
        cwd=tmp_path,
    )
    assert ended.returncode == 0 and "monday-out.parquet" in ended.stdout, (ended.stdout, ended.stderr)


def test_what_spark_refuses_is_said_in_a_sentence(spark, tmp_path):
    with pytest.raises(BadInputError, match=r"no_such_table: Spark cannot read it .*cannot be found"):
        read("no_such_table", engine="spark")
    long = pa.table({"c": pa.array([0.123456789], pa.float32())})
    with pytest.raises(BadInputError, match=r"column .c. holds a 32-bit number.*cast it to double"):
        open_rows(spark.createDataFrame(long)).distinct("c")
    with pytest.raises(BadInputError, match="--decimal-comma is not for rows in Spark"):
        open_rows(spark.createDataFrame(PATIENTS), Reading(decimal_comma=("age",)))


def test_the_worked_example_works_as_it_stands(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
    names = {"spark": spark}
    exec(compile(code, str(PAGE), "exec"), names)
    assert names["release"].to_spark().count() == names["people"].count()
