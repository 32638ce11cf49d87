"""What only Spark has: a session that is somebody else's, that may end, and files that it reads and writes itself."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato
from sfumato.engines import Reading, open_rows
from sfumato.engines.duckdb import DuckDBEngine
from sfumato.engines.spark import SparkEngine, sources
from sfumato.errors import BadInputError
from spark_sessions import sessions

PAGE = Path(__file__).resolve().parents[1] / "docs" / "spark.md"
PEOPLE = pa.table(
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
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


def read(source, **more):
    return sfumato.read(source, quasi=["age"], sensitive=["ill"], neutral=["paid"], **more)


def test_no_setting_of_the_session_matters_and_all_are_left_as_they_were(spark, path, tmp_path):
    instants = PEOPLE.append_column("seen", pa.array(range(24), pa.timestamp("s", "UTC")))
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


def test_what_spark_refuses_is_said_in_a_sentence(spark, tmp_path):
    with pytest.raises(BadInputError, match=r"no.such.table: Spark cannot read it .*cannot be found"):
        read("no.such.table", engine="spark")
    long = pa.table({"c": pa.array([0.123456789], pa.float32())})
    with pytest.raises(BadInputError, match=r"column .c. holds a 32-bit number.*cast it to double"):
        open_rows(spark.createDataFrame(long)).distinct("c")
    with pytest.raises(BadInputError, match="--decimal-comma is not for rows in Spark"):
        open_rows(spark.createDataFrame(PEOPLE), Reading(decimal_comma=("age",)))


def test_the_worked_example_works_as_it_stands(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
    names = {"spark": spark}
    exec(compile(code, str(PAGE), "exec"), names)
    assert names["release"].to_spark().count() == names["people"].count()
