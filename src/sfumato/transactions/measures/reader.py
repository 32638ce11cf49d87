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
from sfumato.transactions.baskets import Baskets, equal_rows, rows_once, taken_rows
from sfumato.transactions.measures.itemsets import Rows
from sfumato.transactions.policy import Itemset
from sfumato.transactions.recoding import SUPPRESSED, BasketRelease

NONE = -1
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
    """A release as a reader sees it: rows of published items, and for every item the published items it may be behind.

    Items that the same published items stand for are of one *kind*: nothing tells them apart, and what is asked of
    kinds is asked once. A row shows at most one of the published items that stand for an item; where pieces of the
    baskets are published differently, which one depends on the row. So nothing is asked of every piece.
    """

    rows: Rows
    kind: Codes
    """For every item its kind."""

    ends: Counts
    codes: Codes
    """What stands for the items of kind c is `codes[ends[c] : ends[c + 1]]`."""

    sizes: Counts
    """How many items every published item stands for; 0 for what rows have only to say that an item is left out."""

    @staticmethod
    def of(release: BasketRelease) -> BasketReader:
        """Read a release; rows of a piece that leaves items out have one more code, which stands for these."""
        published, rows, items = release.published, release.recoded(), len(release.baskets.items)
        size, extra = len(published.labels), len(published.withheld)
        label = [np.repeat(np.arange(size), np.diff(published.ends))]
        item = [published.items.astype(np.int64)]
        all_rows = Rows(rows.starts, rows.codes, rows.weights, size + extra)
        if extra:
            mark = np.full(len(release.recodings), SUPPRESSED, np.int32)
            for number, (piece, gone) in enumerate(published.withheld):
                mark[piece] = size + number
                label.append(np.full(len(gone), size + number))
                item.append(gone)
            row = np.concatenate(
                [np.repeat(np.arange(len(rows.weights)), np.diff(rows.starts)), np.arange(len(mark[release.piece]))]
            )
            starts, codes = rows_once(row, np.concatenate([rows.codes, mark[release.piece]]), len(rows.weights))
            all_rows = Rows(starts, codes, rows.weights, size + extra)
        behind, codes = rows_once(np.concatenate(item), np.concatenate(label), items)
        first, kind = equal_rows(behind, codes)
        ends, kinds = taken_rows(behind, codes, first)
        sizes = np.concatenate([published.leaves, np.zeros(extra, np.int64)])
        return BasketReader(all_rows.merged(), kind.astype(np.int32), ends, kinds, sizes)

    @staticmethod
    def of_baskets(baskets: Baskets) -> BasketReader:
        """Read the original: every item is itself."""
        items = np.arange(len(baskets.items), dtype=np.int32)
        return BasketReader(
            Rows.of_baskets(baskets), items, np.arange(len(items) + 1), items, np.ones(len(items), np.int64)
        )

    def is_shown(self, item: int) -> bool:
        """Say whether some record shows something that stands for an item."""
        kind = self.kind[item]
        return bool((self.sizes[self.codes[self.ends[kind] : self.ends[kind + 1]]] > 0).any())

    def matches(self, itemsets: Sequence[Itemset]) -> NDArray[np.int64]:
        """Count the records that fit each set of known items; a suppressed item helps nobody and is passed over."""
        counts = np.zeros(len(itemsets), np.int64)
        odds = np.ones((1, 1, len(self.sizes)))
        for places, kinds, known in self._asked(itemsets):
            counts[places] = np.rint(self._sums(kinds, np.minimum(known, 0), odds)[0]).astype(np.int64)
        return counts

    def estimates(self, itemsets: Sequence[Itemset], estimators: Sequence[str], joint: str = "product") -> Numbers:
        """Estimate the records that have each set of items, estimators x sets; with a suppressed item it is none."""
        longest = max((len(itemset) for itemset in itemsets), default=0)
        sizes = np.maximum(self.sizes, 1)
        odds = np.stack(
            [[member_odds(name, sizes, known, joint) for known in range(longest + 1)] for name in estimators]
        )  # estimators x known members x published items
        odds[:, 1:, self.sizes == 0] = 0.0
        estimates = np.zeros((len(estimators), len(itemsets)))
        for places, kinds, known in self._asked(itemsets):
            estimates[:, places] = self._sums(kinds, known, odds)
        return estimates

    def _asked(self, itemsets: Sequence[Itemset]) -> Iterator[tuple[Counts, Codes, Counts]]:
        """Yield, size by size, the sets as kinds: their places; every kind once, the rest -1; how many are of it."""
        lengths = np.array([len(itemset) for itemset in itemsets], np.int64)
        for size in np.unique(lengths):
            places = np.flatnonzero(lengths == size)
            items = np.array([itemsets[int(i)] for i in places], np.int64).reshape(len(places), size)
            kinds = np.sort(self.kind[items], axis=1)
            known = (kinds[:, :, None] == kinds[:, None, :]).sum(axis=2)
            kinds[:, 1:][kinds[:, 1:] == kinds[:, :-1]] = NONE
            yield places, kinds, np.where(kinds == NONE, 0, known)

    def _sums(self, kinds: Codes, known: Counts, odds: Numbers) -> Numbers:
        """Add up over the rows that show something for every kind what the odds say, by set; equal sets once."""
        asked, number = np.unique(np.concatenate([kinds, known], axis=1), axis=0, return_inverse=True)
        width = kinds.shape[1]
        rows = self.rows
        sums = _sums_of_rows(
            np.ascontiguousarray(asked[:, :width].astype(np.int32)),
            np.ascontiguousarray(asked[:, width:].astype(np.int64)),
            self.ends,
            self.codes,
            odds,
            rows.starts,
            rows.codes,
            rows.weights,
            *rows.postings,
        )
        return np.asarray(sums[:, number.ravel()])


@kernel
def _sums_of_rows(
    kinds: Codes,
    known: Counts,
    ends: Counts,
    behind: Codes,
    odds: Numbers,
    starts: Counts,
    codes: Codes,
    weights: Counts,
    begins: Counts,
    rows: Counts,
) -> Numbers:
    """Add up for every set of kinds, over the rows that show something for each, weight times odds.

    The odds of a row are the product over the different codes that it shows for the kinds; two kinds that are behind
    one code count as so many known members of it. Goes through the rows of the kind that the fewest rows have.
    """
    estimators, width = odds.shape[0], kinds.shape[1]
    sums = np.zeros((estimators, len(kinds)))
    shown, members = np.empty(width, np.int32), np.empty(width, np.int64)
    for s in range(len(kinds)):
        anchor, fewest = -1, len(rows) * len(behind) + 1
        for i in range(width):
            kind = kinds[s, i]
            if kind >= 0:
                rows_of = 0
                for at in range(ends[kind], ends[kind + 1]):
                    rows_of += begins[behind[at] + 1] - begins[behind[at]]
                if rows_of < fewest:
                    anchor, fewest = i, rows_of
        if anchor < 0:
            continue
        for at in range(ends[kinds[s, anchor]], ends[kinds[s, anchor] + 1]):
            code = behind[at]
            for p in range(begins[code], begins[code + 1]):
                row = rows[p]
                number, every = 1, True
                shown[0], members[0] = code, known[s, anchor]
                for i in range(width):
                    if i == anchor or kinds[s, i] < 0:
                        continue
                    other = -1
                    for place in range(ends[kinds[s, i]], ends[kinds[s, i] + 1]):
                        if has_number(codes, starts[row], starts[row + 1], behind[place]):
                            other = behind[place]
                            break
                    if other < 0:
                        every = False
                        break
                    same = -1
                    for j in range(number):
                        if shown[j] == other:
                            same = j
                    if same >= 0:
                        members[same] += known[s, i]
                    else:
                        shown[number], members[number] = other, known[s, i]
                        number += 1
                if not every:
                    continue
                for e in range(estimators):
                    share = 1.0
                    for j in range(number):
                        share *= odds[e, members[j], shown[j]]
                    sums[e, s] += share * weights[row]
    return sums
