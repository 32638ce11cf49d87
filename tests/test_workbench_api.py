"""The JSON API: its description is true of what is answered, and nothing that comes in leads to an error of ours."""

from __future__ import annotations

import json
import tempfile
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import anyio
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from command_line import run
from sfumato.tradeoff.study.study import read_study
from sfumato.workbench.access import CSRF, Gate
from sfumato.workbench.app import ENDPOINTS, opened
from sfumato.workbench.endpoints import House, description
from sfumato.workbench.errors import ConflictError, RefusedError, TooLargeError
from sfumato.workbench.projects import Desk, Project
from sfumato.workbench.runs import Progress, Runs
from sfumato.workbench.views.files import received
from workbenches import HOST, ORIGIN, STUDY, client_of, make_desk, make_project

_kept = tempfile.TemporaryDirectory(prefix="sfumato-test-")
"""Schemathesis reads the description when tests are collected, so there is a desk before there are fixtures."""


class NoRuns(Runs):
    """Begins nothing: a process for every example would take minutes; `test_workbench_runs` begins some."""

    def start(self, project: Project, seconds: float | None = None, question: str | None = None) -> Progress:
        raise ConflictError(f"a run of {project.name} is under way already")


def let_in(app: ASGIApp, gate: Gate) -> ASGIApp:
    """Give every request what our own pages send along, in place of what it has."""
    ours = {"host": HOST, "origin": ORIGIN, CSRF: gate.csrf(), "cookie": f"{gate.cookie}={gate.session}"}

    async def inside(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            kept = [(name, value) for name, value in scope["headers"] if name.decode().lower() not in ours]
            scope = {**scope, "headers": [*kept, *((name.encode(), value.encode()) for name, value in ours.items())]}
        await app(scope, receive, send)

    return inside


def _app() -> ASGIApp:
    desk = make_desk(Path(_kept.name))
    make_project(desk.folder / "people")
    gate = Gate(frozenset([HOST]))
    return let_in(opened(House(desk, NoRuns(), 10_000), gate), gate)


schema = schemathesis.openapi.from_asgi("/api/openapi.json", _app())


@schema.parametrize()
@settings(max_examples=8, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), database=None)
def test_whatever_is_handed_in_is_answered_as_described(case: Any) -> None:
    """All checks but one: a text that names no file and no requirement fits the schema and is refused all the same."""
    if "project" in case.path_parameters and len(case.path_parameters["project"]) % 2:
        case.path_parameters["project"] = "people"  # else nearly no example would get beyond "no such project"
    case.call_and_validate(excluded_checks=[positive_data_acceptance])


def test_every_endpoint_of_scripts_is_described_with_what_it_takes_and_gives(tmp_path: Path) -> None:
    told = description(ENDPOINTS)
    described = {(path, method) for path, methods in told["paths"].items() for method in methods}
    assert described == {(each.path, each.method.lower()) for each in ENDPOINTS if each.path.startswith("/api/")}
    names = [each["operationId"] for methods in told["paths"].values() for each in methods.values()]
    assert len(names) == len(set(names)) > 8
    audit = told["paths"]["/api/audit"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert audit["required"] == ["file"] and audit["properties"]["known"]["type"] == ["integer", "null"]
    assert audit["properties"]["known"]["minimum"] == 1
    with client_of(make_desk(tmp_path)) as client:
        assert client.get("/api/openapi.json").json() == told


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


def test_what_does_not_fit_a_field_names_it(desk: Desk) -> None:
    make_project(desk.folder / "people")
    with client_of(desk) as client:
        for body, field, word in [
            ({"budget": 5}, "budget", "must be a text"),
            ({"budgett": "5s"}, "budgett", "unknown field"),
        ]:
            answer = client.post("/api/projects/people/run", json=body)
            assert answer.status_code == 422 and answer.json()["field"] == field and word in answer.json()["error"]
        assert "kind must be one of" in client.post("/api/audit", json={"file": "x", "kind": "y"}).json()["error"]
        lacking = client.post("/api/audit", json={})
        assert lacking.json()["field"] == "file" and "is not given" in lacking.json()["error"]
        for content in (b"{", b"[1]", b"\xff", b"[" * 100_000):
            answer = client.post("/api/audit", content=content)
            assert answer.status_code == 422 and "JSON" in answer.json()["error"]
        assert client.post("/api/audit", content=b" " * 5_000_000).status_code == 413


def upload(client: TestClient, name: str, content: str | bytes) -> str:
    answer = client.put(f"/api/uploads/{name}", content=content)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["source"])


RELEASE = "age,sex,ill\n" + "20-29,f,flu\n20-29,f,gout\n20-29,f,mumps\n30-39,*,flu\n30-39,*,gout\n"


def test_an_audit_says_what_the_command_line_says(desk: Desk, tmp_path: Path) -> None:

    file = tmp_path / "release.csv"
    file.write_text(RELEASE, encoding="utf-8")
    with client_of(desk) as client:
        source = upload(client, "release.csv", RELEASE)
        assert client.post("/api/audit/columns", json={"file": source}).json()["columns"] == ["age", "sex", "ill"]
        roles = {"quasi": ["age", "sex"], "sensitive": ["ill"]}
        told = client.post("/api/audit", json={"file": source, "require": "k-anonymity k=3", **roles}).json()
        assert told["holds"] is False and told["asked"] is True
        options = ("--quasi", "age,sex", "--sensitive", "ill", "--require", "k-anonymity k=3")
        said = run("audit", file, *options)
        assert said.returncode == 1
        assert "\n".join(told["lines"]) + "\n" == said.stdout.replace(str(file), "release.csv")
        assert {each["name"]: each["value"] for each in told["measures"]}["k"] == "2"
        assert client.post("/api/audit", json={"file": source, "require": "k-anonymity k=2", **roles}).json()["holds"]


def test_an_audit_of_baskets_and_one_against_a_project(desk: Desk) -> None:
    make_project(desk.folder / "people")
    with client_of(desk) as client:
        baskets = upload(client, "b.txt", "tea,milk\ntea,milk\ntea,milk\nrum\n")
        body = {"file": baskets, "kind": "baskets", "require": "km-anonymity k=2 m=1"}
        told = client.post("/api/audit", json=body).json()
        assert told["holds"] is False and "rum" in "\n".join(told["lines"])
        refused = client.post("/api/audit", json={**body, "quasi": ["age"]})
        assert refused.status_code == 422 and refused.json()["field"] == "quasi"
        refused = client.post("/api/audit", json={**body, "project": "people"})
        assert refused.status_code == 422 and refused.json()["field"] == "project"
        same = upload(client, "same.csv", (desk.folder / "people" / "people.csv").read_bytes())
        roles = {"quasi": ["age", "sex"], "sensitive": ["ill"]}
        lied = upload(client, "lied.csv", "age,sex,ill\n" + "99,f,flu\n" * 5)
        for original in ("people/people.csv", same):
            told = client.post("/api/audit", json={"file": lied, "original": original, **roles}).json()
            assert told["holds"] is False and "NOT COVERED" in "\n".join(told["sentences"])
        refused = client.post("/api/audit", json={"file": same, "project": "people", "original": same})
        assert refused.status_code == 422 and refused.json()["field"] == "original"
        told = client.post("/api/audit", json={"file": same, "project": "people"}).json()
        assert told["asked"] and told["holds"] and told["content"]["quasi"] == ["age", "sex"]


def test_files_of_a_project_are_marked_and_nothing_else_is_handed_out(desk: Desk) -> None:
    folder = make_project(desk.folder / 'péople "x"')
    for name in ("report.html", "report-public.html", "cache.jsonl"):
        (folder / name).write_text(name, encoding="utf-8")
    (folder / "map-public.png").symlink_to(folder / "cache.jsonl")
    with client_of(desk) as client:
        files = client.get('/api/projects/péople "x"/files').json()["files"]
        told = {each["name"]: each["audience"] for each in files}
        assert told == {"study.toml": "internal", "report.html": "internal", "report-public.html": "public"}
        answer = client.get('/api/projects/péople "x"/files/report-public.html')
        assert answer.text == "report-public.html"
        given = answer.headers["content-disposition"]
        assert given.startswith('attachment; filename="p_ople _x_-public-report-public.html"')
        assert "filename*=UTF-8''p%C3%A9ople%20%22x%22-public-report-public.html" in given
        for name in ("cache.jsonl", "people.csv", "map-public.png", "workbench.json", "..%2Fstudy.toml", "nothing"):
            assert client.get(f'/api/projects/péople "x"/files/{name}').status_code == 404, name
        assert client.head('/api/projects/péople "x"/files/study.toml').status_code == 200


TABS = 8


def test_changes_of_one_study_in_many_tabs_are_all_made(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    make_project(desk.folder / "people")

    def change(tab: int) -> None:
        for number in range(4):

            def add(document: Any, k: int = 100 + 10 * tab + number) -> None:
                document["candidates"][0]["requirements"].append(f"k-anonymity k={k}")

            desk.project("people").change(f"tab {tab}", add)

    with ThreadPoolExecutor(TABS) as pool:
        list(pool.map(change, range(TABS)))
    project = desk.project("people")
    assert len(project.study.candidates) == 3 + 4 * TABS  # type: ignore[attr-defined]
    assert "# a comment that must survive" in project.file.read_text(encoding="utf-8")
    for _ in range(4 * TABS):
        project.undo()
    assert project.file.read_text(encoding="utf-8") == STUDY


API = "/api/projects/gift"


@pytest.fixture
def client(desk: Desk) -> Iterator[TestClient]:
    with client_of(desk) as client:
        yield client


@pytest.fixture
def gift(desk: Desk) -> Path:
    """A project that somebody explored on the command line and handed over."""
    folder = make_project(desk.folder / "gift")
    assert run("explore", folder / "study.toml", "--out", folder).returncode == 0
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    return folder


def point_of(folder: Path) -> str:
    return str(json.loads((folder / "points.json").read_text())["points"][1]["id"])


def test_a_map_that_was_handed_over_reads_no_other_file(client: TestClient, gift: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.csv").write_text("age,sex,ill\n1,f,SECRET\n")
    content = json.loads((gift / "points.json").read_text())
    content["points"][1] |= {"anonymizer": f'brought file="{outside / "secret.csv"}" records=synthetic'}
    (gift / "points.json").write_text(json.dumps(content))
    id = content["points"][1]["id"]
    asked = client.get(f"{API}/points/{id}/certificate")
    sent = client.post(f"{API}/releases", json={"point": id, "file": "r.csv"})
    assert asked.status_code == sent.status_code == 403
    assert "SECRET" not in asked.text + sent.text and not (gift / "releases").exists()


def test_an_audit_reads_no_file_that_lies_elsewhere(client: TestClient, desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("age,sex,ill\n1,f,SECRET\n")
    (desk.folder / "b.dat").write_text("a b\na b\n")
    (desk.folder / "pub.csv").write_text("age,sex,ill\n1,f,x\n1,f,y\n")
    wanted = {"file": "b.dat", "original": "b.dat", "kind": "baskets"}
    asked = client.post("/api/audit", json={**wanted, "require": f"privacy-constraints k=2 file={tmp_path}/secret.csv"})
    assert asked.status_code == 422 and asked.json()["field"] == "require" and "SECRET" not in asked.text
    (desk.folder / "evil.toml").write_text(STUDY.replace("people.csv", str(tmp_path / "secret.csv")))
    wanted = {"file": "pub.csv", "original": "evil.toml", "quasi": ["age", "sex"], "sensitive": ["ill"]}
    asked = client.post("/api/audit", json=wanted)
    assert asked.status_code == 422 and asked.json()["field"] == "original" and "SECRET" not in asked.text
    (tmp_path / "secret.json").write_text('{"kind": "SECRET"}')
    (desk.folder / "b.dat.legend.json").symlink_to(tmp_path / "secret.json")  # a legend is read with its file
    asked = client.post("/api/audit", json={"file": "b.dat", "kind": "baskets"})
    assert asked.status_code == 403 and "SECRET" not in asked.text, asked.text


@pytest.mark.parametrize("link", ["{outside}/.profile", "../../outside/.profile", "people.csv"])
def test_giving_an_upload_again_replaces_no_file_of_anybody(
    client: TestClient, gift: Path, tmp_path: Path, link: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / ".profile").write_text("mine")
    source = client.put("/api/uploads/p.csv", content=b"a,b\n1,2\n").json()["source"]
    facts = {"origin": "upload", "name": "p.csv", "digest": sha256(b"a,b\n1,2\n").hexdigest()}
    (gift / "workbench.json").write_text(json.dumps({"source": {**facts, "link": link.format(outside=outside)}}))
    before = (gift / "people.csv").read_text()
    assert client.post(f"{API}/source", json={"source": source}).status_code == 403
    assert (outside / ".profile").read_text() == "mine" and not (outside / ".profile").is_symlink()
    assert (gift / "people.csv").read_text() == before and not (gift / "people.csv").is_symlink()


def test_no_map_of_an_earlier_study_is_published(client: TestClient, gift: Path) -> None:
    id = point_of(gift)
    client.post(f"{API}/run")
    for _ in range(600):
        if client.get(f"{API}/run").json()["state"] == "done":
            break
        anyio.run(anyio.sleep, 0.1)
    wanted = {"point": id, "file": "r.csv"}
    assert client.post(f"{API}/roles", json={"column": "ill", "role": "neutral"}).status_code == 200
    refused = client.post(f"{API}/releases", json=wanted)
    assert refused.status_code == 409 and "was changed" in refused.json()["error"]
    assert not (gift / "releases" / "r.csv").exists()
    assert client.post(f"{API}/undo").status_code == 200  # the same text again: the map tells of it
    assert client.post(f"{API}/releases", json=wanted).status_code == 200


def test_spark_is_not_let_in_by_a_study(desk: Desk) -> None:
    study = make_project(
        desk.folder / "spark", STUDY.replace('source = "people.csv"', 'source = "t"\nengine = "spark"')
    )
    with pytest.raises(RefusedError, match="Spark"):
        desk.trust.check(read_study(str(study / "study.toml")))


def test_a_guess_that_is_a_path_is_none(client: TestClient, gift: Path) -> None:
    (gift / "workbench.json").write_text(json.dumps({"guesses": [{"column": "sex", "hierarchy": "/etc/passwd"}]}))
    wanted = {"column": "sex", "do": "propose", "proposal": "guess"}
    asked = client.post(f"{API}/hierarchies", json=wanted)
    assert asked.status_code == 422 and "root" not in asked.text


def test_uploads_at_once_are_limited_together(tmp_path: Path) -> None:
    ended: list[bool] = []

    async def piece_by_piece() -> AsyncIterator[bytes]:
        for _ in range(4):
            await anyio.sleep(0.01)
            yield b"x" * (1 << 20)

    async def upload(name: str) -> None:
        try:
            await received(piece_by_piece(), name, tmp_path, 6 << 20)
            ended.append(True)
        except TooLargeError:
            ended.append(False)

    async def all_at_once() -> None:
        async with anyio.create_task_group() as group:
            for i in range(3):
                group.start_soon(upload, f"{i}.csv")

    anyio.run(all_at_once)
    assert sum(ended) <= 1 and len(ended) == 3
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.csv")) <= 6 << 20
