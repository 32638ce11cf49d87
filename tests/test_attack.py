"""The attack against naive Bayes by brute force on points exploded from the boxes, and what noisy releases are told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from math import ceil, log, prod
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plain_releases as plain
import sfumato
import sfumato.data.cells
import sfumato.release.release
from points import point_of
from sfumato import (
    MEASURES,
    Anonymizer,
    BadInputError,
    Grid,
    InfeasibleError,
    Map,
    Queries,
    Release,
    Scales,
    Study,
    anonymizers,
)
from sfumato.anonymizers.dp.noise import UnsafeSeededNoise
from sfumato.config.options import parse
from sfumato.measures.all_measures import READ_NOISY
from sfumato.measures.attribute_attack import Attack, drawn_points, naive_bayes, spread_over_leaves
from sfumato.measures.groups import COLUMNS
from sfumato.measures.queries import HALF_RANGES
from sfumato.release.content import Budget, Guarantee, Spent, noisy_release
from sfumato.report.data_summary import meanings
from strategies import tries

GUARANTEE = Guarantee(Budget(1.0), (Spent("counts", 0, 1.0),), "one record more or less", ())


def made_noisy(table, lo, hi, counts):
    """Counts of the values that occur; those of other declared values are 5 and must not matter."""
    own, counts = table.cells.sensitive[0], np.asarray(counts, np.float64)
    wide = np.full((len(counts), own.hierarchy.size), 5.0)
    wide[:, own.leaves] = counts
    return noisy_release(table, lo, hi, wide, GUARANTEE)


def as_noisy(release):
    """The same boxes and counts, told as a noisy release."""
    return made_noisy(release.table, release.boxes.lo, release.boxes.hi, release.content)


@st.composite
def noisy_releases(draw, least=-3, boxes=6):
    """Any boxes with any counts, negative ones too, of a table with one sensitive attribute."""
    cells = draw(plain.small_cells(sensitive=(1, 1)))
    ends = []
    for _ in range(draw(st.integers(1, boxes))):
        both = [sorted(draw(st.tuples(*[st.integers(0, own.hierarchy.size - 1)] * 2))) for own in cells.quasi]
        ends.append(both)
    size = cells.sensitive[0].size
    row = st.lists(st.integers(4 * least, 16).map(lambda n: n / 4), min_size=size, max_size=size)
    counts = draw(st.lists(row, min_size=len(ends), max_size=len(ends)))
    ends = np.array(ends, np.int32)
    return made_noisy(plain.table_of(cells), ends[:, :, 0], ends[:, :, 1], counts)


published = st.one_of(plain.releases(), noisy_releases())

# ---------------------------------------------------------------- the plain attacker


def exact_content(release, sensitive):
    """The sensitive counts of every box as fractions; negative ones are 0."""
    cells = release.cells
    own = slice(int(cells.spans[sensitive]), int(cells.spans[sensitive + 1]))
    if not isinstance(release, Release):
        return [[max(Fraction(n), Fraction(0)) for n in row] for row in release.content[:, own].tolist()]
    counts, sizes = release.histograms.counts[:, own].tolist(), release.sizes.tolist()
    return [
        [Fraction(mass * n, sizes[group]) for n in counts[group]]
        for mass, group in zip(release.boxes.mass.tolist(), release.boxes.group.tolist(), strict=True)
    ]


def exploded(release, sensitive):
    """Every leaf combination of every box, as a point with its share of the box's counts."""
    widths = [[Fraction(width) for width in quasi.hierarchy.widths] for quasi in release.cells.quasi]
    points = []
    for lo, hi, counts in zip(
        release.boxes.lo.tolist(), release.boxes.hi.tolist(), exact_content(release, sensitive), strict=True
    ):
        volume = prod(sum(own[a : b + 1]) for own, a, b in zip(widths, lo, hi, strict=True))
        for point in product(*(range(a, b + 1) for a, b in zip(lo, hi, strict=True))):
            share = prod(own[leaf] for own, leaf in zip(widths, point, strict=True)) / volume
            points.append((point, [share * n for n in counts]))
    return points


def beliefs_of(release, sensitive, person, size, groups):
    """The unnormalised belief in every value: its total, times P(leaves | value) of every group of attributes.

    With pairs all is raised to the power d - 1, which leaves the order as it is.
    """
    points = exploded(release, sensitive)
    totals = [sum(own[s] for _, own in points) for s in range(size)]
    power = 1 if len(groups[0]) == 1 else len(person) - 1
    found = []
    for s in range(size):
        belief = totals[s] ** power
        for group in groups:
            alike = sum(own[s] for point, own in points if all(point[a] == person[a] for a in group))
            belief *= alike / totals[s] if totals[s] else 0
        found.append(belief)
    return totals, found, power


def plain_guess(release, sensitive, person, kind):
    """The value that is believed most, and how firmly: ties to the commoner value, then to the first."""
    size, d = release.cells.sensitive[sensitive].size, len(release.cells.quasi)
    groups = list(combinations(range(d), 2)) if kind == "pairs" and d > 1 else [(a,) for a in range(d)]
    totals, beliefs, power = beliefs_of(release, sensitive, person, size, groups)
    if not any(beliefs):
        beliefs, power = totals, 1
    if not any(beliefs):
        return 0, 1 / size
    best = max(range(size), key=lambda s: (beliefs[s], totals[s], -s))
    scaled = [float(own / beliefs[best]) ** (1 / power) for own in beliefs]
    return best, 1 / sum(scaled)


def plain_accuracy(release, sensitive, kind, top=1.0):
    """Guess every record of the table; of those with equal confidence the same share counts."""
    told = {}
    people = []
    for record in plain.records_of(release.cells):
        if record.codes not in told:
            told[record.codes] = plain_guess(release, sensitive, record.codes, kind)
        guess, confidence = told[record.codes]
        people.append((confidence, guess == record.values[sensitive]))
    number = left = ceil(top * len(people) - 1e-9)
    right = 0.0
    while left > 0:
        firmest = max(confidence for confidence, _ in people)
        alike = [hit for confidence, hit in people if confidence > firmest - 1e-9]
        people = [own for own in people if own[0] <= firmest - 1e-9]
        right += sum(alike) * min(1, left / len(alike))
        left -= len(alike)
    return right / number


@tries(150)
@given(published, st.sampled_from([1.0, 1.0, 0.5, 0.1]))
def test_the_attack_is_naive_bayes_on_exploded_points(release, top):
    for i, own in enumerate(release.cells.sensitive):
        found = Attack(top=top).run(release, own.name)
        assert found.accuracy == pytest.approx(plain_accuracy(release, i, "naive-bayes", top), abs=1e-9)
        assert found.baseline == max(own.counts) / release.cells.records
        assert found.breach == pytest.approx(found.accuracy / found.baseline - 1)


@tries(100)
@given(published, st.sampled_from([1.0, 0.3]))
def test_pairs_are_pairs_of_exploded_points(release, top):
    found = Attack("pairs", top).run(release, release.cells.sensitive[0].name)
    assert found.accuracy == pytest.approx(plain_accuracy(release, 0, "pairs", top), abs=1e-9)


@tries(60)
@given(published)
def test_confidence_is_the_posterior(release):
    points = release.cells.points
    own = slice(0, int(release.cells.spans[1]))
    content = np.ascontiguousarray(np.maximum(release.content[:, own], 0))
    guess, confidence = naive_bayes(release, points, content).guesses()
    for person, value, firm in zip(points.codes.tolist(), guess, confidence, strict=True):
        expected = plain_guess(release, 0, tuple(person), "naive-bayes")
        assert (value, firm) == (expected[0], pytest.approx(expected[1], abs=1e-9))


@tries(100)
@given(st.data(), st.integers(1, 40))
def test_counts_are_spread_by_width_and_zeros_stay_zeros(data, leaves):
    widths = data.draw(st.lists(st.integers(1, 5), min_size=leaves, max_size=leaves))
    ends = st.tuples(*[st.integers(0, leaves - 1)] * 2).map(sorted)
    boxes = data.draw(st.lists(ends, min_size=1, max_size=8))
    content = np.array([[data.draw(st.integers(0, 9)) / 3 for _ in range(2)] for _ in boxes])
    expected = np.zeros((leaves, 2))
    for (lo, hi), own in zip(boxes, content, strict=True):
        for leaf in range(lo, hi + 1):
            expected[leaf] += own * widths[leaf] / sum(widths[lo : hi + 1])
    lo, hi = (np.array(own, np.int32) for own in zip(*boxes, strict=True))
    found = np.empty(expected.shape)
    spread_over_leaves(lo, hi, np.concatenate([[0.0], np.cumsum(widths)]), content, found)
    assert found == pytest.approx(expected) and ((found == 0) == (expected == 0)).all()


# ---------------------------------------------------------------- by hand


def small() -> sfumato.Table:
    """Values 0 to 9 in one quasi-identifier; the sensitive value is x 5, y 3, z 2."""
    frame = pa.table({"age": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], "s": list("xxxyxyyzxz")})
    ages = {"type": "numeric", "lower": 0, "upper": 9, "intervals": [5]}
    return sfumato.read(frame, quasi=["age"], sensitive=["s"], hierarchies={"age": ages})


def test_by_hand():
    """0-4 has x 4, y 1; 5-9 has x 1, y 2, z 2. He guesses x in 0-4 (4 right), y in 5-9 (as many z, y is commoner)."""
    table = small()
    noisy = made_noisy(table, [[0], [5]], [[4], [9]], [[4, 1, 0], [1, 2, 2]])
    for release in (sfumato.anonymize(table, "k-anonymity k=5"), noisy):
        found = Attack().run(release)
        assert found.accuracies == (pytest.approx(0.6),)
        assert (found.baseline, found.records) == (0.5, 10)
        assert found.breach == pytest.approx(0.2)
        assert found.interval == (found.accuracy, found.accuracy)
        best = Attack(top=0.5).run(release)  # the five of whom he is 80 % sure
        assert (best.accuracy, best.records, best.baseline) == (pytest.approx(0.8), 5, 0.5)
        assert Attack(top=0.7).run(release).accuracy == pytest.approx((4 + 2 * 2 / 5) / 7)
        assert Attack("pairs").run(release) == found


def test_negative_counts_are_cut_and_nothing_known_means_the_commonest():
    table = small()
    cut, kept = ([[4, 1, 0], [1, 2, n]] for n in (0, -7))
    ends = ([[0], [5]], [[4], [9]])
    assert Attack().run(made_noisy(table, *ends, cut)) == Attack().run(made_noisy(table, *ends, kept))
    here = Attack().run(made_noisy(table, [[0]], [[4]], [[0, 3, 2]]))  # nobody at 5-9: y is guessed everywhere
    assert here.accuracy == pytest.approx(0.3)
    nothing = Attack().run(made_noisy(table, [[0]], [[9]], [[-1, 0, 0]]))
    assert nothing.accuracy == pytest.approx(0.5)  # the first value, x
    assert Attack("random-forest", draws=1).run(made_noisy(table, [[0]], [[9]], [[-1, 0, 0]])).accuracy == 0.5


def test_totals_that_are_equal_but_for_rounding_are_equal():
    """Ten tenths come out below 1, but are as common as 1: the first value is guessed, not the luckier rounding."""
    assert sum([0.1] * 10) < 1.0
    release = made_noisy(small(), [[0]] * 10, [[9]] * 10, [[0.1, float(i == 0), 0.0] for i in range(10)])
    assert Attack().run(release).accuracy == pytest.approx(0.5)  # x, not y


def test_who_is_not_published_is_guessed_too():
    release = sfumato.anonymize(small(), "k-anonymity k=5", suppress=0.0)
    assignment = replace(release.assignment)
    kept = assignment.group == 1
    part = sfumato.release.release.generalization(
        small(),
        sfumato.data.cells.Assignment(
            assignment.cell[kept], np.zeros(int(kept.sum()), np.int64), assignment.count[kept]
        ),
        release.boxes.lo[1:],
        release.boxes.hi[1:],
    )
    found = Attack().run(part)
    assert found.records == 10
    assert found.accuracy == pytest.approx(plain_accuracy(part, 0, "naive-bayes"))


# ---------------------------------------------------------------- Adult


@pytest.fixture(scope="module")
def adult() -> sfumato.Table:
    quasi = ["workclass", "education", "sex", "hours-per-week", "salary"]
    return sfumato.load("adult-train", quasi=quasi, sensitive=["occupation"])


def test_the_root_gives_the_baseline_exactly(adult):
    root = sfumato.anonymize(adult, "k-anonymity k=1", "without-quasi")
    for kind in ("naive-bayes", "pairs"):
        for top in (1.0, 0.1):
            found = Attack(kind, top).run(root)
            assert found.accuracy == pytest.approx(found.baseline, abs=1e-12)
    assert Attack().run(root).breach == 0
    assert Attack().run(root).accuracy == 4038 / 30162  # Prof-specialty


def test_exact_quasi_identifiers_give_scikit_learns_naive_bayes(adult):
    """On the original the closed form is naive Bayes on the records; scikit-learn smooths by next to nothing."""
    from sklearn.naive_bayes import CategoricalNB

    cells = adult.cells
    model = CategoricalNB(alpha=1e-10, force_alpha=True)
    model.fit(cells.codes, cells.values[:, 0], sample_weight=cells.counts)
    right = (model.predict(cells.codes) == cells.values[:, 0]) @ cells.counts
    original = sfumato.anonymize(adult, "k-anonymity k=1", "original")
    assert Attack().run(original).accuracy == pytest.approx(right / cells.records, abs=1e-3)
    buckets = sfumato.anonymize(adult, "k-anonymity k=1", "mondrian", "bucketization")
    assert Attack().run(buckets).accuracy == pytest.approx(Attack().run(original).accuracy)


def test_a_forest_agrees_and_depends_on_its_seed_alone(adult):
    release = sfumato.anonymize(adult, "k-anonymity k=100")
    attack = Attack("random-forest", seed=3, draws=2)
    found = attack.run(release)
    assert found == attack.run(release)
    assert len(set(found.accuracies)) == 2
    assert found.interval == (min(found.accuracies), max(found.accuracies))
    assert found.accuracy == pytest.approx(np.mean(found.accuracies))
    assert abs(found.accuracy - Attack().run(release).accuracy) < 0.04
    assert replace(attack, seed=4, draws=1).run(release).accuracy != found.accuracies[0]


@tries(20)
@given(noisy_releases(least=0, boxes=3))
def test_points_are_drawn_as_boxes_spread_them(release):
    content = np.maximum(release.content, 0)
    if not content.any():
        return
    number = 4000
    codes, values = drawn_points(release, content, number, np.random.default_rng(1))
    expected = {}
    for point, own in exploded(release, 0):
        for s, n in enumerate(own):
            expected[(*point, s)] = expected.get((*point, s), 0) + float(n) / content.sum()
    drawn = {}
    for key in map(tuple, np.column_stack([codes, values]).tolist()):
        drawn[key] = drawn.get(key, 0) + 1 / number
    for key in {*drawn, *expected}:
        share = expected.get(key, 0.0)
        assert share > 0 or key not in drawn
        assert abs(drawn.get(key, 0) - share) < 6 * (share / number) ** 0.5 + 1e-3


# ---------------------------------------------------------------- half ranges


@tries(60)
@given(plain.small_cells(sensitive=(1, 1)), st.integers(0, 5))
def test_half_ranges_are_half_of_every_domain(cells, seed):
    workload = Queries(reading="half-range", number=30, seed=seed).workload(cells, cells.points, 0)
    banks = [bank.masks[workload.regions.used[:, a]] for a, bank in enumerate(workload.regions.selections)]
    assert (workload.regions.used >= 0).all()
    for selected in (*banks, workload.values):
        assert (selected.sum(axis=1) == ceil(selected.shape[1] / 2)).all()
        first = selected.argmax(axis=1)
        last = selected.shape[1] - 1 - selected[:, ::-1].argmax(axis=1)
        assert (last - first + 1 == selected.sum(axis=1)).all()


def test_half_ranges_start_anywhere_and_have_answers(adult):
    workload = Scales(queries=HALF_RANGES).prepare(adult).workloads[0]
    assert workload.regions.size == 2000 and (workload.answers > 0).all()
    hours = [quasi.name for quasi in adult.cells.quasi].index("hours-per-week")
    first = workload.regions.selections[hours].masks[workload.regions.used[:, hours]].argmax(axis=1)
    assert set(first.tolist()) == set(range(50)), "99 leaves, ranges of 50"
    assert 0.015 < np.median(workload.answers) / adult.cells.records < 0.03


# ---------------------------------------------------------------- noisy releases are measured by what they have


@tries(60)
@given(
    plain.releases(sensitive=(1, 1)), st.sampled_from([Queries(number=10), Queries(reading="half-range", number=10)])
)
def test_exact_counts_told_as_noisy_measure_the_same(release, queries):
    prepared = Scales(0.2, queries).prepare(release.table)
    exact, noisy = prepared.measure(release), prepared.measure(as_noisy(release))
    assert set(noisy.values) == set(READ_NOISY) & set(exact.values) | {"epsilon"}
    left_out = release.suppressed > 0
    for name in set(READ_NOISY) & set(exact.values):
        value = noisy[name]
        if name != "kl" or not left_out:  # a noisy release does not say how many it left out, so shares are of all
            assert value == pytest.approx(exact[name], rel=1e-9, abs=1e-9), name


@tries(80)
@given(noisy_releases())
def test_any_noise_has_measures_within_their_ranges(release):
    measured = Scales(0.2, Queries(number=10)).prepare(release.table).measure(release)
    assert set(measured.values) <= set(READ_NOISY) and {"attack_accuracy", "kl"} <= set(measured.values)
    for name, value in measured.values.items():
        assert MEASURES[name].least <= value <= MEASURES[name].most
    assert list(measured.by_sensitive) == ["s0"]


def test_queries_read_negative_counts_and_populations_cut_them():
    table = small()
    release = made_noisy(table, [[0], [5]], [[4], [9]], [[6, -2, 1], [-4, 2, 2]])
    queries = Queries(dimensions=1, selectivity=1.0, number=1)  # everybody: 5 of 10
    prepared = Scales(0.5, queries).prepare(table)
    measured = prepared.measure(release)
    assert measured["query_error"] == pytest.approx(0.5)
    halves = [jensen((4, 1, 0), (6, 0, 1)), jensen((1, 2, 2), (0, 2, 2))]
    assert measured["u_loss"] == pytest.approx(np.mean(halves))
    # shares of 11 (6 + 1 + 2 + 2), spread over five leaves each; what is cut away is as in the trivial release
    here = {"x": 6 / 55, "y": 0.3 / 10}
    there = {"x": 0.5 / 10, "y": 2 / 55, "z": 2 / 55}
    shares = [here[s] for s in "xxxyx"] + [there[s] for s in "yyzxz"]
    assert measured["kl"] == pytest.approx(np.mean([log(0.1 / share) for share in shares]))


def jensen(p, q):
    return plain.jensen_shannon(list(p), list(q))


@tries(30)
@given(noisy_releases(), st.sampled_from([2.0, 0.5]))
def test_kl_and_attack_ask_for_shares_alone(release, factor):
    prepared = Scales(0.2, Queries(number=5)).prepare(release.table)
    other = made_noisy(release.table, release.boxes.lo, release.boxes.hi, release.content * factor)
    one, two = prepared.measure(release), prepared.measure(other)
    for name in ("kl", "attack_accuracy", "u_loss"):
        assert one.values.get(name) == pytest.approx(two.values.get(name), abs=1e-9)


def test_what_counts_records_refuses_noisy_releases():
    noisy = made_noisy(small(), [[0]], [[9]], [[5, 3, 2]])
    with pytest.raises(BadInputError, match="count the records of groups") as caught:
        sfumato.measure(noisy)
    said = str(caught.value)
    for name in (*COLUMNS, "k", "p_loss", "a_know", "a_acc"):
        assert name in said and not MEASURES[name].reads_noisy
    assert "query_error_median" in said


def test_both_measures_are_on_every_map(adult):
    names = list(MEASURES)
    assert names.index("attack_accuracy") == names.index("a_acc") + 1
    assert names.index("empirical_breach") == names.index("a_acc") + 2
    prepared = Scales(0.5, Queries(number=10), attack=Attack(top=0.1)).prepare(adult)
    release = sfumato.anonymize(adult, "k-anonymity k=1000")
    found = Attack(top=0.1).run(release)
    measured = prepared.measure(release)
    assert (measured["attack_accuracy"], measured["empirical_breach"]) == (found.accuracy, found.breach)
    silent = sfumato.anonymize(adult, "k-anonymity k=1", "without-sensitive")
    assert "attack_accuracy" not in prepared.measure(silent).values
    with pytest.raises(BadInputError, match="no sensitive value"):
        Attack().run(silent)


def test_several_sensitive_attributes_are_attacked_apart():
    frame = pa.table({"age": [0, 1, 2, 3, 4, 5] * 2, "s": list("xxxyyz") * 2, "t": list("abbbab") * 2})
    table = sfumato.read(frame, quasi=["age"], sensitive=["s", "t"])
    original = sfumato.anonymize(table, "k-anonymity k=2", "original")
    measured = Scales(0.5, Queries(number=5)).prepare(table).measure(original)
    assert {name: own["attack_accuracy"] for name, own in measured.by_sensitive.items()} == {"s": 1, "t": 1}
    assert measured.by_sensitive["s"]["empirical_breach"] == pytest.approx(1)
    assert measured["empirical_breach"] == pytest.approx(1)  # the worse one: t gains 1 / (2/3) - 1 = .5
    with pytest.raises(BadInputError, match="several"):
        Attack().run(original)


# ---------------------------------------------------------------- parameters and texts


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("attack kind=magic", "kind"),
        ("attack top=0", "top"),
        ("attack top=1.5", "top"),
        ("attack top=nan", "top"),
        ("attack draws=3", "draws belongs to kind=random-forest"),
        ("attack kind=pairs seed=1", "seed belongs to kind=random-forest"),
        ("attack kind=random-forest draws=0", "draws"),
        ("attack kind=random-forest seed=-1", "seed"),
        ("attack much=1", "much"),
    ],
)
def test_bad_attacks_are_named(text, said):
    with pytest.raises(BadInputError, match=said):
        parse(text, (Attack,), "attack")


@pytest.mark.parametrize("text", ["dimensions=2", "selectivity=0.5", "select=range", "rounding=nearest"])
def test_half_ranges_take_no_other_shares(text):
    with pytest.raises(BadInputError, match=f"{text.partition('=')[0]} has no say"):
        parse(f"queries reading=half-range {text}", (Queries,), "workload")


@pytest.mark.parametrize("attack", [Attack(), Attack("pairs", 0.1), Attack("random-forest", 0.5, 0, 8)])
@pytest.mark.parametrize("queries", [Queries(), HALF_RANGES])
def test_studies_keep_the_attack(attack, queries):
    assert parse(str(attack), (Attack,), "attack") == attack
    study = replace(sfumato.read_study("adult"), scales=Scales(queries=queries, attack=attack))
    text = study.to_toml()
    assert Study.from_toml(text) == study and Study.from_toml(text).to_toml() == text
    assert ("dimensions=" in text) == (queries is not HALF_RANGES)
    told = dict(meanings(Map(study, (), {"sensitive": ["occupation"]})))
    assert ("half of the values" in told["Queries"]) == (queries is HALF_RANGES)
    assert {1.0: "of every record", 0.1: "10 %", 0.5: "50 %"}[attack.top] in told["Attack"]


def test_the_baseline_stands_beside_the_attack():
    point = point_of("a", "mondrian", "generalization", "k-anonymity k=2", {}, "measured")
    point = replace(point, measures={"attack_accuracy": 0.3, "empirical_breach": 1.0})
    shown = Map(sfumato.read_study("adult"), (point,), {"sensitive": ["occupation"]})
    assert "right for 15 %" in dict(meanings(shown))["Attack"]


# ---------------------------------------------------------------- studies with noisy candidates


@dataclass(frozen=True)
class Dummy(Anonymizer):
    """Stands for the anonymizers that make noisy releases."""

    name: ClassVar[str] = "dp-dummy"
    noisy: ClassVar[bool] = True
    people: ClassVar[bool] = False

    def release(self, table, requirement, form, budget):
        raise InfeasibleError("makes nothing")


@pytest.fixture
def with_dummy(monkeypatch):
    monkeypatch.setitem(anonymizers.ANONYMIZERS._kinds, Dummy.name, Dummy)


STUDY = """axes = ["{}", "{}"]
table.source = "adult"
[[candidates]]
anonymizers = ["mondrian", "dp-dummy"]
"""


@pytest.mark.parametrize("axes", [("p_loss", "u_loss"), ("empirical_breach", "loss"), ("k", "query_error")])
def test_axes_that_noisy_releases_lack_are_refused(with_dummy, axes):
    with pytest.raises(BadInputError, match="dp-dummy publishes noisy counts") as caught:
        Study.from_toml(STUDY.format(*axes))
    assert next(axis for axis in axes if axis not in READ_NOISY) in str(caught.value)
    assert "empirical_breach" in str(caught.value) and "\n" not in str(caught.value)


def test_the_private_trees_are_noisy_and_measured(adult):
    with pytest.raises(BadInputError, match="dp-quadtree epsilon=1 height=4 publishes noisy counts"):
        Study.from_toml(STUDY.format("p_loss", "u_loss").replace("dp-dummy", "dp-quadtree epsilon=1 height=4"))
    assert all(kind.noisy for kind in anonymizers.MECHANISMS)
    assert not any(kind.noisy for kind in anonymizers.ANONYMIZERS)
    prepared = Scales(0.5, Queries(number=20)).prepare(adult)
    strong, weak = (
        prepared.measure(anonymizers.anonymizer(f"dp-quadtree epsilon={e} height=6").draw(adult, UnsafeSeededNoise(1)))
        for e in (0.001, 10)
    )
    usual = {"attack_accuracy", "empirical_breach", "u_loss", "query_error", "query_error_median", "kl", "epsilon"}
    assert set(strong.values) == usual <= set(READ_NOISY), "all others are measured where they are asked for"
    assert strong["attack_accuracy"] < weak["attack_accuracy"] and strong["query_error"] > weak["query_error"]


def test_axes_that_noisy_releases_have_are_taken(with_dummy):
    study = Study.from_toml(STUDY.format("empirical_breach", "query_error_median"))
    assert any(candidate.anonymizer.noisy for candidate in study.candidates)
    exact = Grid((sfumato.anonymizers.Mondrian(),), (sfumato.requirement("k-anonymity k=2"),))
    assert replace(study, grids=(exact,), axes=("p_loss", "u_loss")).axes == ("p_loss", "u_loss")


def test_bounds_say_which_noisy_releases_they_leave_out(with_dummy):
    study = Study.from_toml(STUDY.format("empirical_breach", "query_error_median"))
    both = {"empirical_breach": 0.5, "query_error_median": 0.2}

    def point(id, anonymizer, **more):
        return point_of(id, anonymizer, "generalization", "", {}, "measured", measures={**both, **more})

    shown = Map(study, (point("a", "mondrian", k=5), point("b", "dp-dummy", query_error_median=0.1)))
    left = "1 noisy or synthetic release was left out: k is counted on the records of groups"
    bounded = shown.choose(min={"k": 2})
    assert bounded.point.id == "a" and any(line.startswith(left) for line in bounded.why)
    free = shown.choose(max={"empirical_breach": 1})
    assert free.point.id == "b" and not any("left out" in line for line in free.why)
