"""How many persons have a record with a set of items: counted on rows of item codes, whatever made them.

If every record is a different person, these are the records. Else rows are in the order of persons, and a stamp for
each code shows whether the person of a row is counted already: one pass, without hashing.

Walking all sets of codes that some row has, depth first.

The rows that hold a prefix are listed together with the place of its last code, and what stands behind those places is
tallied. So no set is hashed or stored, and the memory is the rows once per size.

Counting sets of items in rows: which are in some rows but in fewer than k, and how many have which support.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.data.cells import weighted_counts
from sfumato.data.items import Baskets, RowPersons, equal_rows, taken_rows
from sfumato.release.items import ShowsItems
from sfumato.runtime._kernel_helpers import has_number, members_by
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.runtime.kernels import kernel


def holders(starts: Counts, codes: Codes, items: int) -> tuple[Counts, Codes, Codes]:
    """List for each code its rows, ascending, and its index in these rows."""
    begins, entries = members_by(codes, items)
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[entries]
    return begins, rows.astype(np.int32), (entries - starts[rows]).astype(np.int32)


class Walk(NamedTuple):
    """The state of an enumeration: depth d has the rows with a prefix of d + 1 codes."""

    starts: Counts
    codes: Codes
    kind: Codes
    number: Counts
    """The rows that are walked, codes ascending, and whose they are (see `RowPersons`)."""

    rows: Codes
    places: Codes
    """By depth: the rows with a prefix, an interval for each of its last codes, and their indices in the rows."""

    last: Codes
    ends: Counts
    """By depth: the last codes of the prefixes, and the start and end of the interval of each."""

    branches: Counts
    turn: Counts
    """By depth: the number of prefixes, and of visited ones."""

    seen: Codes
    slots: Counts
    tally: Counts
    stamp: Codes
    """The data of a prefix: the codes; by code its rows, its persons, and the last counted kind of persons. Zero, and
    -1, where nothing is tallied."""


def begin_walk(starts: Counts, codes: Codes, persons: RowPersons, items: int, depths: int) -> Walk:
    """Start with all single codes."""
    begins, held, where = holders(starts, codes, items)
    rows, places = np.empty((depths, len(held)), np.int32), np.empty((depths, len(held)), np.int32)
    last, ends = np.empty((depths, items), np.int32), np.zeros((depths, items + 1), np.int64)
    branches, turn = np.zeros(depths, np.int64), np.zeros(depths, np.int64)
    rows[0], places[0], last[0], ends[0], branches[0] = held, where, np.arange(items), begins, items
    seen, slots, tally = np.empty(items, np.int32), np.zeros(items, np.int64), np.zeros(items, np.int64)
    stamp = np.full(items, -1, np.int32)
    starts, codes, kind, number = starts.view(), codes.view(), persons.kind.view(), persons.number.view()
    for own in (starts, codes, kind, number):  # one type, and so one machine code, whoever owns them
        own.flags.writeable = False
    return Walk(starts, codes, kind, number, rows, places, last, ends, branches, turn, seen, slots, tally, stamp)


@kernel
def tally_behind(walk: Walk, depth: int, branch: int) -> int:
    """Tally the codes after a prefix in its rows; return the number of these codes."""
    following = 0
    for at in range(walk.ends[depth, branch], walk.ends[depth, branch + 1]):
        row = walk.rows[depth, at]
        kind, number = walk.kind[row], walk.number[row]
        for place in range(walk.starts[row] + walk.places[depth, at] + 1, walk.starts[row + 1]):
            code = walk.codes[place]
            if walk.slots[code] == 0:
                walk.seen[following] = code
                following += 1
            walk.slots[code] += 1
            if walk.stamp[code] != kind:
                walk.stamp[code] = kind
                walk.tally[code] += number
    return following


@kernel
def go_down(walk: Walk, depth: int, branch: int, following: int) -> None:
    """List, one depth below, the rows of a prefix with each of the tallied codes after it."""
    below, filled = depth + 1, 0
    walk.branches[below], walk.turn[below] = following, 0
    for i in range(following):
        code = walk.seen[i]
        walk.last[below, i], walk.ends[below, i] = code, filled
        filled, walk.slots[code] = filled + walk.slots[code], filled
    walk.ends[below, following] = filled
    for at in range(walk.ends[depth, branch], walk.ends[depth, branch + 1]):
        row = walk.rows[depth, at]
        for place in range(walk.starts[row] + walk.places[depth, at] + 1, walk.starts[row + 1]):
            code = walk.codes[place]
            walk.rows[below, walk.slots[code]] = row
            walk.places[below, walk.slots[code]] = place - walk.starts[row]
            walk.slots[code] += 1


@kernel
def forget(walk: Walk, following: int) -> None:
    """Clear the tally after a prefix."""
    for i in range(following):
        walk.slots[walk.seen[i]], walk.tally[walk.seen[i]], walk.stamp[walk.seen[i]] = 0, 0, -1


@kernel
def write_prefix(walk: Walk, length: int, target: Codes) -> None:
    """Write the first codes of the current prefix."""
    for depth in range(length):
        target[depth] = walk.last[depth, walk.turn[depth] - 1]


NO_HISTOGRAM = np.zeros(0, np.int64)
"""In place of a histogram if none is counted."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of codes, ascending within a row, with how many records have each; and which rows have a code.

    Rows are counted as persons where these are named, else as records: every record is a different person.
    """

    starts: Counts
    codes: Codes
    weights: Counts
    size: int
    """How many codes there are."""

    persons: RowPersons | None = None

    @staticmethod
    def of_baskets(baskets: Baskets) -> Rows:
        """Take the original baskets."""
        return Rows(baskets.starts, baskets.codes, baskets.weights, len(baskets.items), baskets.persons)

    @staticmethod
    def of_release(release: ShowsItems) -> Rows:
        """Take the published rows, as everybody sees them: records."""
        recoded = release.recoded
        return Rows(recoded.starts, recoded.codes, recoded.weights, len(recoded.labels)).merged()

    @staticmethod
    def of_persons(release: ShowsItems) -> Rows:
        """Take the published rows with whose they are, where persons are counted."""
        recoded = release.recoded
        if release.persons is None:
            return Rows.of_release(release)
        return Rows(recoded.starts, recoded.codes, recoded.weights, len(recoded.labels), release.persons)

    def merged(self) -> Rows:
        """Take equal rows together, whosever they are."""
        first, link = equal_rows(self.starts, self.codes)
        starts, codes = taken_rows(self.starts, self.codes, first)
        return Rows(starts, codes, weighted_counts(link, self.weights, len(first)), self.size)

    @cached_property
    def people(self) -> RowPersons:
        """Whose the rows are, also where every record is another person."""
        return self.persons or RowPersons(np.arange(len(self.weights), dtype=np.int32), self.weights)

    @cached_property
    def postings(self) -> tuple[Counts, Counts]:
        """For every code the rows that have it, as a ragged array."""
        ends, rows, _ = holders(self.starts, self.codes, self.size)
        return ends, rows.astype(np.int64)

    @cached_property
    def singles(self) -> Counts:
        """For every code how many persons have it."""
        row = np.repeat(np.arange(len(self.weights)), np.diff(self.starts))
        return self.people.some(row).by_group(self.codes.astype(np.int64), self.size)

    def walk(self, size: int) -> Walk:
        """Begin to walk the sets of `size` codes."""
        return begin_walk(self.starts, self.codes, self.people, self.size, max(size - 1, 1))


def rare_itemsets(rows: Rows, size: int, k: int, most: int = 1 << 24) -> tuple[Codes, Counts, int]:
    """Find the sets of `size` items that some row has but fewer than k persons have in a row.

    Returns at most `most` of them, in a fixed order, with their supports; and the least support of any set of this
    size that occurs (0 if none does). Time: the number of such sets over all rows.
    """
    room = 1 << 18
    while True:
        itemsets, supports, number, least = _rare(rows.walk(size), size, k, min(room, max(most, 1)), NO_HISTOGRAM, 0)
        if number <= room or room >= most:
            kept = min(number, most)
            return itemsets[:kept], supports[:kept], least
        room = min(number, most)


def support_histogram(rows: Rows, size: int) -> Counts:
    """Count for each support the sets of `size` items that have it; index 0 is empty. No set is stored."""
    histogram = np.zeros(int(rows.weights.sum()) + 1, np.int64)
    _rare(rows.walk(size), size, 0, 1, histogram, 0)
    return histogram


def least_support_of_sets(rows: Rows, size: int, floor: int = 1) -> int:
    """Return the least support of any occurring set of `size` items; 0 if none occurs.

    The search ends with the first set of support `floor`, which must be a bound: no occurring set has less than 1.
    """
    return int(_rare(rows.walk(size), size, 0, 1, NO_HISTOGRAM, floor)[3])


@kernel
def _rare(walk: Walk, size: int, k: int, room: int, histogram: Counts, floor: int) -> tuple[Codes, Counts, int, int]:
    """Enumerate all occurring sets of `size` items; list the first `room` rare ones and count all of them.

    `histogram` counts supports within its length. Ends early at a support of `floor`.
    """
    itemsets, supports = np.empty((room, size), np.int32), np.empty(room, np.int64)
    number, least, depth = 0, 0, 0
    while depth >= 0 and not 0 < least <= floor:
        if walk.turn[depth] == walk.branches[depth]:
            depth -= 1
            continue
        branch = walk.turn[depth]
        walk.turn[depth] += 1
        following = _single(walk, branch) if size == 1 else tally_behind(walk, depth, branch)
        if depth < size - 2:
            go_down(walk, depth, branch, following)
            forget(walk, following)
            depth += 1
            continue
        for i in range(following):
            support = walk.tally[walk.seen[i]]
            if least == 0 or support < least:
                least = support
            if len(histogram) > 0:
                histogram[support] += 1
            if support < k:
                if number < room:
                    write_prefix(walk, size - 1, itemsets[number])
                    itemsets[number, size - 1], supports[number] = walk.seen[i], support
                number += 1
        forget(walk, following)
    return itemsets, supports, number, least


@kernel
def _single(walk: Walk, item: int) -> int:
    """Tally an item alone, as if it followed an empty prefix; return 1, or 0 if no record has it."""
    walk.seen[0] = item
    for at in range(walk.ends[0, item], walk.ends[0, item + 1]):
        row = walk.rows[0, at]
        if walk.stamp[item] != walk.kind[row]:
            walk.stamp[item] = walk.kind[row]
            walk.tally[item] += walk.number[row]
    return 1 if walk.tally[item] > 0 else 0


MOST_SETS = 1_000_000_000
"""The most sets of one size (counted row by row) that are enumerated; above it sets are sampled."""

DRAWS = 20_000
"""The number of sampled sets of a size."""

RESAMPLES = 200
"""Bootstrap samples for the intervals of sampled values."""

SHARES = {"itemset_risk_99": 0.99, "itemset_risk_95": 0.95}
"""Quantiles of the risk over sets."""


@dataclass(frozen=True, eq=False)
class DrawnSets:
    """Sets of one size, sampled from rows."""

    supports: Counts
    numbers: Numbers
    """The number of sets that each represents."""

    least: int
    """The least support of all sets of this size, sampled or not."""


@dataclass(frozen=True)
class Spread:
    """The number of occurring sets of items by support."""

    supports: NDArray[np.int64]
    """Ascending, each once."""

    numbers: NDArray[np.int64] | Numbers
    """The number of sets; estimated if sets were sampled."""

    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """The 95 % intervals of estimated measures."""

    @staticmethod
    def of(supports: NDArray[np.int64]) -> Spread:
        """Count equal supports."""
        values, numbers = np.unique(supports[supports > 0], return_counts=True)
        return Spread(values, numbers)

    def with_drawn(self, drawn: list[DrawnSets]) -> Spread:
        """Add sizes with sampled sets; each sampled set represents an estimated number of sets."""
        whole = _joined(self, [(sets.supports, sets.numbers) for sets in drawn])
        random = np.random.default_rng(0)
        risks: dict[str, list[float]] = {name: [] for name in SHARES}
        for _ in range(RESAMPLES):
            again = []
            for sets in drawn:
                chosen = random.integers(len(sets.supports), size=len(sets.supports))
                again.append((sets.supports[chosen], sets.numbers[chosen]))
            resampled = _joined(self, again)
            for name, share in SHARES.items():
                risks[name].append(resampled.risk(share))
        intervals = {
            name: (float(np.quantile(values, 0.025)), float(np.quantile(values, 0.975)))
            for name, values in risks.items()
        }
        rarest = min(sets.least for sets in drawn)
        if not len(whole.supports) or rarest < whole.supports[0]:  # the rarest need not have been drawn
            whole = Spread(np.append(rarest, whole.supports), np.append(0.0, whole.numbers))
        return Spread(whole.supports, whole.numbers, intervals)

    @property
    def least(self) -> int:
        """The support of the rarest set; 0 where there is none."""
        return int(self.supports[0]) if len(self.supports) else 0

    def measures(self) -> dict[str, float]:
        """Return the risk of the rarest set, of 99 % and of 95 % of the sets, and how many records have the rarest."""
        return {
            "itemset_risk": 1 / self.least if self.least else 0.0,
            **{name: self.risk(share) for name, share in SHARES.items()},
            "least_support": float(self.least) if self.least else inf,
        }

    def risk(self, share: float = 1.0) -> float:
        """Return the risk, 1 / support, that this share of the sets does not exceed; 0 where there is none."""
        if not len(self.supports):
            return 0.0
        reached = np.cumsum(self.numbers[::-1]) >= share * self.numbers.sum() - 1e-9
        return float(1 / self.supports[::-1][int(np.argmax(reached))])


def itemset_spread(rows: Rows, most: int) -> Spread:
    """Count the records of every set of up to `most` codes that some record has.

    Sizes of which there may be more than `MOST_SETS` are drawn: then the least support is exact all the same, the
    shares of sets are estimates, with intervals.
    """
    exact, drawn = np.zeros(int(rows.weights.sum()) + 1, np.int64), []
    for size in range(1, most + 1):
        if sets_in(rows, size).sum() > MOST_SETS:
            drawn.append(drawn_sets(rows, size))
        else:
            exact += support_histogram(rows, size)
    supports = np.flatnonzero(exact)
    spread = Spread(supports, exact[supports])
    return spread.with_drawn(drawn) if drawn else spread


def sets_in(rows: Rows, size: int) -> Numbers:
    """Return how many sets of so many codes every row has."""
    lengths = np.diff(rows.starts).astype(np.float64)
    numbers = np.ones(len(lengths))
    for i in range(size):
        numbers *= np.maximum(lengths - i, 0) / (i + 1)
    return numbers


def drawn_sets(rows: Rows, size: int, seed: int = 0) -> DrawnSets:
    """Draw sets of one size: a row by how many it has, and codes of it; a set in several rows counts as fewer."""
    random, numbers = np.random.default_rng(seed), sets_in(rows, size)
    chosen = random.choice(len(numbers), DRAWS, p=numbers / numbers.sum())
    drawn = np.empty((DRAWS, size), np.int32)
    for place, row in enumerate(chosen.tolist()):
        codes = rows.codes[rows.starts[row] : rows.starts[row + 1]]
        drawn[place] = codes[np.sort(random.choice(len(codes), size, replace=False))]
    supports, in_rows = _supports_of(drawn, rows.starts, rows.codes, rows.people, *rows.postings)
    least = least_support_of_sets(rows, size)
    return DrawnSets(supports, numbers.sum() / DRAWS / in_rows, least)


@kernel
def _supports_of(
    sets: Codes, starts: Counts, codes: Codes, people: RowPersons, ends: Counts, rows: Counts
) -> tuple[Counts, Counts]:
    """Count for every set the persons and the rows that have all of it, going through the rows of its rarest code."""
    supports, numbers = np.zeros(len(sets), np.int64), np.zeros(len(sets), np.int64)
    for s in range(len(sets)):
        anchor, last = sets[s, 0], -1
        for code in sets[s]:
            if ends[code + 1] - ends[code] < ends[anchor + 1] - ends[anchor]:
                anchor = code
        for p in range(ends[anchor], ends[anchor + 1]):
            row, every = rows[p], True
            for code in sets[s]:
                every = every and has_number(codes, starts[row], starts[row + 1], code)
            if every:
                supports[s] += people.number[row] if people.kind[row] != last else 0
                numbers[s] += 1
                last = people.kind[row]
    return supports, numbers


def _joined(spread: Spread, drawn: list[tuple[Counts, Numbers]]) -> Spread:
    values, place = np.unique(np.concatenate([spread.supports, *(s for s, _ in drawn)]), return_inverse=True)
    numbers = np.bincount(place.ravel(), np.concatenate([spread.numbers, *(n for _, n in drawn)]), len(values))
    return Spread(values, numbers)


def weakest(rows: Rows, most: int) -> list[tuple[int, tuple[int, ...]]]:
    """List the rarest codes and pairs of codes with the persons of each, the rarest first, at most so many."""
    singles = rows.singles
    order = [int(i) for i in np.argsort(singles, kind="stable") if singles[i] > 0][:most]
    rarest: list[tuple[int, tuple[int, ...]]] = [(int(singles[i]), (i,)) for i in order]
    up_to = np.cumsum(support_histogram(rows, 2))
    if up_to[-1]:
        bound = int(np.searchsorted(up_to, min(most, int(up_to[-1]))))  # the support of the last that is listed
        for low, high in ((1, bound - 1), (bound, bound)):
            a, b, pair_supports = _pairs_between(rows, low, high, most)
            rarest += [(int(pair_supports[i]), (int(a[i]), int(b[i]))) for i in range(len(a))]
    return sorted(rarest, key=lambda entry: (entry[0], len(entry[1]), entry[1]))[:most]


def frequent_pairs(rows: Rows, share: float) -> NDArray[np.int64]:
    """List the most frequent pairs of codes, this share of all that occur (at least one), ties by code."""
    histogram = support_histogram(rows, 2)
    total = int(histogram.sum())
    most = max(1, round(share * total))
    if not total:
        return np.zeros((0, 2), np.int64)
    at_least = np.cumsum(histogram[::-1])[::-1]
    bound = int(np.flatnonzero(at_least >= most)[-1])  # the support of the last that is listed
    listed = [_pairs_between(rows, bound + 1, len(histogram), total), _pairs_between(rows, bound, bound, most)]
    a, b, pair_supports = (np.concatenate(each) for each in zip(*listed, strict=True))
    kept = np.lexsort((b, a, -pair_supports))[:most]
    return np.stack([a[kept], b[kept]], axis=1)


def _pairs_between(rows: Rows, least: int, most: int, limit: int) -> tuple[NDArray[np.int64], ...]:
    """List the pairs of codes whose support lies between two bounds, by their codes, at most so many."""
    return tuple(_pairs(rows.starts, rows.codes, rows.people, *rows.postings, least, most, limit))


@kernel
def _pairs(
    starts: Counts, codes: Codes, people: RowPersons, ends: Counts, rows: Counts, least: int, most: int, limit: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """List the pairs of codes whose support lies between two bounds, with their supports, at most so many."""
    size = len(ends) - 1
    counted, stamp = np.zeros(size, np.int64), np.full(size, -1, np.int32)
    pairs = np.empty((3, 1024), np.int64)
    filled = 0
    for first in range(size):
        if filled >= limit:
            break
        for p in range(ends[first], ends[first + 1]):
            row = rows[p]
            for c in range(starts[row + 1] - 1, starts[row] - 1, -1):
                if codes[c] <= first:
                    break
                if stamp[codes[c]] != people.kind[row]:
                    stamp[codes[c]] = people.kind[row]
                    counted[codes[c]] += people.number[row]
        stamp[:] = -1
        if filled + size > pairs.shape[1]:
            larger = np.empty((3, 2 * (filled + size)), np.int64)
            larger[:, :filled] = pairs[:, :filled]
            pairs = larger
        for code in range(first + 1, size):
            support = counted[code]
            counted[code] = 0
            if support > 0 and least <= support <= most:
                pairs[0, filled], pairs[1, filled], pairs[2, filled] = first, code, support
                filled += 1
    filled = min(filled, limit)
    return pairs[0, :filled], pairs[1, :filled], pairs[2, :filled]
