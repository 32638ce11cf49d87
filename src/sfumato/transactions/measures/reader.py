"""What a reader of a release makes of a set of original items: how many records fit, and how many probably have it.

The reader knows which published item stands for which items. A record fits a set of items where it shows what stands
for each of them. How many of the fitting records have the items themselves the reader must guess: the estimators, by
name (`sfumato.measures.of_baskets.ESTIMATORS`). Loukides et al. 2012 work their example out with `half`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Codes, Counts, Numbers
from sfumato.configuration import check_choice
from sfumato.kernel_helpers import has_number
from sfumato.kernels import kernel
from sfumato.measures.of_baskets import ESTIMATORS
from sfumato.transactions.baskets import Baskets
from sfumato.transactions.measures.itemsets import Rows
from sfumato.transactions.policy import Itemset
from sfumato.transactions.recoding import SUPPRESSED, BasketRelease

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
class BasketReader:
    """A release as a reader sees it: for every piece rows of published items, and which items each stands for."""

    pieces: tuple[Rows, ...]
    published: Codes
    """For every piece and item what it is published as, -1 where it is not."""

    sizes: Counts
    """How many items every published item stands for."""

    @staticmethod
    def of(release: BasketRelease) -> BasketReader:
        """Read a release."""
        sizes = np.ones(len(release.labels), np.int64)
        place = {label: number for number, label in enumerate(release.labels)}
        for recoding in release.recodings:
            sizes[[place[label] for label in recoding.labels]] = recoding.leaves
        return BasketReader(tuple(Rows.of_pieces(release)), release.published_as, sizes)

    @staticmethod
    def of_baskets(baskets: Baskets) -> BasketReader:
        """Read the original: every item is itself."""
        items = len(baskets.items)
        published = np.arange(items, dtype=np.int32).reshape(1, items)
        return BasketReader((Rows.of_baskets(baskets),), published, np.ones(items, np.int64))

    def matches(self, itemsets: Sequence[Itemset]) -> NDArray[np.int64]:
        """Count the records that fit each set of known items; a suppressed item helps nobody and is passed over."""
        counts = np.zeros(len(itemsets), np.int64)
        for places, labels, _, supports in self._parts(itemsets, passing=True):
            counts[places] += np.where((labels >= 0).any(axis=1), supports[0], supports[1])
        return counts

    def estimates(self, itemsets: Sequence[Itemset], estimators: Sequence[str], joint: str = "product") -> Numbers:
        """Estimate the records that have each set of items, estimators x sets; with a suppressed item it is none."""
        longest = max((len(itemset) for itemset in itemsets), default=0)
        odds = np.stack(
            [[member_odds(name, self.sizes, known, joint) for known in range(longest + 1)] for name in estimators]
        )  # estimators x known members x published items
        estimates = np.zeros((len(estimators), len(itemsets)))
        for places, labels, known, supports in self._parts(itemsets, passing=False):
            share = np.where(labels >= 0, odds[:, known, labels], 1.0).prod(axis=2)
            estimates[:, places] += share * supports[0]
        return estimates

    def _parts(
        self, itemsets: Sequence[Itemset], passing: bool
    ) -> Iterator[tuple[Counts, Codes, Counts, tuple[Counts, int]]]:
        """Yield, piece by piece and size by size, what the sets of items are published as.

        For some of the sets: their places; what each is published as, every published item once, the rest -1; how many
        of the set's items each stands for; and how many records of the piece show all of it, and has the piece in all.
        """
        lengths = np.array([len(itemset) for itemset in itemsets], np.int64)
        for rows, published in zip(self.pieces, self.published, strict=True):
            total = int(rows.weights.sum())
            for size in np.unique(lengths):
                places = np.flatnonzero(lengths == size)
                labels = published[np.array([itemsets[int(i)] for i in places], np.int64).reshape(len(places), size)]
                if not passing:
                    complete = (labels >= 0).all(axis=1)
                    places, labels = places[complete], labels[complete]
                labels = np.sort(labels, axis=1)
                known = (labels[:, :, None] == labels[:, None, :]).sum(axis=2)
                labels[:, 1:][labels[:, 1:] == labels[:, :-1]] = SUPPRESSED  # every published item once
                distinct, number = np.unique(labels, axis=0, return_inverse=True)
                supports = _supports(
                    np.ascontiguousarray(distinct), rows.starts, rows.codes, rows.weights, *rows.postings
                )
                yield places, labels, known, (supports[number.ravel()], total)


@kernel
def _supports(
    sets: Codes, starts: Counts, codes: Codes, weights: Counts, ends: Counts, rows: Counts
) -> NDArray[np.int64]:
    """Count the records that show all codes of each set (-1 is none), going through the rows of the rarest."""
    supports = np.zeros(len(sets), np.int64)
    for s in range(len(sets)):
        anchor, fewest = -1, len(weights) + 1
        for code in sets[s]:
            if code >= 0 and ends[code + 1] - ends[code] < fewest:
                anchor, fewest = code, ends[code + 1] - ends[code]
        if anchor < 0:
            continue
        for p in range(ends[anchor], ends[anchor + 1]):
            every = True
            for code in sets[s]:
                if code >= 0 and code != anchor and not has_number(codes, starts[rows[p]], starts[rows[p] + 1], code):
                    every = False
                    break
            if every:
                supports[s] += weights[rows[p]]
    return supports
