"""Sets that are the same for all groups: a set then says what it stands for, and nothing of who is in the group.

A maker of baskets that sees one group publishes sets of the items that occur there. Whoever reads `{a, b, c}` of a
group then knows that somebody in it has a, somebody b and somebody c: more than the part is taken to say ("one or more
of these"), and nothing that (k, k^m)-anonymity forbids. `sets=common` publishes nodes of one tree over all items
instead: the declared tree, or one of neighbours in the order of the items.

    a maker that climbs a tree     its nodes, each with all items below it, whether the group has them or not
    a maker that merges items      is kept within the nodes of one level; each of its sets becomes the smallest node
                                   around it, a single item stays itself. Every level is tried, and the one whose items
                                   lose least is taken, group by group

Two sets may become one node, and a node may lie in another or around an item that stays itself: it is then "one or more
of the others". Every published part is the union of parts that the maker made, so whatever is k^m-anonymous stays so.
Padding a group's set with items that nobody in it has was thought of and left: who knows how frequent items are tells
the padding from the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.arrays import Codes, Counts
from sfumato.mixed.release import PartsInUse
from sfumato.table import Hierarchy
from sfumato.transactions.anonymizers.item_tree import balanced_tree
from sfumato.transactions.baskets import Baskets, leaf_codes

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
