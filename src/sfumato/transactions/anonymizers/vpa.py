"""VPA: vertical partitioning anonymization for k^m-anonymity (Terrovitis, Mamoulis & Kalnis, VLDB Journal 2011).

    parts := the nodes of the highest level of the tree that has at least so many
    anonymize the items under every part by themselves with AA: far fewer sets have to be counted
        only nodes within the part are lifted to; what they cannot help is left to the whole
    unite the cuts, and let AA lift what is still needed, such as sets of items of several parts

A part is all items under one node. Where a part cut through a node, an item beside the cut could not be lifted, and
every item that is rare together with it was lifted to the largest nodes instead: 2 to 6 times the loss of AA.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, ClassVar

import numpy as np

from sfumato.arrays import Codes
from sfumato.configuration import Option
from sfumato.table import Hierarchy
from sfumato.transactions.anonymizers.aa import TreeBased, lifted
from sfumato.transactions.anonymizers.anonymizer import Task, check_enough_records
from sfumato.transactions.anonymizers.item_tree import Nodes, cut_recoding, nodes_of
from sfumato.transactions.baskets import Baskets, rows_once
from sfumato.transactions.policy import KMAnonymity
from sfumato.transactions.recoding import BasketRelease, global_release


@dataclass(frozen=True)
class VPA(TreeBased):
    """AA for parts of the items, then for all of them."""

    parts: Annotated[int, Option("How many parts of the items at least; a part is a node of the tree.", least=1)] = 4

    name: ClassVar[str] = "vpa"
    title: ClassVar[str] = "VPA"

    def release(self, task: Task) -> BasketRelease:
        """Anonymize every part of the items, then all of them from the united cut on."""
        check_enough_records(task)
        assert isinstance(task.requirement, KMAnonymity)
        tree = self.tree_for(task.baskets)
        nodes = nodes_of(tree, task.baskets)
        cut = nodes.leaf.copy()
        for run in runs_of_items(tree, nodes, self.parts):
            items = nodes.order[slice(*run)]
            part = some_items(task.baskets, items)
            cut[items] = lifted(part, nodes_of(tree, part), nodes.leaf.copy(), task.requirement, run)[items]
        cut = lifted(task.baskets, nodes, cut, task.requirement)
        return global_release(task.baskets, cut_recoding(tree, nodes, cut), str(self))


def runs_of_items(tree: Hierarchy, nodes: Nodes, least: int) -> list[tuple[int, int]]:
    """Return where the items under each node begin and end: of the highest level with so many nodes, else of leaves."""
    leaves = nodes.start[nodes.leaf[nodes.order]]
    bounds = np.zeros(0, np.int64)
    for above in tree.ancestors[::-1]:
        bounds = np.flatnonzero(np.diff(above[leaves])) + 1
        if len(bounds) + 1 >= least:
            break
    return list(pairwise([0, *bounds.tolist(), len(leaves)]))


def some_items(baskets: Baskets, items: Codes) -> Baskets:
    """Return the same baskets with some of their items only."""
    kept = np.full(len(baskets.items), -1, np.int32)
    kept[items] = items
    row = np.repeat(np.arange(baskets.distinct), baskets.lengths)
    starts, codes = rows_once(row, kept[baskets.codes], baskets.distinct)
    return replace(baskets, starts=starts, codes=codes)
