"""The differentially private kd-tree (Cormode, Procopiuc, Srivastava, Shen & Yu 2012, private spatial decompositions).

    start with the one box of the whole domain
    on every level: count the sensitive values of every box, with noise
                    cut every box at a private median of the attribute whose turn it is
    make the counts of all levels consistent; publish the boxes of the last level

A share of the budget (`median_share`, theirs is .3) is for the medians, the same for each of the `height` levels of
cuts. The rest is for the `height` + 1 levels of counts and grows towards the leaves by `ratio`, theirs is the cube root
of 2: level i (the root is 0) gets

    epsilon (1 - median_share) (r - 1) r^i / (r^(height + 1) - 1).

That minimises the error of range queries which are answered by twice as many boxes on every further level, as in
their quadtree of the plane. The attributes are cut in turn in the order of their names, never by a look at the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from sfumato.anonymizers.dp.decomposition import CUBE_ROOT, Numbers, consistent, grow, shares, split
from sfumato.anonymizers.dp.mechanism import (
    Epsilon,
    Height,
    Mechanism,
    Negatives,
    Ratio,
    check_levels,
    share_of_budget,
)
from sfumato.anonymizers.dp.private_cells import Codes, Counts, Domain, PrivateCells


@dataclass(frozen=True)
class DPKdTree(Mechanism):
    """Cut at private medians; noisy histograms on every level, made consistent."""

    epsilon: Epsilon
    height: Height
    median_share: Annotated[
        float, share_of_budget("The share of the budget that finds the medians; counts get the rest.")
    ] = 0.3

    ratio: Ratio = CUBE_ROOT

    counts: Negatives = "cut"

    name: ClassVar[str] = "dp-kd-tree"
    title: ClassVar[str] = "Private kd-tree"
    example: ClassVar[str | None] = "dp-kd-tree epsilon=1 height=8"
    procedure: ClassVar[str] = (
        "The domain is cut in two again and again, each box at a noisy median of one attribute, attributes in "
        "turn. On every level the sensitive values of every box are counted with noise; then the counts of all "
        "levels are made to add up."
    )

    def check_domain(self, domain: Domain) -> None:
        """Raise where the domain has fewer levels."""
        check_levels(self.height, domain)

    def decompose(self, domain: Domain, private: PrivateCells) -> tuple[Codes, Codes, Numbers]:
        """Grow the tree."""
        for_medians, for_counts = split(self.epsilon, self.median_share)
        medians = shares(for_medians, self.height, 1.0)
        budgets = shares(for_counts, self.height + 1, self.ratio)

        def cut(level: int, attribute: Counts, lo: Codes, hi: Codes) -> Codes:
            return private.medians(attribute, lo, hi, level, medians[level])

        levels, noisy = grow(domain, private, budgets, cut)
        return levels[-1].lo, levels[-1].hi, consistent(levels, noisy, budgets)[-1]
