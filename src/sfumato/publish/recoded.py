"""New data recoded under a mapping, on their way out: one loop for tables, baskets and tables with items.

What does not fit the mapping is counted before anything is refused, so a refusal and what `rest="drop"` leaves out have
the same numbers. Then drafts beside their targets, the audit of what was written against the new data, the line in the
ledger, the names: all of it or nothing. Whether a target may be written is asked again when the ledger is ours, for who
held it until then may have written it. What each kind does itself: write its drafts, audit them, say what they hold.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from sfumato.configuration import check_choice
from sfumato.documents import fields, read_json, text
from sfumato.engines.formulas import check_escaping, formula_notice
from sfumato.engines.places import input_files
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.phrases import counted
from sfumato.publish.ledger import Ledger, LedgerEntry, file_digest, kept_in, now
from sfumato.quiet import Quiet
from sfumato.release import check_targets, format_of, staged

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


class RecodedFile(Quiet, ABC):
    """New data recoded, and what was left out of them."""

    called: ClassVar[str] = "records"
    use_of_ledger: ClassVar[str] = "Kept in {1}, with everything that was published under this mapping."
    """What the ledger is for: `{0}` is the file, `{1}` the ledger."""

    mapping: Any
    """By which they were recoded: it has a `requirement` and a `digest`."""

    left_out: LeftOut

    @property
    def requirement(self) -> Any:
        """What is promised."""
        return self.mapping.requirement

    @property
    @abstractmethod
    def source(self) -> NewData:
        """The new data, all of them."""

    @cached_property
    def source_digest(self) -> str:
        """The digest of all new data."""
        return self.source.digest()

    @property
    def inputs(self) -> list[Path]:
        """Files that no output may replace."""
        return input_files(self.source.origin)

    def files(self, path: Path) -> list[Path]:
        """Name the files that are written, the data first."""
        return [path]

    def laid_out(self, path: Path, layout: str) -> str:
        """Say how the file is laid out; raise where it cannot be."""
        check_choice("layout", layout, ("rows",))
        return layout

    @abstractmethod
    def draft(self, drafts: Sequence[Path], path: Path, layout: str, escape: bool) -> Mapping[str, int]:
        """Write what will be called `path`; return by column how many cells a spreadsheet would run."""

    @abstractmethod
    def audited(self, drafts: Sequence[Path], layout: str, escape: bool) -> Any:
        """Audit the drafts against the new data."""

    def confirmed(self) -> list[str]:
        """Say what the audit confirmed."""
        return [f"Counted again in the file: {self.requirement}, that is: {self.requirement.rule_in_words()}."]

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
        kept = [*self.inputs, *inputs, *([] if book is None else [book])]
        how = partial(self._written, target, self.laid_out(target, layout), force, escape_formulas, kept)
        if book is None:
            return how(None)[0]
        check_targets(self.files(target), force, kept)
        written, again = kept_in(book, self.source_digest, how, self.called)
        return replace(written, notices=(*written.notices, *again), ledger=book)

    def _written(
        self, target: Path, layout: str, force: bool, escape: bool, inputs: Sequence[Path], book: Ledger | None
    ) -> tuple[Written, int]:
        """Write, audit and name the files; where there is a ledger, its line comes right before the names."""
        files, number = self.files(target), 0
        check_targets(files, force, inputs)
        with staged(files) as drafts:
            cells = self.draft(drafts, target, layout, escape)
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
            *([] if written.ledger is None else [self.use_of_ledger.format(files[0], written.ledger)]),
            *self.left_out.lines(),
        ]

    @staticmethod
    def _amounts(written: Written) -> dict[str, int]:
        """Return what there is of groups and of published items in the file."""
        names = (name for name in ("groups", "published_items") if hasattr(written.audit, name))
        return {name: getattr(written.audit, name) for name in names}
