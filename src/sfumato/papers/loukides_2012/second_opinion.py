"""A second opinion on releases of baskets: plain sets and one matrix, sharing nothing with who made or verified them.

Published rows are derived here from the records and from what each item is called in the release, or read from the
written file; sets of one and two published items are counted in them.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from sfumato.arrays import Counts
from sfumato.process.interrupts import unfinished
from sfumato.transactions import BasketRelease, Baskets
from sfumato.transactions.files.writing import write_baskets

Row = frozenset[str]
BLOCK = 4096
"""Rows that are counted at a time."""


@dataclass(frozen=True)
class Checked:
    """What the second opinion says of one release."""

    least: int
    """The fewest records that show any one or two published items that occur together."""

    honest: bool
    """Whether every record shows what its own items are called, and nothing else."""


def checked(release: BasketRelease) -> Checked:
    """Count a release again, and compare every record with what is published of it."""
    rows = release.recoded()
    actual = [frozenset(row) for row in slices([rows.labels[code] for code in rows.codes.tolist()], rows.starts)]
    return Checked(least_support(counted(release)), expected_rows(release) == actual)


def checked_file(release: BasketRelease) -> Checked:
    """Write a release, and check the file: what a reader can count, and that it shows all records and no others."""
    with TemporaryDirectory() as folder, unfinished(Path(folder)):
        path = write_baskets(release, Path(folder) / "release.csv")
        rows, legend = Counter(read_rows(path)), read_legend(path)
    label_of = {text: legend_label(text, legend, release) for text in legend}
    shown: Counter[Row] = Counter()
    for row, number in rows.items():
        shown[frozenset(label_of.get(text, text) for text in row)] += number
    return Checked(least_support(rows), shown == counted(release))


def expected_rows(release: BasketRelease) -> list[Row]:
    """List what should be published of every distinct basket."""
    names = called(release)
    return [published(row, names) for row in originals(release.baskets)]


def counted(release: BasketRelease) -> Counter[Row]:
    """Count the records that should show each row."""
    rows: Counter[Row] = Counter()
    for row, weight in zip(expected_rows(release), release.baskets.weights.tolist(), strict=True):
        rows[row] += weight
    return rows


def read_rows(path: Path) -> Iterable[Row]:
    """Read a written release: one record per line, items separated by commas."""
    with path.open(encoding="utf-8", newline="") as stream:
        for fields in csv.reader(stream):
            yield frozenset(field for field in fields if field)


def read_legend(path: Path) -> dict[str, Row]:
    """Read which items stand behind the names of a file, from the legend beside it; nothing where it has none."""
    beside = path.with_name(f"{path.name}.legend.json")
    if not beside.is_file():
        return {}
    content = json.loads(beside.read_text(encoding="utf-8"))
    return {text: frozenset(items) for text, items in content["legend"].items()}


def legend_label(text: str, legend: Mapping[str, Row], release: BasketRelease) -> str:
    """Say what a name in the legend of a file is called in the release, by the items behind it; else nothing fits."""
    names = called(release)
    labels = {names.get(item, "") for item in legend[text]}
    behind = {item for item, name in names.items() if name in labels}
    return labels.pop() if len(labels) == 1 and behind == legend[text] else ""


def originals(baskets: Baskets) -> Iterable[list[str]]:
    """List the distinct baskets by the labels of their items."""
    return slices([baskets.items[code] for code in baskets.codes.tolist()], baskets.starts)


def slices(labels: list[str], starts: Counts) -> Iterable[list[str]]:
    """Cut a list at some places."""
    return (labels[begin:end] for begin, end in pairwise(starts.tolist()))


def called(release: BasketRelease) -> dict[str, str]:
    """Say what every item is called in a release; an item that is not published has no entry."""
    recoding = release.recoding
    item_parts = zip(release.baskets.items, recoding.parts.tolist(), strict=True)
    return {item: recoding.labels[part] for item, part in item_parts if part >= 0}


def published(row: Iterable[str], names: Mapping[str, str]) -> Row:
    """Publish one record."""
    return frozenset(names[item] for item in row if item in names)


def least_support(rows: Mapping[Row, int]) -> int:
    """Return the fewest records that show any one or two labels that some record shows; 0 if none shows any."""
    labels = sorted({label for row in rows for label in row})
    place = {label: number for number, label in enumerate(labels)}
    together = np.zeros((len(labels), len(labels)))
    entries = list(rows.items())
    for start in range(0, len(entries), BLOCK):
        block = entries[start : start + BLOCK]
        incidence = np.zeros((len(block), len(labels)))
        for number, (row, _) in enumerate(block):
            incidence[number, [place[label] for label in row]] = 1
        together += incidence.T @ (incidence * np.array([[weight] for _, weight in block]))
    return int(together[together > 0].min(initial=np.inf)) if (together > 0).any() else 0
