"""Who beats whom: measures turned so that lower is better, and the rows that no other row dominates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.measures import MEASURES


def cost(name: str, value: float) -> float:
    """Turn a measure so that lower is better."""
    return value if MEASURES[name].better == "lower" else -value


def non_dominated(costs: NDArray[np.float64]) -> list[int]:
    """Find the rows that no other row dominates (at most as large everywhere, smaller somewhere)."""
    order = np.lexsort(costs.T[::-1])
    kept: list[int] = []
    front = np.empty((0, costs.shape[1]))
    for i in order:
        row = costs[i]
        worse = (front <= row).all(axis=1) & (front < row).any(axis=1)
        if not worse.any():
            kept.append(int(i))
            front = np.concatenate([front, row[None]])
    return sorted(kept)
