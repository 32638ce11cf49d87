"""The JSON API: its description is true of what is answered, and nothing that comes in leads to an error of ours."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from command_line import run
from sfumato.workbench.access import CSRF, Gate
from sfumato.workbench.app import ENDPOINTS, opened
from sfumato.workbench.endpoints import House, description
from sfumato.workbench.errors import ConflictError
from sfumato.workbench.projects import Desk, Project
from sfumato.workbench.runs import Progress, Runs
from workbenches import HOST, ORIGIN, client_of, make_desk, make_project

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
    (folder / "map.png").symlink_to(folder / "cache.jsonl")
    with client_of(desk) as client:
        files = client.get('/api/projects/péople "x"/files').json()["files"]
        told = {each["name"]: each["audience"] for each in files}
        assert told == {"study.toml": "internal", "report.html": "internal", "report-public.html": "public"}
        answer = client.get('/api/projects/péople "x"/files/report-public.html')
        assert answer.text == "report-public.html"
        given = answer.headers["content-disposition"]
        assert given.startswith('attachment; filename="p_ople _x_-public-report-public.html"')
        assert "filename*=UTF-8''p%C3%A9ople%20%22x%22-public-report-public.html" in given
        for name in ("cache.jsonl", "people.csv", "map.png", "workbench.json", "..%2Fstudy.toml", "nothing"):
            assert client.get(f'/api/projects/péople "x"/files/{name}').status_code == 404, name
        assert client.head('/api/projects/péople "x"/files/study.toml').status_code == 200
