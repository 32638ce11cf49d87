"""What the scores of Mondrian's cuts need to know: which score it is, and the target's values in every cell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.arrays import Counts, Numbers
from sfumato.errors import BadInputError
from sfumato.table import CountedValues, Table

RANGE, VARIANCE, LOSS, GAIN, TARGET_VARIANCE = 1, 2, 3, 4, 5
KINDS = {"range": RANGE, "variance": VARIANCE, "loss": LOSS, "information-gain": GAIN}
LOOKED_UP = 1 << 16
"""n ln n is looked up for smaller n."""


class Scoring(NamedTuple):
    """How cuts are scored, and what is known of the target. It carries room for counting: one run, one value.

    Strict cuts keep cells whole, so the target's counts of a cell are those of an entry.
    """

    kind: int
    offsets: Counts
    """The target's values in cell c stand at `offsets[c]:offsets[c + 1]` of `values` and `counts`."""

    values: Counts
    counts: Counts
    known: Counts
    """For every cell the records whose target is a known number."""

    sums: Numbers
    """For every cell the sum of these numbers, in standard deviations from the mean."""

    logs: Numbers
    """n ln n for small n."""

    numbers: Counts
    """Room for a number of every value of the target, given anew in every node."""


def check_cut(cut: str, target: str | None, mode: str) -> None:
    """Raise unless the options of a cut go together."""
    if cut == "information-gain" and not target:
        raise BadInputError("mondrian cut=information-gain is about a column to predict: name it with target=COLUMN")
    if target is not None and cut not in ("information-gain", "variance"):
        raise BadInputError(
            f"mondrian cut={cut} looks at quasi-identifiers alone; target={target} belongs to cut=information-gain "
            "(a target of categories) or cut=variance (a target of numbers)"
        )
    if mode == "relaxed" and cut != "median":
        raise BadInputError(
            f"mondrian mode=relaxed parts equal records to halve a group exactly, which is cut=median; cut={cut} "
            "cuts between two values: use mode=strict"
        )


def scoring_of(table: Table, cut: str, target: str | None) -> Scoring:
    """Lay out for the kernels how cuts are scored."""
    nothing, none = np.zeros(0, np.int64), np.zeros(0)
    kind = KINDS[cut]
    if target is None:
        return Scoring(kind, nothing, nothing, nothing, nothing, none, none, nothing)
    counted = table.counts_of(target)
    if kind == VARIANCE:
        known, sums = _numbers(table, target, counted)
        return Scoring(TARGET_VARIANCE, nothing, nothing, nothing, known, sums, none, nothing)
    n = np.arange(min(int(counted.counts.sum()) + 1, LOOKED_UP), dtype=np.float64)
    numbers = np.zeros(len(counted.labels), np.int64)
    offsets, values, counts = (np.array(array, np.int64) for array in (counted.offsets, counted.values, counted.counts))
    return Scoring(kind, offsets, values, counts, nothing, none, n * np.log(np.maximum(n, 1)), numbers)


def _numbers(table: Table, target: str, counted: CountedValues) -> tuple[Counts, Numbers]:
    """Return for every cell how many records have a number, and the sum of these, with mean 0 and variance 1."""
    present = np.array([label is not None for label in counted.labels])
    strange = np.flatnonzero(present & ~np.isfinite(counted.numbers))
    if len(strange):
        raise BadInputError(
            f"{table.engine.origin}, column {target!r}: {counted.labels[strange[0]]!r} is not a finite number, and "
            f"cut=variance is about numbers; use cut=information-gain target={target}, or declare it a missing value"
        )
    weights = np.where(present[counted.values], counted.counts, 0)
    numbers = np.where(present, counted.numbers, 0.0)[counted.values]
    all_known = max(int(weights.sum()), 1)
    numbers = numbers - (weights * numbers).sum() / all_known
    spread = np.sqrt((weights * numbers**2).sum() / all_known)
    numbers = numbers / (spread if spread > 0 else 1.0)
    cell = np.repeat(np.arange(len(counted.offsets) - 1), np.diff(counted.offsets))
    known = np.bincount(cell, weights, len(counted.offsets) - 1).astype(np.int64)
    return known, np.bincount(cell, weights * numbers, len(counted.offsets) - 1).astype(np.float64)


def without_number(scoring: Scoring, records: int) -> dict[str, int]:
    """Say how many records did not count for the variance of a target because they miss it."""
    missing = records - int(scoring.known.sum()) if scoring.kind == TARGET_VARIANCE else 0
    return {"target_missing": missing} if missing else {}
