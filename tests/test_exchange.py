"""Exchange keeps its promise in the written file, invents nothing, and loses less than cutting."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import independent_checker as checker
import sfumato
import sfumato.tradeoff.study.candidate
from sfumato.anonymizers._exchange_plan import balanced, cut_table, follow, plan_exchange, sums, sweep, tilt, times
from sfumato.anonymizers.exchange import Exchange, admitted, deal_out, exchanged, merged, rounded
from sfumato.anonymizers.local_recoding.local_recoding import LocalRecoding
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.measures.scales import Scales
from sfumato.publish.cautions import cautions_of
from sfumato.release.release import bucketization
from sfumato.requirements._nearest import ball_of, nearest_between, nearest_equal
from strategies import flat_sensitive, tries
from test_proof import check_file, interesting, rows
from test_proof import table_of as read_table

number = st.floats(0.0, 1.0).map(lambda x: round(x, 3))


@st.composite
def bounds(draw, on="ill"):
    """A requirement that bounds a distance, or two of them, perhaps with a size."""
    kinds = [
        number.map(lambda t: f"t-closeness t={t} distance=js on={on}"),
        number.map(lambda t: f"t-closeness t={t} distance=equal on={on}"),
        number.map(lambda d: f"delta-disclosure delta={3 * d + 0.01:.2f} on={on}"),
        number.map(lambda d: f"delta-disclosure delta={3 * d + 0.01:.2f} absent=ignore on={on}"),
        number.map(lambda b: f"beta-likeness beta={4 * b + 0.01:.2f} variant=basic on={on}"),
        number.map(lambda b: f"beta-likeness beta={4 * b + 0.01:.2f} variant=enhanced on={on}"),
    ]
    parts = draw(st.lists(st.one_of(kinds), min_size=1, max_size=2))
    if draw(st.booleans()):
        parts.append("k-anonymity k=2")
    return " & ".join(parts)


def made(table, requirement, maker="exchange seed=3"):
    return sfumato.anonymize(table, requirement, maker, "bucketization")


# ---------------------------------------------------------------- the written file


@tries(10)
@given(rows(least=2).filter(interesting), bounds())
def test_the_written_file_keeps_its_requirement_and_every_value(lines, requirement):
    table = read_table(lines)
    with tempfile.TemporaryDirectory() as folder:
        release = made(table, requirement)
        path = release.to_csv(Path(folder) / "release.csv")[0]
        check_file(path, release, lines, requirement, "group")
        written = checker.read_rows(path)
        assert Counter(row["ill"] for row in written) == Counter(line["ill"] or "" for line in lines)
        assert release.suppressed == 0


def people(count, seed=0):
    """Made-up records in which illness depends on age and place."""
    generator = np.random.default_rng(seed)
    age, place = generator.integers(0, 40, count), generator.integers(0, 6, count)
    chance = np.stack([1 + age / 8, 3 + place, np.full(count, 2.0), 6 - age / 10, 1 + 3.0 * (place == 2)], axis=1)
    ill = (generator.random(count)[:, None] * chance.sum(1)[:, None] > np.cumsum(chance, axis=1)).sum(axis=1)
    return {"age": list(map(str, age)), "place": [f"p{own}" for own in place], "ill": [f"i{own}" for own in ill]}


@cache
def village():
    return sfumato.read(pa.table(people(3000)), quasi=["age", "place"], sensitive=["ill"])


REQUIRED = [
    "t-closeness t=0.004 distance=js",
    "t-closeness t=0.05 distance=equal",
    "delta-disclosure delta=0.3",
    "delta-disclosure delta=0.3 absent=ignore",
    "beta-likeness beta=0.2 variant=basic",
    "beta-likeness beta=0.2 variant=enhanced & k-anonymity k=50",
]


@pytest.mark.parametrize("requirement", REQUIRED)
def test_audit_of_the_file_gives_the_same_numbers(requirement, tmp_path):
    release = made(village(), requirement, "exchange regions=40 seed=3")
    assert release.groups > 5, "several buckets, or nothing was exchanged"
    path = release.to_csv(tmp_path / "release.csv")[0]
    found = sfumato.audit(
        path, ["age", "place"], ["ill"], group="group", original=village(), require=requirement, suppressed="keep"
    )
    assert found.holds and found.coverage.uncovered == 0
    for name, value in sfumato.measure(release).values.items():
        assert found[name] == pytest.approx(value, abs=1e-9), name
    assert (
        checker.violations(
            path, requirement, quasi=["age", "place"], sensitive=["ill"], group="group", original=_texts(people(3000))
        )
        == []
    )


def _texts(columns):
    return [dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)]


# ---------------------------------------------------------------- the result


def test_it_loses_far_less_than_mondrian_at_the_same_bound():
    table = sfumato.load("adult")
    prepared = Scales().prepare(table)
    requirement = "t-closeness t=0.05 distance=js"
    own = prepared.measure(made(table, requirement, "exchange regions=100 seed=1"))
    cut = prepared.measure(sfumato.anonymize(table, requirement, "mondrian", "bucketization"))
    assert own["p_loss"] <= 0.05 + 1e-9
    assert own["u_loss"] < 0.4 * cut["u_loss"]


def test_nothing_may_differ_gives_one_bucket_and_all_may_differ_gives_the_regions():
    release = made(village(), "t-closeness t=0 distance=js")
    assert release.groups == 1 and release.details["exchanged"] == 0
    free = made(village(), "t-closeness t=1 distance=js", "exchange regions=20 seed=1")
    assert free.groups > 10 and sfumato.measure(free)["t_js"] > 0.01


@tries(5)
@given(rows(least=2).filter(interesting), bounds(), st.integers(0, 2**64 - 1), st.randoms())
def test_same_seed_same_release_whatever_the_order_of_rows(lines, requirement, seed, random):
    shuffled = list(lines)
    random.shuffle(shuffled)
    one, two = (made(read_table(own), requirement, f"exchange seed={seed}") for own in (lines, shuffled))
    for name in ("cell", "group", "count"):
        np.testing.assert_array_equal(getattr(one.assignment, name), getattr(two.assignment, name))


def test_another_seed_draws_other_records_and_keeps_the_histograms():
    requirement = "t-closeness t=0.004 distance=js"
    releases = [made(village(), requirement, f"exchange regions=40 seed={seed}") for seed in (1, 2)]
    first, second = (sorted(map(tuple, own.histograms.counts.tolist())) for own in releases)
    assert first == second
    assert any(
        not np.array_equal(getattr(releases[0].assignment, name), getattr(releases[1].assignment, name))
        for name in ("cell", "count")
    )
    unrepeatable = [made(village(), requirement, "exchange regions=40") for _ in range(2)]
    assert not np.array_equal(unrepeatable[0].assignment.cell, unrepeatable[1].assignment.cell)


def test_every_record_of_a_region_and_value_is_as_likely_to_be_exchanged():
    table = sfumato.read(
        pa.table({"a": list("uvwxyz"), "s": ["i", "i", "i", "i", "i", "j"]}), quasi=["a"], sensitive=["s"]
    )
    cut = cut_table(table, table.cells.sensitive[0], 6, 0.05)
    dealt = np.array([[[3, 2]], [[0, 1]]])  # of five alike two leave
    left = Counter()
    for seed in range(3000):
        assignment, buckets = deal_out(dealt, cut, table.cells.counts, np.array([seed], np.uint64))
        assert buckets == 2 and assignment.records == 6
        left.update(assignment.cell[assignment.group == 1].tolist())
    assert left[5] == 3000
    assert all(abs(left[cell] - 1200) < 5 * math.sqrt(3000 * 0.4 * 0.6) for cell in range(5))


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("requirement", "form", "said"),
    [
        ("t-closeness t=0.1 distance=js", "generalization", "use --form bucketization"),
        ("t-closeness t=0.1 distance=ordered", "bucketization", "distance=js or distance=equal"),
        ("l-diversity l=2 variant=distinct", "bucketization", "delta-disclosure and beta-likeness"),
        ("k-anonymity k=5", "bucketization", "does not restrict sensitive values"),
    ],
)
def test_what_does_not_work_is_refused_with_what_does(requirement, form, said):
    with pytest.raises(sfumato.BadInputError, match=said):
        sfumato.anonymize(village(), requirement, "exchange", form)


def test_two_bounded_attributes_are_refused_and_one_of_two_is_not():
    columns = people(300)
    columns["job"] = [own[::-1] for own in columns["ill"][::-1]]
    table = sfumato.read(pa.table(columns), quasi=["age", "place"], sensitive=["ill", "job"])
    bound = "t-closeness t=0.05 distance=js on="
    with pytest.raises(sfumato.BadInputError, match="one sensitive attribute can be balanced at a time"):
        made(table, f"{bound}ill & {bound}job")
    release = made(table, f"{bound}job", "exchange regions=10 seed=1")
    assert release.groups > 1
    assert sfumato.measure(release).by_sensitive["job"]["t_js"] <= 0.05 + 1e-9


@pytest.mark.parametrize(
    "text", ["exchange regions=0", "exchange support=0", "exchange support=1.5", "exchange seed=-1"]
)
def test_parameters_are_checked(text):
    with pytest.raises(sfumato.BadInputError, match=text.split()[1].split("=")[0]):
        sfumato.anonymizer(text)


def test_text_and_seeds():
    for text in ("exchange", "exchange regions=50 support=0.1 seed=4"):
        assert str(sfumato.anonymizer(text)) == text
    assert Exchange().with_seed(7) == Exchange(seed=7) and Exchange(seed=1).with_seed(7) == Exchange(seed=1)
    assert Mondrian().with_seed(7) == Mondrian()
    assert Mondrian("relaxed").with_seed(7) == Mondrian("relaxed", seed=7)
    assert LocalRecoding().with_seed(7) == LocalRecoding(seed=7)


def test_the_certificate_warns_of_exchanged_records():
    release = made(village(), "t-closeness t=0.004 distance=js", "exchange regions=40 seed=3")
    wanted = sfumato.requirement("t-closeness t=0.004 distance=js")
    found = {
        own.about: own
        for own in cautions_of(release, sfumato.tradeoff.study.candidate.Candidate(Exchange(), wanted, release.form))
    }
    moved, other = (
        release.details["exchanged"],
        sfumato.tradeoff.study.candidate.Candidate(Mondrian(), wanted, release.form),
    )
    assert 0 < moved < 3000 and found["dealing"].count.startswith(f"{moved:,} records of 3,000")
    assert "dealing" not in {own.about for own in cautions_of(release, other)}


# ---------------------------------------------------------------- the nearest of a ball


def js(p, r):
    both = (p + r) / 2
    return 0.5 * sum(a * math.log(a / m) for own in (p, r) for a, m in zip(own, both, strict=True) if a > 0)


shares = st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any).map(lambda own: np.array(own) / sum(own))
counts = st.lists(st.integers(1, 9), min_size=4, max_size=4)


@tries(40)
@given(shares, counts, bounds(on="s"), st.integers(0, 2**32))
def test_no_distribution_of_a_ball_is_nearer(p, table, requirement, seed):
    wanted = sfumato.requirement(requirement)
    ball = ball_of(wanted, (flat_sensitive(table),))
    found = ball.nearest(p[None])
    assert ball.holds(found)[0] and found.sum() == pytest.approx(1) and (found >= 0).all()
    assume(len(ball.parts) == 1 and "t=0.0 " not in requirement)  # there the tolerance of comparisons is all there is
    generator = np.random.default_rng(seed)
    near = found[0] * np.exp(generator.normal(0, 0.05, (200, 4)))
    others = ball.drawn_in(np.concatenate([near / near.sum(1, keepdims=True), generator.dirichlet(np.ones(4), 200)]))
    best = min(js(p, other) for other in others)
    assert js(p, found[0]) <= best + 1e-7


def test_nearest_by_hand():
    q = np.array([0.5, 0.3, 0.2])
    np.testing.assert_allclose(nearest_equal(np.array([[0.8, 0.1, 0.1]]), q, 0.1), [[0.6, 0.2, 0.2]], atol=1e-9)
    found = nearest_between(np.array([[0.8, 0.1, 0.1]]), np.zeros(3), np.array([0.6, 1.0, 1.0]), q)
    np.testing.assert_allclose(found, [[0.6, 0.2, 0.2]], atol=1e-9)


# ---------------------------------------------------------------- kernels and their plain twins


@cache
def prepared_cut():
    ball = ball_of(sfumato.requirement("t-closeness t=0.004 distance=js"), village().cells.sensitive)
    return cut_table(village(), ball.attribute, 150, 0.1), ball


def test_what_populations_are_made_of():
    cut, _ = prepared_cut()
    cells, composition = village().cells, cut.composition
    found = Scales(min_support=0.1).prepare(village()).populations
    for y in range(found.size):
        inside = ((cells.codes >= found.lo[y]) & (cells.codes <= found.hi[y])).all(axis=1)
        own = np.bincount(cut.region[inside], cells.counts[inside], len(cut.histograms))
        stretch = slice(composition.offsets[y], composition.offsets[y + 1])
        dense = np.zeros(len(own))
        dense[composition.region[stretch]] = composition.share[stretch]
        np.testing.assert_allclose(dense, own / own.sum())
        truth = np.bincount(cells.values[inside, 0], cells.counts[inside], 5)
        np.testing.assert_allclose(composition.truth[y], truth / truth.sum())
    assert (cut.histograms.sum(axis=1) >= 150).all() and cut.histograms.sum() == 3000


def test_the_loss_and_its_slope():
    cut, _ = prepared_cut()
    generator = np.random.default_rng(1)
    estimates = generator.dirichlet(np.full(5, 3.0), len(cut.histograms))
    loss, slopes = follow(cut.composition, estimates)

    def plain(own):
        c, total = cut.composition, 0.0
        for y in range(len(c.truth)):
            stretch = slice(c.offsets[y], c.offsets[y + 1])
            total += js(c.truth[y], c.share[stretch] @ own[c.region[stretch]])
        return total / len(c.truth)

    assert loss == pytest.approx(plain(estimates))
    change = generator.normal(0, 1e-5, estimates.shape)
    change -= change.mean(axis=1, keepdims=True)
    rise = (plain(estimates + change) - plain(estimates - change)) / 2
    assert rise == pytest.approx((slopes * change).sum() / len(cut.composition.truth), rel=1e-4)


def test_scaling_and_adding_up():
    generator = np.random.default_rng(2)
    plan, owned = generator.random((3, 5, 4)), generator.integers(1, 20, (5, 3)).astype(float)
    goals = generator.random((4, 3))
    goals *= owned.sum(axis=0) / goals.sum(axis=0)
    expected = plan.copy()
    for _ in range(3):
        expected *= (goals.T / expected.sum(axis=1))[:, None, :]
        expected *= (owned.T / expected.sum(axis=2))[:, :, None]
    own = plan.copy()
    sweep(own, owned, goals, 3)
    np.testing.assert_allclose(own, expected)
    held, records = sums(own)
    np.testing.assert_allclose(held, own.sum(axis=1).T)
    np.testing.assert_allclose(records, own.sum(axis=0))
    factors = generator.random((5, 4)) + 0.1
    expected = own * factors
    expected *= (owned.T / expected.sum(axis=2))[:, :, None]
    tilt(own, owned, factors)
    np.testing.assert_allclose(own, expected)
    np.testing.assert_allclose(times(factors, goals), factors @ goals)


def test_goals_are_balanced_in_the_ball_and_records_come_to_them():
    cut, ball = prepared_cut()
    owned = cut.histograms.astype(float)
    goals = balanced(owned, owned.sum(axis=0), ball)
    np.testing.assert_allclose(goals.sum(axis=0), owned.sum(axis=0))
    np.testing.assert_allclose(goals.sum(axis=1), owned.sum(axis=1))
    assert ball.holds(goals / goals.sum(axis=1, keepdims=True)).all()
    planned = plan_exchange(cut, ball)
    dealt = rounded(planned.plan, cut.histograms)
    np.testing.assert_array_equal(dealt.sum(axis=2).T, cut.histograms)
    assert np.abs(dealt.sum(axis=1) - planned.plan.sum(axis=1)).max() <= 2


def test_buckets_that_fail_become_one_that_does_not():
    _, ball = prepared_cut()
    wanted = sfumato.requirement("t-closeness t=0.004 distance=js")
    whole = np.round(ball.centre * 1000).astype(np.int64)
    shift = np.array([100, -100, 0, 0, 0])
    dealt = np.stack([whole + shift, whole, whole - shift], axis=1)[:, None, :]
    assert admitted(dealt, ball, wanted).tolist() == [False, True, False]
    joined = merged(dealt, ball, wanted)
    assert admitted(joined, ball, wanted).all()
    assert sorted(map(tuple, joined[:, 0, :].T.tolist())) == sorted([tuple(whole), tuple(2 * whole)])
    uneven = np.stack([whole + shift, whole, 9 * whole], axis=1)[:, None, :]
    joined = merged(uneven, ball, wanted)  # what fails alone takes others in
    assert admitted(joined, ball, wanted).all() and joined.shape[2] <= 2
    np.testing.assert_array_equal(joined.sum(axis=2), uneven.sum(axis=2))
    assert exchanged(np.array([[[3, 1], [0, 5]], [[2, 0], [1, 4]]])) == 2


def test_assigned_histograms_are_those_of_the_plan():
    cut, ball = prepared_cut()
    dealt = rounded(plan_exchange(cut, ball).plan, cut.histograms)
    assignment, buckets = deal_out(dealt, cut, village().cells.counts, np.array([5], np.uint64))
    release = bucketization(village(), assignment, buckets)
    expected = dealt.sum(axis=1).T
    np.testing.assert_array_equal(release.histograms.counts, expected[expected.sum(axis=1) > 0])
