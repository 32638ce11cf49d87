"""The report: opened in a real browser, with hostile values, and compared with what Python says of the same map."""

from __future__ import annotations

import csv
import itertools
import json
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from points import point_of, write_report
from sfumato import MEASURES, BadInputError, Grid, Map, Study, TableDeclaration, anonymizer, explore, requirement
from sfumato.commands.app import app
from sfumato.report.folder import save_map
from sfumato.report.measure_sentences import Subject, sentences
from sfumato.report.point_summary import done_sentence, headlines, settings
from sfumato.texts.html import in_script

SCRIPT = "</script><script>window.pwned=1;alert(1)</script>"
IMAGE = '"><img src=x onerror="window.pwned=1;alert(1)">'
FORMULA = "=1+1"
BRACES = "{{constructor.constructor('alert(1)')()}}"
SEPARATOR = "line\u2028paragraph\u2029end"
RARE = "rare-disease-zx81"


def make_map(folder: Path, quasi: tuple[str, str], values: list[str], sensitive: str, name: str) -> Map:
    """Explore a table of 120 records with one value of every kind of candidate: made, infeasible, failed."""
    path = folder / "secret-folder-name.csv"
    illnesses = [f"illness {i}" for i in range(4)]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([*quasi, sensitive])
        for i in range(120):
            illness = RARE if i == 0 else values[i % len(values)] if i % 7 == 0 else illnesses[(i * i) % 4]
            writer.writerow([20 + i % 40 if i else 97, values[i % len(values)], illness])
    texts = ("k-anonymity k=2", "k-anonymity k=8", "k-anonymity k=30", "l-diversity l=2 variant=distinct")
    made = Grid(
        (anonymizer("mondrian"),), tuple(map(requirement, texts)), ("generalization", "bucketization"), (0.0, 0.05)
    )
    lost = Grid((anonymizer("mondrian"),), (requirement("k-anonymity k=1000"),))
    ends = tuple(anonymizer(text) for text in ("without-quasi", "without-sensitive", "original"))
    baselines = Grid(ends, (requirement("k-anonymity k=1"),))
    failed = Grid(ends[1:2], (requirement("k-anonymity k=1"),), ("bucketization",))
    study = Study(name, TableDeclaration(str(path), quasi, (sensitive,)), (made, lost, baselines, failed))
    return explore(study)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Map:
    folder = tmp_path_factory.mktemp("plain")
    return make_map(folder, ("age", "town"), ["Lyon", "Oslo", "Rome", "Bern", "Kiel"], "illness", "clinic")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Map:
    folder = tmp_path_factory.mktemp("hostile")
    values = [SCRIPT, IMAGE, FORMULA, BRACES, SEPARATOR]
    return make_map(folder, (f"age {IMAGE}", f"town {SCRIPT}"), values, f"illness {BRACES}", f"clinic {SCRIPT} {IMAGE}")


@contextmanager
def opened(browser: Any, path: Path, fragment: str = "") -> Iterator[Any]:
    """Open a page and insist that it asks for nothing, complains of nothing and opens no dialog."""
    context = browser.new_context(viewport={"width": 1280, "height": 1500})
    page = context.new_page()
    requests: list[str] = []
    complaints: list[str] = []
    dialogs: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(path.as_uri() + fragment)
    page.wait_for_selector("body[data-ready]")
    yield page
    page.wait_for_timeout(200)
    assert page.evaluate("window.pwned") is None
    context.close()
    assert not dialogs and not complaints
    assert all(url.startswith(("file:", "data:", "blob:")) for url in requests) and requests


def as_of_a_million(small: Map) -> Map:
    """Let a map pass for one of a large table: of a small one and so many releases no number would be public."""
    return replace(small, about={**small.about, "records": 1_000_000})


def click_some_point(page: Any) -> str:
    """Click the middle of a mark and return the id of the point that is now chosen."""
    for mark in page.locator("#chart .layer_1_marks path").all():
        box = mark.bounding_box()
        if box and box["width"] > 3:
            page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            page.wait_for_selector("#point:not([hidden])")
            return str(page.evaluate("state.chosen"))
    raise AssertionError("there is no mark to click")


def data_of(path: Path) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    assert found is not None
    content: dict[str, Any] = json.loads(found[1])
    return content


def test_page_opens_from_a_file_and_says_what_was_tried(plain: Map, browser: Any, tmp_path: Path) -> None:
    path = write_report(plain, tmp_path / "report.html", day=date(2026, 5, 1))
    with opened(browser, path) as page:
        text = page.inner_text("body")
        states = [point.status for point in plain.points]
        assert {"measured", "infeasible", "failed"} == set(states)
        assert f"On 1 May 2026, {len(states)} candidate releases" in text and "120 records" in text
        for point in plain.points:
            if point.status != "measured":
                assert str(point.reason) in page.inner_text("#unmade") and point.id in page.inner_text("#unmade")
        assert page.locator("#chart svg").count() == 1
        assert page.locator(".vega-actions").count() == 0


def test_the_recommendation_comes_first_and_is_not_public(plain: Map, tmp_path: Path) -> None:
    chosen, pages = plain.choose().point, {}
    for public in (False, True):
        write_report(plain, tmp_path / f"{public}.html", public=public)
        pages[public] = (tmp_path / f"{public}.html").read_text(encoding="utf-8").partition("The map</h2>")[0]
    first = pages[False].index(f"Recommended: {chosen.id}")
    assert first < pages[False].index("Fit for") < pages[False].index("Who can be found")
    assert "Recommended" not in pages[True] and "Fit for" not in pages[True]


def test_clicking_a_point_shows_everything_about_it(plain: Map, browser: Any, tmp_path: Path) -> None:
    with opened(browser, write_report(plain, tmp_path / "report.html")) as page:
        point = plain[click_some_point(page)]
        text, folded = page.inner_text("#point"), page.text_content(".all-measures")
        assert settings(point) in text and settings(point) in page.inner_text("#summary")
        said = sentences(point.measures, Subject.of(plain))
        for name in point.measures:
            assert name in folded and MEASURES[name].meaning in folded and said[name] in folded
        assert (
            all(headline.said in text for headline in headlines(plain, point)) and done_sentence(plain, point) in text
        )
        assert said["discernibility"] not in text
        assert "Group sizes" in text and "Worst groups" in text and "before and after" in text
        assert page.url.endswith(f"#{point.id}")
        page.click("#formulas")
        page.locator("#frontier-table tbody tr button").first.click()
        assert page.evaluate("state.chosen") == plain.frontier()[0].id


def test_a_point_is_shown_on_hovering(plain: Map, browser: Any, tmp_path: Path) -> None:
    with opened(browser, write_report(plain, tmp_path / "report.html")) as page:
        chosen = plain[click_some_point(page)]
        page.mouse.move(5, 5)
        page.wait_for_selector("#tooltip", state="hidden")
        box = page.locator("#chart .layer_1_marks path").nth(page.evaluate(place_of(chosen.id))).bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_selector("#tooltip", state="visible")
        assert settings(chosen) in page.inner_text("#tooltip")


def place_of(point_id: str) -> str:
    return f"drawn().findIndex((row) => row.id === '{point_id}')"


FRONTIERS = "(pairs) => pairs.map(([x, y]) => (state.x = x, state.y = y, frontier().map((point) => point.id)))"


def test_frontier_on_the_page_is_that_of_the_map_for_all_axes(plain: Map, browser: Any, tmp_path: Path) -> None:
    measured = [name for name in MEASURES if any(name in point.measures for point in plain.points)]
    assert any(float("inf") in point.measures.values() for point in plain.points)
    with opened(browser, write_report(plain, tmp_path / "report.html")) as page:
        pairs = [list(pair) for pair in itertools.permutations(measured, 2)]
        frontiers = page.evaluate(FRONTIERS, pairs)
    for (x, y), ids in zip(pairs, frontiers, strict=True):
        assert ids == [point.id for point in plain.frontier(x, y)], (x, y)


@pytest.mark.parametrize(("x", "y"), [("k", "loss"), ("delta", "query_error"), ("l_distinct", "discernibility")])
def test_choosing_axes_redraws_map_and_table(plain: Map, browser: Any, tmp_path: Path, x: str, y: str) -> None:
    with opened(browser, write_report(plain, tmp_path / "report.html")) as page:
        page.select_option("#x", x)
        page.select_option("#y", y)
        rows = page.locator("#frontier-table tbody tr").all()
        assert [row.get_attribute("data-id") for row in rows] == [point.id for point in plain.frontier(x, y)]
        page.wait_for_function(
            f"document.querySelector('#chart').textContent.includes('{MEASURES[x].better} is better')"
        )
        known = [point for point in plain.points if point.has((x, y))]
        infinite = [point for point in known if float("inf") in (point.measures[x], point.measures[y])]
        assert (f"{len(infinite)} release" in page.inner_text("#undrawn")) == bool(infinite)


@pytest.mark.parametrize("guarded", [True, False], ids=["as written", "without its content security policy"])
def test_hostile_values_are_shown_as_text_and_run_nothing(
    hostile: Map, browser: Any, tmp_path: Path, guarded: bool
) -> None:
    path = write_report(hostile, tmp_path / "report.html")
    if not guarded:
        text = path.read_text("utf-8")
        bare = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
        assert bare != text
        path.write_text(bare, "utf-8")
    with opened(browser, path) as page:
        shown = ""
        for point in hostile.points:
            if point.status == "measured":
                page.evaluate(f"choose('{point.id}')")
                assert page.locator("img, iframe, object, embed, link").count() == 0
                shown += page.text_content("#point")
        for part in (SCRIPT, IMAGE, FORMULA, BRACES, SEPARATOR):
            assert part in shown
        assert SCRIPT in page.text_content("h1") and IMAGE in page.title()
        page.evaluate("document.getElementById('all').open = true")
        click_some_point(page)
        assert page.locator("script").count() == 4  # texts, data, Vega, ours


def test_public_report_has_nothing_of_individual_records(plain: Map, browser: Any, tmp_path: Path) -> None:
    internal = write_report(plain, tmp_path / "report.html")
    public = write_report(as_of_a_million(plain), tmp_path / "report-public.html", public=True)
    assert RARE in internal.read_text("utf-8") and "secret-folder-name" in internal.read_text("utf-8")
    text = public.read_text("utf-8")
    for private in (RARE, "Lyon", "Oslo", "illness 1", "secret-folder-name", str(plain.about["digest"])):
        assert private not in text
    for point in plain.points:
        if point.status != "measured":
            assert str(point.reason) not in text
    for told in data_of(public)["points"]:
        assert not {"details", "command", "reason"} & set(told)
    with opened(browser, public) as page:
        chosen = click_some_point(page)
        assert settings(plain[chosen]) in page.inner_text("#point")
        assert "Worst groups" not in page.inner_text("body") and "before and after" not in page.inner_text("body")


@pytest.mark.parametrize("drawn", [True, False])
def test_a_map_without_sensitive_measures_or_without_points_has_a_report(
    browser: Any, tmp_path: Path, drawn: bool
) -> None:
    grid = Grid((anonymizer("mondrian"),), (requirement("k-anonymity k=2"),))
    study = Study("small", TableDeclaration("table.csv", ("age",)), (grid,))
    made = point_of("1a", "mondrian", "generalization", "k-anonymity k=2", {}, "measured", None, {"k": 2, "loss": 0.1})
    lost = point_of("2b", "mondrian", "generalization", "k-anonymity k=9", {}, "infeasible", "only 7 records")
    shown = Map(study, (made, lost) if drawn else (lost,), {"records": 7, "quasi": ["age"], "sensitive": []})
    assert shown.chart().png().startswith(b"\x89PNG")
    with opened(browser, write_report(shown, tmp_path / "report.html")) as page:
        assert page.is_visible("#map") == drawn
        assert "only 7 records" in page.inner_text("#unmade")
        if drawn:
            assert page.input_value("#x") == "k" and page.input_value("#y") == "loss"


def test_public_report_of_hostile_names_runs_nothing(hostile: Map, browser: Any, tmp_path: Path) -> None:
    with opened(browser, write_report(as_of_a_million(hostile), tmp_path / "report.html", public=True)) as page:
        click_some_point(page)
        assert SCRIPT in page.text_content("h1")


@pytest.mark.parametrize("which", ["plain", "hostile"])
def test_printed_command_makes_the_release(
    which: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: Map = request.getfixturevalue(which)
    monkeypatch.chdir(tmp_path)
    told = data_of(write_report(shown, tmp_path / "report.html"))["points"]
    assert [point["anonymizer"] for point in told if point["command"] is None] == ["original"]
    for point in [point for point in told if point["command"]][:: 4 if which == "plain" else 9]:
        words = shlex.split(point["command"])
        assert words[:2] == ["sfumato", "anonymize"]
        result = CliRunner().invoke(app, [*words[1:], "--json"])
        assert result.exit_code == 0, result.output
        assert Path(f"release-{point['id']}.csv").is_file()
        said = json.loads(result.stdout)["measures"]
        for name, value in said.items():
            assert point["measures"][name] == value, name


@given(st.recursive(st.text() | st.integers(-5, 5), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_in_a_script_can_end_it_nowhere_and_reads_back(value: Any) -> None:
    text = in_script(value)
    assert not set("<>&\u2028\u2029") & set(text) and text.isascii()
    assert json.loads(text) == json.loads(json.dumps(value)) or value in ("inf", "-inf")


@pytest.mark.parametrize(
    ("asked", "form", "said"),
    [
        ("k-anonymity k=10", "generalization", "every group at least 10 records, published as ranges"),
        ("k-anonymity k=1000", "bucketization", "every bucket at least 1,000 records"),
        ("l-diversity l=4 variant=frequency", "generalization", "no sensitive value above 1/4 (25 %) of a group"),
        ('l-diversity l=3 variant=distinct on="a b"', "generalization", "at least 3 different values of a b in every"),
        ("t-closeness t=0.2 distance=js", "generalization", "within 0.2 of the whole table's (Jensen-Shannon)"),
        ("delta-disclosure delta=2", "generalization", "no sensitive value 7.39 times as frequent or as rare"),
        ("beta-likeness beta=2 variant=basic", "generalization", "more than 3 times as frequent in a group"),
        ("alpha-k alpha=0.5 k=5", "generalization", "at least 5 records and no sensitive value above 50 %"),
        ("k-anonymity k=2 & l-diversity l=2 variant=entropy", "generalization", "as diverse as 2 equally frequent"),
    ],
)
def test_settings_are_told_in_words(asked: str, form: str, said: str) -> None:
    point = point_of("1", "mondrian mode=relaxed", form, asked, {"suppress": 0.05}, "measured")
    assert said in settings(point)
    assert settings(point).startswith("Mondrian (equal records may be parted), ")
    assert settings(point).endswith("at most 5 % of the records left out")


def test_files_are_whole_and_leave_nothing_beside_them(plain: Map, tmp_path: Path) -> None:
    written = save_map(plain, tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(written)
    assert (tmp_path / "map-public.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(BadInputError, match="cannot be written"):
        save_map(plain, tmp_path / "map-public.png" / "nowhere")
