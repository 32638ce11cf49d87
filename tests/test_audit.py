"""The audit reads a published file and says of it what the definitions say, whoever made it."""

import csv
import json
import math
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import independent_checker as checker
import sfumato
from command_line import told
from sfumato.auditing.coverage import match
from sfumato.auditing.notation import Notation, ValueDomain, leaves_covered
from sfumato.auditing.published_file import TextColumn, number_combinations
from strategies import tries
from test_proof import (
    HIERARCHIES,
    ILL_TABLE,
    MAKERS,
    ORDERS,
    QUASI,
    frame,
    interesting,
    job_values,
    level_tables,
    requirements,
    rows,
    table_of,
    texts,
)


def write(path, lines, delimiter=","):
    """Write rows (dicts of text) as a delimited file."""
    with Path(path).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter=delimiter)
        writer.writerow(lines[0])
        writer.writerows([line[name] or "" for name in lines[0]] for line in lines)
    return Path(path)


def records(columns, *lines):
    """Write rows as one text each: `21 flu`."""
    return [dict(zip(columns.split(), line.split(), strict=True)) for line in lines]


def released(lines, requirement, maker="mondrian", form="generalization", suppress=0.0, **roles):
    """Make a release, or None where the requirement cannot be met or does not fit the maker."""
    try:
        return sfumato.anonymize(table_of(lines, **roles), requirement, maker, form, suppress)
    except sfumato.SfumatoError:
        return None


# ---------------------------------------------------------------- the same numbers as two others


@tries(15)
@given(
    lines=rows(least=2).filter(interesting),
    requirement=requirements("ill"),
    form=st.sampled_from(["generalization", "bucketization"]),
    maker=st.sampled_from(MAKERS),
    suppress=st.sampled_from([0, 0, 0.1, 0.5]),
)
def test_audit_equals_the_tools_measures_and_the_independent_checker(lines, requirement, form, maker, suppress):
    release = released(lines, requirement, maker, form, suppress)
    if release is None:
        return
    group = "group" if form == "bucketization" else None
    with tempfile.TemporaryDirectory() as folder:
        path = release.to_csv(Path(folder) / "release.csv")[0]
        original = write(Path(folder) / "original.csv", lines)
        about = {"quasi": QUASI, "sensitive": ["ill"], "group": group, "suppressed": "keep"}
        found = sfumato.audit(path, **about, original=release.table, require=requirement)
        assert found.holds and found.coverage.uncovered == 0
        assert found.groups == release.groups and found.records == release.assignment.records
        expected = sfumato.measure(release).values
        assert set(found.measures) == set(expected)
        for name, value in expected.items():
            assert found[name] == pytest.approx(value, abs=1e-9), name
        plain = {"original": texts(lines, release.table.published), "orders": ORDERS}
        by_hand = checker.measures(
            path, quasi=QUASI, sensitive="ill", group=group, level_tables={"ill": ILL_TABLE}, **plain
        )
        for name, value in by_hand.items():
            assert found[name] == pytest.approx(value, abs=1e-9), name
        again = sfumato.audit(path, **about, original=original, hierarchies=HIERARCHIES, require=requirement)
        assert again.holds
        assert {name: value for name, value in again.measures.items() if "loss" not in name} == {
            name: value for name, value in found.measures.items() if "loss" not in name
        }


@tries(15)
@given(lines=rows(least=2).filter(interesting), form=st.sampled_from(["generalization", "bucketization"]))
def test_without_the_original_q_is_that_of_the_file(lines, form):
    release = released(lines, "k-anonymity k=2", form=form, suppress=0.5)
    if release is None:
        return
    group = "group" if form == "bucketization" else None
    with tempfile.TemporaryDirectory() as folder:
        path = release.to_csv(Path(folder) / "release.csv")[0]
        found = sfumato.audit(path, QUASI, ["ill"], group=group, suppressed="keep", hierarchies=HIERARCHIES)
        about = {"quasi": QUASI, "sensitive": "ill", "group": group, "orders": ORDERS}
        by_hand = checker.measures(path, original=checker.read_rows(path), level_tables={"ill": ILL_TABLE}, **about)
    assert found.relative_to == "the file" and "loss" not in found.measures and found.coverage is None
    untold = {"suppressed", "discernibility"}  # what a file lacks, nobody sees in it
    assert not untold & set(found.measures)
    for name in set(by_hand) - untold:
        assert found[name] == pytest.approx(by_hand[name], abs=1e-9), name


@tries(30)
@given(lines=rows(least=1), requirement=requirements("ill"))
def test_the_gate_finds_the_groups_that_the_checker_finds(lines, requirement):
    """The table itself, published as it is: most requirements fail, and in as many groups as the checker says."""
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "table.csv", lines)
        found = sfumato.audit(path, QUASI, ["ill"], require=requirement, hierarchies={"ill": HIERARCHIES["ill"]})
        about = {"quasi": QUASI, "sensitive": ["ill"], "original": checker.read_rows(path)}
        for part in requirement.split(" & "):
            broken = checker.violations(path, part, orders=ORDERS, level_tables={"ill": ILL_TABLE}, **about)
            groups = {fault.split("] of ")[0] for fault in broken}
            failing = [failure for failure in found.failures if failure.requirement == str(sfumato.requirement(part))]
            assert {failure.groups for failure in failing} == ({len(groups)} if groups else set())
            assert all(failure.of == found.groups and failure.records >= failure.groups for failure in failing)
        assert found.holds == (not found.failures)


@tries(12)
@given(lines=rows(least=3).filter(job_values))
def test_several_sensitive_attributes_are_told_apart_and_the_worst_counts(lines):
    release = released(lines, "k-anonymity k=2", sensitive=["ill", "job"])
    if release is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = release.to_csv(Path(folder) / "release.csv")[0]
        found = sfumato.audit(path, QUASI, ["ill", "job"], original=release.table, suppressed="keep")
    expected = sfumato.measure(release)
    assert found.by_sensitive.keys() == expected.by_sensitive.keys()
    for column, own in expected.by_sensitive.items():
        for name, value in own.items():
            assert found.by_sensitive[column][name] == pytest.approx(value, abs=1e-9), (column, name)
    for name, value in expected.values.items():
        assert found[name] == pytest.approx(value, abs=1e-9), name


def test_automatic_hierarchies_have_the_same_loss(tmp_path):
    generator = np.random.default_rng(3)
    n = 300
    table = sfumato.read(
        pa.table(
            {
                "age": generator.integers(17, 90, n),
                "weight": generator.integers(400, 1200, n) / 10,
                "born": [f"19{generator.integers(10, 99)}-0{generator.integers(1, 9)}-1{i % 10}" for i in range(n)],
                "zip": [f"{generator.integers(80000, 80400)}" for _ in range(n)],
                "s": [f"v{i % 4}" for i in range(n)],
            }
        ),
        quasi=["age", "weight", "born", "zip"],
        sensitive=["s"],
    )
    for maker in ("mondrian", "mondrian ranges=node", "mondrian mode=relaxed", "full-domain"):
        release = sfumato.anonymize(table, "k-anonymity k=4", maker, suppress=0.1)
        path = release.to_csv(tmp_path / "out.csv", force=True)[0]
        found = sfumato.audit(path, table.roles.quasi, ["s"], original=table, suppressed="keep")
        expected = sfumato.measure(release).values
        assert found.coverage.holds and found.coverage.exact
        for name, value in expected.items():
            assert found[name] == pytest.approx(value, abs=1e-9), (maker, name)


def test_several_thousand_groups_of_adult_agree_with_the_tool_in_every_form(tmp_path):
    table = sfumato.load("adult-train")
    for form, maker in (
        ("generalization", "mondrian"),
        ("bucketization", "mondrian"),
        ("generalization", "full-domain"),
    ):
        release = sfumato.anonymize(table, "k-anonymity k=5", maker, form)
        path = tmp_path / "out.parquet"
        release.to_parquet(path, force=True)
        group = "group" if form == "bucketization" else None
        found = sfumato.audit(path, table.roles.quasi, ["occupation"], "adult-train", group, suppressed="keep")
        assert found.coverage.holds
        for name, value in sfumato.measure(release).values.items():
            assert found[name] == pytest.approx(value, abs=1e-9), (form, maker, name)


def test_dropped_records_are_no_part_of_the_original(tmp_path):
    lines = [*records("age ill", "3 flu", "4 flu", "5 none", "6 none"), {"age": None, "ill": "stroke"}]
    table = sfumato.read(frame(lines), quasi=["age"], sensitive=["ill"], missing="drop")
    release = sfumato.anonymize(table, "k-anonymity k=2")
    path = release.to_csv(tmp_path / "out.csv")[0]
    found = sfumato.audit(path, "age", "ill", original=table)
    assert found["suppressed"] == 0 and found["delta"] == sfumato.measure(release)["delta"]
    assert sfumato.audit(path, "age", "ill", original=write(tmp_path / "o.csv", lines))["suppressed"] == 1


def test_sensitive_stretches_are_compared_by_their_leaves(tmp_path):
    """Ages 20 to 24 are published as `20-24`; the original has single years."""
    lines = [{"q": "ab"[i % 2], "age": str(20 + i)} for i in range(20)]
    hierarchies = {"age": {"type": "numeric", "lower": 20, "upper": 39, "resolution": 5}}
    table = sfumato.read(frame(lines), quasi=["q"], sensitive=["age"], hierarchies=hierarchies)
    release = sfumato.anonymize(table, "k-anonymity k=2")
    path = release.to_csv(tmp_path / "out.csv")[0]
    original = write(tmp_path / "o.csv", lines)
    found = sfumato.audit(path, ["q"], ["age"], original=original, hierarchies=hierarchies)
    assert found.coverage.holds and found["l_distinct"] == 4
    for name, value in sfumato.measure(release).values.items():
        assert found[name] == pytest.approx(value, abs=1e-9), name


# ---------------------------------------------------------------- wrong files are caught


@tries(25)
@given(
    lines=rows(least=2, most=20).filter(interesting),
    form=st.sampled_from(["generalization", "bucketization"]),
    mode=st.sampled_from(["mondrian", "mondrian mode=relaxed", "full-domain"]),
    data=st.data(),
)
def test_a_changed_file_is_covered_only_if_the_checker_finds_a_matching(lines, form, mode, data):
    release = released(lines, "k-anonymity k=2", mode, form)
    if release is None:
        return
    group = "group" if form == "bucketization" else None
    with tempfile.TemporaryDirectory() as folder:
        path = release.to_csv(Path(folder) / "release.csv")[0]
        written = checker.read_rows(path)
        row = data.draw(st.sampled_from(written))
        column = data.draw(st.sampled_from([*QUASI, "ill", "note"]))
        shown = {line[column] for line in written}
        more = {"*", "0-3", "{red, ?}"} if form == "generalization" else set()  # in buckets all values are exact
        row[column] = data.draw(st.sampled_from(sorted(shown | more)))
        if row["ill"] not in ORDERS["ill"]:
            return
        write(path, written)
        about = {"quasi": QUASI, "group": group}
        found = sfumato.audit(path, sensitive=["ill"], original=release.table, suppressed="keep", **about)
        expected = checker.uncovered(
            path,
            original=texts(lines, release.table.published),
            level_tables=level_tables(lines),
            numeric=["age"],
            sensitive=["ill"],
            **about,
        )
        assert found.coverage.holds == (expected == []) == found.holds
        if form == "generalization":
            assert found.coverage.uncovered == sum(int(fault.split()[0]) for fault in expected)


def test_a_value_that_does_not_cover_is_named(tmp_path):
    original = write(tmp_path / "o.csv", records("age ill", "21 flu", "22 gout", "31 flu", "32 none"))
    lines = records("age ill", "20-29 flu", "20-29 gout", "30-39 flu", "30-39 none")
    good = write(tmp_path / "good.csv", lines)
    assert sfumato.audit(good, "age", "ill", original=original).coverage.holds
    wrong = write(tmp_path / "wrong.csv", [*lines[:3], {"age": "40-49", "ill": "none"}])
    found = sfumato.audit(wrong, "age", "ill", original=original)
    assert found.coverage.uncovered == 1 and found.coverage.exact and not found.holds
    assert found.coverage.examples == ("1 row of 1 with age '40-49', ill 'none'",)
    exchanged = write(tmp_path / "e.csv", [*lines[:3], {"age": "30-39", "ill": "gout"}])
    assert sfumato.audit(exchanged, "age", "ill", original=original).coverage.uncovered == 1
    code, said = told("audit", exchanged, "--quasi", "age", "--sensitive", "ill", "--original", original)
    assert code == 1 and "NOT COVERED: 1 row cannot come from this original" in said
    repeated = write(tmp_path / "r.csv", [*lines, lines[0]])
    found = sfumato.audit(repeated, "age", "ill", original=original)
    assert found.coverage.uncovered == 1 and found["suppressed"] == 0


def test_labels_of_a_hierarchy_that_was_not_given_are_named(tmp_path):
    original = write(tmp_path / "o.csv", records("job ill", "baker flu", "smith gout", "nurse flu", "nurse cold"))
    path = write(tmp_path / "p.csv", records("job ill", "crafts flu", "crafts gout", "nurse flu", "nurse cold"))
    found = sfumato.audit(path, "job", "ill", original=original)
    assert found.coverage.uncovered == 2 and found["loss"] == 0.5
    assert any("'crafts' cover no value of the original; if these are labels" in notice for notice in found.notices)
    tree = {"job": [["crafts", "baker", "smith"], "nurse"]}
    found = sfumato.audit(path, "job", "ill", original=original, hierarchies=tree)
    assert found.holds and found["loss"] == pytest.approx(2 * (2 / 3 - 1 / 3) / (1 - 1 / 3) / 4)


def test_overlapping_boxes_need_the_whole_matching(tmp_path):
    """Each row alone covers two records, but three rows share two of them: Hall's condition fails for the three."""
    original = write(tmp_path / "o.csv", [{"q": q} for q in "1234"])
    boxes = [{"q": "1-2"}, {"q": "2-3"}, {"q": "1-2"}]
    assert sfumato.audit(write(tmp_path / "a.csv", boxes), "q", original=original).coverage.holds
    found = sfumato.audit(write(tmp_path / "b.csv", [*boxes, {"q": "1-3"}]), "q", original=original)
    assert found.coverage.uncovered == 1 and found.coverage.exact


@tries(60)
@given(
    wanted=st.lists(st.integers(0, 4), min_size=1, max_size=5),
    room=st.lists(st.integers(0, 4), min_size=1, max_size=5),
    data=st.data(),
)
def test_matching_is_a_maximum_flow(wanted, room, data):
    capacity = st.integers(1, 3)
    reach = {
        i: data.draw(st.dictionaries(st.integers(0, len(room) - 1), capacity, max_size=len(room)))
        for i in range(len(wanted))
    }
    lacking = match(dict(enumerate(wanted)), dict(enumerate(room)), reach)
    expected = checker.left_over(dict(enumerate(wanted)), dict(enumerate(room)), reach)
    assert sum(lacking.values()) == sum(expected.values())


# ---------------------------------------------------------------- notations


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("*", ["1", "", "x"], []),
        ("", [""], ["1", "?"]),
        ("39", ["39", "39.0"], ["38", ""]),
        ("20-29", ["20", "24.5", "29"], ["19", "30", "-25", ""]),
        ("-5..-1", ["-5", "-1"], ["0", "-6", "5"]),
        ("1.5..<2.5", ["1.5", "2.49"], ["2.5", "1.4"]),
        ("[20, 30[", ["20", "29.9"], ["30", "19"]),
        ("[20,30)", ["20", "29"], ["30"]),
        ("(20, 30]", ["21", "30"], ["20", "31"]),
        ("]20; 30]", ["21", "30"], ["20"]),
        ("[-inf, 3[", ["-999", "2"], ["3"]),
        (">=90", ["90", "120"], ["89"]),
        ("> 90", ["91"], ["90"]),
        ("<18", ["17", "-3"], ["18"]),
        ("<=18", ["18"], ["19"]),
        ("90+", ["90", "1000"], ["89"]),
        ("2020-01-01..2020-12-31", ["2020-01-01", "2020-06-05 10:00"], ["2021-01-01", "2020"]),
        ("[2020-01-01, 2020-02-01[", ["2020-01-31"], ["2020-02-01"]),
        ("2020-12", ["2020-12-31"], ["2021-01-01", "2020-11-30"]),
        ("2020", ["2020", "2020-02-29"], ["2021-01-01"]),
        ("2020-2029", ["2025", "2029-12-31"], ["2030-01-01"]),
        ("{a, b}", ["a", "b"], ["c", "{a, b}", ""]),
        ('{a, "b, c", ?}', ["a", "b, c", ""], ["b", "?"]),
        ("{Civil servant (A), Self-employed; farm}", ["Self-employed; farm"], ["farm"]),
        ("{a{1}, b}", ["a{1}", "b"], ["a"]),
        ("{18, 20-29}", ["18", "25"], ["19"]),
        ("816**", ["81667", "8160"], ["81767", "816678", "81"]),
        ("9*", ["90", "99", "9"], ["89", "100"]),
        ("**67", ["8167"], ["8176"]),
        ("a - b", ["a - b"], ["a"]),
        ("1e3", ["1000"], ["1"]),
    ],
)
def test_notations_cover_what_they_say(text, inside, outside):
    covered = ValueDomain((*inside, *outside)).covered(Notation().read(text))
    assert covered.tolist() == [True] * len(inside) + [False] * len(outside)


def test_labels_come_before_values_and_values_before_notations():
    odd = sfumato.tree([["20-29", "a", "b"], "c"])
    assert ValueDomain(("a", "b", "c", "25")).covered(Notation(odd).read("20-29")).tolist() == [
        True,
        True,
        False,
        False,
    ]
    assert ValueDomain(("20-29", "25")).covered(Notation(None, {"20-29"}).read("20-29")).tolist() == [True, False]
    years = sfumato.numeric(0, 99, 10, continuous=True)
    assert ValueDomain(("9.9", "10")).covered(Notation(years).read(years.leaves[0])).tolist() == [True, False]


@st.composite
def written_stretches(draw):
    low, width = draw(st.integers(-6, 6)), draw(st.integers(0, 5))
    high = low + width
    kinds = [
        f"{low}..{high}",
        f"[{low}, {high}]",
        f"[{low}, {high + 1}[",
        f"({low - 1}, {high}]",
        f">={low}",
        f"<{high}",
    ]
    return draw(st.sampled_from([*kinds, f"{{{low}, {high}}}", f"{low}", "*", f"{low}+"]))


@tries(200)
@given(a=written_stretches(), b=written_stretches())
def test_texts_meet_where_they_cover_a_value_together(a, b):
    tenths = ValueDomain(tuple(f"{n / 10:g}" for n in range(-150, 151)))
    mine, theirs = Notation().read(a), Notation().read(b)
    assert mine.meets(theirs) == theirs.meets(mine) == bool((tenths.covered(mine) & tenths.covered(theirs)).any())


def test_masks_sets_and_missing_values_meet():
    def meet(a, b):
        return Notation().read(a).meets(Notation().read(b))

    assert meet("816**", "81***") and meet("816**", "81667") and not meet("816**", "82***")
    assert meet("{a, ?}", "") and not meet("{a, b}", "") and meet("*", "") and not meet("{a, b}", "{c, d}")
    assert meet("2020-03", "2020") and not meet("2020-03", "2021-01-01..2021-12-31")


@tries(60)
@given(data=st.data(), kind=st.sampled_from(["numbers", "continuous", "open", "tree", "dates", "prefixes"]))
def test_every_text_a_hierarchy_writes_covers_just_its_leaves(data, kind):
    hierarchy = {
        "numbers": sfumato.numeric(-3, 12, 1, intervals=[2, 4]),
        "continuous": sfumato.numeric(0, 5, 0.5, continuous=True),
        "open": sfumato.numeric(10, 90, 5, open_below=20, open_above=80),
        "tree": sfumato.tree([["x", "a", "b, c", "?"], ["y", "{d}", "e"], "f"]),
        "dates": sfumato.dates("2019-12-20", "2020-01-15"),
        "prefixes": sfumato.prefixes(["81667", "81675", "81925", "8166"]),
    }[kind].with_missing()
    lo = data.draw(st.integers(0, hierarchy.size - 1))
    hi = data.draw(st.integers(lo, hierarchy.size - 1))
    covered = leaves_covered(hierarchy, Notation(hierarchy).read(hierarchy.text(lo, hi)))
    assert np.flatnonzero(covered).tolist() == list(range(lo, hi + 1))


# ---------------------------------------------------------------- files of other tools


ARX = """age;sex;zip;disease
[20, 30[;male;816**;flu
[20, 30[;male;816**;gout
>=60;{female, male};*;flu
>=60;{female, male};*;cold
>=60;{female, male};*;cold
*;*;*;flu
"""


def test_a_file_of_arx_with_suppressed_records(tmp_path):
    path = tmp_path / "arx.csv"
    path.write_text(ARX)
    original = write(
        tmp_path / "o.csv",
        records(
            "age sex zip disease",
            "21 male 81667 flu",
            "29 male 81601 gout",
            "61 male 81000 flu",
            "62 female 81111 cold",
            "90 female 81999 cold",
            "45 male 81777 flu",
        ),
    )
    quasi = ["age", "sex", "zip"]
    found = sfumato.audit(path, quasi, "disease", original=original)
    assert (found.records, found.groups, found["k"], found["suppressed"]) == (5, 2, 2, 1)
    assert found["l_frequency"] == 1.5 and found["l_distinct"] == 2
    assert found["t_equal"] == pytest.approx(max(1 / 2 - 1 / 6, 2 / 3 - 2 / 6))
    assert found["prosecutor"] == 0.5 and found["marketer"] == 2 / 5
    assert found["discernibility"] == 4 + 9 + 1 * 6
    assert found.coverage.holds and found.coverage.exact
    assert "rows with * in all quasi-identifiers (1 of 6) were taken for suppressed records" in found.notices[0]
    kept = sfumato.audit(path, quasi, "disease", original=original, suppressed="keep")
    assert kept["k"] == 1 and kept.groups == 3 and kept["suppressed"] == 0
    alone = sfumato.audit(path, quasi, "disease")
    assert alone["suppressed"] == 1 and alone["t_equal"] == pytest.approx((1 / 10 + 3 / 10 + 2 / 5) / 2)


def test_a_file_alone_does_not_tell_how_many_records_it_lacks(tmp_path):
    original = write(tmp_path / "o.csv", records("q s", "1 a", "1 b", "9 a"))
    path = write(tmp_path / "p.csv", records("q s", "1 a", "1 b"))
    alone, both = sfumato.audit(path, ["q"], "s"), sfumato.audit(path, ["q"], "s", original=original)
    assert not {"suppressed", "discernibility"} & set(alone.measures)
    assert both["suppressed"] == 1 and both["discernibility"] == 4 + 3


def test_values_of_suppressed_rows_alone_are_no_part_of_the_file(tmp_path):
    path = write(tmp_path / "a.csv", records("q r s", "1 1 a", "1 1 b", "* * z"))
    found = sfumato.audit(path, ["q", "r"], "s")
    assert found["delta"] == 0 and found["t_ordered"] == 0 and not any("'z'" in notice for notice in found.notices)


def test_many_texts_of_a_parquet_column_are_counted_like_few(tmp_path):
    n = 60_000
    table = pa.table({"id": [str(i % 30_000) for i in range(n)], "q": [["a", None][i % 2] for i in range(n)]})
    pq.write_table(table, tmp_path / "a.parquet")
    found = sfumato.audit(tmp_path / "a.parquet", ["id", "q"])
    assert found["k"] == 2 and found.groups == 30_000 and found.records == n
    assert sfumato.audit(tmp_path / "a.parquet", ["q"], "id")["l_distinct"] == 15_000


def test_blanks_that_a_published_set_shows_are_left_in_the_original(tmp_path):
    original = write(tmp_path / "original.csv", [{"q": " b ", "s": "1"}, {"q": "c", "s": "2"}])
    path = write(tmp_path / "a.csv", [{"q": '{" b ", c}', "s": "1"}, {"q": '{" b ", c}', "s": "2"}])
    assert sfumato.audit(path, ["q"], "s", original=original).holds


def test_rows_of_stars_alone_are_one_group(tmp_path):
    path = write(tmp_path / "a.csv", records("q r s", "* * a", "* * b"))
    found = sfumato.audit(path, ["q", "r"], "s")
    assert found["k"] == 2 and "suppressed" not in found.measures and "one group" in found.notices[0]
    with pytest.raises(sfumato.BadInputError, match="--suppressed keep"):
        sfumato.audit(path, ["q", "r"], "s", suppressed="leave-out")


def test_a_missing_quasi_identifier_is_a_value(tmp_path):
    # pycanon leaves such rows out and reports k = 2
    path = tmp_path / "a.csv"
    path.write_text("age,zip,s\n20,1,a\n20,1,b\n,1,a\n")
    found = sfumato.audit(path, ["age", "zip"], "s")
    assert found["k"] == 1 and found.records == 3 and found.worst[0].shows == {"age": "", "zip": "1"}


def test_recursive_diversity_and_absent_values_by_the_definition(tmp_path):
    # pycanon sorts the counts the wrong way round, and skips absent values in delta
    lines = [{"q": "1", "s": s} for s in "aaaaab"] + [{"q": "2", "s": s} for s in "abc"]
    path = write(tmp_path / "a.csv", lines)
    found = sfumato.audit(path, "q", "s", require="l-diversity l=2 variant=recursive c=3")
    assert found["l_recursive"] == 1 and found["delta"] == math.inf  # 5 < 3 * 6, not 5 < 3 * 1
    assert found.failures[0].groups == 1 and found.failures[0].achieved == "l=2 above c=5"
    assert json.loads(found.to_json())["measures"]["delta"] == "inf"
    assert sfumato.audit(path, "q", "s", require="l-diversity l=2 variant=recursive c=5.1").holds


def test_parquet_of_numbers_and_nulls_is_read_as_text(tmp_path):
    path = tmp_path / "a.parquet"
    table = {"q": pa.array([1, 1, None, None]), "w": pa.array(["", "", None, ""]), "s": pa.array([0.5, 2, 10, 2])}
    pq.write_table(pa.table(table), path)
    found = sfumato.audit(path, ["q", "w"], "s")
    assert found["k"] == 1 and found.groups == 3  # NULL and the empty text of w are two values to a reader of the file
    assert found["t_ordered"] == pytest.approx(
        0.5
    )  # 0.5, 2.0, 10.0 as numbers: the group of 10 alone differs by .25 and .75
    assert any("as numbers" in notice for notice in found.notices)


def test_combinations_with_huge_domains_are_numbered():
    generator = np.random.default_rng(5)
    columns = [TextColumn(tuple(map(str, range(100_000))), generator.integers(0, 3, 1000)) for _ in range(6)]
    first, number = number_combinations(columns, 1000)
    keys = list(zip(*(column.codes.tolist() for column in columns), strict=True))
    assert len(first) == len(set(keys))
    assert all(keys[first[n]] == key for n, key in zip(number.tolist(), keys, strict=True))


# ---------------------------------------------------------------- worst groups, gate, command


USUAL = ["--quasi", "age,zip", "--sensitive", "ill"]
PATIENTS = records(
    "age zip ill", "20-29 1* flu", "20-29 1* flu", "20-29 1* gout", "30-39 1* flu", "30-39 1* flu", "40-49 2* cold",
    "40-49 2* cold", "40-49 2* gout", "40-49 2* flu",
)  # fmt: skip


def test_worst_groups_are_shown_with_their_texts(tmp_path):
    found = sfumato.audit(write(tmp_path / "a.csv", PATIENTS), ["age", "zip"], "ill")
    first = {}
    for group in found.worst:
        first.setdefault(group.why, group)
    assert first["smallest"].shows == {"age": "30-39", "zip": "1*"} and first["smallest"].size == 2
    assert first["least diverse"].dominant == "flu" and first["least diverse"].share == 1
    assert first["farthest from Q"].measures["t_js"] == found["p_loss"]


@pytest.mark.parametrize(
    ("requirement", "groups", "achieved"),
    [
        ("k-anonymity k=3", 1, "k=2"),
        ("l-diversity l=2 variant=distinct", 1, "l=1"),
        ("l-diversity l=1.6 variant=frequency", 2, "l=1"),
        ("t-closeness t=0.4 distance=equal", 1, "t=0.445"),
        ("alpha-k alpha=0.7 k=2", 1, "k=2, alpha=1"),
        ("beta-likeness beta=0.5 variant=basic", 2, "beta=1.25"),
        ("delta-disclosure delta=1", 2, "a value is absent from a group, which makes delta infinite"),
    ],
)
def test_the_gate_says_what_fails_where_and_what_holds_instead(tmp_path, requirement, groups, achieved):
    path = write(tmp_path / "a.csv", PATIENTS)
    code, said = told("audit", path, *USUAL, "--require", requirement)
    assert code == 1 and f"does not hold in {groups} of 3 groups" in said and f"achieves: {achieved}." in said
    failure = sfumato.audit(path, ["age", "zip"], "ill", require=requirement).failures[0]
    assert (failure.groups, failure.achieved) == (groups, achieved)
    assert set(failure.worst) == {"age", "zip"}


def test_what_is_achieved_holds(tmp_path):
    path = write(tmp_path / "a.csv", PATIENTS)
    holding = ["k-anonymity k=2", "t-closeness t=0.445 distance=equal", "beta-likeness beta=1.25 variant=basic"]
    code, said = told(
        "audit", path, "--quasi", "age,zip", "--sensitive", "ill", "--require", holding[0], "--require", holding[1]
    )
    assert code == 0 and "Every group satisfies" in said
    assert all(sfumato.audit(path, ["age", "zip"], "ill", require=one).holds for one in holding)


def test_a_bucketized_file_does_not_hide_who_is_in_it(tmp_path):
    path = write(tmp_path / "b.csv", records("age ill group", "20 flu 1", "21 gout 1", "22 flu 2", "23 cold 2"))
    found = sfumato.audit(path, "age", "ill", group="group", require="k-anonymity k=2")
    assert found["k"] == 1 and found["smallest_group"] == 2 and found["prosecutor"] == 1 and found.holds
    code, said = told("audit", path, "--quasi", "age", "--sensitive", "ill", "--group", "group")
    assert code == 0 and "WARNING: the exact quasi-identifiers ARE in this file" in said


def test_json_has_the_names_of_the_design(tmp_path):
    path = write(tmp_path / "a.csv", PATIENTS)
    code, said = told(
        "audit", path, "--quasi", "age,zip", "--sensitive", "ill", "--json", "--require", "k-anonymity k=3"
    )
    content = json.loads(said)
    assert code == 1 and content["schema"] == 1 and content["holds"] is False
    assert set(content["measures"]) <= set(sfumato.MEASURES)
    assert {"k", "l_frequency", "t_js", "delta", "beta", "prosecutor", "marketer"} <= set(content["measures"])
    assert content["failures"][0]["achieved"] == "k=2" and content["relative_to"] == "the file"


# ---------------------------------------------------------------- repeated releases


EARLIER = records("age ill", "20-29 flu", "20-29 gout", "20-29 cold", "30-39 acne", "30-39 acne", "30-39 gout")
LATER = records("age ill", "25-34 gout", "25-34 acne", "20-24 flu", "20-24 cold", "35-39 acne", "35-39 gout")
PEOPLE = records("age ill", "21 flu", "22 cold", "26 gout", "31 acne", "36 acne", "37 gout")


def test_the_intersection_of_two_releases_by_hand(tmp_path):
    """26 is in 20-29 {flu, gout, cold} and in 25-34 {gout, acne}: only gout is in both."""
    earlier, later = write(tmp_path / "e.csv", EARLIER), write(tmp_path / "l.csv", LATER)
    original = write(tmp_path / "o.csv", PEOPLE)
    (both,) = sfumato.audit(later, "age", "ill", earlier=earlier, original=original).repeated
    assert both.exact and both.people == 6 and both.pairs == 4
    # (20-29, 25-34) leaves gout: one person. (30-39, 25-34) leaves gout and acne, as 25-34 alone: nothing new.
    assert (both.single_pairs, both.single_people) == (1, 1)
    assert (both.raised_pairs, both.raised_people, both.raised_groups) == (1, 1, 1)
    assert both.l_frequency == 1 and both.l_distinct == 1 and both.alone["l_frequency"] == 2
    assert both.worst.candidates == {"gout": 1}
    assert (both.worst.earlier, both.worst.later) == ({"age": "20-29"}, {"age": "25-34"})
    q = {"flu": 1 / 6, "cold": 1 / 6, "gout": 2 / 6, "acne": 2 / 6}
    assert both.p_loss == pytest.approx(checker.distance_js(q, {"gout": 1}))
    (guessed,) = sfumato.audit(later, "age", "ill", earlier=earlier).repeated
    assert not guessed.exact and guessed.pairs == 4 and guessed.single_pairs == 1 and guessed.unmatched_groups == 0
    code, said = told("audit", later, "--quasi", "age", "--sensitive", "ill", "--with", earlier, "--original", original)
    assert code == 0 and "1 pair (1 record) make a value more certain" in said and "'gout' (1)" in said


@tries(12)
@given(
    lines=rows(least=4).filter(interesting),
    form=st.sampled_from(["generalization", "bucketization"]),
    makers=st.tuples(*[st.sampled_from(["mondrian", "mondrian mode=relaxed", "full-domain"])] * 2),
)
def test_every_person_is_found_in_both_releases(lines, form, makers):
    """A plain walk over the original's records, each looked up in both files by the checker's reading."""
    both = [released(lines, "k-anonymity k=2", maker, form) for maker in makers]
    if None in both:
        return
    group = "group" if form == "bucketization" else None
    labels = {column: checker.labels_of(table) for column, table in level_tables(lines).items()}
    with tempfile.TemporaryDirectory() as folder:
        paths = [release.to_csv(Path(folder) / f"{i}.csv")[0] for i, release in enumerate(both)]
        about = {"quasi": QUASI, "sensitive": ["ill"], "original": both[1].table, "group": group}
        (found,) = sfumato.audit(paths[1], earlier=paths[0], suppressed="keep", **about).repeated
        files = [checker.read_rows(path) for path in paths]

    def candidates(rows, person):
        fits = [
            row
            for row in rows
            if all(checker.covers(row[c], person[c] or "", labels=labels[c], numeric=c == "age") for c in QUASI)
        ]
        keys = {row[group] if group else tuple(row[c] for c in QUASI) for row in fits}
        own = [row["ill"] for row in rows if (row[group] if group else tuple(row[c] for c in QUASI)) in keys]
        return Counter(own)

    raised = single = 0
    worst = 0.0
    for person in lines:
        sides = [candidates(rows, person) for rows in files]
        left = sides[0] & sides[1]
        share = max(left.values()) / left.total()
        raised += share > max(max(side.values()) / side.total() for side in sides) + 1e-9
        single += len(left) == 1 and min(map(len, sides)) > 1
        worst = max(worst, share)
    assert (found.people, found.raised_people, found.single_people) == (len(lines), raised, single)
    assert found.l_frequency == pytest.approx(1 / worst)


def test_a_person_may_be_in_several_buckets_with_the_same_quasi_identifiers(tmp_path):
    """Ages 20 stand in two buckets: whoever is 20 may be in either, so flu and gout stay possible in both files."""
    earlier = write(tmp_path / "e.csv", records("age ill group", "20 flu 1", "20 flu 1", "20 gout 2", "20 flu 2"))
    later = write(tmp_path / "l.csv", records("age ill group", "20 flu 1", "20 gout 1", "20 flu 1", "20 flu 1"))
    original = write(tmp_path / "o.csv", records("age ill", "20 flu", "20 flu", "20 gout", "20 flu"))
    (both,) = sfumato.audit(later, "age", "ill", earlier=earlier, original=original, group="group").repeated
    assert (both.people, both.pairs, both.raised_people, both.single_people) == (4, 1, 0, 0)
    assert both.l_distinct == 2 and both.l_frequency == pytest.approx(4 / 3)


def test_the_same_release_twice_tells_nothing_new(tmp_path):
    path = write(tmp_path / "e.csv", EARLIER)
    (both,) = sfumato.audit(path, "age", "ill", earlier=path).repeated
    assert both.raised_pairs == both.single_pairs == 0 and both.worst is None
    code, said = told("audit", path, "--quasi", "age", "--sensitive", "ill", "--with", path)
    assert code == 0 and "reveal no more" in said


def test_labels_that_cannot_be_compared_are_said(tmp_path):
    earlier = write(tmp_path / "e.csv", records("job ill", "crafts flu", "crafts gout", "care flu", "care cold"))
    later = write(tmp_path / "l.csv", records("job ill", "baker flu", "smith gout", "nurse flu", "care cold"))
    (both,) = sfumato.audit(later, "job", "ill", earlier=earlier).repeated
    assert both.unmatched_groups == 3
    tree = {"job": [["crafts", "baker", "smith"], ["care", "nurse", "doctor"]]}
    (both,) = sfumato.audit(later, "job", "ill", earlier=earlier, hierarchies=tree).repeated
    assert both.unmatched_groups == 0 and both.pairs == 4


# ---------------------------------------------------------------- bad input


def test_bad_input_is_one_sentence(tmp_path):
    good = write(tmp_path / "a.csv", PATIENTS)
    empty, header = tmp_path / "empty.csv", tmp_path / "header.csv"
    empty.write_text("")
    header.write_text("age,zip,ill\n")
    broken = tmp_path / "broken.parquet"
    broken.write_text("no parquet")
    base = ["--quasi", "age,zip", "--sensitive", "ill"]
    cases = [
        ([good, "--quasi", "age,size"], "no column 'size' (--quasi); the columns are 'age', 'zip', 'ill'"),
        ([good, "--quasi", "age", "--sensitive", "pain"], "no column 'pain' (--sensitive)"),
        ([good, *base, "--group", "bucket"], "no column 'bucket' (--group)"),
        ([good, "--quasi", "age,age"], "named twice"),
        ([good, "--quasi", ""], "no quasi-identifier"),
        ([tmp_path / "none.csv", *base], "there is no such file"),
        ([empty, *base], "the file is empty"),
        ([header, *base], "no row"),
        ([broken, *base], "cannot be read"),
        ([good, *base, "--suppressed", "perhaps"], "suppressed must be one of keep, leave-out"),
        ([good, *base, "--require", "k-anonymity"], "k"),
        ([good, *base, "--require", "l-diversity l=2 variant=distinct on=age"], "not among the sensitive columns"),
        ([good, "--quasi", "age", "--require", "l-diversity l=2 variant=distinct"], "none is named (--sensitive)"),
        ([good, *base, "--require", "t-closeness t=0.2 distance=hierarchical"], "(--hierarchies)"),
        ([good, *base, "--original", tmp_path / "none.csv"], "there is no such file"),
        ([good, *base, "--original", write(tmp_path / "o.csv", [{"x": "1"}])], "in the original"),
        ([good, *base, "--with", write(tmp_path / "e.csv", [{"x": "1"}])], "no quasi-identifier of the later file"),
        ([good, *base, "--hierarchies", tmp_path / "nowhere"], "no such file or folder"),
    ]
    for arguments, expected in cases:
        code, said = told("audit", *arguments)
        assert code == 2 and expected in said and "Traceback" not in said, (arguments, said)


def test_one_sensitive_value_is_said_and_does_not_crash(tmp_path):
    path = write(tmp_path / "a.csv", records("q s", "1 x", "1 x", "2 x"))
    found = sfumato.audit(path, "q", "s", require="t-closeness t=0 distance=ordered")
    assert found.holds and found["t_ordered"] == found["delta"] == found["p_loss"] == 0 and found["l_distinct"] == 1
    assert any("one value only" in notice for notice in found.notices)
    assert sfumato.audit(path, "q")["k"] == 1


def test_a_sensitive_value_that_no_original_record_has(tmp_path):
    original = write(tmp_path / "o.csv", records("q s", "1 a", "1 b", "2 a", "2 b"))
    path = write(tmp_path / "a.csv", records("q s", "1 a", "1 z", "2 a", "2 b"))
    found = sfumato.audit(path, "q", "s", original=original)
    assert found["beta"] == found["delta"] == found["t_ordered"] == math.inf and found["t_equal"] == 0.5
    assert not found.holds and any("no original record has: 'z'" in notice for notice in found.notices)


def test_the_audit_shares_no_code_with_the_makers():
    """The package `auditing` imports nothing that makes or measures a release, and shares no kernel with it.

    Of the anonymizers only those that read files of others may import it: nothing that is audited was made with its
    help. What writes items shares the name and the notation of legends with it.
    """
    package = Path(sfumato.__file__).parent
    files = sorted((package / "auditing").rglob("*.py"))
    assert len(files) > 12
    makers = [file for room in ("anonymizers", "measures") for file in (package / room).rglob("*.py")]
    asking = {file.parent.name for file in makers if "from sfumato.auditing" in file.read_text()}
    assert asking == {"external"}
    writers = {file.stem for file in (package / "release").rglob("*.py") if "from sfumato.auditing" in file.read_text()}
    assert writers == {"writing_items"}
    for file in files:
        source = file.read_text()
        for room in ("anonymizers", "release", "measures", "runtime.kernels", "requirements._predicates"):
            assert f"from sfumato.{room}" not in source, (file.name, room)
