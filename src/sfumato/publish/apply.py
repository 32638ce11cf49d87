"""New data recoded under a mapping, on their way out: one loop for tables, baskets and tables with items.

What does not fit the mapping is counted before anything is refused, so a refusal and what `rest="drop"` leaves out have
the same numbers. Then drafts beside their targets, the audit of what was written against the new data, the line in the
ledger, the names: all of it or nothing. Whether a target may be written is asked again when the ledger is ours, for who
held it until then may have written it. What each kind does itself: write its drafts, audit them, say what they hold.

Recoding new data as an earlier release was: what fits is published, and what does not is counted by its reason.

Q is that of the whole new table, like the Q of every release: records that are left out are part of it, also those with
a value that no hierarchy knows. Such a sensitive value counts as a value of its own, after all others in their order
and right below the root of their hierarchy. Everything is counted before anything is refused, so a refusal and what
`rest="drop"` leaves out have the same numbers. The audit of the written draft, with the new table as its original,
decides whether the file gets its name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from collections.abc import Mapping as Entries
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import isfinite
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from sfumato.anonymizers.anonymizer import checked, checked_households, checked_values_of_persons
from sfumato.anonymizers.full_domain.full_domain import nodes_at
from sfumato.auditing.audit import Audit
from sfumato.auditing.ledger import Ledger, LedgerEntry, file_digest, kept_in, now
from sfumato.config.documents import fields, read_json, text
from sfumato.config.options import check_choice
from sfumato.data.assignment import Assignment, distinct_rows, weighted_counts
from sfumato.data.cells import Cells, Histograms
from sfumato.data.reading import Table, with_roles
from sfumato.engines import open_rows
from sfumato.engines.formulas import check_escaping, formula_notice
from sfumato.engines.locations import input_files
from sfumato.engines.protocol import Reading
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.publish._written_file import audit_written
from sfumato.publish.mapping import Mapping as AppliedMapping
from sfumato.publish.publishable import Origin, Publishable
from sfumato.release.release import Release, generalization
from sfumato.release.writing import format_of
from sfumato.release.writing_items import Names, laid_out
from sfumato.runtime.arrays import Codes, Counts, Flags, Quiet
from sfumato.runtime.staging import check_targets, staged
from sfumato.texts.format import counted

Rest = Literal["refuse", "drop"]
LARGE_SHARE = 0.1
"""From this share of the records on, leaving them out deserves a warning."""


def kind_of(mapping: Path) -> str:
    """Say of what kind a mapping is."""
    return str(read_json(mapping, "a mapping of sfumato", fields({"kind": text}))["kind"])


@dataclass(frozen=True)
class UnknownValues:
    """Values of one column that the mapping does not know."""

    column: str
    records: int
    example: str | None
    """One of them; None is the missing value."""


@dataclass(frozen=True)
class LeftOut:
    """The records of new data that a mapping does not fit: each counted once, by the first reason that holds."""

    of: int
    """All records of the data."""

    requirement: str
    unknown: int = 0
    """Records with a value or an item that the mapping does not know."""

    unknown_by_column: tuple[UnknownValues, ...] = ()
    """The same by column; a record with several such values counts in each of their columns."""

    missing: int = 0
    """Records that miss a value, where the mapping removes such."""

    outside: int = 0
    """Records that no box covers."""

    failing: int = 0
    """Records in groups that do not satisfy the requirement."""

    failing_groups: int = 0
    alone: int = 0
    """Records that would be alone in a group that satisfies it: no release shows such."""

    @property
    def by_reason(self) -> dict[str, int]:
        """How many records each reason leaves out."""
        return {name: getattr(self, name) for name in ("missing", "unknown", "outside", "failing", "alone")}

    @property
    def records(self) -> int:
        """All records that are left out."""
        return sum(self.by_reason.values())

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
            "would be alone in their group, which no release may show": self.alone,
        }
        return [f"{number:,} {reason}" for reason, number in counts.items() if number]

    def content(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        columns = {unknown.column: unknown.records for unknown in self.unknown_by_column}
        return {
            "records": self.records,
            "of": self.of,
            **self.by_reason,
            "unknown_by_column": columns,
            "failing_groups": self.failing_groups,
        }

    def check(self, origin: str, rest: Rest, nothing: str) -> None:
        """Raise unless what does not fit may be left out; unknown values are bad input. Or say that `nothing` is."""
        check_choice("rest", rest, ("refuse", "drop"))
        reasons = "; ".join(self.reasons())
        if rest == "refuse" and self.records > self.missing:
            error = BadInputError if self.unknown else InfeasibleError
            raise error(
                f"{origin}: the mapping does not fit {self.records:,} of {self.of:,} records: {reasons}. Make a new "
                "release, or --rest drop leaves them out"
            )
        if nothing:
            raise InfeasibleError(f"{origin}: {nothing} ({reasons}); make a new release")

    def warning(self) -> list[str]:
        """Say where so much is left out that what remains may be another population."""
        if self.records < LARGE_SHARE * self.of:
            return []
        return [
            f"WARNING: {self.records:,} of {self.of:,} records ({self.records / self.of:.0%}) are left out. What "
            "remains may be another population than\nthe table; consider a new release."
        ]

    def lines(self) -> list[str]:
        """Say what is left out, and why."""
        if not self.records:
            return []
        many = f"{self.records:,} of {self.of:,} records"
        return [f"Left out, because the mapping does not fit them: {many}.", *(f"  {why}" for why in self.reasons())]


@dataclass(frozen=True, repr=False)
class Written(Quiet):
    """A recoded file that has its name: what its audit found, and what who opens it should know."""

    audit: Any
    files: tuple[Path, ...]
    notices: tuple[str, ...]
    ledger: Path | None = None


class NewData(NamedTuple):
    """Where new data come from."""

    origin: str
    notices: Sequence[str]
    digest: Callable[[], str]
    files: Sequence[Path] = ()
    """Further files that are read with them."""


@dataclass(frozen=True, eq=False, repr=False)
class RecodedFile(Quiet):
    """New data recoded, and what was left out of them."""

    release: Any
    mapping: Any
    """By which they were recoded: it has a `requirement` and a `digest`."""

    left_out: LeftOut
    source: NewData
    """The new data, all of them."""

    audited: Callable[[Sequence[Path], str, bool], Any]
    """Audits drafts of a layout, with formulas escaped or not, against the new data."""

    names: Names | None = None
    """What the file calls published items, as the release did."""

    @property
    def requirement(self) -> Any:
        """What is promised."""
        return self.mapping.requirement

    @property
    def called(self) -> str:
        """What the new data are."""
        return "baskets" if self._out(Path()).kind == "baskets" else "records"

    @cached_property
    def source_digest(self) -> str:
        """The digest of all new data."""
        return self.source.digest()

    def _out(self, path: Path, layout: str = "rows", escape: bool = False) -> Publishable:
        """Return what is written, and how."""
        how = {"layout": layout, "escape_formulas": escape, "named": self.names}
        return Publishable(self.release, None, path, Origin("", ""), **how)  # type: ignore[arg-type]

    def laid_out(self, path: Path, layout: str) -> str:
        """Say how the file is laid out; raise where it cannot be."""
        if self.called == "baskets":
            return laid_out(layout, format_of(path))
        check_choice("layout", layout, ("rows",))
        return layout

    def confirmed(self) -> list[str]:
        """Say what the audit confirmed."""
        wanted = self.requirement
        if self.names is not None:
            return [f"Counted again in the file: {wanted}, that is: {wanted.rule_in_words()}."]
        persons = self.mapping.roles.person is not None
        satisfies = f"Every group satisfies{', counting persons' * persons}: {wanted.by_persons if persons else wanted}"
        return [satisfies, "The audit of the file, with Q of the whole new table, confirms it."]

    def write(
        self,
        path: str | Path,
        force: bool = False,
        escape_formulas: bool = False,
        inputs: Sequence[Path] = (),
        ledger: str | Path | None = None,
        layout: str = "rows",
    ) -> Written:
        """Write the file, CSV or Parquet; it gets its name only if the audit of what was written finds no fault.

        `inputs` are further files that it may not replace. In a `ledger` it is said what was published.
        """
        target, book = Path(path), None if ledger is None else Path(ledger)
        check_escaping(escape_formulas, target, format_of(target))
        kept = [*input_files(self.source.origin), *self.source.files, *inputs, *([] if book is None else [book])]
        how = partial(self._written, target, self.laid_out(target, layout), force, escape_formulas, kept)
        if book is None:
            return how(None)[0]
        check_targets(self._out(target).files, force, kept)
        written, again = kept_in(book, self.source_digest, how, self.called)
        return replace(written, notices=(*written.notices, *again), ledger=book)

    def _written(
        self, target: Path, layout: str, force: bool, escape: bool, inputs: Sequence[Path], book: Ledger | None
    ) -> tuple[Written, int]:
        """Write, audit and name the files; where there is a ledger, its line comes right before the names."""
        own, number = self._out(target, layout, escape), 0
        files = list(own.files)
        check_targets(files, force, inputs)
        with staged(files) as drafts:
            cells = own.write(drafts)
            verdict = self.audited(drafts, layout, escape)
            if verdict.unconfirmed:
                raise InfeasibleError(
                    f"{target}: the promise does not carry over: the audit of what would be written does not confirm "
                    f"{self.requirement} against the new {self.called}; nothing was written: make a new release"
                )
            if book is not None:
                number = book.begin(self._entry(book.path, target, drafts[0], verdict, escape))
        return Written(verdict, tuple(files), (*self.source.notices, *formula_notice(dict(cells), escape))), number

    def _entry(self, ledger: Path, target: Path, draft: Path, verdict: Any, escaped: bool) -> LedgerEntry:
        """Say what is published, of what, and what was confirmed."""
        return LedgerEntry(
            when=now(),
            file=os.path.relpath(target, ledger.parent),
            file_digest=file_digest(draft),
            source=self.source.origin,
            source_digest=self.source_digest,
            mapping_digest=self.mapping.digest,
            records=self.left_out.of,
            published=verdict.records,
            left_out=self.left_out.by_reason,
            promised=str(self.requirement),
            confirmed={name: value for name, value in verdict.measures.items() if isfinite(value)},
            escaped=escaped,
        )

    def values(self, written: Written) -> dict[str, Any]:
        """Return what a program reads of it."""
        return {
            "requirement": str(self.requirement),
            "records": self.left_out.of,
            "published": written.audit.records,
            "left_out": self.left_out.content(),
            **self._amounts(written),
            "files": [str(file) for file in written.files],
            "ledger": None if written.ledger is None else str(written.ledger),
        }

    def lines(self, written: Written) -> list[str]:
        """Say to a person what was written, what holds of it, and what was left out."""
        files, amounts = written.files, self._amounts(written)
        groups = f" in {counted(amounts['groups'], 'group')}" if "groups" in amounts else ""
        items = f" with {counted(amounts['published_items'], 'published item')}" if "published_items" in amounts else ""
        return [
            f"Wrote {' and '.join(map(str, files))}: {counted(written.audit.records, 'record')}{groups}{items}.",
            *self.confirmed(),
            *([] if written.ledger is None else [self._use_of_ledger(files[0], written.ledger)]),
            *self.left_out.lines(),
        ]

    def _use_of_ledger(self, file: Path, ledger: Path) -> str:
        """Say what the ledger is for."""
        if self.names is not None:
            return f"Kept in {ledger}, with everything that was published under this mapping."
        return f"Kept in {ledger}: `sfumato audit {file} --with {ledger} ...` looks at everything published so."

    @staticmethod
    def _amounts(written: Written) -> dict[str, int]:
        """Return what there is of groups and of published items in the file."""
        found = written.audit
        amounts = {"groups": found.groups} if found.quasi else {}
        return amounts | ({"published_items": found.published_items} if found.has_items else {})


def apply(mapping: AppliedMapping, path: str | Path | Any, rest: Rest = "refuse", **reading: Any) -> RecodedFile:
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

    def audited(drafts: Sequence[Path], layout: str, escape: bool) -> Audit:
        return audit_written(release, mapping.requirement, drafts, escape)

    source = NewData(rows.origin, table.engine.notices, table.engine.digest)
    return RecodedFile(release, mapping, left_out, source, audited)


@dataclass(frozen=True, eq=False)
class Fitting:
    """Which cells of a new table a mapping fits, and the groups that they form."""

    table: Table
    mapping: AppliedMapping

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
