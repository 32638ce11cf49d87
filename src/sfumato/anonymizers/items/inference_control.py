"""SuppressControl: leave items out until no rule tells too much (Cao et al. 2010; Xu et al. 2008).

    For the number of known items i = 0, 1, .. m:
        rules := what is known (i items) and a sensitive item, where too many records that fit show it, or too few fit
        while there are rules:
            leave out the item that is in the most rules per record that shows it.

Cao, Karras, Raissi & Tan choose by rules per information lost, among known and sensitive items. Xu, Wang, Fu & Yu do
it for (h,k,p)-coherence. They call known items that break a bound a mole, and choose the public item e with the
largest MM(e) / IL(e): moles that it is in, and records that show it. Private items are kept there; so they are here,
for (h,k,p)-coherence and PS-rules, unless they are too common for somebody who knows nothing (ours).

Also ours: sizes are served one after the other (a mole of a size is then minimal), and rules are counted once for each
size. Leaving an item out changes no count of a set without it, so the rest of the loop is a cover of the listed rules.
PS-rules are served so too. All texts were had from abstracts and memory alone.

TDControl: from one part for all public items down, dividing parts and leaving items out (Cao et al. 2010).

    cut := all public items as one part (or one for every utility constraint); every sensitive item alone.
    Leave out what SuppressControl does.
    While there is a part that was not tried: take the one that costs the most
        divide it by the tree; leave out what SuppressControl does
        keep the division where that costs less than before, else leave the part whole for good.

The cost of a release is NCP: an occurrence of an item costs the share of all items that its part has, 1 where it is
left out. Cao, Karras, Raissi & Tan divide non-sensitive items by a tree and choose the division by its gain. Ours: the
choice of the next part, the same treatment of (h,k,p)-coherence and PS-rules (Loukides, Gkoulalas-Divanis & Shao also
divide from the top), and halving a part in the order of its items where there is no tree. Parts are published as sets
of items, never as nodes, because a node may also include a sensitive item.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.anonymizers.items.item_anonymizer import BasketAnonymizer, Task
from sfumato.data.items import Baskets
from sfumato.release._inference_rules import NONE, broken_listed, broken_rules, coded_rows, known_sizes
from sfumato.release.items import SUPPRESSED, BasketRelease, global_release, set_recoding
from sfumato.requirements.items import BasketRequirement, Coherence, InferenceRequirement, PSRules, RhoUncertainty, Rule
from sfumato.runtime.arrays import Codes, Counts

INFERENCE: tuple[type[BasketRequirement], ...] = (RhoUncertainty, Coherence, PSRules)


@dataclass(frozen=True)
class SuppressControl(BasketAnonymizer):
    """Leave items out until nothing sensitive can be inferred; what remains is published as it is."""

    name: ClassVar[str] = "suppress-control"
    requirements: ClassVar[tuple[type[BasketRequirement], ...]] = INFERENCE
    keeps_utility_constraints: ClassVar[bool] = True
    """Nothing is generalized, so any utility constraints are kept."""

    def release(self, task: Task) -> BasketRelease:
        """Leave out what must be."""
        keys = Controlled.of(task).suppressed(np.arange(len(task.baskets.items), dtype=np.int32))
        return global_release(task.baskets, set_recoding(task.baskets.items, keys), str(self))


@dataclass(frozen=True, eq=False)
class Controlled:
    """Baskets and what may not be inferred from them, with what is read once."""

    baskets: Baskets
    requirement: InferenceRequirement
    sensitive: tuple[int, ...]
    rules: tuple[Rule, ...]
    """The rules where they are listed."""

    @staticmethod
    def of(task: Task) -> Controlled:
        """Read which items are sensitive."""
        wanted = task.requirement
        assert isinstance(wanted, InferenceRequirement)
        rules = tuple(wanted.rules(task.baskets)) if isinstance(wanted, PSRules) else ()
        return Controlled(task.baskets, wanted, wanted.sensitive_items(task.baskets), rules)

    @property
    def keeps_sensitive(self) -> bool:
        """Whether sensitive items are left out only where nothing else helps."""
        return not isinstance(self.requirement, RhoUncertainty)

    def suppressed(self, keys: Codes) -> Codes:
        """Leave out parts of a partition until no rule is broken; a key is the code of one of a part's items."""
        keys = keys.copy()
        if isinstance(self.requirement, PSRules):
            return self._serve(keys, None)
        for size in known_sizes(self.requirement):
            keys = self._serve(keys, size)
        return keys

    def _serve(self, keys: Codes, size: int | None) -> Codes:
        """Leave out what is in the most broken rules per record, again until none is broken."""
        while True:
            rows = coded_rows(self.baskets, keys, self.sensitive)
            if size is None:
                assert isinstance(self.requirement, PSRules)
                listed = broken_listed(rows, self.requirement, self.rules, keys)
                table = _table([rule for rule, _, _ in listed])
            else:
                broken = broken_rules(rows, self.requirement, size)
                table = np.column_stack([broken.known, broken.concluded])
                if size and self.keeps_sensitive:
                    table = np.ascontiguousarray(table[:, :-1])
            if not len(table):
                return keys
            keys = np.where(np.isin(keys, cover(table, rows.supports)), SUPPRESSED, keys)


def _table(rules: list[Rule]) -> Codes:
    """Write what may be left out of each rule as a row of codes: what is known, else what is concluded."""
    sides = [known or concluded for known, concluded in rules]
    table = np.full((len(sides), max(map(len, sides), default=1)), NONE, np.int32)
    for row, side in zip(table, sides, strict=True):
        row[: len(side)] = side
    return table


def cover(table: Codes, supports: Counts) -> list[int]:
    """Choose codes until every row of a table has one: the code in the most open rows per record that shows it.

    Ties: the code that fewer records show, then the smaller one.

    >>> cover(np.array([[0, 1], [0, 2], [1, -1]]), np.array([1, 1, 1]))
    [0, 1]
    """
    open_rows, chosen = np.ones(len(table), bool), []
    while open_rows.any():
        left = table[open_rows]
        counts = np.bincount(left[left != NONE], minlength=len(supports))
        ratio = counts / np.maximum(supports, 1)
        best = np.flatnonzero(ratio >= ratio.max() * (1 - 1e-12))
        code = int(best[np.lexsort((best, supports[best]))[0]])
        chosen.append(code)
        open_rows &= ~(table == code).any(axis=1)
    return chosen


Part = tuple[int, ...]


@dataclass(frozen=True)
class TDControl(BasketAnonymizer):
    """Generalize public items from the top of the tree down, and leave out what is cheaper left out."""

    name: ClassVar[str] = "td-control"
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
