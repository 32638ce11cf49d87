"""Many tabs at once: no change is lost, nobody is answered with what is another's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from sfumato.pages.texts import t
from sfumato.workbench.app import House, opened
from sfumato.workbench.gate import Gate
from sfumato.workbench.runs import Runs
from workbenches import HOST, ORIGIN, STUDY, make_desk, make_project

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


def test_nobody_is_answered_with_what_is_anothers(tmp_path: Path) -> None:
    """Twenty people at once, each with a desk of their own, as a team has them."""
    people = [f"user{number}" for number in range(20)]
    desks = {}
    for name in people:
        (tmp_path / name).mkdir()
        desks[name] = make_desk(tmp_path / name)
        make_project(desks[name].folder / f"of-{name}", STUDY.replace('"people"', f'"{name}"'))

    class Named(Gate):
        """Takes the name of whoever asks from a header, in place of a session."""

        def admitted(self, request: Any) -> Any:
            from sfumato.workbench.gate import Visitor

            return Visitor(request.headers["x-user"], self.csrf())

    app = opened(House(lambda name: desks[name], Runs()), Named(frozenset([HOST])))
    with TestClient(app, ORIGIN, raise_server_exceptions=False) as client, ThreadPoolExecutor(len(people)) as pool:

        def ask(number: int) -> list[str]:
            name = people[number % len(people)]
            headers = {"x-user": name}
            own = client.get("/api/projects", headers=headers).json()["projects"]
            page = client.get(f"/projects/of-{name}/run", headers=headers)
            other = client.get(f"/projects/of-{people[(number + 1) % len(people)]}/run", headers=headers)
            wrong = [each["name"] for each in own if each["name"] != f"of-{name}"]
            wrong += [] if page.status_code == 200 and t("run.idle") in page.text else [f"{page.status_code}"]
            return wrong + ([] if other.status_code == 404 else [f"the other's: {other.status_code}"])

        assert [each for found in pool.map(ask, range(60)) for each in found] == []
