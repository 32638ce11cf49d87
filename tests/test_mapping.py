"""Recoding new data as an earlier release was: same boxes, nothing unknown, and the promise holds in the new data."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from independent_checker import read_rows, violations
from sfumato.publish.mapping import apply, find_boxes, mapping_of, read_mapping
from strategies import tries

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
MAKERS = ["mondrian", "mondrian box=region", "mondrian publish=node", "full-domain"]
REQUIREMENTS = [
    "k-anonymity k=2",
    "k-anonymity k=2 & l-diversity l=2 variant=distinct",
    "t-closeness t=0.6 distance=equal",
]


@tries(40)
@given(people, people, st.sampled_from(MAKERS), st.sampled_from(REQUIREMENTS))
def test_new_data_is_recoded_alike_and_keeps_the_promise(old, new, maker, require):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        try:
            release = sfumato.anonymize(table_of(write(folder / "old.csv", old)), require, maker)
        except sfumato.InfeasibleError:
            return
        wanted = sfumato.requirement(require)
        known = read_mapping(mapping_of(release, wanted).to_json(folder / "mapping.json"))
        first = release.to_csv(folder / "a.csv")[0]
        if maker != "mondrian publish=node":  # boxes are disjoint, so the old data gives the very same file
            second = apply(known, folder / "old.csv").to_csv(folder / "b.csv")[0]
            assert first.read_bytes() == second.read_bytes()
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
            assert recoded.suppressed > 0
        out = recoded.to_csv(folder / "c.csv")[0]
        rows = read_rows(out)
        assert len(rows) == len(new) - recoded.suppressed
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


def test_what_does_not_fit_is_refused_or_left_out(tmp_path, known):
    good = [(20 + i % 10, "fm"[i % 2], ILLS[i % 4], "a") for i in range(40)]
    strange = write(tmp_path / "strange.csv", [*good, (25, "q", "flu", "a")])
    with pytest.raises(sfumato.BadInputError, match="'q' is not in the domain"):
        apply(known, strange)
    assert apply(known, strange, "drop").table.dropped == 1
    outside = write(tmp_path / "outside.csv", [*good, (99, "x", "flu", "a")])
    with pytest.raises(sfumato.InfeasibleError, match="1 of 41 records are covered by no box"):
        apply(known, outside)
    assert apply(known, outside, "drop").suppressed == 1
    sparse = write(tmp_path / "sparse.csv", good[:39])
    with pytest.raises(
        sfumato.InfeasibleError, match="3 of 39 records are in groups that do not satisfy k-anonymity k=4"
    ):
        apply(known, sparse)
    assert apply(known, sparse, "drop").suppressed == 3
    missing = write(tmp_path / "missing.csv", [*good, ("", "f", "flu", "a")])
    with pytest.raises(sfumato.BadInputError, match="'age' has missing values, and the mapping knows none"):
        apply(known, missing)
    assert apply(known, missing, "drop").table.dropped == 1
    with pytest.raises(sfumato.InfeasibleError, match="no group of the mapping"):
        apply(known, write(tmp_path / "two.csv", good[:2]), "drop")


def test_files_that_are_no_mapping_are_refused(tmp_path, known):
    with pytest.raises(sfumato.BadInputError, match="cannot be read"):
        read_mapping(tmp_path / "nothing.json")
    (tmp_path / "other.json").write_text('{"schema": 1, "kind": "something"}')
    with pytest.raises(sfumato.BadInputError, match="not a mapping"):
        read_mapping(tmp_path / "other.json")
    (tmp_path / "text.json").write_text("no JSON")
    with pytest.raises(sfumato.BadInputError, match="not a mapping"):
        read_mapping(tmp_path / "text.json")
    path = known.to_json(tmp_path / "mapping.json")
    with pytest.raises(sfumato.BadInputError, match="exists already"):
        known.to_json(path)


def test_a_bucketization_has_no_mapping(tmp_path):
    rows = [(20 + i % 10, "fm"[i % 2], ILLS[i % 4], "a") for i in range(40)]
    table = table_of(write(tmp_path / "old.csv", rows))
    release = sfumato.anonymize(table, "k-anonymity k=4", form="bucketization")
    with pytest.raises(sfumato.BadInputError, match="recodes nothing"):
        mapping_of(release, sfumato.requirement("k-anonymity k=4"))
