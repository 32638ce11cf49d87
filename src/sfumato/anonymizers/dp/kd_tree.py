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

from sfumato.anonymizers.dp.decomposition import CUBE_ROOT
from sfumato.anonymizers.dp.mechanism import (
    CountedTree,
    Epsilon,
    Height,
    MedianShare,
    Negatives,
    Ratio,
)


@dataclass(frozen=True)
class DPKdTree(CountedTree):
    """Cut at private medians; noisy histograms on every level, made consistent."""

    epsilon: Epsilon
    height: Height
    median_share: MedianShare = 0.3
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

    @property
    def median_levels(self) -> int:
        """How many levels are cut at medians."""
        return self.height
