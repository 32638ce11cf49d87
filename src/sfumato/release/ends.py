"""Published ends of ranges, and single published values, that are the value of one record of the table.

An attacker who sees such an end in the file knows an exact value of somebody. The count needs the table, so it is for
the publisher alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.phrases import counted
from sfumato.release.release import Release
from sfumato.table import Ranges


@dataclass(frozen=True)
class PublishedEnds:
    """The numbers or days of one column that a file shows as an end of a range or as a single value."""

    column: str
    number: int
    of_one_record: int
    """How many of them exactly one record of the table has."""

    def __str__(self) -> str:
        ends = counted(self.number, "published end or value", "published ends and values")
        return f"{self.of_one_record:,} of {ends} of {self.column} belong to one record each"


def ends_of_single_records(release: Release, ranges: Ranges) -> list[PublishedEnds]:
    """Count the ends for every column of numbers or dates of which one belongs to a single record.

    A rounded end that some record happens to have reveals nothing of the record, so ends count where ranges are tight.
    """
    found: list[PublishedEnds] = []
    if release.form == "bucketization" or release.is_exact:
        return found  # every value is published as it is
    for a, quasi in enumerate(release.cells.quasi):
        hierarchy = quasi.hierarchy
        if hierarchy.scale == "category":
            continue
        lo, hi = release.boxes.lo[:, a], release.boxes.hi[:, a]
        shown = ((lo > 0) | (hi < hierarchy.size - 1)) if ranges == "tight" else lo == hi
        ends = np.unique(np.concatenate([lo[shown], hi[shown]]))
        ends = ends[ends < hierarchy.domain_size]
        exact = np.array(hierarchy.firsts) == np.array(hierarchy.lasts)
        ends = ends[exact[ends]]  # the end of a leaf that is a stretch is nobody's value
        alone = int((release.cells.leaf_counts[a][ends] == 1).sum())
        if alone:
            found.append(PublishedEnds(quasi.name, len(ends), alone))
    return found
