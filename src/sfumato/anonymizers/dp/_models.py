"""A model of all columns that records can be drawn from: every column given some of those before it.

    P(x) = product over the steps of P(column | parents)

A tree of pairs is such a model, and so is every junction tree. Drawing looks at nothing but the model. Among records
with the same values in the parents, the values of the column are distributed as evenly as whole numbers allow
(stratified sampling). Of m records a value of probability p gets p m, give or take one. A shuffle per column decides
which record gets which value. Without the shuffle, columns that are independent given their parent come out correlated
(mbi
1.1.0 does that).

A tree of pairs, estimated in closed form from noisy counts of columns and of pairs.

    Total:                 the sums of all tables, averaged by inverse variance.
    Counts of a column:    its own and the sums of its pairs, averaged by inverse variance, made to sum up to the total.
    Counts of a pair:      moved the least (squares) that gives them the columns' sums, made non-negative, scaled to
    fit.

Non-negative means the nearest table (squares) that has no negative count and the right sum: all counts less the same
number, negative ones 0 (Duchi et al. 2008). That also takes away most of the noise in empty combinations. Scaling
rows and columns in turn (iterative proportional fitting) then restores the columns' counts. Without noise every step
leaves the true counts as they are.

A graphical model of noisy tables (McKenna, Sheldon & Miklau 2019): the one of most entropy that fits them best.

    P(x) in proportion to exp(sum of the potentials of the counted tables, each at x's values)
    repeat: tables of the model, by belief propagation along a junction tree
            loss = sum over the tables of |model - noisy counts|^2 / (2 variance)
            every potential less a step along the loss's gradient (mirror descent), halved until it pays

Several counts of the same table are first averaged by inverse variance, which changes nothing of the loss but a
constant. Potentials are kept from one estimate to the next, so one more table costs few rounds.

This is plain numpy. The authors' own `mbi` 2 compiles a program for every set of tables, which takes 5 to 15 seconds
of processor time. The estimate itself then takes a tenth of a second here; AIM makes one estimate per table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from sfumato.anonymizers.dp._private_cells import Places, RecordDomain
from sfumato.config.options import check_choice
from sfumato.release.content import MOST_ROWS
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.texts.catalogue import refusal

Table = tuple[Places, Numbers]
"""Numbers by the values of some columns, one axis each."""


@dataclass(frozen=True, eq=False)
class ModelStep:
    """How a column depends on columns before it: one axis per parent, then the column's, along which it sums to 1."""

    column: int
    parents: Places
    conditional: Numbers

    @staticmethod
    def of(column: int, parents: Places, joint: Numbers) -> ModelStep:
        """Take it from joint counts, the column's axis last; where no record has the parents' values, from all."""
        given = joint.sum(axis=-1, keepdims=True)
        whole = joint.sum(axis=tuple(range(joint.ndim - 1)))
        usual = whole / whole.sum() if whole.sum() > 0 else np.full(len(whole), 1 / len(whole))
        filled = np.broadcast_to(usual, joint.shape).copy()
        np.divide(joint, given, out=filled, where=given > 0)
        return ModelStep(column, parents, filled)


@dataclass(frozen=True, eq=False)
class Model:
    """A distribution of records, estimated from noisy answers: public, like all that is worked out from them."""

    names: tuple[str, ...]
    total: float
    """How many records there seem to be."""

    steps: tuple[ModelStep, ...]
    """One per column, parents before their children."""

    def marginal(self, *names: str) -> Numbers:
        """Return how many records the model expects with every combination of values of some columns."""
        for name in names:
            check_choice("column", name, self.names)
        wanted = tuple(self.names.index(name) for name in names)
        return self.total * self.shares(wanted)

    def shares(self, wanted: Sequence[int]) -> Numbers:
        """Return the probability of every combination of values of some columns, by their places."""
        needed: set[int] = set(wanted)
        factors: list[Table] = []
        for step in reversed(self.steps):  # what nobody wanted depends on sums to 1
            if step.column in needed:
                needed |= set(step.parents)
                factors.append(((*step.parents, step.column), step.conditional))
        for step in reversed(self.steps):
            if step.column in needed and step.column not in wanted:
                touched = [factor for factor in factors if step.column in factor[0]]
                kept = tuple(sorted({place for axes, _ in touched for place in axes} - {step.column}))
                factors = [factor for factor in factors if step.column not in factor[0]]
                factors.append((kept, _product(touched, kept)))
        return _product(factors, tuple(wanted))

    @property
    def rows(self) -> int:
        """How many records are drawn: one at least, so that there is a file."""
        rows = max(1, round(self.total))
        if rows > MOST_ROWS:
            raise refusal("noisy_counts_sum_up", rows=rows)
        return rows

    def sample(self, generator: np.random.Generator) -> Codes:
        """Draw records: one row each, one column per column of the model."""
        codes = np.zeros((self.rows, len(self.names)), np.int32)
        for step in self.steps:
            codes[:, step.column] = _drawn(step, codes, generator)
        return codes


def _product(factors: Sequence[Table], wanted: Places) -> Numbers:
    """Multiply factors and sum over all axes but the wanted ones."""
    axes = {place: i for i, place in enumerate(dict.fromkeys(place for places, _ in factors for place in places))}
    operands: list[Any] = [part for places, numbers in factors for part in (numbers, [axes[place] for place in places])]
    product: Numbers = np.einsum(*operands, [axes[place] for place in wanted], optimize="greedy")
    return product


def _drawn(step: ModelStep, codes: Codes, generator: np.random.Generator) -> Counts:
    """Draw a column: in every group of records with the same parents, ranks in a random order are cut by the shares."""
    size, rows = step.conditional.shape[-1], len(codes)
    parents = tuple(codes[:, parent].astype(np.int64) for parent in step.parents)
    key = np.ravel_multi_index(parents, step.conditional.shape[:-1]) if parents else np.zeros(rows, np.int64)
    present, group = np.unique(key, return_inverse=True)
    order = np.lexsort((generator.random(rows), group))
    counts = np.bincount(group)
    rank = np.empty(rows)
    rank[order] = np.arange(rows) - np.repeat(np.cumsum(counts) - counts, counts)
    place = (rank + generator.random(len(present))[group]) / counts[group]
    ends = np.cumsum(step.conditional.reshape(-1, size)[present], axis=1)
    ends /= ends[:, -1:]
    positions = np.searchsorted((ends + np.arange(len(present))[:, None]).ravel(), group + place, side="right")
    drawn: Counts = np.clip(positions - group * size, 0, size - 1)
    return drawn


ROUNDS = 100
"""How often rows and columns are scaled at most."""

CLOSE = 1e-9
"""Which share of the total the sums of a scaled table may be off by."""

LEAST_SHARE = 1e-9
"""Which share of what independence predicts every combination keeps, so that scaling can reach all sums."""


def tree_model(
    domain: RecordDomain,
    columns: Sequence[Numbers],
    pairs: Mapping[Places, Numbers],
    column_variance: float,
    pair_variance: float,
) -> Model:
    """Estimate a model from the noisy counts of every column and of the pairs of a tree (or of several)."""
    total = max(1.0, total_of(columns, pairs.values(), column_variance, pair_variance))
    margins = [
        _margin(place, counts, pairs, column_variance, pair_variance, total) for place, counts in enumerate(columns)
    ]
    joints = {pair: _joint(counts, margins[pair[0]], margins[pair[1]]) for pair, counts in pairs.items()}
    return Model(domain.names, total, tuple(_steps(margins, joints)))


def total_of(
    columns: Iterable[Numbers], pairs: Iterable[Numbers], column_variance: float, pair_variance: float
) -> float:
    """Estimate the number of records: every table tells it with a variance of as many counts as it has."""
    tables = [*((table, column_variance) for table in columns), *((table, pair_variance) for table in pairs)]
    weights = [1 / (variance * table.size) for table, variance in tables]
    return float(np.average([table.sum() for table, _ in tables], weights=weights))


def _margin(
    place: int,
    counts: Numbers,
    pairs: Mapping[Places, Numbers],
    column_variance: float,
    pair_variance: float,
    total: float,
) -> Numbers:
    """Combine what is known of the counts of a column."""
    estimates, weights = [counts], [1 / column_variance]
    for pair, table in pairs.items():
        if place in pair:
            other = 1 - pair.index(place)
            estimates.append(table.sum(axis=other))
            weights.append(1 / (pair_variance * table.shape[other]))
    return nearest_counts(np.average(estimates, axis=0, weights=weights), total)


def _joint(counts: Numbers, rows: Numbers, columns: Numbers) -> Numbers:
    """Give the noisy counts of a pair the sums of its columns."""
    moved = counts + ((rows - counts.sum(axis=1)) / len(columns))[:, None]
    moved = moved + (columns - moved.sum(axis=0)) / len(rows)
    total = rows.sum()
    positive = nearest_counts(moved.ravel(), total).reshape(counts.shape)
    return scaled(np.maximum(positive, LEAST_SHARE * np.outer(rows, columns) / total), rows, columns)


def nearest_counts(counts: Numbers, total: float) -> Numbers:
    """Find the nearest non-negative counts with a given sum."""
    falling = np.sort(counts)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(counts) + 1)
    taken = excess[np.flatnonzero(falling > excess)[-1]]
    nearest: Numbers = np.maximum(counts - taken, 0.0)
    return nearest


def scaled(table: Numbers, rows: Numbers, columns: Numbers) -> Numbers:
    """Scale rows and columns of a table in turn until their sums are those given."""
    for _ in range(ROUNDS):
        table = table * _ratio(rows, table.sum(axis=1))[:, None]
        table = table * _ratio(columns, table.sum(axis=0))
        if np.abs(table.sum(axis=1) - rows).sum() <= CLOSE * rows.sum():
            break
    return table


def _ratio(wanted: Numbers, sums: Numbers) -> Numbers:
    return np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)


def _steps(margins: Sequence[Numbers], joints: Mapping[Places, Numbers]) -> list[ModelStep]:
    """Walk every tree from its first column down."""
    steps: list[ModelStep] = []
    reached: set[int] = set()
    for root in range(len(margins)):
        waiting = [] if root in reached else [ModelStep.of(root, (), margins[root])]
        while waiting:
            step = waiting.pop()
            reached.add(step.column)
            steps.append(step)
            for (a, b), joint in joints.items():
                if step.column == a and b not in reached:
                    waiting.append(ModelStep.of(b, (a,), joint))
                elif step.column == b and a not in reached:
                    waiting.append(ModelStep.of(a, (b,), joint.T))
    return steps


MOST_HALVINGS = 30
"""How often a step is halved at most until it pays."""

SETTLED = 1e-5
"""The share of the loss that a round has to take away, or else the estimate is settled."""


@dataclass(frozen=True)
class JunctionTree:
    """Cliques of columns that cover some tables; each but a root hangs on another with which it shares columns."""

    sizes: tuple[int, ...]
    cliques: tuple[Places, ...]
    """Parents before their children."""

    parents: tuple[int, ...]
    """The clique that each hangs on; -1 for a root."""

    @staticmethod
    def of(sizes: tuple[int, ...], tables: Iterable[Places]) -> JunctionTree:
        """Join columns one after the other with all they are counted with, that of the smallest clique first."""
        waiting = {frozenset(table) for table in tables} | {frozenset((place,)) for place in range(len(sizes))}
        left = set(range(len(sizes)))
        joined: list[frozenset[int]] = []
        while left:
            around = {place: frozenset[int]().union(*(c for c in waiting if place in c)) for place in left}
            place = min(left, key=lambda a: (prod(sizes[b] for b in around[a]), a))
            joined.append(around[place])
            waiting = {clique for clique in waiting if place not in clique} | {around[place] - {place}}
            left.remove(place)
        distinct = list(dict.fromkeys(joined))
        return JunctionTree(sizes, *_hung([clique for clique in distinct if not any(clique < d for d in distinct)]))

    @property
    def counts(self) -> int:
        """How many numbers a model on this tree has."""
        return sum(prod(self.sizes[place] for place in clique) for clique in self.cliques)

    def home(self, table: Places) -> int:
        """Find the smallest clique that covers a table."""
        covering = [i for i, clique in enumerate(self.cliques) if set(table) <= set(clique)]
        return min(covering, key=lambda i: prod(self.sizes[place] for place in self.cliques[i]))

    @cached_property
    def shared(self) -> tuple[Places, ...]:
        """The columns that each clique shares with the one it hangs on."""
        return tuple(
            tuple(sorted(set(clique) & set(self.cliques[parent]))) if parent >= 0 else ()
            for clique, parent in zip(self.cliques, self.parents, strict=True)
        )

    def beliefs(self, potentials: Mapping[Places, Numbers]) -> list[Numbers]:
        """Return the probabilities of the values of every clique: up the tree, then down (Hugin's way)."""
        tables = [np.zeros([self.sizes[place] for place in clique]) for clique in self.cliques]
        for places, potential in potentials.items():
            home = self.home(places)
            tables[home] += _spread(potential, places, self.cliques[home])
        upward: dict[int, Numbers] = {}
        for child in range(len(self.cliques) - 1, -1, -1):
            parent, shared = self.parents[child], self.shared[child]
            if parent >= 0:
                upward[child] = _log_sum(tables[child], self.cliques[child], shared)
                tables[parent] += _spread(upward[child], shared, self.cliques[parent])
        for child, parent in enumerate(self.parents):
            if parent >= 0:
                downward = _log_sum(tables[parent], self.cliques[parent], self.shared[child]) - upward[child]
                tables[child] += _spread(downward, self.shared[child], self.cliques[child])
        weights = [np.exp(table - table.max()) for table in tables]
        return [weight / weight.sum() for weight in weights]


def _hung(cliques: list[frozenset[int]]) -> tuple[tuple[Places, ...], tuple[int, ...]]:
    """Hang every clique on the one, of those hung before, with which it shares most."""
    order, parents = [0], [-1]
    while len(order) < len(cliques):
        rest = [i for i in range(len(cliques)) if i not in order]
        shared = {(i, j): len(cliques[i] & cliques[j]) for i in rest for j in order}
        child, parent = max(shared, key=lambda pair: (shared[pair], -pair[0], -pair[1]))
        parents.append(order.index(parent) if shared[child, parent] else -1)
        order.append(child)
    return tuple(tuple(sorted(cliques[i])) for i in order), tuple(parents)


def _spread(table: Numbers, places: Places, clique: Places) -> Numbers:
    """Give a table of some columns of a clique an axis for each of the others."""
    return table.reshape([table.shape[places.index(place)] if place in places else 1 for place in clique])


def _log_sum(table: Numbers, clique: Places, kept: Places) -> Numbers:
    """Sum over the columns that are not kept, of logarithms."""
    axes = tuple(axis for axis, place in enumerate(clique) if place not in kept)
    most = table.max(axis=axes, keepdims=True)
    sums: Numbers = np.log(np.exp(table - most).sum(axis=axes)) + most.squeeze(axis=axes)
    return sums


def table_of(belief: Numbers, clique: Places, places: Places) -> Numbers:
    """Sum a clique's table over the columns that a smaller table does not have."""
    summed: Numbers = belief.sum(axis=tuple(axis for axis, place in enumerate(clique) if place not in places))
    return summed


@dataclass
class Estimate:
    """A model that grows with the tables that are counted."""

    domain: RecordDomain
    counts: dict[Places, Numbers] = field(default_factory=dict)
    """The counted values of the tables, averaged."""

    precisions: dict[Places, float] = field(default_factory=dict)
    """One over the variance of every count of a table."""

    potentials: dict[Places, Numbers] = field(default_factory=dict)
    step: float = 0.0

    def add(self, places: Places, counts: Numbers, variance: float) -> None:
        """Take in noisy counts of a table."""
        known, new = self.precisions.get(places, 0.0), 1 / variance
        before = self.counts.get(places, np.zeros_like(counts))
        self.counts[places] = (known * before + new * counts) / (known + new)
        self.precisions[places] = known + new
        self.potentials.setdefault(places, np.zeros_like(counts))

    @property
    def total(self) -> float:
        """The number of records, by all tables: each tells it with a variance of as many counts as it has."""
        weights = [self.precisions[places] / counts.size for places, counts in self.counts.items()]
        return max(1.0, float(np.average([counts.sum() for counts in self.counts.values()], weights=weights)))

    @property
    def tree(self) -> JunctionTree:
        """The junction tree of the tables so far."""
        return JunctionTree.of(self.domain.sizes, self.counts)

    def fit(self, rounds: int) -> Model:
        """Fit the model to the tables; return it."""
        tree, total = self.tree, self.total
        homes = {places: tree.home(places) for places in self.counts}
        beliefs = tree.beliefs(self.potentials)
        gaps, loss = self._gaps(tree, homes, beliefs, total)
        step = self.step or 1 / (total * max(self.precisions.values()))
        for _ in range(rounds):
            before, step = loss, 2 * step
            for _ in range(MOST_HALVINGS):
                tried = {p: self.potentials[p] - step * self.precisions[p] * gaps[p] for p in gaps}
                beliefs = tree.beliefs(tried)
                tried_gaps, tried_loss = self._gaps(tree, homes, beliefs, total)
                gain = sum(self.precisions[p] * float((gaps[p] * (gaps[p] - tried_gaps[p])).sum()) for p in gaps)
                if before - tried_loss >= gain / 2:
                    break
                step /= 2
            self.potentials, gaps, loss = tried, tried_gaps, tried_loss
            if before - loss <= SETTLED * before:
                break
        self.step = step
        return Model(self.domain.names, total, tuple(_steps_of_cliques(tree, beliefs)))

    def _gaps(
        self, tree: JunctionTree, homes: Mapping[Places, int], beliefs: list[Numbers], total: float
    ) -> tuple[dict[Places, Numbers], float]:
        """Return how far the model's tables are from the counts, and the loss of that."""
        gaps = {
            places: total * table_of(beliefs[home], tree.cliques[home], places) - self.counts[places]
            for places, home in homes.items()
        }
        return gaps, sum(self.precisions[places] * float((gap**2).sum()) / 2 for places, gap in gaps.items())


def _steps_of_cliques(tree: JunctionTree, beliefs: list[Numbers]) -> Iterable[ModelStep]:
    """Walk the tree: the columns of a clique that are new, one after the other, given those before them in it."""
    known: set[int] = set()
    for clique, belief in zip(tree.cliques, beliefs, strict=True):
        before = tuple(place for place in clique if place in known)
        for column in (place for place in clique if place not in known):
            joint = table_of(belief, clique, tuple(sorted((*before, column))))
            yield ModelStep.of(column, before, np.moveaxis(joint, sorted((*before, column)).index(column), -1))
            before = tuple(sorted((*before, column)))
            known.add(column)
