"""The dial of a family of candidates: the number in which they differ, which a search turns.

Dials turn on a logarithmic scale, because that is how people choose them: k = 5, 10, 20 are as far apart as 50, 100,
200.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

DIGITS = 4
"""Significant digits of a dial's values: they are read by people."""


@dataclass(frozen=True)
class Dial:
    """The number that a family varies."""

    field: str
    least: float
    most: float
    whole: bool = False

    def at(self, share: float) -> float:
        """Return the value at a share of the way, rounded to what people would type."""
        return self.rounded(self.least * (self.most / self.least) ** share)

    def between(self, low: float, high: float) -> float | None:
        """Return the value half way between two others, or nothing where none is left."""
        middle = self.rounded(math.sqrt(low * high))
        return middle if low < middle < high else None

    def rounded(self, value: float) -> float:
        """Round to a whole number, or to a few significant digits."""
        return round(value) if self.whole else float(f"{value:.{DIGITS}g}")


def size_dial(field: str, records: int) -> Dial | None:
    """Return the dial of how many records stand together at least; none where there are too few for a choice."""
    return Dial(field, 2, max(records // 2, 2), whole=True) if records >= 4 else None
