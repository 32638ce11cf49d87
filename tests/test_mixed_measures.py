"""Measures of tables with items against plain Python on the written file, and the walk from a file to the audit."""

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command_line import run
from plain_patients import by_notation, candidates, estimate, least_candidates, read_records, stands_for, true_count
from sfumato.measures.items.estimates import MixedReader, Questions
from sfumato.measures.items.linking import Linking, Persons
from sfumato.measures.items.queries import ItemQueries
from sfumato.measures.items.scales import MixedScales
from sfumato.release.writing_items import write_items
from test_mixed import made, opened

SETS = "what sets tell of a group"
COVERING = by_notation([True, False], [None, None])
PEOPLE = st.lists(
    st.tuples(st.integers(20, 30), st.sampled_from("mf"), st.frozensets(st.sampled_from("abcde"), max_size=3)),
    min_size=8,
    max_size=20,
).filter(lambda people: any(codes for _, _, codes in people) and len({age for age, _, _ in people}) > 1)


def domains_of(data):
    return [list(quasi.hierarchy.leaves) for quasi in data.cells.quasi]


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(people=PEOPLE, items=st.sampled_from(["coat", "aa", "partition"]), m=st.integers(1, 2))
def test_answers_and_candidates_are_those_of_plain_python_on_the_file(people, items, m, tmp_path_factory):
    data = opened(people)
    release = made(data, f"k-km-anonymity k=2 m={m}", "mondrian", items)
    path = tmp_path_factory.mktemp("release") / "out.csv"
    write_items(release, path)
    quasi = [each.name for each in data.cells.quasi]
    records = read_records(path, quasi, "codes")
    labels = sorted({code for _, _, codes in people for code in codes})
    stands, reader, domains = stands_for(records, labels, None), MixedReader.of(release), domains_of(data)
    whole = MixedReader.of_data(data)
    original = [((str(age), sex), frozenset(codes)) for age, sex, codes in people]
    ages = domains[0]
    for first, last in combinations(range(len(ages)), 2):
        for item in labels[:2]:
            query = ((frozenset(ages[first : last + 1]), None), frozenset([item]))
            codes = np.array([[first, 0]], np.int32), np.array([[last, len(domains[1]) - 1]], np.int32)
            asked = Questions(*codes, [(data.baskets.places[item],)])
            assert whole.fitting(asked)[0] == true_count(original, query)
            for estimator in ("half", "uniform", "nonempty"):
                plain = float(estimate(records, query, stands, COVERING, domains, estimator))
                assert reader.estimates(asked, estimator)[0] == pytest.approx(plain)
    persons = Persons.drawn(data, Linking(), m)
    kept, known = persons.in_release(release)
    fits = reader.fitting(persons.questions(data, kept, known, True))
    for person, itemset, number in zip(kept, known, fits.tolist(), strict=True):
        pair = persons.pair[person]
        row = data.cells.codes[data.pairs.cell[pair]]
        texts = tuple(domains[place][code] for place, code in enumerate(row.tolist()))
        held = frozenset(data.baskets.basket(int(data.pairs.basket[pair])))
        names = [data.baskets.items[item] for item in itemset]
        assert number == candidates(records, (texts, held), names, stands, COVERING) >= 2


def test_what_is_known_within_groups_is_counted_as_in_the_file(tmp_path):
    people = [(20 + i % 11, "mf"[i % 2], "abcdefg"[i % 5 :][:3]) for i in range(60)]
    data = opened(people)
    release = made(data, "k-km-anonymity k=4 m=2")
    write_items(release, tmp_path / "out.csv")
    records = read_records(tmp_path / "out.csv", ["age", "sex"], "codes")
    scales = MixedScales(known=2, item_queries=ItemQueries(size=1, number=50, workloads=1))
    measured = scales.prepare(data).measure(release).values
    assert measured["candidates"] == least_candidates(records, 2) >= 4
    assert measured["itemset_risk"] <= 1 / 4 and measured["k"] >= 4
    assert measured["joint_match_least"] >= 4
    original = scales.prepare(data).measure(made(data, "k-km-anonymity k=1 m=1", "original", "original")).values
    assert original["joint_query_error"] == original["are"] == original["ncp"] == 0


@pytest.fixture
def study(tmp_path):
    """Write patients in two files and a study of them."""
    people = [(20 + i % 11, "mf"[i % 2], "abcdefg"[i % 5 :][:3], "yn"[i % 3 == 0]) for i in range(80)]
    rows = "".join(f"{i},{age},{sex},{outcome}\n" for i, (age, sex, _, outcome) in enumerate(people))
    (tmp_path / "people.csv").write_text(f"id,age,sex,outcome\n{rows}")
    codes = "".join(f"{i},{code}\n" for i, (_, _, codes, _) in enumerate(people) for code in codes)
    (tmp_path / "codes.csv").write_text(f"id,code\n{codes}")
    (tmp_path / "study.toml").write_text(
        """
name = "patients"
[table]
source = "people.csv"
quasi = ["age", "sex"]
sensitive = ["outcome"]
[items]
source = "codes.csv"
id = "id"
item = "code"
sensitive = ["g"]
[scales]
item_queries = "item-queries size=1 number=50 workloads=1"
joint_queries = "joint-queries number=50"
[[candidates]]
item_anonymizers = ["coat", "aa"]
merging = ["none", "rt-merge bound=0.5"]
requirements = ["k-km-anonymity k=4 m=2 & l-diversity l=2 variant=distinct on=outcome"]
[[candidates]]
requirements = ["k-km-anonymity k=4 m=2 & l-diversity l=2 variant=distinct on=code"]
sets = ["group", "common"]
limits = ["suppression share=0.5 of=occurrences"]
[[candidates]]
anonymizers = ["original"]
item_anonymizers = ["original"]
"""
    )
    return tmp_path / "study.toml"


def test_the_walk_from_two_files_to_map_release_certificate_and_audit(study, tmp_path):
    assert "can be explored" in run("check", study).stdout
    folder = tmp_path / "map"
    run("explore", study, "--out", folder, "--workers", "1")
    points = json.loads((folder / "points.json").read_text())["points"]
    assert {point["status"] for point in points} == {"measured"}
    assert all(point["measures"]["candidates"] >= 4 for point in points if point["anonymizer"] == "mondrian")
    assert run("choose", folder, "--max", "itemset_risk=0.25").returncode == 0
    assert run("ask", folder, "joint_query_error within itemset_risk 0.25").returncode == 0
    for number, point in enumerate(one for one in points if one["anonymizer"] == "mondrian"):
        target = tmp_path / f"published{number}.csv"
        run("release", folder, "--point", point["id"], "--to", target)
        records = read_records(target, ["age", "sex"], "code")
        assert len(records) == 80 and least_candidates(records, 2) >= 4
        public = json.loads((tmp_path / f"{target.name}.certificate-public.json").read_text())
        inside = json.loads((tmp_path / f"{target.name}.certificate.json").read_text())
        said = [next(one for one in each["warnings"] if one["about"] == SETS) for each in (public, inside)]
        common = point["parameters"].get("sets") == "common"
        assert public["promise"]["sets"] == ("common" if common else "group")
        sets = any(text.startswith("{") for _, shown in records for text in shown)
        assert "found" not in said[0] and ("somebody in the group has each" in said[0]["text"]) is (sets and not common)
        assert public["items"]["sets_list_items_of_groups"] is (sets and not common)
        assert ("the longest list has" in said[1].get("found", "")) is (sets and not common)
        assert "for_your_eyes" not in public and inside["for_your_eyes"]["input"]["records"] == 80
        parts = {part["requirement"]: part["confirmed_by_the_file"] for part in public["promise"]["parts"]}
        kept = point["requirement"].replace("k=4 ", f"k={least_candidates(records, 2)} ")
        assert parts == {text: not text.endswith("on=code") for text in kept.split(" & ")}
        assert run(*public["verify"][1:], cwd=tmp_path).returncode == 0
    bad = target.read_text().splitlines()
    (tmp_path / "broken.csv").write_text("\n".join([*bad[:-1], "20,m,a;b;zz,y"]) + "\n")
    broken = ["broken.csv" if word == target.name else word for word in public["verify"][1:]]
    assert run(*broken, cwd=tmp_path).returncode == 1


def test_nothing_vanishes_silently(tmp_path):
    (tmp_path / "p.csv").write_text("id,age,code\n1,30,a\n1,30,b\n2,31,a\n2,31,b\n")
    rows = ["anonymize", tmp_path / "p.csv", "--baskets", "--id", "id", "--item", "code"]
    asked = ["--require", "km-anonymity k=2 m=2", "--to", tmp_path / "o.csv"]
    assert "not read: 'age'" in run(*rows, *asked).stderr
    refused = run(*rows, "--quasi", "age", *asked)
    assert refused.returncode == 2 and "--items COLUMN" in refused.stderr


def test_a_study_reads_back_as_it_was_written(study):
    from sfumato.tradeoff.study.study import read_study, study_from_toml

    one = read_study(str(study))
    again = study_from_toml(one.to_toml(), str(study))
    assert again == one and [each.id for each in again.candidates] == [each.id for each in one.candidates]
    entries = [
        {"anonymizer": str(each.anonymizer), "requirement": str(each.requirement), "parameters": each.parameters}
        for each in one.candidates
    ]
    assert [one.candidate_of(entry) for entry in entries] == list(one.candidates)
    assert replace(one, name="other") != one


def test_frames_with_a_list_column_are_patients_too():
    frame = pa.table({"age": ["1", "2"], "codes": pa.array([["a"], ["a", "b"]], pa.list_(pa.string()))})
    from sfumato.data.declaration import DataDeclaration, ItemsDeclaration, TableDeclaration

    data = DataDeclaration(TableDeclaration(frame, quasi=("age",)), ItemsDeclaration(column="codes")).open()
    assert data.baskets.items == ("a", "b") and data.records == 2
