"""What an adversary gains who knows the quasi-identifiers (Brickell & Shmatikov 2008, section 4).

Before the release he knows the table's distribution Q of the sensitive values; from the release he learns that of
the person's group. Records that are not published teach him nothing and are not counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import Counts, Numbers
from sfumato.kernels import kernel
from sfumato.release import Release
from sfumato.table.cells import find_sensitive


@dataclass(frozen=True, eq=False)
class GroupGains:
    """What the adversary gains in every group of a release."""

    a_diff: Numbers
    """Half the sum of |p - q| over the sensitive values."""

    a_quot: Numbers
    """The largest |ln(p/q)|, infinite where a value of the table is absent."""


def group_gains(release: Release, on: str | None = None) -> GroupGains:
    """Work out what the adversary gains in every group, from one sensitive attribute."""
    if release.histograms is None:
        return GroupGains(np.zeros(release.groups), np.zeros(release.groups))
    position = find_sensitive(release.histograms.sensitive, on)
    p, q = release.histograms.of(position) / release.sizes[:, None], release.histograms.sensitive[position].shares
    with np.errstate(divide="ignore"):
        return GroupGains(np.abs(p - q).sum(axis=1) / 2, np.abs(np.log(p / q)).max(axis=1))


def adversary_gains(counts: Counts, sizes: Counts, q: Numbers) -> dict[str, float]:
    """Average over the published records: `a_know`, `a_acc`, and the information gain in nats."""
    know, right, gain = sum_gains(np.ascontiguousarray(counts), sizes, q)
    published = float(sizes.sum())
    return {
        "a_know": know / published,
        "a_acc": right / published - float(q.max()),
        "information_gain": max(gain / published, 0.0),
    }


@kernel
def sum_gains(counts: Counts, sizes: Counts, q: Numbers) -> tuple[float, float, float]:
    """Sum up over records half the L1 distance to q, the share of the commonest value, and KL(p, q)."""
    know = right = gain = 0.0
    log_q = np.log(q)
    for g in range(len(sizes)):
        share = 1.0 / sizes[g]
        distance = divergence = 0.0
        top = 0
        for s in range(len(q)):
            n = counts[g, s]
            p = n * share
            distance += abs(p - q[s])
            top = max(top, n)
            if n > 0:
                divergence += n * (math.log(p) - log_q[s])
        know += distance * sizes[g]
        right += top
        gain += divergence
    return know / 2, right, gain
