"""The kernels of `merging`: serving one constraint by a merge, and the queues in which constraints wait."""

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.items._clusters import (
    ALIVE,
    CHANGES,
    NONE,
    TOUCHED,
    Clusters,
    merge,
    support_of,
    suppress,
    tally_with,
)
from sfumato.runtime._kernel_helpers import pop, pushed
from sfumato.runtime.arrays import Codes, Counts
from sfumato.runtime.kernels import kernel

SAME = 1e-12
"""Utility losses (base 2 logarithms) that differ by less are equal, so that rounding does not choose."""


# -- one constraint ------------------------------------------------------------------------------------------


@kernel
def present_slots(state: Clusters, itemset: Codes, slots: Codes) -> int:
    """Write the different clusters of a set's items (suppressed ones are dropped) to `slots`; return how many."""
    number = 0
    for item in itemset:
        if item == NONE or state.slot[item] == NONE:
            continue
        slot = state.slot[item]
        known = False
        for i in range(number):
            known = known or slots[i] == slot
        if not known:
            slots[number] = slot
            number += 1
    return number


def size_prices(most: int, by_size: bool) -> NDArray[np.float64]:
    """Return log2 of what utility loss has for the size of a part, up to `most`: 2^size - 1, or the size itself."""
    sizes = np.arange(most + 1, dtype=np.float64)
    sizes[0] = 1.0
    return np.log2(sizes) if by_size else sizes + np.log2(1.0 - np.exp2(-sizes))


@kernel
def part_price(state: Clusters, a: int, b: int, size: int, prices: NDArray[np.float64]) -> float:
    """Return log2 of what utility loss has for one part of two clusters: for its size, or for its node in the tree.

    If parts are priced by the tree, that is the number of leaves of the smallest node that has all of its items.
    """
    low, high = min(state.low[a], state.low[b]), max(state.high[a], state.high[b])
    for level in range(len(state.above)):
        if state.above[level, low] == state.above[level, high]:
            return np.log2(float(state.widths[level, low]))
    return prices[size]


@kernel
def cheapest_partner(state: Clusters, seed: int, prices: NDArray[np.float64]) -> tuple[int, float, int]:
    """Find the cluster of the same block whose union with `seed` loses least: slot (or NONE), price, union's support.

    The price is log2 of the loss, but for what is the same for all parts: size's price + log2 support + log2 of the
    mean weight of its items. Ties: the smaller support of the union, then the smaller least item.
    """
    tally_with(state, seed, False)
    best, lowest, fewest = NONE, np.inf, 0
    floor = np.log2(float(max(state.supports[seed], 1)))
    for i in range(state.facts[ALIVE]):
        other = state.alive[i]
        if other == seed or state.block[other] != state.block[seed]:
            continue
        size = state.sizes[seed] + state.sizes[other]
        of_part = part_price(state, seed, other, size, prices) + np.log2(
            (state.worth[seed] + state.worth[other]) / size
        )
        if of_part + floor > lowest + SAME:
            continue
        union = state.supports[seed] + state.supports[other] - state.tally[other]
        cost = of_part + np.log2(float(max(union, 1)))
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
        slot = slots[i]
        if state.supports[slot] != state.supports[best]:
            better = state.supports[slot] < state.supports[best]
        elif state.sizes[slot] != state.sizes[best]:
            better = state.sizes[slot] < state.sizes[best]
        else:
            better = state.first[slot] < state.first[best]
        if better:
            best = slot
    return best


@kernel
def cheapest_left_out(state: Clusters, slots: Codes, number: int) -> int:
    """Return the cluster that costs its owner least to leave out; ties: that in the fewest records, and as there."""
    best = least_supported(state, slots, number)
    for i in range(number):
        if state.penalties[slots[i]] < state.penalties[best] * (1 - SAME):
            best = slots[i]
    return best


@kernel
def is_better_left_out(state: Clusters, seed: int, partner: int, cost: float, prices: NDArray[np.float64]) -> bool:
    """Return whether suppressing a cluster is allowed and costs less than merging it at this price adds to UL.

    Merging replaces the partner's loss by that of the union. A loss is 2^price over the price of all items together.
    """
    if state.shares[seed] > state.room[0] + SAME:
        return False
    size = state.sizes[partner]
    before = part_price(state, partner, partner, size, prices) + np.log2(
        state.worth[partner] / size * max(state.supports[partner], 1)
    )
    whole = np.log2(float(state.widths[-1, 0])) if len(state.widths) else prices[len(prices) - 1]
    return state.penalties[seed] < 2.0 ** (cost - whole) - 2.0 ** (before - whole)


@kernel
def merge_once(
    state: Clusters, slots: Codes, number: int, any_seed: bool, owned: bool, prices: NDArray[np.float64]
) -> None:
    """Merge one cluster of a constraint with its cheapest partner; suppress where none has one.

    Suppressed is the least supported. If the owner set weights of items (`owned`), it is the one that costs least, and
    also a cluster that is cheaper to suppress than to merge.
    """
    least = least_supported(state, slots, number)
    gone = cheapest_left_out(state, slots, number) if owned else least
    if not any_seed:
        partner, cost, _ = cheapest_partner(state, least, prices)
        if partner == NONE:
            suppress(state, gone)
        elif owned and is_better_left_out(state, least, partner, cost, prices):
            suppress(state, least)
        else:
            merge(state, least, partner)
        return
    seed, other, lowest, fewest = NONE, NONE, np.inf, 0
    for i in range(number):
        partner, cost, union = cheapest_partner(state, slots[i], prices)
        if partner == NONE:
            continue
        better = cost < lowest - SAME
        if not better and cost < lowest + SAME:
            better = union < fewest or (union == fewest and state.first[slots[i]] < state.first[seed])
        if better:
            seed, other, lowest, fewest = slots[i], partner, cost, union
    if seed == NONE:
        suppress(state, gone)
    elif owned and is_better_left_out(state, seed, other, lowest, prices):
        suppress(state, seed)
    else:
        merge(state, seed, other)


@kernel
def serve(
    state: Clusters,
    itemset: Codes,
    k: int,
    any_seed: bool,
    owned: bool,
    stay: bool,
    prices: NDArray[np.float64],
    slots: Codes,
) -> int:
    """Visit one constraint; return its support afterwards (0 where it is in no record)."""
    served = False
    while True:
        number = present_slots(state, itemset, slots)
        support = support_of(state, slots, number) if number else 0
        if support == 0 or support >= k or (served and not stay):
            return support
        merge_once(state, slots, number, any_seed, owned, prices)
        served = True


# -- queues --------------------------------------------------------------------------------------------------


@kernel
def most_urgent(state: Clusters, cluster: int, k: int, m: int, ascending: bool) -> tuple[int, int]:
    """Find the first constraint among a cluster and its pairs that fewer than k persons have: key and stamp, or NONE.

    The key orders by round, support, single clusters before pairs, least items. The stamp has the versions of the
    cluster and of its partner, and the cluster: it tells whether the entry is still what it was.
    """
    width = len(state.slot) + 1
    a = state.first[cluster]
    best, stamp = NONE, NONE
    tally_with(state, cluster, True)
    own = state.tally[cluster]
    if 0 < own < k:
        rank = 2 * (own if ascending else k - own)
        best = ((state.rounds[cluster] * (2 * k + 2) + rank) * width + a) * width + width - 1
        stamp = state.versions[a] * width * width + a
    if m < 2:
        return best, stamp
    for i in range(state.facts[TOUCHED]):
        other = state.touched[i]
        support = state.tally[other]
        if other == cluster or support >= k:
            continue
        b = state.first[other]
        rank = 2 * (support if ascending else k - support) + 1
        turn = max(state.rounds[cluster], state.rounds[other])
        key = ((turn * (2 * k + 2) + rank) * width + min(a, b)) * width + max(a, b)
        if best == NONE or key < best:
            best, stamp = key, (state.versions[a] * width + state.versions[b]) * width + a
    return best, stamp


@kernel
def is_present(state: Clusters, least: int, version: int) -> bool:
    """Return whether the cluster with this least item is unchanged."""
    slot = state.slot[least]
    return slot != NONE and state.first[slot] == least and state.versions[least] == version


@kernel
def serve_pairs(
    state: Clusters,
    k: int,
    m: int,
    ascending: bool,
    any_seed: bool,
    owned: bool,
    stay: bool,
    in_rounds: bool,
    prices: NDArray[np.float64],
) -> None:
    """Serve all items and (m = 2) pairs that occur, but in records of fewer than k persons, from one queue.

    Every cluster has one entry, its most urgent constraint. A pair belongs to whichever of its clusters changed last,
    so a change makes one entry; one whose partner has changed is found out, and renewed, when it comes up.
    """
    width = len(state.slot) + 1
    keys, stamps, size = np.empty(width, np.int64), np.empty(width, np.int64), 0
    waiting = np.empty(2, np.int32)
    itemset, slots = np.empty(2, np.int32), np.empty(2, np.int32)
    for i in range(state.facts[ALIVE]):
        key, stamp = most_urgent(state, state.alive[i], k, m, ascending)
        if key != NONE:
            keys, stamps = pushed(keys, stamps, size, key, stamp)
            size += 1
    while size > 0:
        key, stamp = keys[0], stamps[0]
        pop(keys, stamps, size)
        size -= 1
        a, b, owner = (key // width) % width, key % width, stamp % width
        if not is_present(state, owner, stamp // width // width):
            continue
        waiting[0], waiting[1] = owner, NONE
        partner = b if a == owner else a
        if b == width - 1 or is_present(state, partner, (stamp // width) % width):
            itemset[0], itemset[1] = a, b if b < width - 1 else NONE
            turn = key // width // width // (2 * k + 2)
            serve(state, itemset, k, any_seed, owned, stay, prices, slots)
            if b < width - 1 and not is_present(state, partner, (stamp // width) % width):
                waiting[1] = partner if state.slot[partner] != state.slot[owner] else NONE
                if in_rounds and state.slot[partner] != NONE:
                    state.rounds[state.slot[partner]] = turn + 1
            if in_rounds and state.slot[owner] != NONE and not is_present(state, owner, stamp // width // width):
                state.rounds[state.slot[owner]] = turn + 1
        for item in waiting:
            if item != NONE and state.slot[item] != NONE:
                key, stamp = most_urgent(state, state.slot[item], k, m, ascending)
                if key != NONE:
                    keys, stamps = pushed(keys, stamps, size, key, stamp)
                    size += 1


@kernel
def present_supports(state: Clusters, itemsets: Codes) -> Counts:
    """Count for every set the persons who have a record with all its clusters."""
    slots, supports = np.empty(itemsets.shape[1], np.int32), np.zeros(len(itemsets), np.int64)
    for place in range(len(itemsets)):
        number = present_slots(state, itemsets[place], slots)
        if number:
            supports[place] = support_of(state, slots, number)
    return supports


@kernel
def serve_sets(
    state: Clusters,
    itemsets: Codes,
    supports: Counts,
    k: int,
    patience: int,
    ascending: bool,
    any_seed: bool,
    owned: bool,
    stay: bool,
    in_rounds: bool,
    prices: NDArray[np.float64],
) -> int:
    """Serve listed sets (rows of items, NONE where a row is shorter) that have these supports now.

    Stops after `patience` changes; returns how many were made. A set is queued by the support it has then; one that has
    more when its turn comes is queued again.
    """
    number = len(itemsets)
    slots = np.empty(itemsets.shape[1], np.int32)
    keys, stamps, size = np.empty(number + 16, np.int64), np.empty(number + 16, np.int64), 0
    before, turn = state.facts[CHANGES], 0
    for place in range(number):
        if 0 < supports[place] < k:
            rank = supports[place] if ascending else k - supports[place]
            keys, stamps = pushed(keys, stamps, size, rank * number + place, supports[place])
            size += 1
    while size > 0 and state.facts[CHANGES] - before < patience:
        place, known = keys[0] % number, stamps[0]
        turn = keys[0] // number // (k + 1)
        pop(keys, stamps, size)
        size -= 1
        clusters = present_slots(state, itemsets[place], slots)
        support = support_of(state, slots, clusters) if clusters else 0
        if support == known:
            support = serve(state, itemsets[place], k, any_seed, owned, stay, prices, slots)
            turn += 1 if in_rounds else 0
        if 0 < support < k:
            rank = support if ascending else k - support
            keys, stamps = pushed(keys, stamps, size, (turn * (k + 1) + rank) * number + place, support)
            size += 1
    return state.facts[CHANGES] - before
