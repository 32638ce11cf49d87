"""BUREL (Cao & Karras 2012): beta-likeness by bucketization of sensitive values and redistribution.

    Bucketize: sort the values by frequency and cut them into the fewest buckets such that the records of a bucket,
               all together, have no larger share than its rarest value may have in a group.
    Redistribute: halve the buckets as long as both halves hold at worst; every leaf is a group.
    Every group takes the nearest records of each bucket around a record drawn at random   (`_redistribution`).

A group that takes records of all buckets in proportion then satisfies beta-likeness, even if all records that it takes
of a bucket have the bucket's rarest value. The paper finds the fewest buckets by dynamic programming; here one pass
does, since every part of a bucket that will do will do. This is our reading, from memory. Also ours: buckets for a
smaller beta are tried as well, because they leave more for rounding. The buckets that make the most groups are used.
Every group of the release is checked.
"""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sfumato.anonymizers._redistribution import Worst, most_groups, own_part, redistributed, worst_of
from sfumato.anonymizers.anonymizer import Anonymizer, OfRanges, check_feasible, check_nothing_suppressed, published
from sfumato.anonymizers.sabre import Sabre
from sfumato.config.options import seed_option
from sfumato.data.cells import find_sensitive
from sfumato.data.reading import Table
from sfumato.release.release import Form, Release
from sfumato.requirements.requirement import BetaLikeness, Requirement, sensitive_levels
from sfumato.runtime.arrays import Counts, Numbers
from sfumato.texts.catalogue import t

ROOMS = (1.0, 0.9, 0.75, 0.5, 0.25, 0.0)
"""The shares of beta for which buckets are tried; 0 gives every value its own bucket."""


@dataclass(frozen=True)
class Burel(Anonymizer):
    """Divide sensitive values into buckets of like frequency, and let groups take records of all in proportion."""

    ranges: OfRanges = "rounded"
    seed: Annotated[int | None, seed_option("Around which records groups are formed.")] = None
    name: ClassVar[str] = "burel"
    effort: ClassVar[float] = 4.0
    dealing: ClassVar[str] = Sabre.dealing

    def release(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release:
        """Bucketize, redistribute and publish."""
        check_nothing_suppressed(self, budget)
        likeness, k = own_part(requirement, BetaLikeness, self.name, t("notice.beta_likeness_variant_basic"))
        assert isinstance(likeness, BetaLikeness)
        cells = table.cells
        check_feasible(requirement, cells)
        place = find_sensitive(cells.sensitive, likeness.on)
        sensitive = cells.sensitive[place]
        most = likeness.most_shares(sensitive.shares)
        worsts = []
        for room in ROOMS:
            bucket = fewest_buckets(sensitive.shares, sensitive.shares + room * (most - sensitive.shares))
            worsts.append(_worst(likeness, k, bucket, sensitive.counts, most, sensitive_levels(sensitive)))
        worst, taken = most_groups(worsts)
        assignment = redistributed(cells, place, worst, taken, np.random.default_rng(self.seed))
        return published(table, assignment, len(taken), form, self.ranges_of(table))


def fewest_buckets(q: Numbers, most: Numbers) -> Counts:
    """Cut the values, sorted by frequency, into the fewest buckets whose share its rarest value may have."""
    bucket = np.empty(len(q), np.int64)
    number, share, limit = -1, math.inf, 0.0
    for value in np.argsort(q, kind="stable"):
        if share + q[value] > limit:
            number, share, limit = number + 1, 0.0, most[value]
        share += q[value]
        bucket[value] = number
    return bucket


def _worst(likeness: BetaLikeness, k: int, bucket: Counts, counts: Counts, most: Numbers, levels: Counts) -> Worst:
    """Prepare the worst case: of a bucket no more may be taken than any of its values may have."""
    ((kind, limit, _),) = likeness.rules()
    worst = worst_of(kind, limit, k, bucket, counts, levels)
    least = np.full(len(worst.sizes), math.inf)
    np.minimum.at(least, bucket, most)
    return worst._replace(most=least)
