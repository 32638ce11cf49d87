"""The pages after a run, by their endpoints: map, point, side by side, publishing."""

from __future__ import annotations

import csv
import json
import os
import re
import runpy
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from command_line import run
from sfumato import InfeasibleError, Map, read_map
from sfumato.publish.certificate import certificate_files
from sfumato.workbench.opened_data import all_in_forms
from sfumato.workbench.projects import Desk
from sfumato.workbench.views import map as of_maps
from sfumato.workbench.views import publish as of_publishing
from workbench_maps import ILLS, TOWN, ids, make_clinic, make_shop, people
from workbenches import client_of, make_desk, make_project

CLINIC = "/projects/clinic"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    desk = make_desk(tmp_path_factory.mktemp("after"))
    make_clinic(desk)
    make_shop(desk)
    return desk


@pytest.fixture(scope="module")
def client(desk: Desk) -> Iterator[TestClient]:
    with client_of(desk) as client:
        yield client


@pytest.fixture(scope="module")
def map_(desk: Desk) -> Map:
    return read_map(desk.folder / "clinic")


def in_page(text: str) -> dict[str, Any]:
    """Read what a page hands to its script."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    values: dict[str, Any] = json.loads(found[1])
    return values


# -- the map


def test_the_map_has_every_measured_release_and_what_the_rule_has_to_know(client: TestClient, map_: Map) -> None:
    told = client.get("/api/projects/clinic/map").json()
    assert [each["id"] for each in told["points"]] == ids(map_)
    by_id = {each["id"]: each for each in told["points"]}
    [original] = ids(map_, anonymizer="original")
    assert "not a release to publish" in by_id[original]["refused"]
    assert {each["exact"] for each in told["points"] if each["form"] == "bucketization"} == {True}
    assert told["knee"] == map_.choose().landmarks["knee"] is not None
    assert all(each["meaning"] for each in told["measures"])
    assert not told["running"] and told["project"] == "clinic"


def test_the_map_shows_no_record(client: TestClient) -> None:
    """Every person of the clinic is an age, a town and an illness beside each other: nowhere before one asks."""
    told = client.get("/api/projects/clinic/map").text + json.dumps(in_page(client.get(f"{CLINIC}/map").text))
    assert '"before"' not in told and '"records":[' not in told


def test_a_page_of_the_map_can_be_read_without_scripts(client: TestClient, map_: Map) -> None:
    page = client.get(f"{CLINIC}/map")
    assert page.status_code == 200 and "text/html" in page.headers["content-type"]
    for point in map_.frontier():
        assert f"/projects/clinic/points/{point.id}" in page.text
    assert in_page(page.text)["points"]
    assert TOWN not in page.text and "window.pwned=1</script>" not in page.text


def test_without_a_map_a_page_leads_to_the_run(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    make_project(desk.folder / "people")
    with client_of(desk) as client:
        for step in ("map", "publish"):
            page = client.get(f"/projects/people/{step}")
            assert page.status_code == 200 and "/projects/people/run" in page.text and "no map yet" in page.text
        assert client.get("/api/projects/people/map").status_code == 404
        assert client.get("/projects/people/points/x").status_code == 404
        assert client.get("/projects/nobody/map").status_code == 404


def test_a_question_is_answered_as_the_command_does(client: TestClient, desk: Desk, map_: Map) -> None:
    for question in ("k within loss 0.9", "query_error within attack_accuracy 0.6", "k within loss 0"):
        told = client.get("/api/projects/clinic/map/ask", params={"question": question}).json()
        code, typed, _ = run("ask", str(desk.folder / "clinic"), question, "--json", "--search", "0")
        assert code == (0 if told["answer"] else 1)
        words = all_in_forms(json.loads(typed))  # the same, but for options that one clicks here
        assert {**words, "command": None, "schema": 1} == {**told, "command": None, "schema": 1}


def test_a_question_that_cannot_be_read_belongs_to_its_field(client: TestClient) -> None:
    for question in ("", "best please", "k within los 0.2"):
        answer = client.get("/api/projects/clinic/map/ask", params={"question": question})
        assert answer.status_code == 422 and answer.json()["field"] == "question"
        assert len(answer.json()["error"]) < 300, "a hundred measures help nobody"
    assert " loss" in answer.json()["error"]


@pytest.mark.parametrize("project", ["clinic", "shop"])
def test_every_example_question_has_an_answer_or_says_what_to_relax(client: TestClient, project: str) -> None:
    page = client.get(f"/projects/{project}/map").text
    asked = re.findall(r'data-question="([^"]+)"', page)
    assert len(asked) >= 2
    for question in asked:
        told = client.get(f"/api/projects/{project}/map/ask", params={"question": question})
        assert told.status_code == 200 and (told.json()["answer"] or told.json()["why"])


def test_the_recommendation_is_that_of_the_command(client: TestClient, desk: Desk) -> None:
    for recipient in ("", "public", "partner", "internal"):
        told = client.get("/api/projects/clinic/map/choose", params={"for": recipient}).json()
        options = ["--for", recipient] if recipient else []
        code, typed, _ = run("choose", str(desk.folder / "clinic"), *options, "--json")
        assert (code == 0) == (told["point"] is not None)
        assert told["why"] == all_in_forms(json.loads(typed)["why"])
        assert told["command"].startswith("sfumato choose ")
    answer = client.get("/api/projects/clinic/map/choose", params={"for": "everybody"})
    assert answer.status_code == 422 and answer.json()["field"] == "for"


def test_a_study_that_changed_after_its_map_is_said(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    make_shop(desk)
    study = desk.folder / "shop" / "study.toml"
    with client_of(desk) as client:
        said = '<p class="note">The study was changed after this map was made'
        assert said not in client.get("/projects/shop/map").text
        later = study.stat().st_mtime + 60
        os.utime(study, (later, later))
        for page in ("map", "publish", f"points/{ids(read_map(study.parent))[0]}"):
            assert said in client.get(f"/projects/shop/{page}").text


def test_what_a_run_has_measured_is_on_the_map_before_it_ends(tmp_path: Path) -> None:
    """Points that the run told of are read from the cache, last first; what is of an earlier study is not shown."""
    desk = make_desk(tmp_path)
    map_ = make_shop(desk)
    folder = desk.folder / "shop"
    (folder / "points.json").unlink()
    told = ids(map_)[:3]
    project = desk.project("shop")
    read = of_maps.live(project, told)
    assert sorted(point.id for point in read.measured) == sorted(told)
    assert of_maps.map_files(folder)  # the study is still there
    whole = make_shop(desk, "again")
    read = of_maps.live(desk.project("again"), told)
    assert sorted(point.id for point in read.map_.points) == sorted(ids(whole))
    later = folder.stat().st_mtime + 60
    os.utime(desk.folder / "again" / "study.toml", (later, later))
    read = of_maps.live(desk.project("again"), told)
    assert sorted(point.id for point in read.map_.points) == sorted(told)


# -- a point


@pytest.mark.parametrize("project", ["clinic", "shop"])
def test_every_point_has_a_page_with_its_headlines_and_without_records(
    client: TestClient, desk: Desk, project: str
) -> None:
    map_ = read_map(desk.folder / project)
    for id in ids(map_):
        page = client.get(f"/projects/{project}/points/{id}")
        assert page.status_code == 200, page.text
        [point] = in_page(page.text)["points"]
        told = client.get(f"/api/projects/{project}/points/{id}").json()
        assert told["headlines"] == point["headlines"] and len(told["headlines"]) == 3
        assert "records" not in point["details"] and point["details"]["columns"]
        sample = client.get(f"/api/projects/{project}/points/{id}/records").json()
        many = len(sample["records"]) + sum(len(each["rows"]) for each in sample["tables"]) + len(sample["worst"])
        assert many == point["records"]
        assert all(each["title"] != "Some records, before and after" for each in point["details"].get("tables", []))
        assert all(each["size"] > 1 for each in point["details"].get("worst", []))
    assert client.get(f"/projects/{project}/points/none").status_code == 404


def test_sample_records_are_records_of_the_table(client: TestClient, map_: Map) -> None:
    [id, *_] = ids(map_, requirement="k-anonymity k=5", form="generalization")
    sample = client.get(f"/api/projects/clinic/points/{id}/records").json()["records"]
    known = {tuple(sorted(row)) for row in people()}
    assert sample and all(tuple(sorted(map(str, each["before"].values()))) in known for each in sample)


def test_a_preview_is_the_public_certificate_and_leaves_nothing(client: TestClient, desk: Desk, map_: Map) -> None:
    """Of every kind: in groups, in buckets, noisy, synthetic, changed, brought; and of baskets."""
    kinds = {point.candidate.anonymizer.name: point.id for point in map_.points if point.status == "measured"}
    assert {"mondrian", "dp-grid", "cart", "microaggregation", "brought"} <= set(kinds)
    before = sorted(path.name for path in (desk.folder / "clinic").iterdir())
    shop = read_map(desk.folder / "shop")
    asked = [("clinic", kinds[name]) for name in ("mondrian", "dp-grid", "cart", "microaggregation", "brought")]
    for project, id in [*asked, ("shop", ids(shop, requirement="km-anonymity k=5 m=2")[0])]:
        told = client.get(f"/api/projects/{project}/points/{id}/certificate")
        assert told.status_code == 200, (id, told.text)
        content = told.json()["certificate"]
        assert content["for"] == "the public" and "internal" not in content
        page = client.get(f"/projects/{project}/points/{id}/certificate")
        assert content["in_plain_words"]["is"][0].split(".")[0][:20] in page.text
        policy = page.headers["content-security-policy"]
        assert "sandbox" in policy and "script-src" not in policy and "default-src 'none'" in policy
    assert sorted(path.name for path in (desk.folder / "clinic").iterdir()) == before


def test_what_may_not_be_published_says_so_and_has_no_preview(client: TestClient, map_: Map) -> None:
    [original] = ids(map_, anonymizer="original")
    page = client.get(f"{CLINIC}/points/{original}").text
    assert "This may not be published" in page and "show-certificate" not in page and "/publish?point=" not in page
    answer = client.get(f"/api/projects/clinic/points/{original}/certificate")
    assert answer.status_code == 422 and "not a release to publish" in answer.json()["error"]


# -- side by side


def test_two_or_three_are_compared_and_no_more(client: TestClient, map_: Map) -> None:
    some = ids(map_)[:4]
    for many in (2, 3):
        told = client.get("/api/projects/clinic/compare", params={"points": ",".join(some[:many])}).json()
        assert [each["id"] for each in told["points"]] == some[:many]
        page = client.get(f"{CLINIC}/compare", params={"points": ",".join(some[:many])}).text
        assert [each["id"] for each in in_page(page)["points"]] == some[:many]
    for points, word in ((",".join(some), "at most 3"), (some[0], "two or three"), (f"{some[0]},{some[0]}", "two or")):
        answer = client.get("/api/projects/clinic/compare", params={"points": points})
        assert answer.status_code == 422 and word in answer.json()["error"] and answer.json()["field"] == "points"
    assert client.get("/api/projects/clinic/compare", params={"points": "a,b"}).status_code == 404
    assert "Choose two or three" in client.get(f"{CLINIC}/compare").text


# -- publishing


def published(client: TestClient, point: str, file: str, **more: Any) -> Any:
    return client.post("/api/projects/clinic/releases", json={"point": point, "file": file, **more})


def test_a_release_is_published_with_what_was_said_and_can_be_downloaded_and_audited(
    client: TestClient, desk: Desk, map_: Map, tmp_path: Path
) -> None:
    [id, *_] = ids(map_, requirement="k-anonymity k=12", form="generalization")
    answer = published(client, id, "für alle.csv", mapping=True, recipient="internal", escape_formulas=True)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert "Re-checked on the written file: k-anonymity k=12" in told["lines"]
    kinds = {file["name"]: file["kind"] for file in told["files"]}
    assert kinds["für alle.csv"] == "data" and kinds["für alle.csv.mapping.json"] == "mapping"
    assert sorted(kinds.values()) == ["board", "data", "mapping", "own", "own", "public", "public"]
    data = client.get(f"{CLINIC}/releases/für alle.csv")
    assert data.headers["content-disposition"].startswith("attachment")
    path = tmp_path / "downloaded.csv"
    path.write_bytes(data.content)
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    assert len(rows) == 1 + 240 and {row[2] for row in rows[1:]} <= set(ILLS)
    code, said, _ = run(
        "audit", str(path), "--quasi", "age", "--quasi", rows[0][1], "--require", "k-anonymity k=12", "--json"
    )
    assert code == 0 and json.loads(said)["measures"]["k"] >= 12
    page = client.get(f"{CLINIC}/releases/für alle.csv.certificate-public.html")
    assert "sandbox" in page.headers["content-security-policy"] and "content-disposition" not in page.headers
    listed = client.get("/api/projects/clinic/releases").json()["releases"]
    [entry] = [each for each in listed if each["file"] == "für alle.csv"]
    assert entry["point"] == id and entry["recipient"] == "internal" and entry["repeatable"]
    assert "für alle.csv" in client.get(f"{CLINIC}/publish").text


def test_a_release_beyond_the_bounds_of_a_recipient_is_refused(client: TestClient, desk: Desk, map_: Map) -> None:
    [id, *_] = ids(map_, requirement="k-anonymity k=2", form="generalization")
    offer = client.get(f"/api/projects/clinic/points/{id}/offer").json()
    against = {each["name"]: each["against"] for each in offer["recipients"]}
    assert any("k at least 11 is required" in text for text in against["public"])
    answer = published(client, id, "refused.csv", recipient="public")
    assert answer.status_code == 422 and "is not fit for public" in answer.json()["error"]
    assert not (desk.folder / "clinic" / "releases" / "refused.csv").exists()


@pytest.mark.parametrize(
    ("file", "word"),
    [
        ("../out.csv", "cannot be the name"),
        ("a/b.csv", "cannot be the name"),
        (".hidden.csv", "cannot be the name"),
        ("a\x00.csv", "cannot be the name"),
        ("<b>.csv", "cannot be the name"),
        ("", "cannot be the name"),
        ("table.xlsx", "must end in"),
        ("none", "must end in"),
    ],
)
def test_a_name_that_is_no_file_here_is_refused_at_its_field(
    client: TestClient, map_: Map, file: str, word: str
) -> None:
    answer = published(client, ids(map_)[0], file)
    assert answer.status_code == 422 and answer.json()["field"] == "file" and word in answer.json()["error"]


def test_refusals_of_publishing_are_sentences(client: TestClient, map_: Map) -> None:
    groups = ids(map_, requirement="k-anonymity k=5", form="generalization")[0]
    [noisy] = ids(map_, anonymizer="dp-grid epsilon=1")
    [original] = ids(map_, anonymizer="original")
    for point, more, word in [
        (original, {}, "not a release to publish"),
        (noisy, {"mapping": True}, "there is no mapping"),
        (groups, {"layout": "long"}, "a layout is about sets of items"),
        (groups, {"layout": "sideways"}, "layout"),
        (groups, {"recipient": "everybody"}, "recipient"),
        ("nobody", {}, "there is no point"),
    ]:
        answer = published(client, point, "never.csv", **more)
        assert answer.status_code == 422 and word in answer.json()["error"], answer.text
        assert "Traceback" not in answer.text
    assert published(client, groups, "twice.csv").status_code == 200
    again = published(client, groups, "twice.csv")
    assert again.status_code == 422 and "twice.csv" in again.json()["error"]
    assert published(client, groups, "twice.csv", replace=True).status_code == 200


def test_nothing_but_what_was_published_can_be_downloaded(client: TestClient, desk: Desk) -> None:
    releases = desk.folder / "clinic" / "releases"
    releases.mkdir(exist_ok=True)
    (releases / "link.csv").symlink_to(desk.folder / "clinic" / "clinic.csv")
    for name in ("link.csv", "..%2Fclinic.csv", "%2e%2e%2fclinic.csv", "none.csv", ".."):
        assert client.get(f"{CLINIC}/releases/{name}").status_code in (404, 307)
    for ending in ("again.sh", "again.py"):
        assert client.get(f"{CLINIC}/releases/none.csv/{ending}").status_code == 404
    (releases / "link.csv").unlink()


def test_a_folder_of_releases_that_is_a_link_is_refused(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    map_ = make_shop(desk)
    (desk.folder / "shop" / "releases").symlink_to(tmp_path)
    with client_of(desk) as client:
        body = {"point": ids(map_)[0], "file": "a.csv"}
        answer = client.post("/api/projects/shop/releases", json=body)
        assert answer.status_code == 422 and "is a link" in answer.json()["error"]
        assert client.get("/api/projects/shop/releases").json() == {"releases": []}


def test_other_pages_do_not_wait_while_something_is_published(
    client: TestClient, map_: Map, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A publication that takes for ever: pages are answered meanwhile, and a second publication is told to wait."""
    begun, end = threading.Event(), threading.Event()
    real = of_publishing.publish_point

    def slow(*given: Any) -> Any:
        begun.set()
        assert end.wait(600)
        return real(*given)

    monkeypatch.setattr(of_publishing, "publish_point", slow)
    id = ids(map_, requirement="k-anonymity k=5", form="generalization")[0]
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(published(client, id, "slow.csv", replace=True)))
    thread.start()
    try:
        assert begun.wait(600)
        assert client.get(f"{CLINIC}/points/{id}").status_code == 200
        second = published(client, id, "second.csv")
        assert second.status_code == 409 and "wait" in second.json()["error"]
    finally:
        end.set()
        thread.join(600)
    assert answers[0].status_code == 200


def test_baskets_are_published_in_their_own_layouts(client: TestClient, desk: Desk) -> None:
    map_ = read_map(desk.folder / "shop")
    id = ids(map_, requirement="km-anonymity k=5 m=2")[0]
    assert client.get(f"/api/projects/shop/points/{id}/offer").json()["layouts"] == ["lines", "long"]
    for layout in ("lines", "long"):
        body = {"point": id, "file": f"{layout}.csv", "layout": layout, "mapping": True}
        answer = client.post("/api/projects/shop/releases", json=body)
        assert answer.status_code == 200, answer.text
    lines = client.get("/projects/shop/releases/lines.csv").text.splitlines()
    assert len(lines) == 150 and "record,item" in client.get("/projects/shop/releases/long.csv").text.splitlines()[0]


# -- again, without clicking


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Publish from a small project; download how to do it again, by commands and in Python."""
    desk = make_desk(tmp_path_factory.mktemp("again"))
    folder = make_project(desk.folder / "people")
    code, *_ = run("explore", str(folder / "study.toml"), "--out", str(folder))
    assert code == 0
    map_ = read_map(folder)
    downloads = tmp_path_factory.mktemp("downloads")
    with client_of(desk) as client:
        body = {"point": ids(map_, requirement="k-anonymity k=5")[0], "file": "release.csv", "mapping": True}
        assert client.post("/api/projects/people/releases", json={**body, "recipient": "partner"}).status_code == 200
        for name in ("again.sh", "again.py"):
            told = client.get(f"/projects/people/releases/release.csv/{name}")
            assert told.headers["content-disposition"].startswith("attachment")
            (downloads / name).write_bytes(told.content)
    return folder / "releases", downloads


def same(one: Path, other: Path) -> None:
    """The same bytes, the same mapping, and the same said of them."""
    for name in ("release.csv", "release.csv.mapping.json"):
        assert (one / name).read_bytes() == (other / name).read_bytes()
    for path in certificate_files(Path("release.csv")):
        if path.suffix == ".json":
            mine, theirs = (json.loads((folder / path).read_text(encoding="utf-8")) for folder in (one, other))
            assert mine["measures"] == theirs["measures"] and mine["promise"] == theirs["promise"]


@pytest.mark.parametrize("name", ["again.sh", "again.py"])
def test_what_is_downloaded_publishes_the_same_bytes(
    name: str,
    repeated: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A real shell splits the words of the commands, and they run in this process."""
    releases, downloads = repeated
    monkeypatch.chdir(tmp_path)
    if name == "again.py":
        runpy.run_path(str(downloads / name), run_name="__main__")
        promise = json.loads((releases / "release.csv.certificate.json").read_text(encoding="utf-8"))["promise"]
        assert f"Re-checked on the written file: {promise['requirement']}" in capsys.readouterr().out
    else:
        words = "sfumato() { printf '%s\\0' \"$@\"; printf '\\n\\0'; }; . \"$0\""
        told = subprocess.run(["sh", "-ec", words, str(downloads / name)], capture_output=True, text=True, check=True)
        for command in told.stdout.split("\n\0")[:-1]:
            assert run(*command.split("\0")[:-1]).returncode == 0
    same(releases, tmp_path)


# -- searching for a better answer


def test_a_search_for_an_answer_needs_time_and_a_question_that_can_be_read(client: TestClient) -> None:
    for body, field, word in [
        ({"question": "k within loss 0.5"}, "budget", "60s"),
        ({"question": "best please", "budget": "5s"}, "question", "best"),
    ]:
        answer = client.post("/api/projects/clinic/run", json=body)
        assert answer.status_code == 422 and answer.json()["field"] == field and word in answer.json()["error"]


def test_a_search_looks_for_what_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker is told the question and gives it to the search, which is not made here."""
    from sfumato.tradeoff.exploration import run as instrument
    from sfumato.workbench.worker import RunTask, explored

    desk = make_desk(tmp_path)
    folder = make_project(desk.folder / "people")
    task = RunTask.of(RunTask("people", desk.trust, 5.0, "k within loss 0.5").line())
    asked: list[Any] = []

    def searched(*given: Any) -> Any:
        asked.extend(given)
        raise InfeasibleError("enough")

    monkeypatch.setattr(instrument, "explored", searched)
    with pytest.raises(InfeasibleError, match="enough"):
        explored(folder, task, lambda kind, values: None)
    assert asked[2] == 5.0 and str(asked[-1]) == "k within loss 0.5"
