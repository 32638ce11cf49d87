"""One release read as features: distinct rows with the records of every class and fold, ready to train and to test.

A test record influences the training only by the absence of its fold, where persons are counted with all records of
its person. Boxes and groups are those of the release, and the sensitive values of a bucket, where they are the classes
to learn, are counted again without it.

Records one by one, as the written file has them: which group each goes to, and to which fold of a validation.

Records are in the order in which an engine returns them: by cell, within a cell by their neutral values. Equal records
stand side by side, so what belongs together is a stretch of positions, and counts are differences of sums.

Scores of a classifier on weighted test records: accuracy, balanced accuracy, area under the curve, Brier score.

Synthetic or changed records as a classifier's table: it is trained on the release and tested on original people.

A perturbed, synthetic or noisy release is read as points (`read_as_records`). The people of a fold are asked with their
original values, whatever `test` says: what the release shows of them is not theirs. If the original of each record is
known, the records of a fold's people are left out of its training, as for every other release. Of synthetic records
that is not known, so all of them train: one that copies people has seen those that it is tested on, and can look
better than the original.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.data.cells import Assignment, distinct_rows, weighted_counts
from sfumato.data.persons import PersonPairs
from sfumato.data.reading import Table
from sfumato.engines.protocol import Pairs
from sfumato.measures.classification import _classifiers
from sfumato.measures.classification._classifiers import features
from sfumato.release.records import RecordRelease, cell_codes, read_as_records
from sfumato.release.release import Published, Release
from sfumato.runtime.arrays import Codes, Counts
from sfumato.runtime.arrays import Numbers as ScoresNumbers

if TYPE_CHECKING:
    from sfumato.measures.classification.classification import ClassificationTask

NOT_DRAWN = -1
"""The fold of a record that a sample leaves out."""


@dataclass(frozen=True, eq=False)
class DealtRecords:
    """The distinct records of a table with its neutral columns, in the order in which a file deals them out."""

    cell: Counts
    neutral: Counts
    """One row per distinct record, one column per neutral column: positions in `texts`."""

    counts: Counts
    names: tuple[str, ...]
    texts: tuple[tuple[str | None, ...], ...]
    persons: PersonPairs | None = None
    """Whose records they are, where persons are counted; a distinct record takes the place of a cell."""

    @cached_property
    def starts(self) -> Counts:
        """The position of the first record of every kind."""
        return np.cumsum(self.counts) - self.counts

    @property
    def size(self) -> int:
        """The number of records."""
        return int(self.counts.sum())


@dataclass(frozen=True, eq=False)
class Dealt:
    """Stretches of equal records that go to one group, or (-1) to none because they are suppressed."""

    record: Counts
    """Which of the distinct records."""

    group: Counts
    first: Counts
    last: Counts
    """Positions, the last one excluded."""


def records_of(table: Table) -> DealtRecords:
    """List the distinct records of a table."""
    names = tuple(name for name in table.published if name in table.roles.neutral)
    cells, person = table.cells, table.roles.person  # counted first: the link comes with them
    if not names:
        none = np.zeros((cells.size, 0), np.int64)
        return DealtRecords(np.arange(cells.size), none, cells.counts, (), (), cells.persons)
    tuples = table.engine.tuples(names if person is None else (*names, person), table.link)
    texts = tuple(map(tuple, tuples.texts[: len(names)]))
    if person is None:
        return DealtRecords(tuples.cell, tuples.values, tuples.counts, names, texts)
    shown = np.column_stack([tuples.cell, tuples.values[:, :-1]])  # in order, whoever has them
    first = np.flatnonzero(np.r_[True, (shown[1:] != shown[:-1]).any(axis=1)])
    record = np.repeat(np.arange(len(first)), np.diff(np.r_[first, len(shown)]))
    persons = PersonPairs.of(Pairs(record, tuples.values[:, -1], tuples.counts), len(first))
    counts = np.add.reduceat(tuples.counts, first)
    return DealtRecords(shown[first, 0], shown[first, 1:], counts, names, texts, persons)


def deal(records: DealtRecords, assignment: Assignment) -> Dealt:
    """Send the records of every cell to its groups, in order: the first ones to the group with the lowest number."""
    order = np.lexsort((assignment.group, assignment.cell))
    cell, group, count = assignment.cell[order], assignment.group[order], assignment.count[order]
    starts_of_cell = records.starts[np.searchsorted(records.cell, cell)]
    before = np.cumsum(count) - count
    first_of_cell = np.searchsorted(cell, cell)
    first = starts_of_cell + before - before[first_of_cell]
    last = first + count
    breaks = np.unique(np.concatenate([records.starts, first, last]))
    ends = np.append(breaks[1:], records.size)
    inside = breaks < ends
    breaks, ends = breaks[inside], ends[inside]
    record = np.searchsorted(records.starts, breaks, side="right") - 1
    entry = np.searchsorted(first, breaks, side="right") - 1
    taken = (entry >= 0) & (breaks < last[entry]) if len(last) else np.zeros(len(breaks), np.bool_)
    return Dealt(record, np.where(taken, group[entry] if len(group) else -1, -1), breaks, ends)


def folds_of(labels: Counts, folds: int, sample: int, seed: int, records: Counts | None = None) -> NDArray[np.int16]:
    """Give every record a fold, each class spread evenly over the folds; beyond `sample` records only some are drawn.

    The assignment of records to folds depends on the seed and on the labels alone, never on a release. So the same
    fold of two releases holds the same people, and their results can be compared pair by pair. With the number of
    `records` of each the labels are those of persons, who get a fold with all that they have.
    """
    random = np.random.default_rng(seed)
    shuffled = random.permutation(len(labels))
    together = np.arange(1, len(labels) + 1) if records is None else np.cumsum(records[shuffled])
    drawn = shuffled[: np.searchsorted(together, sample, side="right")] if sample else shuffled
    by_class = drawn[np.argsort(labels[drawn], kind="stable")]
    fold = np.full(len(labels), NOT_DRAWN, np.int16)
    fold[by_class] = np.arange(len(by_class)) % folds
    return fold


def folds_of_persons(persons: PersonPairs, labels: Counts, folds: int, sample: int, seed: int) -> NDArray[np.int16]:
    """Give every person a fold with all records, by the class that most of them have: the folds of all records.

    `labels` are those of the distinct records. Persons are drawn in an order that follows from their records, and so
    are equal records.
    """
    rank = np.empty(persons.number, np.int64)
    rank[persons.ordered] = np.arange(persons.number)
    classes = int(labels.max()) + 1
    by_class = np.bincount(rank[persons.person] * classes + labels[persons.cell], persons.count, len(rank) * classes)
    label = by_class.reshape(-1, classes).argmax(axis=1)
    fold = folds_of(label, folds, sample, seed, persons.records[persons.ordered])
    order = np.lexsort((rank[persons.person], persons.cell))
    return np.repeat(fold[rank[persons.person[order]]], persons.count[order])


@dataclass(frozen=True, eq=False)
class Folds:
    """In which fold every record is, summed up so that any stretch of records is counted by a difference."""

    sums: NDArray[np.int32]
    """One row per fold: records of that fold before every position."""

    @staticmethod
    def of(fold: NDArray[np.int16], folds: int) -> Folds:
        """Sum up the records of every fold."""
        sums = np.zeros((folds, len(fold) + 1), np.int32)
        for f in range(folds):
            np.cumsum(fold == f, out=sums[f, 1:], dtype=np.int32)
        return Folds(sums)

    def counts(self, first: Counts, last: Counts) -> Counts:
        """Count the records of stretches by fold: stretches x folds."""
        return (self.sums[:, last] - self.sums[:, first]).T.astype(np.int64)


SCORES = ("accuracy", "balanced", "auc", "brier")


@dataclass(frozen=True, eq=False)
class Fold:
    """The results of one fold: for every tested row the likelihood of each class, and the true class."""

    chances: ScoresNumbers
    """Rows x classes."""

    true: ScoresNumbers
    """Rows x classes: the records of every class that show this row."""


def score(fold: Fold) -> dict[str, float]:
    """Score the answers of a fold."""
    chances, true = fold.chances, fold.true
    total, per_class = float(true.sum()), true.sum(axis=0)
    guess = chances.argmax(axis=1)
    right = np.bincount(guess, weights=true[np.arange(len(guess)), guess], minlength=true.shape[1])
    there = per_class > 0
    return {
        "accuracy": float(right.sum()) / total,
        "balanced": float((right[there] / per_class[there]).mean()),
        "auc": area(chances, true),
        "brier": float((true.sum(axis=1) * (chances**2).sum(axis=1) - 2 * (true * chances).sum(axis=1)).sum() + total)
        / total,
    }


def area(chances: ScoresNumbers, true: ScoresNumbers) -> float:
    """Average over the classes how often a record of the class is thought likelier to be of it than one that is not.

    Ties count half. With two classes both have the same area.
    """
    rows, areas = true.sum(axis=1), []
    for c in range(true.shape[1]):
        inside, outside = true[:, c], rows - true[:, c]
        if inside.sum() == 0 or outside.sum() == 0:
            continue
        _, place = np.unique(chances[:, c], return_inverse=True)
        members, other = np.bincount(place, weights=inside), np.bincount(place, weights=outside)
        below = np.cumsum(other) - other
        areas.append(float((members * (below + other / 2)).sum() / (inside.sum() * outside.sum())))
    return float(np.mean(areas)) if areas else 0.5


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

    blocks: tuple[_classifiers.Block, ...]
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
        blocks = self.readings[_classifiers.CLASSIFIERS[classifier][1]]
        weights = self.training_weights(fold)
        row, label = np.nonzero(weights)
        tested = self._per_row(self.test, self.test.counts[:, fold])
        asked = np.flatnonzero(tested.sum(axis=1))
        chances = np.zeros((len(asked), self.classes))
        model = _classifiers.trained(
            classifier, seed, features(blocks, self.train.rows[row]), label, weights[row, label]
        )
        if len(asked):
            chances[:, model.classes_] = model.predict_proba(features(blocks, self.test.rows[asked]))
        missed = self.unseen[:, fold].astype(np.float64)
        if missed.any():  # of records that are not published, the shares of the published ones are all one knows
            chances = np.concatenate([chances, weights.sum(axis=0, keepdims=True) / weights.sum()])
            return Fold(chances, np.concatenate([tested[asked], missed[None, :]]))
        return Fold(chances, tested[asked])

    @cached_property
    def readings(self) -> dict[_classifiers.Reading, list[_classifiers.Numbers]]:
        """The blocks in either reading, without columns that never differ."""
        return {
            "shown": [_classifiers.varying(block.shown) for block in self.blocks],
            "mass": [_classifiers.varying(block.mass) for block in self.blocks],
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

    block: _classifiers.Block
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
            sources.append(
                _Source(_classifiers.intervals_block(hierarchy, there, there, original), by_cell=place.astype(np.int64))
            )
            continue
        keys, place = np.unique(boxes.lo[:, a].astype(np.int64) * hierarchy.size + boxes.hi[:, a], return_inverse=True)
        lo, hi = keys // hierarchy.size, keys % hierarchy.size
        by_group = np.empty(release.groups, np.int64)
        by_group[boxes.group] = place
        if original:
            block = _classifiers.intervals_block(
                hierarchy, np.concatenate([lo, leaves]), np.concatenate([hi, leaves]), True
            )
            sources.append(_Source(block, by_group=by_group, exact=len(lo) + codes))
        else:
            sources.append(_Source(_classifiers.intervals_block(hierarchy, lo, hi, False), by_group=by_group))
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
            block = _classifiers.shares_block(release.histograms.of(j), original)
            sources.append(_Source(block, by_group=np.arange(release.groups), exact=release.groups + values))
        else:
            leaves = attribute.leaves
            sources.append(
                _Source(_classifiers.intervals_block(attribute.hierarchy, leaves, leaves, original), by_cell=values)
            )
    return sources


def _neutral(task: ClassificationTask) -> list[_Source]:
    """Read the neutral columns, which every release shows as they are."""
    sources, records = [], task.records
    for i, name in enumerate(records.names):
        if name != task.workload.target:
            weights = weighted_counts(records.neutral[:, i], records.counts, len(records.texts[i]))
            sources.append(
                _Source(_classifiers.texts_block(records.texts[i], weights), by_record=records.neutral[:, i])
            )
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
        blocks.append(_classifiers.intervals_block(records.hierarchies[other], leaves, leaves, by_leaf=True))
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
