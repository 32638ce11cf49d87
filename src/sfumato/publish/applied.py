"""Recoding new data as an earlier release was: what fits is published, and what does not is counted by its reason.

Q is that of the whole new table, like the Q of every release: records that are left out are part of it, also those with
a value that no hierarchy knows. Such a sensitive value counts as a value of its own, after all others in their order
and right below the root of their hierarchy. Everything is counted before anything is refused, so a refusal and what
`rest="drop"` leaves out have the same numbers. The audit of the written draft, with the new table as its original,
decides whether the file gets its name.
"""

from __future__ import annotations

from collections.abc import Mapping as Entries
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sfumato.anonymizers.anonymizer import checked, checked_households, checked_values_of_persons
from sfumato.anonymizers.full_domain.full_domain import nodes_at
from sfumato.arrays import Codes, Counts, Flags
from sfumato.engines import Reading, open_rows
from sfumato.errors import BadInputError
from sfumato.publish.audit.audit import Audit
from sfumato.publish.formulas import written_formulas
from sfumato.publish.mapping import Mapping
from sfumato.publish.recoded import LeftOut, NewData, RecodedFile, Rest, UnknownValues
from sfumato.publish.written_table import audit_written
from sfumato.release import Release, format_of, generalization
from sfumato.release.writing import write_drafts
from sfumato.table import Assignment, Cells, Histograms, Table, distinct_rows, weighted_counts
from sfumato.table.table import with_roles


@dataclass(frozen=True, eq=False, repr=False)
class Applied(RecodedFile):
    """A new table recoded."""

    use_of_ledger: ClassVar[str] = "Kept in {1}: `sfumato audit {0} --with {1} ...` looks at everything published so."

    release: Release
    mapping: Mapping
    left_out: LeftOut

    @property
    def source(self) -> NewData:
        """The new table."""
        engine = self.release.table.engine
        return NewData(engine.origin, engine.notices, engine.digest)

    def draft(self, drafts: Sequence[Path], path: Path, layout: str, escape: bool) -> Entries[str, int]:
        """Write the rows, shuffled."""
        write_drafts(self.release, drafts, "rows", format_of(path), escape)
        return written_formulas(list(drafts), escape)

    def audited(self, drafts: Sequence[Path], layout: str, escape: bool) -> Audit:
        """Audit the draft with the new table at hand."""
        return audit_written(self.release, self.mapping.requirement, drafts, escape)

    def confirmed(self) -> list[str]:
        """Say what holds against the new table."""
        persons = self.mapping.roles.person is not None
        wanted = self.mapping.requirement.by_persons if persons else self.mapping.requirement
        satisfies = f"Every group satisfies{', counting persons' * persons}: {wanted}"
        return [satisfies, "The audit of the file, with Q of the whole new table, confirms it."]


def apply(mapping: Mapping, path: str | Path | Any, rest: Rest = "refuse", **reading: Any) -> Applied:
    """Recode a new file, or whatever else an engine opens, as an earlier release was.

    `rest` says what happens to records with values the mapping does not know, that no box covers, or whose group does
    not satisfy the requirement in the new data: nothing is published (`refuse`), or they are left out (`drop`). What
    the mapping read as missing is missing here too, beside what `na` adds; `reading` are further options of `read`,
    and where numbers or dates can be read in two ways, the way of the mapping's table is taken.
    """
    na = tuple(dict.fromkeys((*mapping.na, *reading.get("na", ()))))
    rows = open_rows(path, Reading(**{**reading, "na": na, "usual": mapping.notations}))
    table = with_roles(rows, mapping.roles, mapping.hierarchies, mapping.missing, "count")
    if table.why_no_persons is not None:
        raise BadInputError(table.why_no_persons)
    fitting = Fitting(table, mapping)
    left_out = fitting.left_out
    left_out.check(rows.origin, rest, nothing_left(fitting.admitted, mapping.requirement))
    release = fitting.release()
    checked(release, mapping.requirement)
    checked_values_of_persons(release, mapping.requirement)
    checked_households(release)
    return Applied(release, mapping, left_out)


@dataclass(frozen=True, eq=False)
class Fitting:
    """Which cells of a new table a mapping fits, and the groups that they form."""

    table: Table
    mapping: Mapping

    @property
    def cells(self) -> Cells:
        """The cells of the new table."""
        return self.table.cells

    @cached_property
    def unknown_in(self) -> dict[str, Flags]:
        """For every column the cells with a value that the mapping does not know."""
        cells, known = self.cells, self.mapping.hierarchies
        unknown = {quasi.name: cells.codes[:, a] < 0 for a, quasi in enumerate(cells.quasi)}
        for s, sensitive in enumerate(cells.sensitive):
            if sensitive.name in known:
                codes, hierarchy = sensitive.leaves[cells.values[:, s]], sensitive.hierarchy
                strange = (codes >= hierarchy.domain_size) & (codes < hierarchy.domain_size + len(hierarchy.strange))
                grown = hierarchy.missing and not known[sensitive.name].missing
                unknown[sensitive.name] = strange | (grown & (codes == hierarchy.size - 1))
        return unknown

    @cached_property
    def known(self) -> Flags:
        """The cells of which the mapping knows all values."""
        known: Flags = ~np.any(list(self.unknown_in.values()), axis=0)
        return known

    @cached_property
    def boxes(self) -> tuple[Assignment, Codes, Codes]:
        """The groups of the cells that fit, admitted or not, and the box of each."""
        cells, mapping, known = self.cells, self.mapping, np.flatnonzero(self.known)
        if mapping.levels:
            lo, hi = nodes_at(cells.quasi, cells.codes[known], mapping.levels)
            first, group = distinct_rows(lo)
            return Assignment(known, group, cells.counts[known]), lo[first], hi[first]
        first, point = distinct_rows(cells.codes[known])
        box = mapping.find(cells.codes[known][first])[point]
        inside = known[box >= 0]
        used, group = np.unique(box[box >= 0], return_inverse=True)
        return Assignment(inside, group.astype(np.int64), cells.counts[inside]), mapping.lo[used], mapping.hi[used]

    @cached_property
    def satisfied(self) -> Flags:
        """The groups that satisfy the requirement, against the Q of the whole table.

        Where the new table has sensitive values that the mapping's had not, these stand where their texts fall, and
        after all others: both orders must satisfy it, so the larger of two distances decides.
        """
        assignment, lo, _ = self.boxes
        histograms, wanted = self.cells.histograms(assignment, len(lo)), self.mapping.requirement
        return wanted.admits(histograms) & wanted.admits(_reordered(histograms, self.mapping.orders))

    @property
    def admitted(self) -> Flags:
        """The groups that are published."""
        return published_groups(self.boxes[0], self.satisfied)

    @cached_property
    def left_out(self) -> LeftOut:
        """Everything that does not fit, by its reason."""
        cells, (assignment, _, _) = self.cells, self.boxes
        unknown = int(cells.counts[~self.known].sum())
        return LeftOut(
            cells.records + self.table.dropped,
            str(self.mapping.requirement),
            unknown,
            self.unknown_by_column,
            self.table.dropped,
            outside=cells.records - unknown - assignment.records,
            **groups_left_out(assignment, self.satisfied),
        )

    @property
    def unknown_by_column(self) -> tuple[UnknownValues, ...]:
        """What the mapping does not know, by column."""
        return tuple(self.described(name) for name, cell in self.unknown_in.items() if cell.any())

    def described(self, name: str) -> UnknownValues:
        """Say how many records have a value of a column that the mapping does not know, and name one."""
        values = self._unknown_values(name)
        records = int(self.cells.counts[self.unknown_in[name]].sum())
        return UnknownValues(name, records, next((value for value in values if value is not None), None))

    def _unknown_values(self, name: str) -> Sequence[str | None]:
        codes: Entries[str | None, int] = next(coding.codes for coding in self.table.codings if coding.column == name)
        hierarchy, missing = self.table.hierarchies[name], self.mapping.hierarchies[name].missing
        return [
            value
            for value, code in codes.items()
            if code < 0 or (value is None and not missing) or (value is not None and code >= hierarchy.domain_size)
        ]

    def release(self) -> Release:
        """Publish the groups that are admitted."""
        (assignment, lo, hi), admitted = self.boxes, self.admitted
        release = generalization(self.table, assignment.only(admitted), lo[admitted], hi[admitted], ranges=None)
        return replace(release, levels=self.mapping.levels) if self.mapping.levels else release


def _reordered(histograms: Histograms, orders: Entries[str, Sequence[str]]) -> Histograms:
    """Put the sensitive values in the order that a mapping keeps, those that it does not know after all others."""
    sensitive, counts = [], []
    for position, attribute in enumerate(histograms.sensitive):
        known = {value: place for place, value in enumerate(orders.get(attribute.name, attribute.labels))}
        order = np.argsort([known.get(value, len(known)) for value in attribute.labels], kind="stable")
        sensitive.append(replace(attribute, leaves=attribute.leaves[order], counts=attribute.counts[order]))
        counts.append(histograms.of(position)[:, order])
    return replace(histograms, sensitive=tuple(sensitive), counts=np.hstack(counts)) if counts else histograms


def group_sizes(assignment: Assignment, groups: int) -> Counts:
    """Count the records of every group."""
    return weighted_counts(assignment.group, assignment.count, groups)


def published_groups(assignment: Assignment, satisfied: Flags) -> Flags:
    """Pick the groups that are published: what is required holds in them, and nobody is alone in one."""
    published: Flags = satisfied & (group_sizes(assignment, len(satisfied)) > 1)
    return published


def groups_left_out(assignment: Assignment, satisfied: Flags) -> dict[str, int]:
    """Count the records of groups that are not published, by the reason."""
    sizes = group_sizes(assignment, len(satisfied))
    failing = (sizes > 0) & ~satisfied
    alone = int((satisfied & (sizes == 1)).sum())
    return {"failing": int(sizes[failing].sum()), "failing_groups": int(failing.sum()), "alone": alone}


def nothing_left(published: Flags, wanted: Any) -> str:
    """Say that no group is left, where none is."""
    return "" if published.any() else f"no group of the mapping satisfies {wanted} in this data"
