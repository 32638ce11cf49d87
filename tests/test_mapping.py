"""Recoding new data as an earlier release was: same boxes, nothing unknown, and the promise holds in the new data."""

from __future__ import annotations

import csv
import json
import tempfile
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato
from independent_checker import read_rows, violations
from sfumato.commands.app import app
from sfumato.publish.apply import apply
from sfumato.publish.mapping import find_boxes, mapping_of, read_mapping
from strategies import tries
from test_proof import requirements

HIERARCHIES = {
    "age": {"type": "numeric", "lower": 0, "upper": 99, "intervals": [5, 20]},
    "sex": {"type": "flat", "values": ["f", "m", "x"]},
    "ill": [["lung", "asthma", "flu"], ["heart", "angina", "stroke"]],
}
ILLS = ["asthma", "flu", "angina", "stroke"]


def write(path, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["age", "sex", "ill", "note"], *rows])
    return path


def table_of(path):
    return sfumato.read(path, quasi=["age", "sex"], sensitive=["ill"], neutral=["note"], hierarchies=HIERARCHIES)


people = st.lists(
    st.tuples(st.integers(0, 99), st.sampled_from("fmx"), st.sampled_from(ILLS), st.sampled_from("ab")),
    min_size=6,
    max_size=40,
).filter(lambda rows: len({row[2] for row in rows}) > 1)
MAKERS = ["mondrian", "mondrian ranges=tight", "mondrian ranges=region", "mondrian ranges=node", "full-domain"]
REQUIREMENTS = [
    "k-anonymity k=2",
    "k-anonymity k=2 & l-diversity l=2 variant=distinct",
    "t-closeness t=0.6 distance=equal",
]


def kept(mapping, path):
    path.write_text(mapping.to_text(), encoding="utf-8")
    return path


@tries(12)
@given(people, people, st.sampled_from(MAKERS), st.sampled_from(REQUIREMENTS))
def test_new_data_is_recoded_alike_and_keeps_the_promise(old, new, maker, require):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        try:
            release = sfumato.anonymize(table_of(write(folder / "old.csv", old)), require, maker)
        except sfumato.InfeasibleError:
            return
        wanted = sfumato.requirement(require)
        known = read_mapping(kept(mapping_of(release, wanted), folder / "mapping.json"))
        first = release.to_csv(folder / "a.csv")[0]
        somebody_alone = min(Counter((row["age"], row["sex"]) for row in read_rows(first)).values()) == 1
        disjoint = ("mondrian ranges=tight", "mondrian ranges=region", "full-domain")
        if maker in disjoint and not somebody_alone:  # the very same file
            apply(known, folder / "old.csv").write(folder / "b.csv")
            assert first.read_bytes() == (folder / "b.csv").read_bytes()
        published = {(row["age"], row["sex"]) for row in read_rows(first)}
        path = write(folder / "new.csv", new)
        try:
            recoded = apply(known, path)
        except sfumato.InfeasibleError:
            try:
                recoded = apply(known, path, "drop")
            except sfumato.InfeasibleError as error:
                assert "make a new release" in str(error)
                return
            assert recoded.left_out.records > 0
        out = folder / "c.csv"
        recoded.write(out)
        rows = read_rows(out)
        assert len(rows) == len(new) - recoded.left_out.records
        about = {"quasi": ["age", "sex"], "sensitive": ["ill"]}
        original = [{"age": str(r[0]), "sex": r[1], "ill": r[2]} for r in new]
        assert violations(out, require, original=original, **about) == []
        if not release.levels:
            assert {(row["age"], row["sex"]) for row in rows} <= published


@tries(60)
@given(st.integers(1, 4), st.data())
def test_the_first_covering_box_is_found(width, data):
    ends = st.tuples(st.integers(0, 5), st.integers(0, 5)).map(sorted)
    boxes = data.draw(st.lists(st.lists(ends, min_size=width, max_size=width), max_size=8))
    points = data.draw(st.lists(st.lists(st.integers(0, 5), min_size=width, max_size=width), min_size=1, max_size=8))
    lo = np.array([[a for a, _ in box] for box in boxes], np.int32).reshape(-1, width)
    hi = np.array([[b for _, b in box] for box in boxes], np.int32).reshape(-1, width)
    found = find_boxes(np.array(points, np.int32), lo, hi)
    for point, own in zip(points, found, strict=True):
        covering = [i for i, box in enumerate(boxes) if all(a <= x <= b for x, (a, b) in zip(point, box, strict=True))]
        assert own == (covering[0] if covering else -1)


@pytest.fixture
def known(tmp_path):
    rows = [(20 + i % 10, "fm"[i % 2], ILLS[i % 4], "a") for i in range(40)]
    release = sfumato.anonymize(table_of(write(tmp_path / "old.csv", rows)), "k-anonymity k=4")
    return mapping_of(release, sfumato.requirement("k-anonymity k=4"))


GOOD = [(20 + i % 10, "fm"[i % 2], ILLS[i % 4], "a") for i in range(40)]


def test_what_does_not_fit_is_refused_or_left_out(tmp_path, known):
    strange = write(tmp_path / "strange.csv", [*GOOD, (25, "q", "flu", "a")])
    with pytest.raises(
        sfumato.BadInputError, match=r"1 have a value that the mapping does not know .sex: 1 record, .*'q'"
    ):
        apply(known, strange)
    assert apply(known, strange, "drop").left_out.unknown == 1
    outside = write(tmp_path / "outside.csv", [*GOOD, (99, "x", "flu", "a")])
    with pytest.raises(sfumato.InfeasibleError, match="1 of 41 records: 1 are covered by no box"):
        apply(known, outside)
    assert apply(known, outside, "drop").left_out.outside == 1
    sparse = write(tmp_path / "sparse.csv", GOOD[:39])
    with pytest.raises(
        sfumato.InfeasibleError, match="3 of 39 records: 3 are in 1 group that do not satisfy k-anonymity k=4"
    ):
        apply(known, sparse)
    assert apply(known, sparse, "drop").left_out.failing == 3
    missing = write(tmp_path / "missing.csv", [*GOOD, ("", "f", "flu", "a"), (20, "f", "", "a")])
    with pytest.raises(
        sfumato.BadInputError, match="age: 1 record, such as a missing value; ill: 1 record, such as a mis"
    ):
        apply(known, missing)
    assert apply(known, missing, "drop").left_out.unknown == 2
    with pytest.raises(sfumato.InfeasibleError, match="no group of the mapping"):
        apply(known, write(tmp_path / "two.csv", GOOD[:2]), "drop")
    with pytest.raises(sfumato.BadInputError, match="rest must be one of refuse, drop"):
        apply(known, strange, "forget")


def test_files_that_are_no_mapping_are_refused(tmp_path, known):
    with pytest.raises(sfumato.BadInputError, match="cannot be read"):
        read_mapping(tmp_path / "nothing.json")
    (tmp_path / "other.json").write_text('{"schema": 1, "kind": "something"}')
    with pytest.raises(sfumato.BadInputError, match="not a mapping"):
        read_mapping(tmp_path / "other.json")
    (tmp_path / "text.json").write_text("no JSON")
    with pytest.raises(sfumato.BadInputError, match="not a mapping"):
        read_mapping(tmp_path / "text.json")


def test_a_bucketization_has_no_mapping(tmp_path):
    rows = [(20 + i % 10, "fm"[i % 2], ILLS[i % 4], "a") for i in range(40)]
    table = table_of(write(tmp_path / "old.csv", rows))
    release = sfumato.anonymize(table, "k-anonymity k=4", form="bucketization")
    with pytest.raises(sfumato.BadInputError, match="recodes nothing"):
        mapping_of(release, sfumato.requirement("k-anonymity k=4"))


# -- against the whole new table -----------------------------------------------------------------------------

LEVELS = [["asthma", "lung", "*"], ["flu", "lung", "*"], ["angina", "heart", "*"], ["stroke", "heart", "*"]]
STRANGE = ["7", "30", "gout", "lung"]
newcomers = st.lists(
    st.tuples(
        st.sampled_from([*map(str, range(0, 100, 7)), "120", "", "old"]),
        st.sampled_from(["f", "m", "x", "q", ""]),
        st.sampled_from([*ILLS * 2, *STRANGE, ""]),
        st.just("a"),
    ),
    min_size=2,
    max_size=40,
).filter(lambda rows: len({row[2] for row in rows}) > 1)


def plain_counts(rows, known_ills):
    """Count the records with a value that the mapping does not know, and by column, one row at a time."""
    lacks = [
        {
            name
            for name, bad in (
                ("age", not age.isdigit() or int(age) > 99),
                ("sex", sex not in ("f", "m", "x")),
                ("ill", ill not in known_ills),
            )
            if bad
        }
        for age, sex, ill, _ in rows
    ]
    return sum(map(bool, lacks)), {name: sum(name in own for own in lacks) for name in ("age", "ill", "sex")}


@tries(12)
@given(people, newcomers, st.sampled_from(MAKERS), requirements("ill"))
def test_every_file_keeps_its_promise_against_the_whole_new_table(old, new, maker, require):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        try:
            release = sfumato.anonymize(table_of(write(folder / "old.csv", old)), require, maker)
        except sfumato.SfumatoError:
            return
        known, path = mapping_of(release, sfumato.requirement(require)), write(folder / "new.csv", new)
        unknown, by_column = plain_counts(new, ILLS)
        try:
            recoded = apply(known, path, "drop")
        except sfumato.InfeasibleError:
            return
        told = recoded.left_out
        assert told.unknown == unknown
        assert {own.column: own.records for own in told.unknown_by_column} == {k: n for k, n in by_column.items() if n}
        out = folder / "out.csv"
        verdict = recoded.write(out).audit
        assert len(read_rows(out)) == len(new) - told.records and verdict.holds
        original = [{"age": r[0], "sex": r[1], "ill": r[2]} for r in new]
        about = {"quasi": ["age", "sex"], "sensitive": ["ill"], "original": original}
        tables = {"ill": [*LEVELS, *([value, f"({value})", "*"] for value in STRANGE)]}
        orders = {"ill": [*ILLS, *STRANGE]}
        assert violations(out, require, orders=orders, level_tables=tables, **about) == []
        if told.records:  # the refusal counts the same
            with pytest.raises(
                sfumato.SfumatoError, match=f"does not fit {told.records} of {len(new)} records"
            ) as refused:
                apply(known, path)
            assert all(reason in str(refused.value) for reason in told.reasons())


def test_unknown_values_are_part_of_q(tmp_path):
    """Of 40 + 20 records the 20 unknown make Q another one: every group is about .25 away from it."""
    release = sfumato.anonymize(table_of(write(tmp_path / "old.csv", GOOD)), "t-closeness t=0.02 distance=equal")
    known = mapping_of(release, sfumato.requirement("t-closeness t=0.02 distance=equal"))
    new = write(tmp_path / "new.csv", [*GOOD, *([(20, "f", "gout", "a")] * 20)])
    with pytest.raises(sfumato.InfeasibleError, match="no group of the mapping satisfies"):
        apply(known, new, "drop")
    new = write(tmp_path / "other.csv", [*GOOD, *([(120, "f", "flu", "a")] * 20)])
    with pytest.raises(sfumato.InfeasibleError, match="no group of the mapping satisfies"):
        apply(known, new, "drop")


def ordered_distance(group, table, order):
    """Return the earth mover's distance of two lists of values in some order, in fractions."""
    places, running, moved = [value for value in order if value in table], Fraction(0), Fraction(0)
    for value in places[:-1]:
        running += Fraction(group.count(value), len(group)) - Fraction(table.count(value), len(table))
        moved += abs(running)
    return moved / (len(places) - 1)


def test_the_larger_of_two_ordered_distances_decides_about_new_values(tmp_path):
    """A new value stands where its text falls, or after all known ones: by the first order group 20-29 would pass."""
    wanted = "t-closeness t=0.3 distance=ordered"
    plain = {name: HIERARCHIES[name] for name in ("age", "sex")}
    old = [(age, "f", ill, "a") for age in (25, 45) for ill in "pqr" * 4]
    table = sfumato.read(write(tmp_path / "old.csv", old), quasi=["age", "sex"], sensitive="ill", hierarchies=plain)
    maker = "full-domain"
    known = mapping_of(sfumato.anonymize(table, "k-anonymity k=2", maker), sfumato.requirement(wanted))
    known = read_mapping(kept(known, tmp_path / "mapping.json"))
    young, rest = list("ppqqpqpq"), list("rrrrrrr") + ["NEW"] * 9
    rows = [(25, "f", ill, "a") for ill in young] + [(45, "f", ill, "a") for ill in rest]
    by_text, at_the_end = (ordered_distance(young, young + rest, order) for order in (["NEW", *"pqr"], [*"pqr", "NEW"]))
    assert by_text <= Fraction(3, 10) < at_the_end
    with pytest.raises(sfumato.InfeasibleError, match="do not satisfy t-closeness"):
        apply(known, write(tmp_path / "new.csv", rows))


def test_the_audit_of_the_draft_decides(tmp_path, known, monkeypatch):
    recoded = apply(known, write(tmp_path / "new.csv", GOOD))
    monkeypatch.setattr(recoded.requirement.__class__, "__str__", lambda self: "k-anonymity k=39")
    with pytest.raises(sfumato.InfeasibleError, match="does not confirm"):
        recoded.write(tmp_path / "out.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.csv", "old.csv"]


def test_the_command_breaks_down_what_it_leaves_out(tmp_path, known):
    mapping = kept(known, tmp_path / "mapping.json")
    rows = [*GOOD, *([(25, "q", "gout", "a")] * 5), *([(99, "x", "flu", "a")] * 2)]
    new, out = write(tmp_path / "new.csv", rows), tmp_path / "out.csv"
    told = CliRunner().invoke(app, ["apply", str(mapping), str(new), "--to", str(out)])
    assert told.exception.exit_code == 2 and not out.exists()
    counted = CliRunner().invoke(app, ["apply", str(mapping), str(new), "--to", str(out), "--rest", "drop", "--json"])
    content = json.loads(counted.stdout)
    assert content["records"] == 47 and content["published"] == 40 == len(read_rows(out))
    assert content["left_out"] == {
        "records": 7,
        "of": 47,
        "missing": 0,
        "unknown": 5,
        "unknown_by_column": {"ill": 5, "sex": 5},
        "outside": 2,
        "failing": 0,
        "failing_groups": 0,
        "alone": 0,
    }
    assert "7 of 47 records" in str(told.exception) and "WARNING: 7 of 47 records (15%)" in counted.stderr
    said = CliRunner().invoke(app, ["apply", str(mapping), str(new), "--to", str(out), "--rest", "drop", "--force"])
    assert said.exit_code == 0 and "2 are covered by no box" in said.output and "5 have a value" in said.output


# -- a mapping reads new data as the old were read ----------------------------------------------------------


@pytest.mark.parametrize("maker", ["mondrian", "full-domain"])
@pytest.mark.parametrize("missing", ["value", "drop"])
def test_new_data_are_read_as_the_old_were(tmp_path, maker, missing):
    """Whatever changes the meaning of a cell travels with the mapping: the old file recodes to the old release."""
    rows = [*GOOD, *((a, s, "k.A.", n) for a, s, _, n in GOOD[:10]), *(("-9", s, i, n) for _, s, i, n in GOOD[:8])]
    path = write(tmp_path / "old.csv", rows)
    roles = {"quasi": ["age", "sex"], "sensitive": ["ill"], "neutral": ["note"]}
    table = sfumato.read(path, **roles, hierarchies=HIERARCHIES, na=["k.A.", "-9"], missing=missing)
    release = sfumato.anonymize(table, "k-anonymity k=4", maker)
    known = read_mapping(kept(mapping_of(release, sfumato.requirement("k-anonymity k=4")), tmp_path / "m.json"))
    assert (known.na, known.missing, known.roles) == (("k.A.", "-9"), missing, table.roles)
    assert known.hierarchies.keys() >= {"age", "sex", "ill"}
    first = release.to_csv(tmp_path / "a.csv")[0]
    recoded = apply(known, path)
    recoded.write(tmp_path / "b.csv")
    assert first.read_bytes() == (tmp_path / "b.csv").read_bytes() and b"k.A." not in first.read_bytes()
    assert recoded.left_out.missing == (18 if missing == "drop" else 0)
    (tmp_path / "c.csv").write_bytes(path.read_bytes().replace(b",", b";").decode().encode("utf-16"))
    apply(known, tmp_path / "c.csv", delimiter=";", encoding="utf-16").write(tmp_path / "d.csv")
    assert first.read_bytes() == (tmp_path / "d.csv").read_bytes()
    more = write(tmp_path / "e.csv", [*rows, *((a, "?", i, n) for a, _, i, n in GOOD[:8])])
    with pytest.raises(sfumato.BadInputError, match="'\\?'"):
        apply(known, more)
    assert apply(known, more, "drop", na=("?",)).left_out.unknown == (8 if missing == "value" else 0)


def test_households_travel_with_the_mapping(tmp_path):
    rows = [(20 + i % 10 // 2, "fm"[i % 2], ILLS[i % 4], f"h{i // 2}") for i in range(40)]
    path = write(tmp_path / "old.csv", rows)
    roles = {"quasi": ["age", "sex"], "sensitive": ["ill"], "household": "note"}
    release = sfumato.anonymize(sfumato.read(path, **roles, hierarchies=HIERARCHIES), "k-anonymity k=4")
    known = read_mapping(kept(mapping_of(release, sfumato.requirement("k-anonymity k=4")), tmp_path / "m.json"))
    assert known.roles.household == "note"
    verdict = apply(known, path).write(tmp_path / "b.csv").audit
    assert verdict.households is not None and verdict.households.holds
    assert release.to_csv(tmp_path / "a.csv")[0].read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_a_mapping_of_an_earlier_version_is_refused(tmp_path, known):
    path = kept(known, tmp_path / "m.json")
    content = json.loads(path.read_text())
    path.write_text(json.dumps({key: value for key, value in content.items() if key != "na"} | {"schema": 1}))
    with pytest.raises(sfumato.BadInputError, match="write it again"):
        read_mapping(path)
