"""Planning an exchange: which share of a region's records of each sensitive value goes to which bucket.

There is a bucket for every region, and a plan X[s, r, b] >= 0: so many records of value s and region r go to bucket b.
Over b this adds up to what the region has. A reader takes every record for a draw from its bucket's histogram h_b; so
a population with shares a_r in region r is estimated as the sum of a_r W_rb h_b, W_rb being the share of the region's
records in bucket b. The mean of JS(truth, estimate) over large populations is to be least, every h_b in the ball.

The slope of this loss says of every region which buckets suit it, whatever the value of a record, and of every bucket
how its histogram should change. Each round follows both: buckets get new histograms, the nearest in the ball to where
the slope points; X is tilted towards the buckets that suit (mirror descent) and scaled until rows and columns add up
again (Sinkhorn). So a surplus goes to near buckets, near in the sense that counts: their histograms are alike. It
travels in many short steps rather than in one long one, and what moves up at one place moves down at another.

All sums are made in a fixed order, so the number of threads cannot matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.anonymizers.exchange.regions import Composition, Cut
from sfumato.arrays import Numbers
from sfumato.kernels import kernel
from sfumato.requirements.nearest import Ball

ROUNDS = 40
AT_HOME = 0.9
"""The share of a region's records that is in its own bucket to begin with; the others are everywhere."""

TILT = 1.0
STEP = 2.0
SWEEPS = 4
LAST_SWEEPS = 60
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Planned:
    """A plan in shares of records, and the histograms that buckets are to have."""

    plan: Numbers
    """values x regions x buckets."""

    goals: Numbers
    """buckets x values, in records."""


def plan_exchange(cut: Cut, ball: Ball, rounds: int = ROUNDS) -> Planned:
    """Plan which records go where, from each region's nearest histogram in the ball on."""
    owned = cut.histograms.astype(np.float64)
    sizes = owned.sum(axis=1)
    goals = sizes[:, None] * ball.nearest(owned / sizes[:, None])
    plan = started(owned, sizes)
    for _ in range(rounds):
        sweep(plan, owned, evened(goals, owned.sum(axis=0)), SWEEPS)
        held, records = sums(plan)
        profiles, shares = shares_of(held), records / sizes[:, None]
        _, slopes = follow(cut.composition, times(shares, profiles))
        goals = held.sum(axis=1, keepdims=True) * ball.nearest(shifted(profiles, shares, slopes, cut.composition))
        tilt(plan, owned, preferences(profiles, slopes, cut.composition))
    return settled(plan, cut, sums(plan)[0], ball)


def shifted(profiles: Numbers, shares: Numbers, slopes: Numbers, composition: Composition) -> Numbers:
    """Move every bucket's histogram where the loss falls, for the populations whose records it has."""
    transposed = np.ascontiguousarray(shares.T)
    wanted = times(transposed, slopes) / np.maximum(times(transposed, composition.weights[:, None]), TINY)
    change = wanted - (wanted * profiles).sum(axis=1, keepdims=True)
    return shares_of(profiles * np.exp(-np.clip(STEP * change, -1.0, 1.0)))


def preferences(profiles: Numbers, slopes: Numbers, composition: Composition) -> Numbers:
    """Say how much better a bucket suits a region than the others do, as a factor: regions x buckets."""
    cost = times(slopes / np.maximum(composition.weights, TINY)[:, None], np.ascontiguousarray(profiles.T))
    cost -= cost.mean(axis=1, keepdims=True)
    spread = max(float(np.sqrt((cost * cost).mean())), TINY)
    return np.exp(np.clip(-TILT * cost / spread, -5.0, 5.0))


def shares_of(counts: Numbers) -> Numbers:
    """Divide every row by its sum; one without records is everywhere alike."""
    counts = np.maximum(counts, TINY)
    shares: Numbers = counts / counts.sum(axis=1, keepdims=True)
    return shares


def settled(plan: Numbers, cut: Cut, goals: Numbers, ball: Ball) -> Planned:
    """Bring the buckets of a plan into the ball, exactly balanced."""
    owned = cut.histograms.astype(np.float64)
    goals = balanced(goals, owned.sum(axis=0), ball)
    plan = plan.copy()
    sweep(plan, owned, goals, LAST_SWEEPS)
    return Planned(plan, goals)


def loss_of_plan(plan: Numbers, cut: Cut) -> float:
    """Return the mean divergence of the large populations if records were dealt out by this plan."""
    held, records = sums(plan)
    loss, _ = follow(cut.composition, times(records / records.sum(axis=1, keepdims=True), shares_of(held)))
    return loss


def started(owned: Numbers, sizes: Numbers) -> Numbers:
    """Leave most records of a region in its own bucket and spread the others."""
    shares = (1 - AT_HOME) * np.tile(sizes / sizes.sum(), (len(sizes), 1))
    shares[np.arange(len(sizes)), np.arange(len(sizes))] += AT_HOME
    return np.ascontiguousarray(owned.T[:, :, None] * shares[None])


def evened(goals: Numbers, totals: Numbers, rounds: int = 3) -> Numbers:
    """Scale buckets by values so that the values add up to the table's, keeping the sizes of buckets."""
    sizes = goals.sum(axis=1, keepdims=True)
    for _ in range(rounds):
        goals = goals * (totals / np.maximum(goals.sum(axis=0), TINY))
        goals = goals * (sizes / np.maximum(goals.sum(axis=1, keepdims=True), TINY))
    return goals


def balanced(goals: Numbers, totals: Numbers, ball: Ball) -> Numbers:
    """Bring all buckets into the ball such that the values add up exactly to those of the table.

    What scaling leaves over is made good by mixing every bucket with one and the same distribution of the ball, as
    little of it as will do: a mixture of two distributions of the ball is in it.
    """
    sizes = np.maximum(goals.sum(axis=1, keepdims=True), TINY)
    for _ in range(6):
        goals = sizes * ball.nearest(evened(goals, totals) / sizes)
    missing = totals / totals.sum() - goals.sum(axis=0) / totals.sum()
    part = 1e-6
    while part < 1:
        mixed = ball.centre + (1 - part) / part * missing
        if (mixed >= 0).all() and ball.holds(mixed[None])[0]:
            corrected: Numbers = (1 - part) * goals + part * sizes * mixed
            return corrected
        part *= 1.5
    everywhere: Numbers = sizes * ball.centre
    return everywhere


@kernel
def follow(composition: Composition, estimates: Numbers) -> tuple[float, Numbers]:
    """Return the mean JS(truth, estimate) over populations, and its slope by the estimate of every region (x size)."""
    values = estimates.shape[1]
    slopes, estimate, loss = np.zeros(estimates.shape), np.empty(values), 0.0
    populations = len(composition.truth)
    for y in range(populations):
        estimate[:] = 0.0
        for i in range(composition.offsets[y], composition.offsets[y + 1]):
            for s in range(values):
                estimate[s] += composition.share[i] * estimates[composition.region[i], s]
        for s in range(values):
            p, r = composition.truth[y, s], max(estimate[s], 1e-300)
            if p > 0:
                loss += p * math.log(2 * p / (p + r)) / 2
            loss += r * math.log(2 * r / (p + r)) / 2
            estimate[s] = math.log(2 * r / (p + r)) / 2
        for i in range(composition.offsets[y], composition.offsets[y + 1]):
            for s in range(values):
                slopes[composition.region[i], s] += composition.share[i] * estimate[s]
    return loss / max(populations, 1), slopes


@kernel
def sweep(plan: Numbers, owned: Numbers, goals: Numbers, times: int) -> None:
    """Scale a plan so that buckets come to their goals and regions give exactly what they own (Sinkhorn)."""
    values, regions, buckets = plan.shape
    factor = np.empty(buckets)
    for s in range(values):
        for _ in range(times):
            factor[:] = 0.0
            for r in range(regions):
                for b in range(buckets):
                    factor[b] += plan[s, r, b]
            for b in range(buckets):
                factor[b] = goals[b, s] / max(factor[b], TINY)
            for r in range(regions):
                given = 0.0
                for b in range(buckets):
                    plan[s, r, b] *= factor[b]
                    given += plan[s, r, b]
                scale = owned[r, s] / max(given, TINY)
                for b in range(buckets):
                    plan[s, r, b] *= scale


@kernel
def tilt(plan: Numbers, owned: Numbers, factors: Numbers) -> None:
    """Favour buckets by a factor for every region and bucket, and let regions give what they own."""
    values, regions, buckets = plan.shape
    for s in range(values):
        for r in range(regions):
            given = 0.0
            for b in range(buckets):
                plan[s, r, b] *= factors[r, b]
                given += plan[s, r, b]
            scale = owned[r, s] / max(given, TINY)
            for b in range(buckets):
                plan[s, r, b] *= scale


@kernel
def sums(plan: Numbers) -> tuple[Numbers, Numbers]:
    """Add a plan up: the values that every bucket holds, and the records that every region has in every bucket."""
    values, regions, buckets = plan.shape
    held, records = np.zeros((buckets, values)), np.zeros((regions, buckets))
    for s in range(values):
        for r in range(regions):
            for b in range(buckets):
                held[b, s] += plan[s, r, b]
                records[r, b] += plan[s, r, b]
    return held, records


@kernel
def times(left: Numbers, right: Numbers) -> Numbers:
    """Multiply two matrices, always adding up in the same order, whatever the number of threads."""
    product = np.zeros((left.shape[0], right.shape[1]))
    for i in range(left.shape[0]):
        for k in range(left.shape[1]):
            for j in range(right.shape[1]):
                product[i, j] += left[i, k] * right[k, j]
    return product
