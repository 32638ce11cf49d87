"""Pages: whatever data hold, they have the tags that harmless data give; nothing else writes HTML."""

from __future__ import annotations

import csv
import json
import re
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

import sfumato
from sfumato._packages import up_to
from sfumato.publish.board import Decision, board_file, board_page
from sfumato.publish.certificate import certificate_files, certificate_page
from sfumato.publish.pipeline import publish_point
from sfumato.publish.plain_language import in_plain_words
from sfumato.report.data_summary import DECLARED
from sfumato.report.folder import save_map
from sfumato.report.page import page
from sfumato.texts.html import drawing, render, source
from sfumato.tradeoff.exploration.explore import SOURCES as KEYED_BY

pytestmark = pytest.mark.quick

SOURCES = Path(sfumato.__file__).parent
BAD = "<script>alert(1)</script>"
FILE = "\"><img src=x onerror=alert(1)>'"
"""What a file can be called."""

TABLE = f"""
name = 'study {BAD}'
axes = ["attack_accuracy", "query_error_median"]
[table]
source = '''{FILE}.csv'''
quasi = ['age {BAD}', 'sex']
sensitive = ['ill {BAD}']
neutral = ['note {BAD}']
[table.hierarchy.'age {BAD}']
type = "numeric"
lower = 0
upper = 31
[table.hierarchy.sex]
type = "flat"
values = ['f {BAD}', "m"]
[table.hierarchy.'ill {BAD}']
type = "flat"
values = ['flu {BAD}', "gout", "mumps"]
[scales]
draws = 2
queries = "queries number=10"
[[candidates]]
anonymizers = ["dp-kd-tree epsilon=1 height=2"]
[[candidates]]
requirements = ["k-anonymity k=5", "k-anonymity k=5000"]
"""
BASKETS = f"""
name = 'study {BAD}'
[baskets]
source = '''{FILE}.txt'''
[scales]
queries = "item-queries number=10 workloads=1"
[[candidates]]
anonymizers = ["coat"]
requirements = ["km-anonymity k=5 m=2"]
"""


class Page(HTMLParser):
    """The tags of a page with their attributes, and its texts outside styles and scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] not in ("script", "style"):
            self.texts.append(data)


@pytest.fixture(scope="module")
def maps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of maps of a table and of baskets, in which everything that has a name has a hostile one."""
    folders = {}
    for kind, study in (("table", TABLE), ("baskets", BASKETS)):
        folders[kind] = folder = tmp_path_factory.mktemp(kind) / "<b>map"
        folder.mkdir()
        (folder.parent / "study.toml").write_text(study, encoding="utf-8")
    with (folders["table"].parent / f"{FILE}.csv").open("w", newline="", encoding="utf-8") as stream:
        ills = [f"flu {BAD}", "gout", "mumps"]
        rows = [(i * 7 % 32, (f"f {BAD}", "m")[i % 2], ills[i * i % 3], f"note {i} {BAD}") for i in range(200)]
        csv.writer(stream).writerows([(f"age {BAD}", "sex", f"ill {BAD}", f"note {BAD}"), *rows])
    lines = [f"tea {BAD},milk" if i % 9 else f"rare {BAD}" if i else f"once {BAD}" for i in range(60)]
    (folders["baskets"].parent / f"{FILE}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for folder in folders.values():
        save_map(sfumato.explore(str(folder.parent / "study.toml")), folder)
    return folders


AUDIT = Path(__file__).with_name("page_audit.js").read_text("utf-8")
"""Reads a page as somebody does who sees badly, has no mouse, or a small window; returns what is wrong with it."""


@pytest.fixture(scope="module")
def certificates(maps: dict[str, Path]) -> dict[str, list[Path]]:
    """Certificates and pages of an exact, a noisy and a baskets release."""
    files: dict[str, list[Path]] = {}
    for kind, folder, maker in (("exact", "table", "mondrian"), ("noisy", "table", "dp-"), ("baskets", "baskets", "c")):
        points = sfumato.read_map(maps[folder]).points
        point = next(point for point in points if point.status == "measured" and point.anonymizer.startswith(maker))
        path = maps[folder].parent / f"{kind} {FILE}.csv"
        publish_point(maps[folder], point.id, path)
        files[kind] = [*certificate_files(path), board_file(path)]
    return files


def is_harmless(text: str) -> bool:
    """Say whether a page has our own tags alone, and no attribute that runs."""
    tags = Page(text).tags
    named = {tag for tag, _ in tags}
    handlers = [name for _, names in tags for name in names if name.startswith("on") or name in ("src", "href")]
    return not named & {"img", "iframe", "object", "embed", "link"} and not handlers and BAD not in text


def test_no_page_lets_a_hostile_name_through(maps: dict[str, Path], certificates: dict[str, list[Path]]) -> None:
    reports = [folder / name for folder in maps.values() for name in ("report.html", "report-public.html")]
    pages = [file for files in certificates.values() for file in files if file.suffix == ".html"]
    assert len(reports) == 4 and len(pages) == 9
    for path in (*reports, *pages):
        text = path.read_text("utf-8")
        scripts = [tag for tag, _ in Page(text).tags if tag == "script"]
        assert is_harmless(text) and len(scripts) == (4 if path in reports else 0), path
        assert BAD in "".join(Page(text).texts) or path.match("*public*"), path


def problems(page: Any) -> dict[tuple[int, str], list[str]]:
    """Look at an open page in two widths, by day and by night."""
    found = {}
    for width in (1280, 800):
        for scheme in ("light", "dark"):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            found[width, scheme] = page.evaluate(AUDIT)
    return {look: texts for look, texts in found.items() if texts}


def test_every_page_can_be_read_by_everybody(
    maps: dict[str, Path], certificates: dict[str, list[Path]], browser: Any
) -> None:
    pages = [file for files in certificates.values() for file in files if file.suffix == ".html"]
    reports = [folder / name for folder in maps.values() for name in ("report.html", "report-public.html")]
    page = browser.new_page()
    for path in (*pages, *reports):
        page.goto(path.as_uri())
        if path in reports:
            page.wait_for_selector("body[data-ready]")
            page.evaluate("points.length > 1 && (choose(points[0].id), keepToCompare(points[1].id))")
            page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert not problems(page), path
        by_night = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.emulate_media(color_scheme="light")
        assert by_night != page.evaluate("getComputedStyle(document.body).backgroundColor"), path
    page.close()


def test_what_cannot_be_read_is_found(certificates: dict[str, list[Path]], browser: Any) -> None:
    page = browser.new_page(viewport={"width": 800, "height": 900})
    page.goto(certificates["exact"][1].as_uri())
    assert not page.evaluate(AUDIT)
    page.evaluate("document.querySelector('.plain p').style.color = '#999'")
    page.evaluate("document.querySelectorAll('.plain h2')[1].outerHTML = '<h4>too deep</h4>'")
    page.evaluate("document.querySelector('pre').style.width = '3000px'")
    page.evaluate("document.querySelector('.wide').removeAttribute('tabindex')")
    page.evaluate("document.querySelector('li').textContent = 'type `this`'")
    page.evaluate("document.querySelectorAll('table th').forEach((each) => each.removeAttribute('scope'))")
    said = " ".join(page.evaluate(AUDIT))
    for problem in ("contrast 2.", "h4 after h2", "cut at the right", "out of reach", "backtick", "heads", "wider"):
        assert problem in said, problem
    page.close()


def sheets(page: Any) -> int:
    """Count the pages that a page is printed on."""
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", page.pdf(prefer_css_page_size=True)))


def test_the_page_for_the_board_is_printed_on_one_sheet(
    maps: dict[str, Path], certificates: dict[str, list[Path]], browser: Any, tmp_path: Path
) -> None:
    map_ = sfumato.read_map(maps["table"])
    point = next(point for point in map_.points if point.status == "measured" and not point.is_noisy)
    content = json.loads(certificates["exact"][0].read_text("utf-8"))
    names = [f"a long name of a column in number {i}" for i in range(60)]
    content["columns"] = dict.fromkeys(("quasi", "sensitive", "neutral"), names)
    content["by_sensitive"] = {name: {"l_frequency": 1} for name in names}
    content["in_plain_words"] = in_plain_words(content)
    content["warnings"] = [{"about": "a word", "text": "A long sentence. " * 40, "found": "much " * 90}] * 30
    content["internal"]["input"]["table"] = "folder/" * 60
    crowded = tmp_path / "crowded.html"
    crowded.write_text(board_page(content, Decision(map_, point), tmp_path / f"{'long' * 50}.csv"), encoding="utf-8")
    assert "right at most 1 time in" in crowded.read_text("utf-8"), "the bound is cut off by the names of columns"
    page = browser.new_page()
    for path in (crowded, *(files[4] for files in certificates.values())):
        page.goto(path.as_uri())
        assert sheets(page) == 1, path
    page.goto(certificates["exact"][1].as_uri())
    assert sheets(page) > 1  # so sheets are counted
    page.close()


STEERING = {"for", "form", "level", "what", "kind"}
"""What decides what is shown, and is no text that is shown as it is."""


def replaced(value: Any, text: str, key: str = "") -> Any:
    """Replace every text in a certificate, and every name of a column, value, item or measure."""
    if isinstance(value, dict):
        free = key in ("baselines", "legend", "versions", "table", "file")
        names = {name: f"{i} {text}" if free else name for i, name in enumerate(value)}
        return {names[name]: replaced(inner, text, "" if free else name) for name, inner in value.items()}
    if isinstance(value, list):
        return [replaced(inner, text, key) for inner in value]
    return value if key in STEERING or not isinstance(value, str) or value == "inf" else text


@pytest.mark.parametrize("kind", ["exact", "noisy", "baskets"])
def test_the_tags_of_a_certificate_do_not_depend_on_what_its_texts_are(
    certificates: dict[str, list[Path]], kind: str
) -> None:
    for path in certificates[kind][:4:2]:
        content = json.loads(path.read_text("utf-8"))
        harmless, hostile = (certificate_page(replaced(content, text)) for text in ("word", f"w{FILE}{BAD}"))
        assert Page(hostile).tags == Page(harmless).tags and is_harmless(hostile)
        assert len(re.findall(r"\bw", "".join(Page(hostile).texts))) >= 10


def test_a_template_without_a_value_is_an_error(certificates: dict[str, list[Path]]) -> None:
    content = json.loads(certificates["exact"][0].read_text("utf-8"))
    del content["rows"]
    with pytest.raises(UndefinedError, match="rows"):
        certificate_page(content)


@pytest.mark.parametrize("text", ["a</script>", "</ScRipt >", "<!-- a", "x = '<script'", "</style>"])
def test_a_script_that_could_end_its_element_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="script"):
        source(text)


@pytest.mark.parametrize(
    "inner", [BAD, "<a>", '<rect onload="x"/>', '<path xlink:href="a"/>', "<foreignObject>", "<!--"]
)
def test_a_drawing_that_does_more_than_draw_is_refused(inner: str) -> None:
    assert drawing("<svg><g><path d='M0'/></g></svg>") == "<svg><g><path d='M0'/></g></svg>"
    with pytest.raises(ValueError, match="shapes"):
        drawing(f"<svg>{inner}</svg>")


def test_who_declares_hierarchies_is_told_where_the_command_reads_them(maps: dict[str, Path]) -> None:
    for kind, told in (("table", 1), ("baskets", 0)):
        shown = page(sfumato.read_map(maps[kind]), False, date(2026, 5, 1))
        assert shown.count(f"<code>{DECLARED}</code>") == told


def test_editing_a_page_drops_nothing_that_is_kept() -> None:
    keyed = re.compile(r"source_digest\((.*)\)")
    parts = [
        part for path in SOURCES.rglob("*.py") for part in keyed.findall(path.read_text("utf-8")) if "up_to" in part
    ]
    assert all(part.startswith('*up_to("measures")') for part in parts) and "report" not in "".join(parts)
    assert set(KEYED_BY) == {*up_to("measures"), "tradeoff/exploration"}
    assert not {"publish", "report", "workbench"} & set(KEYED_BY)


def test_html_is_written_in_templates_alone() -> None:
    """No tag in any Python text, no trust but in one file, no template that trusts."""
    tag = re.compile(
        r"</?(p|b|i|ul|ol|li|h\d|td|th|tr|table|code|div|span|section|dl|dt|dd|br|pre|small|svg|script)\b[^<]{0,80}>(?!_)"
    )
    for path in SOURCES.rglob("*.py"):
        text = path.read_text("utf-8")
        assert not tag.search(text), path
        assert not re.search(r"^\s*(from|import) html\b", text, re.MULTILINE), path
        assert path == SOURCES / "texts" / "html.py" or "Markup" not in text, path
    templates = sorted((SOURCES / "texts" / "templates").glob("*.html"))
    assert len(templates) > 10
    for path in templates:
        assert not re.search(r"\|\s*safe\b|autoescape", path.read_text("utf-8")), path
    assert not isinstance(render("report-go-on.html", public=True), Markup)
