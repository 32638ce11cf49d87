"""Leaves of an attribute that no box of a release tells apart, taken together.

Between two neighbouring ends of boxes all leaves are in the same boxes, so whatever is spread over boxes by width is
spread evenly there. What is worked out of a release leaf by leaf can therefore be worked out stretch by stretch, and
costs what the release shows, not what the domain could hold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.arrays import Codes, Numbers
from sfumato.table import Hierarchy

FEW_LEAVES = 1000
"""In a domain of up to this many leaves each is a stretch of its own: nothing would be gained."""


@dataclass(frozen=True, eq=False)
class Stretches:
    """The stretches into which the boxes of a release cut the leaves of one attribute."""

    bounds: Codes
    """The first leaf of every stretch, and behind the last one the number of leaves."""

    cumulative: Numbers
    """The width below every bound."""

    widths: Numbers
    """The width of every stretch."""

    widest: Numbers
    """The width of the widest leaf of every stretch."""

    @staticmethod
    def of(hierarchy: Hierarchy, lo: Codes, hi: Codes) -> Stretches:
        """Cut the leaves where an interval from `lo` to `hi` begins or ends."""
        if hierarchy.size <= FEW_LEAVES:
            bounds = np.arange(hierarchy.size + 1, dtype=np.int32)
        else:
            bounds = np.unique(np.concatenate([[0], lo, hi + 1, [hierarchy.size]])).astype(np.int32)
        widths = np.asarray(hierarchy.widths, np.float64)
        together, widest = np.add.reduceat(widths, bounds[:-1]), np.maximum.reduceat(widths, bounds[:-1])
        return Stretches(bounds, hierarchy.cumulative[bounds], together, widest)

    @property
    def size(self) -> int:
        """The number of stretches."""
        return len(self.widest)

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return int(self.bounds[-1])

    def of_leaves(self, leaves: Codes) -> Codes:
        """Say in which stretch each of some leaves is."""
        if self.size == self.leaves:
            return leaves.astype(np.int32)
        return (np.searchsorted(self.bounds, leaves, side="right") - 1).astype(np.int32)


def uniform_leaves(hierarchy: Hierarchy, lo: Codes, hi: Codes, generator: np.random.Generator) -> Codes:
    """Draw a leaf of every interval, each leaf in proportion to its width."""
    widths = hierarchy.cumulative
    point = widths[lo] + generator.random(len(lo)) * (widths[hi + 1] - widths[lo])
    leaf = np.searchsorted(widths, point, side="right") - 1
    return np.clip(leaf, lo, hi).astype(np.int32)  # rounding may reach the upper end
