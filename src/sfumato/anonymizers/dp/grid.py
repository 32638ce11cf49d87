"""The adaptive grid (Qardaji, Yang & Li 2013): a coarse grid, and in each of its boxes a grid as fine as it is full.

    n = number of records, with noise
    divide the domain into about n epsilon / 160 boxes, at least 100; count them with noise (share alpha)
    divide a box of n' records into about n' (1 - alpha) epsilon / 5 boxes; count these with noise
    make the counts of both grids consistent; publish the boxes of the fine one

The constants are theirs, for maps of two attributes with m x m boxes: m = max(10, sqrt(n epsilon / 10) / 4), and
inside a box m' = sqrt(n' (1 - alpha) epsilon / 5), alpha = .5. Here there may be any number of attributes, so instead
of m per side the number of boxes is kept, rounded to a power of two and reached by halving attributes in turn. They
take n as public; here it is not, so a share of 1 / 100 of the budget asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sfumato.anonymizers.dp.decomposition import BoxLevel, consistent, next_attributes, next_level, split
from sfumato.anonymizers.dp.mechanism import (
    MOST_LEVELS,
    BoxMechanism,
    Epsilon,
    Negatives,
    share_of_budget,
)
from sfumato.anonymizers.dp.private_cells import Domain, PrivateCells
from sfumato.arrays import Codes, Counts, Numbers

SIZE_SHARE = 0.01
"""The share of the budget that asks for the number of records."""

COARSE_SIDE, COARSE_PER_BOX, FINE_PER_BOX = 10, 160.0, 5.0
"""Qardaji et al.'s constants: the least m, and 16 c and c / 2 for their c = 10."""


@dataclass(frozen=True)
class DPGrid(BoxMechanism):
    """Two grids, the second adapted to the noisy counts of the first; consistent histograms."""

    epsilon: Epsilon
    alpha: Annotated[float, share_of_budget("The share of the budget for counts that the coarse grid gets.")] = 0.5

    counts: Negatives = "cut"

    name: ClassVar[str] = "dp-grid"
    title: ClassVar[str] = "Adaptive private grid"
    example: ClassVar[str | None] = "dp-grid epsilon=1"
    procedure: ClassVar[str] = (
        "The domain is divided into a coarse grid whose boxes are counted with noise; each of them is divided "
        "again, the finer the fuller it seems to be, and counted with noise; then the counts of both grids are "
        "made to add up."
    )

    def decompose(self, domain: Domain, private: PrivateCells) -> tuple[Codes, Codes, Numbers]:
        """Divide the domain twice."""
        for_size, for_counts = split(self.epsilon, SIZE_SHARE)
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
    return np.clip(np.round(np.log2(np.maximum(boxes, 1))), 0, MOST_LEVELS // 2).astype(np.int64)


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
