"""Fidelity: how true a release is to its original, whatever kind of release it is.

`Fidelity` configures what is compared; `Portrait` is the original, prepared once, with which every release is
compared. Each measure has its baseline: the same number for a sample, or for a resample, of the original's own
records.

The propensity score mean squared error (pMSE): how well a model separates records of the release from the original's.

Put both tables under each other, and let a model estimate for every record how likely it is from the release. Take the
mean of (p - c)^2, where c is the release's share (Woo et al., "Global measures of data utility", J. Privacy and
Confidentiality 1(1), 2009; Snoke et al., "General and specific utility measures for synthetic data", JRSS A 181(3),
2018). Both tables weigh the same here (c = 1/2) whatever their numbers of records: otherwise a release of ten records
would look best of all. So 0 is "indistinguishable" and 1/4 "always distinguished".

`pmse` is exact, of the saturated model. Let o and s be the shares of a combination of values of all columns in either
table. Then

    pMSE = 1/8 * sum (s - o)^2 / (s + o).

A combination without records in the original adds s/8. So boxes need to be visited only where the original has
records, and no combination is listed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from sfumato.config.options import Configured, Option
from sfumato.data.cells import Cells, Points, distinct_rows
from sfumato.data.reading import Table
from sfumato.measures.all_measures import MARGINALS
from sfumato.measures.divergence import densities_at
from sfumato.measures.fidelity._intervals import BinnedColumn, ReleaseRows, coded_columns, read, read_original
from sfumato.measures.fidelity.associations import Products, Unit, association_error, associations, products, units
from sfumato.measures.fidelity.marginals import Places, Sampled, Truth, marginal_errors, sets_of_columns
from sfumato.release.release import Published
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.runtime.cancellation import check_cancelled

MOST = 0.25
"""The largest pMSE: always told apart."""

HELD = 8_000_000
"""So many numbers are held at a time."""


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

    In a cell of K of N records it has a binomial number X of them. The sum over X of P(X) (X - K)^2 / (X + K) is
    computed up to ten standard deviations; the rest is negligible.
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


SHOWN_PAIRS = 60
"""How many pairs of columns a picture names, the worst first."""


@dataclass(frozen=True)
class Fidelity(Configured):
    """The parts of a release that are compared with the original."""

    name: ClassVar[str] = "fidelity"
    example: ClassVar[str] = "fidelity ways=3 bins=100"

    ways: Annotated[int, Option(least=1, most=3)] = 3
    """Up to how many columns are counted together."""

    bins: Annotated[int, Option(least=2, most=200)] = 100
    """Into how many bins a column of more values is cut, in their order."""

    most: Annotated[int, Option(least=1)] = 500
    """How many sets of columns are counted at most; of more, so many are drawn."""

    seed: Annotated[int, Option(least=0)] = 0
    """The seed of all draws."""

    def prepare(self, table: Table) -> Portrait:
        """Work out everything that does not depend on a release."""
        return Portrait(table, self)

    def having(self, measures: tuple[str, ...]) -> Fidelity:
        """Return the same with what these measures need."""
        ways = max([self.ways, *(3 for name in measures if name in ("marginal_error_3", "nist_score"))])
        return replace(self, ways=ways)


@dataclass(frozen=True)
class Compared:
    """The results for one release: the measures, and the data of pictures."""

    values: Mapping[str, float]
    picture: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Portrait:
    """The original, ready for releases to be held against it."""

    table: Table
    wanted: Fidelity

    @cached_property
    def columns(self) -> tuple[BinnedColumn, ...]:
        """The coded columns."""
        return coded_columns(self.table.cells, self.wanted.bins)

    @cached_property
    def original(self) -> ReleaseRows:
        """The table itself as rows."""
        return read_original(self.table.cells, self.columns)

    @cached_property
    def truths(self) -> tuple[Mapping[Places, Truth], ...]:
        """The marginals of one column, of two, of three, as far as they are wanted and there are so many columns."""
        wanted, columns = self.wanted, len(self.columns)
        every = (sets_of_columns(columns, way, wanted.most, wanted.seed) for way in range(1, wanted.ways + 1))
        return tuple({places: Truth.of(self.original, places) for places in sets} for sets in every if sets)

    @cached_property
    def samples(self) -> tuple[Sampled, ...]:
        """The errors of samples of the table, for one column, two, three."""
        return tuple(Sampled.of(list(truths.values()), self.table.cells.records) for truths in self.truths)

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """How numbers are scaled."""
        return units(self.original)

    @cached_property
    def products(self) -> Products:
        """The mean products of the original's columns."""
        return products(self.original, self.units)

    @cached_property
    def associations(self) -> Numbers:
        """The association of every two columns of the original."""
        return associations(self.products)

    @cached_property
    def baselines(self) -> dict[str, float]:
        """Every measure of likeness for a resample of the original: its value by chance alone."""
        floors = {MARGINALS[way]: sampled.of_resample() for way, sampled in enumerate(self.samples)}
        floors["pmse"] = expected_saturated(self.table.cells.counts)
        return floors

    def ready(self) -> Portrait:
        """Work everything out now, so that threads only read."""
        assert self.samples is not None and self.associations is not None
        assert self.baselines is not None
        return self

    def compared(self, release: Published) -> Compared:
        """Hold a release against the original."""
        reading = read(release, self.columns)
        errors = [marginal_errors(reading, truths) for truths in self.truths]
        values = {MARGINALS[way]: float(np.mean(list(each.values()))) for way, each in enumerate(errors)}
        if "marginal_error_3" in values:
            values["nist_score"] = 1000 * (1 - values["marginal_error_3"])
        pairs = min(len(errors), 2) - 1
        values["sample_equivalent"] = self.samples[pairs].equivalent(values[MARGINALS[pairs]])
        check_cancelled()
        cells = self.table.cells
        values["pmse"] = saturated(cells.counts / cells.records, released_shares(reading, cells))
        check_cancelled()
        released = products(reading, self.units)
        associated = associations(released)
        if len(self.columns) > 1:
            values["correlation_error"] = association_error(self.associations, associated)
        return Compared(values, self._picture(errors, associated))

    def _picture(self, errors: list[dict[Places, float]], associated: Numbers) -> dict[str, Any]:
        """Collect what is drawn, with the digits that a drawing needs."""
        names = [column.name for column in self.columns]
        pairs = sorted(errors[1].items(), key=lambda item: -item[1]) if len(errors) > 1 else []
        return {
            "names": names,
            "numbers": [column.is_number for column in self.columns],
            "baselines": {name: _rounded(value) for name, value in self.baselines.items()},
            "original": [[_rounded(value) for value in row] for row in self.associations],
            "release": [[_rounded(value) for value in row] for row in associated],
            "pairs": [[*(names[place] for place in places), _rounded(error)] for places, error in pairs[:SHOWN_PAIRS]],
            "all_pairs": len(pairs),
        }


def _rounded(value: float) -> float | None:
    """Round to the digits that a drawing needs; None where there is no number."""
    return round(float(value), 4) if np.isfinite(value) else None
