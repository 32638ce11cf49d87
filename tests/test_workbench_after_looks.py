"""The pages after a run in a real browser: bounds that are dragged, a lasso, records that stay masked, publishing."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Error

from command_line import run
from sfumato import MEASURES, Question, read_map
from sfumato.report.point_summary import PLAIN, plain_values
from sfumato.tradeoff.question.question import Bound
from sfumato.tradeoff.question.recipients import shows_exact, unpublishable_reason
from sfumato.workbench.endpoints import House
from sfumato.workbench.projects import Desk, Project
from sfumato.workbench.runs import Progress, Runs
from workbench_maps import ids, make_clinic, make_shop, people
from workbenches import make_desk, served


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    desk = make_desk(tmp_path_factory.mktemp("looks"))
    make_clinic(desk)
    make_shop(desk)
    return desk


@pytest.fixture(scope="module")
def address(desk: Desk) -> Iterator[str]:
    with served(House(desk)) as (origin, gate):
        yield f"{origin}/?token={gate.token}"


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """A tab that was let in; what goes wrong in its scripts, and what its policy forbids, fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, base_url=address.split("/?")[0])
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda told: wrong.append(told.text) if "Content Security Policy" in told.text else None)
    page.goto(address)
    yield page
    pwned = page.evaluate("window.pwned")
    context.close()
    assert wrong == [] and pwned is None


def looked_at(page: Any, path: str) -> Any:
    page.goto(path)
    page.wait_for_selector("body[data-ready]")
    return page


def until(page: Any, expression: str) -> None:
    """Wait until something is so; Playwright's own way needs `eval`, which the pages forbid."""
    for _ in range(3000):
        with suppress(Error):  # a page that is just being left
            if page.evaluate(expression):
                return
        page.wait_for_timeout(100)
    raise AssertionError(f"it never was so: {expression}")


def dragged(page: Any, handle: str, by: tuple[float, float]) -> None:
    page.locator(handle).scroll_into_view_if_needed()
    box = page.locator(handle).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + by[0], y + by[1], steps=4)
    page.mouse.up()


ANSWER = """async ([asked, bounds]) => {
  const { answer } = await import("/static/bounds.js");
  const found = answer(points, measures, asked, bounds);
  const relax = found.relax.map(({ name, value, point }) => [name, value, point && point.id]);
  return [found.best && found.best.id, relax];
}"""


@pytest.mark.parametrize("project", ["clinic", "shop"])
def test_what_is_told_while_dragging_is_what_ask_says(page: Any, desk: Desk, project: str) -> None:
    """For any two measures of a map and any bounds: the same release, and the same to relax where nothing fits."""
    map_ = read_map(desk.folder / project)
    looked_at(page, f"/projects/{project}/map")
    known = [name for name in MEASURES if any(point.has([name]) for point in map_.points)]
    draw = random.Random(5)
    nothing = 0
    for _ in range(150):
        names = draw.sample(known, 2)
        values = [draw.choice([p.measures[name] for p in map_.points if p.has([name])]) for name in names]
        bounds = [(name, value * draw.choice([0.8, 1, 1, 1.2])) for name, value in zip(names, values, strict=True)]
        bounds = [(n, v) for n, v in bounds if MEASURES[n].least <= v <= MEASURES[n].most and abs(v) < 1e300]
        asked = draw.choice(names)
        sides = ["max" if MEASURES[name].better == "lower" else "min" for name, _ in bounds]
        question = Question(
            (asked,),
            tuple(Bound(n, side, v) for (n, v), side in zip(bounds, sides, strict=True)),  # type: ignore[arg-type]
        )
        reply = map_.ask(question)
        told, relax = page.evaluate(ANSWER, [asked, [list(each) for each in bounds]])
        assert told == (None if reply.answer is None else reply.answer.id), question
        if reply.answer is None:
            nothing += 1
            assert relax == [[each.bound.measure, each.value, each.point] for each in reply.relax], question
    assert 5 < nothing < 145


def test_on_plain_axes_the_best_is_the_one_that_a_person_would_find(page: Any, desk: Desk) -> None:
    """By hand, from the headlines of all releases that may be published: the most useful within a share."""
    map_ = read_map(desk.folder / "clinic")
    looked_at(page, "/projects/clinic/map")
    x, y = page.evaluate("[state.x, state.y]")
    assert {x, y} <= set(PLAIN)
    for share in (0.0, 0.3, 0.35, 0.5, 1.0):
        best: tuple[float, float] | None = None
        for point in map_.points:
            values = plain_values(map_, point)
            if not {x, y} <= set(values) or unpublishable_reason(point) or values[x] > share + 1e-9:
                continue
            if x == "found" and shows_exact(point):
                continue
            best = max(best or (-1.0, -9.0), (values[y], -values[x]))
        told, _ = page.evaluate(ANSWER, [y, [[x, share]]])
        found = None if told is None else plain_values(map_, map_[told])
        assert (None if best is None else best) == (None if found is None else (found[y], -found[x]))


def test_a_bound_is_dragged_and_the_answer_told_at_once(page: Any, desk: Desk) -> None:
    map_ = read_map(desk.folder / "clinic")
    looked_at(page, "/projects/clinic/map")
    page.click("#formulas")
    until(page, "document.getElementById('handle-x').getAttribute('aria-label').includes('attack')")
    requests: list[str] = []
    page.on("request", lambda each: requests.append(each.url))
    known = sorted(p.measures["attack_accuracy"] for p in map_.points if p.has(["attack_accuracy", "query_error"]))
    middle = known[len(known) // 2]
    away = page.evaluate(f"view.width() - view.scale('x')({middle})")
    dragged(page, "#handle-x", (-away, 4))
    value = float(page.locator("#bound-x").input_value())
    reply = map_.ask(f"query_error within attack_accuracy {value}")
    assert reply.answer is not None and reply.answer.id in page.locator("#answer").inner_text()
    assert requests == []
    question = page.locator("#answer code").inner_text().split('"')[1]
    code, said, _ = run("ask", str(desk.folder / "clinic"), question, "--json", "--search", "0")
    assert code == 0 and json.loads(said)["answer"]["id"] == reply.answer.id
    handle = page.locator("#handle-x")
    assert float(handle.get_attribute("aria-valuenow")) == pytest.approx(value)
    handle.focus()
    page.keyboard.press("ArrowLeft")
    assert float(handle.get_attribute("aria-valuenow")) < value
    page.keyboard.press("Home")  # the end of the frame, which reaches below the least value
    assert float(handle.get_attribute("aria-valuenow")) == 0
    dragged(page, "#handle-y", (0, 60))
    assert page.locator("#answer .note").count() or page.locator("#answer b").count()
    page.click("#unbound")
    assert page.locator("#bound-x").input_value() == "" and handle.get_attribute("aria-valuetext") == "no bound"


def test_where_nothing_fits_one_click_moves_a_bound_to_where_something_does(page: Any) -> None:
    looked_at(page, "/projects/clinic/map")
    page.fill("#bound-x", "0 %")
    page.fill("#bound-y", "100 %")
    assert "No release that may be published lies within" in page.locator("#answer").inner_text()
    page.locator("#answer button", has_text="Move it there").first.click()
    assert page.locator("#answer .figures").count() == 1


def test_a_lasso_selects_and_leads_side_by_side(page: Any) -> None:
    looked_at(page, "/projects/clinic/map")
    wanted = page.evaluate(
        """() => candidates().filter((p) => !p.baseline && Number.isFinite(p.values[state.x])).map((p) => ({ id: p.id,
        x: view.origin()[0] + view.padding().left + view.scale("x")(p.values[state.x]),
        y: view.origin()[1] + view.padding().top + view.scale("y")(p.values[state.y]) }))"""
    )
    box = page.locator("#chart").bounding_box()
    left, top = min(each["x"] for each in wanted) - 14, min(each["y"] for each in wanted) - 14
    right, bottom = max(each["x"] for each in wanted) + 14, max(each["y"] for each in wanted) + 14
    page.mouse.move(box["x"] + left, box["y"] + top)
    page.mouse.down()
    for x, y in ((right, top), (right, bottom), (left, bottom), (left, top + 2)):
        page.mouse.move(box["x"] + x, box["y"] + y, steps=4)
    page.mouse.up()
    text = page.locator("#selection").inner_text()
    assert all(each["id"] in text for each in wanted)
    while page.locator("#selection tbody tr").count() > 2:
        page.locator("#selection tbody button", has_text="Take out").first.click()
    page.locator("#selection a", has_text="Side by side").click()
    page.wait_for_selector("#compared .block")
    assert page.locator("#compared table.pair").count() >= 3 and page.url.count(",") == 1


def test_a_mark_is_clicked_and_told(page: Any) -> None:
    looked_at(page, "/projects/clinic/map")
    mark = page.locator("#chart .mark-symbol path").nth(2)
    mark.hover(force=True)
    until(page, "!document.getElementById('tooltip').hidden")
    mark.click(force=True)
    page.wait_for_selector("#summary code")
    assert page.evaluate("state.chosen") in page.locator("#summary").inner_text()


def test_records_are_masked_until_somebody_asks_and_can_be_hidden_again(page: Any, desk: Desk) -> None:
    map_ = read_map(desk.folder / "clinic")
    some = ids(map_, form="generalization", requirement="k-anonymity k=5")
    looked_at(page, f"/projects/clinic/points/{some[0]}")
    assert page.locator("#records table").count() == 0 and "are hidden here" in page.locator("#sample").inner_text()
    page.click("#show-records")
    page.wait_for_selector("#records table")
    assert any(age in page.locator("#records tr.before td").first.inner_text() for age, *_ in people())
    page.click("#show-records")
    assert page.locator("#records table").count() == 0
    looked_at(page, f"/projects/clinic/compare?points={some[0]},{some[1]}")
    page.click("#show-records")
    page.wait_for_selector("#records table")


def test_every_kind_of_point_is_drawn(page: Any, desk: Desk) -> None:
    for project in ("clinic", "shop"):
        for point in read_map(desk.folder / project).points:
            looked_at(page, f"/projects/{project}/points/{point.id}")
            assert page.locator("#drawn .block").count() >= 1
            assert page.locator("#all-measures table").count() >= 1


def test_a_release_is_published_downloaded_and_audited(page: Any, desk: Desk, tmp_path: Path) -> None:
    map_ = read_map(desk.folder / "clinic")
    looked_at(page, f"/projects/clinic/publish?point={ids(map_, requirement='k-anonymity k=12')[0]}")
    page.fill("#file", "a/b.csv")
    page.click("#do")
    until(page, "document.getElementById('file-error').textContent !== ''")
    page.fill("#file", "Zürich.csv")
    page.check("#mapping")
    assert "Zürich.csv.mapping.json" in page.locator("#files").inner_text()
    page.check("input[value=internal]")
    page.click("#do")
    page.wait_for_selector("#result h2", timeout=60_000)
    assert "Re-checked on the written file" in page.locator("#result").inner_text()
    page.wait_for_selector("#list .published")
    assert "Zürich.csv" in page.locator("#list").inner_text()
    with page.expect_download() as download:
        page.locator("#result a", has_text=re.compile("^Zürich.csv$")).click()
    path = tmp_path / "got.csv"
    download.value.save_as(path)
    code, said, _ = run("audit", path, "--quasi", "age", "--require", "k-anonymity k=12", "--json")
    assert code == 0 and json.loads(said)["measures"]["k"] >= 12
    with page.expect_download() as download:
        page.locator("#result a", has_text="Python").click()
    assert "publish_point(" in Path(download.value.path()).read_text(encoding="utf-8")
    page.locator("#result a", has_text="certificate-public.html").click()
    page.wait_for_selector("h1")
    assert "Certificate of Zürich.csv" in page.locator("h1").inner_text()
    assert page.evaluate("getComputedStyle(document.body).fontFamily") != "Times New Roman"


def test_the_preview_of_a_certificate_says_what_is_protected(page: Any, desk: Desk) -> None:
    map_ = read_map(desk.folder / "clinic")
    looked_at(page, f"/projects/clinic/points/{ids(map_, requirement='k-anonymity k=12')[0]}")
    page.click("#show-certificate")
    page.wait_for_selector("#certificate .panel", timeout=60_000)
    text = page.locator("#certificate").inner_text()
    assert "What it does not protect" in text and "[object" not in text
    assert all(
        count > 40
        for count in page.evaluate(
            "[...document.querySelectorAll('#certificate .panel p')].map((p) => p.textContent.length)"
        )
    )


RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
FIRST, SECOND = (1280, "light"), (800, "dark")
AXE = """async (rules) => (await axe.run(document, { runOnly: rules })).violations
  .map(({ id, nodes }) => [id, nodes[0].html.slice(0, 200)])"""
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
OPTIONS = """[...document.querySelectorAll('main *')].filter((each) => !each.closest('code, pre, script'))
  .flatMap((each) => [...each.childNodes]).filter((each) => each.nodeType === 3 && / --[a-z]/.test(each.textContent))
  .map((each) => each.textContent)"""
STEPS = ("columns", "hierarchies", "risk", "wishes", "run", "map", "publish", "files", "compare")


def every_page(desk: Desk) -> list[str]:
    """Name the pages of a table's project and of baskets', and those of no project."""
    clinic, shop = (read_map(desk.folder / name) for name in ("clinic", "shop"))
    some, sets = ids(clinic, requirement="k-anonymity k=12"), ids(shop)
    makers = {point.candidate.anonymizer.name: point.id for point in clinic.points}
    others = [makers[name] for name in ("dp-grid", "cart", "microaggregation", "brought", "original")]
    return [
        *("/", "/open", "/audit", "/nowhere", "/projects/nobody/run"),
        *(f"/projects/{project}/{step}" for project in ("clinic", "shop") for step in STEPS),
        *(f"/projects/clinic/points/{id}" for id in (some[0], *others)),
        f"/projects/shop/points/{sets[0]}",
        f"/projects/clinic/compare?points={','.join(some[:3])}",
        f"/projects/shop/compare?points={','.join(sets[:2])}",
        f"/projects/clinic/publish?point={some[0]}",
    ]


def test_every_page_can_be_used_by_everybody(page: Any, desk: Desk) -> None:
    """No violation of WCAG 2.1 AA by axe, nothing wider than the window, no option of the command line.

    All rules are asked once of every page; of what depends on light and dark, or on the width, both are looked at.
    """
    import axe_playwright_python

    script = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
    wrong: list[Any] = []
    for path in every_page(desk):
        page.set_viewport_size({"width": FIRST[0], "height": 900})
        page.emulate_media(color_scheme=FIRST[1])
        page.goto(path)
        until(page, "!document.querySelector('script[src*=\"/waiting.js\"]') || document.querySelector('#live')")
        if path.rpartition("/")[2].partition("?")[0] in ("map", "compare") or "/points/" in path:
            page.wait_for_selector("body[data-ready]")
        page.wait_for_load_state("networkidle")
        page.evaluate(script)
        wrong += [(path, FIRST, each) for each in page.evaluate(AXE, RULES)]
        wrong += [(path, text) for text in page.evaluate(OPTIONS)]
        wrong += [(path, FIRST, "too wide")] if page.evaluate(WIDER) > 0 else []
        page.set_viewport_size({"width": SECOND[0], "height": 900})
        page.emulate_media(color_scheme=SECOND[1])
        wrong += [(path, SECOND, each) for each in page.evaluate(AXE, ["color-contrast"])]
        wrong += [(path, SECOND, "too wide")] if page.evaluate(WIDER) > 0 else []
    assert wrong == []


class Told(Runs):
    """A run that measures what it is told to, so that a page can be watched meanwhile."""

    def __init__(self, ids: list[str]) -> None:
        super().__init__()
        self.ids, self.known, self.over = ids, 1, False

    def progress(self, project: Project) -> Progress:
        return Progress("done" if self.over else "running", self.known, len(self.ids), sentence="as told")

    def point_fields(self, project: Project) -> list[dict[str, Any]]:
        return [] if self.over else [{"id": id} for id in self.ids[: self.known]]

    async def events(self, project: Project, last: str = "") -> AsyncIterator[str]:
        told = int(last or 0)
        while not self.over:
            known = self.known  # which the test may change at any moment
            kinds = [("progress", replace(self.progress(project), done=known).values())]
            kinds += [("point", {"id": id}) for id in self.ids[told:known]]
            told = known
            for kind, values in kinds:
                yield f"id: {told}\nevent: {kind}\ndata: {json.dumps(values)}\n\n"
            await asyncio.sleep(0.1)
        yield f"id: {told}\nevent: end\ndata: {json.dumps(self.progress(project).values())}\n\n"


def test_points_appear_while_a_run_is_under_way(browser: Any, tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    every = ids(make_shop(desk))
    points = desk.folder / "shop" / "points.json"
    finished = points.read_bytes()
    points.unlink()
    runs = Told(every)
    runs.known = 0
    with served(House(desk, runs)) as (origin, gate):
        page = browser.new_page()
        page.goto(f"{origin}/?token={gate.token}")
        page.goto(f"{origin}/projects/shop/map")
        assert "There is no map yet" in page.locator("h1").inner_text()
        runs.known = 2
        page.wait_for_selector("#handle-x")
        until(page, "points.length === 2")
        runs.known = 5
        until(page, "points.length === 5")
        assert f"5 of {len(every)}" in page.locator("#live").inner_text()
        points.write_bytes(finished)
        runs.over = True
        until(page, f"points.length === {len(every)}")
        until(page, "document.getElementById('live').textContent.includes('has ended')")
        page.close()
