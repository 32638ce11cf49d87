"""The propensity score mean squared error (pMSE): how well a model can tell records of the release from the original's.

Put both tables under each other, let a model say of every record how likely it is from the release, and take the mean
of (p - c)^2, where c is the release's share (Woo et al., "Global measures of data utility", J. Privacy and
Confidentiality 1(1), 2009; Snoke et al., "General and specific utility measures for synthetic data", JRSS A 181(3),
2018). Both tables weigh the same here (c = 1/2) whatever their numbers of records: otherwise a release of ten records
would look best of all. So 0 is "cannot be told apart" and 1/4 "always told apart".

`pmse` is exact, of the saturated model: with shares o and s of a combination of values of all columns in either table,

    pMSE = 1/8 * sum (s - o)^2 / (s + o).

Where the original has nobody a combination adds s/8, so boxes need to be looked at only where the original has
records, and no combination is listed.

`pmse_tree` is that of a decision tree (a researcher's model, which does not look at every combination alone), trained
and asked on the same records as in the papers. It is above 0 for a second sample of the same population too, so it is
held against the same tree's value for a resample of the original.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.data.assignment import Points, distinct_rows
from sfumato.data.cells import Cells
from sfumato.measures.divergence import densities_at
from sfumato.measures.fidelity._intervals import BinnedColumn, ReleaseRows
from sfumato.release.records import Records
from sfumato.runtime.arrays import Codes, Counts, Numbers

MOST = 0.25
"""The largest pMSE: always told apart."""

HELD = 8_000_000
"""So many numbers are held at a time."""

LEAVES = 400
"""A leaf of the tree has at least one part in so many of the records, and five of them."""


def saturated(original: Numbers, released: Numbers) -> float:
    """Return the pMSE of the saturated model from shares of combinations, where the original has anybody."""
    there = original > 0  # a resample may have nobody in a cell
    inside = float(((released - original)[there] ** 2 / (released + original)[there]).sum())
    inside += float(released[~there].sum())
    return (inside + max(1.0 - float(released.sum()), 0.0)) / 8


def released_shares(reading: ReleaseRows, cells: Cells) -> Numbers:
    """Estimate the share of every cell of the table in a release: all columns together."""
    quasi = len(cells.quasi)
    known = (cells.codes >= 0).all(axis=1)
    tuples, number = distinct_rows(cells.values)
    points = Points.of(np.ascontiguousarray(cells.codes[known]), cells.counts[known])
    group_lo, group_hi = (
        np.stack(ends, axis=1) for ends in zip(*(_ends(reading, a) for a in range(quasi)), strict=True)
    )
    shares = np.zeros(cells.size)
    step = max(HELD // max(len(group_lo), len(points.codes), 1), 1)
    for start in range(0, len(tuples), step):
        part = np.arange(start, min(start + step, len(tuples)))
        content = _content(reading, cells, cells.values[tuples[part]])
        at_points = densities_at(
            points.codes, group_lo, group_hi, content, [attribute.hierarchy for attribute in cells.quasi]
        )
        mine = known & (number >= start) & (number < start + step)
        shares[mine] = at_points[points.number[mine[known]], number[mine] - start]
    return shares / float(np.maximum(reading.values.mass, 0.0).sum())


def _ends(reading: ReleaseRows, place: int) -> tuple[Codes, Codes]:
    intervals = reading.boxes.shown[place]
    return intervals.lo[intervals.place], intervals.hi[intervals.place]


def _content(reading: ReleaseRows, cells: Cells, tuples: Codes) -> Numbers:
    """Return for every box how many of its records have each of some combinations of sensitive values.

    Noise that makes a count negative is read as none.
    """
    per_group = np.zeros((len(reading.sizes), len(tuples)))
    held = reading.values
    for t, values in enumerate(tuples):
        share = np.ones(len(held.group))
        for intervals, value, attribute, column in zip(
            held.shown, values, cells.sensitive, reading.columns[len(cells.quasi) :], strict=True
        ):
            leaf = int(attribute.leaves[value])
            share *= _share_of_leaf(column, intervals.lo, intervals.hi, leaf)[intervals.place]
        np.add.at(per_group[:, t], held.group, np.maximum(held.mass, 0.0) * share)
    boxes = reading.boxes
    return per_group[boxes.group] * reading.group_shares(boxes.group, boxes.mass)[:, None]


def _share_of_leaf(column: BinnedColumn, lo: Codes, hi: Codes, leaf: int) -> Numbers:
    """Return the share of one leaf in every interval."""
    width = column.hierarchy.cumulative[hi + 1] - column.hierarchy.cumulative[lo]
    inside = (lo <= leaf) & (leaf <= hi)
    return np.where(inside, np.where(lo == hi, 1.0, column.hierarchy.widths[leaf] / width), 0.0)


def expected_saturated(counts: Counts) -> float:
    """Return the expected `pmse` of a resample of the table with replacement: what chance alone does.

    In a cell of K of N records it has a binomial number X of them; the sum over X of P(X) (X - K)^2 / (X + K) is taken
    as far as ten standard deviations, beyond which nothing is left.
    """
    from scipy.special import gammaln  # comes with scikit-learn

    records = float(counts.sum())
    total = 0.0
    for inside, cells in zip(*np.unique(counts[counts > 0], return_counts=True), strict=True):
        share, reach = inside / records, 10 * math.sqrt(inside) + 10
        x = np.arange(max(0, math.floor(inside - reach)), min(records, math.ceil(inside + reach)) + 1)
        if share >= 1:
            continue
        logs = gammaln(records + 1) - gammaln(x + 1) - gammaln(records - x + 1)
        logs = logs + x * math.log(share) + (records - x) * math.log1p(-share)
        total += cells * float((np.exp(logs) * (x - inside) ** 2 / (x + inside)).sum())
    return float(total / records / 8)


def by_tree(original: Records, released: Records, sample: int, seed: int) -> float:
    """Return the pMSE of a decision tree on the leaf codes of records; of more than `sample`, so many are drawn."""
    from sklearn.tree import DecisionTreeClassifier

    generator = np.random.default_rng(seed)
    sides = [_drawn(records.codes, sample, generator) for records in (original, released)]
    if not len(released):
        return MOST
    features = np.concatenate(sides).astype(np.float32)
    label = np.repeat([0, 1], [len(side) for side in sides])
    weight = np.repeat([0.5 / len(side) for side in sides], [len(side) for side in sides])
    least = max(math.ceil(len(label) / LEAVES), 5)
    tree = DecisionTreeClassifier(min_samples_leaf=least, random_state=seed)
    tree.fit(features, label, sample_weight=weight)
    chance = tree.predict_proba(features)[:, 1]
    return float((weight * (chance - 0.5) ** 2).sum())


def _drawn(codes: Codes, sample: int, generator: np.random.Generator) -> Codes:
    if len(codes) <= sample:
        return codes
    drawn: Codes = codes[generator.choice(len(codes), sample, replace=False)]
    return drawn
