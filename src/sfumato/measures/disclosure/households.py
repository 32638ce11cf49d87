"""Households: who finds one member finds them all.

The risk of a household is that of finding at least one member, 1 - product of (1 - risk of a member). Attributes that
are the same for all members of every household describe the household itself, and households can be unique by them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.arrays import Codes, Counts, Numbers
from sfumato.measures.disclosure.group_risk import agreeing
from sfumato.measures.disclosure.subsets import Combinations
from sfumato.table import Memberships, ranges, shared_attributes


@dataclass(frozen=True)
class HouseholdRisk:
    """What households say of a table."""

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
