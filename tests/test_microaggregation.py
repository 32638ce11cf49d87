"""Microaggregation: groups are those of MDAV's definition, averages those of their records, and k holds in the file."""

from __future__ import annotations

import statistics
from collections import Counter
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from independent_checker import read_rows
from sfumato import BadInputError, InfeasibleError, anonymizer
from sfumato.anonymizers.perturbation.microaggregation import MEAN, MEDIAN, MODE, Space, grouped
from strategies import tries

AGES = {"age": {"type": "numeric", "lower": 0, "upper": 99}}
TOLERANCE = Fraction(1, 10**9)


def people(seed: int = 0, number: int = 80) -> dict[str, list[Any]]:
    generator = np.random.default_rng(seed)
    age = np.where(generator.random(number) > 0.1, generator.integers(20, 60, number).astype(str), None).tolist()
    return {
        "age": age,
        "sex": generator.choice(["f", "m"], number).tolist(),
        "town": generator.choice(["a", "b", "c", "d"], number).tolist(),
        "ill": generator.choice(["cold", "flu", "gout"], number).tolist(),
    }


def table_of(columns: dict[str, list[Any]], **more: Any) -> Any:
    return sfumato.read(pa.table(columns), quasi=["age", "sex", "town"], sensitive=["ill"], hierarchies=AGES, **more)


# ---------------------------------------------------------------- the groups, by exact fractions


class Plain:
    """Distances and averages as the module's head says them, without a floating-point number in between."""

    def __init__(self, rows: list[tuple[int, ...]], missing: int, kinds: list[int]) -> None:
        self.missing, self.kinds, self.columns = missing, kinds, list(zip(*rows, strict=True))
        self.scale = [self._scale(a) for a in range(len(kinds))]

    def known(self, a: int, values: Any) -> list[int]:
        return [value for value in values if value != self.missing or self.kinds[a] == MODE]

    def _scale(self, a: int) -> tuple[Fraction, Fraction]:
        """By what a squared difference is multiplied, and how far apart values are that have none."""
        values = self.columns[a]
        if self.kinds[a] == MODE:
            same = sum(Fraction(count, len(values)) ** 2 for count in Counter(values).values())
            return Fraction(0), 1 / (1 - same) if same < 1 else Fraction(1)
        known = self.known(a, values)
        if not known:
            return Fraction(0), Fraction(1)
        mean = Fraction(sum(known), len(known))
        spread = 2 * sum((value - mean) ** 2 for value in known) / len(known)
        factor = 1 / spread if spread else Fraction(0)
        return factor, max((max(known) - min(known)) ** 2 * factor, Fraction(1))

    def distance(self, one: tuple[Any, ...], other: tuple[Any, ...]) -> Fraction:
        total = Fraction(0)
        for a, (x, y) in enumerate(zip(one, other, strict=True)):
            factor, apart = self.scale[a]
            if x != y:
                total += apart if self.kinds[a] == MODE or self.missing in (x, y) else (x - y) ** 2 * factor
        return total

    def average(self, rows: list[tuple[int, ...]]) -> tuple[Any, ...]:
        return tuple(self._average(a, [row[a] for row in rows]) for a in range(len(self.kinds)))

    def _average(self, a: int, values: list[int]) -> Any:
        if self.kinds[a] == MODE:
            return min(statistics.multimode(values))
        known = self.known(a, values)
        if 2 * len(known) < len(values):
            return self.missing
        return Fraction(sum(known), len(known)) if self.kinds[a] == MEAN else statistics.median_low(known)


@tries(60)
@given(st.data())
def test_every_group_is_one_that_the_definition_could_have_formed(data: Any) -> None:
    """Ties may fall either way: who begins a group is as far away as any, and who is in it as near as any outside."""
    kinds = data.draw(st.lists(st.sampled_from([MEAN, MEDIAN, MODE]), min_size=1, max_size=3))
    missing, k = 7, data.draw(st.integers(1, 4))
    row = st.tuples(*(st.integers(0, missing) for _ in kinds))
    counts = data.draw(st.dictionaries(row, st.integers(1, 5), min_size=1, max_size=12))
    rows = sorted(counts)
    numbers = [np.array([np.nan] * 8 if kind == MODE else [*range(missing), np.nan]) for kind in kinds]
    codes = np.array(rows, np.int32).reshape(len(rows), -1)
    space = Space.of(codes, np.array([counts[row] for row in rows]), numbers, np.array(kinds))
    entries = sorted(zip(*grouped(space, k), strict=True), key=lambda entry: entry[1])
    formed = [
        [(rows[point], count) for point, _, count in part] for _, part in groupby(entries, lambda entry: entry[1])
    ]
    plain = Plain([row for row in rows for _ in range(counts[row])], missing, kinds)
    left = Counter(counts)
    begun: tuple[int, ...] | None = None
    for group in formed[:-1]:
        remaining = sum(left.values())
        assert remaining >= 2 * k and sum(count for _, count in group) == k
        centre = plain.average(list(left.elements())) if begun is None else begun
        farthest = max(plain.distance(row, centre) for row in left)
        rest = left - Counter(dict(group))
        nearest = [
            row
            for row, _ in group
            if plain.distance(row, centre) >= farthest - TOLERANCE
            and all(
                plain.distance(row, member) <= plain.distance(row, other) + TOLERANCE
                for member, _ in group
                for other in rest
            )
        ]
        assert nearest
        begun = nearest[0] if begun is None and remaining >= 3 * k else None
        if len(nearest) > 1:
            return  # which of them it was cannot be told, and the next group follows from it
        left = rest
    assert +left == Counter(dict(formed[-1]))
    assert sum(left.values()) < 2 * k


# ---------------------------------------------------------------- what is published


@pytest.mark.parametrize("average", ["mean", "median", "mode"])
def test_one_group_shows_the_average_of_all(average: str) -> None:
    columns = people(1)
    release = sfumato.draw(table_of(columns), f"microaggregation k=80 average={average} ordered=town")
    ages = [int(age) for age in columns["age"] if age is not None]
    towns = sorted(columns["town"])
    middle = statistics.median_low(towns) if average != "mode" else min(statistics.multimode(towns))
    row = release.record_table().to_pylist()[0]
    if average == "mode":  # missing is a value like any other
        assert row["age"] in statistics.multimode(columns["age"])
    else:
        wanted = statistics.mean(ages) if average == "mean" else statistics.median_low(ages)
        assert abs(int(row["age"]) - wanted) <= 0.5
    assert row["sex"] == statistics.mode(columns["sex"]) and row["town"] == middle
    assert release.groups == 1


def test_what_most_of_a_group_lacks_is_missing() -> None:
    columns = people(2, 20) | {"age": [None] * 11 + ["30"] * 9}
    release = sfumato.draw(table_of(columns), "microaggregation k=20")
    assert {row["age"] for row in release.record_table().to_pylist()} == {None}


@pytest.mark.parametrize(
    "text", ["microaggregation k=4", "microaggregation k=4 by=sex", "microaggregation k=7 average=mode"]
)
def test_the_audit_of_the_written_file_confirms_k(text: str, tmp_path: Path) -> None:
    columns = people(3)
    release = sfumato.draw(table_of(columns), text)
    path = release.to_csv(tmp_path / "out.csv")[0]
    k = anonymizer(text).promised.k
    assert sfumato.audit(path, ["age", "sex", "town"], ["ill"], require=f"k-anonymity k={k}").holds
    rows = read_rows(path)
    groups = Counter((row["age"], row["sex"], row["town"]) for row in rows)
    assert min(groups.values()) >= k and len(rows) == 80
    assert Counter(row["ill"] for row in rows) == Counter(columns["ill"])
    if "by=" in text:
        assert Counter(row["sex"] for row in rows) == Counter(columns["sex"])


def test_a_promise_is_made_only_where_all_quasi_identifiers_are_averaged() -> None:
    for text in ("microaggregation k=4 columns=age", "microaggregation k=4 method=columns"):
        maker: Any = anonymizer(text)
        assert not maker.promises and maker.shows_exact
        with pytest.raises(BadInputError, match="cannot promise k-anonymity k=4"):
            maker.anonymize(table_of(people()), sfumato.requirement("k-anonymity k=4"))
    maker = anonymizer("microaggregation k=4")
    assert not maker.shows_exact
    assert maker.anonymize(table_of(people()), sfumato.requirement("k-anonymity k=3")).sizes.min() >= 4


def test_columns_by_themselves_are_averages_of_their_own_neighbours() -> None:
    columns = people(4)
    release = sfumato.draw(table_of(columns), "microaggregation k=5 method=columns columns=age")
    counts = Counter(row["age"] for row in release.record_table().to_pylist())
    assert min(counts.values()) >= 5
    assert Counter(row["town"] for row in release.record_table().to_pylist()) == Counter(columns["town"])


@pytest.mark.parametrize(
    ("text", "kind", "sentence"),
    [
        ("microaggregation k=81", InfeasibleError, "the table has 80 records, so k is at most 80, not 81"),
        ("microaggregation k=60 by=sex", InfeasibleError, "a value of sex has"),
        ("microaggregation k=2 by=ill", BadInputError, "'ill' is no quasi-identifier"),
        ("microaggregation k=2 by=sex columns=sex,age", BadInputError, "'sex' stays as it is"),
        ("microaggregation k=2 ordered=age", BadInputError, "ordered anyway"),
        ("microaggregation k=2 columns=nobody", BadInputError, "there is no coded column 'nobody'"),
    ],
)
def test_what_cannot_be_averaged_is_refused(text: str, kind: type[Exception], sentence: str) -> None:
    with pytest.raises(kind, match=sentence):
        sfumato.draw(table_of(people()), text)
