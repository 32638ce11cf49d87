"""COAT: COnstraint-based Anonymization of Transactions (Loukides, Gkoulalas-Divanis & Malin, KAIS 2011).

    while some privacy constraint p is in some records but in fewer than k:
        p := the one in the most records
        while p is in fewer than k:
            i := the generalized item of p in the fewest records
            j := the generalized item of i's utility constraint for which UL(i + j) is least
            if there is one: generalize i and j together, else suppress i

The papers leave the order of constraints and ties open; what is done here is said in `merging`. `coat` without
options is the reading above. `order=ascending visit=once` (the rarest constraint first, one merge at a time) loses less
in most of our measurements (docs/transactions.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from sfumato.transactions.anonymizers.set_based import Merged, Order, Price, SetBased, Visit


@dataclass(frozen=True)
class COAT(SetBased):
    """Generalize within utility constraints, and suppress what they leave no other way."""

    order: Order = "descending"
    seed: Merged = "least"
    visit: Visit = "stay"
    loss: Price = "subsets"
    name: ClassVar[str] = "coat"
    title: ClassVar[str] = "COAT"
    keeps_utility_constraints: ClassVar[bool] = True

    def in_words(self) -> str:
        """Name it to people; what is usual for a map by what it does."""
        if self == replace(RAREST_FIRST, loss="tree"):
            return "COAT (rarest first, by the tree)"
        return "COAT (rarest first)" if self == RAREST_FIRST else super().in_words()


RAREST_FIRST = COAT(order="ascending", visit="once", loss="size")
"""What loses least of the readings, and is taken where nobody names a maker."""
