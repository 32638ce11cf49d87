"""Dealing records out by a plan: whole records, every bucket admitted, and which record goes where drawn at random."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.exchange.plan import Planned, settled
from sfumato.anonymizers.exchange.regions import Cut
from sfumato.arrays import Counts, Numbers
from sfumato.kernel_helpers import uniform
from sfumato.kernels import kernel
from sfumato.requirements import Requirement
from sfumato.requirements.nearest import Ball
from sfumato.table import Assignment, Histograms

ATTEMPTS = 6
FIRST_SLACK = 0.02
"""How far the goal of a bucket that whole records miss is drawn towards Q; doubled at every further attempt."""


def whole_records(planned: Planned, cut: Cut, ball: Ball, requirement: Requirement) -> Counts:
    """Round a plan to whole records such that every bucket is admitted: values x regions x buckets.

    Buckets that are not admitted after rounding get goals nearer to Q; those that are still not admitted become one,
    with more and more of the others, until it is: all records together have the distribution Q.
    """
    slack, attempt = np.zeros((len(planned.goals), 1)), planned
    dealt = rounded(attempt.plan, cut.histograms)
    for _ in range(ATTEMPTS):
        bad = ~admitted(dealt, ball, requirement)
        if not bad.any():
            return dealt
        slack[bad] = np.minimum(np.maximum(2 * slack[bad], FIRST_SLACK), 1.0)
        sizes = planned.goals.sum(axis=1, keepdims=True)
        goals = (1 - slack) * planned.goals + slack * sizes * ball.centre
        attempt = settled(attempt.plan, cut, goals, ball)
        dealt = rounded(attempt.plan, cut.histograms)
    return merged(dealt, ball, requirement)


def admitted(dealt: Counts, ball: Ball, requirement: Requirement) -> NDArray[np.bool_]:
    """Say which buckets the requirement admits, by its own predicate; an empty bucket is none."""
    counts = np.ascontiguousarray(dealt.sum(axis=1).T)
    sizes = counts.sum(axis=1)
    empty: NDArray[np.bool_] = sizes == 0
    return requirement.admits(Histograms((ball.attribute,), sizes, counts)) | empty


def merged(dealt: Counts, ball: Ball, requirement: Requirement) -> Counts:
    """Join the buckets that are not admitted, and then further ones, the smallest first, until that is admitted."""
    good = admitted(dealt, ball, requirement)
    if good.all():
        return dealt
    sizes = dealt.sum(axis=(0, 1))
    order = np.lexsort((sizes, good))
    for taken in range(max(int((~good).sum()), 1), len(order) + 1):
        joined = dealt[:, :, order[:taken]].sum(axis=2, keepdims=True)
        if admitted(joined, ball, requirement)[0]:
            return np.concatenate([dealt[:, :, np.sort(order[taken:])], joined], axis=2)
    together: Counts = dealt.sum(axis=2, keepdims=True)
    return together


@kernel
def rounded(plan: Numbers, owned: Counts) -> Counts:
    """Round a plan so that every region gives just what it owns, and what a bucket gets is as planned to about one.

    Region after region, what rounding down leaves over goes to the buckets that have been given too little so far.
    """
    values, regions, buckets = plan.shape
    dealt = np.zeros(plan.shape, np.int64)
    lacking = np.empty(buckets)
    for s in range(values):
        lacking[:] = 0.0
        for r in range(regions):
            left = owned[r, s]
            for b in range(buckets):
                dealt[s, r, b] = min(int(plan[s, r, b]), left)
                left -= dealt[s, r, b]
                lacking[b] += plan[s, r, b] - dealt[s, r, b]
            for _ in range(left):
                most = 0
                for b in range(1, buckets):
                    if lacking[b] > lacking[most]:
                        most = b
                dealt[s, r, most] += 1
                lacking[most] -= 1.0
    return dealt


def deal_out(dealt: Counts, cut: Cut, counts: Counts, state: NDArray[np.uint64]) -> tuple[Assignment, int]:
    """Draw which records go to which bucket, and number the buckets that have any."""
    order = np.lexsort((cut.region, cut.value))
    cell, bucket, count = draw_buckets(dealt, cut.region, cut.value, counts, order, state)
    used, number = np.unique(bucket, return_inverse=True)
    return Assignment.gathered(cell, number, count), len(used)


@kernel
def draw_buckets(
    dealt: Counts, region: Counts, value: Counts, counts: Counts, order: Counts, state: NDArray[np.uint64]
) -> tuple[Counts, Counts, Counts]:
    """Shuffle the places that a region's records of one value have, and give them to the records in turn."""
    records, buckets = 0, dealt.shape[2]
    for i in range(len(order)):
        records += counts[order[i]]
    cell, bucket, count = np.empty(records, np.int64), np.empty(records, np.int64), np.empty(records, np.int64)
    places, touched, given = np.empty(records, np.int64), np.empty(buckets, np.int64), np.zeros(buckets, np.int64)
    made = left = 0
    for i in range(len(order)):
        c = order[i]
        if i == 0 or region[c] != region[order[i - 1]] or value[c] != value[order[i - 1]]:
            left = 0
            for b in range(buckets):
                for _ in range(dealt[value[c], region[c], b]):
                    places[left] = b
                    left += 1
        several = 0
        for _ in range(counts[c]):
            chosen = min(int(uniform(state) * left), left - 1)
            b = places[chosen]
            left -= 1
            places[chosen] = places[left]
            if given[b] == 0:
                touched[several] = b
                several += 1
            given[b] += 1
        for j in range(several):
            cell[made], bucket[made], count[made] = c, touched[j], given[touched[j]]
            given[touched[j]] = 0
            made += 1
    return cell[:made], bucket[:made], count[:made]
