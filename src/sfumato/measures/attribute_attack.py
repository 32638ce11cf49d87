"""An attack on any release: guess everybody's sensitive value from what the boxes say (Cormode et al. 2013).

The attacker knows every person's quasi-identifiers. From the release the attacker takes the boxes and their sensitive
counts, and spreads every count uniformly over its box (by the width of leaves; negative counts are cut at 0). The
attacker learns from that how often each leaf goes with each sensitive value, and guesses. All people of the table are
guessed, also those who are not published. Exact and noisy releases are boxes with counts, so both face the same
attacker.

If persons are counted, a person is guessed once for each combination of quasi-identifiers in the person's records. The
guess is right if one of these records has the value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, ClassVar, Literal

import numpy as np

from sfumato.config.options import Configured, Option
from sfumato.data.cells import Points, find_sensitive
from sfumato.errors import BadInputError
from sfumato.measures.classification._classifiers import LEAST_LEAF, Forest
from sfumato.measures.divergence import densities_at
from sfumato.release.regions import Stretches, uniform_leaves
from sfumato.release.release import Published
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.runtime.kernels import kernel

DRAWS = 5
"""The default number of repetitions of a random attack."""

TOLERANCE = 1e-9
"""Beliefs and totals closer than this are equal: sums come out a little different in another order."""

AT_ONCE = 4_000_000
"""So many numbers are held at a time to spread counts over leaves."""


@dataclass(frozen=True)
class Attacked:
    """How often an attack guessed right: in every draw, beside what guessing the commonest value would give."""

    accuracies: tuple[float, ...]
    """The share of the guessed records that was guessed right, one for every draw."""

    baseline: float
    """rho: the share of the table's commonest value, which is how often always guessing it is right."""

    records: int
    """How many records (or persons, at a combination of quasi-identifiers each) were guessed."""

    @property
    def accuracy(self) -> float:
        """1 - pi: the share that was guessed right, the median of the draws."""
        return float(np.median(self.accuracies))

    @property
    def breach(self) -> float:
        """The empirical breach (beta in the paper): the accuracy relative to the baseline, less 1."""
        return self.accuracy / self.baseline - 1

    @property
    def interval(self) -> tuple[float, float]:
        """The smallest and the largest accuracy of the draws."""
        return min(self.accuracies), max(self.accuracies)


@dataclass(frozen=True)
class Attack(Configured):
    """How the attacker learns, and whom he guesses."""

    kind: Annotated[Literal["naive-bayes", "pairs", "random-forest"], Option()] = "naive-bayes"
    """How the attacker learns: every quasi-identifier separately, every two of them together, or a classifier on
    points drawn from the boxes."""

    top: Annotated[float, Option(more_than=0, most=1)] = 1.0
    """The share of records to guess: those where the attacker is most confident."""

    seed: Annotated[int | None, Option(least=0, when=("kind", "random-forest"))] = None
    """Of a random-forest; 0 where none is given."""

    draws: Annotated[int | None, Option(least=1, when=("kind", "random-forest"))] = None
    """How many times a random-forest draws points and grows. Default: 5."""

    name: ClassVar[str] = "attack"

    def run(self, release: Published, on: str | None = None) -> Attacked:
        """Attack one sensitive attribute of a release (the only one, where none is named)."""
        if not release.shows_sensitive:
            raise BadInputError("this release shows no sensitive value, so there is nothing to learn them from")
        return self.against(release, find_sensitive(release.cells.sensitive, on))

    def against(self, release: Published, sensitive: int = 0) -> Attacked:
        """Attack one sensitive attribute of a release, by its place."""
        cells = release.cells
        span, (having, people) = cells.span(sensitive), cells.sightings
        counts = np.ascontiguousarray(having[:, span])
        content = np.ascontiguousarray(np.maximum(release.content[:, span], 0.0))
        baseline = float(counts.sum(axis=0).max() / people.sum())
        learned = self._learn(release, cells.points, content)
        shares = [share_right(*each.guesses(), counts, people, self.top) for each in learned]
        return Attacked(tuple(shares), baseline, wanted(people, self.top))

    def _learn(self, release: Published, points: Points, content: Numbers) -> list[Evidence]:
        if self.kind == "naive-bayes":
            return [naive_bayes(release, points, content)]
        if self.kind == "pairs":
            return [pairs(release, points, content)]
        seed, draws = self.seed or 0, self.draws or DRAWS
        return [forest(release, points, content, np.random.default_rng([seed, draw])) for draw in range(draws)]


@dataclass(frozen=True, eq=False)
class Evidence:
    """An attacker's model: log-likelihoods, which of them apply to each point, and the prior.

    A value whose likelihood is zero anywhere is not believed at all. If that leaves none, the attacker guesses the
    most frequent value of the release. Among equal beliefs he takes the commoner value, then the first in order.
    """

    logs: Numbers
    """One row of log-likelihoods of the sensitive values for everything that can be known of a person."""

    rows: Codes
    """For every point the rows that are known of it: points x rows."""

    weight: float
    """With what power each row counts."""

    prior: Numbers
    """The logarithms of what is believed before anything is known of a person."""

    totals: Numbers
    """How often the release has each sensitive value."""

    def guesses(self) -> tuple[Counts, Numbers]:
        """Return for every point the guessed value and how firmly it is believed."""
        return best_guesses(self.logs, self.rows, self.weight, self.prior, self.totals)


def naive_bayes(release: Published, points: Points, content: Numbers) -> Evidence:
    """Learn how often each leaf of each quasi-identifier goes with each value, as if they were independent.

    Nothing is smoothed: P(leaf | s) is the mass of s that boxes put there / all mass of s, as in the paper. A stretch
    of leaves that no box separates represents each of them: their mass is the same share of it for every value.
    """
    boxes, cut = release.boxes, []
    for a, quasi in enumerate(release.cells.quasi):
        cut.append(Stretches.of(quasi.hierarchy, boxes.lo[:, a], boxes.hi[:, a]))
    starts = np.cumsum([0, *(stretches.size for stretches in cut)], dtype=np.int32)
    joint, rows = np.empty((int(starts[-1]), content.shape[1])), np.empty(points.codes.shape, np.int32)
    for a, stretches in enumerate(cut):
        ends = stretches.of_leaves(boxes.lo[:, a]), stretches.of_leaves(boxes.hi[:, a])
        spread_over_leaves(*ends, stretches.cumulative, content, joint[starts[a] : starts[a + 1]])
        rows[:, a] = starts[a] + stretches.of_leaves(points.codes[:, a])
    totals = content.sum(axis=0)
    return Evidence(likelihoods(joint, totals), rows, 1.0, logarithms(totals), totals)


def pairs(release: Published, points: Points, content: Numbers) -> Evidence:
    """Learn how often each pair of leaves of two quasi-identifiers goes with each value.

    Every attribute is in d - 1 pairs, so each pair counts with the power 1 / (d - 1): where attributes are independent
    this is naive Bayes again. With one quasi-identifier there are no pairs, and this is naive Bayes.
    """
    quasi, boxes = release.cells.quasi, release.boxes
    if len(quasi) < 2:
        return naive_bayes(release, points, content)
    parts, rows, start = [], [], 0
    for two in combinations(range(len(quasi)), 2):
        pair = points.select(two)
        lo, hi = (np.ascontiguousarray(ends[:, list(two)]) for ends in (boxes.lo, boxes.hi))
        parts.append(densities_at(pair.codes, lo, hi, content, [quasi[a].hierarchy for a in two]))
        rows.append(pair.number + start)
        start += len(pair.codes)
    totals = content.sum(axis=0)
    logs = likelihoods(np.concatenate(parts), totals)
    return Evidence(logs, np.stack(rows, axis=1).astype(np.int32), 1 / (len(quasi) - 1), logarithms(totals), totals)


def forest(release: Published, points: Points, content: Numbers, random: np.random.Generator) -> Evidence:
    """Train a random forest on points drawn from the boxes, as many as the table has records.

    A point is a leaf of every quasi-identifier, read as its place in the order of leaves, with a sensitive value. Trees
    stop at leaves of 20 points: grown to the end they would learn by heart where points happened to fall.
    """
    totals = content.sum(axis=0)
    logs = np.full((len(points.codes), len(totals)), -np.inf)
    if totals.sum() > 0:
        codes, values = drawn_points(release, content, release.cells.records, random)
        model = Forest(int(random.integers(2**31)), LEAST_LEAF)
        model.fit(codes.astype(np.float32), values, np.ones(len(values)))
        logs[:, model.classes_] = logarithms(model.predict_proba(points.codes.astype(np.float32)))
    rows = np.arange(len(logs), dtype=np.int32)[:, None]
    return Evidence(logs, rows, 1.0, np.zeros(len(totals)), totals)


def drawn_points(
    release: Published, content: Numbers, number: int, random: np.random.Generator
) -> tuple[Codes, Counts]:
    """Draw points with sensitive values from the boxes: a box and a value by their counts, leaves by their width."""
    box, value = np.nonzero(content)
    shares = content[box, value] / content.sum()
    drawn = np.repeat(np.arange(len(box)), random.multinomial(number, shares))
    boxes, codes = release.boxes, np.empty((number, len(release.cells.quasi)), np.int32)
    for a, attribute in enumerate(release.cells.quasi):
        lo, hi = boxes.lo[box[drawn], a], boxes.hi[box[drawn], a]
        codes[:, a] = uniform_leaves(attribute.hierarchy, lo, hi, random)
    return codes, value[drawn]


def likelihoods(joint: Numbers, totals: Numbers) -> Numbers:
    """Divide joint masses (rows x values) by the totals of the values and take logarithms, all in their place."""
    joint /= np.where(totals > 0, totals, 1.0)
    with np.errstate(divide="ignore"):
        return np.log(joint, out=joint)


def logarithms(numbers: Numbers) -> Numbers:
    """Take logarithms, minus infinity of zero."""
    logs: Numbers = np.log(numbers, out=np.full(numbers.shape, -np.inf), where=numbers > 0)
    return logs


# -- who is guessed, and how often right -----------------------------------------------------------------------------


def wanted(people: Counts, top: float) -> int:
    """Return how many people are guessed: a share of all, rounded up."""
    return math.ceil(top * int(people.sum()) - TOLERANCE)


def share_right(guess: Counts, confidence: Numbers, counts: Numbers, people: Counts, top: float) -> float:
    """Return the share of right guesses among the records with the most confident ones.

    Of every point `counts` have each value, of `people` in all. Of those who are guessed with equal confidence, where
    not all are wanted, the same share of each counts, so that nothing depends on an order among them.
    """
    right = counts[np.arange(len(counts)), guess]
    number = wanted(people, top)
    if top == 1:
        return float(right.sum()) / number
    order = np.argsort(-confidence, kind="stable")
    falls = np.diff(confidence[order]) < -TOLERANCE
    alike = np.concatenate([[0], np.cumsum(falls)])
    tried = np.bincount(alike, weights=people[order])
    hits = np.bincount(alike, weights=right[order])
    before = np.cumsum(tried) - tried
    taken = np.clip((number - before) / tried, 0.0, 1.0)
    return float((hits * taken).sum()) / number


# -- what boxes put on leaves -----------------------------------------------------------------------------------------


def spread_over_leaves(lo: Codes, hi: Codes, cumulative: Numbers, content: Numbers, spread: Numbers) -> None:
    """Spread the counts of boxes over the leaves of one attribute, by width: into `spread`, leaves x values.

    Values are taken some at a time, so that what is needed besides stays small.
    """
    leaves, values = spread.shape
    some = max(AT_ONCE // (2 * leaves), 1)
    for first in range(0, values, some):
        columns = slice(first, first + some)
        spread[:, columns] = spread_values(lo, hi, cumulative, np.ascontiguousarray(content[:, columns]))


# -- kernels ---------------------------------------------------------------------------------------------------------


@kernel
def spread_values(lo: Codes, hi: Codes, cumulative: Numbers, content: Numbers) -> Numbers:
    """Spread the counts of boxes over leaves: leaves x values.

    An interval of leaves is the union of a few nodes of a binary tree over all leaves. Each box is added to these, and
    in the end every node to the two below it. So long intervals cost a logarithm, and as nothing is ever
    subtracted (as with differences at the two ends), a leaf that no box covers is exactly zero.
    """
    leaves, values = len(cumulative) - 1, content.shape[1]
    nodes = np.zeros((2 * leaves, values))
    for b in range(len(lo)):
        per_width = 1.0 / (cumulative[hi[b] + 1] - cumulative[lo[b]])
        left, right = lo[b] + leaves, hi[b] + leaves + 1
        while left < right:
            if left & 1:
                for s in range(values):
                    nodes[left, s] += content[b, s] * per_width
                left += 1
            if right & 1:
                right -= 1
                for s in range(values):
                    nodes[right, s] += content[b, s] * per_width
            left >>= 1
            right >>= 1
    for node in range(1, leaves):
        for s in range(values):
            nodes[2 * node, s] += nodes[node, s]
            nodes[2 * node + 1, s] += nodes[node, s]
    for leaf in range(leaves):
        for s in range(values):
            nodes[leaves + leaf, s] *= cumulative[leaf + 1] - cumulative[leaf]
    return nodes[leaves:]


@kernel
def best_guesses(logs: Numbers, rows: Codes, weight: float, prior: Numbers, totals: Numbers) -> tuple[Counts, Numbers]:
    """Add up the log-likelihoods of every point and take the most believed value, with its probability."""
    values = len(prior)
    guess, confidence = np.empty(len(rows), np.int64), np.empty(len(rows))
    usual, everything = 0, 0.0
    for s in range(values):
        everything += totals[s]
        if totals[s] > totals[usual] * (1 + TOLERANCE):
            usual = s
    usually = totals[usual] / everything if everything > 0 else 1.0 / values
    score = np.empty(values)
    for i in range(len(rows)):
        for s in range(values):
            score[s] = 0.0
        for f in range(rows.shape[1]):
            row = rows[i, f]
            for s in range(values):
                score[s] += logs[row, s]
        best = -np.inf
        for s in range(values):
            score[s] = prior[s] + weight * score[s]
            best = max(best, score[s])
        guess[i], confidence[i] = usual, usually
        if best > -np.inf:
            sum_of_all, chosen = 0.0, -1
            for s in range(values):
                sum_of_all += math.exp(score[s] - best)
                if score[s] >= best - TOLERANCE and (chosen < 0 or totals[s] > totals[chosen] * (1 + TOLERANCE)):
                    chosen = s
            guess[i], confidence[i] = chosen, math.exp(score[chosen] - best) / sum_of_all
    return guess, confidence
