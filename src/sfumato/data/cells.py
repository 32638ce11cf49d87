"""Cells: the table compressed to distinct tuples of codes with a count each, and histograms of groups of them.

All search and all measures run on these values; nothing here knows where the rows are. Attributes stand in the
order of their names, so no result can depend on the order of columns; cells stand in lexicographic order, so no
result can depend on the order of rows.

Weights of quasi-identifiers: how much a loss in each of them counts (Xu et al. 2006, whom Dewri et al. follow).

A loss is the weighted mean over the quasi-identifiers. Only the ratios of weights matter: makers and measures read them
scaled to a mean of 1, so that a table without weights is one whose weights are all 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.config.options import check_number, named_entries
from sfumato.data.assignment import Assignment, Points, weighted_counts
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.hierarchies.notation import ascii_where_unclear, find_look_alikes
from sfumato.data.persons import GroupPersons, PersonPairs
from sfumato.errors import BadInputError
from sfumato.runtime.arrays import Counts, Quiet
from sfumato.runtime.threads import Once
from sfumato.texts.catalogue import refusal

Weights = tuple[tuple[str, float], ...]
"""The weight of every quasi-identifier, in the order of their names; nothing where all count alike."""


def weights_of(quasi: Iterable[str], given: Mapping[str, float]) -> Weights:
    """Give every quasi-identifier its weight, 1 where none is given; raises where one cannot be a weight."""
    names = sorted(quasi)
    for name, weight in given.items():
        if name not in names:
            raise BadInputError(f"weights: {name!r} is no quasi-identifier; these are {', '.join(names)}")
        check_number(f"weights: the weight of {name!r}", weight, least=0)
    weights = tuple((name, float(given.get(name, 1.0))) for name in names)
    if weights and not any(weight for _, weight in weights):
        raise BadInputError("weights: at least one quasi-identifier must weigh more than 0, or nothing is lost ever")
    return weights if len({weight for _, weight in weights}) > 1 else ()


def read_weights(texts: Iterable[str]) -> dict[str, float]:
    """Read weights from texts such as `age=2, "zip, code"=0.5`."""
    weights: dict[str, float] = {}
    for name, value in named_entries("weights", ", ".join(texts), "age=2, sex=0.5"):
        try:
            weights[name] = float(value)
        except ValueError:
            raise BadInputError(f"weights: the weight of {name!r} must be a number, not {value!r}") from None
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
    ignored = (
        "; what weighs 0 is protected like the others, and its loss does not count" if 0 in weights.values() else ""
    )
    return [f"losses are weighted means over the quasi-identifiers, by these weights: {each}{ignored}"]


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
        raise BadInputError("this requirement is about a sensitive attribute, and the table has none (--sensitive)")
    if name is None and len(names) > 1:
        raise BadInputError(f"there are several sensitive attributes ({', '.join(names)}): say which one with on=...")
    if name is not None and name not in names:
        raise BadInputError(f"on={name!r} is no sensitive attribute of the table; these are: {', '.join(names)}")
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
