"""Exchange: buckets whose histograms lie just inside a distance-based requirement, made by exchanging records.

    cut the records into regions in which sensitive values are alike                       (`exchange_regions`)
    give every region a bucket, with a histogram of the requirement's ball near its own    (`requirements/nearest`)
    plan which records change buckets: a region's surplus of a value fills other buckets'
    deficits of it, so that large populations are estimated best                           (`exchange_planning`)
    round to whole records, check every bucket by the requirement's own predicate, and
    draw which records go                                                                  (`exchange_dealing`)

Cutting alone can only publish a group that is inside the ball as it is. Here a bucket is moved to the border of the
ball, in the direction in which its region differs. Nothing is invented: a bucket holds records of the table with
their exact quasi-identifiers, and its histogram is that of its own records. Three sizes of regions are tried, and the
one that loses least is published: small regions pay where much is allowed.

**What this gives away.** The promise is the requirement's: of a bucket, its histogram is near Q. It is not a promise
about a record whose quasi-identifiers do not fit its bucket. Such a record was exchanged, and a region gives away what
it has too much of; so who knows this algorithm can guess its value better than the bucket's histogram says, and as well
as, or better than, from the region's true distribution (docs/anonymizers.md has measurements). In the plan every value
of a region has a chance to go to every bucket; of whole records that need not be left. The certificate says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.anonymizer import Anonymizer
from sfumato.anonymizers.exchange.deal import deal_out, whole_records
from sfumato.anonymizers.exchange.plan import loss_of_plan, plan_exchange
from sfumato.anonymizers.exchange.regions import LEAST_RECORDS, Cut, cut_table
from sfumato.configuration import Option, seed_option
from sfumato.errors import BadInputError
from sfumato.kernel_helpers import drawing_state
from sfumato.release import Form, Release, bucketization
from sfumato.requirements import Requirement
from sfumato.requirements.nearest import ball_of
from sfumato.table import Table

PARTS = (1, 2, 4)
"""Into as many regions as allowed, half of them and a quarter: what loses least is published."""


@dataclass(frozen=True)
class Exchange(Anonymizer):
    """Exchange records between buckets until every histogram is just as near to the table's as required."""

    regions: Annotated[
        int, Option("Into how many regions the records are cut at most; time grows with its square.", least=1)
    ] = 300
    support: Annotated[
        float,
        Option(
            "The share of the records from which on a population is large: those are what buckets are made for.",
            more_than=0,
            most=1,
        ),
    ] = 0.05
    seed: Annotated[int | None, seed_option("Which of a region's records of one value are exchanged.")] = None
    name: ClassVar[str] = "exchange"
    why_no_persons: ClassVar[str] = "it deals out records one by one, and two of a group may belong to one person"
    title: ClassVar[str] = "records exchanged between buckets"
    effort: ClassVar[float] = 10.0
    dealing: ClassVar[str] = (
        "Records were exchanged between buckets because of their sensitive values. The promise is about the histogram "
        "of a bucket. Who knows how this file was made can see which people do not fit their bucket by their "
        "quasi-identifiers, and that they have rather a value which is common among people like them: of them more can "
        "be guessed than the histogram of their bucket says."
    )

    def release(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release:
        """Plan the exchange for several sizes of regions, and publish the best; nothing is ever suppressed."""
        if form != "bucketization":
            raise BadInputError(
                "exchange makes buckets with exact quasi-identifiers, whose ranges would say nothing; "
                "use --form bucketization"
            )
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
        return [
            "WARNING: records were exchanged between groups because of their sensitive values. Of people who do not\n"
            "fit their group by their quasi-identifiers, who knows the algorithm can guess more than the group says."
        ]

    def _sizes(self, records: int) -> list[int]:
        """List the least numbers of records of a region that are tried."""
        regions = {max(self.regions // part, 1) for part in PARTS}
        return sorted({min(max(-(-records // number), LEAST_RECORDS), records) for number in regions})


def exchanged(dealt: NDArray[np.int64]) -> int:
    """Count the records that are not in the bucket in which most of their region are."""
    records = dealt.sum(axis=0)
    return int(records.sum() - records.max(axis=1).sum())
