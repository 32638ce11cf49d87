"""Risks that follow from a published file and from what was promised beforehand, so that anybody may be told them.

`a_know` compares groups with Q, the distribution of the whole table, suppressed records included; whoever has the file
could solve it for the suppressed values. Here the distribution is that of the file, F. If at most the share a of all
records was left out, Q = (1 - s) F + s R for some s <= a and some distribution R of the suppressed values. Half L1 is
convex in Q, so the measure against Q is at most (1 - a) x + a, where x is the one against F. That bound is returned: no
suppressed value enters it, and no risk is above it. Risks of the worst group are left out: a record that this release
publishes may be missing in another one, and moves its group as far as the group is small.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.release import Release
from sfumato.requirements import Requirement
from sfumato.requirements.predicates import SIZE

STRETCH = 1 << 16
"""Groups that are looked at together."""


def published_risks(release: Release, requirement: Requirement, suppress: float) -> dict[str, float]:
    """Bound the risks of a release by its promise, its file, and the share of records that may be suppressed."""
    sizes = [least for kind, least, _ in requirement.rules() if kind == SIZE]
    risks = {"k": max(sizes)} if sizes and release.form == "generalization" else {}
    if release.cells.persons is not None:  # the rest counts records
        return risks
    if release.histograms is not None and release.histograms.sensitive:
        positions = range(len(release.histograms.sensitive))
        worst = max(_mean_distance(release.histograms.of(position), release.sizes) for position in positions)
        risks["a_know"] = worst + suppress * (1 - worst)
    return risks


def _mean_distance(counts: NDArray[np.int64], sizes: NDArray[np.int64]) -> float:
    """Compare every group with the distribution of the file itself, by half L1; the mean over records."""
    q = counts.sum(axis=0) / counts.sum()
    mean = 0.0
    for start in range(0, len(sizes), STRETCH):
        part = slice(start, start + STRETCH)
        mean += float(np.abs(counts[part] / sizes[part, None] - q).sum(axis=1) @ sizes[part]) / 2
    return mean / float(sizes.sum())
