"""Differentially private releases that leave the house: the written files, the certificates, what is refused."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import re
import signal
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import sfumato
from command_line import run
from renames import watched_renames
from sfumato import MEASURES, BadInputError, Candidate, KAnonymity, tune
from sfumato.anonymizers import MECHANISMS
from sfumato.anonymizers.dp.noise import Noise, UnsafeSeededNoise
from sfumato.anonymizers.dp.trees import DPKdTree, DPQuadtree
from sfumato.publish._written_file import check_draft
from sfumato.publish.board import board_file
from sfumato.publish.cautions import ALARMS, cautions_of
from sfumato.publish.certificate import (
    certificate_files,
    certificate_page,
    check_certificate,
    contexts_of,
    guarantee_values,
    notices_of_records,
    public_certificate,
    read_certificate,
)
from sfumato.publish.mapping import mapping_of
from sfumato.publish.pipeline import publish_point
from sfumato.publish.plain_language import belief, promise_in_words
from sfumato.publish.publication import Origin, Publishable
from sfumato.release.content import Budget
from sfumato.report.folder import save_map
from sfumato.tradeoff.question.question import read_question
from sfumato.tradeoff.search.families import families_of

RECORDS = 1213
DOMAINS = {
    "age": [str(age) for age in range(32)],
    "sex": ["f", "m", "x"],
    "disease": ["flu", "gout", "mumps", "moonpox, rare", "scurvy"],
}
HIERARCHIES = {
    "age": {"type": "numeric", "lower": 0, "upper": 31},
    "sex": {"type": "flat", "values": DOMAINS["sex"]},
    "disease": {"type": "flat", "values": DOMAINS["disease"]},
}
TOML = """
[age]
type = "numeric"
lower = 0
upper = 31
[sex]
type = "flat"
values = ["f", "m", "x"]
[disease]
type = "flat"
values = ["flu", "gout", "mumps", "moonpox, rare", "scurvy"]
"""
STUDY = """
name = "secretstudy"
axes = ["attack_accuracy", "query_error_median"]
[table]
source = "people.csv"
hierarchies = "domains.toml"
quasi = ["sex", "age"]
sensitive = ["disease"]
neutral = ["diary"]
identifier = ["patient"]
[scales]
draws = 2
min_support = 0.1
queries = "queries number=10"
[[candidates]]
anonymizers = [
  "dp-kd-tree epsilon=1 height=4",
  "dp-quadtree epsilon=0.3 height=4 counts=unbiased",
  "dp-privtree epsilon=1",
  "dp-grid epsilon=1",
  "mst epsilon=1",
  "mst epsilon=1 delta=1e-6",
  "aim epsilon=1 delta=1e-6",
]
[[candidates]]
requirements = ["k-anonymity k=5"]
"""


def people(count=RECORDS, seed=3):
    random = np.random.default_rng(seed)
    ages, sexes, ills = (random.integers(0, size, count).tolist() for size in (32, 2, 3))
    return [
        (f"Person {i // 2}", ages[i], DOMAINS["sex"][sexes[i]], DOMAINS["disease"][ills[i]], f"entry {i}")
        for i in range(count)
    ]


def write_people(path, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["patient", "age", "sex", "disease", "diary"], *rows])


def read_rows(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def explored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("map")
    write_people(folder / "people.csv", people())
    (folder / "domains.toml").write_text(TOML, encoding="utf-8")
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    (folder / "map").mkdir()
    save_map(sfumato.explore(str(folder / "study.toml")), folder / "map")
    return folder


def noisy_points(explored):
    return [point for point in sfumato.read_map(explored / "map").points if point.is_noisy]


@pytest.fixture(scope="module")
def published(explored, tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    points = noisy_points(explored)
    assert {point.candidate.anonymizer.name for point in points} == {kind.name for kind in MECHANISMS}
    assert all(point.status == "measured" for point in points)
    return [
        (point, folder / f"{point.id}.csv", publish_point(explored / "map", point.id, folder / f"{point.id}.csv"))
        for point in points
    ]


def memory_table(rows, missing="value", **roles):
    columns = list(zip(*rows, strict=True))
    names = ("patient", "age", "sex", "disease", "diary")
    frame = pa.table(
        {name: [None if v is None else str(v) for v in own] for name, own in zip(names, columns, strict=True)}
    )
    usual = {"quasi": ["sex", "age"], "sensitive": ["disease"], "neutral": ["diary"], "identifier": ["patient"]}
    return sfumato.read(frame, hierarchies=HIERARCHIES, missing=missing, **{**usual, **roles})


# -- the written files -------------------------------------------------------------------------------------


def test_the_file_holds_declared_values_only_and_is_the_certified_one(published):
    for _, path, done in published:
        rows = read_rows(path)
        assert list(rows[0]) == ["age", "sex", "disease"]  # the order of the input, nothing else
        for name, domain in DOMAINS.items():
            assert {row[name] for row in rows} <= set(domain)
        assert done.files == (path, *certificate_files(path), board_file(path))
        assert done.release.rows_written == len(rows)
        for certified in certificate_files(path)[::2]:
            content = read_certificate(certified)
            check_certificate(content, certified, path)
            assert content["files"][0]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
            assert content["rows"] == len(rows)
        assert abs(len(rows) - RECORDS) < RECORDS / 2
        assert {row["disease"] for row in rows} >= {"flu", "gout", "mumps"}


def test_the_numbers_of_a_certificate_add_up(published):
    for point, path, _ in published:
        for certified in certificate_files(path)[::2]:
            own = read_certificate(certified)["promise"]["differential_privacy"]
            epsilon = float(point.parameters["epsilon"])
            assert own["epsilon"] == epsilon and f"epsilon={epsilon:g}" in point.anonymizer
            parts, unit = own["parts"], own["kept_in"]
            assert (unit == "rho") == ("delta" in point.parameters)
            amount = own.get("rho", epsilon)
            assert sum(Fraction(part[unit]) for part in parts) <= Fraction(amount)
            assert math.fsum(part[unit] for part in parts) == pytest.approx(amount, rel=1e-12)
            for key, of in (("by_level", "level"), ("by_purpose", "what")):
                sums = {}
                for part in parts:
                    sums[str(part[of])] = sums.get(str(part[of]), 0) + part[unit]
                assert own[key] == pytest.approx(sums, rel=1e-12)
                assert math.fsum(own[key].values()) == pytest.approx(amount, rel=1e-12)
            assert own["neighbours"].startswith("one record more or less")
            assert "age (32)" in own["public"][0] and "sex (3)" in own["public"][0]
            assert "disease (5)" in own["public"][1]


def test_parts_that_exceed_the_budget_are_never_certified():
    release = DPKdTree(1.0, 2).draw(memory_table(people(20)), UnsafeSeededNoise(1))
    assert guarantee_values(release.guarantee)["epsilon"] == 1.0
    with pytest.raises(AssertionError, match=r"more than 0\.99"):
        replace(release.guarantee, budget=Budget(0.99))


def test_the_page_is_what_the_certificate_says(published):
    for _, path, _ in published:
        own, own_page, outside, outside_page = certificate_files(path)
        for content, page in ((own, own_page), (outside, outside_page)):
            assert page.read_text(encoding="utf-8") == certificate_page(json.loads(content.read_text("utf-8")))
        promise = read_certificate(outside)["promise"]["differential_privacy"]
        rows = r'<tr><th scope="row">([^<]+)</th>(?:<td class="n">[^<]*</td>)*<td class="n">([^<]+)</td></tr>'
        sums = re.findall(rows, outside_page.read_text(encoding="utf-8"))
        shown = {level: f"{own:.4g}" for level, own in promise["by_level"].items()}
        assert dict(sums) == {**shown, "in all": f"{promise.get('rho', promise['epsilon']):.4g}"}
        assert "For your eyes only" in own_page.read_text(encoding="utf-8")
        assert "eyes" not in outside_page.read_text(encoding="utf-8")


def test_a_page_escapes_what_it_shows(published):
    content = read_certificate(certificate_files(published[0][1])[0])
    bad = "<script>alert(1)</script>"
    content["columns"]["quasi"] = [bad]
    content["promise"]["differential_privacy"]["public"] = [bad]
    content["files"][0]["name"] = content["internal"]["input"]["table"] = bad
    content["internal"]["notices"] = [bad]
    assert bad not in certificate_page(content)


# -- what the public must not see --------------------------------------------------------------------------

PUBLIC = {"schema", "kind", "for", "made", "files", "rows", "boxes", "promise", "columns", "anonymizer", "mechanism"}
PUBLIC |= {
    "drawn_from",
    "tables",
    "versions",
    "meanings",
    "warnings",
    "verify",
    "verify_in",
    "formulas",
    "in_plain_words",
}


def test_the_public_certificate_tells_nothing_of_the_records(explored, published):
    digest = sfumato.read_map(explored / "map").about["digest"]
    for point, path, _ in published:
        own = read_certificate(certificate_files(path)[0])
        assert own["internal"]["input"]["records"] == RECORDS
        assert own["internal"]["input"]["sha256"] == digest
        assert own["internal"]["measures_on_the_map"] == pytest.approx(dict(point.measures))
        content = json.loads(certificate_files(path)[2].read_text(encoding="utf-8"))
        assert (
            set(content) == PUBLIC - {"boxes" if "tables" in content else "tables"} and content["for"] == "the public"
        )
        assert all(set(warning) == {"about", "text"} for warning in content["warnings"])
        mechanism = ("rows", "files", "boxes", "tables", "drawn_from")
        drawn = {name: content.pop(name) for name in mechanism if name in content}
        assert set(drawn["files"][0]) == {"name", "sha256", "bytes"}
        assert f"{drawn['rows']:,} rows" in content["in_plain_words"]["is"].pop(0)
        text = json.dumps(content, ensure_ascii=False)
        for secret in (digest, "people.csv", "secretstudy", "diary", "patient", "domains.toml"):
            assert secret not in text, secret
        assert not re.search(rf"\b(?:{RECORDS}|{RECORDS:,})\b", text)
        worked_out = {name: value for name, value in point.measures.items() if name != "epsilon"}
        for name, value in worked_out.items():
            assert name not in text and repr(value) not in text and f"{value:.4g}" not in numbers(content), name
        assert not [name for name in MEASURES if "_" in name and name in text]


def numbers(content):
    """All numbers in a document, as a person would write them, but those of the budget and of versions."""
    kept = {key: value for key, value in content.items() if key not in ("versions", "promise")}
    return {f"{float(found):.4g}" for found in re.findall(r"\d+\.\d+", json.dumps(kept))}


class Deaf(Noise):
    """Noise that does not look at what it is asked: what comes out then depends on the records by a leak alone."""

    safe = True

    def __init__(self):
        self._generator = np.random.default_rng(5)

    def add(self, counts, *_):
        return self._generator.integers(0, 20, counts.shape)

    def choose(self, scores, offsets, *_):
        return np.diff(offsets) // 2


@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.name)
def test_the_public_certificate_depends_on_nothing_but_the_answers(kind, tmp_path):
    """Tables that differ in everything but their columns and domains give the same certificate for the same answers."""
    (tmp_path / "out.csv").write_text("drawn at random\n")
    maker = sfumato.anonymizer(kind.example.replace("height=8", "height=4").replace("switch=4", "switch=2"))
    several, single = people(60), [("x", 31, "x", "scurvy", "same"), ("y", 0, "f", "moonpox, rare", "same")]
    gaps = [(None, None, "m", "gout", None), *people(3, seed=8)]
    found = []
    for rows in (several, single, gaps):
        table = memory_table(rows, missing="drop")
        release = maker.draw(table, Deaf())
        own = Publishable(release, Candidate(maker, KAnonymity(1)), Path("out.csv"), Origin("", ""))
        made = public_certificate(contexts_of(own, [tmp_path / "out.csv"], None)[0])
        found.append({key: value for key, value in made.items() if key != "made"})
    assert found[0] == found[1] == found[2]


# -- drawn afresh ------------------------------------------------------------------------------------------


def test_the_maps_seeded_noise_is_never_published(explored, tmp_path, monkeypatch):
    def seeded(*_):
        raise AssertionError("the noise of the map")

    monkeypatch.setattr(UnsafeSeededNoise, "__init__", seeded)
    point = noisy_points(explored)[0]
    first, second = (publish_point(explored / "map", point.id, tmp_path / f"{i}.csv") for i in range(2))
    assert first.release.publishable
    assert not np.array_equal(first.release.counts, second.release.counts)
    assert (tmp_path / "0.csv").read_bytes() != (tmp_path / "1.csv").read_bytes()


def test_a_release_from_a_seed_is_refused(explored, tmp_path, monkeypatch):
    draw = DPKdTree.draw
    monkeypatch.setattr(DPKdTree, "draw", lambda self, table: draw(self, table, UnsafeSeededNoise(1)))
    with pytest.raises(BadInputError, match="noise from a seed"):
        publish_point(explored / "map", noisy_points(explored)[0].id, tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_came_out_wrong_is_not_published(tmp_path):
    release = DPQuadtree(1.0, 3).draw(memory_table(people(50)))
    path = tmp_path / "out.csv"
    release.to_csv(path)
    check_draft(release, path)
    lines = path.read_text(encoding="utf-8").splitlines()
    _, rest = lines[1].split(",", 1)
    sick = next(i for i, line in enumerate(lines) if line.endswith(",flu"))
    for spoiled, said in (
        ([lines[0], f"77,{rest}", *lines[2:]], "'77' in age"),
        (lines[:-1], "other numbers of disease"),
        ([*lines[:sick], lines[sick].replace("flu", "gout"), *lines[sick + 1 :]], "other numbers of disease"),
        (["years," + lines[0].split(",", 1)[1], *lines[1:]], "the columns"),
    ):
        path.write_text("\n".join(spoiled) + "\n", encoding="utf-8")
        with pytest.raises(AssertionError, match=said):
            check_draft(release, path)


# -- all or nothing ----------------------------------------------------------------------------------------


def consistent(folder):
    """Never a data file without its matching certificate."""
    data = folder / "out.csv"
    if data.exists():
        for certified in certificate_files(data)[::2]:
            check_certificate(read_certificate(certified), certified, data)


def test_after_every_rename_data_and_certificate_fit(explored, tmp_path, monkeypatch):
    point = noisy_points(explored)[0]
    publish_point(explored / "map", point.id, tmp_path / "out.csv")
    seen = watched_renames(monkeypatch, lambda: consistent(tmp_path))
    publish_point(explored / "map", point.id, tmp_path / "out.csv", force=True)
    named = [name for name in seen if not name.endswith(".old")]  # what stepped aside goes when all have their names
    assert len(named) == 6 and named[-1] == "out.csv"


def test_killed_between_certificates_and_data_there_is_no_data(explored, tmp_path):
    """kill -9 after the fifth of six renames, with an older release in place."""
    point = noisy_points(explored)[0]
    publish_point(explored / "map", point.id, tmp_path / "out.csv")
    script = (
        "import os, sys; from pathlib import Path; from sfumato.publish.pipeline import publish_point\n"
        "rename, done = Path.replace, []\n"
        "def counting(draft, target):\n"
        "    done.append(rename(draft, target))\n"
        f"    named = [own for own in done if own.suffix != '.old']\n"
        f"    if len(named) == 5: os.kill(os.getpid(), {int(signal.SIGKILL)})\n"
        "Path.replace = counting\n"
        "publish_point(sys.argv[1], sys.argv[2], sys.argv[3], force=True)"
    )
    words = [sys.executable, "-c", script, str(explored / "map"), point.id, str(tmp_path / "out.csv")]
    assert subprocess.run(words, capture_output=True).returncode == -signal.SIGKILL
    assert not (tmp_path / "out.csv").exists() and all(
        file.exists() for file in certificate_files(tmp_path / "out.csv")
    )


def test_a_full_disk_leaves_nothing_behind(explored, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sfumato.publish.certificate.certificate_page", full)
    with pytest.raises(BadInputError, match="No space left on device"):
        publish_point(explored / "map", noisy_points(explored)[0].id, tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


# -- what epsilon means, and what is alarming --------------------------------------------------------------


def test_epsilon_in_words_is_what_bayes_says():
    """From even odds the posterior odds are at most e^epsilon; another value is one record less and one more."""
    for epsilon in (0.1, 1.0, 3.0):
        odds = math.exp(epsilon)
        assert belief(epsilon) == pytest.approx(odds / (1 + odds))
        said = promise_in_words(epsilon)
        assert f"{odds:.3g} times" in said
        assert f"{100 * odds / (1 + odds):.3g} % sure by this file" in said
        assert (
            f"values the person has there, the attacker can become at most {100 * odds**2 / (1 + odds**2):.3g} %"
            in said
        )
    assert "10^434 times" in promise_in_words(1000.0) and "100 % (as good as)" in promise_in_words(1000.0)


def alarms(release, maker):
    """Name what is wrong with the settings of a draw."""
    return [own.about for own in cautions_of(release, Candidate(maker, KAnonymity(1))) if own.about in ALARMS]


def test_alarms_where_the_promise_is_weak_or_noise_drowns_the_counts():
    table = memory_table(people(400))

    def about(text):
        maker = sfumato.anonymizer(text)
        return alarms(maker.draw(table, UnsafeSeededNoise(1)), maker)

    assert about("dp-quadtree epsilon=4.5 height=2") == []  # e^4.5 / (1 + e^4.5) = .989
    assert about("dp-quadtree epsilon=4.7 height=2") == ["large epsilon"]  # .991
    assert about("dp-quadtree epsilon=1 height=7") == ["more noise than records"]
    assert about("dp-privtree epsilon=2") == []


def test_what_the_publisher_alone_is_told():
    table = memory_table(people(40), missing="drop")
    maker = DPQuadtree(0.05, 6)
    release = maker.draw(table, UnsafeSeededNoise(1))
    said = {own.about: own.count for own in cautions_of(release, Candidate(maker, KAnonymity(1))) if own.count}
    rows = int(np.rint(np.maximum(release.counts, 0)).sum())
    assert said["synthetic records"].startswith(f"{rows:,} rows, but the table has 40 records")
    assert said["several records"] == "up to 2 records with one value of patient"
    assert said["other columns"] == "not in it: patient and diary"
    assert notices_of_records(table) == [] and table.notices  # those of the table speak of k and of columns kept
    for kind in MECHANISMS:
        assert kind.procedure.endswith(".") and len(kind.procedure) > 80


# -- the command line --------------------------------------------------------------------------------------


def refused(done, message):
    code, out, err = done
    lines = [line for line in err.strip().splitlines() if not line.startswith(("note:", "First run"))]
    assert code == 2 and message in err and len(lines) == 1 and out == "", (code, out, err)


TABLE = ["--quasi", "sex,age", "--sensitive", "disease"]
WITH = ["--with", "dp-kd-tree epsilon=1 height=4"]


def test_anonymize_end_to_end(explored, tmp_path):
    table = [explored / "people.csv", *TABLE, "--hierarchies", explored / "domains.toml", *WITH]
    code, out, err = run("anonymize", *table, "--neutral", "diary", "--to", tmp_path / "a.csv")
    rows = read_rows(tmp_path / "a.csv")
    assert code == 0 and err == "" and f"{len(rows):,} synthetic records" in out and "16 boxes" in out, err
    assert "epsilon 1." in out and "2.72 times" in out and "counts 0.7, medians 0.3" in out
    assert "Not in the file, because nothing is published unchanged: patient, diary." in out
    for name, domain in DOMAINS.items():
        assert {row[name] for row in rows} <= set(domain)
    code, out, _ = run("anonymize", *table, "--to", tmp_path / "a.parquet", "--json")
    said = json.loads(out)
    assert code == 0 and said["records_written"] == parquet.read_table(tmp_path / "a.parquet").num_rows
    assert said["epsilon"] == 1 and said["boxes"] == 16 and said["seconds"] > 0
    assert math.fsum(said["guarantee"]["by_level"].values()) == pytest.approx(1, rel=1e-12)
    assert math.fsum(said["guarantee"]["by_purpose"].values()) == pytest.approx(1, rel=1e-12)
    assert RECORDS not in said.values()
    assert run("anonymize", *table, "--require", "k-anonymity k=1", "--to", tmp_path / "b.csv")[0] == 0
    assert run("anonymize", *table, "--to", tmp_path / "b.csv")[0] == 2  # exists already


def test_anonymize_the_bundled_table(tmp_path):
    code, out, _ = run("anonymize", "adult", "--with", "dp-quadtree epsilon=6 height=4", "--to", tmp_path / "x.csv")
    assert code == 0 and "16 boxes" in out and "WARNING: An epsilon of 6 promises very little" in out
    assert len(read_rows(tmp_path / "x.csv")) > 40_000


def test_anonymize_refuses_in_one_sentence(explored, tmp_path):
    table = [explored / "people.csv", *TABLE, "--hierarchies", explored / "domains.toml"]
    to = ["--to", tmp_path / "out.csv"]
    for words, said in (
        ([*WITH, "--require", "k-anonymity k=5"], "cannot promise k-anonymity k=5; leave the requirement out"),
        ([*WITH, "--form", "bucketization"], "not bucketization"),
        ([*WITH, "--suppress", "0.1"], "suppresses no records"),
        ([*WITH, "--set", "layout=long"], "layout is about sets of items"),
        (["--with", "dp-kd-tree epsilon=0 height=4"], "epsilon must be"),
        (["--with", "dp-kd-tree epsilon=1 height=9"], "height must be at most 7 for this table, not 9"),
        (["--with", "mondrian"], "mondrian needs to know what to satisfy: --require"),
    ):
        refused(run("anonymize", *table, *words, *to), said)
    refused(run("anonymize", *table[:-2], *WITH, *to), "were taken from the records")
    assert list(tmp_path.iterdir()) == []


def test_release_and_what_it_refuses(explored, tmp_path):
    point, to = noisy_points(explored)[0], tmp_path / "out.csv"
    words = ["release", explored / "map", "--point", point.id, "--to", to]
    refused(run(*words, "--mapping", tmp_path / "m.json"), "there is no mapping to apply to new data")
    refused(run(*words, "--set", "layout=long"), "leave out --set layout")
    assert list(tmp_path.iterdir()) == []
    code, out, _ = run(*words)
    assert code == 0 and f"{len(read_rows(to)):,} synthetic records" in out and "certificate-public.html" in out
    assert "each further one adds its epsilon" in out
    refused(run(*words), "exists already")
    code, out, _ = run(*words, "--force", "--json")
    said = json.loads(out)
    assert code == 0 and said["point"] == point.id and len(said["files"]) == 6 and said["epsilon"] == 1
    consistent(tmp_path)
    refused(
        run("apply", f"{to}.certificate.json", explored / "people.csv", "--to", tmp_path / "n.csv"), "not a mapping"
    )


def test_mapping_of_a_noisy_release_is_refused():
    release = DPKdTree(1.0, 2).draw(memory_table(people(20)), UnsafeSeededNoise(1))
    with pytest.raises(BadInputError, match="cannot be done with a noisy, synthetic or perturbed release"):
        mapping_of(release, KAnonymity(1))


def test_a_table_that_has_changed_is_noticed(explored, tmp_path):
    moved = tmp_path / "map"
    moved.mkdir()
    write_people(tmp_path / "people.csv", people(RECORDS - 1))
    (tmp_path / "domains.toml").write_text(TOML, encoding="utf-8")
    for name in ("points.json", "study.toml"):
        text = (explored / "map" / name).read_text(encoding="utf-8")
        (moved / name).write_text(text.replace(str(explored), str(tmp_path)), encoding="utf-8")
    with pytest.raises(BadInputError, match="has changed since the map"):
        publish_point(moved, noisy_points(explored)[0].id, tmp_path / "out.csv")
    assert not list(tmp_path.glob("out*"))


def test_audit_checks_the_file_and_promises_no_frequency(published, tmp_path):
    _, path, _ = published[0]
    outside = certificate_files(path)[2]
    code, out, err = run("audit", path, "--certificate", outside)
    assert code == 0 and err == "" and "is exactly the file" in out and "epsilon 1" in out
    assert "Nothing in a file can prove" in out and "smallest" not in out
    code, out, _ = run("audit", path, *TABLE, "--certificate", outside, "--json")
    assert code == 0 and json.loads(out)["promise"]["differential_privacy"]["epsilon"] == 1
    refused(run("audit", path, "--certificate", outside, "--require", "k-anonymity k=2"), "can neither pass nor fail")
    other = tmp_path / path.name
    other.write_bytes(path.read_bytes() + b"1,f,flu\n")
    refused(run("audit", other, "--certificate", outside), "is not the file that")
    refused(run("audit", path), "there is no quasi-identifier")
    code, out, _ = run("audit", path, *TABLE)  # without the certificate it is a file like any other
    assert (code in (0, 1) and "combination" in out) or "group" in out


def test_a_draw_that_leaves_no_record_is_a_file_all_the_same(tmp_path):
    release = DPQuadtree(1.0, 2).draw(memory_table(people(3)))
    empty = replace(release, drawn=np.zeros_like(release.drawn))
    empty.to_csv(tmp_path / "out.csv")
    check_draft(empty, tmp_path / "out.csv")
    assert read_rows(tmp_path / "out.csv") == []


# -- records of a model ------------------------------------------------------------------------------------


def test_the_certificate_of_drawn_records_says_what_they_were_drawn_from(published):
    for point, path, done in published:
        if point.candidate.anonymizer.shown_as != "synthetic records":
            continue
        own = read_certificate(certificate_files(path)[2])
        assert [table["columns"] for table in own["tables"]] == [
            list(table.names) for table in done.release.details["counted"]
        ]
        assert own["drawn_from"].startswith("a model of the noisy counts of single columns")
        assert "boxes" not in own["mechanism"]["procedure"] and "box" not in json.dumps(own["meanings"])
        assert "step" in certificate_files(path)[3].read_text(encoding="utf-8")
        delta = point.candidate.anonymizer.delta
        private = own["promise"]["differential_privacy"]
        assert private.get("delta") == delta
        code, out, _ = run("audit", path, "--certificate", certificate_files(path)[2])
        assert code == 0 and "is exactly the file" in out and ("and delta 1e-06" in out) == (delta is not None)
        if delta is not None:
            accuracy = (math.e + delta) / (1 + math.e)
            assert f"is right at most {100 * accuracy:.3g} % of the time" in private["in_words"]
            assert "is right at most 74 % of the time" in own["in_plain_words"]["protects"][1]
            assert own["mechanism"]["noise"].startswith("Counts get discrete Gaussian noise")


def test_anonymize_draws_records_of_a_model_in_one_line(explored, tmp_path):
    table = [explored / "people.csv", *TABLE, "--hierarchies", explored / "domains.toml"]
    code, out, err = run("anonymize", *table, "--with", "mst epsilon=1 delta=1e-6", "--to", tmp_path / "a.csv")
    rows = read_rows(tmp_path / "a.csv")
    assert code == 0 and f"{len(rows):,} synthetic records, drawn from a model of the noisy counts" in out, err
    assert "epsilon 1 and delta 1e-06" in out and "Where rho went, by step" in out and "box" not in out
    for name, domain in DOMAINS.items():
        assert {row[name] for row in rows} <= set(domain)
    refused(
        run("anonymize", *table[:-2], "--with", "mst epsilon=1", "--to", tmp_path / "b.csv"), "taken from the records"
    )


def test_a_delta_too_large_for_the_rows_is_alarming():
    table = memory_table(people(400))
    for delta, expected in (("1e-6", []), ("1e-3", ["large delta"])):
        maker = sfumato.anonymizer(f"mst epsilon=4 delta={delta}")
        assert alarms(maker.draw(table, UnsafeSeededNoise(1)), maker) == expected


def test_of_somebody_with_several_records_the_delta_grows_too():
    """Group privacy: n records are (n epsilon, n e^((n - 1) epsilon) delta), not (n epsilon, delta)."""
    table = memory_table(people(400))
    for text, grows in (("mst epsilon=1", False), ("mst epsilon=1 delta=1e-6", True)):
        maker = sfumato.anonymizer(text)
        cautions = cautions_of(maker.draw(table, UnsafeSeededNoise(1)), Candidate(maker, KAnonymity(1)))
        [several] = [each.text for each in cautions if each.about == "several records"]
        assert ("n times epsilon and a delta of n e^((n - 1) epsilon) times delta" in several) == grows


def test_records_that_came_out_wrong_are_not_published(tmp_path):
    release = sfumato.draw(memory_table(people(300)), "mst epsilon=5")
    path = tmp_path / "out.csv"
    release.to_csv(path)
    check_draft(release, path)
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[1] = f"{(int(lines[1].split(',')[0]) + 1) % 32},{lines[1].split(',', 1)[1]}"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="other numbers of age than were drawn"):
        check_draft(release, path)


def test_the_smallest_epsilon_within_a_bound_can_be_asked_for(explored):
    map_ = sfumato.read_map(explored / "map")
    within = [point for point in noisy_points(explored) if point.measures["query_error"] <= 0.5]
    assert map_.ask("epsilon within query_error 0.5").answer.measures["epsilon"] == min(
        float(point.parameters["epsilon"]) for point in within
    )
    best = map_.ask("query_error within epsilon 0.5").answer
    assert best.parameters["epsilon"] == 0.3 and "epsilon" in best.measures
    assert map_.ask("epsilon within query_error 0.000001").answer is None
    assert all("epsilon" not in point.measures for point in map_.points if not point.is_noisy)


def test_a_search_for_epsilon_turns_the_dial_of_mechanisms(explored):
    study = sfumato.read_map(explored / "map").study
    table = study.table.open()
    families = families_of(study, table, private=True)
    dials = {family.example.anonymizer.name: family.dial for family in families if family.dial.field == "epsilon"}
    assert set(dials) == {kind.name for kind in MECHANISMS}
    bare = replace(study, grids=study.grids[1:])
    offered = [family.example.anonymizer for family in families_of(bare, table, private=True)]
    assert sfumato.anonymizers.MST(1.0) in offered
    assert sfumato.anonymizers.MST(1.0) not in [family.example.anonymizer for family in families_of(bare, table)]


def test_a_search_finds_a_smaller_epsilon_within_the_bounds(explored):
    study = sfumato.read_map(explored / "map").study
    grid = replace(study.grids[0], anonymizers=(sfumato.anonymizers.MST(5.0),))
    bare = replace(study, grids=(grid,), scales=replace(study.scales, draws=1))
    question = read_question("epsilon within query_error 0.5")
    found = tune(bare, tries=6, best=question.asked, bounds=question.bounds, workers=1)
    answer = found.ask(question).answer
    assert answer.measures["epsilon"] < 5 and answer.measures["query_error"] <= 0.5
    assert all(point.is_noisy for point in found.points)


GROUPED = """
name = "grouped"
axes = ["k", "loss"]
[table]
source = "people.csv"
hierarchies = "domains.toml"
quasi = ["sex", "age"]
sensitive = ["disease"]
[scales]
draws = 1
queries = "queries number=10"
[[candidates]]
anonymizers = ["mondrian"]
requirements = ["k-anonymity k=5"]
"""


@pytest.mark.usefixtures("counted_time")
def test_epsilon_is_asked_of_a_study_whose_axes_are_about_groups(explored, tmp_path, monkeypatch):
    """Its map moves to axes that both have, what was on it stays, and what the questions are about is measured."""
    for name in ("people.csv", "domains.toml"):
        (tmp_path / name).write_bytes((explored / name).read_bytes())
    (tmp_path / "study.toml").write_text(GROUPED, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def answer(text, *options):
        code, out, err = run("ask", "study.toml", text, "--json", *options)
        assert code == 0, err
        return json.loads(out)["answer"], err

    grouped, _ = answer("k within loss 0.9")
    private, err = answer("epsilon within marginal_error_2 0.5", "--search", "1s")
    assert private["measures"]["epsilon"] < 10 and private["measures"]["marginal_error_2"] <= 0.5
    assert "drawn on epsilon and marginal_error_2, not on k and loss" in err
    again, err = answer("k within loss 0.9")
    assert (again["id"], "drawn on" in err) == (grouped["id"], False) and "marginal_error_2" in again["measures"]
    assert answer("epsilon within marginal_error_2 0.5", "--search", "0")[0] == private
    assert run("release", "grouped-map", "--point", private["id"], "--to", "drawn.csv")[0] == 0


@pytest.mark.usefixtures("counted_time")
def test_a_search_for_epsilon_says_why_no_mechanism_can_be_run(explored, tmp_path, monkeypatch):
    (tmp_path / "people.csv").write_bytes((explored / "people.csv").read_bytes())
    (tmp_path / "study.toml").write_text(GROUPED.replace('hierarchies = "domains.toml"', ""), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = run("ask", "study.toml", "epsilon within query_error 0.5", "--search", "1s")
    refused(done, "no release with an epsilon can be made: mst epsilon=0.3162: the domains of columns")
