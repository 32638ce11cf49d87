"""Persons counted by plain code: no engine, no arrays, exact fractions. The definitions of docs/definitions.md."""

from __future__ import annotations

import csv
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

Row = Mapping[str, str]


class PlainGroup(NamedTuple):
    """One group of a published file: its records, and how many of them each person has."""

    records: int
    of_person: Counter[str]

    @property
    def persons(self) -> int:
        return len(self.of_person)

    @property
    def share(self) -> Fraction:
        return Fraction(max(self.of_person.values()), self.records)


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def write_rows(path: Path, rows: Sequence[Row]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def groups_of(
    published: Sequence[Row], original: Sequence[Row], quasi: Sequence[str], person: str, row: str = "row"
) -> list[PlainGroup]:
    """Join the published rows with the original by the number of the row, and count the persons of every group."""
    whose = {each[row]: each[person] for each in original}
    assert len(whose) == len(original)
    groups: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for each in published:
        groups[tuple(each[name] for name in quasi)][whose[each[row]]] += 1
    return [PlainGroup(sum(persons.values()), persons) for persons in groups.values()]


def risks(groups: Sequence[PlainGroup]) -> dict[str, Fraction]:
    """Return k, prosecutor and marketer by persons."""
    return {
        "k": Fraction(min(group.persons for group in groups)),
        "prosecutor": max(group.share for group in groups),
        "marketer": Fraction(len(groups), sum(group.persons for group in groups)),
    }


def visits(patients: int = 30, each: int = 10, seed: int = 1) -> list[dict[str, str]]:
    """Generate visits: every patient has several, at one age and one place."""
    draw = random.Random(seed)
    rows = []
    for patient in range(patients):
        fixed = {"age": str(draw.randint(20, 79)), "zip": draw.choice(["10115", "10117", "20095", "20097"])}
        for _ in range(each):
            illness = draw.choice(["flu", "cold", "gout", "cough"])
            rows.append({"row": f"r{len(rows)}", "patient": f"P{patient:04}", **fixed, "illness": illness})
    return rows


def panel(men: int = 40, years: int = 8, seed: int = 1) -> list[dict[str, str]]:
    """Generate a panel with a row counter without a name, as R writes it: men who are asked year after year."""
    draw = random.Random(seed)
    rows = []
    for man in range(men):
        school, industry = draw.randint(8, 16), draw.choice("ABCD")
        for year in range(years):
            now = draw.choice("ABCDE") if draw.random() < 0.2 else industry
            wage = draw.choice(["low", "middle", "high"])
            fixed = {"": str(len(rows) + 1), "row": f"r{len(rows)}", "nr": str(13 + 17 * man), "year": str(1980 + year)}
            rows.append({**fixed, "school": str(school), "industry": now, "wage": wage})
    return rows


WORKED = [
    {"row": f"r{number}", "person": person, "age": age, "clinic": clinic, "illness": illness}
    for number, (person, age, clinic, illness) in enumerate(
        [
            ("Ann", "31", "A", "flu"),
            ("Ann", "31", "A", "gout"),
            ("Ann", "31", "A", "flu"),
            ("Ben", "34", "A", "flu"),
            ("Ben", "34", "B", "cold"),
            ("Cem", "36", "B", "flu"),
            ("Cem", "36", "B", "flu"),
            ("Dora", "38", "B", "gout"),
        ]
    )
]
"""Eight records of four persons: the worked example of the definitions."""
