"""The command by which everybody, or the publisher, checks a release again: derived from what it was made of.

It is run in the folder of the released file. The public one asks of the file what the file alone can answer. The
publisher's names the study that declares the original, and so forgets nothing that is needed to read it.

What a written file shows by itself: with the settings, all that a public certificate may be made of.

Nothing here looks at the table. So two tables that come out as the same file are told apart by nothing that leaves the
house, whatever was suppressed in either.

The audit of a table that we wrote ourselves, before it gets its name: a release, or new data recoded alike.

What a certificate says of cells that a spreadsheet would run as formulas.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from sfumato.anonymizers.anonymizer import sizes_required
from sfumato.auditing.audit import Audit, audit
from sfumato.auditing.published_file import Source, joined_tables, open_published
from sfumato.data.cells import Weights
from sfumato.data.reading import Unit
from sfumato.engines import open_rows
from sfumato.engines.formulas import MARK, formula_notice, is_formula, unescaped
from sfumato.engines.protocol import OWN_FILE, Reading
from sfumato.release.changes import shown_in_file
from sfumato.release.release import Release
from sfumato.release.writing import GROUP, format_of, write_named_rows
from sfumato.requirements.requirement import Requirement, TCloseness, requirement


@dataclass(frozen=True)
class ReleasedColumns:
    """The columns of a released file by their roles, as they were declared."""

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    """Those that are published."""

    neutral: tuple[str, ...]
    household: str | None = None
    """The original's column that says who lives together; never published."""

    ordered: tuple[str, ...] = ()
    """Sensitive columns whose order everybody sees: rising, for no other was declared."""

    weights: Weights = ()
    """How much a loss in every quasi-identifier counted, where not all did alike."""

    unit: Unit = "records"
    """What was counted in groups."""


def seen_from(folder: Path, file: str | Path) -> str:
    """Name a file as seen from the folder of a release."""
    return os.path.relpath(file, folder)


def argument(name: str) -> str:
    """Write the name of a file so that no command takes it for an option."""
    return f"./{name}" if name.startswith("-") else name


def public_check(names: Sequence[str], columns: ReleasedColumns, form: str, parts: Sequence[str]) -> list[str]:
    """Return the words by which everybody checks on the files alone the parts of the requirement that they confirm."""
    roles = [word for name in columns.quasi for word in ("--quasi", name)]
    roles += [word for name in columns.sensitive for word in ("--sensitive", name)]
    return [*_file(names, form), *roles, *_required(parts)]


def publisher_check(
    names: Sequence[str],
    form: str,
    parts: Sequence[str],
    study: str,
    household: str | None,
    person: str | None = None,
) -> list[str]:
    """Return the words by which the publisher checks the files against the original that a study declares.

    `household` is the column of households where the files confirm what is promised of them, `person` the column that
    says whose record it is.
    """
    together = [] if household is None else ["--household", household]
    together += [] if person is None else ["--person", person]
    return [*_file(names, form), "--original", argument(study), *together, *_required(parts)]


def _file(names: Sequence[str], form: str) -> list[str]:
    words = ["sfumato", "audit", argument(names[0])]
    words += [word for name in names[1:] for word in ("--sensitive-table", argument(name))]
    words += ["--delimiter", ","] if format_of(Path(names[0])) == "csv" else []
    words += ["--group", GROUP] if form == "bucketization" else []
    return [*words, "--suppressed", "keep"]


def _required(parts: Sequence[str]) -> list[str]:
    return ["--require", " & ".join(parts)] if parts else []


MEASURED = (
    "k",
    "smallest_group",
    "prosecutor",
    "marketer",
    "average_group",
    "weighted_k",
    "l_frequency",
    "l_distinct",
    "l_entropy",
    "l_recursive",
    "t_equal",
    "t_js",
    "delta",
    "beta",
    "p_loss",
    "p_loss_mean",
    "p_loss_median",
    "p_loss_95",
    "a_know",
    "a_acc",
    "information_gain",
)
"""Measures that everybody can work out from a file, Q being that of the file."""

OF_ROWS = ("smallest_group", "average_group")
"""Those that remain where persons were counted: a file alone shows rows, not whose they are."""

ORDERED = "t_ordered"
"""One more, where everybody sees the order of the values."""


@dataclass(frozen=True)
class FileAlone:
    """What a file shows by itself."""

    rows: int
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


def source_of(drafts: Sequence[Path], escape_formulas: bool = False) -> Path | pa.Table:
    """Return what an audit reads: the file, or the rows that Anatomy's two tables stand for."""
    if len(drafts) == 1:
        return drafts[0]
    return joined_tables(drafts[0], drafts[1], GROUP, escaped_formulas=escape_formulas)


def delimiter_of(path: Path) -> str | None:
    """Return what separates the fields of a released file."""
    return "," if format_of(path) == "csv" else None


def audit_written(
    release: Release, wanted: Requirement, drafts: Sequence[Path], escape_formulas: bool, strongest: bool = False
) -> Audit:
    """Audit written drafts against the table that they were made of; `strongest` looks for all that they keep."""
    roles = release.table.roles
    if roles.person is None:
        return _audit(release, wanted, drafts, escape_formulas, strongest, None)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"named{drafts[0].suffix}"
        write_named_rows(release, path)
        named = open_published(path, Reading(delimiter=delimiter_of(path), header=True))
        return _audit(release, wanted, drafts, escape_formulas, strongest, named)


def _audit(
    release: Release,
    wanted: Requirement,
    drafts: Sequence[Path],
    escape_formulas: bool,
    strongest: bool,
    named: Source | None,
) -> Audit:
    roles = release.table.roles
    return audit(
        source_of(drafts, escape_formulas),
        roles.quasi,
        roles.sensitive if release.histograms is not None else (),
        original=release.table,
        group=GROUP if release.form == "bucketization" else None,
        require=" & ".join(map(str, parts_on_the_file(release, wanted))) or None,
        suppressed="keep",
        household=roles.household,
        delimiter=delimiter_of(drafts[0]),
        header=True,
        escaped_formulas=escape_formulas and len(drafts) == 1,
        strongest=strongest,
        person=roles.person,
        named=named,
    )


FLAG = "--escaped-formulas"
VERB = 3
"""The words of a command to check a file before its options: `sfumato audit FILE`."""


def written_formulas(drafts: list[Path], escape: bool) -> dict[str, int]:
    """Count the formulas in every column of what was written that has any, the name of the column among them.

    `escape` says that they were escaped. Parquet is nothing that a spreadsheet runs.
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
    """Say whether a spreadsheet would run a cell, or would but for the mark in front of it."""
    return text[:1] == MARK and is_formula(text.lstrip(MARK)) if escape else is_formula(text)


def note_formulas(content: dict[str, Any], cells: Mapping[str, int], escape: bool) -> None:
    """Say in a certificate how formulas were written, and how to read the file back."""
    notice = formula_notice(dict(cells), escape)
    content["formulas"] = {"escaped": escape, "cells": dict(cells)}
    content["warnings"] = [
        *content["warnings"],
        *({"about": "Formulas", "text": f"{sentence}."} for sentence in notice),
    ]
    if escape:
        content["verify"] = [*content["verify"][:VERB], FLAG, *content["verify"][VERB:]]
