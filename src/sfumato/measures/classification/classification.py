"""Workload utility (Brickell & Shmatikov 2008): how well a named column can be learned from a release.

A researcher trains a classifier on the release, with neutral attributes as they are and quasi-identifiers as they are
published, and is tested by cross-validation. The same is done with both trivial sanitizations and with the original:
what a release gives beyond the better trivial one is the researcher's gain, to be held against the adversary's.

Is a release worth it? The gain of a researcher over the better trivial sanitization, and the gain of an adversary.

The same people are in the same fold of every release, so results are compared fold by fold. Training sets of a
cross-validation overlap, which makes differences look more certain than they are. The interval allows for that as
Nadeau & Bengio (2003) propose: the variance of a mean over k folds is (1/k + 1/(k-1)) times that of one difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Annotated, ClassVar, Literal

import numpy as np

from sfumato.anonymizers.trivial import Original, WithoutQuasi, WithoutSensitive
from sfumato.config.options import Configured, Option, check_choice
from sfumato.data.reading import Table
from sfumato.measures.classification import _validation
from sfumato.measures.classification._classifiers import CLASSIFIERS
from sfumato.measures.classification._validation import score
from sfumato.release.release import Published, Release
from sfumato.requirements.requirement import KAnonymity
from sfumato.runtime.arrays import Counts
from sfumato.runtime.cancellation import check_cancelled
from sfumato.runtime.threads import together
from sfumato.texts.catalogue import refusal

MOST_CLASSES = 50
BASES = ("without-quasi", "without-sensitive")
"""The two trivial sanitizations."""


@dataclass(frozen=True)
class Classification(Configured):
    """Which column is learned, by which classifiers (with commas between), and how they are tested.

    `test=release` validates within the release: a test record shows what its release shows of it. `test=original`
    shows the trained classifier the original records instead, as somebody would who applies it to new people.
    Of more than `sample` records so many are drawn; 0 takes all.
    """

    name: ClassVar[str] = "classification"
    example: ClassVar[str] = "classification target=COLUMN classifiers=decision-tree,naive-bayes"

    target: Annotated[str, Option(takes="column")]
    """The column that is learned."""

    classifiers: Annotated[str, Option(takes="classifiers")] = "decision-tree,naive-bayes"
    """By whom, with commas between."""

    folds: Annotated[int, Option(least=2)] = 10
    """Into how many parts records are divided to test on each."""

    seed: Annotated[int, Option(least=0)] = 0
    """What decides the folds."""

    test: Annotated[Literal["release", "original"], Option()] = "release"
    """Whether a test record shows what its release shows of it, or its original values."""

    sample: Annotated[int, Option(least=0)] = 100000
    """Of more records than this, so many are drawn; 0 takes all."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.target:
            raise refusal("target_must_name_column", target=self.target)
        for classifier in self.methods:
            check_choice("classifiers", classifier, CLASSIFIERS)

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the classifiers."""
        return tuple(dict.fromkeys(name.strip() for name in self.classifiers.split(",")))

    def prepare(self, table: Table) -> ClassificationTask:
        """Work out everything that does not depend on a release."""
        return ClassificationTask(table, self)


@dataclass(frozen=True)
class Learned:
    """How well the target was learned from one release: for every classifier and score a number per fold."""

    folds: Mapping[str, Mapping[str, tuple[float, ...]]]
    """By classifier, by score."""

    def mean(self, classifier: str, score: str = "accuracy") -> float:
        """Average a score over the folds."""
        return float(np.mean(self.folds[classifier][score]))

    @property
    def best(self) -> str:
        """The classifier of the highest accuracy; the first named one among equals."""
        return max(self.folds, key=self.mean)

    @property
    def accuracy(self) -> float:
        """The accuracy of the best classifier."""
        return self.mean(self.best)


@dataclass(frozen=True, eq=False)
class ClassificationTask:
    """A workload made ready for one table: its records, their classes and their folds."""

    table: Table
    workload: Classification

    def __post_init__(self) -> None:
        target, roles = self.workload.target, self.table.roles
        learnable = [*roles.neutral, *roles.sensitive]
        if target in roles.quasi:
            raise refusal("target_is_quasi", target=target, learnable=", ".join(learnable) or "there is none")
        if target not in learnable:
            raise refusal("target_not_published", target=target, learnable=", ".join(learnable) or "none")

    @cached_property
    def records(self) -> _validation.DealtRecords:
        """The distinct records."""
        return _validation.records_of(self.table)

    @cached_property
    def _coded(self) -> tuple[tuple[str, ...], Counts]:
        """The classes as text, and the class of every distinct record."""
        target, cells = self.workload.target, self.table.cells
        names = [attribute.name for attribute in cells.sensitive]
        if target in names:
            position = names.index(target)
            labels = tuple(cells.sensitive[position].labels)
            codes = cells.values[self.records.cell, position].astype(np.int64)
        else:
            position = self.records.names.index(target)
            texts = self.records.texts[position]
            order = sorted(range(len(texts)), key=lambda i: (texts[i] is None, texts[i] or ""))
            rank = np.empty(len(texts), np.int64)
            rank[order] = np.arange(len(texts))
            labels = tuple(texts[i] or "" for i in order)
            codes = rank[self.records.neutral[:, position]]
        if not 2 <= len(labels) <= MOST_CLASSES:
            raise refusal("target_different", target=target, labels=len(labels), MOST_CLASSES=MOST_CLASSES)
        return labels, codes

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes as text."""
        return self._coded[0]

    @property
    def labels(self) -> Counts:
        """The class of every distinct record."""
        return self._coded[1]

    def ready(self) -> ClassificationTask:
        """Work everything out now, so that threads only read."""
        assert self.folds is not None and self.baselines
        return self

    @cached_property
    def folds(self) -> _validation.Folds:
        """The folds of all records; where persons are counted each has all records of its persons."""
        records, chosen = self.records, self.workload
        number = records.size if records.persons is None else records.persons.number
        if number < chosen.folds:
            unit = "records" if records.persons is None else "persons"
            raise refusal("folds_more_than_table", folds=chosen.folds, number=number, unit=unit)
        drawn = chosen.folds, chosen.sample, chosen.seed
        if records.persons is None:
            fold_of_record = _validation.folds_of(np.repeat(self.labels, records.counts), *drawn)
        else:
            fold_of_record = _validation.folds_of_persons(records.persons, self.labels, *drawn)
        return _validation.Folds.of(fold_of_record, chosen.folds)

    def learn(self, release: Published) -> Learned | None:
        """Learn the target from a release; None where the release does not have it."""
        from threadpoolctl import threadpool_limits  # comes with scikit-learn

        validation = self._validation(release)
        if validation is None:
            return None
        scores: dict[str, dict[str, list[float]]] = {
            name: {of: [] for of in _validation.SCORES} for name in self.workload.methods
        }
        with threadpool_limits(1):  # releases are measured side by side: more threads would only wait for each other
            for name, fold in product(self.workload.methods, range(self.workload.folds)):
                check_cancelled()
                answers = validation.fold(name, fold, self.workload.seed * 1000 + fold)
                for of, value in score(answers).items():
                    scores[name][of].append(value)
        return Learned(
            {name: {of: tuple(by_score[of]) for of in _validation.SCORES} for name, by_score in scores.items()}
        )

    def _validation(self, release: Published) -> _validation.Validation | None:
        if not isinstance(release, Release):
            return _validation.validation_of_records(self, release)
        if release.histograms is None and self.workload.target in self.table.roles.sensitive:
            return None
        return _validation.Validation.of(self, release, _validation.deal(self.records, release.assignment))

    @cached_property
    def baselines(self) -> Mapping[str, Learned]:
        """The models learned from the trivial sanitizations and from the original."""
        makers = (WithoutQuasi(), WithoutSensitive(), Original())
        releases = [maker.anonymize(self.table, KAnonymity(1)) for maker in makers]
        results = together(self.learn, releases)
        return {maker.name: learned for maker, learned in zip(makers, results, strict=True) if learned is not None}

    @property
    def base(self) -> str:
        """The better of the trivial sanitizations: what a release must beat to be worth its risk."""
        return max((name for name in BASES if name in self.baselines), key=lambda name: self.baselines[name].accuracy)


CONFIDENCE = 0.95
Verdict = Literal["better", "no better", "not shown"]


@dataclass(frozen=True)
class Worth:
    """How a release compares with the better trivial sanitization for one workload."""

    target: str
    classifier: str
    accuracy: float
    base: str
    """The better trivial sanitization, with `base_accuracy` of its best classifier."""

    base_accuracy: float
    original_accuracy: float
    gain: float
    low: float
    high: float
    """The ends of the interval of the gain."""

    adversary: float
    """An adversary's gain in accuracy (`a_acc`); nothing where no sensitive value is published."""

    @property
    def verdict(self) -> Verdict:
        """Whether the release beats both trivial sanitizations: certainly, certainly not, or undecided."""
        if self.low > 0:
            return "better"
        return "no better" if self.high <= 0 else "not shown"


def worth(task: ClassificationTask, learned: Learned, adversary: float) -> Worth:
    """Hold what was learned from a release against what is learned from the trivial sanitizations."""
    base = task.baselines[task.base]
    accuracies, other = (each.folds[each.best]["accuracy"] for each in (learned, base))
    low, high = interval(accuracies, other)
    return Worth(
        task.workload.target,
        learned.best,
        learned.accuracy,
        task.base,
        base.accuracy,
        task.baselines["original"].accuracy,
        learned.accuracy - base.accuracy,
        low,
        high,
        adversary,
    )


def interval(accuracies: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """Return the ends between which the mean of paired differences lies, with the correction for overlapping folds."""
    from scipy.special import stdtrit  # comes with scikit-learn, and is as slow to import

    differences = np.subtract(accuracies, other)
    k = len(differences)
    spread = np.sqrt((1 / k + 1 / (k - 1)) * differences.var(ddof=1))
    reach = float(stdtrit(k - 1, (1 + CONFIDENCE) / 2) * spread)
    mean = float(differences.mean())
    return mean - reach, mean + reach
