"""Pages of runs, audits and files in a browser: what is clicked works, names are texts, everybody can read it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from held_runs import HELD, held_until
from sfumato.texts.catalogue import t
from sfumato.workbench.endpoints import House
from sfumato.workbench.projects import Desk
from sfumato.workbench.runs import Runs
from workbenches import MAY_END, STUDY, make_desk, make_held_project, make_project, served

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
HOSTILE = '<img src=x onerror="document.title=1">'
UGLY = f"=HYPERLINK(1),{HOSTILE.replace(',', '')},ill\n20-29,f,flu\n20-29,f,gout\n30-39,*,<script>x</script>\n"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    desk = make_desk(tmp_path_factory.mktemp("desk"))
    many = str([f"k-anonymity k={k}" for k in range(2, 31)]).replace("'", '"')
    make_held_project(desk, "people <b>", STUDY.replace(STUDY.split("requirements = ")[1], f"{many}\n{HELD}"))
    make_project(desk.folder / "foreign", STUDY.replace("people.csv", "/etc/passwd"))
    with held_until(desk.uploads / MAY_END):
        yield desk


@pytest.fixture(scope="module")
def page(desk: Desk, browser: Any) -> Iterator[Any]:
    """A page that was let in; what it logs as an error fails the test that caused it."""
    with served(House(desk, Runs())) as (origin, gate):
        context = browser.new_context(base_url=origin, viewport={"width": 1280, "height": 900})
        opened = context.new_page()
        opened.problems = []
        opened.on("pageerror", lambda error: opened.problems.append(str(error)))
        opened.on("dialog", lambda dialog: opened.problems.append("a dialog"))
        opened.goto(f"/?token={gate.token}")
        yield opened
        context.close()


def readable(page: Any) -> None:
    """Everybody can read it: axe finds nothing, at both widths, light and dark; nothing is wider than the window."""
    for width, scheme in ((1280, "light"), (800, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page, options=RULES).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []
        assert page.evaluate("() => document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert page.problems == []


def test_a_run_is_started_stopped_and_taken_up_again(page: Any, desk: Desk) -> None:
    page.goto("/")
    readable(page)
    page.click("text=people <b>")
    page.goto("/projects/people%20%3Cb%3E/run")
    readable(page)
    page.click("#begin")
    page.locator("#points li").nth(1).wait_for(timeout=240_000)
    readable(page)
    page.click("#cancel")
    page.locator("#begin").wait_for(timeout=240_000)
    assert page.inner_text("#begin") == t("run.go_on") and page.inner_text("#sentence") == t("run.stopped")
    (desk.uploads / MAY_END).touch()
    page.click("#begin")
    page.locator("#map.main").wait_for(timeout=240_000)
    assert "30 releases of 30" in page.inner_text("#sentence")
    assert (desk.folder / "people <b>" / "points.json").is_file()
    page.reload()
    assert "30 releases of 30" in page.inner_text("#sentence")
    page.goto("/projects/people%20%3Cb%3E/files")
    readable(page)
    with page.expect_download() as downloading:
        page.click("text=report-public.html")
    assert downloading.value.suggested_filename == "people _b_-public-report-public.html"


def test_a_file_is_audited_by_dropping_it(page: Any, tmp_path: Path) -> None:
    (tmp_path / "ugly <b>.csv").write_text(UGLY, encoding="utf-8")
    page.goto("/audit")
    readable(page)
    assert page.is_disabled("#go")
    page.set_input_files("#upload", tmp_path / "ugly <b>.csv")
    page.locator("#roles tr").nth(2).wait_for()
    shown = page.locator("#roles td:first-child").all_inner_texts()
    assert shown == ["=HYPERLINK(1)", HOSTILE, "ill"]
    assert page.locator("#group option").all_inner_texts()[1:] == shown, "a bucketized file names its groups"
    page.click("#go")
    page.locator("#roles-error").wait_for()  # nobody said what may be known
    for number, role in enumerate(("quasi", "quasi", "sensitive")):
        page.check(f"input[name=role-{number}][value={role}]")
    page.fill("#require", "k-anonymity k=two")
    page.click("#go")
    page.locator("#require-error").wait_for()
    assert "whole number" in page.inner_text("#require-error")
    page.fill("#require", "k-anonymity k=2")
    page.click("#go")
    page.locator("#found").wait_for()
    assert page.inner_text("#verdict") == t("audit.fails")
    assert "k-anonymity k=2 does not hold" in page.inner_text("#lines")
    assert "<script>x</script>" in page.inner_text("#lines")
    assert page.locator("#measures tr").first.inner_text().split()[:2] == ["k", "1"]
    readable(page)


def test_whoever_may_not_is_told_so_on_a_page(page: Any) -> None:
    page.goto("/projects/foreign/run")
    assert "outside of the folder" in page.inner_text("main")
    readable(page)
