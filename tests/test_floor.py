"""The tighter floor: against a general convex solver and its definition, and no release in buckets is below it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import rel_entr

import plain_releases as plain
from sfumato import BadInputError, Map, Scales, SfumatoError, Table, tree
from sfumato.data.assignment import Assignment
from sfumato.data.cells import Quasi, sorted_cells
from sfumato.measures.all_measures import RECONSTRUCTED
from sfumato.papers.li_li_2009 import PANELS, LiLiFrontier, frontier_claims, frontier_figures
from sfumato.release.release import bucketization
from sfumato.requirements._jensen_shannon import cheapest_rows
from sfumato.tradeoff._bucket_limit import BucketLimit, Program, atoms, solve, tighter_limit
from sfumato.tradeoff.limit import Limit, limit
from sfumato.tradeoff.map import Point
from strategies import tries

TOLERANCE = 1e-9
P_LOSSES = (0.003, 0.02, 0.06, 0.15, 0.4)
MAKERS = st.sampled_from(["mondrian", "hilbert", "exchange seed=1", "anatomy", "sabre", "burel"])
REQUIREMENTS = st.sampled_from(
    [
        "k-anonymity k=2",
        "l-diversity l=1.5 variant=frequency",
        "l-diversity l=2 variant=frequency",
        "t-closeness t=0.05 distance=js",
        "t-closeness t=0.2 distance=js",
        "t-closeness t=0.3 distance=equal",
        "beta-likeness beta=1 variant=enhanced",
    ]
)


def js(p, q):
    """The definition: the mean of the two relative entropies to the middle."""
    middle = (p + q) / 2
    return (rel_entr(p, middle).sum(axis=-1) + rel_entr(q, middle).sum(axis=-1)) / 2


# ---------------------------------------------------------------- the cheapest distribution of a ball


def cheapest(costs, q, radius):
    """Points, bounds and multipliers of rows of costs, searched for from the start and as far as the sphere."""
    points, numbers = np.empty_like(costs), np.zeros((4, len(costs)))
    cheapest_rows(costs, q, radius, np.full(len(costs), np.inf), numbers, points)
    return points, numbers[2], numbers[3]


@st.composite
def priced_balls(draw):
    values = draw(st.integers(2, 7))
    cost = st.floats(-3, 3).map(lambda c: round(c, 3))
    costs = np.array(draw(st.lists(cost, min_size=values, max_size=values)))
    q = np.array(draw(st.lists(st.integers(1, 4000), min_size=values, max_size=values)), float)
    return costs, q / q.sum(), 10 ** draw(st.floats(-6, -0.2)), draw(st.integers(0, 2**30))


@tries(100)
@given(priced_balls())
def test_nothing_in_the_ball_is_cheaper(ball):
    """What was found is in the ball and costs what the bound says; others of the ball cost more, of larger ones too."""
    costs, q, radius, seed = ball
    (point,), (bound,), (multiplier,) = cheapest(costs[None], q, radius)
    assert point.sum() == pytest.approx(1, abs=1e-10) and (point >= 0).all()
    assert js(q, point) <= radius * (1 + 1e-6) + 1e-15
    spread = np.ptp(costs)
    assert bound - 1e-9 * spread - 1e-15 <= point @ costs <= bound + 1e-6 * spread + 1e-12
    others = np.random.default_rng(seed).dirichlet(np.full(len(q), 0.4), 60)
    others = q + np.linspace(0, 1, 60)[:, None] * (others - q)
    assert (others @ costs >= bound - multiplier * (js(q, others) - radius) - 1e-9 * (1 + spread)).all()


def test_the_cheapest_by_hand():
    """In the whole simplex it is the cheapest value; of equal costs any is the cheapest."""
    points, bounds, _ = cheapest(np.array([[3.0, 1.0, 2.0], [5.0, 5.0, 5.0]]), np.array([0.5, 0.3, 0.2]), 0.69)
    assert bounds == pytest.approx([1, 5], abs=1e-4) and (bounds <= [1, 5]).all()
    assert points[0] == pytest.approx([0, 1, 0], abs=1e-3)


# ---------------------------------------------------------------- populations backwards


@tries(60)
@given(plain.small_cells(sensitive=(1, 1)), st.sampled_from([0.05, 0.2]))
def test_spreading_is_summing_backwards(cells, min_support):
    """Every point gets the values of the populations it is in; points are one atom if these are the same."""
    prepared = Scales(min_support).prepare(plain.table_of(cells))
    populations, points = prepared.populations, prepared.points.codes
    if not populations.size:
        return
    within = ((points[None] >= populations.lo[:, None]) & (points[None] <= populations.hi[:, None])).all(axis=2)
    values = np.random.default_rng(0).random((populations.size, 3))
    assert populations.spread(values) == pytest.approx(within.T @ values, rel=1e-12)
    first, number = atoms(populations)
    assert (within[:, first][:, number] == within).all()
    assert len(first) == len({row.tobytes() for row in within.T})


# ---------------------------------------------------------------- the program


def general(cells, min_support, p_loss, attribute=0):
    """The same minimum by a general solver: one distribution for every point, none merged, by definitions alone."""
    records, q = plain.records_of(cells), np.asarray(cells.sensitive[attribute].shares)
    kinds = sorted({record.codes for record in records})
    counts = np.array([sum(record.codes == kind for record in records) for kind in kinds], float)
    regions = list(plain.large_populations(cells, min_support))
    within = np.array([[plain.inside(kind, region) for kind in kinds] for region in regions], float) * counts
    truth = [plain.true_counts(cells, plain.selected_leaves(region), attribute) for region in regions]
    truth = np.array(truth, float) / np.sum(truth, axis=1, keepdims=True)
    shape = (len(kinds), len(q))

    def loss(flat):
        rows = within @ np.maximum(flat.reshape(shape), 0) / within.sum(axis=1, keepdims=True)
        return float(js(truth, rows).mean())

    found = minimize(
        loss,
        np.tile(q, len(kinds)),
        method="SLSQP",
        bounds=[(1e-12, 1)] * (len(kinds) * len(q)),
        constraints=[
            {"type": "ineq", "fun": lambda flat: 10 * (p_loss - js(q, np.maximum(flat.reshape(shape), 0)))},
            {"type": "eq", "fun": lambda flat: flat.reshape(shape).sum(axis=1) - 1},
            {"type": "eq", "fun": lambda flat: (counts @ flat.reshape(shape) / counts.sum() - q)[:-1]},
        ],
        options={"maxiter": 400, "ftol": 1e-12},
    )
    return float(found.fun)


@tries(15)
@given(plain.small_cells(sensitive=(1, 1), attributes=2, rows=6), st.sampled_from(P_LOSSES))
def test_the_program_against_a_general_solver(cells, p_loss):
    prepared = Scales(0.2).prepare(plain.table_of(cells))
    if not prepared.populations.size or len(prepared.points.codes) > 5:
        return
    found = solve(Program.of(prepared, 0), p_loss, 1e-6, 3000)
    expected = general(cells, 0.2, p_loss)
    assert found.bound - 1e-12 <= found.value
    assert found.bound - 2e-6 <= expected <= found.value + 2e-6  # the solver of the test is exact to about 1e-6
    if expected > 1e-4:  # a floor near 0 may stay a little loose
        assert found.value - found.bound <= 2e-6


@tries(40)
@given(plain.small_cells(), st.sampled_from(P_LOSSES), st.sampled_from(P_LOSSES))
def test_every_bound_holds_at_every_p_loss(cells, here, there):
    """A bound is a straight line in P_loss below the values of all solutions, and ends early without being wrong."""
    prepared = Scales(0.1).prepare(plain.table_of(cells))
    if not prepared.populations.size:
        return
    for i in range(len(cells.sensitive)):
        program = Program.of(prepared, i)
        hasty, patient = solve(program, here, rounds=3), solve(program, there)
        assert hasty.bound + hasty.slope * (there - here) <= patient.value + TOLERANCE
        assert 0 <= hasty.bound <= hasty.value + 1e-12 and hasty.slope <= 0


# ---------------------------------------------------------------- no release is below


def assert_above(release, min_support):
    prepared = Scales(min_support).prepare(release.table)
    measured = prepared.measure(release)
    floor = tighter_limit(prepared, P_LOSSES)
    assert (floor is None) == ("u_loss" not in measured.values)
    if floor is not None:
        assert measured["u_loss"] >= floor.at(measured["p_loss"] + TOLERANCE) - TOLERANCE


@st.composite
def buckets(draw):
    """Records in any buckets at all, cells divided, none suppressed."""
    cells = draw(plain.small_cells())
    units = np.repeat(np.arange(len(cells.counts)), cells.counts)
    most = draw(st.integers(0, 4))
    drawn = draw(st.lists(st.integers(0, most), min_size=len(units), max_size=len(units)))
    names, groups = np.unique(drawn, return_inverse=True)
    pairs, counts = np.unique(np.stack([groups, units]), axis=1, return_counts=True)
    return bucketization(plain.table_of(cells), Assignment(pairs[1], pairs[0], counts), len(names))


@tries(30)
@given(buckets(), st.sampled_from([0.05, 0.2, 0.5]))
def test_no_buckets_are_below(release, min_support):
    assert release.suppressed == 0
    assert_above(release, min_support)


class StandIn(SimpleNamespace):
    """What makers read of a table, by which they may also remember it."""

    __hash__ = object.__hash__
    counts_of = Table.counts_of


@tries(25)
@given(plain.small_cells(rows=16), MAKERS, REQUIREMENTS, st.sampled_from([0.05, 0.2]))
def test_no_maker_of_buckets_gets_below(cells, maker, required, min_support):
    published = tuple(own.name for own in (*cells.quasi, *cells.sensitive))
    table = StandIn(**vars(plain.table_of(cells)), published=published)
    try:
        release = plain.made(table, required, maker, "bucketization")
    except SfumatoError:  # infeasible, or the maker does not make this
        release = plain.made(table, "k-anonymity k=1", "original")
    assert_above(release, min_support)


# ---------------------------------------------------------------- the line


@tries(40)
@given(plain.small_cells())
def test_the_line_is_nowhere_below_the_limit(cells):
    prepared = Scales(0.1).prepare(plain.table_of(cells))
    plain_line, floor = limit(prepared), tighter_limit(prepared, P_LOSSES)
    assert (plain_line is None) == (floor is None)
    if plain_line is None:
        return
    assert (floor.trivial, floor.revealed) == (plain_line.trivial, plain_line.revealed)
    x, y = np.array(floor.points).T
    assert (np.diff(x) > 0).all() and (np.diff(y) <= 0).all()
    for at in np.linspace(0, 0.7, 36):
        assert plain_line.at(at) - 1e-12 <= floor.at(at) <= floor.trivial + 1e-12
    for own in floor.solved:
        assert floor.at(own.p_loss) >= own.bound - 1e-12
    assert floor.area >= plain_line.area - 1e-12


def one_value_each():
    """Two records of each of two kinds, a kind with a value of its own: one population's gain is the other's."""
    leaves = tree(["x", "y", "z"])
    codes = np.array([[0, 0], [1, 1], [2, 0], [2, 1]], np.int32)
    return sorted_cells([Quasi("q", leaves)], [("s", tree(["a", "b"]))], codes, np.array([9, 1, 1, 9], np.int64))


def test_chosen_tangents_leave_little_room():
    """Between the tangents that are chosen the line is close to what the program comes to."""
    prepared = Scales(0.05).prepare(plain.table_of(one_value_each()))
    floor, program = tighter_limit(prepared), Program.of(prepared, 0)
    found = [own.p_loss for own in floor.solved]
    assert found == sorted(found) and len(found) >= 10 and max(found) < program.end
    for p_loss in (0.001, 0.01, 0.03, 0.08):
        value = solve(program, p_loss, 1e-6, 3000).value
        assert value - 0.03 * floor.trivial <= floor.at(p_loss) <= value + 1e-12
    assert floor.at(program.end) == 0


def test_totals_make_the_floor_higher():
    """By hand: two kinds, all of one value and of the other; 1 to 9 cannot both be shown as they are in one ball."""
    prepared = Scales(0.05).prepare(plain.table_of(one_value_each()))
    floor = tighter_limit(prepared, (0.02,))
    assert floor.at(0.02) > limit(prepared).at(0.02) + 1e-4


@pytest.mark.parametrize("p_losses", [[0.0], [0.1, -1.0], [float("nan")]])
def test_a_p_loss_must_be_positive(p_losses):
    prepared = Scales(0.05).prepare(plain.table_of(one_value_each()))
    with pytest.raises(BadInputError, match="above 0"):
        tighter_limit(prepared, p_losses)


# ---------------------------------------------------------------- in the reproduction


def frontier_of(u_loss):
    """The run of all makers with two releases only, and limits by hand."""
    panel = PANELS[0]
    found = []
    for name, p_loss in (("mondrian_dense", 0.04), ("exchange", 0.03)):
        candidate = panel.sets[name][0]
        measures = {**dict.fromkeys(RECONSTRUCTED, 0.5), "p_loss": p_loss, "u_loss": u_loss}
        found.append(Point(candidate.id, candidate, "measured", None, measures))
    run = LiLiFrontier(panels=[panel])
    run.__dict__["maps"] = {
        panel.name: Map(panel.study, tuple(found), limit=Limit(((0.0, 0.4), (0.25, 0.0)), 0.5, 0.6))
    }
    run.__dict__["bucket_limits"] = {panel.name: BucketLimit(((0.0, 0.4), (0.5, 0.0)), 0.5, 0.6)}
    return run


def test_the_reproduction_shows_both_limits():
    run = frontier_of(0.38)
    panel = run.panels[0]
    scores = run.scores(panel)
    assert scores["limit"] == pytest.approx(0.4 * 0.25 / 2 / 0.3)
    assert scores["limit_bucketized"] == pytest.approx(0.4 * 0.5 / 2 / 0.3)
    curves = {curve.label: curve for curve in frontier_figures(run)[0].curves}
    assert [tuple(own.values()) for own in curves["limit for buckets"].points] == [(0.0, 0.4), (0.5, 0.0)]
    assert not curves["limit for buckets"].marks
    claims = {claim.id: claim for claim in frontier_claims(run, {panel.name: scores})}
    assert claims["above-limit-bucketized"].holds and claims["above-limit-bucketized"].ours == {"occupation": 0.004}


def test_the_reproduction_finds_buckets_below_their_limit():
    run = frontier_of(0.36)
    claims = {claim.id: claim for claim in frontier_claims(run, {run.panels[0].name: run.scores(run.panels[0])})}
    assert claims["above-limit"].holds and not claims["above-limit-bucketized"].holds
