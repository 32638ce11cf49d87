"""Pictures of fidelity in a real browser, of hostile names and values; and that none of them leaves the house."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from points import write_report
from sfumato.anonymizers import anonymizer
from sfumato.data.declaration import TableDeclaration
from sfumato.measures.all_measures import FIDELITY
from sfumato.requirements.requirement import requirement
from sfumato.tradeoff.exploration.explore import explore
from sfumato.tradeoff.map import Map
from sfumato.tradeoff.study.grids import Grid
from sfumato.tradeoff.study.study import Study
from test_report import IMAGE, SCRIPT, data_of, opened

TOWN, ILL = f"town {IMAGE}", f"ill {SCRIPT}"


@pytest.fixture(scope="module")
def mapped(tmp_path_factory: pytest.TempPathFactory) -> Map:
    path = tmp_path_factory.mktemp("fidelity") / "ward.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["age", TOWN, ILL])
        for i in range(120):
            writer.writerow([20 + i % 40, [SCRIPT, IMAGE, "Rome"][i % 3], "old" if i % 40 > 20 + i % 3 else "young"])
    made = Grid((anonymizer("mondrian"),), (requirement("k-anonymity k=20"),))
    others = Grid((anonymizer("rounding base=10"), anonymizer("original")))
    table = TableDeclaration(str(path), ("age", TOWN), (ILL,))
    return explore(Study("ward", table, (made, others), axes=("empirical_breach", "marginal_error_2")))


def test_a_release_and_two_side_by_side_show_pairs_associations_and_models(
    mapped: Map, browser: Any, tmp_path: Path
) -> None:
    first, second = mapped.points[:2]
    page_path = write_report(mapped, tmp_path / "report.html")
    with opened(browser, page_path, f"#{first.id}&with={second.id}") as page:
        for place, sides in (("#point", 1), ("#compared", 2)):
            section = page.locator(place)
            assert section.locator("table.matrix").count() == 1 + 2 * sides
            said = section.inner_text()
            assert "How true" in said and f"age × {TOWN}" in said and "A model of age" in said and f"2 {TOWN}" in said
            assert said.count("as good as a random sample of") == sides
        shown = page.locator("#point table.matrix").nth(0).locator("td").all_inner_texts()
    picture = first.details["fidelity"]
    expected = [picture["original"][i][j] for i, j in ((1, 0), (2, 0), (2, 1))]
    assert [float(text.replace("−", "-")) for text in shown if text] == pytest.approx(expected, abs=0.006)
    for column in first.details["columns"]:  # on the drawn bins columns are no farther apart than on their leaves
        drawn = sum(abs(before - after) for _, before, after in column["bins"]) / 2
        assert drawn <= column["distance"] + 0.001


def test_nothing_of_fidelity_is_on_the_public_page(mapped: Map, tmp_path: Path) -> None:
    page = data_of(write_report(mapped, tmp_path / "public.html", public=True))
    assert all("details" not in point and not set(FIDELITY) & set(point["measures"]) for point in page["points"])
    assert not set(FIDELITY) & {measure["name"] for measure in page["measures"]}
