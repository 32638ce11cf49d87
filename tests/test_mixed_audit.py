"""The audit of tables with a column of items: counted as the plain checkers count, whatever stands in the file."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import plain_patients as plain
from command_line import run
from patients import patients, write_patients
from sfumato.auditing.audit import audit_mixed
from sfumato.errors import BadInputError

FEW = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
HOSTILE = ["a", "b", "c", "a;b", "{a, b}", '"', "'", "*", "=1+1", "x, y", "\\", "[a]", "NULL", "é", "none", "a b"]


def cell(items: list[str]) -> str:
    """Join items as a cell holds them, by the rules of csv."""
    out = io.StringIO()
    csv.writer(out, delimiter=";", lineterminator="").writerow(items)
    return "" if not items else out.getvalue()


def write(path: Path, records: list[tuple[tuple[str, ...], list[str]]]) -> Path:
    """Write records with two quasi-identifiers: as CSV, JSON lines or Parquet, by the name."""
    if path.suffix == ".parquet":
        lists = pa.array([items for _, items in records], pa.list_(pa.string()))
        texts = {name: [quasi[place] for quasi, _ in records] for place, name in enumerate(("age", "sex"))}
        pyarrow.parquet.write_table(pa.table({**texts, "codes": lists}), path)
    elif path.suffix == ".jsonl":
        lines = [{"age": quasi[0], "sex": quasi[1], "codes": items} for quasi, items in records]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["age", "sex", "codes"])
            writer.writerows([*quasi, cell(items)] for quasi, items in records)
    return path


quasis = st.tuples(st.sampled_from(["20-29", "30", "*"]), st.sampled_from(["f", "m"]))
records_of = st.lists(
    st.tuples(quasis, st.lists(st.sampled_from(HOSTILE), max_size=5, unique=True)), min_size=1, max_size=14
)


@FEW
@given(
    records=records_of, m=st.integers(0, 4), k=st.integers(1, 4), ending=st.sampled_from(["csv", "jsonl", "parquet"])
)
def test_groups_and_sets_are_counted_as_the_plain_checker_counts(tmp_path: Path, records, m, k, ending) -> None:
    path = write(tmp_path / f"published.{ending}", records)
    read = plain.read_records(path, ["age", "sex"], "codes")
    assert read == [(quasi, frozenset(items)) for quasi, items in records]
    found = audit_mixed(path, ["age", "sex"], "codes", f"k-km-anonymity k={k} m={m}")
    assert found["k"] == plain.least_group(read)
    assert found["candidates"] == plain.least_candidates(read, m)
    assert found.holds == plain.k_km_holds(read, k, m)
    least = [n for rows in plain.groups(read).values() for n in plain.supports(rows, m).values()]
    assert found["least_support"] == (min(least) if least else float("inf"))
    assert sum(rare.sets for rare in found.rare) == sum(n < k for n in least)


LETTERS = "abcd"
people_of = st.lists(
    st.tuples(
        st.tuples(st.sampled_from(["20", "25", "30"]), st.sampled_from("fm")),
        st.lists(st.sampled_from(LETTERS), max_size=4, unique=True),
    ),
    min_size=1,
    max_size=8,
)
ways = st.sampled_from(
    [
        {letter: letter for letter in LETTERS},
        {"a": "{a, b}", "b": "{a, b}", "c": "c", "d": None},
        {"a": "{a, d}", "b": "b", "c": None, "d": "{a, d}"},
        dict.fromkeys(LETTERS, "*"),
    ]
)
boxes = st.sampled_from([{"20": "20-29", "25": "20-29", "30": "30"}, {"20": "20", "25": "25-30", "30": "25-30"}])


def published(people, box, way_of) -> list[tuple[tuple[str, ...], list[str]]]:
    """Publish people honestly: ages by a box, items by a way that may differ from group to group."""
    rows = []
    for (age, sex), items in people:
        way = way_of[sex]
        rows.append(((box[age], sex), sorted({way[item] for item in items} - {None})))
    return rows


@FEW
@given(people=people_of, box=boxes, way=ways, other=ways, tampered=st.data())
def test_honest_files_are_covered_and_what_passes_can_be_matched(tmp_path: Path, people, box, way, other, tampered):
    original = write(tmp_path / "original.csv", people)
    rows = published(people, box, {"f": way, "m": other})
    path = write(tmp_path / "published.csv", rows)
    if any(items for _, items in people) and any(items for _, items in rows):
        found = audit_mixed(path, ["age", "sex"], "codes", original=original)
        assert found.coverage is not None and found.coverage.holds, found.coverage
    place = tampered.draw(st.integers(0, len(rows) - 1))
    rows[place] = tampered.draw(
        st.tuples(
            st.tuples(st.sampled_from([*box.values()]), st.sampled_from("fm")),
            st.lists(st.sampled_from([*LETTERS, "{a, b}", "*"]), max_size=3, unique=True),
        )
    )
    again = audit_mixed(write(tmp_path / "tampered.csv", rows), ["age", "sex"], "codes", original=original)
    read = plain.read_records(tmp_path / "tampered.csv", ["age", "sex"], "codes")
    truth = plain.read_records(original, ["age", "sex"], "codes")
    stands = plain.stands_for(read, {item for _, items in truth for item in items}, None)
    assert again.coverage is not None
    if again.coverage.holds:
        assert plain.covered(read, truth, stands, plain.by_notation([True, False], [None, None]))


def test_ncp_of_items_is_that_of_the_definition(tmp_path: Path) -> None:
    people = [(("20", "f"), ["a", "b", "d"]), (("25", "f"), ["a"]), (("30", "m"), ["c", "d"])]
    way = {"a": "{a, b}", "b": "{a, b}", "c": "c", "d": None}
    rows = published(people, {"20": "20-29", "25": "20-29", "30": "30"}, {"f": way, "m": way})
    original = write(tmp_path / "original.csv", people)
    found = audit_mixed(write(tmp_path / "p.csv", rows), ["age", "sex"], "codes", original=original)
    # a, b of the first, a of the second: 2/4 each; c nothing; d twice suppressed: 1 each
    assert found["ncp"] == pytest.approx((3 * 2 / 4 + 2) / 6)
    assert found["occurrences_suppressed"] == pytest.approx(2 / 6)
    without = audit_mixed(write(tmp_path / "q.csv", rows[:2]), ["age", "sex"], "codes", original=original)
    assert without["ncp"] == pytest.approx((3 * 2 / 4 + 1 + 2) / 6)  # c and d are gone with their record


def test_sensitive_items_are_judged_group_by_group(tmp_path: Path) -> None:
    rows = [(("20", "f"), ["a", "s"]), (("20", "f"), ["a", "b"]), (("30", "m"), ["s"]), (("30", "m"), ["s", "a"])]
    path = write(tmp_path / "p.csv", rows)
    asked = "k-km-anonymity k=1 m=1 & l-diversity l=2 variant=distinct on=codes"
    found = audit_mixed(path, ["age", "sex"], "codes", asked, sensitive_items=["s"])
    assert not found.holds and [failure.groups for failure in found.failures] == [1]
    assert dict(found.failures[0].worst) == {"age": "30", "sex": "m"}
    assert found.by_sensitive["codes"]["l_distinct"] == 1
    with pytest.raises(BadInputError, match="--sensitive-items"):
        audit_mixed(path, ["age", "sex"], "codes", asked)
    mixed = write(tmp_path / "q.csv", [(("20", "f"), ["{a, s}"]), (("20", "f"), ["b"])])
    with pytest.raises(BadInputError, match="does not say who has it"):
        audit_mixed(mixed, ["age", "sex"], "codes", asked, sensitive_items=["s"])


def test_a_cell_without_the_separator_is_one_text_and_it_is_said(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("age,codes\n20,a b\n20,a b\n20,c\n")
    found = audit_mixed(path, ["age"], "codes", "k-km-anonymity k=2 m=1")
    assert found.published_items == 2 and not found.holds
    assert any("--separator" in notice for notice in found.notices)
    assert audit_mixed(path, ["age"], "codes", separator=" ").published_items == 3


def test_the_command_says_what_fails_and_exits_as_other_audits_do(tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", [(("20", "f"), ["a", "b"]), (("20", "f"), ["a"]), (("20", "f"), ["b"])])
    asked = ["audit", str(path), "--quasi", "age,sex", "--items", "codes"]
    good = run(*asked, "--require", "k-km-anonymity k=2 m=1", "--json")
    assert good.returncode == 0
    measures = json.loads(good.stdout)["measures"]
    assert (measures["k"], measures["least_support"], measures["candidates"]) == (3, 2, 2)
    bad = run(*asked, "--require", "k-km-anonymity k=2 m=2")
    assert bad.returncode == 1 and "1 record of 3 with age 20, sex f: a + b" in bad.stdout
    for more, words in [
        (["--require", ""], "k-km-anonymity"),
        (["--require", "k-anonymity k=2"], "k-km-anonymity"),
        (["--group", "age"], "--items"),
        (["--id", "x"], "--items"),
        (["--known", "-1"], "known"),
        (["--set", "separator=;;"], "separator"),
    ]:
        refused = run(*asked, *more)
        assert refused.returncode == 2 and words in (refused.stdout + refused.stderr), more
    for options, words in [
        (["--quasi", "age", "--items", "nothing"], "there is no column 'nothing'"),
        (["--quasi", "age,codes", "--items", "codes"], "has no other role"),
        (["--items", "codes"], "--quasi"),
        (["--quasi", "age", "--set", "sensitive-items=a"], "--items"),
    ]:
        refused = run("audit", str(path), *options)
        assert refused.returncode == 2 and words in (refused.stdout + refused.stderr), options


def test_a_published_file_of_patients_is_counted_in_csv_and_parquet_alike(tmp_path: Path) -> None:
    rows = list(patients(number=400))
    found = [
        audit_mixed(write_patients(tmp_path / name, iter(rows)), ["sex", "race"], "codes", known=2)
        for name in ("p.csv", "p.parquet")
    ]
    assert found[0].measures == found[1].measures
    read = plain.read_records(tmp_path / "p.csv", ["sex", "race"], "codes")
    assert found[0]["candidates"] == plain.least_candidates(read, 2)


def test_what_separates_items_of_an_original_can_be_said(tmp_path: Path) -> None:
    baskets = tmp_path / "original.csv"
    baskets.write_text("a;b,c\nc\n")  # the item `a;b`, but a semicolon is what would be guessed
    asked = ["audit", str(baskets), "--baskets", "--original", str(baskets), "--json"]
    assert run(*asked).returncode == 1
    assert json.loads(run(*asked, "--set", "original-separator=,").stdout)["coverage"]["holds"]
    table = write(tmp_path / "table.csv", [(("20", "f"), ["a", "b"])])
    table.write_text(table.read_text().replace("a;b", '"a;b,c"'))
    published = write(tmp_path / "published.csv", [(("20", "f"), ["a;b", "c"])])
    mixed = ["audit", str(published), "--quasi", "age", "--items", "codes", "--original", str(table)]
    assert run(*mixed).returncode == 1
    assert run(*mixed, "--set", "original-separator=,").returncode == 0


def test_the_items_of_an_original_may_stand_in_a_second_file(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("id,age,sex\n007,20,f\n8,25,f\n9,30,m\n")
    (tmp_path / "codes.csv").write_text("id,code\n007,a\n007,b\n8,a\n")
    path = write(tmp_path / "p.csv", [(("20-29", "f"), ["{a, b}"]), (("20-29", "f"), ["{a, b}"]), (("30", "m"), [])])
    asked = ["audit", str(path), "--quasi", "age,sex", "--items", "codes", "--original", str(tmp_path / "people.csv")]
    second = [*asked, "--set", f"items-file={tmp_path}/codes.csv", "--id", "id", "--item", "code"]
    found = run(*second, "--json")
    assert found.returncode == 0, found.stdout + found.stderr
    content = json.loads(found.stdout)
    assert content["holds"] and content["measures"]["ncp"] == 1  # each for both items that there are
    (tmp_path / "codes.csv").write_text("id,code\n007,a\n007,b\n9,a\n")
    assert run(*second).returncode == 1  # two records with an item, but not of these people
    refused = run(*asked, "--set", f"items-file={tmp_path}/codes.csv", "--id", "id")
    assert refused.returncode == 2 and "--item" in refused.stderr
