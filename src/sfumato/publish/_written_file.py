"""What was written, before it gets its name: what the file shows by itself, and what an audit against the table finds.

What a file shows alone is, with the settings, all that a public certificate may be made of: nothing there looks at the
table. So two tables that come out as the same file have the same public certificate. The audit against the table shares
nothing with who made the release. Both depend on the kind of what is published.

The commands of a certificate (`public_check`, `internal_check`) are derived from what the release was made of, and run
in the folder of the released file. The public one asks of the file what the file alone can answer. The publisher names
the study that declares the original, so it forgets nothing that is needed to read it.
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
from sfumato.requirements.items import KMAnonymity, MixedRequirement
from sfumato.requirements.requirement import Requirement, TCloseness, requirement, with_stronger_parts
from sfumato.runtime.arrays import Counts
from sfumato.tradeoff.question.recipients import shown_baskets

if TYPE_CHECKING:
    from sfumato.publish.publication import Publishable

AGREE = 1e-9
"""How far a measure of the audit may lie from the maker's own."""

AGREED = ("k", "smallest_group", "l_distinct", "l_frequency", "t_equal", "t_js", "loss")
"""What the audit of a file that was made elsewhere must find as we did, where it is certain who is where."""

MEASURED = (
    *("k", "smallest_group", "prosecutor", "marketer", "average_group", "weighted_k"),
    *("l_frequency", "l_distinct", "l_entropy", "l_recursive", "t_equal", "t_js", "delta", "beta"),
    *("p_loss", "p_loss_mean", "p_loss_median", "p_loss_95", "a_know", "a_acc", "information_gain"),
)
"""Measures that everybody can work out from a file, Q being that of the file."""

OF_ROWS = ("smallest_group", "average_group")
"""Those that remain where persons were counted: a file alone shows rows, not whose they are."""

ORDERED = "t_ordered"
"""One more, where everybody sees the order of the values."""


@dataclass(frozen=True)
class FileAlone:
    """What a file shows by itself."""

    records: int
    measures: Mapping[str, float]
    by_sensitive: Mapping[str, Mapping[str, float]]
    shares: Mapping[str, Mapping[str, float]]
    """Q of the file, for every sensitive column, the commonest value first."""

    kept: str | None
    """What was judged of the file: the parts asked for that it can confirm, each as strong as it keeps it if wanted."""

    asked: tuple[Requirement, ...]
    """What was asked for, part by part of `kept`."""

    confirmed: tuple[str, ...]
    """The parts of `kept` that the file confirms, relative to itself."""

    with_neutral: tuple[int, int] | None
    """Of groups by quasi-identifiers and neutral columns: the smallest, and how many rows are alone in theirs."""

    shown: Mapping[str, str]
    """How the file shows each quasi-identifier, in a few words."""


def read_alone(
    source: Path | pa.Table,
    columns: ReleasedColumns,
    form: str,
    parts: tuple[Requirement, ...],
    delimiter: str | None,
    escaped_formulas: bool = False,
    strongest: bool = False,
) -> FileAlone:
    """Audit a file without its original; `strongest` looks for the strongest requirement that it keeps."""
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
    """Say whether a part can be judged without a hierarchy and without whose the rows are: neither is published."""
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
    """Return what can be required of the file: without sensitive values, what is said of sizes."""
    if release.histograms is not None:
        return wanted.parts
    return sizes_required(wanted)


def delimiter_of(path: Path) -> str | None:
    """Return what separates the fields of a released file."""
    return "," if format_of(path) == "csv" else None


def audit_written(
    release: Release, wanted: Requirement, drafts: Sequence[Path], escape_formulas: bool, strongest: bool = False
) -> Audit:
    """Audit written drafts against the table that they were made of; `strongest` looks for all that they keep."""
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


# -- by what is published ----------------------------------------------------------------------------------------------


def columns_of(release: Any, rows: pa.Table | None = None) -> ReleasedColumns:
    """Return the columns of a released file; the order of sensitive values that were declared is not in it.

    `rows` are those of what was made elsewhere.
    """
    if release.kind == "baskets":
        return ReleasedColumns((), (), ())
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
    """Ask the written file what it shows by itself."""
    release, wanted, escaped = own.release, own.candidate.requirement, own.escape_formulas
    if own.kind == "noisy":
        return None
    if own.kind == "baskets":
        asked, known = None if wanted.names_items else str(wanted), own.scales.known
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
    """Return the strongest requirement of the kinds asked for that an audit of the file found to be kept.

    What is promised of sensitive items stays as it was required: no file shows what people have.
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
    """Write the parts of a promise that the file alone confirms: of listed items a reader needs the original."""
    if own.kind == "baskets":
        return () if promised.names_items else (str(promised),)
    if own.kind == "items":
        return tuple(map(str, confirmed_alone(promised, own.release.data).parts))
    if own.kind == "records":
        return tuple(map(str, own.maker.promises))
    return () if alone is None else tuple(alone.confirmed)


def confirmed_alone(wanted: MixedRequirement, data: MixedTable) -> MixedRequirement:
    """Return what the file alone can be asked for: whether people have sensitive items it does not say."""
    only = None if data.declared.roles.sensitive else data.column
    kept = (part for part in wanted.further if not part.about_sensitive or (part.on or only) != data.column)
    return MixedRequirement(wanted.linking, tuple(kept))


# -- verification ------------------------------------------------------------------------------------------------------


def check_confirmed(verdict: Any, measured: Mapping[str, float]) -> None:
    """Refuse to publish where the audit of the written draft fails or differs from what the maker measured."""
    if verdict.unconfirmed:
        raise AssertionError(verdict.unconfirmed)
    for name, value in verdict.measures.items():
        if name in measured and not isclose(value, measured[name], rel_tol=AGREE, abs_tol=AGREE):
            raise AssertionError(
                f"{name} is {value!r} in the written file and {measured[name]!r} by the maker's measure"
            )


def verify_table(own: Publishable, drafts: Sequence[Path]) -> Audit:
    """Audit the drafts with the table at hand."""
    verdict = audit_written(own.release, own.candidate.requirement, drafts, own.escape_formulas, strongest=True)
    check_confirmed(verdict, own.measured.values)
    return verdict


def verify_baskets(own: Publishable, drafts: Sequence[Path]) -> Audit:
    """Audit the draft with the baskets at hand, by the legend that was written."""
    release, wanted, read = own.release, own.candidate.requirement, reading_of(own.layout)
    legend, local = read_legend(drafts[1]) if len(drafts) > 1 else {}, not release.is_global
    verdict = audit_baskets(
        drafts[0],
        str(wanted),
        release.baskets,
        own.scales.known,
        legend,
        local,
        **read,
        escaped_formulas=own.escape_formulas,
    )
    check_confirmed(verdict, protected_risk(release, wanted) | numbers_of_baskets(release, verdict.known))
    if own.origin.point and not local and (why := shown_baskets(verdict.measures, wanted)):
        raise BadInputError(f"point {own.origin.point} {why}")  # whatever is said of the point
    return verdict


def reading_of(layout: str) -> dict[str, Any]:
    """Return how a file of baskets that is laid out so is read: by its columns, or line by line."""
    return dict(LONG) if layout == "long" else {"lines": True}


def numbers_of_baskets(release: BasketRelease, known: int) -> dict[str, float]:
    """Work out, from the release in memory, what the audit works out from the file."""
    return itemset_spread(Rows.of_release(release), known).measures() | ItemLosses().measure(release)


def verify_items(own: Publishable, drafts: Sequence[Path]) -> Audit:
    """Audit the drafts, data and legend, with the table and its items at hand.

    What is promised of sensitive items is about what people have, which no file shows: it was proved on the groups.
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


def numbers_of_items(release: MixedRelease, known: int) -> dict[str, float]:
    """Work out, from the release in memory, what the audit works out from the file."""
    lost = {name: ItemLosses().measure(release)[name] for name in ("ncp", "occurrences_suppressed")}
    relational = dict(measure(release.relational).values)
    if release.data.sensitive:  # the derived attribute is not in the file
        relational = {name: relational[name] for name in ("k", "loss", "suppressed") if name in relational}
    return {**relational, **known_within_groups(release, known), **lost}


def check_draft(release: Drawn, draft: Path, escape_formulas: bool = False) -> None:
    """Read the written file back: declared values only, and as many rows of every value as were drawn.

    This proves nothing of the promise, which rests on the mechanism; it finds a file that came out wrong.
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
    """Count what was drawn by the declared values of every column of which that is settled before it is written."""
    if isinstance(release, NoisyRelease):
        return {release.cells.sensitive[0].name: release.synthetic_counts.sum(axis=0)}
    columns = np.column_stack([release.lo, release.values])
    attributes = coded_columns(release.cells)
    return {
        attribute.name: np.bincount(columns[:, place], release.counts, attribute.hierarchy.size).astype(np.int64)
        for place, attribute in enumerate(attributes)
    }


def verify_records(own: Publishable, drafts: Sequence[Path]) -> Any:
    """Read the file back: just the records that were made, and what is promised of them holds."""
    check_records(own.release, drafts[0], own.escape_formulas)
    if own.maker.promises:
        _audit_rows(own, drafts[0], require=" & ".join(map(str, own.maker.promises)))
    return alone_of(own, drafts)


def check_records(release: RecordRelease, draft: Path, escape_formulas: bool = False) -> None:
    """Raise unless the written file holds just the records of the release, compared by what an engine makes of both."""
    made = open_rows(release.record_table())
    written = open_rows(draft, replace(OWN_FILE, escaped=escape_formulas))
    if sorted(written.columns) != sorted(made.columns):
        raise AssertionError(f"the written file has the columns {list(written.columns)}, not {list(made.columns)}")
    if written.digest(sorted(made.columns)) != made.digest(sorted(made.columns)):
        raise AssertionError("the written file has other records than were made")


def verify_external(own: Publishable, drafts: Sequence[Path]) -> Audit | None:
    """Audit the draft against the table; nothing is audited where records stand for nobody."""
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
    """Audit rows of a release's own; raise where it fails."""
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
"""How a written file is verified, by what is published."""

SAID = (
    *("quasi", "sensitive", "neutral", "identifier", "person", "one_record_per_person", "household"),
    *("hierarchies", "weights", "missing", "na", "encoding", "memory", "spill", "ranges"),
)
"""What options of an audit say of its original, or what it need not know."""


def seen_from(folder: Path, file: str | Path) -> str:
    """Name a file as seen from the folder of a release."""
    return os.path.relpath(file, folder)


def argument(name: str) -> str:
    """Write the name of a file so that no command takes it for an option."""
    return f"./{name}" if name.startswith("-") else name


def public_check(context: PublicContext) -> list[str]:
    """Return the words by which everybody checks on the files alone the parts of the promise that they confirm."""
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
    """Return the words by which the publisher checks the files against the original that a study declares."""
    context, release, folder, origin = inside.public, inside.release, inside.path.parent, inside.origin
    if not origin.study_file and (not origin.original or not context.in_groups):
        return list(outside["verify"])
    study = [*origin.original]
    if origin.study_file:
        study = ["--original", argument(seen_from(folder, origin.study_file))]
    if context.baskets:
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
    """Return the words that read baskets; how much an attacker knows, unless the requirement says it."""
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
    """Return the options of `sfumato audit` that read a table as it was declared; none where no option says it all."""
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
