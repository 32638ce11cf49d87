"""Projects with maps for tests of the pages after a run: a clinic with ugly names, and baskets with ugly items."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sfumato.report.folder import save_map
from sfumato.texts.html import NoRoomError
from sfumato.tradeoff.exploration.explore import explore
from sfumato.tradeoff.map import Map
from sfumato.tradeoff.study.study import read_study
from sfumato.workbench.projects import Desk

TOWN = "town </script><script>window.pwned=1</script>"
ILLNESS = '=HYPERLINK("http://x","ill")'
VALUES = ["=1+1", '<img src=x onerror="window.pwned=1">', "Zürich 雪", "{{7*7}}", "O'Neill; DROP"]
ILLS = ["flu", "gout", "<b>mumps</b>"]

STUDY = f"""# a comment of somebody's
name = "clinic <b>"
axes = ["attack_accuracy", "query_error"]
[table]
source = "clinic.csv"
quasi = ["age", {json.dumps(TOWN)}]
sensitive = [{json.dumps(ILLNESS)}]
[table.hierarchy.age]
type = "numeric"
lower = 20
upper = 59
[table.hierarchy.{json.dumps(TOWN)}]
type = "flat"
values = {json.dumps(VALUES, ensure_ascii=False)}
[table.hierarchy.{json.dumps(ILLNESS)}]
type = "flat"
values = {json.dumps(ILLS)}
[scales]
queries = "queries number=20"
fidelity = "fidelity"
[[candidates]]
anonymizers = ["mondrian"]
requirements = ["k-anonymity k=2", "k-anonymity k=5", "k-anonymity k=12", "k-anonymity k=30"]
forms = ["generalization", "bucketization"]
suppress = [0.0, 0.05]
[[candidates]]
anonymizers = ["without-quasi", "without-sensitive", "original"]
requirements = ["k-anonymity k=1"]
[[candidates]]
anonymizers = ["dp-grid epsilon=1", "cart", "microaggregation k=5"]
[[candidates]]
file = "theirs.csv"
claim = "k-anonymity k=5"
name = "their <tool>"
"""

SHOP = """name = "shop"
[baskets]
source = "shop.txt"
[scales]
queries = "item-queries number=30 workloads=2"
[[candidates]]
anonymizers = ["aa", "coat"]
requirements = ["km-anonymity k=2 m=2", "km-anonymity k=5 m=2"]
[[candidates]]
anonymizers = ["one-item", "original"]
requirements = ["km-anonymity k=1 m=1"]
"""


def people() -> list[tuple[str, str, str]]:
    """List the records of the clinic."""
    return [(str(20 + i * 7 % 40), VALUES[i * 3 % 5], ILLS[(i * i + i // 7) % 3]) for i in range(240)]


@contextmanager
def undrawn() -> Iterator[None]:
    """Let maps be saved without reports and pictures."""
    with (
        patch("sfumato.report.folder.report_bytes", side_effect=NoRoomError),
        patch("sfumato.report.folder.picture_bytes", side_effect=NoRoomError),
    ):
        yield


def _write(path: Path, rows: list[tuple[str, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(rows)


def made(folder: Path, study: str) -> Map:
    """Write a study into a folder and explore it there, as a run does: its text stays as it is."""
    (folder / "study.toml").write_text(study, encoding="utf-8")
    map_ = explore(read_study(str(folder / "study.toml")), folder / "cache.jsonl")
    with undrawn():
        save_map(map_, folder)
    (folder / "study.toml").write_text(study, encoding="utf-8")
    return map_


def make_clinic(desk: Desk, name: str = "clinic") -> Map:
    """Make the project of a clinic with releases of every kind."""
    folder = desk.folder / name
    folder.mkdir()
    _write(folder / "clinic.csv", [("age", TOWN, ILLNESS), *people()])
    theirs = [("20-59", "*", ill) for _, _, ill in people()]
    _write(folder / "theirs.csv", [("age", TOWN, ILLNESS), *theirs])
    return made(folder, STUDY)


def make_shop(desk: Desk, name: str = "shop") -> Map:
    """Make a project of baskets."""
    folder = desk.folder / name
    folder.mkdir()
    items = ["bread", "<script>window.pwned=1</script>", "=SUM(A1)", "tea", "Brötchen", "salt"]
    lines = [", ".join(sorted({items[i % 6], items[i * i % 6], items[i // 5 % 6]})) for i in range(150)]
    (folder / "shop.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return made(folder, SHOP)


def ids(map_: Map, **wanted: Any) -> list[str]:
    """Name the measured points with these properties."""
    return [
        point.id
        for point in map_.points
        if point.status == "measured" and all(getattr(point, name) == value for name, value in wanted.items())
    ]
