"""The exact expectation of the relative error of COUNT queries of one or two items, over everything that may be asked.

A workload of queries is a sample, and two releases that are nearly alike change places from draw to draw. For
single items and for pairs the mean over all possible draws can be computed. Every item, or pair of items, that some
record has is asked. Its weight is its probability in the kind of workload (`ItemQueries`).

    Transaction:          the share of the records that have it, each by 1 over the number of pairs of its items.
    Uniform-items:        all alike.
    Frequency-weighted:   the product of the records that have each of its items.
    Frequent-pairs:       the frequent ones alike, the others not at all.

The answer depends on published labels alone: in a record that shows a label all its items are published so. Let S(a) be
the records that show a label, S(a, b) those that show two, and odds as in `reader.member_odds`:

    Answer(i) = sum over labels a of i:      odds(a) S(a).
    Answer(i, j) = sum over a of i, b of j:  odds(a) odds(b) S(a, b), and where a = b: odds(both of a) S(a).

This is the same for one recoding and for thousands of pieces. Time is that of counting pairs twice, of what is asked
once per data set, of what is published once per release.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.data.items import Baskets
from sfumato.measures.all_measures import ESTIMATORS
from sfumato.measures.items.estimates import member_odds
from sfumato.release._itemsets import Rows, holders
from sfumato.release.items import BasketRelease
from sfumato.runtime._kernel_helpers import room
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.runtime.kernels import kernel

HALF = 0.5 - 1e-12
"""From where on a share counts as one half: sums of weights are not exact."""


class ItemPairs(NamedTuple):
    """Pairs of items, by the first of them."""

    starts: Counts
    """The pairs of item i are `starts[i] : starts[i + 1]`."""

    second: Codes
    true: Counts
    """How many records have both."""

    shares: Numbers
    """The part of the records in which both are drawn as the pair that is asked for, up to a factor."""


@dataclass(frozen=True, eq=False)
class Expectation:
    """The possible questions: single items (`pairs` is None) or pairs, the true answers, and how likely each is
    asked."""

    baskets: Baskets
    pairs: ItemPairs | None
    true: Counts
    weights: Numbers
    """They add up to 1."""

    def errors(
        self, release: BasketRelease, estimator: str, joint: str = "product", sanity: float = 0.0
    ) -> tuple[dict[str, float], float]:
        """Return the mean relative error by estimator, and the median by one of them.

        `sanity` is the share of the records that errors are at least relative to.
        """
        labels = _labels(release)
        sizes = labels.sizes
        odds = np.stack([[member_odds(name, sizes, known, joint) for known in (1, 2)] for name in ESTIMATORS])
        against = np.maximum(self.true, sanity * self.baskets.size)
        chosen = list(ESTIMATORS).index(estimator)
        if self.pairs is None:
            answers = _single_answers(labels, odds[:, 0])
            errors = np.abs(answers - self.true) / against
            means, one = errors @ self.weights, errors[chosen]
        else:
            means, one = _pair_errors(
                self.pairs.starts,
                self.pairs.second,
                self.true,
                against,
                self.weights,
                labels.starts,
                labels.codes,
                labels.supports,
                *labels.pairs,
                odds,
                chosen,
            )
        median = weighted_median(one, self.weights)
        return dict(zip(ESTIMATORS, means.tolist(), strict=True)), median


def expectation(baskets: Baskets, kind: str, size: int, top: float) -> Expectation | None:
    """List what may be asked, for queries of one or two items; None where nothing has an answer."""
    if size == 1:
        return _singles(baskets, kind)
    pairs = _occurring(baskets)
    if not len(pairs.second):
        return None
    first = np.repeat(np.arange(len(baskets.items)), np.diff(pairs.starts))
    if kind == "transaction":
        weights = pairs.shares
    elif kind == "uniform-items":
        weights = np.ones(len(pairs.second))
    elif kind == "frequency-weighted":
        weights = baskets.supports[first].astype(np.float64) * baskets.supports[pairs.second]
    else:
        weights = np.zeros(len(pairs.second))
        weights[_most_frequent(first, pairs, top)] = 1
    return Expectation(baskets, pairs, pairs.true, weights / weights.sum())


def _singles(baskets: Baskets, kind: str) -> Expectation | None:
    if not len(baskets.items):
        return None
    lengths = np.repeat(baskets.lengths, baskets.lengths)
    records = np.repeat(baskets.weights, baskets.lengths)
    weights = {
        "transaction": np.bincount(baskets.codes, records / lengths, len(baskets.items)),
        "uniform-items": np.ones(len(baskets.items)),
        "frequency-weighted": baskets.supports.astype(np.float64),
    }[kind]
    return Expectation(baskets, None, baskets.supports, weights / weights.sum())


def _most_frequent(first: Counts, pairs: ItemPairs, top: float) -> Counts:
    """Find the most frequent pairs, this share of all (at least one), ties by their items."""
    most = max(1, round(top * len(first)))
    least = np.partition(pairs.true, len(first) - most)[len(first) - most]
    among = np.flatnonzero(pairs.true >= least)
    order = np.lexsort((pairs.second[among], first[among], -pairs.true[among]))
    return among[order[:most]]


def _occurring(baskets: Baskets) -> ItemPairs:
    """List the pairs of items that some record has."""
    ends, rows, _ = holders(baskets.starts, baskets.codes, len(baskets.items))
    lengths = baskets.lengths
    share = baskets.weights / np.maximum(lengths * (lengths - 1) / 2, 1)
    return ItemPairs(*_counted_pairs(baskets.starts, baskets.codes, baskets.weights, share, ends, rows, False))


# -- what a release shows ----------------------------------------------------------------------------------------


class Labels(NamedTuple):
    """The labels of every item, the meaning of the labels, and which are shown together."""

    starts: Counts
    """The labels of item i are `codes[starts[i] : starts[i + 1]]`: one where there is one recoding."""

    codes: Codes
    sizes: Counts
    """The number of items of each label."""

    supports: Counts
    pairs: tuple[Counts, Codes, Counts]
    """For every label the others that are shown with it, and in how many records."""


def _labels(release: BasketRelease) -> Labels:
    """Read a release label by label."""
    rows, parts = Rows.of_release(release), release.parts
    number = np.repeat(np.arange(len(parts.labels)), np.diff(parts.starts))
    order = np.argsort(parts.items, kind="stable")
    starts = np.searchsorted(parts.items[order], np.arange(len(release.baskets.items) + 1))
    together = _counted_pairs(rows.starts, rows.codes, rows.weights, np.zeros(len(rows.weights)), *rows.postings, True)
    return Labels(starts, number[order].astype(np.int32), parts.sizes, release.part_supports, together[:3])


def _single_answers(labels: Labels, odds: Numbers) -> Numbers:
    """Answer how many records have each item, estimators x items."""
    item = np.repeat(np.arange(len(labels.starts) - 1), np.diff(labels.starts))
    shown = odds[:, labels.codes] * labels.supports[labels.codes]
    return np.stack([np.bincount(item, one, len(labels.starts) - 1) for one in shown])


@kernel
def _counted_pairs(
    starts: Counts, codes: Codes, weights: Counts, shares: Numbers, ends: Counts, rows: Codes | Counts, both: bool
) -> tuple[Counts, Codes, Counts, Numbers]:
    """List for every code the later ones (or `both` sides) that some row has with it, and sum weights and shares."""
    size = len(ends) - 1
    counted, share = np.zeros(size, np.int64), np.zeros(size)
    touched = np.empty(size, np.int32)
    begins = np.zeros(size + 1, np.int64)
    second, records, parts = np.empty(1024, np.int32), np.empty(1024, np.int64), np.empty(1024)
    filled = 0
    for first in range(size):
        many = 0
        for p in range(ends[first], ends[first + 1]):
            row = rows[p]
            for c in range(starts[row + 1] - 1, starts[row] - 1, -1):
                code = codes[c]
                if code == first or (code < first and both):
                    if code == first:
                        continue
                elif code < first:
                    break
                if counted[code] == 0:
                    touched[many] = code
                    many += 1
                counted[code] += weights[row]
                share[code] += shares[row]
        second, records, parts = room(second, filled + many), room(records, filled + many), room(parts, filled + many)
        for t in range(many):
            code = touched[t]
            second[filled], records[filled], parts[filled] = code, counted[code], share[code]
            counted[code], share[code] = 0, 0.0
            filled += 1
        begins[first + 1] = filled
    return begins, second[:filled].copy(), records[:filled].copy(), parts[:filled].copy()


@kernel
def _pair_errors(
    starts: Counts,
    second: Codes,
    true: Counts,
    against: Numbers,
    weights: Numbers,
    at: Counts,
    label_of: Codes,
    supports: Counts,
    begins: Counts,
    beside: Codes,
    together: Counts,
    odds: NDArray[np.float64],
    chosen: int,
) -> tuple[Numbers, Numbers]:
    """Answer every pair by every estimator: the weighted means of the relative errors, and the errors of one of them.

    `odds` are estimators x (one item, two items) x labels. Of an item the answers of all labels beside its own are laid
    out once, and every partner looks its labels up there.
    """
    estimators, labels = len(odds), len(supports)
    means, errors = np.zeros(estimators), np.empty(len(second))
    laid = np.zeros((labels, estimators))
    answer = np.zeros(estimators)
    its = np.zeros(labels, np.bool_)
    for item in range(len(starts) - 1):
        if starts[item] == starts[item + 1]:
            continue
        for own in range(at[item], at[item + 1]):
            a = label_of[own]
            its[a] = True
            for p in range(begins[a], begins[a + 1]):
                for e in range(estimators):
                    laid[beside[p], e] += odds[e, 0, a] * together[p]
        for q in range(starts[item], starts[item + 1]):
            answer[:] = 0.0
            for other in range(at[second[q]], at[second[q] + 1]):
                b = label_of[other]
                for e in range(estimators):
                    answer[e] += odds[e, 0, b] * laid[b, e]
                    if its[b]:
                        answer[e] += odds[e, 1, b] * supports[b]
            for e in range(estimators):
                error = abs(answer[e] - true[q]) / against[q]
                means[e] += weights[q] * error
                if e == chosen:
                    errors[q] = error
        for own in range(at[item], at[item + 1]):
            a = label_of[own]
            its[a] = False
            for p in range(begins[a], begins[a + 1]):
                laid[beside[p], :] = 0.0
    return means, errors


def weighted_median(values: Numbers, weights: Numbers) -> float:
    """Return the smallest value that, with all below it, has half of the weight.

    >>> weighted_median(np.array([3.0, 1.0, 2.0]), np.array([0.2, 0.3, 0.5]))
    2.0
    """
    return _selected(values.copy(), weights.copy(), HALF * float(weights.sum()))


@kernel
def _selected(values: Numbers, weights: Numbers, wanted: float) -> float:
    """Select by dividing three ways around a pivot; changes its arrays. Linear time on average."""
    lo, hi, before = 0, len(values), 0.0
    while True:
        pivot = values[(lo + hi) // 2]
        less, place, more = lo, lo, hi
        below, equal = 0.0, 0.0
        while place < more:
            if values[place] < pivot:
                below += weights[place]
                values[less], values[place] = values[place], values[less]
                weights[less], weights[place] = weights[place], weights[less]
                less += 1
                place += 1
            elif values[place] > pivot:
                more -= 1
                values[more], values[place] = values[place], values[more]
                weights[more], weights[place] = weights[place], weights[more]
            else:
                equal += weights[place]
                place += 1
        if before + below >= wanted and less > lo:
            hi = less
        elif before + below + equal >= wanted or more == hi:
            return float(pivot)
        else:
            before += below + equal
            lo = more
