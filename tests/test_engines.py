"""The verbs of the protocol on every engine: DuckDB, and one in plain Python that must be able to take its place."""

from __future__ import annotations

import csv
import datetime
import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from itertools import cycle, islice

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato
from plain_engine import PlainEngine
from sfumato import BadInputError, Study
from sfumato.engines import ENGINES, open_rows
from sfumato.engines.duckdb.engine import DuckDBEngine
from sfumato.engines.duckdb.write import shuffled_table, write_table
from sfumato.engines.protocol import Coding, Layout, Placement, Reading, Texts, column_pairs
from sfumato.release.writing_items import write_items

ALL = (DuckDBEngine, PlainEngine)
PEOPLE = {
    "town": ["b", "a", None, "b", "b", ""],
    "age": ["7", "10", "7", "7", "x", "10"],
    "note": ["n", None, "n", "m", "n", "n"],
}


@pytest.fixture(params=ALL, ids=lambda engine: engine.__name__)
def engine(request, monkeypatch):
    """Let every source be opened by one engine."""
    monkeypatch.setattr("sfumato.engines.ENGINES", [request.param])
    return request.param


@pytest.fixture(params=["frame", "csv", "parquet"])
def people(request, engine, tmp_path):
    """The same rows from a frame and from files."""
    source = pa.table(PEOPLE)
    if request.param == "parquet":
        pq.write_table(source, tmp_path / "people.parquet")
        source = tmp_path / "people.parquet"
    if request.param == "csv":
        source = tmp_path / "people.csv"
        with source.open("w", newline="") as stream:
            csv.writer(stream).writerows([PEOPLE, *zip(*PEOPLE.values(), strict=True)])
    rows = open_rows(source)
    assert type(rows) is engine
    return rows


def read_rows(path):
    with path.open(newline="") as stream:
        return [tuple(row) for row in csv.reader(stream)]


def as_dict(lists):
    """What counted lists say: for every list its count and first record."""
    ends = np.cumsum(lists.lengths).tolist()
    spans = zip([0, *ends], ends, lists.counts.tolist(), lists.first_records.tolist(), strict=False)
    return {tuple(lists.texts[code] for code in lists.codes[a:b]): (count, first) for a, b, count, first in spans}


# -- tables --------------------------------------------------------------------------------------------------


def test_rows_are_opened_with_their_columns(people):
    assert (list(people.columns), people.row_count, dict(people.nested)) == (["town", "age", "note"], 6, {})


def test_the_digest_of_the_same_content_is_the_same_on_every_engine(people):
    assert people.digest() == DuckDBEngine.open(pa.table(PEOPLE), Reading()).digest()
    assert people.digest() != DuckDBEngine.open(pa.table(PEOPLE | {"note": ["n"] * 6}), Reading()).digest()


def at(*numbers):
    return datetime.datetime(*numbers)


VALUES = [
    (pa.int8(), [-7], ["-7"]),
    (pa.int64(), [2**62, 0], [str(2**62), "0"]),
    (pa.bool_(), [True, False], ["true", "false"]),
    (pa.float64(), [1.0, 1e-4, 1e-5, 123456.789, 1e16], ["1.0", "0.0001", "1e-05", "123456.789", "1e+16"]),
    (pa.float64(), [-0.0, 2e-3, 1e7, 1e23, 1e15], ["-0.0", "0.002", "10000000.0", "1e+23", "1000000000000000.0"]),
    (pa.float64(), [2.0**-44, 5e-324, 2e23], ["5.684341886080802e-14", "5e-324", "2e+23"]),
    (pa.float64(), [math.nan, math.inf, -math.inf], ["nan", "inf", "-inf"]),
    (pa.float32(), [0.1, -2.5, 12345.6, 1e-5], ["0.1", "-2.5", "12345.6", "1e-05"]),
    (pa.decimal128(9, 2), [Decimal("1.50"), Decimal("-0.05"), Decimal(0)], ["1.50", "-0.05", "0.00"]),
    (pa.decimal128(38, 10), [Decimal("0.0000001"), Decimal(0)], ["0.0000001000", "0.0000000000"]),
    (pa.date32(), [datetime.date(1, 1, 1), datetime.date(9999, 12, 31)], ["0001-01-01", "9999-12-31"]),
    (pa.timestamp("us"), [at(2020, 1, 2, 3, 4, 5)], ["2020-01-02 03:04:05"]),
    (pa.timestamp("us"), [at(1969, 12, 31, 23, 59, 59, 120000)], ["1969-12-31 23:59:59.12"]),
    (pa.timestamp("us", "UTC"), [at(2020, 3, 29, 1, 30)], ["2020-03-29 01:30:00+00"]),
    (pa.timestamp("us", "UTC"), [at(1899, 1, 1, 0, 0, 0, 1)], ["1899-01-01 00:00:00.000001+00"]),
    (pa.string(), ["é", "z", "Z", "\U0001f600", "\uffee"], ["é", "z", "Z", "\U0001f600", "\uffee"]),
]
"""Values of all types that tables have, and their texts, as the protocol defines them."""


def values_table(number):
    """One column of each type, its values and a missing one repeated in turn."""
    columns = (pa.array(list(islice(cycle([*values, None]), number)), kind) for kind, values, _ in VALUES)
    return pa.table({f"c{i}": column for i, column in enumerate(columns)})


def test_values_have_the_same_texts_on_every_engine(engine):
    rows = open_rows(values_table(7))
    for i, (kind, _, texts) in enumerate(VALUES):
        assert list(rows.distinct(f"c{i}").values) == [*sorted(texts, key=str.encode), None], kind
    assert rows.digest() == PlainEngine.open(values_table(7), Reading()).digest()


def test_distinct_texts_are_counted_in_their_order_with_their_first_rows(people):
    towns = people.distinct("town")
    assert list(towns.values) == ["a", "b", None]
    assert (towns.counts.tolist(), towns.first_rows.tolist()) == ([1, 3, 2], [2, 1, 3])
    complete = people.distinct("age", ["town", "note"])
    assert (list(complete.values), complete.counts.tolist()) == (["7", "x"], [2, 1])
    assert list(people.sample("town", 100).values) == ["a", "b", None]


def test_a_column_is_described(engine):
    values = ["1.50", "-2", "007", "1e3", "1999-12-31", "2000-01-02 10:00", "31.1.2001", "30.2.2001", " 4 ", None]
    facts = open_rows(pa.table({"c": [*values, "1e999"]})).facts("c")
    assert (facts.present, facts.distinct, facts.shortest, facts.longest) == (10, 10, 2, 16)
    assert (facts.numbers, facts.lowest, facts.highest, facts.decimals) == (4, -2.0, 1000.0, 99)
    assert (facts.days, facts.first, facts.last) == (3, datetime.date(1999, 12, 31), datetime.date(2001, 1, 31))


def test_tuples_of_texts_are_counted(people):
    batches = pa.Table.from_batches(people.count_texts(["town", "age"]))
    counted = {(town, age): n for town, age, n in zip(*(column.to_pylist() for column in batches.columns), strict=True)}
    assert counted == {("b", "7"): 2, ("a", "10"): 1, (None, "7"): 1, ("b", "x"): 1, (None, "10"): 1}
    [batch] = people.count_texts(["age"], ["town", "note"])
    assert sorted(zip(batch[0].to_pylist(), batch[1].to_pylist(), strict=True)) == [("7", 2), ("x", 1)]


def test_rows_are_counted_to_cells_and_linked_to_them(people):
    counted = people.count_cells([Coding("town", {"a": 0, "b": 1, None: 2}), Coding("age", {"7": 0, "10": 1})])
    assert counted.codes.tolist() == [[0, 1], [1, 0], [2, 0], [2, 1]] and counted.codes.dtype == np.int32
    assert (counted.counts.tolist(), counted.dropped) == ([1, 2, 1, 1], 1)
    notes = column_pairs(people, "note", counted.link)
    shown = [notes.values[value] for value in notes.value]
    assert list(zip(notes.cell.tolist(), shown, notes.counts.tolist(), strict=True)) == [
        (0, None, 1),
        (1, "m", 1),
        (1, "n", 1),
        (2, "n", 1),
        (3, "n", 1),
    ]
    both = people.tuples(("note", "town"), counted.link)
    assert [both.texts[1][value] for value in both.values[:, 1]] == ["a", "b", "b", None, None]


def released(people, path, **changed):
    """Write cells by town, group 0 being `a` with one row of `b`, the one whose note comes first."""
    cells = people.count_cells([Coding("town", {"a": 0, "b": 1})])
    cell, group, count = (np.array(numbers) for numbers in ([0, 1, 1], [0, 0, 1], [1, 1, 2]))
    layout = {
        "order": ["age", "town", "note"],
        "by_group": [Texts("town", ["{a, b}", "b"], np.array([0, 1], np.int32))],
        "by_cell": [Texts("age", ["ten", None], np.array([0, 1], np.int32))],
        "neutral": ["note"],
    }
    placement, layout = Placement(cell, group, count, cells.link), Layout(**layout | changed)
    written = people.write(placement, layout, path, path.suffix[1:])
    in_memory = people.placed_rows(placement, layout)
    if path.suffix == ".csv":
        assert [tuple(in_memory.column_names), *texts_of(in_memory)] == read_rows(path)
    return written


def texts_of(table):
    """The rows of a table as a CSV file has them."""
    columns = (["" if value is None else str(value) for value in column.to_pylist()] for column in table.columns)
    return list(zip(*columns, strict=True))


def test_placed_rows_are_written_in_an_order_that_only_what_they_show_decides(people, tmp_path):
    assert released(people, tmp_path / "out.csv") == 4
    assert released(people, tmp_path / "out.parquet") == 4
    header, *rows = read_rows(tmp_path / "out.csv")
    assert header == ("age", "town", "note")
    assert sorted(rows) == [("", "b", "n"), ("", "b", "n"), ("", "{a, b}", "m"), ("ten", "{a, b}", "")]
    other = DuckDBEngine.open(pa.table(PEOPLE), Reading())
    released(other, tmp_path / "other.csv")
    assert rows == read_rows(tmp_path / "other.csv")[1:]
    columns = pq.read_table(tmp_path / "out.parquet").to_pydict()
    assert [tuple(text or "" for text in row) for row in zip(*columns.values(), strict=True)] == rows


def test_permuted_columns_are_dealt_out_within_their_groups(people, tmp_path):
    changed = {"order": ["age", "town", "note", "group"], "permuted": frozenset(["age"])}
    changed |= {"group_column": "group", "group_labels": np.array([1, 2])}
    for rows, name in ((people, "one"), (DuckDBEngine.open(pa.table(PEOPLE), Reading()), "two")):
        assert released(rows, tmp_path / f"{name}.csv", **changed) == 4
    one, two = (read_rows(tmp_path / f"{name}.csv") for name in ("one", "two"))
    assert one == two
    assert sorted((row[0], row[3]) for row in one[1:]) == [("", "1"), ("", "2"), ("", "2"), ("ten", "1")]


def test_a_table_of_ours_is_written(tmp_path):
    content = pa.table({"group": [1, 2, 2], "value": ["x", None, "y"]})
    assert write_table(content, tmp_path / "out.csv", "csv") == 3
    assert sorted(read_rows(tmp_path / "out.csv")[1:]) == [("1", "x"), ("2", ""), ("2", "y")]
    shuffled = shuffled_table(content)
    assert [tuple(shuffled.column_names), *texts_of(shuffled)] == read_rows(tmp_path / "out.csv")


def test_a_published_file_is_counted_as_it_stands(engine, tmp_path):
    pq.write_table(pa.table({"q": ["", None, "", "x"]}), tmp_path / "published.parquet")
    rows = open_rows(tmp_path / "published.parquet", Reading(as_it_stands=True))
    [batch] = rows.count_texts(["q"])
    assert dict(zip(batch[0].cast(pa.string()).to_pylist(), batch[1].to_pylist(), strict=True)) == {
        "": 2,
        None: 1,
        "x": 1,
    }
    assert list(rows.distinct("q").values) == ["", "x", None] and rows.distinct("q").first_rows.tolist() == [1, 4, 2]


def test_escaped_formulas_are_read_as_they_were(engine, tmp_path):
    (tmp_path / "out.csv").write_text("'=h,b\n'=1+1,'x\n'-a,-1\n")
    rows = open_rows(tmp_path / "out.csv", Reading(escaped=True))
    assert list(rows.columns) == ["=h", "b"]
    assert (list(rows.distinct("=h").values), list(rows.distinct("b").values)) == (["-a", "=1+1"], ["'x", "-1"])


def test_a_source_without_rows_is_refused_unless_it_will_do(engine):
    with pytest.raises(BadInputError, match="pyarrow Table: there is a header but no row; give a table with records"):
        open_rows(pa.table({"a": pa.array([], pa.string())}))
    assert open_rows(pa.table({"a": pa.array([], pa.string())}), Reading(empty=True)).row_count == 0


@pytest.mark.parametrize(("error", "ours"), [(duckdb.OutOfMemoryException, MemoryError), (duckdb.Error, BadInputError)])
def test_whatever_happens_to_duckdb_is_told_as_one_of_our_errors(error, ours, monkeypatch, tmp_path):
    rows = DuckDBEngine.open(pa.table(PEOPLE), Reading(origin="people"))
    link = rows.count_cells([Coding("age", {"7": 0})]).link

    class Broken:
        def fail(self, *_, **__):
            raise error("no luck\nat all")

        sql = execute = register = fail

    monkeypatch.setattr(rows, "_connection", Broken())
    for known in ("_kinds", "row_count"):
        vars(rows).pop(known)
    verbs = [rows.digest, lambda: rows.distinct("age"), lambda: rows.facts("age"), lambda: rows.tuples(["age"], link)]
    verbs += [lambda: list(rows.count_texts(["age"])), lambda: rows.count_cells([Coding("age", {"7": 0})])]
    verbs += [
        lambda: rows.nested,
        lambda: rows.row_count,
        lambda: rows.lists("age"),
        lambda: rows.gathered("age", "note"),
    ]
    verbs += [lambda: rows.texts]
    for verb in verbs:
        with pytest.raises(ours, match="no luck"):
            verb()


# -- lists of items ------------------------------------------------------------------------------------------


def test_lists_are_counted_with_their_first_records(engine):
    lists = [["b", "a"], [], ["a"], ["b", "a"], None, ["a", None]]
    rows = open_rows(pa.table({"n": [1] * 6, "items": pa.array(lists, pa.list_(pa.string()))}), Reading(layout="lists"))
    assert [name for name, kind in rows.nested.items() if kind.endswith("[]")] == ["items"]
    counted = rows.lists("items")
    assert sum(counted.counts) == 6 and as_dict(counted)["b", "a"] == (2, 1) and as_dict(counted)["a",] == (1, 3)
    assert as_dict(counted)["a", None] == (1, 6) and counted.first_records.tolist() == sorted(counted.first_records)
    assert sum(counted.counts[counted.lengths == 0]) == 2


def test_several_workers_may_count_one_table_at_once():
    rows = open_rows(
        pa.table({"a": [str(i % 97) for i in range(5_000)], "b": [str(i % 89) for i in range(5_000)]}), Reading()
    )
    with ThreadPoolExecutor(8) as workers:
        counted = list(workers.map(lambda columns: list(rows.count_texts(columns)), [["a", "b"], ["b"]] * 16))
    assert all(sum(batch.column(2).to_numpy().sum() for batch in batches) == 5_000 for batches in counted[::2])


def test_rows_of_items_are_gathered_by_their_owners(engine):
    owners, items = ["2", "1", "2", "3", "1", "4"], ["x", "y", "y", None, "z", "x"]
    rows = open_rows(pa.table({"who": owners, "item": items}))
    assert as_dict(rows.gathered("who", "item")) == {("x", "y"): (1, 1), ("y", "z"): (1, 2), (): (1, 3), ("x",): (1, 4)}
    lost = pa.table({"who": ["1", None, "1"], "item": ["x", "y", "x"]})
    with pytest.raises(BadInputError, match="the frame, row 2: 'who' is missing, so nobody knows whose 'y' it is"):
        open_rows(lost, Reading(origin="the frame")).gathered("who", "item")
    assert as_dict(open_rows(lost, Reading(as_it_stands=True)).gathered("who", "item")) == {
        ("x", "x"): (1, 1),
        ("y",): (1, 2),
    }


@pytest.mark.parametrize("layout", ["lines", "long"])
def test_baskets_are_read_published_and_audited_on_every_engine(engine, layout, tmp_path):
    (tmp_path / "b.csv").write_text("".join(f"{a},{b},c\n" for a, b in itertools.product("xy", "ijk") for _ in "12"))
    baskets = sfumato.read_baskets(tmp_path / "b.csv")
    assert (baskets.size, baskets.distinct, baskets.items) == (12, 6, ("c", "i", "j", "k", "x", "y"))
    release = sfumato.anonymize(baskets, "km-anonymity k=4 m=1", "aa")
    columns = {"who": "record", "item": "item"} if layout == "long" else {}
    path = write_items(release, tmp_path / "out.csv", layout)[0]
    assert sfumato.audit_baskets(path, "km-anonymity k=4 m=1", original=baskets, **columns).holds


# -- the whole walk ------------------------------------------------------------------------------------------

STUDY = """
name = "walk"
[table]
source = "people.csv"
quasi = ["age", "home town"]
sensitive = ["ill"]
neutral = ["note"]
[scales]
queries = "queries number=20 dimensions=2 selectivity=0.2"
[[candidates]]
anonymizers = ["mondrian", "full-domain"]
requirements = ["k-anonymity k=5", "l-diversity l=2 variant=frequency"]
forms = ["generalization", "bucketization"]
"""


def walk(folder):
    """Open a table, explore a study of it, anonymize, write, audit: everything that comes out."""
    table = sfumato.read(
        folder / "people.csv", quasi=["age", "home town"], sensitive=["ill"], neutral=["note"], na=["?"]
    )
    results = [table.engine.digest(), table.cells.size, table.notices]
    study = Study.from_toml(STUDY.replace("people.csv", str(folder / "people.csv")))
    results.append([(point.id, point.status, dict(point.measures)) for point in sfumato.explore(study).points])
    for form in ("generalization", "bucketization"):
        release = sfumato.anonymize(table, "k-anonymity k=5", "mondrian", form)
        [path] = release.to_csv(folder / f"{form}.csv", force=True)
        results.append(read_rows(path))
        group = "group" if form == "bucketization" else None
        audit = sfumato.audit(path, table.roles.quasi, "ill", original=table, group=group)
        results += [audit.holds, dict(audit.measures)]
    return results


def test_a_whole_walk_on_another_engine_comes_out_the_same(tmp_path, monkeypatch):
    with (tmp_path / "people.csv").open("w", newline="") as stream:
        rows = [
            (i * 7 % 60, f"town {i % 5}", ["flu", "none", "gout"][(i * i + i // 7) % 3], ["", "?", "n, 1"][i % 3])
            for i in range(120)
        ]
        csv.writer(stream).writerows([("age", "home town", "ill", "note"), *rows])
    expected = walk(tmp_path)
    monkeypatch.setattr("sfumato.engines.ENGINES", [*ENGINES, PlainEngine])
    for verb in ("open", "write", "count_cells", "count_texts"):
        monkeypatch.setattr(DuckDBEngine, verb, None)  # nobody goes around the factory
    assert walk(tmp_path) == expected
