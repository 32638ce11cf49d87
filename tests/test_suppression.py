"""Top coding and local suppression: truthful files in which what must be hidden is hidden, and k holds by text."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from independent_checker import read_rows
from sfumato import BadInputError, InfeasibleError, anonymizer, numeric
from sfumato.publish.certificate import certificate_files
from sfumato.publish.pipeline import publish_point
from test_check_command import mapped

AGES = {"age": numeric(0, 99)}


def people(number: int = 200, seed: int = 0) -> dict[str, list[Any]]:
    generator = np.random.default_rng(seed)
    ages = generator.integers(18, 96, number)
    return {
        "age": [None if i % 23 == 3 else str(age) for i, age in enumerate(ages)],
        "town": generator.choice(["a", "b", "c"], number).tolist(),
        "ill": generator.choice(["cold", "flu"], number).tolist(),
    }


def table_of(columns: dict[str, list[Any]], **more: Any) -> Any:
    given = {"quasi": ["age", "town"], "sensitive": ["ill"], "hierarchies": AGES} | more
    return sfumato.read(pa.table(columns), **given)


def written(release: Any, folder: Path) -> list[dict[str, str]]:
    return read_rows(release.to_csv(folder / "out.csv")[0])


# ---------------------------------------------------------------- top and bottom coding


def test_values_beyond_the_limits_are_open_ends_and_all_others_as_they_were(tmp_path: Path) -> None:
    columns = people()
    release = sfumato.anonymize(table_of(columns), "k-anonymity k=1", 'top-coding upper="age=80" lower="age=20"')

    def shown(age: str | None) -> str:
        return "" if age is None else "80+" if int(age) >= 80 else "<21" if int(age) <= 20 else age

    wanted = Counter((shown(age), town) for age, town in zip(columns["age"], columns["town"], strict=True))
    assert Counter((row["age"], row["town"]) for row in written(release, tmp_path)) == wanted


def test_the_end_of_an_observed_domain_is_not_told(tmp_path: Path) -> None:
    incomes = [str(100 + i) for i in range(99)] + ["98765"]
    table = sfumato.read(
        pa.table({"income": incomes, "ill": ["flu", "cold"] * 50}), quasi=["income"], sensitive=["ill"]
    )
    release = sfumato.anonymize(table, "k-anonymity k=1", "top-coding share=0.05")
    texts = Counter(row["income"] for row in written(release, tmp_path))
    assert texts["195+"] == 5 and not any("98765" in text for text in texts)


@pytest.mark.parametrize(("share", "ends"), [(0.05, "top"), (0.1, "bottom"), (0.2, "both")])
def test_an_open_end_holds_the_share_and_no_value_more_than_it_needs(share: float, ends: str, tmp_path: Path) -> None:
    columns = people(seed=2)
    release = sfumato.anonymize(table_of(columns), "k-anonymity k=1", f"top-coding share={share} ends={ends}")
    ages = [int(age) for age in columns["age"] if age is not None]
    texts = Counter(row["age"] for row in written(release, tmp_path))
    opened = {text: number for text, number in texts.items() if text.endswith("+") or text.startswith("<")}
    assert len(opened) == (2 if ends == "both" else 1)
    for text, number in opened.items():
        limit = int(text.strip("<+"))
        beyond = [age for age in ages if (age >= limit if text.endswith("+") else age < limit)]
        first = min(beyond) if text.endswith("+") else max(beyond)
        assert number == len(beyond) >= share * len(ages)
        assert len(beyond) - ages.count(first) < share * len(ages)


def test_the_audit_reads_open_ends_as_they_are_meant(tmp_path: Path) -> None:
    table = table_of(people(seed=1))
    release = sfumato.anonymize(table, "k-anonymity k=3", 'top-coding upper="age=60" lower="age=40"', suppress=0.9)
    path = release.to_csv(tmp_path / "out.csv")[0]
    found = sfumato.audit(path, ["age", "town"], ["ill"], original=table, require="k-anonymity k=3")
    measured = sfumato.measure(release).values
    assert found.holds and 0 < release.suppressed < 180
    for name, value in found.measures.items():
        assert name not in measured or value == pytest.approx(measured[name], abs=1e-9), name


def test_the_audit_reads_open_ends_of_dates(tmp_path: Path) -> None:
    days = [f"2020-{month:02}-{day:02}" for month in range(1, 13) for day in (3, 14, 25)]
    year = {"day": {"type": "dates", "first": "2020-01-01", "last": "2020-12-31"}}
    columns = {"day": days, "ill": ["cold", "flu"] * 18}
    table = sfumato.read(pa.table(columns), quasi=["day"], sensitive=["ill"], hierarchies=year)
    release = sfumato.anonymize(table, "k-anonymity k=1", 'top-coding upper="day=2020-10-01" lower="day=2020-02-01"')
    path = release.to_csv(tmp_path / "out.csv")[0]
    texts = Counter(row["day"] for row in read_rows(path))
    assert texts["2020-10-01+"] == 9 and texts["<2020-02-02"] == 3
    found = sfumato.audit(path, ["day"], ["ill"], original=table, require="k-anonymity k=1")
    assert found.holds and found.measures["loss"] == pytest.approx(sfumato.measure(release)["loss"], abs=1e-9)


def test_top_coding_alone_promises_no_groups() -> None:
    with pytest.raises(InfeasibleError, match=r"with these ends .* records are in groups that fail k-anonymity k=5"):
        sfumato.anonymize(table_of(people()), "k-anonymity k=5", 'top-coding upper="age=90"')


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("top-coding", "give limits .* or a share"),
        ('top-coding upper="age=80" share=0.1', "give limits .* or a share"),
        ('top-coding upper="age=80" columns=age', "columns and ends belong to share"),
        ('top-coding upper="town=a"', "'town' is no quasi-identifier of numbers or dates; these are: age"),
        ('top-coding upper="age=180"', "'180' is no value of 'age', which has 0 to 99"),
        ('top-coding upper="age=20" lower="age=30"', "the open ends of 'age' meet"),
        ("top-coding share=0.7 ends=both", "the open ends of 'age' meet"),
        ("top-coding share=0.1 columns=town", "'town' is no quasi-identifier of numbers"),
    ],
)
def test_limits_that_make_no_sense_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(BadInputError, match=sentence):
        sfumato.anonymize(table_of(people()), "k-anonymity k=1", text)


STUDY = """
name = "small"
[table]
source = "people.csv"
quasi = ["age", "town"]
sensitive = ["ill"]
[table.hierarchy.age]
type = "numeric"
lower = 0
upper = 99
[[candidates]]
anonymizers = ["{maker}"]
requirements = ["k-anonymity k=2"]
suppress = [0.9]
[scales]
min_support = 0.2
queries = "queries number=5"
"""


@pytest.mark.parametrize("maker", ["top-coding share=0.3", "local-suppression"])
def test_a_point_of_a_map_is_published_and_certified(maker: str, tmp_path: Path) -> None:
    columns = people()
    lines = [
        ",".join(columns),
        *(",".join(value or "" for value in row) for row in zip(*columns.values(), strict=True)),
    ]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "study.toml").write_text(STUDY.format(maker=maker), encoding="utf-8")
    publish_point(tmp_path / "map", mapped(tmp_path)[0], tmp_path / "out.csv")
    assert all(file.exists() for file in certificate_files(tmp_path / "out.csv"))
    groups = Counter((row["age"], row["town"]) for row in read_rows(tmp_path / "out.csv"))
    assert min(groups.values()) >= 2 and any(text == "*" or text.endswith("+") for text, _ in groups)


# ---------------------------------------------------------------- local suppression


def least_blanks(rows: list[tuple[int, ...]], k: int, weights: list[float]) -> float:
    """Try every way to put records into groups of k: in each, all values in which its records differ are blanked."""
    best = float("inf")

    def cost(group: list[int]) -> float:
        columns = zip(*(rows[i] for i in group), strict=True)
        return len(group) * sum(weight for column, weight in zip(columns, weights, strict=True) if len(set(column)) > 1)

    def place(i: int, groups: list[list[int]]) -> None:
        nonlocal best
        if sum(max(k - len(group), 0) for group in groups) > len(rows) - i:
            return
        if i == len(rows):
            best = min(best, sum(map(cost, groups)))
            return
        for group in groups:
            group.append(i)
            place(i + 1, groups)
            group.pop()
        place(i + 1, [*groups, [i]])

    place(0, [])
    return best


def test_hardly_more_is_blanked_than_must_be() -> None:
    """On tables where everything can be tried: never twice as much, and a tenth more in all at most."""
    blanked = least = 0.0
    for seed in range(25):
        generator = np.random.default_rng(seed)
        number, k, columns = int(generator.integers(4, 8)), int(generator.integers(2, 4)), int(generator.integers(2, 4))
        rows = [tuple(row) for row in generator.integers(0, 3, (number, columns)).tolist()]
        weights = generator.integers(1, 4, columns).tolist()
        names = [f"q{a}" for a in range(columns)]
        frame = pa.table({name: [f"v{row[a]}" for row in rows] for a, name in enumerate(names)})
        text = ", ".join(f"{name}={weight}" for name, weight in zip(names, weights, strict=True))
        release = sfumato.anonymize(
            sfumato.read(frame, quasi=names), f"k-anonymity k={k}", f'local-suppression weights="{text}"'
        )
        ours = sum(weight * release.details["blanks"][name] for name, weight in zip(names, weights, strict=True))
        fewest = least_blanks(rows, k, weights)
        assert fewest <= ours <= 2 * fewest
        blanked, least = blanked + ours, least + fewest
    assert blanked <= 1.1 * least


def test_every_group_of_equal_texts_has_k_records_and_what_is_shown_is_true(tmp_path: Path) -> None:
    columns = people(seed=4)
    release = sfumato.anonymize(table_of(columns), "k-anonymity k=4", "local-suppression")
    rows = written(release, tmp_path)
    groups = Counter((row["age"], row["town"]) for row in rows)
    assert min(groups.values()) >= 4 and len(rows) == 200
    for name in ("age", "town"):
        originals = Counter(value or "" for value in columns[name])
        shown = Counter(row[name] for row in rows)
        assert shown["*"] == release.details["blanks"][name] > 0
        assert all(number <= originals[text] for text, number in shown.items() if text != "*")
    account = anonymizer("local-suppression").account(release)  # type: ignore[union-attr]
    assert f"age {shown_blanks(rows, 'age')}" in account[0]
    assert sfumato.audit(tmp_path / "out.csv", ["age", "town"], ["ill"], require="k-anonymity k=4").holds


def shown_blanks(rows: list[dict[str, str]], name: str) -> int:
    return sum(row[name] == "*" for row in rows)


def test_weights_say_which_columns_are_blanked_rather() -> None:
    table = table_of(people(seed=5))
    dear, cheap = (
        sfumato.anonymize(table, "k-anonymity k=4", f'local-suppression weights="age={weight}"').details["blanks"]
        for weight in (0.05, 20)
    )
    assert dear["age"] > cheap["age"] and dear["town"] < cheap["town"]
    declared = table_of(people(seed=5), weights={"age": 20})
    release = sfumato.anonymize(declared, "k-anonymity k=4", "local-suppression")
    assert release.details["blanks"] == cheap


def test_records_are_left_out_as_far_as_allowed_and_other_requirements_hold() -> None:
    table = table_of(people(60, seed=6))
    release = sfumato.anonymize(table, "l-diversity l=2 variant=distinct", "local-suppression", suppress=0.1)
    assert release.suppressed <= 6 and sfumato.measure(release)["l_distinct"] >= 2
    with pytest.raises(InfeasibleError, match="k-anonymity k=61"):
        sfumato.anonymize(table, "k-anonymity k=61", "local-suppression")
    with pytest.raises(BadInputError, match="a bucketization would publish all of them"):
        sfumato.anonymize(table, "k-anonymity k=2", "local-suppression", "bucketization")
