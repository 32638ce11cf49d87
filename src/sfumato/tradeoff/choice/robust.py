"""How robust releases are: what they measure when the table is resampled, and which of near-equal ones loses least.

A resample has as many records, drawn from the table with replacement; the releases recode it as they recode the table.
So an interval says what else the axes could have shown had other people of the same population come into the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sfumato.quiet import Quiet
from sfumato.tradeoff.choice.hull import Scale

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Point

NEAR_EQUAL = 0.02
"""Releases whose advantages differ by less than this share of the scale are near-equal."""

MOST_RIVALS = 4
"""So many of the near-equal releases are compared, the first of them by their advantage."""

MIDDLE = 0.9
"""The part of the resamples that an interval spans, as many left out below as above."""


@dataclass(frozen=True, repr=False)
class Resampled(Quiet):
    """What points measure on resampled tables."""

    resamples: int
    seed: int
    values: Mapping[str, Mapping[str, tuple[float, ...]]]
    """By point and measure its value on every resample, in their order."""

    note: str = ""
    """Why there is nothing of some point; nothing where all are known."""

    @property
    def intervals(self) -> dict[str, dict[str, tuple[float, float]]]:
        """By point and measure, between which values the middle of the resamples lies."""
        return {
            id: {name: (low(values), low(values, 1 - (1 - MIDDLE) / 2)) for name, values in measures.items()}
            for id, measures in self.values.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the intervals as plain values, and how they came about."""
        return {
            "resamples": self.resamples,
            "seed": self.seed,
            "share": MIDDLE,
            "intervals": self.intervals,
            "note": self.note,
        }

    def advantage(self, point: Point, scale: Scale) -> float | None:
        """Return the advantage that a point keeps in all but the worst resamples; None where it was not resampled."""
        known = self.values.get(point.id, {})
        if not all(axis in known for axis in scale.axes):
            return None
        places = zip(*(known[axis] for axis in scale.axes), strict=True)
        moved = [replace(point, measures=dict(zip(scale.axes, place, strict=True))) for place in places]
        return low([scale.kept(each).advantage for each in moved])


class Resampler(Protocol):
    """Who has the table at hand, or says that it is not."""

    def resampled(self, points: Sequence[Point], measures: Sequence[str]) -> Resampled:
        """Measure points on resampled tables."""

    def whole(self) -> Mapping[str, float]:
        """Measure all records in one group; nothing where the table is not at hand."""


def near_equal(knees: Sequence[Point], scale: Scale) -> list[Point]:
    """List the first knees that are about as good as the first of all."""
    first = scale.kept(knees[0]).advantage
    return [point for point in knees[:MOST_RIVALS] if scale.kept(point).advantage > first - NEAR_EQUAL]


def low(values: Sequence[float], share: float = (1 - MIDDLE) / 2) -> float:
    """Return a low quantile, always one of the values, so that infinite ones do no harm."""
    return float(np.quantile(values, share, method="nearest"))
