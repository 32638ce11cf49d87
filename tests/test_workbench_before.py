"""The walk before a run: data are opened, columns and hierarchies corrected, risk shown, wishes written down."""

from __future__ import annotations

import json
import re
import shutil
import threading
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from starlette.testclient import TestClient

from command_line import run
from sfumato import explore, numeric, read_study
from sfumato.tradeoff.question.recipients import RECIPIENTS
from sfumato.workbench.projects import Desk
from sfumato.workbench.views import page as changes
from sfumato.workbench.views import risk
from sfumato.workbench.views._hierarchy_edits import BINS, Branch, _bars, branches_of, dissolved, merged, moved, renamed
from sfumato.workbench.views.goals import Learned, Wishes, basket_parts_for, parts_for
from workbenches import client_of, make_desk, make_project

UGLY = ("<script>alert(1)</script>", '=HYPERLINK("x")', 'a/b "c"', "Straße ü", "", "age {t} %s")
HEAD = ",".join('"' + (name or "  ").replace('"', '""') + '"' for name in UGLY)
NAME = '<i>"ü" %?#'
API = f"/api/projects/{quote(NAME, safe='')}"
PAGES = f"/projects/{quote(NAME, safe='')}"
TOWNS = ("Köln", "<b>Bonn</b>", "=1+1", "Trier")


def ugly_table(rows: int = 120) -> str:
    """A table whose names and values are a page's and a spreadsheet's nightmare; the last is an age."""
    lines = [f"{'fm'[i % 2]},{i % 5},{'abc'[i % 3]},{TOWNS[i % 4]},x{i % 4},{18 + i * 7 % 60}" for i in range(rows)]
    return "\n".join([HEAD, *lines]) + "\n"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


@pytest.fixture
def client(desk: Desk) -> Iterator[TestClient]:
    with client_of(desk) as client:
        yield client


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is, pages are waited for."""
    monkeypatch.setattr(changes, "PATIENCE", 600.0)


def asked(client: TestClient, path: str, status: int = 200, **query: str) -> Any:
    answer = client.get(path, params=query)
    assert answer.status_code == status, answer.text
    return answer.json()


def sent(client: TestClient, path: str, body: Any = None, status: int = 200, method: str = "POST") -> Any:
    answer = client.request(method, path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A desk with a project of the ugly table, by an ugly name, all roles given."""
    desk = make_desk(tmp_path_factory.mktemp("ugly"))
    (desk.folder / "ugly file #1.csv").write_text(ugly_table(), encoding="utf-8")
    with client_of(desk) as client:
        sent(client, "/api/projects", {"source": "ugly file #1.csv", "name": NAME})
        roles = {UGLY[0]: "quasi", UGLY[1]: "neutral", UGLY[2]: "sensitive", UGLY[3]: "quasi", UGLY[4]: "none"}
        for column, role in {**roles, UGLY[5]: "quasi"}.items():
            sent(client, f"{API}/roles", {"column": column, "role": role})
    return desk.folder


@pytest.fixture
def ugly(made: Path, desk: Desk) -> Path:
    """The study of that project, on a desk of its own."""
    shutil.copytree(made, desk.folder, dirs_exist_ok=True)
    return desk.folder / NAME / "study.toml"


# -- opening ---------------------------------------------------------------------------------------------------------


def test_files_under_the_folder_are_listed_and_nothing_else(client: TestClient, desk: Desk, tmp_path: Path) -> None:
    (desk.folder / "a.csv").write_text("x\n1\n")
    (desk.folder / ".hidden.csv").write_text("x\n1\n")
    (desk.folder / "notes.pdf").write_text("no data")
    (desk.folder / "sub").mkdir()
    (desk.folder / "sub" / "b.csv.gz").write_bytes(b"")
    (tmp_path / "secret.csv").write_text("x\n1\n")
    (desk.folder / "out.csv").symlink_to(tmp_path / "secret.csv")
    make_project(desk.folder / "people")
    seen = asked(client, "/api/files")
    assert [each["name"] for each in seen["files"]] == ["a.csv"] and seen["above"] is None
    assert [each["name"] for each in seen["folders"]] == ["sub"]
    below = asked(client, "/api/files", folder="sub")
    assert [each["source"] for each in below["files"]] == ["sub/b.csv.gz"] and below["above"] == ""
    for folder in ("..", "/etc", "nowhere", "a.csv"):
        assert client.get("/api/files", params={"folder": folder}).status_code in (403, 422), folder
    for source in (
        "../secret.csv",
        str(tmp_path / "secret.csv"),
        "out.csv",
        "s3://x/y.parquet",
        "upload:../secret.csv",
    ):
        answer = client.post("/api/projects", json={"source": source})
        assert answer.status_code in (403, 422), source
        assert client.post("/api/previews", json={"source": source}).status_code in (403, 422), source
    assert not (desk.folder / "secret").exists()


def test_a_preview_says_how_a_file_is_read_and_masks_its_values(client: TestClient, desk: Desk) -> None:
    text = "Name;Größe;geboren\nMüller, Anna;1,74;31.12.1999\nÖzil;1,80;01.02.2001\n"
    (desk.folder / "leute.csv").write_bytes(text.encode("cp1252"))
    seen = sent(client, "/api/previews", {"source": "leute.csv"})
    assert seen["kind"] == "table" and seen["records"] == 2 and seen["columns"] == ["Name", "Größe", "geboren"]
    assert seen["rows"][0] == ["Xxxxxx, Xxxx", "9.99", "9999-99-99"], "letters as x, digits as 9"
    said = " ".join(seen["notices"])
    assert "read as latin-1" in said and str(desk.folder) not in said
    assert "Müller" not in json.dumps(seen, ensure_ascii=False)
    plain = sent(client, "/api/previews", {"source": "leute.csv", "show": True})
    assert plain["rows"][0] == ["Müller, Anna", "1.74", "1999-12-31"]
    other = sent(client, "/api/previews", {"source": "leute.csv", "reading": {"as_written": ["Größe"]}, "show": True})
    assert other["rows"][0][1] == "1,74"
    wrong = sent(client, "/api/previews", {"source": "leute.csv", "reading": {"dates": "year-first"}}, 422)
    assert wrong["field"] == "dates" and "day-first" in wrong["error"]
    assert sent(client, "/api/previews", {"source": "leute.csv", "reading": {"spill": "/etc"}}, 422)["field"] == "spill"


def test_lines_of_many_lengths_are_taken_for_sets_of_items(client: TestClient, desk: Desk) -> None:
    lines = [" ".join("abcdefg"[: 1 + i % 6]) for i in range(40)]
    (desk.folder / "shop.txt").write_text("\n".join(lines))
    seen = sent(client, "/api/previews", {"source": "shop.txt"})
    assert seen["kind"] == "baskets" and seen["records"] == 40 and seen["items"] == 6
    assert "between 1 and 6" in seen["why"] and "a" not in seen["rows"][0][0]
    (desk.folder / "table.csv").write_text("a,b\n1,2\n3,4\n")
    assert sent(client, "/api/previews", {"source": "table.csv"})["kind"] == "table"
    pyarrow.parquet.write_table(pa.table({"bought": [["tea", "jam"], ["figs"]]}), desk.folder / "lists.parquet")
    assert sent(client, "/api/previews", {"source": "lists.parquet"})["kind"] == "baskets"
    project = sent(client, "/api/projects", {"source": "shop.txt"})["project"]
    study = tomllib.loads((desk.folder / project / "study.toml").read_text())
    assert study["baskets"]["source"] == "../shop.txt"
    assert "sets of items" in client.get(f"/projects/{project}/columns").text
    assert sent(client, f"/api/projects/{project}/roles", {"column": "a", "role": "quasi"}, 422)["error"]


def test_rows_of_one_item_are_taken_for_sets_of_items_and_stay_masked(client: TestClient, desk: Desk) -> None:
    sets = [["jam", "tea"][: 1 + i % 2] + ["figs"] * (i % 3 == 0) for i in range(30)]
    rows = [f"{1000 + i},{item}" for i, own in enumerate(sets) for item in own]
    (desk.folder / "till.csv").write_text("\n".join(["invoice,item", *rows]))
    seen = sent(client, "/api/previews", {"source": "till.csv"})
    assert seen["kind"] == "baskets" and (seen["records"], seen["items"]) == (30, 3)
    assert "“invoice” says to which set it belongs" in seen["why"]
    assert "the same 'invoice' are one set" in seen["notices"][0] and "figs" not in json.dumps(seen)
    sent(client, "/api/projects", {"source": "till.csv"})
    study = tomllib.loads((desk.folder / "till" / "study.toml").read_text())["baskets"]
    assert (study["id"], study["item"]) == ("invoice", "item")
    assert client.get("/projects/till/columns").status_code == 200


def test_a_project_is_a_folder_that_the_command_line_takes(client: TestClient, desk: Desk, ugly: Path) -> None:
    (desk.folder / "ugly.csv").write_text(ugly_table(), encoding="utf-8")
    assert sent(client, "/api/projects", {"source": "ugly.csv"}) == {"project": "ugly"}
    assert sent(client, "/api/projects", {"source": "ugly.csv"}) == {"project": "ugly-2"}
    taken = sent(client, "/api/projects", {"source": "ugly.csv", "name": "ugly"}, 422)
    assert taken["field"] == "name" and "exists already" in taken["error"]
    for name in ("", "a/b", ".x", "..", "x\ny", "y ", "z" * 200):
        assert sent(client, "/api/projects", {"source": "ugly.csv", "name": name}, 422)["field"] == "name"
    folder = desk.folder / "ugly"
    notes = json.loads((folder / "workbench.json").read_text())
    guesses = {guess["column"]: guess for guess in notes["guesses"]}
    assert set(guesses) == set(UGLY) and all(guess["reason"] for guess in notes["guesses"])
    assert (folder / "workbench.json").stat().st_mode & 0o77 == 0, "it lists values"
    checked = run("check", folder / "study.toml", "--json")
    assert checked.returncode == 0, checked.stderr
    assert json.loads(checked.stdout)["records"] == 120


def test_bundled_data_come_with_their_study(client: TestClient, desk: Desk) -> None:
    sent(client, "/api/projects", {"source": "online-retail", "name": "shop"})
    study = read_study(str(desk.folder / "shop" / "study.toml"))
    assert study == read_study("online-retail")


def test_an_upload_that_is_gone_is_asked_for_again_and_recognised(client: TestClient, desk: Desk) -> None:
    source = client.put("/api/uploads/p.csv", content=ugly_table().encode()).json()["source"]
    project = sent(client, "/api/projects", {"source": source})["project"]
    api = f"/api/projects/{project}"
    sent(client, f"{api}/roles", {"column": UGLY[2], "role": "sensitive"})
    study = desk.folder / project / "study.toml"
    text, written = study.read_text(), study.stat().st_mtime_ns
    assert str(desk.uploads) not in text
    for path in desk.uploads.iterdir():
        (path / "p.csv").unlink()
        path.rmdir()
    page = client.get(f"/projects/{project}/columns")
    assert page.status_code == 200 and "needed again" in page.text and "p.csv" in page.text
    other = client.put("/api/uploads/q.csv", content=b"a,b\n1,2\n").json()["source"]
    assert "content differs" in sent(client, f"{api}/source", {"source": other}, 422)["error"]
    same = client.put("/api/uploads/renamed.csv", content=ugly_table().encode()).json()["source"]
    sent(client, f"{api}/source", {"source": same})
    assert study.read_text() == text and study.stat().st_mtime_ns == written  # no map of it is called outdated
    columns = {each["name"]: each["role"] for each in asked(client, f"{api}/columns")["columns"]}
    assert columns[UGLY[2]] == "sensitive"
    sent(client, f"{api}/undo")


# -- columns ---------------------------------------------------------------------------------------------------------


def test_roles_are_given_by_clicking_and_taken_back(client: TestClient, ugly: Path) -> None:
    seen = asked(client, f"{API}/columns")
    roles = {each["name"]: each["role"] for each in seen["columns"]}
    assert roles[UGLY[2]] == "sensitive" and roles[UGLY[4]] == "none" and seen["counts"]["quasi"] == 3
    version = seen["version"]
    done = sent(client, f"{API}/roles", {"column": UGLY[3], "role": "identifier", "version": version})
    assert done["version"] != version and UGLY[3] in done["undo"] and done["redo"] is None
    stale = sent(client, f"{API}/roles", {"column": UGLY[3], "role": "neutral", "version": version}, 409)
    assert "changed meanwhile" in stale["error"]
    back = sent(client, f"{API}/undo")
    assert back["version"] == version and UGLY[3] in back["why"] and back["redo"] == back["why"]
    assert sent(client, f"{API}/redo")["version"] == done["version"]
    assert sent(client, f"{API}/roles", {"column": "no such", "role": "quasi"}, 422)["field"] == "column"
    assert sent(client, f"{API}/roles", {"column": UGLY[0], "role": "king"}, 422)["field"] == "role"


def test_comments_of_the_study_survive_a_click(client: TestClient, ugly: Path) -> None:
    before = ugly.read_text()
    sent(client, f"{API}/roles", {"column": UGLY[5], "role": "none"})
    after = ugly.read_text()
    lost = set(re.findall(r"#.*", before)) - set(re.findall(r"#.*", after))
    assert all("years" in line or "whole numbers" in line or "age" in line for line in lost), lost


def test_candidates_nobody_touched_follow_the_sensitive_columns(client: TestClient, ugly: Path) -> None:
    assert "t-closeness" in ugly.read_text() and " on=" not in ugly.read_text()
    sent(client, f"{API}/roles", {"column": UGLY[1], "role": "sensitive"})
    study = tomllib.loads(ugly.read_text())
    assert 'on="a/b ""c"""' in study["candidates"][0]["requirements"][-1]
    assert asked(client, f"{API}/estimate")["problems"] == []
    sent(client, f"{API}/study", {"candidates": [{"requirements": ["k-anonymity k=7"]}]}, method="PUT")
    sent(client, f"{API}/roles", {"column": UGLY[1], "role": "neutral"})
    assert tomllib.loads(ugly.read_text())["candidates"] == [{"requirements": ["k-anonymity k=7"]}]


def test_values_are_masked_until_they_are_asked_for(client: TestClient, ugly: Path) -> None:
    column = next(each for each in asked(client, f"{API}/columns")["columns"] if each["name"] == UGLY[3])
    assert sorted(column["values"]) == ["<x>Xxxx</x>", "=9+9", "Xxxx", "Xxxxx"]
    shown = asked(client, f"{API}/values", column=UGLY[3])["values"]
    assert {each["text"] for each in shown} == set(TOWNS) and {each["records"] for each in shown} == {30}
    asked(client, f"{API}/values", 404, column="no such")


def test_settings_of_a_table_are_checked_beside_their_field(client: TestClient, ugly: Path) -> None:
    assert sent(client, f"{API}/table", {"household": UGLY[0]}, 422)["field"] == "household"
    assert sent(client, f"{API}/table", {"household": "x"}, 422)["field"] == "household"
    wrong = sent(client, f"{API}/table", {"weights": {UGLY[0]: -1}}, 422)
    assert wrong["field"] == f"weight {UGLY[0]}" and "at least 0" in wrong["error"]
    assert "quasi-identifiers" in sent(client, f"{API}/table", {"weights": {UGLY[1]: 2}}, 422)["error"]
    before = asked(client, f"{API}/columns")["version"]
    lost = sent(client, f"{API}/table", {"reading": {"columns": ["a", "b", "c", "d", "e", "f"]}}, 422)
    assert "there is no column" in lost["error"]
    assert asked(client, f"{API}/columns")["version"] == before
    sent(client, f"{API}/roles", {"column": UGLY[1], "role": "none"})
    sent(client, f"{API}/table", {"household": UGLY[1], "na": ["=1+1", ""], "weights": {UGLY[0]: 2, UGLY[5]: 1}})
    table = tomllib.loads(ugly.read_text())["table"]
    assert table["household"] == UGLY[1] and table["na"] == ["=1+1"] and table["weights"] == {UGLY[0]: 2}
    assert sent(client, f"{API}/table", {"person": UGLY[0]}, 422)["field"] == "person"
    sent(client, f"{API}/table", {"household": "", "person": UGLY[1]})
    study = tomllib.loads(ugly.read_text())
    assert (
        study["table"]["person"] == UGLY[1]
        and "household" not in study["table"]
        and study["axes"] == ["p_loss", "loss"]
    )
    sent(client, f"{API}/table", {"person": "", "one_record_per_person": True})
    table = tomllib.loads(ugly.read_text())["table"]
    assert table["one_record_per_person"] and "person" not in table
    sent(client, f"{API}/roles", {"column": UGLY[0], "role": "none"})
    assert "weights" not in ugly.read_text().split("[table.weights]")[0]


# -- hierarchies -----------------------------------------------------------------------------------------------------


def tree_of(content: dict[str, Any]) -> Any:
    """Write a tree as labels: a group as its label and what is in it."""

    def written(node: dict[str, Any]) -> Any:
        return [node["label"], *map(written, node["children"])] if node["children"] else node["label"]

    return [written(node) for node in content["tree"]["children"]]


def edited(client: TestClient, api: str, column: str, do: str, status: int = 200, **more: Any) -> Any:
    return sent(client, f"{api}/hierarchies", {"column": column, "do": do, **more}, status)


def test_groups_are_put_together_moved_renamed_and_taken_apart(client: TestClient, ugly: Path) -> None:
    town = UGLY[3]
    first = asked(client, f"{API}/hierarchies", column=town)
    assert tree_of(first) == sorted(TOWNS)
    order = sorted(TOWNS)
    rhine = edited(client, API, town, "merge", paths=[str(order.index("Köln")), "0"], label="Rhein <&>")
    assert ["Rhein <&>", "<b>Bonn</b>", "Köln"] in tree_of(rhine) and rhine["levels"][1]["inner"]
    group = next(node for node in rhine["tree"]["children"] if node["group"])
    assert group["records"] == 60
    path = ",".join(map(str, group["path"]))
    trier = next(node["path"] for node in rhine["tree"]["children"] if node["label"] == "Trier")
    more = edited(client, API, town, "move", paths=[",".join(map(str, trier))], into=path)
    assert ["Rhein <&>", "<b>Bonn</b>", "Köln", "Trier"] in tree_of(more)
    named = edited(client, API, town, "rename", paths=[path], label="Rhein und Mosel")
    study = tomllib.loads(ugly.read_text())
    assert ["Rhein und Mosel", "<b>Bonn</b>", "Köln", "Trier"] in study["table"]["hierarchy"][town]["children"]
    assert named["undo"] == f"{town}: renamed"
    apart = edited(client, API, town, "split", paths=[path])
    assert sorted(map(str, tree_of(apart))) == sorted(TOWNS)
    for _ in range(4):
        sent(client, f"{API}/undo")
    assert tree_of(asked(client, f"{API}/hierarchies", column=town)) == sorted(TOWNS)


def test_a_wrong_change_is_a_sentence_and_nothing_is_lost(client: TestClient, desk: Desk, ugly: Path) -> None:
    town = UGLY[3]
    before = ugly.read_text()
    value = edited(client, API, town, "rename", 422, paths=["0"], label="x")
    assert "keeps its name" in value["error"]
    assert edited(client, API, town, "merge", 422, paths=["0", "1"], label=" ")["field"] == "label"
    assert edited(client, API, town, "merge", 422, label="x")["field"] == "paths"
    assert edited(client, API, town, "merge", 422, paths=["9"], label="x")["error"]
    twice = edited(client, API, town, "merge", 422, paths=["0", "1"], label="Trier")
    assert "two different nodes" in twice["error"] and twice["field"] == "hierarchy"
    lacking = edited(client, API, town, "text", 422, text='type = "tree"\nchildren = ["Köln"]\n')
    assert "not in the domain" in lacking["error"] and str(desk.folder) not in lacking["error"]
    assert edited(client, API, town, "text", 422, text="type = ")["error"]
    assert edited(client, API, town, "text", 422, text='type = "tree"\nchildren = "/etc/passwd"\n')["field"] == "text"
    assert edited(client, API, "no such", "split", 422)["field"] == "column"
    assert edited(client, API, town, "add-cut", 422, level=1, to="3")["field"] == "do"
    assert ugly.read_text() == before


def test_a_hierarchy_that_was_written_wrongly_is_shown_with_its_text(client: TestClient, ugly: Path) -> None:
    sent(client, f"{API}/hierarchies", {"column": UGLY[3], "do": "merge", "paths": ["0", "1"], "label": "two"})
    ugly.write_text(ugly.read_text().replace('"Köln"', '"Koeln"'))
    seen = asked(client, f"{API}/hierarchies", column=UGLY[3])
    assert "'Köln' is not in the domain" in seen["wrong"] and "Koeln" in seen["text"]
    page = client.get(f"{PAGES}/hierarchies?column={quote(UGLY[3])}").text
    assert "Koeln" in page and "not in the domain" in page
    mended = edited(client, API, UGLY[3], "text", text=seen["text"].replace("Koeln", "Köln"))
    assert mended["wrong"] is None


def test_cuts_are_moved_added_and_removed_on_all_levels_that_have_them(client: TestClient, ugly: Path) -> None:
    age = UGLY[5]
    edited(client, API, age, "text", text='type = "numeric"\nlower = 18\nupper = 79\nintervals = [10, 20]\n')

    def cuts() -> list[list[str]]:
        seen = asked(client, f"{API}/hierarchies", column=age)
        return [[node["begins"] for node in level["nodes"]][1:] for level in seen["intervals"]["levels"]]

    assert cuts() == [["20", "30", "40", "50", "60", "70"], ["20", "40", "60"]]
    edited(client, API, age, "move-cut", level=2, value="40", to="45")
    assert cuts() == [["20", "30", "40", "45", "50", "60", "70"], ["20", "45", "60"]]
    edited(client, API, age, "move-cut", level=1, value="45", to="46")
    assert cuts() == [["20", "30", "40", "46", "50", "60", "70"], ["20", "46", "60"]]
    edited(client, API, age, "remove-cut", level=1, value="60")
    assert cuts() == [["20", "30", "40", "46", "50", "70"], ["20", "46"]]
    edited(client, API, age, "add-cut", level=2, to="66")
    assert cuts() == [["20", "30", "40", "46", "50", "66", "70"], ["20", "46", "66"]]
    named = edited(client, API, age, "rename", level=1, node=0, label="young")
    assert named["intervals"]["levels"][0]["nodes"][0]["label"] == "young"
    entry = tomllib.loads(ugly.read_text())["table"]["hierarchy"][age]
    assert entry["cuts"] == [[20, 30, 40, 46, 50, 66, 70], [20, 46, 66]] and entry["labels"] == {"18-19": "young"}
    for to in ("18", "99", "x", "20.5"):
        assert edited(client, API, age, "add-cut", 422, level=1, to=to)["field"] == "to"
    edited(client, API, age, "remove-level", level=2)
    assert len(cuts()) == 1
    edited(client, API, age, "add-level", level=1)
    assert cuts()[1] == ["30", "46", "66"]
    bars = asked(client, f"{API}/hierarchies", column=age)["intervals"]["bars"]
    assert sum(bar["records"] for bar in bars) == pytest.approx(120)


def test_days_have_cuts_too_and_keep_their_months_and_years(client: TestClient, desk: Desk) -> None:
    rows = [f"2020-{1 + i % 12:02}-{1 + i % 28:02},{i % 3}" for i in range(100)]
    (desk.folder / "days.csv").write_text("\n".join(["day,x", *rows]))
    sent(client, "/api/projects", {"source": "days.csv"})
    api = "/api/projects/days"
    sent(client, f"{api}/roles", {"column": "day", "role": "quasi"})
    text = 'type = "dates"\nfirst = 2020-01-01\nlast = 2020-12-31\nlevels = ["month", "quarter"]\n'
    edited(client, api, "day", "text", text=text)
    moved_ = edited(client, api, "day", "move-cut", level=2, value="2020-07-01", to="2020-07-15")
    quarters = [node["label"] for node in moved_["intervals"]["levels"][1]["nodes"]]
    assert quarters == ["2020-Q1", "2020-04-01..2020-07-14", "2020-07-15..2020-09-30", "2020-Q4"]
    months = [node["label"] for node in moved_["intervals"]["levels"][0]["nodes"]]
    assert months[:6] == [f"2020-{month:02}" for month in range(1, 7)] and len(months) == 13


def test_proposals_take_the_place_of_a_hierarchy(client: TestClient, ugly: Path) -> None:
    age = UGLY[5]
    guess = asked(client, f"{API}/hierarchies", column=age)
    assert guess["proposals"] == ["guess", "automatic"]
    edited(client, API, age, "text", text='type = "numeric"\nlower = 0\nupper = 99\nintervals = [50]\n')
    again = edited(client, API, age, "propose", proposal="guess")
    assert again["text"] == guess["text"] and again["levels"] == guess["levels"]
    edited(client, API, age, "propose", proposal="automatic")
    assert age not in tomllib.loads(ugly.read_text())["table"]["hierarchy"]
    assert "grouped by similarity" in edited(client, API, UGLY[3], "propose", 422, proposal="similar")["error"]


def test_levels_say_what_publishing_them_would_do(client: TestClient, ugly: Path) -> None:
    levels = asked(client, f"{API}/hierarchies", column=UGLY[0])["levels"]
    assert [level["alone"]["k"] for level in levels] == [60, 120]
    assert levels[0]["together"]["unique"] >= levels[1]["together"]["unique"]


def test_nested_groups_are_edited_as_a_person_would() -> None:
    root = Branch("*", (Branch("A", (Branch("a"), Branch("b"))), Branch("B", (Branch("c"),)), Branch("d")))
    written = [child.nested() for child in moved(root, [(1, 0), (2,)], (0,)).children]
    assert written == [["A", "a", "b", "c", "d"]], "a group that is empty goes"
    together = merged(root, [(0,), (2,)], "AD").children
    assert [child.nested() for child in together] == [["AD", "a", "b", "d"], ["B", "c"]]
    inside = merged(root, [(0, 0), (0,)], "X").children
    assert inside[0].nested() == ["X", "a", "b"], "what is inside another is taken with it"
    assert [child.nested() for child in dissolved(root, (0,)).children] == ["a", "b", ["B", "c"], "d"]
    assert renamed(root, (1,), "Z").at((1,)).label == "Z"
    with pytest.raises(Exception, match="into itself"):
        moved(root, [(0,)], (0,))
    assert branches_of(numeric(0, 3, cuts=[[2]])).nested() == ["*", ["0-1", "0", "1"], ["2-3", "2", "3"]]


# -- risk ------------------------------------------------------------------------------------------------------------


def test_risk_is_that_of_the_command_line_and_records_are_masked(client: TestClient, desk: Desk, ugly: Path) -> None:
    seen = asked(client, f"{API}/risk")
    told = json.loads(run("check", ugly, "--json").stdout)
    assert seen["uniques"] == told["risk"]["uniques"] / 120 and seen["smallest"] == told["risk"]["k"]
    assert [each["name"] for each in seen["attributes"]] == [each["name"] for each in told["attributes"]]
    assert "Köln" not in json.dumps(seen, ensure_ascii=False) and "Xöxx" not in json.dumps(seen["worst"])
    plain = asked(client, f"{API}/risk", show="yes")
    assert any(value["text"] in TOWNS for group in plain["worst"] for value in group["values"])
    page = client.get(f"{PAGES}/risk").text
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page and str(desk.folder) not in page


def test_risk_of_baskets(client: TestClient, desk: Desk) -> None:
    (desk.folder / "shop.dat").write_text("\n".join(["tea jam", "tea", "jam figs", "tea <b>"] * 20))
    sent(client, "/api/projects", {"source": "shop.dat"})
    seen = asked(client, "/api/projects/shop/risk", show="yes")
    assert seen["records"] == 80 and seen["items"] == 4
    assert ["<b>"] in [each["items"] for each in seen["worst"]] or seen["worst"][0]["records"] == 20
    page = client.get("/projects/shop/risk?show=yes").text
    assert "<b>" not in page.split("<main")[1].split("</main>")[0]
    assert client.get("/projects/shop/wishes").status_code == 200
    before = asked(client, "/api/projects/shop/wishes")
    assert before["kind"] == "baskets"
    sent(client, "/api/projects/shop/wishes", {"recipient": "internal", "known": 1})
    study = tomllib.loads((desk.folder / "shop" / "study.toml").read_text())
    assert study["candidates"][0]["requirements"] == [f"km-anonymity k={k} m=1" for k in (3, 5, 10)]
    assert study["scales"]["known"] == 1


# -- wishes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipient", RECIPIENTS)
@pytest.mark.parametrize("bundled", ["adult-train", "online-retail"])
def test_every_wish_has_a_candidate_that_is_fit_for_its_recipient(bundled: str, recipient: str) -> None:
    """The candidate that all wishes for a recipient share is made, fit, and better than publishing nothing."""
    study = read_study(bundled)
    data = study.data.open()
    if bundled == "online-retail":
        wishes = [Wishes(recipient, known=study.scales.known)]  # type: ignore[arg-type]
        made = [basket_parts_for(study, data, one)["candidates"] for one in wishes]
    else:
        purposes = ("counts", "records")
        wishes = [Wishes(recipient, learned, purpose) for learned in get_args(Learned) for purpose in purposes]  # type: ignore[arg-type]
        made = [parts_for(study, data, one)["candidates"] for one in wishes]
    shared = [blocks[0]["requirements"][0] for blocks in made]
    grids = {(blocks[0]["anonymizers"][0], text) for blocks, text in zip(made, shared, strict=True)}
    own = replace(study, grids=tuple({"anonymizers": maker, "requirements": text} for maker, text in grids))  # type: ignore[misc]
    map_ = explore(own)
    for point in map_.points:
        assert RECIPIENTS[recipient].fitness(map_, point).is_fit, (point, point.measures)
        assert point.measures.get("loss", point.measures.get("ncp", 1.0)) < 0.5


def test_wishes_become_candidates_axes_and_scales(client: TestClient, ugly: Path) -> None:
    sent(client, f"{API}/wishes", {"recipient": "public", "learned": "identity", "purpose": "counts"})
    study = tomllib.loads(ugly.read_text())
    fit = "k-anonymity k=11 & l-diversity l=2 variant=frequency"
    assert study["candidates"][0]["requirements"] == [fit, "k-anonymity k=11", "k-anonymity k=20"], (
        "120 records bear no more"
    )
    assert study["axes"] == ["p_loss", "loss"] and "search" not in study
    body = {"recipient": "internal", "learned": "value", "purpose": "learning", "target": UGLY[2], "budget": "5s"}
    sent(client, f"{API}/wishes", body)
    study = tomllib.loads(ugly.read_text())
    assert all(" & l-diversity" in text for text in study["candidates"][0]["requirements"])
    assert study["axes"][1] == "workload_accuracy" and study["search"] == {"budget": "5s"}
    assert study["scales"]["classification"] == 'classification target="a/b ""c"""'
    assert asked(client, f"{API}/wishes")["chosen"]["purpose"] == "learning"
    sent(client, f"{API}/wishes", {"recipient": "partner", "learned": "close", "purpose": "records"})
    study = tomllib.loads(ugly.read_text())
    assert "classification" not in study["scales"] and "local-suppression" in ugly.read_text()
    sent(client, f"{API}/wishes", {"recipient": "partner", "purpose": "everything"})
    assert len(read_study(str(ugly)).candidates) > 25  # type: ignore[attr-defined]
    for _ in range(4):
        sent(client, f"{API}/undo")
    wrong = sent(client, f"{API}/wishes", {"recipient": "public", "purpose": "learning", "target": UGLY[3]}, 422)
    assert wrong["field"] == "target"
    assert sent(client, f"{API}/wishes", {"recipient": "public", "budget": "soon"}, 422)["field"] == "budget"
    assert sent(client, f"{API}/wishes", {"recipient": "king"}, 422)["field"] == "recipient"


@pytest.mark.parametrize("purpose", ["counts", "learning", "records"])
def test_what_presets_write_can_be_explored(client: TestClient, ugly: Path, purpose: str) -> None:
    sent(client, f"{API}/wishes", {"recipient": "internal", "learned": "all", "purpose": purpose, "target": UGLY[2]})
    seen = asked(client, f"{API}/estimate")
    assert seen["problems"] == [] and seen["wrong"] is None and seen["candidates"] > 3


def test_forms_write_the_texts_of_a_study_and_read_them(client: TestClient, desk: Desk) -> None:
    schemas = asked(client, "/api/options")
    assert schemas["requirements"]["l-diversity"]["properties"]["c"]["x-when"] == {"variant": ["recursive"]}
    body = {
        "section": "requirements",
        "name": "l-diversity",
        "values": {"l": 3, "variant": "recursive", "c": 2, "on": UGLY[2]},
    }
    text = sent(client, "/api/options/text", body)["text"]
    assert text == 'l-diversity l=3 variant=recursive c=2 on="a/b ""c"""'
    joined = f"k-anonymity k=5 & {text}"
    parts = sent(client, "/api/options/values", {"section": "requirements", "text": joined})["parts"]
    assert [part["name"] for part in parts] == ["k-anonymity", "l-diversity"] and parts[1]["values"] == body["values"]
    for values, field in [
        ({"variant": "distinct"}, "l"),
        ({"l": 0, "variant": "distinct"}, "l"),
        ({"l": 2, "variant": "odd"}, "variant"),
        ({"l": 2, "variant": "distinct", "c": 3}, "c"),
        ({"l": 2, "variant": "distinct", "x": 3}, "x"),
    ]:
        wrong = sent(
            client, "/api/options/text", {"section": "requirements", "name": "l-diversity", "values": values}, 422
        )
        assert wrong["field"] == field, wrong
    assert (
        sent(client, "/api/options/text", {"section": "made elsewhere", "name": "brought"}, 422)["field"] == "section"
    )
    every = [(section, name) for section, kinds in schemas.items() for name in kinds if "x-text" in kinds[name]]
    assert len(every) > 40


def test_parts_of_a_study_are_written_by_forms_and_refused_with_their_name(client: TestClient, ugly: Path) -> None:
    parts = asked(client, f"{API}/wishes")["study"]
    version = asked(client, f"{API}/wishes")["version"]
    unchanged = sent(client, f"{API}/study", {**parts, "version": version}, method="PUT")
    assert read_study(str(ugly)).to_toml() and unchanged["version"]
    body = {
        "axes": ["k", "loss"],
        "scales": {"min_support": 0.2},
        "search": {"budget": "3s", "makers": ["mondrian"]},
        "candidates": [{"anonymizers": ["mondrian"], "requirements": ["k-anonymity k=4"], "suppress": [0.1]}],
    }
    sent(client, f"{API}/study", body, method="PUT")
    study = tomllib.loads(ugly.read_text())
    assert study["axes"] == ["k", "loss"] and study["scales"] == {"min_support": 0.2}
    assert study["search"] == body["search"] and study["candidates"] == body["candidates"]
    before = ugly.read_text()
    for wrong, field in [
        ({"axes": ["k", "no such"]}, "axes"),
        ({"axes": ["k"]}, "axes"),
        ({"scales": {"min_support": 7}}, "scales"),
        ({"search": {"budget": "soon"}}, "search"),
        ({"candidates": [{"requirements": ["k-anonymity"]}]}, "candidates"),
        ({"candidates": ["x"]}, "candidates"),
    ]:
        assert sent(client, f"{API}/study", wrong, 422, "PUT")["field"] == field, wrong
    outside = {"scales": {"attacks": "attacks file=/etc/passwd"}}
    assert client.put(f"{API}/study", json=outside).status_code in (403, 422)
    assert ugly.read_text() == before


def test_every_page_of_an_ugly_project_has_no_tag_of_the_data(client: TestClient, ugly: Path) -> None:
    for step in ("columns", "hierarchies", "risk", "wishes"):
        page = client.get(f"{PAGES}/{step}")
        assert page.status_code == 200
        assert not re.search(r"<(script>alert|i>|b>Bonn)", page.text), step
        assert not re.search(r"<[^>]+ (style|on\w+)=", page.text), step
    assert client.get("/open").status_code == 200


def test_what_takes_long_is_said_to_be_worked_out_and_then_shown(
    client: TestClient, ugly: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    worked_out = risk.shown_risk

    def slowly(*given: Any) -> Any:
        assert go_on.wait(600)
        return worked_out(*given)

    monkeypatch.setattr(risk, "shown_risk", slowly)
    monkeypatch.setattr(changes, "PATIENCE", 0.05)
    assert "being worked out" in client.get(f"{PAGES}/risk").text
    assert "being worked out" in client.get(f"{PAGES}/risk").text
    go_on.set()
    monkeypatch.setattr(changes, "PATIENCE", 600.0)
    assert "Risk as it stands" in client.get(f"{PAGES}/risk").text
    assert not changes._working


def test_a_study_that_cannot_be_read_is_told_on_its_pages(client: TestClient, ugly: Path) -> None:
    ugly.write_text(ugly.read_text(encoding="utf-8").replace("[[candidates]]", "[[candidate]]"), encoding="utf-8")
    for step in ("columns", "hierarchies", "risk", "wishes"):
        page = client.get(f"{PAGES}/{step}")
        assert page.status_code == 200 and "This cannot be read" in page.text and "candidate" in page.text, step


def test_a_histogram_has_no_bar_that_counts_two_values() -> None:
    """With a few more leaves than bars one bar counted two of them, and stood out by that alone."""
    leaves = BINS + 1
    tree = numeric(0, leaves - 1)
    assert tree.domain_size == leaves
    view = SimpleNamespace(hierarchy=tree, counts=np.full(leaves, 10))
    line = np.linspace(0, 1, leaves + 1)
    bars = [bar["records"] for bar in _bars(view, line)]
    assert max(bars) - min(bars) < 1e-9 and sum(bars) == pytest.approx(10 * leaves)
