"""One release read as features: distinct rows with the records of every class and fold, ready to train and to test.

Nothing of a test record reaches the training but that its fold is left out: boxes and groups are what the release
publishes, and the sensitive values of a bucket, where they are the classes to learn, are counted again without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Counts
from sfumato.measures.classification.classifiers import CLASSIFIERS, Reading, trained
from sfumato.measures.classification.features import (
    Block,
    Numbers,
    features,
    intervals_block,
    shares_block,
    texts_block,
    varying,
)
from sfumato.measures.classification.records import Dealt
from sfumato.measures.classification.scores import Fold
from sfumato.release import Release
from sfumato.table import distinct_rows, weighted_counts

if TYPE_CHECKING:
    from sfumato.measures.classification.classification import ClassificationTask


@dataclass(frozen=True, eq=False)
class LearnedRows:
    """Rows of features (positions in the blocks), and stretches of records with their row, class, group and folds."""

    rows: Counts
    row: Counts
    label: Counts
    group: Counts
    counts: Counts
    """Stretches x folds."""


@dataclass(frozen=True, eq=False)
class Validation:
    """A release as a classifier's table."""

    blocks: tuple[Block, ...]
    train: LearnedRows
    test: LearnedRows
    classes: int
    dealt_out: bool
    """Whether the classes are the sensitive values of buckets, of which only a group's counts are known."""

    unseen: Counts
    """Classes x folds: the records that are tested but not published."""

    @staticmethod
    def of(task: ClassificationTask, release: Release, dealt: Dealt) -> Validation:
        """Read a release as features."""
        original = task.workload.test == "original"
        sources = [*_quasi(release, original), *_sensitive(task, release, original), *_neutral(task)]
        counts = task.folds.counts(dealt.first, dealt.last)
        label = task.labels[dealt.record]
        published = dealt.group >= 0
        cell = task.records.cell[dealt.record]
        codes = (
            np.stack([source.of_published(dealt.group, cell, dealt.record) for source in sources], axis=1)
            if sources
            else np.zeros((len(cell), 0), np.int64)
        )
        train = side_of(codes[published], label[published], dealt.group[published], counts[published])
        test, unseen = train, _by_class(label[~published], counts[~published], len(task.classes))
        if original:
            exact = np.stack([source.of_original(cell, dealt.record) for source in sources], axis=1)
            test, unseen = side_of(exact, label, dealt.group, counts), np.zeros_like(unseen)
        dealt_out = release.form == "bucketization" and task.workload.target in task.table.roles.sensitive
        return Validation(tuple(s.block for s in sources), train, test, len(task.classes), dealt_out, unseen)

    def fold(self, classifier: str, fold: int, seed: int) -> Fold:
        """Train on all folds but one and test on that."""
        blocks = self.readings[CLASSIFIERS[classifier][1]]
        weights = self.training_weights(fold)
        row, label = np.nonzero(weights)
        tested = self._per_row(self.test, self.test.counts[:, fold])
        asked = np.flatnonzero(tested.sum(axis=1))
        chances = np.zeros((len(asked), self.classes))
        model = trained(classifier, seed, features(blocks, self.train.rows[row]), label, weights[row, label])
        if len(asked):
            chances[:, model.classes_] = model.predict_proba(features(blocks, self.test.rows[asked]))
        missed = self.unseen[:, fold].astype(np.float64)
        if missed.any():  # of records that are not published, the shares of the published ones are all one knows
            chances = np.concatenate([chances, weights.sum(axis=0, keepdims=True) / weights.sum()])
            return Fold(chances, np.concatenate([tested[asked], missed[None, :]]))
        return Fold(chances, tested[asked])

    @cached_property
    def readings(self) -> dict[Reading, list[Numbers]]:
        """The blocks in either reading, without columns that never differ."""
        return {
            "shown": [varying(block.shown) for block in self.blocks],
            "mass": [varying(block.mass) for block in self.blocks],
        }

    def training_weights(self, fold: int) -> NDArray[np.float64]:
        """Count the records of every row and class outside a fold."""
        counts = self.train.counts.sum(axis=1) - self.train.counts[:, fold]
        if not self.dealt_out:
            return self._per_row(self.train, counts)
        groups = int(self.train.group.max()) + 1
        histograms = _table(self.train.group, self.train.label, counts, groups, self.classes)
        shares = histograms / np.maximum(histograms.sum(axis=1, keepdims=True), 1)
        members = np.zeros((len(self.train.rows), self.classes))
        np.add.at(members, self.train.row, shares[self.train.group] * counts[:, None])
        return members

    def _per_row(self, side: LearnedRows, counts: Counts) -> NDArray[np.float64]:
        return _table(side.row, side.label, counts, len(side.rows), self.classes)


@dataclass(frozen=True, eq=False)
class _Source:
    """An attribute that is a feature: its block, and which row of it a published or an original record has."""

    block: Block
    by_group: Counts | None = None
    by_cell: Counts | None = None
    by_record: Counts | None = None
    exact: Counts | None = None
    """By cell: the row for the original value, where that is another one than what is published."""

    def of_published(self, group: Counts, cell: Counts, record: Counts) -> Counts:
        if self.by_group is not None:
            return np.where(group >= 0, self.by_group[group], 0)
        return self.of_original(cell, record) if self.by_cell is None else self.by_cell[cell]

    def of_original(self, cell: Counts, record: Counts) -> Counts:
        if self.exact is not None:
            return self.exact[cell]
        if self.by_cell is not None:
            return self.by_cell[cell]
        assert self.by_record is not None
        return self.by_record[record]


def _quasi(release: Release, original: bool) -> list[_Source]:
    """Read the quasi-identifiers: in buckets they are exact, otherwise a group shows its box."""
    sources, cells, boxes = [], release.cells, release.boxes
    for a, quasi in enumerate(cells.quasi):
        hierarchy, codes = quasi.hierarchy, cells.codes[:, a].astype(np.int64)
        leaves = np.arange(hierarchy.size)
        if release.form == "bucketization":
            there, place = np.unique(codes, return_inverse=True)
            sources.append(_Source(intervals_block(hierarchy, there, there, original), by_cell=place.astype(np.int64)))
            continue
        keys, place = np.unique(boxes.lo[:, a].astype(np.int64) * hierarchy.size + boxes.hi[:, a], return_inverse=True)
        lo, hi = keys // hierarchy.size, keys % hierarchy.size
        by_group = np.empty(release.groups, np.int64)
        by_group[boxes.group] = place
        if original:
            block = intervals_block(hierarchy, np.concatenate([lo, leaves]), np.concatenate([hi, leaves]), True)
            sources.append(_Source(block, by_group=by_group, exact=len(lo) + codes))
        else:
            sources.append(_Source(intervals_block(hierarchy, lo, hi, False), by_group=by_group))
    return sources


def _sensitive(task: ClassificationTask, release: Release, original: bool) -> list[_Source]:
    """Read the sensitive attributes that are not learned themselves: exact, or as the distribution of a bucket."""
    if release.histograms is None:
        return []
    sources = []
    for j, attribute in enumerate(release.cells.sensitive):
        if attribute.name == task.workload.target:
            continue
        values = release.cells.values[:, j].astype(np.int64)
        if release.form == "bucketization":
            block = shares_block(release.histograms.of(j), original)
            sources.append(_Source(block, by_group=np.arange(release.groups), exact=release.groups + values))
        else:
            leaves = attribute.leaves
            sources.append(_Source(intervals_block(attribute.hierarchy, leaves, leaves, original), by_cell=values))
    return sources


def _neutral(task: ClassificationTask) -> list[_Source]:
    """Read the neutral columns, which every release shows as they are."""
    sources, records = [], task.records
    for i, name in enumerate(records.names):
        if name != task.workload.target:
            weights = weighted_counts(records.neutral[:, i], records.counts, len(records.texts[i]))
            sources.append(_Source(texts_block(records.texts[i], weights), by_record=records.neutral[:, i]))
    return sources


def side_of(codes: Counts, label: Counts, group: Counts, counts: Counts) -> LearnedRows:
    """Find the distinct rows of features of stretches of records."""
    first, row = distinct_rows(codes.astype(np.int32))
    return LearnedRows(codes[first], row, label, group, counts)


def _table(row: Counts, label: Counts, counts: Counts, rows: int, classes: int) -> NDArray[np.float64]:
    table = np.bincount(row * classes + label, counts, rows * classes).reshape(rows, classes)
    return table.astype(np.float64)


def _by_class(label: Counts, counts: Counts, classes: int) -> Counts:
    totals = np.zeros((classes, counts.shape[1]), np.int64)
    np.add.at(totals, label, counts)
    return totals
