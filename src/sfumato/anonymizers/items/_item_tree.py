"""Trees of items: one made of nothing but their order, and any tree as arrays that kernels walk.

Only nodes with items that occur are kept; a node knows its rows, so its support never has to be counted again.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sfumato.data.hierarchies.hierarchy import ROOT, Hierarchy, Level
from sfumato.data.items import Baskets, leaf_codes, rows_once
from sfumato.release.items import Recoding, numbered
from sfumato.runtime.arrays import Codes, Counts
from sfumato.texts.catalogue import refusal

NONE = -1


def balanced_tree(items: tuple[str, ...], fanout: int) -> Hierarchy:
    """Build a tree that means nothing: `fanout` neighbours in the order of items under every node.

    >>> balanced_tree(("a", "b", "c", "d", "e"), 2).levels[1].labels
    ('a..b', 'c..d', 'e')
    """
    if ROOT in items:
        raise refusal("item_called_like_everything", root=ROOT)
    size = len(items)
    levels = [Level(tuple(range(size)), items)]
    taken = set(items) | {ROOT}
    step = fanout
    while step < size:
        starts = tuple(range(0, size, step))
        levels.append(Level(starts, tuple(_label(items, start, min(start + step, size), taken) for start in starts)))
        step *= fanout
    if size > 1:
        levels.append(Level((0,), (ROOT,)))
    return Hierarchy(tuple(levels), (1.0,) * size, observed=True)


def _label(items: tuple[str, ...], start: int, end: int, taken: set[str]) -> str:
    if end - start == 1:
        return items[start]
    label = f"{items[start]}..{items[end - 1]}"
    while label in taken:
        label += "."
    taken.add(label)
    return label


class Nodes(NamedTuple):
    """The nodes of a tree that have items, each once; parents come after children."""

    begins: Counts
    rows: Codes
    """The rows that have an item under node v are `rows[begins[v] : begins[v + 1]]`, ascending."""

    parent: Codes
    low: Codes
    high: Codes
    """The items under node v are `low[v] .. high[v] - 1` in the order of their leaves (`order`)."""

    order: Codes
    cost: Counts
    """The increase of the certainty penalty by publishing v: its leaves times the occurrences under it, 0 for a
    leaf."""

    start: Codes
    width: Codes
    """The leaves of the tree under v are `start[v] .. start[v] + width[v] - 1`."""

    leaf: Codes
    """For every item its own node."""


def nodes_of(tree: Hierarchy, baskets: Baskets) -> Nodes:
    """Lay a tree out over the items of some baskets."""
    leaf = leaf_codes(tree, baskets.items)
    order = np.argsort(leaf, kind="stable").astype(np.int32)
    sorted_leaf = leaf[order]
    numbers: dict[tuple[int, int], int] = {}
    intervals: list[tuple[int, int, int, int]] = []
    above = np.empty((len(tree.levels), len(order)), np.int64)
    for depth, level in enumerate(tree.levels):
        ends = np.array([*level.starts, tree.size])
        nodes, first = np.unique(tree.ancestors[depth][sorted_leaf], return_index=True)
        last = np.append(first[1:], len(order))
        for node, low, high in zip(nodes.tolist(), first.tolist(), last.tolist(), strict=True):
            key = (int(ends[node]), int(ends[node + 1]))
            number = numbers.setdefault(key, len(intervals))
            if number == len(intervals):
                intervals.append((low, high, key[0], key[1] - key[0]))
            above[depth, low:high] = number
    low, high, start, width = (np.array(column, np.int64) for column in zip(*intervals, strict=True))
    parent = np.full(len(low), NONE, np.int32)
    for below, over in pairwise(above):
        moved = below != over
        parent[below[moved]] = over[moved]
    begins, rows = _rows_under(baskets, order, above, len(low))
    mass = np.concatenate([[0], np.cumsum(baskets.supports[order])])
    cost = np.where(width == 1, 0, width * (mass[high] - mass[low]))
    item_leaf = np.empty(len(order), np.int32)
    item_leaf[order] = above[0]
    return Nodes(
        begins,
        rows,
        parent,
        low.astype(np.int32),
        high.astype(np.int32),
        order,
        cost.astype(np.int64),
        start.astype(np.int32),
        width.astype(np.int32),
        item_leaf,
    )


def cut_recoding(tree: Hierarchy, nodes: Nodes, cut: Codes) -> Recoding:
    """Publish every item as the node of a cut that it is under."""
    parts = numbered(cut)
    _, at = np.unique(parts, return_index=True)
    part_nodes = cut[at]
    ends = zip(nodes.start[part_nodes].tolist(), nodes.width[part_nodes].tolist(), strict=True)
    labels = tuple(tree.nodes[start, start + width - 1] for start, width in ends)
    return Recoding(parts, labels, nodes.width[part_nodes].astype(np.int64), tree.size)


def _rows_under(baskets: Baskets, order: Codes, above: Counts, nodes: int) -> tuple[Counts, Codes]:
    """List for every node the distinct baskets that have an item under it."""
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    row = np.repeat(np.arange(baskets.distinct, dtype=np.int32), baskets.lengths)
    ancestors = above[:, position[baskets.codes]]
    return rows_once(ancestors.ravel(), np.tile(row, len(above)), nodes)
