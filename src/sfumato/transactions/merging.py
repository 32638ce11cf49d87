"""Serving privacy constraints by merging clusters: what COAT and PCTA have in common, and the choices they differ in.

    while some constraint is in fewer than k records (but in some):
        take the next one                                      (`order`)
        of one of its clusters or of all (`seed`): merge it with the cluster that costs the least utility (`loss`)
        until the constraint holds, or once, and queue again   (`visit`)
        where its block of items has no other cluster left: suppress it

Merging never lowers the support of a constraint that occurs, so what holds goes on to hold and the loop ends. Under
k^m-anonymity the constraints are all pairs and items that occur; those of the present clusters stand in a queue, and a
merge renews the entries of one cluster. Larger sets are found by enumeration once the smaller ones hold, as in Apriori.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.configuration import check_choice
from sfumato.errors import InfeasibleError
from sfumato.kernels import kernel
from sfumato.transactions.anonymizer import BasketAnonymizer, Task
from sfumato.transactions.baskets import Codes, Counts, rows_once
from sfumato.transactions.clusters import (
    ALIVE,
    CHANGES,
    NONE,
    TOUCHED,
    Clusters,
    clusters_of,
    merge,
    support_of,
    suppress,
    tally_with,
)
from sfumato.transactions.counting import rare_itemsets
from sfumato.transactions.policy import BasketRequirement, KMAnonymity, PrivacyConstraints
from sfumato.transactions.recoding import BasketRelease, global_release, set_recoding

ORDERS = ("descending", "ascending")
SEEDS = ("least", "any")
VISITS = ("stay", "once")
LOSSES = ("subsets", "size")
SAME = 1e-12
"""Utility losses (base 2 logarithms) that differ by less are equal, so that rounding does not choose."""

MOST_LISTED = 1 << 22
"""Sets of three and more items are served in rounds of at most so many."""

ROUND = 16
"""Sets of three and more are listed anew when one in so many clusters has been merged."""


@dataclass(frozen=True)
class Strategy:
    """The choices as numbers, as kernels read them."""

    ascending: bool
    any_seed: bool
    once: bool
    by_size: bool


@dataclass(frozen=True)
class SetBased(BasketAnonymizer):
    """Set-based generalization under privacy constraints, by merging clusters of items."""

    order: str
    """Which constraint comes next: the one in the most records (`descending`) or in the fewest (`ascending`)."""

    seed: str
    """What is merged: the constraint's cluster of `least` support, or `any` of them, whichever costs less."""

    visit: str
    """Whether a constraint is served until it holds (`stay`), or merged `once` and queued again."""

    loss: str
    """How a merge is priced: support times number of `subsets` of the new part (UL), or times its `size`."""

    requirements: ClassVar[tuple[type[BasketRequirement], ...]] = (KMAnonymity, PrivacyConstraints)

    def __post_init__(self) -> None:
        check_choice("order", self.order, ORDERS)
        check_choice("seed", self.seed, SEEDS)
        check_choice("visit", self.visit, VISITS)
        check_choice("loss", self.loss, LOSSES)

    @property
    def strategy(self) -> Strategy:
        """The choices as kernels read them."""
        return Strategy(self.order == "ascending", self.seed == "any", self.visit == "once", self.loss == "size")

    def release(self, task: Task) -> BasketRelease:
        """Merge clusters until every constraint holds."""
        return self.released_from(task, None)

    def released_from(self, task: Task, start: NDArray[np.integer] | None) -> BasketRelease:
        """Make the release beginning with given clusters (`sweep` hands on those of a smaller k)."""
        _check_feasible(task)
        state = clusters_of(task.baskets, task.blocks, start)
        if isinstance(task.requirement, KMAnonymity):
            serve_all_sets(state, task.requirement, self.strategy)
        else:
            assert isinstance(task.requirement, PrivacyConstraints)
            serve_listed(state, task.requirement.itemsets(task.baskets), task.requirement.k, self.strategy)
        keys = np.where(state.slot >= 0, state.first[state.slot], NONE)
        return global_release(task.baskets, set_recoding(task.baskets.items, keys), str(self))


def _check_feasible(task: Task) -> None:
    """Raise where even one part for all items is in fewer than k records, and nothing may be suppressed."""
    most, k = task.baskets.filled, task.requirement.k
    if most < k and task.limit.share == 0 and most:
        raise InfeasibleError(
            f"{task.requirement}: only {most:,} records have any item, so no published part can be in {k:,}; "
            f"k={most} is the most"
        )


def serve_all_sets(state: Clusters, requirement: KMAnonymity, strategy: Strategy) -> None:
    """Serve all sets of up to m items that occur: items and pairs from one queue, then larger sets, size by size."""
    serve_pairs(
        state,
        requirement.k,
        min(requirement.m, 2),
        strategy.ascending,
        strategy.any_seed,
        strategy.once,
        strategy.by_size,
    )
    for size in range(3, requirement.m + 1):
        while True:
            starts, codes = _present_rows(state)
            found, _, _ = rare_itemsets(starts, codes, state.weights, len(state.slot), size, requirement.k, MOST_LISTED)
            if not len(found):
                break
            itemsets = state.first[found].astype(np.int32)
            patience = max(1, int(state.facts[ALIVE]) // ROUND)
            _serve_rows(state, itemsets, requirement.k, strategy, patience)


def _present_rows(state: Clusters) -> tuple[Counts, Codes]:
    """Return the rows as they are now, ascending."""
    row = np.repeat(np.arange(len(state.lengths)), state.lengths)
    at = np.repeat(state.starts[:-1] - np.cumsum(state.lengths) + state.lengths, state.lengths) + np.arange(len(row))
    return rows_once(row, state.codes[at], len(state.lengths))


def serve_listed(state: Clusters, itemsets: list[tuple[int, ...]], k: int, strategy: Strategy) -> None:
    """Serve explicit constraints, again until all hold: a merge may bring one into being that was in no record."""
    widest = max(map(len, itemsets), default=0)
    table = np.full((len(itemsets), max(widest, 1)), NONE, np.int32)
    for row, own in zip(table, itemsets, strict=True):
        row[: len(own)] = own
    while _serve_rows(state, table, k, strategy, len(state.slot)):
        pass


def _serve_rows(state: Clusters, itemsets: Codes, k: int, strategy: Strategy, patience: int) -> int:
    return serve_sets(
        state,
        itemsets,
        k,
        patience,
        strategy.ascending,
        strategy.any_seed,
        strategy.once,
        strategy.by_size,
    )


# -- one constraint ------------------------------------------------------------------------------------------


@kernel
def present_slots(state: Clusters, itemset: Codes, slots: Codes) -> int:
    """Write the different clusters of a set's items (suppressed ones are dropped) to `slots`; return how many."""
    number = 0
    for item in itemset:
        if item == NONE or state.slot[item] == NONE:
            continue
        own = state.slot[item]
        known = False
        for i in range(number):
            known = known or slots[i] == own
        if not known:
            slots[number] = own
            number += 1
    return number


@kernel
def price(size: int, support: int, by_size: bool) -> float:
    """Return log2 of the utility loss of a part, but for what is the same for all: (2^size - 1) x support."""
    if by_size:
        return np.log2(float(size)) + np.log2(float(support))
    return size + np.log2(1.0 - 2.0 ** -float(size)) + np.log2(float(support))


@kernel
def cheapest_partner(state: Clusters, own: int, by_size: bool) -> tuple[int, float, int]:
    """Find the cluster of the same block whose union with `own` loses least: slot (or NONE), price, union's support.

    Ties: the smaller support of the union, then the smaller least item.
    """
    tally_with(state, own)
    best, lowest, fewest = NONE, np.inf, 0
    for i in range(state.facts[ALIVE]):
        other = state.alive[i]
        if other == own or state.block[other] != state.block[own]:
            continue
        union = state.supports[own] + state.supports[other] - state.tally[other]
        cost = price(state.sizes[own] + state.sizes[other], max(union, 1), by_size)
        better = cost < lowest - SAME
        if not better and cost < lowest + SAME:
            better = union < fewest or (union == fewest and state.first[other] < state.first[best])
        if better:
            best, lowest, fewest = other, cost, union
    return best, lowest, fewest


@kernel
def least_supported(state: Clusters, slots: Codes, number: int) -> int:
    """Return the cluster in the fewest records; ties: the smaller one, then the smaller least item."""
    best = slots[0]
    for i in range(1, number):
        own = slots[i]
        if state.supports[own] != state.supports[best]:
            better = state.supports[own] < state.supports[best]
        elif state.sizes[own] != state.sizes[best]:
            better = state.sizes[own] < state.sizes[best]
        else:
            better = state.first[own] < state.first[best]
        if better:
            best = own
    return best


@kernel
def merge_once(state: Clusters, slots: Codes, number: int, any_seed: bool, by_size: bool) -> None:
    """Merge one cluster of a constraint with its cheapest partner; suppress the least supported where none has one."""
    least = least_supported(state, slots, number)
    if not any_seed:
        partner, _, _ = cheapest_partner(state, least, by_size)
        if partner == NONE:
            suppress(state, least)
        else:
            merge(state, least, partner)
        return
    own, other, lowest, fewest = NONE, NONE, np.inf, 0
    for i in range(number):
        partner, cost, union = cheapest_partner(state, slots[i], by_size)
        if partner == NONE:
            continue
        better = cost < lowest - SAME
        if not better and cost < lowest + SAME:
            better = union < fewest or (union == fewest and state.first[slots[i]] < state.first[own])
        if better:
            own, other, lowest, fewest = slots[i], partner, cost, union
    if own == NONE:
        suppress(state, least)
    else:
        merge(state, own, other)


@kernel
def serve(state: Clusters, itemset: Codes, k: int, any_seed: bool, once: bool, by_size: bool, slots: Codes) -> int:
    """Visit one constraint; return its support afterwards (0 where it is in no record)."""
    served = False
    while True:
        number = present_slots(state, itemset, slots)
        support = support_of(state, slots, number) if number else 0
        if support == 0 or support >= k or (once and served):
            return support
        merge_once(state, slots, number, any_seed, by_size)
        served = True


# -- queues --------------------------------------------------------------------------------------------------


@kernel
def pushed(keys: Counts, stamps: Counts, size: int, key: int, stamp: int) -> tuple[Counts, Counts]:
    """Put an entry on the heap of `size` entries (least key first); return its arrays, grown where they were full."""
    if size == len(keys):
        more, longer = np.empty(2 * size + 16, np.int64), np.empty(2 * size + 16, np.int64)
        more[:size], longer[:size] = keys, stamps
        keys, stamps = more, longer
    at = size
    while at > 0 and keys[(at - 1) // 2] > key:
        keys[at], stamps[at] = keys[(at - 1) // 2], stamps[(at - 1) // 2]
        at = (at - 1) // 2
    keys[at], stamps[at] = key, stamp
    return keys, stamps


@kernel
def pop(keys: Counts, stamps: Counts, size: int) -> None:
    """Take the first entry off the heap of `size` entries."""
    key, stamp = keys[size - 1], stamps[size - 1]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size - 1:
            break
        if child + 1 < size - 1 and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[at], stamps[at] = keys[child], stamps[child]
        at = child
    keys[at], stamps[at] = key, stamp


@kernel
def queue_of(
    state: Clusters, own: int, k: int, m: int, ascending: bool, later: bool, keys: Counts, stamps: Counts, size: int
) -> tuple[Counts, Counts, int]:
    """Queue a cluster, and its pairs with all others (`later`: with those of larger least items), that are too rare.

    The key orders by support, then single clusters before pairs, then by least items.
    """
    items = len(state.slot)
    a = state.first[own]
    support = state.supports[own]
    if 0 < support < k:
        rank = 2 * (support if ascending else k - support)
        keys, stamps = pushed(keys, stamps, size, (rank * (items + 1) + a) * (items + 1) + items, state.versions[a])
        size += 1
    if m < 2:
        return keys, stamps, size
    tally_with(state, own)
    for i in range(state.facts[TOUCHED]):
        other = state.touched[i]
        support = state.tally[other]
        b = state.first[other]
        if other == own or support >= k or (later and b < a):
            continue
        rank = 2 * (support if ascending else k - support) + 1
        key = (rank * (items + 1) + min(a, b)) * (items + 1) + max(a, b)
        keys, stamps = pushed(keys, stamps, size, key, state.versions[a] + state.versions[b])
        size += 1
    return keys, stamps, size


@kernel
def serve_pairs(state: Clusters, k: int, m: int, ascending: bool, any_seed: bool, once: bool, by_size: bool) -> None:
    """Serve all items and (m = 2) pairs that occur in fewer than k records, from one queue.

    An entry names two clusters by their least items; it is stale once one of them has changed.
    """
    items = len(state.slot)
    keys, stamps, size = np.empty(1 << 16, np.int64), np.empty(1 << 16, np.int64), 0
    for i in range(state.facts[ALIVE]):
        keys, stamps, size = queue_of(state, state.alive[i], k, m, ascending, True, keys, stamps, size)
    itemset, slots = np.empty(2, np.int32), np.empty(2, np.int32)
    while size > 0:
        key, stamp = keys[0], stamps[0]
        pop(keys, stamps, size)
        size -= 1
        b = key % (items + 1)
        a = (key // (items + 1)) % (items + 1)
        now = state.versions[a] + (state.versions[b] if b < items else 0)
        stale = now != stamp or state.slot[a] == NONE or state.first[state.slot[a]] != a
        if not stale and b < items:
            stale = state.slot[b] == NONE or state.first[state.slot[b]] != b
        if stale:
            continue
        itemset[0], itemset[1] = a, b if b < items else NONE
        slots[0], slots[1] = state.slot[a], state.slot[b] if b < items else state.slot[a]
        before = state.facts[CHANGES]
        serve(state, itemset, k, any_seed, once, by_size, slots)
        if state.facts[CHANGES] == before:
            continue
        first, second = state.slot[a], state.slot[b] if b < items else NONE
        if first != NONE:
            keys, stamps, size = queue_of(state, first, k, m, ascending, False, keys, stamps, size)
        if second != NONE and second != first:
            keys, stamps, size = queue_of(state, second, k, m, ascending, False, keys, stamps, size)


@kernel
def serve_sets(
    state: Clusters,
    itemsets: Codes,
    k: int,
    patience: int,
    ascending: bool,
    any_seed: bool,
    once: bool,
    by_size: bool,
) -> int:
    """Serve listed sets (rows of items, NONE where a row is shorter); stop after `patience` changes; return these.

    A set is queued by the support it has then; one that has more when its turn comes is queued again.
    """
    number = len(itemsets)
    slots = np.empty(itemsets.shape[1], np.int32)
    keys, stamps, size = np.empty(number + 16, np.int64), np.empty(number + 16, np.int64), 0
    before, changes = state.facts[ALIVE], 0
    for own in range(number):
        clusters = present_slots(state, itemsets[own], slots)
        support = support_of(state, slots, clusters) if clusters else 0
        if 0 < support < k:
            rank = support if ascending else k - support
            keys, stamps = pushed(keys, stamps, size, rank * number + own, 0)
            size += 1
    while size > 0 and changes < patience:
        rank, own = keys[0] // number, keys[0] % number
        pop(keys, stamps, size)
        size -= 1
        clusters = present_slots(state, itemsets[own], slots)
        support = support_of(state, slots, clusters) if clusters else 0
        if support == (rank if ascending else k - rank):
            support = serve(state, itemsets[own], k, any_seed, once, by_size, slots)
            changes = before - state.facts[ALIVE]
        if 0 < support < k:
            rank = support if ascending else k - support
            keys, stamps = pushed(keys, stamps, size, rank * number + own, 0)
            size += 1
    return changes
