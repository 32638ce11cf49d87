"""One release in one line, for `anonymize`: made, measured, and published like a point of a map.

Without a certificate nothing is audited either: the data are written, all or nothing. What is said of the release is
values for a program and lines for a person.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.anonymizers.anonymizer import Anonymizer
from sfumato.config.options import check_choice
from sfumato.data.declaration import TableDeclaration
from sfumato.data.reading import Table
from sfumato.engines.formulas import check_escaping
from sfumato.errors import BadInputError
from sfumato.measures.groups import Measured
from sfumato.publish.publishable import Origin, Publication, Publishable, certificate_files, publish
from sfumato.release.changes import column_changes, unique_numbers
from sfumato.release.release import Release
from sfumato.release.writing import format_of, inputs_of
from sfumato.report.measure_sentences import ARROWS, EXACT_VALUES, Subject, changes_sentence, measure_lines, sentences
from sfumato.requirements.requirement import Requirement
from sfumato.runtime.arrays import Quiet
from sfumato.runtime.staging import check_targets
from sfumato.texts.catalogue import t
from sfumato.texts.format import counted, wrapped

if TYPE_CHECKING:
    from sfumato.data.dataset import MixedTable
    from sfumato.data.declaration import BasketsDeclaration, DataDeclaration
    from sfumato.tradeoff.study.candidate import Candidate


@dataclass(frozen=True)
class Target:
    """Where a release goes and how it is written."""

    path: Path
    layout: str = "rows"
    escape_formulas: bool = False
    force: bool = False
    lattice: Path | None = None
    """Also write all that a full-domain search decides between to this file."""

    legend: str = "auto"
    """Of baskets: whether sets of items are named in a legend beside the file."""

    certificate: bool = True
    """Whether the written file is audited and certified."""

    inputs: Sequence[Path] = ()
    """What is read, and so never replaced."""

    study: str = ""
    """The study that declares the data, where they are named by one."""

    def check(self) -> None:
        """Raise where the files cannot be written, before anything is read."""
        check_escaping(self.escape_formulas, self.path, format_of(self.path))
        beside = [*([] if self.lattice is None else [self.lattice]), *self._certificates]
        check_targets([self.path, *beside], self.force, self.inputs)

    @property
    def _certificates(self) -> Sequence[Path]:
        return certificate_files(self.path) if self.certificate else ()

    @property
    def how(self) -> dict[str, Any]:
        """How a release is written to it."""
        names = ("layout", "escape_formulas", "legend", "inputs")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, repr=False)
class Single(Quiet):
    """A release that was written."""

    files: Sequence[Path]
    notices: Sequence[str]
    values: Mapping[str, Any]
    """What a program reads of it."""

    lines: Sequence[str]
    """What a person does."""


@dataclass
class Clock:
    """Seconds by step."""

    last: float = field(default_factory=time.perf_counter)
    steps: dict[str, float] = field(default_factory=dict)

    def end(self, step: str) -> None:
        """Note how long a step took."""
        now = time.perf_counter()
        self.steps[step], self.last = now - self.last, now

    def values(self) -> dict[str, Any]:
        """Return all, and by step."""
        by_step = {name: round(value, 4) for name, value in self.steps.items()}
        return {"seconds": round(sum(self.steps.values()), 4), "seconds_by_step": by_step}


def written(
    own: Publishable,
    target: Target,
    clock: Clock,
    values: Mapping[str, Any],
    lines: Sequence[str],
    notices: Sequence[str] = (),
    beside: Mapping[Path, str] | None = None,
) -> Single:
    """Publish a release, or write its data alone, and say so."""
    done = publish(own, target.force, beside=beside, certified=target.certificate)
    clock.end("write")
    notices = [*notices, *done.notices]
    told = done.lines_of_files() if target.certificate else [t("release.uncertified")]
    files = [str(file) for file in done.files]
    return Single(
        done.files, notices, {**values, "notices": notices, "files": files, **clock.values()}, [*lines, "", *told]
    )


def single_table(
    table: Table, candidate: Candidate, declared: TableDeclaration, target: Target, clock: Clock
) -> Single:
    """Make a release of a table and write it: in groups, drawn with noise, or records in place of its records."""
    maker, wanted, path = candidate.anonymizer, candidate.requirement, target.path
    words: tuple[str, ...] = ()
    if target.certificate and not target.study:
        from sfumato.publish._written_file import original_words

        words = original_words(declared, path.parent)
    origin = Origin(table.engine.origin, table.digest(()), study_file=target.study, original=words)
    if not isinstance(maker, Anonymizer):
        return _own_records(table, candidate, origin, target, clock)
    release: Any = candidate.make(table)
    meanings = _meanings(table, candidate, declared) if target.certificate else ()
    own = Publishable(release, candidate, path, origin, meanings, **target.how)
    lattice = {} if target.lattice is None else {target.lattice: maker.lattice(table, wanted, candidate.suppress)}
    clock.end("anonymize")
    values = table_values(own)
    lines = table_lines(own, [*own.files, *lattice])
    notices = [*table.notices, *table.household_notices()]
    texts = {file: rows.to_text() for file, rows in lattice.items()}
    return written(own, target, clock, values, lines, notices, texts)


def _own_records(table: Table, candidate: Candidate, origin: Origin, target: Target, clock: Clock) -> Single:
    """Make records in place of a table's records, drawn with noise or not, and write them."""
    from sfumato.anonymizers.dp.mechanism import Mechanism
    from sfumato.publish._told import drawn_lines, drawn_values, record_lines, record_values
    from sfumato.tradeoff.question.recipients import check_changed

    maker, path, wanted = candidate.anonymizer, target.path, candidate.requirement
    if isinstance(maker, Mechanism):
        maker.check(table, wanted, candidate.form, 0.0)
        drawn = maker.draw(table)
        clock.end("draw")
        own = Publishable(drawn, candidate, path, origin, **target.how)
        values = drawn_values(drawn, maker)
        return written(own, target, clock, values, drawn_lines(drawn, maker, path), values["notices"])
    release = candidate.make(table)
    check_changed(release, str(maker))
    clock.end("anonymize")
    own = Publishable(release, candidate, path, origin, **target.how)
    lines = record_lines(release, maker, path, target.certificate)  # type: ignore[arg-type]
    return written(own, target, clock, record_values(release, maker), lines, table.notices)  # type: ignore[arg-type]


def publish_release(release: Any, path: Path, layout: str, force: bool, escape_formulas: bool) -> Publication:
    """Publish what `anonymize` or `draw` made of a table in Python."""
    if not release.made:
        raise BadInputError(t("release.unknown_maker"))
    check_escaping(escape_formulas, path, format_of(path))
    from sfumato.tradeoff.study.candidate import Candidate

    candidate, table, roles = Candidate(*release.made), release.table, release.table.roles
    persons = {"person": roles.person, "one_record_per_person": roles.unit == "one each"}
    declared = TableDeclaration("table", quasi=roles.quasi, **persons)
    meanings = _meanings(table, candidate, declared) if isinstance(release, Release) else ()
    how: dict[str, Any] = {"layout": layout, "escape_formulas": escape_formulas, "inputs": inputs_of(release)}
    origin = Origin(table.engine.origin, table.digest(()))
    return publish(Publishable(release, candidate, path, origin, meanings, **how), force)


def _meanings(table: Table, candidate: Candidate, declared: TableDeclaration) -> list[tuple[str, str]]:
    """Say what words mean, as on a map of this one release."""
    from sfumato.data.declaration import DataDeclaration
    from sfumato.report.data_summary import meanings as meanings_of
    from sfumato.tradeoff.map import Map
    from sfumato.tradeoff.study.grids import Grid
    from sfumato.tradeoff.study.study import Study

    grid = Grid((candidate.anonymizer,), (candidate.requirement,), (candidate.form,), (candidate.suppress,))
    study = Study("anonymize", DataDeclaration(declared), (grid,), axes=("k", "loss"))
    about = {"weights": dict(table.roles.weights), "dropped": table.dropped}
    return meanings_of(Map(study, (candidate.point(),), about))


def table_values(own: Publishable) -> dict[str, Any]:
    """Return what a program reads of a table in groups."""
    release, measured, table = own.release, own.measured, own.release.table
    return {
        "table": table.engine.origin,
        "records": table.cells.records,
        "dropped": table.dropped,
        "anonymizer": str(own.maker),
        "requirement": str(own.candidate.requirement),
        "promise": str(_promise(release, own.candidate.requirement, measured)),
        "form": release.form,
        "groups": release.groups,
        "changes": column_changes(release),
        "loss": measured.values["loss"],
        "suppressed": release.suppressed,
        **release.details,
        "measures": dict(measured.values),
        "by_sensitive": {name: dict(values) for name, values in measured.by_sensitive.items()},
        "same_in_households": table.shared_names,
        "counted": table.roles.unit,
        "weights": dict(table.roles.weights),
    }


def _promise(release: Release, wanted: Requirement, measured: Measured) -> Requirement:
    """Return the strongest requirement of the kinds asked for that the groups keep; of persons, what was required."""
    if release.table.roles.person is not None:
        return wanted.by_persons
    return wanted.strengthen(measured.values, measured.by_sensitive)


def table_lines(own: Publishable, files: Sequence[Path]) -> list[str]:
    """Say in words what was written and what it achieves."""
    release, wanted, measured = own.release, own.candidate.requirement, own.measured
    rows, groups = counted(release.assignment.records, "record"), counted(release.groups, "group")
    promised = _promise(release, wanted, measured)
    required = "" if promised == wanted else f" (required: {wanted})"
    lines = [
        f"Wrote {' and '.join(map(str, files))}: {rows} in {groups}.",
        f"Every group satisfies: {promised}{required}",
    ]
    if release.histograms is None:
        lines.append(t("release.not_published"))
    if release.form == "bucketization":
        lines.append(f"{EXACT_VALUES} The size of a group is a bucket size, not k-anonymity.")
    lines += [*own.maker.account(release), *own.end_lines()]
    lines += left_out_lines(release.suppressed, release.table.dropped)
    done = changes_sentence(column_changes(release), release.suppressed, release.cells.records)
    lines.append(wrapped(f"What was done: {done}").lstrip())
    lines += [wrapped(f"WARNING: {text}.").lstrip() for text in _single_values(release)]
    several = ", of the worst sensitive attribute where there are several" if len(measured.by_sensitive) > 1 else ""
    subject = Subject(tuple(measured.by_sensitive), records=release.cells.records, unit=release.table.roles.unit)
    said = sentences(measured.values, subject, measured.by_sensitive)
    return [*lines, "", f"Measured{several} {ARROWS}:", *measure_lines(measured.values, said)]


def left_out_lines(suppressed: int, dropped: int) -> list[str]:
    """Say how many records are not in the file."""
    lines = [f"Left out (suppressed): {counted(suppressed, 'record')}."] if suppressed else []
    return [*lines, *([f"Dropped because a value is missing: {counted(dropped, 'record')}."] if dropped else [])]


def _single_values(release: Release) -> list[str]:
    """Say of which sensitive numbers many records have one that no other has, and how they are made coarser."""
    histograms = release.histograms
    if histograms is None:
        return []
    found = {each.name: unique_numbers(each, histograms, i) for i, each in enumerate(histograms.sensitive)}
    rows = counted(release.assignment.records, "record")
    return [
        t("release.unique_number", unique=unique, rows=rows, column=name) for name, unique in found.items() if unique
    ]


def single_baskets(declared: BasketsDeclaration, candidate: Candidate, target: Target, clock: Clock) -> Single:
    """Make a release of baskets, measure it and write it."""
    from sfumato.measures.items.queries import fitting_queries
    from sfumato.measures.scales import BasketScales, measure_baskets, protected_risk
    from sfumato.publish.pipeline import certified_scales
    from sfumato.report.data_summary import basket_meanings
    from sfumato.requirements.items import KMAnonymity, known_in_words
    from sfumato.tradeoff.exploration._item_details import item_changes

    baskets, wanted, maker = declared.open(), candidate.requirement, candidate.anonymizer
    release = candidate.make(baskets)
    known = wanted.m if isinstance(wanted, KMAnonymity) else BasketScales().known
    scales = BasketScales(known=known, queries=fitting_queries(baskets))
    origin = Origin(declared.source, baskets.digest, study_file=target.study)
    certified = certified_scales(scales, candidate)
    how = target.how | {"layout": basket_layout(target), "declared": declared, "scales": certified}
    own = Publishable(release, candidate, target.path, origin, basket_meanings(certified), **how)
    measures = protected_risk(release, wanted) | dict(measure_baskets(release, scales).values)
    clock.end("anonymize")
    values = {
        "baskets": baskets.origin,
        "records": baskets.size,
        "anonymizer": str(maker),
        "requirement": str(wanted),
        "changes": item_changes(release),
        "published_items": len(release.labels),
        "suppressed": len(release.unpublished),
        "measures": measures,
    }
    subject = Subject(records=baskets.size, known=f"{known_in_words(known)} of", below=BasketScales().linking.below)
    rows, items = counted(baskets.size, "record"), counted(len(baskets.items), "item")
    lines = [
        f"Wrote {target.path}: {rows}, {items} published as {len(release.labels):,}, by {maker.in_words()}.",
        f"In it {wanted.strengthen(measures).rule_in_words()}.",
        *own.legend_lines(),
        f"What was done: {changes_sentence(item_changes(release))}",
        "",
        f"Measured {ARROWS}:",
        *measure_lines(measures, sentences(measures, subject)),
    ]
    return written(own, target, clock, values, lines, baskets.notices)


def basket_layout(target: Target) -> str:
    """Return how baskets are laid out; raises where the file cannot hold that."""
    from sfumato.release.writing_items import MODES, laid_out

    check_choice("legend", target.legend, MODES)
    return laid_out(target.layout, format_of(target.path))


def single_items(
    data: MixedTable, candidate: Candidate, declared: DataDeclaration, target: Target, clock: Clock
) -> Single:
    """Make a release of a table with items, measure it and write it."""
    from sfumato.measures.items.queries import fitting_queries
    from sfumato.measures.scales import MixedScales
    from sfumato.report.data_summary import mixed_meanings
    from sfumato.tradeoff.exploration._item_details import item_changes

    candidate.check(data)
    release, wanted = candidate.make(data), candidate.requirement
    clock.end("anonymize")
    scales = MixedScales(known=wanted.m, item_queries=fitting_queries(data.baskets))
    measured = scales.prepare(data).measure(release)
    clock.end("measure")
    origin = Origin(data.origin, data.digest, study_file=target.study)
    how = target.how | {"declared": declared, "scales": scales}
    own = Publishable(release, candidate, target.path, origin, mixed_meanings(scales), **how)
    shown = {name: found for name, found in measured.by_sensitive.items() if name != data.column}
    promised, suppressed = wanted.strengthen(measured.values, shown), data.records - release.records
    values = {
        "table": data.origin,
        "records": data.records,
        "dropped": data.table.dropped,
        "items": data.column,
        "anonymizer": str(candidate.anonymizer),
        "items_with": str(candidate.item_anonymizer),
        "merging": str(candidate.merging),
        "sets": candidate.sets,
        "requirement": str(wanted),
        "promise": str(promised),
        "groups": release.relational.groups,
        "changes": item_changes(release),
        "published_items": len(own.names.texts),
        "suppressed": suppressed,
        "measures": dict(measured.values),
    }
    rows, groups = counted(release.records, "record"), counted(release.relational.groups, "group")
    done = changes_sentence(item_changes(release), suppressed, data.records)
    lines = [
        f"Wrote {target.path}: {rows} in {groups}, with what is published of {len(data.baskets.items):,} items.",
        f"In it {promised.rule_in_words()}.",
        *left_out_lines(suppressed, data.table.dropped),
        wrapped(f"What was done: {done}").lstrip(),
        *own.legend_lines(),
        *_measured_items(data, measured),
    ]
    return written(own, target, clock, values, lines, data.notices)


def _measured_items(data: MixedTable, measured: Measured) -> Sequence[str]:
    from sfumato.measures.scales import MixedScales
    from sfumato.requirements.items import known_in_words

    subject = Subject(
        tuple(measured.by_sensitive),
        records=data.records,
        known=f"the quasi-identifiers and {known_in_words(2)} of",
        below=MixedScales().linking.below,
    )
    said = sentences(measured.values, subject, measured.by_sensitive)
    return ["", f"Measured {ARROWS}:", *measure_lines(measured.values, said)]
