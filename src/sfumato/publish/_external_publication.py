"""Publishing a point that was made elsewhere: its rows as they stand, with a certificate of what could be confirmed.

Texts are copied as they are, in the columns that the study publishes and no others, and in an order that tells nothing:
a file that was brought in the order of the table would say by it who is who. What is claimed is audited on the written
file; a claim that does not hold is not published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from sfumato.anonymizers.external.external import Brought, BroughtFile
from sfumato.auditing.audit import Audit, audit
from sfumato.data.reading import Table
from sfumato.engines.duckdb.write import write_table
from sfumato.engines.formulas import escape_file
from sfumato.engines.locations import input_files
from sfumato.errors import BadInputError
from sfumato.measures.groups import measure
from sfumato.publish._external_certificate import (
    NOT_BY_US,
    ForeignFile,
    foreign_cautions,
    foreign_certificate,
    foreign_in_plain_words,
    public_foreign_certificate,
)
from sfumato.publish._written_file import ReleasedColumns, delimiter_of, read_alone, written_formulas
from sfumato.publish.certificate import Origin
from sfumato.publish.plain_language import PlainWords
from sfumato.publish.publishable import AGREE, Leaving
from sfumato.release.records import RecordRelease
from sfumato.release.release import Release, counts_people
from sfumato.release.writing import GROUP, format_of
from sfumato.requirements.requirement import requirement
from sfumato.texts.format import counted, ended, listed
from sfumato.tradeoff.map import Point
from sfumato.tradeoff.question.recipients import IN_BUCKETS, check_changed, foreign_refusal

AGREED = ("k", "smallest_group", "l_distinct", "l_frequency", "t_equal", "t_js", "loss")
"""What the audit of the written file must find as we did, where it is certain who is where."""


def leaving_foreign(
    point: Point, maker: Brought, table: Table, path: Path, origin: Origin, layout: str, escape_formulas: bool
) -> LeavingForeign:
    """Bring a release to be published; raise where it may not be, or where something is asked for that it has not."""
    if layout != "rows":
        raise BadInputError(
            f"point {point.id} was made elsewhere and is published as rows; leave out --layout {layout}"
        )
    release, rows = maker.published(table)
    findings: Mapping[str, Any] = release.details["brought"]
    if why := foreign_refusal(findings):
        raise BadInputError(f"point {point.id} {why}")
    if isinstance(release, RecordRelease):
        check_changed(release, f"point {point.id}")
    on_the_map = {} if maker.draws_at_random else dict(point.measures)  # those of another draw say nothing of this
    measures = on_the_map | (dict(measure(release).values) if counts_people(release) else {})
    return LeavingForeign(release, maker, rows, path, origin, findings, measures, escape_formulas)


@dataclass(frozen=True)
class LeavingForeign(Leaving):
    """A release that was made elsewhere, on its way out."""

    template: ClassVar[str] = "certificate-foreign.html"
    only_yours: ClassVar[str] = "it tells what was found with the table at hand"

    release: Release | RecordRelease
    maker: Brought
    rows: pa.Table
    path: Path
    origin: Origin
    found: Mapping[str, Any]
    measures: Mapping[str, float]
    """For the publisher alone."""

    escape_formulas: bool = False

    @property
    def inputs(self) -> Sequence[Path]:
        """The table's file, and the one that was brought."""
        brought = self.maker.files if isinstance(self.maker, BroughtFile) else ()
        return [path for file in (self.release.table.engine.origin, *brought) for path in input_files(file)]

    @property
    def columns(self) -> ReleasedColumns:
        """The columns of the file by their roles."""
        roles, there = self.release.table.roles, self.rows.column_names
        quasi, sensitive, neutral = (
            tuple(name for name in names if name in there) for names in (roles.quasi, roles.sensitive, roles.neutral)
        )
        ordered = tuple(name for name in sensitive if self.release.table.hierarchies[name].lists_values)
        return ReleasedColumns(quasi, sensitive, neutral, ordered=ordered)

    @property
    def left_out(self) -> list[str]:
        """What stands in the file that was brought and is not published."""
        notices = [notice for notice in self.found["notices"] if notice.startswith("not looked at")]
        return [*notices, *([f"the id {self.maker.id}"] if self.maker.id else [])]

    def mapping(self) -> str:
        """Refuse: nobody here knows how values were recoded."""
        raise BadInputError("it was made elsewhere, so there is no mapping to apply to new data; leave out --mapping")

    def write(self, drafts: Sequence[Path]) -> Mapping[str, int]:
        """Write the rows, shuffled."""
        write_table(self.rows, drafts[0], format_of(self.path))
        if self.escape_formulas:
            escape_file(drafts[0])
        return written_formulas(list(drafts), self.escape_formulas)

    def verify(self, drafts: Sequence[Path]) -> Audit | None:
        """Audit the draft against the table; nothing is audited where records stand for nobody."""
        if not self.maker.people or not self.columns.quasi:
            return None
        holds = self.found.get("verdict") == "holds"
        generous = self.maker.missing == "any"
        verdict = audit(
            drafts[0],
            self.columns.quasi,
            self.columns.sensitive,
            original=self.release.table,
            group=None if self.maker.group is None else GROUP,
            require=self.maker.claim if holds else None,
            suppressed="keep",
            missing=self.maker.missing,
            delimiter=delimiter_of(self.path),
            header=True,
            escaped_formulas=self.escape_formulas,
        )
        if verdict.failures:
            raise AssertionError(f"the audit of the written file failed: {verdict.failures[0]}")
        if self.found["certain"] and not generous and self.maker.suppressed == "keep":
            self._check_agreed(verdict)
        return verdict

    def _check_agreed(self, verdict: Audit) -> None:
        """Raise where the audit of the written file differs from what we measured."""
        for name in AGREED:
            ours, theirs = self.measures.get(name), verdict.measures.get(name)
            if ours is not None and theirs is not None and not isclose(ours, theirs, rel_tol=AGREE, abs_tol=AGREE):
                raise AssertionError(f"{name} is {theirs!r} in the written file and {ours!r} by our own reading of it")

    def certificates(self, drafts: Sequence[Path], verdict: Audit | None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Make the publisher's certificate and the public one, which sees nothing but the file and what was said."""
        maker, columns = self.maker, self.columns
        alone = None
        if maker.people and columns.quasi:
            parts = () if maker.claim is None else requirement(maker.claim).parts
            applicable = tuple(part for part in parts if columns.sensitive or not part.about_sensitive)
            reading = delimiter_of(self.path)
            alone = read_alone(drafts[0], columns, maker.form, applicable, reading, self.escape_formulas)
        warnings = foreign_cautions(maker, columns)
        file = ForeignFile(maker, columns, self.path, drafts[0], self.rows.num_rows, alone)
        outside = public_foreign_certificate(file, warnings)
        inside = foreign_certificate(
            outside,
            maker,
            self.release.table,
            self.origin,
            warnings,
            self.found,
            self.measures,
            verdict,
            self.left_out,
        )
        return inside, outside

    def in_plain_words(self, outside: Mapping[str, Any]) -> PlainWords:
        """Say it of a file that was made elsewhere."""
        return foreign_in_plain_words(outside)

    def values(self, verdict: Audit | None) -> Mapping[str, Any]:
        """Return what a program reads of it."""
        return {
            "anonymizer": str(self.maker),
            "rows": self.rows.num_rows,
            "claimed": self.maker.claimed,
            "verdict": self.found.get("verdict"),
            "why": self.found.get("why"),
            "truthful": self.found["truthful"],
            "cautions": list(self.found["cautions"]),
            "measures": {} if verdict is None else dict(verdict.measures),
        }

    def lines(self, verdict: Audit | None) -> Sequence[str]:
        """Say what was copied, and what could be confirmed."""
        lines = [f"Published {self.path}: {counted(self.rows.num_rows, 'row')} of {self.maker.made_of}.", NOT_BY_US]
        if self.maker.group is not None:
            lines += [f"WARNING: {IN_BUCKETS}", "Its sensitive values were dealt out anew within every bucket."]
        if self.maker.claimed:
            lines.append(f"Claimed: {self.maker.claimed}. {verdict_words(self.found)}")
        lines += [f"WARNING: {text}" for text in self.found["cautions"]]
        if self.left_out:
            lines.append(ended(f"Left out of the file: {listed(self.left_out)}"))
        return lines


def verdict_words(findings: Mapping[str, Any]) -> str:
    """Say what became of a claim."""
    words = {"holds": "Confirmed on the file", "fails": "It does not hold", "unchecked": "It could not be checked"}
    return f"{words[findings['verdict']]}: {findings['why']}"
