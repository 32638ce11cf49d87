"""Fidelity the slow way: every release listed leaf by leaf with weights, and textbook formulas on that list."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations, product

import numpy as np

from sfumato.release.content import NoisyRelease
from sfumato.release.records import RecordRelease


def listed(release):
    """List all combinations of leaves a reader may take a release for, with the records that fall on each."""
    cells = release.cells
    trees = [attribute.hierarchy for attribute in (*cells.quasi, *cells.sensitive)]
    weights = Counter()
    for intervals, mass in _rows(release):
        leaves = [range(lo, hi + 1) for lo, hi in intervals]
        volume = np.prod([sum(tree.widths[leaf] for leaf in some) for tree, some in zip(trees, leaves, strict=True)])
        for point in product(*leaves):
            share = np.prod([tree.widths[leaf] for tree, leaf in zip(trees, point, strict=True)])
            weights[point] += mass * share / volume
    return weights


def _rows(release):
    cells = release.cells
    whole = [(0, attribute.hierarchy.size - 1) for attribute in cells.sensitive]
    if isinstance(release, RecordRelease):
        for lo, hi, values, count in zip(release.lo, release.hi, release.values, release.counts, strict=True):
            shown = [(v, v) if v >= 0 else w for v, w in zip(values, whole, strict=True)]
            yield [*zip(lo, hi, strict=True), *shown], int(count)
    elif isinstance(release, NoisyRelease):
        for box, counts in enumerate(release.counts):
            for value, count in enumerate(counts):
                yield [*zip(release.boxes.lo[box], release.boxes.hi[box], strict=True), (value, value)], count
    else:
        entries, boxes = release.assignment, release.boxes
        members = defaultdict(Counter)
        for cell, group, count in zip(entries.cell, entries.group, entries.count, strict=True):
            leaves = tuple(a.leaves[v] for a, v in zip(cells.sensitive, cells.values[cell], strict=True))
            members[group][leaves] += int(count)
        for lo, hi, mass, group in zip(boxes.lo, boxes.hi, boxes.mass, boxes.group, strict=True):
            size = sum(members[group].values())
            for leaves, count in members[group].items():
                shown = whole if release.histograms is None else [(leaf, leaf) for leaf in leaves]
                yield [*zip(lo, hi, strict=True), *shown], int(mass) * count / size


def original(cells):
    """List the table itself."""
    rows = Counter()
    for codes, values, count in zip(cells.codes, cells.values, cells.counts, strict=True):
        leaves = (a.leaves[v] for a, v in zip(cells.sensitive, values, strict=True))
        rows[(*map(int, codes), *map(int, leaves))] += int(count)
    return rows


def marginal_error(one, other, ways):
    """Average half the sum of absolute differences of shares over all sets of columns."""
    columns = len(next(iter(one)))
    errors = []
    for places in combinations(range(columns), ways):
        tables = []
        for rows in (one, other):
            table, total = Counter(), sum(rows.values())
            for point, weight in rows.items():
                table[tuple(point[p] for p in places)] += weight / total
            tables.append(table)
        errors.append(sum(abs(tables[0][key] - tables[1][key]) for key in {*tables[0], *tables[1]}) / 2)
    return sum(errors) / len(errors)


def pmse(one, other):
    """Take the mean squared deviation of the share of the second table in every cell from a half, both weighing 1."""
    sums = sum(one.values()), sum(other.values())
    total = 0.0
    for key in {*one, *other}:
        o, s = one[key] / sums[0], other[key] / sums[1]
        if o + s > 0:
            total += (o + s) / 2 * (s / (o + s) - 0.5) ** 2
    return total


def association(rows, a, b, numbers):
    """Work out Pearson's correlation, Cramer's V or the correlation ratio; `numbers` has NaN for what is none."""
    points = np.array([(point[a], point[b]) for point in rows])
    weight = np.array(list(rows.values()))
    left, right = (None if numbers[p] is None else np.array(numbers[p])[points[:, i]] for i, p in enumerate((a, b)))
    if left is not None and right is not None:
        kept = np.isfinite(left) & np.isfinite(right) & (weight > 0)
        if not weight[kept].sum() > 1e-12:
            return 0.0
        with np.errstate(invalid="ignore", divide="ignore"):
            cov = np.cov(left[kept], right[kept], aweights=weight[kept], ddof=0)
            return 0.0 if min(cov[0, 0], cov[1, 1]) < 1e-9 else float(cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]))
    if left is not None or right is not None:
        number, category = (left, points[:, 1]) if left is not None else (right, points[:, 0])
        return _ratio(number, category, weight)
    return _cramer(points, weight)


def _ratio(number, category, weight):
    kept = np.isfinite(number) & (weight > 0)
    number, category, weight = number[kept], category[kept], weight[kept]
    if not weight.sum() > 1e-12:
        return 0.0
    mean = np.average(number, weights=weight)
    variance = np.average((number - mean) ** 2, weights=weight)
    if variance < 1e-9:
        return 0.0
    own = {c: np.average(number[category == c], weights=weight[category == c]) for c in set(category.tolist())}
    between = np.average([(own[c] - mean) ** 2 for c in category.tolist()], weights=weight)
    return float(np.sqrt(min(between / variance, 1)))


def _cramer(points, weight):
    table = Counter()
    for (one, other), w in zip(points.tolist(), weight, strict=True):
        table[one, other] += w
    rows, columns = Counter(), Counter()
    for (one, other), w in table.items():
        rows[one] += w
        columns[other] += w
    total = sum(table.values())
    used = [r for r in rows if rows[r] > 0], [c for c in columns if columns[c] > 0]
    if min(map(len, used)) < 2:
        return 0.0
    expected = {(r, c): rows[r] * columns[c] / total for r in used[0] for c in used[1]}
    chi = sum((table[key] - e) ** 2 / e for key, e in expected.items())
    return float(np.sqrt(min(chi / total / (min(map(len, used)) - 1), 1)))
