"""Exchange: buckets whose histograms lie just inside a distance-based requirement, made by exchanging records.

    Cut the records into regions in which sensitive values are alike                       (`_exchange_plan`).
    Give every region a bucket, with a histogram of the requirement's ball near its own    (`requirements/_nearest`).
    Plan which records change buckets: a region's surplus of a value fills other buckets'
    deficits of it, so that large populations are estimated best                           (`_exchange_plan`).
    Round to whole records, check every bucket by the requirement's own predicate, and
    draw which records go                                                                  (`deal_out`).

Cutting alone can only publish a group that is inside the ball as it is. Here a bucket is moved to the border of the
ball, in the direction in which its region differs. No value is invented: a bucket holds records of the table with
their exact quasi-identifiers, and its histogram is that of its own records. Three sizes of regions are tried, and the
one that loses least is published: small regions pay where much is allowed.

**What this gives away.** The promise is the requirement's: of a bucket, its histogram is near Q. It is not a promise
about a record whose quasi-identifiers do not fit its bucket. Such a record was exchanged, because a region gives away
values that it has too often. An attacker who knows this algorithm can guess its value better than from the bucket's
histogram, and at least as well as from the region's true distribution. In the plan every value of a region has a
chance to go to every bucket; of whole records that need not be left. The certificate says so.

Exchange: the algorithm (`exchange`), its regions, the plan, and how records are dealt out by it.

Dealing records out by a plan: whole records, every bucket admitted, and which record goes where drawn at random.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers._exchange_plan import (
    LEAST_RECORDS,
    Cut,
    Planned,
    cut_table,
    loss_of_plan,
    plan_exchange,
    settled,
)
from sfumato.anonymizers.anonymizer import Anonymizer
from sfumato.config.options import Option, seed_option
from sfumato.data.cells import Assignment, Histograms
from sfumato.data.reading import Table
from sfumato.release.release import Form, Release, bucketization
from sfumato.requirements._nearest import Ball, ball_of
from sfumato.requirements.requirement import Requirement
from sfumato.runtime._kernel_helpers import drawing_state, uniform
from sfumato.runtime.arrays import Counts, Numbers
from sfumato.runtime.kernels import kernel
from sfumato.texts.catalogue import refusal, t

ATTEMPTS = 6
FIRST_SLACK = 0.02
"""How far the goal of a bucket that whole records miss is drawn towards Q; doubled at every further attempt."""


def whole_records(planned: Planned, cut: Cut, ball: Ball, requirement: Requirement) -> Counts:
    """Round a plan to whole records such that every bucket is admitted: values x regions x buckets.

    Buckets that are not admitted after rounding get goals nearer to Q. Buckets that still fail are merged, with more
    and more of the others, until the merged bucket is admitted: all records together have the distribution Q.
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


PARTS = (1, 2, 4)
"""Into as many regions as allowed, half of them and a quarter: what loses least is published."""


@dataclass(frozen=True)
class Exchange(Anonymizer):
    """Exchange records between buckets until every histogram is just as near to the table's as required."""

    regions: Annotated[int, Option(least=1)] = 300
    """Into how many regions the records are cut at most; time grows with its square."""

    support: Annotated[float, Option(more_than=0, most=1)] = 0.05
    """The share of the records from which on a population is large: those are what buckets are made for."""

    seed: Annotated[int | None, seed_option("Which of a region's records of one value are exchanged.")] = None
    name: ClassVar[str] = "exchange"
    effort: ClassVar[float] = 10.0

    def release(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release:
        """Plan the exchange for several sizes of regions, and publish the best; nothing is ever suppressed."""
        if form != "bucketization":
            raise refusal("exchange_makes_buckets_exact")
        ball = ball_of(requirement, table.cells.sensitive)
        plans: list[tuple[float, Cut, NDArray[np.int64]]] = []
        for least in self._sizes(table.cells.records):
            cut = cut_table(table, ball.attribute, least, self.support)
            dealt = whole_records(plan_exchange(cut, ball), cut, ball, requirement)
            plans.append((loss_of_plan(dealt.astype(np.float64), cut), cut, dealt))
        _, cut, dealt = min(plans, key=lambda plan: plan[0])
        state = drawing_state(self.seed)
        assignment, buckets = deal_out(dealt, cut, table.cells.counts, state)
        release = bucketization(table, assignment, buckets)
        return replace(release, details={"regions": len(cut.histograms), "exchanged": exchanged(dealt)})

    def account(self, release: Release) -> list[str]:
        """Warn of what the exchange gives away."""
        return [t("notice.warning_records_exchanged_between")]

    def _sizes(self, records: int) -> list[int]:
        """List the least numbers of records of a region that are tried."""
        regions = {max(self.regions // part, 1) for part in PARTS}
        return sorted({min(max(-(-records // number), LEAST_RECORDS), records) for number in regions})


def exchanged(dealt: NDArray[np.int64]) -> int:
    """Count the records that are not in the bucket in which most of their region are."""
    records = dealt.sum(axis=0)
    return int(records.sum() - records.max(axis=1).sum())
