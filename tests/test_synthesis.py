"""Differentially private records: what they cost, what the models are, and that records come from the models alone."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato import BadInputError, Cells, anonymizer, flat, numeric
from sfumato.anonymizers.dp import mst
from sfumato.anonymizers.dp._models import Estimate, JunctionTree, Model, ModelStep, nearest_counts, scaled
from sfumato.anonymizers.dp._private_cells import Account, PrivateRecords, RecordDomain, record_domain
from sfumato.anonymizers.dp.aim import AIM
from sfumato.anonymizers.dp.mst import MST
from sfumato.anonymizers.dp.noise import Noise, OpenDPNoise, UnsafeSeededNoise, _gaussian, _gumbel_max, _noisy_max
from sfumato.data.cells import Quasi, Sensitive
from sfumato.measures.all_measures import MEASURES, Measure
from sfumato.release.content import Budget, Guarantee, Spent, delta_of, rho_of

SIZES = (4, 3, 2, 3)
MAKERS = (
    "mst epsilon=1",
    "mst epsilon=0.3 column-share=0.4 choice-share=0.3",
    "mst epsilon=1 delta=1e-6",
    "aim epsilon=1 delta=1e-6",
    "aim epsilon=0.5 delta=1e-9 ways=3",
)
records = st.tuples(*(st.integers(0, size - 1) for size in SIZES))


def table_of(rows, sizes=SIZES, quasi=2):
    """A table of records by their codes, with declared domains; the columns behind the first ones are sensitive."""
    codes = np.array(rows, np.int32).reshape(-1, len(sizes))
    distinct, counts = np.unique(codes, axis=0, return_counts=True)
    columns = tuple(Quasi(f"q{a}", numeric(0, size - 1)) for a, size in enumerate(sizes[:quasi]))
    sensitive, values = [], []
    for a in range(quasi, len(sizes)):
        leaves, index = np.unique(distinct[:, a], return_inverse=True)
        totals = np.bincount(index, counts, len(leaves)).astype(np.int64)
        labels = flat([f"v{i}" for i in range(sizes[a])])
        sensitive.append(Sensitive(f"s{a}", labels, leaves.astype(np.int32), totals))
        values.append(index.astype(np.int32))
    inner = np.column_stack(values) if values else np.zeros((len(distinct), 0), np.int32)
    shown = np.ascontiguousarray(distinct[:, :quasi])
    cells = Cells(columns, tuple(sensitive), shown, inner, counts.astype(np.int64))
    return SimpleNamespace(cells=cells, grown=(), ranges=None, fine={})


class Recording(UnsafeSeededNoise):
    """Seeded noise that keeps what it was asked and what it answered."""

    def __init__(self, seed):
        super().__init__(seed)
        self.asked = []

    def add(self, counts, amount, unit="epsilon"):
        answer = super().add(counts, amount, unit)
        self.asked.append(("add", counts.copy(), amount, unit, 1, answer))
        return answer

    def choose(self, scores, offsets, amount, unit="epsilon", sensitivity=1):
        answer = super().choose(scores, offsets, amount, unit, sensitivity)
        self.asked.append(("choose", scores.copy(), amount, unit, sensitivity, answer))
        return answer


class Replaying(Noise):
    """Gives the answers of another run, and keeps what it was asked."""

    safe = False

    def __init__(self, earlier):
        self.answers = [answer for *_, answer in earlier]
        self.asked = []

    def add(self, counts, amount, unit="epsilon"):
        self.asked.append(("add", counts.copy(), amount, unit, 1))
        return self.answers[len(self.asked) - 1]

    def choose(self, scores, offsets, amount, unit="epsilon", sensitivity=1):
        self.asked.append(("choose", scores.copy(), amount, unit, sensitivity))
        return self.answers[len(self.asked) - 1]

    def generator(self):
        return np.random.default_rng(0)


def random_rows(count, sizes=SIZES, seed=0):
    """Records of columns that go together: each leans on the one before."""
    random = np.random.default_rng(seed)
    rows = [random.integers(0, sizes[0], count)]
    for size in sizes[1:]:
        follow = random.random(count) < 0.6
        rows.append(np.where(follow, rows[-1] % size, random.integers(0, size, count)))
    return np.column_stack(rows)


def counts_of(rows, places, sizes=SIZES):
    """Count records by the values of some columns, in plain Python."""
    table = np.zeros([sizes[place] for place in places])
    for row in rows:
        table[tuple(row[place] for place in places)] += 1
    return table


# -- the budget --------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(MAKERS),
    st.lists(records, min_size=1, max_size=12),
    st.floats(1e-3, 50),
    st.integers(1, 4),
    st.integers(0, 99),
)
def test_the_parts_of_the_budget_never_exceed_it_and_use_it_up(text, rows, epsilon, columns, seed):
    maker = anonymizer(text.replace(text.split()[1], f"epsilon={epsilon!r}"))
    table = table_of([row[:columns] for row in rows], SIZES[:columns], min(2, columns))
    promise = maker.draw(table, UnsafeSeededNoise(seed)).guarantee
    assert sum(Fraction(part.amount) for part in promise.spent) <= Fraction(promise.budget.amount)
    assert math.fsum(part.amount for part in promise.spent) == pytest.approx(promise.budget.amount, rel=1e-9)
    assert (promise.epsilon, promise.delta) == (epsilon, maker.delta or 0)


def test_nobody_can_spend_more_than_there_is_in_either_currency():
    for budget in (Budget(1.0), Budget(1.0, 1e-6)):
        account = Account(budget)
        account.spend("columns", 0, 0.75 * budget.amount)
        with pytest.raises(AssertionError, match="exceed the budget"):
            account.spend("pairs", 1, 0.2500001 * budget.amount)
        with pytest.raises(AssertionError, match="exceed the budget"):
            account.spend("pairs", 1, 0.0)
        with pytest.raises(AssertionError, match="sum up to more than"):
            Guarantee(budget, (Spent("columns", 0, math.nextafter(budget.amount, 2)),), "", ())


def normal(x):
    return math.erfc(-x / math.sqrt(2)) / 2


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9, 1e-15])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 5.0, 40.0])
def test_rho_is_worth_no_more_than_epsilon_and_delta(epsilon, delta):
    """Against three others: OpenDP's account, the exact curve of Gaussian noise, and Bun & Steinke's simple formula."""
    rho = rho_of(epsilon, delta)
    assert delta_of(rho, epsilon) <= delta
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    worth = dp.c.make_zCDP_to_approxDP(_gaussian.__wrapped__(rho)).map(1).epsilon(delta)
    assert worth <= epsilon * (1 + 1e-6) and worth == pytest.approx(epsilon, rel=1e-4)
    scale = math.sqrt(1 / (2 * rho))  # Balle & Wang 2018, theorem 8
    exact = normal(1 / (2 * scale) - epsilon * scale)
    exact -= math.exp(epsilon) * normal(-1 / (2 * scale) - epsilon * scale)
    assert exact <= delta
    assert rho + 2 * math.sqrt(rho * math.log(1 / delta)) >= epsilon  # theirs would buy less


@pytest.mark.parametrize("amount", [1e-9, 1e-4, 0.0017, 0.3, 12.0, 700.0])
def test_by_opendps_own_account_concentrated_noise_costs_no_more_than_stated(amount):
    assert amount * (1 - 1e-9) <= _gaussian.__wrapped__(amount).map(1) <= amount
    for sensitivity in (1, 6000):
        assert amount * (1 - 1e-9) <= _gumbel_max.__wrapped__(amount, sensitivity).map(sensitivity) <= amount
        assert amount * (1 - 1e-9) <= _noisy_max.__wrapped__(amount, sensitivity).map(sensitivity) <= amount


@pytest.mark.parametrize("source", [UnsafeSeededNoise(5), OpenDPNoise()], ids=["unsafe", "opendp"])
def test_gaussian_noise_has_the_stated_distribution(source):
    """P(z) in proportion to exp(-rho z^2), within seven standard errors."""
    n, rho = 8000, 0.3
    noise = source.add(np.full(n, 50), rho, "rho") - 50
    z = np.arange(-40, 41)
    weights = np.exp(-rho * z**2.0) / np.exp(-rho * z**2.0).sum()
    for value in range(-3, 4):
        p = weights[value + 40]
        assert abs((noise == value).mean() - p) < 7 * math.sqrt(p / n)
    assert noise.var() == pytest.approx((weights * z**2).sum(), rel=0.2)


@pytest.mark.parametrize("source", [UnsafeSeededNoise(6), OpenDPNoise()], ids=["unsafe", "opendp"])
def test_choices_in_rho_are_the_exponential_mechanism(source):
    """P in proportion to exp(epsilon score / (2 sensitivity)) with epsilon = sqrt(8 rho)."""
    n, scores, rho, sensitivity = 3000, np.array([0, -20, -45]), 0.2, 20
    chosen = source.choose(np.tile(scores, n), np.arange(0, 3 * n + 1, 3), rho, "rho", sensitivity)
    weights = np.exp(math.sqrt(8 * rho) * scores / (2 * sensitivity))
    expected = weights / weights.sum()
    found = np.bincount(chosen, minlength=3) / n
    assert (np.abs(found - expected) < 7 * np.sqrt(expected / n)).all()


# -- neighbouring tables -----------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(MAKERS), st.lists(records, min_size=1, max_size=10), records, st.integers(0, 9), st.booleans())
def test_the_answers_are_about_as_likely_under_a_neighbouring_table(text, rows, extra, seed, one_more):
    """Replay the same answers on the neighbour: all that a record changes is within what was paid for, exactly."""
    maker, tables = anonymizer(text), (table_of([*rows, extra]), table_of(rows))
    first, second = tables if one_more else tables[::-1]
    run = Recording(seed)
    here = maker.draw(first, run)
    replay = Replaying(run.asked)
    there = maker.draw(second, replay)
    assert here.rows_written == there.rows_written and here.guarantee.spent == there.guarantee.spent
    loss = Fraction(0)
    for (*question, answer), (other_kind, other, *paid) in zip(run.asked, replay.asked, strict=True):
        kind, exact, amount, _, sensitivity = question
        assert kind == other_kind and paid == question[2:]
        gaps = np.abs(exact - other)
        assert gaps.max() <= sensitivity
        if kind == "add":
            assert gaps.sum() <= 1  # one count, by one
            loss += Fraction(amount) * int(np.abs(np.abs(answer - exact) - np.abs(answer - other)).sum())
        else:
            loss += Fraction(amount)
    if here.guarantee.budget.unit == "epsilon":
        assert loss <= Fraction(maker.epsilon)
    assert sum(Fraction(amount) for _, _, amount, _, _, _ in run.asked) <= Fraction(here.guarantee.budget.amount)


def test_what_is_drawn_is_about_as_likely_under_a_neighbouring_table():
    """Sampled: for each tree and coarse counts, P <= e^epsilon P' within five standard errors."""
    maker, draws, rows = MST(1.0), 600, [(0, 0, 0), (1, 0, 1), (1, 1, 1), (0, 1, 0)]
    tables = table_of(rows, (2, 2, 2)), table_of([*rows, (1, 1, 0)], (2, 2, 2))
    seen = [{}, {}]
    for table, found, seed in zip(tables, seen, (1, 2), strict=True):
        noise = UnsafeSeededNoise(seed)
        for _ in range(draws):
            release = maker.draw(table, noise)
            tree = tuple(table.names for table in release.details["counted"] if len(table.names) > 1)
            event = (tree, min(release.rows_written // 8, 3), int(release.lo[0, 0]))
            found[event] = found.get(event, 0) + 1
    for a, b in (seen, seen[::-1]):
        for event, n in a.items():
            m = b.get(event, 0)
            assert n <= math.e * m + 5 * math.sqrt(n + math.e**2 * max(m, 1)), event
    assert len(seen[0]) > 12  # the events are many enough to tell


def test_the_answers_are_all_that_a_model_depends_on():
    for text in MAKERS:
        run = Recording(4)
        first = anonymizer(text).draw(table_of(random_rows(400)), run)
        second = anonymizer(text).draw(table_of([(0, 0, 0, 0), (3, 2, 1, 2)]), Replaying(run.asked))
        for pair in combinations(first.details["model"].names, 2):
            marginals = (release.details["model"].marginal(*pair) for release in (first, second))
            assert np.array_equal(*marginals)


# -- the tree ----------------------------------------------------------------------------------------------


def spanning_trees(columns):
    pairs = list(combinations(range(columns), 2))
    for tree in combinations(pairs, columns - 1):
        reached = {0}
        for _ in tree:
            reached |= {place for pair in tree if reached & set(pair) for place in pair}
        if len(reached) == columns:
            yield tree


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("delta", ["", " delta=1e-6"])
def test_with_a_huge_epsilon_the_tree_is_the_maximum_spanning_tree(seed, delta):
    rows = random_rows(600, seed=seed)
    release = anonymizer(f"mst epsilon=1000{delta}").draw(table_of(rows), UnsafeSeededNoise(seed))
    score = {}
    for a, b in combinations(range(4), 2):
        one, other = counts_of(rows, (a,)), counts_of(rows, (b,))
        score[a, b] = np.abs(counts_of(rows, (a, b)) - np.outer(one, other) / len(rows)).sum()
    best = max(spanning_trees(4), key=lambda tree: sum(score[pair] for pair in tree))
    names = release.details["model"].names
    chosen = {tuple(map(names.index, table.names)) for table in release.details["counted"] if len(table.names) == 2}
    assert sum(score[pair] for pair in chosen) == pytest.approx(sum(score[pair] for pair in best), abs=1e-3)
    truth = np.ones(SIZES)  # the product of the pairs, by the single columns that they share
    for a, b in chosen:
        truth = truth * counts_of(rows, (a, b)).reshape([SIZES[c] if c in (a, b) else 1 for c in range(4)])
    for place in range(4):
        degree = sum(place in pair for pair in chosen)
        own = counts_of(rows, (place,)).reshape([SIZES[c] if c == place else 1 for c in range(4)])
        truth = truth / np.where(own > 0, own, 1) ** (degree - 1)
    truth *= len(rows) / truth.sum()
    for size in (1, 2, 3, 4):
        for places in combinations(range(4), size):
            summed = truth.sum(axis=tuple(c for c in range(4) if c not in places))
            ours = release.details["model"].marginal(*(names[place] for place in places))
            assert np.allclose(ours, summed, atol=2e-3)
    assert release.rows_written == len(rows)


def test_nearest_counts_are_nearer_than_any_others():
    random = np.random.default_rng(1)
    for _ in range(20):
        counts, total = random.normal(3, 10, 8), random.uniform(1, 60)
        ours = nearest_counts(counts, total)
        assert ours.min() >= 0 and ours.sum() == pytest.approx(total)
        for _ in range(200):
            other = random.dirichlet(np.full(8, random.choice([0.1, 1.0]))) * total
            assert ((ours - counts) ** 2).sum() <= ((other - counts) ** 2).sum() + 1e-9


def test_scaling_reaches_the_sums_and_leaves_alone_what_has_them():
    random = np.random.default_rng(2)
    table = random.random((5, 3))
    rows, columns = np.array([1, 2, 3, 4, 5.0]), np.array([5, 4, 6.0])
    done = scaled(table, rows, columns)
    assert np.allclose(done.sum(axis=1), rows) and np.allclose(done.sum(axis=0), columns)
    assert np.allclose(scaled(done, rows, columns), done)


def test_pairs_too_large_to_count_leave_several_trees(monkeypatch):
    monkeypatch.setattr(mst, "MOST_COUNTS", 6)
    release = MST(5.0).draw(table_of(random_rows(300)), UnsafeSeededNoise(1))
    pairs = [table.names for table in release.details["counted"] if len(table.names) == 2]
    assert sorted(pairs) == [("q1", "s2"), ("s2", "s3")]  # 3 x 2 and 2 x 3; q0 stands alone
    model = release.details["model"]
    alone, others = model.marginal("q0"), model.marginal("q1", "s2", "s3")
    assert np.allclose(model.marginal("q0", "q1", "s2", "s3"), np.multiply.outer(alone, others) / model.total)


# -- the graphical model -----------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_belief_propagation_equals_the_joint_distribution(data):
    sizes = tuple(data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=5)))
    places = st.sets(st.integers(0, len(sizes) - 1), min_size=1, max_size=3).map(lambda some: tuple(sorted(some)))
    tables = data.draw(st.lists(places, max_size=5, unique=True))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    potentials = {table: random.normal(0, 2, [sizes[place] for place in table]) for table in tables}
    joint = np.zeros(sizes)
    for values in product(*map(range, sizes)):
        joint[values] = sum(potentials[table][tuple(values[place] for place in table)] for table in tables)
    joint = np.exp(joint) / np.exp(joint).sum()
    tree = JunctionTree.of(sizes, tables)
    for clique, belief in zip(tree.cliques, tree.beliefs(potentials), strict=True):
        assert np.allclose(belief, joint.sum(axis=tuple(c for c in range(len(sizes)) if c not in clique)))
    assert all(any(set(table) <= set(clique) for clique in tree.cliques) for table in tables)
    for i, clique in enumerate(tree.cliques):  # what a clique shares with all before it, it shares with its parent
        before = {place for other in tree.cliques[:i] for place in other}
        assert set(clique) & before == set(tree.shared[i])


def test_a_model_of_exact_tables_is_the_one_of_most_entropy():
    """Along a chain it is in closed form; around a loop it has the pairs and nothing of three columns together."""
    sizes = (2, 2, 2)
    rows = random_rows(900, sizes, 3)
    rows = np.vstack([rows, np.array(list(product(range(2), repeat=3)))])
    domain = RecordDomain(("a", "b", "c"), sizes, 2)
    for tables in ([(0, 1), (1, 2)], [(0, 1), (1, 2), (0, 2)]):
        estimate = Estimate(domain)
        for places in tables:
            estimate.add(places, counts_of(rows, places, sizes), 1.0)
        model = estimate.fit(3000)
        for places in tables:
            assert np.allclose(model.marginal(*("abc"[p] for p in places)), counts_of(rows, places, sizes), atol=1.5)
        joint = np.log(model.marginal("a", "b", "c"))
        ratio = joint[:, :, 1] - joint[:, :, 0]
        assert abs(ratio[0, 0] + ratio[1, 1] - ratio[0, 1] - ratio[1, 0]) < 1e-6  # no interaction of three
        if len(tables) == 2:
            pairs = [counts_of(rows, places, sizes) for places in tables]
            closed = pairs[0][:, :, None] * pairs[1][None] / counts_of(rows, (1,), sizes)[None, :, None]
            assert np.allclose(np.exp(joint), closed, atol=1.5)


def test_counting_a_table_twice_is_averaging_by_inverse_variance():
    estimate = Estimate(RecordDomain(("a", "b"), (2, 2), 2))
    estimate.add((0,), np.array([10.0, 20.0]), 4.0)
    estimate.add((0,), np.array([16.0, 26.0]), 2.0)
    assert np.allclose(estimate.counts[(0,)], [14, 24]) and estimate.precisions[(0,)] == pytest.approx(0.75)
    assert estimate.total == pytest.approx(38)


def test_aim_with_a_huge_epsilon_has_all_pairs():
    rows = random_rows(3000)
    release = anonymizer("aim epsilon=500 delta=1e-6").draw(table_of(rows), UnsafeSeededNoise(1))
    model = release.details["model"]
    for a, b in combinations(range(4), 2):
        ours = model.marginal(model.names[a], model.names[b])
        assert np.abs(ours - counts_of(rows, (a, b))).sum() / 2 < 0.01 * len(rows)


def test_aim_keeps_its_model_small():
    sizes = (30, 30, 30, 30)
    rows = random_rows(2000, sizes)
    release = anonymizer("aim epsilon=5 delta=1e-6 most-counts=3000").draw(table_of(rows, sizes), UnsafeSeededNoise(1))
    tables = [table.names for table in release.details["counted"] if len(table.names) == 2]
    assert 1 <= len(set(tables)) <= 3  # a clique of three columns would have 27,000 counts
    assert max(step.conditional.size for step in release.details["model"].steps) <= 900


# -- records -----------------------------------------------------------------------------------------------


def test_columns_that_are_independent_given_their_parent_stay_so():
    """mbi 1.1.0 rounds without a shuffle: total variation .90 between siblings that have nothing in common."""
    children = np.full((2, 20), 0.05)
    root = ModelStep(0, (), np.array([0.5, 0.5]))
    model = Model(("a", "b", "c"), 40_000.0, (root, ModelStep(1, (0,), children), ModelStep(2, (0,), children)))
    codes = model.sample(np.random.default_rng(1))
    joint = np.bincount(codes[:, 1] * 20 + codes[:, 2], minlength=400) / len(codes)
    assert np.abs(joint - 1 / 400).sum() / 2 < 0.06  # 40,000 records by chance alone: about .04


def test_a_group_shares_out_its_values_as_evenly_as_whole_numbers_allow():
    random = np.random.default_rng(3)
    root, child = random.dirichlet(np.ones(4)), random.dirichlet(np.ones(6), 4)
    model = Model(("a", "b"), 5000.0, (ModelStep(0, (), root), ModelStep(1, (0,), child)))
    codes = model.sample(np.random.default_rng(2))
    found = np.bincount(codes[:, 0], minlength=4)
    assert (np.abs(found - 5000 * root) < 1).all()
    pairs = np.bincount(codes[:, 0] * 6 + codes[:, 1], minlength=24).reshape(4, 6)
    assert (np.abs(pairs - found[:, None] * child) < 1 + 1e-9).all()


def test_records_come_from_the_model_alone_and_a_seed_repeats_them():
    table = table_of(random_rows(500))
    for text in MAKERS:
        maker = anonymizer(text)
        first, second = (maker.draw(table, UnsafeSeededNoise(7)) for _ in range(2))
        assert np.array_equal(first.rows, second.rows) and np.array_equal(first.counts, second.counts)
        model = first.details["model"]
        assert first.rows_written == max(1, round(model.total))
        for place, name in enumerate(("q0", "q1")):
            found = np.bincount(first.lo[:, place], first.counts, SIZES[place])
            assert np.abs(found - model.marginal(name)).sum() < 0.1 * first.rows_written
        assert not first.people and not first.truthful and first.histograms is not None


def test_unknown_columns_of_a_model_are_named():
    model = MST(1.0).draw(table_of(random_rows(50)), UnsafeSeededNoise(1)).details["model"]
    with pytest.raises(BadInputError, match="column must be one of q0, q1, s2, s3"):
        model.marginal("age")


def test_noise_that_outgrows_the_records_is_refused_in_one_sentence():
    with pytest.raises(BadInputError, match="nearly all of them noise; choose a larger epsilon"):
        Model(("a",), 1e9, (ModelStep(0, (), np.array([1.0])),)).sample(np.random.default_rng(1))


# -- what is public must be declared -----------------------------------------------------------------------

AGES = {"type": "numeric", "lower": 0, "upper": 99}
DECLARED = {"age": AGES, "ill": {"type": "flat", "values": ["flu", "cold"]}, "debt": {**AGES, "upper": 9}}


def patients(hierarchies=None, **roles):
    frame = pa.table(
        {
            "age": ["20", "35", "35", "80"],
            "ill": ["flu", "cold", "flu", "cold"],
            "debt": list("1193"),
            "x": list("abcd"),
        }
    )
    usual = {
        "quasi": ["age"],
        "sensitive": ["ill", "debt"],
        "hierarchies": DECLARED if hierarchies is None else hierarchies,
    }
    return sfumato.read(frame, **{**usual, **roles})


@pytest.mark.parametrize("column", ["age", "ill", "debt"])
@pytest.mark.parametrize("maker", [MST(1.0), AIM(1.0, 1e-6)], ids=["mst", "aim"])
def test_a_domain_taken_from_the_records_is_refused_with_the_remedy(maker, column):
    table = patients({name: own for name, own in DECLARED.items() if name != column})
    with pytest.raises(BadInputError) as error:
        maker.draw(table, UnsafeSeededNoise(1))
    assert f"column {column!r} was taken from the records" in str(error.value)
    assert f"[table.hierarchy.{column}]" in str(error.value) and "\n" not in str(error.value)


def test_all_domains_taken_from_the_records_are_named_at_once():
    with pytest.raises(BadInputError) as error:
        MST(1.0).draw(patients({}), UnsafeSeededNoise(1))
    said = str(error.value)
    assert "the domains of columns 'age', 'debt' and 'ill' were taken from the records" in said and "\n" not in said
    for remedy in ('[table.hierarchy.age] type="numeric"', '[table.hierarchy.ill] type="flat"', "hierarchy.debt]"):
        assert remedy in said


def test_any_number_of_sensitive_attributes_and_a_draw_from_a_seed_is_never_written(tmp_path):
    several = patients(neutral=["x"])
    release = MST(1.0).draw(several)
    assert release.publishable and release.to_arrow().column_names == ["age", "ill", "debt"]
    assert all(text in release.guarantee.public[1] for text in ("ill (2)", "debt (10)"))
    none = patients(sensitive=[], quasi=["age", "ill"])
    assert MST(1.0).draw(none, UnsafeSeededNoise(1)).records >= 1
    assert record_domain(none).quasi == 2
    seeded = MST(1.0).draw(several, UnsafeSeededNoise(1))
    for write in (seeded.record_table, lambda: seeded.to_csv(tmp_path / "out.csv")):
        with pytest.raises(BadInputError, match="drawn with noise from a seed"):
            write()
    assert not list(tmp_path.iterdir())


class Watched:
    """Cells that write down who reads them."""

    def __init__(self, cells, log):
        self._cells, self._log = cells, log

    def __getattr__(self, name):
        self._log.append(name)
        return getattr(self._cells, name)


def test_a_synthesizer_sees_the_domain_and_the_answers_alone():
    log = []
    table, noise = table_of(random_rows(60)), UnsafeSeededNoise(1)
    domain = record_domain(table)
    private = PrivateRecords(Watched(table.cells, log), domain, noise, Budget(1.0))
    asked = len(log)
    MST(1.0).estimate(domain, private)
    assert len(log) == asked and {"codes", "values", "counts"} <= set(log)
    assert [name for name in vars(private) if not name.startswith("_")] == ["account", "counted"]


# -- configuration -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", MAKERS)
def test_synthesizers_print_as_what_is_typed(text):
    assert anonymizer(str(anonymizer(text))) == anonymizer(text)
    assert str(anonymizer(text)).startswith(text.split()[0])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mst", "epsilon is not given; write mst epsilon=1"),
        ("aim epsilon=1", "delta is not given; write aim epsilon=1 delta=1e-6"),
        ("mst epsilon=1 delta=0", "delta must be a number of more than 0 and at most 0.01, not 0"),
        ("aim epsilon=1 delta=0.5", "delta must be"),
        ("mst epsilon=1 column-share=0.6 choice-share=0.4", "must leave something for the pairs"),
        ("aim epsilon=1 delta=1e-6 ways=4", "ways must be a whole number of at least 2 and at most 3"),
        ("mst epsilon=1 seed=1", "unknown key 'seed'"),
    ],
)
def test_impossible_parameters_are_refused_at_construction(text, said):
    with pytest.raises(BadInputError, match=said):
        anonymizer(text)


def test_a_measure_of_ones_own_is_computed_for_drawn_releases_that_it_reads(monkeypatch):
    """One that reads noisy releases has a number for groups, boxes and drawn records; the other for groups alone."""
    table = sfumato.read(
        pa.table({"a": list("xyxyxxyy") * 20, "s": list("ppqqpqpq") * 20}),
        quasi=["a"],
        sensitive=["s"],
        hierarchies={name: flat(list(values)) for name, values in (("a", "xy"), ("s", "pq"))},
    )
    for name, noisy in (("width", True), ("people", False)):
        own = Measure(name, "utility", "lower", "2 for everybody", reads_noisy=noisy, function=lambda release: 2.0)
        monkeypatch.setitem(MEASURES, name, own)
    prepared = sfumato.Scales().prepare(table)
    draws = [
        anonymizer(name).draw(table, UnsafeSeededNoise(1))
        for name in ("mst epsilon=1", "dp-kd-tree epsilon=1 height=1")
    ]
    for release in draws:
        values = prepared.measure(release).values
        assert values["width"] == 2.0 and "people" not in values and values["epsilon"] == 1
    values = prepared.measure(sfumato.anonymize(table, "k-anonymity k=2")).values
    assert values["width"] == values["people"] == 2.0
