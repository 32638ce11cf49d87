"""Groupings that a search keeps, so that others are rolled up from few groups."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sfumato.anonymizers.full_domain.roll_up import Levels, TransformationGroups
from sfumato.arrays import Counts
from sfumato.kernels import kernel

KEPT_GROUPS = 3_000_000
"""Groups, or values and persons in them, that are kept besides those of the finest transformation."""

OCCUPIED = 0.1
"""The share of all possible groups that is expected to occur (a twentieth and less does, in Adult)."""

NONE = -1


class Sources:
    """The groupings at hand: that of the finest transformation, and coarser ones while there is room."""

    def __init__(self, base: TransformationGroups, levels: Levels, nodes: Sequence[Sequence[int]]):
        self._groupings = [base]
        self._nodes = nodes
        self._levels = np.array([levels])
        self._sizes = np.array([len(base.sizes)])
        self._room = KEPT_GROUPS

    def find(self, levels: Levels) -> tuple[TransformationGroups, Levels]:
        """Find the fewest groups that are kept and not coarser than these levels, and their levels."""
        place = smallest_source(self._levels, self._sizes, len(self._groupings), np.array(levels))
        return self._groupings[place], tuple(self._levels[place].tolist())

    def keep(self, groups: TransformationGroups, levels: Levels, source: TransformationGroups) -> None:
        """Keep groups that are at most half as many as those they came from, while there is room."""
        count, size = len(self._groupings), len(groups.sizes)
        room = max(size, len(groups.columns))
        if 2 * size > len(source.sizes) or room > self._room:
            return
        if count == len(self._sizes):
            self._levels = np.concatenate([self._levels, np.zeros_like(self._levels)])
            self._sizes = np.concatenate([self._sizes, np.zeros_like(self._sizes)])
        self._levels[count], self._sizes[count] = levels, size
        self._groupings.append(groups)
        self._room -= room

    def promise_fewer(self, levels: Levels, source: TransformationGroups) -> bool:
        """Say whether these levels can be expected to have fewer groups than the source."""
        possible = math.prod(nodes[level] for nodes, level in zip(self._nodes, levels, strict=True))
        return possible * OCCUPIED < len(source.sizes)


@kernel
def smallest_source(kept: Counts, sizes: Counts, count: int, levels: Counts) -> int:
    """Return the place of the smallest grouping that is nowhere coarser than these levels; the first of equal ones."""
    best = NONE
    for place in range(count):
        if best == NONE or sizes[place] < sizes[best]:
            finer = True
            for a in range(len(levels)):
                if kept[place, a] > levels[a]:
                    finer = False
                    break
            if finer:
                best = place
    return best
