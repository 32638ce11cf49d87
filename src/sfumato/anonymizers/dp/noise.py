"""The source of noise of differentially private releases: OpenDP, whose generator cannot be seeded.

Two questions are all that our mechanisms ask of it, each paid in the currency of the budget (`Unit`).

- `add`: whole-numbered counts with noise. One record more or less changes one count by 1. In epsilon the noise is of
  the discrete Laplace (two-sided geometric) distribution, P(z) in proportion to exp(-epsilon |z|); in rho of the
  discrete Gaussian, P(z) in proportion to exp(-rho z^2), which is rho-zCDP (Canonne, Kamath & Steinke 2020). Whole
  numbers, because noise in floating-point numbers betrays its input in its last bits (Mironov 2012).
- `choose`: of several candidates with scores, one with a high score. One record changes every score by at most
  `sensitivity`. In epsilon OpenDP adds exponential noise of scale 2 sensitivity / epsilon and takes the best. That is
  the permute-and-flip mechanism (McKenna & Sheldon 2020), which costs what the exponential mechanism costs and never
  chooses worse. In rho it adds Gumbel noise, which is the exponential mechanism itself: with an epsilon of
  sqrt(8 rho) it is rho-zCDP (Cesar & Rogers 2021).

Later draws from the answers (synthetic records) need no secret noise of that kind. `generator` provides their
randomness, which cannot be seeded where the noise cannot.

`UnsafeSeededNoise` draws from the same distributions with a seed, for tests and for maps that must come out the same
twice. Knowledge of the seed would allow removing the noise, so these draws are never written to a file.
"""

import math
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.release.content import Unit
from sfumato.runtime.arrays import Counts

Measurement = Callable[[Any], Any]
BATCH = 100_000
"""How many counts are handed to OpenDP at a time: it keeps them in lists, so this bounds the memory."""

WIDE = 1000
"""The scale from which on the stand-in for discrete Gaussian noise is a rounded normal number."""


class Noise(ABC):
    """A source of noise."""

    safe: bool
    """Whether a release drawn with it may be published."""

    @abstractmethod
    def add(self, counts: Counts, amount: float, unit: Unit = "epsilon") -> Counts:
        """Return the counts, each with independent noise."""

    @abstractmethod
    def choose(
        self, scores: Counts, offsets: Counts, amount: float, unit: Unit = "epsilon", sensitivity: int = 1
    ) -> Counts:
        """Choose one candidate of every list of scores; list i is `scores[offsets[i]:offsets[i + 1]]`."""

    def generator(self) -> np.random.Generator:
        """Return what draws records from the noisy answers."""
        return np.random.default_rng(secrets.randbits(256))


class OpenDPNoise(Noise):
    """Noise from OpenDP."""

    safe = True

    def add(self, counts: Counts, amount: float, unit: Unit = "epsilon") -> Counts:
        """Add discrete Laplace or Gaussian noise, many counts at a time."""
        noisy = np.empty(counts.size, np.int64)
        flat, measurement = counts.ravel(), _laplace(amount) if unit == "epsilon" else _gaussian(amount)
        for start in range(0, flat.size, BATCH):
            noisy[start : start + BATCH] = measurement(flat[start : start + BATCH])
        return noisy.reshape(counts.shape)

    def choose(
        self, scores: Counts, offsets: Counts, amount: float, unit: Unit = "epsilon", sensitivity: int = 1
    ) -> Counts:
        """Choose by permute-and-flip or the exponential mechanism; of one candidate only, without noise."""
        measurement = _noisy_max(amount, sensitivity) if unit == "epsilon" else _gumbel_max(amount, sensitivity)
        chosen = np.zeros(len(offsets) - 1, np.int64)
        for i in np.flatnonzero(np.diff(offsets) > 1):
            chosen[i] = measurement(scores[offsets[i] : offsets[i + 1]])
        return chosen


class UnsafeSeededNoise(Noise):
    """The same distributions from a seed: repeatable, and therefore no protection at all."""

    safe = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def add(self, counts: Counts, amount: float, unit: Unit = "epsilon") -> Counts:
        """Add the difference of two geometric numbers, which is discrete Laplace; or discrete Gaussian noise."""
        if unit == "rho":
            return counts + _discrete_gaussian(counts.size, amount, self._generator).reshape(counts.shape)
        end = -math.expm1(-amount)
        first, second = (self._generator.geometric(end, counts.shape) for _ in range(2))
        return counts + first - second

    def choose(
        self, scores: Counts, offsets: Counts, amount: float, unit: Unit = "epsilon", sensitivity: int = 1
    ) -> Counts:
        """Take the best of every list after adding exponential or Gumbel noise."""
        if unit == "rho":
            noisy = scores + self._generator.gumbel(0, sensitivity / math.sqrt(2 * amount), len(scores))
        else:
            noisy = scores + self._generator.exponential(2 * sensitivity / amount, len(scores))
        return np.array([np.argmax(noisy[a:b]) for a, b in pairwise(offsets)], np.int64)

    def generator(self) -> np.random.Generator:
        """Return what the seed gives next."""
        return np.random.default_rng(self._generator.integers(0, 2**63))


def variance(amount: float, unit: Unit = "epsilon") -> float:
    """Return the variance of the noise that `add` adds: 2 p / (1 - p)^2 with p = exp(-epsilon); in rho 1 / (2 rho).

    That of the discrete Gaussian is a little less than 1 / (2 rho), and much less where rho is large.
    """
    if unit == "rho":
        return 1 / (2 * amount)
    return 2 * math.exp(-amount) / math.expm1(-amount) ** 2


def _discrete_gaussian(number: int, rho: float, generator: np.random.Generator) -> Counts:
    """Draw whole numbers z with P(z) in proportion to exp(-rho z^2): by a table up to where nothing is left of it.

    From a scale of `WIDE` on, a rounded normal number cannot be distinguished from it.
    """
    if 2 * rho * WIDE**2 < 1:
        return np.rint(generator.normal(0, math.sqrt(1 / (2 * rho)), number)).astype(np.int64)
    reach = math.ceil(math.sqrt(40 / rho)) + 1
    weights = np.exp(-rho * np.arange(-reach, reach + 1.0) ** 2)
    cumulative = np.cumsum(weights)
    noise: Counts = np.searchsorted(cumulative, generator.random(number) * cumulative[-1], side="right") - reach
    return noise


@cache
def _opendp() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


def _vectors(distance: str) -> tuple[Any, Any]:
    """Return OpenDP's space of whole-numbered vectors under a distance."""
    dp = _opendp()
    return dp.vector_domain(dp.atom_domain(T="i64")), getattr(dp, distance)(T="i64")


@cache
def _laplace(epsilon: float) -> Measurement:
    return _within(epsilon, 1 / epsilon, partial(_opendp().m.make_laplace, *_vectors("l1_distance")))


@cache
def _gaussian(rho: float) -> Measurement:
    return _within(rho, math.sqrt(1 / (2 * rho)), partial(_opendp().m.make_gaussian, *_vectors("l2_distance")))


@cache
def _noisy_max(epsilon: float, sensitivity: int = 1) -> Measurement:
    make = partial(_opendp().m.make_noisy_max, *_vectors("linf_distance"), _opendp().max_divergence())
    return _within(epsilon, 2 * sensitivity / epsilon, make, sensitivity)


@cache
def _gumbel_max(rho: float, sensitivity: int = 1) -> Measurement:
    make = partial(_opendp().m.make_noisy_max, *_vectors("linf_distance"), _opendp().zero_concentrated_divergence())
    return _within(rho, sensitivity / math.sqrt(2 * rho), make, sensitivity)


def _within(amount: float, scale: float, make: Callable[..., Any], distance: int = 1) -> Measurement:
    """Make a measurement that by OpenDP's own account costs no more than paid; rounding may ask for a hair more."""
    while make(scale=scale).map(distance) > amount:
        scale = math.nextafter(scale, math.inf)
    measurement: Measurement = make(scale=scale)
    return measurement
