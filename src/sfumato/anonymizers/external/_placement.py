"""Making a release of the rows of a file: an ordinary one, where it is certain which people are in which group.

    Rows are groups of equal texts, by sensitive values; people are cells.
    Repeat: a kind of row that shows as many records as there are people left whom it covers holds just these people.
    All kinds of rows are settled: it is certain who is where, and every measure of such a release is defined.
    Something is left: the rows are records whose people are not known, and measures that need them are undefined.

A kind of row that covers fewer people than it shows cannot be truthful. Whether rows can be the table's people at all
is decided as the audit decides it (`evidence.coverage`), on the texts as they stand. If the persons of rows are
known, they are in the rows' groups, and truthfully so if the rows cover them.
"""

from dataclasses import dataclass

import numpy as np

from sfumato.anonymizers.external._rows import ReadRows
from sfumato.auditing.coverage import Coverage, TextCombinations, coverage, places_of
from sfumato.auditing.missing_values import reread
from sfumato.auditing.notation import Notation
from sfumato.auditing.published_file import STAR, TextColumn, open_source
from sfumato.data.cells import Assignment, distinct_rows
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.engines.protocol import Reading
from sfumato.release.records import RecordRelease, boxed_records, cell_codes
from sfumato.release.release import Boxes, Release
from sfumato.runtime.arrays import Codes, Counts, Flags
from sfumato.runtime.cancellation import check_cancelled

MOST_PAIRS = 50_000_000
"""If kinds of rows cover more people than this, pair by pair, no search is made."""


@dataclass(frozen=True)
class PlacedRows:
    """A release of a file's rows, and how it came about."""

    release: Release | RecordRelease
    coverage: Coverage | None
    """Whether its rows can be people of the table; None where that was not asked."""

    outside: int
    """The number of rows that do not cover their person, where the person is known."""

    @property
    def certain(self) -> bool:
        """Whether the assignment of people to groups is known."""
        return isinstance(self.release, Release)


def placed(rows: ReadRows, people: bool) -> PlacedRows:
    """Make a release of the rows of a file, whose records represent people or nobody."""
    if not people:
        return PlacedRows(_records(rows, False, truthful=False), None, 0)
    if rows.linked is not None:
        inside = _covers_person(rows, rows.linked)
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


# -- can they be people of the table ---------------------------------------------------------------------------------


def _coverage(rows: ReadRows) -> Coverage:
    """Return whether a matching of rows to records exists that agrees in all columns but quasi-identifiers."""
    table = rows.table
    quasi = list(rows.quasi)
    others = [name for name in rows.counted.columns if name not in quasi]
    original = open_source(table, Reading()).count([*quasi, *others])
    suppressed = [name for name, column in rows.quasi.items() if column.any_missing]
    published = reread(rows.texts, suppressed, {"": STAR})
    for name, column in rows.sensitive.items():
        labels = table.hierarchies[name].leaves
        published = published.replaced(name, column.column.called([labels[leaf] for leaf in column.leaves]))
        original = original.replaced(name, _labelled(original.columns[name], table.hierarchies[name]))
    domains = {**table.hierarchies, **table.fine}
    notations = {name: Notation(domains[name], frozenset(original.columns[name].texts) - {STAR}) for name in quasi}
    return coverage(published, original, quasi, others, notations)


def _labelled(column: TextColumn, hierarchy: Hierarchy) -> TextColumn:
    """Call the values of a table by the labels of their leaves."""
    codes = hierarchy.encode([text or None for text in column.texts])
    return column.called([hierarchy.leaves[code] for code in codes])


def _covers_person(rows: ReadRows, person: Counts) -> Flags:
    """Return, for every row, whether it covers its person, and the person's sensitive values if these are its."""
    cells = rows.table.cells
    inside = np.ones(len(person), np.bool_)
    for place, attribute in enumerate(cells.quasi):
        if attribute.name in rows.quasi:
            column, code = rows.quasi[attribute.name], cells.codes[person, place]
            masks = np.pad(column.covered(attribute.hierarchy.size), ((0, 0), (0, 1)))
            inside &= masks[column.column.codes, code]
    if rows.shows_sensitive:
        inside &= (rows.values == cell_codes(cells)[person, len(cells.quasi) :]).all(axis=1)
    return inside


# -- who is where ----------------------------------------------------------------------------------------------------


def _certain(rows: ReadRows) -> Assignment | None:
    """Find out which people are in which group, where only one assignment is possible."""
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
        check_cancelled()
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
