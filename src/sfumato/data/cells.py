"""Cells: the table compressed to distinct tuples of codes with a count each, and histograms of groups of them.

All search and all measures run on these values; nothing here knows where the rows are. Attributes stand in the
order of their names, so no result can depend on the order of columns; cells stand in lexicographic order, so no
result can depend on the order of rows.

Weights of quasi-identifiers: how much a loss in each of them counts (Xu et al. 2006, whom Dewri et al. follow).

A loss is the weighted mean over the quasi-identifiers. Only the ratios of weights matter: makers and measures read them
scaled to a mean of 1, so that a table without weights is one whose weights are all 1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.config.options import check_number, named_entries
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.hierarchies.notation import ascii_where_unclear, find_look_alikes
from sfumato.data.persons import GroupPersons, PersonPairs
from sfumato.runtime._kernel_helpers import NO_HASH, hashed, mixed_in, slots_for
from sfumato.runtime.arrays import Codes, Counts, Quiet
from sfumato.runtime.kernels import kernel
from sfumato.runtime.threads import Once, together
from sfumato.texts.catalogue import refusal, t

Weights = tuple[tuple[str, float], ...]
"""The weight of every quasi-identifier, in the order of their names; nothing where all count alike."""


def weights_of(quasi: Iterable[str], given: Mapping[str, float]) -> Weights:
    """Give every quasi-identifier its weight, 1 where none is given; raises where one cannot be a weight."""
    names = sorted(quasi)
    for name, weight in given.items():
        if name not in names:
            raise refusal("weights_no_quasi_identifier", name=name, names=", ".join(names))
        check_number(t("notice.weights_weight", name=name), weight, least=0)
    weights = tuple((name, float(given.get(name, 1.0))) for name in names)
    if weights and not any(weight for _, weight in weights):
        raise refusal("weights_least_quasi_identifier")
    return weights if len({weight for _, weight in weights}) > 1 else ()


def read_weights(texts: Iterable[str]) -> dict[str, float]:
    """Read weights from texts such as `age=2, "zip, code"=0.5`."""
    weights: dict[str, float] = {}
    for name, value in named_entries("weights", ", ".join(texts), "age=2, sex=0.5"):
        try:
            weights[name] = float(value)
        except ValueError:
            raise refusal("weights_weight_must_number", name=name, value=value) from None
    return weights


def scaled(weights: Sequence[float]) -> list[float]:
    """Scale weights to a mean of 1, by their decimal digits: 0.1 and 0.3 are the very same as 1 and 3."""
    exact = [Fraction(str(weight)) for weight in weights]
    total = sum(exact)
    return [float(weight * len(exact) / total) for weight in exact]


def weights_in_words(weights: Mapping[str, float]) -> list[str]:
    """Say which weights were used, as a sentence without its end; nothing where all count alike."""
    if not weights:
        return []
    each = ", ".join(f"{name} {weight:g}" for name, weight in weights.items())
    ignored = t("notice.weighs_protected_like_others") if 0 in weights.values() else ""
    return [t("notice.losses_weighted_means_over", each=each, ignored=ignored)]


@dataclass(frozen=True, repr=False)
class Quasi(Quiet):
    """A quasi-identifier: its name and the hierarchy whose leaf codes the cells hold."""

    spoken: ClassVar[tuple[str, ...]] = ("name",)

    name: str
    hierarchy: Hierarchy
    weight: float = 1.0
    """How much a loss in it counts beside the others."""


@dataclass(frozen=True, eq=False, repr=False)
class Sensitive(Quiet):
    """A sensitive attribute: the values that occur, in the order of their hierarchy, and how often (Q)."""

    spoken: ClassVar[tuple[str, ...]] = ("name",)

    name: str
    hierarchy: Hierarchy
    leaves: NDArray[np.int32]
    counts: Counts
    by_persons: NDArray[np.float64] | None = None
    """Q where persons are counted: the records of every person weigh one together."""

    @property
    def size(self) -> int:
        """The number of values that occur."""
        return len(self.leaves)

    @property
    def labels(self) -> list[str]:
        """The values that occur, as text."""
        return [self.hierarchy.leaves[leaf] for leaf in self.leaves]

    def check_look_alikes(self) -> None:
        """Raise where two values look alike: an auditor counts them as one, so they may not count as two."""
        if self._look_alikes:
            first, second = map(ascii_where_unclear, self._look_alikes[0][:2])
            raise refusal("sensitive_look_alikes", sensitive=self, first=first, second=second)

    @cached_property
    def _look_alikes(self) -> list[list[str]]:
        return find_look_alikes(self.labels)

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """The shares of the records of the whole table."""
        shares: NDArray[np.float64] = self.counts / self.counts.sum()
        return shares

    @property
    def q(self) -> NDArray[np.float64]:
        """Q, the baseline distribution of requirements and risks: that of the whole table."""
        return self.shares if self.by_persons is None else self.by_persons


def spans_of(sensitive: Sequence[Sensitive]) -> Counts:
    """Say where the values of each of some attributes stand, side by side: starts and the end."""
    return np.cumsum([0, *(attribute.size for attribute in sensitive)], dtype=np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Cells(Quiet):
    """The distinct tuples of a table: codes of the quasi-identifiers, values of the sensitive attributes, counts."""

    quasi: tuple[Quasi, ...]
    sensitive: tuple[Sensitive, ...]
    codes: NDArray[np.int32]
    """One row per cell, one column per quasi-identifier; -1 is a value outside of the domain, which no box covers."""

    values: NDArray[np.int32]
    """One row per cell, one column per sensitive attribute: an index into its occurring values."""

    counts: Counts
    persons: PersonPairs | None = None
    """Whose records they are, where persons are counted."""

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.counts)

    @cached_property
    def records(self) -> int:
        """The number of records."""
        return int(self.counts.sum())

    @cached_property
    def spans(self) -> Counts:
        """Where each sensitive attribute's values stand among the columns of a histogram: starts and the end."""
        return spans_of(self.sensitive)

    def span(self, position: int) -> slice:
        """Return the columns of one sensitive attribute in a histogram."""
        return slice(int(self.spans[position]), int(self.spans[position + 1]))

    @cached_property
    def columns(self) -> Counts:
        """For every cell the columns of a histogram it adds to, one per sensitive attribute."""
        return self.values.astype(np.int64) + self.spans[:-1]

    @cached_property
    def domains(self) -> Counts:
        """The number of leaves of every quasi-identifier."""
        return np.array([quasi.hierarchy.size for quasi in self.quasi], np.int64)

    @cached_property
    def once(self) -> Once:
        """What makers found out for one release, and another one may need as well: groups, whatever their form."""
        return Once()

    @cached_property
    def leaf_counts(self) -> list[Counts]:
        """The records of every leaf of every quasi-identifier; a value outside of the domain is nobody's."""
        counted = []
        for code, size in zip(self.codes.T, self.domains, strict=True):
            known = code >= 0
            counted.append(weighted_counts(code[known], self.counts[known], int(size)))
        return counted

    @cached_property
    def missing(self) -> NDArray[np.int32]:
        """The code of a missing value of every quasi-identifier, -1 where it has none."""
        trees = [quasi.hierarchy for quasi in self.quasi]
        return np.array([tree.size - 1 if tree.missing else -1 for tree in trees], np.int32)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """How much a loss in every quasi-identifier counts, scaled to a mean of 1."""
        return np.array(scaled([quasi.weight for quasi in self.quasi]))

    @cached_property
    def whole(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The box of the whole domain: the first and the last leaf of every quasi-identifier."""
        return np.zeros(len(self.quasi), np.int32), (self.domains - 1).astype(np.int32)

    @cached_property
    def points(self) -> Points:
        """The distinct combinations of quasi-identifiers; the cells of a point stand together."""
        return Points.of(self.codes, self.counts)

    @cached_property
    def truth(self) -> NDArray[np.float64]:
        """The sensitive counts of every point: points x values."""
        return self.histograms(self.assigned(self.points.number), len(self.points.codes)).counts.astype(np.float64)

    @cached_property
    def sightings(self) -> tuple[NDArray[np.float64], Counts]:
        """For every point the persons who have each value at least once, and all; without a person column records."""
        points = self.points
        persons = self.group_persons(self.assigned(points.number), len(points.codes))
        return (self.truth, points.counts) if persons is None else (persons.having.astype(float), persons.persons)

    def assigned(self, group: Counts) -> Assignment:
        """Send all records of cell c to `group[c]`; where that is negative they are suppressed."""
        kept = np.flatnonzero(group >= 0)
        return Assignment(kept, group[kept], self.counts[kept])

    def histograms(self, assignment: Assignment, groups: int) -> Histograms:
        """Count the sensitive values of every group."""
        counts = assignment.histograms(self.values, self.spans, groups)
        return Histograms(self.sensitive, assignment.sizes(groups), counts, self.group_persons(assignment, groups))

    def group_persons(self, assignment: Assignment, groups: int) -> GroupPersons | None:
        """Count the persons of every group; None where records are counted."""
        if self.persons is None:
            return None
        group = self.persons.group_of_cells(assignment, self.counts)
        return GroupPersons(self.persons, group, groups, self.columns, self.spans)

    def with_persons(self, persons: PersonPairs) -> Cells:
        """Count persons from here on: in groups, and in Q."""
        cells = replace(self, persons=persons)
        whole = GroupPersons(persons, np.zeros(self.size, np.int32), 1, self.columns, self.spans)
        shares = whole.weighted[0] / persons.number
        sensitive = [replace(each, by_persons=shares[cells.span(s)]) for s, each in enumerate(self.sensitive)]
        return replace(cells, sensitive=tuple(sensitive))

    @cached_property
    def baseline(self) -> Histograms:
        """The histograms of the whole table as one group."""
        counts = [attribute.counts for attribute in self.sensitive]
        joined = np.concatenate(counts) if counts else np.zeros(0, np.int64)
        persons = self.group_persons(self.assigned(np.zeros(self.size, np.int64)), 1)
        return Histograms(self.sensitive, np.array([self.records]), joined[None, :].astype(np.int64), persons)


@dataclass(frozen=True, eq=False, repr=False)
class Histograms(Quiet):
    """For every group its size and its counts of each sensitive value, all attributes side by side."""

    sensitive: tuple[Sensitive, ...]
    sizes: Counts
    counts: Counts
    persons: GroupPersons | None = None
    """The persons of every group, where persons are counted."""

    def of(self, position: int) -> Counts:
        """Return the counts of one sensitive attribute: groups x values."""
        starts = spans_of(self.sensitive)
        return self.counts[:, starts[position] : starts[position + 1]]

    def only(self, group: int) -> Histograms:
        """Return one group alone."""
        persons = None if self.persons is None else self.persons.some(np.array([group]))
        return Histograms(self.sensitive, self.sizes[[group]], self.counts[[group]], persons)

    def __len__(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True, eq=False, repr=False)
class CountedValues(Quiet):
    """Which values of one column the records of every cell have: of cell c at `offsets[c]:offsets[c + 1]`."""

    offsets: Counts
    values: Counts
    """Positions in `labels`."""

    counts: Counts
    """How many records of the cell have the value."""

    labels: tuple[str | None, ...]
    """The values as text; None is the missing one."""

    numbers: NDArray[np.float64]
    """The values as numbers: of a leaf that stands for a stretch its middle, NaN where there is none."""


def counted_leaves(hierarchy: Hierarchy, codes: NDArray[np.int32], counts: Counts) -> CountedValues:
    """Say which leaf of a coded column every cell has: one each."""
    labels: list[str | None] = list(hierarchy.leaves)
    numbers = np.full(len(labels), np.nan)
    firsts, lasts = np.asarray(hierarchy.firsts, np.float64), np.asarray(hierarchy.lasts, np.float64)
    if len(firsts):
        firsts, lasts = np.where(np.isfinite(firsts), firsts, lasts), np.where(np.isfinite(lasts), lasts, firsts)
        numbers[: len(firsts)] = (firsts + lasts) / 2
    if hierarchy.missing:
        labels[-1] = None
    return CountedValues(np.arange(len(codes) + 1), codes.astype(np.int64), counts, tuple(labels), numbers)


def find_sensitive(sensitive: Sequence[Sensitive], name: str | None) -> int:
    """Find the position of a sensitive attribute; None means the only one there is."""
    names = [attribute.name for attribute in sensitive]
    if not names:
        raise refusal("requirement_about_sensitive_attribute")
    if name is None and len(names) > 1:
        raise refusal("several_sensitive_attributes", names=", ".join(names))
    if name is not None and name not in names:
        raise refusal("no_sensitive_attribute_table", name=name, names=", ".join(names))
    return 0 if name is None else names.index(name)


def sensitive_attribute(
    name: str, hierarchy: Hierarchy, codes: NDArray[np.int32], counts: Counts
) -> tuple[Sensitive, NDArray[np.int32]]:
    """Keep the leaves that occur, and say for every cell which of them it holds."""
    leaves, values = np.unique(codes, return_inverse=True)
    totals = weighted_counts(values.ravel(), counts, len(leaves))
    if len(leaves) < 2:
        only = hierarchy.leaves[leaves[0]] if len(leaves) else "none"
        raise refusal("one_sensitive_value", name=name, only=only)
    return Sensitive(name, hierarchy, leaves.astype(np.int32), totals), values.ravel().astype(np.int32)


def sorted_cells(
    quasi: Sequence[Quasi],
    sensitive: Sequence[tuple[str, Hierarchy]],
    codes: NDArray[np.int32],
    counts: Counts,
) -> Cells:
    """Assemble cells from counted codes, quasi-identifiers' columns first, then the sensitive attributes'."""
    attributes, columns = [], []
    for offset, (name, hierarchy) in enumerate(sensitive):
        attribute, values = sensitive_attribute(name, hierarchy, codes[:, len(quasi) + offset], counts)
        attributes.append(attribute)
        columns.append(values)
    values = np.stack(columns, axis=1) if columns else np.zeros((len(counts), 0), np.int32)
    kept = np.ascontiguousarray(codes[:, : len(quasi)], dtype=np.int32)
    return Cells(tuple(quasi), tuple(attributes), kept, np.ascontiguousarray(values), counts)


Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, eq=False, repr=False)
class Points(Quiet):
    """The distinct rows of some codes, in the order of their first appearance, with the records of each."""

    codes: Codes
    first: Counts
    """Where each one appears first among the rows it was found in."""

    number: Counts
    """For every one of those rows, which point it is."""

    counts: Counts

    @staticmethod
    def of(rows: Codes, counts: Counts | NDArray[np.float64]) -> Points:
        """Find the distinct rows; each row has so many records."""
        first, number = distinct_rows(rows)
        return Points(np.ascontiguousarray(rows[first]), first, number, weighted_counts(number, counts, len(first)))

    def select(self, columns: Sequence[int]) -> Points:
        """Look at some columns only: the points that remain, and which of them every point here is."""
        return Points.of(self.codes[:, list(columns)], self.counts)


def weighted_counts(number: NDArray[np.integer], weights: Counts | NDArray[np.float64] | None, groups: int) -> Counts:
    """Add up the whole weights of every group's rows, or count them (exactly: no total comes near 2^53)."""
    return np.rint(np.bincount(number, weights=weights, minlength=groups)).astype(np.int64)


def ranges(number: Counts, low: Codes, high: Codes) -> tuple[Codes, Codes]:
    """Return the smallest `low` and the largest `high` of the rows of every group that has any, in rising order."""
    order = np.argsort(number, kind="stable")
    starts = np.flatnonzero(np.diff(number[order], prepend=-1))
    return np.minimum.reduceat(low[order], starts), np.maximum.reduceat(high[order], starts)


def laid_out(parts: Sequence[NDArray[Number]]) -> tuple[NDArray[Number], Counts]:
    """Put arrays one behind the other, as kernels read them; say where each starts, and where the last one ends."""
    return np.concatenate(parts), np.cumsum([0, *map(len, parts)], dtype=np.int64)


def distinct_rows(rows: Codes) -> tuple[Counts, Counts]:
    """Find the distinct rows: the position of each one's first appearance, in that order, and each row's number."""
    rows = np.ascontiguousarray(rows)
    if rows.shape[1] == 0:
        return np.zeros(min(len(rows), 1), np.int64), np.zeros(len(rows), np.int64)
    return number_rows(rows)


@kernel
def number_rows(rows: NDArray[np.integer]) -> tuple[Counts, Counts]:
    """Number distinct rows in the order of their first appearance, by open addressing; expected linear time.

    Returns the position of each one's first appearance, and each row's number. Rows of any whole numbers will do.
    """
    n, width = rows.shape
    slots = slots_for(n)
    table = np.full(slots, -1, np.int32)
    first = np.empty(n, np.int64)
    number = np.empty(n, np.int64)
    count = 0
    for i in range(n):
        mixed = NO_HASH
        for j in range(width):
            mixed = mixed_in(mixed, rows[i, j])
        slot = np.int64(mixed & np.uint64(slots - 1))
        while True:
            known = table[slot]
            if known < 0:
                table[slot] = count
                first[count] = i
                number[i] = count
                count += 1
                break
            same = True
            for j in range(width):
                if rows[first[known], j] != rows[i, j]:
                    same = False
                    break
            if same:
                number[i] = known
                break
            slot = (slot + 1) & (slots - 1)
    return first[:count].copy(), number


@kernel
def number_numbers(numbers: Counts) -> tuple[Counts, Counts]:
    """Do the same for rows of one number each, several times as fast."""
    n, bits = len(numbers), 4
    while 1 << bits < 2 * n:
        bits += 1
    last = (1 << bits) - 1
    table = np.full(1 << bits, -1, np.int32)
    known, first = np.empty(n, np.int64), np.empty(n, np.int64)
    number = np.empty(n, np.int64)
    count = 0
    for i in range(n):
        key = numbers[i]
        slot = np.int64(hashed(key, 64 - bits))
        place = table[slot]
        while place >= 0 and known[place] != key:
            slot = (slot + 1) & last
            place = table[slot]
        if place < 0:
            table[slot] = place = count
            known[count], first[count] = key, i
            count += 1
        number[i] = place
    return first[:count].copy(), number


MANY_ENTRIES = 200_000
"""From this many entries on, histograms are filled by two threads."""

MOST_SHORT = 256
"""This many sensitive values can be told apart by one byte."""

Short = NDArray[np.uint8]


@dataclass(frozen=True, eq=False, repr=False)
class Assignment(Quiet):
    """Where records go: `count` records of `cell` to `group`. A cell may be split; what is missing is suppressed."""

    cell: Counts
    group: Counts
    count: Counts

    @cached_property
    def records(self) -> int:
        """The number of records that are published."""
        return int(self.count.sum())

    @cached_property
    def digest(self) -> bytes:
        """Tell assignments apart, within one table."""
        digest = hashlib.sha256()
        for part in (self.cell, self.group, self.count):
            digest.update(np.ascontiguousarray(part).data)
        return digest.digest()

    @staticmethod
    def gathered(cell: Counts, group: Counts, count: Counts | None = None) -> Assignment:
        """Join what goes from the same cell to the same group (without a count, single records), sorted by groups."""
        size = int(cell.max(initial=0)) + 1
        keys, number = np.unique(group * size + cell, return_inverse=True)
        return Assignment(keys % size, keys // size, weighted_counts(number, count, len(keys)))

    def sizes(self, groups: int) -> Counts:
        """Count the records of every group."""
        return weighted_counts(self.group, self.count, groups)

    def merged(self, into: Counts) -> Assignment:
        """Send the records of group g to group `into[g]`; these are numbered in the order of their appearance."""
        if len(into) == 0 or into[-1] == len(into) - 1:  # all are different
            return self
        return Assignment.gathered(self.cell, into[self.group], self.count)

    def only(self, groups: NDArray[np.bool_]) -> Assignment:
        """Keep the records of some groups, which are numbered anew in their order."""
        kept, number = groups[self.group], np.cumsum(groups) - 1
        return Assignment(self.cell[kept], number[self.group[kept]], self.count[kept])

    def histograms(self, values: Codes, spans: Counts, groups: int) -> Counts:
        """Count the values of every group: one column a kind of value, from `spans` on one column a value."""
        counts = np.zeros((groups, int(spans[-1])), dtype=np.int64)
        few = np.diff(spans).max(initial=0) <= MOST_SHORT
        short = values.astype(np.uint8) if few else values  # read in no order: short ones stay in the cache

        def fill(part: slice) -> None:
            fill_histograms(short, spans, self.cell[part], self.group[part], self.count[part], counts)

        if len(self.group) < MANY_ENTRIES or not in_order(self.group):
            fill(slice(None))
        else:  # two threads, each with groups of its own
            middle = int(np.searchsorted(self.group, self.group[len(self.group) // 2]))
            together(fill, (slice(middle), slice(middle, None)))
        return counts


@kernel
def in_order(numbers: Counts) -> bool:
    """Say whether numbers never fall. Looking at all of them is faster than stopping: it takes several at a time."""
    falls = 0
    for i in range(1, len(numbers)):
        falls += numbers[i] < numbers[i - 1]
    return falls == 0


@kernel
def fill_histograms(
    values: Codes | Short, spans: Counts, cell: Counts, group: Counts, count: Counts, counts: Counts
) -> None:
    """Add every entry of an assignment to its group's histogram. Unsigned indices spare a test for negative ones."""
    for s in range(values.shape[1]):
        for i in range(len(cell)):
            column = spans[s] + values[np.uint64(cell[i]), s]
            counts[np.uint64(group[i]), np.uint64(column)] += count[i]
