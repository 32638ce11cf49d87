"""Recoding new data by the mapping of a release: one process for tables, baskets and tables with items.

A record goes to the box that covers it with the least loss; its items are published as in that group. Misfits are
counted by reason before anything is refused, so a refusal and `rest="drop"` report the same numbers. A group fails if
it violates the requirement in the new data: with the Q of the whole new table, and for every set of up to m published
items. Suppressed records are part of Q. This includes records with unknown values; such a sensitive value counts as a
separate value, last in order and directly below the root of its hierarchy. Records suppressed by the release remain
suppressed. A local recoding of baskets cannot be applied, because it has no rule for new records.

Then drafts are written next to their targets and audited against the new data, the ledger gets a line, and the drafts
are renamed: all or nothing. Targets are checked again after acquiring the ledger lock, because the previous holder may
have written them.
"""

import os
from collections.abc import Callable, Sequence
from collections.abc import Mapping as Entries
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import isfinite
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from sfumato.anonymizers.anonymizer import checked, checked_households
from sfumato.anonymizers.full_domain.full_domain import nodes_at
from sfumato.anonymizers.items.items_of_groups import verify
from sfumato.auditing.audit import Audit, audit_baskets
from sfumato.auditing.ledger import Ledger, LedgerEntry, file_digest, kept_in, now
from sfumato.config.options import check_choice
from sfumato.data.cells import Assignment, Cells, Histograms, Sensitive, distinct_rows, spans_of, weighted_counts
from sfumato.data.dataset import MixedTable
from sfumato.data.item_reading import items_of_column, items_of_file, tied, with_items_of_file
from sfumato.data.items import Baskets, rows_once, taken_rows
from sfumato.data.reading import Table, with_roles
from sfumato.engines import open_rows
from sfumato.engines._text_files import check_escaping, formula_notice
from sfumato.engines.locations import input_files
from sfumato.engines.protocol import Reading
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.publish._written_file import audit_of, audit_written, reading_of
from sfumato.publish.mapping import ItemMapping
from sfumato.publish.mapping import Mapping as AppliedMapping
from sfumato.publish.publication import Origin, Publishable, outdated_files
from sfumato.release._itemsets import Rows, rare_itemsets
from sfumato.release.items import SUPPRESSED, ItemParts, MixedRelease, Placed, Recoding, global_release, numbered
from sfumato.release.release import generalization
from sfumato.release.writing import format_of
from sfumato.release.writing_items import Names, laid_out, names_as_before
from sfumato.runtime.arrays import Codes, Counts, Flags, RedactedRepr
from sfumato.runtime.staging import check_targets, staged
from sfumato.texts.catalogue import counted, t
from sfumato.tradeoff.question.recipients import shown_baskets
from sfumato.tradeoff.study.candidate import files_of

Rest = Literal["refuse", "drop"]
UNKNOWN = -2
"""The code of an item that the mapping does not know in its group."""

LARGE_SHARE = 0.1
"""The share of suppressed records that causes a warning."""


@dataclass(frozen=True)
class UnknownValues:
    """Unknown values of one column."""

    column: str
    records: int
    example: str | None
    """One of them; None is the missing value."""


@dataclass(frozen=True)
class LeftOut:
    """The records of new data that a mapping does not fit, each counted once, by the first reason."""

    of: int
    """The number of all records."""

    requirement: str
    unknown: int = 0
    """Records with an unknown value or item."""

    unknown_by_column: tuple[UnknownValues, ...] = ()
    """The same by column; a record with several such values counts in each of their columns."""

    missing: int = 0
    """Records with a missing value, if the mapping drops these."""

    outside: int = 0
    """Records that no box covers."""

    failing: int = 0
    """Records in groups that do not satisfy the requirement."""

    failing_groups: int = 0
    alone: int = 0
    """Records that would be unique in a group that satisfies it; no release shows these."""

    @property
    def by_reason(self) -> dict[str, int]:
        """The number of records by reason."""
        return {name: getattr(self, name) for name in ("missing", "unknown", "outside", "failing", "alone")}

    @property
    def records(self) -> int:
        """The number of suppressed records."""
        return sum(self.by_reason.values())

    def reasons(self) -> list[str]:
        """Describe the number of records for each reason."""
        by_column = "; ".join(
            t(f"left_out.{'missing_value' if unknown.example is None else 'example'}", unknown=unknown)
            for unknown in self.unknown_by_column
        )
        return [t(f"left_out.{name}", left=self, by_column=by_column) for name, n in self.by_reason.items() if n]

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
        """Raise unless misfits may be suppressed; unknown values are bad input. `nothing`: the error without rows."""
        check_choice("rest", rest, ("refuse", "drop"))
        reasons = "; ".join(self.reasons())
        if rest == "refuse" and self.records > self.missing:
            error = BadInputError if self.unknown else InfeasibleError
            raise error(t("apply_error.does_not_fit", origin=origin, records=self.records, of=self.of, reasons=reasons))
        if nothing:
            raise InfeasibleError(f"{origin}: {nothing} ({reasons}); make a new release")

    def warning(self) -> list[str]:
        """Warn if so many records are suppressed that the rest may be another population."""
        if self.records < LARGE_SHARE * self.of:
            return []
        return [t("apply_error.many_left_out", records=self.records, of=self.of, share=self.records / self.of)]

    def lines(self) -> list[str]:
        """Return sentences about suppressed records with reasons."""
        if not self.records:
            return []
        many = f"{self.records:,} of {self.of:,} records"
        return [f"Left out, because the mapping does not fit them: {many}.", *(f"  {why}" for why in self.reasons())]


@dataclass(frozen=True, repr=False)
class Written(RedactedRepr):
    """A recoded and renamed file, with its audit and notices."""

    audit: Any
    files: tuple[Path, ...]
    notices: tuple[str, ...]
    ledger: Path | None = None


class NewData(NamedTuple):
    """The origin of new data."""

    origin: str
    notices: Sequence[str]
    digest: Callable[[], str]
    files: Sequence[Path] = ()
    """Further files that belong to them."""


@dataclass(frozen=True, eq=False, repr=False)
class RecodedFile(RedactedRepr):
    """Recoded new data, and the records that did not fit."""

    release: Any
    mapping: Any
    """The mapping; it has a `requirement` and a `digest`."""

    left_out: LeftOut
    source: NewData
    """All new data."""

    audited: Callable[[Sequence[Path], str, bool], Any]
    """Audits drafts of a layout, with or without escaped formulas, against the new data."""

    names: Names | None = None
    """The names of published items, as in the release."""

    @property
    def requirement(self) -> Any:
        """The promise."""
        return self.mapping.requirement

    @property
    def called(self) -> str:
        """The plural noun of the new data."""
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
        """Return the layout of the file; raise if it is impossible."""
        if self.called == "baskets":
            return laid_out(layout, format_of(path))
        check_choice("layout", layout, ("rows",))
        return layout

    def confirmed(self) -> list[str]:
        """Return sentences about the confirmed promise."""
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
        """Write the file as CSV or Parquet; it is renamed to its target only if the audit of the draft succeeds.

        `inputs` are further files that must not be overwritten. A `ledger` gets a line about the publication.
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
        """Write, audit and rename the files; the line of the ledger is written just before the renaming."""
        own, number = self._out(target, layout, escape), 0
        files = list(own.files)
        left_behind = outdated_files(target)
        check_targets([*files, *left_behind], force, inputs)
        with staged(files) as drafts:
            cells = own.write(drafts)
            verdict = self.audited(drafts, layout, escape)
            if verdict.unconfirmed:
                raise InfeasibleError(
                    t("apply_error.not_confirmed", target=target, requirement=self.requirement, called=self.called)
                )
            if book is not None:
                number = book.begin(self._entry(book.path, target, drafts[0], verdict, escape))
            for file in left_behind:
                file.unlink()
        return Written(verdict, tuple(files), (*self.source.notices, *formula_notice(dict(cells), escape))), number

    def _entry(self, ledger: Path, target: Path, draft: Path, verdict: Any, escaped: bool) -> LedgerEntry:
        """Return the ledger's entry: the file, its source, and the confirmed promise."""
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
        """Return the values of the JSON output."""
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
        """Return sentences about the written file, its promise, and suppressed records."""
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
        """Explain the use of the ledger."""
        if self.names is not None:
            return f"Kept in {ledger}, with everything that was published under this mapping."
        return f"Kept in {ledger}: `sfumato audit {file} --with {ledger} ...` audits all its publications together."

    @staticmethod
    def _amounts(written: Written) -> dict[str, int]:
        """Return the numbers of groups and of published items in the file."""
        found = written.audit
        amounts = {"groups": found.groups} if found.quasi else {}
        return amounts | ({"published_items": found.published_items} if found.has_items else {})


def apply(
    mapping: AppliedMapping | ItemMapping,
    source: Any,
    rest: Rest = "refuse",
    items_file: str | None = None,
    **reading: Any,
) -> RecodedFile:
    """Recode a new file, or another source of an engine, or open baskets, by the mapping of an earlier release.

    `rest` is the treatment of records with unknown values or items, of records outside all boxes, and of groups that
    violate the requirement in the new data. `refuse` publishes nothing, `drop` suppresses them. The mapping's missing
    texts are missing here too, in addition to `na`. `reading` has further options of `read`; ambiguous numbers and
    dates are read as in the mapping's table. `items_file` is the second file, if the items of records were in one.
    """
    if isinstance(mapping, AppliedMapping):
        return _apply_boxes(mapping, source, rest, **reading)
    if mapping.boxes is None:
        return _apply_baskets(mapping, source, rest)
    return _apply_items(mapping, source, rest, items_file, **reading)


def _apply_boxes(mapping: AppliedMapping, path: Any, rest: Rest, **reading: Any) -> RecodedFile:
    """Recode the records of a table."""
    na = tuple(dict.fromkeys((*mapping.na, *reading.get("na", ()))))
    rows = open_rows(path, Reading(**{**reading, "na": na, "usual": mapping.notations}))
    table = with_roles(rows, mapping.roles, mapping.hierarchies, mapping.missing, "count")
    if table.why_no_persons is not None:
        raise BadInputError(table.why_no_persons)
    fitting = Fitting(table, mapping)
    left_out = fitting.check(rest)
    release = fitting.release()
    checked(release, mapping.requirement)
    checked_households(release)

    def audited(drafts: Sequence[Path], layout: str, escape: bool) -> Audit:
        return audit_written(release, mapping.requirement, drafts, escape)

    source = NewData(rows.origin, table.engine.notices, table.engine.digest)
    return RecodedFile(release, mapping, left_out, source, audited)


@dataclass(frozen=True, eq=False)
class Fitting:
    """The cells of a new table that a mapping fits, and their groups."""

    table: Table
    mapping: AppliedMapping

    @property
    def cells(self) -> Cells:
        """The cells of the new table."""
        return self.table.cells

    @cached_property
    def unknown_in(self) -> dict[str, Flags]:
        """For each column, the cells with an unknown value."""
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
        """The cells without unknown values."""
        known: Flags = ~np.any(list(self.unknown_in.values()), axis=0)
        return known

    @cached_property
    def boxes(self) -> tuple[Assignment, Codes, Codes]:
        """The groups of the fitting cells, admitted or not, and the box of each."""
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

    @property
    def assignment(self) -> Assignment:
        """The groups of the fitting records, admitted or not."""
        return self.boxes[0]

    @cached_property
    def satisfied(self) -> Flags:
        """The groups that satisfy the requirement, with the Q of the whole table.

        New sensitive values are placed in their text order, and after all others. Both orders must satisfy the
        requirement, so the larger of two distances decides.
        """
        histograms, wanted = self.cells.histograms(self.assignment, len(self.boxes[1])), self.mapping.requirement
        return wanted.admits(histograms) & wanted.admits(_reordered(histograms, self.mapping.orders))

    @cached_property
    def sizes(self) -> Counts:
        """The number of records of each group."""
        return weighted_counts(self.assignment.group, self.assignment.count, len(self.satisfied))

    @cached_property
    def admitted(self) -> Flags:
        """The published groups: the requirement is satisfied, and no record is unique."""
        admitted: Flags = self.satisfied & (self.sizes > 1)
        return admitted

    @property
    def left_out(self) -> LeftOut:
        """All misfits, by reason."""
        unknown, failing = int(self.cells.counts[~self.known].sum()), (self.sizes > 0) & ~self.satisfied
        return LeftOut(
            self.cells.records + self.table.dropped,
            str(self.mapping.requirement),
            unknown,
            self.unknown_by_column,
            self.table.dropped,
            outside=self.cells.records - unknown - self.boxes[0].records,
            failing=int(self.sizes[failing].sum()),
            failing_groups=int(failing.sum()),
            alone=int((self.satisfied & (self.sizes == 1)).sum()),
        )

    def check(self, rest: Rest) -> LeftOut:
        """Return the misfits; raise if they may not be suppressed, or nothing remains."""
        left_out = self.left_out
        nothing = f"no group of the mapping satisfies {left_out.requirement} in this data"
        left_out.check(self.table.engine.origin, rest, "" if self.admitted.any() else nothing)
        return left_out

    @property
    def unknown_by_column(self) -> tuple[UnknownValues, ...]:
        """Unknown values by column."""
        return tuple(self.described(name) for name, cell in self.unknown_in.items() if cell.any())

    def described(self, name: str) -> UnknownValues:
        """Return the number of records with an unknown value of a column, with an example."""
        codes: Entries[str | None, int] = next(coding.codes for coding in self.table.codings if coding.column == name)
        size = self.table.hierarchies[name].domain_size
        values = (value for value, code in codes.items() if value is not None and (code < 0 or code >= size))
        return UnknownValues(name, int(self.cells.counts[self.unknown_in[name]].sum()), next(values, None))

    def release(self) -> Any:
        """Publish the admitted groups."""
        (assignment, lo, hi), admitted = self.boxes, self.admitted
        release = generalization(self.table, assignment.only(admitted), lo[admitted], hi[admitted], ranges=None)
        return replace(release, levels=self.mapping.levels) if self.mapping.levels else release


def _reordered(histograms: Histograms, orders: Entries[str, Sequence[str]]) -> Histograms:
    """Return the histograms with sensitive values in the mapping's order, unknown ones last."""
    sensitive: list[Sensitive] = []
    columns: list[Counts] = [np.zeros(0, np.int64)]
    for attribute, start in zip(histograms.sensitive, spans_of(histograms.sensitive), strict=False):
        known = {value: place for place, value in enumerate(orders.get(attribute.name, attribute.labels))}
        order = np.argsort([known.get(value, len(known)) for value in attribute.labels], kind="stable")
        q = None if attribute.by_persons is None else attribute.by_persons[order]
        leaves, counts = attribute.leaves[order], attribute.counts[order]
        sensitive.append(replace(attribute, leaves=leaves, counts=counts, by_persons=q))
        columns.append(start + order)
    order, persons = np.concatenate(columns), histograms.persons
    if persons is not None:
        persons = replace(persons, columns=np.argsort(order)[persons.columns])
    return replace(histograms, sensitive=tuple(sensitive), counts=histograms.counts[:, order], persons=persons)


# -- items ---------------------------------------------------------------------------------------------------------


def _apply_items(mapping: ItemMapping, source: Any, rest: Rest, items_file: str | None, **reading: Any) -> RecodedFile:
    """Recode records with items."""
    data = _opened(mapping, source, items_file, reading)
    fitting = MixedFitting(data.table, mapping.table, data, mapping)
    left_out = fitting.check(rest)
    release = fitting.release()
    verify(release, mapping.requirement)
    items = mapping.items

    def audited(drafts: Sequence[Path], layout: str, escape: bool) -> Audit:
        original = data.declared
        if items_file is not None:
            original = with_items_of_file(original, items_file, str(items["id"]), str(items["item"]))
        stands_for, separator = mapping.stands_for, items["separator"]
        return audit_of(release, mapping.requirement, drafts, escape, original, stands_for, separator)

    shown = [release.parts.labels[part] for part in np.flatnonzero(release.part_supports).tolist()]
    source = NewData(data.origin, data.notices, lambda: data.digest, input_files(items_file))
    return RecodedFile(release, mapping, left_out, source, audited, names_as_before(shown, mapping.stands_for))


def _opened(mapping: ItemMapping, source: Any, items_file: str | None, reading: dict[str, Any]) -> MixedTable:
    """Open the new records in the format of the old ones."""
    items, known = mapping.items, mapping.table
    if (items["column"] is None) != (items_file is not None):
        where = (
            f"in a column, {items['column']!r}; leave out" if items_file else "in a second file; name the new one with"
        )
        raise BadInputError(f"{source}: the mapping has the items of records {where} --items-file")
    owner = items["column"] or items["id"] or ""
    na = tuple(dict.fromkeys((*known.na, *reading.get("na", ()))))
    written = tuple(dict.fromkeys((*reading.get("as_written", ()), owner)))
    rows = open_rows(source, Reading(**{**reading, "na": na, "usual": known.notations, "as_written": written}))
    if owner not in rows.columns:
        raise BadInputError(f"{rows.origin}: there is no column {owner!r}, which the mapping has; give it that name")
    table = with_roles(rows, known.roles, known.hierarchies, known.missing, "count")
    if items_file is None:
        held = items_of_column(table, owner, items["separator"])
    else:
        held = items_of_file(table, items_file, owner, items["item"] or "")
    return tied(table, held, mapping.column, owner, None, mapping.sensitive)


@dataclass(frozen=True, eq=False)
class MixedFitting(Fitting):
    """The new records with items that a mapping fits, and the published form of their items."""

    data: MixedTable
    items: ItemMapping

    @cached_property
    def pairs(self) -> tuple[Counts, Counts]:
        """The covered pairs of a cell and a basket, and the group of each."""
        assignment, _, _ = self.boxes
        group_of = np.full(self.data.cells.size, -1, np.int64)
        group_of[assignment.cell] = assignment.group
        group = group_of[self.data.pairs.cell]
        inside = np.flatnonzero(group >= 0)
        return inside, group[inside]

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """All published texts of items."""
        return tuple(self.items.stands_for)

    @cached_property
    def published(self) -> tuple[Counts, Codes]:
        """For each item of each covered pair: the index of the pair, and its text, suppressed or unknown."""
        baskets, (pair, group) = self.data.baskets, self.pairs
        starts, codes = taken_rows(baskets.starts, baskets.codes, self.data.pairs.basket[pair])
        row = np.repeat(np.arange(len(pair)), np.diff(starts))
        _, lo, hi = self.boxes
        boxes = zip(self.mapping.lo.tolist(), self.mapping.hi.tolist(), strict=True)
        place = {(*low, *high): box for box, (low, high) in enumerate(boxes)}
        ways = [self.items.groups[place[(*low, *high)]] for low, high in zip(lo.tolist(), hi.tolist(), strict=True)]
        number = {name: code for code, name in enumerate(self.texts)} | {None: SUPPRESSED}
        keys, which = np.unique(group[row] * len(baskets.items) + codes, return_inverse=True)
        called = [
            number[ways[key // len(baskets.items)][label]] if label in ways[key // len(baskets.items)] else UNKNOWN
            for key in keys.tolist()
            for label in (baskets.items[key % len(baskets.items)],)
        ]
        return row, np.array(called, np.int32)[which.ravel()]

    @cached_property
    def fits(self) -> Flags:
        """The covered pairs without unknown items."""
        row, text = self.published
        fits = np.ones(len(self.pairs[0]), np.bool_)
        fits[row[text == UNKNOWN]] = False
        return fits

    @cached_property
    def assignment(self) -> Assignment:
        """The groups of the fitting records, admitted or not."""
        (pair, group), pairs = self.pairs, self.data.pairs
        kept = pair[self.fits]
        return Assignment.gathered(pairs.cell[kept], group[self.fits], pairs.count[kept])

    @cached_property
    def satisfied(self) -> Flags:
        """The groups that keep the promise, in their sensitive values and in every set of up to m published items."""
        wanted, (pair, group) = self.items.requirement, self.pairs
        satisfied: Flags = wanted.of_groups.admits(self.cells.histograms(self.assignment, len(self.boxes[1])))
        row, text = self.published
        kept = self.fits[row] & (text != SUPPRESSED)
        starts, codes = rows_once(row[kept], text[kept], len(pair))
        width = max(len(self.texts), 1)
        used, tagged = np.unique(np.repeat(group, np.diff(starts)) * width + codes, return_inverse=True)
        count = np.where(self.fits, self.data.pairs.count[pair], 0)
        rows = Rows(starts, tagged.ravel().astype(np.int32), count, len(used))
        for size in range(1, wanted.m + 1):
            sets, _, _ = rare_itemsets(rows, size, wanted.k)
            satisfied[used[sets[:, 0]] // width] = False
        return satisfied

    @property
    def left_out(self) -> LeftOut:
        """All misfits, by reason."""
        of_table, (pair, _), (_, text) = super().left_out, self.pairs, self.published
        unknown = int(self.data.pairs.count[pair[~self.fits]].sum())
        by_column = of_table.unknown_by_column
        if unknown:
            codes = taken_rows(self.data.baskets.starts, self.data.baskets.codes, self.data.pairs.basket[pair])[1]
            example = self.data.baskets.items[int(codes[text == UNKNOWN][0])]
            by_column += (UnknownValues(self.data.column, unknown, example),)
        wanted, unknown = str(self.items.requirement), of_table.unknown + unknown
        return replace(of_table, requirement=wanted, unknown=unknown, unknown_by_column=by_column)

    def release(self) -> Any:
        """Publish the admitted groups."""
        data, (pair, group), (_, lo, hi) = self.data, self.pairs, self.boxes
        number = np.full(len(lo), -1, np.int64)
        number[self.admitted] = distinct_rows(np.concatenate([lo, hi], axis=1)[self.admitted])[1]
        assignment = self.assignment.only(self.admitted)
        relational = generalization(data.table, assignment, lo[self.admitted], hi[self.admitted], ranges=None)
        kept = self.fits & (number[group] >= 0)
        entries = Placed(pair[kept], number[group[kept]], data.pairs.count[pair[kept]])
        rows, first = self._rows(entries)
        row, text = self.published
        part = _by_rows(row, text, np.flatnonzero(kept)[first])
        return MixedRelease(data, relational, entries, *rows, self._parts(), part, "mapping")

    def _rows(self, entries: Placed) -> tuple[tuple[Counts, Counts, Counts], Counts]:
        """Aggregate entries to rows, the distinct pairs of a group and a basket; return also an entry of each."""
        width = self.data.baskets.distinct
        keys = entries.group * width + self.data.pairs.basket[entries.pair]
        distinct, first, which = np.unique(keys, return_index=True, return_inverse=True)
        count = weighted_counts(which.ravel(), entries.count, len(distinct))
        return (distinct // width, distinct % width, count), first

    def _parts(self) -> ItemParts:
        """Return the published forms of items; each with those of its items that occur."""
        places, stands = self.data.baskets.places, self.items.stands_for
        members = [[places[item] for item in stands[name] if item in places] for name in self.texts]
        starts = np.concatenate([[0], np.cumsum([len(one) for one in members])]).astype(np.int64)
        items = np.array([code for one in members for code in sorted(one)], np.int32)
        sizes = np.array([len(stands[name]) for name in self.texts], np.int64)
        known = {item for one in (*stands.values(), *self.items.groups) for item in one}
        return ItemParts(self.texts, sizes, starts, items, len(known))


def _by_rows(row: Counts, text: Codes, wanted: Counts) -> Codes:
    """Return the texts of some rows, concatenated."""
    starts = np.searchsorted(row, np.arange(int(wanted.max(initial=-1)) + 2))
    return taken_rows(starts, text, wanted)[1]


def _apply_baskets(mapping: ItemMapping, baskets: Baskets, rest: Rest) -> RecodedFile:
    """Recode baskets; records with unknown items do not fit."""
    names = list(mapping.stands_for)
    place_of = {name: place for place, name in enumerate(names)} | {None: SUPPRESSED}
    number = {item: place_of[name] for item, name in mapping.groups[0].items()}
    known = np.array([item in number for item in baskets.items], np.bool_)
    row = np.repeat(np.arange(baskets.distinct), baskets.lengths)
    fits = np.ones(baskets.distinct, np.bool_)
    fits[row[~known[baskets.codes]]] = False
    strange = [item for item, is_known in zip(baskets.items, known.tolist(), strict=True) if not is_known]
    unknown = int(baskets.weights[~fits].sum())
    by_item = (UnknownValues("items", unknown, strange[0]),) if unknown else ()
    left_out = LeftOut(baskets.size, str(mapping.requirement), unknown, by_item)
    left_out.check(baskets.origin, rest, "" if fits.any() else "no record is left")
    kept = _without(baskets, np.flatnonzero(fits), known)
    keys = np.array([number[item] for item in kept.items], np.int64)
    parts = numbered(keys)
    _, first = np.unique(parts[parts >= 0], return_index=True)
    texts = [names[place] for place in keys[parts >= 0][first].tolist()]
    leaves = np.array([len(mapping.stands_for[name]) for name in texts], np.int64)
    recoding = Recoding(parts, tuple(texts), leaves, len(number))
    release = global_release(kept, recoding, "mapping")

    def audited(drafts: Sequence[Path], layout: str, escape: bool) -> Audit:
        original, at = _with_all_items(kept, mapping), reading_of(layout)
        legend = dict(mapping.stands_for)
        wanted = str(mapping.requirement)
        verdict = audit_baskets(drafts[0], wanted, original, None, legend, False, **at, escaped_formulas=escape)
        if why := shown_baskets(verdict.measures, mapping.requirement):
            raise InfeasibleError(f"{baskets.origin}: recoded by this mapping it {why}; make a new release")
        return verdict

    shown = [release.labels[number] for number in np.flatnonzero(release.part_supports).tolist()]
    files = [Path(file) for file in files_of(mapping.requirement)]
    source = NewData(baskets.origin, baskets.notices, lambda: baskets.digest, files)
    return RecodedFile(release, mapping, left_out, source, audited, names_as_before(shown, mapping.stands_for))


def _with_all_items(of: Baskets, mapping: ItemMapping) -> Baskets:
    """Return baskets with all items of the mapping, because the promise may name an absent one."""
    return replace(of, items=(*of.items, *(item for item in mapping.groups[0] if item not in of.places)))


def _without(baskets: Baskets, rows: Any, known: Any) -> Baskets:
    """Return some of the baskets, which have no unknown item, without these items and without a tree."""
    starts, codes = taken_rows(baskets.starts, baskets.codes, rows)
    used = np.zeros(len(baskets.items), np.bool_)
    used[codes] = True
    place = np.cumsum(used & known) - 1
    items = tuple(item for item, is_used in zip(baskets.items, (used & known).tolist(), strict=True) if is_used)
    weights, persons = baskets.weights[rows], None if baskets.persons is None else baskets.persons.some(rows)
    at = (baskets.origin, baskets.notices, persons)
    return Baskets(items, starts, place[codes].astype(np.int32), weights, None, *at)
