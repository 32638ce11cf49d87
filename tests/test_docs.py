"""The documentation: every page is in an index, every link leads to a heading, the front page is short."""

import re
from pathlib import Path

import pytest

import sfumato

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def links(page):
    return [link for link in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]


def test_every_page_is_listed_in_an_index():
    """The site's navigation is made of these lists."""
    docs = ROOT / "docs"
    indexes = [*docs.rglob("index.md"), docs / "decisions" / "README.md"]
    listed = {(index.parent / link).resolve() for index in indexes for link in links(index)}
    assert [page for page in sorted(docs.rglob("*.md")) if page not in {*listed, docs / "index.md"}] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page):
    for link in links(page):
        file, _, place = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), link
        if place:
            assert place in map(anchor, HEADING.findall(target.read_text(encoding="utf-8"))), link


def test_the_front_page_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 800


def test_the_citation_names_the_version():
    assert f"version: {sfumato.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
