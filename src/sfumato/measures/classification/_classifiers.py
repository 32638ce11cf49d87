"""The classifiers of a workload: scikit-learn's, trained on distinct rows with weights instead of on every record.

For all of them a row of weight w is the same as w equal records. Trees and regressions add weights where they would
add records, limits on leaves are given as weights, and the forest draws its bootstrap samples record by record.
scikit-learn takes a second to import, so that waits until a classifier is really made.

A classifier's input from a release: numbers derived from the file, never original values.

Every attribute is a block of columns. A block has a row for every value that the attribute can show, so a table of
features is a few look-ups. Each block comes in two readings. `shown` is for classifiers that cut or weigh numbers: an
interval of numbers by its ends and its middle, a category by a column of zeros and ones. `mass` is for naive Bayes: a
unit of mass spread over the possible categories.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.hierarchies.notation import read_number

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
    """A model that can be trained on weighted rows and then return how likely every class is."""

    classes_: Labels

    def fit(self, x: Numbers, y: Labels, weights: Weights) -> Any:
        """Learn from rows of features, their classes and weights."""

    def predict_proba(self, x: Numbers) -> NDArray[np.float64]:
        """Return how likely each of `classes_` is for every row."""


class Forest:
    """A random forest (Breiman 2001) whose bootstrap samples are drawn record by record.

    A sample of n records with replacement from weighted rows is one multinomial draw of n over their weights. So the
    forest has the distribution that it would have on the records themselves. A leaf has at least `least` records.
    """

    def __init__(self, seed: int, least: int = 1) -> None:
        self.seed, self.least = seed, least

    def fit(self, x: Numbers, y: Labels, weights: Weights) -> Forest:
        """Grow every tree on a separate bootstrap sample."""
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
        """Return how likely every class is."""
        probabilities: NDArray[np.float64] = self.model.predict_proba(self._scaled(x))
        return probabilities

    def _scaled(self, x: Numbers) -> NDArray[np.float64]:
        return np.asarray((x - self.mean) / self.scale, np.float64)


class Constant:
    """The result when only one class is known."""

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


Codes = NDArray[np.integer]
MOST_COLUMNS = 100
"""Categories of one attribute that get a column of their own; beyond, sets of leaves are spread over stretches of
them, and the rarest neutral values share one column."""

BINS = 10
"""Into so many stretches of equal weight naive Bayes divides a neutral number."""


@dataclass(frozen=True, eq=False)
class Block:
    """The columns of one attribute: a row for every value that it can show."""

    shown: Numbers
    mass: Numbers


def features(blocks: Sequence[Numbers], rows: Codes) -> Numbers:
    """Look up what rows of positions (one per block) show; where no block has a column, nothing differs."""
    parts = [block[rows[:, i]] for i, block in enumerate(blocks) if block.shape[1]]
    return np.concatenate(parts, axis=1) if parts else np.zeros((len(rows), 1), np.float32)


def varying(block: Numbers) -> Numbers:
    """Keep the columns of a block that are not the same in every row."""
    return np.ascontiguousarray(block[:, (block != block[:1]).any(axis=0)])


def intervals_block(hierarchy: Hierarchy, lo: Codes, hi: Codes, by_leaf: bool) -> Block:
    """Read intervals of leaf codes, every one a value that the attribute shows.

    `by_leaf` reads a category as a unit spread over its leaves, as is needed where other intervals than these are
    evaluated later. Otherwise every published interval is one category, unless there are too many.
    """
    if by_leaf or len(lo) > MOST_COLUMNS:
        mass = spread(hierarchy, lo, hi)
    else:
        mass = np.eye(len(lo), dtype=np.float32)
    return Block(mass if hierarchy.scale == "category" else ends(hierarchy, lo, hi), mass)


def spread(hierarchy: Hierarchy, lo: Codes, hi: Codes) -> Numbers:
    """Spread a unit over the leaves of every interval by their width, leaves joined to `MOST_COLUMNS` stretches."""
    edges = np.unique(np.linspace(0, hierarchy.size, min(hierarchy.size, MOST_COLUMNS) + 1).astype(np.int64))
    below = hierarchy.cumulative
    left = np.maximum(below[lo][:, None], below[edges[:-1]][None, :])
    right = np.minimum(below[hi + 1][:, None], below[edges[1:]][None, :])
    overlap = np.maximum(right - left, 0.0)
    return np.asarray(overlap / overlap.sum(axis=1, keepdims=True), np.float32)


def ends(hierarchy: Hierarchy, lo: Codes, hi: Codes) -> Numbers:
    """Read stretches of numbers or days by both ends and the middle, and whether the value may be missing.

    An open end is read as the nearest number there is. If all intervals are equally wide, the middle is enough.
    """
    known = len(hierarchy.firsts)
    firsts, lasts = np.asarray(hierarchy.firsts), np.asarray(hierarchy.lasts)
    finite = np.concatenate([firsts, lasts])
    finite = finite[np.isfinite(finite)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    first = np.clip(firsts[np.minimum(lo, known - 1)], low, high)
    last = np.clip(lasts[np.minimum(hi, known - 1)], low, high)
    absent = lo >= known
    first[absent], last[absent] = low, high
    middle = (first + last) / 2
    widths = (last - first)[~absent]
    columns = [middle] if (widths == widths[:1]).all() else [first, middle, last]
    if hierarchy.missing:
        columns.append((hi >= known).astype(np.float64))
    return np.stack(columns, axis=1).astype(np.float32)


def texts_block(texts: Sequence[str | None], weights: NDArray[np.int64]) -> Block:
    """Read a neutral column as it stands: numbers as numbers, everything else as categories."""
    numbers = np.array([np.nan if text is None else read_number(text) for text in texts])
    present = np.array([text is not None for text in texts])
    if present.any() and np.isfinite(numbers[present]).all() and int(present.sum()) > 2:
        return _numbers_block(numbers, present, weights)
    order = np.lexsort((np.arange(len(texts)), -weights))
    column = np.empty(len(texts), np.int64)
    column[order] = np.minimum(np.arange(len(texts)), MOST_COLUMNS - 1)
    one_hot = np.zeros((len(texts), int(column.max()) + 1), np.float32)
    one_hot[np.arange(len(texts)), column] = 1
    return Block(one_hot, one_hot)


def _numbers_block(numbers: NDArray[np.float64], present: NDArray[np.bool_], weights: NDArray[np.int64]) -> Block:
    filled = np.where(present, numbers, np.average(numbers[present], weights=weights[present]))
    columns = [filled] if present.all() else [filled, (~present).astype(np.float64)]
    order = np.argsort(filled, kind="stable")
    shares = np.empty(len(filled))
    shares[order] = (np.cumsum(weights[order]) - weights[order]) / weights.sum()
    place = np.where(present, np.minimum((shares * BINS).astype(np.int64), BINS - 1), BINS)
    mass = np.zeros((len(filled), BINS + 1), np.float32)
    mass[np.arange(len(filled)), place] = 1
    return Block(np.stack(columns, axis=1).astype(np.float32), mass)


def shares_block(counts: NDArray[np.int64], by_value: bool) -> Block:
    """Read a group's sensitive values as their distribution; `by_value` adds a row for every single value."""
    shares = (counts / counts.sum(axis=1, keepdims=True)).astype(np.float32)
    if by_value:
        shares = np.concatenate([shares, np.eye(counts.shape[1], dtype=np.float32)])
    return Block(shares, shares)
