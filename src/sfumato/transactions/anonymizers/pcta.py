"""PCTA: Privacy-constrained Clustering-based Transaction Anonymization (Gkoulalas-Divanis & Loukides, PAIS 2011).

    clusters := every item alone; queue := the privacy constraints, those in the most records first
    while the queue is not empty:
        p := the next constraint, its items replaced by their clusters
        if p is in no record or in k: drop it
        merge the cluster of p with the other cluster, of p or not, for which the utility loss of the union is least
        queue p again if it does not hold yet

UPCTA (Gkoulalas-Divanis & Loukides, TDP 2012) does the same within utility constraints, and suppresses the cluster of p
in the fewest records where they leave no other way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.transactions.anonymizers.set_based import Merged, Order, Price, SetBased, Visit


@dataclass(frozen=True)
class PCTA(SetBased):
    """Merge clusters of items, any two at a time, with no utility constraints and nothing suppressed."""

    order: Order = "descending"
    seed: Merged = "any"
    visit: Visit = "once"
    loss: Price = "subsets"
    name: ClassVar[str] = "pcta"
    title: ClassVar[str] = "PCTA"


@dataclass(frozen=True)
class UPCTA(PCTA):
    """PCTA within utility constraints, suppressing what they leave no other way."""

    name: ClassVar[str] = "upcta"
    title: ClassVar[str] = "UPCTA"
    keeps_utility_constraints: ClassVar[bool] = True
