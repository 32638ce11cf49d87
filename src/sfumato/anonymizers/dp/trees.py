"""The adaptive grid (Qardaji, Yang & Li 2013): a coarse grid, and in each of its boxes a grid as fine as it is full.

    `n` = number of records, with noise.
    Divide the domain into about n epsilon / 160 boxes, at least 100; count them with noise (share alpha).
    Divide a box of n' records into about n' (1 - alpha) epsilon / 5 boxes; count these with noise.
    Make the counts of both grids consistent; publish the boxes of the fine one.

The constants are theirs, for maps of two attributes with m x m boxes: m = max(10, sqrt(n epsilon / 10) / 4), and
inside a box m' = sqrt(n' (1 - alpha) epsilon / 5), alpha = .5. Here the number of attributes is arbitrary. So the
number of boxes is kept instead of m per side, rounded to a power of two and reached by halving attributes in turn.
They take n as public; here it is not, so a share of 1 / 100 of the budget asks for it.

PrivTree (Zhang, Xiao & Xie 2016): a tree that grows where the records are, without a height and its budget.

    A box is cut further while   max(records - depth decay, -decay) + noise > 0.
    Publish the boxes that are cut no further, with noisy histograms.

The bias `decay` per level makes the cost of a path a geometric series, so one sum pays for the shape of the tree,
however deep. For cuts in two with noise of scale s the cost is 3 / s, and `decay` has to be at least s ln 2. Theirs is
Laplace noise on real numbers. Ours are whole numbers, for which the proof holds with `decay` rounded up. With p =
exp(-1 / s), the log-ratio of P(b + noise > 0) between b and b - 1 is at most 1 / s for any b. For b >= 1 it is at most
p^(b - 1) / s. Along a path b falls by `decay` per level until the path ends. This sums to (1 + 1 + 1/2 + 1/4 + ...) /
s = 3 / s.

`shape_share` of the budget (theirs is .5) is for the shape, the rest for the histograms of the final boxes. Boxes are
halved in the middle, attributes in turn, as in the quadtree.

The differentially private kd-tree (Cormode, Procopiuc, Srivastava, Shen & Yu 2012, private spatial decompositions).

    Start with the one box of the whole domain.
    On every level: count the sensitive values of every box, with noise,
                    cut every box at a private median of the attribute whose turn it is.
    Make the counts of all levels consistent; publish the boxes of the last level.

A share of the budget (`median_share`, theirs is .3) is for the medians, the same for each of the `height` levels of
cuts. The rest is for the `height` + 1 levels of counts and grows towards the leaves by `ratio`; theirs is the cube root
of 2. Level i (the root is 0) gets

    epsilon (1 - median_share) (r - 1) r^i / (r^(height + 1) - 1).

That minimises the error of range queries which are answered by twice as many boxes on every further level, as in
their quadtree of the plane. The attributes are cut in turn in the order of their names, never by a look at the data.

The differentially private quadtree (Cormode et al. 2012): cuts in the middle, so the whole budget is for counts.

    Start with the one box of the whole domain.
    On every level: count the sensitive values of every box, with noise,
                    halve every box along the attribute whose turn it is.
    Make the counts of all levels consistent; publish the boxes of the last level.

A quadtree of d attributes would halve all of them at once, into 2^d parts: with 6 attributes the third level has
262,144 boxes, nearly all empty. So attributes are halved one per level, in turn: the same boxes appear after d
levels, `height` may stop in between, and it counts what it counts in the kd-tree. The middle is by width (a leaf
`90+` is wider than a leaf `17`), of categories by their number, along the order of leaves. The budget grows towards the
leaves by `ratio` per level: level i gets epsilon (r - 1) r^i / (r^(height + 1) - 1).
"""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sfumato.anonymizers.dp import mechanism
from sfumato.anonymizers.dp._private_cells import (
    CUBE_ROOT,
    BoxLevel,
    Domain,
    PrivateCells,
    consistent,
    next_attributes,
    next_level,
    split,
)
from sfumato.runtime.arrays import Codes, Counts, Numbers

SIZE_SHARE = 0.01
"""The share of the budget that asks for the number of records."""

COARSE_SIDE, COARSE_PER_BOX, FINE_PER_BOX = 10, 160.0, 5.0
"""Qardaji et al.'s constants: the least m, and 16 c and c / 2 for their c = 10."""


@dataclass(frozen=True)
class DPGrid(mechanism.BoxMechanism):
    """Two grids, the second adapted to the noisy counts of the first; consistent histograms."""

    epsilon: mechanism.Epsilon
    alpha: Annotated[
        float, mechanism.share_of_budget("The share of the budget for counts that the coarse grid gets.")
    ] = 0.5

    counts: mechanism.Negatives = "cut"
    contribution: mechanism.Contribution = None

    name: ClassVar[str] = "dp-grid"
    example: ClassVar[str | None] = "dp-grid epsilon=1"

    def decompose(self, domain: Domain, private: PrivateCells) -> tuple[Codes, Codes, Numbers]:
        """Divide the domain twice."""
        for_size, for_counts = split(private.account.amount, SIZE_SHARE)
        budgets = split(for_counts, self.alpha)
        n = private.sizes(1, 0, for_size)
        boxes = np.maximum(n * for_counts / COARSE_PER_BOX, COARSE_SIDE**2)
        coarse_lo, coarse_hi, _ = _halved(domain, private, *domain.whole(), _halvings(boxes), 0)
        levels = int(_halvings(boxes)[0])
        coarse = private.histograms(len(coarse_lo), domain.values.size, levels, budgets[0]).astype(np.float64)
        finer = _halvings(coarse.sum(axis=1) * budgets[1] / FINE_PER_BOX)
        lo, hi, first = _halved(domain, private, coarse_lo, coarse_hi, finer, levels)
        deepest = levels + int(finer.max())
        fine = private.histograms(len(lo), domain.values.size, deepest, budgets[1]).astype(np.float64)
        tree = [BoxLevel(coarse_lo, coarse_hi, first), BoxLevel(lo, hi, np.zeros(0, np.int64))]
        return lo, hi, consistent(tree, [coarse, fine], budgets)[-1]


def _halvings(boxes: Numbers) -> Counts:
    """Return how many halvings make about so many boxes."""
    return np.clip(np.round(np.log2(np.maximum(boxes, 1))), 0, mechanism.MOST_LEVELS // 2).astype(np.int64)


def _halved(
    domain: Domain, private: PrivateCells, lo: Codes, hi: Codes, times: Counts, turn: int
) -> tuple[Codes, Codes, Counts]:
    """Halve every box as many times as asked; return the boxes, and where the parts of each one given start."""
    first = np.arange(len(lo))
    for step in range(int(times.max())):
        attribute = np.where(times > step, next_attributes(turn + step, lo, hi), -1)
        done, lo, hi = next_level(private, lo, hi, attribute, domain.middles(attribute, lo, hi))
        first = done.child[first]
        times = np.repeat(times, np.where(attribute >= 0, 2, 1))
    return lo, hi, first


@dataclass(frozen=True)
class DPPrivTree(mechanism.BoxMechanism):
    """Halve boxes as long as they seem to hold enough records; noisy histograms of the final boxes."""

    epsilon: mechanism.Epsilon
    shape_share: Annotated[
        float,
        mechanism.share_of_budget(
            "The share of the budget that decides which boxes are cut; the histograms get the rest."
        ),
    ] = 0.5

    counts: mechanism.Negatives = "cut"
    contribution: mechanism.Contribution = None

    name: ClassVar[str] = "dp-privtree"
    example: ClassVar[str | None] = "dp-privtree epsilon=1"

    def decompose(self, domain: Domain, private: PrivateCells) -> tuple[Codes, Codes, Numbers]:
        """Grow the tree, then count."""
        for_shape, for_counts = split(private.account.amount, self.shape_share)
        rate = for_shape / 3
        decay = math.ceil(math.log(2) / rate)
        private.spend_on_shape(for_shape)
        lo, hi = domain.whole()
        alive = np.ones(1, np.bool_)
        depth = 0
        while depth < mechanism.MOST_LEVELS:
            attribute = next_attributes(depth, lo, hi)
            asked = np.flatnonzero(alive & (attribute >= 0))
            if not len(asked):
                break
            alive = np.zeros(len(lo), np.bool_)
            alive[asked] = private.growing(len(lo), asked, depth, decay, rate)
            attribute[~alive] = -1
            alive = np.repeat(alive, np.where(attribute >= 0, 2, 1))
            _, lo, hi = next_level(private, lo, hi, attribute, domain.middles(attribute, lo, hi))
            depth += 1
        return lo, hi, private.histograms(len(lo), domain.values.size, depth, for_counts).astype(np.float64)


@dataclass(frozen=True)
class DPKdTree(mechanism.CountedTree):
    """Cut at private medians; noisy histograms on every level, made consistent."""

    epsilon: mechanism.Epsilon
    height: mechanism.Height
    median_share: mechanism.MedianShare = 0.3
    ratio: mechanism.Ratio = CUBE_ROOT
    counts: mechanism.Negatives = "cut"
    contribution: mechanism.Contribution = None

    name: ClassVar[str] = "dp-kd-tree"
    example: ClassVar[str | None] = "dp-kd-tree epsilon=1 height=8"

    @property
    def median_levels(self) -> int:
        """How many levels are cut at medians."""
        return self.height


@dataclass(frozen=True)
class DPQuadtree(mechanism.CountedTree):
    """Cut in the middle; noisy histograms on every level, made consistent."""

    epsilon: mechanism.Epsilon
    height: mechanism.Height
    ratio: mechanism.Ratio = CUBE_ROOT
    counts: mechanism.Negatives = "cut"
    contribution: mechanism.Contribution = None

    median_share: ClassVar[float] = 0.0  # type: ignore[misc]
    median_levels: ClassVar[int] = 0
    name: ClassVar[str] = "dp-quadtree"
    example: ClassVar[str | None] = "dp-quadtree epsilon=1 height=8"
