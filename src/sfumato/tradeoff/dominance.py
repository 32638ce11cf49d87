"""Who beats whom: measures turned so that lower is better, rows that no other dominates, and what these dominate."""

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


def hypervolume(costs: NDArray[np.float64], corner: NDArray[np.float64]) -> float:
    """Return the volume of what some rows dominate, up to a corner; rows that are not below it count nothing.

    Row by row, what it dominates less what the later ones dominate of the same (While, Bradstreet & Barone 2012).
    """
    inside = np.unique(costs[(costs < corner).all(axis=1)], axis=0)
    front = inside[non_dominated(inside)]
    if len(corner) <= 2 and len(front):  # a staircase: sorted by the first, descending in the second
        ends = np.append(front[1:, 0], corner[0])
        return float(((ends - front[:, 0]) * (corner[1:] - front[:, 1:]).prod(axis=1)).sum())
    return sum((exclusive(row, front[i + 1 :], corner) for i, row in enumerate(front)), 0.0)


def exclusive(row: NDArray[np.float64], others: NDArray[np.float64], corner: NDArray[np.float64]) -> float:
    """Return the volume of what a row dominates, up to a corner, and no other row does."""
    if not (row < corner).all():
        return 0.0
    return max(float((corner - row).prod()) - hypervolume(np.maximum(others, row), corner), 0.0)
