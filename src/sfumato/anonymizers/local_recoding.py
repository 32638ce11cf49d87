"""Local recoding: every group shows, per quasi-identifier, the smallest node of the hierarchy that covers it.

    sweep the level vectors from fine to coarse, taking every group as soon as it is admitted   (`sweeping`)
    give the records that are left over to the groups where that costs least

Different records may be generalized to different levels, so an outlier costs its own group and not the whole table.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.anonymizers.anonymizer import Anonymizer, infeasible
from sfumato.anonymizers.leftovers import place_leftovers
from sfumato.anonymizers.sweeping import Codes, Counts, Domain, domain_of, level_vectors, sweep
from sfumato.configuration import check_whole
from sfumato.release import Assignment, Form, Release, bucketization, generalization
from sfumato.requirements import Requirement
from sfumato.table import Cells, Table


@dataclass(frozen=True)
class LocalRecoding(Anonymizer):
    """Publish nodes of the hierarchies, each group generalized only as far as its own records need."""

    seed: int | None = None
    """What decides which of several records with equal quasi-identifiers go where. None draws it from the system, and
    nobody can repeat it; a number makes the release repeatable, and must then be kept as secret as the table."""

    name: ClassVar[str] = "local-recoding"

    def __post_init__(self) -> None:
        if self.seed is not None:
            check_whole("seed", self.seed, least=0)

    def release(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release:
        """Find groups, and publish them in the form asked for."""
        domain = domain_of(table.cells, requirement)
        group = sweep(domain, level_vectors(domain))
        if not place_leftovers(domain, group, budget, form == "generalization"):
            tried = ", and no suppression within the budget mends that" if budget else ""
            raise infeasible(requirement, table.cells.baseline, f"even all records in one group are not enough{tried}")
        return published(table, domain, group, form)


def published(table: Table, domain: Domain, group: Counts, form: Form) -> Release:
    cell_group = np.repeat(group, np.diff(domain.cells))
    kept = np.flatnonzero(cell_group >= 0)
    _, number = np.unique(cell_group[kept], return_inverse=True)
    assignment = Assignment(kept, number.astype(np.int64), table.cells.counts[kept])
    groups = int(number.max()) + 1
    if form == "bucketization":
        return bucketization(table, assignment, groups)
    return generalization(table, assignment, *nodes_over(table.cells, assignment, groups))


def nodes_over(cells: Cells, assignment: Assignment, groups: int) -> tuple[Codes, Codes]:
    """Find for every group and attribute the smallest node that covers its records: first and last leaf."""
    lo = np.full((groups, len(cells.quasi)), np.iinfo(np.int32).max, np.int32)
    hi = np.full((groups, len(cells.quasi)), -1, np.int32)
    for a, quasi in enumerate(cells.quasi):
        codes = cells.codes[assignment.cell, a]
        np.minimum.at(lo[:, a], assignment.group, codes)
        np.maximum.at(hi[:, a], assignment.group, codes)
        hierarchy = quasi.hierarchy
        open_ = np.ones(groups, np.bool_)
        for level, ancestors in zip(hierarchy.levels, hierarchy.ancestors, strict=True):
            node = ancestors[lo[:, a]]
            met = open_ & (node == ancestors[hi[:, a]])
            ends = np.append(level.starts[1:], hierarchy.size) - 1
            lo[met, a], hi[met, a] = np.asarray(level.starts)[node[met]], ends[node[met]]
            open_ &= ~met
    return lo, hi
