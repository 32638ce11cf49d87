"""Writing a release: one file of rows, or Anatomy's two tables; all or nothing, rows shuffled.

Quasi-identifiers and sensitive values are written as the texts of their hierarchy, neutral columns as they came in.
In a bucketization the sensitive values are dealt out anew within each group, in a way that depends only on what the
group publishes, so the file cannot tell more than the group's histogram.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.engines import Layout, Placement, Texts
from sfumato.errors import BadInputError
from sfumato.interrupts import finishing, unfinished
from sfumato.table import Hierarchy, distinct_rows

if TYPE_CHECKING:
    from sfumato.release.release import Published, Release

GROUP = "group"
COUNT = "count"
RowLayout = Literal["rows", "anatomy"]
Format = Literal["csv", "parquet"]
ENDINGS: dict[str, Format] = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}


def write_release(
    release: Release, path: Path, layout: RowLayout = "rows", force: bool = False, format: Format = "csv"
) -> list[Path]:
    """Write a release to a file; return the files written.

    `layout="anatomy"` writes a bucketization as two tables: the quasi-identifiers with their group, and beside it
    (`NAME.sensitive.csv`) the sensitive values of every group with their counts.
    """
    targets = release_files(release, path, layout, force)
    with writable(path), staged(targets) as drafts:
        write_drafts(release, drafts, layout, format)
    return targets


def release_files(release: Release, path: Path, layout: RowLayout, force: bool) -> list[Path]:
    """Name the files of a release, and make sure that they may be written."""
    _check_layout(release, layout)
    targets = [path] if layout == "rows" else [path, path.with_name(f"{path.stem}.sensitive{path.suffix}")]
    for target in targets:
        check_not_original(release, target)
        check_target(target, force)
    return targets


def write_drafts(release: Release, drafts: Sequence[Path], layout: RowLayout, format: Format) -> None:
    """Write the files of a release, the rows first in the list, wherever they will be moved to."""
    engine = release.table.engine
    placement = Placement(
        release.assignment.cell, release.assignment.group, release.assignment.count, release.table.link
    )
    if layout == "anatomy":
        engine.write_table(sensitive_table(release), drafts[1], format)
    rows = engine.write(placement, row_layout(release, with_sensitive=layout == "rows"), drafts[0], format)
    if rows != release.assignment.records:
        raise AssertionError(f"{rows} rows were written for {release.assignment.records} records")


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Turn what a disk may refuse into a sentence."""
    try:
        yield
    except OSError as error:
        raise BadInputError(f"{path}: cannot be written ({error.strerror or error}); nothing was left behind") from None


@contextmanager
def staged(targets: Sequence[Path]) -> Iterator[list[Path]]:
    """Give a draft beside every target; when all went well, rename the drafts, the first target last.

    A reader sees whole files or none. Whatever happens, no draft stays.
    """
    drafts: list[Path] = []
    with ExitStack() as held:
        try:
            for target in targets:
                with finishing():
                    handle, name = tempfile.mkstemp(f".part{target.suffix}", f".{target.name[:100]}.", target.parent)
                    os.close(handle)
                    drafts.append(Path(name))
                    held.enter_context(unfinished(drafts[-1]))
            yield drafts
            for draft in drafts:
                with draft.open("rb+") as stream:
                    os.fsync(stream.fileno())
                draft.chmod(0o666 & ~_umask())
            with finishing():
                for draft, target in reversed(list(zip(drafts, targets, strict=True))):
                    draft.replace(target)
        finally:
            for draft in drafts:
                draft.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def format_of(path: Path) -> Format:
    """Find the format by the ending of a file's name."""
    if path.suffix.lower() not in ENDINGS:
        raise BadInputError(
            f"{path}: a release is written as CSV or Parquet; let the name end in {' or '.join(ENDINGS)}"
        )
    return ENDINGS[path.suffix.lower()]


def _check_layout(release: Release, layout: RowLayout) -> None:
    if layout not in ("rows", "anatomy"):
        raise BadInputError(f"layout must be 'rows' or 'anatomy', not {layout!r}")
    if layout == "anatomy" and release.form != "bucketization":
        raise BadInputError("Anatomy's two tables are a way to write a bucketization (--form bucketization)")
    taken = {GROUP, COUNT} if layout == "anatomy" else {GROUP}
    clash = [name for name in release.table.published if name.casefold() in taken]
    if release.form == "bucketization" and clash:
        raise BadInputError(
            f"a bucketized file has a column {clash[0]!r} of its own, and the table has one too; rename the table's"
        )


def check_not_original(release: Published, path: Path) -> None:
    """Raise where a file is the very table that a release was made of."""
    source = Path(release.table.engine.origin)
    if path.exists() and source.exists() and path.samefile(source):
        raise BadInputError(f"{path} is the table itself; a release never replaces its original: choose another name")


def check_target(path: Path, force: bool) -> None:
    """Raise unless a file of this name may and can be written."""
    if path.exists() and not force:
        raise BadInputError(
            f"{path} exists already; choose another name or overwrite it with --force (in Python force=True)"
        )
    if path.is_dir():
        raise BadInputError(f"{path} is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise BadInputError(f"{path}: the folder {path.parent} does not exist; make it first")


def row_layout(release: Release, with_sensitive: bool = True) -> Layout:
    """Say what stands in every column of the file of rows."""
    cells, bucketized = release.cells, release.form == "bucketization"
    by_group, by_cell = [], []
    for i, quasi in enumerate(cells.quasi):
        if bucketized:
            by_cell.append(_leaves(quasi.name, quasi.hierarchy, cells.codes[:, i]))
        else:
            texts, codes = release.quasi_texts(i)
            by_group.append(Texts(quasi.name, [text or None for text in texts], codes))
    permuted = frozenset[str]()
    if with_sensitive and release.histograms is not None:
        for j, sensitive in enumerate(cells.sensitive):
            by_cell.append(_leaves(sensitive.name, sensitive.hierarchy, sensitive.leaves[cells.values[:, j]]))
        permuted = frozenset(sensitive.name for sensitive in cells.sensitive) if bucketized else permuted
    shown = {column.name for column in [*by_group, *by_cell]} | set(release.table.roles.neutral)
    order = [name for name in release.table.published if name in shown]
    return Layout(
        order=[*order, GROUP] if bucketized else order,
        by_group=by_group,
        by_cell=by_cell,
        neutral=[name for name in order if name in release.table.roles.neutral],
        permuted=permuted,
        group_column=GROUP if bucketized else None,
        group_labels=np.arange(1, release.groups + 1) if bucketized else None,
    )


def sensitive_table(release: Release) -> pa.Table:
    """Return Anatomy's second table: for every group its sensitive values (as tuples) with their counts."""
    cells, assignment = release.cells, release.assignment
    rows = np.concatenate([assignment.group[:, None].astype(np.int32), cells.values[assignment.cell]], axis=1)
    first, inverse = distinct_rows(rows)
    columns = {GROUP: pa.array(rows[first, 0].astype(np.int64) + 1)}
    for j, sensitive in enumerate(cells.sensitive):
        labels = pa.array([label or None for label in sensitive.labels], pa.string())
        columns[sensitive.name] = labels.take(pa.array(rows[first, j + 1]))
    counts = np.bincount(inverse, weights=assignment.count).astype(np.int64)
    columns[COUNT] = pa.array(counts)
    return pa.table(columns)


def _leaves(name: str, hierarchy: Hierarchy, codes: NDArray[np.int32]) -> Texts:
    return Texts(name, [label or None for label in hierarchy.leaves], codes)
