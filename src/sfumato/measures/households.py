"""Households: who finds one member finds them all.

The risk of a household is that of finding at least one member, 1 - product of (1 - risk of a member). Attributes that
are the same for all members of every household describe the household itself, and households can be unique by them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.measures.disclosure import agreeing
from sfumato.measures.subsets import Combinations

Counts = NDArray[np.int64]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Memberships:
    """Which household has how many records of which combination."""

    combination: Counts
    household: Counts
    """Numbers from 0."""

    counts: Counts

    @property
    def households(self) -> int:
        """The number of households."""
        return int(self.household.max()) + 1

    def sizes(self) -> Counts:
        """Count the members of every household."""
        return np.bincount(self.household, self.counts).astype(np.int64)


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
    """The attributes that are the same within every household; none where all households have one member."""

    unique: int
    """Households that no other one is like by these attributes."""

    unique_with_size: int
    """The same where the number of members is known too."""


def household_risks(risks: Numbers, memberships: Memberships) -> Numbers:
    """Return the risk of every household, from the risk of every combination."""
    with np.errstate(divide="ignore"):
        missed = np.log1p(-risks[memberships.combination]) * memberships.counts
    found: Numbers = -np.expm1(np.bincount(memberships.household, missed))
    return found


def household_risk(given: Combinations, risks: Numbers, memberships: Memberships) -> HouseholdRisk:
    """Sum up what households say, given the risk of every combination."""
    sizes = memberships.sizes()
    own = household_risks(risks, memberships)
    expected = float((own * sizes).sum())
    members, households = np.unique(sizes, return_counts=True)
    shared = shared_attributes(given, memberships)
    return HouseholdRisk(
        len(sizes),
        dict(zip(members.tolist(), households.tolist(), strict=True)),
        expected / int(sizes.sum()),
        float(own.max()),
        expected,
        shared,
        _unique(given, memberships, shared, None),
        _unique(given, memberships, shared, sizes),
    )


def shared_attributes(given: Combinations, memberships: Memberships) -> tuple[int, ...]:
    """List the attributes that have one value within every household, a missing value being one of its own."""
    if memberships.households == int(memberships.counts.sum()):
        return ()
    found = []
    for attribute, column in enumerate(given.columns):
        codes = column[memberships.combination]
        low = np.full(memberships.households, np.iinfo(np.int32).max, np.int32)
        high = np.full(memberships.households, -1, np.int32)
        np.minimum.at(low, memberships.household, codes)
        np.maximum.at(high, memberships.household, codes)
        if (low == high).all():
            found.append(attribute)
    return tuple(found)


def _unique(given: Combinations, memberships: Memberships, shared: tuple[int, ...], sizes: Counts | None) -> int:
    """Count the households that no other one is like."""
    if not shared and sizes is None:
        return 0
    _, first = np.unique(memberships.household, return_index=True)
    member = memberships.combination[first]
    codes, missing = given.codes[member][:, list(shared)], given.missing[member][:, list(shared)]
    if sizes is not None:
        codes = np.column_stack([codes, sizes.astype(np.int32)])
        missing = np.column_stack([missing, np.zeros(len(sizes), bool)])
    alike = agreeing(codes, missing, np.ones((len(member), 1)))
    return int((alike < 1.5).sum())
