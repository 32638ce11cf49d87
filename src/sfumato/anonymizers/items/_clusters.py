"""Clusters of items, merged again and again: the moving parts of set-based generalization (COAT, PCTA).

A cluster is published as one part. The rows always show the present clusters, each once; a merge changes the rows of
the smaller of the two, so its cost is that cluster's records. Which records have a cluster is read off the items' own
lists of rows, which never change. Prices are worked out from records; constraints are about persons.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.data.cells import weighted_counts
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.items import Baskets, leaf_codes, rows_once
from sfumato.release._itemsets import holders
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.runtime.kernels import kernel

NONE = -1
ALIVE, TICK, TOUCHED, CHANGES, PERSONS = 0, 1, 2, 3, 4
"""Places in `facts`: how many clusters there are, the last mark given to a row, tallies that are set, changes made, and
whether a person may have several rows."""


class Clusters(NamedTuple):
    """The state that merging changes. A cluster has a slot; the number of the slot has no meaning."""

    starts: Counts
    lengths: Counts
    codes: Codes
    """The slots in row r are `codes[starts[r] : starts[r] + lengths[r]]`, in any order."""

    weights: Counts
    """How many records every row has."""

    kind: Codes
    persons: Counts
    """Whose every row is (see `RowPersons`)."""

    begins: Counts
    rows: Codes
    """The rows that had item i at first are `rows[begins[i] : begins[i + 1]]`."""

    slot: Codes
    """For every item its cluster, NONE where it is suppressed."""

    following: Codes
    """For every item the next member of its cluster, NONE after the last."""

    head: Codes
    tail: Codes
    first: Codes
    """For every slot its first and last member as they are linked, and the least one, by which ties are broken."""

    sizes: Counts
    supports: Counts
    worth: Numbers
    """For every slot the weights of its items together."""

    penalties: Numbers
    """For every slot what it costs to leave its items out: of each its penalty times the records that have it."""

    shares: Numbers
    """For every slot how much of what may be left out its items take."""

    room: Numbers
    """How much may still be left out (one number)."""

    low: Codes
    high: Codes
    """For every slot the first and the last leaf of its items in their tree."""

    above: NDArray[np.int32]
    widths: Counts
    """The tree by which parts are priced: for every level and leaf its node, and how many leaves that has. Empty where
    no tree is used."""

    block: Codes
    """For every slot the block of items within which it may be merged."""

    alive: Codes
    place: Codes
    """The slots in use, and where in `alive` each of them stands."""

    versions: Counts
    """By the least member of a cluster: how often such a cluster has changed."""

    rounds: Counts
    """For every slot the round in which its constraints come up next."""

    marks: Counts
    tally: Counts
    touched: Codes
    stamp: Codes
    """For every slot the kind of persons that was tallied last with it."""

    listed: Codes
    """Room for rows."""

    facts: Counts


class Owner(NamedTuple):
    """The weights of items, set by their owner, and how much of them may be left out."""

    weights: Numbers
    penalties: Numbers
    shares: Numbers
    """How much of what may be left out every item takes."""

    room: float


def clusters_of(
    baskets: Baskets,
    blocks: Codes,
    start: NDArray[np.integer] | None = None,
    owner: Owner | None = None,
    tree: Hierarchy | None = None,
) -> Clusters:
    """Begin with every item alone, or with the clusters of `start` (equal keys; a negative key is suppressed).

    `tree` is that of the items, where parts are priced by it.
    """
    items = len(baskets.items)
    leaf = np.zeros(items, np.int32) if tree is None else leaf_codes(tree, baskets.items)
    slot = np.arange(items, dtype=np.int32)
    if start is not None:
        _, least, group = np.unique(start, return_index=True, return_inverse=True)
        slot = np.where(start >= 0, least[group], NONE).astype(np.int32)
    row = np.repeat(np.arange(baskets.distinct), baskets.lengths)
    starts, codes = rows_once(row, slot[baskets.codes], baskets.distinct)
    lengths = np.diff(starts)
    begins, rows, _ = holders(baskets.starts, baskets.codes, items)
    following, head, tail = _linked(slot)
    used = np.flatnonzero(head >= 0).astype(np.int32)
    place = np.full(items, NONE, np.int32)
    place[used] = np.arange(len(used))
    alive = np.full(items, NONE, np.int32)
    alive[: len(used)] = used
    owner = owner or Owner(np.ones(items), np.zeros(items), np.zeros(items), 0.0)
    kept = slot >= 0

    def by_slot(values: Numbers) -> Numbers:
        return np.bincount(slot[kept], values[kept], items).astype(np.float64)

    return Clusters(
        starts=starts,
        lengths=lengths,
        codes=codes,
        weights=baskets.weights.copy(),
        kind=baskets.people.kind.copy(),
        persons=baskets.people.number.copy(),
        begins=begins,
        rows=rows,
        slot=slot,
        following=following,
        head=head,
        tail=tail,
        first=head.copy(),
        sizes=weighted_counts(slot[slot >= 0], None, items),
        supports=weighted_counts(codes, np.repeat(baskets.weights, lengths), items),
        worth=by_slot(owner.weights),
        penalties=by_slot(owner.penalties * baskets.supports),
        shares=by_slot(owner.shares),
        room=np.array([owner.room - float(owner.shares[~kept].sum())]),
        low=_by_slot(np.minimum, slot, leaf),
        high=_by_slot(np.maximum, slot, leaf),
        above=np.zeros((0, 1), np.int32) if tree is None else tree.ancestors,
        widths=np.zeros((0, 1), np.int64) if tree is None else tree.node_widths,
        block=np.asarray(blocks, np.int32).copy(),
        alive=alive,
        place=place,
        versions=np.zeros(items, np.int64),
        rounds=np.zeros(items, np.int64),
        marks=np.zeros(baskets.distinct, np.int64),
        tally=np.zeros(items, np.int64),
        touched=np.empty(items, np.int32),
        stamp=np.full(items, NONE, np.int32),
        listed=np.empty(baskets.distinct, np.int32),
        facts=np.array([len(used), 0, 0, 0, baskets.persons is not None], np.int64),
    )


def _by_slot(better: np.ufunc, slot: Codes, leaf: Codes) -> Codes:
    """Return for every slot the least, or the largest, leaf of its items."""
    best, kept = leaf.copy(), slot >= 0
    best[slot[kept]] = leaf[kept]
    better.at(best, slot[kept], leaf[kept])
    return best


def _linked(slot: Codes) -> tuple[Codes, Codes, Codes]:
    """Link the members of every cluster in ascending order."""
    following = np.full(len(slot), NONE, np.int32)
    head, tail = following.copy(), following.copy()
    for item, cluster in enumerate(slot.tolist()):
        if cluster == NONE:
            continue
        if head[cluster] == NONE:
            head[cluster] = item
        else:
            following[tail[cluster]] = item
        tail[cluster] = item
    return following, head, tail


@kernel
def rows_with(state: Clusters, cluster: int) -> int:
    """List the rows that have a cluster, those of one person together; return how many these are."""
    state.facts[TICK] += 1
    number, item, several = 0, state.head[cluster], False
    while item != NONE:
        several = several or state.following[item] != NONE
        for at in range(state.begins[item], state.begins[item + 1]):
            row = state.rows[at]
            if state.marks[row] != state.facts[TICK]:
                state.marks[row] = state.facts[TICK]
                state.listed[number] = row
                number += 1
        item = state.following[item]
    if several and state.facts[PERSONS]:
        state.listed[:number].sort()
    return number


@kernel
def tally_with(state: Clusters, cluster: int, in_persons: bool) -> None:
    """Count for every cluster the persons, or the records, that have it together with one; forget the count before."""
    for i in range(state.facts[TOUCHED]):
        state.tally[state.touched[i]], state.stamp[state.touched[i]] = 0, NONE
    touched = 0
    for row in state.listed[: rows_with(state, cluster)]:
        for place in range(state.starts[row], state.starts[row] + state.lengths[row]):
            other = state.codes[place]
            if state.tally[other] == 0:
                state.touched[touched] = other
                touched += 1
            if not in_persons:
                state.tally[other] += state.weights[row]
            elif state.stamp[other] != state.kind[row]:
                state.stamp[other] = state.kind[row]
                state.tally[other] += state.persons[row]
    state.facts[TOUCHED] = touched


@kernel
def support_of(state: Clusters, slots: Codes, number: int) -> int:
    """Count the persons who have a record with all of these clusters."""
    least = slots[0]
    for i in range(1, number):
        if state.supports[slots[i]] < state.supports[least]:
            least = slots[i]
    support, last = 0, NONE
    for row in state.listed[: rows_with(state, least)]:
        present = 0
        for place in range(state.starts[row], state.starts[row] + state.lengths[row]):
            for i in range(number):
                if state.codes[place] == slots[i]:
                    present += 1
        if present == number and state.kind[row] != last:
            last = state.kind[row]
            support += state.persons[row]
    return support


@kernel
def merge(state: Clusters, a: int, b: int) -> int:
    """Make one cluster of two; return its slot."""
    kept, gone = (a, b) if state.supports[a] >= state.supports[b] else (b, a)
    both = 0
    item = state.head[gone]
    while item != NONE:
        for at in range(state.begins[item], state.begins[item + 1]):
            row = state.rows[at]
            gone_at, twice = NONE, False
            end = state.starts[row] + state.lengths[row]
            for place in range(state.starts[row], end):
                if state.codes[place] == gone:
                    gone_at = place
                elif state.codes[place] == kept:
                    twice = True
            if gone_at != NONE and twice:
                state.codes[gone_at] = state.codes[end - 1]
                state.lengths[row] -= 1
                both += state.weights[row]
            elif gone_at != NONE:
                state.codes[gone_at] = kept
        state.slot[item] = kept
        item = state.following[item]
    state.following[state.tail[kept]] = state.head[gone]
    state.tail[kept] = state.tail[gone]
    state.first[kept] = min(state.first[kept], state.first[gone])
    state.low[kept] = min(state.low[kept], state.low[gone])
    state.high[kept] = max(state.high[kept], state.high[gone])
    state.sizes[kept] += state.sizes[gone]
    state.worth[kept] += state.worth[gone]
    state.penalties[kept] += state.penalties[gone]
    state.shares[kept] += state.shares[gone]
    state.supports[kept] += state.supports[gone] - both
    _leave(state, gone)
    state.versions[state.first[kept]] += 1
    state.facts[CHANGES] += 1
    return kept


@kernel
def suppress(state: Clusters, cluster: int) -> None:
    """Take a cluster out of all rows."""
    item = state.head[cluster]
    while item != NONE:
        for at in range(state.begins[item], state.begins[item + 1]):
            row = state.rows[at]
            end = state.starts[row] + state.lengths[row]
            for place in range(state.starts[row], end):
                if state.codes[place] == cluster:
                    state.codes[place] = state.codes[end - 1]
                    state.lengths[row] -= 1
                    break
        state.slot[item] = NONE
        item = state.following[item]
    state.versions[state.first[cluster]] += 1
    state.supports[cluster] = 0
    state.room[0] -= state.shares[cluster]
    state.facts[CHANGES] += 1
    _leave(state, cluster)


@kernel
def _leave(state: Clusters, gone: int) -> None:
    """Strike a slot off the list of those in use."""
    state.facts[ALIVE] -= 1
    moved = state.alive[state.facts[ALIVE]]
    state.alive[state.place[gone]] = moved
    state.place[moved] = state.place[gone]
    state.place[gone] = NONE
    state.head[gone] = NONE
