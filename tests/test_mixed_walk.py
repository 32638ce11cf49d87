"""Patients through the whole walk on the command line: a budget that is spent, and the ICD-9 set from init to audit."""

import json
from pathlib import Path

import pytest
import tomlkit

from command_line import run
from patients import patients, write_patients
from plain_patients import least_candidates, read_records

CODES = Path(__file__).resolve().parents[2] / "shared/data/transactions/uci_diabetes130_icd9_by_patient.dat.gz"
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
@pytest.mark.skipif(not CODES.exists(), reason="needs ../shared")
def test_five_thousand_patients_walk_from_init_to_the_audit(tmp_path):
    table = write_patients(tmp_path / "patients.csv", patients(CODES, 5000))
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
    assert len(records) == 5000 and least_candidates(records, 2) >= k >= 10


def fewer(study: str) -> str:
    """Keep of a first study the candidates with k = 10 and without merging, so that a test is over soon."""
    content = tomlkit.parse(study)
    for block in content["candidates"]:
        if block["anonymizers"] == "mondrian" or "mondrian" in block["anonymizers"]:
            block |= {"requirements": ["k-km-anonymity k=10 m=2"], "merging": ["none"]}
    return tomlkit.dumps(content)
