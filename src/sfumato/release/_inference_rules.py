"""Broken inference rules: the left side implies the right side with too high confidence, or matches too few records.

Rules are counted on rows of codes. All occurring sets of known codes are enumerated depth first, as in
`_itemsets`; the rows of a set are listed, and their sensitive codes tallied. Listed rules (PS-rules) are counted one by
one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np

from sfumato.data.cells import weighted_counts
from sfumato.data.items import Baskets, rows_once
from sfumato.release._itemsets import Rows, Walk, begin_walk, forget, go_down, tally_behind, write_prefix
from sfumato.release.items import SUPPRESSED
from sfumato.requirements.items import TOLERANCE, Coherence, InferenceRequirement, PSRules, RhoUncertainty, Rule
from sfumato.runtime.arrays import Codes, Counts
from sfumato.runtime.kernels import kernel
from sfumato.texts.catalogue import refusal

NONE = -1
LISTED = 1 << 20
"""The number of rules listed at a time."""

MOST_SETS = 20_000_000_000
"""The most enumerated sets; more would take hours."""


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows of codes, and which codes are sensitive."""

    rows: Rows
    sensitive: Codes
    """For each code 1 if it is sensitive, else 0."""

    @cached_property
    def supports(self) -> Counts:
        """The number of records with each code."""
        return weighted_counts(self.rows.codes, np.repeat(self.rows.weights, self._lengths), self.rows.size)

    def only(self, sensitive: bool) -> tuple[Counts, Codes]:
        """Return the rows with only sensitive codes, or without them."""
        row = np.repeat(np.arange(len(self._lengths)), self._lengths)
        kept = (self.sensitive[self.rows.codes] == 1) == sensitive
        return rows_once(row[kept], self.rows.codes[kept], len(self._lengths))

    def having(self, codes: Sequence[int]) -> int:
        """Count the persons who have all of some codes in one record."""
        ends, rows = self.rows.postings
        having = np.ones(len(self._lengths), bool)
        for code in codes:
            one = np.zeros(len(self._lengths), bool)
            one[rows[ends[code] : ends[code + 1]]] = True
            having &= one
        return self.rows.people.count(np.flatnonzero(having))

    @cached_property
    def _lengths(self) -> Counts:
        return np.diff(self.rows.starts)


@dataclass(frozen=True, eq=False)
class BrokenRules:
    """Broken rules: known codes (rows of a table), the sensitive one (NONE if too few records match)."""

    known: Codes
    concluded: Codes
    persons: Counts
    """How many persons have a record that fits what is known."""

    showing: Counts
    """How many have one that also shows the sensitive code."""

    def __len__(self) -> int:
        return len(self.concluded)


def known_sizes(requirement: InferenceRequirement) -> range:
    """Return the possible numbers of known codes."""
    if isinstance(requirement, RhoUncertainty):
        return range(requirement.m + 1)
    assert isinstance(requirement, Coherence)
    return range(requirement.p + 1)


def broken_rules(rows: CodedRows, requirement: InferenceRequirement, size: int, most: int = LISTED) -> BrokenRules:
    """List the broken rules with so many known codes, at most `most`, in a fixed order."""
    k, share = requirement.k, requirement.share + TOLERANCE
    if size == 0:
        total, having = rows.having([]), rows.rows.singles
        sure = np.flatnonzero((rows.sensitive == 1) & (having > share * total))[:most].astype(np.int32)
        return BrokenRules(np.zeros((len(sure), 0), np.int32), sure, np.full(len(sure), total), having[sure])
    starts, codes = rows.only(False) if isinstance(requirement, Coherence) else (rows.rows.starts, rows.rows.codes)
    _check_sets(np.diff(starts), size, requirement)
    room = 1 << 12
    while True:
        walk = begin_walk(starts, codes, rows.rows.people, rows.rows.size, size)
        known, concluded, persons, showing, number = _broken(walk, *rows.only(True), size, k, share, room)
        if number <= room or room >= most:
            kept = min(number, most)
            return BrokenRules(known[:kept], concluded[:kept], persons[:kept], showing[:kept])
        room = min(number, most)


def _check_sets(lengths: Counts, size: int, requirement: InferenceRequirement) -> None:
    """Raise if there are too many sets."""
    values, numbers = np.unique(lengths, return_counts=True)
    sets = sum(comb(int(length), size) * int(number) for length, number in zip(values, numbers, strict=True))
    if sets > MOST_SETS:
        raise refusal("too_many_known_sets", requirement=requirement, sets=sets, size=size)


@kernel
def _broken(
    walk: Walk, secret_starts: Counts, secret_codes: Codes, size: int, k: int, share: float, room: int
) -> tuple[Codes, Codes, Counts, Counts, int]:
    """Enumerate all occurring sets of `size` codes; list the first `room` broken rules and count all of them.

    With k=1, prefixes whose rows have no sensitive codes are skipped.
    """
    known, concluded = np.empty((room, size), np.int32), np.empty(room, np.int32)
    persons, showing = np.empty(room, np.int64), np.empty(room, np.int64)
    secrets, secret_tally = np.empty(len(walk.tally), np.int32), np.zeros(len(walk.tally), np.int64)
    stamp = np.full(len(walk.tally), NONE, np.int32)
    number = depth = 0
    while depth >= 0:
        if walk.turn[depth] == walk.branches[depth]:
            depth -= 1
            continue
        branch = walk.turn[depth]
        walk.turn[depth] += 1
        total, different = _tally_secrets(
            walk, depth, branch, secret_starts, secret_codes, secrets, secret_tally, stamp
        )
        for i in range(-1, different if depth == size - 1 else -1):  # -1: how many persons fit, whatever they show
            code = NONE if i < 0 else secrets[i]
            if i < 0:
                broken = 0 < total < k
            else:
                broken = total >= k and secret_tally[code] > share * total and not _in_prefix(walk, size, code)
            if broken and number < room:
                write_prefix(walk, size, known[number])
                concluded[number], persons[number] = code, total
                showing[number] = 0 if i < 0 else secret_tally[code]
            number += broken
        for i in range(different):
            secret_tally[secrets[i]], stamp[secrets[i]] = 0, NONE
        if depth < size - 1 and (k > 1 or different > 0):
            following = tally_behind(walk, depth, branch)
            go_down(walk, depth, branch, following)
            forget(walk, following)
            depth += 1
    return known, concluded, persons, showing, number


@kernel
def _tally_secrets(
    walk: Walk,
    depth: int,
    branch: int,
    secret_starts: Counts,
    secret_codes: Codes,
    secrets: Codes,
    secret_tally: Counts,
    stamp: Codes,
) -> tuple[int, int]:
    """Count the persons who hold a prefix, and tally their sensitive codes; return also how many these are."""
    total, different, last = 0, 0, NONE
    for at in range(walk.ends[depth, branch], walk.ends[depth, branch + 1]):
        row = walk.rows[depth, at]
        if walk.kind[row] != last:
            last = walk.kind[row]
            total += walk.number[row]
        for place in range(secret_starts[row], secret_starts[row + 1]):
            code = secret_codes[place]
            if secret_tally[code] == 0:
                secrets[different] = code
                different += 1
            if stamp[code] != last:
                stamp[code] = last
                secret_tally[code] += walk.number[row]
    return total, different


@kernel
def _in_prefix(walk: Walk, size: int, code: int) -> bool:
    """Return whether a code is among the known ones."""
    known = False
    for depth in range(size):
        known = known or walk.last[depth, walk.turn[depth] - 1] == code
    return known


def broken_listed(
    rows: CodedRows, requirement: PSRules, rules: Sequence[Rule], codes: Codes
) -> list[tuple[Rule, int, int]]:
    """List the given rules that are broken, in the published codes of their items; with the persons of each.

    `codes` has the published code of every item, SUPPRESSED if there is none.
    """
    broken: list[tuple[Rule, int, int]] = []
    for antecedent, consequent in rules:
        known = sorted({int(codes[item]) for item in antecedent if codes[item] != SUPPRESSED})
        persons = rows.having(known)
        if known and 0 < persons < requirement.k:
            broken.append(((tuple(known), ()), persons, 0))
            continue
        if any(codes[item] == SUPPRESSED for item in consequent):
            continue
        concluded = tuple(int(codes[item]) for item in consequent)
        showing = rows.having([*known, *concluded])
        if showing > (requirement.share + TOLERANCE) * persons:
            broken.append(((tuple(known), concluded), persons, showing))
    return broken


def coded_rows(baskets: Baskets, keys: Codes, sensitive: Sequence[int]) -> CodedRows:
    """Return baskets with each item replaced by its key, the code of an item (SUPPRESSED drops it)."""
    row = np.repeat(np.arange(baskets.distinct), baskets.lengths)
    starts, codes = rows_once(row, keys[baskets.codes], baskets.distinct)
    flags = np.zeros(len(baskets.items), np.int32)
    flags[list(sensitive)] = 1
    return CodedRows(Rows(starts, codes, baskets.weights, len(baskets.items), baskets.persons), flags)
