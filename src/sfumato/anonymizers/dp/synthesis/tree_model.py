"""A tree of pairs, estimated in closed form from noisy counts of columns and of pairs.

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

import numpy as np

from sfumato.anonymizers.dp.synthesis.model import Model, ModelStep
from sfumato.anonymizers.dp.synthesis.private_records import Places, RecordDomain
from sfumato.arrays import Numbers

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
