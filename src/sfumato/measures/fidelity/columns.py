"""The coded columns of a table as fidelity looks at them: leaves taken together into bins, and leaves as numbers.

A column of at most `bins` leaves has one bin per leaf. A longer one is cut, in the order of its leaves, into stretches
that hold about the same number of the table's records: stretches of equal width would put nearly all of a skewed column
(incomes) into one. Missing values, and values that the declared domain lacks, have bins of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.arrays import Codes, Counts, Numbers
from sfumato.release.records import Records, cell_codes, leaf_numbers
from sfumato.table import Cells, Hierarchy, weighted_counts


@dataclass(frozen=True, eq=False)
class BinnedColumn:
    """A coded column: its hierarchy, and the bin of every leaf."""

    name: str
    hierarchy: Hierarchy
    bin_of: Counts
    """By leaf code; behind the last leaf, and so at -1, the bin of values outside of the domain."""

    bins: int

    @property
    def is_number(self) -> bool:
        """Whether it has numbers or dates, which can be averaged."""
        return self.hierarchy.scale != "category"

    @cached_property
    def numbers(self) -> Numbers:
        """Every leaf as a number, 0 where it is missing or none; behind the last leaf that of other values."""
        return np.append(np.nan_to_num(leaf_numbers(self.hierarchy)), 0.0)

    @cached_property
    def present(self) -> Numbers:
        """1 for every leaf that is a number, 0 where it is missing or none."""
        return np.append(np.isfinite(leaf_numbers(self.hierarchy)), False).astype(np.float64)

    def means(self, lo: Codes, hi: Codes, values: Numbers) -> Numbers:
        """Average values of leaves over intervals, by the width of leaves; of a single leaf it is the value itself."""
        widths = np.asarray(self.hierarchy.widths)
        sums = np.append(0.0, np.cumsum(widths * values[:-1]))
        total = self.hierarchy.cumulative[hi + 1] - self.hierarchy.cumulative[lo]
        means: Numbers = np.where(lo == hi, values[lo], (sums[hi + 1] - sums[lo]) / total)
        return means


def coded_columns(cells: Cells, bins: int) -> tuple[BinnedColumn, ...]:
    """Return the columns of a table, quasi-identifiers first, in at most so many bins each (missing values apart)."""
    codes, records = cell_codes(cells), Records(cells, np.zeros((0, 0), np.int32))
    return tuple(
        _column(name, hierarchy, codes[:, place], cells.counts, bins)
        for place, (name, hierarchy) in enumerate(zip(records.names, records.hierarchies, strict=True))
    )


def _column(name: str, hierarchy: Hierarchy, codes: Codes, counts: Counts, bins: int) -> BinnedColumn:
    inside = hierarchy.domain_size
    bin_of = np.arange(hierarchy.size + 1)
    if inside > bins:
        known = (codes >= 0) & (codes < inside)
        records = weighted_counts(codes[known], counts[known], inside)
        middles = np.cumsum(records) - records / 2
        cut = np.minimum((middles * (bins / max(records.sum(), 1))).astype(np.int64), bins - 1)
        bin_of[:inside] = np.unique(cut, return_inverse=True)[1]
        bin_of[inside:] += bin_of[inside - 1] + 1 - inside
    outside = bool((codes < 0).any())
    return BinnedColumn(name, hierarchy, bin_of, int(bin_of[-1]) + int(outside))
