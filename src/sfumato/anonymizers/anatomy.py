"""Anatomy (Xiao & Tao 2006): buckets of l records with l different sensitive values, quasi-identifiers as they are.

    Hash the records into piles by their sensitive value
    while at least l piles are not empty:
        a bucket: one record, drawn at random, of each of the l largest piles
    each record that is left over joins a bucket, drawn at random, that does not have its value.

If no value has more than n/l of the n records, every pile ends with one record at most, and there is a bucket for it
(properties 1 and 2 of the paper; tests look for counterexamples). Quasi-identifiers decide nothing.

Beyond the paper, in our reading: an l that is not a whole number is rounded up where the values allow that. Otherwise
the records, sorted by value, are dealt in turn to as many buckets as keep every share at 1/l. For variant=distinct a
value may have more than n/l of the records: what is left over of it is spread evenly.
"""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sfumato.anonymizers.anonymizer import Anonymizer, check_feasible, check_nothing_suppressed
from sfumato.config.options import seed_option
from sfumato.data.cells import Assignment, find_sensitive
from sfumato.data.reading import Table
from sfumato.release.release import Form, Release, bucketization
from sfumato.requirements.requirement import LDiversity, Requirement
from sfumato.runtime._kernel_helpers import sort_falling
from sfumato.runtime.arrays import Counts
from sfumato.runtime.kernels import kernel
from sfumato.texts.catalogue import refusal


@dataclass(frozen=True)
class Anatomy(Anonymizer):
    """Form buckets of l records with different sensitive values, drawn at random."""

    seed: Annotated[int | None, seed_option("Which records share a bucket.")] = None
    name: ClassVar[str] = "anatomy"
    effort: ClassVar[float] = 1.5

    def release(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release:
        """Draw the buckets, place what is left over, and publish."""
        check_nothing_suppressed(self, budget)
        if not isinstance(requirement, LDiversity) or requirement.variant not in ("frequency", "distinct"):
            raise refusal("anatomy_serves_diversity_variant", requirement=requirement)
        if form != "bucketization":
            raise refusal("anatomy_publishes_exact_quasi")
        cells = table.cells
        check_feasible(requirement, cells, "bucket")
        place = find_sensitive(cells.sensitive, requirement.on)
        draws = np.random.default_rng(self.seed)
        records = draws.permutation(np.repeat(np.arange(cells.size), cells.counts))
        records = records[np.argsort(cells.values[records, place], kind="stable")]  # piles, each in a random order
        bucket = buckets_of(cells.sensitive[place].counts, requirement, draws)
        assignment = Assignment.gathered(records, bucket)
        return bucketization(table, assignment, int(bucket.max()) + 1)


def buckets_of(piles: Counts, requirement: LDiversity, draws: np.random.Generator) -> Counts:
    """Give every record, pile by pile, the number of its bucket."""
    n, most, whole = int(piles.sum()), int(piles.max()), math.ceil(requirement.l)
    if requirement.variant == "frequency" and most * whole > n:  # an l that is no whole number
        numbers = np.arange(1, int(n / requirement.l) + 2)
        admitted = numbers[-(-most // numbers) * requirement.l <= n // numbers]
        return np.arange(n) % int(admitted.max(initial=1))
    bucket = drawn_buckets(piles, whole)
    left = np.flatnonzero(bucket < 0)
    formed = int(bucket.max()) + 1
    if most * whole > n:  # only for variant=distinct, where more of the same does no harm
        bucket[left] = draws.permutation(formed)[np.arange(len(left)) % formed]
        return bucket
    value = np.repeat(np.arange(len(piles)), piles)
    for record in left:
        lacking = np.setdiff1d(np.arange(formed), bucket[value == value[record]])
        bucket[record] = draws.choice(lacking)
    return bucket


@kernel
def drawn_buckets(piles: Counts, l: int) -> Counts:  # noqa: E741
    """Draw buckets from the l largest piles while there are l: for every record, pile by pile, its bucket, or -1.

    The order of records within their pile is random, so the next record of a pile is a random one.
    """
    starts = np.zeros(len(piles) + 1, np.int64)
    for v in range(len(piles)):
        starts[v + 1] = starts[v] + piles[v]
    bucket = np.full(starts[-1], -1, np.int64)
    left = piles.copy()
    order = np.arange(len(piles))
    sort_falling(order, left)
    formed = 0
    while left[order[l - 1]] > 0:
        for i in range(l):
            v = order[i]
            bucket[starts[v + 1] - left[v]] = formed
            left[v] -= 1
        sort_falling(order, left)
        formed += 1
    return bucket
