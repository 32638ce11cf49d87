"""A publishable release with its settings and target, and the process that publishes it.

Each kind of release (groups of a table, a noisy draw, baskets) names its files, writes them to drafts, and verifies the
drafts. The common process does the rest: drafts next to their targets, certificates from a public and an internal
context, renaming of certificates and mapping first, data last; all or nothing.

`single_table` makes one release of a table for `anonymize`: it is made, measured, and published by the same process.
Without a certificate there is no audit; the data are still written all or nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from sfumato.anonymizers.anonymizer import Anonymizer
from sfumato.config.options import check_choice
from sfumato.data.declaration import TableDeclaration
from sfumato.data.reading import Table
from sfumato.engines import open_rows
from sfumato.engines._text_files import (
    MARK,
    check_escaping,
    escape_file,
    formula_items,
    formula_notice,
    is_formula,
    unescaped,
)
from sfumato.engines.duckdb.write import write_table
from sfumato.engines.protocol import OWN_FILE
from sfumato.measures.groups import Measured, measure
from sfumato.release.changes import column_changes, ends_of_single_records, unique_numbers
from sfumato.release.release import Release
from sfumato.release.writing import format_of
from sfumato.release.writing_items import Names, files_of, release_names, write_item_drafts
from sfumato.report.measure_sentences import ARROWS, EXACT_VALUES, Subject, changes_sentence, measure_lines, sentences
from sfumato.requirements.requirement import Requirement
from sfumato.runtime.arrays import RedactedRepr
from sfumato.runtime.cancellation import check_cancelled, step
from sfumato.runtime.staging import check_targets, staged
from sfumato.texts.catalogue import counted, t, wrapped

if TYPE_CHECKING:
    from sfumato.publish.board import Decision
    from sfumato.publish.certificate_facts import PublishedFacts
    from sfumato.tradeoff.study.candidate import Candidate

STEPS = ("read", "make", "write", "verify", "certify")
"""The steps of publishing, in order; each is reported when it begins (`process.steps`)."""


@dataclass(frozen=True)
class Origin:
    """The origin of a release: table, study and point, with digests."""

    table: str
    digest: str
    study: str = ""
    study_digest: str = ""
    point: str = ""
    study_file: str = ""
    """The file of the study that declares the table."""

    original: tuple[str, ...] = ()
    """Without a study: the options of `sfumato audit` that read the table."""


@dataclass(frozen=True)
class Publishable:
    """A release with everything that its publication needs."""

    release: Any
    candidate: Any
    path: Path
    origin: Origin
    meanings: Sequence[tuple[str, str]] = ()
    """The meanings of its map."""

    measures: Mapping[str, float] = field(default_factory=dict)
    """The measures of its map: internal."""

    inputs: Sequence[Path] = ()
    """Its input files, which no output may replace."""

    layout: str = "rows"
    escape_formulas: bool = False
    """Whether cells that a spreadsheet would run as formulas are escaped."""

    legend: str = "auto"
    declared: Any = None
    """The declaration of data with items."""

    scales: Any = None
    """The scales of items for its certificate."""

    named: Names | None = None
    """The names of published items, if they are given."""

    rows: pa.Table | None = None
    """The unchanged rows of an external release."""

    @cached_property
    def kind(self) -> str:
        """The kind: a table in groups, baskets, a table with items; or noisy, records, external."""
        return "external" if self.rows is not None else str(self.release.kind)

    @property
    def maker(self) -> Any:
        """Its maker."""
        return self.candidate.anonymizer

    @cached_property
    def measured(self) -> Measured:
        """The measures of a table in groups."""
        return measure(self.release)

    @property
    def counts_persons(self) -> bool:
        """Whether there is a person column."""
        if self.kind == "baskets":
            return self.release.persons is not None
        return self.kind == "table" and self.release.table.roles.person is not None

    @cached_property
    def names(self) -> Names:
        """The names of published items."""
        if self.named is not None:
            return self.named
        return release_names(self.release, self.legend)

    @property
    def files(self) -> Sequence[Path]:
        """The data files by their final names, mostly one; the first one names the certificates."""
        if self.kind in ("baskets", "items"):
            return files_of(self.path, self.names)
        return (self.path,)

    def write(self, drafts: Sequence[Path]) -> Mapping[str, int]:
        """Write the data, shuffled; return by column the number of cells that a spreadsheet would run."""
        release, escaped, format = self.release, self.escape_formulas, format_of(self.path)
        if self.kind in ("baskets", "items"):
            rows = write_item_drafts(release, self.names, drafts, self.path, self.layout, escaped)
            if self.kind == "items":
                return written_formulas(list(drafts[:1]), escaped)
            return formula_items(rows, escaped) if format == "csv" else {}
        if self.rows is None:
            release.write_draft(drafts[0], format, escaped)
        else:
            write_table(self.rows, drafts[0], format)
            if escaped:
                escape_file(drafts[0])
        return written_formulas(list(drafts), escaped)

    def verify(self, drafts: Sequence[Path]) -> Any:
        """Verify the drafts by code that is independent of the maker; raise AssertionError if that fails."""
        from sfumato.publish._written_file import VERIFY  # it imports the audit

        return VERIFY[self.kind](self, drafts)

    @cached_property
    def shown(self) -> PublishedFacts:
        """The facts that its file shows."""
        from sfumato.publish.certificate_facts import PublishedFacts, shown_by

        if self.rows is not None:
            return PublishedFacts("external", people=self.maker.people, rows=self.rows.num_rows)
        return shown_by(self.release, self.maker, bool(getattr(self.scales, "sensitive", ())))

    def legend_lines(self) -> list[str]:
        """Explain the legend, if there is one."""
        entries = len(self.names.legend)
        stand = "1 published item" if entries == 1 else f"{entries:,} published items"
        return [f"The legend of {stand}: {file} (part of the release: share it, too)" for file in self.files[1:]]

    def end_lines(self) -> list[str]:
        """Warn of ranges that end at the value of a single record."""
        ranges = self.maker.ranges_of(self.release.table)
        return [f"WARNING: {found}." for found in ends_of_single_records(self.release, ranges)]


@dataclass(frozen=True, repr=False)
class Publication(RedactedRepr):
    """The result of a publication."""

    public_fields: ClassVar[tuple[str, ...]] = ("audit", "files")

    published: Publishable
    audit: Any
    """The verification of the written file; for a noisy one it does not prove the promise."""

    files: tuple[Path, ...]
    """Data first, then the certificates, the board's page, the mapping."""

    notices: tuple[str, ...] = ()
    """Sentences for readers of the file."""

    mapping: Path | None = None

    @property
    def release(self) -> Any:
        """The published release."""
        return self.published.release

    def values(self) -> dict[str, Any]:
        """Return the values of the JSON output."""
        from sfumato.publish.pipeline import published_values

        return {**published_values(self.published, self.audit), "files": [str(file) for file in self.files]}

    def lines(self) -> list[str]:
        """Return the printed lines about the publication, with the recipients of each file."""
        from sfumato.publish.pipeline import published_lines

        lines = [*published_lines(self.published, self.audit), "", *self.lines_of_files()]
        return lines if self.mapping is None else [*lines, t("release.mapping", file=self.mapping, **self._new_data())]

    def lines_of_files(self) -> list[str]:
        """Return lines about the recipients of each certificate."""
        data, kind = self.files[0], self.published.kind
        told = [t("release.yours", data=data, tells=t(f"release.yours_{kind}")), t("release.public", data=data)]
        if (board := board_file(data)) in self.files:
            told.insert(1, t("release.board", board=board))
        return told

    def _new_data(self) -> dict[str, str]:
        baskets = self.published.kind == "baskets"
        return {"what": "baskets", "new": "NEW.txt"} if baskets else {"what": "data", "new": "NEW.csv"}


def publish(
    published: Publishable,
    force: bool = False,
    mapping: str | Path | None = None,
    decision: Decision | None = None,
    certified: bool = True,
) -> Publication:
    """Write a release with its certificates and its mapping: these are renamed first, the data last.

    With a `decision` there is a board page, too. Without `certified` there is no audit either, unless persons are
    counted.
    """
    data = list(published.files)
    certificates = certificate_files(data[0]) if certified else []
    boards = [] if decision is None else [board_file(data[0])]
    mappings = {}
    if mapping is not None:
        from sfumato.publish.mapping import mapping_text

        mappings = {Path(mapping): mapping_text(published)}
    targets = [*data, *certificates, *boards, *mappings]
    left_behind = outdated_files(data[0], targets)
    check_targets([*targets, *left_behind], force, published.inputs)
    with staged(targets, private=[*certificates[:2], *boards, *mappings]) as drafts:
        written = drafts[: len(data)]
        step("write")
        cells = published.write(written)
        step("verify")
        findings = published.verify(written) if certified or published.counts_persons else None
        if decision is not None:
            decision.check(None if findings is None else findings.measures)
        step("certify")
        texts = []
        if certified:
            from sfumato.publish.certificate import certified_texts

            texts = certified_texts(published, written, findings, cells, decision)
        for draft, text in zip(drafts[len(data) :], [*texts, *mappings.values()], strict=True):
            draft.write_text(text, encoding="utf-8")
        check_cancelled()
        for file in left_behind:  # before the data are renamed, to which it does not apply
            file.unlink()
    notices = formula_notice(dict(cells), published.escape_formulas)
    return Publication(published, findings, tuple(targets), tuple(notices), next(iter(mappings), None))


def certificate_files(path: Path) -> list[Path]:
    """Return the certificates of a data file: the publisher's ones, then the public ones."""
    names = ("certificate.json", "certificate.html", "certificate-public.json", "certificate-public.html")
    return [path.with_name(f"{path.name}.{name}") for name in names]


def outdated_files(path: Path, written: Sequence[Path] = ()) -> list[Path]:
    """Return the files about an earlier data file of this name, which would not fit the new one."""
    return [file for file in (*certificate_files(path), board_file(path)) if file not in written and file.exists()]


def board_file(path: Path) -> Path:
    """Return the board page of a data file."""
    return path.with_name(f"{path.name}.board.html")


def written_formulas(drafts: list[Path], escape: bool) -> dict[str, int]:
    """Count the formulas in each column of the drafts that has any, including its name.

    `escape` is whether they were escaped. A spreadsheet does not run Parquet.
    """
    cells: dict[str, int] = {}
    for draft in drafts:
        if format_of(draft) == "csv":
            rows = open_rows(draft, replace(OWN_FILE, as_it_stands=True))
            for name in rows.columns:
                texts = rows.distinct(name)
                pairs = zip(texts.values, texts.counts.tolist(), strict=True)
                number = sum(count for text, count in pairs if text is not None and _runs(text, escape))
                if number + _runs(name, escape):
                    cells[unescaped(name) if escape else name] = number + _runs(name, escape)
    return cells


def _runs(text: str, escape: bool) -> bool:
    """Return whether a spreadsheet would run a cell without its escape mark."""
    return text[:1] == MARK and is_formula(text.lstrip(MARK)) if escape else is_formula(text)


# -- one release in one line -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """The target of a release, and how it is written."""

    path: Path
    layout: str = "rows"
    escape_formulas: bool = False
    force: bool = False
    legend: str = "auto"
    """For baskets: whether sets of items are named in a legend next to the file."""

    certificate: bool = True
    """Whether the written file is audited and certified."""

    inputs: Sequence[Path] = ()
    """Input files, which are never replaced."""

    study: str = ""
    """The study that declares the data, if there is one."""

    def check(self) -> None:
        """Raise if the files cannot be written, before anything is read."""
        check_escaping(self.escape_formulas, self.path, format_of(self.path))
        check_targets([self.path, *certificate_files(self.path)], self.force, self.inputs)

    @property
    def how(self) -> dict[str, Any]:
        """How a release is written to it."""
        names = ("layout", "escape_formulas", "legend", "inputs")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, repr=False)
class Single(RedactedRepr):
    """A written release."""

    files: Sequence[Path]
    notices: Sequence[str]
    values: Mapping[str, Any]
    """The values of the JSON output."""

    lines: Sequence[str]
    """The printed lines."""


@dataclass
class Clock:
    """Seconds by step."""

    last: float = field(default_factory=time.perf_counter)
    steps: dict[str, float] = field(default_factory=dict)

    def end(self, step: str) -> None:
        """Note the duration of a step."""
        now = time.perf_counter()
        self.steps[step], self.last = now - self.last, now

    def values(self) -> dict[str, Any]:
        """Return the total, and the seconds by step."""
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
    """Publish a release, or write its data only, and return the output."""
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
    """Make a release of a table and write it: in groups, drawn with noise, perturbed or synthetic."""
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
    """Return the values of the JSON output of a table in groups."""
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
    """Return the strongest requirement of the requested kinds that the groups satisfy; for persons, the required."""
    if release.table.roles.person is not None:
        return wanted.by_persons
    return wanted.strengthen(measured.values, measured.by_sensitive)


PRINTED = ("k", "prosecutor", "l_frequency", "p_loss", "a_acc", "loss", "suppressed")
"""The measures that are printed: who can be found, what can be learned, and what is lost."""


def table_lines(own: Publishable, files: Sequence[Path]) -> list[str]:
    """Return the printed lines about the file and its measures."""
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
    searched = release.details.get("persons_in_engine")
    lines += [*([wrapped(searched).lstrip()] if searched else []), *own.maker.account(release), *own.end_lines()]
    lines += left_out_lines(release.suppressed, release.table.dropped)
    if release.suppressed and release.group_persons is not None:
        lines.append(t("release.persons_left_out", **release.group_persons.suppressed))
    done = changes_sentence(column_changes(release), release.suppressed, release.cells.records)
    lines.append(wrapped(f"What was done: {done}").lstrip())
    lines += [wrapped(f"WARNING: {text}.").lstrip() for text in _single_values(release)]
    several = ", of the worst sensitive attribute where there are several" if len(measured.by_sensitive) > 1 else ""
    subject = Subject(tuple(measured.by_sensitive), records=release.cells.records, unit=release.table.roles.unit)
    shown = {name: measured.values[name] for name in PRINTED if name in measured.values}
    said = sentences(measured.values, subject, measured.by_sensitive)
    more = t("release.more_measures", measures=len(measured.values) - len(shown))
    return [*lines, "", f"Measured{several} {ARROWS}:", *measure_lines(shown, said), more]


def left_out_lines(suppressed: int, dropped: int) -> list[str]:
    """Return lines about records that are not in the file."""
    lines = [f"Left out (suppressed): {counted(suppressed, 'record')}."] if suppressed else []
    return [*lines, *([f"Dropped because a value is missing: {counted(dropped, 'record')}."] if dropped else [])]


def _single_values(release: Release) -> list[str]:
    """Describe sensitive numbers that occur once, with the remedy."""
    histograms = release.histograms
    if histograms is None:
        return []
    found = {each.name: unique_numbers(each, histograms, i) for i, each in enumerate(histograms.sensitive)}
    rows = counted(release.assignment.records, "record")
    return [
        t("release.unique_number", unique=unique, rows=rows, column=name) for name, unique in found.items() if unique
    ]


def basket_layout(target: Target) -> str:
    """Return the layout of baskets; raise if the file does not support it."""
    from sfumato.release.writing_items import MODES, laid_out

    check_choice("legend", target.legend, MODES)
    return laid_out(target.layout, format_of(target.path))
