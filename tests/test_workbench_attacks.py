"""What somebody tried who read the workbench to break it: folders that came from elsewhere, and users of one team."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from hashlib import sha256
from pathlib import Path

import anyio
import pytest
from starlette.testclient import TestClient

from command_line import run
from sfumato.tradeoff.study.study import read_study
from sfumato.workbench.errors import RefusedError, TooLargeError
from sfumato.workbench.projects import Desk
from sfumato.workbench.views.files import received
from workbenches import STUDY, client_of, make_desk, make_project

API = "/api/projects/gift"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


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
