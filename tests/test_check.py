"""Checking a table as it stands: every number against an oracle, its definition, or a plain computation."""

import csv
import json
import math
import sys
from collections import Counter
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato
from sfumato import BadInputError
from sfumato.commands import app as cli
from sfumato.data.households import Memberships
from sfumato.measures.group_risk import THRESHOLDS, agreeing
from sfumato.measures.subsets import NEVER, Combinations, all_subsets, household_risks, members_of
from sfumato.measures.superpopulation import (
    digamma,
    expected_uniques,
    fit_pitman,
    individual_risks,
    population_uniques,
    zayatz,
)
from strategies import tries

USA = 317_238_626
"""What ARX takes for the population of the USA."""

QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class"]


# ---------------------------------------------------------------- ARX on Adult


@pytest.fixture(scope="module")
def adult(shared):
    table = sfumato.read(shared / "data/arx/adult/adult.csv", quasi=QUASI, sensitive=["occupation"])
    return sfumato.check(table, population=USA)


def test_the_risks_of_adult_are_those_of_arx(adult):
    assert adult.records == 30_162
    assert round(adult.risk.above(5), 4) == 0.5090
    assert round(adult.risk.average, 4) == 0.4130
    assert round(adult.risk.uniques_share, 4) == 0.2931
    assert adult.risk.highest == 1


def test_the_population_uniques_of_adult_are_those_of_arx(adult):
    assert round(adult.population.pitman / USA, 5) == 0.01455
    assert round(adult.population.zayatz / USA, 4) == 0.0860
    assert adult.population.model == "pitman"
    assert adult.population.share == adult.population.pitman / USA


def test_all_subsets_of_adult_are_counted_as_by_a_plain_counter(adult, shared):
    with (shared / "data/arx/adult/adult.csv").open() as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    assert len(adult.subsets) == 255 and adult.all_subsets
    for names in [("age",), ("native-country", "sex"), ("education", "race", "workclass"), tuple(sorted(QUASI))[1:]]:
        counted = Counter(tuple(row[name] for name in names) for row in rows)
        own = adult.subsets[names]
        assert own.combinations == len(counted)
        assert own.uniques == sum(count == 1 for count in counted.values())
    without = {own.name: own.without for own in adult.attributes}
    assert without["age"] is adult.subsets[tuple(name for name in sorted(QUASI) if name != "age")]
    averages = [own.without.average for own in adult.attributes]
    assert averages == sorted(averages) and adult.attributes[0].name == "age"


# ---------------------------------------------------------------- the population behind a sample


@pytest.mark.parametrize(
    ("sample", "population", "risk"),
    [
        (2, 360, 0.005424520),
        (1, 215, 0.025096439),
        (2, 152, 0.012563425),
        (1, 186, 0.028247279),
        (1, 180, 0.029010932),
        (2, 262, 0.007403834),
    ],
)
def test_individual_risk_is_that_of_the_ihsn_guide(sample, population, risk):
    found = individual_risks(np.array([sample]), np.array([population]))[0]
    assert found == pytest.approx(risk, abs=1e-9)


@tries(100)
@given(st.sampled_from([1, 2]), st.floats(0.01, 0.999))
def test_individual_risk_is_the_expected_one_over_the_frequency(f, p):
    """By definition: the population frequency is negative binomial given the sample's."""
    terms, h = [], f
    while h < 20_000 and (h < 50 or terms[-1] > 1e-18):
        terms.append(1 / h * (1 if f == 1 else h - 1) * p**f * (1 - p) ** (h - f))
        h += 1
    assert individual_risks(np.array([f]), np.array([f / p]))[0] == pytest.approx(math.fsum(terms), rel=1e-9)


@tries(50)
@given(st.integers(3, 50), st.floats(0.001, 1))
def test_individual_risk_of_larger_groups_is_the_approximation(f, p):
    assert individual_risks(np.array([f]), np.array([f / p]))[0] == pytest.approx(p / (f - 1 + p), rel=1e-9)


@pytest.mark.parametrize("f", [1, 2, 3, 10])
@pytest.mark.parametrize("share", [1, 0.5, 0])
def test_a_population_no_larger_than_the_sample_gives_one_over_the_frequency(f, share):
    assert individual_risks(np.array([f]), np.array([f * share]))[0] == pytest.approx(1 / f)


def test_household_risk_is_that_of_the_ihsn_guide():
    memberships = Memberships(np.array([0, 1]), np.array([0, 0]), np.array([1, 2]))
    assert household_risks(np.array([0.02, 0.03]), memberships)[0] == pytest.approx(0.0779, abs=5e-5)
    assert household_risks(np.array([0.02, 0.03]), memberships)[0] == pytest.approx(1 - 0.98 * 0.97 * 0.97, abs=1e-12)


def test_digamma_is_the_derivative_of_log_gamma():
    assert digamma(np.array([1.0]))[0] == pytest.approx(-0.5772156649015329, abs=1e-14)
    assert digamma(np.array([0.5]))[0] == pytest.approx(-0.5772156649015329 - 2 * math.log(2), abs=1e-14)
    for x in (0.01, 0.3, 2.7, 11.9, 12.1, 1e4, 1e9):
        step = digamma(np.array([x + 1, x]))
        assert step[0] - step[1] == pytest.approx(1 / x, rel=1e-6 if x > 1e6 else 1e-9)


SIZES = st.lists(st.integers(1, 12), min_size=2, max_size=60)


@tries(100)
@given(SIZES)
def test_pitman_solves_the_likelihood_equations_or_says_why_not(sizes):
    fitted = fit_pitman(np.array(sizes))
    if isinstance(fitted, str):
        return
    theta, alpha = fitted
    groups, records = len(sizes), sum(sizes)
    by_theta = sum(1 / (theta + i * alpha) for i in range(1, groups)) - sum(1 / (theta + i) for i in range(1, records))
    by_alpha = sum(i / (theta + i * alpha) for i in range(1, groups))
    by_alpha -= sum(1 / (j - alpha) for size in sizes for j in range(1, size))
    scale = sum(1 / (theta + i * alpha) for i in range(1, groups))
    assert 0 < alpha < 1 and theta > -alpha
    assert by_theta == pytest.approx(0, abs=1e-6 * (1 + scale))
    assert by_alpha == pytest.approx(0, abs=1e-4 * (1 + records / alpha))


@tries(50)
@given(SIZES)
def test_pitman_finds_the_greatest_likelihood(sizes):
    fitted = fit_pitman(np.array(sizes))
    if isinstance(fitted, str):
        return

    def likelihood(theta, alpha):
        if theta <= -alpha:
            return -math.inf
        parts = [math.log(theta + i * alpha) for i in range(1, len(sizes))]
        parts += [-math.log(theta + i) for i in range(1, sum(sizes))]
        parts += [math.log(j - alpha) for size in sizes for j in range(1, size)]
        return math.fsum(parts)

    theta, alpha = fitted
    best = likelihood(theta, alpha)
    for other_alpha in (0.05, 0.2, 0.4, 0.6, 0.8, 0.95, alpha):
        for factor in (0.5, 0.9, 1.1, 2):
            assert likelihood(abs(theta) * factor + (0.1 if theta <= 0 else 0), other_alpha) <= best + 1e-9


@pytest.mark.parametrize(
    ("sizes", "why"),
    [([1, 1, 1], "every record is alone"), ([2, 3], "no record is alone"), ([1] + [30] * 200, "more even")],
)
def test_where_pitman_has_no_estimate_it_says_why(sizes, why):
    found = population_uniques(np.array(sizes), 10_000)
    assert found.pitman is None and why in found.why_not_pitman
    assert found.model == "zayatz" and found.uniques == found.zayatz


def test_expected_uniques_are_those_of_the_sampling_formula():
    """The chance that the last of N persons is alone, N times: the exact product, and Hoshino's form for many."""
    theta, alpha = 3.5, 0.4
    for population in (1, 2, 50, 20_000):
        product = math.prod((theta + alpha + i) / (theta + 1 + i) for i in range(population - 1))
        assert expected_uniques(theta, alpha, population) == pytest.approx(population * product, rel=1e-9)
    many = math.gamma(theta + 1) / math.gamma(theta + alpha) * USA**alpha
    assert expected_uniques(theta, alpha, USA) == pytest.approx(many, rel=1e-6)


@tries(100)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=20), st.integers(0, 200))
def test_zayatz_is_bayes_rule_with_hypergeometric_chances(sizes, more):
    records = sum(sizes)
    population = records + more
    counted = Counter(sizes)

    def chance(size):
        return size * math.comb(population - size, records - 1) / math.comb(population, records)

    total = sum(number * chance(size) for size, number in counted.items())
    alone = counted[1] * chance(1) / total if counted[1] else 0
    expected = counted[1] * alone * population / records
    assert zayatz(np.array(sizes), population) == pytest.approx(expected, rel=1e-9)


# ---------------------------------------------------------------- frequencies, subsets, missing values


@st.composite
def tables(draw, most_missing=3):
    """A few records of a few attributes; None is a missing value."""
    width = draw(st.integers(1, 4))
    value = st.sampled_from([None, "a", "b"] if most_missing else ["a", "b"])
    values = st.one_of(value, st.sampled_from(["a", "b", "c", "d"]))
    rows = draw(st.lists(st.tuples(*[values] * width), min_size=1, max_size=25))
    for place in range(width):  # a column needs a value to be one
        rows.append(tuple("a" if a == place else draw(values) for a in range(width)))
    return rows


def checked(rows, missing="value", **more):
    """Check records given as tuples; columns are called q0, q1, ..."""
    names = [f"q{i}" for i in range(len(rows[0]))]
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    extra = more.pop("columns", {})
    table = sfumato.read(
        pa.table({**columns, **extra}),
        quasi=names,
        identifier=more.pop("identifier", ()),
        missing="drop" if missing == "drop" else "value",
    )
    return sfumato.check(table, missing=missing, **more)


def agree(one, other, meaning, places):
    wild = (None,) if meaning == "any" else ()
    return all(one[a] == other[a] or one[a] in wild or other[a] in wild for a in places)


def plain_frequencies(rows, meaning, places):
    return [sum(agree(row, other, meaning, places) for other in rows) for row in rows]


@tries(35)
@given(tables(), st.sampled_from(["value", "any", "drop"]))
def test_every_subset_is_what_comparing_all_pairs_of_records_gives(rows, meaning):
    if meaning == "drop":
        rows = [row for row in rows if None not in row]
        if not rows:
            return
    found = checked(rows, meaning)
    width, records = len(rows[0]), len(rows)
    assert found.records == records
    assert len(found.subsets) == 2**width - 1 and found.all_subsets
    unique_by = Counter()
    best = [0] * records
    for size in range(1, width + 1):
        for places in combinations(range(width), size):
            own = found.subsets[tuple(f"q{a}" for a in places)]
            frequencies = plain_frequencies(rows, meaning, places)
            assert own.combinations == len({tuple(row[a] for a in places) for row in rows})
            assert own.smallest == min(frequencies)
            assert own.uniques == frequencies.count(1)
            assert own.below == {k: sum(f < k for f in frequencies) for k in THRESHOLDS}
            assert own.average == pytest.approx(sum(1 / f for f in frequencies) / records)
            if meaning != "any":
                assert own.average == pytest.approx(own.combinations / records)
            apart = sum(not agree(a, b, meaning, places) for a, b in combinations(rows, 2))
            pairs = records * (records - 1) / 2
            assert own.separation == pytest.approx(apart / pairs if pairs else 0.0)
            best = [size if f == 1 and not b else b for f, b in zip(frequencies, best, strict=True)]
    everything = plain_frequencies(rows, meaning, range(width))
    unique_by = Counter(b for f, b in zip(everything, best, strict=True) if f == 1)
    assert found.unique_by == unique_by
    assert found.risk.uniques == sum(unique_by.values())
    assert found.risk == found.subsets[found.quasi]
    assert found.smallest_groups == len({row for row, f in zip(rows, everything, strict=True) if f == min(everything)})


@tries(25)
@given(st.data())
def test_agreeing_adds_up_the_weights_of_records_that_agree(data):
    rows = data.draw(tables())
    weights = data.draw(st.lists(st.integers(0, 9), min_size=len(rows), max_size=len(rows)))
    values = sorted({v for row in rows for v in row if v is not None})
    codes = np.array([[-1 if v is None else values.index(v) for v in row] for row in rows], np.int32)
    found = agreeing(codes, codes < 0, np.array(weights, float)[:, None])[:, 0]
    places = range(len(rows[0]))
    plain = [sum(w for r, w in zip(rows, weights, strict=True) if agree(row, r, "any", places)) for row in rows]
    assert found.tolist() == plain


@tries(50)
@given(st.lists(st.tuples(*[st.integers(0, 2)] * 4), min_size=1, max_size=12, unique=True), st.integers(1, 2))
def test_the_key_of_a_unique_record_is_the_first_smallest_subset_that_makes_it_unique(rows, count):
    codes = np.array(rows, np.int32)
    counts = np.where(np.arange(len(rows)) % 2, 1, count)
    found = all_subsets(Combinations(codes, np.zeros(codes.shape, bool), counts))
    for row, key in zip(rows, found.keys, strict=True):
        subsets = [m for size in range(1, 5) for m in combinations(range(4), size)]
        subsets.sort(key=lambda members: (len(members), sum(2**a for a in members)))
        alike = [sum(n for r, n in zip(rows, counts, strict=True) if agree(row, r, "value", m)) for m in subsets]
        expected = subsets[alike.index(1)] if 1 in alike else None
        assert (None if key == NEVER else members_of(int(key))) == expected


def test_with_many_quasi_identifiers_small_subsets_are_looked_at_and_it_says_so():
    generator = np.random.default_rng(4)
    rows = [tuple(map(str, row)) for row in generator.integers(0, 3, (60, 12))]
    found = checked(rows)
    sizes = Counter(len(names) for names in found.subsets)
    assert not found.all_subsets
    assert sizes == {1: 12, 2: 66, 3: 220, 11: 12, 12: 1}
    for names in [("q0", "q5", "q7"), tuple(sorted(f"q{i}" for i in range(12) if i != 4))]:
        places = [int(name[1:]) for name in names]
        counted = Counter(tuple(row[a] for a in places) for row in rows)
        assert found.subsets[names].uniques == sum(count == 1 for count in counted.values())
    assert sum(found.unique_by.values()) == found.risk.uniques


def test_leaves_coarser_than_the_values_are_told():
    frame = pa.table({"age": ["21", "22", "35"], "sex": ["m", "f", "m"]})
    coarse = {"age": {"type": "numeric", "lower": 0, "upper": 99, "resolution": 10}}
    found = sfumato.check(sfumato.read(frame, quasi=["age", "sex"], hierarchies=coarse))
    assert any("'age'" in notice and "3 different texts count as 2 values" in notice for notice in found.notices)


# ---------------------------------------------------------------- weights, persons, households


@tries(25)
@given(st.data(), st.sampled_from(["value", "any"]))
def test_individual_risk_sums_the_weights_of_records_that_look_alike(data, meaning):
    rows = data.draw(tables())
    weights = data.draw(st.lists(st.integers(1, 50), min_size=len(rows), max_size=len(rows)))
    homes = data.draw(st.lists(st.sampled_from([None, "x", "y", "z"]), min_size=len(rows), max_size=len(rows)))
    found = checked(rows, meaning, columns={"w": weights, "h": homes}, weight="w", household="h")
    places = range(len(rows[0]))
    risks = []
    for row in rows:
        like = [w for r, w in zip(rows, weights, strict=True) if agree(row, r, meaning, places)]
        risks.append(individual_risks(np.array([len(like)]), np.array([sum(like)]))[0])
    assert found.individual.population == sum(weights)
    assert found.individual.expected == pytest.approx(sum(risks))
    assert found.individual.average == pytest.approx(sum(risks) / len(rows))
    assert found.individual.highest == pytest.approx(max(risks))
    households = {}
    for i, home in enumerate(homes):
        households.setdefault(home or i, []).append(i)
    missed = {home: math.prod(1 - risks[i] for i in members) for home, members in households.items()}
    expected = sum((1 - missed[home]) * len(members) for home, members in households.items())
    assert found.household.households == len(households)
    assert found.household.sizes == Counter(map(len, households.values()))
    assert found.household.expected == pytest.approx(expected)
    assert found.household.highest == pytest.approx(1 - min(missed.values()))
    if all(len(members) == 1 for members in households.values()):
        assert found.shared == ()
        return
    shown = {a: [[rows[i][a] for i in m if rows[i][a] is not None] for m in households.values()] for a in places}
    equal = [a for a in places if all(len({rows[i][a] for i in m}) == 1 for m in households.values())]
    lacking = [a for a in places if all(len(set(of)) <= 1 for of in shown[a]) and any(len(of) > 1 for of in shown[a])]
    shared = sorted({*equal, *lacking})  # a member that lacks a value does not unmake what the others share
    assert found.shared == tuple(f"q{a}" for a in shared)
    values = [[next(iter(shown[a][n]), None) for a in shared] for n in range(len(households))]
    firsts = [(*known, str(len(m))) for known, m in zip(values, households.values(), strict=True)]
    known = range(len(shared))
    unique = plain_frequencies(firsts, meaning, known).count(1) if shared else 0
    assert found.household.unique == unique
    assert found.household.unique_with_size == plain_frequencies(firsts, meaning, [*known, len(shared)]).count(1)


def test_without_weights_a_population_makes_every_record_stand_for_equally_many():
    rows = [("a",), ("a",), ("b",)]
    found = checked(rows, population=30)
    two, one = individual_risks(np.array([2, 1]), np.array([20, 10]))
    assert found.individual.expected == pytest.approx(2 * two + one)
    assert checked(rows, sampling_fraction=0.1).individual == found.individual
    assert checked(rows).individual is None and checked(rows).population is None


@tries(25)
@given(st.data())
def test_persons_with_several_records_are_counted_once_in_every_group(data):
    rows = data.draw(tables(most_missing=0))
    ids = data.draw(st.lists(st.sampled_from([None, "p1", "q2", "r3"]), min_size=len(rows), max_size=len(rows)))
    rows, ids = [*rows, rows[0], rows[0], rows[-1]], [*ids, "p1", "p1", "q2"]
    own = checked(rows, columns={"id": ids}, identifier=["id"]).persons[0]
    persons = [name or i for i, name in enumerate(ids)]
    groups = {}
    for row, person in zip(rows, persons, strict=True):
        groups.setdefault(row, []).append(person)
    records = Counter(persons)
    assert own.persons == len(records)
    assert own.repeated == sum(count > 1 for count in records.values())
    assert own.most_records == max(records.values())
    assert own.unnamed == ids.count(None)
    assert own.smallest == min(len(set(group)) for group in groups.values())
    assert own.filled_by_one == sum(len(group) > 1 and len(set(group)) == 1 for group in groups.values())


def test_worst_groups_come_by_size_and_by_how_little_makes_them_unique():
    rows = [("a", "x"), ("a", "x"), ("a", "y"), ("b", "y"), ("b", "y"), ("c", "x")]
    worst = checked(rows).worst
    assert [(own.quasi["q0"], own.quasi["q1"], own.frequency) for own in worst] == [
        ("c", "x", 1),
        ("a", "y", 1),
        ("a", "x", 2),
        ("b", "y", 2),
    ]
    assert [own.unique_by for own in worst] == [("q0",), ("q0", "q1"), (), ()]


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (["1", "x", "2"], "row 2 (the header not counted): the weight 'x' is not a finite number"),
        (["1", "2", "-3.5"], "row 3 (the header not counted): the weight '-3.5' is negative"),
        (["1", "inf", "2"], "the weight 'inf' is not a finite number"),
        (["1", None, None], "2 records have no weight"),
        (["0", "0", "0"], "every weight is 0"),
    ],
)
def test_bad_weights_are_named(weights, said):
    with pytest.raises(BadInputError) as error:
        checked([("a",), ("a",), ("b",)], columns={"w": weights}, weight="w")
    assert said in str(error.value) and "'w'" in str(error.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"weight": "nope"}, "no column 'nope' (--weight)"),
        ({"household": "nope"}, "no column 'nope' (--household)"),
        ({"population": 2}, "the population (2) is smaller than the table (3 records)"),
        ({"population": 0}, "population must be a whole number of at least 1"),
        ({"sampling_fraction": 0.0}, "sampling_fraction must be a number of more than 0"),
        ({"sampling_fraction": 1.5}, "at most 1"),
        ({"population": 9, "sampling_fraction": 0.5}, "not both"),
        ({"missing": "perhaps"}, "missing must be one of value, drop, any"),
    ],
)
def test_bad_options_are_one_sentence(options, said):
    with pytest.raises(BadInputError) as error:
        checked([("a",), ("a",), ("b",)], options.pop("missing", "value"), **options)
    assert said in str(error.value)


def test_a_table_that_dropped_records_cannot_match_everything():
    table = sfumato.read(pa.table({"a": ["x", None, "y"]}), quasi=["a"], missing="drop")
    with pytest.raises(BadInputError, match="read with missing='drop'"):
        sfumato.check(table, missing="any")
    with pytest.raises(BadInputError, match="neither a path nor a frame"):
        sfumato.check(3)


def test_small_weights_are_told():
    rows = [("a",), ("a",), ("b",)]
    found = checked(rows, columns={"w": ["0.2", "0.3", "0.5"]}, weight="w")
    assert "less than the 3 records" in found.notices[-1]
    assert found.population is None
    assert (
        "2 records have a weight below 1" in checked(rows, columns={"w": ["0.2", "0.5", "9"]}, weight="w").notices[-1]
    )
    told = checked(rows, columns={"w": ["5", "5", "5"]}, weight="w", population=100).notices[-1]
    assert "add up to 15, not to the population of 100" in told


# ---------------------------------------------------------------- studies and the command line


STUDY = """
name = "t"
[table]
source = "t.csv"
quasi = ["age", "zip"]
sensitive = ["disease"]
one_record_per_person = true
[[candidates]]
anonymizers = ["mondrian"]
requirements = ["k-anonymity k=2", "k-anonymity k=9", "t-closeness t=0.2 distance=js on=nothing"]
[[candidates]]
anonymizers = ['full-domain levels="zap=1"', "original"]
forms = ["generalization", "bucketization"]
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a small table of people, who live together and have weights."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(
        "id,home,age,zip,disease,w\n"
        "1,A,34,81,flu,12.5\n"
        "2,A,33,81,cold,10\n"
        "3,B,34,99,flu,20\n"
        "3,B,34,99,cold,20\n"
        "4,,70,99,,15\n"
    )
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def ran(monkeypatch, *words):
    """Run the command line through `main`, as the installed script does."""

    class Main:
        name = "sfumato"

        def main(self, args=None, prog_name=None, **_):
            monkeypatch.setattr(sys, "argv", ["sfumato", *args])
            cli.main()

    monkeypatch.setattr("typer.testing._get_command", lambda app: app)
    return CliRunner().invoke(Main(), list(words))


def test_a_table_is_checked_in_words(here, monkeypatch):
    words = ["--quasi", "age,zip", "--identifier", "id", "--household", "home", "--weight", "w"]
    ended = ran(monkeypatch, "check", "t.csv", *words)
    assert ended.exit_code == 0, ended.stderr
    for said in (
        "t.csv: 5 records; an attacker may know age and zip.",
        "3 records (60.0 %) are alone with theirs",
        "100.0 % in groups of fewer than 11 (risk above 0.09, the threshold of EMA policy 0070 and Health Canada)",
        "By 'id', 1 of 4 persons has several records (up to 2).",
        "1 group of several records is filled by one person alone",
        "As a sample of a population of 78 (by the sampling weights in 'w')",
        "3 households by 'home': 1 with 1 member, 2 with 2 members.",
        "zip is the same within every household, where known: by it 1 household is unique",
    ):
        assert said in ended.stdout
    assert "--neutral" not in ended.stderr


def test_json_has_everything(here, monkeypatch):
    words = ["--quasi", "age,zip", "--identifier", "id", "--household", "home", "--population", "1000", "--json"]
    ended = ran(monkeypatch, "check", "t.csv", *words)
    found = json.loads(ended.stdout)
    assert found["schema"] == 1 and found["records"] == 5
    assert found["risk"]["uniques"] == 3 and found["risk"]["k"] == 1
    assert found["risk"]["marketer"] == found["risk"]["distinction"] == 0.8
    assert found["risk"]["above"] == {"0.33": 1.0, "0.2": 1.0, "0.09": 1.0, "0.05": 1.0}
    assert [own["quasi"] for own in found["subsets"]] == [["age"], ["zip"], ["age", "zip"]]
    assert found["unique_by"] == {"1": 2, "2": 1}
    assert found["persons"][0]["smallest"] == 1
    assert found["household"]["shared"] == ["zip"] and found["household"]["sizes"] == {"1": 1, "2": 2}
    assert found["population"]["population"] == 1000 and found["population"]["zayatz"] > 0
    assert found["individual"]["above"].keys() == {"0.33", "0.2", "0.09", "0.05"}
    assert found["valid"] is True and found["problems"] == []


def test_a_study_says_what_would_fail_at_explore(here, monkeypatch):
    ended = ran(monkeypatch, "check", "study.toml", "--json")
    found = json.loads(ended.stdout)
    kinds = {own["candidate"]: own["kind"] for own in found["problems"]}
    assert ended.exit_code == 1 and not found["valid"]
    assert kinds["mondrian, k-anonymity k=9, generalization"] == "infeasible"
    assert kinds["mondrian, t-closeness t=0.2 distance=js on=nothing, generalization"] == "failed"
    assert kinds["original, k-anonymity k=1, bucketization"] == "failed"
    assert "mondrian, k-anonymity k=2, generalization" not in kinds
    said = ran(monkeypatch, "check", "study.toml").stdout
    assert "Of the 7 candidates of the study 't', 4 would fail:" in said
    assert "1 has no release:" in said and "k=5" in said
    explored = {str(p.requirement) + p.form + p.anonymizer: p.status for p in sfumato.explore("study.toml").points}
    assert Counter(explored.values())["failed"] == 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["t.csv"], "no quasi-identifier"),
        (["t.csv", "--quasi", "nope"], "there is no column 'nope'"),
        (["study.toml", "--quasi", "age"], "--quasi belongs to a table"),
        (["none.toml"], "there is no such file"),
        (["none"], "there is no such file"),
        (["t.csv", "--quasi", "age", "--weight", "disease"], "column 'disease', row 1"),
        (["t.csv", "--quasi", "age", "--population", "3"], "smaller than the table"),
        (["t.csv", "--quasi", "age", "--set", "missing=maybe"], "value, drop, any"),
    ],
)
def test_bad_input_is_one_sentence_and_2(here, monkeypatch, words, said):
    ended = ran(monkeypatch, "check", *words)
    assert ended.exit_code == 2
    assert said in ended.stderr and ended.stderr.count("\n") == 1 and not ended.stdout


def test_a_bundled_table_is_a_study_or_with_quasi_a_table(monkeypatch):
    ended = ran(monkeypatch, "check", "adult-train", "--quasi", "age,sex", "--weight", "fnlwgt", "--json")
    found = json.loads(ended.stdout)
    assert found["study"] is None and found["quasi"] == ["age", "sex"] and found["individual"]["population"] > 1e9
    assert sfumato.check("adult-train").study == "adult-train"
