"""Merging groups of the table so that their items lose less: Rmerge, Tmerge and RTmerge.

After Poulis, Loukides, Gkoulalas-Divanis & Skiadopoulos, "Anonymizing data with relational and transaction attributes"
(ECML PKDD 2013), as SECRETA offers it. The plan is from the paper: cluster the table k-anonymously first. Then merge
clusters, guided by the loss of the relational side (Rmerge), of the transaction side (Tmerge) or both (RTmerge), as
long as the loss of the relational side stays under a bound delta. Then anonymize the items of every cluster. Its
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

A merged group has at least k records as both did; where another requirement need not survive merging (`monotone`), the
merged group is tested as well. Time: every accepted or refused try makes the items of one merged group, and every seed
compares itself with all groups.

Making releases of a table with items: groups of the table first, then the items of every group.

    Relational := any maker of tables, for k-anonymity and whatever else is asked of groups.
    Groups     := merged, where that is asked for (`merging`).
    Items      := of every group, k^m-anonymous by any maker of baskets (`_grouped_items`).

Any maker of tables goes with any maker of baskets. The form is generalization: a bucketization shows exact
quasi-identifiers, so who knows them and an item of a person would find the record. Every release is verified from what
it publishes before anybody sees it (`item_verification`).

Proof of a release of a table with items: count what is published from scratch, and compare with what was required.

Nothing here knows how a release was made. Groups are the texts that records show of their quasi-identifiers, not the
maker's numbers; within each, the published texts of parts are counted one by one, then in pairs and larger sets. The
time is that of all sets of up to m parts in rows: as much as the promise speaks of.
"""

from __future__ import annotations

import heapq
from abc import ABC
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from sfumato.anonymizers import anonymizer
from sfumato.anonymizers.anonymizer import Anonymizer, checked
from sfumato.anonymizers.items import DEFAULT_MAKER, anonymize_baskets, candidate_maker
from sfumato.anonymizers.items._grouped_items import SETS, GroupedItems, Sets, check_limit
from sfumato.anonymizers.items.item_anonymizer import BasketAnonymizer
from sfumato.config.options import Configured, Option, check_choice, parse
from sfumato.data.cells import Assignment, Histograms, distinct_rows, ranges
from sfumato.data.dataset import MixedTable
from sfumato.data.items import Baskets, taken_rows
from sfumato.data.reading import Ranges
from sfumato.errors import BadInputError
from sfumato.release._itemsets import Rows, rare_itemsets
from sfumato.release.items import MixedRelease, Placed, placed, rows_of
from sfumato.release.release import Form, Release, generalization, widened
from sfumato.requirements import items as item_rules
from sfumato.requirements.requirement import Requirement
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.texts.catalogue import refusal

if TYPE_CHECKING:
    from sfumato.anonymizers import Maker


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

    by_table: ClassVar[bool] = False
    """Whether groups whose boxes lose little come first, then those with which the box grows least."""

    by_items: ClassVar[bool] = False
    """Whether groups whose items lose much come first, then those that share most items."""

    def urgency(self, relational: Numbers, items: Numbers) -> Numbers:
        """Say in which order groups are seeds, the smallest first, by what the box and the items of each lose."""
        return self._ranked(relational, -items).astype(np.float64)

    def order(self, growth: Numbers, likeness: Numbers) -> Counts:
        """Order partners by how much the box would grow and how alike the items are."""
        return np.argsort(self._ranked(growth, -likeness), kind="stable")

    def _ranked(self, table: Numbers, items: Numbers) -> Counts:
        """Add the ranks by the table and by the items, as far as they guide the merging."""
        return self.by_table * _ranks(table) + self.by_items * _ranks(items)


@dataclass(frozen=True)
class RMerge(Bounded):
    """Guided by the table: neighbours in the quasi-identifiers first."""

    name: ClassVar[str] = "r-merge"
    title: ClassVar[str] = "Rmerge"
    by_table: ClassVar[bool] = True


@dataclass(frozen=True)
class TMerge(Bounded):
    """Guided by the items: groups that have many of them in common first."""

    name: ClassVar[str] = "t-merge"
    title: ClassVar[str] = "Tmerge"
    by_items: ClassVar[bool] = True


@dataclass(frozen=True)
class RTMerge(Bounded):
    """Guided by both: the sum of the two ranks."""

    name: ClassVar[str] = "rt-merge"
    title: ClassVar[str] = "RTmerge"
    by_table: ClassVar[bool] = True
    by_items: ClassVar[bool] = True


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
        """Merge two groups where their items lose less together; return whether they were merged."""
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
        """Return whether two groups together satisfy what merging might break."""
        if self.requirement.monotone or self.histograms is None:
            return True
        size = np.array([int(self.sizes[seed] + self.sizes[other])])
        counts = (self.histograms[seed] + self.histograms[other])[None, :]
        return bool(self.requirement.admits(Histograms(self.release.cells.sensitive, size, counts))[0])


FORM: Form = "generalization"


@dataclass(frozen=True)
class MixedRecipe:
    """How a release is made: who makes the groups, who the items, and what may be lost."""

    anonymizer: Maker
    requirement: item_rules.MixedRequirement
    item_anonymizer: BasketAnonymizer
    merging: Merging = field(default_factory=NoMerging)
    suppress: float = 0.0
    utility: item_rules.UtilityConstraints | None = None
    limit: item_rules.SuppressionLimit = field(default_factory=item_rules.SuppressionLimit)
    sets: Sets = "group"

    def __post_init__(self) -> None:
        check_choice("sets", self.sets, SETS)
        if self.sets == "common" and self.utility is not None and self.utility.file is not None:
            raise refusal("common_sets_of_a_file", mixed_recipe=self)

    def check(self, data: MixedTable | None = None) -> None:
        """Refuse what cannot be promised, before anything is made."""
        if not isinstance(self.anonymizer, Anonymizer):
            raise refusal("no_promise_beside_items", mixed_recipe=self)
        if data is not None:
            GroupedItems(data, self.item_anonymizer, self.requirement.of_items, self.utility, self.sets)
            self.requirement.of_groups.compile(data.cells.sensitive)

    def make(self, data: MixedTable) -> MixedRelease:
        """Make the release and verify it."""
        self.check()
        assert isinstance(self.anonymizer, Anonymizer)
        items = GroupedItems(data, self.item_anonymizer, self.requirement.of_items, self.utility, self.sets)
        wanted = self.requirement.of_groups
        relational = self.anonymizer.anonymize(data.table, wanted, FORM, self.suppress)
        if relational.histograms is None and data.cells.sensitive:
            raise BadInputError(f"{self.anonymizer.name} leaves the sensitive columns out; leave them out of the study")
        entries = placed(data, relational.assignment)
        if isinstance(self.merging, Bounded):
            ends = self.anonymizer.ranges_of(data.table)
            merged = Merger(self.merging, relational, entries, items, wanted, ends).run()
            relational, entries = _merged(relational, entries, merged, ends)
            checked(relational, wanted)
        release = _with_items(data, relational, entries, items, str(self))
        occurrences = release.suppressed_occurrences
        check_limit(self.limit, data, release.suppressed_items, occurrences, self.requirement)
        verify(release, self.requirement)
        return release

    def __str__(self) -> str:
        merging = "" if isinstance(self.merging, NoMerging) else f", {self.merging}"
        sets = f", {self.sets} sets" if self.sets != "group" else ""
        return f"{self.anonymizer} with {self.item_anonymizer}{merging}{sets}"


def _merged(relational: Release, entries: Placed, merged: Counts, ends: Ranges) -> tuple[Release, Placed]:
    """Publish merged groups by the smallest box around theirs, with ends that are published as theirs were.

    Groups of one value each may become a range, so ends are rounded again.
    """
    number = np.unique(merged, return_inverse=True)[1].ravel()
    hull = ranges(number, relational.boxes.lo, relational.boxes.hi)
    lo, hi = widened(relational.cells, *hull, ends)
    first, alike = distinct_rows(np.concatenate([lo, hi], axis=1))  # groups that look the same are one
    number = alike[number]
    assigned = relational.assignment
    assignment = Assignment.gathered(assigned.cell, number[assigned.group], assigned.count)
    sensitive = relational.histograms is not None
    release = generalization(relational.table, assignment, lo[first], hi[first], sensitive, ranges=None)
    return release, Placed(entries.pair, number[entries.group], entries.count)


def _with_items(
    data: MixedTable, relational: Release, entries: Placed, items: GroupedItems, maker: str
) -> MixedRelease:
    """Make the items of every group anonymous."""
    group, basket, count = rows_of(data, entries)
    at = np.searchsorted(group, np.arange(relational.groups + 1))
    published = [
        items.published(basket[at[number] : at[number + 1]], count[at[number] : at[number + 1]])
        for number in range(relational.groups)
    ]
    part = np.concatenate(published) if published else np.zeros(0, np.int32)
    return MixedRelease(data, relational, entries, group, basket, count, items.parts.done(), part, maker)


def anonymize_mixed(
    data: MixedTable,
    require: item_rules.MixedRequirement | str,
    maker: Maker | str = "mondrian",
    item_maker: BasketAnonymizer | str = DEFAULT_MAKER,
    merge: Merging | str = "none",
    suppress: float = 0.0,
    utility: item_rules.UtilityConstraints | str | None = None,
    limit: item_rules.SuppressionLimit | str | None = None,
    sets: Sets = "group",
) -> MixedRelease:
    """Make one release of a table with items that satisfies a requirement, verified; everything may be given as text.

    >>> from sfumato.data.declaration import read_mixed
    >>> import pyarrow
    >>> frame = pyarrow.table({"age": ["34", "36", "51", "58"], "codes": [["250"], ["250"], ["401"], ["401"]]})
    >>> release = anonymize_mixed(read_mixed(frame, quasi=["age"], items="codes"), "k-km-anonymity k=2 m=1")
    >>> release.records, release.relational.groups
    (4, 2)
    """
    recipe = MixedRecipe(
        anonymizer(maker) if isinstance(maker, str) else maker,
        item_rules.mixed_requirement(require) if isinstance(require, str) else require,
        candidate_maker(item_maker) if isinstance(item_maker, str) else item_maker,
        merging(merge) if isinstance(merge, str) else merge,
        suppress,
        item_rules.utility_constraints(utility) if isinstance(utility, str) else utility,
        item_rules.suppression_limit(limit) if isinstance(limit, str) else limit or item_rules.SuppressionLimit(),
        sets,
    )
    recipe.check(data)
    return recipe.make(data)


def anonymize_items(data: Baskets | MixedTable, require: Any, maker: Any, suppress: float, **more: Any) -> Any:
    """Make one release of sets of items, or of a table with items."""
    if isinstance(data, MixedTable):
        return anonymize_mixed(data, require, maker or "mondrian", suppress=suppress, **more)
    if suppress:
        raise refusal("suppressed_records_of_items", suppress=suppress)
    return anonymize_baskets(data, require, maker, **more)


SHOWN = 3


def group_texts(release: MixedRelease) -> tuple[list[tuple[str, ...]], Counts]:
    """Return the different texts of groups as readers see them, and for every group of the maker which it shows."""
    relational = release.relational
    columns = []
    for attribute in range(len(relational.cells.quasi)):
        texts, codes = relational.quasi_texts(attribute)
        columns.append([texts[code] for code in codes.tolist()])
    rows = list(zip(*columns, strict=True))
    number = {row: place for place, row in enumerate(dict.fromkeys(rows))}
    return list(number), np.array([number[row] for row in rows], np.int64)


def verify(release: MixedRelease, requirement: item_rules.MixedRequirement) -> None:
    """Raise an AssertionError that names a counterexample unless the release satisfies the requirement."""
    weak = violations(release, requirement.k, requirement.m)
    assert not weak, f"{release.maker or 'this release'} breaks {requirement}: {'; '.join(weak)}"
    checked(release.relational, requirement.of_groups)


def violations(release: MixedRelease, k: int, m: int, most: int = SHOWN) -> list[str]:
    """Name groups of fewer than k records, and sets of up to m parts that fewer than k records of a group show."""
    texts, number = group_texts(release)
    group = number[release.group]
    sizes = np.bincount(group, release.count, len(texts)).astype(np.int64)
    weak = [f"{', '.join(texts[i])} in {sizes[i]}" for i in np.flatnonzero(sizes < k)[:most].tolist()]
    starts, codes = release.shown
    row = np.repeat(np.arange(len(release.count)), np.diff(starts))
    width = max(len(release.parts.labels), 1)
    used, tagged = np.unique(group[row] * width + codes, return_inverse=True)  # a part of another group is another
    for size in range(1, m + 1):
        if len(weak) >= most:
            break
        rows = Rows(starts, tagged.ravel().astype(np.int32), release.count, len(used))
        sets, supports, _ = rare_itemsets(rows, size, k, most - len(weak))
        for itemset, support in zip(sets.tolist(), supports.tolist(), strict=True):
            keys = used[itemset]
            labels = ", ".join(release.parts.labels[int(key % width)] for key in keys)
            weak.append(f"{{{labels}}} among {', '.join(texts[int(keys[0] // width)])} in {support}")
    return weak
