"""A release: weighted boxes, each in a group; each group with a histogram of every sensitive attribute.

Makers return this value; measures read only this value. Groups are what the file shows, so groups with the same
published text are merged here, before any measurement.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeGuard

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.cells import Assignment, Cells, Histograms, Points, distinct_rows
from sfumato.data.persons import GroupPersons
from sfumato.data.reading import Ranges, Table
from sfumato.engines._text_files import check_escaping
from sfumato.errors import BadInputError
from sfumato.release import writing
from sfumato.runtime.arrays import Codes, Counts, Numbers, RedactedRepr
from sfumato.runtime.staging import check_targets, staged
from sfumato.texts.catalogue import refusal

if TYPE_CHECKING:
    from sfumato.engines.spark.engine import SparkEngine
    from sfumato.release.content import Guarantee

Form = Literal["generalization", "bucketization"]
FORMS: tuple[Form, ...] = ("generalization", "bucketization")


@dataclass(frozen=True, eq=False, repr=False)
class Boxes(RedactedRepr):
    """Weighted boxes: leaf codes from `lo` to `hi` per attribute, the number of records, and the group of each."""

    lo: Codes
    hi: Codes
    mass: Counts | Numbers
    """Whole numbers, unless they are noisy."""

    group: Counts


class Published(ABC):
    """The common part of all releases: boxes, each in a group, and the sensitive content of each box.

    Estimators and attacks read only this part, so they apply to exact and noisy releases.
    """

    table: Table
    boxes: Boxes
    kind: str
    """The content of its file: a table in groups, records, noisy counts, baskets, or a table with items."""

    guarantee: Guarantee | None = None
    """The guarantee of differential privacy, if it has one."""

    people: bool = False
    """Whether every record represents a person of the table, so that counting them is meaningful."""

    made: ClassVar[tuple[Any, ...]] = ()
    """Its maker, requirement, form and suppression limit; known until it is changed."""

    @property
    def cells(self) -> Cells:
        """The cells of the table."""
        return self.table.cells

    @property
    def shows_sensitive(self) -> bool:
        """Whether sensitive values are published."""
        return bool(self.cells.sensitive)

    def made_by(self, *settings: Any) -> Self:
        """Store how it was made, for its certificates."""
        vars(self)["made"] = settings
        return self

    def publish(self, path: str | Path, force: bool = False, escape_formulas: bool = False) -> Any:
        """Write it, audit the written file and certify it: all files, or none. `to_csv` writes data only."""
        pipeline = import_module("sfumato.publish.pipeline")  # a higher package
        return pipeline.publish_release(self, Path(path), force, escape_formulas)

    @property
    @abstractmethod
    def content(self) -> Numbers:
        """The sensitive counts of every box: boxes x values, all sensitive attributes side by side."""

    @abstractmethod
    def write_draft(self, draft: Path, format: writing.Format, escape_formulas: bool = False) -> None:
        """Write its rows to a draft."""

    def to_csv(self, path: str | Path, force: bool = False, escape_formulas: bool = False) -> list[Path]:
        """Write it as CSV, all or nothing; an existing file is kept unless `force`. Return the written files.

        `escape_formulas` writes a leading `'` in cells that a spreadsheet would run as formulas.
        """
        return self._write(Path(path), force, "csv", escape_formulas)

    def to_parquet(self, path: str | Path, force: bool = False) -> list[Path]:
        """Write it as Parquet, likewise."""
        return self._write(Path(path), force, "parquet")

    def _write(self, path: Path, force: bool, format: writing.Format, escape_formulas: bool = False) -> list[Path]:
        if writing.format_of(path) != format:
            raise BadInputError(f"{path}: this name says {writing.format_of(path)}, not {format}; choose another")
        check_escaping(escape_formulas, path, format)
        check_targets([path], force, writing.inputs_of(self))
        with staged([path]) as [draft]:
            self.write_draft(draft, format, escape_formulas)
        return [path]

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """Return the content of its file as an Arrow table, in the same order of rows."""

    def to_pandas(self) -> Any:
        """Return the content of its file as a pandas frame, in the same order of rows, with a new index."""
        return writing.pandas_frame(self.to_arrow())

    def to_polars(self) -> Any:
        """Return the content of its file as a polars frame, in the same order of rows."""
        return writing.polars_frame(self.to_arrow())

    def to_spark(self) -> Any:
        """Return the content of its file as a frame of Spark, if the table is one, without collecting its rows."""
        from sfumato.engines.spark.engine import SparkEngine

        engine = self.table.engine
        if not isinstance(engine, SparkEngine):
            raise refusal("not_in_spark", engine=engine)
        return self._in_spark(engine)

    def _in_spark(self, engine: SparkEngine) -> Any:
        return engine.frame_of(self.to_arrow())

    def frame(self) -> Any:
        """Return it as the kind of frame of its table; as an Arrow table for a file."""
        ways = {"pandas": self.to_pandas, "polars": self.to_polars, "arrow": self.to_arrow, "spark": self.to_spark}
        return ways[self.table.kind]()


class Grouped(Published):
    """A release whose records are in groups: those with the same quasi-identifiers, or a bucket's.

    Code that counts the records of groups reads only this part.
    """

    form: Form
    sizes: Counts
    """The number of records of every group."""

    histograms: Histograms | None
    """The sensitive values of every group; None if no sensitive attribute is published."""

    people: bool = True
    truthful: bool = True
    """Whether every record's box contains the values of its person, so that its width is its loss."""

    @property
    @abstractmethod
    def records(self) -> int:
        """The number of published records."""

    @property
    @abstractmethod
    def suppressed(self) -> int:
        """The number of suppressed records."""

    @property
    @abstractmethod
    def quasi_counts(self) -> Counts:
        """The number of records with each combination of published quasi-identifier texts."""

    @property
    def group_persons(self) -> GroupPersons | None:
        """The persons of every group; None if records are counted."""
        return None

    @property
    def shows_sensitive(self) -> bool:
        """Whether sensitive values are published."""
        return self.histograms is not None

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


def counts_people(release: Published) -> TypeGuard[Grouped]:
    """Return whether a release has groups of records that represent persons."""
    return release.people


@dataclass(frozen=True, eq=False, repr=False)
class Release(Grouped):
    """The published form of a table, record by record."""

    kind: ClassVar[str] = "table"  # type: ignore[misc]

    table: Table
    form: Form
    assignment: Assignment
    boxes: Boxes
    sizes: Counts
    histograms: Histograms | None
    levels: tuple[int, ...] = ()
    """For a full-domain recoding the level of each attribute, which determines the labels of nodes."""

    details: Mapping[str, Any] = field(default_factory=dict)
    """Details of its maker, such as the transformation; internal."""

    def __repr__(self) -> str:
        made = vars(self).get("made")  # the number of rows is omitted: it is a fact about suppressed records
        promise = f"{made[1]} by {made[0]}, " if made else ""
        return f"<Release: {promise}{self.form} of {', '.join(quasi.name for quasi in self.cells.quasi)}>"

    @property
    def records(self) -> int:
        """The number of published records."""
        return self.assignment.records

    @property
    def suppressed(self) -> int:
        """The number of suppressed records."""
        return self.cells.records - self.assignment.records

    @cached_property
    def group_persons(self) -> GroupPersons | None:
        """The persons of every group; None if records are counted."""
        if self.histograms is not None:
            return self.histograms.persons
        return self.cells.group_persons(self.assignment, self.groups)

    @property
    def is_exact(self) -> bool:
        """Whether every published record shows its exact quasi-identifiers, outside of buckets."""
        return self.form == "generalization" and bool((self.boxes.lo == self.boxes.hi).all())

    def quasi_texts(self, attribute: int) -> tuple[list[str], Codes]:
        """Return the distinct texts of one quasi-identifier, and the index of each box's text."""
        hierarchy = self.cells.quasi[attribute].hierarchy
        present = present_leaves(self.cells, self.assignment, attribute)
        level = self.levels[attribute] if self.levels else 0
        return hierarchy.texts(self.boxes.lo[:, attribute], self.boxes.hi[:, attribute], present, level)

    @cached_property
    def quasi_counts(self) -> Counts:
        """The number of records with each combination of published quasi-identifier texts."""
        if self.form == "generalization":
            return self.sizes
        return Points.of(self.boxes.lo, self.boxes.mass).counts

    def to_arrow(self) -> pa.Table:
        """Return the release as an Arrow table: the content of its file, in the same order of rows.

        A column keeps the type of its frame (numbers, dates, truth values, texts) if all published values have it;
        generalized values are texts. A text file has no types, so there the published values decide.
        """
        return writing.typed(writing.release_rows(self), self.table.engine.texts)

    def _in_spark(self, engine: SparkEngine) -> Any:
        return engine.placed_frame(*writing.placed(self))

    def write_draft(self, draft: Path, format: writing.Format, escape_formulas: bool = False) -> None:
        """Write its rows to a draft."""
        writing.write_draft(self, draft, format, escape_formulas)


def generalization(
    table: Table,
    assignment: Assignment,
    lo: Codes,
    hi: Codes,
    sensitive: bool = True,
    ranges: Ranges | None = "rounded",
) -> Release:
    """Publish the box of each group (one row of `lo` and `hi` per group) instead of its quasi-identifiers.

    Without `ranges`, boxes are published as given: nodes of hierarchies, or boxes that were published before.
    """
    if ranges is not None:
        lo, hi = published_ends(table, assignment, lo, hi, ranges)
    both = np.concatenate([lo, hi], axis=1)
    first, merged = distinct_rows(both)
    assignment = assignment.merged(merged)
    histograms = table.cells.histograms(assignment, len(first)) if sensitive else None
    sizes = assignment.sizes(len(first)) if histograms is None else histograms.sizes
    boxes = Boxes(lo[first], hi[first], sizes, np.arange(len(first)))
    return Release(table, "generalization", assignment, boxes, sizes, histograms)


def present_leaves(cells: Cells, assignment: Assignment, attribute: int) -> NDArray[np.bool_]:
    """Return which leaves of an attribute occur among the published records."""
    present = np.zeros(cells.quasi[attribute].hierarchy.size, np.bool_)
    present[cells.codes[assignment.cell, attribute]] = True
    return present


def published_ends(table: Table, assignment: Assignment, lo: Codes, hi: Codes, ranges: Ranges) -> tuple[Codes, Codes]:
    """Return the published box of each group, given the box of its records.

    An interval of one leaf is unchanged, because all records of the group share that value.
    """
    cells = table.cells
    if ranges != "node":
        lo, hi = shown_ends(cells, assignment, lo, hi, table.grown)
    return widened(cells, lo, hi, ranges)


def widened(cells: Cells, lo: Codes, hi: Codes, ranges: Ranges) -> tuple[Codes, Codes]:
    """Widen boxes to the published ranges: rounded ends, or nodes; tight ones are unchanged."""
    if ranges == "tight":
        return lo, hi
    lo, hi = lo.copy(), hi.copy()
    for a, quasi in enumerate(cells.quasi):
        widen = quasi.hierarchy.smallest_nodes if ranges == "node" else quasi.hierarchy.rounded_outward
        lo[:, a], hi[:, a] = widen(lo[:, a], hi[:, a])
    return lo, hi


def shown_ends(
    cells: Cells, assignment: Assignment, lo: Codes, hi: Codes, grown: Sequence[str] = (), to_bands: bool = False
) -> tuple[Codes, Codes]:
    """Shrink the ends of boxes to published leaves (or to their bands), in an observed domain.

    Otherwise the end of a box could show a value that only suppressed records have. The whole domain is unchanged. In a
    declared domain that has `grown` by a leaf for missing values, only that leaf was observed.
    """
    lo, hi = lo.copy(), hi.copy()
    for a, quasi in enumerate(cells.quasi):
        if quasi.hierarchy.observed:
            last = quasi.hierarchy.size - 1
            leaves = np.flatnonzero(present_leaves(cells, assignment, a))
            inner = (lo[:, a] > 0) | (hi[:, a] < last)
            first = leaves[np.searchsorted(leaves, lo[inner, a])]
            last = leaves[np.searchsorted(leaves, hi[inner, a], side="right") - 1]
            if to_bands:
                begins, ends = quasi.hierarchy.bands
                first, last = np.maximum(begins[first], lo[inner, a]), np.minimum(ends[last], hi[inner, a])
            lo[inner, a], hi[inner, a] = first, last
        elif quasi.name in grown and not present_leaves(cells, assignment, a)[-1]:
            hi[(lo[:, a] > 0) & (hi[:, a] == quasi.hierarchy.size - 1), a] -= 1
    return lo, hi


def bucketization(table: Table, assignment: Assignment, groups: int) -> Release:
    """Publish the exact quasi-identifiers, and the sensitive values of each group separately."""
    cells = table.cells
    rows = np.concatenate([assignment.group[:, None].astype(np.int32), cells.codes[assignment.cell]], axis=1)
    distinct = Points.of(rows, assignment.count)
    points = cells.codes[assignment.cell[distinct.first]]
    boxes = Boxes(points, points, distinct.counts, assignment.group[distinct.first])
    histograms = cells.histograms(assignment, groups)
    return Release(table, "bucketization", assignment, boxes, histograms.sizes, histograms)
