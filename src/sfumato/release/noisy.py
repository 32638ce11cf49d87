"""A noisy release: boxes whose sensitive counts are random numbers, and the guarantee that this gives.

No record is assigned to anything here, so nothing that counts records can read such a release by mistake: the only
things it knows are its boxes, which came out of the mechanism, and their counts, which came out of it too.

Noise makes counts negative. One draw can be read in two ways: `unbiased`, as it is, so that sums over many boxes are
right on average; or `cut`, with negative counts made 0, as nobody can draw fewer records than none from a box.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.arrays import Counts, Numbers
from sfumato.configuration import check_choice
from sfumato.errors import BadInputError
from sfumato.release.guarantee import Guarantee
from sfumato.release.release import Boxes
from sfumato.release.synthetic import rounded, synthetic_table
from sfumato.release.written_records import WrittenRecords
from sfumato.table import Table

READINGS = ("cut", "unbiased")
"""How negative counts may be read: made 0, or as they are."""


@dataclass(frozen=True, eq=False, repr=False)
class NoisyRelease(WrittenRecords):
    """Boxes with noisy sensitive counts; every box is a group of its own."""

    table: Table
    boxes: Boxes
    drawn: Numbers
    """The noisy counts of every box as they were drawn, negative ones too: boxes x all declared values of the
    sensitive attribute, whether they occur or not."""

    guarantee: Guarantee
    details: Mapping[str, Any] = field(default_factory=dict)
    publishable: bool = True
    """Whether its noise is a secret. Noise from a seed is not: then the release serves tests and maps only."""

    reading: str = "unbiased"
    """How negative counts are read: one of READINGS."""

    def __repr__(self) -> str:
        return f"<NoisyRelease: {self.groups:,} boxes, epsilon {self.guarantee.epsilon:g}>"

    @property
    def groups(self) -> int:
        """The number of boxes."""
        return len(self.boxes.lo)

    @cached_property
    def counts(self) -> Numbers:
        """The noisy counts as they are read; this is what is published, and either reading of it costs nothing."""
        return np.maximum(self.drawn, 0.0) if self.reading == "cut" else self.drawn

    def read(self, reading: str) -> NoisyRelease:
        """Return the same draw with its negative counts read in this way; no noise is drawn again."""
        check_choice("reading", reading, READINGS)
        release = replace(self, reading=reading)
        return replace(release, boxes=replace(self.boxes, mass=release.counts.sum(axis=1)))

    @property
    def content(self) -> Numbers:
        """The noisy counts of the values that occur in the table, for the publisher's measures."""
        return self.counts[:, self.cells.sensitive[0].leaves]

    @property
    def synthetic_counts(self) -> Counts:
        """How many records are drawn of every box and value: the noisy counts, rounded, none below 0."""
        return rounded(self.counts)

    @property
    def rows_written(self) -> int:
        """How many records are drawn."""
        return int(self.synthetic_counts.sum())

    def record_table(self) -> pa.Table:
        """Draw records, if the release may be published.

        They are drawn from what is published anyway, so they cost no budget. Another call draws others.
        """
        if not self.publishable:
            raise BadInputError(
                "this release was drawn with noise from a seed, which whoever knows the seed can take away again; "
                "draw it afresh to publish it"
            )
        return synthetic_table(self)


def noisy_release(
    table: Table,
    lo: Any,
    hi: Any,
    counts: Numbers,
    guarantee: Guarantee,
    publishable: bool = True,
) -> NoisyRelease:
    """Make a noisy release of boxes and their drawn counts of all declared values of the one sensitive attribute."""
    lo, hi = np.asarray(lo, np.int32), np.asarray(hi, np.int32)
    boxes = Boxes(lo, hi, counts.sum(axis=1), np.arange(len(lo)))
    return NoisyRelease(table, boxes, counts, guarantee, publishable=publishable)
