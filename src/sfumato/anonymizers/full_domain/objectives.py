"""What a search of the lattice makes small: the value of a transformation, and a bound for all between two.

Bounds are what lets an exact search leave most of the lattice out. For every transformation between `lo` and `hi`
(level by level), values are at least as general as at `lo`, and the deficit of `hi` is suppressed (`deficits`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sfumato.anonymizers.full_domain.lattice import Lattice, LatticeNode
from sfumato.anonymizers.full_domain.roll_up import Levels


@dataclass(frozen=True, eq=False)
class Objective(ABC):
    """A number to make small. Smaller is better; a transformation that publishes nothing is never asked about."""

    lattice: Lattice
    budget: int
    """How many records may be suppressed."""

    reads_lowest: ClassVar[bool] = False
    """Whether bounds get better when the finest transformation of a box is checked too."""

    @abstractmethod
    def value(self, node: LatticeNode) -> float:
        """Return the value of a transformation."""

    @abstractmethod
    def bound(self, lo: Levels, low: LatticeNode | None, high: LatticeNode) -> float:
        """Return what no transformation between `lo` and `high` can fall below; `low` is known or not."""


@dataclass(frozen=True, eq=False)
class Loss(Objective):
    """The measure `loss`, with attributes weighted and joined in one of three ways."""

    weights: tuple[float, ...]
    aggregate: str

    def value(self, node: LatticeNode) -> float:
        """Join the attributes' losses; a suppressed record counts 1 in each."""
        return self._joined(node.levels, node.suppressed_loss, node.suppressed)

    def bound(self, lo: Levels, low: LatticeNode | None, high: LatticeNode) -> float:
        """Join what is lost at `lo` with what the deficit of `high` costs on top."""
        return self._joined(lo, high.deficit_loss, high.deficit)

    def _joined(self, levels: Levels, saved: Sequence[float], added: float) -> float:
        """Join the losses at these levels, after something is taken off each and something added to all."""
        records = self.lattice.records
        losses = [
            min(max((by_level[level] - less + added) / records, 0.0), 1.0)
            for by_level, level, less in zip(self.lattice.level_losses, levels, saved, strict=True)
        ]
        return joined(losses, self.weights, self.aggregate)


def joined(losses: Sequence[float], weights: Sequence[float], aggregate: str) -> float:
    """Join the losses of all attributes: their weighted mean, largest, or geometric mean (of 1 + loss, less 1)."""
    if aggregate == "max":
        return max(weight * loss for weight, loss in zip(weights, losses, strict=True)) / max(weights)
    if aggregate == "geometric":
        logarithms = [weight * math.log1p(loss) for weight, loss in zip(weights, losses, strict=True)]
        return math.expm1(sum(logarithms) / sum(weights))
    return sum(weight * loss for weight, loss in zip(weights, losses, strict=True)) / sum(weights)


@dataclass(frozen=True, eq=False)
class GeneralizationLoss(Loss):
    """The part of `loss` that is due to generalization alone."""

    def value(self, node: LatticeNode) -> float:
        """Join the losses of what is published."""
        return self._joined(node.levels, node.suppressed_loss, 0)

    def bound(self, lo: Levels, low: LatticeNode | None, high: LatticeNode) -> float:
        """Take everything off that the budget could hide."""
        return self._joined(lo, [0.0] * len(lo), -self.budget)


@dataclass(frozen=True, eq=False)
class Discernibility(Objective):
    """Every record costs the size of its group, a suppressed one the size of the table (Bayardo & Agrawal 2005)."""

    reads_lowest: ClassVar[bool] = True

    def value(self, node: LatticeNode) -> float:
        """Sum the costs up."""
        return node.squares + float(node.suppressed) * self.lattice.records

    def bound(self, lo: Levels, low: LatticeNode | None, high: LatticeNode) -> float:
        """Groups only grow above `lo`, whether published or not."""
        finest = 0.0 if low is None else low.all_squares
        return max(finest, float(high.deficit) * self.lattice.records)


@dataclass(frozen=True, eq=False)
class AverageGroup(Objective):
    """Published records per group. It falls and rises along the lattice, so it prunes little."""

    reads_lowest: ClassVar[bool] = True

    def value(self, node: LatticeNode) -> float:
        """Divide."""
        return (self.lattice.records - node.suppressed) / node.groups

    def bound(self, lo: Levels, low: LatticeNode | None, high: LatticeNode) -> float:
        """Count all groups of `lo`, and as few records as the budget allows."""
        return 1.0 if low is None else max(1.0, (self.lattice.records - self.budget) / low.all_groups)


def objective(lattice: Lattice, budget: int, minimize: str, weights: Sequence[float], aggregate: str) -> Objective:
    """Make the objective of a name."""
    if minimize in ("loss", "generalization_loss"):
        kind = Loss if minimize == "loss" else GeneralizationLoss
        return kind(lattice, budget, tuple(map(float, weights)), aggregate)
    others = {"discernibility": Discernibility, "average_group": AverageGroup}
    return others[minimize](lattice, budget)
