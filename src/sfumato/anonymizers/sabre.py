"""SABRE (Cao, Karras, Kalnis & Tan 2011): t-closeness by bucketization of sensitive values and redistribution.

    Bucketize: all values in one bucket; divide the bucket from which the distance gains most, until a group that
               takes records of all buckets in proportion is within t, whatever values these records have.
    Redistribute: halve the buckets as long as both halves are within t at worst; every leaf is a group.
    Every group takes the nearest records of each bucket around a record drawn at random   (`_redistribution`).

With the hierarchical distance a bucket is a node of the sensitive hierarchy, and is divided into the nodes below it.
With half L1, dividing at the commonest value always gains most, so buckets are the commonest values, each alone, and
all others together. The paper does not cover Jensen-Shannon; we do the same there. This is our reading, from memory,
with two changes. It continues beyond the first buckets that are within t and uses those that make the most groups,
where the paper stops. Worst cases are exact where they can be. The release is checked group by group.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sfumato.anonymizers import _redistribution as redistribution
from sfumato.anonymizers.anonymizer import Anonymizer, OfRanges, check_feasible, check_nothing_suppressed, published
from sfumato.config.options import seed_option
from sfumato.data.cells import find_sensitive
from sfumato.data.reading import Table
from sfumato.release.release import Form, Release
from sfumato.requirements._predicates import TOLERANCE
from sfumato.requirements.requirement import Requirement, TCloseness, sensitive_levels
from sfumato.runtime.arrays import Counts, Numbers
from sfumato.texts.catalogue import refusal

MOST_TRIES = 24
"""So many bucketizations are tried at most, evenly chosen from those that are within t."""

SERVES = "t-closeness distance=equal, hierarchical or js"


@dataclass(frozen=True)
class Sabre(Anonymizer):
    """Divide sensitive values into buckets, and let every group take records of all buckets in proportion."""

    ranges: OfRanges = "rounded"
    seed: Annotated[int | None, seed_option("Around which records groups are formed.")] = None
    name: ClassVar[str] = "sabre"
    effort: ClassVar[float] = 3.0

    def release(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release:
        """Bucketize, redistribute and publish."""
        check_nothing_suppressed(self, budget)
        closeness, k = redistribution.own_part(requirement, TCloseness, self.name, SERVES)
        assert isinstance(closeness, TCloseness)
        if closeness.distance == "ordered":
            raise refusal("sabre_serves", SERVES=SERVES)
        cells = table.cells
        check_feasible(requirement, cells)
        place = find_sensitive(cells.sensitive, closeness.on)
        sensitive = cells.sensitive[place]
        levels = sensitive_levels(sensitive)
        ((kind, limit, _),) = closeness.rules()
        steps = (
            nodes_divided(sensitive.shares, levels)
            if closeness.distance == "hierarchical"
            else peeled(sensitive.counts)
        )
        worsts = [redistribution.worst_of(kind, limit, k, bucket, sensitive.counts, levels) for bucket in steps]
        worst, taken = redistribution.most_groups(
            evenly([bucketization for bucketization in worsts if within(bucketization)], MOST_TRIES)
        )
        assignment = redistribution.redistributed(cells, place, worst, taken, np.random.default_rng(self.seed))
        return published(table, assignment, len(taken), form, self.ranges_of(table))


def within(worst: redistribution.Worst) -> bool:
    """Return whether groups that take records of all buckets in proportion are within t at worst."""
    return redistribution.distance_at_worst(worst, worst.sizes, int(worst.sizes.sum())) <= worst.limit + TOLERANCE / 2


def evenly(worsts: list[redistribution.Worst], most: int) -> list[redistribution.Worst]:
    """Choose at most so many, the first and the last among them."""
    places = np.unique(np.linspace(0, len(worsts) - 1, min(most, len(worsts))).round().astype(int))
    return [worsts[place] for place in places]


def peeled(counts: Counts) -> list[Counts]:
    """List bucketizations: all values together, then the commonest alone, then the two commonest, and so on."""
    rank = np.empty(len(counts), np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    alone = np.linspace(0, len(counts) - 1, min(len(counts), MOST_TRIES * MOST_TRIES)).astype(np.int64)
    return [np.minimum(rank, number) for number in alone]


def nodes_divided(q: Numbers, levels: Counts) -> list[Counts]:
    """List bucketizations: all values together, then always the node divided from which the distance gains most."""
    bucket, height = np.zeros(len(q), np.int64), np.array([len(levels) - 1])
    steps = [bucket]

    def gain(b: int) -> float:
        values = np.flatnonzero(bucket == b)
        return cost(values) - sum(cost(part) for part in below(values, int(height[b])))

    def cost(values: Counts) -> float:
        return float(q[values].sum()) * redistribution.own_reach(values, q, levels)

    def below(values: Counts, level: int) -> list[Counts]:
        return [values[levels[level - 1, values] == node] for node in np.unique(levels[level - 1, values])]

    gains = [gain(0)]
    while max(gains) > -0.5:  # those that cannot be divided have -1
        b = int(np.argmax(gains))
        bucket, parts, level = bucket.copy(), below(np.flatnonzero(bucket == b), int(height[b])), int(height[b]) - 1
        places = [b, *range(len(height), len(height) + len(parts) - 1)]
        height = np.append(height, [level] * (len(parts) - 1))
        height[b] = level
        gains += [0.0] * (len(parts) - 1)
        for part, number in zip(parts, places, strict=True):
            bucket[part] = number
        for number in places:
            gains[number] = gain(number) if level > 0 else -1.0
        if len(parts) > 1:
            steps.append(bucket)
    return steps
