"""The hybrid of kd-tree and quadtree (Cormode et al. 2012): private medians on the first levels, middles below.

Medians matter most near the root, where boxes hold many records and few questions find them; deep down they cost
budget and follow the noise. So the first `switch` levels are cut at private medians, among which `median_share` of
the budget is shared equally, and all further ones in the middle. Counts are as in the kd-tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.anonymizers.decomposing import CUBE_ROOT, Numbers, consistent, grow, shares, split
from sfumato.anonymizers.mechanism import Mechanism, check_budget, check_height, check_levels, check_share
from sfumato.anonymizers.private import Codes, Counts, Domain, PrivateCells
from sfumato.configuration import check_number
from sfumato.errors import BadInputError


@dataclass(frozen=True)
class DPKdHybrid(Mechanism):
    """Cut at private medians first, in the middle below; noisy histograms on every level, made consistent."""

    epsilon: float
    height: int
    switch: int
    """How many levels are cut at medians; fewer than `height`."""

    median_share: float = 0.3
    """The share of the budget that finds the medians; counts get the rest."""

    ratio: float = CUBE_ROOT
    """By how much the budget for counts grows from one level to the next."""

    counts: str = "cut"
    """cut: negative counts become 0; unbiased: they stay."""

    name: ClassVar[str] = "dp-kd-hybrid"
    example: ClassVar[str | None] = "dp-kd-hybrid epsilon=1 height=8 switch=4"
    procedure: ClassVar[str] = (
        "The domain is cut in two again and again, attributes in turn: on the first levels at a noisy median, "
        "below in the middle. On every level the sensitive values of every box are counted with noise; then the "
        "counts of all levels are made to add up."
    )

    def __post_init__(self) -> None:
        check_budget(self.epsilon, self.counts)
        check_height("height", self.height, least=2)
        check_height("switch", self.switch)
        if self.switch >= self.height:
            raise BadInputError(
                f"switch must be less than height ({self.height}), not {self.switch}: with medians all the way down "
                "this is dp-kd-tree"
            )
        check_share("median_share", self.median_share)
        check_number("ratio", self.ratio, least=0.1, most=10)

    def check_domain(self, domain: Domain) -> None:
        """Raise where the domain has fewer levels."""
        check_levels(self.height, domain)

    def decompose(self, domain: Domain, private: PrivateCells) -> tuple[Codes, Codes, Numbers]:
        """Grow the tree."""
        for_medians, for_counts = split(self.epsilon, self.median_share)
        medians = shares(for_medians, self.switch, 1.0)
        budgets = shares(for_counts, self.height + 1, self.ratio)

        def cut(level: int, attribute: Counts, lo: Codes, hi: Codes) -> Codes:
            if level < self.switch:
                return private.medians(attribute, lo, hi, level, medians[level])
            return domain.middles(attribute, lo, hi)

        levels, noisy = grow(domain, private, budgets, cut)
        return levels[-1].lo, levels[-1].hi, consistent(levels, noisy, budgets)[-1]
