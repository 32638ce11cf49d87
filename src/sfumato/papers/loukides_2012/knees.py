"""The knees of the paper's curves: by angle (section 5, the method of Zhao et al. 2008), Kneedle's beside it.

Both look at the curve with its axes turned so that lower is better, and scaled to 0..1 between its ends. Kneedle is
that of Satopaa et al. 2011, offline; the points are exact, so they are neither smoothed nor resampled.
"""

from __future__ import annotations

from itertools import pairwise
from math import degrees, inf
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.tradeoff.choice.curve import ALIKE, Curve

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Point

NEAR = 0.05
"""An angle is taken between neighbours at least this far away, so that two nearly equal releases make no knee."""

LEAST_BEND = 1.0
"""A curve that turns by less than this many degrees is straight."""


def angles(curve: Curve) -> dict[str, float]:
    """Return the angle in degrees at every finite point but the ends: below 180 where it bends to the ideal corner."""
    place, found = curve.square, {}
    for i in range(1, len(place) - 1):
        away = np.hypot(*(place - place[i]).T) >= NEAR
        before = max((j for j in range(i) if away[j]), default=0)
        after = min((j for j in range(i + 1, len(place)) if away[j]), default=len(place) - 1)
        (dx, dy), (ex, ey) = place[i] - place[before], place[after] - place[i]
        found[curve.finite[i].id] = 180.0 - degrees(np.arctan2(dx * ey - dy * ex, dx * ex + dy * ey))
    return found


def knees_by_angle(curve: Curve) -> list[Point]:
    """List the points at which the curve bends to the ideal corner, the sharpest angle first."""
    turns, below = angles(curve), _below_diagonal(curve)
    bends = [i for i, point in enumerate(curve.finite) if turns.get(point.id, 180.0) <= 180.0 - LEAST_BEND]
    sharp = {i: round(turns[curve.finite[i].id], 6) for i in bends}
    return [curve.finite[i] for i in sorted(bends, key=lambda i: (sharp[i], -round(float(below[i]), 9), i))]


def knees_by_kneedle(curve: Curve, sensitivity: float = 1.0) -> list[Point]:
    """List the knees that Kneedle declares, the one furthest below the diagonal first.

    A local maximum of the difference curve is a knee if the curve falls below it by more than `sensitivity` mean
    steps before the next maximum.
    """
    below = _below_diagonal(curve)
    peaks = [i for i in range(1, len(below) - 1) if below[i] > ALIKE and _is_peak(below, i)]
    knees = []
    for i, following in pairwise([*peaks, len(below)]):
        threshold = below[i] - sensitivity / (len(below) - 1)
        if (below[i + 1 : following] < threshold - ALIKE).any():
            knees.append(i)
    return [curve.finite[i] for i in sorted(knees, key=lambda i: (-round(float(below[i]), 9), i))]


def _below_diagonal(curve: Curve) -> NDArray[np.float64]:
    """Return how far each finite point lies on the good side of the line between the ends: the difference curve."""
    return np.asarray(1.0 - curve.square.sum(axis=1))


def _is_peak(values: NDArray[np.float64], i: int) -> bool:
    """Say whether values rise to i and fall after it; of a plateau the first place counts."""
    later = next((value for value in values[i + 1 :] if abs(value - values[i]) > ALIKE), inf)
    return bool(values[i] > values[i - 1] + ALIKE and values[i] > later)
