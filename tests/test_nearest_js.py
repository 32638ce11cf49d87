"""The nearest distribution of a Jensen-Shannon ball: against a general convex solver, its dual, and its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import rel_entr

from sfumato import BadInputError, numeric
from sfumato.measures._box_tree import FEW_FOUND, BoxTree, covering
from sfumato.measures.divergence import densities_at
from sfumato.requirements._jensen_shannon import js, nearest_js
from strategies import tries

Numbers = NDArray[np.float64]


def plain_js(p: Numbers, q: Numbers) -> float:
    """The definition: the mean of the two relative entropies to the middle."""
    middle = (p + q) / 2
    return float((rel_entr(p, middle).sum() + rel_entr(q, middle).sum()) / 2)


def solved(p: Numbers, q: Numbers, radius: float) -> float:
    """The same minimum by a general solver of constrained problems."""

    def distance(r: Numbers) -> float:
        return plain_js(p, np.maximum(r, 0))

    constraints = [
        {"type": "ineq", "fun": lambda r: (radius - plain_js(q, np.maximum(r, 0))) * 100},
        {"type": "eq", "fun": lambda r: r.sum() - 1},
    ]
    found = minimize(
        distance,
        0.9 * q + 0.1 * p,
        method="SLSQP",
        bounds=[(1e-12, 1)] * len(q),
        constraints=constraints,
        options={"maxiter": 500, "ftol": 1e-13},
    )
    return float(found.fun)


@st.composite
def balls(draw: st.DrawFn) -> tuple[Numbers, Numbers, float]:
    """Draw P (with zeros), a positive Q and a radius over many orders of magnitude."""
    values = draw(st.integers(2, 8))
    p = np.array(draw(st.lists(st.integers(0, 60), min_size=values, max_size=values)), float)
    p[draw(st.integers(0, values - 1))] += 1
    q = np.array(draw(st.lists(st.integers(1, 5000), min_size=values, max_size=values)), float)
    return p / p.sum(), q / q.sum(), 10 ** draw(st.floats(-14, -0.05))


@given(balls())
@settings(max_examples=300, deadline=None)
def test_feasible_and_certified(ball: tuple[Numbers, Numbers, float]) -> None:
    p, q, radius = ball
    found = nearest_js(p[None], q, radius)
    point = found.points[0]
    assert abs(point.sum() - 1) < 1e-12 and (point >= 0).all()
    assert plain_js(q, point) <= radius + 1e-15
    assert found.distances[0] == pytest.approx(plain_js(p, point), abs=1e-14)
    assert 0 <= found.bounds[0] <= found.distances[0]
    assert found.distances[0] - found.bounds[0] < 1e-7
    hasty = nearest_js(p[None], q, radius, close=0.2)
    assert plain_js(q, hasty.points[0]) <= radius + 1e-15 and hasty.bounds[0] <= found.distances[0]


@given(balls(), st.floats(-6, 3))
@settings(max_examples=150, deadline=None)
def test_the_multiplier_bounds_other_balls_too(ball: tuple[Numbers, Numbers, float], times: float) -> None:
    """A tangent lies below the curve of the least distance over the radius, on both sides."""
    p, q, radius = ball
    found = nearest_js(p[None], q, radius)
    other = min(radius * 10**times, 0.7)
    tangent = found.bounds[0] - found.multipliers[0] * (other - radius)
    assert tangent <= nearest_js(p[None], q, other).distances[0] + 1e-13


@given(balls(), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_no_distribution_of_the_ball_is_below_the_bound(ball: tuple[Numbers, Numbers, float], seed: int) -> None:
    """Random distributions, drawn towards Q until they are inside, and mixtures of P and Q.

    Of tiny balls the definition cannot say who is inside: its rounding is 1e-16.
    """
    p, q, radius = ball
    radius = max(radius, 1e-7)
    bound = nearest_js(p[None], q, radius).bounds[0]
    for other in [p, *np.random.default_rng(seed).dirichlet(20 * (p + q), 10)]:
        inside, outside = 0.0, 1.0
        for _ in range(45):
            middle = (inside + outside) / 2
            if plain_js(q, q + middle * (other - q)) <= radius:
                inside = middle
            else:
                outside = middle
        assert plain_js(p, q + inside * (other - q)) >= bound - 1e-9


@pytest.mark.parametrize("seed", range(25))
def test_a_general_solver_comes_to_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = int(rng.integers(2, 7))
    q = rng.dirichlet(np.full(values, 2.0)) + 0.01
    q /= q.sum()
    p = rng.dirichlet(np.ones(values))
    if values > 2 and seed % 2:
        p[0] = 0.0
        p /= p.sum()
    radius = plain_js(p, q) * rng.uniform(0.02, 0.9)
    found = nearest_js(p[None], q, radius)
    other = solved(p, q, radius)
    assert other == pytest.approx(found.distances[0], abs=2e-7)
    assert other >= found.bounds[0] - 2e-7


def test_the_plain_cases() -> None:
    q = np.array([0.5, 0.3, 0.2])
    rows = np.array([[0.5, 0.3, 0.2], [0.6, 0.3, 0.1], [0.0, 0.0, 1.0]])
    inside = nearest_js(rows, q, np.array([1e-3, 0.5, math.log(2)]))
    assert (inside.points == rows).all()
    assert not inside.distances.any() and not inside.bounds.any()
    centre = nearest_js(rows, q, 0.0)
    assert np.abs(centre.points - q).max() < 1e-15
    expected = [plain_js(row, q) for row in rows]
    assert centre.distances == pytest.approx(expected, abs=1e-14)
    assert centre.bounds == pytest.approx(expected, abs=1e-12)


def test_two_values_have_one_way_to_go() -> None:
    """With two values the ball is an interval: the nearest R is its end, found here by bisection."""
    q, p, radius = np.array([0.9, 0.1]), np.array([0.2, 0.8]), 0.05
    low, high = 0.1, 0.8
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if plain_js(q, np.array([1 - middle, middle])) <= radius else (low, middle)
    found = nearest_js(p[None], q, radius)
    assert found.points[0, 1] == pytest.approx(low, abs=1e-12)
    assert found.bounds[0] == pytest.approx(plain_js(p, np.array([1 - low, low])), abs=1e-12)


def test_counts_are_read_as_shares_and_rows_do_not_depend_on_each_other() -> None:
    rng = np.random.default_rng(1)
    counts, q = rng.integers(1, 50, (20, 5)).astype(float), rng.dirichlet(np.ones(5)) + 1e-3
    together = nearest_js(counts, q, 0.01)
    for i, row in enumerate(counts):
        alone = nearest_js(row / row.sum(), q / q.sum(), 0.01)
        assert together.points[i] == pytest.approx(alone.points[0], abs=1e-12)


def test_divergence_is_precise_where_both_are_nearly_equal() -> None:
    """JS of (1/2, 1/2) and (1/2 + e, 1/2 - e) is e^2 / 2 to first order, whatever small e is."""
    for e in (1e-3, 1e-6, 1e-9, 1e-12):
        p, r = np.array([0.5, 0.5]), np.array([0.5 + e, 0.5 - e])
        assert js(p, r) == pytest.approx((r[0] - 0.5) ** 2 / 2, rel=1e-5)
    assert js(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == pytest.approx(math.log(2), abs=1e-15)
    assert js(np.array([1.0, 1e-30]), np.array([1e-30, 1.0])) == pytest.approx(math.log(2), abs=1e-12)


def test_bad_input_is_refused() -> None:
    with pytest.raises(BadInputError, match="positive share for every value"):
        nearest_js(np.ones((1, 2)), np.array([1.0, 0.0]), 0.1)
    with pytest.raises(BadInputError, match="cannot be negative"):
        nearest_js(np.ones((1, 2)), np.ones(2), -0.1)


SIZES = np.array([30, 4, 1])


def drawn(boxes: int, seed: int, wide: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    lo = (random.random((boxes, 3)) * SIZES).astype(np.int32)
    hi = np.minimum(lo + (random.random((boxes, 3)) * wide).astype(np.int32), SIZES - 1).astype(np.int32)
    return lo, hi, (random.random((40, 3)) * SIZES).astype(np.int32)


@tries(40)
@given(st.integers(1, 300), st.integers(0, 2**32), st.integers(1, 40))
def test_the_tree_finds_the_boxes_that_cover_a_point_and_no_others(boxes, seed, wide):
    lo, hi, points = drawn(boxes, seed, wide)
    tree = BoxTree.of(lo, hi, SIZES)
    found, open_ = np.empty(FEW_FOUND, np.int64), np.empty(tree.depth + 2, np.int64)
    for i, point in enumerate(points):
        found, number = covering(points, i, lo, hi, tree.order, tree.lo, tree.hi, tree.depth, found, open_)
        assert found[:number].tolist() == np.flatnonzero(((lo <= point) & (point <= hi)).all(axis=1)).tolist()


def test_where_more_boxes_cover_a_point_than_are_sorted_by_insertion_all_are_found():
    lo, hi, points = drawn(300, 1, 60)
    most = ((lo[None] <= points[:, None]) & (points[:, None] <= hi[None])).all(axis=2).sum(axis=1).max()
    assert most > FEW_FOUND  # what the test above draws reaches both ways of sorting


@pytest.mark.parametrize("boxes", [0, 1, 200])
def test_densities_are_each_points_share_of_the_boxes_that_cover_it(boxes):
    lo, hi, points = drawn(boxes, 3, 20)
    content = np.random.default_rng(5).random((boxes, 2))
    share = np.prod(1 / (hi - lo + 1), axis=1) if boxes else np.zeros(0)
    covered = ((lo[None] <= points[:, None]) & (points[:, None] <= hi[None])).all(axis=2)
    trees = [numeric(0, int(size) - 1, 1) for size in SIZES]
    assert densities_at(points, lo, hi, content, trees) == pytest.approx(covered @ (share[:, None] * content))
