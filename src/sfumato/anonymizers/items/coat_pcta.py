"""Serving privacy constraints by merging clusters: what COAT and PCTA have in common, and the choices they differ in.

    while some constraint is in fewer than k records (but in some):
        take the next one   (`order`)
        merge one of its clusters (`seed`) with the cluster for which the union loses the least utility (`loss`)
        until the constraint holds, or once, and queue it again   (`visit`)
        where its block of items has no other cluster left: suppress it
        where the owner's file says what items are worth (`weights`): weigh the union by its items, and suppress the
            cluster that costs least, also instead of a merge that loses more, as long as the limit allows

Merging never lowers the support of a constraint that occurs, so what holds goes on to hold and the loop ends. Under
k^m-anonymity the constraints are all pairs and items that occur. Those of the present clusters are in a queue, and a
merge renews the entries of one cluster. Larger sets are found by enumeration once the smaller ones hold, as in Apriori.

COAT: COnstraint-based Anonymization of Transactions (Loukides, Gkoulalas-Divanis & Malin, KAIS 2011).

    while some privacy constraint p is in some records but in fewer than k:
        p := the one in the most records
        while p is in fewer than k:
            i := the generalized item of p in the fewest records
            j := the generalized item of i's utility constraint for which UL(i + j) is least
            if there is one: generalize i and j together, else suppress i

The papers leave the order of constraints and ties open; `merging` documents the order used here. `coat` without
options is the reading above. `order=ascending visit=once` (the rarest constraint first, one merge at a time) loses
less in most of our measurements (docs/concepts/items.md).

PCTA: Privacy-constrained Clustering-based Transaction Anonymization (Gkoulalas-Divanis & Loukides, PAIS 2011).

    clusters := every item alone; queue := the privacy constraints, those in the most records first
    while the queue is not empty:
        p := the next constraint, its items replaced by their clusters
        if p is in no record or in k: drop it
        merge the cluster of p with the other cluster, of p or not, for which the utility loss of the union is least
        queue p again if it does not hold yet

UPCTA (Gkoulalas-Divanis & Loukides, TDP 2012) does the same within utility constraints, and suppresses the cluster of p
in the fewest records where they leave no other way.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.items._clusters import ALIVE, NONE, Clusters, Owner, clusters_of
from sfumato.anonymizers.items._constraint_kernels import present_supports, serve_pairs, serve_sets, size_prices
from sfumato.anonymizers.items.item_anonymizer import BasketAnonymizer, Task, check_enough_records
from sfumato.config.options import Option
from sfumato.data.items import RowPersons, rows_once
from sfumato.release._itemsets import Rows, rare_itemsets
from sfumato.release.items import BasketRelease, global_release, set_recoding
from sfumato.requirements import items as item_rules
from sfumato.runtime.arrays import Codes, Counts
from sfumato.texts.catalogue import refusal

Order = Annotated[
    Literal["descending", "ascending"],
    Option("Which constraint comes next: the one in the most records (`descending`) or in the fewest (`ascending`)."),
]
Merged = Annotated[
    Literal["least", "any"],
    Option(
        "The cluster to merge: the constraint's cluster of `least` support, or `any` of them, whichever costs less."
    ),
]
Visit = Annotated[
    Literal["stay", "once", "round"],
    Option(
        "Whether a constraint is served until it holds (`stay`), or merged `once` and queued again by its new support, "
        "or merged once in a `round`, behind all that wait."
    ),
]
Price = Annotated[
    Literal["subsets", "size", "tree"],
    Option(
        "The price of a merge: support times number of `subsets` of the new part (UL), times its `size`, or times "
        "the leaves of the smallest node of the item `tree` that contains all of it. `tree` keeps sets within a "
        "branch; counts "
        "of pairs are then less exact than by `size`."
    ),
]
Weights = Annotated[
    str | None,
    Option(
        "The owner's weights of items, and penalties for leaving them out, by which merges are priced: lines such as "
        "`250 401: 3 10`.",
        takes="file",
    ),
]
LISTED = 50_000
"""Of sets of three and more items so many, the most urgent, are queued at a time."""

ROUND = 16
"""Sets of three and more items are listed again when one in so many clusters has been merged."""

Choices = tuple[bool, bool, bool, bool, bool, NDArray[np.float64]]
"""Ascending order, any seed, with or without the owner's weights of items, stay, in rounds; the price of every size."""


@dataclass(frozen=True)
class SetBased(BasketAnonymizer):
    """Set-based generalization under privacy constraints, by merging clusters of items."""

    order: Order
    seed: Merged
    visit: Visit
    loss: Price
    weights: Weights = None
    requirements: ClassVar[tuple[type[item_rules.BasketRequirement], ...]] = (
        item_rules.KMAnonymity,
        item_rules.PrivacyConstraints,
    )

    @property
    def public(self) -> Self:
        """The same as everybody may know it: the owner's file is not called by its name."""
        return item_rules.without_file_names(self)

    def choices(self, items: int) -> Choices:
        """Return the choices as kernels read them."""
        prices = size_prices(items, self.loss != "subsets")
        served = self.visit == "stay", self.visit == "round"
        return self.order == "ascending", self.seed == "any", self.weights is not None, *served, prices

    def check_task(self, task: Task) -> None:
        """Refuse also prices by a tree where there is none."""
        super().check_task(task)
        if self.loss == "tree" and task.baskets.tree is None:
            raise refusal("loss_without_a_tree", set_based=self)

    def release(self, task: Task) -> BasketRelease:
        """Merge clusters until every constraint holds."""
        check_enough_records(task, may_suppress=True)
        tree = task.baskets.tree if self.loss == "tree" else None
        state = clusters_of(task.baskets, task.blocks, owner=self._owner(task), tree=tree)
        if isinstance(task.requirement, item_rules.KMAnonymity):
            serve_all_sets(state, task.requirement, self.choices(len(state.slot)))
        else:
            assert isinstance(task.requirement, item_rules.PrivacyConstraints)
            serve_listed(
                state, task.requirement.itemsets(task.baskets), task.requirement.k, self.choices(len(state.slot))
            )
        keys = np.where(state.slot >= 0, state.first[state.slot], NONE)
        return global_release(task.baskets, set_recoding(task.baskets.items, keys), str(self))

    def _owner(self, task: Task) -> Owner | None:
        """Read the weights of items, and return how much of them may be suppressed."""
        if self.weights is None:
            return None
        worth = task.worth or item_rules.read_weights(task.baskets, self.weights)
        room = task.limit.share if worth.may_choose else 0.0
        return Owner(worth.weights, worth.penalties, task.limit.shares(task.baskets), room)


def serve_all_sets(state: Clusters, requirement: item_rules.KMAnonymity, choices: Choices) -> None:
    """Serve all sets of up to m items that occur: items and pairs from one queue, then larger sets, size by size."""
    serve_pairs(state, requirement.k, min(requirement.m, 2), *choices)
    for size in range(3, requirement.m + 1):
        while True:
            starts, codes = _present_rows(state)
            rows = Rows(starts, codes, state.weights, len(state.slot), RowPersons(state.kind, state.persons))
            rare, supports, _ = rare_itemsets(rows, size, requirement.k)
            if not len(rare):
                break
            urgent = np.argsort(supports if choices[0] else -supports, kind="stable")[:LISTED]
            itemsets = np.sort(state.first[rare[urgent]], axis=1)
            order = np.lexsort(itemsets.T[::-1])
            patience = max(1, int(state.facts[ALIVE]) // ROUND)
            serve_sets(state, itemsets[order], supports[urgent][order], requirement.k, patience, *choices)


def _present_rows(state: Clusters) -> tuple[Counts, Codes]:
    """Return the rows as they are now, ascending."""
    row = np.repeat(np.arange(len(state.lengths)), state.lengths)
    at = np.repeat(state.starts[:-1] - np.cumsum(state.lengths) + state.lengths, state.lengths) + np.arange(len(row))
    return rows_once(row, state.codes[at], len(state.lengths))


def serve_listed(state: Clusters, itemsets: list[tuple[int, ...]], k: int, choices: Choices) -> None:
    """Serve explicit constraints, again until all hold: a merge may bring one into being that was in no record."""
    widest = max(map(len, itemsets), default=0)
    table = np.full((len(itemsets), max(widest, 1)), NONE, np.int32)
    for row, itemset in zip(table, itemsets, strict=True):
        row[: len(itemset)] = itemset
    while serve_sets(state, table, present_supports(state, table), k, len(state.slot), *choices):
        pass


@dataclass(frozen=True)
class COAT(SetBased):
    """Generalize within utility constraints, and suppress what they leave no other way."""

    order: Order = "descending"
    seed: Merged = "least"
    visit: Visit = "stay"
    loss: Price = "subsets"
    name: ClassVar[str] = "coat"
    keeps_utility_constraints: ClassVar[bool] = True

    def in_words(self) -> str:
        """Name it to people; what is usual for a map by what it does."""
        if self == replace(RAREST_FIRST, loss="tree"):
            return "COAT (rarest first, by the tree)"
        return "COAT (rarest first)" if self == RAREST_FIRST else super().in_words()


RAREST_FIRST = COAT(order="ascending", visit="once", loss="size")
"""The variant with the least loss; used where no anonymizer is named."""


@dataclass(frozen=True)
class PCTA(SetBased):
    """Merge clusters of items, any two at a time, with no utility constraints and nothing suppressed."""

    order: Order = "descending"
    seed: Merged = "any"
    visit: Visit = "once"
    loss: Price = "subsets"
    name: ClassVar[str] = "pcta"


@dataclass(frozen=True)
class UPCTA(PCTA):
    """PCTA within utility constraints, suppressing what they leave no other way."""

    name: ClassVar[str] = "upcta"
    keeps_utility_constraints: ClassVar[bool] = True
