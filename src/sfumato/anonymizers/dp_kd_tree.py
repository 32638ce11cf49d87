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
from typing import ClassVar

from sfumato.anonymizers.decomposing import CUBE_ROOT, Numbers, consistent, grow, shares, split
from sfumato.anonymizers.mechanism import Mechanism, check_budget, check_height, check_levels, check_share
from sfumato.anonymizers.private import Codes, Counts, Domain, PrivateCells
from sfumato.configuration import check_number


@dataclass(frozen=True)
class DPKdTree(Mechanism):
    """Cut at private medians; noisy histograms on every level, made consistent."""

    epsilon: float
    height: int
    median_share: float = 0.3
    """The share of the budget that finds the medians; counts get the rest."""

    ratio: float = CUBE_ROOT
    """By how much the budget for counts grows from one level to the next."""

    counts: str = "cut"
    """cut: negative counts become 0; unbiased: they stay."""

    name: ClassVar[str] = "dp-kd-tree"
    example: ClassVar[str | None] = "dp-kd-tree epsilon=1 height=8"
    procedure: ClassVar[str] = (
        "The domain is cut in two again and again, each box at a noisy median of one attribute, attributes in "
        "turn. On every level the sensitive values of every box are counted with noise; then the counts of all "
        "levels are made to add up."
    )

    def __post_init__(self) -> None:
        check_budget(self.epsilon, self.counts)
        check_height("height", self.height)
        check_share("median_share", self.median_share)
        check_number("ratio", self.ratio, least=0.1, most=10)

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
