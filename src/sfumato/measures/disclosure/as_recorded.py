"""Who stands in a release of records just as recorded: whether it is the table itself, but for a few values.

    standing   records of the table that the release shows as they are, each row for one record
    alone      people whom nobody in the table is like, by the quasi-identifiers that the release shows
    bare       those of them whose record stands there, alone there too

Hardly changed is what shows more than 19 of 20 records as they are, and most of the people who are alone bare. Whoever
changes few records, but those of the people who are alone, has changed what matters. Of records that are said to be
nobody's chance brings many back in a small domain; but not just as often as they were there. So of them the distinct
records count that are shown as often as they occur: a sample of the table itself has less than 6 of 10 of these.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.arrays import Counts
from sfumato.release import RecordRelease
from sfumato.release.records import cell_codes
from sfumato.table import distinct_rows, weighted_counts

MOST_STANDING = 0.95
"""A release that shows a larger share of the records as they are is hardly changed."""


@dataclass(frozen=True)
class Standing:
    """How many records stand in a release just as recorded."""

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
    """Count who stands in a release just as recorded; a column that it has not is not looked at.

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
