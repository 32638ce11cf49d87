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

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.arrays import Codes, Counts
from sfumato.errors import InfeasibleError
from sfumato.table import Hierarchy
from sfumato.transactions.anonymizers.aa import TreeBased
from sfumato.transactions.anonymizers.anonymizer import Task
from sfumato.transactions.anonymizers.division import descend, division
from sfumato.transactions.anonymizers.item_tree import NONE, Nodes, cut_recoding, nodes_of
from sfumato.transactions.baskets import Baskets
from sfumato.transactions.policy import BasketRequirement, CompleteKAnonymity
from sfumato.transactions.recoding import BasketRelease, PieceRecodings, PublishedLabels, Recoding


@dataclass(frozen=True, eq=False)
class BasketPiece:
    """Baskets that show the same nodes: which, the nodes that were divided on the way, and those that cannot be."""

    rows: Counts
    divided: tuple[int, ...]
    closed: Codes


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
        root = len(nodes.parent) - 1
        shown = np.full(len(baskets.codes), root, np.int32)  # for every item of a basket the node it is published as
        tally = np.zeros(len(nodes.parent), np.int64)
        waiting = [BasketPiece(np.flatnonzero(baskets.lengths > 0), (), np.zeros(0, np.int32))]
        done: list[BasketPiece] = []
        while waiting:
            group = waiting.pop()
            parts = list(divided(baskets, nodes, shown, tally, group, k))
            done += [] if parts else [group]
            waiting += parts
        return _published(task, tree, nodes, shown, done, str(self))


def divided(
    baskets: Baskets, nodes: Nodes, shown: Codes, tally: Counts, group: BasketPiece, k: int
) -> Iterator[BasketPiece]:
    """Divide a group by the children of one of its nodes; nothing where no node can be divided."""
    node, chosen, failed = division(
        nodes, baskets.starts, baskets.codes, shown, baskets.weights, group.rows, group.closed, tally, k
    )
    if node == NONE:
        return
    closed = np.concatenate([group.closed, failed])
    descend(nodes, baskets.starts, baskets.codes, shown, group.rows[chosen >= 0], node)
    order = np.argsort(chosen, kind="stable")
    bounds = np.flatnonzero(np.diff(chosen[order])) + 1
    for places in np.split(order, bounds):
        rows = group.rows[places]
        if chosen[places[0]] >= 0:
            yield BasketPiece(rows, (*group.divided, node), closed)
    left = group.rows[chosen < 0]
    if len(left):
        yield BasketPiece(left, group.divided, np.append(closed, np.int32(node)))


@dataclass(frozen=True, eq=False)
class CutPieces(PieceRecodings):
    """The cut of every piece, remembered as the nodes that were divided, the root first."""

    tree: Hierarchy
    nodes: Nodes
    shown: Codes
    divided: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.divided)

    def __getitem__(self, piece: Any) -> Any:
        if isinstance(piece, slice):
            return [self._recoding(divided) for divided in self.divided[piece]]
        return self._recoding(self.divided[piece])

    def _recoding(self, divided: tuple[int, ...]) -> Recoding:
        nodes = self.nodes
        cut = np.full(len(nodes.leaf), len(nodes.parent) - 1, np.int32)
        for node in divided:
            items = nodes.order[nodes.low[node] : nodes.high[node]]
            cut[items] = _children(nodes, node, items)
        return cut_recoding(self.tree, nodes, cut)

    def published(self, baskets: Baskets) -> PublishedLabels:
        """Say what stands in the file: what every item of a basket was left at."""
        nodes = self.nodes
        used, codes = np.unique(self.shown, return_inverse=True)
        ends = zip(nodes.start[used].tolist(), nodes.width[used].tolist(), strict=True)
        labels = tuple(self.tree.nodes[start, start + width - 1] for start, width in ends)
        members = [np.sort(nodes.order[nodes.low[node] : nodes.high[node]]) for node in used.tolist()]
        bounds = np.cumsum(np.array([0, *map(len, members)], np.int64))
        items = np.concatenate([np.zeros(0, np.int32), *members]).astype(np.int32)
        leaves = nodes.width[used].astype(np.int64)
        return PublishedLabels(labels, leaves, self.tree.size, bounds, items, codes.ravel().astype(np.int32))


def _children(nodes: Nodes, node: int, items: Codes) -> Codes:
    """Say for every item under a node which child of the node it is under."""
    children = nodes.leaf[items].copy()
    while True:
        above = nodes.parent[children]
        moved = above != node
        if not moved.any():
            return children
        children[moved] = above[moved]


def _published(
    task: Task, tree: Hierarchy, nodes: Nodes, shown: Codes, groups: list[BasketPiece], maker: str
) -> BasketRelease:
    """Make a piece of every group, in the order of their first baskets; baskets without items join the first."""
    groups = sorted(groups, key=lambda group: int(group.rows[0]))
    piece = np.zeros(task.baskets.distinct, np.int32)
    for number, group in enumerate(groups):
        piece[group.rows] = number
    recodings = CutPieces(tree, nodes, shown, tuple(group.divided for group in groups))
    return BasketRelease(task.baskets, recodings, piece, maker)
