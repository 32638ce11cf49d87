"""A project of a table with a column of sets of items: opened, corrected, wished for, looked at and published."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from sfumato import Study, read_map, read_study
from sfumato.workbench.endpoints import House
from sfumato.workbench.projects import Desk
from sfumato.workbench.runs import Runs
from test_workbench_before_looks import changed
from test_workbench_pages import readable
from workbench_maps import ids, made
from workbenches import client_of, make_desk, served

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


@pytest.fixture
def clinic(desk: Desk) -> Iterator[Path]:
    """A project of its own, to be changed; a tree of its codes lies in the folder, and a second file of codes."""
    folder = desk.folder / "clinic"
    shutil.copytree(desk.folder / "patients", folder)
    (desk.folder / "tree.csv").write_text("a,vowel\ne,vowel\nb,other\nc,other\nd,other\n", encoding="utf-8")
    yield folder
    shutil.rmtree(folder)


def study_in(folder: Path) -> Study:
    study = read_study(str(folder / "study.toml"))
    assert isinstance(study, Study)
    return study


def posted(client: TestClient, path: str, **body: Any) -> dict[str, Any]:
    answer = client.post(f"/api/projects/clinic/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def refused(client: TestClient, path: str, **body: Any) -> dict[str, Any]:
    answer = client.post(f"/api/projects/clinic/{path}", json=body)
    assert answer.status_code == 422, answer.text
    return dict(answer.json())


def test_every_page_shows_it(client: TestClient) -> None:
    assert "table with sets of items" in client.get("/").text
    for step in ("columns", "hierarchies", "risk", "wishes"):
        page = client.get(f"/projects/patients/{step}")
        assert page.status_code == 200 and "This cannot be read" not in page.text.split('id="texts"')[0], step
    shown = client.get("/api/projects/patients/columns").json()
    assert {each["name"]: each["role"] for each in shown["columns"]} == {
        "age": "quasi",
        "sex": "quasi",
        "codes": "items",
    }
    assert "neutral" not in shown["roles"] and shown["items"]["items"] == 5
    risk = client.get("/api/projects/patients/risk").json()
    assert risk["kind"] == "items" and risk["quasi"] == ["age", "sex"]
    assert risk["by_both"][0]["alone"] == 0  # 84 records, 7 ages x 2 sexes: six of each
    assert client.get("/api/projects/patients/estimate").json()["problems"] == []


def test_roles_and_hierarchies_are_corrected_by_clicking(client: TestClient, clinic: Path) -> None:
    posted(client, "roles", column="sex", role="sensitive")
    assert study_in(clinic).data.table.sensitive == ("sex",)
    posted(client, "undo")
    assert study_in(clinic).data.table.quasi == ("age", "sex")
    assert "tell the records of a group apart" in refused(client, "roles", column="sex", role="neutral")["error"]
    assert "another column" in refused(client, "roles", column="codes", role="quasi")["error"]
    posted(client, "roles", column="sex", role="items")  # each record has one item then: m or f
    assert study_in(clinic).data.items.column == "sex" and study_in(clinic).data.table.quasi == ("age",)
    posted(client, "undo")
    age = client.get("/api/projects/clinic/hierarchies", params={"column": "age"}).json()
    assert age["scale"] == "number"
    posted(client, "hierarchies", column="age", do="remove-level", level=1)
    posted(client, "hierarchies", column="sex", do="merge", paths=["0", "1"], label="all")
    assert study_in(clinic).data.open().cells.quasi[1].hierarchy.height == 2
    for column in ("age", "sex"):
        posted(client, "roles", column=column, role="none")
    for step, said in (("columns", "No column is a quasi-identifier yet"), ("hierarchies", "nothing to make coarser")):
        assert said in client.get(f"/projects/clinic/{step}").text.split('id="texts"')[0]
    assert "This cannot be read" in client.get("/projects/clinic/risk").text.split('id="texts"')[0]


def test_its_items_get_a_tree_and_sensitive_ones(client: TestClient, clinic: Path) -> None:
    posted(client, "items", values={"separator": ";", "tree": "tree.csv", "sensitive": ["e"]})
    data = study_in(clinic).data.open()
    assert data.baskets.tree is not None and study_in(clinic).data.items.sensitive == ("e",)
    page = client.get("/projects/clinic/hierarchies", params={"column": "codes"}).text
    assert "vowel" in page and "other" in page
    for field, value in (("tree", "nowhere.csv"), ("separator", "::"), ("sensitive", ["zz"])):
        wrong = refused(client, "items", values={field: value})
        assert wrong["field"] == field, wrong
    for outside in ("../../x.csv", "../../../../../../../../etc/passwd", "/etc/passwd"):
        assert client.post("/api/projects/clinic/items", json={"values": {"tree": outside}}).status_code == 403
    assert client.post("/api/projects/patients/items", json={"values": {"colour": 1}}).json()["field"] == "colour"
    posted(client, "items", values={})
    assert study_in(clinic).data.items.tree is None


def test_wishes_and_options_become_its_candidates(client: TestClient, clinic: Path) -> None:
    posted(client, "roles", column="sex", role="sensitive")
    posted(client, "wishes", recipient="internal", learned="value", known=1)
    asked = {str(each.requirement) for each in study_in(clinic).candidates if not each.anonymizer.baseline}
    assert asked and all(text.startswith("k-km-anonymity k=3 m=1 & l-diversity") for text in asked), asked
    assert client.get("/api/projects/clinic/estimate").json()["problems"] == []
    study = client.get("/api/projects/clinic/wishes").json()["study"]
    for section, texts in (
        ("requirements of tables with items", [study["candidates"][0]["requirements"][0]]),
        ("merging of groups", study["candidates"][0]["merging"]),
        ("anonymizers of baskets", study["candidates"][0]["item_anonymizers"]),
    ):
        for text in texts:
            answer = client.post("/api/options/values", json={"section": section, "text": text}).json()
            again = [
                client.post("/api/options/text", json={"section": section, **part}).json()["text"]
                for part in answer["parts"]
            ]
            assert " & ".join(again) == text


def test_a_file_is_opened_as_a_table_with_items(client: TestClient, desk: Desk) -> None:
    patients = (desk.folder / "patients" / "patients.csv").read_text(encoding="utf-8")
    (desk.folder / "new.csv").write_text(patients, encoding="utf-8")
    assert client.post("/api/previews", json={"source": "new.csv"}).json()["guessed"] == "table"
    seen = client.post("/api/previews", json={"source": "new.csv", "kind": "items"}).json()
    assert seen["item_column"] == "codes" and seen["held"]["items"] == 5, seen
    wrong = client.post("/api/previews", json={"source": "new.csv", "kind": "items", "reading": {"column": "no"}})
    assert wrong.status_code == 422 and "'no'" in wrong.json()["error"], wrong.text
    made = client.post("/api/projects", json={"source": "new.csv", "kind": "items"}).json()["project"]
    study = study_in(desk.folder / made)
    assert study.data.items.column == "codes" and "sex" in (*study.data.table.quasi, *study.data.table.sensitive)
    pq.write_table(pa.table({"age": ["1", "2"], "codes": [["a"], ["a", "b"]]}), desk.folder / "lists.parquet")
    assert client.post("/api/previews", json={"source": "lists.parquet"}).json()["guessed"] == "items"


def test_items_in_a_second_file_are_run_too_and_lie_nowhere_else(client: TestClient, desk: Desk) -> None:
    folder = desk.folder / "two"
    folder.mkdir()
    (folder / "people.csv").write_text("id,age\n" + "".join(f"{i},{20 + i % 4}\n" for i in range(40)), encoding="utf-8")
    (folder / "codes.csv").write_text(
        "id,code\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(40)), encoding="utf-8"
    )
    text = STUDY.replace("patients.csv", "people.csv").replace('"age", "sex"', '"age"').replace('separator = ";"\n', "")
    text = text.replace('column = "codes"', 'source = "codes.csv"\nid = "id"\nitem = "code"')
    (folder / "study.toml").write_text(text, encoding="utf-8")
    for step in ("columns", "hierarchies", "risk", "wishes"):
        assert client.get(f"/projects/two/{step}").status_code == 200, step
    wrong = client.post("/api/projects/two/roles", json={"column": "id", "role": "quasi"})
    assert wrong.status_code == 422 and "names the persons" in wrong.json()["error"]
    (folder / "study.toml").write_text(text.replace("codes.csv", "/etc/passwd"), encoding="utf-8")
    assert client.get("/projects/two/run").status_code == 403


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
    asked = {"file": "patients/releases/patients.csv", "kind": "items", "quasi": ["age", "sex"], "project": "patients"}
    lacking = client.post("/api/audit", json=asked).json()
    assert lacking["field"] == "items" and "mark the column" in lacking["error"]
    found = client.post("/api/audit", json={**asked, "items": "codes", "require": "k-km-anonymity k=4 m=2"}).json()
    assert found["holds"] and found["asked"], found
    assert found["content"]["measures"]["k"] == map_[id].measures["k"]
    failing = {**asked, "items": "codes", "require": "k-km-anonymity k=80 m=2"}
    assert not client.post("/api/audit", json=failing).json()["holds"]


def test_its_files_may_lie_nowhere_else(desk: Desk, tmp_path: Path) -> None:
    folder = desk.folder / "foreign"
    folder.mkdir()
    (folder / "study.toml").write_text(STUDY.replace("patients.csv", "/etc/passwd"), encoding="utf-8")
    with client_of(desk) as client:
        assert client.get("/projects/foreign/run").status_code == 403


def test_its_pages_are_clicked_in_a_browser(browser: Any, desk: Desk, clinic: Path) -> None:
    with served(House(desk, Runs())) as (origin, gate):
        page = browser.new_context(base_url=origin, viewport={"width": 1280, "height": 900}).new_page()
        page.problems = []
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.goto(f"/?token={gate.token}")
        page.goto("/projects/clinic/columns")
        changed(page, lambda: page.check('fieldset[data-column="sex"] input[value="sensitive"]'))
        form = page.locator("#items-settings")
        form.locator(".field", has_text="tree").locator("input").fill("nowhere.csv")
        form.get_by_role("button", name="Save").click()
        form.locator(".field", has_text="tree").locator(".wrong:visible").wait_for()
        form.locator(".field", has_text="tree").locator("input").fill("tree.csv")
        changed(page, lambda: form.get_by_role("button", name="Save").click())
        readable(page)
        page.goto("/projects/clinic/hierarchies?column=codes")
        assert "vowel" in page.inner_text(".tree")
        readable(page)
        page.goto("/projects/clinic/risk")
        readable(page)
        page.goto("/projects/clinic/wishes")
        before = study_in(clinic).candidates
        page.click("#any summary")
        page.locator("#options .block").first.wait_for()
        page.locator("#options .block").first.locator("textarea").first.fill("0.02")
        changed(page, lambda: page.click("button:text-is('Save these options')"))
        readable(page)
        after = study_in(clinic).candidates
        assert len(after) == len(before) and after[0] == replace(before[0], suppress=0.02)
        assert after[1:] == before[1:] and page.problems == []
        page.context.close()
