"""Publishing a point whose records stand in place of the table's: made afresh, written, read back, certified.

What is drawn at random is drawn anew, unless the settings have a seed. What its maker promises of groups is audited on
the written file by code that shares nothing with the maker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from sfumato.anonymizers.perturbation.record_anonymizer import RecordMaker
from sfumato.auditing.audit import audit
from sfumato.engines import open_rows
from sfumato.engines.protocol import OWN_FILE
from sfumato.errors import BadInputError
from sfumato.publish._noisy_cautions import columns_left_out
from sfumato.publish._record_cautions import record_cautions
from sfumato.publish._record_certificate import public_record_certificate, record_certificate
from sfumato.publish._written_file import FileAlone, ReleasedColumns, delimiter_of, read_alone, written_formulas
from sfumato.publish.certificate import Origin
from sfumato.publish.plain_language import PlainWords, records_in_plain_words
from sfumato.publish.publishable import Leaving
from sfumato.release.records import RecordRelease, unchanged_values
from sfumato.release.writing import format_of, inputs_of
from sfumato.texts.format import counted, wrapped
from sfumato.tradeoff.study.candidate import Candidate


def check_record_request(maker: RecordMaker, id: str, layout: str, mapping: str | Path | None) -> None:
    """Raise where something is asked for that records in place of records do not have."""
    if mapping is not None:
        raise BadInputError(
            f"point {id} ({maker.name}) publishes records in place of records: no value is recoded by a rule, so there "
            "is no mapping to apply to new data; leave out --mapping"
        )
    if layout != "rows":
        raise BadInputError(f"point {id} ({maker.name}) publishes records, which are rows; leave out --layout {layout}")


@dataclass(frozen=True)
class LeavingRecords(Leaving):
    """Perturbed or synthetic records on their way out."""

    template: ClassVar[str] = "certificate-records.html"
    only_yours: ClassVar[str] = "it tells what was found with the table at hand"

    release: RecordRelease
    candidate: Candidate
    path: Path
    origin: Origin
    measures: Mapping[str, float]
    """Those of the map, for the publisher alone."""

    escape_formulas: bool = False

    @property
    def maker(self) -> RecordMaker:
        """Who made them."""
        assert isinstance(self.candidate.anonymizer, RecordMaker)
        return self.candidate.anonymizer

    @property
    def inputs(self) -> Sequence[Path]:
        """The table's file."""
        return inputs_of(self.release)

    @property
    def columns(self) -> ReleasedColumns:
        """The columns of the file."""
        roles = self.release.table.roles
        return ReleasedColumns(roles.quasi, roles.sensitive if self.release.shows_sensitive else (), ())

    def mapping(self) -> str:
        """Refuse: no value is recoded by a rule."""
        raise BadInputError(f"{self.maker.name} recodes no value by a rule, so there is no mapping")

    def write(self, drafts: Sequence[Path]) -> Mapping[str, int]:
        """Write the records."""
        self.release.write_draft(drafts[0], format_of(self.path), self.escape_formulas)
        return written_formulas(list(drafts), self.escape_formulas)

    def verify(self, drafts: Sequence[Path]) -> FileAlone:
        """Read the file back: just the records that were made, and what is promised of them holds."""
        check_records(self.release, drafts[0], self.escape_formulas)
        delimiter = delimiter_of(self.path)
        parts = self.maker.promises
        if parts:
            verdict = audit(
                drafts[0],
                self.columns.quasi,
                self.columns.sensitive,
                require=" & ".join(map(str, parts)),
                suppressed="keep",
                delimiter=delimiter,
                header=True,
                escaped_formulas=self.escape_formulas,
            )
            if verdict.failures:
                raise AssertionError(f"the audit of the written file failed: {verdict.failures[0]}")
        return read_alone(drafts[0], self.columns, self.candidate.form, parts, delimiter, self.escape_formulas)

    def certificates(self, drafts: Sequence[Path], verdict: FileAlone) -> tuple[dict[str, Any], dict[str, Any]]:
        """Make the public certificate of settings and file, and the publisher's beside it."""
        warnings = record_cautions(self.release, self.maker)
        missing = self.release.table.missing
        outside = public_record_certificate(
            self.candidate, self.columns, missing, self.path, drafts[0], verdict, warnings
        )
        inside = record_certificate(
            outside, self.release, self.candidate, self.origin, self.path, warnings, self.measures
        )
        return inside, outside

    def in_plain_words(self, outside: Mapping[str, Any]) -> PlainWords:
        """Say it of records in place of records."""
        return records_in_plain_words(outside)

    def values(self, verdict: FileAlone) -> Mapping[str, Any]:
        """Return what a program reads of it."""
        return record_values(self.release, self.maker) | {"measures": dict(self.measures)}

    def lines(self, verdict: FileAlone) -> Sequence[str]:
        """Say what was published, and what is promised of it."""
        return record_lines(self.release, self.maker, self.path, audited=True)


def check_records(release: RecordRelease, draft: Path, escape_formulas: bool = False) -> None:
    """Raise unless the written file holds just the records of the release, compared by what an engine makes of both."""
    made = open_rows(release.record_table())
    written = open_rows(draft, replace(OWN_FILE, escaped=escape_formulas))
    if sorted(written.columns) != sorted(made.columns):
        raise AssertionError(f"the written file has the columns {list(written.columns)}, not {list(made.columns)}")
    if written.digest(sorted(made.columns)) != made.digest(sorted(made.columns)):
        raise AssertionError("the written file has other records than were made")


def record_values(release: RecordRelease, maker: RecordMaker) -> dict[str, Any]:
    """Return what a program reads of records in place of records."""
    warnings = record_cautions(release, maker)
    return {
        "table": release.table.engine.origin,
        "anonymizer": str(maker),
        "promised": " & ".join(map(str, maker.promises)) or None,
        "records_written": release.records,
        "synthetic": not release.people,
        "unchanged_values": unchanged_values(release),
        "warnings": [{"about": each.about, "text": each.text, "found": each.count} for each in warnings],
        "left_out": columns_left_out(release.table),
    }


def record_lines(release: RecordRelease, maker: RecordMaker, path: Path, audited: bool) -> list[str]:
    """Say what was written and what is promised of it; `audited` says whether the written file was asked."""
    kind = "record" if release.people else "synthetic record"
    parts = maker.promises
    rules = "; ".join(part.rule_in_words("group") for part in parts)
    checked = "re-checked on the written file" if audited else "checked before it was written"
    promise = f"Promised and {checked}: {rules}." if parts else "Nothing is promised of it by proof."
    lines = [f"Wrote {path}: {counted(release.records, kind)}, made by {maker.in_words()}.", promise]
    lines += map(wrapped, maker.account(release))
    for caution in record_cautions(release, maker):
        if caution.count or caution.about == "how it was made":
            remark = f" Found here (for your eyes only): {caution.count}." if caution.count else ""
            lines.append(wrapped(f"WARNING: {caution.text}{remark}").lstrip())
    return lines
