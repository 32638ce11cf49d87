"""How many records have a set of items together: counted on rows of item codes, whatever made them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Codes, Counts
from sfumato.kernels import kernel
from sfumato.table import weighted_counts
from sfumato.transactions.baskets import Baskets, equal_rows, taken_rows
from sfumato.transactions.measures.itemset_counts import holders
from sfumato.transactions.recoding import BasketRelease


@dataclass(frozen=True, eq=False)
class Rows:
    """Distinct rows of codes, ascending within a row, with how many records have each; and which rows have a code."""

    starts: Counts
    codes: Codes
    weights: Counts
    size: int
    """How many codes there are."""

    @staticmethod
    def of_baskets(baskets: Baskets) -> Rows:
        """Take the original baskets."""
        return Rows(baskets.starts, baskets.codes, baskets.weights, len(baskets.items))

    @staticmethod
    def of_release(release: BasketRelease) -> Rows:
        """Take the published rows."""
        recoded = release.recoded()
        return Rows(recoded.starts, recoded.codes, recoded.weights, len(recoded.labels)).merged()

    def merged(self) -> Rows:
        """Take equal rows together."""
        first, link = equal_rows(self.starts, self.codes)
        starts, codes = taken_rows(self.starts, self.codes, first)
        return Rows(starts, codes, weighted_counts(link, self.weights, len(first)), self.size)

    @cached_property
    def postings(self) -> tuple[Counts, Counts]:
        """For every code the rows that have it, as a ragged array."""
        ends, rows, _ = holders(self.starts, self.codes, self.size)
        return ends, rows.astype(np.int64)

    def with_code(self, code: int) -> Rows:
        """Take the rows that have a code, and of them what comes after it."""
        ends, rows = self.postings
        kept = rows[ends[code] : ends[code + 1]]
        place = np.array([np.searchsorted(self.codes[self.starts[r] : self.starts[r + 1]], code) for r in kept], int)
        lo, hi = self.starts[kept] + place + 1, self.starts[kept + 1]
        lengths = hi - lo
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        at = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths) + np.repeat(lo, lengths)
        return Rows(starts, self.codes[at], self.weights[kept], self.size)


@dataclass(frozen=True)
class Spread:
    """How many sets of items have which support; only sets that some record has."""

    supports: NDArray[np.int64]
    """Ascending, each once."""

    numbers: NDArray[np.int64]

    @staticmethod
    def of(supports: NDArray[np.int64]) -> Spread:
        """Count equal supports."""
        values, numbers = np.unique(supports[supports > 0], return_counts=True)
        return Spread(values, numbers)

    def __add__(self, other: Spread) -> Spread:
        values, place = np.unique(np.concatenate([self.supports, other.supports]), return_inverse=True)
        numbers = np.zeros(len(values), np.int64)
        np.add.at(numbers, place, np.concatenate([self.numbers, other.numbers]))
        return Spread(values, numbers)

    @property
    def least(self) -> int:
        """The support of the rarest set; 0 where there is none."""
        return int(self.supports[0]) if len(self.supports) else 0

    def measures(self) -> dict[str, float]:
        """Return the risk of the rarest set, of 99 % and of 95 % of the sets, and how many records have the rarest."""
        return {
            "itemset_risk": self.risk(),
            "itemset_risk_99": self.risk(0.99),
            "itemset_risk_95": self.risk(0.95),
            "least_support": float(self.least) if self.least else inf,
        }

    def risk(self, share: float = 1.0) -> float:
        """Return the risk, 1 / support, that this share of the sets does not exceed; 0 where there is none."""
        if not len(self.supports):
            return 0.0
        reached = np.cumsum(self.numbers[::-1]) >= share * self.numbers.sum() - 1e-9
        return float(1 / self.supports[::-1][int(np.argmax(reached))])


def itemset_spread(rows: Rows, most: int) -> Spread:
    """Count the records of every set of up to `most` codes that some record has."""
    singles = Spread.of(_single_supports(rows))
    return singles if most == 1 else singles + _larger(rows, most)


def _larger(rows: Rows, most: int) -> Spread:
    """Count the sets of 2 to `most` codes: three and more by what comes after each code in the rows that have it."""
    spread = Spread.of(_pair_supports(rows.starts, rows.codes, rows.weights, *rows.postings))
    for code in range(rows.size) if most > 2 else ():
        tails = rows.with_code(code)
        if len(tails.codes):
            spread = spread + _larger(tails, most - 1)
    return spread


def _single_supports(rows: Rows) -> NDArray[np.int64]:
    counted = np.bincount(rows.codes, np.repeat(rows.weights, np.diff(rows.starts)), rows.size)
    return np.rint(counted).astype(np.int64)


def weakest(rows: Rows, most: int) -> list[tuple[int, tuple[int, ...]]]:
    """List the rarest codes and pairs of codes with their supports, the rarest first, at most so many."""
    singles = _single_supports(rows)
    order = [int(i) for i in np.argsort(singles, kind="stable") if singles[i] > 0][:most]
    rarest: list[tuple[int, tuple[int, ...]]] = [(int(singles[i]), (i,)) for i in order]
    supports = np.sort(_pair_supports(rows.starts, rows.codes, rows.weights, *rows.postings))
    if len(supports):
        a, b, pair_supports = _pairs_between(rows, 1, int(supports[:most][-1]))
        kept = np.lexsort((b, a, pair_supports))[:most]
        rarest += [(int(pair_supports[i]), (int(a[i]), int(b[i]))) for i in kept]
    return sorted(rarest, key=lambda entry: (entry[0], len(entry[1]), entry[1]))[:most]


def frequent_pairs(rows: Rows, share: float) -> NDArray[np.int64]:
    """List the most frequent pairs of codes, this share of all that occur (at least one), ties by code."""
    supports = np.sort(_pair_supports(rows.starts, rows.codes, rows.weights, *rows.postings))
    most = max(1, round(share * len(supports)))
    if not len(supports):
        return np.zeros((0, 2), np.int64)
    a, b, pair_supports = _pairs_between(rows, int(supports[-most]), int(supports[-1]))
    kept = np.lexsort((b, a, -pair_supports))[:most]
    return np.stack([a[kept], b[kept]], axis=1)


def _pairs_between(rows: Rows, least: int, most: int) -> tuple[NDArray[np.int64], ...]:
    """List the pairs of codes whose support lies between two bounds."""
    return tuple(_pairs(rows.starts, rows.codes, rows.weights, *rows.postings, least, most))


@kernel
def _pair_supports(starts: Counts, codes: Codes, weights: Counts, ends: Counts, rows: Counts) -> NDArray[np.int64]:
    """Count the records of every pair of codes, one first code after the other."""
    size = len(ends) - 1
    counted = np.zeros(size, np.int64)
    touched = np.empty(size, np.int64)
    supports = np.empty(1024, np.int64)
    filled = 0
    for first in range(size):
        many = 0
        for p in range(ends[first], ends[first + 1]):
            row = rows[p]
            for c in range(starts[row + 1] - 1, starts[row] - 1, -1):
                code = codes[c]
                if code <= first:
                    break
                if counted[code] == 0:
                    touched[many] = code
                    many += 1
                counted[code] += weights[row]
        if filled + many > len(supports):
            larger = np.empty(2 * (filled + many), np.int64)
            larger[:filled] = supports[:filled]
            supports = larger
        for t in range(many):
            supports[filled] = counted[touched[t]]
            counted[touched[t]] = 0
            filled += 1
    return supports[:filled]


@kernel
def _pairs(
    starts: Counts, codes: Codes, weights: Counts, ends: Counts, rows: Counts, least: int, most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """List the pairs of codes whose support lies between two bounds, with their supports."""
    size = len(ends) - 1
    counted = np.zeros(size, np.int64)
    pairs = np.empty((3, 1024), np.int64)
    filled = 0
    for first in range(size):
        for p in range(ends[first], ends[first + 1]):
            row = rows[p]
            for c in range(starts[row + 1] - 1, starts[row] - 1, -1):
                if codes[c] <= first:
                    break
                counted[codes[c]] += weights[row]
        if filled + size > pairs.shape[1]:
            larger = np.empty((3, 2 * (filled + size)), np.int64)
            larger[:, :filled] = pairs[:, :filled]
            pairs = larger
        for code in range(first + 1, size):
            support = counted[code]
            counted[code] = 0
            if support > 0 and least <= support <= most:
                pairs[0, filled], pairs[1, filled], pairs[2, filled] = first, code, support
                filled += 1
    return pairs[0, :filled], pairs[1, :filled], pairs[2, :filled]
