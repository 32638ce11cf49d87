"""Is a release worth it? What it gives a researcher beyond the better trivial sanitization, and what an adversary.

The same people are in the same fold of every release, so results are compared fold by fold. Training sets of a cross-
validation overlap, which makes differences look surer than they are; the interval allows for that as Nadeau & Bengio
(2003) propose: the variance of a mean over k folds is taken as (1/k + 1/(k-1)) times that of one difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sfumato.measures.classification.classification import ClassificationTask, Learned

CONFIDENCE = 0.95
Verdict = Literal["better", "no better", "not shown"]


@dataclass(frozen=True)
class Worth:
    """How a release compares with the better trivial sanitization for one workload."""

    target: str
    classifier: str
    accuracy: float
    base: str
    """The better trivial sanitization, with `base_accuracy` of its own best classifier."""

    base_accuracy: float
    original_accuracy: float
    gain: float
    low: float
    high: float
    """The ends of the interval of the gain."""

    adversary: float
    """What an adversary gains in accuracy (`a_acc`); nothing where no sensitive value is published."""

    @property
    def verdict(self) -> Verdict:
        """Whether the release beats both trivial sanitizations: surely, surely not, or not to be told."""
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
