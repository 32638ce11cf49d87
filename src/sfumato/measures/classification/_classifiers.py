"""The classifiers of a workload: scikit-learn's, trained on distinct rows with weights instead of on every record.

For all of them a row of weight w is the same as w equal records: trees and regressions add weights where they would
add records, limits on leaves are given as weights, and the forest draws its bootstrap samples record by record.
scikit-learn takes a second to import, so that waits until a classifier is really made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float32]
Labels = NDArray[np.int64]
Weights = NDArray[np.float64]
Reading = Literal["shown", "mass"]

LEAST_LEAF = 20
"""Records in a leaf of the decision tree: what pruning does for C4.5, whose stand-in it is. The forest that attacks a
release has as many, for the points it learns from are scattered at random."""

TREES = 10
"""Trees of the random forest, grown until their leaves are pure: what Weka did in 2008."""

ROUNDS = 60
"""Rounds of gradient boosting."""


class Classifier(Protocol):
    """What can be trained on weighted rows and then say how likely every class is."""

    classes_: Labels

    def fit(self, x: Numbers, y: Labels, weights: Weights) -> Any:
        """Learn from rows of features, their classes and weights."""

    def predict_proba(self, x: Numbers) -> NDArray[np.float64]:
        """Say how likely each of `classes_` is for every row."""


class Forest:
    """A random forest (Breiman 2001) whose bootstrap samples are drawn record by record.

    A sample of n records with replacement from weighted rows is one multinomial draw of n over their weights, so the
    forest has the distribution that it would have on the records themselves. A leaf has at least `least` records.
    """

    def __init__(self, seed: int, least: int = 1) -> None:
        self.seed, self.least = seed, least

    def fit(self, x: Numbers, y: Labels, weights: Weights) -> Forest:
        """Grow every tree on a bootstrap sample of its own."""
        from sklearn.tree import DecisionTreeClassifier

        self.classes_ = np.unique(y)
        random = np.random.default_rng(self.seed)
        records, self.trees = round(float(weights.sum())), []
        share = _share(self.least, records) if self.least > 1 else 0.0
        for seed in random.integers(2**31, size=TREES):
            drawn = random.multinomial(records, weights / weights.sum())
            present = drawn > 0
            tree = DecisionTreeClassifier(max_features="sqrt", min_weight_fraction_leaf=share, random_state=int(seed))
            self.trees.append(tree.fit(x[present], y[present], sample_weight=drawn[present].astype(np.float64)))
        return self

    def predict_proba(self, x: Numbers) -> NDArray[np.float64]:
        """Average what the trees say."""
        mean = np.zeros((len(x), len(self.classes_)))
        for tree in self.trees:
            mean[:, np.searchsorted(self.classes_, tree.classes_)] += tree.predict_proba(x)
        return mean / len(self.trees)


class Linear:
    """Logistic regression on features brought to the same scale."""

    def fit(self, x: Numbers, y: Labels, weights: Weights) -> Linear:
        """Scale the features by their weighted spread and fit."""
        from sklearn.linear_model import LogisticRegression

        self.mean = np.average(x, axis=0, weights=weights)
        spread = np.sqrt(np.average((x - self.mean) ** 2, axis=0, weights=weights))
        self.scale = np.where(spread > 0, spread, 1.0)
        self.model = LogisticRegression(max_iter=100, tol=1e-3)
        self.model.fit(self._scaled(x), y, sample_weight=weights)
        self.classes_ = self.model.classes_
        return self

    def predict_proba(self, x: Numbers) -> NDArray[np.float64]:
        """Say how likely every class is."""
        probabilities: NDArray[np.float64] = self.model.predict_proba(self._scaled(x))
        return probabilities

    def _scaled(self, x: Numbers) -> NDArray[np.float64]:
        return np.asarray((x - self.mean) / self.scale, np.float64)


class Constant:
    """What is left when only one class is known."""

    def fit(self, x: Numbers, y: Labels, weights: Weights) -> Constant:
        """Remember the class."""
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, x: Numbers) -> NDArray[np.float64]:
        """Always say this class."""
        return np.ones((len(x), 1))


def _decision_tree(seed: int, records: float) -> Classifier:
    from sklearn.tree import DecisionTreeClassifier

    tree: Classifier = DecisionTreeClassifier(
        criterion="entropy", min_weight_fraction_leaf=_share(LEAST_LEAF, records), random_state=seed
    )
    return tree


def _naive_bayes(seed: int, records: float) -> Classifier:
    """On masses, where every attribute has one unit, the multinomial model is naive Bayes on categories."""
    from sklearn.naive_bayes import MultinomialNB

    model: Classifier = MultinomialNB(alpha=1.0)
    return model


def _gradient_boosting(seed: int, records: float) -> Classifier:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model: Classifier = HistGradientBoostingClassifier(
        max_iter=ROUNDS, learning_rate=0.2, early_stopping=False, random_state=seed
    )
    return model


def _share(records: int, of: float) -> float:
    """Say a number of records as the share of all weight that scikit-learn asks for (at most a half)."""
    return min(records / max(of, 1.0) * (1 - 1e-9), 0.5)


CLASSIFIERS: dict[str, tuple[Callable[[int, float], Classifier], Reading]] = {
    "decision-tree": (_decision_tree, "shown"),
    "naive-bayes": (_naive_bayes, "mass"),
    "random-forest": (lambda seed, records: Forest(seed), "shown"),
    "gradient-boosting": (_gradient_boosting, "shown"),
    "logistic-regression": (lambda seed, records: Linear(), "shown"),
}
"""By name: how to make one for so many records, and which reading of the features it takes."""


def trained(name: str, seed: int, x: Numbers, y: Labels, weights: Weights) -> Classifier:
    """Train a classifier by name."""
    if len(np.unique(y)) < 2:
        return Constant().fit(x, y, weights)
    model = CLASSIFIERS[name][0](seed, float(weights.sum()))
    model.fit(x, y, weights)
    return model
