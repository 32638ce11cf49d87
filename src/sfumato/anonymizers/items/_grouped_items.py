"""The items of every group made k^m-anonymous by themselves, by any maker of baskets.

A maker of baskets sees the records of one group and the items that occur there, nothing else; what it publishes of them
becomes parts of the whole release. Two things follow from groups being small:
- fewer than k records of a group may have any item at all. Then no part can be in k records, and the items of this
  group are left out; how much may be left out is limited over the whole release, not group by group. - A tree that an
  anonymizer builds itself (AA without a tree) would be another one in every group. There is one over all items, and
  its nodes, which mean nothing, are published as the sets of the group's items under them.

A set that is made of a group's items tells which items the group has; `sets=common` tells less.

Sets that are the same for all groups: a set then shows which items it may mean, and nothing about the members of the
group.

A maker of baskets that sees one group publishes sets of the items that occur there. An attacker who reads `{a, b, c}`
of a group then knows that some member has a, some member b and some member c. That is more than the meaning of the
part ("one or more of these"), and (k, k^m)-anonymity allows it. `sets=common` publishes nodes of one tree over all
items instead: the declared tree, or one of neighbours in the order of the items.

    A maker that climbs a tree:     its nodes, each with all items below it, whether the group has them or not.
    A maker that merges items:      is kept within the nodes of one level; each of its sets becomes the smallest node
                                   around it, a single item stays itself. Every level is tried, and the one whose items
                                   lose least is taken, group by group.

Two sets may become one node, and a node may lie in another or around an item that stays itself: it is then "one or more
of the others". Every published part is the union of parts that the maker made, so whatever is k^m-anonymous stays so.
Padding a group's set with items that nobody in it has was thought of and left: who knows how frequent items are tells
the padding from the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from sfumato.anonymizers.items._item_tree import balanced_tree
from sfumato.anonymizers.items.item_anonymizer import BasketAnonymizer, OneItem, Task
from sfumato.data.dataset import MixedTable
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.items import Baskets, leaf_codes, taken_rows
from sfumato.errors import InfeasibleError
from sfumato.release.items import SUPPRESSED, BasketRelease, PartsInUse
from sfumato.requirements import items as item_rules
from sfumato.runtime.arrays import Codes, Counts
from sfumato.texts.catalogue import t

FANOUT = 4
"""How many neighbours are under a node of a tree that means nothing."""


@dataclass(frozen=True, eq=False)
class CommonSets:
    """The nodes of one tree over all items, as sets that groups may publish."""

    baskets: Baskets
    tree: Hierarchy
    """The declared tree, or one that was made of the order of items."""

    @staticmethod
    def of(baskets: Baskets, tree: Hierarchy | None) -> CommonSets:
        """Take the tree that a maker climbs; where there is none, one of neighbours."""
        return CommonSets(baskets, balanced_tree(baskets.items, FANOUT) if tree is None else tree)

    @cached_property
    def leaf(self) -> Codes:
        """For every item its leaf."""
        return leaf_codes(self.tree, self.baskets.items)

    @cached_property
    def nodes(self) -> dict[str, tuple[int, int]]:
        """The leaves of every node, by its label."""
        return {label: interval for interval, label in self.tree.nodes.items()}

    @cached_property
    def blocks(self) -> list[dict[str, int]]:
        """For every level above the leaves, the finest first, the node that each item is under."""
        levels = [np.array(level.starts) for level in self.tree.levels[1:]]
        numbers = [np.searchsorted(starts, self.leaf, "right") - 1 for starts in levels]
        return [dict(zip(self.baskets.items, of_level.tolist(), strict=True)) for of_level in numbers]

    def around(self, items: Codes) -> tuple[int, int]:
        """Return the smallest node around some items: its first and its last leaf."""
        low, high = int(self.leaf[items].min()), int(self.leaf[items].max())
        for level in self.tree.levels:
            place = int(np.searchsorted(level.starts, low, "right")) - 1
            first, end = level.starts[place], (*level.starts, self.tree.size)[place + 1]
            if high < end:
                return first, end - 1
        return 0, self.tree.size - 1

    def part(self, parts: PartsInUse, label: str, size: int, items: Codes) -> int:
        """Return what a maker's part (its label, for how many leaves it stands, its items here) is published as."""
        if size == 1:
            return parts.item(int(items[0]))
        first, last = self.nodes.get(label, (0, -1))
        if last - first + 1 != size:
            first, last = self.around(items)
        name = self.tree.nodes[first, last]
        if parts.nodes.get(name) == (first, last):
            return parts.of_node(name)
        below: Counts = np.flatnonzero((self.leaf >= first) & (self.leaf <= last))
        return parts.of_set(tuple(below.tolist()))


Sets = Literal["group", "common"]
SETS: tuple[Sets, ...] = ("group", "common")
"""Whether a set of several items lists items of its group, or is one that all groups may publish."""

ALL = item_rules.SuppressionLimit(1.0)
"""The suppression limit within a group: the limit is that of the whole release."""


@dataclass(frozen=True)
class FixedBlocks(item_rules.UtilityConstraints):
    """Utility constraints that were read once for all items: a group has some of these."""

    file: str | None = None
    level: int | None = None
    by_label: dict[str, int] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Nothing is to be checked: whoever read the constraints did."""

    def blocks(self, baskets: Baskets) -> Codes:
        """Say for every item of a group which block it belongs to."""
        return np.array([self.by_label[label] for label in baskets.items], np.int32)


@dataclass(frozen=True, eq=False)
class GroupedItems:
    """The anonymizer of the items of groups, and the requirement: a task for every group."""

    data: MixedTable
    maker: BasketAnonymizer
    requirement: item_rules.KMAnonymity | item_rules.CompleteKAnonymity | None
    """None where nobody is taken to know an item: items then stay as they are."""

    utility: item_rules.UtilityConstraints | None = None
    sets: Sets = "group"
    parts: PartsInUse = field(init=False)
    common: CommonSets | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        baskets = self.data.baskets
        object.__setattr__(self, "parts", PartsInUse(baskets, baskets.tree))
        if (
            isinstance(self.requirement, item_rules.KMAnonymity)
            and item_rules.KMAnonymity not in self.maker.requirements
        ):
            object.__setattr__(
                self, "requirement", item_rules.CompleteKAnonymity(self.requirement.k)
            )  # which promises more
        if self.requirement is not None:
            task = Task(baskets, self.requirement, self.utility, ALL)
            BasketAnonymizer.check_task(self.maker, task)  # what a maker says of all records, groups need not have
        if self.utility is not None:
            blocks = self.utility.blocks(baskets)
            by_label = dict(zip(baskets.items, blocks.tolist(), strict=True))
            object.__setattr__(self, "utility", FixedBlocks(by_label=by_label))
        tree = baskets.tree
        if tree is None and hasattr(self.maker, "fanout"):
            tree = balanced_tree(baskets.items, self.maker.fanout)
        object.__setattr__(self, "_tree", tree)
        if self.sets == "common":
            object.__setattr__(self, "common", CommonSets.of(baskets, tree))
        weights = getattr(self.maker, "weights", None)
        object.__setattr__(self, "_worth", None if weights is None else item_rules.read_weights(baskets, weights))

    def published(self, basket: Counts, count: Counts) -> Codes:
        """Return the published parts of every item of the baskets of one group, one basket after the other."""
        baskets = self.data.baskets
        starts, codes = taken_rows(baskets.starts, baskets.codes, basket)
        if self.requirement is None:
            return np.array([self.parts.item(code) for code in codes.tolist()], np.int32)
        filled = np.diff(starts) > 0  # who has no item shows none, and needs no maker
        basket, count = basket[filled], count[filled]
        starts, codes = taken_rows(baskets.starts, baskets.codes, basket)
        if count.sum() < self.requirement.k:
            return np.full(len(codes), SUPPRESSED, np.int32)
        used, small = np.unique(codes, return_inverse=True)
        labels = tuple(baskets.items[code] for code in used.tolist())
        local = Baskets(labels, starts, small.ravel().astype(np.int32), count, self._tree, baskets.origin)  # type: ignore[attr-defined]
        records = np.repeat(count, local.lengths)
        made = (
            self._parts_of(one, used)[np.repeat(one.piece, local.lengths), small.ravel()]
            for one in self._made(local, used)
        )
        return min(made, key=lambda parts: self.loss(parts, records))

    def _made(self, local: Baskets, used: Codes) -> Iterator[BasketRelease]:
        """Make what can be published of a group: once, or with items kept within every level of the common sets."""
        assert self.requirement is not None
        kept: list[item_rules.UtilityConstraints | None] = [self.utility]
        if self.common is not None and self.utility is None and self.maker.keeps_utility_constraints:
            kept = [FixedBlocks(by_label=blocks) for blocks in self.common.blocks]
        worth = None if self._worth is None else self._worth.of_some(used)  # type: ignore[attr-defined]
        for utility in kept:
            yield self.maker.release(Task(local, self.requirement, utility, ALL, worth))

    def loss(self, parts: Codes, records: Counts) -> float:
        """Return the loss of items that are published as these parts: NCP times the records of each; suppressed items
        cost 1."""
        domain = self.parts.domain
        sizes = np.array([*self.parts.sizes, domain], np.int64)[parts]
        cost = np.where(parts < 0, 1.0, np.where(sizes == 1, 0.0, sizes / domain))
        return float((cost * records).sum())

    def _parts_of(self, made: BasketRelease, used: Codes) -> Codes:
        """Give the parts of a group's recodings their numbers in the whole release: pieces x items of the group."""
        table = np.full((len(made.recodings), len(used)), SUPPRESSED, np.int32)
        for row, recoding in zip(table, made.recodings, strict=True):
            numbers = []
            for label, size, members in zip(recoding.labels, recoding.leaves.tolist(), recoding.members, strict=True):
                first, last = self.parts.nodes.get(label, (0, -1))
                if isinstance(self.maker, OneItem):
                    numbers.append(self.parts.of_all())
                elif self.common is not None:
                    numbers.append(self.common.part(self.parts, label, size, used[list(members)]))
                elif size > 1 and last - first + 1 == size:
                    numbers.append(self.parts.of_node(label))
                else:
                    numbers.append(self.parts.of_set(tuple(used[list(members)].tolist())))
            kept = recoding.parts >= 0
            row[kept] = np.array(numbers, np.int32)[recoding.parts[kept]]
        return table


def check_limit(
    limit: item_rules.SuppressionLimit, data: MixedTable, items: Counts, occurrences: int, asked: object
) -> None:
    """Raise where more items are suppressed than allowed; name the limit that would suffice."""
    baskets = data.baskets
    share = (
        len(items) / max(len(baskets.items), 1) if limit.of == "items" else occurrences / max(baskets.occurrences, 1)
    )
    if limit.allows(share):
        return
    least = int(np.ceil(occurrences / max(baskets.occurrences, 1) * 1e4)) / 1e4
    raise InfeasibleError(
        t(
            "refusal.too_many_items_left_out",
            asked=asked,
            occurrences=occurrences,
            share=share,
            limit=limit,
            least=least,
        )
    )
