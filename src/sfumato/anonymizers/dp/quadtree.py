"""The differentially private quadtree (Cormode et al. 2012): cuts in the middle, so the whole budget is for counts.

    start with the one box of the whole domain
    on every level: count the sensitive values of every box, with noise
                    halve every box along the attribute whose turn it is
    make the counts of all levels consistent; publish the boxes of the last level

A quadtree of d attributes would halve all of them at once, into 2^d parts: with 6 attributes the third level has
262,144 boxes, nearly all empty. So attributes are halved one per level, in turn: the same boxes appear after d
levels, `height` may stop in between, and it counts what it counts in the kd-tree. The middle is by width (a leaf
`90+` is wider than a leaf `17`), of categories by their number, along the order of leaves. The budget grows towards the
leaves by `ratio` per level: level i gets epsilon (r - 1) r^i / (r^(height + 1) - 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.anonymizers.dp.decomposition import CUBE_ROOT
from sfumato.anonymizers.dp.mechanism import (
    CountedTree,
    Epsilon,
    Height,
    Negatives,
    Ratio,
)


@dataclass(frozen=True)
class DPQuadtree(CountedTree):
    """Cut in the middle; noisy histograms on every level, made consistent."""

    epsilon: Epsilon
    height: Height
    ratio: Ratio = CUBE_ROOT
    counts: Negatives = "cut"

    median_share: ClassVar[float] = 0.0  # type: ignore[misc]
    median_levels: ClassVar[int] = 0
    name: ClassVar[str] = "dp-quadtree"
    title: ClassVar[str] = "Private quadtree"
    example: ClassVar[str | None] = "dp-quadtree epsilon=1 height=8"
    procedure: ClassVar[str] = (
        "The domain is halved again and again, each box in the middle of one attribute, attributes in turn, "
        "whatever the records are. On every level the sensitive values of every box are counted with noise; then "
        "the counts of all levels are made to add up."
    )
