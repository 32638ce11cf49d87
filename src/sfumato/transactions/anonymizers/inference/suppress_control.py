"""SuppressControl: leave items out until no rule tells too much (Cao et al. 2010; Xu et al. 2008).

    for the number of known items i = 0, 1, .. m:
        rules := what is known (i items) and a sensitive item, where too many records that fit show it, or too few fit
        while there are rules:
            leave out the item that is in the most rules per record that shows it

Cao, Karras, Raissi & Tan choose by rules per information lost, among known and sensitive items. Xu, Wang, Fu & Yu do it
for (h,k,p)-coherence, where what is known and breaks a bound is called a mole, and choose the public item e with the
largest MM(e) / IL(e): moles that it is in, and records that show it. Private items are kept there; so they are here,
for (h,k,p)-coherence and PS-rules, unless they are too common for somebody who knows nothing (ours).

Ours is also that sizes are served one after the other (a mole of a size is then minimal), and that rules are
counted once for each size: leaving an item out changes no count of a set without it, so the rest of the loop is a cover
of the listed rules. PS-rules are served so too. All texts were had from abstracts and memory alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.arrays import Codes, Counts
from sfumato.transactions.anonymizers.anonymizer import BasketAnonymizer, Task
from sfumato.transactions.baskets import Baskets
from sfumato.transactions.measures.inference import (
    NONE,
    broken_listed,
    broken_rules,
    coded_rows,
    known_sizes,
)
from sfumato.transactions.policy import BasketRequirement, Coherence, InferenceRequirement, PSRules, RhoUncertainty
from sfumato.transactions.policy.inference import Rule
from sfumato.transactions.recoding import SUPPRESSED, BasketRelease, global_release, set_recoding

INFERENCE: tuple[type[BasketRequirement], ...] = (RhoUncertainty, Coherence, PSRules)


@dataclass(frozen=True)
class SuppressControl(BasketAnonymizer):
    """Leave items out until nothing sensitive can be inferred; what remains is published as it is."""

    name: ClassVar[str] = "suppress-control"
    title: ClassVar[str] = "SuppressControl"
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
