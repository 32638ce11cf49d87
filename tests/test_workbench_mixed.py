"""A project of a table with a column of sets of items: pages say what is edited elsewhere; map and publishing work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from sfumato.tradeoff import read_map
from sfumato.workbench.desk import Desk
from workbench_maps import ids, made
from workbenches import client_of, make_desk

pytest.importorskip("sfumato.mixed.study")

STUDY = """name = "patients"
[table]
source = "patients.csv"
quasi = ["age", "sex"]
[items]
column = "codes"
separator = ";"
[scales]
joint_queries = "joint-queries number=20"
[[candidates]]
requirements = ["k-km-anonymity k=4 m=2"]
[[candidates]]
anonymizers = ["original"]
item_anonymizers = ["original"]
"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    desk = make_desk(tmp_path_factory.mktemp("mixed"))
    folder = desk.folder / "patients"
    folder.mkdir()
    people = [f"{20 + i % 7},{'mf'[i % 2]},{';'.join('abcde'[i % 3 :][:3])}" for i in range(84)]
    (folder / "patients.csv").write_text("\n".join(["age,sex,codes", *people]) + "\n", encoding="utf-8")
    made(folder, STUDY)
    return desk


@pytest.fixture(scope="module")
def client(desk: Desk) -> Iterator[TestClient]:
    with client_of(desk) as client:
        yield client


def test_pages_that_cannot_edit_it_say_so(client: TestClient) -> None:
    assert "table with sets of items" in client.get("/").text
    for step in ("columns", "hierarchies", "risk", "wishes"):
        page = client.get(f"/projects/patients/{step}")
        assert page.status_code == 200 and "a column of sets of items" in page.text, step
        answer = client.get(f"/api/projects/patients/{step}", params={"column": "age"})
        assert answer.status_code == 422 and "about" in answer.json()["error"], (step, answer.text)


def test_its_map_is_read_and_a_release_of_it_published(client: TestClient, desk: Desk) -> None:
    map_ = read_map(desk.folder / "patients")
    [id] = [each for each in ids(map_) if not map_[each].is_baseline]
    for path in ("map", "run", "files", f"points/{id}", f"compare?points={','.join(ids(map_)[:2])}", "publish"):
        page = client.get(f"/projects/patients/{path}")
        assert page.status_code == 200, (path, page.text[-400:])
    assert (
        client.get("/api/projects/patients/map/ask", params={"question": "k within itemset_risk 1"}).status_code == 200
    )
    assert client.get(f"/api/projects/patients/points/{id}/certificate").status_code == 200
    body = {"point": id, "file": "patients.csv"}
    answer = client.post("/api/projects/patients/releases", json=body)
    assert answer.status_code == 200, answer.text
    rows = client.get("/projects/patients/releases/patients.csv").text.splitlines()
    assert rows[0] == "age,sex,codes" and len(rows) > 1


def test_its_files_may_lie_nowhere_else(desk: Desk, tmp_path: Path) -> None:
    folder = desk.folder / "foreign"
    folder.mkdir()
    (folder / "study.toml").write_text(STUDY.replace("patients.csv", "/etc/passwd"), encoding="utf-8")
    with client_of(desk) as client:
        assert client.get("/projects/foreign/run").status_code == 403
