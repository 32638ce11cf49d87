"""Checks of a written draft before it is renamed: the audit of the file alone, and the audit against the table.

A public certificate uses only the settings and the audit of the file alone, which never reads the table. So two tables
with the same published file have the same public certificate. The audit against the table shares no code with the
maker. Both depend on the kind of release.

The commands in a certificate (`public_check`, `internal_check`) follow from the origin of the release and run in the
folder of the released file. The public one asks only what the file alone can answer. The internal one names the study
that declares the original, so it includes everything that is needed to read it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isclose
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfumato.anonymizers.anonymizer import sizes_required
from sfumato.auditing.audit import Audit, audit, audit_baskets, audit_mixed
from sfumato.auditing.items import read_legend
from sfumato.auditing.published_file import Source, open_published
from sfumato.data.dataset import MixedTable
from sfumato.data.declaration import DataDeclaration, TableDeclaration
from sfumato.data.item_reading import with_items_of_file
from sfumato.data.reading import Table
from sfumato.engines import open_rows
from sfumato.engines.item_files import LONG
from sfumato.engines.protocol import OWN_FILE, Reading
from sfumato.errors import BadInputError
from sfumato.measures.groups import measure
from sfumato.measures.items.losses import ItemLosses
from sfumato.measures.scales import known_within_groups, protected_risk
from sfumato.publish.certificate_facts import Drawn, InternalContext, PublicContext, ReleasedColumns
from sfumato.release._itemsets import Rows, itemset_spread
from sfumato.release.changes import shown_in_file
from sfumato.release.content import NoisyRelease
from sfumato.release.items import BasketRelease, MixedRelease
from sfumato.release.records import RecordRelease, coded_columns
from sfumato.release.release import Release
from sfumato.release.writing import GROUP, format_of, write_named_rows
from sfumato.release.writing_items import rows_of_kinds
from sfumato.requirements.items import KMAnonymity, MixedRequirement
from sfumato.requirements.requirement import Requirement, TCloseness, requirement, with_stronger_parts
from sfumato.runtime.arrays import Counts
from sfumato.tradeoff.question.recipients import shown_baskets

if TYPE_CHECKING:
    from sfumato.publish.publication import Publishable

AGREE = 1e-9
"""The tolerance between a measure of the audit and of the maker."""

AGREED = ("k", "smallest_group", "l_distinct", "l_frequency", "t_equal", "t_js", "loss")
"""Measures on which both audits of an external file must agree, if the match of records is certain."""

MEASURED = (
    *("k", "smallest_group", "prosecutor", "marketer", "average_group", "weighted_k"),
    *("l_frequency", "l_distinct", "l_entropy", "l_recursive", "t_equal", "t_js", "delta", "beta"),
    *("p_loss", "p_loss_mean", "p_loss_median", "p_loss_95", "a_know", "a_acc", "information_gain"),
)
"""Measures that anybody can compute from a file, with its own Q."""

OF_ROWS = ("smallest_group", "average_group")
"""The measures of them that remain if persons are counted: a file alone shows rows, not persons."""

ORDERED = "t_ordered"
"""A further measure, if the order of the values is known."""


@dataclass(frozen=True)
class FileAlone:
    """The audit of a file alone."""

    records: int
    measures: Mapping[str, float]
    by_sensitive: Mapping[str, Mapping[str, float]]
    shares: Mapping[str, Mapping[str, float]]
    """Q of the file for each sensitive column, most frequent value first."""

    kept: str | None
    """The audited parts of the requirement, or the strongest satisfied form of them."""

    asked: tuple[Requirement, ...]
    """The required form of each part of `kept`."""

    confirmed: tuple[str, ...]
    """The parts of `kept` that the file confirms, with its own Q."""

    with_neutral: tuple[int, int] | None
    """For groups by quasi-identifiers and neutral columns: the smallest size, and the number of unique rows."""

    shown: Mapping[str, str]
    """A summary of the published form of each quasi-identifier."""


def read_alone(
    source: Path | pa.Table,
    columns: ReleasedColumns,
    form: str,
    parts: tuple[Requirement, ...],
    delimiter: str | None,
    escaped_formulas: bool = False,
    strongest: bool = False,
) -> FileAlone:
    """Audit a file without its original; `strongest` searches for the strongest satisfied requirement."""
    asked = tuple(part for part in parts if judged_alone(part, columns))
    file = open_published(source, Reading(delimiter=delimiter, header=True, escaped=escaped_formulas))
    verdict = audit(
        file,
        columns.quasi,
        columns.sensitive,
        group=GROUP if form == "bucketization" else None,
        require=" & ".join(map(str, asked)) or None,
        suppressed="keep",
        strongest=strongest,
    )
    failing = {failure.requirement for failure in verdict.failures}
    kept = () if verdict.require is None else requirement(verdict.require).parts
    shares = {}
    for name in columns.sensitive:
        pairs = sorted(zip(*_texts(file, name), strict=True), key=lambda pair: (-pair[1], pair[0]))
        shares[name] = {text: number / verdict.records for text, number in pairs}
    return FileAlone(
        verdict.records,
        _measures(verdict.measures, columns.sensitive, columns),
        {name: _measures(measures, (name,), columns) for name, measures in verdict.by_sensitive.items()},
        shares,
        verdict.require,
        asked,
        tuple(text for part in kept if (text := str(part)) not in failing),
        verdict.with_neutral,
        {name: shown_in_file(*_texts(file, name)) for name in columns.quasi},
    )


def _texts(file: Source, name: str) -> tuple[list[str], list[int]]:
    """Count the texts of one column."""
    counted = file.count((name,))
    column = counted.columns[name]
    return [column.texts[code] for code in column.codes], counted.counts.tolist()


def judged_alone(part: Requirement, columns: ReleasedColumns) -> bool:
    """Return whether a part can be audited without hierarchies and persons, which are not published."""
    if columns.unit == "persons":
        return False
    if not isinstance(part, TCloseness) or part.distance in ("equal", "js"):
        return True
    about = (part.on,) if part.on is not None else columns.sensitive
    return part.distance == "ordered" and all(name in columns.ordered for name in about)


def _measures(measures: Mapping[str, float], sensitive: tuple[str, ...], columns: ReleasedColumns) -> dict[str, float]:
    if columns.unit == "persons":
        return {name: value for name, value in measures.items() if name in OF_ROWS}
    allowed = (*MEASURED, ORDERED) if all(name in columns.ordered for name in sensitive) else MEASURED
    return {name: value for name, value in measures.items() if name in allowed}


def parts_on_the_file(release: Release, wanted: Requirement) -> tuple[Requirement, ...]:
    """Return the parts of a requirement that apply to the file: without sensitive values, those on sizes."""
    if release.histograms is not None:
        return wanted.parts
    return sizes_required(wanted)


def delimiter_of(path: Path) -> str | None:
    """Return the delimiter of a released file."""
    return "," if format_of(path) == "csv" else None


def audit_written(
    release: Release, wanted: Requirement, drafts: Sequence[Path], escape_formulas: bool, strongest: bool = False
) -> Audit:
    """Audit written drafts against their table; `strongest` searches for the strongest satisfied requirement."""
    roles = release.table.roles
    with TemporaryDirectory() as folder:
        named = None
        if roles.person is not None:
            path = Path(folder) / f"named{drafts[0].suffix}"
            write_named_rows(release, path)
            named = open_published(path, Reading(delimiter=delimiter_of(path), header=True))
        return audit(
            drafts[0],
            roles.quasi,
            roles.sensitive if release.histograms is not None else (),
            original=release.table,
            group=GROUP if release.form == "bucketization" else None,
            require=" & ".join(map(str, parts_on_the_file(release, wanted))) or None,
            suppressed="keep",
            household=roles.household,
            delimiter=delimiter_of(drafts[0]),
            header=True,
            escaped_formulas=escape_formulas,
            strongest=strongest,
            person=roles.person,
            named=named,
        )


# -- by kind of release ------------------------------------------------------------------------------------------------


def columns_of(release: Any, rows: pa.Table | None = None) -> ReleasedColumns:
    """Return the columns of a released file; it does not contain the declared order of sensitive values.

    `rows` are those of an external release.
    """
    if release.kind == "baskets":
        return ReleasedColumns((), (), (), unit="records" if release.persons is None else "persons")
    if release.kind == "items":
        data = release.data
        sensitive = tuple(each.name for each in data.cells.sensitive if each.name != data.column)
        return ReleasedColumns(tuple(quasi.name for quasi in data.cells.quasi), sensitive, (), items=data.column)
    roles, hierarchies = release.table.roles, release.table.hierarchies
    if rows is not None:
        by_role = (roles.quasi, roles.sensitive, roles.neutral)
        quasi, sensitive, neutral = (tuple(n for n in names if n in rows.column_names) for names in by_role)
        ordered = tuple(name for name in sensitive if hierarchies[name].lists_values)
        return ReleasedColumns(quasi, sensitive, neutral, ordered=ordered)
    sensitive = roles.sensitive if release.shows_sensitive else ()
    if release.kind != "table":
        return ReleasedColumns(roles.quasi, sensitive, ())
    ordered = tuple(name for name in sensitive if hierarchies[name].lists_values)
    return ReleasedColumns(roles.quasi, sensitive, roles.neutral, roles.household, ordered, roles.weights, roles.unit)


def alone_of(own: Publishable, drafts: Sequence[Path]) -> FileAlone | Audit | None:
    """Audit the written file alone."""
    release, wanted, escaped = own.release, own.candidate.requirement, own.escape_formulas
    if own.kind == "noisy":
        return None
    if own.kind == "baskets":
        asked, known = None if wanted.names_items or own.counts_persons else str(wanted), own.scales.known
        return audit_baskets(
            drafts[0], asked, None, known, None, False, **reading_of(own.layout), escaped_formulas=escaped
        )
    if own.kind == "items":
        return audit_of(release, wanted, drafts, escaped)
    columns = columns_of(release, own.rows)
    read = (columns, own.candidate.form)
    if own.kind == "table":
        parts = parts_on_the_file(release, wanted)
        return read_alone(drafts[0], *read, parts, delimiter_of(own.path), escaped, strongest=True)
    if own.kind == "records":
        return read_alone(drafts[0], *read, own.maker.promises, delimiter_of(own.path), escaped)
    if not own.maker.people or not columns.quasi:
        return None
    claimed = () if own.maker.claim is None else requirement(own.maker.claim).parts
    applicable = tuple(part for part in claimed if columns.sensitive or not part.about_sensitive)
    return read_alone(drafts[0], *read, applicable, delimiter_of(own.path), escaped)


def promised_by(own: Publishable, found: Any) -> Any:
    """Return the strongest requirement of the requested kinds that the audit confirms.

    Promises about sensitive items remain as required, because a file does not show who has them.
    """
    wanted = own.candidate.requirement
    if own.kind == "baskets":
        return wanted.strengthen(found.measures)
    if own.kind == "items":
        shown = {name: values for name, values in found.by_sensitive.items() if name != own.release.data.column}
        return wanted.strengthen(found.measures, shown)
    if own.kind != "table":
        return wanted
    asked = parts_on_the_file(own.release, wanted)
    if isinstance(found, FileAlone):
        promised = with_stronger_parts(wanted, found.asked, found.kept)
        return promised.by_persons if own.release.table.roles.unit == "persons" else promised
    return with_stronger_parts(wanted, asked, found.require)


def confirmed_of(own: Publishable, promised: Any, alone: Any) -> tuple[str, ...]:
    """Return the parts of a promise that the file alone confirms; with listed items an analyst needs the original."""
    if own.kind == "baskets":
        return () if promised.names_items or own.counts_persons else (str(promised),)
    if own.kind == "items":
        return tuple(map(str, confirmed_alone(promised, own.release.data).parts))
    if own.kind == "records":
        return tuple(map(str, own.maker.promises))
    return () if alone is None else tuple(alone.confirmed)


def confirmed_alone(wanted: MixedRequirement, data: MixedTable) -> MixedRequirement:
    """Return the part of a requirement that the file alone can answer; it does not show who has sensitive items."""
    only = None if data.declared.roles.sensitive else data.column
    kept = (part for part in wanted.further if not part.about_sensitive or (part.on or only) != data.column)
    return MixedRequirement(wanted.linking, tuple(kept))


# -- verification ------------------------------------------------------------------------------------------------------


def check_confirmed(verdict: Any, measured: Mapping[str, float]) -> None:
    """Refuse to publish if the audit of the draft fails or differs from the maker's measures."""
    if verdict.unconfirmed:
        raise AssertionError(verdict.unconfirmed)
    for name, value in verdict.measures.items():
        if name in measured and not isclose(value, measured[name], rel_tol=AGREE, abs_tol=AGREE):
            raise AssertionError(
                f"{name} is {value!r} in the written file and {measured[name]!r} by the maker's measure"
            )


def verify_table(own: Publishable, drafts: Sequence[Path]) -> Audit:
    """Audit the drafts against the table."""
    verdict = audit_written(own.release, own.candidate.requirement, drafts, own.escape_formulas, strongest=True)
    check_confirmed(verdict, own.measured.values)
    return verdict


def verify_baskets(own: Publishable, drafts: Sequence[Path]) -> Audit:
    """Audit the draft against the baskets, with the written legend."""
    release, wanted, read = own.release, own.candidate.requirement, reading_of(own.layout)
    legend, local = read_legend(drafts[1]) if len(drafts) > 1 else {}, not release.is_global
    verdict = audit_baskets(
        drafts[0],
        str(wanted),
        release.baskets,
        own.scales.known,
        legend,
        local,
        None if release.persons is None else rows_of_kinds(release, own.names),
        **read,
        escaped_formulas=own.escape_formulas,
    )
    check_confirmed(verdict, protected_risk(release, wanted) | numbers_of_baskets(release, verdict.known))
    if own.origin.point and not local and (why := shown_baskets(verdict.measures, wanted)):
        raise BadInputError(f"point {own.origin.point} {why}")  # independent of the point's own measures
    return verdict


def reading_of(layout: str) -> dict[str, Any]:
    """Return how to read a file of baskets with a layout: by its columns, or line by line."""
    return dict(LONG) if layout == "long" else {"lines": True}


def numbers_of_baskets(release: BasketRelease, known: int) -> dict[str, float]:
    """Compute the audit's measures from the release in memory."""
    return itemset_spread(Rows.of_persons(release), known).measures() | ItemLosses().measure(release)


def verify_items(own: Publishable, drafts: Sequence[Path]) -> Audit:
    """Audit the drafts, data and legend, against the table with its items.

    Promises about sensitive items concern the original and were proved on the groups; no file shows them.
    """
    release, declared = own.release, own.declared
    against = original_of(release.data, declared), None, declared.beside.separator
    verdict = audit_of(release, own.candidate.requirement, drafts, own.escape_formulas, *against)
    check_confirmed(verdict, numbers_of_items(release, verdict.known))
    return verdict


def audit_of(
    release: MixedRelease,
    wanted: MixedRequirement,
    drafts: Sequence[Path],
    escape_formulas: bool,
    original: Table | None = None,
    legend: Mapping[str, Sequence[str]] | None = None,
    separator: str | None = None,
) -> Audit:
    """Audit written drafts alone, or against the original with its items in one column."""
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


def numbers_of_items(release: MixedRelease, known: int) -> dict[str, float]:
    """Compute the audit's measures from the release in memory."""
    lost = {name: ItemLosses().measure(release)[name] for name in ("ncp", "occurrences_suppressed")}
    relational = dict(measure(release.relational).values)
    if release.data.sensitive:  # the derived attribute is not in the file
        relational = {name: relational[name] for name in ("k", "loss", "suppressed") if name in relational}
    return {**relational, **known_within_groups(release, known), **lost}


def check_draft(release: Drawn, draft: Path, escape_formulas: bool = False) -> None:
    """Read the written file back: it has only declared values, and the drawn number of rows for each value.

    This detects a corrupt file. It does not prove the promise, which follows from the mechanism.
    """
    written = open_rows(draft, replace(OWN_FILE, escaped=escape_formulas))
    attributes = coded_columns(release.cells)
    domains = {attribute.name: attribute.hierarchy.leaves for attribute in attributes}
    if sorted(written.columns) != sorted(domains):
        raise AssertionError(f"the written file has the columns {list(written.columns)}, not {sorted(domains)}")
    for name, leaves in domains.items():
        strange = {value or "" for value in written.distinct(name).values} - set(leaves)
        if strange:
            raise AssertionError(f"the written file has {sorted(strange)[0]!r} in {name}, which is not declared")
    for name, wanted in _drawn_counts(release).items():
        values = written.distinct(name)
        numbers = {value or "": number for value, number in zip(values.values, values.counts.tolist(), strict=True)}
        if any(numbers.get(value, 0) != number for value, number in zip(domains[name], wanted.tolist(), strict=True)):
            raise AssertionError(f"the written file has other numbers of {name} than were drawn")


def _drawn_counts(release: Drawn) -> dict[str, Counts]:
    """Count the drawn declared values of each column whose text is known before writing."""
    if isinstance(release, NoisyRelease):
        return {release.cells.sensitive[0].name: release.synthetic_counts.sum(axis=0)}
    columns = np.column_stack([release.lo, release.values])
    attributes = coded_columns(release.cells)
    return {
        attribute.name: np.bincount(columns[:, place], release.counts, attribute.hierarchy.size).astype(np.int64)
        for place, attribute in enumerate(attributes)
    }


def verify_records(own: Publishable, drafts: Sequence[Path]) -> Any:
    """Read the file back: it has exactly the made records, and the promise holds."""
    check_records(own.release, drafts[0], own.escape_formulas)
    if own.maker.promises:
        _audit_rows(own, drafts[0], require=" & ".join(map(str, own.maker.promises)))
    return alone_of(own, drafts)


def check_records(release: RecordRelease, draft: Path, escape_formulas: bool = False) -> None:
    """Raise unless the written file has exactly the records of the release, compared by an engine's digest."""
    made = open_rows(release.record_table())
    written = open_rows(draft, replace(OWN_FILE, escaped=escape_formulas))
    if sorted(written.columns) != sorted(made.columns):
        raise AssertionError(f"the written file has the columns {list(written.columns)}, not {list(made.columns)}")
    if written.digest(sorted(made.columns)) != made.digest(sorted(made.columns)):
        raise AssertionError("the written file has other records than were made")


def verify_external(own: Publishable, drafts: Sequence[Path]) -> Audit | None:
    """Audit the draft against the table; nothing is audited if records do not represent persons."""
    maker, found = own.maker, own.release.details["brought"]
    if not maker.people or not columns_of(own.release, own.rows).quasi:
        return None
    verdict = _audit_rows(
        own,
        drafts[0],
        original=own.release.table,
        require=maker.claim if found.get("verdict") == "holds" else None,
        missing=maker.missing,
    )
    if found["certain"] and maker.missing != "any" and maker.suppressed == "keep":
        for name in AGREED:
            ours, theirs = own.measures.get(name), verdict.measures.get(name)
            if ours is not None and theirs is not None and not isclose(ours, theirs, rel_tol=AGREE, abs_tol=AGREE):
                raise AssertionError(f"{name} is {theirs!r} in the written file and {ours!r} by our own reading of it")
    return verdict


def _audit_rows(own: Publishable, draft: Path, **asked: Any) -> Audit:
    """Audit the rows of an external release; raise if that fails."""
    columns = columns_of(own.release, own.rows)
    verdict = audit(
        draft,
        columns.quasi,
        columns.sensitive,
        suppressed="keep",
        delimiter=delimiter_of(own.path),
        header=True,
        escaped_formulas=own.escape_formulas,
        **asked,
    )
    if verdict.failures:
        raise AssertionError(f"the audit of the written file failed: {verdict.failures[0]}")
    return verdict


VERIFY: Mapping[str, Callable[[Publishable, Sequence[Path]], Any]] = {
    "table": verify_table,
    "baskets": verify_baskets,
    "items": verify_items,
    "noisy": lambda own, drafts: check_draft(own.release, drafts[0], own.escape_formulas),
    "records": verify_records,
    "external": verify_external,
}
"""The verification of a written file, by kind of release."""

SAID = (
    *("quasi", "sensitive", "neutral", "identifier", "person", "one_record_per_person", "household"),
    *("hierarchies", "weights", "missing", "na", "encoding", "memory", "spill", "ranges"),
)
"""The declared options of the original that an audit has, or does not need."""


def seen_from(folder: Path, file: str | Path) -> str:
    """Return the name of a file relative to the folder of a release."""
    return os.path.relpath(file, folder)


def argument(name: str) -> str:
    """Return the name of a file in a form that no command takes for an option."""
    return f"./{name}" if name.startswith("-") else name


def public_check(context: PublicContext) -> list[str]:
    """Return the command by which anybody can check the confirmed parts of the promise on the files alone."""
    columns, content, parts = context.columns, context.shown.content, context.confirmed
    name = next(iter(context.files))
    if content == "external" and not columns.quasi:
        return ["sha256sum", argument(name)]
    if content == "noisy" or (content == "records" and not parts):
        return ["sfumato", "audit", argument(name), "--certificate", argument(f"{name}.certificate-public.json")]
    if context.baskets:
        return [*_baskets(context), *_required(parts)]
    roles = [word for column in columns.quasi for word in ("--quasi", column)]
    roles += [word for column in columns.sensitive for word in ("--sensitive", column)]
    if columns.items is not None:
        return ["sfumato", "audit", argument(name), "--items", columns.items, *roles, *_required(parts)]
    return [*_file(context), *roles, *_required(parts)]


def internal_check(outside: Mapping[str, Any], inside: InternalContext) -> list[str]:
    """Return the command by which the publisher can check the files against the original of a study."""
    context, release, folder, origin = inside.public, inside.release, inside.path.parent, inside.origin
    if not origin.study_file and (not origin.original or not context.in_groups):
        return list(outside["verify"])
    study = [*origin.original]
    if origin.study_file:
        study = ["--original", argument(seen_from(folder, origin.study_file))]
    if context.baskets:
        if release.persons is not None and not release.is_global:  # whose its rows are only the writer can say
            return list(outside["verify"])
        local = [] if release.is_global else ["--local"]
        file = getattr(inside.promised, "file", None)
        wanted = inside.promised if file is None else replace(inside.promised, file=seen_from(folder, file))
        return [*_baskets(context), *local, *study, *_required([str(wanted)])]
    if context.is_records and context.confirmed:
        return [*_file(context), *study, *_required(context.confirmed)]
    if not context.in_groups or context.shown.items:
        return list(outside["verify"])
    roles, together = release.table.roles, inside.findings.households
    household = ["--household", roles.household] if together is not None and together.holds else []
    person = [] if roles.person is None else ["--person", roles.person]
    return [*_file(context), *study, *household, *person, *_required(inside.asked)]


def _baskets(context: PublicContext) -> list[str]:
    """Return the options for reading baskets, and the attacker's knowledge unless the requirement contains it."""
    columns = ["--id", LONG["who"], "--item", LONG["item"]] if context.layout == "long" else []
    more = [] if isinstance(context.promised, KMAnonymity) else ["--known", str(context.alone.known)]
    return ["sfumato", "audit", argument(next(iter(context.files))), "--baskets", *columns, *more]


def _file(context: PublicContext) -> list[str]:
    name = next(iter(context.files))
    words = ["sfumato", "audit", argument(name)]
    words += ["--delimiter", ","] if format_of(Path(name)) == "csv" else []
    words += ["--group", GROUP] if context.bucketized else []
    return [*words, "--suppressed", "keep"]


def _required(parts: Sequence[str]) -> list[str]:
    return ["--require", " & ".join(parts)] if parts else []


def original_words(declared: TableDeclaration, folder: Path) -> tuple[str, ...]:
    """Return the options of `sfumato audit` that read a table as declared; none if no options can."""
    said = {name: getattr(declared, name) for name in SAID}
    if declared.missing == "drop" or declared != replace(TableDeclaration(declared.source), **said):
        return ()
    source = str(declared.source)
    words = ["--original", argument(seen_from(folder, source)) if Path(source).exists() else source]
    for option, names in (("--quasi", declared.quasi), ("--sensitive", declared.sensitive)):
        words += [word for name in names for word in (option, name)]
    settings = [f"na={text}" for text in declared.na]
    settings += [f"weight={name}={weight!r}" for name, weight in declared.weights.items()]
    settings += [] if declared.encoding is None else [f"original-encoding={declared.encoding}"]
    words += [word for setting in settings for word in ("--set", setting)]
    hierarchies = declared.hierarchies
    return (*words, *([] if hierarchies is None else ["--hierarchies", seen_from(folder, hierarchies)]))
