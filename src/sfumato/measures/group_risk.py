"""How easily a record is found by somebody who knows its quasi-identifiers: risks read off group sizes.

The frequency of a record is the number of records that look like it; its prosecutor risk is one over that. If a
missing value matches everything (sdcMicro's reading), records that look alike form no groups. Every record still has a
frequency, and every risk here reads frequencies alone.

Unchanged records in a release of records: whether it is the table itself, except for a few values.

    Standing:  records of the table that the release shows as they are, each row for one record.
    Alone:     people whom nobody in the table is like, by the quasi-identifiers that the release shows.
    Bare:      those of them whose record is in the release, alone there too.

A release is hardly changed if it shows more than 19 of 20 records as they are, and most of the people alone are bare. A
method that changes few records, but those of the unique people, has changed what matters. For records that represent
nobody, chance repeats many original records in a small domain, but not as often as they occurred there. So of them the
distinct records count that are shown as often as they occur: a sample of the table itself has less than 6 of 10 of
these.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.data.cells import distinct_rows, weighted_counts
from sfumato.release.records import RecordRelease, cell_codes
from sfumato.runtime.arrays import Codes, Counts, Flags, Numbers
from sfumato.runtime.kernels import kernel

THRESHOLDS = {3: 0.33, 5: 0.2, 11: 0.09, 20: 0.05}
"""The smallest groups people ask for, and the risk each is known by; 11 is EMA's policy 0070 and Health Canada's."""


@dataclass(frozen=True)
class GroupRisk:
    """The frequencies of all records of a table, or of its table on some of the quasi-identifiers."""

    records: int
    combinations: int
    """Distinct combinations of values; a missing value counts as a value."""

    smallest: int
    """The smallest frequency."""

    uniques: int
    """Records that no other record looks like."""

    below: dict[int, int]
    """For each threshold the number of records with a smaller frequency."""

    average: float
    """The average prosecutor risk, which is the marketer risk; equal to the distinction, combinations over records."""

    separation: float
    """The share of pairs of records that differ."""

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


MOST_STANDING = 0.95
"""A release that shows a larger share of the records as they are is hardly changed."""


@dataclass(frozen=True)
class Standing:
    """How many records occur unchanged in a release."""

    standing: int
    of: int
    """Out of so many: as many as the table has, or the release if that has fewer."""

    bare: int
    alone: int

    @property
    def hardly_changed(self) -> bool:
        """Whether it is the table itself, but for a few values, with people in it who are alone."""
        return self.standing > MOST_STANDING * self.of and 2 * self.bare > self.alone


def standing(release: RecordRelease) -> Standing:
    """Count the records that occur unchanged in a release; columns that the release lacks are ignored.

    In a bucketization nobody does: values are dealt out within buckets, and exact quasi-identifiers are its form.
    """
    cells, quasi = release.cells, len(release.cells.quasi)
    lowest, highest = cells.whole
    narrowed = ~((release.lo == lowest) & (release.hi == highest)).all(axis=0)
    if release.form == "bucketization" or not narrowed.any():
        return Standing(0, 0, 0, 0)
    points = (release.lo == release.hi)[:, narrowed].all(axis=1)
    recorded, published = cell_codes(cells), np.column_stack([release.lo, release.values])[points]
    kept = np.concatenate([narrowed, np.full(recorded.shape[1] - quasi, release.shows_sensitive)])
    first, number = distinct_rows(np.concatenate([recorded[:, kept], published[:, kept]]).astype(np.int32))
    table, file = _both(number, cells.counts, release.counts[points])
    looks = distinct_rows(np.ascontiguousarray(np.concatenate([recorded, published])[first][:, :quasi][:, narrowed]))[1]
    like, there = (weighted_counts(looks, counts, int(looks.max()) + 1)[looks] for counts in (table, file))
    bare = (like == 1) & (table == 1) & (there == 1) & (file == 1)
    people = min(int((like[table > 0] == 1).sum()), int((there[file > 0] == 1).sum()))
    if release.people:
        met, of = int(np.minimum(table, file).sum()), min(cells.records, release.records)
    else:
        met, of = int(((table == file) & (table > 0)).sum()), min(int((table > 0).sum()), int((file > 0).sum()))
    return Standing(met, of, int(bare.sum()), people)


def _both(number: Counts, table: Counts, file: Counts) -> tuple[Counts, Counts]:
    """Count distinct records in the table and in the file; the table's stand first."""
    many, cells = int(number.max()) + 1, len(table)
    return weighted_counts(number[:cells], table, many), weighted_counts(number[cells:], file, many)
