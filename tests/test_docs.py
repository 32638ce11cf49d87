"""The documentation: every page is in an index, every link leads to a heading, the front page is short."""

import re
from pathlib import Path

import pytest
import typer

import sfumato
from sfumato.anonymizers import makers
from sfumato.anonymizers.items import BASKET_ANONYMIZERS
from sfumato.commands.app import app
from sfumato.config.options import SETTINGS
from sfumato.measures.all_measures import MEASURES
from sfumato.requirements.items import BASKET_REQUIREMENTS
from sfumato.requirements.requirement import REQUIREMENTS

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
COMMANDS = typer.main.get_command(app).commands
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


@pytest.mark.parametrize(
    "kind", ["command", "option", "setting", "measure", "requirement", "anonymizer", "public name"]
)
def test_everything_a_user_can_name_stands_in_the_reference(kind):
    """After Datasette's test of the same kind."""
    names = {
        "command": COMMANDS,
        "option": [
            word[2:] for each in COMMANDS.values() for one in each.params for word in one.opts if word[:2] == "--"
        ],
        "setting": [name.replace("_", "-") for name in SETTINGS],
        "measure": MEASURES,
        "requirement": [each.name for each in (*REQUIREMENTS, *BASKET_REQUIREMENTS)],
        "anonymizer": [each.name for each in (*makers(), *BASKET_ANONYMIZERS)],
        "public name": [name for name in sfumato.__all__ if name != "__version__"],
    }[kind]
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md")]
    written = set(re.findall(r"[a-zA-Z]\w*(?:-\w+)*", " ".join(pages)))
    assert len(names) > 5 and sorted(set(names) - written) == []
