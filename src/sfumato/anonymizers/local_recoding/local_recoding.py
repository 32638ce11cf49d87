"""Local recoding: every group shows, per quasi-identifier, the smallest node of the hierarchy that covers it.

    Sweep the level vectors from fine to coarse, taking every group as soon as it is admitted    (`_sweep`).
    Let the records that are left over join the groups where that costs least                     (`_regroup`).
    Dissolve groups and move their records to others, again and again, while the loss falls       (`_regroup`).

Different records may be generalized to different levels, so an outlier costs its own group and not the whole table.
Only one step is random. Records with equal quasi-identifiers may go to several groups if nothing but sizes is
required; the algorithm decides the numbers, and which of the records go to which group is drawn.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.anonymizer import Anonymizer, infeasible, loss_of
from sfumato.anonymizers.full_domain.full_domain import FullDomain
from sfumato.anonymizers.local_recoding._groups import NONE, Grouping, grouping_of
from sfumato.anonymizers.local_recoding._regroup import MOST_PORTIONS, house_leftovers, regroup, workshop_for
from sfumato.anonymizers.local_recoding._sweep import PointDomain, domain_of, level_vectors, sweep
from sfumato.config.options import Option, seed_option
from sfumato.data.cells import Assignment, Cells, number_numbers, ranges
from sfumato.data.reading import Table
from sfumato.release.release import Form, Release, bucketization, generalization
from sfumato.requirements.requirement import Requirement
from sfumato.runtime._kernel_helpers import drawing_state, uniform
from sfumato.runtime.arrays import Codes, Counts
from sfumato.runtime.kernels import kernel


@dataclass(frozen=True)
class LocalRecoding(Anonymizer):
    """Publish nodes of the hierarchies, each group generalized only as far as its own records need."""

    passes: Annotated[int, Option(least=0)] = 3
    """How often groups are dissolved and formed again; 0 keeps the groups of the sweep."""

    seed: Annotated[int | None, seed_option("Which of several records with equal quasi-identifiers go where.")] = None
    name: ClassVar[str] = "local-recoding"
    effort: ClassVar[float] = 35.0
    counts_persons = True
    keeps_cells = False

    def release(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release:
        """Find groups, and publish them in the form asked for.

        Regrouping takes one step after the other, so a budget may lead it astray: where it did not pay, nothing is
        suppressed. Groups with equal boxes are one group in the file, so a requirement that need not survive merging
        is checked again for the published groups. If it fails, one level is chosen for every column (`full_domain`).
        """
        release = self._regrouped(table, requirement, form, budget)
        if release is not None and release.suppressed and form == "generalization":
            whole = self._regrouped(table, requirement, form, 0)
            if whole is not None and loss_of(whole) < loss_of(release):
                release = whole
        if release is not None:
            return release
        baseline = table.cells.baseline
        if requirement.survives_merging(baseline.persons is not None) and not requirement.admits(baseline)[0]:
            tried = ", and leaving out what no group can take exceeds the budget for suppression" if budget else ""
            raise infeasible(requirement, baseline, f"even all records in one group are not enough{tried}")
        return FullDomain().release(table, requirement, form, budget)

    def _regrouped(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release | None:
        domain = domain_of(table.cells, requirement)
        grouping = grouping_of(domain, sweep(domain, level_vectors(domain)), MOST_PORTIONS + 1)
        shop = workshop_for(domain, grouping, budget if form == "generalization" else 0)
        if not house_leftovers(domain, grouping, shop, budget):
            return None
        survives = requirement.survives_merging(table.cells.persons is not None)
        if survives:
            regroup(domain, grouping, shop, self.passes)
        release = self._published(table, domain, grouping, form)
        return release if survives or _holds(release, requirement) else None

    def _published(self, table: Table, domain: PointDomain, grouping: Grouping, form: Form) -> Release:
        assignment = dealt(table.cells, domain, grouping, drawing_state(self.seed))
        if form == "bucketization":
            return bucketization(table, assignment, int(assignment.group.max()) + 1)
        return generalization(table, assignment, *nodes_over(table.cells, assignment), ranges=None)


def _holds(release: Release, requirement: Requirement) -> bool:
    """Return whether the groups of a release, merged where their boxes are equal, satisfy the requirement."""
    return release.histograms is not None and bool(requirement.admits(release.histograms).all())


def dealt(cells: Cells, domain: PointDomain, grouping: Grouping, state: NDArray[np.uint64]) -> Assignment:
    """Return how many records of every cell go to which group, the groups numbered in the order of their first cell."""
    portion = np.lexsort((grouping.group, grouping.point))
    shares = np.stack([grouping.point, grouping.group, grouping.weight], axis=1)[portion]
    cell, group, count = deal(domain.cells, cells.counts, shares, state)
    kept = np.flatnonzero(group != NONE)
    _, number = number_numbers(group[kept])
    return Assignment.gathered(cell[kept], number, count[kept])


@kernel
def deal(cells: Counts, counts: Counts, shares: Counts, state: NDArray[np.uint64]) -> tuple[Counts, Counts, Counts]:
    """Deal the records of every point out to the groups that get a share of it (point, group, weight; in this order).

    If a point is divided, which of its records go to which group is drawn at random: any rule that reads their
    sensitive values would reveal something about them.
    """
    most = len(counts) + len(shares)
    for i in range(len(shares)):
        most += cells[shares[i, 0] + 1] - cells[shares[i, 0]]
    cell, group, count = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    left = counts.copy()
    dealt = i = 0
    while i < len(shares):
        point, recipient, wanted = shares[i, 0], shares[i, 1], 0
        while i < len(shares) and shares[i, 0] == point and shares[i, 1] == recipient:
            wanted += shares[i, 2]
            i += 1
        together = 0
        for c in range(cells[point], cells[point + 1]):
            together += left[c]
        for c in range(cells[point], cells[point + 1]):
            taken = left[c] if wanted == together else 0
            if wanted < together:
                for rest in range(left[c]):
                    if uniform(state) * (together - rest) < wanted - taken:
                        taken += 1
            together -= left[c]
            wanted -= taken
            left[c] -= taken
            if taken > 0:
                cell[dealt], group[dealt], count[dealt] = c, recipient, taken
                dealt += 1
    return cell[:dealt], group[:dealt], count[:dealt]


def nodes_over(cells: Cells, assignment: Assignment) -> tuple[Codes, Codes]:
    """Find for every group and attribute the smallest node that covers its records: first and last leaf."""
    codes = cells.codes[assignment.cell]
    lo, hi = ranges(assignment.group, codes, codes)
    for a, quasi in enumerate(cells.quasi):
        lo[:, a], hi[:, a] = quasi.hierarchy.smallest_nodes(lo[:, a].copy(), hi[:, a].copy())
    return lo, hi
