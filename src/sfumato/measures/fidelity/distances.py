"""How far one column of a release is from the original's, leaf by leaf: for the report, beside its picture.

Total variation is the share of the records that would need another value. Of numbers and dates the Wasserstein distance
says how far they would have to be moved on average, in the column's own unit (of dates, days): a wrong value nearby
counts little. Missing values are no numbers: only their share is compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.arrays import Counts, Numbers
from sfumato.release.records import leaf_numbers
from sfumato.table import Hierarchy


def column_distances(hierarchy: Hierarchy, before: Counts | Numbers, after: Numbers) -> dict[str, Any]:
    """Compare the records of every leaf; noise that makes a count negative is read as none."""
    after = np.maximum(after, 0.0)
    if not (before.sum() > 0 and after.sum() > 0):
        return {}
    distances: dict[str, Any] = {"distance": float(np.abs(before / before.sum() - after / after.sum()).sum() / 2)}
    numbers = leaf_numbers(hierarchy)
    known = np.isfinite(numbers)
    if hierarchy.scale != "category" and before[known].sum() > 0 and after[known].sum() > 0:
        distances["moved"] = _wasserstein(numbers[known], before[known], after[known])
    if hierarchy.missing:
        distances["missing"] = [float(counts[-1] / counts.sum()) for counts in (before, after)]
    return distances


def _wasserstein(numbers: Numbers, before: Counts | Numbers, after: Numbers) -> float:
    """Add up the difference of the two distribution functions along the numbers, which rise."""
    apart = np.abs(np.cumsum(before) / before.sum() - np.cumsum(after) / after.sum())
    return float((apart[:-1] * np.diff(numbers)).sum())
