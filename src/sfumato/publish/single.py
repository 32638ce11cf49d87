"""One release in one line: made, measured and written, for tables, noisy releases and baskets alike.

Unlike a publication (`leaving`) it has no map behind it and no certificate; what is said of it is values for a program
and lines for a person.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.anonymizers import Anonymizer, Mechanism, RecordMaker
from sfumato.configuration import check_choice
from sfumato.engines.formulas import check_escaping, formula_items, formula_notice
from sfumato.measures import Measured, measure
from sfumato.phrases import counted, wrapped
from sfumato.publish.baskets.leaving_items import legend_line
from sfumato.publish.cautions import unique_numbers
from sfumato.publish.formulas import written_formulas
from sfumato.publish.leaving import check_confirmed
from sfumato.publish.noisy.publication import drawn_lines, drawn_values
from sfumato.publish.records.publication import record_lines, record_values
from sfumato.publish.written_table import audit_written
from sfumato.quiet import Quiet
from sfumato.release import Form, Release, check_targets, format_of, write_release
from sfumato.release.changes import column_changes, ends_of_single_records
from sfumato.release.written_records import WrittenRecords
from sfumato.requirements import KAnonymity, Requirement
from sfumato.table import Table
from sfumato.tradeoff.choice.exposure import check_changed
from sfumato.tradeoff.exploration._item_details import item_changes
from sfumato.transactions import anonymize_baskets
from sfumato.transactions.anonymizers.anonymizer import BasketAnonymizer
from sfumato.transactions.files.declaration import BasketsDeclaration
from sfumato.transactions.files.legend import MODES, release_names
from sfumato.transactions.files.writing import files_of, laid_out, published_rows, write_baskets
from sfumato.transactions.measures.queries import fitting_queries
from sfumato.transactions.measures.scales import BasketScales, measure_baskets, protected_risk
from sfumato.transactions.policy import BasketRequirement, KMAnonymity, known_in_words
from sfumato.words.columns import changes_sentence
from sfumato.words.points import ARROWS, EXACT_VALUES, measure_lines
from sfumato.words.sentences import Subject, sentences


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

    def check(self, inputs: Sequence[Path]) -> None:
        """Raise where the files cannot be written, before anything is read."""
        check_escaping(self.escape_formulas, self.path, format_of(self.path))
        check_targets([self.path, *([] if self.lattice is None else [self.lattice])], self.force, inputs)


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


def single_release(
    table: Table, maker: Anonymizer, wanted: Requirement, form: Form, suppress: float, target: Target, clock: Clock
) -> Single:
    """Make a release of a table in groups, measure it and write it."""
    release = maker.anonymize(table, wanted, form, suppress)
    measured = measure(release)
    clock.end("anonymize")
    beside = {} if target.lattice is None else {target.lattice: maker.lattice(table, wanted, suppress).to_text()}
    escaped = target.escape_formulas
    path, layout, force = target.path, target.layout, target.force

    def verify(drafts: list[Path]) -> None:
        if table.roles.person is not None:
            check_confirmed(audit_written(release, wanted, drafts, escaped), measured.values)

    files = write_release(
        release,
        path,
        layout,  # type: ignore[arg-type]
        force,
        format_of(path),
        beside,
        escaped,
        verify,
    )
    clock.end("write")
    written = [path for path in files if path not in beside]
    notices = [*table.notices, *table.household_notices()]
    notices += formula_notice(written_formulas(written, escaped), escaped)
    values = {
        "table": table.engine.origin,
        "records": table.cells.records,
        "dropped": table.dropped,
        "anonymizer": str(maker),
        "requirement": str(wanted),
        "promise": str(_promise(release, wanted, measured)),
        "form": form,
        "groups": release.groups,
        "changes": column_changes(release),
        "loss": measured.values["loss"],
        "suppressed": release.suppressed,
        **release.details,
        "measures": dict(measured.values),
        "by_sensitive": {name: dict(values) for name, values in measured.by_sensitive.items()},
        "files": [str(file) for file in files],
        "same_in_households": table.shared_names,
        "counted": table.roles.unit,
        "weights": dict(table.roles.weights),
        "notices": notices,
        **clock.values(),
    }
    return Single(files, notices, values, release_lines(release, maker, wanted, measured, files))


def _promise(release: Release, wanted: Requirement, measured: Measured) -> Requirement:
    """Return the strongest requirement of the kinds asked for that the groups keep; of persons, what was required."""
    if release.table.roles.person is not None:
        return wanted.by_persons
    return wanted.strengthen(measured.values, measured.by_sensitive)


def release_lines(
    release: Release, maker: Anonymizer, wanted: Requirement, measured: Measured, files: Sequence[Path]
) -> list[str]:
    """Say in words what was written and what it achieves."""
    rows, groups = counted(release.assignment.records, "record"), counted(release.groups, "group")
    promised = _promise(release, wanted, measured)
    required = "" if promised == wanted else f" (required: {wanted})"
    lines = [
        f"Wrote {' and '.join(map(str, files))}: {rows} in {groups}.",
        f"Every group satisfies: {promised}{required}",
    ]
    if release.histograms is None:
        lines.append("(No sensitive attribute is published, so what this says of sensitive values holds of itself.)")
    if release.form == "bucketization":
        lines.append(f"{EXACT_VALUES} The size of a group is a bucket size, not k-anonymity.")
    lines += maker.account(release)
    lines += [f"WARNING: {found}." for found in ends_of_single_records(release, maker.ranges_of(release.table))]
    if release.suppressed:
        lines.append(f"Left out (suppressed): {counted(release.suppressed, 'record')}.")
    if release.table.dropped:
        lines.append(f"Dropped because a value is missing: {counted(release.table.dropped, 'record')}.")
    done = changes_sentence(column_changes(release), release.suppressed, release.cells.records)
    lines.append(wrapped(f"What was done: {done}").lstrip())
    lines += [wrapped(f"WARNING: {text}.").lstrip() for text in _single_values(release)]
    several = ", of the worst sensitive attribute where there are several" if len(measured.by_sensitive) > 1 else ""
    sentences_by_measure = sentences(
        measured.values,
        Subject(tuple(measured.by_sensitive), records=release.cells.records, unit=release.table.roles.unit),
        measured.by_sensitive,
    )
    return [*lines, "", f"Measured{several} {ARROWS}:", *measure_lines(measured.values, sentences_by_measure)]


def _single_values(release: Release) -> list[str]:
    """Say of which sensitive numbers many records have one that no other has, and how they are made coarser."""
    histograms = release.histograms
    if histograms is None:
        return []
    found = {each.name: unique_numbers(each, histograms, i) for i, each in enumerate(histograms.sensitive)}
    rows = counted(release.assignment.records, "record")
    return [
        f"{unique:,} of {rows} have a number of {name} that no other record has, published as it is: whoever knows "
        f"it finds the record. A hierarchy makes it coarser: `sfumato init` drafts one; use that study in place of "
        "the table, or give it as --hierarchies"
        for name, unique in found.items()
        if unique
    ]


def single_records(table: Table, maker: RecordMaker, wanted: Requirement, target: Target, clock: Clock) -> Single:
    """Make records in place of a table's records and write them."""
    release = maker.anonymize(table, wanted)
    check_changed(release, str(maker))
    clock.end("anonymize")
    written, formulas = _written(release, target)
    clock.end("write")
    values = record_values(release, maker) | {"files": written, **clock.values()}
    return Single(
        [target.path], [*formulas, *table.notices], values, record_lines(release, maker, target.path, audited=False)
    )


def _written(release: WrittenRecords, target: Target) -> tuple[list[str], list[str]]:
    """Write records of a release's own; return the files and what is to be noticed of them."""
    escaped = target.escape_formulas
    if format_of(target.path) == "csv":
        release.to_csv(target.path, target.force, escaped)
    else:
        release.to_parquet(target.path, target.force)
    return [str(target.path)], formula_notice(written_formulas([target.path], escaped), escaped)


def single_draw(table: Table, maker: Mechanism, target: Target, clock: Clock) -> Single:
    """Draw a noisy release of a table and write records drawn from it."""
    maker.check(table, KAnonymity(1), "generalization", 0.0)
    release = maker.draw(table)
    written, formulas = _written(release, target)
    clock.end("draw_and_write")
    values = drawn_values(release, maker) | {"files": written, **clock.values()}
    lines = drawn_lines(release, maker, target.path)
    return Single([target.path], [*formulas, *values["notices"]], values, lines)


def single_baskets(
    declared: BasketsDeclaration,
    maker: BasketAnonymizer,
    wanted: BasketRequirement,
    utility: str | None,
    limit: str | None,
    target: Target,
    clock: Clock,
) -> Single:
    """Make a release of baskets, write it and then measure it: whoever stops the measuring has the file."""
    layout, format, escaped = basket_layout(target), format_of(target.path), target.escape_formulas
    baskets = declared.open()
    release = anonymize_baskets(baskets, wanted, maker, utility, limit)
    known = wanted.m if isinstance(wanted, KMAnonymity) else BasketScales().known
    names = release_names(release, target.legend)
    files = files_of(target.path, names)
    write_baskets(release, target.path, layout, target.force, escaped, target.legend)
    measured = measure_baskets(release, BasketScales(known=known, queries=fitting_queries(baskets)))
    measures = protected_risk(release, wanted) | dict(measured.values)
    clock.end("all")
    cells = formula_items(published_rows(release, names), escaped) if format == "csv" else {}
    notices = [*baskets.notices, *formula_notice(cells, escaped)]
    values = {
        "baskets": baskets.origin,
        "records": baskets.size,
        "anonymizer": str(maker),
        "requirement": str(wanted),
        "changes": {"items": item_changes(release)},
        "published_items": len(release.labels),
        "suppressed": len(release.suppressed),
        "measures": measures,
        "files": [str(file) for file in files],
        "notices": notices,
        "seconds": clock.values()["seconds"],
    }
    subject = Subject(records=baskets.size, known=f"{known_in_words(known)} of", below=BasketScales().linking.below)
    rows, items = counted(baskets.size, "record"), counted(len(baskets.items), "item")
    lines = [
        f"Wrote {target.path}: {rows}, {items} published as {len(release.labels):,}, by {maker.in_words()}.",
        f"In it {wanted.strengthen(measures).rule_in_words()}.",
        *(legend_line(file, len(names.legend)) for file in files[1:]),
        f"What was done: {changes_sentence({'items': item_changes(release)})}",
        "",
        f"Measured {ARROWS}:",
        *measure_lines(measures, sentences(measures, subject)),
    ]
    return Single(files, notices, values, lines)


def basket_layout(target: Target) -> str:
    """Return how baskets are laid out; raises where the file cannot hold that."""
    check_choice("legend", target.legend, MODES)
    return laid_out(target.layout, format_of(target.path))
