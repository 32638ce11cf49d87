"""Recoding new data as an earlier release was: what fits is published, and what does not is counted by its reason.

Q is that of the whole new table, like the Q of every release: records that are left out are part of it, also those with
a value that no hierarchy knows. Such a sensitive value counts as a value of its own, after all others in their order
and right below the root of their hierarchy. Everything is counted before anything is refused, so a refusal and what
`rest="drop"` leaves out have the same numbers. The audit of the written draft, with the new table as its original,
decides whether the file gets its name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping as Entries
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sfumato.anonymizers.anonymizer import checked, checked_households
from sfumato.anonymizers.full_domain.full_domain import nodes_at
from sfumato.arrays import Codes, Flags
from sfumato.configuration import check_choice
from sfumato.engines import Reading, open_rows
from sfumato.engines.formulas import check_escaping, formula_notice
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.phrases import counted
from sfumato.publish.audit.audit import Audit, audit
from sfumato.publish.formulas import written_formulas
from sfumato.publish.ledger import Ledger, LedgerEntry, file_digest, kept_in, now
from sfumato.publish.mapping import Mapping, find_boxes
from sfumato.release import Release, check_targets, format_of, generalization, staged
from sfumato.release.writing import inputs_of, write_drafts
from sfumato.requirements import Requirement
from sfumato.table import Assignment, Cells, Table, distinct_rows
from sfumato.table.table import with_roles

Rest = Literal["refuse", "drop"]
LARGE_SHARE = 0.1
"""From this share of the records on, leaving them out deserves a warning."""


@dataclass(frozen=True)
class UnknownValues:
    """Values of one column that the mapping does not know."""

    column: str
    records: int
    example: str | None
    """One of them; None is the missing value."""


@dataclass(frozen=True)
class LeftOut:
    """The records of a new table that a mapping does not fit: each counted once, by the first reason that holds."""

    missing: int
    """Records that miss a value, where the mapping removes such."""

    unknown: int
    """Records with a value that the mapping does not know."""

    unknown_by_column: tuple[UnknownValues, ...]
    """The same by column; a record with several such values counts in each of their columns."""

    outside: int
    """Records that no box covers."""

    failing: int
    """Records in groups that do not satisfy the requirement."""

    failing_groups: int
    of: int
    """All records of the table."""

    requirement: str

    @property
    def records(self) -> int:
        """All records that are left out."""
        return self.missing + self.unknown + self.outside + self.failing

    @property
    def is_large(self) -> bool:
        """Whether so many are left out that what remains may be another population."""
        return self.records >= LARGE_SHARE * self.of

    def reasons(self) -> list[str]:
        """Say for every reason how many records it leaves out."""
        by_column = "; ".join(
            f"{unknown.column}: {counted(unknown.records, 'record')}, such as "
            f"{'a missing value' if unknown.example is None else repr(unknown.example)}"
            for unknown in self.unknown_by_column
        )
        counts = {
            "miss a value, and the mapping removes such records": self.missing,
            f"have a value that the mapping does not know ({by_column})": self.unknown,
            "are covered by no box of the mapping": self.outside,
            f"are in {counted(self.failing_groups, 'group')} that do not satisfy {self.requirement} in this data": (
                self.failing
            ),
        }
        return [f"{number:,} {reason}" for reason, number in counts.items() if number]

    def content(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        columns = {unknown.column: unknown.records for unknown in self.unknown_by_column}
        names = ("records", "of", "missing", "unknown", "unknown_by_column", "outside", "failing", "failing_groups")
        return {name: getattr(self, name) for name in names} | {"unknown_by_column": columns}


@dataclass(frozen=True, eq=False)
class Written:
    """What the audit says of a recoded file, and what who opens it should know."""

    audit: Audit
    notices: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Applied:
    """New data recoded, and what was left out of it."""

    release: Release
    mapping: Mapping
    left_out: LeftOut

    @property
    def requirement(self) -> Requirement:
        """What is promised."""
        return self.mapping.requirement

    @cached_property
    def _source_digest(self) -> str:
        return self.release.table.engine.digest()

    def write(
        self,
        path: str | Path,
        force: bool = False,
        escape_formulas: bool = False,
        inputs: Sequence[Path] = (),
        ledger: str | Path | None = None,
    ) -> Written:
        """Write the file, CSV or Parquet; it gets its name only if the audit of what was written finds no fault.

        `inputs` are files that it may not replace, beside the table. In a `ledger` it is said what was published.
        """
        target, release = Path(path), self.release
        format_of(target)
        given = [*inputs_of(release), *inputs]
        if ledger is None:
            return self._written(target, force, escape_formulas, given)[0]
        check_targets([target], force, [*given, Path(ledger)])
        kept = [*given, Path(ledger)]
        how = partial(self._written, target, force, escape_formulas, kept)
        written, again = kept_in(Path(ledger), self._source_digest, how)
        return replace(written, notices=(*written.notices, *again))

    def _written(
        self, target: Path, force: bool, escape_formulas: bool, inputs: Sequence[Path], book: Ledger | None = None
    ) -> tuple[Written, int]:
        """Write, audit and name the file; where there is a ledger, its line comes right before the name."""
        format, release, roles = format_of(target), self.release, self.release.table.roles
        check_escaping(escape_formulas, target, format)
        check_targets([target], force, inputs)
        number = 0
        with staged([target]) as drafts:
            write_drafts(release, drafts, "rows", format, escape_formulas)
            cells = written_formulas(drafts, escape_formulas)
            verdict = audit(
                drafts[0],
                roles.quasi,
                roles.sensitive,
                original=release.table,
                require=str(self.requirement),
                suppressed="keep",
                household=roles.household,
                header=True,
                escaped_formulas=escape_formulas,
            )
            if verdict.failures or (verdict.coverage is not None and not verdict.coverage.holds):
                raise InfeasibleError(
                    f"{target}: the audit of what would be written does not confirm {self.requirement} against "
                    "the new table; nothing was written: make a new release"
                )
            if book is not None:
                number = book.begin(self._entry(book.path, target, drafts[0], verdict, escape_formulas))
        return Written(verdict, (*release.table.engine.notices, *formula_notice(cells, escape_formulas))), number

    def _entry(self, ledger: Path, target: Path, draft: Path, verdict: Audit, escaped: bool) -> LedgerEntry:
        """Say what is published, of what, and what was confirmed."""
        engine, left_out = self.release.table.engine, self.left_out
        confirmed = {name: value for name, value in verdict.measures.items() if isfinite(value)}
        return LedgerEntry(
            when=now(),
            file=os.path.relpath(target, ledger.parent),
            file_digest=file_digest(draft),
            source=engine.origin,
            source_digest=self._source_digest,
            mapping_digest=self.mapping.digest(),
            records=left_out.of,
            published=self.release.assignment.records,
            left_out={name: getattr(left_out, name) for name in ("missing", "unknown", "outside", "failing")},
            promised=str(self.requirement),
            confirmed=confirmed,
            escaped=escaped,
        )


def apply(mapping: Mapping, path: str | Path | Any, rest: Rest = "refuse", **reading: Any) -> Applied:
    """Recode a new file, or whatever else an engine opens, as an earlier release was.

    `rest` says what happens to records with values the mapping does not know, that no box covers, or whose group does
    not satisfy the requirement in the new data: nothing is published (`refuse`), or they are left out (`drop`). What
    the mapping read as missing is missing here too, beside what `na` adds; `reading` are further options of `read`,
    and where numbers or dates can be read in two ways, the way of the mapping's table is taken.
    """
    check_choice("rest", rest, ("refuse", "drop"))
    na = tuple(dict.fromkeys((*mapping.na, *reading.get("na", ()))))
    rows = open_rows(path, Reading(**{**reading, "na": na, "usual": mapping.notations}))
    table = with_roles(rows, mapping.roles, mapping.hierarchies, mapping.missing, "count")
    fitting = Fitting(table, mapping)
    left_out = fitting.left_out
    if rest == "refuse" and left_out.records > left_out.missing:
        raise refusal(rows.origin, left_out)
    if not fitting.admitted.any():
        reasons = "; ".join(left_out.reasons())
        raise InfeasibleError(
            f"{rows.origin}: no group of the mapping satisfies {mapping.requirement} in this data ({reasons}); make a "
            "new release"
        )
    release = fitting.release()
    checked(release, mapping.requirement)
    checked_households(release)
    return Applied(release, mapping, left_out)


def refusal(origin: str, left_out: LeftOut) -> BadInputError | InfeasibleError:
    """Say everything that does not fit, and what to do; values that nobody knows are bad input."""
    error = BadInputError if left_out.unknown else InfeasibleError
    reasons = "; ".join(left_out.reasons())
    return error(
        f"{origin}: the mapping does not fit {left_out.records:,} of {left_out.of:,} records: {reasons}. Make a new "
        f"release, or --rest drop leaves them out"
    )


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
        box = find_boxes(cells.codes[known][first], mapping.lo, mapping.hi)[point]
        inside = known[box >= 0]
        used, group = np.unique(box[box >= 0], return_inverse=True)
        return Assignment(inside, group.astype(np.int64), cells.counts[inside]), mapping.lo[used], mapping.hi[used]

    @cached_property
    def admitted(self) -> Flags:
        """The groups that satisfy the requirement, against the Q of the whole table."""
        assignment, lo, _ = self.boxes
        return self.mapping.requirement.admits(self.cells.histograms(assignment, len(lo)))

    @cached_property
    def left_out(self) -> LeftOut:
        """Everything that does not fit, by its reason."""
        cells, (assignment, _, _) = self.cells, self.boxes
        unknown = int(cells.counts[~self.known].sum())
        return LeftOut(
            missing=self.table.dropped,
            unknown=unknown,
            unknown_by_column=tuple(self.described(name) for name, cell in self.unknown_in.items() if cell.any()),
            outside=cells.records - unknown - assignment.records,
            failing=int(assignment.count[~self.admitted[assignment.group]].sum()),
            failing_groups=int((~self.admitted).sum()),
            of=cells.records + self.table.dropped,
            requirement=str(self.mapping.requirement),
        )

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
        release = generalization(self.table, assignment.only(admitted), lo[admitted], hi[admitted], whole=True)
        return replace(release, levels=self.mapping.levels) if self.mapping.levels else release
