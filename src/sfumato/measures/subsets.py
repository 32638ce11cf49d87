"""The risk from an outsider who knows only some of the quasi-identifiers: every subset of them separately.

Distinction (distinct combinations over records) and separation (pairs told apart) are those of Motwani & Xu (2007).
Along the way every combination that is unique learns the fewest attributes that already make it so.

Households: who finds one member finds them all.

The risk of a household is that of finding at least one member, 1 - product of (1 - risk of a member). Attributes that
are the same for all members of every household describe the household itself, and households can be unique by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from sfumato.data.cells import Points, distinct_rows, ranges
from sfumato.data.households import Memberships, shared_attributes
from sfumato.measures.group_risk import THRESHOLDS, GroupRisk, agreeing, group_risk
from sfumato.runtime._kernel_helpers import mixed_in, slots_for
from sfumato.runtime.arrays import Codes, Counts, Flags, Numbers
from sfumato.runtime.kernels import kernel
from sfumato.runtime.threads import together

Members = tuple[int, ...]

MOST_ATTRIBUTES = 10
"""With more quasi-identifiers than this not all subsets are looked at."""

MOST_WORK = 1_000_000_000
"""Nor where combinations times patterns of missing values times subsets are more than this."""

FEW = 3
"""The largest subsets that are looked at then, beside those that leave out one attribute."""

NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Combinations:
    """The distinct combinations of quasi-identifiers (a missing value counts as a value) and their records."""

    codes: Codes
    missing: Flags
    """The positions of missing values that match everything; empty if missing values count as values."""

    counts: Counts

    @property
    def size(self) -> int:
        """The number of combinations."""
        return len(self.counts)

    @property
    def width(self) -> int:
        """The number of attributes."""
        return int(self.codes.shape[1])

    @cached_property
    def columns(self) -> Codes:
        """The codes, one row for every attribute."""
        return np.ascontiguousarray(self.codes.T)

    def alike(self, sums: Numbers) -> Numbers:
        """Add up, for every combination, the sums of all that look like it: its own where nothing missing matches."""
        return agreeing(self.codes, self.missing, sums[:, None])[:, 0] if self.missing.any() else sums

    def frequencies(self, attributes: Members | None = None) -> Counts:
        """Count for every combination the records that look like it, on all attributes or on some."""
        if attributes is None:
            return np.rint(self.alike(self.counts.astype(np.float64))).astype(np.int64)
        chosen = list(attributes)
        sums = agreeing(self.codes[:, chosen], self.missing[:, chosen], self.counts[:, None].astype(np.float64))
        return np.rint(sums[:, 0]).astype(np.int64)

    def project(self, attributes: Sequence[int]) -> tuple[Combinations, Counts]:
        """Return the combinations of some attributes, and for each of our own which of these it is."""
        points = Points.of(self.codes[:, list(attributes)], self.counts)
        missing = self.missing[points.first][:, list(attributes)]
        return Combinations(points.codes, missing, points.counts), points.number


@dataclass(frozen=True, eq=False)
class Subsets:
    """The risks of all subsets of quasi-identifiers that were looked at."""

    risks: dict[Members, GroupRisk]
    """By positions of attributes, ascending; small subsets first."""

    complete: bool
    """Whether these are all subsets."""

    keys: Counts
    """For every combination that is unique on a subset, `key_of` the first such; NEVER where none is known."""


def key_of(attributes: Members) -> int:
    """Encode a subset so that smaller ones come first."""
    return len(attributes) << 48 | sum(1 << a for a in attributes)


def members_of(key: int) -> Members:
    """Decode a subset."""
    return tuple(a for a in range(48) if key >> a & 1)


def all_subsets(given: Combinations) -> Subsets:
    """Look at all subsets, or where they are too many at the small ones and at those that leave out one attribute."""
    width = given.width
    patterns = len(distinct_rows(given.missing.astype(np.int32))[0])
    complete = width <= MOST_ATTRIBUTES and given.size * patterns * 2**width <= MOST_WORK
    largest = width if complete else min(FEW, width)
    extra = [m for size in (width - 1, width) if size > largest for m in combinations(range(width), size)]
    if given.missing.any():
        small = [m for size in range(1, largest + 1) for m in combinations(range(width), size)]
        parts = together(lambda m: _by_agreeing(given, m), [*small, *extra])
    else:
        parts = _by_refining(given, largest, extra)
    risks: dict[Members, GroupRisk] = {}
    keys = np.full(given.size, NEVER)
    for part_risks, part_keys in parts:
        risks |= part_risks
        np.minimum(keys, part_keys, out=keys)
    ordered = sorted(risks, key=lambda members: (len(members), members))
    return Subsets({members: risks[members] for members in ordered}, complete, keys)


Part = tuple[dict[Members, GroupRisk], Counts]
"""The risks of some subsets, and the keys of all combinations."""


def _by_agreeing(given: Combinations, members: Members) -> Part:
    """Look at one subset where missing values match everything."""
    frequencies = given.frequencies(members)
    distinct, _ = distinct_rows(given.codes[:, list(members)])
    risk = replace(group_risk(frequencies, given.counts), combinations=len(distinct))
    return {members: risk}, np.where(frequencies == 1, key_of(members), NEVER)


def _by_refining(given: Combinations, largest: int, extra: Sequence[Members]) -> list[Part]:
    """Look at subsets by telling groups apart, attributes with many values first, so that most are soon told apart.

    Subsets without the first attributes are looked at on the combinations of the others, which are fewer.
    """
    places = sorted(range(given.width), key=lambda a: -len(np.unique(given.columns[a])))
    left, number = given.project(places)
    parts: list[Part] = []
    for first in range(given.width):
        steps = Steps(left, tuple(places[first:]))
        starts = [((0,), 1), *(((0, second), largest) for second in range(1, left.width) if largest > 1)]
        branches = together(lambda start, steps=steps: steps.search(*start), starts)  # type: ignore[misc]
        parts += [(risks, keys[number]) for risks, keys in branches]
        if left.width > 1:
            left, of_left = left.project(range(1, left.width))
            number = of_left[number]
    whole_steps = Steps(given, tuple(range(given.width)))
    return parts + together(lambda members: whole_steps.search(members, len(members)), extra)


@dataclass(frozen=True, eq=False)
class Steps:
    """Combinations of attributes that have these places among all quasi-identifiers, to be separated in steps."""

    given: Combinations
    places: tuple[int, ...]

    def search(self, start: Members, largest: int) -> Part:
        """Look at a subset and at all that begin with it, up to a number of attributes."""
        keys = np.full(self.given.size, NEVER)
        risks: dict[Members, GroupRisk] = {}
        opened = SubsetGroups.all(self.given)
        for end in range(1, len(start) + 1):
            opened = self._further(opened, start[:end], keys)
        records = int(self.given.counts.sum())
        for members, groups in self._walk(start, opened, keys, largest):
            risks[self._placed(members)] = groups.risk(records)
        return risks, keys

    def _walk(
        self, members: Members, opened: SubsetGroups, keys: Counts, largest: int
    ) -> Iterator[tuple[Members, SubsetGroups]]:
        yield members, opened
        if len(members) < largest:
            for attribute in range(members[-1] + 1, self.given.width):
                more = (*members, attribute)
                yield from self._walk(more, self._further(opened, more, keys), keys, largest)

    def _further(self, opened: SubsetGroups, members: Members, keys: Counts) -> SubsetGroups:
        """Separate groups by the last attribute of a subset, and note the subset for the records that become unique."""
        column = self.given.columns[members[-1]]
        values = int(column.max()) + 1
        refined = refine(opened.rows, opened.group, len(opened.sizes), column, values, self.given.counts)
        tally = opened.tally.copy()
        return SubsetGroups(*settle(opened.rows, *refined, key_of(self._placed(members)), keys, tally), tally)

    def _placed(self, members: Members) -> Members:
        return tuple(sorted(self.places[a] for a in members))


@dataclass(frozen=True, eq=False)
class SubsetGroups:
    """The groups of a subset: those of one combination are settled and only summed up, the others still open."""

    rows: Codes
    """The combinations in open groups."""

    group: Codes
    sizes: Counts
    tally: Counts
    """Of the settled groups: their number, pairs of records, smallest size, and records by size below the most."""

    @staticmethod
    def all(given: Combinations) -> SubsetGroups:
        """Begin with one group, before anything is known."""
        tally = np.zeros(TALLY + MOST, np.int64)
        tally[SMALLEST] = NEVER
        rows = np.arange(given.size, dtype=np.int32)
        return SubsetGroups(rows, np.zeros(given.size, np.int32), np.array([given.counts.sum()]), tally)

    def risk(self, records: int) -> GroupRisk:
        """Sum up settled and open groups."""
        tally = self.tally.copy()
        add_up(self.sizes, tally)
        groups, alike, smallest = tally[:TALLY].tolist()
        return GroupRisk.of(records, groups, smallest, tally[TALLY:], groups / records, float(alike))


GROUPS, ALIKE, SMALLEST, TALLY = 0, 1, 2, 3
"""The layout of a tally; the records by size start at TALLY."""

MOST = max(THRESHOLDS)


@kernel
def refine(
    rows: Codes, group: Codes, groups: int, column: Codes, values: int, counts: Counts
) -> tuple[Codes, Counts, Codes]:
    """Tell groups apart by one attribute: number the pairs of group and code, add up records and combinations.

    Pairs are looked up in a plain array where that is not much longer than the rows, else by open addressing.
    """
    n = len(rows)
    number = np.empty(n, np.int32)
    sizes = np.zeros(n, np.int64)
    held = np.zeros(n, np.int32)
    keys = np.empty(n, np.int64)
    plain = groups * values <= 4 * n
    slots = slots_for(n)
    table = np.full(groups * values if plain else slots, -1, np.int32)
    pairs = 0
    for i in range(n):
        key = np.int64(group[i]) * values + column[rows[i]]
        if plain:
            slot = key
        else:
            slot = np.int64(mixed_in(np.uint64(0), key) & np.uint64(slots - 1))
            while table[slot] >= 0 and keys[table[slot]] != key:
                slot = (slot + 1) & (slots - 1)
        if table[slot] < 0:
            table[slot] = pairs
            keys[pairs] = key
            pairs += 1
        number[i] = table[slot]
        sizes[number[i]] += counts[rows[i]]
        held[number[i]] += 1
    return number, sizes[:pairs].copy(), held[:pairs].copy()


@kernel
def settle(
    rows: Codes, number: Codes, sizes: Counts, held: Codes, key: int, keys: Counts, tally: Counts
) -> tuple[Codes, Codes, Counts]:
    """Add groups of one combination to the tally, note the subset where they have one record, and keep the others."""
    renamed = np.full(len(sizes), -1, np.int32)
    kept_sizes = np.empty(len(sizes), np.int64)
    kept_rows = np.empty(len(rows), np.int32)
    kept_group = np.empty(len(rows), np.int32)
    alone = np.empty(1, np.int64)
    groups, n = 0, 0
    for i in range(len(rows)):
        pair = number[i]
        if held[pair] == 1:
            alone[0] = sizes[pair]
            add_up(alone, tally)
            if sizes[pair] == 1 and key < keys[rows[i]]:
                keys[rows[i]] = key
            continue
        if renamed[pair] < 0:
            renamed[pair] = groups
            kept_sizes[groups] = sizes[pair]
            groups += 1
        kept_rows[n] = rows[i]
        kept_group[n] = renamed[pair]
        n += 1
    return kept_rows[:n].copy(), kept_group[:n].copy(), kept_sizes[:groups].copy()


@kernel
def add_up(sizes: Counts, tally: Counts) -> None:
    """Add groups to a tally."""
    for size in sizes:
        tally[GROUPS] += 1
        tally[ALIKE] += size * (size - 1)
        tally[SMALLEST] = min(tally[SMALLEST], size)
        if size < MOST:
            tally[TALLY + size] += size


@dataclass(frozen=True)
class HouseholdRisk:
    """The risks from households of a table."""

    households: int
    sizes: dict[int, int]
    """How many households have so many members."""

    average: float
    """The average risk of a record through its household."""

    highest: float
    expected: float
    """The expected number of records that are found, directly or through a member of their household."""

    shared: tuple[int, ...]
    """The attributes of which no household has two values; none where all households have one member."""

    unique: int
    """Households that no other one is like by these attributes."""

    unique_with_size: int
    """The same where the number of members is known too."""


def household_risks(risks: Numbers, memberships: Memberships) -> Numbers:
    """Return the risk of every household, from the risk of every combination."""
    with np.errstate(divide="ignore"):
        missed = np.log1p(-risks[memberships.combination]) * memberships.counts
    by_household: Numbers = -np.expm1(np.bincount(memberships.household, missed))
    return by_household


def household_risk(given: Combinations, risks: Numbers, memberships: Memberships, missing: Codes) -> HouseholdRisk:
    """Sum up what households say, given the risk of every combination; `missing` is the code of a missing value."""
    sizes = memberships.sizes()
    by_household = household_risks(risks, memberships)
    expected = float((by_household * sizes).sum())
    members, households = np.unique(sizes, return_counts=True)
    shared = shared_attributes(given.codes, memberships, missing)
    return HouseholdRisk(
        len(sizes),
        dict(zip(members.tolist(), households.tolist(), strict=True)),
        expected / int(sizes.sum()),
        float(by_household.max()),
        expected,
        shared,
        _unique(given, memberships, shared, None),
        _unique(given, memberships, shared, sizes),
    )


def _unique(given: Combinations, memberships: Memberships, shared: tuple[int, ...], sizes: Counts | None) -> int:
    """Count the households that no other one is like; what a member lacks, the others tell."""
    if not shared and sizes is None:
        return 0
    columns, members = list(shared), memberships.combination
    codes, lacks = given.codes[members][:, columns], given.missing[members][:, columns].astype(np.int32)
    codes, _ = ranges(memberships.household, codes, codes)  # a missing value is the last code
    missing = ranges(memberships.household, lacks, lacks)[0].astype(bool)
    if sizes is not None:
        codes = np.column_stack([codes, sizes.astype(np.int32)])
        missing = np.column_stack([missing, np.zeros(len(sizes), bool)])
    alike = agreeing(codes, missing, np.ones((memberships.households, 1)))
    return int((alike < 1.5).sum())
