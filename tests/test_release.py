"""Publishing a point of a map: certificate and data together or not at all, and the public version tells no more."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import sfumato
from command_line import run
from independent_checker import read_rows, violations
from renames import watched_renames
from sfumato.errors import BadInputError
from sfumato.publish import publication as publishable
from sfumato.publish.certificate import certificate_files, check_certificate, read_certificate
from sfumato.publish.pipeline import publish_point
from sfumato.report.folder import save_map

STUDY = """
name = "wards"
axes = ["p_loss", "loss"]
[table]
source = "patients.csv"
quasi = ["age", "zip"]
sensitive = ["ill"]
neutral = ["ward"]
identifier = ["name"]
[scales]
min_support = 0.1
queries = "queries number=20"
[[candidates]]
anonymizers = ["mondrian", "mondrian mode=relaxed seed=4711"]
requirements = ["k-anonymity k=3"]
forms = ["generalization", "bucketization"]
[[candidates]]
anonymizers = ["mondrian", "full-domain"]
requirements = ["k-anonymity k=3", "k-anonymity k=4 & l-diversity l=2 variant=distinct"]
forms = ["generalization", "bucketization"]
suppress = [0.1]
[[candidates]]
anonymizers = ["without-quasi", "original"]
[[candidates]]
requirements = ["k-anonymity k=1000"]
"""
RARE = ("Quintessa", "97531", "moonpox")
"""One person: the only bearer of this name, this zip and this illness."""


def patients(count=60):
    ills = ["flu", "flu", "cold", "asthma", "angina"]
    rows = [(f"Person {i}", 20 + i * 7 % 50, f"8100{i % 4}", ills[i % 5], "AB"[i % 2]) for i in range(count)]
    return [*rows, (RARE[0], 93, RARE[1], RARE[2], "A")]


def write_patients(path, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["name", "age", "zip", "ill", "ward"], *rows])


@pytest.fixture(scope="module")
def explored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("map")
    write_patients(folder / "patients.csv", patients())
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    (folder / "map").mkdir()
    save_map(sfumato.explore(str(folder / "study.toml")), folder / "map")
    return folder


def points(explored, **wanted):
    shown = sfumato.read_map(explored / "map")
    return [
        point
        for point in shown.points
        if point.status == "measured" and all(getattr(point, key) == value for key, value in wanted.items())
    ]


def releasable(explored):
    return [point for point in points(explored) if point.anonymizer != "original"]


@pytest.fixture(scope="module")
def published(explored, tmp_path_factory):
    """Every point that can be, published: the point, its file, and what the tool says of it."""
    folder = tmp_path_factory.mktemp("published")
    return [
        (point, folder / f"{point.id}.csv", publish_point(explored / "map", point.id, folder / f"{point.id}.csv"))
        for point in releasable(explored)
    ]


def original(names):
    header = ["name", "age", "zip", "ill", "ward"]
    return [{n: str(v) for n, v in zip(header, row, strict=True) if n in names} for row in patients()]


def test_every_point_is_published_with_what_its_certificate_says(explored, published):
    assert len(published) > 10
    for point, path, done in published:
        content = read_certificate(certificate_files(path)[0])
        check_certificate(content, certificate_files(path)[0], path)
        assert content["files"][0]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        eyes = content["internal"]
        assert eyes["required"] == point.requirement and eyes["study"]["point"] == point.id
        group = "group" if point.form == "bucketization" else None
        about = {
            "quasi": ["age", "zip"],
            "sensitive": ["ill"],
            "group": group,
            "original": original({"age", "zip", "ill"}),
        }
        for wanted in (point.requirement, content["promise"]["requirement"]):
            assert violations(path, wanted, **about) == []
        found = sfumato.audit(
            path, ["age", "zip"], ["ill"], original=explored / "patients.csv", group=group, suppressed="keep"
        )
        alone = sfumato.audit(path, ["age", "zip"], ["ill"], group=group, suppressed="keep")
        assert content["relative_to"] == "the file" and eyes["relative_to"] == "the table"
        for name, value in content["measures"].items():
            assert float(value) == pytest.approx(float(alone.measures[name]), abs=1e-9), name
        for name, value in eyes["measures"].items():
            if name != "t_hierarchical" and "loss" not in name.replace("p_loss", ""):  # these need hierarchies
                assert float(value) == pytest.approx(float(found.measures[name]), abs=1e-9), name
        if "relaxed" not in point.anonymizer or "seed" in point.anonymizer:
            for name in ("k", "p_loss", "l_distinct", "smallest_group", "suppressed"):
                assert float(eyes["measures"][name]) == pytest.approx(point.measures[name], abs=1e-9)
        assert content["rows"] == len(read_rows(path)) == 61 - eyes["suppressed"]["records"]
        assert done.files[0] == path


def test_public_certificate_tells_nothing_of_seeds_suppression_or_rare_values(published):
    hiding = [path for point, path, _ in published if point.measures["suppressed"] > 0]
    assert any("seed" in point.anonymizer for point, _, _ in published)
    assert any(RARE[2] not in path.read_text(encoding="utf-8") for path in hiding)
    for point, path, _ in published:
        own, _, outside, page = (file.read_text(encoding="utf-8") for file in certificate_files(path))
        shown = path.read_text(encoding="utf-8")
        for text in (outside, page):
            assert "4711" not in text and "patients.csv" not in text
            for value in RARE:
                assert value in shown or value not in text
        content = json.loads(outside)
        assert not {"suppressed", "input", "study", "details", "notices", "internal"} & set(content)
        telling = {"suppressed", "suppression_loss", "generalization_loss", "loss", "discernibility"}
        assert not telling & {*content["measures"], *content["meaning"]}
        assert all("found" not in own for own in content["warnings"])
        if "seed" in point.anonymizer:
            assert "4711" in own and content["anonymizer"] == "mondrian mode=relaxed"


def test_reports_for_the_public_show_no_rare_values(explored):
    text = (explored / "map" / "report-public.html").read_text(encoding="utf-8")
    assert RARE[2] not in text and RARE[1] not in text and RARE[0] not in text


def test_warnings_speak_of_what_is_found(published):
    said = {}
    for point, path, _ in published:
        said[point.id] = {own["about"]: own for own in read_certificate(certificate_files(path)[0])["warnings"]}
        rows = read_rows(path)
        group = (lambda row: row["group"]) if point.form == "bucketization" else (lambda row: (row["age"], row["zip"]))
        values = {}
        for row in rows:
            values.setdefault(group(row), set()).add(row["ill"])
        alike = sum(len(own) == 1 for own in values.values())
        homogeneity = said[point.id].get("homogeneity")
        assert (homogeneity is not None) == (alike > 0)
        if homogeneity:
            assert homogeneity["found"].startswith(f"{alike} group")
        assert {"membership", "composition", "background knowledge", "neutral columns"} <= set(said[point.id])
        assert ("minimality" in said[point.id]) == ("l-diversity" in point.requirement)
        exact = point.form == "bucketization"
        assert ("identity" in said[point.id]) == exact
        if exact:
            once = sum(n == 1 for n in Counter((row["age"], row["zip"]) for row in rows).values())
            assert said[point.id]["identity"].get("found", "0 ").startswith(f"{once} ")


# -- what is refused -----------------------------------------------------------------------------------------


def refused(done, message):
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_missing_folder_is_made_and_removed_again_where_nothing_is_written(explored, tmp_path, monkeypatch):
    point = points(explored, anonymizer="mondrian", form="generalization")[0]
    words = ("release", explored / "map", "--point", point.id, "--to")
    assert run(*words, tmp_path / "new" / "deeper" / "out.csv").returncode == 0
    assert (tmp_path / "new" / "deeper" / "out.csv").is_file()
    monkeypatch.setattr("sfumato.publish.publication.Publishable.write", refuse_to_write)
    assert run(*words, tmp_path / "other" / "out.csv").returncode == 2
    assert not (tmp_path / "other").exists()


def refuse_to_write(*_):
    raise BadInputError("the disk is full")


def test_a_release_names_its_steps_where_stderr_is_no_terminal(explored, tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.commands._output.SECONDS_BETWEEN_LINES", 0.0)
    point = points(explored, anonymizer="mondrian", form="generalization")[0]
    done = run("release", explored / "map", "--point", point.id, "--to", tmp_path / "out.csv")
    steps = [line for line in done.stderr.splitlines() if line.endswith(" ...")]
    assert steps == [
        "reading the data ...",
        "making the release ...",
        "writing the draft ...",
        "checking the written draft ...",
        "writing the certificates ...",
    ]


def test_bad_requests_are_refused_in_one_sentence(explored, tmp_path):
    point = points(explored, anonymizer="mondrian", form="generalization")[0]
    out = tmp_path / "out.csv"
    refused(run("release", explored / "map", "--point", "nonsense", "--to", out), "no point 'nonsense'")
    refused(run("release", tmp_path, "--point", point.id, "--to", out), "there is no points.json here")
    table = explored / "map" / "points.json"
    refused(run("release", explored / "map", "--point", point.id, "--to", table / "out.csv"), "is a file, not a folder")
    refused(run("release", explored / "map", "--point", point.id, "--to", tmp_path / "out.txt"), ".csv")
    original_point = points(explored, anonymizer="original")[0]
    refused(run("release", explored / "map", "--point", original_point.id, "--to", out), "original table")
    shown = sfumato.read_map(explored / "map")
    infeasible = next(point for point in shown.points if point.status == "infeasible")
    refused(run("release", explored / "map", "--point", infeasible.id, "--to", out), "was not made")
    assert list(tmp_path.iterdir()) == []
    done = run("release", explored / "map", "--point", point.id, "--to", out, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["measures"]["k"] >= 3
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    refused(run("release", explored / "map", "--point", point.id, "--to", out), "exists already")
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before
    out.unlink()
    refused(run("release", explored / "map", "--point", point.id, "--to", out), "certificate.json exists already")
    assert run("release", explored / "map", "--point", point.id, "--to", out, "--force").returncode == 0


def test_a_table_that_has_changed_is_noticed(tmp_path):
    write_patients(tmp_path / "patients.csv", patients())
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    (tmp_path / "map").mkdir()
    save_map(sfumato.explore(str(tmp_path / "study.toml")), tmp_path / "map")
    point = points(tmp_path, anonymizer="mondrian")[0]
    write_patients(tmp_path / "patients.csv", patients(59))
    with pytest.raises(sfumato.BadInputError, match="has changed since the map"):
        publish_point(tmp_path / "map", point.id, tmp_path / "out.csv")
    (tmp_path / "patients.csv").unlink()
    with pytest.raises(sfumato.BadInputError, match=r"patients\.csv"):
        publish_point(tmp_path / "map", point.id, tmp_path / "out.csv")
    assert not list(tmp_path.glob("out*"))


def test_a_certificate_that_does_not_match_its_file_is_refused(explored, tmp_path):
    point = points(explored, anonymizer="mondrian", form="generalization")[0]
    path = tmp_path / "out.csv"
    publish_point(explored / "map", point.id, path)
    words = ["audit", path, "--quasi", "age,zip", "--sensitive", "ill", "--certificate", certificate_files(path)[0]]
    assert run(*words).returncode == 0
    path.write_text(path.read_text(encoding="utf-8").replace("flu", "cold", 1), encoding="utf-8")
    refused(run(*words), "is not the file that")
    (tmp_path / "other.json").write_text("{}")
    refused(run(*words[:-1], tmp_path / "other.json"), "not a certificate")


def test_a_folder_that_cannot_be_written(explored):
    """Nobody can make files in /proc, not even root."""
    point = releasable(explored)[0]
    refused(run("release", explored / "map", "--point", point.id, "--to", "/proc/out.csv"), "cannot be written")


def test_a_full_disk_leaves_nothing_behind(explored, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sfumato.publish.certificate.certificate_page", full)
    with pytest.raises(sfumato.BadInputError, match="No space left on device"):
        publish_point(explored / "map", releasable(explored)[0].id, tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_parquet_has_certificates_too(explored, tmp_path):
    point = points(explored, anonymizer="mondrian", form="bucketization")[0]
    publish_point(explored / "map", point.id, tmp_path / "one.csv")
    content = read_certificate(tmp_path / "one.csv.certificate.json")
    publish_point(explored / "map", point.id, tmp_path / "one.parquet")
    measures = read_certificate(tmp_path / "one.parquet.certificate.json")["measures"]
    assert measures == pytest.approx(content["measures"], abs=1e-9)


def test_release_then_apply_on_the_command_line(explored, tmp_path):
    point = points(explored, anonymizer="full-domain", form="generalization")[0]
    words = [
        "release",
        explored / "map",
        "--point",
        point.id,
        "--to",
        tmp_path / "out.csv",
        "--mapping",
        tmp_path / "m.json",
    ]
    done = run(*words)
    assert done.returncode == 0 and "sfumato apply" in done.stdout, done.stderr
    done = run(
        "apply", tmp_path / "m.json", explored / "patients.csv", "--to", tmp_path / "again.csv", "--rest", "drop"
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()


def test_a_file_that_its_audit_does_not_confirm_is_not_published(explored, tmp_path, monkeypatch):
    point = points(explored, anonymizer="mondrian", form="generalization", requirement="k-anonymity k=3")[0]

    as_it_is = sfumato.Release.write_draft

    def spoiled(release, draft, *how):
        as_it_is(release, draft, *how)
        lines = draft.read_text(encoding="utf-8").splitlines()
        draft.write_text("\n".join([*lines[:-1], lines[-1].replace(lines[-1].split(",")[0], "77")]) + "\n")

    monkeypatch.setattr(sfumato.Release, "write_draft", spoiled)
    with pytest.raises(AssertionError, match="audit of the written file failed"):
        publish_point(explored / "map", point.id, tmp_path / "out.csv")
    monkeypatch.undo()
    monkeypatch.setattr(
        publishable,
        "measure",
        lambda release: replace(measured := sfumato.measure(release), values={**measured.values, "k": 99}),
    )
    with pytest.raises(AssertionError, match="k is 3"):
        publish_point(explored / "map", point.id, tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


# -- kill -9 -------------------------------------------------------------------------------------------------

KILLED = 30


def consistent(folder: Path) -> None:
    """Never a data file without its matching certificate, never half a file."""
    data = folder / "out.csv"
    if data.exists():
        for certified in (certificate_files(data)[0], certificate_files(data)[2]):
            check_certificate(read_certificate(certified), certified, data)
    for file in folder.iterdir():
        if file.suffix == ".json" and ".part" not in file.name:
            json.loads(file.read_text(encoding="utf-8"))
        if file.suffix == ".html" and ".part" not in file.name:
            assert file.read_text(encoding="utf-8").rstrip().endswith("</html>")


def test_after_every_single_rename_data_and_certificate_fit(explored, tmp_path, monkeypatch):
    """What a kill between two renames would leave, one rename after the other, with an older release in place."""
    first, second = releasable(explored)[:2]
    publish_point(explored / "map", first.id, tmp_path / "out.csv")
    seen = watched_renames(monkeypatch, lambda: consistent(tmp_path))
    publish_point(explored / "map", second.id, tmp_path / "out.csv", force=True)
    named = [name for name in seen if not name.endswith(".old")]  # what stepped aside goes when all have their names
    assert len(named) == 6 and named[-1] == "out.csv"


def test_killed_at_any_moment_there_is_no_data_without_its_certificate(explored, tmp_path):
    """One process publishes over and over, a different point each time, and is killed at random moments."""
    ids = [point.id for point in releasable(explored)[:4]]
    script = (
        "import sys, itertools; from sfumato.publish.pipeline import publish_point; print('ready', flush=True)\n"
        f"for id in itertools.cycle({ids!r}): publish_point(sys.argv[1], id, sys.argv[2], force=True)"
    )
    chance = random.Random(5)
    published = 0
    for _ in range(KILLED // 10):
        target = tmp_path / "out.csv"
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(explored / "map"), str(target)], stdout=subprocess.PIPE
        )
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        while not target.exists() and process.poll() is None:
            time.sleep(0.01)
        for _ in range(10):  # stopped ten times, looked at, and let go on; then killed
            time.sleep(chance.uniform(0.0, 0.12))
            process.send_signal(signal.SIGSTOP)
            assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])  # it may run on for a moment
            consistent(tmp_path)
            published += target.exists()
            process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGKILL)
        process.wait()
        consistent(tmp_path)
    assert published > 10


PEOPLE = {
    "age": [str(20 + i % 17) for i in range(60)],
    "sex": ["fm"[i % 2] for i in range(60)],
    "ill": [("flu", "cold", "gout")[i * 7 % 3] for i in range(60)],
}


@pytest.fixture
def release():
    pyarrow = pytest.importorskip("pyarrow")
    return sfumato.anonymize(pyarrow.table(PEOPLE), "k-anonymity k=4", quasi=["age", "sex"], sensitive=["ill"])


def test_a_release_is_published_with_certificates_and_written_without(release, tmp_path):
    assert release.to_csv(tmp_path / "data.csv") == [tmp_path / "data.csv"]
    done = release.publish(tmp_path / "out.csv")
    assert sorted(done.files) == sorted([tmp_path / "out.csv", *certificate_files(tmp_path / "out.csv")])
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "data.csv").read_bytes()
    own, _, public, _ = (json.loads(path.read_text()) if path.suffix == ".json" else path for path in done.files[1:])
    assert own["internal"]["input"]["records"] == 60 and "internal" not in public
    assert public["promise"]["checked_on_the_file"] and public["measures"]["k"] >= 4
    with (tmp_path / "out.csv").open(newline="") as stream:
        assert public["rows"] == len(list(csv.DictReader(stream)))
    with pytest.raises(sfumato.BadInputError, match="exists already"):
        release.publish(tmp_path / "out.csv")


def test_what_was_changed_after_it_was_made_is_not_certified(release, tmp_path):
    with pytest.raises(sfumato.BadInputError, match="not known how"):
        replace(release, levels=()).publish(tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_anonymize_certifies_unless_it_is_told_not_to(tmp_path, monkeypatch, capsys):
    from command_line import run

    rows = ["age,sex,ill", *map(",".join, zip(*PEOPLE.values(), strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    asked = ("anonymize", "t.csv", "--quasi", "age,sex", "--sensitive", "ill", "--require", "k-anonymity k=4")
    done = run(*asked, "--to", "a.csv", cwd=tmp_path)
    assert done.returncode == 0 and "For the public: a.csv.certificate-public.html" in done.stdout
    own = json.loads((tmp_path / "a.csv.certificate.json").read_text())
    assert "--original" in own["verify"] and run(*own["verify"][1:], cwd=tmp_path).returncode == 0
    public = json.loads((tmp_path / "a.csv.certificate-public.json").read_text())
    assert "t.csv" not in json.dumps(public) and run(*public["verify"][1:], cwd=tmp_path).returncode == 0
    done = run(*asked, "--to", "b.csv", "--no-certificate", cwd=tmp_path)
    assert done.returncode == 0 and "Neither audited nor certified" in done.stdout
    assert sorted(path.name for path in tmp_path.glob("b.csv*")) == ["b.csv"]
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    (tmp_path / "a.csv.board.html").write_text("the page of an earlier release")
    refused = run(*asked, "--to", "a.csv", "--no-certificate", cwd=tmp_path)
    assert refused.returncode == 2 and len(list(tmp_path.glob("a.csv*"))) == 6
    done = run(*asked, "--to", "a.csv", "--no-certificate", "--force", cwd=tmp_path)
    assert done.returncode == 0 and sorted(path.name for path in tmp_path.glob("a.csv*")) == ["a.csv"]


def test_no_certificate_of_an_earlier_file_stays_beside_another_one(release, tmp_path):
    """Its promise is about other bytes: it goes with them, and without force nothing is written beside it."""
    path = tmp_path / "out.csv"
    release.publish(path)
    path.unlink()
    from sfumato.publish.publication import Target

    with pytest.raises(sfumato.BadInputError, match=r"certificate\.json exists already"):
        Target(path, certificate=False).check()
