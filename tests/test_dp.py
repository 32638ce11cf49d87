"""Differentially private releases: what they cost, what they may look at, and what comes out."""

from __future__ import annotations

import csv
import math
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato import BadInputError, Cells, anonymizer, draw, flat, numeric, requirement
from sfumato.anonymizers import MECHANISMS
from sfumato.anonymizers.dp._private_cells import (
    BoxLevel,
    Domain,
    PrivateCells,
    consistent,
    score_cuts,
    send,
    shares,
    split,
    tally,
    tally_along,
)
from sfumato.anonymizers.dp.mechanism import BoxMechanism
from sfumato.anonymizers.dp.noise import Noise, OpenDPNoise, UnsafeSeededNoise, variance
from sfumato.anonymizers.dp.trees import DPKdTree, DPPrivTree, DPQuadtree
from sfumato.data.cells import Quasi, Sensitive
from sfumato.release.content import Budget, rounded
from sfumato.release.regions import uniform_leaves

SIZES = (4, 3)
VALUES = 3
MAKERS = (
    "dp-kd-tree epsilon=1 height=3",
    "dp-kd-tree epsilon=0.3 height=2 median-share=0.5 ratio=1",
    "dp-quadtree epsilon=1 height=3",
    "dp-privtree epsilon=1",
    "dp-privtree epsilon=4 shape-share=0.8",
    "dp-grid epsilon=1",
)
records = st.tuples(*(st.integers(0, size - 1) for size in (*SIZES, VALUES)))


def cells_of(rows, sizes=SIZES, values=VALUES):
    """Cells of records (codes, then the sensitive value), with declared domains of these sizes."""
    rows = np.array(rows, np.int32).reshape(-1, len(sizes) + 1)
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    quasi = tuple(Quasi(f"q{a}", numeric(0, size - 1)) for a, size in enumerate(sizes))
    leaves, index = np.unique(distinct[:, -1], return_inverse=True)
    totals = np.bincount(index, weights=counts, minlength=len(leaves)).astype(np.int64)
    hierarchy = flat([f"v{i}" for i in range(values)])
    sensitive = Sensitive("s", hierarchy, leaves.astype(np.int32), totals)
    codes = np.ascontiguousarray(distinct[:, :-1])
    return Cells(quasi, (sensitive,), codes, index.astype(np.int32)[:, None], counts.astype(np.int64))


def table_of(rows, sizes=SIZES, values=VALUES):
    return SimpleNamespace(cells=cells_of(rows, sizes, values), grown=(), ranges=None, fine={})


class Recording(UnsafeSeededNoise):
    """Seeded noise that keeps what it was asked and what it answered."""

    def __init__(self, seed):
        super().__init__(seed)
        self.asked = []

    def add(self, counts, epsilon):
        answer = super().add(counts, epsilon)
        self.asked.append(("add", counts.copy(), epsilon, answer))
        return answer

    def choose(self, scores, offsets, epsilon):
        answer = super().choose(scores, offsets, epsilon)
        self.asked.append(("choose", (scores.copy(), offsets.copy()), epsilon, answer))
        return answer


class Replaying(Noise):
    """Gives the answers of another run, and keeps what it was asked."""

    safe = False

    def __init__(self, earlier):
        self.answers = [answer for *_, answer in earlier]
        self.asked = []

    def add(self, counts, epsilon):
        self.asked.append(("add", counts.copy(), epsilon))
        return self.answers[len(self.asked) - 1]

    def choose(self, scores, offsets, epsilon):
        self.asked.append(("choose", (scores.copy(), offsets.copy()), epsilon))
        return self.answers[len(self.asked) - 1]


# -- the budget --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", MAKERS)
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1 / 3, 1.0, 7.3])
def test_the_parts_of_the_budget_add_up_to_epsilon_and_never_exceed_it(text, epsilon):
    maker = replace(anonymizer(text), epsilon=epsilon)
    promise = maker.draw(table_of([(0, 0, 0), (3, 2, 1)]), UnsafeSeededNoise(1)).guarantee
    assert sum(Fraction(part.amount) for part in promise.spent) <= Fraction(epsilon)
    assert math.isclose(promise.epsilon, epsilon, rel_tol=1e-14)
    assert math.isclose(sum(promise.by_level.values()), epsilon)
    assert math.isclose(sum(promise.by_purpose.values()), epsilon)


def test_the_kd_tree_shares_its_budget_out_as_documented():
    promise = DPKdTree(1.0, 3, median_share=0.25, ratio=2.0).draw(table_of([(0, 0, 0)]), UnsafeSeededNoise(1)).guarantee
    medians = [part for part in promise.spent if part.what == "medians"]
    counts = [part for part in promise.spent if part.what == "counts"]
    assert [part.level for part in medians] == [0, 1, 2]
    assert np.allclose([part.amount for part in medians], 0.25 / 3)
    assert np.allclose([part.amount for part in counts], 0.75 * np.array([1, 2, 4, 8]) / 15)


def test_usually_the_budget_of_counts_grows_by_the_cube_root_of_two():
    parts = [part.amount for part in draw_tree(DPQuadtree(1.0, 3)).guarantee.spent]
    assert np.allclose(np.divide(parts[1:], parts[:-1]), 2 ** (1 / 3))


def draw_tree(maker, seed=1):
    return maker.draw(table_of([(0, 0, 0), (1, 2, 1), (3, 1, 1)]), UnsafeSeededNoise(seed))


@given(st.floats(1e-6, 1000), st.integers(1, 21), st.floats(0.1, 10), st.floats(0.001, 0.99))
def test_shares_never_exceed_what_is_shared(epsilon, levels, ratio, share):
    parts = shares(epsilon, levels, ratio)
    assert min(parts) > 0
    assert sum(map(Fraction, parts)) <= Fraction(epsilon)
    assert math.isclose(math.fsum(parts), epsilon, rel_tol=1e-14)
    assert sum(map(Fraction, split(epsilon, share))) <= Fraction(epsilon)


def test_nobody_can_spend_more_than_the_budget():
    private = PrivateCells(cells_of([(0, 0, 0)]), UnsafeSeededNoise(1), Budget(1.0))
    private.sizes(1, 0, 0.75)
    with pytest.raises(AssertionError, match="exceed the budget"):
        private.sizes(1, 0, 0.2500001)
    with pytest.raises(AssertionError, match="exceed the budget"):
        PrivateCells(cells_of([(0, 0, 0)]), UnsafeSeededNoise(1), Budget(1.0)).sizes(1, 0, 0.0)
    with pytest.raises(AssertionError, match="not paid for"):
        PrivateCells(cells_of([(0, 0, 0)]), UnsafeSeededNoise(1), Budget(1.0)).growing(1, np.arange(1), 0, 1, 0.1)


# -- neighbouring tables -----------------------------------------------------------------------------------


def log_survival(z, rate):
    """ln P(noise > z) for discrete Laplace noise with P(k) in proportion to exp(-rate |k|), from the definition."""
    k = np.arange(z + 1, z + 1 + math.ceil(60 / rate) + abs(z))
    return math.log(math.fsum(np.exp(-rate * np.abs(k))) * math.tanh(rate / 2))


def loss_of(question, other, answer, decided, most=1):
    """How much likelier an answer is under one table than under the other, at most (natural logarithm)."""
    kind, exact, epsilon = question
    if kind == "choose":
        (scores, offsets), (others, other_offsets) = exact, other
        assert (offsets == other_offsets).all()
        gaps = [np.abs(scores[a:b] - others[a:b]).max(initial=0) for a, b in pairwise(offsets)]
        assert max(gaps, default=0) <= most
        return epsilon * sum(gaps)  # only boxes with a changed record have changed scores
    if not decided:
        return epsilon * float(np.abs(np.abs(answer - exact) - np.abs(answer - other)).sum())
    total = 0.0
    for x, y, noisy in zip(exact, other, answer, strict=True):
        if x != y:
            p, q = log_survival(-x, epsilon), log_survival(-y, epsilon)
            total += p - q if noisy > 0 else math.log(-math.expm1(p)) - math.log(-math.expm1(q))
    return total


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(MAKERS), st.lists(records, max_size=12), records, st.integers(0, 9), st.booleans())
def test_the_answers_are_about_as_likely_under_a_neighbouring_table(text, rows, extra, seed, one_more):
    """Replay the same answers on the neighbour: the log-ratio of their probabilities stays within epsilon, exactly."""
    maker = anonymizer(text)
    first, second = table_of([*rows, extra]), table_of(rows)
    first, second = (first, second) if one_more else (second, first)
    run = Recording(seed)
    here = maker.draw(first, run)
    replay = Replaying(run.asked)
    there = maker.draw(second, replay)
    assert np.array_equal(here.counts, there.counts)
    assert np.array_equal(here.boxes.lo, there.boxes.lo)
    total = 0.0
    for (kind, exact, epsilon, answer), (_, other, other_epsilon) in zip(run.asked, replay.asked, strict=True):
        assert epsilon == other_epsilon
        decided = isinstance(maker, DPPrivTree) and kind == "add" and exact.ndim == 1
        total += loss_of((kind, exact, epsilon), other, answer, decided)
    assert abs(total) <= maker.epsilon + 1e-9


class GrowingOn(Recording):
    """Answers that let every box of PrivTree grow."""

    def add(self, counts, epsilon):
        if counts.ndim == 1:
            self.asked.append(("add", counts.copy(), epsilon, np.ones(len(counts), np.int64)))
            return self.asked[-1][-1]
        return super().add(counts, epsilon)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
def test_privtree_spends_nearly_all_of_its_budget_in_the_worst_case_and_no_more(epsilon):
    """One long path of boxes that all grow, for many numbers of records: where the bound is nearly reached."""
    maker, worst = DPPrivTree(epsilon), 0.0
    for n in range(1, 40):
        runs = GrowingOn(1), GrowingOn(1)
        for run, rows in zip(runs, ([(0, 0)] * n, [(0, 0)] * (n + 1)), strict=True):
            maker.draw(table_of(rows, (256,), 1), run)
        questions = list(zip(runs[0].asked, runs[1].asked, strict=True))[:-1]  # the last are the histograms
        assert len(questions) == 8
        losses = [loss_of((kind, y, rate), x, answer, True) for (kind, x, rate, answer), (_, y, _, _) in questions]
        worst = max(worst, sum(losses))
    assert 0.66 * epsilon / 2 < worst <= epsilon / 2


def test_coarse_events_are_about_as_likely_under_a_neighbouring_table():
    """Sampled: for each cut and each range of a noisy count, P <= e^epsilon P' within five standard errors."""
    maker, draws = DPKdTree(1.0, 1, counts="unbiased"), 3000
    rows = [(0, 0, 0), (1, 0, 1), (1, 1, 1), (2, 2, 0)]
    tables = table_of(rows), table_of([*rows, (3, 1, 1)])
    seen = [{}, {}]
    for table, found, seed in zip(tables, seen, (1, 2), strict=True):
        noise = UnsafeSeededNoise(seed)
        for _ in range(draws):
            release = maker.draw(table, noise)
            event = (int(release.boxes.hi[0, 0]), *np.clip(release.content.sum(axis=1) // 4, -1, 2).astype(int))
            found[event] = found.get(event, 0) + 1
    for a, b in (seen, seen[::-1]):
        for event, n in a.items():
            m = b.get(event, 0)
            error = math.sqrt(n + math.e**2 * max(m, 1))
            assert n <= math.e * m + 5 * error, event
    assert len(seen[0]) > 20  # the events are many enough to tell


# -- the noise ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [UnsafeSeededNoise(5), OpenDPNoise()], ids=["unsafe", "opendp"])
def test_noise_has_the_stated_scale(source):
    """Mean 0 and the stated variance, within seven standard errors: chance fails this once in 10^11 runs."""
    n, epsilon = 20_000, 0.7
    noise = source.add(np.full((n // 4, 4), 100), epsilon) - 100
    p = math.exp(-epsilon)
    weights = (1 - p) / (1 + p) * p ** np.abs(np.arange(-200, 201))
    second, fourth = (float((weights * np.arange(-200.0, 201) ** power).sum()) for power in (2, 4))
    assert math.isclose(variance(epsilon), second, rel_tol=1e-9)
    assert noise.shape == (n // 4, 4)
    assert abs(noise.mean()) < 7 * math.sqrt(second / n)
    assert abs(noise.var() - second) < 7 * math.sqrt((fourth - second**2) / n)
    share = (noise == 0).mean()
    assert abs(share - weights[200]) < 7 * math.sqrt(weights[200] / n)


@pytest.mark.parametrize("source", [UnsafeSeededNoise(6), OpenDPNoise()], ids=["unsafe", "opendp"])
def test_choices_follow_permute_and_flip(source):
    """Of scores 0, -1, -3, with scale 2 / epsilon: the probabilities of the best after exponential noise."""
    n, scores, epsilon = 2000, np.array([0, -1, -3]), 1.0
    offsets = np.arange(0, 3 * n + 1, 3)
    chosen = source.choose(np.tile(scores, n), offsets, epsilon)
    fine = np.linspace(0, 60, 600_001)
    expected = []
    for i in range(3):  # P(i is best) = integral of its density times the others' distributions
        others = [
            np.where(fine + scores[i] > s, -np.expm1(-(fine + scores[i] - s) / 2), 0)
            for s in scores[[j for j in range(3) if j != i]]
        ]
        expected.append(float((np.exp(-fine / 2) / 2 * others[0] * others[1]).sum() * 1e-4))
    assert math.isclose(sum(expected), 1, abs_tol=1e-3)
    found = np.bincount(chosen, minlength=3) / n
    assert (np.abs(found - expected) < 7 * np.sqrt(np.array(expected) / n)).all()


@given(st.floats(1e-6, 1000))
@settings(max_examples=20, deadline=None)
def test_by_opendps_own_account_noise_costs_no_more_than_stated(epsilon):
    from sfumato.anonymizers.dp.noise import _laplace, _noisy_max

    assert _laplace.__wrapped__(epsilon).map(1) <= epsilon
    assert _noisy_max.__wrapped__(epsilon).map(1) <= epsilon
    assert math.isclose(_laplace.__wrapped__(epsilon).map(1), epsilon)
    assert math.isclose(_noisy_max.__wrapped__(epsilon).map(1), epsilon)


def test_opendp_noise_cannot_be_repeated():
    table = table_of([(0, 0, 0), (3, 2, 1)])
    maker = DPKdTree(0.1, 2)
    assert not np.array_equal(maker.draw(table).counts, maker.draw(table).counts)


# -- consistency -------------------------------------------------------------------------------------------


def generalized_least_squares(levels, noisy, budgets):
    """The best linear unbiased estimate of the leaves, by plain linear algebra."""
    leaves = levels[-1].size
    member = [np.eye(leaves)]
    for level in reversed(levels[:-1]):
        below = member[0]
        starts = [*level.child, len(below)]
        member.insert(0, np.array([below[a:b].sum(axis=0) for a, b in pairwise(starts)]))
    design, answers = np.concatenate(member), np.concatenate(noisy)
    weights = np.concatenate([np.full(len(m), 1 / variance(e)) for m, e in zip(member, budgets, strict=True)])
    normal = design.T @ (weights[:, None] * design)
    return np.linalg.solve(normal, design.T @ (weights[:, None] * answers)), member


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_consistency_is_the_best_linear_unbiased_estimate(data):
    height = data.draw(st.integers(1, 4))
    levels, size = [], 1
    for _ in range(height):
        parts = np.array(data.draw(st.lists(st.sampled_from([1, 2, 2, 3]), min_size=size, max_size=size)))
        levels.append(BoxLevel(np.zeros((size, 1)), np.zeros((size, 1)), np.cumsum(parts) - parts))
        size = int(parts.sum())
    levels.append(BoxLevel(np.zeros((size, 1)), np.zeros((size, 1)), np.zeros(0, np.int64)))
    generator = np.random.default_rng(data.draw(st.integers(0, 1000)))
    noisy = [generator.normal(10, 5, (level.size, 2)) for level in levels]
    budgets = [data.draw(st.floats(0.05, 3)) for _ in levels]
    ours = consistent(levels, noisy, budgets)
    best, member = generalized_least_squares(levels, noisy, budgets)
    assert np.allclose(ours[-1], best, atol=1e-7)
    for counts, of in zip(ours, member, strict=True):
        assert np.allclose(counts, of @ ours[-1], atol=1e-7)


def test_consistent_counts_stay_whole_where_noise_is_nearly_never_there():
    release = replace(DPQuadtree(1000.0, 3, counts="unbiased")).draw(table_of([(0, 0, 0)] * 5), UnsafeSeededNoise(1))
    assert np.allclose(release.counts.sum(axis=0), [5, 0, 0])


def test_counts_are_unbiased_without_the_cut_and_never_negative_with_it():
    rows, draws = [(0, 0, 0)] * 4 + [(3, 2, 1)] * 6 + [(1, 1, 2)], 400
    table, noise = table_of(rows), UnsafeSeededNoise(11)
    maker = DPQuadtree(1.0, 3, counts="unbiased")
    counts = np.array([maker.draw(table, noise).counts for _ in range(draws)])
    exact = DPQuadtree(1000.0, 3, counts="unbiased").draw(table, Nothing()).counts
    assert (counts < 0).any()
    error = counts.std(axis=0) / math.sqrt(draws)
    assert (np.abs(counts.mean(axis=0) - exact) < 5 * error).all()
    cut = DPQuadtree(1.0, 3).draw(table, noise)
    assert cut.counts.min() == 0
    assert np.array_equal(cut.boxes.mass, cut.counts.sum(axis=1))


class Nothing(UnsafeSeededNoise):
    """No noise at all."""

    def __init__(self):
        super().__init__(0)

    def add(self, counts, epsilon):
        return counts.copy()

    def choose(self, scores, offsets, epsilon):
        return np.array([np.argmax(scores[a:b]) for a, b in pairwise(offsets)], np.int64)


# -- the boxes ---------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(MAKERS), st.lists(records, max_size=15), st.integers(0, 99))
def test_boxes_tile_the_domain_and_without_noise_counts_are_the_records_inside(text, rows, seed):
    maker, table = anonymizer(text), table_of(rows)
    release = maker.draw(table, UnsafeSeededNoise(seed))
    covered = np.zeros(SIZES, int)
    for lo, hi in zip(release.boxes.lo, release.boxes.hi, strict=True):
        covered[lo[0] : hi[0] + 1, lo[1] : hi[1] + 1] += 1
    assert (covered == 1).all()
    exact = maker.draw(table, Nothing())
    points = np.array(rows, int).reshape(-1, 3)
    for lo, hi, counts in zip(exact.boxes.lo, exact.boxes.hi, exact.counts, strict=True):
        inside = ((points[:, :2] >= lo) & (points[:, :2] <= hi)).all(axis=1)
        assert np.allclose(counts, np.bincount(points[inside, 2], minlength=VALUES))


def test_without_noise_the_kd_tree_cuts_at_medians_in_turn():
    rows = [(0, 0, 0)] * 3 + [(1, 2, 1)] * 2 + [(3, 2, 2)]
    release = DPKdTree(1.0, 2).draw(table_of(rows), Nothing())
    boxes = [tuple(map(tuple, box)) for box in zip(release.boxes.lo.tolist(), release.boxes.hi.tolist(), strict=True)]
    # q0 after 0 (3 and 3 records); then q1: below all records are at 0, above all at 2, so the first cut is as good
    assert boxes[0] == ((0, 0), (0, 0)) and boxes[1] == ((0, 1), (0, 2))
    assert boxes[2][0] == (1, 0) and boxes[3][1] == (3, 2)


def test_middles_are_by_width():
    wide = numeric(0, 99, 1, open_above=4)  # leaves 0, 1, 2, 3 and a wide one
    domain = Domain(("a", "b"), (numeric(0, 6), wide), "s", flat(["x", "y"]))
    lo, hi = domain.whole()
    assert domain.middles(np.array([0]), lo, hi)[0] in (2, 3)
    assert domain.middles(np.array([1]), lo, hi)[0] == 3
    assert domain.middles(np.array([-1]), lo, hi).tolist() == [0]
    assert domain.middles(np.array([1]), np.array([[0, 1]], np.int32), np.array([[0, 2]], np.int32))[0] == 1


def test_privtree_grows_where_the_records_are():
    rows = [(0, 0, 0)] * 400 + [(3, 2, 1)]
    release = DPPrivTree(1.0).draw(table_of(rows), UnsafeSeededNoise(3))
    widths = np.prod(release.boxes.hi - release.boxes.lo + 1, axis=1)
    assert widths[0] == 1 and widths[-1] > 1


def test_height_counts_levels_and_domains_are_limits():
    table = table_of([(0, 0, 0), (1, 1, 1)])
    assert DPQuadtree(1.0, 3).draw(table, UnsafeSeededNoise(1)).groups == 8
    assert DPQuadtree(1.0, 4).draw(table, UnsafeSeededNoise(1)).groups == 12  # 4 x 3 single combinations
    with pytest.raises(BadInputError, match="height must be at most 4 for this table, not 5"):
        DPQuadtree(1.0, 5).draw(table, UnsafeSeededNoise(1))


# -- kernels against plain twins ---------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.lists(records, min_size=1, max_size=20), st.integers(0, 99))
def test_kernels_equal_their_plain_twins(rows, seed):
    cells, generator = cells_of(rows), np.random.default_rng(seed)
    boxes = 3
    box = generator.integers(0, boxes, cells.size)
    values = cells.sensitive[0].leaves[cells.values[:, 0]]
    out = np.zeros((boxes, VALUES), np.int64)
    tally(values, cells.counts, box, out)
    plain = np.zeros_like(out)
    np.add.at(plain, (box, values), cells.counts)
    assert np.array_equal(out, plain)

    attribute = generator.integers(-1, 2, boxes)
    leaves = np.where(attribute < 0, 0, np.array(SIZES)[attribute])
    starts, first = np.concatenate([[0], np.cumsum(leaves)]), np.zeros(boxes, np.int32)
    along = np.zeros(starts[-1], np.int64)
    tally_along(cells.codes, cells.counts, box, attribute, first, starts, along)
    for b in range(boxes):
        mine = box == b
        expected = np.bincount(cells.codes[mine, attribute[b]], cells.counts[mine], leaves[b])[: leaves[b]]
        assert np.array_equal(along[starts[b] : starts[b + 1]], expected)

    cut = np.flatnonzero(attribute >= 0)
    offsets = np.concatenate([[0], np.cumsum(leaves[cut] - 1)]).astype(np.int64)
    scores = np.empty(offsets[-1], np.int64)
    score_cuts(along, starts[cut], offsets, scores)
    lists = [along[starts[b] : starts[b + 1]] for b in cut]
    expected = [-abs(int(own[: j + 1].sum()) - int(own[j + 1 :].sum())) for own in lists for j in range(len(own) - 1)]
    assert scores.tolist() == expected

    parts = np.where(attribute >= 0, 2, 1)
    child, at = np.cumsum(parts) - parts, generator.integers(0, 2, boxes).astype(np.int32)
    moved = box.copy()
    send(cells.codes, attribute, at, child, moved)
    above = (attribute[box] >= 0) & (cells.codes[np.arange(cells.size), attribute[box]] > at[box])
    assert np.array_equal(moved, child[box] + above)


# -- nothing but the mechanism touches the records ---------------------------------------------------------


class Watched:
    """Cells that write down who reads them."""

    def __init__(self, cells, log):
        self._cells, self._log = cells, log

    def __getattr__(self, name):
        caller = sys._getframe(1).f_code
        self._log.append((name, caller.co_qualname))
        found = getattr(self._cells, name)
        return tuple(Watched(own, self._log) for own in found) if name == "sensitive" else found


@pytest.mark.parametrize("text", MAKERS)
def test_nothing_but_the_private_cells_reads_the_records(text):
    log = []
    table = SimpleNamespace(
        cells=Watched(cells_of([(0, 0, 0), (3, 2, 1), (1, 1, 1)]), log), grown=(), ranges=None, fine={}
    )
    release = anonymizer(text).draw(table, UnsafeSeededNoise(1))
    public = {"quasi", "sensitive", "name", "hierarchy", "persons"}  # no table here has a person column
    readers = {reader for name, reader in log if name not in public}
    assert {name for name, _ in log} > public
    assert readers == {"PrivateCells.__init__"}
    assert release.counts.shape[1] == VALUES  # all declared values, though only two occur


@pytest.mark.parametrize("text", MAKERS)
def test_the_answers_are_all_that_a_release_depends_on(text):
    """The same answers give the same release, whatever the records are."""
    run, sizes = Recording(4), (64, 40)
    many = np.random.default_rng(1).integers(0, [64, 40, 3], (40_000, 3))
    first = anonymizer(text).draw(table_of(many // [4, 1, 1], sizes), run)
    second = anonymizer(text).draw(table_of([(3, 2, 2), (63, 1, 1)], sizes), Replaying(run.asked))
    assert first.groups >= 4
    assert np.array_equal(first.counts, second.counts)
    assert np.array_equal(first.boxes.lo, second.boxes.lo)
    assert np.array_equal(first.boxes.hi, second.boxes.hi)


def test_a_declared_value_that_does_not_occur_is_counted_with_noise_like_any_other():
    release = DPKdTree(0.5, 2, counts="unbiased").draw(table_of([(0, 0, 0), (3, 2, 2)]), UnsafeSeededNoise(2))
    assert release.counts.shape == (4, 3)
    assert np.any(release.counts[:, 1] != 0)
    assert np.array_equal(release.content, release.counts[:, [0, 2]])


# -- what is public must be declared -----------------------------------------------------------------------

AGES = {"type": "numeric", "lower": 0, "upper": 99}
ILLS = {"type": "flat", "values": ["flu", "cold", "cancer"]}
SEXES = {"type": "flat", "values": ["f", "m"]}


def patients(hierarchies, ages=("20", "35", "35", "80"), missing="value", **roles):
    frame = pa.table(
        {
            "ill": ["flu", "cold", "flu", "cold"],
            "age": list(ages),
            "sex": ["f", "m", "f", "m"],
            "note": ["a", "b", "c", "d"],
        }
    )
    usual = {"quasi": ["age", "sex"], "sensitive": ["ill"]}
    return sfumato.read(frame, hierarchies=hierarchies, missing=missing, **{**usual, **roles})


DECLARED = {"age": AGES, "ill": ILLS, "sex": SEXES}


@pytest.mark.parametrize(
    ("column", "declaration", "remedy"),
    [
        ("age", None, 'type="numeric" lower=.. upper=..'),
        ("sex", None, 'type="flat" values='),
        ("ill", None, 'type="flat" values='),
        ("sex", {"type": "flat"}, 'type="flat" values='),
        ("sex", {"type": "prefixes"}, 'type="flat" values='),
    ],
)
def test_a_domain_taken_from_the_records_is_refused(column, declaration, remedy):
    hierarchies = {name: own for name, own in DECLARED.items() if name != column}
    if declaration:
        hierarchies[column] = declaration
    with pytest.raises(BadInputError) as error:
        DPKdTree(1.0, 2).draw(patients(hierarchies), UnsafeSeededNoise(1))
    assert f"column {column!r}" in str(error.value) and remedy in str(error.value)
    assert f"[table.hierarchy.{column}]" in str(error.value)


def test_a_domain_that_grew_by_a_missing_value_is_refused_unless_declared():
    ages = ("20", None, "35", "80")
    with pytest.raises(BadInputError, match="'age' misses values in some records"):
        DPKdTree(1.0, 2).draw(patients(DECLARED, ages), UnsafeSeededNoise(1))
    dropped = patients(DECLARED, ages, missing="drop")
    assert DPKdTree(1.0, 2).draw(dropped, UnsafeSeededNoise(1)).boxes.hi[:, 0].max() == 99
    declared = {**DECLARED, "age": {**AGES, "missing": True}}
    for present in (ages, ("20", "21", "35", "80")):  # whether a value is missing or not, the domain is the same
        release = DPKdTree(1.0, 2).draw(patients(declared, present), UnsafeSeededNoise(1))
        assert release.boxes.hi[:, 0].max() == 100
    with pytest.raises(BadInputError, match="missing must be true or false"):
        patients({**DECLARED, "age": {**AGES, "missing": "yes"}})


def test_exactly_one_sensitive_attribute():
    with pytest.raises(BadInputError, match=r"exactly one sensitive attribute .* has 0: none"):
        DPKdTree(1.0, 2).draw(patients(DECLARED, sensitive=[]), UnsafeSeededNoise(1))
    with pytest.raises(BadInputError, match="has 2: ill, sex"):
        DPKdTree(1.0, 2).draw(patients(DECLARED, quasi=["age"], sensitive=["ill", "sex"]), UnsafeSeededNoise(1))


def test_bundled_tables_have_declared_domains():
    release = draw(sfumato.load("adult-train"), "dp-kd-tree epsilon=1 height=4")
    assert release.groups == 16 and release.publishable
    assert abs(release.boxes.mass.sum() - 30_162) < 3_000
    assert "age (74)" in release.guarantee.public[0]
    assert "occupation (14)" in release.guarantee.public[1]


# -- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan, 1e-9, 1e4, True, "1", None])
def test_an_impossible_budget_is_refused_at_construction(kind, epsilon):
    usual = anonymizer(kind.example)
    with pytest.raises(BadInputError, match="epsilon must be a number of at least 1e-06 and at most 1000"):
        replace(usual, epsilon=epsilon)
    with pytest.raises(BadInputError, match="epsilon is not given"):
        anonymizer(kind.name)
    if issubclass(kind, BoxMechanism):
        with pytest.raises(BadInputError, match="counts must be one of cut, unbiased"):
            replace(usual, counts="signed")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("dp-kd-tree epsilon=1 height=0", "height must be a whole number of at least 1 and at most 20, not 0"),
        ("dp-kd-tree epsilon=1 height=21", "height must be a whole number of at least 1 and at most 20, not 21"),
        ("dp-kd-tree epsilon=1", "height is not given"),
        ("dp-kd-tree epsilon=1 height=2 median-share=1", "median-share"),
        ("dp-kd-tree epsilon=1 height=2 ratio=0", "ratio"),
        ("dp-quadtree epsilon=1 height=-1", "height"),
        ("dp-quadtree epsilon=1 height=2 ratio=nan", "ratio"),
        ("dp-privtree epsilon=1 shape-share=0", "shape-share"),
        ("dp-grid epsilon=1 alpha=2", "alpha"),
        ("dp-kd-tree epsilon=1 height=2 seed=1", "unknown key 'seed'"),
    ],
)
def test_impossible_parameters_are_refused_at_construction(text, said):
    with pytest.raises(BadInputError, match=said):
        anonymizer(text)


@pytest.mark.parametrize("text", MAKERS)
def test_mechanisms_print_as_what_is_typed(text):
    assert str(anonymizer(text)) == text


def test_a_mechanism_promises_no_requirement():
    table, maker = patients(DECLARED), DPKdTree(1.0, 2)
    nothing = requirement("k-anonymity k=1")
    maker.check(table, nothing, "generalization", 0.0)
    for wanted, form, suppress, said in (
        (requirement("k-anonymity k=2"), "generalization", 0.0, "cannot promise k-anonymity k=2"),
        (nothing, "bucketization", 0.0, "not bucketization"),
        (nothing, "generalization", 0.1, "suppresses no records"),
    ):
        with pytest.raises(BadInputError, match=said):
            maker.anonymize(table, wanted, form, suppress)
    with pytest.raises(BadInputError, match="satisfies no requirement but draws records"):
        sfumato.anonymize(table, "k-anonymity k=1", "dp-kd-tree epsilon=1 height=2")
    with pytest.raises(BadInputError, match=r"mondrian draws nothing; those that do are .*mst, aim"):
        draw(table, "mondrian")


# -- synthetic records -------------------------------------------------------------------------------------


def test_synthetic_records_are_those_the_counts_say(tmp_path):
    release = draw(patients(DECLARED, neutral=["note"]), "dp-quadtree epsilon=2 height=4")
    release.to_csv(tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as stream:
        header, *rows = list(csv.reader(stream))
    assert header == ["ill", "age", "sex"]  # the order of the input; the neutral column is not published
    expected = np.rint(np.maximum(release.counts, 0)).astype(int)
    ages, sexes, ills = (
        release.cells.quasi[0].hierarchy,
        release.cells.quasi[1].hierarchy,
        release.table.hierarchies["ill"],
    )
    found = np.zeros_like(expected)
    for ill, age, sex in rows:
        point = np.array([ages.leaves.index(age), sexes.leaves.index(sex)])
        box = np.flatnonzero(((release.boxes.lo <= point) & (point <= release.boxes.hi)).all(axis=1))
        found[box, ills.leaves.index(ill)] += 1
    assert np.array_equal(found, expected)
    with pytest.raises(BadInputError, match="exists already"):
        release.to_csv(tmp_path / "out.csv")
    with pytest.raises(BadInputError, match="this name says csv, not parquet"):
        release.to_parquet(tmp_path / "out.csv", force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_another_draw_of_records_is_another_table(tmp_path):
    release = draw(patients(DECLARED), "dp-kd-tree epsilon=100 height=1")
    first, second = release.to_csv(tmp_path / "a.csv")[0], release.to_csv(tmp_path / "b.csv")[0]
    assert first.read_bytes() != second.read_bytes()


def test_seeded_noise_is_never_published(tmp_path):
    release = DPKdTree(1.0, 2).draw(patients(DECLARED), UnsafeSeededNoise(1))
    assert not release.publishable
    with pytest.raises(BadInputError, match="noise from a seed"):
        release.to_csv(tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_leaves_are_drawn_in_proportion_to_their_width():
    wide = numeric(0, 9, 1, open_above=4)
    n = 20_000
    codes = uniform_leaves(wide, np.ones(n, np.int32), np.full(n, 4, np.int32), np.random.default_rng(1))
    shares_ = np.array(wide.widths[1:]) / sum(wide.widths[1:])
    found = np.bincount(codes, minlength=5)[1:] / n
    assert codes.min() == 1 and (np.abs(found - shares_) < 5 * np.sqrt(shares_ / n)).all()
    assert uniform_leaves(wide, np.array([2]), np.array([2]), np.random.default_rng(1)).tolist() == [2]


def test_rounding_leaves_no_negative_number_of_records():
    assert rounded(np.array([[-3.0, 0.4, 1.6]])).tolist() == [[0, 0, 2]]


def test_the_remedy_for_an_observed_domain_can_be_pasted_into_a_study():
    frame = pa.table({"PLZ / Ort": ["1 a", "2 b"] * 5, "ill": ["x", "y"] * 5})
    table = sfumato.read(frame, quasi=["PLZ / Ort"], sensitive=["ill"], hierarchies={"ill": ["x", "y"]})
    with pytest.raises(sfumato.BadInputError, match=r'\[table\.hierarchy\."PLZ / Ort"\] type="flat" values'):
        sfumato.draw(table, "dp-kd-tree epsilon=1 height=1")
