"""Publishing: a point of a map becomes a file with its certificate, all or nothing.

The release is made anew from the point's settings, written to a draft, audited there by code that shares nothing with
the anonymizers, and only then everything gets its name: mapping and certificates first, data last. So there is never a
data file without the certificate that fits it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

from sfumato.anonymizers.anonymizer import Anonymizer
from sfumato.anonymizers.dp.mechanism import Mechanism
from sfumato.anonymizers.external.external import Brought
from sfumato.anonymizers.perturbation.record_anonymizer import RecordMaker
from sfumato.auditing.audit import Audit
from sfumato.auditing.question import STUDY
from sfumato.config.options import check_choice
from sfumato.engines.formulas import check_escaping
from sfumato.errors import BadInputError
from sfumato.measures.groups import measure
from sfumato.publish._basket_publication import leaving_baskets
from sfumato.publish._external_publication import leaving_foreign
from sfumato.publish._mixed_publication import leaving_mixed
from sfumato.publish._noisy_publication import LeavingDraw, check_noisy_request
from sfumato.publish._record_publication import LeavingRecords, check_record_request
from sfumato.publish._written_file import (
    ReleasedColumns,
    audit_written,
    delimiter_of,
    parts_on_the_file,
    read_alone,
    source_of,
    written_formulas,
)
from sfumato.publish.audit_report import neutral_line
from sfumato.publish.board import Decision, board_file, recipient_named
from sfumato.publish.cautions import cautions
from sfumato.publish.certificate import Origin, certificate, certificate_files, public_certificate, public_meanings
from sfumato.publish.mapping import mapping_of
from sfumato.publish.plain_language import PlainWords, table_in_plain_words
from sfumato.publish.publishable import Leaving, Publication, check_confirmed, check_unchanged, publish
from sfumato.release.changes import ends_of_single_records
from sfumato.release.content import NoisyRelease
from sfumato.release.legend import MODES
from sfumato.release.records import RecordRelease
from sfumato.release.release import Release
from sfumato.release.writing import RowLayout, format_of, inputs_of, release_files, write_drafts
from sfumato.report.data_summary import meanings as meanings_of
from sfumato.requirements.requirement import with_stronger_parts
from sfumato.runtime.cancellation import step
from sfumato.runtime.staging import check_targets
from sfumato.texts.format import counted
from sfumato.tradeoff.exploration.explore import made
from sfumato.tradeoff.exploration.folder import map_files, read_map
from sfumato.tradeoff.map import Map
from sfumato.tradeoff.question.recipients import check_published
from sfumato.tradeoff.study.candidate import Candidate, files_of
from sfumato.tradeoff.study.study import of_table

EXACT_RECORDS = (
    "WARNING: every record of this file is published as it is, sensitive values beside exact quasi-identifiers:\n"
    "what is required holds of the table itself."
)


def publish_point(
    folder: str | Path,
    id: str,
    to: str | Path,
    layout: RowLayout = "rows",
    force: bool = False,
    mapping: str | Path | None = None,
    escape_formulas: bool = False,
    recipient: str | None = None,
    legend: str = "auto",
) -> Publication:
    """Publish a point of the map in a folder; a noisy one is drawn afresh.

    `escape_formulas` writes cells that a spreadsheet would run as formulas with `'` in front. Where a `recipient` is
    named (public, partner, internal), a point that is beyond its bounds is refused. Of baskets, `legend` says whether
    sets of items are named in a legend: `auto`, `always` or `never`.
    """
    folder, path = Path(folder), Path(to)
    check_escaping(escape_formulas, path, format_of(path))
    map_ = read_map(folder)
    point, declared = map_[id], str(folder / STUDY)
    check_published(point)
    decision = Decision(map_, point, recipient_named(recipient))
    decision.check()
    study = sha256(Path(declared).read_bytes()).hexdigest()
    origin = Origin("", str(map_.about.get("digest")), map_.study.name, study, id, declared)
    others = [board_file(path), *([] if mapping is None else [Path(mapping)])]
    step("read")
    check_choice("legend", legend, MODES)
    inputs = [*map_.study.data.files, *map(Path, files_of(point.candidate)), *map_files(folder)]
    check_targets([path, *certificate_files(path), *others], force, inputs)
    if map_.study.data.items is not None:
        from_map = (map_, point, folder, path, origin, layout, escape_formulas, legend)
        items: Leaving = (
            leaving_baskets(map_.study, *from_map)
            if map_.study.data.table is None
            else leaving_mixed(map_.study, *from_map)
        )
        return publish(items, force, mapping, decision)
    if legend != "auto":
        raise BadInputError("a legend is about sets of items, and this map is of a table; leave out --legend")
    candidate = point.candidate
    assert isinstance(candidate, Candidate)
    maker = candidate.anonymizer
    if isinstance(maker, Mechanism):
        check_noisy_request(maker, id, layout, mapping)
    elif isinstance(maker, RecordMaker):
        check_record_request(maker, id, layout, mapping)
    explored = of_table(map_.study)
    table = explored.table.open()
    check_unchanged(map_, folder, table.engine.origin, explored.digest_of(table))
    origin = replace(origin, table=table.engine.origin)
    if isinstance(maker, Brought):
        brought = leaving_foreign(point, maker, table, path, origin, layout, escape_formulas)
        return publish(brought, force, mapping, decision)
    step("make")
    release = made(point, table)
    if isinstance(maker, Mechanism):
        assert isinstance(release, NoisyRelease | RecordRelease)
        leaving: Leaving = LeavingDraw(release, maker, path, origin, point.measures, escape_formulas)
    elif isinstance(release, RecordRelease):
        leaving = LeavingRecords(release, candidate, path, origin, point.measures, escape_formulas)
    else:
        assert isinstance(release, Release)
        meanings = meanings_of(Map(map_.study, (point,), map_.about))
        leaving = LeavingTable(release, candidate, path, origin, meanings, layout, escape_formulas)
    return publish(leaving, force, mapping, decision)


@dataclass(frozen=True)
class LeavingTable(Leaving):
    """A release of a table in groups, on its way out."""

    template: ClassVar[str] = "certificate-exact.html"
    only_yours: ClassVar[str] = "it tells what was suppressed"
    use_of_mapping: ClassVar[str] = (
        "To recode new data: sfumato apply {} NEW.csv --to FILE (keep the mapping to yourself)"
    )

    release: Release
    candidate: Candidate
    path: Path
    origin: Origin
    meanings: Sequence[tuple[str, str]]
    layout: RowLayout = "rows"
    escape_formulas: bool = False

    @property
    def data(self) -> Sequence[Path]:
        """One file of rows, or Anatomy's two tables."""
        return release_files(self.release, self.path, self.layout)

    @property
    def inputs(self) -> Sequence[Path]:
        """The table's file."""
        return inputs_of(self.release)

    def mapping(self) -> str:
        """Write how the quasi-identifiers were recoded."""
        return mapping_of(self.release, self.candidate.requirement).to_text()

    def write(self, drafts: Sequence[Path]) -> Mapping[str, int]:
        """Write the rows, shuffled."""
        write_drafts(self.release, drafts, self.layout, format_of(self.path), self.escape_formulas)
        return written_formulas(list(drafts), self.escape_formulas)

    def verify(self, drafts: Sequence[Path]) -> Audit:
        """Audit the drafts with the table at hand."""
        return audited(self.release, self.candidate, list(drafts), self.escape_formulas)

    def certificates(self, drafts: Sequence[Path], verdict: Audit) -> tuple[dict[str, Any], dict[str, Any]]:
        """Make the publisher's certificate and the public one, which comes first and sees nothing but the files."""
        release, candidate = self.release, self.candidate
        files = dict(zip((target.name for target in self.data), drafts, strict=True))
        columns, parts = columns_of(release), parts_on_the_file(release, candidate.requirement)
        assert isinstance(candidate.anonymizer, Anonymizer)
        warnings = cautions(release, candidate.requirement, candidate.anonymizer)
        source, escaped = source_of(drafts, self.escape_formulas), self.escape_formulas and len(drafts) == 1
        alone = read_alone(source, columns, release.form, parts, delimiter_of(self.path), escaped, strongest=True)
        public = public_meanings(candidate, release.table.missing, self.meanings)
        promised = with_stronger_parts(candidate.requirement, alone.asked, alone.kept)
        promised = promised.by_persons if columns.unit == "persons" else promised
        outside = public_certificate(candidate, promised, columns, files, alone, warnings, public)
        asked = [str(part) for part in parts_on_the_file(release, promised)]
        for_publisher = certificate(
            outside, release, candidate, self.origin, self.path, asked, verdict, warnings, self.meanings
        )
        return for_publisher, outside

    def in_plain_words(self, outside: Mapping[str, Any]) -> PlainWords:
        """Say it of a table in groups."""
        return table_in_plain_words(outside)

    def values(self, verdict: Audit) -> Mapping[str, Any]:
        """Return what a program reads of it."""
        return {
            "requirement": str(self.candidate.requirement),
            "promise": self._promise(verdict),
            "anonymizer": str(self.candidate.anonymizer),
            "form": self.candidate.form,
            "suppressed": self.release.suppressed,
            "measures": dict(verdict.measures),
        }

    def _promise(self, verdict: Audit) -> str:
        """Write the strongest requirement of the kinds asked for that the written file keeps."""
        wanted = self.candidate.requirement
        return str(with_stronger_parts(wanted, parts_on_the_file(self.release, wanted), verdict.require))

    def lines(self, verdict: Audit) -> Sequence[str]:
        """Say how much was published, and what was re-checked."""
        rows, groups = counted(self.release.assignment.records, "record"), counted(self.release.groups, "group")
        counting = ", counting persons" if self.release.cells.persons is not None else ""
        checked = f"Re-checked on the written file{counting}: {self._promise(verdict)}"
        first = [EXACT_RECORDS] if self.release.is_exact and self.release.histograms is not None else []
        assert isinstance(self.candidate.anonymizer, Anonymizer)
        ranges = self.candidate.anonymizer.ranges_of(self.release.table)
        ends = [f"WARNING: {found}." for found in ends_of_single_records(self.release, ranges)]
        neutral = [] if verdict.with_neutral is None else [neutral_line(*verdict.with_neutral, verdict.records)]
        return [*first, f"Published {self.path}: {rows} in {groups}.", checked, *neutral, *ends]


def columns_of(release: Release) -> ReleasedColumns:
    """Return the columns of a released file; the order of sensitive values that were declared is not in it."""
    roles = release.table.roles
    sensitive = roles.sensitive if release.histograms is not None else ()
    ordered = tuple(name for name in sensitive if release.table.hierarchies[name].lists_values)
    return ReleasedColumns(roles.quasi, sensitive, roles.neutral, roles.household, ordered, roles.weights, roles.unit)


def audited(release: Release, candidate: Candidate, drafts: list[Path], escape_formulas: bool = False) -> Audit:
    """Audit the written draft; refuse to publish where it fails or differs from what the maker measured."""
    verdict = audit_written(release, candidate.requirement, drafts, escape_formulas, strongest=True)
    check_confirmed(verdict, measure(release).values)
    return verdict
