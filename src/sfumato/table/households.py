"""Households: which records belong together, and which quasi-identifiers their members share."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Codes, Counts
from sfumato.engines import Engine, Pairs, column_pairs
from sfumato.quiet import Quiet
from sfumato.table.rows import ranges, weighted_counts

NEARLY = 0.9
"""From this share of the households with several members on an attribute is called nearly shared."""


@dataclass(frozen=True, eq=False, repr=False)
class Memberships(Quiet):
    """Which household has how many records of which cell, or of which combination of quasi-identifiers."""

    combination: Counts
    household: Counts
    """Numbers from 0."""

    counts: Counts

    @property
    def households(self) -> int:
        """The number of households."""
        return int(self.household.max(initial=-1)) + 1

    def sizes(self) -> Counts:
        """Count the members of every household."""
        return weighted_counts(self.household, self.counts, self.households)

    def by(self, number: Counts) -> Memberships:
        """Name every cell by its number instead."""
        return replace(self, combination=number[self.combination])


def memberships_of(engine: Engine, column: str, link: str) -> Memberships:
    """Find the members of every household, by cells; a record without one is a household of its own."""
    pairs = column_pairs(engine, column, link)
    unnamed = unnamed_pairs(pairs)
    singles = np.repeat(pairs.cell[unnamed], pairs.counts[unnamed])
    _, household = np.unique(pairs.value[~unnamed], return_inverse=True)
    named = int(household.max()) + 1 if len(household) else 0
    return Memberships(
        np.concatenate([pairs.cell[~unnamed], singles]),
        np.concatenate([household, named + np.arange(len(singles))]),
        np.concatenate([pairs.counts[~unnamed], np.ones(len(singles), np.int64)]),
    )


def unnamed_pairs(pairs: Pairs) -> NDArray[np.bool_]:
    """Say which pairs have no value."""
    missing = np.array([value is None for value in pairs.values])
    flags: NDArray[np.bool_] = missing[pairs.value]
    return flags


def households_agree(codes: Codes, memberships: Memberships) -> NDArray[np.bool_]:
    """Say for every household (rows) which columns have one code for all its members, a missing value being one."""
    member_codes = codes[memberships.combination]
    low, high = ranges(memberships.household, member_codes, member_codes)
    agree: NDArray[np.bool_] = low == high
    return agree


def shared_attributes(codes: Codes, memberships: Memberships) -> tuple[int, ...]:
    """List the attributes that have one value within every household; none where all households have one member."""
    if memberships.households == int(memberships.counts.sum()):
        return ()
    return tuple(np.flatnonzero(households_agree(codes, memberships).all(axis=0)).tolist())


def nearly_shared(codes: Codes, memberships: Memberships) -> dict[int, int]:
    """Find the attributes that all but a few households share, each with the number of those that do not."""
    several = memberships.sizes() > 1
    differ = (~households_agree(codes, memberships)[several]).sum(axis=0)
    few = (1 - NEARLY) * int(several.sum())
    return {attribute: int(number) for attribute, number in enumerate(differ) if 0 < number <= few}
