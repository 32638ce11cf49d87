"""Replicated uniques: records that one person alone has, and that stand in the release exactly as they are.

A synthetic record that equals somebody's may be chance; many more than among people whom the maker never saw are not.
It is a count and no attack: whoever reads the release does not know which of its records these are. A box of several
values repeats nobody.
"""

from __future__ import annotations

import numpy as np

from sfumato.arrays import Codes, Counts, Flags
from sfumato.measures.attacks.advantage import Rate
from sfumato.release import Published
from sfumato.release.records import released_boxes
from sfumato.table import distinct_rows


def replicated_uniques(uniques: Codes, exact: Codes) -> Rate:
    """Count the uniques that stand in the release."""
    return Rate(int(repeated(uniques, exact).sum()), len(uniques), known=True)


def exact_rows(release: Published, width: int, generator: np.random.Generator) -> Codes:
    """List the released records that show one value of every quasi-identifier, by their first columns."""
    lo, hi, values = released_boxes(release, generator)
    return np.ascontiguousarray(np.column_stack([lo, values])[(lo == hi).all(axis=1), :width], dtype=np.int32)


def repeated(rows: Codes, released: Codes) -> Flags:
    """Say which rows stand in the release as they are."""
    together = np.ascontiguousarray(np.concatenate([released, rows]))
    first, number = distinct_rows(together)
    return np.asarray(first[number[len(released) :]] < len(released))


def alone(codes: Codes, counts: Counts) -> Codes:
    """Return the records that one person alone has; `counts` people are behind every row."""
    first, number = distinct_rows(np.ascontiguousarray(codes))
    totals = np.bincount(number, counts, len(first))
    return np.ascontiguousarray(codes[first[totals == 1]])
