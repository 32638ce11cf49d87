"""Scores of a classifier on weighted test records: accuracy, balanced accuracy, area under the curve, Brier score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.arrays import Numbers

SCORES = ("accuracy", "balanced", "auc", "brier")


@dataclass(frozen=True, eq=False)
class Fold:
    """What was said of one fold: for every row that was tested the likelihood of each class, and what was true."""

    chances: Numbers
    """Rows x classes."""

    true: Numbers
    """Rows x classes: the records of every class that show this row."""


def score(fold: Fold) -> dict[str, float]:
    """Score the answers of a fold."""
    chances, true = fold.chances, fold.true
    total, per_class = float(true.sum()), true.sum(axis=0)
    guess = chances.argmax(axis=1)
    right = np.bincount(guess, weights=true[np.arange(len(guess)), guess], minlength=true.shape[1])
    there = per_class > 0
    return {
        "accuracy": float(right.sum()) / total,
        "balanced": float((right[there] / per_class[there]).mean()),
        "auc": area(chances, true),
        "brier": float((true.sum(axis=1) * (chances**2).sum(axis=1) - 2 * (true * chances).sum(axis=1)).sum() + total)
        / total,
    }


def area(chances: Numbers, true: Numbers) -> float:
    """Average over the classes how often a record of the class is thought likelier to be of it than one that is not.

    Ties count half. With two classes both have the same area.
    """
    rows, areas = true.sum(axis=1), []
    for c in range(true.shape[1]):
        inside, outside = true[:, c], rows - true[:, c]
        if inside.sum() == 0 or outside.sum() == 0:
            continue
        _, place = np.unique(chances[:, c], return_inverse=True)
        members, other = np.bincount(place, weights=inside), np.bincount(place, weights=outside)
        below = np.cumsum(other) - other
        areas.append(float((members * (below + other / 2)).sum() / (inside.sum() * outside.sum())))
    return float(np.mean(areas)) if areas else 0.5
