"""One fixture over all engines: the same rows, the same study and seed give the same answers, points and releases.

What is right is said by the plain engine of the tests, which shares nothing with the others.
"""

from __future__ import annotations

import csv
import datetime
import json
from collections import Counter
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato
from plain_engine import PlainEngine
from sfumato.engines import Coding, Reading
from sfumato.engines.duckdb import DuckDBEngine
from sfumato.engines.spark import SparkEngine, sources
from sfumato.publish import publish_point
from sfumato.report.folder import save_map
from spark_sessions import sessions

NUMBER = 60
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
            "number": [
                ["1.50", "-2", "007", "1e3", " 4 ", "1999-12-31", "31.1.2001", "30.2.2001", "x"][i % 9] for i in rows
            ],
            "items": pa.array([[["b", "a"], [], ["a", None], None][i % 4] for i in rows], pa.list_(pa.string())),
        }
    )


OPENERS = {
    "duckdb": lambda path, reading: DuckDBEngine.open(path, reading),
    "spark": lambda path, reading: SparkEngine.open(sessions()["classic"].read.parquet(str(path)), reading),
    "connect": lambda path, reading: SparkEngine.open(sessions()["connect"].read.parquet(str(path)), reading),
}
READING = Reading(origin="rows", na=("x", "4", "1.0", "2001-12-31"), notations=False)


@pytest.fixture(scope="module", params=OPENERS)
def opened(request, tmp_path_factory):
    """A function that opens rows in an engine."""

    def open_in_engine(content, reading=READING):
        path = tmp_path_factory.mktemp("rows") / "rows.parquet"
        pq.write_table(content, path)
        return OPENERS[request.param](path, reading)

    return open_in_engine


@pytest.fixture(scope="module")
def truth():
    return described(PlainEngine.open(table(), READING))


def described(rows):
    """What every verb that counts says."""
    plain = [name for name in rows.columns if name not in rows.nested]
    answers = {
        "columns": (list(rows.columns), rows.row_count, list(rows.nested)),
        "facts": [rows.facts(name) for name in ("number", "Income")],
        "texts": counted(rows.count_texts(plain)),
        "complete": counted(rows.count_texts(["odd"], ["ill"])),
    }
    for name in ("odd", "zero"):
        values = rows.distinct(name, ["age"])
        answers[name] = (list(values.values), list(values.counts))
    cells = rows.count_cells(codings())
    answers["cells"] = (cells.codes.tolist(), cells.counts.tolist(), cells.dropped)
    tuples = rows.tuples(("odd", "Income"), cells.link)
    shown = [tuple(texts[i] for texts, i in zip(tuples.texts, row, strict=True)) for row in tuples.values]
    answers["tuples"] = list(zip(tuples.cell.tolist(), shown, tuples.counts.tolist(), strict=True))
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


def test_the_digest_is_the_same_on_every_engine(opened):
    plain = table().drop_columns("items")
    assert opened(plain).digest() == PlainEngine.open(plain, READING).digest()
    other = plain.set_column(0, "age", pa.array([1] * NUMBER, pa.int32()))
    assert opened(other).digest() != opened(plain).digest()


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
    results = {}
    for engine in ("duckdb", "classic", "connect"):
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

    for module in ("engine", "releases", "sources"):
        monkeypatch.setattr(f"sfumato.engines.spark.{module}.collected", collected)
    return crossed
