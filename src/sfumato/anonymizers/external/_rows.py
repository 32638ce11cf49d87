"""The rows of a file that was made elsewhere, counted and read against a table; and for whom they stand, where known.

Rows are counted as the audit counts them: distinct combinations of texts. If the publisher declares that rows are in
the table's order, or joined by an id, every row represents its own person and the person's cell is found.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sfumato.anonymizers.external._columns import ReadColumn, ReadValues, read_quasi, read_sensitive
from sfumato.auditing.published_file import Counted, Source, TextColumn, text_column
from sfumato.data.cells import distinct_rows
from sfumato.data.reading import Table
from sfumato.engines.protocol import KeepsOrder
from sfumato.release.records import NOT_SHOWN, cell_codes
from sfumato.release.writing import GROUP
from sfumato.runtime.arrays import Codes, Counts, RedactedRepr
from sfumato.texts.catalogue import counted as counted_words
from sfumato.texts.catalogue import listed, refusal, t

ORDER = "its rows are in the order of the table (aligned)"


@dataclass(frozen=True, eq=False, repr=False)
class ReadRows(RedactedRepr):
    """The rows of a file as records of a table's columns."""

    public_fields: ClassVar[tuple[str, ...]] = ("origin",)

    table: Table
    origin: str
    counted: Counted
    """The combinations that the file shows, in texts."""

    quasi: Mapping[str, ReadColumn]
    """Those that it has."""

    sensitive: Mapping[str, ReadValues]
    linked: Counts | None
    """The cell of the person of every combination, where that is known: then each combination is one row."""

    notices: tuple[str, ...]

    @property
    def records(self) -> int:
        """The number of rows."""
        return self.counted.records

    @property
    def moved(self) -> int:
        """How many values the domain has not; rows count once for every column."""
        return sum(column.moved for column in (*self.quasi.values(), *self.sensitive.values()))

    @property
    def shows_sensitive(self) -> bool:
        """Whether all sensitive attributes are in the file."""
        names = [attribute.name for attribute in self.table.cells.sensitive]
        return bool(names) and all(name in self.sensitive for name in names)

    @cached_property
    def texts(self) -> Counted:
        """The combinations, with everything that means missing written alike."""
        read = {name: column.column for name, column in (*self.quasi.items(), *self.sensitive.items())}
        return Counted({**self.counted.columns, **read}, self.counted.counts)

    @cached_property
    def ends(self) -> tuple[Codes, Codes]:
        """The box of every combination; a column that the file has not shows its whole domain."""
        lo, hi = (np.tile(end, (len(self.counted.counts), 1)) for end in self.table.cells.whole)
        for place, attribute in enumerate(self.table.cells.quasi):
            if attribute.name in self.quasi:
                column = self.quasi[attribute.name]
                lo[:, place], hi[:, place] = column.lo[column.column.codes], column.hi[column.column.codes]
        return lo, hi

    @cached_property
    def values(self) -> Codes:
        """The sensitive leaf codes of every combination; where any attribute is not in the file, of none."""
        attributes = self.table.cells.sensitive
        values = np.full((len(self.counted.counts), len(attributes)), NOT_SHOWN, np.int32)
        for place, attribute in enumerate(attributes if self.shows_sensitive else ()):
            column = self.sensitive[attribute.name]
            values[:, place] = column.leaves[column.column.codes]
        return values

    @cached_property
    def group(self) -> tuple[Counts, Counts]:
        """The groups that a reader sees, those of equal texts: a combination that shows each, and each one's group."""
        return self.counted.number(list(self.quasi))


def read_rows(
    source: Source,
    table: Table,
    *,
    aligned: bool = False,
    id: str | None = None,
    handed: Counts | None = None,
    missing: str = "value",
    na: Sequence[str] = (),
    stars: str = "keep",
) -> ReadRows:
    """Read a file against a table; `handed` are the cells of its rows in the order in which a function got them."""
    origin, columns = source.origin, source.engine.columns
    roles = table.roles
    known = [name for name in table.published if name in columns]
    quasi = [name for name in known if name in roles.quasi]
    if not quasi and not any(name in roles.sensitive for name in known):
        raise refusal("none_table_columns", origin=origin, published=table.published, columns=columns[:30])
    source.check(known, t("notice.column_table"))
    counted, linked = _counted(source, table, known, aligned, id, handed)
    notices = _about_columns(table, columns, known, id)
    if stars == "leave-out" and quasi:
        counted, linked, remarks = _without_stars(counted, linked, quasi, origin)
        notices += remarks
    notices += _about_numbers(counted.records, table)
    missing_texts = (*na, *table.engine.na)
    hierarchies, weights = table.hierarchies, counted.counts
    read = {
        name: read_quasi(origin, name, counted.columns[name], weights, hierarchies[name], missing_texts, missing)
        for name in quasi
    }
    values = {
        name: read_sensitive(origin, name, counted.columns[name], weights, hierarchies[name], missing_texts)
        for name in known
        if name in roles.sensitive
    }
    for column in (*read.values(), *values.values()):
        notices += column.notices
    return ReadRows(table, origin, counted, read, values, linked, tuple(notices))


def _about_columns(table: Table, columns: Sequence[str], known: Sequence[str], id: str | None) -> list[str]:
    """Say which columns are not there, and which are not looked at."""
    roles, notices = table.roles, []
    if absent := [name for name in roles.quasi if name not in known]:
        notices.append(t("notice.not_file", absent=absent, absent_2=len(absent)))
    if absent := [name for name in roles.sensitive if name not in known]:
        rest = [name for name in roles.sensitive if name in known]
        aside = t("notice.left_aside_too", rest=rest) if rest else ""
        notices.append(t("notice.sensitive_not_file", absent=absent, absent_2=len(absent), aside=aside))
    if extra := [name for name in columns if name not in known and name != id]:
        notices.append(t("notice.not_looked", extra=extra[:10]))
        if GROUP in extra:
            notices.append(t("notice.if_numbers_buckets_bucketization", GROUP=GROUP))
    return notices


def _about_numbers(records: int, table: Table) -> list[str]:
    """Say where a file has more or fewer rows than the table."""
    people = table.cells.records
    if records == people:
        return []
    which = "more" if records > people else "fewer"
    return [
        t(
            "notice.than_table",
            counted_words=counted_words(records, "row"),
            which=which,
            counted_words_2=counted_words(people, "record"),
        )
    ]


def _without_stars(
    counted: Counted, linked: Counts | None, quasi: Sequence[str], origin: str
) -> tuple[Counted, Counts | None, list[str]]:
    """Leave out the rows that show `*` everywhere, as suppressed records."""
    stars = counted.all_stars(quasi)
    left_out = int(counted.counts[stars].sum())
    if left_out == counted.records:
        raise refusal("every_row_shows_all", origin=origin)
    remarks = [t("notice.left_out_suppressed", counted_words=counted_words(left_out, "row"))]
    return counted.where(~stars), None if linked is None else linked[~stars], remarks if left_out else []


# -- for whom rows stand -------------------------------------------------------------------------------------------


def _counted(
    source: Source, table: Table, known: Sequence[str], aligned: bool, id: str | None, handed: Counts | None
) -> tuple[Counted, Counts | None]:
    """Count the rows; where it is known for whom they stand, one by one, with the cells of these people."""
    if id is not None:
        return _joined(source, table, known, id)
    if not aligned:
        return source.count(known), None
    cells = row_cells(table) if handed is None else handed
    rows = _in_order(source, known, ORDER)
    if rows.num_rows != len(cells):
        raise refusal(
            "table_rows_cannot_stand",
            origin=source.origin,
            counted_words=counted_words(rows.num_rows, "row"),
            counted_words_2=counted_words(len(cells), "row"),
        )
    there = cells >= 0
    counted = _as_counted(rows)
    return (counted, cells) if there.all() else (counted.where(there), cells[there])


def _in_order(source: Source, names: Sequence[str], why: str) -> pa.Table:
    engine = source.engine
    if not isinstance(engine, KeepsOrder):
        raise refusal("but_rows_read_no", origin=source.origin, why=why, name=engine.name)
    return engine.texts_in_order(names)


def _as_counted(rows: pa.Table) -> Counted:
    """Take rows of texts one by one."""
    columns = {name: text_column(rows.column(name)) for name in rows.column_names}
    return Counted(columns, np.ones(rows.num_rows, np.int64))


def row_cells(table: Table) -> Counts:
    """Find the cell of every row of a table in its order; -1 where the row was dropped."""
    _check_unruled(table)
    return _cells_of(table, _in_order(Source(table.engine), [coding.column for coding in table.codings], ORDER))


def _check_unruled(table: Table) -> None:
    """Raise where values were never listed one by one."""
    if any(coding.rule is not None for coding in table.codings):
        raise refusal("large_values_read_rule", origin=table.engine.origin)


def _cells_of(table: Table, rows: pa.Table) -> Counts:
    """Find the cells of rows by the codes of their texts."""
    by_name = {coding.column: coding.codes for coding in table.codings}
    cells = table.cells
    columns = []
    for name in (*(quasi.name for quasi in cells.quasi), *(sensitive.name for sensitive in cells.sensitive)):
        column = text_column(rows.column(name))
        codes = np.array([by_name[name].get(text or None, -2) for text in column.texts], np.int32)
        columns.append(codes[column.codes])
    looked_for = np.stack(columns, axis=1).astype(np.int32)
    known = cell_codes(cells)
    first, number = distinct_rows(np.concatenate([known, looked_for]))
    place = np.full(len(first), -1, np.int64)
    place[number[: len(known)]] = np.arange(len(known))
    return place[number[len(known) :]]


def _joined(source: Source, table: Table, known: Sequence[str], id: str) -> tuple[Counted, Counts]:
    """Join the rows of a file to those of the table by an id that both have."""
    source.check([id], "id")
    if id not in table.engine.columns:
        columns = listed(table.engine.columns[:30])
        raise refusal("no_column_rows", origin=table.engine.origin, id=id, columns=columns)
    names = [coding.column for coding in table.codings]
    _check_unruled(table)
    theirs = source.count([id, *(name for name in known if name != id)])
    ours = Source(table.engine).count([id, *(name for name in names if name != id)])
    _check_ids(theirs, id, source.origin)
    _check_ids(ours, id, table.engine.origin)
    rows = pa.table({name: pa.DictionaryArray.from_arrays(c.codes, list(c.texts)) for name, c in ours.columns.items()})
    cell = _cells_of(table, rows)
    person = dict(zip(_texts(ours.columns[id]), cell.tolist(), strict=True))
    ids = _texts(theirs.columns[id])
    strange = [text for text in ids if text not in person]
    if strange:
        raise refusal(
            "id_table_not", origin=source.origin, id=id, counted_words=counted_words(len(strange), "row"), ids=len(ids)
        )
    cells = np.array([person[text] for text in ids], np.int64)
    there = cells >= 0
    kept = Counted({name: theirs.columns[name] for name in known}, theirs.counts)
    return (kept, cells) if there.all() else (kept.where(there), cells[there])


def _texts(column: TextColumn) -> list[str]:
    return [column.texts[code] for code in column.codes.tolist()]


def _check_ids(counted: Counted, id: str, origin: str) -> None:
    """Raise unless every row has a distinct id."""
    column = counted.columns[id]
    rows = np.rint(np.bincount(column.codes, counted.counts, len(column.texts))).astype(np.int64)
    repeated = int((rows > 1).sum())
    if repeated or "" in column.texts:
        what = (
            t("notice.several_rows", counted_words=counted_words(repeated, "id"))
            if repeated
            else t("notice.rows_without_id")
        )
        raise refusal("id_must_tell_all", origin=origin, id=id, what=what)
