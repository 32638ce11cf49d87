"""The better reader and the deFinetti attack: against a plain twin, their invariants, and where the truth is known."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plain_releases as plain
import sfumato
from plain_reader import Plain, box_weights
from sfumato import MEASURES, BadInputError, Grid, KAnonymity, Queries, Scales, Study, anonymizer, explore, read_study
from sfumato.anonymizers import MECHANISMS
from sfumato.anonymizers.dp.mechanism import BoxMechanism
from sfumato.anonymizers.dp.noise import UnsafeSeededNoise
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.data.cells import Assignment
from sfumato.measures.all_measures import RECONSTRUCTED
from sfumato.measures.attribute_attack import Attack
from sfumato.measures.queries import CLOSED_HALF_RANGES, HALF_RANGES
from sfumato.measures.reconstruction import EmReader, Entries, UniformReader, best_values, definetti, weighted_estimates
from sfumato.release.regions import Regions, are_points, estimated_histograms, overlap_estimates
from sfumato.release.release import bucketization
from sfumato.tradeoff.search.problems import MeasuredProblem
from strategies import tries

WITH_VALUES = plain.releases().filter(lambda release: release.histograms is not None)


@pytest.fixture(scope="module")
def adult():
    """The Adult table with occupation as the sensitive value."""
    return sfumato.load("adult")


def dealt_of(release, attribute=0, rounds=5):
    """The entries of a release, and what the reader deals to them."""
    entries = Entries.of(release, release.cells.points)
    return entries, EmReader(rounds).dealt(entries, release.histograms.of(attribute).astype(float))


def by_group_and_point(people, dealt):
    """Add up what records are dealt: by group and point."""
    found = {}
    for key, shares in zip(people, dealt, strict=True):
        found[key] = np.add(found.get(key, 0.0), shares)
    return found


def content_of(release, attribute):
    spans = release.cells.spans
    return np.ascontiguousarray(release.content[:, int(spans[attribute]) : int(spans[attribute + 1])])


# ---------------------------------------------------------------- dealing values within groups


@tries(60)
@given(WITH_VALUES, st.integers(0, 6))
def test_dealing_keeps_both_margins(release, rounds):
    for attribute in range(len(release.cells.sensitive)):
        entries, dealt = dealt_of(release, attribute, rounds)
        assert dealt.min() >= 0
        assert dealt.sum(axis=1) == pytest.approx(entries.mass)
        for group in range(release.groups):
            reached = dealt[entries.group == group].sum(axis=0)
            wanted = release.histograms.of(attribute)[group]
            assert reached == pytest.approx(wanted, abs=1e-3 * release.sizes[group])
        assert entries.mass.sum() == release.assignment.records


@tries(40)
@given(WITH_VALUES, st.integers(0, 4))
def test_dealing_agrees_with_the_plain_twin(release, rounds):
    twin = Plain(release, 0)
    expected = by_group_and_point(twin.people, twin.rounds(rounds))
    entries, dealt = dealt_of(release, 0, rounds)
    found = {
        (int(g), tuple(codes)): row for g, codes, row in zip(entries.group, entries.codes.tolist(), dealt, strict=True)
    }
    assert set(found) == set(expected)
    for key, row in found.items():
        assert row == pytest.approx(expected[key], abs=1e-3)


@tries(40)
@given(WITH_VALUES)
def test_no_round_raises_the_divergence_from_the_model(release):
    twin = Plain(release, 0)
    keys = by_group_and_point(twin.people, [[1.0]] * len(twin.people))
    told = []
    for rounds in range(6):
        entries, dealt = dealt_of(release, 0, rounds)
        each = {(int(g), tuple(c)): row for g, c, row in zip(entries.group, entries.codes.tolist(), dealt, strict=True)}
        told.append(twin.divergence([each[key] / keys[key] for key in twin.people]))
    assert all(later <= earlier + 1e-4 for earlier, later in zip(told, told[1:], strict=False)), told


@tries(30)
@given(WITH_VALUES)
def test_groups_of_one_point_are_known_and_one_group_teaches_nothing(release):
    entries, dealt = dealt_of(release)
    counts = release.histograms.of(0)
    for group in range(release.groups):
        own = entries.group == group
        if own.sum() == 1:
            assert dealt[own][0] == pytest.approx(counts[group], abs=1e-5 * release.sizes[group])
    if release.groups == 1:
        assert dealt == pytest.approx(entries.mass[:, None] * counts / release.sizes[0], abs=1e-5)


# ---------------------------------------------------------------- boxes


def everything_apart(cells):
    """A region for every leaf of the first quasi-identifier, and one for everything."""
    size = cells.quasi[0].hierarchy.size
    used = np.full((size + 1, len(cells.quasi)), -1, np.int32)
    used[:size, 0] = np.arange(size)
    banks = [np.eye(size, dtype=np.bool_), *(np.ones((1, q.hierarchy.size), np.bool_) for q in cells.quasi[1:])]
    return Regions(tuple(plain.selections(q.hierarchy, bank) for q, bank in zip(cells.quasi, banks, strict=True)), used)


@st.composite
def some_regions(draw, cells):
    """Arbitrary sets of leaves of some quasi-identifiers."""
    banks, number = [], draw(st.integers(1, 4))
    used = np.full((number, len(cells.quasi)), -1, np.int32)
    for a, quasi in enumerate(cells.quasi):
        size = quasi.hierarchy.size
        bank = draw(st.lists(st.lists(st.booleans(), min_size=size, max_size=size), min_size=1, max_size=3))
        banks.append(np.array(bank, np.bool_))
        used[:, a] = draw(st.lists(st.integers(-1, len(bank) - 1), min_size=number, max_size=number))
    return Regions(tuple(plain.selections(q.hierarchy, bank) for q, bank in zip(cells.quasi, banks, strict=True)), used)


@tries(60)
@given(WITH_VALUES, st.data())
def test_no_round_is_the_uniform_reading(release, data):
    cells = release.cells
    regions = data.draw(some_regions(cells))
    uniform = overlap_estimates(release, regions)
    points = cells.points
    for attribute in range(len(cells.sensitive)):
        own = slice(int(cells.spans[attribute]), int(cells.spans[attribute + 1]))
        content = content_of(release, attribute)
        weights = EmReader(0).leaf_weights(release, content)
        assert weighted_estimates(release, regions, weights, content) == pytest.approx(uniform[:, own])
        if are_points(release):
            entries, dealt = dealt_of(release, attribute, 0)
            assert entries.by_point(dealt, points) == pytest.approx(estimated_histograms(release)[:, own])


@tries(50)
@given(WITH_VALUES, st.integers(1, 4), st.data())
def test_boxes_agree_with_the_plain_twin_and_the_likelihood_never_falls(release, rounds, data):
    regions = data.draw(some_regions(release.cells))
    expected, told, inside = box_weights(release, 0, rounds)
    content = content_of(release, 0)
    weights = EmReader(rounds).leaf_weights(release, content)
    for a, own in enumerate(weights):
        assert np.allclose(own.weights.T, expected[a], atol=1e-5)
    assert all(later >= earlier - 1e-9 for earlier, later in zip(told, told[1:], strict=False)), told
    found = weighted_estimates(release, regions, weights, content)
    for r in range(regions.size):
        chosen = [
            set(np.flatnonzero(regions.selections[a].masks[u])) if u >= 0 else None
            for a, u in enumerate(regions.used[r])
        ]
        for s in range(found.shape[1]):
            guess = sum(
                own[s] * prod(_part(expected[a][s], lo[a], hi[a], leaves) for a, leaves in enumerate(chosen))
                for (lo, hi, _), own in inside.items()
            )
            assert found[r, s] == pytest.approx(guess, abs=1e-4)


def _part(weights, lo, hi, leaves):
    whole = sum(weights[lo : hi + 1])
    return 1.0 if leaves is None else sum(weights[leaf] for leaf in range(lo, hi + 1) if leaf in leaves) / whole


@tries(30)
@given(WITH_VALUES, st.integers(0, 5))
def test_regions_that_divide_everything_add_up_to_everything(release, rounds):
    content = content_of(release, 0)
    weights = EmReader(rounds).leaf_weights(release, content)
    found = weighted_estimates(release, everything_apart(release.cells), weights, content)
    assert found[-1] == pytest.approx(release.histograms.of(0).sum(axis=0))
    assert found[:-1].sum(axis=0) == pytest.approx(found[-1])


# ---------------------------------------------------------------- where the truth is known


def naive_bayes_table(records=6000, seed=0):
    """A table in which two quasi-identifiers depend on the sensitive value, and on nothing else."""
    random = np.random.default_rng(seed)
    value = random.integers(0, 3, records)
    a = (value + (random.random(records) < 0.3) * random.integers(0, 3, records)) % 3
    b = (2 * value + (random.random(records) < 0.4) * random.integers(0, 5, records)) % 5
    columns = {"a": [f"a{n}" for n in a], "b": [f"b{n}" for n in b], "s": [f"s{n}" for n in value]}
    return sfumato.read(pa.table(columns), quasi=["a", "b"], sensitive=["s"])


def random_buckets(table, size, seed=0):
    """A bucketization whose groups are drawn at random."""
    cells = table.cells
    cell = np.random.default_rng(seed).permutation(np.repeat(np.arange(cells.size), cells.counts))
    group = np.arange(len(cell)) // size
    keys, count = np.unique(group * cells.size + cell, return_counts=True)
    assignment = Assignment(keys % cells.size, keys // cells.size, count.astype(np.int64))
    return bucketization(table, assignment, int(group.max()) + 1)


def test_associations_that_random_buckets_hide_are_recovered():
    table = naive_bayes_table()
    release = random_buckets(table, 6)
    points = table.cells.points
    truth = table.cells.truth
    error = {}
    for rounds in (0, 1, 5, 30):
        entries, dealt = dealt_of(release, 0, rounds)
        error[rounds] = np.abs(entries.by_point(dealt, points) - truth).sum() / truth.sum()
    assert error[0] > 0.4, "the uniform reading sees hardly anything"
    assert error[1] < error[0] and error[5] < error[1] and error[30] < 0.25 * error[0]
    attacked = definetti(release, EmReader(30))
    best = truth.max(axis=1).sum() / truth.sum()  # who knew the table could not guess better than by points
    assert attacked.baseline == pytest.approx(release.histograms.of(0).max(axis=1).sum() / 6000)
    assert attacked.accuracy > attacked.baseline + 0.1 and attacked.accuracy > 0.9 * best


def grid_js(p, r):
    """JS of a distribution from many, in nats."""
    middle = (p + r) / 2
    parts = [np.where(x > 0, x * np.log(np.where(x > 0, x, 1) / middle), 0).sum(axis=1) for x in (p + 0 * r, r)]
    return sum(parts) / 2


def test_a_cleverer_reader_gets_below_the_limit_of_the_uniform_one():
    """No uniform reader of a release with this p_loss loses less than the limit; random buckets betray all the same."""
    table = naive_bayes_table()
    prepared = Scales(0.05, Queries(number=5), reader=EmReader(30)).prepare(table)
    found = prepared.measure(random_buckets(table, 200))
    steps = 200
    grid = np.array([(a, b, steps - a - b) for a in range(steps + 1) for b in range(steps + 1 - a)]) / steps
    ball = grid[grid_js(table.cells.sensitive[0].shares[None, :], grid) <= found["p_loss"]]
    nearest = [grid_js(row[None, :] / row.sum(), ball).min() for row in prepared.population_truth]
    limit = np.mean(nearest)
    assert found["p_loss"] < 0.01 and found["u_loss"] > limit
    assert found["u_loss_em"] < limit / 50
    assert found["definetti_gain"] > 0.4, "what looks safest by p_loss is wide open to inference"


def test_the_ends_of_the_map(adult):
    prepared = Scales(0.3, Queries(number=20)).prepare(adult)
    trivial = prepared.measure(sfumato.anonymize(adult, "k-anonymity k=1", "without-quasi"))
    original = prepared.measure(sfumato.anonymize(adult, "k-anonymity k=1", "original"))
    assert trivial["u_loss_em"] == pytest.approx(trivial["u_loss"]) and original["u_loss_em"] == pytest.approx(0)
    assert trivial["query_error_em"] == pytest.approx(trivial["query_error"])
    assert original["query_error_em"] == pytest.approx(0)
    assert trivial["definetti_gain"] == original["definetti_gain"] == 0
    assert trivial["definetti_accuracy"] == pytest.approx(adult.cells.sensitive[0].shares.max())


# ---------------------------------------------------------------- the attack


@tries(60)
@given(WITH_VALUES, st.integers(0, 3))
def test_the_attack_counts_right_guesses_of_published_people(release, rounds):
    attribute = len(release.cells.sensitive) - 1
    entries, dealt = dealt_of(release, attribute, rounds)
    guesses = best_values(dealt, release.histograms.of(attribute)[entries.group])
    of = {(int(g), tuple(c)): int(s) for g, c, s in zip(entries.group, entries.codes.tolist(), guesses, strict=True)}
    for (group, _), guess in of.items():
        assert release.histograms.of(attribute)[group, guess] > 0, "nobody is guessed what the group does not have"
    right = 0
    rows = zip(release.assignment.cell.tolist(), release.assignment.group, release.assignment.count, strict=True)
    for cell, group, count in rows:
        guess = of[int(group), tuple(release.cells.codes[cell].tolist())]
        right += int(count) * (guess == release.cells.values[cell, attribute])
    found = definetti(release, EmReader(rounds), release.cells.sensitive[attribute].name)
    assert found.accuracy == right / release.assignment.records
    own = sfumato.measure(release).by_sensitive[release.cells.sensitive[attribute].name]
    assert found.baseline == pytest.approx(own["a_acc"] + release.cells.sensitive[attribute].shares.max())
    if rounds == 0:
        assert found.gain == pytest.approx(0)


def test_equal_shares_go_to_the_commoner_value():
    assert best_values(np.array([[1.0, 1.0, 0.5]]), np.array([[2, 3, 9]])).tolist() == [1]
    assert best_values(np.array([[1.0, 1.0]]), np.array([[2, 2]])).tolist() == [0]
    assert best_values(np.array([[1.0, 1.1]]), np.array([[9, 2]])).tolist() == [1]


def test_nothing_to_attack():
    table = naive_bayes_table(60)
    with pytest.raises(BadInputError, match="no sensitive value"):
        definetti(sfumato.anonymize(table, "k-anonymity k=1", "without-sensitive"))


# ---------------------------------------------------------------- on the scales


@tries(30)
@given(WITH_VALUES)
def test_the_worst_attribute_counts_and_all_is_in_range(release):
    prepared = Scales(0.2, Queries(number=8)).prepare(release.table)
    measured = prepared.measure(release)
    for name in RECONSTRUCTED:
        own = [values[name] for values in measured.by_sensitive.values() if name in values]
        assert measured.values.get(name) == (max(own) if own else None)
        assert all(MEASURES[name].least <= value <= MEASURES[name].most for value in own)
    plainly = Scales(0.2, Queries(number=8), reader=UniformReader()).prepare(release.table).measure(release)
    assert plainly.values == {name: v for name, v in measured.values.items() if name not in RECONSTRUCTED}


@tries(25)
@given(WITH_VALUES.filter(lambda release: len(release.cells.sensitive) == 1))
def test_no_round_measures_what_the_uniform_reader_measures(release):
    measured = Scales(0.2, Queries(number=8), reader=EmReader(0)).prepare(release.table).measure(release)
    assert measured["query_error_em"] == pytest.approx(measured["query_error"])
    assert measured.values.get("u_loss_em") == pytest.approx(measured.values.get("u_loss"), abs=1e-9)
    assert measured["definetti_gain"] == pytest.approx(0)


def test_what_the_better_reader_gives_on_adult(adult):
    prepared = Scales(queries=Queries(number=200)).prepare(adult)
    for form in ("generalization", "bucketization"):
        found = prepared.measure(sfumato.anonymize(adult, "t-closeness t=0.1 distance=js", form=form))
        assert found["u_loss_em"] < 0.6 * found["u_loss"]
        assert found["query_error_em"] < found["query_error"]
        assert found["definetti_gain"] > 0.02


def test_a_reader_is_part_of_a_study(tmp_path):
    study = read_study("adult")
    assert study.scales.reader == EmReader(5) and 'reader = "em rounds=5"' in study.to_toml()
    for reader in (UniformReader(), EmReader(9)):
        other = replace(study, scales=replace(study.scales, reader=reader))
        assert Study.from_toml(other.to_toml()) == other != study
    for wrong, said in (
        ("clever", "unknown reader 'clever'; known are uniform, em"),
        ("em rounds=-1", "rounds must be a whole number of at least 0"),
        ("em times=2", "unknown key 'times'"),
    ):
        with pytest.raises(BadInputError, match=said):
            Study.from_toml(study.to_toml().replace("em rounds=5", wrong))
    with pytest.raises(BadInputError, match="reader must be a text such as 'em rounds=5'"):
        Study.from_toml(study.to_toml().replace('"em rounds=5"', "5"))


def test_another_reader_is_not_taken_from_the_cache(tmp_path):
    table = naive_bayes_table(300)
    study = read_study("adult")
    grid = Grid(study.grids[0].anonymizers, study.grids[0].requirements[:1])
    small = replace(study, grids=(grid,), scales=Scales(0.2, Queries(number=10), reader=UniformReader()))
    first = explore(small, tmp_path / "cache.jsonl", 1, table=table).points[0].measures
    second = (
        explore(
            replace(small, scales=replace(small.scales, reader=EmReader())), tmp_path / "cache.jsonl", 1, table=table
        )
        .points[0]
        .measures
    )
    assert not set(RECONSTRUCTED) & set(first) and set(RECONSTRUCTED) <= set(second)


def test_a_search_reads_cleverly_only_where_that_is_asked_for(monkeypatch):
    table, seen = naive_bayes_table(200), []
    prepare = Scales.prepare
    monkeypatch.setattr(Scales, "prepare", lambda scales, own: seen.append(scales.reader) or prepare(scales, own))
    for objectives in ("p_loss, u_loss", "definetti_accuracy, u_loss_em"):
        MeasuredProblem(objectives).judge(table, None)
    assert seen == [UniformReader(), EmReader()]


ADULT = {"quasi": ["workclass", "education", "sex", "hours-per-week", "salary"], "sensitive": ["occupation"]}


@pytest.fixture(scope="module")
def adult_of_readings():
    return sfumato.load("adult-train", **ADULT)


@pytest.fixture(scope="module")
def drawn(adult_of_readings):
    return anonymizer("dp-kd-tree epsilon=0.1 height=8").draw(adult_of_readings, UnsafeSeededNoise(5))


# ---------------------------------------------------------------- negative counts


def test_one_draw_is_read_both_ways_without_new_noise(drawn):
    cut, unbiased = drawn.read("cut"), drawn.read("unbiased")
    assert unbiased.counts.min() < 0 <= cut.counts.min()
    assert np.array_equal(cut.counts, np.where(unbiased.counts < 0, 0, unbiased.counts))
    for release in (cut, unbiased):
        assert np.array_equal(release.boxes.mass, release.counts.sum(axis=1))
        assert np.array_equal(release.boxes.lo, drawn.boxes.lo) and release.guarantee == drawn.guarantee
        assert np.array_equal(release.read("cut").read("unbiased").counts, unbiased.counts)


def test_both_readings_write_the_same_synthetic_records(drawn):
    assert np.array_equal(drawn.read("cut").synthetic_counts, drawn.read("unbiased").synthetic_counts)


def test_cut_counts_tell_what_the_readers_of_the_file_will_see(adult_of_readings, drawn):
    """Queries on the records of the file, which are whole numbers, have the error of `cut`, far from `unbiased`."""
    prepared = Scales(queries=HALF_RANGES, reader=UniformReader()).prepare(adult_of_readings)
    file = replace(drawn, drawn=drawn.synthetic_counts.astype(np.float64))
    in_file, cut, unbiased = (
        np.median(prepared.query_errors(release, HALF_RANGES, prepared.workloads[0], None))
        for release in (file, drawn.read("cut"), drawn.read("unbiased"))
    )
    assert in_file == pytest.approx(cut, rel=0.02) and unbiased < cut / 2


def test_the_attacker_cuts_negative_counts_in_either_reading(drawn):
    cut, unbiased = (Attack().run(drawn.read(reading)) for reading in ("cut", "unbiased"))
    assert cut == unbiased


def test_cut_sums_are_too_high_by_all_that_was_cut(drawn):
    surplus = -drawn.drawn[drawn.drawn < 0].sum()
    assert drawn.read("cut").counts.sum() == pytest.approx(drawn.drawn.sum() + surplus)


@pytest.mark.parametrize("mechanism", [kind for kind in MECHANISMS if issubclass(kind, BoxMechanism)])
def test_maps_read_what_the_file_will_hold_unless_told_otherwise(mechanism):
    assert anonymizer(mechanism.example).counts == "cut"


def test_an_unknown_reading_is_named(drawn):
    with pytest.raises(BadInputError, match="reading must be one of cut, unbiased"):
        drawn.read("rounded")


# ---------------------------------------------------------------- closed ranges


def test_closed_ranges_take_both_ends_in(adult_of_readings):
    cells = adult_of_readings.cells
    workload = Queries(reading="closed-half-range", number=40).workload(cells, cells.points, 0)
    taken = {
        quasi.name: set(bank.masks[workload.regions.used[:, a]].sum(axis=1))
        for a, (quasi, bank) in enumerate(zip(cells.quasi, workload.regions.selections, strict=True))
    }
    assert taken == {"workclass": {5}, "education": {9}, "sex": {2}, "hours-per-week": {50}, "salary": {2}}
    assert set(workload.values.sum(axis=1)) == {8}, "of 14 occupations"


def test_closed_ranges_start_anywhere_they_fit(adult_of_readings):
    workload = Scales(queries=CLOSED_HALF_RANGES).prepare(adult_of_readings).workloads[0]
    education = [quasi.name for quasi in adult_of_readings.cells.quasi].index("education")
    selected = workload.regions.selections[education].masks[workload.regions.used[:, education]]
    first, last = selected.argmax(axis=1), 15 - selected[:, ::-1].argmax(axis=1)
    assert set(first.tolist()) == set(range(8)) and set((last - first).tolist()) == {8}


def test_closed_ranges_take_no_other_shares():
    with pytest.raises(BadInputError, match="dimensions has no say where reading=closed-half-range"):
        Queries(reading="closed-half-range", dimensions=2)


# ---------------------------------------------------------------- the widest attribute


@pytest.mark.parametrize("cut", ["median", "range"])
def test_the_widest_attribute_is_that_of_the_largest_share_or_of_the_most_leaves(cut):
    """Sex has all of its 2 leaves here, age 4 of 100: a share of 1 against .04, a width of 2 against 4."""
    frame = pa.table({"age": [20, 20, 23, 23], "sex": ["f", "m", "f", "m"], "illness": list("abcd")})
    hierarchies = {"age": {"type": "numeric", "lower": 0, "upper": 99}, "sex": {"type": "flat", "values": ["f", "m"]}}
    table = sfumato.read(frame, quasi=["age", "sex"], sensitive=["illness"], hierarchies=hierarchies)
    extents = {}
    for spread in ("share", "width"):
        release = Mondrian(spread=spread, cut=cut, ranges="tight").anonymize(table, KAnonymity(2))
        extents[spread] = (release.boxes.hi - release.boxes.lo).tolist()
    assert extents == {"share": [[3, 0], [3, 0]], "width": [[0, 1], [0, 1]]}


def test_an_unknown_spread_is_named():
    with pytest.raises(BadInputError, match="spread must be one of share, width"):
        Mondrian(spread="normalised")
