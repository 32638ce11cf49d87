"""The tree of boxes lists the boxes that cover a point, as looking at every box does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.hierarchies.numeric import numeric
from sfumato.measures._box_tree import FEW_FOUND, BoxTree, covering
from sfumato.measures.divergence import densities_at
from strategies import tries

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
