"""PrivTree (Zhang, Xiao & Xie 2016): a tree that grows where the records are, without a height and its budget.

    a box is cut further while   max(records - depth decay, -decay) + noise > 0
    publish the boxes that are cut no further, with noisy histograms

The bias `decay` per level makes the cost of a path a geometric series, so one sum pays for the shape of the tree,
however deep. For cuts in two with noise of scale s the cost is 3 / s, and `decay` has to be at least s ln 2. Theirs is
Laplace noise on real numbers; ours are whole numbers, for which the proof holds with `decay` rounded up: with
p = exp(-1 / s), the log-ratio of P(b + noise > 0) between b and b - 1 is at most 1 / s for any b, and at most
p^(b - 1) / s for b >= 1. Along a path b falls by `decay` per level until it is cut off, which sums up to
(1 + 1 + 1/2 + 1/4 + ...) / s = 3 / s.

`shape_share` of the budget (theirs is .5) is for the shape, the rest for the histograms of the final boxes. Boxes are
halved in the middle, attributes in turn, as in the quadtree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sfumato.anonymizers.dp.decomposition import next_attributes, next_level, split
from sfumato.anonymizers.dp.mechanism import (
    MOST_LEVELS,
    BoxMechanism,
    Epsilon,
    Negatives,
    share_of_budget,
)
from sfumato.anonymizers.dp.private_cells import Domain, PrivateCells
from sfumato.arrays import Codes, Numbers


@dataclass(frozen=True)
class DPPrivTree(BoxMechanism):
    """Halve boxes as long as they seem to hold enough records; noisy histograms of the final boxes."""

    epsilon: Epsilon
    shape_share: Annotated[
        float, share_of_budget("The share of the budget that decides which boxes are cut; the histograms get the rest.")
    ] = 0.5

    counts: Negatives = "cut"

    name: ClassVar[str] = "dp-privtree"
    title: ClassVar[str] = "PrivTree"
    example: ClassVar[str | None] = "dp-privtree epsilon=1"
    procedure: ClassVar[str] = (
        "The domain is halved again and again, each box as long as a noisy count says that it holds enough "
        "records. Then the sensitive values of the final boxes are counted with noise."
    )

    def decompose(self, domain: Domain, private: PrivateCells) -> tuple[Codes, Codes, Numbers]:
        """Grow the tree, then count."""
        for_shape, for_counts = split(self.epsilon, self.shape_share)
        rate = for_shape / 3
        decay = math.ceil(math.log(2) / rate)
        private.spend_on_shape(for_shape)
        lo, hi = domain.whole()
        alive = np.ones(1, np.bool_)
        depth = 0
        while depth < MOST_LEVELS:
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
