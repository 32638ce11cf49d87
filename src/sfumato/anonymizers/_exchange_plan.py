"""Planning an exchange: which share of a region's records of each sensitive value goes to which bucket.

There is a bucket for every region, and a plan X[s, r, b] >= 0: so many records of value s and region r go to bucket b.
Over b this adds up to what the region has. An analyst treats every record as a draw from its bucket's histogram h_b.
Let a population have shares a_r in region r. Its estimate is the sum of a_r W_rb h_b, where W_rb is the share of the
region's records in bucket b. The mean of JS(truth, estimate) over large populations is to be least, every h_b in the
ball.

The slope of this loss shows which buckets suit a region, whatever the value of a record, and how the histogram of each
bucket should change. Each round follows both. Buckets get new histograms: the nearest in the ball to where the slope
points. X is tilted towards the buckets that suit (mirror descent) and scaled until rows and columns add up again
(Sinkhorn). So a surplus goes to near buckets, near in the sense that counts: their histograms are alike. It travels in
many short steps rather than in one long one, and what moves up at one place moves down at another.

All sums are made in a fixed order, so the number of threads cannot matter.

Regions: parts of the quasi-identifiers' space in which sensitive values are alike, and what populations are made of.

A decision tree cuts the table into regions: the cut of the largest information gain about the sensitive attribute
first, as long as both sides keep enough records. Researchers ask a release for distributions in large populations
(conjunctions of hierarchy nodes). A `Composition` gives, for each of them, its share in each region.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.mondrian._cuts import problem_of
from sfumato.anonymizers.mondrian._scores import scoring_of
from sfumato.anonymizers.mondrian.mondrian import partition
from sfumato.data.cells import Points, Sensitive
from sfumato.data.reading import Table
from sfumato.release.populations import Populations, large_populations
from sfumato.requirements._nearest import Ball
from sfumato.requirements.requirement import KAnonymity
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.runtime.kernels import kernel

LEAST_RECORDS = 10
"""No region has fewer records (unless the table has), or its histogram would be mere chance."""

MOST_POPULATIONS = 1500
"""Of more populations than this, so many are taken, evenly in the order of their search."""


class Composition(NamedTuple):
    """The regions of population y, with their shares of it, stand at `offsets[y]:offsets[y + 1]`."""

    offsets: Counts
    region: Counts
    share: Numbers
    truth: Numbers
    """The true sensitive distribution of every population."""

    weights: Numbers
    """For every region the sum of its shares."""


@dataclass(frozen=True, eq=False)
class Cut:
    """A table cut into regions."""

    region: Counts
    """The region of every cell."""

    value: Counts
    """The sensitive value of every cell."""

    histograms: Counts
    """The sensitive values of every region: regions x values."""

    composition: Composition


def cut_table(table: Table, attribute: Sensitive, least: int, support: float) -> Cut:
    """Cut a table into regions of at least so many records."""
    cells = table.cells
    place = [sensitive.name for sensitive in cells.sensitive].index(attribute.name)
    value = cells.values[:, place].astype(np.int64)
    problem = problem_of(cells, KAnonymity(min(least, cells.records)))
    scoring = scoring_of(table, "information-gain", attribute.name)
    unused = np.zeros(1, np.uint64)
    groups = partition(problem, np.arange(cells.size), cells.counts, *cells.whole, False, unused, scoring)
    region = np.empty(cells.size, np.int64)
    region[groups.cells] = np.repeat(np.arange(groups.size), np.diff(groups.offsets))
    histograms = np.ascontiguousarray(cells.histograms(cells.assigned(region), groups.size).of(place))
    return Cut(region, value, histograms, composition_of(table, region, value, histograms.shape, support))


_populations: WeakKeyDictionary[Table, dict[float, Populations]] = WeakKeyDictionary()
"""The populations of a table, which are searched for once and not for every release."""


def composition_of(table: Table, region: Counts, value: Counts, shape: tuple[int, ...], support: float) -> Composition:
    """Return the composition of every large population."""
    known = _populations.setdefault(table, {})
    if support not in known:
        known[support] = large_populations(table.cells, support)
    populations = known[support]
    chosen = np.unique(np.linspace(0, populations.size - 1, min(populations.size, MOST_POPULATIONS)).astype(np.int64))
    rows, inside, starts = _alike(table, populations)
    every = np.concatenate([rows[:, : len(table.cells.quasi)], region[:, None], value[:, None]], axis=1)
    kinds = Points.of(every.astype(np.int32), table.cells.counts)
    parts, truth = count_parts(
        rows[kinds.first],
        region[kinds.first],
        value[kinds.first],
        kinds.counts.astype(np.float64),
        inside,
        starts,
        populations.regions.used[chosen],
        shape[0],
        shape[1],
    )
    offsets, listed = np.cumsum([0, *(parts > 0).sum(axis=1)]), np.nonzero(parts)
    share = (parts / parts.sum(axis=1, keepdims=True))[listed]
    weights = np.bincount(listed[1], weights=share, minlength=shape[0]).astype(np.float64)
    return Composition(offsets, listed[1], share, truth / truth.sum(axis=1, keepdims=True), weights)


def _alike(table: Table, populations: Populations) -> tuple[Codes, NDArray[np.bool_], Counts]:
    """Number leaves that belong to the same nodes alike: cells become fewer, whatever the size of domains.

    Returns the numbers of every cell, and for every attribute (from its start on) the selections x numbers.
    """
    rows, banks = [], []
    widest = max(*map(len, populations.regions.selections), 1)
    for a, selection in enumerate(populations.regions.selections):
        cuts = np.unique(np.concatenate([[0], selection.first, selection.end]))  # no node ends between two of them
        inside = (selection.first[:, None] <= cuts) & (cuts < selection.end[:, None])
        classes, kind = (
            np.unique(inside, axis=1, return_inverse=True) if len(selection) else (inside, np.zeros(1, np.int64))
        )
        between = np.searchsorted(cuts, table.cells.codes[:, a], side="right") - 1
        rows.append(kind.ravel()[between].astype(np.int32))
        padded = np.zeros((widest, classes.shape[1]), np.bool_)
        padded[: len(classes)] = classes
        banks.append(padded)
    starts = np.cumsum([0, *(bank.shape[1] for bank in banks)], dtype=np.int64)
    return np.stack(rows, axis=1), np.concatenate(banks, axis=1), starts


@kernel
def count_parts(
    rows: Codes,
    region: Counts,
    value: Counts,
    counts: Numbers,
    inside: NDArray[np.bool_],
    starts: Counts,
    used: Codes,
    regions: int,
    values: int,
) -> tuple[Numbers, Numbers]:
    """Count the records of every population by region and by sensitive value."""
    parts, truth = np.zeros((len(used), regions)), np.zeros((len(used), values))
    for y in range(len(used)):
        for i in range(len(rows)):
            member = True
            for a in range(rows.shape[1]):
                if used[y, a] >= 0 and not inside[used[y, a], starts[a] + rows[i, a]]:
                    member = False
                    break
            if member:
                parts[y, region[i]] += counts[i]
                truth[y, value[i]] += counts[i]
    return parts, truth


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
    """Return how much better a bucket suits a region than the others do, as a factor: regions x buckets."""
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

    The remainder of the scaling is removed by mixing every bucket with the same distribution of the ball, with the
    smallest sufficient weight. A mixture of two distributions of the ball is in the ball.
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
