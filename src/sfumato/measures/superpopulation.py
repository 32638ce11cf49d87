"""The population behind a sample: how many of its members are alone with their values, and how risky a record is.

A table is often a sample of a population that nobody has. Two models estimate from the group sizes of the sample how
many members of the population are unique. One is Zayatz (1991), by the chance of drawing exactly one member of a
group. The other is Pitman's sampling formula (Hoshino 2001), whose parameters theta and alpha are found by maximum
likelihood. With sampling weights, the risk of one record is that of Benedetti & Franconi as given by Franconi &
Polettini (2004).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.runtime.arrays import Counts, Numbers

SMALL_FRACTION = 0.1
"""Up to this sampling fraction Pitman's model is the better one, above it Zayatz's (Dankar et al. 2012)."""

LEAST_ALPHA = 1e-6
SHIFTS = np.arange(12.0)
STEPS = 200
"""Bisections after which no double is left between the two ends."""


@dataclass(frozen=True)
class PopulationUniques:
    """Estimated numbers of persons who are alone with their values in the population; None where there is none."""

    population: int
    sampling_fraction: float
    zayatz: float
    pitman: float | None
    theta: float | None = None
    alpha: float | None = None
    why_not_pitman: str = ""

    @property
    def model(self) -> str:
        """The model to go by."""
        return "pitman" if self.pitman is not None and self.sampling_fraction <= SMALL_FRACTION else "zayatz"

    @property
    def uniques(self) -> float:
        """The estimated number of the model to go by."""
        return self.pitman if self.model == "pitman" and self.pitman is not None else self.zayatz

    @property
    def share(self) -> float:
        """The estimated share of the population; also of the sample: persons unique in the population and in it."""
        return self.uniques / self.population


def population_uniques(sizes: Counts, population: int) -> PopulationUniques:
    """Estimate how many members of a population are unique, from the sizes of a sample's groups."""
    records = int(sizes.sum())
    fraction = records / population
    by_zayatz = zayatz(sizes, population)
    fitted = fit_pitman(sizes)
    if isinstance(fitted, str):
        return PopulationUniques(population, fraction, by_zayatz, None, why_not_pitman=fitted)
    theta, alpha = fitted
    return PopulationUniques(population, fraction, by_zayatz, expected_uniques(theta, alpha, population), theta, alpha)


# -- Zayatz 1991 -------------------------------------------------------------------------------------------


def zayatz(sizes: Counts, population: int) -> float:
    """Estimate the population's uniques: the sample's, times the chance that one is, over the sampling fraction.

    The groups of the sample represent those of the population: of size i, one yields exactly one record with
    probability i C(N-i, n-1) / C(N, n). By Bayes' rule, this gives the chance that a sample unique has size 1.
    """
    records = int(sizes.sum())
    occurring, groups = np.unique(sizes, return_counts=True)
    if occurring[0] != 1:
        return 0.0
    steps = np.arange(1, int(occurring[-1]), dtype=np.float64)
    left = np.clip(1 - (records - 1) / np.maximum(population - steps, 1), 0, 1)
    with np.errstate(divide="ignore"):
        chances = np.exp(np.concatenate([[0.0], np.cumsum(np.log(left))]))
    relative = occurring * chances[occurring - 1]
    alone = float(groups[0] / (groups * relative).sum())
    return alone * float(groups[0]) * population / records


# -- Pitman's model, Hoshino 2001 --------------------------------------------------------------------------


def fit_pitman(sizes: Counts) -> tuple[float, float] | str:
    """Find theta and alpha of greatest likelihood; where there are none, say why.

    For every alpha one theta makes the first likelihood equation hold; along these pairs the second one is solved by
    bisection. Both are sums that digamma functions have in closed form, so the size of the table does not matter.
    """
    records, groups = int(sizes.sum()), len(sizes)
    if not (sizes == 1).any():
        return "no record is alone in the table"
    if groups == records:
        return "every record is alone in the table"
    if groups == 1:
        return "all records are equal"
    occurring, number = np.unique(sizes, return_counts=True)

    def second(alpha: float) -> float:
        return by_alpha(best_theta(alpha, groups, records), alpha, groups, occurring, number)

    if second(LEAST_ALPHA) <= 0:
        return "the group sizes are more even than the model allows (alpha would be 0)"
    alpha = _root(second, LEAST_ALPHA, 1 - 1e-12)
    return best_theta(alpha, groups, records), alpha


def best_theta(alpha: float, groups: int, records: int) -> float:
    """Solve the first likelihood equation for theta: sum 1/(theta + i alpha) = sum 1/(theta + i)."""

    def first(theta: float) -> float:
        return by_theta(theta, alpha, groups, records)

    low, high = -alpha * (1 - 1e-12), 1.0
    while first(high) > 0:
        low, high = high, high * 2
    return _root(first, low, high)


def by_theta(theta: float, alpha: float, groups: int, records: int) -> float:
    """Differentiate the log-likelihood by theta: sum over i < u of 1/(theta + i alpha), less over i < n, alpha 1."""
    return _harmonic(theta / alpha, groups) / alpha - _harmonic(theta, records)


def by_alpha(theta: float, alpha: float, groups: int, occurring: Counts, number: Counts) -> float:
    """Differentiate by alpha: sum over i < u of i/(theta + i alpha), less over groups and j < size of 1/(j - alpha)."""
    grown = ((groups - 1) - theta / alpha * _harmonic(theta / alpha, groups)) / alpha
    within = digamma(occurring.astype(np.float64) - np.float64(alpha)) - digamma(np.array([1 - alpha]))
    return grown - float((number * within).sum())


def expected_uniques(theta: float, alpha: float, population: int) -> float:
    """Return the expected number of groups of one in a population: N (theta+alpha)_(N-1) / (theta+1)_(N-1).

    For a large population this is Hoshino's gamma(theta+1) / gamma(theta+alpha) N^alpha.
    """
    logarithm = math.lgamma(theta + 1) - math.lgamma(theta + alpha) + _log_ratio(theta + population, alpha - 1)
    return population * math.exp(logarithm)


def _log_ratio(x: float, shift: float) -> float:
    """Return log gamma(x + shift) - log gamma(x), also where both are far too large to be subtracted."""
    if x < 1e4:
        return math.lgamma(x + shift) - math.lgamma(x)

    def stirling(z: float) -> float:
        return 1 / (12 * z) - 1 / (360 * z**3)

    grown = shift * (math.log(x) - 1) + (x + shift - 0.5) * math.log1p(shift / x)
    return grown + stirling(x + shift) - stirling(x)


def _harmonic(start: float, count: int) -> float:
    """Sum 1/(start + i) over i from 1 to count - 1."""
    above, below = digamma(np.array([start + count, start + 1]))
    return float(above - below)


def digamma(x: Numbers) -> Numbers:
    """Return the derivative of log gamma: its asymptotic series, some whole steps up where that is exact."""
    stepped = (1 / (x[:, None] + SHIFTS)).sum(axis=1)
    x = x + len(SHIFTS)
    inverse = 1 / (x * x)
    series = inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse * (1 / 240 - inverse / 132))))
    derivative: Numbers = np.log(x) - 0.5 / x - series - stepped
    return derivative


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Find where a function that is positive at `low` and negative at `high` crosses zero."""
    for _ in range(STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return (low + high) / 2


# -- one record --------------------------------------------------------------------------------------------


def individual_risks(sample: Numbers, population: Numbers) -> Numbers:
    """Return the risk of a record whose values f records of the sample and F persons of the population have.

    With p = f/F, the expected value of 1/F given f: exact for f = 1 and 2, and its approximation above. If the
    population is no larger than the sample, it is 1/f.
    """
    f = np.asarray(sample, dtype=np.float64)
    with np.errstate(divide="ignore"):
        p = np.minimum(1.0, f / np.asarray(population, dtype=np.float64))
    rest = 1 - p
    safe = np.where(rest > 0, rest, 0.5)
    logarithm = np.where(rest > 0, -np.log1p(-safe) / safe, 1.0)
    one = p * logarithm
    odds = p / safe
    two = np.where(rest > 0.1, odds * (1 - p * logarithm), p * _series(rest))
    risks: Numbers = np.where(f < 1.5, one, np.where(f < 2.5, two, p / (f - rest)))
    return risks


def _series(x: Numbers) -> Numbers:
    """Sum x^(k-1) / (k (k+1)) over k from 1: what remains for f = 2 and p near 1, where differences would cancel."""
    total = np.zeros_like(x)
    for k in range(20, 0, -1):
        total = total * x + 1 / (k * (k + 1))
    return total
