"""Differential privacy as a promise: the budget, its parts, and what two currencies of it are worth.

A budget is epsilon, or epsilon with a delta. With epsilon alone it is kept in epsilon, and the parts add up. With a
delta it is kept in rho of zero-concentrated differential privacy (zCDP, Bun & Steinke 2016), whose parts add up too and
under which Gaussian noise is cheap. What rho is worth (Canonne, Kamath & Steinke 2020, proposition 12 for Renyi
differential privacy, of which zCDP is alpha rho at every order alpha): rho-zCDP is (epsilon, delta)-differentially
private with, for any alpha > 1,

    delta = exp((alpha - 1) (alpha rho - epsilon)) / alpha * (1 - 1 / alpha) ^ (alpha - 1)

Every alpha gives a delta that holds, so a search that stops short of the best one is still right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Literal

Unit = Literal["epsilon", "rho"]
"""What a budget is kept in: epsilon, or rho of zero-concentrated differential privacy."""

HALVINGS = 200
"""More than enough for a search by halves to end between two neighbouring floating-point numbers."""

ROUNDING = 1e-9
"""By how much a delta is taken to be larger than worked out: far more than rounding can have made of it."""


@dataclass(frozen=True)
class Budget:
    """What a release may cost. With a delta, whatever epsilon bounds may be exceeded with at most that probability."""

    epsilon: float
    delta: float = 0.0

    @property
    def unit(self) -> Unit:
        """What it is kept in."""
        return "rho" if self.delta else "epsilon"

    @property
    def amount(self) -> float:
        """How much of that there is to spend."""
        return rho_of(self.epsilon, self.delta) if self.delta else self.epsilon


@dataclass(frozen=True)
class Spent:
    """A part of the budget: what it paid for, and how much; parts of one level look at disjoint records."""

    what: str
    level: int
    amount: float
    """In what the budget is kept in."""


@dataclass(frozen=True)
class Guarantee:
    """Differential privacy as it was kept: neighbouring tables, the budget in its parts, what is public anyway."""

    budget: Budget
    spent: tuple[Spent, ...]
    neighbours: str
    """What two neighbouring tables are, in words."""

    public: tuple[str, ...]
    """What was taken as known to everybody, in sentences."""

    def __post_init__(self) -> None:
        if sum(Fraction(part.amount) for part in self.spent) > Fraction(self.budget.amount):
            raise AssertionError(f"the parts of the budget sum up to more than {self.budget.amount!r}")

    @property
    def epsilon(self) -> float:
        """The budget of the whole release, which all parts together do not exceed."""
        return self.budget.epsilon

    @property
    def delta(self) -> float:
        """With which probability epsilon may not hold; 0 where it always does."""
        return self.budget.delta

    @property
    def by_level(self) -> dict[int, float]:
        """What was spent on every level, the root is 0: all parts look at the same records, so they add up."""
        levels = sorted({part.level for part in self.spent})
        return {level: math.fsum(p.amount for p in self.spent if p.level == level) for level in levels}

    @property
    def by_purpose(self) -> dict[str, float]:
        """What was spent on counts, on medians and so on."""
        purposes = dict.fromkeys(part.what for part in self.spent)
        return {what: math.fsum(p.amount for p in self.spent if p.what == what) for what in purposes}


def delta_of(rho: float, epsilon: float) -> float:
    """Return a delta with which rho-zCDP is (epsilon, delta)-differentially private: nearly the least, never less."""
    low, high = 1.0, (epsilon + 1) / (2 * rho) + 2
    for _ in range(HALVINGS):  # the logarithm of delta is convex in alpha: look for where it stops falling
        alpha = (low + high) / 2
        if (2 * alpha - 1) * rho - epsilon + math.log1p(-1 / alpha) < 0:
            low = alpha
        else:
            high = alpha
    alpha = high
    exponent = (alpha - 1) * (alpha * rho - epsilon + math.log1p(-1 / alpha)) - math.log(alpha)
    return math.exp(min(exponent, 0.0)) * (1 + ROUNDING)


@cache
def rho_of(epsilon: float, delta: float) -> float:
    """Return how much rho of zCDP (epsilon, delta) buys: nearly the most, never more."""
    low, high = 0.0, epsilon + 1
    for _ in range(HALVINGS):
        rho = (low + high) / 2
        if not low < rho < high:
            break
        low, high = (rho, high) if delta_of(rho, epsilon) <= delta else (low, rho)
    return low
