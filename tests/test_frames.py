"""Frames in and frames out: what comes back is what the file would hold, and what cannot be read is told by column."""

from __future__ import annotations

import csv
import datetime as dt
import doctest
import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import BadInputError

ROLES = {"quasi": ["age", "born", "zip"], "sensitive": ["illness"], "neutral": ["visits", "cost", "seen", "smokes"]}
PEOPLE = {
    "age": [34, 35, 36, 37, 51, 53, 55, 58, 90],
    "born": [dt.date(1990, 1, 1)] * 4 + [dt.date(1970, 2, 3)] * 4 + [dt.date(1930, 12, 31)],
    "zip": ["10115", "10115", "10117", "10117"] * 2 + ["80331"],
    "illness": ["flu", "cold", "flu", None, "cold", "flu", "cold", "flu", "gout"],
    "visits": [1, 2, None, 4, 5, 6, 7, 8, 9],
    "cost": [1.5, 2.25, 0.1, 1e-7, 5.0, 1e22, 7.0, -0.5, 9.0],
    "seen": [dt.datetime(2020, 1, day, 12, 30) for day in range(1, 10)],
    "smokes": [True, False, None, True, False, True, False, True, True],
}
KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}
TYPES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.Table}


def lists_of(frame):
    """The columns of any frame as lists of plain values, missing ones None."""
    if isinstance(frame, pd.DataFrame):
        return {
            name: [None if pd.isna(value) else value for value in frame[name].astype(object)] for name in frame.columns
        }
    return frame.to_dict(as_series=False) if isinstance(frame, pl.DataFrame) else frame.to_pydict()


def shows(text, value):
    """Whether a field of a file shows a value."""
    if value is None or text == "":
        return value is None and text == ""
    if isinstance(value, bool):
        return text == str(value).lower()
    if isinstance(value, str):
        return text == value
    if isinstance(value, int | float):
        return float(text) == value
    if isinstance(value, dt.datetime):
        return dt.datetime.fromisoformat(text) == value
    return text == value.isoformat()


def in_file(release, folder):
    """The names and rows of the release's file."""
    path = release.to_csv(folder / "release.csv", force=True)[0]
    with path.open(newline="", encoding="utf-8") as stream:
        names, *rows = csv.reader(stream)
    return names, rows


@pytest.mark.parametrize("form", ["generalization", "bucketization"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_release_comes_back_as_the_frame_it_came_from_and_is_what_its_file_holds(kind, form, tmp_path):
    release = sfumato.anonymize(KINDS[kind](PEOPLE), "k-anonymity k=2", form=form, suppress=0.2, **ROLES)
    names, rows = in_file(release, tmp_path)
    assert type(release.frame()) is TYPES[kind]
    for frame in (release.frame(), release.to_pandas(), release.to_polars(), release.to_arrow()):
        columns = lists_of(frame)
        assert list(columns) == names and len(rows) == release.assignment.records
        for name, texts in zip(names, zip(*rows, strict=True), strict=True):
            assert all(map(shows, texts, columns[name])), (name, texts, columns[name])


def test_columns_keep_their_kind_where_every_published_value_has_it():
    release = sfumato.anonymize(pd.DataFrame(PEOPLE), "k-anonymity k=2", suppress=0.2, **ROLES)
    kinds = {field.name: str(field.type) for field in release.to_arrow().schema}
    assert kinds == {
        "age": "string",
        "born": "date32[day]",
        "zip": "string",
        "illness": "string",
        "visits": "double",
        "cost": "double",
        "seen": "timestamp[us]",
        "smokes": "bool",
    }
    unchanged = sfumato.anonymize(pd.DataFrame(PEOPLE), "k-anonymity k=1", quasi=["age", "zip"])
    assert [str(kind) for kind in unchanged.to_arrow().schema.types] == ["int64", "string"]


def test_whole_numbers_and_truth_values_stay_what_they_are_in_pandas_where_some_are_missing():
    people = {name: PEOPLE[name] for name in ("age", "visits", "smokes")}
    frame = sfumato.anonymize(
        pl.DataFrame(people), "k-anonymity k=2", quasi=["age"], neutral=["visits", "smokes"]
    ).to_pandas()
    assert [str(kind) for kind in frame.dtypes[["visits", "smokes"]]] == ["Int64", "boolean"]
    assert isinstance(frame.index, pd.RangeIndex)


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["0", "-12", "9223372036854775807"], "int64"),
        (["9223372036854775808", "1"], "string"),
        (["007", "8"], "string"),
        (["-0", "1"], "double"),
        (["1.5", "2", ""], "double"),
        (["0.12345678901234567890123", "1.5"], "string"),
        (["2020-02-29", "2021-01-01"], "date32[day]"),
        (["2021-02-29", "2021-01-01"], "string"),
        (["2020-02-29 10:00:00", "2021-01-01 00:00:00.5"], "timestamp[us]"),
        (["true", "false"], "bool"),
        (["nan", "1"], "string"),
        (["1", "x"], "string"),
        (["20-29", "30"], "string"),
    ],
)
def test_the_values_of_a_text_file_decide_its_types(texts, kind, tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("sex,note\n" + "".join(f'f,"{text}"\n' for text in texts), encoding="utf-8")
    release = sfumato.anonymize(path, "k-anonymity k=2", quasi=["sex"], neutral=["note"], as_written=[])
    assert str(release.to_arrow().schema.field("note").type) == kind
    assert type(release.frame()) is pa.Table
    written = sfumato.anonymize(path, "k-anonymity k=2", quasi=["sex"], neutral=["note"], as_written=["note"])
    values = written.to_arrow()["note"].to_pylist()
    assert Counter(values) == Counter(text or None for text in texts), "as they are written"


def test_a_type_tells_nothing_of_records_that_were_left_out():
    """Tables that differ in a suppressed record alone, which is missing, fractional or plain: no type tells which."""
    ages, towns = [20, 20, 21, 21], ["a", "a", "b", "b"]
    odd = [(99, "c"), (99.5, "c"), (None, "c")]
    frames = [
        make({"age": [*ages, age], "town": [*towns, town]}, **more)
        for make, more in ((pd.DataFrame, {}), (pl.DataFrame, {"strict": False}))
        for age, town in odd
    ]
    released = [
        sfumato.anonymize(frame, "k-anonymity k=2", "full-domain", suppress=0.2, quasi=["age", "town"])
        for frame in frames
    ]
    assert {release.suppressed for release in released} == {1}
    assert len({str(release.to_arrow()) for release in released}) == 1
    assert str(released[0].to_arrow().schema.field("age").type) == "int64"


def test_neither_the_order_of_rows_nor_an_index_survives():
    frame = pd.DataFrame(PEOPLE)
    turned = frame.iloc[::-1].set_index(pd.Index([f"person {i}" for i in range(9)], name="who"))
    straight, back = (sfumato.anonymize(each, "k-anonymity k=2", suppress=0.2, **ROLES) for each in (frame, turned))
    pd.testing.assert_frame_equal(straight.frame(), back.frame())
    assert "who" in back.table.notices[0] and "reset_index" in back.table.notices[0]
    with pytest.raises(BadInputError, match="there is no column 'who'"):
        sfumato.read(turned, quasi=["who"])


def test_a_noisy_release_gives_frames_of_records_that_are_drawn_from_it():
    domains = {"age": sfumato.numeric(30, 93), "illness": sfumato.flat(["flu", "cold", "gout"])}
    frame = pl.DataFrame(PEOPLE).drop_nulls("illness")
    release = sfumato.draw(
        frame, "dp-kd-tree epsilon=100 height=2", quasi=["age"], sensitive=["illness"], hierarchies=domains
    )
    drawn = release.frame()
    assert type(drawn) is pl.DataFrame and drawn.columns == ["age", "illness"]
    assert drawn.schema["age"] == pl.Int64 and set(drawn["illness"]) <= {"flu", "cold", "gout"}
    assert len(drawn) == release.synthetic_counts.sum()


# ---------------------------------------------------------------- from a frame to a release

SMALL = {
    "age": [20 + i % 10 for i in range(40)],
    "sex": ["f", "m"] * 20,
    "diagnosis": ["flu", "cold", "gout", "flu", "cough"] * 8,
}


@pytest.fixture(scope="module")
def drafted():
    return sfumato.draft(pd.DataFrame(SMALL))


@pytest.fixture(scope="module")
def map_(drafted):
    grid = sfumato.Grid(
        requirements=tuple(map(sfumato.requirement, ("k-anonymity k=2", "k-anonymity k=4", "k-anonymity k=50")))
    )
    scales = replace(drafted.study.scales, queries=replace(drafted.study.scales.queries, number=10))
    ends = drafted.study.grids[-1]
    return sfumato.explore(replace(drafted.study, grids=(grid, ends), scales=scales, axes=("k", "loss")))


def test_a_draft_of_a_frame_says_what_that_of_its_file_says(drafted, tmp_path):
    path = tmp_path / "frame.csv"
    pd.DataFrame(SMALL).to_csv(path, index=False)
    by_file = sfumato.draft(path)
    assert [(each.column, each.role) for each in drafted.guesses] == [
        ("age", "quasi"),
        ("sex", "quasi"),
        ("diagnosis", "sensitive"),
    ]
    assert drafted.guesses == by_file.guesses
    study, other = drafted.study, by_file.study
    assert study.name == "pandas DataFrame" and replace(study, name=other.name, data=other.data) == other
    assert study.table.source.content is not None
    assert replace(study.table, source=str(path)) == replace(other.table, source=str(path))
    assert "pandas DataFrame" in drafted.to_toml() and "write it to a file" in drafted.to_toml()


def test_a_frame_is_drafted_and_explored(monkeypatch, drafted):
    """Without a study the draft's is explored."""
    from sfumato.tradeoff.study.draft import as_study

    for given in (pd.DataFrame(SMALL), drafted):
        study = as_study(given)
        assert study.grids == drafted.study.grids and study.table.quasi == ("age", "sex")
    assert sfumato.check(pd.DataFrame(SMALL)).quasi == ("age", "sex")


def test_a_map_of_a_frame_is_asked_chosen_from_and_released_in_memory(map_, tmp_path):
    point = map_.ask("k within loss 1").answer
    assert point is not None and map_.choose(min={"k": 2}).point.status == "measured"
    for given in (point, point.id):
        release = map_.release(given)
        frame = release.frame()
        assert type(frame) is pd.DataFrame and list(frame) == ["age", "sex", "diagnosis"]
        assert frame.groupby(["age", "sex"]).size().min() == point.measures["k"]
        assert sfumato.measure(release)["loss"] == point.measures["loss"]
    audited = sfumato.audit(release.to_arrow(), ["age", "sex"], ["diagnosis"], require="k-anonymity k=2")
    assert audited.measures["k"] == point.measures["k"]


def test_what_may_not_be_published_is_not_released_in_memory_either(map_):
    original = next(point for point in map_.points if point.anonymizer == "original")
    with pytest.raises(BadInputError, match="not a release to publish"):
        map_.release(original)
    infeasible = next(point for point in map_.points if point.status == "infeasible")
    with pytest.raises(BadInputError, match="was not made"):
        map_.release(infeasible)
    with pytest.raises(BadInputError, match="there is no point 'x'"):
        map_.release("x")


def test_a_frame_that_was_changed_meanwhile_is_not_released(map_):
    content = map_.study.table.source.content
    point, before = map_.ask("k within loss 1").answer, content.loc[0, "age"]
    content.loc[0, "age"] = 29
    try:
        with pytest.raises(BadInputError, match="pandas DataFrame has changed since the map was made"):
            map_.release(point)
    finally:
        content.loc[0, "age"] = before


def test_a_study_of_a_frame_is_written_by_nobody(drafted):
    with pytest.raises(BadInputError, match="pandas DataFrame in memory, which no file can name"):
        drafted.study.to_toml()


def test_nothing_that_is_printed_shows_a_record(map_, drafted):
    release = map_.release(map_.ask("k within loss 1").answer)
    for thing in (drafted, drafted.study, map_, release, release.table, drafted.study.table.source, map_.study.table):
        assert not re.search("gout|cough|2[0-9]|'f'", repr(thing)), repr(thing)
    assert repr(drafted.study.table.source) == "<Frame: origin='pandas DataFrame'>"


def test_what_can_be_read_only_once_is_read_once():
    declared = sfumato.TableDeclaration(pa.table(SMALL).to_reader(), quasi=["age"], sensitive=["diagnosis"])
    first, second = declared.open(), declared.open()
    assert first.engine.digest() == second.engine.digest() and first.engine.origin == "pyarrow RecordBatchReader"
    assert first.cells.records == second.cells.records == 40
    assert sfumato.draft(pa.table(SMALL).to_reader()).study.table.open().cells.records == 40


def test_roles_are_said_once():
    with pytest.raises(BadInputError, match=r"not declared: .* \(quasi=\[...\]\), or let sfumato.draft guess"):
        sfumato.anonymize(pd.DataFrame(SMALL), "k-anonymity k=2")
    table = sfumato.read(pd.DataFrame(SMALL), quasi=["age"])
    with pytest.raises(BadInputError, match="sensitive is given for a table that is read already"):
        sfumato.anonymize(table, "k-anonymity k=2", sensitive=["diagnosis"])


def test_a_requirement_is_a_number_a_text_an_object_or_a_list_of_these():
    frame = pd.DataFrame(SMALL)
    diverse = sfumato.requirement("l-diversity l=2 variant=distinct")
    releases = [
        sfumato.anonymize(frame, wanted, k=k, quasi=["age"], sensitive=["diagnosis"]).frame()
        for wanted, k in (
            ("k-anonymity k=4 & l-diversity l=2 variant=distinct", None),
            (sfumato.requirement("k-anonymity k=4 & l-diversity l=2 variant=distinct"), None),
            (["k-anonymity k=4", diverse], None),
            (diverse, 4),
        )
    ]
    assert all(each.equals(releases[0]) for each in releases)
    groups = releases[0].groupby("age")
    assert groups.size().min() >= 4 and groups["diagnosis"].nunique().min() >= 2
    alone = sfumato.anonymize(frame, k=4, quasi=["age"]).frame()
    assert alone["age"].value_counts().min() >= 4 and alone["age"].nunique() > 1
    with pytest.raises(BadInputError, match="nothing is required; give k=10"):
        sfumato.anonymize(frame, quasi=["age"])


def test_the_anonymizer_is_named_as_on_the_command_line():
    frame = pd.DataFrame(SMALL)
    named = [
        sfumato.anonymize(frame, k=4, quasi=["age"], **by) for by in ({"with_": "hilbert"}, {"anonymizer": "hilbert"})
    ]
    assert named[0].frame().equals(named[1].frame()) and str(named[0].made[0]) == "hilbert"


@pytest.mark.parametrize(
    ("given", "meant"), [("maker", "with_"), ("quasi_identifiers", "quasi"), ("sensitve", "sensitive")]
)
def test_a_wrong_keyword_is_answered_with_the_right_one(given, meant):
    frame = pd.DataFrame(SMALL)
    with pytest.raises(TypeError, match=rf"anonymize\(\) has no keyword '{given}'; did you mean '{meant}'\?"):
        sfumato.anonymize(frame, k=4, **{given: "age"})
    with pytest.raises(TypeError, match="check\\(\\) has no keyword 'qi'; did you mean 'quasi'"):
        sfumato.check(frame, qi=["age"])
    with pytest.raises(TypeError, match="read\\(\\) has no keyword 'zzzz'; known are"):
        sfumato.read(frame, quasi=["age"], zzzz=1)


def test_a_frame_is_checked_with_its_roles():
    frame = pd.DataFrame(SMALL)
    checked = sfumato.check(frame, quasi=["age"], sensitive=["diagnosis"])
    assert checked.quasi == ("age",) and checked.records == len(frame)
    assert checked.risk.smallest == frame["age"].value_counts().min()


# ---------------------------------------------------------------- frames of all sorts


class Capsules:
    """Nothing but the Arrow interface."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def with_note(make, notes, **more):
    return make({"age": [20, 20, 30, 30], "note": notes}, **more)


@pytest.mark.parametrize(
    ("frame", "notes"),
    [
        (with_note(pd.DataFrame, pd.Categorical(["a", "b", "a", None], categories=["z", "b", "a"])), "a b a -"),
        (with_note(pd.DataFrame, pd.Categorical([1, 2, 1, 2])), "1 2 1 2"),
        (with_note(pd.DataFrame, pd.period_range("2020-01", periods=4, freq="M")), "2020-01 2020-02 2020-03 2020-04"),
        (with_note(pd.DataFrame, pd.cut([1, 2, 3, 9], [0, 2, 5])), "(0.0,2.0] (0.0,2.0] (2.0,5.0] -"),
        (with_note(pd.DataFrame, pd.array([1, None, 2, 3], dtype="Int64")), "1 - 2 3"),
        (with_note(pd.DataFrame, [1.0, float("nan"), 2.5, None]), "1.0 - 2.5 -"),
        (with_note(pd.DataFrame, [Decimal("1.50"), None, Decimal("2"), Decimal("-3.1")]), "1.50 - 2.00 -3.10"),
        (with_note(pl.DataFrame, pl.Series(["a", "b", "a", None], dtype=pl.Enum(["b", "a"]))), "a b a -"),
        (with_note(pl.DataFrame, pl.Series(["a", "b", "a", None], dtype=pl.Categorical)), "a b a -"),
        (with_note(pl.DataFrame, [1.0, float("nan"), 2.5, None]), "1.0 nan 2.5 -"),
        (with_note(pa.table, pa.array(["a", "b", "a", None]).dictionary_encode()), "a b a -"),
        (Capsules(with_note(pa.table, ["a", "b", "a", None])), "a b a -"),
        (duckdb.sql("SELECT * FROM (VALUES (20, 'a'), (20, 'b'), (30, 'a'), (30, NULL)) t(age, note)"), "a b a -"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)
def test_columns_of_many_kinds_are_read_as_their_owners_see_them(frame, notes):
    release = sfumato.anonymize(frame, "k-anonymity k=2", quasi=["age"], neutral=["note"])
    texts = release.to_arrow()["note"].cast(pa.string()).to_pylist()
    plain = ["-" if text is None else text.replace(" ", "") for text in texts]
    expected = notes.split()
    same = [float(each) if re.fullmatch(r"-?[0-9.]+", each) else each for each in plain]
    assert Counter(map(str, same)) == Counter(
        str(float(each)) if re.fullmatch(r"-?[0-9.]+", each) else each for each in expected
    )


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (with_note(pd.DataFrame, [None, 1, "b", 2.5]), r"'note' holds .*int \(row 2\) and str \(row 3\).*astype"),
        (with_note(pd.DataFrame, [dt.date(2020, 1, 1), "x", "x", "x"]), r"'note' .*date \(row 1\) and str \(row 2\)"),
        (with_note(pd.DataFrame, [2**70, 1, 2, 3]), r"'note' \(object\) cannot be read .*astype.* or leave it out"),
        (with_note(pd.DataFrame, [1j] * 4), r"'note' \(complex128\) cannot be read"),
        (with_note(pd.DataFrame, [Decimal("1" * 45)] * 4), "'note' holds decimals of 45 digits.*write them as text"),
        (with_note(pl.DataFrame, [object()] * 4), r"'note' holds objects of Python.*cast"),
        (with_note(pl.DataFrame, pl.Series([1, 2, 3, 4], dtype=pl.Int128)), r"'note' is of the type Int128.*cast"),
        (with_note(pd.DataFrame, [b"a", b"b", b"c", b"d"]), r"neutral column 'note' holds bytes.*texts or numbers"),
        (pd.DataFrame({"age": [[1], [2]], "note": [1, 2]}), r"quasi column 'age' holds lists .*\(BIGINT\[\]\)"),
        (pl.DataFrame({"age": [{"a": 1}, {"a": 2}], "note": [1, 2]}), "quasi column 'age' holds lists or records"),
        (pd.DataFrame([[1, 2, 3]], columns=["age", "age", "note"]), r"'age' appears twice.*\(columns=\[...\]\)"),
        (pa.table([[1], [2], [3]], names=["age", "age", "note"]), r"'age' appears twice.*\(columns=\[...\]\)"),
        (pd.DataFrame([[1, 2]], columns=[("age", "x"), ("note", "y")]), "there is no column 'age'"),
        (
            pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("age", "x"), ("age", "y")])),
            "names of its columns have 2 levels.*join",
        ),
        (pd.DataFrame({"age": [1, 2]})["age"], r"pandas Series: it is one column; .*to_frame\(\)"),
        (pl.DataFrame({"age": [1, 2]})["age"], r"polars Series: it is one column; .*to_frame\(\)"),
        (pl.DataFrame({"age": [1, 2]}).lazy(), r"polars LazyFrame: .*collect\(\)"),
        ({"age": [1, 2]}, "dict is neither a path nor a frame.*pandas, polars, pyarrow"),
        (pl.DataFrame({"age": [1.0, float("nan")], "note": ["a", "b"]}), "column 'age', row 2.*'nan' is not a finite"),
    ],
)
def test_what_cannot_be_read_is_told_by_column_with_what_to_do(frame, says):
    with pytest.raises(BadInputError, match=says) as error:
        sfumato.read(frame, quasi=["age"], neutral=["note"])
    assert "\n" not in str(error.value)


def test_names_can_be_given_where_a_frame_has_one_twice():
    frame = pd.DataFrame([[1, 2, "x"], [1, 3, "y"]], columns=["age", "age", "note"])
    release = sfumato.anonymize(
        frame, "k-anonymity k=2", quasi=["age"], neutral=["height"], columns=["age", "height", "note"]
    )
    assert sorted(release.frame()["height"]) == [2, 3]
    with pytest.raises(BadInputError, match=r"2 names are given \(columns=\[...\]\) for 3 columns"):
        sfumato.read(frame, quasi=["a"], columns=["a", "b"])


@pytest.mark.parametrize(("zone", "told"), [("Europe/Berlin", True), ("UTC", False), (None, False)])
def test_a_time_zone_that_can_shift_a_day_is_told(zone, told):
    times = pd.to_datetime(["2020-01-01 00:30"] * 2).tz_localize(zone)
    notices = sfumato.read(pd.DataFrame({"age": [1, 1], "born": times}), quasi=["age"]).notices
    assert any("'born' (Europe/Berlin) are read in UTC" in notice for notice in notices) == told


def test_the_type_object_columns_of_polars_never_publish_where_they_lie_in_memory():
    """They did: Arrow is handed the addresses of the objects."""
    frame = pl.DataFrame({"age": [1, 1], "who": pl.Series([object(), object()], dtype=pl.Object)})
    with pytest.raises(BadInputError, match="'who' holds objects of Python"):
        sfumato.read(frame, quasi=["age"])


def test_a_frame_of_a_kind_that_is_not_installed_is_told(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    release = sfumato.anonymize(pd.DataFrame(SMALL), "k-anonymity k=2", quasi=["age"])
    with pytest.raises(BadInputError, match=r"to_polars needs polars: pip install polars, or take to_arrow\(\)"):
        release.to_polars()


# ---------------------------------------------------------------- the page on Python

PAGE = Path(__file__).resolve().parent.parent / "docs" / "start" / "python.md"


def test_what_the_page_on_python_says_comes_out_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = re.sub("^```.*$", "", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    page = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    failed = doctest.DocTestRunner().run(page).failed
    assert failed == 0 and len(page.examples) > 80, capsys.readouterr().out


def test_every_public_name_stands_in_an_example_of_that_page():
    code = "\n".join(re.findall(r"^(?:>>>|\.\.\.) (.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert [name for name in sfumato.__all__ if not re.search(rf"sfumato\.{name}\b", code)] == []
