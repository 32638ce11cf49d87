"""Making a release of the rows of a file: an ordinary one, where it is certain which people stand in which group.

    rows are groups of equal texts, by sensitive values; people are cells
    repeat: a kind of row that shows as many records as there are people left whom it covers holds just these people
    all kinds of rows are settled: it is certain who is where, and everything that is said of a release holds
    something is left: the rows are records whose people are not known, and what needs them is not said

A kind of row that covers fewer people than it shows cannot be truthful. Whether rows can be the table's people at all
is decided as the audit decides it (`evidence.coverage`), on the texts as they stand. Where the persons of rows are
known they are in the rows' groups, and truthfully so if the rows cover them.

Who is in which bucket of a file that was bucketized elsewhere, where its points and values leave one way only.

    a file shows   n(x, g): people with the quasi-identifiers x in bucket g;   h(g, s): values s in bucket g
    the table has  c(x, s): people with x and s
    wanted are     a(x, s, g) with the sums n over s, h over x, and at most c over g
    repeat: a point all of whose people are in one bucket brings its values there
            a point whose people all have one value brings it to every bucket
            a bucket with one point left gives it the values that are left
    every point is settled: it is certain who is where

In practice points are in one bucket (Mondrian's), or most of them are single people (Anatomy's).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sfumato.anonymizers.external._rows import ReadRows
from sfumato.auditing.coverage import Coverage, TextCombinations, bucket_coverage, coverage, places_of
from sfumato.auditing.missing_values import reread
from sfumato.auditing.notation import Notation
from sfumato.auditing.published_file import STAR, TextColumn, open_source
from sfumato.data.assignment import Assignment, Points, distinct_rows, weighted_counts
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.engines.protocol import Reading
from sfumato.release.records import RecordRelease, boxed_records, bucketized_records, cell_codes
from sfumato.release.release import Boxes, Release, bucketization
from sfumato.runtime.arrays import Codes, Counts, Flags
from sfumato.runtime.cancellation import look


@dataclass(eq=False)
class Puzzle:
    """What is left to settle. Cells (x, s) and entries (x, g) are lists; both name their point."""

    cell_point: Counts
    cell_value: Counts
    people: Counts
    """Of every cell those who are not settled."""

    entry_point: Counts
    entry_bucket: Counts
    rows: Counts
    """Of every entry those that are not settled."""

    values: Counts
    """Buckets x values: those that are not settled; no columns where values cannot be followed."""

    def __post_init__(self) -> None:
        self.points = int(max(self.cell_point.max(), self.entry_point.max())) + 1
        self.parts: list[tuple[Counts, Counts, Counts]] = []

    def settled(self) -> Assignment | None:
        """Settle what has one way only; None where something is left, or does not fit."""
        while self.rows.any():
            look()
            left = int(self.rows.sum())
            self._in_one_bucket()
            if self.values.shape[1]:
                self._with_one_value()
                self._last_in_bucket()
            if min(self.people.min(), self.rows.min(), self.values.min(initial=0)) < 0:
                return None
            if int(self.rows.sum()) == left:
                return None
        return Assignment.gathered(*map(np.concatenate, zip(*self.parts, strict=True)))

    def _of_points(self, point: Counts, number: Counts) -> Counts:
        return weighted_counts(point, number, self.points)

    def _everybody(self) -> np.ndarray:
        """Say of which points as many rows as people are left: nobody of theirs is left out."""
        people = self._of_points(self.cell_point, self.people)
        full: np.ndarray = (people == self._of_points(self.entry_point, self.rows)) & (people > 0)
        return full

    def _in_one_bucket(self) -> None:
        """Send the people of points to the one bucket where they are shown."""
        live = self.rows > 0
        one = self._everybody() & (self._of_points(self.entry_point[live], np.ones(live.sum())) == 1)
        bucket = np.zeros(self.points, np.int64)
        bucket[self.entry_point[live]] = self.entry_bucket[live]
        cell = np.flatnonzero(one[self.cell_point] & (self.people > 0))
        self._settle(cell, bucket[self.cell_point[cell]], self.people[cell])
        self.rows[live & one[self.entry_point]] = 0

    def _with_one_value(self) -> None:
        """Send the people of points, who all have one value, to all buckets where they are shown."""
        left = self.people > 0
        one = self._everybody() & (self._of_points(self.cell_point[left], np.ones(left.sum())) == 1)
        cell = np.zeros(self.points, np.int64)
        cell[self.cell_point[left]] = np.flatnonzero(left)
        entry = np.flatnonzero(one[self.entry_point] & (self.rows > 0))
        self._settle(cell[self.entry_point[entry]], self.entry_bucket[entry], self.rows[entry])
        self.rows[entry] = 0

    def _last_in_bucket(self) -> None:
        """Give the values that are left in a bucket to the one point that is left there."""
        live = np.flatnonzero(self.rows > 0)
        alone = np.bincount(self.entry_bucket[live], minlength=len(self.values))[self.entry_bucket[live]] == 1
        entries = live[alone]
        entries = entries[np.unique(self.entry_point[entries], return_index=True)[1]]  # a point at a time
        key = self.cell_point * self.values.shape[1] + self.cell_value
        order = np.argsort(key)
        which, value = np.nonzero(self.values[self.entry_bucket[entries]])
        wanted = self.entry_point[entries][which] * self.values.shape[1] + value
        place = np.searchsorted(key[order], wanted)
        place[place == len(order)] = 0
        cell = order[place]
        fits = key[cell] == wanted
        bucket = self.entry_bucket[entries][which]
        if not fits.all():
            self.rows[entries] = -1  # a value that nobody of the point has
            return
        self._settle(cell, bucket, self.values[bucket, value])
        self.rows[entries] = 0

    def _settle(self, cell: Counts, bucket: Counts, number: Counts) -> None:
        """Note that people of cells are in buckets."""
        self.parts.append((cell, bucket, number))
        np.subtract.at(self.people, cell, number)
        if self.values.shape[1]:
            np.subtract.at(self.values, (bucket, self.cell_value[cell]), number)


MOST_PAIRS = 50_000_000
"""Where kinds of rows cover more people than this, pair by pair, nobody is looked for."""


@dataclass(frozen=True)
class PlacedRows:
    """A release of a file's rows, and how it came about."""

    release: Release | RecordRelease
    coverage: Coverage | None
    """Whether its rows can be people of the table; None where that was not asked."""

    outside: int
    """How many rows do not cover the person that they stand for, where that is known."""

    @property
    def certain(self) -> bool:
        """Whether it is known which people stand in which group."""
        return isinstance(self.release, Release)


def placed(rows: ReadRows, people: bool) -> PlacedRows:
    """Make a release of the rows of a file, whose records stand for people or for nobody."""
    if not people:
        return PlacedRows(_records(rows, False, truthful=False), None, 0)
    if rows.bucket is not None:
        return _bucketized(rows)
    if rows.linked is not None:
        inside = _covers_person(rows, rows.linked, rows.shows_sensitive)
        if inside.all() and not rows.moved:
            return PlacedRows(_release(rows, Assignment.gathered(rows.linked, rows.group[1])), None, 0)
        return PlacedRows(_records(rows, True, truthful=False), None, int((~inside).sum()))
    coverage = _coverage(rows) if rows.quasi else None
    can_be = rows.moved == 0 and (coverage is None or (coverage.holds and coverage.exact))
    assignment = _certain(rows) if can_be else None
    if assignment is None:
        return PlacedRows(_records(rows, True, truthful=can_be and coverage is not None), coverage, 0)
    return PlacedRows(_release(rows, assignment), coverage, 0)


def _records(rows: ReadRows, people: bool, truthful: bool) -> RecordRelease:
    lo, hi = rows.ends
    return boxed_records(
        rows.table,
        lo,
        hi,
        rows.values,
        people=people,
        truthful=truthful,
        linked=rows.linked if people else None,
        counts=rows.counted.counts,
        group=rows.group[1],
    )


def _release(rows: ReadRows, assignment: Assignment) -> Release:
    """Put people into the groups of the file."""
    (first, _), (lo, hi), cells = rows.group, rows.ends, rows.table.cells
    sizes = assignment.sizes(len(first))
    boxes = Boxes(lo[first], hi[first], sizes, np.arange(len(first)))
    histograms = cells.histograms(assignment, len(first)) if rows.shows_sensitive else None
    return Release(rows.table, "generalization", assignment, boxes, sizes, histograms)


# -- buckets -------------------------------------------------------------------------------------------------------


def _bucketized(rows: ReadRows) -> PlacedRows:
    """Make a release of people's points beside the values of their buckets."""
    (lo, _), bucket, table = rows.ends, rows.group[1], rows.table
    records = bucketized_records(table, lo, rows.values, bucket, rows.counted.counts, truthful=True)
    if rows.linked is not None:
        inside = _covers_person(rows, rows.linked, with_values=False)
        assignment = Assignment.gathered(rows.linked, bucket) if inside.all() else None
        coverage, outside = None, int((~inside).sum())
    else:
        coverage, outside = _coverage(rows), 0
        assignment = _certain_buckets(rows) if coverage.holds else None
    if assignment is not None:
        release = bucketization(table, assignment, len(rows.group[0]))
        if _same_values(release, records):
            return PlacedRows(release, coverage, 0)
    truthful = not outside and (coverage is None or coverage.holds)
    return PlacedRows(replace(records, truthful=truthful), coverage, outside)


def _same_values(release: Release, records: RecordRelease) -> bool:
    """Say whether the people who would be in every bucket have the values that are shown there."""
    assert release.histograms is not None and records.histograms is not None
    return bool((release.histograms.counts == records.histograms.counts).all())


def _certain_buckets(rows: ReadRows) -> Assignment | None:
    """Find out who is in which bucket, where there is one way only; of several values of a person none is followed."""
    cells, (lo, _), bucket = rows.table.cells, rows.ends, rows.group[1]
    codes = np.concatenate([cells.codes, lo]).astype(np.int32)
    point = distinct_rows(codes)[1]
    entries = Points.of(np.column_stack([point[cells.size :], bucket]).astype(np.int32), rows.counted.counts)
    values = np.zeros((len(rows.group[0]), 0), np.int64)
    if len(cells.sensitive) == 1:
        place = np.full(cells.sensitive[0].hierarchy.size, -1)
        place[cells.sensitive[0].leaves] = np.arange(cells.sensitive[0].size)
        values = np.zeros((len(rows.group[0]), cells.sensitive[0].size), np.int64)
        np.add.at(values, (bucket, place[rows.values[:, 0]]), rows.counted.counts)
    return Puzzle(
        point[: cells.size],
        cells.values[:, 0].astype(np.int64),
        cells.counts.copy(),
        entries.codes[:, 0].astype(np.int64),
        entries.codes[:, 1].astype(np.int64),
        entries.counts.copy(),
        values,
    ).settled()


# -- can they be people of the table ---------------------------------------------------------------------------------


def _coverage(rows: ReadRows) -> Coverage:
    """Ask whether every row can be that of a record of its own, which agrees in all columns but quasi-identifiers."""
    table = rows.table
    quasi = list(rows.quasi)
    others = [name for name in rows.shown_columns if name not in quasi]
    original = open_source(table, Reading()).count([*quasi, *others])
    suppressed = [name for name, column in rows.quasi.items() if column.any_missing]
    published = reread(rows.texts, suppressed, {"": STAR})
    for name, column in rows.sensitive.items():
        labels = table.hierarchies[name].leaves
        published = published.replaced(name, column.column.called([labels[leaf] for leaf in column.leaves]))
        original = original.replaced(name, _labelled(original.columns[name], table.hierarchies[name]))
    domains = {**table.hierarchies, **table.fine}
    notations = {name: Notation(domains[name], frozenset(original.columns[name].texts) - {STAR}) for name in quasi}
    if rows.bucket is None:
        return coverage(published, original, quasi, others, notations)
    return bucket_coverage(published, original, quasi, [], list(rows.sensitive), rows.bucket, notations)


def _labelled(column: TextColumn, hierarchy: Hierarchy) -> TextColumn:
    """Call the values of a table by the labels of their leaves."""
    codes = hierarchy.encode([text or None for text in column.texts])
    return column.called([hierarchy.leaves[code] for code in codes])


def _covers_person(rows: ReadRows, person: Counts, with_values: bool) -> Flags:
    """Say of every row whether it shows what covers its person, and the person's sensitive values if these are its."""
    cells = rows.table.cells
    inside = np.ones(len(person), np.bool_)
    for place, attribute in enumerate(cells.quasi):
        if attribute.name in rows.quasi:
            column, code = rows.quasi[attribute.name], cells.codes[person, place]
            masks = np.pad(column.covered(attribute.hierarchy.size), ((0, 0), (0, 1)))
            inside &= masks[column.column.codes, code]
    if with_values:
        inside &= (rows.values == cell_codes(cells)[person, len(cells.quasi) :]).all(axis=1)
    return inside


# -- who is where ----------------------------------------------------------------------------------------------------


def _certain(rows: ReadRows) -> Assignment | None:
    """Find out which people stand in which group, where there is one way only."""
    cells = rows.table.cells
    kind, need, group_of, cell_class, classes = _kinds(rows)
    pairs = _pairs(rows)
    if pairs is None:
        return None
    group, cell = pairs
    key = group * classes + cell_class[cell]
    place = np.searchsorted(kind, key)
    place[place == len(kind)] = 0
    meets = kind[place] == key
    return _settled(place[meets], cell[meets], need, cells.counts.copy(), group_of)


def _kinds(rows: ReadRows) -> tuple[Counts, Counts, Counts, Counts, int]:
    """Number kinds of rows (group, sensitive values): their keys, records and groups; the class of every cell."""
    cells = rows.table.cells
    had = cell_codes(cells)[:, len(cells.quasi) :] if rows.shows_sensitive else np.zeros((cells.size, 0), np.int32)
    values: Codes = rows.values if rows.shows_sensitive else np.zeros((len(rows.values), 0), np.int32)
    number = distinct_rows(np.concatenate([had, values]))[1]
    classes = int(number.max()) + 1
    keys, which = np.unique(rows.group[1] * classes + number[cells.size :], return_inverse=True)
    need = np.rint(np.bincount(which, rows.counted.counts)).astype(np.int64)
    return keys, need, keys // classes, number[: cells.size], classes


def _pairs(rows: ReadRows) -> tuple[Counts, Counts] | None:
    """List the groups that cover every cell, as pairs; None where there are too many."""
    cells = rows.table.cells
    if not rows.quasi:
        return np.zeros(cells.size, np.int64), np.arange(cells.size)
    columns = [place for place, attribute in enumerate(cells.quasi) if attribute.name in rows.quasi]
    names = [cells.quasi[place].name for place in columns]
    first, number = rows.group
    boxes = TextCombinations.at(rows.texts, names, first, number)
    first_of, point_of = distinct_rows(np.ascontiguousarray(cells.codes[:, columns]))
    points = TextCombinations(
        tuple(names),
        tuple(cells.quasi[place].hierarchy.leaves for place in columns),
        cells.codes[first_of][:, columns],
        point_of,
    )
    masks = [rows.quasi[name].covered(cells.quasi[p].hierarchy.size) for name, p in zip(names, columns, strict=True)]
    places = places_of(boxes, points, [np.pad(mask, ((0, 0), (0, 1))) for mask in masks])
    if places is None:
        return None
    order = np.argsort(point_of, kind="stable")
    starts = np.searchsorted(point_of[order], np.arange(len(first_of) + 1))
    many = (starts[1:] - starts[:-1])[places.point]
    if int(many.sum()) > MOST_PAIRS:
        return None
    within = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
    cell = order[np.repeat(starts[places.point], many) + within]
    return np.repeat(places.box, many), cell


def _settled(kind: Counts, cell: Counts, need: Counts, left: Counts, group_of: Counts) -> Assignment | None:
    """Settle kinds of rows that hold all people left whom they cover, until none is left; None where one stays."""
    need = need.copy()
    parts: list[tuple[Counts, Counts, Counts]] = []
    while need.any():
        look()
        covered = np.rint(np.bincount(kind, left[cell], len(need))).astype(np.int64)
        if (covered < need).any():
            return None
        tight = (need > 0) & (covered == need)
        taken = tight[kind] & (left[cell] > 0)
        if not taken.any() or len(np.unique(cell[taken])) < int(taken.sum()):
            return None
        parts.append((cell[taken], group_of[kind[taken]], left[cell[taken]]))
        left[cell[taken]] = 0
        need[tight] = 0
        live = need[kind] > 0
        kind, cell = kind[live], cell[live]
    return Assignment.gathered(*map(np.concatenate, zip(*parts, strict=True)))
