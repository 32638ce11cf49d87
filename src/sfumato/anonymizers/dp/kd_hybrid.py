"""The hybrid of kd-tree and quadtree (Cormode et al. 2012): private medians on the first levels, middles below.

Medians matter most near the root, where boxes hold many records and few questions find them; deep down they cost
budget and follow the noise. So the first `switch` levels are cut at private medians, among which `median_share` of
the budget is shared equally, and all further ones in the middle. Counts are as in the kd-tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from sfumato.anonymizers.dp.decomposition import CUBE_ROOT
from sfumato.anonymizers.dp.mechanism import (
    MOST_LEVELS,
    CountedTree,
    Epsilon,
    MedianShare,
    Negatives,
    Ratio,
)
from sfumato.configuration import Option
from sfumato.errors import BadInputError


@dataclass(frozen=True)
class DPKdHybrid(CountedTree):
    """Cut at private medians first, in the middle below; noisy histograms on every level, made consistent."""

    epsilon: Epsilon
    height: Annotated[int, Option("How many levels the tree has.", least=2, most=MOST_LEVELS)]
    switch: Annotated[
        int, Option("How many levels are cut at medians; fewer than `height`.", least=1, most=MOST_LEVELS)
    ]

    median_share: MedianShare = 0.3
    ratio: Ratio = CUBE_ROOT
    counts: Negatives = "cut"

    name: ClassVar[str] = "dp-kd-hybrid"
    title: ClassVar[str] = "Private kd-tree above a quadtree"
    example: ClassVar[str | None] = "dp-kd-hybrid epsilon=1 height=8 switch=4"
    procedure: ClassVar[str] = (
        "The domain is cut in two again and again, attributes in turn: on the first levels at a noisy median, "
        "below in the middle. On every level the sensitive values of every box are counted with noise; then the "
        "counts of all levels are made to add up."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.switch >= self.height:
            raise BadInputError(
                f"switch must be less than height ({self.height}), not {self.switch}: with medians all the way down "
                "this is dp-kd-tree"
            )

    @property
    def median_levels(self) -> int:
        """How many levels are cut at medians."""
        return self.switch
