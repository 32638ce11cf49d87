"""An analyst's estimate for a question about both sides: records with these quasi-identifiers and items.

A question is a box of quasi-identifiers and a set of items. A record *fits* it where its own box overlaps that of the
question and it shows a part for each of the items. The analyst must guess how many records *have* it. It is the sum
over the rows of the group of the share of its box inside the question (mass times overlap over volume, as for tables),
times, for every item, the odds that a part means the item (as for baskets). The original is read in the same way:
every cell is a group with a point for a box, and every item is a separate part.

An analyst's estimate for a set of original items: how many records fit, and how many probably have it.

The analyst knows which items a published item may mean. A record fits a set of items if it shows a part for
each of them. How many of the fitting records have the items themselves the reader must guess: the estimators, by name
(`sfumato.measures.all_measures.ESTIMATORS`). Loukides et al. 2012 work their example out with `half`.

Answering questions about boxes of quasi-identifiers and sets of items: the one loop behind estimates and attacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.config.options import check_choice
from sfumato.data.cells import laid_out, weighted_counts
from sfumato.data.dataset import MixedTable
from sfumato.data.items import Baskets, RowPersons, equal_rows, rows_once, taken_rows
from sfumato.measures.all_measures import ESTIMATORS
from sfumato.release._itemsets import Rows
from sfumato.release.items import SUPPRESSED, BasketRelease, MixedRelease
from sfumato.requirements.items import Itemset
from sfumato.runtime._kernel_helpers import has_number, members_by
from sfumato.runtime.arrays import Codes, Counts, Numbers, RedactedRepr
from sfumato.runtime.kernels import kernel

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

    Items with the same published items are of one *kind*: nothing distinguishes them, and a question about a kind is
    asked once. A row shows at most one of the published items of an original item; if pieces of the baskets are
    published differently, which one depends on the row. So nothing is asked of every piece.
    """

    rows: Rows
    people: Rows
    """The rows with whose they are, where persons are counted; else the same."""

    kind: Codes
    """For every item its kind."""

    ends: Counts
    codes: Codes
    """The published items of the items of kind c are `codes[ends[c] : ends[c + 1]]`."""

    sizes: Counts
    """The number of items of every published item; 0 for a code that only marks a suppressed item."""

    @staticmethod
    def of(release: BasketRelease) -> BasketReader:
        """Read a release; rows of a piece that suppresses items have one more code for these."""
        rows, items = release.recoded, len(release.baskets.items)
        parts, size, extra = release.parts, len(release.labels), len(release.withheld)
        label = [np.repeat(np.arange(size), np.diff(parts.starts))]
        item = [parts.items.astype(np.int64)]
        all_rows = Rows(rows.starts, rows.codes, rows.weights, size + extra, release.persons)
        if extra:
            mark = np.full(len(release.recodings), SUPPRESSED, np.int32)
            for number, (piece, gone) in enumerate(release.withheld):
                mark[piece] = size + number
                label.append(np.full(len(gone), size + number))
                item.append(gone)
            row = np.concatenate(
                [np.repeat(np.arange(len(rows.weights)), np.diff(rows.starts)), np.arange(len(mark[release.piece]))]
            )
            starts, codes = rows_once(row, np.concatenate([rows.codes, mark[release.piece]]), len(rows.weights))
            all_rows = Rows(starts, codes, rows.weights, size + extra, release.persons)
        behind, codes = rows_once(np.concatenate(item), np.concatenate(label), items)
        first, kind = equal_rows(behind, codes)
        ends, kinds = taken_rows(behind, codes, first)
        sizes = np.concatenate([parts.sizes, np.zeros(extra, np.int64)])
        merged = all_rows.merged()
        people = merged if release.persons is None else all_rows
        return BasketReader(merged, people, kind.astype(np.int32), ends, kinds, sizes)

    @staticmethod
    def of_baskets(baskets: Baskets) -> BasketReader:
        """Read the original: every item is itself."""
        items, rows = np.arange(len(baskets.items), dtype=np.int32), Rows.of_baskets(baskets)
        merged = rows if rows.persons is None else rows.merged()
        return BasketReader(merged, rows, items, np.arange(len(items) + 1), items, np.ones(len(items), np.int64))

    def is_shown(self, item: int) -> bool:
        """Return whether some record shows a part for an item."""
        kind = self.kind[item]
        return bool((self.sizes[self.codes[self.ends[kind] : self.ends[kind + 1]]] > 0).any())

    def matches(self, itemsets: Sequence[Itemset]) -> NDArray[np.int64]:
        """Count the persons with a record that fits each set of known items; a suppressed item is passed over."""
        return self._fitting(self.people, itemsets)

    def answers(self, itemsets: Sequence[Itemset]) -> NDArray[np.int64]:
        """Count the records that fit each set of items."""
        return self._fitting(self.rows, itemsets)

    def _fitting(self, rows: Rows, itemsets: Sequence[Itemset]) -> NDArray[np.int64]:
        counts = np.zeros(len(itemsets), np.int64)
        odds = np.ones((1, 1, len(self.sizes)))
        for places, kinds, known in self._asked(itemsets):
            sums = self._sums(rows, kinds, np.minimum(known, 0), odds)
            counts[places] = np.rint(sums[0]).astype(np.int64)
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
            estimates[:, places] = self._sums(self.rows, kinds, known, odds)
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

    def _sums(self, rows: Rows, kinds: Codes, known: Counts, odds: Numbers) -> Numbers:
        """Add up over the rows that show something for every kind what the odds say, by set; equal sets once.

        Of rows that say whose they are each person counts once.
        """
        asked, number = np.unique(np.concatenate([kinds, known], axis=1), axis=0, return_inverse=True)
        width = kinds.shape[1]
        sums = _sums_of_rows(
            np.ascontiguousarray(asked[:, :width].astype(np.int32)),
            np.ascontiguousarray(asked[:, width:].astype(np.int64)),
            self.ends,
            self.codes,
            odds,
            rows.starts,
            rows.codes,
            rows.people,
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
    people: RowPersons,
    begins: Counts,
    rows: Counts,
) -> Numbers:
    """Add up for every set of kinds, over the rows that show something for each, weight times odds.

    Of the rows of one person the first one counts.

    The odds of a row are the product over the different codes that it shows for the kinds. Two kinds that are behind
    one code count as so many known members of it. Goes through the rows of the kind that the fewest rows have.
    """
    estimators, width = odds.shape[0], kinds.shape[1]
    sums = np.zeros((estimators, len(kinds)))
    shown, members = np.empty(width, np.int32), np.empty(width, np.int64)
    counted = np.full(len(people.kind), -1)  # for every person the set for which they were counted last
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
                if not every or counted[people.kind[row]] == s:
                    continue
                counted[people.kind[row]] = s
                for e in range(estimators):
                    share = 1.0
                    for j in range(number):
                        share *= odds[e, members[j], shown[j]]
                    sums[e, s] += share * people.number[row]
    return sums


@kernel
def _share(
    lo: Codes, hi: Codes, box_lo: Codes, box_hi: Codes, cumulative: Numbers, offsets: Counts, whole: bool
) -> float:
    """Return which share of a box lies in another one; 1 for any overlap where `whole`."""
    share = 1.0
    for a in range(len(lo)):
        first, last = max(lo[a], box_lo[a]), min(hi[a], box_hi[a])
        if first > last:
            return 0.0
        if not whole:
            base = offsets[a]
            inside = cumulative[base + last + 1] - cumulative[base + first]
            share *= inside / (cumulative[base + box_hi[a] + 1] - cumulative[base + box_lo[a]])
    return share


@kernel
def answers(
    lo: Codes,
    hi: Codes,
    starts: Counts,
    items: Codes,
    box_lo: Codes,
    box_hi: Codes,
    sizes: Counts,
    cumulative: Numbers,
    offsets: Counts,
    begins: Counts,
    rows: Codes,
    part_sizes: Codes,
    group: Counts,
    count: Counts,
    odds: Numbers,
    whole: bool,
) -> Numbers:
    """Add up, over the rows that show all items of a question, records times overlap times odds.

    The rows of the rarest item are walked, the others searched by halving; without items all groups are walked. The
    share of a group is worked out once as long as its rows follow each other, which they do.
    """
    totals = np.zeros(len(lo))
    for q in range(len(lo)):
        total = 0.0
        if starts[q] == starts[q + 1]:
            for g in range(len(sizes)):
                total += sizes[g] * _share(lo[q], hi[q], box_lo[g], box_hi[g], cumulative, offsets, whole)
            totals[q] = total
            continue
        anchor, fewest = -1, len(rows) + 1
        for at in range(starts[q], starts[q + 1]):
            item = items[at]
            if begins[item + 1] - begins[item] < fewest:
                anchor, fewest = at, begins[item + 1] - begins[item]
        last_group, share = -1, 0.0
        for p in range(begins[items[anchor]], begins[items[anchor] + 1]):
            row = rows[p]
            if group[row] != last_group:
                last_group = group[row]
                share = _share(lo[q], hi[q], box_lo[last_group], box_hi[last_group], cumulative, offsets, whole)
            if share == 0.0:
                continue
            likely = share * odds[part_sizes[p]]
            for at in range(starts[q], starts[q + 1]):
                if at == anchor:
                    continue
                low, high = begins[items[at]], begins[items[at] + 1]
                while low < high:
                    middle = (low + high) // 2
                    if rows[middle] < row:
                        low = middle + 1
                    else:
                        high = middle
                if low < begins[items[at] + 1] and rows[low] == row:
                    likely *= odds[part_sizes[low]]
                else:
                    likely = 0.0
                    break
            total += count[row] * likely
        totals[q] = total
    return totals


@dataclass(frozen=True, eq=False, repr=False)
class Questions(RedactedRepr):
    """Boxes of quasi-identifiers, each with a set of items; a box of the whole domain asks for no quasi-identifier."""

    lo: Codes
    hi: Codes
    items: Sequence[Itemset]

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def ragged(self) -> tuple[Counts, Codes]:
        """The items, one question after the other."""
        lengths = [len(itemset) for itemset in self.items]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return starts, np.fromiter((item for itemset in self.items for item in itemset), np.int32, sum(lengths))

    @staticmethod
    def of_items(data: MixedTable, items: Sequence[Itemset]) -> Questions:
        """Ask for items alone."""
        first, last = data.cells.whole
        shape = (len(items), 1)
        return Questions(np.tile(first, shape), np.tile(last, shape), items)


@dataclass(frozen=True, eq=False, repr=False)
class MixedReader(RedactedRepr):
    """Groups with boxes, rows of groups with the parts that they show, and the items of each part."""

    lo: Codes
    hi: Codes
    sizes: Counts
    """The boxes of the groups and their records."""

    group: Counts
    count: Counts
    """The group of every row, and its records."""

    begins: Counts
    rows: Codes
    part_sizes: Codes
    """Item i may be in the rows `rows[begins[i] : begins[i + 1]]`, ascending, by parts of these sizes."""

    cumulative: Numbers
    offsets: Counts
    """The widths of the leaves of all quasi-identifiers, added up, and where each one's begin."""

    @staticmethod
    def of_data(data: MixedTable) -> MixedReader:
        """Read the original."""
        cells, baskets, pairs = data.cells, data.baskets, data.pairs
        starts, codes = taken_rows(baskets.starts, baskets.codes, pairs.basket)
        ones = np.ones(len(codes), np.int32)
        rows = np.repeat(np.arange(len(pairs), dtype=np.int32), np.diff(starts))
        postings = _postings(codes, rows, ones, len(baskets.items))
        return MixedReader(cells.codes, cells.codes, cells.counts, pairs.cell, pairs.count, *postings, *_widths(data))

    @staticmethod
    def of(release: MixedRelease) -> MixedReader:
        """Read a release; rows of a group that look the same are one."""
        data, parts, boxes = release.data, release.parts, release.relational.boxes
        starts, codes = release.shown
        width = max(len(parts.labels), 1)
        length = np.diff(starts)
        keys = np.repeat(release.group, length) * width + codes
        tagged = np.unique(keys, return_inverse=True)[1].ravel().astype(np.int32)
        first, link = equal_rows(starts, tagged)
        count = weighted_counts(link, release.count, len(first))
        at, shown = taken_rows(starts, codes, first)
        row = np.repeat(np.arange(len(first), dtype=np.int32), np.diff(at))
        members = np.diff(parts.starts)[shown]
        entry = np.repeat(np.arange(len(shown)), members)
        items = taken_rows(parts.starts, parts.items, shown.astype(np.int64))[1]
        sizes = parts.sizes[shown][entry].astype(np.int32)
        postings = _postings(items, row[entry], sizes, len(data.baskets.items))
        group_sizes = np.bincount(release.group, release.count, release.relational.groups).astype(np.int64)
        return MixedReader(boxes.lo, boxes.hi, group_sizes, release.group[first], count, *postings, *_widths(data))

    def fitting(self, questions: Questions) -> Counts:
        """Count the records that fit each question."""
        odds = np.ones(int(self.part_sizes.max(initial=1)) + 1)
        return np.rint(self._asked(questions, odds, True)).astype(np.int64)

    def estimates(self, questions: Questions, estimator: str) -> Numbers:
        """Estimate the records that have what each question asks for."""
        sizes = np.arange(int(self.part_sizes.max(initial=1)) + 1, dtype=np.int64)
        odds = member_odds(estimator, np.maximum(sizes, 1), 1)
        return self._asked(questions, odds, False)

    def _asked(self, questions: Questions, odds: Numbers, whole: bool) -> Numbers:
        return answers(
            questions.lo,
            questions.hi,
            *questions.ragged,
            self.lo,
            self.hi,
            self.sizes,
            self.cumulative,
            self.offsets,
            self.begins,
            self.rows,
            self.part_sizes,
            self.group,
            self.count,
            odds,
            whole,
        )


def _postings(items: Codes, rows: Codes, sizes: Codes, number: int) -> tuple[Counts, Codes, Codes]:
    begins, entries = members_by(items, number)
    return begins, rows[entries], sizes[entries]


def _widths(data: MixedTable) -> tuple[Numbers, Counts]:
    return laid_out([np.asarray(quasi.hierarchy.cumulative, np.float64) for quasi in data.cells.quasi])
