"""Where the noise of differentially private releases comes from: OpenDP, whose generator nobody can seed.

Two questions are all that our mechanisms ask of it.

- `add`: whole-numbered counts with noise of the discrete Laplace (two-sided geometric) distribution, P(z) in
  proportion to exp(-epsilon |z|). One record more or less changes one count by 1, so epsilon is what it costs.
  Whole numbers, because noise in floating-point numbers betrays its input in its last bits (Mironov 2012).
- `choose`: of several candidates with scores, one with a high score. One record changes every score by at most 1.
  OpenDP adds exponential noise of scale 2 / epsilon and takes the best. That is the permute-and-flip mechanism
  (McKenna & Sheldon 2020), which costs what the exponential mechanism costs and never chooses worse.

`UnsafeSeededNoise` draws from the same distributions with a seed, for tests and for maps that must come out the same
twice. Whoever knows the seed can take the noise away again, so what it draws is never written to a file.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.arrays import Counts
from sfumato.errors import BadInputError

Measurement = Callable[[Any], Any]
BATCH = 100_000
"""How many counts are handed to OpenDP at a time: it keeps them in lists, so this bounds the memory."""


class Noise(ABC):
    """A source of noise."""

    safe: bool
    """Whether a release drawn with it may be published."""

    @abstractmethod
    def add(self, counts: Counts, epsilon: float) -> Counts:
        """Return the counts, each with noise of its own."""

    @abstractmethod
    def choose(self, scores: Counts, offsets: Counts, epsilon: float) -> Counts:
        """Choose one candidate of every list of scores; list i is `scores[offsets[i]:offsets[i + 1]]`."""


class OpenDPNoise(Noise):
    """Noise from OpenDP."""

    safe = True

    def add(self, counts: Counts, epsilon: float) -> Counts:
        """Add discrete Laplace noise, many counts at a time."""
        noisy = np.empty(counts.size, np.int64)
        flat, measurement = counts.ravel(), _laplace(epsilon)
        for start in range(0, flat.size, BATCH):
            noisy[start : start + BATCH] = measurement(flat[start : start + BATCH])
        return noisy.reshape(counts.shape)

    def choose(self, scores: Counts, offsets: Counts, epsilon: float) -> Counts:
        """Choose by permute-and-flip; where there is one candidate only, no noise is needed."""
        measurement = _noisy_max(epsilon)
        chosen = np.zeros(len(offsets) - 1, np.int64)
        for i in np.flatnonzero(np.diff(offsets) > 1):
            chosen[i] = measurement(scores[offsets[i] : offsets[i + 1]])
        return chosen


class UnsafeSeededNoise(Noise):
    """The same distributions from a seed: repeatable, and therefore no protection at all."""

    safe = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def add(self, counts: Counts, epsilon: float) -> Counts:
        """Add the difference of two geometric numbers, which is discrete Laplace."""
        end = -math.expm1(-epsilon)
        first, second = (self._generator.geometric(end, counts.shape) for _ in range(2))
        return counts + first - second

    def choose(self, scores: Counts, offsets: Counts, epsilon: float) -> Counts:
        """Take the best of every list after adding exponential noise."""
        noisy = scores + self._generator.exponential(2 / epsilon, len(scores))
        return np.array([np.argmax(noisy[a:b]) for a, b in pairwise(offsets)], np.int64)


def variance(epsilon: float) -> float:
    """Return the variance of the noise that `add` adds: 2 p / (1 - p)^2 with p = exp(-epsilon)."""
    return 2 * math.exp(-epsilon) / math.expm1(-epsilon) ** 2


@cache
def _opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError:
        raise BadInputError(
            "differentially private releases take their noise from OpenDP, which is not installed; "
            'install it with pip install "sfumato[dp]"'
        ) from None
    dp.enable_features("contrib")
    return dp


@cache
def _laplace(epsilon: float) -> Measurement:
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    return _within(epsilon, 1 / epsilon, lambda scale: dp.m.make_laplace(*space, scale=scale))


@cache
def _noisy_max(epsilon: float) -> Measurement:
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    return _within(epsilon, 2 / epsilon, lambda scale: dp.m.make_noisy_max(*space, dp.max_divergence(), scale=scale))


def _within(epsilon: float, scale: float, make: Callable[[float], Any]) -> Measurement:
    """Make a measurement that by OpenDP's own account costs no more than epsilon; rounding may ask for a hair more."""
    while make(scale).map(1) > epsilon:
        scale = math.nextafter(scale, math.inf)
    measurement: Measurement = make(scale)
    return measurement
