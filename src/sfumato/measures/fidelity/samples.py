"""What the same error would be of samples: the baselines of marginal errors, in closed form.

A simple random sample of n of the N records has, in a bin of K records, a hypergeometric number X of them. Its mean
absolute deviation has a closed form, as the binomial's of De Moivre has (Diaconis & Zabell, "Closed form summation for
classical distributions", Statistical Science 6(3), 1991): with m = floor(n K / N) + 1,

    E|X - n K / N| = 2 m (N - K - n + m) / N * P(X = m).

Half the sum over bins, divided by n, is the sample's expected error. It falls with n (a sample is a sample of a larger
one), so for every release there is one n at which a sample is as good: "as good as a sample of x %".

The floor is a resample of N records with replacement: what would come out if the whole table were drawn once more from
a population like it. With p = K/N and m = K + 1 it is De Moivre's 2 m (N over m) p^m (1 - p)^(N - m + 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import Numbers
from sfumato.measures.fidelity.marginals import Truth


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

        Between two sizes it is interpolated. What is worse than one record counts as one.
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
