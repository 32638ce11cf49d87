"""Requirements about sensitive values where persons are counted, asked of a finished release.

They are defined where all published records of a person lie in one group. With K persons in the group, N(s) of whom
have the value s at least once, and w(s) the mean over its persons of the share of s among their records there:

- frequency diversity bounds N(s) / K, so it protects the event "has s at all";
- distinct diversity is the largest matching of persons with values that they have: l values of one person count once;
- entropy and recursive diversity, distances, delta-disclosure and beta-likeness read w, and Q is the w of the table.
"""

from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.data.cells import Cells, find_sensitive
from sfumato.requirements import _predicates as predicates
from sfumato.requirements._predicates import groups_admitted
from sfumato.requirements.requirement import Requirement
from sfumato.runtime.arrays import Counts


class PersonValues(NamedTuple):
    """Which persons of which group have which value, how often: one row each, in the order of groups and persons."""

    group: Counts
    person: Counts
    value: Counts
    records: Counts
    groups: int
    size: int
    """The number of values."""

    @property
    def persons(self) -> Counts:
        """Count the persons of every group."""
        pairs = np.unique(np.stack([self.group, self.person], axis=1), axis=0)
        return np.bincount(pairs[:, 0], minlength=self.groups)

    @property
    def having(self) -> NDArray[np.float64]:
        """Count the persons of every group who have each value at least once."""
        return self._summed(np.ones(len(self.group)))

    @property
    def weighted(self) -> NDArray[np.float64]:
        """Add up the values of every group with weights that add up to one for every person."""
        _, person = np.unique(np.stack([self.group, self.person], axis=1), axis=0, return_inverse=True)
        person = person.ravel()
        return self._summed(self.records / np.bincount(person, self.records)[person])

    def _summed(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        sums = np.zeros((self.groups, self.size))
        np.add.at(sums, (self.group, self.value), weights)
        return sums

    @property
    def matchings(self) -> Counts:
        """Return the largest matching of persons with values in every group."""
        ends = np.searchsorted(self.group, np.arange(self.groups + 1))
        spans = [slice(*ends[g : g + 2].tolist()) for g in range(self.groups)]
        return np.array([largest_matching(self.person[at].tolist(), self.value[at].tolist()) for at in spans])


def refused_parts(cells: Cells, group: Counts, groups: int, requirement: Requirement) -> list[tuple[str, int]]:
    """List the parts about sensitive values that fail, counted by persons, each with the number of groups in which.

    `group` is the group of every cell, -1 where it is suppressed; every person is in one group at most.
    """
    parts = [part for part in requirement.parts if part.about_sensitive]
    failing = [(str(part), int((~_admitted(cells, group, groups, part)).sum())) for part in parts]
    return [(part, bad) for part, bad in failing if bad]


def _admitted(cells: Cells, group: Counts, groups: int, part: Requirement) -> NDArray[np.bool_]:
    """Say for every group whether one part admits it."""
    place = find_sensitive(cells.sensitive, part.on)
    held = _values_of_persons(cells, place, group, groups)
    ((kind, least, _),) = part.rules()
    if kind == predicates.DISTINCT:
        return held.matchings >= least
    alone = replace(part, on=None)  # type: ignore[type-var]
    rules = alone.compile((cells.sensitive[place],))
    if kind == predicates.FREQUENCY:
        return groups_admitted(rules, cast(Counts, held.having), held.persons)
    whole = _values_of_persons(cells, place, np.zeros(cells.size, np.int64), 1)
    rules = rules._replace(q=whole.weighted[0] / whole.persons[0])
    return groups_admitted(rules, cast(Counts, held.weighted), held.persons)  # kernels read any numbers


def _values_of_persons(cells: Cells, place: int, group: Counts, groups: int) -> PersonValues:
    pairs = cells.persons
    assert pairs is not None
    of_pair = group[pairs.cell]
    shown = of_pair >= 0
    value = cells.values[pairs.cell[shown], place].astype(np.int64)
    rows, at = np.unique(np.stack([of_pair[shown], pairs.person[shown], value], axis=1), axis=0, return_inverse=True)
    counts = np.bincount(at.ravel(), pairs.count[shown]).astype(np.int64)
    return PersonValues(rows[:, 0], rows[:, 1], rows[:, 2], counts, groups, cells.sensitive[place].size)


def largest_matching(persons: list[int], values: list[int]) -> int:
    """Return the largest matching of persons with values that they have, by augmenting paths."""
    held: dict[int, list[int]] = {}
    for person, value in zip(persons, values, strict=True):
        held.setdefault(person, []).append(value)
    owner: dict[int, int] = {}

    def place(person: int, tried: set[int]) -> bool:
        for value in held[person]:
            if value not in tried:
                tried.add(value)
                if value not in owner or place(owner[value], tried):
                    owner[value] = person
                    return True
        return False

    return sum(place(person, set()) for person in held)
