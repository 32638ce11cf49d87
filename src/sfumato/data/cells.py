"""Cells: the table compressed to distinct tuples of codes with counts, and histograms of groups of them.

All searches and measures use these values, independent of the place of the rows. Attributes are ordered by name, so no
result depends on the order of columns; cells are in lexicographic order, so no result depends on the order of rows.

Weights of quasi-identifiers (Xu et al. 2006, as in Dewri et al.): a loss is the weighted mean over the
quasi-identifiers. Only the ratios of weights matter. They are scaled to a mean of 1, so a table without weights has
weights of 1.
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
from sfumato.runtime.arrays import Codes, Counts, RedactedRepr
from sfumato.runtime.kernels import kernel
from sfumato.runtime.threads import SingleFlight, together
from sfumato.texts.catalogue import refusal, t

Weights = tuple[tuple[str, float], ...]
"""The weight of each quasi-identifier, ordered by name; empty if they are equal."""


def weights_of(quasi: Iterable[str], given: Mapping[str, float]) -> Weights:
    """Return the weight of each quasi-identifier, by default 1; raise for an invalid weight."""
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
    """Parse weights from texts such as `age=2, "zip, code"=0.5`."""
    weights: dict[str, float] = {}
    for name, value in named_entries("weights", ", ".join(texts), "age=2, sex=0.5"):
        try:
            weights[name] = float(value)
        except ValueError:
            raise refusal("weights_weight_must_number", name=name, value=value) from None
    return weights


def scaled(weights: Sequence[float]) -> list[float]:
    """Scale weights to a mean of 1, by their decimal digits: 0.1 and 0.3 are exactly the same as 1 and 3."""
    exact = [Fraction(str(weight)) for weight in weights]
    total = sum(exact)
    return [float(weight * len(exact) / total) for weight in exact]


def weights_in_words(weights: Mapping[str, float]) -> list[str]:
    """Return the weights as a sentence without full stop; empty if they are equal."""
    if not weights:
        return []
    each = ", ".join(f"{name} {weight:g}" for name, weight in weights.items())
    ignored = t("notice.weighs_protected_like_others") if 0 in weights.values() else ""
    return [t("notice.losses_weighted_means_over", each=each, ignored=ignored)]


@dataclass(frozen=True, repr=False)
class Quasi(RedactedRepr):
    """A quasi-identifier: its name and the hierarchy of its leaf codes."""

    public_fields: ClassVar[tuple[str, ...]] = ("name",)

    name: str
    hierarchy: Hierarchy
    weight: float = 1.0
    """The weight of its loss."""


@dataclass(frozen=True, eq=False, repr=False)
class Sensitive(RedactedRepr):
    """A sensitive attribute: the values that occur, in the order of their hierarchy, and their frequencies (Q)."""

    public_fields: ClassVar[tuple[str, ...]] = ("name",)

    name: str
    hierarchy: Hierarchy
    leaves: NDArray[np.int32]
    counts: Counts
    by_persons: NDArray[np.float64] | None = None
    """Q if persons are counted: the records of each person have a total weight of one."""

    @property
    def size(self) -> int:
        """The number of values that occur."""
        return len(self.leaves)

    @property
    def labels(self) -> list[str]:
        """The values that occur, as text."""
        return [self.hierarchy.leaves[leaf] for leaf in self.leaves]

    def check_look_alikes(self) -> None:
        """Raise if two values look alike: an audit counts them as one."""
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
    """Return the first histogram columns of some attributes, and the end."""
    return np.cumsum([0, *(attribute.size for attribute in sensitive)], dtype=np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Cells(RedactedRepr):
    """The distinct tuples of a table: codes of the quasi-identifiers, values of the sensitive attributes, counts."""

    quasi: tuple[Quasi, ...]
    sensitive: tuple[Sensitive, ...]
    codes: NDArray[np.int32]
    """One row per cell, one column per quasi-identifier; -1 is a value outside of the domain, which no box covers."""

    values: NDArray[np.int32]
    """One row per cell, one column per sensitive attribute: an index into its occurring values."""

    counts: Counts
    persons: PersonPairs | None = None
    """The persons of records, if these are counted."""

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
        """The first histogram column of each sensitive attribute, and the end."""
        return spans_of(self.sensitive)

    def span(self, position: int) -> slice:
        """Return the columns of one sensitive attribute in a histogram."""
        return slice(int(self.spans[position]), int(self.spans[position + 1]))

    @cached_property
    def columns(self) -> Counts:
        """For each cell its histogram columns, one per sensitive attribute."""
        return self.values.astype(np.int64) + self.spans[:-1]

    @cached_property
    def domains(self) -> Counts:
        """The number of leaves of every quasi-identifier."""
        return np.array([quasi.hierarchy.size for quasi in self.quasi], np.int64)

    @cached_property
    def once(self) -> SingleFlight:
        """Intermediate results of makers that several releases need: groups, in any form."""
        return SingleFlight()

    @cached_property
    def leaf_counts(self) -> list[Counts]:
        """The records of every leaf of every quasi-identifier; a value outside of the domain counts for no leaf."""
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
        """The weight of each quasi-identifier, scaled to a mean of 1."""
        return np.array(scaled([quasi.weight for quasi in self.quasi]))

    @cached_property
    def whole(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The box of the whole domain: the first and the last leaf of every quasi-identifier."""
        return np.zeros(len(self.quasi), np.int32), (self.domains - 1).astype(np.int32)

    @cached_property
    def points(self) -> Points:
        """The distinct combinations of quasi-identifiers; the cells of a point are consecutive."""
        return Points.of(self.codes, self.counts)

    @cached_property
    def truth(self) -> NDArray[np.float64]:
        """The sensitive counts of every point: points x values."""
        return self.histograms(self.assigned(self.points.number), len(self.points.codes)).counts.astype(np.float64)

    @cached_property
    def sightings(self) -> tuple[NDArray[np.float64], Counts]:
        """For each point the persons with each value at least once, and all; without a person column records."""
        points = self.points
        persons = self.group_persons(self.assigned(points.number), len(points.codes))
        return (self.truth, points.counts) if persons is None else (persons.having.astype(float), persons.persons)

    def assigned(self, group: Counts) -> Assignment:
        """Assign all records of cell c to `group[c]`; a negative group suppresses them."""
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
        """Return the cells with persons counted, in groups and in Q."""
        cells = replace(self, persons=persons)
        whole = GroupPersons(persons, np.zeros(self.size, np.int32), 1, self.columns, self.spans)
        shares = whole.weighted[0] / persons.number
        sensitive = [replace(each, by_persons=shares[cells.span(s)]) for s, each in enumerate(self.sensitive)]
        return replace(cells, sensitive=tuple(sensitive))

    @cached_property
    def baseline(self) -> Histograms:
        """The histograms of the whole table as one group."""
        return self.histograms(self.assigned(np.zeros(self.size, np.int64)), 1)


@dataclass(frozen=True, eq=False, repr=False)
class Histograms(RedactedRepr):
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
        """Return a single group."""
        persons = None if self.persons is None else self.persons.some(np.array([group]))
        return Histograms(self.sensitive, self.sizes[[group]], self.counts[[group]], persons)

    def __len__(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True, eq=False, repr=False)
class CountedValues(RedactedRepr):
    """The values of one column by cell: of cell c at `offsets[c]:offsets[c + 1]`."""

    offsets: Counts
    values: Counts
    """Indices of `labels`."""

    counts: Counts
    """The number of records of the cell with the value."""

    labels: tuple[str | None, ...]
    """The values as text; None is the missing one."""

    numbers: NDArray[np.float64]
    """The values as numbers: of a leaf that is an interval its middle, NaN without a number."""


def counted_leaves(hierarchy: Hierarchy, codes: NDArray[np.int32], counts: Counts) -> CountedValues:
    """Return the leaf of each cell in a coded column."""
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
    """Return the index of a sensitive attribute; None is the only one."""
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
    """Keep the leaves that occur; return also the value of each cell."""
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
class Points(RedactedRepr):
    """The distinct rows of some codes, in the order of their first appearance, with the records of each."""

    codes: Codes
    first: Counts
    """The index of the first row of each."""

    number: Counts
    """For each row, the index of its point."""

    counts: Counts

    @staticmethod
    def of(rows: Codes, counts: Counts | NDArray[np.float64]) -> Points:
        """Return the distinct rows; each row has a number of records."""
        first, number = distinct_rows(rows)
        return Points(np.ascontiguousarray(rows[first]), first, number, weighted_counts(number, counts, len(first)))

    def select(self, columns: Sequence[int]) -> Points:
        """Return the points of some columns; each has the indices of its points here."""
        return Points.of(self.codes[:, list(columns)], self.counts)


def weighted_counts(number: NDArray[np.integer], weights: Counts | NDArray[np.float64] | None, groups: int) -> Counts:
    """Sum the whole weights of every group's rows, or count them (exactly: no total is near 2^53)."""
    return np.rint(np.bincount(number, weights=weights, minlength=groups)).astype(np.int64)


def ranges(number: Counts, low: Codes, high: Codes) -> tuple[Codes, Codes]:
    """Return the smallest `low` and the largest `high` of the rows of every nonempty group, in ascending order."""
    order = np.argsort(number, kind="stable")
    starts = np.flatnonzero(np.diff(number[order], prepend=-1))
    return np.minimum.reduceat(low[order], starts), np.maximum.reduceat(high[order], starts)


def laid_out(parts: Sequence[NDArray[Number]]) -> tuple[NDArray[Number], Counts]:
    """Concatenate arrays for kernels; return also the start of each, and the end."""
    return np.concatenate(parts), np.cumsum([0, *map(len, parts)], dtype=np.int64)


def distinct_rows(rows: Codes) -> tuple[Counts, Counts]:
    """Return the index of the first occurrence of each distinct row, in order, and each row's number."""
    rows = np.ascontiguousarray(rows)
    if rows.shape[1] == 0:
        return np.zeros(min(len(rows), 1), np.int64), np.zeros(len(rows), np.int64)
    return number_rows(rows)


@kernel
def number_rows(rows: NDArray[np.integer]) -> tuple[Counts, Counts]:
    """Number distinct rows in the order of their first occurrence, by open addressing; expected linear time.

    Returns the index of the first occurrence of each, and each row's number. Rows may be of any whole numbers.
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
    """Do the same for rows of one number each, several times faster."""
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
"""The least number of entries for which two threads fill histograms."""

MOST_SHORT = 256
"""The number of sensitive values that fit into one byte."""

Short = NDArray[np.uint8]


@dataclass(frozen=True, eq=False, repr=False)
class Assignment(RedactedRepr):
    """The groups of records: `count` records of `cell` go to `group`. A cell may be split; the rest is suppressed."""

    cell: Counts
    group: Counts
    count: Counts

    @cached_property
    def records(self) -> int:
        """The number of published records."""
        return int(self.count.sum())

    @cached_property
    def digest(self) -> bytes:
        """Return a digest that distinguishes assignments of one table."""
        digest = hashlib.sha256()
        for part in (self.cell, self.group, self.count):
            digest.update(np.ascontiguousarray(part).data)
        return digest.digest()

    @staticmethod
    def gathered(cell: Counts, group: Counts, count: Counts | None = None) -> Assignment:
        """Merge entries of the same cell and group (without a count, single records), sorted by groups."""
        size = int(cell.max(initial=0)) + 1
        keys, number = np.unique(group * size + cell, return_inverse=True)
        return Assignment(keys % size, keys // size, weighted_counts(number, count, len(keys)))

    def sizes(self, groups: int) -> Counts:
        """Count the records of every group."""
        return weighted_counts(self.group, self.count, groups)

    def merged(self, into: Counts) -> Assignment:
        """Assign the records of group g to group `into[g]`; these are numbered in the order of their occurrence."""
        if len(into) == 0 or into[-1] == len(into) - 1:  # all are different
            return self
        return Assignment.gathered(self.cell, into[self.group], self.count)

    def only(self, groups: NDArray[np.bool_]) -> Assignment:
        """Keep the records of some groups, numbered in their order."""
        kept, number = groups[self.group], np.cumsum(groups) - 1
        return Assignment(self.cell[kept], number[self.group[kept]], self.count[kept])

    def histograms(self, values: Codes, spans: Counts, groups: int) -> Counts:
        """Count the values of every group; `spans` has the first histogram column of each attribute."""
        counts = np.zeros((groups, int(spans[-1])), dtype=np.int64)
        few = np.diff(spans).max(initial=0) <= MOST_SHORT
        short = values.astype(np.uint8) if few else values  # random access: short ones remain in the cache

        def fill(part: slice) -> None:
            fill_histograms(short, spans, self.cell[part], self.group[part], self.count[part], counts)

        if len(self.group) < MANY_ENTRIES or not in_order(self.group):
            fill(slice(None))
        else:  # two threads, each with different groups
            middle = int(np.searchsorted(self.group, self.group[len(self.group) // 2]))
            together(fill, (slice(middle), slice(middle, None)))
        return counts


@kernel
def in_order(numbers: Counts) -> bool:
    """Return whether numbers never decrease. Reading all of them, several at a time, is faster than stopping early."""
    falls = 0
    for i in range(1, len(numbers)):
        falls += numbers[i] < numbers[i - 1]
    return falls == 0


@kernel
def fill_histograms(
    values: Codes | Short, spans: Counts, cell: Counts, group: Counts, count: Counts, counts: Counts
) -> None:
    """Add every entry of an assignment to its group's histogram. Unsigned indices avoid a test for negative ones."""
    for s in range(values.shape[1]):
        for i in range(len(cell)):
            column = spans[s] + values[np.uint64(cell[i]), s]
            counts[np.uint64(group[i]), np.uint64(column)] += count[i]
