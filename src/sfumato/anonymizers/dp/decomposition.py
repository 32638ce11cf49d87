"""What the differentially private trees share: cutting boxes level by level, sharing out the budget, consistency.

A tree is a list of levels, from the one box of everything down. All levels are complete: a box that is not cut goes
on as its own only child, so every level covers the whole domain and every record is counted once on each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.anonymizers.dp.noise import variance
from sfumato.anonymizers.dp.private_cells import Domain, PrivateCells
from sfumato.arrays import Codes, Counts, Numbers

Cut = Callable[[int, Counts, Codes, Codes], Codes]
"""Where to cut: from level, attribute of every box (-1: not cut), its lower and upper ends, to the last leaf below."""

CUBE_ROOT = 2 ** (1 / 3)
LEAST_VARIANCE = 1e-12
"""Noise that is nearly never there counts as this much, so that levels can still be weighed against each other."""


@dataclass(frozen=True, eq=False)
class BoxLevel:
    """The boxes of one level, and where each one's children start on the next."""

    lo: Codes
    hi: Codes
    child: Counts

    @property
    def size(self) -> int:
        """The number of boxes."""
        return len(self.lo)


def shares(epsilon: float, levels: int, ratio: float) -> list[float]:
    """Share out a budget over levels, each `ratio` times the one before; together never more than `epsilon`.

    Level i of n gets epsilon (r - 1) r^i / (r^n - 1), or epsilon / n where r is 1.
    """
    weights = [ratio**i for i in range(levels)]
    parts = [epsilon * weight / math.fsum(weights) for weight in weights]
    largest = weights.index(max(weights))  # bears what rounding leaves
    parts[largest] = _rest(epsilon, [*parts[:largest], *parts[largest + 1 :]])
    return parts


def split(epsilon: float, share: float) -> tuple[float, float]:
    """Split a budget in two, the first with the given share; together never more than `epsilon`."""
    return epsilon * share, _rest(epsilon, [epsilon * share])


def _rest(epsilon: float, parts: Sequence[float]) -> float:
    """Return what the parts leave of a budget, rounded down."""
    left = Fraction(epsilon) - sum(map(Fraction, parts))
    rest = float(left)
    return rest if Fraction(rest) <= left else math.nextafter(rest, 0)


def next_attributes(level: int, lo: Codes, hi: Codes) -> Counts:
    """Take the attributes in turn, one per level; where a box has one leaf only, the next that has more (-1: none)."""
    turn = (level + np.arange(lo.shape[1])) % lo.shape[1]
    wide = (hi > lo)[:, turn]
    attributes: Counts = np.where(wide.any(axis=1), turn[wide.argmax(axis=1)], -1)
    return attributes


def cut_boxes(level: BoxLevel, attribute: Counts, cut: Codes) -> tuple[Codes, Codes]:
    """Return the boxes of the next level, the children of a box side by side, the lower one first."""
    parts = np.where(attribute >= 0, 2, 1)
    lo, hi = np.repeat(level.lo, parts, axis=0), np.repeat(level.hi, parts, axis=0)
    divided = np.flatnonzero(attribute >= 0)
    lower = level.child[divided]
    hi[lower, attribute[divided]] = cut[divided]
    lo[lower + 1, attribute[divided]] = cut[divided] + 1
    return lo, hi


def next_level(
    private: PrivateCells, lo: Codes, hi: Codes, attribute: Counts, cut: Codes
) -> tuple[BoxLevel, Codes, Codes]:
    """Cut the boxes and send the records along; return the level that is done with and the boxes of the next."""
    parts = np.where(attribute >= 0, 2, 1)
    level = BoxLevel(lo, hi, np.cumsum(parts) - parts)
    private.divide(attribute, cut, level.child)
    return level, *cut_boxes(level, attribute, cut)


def grow(
    domain: Domain, private: PrivateCells, budgets: Sequence[float], cut: Cut
) -> tuple[list[BoxLevel], list[Numbers]]:
    """Grow a tree with one level per budget; return its levels with their noisy histograms."""
    levels, noisy = [], []
    lo, hi = domain.whole()
    for depth, epsilon in enumerate(budgets):
        noisy.append(private.histograms(len(lo), domain.values.size, depth, epsilon).astype(np.float64))
        if depth + 1 == len(budgets):
            break
        attribute = next_attributes(depth, lo, hi)
        done, lo, hi = next_level(private, lo, hi, attribute, cut(depth, attribute, lo, hi))
        levels.append(done)
    return [*levels, BoxLevel(lo, hi, np.zeros(0, np.int64))], noisy


def consistent(levels: Sequence[BoxLevel], noisy: Sequence[Numbers], budgets: Sequence[float]) -> list[Numbers]:
    """Make children sum up to their parents: the best linear unbiased estimate from the counts of all levels.

    Hay et al. 2010 for equal noise, Cormode et al. 2012 for noise that differs by level; here every box has a variance
    of its own, so boxes that are not cut fit in. Upwards a box's own count and the sum of its children are averaged
    by inverse variance; downwards what is then left over is dealt out to the children by variance.
    """
    level_variances = [max(variance(epsilon), LEAST_VARIANCE) for epsilon in budgets]
    best, spread = [noisy[-1]], [np.full(levels[-1].size, level_variances[-1])]
    sums: list[Numbers] = []
    totals: list[Numbers] = []
    for level, counts, noise in reversed(list(zip(levels[:-1], noisy[:-1], level_variances[:-1], strict=True))):
        sums.append(np.add.reduceat(best[-1], level.child, axis=0))
        totals.append(np.add.reduceat(spread[-1], level.child))
        weight = totals[-1] / (noise + totals[-1])
        best.append(sums[-1] + weight[:, None] * (counts - sums[-1]))
        spread.append(weight * noise)
    result = [best.pop()]
    spread.pop()
    while best:
        left_over = (result[-1] - sums.pop()) / totals.pop()[:, None]
        children, variances = best.pop(), spread.pop()
        level = levels[len(result) - 1]
        parent = np.repeat(np.arange(level.size), np.diff(level.child, append=len(children)))
        result.append(children + variances[:, None] * left_over[parent])
    return result
