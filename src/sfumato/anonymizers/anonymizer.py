"""What an anonymizer is: a frozen configuration with one method that makes a release of a table."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, get_args

import numpy as np

from sfumato.configuration import Option, check_choice, check_number
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.release import FORMS, Form, Grouped, Release, bucketization, generalization
from sfumato.release.maker import ReleaseMaker
from sfumato.requirements import KAnonymity, Requirement
from sfumato.requirements.person_values import refused_parts
from sfumato.requirements.predicates import SIZE
from sfumato.table import Assignment, Cells, Histograms, Ranges, Table, coarser, ranges
from sfumato.table.table import AllowedRanges

RANGES_MEANING = (
    "How ranges are published: with the ends of numbers and dates rounded outward to the first level of the hierarchy, "
    "as whole nodes, or `tight`: from the smallest to the largest value of the group's records."
)
RANGES_WORDS = {"node": "whole nodes of the hierarchies", "tight": "ranges with exact ends"}
OfRanges = Annotated[Ranges, Option(RANGES_MEANING, words=RANGES_WORDS)]
"""The option of an anonymizer that publishes the ranges of groups."""


class Anonymizer(ReleaseMaker, ABC):
    """Makes releases. Its fields are its whole configuration: same configuration, same table, same release."""

    why_no_persons: ClassVar[str] = "it may divide equal records among groups, and nobody knows whose records go where"
    """Why persons cannot be counted in its groups, where they cannot."""

    dealing: ClassVar[str] = ""
    """Where its way of dealing records to groups can itself be reasoned from: what a certificate has to say of it."""

    ranges: Any = "rounded"
    """How ranges are published: an option of anonymizers that publish the ranges of groups."""

    def anonymize(
        self, table: Table, requirement: Requirement, form: Form = "generalization", suppress: float = 0.0
    ) -> Release:
        """Make a release every group of which satisfies the requirement, and check that it does.

        At most a share `suppress` of the records is left out. Raises `InfeasibleError` with the reason and the
        nearest feasible parameter where there is no such release.
        """
        check_choice("form", form, FORMS)
        check_number("suppress", suppress, least=0, most=1)
        check_persons(table, str(self), self.counts_persons, self.why_no_persons, form)
        requirement.check_counting(table.roles.person)
        if form == "bucketization" and not table.roles.sensitive:
            raise BadInputError("a bucketization deals out sensitive values, and the table has none (--sensitive)")
        if form == "generalization" and table.shared and not self.treats_households_alike:
            raise BadInputError(
                f"{self} may publish different values for members of one household, who share "
                f"{', '.join(table.shared_names)}; with a household column use mondrian mode=strict or full-domain, or "
                "--form bucketization"
            )
        if form == "generalization" and table.ranges and self.ranges not in get_args(AllowedRanges):
            raise BadInputError(
                f"{self}: the table allows no finer ranges than {table.ranges}; leave out ranges={self.ranges}, or the "
                "table's ranges (--ranges, ranges under [table] in a study)"
            )
        release = self.release(table, requirement, form, int(suppress * table.cells.records + 1e-9))
        checked(release, requirement)
        checked_values_of_persons(release, requirement)
        checked_households(release)
        return release

    def ranges_of(self, table: Table) -> Ranges:
        """Return how ranges of this table's numbers and dates are published: no finer than the table allows."""
        return coarser(self.ranges if self.ranges in get_args(Ranges) else "tight", table.ranges)

    @property
    def counts_persons(self) -> bool:
        """Whether it can count different persons in its groups: it never divides equal records among groups."""
        return False

    @property
    def treats_households_alike(self) -> bool:
        """Whether records that agree in what households share always show the same values of it, if generalized."""
        return False

    @property
    def decided_by(self) -> str | None:
        """The column that decided who is in which group because somebody wants to predict it, if there is one."""
        return None

    @property
    def stops_at(self) -> str | None:
        """A rule beyond which groups are not divided and which is no promise, if there is one."""
        return None

    def account(self, release: Release) -> list[str]:
        """Say what only this maker has to tell of a release that it made, in sentences; usually nothing."""
        return []

    def lattice(self, table: Table, requirement: Requirement, suppress: float = 0.0) -> Any:
        """Decide every transformation, where it searches a lattice of them."""
        raise BadInputError(f"{self.name} searches no lattice; full-domain does")

    @abstractmethod
    def release(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release:
        """Make the release, leaving out at most `budget` records."""


def check_persons(table: Table, maker: str, counts: bool, why_not: str, form: Form = "generalization") -> None:
    """Raise where a table's records are not persons and nobody declared it, or where a maker cannot count persons."""
    if table.why_no_persons is not None:
        raise BadInputError(table.why_no_persons)
    if table.roles.person is None or (counts and form == "generalization"):
        return
    if form == "bucketization":
        maker, why_not = "a bucketization", "it deals out records, and two of a group may belong to one person"
    raise BadInputError(
        f"{maker} cannot count persons (--person {table.roles.person}): {why_not}; use mondrian, full-domain, "
        "cut-vector or top-coding as a generalization"
    )


def checked(release: Grouped, requirement: Requirement) -> None:
    """Raise unless every group of the release, counted afresh from its assignment, satisfies the requirement.

    Where no sensitive attribute is published, what a requirement says about sensitive values holds of itself.
    """
    histograms = release.histograms
    parts: Sequence[Requirement] = requirement.parts
    if histograms is None:  # nothing sensitive is published: what is said of sizes remains
        requirement.compile(release.cells.sensitive)
        histograms = Histograms((), release.quasi_counts, release.quasi_counts[:, None][:, :0], release.group_persons)
        parts = sizes_required(requirement)
    for part in parts:
        bad = (~part.admits(histograms)).nonzero()[0]
        if len(bad):
            raise InfeasibleError(
                f"{len(bad):,} of {len(histograms):,} groups fail: {part.explain_failure(histograms, int(bad[0]))}"
            )


def checked_values_of_persons(release: Release, requirement: Requirement) -> None:
    """Raise unless what is required of sensitive values holds by persons, all records of each in one group."""
    cells, parts = release.cells, [part for part in requirement.parts if part.about_sensitive]
    if cells.persons is None or not parts or release.histograms is None:
        return
    several = int((cells.persons.groups_of_persons(release.assignment, cells.counts) > 1).sum())
    if several:
        raise InfeasibleError(
            f"{parts[0]} cannot be counted by persons: {several:,} of {cells.persons.number:,} persons have records in "
            "several groups of this release; require k-anonymity alone, or leave out the quasi-identifiers in which "
            "the records of one person differ"
        )
    group = cells.persons.group_of_cells(release.assignment, cells.counts)
    for part, bad in refused_parts(cells, group, release.groups, requirement):
        raise InfeasibleError(
            f"{part} was not reached: counted by persons it fails in {bad:,} of {release.groups:,} groups (groups were "
            "formed by the values of records); ask for less of it, or for a larger k"
        )


def sizes_required(requirement: Requirement) -> tuple[KAnonymity, ...]:
    """List what a requirement says of the sizes of groups, and of their persons."""
    return tuple(
        part if isinstance(part, KAnonymity) else KAnonymity(int(k))
        for part in requirement.parts
        for kind, k, _ in part.rules()
        if kind == SIZE
    )


def checked_households(release: Release) -> None:
    """Raise unless all published members of every household show the same value of what households share.

    Who knows of two members would otherwise intersect two boxes of one value, and learn more than either says.
    Exact values are the same of themselves. A member that lacks a value may show just that: it says nothing of it.
    """
    table, shared = release.table, list(release.table.shared)
    if table.memberships is None or not shared or release.form == "bucketization":
        return
    assigned, memberships = release.assignment, table.memberships
    ends = np.concatenate([release.boxes.lo[:, shared], release.boxes.hi[:, shared]], axis=1)[assigned.group]
    place = np.full(release.cells.size, -1, np.int64)
    published = np.unique(assigned.cell)
    place[published] = np.arange(len(published))
    low, high = ranges(assigned.cell, ends, ends)  # a divided cell shows several boxes
    there = place[memberships.combination] >= 0
    member = place[memberships.combination[there]]
    low, high = low[member], high[member]
    missing = np.tile(release.cells.missing[shared], 2)
    alone = (low == missing) & (high == missing)
    alone = np.tile(alone[:, : len(shared)] & alone[:, len(shared) :], 2)  # both ends: missing is all that is shown
    beyond = np.iinfo(np.int32).max
    low, high = ranges(memberships.household[there], np.where(alone, beyond, low), np.where(alone, -1, high))
    differ = (low < high).any(axis=1)
    if differ.any():
        raise InfeasibleError(
            f"members of {int(differ.sum()):,} households would show different values of "
            f"{', '.join(table.shared_names)}, which they share"
        )


def infeasible(requirement: Requirement, histograms: Histograms, what: str) -> InfeasibleError:
    """Say that even one single group fails, which part, and what would be feasible."""
    return InfeasibleError(f"{what}: {requirement.explain_failure(histograms, 0)}")


def check_feasible(requirement: Requirement, cells: Cells, together: str = "group") -> None:
    """Raise where the requirement does not even hold of all records together."""
    if not requirement.admits(cells.baseline)[0]:
        raise infeasible(requirement, cells.baseline, f"even all records in one {together} are not enough")


def loss_of(release: Release) -> float:
    """Return the loss of a release: that of its boxes, and 1 for every suppressed record."""
    boxes, quasi = release.boxes, release.cells.quasi
    each = [
        release.cells.weights[a] * (attribute.hierarchy.losses(boxes.lo[:, a], boxes.hi[:, a]) @ boxes.mass)
        for a, attribute in enumerate(quasi)
    ]
    return float(np.mean(each)) + release.suppressed


def check_nothing_suppressed(maker: Anonymizer, budget: int) -> None:
    """Raise where records may be left out, of a maker that places every record."""
    if budget:
        raise BadInputError(f"{maker.name} leaves no record out; leave out --suppress, or use mondrian or full-domain")


def check_budget(release: Release, requirement: Requirement, budget: int, given: str, remedy: str) -> None:
    """Raise where a recoding that is given suppresses more records than it may, or all."""
    records = release.cells.records
    if release.suppressed <= budget and release.assignment.records > 0:
        return
    share = math.ceil(release.suppressed / records * 1e4) / 1e4
    allowed = f"allow --suppress {share:g}, or " if share < 1 else ""
    raise InfeasibleError(
        f"{given} {release.suppressed:,} of {records:,} records are in groups that fail {requirement}, and at most "
        f"{budget:,} may be suppressed: {allowed}{remedy}"
    )


def published(table: Table, assignment: Assignment, groups: int, form: Form, ends: Ranges = "rounded") -> Release:
    """Publish groups as buckets, or by the ranges of their records."""
    if form == "bucketization":
        return bucketization(table, assignment, groups)
    codes = table.cells.codes[assignment.cell]
    return generalization(table, assignment, *ranges(assignment.group, codes, codes), ranges=ends)
