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
from sfumato.measures.groups import Measured
from sfumato.publish.publication import Origin, Publishable, certificate_files, publish
from sfumato.release.changes import column_changes, unique_numbers
from sfumato.release.release import Release
from sfumato.release.writing import format_of
from sfumato.report.measure_sentences import ARROWS, EXACT_VALUES, Subject, changes_sentence, measure_lines, sentences
from sfumato.requirements.requirement import Requirement
from sfumato.runtime.arrays import Quiet
from sfumato.runtime.staging import check_targets
from sfumato.texts.catalogue import t
from sfumato.texts.format import counted, wrapped

if TYPE_CHECKING:
    from sfumato.tradeoff.study.candidate import Candidate


@dataclass(frozen=True)
class Target:
    """Where a release goes and how it is written."""

    path: Path
    layout: str = "rows"
    escape_formulas: bool = False
    force: bool = False
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
        check_targets([self.path, *certificate_files(self.path)], self.force, self.inputs)

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
) -> Single:
    """Publish a release, or write its data alone, and say so."""
    done = publish(own, target.force, certified=target.certificate)
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
    maker, path = candidate.anonymizer, target.path
    words: tuple[str, ...] = ()
    if target.certificate and not target.study:
        from sfumato.publish._written_file import original_words

        words = original_words(declared, path.parent)
    origin = Origin(table.engine.origin, table.digest(()), study_file=target.study, original=words)
    if not isinstance(maker, Anonymizer):
        from sfumato.publish.pipeline import single_records

        return single_records(table, candidate, origin, target, clock)
    release: Any = candidate.make(table)
    meanings: Sequence[tuple[str, str]] = ()
    if target.certificate:
        from sfumato.publish.pipeline import meanings_alone

        meanings = meanings_alone(table, candidate, declared)
    own = Publishable(release, candidate, path, origin, meanings, **target.how)
    clock.end("anonymize")
    values = table_values(own)
    lines = table_lines(own, own.files)
    notices = [*table.notices, *table.household_notices()]
    return written(own, target, clock, values, lines, notices)


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
        **(release.group_persons.suppressed if release.group_persons is not None else {}),
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
    if release.suppressed and release.group_persons is not None:
        lines.append(t("release.persons_left_out", **release.group_persons.suppressed))
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


def basket_layout(target: Target) -> str:
    """Return how baskets are laid out; raises where the file cannot hold that."""
    from sfumato.release.writing_items import MODES, laid_out

    check_choice("legend", target.legend, MODES)
    return laid_out(target.layout, format_of(target.path))
