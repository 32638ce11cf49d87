"""Risks that follow from a published file and from what was promised beforehand, so that anybody may be told them.

Measures compare groups with Q, the distribution of the whole table, suppressed records included; whoever has the file
could solve them for the suppressed values. Here the distribution is that of the file, F. If at most the share a of
all records was left out, Q = (1 - s) F + s R for some s <= a and some distribution R of the suppressed values. Half L1
and Jensen-Shannon divergence are convex in Q, so a measure against Q is at most (1 - a) x + a m, where x is the one
against F and m the largest there is. That bound is returned: no suppressed value enters it, and no risk is above it.
"""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray

from sfumato.release import Release

Numbers = NDArray[np.float64]

LARGEST = {"p_loss": log(2), "t_equal": 1.0, "a_know": 1.0}
"""The risks that are worked out, with the largest value each can have."""

STRETCH = 1 << 16
"""Groups that are looked at together."""


def published_risks(release: Release, suppress: float) -> dict[str, float]:
    """Bound the risks of a release by its file and the largest share of records that may be suppressed."""
    if release.histograms is None:
        return {}
    positions = range(len(release.histograms.sensitive))
    found = [_of_file(release.histograms.of(position), release.sizes) for position in positions]
    worst = {name: max(own[name] for own in found) for name in LARGEST} if found else {}
    return {name: value + suppress * (LARGEST[name] - value) for name, value in worst.items()}


def _of_file(counts: NDArray[np.int64], sizes: NDArray[np.int64]) -> dict[str, float]:
    """Compare every group with the distribution of the file itself."""
    q = counts.sum(axis=0) / counts.sum()
    worst_js = worst_l1 = mean = 0.0
    for start in range(0, len(sizes), STRETCH):
        part = slice(start, start + STRETCH)
        p = counts[part] / sizes[part, None]
        half = np.abs(p - q).sum(axis=1) / 2
        worst_js, worst_l1 = max(worst_js, float(_js(p, q).max())), max(worst_l1, float(half.max()))
        mean += float(half @ sizes[part])
    return {"p_loss": worst_js, "t_equal": worst_l1, "a_know": mean / float(sizes.sum())}


def _js(p: Numbers, q: Numbers) -> Numbers:
    """Return the Jensen-Shannon divergence of every row from q, in nats."""
    middle = np.where(p + q > 0, (p + q) / 2, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log(p / middle), 0.0) + np.where(q > 0, q * np.log(q / middle), 0.0)
    js: Numbers = np.maximum(terms.sum(axis=1) / 2, 0.0)
    return js
