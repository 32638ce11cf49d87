"""A release: weighted boxes, each in a group; each group with a histogram of every sensitive attribute.

Everything that makes a release makes this value; everything that measures one reads only this value. Groups are
what a reader of the file sees, so groups with the same published text are merged here, before anything is said.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import BadInputError
from sfumato.kernels import kernel
from sfumato.quiet import Quiet
from sfumato.release.writing import Format, RowLayout, format_of, write_release
from sfumato.table import Cells, Histograms, Table, distinct_rows
from sfumato.workers import side_by_side

MANY_ENTRIES = 200_000
"""From this many entries on, histograms are filled by two threads."""

MOST_SHORT = 256
"""This many sensitive values can be told apart by one byte."""

Form = Literal["generalization", "bucketization"]
FORMS: tuple[Form, ...] = ("generalization", "bucketization")
Codes = NDArray[np.int32]
Short = NDArray[np.uint8]
Counts = NDArray[np.int64]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Assignment(Quiet):
    """Where records go: `count` records of `cell` to `group`. A cell may be split; what is missing is suppressed."""

    cell: Counts
    group: Counts
    count: Counts

    @cached_property
    def records(self) -> int:
        """The number of records that are published."""
        return int(self.count.sum())


@dataclass(frozen=True, eq=False, repr=False)
class Boxes(Quiet):
    """Weighted boxes: leaf codes from `lo` to `hi` per attribute, the records inside, and the group of each."""

    lo: Codes
    hi: Codes
    mass: Counts | Numbers
    """Whole numbers, unless they are noisy."""

    group: Counts


class Published(ABC):
    """What every release is: boxes, each in a group, and what it says of the sensitive values inside each box.

    Estimators and attacks read this much and no more, so exact and noisy releases face the same questions.
    """

    table: Table
    boxes: Boxes

    @property
    def cells(self) -> Cells:
        """The cells of the table."""
        return self.table.cells

    @property
    @abstractmethod
    def content(self) -> Numbers:
        """The sensitive counts of every box: boxes x values, all sensitive attributes side by side."""


@dataclass(frozen=True, eq=False, repr=False)
class Release(Published):
    """What is published of a table, record by record."""

    table: Table
    form: Form
    assignment: Assignment
    boxes: Boxes
    sizes: Counts
    """The number of records of every group."""

    histograms: Histograms | None
    """The sensitive values of every group; None where no sensitive attribute is published."""

    levels: tuple[int, ...] = ()
    """Of a full-domain recoding the level of every attribute, by whose labels nodes are called."""

    details: Mapping[str, Any] = field(default_factory=dict)
    """What its maker has to say of it, such as the transformation; for the publisher's eyes."""

    def __repr__(self) -> str:
        return f"<Release: {self.form} of {', '.join(quasi.name for quasi in self.cells.quasi)}>"

    @property
    def suppressed(self) -> int:
        """The number of records that are not published."""
        return self.cells.records - self.assignment.records

    @property
    def groups(self) -> int:
        """The number of groups."""
        return len(self.sizes)

    @property
    def profiles(self) -> Numbers:
        """Every group's sensitive distribution: groups x values, attributes side by side."""
        assert self.histograms is not None
        shares: Numbers = self.histograms.counts / self.sizes[:, None]
        return shares

    @property
    def content(self) -> Numbers:
        """The records of every box, with the sensitive distribution of its group."""
        return self.boxes.mass[:, None] * self.profiles[self.boxes.group]

    def quasi_texts(self, attribute: int) -> tuple[list[str], Codes]:
        """Write what every box shows of one quasi-identifier: the different texts, and which one each box has."""
        hierarchy = self.cells.quasi[attribute].hierarchy
        present = present_leaves(self.cells, self.assignment, attribute)
        level = self.levels[attribute] if self.levels else 0
        return hierarchy.texts(self.boxes.lo[:, attribute], self.boxes.hi[:, attribute], present, level)

    @cached_property
    def quasi_counts(self) -> Counts:
        """How many records show each combination of published quasi-identifier texts."""
        if self.form == "generalization":
            return self.sizes
        _, inverse = distinct_rows(self.boxes.lo)
        return np.bincount(inverse, weights=self.boxes.mass).astype(np.int64)

    def to_csv(
        self, path: str | Path, layout: RowLayout = "rows", force: bool = False, escape_formulas: bool = False
    ) -> list[Path]:
        """Write the release as CSV, all or nothing; an existing file is kept unless `force`.

        `escape_formulas` writes cells that a spreadsheet would run as formulas with `'` in front.
        """
        return self._write(Path(path), layout, force, "csv", escape_formulas)

    def to_parquet(self, path: str | Path, layout: RowLayout = "rows", force: bool = False) -> list[Path]:
        """Write the release as Parquet, all or nothing; an existing file is kept unless `force`."""
        return self._write(Path(path), layout, force, "parquet")

    def _write(
        self, path: Path, layout: RowLayout, force: bool, format: Format, escape_formulas: bool = False
    ) -> list[Path]:
        if format_of(path) != format:
            raise BadInputError(f"{path}: this name says {format_of(path)}, not {format}; choose another")
        return write_release(self, path, layout, force, format, escape_formulas=escape_formulas)


def generalization(
    table: Table,
    assignment: Assignment,
    lo: Codes,
    hi: Codes,
    sensitive: bool = True,
) -> Release:
    """Publish every group's box (one row of `lo` and `hi` per group) in place of its quasi-identifiers."""
    lo, hi = shown_ends(table.cells, assignment, lo, hi)
    both = np.concatenate([lo, hi], axis=1)
    first, merged = distinct_rows(both)
    assignment = regrouped(table.cells, assignment, merged)
    sizes = np.bincount(assignment.group, weights=assignment.count, minlength=len(first)).astype(np.int64)
    boxes = Boxes(lo[first], hi[first], sizes, np.arange(len(first)))
    histograms = histograms_of(table.cells, assignment, len(first)) if sensitive else None
    return Release(table, "generalization", assignment, boxes, sizes, histograms)


def present_leaves(cells: Cells, assignment: Assignment, attribute: int) -> NDArray[np.bool_]:
    """Say which leaves of an attribute occur among the records that are published."""
    present = np.zeros(cells.quasi[attribute].hierarchy.size, np.bool_)
    present[cells.codes[assignment.cell, attribute]] = True
    return present


def shown_ends(cells: Cells, assignment: Assignment, lo: Codes, hi: Codes) -> tuple[Codes, Codes]:
    """Draw the ends of boxes in to leaves that are published, where the domain was observed in the data.

    Otherwise the end of a box could show a value that only suppressed records have. The whole domain stays whole.
    """
    lo, hi = lo.copy(), hi.copy()
    for a, quasi in enumerate(cells.quasi):
        if quasi.hierarchy.observed:
            last = quasi.hierarchy.size - 1
            shown = np.flatnonzero(present_leaves(cells, assignment, a))
            inner = (lo[:, a] > 0) | (hi[:, a] < last)
            lo[inner, a] = shown[np.searchsorted(shown, lo[inner, a])]
            hi[inner, a] = shown[np.searchsorted(shown, hi[inner, a], side="right") - 1]
    return lo, hi


def bucketization(table: Table, assignment: Assignment, groups: int) -> Release:
    """Publish the quasi-identifiers as they are, and the sensitive values of every group apart from them."""
    cells = table.cells
    rows = np.concatenate([assignment.group[:, None].astype(np.int32), cells.codes[assignment.cell]], axis=1)
    first, inverse = distinct_rows(rows)
    mass = np.bincount(inverse, weights=assignment.count, minlength=len(first)).astype(np.int64)
    points = cells.codes[assignment.cell[first]]
    boxes = Boxes(points, points, mass, assignment.group[first])
    sizes = np.bincount(assignment.group, weights=assignment.count, minlength=groups).astype(np.int64)
    histograms = histograms_of(cells, assignment, groups)
    return Release(table, "bucketization", assignment, boxes, sizes, histograms)


def histograms_of(cells: Cells, assignment: Assignment, groups: int) -> Histograms:
    """Count the sensitive values of every group."""
    counts = np.zeros((groups, int(cells.spans[-1])), dtype=np.int64)
    few = max((attribute.size for attribute in cells.sensitive), default=0) <= MOST_SHORT
    values = cells.values.astype(np.uint8) if few else cells.values  # read in no order: short ones stay in the cache

    def fill(part: slice) -> None:
        entries = (assignment.cell[part], assignment.group[part], assignment.count[part])
        fill_histograms(values, cells.spans, *entries, counts)

    if len(assignment.group) < MANY_ENTRIES or not in_order(assignment.group):
        fill(slice(None))
    else:  # two threads, each with groups of its own
        middle = int(np.searchsorted(assignment.group, assignment.group[len(assignment.group) // 2]))
        side_by_side(fill, (slice(middle), slice(middle, None)))
    return Histograms(cells.sensitive, _sizes(cells, assignment, counts), counts)


def _sizes(cells: Cells, assignment: Assignment, counts: Counts) -> Counts:
    """Count the records of every group; any attribute's histogram has them all, and is shorter than the assignment."""
    if cells.sensitive:
        return row_sums(counts, cells.sensitive[0].size)
    return np.bincount(assignment.group, weights=assignment.count, minlength=len(counts)).astype(np.int64)


def regrouped(cells: Cells, assignment: Assignment, merged: Counts) -> Assignment:
    """Send the records of group g to group `merged[g]`, joining what then belongs together."""
    if len(merged) == 0 or merged[-1] == len(merged) - 1:  # numbered in order of appearance: all are different
        return assignment
    group = merged[assignment.group]
    keys, inverse = np.unique(group * cells.size + assignment.cell, return_inverse=True)
    count = np.bincount(inverse, weights=assignment.count).astype(np.int64)
    return Assignment(keys % cells.size, keys // cells.size, count)


@kernel
def in_order(numbers: Counts) -> bool:
    """Say whether numbers never fall. Looking at all of them is faster than stopping: it takes several at a time."""
    falls = 0
    for i in range(1, len(numbers)):
        falls += numbers[i] < numbers[i - 1]
    return falls == 0


@kernel
def fill_histograms(
    values: Codes | Short, spans: Counts, cell: Counts, group: Counts, count: Counts, counts: Counts
) -> None:
    """Add every entry of an assignment to its group's histogram. Unsigned indices spare a test for negative ones."""
    for s in range(values.shape[1]):
        for i in range(len(cell)):
            column = spans[s] + values[np.uint64(cell[i]), s]
            counts[np.uint64(group[i]), np.uint64(column)] += count[i]


@kernel
def row_sums(counts: Counts, columns: int) -> Counts:
    """Add up the first columns of every row."""
    sums = np.zeros(len(counts), np.int64)
    for g in range(len(counts)):
        for s in range(columns):
            sums[g] += counts[g, s]
    return sums
