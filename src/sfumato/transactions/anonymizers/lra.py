"""LRA: local recoding anonymization for k^m-anonymity (Terrovitis, Mamoulis & Kalnis, VLDB Journal 2011).

    sort the baskets as Gray codes, the items as bits in the order of the tree's leaves: neighbours differ in little
    cut the order into pieces of about the same number of records
    anonymize every piece by itself with AA

Whoever matches known items against all pieces finds, in each, none or at least k records; so the whole is
k^m-anonymous. An item may be published differently in different pieces.

Which items are the highest bits is open in what we could read of the paper. In the order of the tree's leaves a piece
has the items of few subtrees, often, which is what AA generalizes to; with the most frequent items first every piece
has all of the rare ones, each a few times, and loses up to twice as much (docs/transactions.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from sfumato.arrays import Codes, Counts
from sfumato.configuration import Option
from sfumato.transactions.anonymizers.aa import TreeBased, lifted
from sfumato.transactions.anonymizers.anonymizer import Task, check_enough_records
from sfumato.transactions.anonymizers.item_tree import cut_recoding, nodes_of
from sfumato.transactions.baskets import Baskets, leaf_codes, taken_rows
from sfumato.transactions.policy import KMAnonymity
from sfumato.transactions.recoding import BasketRelease


@dataclass(frozen=True)
class LRA(TreeBased):
    """AA in each of several pieces of similar baskets."""

    pieces: Annotated[
        int, Option("About how many pieces; fewer where one would have fewer than k records with items.", least=1)
    ] = 10

    name: ClassVar[str] = "lra"
    title: ClassVar[str] = "LRA"

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
    return replace(baskets, starts=starts, codes=codes, weights=baskets.weights[rows])


def pieces_of(baskets: Baskets, leaf: Codes, most: int, k: int) -> Codes:
    """Cut the baskets, in the order of Gray codes, into about so many pieces of at least k records with items."""
    order = gray_order(baskets, leaf)
    target = max(k, -(-baskets.filled // most))
    piece = np.empty(baskets.distinct, np.int32)
    number = held = 0
    for basket in order.tolist():
        more = int(baskets.weights[basket]) if baskets.lengths[basket] else 0
        if held >= k and held + more - target > target - held:  # it is nearer to its size without this basket
            number, held = number + 1, 0
        piece[basket] = number
        held += more
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
