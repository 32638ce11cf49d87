"""Merging groups of the table so that their items lose less: Rmerge, Tmerge and RTmerge.

After Poulis, Loukides, Gkoulalas-Divanis & Skiadopoulos, "Anonymizing data with relational and transaction attributes"
(ECML PKDD 2013), as SECRETA offers it. From the paper is the plan: cluster the table k-anonymously first; then merge
clusters, guided by the loss of the relational side (Rmerge), of the transaction side (Tmerge) or both (RTmerge), as
long as the loss of the relational side stays under a bound delta; then anonymize the items of every cluster. Its
pseudo-code was not at hand when this was written. Ours are the details:

    seeds      r-merge: the group whose box loses least first; t-merge: the one whose items lose most;
               rt-merge: by the sum of both ranks
    partners   r-merge: the group with which the box grows least (in loss times records); t-merge: the one that shares
               most items with it, of those that either has (Jaccard); rt-merge: by the sum of both ranks;
               ties by the number of the group; the first `tries` of them are tried
    accepted   where the mean loss of the table, suppressed records not counted, stays within `bound`, and the items of
               the merged group, made anonymous by the very maker that will publish them, lose less (in NCP over their
               occurrences, one left out costs 1) than those of the two did; the merged group is then a seed again
    ends       when every seed has been through

A merged group has at least k records as both did; where another requirement does not survive merging by itself
(`monotone`), the merged group is tested as well. Time: every accepted or refused try makes the items of one merged
group, and every seed compares itself with all groups.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sfumato.arrays import Codes, Counts, Numbers
from sfumato.configuration import Configured, Option, parse
from sfumato.mixed.anonymizers.grouped_items import GroupedItems
from sfumato.mixed.anonymizers.placed import Placed
from sfumato.mixed.release import rows_of
from sfumato.release import Release, widened
from sfumato.requirements import Requirement
from sfumato.table import Histograms, Ranges
from sfumato.transactions.baskets import taken_rows

BETTER = 1e-12
"""By how much a loss must fall to count as less."""


class Merging(Configured, ABC):
    """How groups are merged before their items are made anonymous."""

    def in_words(self) -> str:
        """Name it to people."""
        return str(self)


@dataclass(frozen=True)
class NoMerging(Merging):
    """Leave the groups as the maker of the table has them."""

    name: ClassVar[str] = "none"


Bound = Annotated[
    float, Option("The largest mean loss of the table's columns that merging may lead to.", least=0, most=1)
]
Tries = Annotated[int, Option("With how many groups a seed is tried at most, before it stays as it is.", least=1)]


@dataclass(frozen=True)
class Bounded(Merging):
    """Merge groups under a bound of the table's loss."""

    bound: Bound
    tries: Tries = 3

    @abstractmethod
    def urgency(self, relational: Numbers, items: Numbers) -> Numbers:
        """Say in which order groups are seeds, the smallest first, by what the box and the items of each lose."""

    @abstractmethod
    def order(self, growth: Numbers, likeness: Numbers) -> Counts:
        """Order partners by how much the box would grow and how alike the items are."""


@dataclass(frozen=True)
class RMerge(Bounded):
    """Guided by the table: neighbours in the quasi-identifiers first."""

    name: ClassVar[str] = "r-merge"
    title: ClassVar[str] = "Rmerge"

    def urgency(self, relational: Numbers, items: Numbers) -> Numbers:
        """Take the group whose box loses least."""
        return relational

    def order(self, growth: Numbers, likeness: Numbers) -> Counts:
        """Take the group with which the box grows least."""
        return np.argsort(growth, kind="stable")


@dataclass(frozen=True)
class TMerge(Bounded):
    """Guided by the items: groups that have many of them in common first."""

    name: ClassVar[str] = "t-merge"
    title: ClassVar[str] = "Tmerge"

    def urgency(self, relational: Numbers, items: Numbers) -> Numbers:
        """Take the group whose items lose most."""
        return -items

    def order(self, growth: Numbers, likeness: Numbers) -> Counts:
        """Take the group that shares most items."""
        return np.argsort(-likeness, kind="stable")


@dataclass(frozen=True)
class RTMerge(Bounded):
    """Guided by both: the sum of the two ranks."""

    name: ClassVar[str] = "rt-merge"
    title: ClassVar[str] = "RTmerge"

    def urgency(self, relational: Numbers, items: Numbers) -> Numbers:
        """Take groups by the sum of their ranks."""
        return (_ranks(relational) + _ranks(-items)).astype(np.float64)

    def order(self, growth: Numbers, likeness: Numbers) -> Counts:
        """Take partners by the sum of their ranks."""
        return np.argsort(_ranks(growth) + _ranks(-likeness), kind="stable")


MERGING: tuple[type[Merging], ...] = (NoMerging, RMerge, TMerge, RTMerge)


def merging(text: str) -> Merging:
    """Read how groups are merged from its text form, such as `rt-merge bound=0.1`."""
    return parse(text, MERGING, "merging method")


def _ranks(values: Numbers) -> Counts:
    """Rank values, the smallest first; equal ones have equal ranks."""
    return np.unique(values, return_inverse=True)[1].ravel()


@dataclass
class MergingGroup:
    """A group while groups are merged: its rows, its box, its sensitive counts, and what its items lose."""

    basket: Counts
    count: Counts
    members: list[int]
    """The groups of the first clustering that it consists of."""

    loss: float


class Merger:
    """Groups being merged; `run` returns for every group of the first clustering its merged one."""

    def __init__(
        self,
        method: Bounded,
        release: Release,
        entries: Placed,
        items: GroupedItems,
        requirement: Requirement,
        ends: Ranges,
    ) -> None:
        self.method, self.release, self.items, self.requirement, self.ends = method, release, items, requirement, ends
        data = items.data
        group, basket, count = rows_of(data, entries)
        at = np.searchsorted(group, np.arange(release.groups + 1))
        self.lo, self.hi = release.boxes.lo.copy(), release.boxes.hi.copy()
        self.sizes = release.sizes.astype(np.float64)
        self.alive = np.ones(release.groups, bool)
        self.occurs = np.zeros((release.groups, len(data.baskets.items)), bool)
        self.histograms = None if release.histograms is None else release.histograms.counts.copy()
        self.groups = []
        for number in range(release.groups):
            rows = slice(int(at[number]), int(at[number + 1]))
            self._mark(number, basket[rows])
            lost = self._loss(basket[rows], count[rows])
            self.groups.append(MergingGroup(basket[rows], count[rows], [number], lost))
        self.relational = self._relational(self.lo, self.hi) * self.sizes

    def _mark(self, number: int, basket: Counts) -> None:
        baskets = self.items.data.baskets
        self.occurs[number, taken_rows(baskets.starts, baskets.codes, basket)[1]] = True

    def _relational(self, lo: Codes, hi: Codes) -> Numbers:
        """Return what boxes lose: the mean over the quasi-identifiers, by their weights."""
        cells = self.release.cells
        each = [cells.weights[a] * quasi.hierarchy.losses(lo[:, a], hi[:, a]) for a, quasi in enumerate(cells.quasi)]
        return np.asarray(np.mean(each, axis=0), np.float64)

    def _loss(self, basket: Counts, count: Counts) -> float:
        """Make the items of a group anonymous; return what they lose: NCP times the occurrences."""
        parts = self.items.published(basket, count)
        return self.items.loss(parts, np.repeat(count, self.items.data.baskets.lengths[basket]))

    def run(self) -> Counts:
        """Merge until every seed has been through."""
        urgency = self.method.urgency(
            self.relational / self.sizes, np.array([group.loss for group in self.groups]) / self.sizes
        )
        queue = [(float(value), number) for number, value in enumerate(urgency)]
        heapq.heapify(queue)
        while queue:
            _, seed = heapq.heappop(queue)
            while self.alive[seed] and self.groups[seed].loss > BETTER and self._merge_once(seed):
                pass
        merged = np.empty(self.release.groups, np.int64)
        for number, group in enumerate(self.groups):
            if self.alive[number]:
                merged[group.members] = number
        return merged

    def _merge_once(self, seed: int) -> bool:
        others = np.flatnonzero(self.alive & (np.arange(len(self.alive)) != seed))
        if not len(others):
            return False
        hull = np.minimum(self.lo[others], self.lo[seed]), np.maximum(self.hi[others], self.hi[seed])
        lo, hi = widened(self.release.cells, *hull, self.ends)
        together = self._relational(lo, hi) * (self.sizes[others] + self.sizes[seed])
        growth = together - self.relational[others] - self.relational[seed]
        room = self.method.bound * self.sizes[self.alive].sum() - self.relational[self.alive].sum() + 1e-9
        fits = np.flatnonzero(growth <= room)
        if not len(fits):
            return False
        both = (self.occurs[others[fits]] & self.occurs[seed]).sum(axis=1)
        either = np.maximum((self.occurs[others[fits]] | self.occurs[seed]).sum(axis=1), 1)
        for place in self.method.order(growth[fits], both / either)[: self.method.tries].tolist():
            at = int(fits[place])
            if self._accepted(seed, int(others[at])):
                self.lo[seed], self.hi[seed], self.relational[seed] = lo[at], hi[at], together[at]
                return True
        return False

    def _accepted(self, seed: int, other: int) -> bool:
        """Merge two groups where their items lose less together; say whether they were."""
        if not self._admitted(seed, other):
            return False
        one, two = self.groups[seed], self.groups[other]
        basket, number = np.unique(np.concatenate([one.basket, two.basket]), return_inverse=True)
        count = np.bincount(number.ravel(), np.concatenate([one.count, two.count]), len(basket)).astype(np.int64)
        loss = self._loss(basket, count)
        if loss > one.loss + two.loss - BETTER:
            return False
        self.groups[seed] = MergingGroup(basket, count, one.members + two.members, loss)
        self.alive[other] = False
        self.sizes[seed] += self.sizes[other]
        self.occurs[seed] |= self.occurs[other]
        if self.histograms is not None:
            self.histograms[seed] += self.histograms[other]
        return True

    def _admitted(self, seed: int, other: int) -> bool:
        """Say whether two groups together satisfy what merging might break."""
        if self.requirement.monotone or self.histograms is None:
            return True
        size = np.array([int(self.sizes[seed] + self.sizes[other])])
        counts = (self.histograms[seed] + self.histograms[other])[None, :]
        return bool(self.requirement.admits(Histograms(self.release.cells.sensitive, size, counts))[0])
