"""The whole walk in a real browser, as a person goes: from a file to a published release that the command line audits.

On an ugly upload, on the bundled census and on baskets; with real runs, one of which is stopped and taken up again.
"""

from __future__ import annotations

import base64
import csv
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import quote

import pytest

from command_line import run
from sfumato.workbench.endpoints import House
from sfumato.workbench.projects import Desk
from sfumato.workbench.runs import Run
from workbench_maps import made
from workbenches import STUDY, make_desk, make_project, served

MINUTES = 4 * 60_000
"""Milliseconds that a run may take on a busy machine."""

AGE, ZIP, ILL = "Alter, Jahre", 'PLZ "neu"', "Diagnose <script>window.pwned=1</script>"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return make_desk(tmp_path_factory.mktemp("walk"))


@pytest.fixture(scope="module")
def address(desk: Desk) -> Iterator[str]:
    with served(House(desk)) as (origin, gate):
        yield f"{origin}/?token={gate.token}"


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """A tab that was let in; a script that fails, a request that fails, a value that runs: each fails the test."""
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, base_url=address.split("/?")[0], accept_downloads=True
    )
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda told: wrong.append(told.text) if told.type == "error" else None)
    page.goto(address)
    yield page
    pwned = page.evaluate("window.pwned")
    context.close()
    assert wrong == [] and pwned is None


def ugly_file(folder: Path) -> Path:
    """Write what a clinic might: semicolons, cp1252, decimal commas, blanks, values that would run."""
    draw = random.Random(5)
    path = folder / "Patienten <neu>.csv"
    with path.open("w", encoding="cp1252", newline="") as stream:
        out = csv.writer(stream, delimiter=";")
        out.writerow(["Fall-Nr.", AGE, ZIP, "Geschlecht", "Größe", ILL])
        for i in range(600):
            age = "" if i % 50 == 0 else draw.randrange(20, 90)
            ill = draw.choice(["J45.0", "I10", "E11.9", '=HYPERLINK("http://x")'])
            out.writerow([f"F{i:05}", age, f"1{draw.randrange(40):02}15", "mw"[i % 2], f"1{i % 90:02},5", ill])
    return path


def opened(page: Any, given: Path | str) -> str:
    """Open a file or bundled data and make a project of it; return where its pages are."""
    page.goto("/open")
    if isinstance(given, Path):
        page.set_input_files("#file", str(given))
    else:
        page.click(f'button[data-source="{given}"]')
    page.click("text=Make the project")
    page.wait_for_url("**/projects/*/*", timeout=MINUTES)
    return str(page.url.rsplit("/", 1)[0])


def explored(page: Any, here: str) -> None:
    """Run the study to its end."""
    page.goto(f"{here}/run")
    page.click("#begin")
    page.wait_for_selector("#map:visible", timeout=MINUTES)
    page.wait_for_selector("#begin:visible", timeout=MINUTES)


def published(page: Any, here: str, folder: Path) -> Path:
    """Publish what the map recommends to a partner, and download the data."""
    page.goto(f"{here}/map")
    page.click('button[data-for="partner"]')
    page.wait_for_selector("#recommendation a, #recommendation button")
    with page.expect_navigation():
        page.locator("#recommendation").get_by_role("link", name="Publish it").click()
    page.check('input[name="recipient"][value="partner"]')
    page.click("#do")
    page.wait_for_selector("#result a", timeout=MINUTES)
    name = page.input_value("#file")
    with page.expect_download() as waiting:
        page.locator("#result").get_by_text(name, exact=True).click()
    waiting.value.save_as(folder / name)
    return folder / name


def dropped(page: Any, file: Path) -> None:
    """Drop a file onto the page of an audit, as from the desktop."""
    content = base64.b64encode(file.read_bytes()).decode()
    carried = page.evaluate_handle(
        """([name, content]) => {
          const carried = new DataTransfer();
          carried.items.add(new File([Uint8Array.from(atob(content), (mark) => mark.charCodeAt(0))], name));
          return carried;
        }""",
        [file.name, content],
    )
    page.dispatch_event("#drop", "drop", {"dataTransfer": carried})
    page.wait_for_selector("#roles tr")


def test_an_ugly_upload_becomes_a_release_that_the_command_line_confirms(page: Any, desk: Desk, tmp_path: Path) -> None:
    here = opened(page, ugly_file(tmp_path))
    project = next(desk.projects())
    roles = page.locator("fieldset[data-column]")
    assert roles.count() == 6 and page.locator("main").inner_text().count("<script>") >= 1
    page.check('fieldset[data-column="Größe"] input[value="neutral"]')  # no secret here: it stays with its record
    page.wait_for_selector(".role-neutral")
    for step, word in (("hierarchies", AGE), ("risk", "unique"), ("wishes", "What matters")):
        page.goto(f"{here}/{step}")
        assert word in page.locator("main").inner_text(), step
    page.check('input[name="recipient"][value="partner"]')
    page.check('input[name="learned"][value="value"]')
    with page.expect_response(lambda answer: answer.request.method == "POST" and answer.url.endswith("/wishes")):
        page.click("#wishes button[type=submit]")
    explored(page, here)
    page.goto(f"{here}/map")
    page.wait_for_selector("#chart svg, #chart canvas")
    file = published(page, here, tmp_path)
    certificate = json.loads((project.folder / "releases" / f"{file.name}.certificate.json").read_text())
    asked = ["--quasi", AGE, "--quasi", ZIP, "--quasi", "Geschlecht", "--sensitive", ILL]
    done = run("audit", str(file), *asked, "--require", "k-anonymity k=5", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)["measures"]
    assert told["k"] == certificate["measures"]["k"] >= 5
    assert (
        run("ask", str(project.folder), "k within loss 0.99", "--search", "0").returncode == 0
    )  # the command line reads the same map
    page.goto(f"/projects/{quote(project.name)}/publish")
    assert file.name in page.locator("#list").inner_text()
    page.goto("/audit")
    dropped(page, file)
    for column, role in ((AGE, "quasi"), (ZIP, "quasi"), ("Geschlecht", "quasi"), (ILL, "sensitive")):
        page.locator("#roles").get_by_role("row", name=column).locator(f'input[value="{role}"]').check()
    page.fill("#require", "k-anonymity k=5")
    page.click("#go")
    page.wait_for_selector("#found:visible", timeout=MINUTES)
    measures = dict(
        page.locator("#measures tr").evaluate_all(
            "rows => rows.map((row) => [row.cells[0].innerText, row.cells[1].innerText])"
        )
    )
    assert measures["k"] == str(certificate["measures"]["k"])
    assert "holds" in page.locator("#verdict").get_attribute("class")


@contextmanager
def held_until_cancelled() -> Iterator[None]:
    """Let nobody hear more of a run than its first point: its pipe is full long before all 70, so it cannot end."""
    heard = Run._heard

    def hear(run: Run, kind: str, event: Any) -> None:
        heard(run, kind, event)
        if kind == "point":
            run._cancelled.wait()

    with mock.patch.object(Run, "_heard", hear):
        yield


def test_the_census_is_run_stopped_taken_up_again_and_bounded(page: Any, desk: Desk) -> None:
    here = opened(page, "adult")
    folder = desk.folder / here.rsplit("/", 1)[1]
    page.goto(f"{here}/run")
    with held_until_cancelled():
        page.click("#begin")
        page.wait_for_selector("#points li", state="attached", timeout=MINUTES)
        page.click("#cancel")
        page.wait_for_selector("#begin:visible", timeout=MINUTES)
    kept = (folder / "cache.jsonl").read_bytes()
    assert kept and not (folder / "points.json").exists()
    explored(page, here)
    assert (folder / "cache.jsonl").read_bytes().startswith(kept)  # nothing was measured twice
    points = json.loads((folder / "points.json").read_text())["points"]
    assert len(points) == 70 and all(point["status"] == "measured" for point in points)
    page.goto(f"{here}/map")
    page.wait_for_selector("body[data-ready]")
    before = page.locator("#answer").inner_text()
    page.locator("#handle-x").focus()
    for _ in range(25):
        page.keyboard.press("ArrowLeft")
    assert page.locator("#answer").inner_text() != before


def test_baskets_walk_the_same_way(page: Any, desk: Desk, tmp_path: Path) -> None:
    draw = random.Random(7)
    goods = [f"code {i}" for i in range(12)]
    lines = [",".join(sorted({draw.choice(goods[: draw.randrange(2, 12)]) for _ in range(4)})) for _ in range(300)]
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    page.goto("/open")
    page.set_input_files("#file", str(tmp_path / "visits.csv"))
    page.wait_for_selector('#looked input[value="baskets"]')
    page.check('#looked input[value="baskets"]')
    page.click("text=Make the project")
    page.wait_for_url("**/projects/*/*", timeout=MINUTES)
    here = page.url.rsplit("/", 1)[0]
    for step in ("risk", "wishes"):
        page.goto(f"{here}/{step}")
        assert page.locator("main h1").inner_text()
    explored(page, here)
    file = published(page, here, tmp_path)
    done = run("audit", str(file), "--baskets", "--require", "km-anonymity k=5 m=2")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_better_answer_is_searched_for_from_the_map(page: Any, desk: Desk) -> None:
    """A question, the button, a real run with that question, here of 3 seconds; then the question is answered anew."""
    made(make_project(desk.folder / "people"), STUDY)
    page.route("**/after/map.js", shorter)
    page.goto("/projects/people/map")
    page.wait_for_selector("body[data-ready]")
    before = page.evaluate("points.length")
    page.fill("#question", "k within loss 0.4")
    page.click("#ask button[type=submit]")
    page.wait_for_selector("#reply p")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    with page.expect_response(lambda answer: "/map/ask?" in answer.url, timeout=MINUTES):
        page.locator("#reply").get_by_role("button", name="Search 60 seconds").click()
    page.wait_for_selector("#live:has-text('has ended')", timeout=MINUTES)
    assert "were measured" in page.locator("#live").inner_text()
    points = json.loads((desk.folder / "people" / "points.json").read_text(encoding="utf-8"))["points"]
    assert page.evaluate("points.length") == sum(point["status"] == "measured" for point in points) >= before
    assert sum("/map/ask?" in url for url in asked) == 1, "the question is asked again by itself"
    reply = json.loads(run("ask", str(desk.folder / "people"), "k within loss 0.4", "--json", "--search", "0").stdout)
    page.locator("#reply", has_text=reply["answer"]["id"]).wait_for()


def shorter(route: Any) -> None:
    """Let the page search for seconds, not for a minute."""
    script = (files("sfumato.workbench") / "static" / "after" / "map.js").read_text(encoding="utf-8")
    assert 'const SEARCH = "60s";' in script
    route.fulfill(content_type="text/javascript", body=script.replace('const SEARCH = "60s";', 'const SEARCH = "3s";'))
