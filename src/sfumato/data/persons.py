"""PersonPairs: whose records they are, how many different persons a group holds, and how many of its records one has.

Groups are counted on pairs of a cell and a person in the order of persons, with one stamp per group: one pass, without
sorting or hashing. That needs whole cells: an assignment that divides one does not say whose records go where.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite

import numpy as np

from sfumato.data._column_names import HOUSEHOLD, NAME, REACH, is_phone, meaning_of
from sfumato.data.assignment import Assignment
from sfumato.data.hierarchies.notation import read_date
from sfumato.engines.protocol import Engine, Pairs
from sfumato.runtime.arrays import Counts, Quiet
from sfumato.runtime.kernels import kernel
from sfumato.texts.catalogue import refusal

BYTES_OF_A_PAIR = 100
"""What a pair of a cell and a person takes in memory: three numbers in two orders, and as much while it is sorted."""

EXAMINED = 2_000
"""Records among which the values of an identifier are looked at."""

LONGEST_KEY = 40
MOSTLY = 0.9
"""The share of values that must look like a key."""


@dataclass(frozen=True, eq=False, repr=False)
class GroupPersons(Quiet):
    """For every group the number of its different persons, and the most records that one of them has in it."""

    persons: Counts
    largest: Counts

    def only(self, group: int) -> GroupPersons:
        """Return those of one group alone."""
        return GroupPersons(self.persons[[group]], self.largest[[group]])


@dataclass(frozen=True, eq=False, repr=False)
class PersonPairs(Quiet):
    """Which person has how many records of which cell: pairs in the order of persons."""

    cell: Counts
    person: Counts
    """Numbers from 0, never falling."""

    count: Counts
    cells: int
    """The number of cells of the table."""

    @staticmethod
    def of(pairs: Pairs, cells: int) -> PersonPairs:
        """Put pairs into the order of persons, those of one person into that of cells."""
        order = np.lexsort((pairs.cell, pairs.value))
        return PersonPairs(pairs.cell[order], pairs.value[order], pairs.counts[order], cells)

    @cached_property
    def number(self) -> int:
        """The number of different persons."""
        return int(self.person.max(initial=-1)) + 1

    @cached_property
    def records(self) -> Counts:
        """The records of every person."""
        return np.bincount(self.person, self.count, self.number).astype(np.int64)

    @cached_property
    def most(self) -> int:
        """The most records that one person has."""
        return int(self.records.max(initial=0))

    @cached_property
    def by_cell(self) -> tuple[Counts, Counts, Counts]:
        """The pairs of cell c at `offsets[c]:offsets[c + 1]`: offsets, persons, counts."""
        order = np.argsort(self.cell, kind="stable")
        offsets = np.searchsorted(self.cell[order], np.arange(self.cells + 1))
        return offsets, self.person[order], self.count[order]

    def group_of_cells(self, assignment: Assignment, counts: Counts) -> Counts:
        """Return the group of every cell, -1 where it is suppressed; raise where a cell is divided."""
        group = np.full(self.cells, -1, np.int64)
        group[assignment.cell] = assignment.group
        whole = np.bincount(assignment.cell, minlength=self.cells).max(initial=0) <= 1
        if not whole or (assignment.count != counts[assignment.cell]).any():
            raise refusal("persons_of_divided_cells")
        return group

    def of_groups(self, assignment: Assignment, counts: Counts, groups: int) -> GroupPersons:
        """Count the persons of every group; `counts` are the records of the cells."""
        group = self.group_of_cells(assignment, counts)
        return GroupPersons(*count_persons(self.cell, self.person, self.count, group, groups))

    def groups_of_persons(self, assignment: Assignment, counts: Counts) -> Counts:
        """Count for every person the groups in which the person has a record."""
        group = self.group_of_cells(assignment, counts)[self.cell]
        shown = group >= 0
        pairs = np.unique(np.stack([self.person[shown], group[shown]], axis=1), axis=0)
        return np.bincount(pairs[:, 0], minlength=self.number)


def persons_of(engine: Engine, column: str, link: str, cells: int, most_pairs: int) -> PersonPairs:
    """Find whose records every cell has; records without a person were refused or dropped before."""
    return PersonPairs.of(engine.pairs(column, link, most_pairs), cells)


@kernel
def count_persons(cell: Counts, person: Counts, count: Counts, group: Counts, groups: int) -> tuple[Counts, Counts]:
    """Count the different persons of every group and the records of its largest one; a cell of group -1 is left out.

    O(pairs); pairs must be in the order of persons.
    """
    persons, largest = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
    last, held = np.full(groups, -1, np.int64), np.zeros(groups, np.int64)
    for i in range(len(cell)):
        g = group[cell[i]]
        if g < 0:
            continue
        if last[g] != person[i]:
            last[g], held[g] = person[i], 0
            persons[g] += 1
        held[g] += count[i]
        largest[g] = max(largest[g], held[g])
    return persons, largest


def is_repeated_key(engine: Engine, name: str) -> bool:
    """Say whether a column holds codes or numbers of persons, some in several records.

    Names, dates, sentences and ways to reach somebody are none.
    """
    meaning = meaning_of(name)
    if not name.strip() or (meaning is not None and meaning.what in (HOUSEHOLD, NAME, REACH)):
        return False
    if not looks_like_keys([value for value in engine.sample(name, EXAMINED).values if value is not None]):
        return False
    facts = engine.facts(name)
    return facts.distinct < facts.present


def looks_like_keys(values: Sequence[str]) -> bool:
    """Say whether values are short codes or whole numbers: one word each, with a digit."""
    if len(values) < 2:
        return False
    return sum(map(_is_key, values)) >= MOSTLY * len(values)


def _is_key(value: str) -> bool:
    """Say whether one value may be a key: `P0001`, `17`, `4b1e-..`, but no `1.5`, no address, no telephone number."""
    word = value.strip()
    one_word = 0 < len(word) <= LONGEST_KEY and not any(map(str.isspace, word)) and any(map(str.isdigit, word))
    fraction = word.lstrip("+-").replace(",", ".").replace(".", "", 1).isdigit() and not word.isdigit()
    return one_word and not fraction and "@" not in word and not is_phone(word) and not isfinite(read_date(word))
