"""The audit of a table that we wrote ourselves, before it gets its name: a release, or new data recoded alike."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from sfumato.anonymizers.anonymizer import sizes_required
from sfumato.engines import Reading
from sfumato.evidence.counted import Source, joined_tables, open_published
from sfumato.publish.audit.audit import Audit, audit
from sfumato.release import Release, format_of
from sfumato.release.writing import GROUP, write_named_rows
from sfumato.requirements import Requirement


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
