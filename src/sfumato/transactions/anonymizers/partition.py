"""Partition: complete k-anonymity of baskets by local generalization (He & Naughton, VLDB 2009).

    anonymize(partition):                      all its baskets show the same nodes of the tree
        v := the shown node that loses most, among those not tried yet
        divide the baskets by which children of v they have
        parts of fewer than k records are gathered; if they are still fewer, records of the largest parts join them
        the gathered ones go on without dividing v, every part goes on with the children of v instead of v

It begins with all baskets showing the root. Every published basket is then that of at least k records, so an attacker
may know any number of items. A basket without items can only be hidden among others without.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Codes, Counts
from sfumato.errors import InfeasibleError
from sfumato.table import Hierarchy, weighted_counts
from sfumato.transactions.anonymizers.aa import TreeBased
from sfumato.transactions.anonymizers.anonymizer import Task
from sfumato.transactions.anonymizers.item_tree import NONE, Nodes, cut_recoding, nodes_of
from sfumato.transactions.baskets import Baskets, equal_rows, rows_once, taken_rows
from sfumato.transactions.policy import BasketRequirement, CompleteKAnonymity
from sfumato.transactions.recoding import BasketRelease


@dataclass(frozen=True, eq=False)
class Group:
    """Baskets that show the same nodes: which, the cut they are published under, and nodes that are not divided."""

    rows: Counts
    cut: Codes
    closed: frozenset[int]


@dataclass(frozen=True)
class Partition(TreeBased):
    """Divide the baskets from the root of the tree down, as far as at least k records show the same nodes."""

    name: ClassVar[str] = "partition"
    title: ClassVar[str] = "Partition"
    requirements: ClassVar[tuple[type[BasketRequirement], ...]] = (CompleteKAnonymity,)

    def check_task(self, task: Task) -> None:
        """Refuse also where too few records have items, or have none."""
        filled, wanted = task.baskets.filled, task.requirement
        for number, what in ((task.baskets.size - filled, "have no items"), (filled, "have items")):
            if 0 < number < wanted.k:
                raise InfeasibleError(
                    f"{wanted}: only {number:,} records {what}, and they cannot look like the others; "
                    f"k={number} is the most, or leave these records out"
                )
        super().check_task(task)

    def release(self, task: Task) -> BasketRelease:
        """Divide until nothing can be divided."""
        baskets, k = task.baskets, task.requirement.k
        tree = self.tree_for(baskets)
        nodes = nodes_of(tree, baskets)
        root = np.full(len(baskets.items), len(nodes.parent) - 1, np.int32)
        waiting = [Group(np.flatnonzero(baskets.lengths > 0), root, frozenset())]
        done: list[Group] = []
        while waiting:
            group = waiting.pop()
            parts = divided(baskets, nodes, group, k)
            done += [] if parts else [group]
            waiting += parts
        return _published(task, tree, nodes, done, str(self))


def divided(baskets: Baskets, nodes: Nodes, group: Group, k: int) -> list[Group]:
    """Divide a group by the children of one of its nodes; nothing where no node can be divided."""
    starts, codes = taken_rows(baskets.starts, baskets.codes, group.rows)
    row = np.repeat(np.arange(len(group.rows)), np.diff(starts))
    weights = baskets.weights[group.rows]
    node_of = group.cut[codes]
    losses = weighted_counts(node_of, weights[row], len(nodes.parent)) * nodes.width
    losses[nodes.width == 1] = 0
    losses[list(group.closed)] = 0
    closed = group.closed
    for node in np.argsort(-losses, kind="stable")[: int((losses > 0).sum())].tolist():
        below = group.cut.copy()
        items = nodes.order[nodes.low[node] : nodes.high[node]]
        below[items] = _children(nodes, node, items)
        here = node_of == node
        first, link = equal_rows(*rows_once(row[here], below[codes[here]], len(group.rows)))
        chosen = balanced(link, weights, len(first), k)
        if chosen is not None:
            parts = [Group(group.rows[chosen == part], below, closed) for part in np.unique(chosen[chosen >= 0])]
            left = group.rows[chosen < 0]
            return parts + ([Group(left, group.cut, closed | {node})] if len(left) else [])
        closed = closed | {node}
    return []


def _children(nodes: Nodes, node: int, items: Codes) -> Codes:
    """Say for every item under a node which child of the node it is under."""
    children = nodes.leaf[items].copy()
    while True:
        above = nodes.parent[children]
        moved = above != node
        if not moved.any():
            return children
        children[moved] = above[moved]


def balanced(link: Counts, weights: Counts, parts: int, k: int) -> NDArray[np.int64] | None:
    """Say for every row its part, NONE where it is gathered with others; None where no part of k records remains.

    Records join the gathered ones from the part with the most to spare; where no part can spare any, the smallest part
    joins as a whole.
    """
    chosen = link.copy()
    sizes = weighted_counts(link, weights, parts)
    chosen[sizes[link] < k] = NONE
    gathered = int(weights[chosen == NONE].sum())
    sizes[sizes < k] = 0
    while 0 < gathered < k:
        largest = int(sizes.argmax())
        rows = np.flatnonzero(chosen == largest)
        spare = rows[weights[rows] <= sizes[largest] - k] if sizes[largest] else rows
        if len(spare):
            moved = spare[[int(weights[spare].argmin())]]
        elif (sizes > 0).any():
            moved = np.flatnonzero(chosen == int(np.where(sizes > 0, sizes, sizes.max() + 1).argmin()))
        else:
            return None
        gathered += int(weights[moved].sum())
        np.subtract.at(sizes, chosen[moved], weights[moved])
        chosen[moved] = NONE
    return chosen if (sizes > 0).any() else None


def _published(task: Task, tree: Hierarchy, nodes: Nodes, groups: list[Group], maker: str) -> BasketRelease:
    """Make a piece of every group, in the order of their first baskets; baskets without items join the first."""
    groups = sorted(groups, key=lambda group: int(group.rows[0]))
    piece = np.zeros(task.baskets.distinct, np.int32)
    for number, group in enumerate(groups):
        piece[group.rows] = number
    recodings = tuple(cut_recoding(tree, nodes, group.cut) for group in groups)
    return BasketRelease(task.baskets, recodings, piece, maker)
