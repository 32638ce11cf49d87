"""Records in place of records as a classifier's table: it is trained on the release and tested on original people.

A perturbed, synthetic or noisy release is read as points (`read_as_records`). The people of a fold are asked with their
original values, whatever `test` says: what the release shows of them is not theirs. Where it is known which record
stands for whom, the records of a fold's people are left out of its training, as for every other release. Of synthetic
records that is not known, so all of them train: one that copies people has seen those that it is tested on, and can
look better than the original.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.arrays import Codes, Counts
from sfumato.measures.classification.features import intervals_block
from sfumato.measures.classification.records import deal
from sfumato.measures.classification.validation import Validation, side_of
from sfumato.release import Published, RecordRelease, read_as_records
from sfumato.release.records import cell_codes

if TYPE_CHECKING:
    from sfumato.measures.classification.classification import ClassificationTask


def validation_of_records(task: ClassificationTask, release: Published) -> Validation | None:
    """Read a release of records that are not the table's own as features; None where it does not have the target."""
    cells, target = task.table.cells, task.workload.target
    sensitive = [attribute.name for attribute in cells.sensitive]
    if target not in sensitive:
        return None  # neutral columns are not among such records
    records = read_as_records(release, np.random.default_rng(task.workload.seed))
    place = len(cells.quasi) + sensitive.index(target)
    features = [other for other in range(len(records.names)) if other != place]
    label = _labels(task, records.codes[:, place])
    fold = _folds(task, release, len(records))
    taught = (label >= 0) & (fold >= 0)
    if not taught.any():
        return None
    folds = task.workload.folds
    codes = records.codes[taught][:, features].astype(np.int64)
    train = side_of(codes, label[taught], fold[taught], np.eye(folds + 1, dtype=np.int64)[fold[taught]])
    asked = task.folds.counts(task.records.starts, task.records.starts + task.records.counts)
    exact = cell_codes(cells)[task.records.cell][:, features].astype(np.int64)
    test = side_of(exact, task.labels, task.records.cell, asked)
    blocks = []
    for other in features:
        leaves = np.arange(records.hierarchies[other].size)
        blocks.append(intervals_block(records.hierarchies[other], leaves, leaves, by_leaf=True))
    classes = len(task.classes)
    return Validation(tuple(blocks), train, test, classes, False, np.zeros((classes, folds), np.int64))


def _labels(task: ClassificationTask, leaves: Codes) -> Counts:
    """Return the class of every record, -1 where nobody in the table has its value."""
    attribute = next(each for each in task.table.cells.sensitive if each.name == task.workload.target)
    place = np.full(attribute.hierarchy.size + 1, -1, np.int64)  # what is not shown is at -1, too
    place[attribute.leaves] = np.arange(attribute.size)
    return place[leaves]


def _folds(task: ClassificationTask, release: Published, records: int) -> Counts:
    """Say in which fold every record is left out: the last is never; -1 where it never trains."""
    folds, sample = task.workload.folds, task.workload.sample
    link = release.link if isinstance(release, RecordRelease) else None
    if link is None:
        fold = np.full(records, folds, np.int64)
        if 0 < sample < records:
            fold[np.random.default_rng(task.workload.seed).permutation(records)[sample:]] = -1
        return fold
    assert isinstance(release, RecordRelease)
    dealt = deal(task.records, link)
    there = dealt.group >= 0
    first, last, row = dealt.first[there], dealt.last[there], dealt.group[there]
    by_fold = np.zeros((len(release.counts), folds + 2), np.int64)
    counts = task.folds.counts(first, last)
    np.add.at(by_fold, row, np.column_stack([counts, np.zeros(len(row), np.int64), last - first - counts.sum(axis=1)]))
    by_fold[:, folds] = np.maximum(release.counts - by_fold.sum(axis=1), 0)  # records that stand for nobody
    every = np.append(np.arange(folds + 1), -1)
    return np.repeat(np.tile(every, len(by_fold)), by_fold.ravel())
