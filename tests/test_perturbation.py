"""PRAM, swapping, noise, rounding, sequential trees: what each keeps of a table, and that none breaks on odd ones."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato import BadInputError, SfumatoError, anonymizer, numeric
from sfumato.anonymizers import RECORD_MAKERS
from sfumato.anonymizers.perturbation.cart import drawn_from
from sfumato.anonymizers.perturbation.pram import randomised
from sfumato.anonymizers.perturbation.swapping import pairs, partners
from sfumato.release.records import Records, read_as_records, replicated_uniques, unchanged_values
from strategies import tries

WIDE = {"type": "numeric", "lower": 0, "upper": 999}


def people(number: int = 300, seed: int = 0) -> dict[str, list[Any]]:
    """People whose income rises with age and whose town depends on their sex."""
    generator = np.random.default_rng(seed)
    age = generator.integers(100, 400, number)
    income = np.clip(age * 2 + generator.normal(0, 60, number), 0, 999).astype(int)
    sex = generator.choice(["f", "m"], number)
    town = np.where(
        generator.random(number) < 0.7, np.where(sex == "f", "a", "b"), generator.choice(["c", "d"], number)
    )
    return {
        "age": [None if i % 29 == 7 else str(value) for i, value in enumerate(age)],
        "income": [str(value) for value in income],
        "sex": sex.tolist(),
        "town": town.tolist(),
        "ill": generator.choice(["cold", "flu", "gout"], number).tolist(),
    }


QUASI = ["age", "income", "sex", "town"]


def table_of(columns: dict[str, list[Any]], **more: Any) -> Any:
    given = {"quasi": QUASI, "sensitive": ["ill"], "hierarchies": {"age": WIDE, "income": WIDE}} | more
    return sfumato.read(pa.table(columns), **given)


def made(table: Any, text: str, seed: int = 1) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The columns of the table and of what was made of it, record by record, as codes."""
    maker: Any = anonymizer(f"{text} seed={seed}" if "seed" in anonymizer(text).__dataclass_fields__ else text)
    original = Records.of(table.cells)
    records = maker.records(original, np.random.default_rng(seed))
    return tuple(dict(zip(each.names, each.codes.T, strict=True)) for each in (original, records))


def joint(columns: dict[str, np.ndarray], *names: str) -> Counter[tuple[int, ...]]:
    return Counter(zip(*(columns[name].tolist() for name in names), strict=True))


# ---------------------------------------------------------------- PRAM


class Told:
    """A generator that redraws every value, or none, and then takes the same record for all."""

    def __init__(self, redraws: bool, record: int) -> None:
        self.redraws, self.record = redraws, record

    def random(self, size: int) -> np.ndarray:
        return np.full(size, 1.0 - 1e-12 if self.redraws else 0.0)

    def integers(self, low: int, high: int, size: int) -> np.ndarray:
        assert low <= self.record < high
        return np.full(size, self.record)


@tries(30)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.integers(0, 10))
def test_the_matrix_of_pram_keeps_the_shares_of_all_categories(values: list[int], tenths: int) -> None:
    """Its entries are counted over everything that can be drawn, each as likely as it is, in fractions: p R = p."""
    codes, keep, n = np.array(values, np.int32), Fraction(tenths, 10), len(values)
    matrix: dict[tuple[int, int], Fraction] = Counter()
    for redraws, chance in ((False, keep), (True, 1 - keep)):
        for record in range(n):
            drawn = randomised(codes, min(max(tenths / 10, 1e-9), 1 - 1e-9), Told(redraws, record))  # type: ignore[arg-type]
            for before, after in {*zip(values, drawn.tolist(), strict=True)}:
                matrix[before, after] += chance / n
    shares = {value: Fraction(count, n) for value, count in Counter(values).items()}
    for value, share in shares.items():
        assert sum(matrix[value, other] for other in shares) == 1
        assert sum(shares[other] * matrix[other, value] for other in shares) == share
        assert matrix[value, value] == keep + (1 - keep) * share


def test_pram_draws_by_its_matrix() -> None:
    shares, keep, number = np.array([0.6, 0.3, 0.1]), 0.6, 40_000
    codes = np.repeat(np.array([2, 5, 9], np.int32), (shares * number).astype(int))
    drawn = randomised(codes, keep, np.random.default_rng(0))
    for a, code in enumerate((2, 5, 9)):
        wanted = keep * (np.arange(3) == a) + (1 - keep) * shares
        found = np.array([np.sum(drawn[codes == code] == other) for other in (2, 5, 9)])
        many = np.sum(codes == code)
        assert (abs(found - many * wanted) < 5 * np.sqrt(many * wanted * (1 - wanted))).all()


def test_pram_changes_categories_alone_and_keeps_what_it_is_told_to() -> None:
    table = table_of(people())
    before, after = made(table, "pram keep=0.5")
    assert all((before[name] == after[name]).all() for name in ("age", "income", "ill"))
    assert 0.5 < np.mean(before["sex"] == after["sex"]) < 1
    before, after = made(table, "pram keep=1")
    assert all((before[name] == after[name]).all() for name in before)


def test_within_a_column_pram_invents_no_combination_with_it() -> None:
    """Drawn from the people of the same sex alone, a town stands beside those sexes that it stood beside."""
    table = table_of(people())
    before, after = made(table, "pram keep=0 columns=town within=sex")
    assert (before["town"] != after["town"]).any() and (before["sex"] == after["sex"]).all()
    assert set(joint(after, "sex", "town")) <= set(joint(before, "sex", "town"))
    _, freely = made(table, "pram keep=0 columns=town")
    assert not set(joint(freely, "sex", "town")) <= set(joint(before, "sex", "town"))


# ---------------------------------------------------------------- swapping


@tries(40)
@given(st.integers(1, 60), st.integers(1, 80), st.integers(0, 2**63))
def test_ranks_are_swapped_in_pairs_that_are_near(n: int, window: int, state: int) -> None:
    partner = partners(n, window, np.array([state], np.uint64))
    assert (partner[partner] == np.arange(n)).all()
    assert abs(partner - np.arange(n)).max() <= window
    alone = np.flatnonzero(partner == np.arange(n))
    assert (np.diff(alone) > window).all()  # two that are near would have been each other's


def test_rank_swapping_keeps_every_column_as_a_whole_and_moves_values_no_farther() -> None:
    table = table_of(people())
    before, after = made(table, "rank-swapping distance=0.1")
    for name in ("age", "income"):
        assert Counter(before[name].tolist()) == Counter(after[name].tolist())
        assert (before[name] != after[name]).mean() > 0.8
        ranks = np.sort(before[name])
        below, above = (
            np.searchsorted(ranks, np.minimum(before[name], after[name]), side="right"),
            np.searchsorted(ranks, np.maximum(before[name], after[name])),
        )
        assert (above - below <= 30).all()
    missing = table.cells.quasi[0].hierarchy.size - 1
    assert ((before["age"] == missing) == (after["age"] == missing)).all()
    assert all((before[name] == after[name]).all() for name in ("sex", "town", "ill"))


def test_record_swapping_keeps_what_is_swapped_together_with_what_must_agree() -> None:
    table = table_of(people())
    before, after = made(table, "record-swapping share=0.5 match=sex columns=town,age")
    assert joint(before, "sex", "town", "age") == joint(after, "sex", "town", "age")
    assert joint(before, "income", "sex", "ill") == joint(after, "income", "sex", "ill")
    assert joint(before, "town", "age", "income") != joint(after, "town", "age", "income")
    changed = (before["town"] != after["town"]) | (before["age"] != after["age"])
    assert 0.3 < changed.mean() <= 0.5


@tries(40)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(0, 30), st.integers(0, 10))
def test_a_record_is_in_one_pair_with_one_of_its_kind(kinds: list[int], wanted: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    kind = np.unique(kinds, return_inverse=True)[1]
    urgency = generator.random(len(kind))
    one, other = pairs(kind, urgency, wanted, generator)
    assert len(one) == len(other) <= wanted
    assert len({*one.tolist(), *other.tolist()}) == 2 * len(one)
    assert (kind[one] == kind[other]).all()
    most = set(np.argsort(urgency)[:wanted].tolist())
    assert set(one.tolist()) <= most
    for each in set(kind.tolist()):
        chosen = sum(kind[i] == each for i in most)
        assert np.sum(kind[one] == each) == min(chosen, np.sum(kind == each) // 2)


def test_rare_people_are_swapped_first() -> None:
    columns = people(200) | {"age": ["150"] * 180 + [str(200 + i) for i in range(20)], "income": ["300"] * 200}
    table = table_of(columns, quasi=["age", "income"], hierarchies={"age": WIDE, "income": WIDE})
    before, after = made(table, "record-swapping share=0.2 target=rare")
    alone = before["age"] != 150
    assert alone.sum() == 20 and (before["age"] != after["age"])[alone].all()


# ---------------------------------------------------------------- noise


@pytest.mark.parametrize(("preserve", "factor"), [("nothing", 1 + 0.5**2), ("covariance", 1.0)])
def test_noise_keeps_correlations_and_where_asked_covariances(preserve: str, factor: float) -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(500, 40, 20_000)
    y = 0.6 * x + generator.normal(0, 30, 20_000)
    columns = {"x": x.round().astype(int).astype(str).tolist(), "y": y.round().astype(int).astype(str).tolist()}
    table = sfumato.read(pa.table(columns), quasi=["x", "y"], hierarchies={"x": numeric(0, 999), "y": numeric(0, 999)})
    before, after = made(table, f"noise scale=0.5 preserve={preserve}")
    wanted = factor * np.cov(before["x"], before["y"])
    assert np.allclose(np.cov(after["x"], after["y"]), wanted, rtol=0.04)
    assert abs(after["x"].mean() - before["x"].mean()) < 1
    assert (before["x"] != after["x"]).mean() > 0.9


def test_noise_leaves_missing_and_constant_values_and_stays_in_the_domain() -> None:
    table = table_of(people() | {"income": ["5"] * 300})
    before, after = made(table, "noise scale=50")
    missing = table.cells.quasi[0].hierarchy.size - 1
    assert ((before["age"] == missing) == (after["age"] == missing)).all()
    assert (after["income"] == 5).all() and after["age"].max() <= missing


# ---------------------------------------------------------------- rounding


def test_rounded_values_are_multiples_of_the_base_also_at_the_ends_of_the_domain() -> None:
    columns = {"age": [str(age) for age in range(17, 92)]}
    table = sfumato.read(pa.table(columns), quasi=["age"], hierarchies={"age": numeric(17, 91)})
    for method in ("nearest", "random"):
        maker: Any = anonymizer(f"rounding base=10 method={method}")
        shown = [int(row["age"]) for row in maker.draw(table).record_table().to_pylist()]
        assert set(shown) == {20, 30, 40, 50, 60, 70, 80, 90}


def test_rounding_at_random_is_right_on_average() -> None:
    table = sfumato.read(pa.table({"age": ["43"] * 4000}), quasi=["age"], hierarchies={"age": numeric(0, 99)})
    shown = Counter(made(table, "rounding base=10 method=random")[1]["age"].tolist())
    assert set(shown) == {40, 50} and abs(shown[50] - 1200) < 5 * np.sqrt(4000 * 0.3 * 0.7)


def test_dates_are_rounded_to_days() -> None:
    days = ["2020-01-03", "2020-01-04", "2020-01-20"]
    table = sfumato.read(
        pa.table({"day": days}),
        quasi=["day"],
        hierarchies={"day": {"type": "dates", "first": "2020-01-01", "last": "2020-12-31"}},
    )
    shown = sorted(row["day"] for row in sfumato.draw(table, "rounding base=7").record_table().to_pylist())
    assert len(set(shown)) == 2 and shown[0][:7] == "2020-01"


# ---------------------------------------------------------------- sequential trees


def test_a_value_is_drawn_from_those_of_its_leaf_each_as_often() -> None:
    leaf, values = np.array([3, 1, 3, 1, 3, 3]), np.array([7, 1, 8, 2, 8, 8], np.int32)
    drawn = drawn_from(leaf, values, np.full(8000, 3), np.random.default_rng(0))
    shown = Counter(drawn.tolist())
    assert set(shown) == {7, 8} and abs(shown[7] - 2000) < 5 * np.sqrt(8000 * 0.25 * 0.75)


def test_synthetic_records_follow_pairs_of_columns_and_stand_for_nobody() -> None:
    table = table_of(people(2000, seed=3))
    release = anonymizer("cart seed=5").draw(table)  # type: ignore[union-attr]
    assert not release.people and release.link is None and release.records == 2000
    assert unchanged_values(release) == {}
    with pytest.raises(BadInputError, match="records of nobody"):
        sfumato.measure(release)
    original, drawn = Records.of(table.cells).codes, read_as_records(release, np.random.default_rng(0)).codes
    resampled = original[np.random.default_rng(1).integers(0, 2000, 2000)]
    sex, town = 2, 3

    def far(codes: np.ndarray) -> float:
        shares = [np.bincount(each[:, sex] * 4 + each[:, town], minlength=8) / len(each) for each in (codes, original)]
        return float(abs(shares[0] - shares[1]).sum() / 2)

    assert far(drawn) < 3 * far(resampled) + 0.01
    known = original[:, 0] < 1000
    drawn_known = drawn[:, 0] < 1000
    correlation = np.corrcoef(original[known, 0], original[known, 1])[0, 1]
    assert abs(np.corrcoef(drawn[drawn_known, 0], drawn[drawn_known, 1])[0, 1] - correlation) < 0.1


def test_replicated_uniques_of_a_draw_are_counted_by_record() -> None:
    table = table_of(people(200, seed=2))
    release = anonymizer("cart leaf=1 seed=2").draw(table)  # type: ignore[union-attr]
    records = Counter(map(tuple, Records.of(table.cells).codes.tolist()))
    drawn = set(map(tuple, read_as_records(release, np.random.default_rng(0)).codes.tolist()))
    once = {record for record, number in records.items() if number == 1}
    assert replicated_uniques(release) == (len(once & drawn), len(once))
    assert len(once & drawn) > 0


# ---------------------------------------------------------------- all of them

TEXTS = [kind.example or kind.name for kind in RECORD_MAKERS if "epsilon" not in kind.__dataclass_fields__]
ODD = {
    "one record": {"age": ["5"], "town": ["a"]},
    "one column of numbers": {"age": ["5", "6", "7", "7", "9", "10"]},
    "one column of categories": {"town": ["a", "b", "b", "a", "c", "a"]},
    "constant": {"age": ["5"] * 6, "town": ["a"] * 6},
    "missing": {"age": [None] * 6, "town": ["a", None, "b", None, "b", "a"]},
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", ODD)
def test_odd_tables_are_made_or_refused_in_a_sentence(name: str, text: str) -> None:
    columns = ODD[name]
    known = {"age": {"type": "numeric", "lower": 0, "upper": 99}}
    table = sfumato.read(
        pa.table({key: pa.array(value, pa.string()) for key, value in columns.items()}),
        quasi=list(columns),
        hierarchies={key: value for key, value in known.items() if key in columns},
    )
    try:
        release: Any = sfumato.draw(table, text)
    except SfumatoError as error:
        assert "changes" in str(error) or "so k is at most" in str(error)
        return
    assert release.records == len(next(iter(columns.values())))
    if name == "constant":
        assert len(release.rows) == 1


@pytest.mark.parametrize("text", TEXTS)
def test_a_seed_repeats_a_release_and_no_seed_does_not_need_one(text: str) -> None:
    table = table_of(people(80))
    maker: Any = anonymizer(text)
    one, two = (maker.with_seed(7).draw(table) for _ in range(2))
    assert (one.rows == two.rows).all() and (one.counts == two.counts).all()
    assert maker.draw(table).records == 80


@pytest.mark.parametrize("text", [text for text in TEXTS if not text.startswith("cart")])
def test_columns_named_wrongly_are_refused(text: str) -> None:
    with pytest.raises(BadInputError, match="there is no coded column 'nobody'"):
        sfumato.draw(table_of(people(20)), f"{text} columns=nobody")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("cart order=nobody", "there is no coded column 'nobody'"),
        ("cart order=age,age", "a column appears twice in age, age"),
        ("pram keep=0.5 columns=age", "column 'age' has none"),
        ("pram keep=0.5 columns=town within=town", "'town' stays as it is"),
        ("pram keep=1.5", "keep must be a number of at least 0 and at most 1"),
        ("rank-swapping columns=town", "column 'town' has none"),
        ("record-swapping match=town columns=town", "'town' stays where it is"),
        ("record-swapping match=age,income,sex,town", "there is no column to swap"),
        ("noise scale=0.1 columns=sex", "column 'sex' has none"),
        ("rounding base=5000 columns=age method=random", None),
        ("rounding base=5 seed=3", "seed belongs to method=random"),
    ],
)
def test_what_does_not_fit_is_refused(text: str, sentence: str | None) -> None:
    if sentence is None:
        assert sfumato.draw(table_of(people(20)), text).records == 20  # 0 is a multiple of everything
        return
    with pytest.raises(BadInputError, match=sentence):
        sfumato.draw(table_of(people(20)), text)


def test_a_base_beyond_the_domain_is_refused() -> None:
    table = sfumato.read(pa.table({"age": ["21", "22"]}), quasi=["age"], hierarchies={"age": numeric(21, 29)})
    with pytest.raises(BadInputError, match="no multiple of 10 lies between 21 to 29, the domain of column 'age'"):
        sfumato.draw(table, "rounding base=10")


def test_members_of_a_household_are_not_told_apart() -> None:
    columns = people(20) | {"home": [str(i // 2) for i in range(20)], "town": [("a", "b")[i // 10] for i in range(20)]}
    table = table_of(columns, household="home")
    for text in TEXTS:
        with pytest.raises(BadInputError, match="members of one household"):
            sfumato.draw(table, text)
