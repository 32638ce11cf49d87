"""What a reader of a release makes of a question about both sides: records with these quasi-identifiers and items.

A question is a box of quasi-identifiers and a set of items. A record *fits* it where its own box overlaps that of the
question and it shows a part for each of the items. How many records *have* it the reader must guess: of a group the
share of its box that lies in the question's (mass times overlap over volume, as for tables), times, for every item, the
odds that a part stands for it (as for baskets), added up row by row of the group. The original is read by the same
eyes: every cell is a group with a point for a box, and every item a part of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.arrays import Codes, Counts, Numbers
from sfumato.kernel_helpers import members_by
from sfumato.mixed.measures.answer_kernels import answers
from sfumato.mixed.mixed_table import MixedTable
from sfumato.mixed.release import MixedRelease
from sfumato.quiet import Quiet
from sfumato.table import weighted_counts
from sfumato.table.rows import laid_out
from sfumato.transactions.baskets import equal_rows, taken_rows
from sfumato.transactions.measures.reader import member_odds
from sfumato.transactions.policy import Itemset


@dataclass(frozen=True, eq=False, repr=False)
class Questions(Quiet):
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
class MixedReader(Quiet):
    """Groups with boxes, rows of groups with the parts that they show, and which items each part stands for."""

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
