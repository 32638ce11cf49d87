"""Releases of rows that are not the table's own: perturbed, synthetic or external records.

`Records` are the data of makers and attackers: one row of leaf codes per record, quasi-identifiers in the order of the
cells, followed by the sensitive attributes. `RecordRelease` is the result: the distinct rows with their counts, each a
box (a point for exact values) with sensitive values. It has boxes, groups and histograms like every release, so
estimators and attacks read it unchanged. Two flags differ. One is whether its records represent `people` (counting
synthetic ones means nothing for anybody). The other is whether it is `truthful` (the loss of a perturbed one is not
the width of its boxes).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.cells import (
    Assignment,
    Cells,
    Histograms,
    Points,
    Quasi,
    Sensitive,
    counted_leaves,
    distinct_rows,
    weighted_counts,
)
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.reading import Table
from sfumato.engines.protocol import number_column, text_column
from sfumato.errors import BadInputError
from sfumato.release.content import Guarantee, NoisyRelease, WrittenRecords
from sfumato.release.regions import uniform_leaves
from sfumato.release.release import Boxes, Form, Grouped, Published, Release
from sfumato.runtime.arrays import Codes, Counts, Numbers, RedactedRepr
from sfumato.texts.catalogue import refusal

NOT_SHOWN = -1
"""The code of a sensitive value that a release does not show."""


@dataclass(frozen=True, eq=False, repr=False)
class Records(RedactedRepr):
    """Records by the leaf codes of their columns: quasi-identifiers in the order of the cells, then sensitive ones."""

    cells: Cells
    """The table that defines the columns."""

    codes: Codes
    """One row per record, one column per attribute; an unpublished sensitive value is `NOT_SHOWN`."""

    @staticmethod
    def of(cells: Cells) -> Records:
        """Return every record of a table, in the order of its cells."""
        return Records(cells, np.repeat(cell_codes(cells), cells.counts, axis=0))

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def attributes(self) -> tuple[Quasi | Sensitive, ...]:
        """The attributes of the columns."""
        return coded_columns(self.cells)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def hierarchies(self) -> tuple[Hierarchy, ...]:
        """The hierarchies of the columns' leaf codes."""
        return tuple(attribute.hierarchy for attribute in self.attributes)

    def place(self, name: str) -> int:
        """Return the index of a column by its name."""
        if name not in self.names:
            raise BadInputError(f"there is no coded column {name!r}; these are: {', '.join(self.names)}")
        return self.names.index(name)

    def recoded(self, codes: Codes) -> Records:
        """Return records of the same columns with other codes."""
        return Records(self.cells, np.ascontiguousarray(codes, dtype=np.int32))

    def replaced(self, columns: Mapping[int, Codes]) -> Records:
        """Return the records with other codes in some columns, by index."""
        codes = self.codes.copy()
        for place, column in columns.items():
            codes[:, place] = column
        return self.recoded(codes)

    def is_number(self, place: int) -> bool:
        """Return whether a column has numbers or dates, which can be added and averaged."""
        return self.hierarchies[place].scale != "category"

    def numbers(self, place: int) -> Numbers:
        """Return a column as numbers: of an interval leaf its middle, of a date its day; NaN for missing values."""
        return leaf_numbers(self.hierarchies[place])[self.codes[:, place]]

    def nearest(self, place: int, numbers: Numbers) -> Codes:
        """Return the leaves nearest to numbers; a value with NaN is unchanged, probably missing."""
        values = leaf_numbers(self.hierarchies[place])[: self.hierarchies[place].domain_size]
        middles = (values[1:] + values[:-1]) / 2
        nearest = np.searchsorted(middles, np.nan_to_num(numbers), side="left")
        return np.where(np.isnan(numbers), self.codes[:, place], nearest).astype(np.int32)


def coded_columns(cells: Cells) -> tuple[Quasi | Sensitive, ...]:
    """Return the coded columns of a table: quasi-identifiers, then sensitive attributes."""
    return (*cells.quasi, *cells.sensitive)


def cell_codes(cells: Cells) -> Codes:
    """Return the leaf codes of every cell: quasi-identifiers, then sensitive attributes."""
    sensitive = [attribute.leaves[cells.values[:, s]] for s, attribute in enumerate(cells.sensitive)]
    return np.ascontiguousarray(np.column_stack([cells.codes, *sensitive]), dtype=np.int32)


def leaf_numbers(hierarchy: Hierarchy) -> Numbers:
    """Return each leaf of numbers or dates as a number, its middle; NaN for categories and missing values."""
    leaves = np.arange(hierarchy.size, dtype=np.int32)
    return counted_leaves(hierarchy, leaves, np.ones(hierarchy.size, np.int64)).numbers


@dataclass(frozen=True, eq=False, repr=False)
class RecordRelease(WrittenRecords, Grouped):
    """A release of records that are not the table's own."""

    table: Table
    rows: Codes
    """The distinct records: lower ends, upper ends (leaf codes of the quasi-identifiers), sensitive leaf codes."""

    counts: Counts
    """The number of records equal to each of them."""

    boxes: Boxes
    sizes: Counts
    histograms: Histograms | None
    people: bool
    truthful: bool
    link: Assignment | None = None
    """The original record of each record: (cell, row, count), if known; internal."""

    guarantee: Guarantee | None = None
    """The guarantee of differential privacy, if it has one."""

    publishable: bool = True
    """Whether it may be published: noise from a seed is no secret."""

    details: Mapping[str, Any] = field(default_factory=dict)
    """Details of its maker; internal."""

    def __repr__(self) -> str:
        kind = "records" if self.people else "synthetic records"
        return f"<RecordRelease: {kind} of {', '.join(quasi.name for quasi in self.cells.quasi)}>"

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Records, unless they are drawn with noise."""
        return "records" if self.guarantee is None else "noisy"

    @property
    def form(self) -> Form:  # type: ignore[override]
        """Every record has its own values."""
        return "generalization"

    @property
    def lo(self) -> Codes:
        """The lower ends of the distinct records."""
        return self.rows[:, : len(self.cells.quasi)]

    @property
    def hi(self) -> Codes:
        """The upper ends of the distinct records."""
        return self.rows[:, len(self.cells.quasi) : 2 * len(self.cells.quasi)]

    @property
    def values(self) -> Codes:
        """The sensitive leaf codes of the distinct records, `NOT_SHOWN` if they are not published."""
        return self.rows[:, 2 * len(self.cells.quasi) :]

    @cached_property
    def records(self) -> int:
        """The number of published records."""
        return int(self.counts.sum())

    @property
    def suppressed(self) -> int:
        """The number of people without a record, by the number of records."""
        return max(self.cells.records - self.records, 0) if self.people else 0

    @property
    def quasi_counts(self) -> Counts:
        """The number of records with each combination of published quasi-identifier texts."""
        return self.sizes

    @cached_property
    def content(self) -> Numbers:
        """The records of each box by sensitive value; values that nobody in the table has are ignored."""
        if self.histograms is None:
            return np.zeros((len(self.sizes), int(self.cells.spans[-1])))
        return self.histograms.counts.astype(np.float64)

    @property
    def rows_written(self) -> int:
        """All of them."""
        return self.records

    def record_table(self) -> pa.Table:
        """Return the records as texts, columns in the order of the input, if the release may be published."""
        if not self.publishable:
            raise refusal("noise_from_a_seed")
        columns = {}
        for a, quasi in enumerate(self.cells.quasi):
            texts, which = quasi.hierarchy.texts(self.lo[:, a], self.hi[:, a])
            columns[quasi.name] = _texts(texts, np.repeat(which, self.counts))
        for s, sensitive in enumerate(self.cells.sensitive if self.shows_sensitive else ()):
            columns[sensitive.name] = _texts(sensitive.hierarchy.leaves, np.repeat(self.values[:, s], self.counts))
        ordered = {name: columns[name] for name in self.table.published if name in columns}
        return pa.table(ordered)


def _texts(texts: Sequence[str], which: Codes) -> pa.Array:
    """Return a column of texts; an empty text is a missing value."""
    return text_column([text or None for text in texts]).take(number_column(which))


def record_release(
    table: Table,
    records: Records,
    *,
    people: bool,
    truthful: bool = False,
    linked: Counts | None = None,
    guarantee: Guarantee | None = None,
    publishable: bool = True,
    details: Mapping[str, Any] | None = None,
) -> RecordRelease:
    """Publish records as points; `linked` has the original cell of each."""
    quasi = len(table.cells.quasi)
    lo, values = records.codes[:, :quasi], records.codes[:, quasi:]
    release = boxed_records(table, lo, lo, values, people=people, truthful=truthful, linked=linked)
    extra = {"guarantee": guarantee, "publishable": publishable, "details": details or {}}
    return RecordRelease(**{**vars(release), **extra})


def boxed_records(
    table: Table,
    lo: Codes,
    hi: Codes,
    values: Codes,
    *,
    people: bool,
    truthful: bool,
    linked: Counts | None = None,
    counts: Counts | None = None,
    group: Counts | None = None,
) -> RecordRelease:
    """Publish records as boxes, one row each (with `counts`), and their sensitive leaf codes.

    A release shows all sensitive attributes or none: if any value is `NOT_SHOWN`, none are shown. Records of one box
    are a group, unless `group` numbers the distinguishable ones: a file may have different texts for the same box.
    """
    each = np.ones(len(lo), np.int64) if counts is None else counts
    rows = np.ascontiguousarray(np.column_stack([lo, hi, values]), dtype=np.int32)
    distinct = Points.of(rows, each)
    link = None if linked is None else Assignment.gathered(linked, distinct.number, each)
    if group is None:
        group = distinct_rows(rows[:, : 2 * lo.shape[1]])[1]
    first = np.unique(group, return_index=True)[1]
    sizes = weighted_counts(group, each, len(first))
    boxes = Boxes(lo[first], hi[first], sizes, np.arange(len(first)))
    complete = values.shape[1] > 0 and bool((values != NOT_SHOWN).all())
    histograms = _histograms(table.cells, values, each, group, sizes) if complete else None
    return RecordRelease(table, distinct.codes, distinct.counts, boxes, sizes, histograms, people, truthful, link)


def dealt_out(values: Codes, group: Counts, generator: np.random.Generator) -> Codes:
    """Permute the values of each group at random."""
    dealt = np.empty_like(values)
    dealt[np.argsort(group, kind="stable")] = values[np.lexsort((generator.random(len(group)), group))]
    return dealt


def _histograms(cells: Cells, values: Codes, counts: Counts, group: Counts, sizes: Counts) -> Histograms:
    """Count the sensitive values of each group; a value that nobody in the table has is not counted."""
    totals = np.zeros((len(sizes), int(cells.spans[-1])), np.int64)
    for s, attribute in enumerate(cells.sensitive):
        column = np.full(attribute.hierarchy.size, -1, np.int64)
        column[attribute.leaves] = np.arange(attribute.size) + cells.spans[s]
        place = column[values[:, s]]
        known = place >= 0
        np.add.at(totals, (group[known], place[known]), counts[known])
    return Histograms(cells.sensitive, sizes, totals)


def unchanged_records(release: RecordRelease) -> int:
    """Count the people whose record is published unchanged, if original records are known."""
    if release.link is None:
        return 0
    return int(release.link.count[_same_values(release, release.link).all(axis=1)].sum())


def unchanged_values(release: RecordRelease) -> dict[str, float]:
    """Return by column the share of the values that are published unchanged, if original records are known."""
    if release.link is None or not release.link.records:
        return {}
    shares = release.link.count @ _same_values(release, release.link) / release.link.records
    names = [*(quasi.name for quasi in release.cells.quasi), *(each.name for each in release.cells.sensitive)]
    return dict(zip(names, shares.tolist(), strict=True))


def _same_values(release: RecordRelease, link: Assignment) -> NDArray[np.bool_]:
    """Return for each entry of a link and each column whether exactly the recorded value is published."""
    quasi = len(release.cells.quasi)
    original, made = cell_codes(release.cells)[link.cell], release.rows[link.group]
    same = (original[:, :quasi] == made[:, :quasi]) & (original[:, :quasi] == made[:, quasi : 2 * quasi])
    return np.column_stack([same, original[:, quasi:] == made[:, 2 * quasi :]])


def replicated_uniques(release: RecordRelease) -> tuple[int, int]:
    """Count the unique records of the table that are in the release unchanged, and all unique ones."""
    cells, quasi = release.cells, len(release.cells.quasi)
    points = (release.lo == release.hi).all(axis=1)
    codes = np.concatenate([release.lo, release.values], axis=1)[points]
    unique = cell_codes(cells)[cells.counts == 1]
    if not release.shows_sensitive:
        codes, unique = codes[:, :quasi], cells.points.codes[cells.points.counts == 1]
    _, number = distinct_rows(np.concatenate([unique, codes]))
    return int(np.isin(number[: len(unique)], number[len(unique) :]).sum()), len(unique)


def read_as_records(release: Published, generator: np.random.Generator) -> Records:
    """Read any release as points: in a box anywhere, by the widths of leaves.

    In a bucket the sensitive values are permuted at random. Of a noisy release as many records are drawn as its counts.
    Unpublished sensitive values are `NOT_SHOWN`.
    """
    lo, hi, values = released_boxes(release, generator)
    columns = [
        uniform_leaves(quasi.hierarchy, lo[:, a], hi[:, a], generator) for a, quasi in enumerate(release.cells.quasi)
    ]
    return Records(release.cells, np.ascontiguousarray(np.column_stack([*columns, values]), dtype=np.int32))


def released_boxes(release: Published, generator: np.random.Generator) -> tuple[Codes, Codes, Codes]:
    """List the records of any release: the ends of their boxes, and their sensitive leaf codes."""
    if isinstance(release, RecordRelease):
        row = np.repeat(np.arange(len(release.rows)), release.counts)
        return release.lo[row], release.hi[row], release.values[row]
    if isinstance(release, NoisyRelease):
        counts = release.synthetic_counts
        box, value = (np.repeat(index, counts.ravel()) for index in np.indices(counts.shape).reshape(2, -1))
        return release.boxes.lo[box], release.boxes.hi[box], value[:, None].astype(np.int32)
    assert isinstance(release, Release)
    return _assigned_records(release, generator)


def _assigned_records(release: Release, generator: np.random.Generator) -> tuple[Codes, Codes, Codes]:
    """List the records of a release in groups: the ends of their boxes, and their sensitive leaf codes."""
    cells, entries = release.cells, release.assignment
    entry = np.repeat(np.arange(len(entries.count)), entries.count)
    cell, group = entries.cell[entry], entries.group[entry]
    values = cell_codes(cells)[:, len(cells.quasi) :][cell]
    if release.histograms is None:
        values = np.full_like(values, NOT_SHOWN)
    if release.form == "generalization":
        return release.boxes.lo[group], release.boxes.hi[group], values
    return cells.codes[cell], cells.codes[cell], dealt_out(values, group, generator)
