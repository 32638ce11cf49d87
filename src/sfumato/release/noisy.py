"""A noisy release: boxes whose sensitive counts are random numbers, and the guarantee that this gives.

No record is assigned to anything here, so nothing that counts records can read such a release by mistake: the only
things it knows are its boxes, which came out of the mechanism, and their counts, which came out of it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.release.release import Boxes, Numbers, Published
from sfumato.table import Table


@dataclass(frozen=True)
class Spent:
    """A part of the budget: what it paid for, and how much; parts of one level look at disjoint records."""

    what: str
    level: int
    epsilon: float


@dataclass(frozen=True)
class Guarantee:
    """Differential privacy as it was kept: neighbouring tables, the budget in its parts, what is public anyway."""

    spent: tuple[Spent, ...]
    neighbours: str
    """What two neighbouring tables are, in words."""

    public: tuple[str, ...]
    """What was taken as known to everybody, in sentences."""

    @property
    def epsilon(self) -> float:
        """The budget of the whole release: levels look at the same records, so their parts add up."""
        return sum(part.epsilon for part in self.spent)


@dataclass(frozen=True, eq=False, repr=False)
class NoisyRelease(Published):
    """Boxes with noisy sensitive counts; every box is a group of its own."""

    table: Table
    boxes: Boxes
    counts: Numbers
    """The noisy sensitive counts of every box: boxes x values; never negative unless they are kept unbiased."""

    guarantee: Guarantee
    details: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<NoisyRelease: {self.groups:,} boxes, epsilon {self.guarantee.epsilon:g}>"

    @property
    def groups(self) -> int:
        """The number of boxes."""
        return len(self.boxes.lo)

    @property
    def content(self) -> Numbers:
        """The noisy sensitive counts of every box."""
        return self.counts


def noisy_release(
    table: Table, lo: Any, hi: Any, counts: Numbers, guarantee: Guarantee, details: Mapping[str, Any] | None = None
) -> NoisyRelease:
    """Make a noisy release of boxes and their counts of the one sensitive attribute."""
    lo, hi = np.asarray(lo, np.int32), np.asarray(hi, np.int32)
    boxes = Boxes(lo, hi, counts.sum(axis=1), np.arange(len(lo)))
    return NoisyRelease(table, boxes, counts, guarantee, dict(details or {}))
