"""Products of columns, and what follows from them: associations between two columns.

Every column has features, functions of its leaves: a category one per bin (1 in that bin), a number three (1 where it
is present, the number, its square). The mean product of the features of two columns is a small matrix, exact under the
uniformity assumption, since within a row two columns are independent. It is E_a' M E_b, with E the mean features of
intervals and M the records by interval. From it follow:

- Of two numbers, Pearson's correlation, of the records that have both.
- Of two categories, Cramer's V (missing is a category).
- Of a category and a number, the correlation ratio. This is the root of the share of the number's variance between
categories.

Numbers are taken in standard units of the original, so that nothing is lost to rounding; no association depends on
units. The absolute value of Pearson's correlation lies on the scale of the others; its sign is kept, and a changed one
counts.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from sfumato.measures.fidelity._intervals import BinnedColumn, ReleaseRows
from sfumato.measures.fidelity.marginals import bin_shares
from sfumato.runtime.arrays import Numbers

TINY = 1e-12
"""A variance below this is none: the column is the same for everybody."""


@dataclass(frozen=True)
class Unit:
    """How a number is scaled: mean and standard deviation in the original."""

    mean: float
    deviation: float


@dataclass(frozen=True, eq=False)
class Products:
    """Mean products of the features of every two columns of a release."""

    columns: tuple[BinnedColumn, ...]
    blocks: dict[tuple[int, int], Numbers]
    """By places, the first not behind the second: features x features; sums over a total of 1."""

    records: float

    def block(self, one: int, other: int) -> Numbers:
        """Return the products of two columns, the features of the first as rows."""
        return self.blocks[one, other] if one <= other else self.blocks[other, one].T


def units(original: ReleaseRows) -> tuple[Unit, ...]:
    """Return mean and deviation of every column of numbers; of a category, or of one number, they change nothing."""
    scales = []
    for place, column in enumerate(original.columns):
        intervals, (which, mass) = original.shown(place), original.joined([place])
        weight = np.bincount(which[0], mass, len(intervals.lo)) * column.present[intervals.lo]
        if not column.is_number or not weight.sum() > 0:
            scales.append(Unit(0.0, 1.0))
            continue
        values = column.numbers[intervals.lo]
        mean = float(np.average(values, weights=weight))
        spread = sqrt(float(np.average((values - mean) ** 2, weights=weight)))
        scales.append(Unit(mean, spread if spread > 0 else 1.0))
    return tuple(scales)


def products(reading: ReleaseRows, scaled: tuple[Unit, ...]) -> Products:
    """Work out the products of all columns."""
    columns = reading.columns
    features = [_features(reading, place, unit) for place, unit in enumerate(scaled)]
    blocks: dict[tuple[int, int], Numbers] = {}
    total = reading.records
    for a, column in enumerate(columns):
        (which,), mass = reading.joined([a])
        held = np.bincount(which, mass, len(reading.shown(a).lo)) / total
        if column.is_number:
            blocks[a, a] = _squares(reading, a, scaled[a], held)
        else:
            blocks[a, a] = np.diag(np.asarray(features[a].T @ held).ravel())
        for b in range(a + 1, len(columns)):
            blocks[a, b] = _block(reading, a, b, features, total)
    return Products(columns, blocks, total)


def _block(reading: ReleaseRows, a: int, b: int, features: list[Any], total: float) -> Numbers:
    from scipy.sparse import csr_array, issparse  # comes with scikit-learn

    (one, other), mass = reading.joined([a, b])
    held = csr_array((mass / total, (one, other)), shape=(features[a].shape[0], features[b].shape[0]))
    product = features[a].T @ (held @ features[b])
    return np.asarray(product.toarray() if issparse(product) else product)


def _features(reading: ReleaseRows, place: int, unit: Unit) -> Any:
    """Return the mean features of a column's intervals: intervals x features."""
    column, intervals = reading.columns[place], reading.shown(place)
    if not column.is_number:
        return bin_shares(column, intervals)
    return np.stack([column.means(intervals.lo, intervals.hi, values) for values in _powers(column, unit, 2)], axis=1)


def _powers(column: BinnedColumn, unit: Unit, most: int) -> list[Numbers]:
    """Return of every leaf whether it is a number, and the powers of the number in its unit."""
    scaled = (column.numbers - unit.mean) / unit.deviation
    return [column.present * scaled**power for power in range(most + 1)]


def _squares(reading: ReleaseRows, place: int, unit: Unit, held: Numbers) -> Numbers:
    """Return the products of a number's features with each other, which are powers of it."""
    column, intervals = reading.columns[place], reading.shown(place)
    powers = [float(held @ column.means(intervals.lo, intervals.hi, values)) for values in _powers(column, unit, 4)]
    return np.array([[powers[i + j] for j in range(3)] for i in range(3)])


def associations(of: Products) -> Numbers:
    """Return the association of every two columns; 1 of a column with itself."""
    matrix = np.eye(len(of.columns))
    for (a, b), block in of.blocks.items():
        if a != b:
            matrix[a, b] = matrix[b, a] = _association(block, of.columns[a].is_number, of.columns[b].is_number)
    return matrix


def _association(block: Numbers, first_number: bool, second_number: bool) -> float:
    if first_number and second_number:
        return _pearson(block)
    if first_number or second_number:
        return _correlation_ratio(block if second_number else block.T)
    return _cramers_v(block)


def _pearson(block: Numbers) -> float:
    """Read the correlation off sums over records that have both numbers."""
    weight = block[0, 0]
    if not weight > TINY:
        return 0.0
    mean_x, mean_y = block[1, 0] / weight, block[0, 1] / weight
    var_x, var_y = block[2, 0] / weight - mean_x**2, block[0, 2] / weight - mean_y**2
    if not (var_x > TINY and var_y > TINY):
        return 0.0
    return float(np.clip((block[1, 1] / weight - mean_x * mean_y) / sqrt(var_x * var_y), -1, 1))


def _correlation_ratio(block: Numbers) -> float:
    """Read the ratio off the sums of every category: records, number, square."""
    block = block[block[:, 0] > 0]
    weight, number, square = block.sum(axis=0)
    if not weight > TINY:
        return 0.0
    mean = number / weight
    variance = square / weight - mean**2
    if not variance > TINY:
        return 0.0
    between = float((block[:, 0] * (block[:, 1] / block[:, 0] - mean) ** 2).sum()) / weight
    return sqrt(float(np.clip(between / variance, 0, 1)))


def _cramers_v(block: Numbers) -> float:
    """Work V out of a table of two categories; noise that makes a count negative is read as none."""
    counts = np.maximum(block, 0.0)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    if min(counts.shape) < 2:
        return 0.0
    shares = counts / counts.sum()
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    squared = float(((shares - expected) ** 2 / expected).sum())
    return sqrt(min(squared / (min(counts.shape) - 1), 1.0))


def association_error(original: Numbers, released: Numbers) -> float:
    """Return the mean absolute difference over all pairs of columns."""
    upper = np.triu_indices(len(original), 1)
    return float(np.abs(original[upper] - released[upper]).mean())
