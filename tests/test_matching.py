"""`audit --missing any`: a missing quasi-identifier matches everything, compared with a loop over all pairs of rows."""

from __future__ import annotations

import csv
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from command_line import told
from strategies import tries

pytestmark = pytest.mark.quick

NAMES = ["q0", "q1", "q2", "q3"]


def write(path, header, *lines):
    with Path(path).open("w", newline="") as stream:
        csv.writer(stream).writerows([header.split(), *lines])
    return Path(path)


def matches(one, other):
    return all(a == b or "" in (a, b) for a, b in zip(one, other, strict=True))


def plain_frequencies(rows):
    return [sum(matches(row, other) for other in rows) for row in rows]


values = st.sampled_from(["", "", "a", "b", "20-29", "*"])


@tries(30)
@given(st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[values] * width), min_size=1, max_size=25)))
def test_every_record_is_counted_with_all_that_match_it(rows):
    names = NAMES[: len(rows[0])]
    with tempfile.TemporaryDirectory() as folder:
        lines = [(*row, "xy"[i % 2]) for i, row in enumerate(rows)]
        path = write(Path(folder) / "f.csv", " ".join([*names, "ill"]), *lines)
        found = sfumato.audit(path, names, ["ill"], missing="any", suppressed="keep", require="k-anonymity k=3")
        same = sfumato.audit(path, names, ["ill"], suppressed="keep")
    if not any("" in row for row in rows):
        assert dict(found.measures) == dict(same.measures) and found.uniques == same.uniques
        assert any("changes nothing" in notice for notice in found.notices)
        return
    frequencies = plain_frequencies(rows)
    assert found["k"] == min(frequencies) and found["prosecutor"] == 1 / min(frequencies)
    assert found["marketer"] == pytest.approx(sum(1 / f for f in frequencies) / len(rows))
    assert found.uniques == frequencies.count(1) and found.groups == len(set(rows))
    assert set(found.measures) == {"k", "prosecutor", "marketer"}
    assert [group.size for group in found.worst] == sorted(dict(zip(rows, frequencies, strict=True)).values())[:3]
    few = [(row, f) for row, f in zip(rows, frequencies, strict=True) if f < 3]
    assert found.holds == (not few)
    for failure in found.failures:
        assert (failure.groups, failure.of) == (len({row for row, _ in few}), len(set(rows)))
        assert failure.records == len(few) and failure.size == min(frequencies)
        assert (tuple(failure.worst.values()), failure.size) in few


def test_k_is_that_of_check(tmp_path):
    rows = [("a", "1"), ("a", ""), ("", "1"), ("b", "2"), ("b", ""), ("", "")]
    path = write(tmp_path / "f.csv", "q0 q1", *rows)
    found = sfumato.audit(path, ["q0", "q1"], missing="any")
    check = sfumato.check(sfumato.read(path, quasi=["q0", "q1"]), missing="any")
    assert (found["k"], found["marketer"], found.uniques) == (
        check.risk.smallest,
        pytest.approx(check.risk.average),
        check.risk.uniques,
    )
    assert sfumato.audit(path, ["q0", "q1"])["k"] == 1


def test_by_the_command_line(tmp_path):
    lines = [
        ("30-39", "1", "flu"),
        ("30-39", "", "flu"),
        ("30-39", "2", "cold"),
        ("", "2", "cold"),
        ("40-49", "3", "flu"),
    ]
    path = write(tmp_path / "f.csv", "age zip ill", *lines)
    base = (path, "--quasi", "age,zip", "--sensitive", "ill", "--set", "missing=any")
    code, output = told("audit", *base, "--require", "k-anonymity k=2")
    assert code == 1
    for said in (
        "5 records in 5 different combinations.",
        "No other record looks like it by its quasi-identifiers: 1 record (20.0%).",
        "This trusts that nobody knows what is missing",
        "and what groups reveal about ill are not given",
        "The combinations that fewest match:\n  1 record: age 40-49, zip 3",
        "does not hold in 1 of 5 combinations (1 record)",
    ):
        assert said in output, output
    found = json.loads(told("audit", *base, "--json")[1])
    assert found["missing"] == "any" and found["uniques"] == 1
    # 2, 4, 3, 3 and 1 records match: (1/2 + 1/4 + 1/3 + 1/3 + 1) / 5
    assert found["measures"]["k"] == 1 and found["measures"]["marketer"] == pytest.approx(29 / 60)
    code, output = told("audit", *base, "--require", "l-diversity l=2 variant=distinct")
    assert code == 2 and "require k-anonymity alone" in output
    code, output = told("audit", *base, "--with", path)
    assert code == 2 and "--with compares the groups of two files" in output
    code, output = told("audit", *base[:-1], "missing=drop")
    assert code == 2 and "missing must be one of value, any" in output


def test_a_cell_that_was_suppressed_covers_every_original_value(tmp_path):
    original = write(tmp_path / "o.csv", "age zip", ("30", "1"), ("31", "1"), ("32", "2"))
    path = write(tmp_path / "f.csv", "age zip", ("30", "1"), ("NA", "1"), ("NA", "NA"))
    asked = {"original": original, "na": ["NA"]}
    found = sfumato.audit(path, ["age", "zip"], missing="any", **asked)
    assert found.holds and found.coverage.uncovered == 0
    assert found["k"] == 3 and found["loss"] == pytest.approx((1 + 2) / 6)
    assert sfumato.audit(path, ["age", "zip"], **asked).coverage.uncovered == 2
    wrong = write(tmp_path / "w.csv", "age zip", ("NA", "1"), ("NA", "1"), ("NA", "1"))
    assert sfumato.audit(wrong, ["age", "zip"], missing="any", **asked).coverage.uncovered == 1


def test_the_groups_of_a_bucketized_file_stay(tmp_path):
    lines = [("1", "a", "x"), ("", "b", "x"), ("2", "a", "y"), ("2", "b", "y")]
    path = write(tmp_path / "b.csv", "q ill bucket", *lines)
    found = sfumato.audit(path, ["q"], ["ill"], group="bucket", missing="any")
    value = sfumato.audit(path, ["q"], ["ill"], group="bucket")
    assert found["k"] == 2 and value["k"] == 1 and found["marketer"] == pytest.approx((1 / 2 + 1 / 4 + 2 / 3) / 4)
    assert {k: v for k, v in found.measures.items() if k not in ("k", "prosecutor", "marketer")} == {
        k: v for k, v in value.measures.items() if k not in ("k", "prosecutor", "marketer")
    }
