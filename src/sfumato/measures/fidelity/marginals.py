"""Errors of marginals: how far the counts of one, two or three columns together are from those of the original.

For every set of so many columns both tables are counted on the same bins and scaled to a total of 1. The error of the
set is their total variation, half the sum of absolute differences: 0 where they are the same, 1 where they have nothing
in common. A measure is the mean over all sets of its size. NIST's score of its challenges of 2018 and 2020 is 1000 x
(1 - the mean over three columns). See Ridgeway, Theofanos, Manley & Task, "Challenge design and lessons learned from
the 2018 differential privacy challenges", NIST TN 2151 (2021), https://doi.org/10.6028/NIST.TN.2151, and SDNist,
https://doi.org/10.18434/mds2-2515. There sets are drawn at random; here all are taken, and drawn only beyond `most`.

Releases are counted exactly, not sampled. Let M be the records by interval of one column and combination of intervals
of the others, and W the share of every bin in every interval (by the width of leaves). Then the table is W' M W.

The same error for samples: the baselines of marginal errors, in closed form.

A simple random sample of n of the N records has, in a bin of K records, a hypergeometric number X of them. Its mean
absolute deviation has a closed form, as the binomial's of De Moivre has (Diaconis & Zabell, "Closed form summation for
classical distributions", Statistical Science 6(3), 1991): with m = floor(n K / N) + 1,

    E|X - n K / N| = 2 m (N - K - n + m) / N * P(X = m).

Half the sum over bins, divided by n, is the sample's expected error. It falls with n (a sample is a sample of a larger
one). So for every release there is one n at which a sample is as good: "as good as a sample of x %".

The floor is a resample of N records with replacement: what would come out if the whole table were drawn once more from
a population like it. With p = K/N and m = K + 1 it is De Moivre's 2 m (N over m) p^m (1 - p)^(N - m + 1).

How far one column of a release is from the original's, leaf by leaf: for the report, beside its picture.

Total variation is the share of the records that would need another value. For numbers and dates the Wasserstein
distance is how far they would have to be moved on average, in the column's own unit (for dates, days): a wrong value
nearby counts little. Missing values are no numbers: only their share is compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np

from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.measures.fidelity._intervals import BinnedColumn, ReleaseRows, ShownIntervals
from sfumato.release.records import leaf_numbers
from sfumato.runtime.arrays import Counts, Numbers
from sfumato.runtime.cancellation import check_cancelled

Places = tuple[int, ...]
AT_ONCE = 2_000_000
"""So many shares of combinations of bins are held at a time."""


@dataclass(frozen=True, eq=False)
class Truth:
    """One marginal of the original: the bins that occur (numbered row by row), and the records of each."""

    keys: Counts
    counts: Numbers

    @property
    def shares(self) -> Numbers:
        """The shares of the bins."""
        shares: Numbers = self.counts / self.counts.sum()
        return shares

    @staticmethod
    def of(original: ReleaseRows, places: Places) -> Truth:
        """Count a marginal of the original."""
        counted = table(original, places)
        keys = np.flatnonzero(counted)
        return Truth(keys, counted[keys])


def sets_of_columns(columns: int, ways: int, most: int, seed: int) -> tuple[Places, ...]:
    """List all sets of so many columns; beyond `most`, so many of them at random."""
    total = comb(columns, ways)
    if total <= most:
        return tuple(combinations(range(columns), ways))
    generator = np.random.default_rng((seed, ways))
    drawn: set[Places] = set()
    while len(drawn) < most:
        drawn.add(tuple(sorted(generator.choice(columns, ways, replace=False).tolist())))
    return tuple(sorted(drawn))


def marginal_errors(reading: ReleaseRows, truths: Mapping[Places, Truth]) -> dict[Places, float]:
    """Return the error of every marginal that the original was counted by."""
    errors = {}
    for places, truth in truths.items():
        check_cancelled()
        errors[places] = total_variation(table(reading, places), truth)
    return errors


def total_variation(counted: Numbers, truth: Truth) -> float:
    """Compare a release's table with the original's; noise that makes a count negative is read as none."""
    shares = np.maximum(counted, 0.0)
    total = shares.sum()
    if not total > 0:
        return 1.0
    shares /= total
    shares[truth.keys] -= truth.shares
    return float(np.abs(shares).sum() / 2)


def table(reading: ReleaseRows, places: Places) -> Numbers:
    """Count the records of every combination of bins of some columns, row by row: exact, or spread over intervals."""
    columns = [reading.columns[place] for place in places]
    by_column = [reading.shown(place) for place in places]
    intervals, mass = reading.joined(places)
    sizes = [column.bins for column in columns]
    spread = [place for place, each in enumerate(by_column) if not each.are_points]
    if not spread:
        bins = [
            column.bin_of[each.lo][which] for column, each, which in zip(columns, by_column, intervals, strict=True)
        ]
        return np.bincount(np.ravel_multi_index(bins, sizes), mass, prod(sizes)).astype(np.float64)
    shares = [bin_shares(column, each) for column, each in zip(columns, by_column, strict=True)]
    last = max(spread, key=lambda place: shares[place].nnz / shares[place].shape[0])
    others = [place for place in range(len(places)) if place != last]
    counted = _spread_table(
        [shares[i] for i in others], [intervals[i] for i in others], shares[last], intervals[last], mass
    )
    order = np.argsort([*others, last])
    moved = counted.reshape([sizes[i] for i in (*others, last)]).transpose(order)
    return np.ascontiguousarray(moved).ravel()


def bin_shares(column: BinnedColumn, intervals: ShownIntervals) -> Any:
    """Return the share of every bin in every interval, as a sparse matrix: intervals x bins."""
    from scipy.sparse import csr_array  # comes with scikit-learn

    lo, hi = intervals.lo.astype(np.int64), intervals.hi.astype(np.int64)
    many = hi - lo + 1
    interval = np.repeat(np.arange(len(lo)), many)
    leaf = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many - lo, many)
    widths, below = np.asarray(column.hierarchy.widths), column.hierarchy.cumulative
    shares = np.where(many[interval] == 1, 1.0, widths[leaf] / (below[hi + 1] - below[lo])[interval])
    return csr_array((shares, (interval, column.bin_of[leaf])), shape=(len(lo), column.bins))


def _spread_table(
    shares: Sequence[Any], intervals: Sequence[Counts], last_shares: Any, last: Counts, mass: Numbers
) -> Numbers:
    """Spread rows over bins: first the last column for every combination of the others' intervals, then those."""
    from scipy.sparse import csr_array

    if not shares:
        spread: Numbers = last_shares.T @ np.bincount(last, mass, last_shares.shape[0])
        return spread
    sizes = [each.shape[0] for each in shares]
    keys, combination = np.unique(np.ravel_multi_index(list(intervals), sizes), return_inverse=True)
    places = np.unravel_index(keys, sizes)
    held = csr_array((mass, (combination, last)), shape=(len(keys), last_shares.shape[0]))
    by_last = held @ last_shares
    cells = np.multiply.reduce([np.diff(each.indptr)[at] for each, at in zip(shares, places, strict=True)])
    cuts = np.flatnonzero(np.diff(np.cumsum(cells) // AT_ONCE, prepend=0))
    out = np.zeros((prod(each.shape[1] for each in shares), last_shares.shape[1]))
    for start, end in zip([0, *cuts], [*cuts, len(keys)], strict=True):
        part = [each[at[start:end]] for each, at in zip(shares, places, strict=True)]
        out += (_products(part).T @ by_last[start:end]).toarray()
    return out


def _products(parts: Sequence[Any]) -> Any:
    """Multiply the rows of sparse matrices with each other: row by row all products, the first column's bins first."""
    from scipy.sparse import csr_array

    product = parts[0]
    for other in parts[1:]:
        many, more = np.diff(product.indptr).astype(np.int64), np.diff(other.indptr).astype(np.int64)
        row = np.repeat(np.arange(len(many)), many * more)
        within = np.arange(len(row)) - np.repeat(np.cumsum(many * more) - many * more, many * more)
        one = product.indptr[row] + within // more[row]
        two = other.indptr[row] + within % more[row]
        column = product.indices[one].astype(np.int64) * other.shape[1] + other.indices[two]
        data = product.data[one] * other.data[two]
        product = csr_array((data, (row, column)), shape=(len(many), product.shape[1] * other.shape[1]))
    return product


@dataclass(frozen=True, eq=False)
class Sampled:
    """The bins of some marginals by their records: how many bins have how many."""

    records: int
    counts: Numbers
    bins: Numbers
    """How many bins of all marginals together have so many records."""

    marginals: int

    @staticmethod
    def of(truths: Sequence[Truth], records: int) -> Sampled:
        """Count the bins of marginals of the original."""
        every = np.concatenate([truth.counts for truth in truths])
        counts, bins = np.unique(every, return_counts=True)
        return Sampled(records, counts, bins.astype(np.float64), len(truths))

    def of_sample(self, size: int) -> float:
        """Return the expected error of a simple random sample without replacement, the mean over marginals."""
        total, inside = float(self.records), self.counts
        whole = (
            np.floor(size * inside / total) + 1
        )  # a bin of all records, or a sample of all: never more than there is
        possible = (whole <= np.minimum(size, inside)) & (total - inside - size + whole >= 0)
        whole = np.where(possible, whole, np.minimum(size, inside))
        logs = _chosen(inside, whole) + _chosen(total - inside, size - whole) - _chosen(total, float(size))
        deviation = np.where(possible, 2 * whole * (total - inside - size + whole) / total * np.exp(logs), 0.0)
        return float((deviation * self.bins).sum() / (2 * size * self.marginals))

    def of_resample(self) -> float:
        """Return the expected error of as many records drawn with replacement, the mean over marginals."""
        total, inside = float(self.records), self.counts
        share, whole = inside / total, inside + 1
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = _chosen(total, whole) + whole * np.log(share) + (total - whole + 1) * np.log1p(-share)
            deviation = np.where(inside < total, 2 * whole * np.exp(logs), 0.0)
        return float((deviation * self.bins).sum() / (2 * total * self.marginals))

    def equivalent(self, error: float) -> float:
        """Find the share of the records of which a simple random sample has this error on average.

        Between two sizes it is interpolated. A release that is worse than one record counts as one.
        """
        low, high = 1, self.records
        if error >= self.of_sample(low):
            return low / self.records
        while high - low > 1:
            middle = (low + high) // 2
            if self.of_sample(middle) > error:
                low = middle
            else:
                high = middle
        above, below = self.of_sample(low), self.of_sample(high)
        part = (above - error) / (above - below) if above > below else 1.0
        return min((low + min(part, 1.0)) / self.records, 1.0)


def _chosen(n: float | Numbers, k: float | Numbers) -> Numbers:
    """Return the logarithm of n over k."""
    from scipy.special import gammaln  # comes with scikit-learn

    logs: Numbers = gammaln(np.add(n, 1.0)) - gammaln(np.add(k, 1.0)) - gammaln(np.subtract(n, k) + 1.0)
    return logs


def column_distances(hierarchy: Hierarchy, before: Counts | Numbers, after: Numbers) -> dict[str, Any]:
    """Compare the records of every leaf; noise that makes a count negative is read as none."""
    after = np.maximum(after, 0.0)
    if not (before.sum() > 0 and after.sum() > 0):
        return {}
    distances: dict[str, Any] = {"distance": float(np.abs(before / before.sum() - after / after.sum()).sum() / 2)}
    numbers = leaf_numbers(hierarchy)
    known = np.isfinite(numbers)
    if hierarchy.scale != "category" and before[known].sum() > 0 and after[known].sum() > 0:
        distances["moved"] = _wasserstein(numbers[known], before[known], after[known])
    if hierarchy.missing:
        distances["missing"] = [float(counts[-1] / counts.sum()) for counts in (before, after)]
    return distances


def _wasserstein(numbers: Numbers, before: Counts | Numbers, after: Numbers) -> float:
    """Add up the difference of the two distribution functions along the numbers, which rise."""
    apart = np.abs(np.cumsum(before) / before.sum() - np.cumsum(after) / after.sum())
    return float((apart[:-1] * np.diff(numbers)).sum())
