"""Who beats whom: measures turned so that lower is better, rows that no other dominates, and what these dominate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.measures.all_measures import MEASURES


def cost(name: str, value: float) -> float:
    """Turn a measure so that lower is better."""
    return value if MEASURES[name].better == "lower" else -value


def non_dominated(costs: NDArray[np.float64]) -> list[int]:
    """Find the rows that no other row dominates (at most as large everywhere, smaller somewhere)."""
    order = np.lexsort(costs.T[::-1])
    if costs.shape[1] == 2 and len(costs):
        return sorted(order[_on_staircase(costs[order])].tolist())
    kept: list[int] = []
    front = np.empty((0, costs.shape[1]))
    for i in order:
        row = costs[i]
        worse = (front <= row).all(axis=1) & (front < row).any(axis=1)
        if not worse.any():
            kept.append(int(i))
            front = np.concatenate([front, row[None]])
    return sorted(kept)


def _on_staircase(rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say which of some rows of two numbers no other dominates; they are sorted, and equal ones stand or fall together.

    Sorted by the first number, a row stands if its second is below all before it.
    """
    stands = np.append(True, rows[1:, 1] < np.minimum.accumulate(rows[:-1, 1]))
    is_new = np.append(True, (rows[1:] != rows[:-1]).any(axis=1))
    return stands[np.maximum.accumulate(np.where(is_new, np.arange(len(rows)), 0))]


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
    if len(row) == 2:
        return _above(row, others, corner)
    return max(float((corner - row).prod()) - hypervolume(np.maximum(others, row), corner), 0.0)


def _above(row: NDArray[np.float64], others: NDArray[np.float64], corner: NDArray[np.float64]) -> float:
    """Return the area of what a row of two numbers alone dominates: between it and the staircase of the others."""
    steps = others[np.argsort(others[:, 0])]
    edges = np.concatenate([row[:1], np.clip(steps[:, 0], row[0], corner[0]), corner[:1]])
    heights = np.minimum.accumulate(np.append(corner[1], steps[:, 1]))
    return float(np.diff(edges) @ np.maximum(heights - row[1], 0.0))
