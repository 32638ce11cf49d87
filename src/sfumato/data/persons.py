"""PersonPairs: the persons of records. GroupPersons: the persons of every group, and their sensitive values.

Groups are counted on pairs of a cell and a person in the order of persons, with one stamp per group: one pass, without
sorting or hashing. This needs whole cells: an assignment that divides one does not determine whose records go where.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.data._column_names import HOUSEHOLD, NAME, REACH, is_phone, meaning_of
from sfumato.data.hierarchies.notation import read_date
from sfumato.engines.protocol import Engine, Pairs, PersonCounts
from sfumato.errors import BadInputError
from sfumato.runtime._kernel_helpers import members_by
from sfumato.runtime.arrays import Codes, Counts, Flags, Numbers, RedactedRepr
from sfumato.runtime.kernels import kernel
from sfumato.texts.catalogue import refusal, t

if TYPE_CHECKING:
    from sfumato.data.cells import Assignment


BYTES_OF_A_PAIR = 100
"""The memory of a pair of a cell and a person: three numbers in two orders, twice while sorting."""

WHOLE = 1 << 20
"""The sum F of a person all of whose records are in one group."""

EXAMINED = 2_000
"""The number of sampled records of an identifier."""

LONGEST_KEY = 40
MOSTLY = 0.9
"""The least share of values that look like a key."""


@dataclass(frozen=True, eq=False, repr=False)
class PersonPairs(RedactedRepr):
    """The number of records of each person in each cell: pairs in the order of persons."""

    cell: Codes
    person: Codes
    """Numbers from 0, nondecreasing."""

    count: Codes
    cells: int
    """The number of cells of the table."""

    in_engine: ClassVar[bool] = False
    """Whether the pairs stay in the engine, which counts the persons of groups."""

    @staticmethod
    def of(pairs: Pairs, cells: int) -> PersonPairs:
        """Sort pairs by person, then by cell."""
        order = np.lexsort((pairs.cell, pairs.value))
        cell, person, count = (column[order].astype(np.int32) for column in (pairs.cell, pairs.value, pairs.counts))
        return PersonPairs(cell, person, count, cells)

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
    def ordered(self) -> Codes:
        """The persons in an order that follows only from their records, not from their numbers.

        Persons with equal records are consecutive, so draws by index in this order draw the same records.
        """
        return np.array(sorted(range(self.number), key=self._held_by_each.__getitem__), np.int32)

    @cached_property
    def kinds(self) -> tuple[Codes, Counts]:
        """The kind of every person, where persons of equal records are of one; and how many are of each kind."""
        sorts = groupby(self._held_by_each[person] for person in self.ordered)
        alike = np.array([len(list(equal)) for _, equal in sorts], np.int64)
        kind = np.empty(self.number, np.int32)
        kind[self.ordered] = np.repeat(np.arange(len(alike)), alike)
        return kind, alike

    @cached_property
    def _held_by_each(self) -> list[bytes]:
        """The records of each person as bytes, which compare like the numbers of cells and records."""
        held = np.column_stack([self.cell, self.count]).astype(">i4").tobytes()
        ends = np.cumsum(np.bincount(self.person, minlength=self.number)) * 8
        return [held[first:end] for first, end in pairwise([0, *ends.tolist()])]

    def some_of_kinds(self, numbers: Counts) -> Flags:
        """Choose so many persons of every kind, the first ones."""
        alike, chosen = self.kinds[1], np.zeros(self.number, np.bool_)
        place = np.arange(self.number) - np.repeat(np.cumsum(alike) - alike, alike)
        chosen[self.ordered[place < np.repeat(numbers, alike)]] = True
        return chosen

    def drawn(self, share: float, generator: np.random.Generator) -> Flags:
        """Draw a share of the persons without replacement: the number of each kind of equal records, the first ones."""
        wanted = round(share * self.number)
        if not 0 < wanted < self.number:
            raise refusal("nobody_held_out", share=share, persons=self, wanted=wanted)
        return self.some_of_kinds(generator.multivariate_hypergeometric(self.kinds[1], wanted, method="marginals"))

    def without(self, left_out: Flags) -> PersonPairs:
        """Remove some persons with all their records; the others are renumbered, cells are not."""
        kept = ~left_out[self.person]
        number = (np.cumsum(~left_out) - 1).astype(np.int32)
        return PersonPairs(self.cell[kept], number[self.person[kept]], self.count[kept], self.cells)

    def counts(self) -> Counts:
        """Count the records of every cell."""
        return np.bincount(self.cell, self.count, self.cells).astype(np.int64)

    @cached_property
    def by_cell(self) -> tuple[Counts, Codes, Codes]:
        """The pairs of cell c at `offsets[c]:offsets[c + 1]`: offsets, persons, counts."""
        order = np.argsort(self.cell, kind="stable")
        offsets = np.searchsorted(self.cell[order], np.arange(self.cells + 1))
        return offsets, self.person[order], self.count[order]

    def counted(self, group: Codes, groups: int) -> tuple[Counts, Counts]:
        """Count the different persons of every group, and the records of its largest one; group -1 is skipped."""
        return count_persons(self.cell, self.person, self.count, group, groups)

    def valued(self, group: Codes, columns: Counts, groups: int, width: int) -> tuple[Counts, Numbers]:
        """Count the persons of every group who have each value, and sum values with a weight of one per person."""
        return count_values(self.cell, self.person, self.count, group, columns, groups, width)

    def matchings(self, group: Codes, columns: Counts, groups: int, sizes: Counts) -> Counts:
        """Return the largest matching of persons with their values: groups x attributes."""
        of_pair = group[self.cell]
        shown = np.flatnonzero(of_pair >= 0)
        offsets, members = members_by(of_pair[shown], groups)
        person, cell = self.person[shown][members], self.cell[shown][members]
        found = [match_groups(offsets, person, columns[cell, a], int(size)) for a, size in enumerate(sizes)]
        return np.array(found, np.int64).reshape(len(sizes), groups).T

    def group_of_cells(self, assignment: Assignment, counts: Counts) -> Codes:
        """Return the group of every cell, -1 if it is suppressed; raise if a cell is divided."""
        group = np.full(self.cells, -1, np.int32)
        group[assignment.cell] = assignment.group
        whole = np.bincount(assignment.cell, minlength=self.cells).max(initial=0) <= 1
        if not whole or (assignment.count != counts[assignment.cell]).any():
            raise refusal("persons_of_divided_cells")
        return group


class EnginePersons(PersonPairs):
    """The persons of a table with more pairs than fit into memory: the engine counts them by group.

    Whatever reads single pairs is refused.
    """

    in_engine = True
    engine: Engine

    def __init__(self, engine: Engine, column: str, link: str, counts: Counts, pairs: int, most_pairs: int) -> None:
        refused = {"origin": engine.origin, "column": column, "number": pairs, "most": most_pairs}
        vars(self).update(engine=engine, column=column, link=link, cells=len(counts), refused=refused)

    def __getattr__(self, name: str) -> Any:
        if name in ("cell", "person", "count"):
            raise BadInputError(t("engines.too_many_pairs", **vars(self)["refused"]))
        raise AttributeError(name)

    def _count(self, group: Codes, value: Counts) -> PersonCounts:
        return self.engine.person_counts(self.column, self.link, group.astype(np.int64), value.astype(np.int64))

    @cached_property
    def _everybody(self) -> tuple[Counts, Counts]:
        return self.counted(np.zeros(self.cells, np.int32), 1)

    @property
    def number(self) -> int:
        """The number of different persons."""
        return int(self._everybody[0][0])

    @property
    def most(self) -> int:
        """The most records that one person has."""
        return int(self._everybody[1][0])

    @cached_property
    def fractions(self) -> Counts:
        """The sum over the records of each cell of 1 / the records of their person, in 1/`WHOLE`; at least one.

        Rounded down: a group has at least as many persons as its sum F says, and F is additive.
        """
        every = np.arange(self.cells)[:, None]
        weights = self.valued(np.zeros(self.cells, np.int32), every, 1, self.cells)[1][0]
        whole: Counts = np.maximum((weights * WHOLE).astype(np.int64), 1)
        return whole

    def counted(self, group: Codes, groups: int) -> tuple[Counts, Counts]:
        """Count in the engine."""
        found = self._count(group, np.zeros(self.cells, np.int64))
        persons, largest = np.zeros((2, groups), np.int64)
        persons[found.group], largest[found.group] = found.persons, found.most
        return persons, largest

    def valued(self, group: Codes, columns: Counts, groups: int, width: int) -> tuple[Counts, Numbers]:
        """Count in the engine, one attribute after the other."""
        having, weighted = np.zeros((groups, width), np.int64), np.zeros((groups, width))
        for value in columns.T:
            found = self._count(group, value)
            having[found.group, found.value], weighted[found.group, found.value] = found.persons, found.weights
        return having, weighted

    def matchings(self, group: Codes, columns: Counts, groups: int, sizes: Counts) -> Counts:
        """Match in memory those values that fewer persons have than there are values.

        A value that at least as many have can always be matched, whoever is matched with the others.
        """
        matched = np.zeros((groups, len(sizes)), np.int64)
        for a, size in enumerate(sizes.tolist()):
            having = self.valued(group, columns[:, [a]], groups, size)[0]
            common = having >= size
            rare = np.flatnonzero((group >= 0) & ~common[group, columns[:, a]])
            pairs = self.engine.pairs(self.column, self.link, np.iinfo(np.int64).max, rare)
            assert isinstance(pairs, Pairs)
            few = PersonPairs.of(pairs, self.cells).matchings(group, columns[:, [a]], groups, np.array([size]))
            matched[:, a] = few[:, 0] + common.sum(axis=1)
        return matched


@dataclass(frozen=True, eq=False, repr=False)
class GroupPersons(RedactedRepr):
    """The persons of every group and their sensitive values, for whole cells; see `count_values`.

    Everything is counted on demand.
    """

    pairs: PersonPairs
    group: Codes
    """The group of every cell, -1 if it is suppressed."""

    groups: int
    columns: Counts
    """For each cell its histogram columns, one per sensitive attribute."""

    spans: Counts
    """The first column of each attribute, and the end."""

    @cached_property
    def _counted(self) -> tuple[Counts, Counts]:
        return self.pairs.counted(self.group, self.groups)

    @property
    def persons(self) -> Counts:
        """The number of different persons of every group."""
        return self._counted[0]

    @property
    def largest(self) -> Counts:
        """The most records of one person in every group."""
        return self._counted[1]

    @cached_property
    def _values(self) -> tuple[Counts, Numbers]:
        return self.pairs.valued(self.group, self.columns, self.groups, int(self.spans[-1]))

    @property
    def having(self) -> Counts:
        """The number of persons of every group with each value at least once: groups x values."""
        return self._values[0]

    @property
    def weighted(self) -> Numbers:
        """The values of every group, each person's records in it with a total weight of one: groups x values."""
        return self._values[1]

    @cached_property
    def matchings(self) -> Counts:
        """The largest matching of persons with their values: groups x attributes."""
        return self.pairs.matchings(self.group, self.columns - self.spans[:-1], self.groups, np.diff(self.spans))

    @cached_property
    def suppressed(self) -> dict[str, int]:
        """Count the persons without a record in a group, and those with some records in none: internal."""
        shown = (self.group >= 0).astype(np.int64)[:, None]
        [[missing, there]] = self.pairs.valued(np.zeros_like(self.group), shown, 1, 2)[0].tolist()
        everybody = self.pairs.number
        return {"persons_left_out": everybody - there, "persons_missing_records": missing + there - everybody}

    def some(self, groups: Counts) -> GroupPersons:
        """Return the persons of some groups, numbered in this order."""
        number = np.full(self.groups + 1, -1, np.int32)  # the last one is for suppressed cells
        number[groups] = np.arange(len(groups))
        return replace(self, group=number[self.group], groups=len(groups))


def persons_of(engine: Engine, column: str, link: str, counts: Counts, most_pairs: int) -> PersonPairs:
    """Return the persons of every cell, or who counts them; records without a person were refused or dropped before."""
    pairs = engine.pairs(column, link, most_pairs)
    if isinstance(pairs, int):
        return EnginePersons(engine, column, link, counts, pairs, most_pairs)
    return PersonPairs.of(pairs, len(counts))


@kernel
def count_persons(cell: Codes, person: Codes, count: Codes, group: Codes, groups: int) -> tuple[Counts, Counts]:
    """Count the different persons of every group and the records of its largest one; group -1 is skipped.

    O(pairs); pairs must be in the order of persons.
    """
    last, held, persons, largest = range(4)
    counted = np.zeros((groups, 4), np.int32)  # the values of a group are in one cache line
    counted[:, last] = -1
    for i in range(len(cell)):
        g = group[cell[i]]
        if g < 0:
            continue
        if counted[g, last] != person[i]:
            counted[g, last], counted[g, held] = person[i], 0
            counted[g, persons] += 1
        counted[g, held] += count[i]
        counted[g, largest] = max(counted[g, largest], counted[g, held])
    return counted[:, persons].astype(np.int64), counted[:, largest].astype(np.int64)


@kernel
def count_values(
    cell: Codes, person: Codes, count: Codes, group: Codes, columns: Counts, groups: int, width: int
) -> tuple[Counts, Numbers]:
    """Count for every group and value the persons who have it, and sum values with a total weight of one per person.

    Each person of a group distributes a weight of one over their values there, by records. O(pairs x attributes);
    pairs must be in the order of persons.
    """
    having, weighted = np.zeros((groups, width), np.int64), np.zeros((groups, width))
    last, held = np.full((groups, width), -1, np.int32), np.zeros(groups, np.int64)
    start = end = 0
    while end < len(cell):
        start = end
        while end < len(cell) and person[end] == person[start]:
            if group[cell[end]] >= 0:
                held[group[cell[end]]] += count[end]
            end += 1
        for i in range(start, end):
            g = group[cell[i]]
            if g < 0:
                continue
            for a in range(columns.shape[1]):
                s = columns[cell[i], a]
                weighted[g, s] += count[i] / held[g]
                if last[g, s] != person[i]:
                    last[g, s] = person[i]
                    having[g, s] += 1
        for i in range(start, end):
            held[max(group[cell[i]], 0)] = 0
    return having, weighted


@kernel
def match_groups(offsets: Counts, person: Codes, value: Counts, size: int) -> Counts:
    """Return the largest matching of every group; its entries are in the order of persons."""
    matched = np.zeros(len(offsets) - 1, np.int64)
    for g in range(len(matched)):
        first, end = offsets[g], offsets[g + 1]
        starts, persons = np.empty(end - first + 1, np.int64), 0
        for i in range(first, end):
            if i == first or person[i] != person[i - 1]:
                starts[persons] = i - first
                persons += 1
        starts[persons] = end - first
        matched[g] = largest_matching(starts[: persons + 1], value[first:end], size, size)
    return matched


@kernel
def largest_matching(starts: Counts, values: Counts, size: int, enough: int) -> int:
    """Match persons with their values until `enough` are matched; the values of p start at `starts[p]`.

    A greedy choice is completed by augmenting paths. Values visited by an unsuccessful search are never useful again,
    so O(entries x matching).
    """
    persons = len(starts) - 1
    owner, mine, free = np.full(size, -1, np.int64), np.full(persons, -1, np.int64), np.empty(persons, np.int64)
    matched = left = 0
    for p in range(persons):
        if matched >= enough:
            return matched
        for e in range(starts[p], starts[p + 1]):
            if owner[values[e]] < 0:
                owner[values[e]], mine[p] = p, values[e]
                matched += 1
                break
        if mine[p] < 0:
            free[left] = p
            left += 1
    seen, came = np.zeros(size, np.bool_), np.empty(size, np.int64)
    queue, passed = np.empty(size + 1, np.int64), np.empty(size, np.int64)
    for f in range(left):
        if matched >= enough:
            break
        queue[0], at, waiting, reached, found = free[f], 0, 1, 0, -1
        while at < waiting and found < 0:
            p = queue[at]
            at += 1
            for e in range(starts[p], starts[p + 1]):
                s = values[e]
                if seen[s]:
                    continue
                seen[s], came[s], passed[reached] = True, p, s
                reached += 1
                if owner[s] < 0:
                    found = s
                    break
                queue[waiting] = owner[s]
                waiting += 1
        if found < 0:
            continue
        matched += 1
        while found >= 0:
            p = came[found]
            before = mine[p]
            owner[found], mine[p] = p, found
            found = before
        for i in range(reached):
            seen[passed[i]] = False
    return matched


def is_repeated_key(engine: Engine, name: str) -> bool:
    """Return whether a column contains codes or numbers of persons, some in several records.

    Names, dates, sentences and contact data are none.
    """
    meaning = meaning_of(name)
    if not name.strip() or (meaning is not None and meaning.what in (HOUSEHOLD, NAME, REACH)):
        return False
    if not looks_like_keys([value for value in engine.sample(name, EXAMINED).values if value is not None]):
        return False
    facts = engine.facts(name)
    return facts.distinct < facts.present


def looks_like_keys(values: Sequence[str]) -> bool:
    """Return whether values are short codes or whole numbers: one word each, with a digit."""
    if len(values) < 2:
        return False
    return sum(map(_is_key, values)) >= MOSTLY * len(values)


def _is_key(value: str) -> bool:
    """Return whether one value may be a key: `P0001`, `17`, `4b1e-..`, but not `1.5`, an address or a phone number."""
    word = value.strip()
    one_word = 0 < len(word) <= LONGEST_KEY and not any(map(str.isspace, word)) and any(map(str.isdigit, word))
    fraction = word.lstrip("+-").replace(",", ".").replace(".", "", 1).isdigit() and not word.isdigit()
    return one_word and not fraction and "@" not in word and not is_phone(word) and not isfinite(read_date(word))
