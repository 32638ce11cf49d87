"""Households: which records belong together, and which quasi-identifiers their members share.

An attribute is shared if no household has two values of it. A member without a value still belongs to the others: an
attacker who knows all members would intersect what they show of anything else that they share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.data.cells import distinct_rows, ranges, weighted_counts
from sfumato.engines.protocol import CellValues, Engine, column_pairs
from sfumato.runtime.arrays import Codes, Counts, RedactedRepr

NEARLY = 0.9
"""The least share of the households with several members that agree on a nearly shared attribute."""


@dataclass(frozen=True, eq=False, repr=False)
class Memberships(RedactedRepr):
    """The number of records of each household in each cell, or combination of quasi-identifiers."""

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
        """Replace every cell by its number."""
        return replace(self, combination=number[self.combination])


def memberships_of(engine: Engine, column: str, link: str) -> Memberships:
    """Return the members of every household, by cells; a record without one is a separate household."""
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


def unnamed_pairs(pairs: CellValues) -> NDArray[np.bool_]:
    """Return which pairs have no value."""
    missing = np.array([value is None for value in pairs.values])
    flags: NDArray[np.bool_] = missing[pairs.value]
    return flags


def households_agree(codes: Codes, memberships: Memberships, missing: Codes) -> NDArray[np.bool_]:
    """Return for each household (rows) which columns have one code for all its members with a value.

    `missing` is the code of a missing value in every column, -1 without one.
    """
    low, high = _of_those_with_a_value(codes, memberships, missing)
    agree: NDArray[np.bool_] = low >= high
    return agree


def shared_attributes(codes: Codes, memberships: Memberships, missing: Codes) -> tuple[int, ...]:
    """List the attributes of which no household has two values; empty if all households have one member.

    Members without a value are ignored, provided that some household has two members with a value.
    """
    if memberships.households == int(memberships.counts.sum()):
        return ()
    members = codes[memberships.combination]
    low, high = ranges(memberships.household, members, members)
    alike = households_agree(codes, memberships, missing).all(axis=0)
    has = (members != missing) * memberships.counts[:, None]
    known = [weighted_counts(memberships.household, column, memberships.households) for column in has.T]
    together = np.array([number.max() > 1 for number in known], np.bool_)
    return tuple(np.flatnonzero((low == high).all(axis=0) | (alike & together)).tolist())


def nearly_shared(codes: Codes, memberships: Memberships, missing: Codes) -> dict[int, int]:
    """Return the attributes that all but a few households share, each with the number of exceptions."""
    several = memberships.sizes() > 1
    differ = (~households_agree(codes, memberships, missing)[several]).sum(axis=0)
    few = (1 - NEARLY) * int(several.sum())
    return {attribute: int(number) for attribute, number in enumerate(differ) if 0 < number <= few}


def lacking_members(codes: Codes, memberships: Memberships, missing: Codes) -> Counts:
    """Count for every column the members without a value while another member of their household has one."""
    lacks = codes[memberships.combination] == missing
    low, high = _of_those_with_a_value(codes, memberships, missing)
    has = (low <= high)[memberships.household]
    numbers: Counts = ((lacks & has) * memberships.counts[:, None]).sum(axis=0)
    return numbers


def kept_together(codes: Codes, memberships: Memberships, shared: Sequence[int], missing: Codes) -> Codes:
    """Give the members of a household the same codes of shared attributes, although one may lack a value.

    Dividing records by these codes keeps households together. Cells with equal shared attributes remain equal; a cell
    without some of them joins the households of its records into one.
    """
    columns = list(shared)
    members = codes[:, columns]
    lacking = (members == missing[columns]).any(axis=1)
    if not lacking.any():
        return codes
    number = distinct_rows(members)[1]
    number[lacking] = len(codes) + np.arange(int(lacking.sum()))
    component = _components(np.unique(number, return_inverse=True)[1], memberships)
    low, _ = ranges(component, members, members)  # a missing value has the last code, so any other one is preferred
    joined = codes.copy()
    joined[:, columns] = low[np.unique(component, return_inverse=True)[1]]
    return joined


def _components(number: Counts, memberships: Memberships) -> Counts:
    """Join numbers with members of a common household, repeatedly; return the least number of each component."""
    label = np.arange(int(number.max()) + 1)
    node, household = number[memberships.combination], memberships.household
    while True:
        least = np.full(memberships.households, len(label))
        np.minimum.at(least, household, label[node])
        joined = label.copy()
        np.minimum.at(joined, node, least[household])
        if (joined == label).all():
            return label[number]
        label = joined


def _of_those_with_a_value(codes: Codes, memberships: Memberships, missing: Codes) -> tuple[Codes, Codes]:
    """Return the smallest and the largest code in every household; the smallest is larger if no member has one."""
    member_codes = codes[memberships.combination]
    lacks = (member_codes == missing) & (missing >= 0)
    beyond = np.iinfo(np.int32).max
    return ranges(memberships.household, np.where(lacks, beyond, member_codes), np.where(lacks, -2, member_codes))
