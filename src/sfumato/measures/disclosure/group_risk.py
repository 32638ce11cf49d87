"""How easily a record is found by somebody who knows its quasi-identifiers: risks read off group sizes.

The frequency of a record is the number of records that look like it; its prosecutor risk is one over that. Where a
missing value matches everything (sdcMicro's reading), records that look alike form no groups, but every record still
has a frequency, and every risk here reads frequencies alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.arrays import Codes, Counts, Flags, Numbers
from sfumato.kernels import kernel
from sfumato.table import distinct_rows

THRESHOLDS = {3: 0.33, 5: 0.2, 11: 0.09, 20: 0.05}
"""The smallest groups people ask for, and the risk each is known by; 11 is EMA's policy 0070 and Health Canada's."""


@dataclass(frozen=True)
class GroupRisk:
    """What the frequencies of all records say of a table, or of its table on some of the quasi-identifiers."""

    records: int
    combinations: int
    """Distinct combinations of values, a missing value being one of its own."""

    smallest: int
    """The smallest frequency."""

    uniques: int
    """Records that no other record looks like."""

    below: dict[int, int]
    """For each threshold the number of records with a smaller frequency."""

    average: float
    """The average prosecutor risk, which is the marketer risk; equal to the distinction, combinations over records."""

    separation: float
    """The share of pairs of records that can be told apart."""

    @staticmethod
    def of(records: int, combinations: int, smallest: int, few: Counts, average: float, alike: float) -> GroupRisk:
        """Sum up, given the records by frequency below the largest threshold, and the ordered pairs that look alike."""
        below = {threshold: int(few[:threshold].sum()) for threshold in THRESHOLDS}
        separation = 1 - alike / (records * (records - 1)) if records > 1 else 0.0
        return GroupRisk(records, combinations, smallest, int(few[1]), below, average, separation)

    @property
    def highest(self) -> float:
        """The highest prosecutor risk of a record."""
        return 1 / self.smallest

    @property
    def uniques_share(self) -> float:
        """The share of records that no other record looks like."""
        return self.uniques / self.records

    def above(self, smallest: int) -> float:
        """Return the share of records with a smaller frequency than a threshold, so at more risk than it is for."""
        return self.below[smallest] / self.records


def group_risk(frequencies: Counts, counts: Counts) -> GroupRisk:
    """Sum up the frequencies of combinations, each of which `counts` records have."""
    records, smallest, alike, risk, few = summed(frequencies, counts, max(THRESHOLDS))
    return GroupRisk.of(records, len(counts), smallest, few, risk / records, alike)


@kernel
def summed(frequencies: Counts, counts: Counts, most: int) -> tuple[int, int, float, float, Counts]:
    """Add up records, the pairs that look alike, the risks, and the records by frequency below `most`."""
    records, smallest, alike, risk = 0, frequencies[0], 0.0, 0.0
    few = np.zeros(most, np.int64)
    for i in range(len(counts)):
        records += counts[i]
        smallest = min(smallest, frequencies[i])
        alike += float(counts[i]) * float(frequencies[i] - 1)
        risk += counts[i] / frequencies[i]
        if frequencies[i] < most:
            few[frequencies[i]] += counts[i]
    return records, smallest, alike, risk, few


def agreeing(codes: Codes, missing: Flags, sums: Numbers) -> Numbers:
    """Add up, for every row, the sums of all rows that agree with it wherever both are known.

    Rows are taken together by the attributes they miss. Rows that miss P meet rows that miss Q on the attributes
    outside both, and there agreeing is being equal; so the work is rows times patterns, not rows times rows.
    """
    first, number = distinct_rows(missing.astype(np.int32))
    patterns = missing[first]
    members = [np.flatnonzero(number == i) for i in range(len(first))]
    result = np.zeros_like(sums)
    for rows, pattern in zip(members, patterns, strict=True):
        unions, union_of = distinct_rows((patterns | pattern).astype(np.int32))
        for i, place in enumerate(unions):
            known = ~(patterns[place] | pattern)
            others = np.concatenate([members[q] for q in np.flatnonzero(union_of == i)])
            joined = codes[np.concatenate([rows, others])][:, known]
            groups, group = distinct_rows(joined)
            met = group[len(rows) :]
            for j in range(sums.shape[1]):
                totals = np.bincount(met, sums[others, j], len(groups))
                result[rows, j] += totals[group[: len(rows)]]
    return result
