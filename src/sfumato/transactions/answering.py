"""What a reader of a release makes of a set of original items: how many records fit, and how many probably have it.

The reader knows which published item stands for which items. A record fits a set of items where it shows what stands
for each of them. How many of the fitting records have the items themselves the reader must guess: the estimators, by
name (`sfumato.measures.of_baskets.ESTIMATORS`). Loukides et al. 2012 work their example out with `half`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.configuration import check_choice
from sfumato.kernels import kernel
from sfumato.measures.of_baskets import ESTIMATORS
from sfumato.transactions.baskets import Baskets, Codes, Counts
from sfumato.transactions.itemsets import Rows
from sfumato.transactions.policy import Itemset
from sfumato.transactions.recoding import SUPPRESSED, BasketRelease

Numbers = NDArray[np.float64]
LONGEST = 64
"""No query and no attacker knows more items than this."""


def member_odds(estimator: str, size: NDArray[np.int64], known: int, joint: str = "product") -> Numbers:
    """Return how likely `known` given members of a published set are all in a record that shows it, by its size.

    `joint="exact"` takes the estimator's own odds of all of them at once, `"product"` multiplies those of each.
    """
    check_choice("estimator", estimator, ESTIMATORS)
    check_choice("joint", joint, ("product", "exact"))
    s = size.astype(np.float64)
    if estimator == "expanded" or known == 0:
        return np.ones(len(s))
    if estimator == "half":
        odds = np.full(len(s), 0.5**known)
    elif estimator == "nonempty":
        odds = 0.5**known / (1 - 0.5**s) if joint == "exact" else (0.5 / (1 - 0.5**s)) ** known
    else:
        odds = (1.0 / s) ** known if joint == "product" or known == 1 else np.zeros(len(s))
    return np.where(s == 1, 1.0, odds)


@dataclass(frozen=True, eq=False)
class Reader:
    """A release as a reader sees it: rows of published items, and which items each stands for."""

    rows: Rows
    piece: Codes
    published: Codes
    """For every piece and item what it is published as, -1 where it is not."""

    sizes: Counts
    """How many items every published item stands for."""

    @staticmethod
    def of(release: BasketRelease) -> Reader:
        """Read a release."""
        sizes = np.ones(len(release.labels), np.int64)
        place = {label: number for number, label in enumerate(release.labels)}
        for recoding in release.recodings:
            sizes[[place[label] for label in recoding.labels]] = recoding.leaves
        return Reader(Rows.of_release(release), release.piece, release.published_as, sizes)

    @staticmethod
    def of_baskets(baskets: Baskets) -> Reader:
        """Read the original: every item is itself."""
        items = len(baskets.items)
        published = np.arange(items, dtype=np.int32).reshape(1, items)
        piece = np.zeros(baskets.distinct, np.int32)
        return Reader(Rows.of_baskets(baskets), piece, published, np.ones(items, np.int64))

    @cached_property
    def covers(self) -> tuple[Counts, Counts]:
        """For every item what it is published as anywhere, as a ragged array."""
        items = self.published.shape[1]
        item = np.tile(np.arange(items), len(self.published))
        pairs = np.unique(np.stack([item, self.published.ravel()], axis=1), axis=0)
        pairs = pairs[pairs[:, 1] != SUPPRESSED]
        return np.searchsorted(pairs[:, 0], np.arange(items + 1)).astype(np.int64), pairs[:, 1].astype(np.int64)

    def matches(self, itemsets: Sequence[Itemset]) -> NDArray[np.int64]:
        """Count the records that fit each set of known items; a suppressed item helps nobody and is passed over."""
        one = np.ones((1, len(self.sizes), LONGEST + 1))
        return np.asarray(np.rint(self._answers(itemsets, one, passing=True)[0]), np.int64)

    def estimates(self, itemsets: Sequence[Itemset], estimators: Sequence[str], joint: str = "product") -> Numbers:
        """Estimate the records that have each set of items, estimators x sets; with a suppressed item it is none."""
        longest = max((len(own) for own in itemsets), default=0)
        odds = np.zeros((len(estimators), len(self.sizes), longest + 1))
        for e, name in enumerate(estimators):
            for known in range(longest + 1):
                odds[e, :, known] = member_odds(name, self.sizes, known, joint)
        return self._answers(itemsets, odds, passing=False)

    def _answers(self, itemsets: Sequence[Itemset], odds: Numbers, passing: bool) -> Numbers:
        lengths = np.array([len(own) for own in itemsets], np.int64)
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        flat = np.array([item for own in itemsets for item in own], np.int64)
        rows = self.rows
        read = rows.starts, rows.codes, rows.weights, self.piece, self.published
        return np.asarray(_answers(starts, flat, *read, *rows.postings, *self.covers, odds, passing))


@kernel
def _shown(row: int, starts: Counts, codes: Codes, wanted: int) -> bool:
    """Say whether a row has a code."""
    lo, hi = starts[row], starts[row + 1]
    while lo < hi:
        middle = (lo + hi) // 2
        if codes[middle] < wanted:
            lo = middle + 1
        else:
            hi = middle
    return bool(lo < starts[row + 1] and codes[lo] == wanted)


@kernel
def _add_row(
    row: int,
    items: Counts,
    starts: Counts,
    codes: Codes,
    weights: Counts,
    own: Codes,
    odds: Numbers,
    passing: bool,
    labels: Counts,
    found: Numbers,
) -> None:
    """Add what one row answers to a query: its weight, times the odds, if it shows what stands for every item."""
    many = 0
    for item in items:
        label = own[item]
        if label < 0:
            if passing:
                continue
            return
        if not _shown(row, starts, codes, label):
            return
        labels[many] = label
        many += 1
    for e in range(len(found)):
        share = 1.0
        for i in range(many):
            first, known = True, 0
            for j in range(many):
                if labels[j] == labels[i]:
                    known += 1
                    if j < i:
                        first = False
            if first:
                share *= odds[e, labels[i], known]
        found[e] += share * weights[row]


@kernel
def _answers(
    query_starts: Counts,
    query_items: Counts,
    starts: Counts,
    codes: Codes,
    weights: Counts,
    piece: Codes,
    published: Codes,
    ends: Counts,
    rows: Counts,
    cover_ends: Counts,
    covers: Counts,
    odds: Numbers,
    passing: bool,
) -> Numbers:
    """Answer queries by going through the rows that show the rarest of their items."""
    queries = len(query_starts) - 1
    found = np.zeros((queries, len(odds)))
    labels = np.empty(LONGEST, np.int64)
    for q in range(queries):
        items = query_items[query_starts[q] : query_starts[q + 1]]
        anchor, fewest = -1, len(weights) + 1
        for item in items:
            total = 0
            for c in range(cover_ends[item], cover_ends[item + 1]):
                total += ends[covers[c] + 1] - ends[covers[c]]
            usable = True
            if passing:
                for p in range(len(published)):
                    if published[p, item] < 0:
                        usable = False
            if usable and total < fewest:
                anchor, fewest = item, total
        if anchor < 0:
            for row in range(len(weights)):
                own = published[piece[row]]
                _add_row(row, items, starts, codes, weights, own, odds, passing, labels, found[q])
            continue
        for c in range(cover_ends[anchor], cover_ends[anchor + 1]):
            for p in range(ends[covers[c]], ends[covers[c] + 1]):
                row = rows[p]
                own = published[piece[row]]
                if own[anchor] == covers[c]:
                    _add_row(row, items, starts, codes, weights, own, odds, passing, labels, found[q])
    return found.T
