"""Rules that tell too much: who knows what the left side stands for is too sure of the right side, or finds too few.

Counted on rows of codes, whatever made them. All sets of so many codes that occur are walked depth first, as
`itemset_counts` does; the rows of a set are listed, and their sensitive codes tallied. Rules that are listed
(PS-rules) are counted one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np

from sfumato.arrays import Codes, Counts
from sfumato.errors import BadInputError
from sfumato.kernels import kernel
from sfumato.transactions.baskets import Baskets, rows_once
from sfumato.transactions.measures.itemset_counts import holders
from sfumato.transactions.policy.inference import (
    TOLERANCE,
    Coherence,
    InferenceRequirement,
    PSRules,
    RhoUncertainty,
    Rule,
)
from sfumato.transactions.recoding import SUPPRESSED

NONE = -1
LISTED = 1 << 20
"""So many rules are listed at a time."""

MOST_SETS = 20_000_000_000
"""More sets than this are not walked: it would take hours."""


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows of codes, ascending, with how many records have each, and which codes are sensitive."""

    starts: Counts
    codes: Codes
    weights: Counts
    sensitive: Codes
    """For every code 1 where it is sensitive, else 0."""

    @cached_property
    def supports(self) -> Counts:
        """How many records have each code."""
        counted = np.bincount(self.codes, np.repeat(self.weights, np.diff(self.starts)), len(self.sensitive))
        return np.rint(counted).astype(np.int64)

    def only(self, sensitive: bool) -> tuple[Counts, Codes]:
        """Return what remains of the rows with the sensitive codes alone, or without them."""
        row = np.repeat(np.arange(len(self.weights)), np.diff(self.starts))
        kept = (self.sensitive[self.codes] == 1) == sensitive
        return rows_once(row[kept], self.codes[kept], len(self.weights))

    def records(self, codes: Sequence[int]) -> int:
        """Count the records that have all of some codes."""
        ends, rows, _ = self._holders
        having = np.ones(len(self.weights), bool)
        for code in codes:
            one = np.zeros(len(self.weights), bool)
            one[rows[ends[code] : ends[code + 1]]] = True
            having &= one
        return int(self.weights[having].sum())

    @cached_property
    def _holders(self) -> tuple[Counts, Codes, Codes]:
        return holders(self.starts, self.codes, len(self.sensitive))


@dataclass(frozen=True, eq=False)
class BrokenRules:
    """Rules that do not hold: known codes (rows of a table), the sensitive one (NONE where too few records fit)."""

    known: Codes
    concluded: Codes
    records: Counts
    """How many records fit what is known."""

    showing: Counts
    """How many of them show the sensitive code."""

    def __len__(self) -> int:
        return len(self.concluded)


def known_sizes(requirement: InferenceRequirement) -> range:
    """Say how many codes may be known."""
    if isinstance(requirement, RhoUncertainty):
        return range(requirement.m + 1)
    assert isinstance(requirement, Coherence)
    return range(requirement.p + 1)


def broken_rules(rows: CodedRows, requirement: InferenceRequirement, size: int, most: int = LISTED) -> BrokenRules:
    """List the broken rules with so many known codes, at most `most`, in a fixed order."""
    k, share = requirement.k, requirement.share + TOLERANCE
    if size == 0:
        total = int(rows.weights.sum())
        sure = np.flatnonzero((rows.sensitive == 1) & (rows.supports > share * total))[:most].astype(np.int32)
        records = np.full(len(sure), total)
        return BrokenRules(np.zeros((len(sure), 0), np.int32), sure, records, rows.supports[sure])
    starts, codes = rows.only(False) if isinstance(requirement, Coherence) else (rows.starts, rows.codes)
    _check_sets(np.diff(starts), size, requirement)
    begins, holding, places = holders(starts, codes, len(rows.sensitive))
    room, items = 1 << 12, len(rows.sensitive)
    while True:
        known, concluded, records, showing, number = _broken(
            starts, codes, rows.weights, begins, holding, places, *rows.only(True), items, size, k, share, room
        )
        if number <= room or room >= most:
            kept = min(number, most)
            return BrokenRules(known[:kept], concluded[:kept], records[:kept], showing[:kept])
        room = min(number, most)


def _check_sets(lengths: Counts, size: int, requirement: InferenceRequirement) -> None:
    """Refuse to walk more sets than can be walked."""
    values, numbers = np.unique(lengths, return_counts=True)
    sets = sum(comb(int(length), size) * int(number) for length, number in zip(values, numbers, strict=True))
    if sets > MOST_SETS:
        raise BadInputError(
            f"{requirement}: the records have {sets:.1e} sets of {size} items, too many to look at; fewer must be known"
        )


@kernel
def _broken(
    starts: Counts,
    codes: Codes,
    weights: Counts,
    begins: Counts,
    holding: Codes,
    places: Codes,
    secret_starts: Counts,
    secret_codes: Codes,
    items: int,
    size: int,
    k: int,
    share: float,
    room: int,
) -> tuple[Codes, Codes, Counts, Counts, int]:
    """Walk all sets of `size` codes that occur, depth first; list the first `room` broken rules and count all of them.

    Depth d has the rows that hold a prefix of d + 1 codes, a stretch of `prefix_rows[d]` for each of its last codes.
    Where k is 1, prefixes whose rows show nothing sensitive are passed over.
    """
    known, concluded = np.empty((room, size), np.int32), np.empty(room, np.int32)
    records, showing = np.empty(room, np.int64), np.empty(room, np.int64)
    number = 0
    prefix_rows, prefix_places = np.empty((size, len(holding)), np.int32), np.empty((size, len(holding)), np.int32)
    prefix_rows[0], prefix_places[0] = holding, places
    last, ends = np.empty((size, items), np.int32), np.zeros((size, items + 1), np.int64)
    tally, slots, seen = np.zeros(items, np.int64), np.zeros(items, np.int64), np.empty(items, np.int32)
    count, turn = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for item in range(items):
        last[0, item], ends[0, item + 1] = item, begins[item + 1]
    count[0] = items
    depth = 0
    while depth >= 0:
        if turn[depth] == count[depth]:
            depth -= 1
            continue
        branch = turn[depth]
        turn[depth] += 1
        lo, hi = ends[depth, branch], ends[depth, branch + 1]
        total, secrets = 0, 0
        for at in range(lo, hi):
            row = prefix_rows[depth, at]
            total += weights[row]
            for place in range(secret_starts[row], secret_starts[row + 1]):
                code = secret_codes[place]
                if tally[code] == 0:
                    seen[secrets] = code
                    secrets += 1
                tally[code] += weights[row]
        if depth == size - 1:
            if 0 < total < k:
                if number < room:
                    for d in range(size):
                        known[number, d] = last[d, turn[d] - 1]
                    concluded[number], records[number], showing[number] = -1, total, 0
                number += 1
            for i in range(secrets):
                code = seen[i]
                among = False
                for d in range(size):
                    among = among or last[d, turn[d] - 1] == code
                if total >= k and not among and tally[code] > share * total:
                    if number < room:
                        for d in range(size):
                            known[number, d] = last[d, turn[d] - 1]
                        concluded[number], records[number], showing[number] = code, total, tally[code]
                    number += 1
        for i in range(secrets):
            tally[seen[i]] = 0
        if depth == size - 1 or (k <= 1 and secrets == 0):
            continue
        below, following = depth + 1, 0
        for at in range(lo, hi):
            row = prefix_rows[depth, at]
            for place in range(starts[row] + prefix_places[depth, at] + 1, starts[row + 1]):
                code = codes[place]
                if slots[code] == 0:
                    seen[following] = code
                    following += 1
                slots[code] += 1
        count[below], turn[below] = following, 0
        filled = 0
        for i in range(following):
            code = seen[i]
            last[below, i], ends[below, i] = code, filled
            filled, slots[code] = filled + slots[code], filled
        ends[below, following] = filled
        for at in range(lo, hi):
            row = prefix_rows[depth, at]
            for place in range(starts[row] + prefix_places[depth, at] + 1, starts[row + 1]):
                code = codes[place]
                prefix_rows[below, slots[code]] = row
                prefix_places[below, slots[code]] = place - starts[row]
                slots[code] += 1
        for i in range(following):
            slots[seen[i]] = 0
        depth = below
    return known, concluded, records, showing, number


def broken_listed(
    rows: CodedRows, requirement: PSRules, rules: Sequence[Rule], codes: Codes
) -> list[tuple[Rule, int, int]]:
    """List the given rules that are broken, in the codes that stand for their items; with the records of each.

    `codes` has for every item what stands for it, SUPPRESSED where nothing does.
    """
    broken: list[tuple[Rule, int, int]] = []
    for antecedent, consequent in rules:
        known = sorted({int(codes[item]) for item in antecedent if codes[item] != SUPPRESSED})
        records = rows.records(known)
        if known and 0 < records < requirement.k:
            broken.append(((tuple(known), ()), records, 0))
            continue
        if any(codes[item] == SUPPRESSED for item in consequent):
            continue
        concluded = tuple(int(codes[item]) for item in consequent)
        showing = rows.records([*known, *concluded])
        if showing > (requirement.share + TOLERANCE) * records:
            broken.append(((tuple(known), concluded), records, showing))
    return broken


def coded_rows(baskets: Baskets, keys: Codes, sensitive: Sequence[int]) -> CodedRows:
    """Take baskets with every item replaced by its key, an item's code (SUPPRESSED leaves it out)."""
    row = np.repeat(np.arange(baskets.distinct), baskets.lengths)
    starts, codes = rows_once(row, keys[baskets.codes], baskets.distinct)
    flags = np.zeros(len(baskets.items), np.int32)
    flags[list(sensitive)] = 1
    return CodedRows(starts, codes, baskets.weights, flags)
