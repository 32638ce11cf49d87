"""Publishing a point of a map of a table with items: file and certificate, all or nothing, audited as written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from sfumato.auditing._legend import read_legend
from sfumato.auditing.mixed import MixedAudit, audit_mixed
from sfumato.data.dataset import MixedTable
from sfumato.data.item_reading import with_items_of_file
from sfumato.data.mixed_declaration import DataDeclaration
from sfumato.data.reading import Table
from sfumato.errors import BadInputError
from sfumato.measures.groups import measure
from sfumato.measures.items.losses import ItemLosses
from sfumato.measures.items.mixed_scales import MixedScales, known_within_groups
from sfumato.publish._item_publication import LeavingItems
from sfumato.publish._mixed_cautions import mixed_cautions
from sfumato.publish._mixed_certificate import (
    confirmed_alone,
    mixed_certificate,
    mixed_in_plain_words,
    public_mixed_certificate,
)
from sfumato.publish._mixed_mapping import mixed_mapping
from sfumato.publish._written_file import written_formulas
from sfumato.publish.certificate import Origin
from sfumato.publish.plain_language import PlainWords
from sfumato.publish.publishable import check_confirmed, check_unchanged
from sfumato.release.items import MixedRelease
from sfumato.release.legend import Names
from sfumato.release.mixed_writing import mixed_names, published_sheet, write_drafts
from sfumato.release.writing import format_of
from sfumato.report.data_summary import mixed_meanings
from sfumato.requirements.items import MixedRequirement
from sfumato.runtime.cancellation import step
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.question.recipients import check_shown
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.study import Study


def leaving_mixed(
    study: Study,
    map_: Map,
    point: Point,
    folder: Path,
    path: Path,
    origin: Origin,
    layout: str,
    escape_formulas: bool = False,
    legend: str = "auto",
) -> LeavingMixed:
    """Make the release of a point anew, ready to be published."""
    if layout != "rows":
        raise BadInputError(f"a table with items is written row by row; leave out --layout {layout}")
    candidate = point.candidate
    data = study.data.open()
    check_unchanged(map_, folder, data.origin, data.digest)
    step("make")
    release = candidate.make(data)
    check_shown(release.relational, point.id)
    origin = replace(origin, table=data.origin)
    return LeavingMixed(release, candidate, study, path, origin, layout, escape_formulas, legend)


@dataclass(frozen=True)
class LeavingMixed(LeavingItems):
    """A release of a table with items on its way out."""

    template: ClassVar[str] = "certificate-mixed.html"
    use_of_mapping: ClassVar[str] = (
        "To recode new data: sfumato apply {} NEW.csv --to FILE (keep the mapping to yourself)"
    )

    release: MixedRelease
    candidate: Candidate
    study: Study

    @cached_property
    def names(self) -> Names:
        """What the file calls what is published."""
        return mixed_names(self.release, self.legend)

    @property
    def read(self) -> Sequence[Path]:
        """The files of the table and of its items."""
        return self.study.data.files

    @cached_property
    def scales(self) -> MixedScales:
        """The scales of its certificate: an attacker knows as many items as the promise speaks of."""
        return replace(self.study.scales, known=self.candidate.requirement.m)  # type: ignore[no-any-return]

    def mapping(self) -> str:
        """Write how values and the items of every group were recoded."""
        return mixed_mapping(self.release, self.candidate.requirement, self.study.data.beside, self.names)

    def write(self, drafts: Sequence[Path]) -> Mapping[str, int]:
        """Write every record with what is published of its items."""
        write_drafts(published_sheet(self.release, self.names), self.names, drafts, self.path, self.escape_formulas)
        return written_formulas(list(drafts[:1]), self.escape_formulas)

    def verify(self, drafts: Sequence[Path]) -> MixedAudit:
        """Audit the draft with the table and its items at hand, by the legend that was written."""
        return audited(self.release, self.candidate, self.study.data, drafts, self.escape_formulas)

    def certificates(self, drafts: Sequence[Path], verdict: MixedAudit) -> tuple[dict[str, Any], dict[str, Any]]:
        """Make the publisher's certificate and the public one, which comes first and sees nothing but the file."""
        release, candidate = self.release, self.candidate
        meanings, warnings = mixed_meanings(self.scales), mixed_cautions(release, candidate)
        alone = audit_of(release, candidate.requirement, drafts, self.escape_formulas)
        files, entries = self.files_written(drafts), len(self.names.legend)
        promised = replace(candidate, requirement=self.promised(alone))
        outside = public_mixed_certificate(promised, release, files, entries, alone, warnings, meanings)
        measures = self.scales.prepare(release.data).measure(release).values
        inside = mixed_certificate(outside, release, promised, self.origin, verdict, measures, warnings, meanings)
        inside["for_your_eyes"]["required"] = str(candidate.requirement)
        return inside, outside

    def in_plain_words(self, outside: Mapping[str, Any]) -> PlainWords:
        """Say it of a table with items."""
        return mixed_in_plain_words(outside)

    def settings(self, verdict: MixedAudit) -> Mapping[str, Any]:
        """Return what else was set, and the groups."""
        return {
            "items_with": str(self.candidate.item_anonymizer),
            "merging": str(self.candidate.merging),
            "sets": self.candidate.sets,
            "groups": verdict.groups,
        }

    def promised(self, verdict: MixedAudit) -> MixedRequirement:
        """Return the strongest requirement of the kind asked for that the file keeps.

        What is promised of sensitive items stays as it was required: no file shows what people have.
        """
        data, wanted = self.release.data, self.candidate.requirement
        by_sensitive = {name: own for name, own in verdict.by_sensitive.items() if name != data.column}
        return wanted.strengthen(verdict.measures, by_sensitive)  # type: ignore[no-any-return]

    @property
    def suppressed(self) -> int:
        """How many records are not published."""
        return int(self.release.data.records - self.release.records)


def audited(
    release: MixedRelease,
    candidate: Candidate,
    declared: DataDeclaration,
    drafts: Sequence[Path],
    escape_formulas: bool,
) -> MixedAudit:
    """Audit the written drafts, data and legend; refuse to publish where that fails or differs from the maker.

    What is promised of sensitive items is about what people have, which no file shows: it was proved on the groups.
    """
    wanted, source, separator = candidate.requirement, original_of(release.data, declared), declared.beside.separator
    verdict = audit_of(release, wanted, drafts, escape_formulas, source, separator=separator)
    check_confirmed(verdict, maker_numbers(release, verdict.known))
    return verdict


def audit_of(
    release: MixedRelease,
    wanted: MixedRequirement,
    drafts: Sequence[Path],
    escape_formulas: bool,
    original: Table | None = None,
    legend: Mapping[str, Sequence[str]] | None = None,
    separator: str | None = None,
) -> MixedAudit:
    """Audit written drafts by themselves, or against the original, whose items stand in one column."""
    data, roles = release.data, release.data.declared.roles
    written: dict[str, Any] = {"delimiter": ",", "encoding": "utf-8", "header": True}
    if legend is None and len(drafts) > 1:
        legend = read_legend(drafts[1])
    return audit_mixed(
        drafts[0],
        roles.quasi,
        data.column,
        str(confirmed_alone(wanted, data)),
        original,
        roles.sensitive,
        legend=legend,
        tree=data.baskets.tree if original is not None else None,
        known=wanted.m,
        local=not release.is_one_way,
        original_separator=separator,
        suppressed="keep",
        escaped_formulas=escape_formulas,
        **(written if format_of(drafts[0]) == "csv" else {}),
    )


def original_of(data: MixedTable, declared: DataDeclaration) -> Table:
    """Return the table with its items in one column, as the audit reads it."""
    items = declared.beside
    if items.source is None:
        return data.declared
    return with_items_of_file(data.declared, items.source, str(items.id), str(items.item))


def maker_numbers(release: MixedRelease, known: int) -> dict[str, float]:
    """Work out, from the release in memory, what the audit works out from the file."""
    lost = {
        name: value
        for name, value in ItemLosses().measure(release).items()
        if name in ("ncp", "occurrences_suppressed")
    }
    relational = dict(measure(release.relational).values)
    if release.data.sensitive:  # the derived attribute is not in the file
        relational = {name: relational[name] for name in ("k", "loss", "suppressed") if name in relational}
    return {**relational, **known_within_groups(release, known), **lost}
