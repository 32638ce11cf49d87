"""Persons counted by plain code: no engine, no arrays, exact fractions. The definitions of docs/definitions.md."""

from __future__ import annotations

import csv
import math
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import plain_twins as plain

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
    """Return the risks by persons that read no sensitive value."""
    sizes = [group.persons for group in groups]
    return {
        "k": Fraction(min(sizes)),
        "weighted_k": Fraction(sum(size * size for size in sizes), sum(sizes)),
        "prosecutor": max(group.share for group in groups),
        "marketer": Fraction(len(groups), sum(group.persons for group in groups)),
    }


# -- sensitive values of persons -------------------------------------------------------------------------------------

Held = tuple[str, str]
"""The person of a record, and its sensitive value."""
Group = Sequence[Held]


class Attribute(NamedTuple):
    """A sensitive attribute: its values in their order, and from leaves to root the node above each of them."""

    values: Sequence[str]
    levels: Sequence[Sequence[int]]

    @staticmethod
    def flat(values: Sequence[str]) -> Attribute:
        return Attribute(values, [list(range(len(values))), [0] * len(values)])


def persons_in(group: Group) -> int:
    return len({person for person, _ in group})


def row_share(group: Group) -> Fraction:
    return Fraction(max(Counter(person for person, _ in group).values()), len(group))


def having(group: Group, of: Attribute) -> list[int]:
    """Count for every value the persons who have it at least once."""
    return [len({person for person, value in group if value == wanted}) for wanted in of.values]


def weights(group: Group, of: Attribute) -> list[Fraction]:
    """Add up the values; the records of one person weigh one together."""
    records = Counter(person for person, _ in group)
    return [sum((Fraction(1, records[u]) for u, s in group if s == wanted), Fraction(0)) for wanted in of.values]


def whole(numbers: Sequence[Fraction]) -> list[int]:
    """Multiply fractions until all are whole: their shares remain."""
    common = math.lcm(*(number.denominator for number in numbers))
    return [int(number * common) for number in numbers]


def matching(group: Group) -> int:
    """Return the fewest persons and values that together are in every pair: as many as the largest matching."""
    values = sorted({value for _, value in group})
    excluded = (set(some) for size in range(len(values) + 1) for some in combinations(values, size))
    return min(len(some) + len({person for person, value in group if value not in some}) for some in excluded)


def admits(part, group: Group, table: Group, of: Attribute) -> bool:
    """Say whether a requirement (not a joined one) admits a group, counted by persons."""
    persons, given = persons_in(group), vars(part)
    if part.name == "k-anonymity":
        share = Fraction(str(given["share"] or (0.5 if given["k"] > 1 else 1)))
        return persons >= given["k"] and row_share(group) <= share
    largest = Fraction(max(having(group, of)), persons)
    if part.name == "alpha-k":
        return persons >= given["k"] and plain.at_most(largest, Fraction(given["alpha"]))
    if part.name == "l-diversity" and given["variant"] == "frequency":
        return plain.at_most(largest, 1 / Fraction(given["l"]))
    if part.name == "l-diversity" and given["variant"] == "distinct":
        return matching(group) >= given["l"]
    return plain.admits(part, whole(weights(group, of)), whole(weights(table, of)), of.levels)


def value_risks(groups: Sequence[Group], table: Group, suppressed: Sequence[Group], of: Attribute) -> dict[str, float]:
    """Return the risks by persons about one attribute; `suppressed` are records by what was recorded of them."""
    sizes, q = [persons_in(group) for group in groups], whole(weights(table, of))
    shares = [whole(weights(group, of)) for group in groups]
    had = [having(group, of) for group in groups]
    sightings = sum(sizes)
    everywhere = [*had, *(having(group, of) for group in suppressed)]
    losses = sorted(plain.js(own, q) for own, size in zip(shares, sizes, strict=True) for _ in range(size))
    gain = sum(
        size * plain.kullback_leibler(plain.shares(own), plain.shares(q))
        for own, size in zip(shares, sizes, strict=True)
    )
    return {
        "l_frequency": min(Fraction(size, max(own)) for own, size in zip(had, sizes, strict=True)),
        "l_distinct": min(map(matching, groups)),
        "l_entropy": min(math.exp(plain.entropy(own)) for own in shares),
        "l_recursive": min(plain.recursive_l(own, 3) for own in shares),
        "t_equal": max(plain.equal(own, q) for own in shares),
        "t_ordered": max(plain.ordered(own, q) for own in shares),
        "t_hierarchical": max(plain.hierarchical(own, q, of.levels) for own in shares),
        "t_js": max(plain.js(own, q) for own in shares),
        "p_loss": max(plain.js(own, q) for own in shares),
        "p_loss_mean": sum(losses) / sightings,
        "p_loss_median": losses[math.ceil(Fraction(1, 2) * sightings) - 1],
        "p_loss_95": losses[math.ceil(Fraction(95, 100) * sightings) - 1],
        "delta": max(plain.delta(own, q) for own in shares),
        "beta": max(plain.beta(own, q) for own in shares),
        "a_know": sum(size * plain.equal(own, q) for own, size in zip(shares, sizes, strict=True)) / sightings,
        "a_acc": Fraction(sum(map(max, had)), sightings)
        - Fraction(max(map(sum, zip(*everywhere, strict=True))), sightings + sum(map(persons_in, suppressed))),
        "information_gain": max(gain / sightings, 0.0),
        "one_value_left": _one_value_left(groups, table),
        "certain": _certain(groups),
    }


def _published(groups: Sequence[Group]) -> set[str]:
    return {person for group in groups for person, _ in group}


def _one_value_left(groups: Sequence[Group], table: Group) -> Fraction:
    """Persons whose records in the table have one value, and only one value is in all groups of theirs."""
    found = 0
    for person in _published(groups):
        own = [{value for _, value in group} for group in groups if any(u == person for u, _ in group)]
        constant = len({value for u, value in table if u == person}) == 1
        found += constant and len(set.intersection(*own)) == 1
    return Fraction(found, len(_published(groups)))


def _certain(groups: Sequence[Group]) -> Fraction:
    """Persons with more records in a group than the group has rows without some value."""
    found = {
        person
        for group in groups
        for person, own in Counter(u for u, _ in group).items()
        if any(own > len(group) - with_it for with_it in Counter(s for _, s in group).values())
    }
    return Fraction(len(found), len(_published(groups)))


def singled_out(groups: Sequence[Group]) -> Fraction:
    """The share of the persons with a combination of groups, and of numbers of records in these, of their own."""
    places = {u: tuple(sum(v == u for v, _ in group) for group in groups) for u in _published(groups)}
    alike = Counter(places.values())
    return Fraction(sum(alike[place] == 1 for place in places.values()), len(places))


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
