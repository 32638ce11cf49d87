"""Synthetic records: a table that looks like the original, drawn from the boxes and counts of a noisy release.

Every box gives as many records with a sensitive value as its noisy count of it says, rounded, none where that is
negative; a record lies anywhere in its box, leaves in proportion to their width. Nobody's record is among them but by
chance. Drawing looks at nothing but what the release publishes, so the guarantee is that of the release.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.arrays import Codes, Counts, Numbers
from sfumato.errors import BadInputError
from sfumato.table import Hierarchy

if TYPE_CHECKING:
    from sfumato.release.noisy import NoisyRelease


MOST_ROWS = 100_000_000
"""More rows are no table any more: then the noise has outgrown the records by far."""


def synthetic_table(release: NoisyRelease) -> pa.Table:
    """Draw records, as texts: quasi-identifiers and the sensitive attribute, columns in the order of the input."""
    rows = release.synthetic_counts
    if rows.sum() > MOST_ROWS:
        raise BadInputError(
            f"the noisy counts sum up to {rows.sum():,} records, nearly all of them noise; choose a larger epsilon or "
            "a lower height"
        )
    generator = np.random.default_rng(secrets.randbits(256))
    box, value = (np.repeat(index, rows.ravel()) for index in np.indices(rows.shape).reshape(2, -1))
    columns = {}
    for a, quasi in enumerate(release.cells.quasi):
        lo, hi = release.boxes.lo[box, a], release.boxes.hi[box, a]
        columns[quasi.name] = _texts(quasi.hierarchy, uniform_leaves(quasi.hierarchy, lo, hi, generator))
    sensitive = release.cells.sensitive[0]
    columns[sensitive.name] = _texts(sensitive.hierarchy, value)
    return pa.table({name: columns[name] for name in release.table.published if name in columns})


def rounded(counts: Numbers) -> Counts:
    """Round counts to whole numbers of records, none below 0."""
    return np.rint(np.maximum(counts, 0)).astype(np.int64)


def uniform_leaves(hierarchy: Hierarchy, lo: Codes, hi: Codes, generator: np.random.Generator) -> Codes:
    """Draw a leaf of every interval, each leaf in proportion to its width."""
    widths = hierarchy.cumulative
    point = widths[lo] + generator.random(len(lo)) * (widths[hi + 1] - widths[lo])
    leaf = np.searchsorted(widths, point, side="right") - 1
    return np.clip(leaf, lo, hi).astype(np.int32)  # rounding may reach the upper end


def _texts(hierarchy: Hierarchy, codes: NDArray[np.integer]) -> pa.Array:
    return pa.array([label or None for label in hierarchy.leaves], pa.string()).take(pa.array(codes))
