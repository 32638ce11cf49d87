"""A model of all columns that records can be drawn from: every column given some of those before it.

    P(x) = product over the steps of P(column | parents)

A tree of pairs is such a model, and so is every junction tree. Drawing looks at nothing but the model. Records with the
same values in the parents share out the values of the column as evenly as whole numbers allow (stratified sampling):
of m records a value of probability p gets p m, give or take one. Who of them gets which is decided by a shuffle of its
own for every column. Without the shuffle, columns that are independent given their parent come out correlated (mbi
1.1.0 does that).

A tree of pairs, estimated in closed form from noisy counts of columns and of pairs.

    total                 the sums of all tables, averaged by inverse variance
    counts of a column    its own and the sums of its pairs, averaged by inverse variance, made to sum up to the total
    counts of a pair      moved the least (squares) that gives them the columns' sums, made non-negative, scaled to fit

Non-negative means the nearest table (squares) that has no negative count and the right sum: all counts less the same
number, negative ones 0 (Duchi et al. 2008). That also takes away most of the noise in empty combinations. Scaling
rows and columns in turn (iterative proportional fitting) then restores the columns' counts. Without noise every step
leaves the true counts as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.anonymizers.dp._private_cells import Places, RecordDomain
from sfumato.config.options import check_choice
from sfumato.errors import BadInputError
from sfumato.release.content import MOST_ROWS
from sfumato.runtime.arrays import Codes, Counts, Numbers

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
            raise BadInputError(
                f"the noisy counts sum up to {rows:,} records, nearly all of them noise; choose a larger epsilon"
            )
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
