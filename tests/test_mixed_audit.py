"""The audit of tables with a column of items: counted as the plain checkers count, whatever stands in the file."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import tomlkit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import plain_patients as plain
from command_line import run
from patients import patients, write_patients
from plain_patients import least_candidates, read_records
from sfumato import BadInputError, ItemsDeclaration, audit_mixed
from sfumato.publish.mapping import mixed_mapping, read_mapping
from sfumato.release.writing_items import release_names
from sfumato.requirements.items import mixed_requirement
from test_mixed import made, opened, rows_of

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
    with pytest.raises(BadInputError, match="does not show who has it"):
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


STUDY = """
name = "patients"
[table]
source = "people.csv"
quasi = ["age", "sex"]
sensitive = ["outcome"]
[items]
{items}
sensitive = ["g"]
[scales]
item_queries = "item-queries size=1 number=20 workloads=1"
joint_queries = "joint-queries number=20"
[[candidates]]
item_anonymizers = ["{maker}"]
requirements = ["k-km-anonymity k=3 m=2 & l-diversity l=2 variant=distinct on=outcome"]
sets = ["{sets}"]
limits = ["suppression share=0.9 of=occurrences"]
"""
CODES = ["abc", "abd", "ab", "c", "cd", "dg", "g", "e", "ef", ""]


def people(number, shift=0):
    """Make records: (age, sex, outcome, codes)."""
    return [(20 + (i + shift) * 7 % 12, "mf"[i % 2], "yn"[i % 3 == 0], CODES[i * i % 10]) for i in range(number)]


def write_new(folder, rows, name="people", items="column"):
    """Write records with their codes in a column, or in a second file."""
    lines = [f"{n},{a},{s},{o},{';'.join(c)}" for n, (a, s, o, c) in enumerate(rows)]
    if items == "second":
        codes = [f"{n},{code}" for n, (_, _, _, codes) in enumerate(rows) for code in codes]
        (folder / f"{name}-codes.csv").write_text("id,codes\n" + "\n".join(codes) + "\n")
        lines = [line.rpartition(",")[0] for line in lines]
    head = "id,age,sex,outcome" + (",codes" if items == "column" else "")
    (folder / f"{name}.csv").write_text(head + "\n" + "\n".join(lines) + "\n")
    return folder / f"{name}.csv"


def released(folder, maker="coat", sets="group", items="column"):
    """Publish a release with its mapping; return the mapping."""
    write_new(folder, people(120), items=items)
    where = 'column = "codes"' if items == "column" else 'source = "people-codes.csv"\nid = "id"\nitem = "codes"'
    (folder / "study.toml").write_text(STUDY.format(maker=maker, sets=sets, items=where))
    run("explore", folder / "study.toml", "--out", folder / "map", "--workers", "1")
    (point,) = json.loads((folder / "map" / "points.json").read_text())["points"]
    to = ["--to", folder / "published.csv", "--mapping", folder / "mapping.json"]
    assert run("release", folder / "map", "--point", point["id"], *to).returncode == 0
    return folder / "mapping.json"


def applied(folder, mapping, rows, *more, items="column"):
    table = write_new(folder, rows, "new", items)
    second = ["--set", f"items-file={folder}/new-codes.csv"] if items == "second" else []
    done = run("apply", mapping, table, *second, "--to", folder / "new-published.csv", *more, "--json")
    return done, json.loads(done.stdout) if done.returncode == 0 else None


@pytest.mark.parametrize(("maker", "sets", "items"), [("coat", "group", "column"), ("aa", "common", "second")])
def test_the_same_records_are_recoded_as_they_were_and_new_ones_alike(maker, sets, items, tmp_path):
    mapping = released(tmp_path, maker, sets, items)
    done, said = applied(tmp_path, mapping, people(120), items=items)
    assert done.returncode == 0 and said["published"] == 120
    assert sorted(rows_of(tmp_path / "new-published.csv"), key=repr) == sorted(
        rows_of(tmp_path / "published.csv"), key=repr
    )
    # a record goes to a box that covers it, and every item is published as the group publishes it, or left out
    rules = json.loads(mapping.read_text())
    new = [*people(240), *people(24, 5), (25, "m", "y", "z")]
    done, said = applied(tmp_path, mapping, new, "--force", "--rest", "drop", items=items)
    assert done.returncode == 0
    records = read_records(tmp_path / "new-published.csv", ["age", "sex"], "codes")
    assert len(records) == said["published"] >= 240 and least_candidates(records, 2) >= 3
    assert said["left_out"]["records"] == len(new) - len(records) > 0
    texts = {text for group in rules["groups"] for text in group["published"]}
    assert {text for _, shown in records for text in shown} <= texts
    ledger = [json.loads(line) for line in (tmp_path / "mapping.json.ledger.jsonl").read_text().splitlines()]
    assert [line["state"] for line in ledger] == ["begun", "published"] * 2
    assert ledger[2]["entry"]["published"] == len(records) and ledger[2]["entry"]["records"] == len(new)
    outcomes = {}
    with (tmp_path / "new-published.csv").open() as stream:
        head = stream.readline().strip().split(",")
        for line in stream:
            row = dict(zip(head, line.strip().split(","), strict=False))
            outcomes.setdefault((row["age"], row["sex"]), set()).add(row["outcome"])
    assert all(len(values) == 2 for values in outcomes.values())


def test_what_the_mapping_does_not_know_is_refused_or_left_out_and_so_are_groups_that_fail(tmp_path):
    mapping = released(tmp_path)
    strange = [*people(120), (20, "m", "y", ["zz"]), (99, "m", "y", ["a"]), (20, "x", "y", ["a"])]
    done, _ = applied(tmp_path, mapping, strange)
    assert done.returncode == 2 and not (tmp_path / "new-published.csv").exists()
    assert "codes: 1 record, such as 'zz'" in done.stderr, done.stderr
    assert "sex: 1 record, such as 'x'" in done.stderr
    done, said = applied(tmp_path, mapping, strange, "--rest", "drop")
    assert done.returncode == 0 and said["published"] == 120 and said["left_out"]["unknown_by_column"]["codes"] == 1
    women, men = ([row for row in people(120) if row[1] == sex] for sex in "fm")
    alone = next(place for place, row in enumerate(men) if row[3])
    bare = [row if place == alone else (*row[:3], "") for place, row in enumerate(men)]
    # two records are too few for a group, and so is one that shows what nobody else of its group does
    for few, failing in ((men[:2], range(2, 3)), (bare, range(3, 60))):
        done, _ = applied(tmp_path, mapping, women + few, "--force")
        assert done.returncode == 1 and "do not satisfy k-km-anonymity k=3 m=2" in done.stderr
        done, said = applied(tmp_path, mapping, women + few, "--force", "--rest", "drop")
        records = read_records(tmp_path / "new-published.csv", ["age", "sex"], "codes")
        assert done.returncode == 0 and least_candidates(records, 2) >= 3
        assert said["left_out"]["failing"] == len(women + few) - len(records) in failing
    second = run(
        "apply", mapping, tmp_path / "new.csv", "--set", f"items-file={tmp_path}/new.csv", "--to", tmp_path / "o.csv"
    )
    assert second.returncode == 2 and "leave out --set items-file" in second.stderr


def test_a_release_that_publishes_items_of_a_group_in_several_ways_recodes_nothing_new(tmp_path):
    release = made(opened([(30, "m", codes) for codes in ("ab", "ab", "a", "a", "c", "c")]), "k-km-anonymity k=2 m=2")
    pieces = replace(release, part=np.where(release.row_of_item == 0, -1, release.part))  # left out of one row alone
    declared = ItemsDeclaration(column="codes")
    several = []
    for one in (release, pieces):
        text = mixed_mapping(one, mixed_requirement("k-km-anonymity k=2 m=2"), declared, release_names(one))
        several.append(json.loads(text)["in_several_ways"])
    assert several == [0, 1]
    (tmp_path / "mapping.json").write_text(text)
    with pytest.raises(BadInputError, match="in several ways within 1 group"):
        read_mapping(tmp_path / "mapping.json")


WALK_CODES = Path(__file__).resolve().parents[2] / "shared/data/transactions/uci_diabetes130_icd9_by_patient.dat.gz"
QUASI = ["--quasi", "age,sex,race", "--items", "codes"]


def points_of(folder):
    return json.loads((folder / "points.json").read_text())["points"]


@pytest.mark.usefixtures("undrawn", "counted_time")
def test_a_budget_tries_more_than_the_study_names_resumes_and_keeps_its_seed(tmp_path):
    write_patients(tmp_path / "patients.csv", patients(number=150))
    (tmp_path / "study.toml").write_text(
        """
name = "patients"
[table]
source = "patients.csv"
quasi = ["age", "sex"]
[items]
column = "codes"
[scales]
known = 1
item_queries = "item-queries size=1 number=20 workloads=1"
joint_queries = "joint-queries number=20"
[[candidates]]
item_anonymizers = ["coat"]
requirements = ["k-km-anonymity k=5 m=1"]
limits = ["suppression share=0.5 of=occurrences"]
"""
    )
    asked = ["explore", tmp_path / "study.toml", "--workers", "1", "--seed", "7"]
    asked += ["--budget", "2s"]
    first = run(*asked, "--out", tmp_path / "map")
    assert first.returncode == 0, first.stderr
    points = points_of(tmp_path / "map")
    makers = {point["parameters"]["items_with"] for point in points if point["anonymizer"] == "mondrian"}
    assert len(points) > 2 and len(makers) > 1
    for point in points:
        if point["status"] == "measured" and point["anonymizer"] == "mondrian":
            k = int(point["requirement"].split("k=")[1].split()[0])
            assert point["measures"]["candidates"] >= k
    again = run(*asked, "--out", tmp_path / "map")
    assert again.returncode == 0, again.stderr
    kept = {point["id"]: point["measures"] for point in points_of(tmp_path / "map")}
    assert {point["id"]: point["measures"] for point in points}.items() <= kept.items()
    other = run(*asked, "--out", tmp_path / "other")
    assert other.returncode == 0, other.stderr
    both = {point["id"]: point["measures"] for point in points_of(tmp_path / "other")}
    shared = both.keys() & kept.keys()
    assert len(shared) > 1 and all(both[name] == kept[name] for name in shared)
    assert "seed=7" in (tmp_path / "map" / "study.toml").read_text()
    chosen = next(point for point in points if point["status"] == "measured" and point["anonymizer"] == "mondrian")
    assert run("release", tmp_path / "map", "--point", chosen["id"], "--to", tmp_path / "out.csv").returncode == 0
    k = int(chosen["requirement"].split("k=")[1].split()[0])
    assert least_candidates(read_records(tmp_path / "out.csv", ["age", "sex"], "codes"), 1) >= k


@pytest.mark.usefixtures("undrawn")
@pytest.mark.skipif(not WALK_CODES.exists(), reason="needs ../shared")
def test_two_thousand_patients_walk_from_init_to_the_audit(tmp_path):
    table = write_patients(tmp_path / "patients.csv", patients(WALK_CODES, 2000))
    assert run("init", table, *QUASI, "--to", tmp_path / "study.toml").returncode == 0
    study = (tmp_path / "study.toml").read_text()
    (tmp_path / "study.toml").write_text(fewer(study))
    explored = run("explore", tmp_path / "study.toml", "--out", tmp_path / "map", "--workers", "1")
    assert explored.returncode == 0, explored.stderr
    answer = run("ask", tmp_path / "map", "joint_query_error within itemset_risk 0.1", "--json")
    assert answer.returncode == 0 and json.loads(answer.stdout)["answer"]["measures"]["itemset_risk"] <= 0.1
    chosen = json.loads(run("choose", tmp_path / "map", "--max", "itemset_risk=0.1", "--json").stdout)
    identity = chosen["point"]["id"]
    to = ["--to", tmp_path / "published.csv"]
    released = run("release", tmp_path / "map", "--point", identity, *to)
    assert released.returncode == 0, released.stderr
    (point,) = [one for one in points_of(tmp_path / "map") if one["id"] == identity]
    asked = ["--require", point["requirement"], "--original", table]
    audited = run("audit", tmp_path / "published.csv", *QUASI, *asked)
    assert audited.returncode == 0, audited.stdout + audited.stderr
    records = read_records(tmp_path / "published.csv", ["age", "sex", "race"], "codes")
    k = int(point["requirement"].split("k=")[1].split()[0])
    assert len(records) == 2000 and least_candidates(records, 2) >= k >= 10


def fewer(study: str) -> str:
    """Keep of a first study the candidates with k = 10 and without merging, so that a test is over soon."""
    content = tomlkit.parse(study)
    for block in content["candidates"]:
        if block["anonymizers"] == "mondrian" or "mondrian" in block["anonymizers"]:
            block |= {"requirements": ["k-km-anonymity k=10 m=2"], "merging": ["none"]}
    return tomlkit.dumps(content)
