"""The pages before a run in a browser: a file is chosen, roles clicked, cuts dragged, and everybody can read it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from sfumato.workbench.endpoints import House
from sfumato.workbench.projects import Desk
from sfumato.workbench.runs import Runs
from test_workbench_before import UGLY, ugly_table
from test_workbench_pages import readable
from workbenches import make_desk, served

NAME = 'ugly "1" <i>#%'
AGE, TOWN = UGLY[5], UGLY[3]
ROLES = ((UGLY[0], "quasi-identifier"), (TOWN, "quasi-identifier"), (UGLY[2], "sensitive"))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return make_desk(tmp_path_factory.mktemp("desk"))


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


@pytest.fixture(scope="module")
def project(page: Any, desk: Desk, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a project made by hand: a file is chosen, looked at, and a project made of it."""
    file = tmp_path_factory.mktemp("files") / "people <b>.csv"
    file.write_text(ugly_table(), encoding="utf-8")
    page.goto("/open")
    readable(page)
    page.set_input_files("#file", str(file))
    page.wait_for_selector("#looked .records")
    assert "Trier" not in page.inner_text("#looked") and page.locator("#looked td").first.inner_text() == "x"
    page.click("#looked button:text-is('Show values')")
    page.wait_for_selector("#looked td:text-is('Trier')")
    readable(page)
    page.fill("#name", "a/b")
    page.click("#looked button:text-is('Make the project')")
    page.wait_for_selector("#looked .make .wrong:not([hidden])")
    page.fill("#name", NAME)
    page.click("#looked button:text-is('Make the project')")
    page.wait_for_url("**/columns")
    for column, name in ROLES:  # no test needs another before it
        if not page.locator("tr", has_text=column).get_by_label(name, exact=True).is_checked():
            role(page, column, name)
    return f"/projects/{quote(NAME, safe='')}"


def entry(desk: Desk, column: str) -> Any:
    content = tomllib.loads((desk.folder / NAME / "study.toml").read_text(encoding="utf-8"))
    return content["table"]["hierarchy"].get(column, {})


def role(page: Any, column: str, name: str) -> None:
    """Click a role, and wait until the page was made anew."""
    before = page.get_attribute("[data-version]", "data-version")
    row = page.locator("fieldset[data-column]", has=page.locator(f"xpath=self::*[@data-column='{column}']"))
    row.get_by_label(name, exact=True).click()
    page.wait_for_function("(old) => document.querySelector('[data-version]').dataset.version !== old", arg=before)


def changed(page: Any, act: Any) -> None:
    """Do something that changes the study, and wait until the page was made anew."""
    before = page.get_attribute("[data-version]", "data-version")
    act()
    page.wait_for_function("(old) => document.querySelector('[data-version]').dataset.version !== old", arg=before)


def test_roles_are_clicked_undone_by_the_keyboard_and_values_shown_on_demand(page: Any, project: str) -> None:
    page.goto(f"{project}/columns")
    for column, name in ROLES:
        assert page.locator("tr", has_text=column).get_by_label(name, exact=True).is_checked()
    readable(page)
    role(page, TOWN, "identifier")
    assert page.evaluate("() => document.activeElement.value") == "identifier", "the focus stays where it was"
    changed(page, lambda: page.keyboard.press("Control+z"))
    assert page.locator("tr", has_text=TOWN).get_by_label("quasi-identifier", exact=True).is_checked()
    cells = page.locator("tr", has_text=TOWN)
    assert "Trier" not in cells.locator("code").inner_text()
    cells.locator("button[data-show]").click()
    page.wait_for_function("() => document.body.innerText.includes('Trier')")
    page.goto(f"{project}/columns")
    page.locator("[data-weight]").first.fill("-2")
    page.evaluate("() => document.getElementById('settings').noValidate = true")
    page.click("#settings button[type=submit]")
    page.wait_for_selector("#settings fieldset .wrong:not([hidden])")
    assert page.problems == []


def test_a_cut_is_dragged_by_the_mouse_moved_by_keys_and_undone(page: Any, project: str, desk: Desk) -> None:
    page.goto(f"{project}/hierarchies?column={quote(AGE)}")
    page.click("summary:text-is('As text')")
    page.fill("#text", 'type = "numeric"\nlower = 18\nupper = 77\ncuts = [[30, 40, 60], [40]]\n')
    changed(page, lambda: page.click("#as-text button"))
    cut = page.locator(".cut[data-value='30']")
    place = cut.locator(".handle").bounding_box()
    wide = page.locator(".histogram").bounding_box()["width"] * 800 / 824
    x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + wide * 5 / 60, y, steps=4)
    assert cut.count() == 0 and page.locator(".cut[data-value='35']").count() == 1, "it moves before it is let go"
    changed(page, page.mouse.up)
    assert entry(desk, AGE)["cuts"] == [[35, 40, 60], [40]]
    assert "35-39" in page.inner_text("#line")
    slider = page.locator(".cut[data-value='60']")
    slider.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "PageUp"):
        page.keyboard.press(key)
    assert page.evaluate("() => document.activeElement.getAttribute('aria-valuetext')") == "71"
    changed(page, lambda: page.keyboard.press("Enter"))
    assert entry(desk, AGE)["cuts"] == [[35, 40, 71], [40]]
    changed(page, lambda: page.click("[data-do=undo]"))
    changed(page, lambda: page.click("[data-do=undo]"))
    assert entry(desk, AGE)["cuts"] == [[30, 40, 60], [40]]
    changed(page, lambda: page.click("[data-do=redo]"))
    assert entry(desk, AGE)["cuts"] == [[35, 40, 60], [40]]
    page.fill("#cut-at", "1000")
    page.click("#add-cut button")
    page.wait_for_selector("#hierarchy-wrong:not([hidden])")
    page.locator(".cut[data-value='60']").focus()
    changed(page, lambda: page.keyboard.press("Delete"))
    assert entry(desk, AGE)["cuts"] == [[35, 40], [40]]
    readable(page)


def test_groups_are_dragged_and_put_together(page: Any, project: str, desk: Desk) -> None:
    page.goto(f"{project}/hierarchies?column={quote(TOWN)}")
    for label in ("Köln", "<b>Bonn</b>"):
        page.check(f"#tree input[aria-label='Choose {label}']")
    page.fill("#label", "Rhein <i>")
    changed(page, lambda: page.click("[data-chosen=merge]"))
    assert ["Rhein <i>", "<b>Bonn</b>", "Köln"] in entry(desk, TOWN)["children"]
    group = page.locator("#tree li.group > .node").first
    changed(page, lambda: page.locator("#tree li.value", has_text="Trier").drag_to(group))
    assert ["Rhein <i>", "<b>Bonn</b>", "Köln", "Trier"] in entry(desk, TOWN)["children"]
    page.click("[data-tree=rename]")
    page.keyboard.type("Rhein und Mosel")
    changed(page, lambda: page.keyboard.press("Enter"))
    assert entry(desk, TOWN)["children"][-1][0] == "Rhein und Mosel" or "Mosel" in str(entry(desk, TOWN)["children"])
    readable(page)


def test_risk_and_wishes_can_be_read_and_any_option_is_a_form(page: Any, project: str, desk: Desk) -> None:
    page.goto(f"{project}/risk")
    readable(page)
    page.goto(f"{project}/wishes")
    page.check("input[name=recipient][value=internal]")
    page.check("input[name=purpose][value=learning]")
    page.click("#wishes button[type=submit]")
    page.wait_for_selector("#target-field .wrong:not([hidden])")
    page.select_option("#wish-target", UGLY[2])
    changed(page, lambda: page.click("#wishes button[type=submit]"))
    page.wait_for_selector("#estimate .lead")
    assert page.inner_text("#estimate").startswith("Exploring this makes")
    readable(page)
    page.click("#any summary")
    page.locator("#options .block").first.locator("button:text-is('Add')").nth(1).click()
    page.select_option(".composer select", "l-diversity")
    page.locator(".composer .field", has_text="variant").locator("select").select_option("recursive")
    page.click(".composer button:text-is('Take it')")
    page.wait_for_selector(".composer .field .wrong:not([hidden])")
    page.locator(".composer .field").first.locator("input").fill("2")
    page.locator(".composer .field", has_text="factor").locator("input").fill("3")
    page.click(".composer button:text-is('Take it')")
    page.wait_for_selector(".texts code:text-is('l-diversity l=2 variant=recursive c=3')")
    readable(page)
    changed(page, lambda: page.click("button:text-is('Save these options')"))
    assert "l-diversity l=2 variant=recursive c=3" in (desk.folder / NAME / "study.toml").read_text(encoding="utf-8")


def test_an_upload_that_is_gone_is_given_again(page: Any, project: str, desk: Desk, tmp_path: Path) -> None:
    for path in desk.uploads.glob("*/*"):
        path.unlink()
    page.goto(f"{project}/columns")
    assert "people _b_.csv" in page.inner_text("main")
    readable(page)
    file = tmp_path / "again.csv"
    file.write_text(ugly_table(), encoding="utf-8")
    page.set_input_files("#file", str(file))
    page.wait_for_selector("table.columns")
