"""Partition: complete k-anonymity of baskets by local generalization (He & Naughton, VLDB 2009).

    Anonymize(partition):                      all its baskets show the same nodes of the tree
        v := the shown node that loses most, among those not tried yet.
        Divide the baskets by which children of v they have.
        Parts of fewer than k records are gathered; if they are still fewer, records of the largest parts join them.
        The gathered ones go on without dividing v, every part goes on with the children of v instead of v.

It begins with all baskets showing the root. Every published basket is then that of at least k records, so an attacker
may know any number of items. A basket without items can only be hidden among others without.

The kernels of Partition: which node a group of baskets is divided by, and how.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.anonymizers.items._item_tree import NONE, Nodes, cut_recoding, nodes_of
from sfumato.anonymizers.items.aa import TreeBased
from sfumato.anonymizers.items.item_anonymizer import Task
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.items import Baskets, RowPersons
from sfumato.errors import InfeasibleError
from sfumato.release.items import BasketRelease, ItemParts, PieceRecodings, PublishedParts, Recoding
from sfumato.requirements.items import BasketRequirement, CompleteKAnonymity
from sfumato.runtime.arrays import Codes, Counts
from sfumato.runtime.kernels import kernel
from sfumato.texts.catalogue import counted


@kernel
def division(
    nodes: Nodes,
    starts: Counts,
    codes: Codes,
    shown: Codes,
    weights: Counts,
    people: RowPersons,
    rows: Counts,
    closed: Codes,
    tally: Counts,
    k: int,
) -> tuple[int, Counts, Codes]:
    """Find the node that loses most of those by which rows can be divided; NONE where there is none.

    Returns it, for every row its part (NONE where it is gathered with others), and the nodes that were tried in vain.
    `tally` (one place for every node) is zero before and after. Time: the items of the rows, for every node tried.
    """
    order = _by_loss(nodes, starts, shown, weights, rows, closed, tally)
    own = RowPersons(people.kind[rows], people.number[rows])
    for turn in range(len(order)):
        link, parts = _parts_by_children(nodes, starts, codes, shown, rows, order[turn])
        chosen, some = balanced(link, own, parts, k)
        if some:
            return order[turn], chosen, order[:turn].copy()
    return NONE, np.empty(0, np.int64), order


@kernel
def _by_loss(
    nodes: Nodes, starts: Counts, shown: Codes, weights: Counts, rows: Counts, closed: Codes, tally: Counts
) -> Codes:
    """List the nodes that rows show and that can be divided, by what they lose, the most first; ties by number."""
    touched, number = np.empty(len(nodes.parent), np.int32), 0
    for row in rows:
        for at in range(starts[row], starts[row + 1]):
            node = shown[at]
            if tally[node] == 0:
                touched[number] = node
                number += 1
            tally[node] += weights[row]
    for node in closed:
        tally[node] = -tally[node]
    kept, losses = np.empty(number, np.int32), np.empty(number, np.int64)
    many = 0
    for i in range(number):
        node = touched[i]
        if tally[node] > 0 and nodes.width[node] > 1:
            kept[many], losses[many] = node, tally[node] * nodes.width[node]
            many += 1
        tally[node] = 0
    for i in range(1, many):  # few nodes: by insertion
        node, loss, at = kept[i], losses[i], i
        while at > 0 and (losses[at - 1] < loss or (losses[at - 1] == loss and kept[at - 1] > node)):
            kept[at], losses[at] = kept[at - 1], losses[at - 1]
            at -= 1
        kept[at], losses[at] = node, loss
    return kept[:many].copy()


@kernel
def _child(nodes: Nodes, node: int, item: int) -> int:
    """Return the child of a node that an item is under."""
    child = int(nodes.leaf[item])
    while nodes.parent[child] != node:
        child = int(nodes.parent[child])
    return child


@kernel
def _parts_by_children(
    nodes: Nodes, starts: Counts, codes: Codes, shown: Codes, rows: Counts, node: int
) -> tuple[Counts, int]:
    """Number rows by which children of a node they have, in lexicographic order of these: links, and how many."""
    ends, total = np.zeros(len(rows) + 1, np.int64), 0
    for i in range(len(rows)):
        for at in range(starts[rows[i]], starts[rows[i] + 1]):
            total += shown[at] == node
    children, filled = np.empty(total, np.int32), 0
    for i in range(len(rows)):
        first = filled
        for at in range(starts[rows[i]], starts[rows[i] + 1]):
            if shown[at] != node:
                continue
            child, place = _child(nodes, node, codes[at]), filled
            while place > first and children[place - 1] > child:
                place -= 1
            if place > first and children[place - 1] == child:
                continue
            for later in range(filled, place, -1):
                children[later] = children[later - 1]
            children[place] = child
            filled += 1
        ends[i + 1] = filled
    order = _sorted_lists(children, ends)
    link, number = np.empty(len(rows), np.int64), 0
    for i in range(len(rows)):
        if i > 0 and _compared(children, ends, order[i - 1], order[i]) != 0:
            number += 1
        link[order[i]] = number
    return link, number + 1


@kernel
def _compared(lists: Codes, ends: Counts, a: int, b: int) -> int:
    """Compare two lists: below zero where the first comes first."""
    length = min(ends[a + 1] - ends[a], ends[b + 1] - ends[b])
    for i in range(length):
        difference = int(lists[ends[a] + i]) - int(lists[ends[b] + i])
        if difference != 0:
            return difference
    return int(ends[a + 1] - ends[a]) - int(ends[b + 1] - ends[b])


@kernel
def _sorted_lists(lists: Codes, ends: Counts) -> Counts:
    """Sort lists lexicographically, stable: merging runs of twice the length again and again."""
    number = len(ends) - 1
    order, other = np.arange(number), np.empty(number, np.int64)
    run = 1
    while run < number:
        for low in range(0, number, 2 * run):
            middle, high = min(low + run, number), min(low + 2 * run, number)
            left, right = low, middle
            for at in range(low, high):
                if left < middle and (right >= high or _compared(lists, ends, order[left], order[right]) <= 0):
                    other[at] = order[left]
                    left += 1
                else:
                    other[at] = order[right]
                    right += 1
        order, other = other, order
        run *= 2
    return order


@kernel
def balanced(link: Counts, people: RowPersons, parts: int, k: int) -> tuple[Counts, bool]:
    """Say for every row its part, NONE where it is gathered with others; and whether a part of k persons remains.

    Rows join the gathered ones from the part with the most persons, those of the fewest persons first, as long as k
    remain there; then the smallest part joins as a whole. Rows are in the order of persons.
    """
    chosen, sizes, last = link.copy(), np.zeros(parts, np.int64), np.full(parts, NONE, np.int32)
    for row in range(len(link)):
        if last[link[row]] != people.kind[row]:
            last[link[row]] = people.kind[row]
            sizes[link[row]] += people.number[row]
    sizes[sizes < k] = 0
    for row in range(len(link)):
        if sizes[link[row]] == 0:
            chosen[row] = NONE
    fewest_first = np.argsort(people.number, kind="mergesort")
    while sizes.max() > 0:
        gathered = _persons_of(chosen, people, NONE)
        if gathered == 0 or gathered >= k:
            return chosen, True
        largest, spared = int(np.argmax(sizes)), False
        for row in fewest_first:
            if chosen[row] == largest:
                chosen[row] = NONE
                left = _persons_of(chosen, people, largest)
                spared = left >= k
                if spared:
                    sizes[largest] = left
                    break
                chosen[row] = largest
        if not spared:
            smallest = int(np.argmin(np.where(sizes > 0, sizes, sizes.max() + 1)))
            sizes[smallest] = 0
            for row in range(len(link)):
                if chosen[row] == smallest:
                    chosen[row] = NONE
    return chosen, False


@kernel
def _persons_of(chosen: Counts, people: RowPersons, part: int) -> int:
    """Count the persons with a row in a part."""
    number, last = 0, NONE
    for row in range(len(chosen)):
        if chosen[row] == part and people.kind[row] != last:
            last = people.kind[row]
            number += people.number[row]
    return number


@kernel
def descend(nodes: Nodes, starts: Counts, codes: Codes, shown: Codes, rows: Counts, node: int) -> None:
    """Show the children of a node instead of it in some rows; changes `shown`."""
    for row in rows:
        for at in range(starts[row], starts[row + 1]):
            if shown[at] == node:
                shown[at] = _child(nodes, node, codes[at])


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
    requirements: ClassVar[tuple[type[BasketRequirement], ...]] = (CompleteKAnonymity,)

    def check_task(self, task: Task) -> None:
        """Refuse also where too few records have items, or have none."""
        baskets, wanted = task.baskets, task.requirement
        empty = baskets.people.count(np.flatnonzero(baskets.lengths == 0))
        for number, what in ((empty, "have no items"), (baskets.filled, "have items")):
            if 0 < number < wanted.k:
                raise InfeasibleError(
                    f"{wanted}: only {counted(number, baskets.unit)} {what}, and they cannot look like the others; "
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
        nodes,
        baskets.starts,
        baskets.codes,
        shown,
        baskets.weights,
        baskets.people,
        group.rows,
        group.closed,
        tally,
        k,
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

    def published(self) -> PublishedParts:
        """Return the published node of every item of a basket."""
        nodes = self.nodes
        used, codes = np.unique(self.shown, return_inverse=True)
        ends = zip(nodes.start[used].tolist(), nodes.width[used].tolist(), strict=True)
        labels = tuple(self.tree.nodes[start, start + width - 1] for start, width in ends)
        members = [np.sort(nodes.order[nodes.low[node] : nodes.high[node]]) for node in used.tolist()]
        bounds = np.cumsum(np.array([0, *map(len, members)], np.int64))
        items = np.concatenate([np.zeros(0, np.int32), *members]).astype(np.int32)
        leaves = nodes.width[used].astype(np.int64)
        parts = ItemParts(labels, leaves, bounds, items, self.tree.size)
        return PublishedParts(parts, codes.ravel().astype(np.int32))


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
