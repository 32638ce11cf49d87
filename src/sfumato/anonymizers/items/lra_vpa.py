"""LRA: local recoding anonymization for k^m-anonymity (Terrovitis, Mamoulis & Kalnis, VLDB Journal 2011).

    Sort the baskets as Gray codes, the items as bits in the order of the tree's leaves: neighbours differ in little.
    Cut the order into pieces of about the same number of records.
    Anonymize every piece separately with AA.

Whoever matches known items against all pieces finds, in each, none or at least k records; so the whole is
k^m-anonymous. An item may be published differently in different pieces.

Which items are the highest bits is open in what we could read of the paper. In the order of the tree's leaves, a piece
often has the items of few subtrees, which is what AA generalizes to. With the most frequent items first, every piece
has all of the rare ones, each a few times, and loses up to twice as much (docs/concepts/items.md).

VPA: vertical partitioning anonymization for k^m-anonymity (Terrovitis, Mamoulis & Kalnis, VLDB Journal 2011).

    Parts := the nodes of the highest level of the tree that has at least so many.
    Anonymize the items under every part by themselves with AA: far fewer sets have to be counted.
        Only nodes within the part are lifted to; what they cannot help is left to the whole.
    Unite the cuts, and let AA lift what is still needed, such as sets of items of several parts.

A part is all items under one node. If a part cut through a node, an item next to the cut could not be lifted.
Every item that is rare together with it was lifted to the largest nodes instead: 2 to 6 times the loss of AA.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, ClassVar

import numpy as np

from sfumato.anonymizers.items._item_tree import Nodes, cut_recoding, nodes_of
from sfumato.anonymizers.items.aa import TreeBased, lifted
from sfumato.anonymizers.items.item_anonymizer import Task, check_enough_records
from sfumato.config.options import Option
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.items import Baskets, leaf_codes, rows_once, taken_rows
from sfumato.release.items import BasketRelease, global_release
from sfumato.requirements.items import KMAnonymity
from sfumato.runtime.arrays import Codes, Counts


@dataclass(frozen=True)
class LRA(TreeBased):
    """AA in each of several pieces of similar baskets."""

    pieces: Annotated[int, Option(least=1)] = 10
    """About how many pieces; fewer where one would have fewer than k records with items."""

    name: ClassVar[str] = "lra"

    def release(self, task: Task) -> BasketRelease:
        """Sort, cut, and anonymize every piece."""
        check_enough_records(task)
        assert isinstance(task.requirement, KMAnonymity)
        tree = self.tree_for(task.baskets)
        piece = pieces_of(task.baskets, leaf_codes(tree, task.baskets.items), self.pieces, task.requirement.k)
        recodings = []
        for number in range(int(piece.max()) + 1):
            part = some_rows(task.baskets, np.flatnonzero(piece == number))
            nodes = nodes_of(tree, part)
            recodings.append(cut_recoding(tree, nodes, lifted(part, nodes, nodes.leaf.copy(), task.requirement)))
        return BasketRelease(task.baskets, tuple(recodings), piece, str(self))


def some_rows(baskets: Baskets, rows: Counts) -> Baskets:
    """Return some of the distinct baskets, over the same items."""
    starts, codes = taken_rows(baskets.starts, baskets.codes, rows)
    persons = None if baskets.persons is None else baskets.persons.some(rows)
    return replace(baskets, starts=starts, codes=codes, weights=baskets.weights[rows], persons=persons)


def pieces_of(baskets: Baskets, leaf: Codes, most: int, k: int) -> Codes:
    """Cut the baskets, in the order of Gray codes, into about so many pieces of at least k persons with items."""
    order = gray_order(baskets, leaf)
    target = max(k, -(-baskets.filled // most))
    piece = np.empty(baskets.distinct, np.int32)
    number = held = 0
    kind, persons = baskets.people
    seen = set[int]()
    for basket in order.tolist():
        more = 0 if kind[basket] in seen or not baskets.lengths[basket] else int(persons[basket])
        if held >= k and held + more - target > target - held:  # it is nearer to its size without this basket
            number, held, seen = number + 1, 0, set()
            more = int(persons[basket]) if baskets.lengths[basket] else 0
        piece[basket] = number
        held += more
        if more:
            seen.add(int(kind[basket]))
    if number > 0 and held < k:  # the rest is too small to stand alone
        piece[piece == number] = number - 1
    return piece


def gray_order(baskets: Baskets, leaf: Codes) -> Counts:
    """Sort baskets as Gray codes: read from the first leaf's item on, every item turns the direction of the rest."""
    rank = np.empty(len(baskets.items), np.int64)
    rank[np.argsort(leaf, kind="stable")] = np.arange(len(rank))
    bounds = baskets.starts.tolist()
    ranks = rank[baskets.codes].tolist()
    end = len(rank)

    def key(basket: int) -> list[int]:
        places = [*sorted(ranks[bounds[basket] : bounds[basket + 1]]), end]
        return [-place if turn % 2 == 0 else place for turn, place in enumerate(places)]

    return np.array(sorted(range(baskets.distinct), key=key), np.int64)


@dataclass(frozen=True)
class VPA(TreeBased):
    """AA for parts of the items, then for all of them."""

    parts: Annotated[int, Option(least=1)] = 4
    """How many parts of the items at least; a part is a node of the tree."""

    name: ClassVar[str] = "vpa"

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
