"""TDControl: from one part for all public items down, dividing parts and leaving items out (Cao et al. 2010).

    cut := all public items as one part (or one for every utility constraint); every sensitive item alone
    leave out what SuppressControl does
    while there is a part that was not tried: take the one that costs the most
        divide it by the tree; leave out what SuppressControl does
        keep the division where that costs less than before, else leave the part whole for good

What a release costs is NCP: an occurrence of an item costs the share of all items that its part has, 1 where it is left
out. Cao, Karras, Raissi & Tan divide non-sensitive items by a tree and choose the division by its gain. Ours: which
part is tried next, that (h,k,p)-coherence and PS-rules are served the same way (Loukides, Gkoulalas-Divanis & Shao also
divide from the top), that without a tree a part is halved in the order of its items, and that parts are published as
sets of items, never as nodes: a node may stand for a sensitive item too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.arrays import Codes
from sfumato.transactions.anonymizers.anonymizer import BasketAnonymizer, Task
from sfumato.transactions.anonymizers.inference.suppress_control import INFERENCE, Controlled
from sfumato.transactions.baskets import Baskets
from sfumato.transactions.policy import BasketRequirement
from sfumato.transactions.recoding import SUPPRESSED, BasketRelease, global_release, set_recoding

Part = tuple[int, ...]


@dataclass(frozen=True)
class TDControl(BasketAnonymizer):
    """Generalize public items from the top of the tree down, and leave out what is cheaper left out."""

    name: ClassVar[str] = "td-control"
    title: ClassVar[str] = "TDControl"
    requirements: ClassVar[tuple[type[BasketRequirement], ...]] = INFERENCE
    keeps_utility_constraints: ClassVar[bool] = True

    def release(self, task: Task) -> BasketRelease:
        """Divide from the top."""
        baskets, controlled = task.baskets, Controlled.of(task)
        waiting = _first_parts(baskets, controlled.sensitive, task.blocks)
        cut = _keys(len(baskets.items), waiting)
        keys = controlled.suppressed(cut)
        cost = ncp(baskets, keys)
        while waiting:
            part = max(waiting, key=lambda each: (_weight(baskets, each), each))
            waiting.remove(part)
            divided = _divided(baskets, part)
            if len(divided) < 2:
                continue
            finer = cut.copy()
            for smaller in divided:
                finer[list(smaller)] = smaller[0]
            tried = controlled.suppressed(finer)
            if (tried_cost := ncp(baskets, tried)) < cost:
                cut, keys, cost = finer, tried, tried_cost
                waiting += divided
        return global_release(baskets, set_recoding(baskets.items, keys), str(self))


def ncp(baskets: Baskets, keys: Codes) -> float:
    """Return the mean cost of an occurrence of an item under a partition by keys."""
    sizes = np.bincount(keys[keys != SUPPRESSED], minlength=len(keys))
    each = np.where(keys == SUPPRESSED, len(keys), np.where(sizes[keys] == 1, 0, sizes[keys]))
    return float((each * baskets.supports).sum() / (len(keys) * max(baskets.occurrences, 1)))


def _first_parts(baskets: Baskets, sensitive: Part, blocks: Codes) -> list[Part]:
    """Return the public items as one part for every block."""
    public = np.setdiff1d(np.arange(len(baskets.items)), sensitive)
    return [tuple(public[blocks[public] == block].tolist()) for block in np.unique(blocks[public])]


def _keys(items: int, parts: list[Part]) -> Codes:
    """Return for every item the first item of its part; itself where it is in none."""
    keys = np.arange(items, dtype=np.int32)
    for part in parts:
        keys[list(part)] = part[0]
    return keys


def _weight(baskets: Baskets, part: Part) -> int:
    """Return what a part costs, but for what is the same for all."""
    return len(part) * int(baskets.supports[list(part)].sum()) if len(part) > 1 else 0


def _divided(baskets: Baskets, part: Part) -> list[Part]:
    """Divide a part by the children of the lowest node over it; in two halves where there is no tree."""
    if len(part) < 2:
        return []
    if baskets.tree is None:
        return [part[: len(part) // 2], part[len(part) // 2 :]]
    items = np.array(part)
    for above in reversed(baskets.tree.ancestors):
        nodes = above[baskets.leaf[items]]
        if (nodes != nodes[0]).any():
            return [tuple(items[nodes == node].tolist()) for node in np.unique(nodes)]
    raise AssertionError("two items are one leaf of the tree")
