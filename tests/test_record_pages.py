"""Values and names that are code, through the pages and files of what is perturbed, synthetic or was made elsewhere."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import run

SCRIPT = "<script>window.pwned=1</script>"
FORMULA = '=HYPERLINK("http://evil","click")'
IMAGE = "<img src=x onerror=alert(1)>"
PLACE = "<b>Ort</b>"
RAW = ("<script>window.pwned", "<img src=x", "<b>Ort</b>", "</title><svg")
MAKERS = ["rounding base=10", "pram keep=0.5", "microaggregation k=4", "cart", "mst epsilon=5"]
STUDY = f"""
name = "</title><svg onload=alert(1)>"
axes = ["empirical_breach", "query_error"]
[table]
source = "people.csv"
quasi = ["age", "{PLACE}"]
sensitive = ["illness"]
[table.hierarchy]
age = {{type = "numeric", lower = 20, upper = 59}}
"{PLACE}" = {{type = "flat", values = ["{SCRIPT}", '{FORMULA}', "a"]}}
illness = {{type = "flat", values = ["{IMAGE}", "flu", '{FORMULA}']}}
[scales]
queries = "queries number=5"
reader = "uniform"
[[candidates]]
anonymizers = {json.dumps(MAKERS)}
[[candidates]]
file = "theirs.csv"
name = "{IMAGE}"
claim = "k-anonymity k=1"
[[candidates]]
file = "buckets.csv"
name = "{SCRIPT}"
group = "{SCRIPT}"
"""


def written(path: Path, names: list[str], rows: list[tuple[Any, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([names, *rows])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    generator = np.random.default_rng(4)
    ages = generator.integers(20, 60, 80).tolist()
    places = [(SCRIPT, FORMULA, "a")[i] for i in generator.integers(0, 3, 80)]
    ills = [(IMAGE, "flu", FORMULA)[i % 3] for i in range(80)]
    names = ["age", PLACE, "illness"]
    rows = list(zip(ages, places, ills, strict=True))
    written(folder / "people.csv", names, rows)
    written(folder / "theirs.csv", names, [(min(age + 7, 59), place, ill) for age, place, ill in rows])
    bags = [(*row, f"{IMAGE}{i // 8}") for i, row in enumerate(rows)]
    written(folder / "buckets.csv", [*names, SCRIPT], bags)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    done = run("explore", "study.toml", "--out", "map", "--workers", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def points(folder: Path) -> dict[str, dict[str, Any]]:
    found = json.loads((folder / "map" / "points.json").read_text(encoding="utf-8"))["points"]
    return {point["anonymizer"].split()[0] + point["form"]: point for point in found}


def test_no_page_of_a_map_has_a_value_or_name_as_code(folder: Path) -> None:
    assert all(point["status"] == "measured" for point in points(folder).values()), points(folder)
    for name in ("report.html", "report-public.html"):
        text = (folder / "map" / name).read_text(encoding="utf-8")
        assert not [raw for raw in RAW if raw in text], name
    assert "pwned" in (folder / "map" / "report.html").read_text(encoding="utf-8")  # it is told, escaped


@pytest.mark.parametrize("which", range(len(MAKERS) + 2))
def test_no_certificate_has_a_value_or_name_as_code_and_no_cell_runs(folder: Path, which: int) -> None:
    name, point = sorted(points(folder).items())[which]
    out = folder / f"out{which}.csv"
    done = run("release", "map", "--point", point["id"], "--to", out, "--set", "escape-formulas=yes", cwd=folder)
    assert done.returncode == 0, (name, done.stderr)
    pages = sorted(folder.glob(f"out{which}.csv.*.html"))
    assert len(pages) >= 2
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not [raw for raw in RAW if raw in text], (name, page.name)
    with out.open(encoding="utf-8", newline="") as stream:
        cells = [cell for row in csv.reader(stream) for cell in row]
    assert any(cell == f"'{FORMULA}'" or cell == f"'{FORMULA}" for cell in cells)
    assert not any(cell.startswith("=") for cell in cells), name
    public = json.loads((folder / f"out{which}.csv.certificate-public.json").read_text(encoding="utf-8"))
    again = run(*public["verify"][1:], cwd=folder) if public["verify"][0] == "sfumato" else done
    assert again.returncode == 0, (name, again.stderr)
