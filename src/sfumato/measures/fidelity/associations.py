"""Products of columns, and what follows from them: associations between two columns, and least squares.

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

Models fitted to the release and to the original: by how much do the confidence intervals of coefficients overlap?

Every coefficient has intervals [L_o, U_o] and [L_r, U_r]. The overlap is the mean share of the common part in either
of them (Karr et al., "A framework for evaluating the utility of data altered to protect confidentiality", The American
Statistician 60(3), 2006). It is 0 where they have nothing in common, or where the release does not determine the
coefficient at all. The measure is the mean over the coefficients of all models, intercepts left out.

A model is written `income ~ age + education`. A target of numbers is fitted by least squares, from mean products of
columns alone, so exactly under the uniformity assumption. A category is fitted by a logistic model of its commonest
value, on records drawn from the release as an analyst would read it. A number enters as it is (and whether it is
missing, with the mean in its place, as in a target too), a category by its values, each against the commonest. If no
model is named, every column of numbers is fitted by all others.

Standard errors take a release's records for as many people: of a generalized or synthetic release they are too small,
and its intervals too short. Users of such a file who do not know this get the same result; the overlap shows it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from sfumato.data.cells import Points
from sfumato.errors import BadInputError
from sfumato.measures.fidelity._intervals import BinnedColumn, ReleaseRows
from sfumato.measures.fidelity.marginals import bin_shares
from sfumato.runtime.arrays import Codes, Counts, Flags, Numbers
from sfumato.texts.catalogue import refusal

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


def bins_of(of: Products, place: int) -> Counts:
    """Return the bins of a category that occur, the commonest first."""
    counts = np.diag(of.block(place, place))
    order = np.argsort(-counts, kind="stable")
    return order[counts[order] > 0]


QUANTILE = 1.959963984540054
"""Of the normal distribution: intervals of 95 %."""

COLLINEAR = 1e-9
"""A term of which so small a part remains once the others are known is not identifiable."""

STEPS = 30
"""Newton steps of a logistic model, of which ten are usual."""

FEATURES = {"present": 0, "number": 1}
"""The positions of a number's features in the products of its column."""

LARGEST = 30.0
"""If a coefficient grows beyond, a value of the target always or never occurs with its term."""


@dataclass(frozen=True)
class Term:
    """A term of a model: a column's number, that it is missing, or one of its bins."""

    place: int
    kind: str
    """number, missing, present or bin."""

    bin: int = -1


@dataclass(frozen=True)
class Regression:
    """A target and its terms, by the places of columns."""

    target: int
    terms: tuple[Term, ...]


@dataclass(frozen=True, eq=False)
class Fitted:
    """Coefficients with their standard errors; NaN where one is not identifiable."""

    coefficients: Numbers
    errors: Numbers

    @property
    def ends(self) -> tuple[Numbers, Numbers]:
        """The ends of the confidence intervals."""
        return self.coefficients - QUANTILE * self.errors, self.coefficients + QUANTILE * self.errors


def read_models(text: str | None, columns: Sequence[BinnedColumn]) -> list[tuple[int, tuple[int, ...]]]:
    """Read models: the places of a target and of what it is explained by; without any, every number by all others."""
    every = range(len(columns))
    if text is None:
        numbers = [place for place in every if columns[place].is_number]
        return [(place, tuple(other for other in every if other != place)) for place in numbers if len(columns) > 1]
    return [_read_model(part, columns) for part in text.split(";")]


def _read_model(text: str, columns: Sequence[BinnedColumn]) -> tuple[int, tuple[int, ...]]:
    names = [column.name for column in columns]
    target, sign, others = text.partition("~")
    parts = [part.strip() for part in (target, *others.split("+"))]
    if not sign or not all(parts):
        raise BadInputError(f"regression: cannot read {text.strip()!r}; write for example 'income ~ age + education'")
    for part in parts:
        if part not in names:
            raise refusal("no_column_to_regress", part=part, names=", ".join(names))
    if len(set(parts)) < len(parts):
        raise BadInputError(f"regression: a column appears twice in {text.strip()!r}; name each once")
    return names.index(parts[0]), tuple(names.index(part) for part in parts[1:])


def model_of(target: int, others: Sequence[int], original: Products) -> Regression:
    """Choose the terms of a model by the original: of a category all bins that occur but the commonest."""
    terms: list[Term] = []
    for place in others:
        column = original.columns[place]
        if column.is_number:
            terms.append(Term(place, "number"))
            if original.block(place, place)[0, 0] < 1 - COLLINEAR:
                terms.append(Term(place, "missing"))
        else:
            terms += [Term(place, "bin", int(bin)) for bin in np.sort(bins_of(original, place)[1:])]
    return Regression(target, tuple(terms))


# -- least squares -----------------------------------------------------------------------------------------


def least_squares(of: Products, model: Regression) -> Fitted:
    """Fit a number by its terms, from mean products of columns."""
    target = Term(model.target, "number")
    every = [*model.terms, target]
    normal = np.ones((len(every) + 1, len(every) + 1))  # the intercept, the terms, the target
    for i, term in enumerate(every, start=1):
        normal[0, i] = normal[i, 0] = _mean(of, term)
        for j, other in enumerate(every[:i], start=1):
            normal[i, j] = normal[j, i] = _product(of, term, other)
    swept, separable = _swept(normal)
    freedom = of.records - separable.sum() - 1
    if freedom <= 0:
        return Fitted(np.full(len(model.terms), np.nan), np.full(len(model.terms), np.nan))
    residual = max(float(swept[-1, -1]), 0.0) / freedom
    variances = np.maximum(-np.diag(swept)[1:-1], 0.0) * residual
    return Fitted(np.where(separable, swept[1:-1, -1], np.nan), np.where(separable, np.sqrt(variances), np.nan))


def _mean(of: Products, term: Term) -> float:
    block = of.block(term.place, term.place)
    if term.kind == "bin":
        return float(block[term.bin, term.bin])
    return float(1 - block[0, 0] if term.kind == "missing" else block[0, FEATURES[term.kind]])


def _product(of: Products, one: Term, other: Term) -> float:
    """Return the mean product of two terms; that of a missing number follows from that of a present one."""
    if one.kind == "missing":
        return _mean(of, other) - _product(of, Term(one.place, "present"), other)
    if other.kind == "missing":
        return _product(of, other, one)
    first, second = (term.bin if term.kind == "bin" else FEATURES[term.kind] for term in (one, other))
    return float(of.block(one.place, other.place)[first, second])


def _swept(normal: Numbers) -> tuple[Numbers, Flags]:
    """Sweep the intercept and every term that is identifiable after those before it; return which are.

    In the swept part, the matrix has the negative inverse, the coefficients in the last column, and in the last corner
    the remainder of the target's mean square.
    """
    separable = np.zeros(len(normal) - 1, np.bool_)
    scale = np.diag(normal).copy()
    for k in range(len(normal) - 1):
        pivot = normal[k, k]
        if not pivot > COLLINEAR * max(scale[k], COLLINEAR):
            continue
        separable[k] = True
        row, column = normal[k].copy(), normal[:, k].copy()
        normal = normal - np.outer(column, row) / pivot
        normal[k], normal[:, k] = row / pivot, column / pivot
        normal[k, k] = -1 / pivot
    return normal, separable[1:]


# -- logistic ----------------------------------------------------------------------------------------------


def logistic(codes: Codes, model: Regression, of: Products, scaled: Sequence[Unit]) -> Fitted:
    """Fit the chance of a category's commonest value by Newton's steps; `of` are the products of the original."""
    places = sorted({model.target, *(term.place for term in model.terms)})
    unknown = Fitted(np.full(len(model.terms), np.nan), np.full(len(model.terms), np.nan))
    if not len(codes):
        return unknown
    points = Points.of(np.ascontiguousarray(codes[:, places]), np.ones(len(codes)))
    leaves = {place: points.codes[:, i] for i, place in enumerate(places)}
    design = np.stack(
        [np.ones(len(points.codes)), *(_values(term, leaves[term.place], of, scaled) for term in model.terms)], axis=1
    )
    column = of.columns[model.target]
    chosen = column.bin_of[leaves[model.target]] == bins_of(of, model.target)[0]
    return newton(design, chosen.astype(np.float64), points.counts.astype(np.float64)) or unknown


def _values(term: Term, leaves: Codes, of: Products, scaled: Sequence[Unit]) -> Numbers:
    """Return what a term is for leaves of its column."""
    column, unit = of.columns[term.place], scaled[term.place]
    if term.kind == "bin":
        return np.where(column.bin_of[leaves] == term.bin, 1.0, 0.0)
    if term.kind == "missing":
        return 1 - column.present[leaves]
    numbers: Numbers = column.present[leaves] * (column.numbers[leaves] - unit.mean) / unit.deviation
    return numbers


def newton(design: Numbers, chosen: Numbers, weight: Numbers) -> Fitted | None:
    """Maximize the likelihood; None where it has no maximum, because some term decides the target."""
    gram = (design * weight[:, None]).T @ design / weight.sum()
    _, separable = _swept(np.pad(gram, ((0, 1), (0, 1))))
    kept = np.append(0, np.flatnonzero(separable) + 1)
    inside, beta = design[:, kept], np.zeros(len(kept))
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(inside @ beta, -LARGEST, LARGEST)))
        information = (inside * (weight * chance * (1 - chance))[:, None]).T @ inside
        try:
            step = np.linalg.solve(information, inside.T @ (weight * (chosen - chance)))
        except np.linalg.LinAlgError:
            return None
        beta = beta + step
        if np.abs(step).max() < 1e-10:
            break
    if not np.abs(beta).max() < LARGEST:
        return None
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    coefficients, deviations = np.full((2, design.shape[1]), np.nan)
    coefficients[kept], deviations[kept] = beta, errors
    return Fitted(coefficients[1:], deviations[1:])


# -- overlap -----------------------------------------------------------------------------------------------


def overlaps(original: Fitted, released: Fitted) -> Numbers:
    """Return the overlap of the intervals of every coefficient that the original can tell; NaN of the others."""
    (low, high), (other_low, other_high) = original.ends, released.ends
    common = np.minimum(high, other_high) - np.maximum(low, other_low)
    lengths = high - low, other_high - other_low
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.mean([np.where(length > 0, common / length, 1.0) for length in lengths], axis=0)
    shares = np.where(common >= 0, np.clip(parts, 0.0, 1.0), 0.0)  # a NaN of the release is no common part
    return np.where(np.isnan(original.coefficients), np.nan, shares)
