"""VPA: vertical partitioning anonymization for k^m-anonymity (Terrovitis, Mamoulis & Kalnis, VLDB Journal 2011).

cut the items, in the order of the tree's leaves, into parts
anonymize the baskets' items of every part by themselves with AA: far fewer sets have to be counted
    only nodes within the part are lifted to; what they cannot help is left to the whole
unite the cuts, and let AA lift what is still needed, such as sets of items of several parts

A part may cut through a node. If it were lifted to such a node, or to the root, all other parts would be published so,
only because few of the node's items are in this part: with two parts that was often everything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from sfumato.arrays import Codes
from sfumato.configuration import Option
from sfumato.transactions.anonymizers.aa import TreeBased, lifted
from sfumato.transactions.anonymizers.anonymizer import Task, check_enough_records
from sfumato.transactions.anonymizers.item_tree import cut_recoding, nodes_of
from sfumato.transactions.baskets import Baskets, rows_once
from sfumato.transactions.policy import KMAnonymity
from sfumato.transactions.recoding import BasketRelease, global_release


@dataclass(frozen=True)
class VPA(TreeBased):
    """AA for parts of the items, then for all of them."""

    parts: Annotated[int, Option("How many parts of the items, each a run of leaves of the tree.", least=1)] = 4

    name: ClassVar[str] = "vpa"
    title: ClassVar[str] = "VPA"

    def release(self, task: Task) -> BasketRelease:
        """Anonymize every part of the items, then all of them from the united cut on."""
        check_enough_records(task)
        assert isinstance(task.requirement, KMAnonymity)
        tree = self.tree_for(task.baskets)
        nodes = nodes_of(tree, task.baskets)
        cut = nodes.leaf.copy()
        for places in np.array_split(np.arange(len(nodes.order)), min(self.parts, len(nodes.order))):
            items = nodes.order[places]
            part, run = some_items(task.baskets, items), (int(places[0]), int(places[-1]) + 1)
            cut[items] = lifted(part, nodes_of(tree, part), nodes.leaf.copy(), task.requirement, run)[items]
        cut = lifted(task.baskets, nodes, cut, task.requirement)
        return global_release(task.baskets, cut_recoding(tree, nodes, cut), str(self))


def some_items(baskets: Baskets, items: Codes) -> Baskets:
    """Return the same baskets with some of their items only."""
    kept = np.full(len(baskets.items), -1, np.int32)
    kept[items] = items
    row = np.repeat(np.arange(baskets.distinct), baskets.lengths)
    starts, codes = rows_once(row, kept[baskets.codes], baskets.distinct)
    return replace(baskets, starts=starts, codes=codes)
