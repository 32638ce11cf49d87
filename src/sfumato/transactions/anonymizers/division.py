"""The kernels of Partition: which node a group of baskets is divided by, and how."""

from __future__ import annotations

import numpy as np

from sfumato.arrays import Codes, Counts
from sfumato.kernels import kernel
from sfumato.transactions.anonymizers.item_tree import NONE, Nodes


@kernel
def division(
    nodes: Nodes,
    starts: Counts,
    codes: Codes,
    shown: Codes,
    weights: Counts,
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
    own = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        own[i] = weights[rows[i]]
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
def balanced(link: Counts, weights: Counts, parts: int, k: int) -> tuple[Counts, bool]:
    """Say for every row its part, NONE where it is gathered with others; and whether a part of k records remains.

    Records join the gathered ones from the part with the most to spare; where no part can spare any, the smallest part
    joins as a whole.
    """
    chosen, sizes = link.copy(), np.zeros(parts, np.int64)
    for row in range(len(link)):
        sizes[link[row]] += weights[row]
    gathered, large = 0, 0
    for part in range(parts):
        if sizes[part] < k:
            gathered += sizes[part]
            sizes[part] = 0
        else:
            large += 1
    if large == 0:
        return chosen, False
    for row in range(len(link)):
        if sizes[link[row]] == 0:
            chosen[row] = NONE
    while 0 < gathered < k:
        largest = int(np.argmax(sizes))
        spare = NONE
        for row in range(len(link)):
            fits = chosen[row] == largest and weights[row] <= sizes[largest] - k
            if fits and (spare == NONE or weights[row] < weights[spare]):
                spare = row
        if spare != NONE:
            gathered += weights[spare]
            sizes[largest] -= weights[spare]
            chosen[spare] = NONE
            continue
        smallest = NONE
        for part in range(parts):
            if sizes[part] > 0 and (smallest == NONE or sizes[part] < sizes[smallest]):
                smallest = part
        gathered += sizes[smallest]
        sizes[smallest] = 0
        for row in range(len(link)):
            if chosen[row] == smallest:
                chosen[row] = NONE
        large -= 1
        if large == 0:
            return chosen, False
    return chosen, True


@kernel
def descend(nodes: Nodes, starts: Counts, codes: Codes, shown: Codes, rows: Counts, node: int) -> None:
    """Show the children of a node instead of it in some rows; changes `shown`."""
    for row in rows:
        for at in range(starts[row], starts[row + 1]):
            if shown[at] == node:
                shown[at] = _child(nodes, node, codes[at])
