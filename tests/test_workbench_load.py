"""Many tabs at once: no change is lost, nobody is answered with what is another's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from workbenches import STUDY, make_desk, make_project

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
