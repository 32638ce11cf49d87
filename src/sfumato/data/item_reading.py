"""Reading items: of a table's records, from one of its columns or a second file, and of baskets.

Rows are not read one by one: an engine counts the texts of each cell in the column of items, or in the owner column,
and every distinct text is parsed once. Baskets come from files and frames: one basket per line, rows of (owner, item),
or a column of lists. A set of items in one field is separated, a JSON list, or DuckDB's text of a list; the engine
returns it as one text, which is parsed here.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.data.dataset import CellBaskets, MixedTable, Named, mixed_table
from sfumato.data.hierarchies.categorical import in_order
from sfumato.data.hierarchies.declared import read_tree
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.items import Baskets, baskets_of, counted_baskets, equal_rows, rows_once, taken_rows
from sfumato.data.reading import Table
from sfumato.engines import open_rows
from sfumato.engines._text_files import JSON, PARQUET
from sfumato.engines.item_files import ItemRows, find_rows, separator_of, split_line
from sfumato.engines.protocol import CountedLists, Engine, Reading, SourceLayout, column_pairs
from sfumato.errors import BadInputError
from sfumato.runtime.arrays import Codes, Counts, RedactedRepr
from sfumato.texts.catalogue import counted, refusal, t

SHOWN = 8
"""The most columns, or items, that a notice names."""

EXAMPLE = "One of the sets that were read: "
"""The beginning of a notice that shows a record's items."""


def read_baskets(
    source: Any,
    *,
    who: str | None = None,
    item: str | None = None,
    column: str | None = None,
    separator: str | None = None,
    lines: bool = False,
    encoding: str | None = None,
    tree: Hierarchy | Path | str | None = None,
    memory: str | None = None,
    spill: str | None = None,
    person: str | None = None,
) -> Baskets:
    """Read baskets from a file, a frame, or any collection of sets.

    With `who` and `item`: rows of a table, one per item, with the owner column. With `column`, or from a Parquet or
    JSON file: lists of items. Otherwise text, one basket per line, items separated by `separator` (default: detected
    among tab, semicolon, comma, blanks). A text with a header and one item per row is recognized, and refused if that
    is uncertain. `lines` declares that every line is a basket. `tree` is a hierarchy over the items or a level table.
    Beyond `memory` (`"4GB"`) an engine counts on disk, in a private folder of `spill`.
    `person` is the column that identifies the person of each basket, if a person may have several.
    """
    if (who is None) != (item is None):
        raise refusal("rows_items_need_both")
    if lines and (who is not None or column is not None):
        raise refusal("lines_says_every_line")
    is_file = isinstance(source, str | Path)
    reading = Reading(encoding=encoding, empty=True, memory=memory, spill=spill, delimiter=separator)
    in_text = is_text_of_items(source, who, column)
    found = find_rows(Path(source), encoding, separator, person) if in_text and not lines else None
    if found is not None:
        rows = open_rows(source, replace(reading, delimiter=found.separator, header=True, notations=False))
        baskets = _from_table(rows, found.who, found.item, None, person)
        baskets = replace(baskets, notices=(*_recognised(baskets, found), *baskets.notices))
    elif person is not None and (in_text or not (is_file or hasattr(source, "__arrow_c_stream__"))):
        raise refusal("person_of_lines", person=person)
    elif in_text:
        rows = open_rows(source, replace(reading, layout="lines", every_line=lines))
        baskets = _counted(rows.lists("items"), rows.origin, "line", "items")
    elif is_file or isinstance(source, pa.Table) or hasattr(source, "__arrow_c_stream__"):
        origin = "" if is_file else "the frame"
        layout: SourceLayout = "table" if who is not None else "lists"
        rows = open_rows(source, replace(reading, origin=origin, layout=layout, notations=False))
        baskets = _from_table(rows, who, item, column, person)
    else:
        baskets = baskets_of(source)
        return with_tree(baskets, tree)
    return with_tree(replace(baskets, notices=(*rows.notices, *baskets.notices)), tree)


def is_text_of_items(source: Any, who: str | None, column: str | None) -> bool:
    """Return whether a source is a text file without declared columns of items."""
    is_file = isinstance(source, str | Path)
    return is_file and who is None and column is None and Path(source).suffix.lower() not in (*JSON, *PARQUET)


def _recognised(baskets: Baskets, rows: ItemRows) -> tuple[str, str]:
    """Report that a file has one item per row, with an example set."""
    chosen = int(np.argmax((baskets.lengths > 1) & (baskets.lengths <= SHOWN)))
    example = ", ".join(baskets.basket(chosen)[:SHOWN]) + (", ..." if baskets.lengths[chosen] > SHOWN else "")
    read = t("notice.one_item_per_row", baskets=baskets, rows=rows, items=len(baskets.items))
    return read, f"{EXAMPLE}{{{example}}}"


def with_tree(baskets: Baskets, tree: Hierarchy | Path | str | None) -> Baskets:
    """Return baskets with a tree over their items, where one is given."""
    if tree is None:
        return baskets
    hierarchy, notices = read_tree(tree, baskets.places)
    return replace(baskets, tree=hierarchy, notices=baskets.notices + notices)


def _from_table(rows: Engine, who: str | None, item: str | None, column: str | None, person: str | None) -> Baskets:
    for name in (who, item, column, person):
        if name is not None and name not in rows.columns:
            raise refusal("no_column_item_reading", origin=rows.origin, name=name, columns=", ".join(rows.columns))
    named = () if person is None else (person,)
    if who is not None and item is not None:
        lists = rows.gathered(who, item) if person is None else _gathered_by_persons(rows, who, item, person)
        return _with_unread(_counted(lists, rows.origin, "person", item), rows, (who, item, *named))
    listed = [name for name, kind in rows.nested.items() if kind.endswith("[]")]
    name = _list_column(rows.origin, listed, column)
    lists = rows.lists(name) if person is None else _lists_by_persons(rows, name, person)
    return _with_unread(_counted(lists, rows.origin, "row", name), rows, (name, *named))


@dataclass(frozen=True, repr=False)
class ListsOfPersons(CountedLists):
    """Lists of items, each with the number of its person; not all of them different."""

    person: Counts


def _gathered_by_persons(rows: Engine, who: str, item: str, person: str) -> ListsOfPersons:
    """Gather rows of one item to records, each with its person."""
    held: dict[str, list[str | None]] = {}
    whose: dict[str, str] = {}
    for batch in rows.count_texts((who, item, person)):
        for record, what, owner, number in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            named, record = (owner or "").strip(), (record or "").strip()
            if not record or not named:
                raise refusal("row_without_a_name", rows=rows, column=who if not record else person)
            if whose.setdefault(record, named) != named:
                raise refusal("record_of_two_persons", rows=rows, who=who, record=record, person=person)
            held.setdefault(record, []).extend([what] * number)
    return _listed([(items, 1, whose[record]) for record, items in held.items()])


def _lists_by_persons(rows: Engine, column: str, person: str) -> ListsOfPersons:
    """Count the lists of a column by person."""
    if rows.name != "duckdb":
        raise refusal("lists_of_another_engine", engine=rows, column=column)
    counted_lists: list[tuple[Sequence[str | None], int, str]] = []
    for batch in rows.count_texts((column, person)):
        for text, owner, number in zip(*(each.to_pylist() for each in batch.columns), strict=True):
            if not (owner or "").strip():
                raise refusal("row_without_a_name", rows=rows, column=person)
            counted_lists.append(([] if text is None else engine_list(text), number, owner.strip()))
    return _listed(counted_lists)


def _listed(records: Sequence[tuple[Sequence[str | None], int, str]]) -> ListsOfPersons:
    """Write records as counted lists: their items, how many there are, and the name of their person."""
    texts: dict[str | None, int] = {}
    persons: dict[str, int] = {}
    codes = [texts.setdefault(item, len(texts)) for items, _, _ in records for item in items]
    lengths = np.array([len(items) for items, _, _ in records], np.int64)
    whose = np.array([persons.setdefault(name, len(persons)) for _, _, name in records], np.int64)
    counts = np.array([number for _, number, _ in records], np.int64)
    return ListsOfPersons(list(texts), lengths, np.array(codes, np.int32), counts, None, whose)


def _with_unread(baskets: Baskets, rows: Engine, read: Sequence[str]) -> Baskets:
    """Report the ignored columns of a table."""
    others = [name for name in rows.columns if name not in read]
    if not others:
        return baskets
    named = ", ".join(map(repr, others[:SHOWN])) + (", ..." if len(others) > SHOWN else "")
    notice = t("notice.columns_not_read", rows=rows, named=named)
    return replace(baskets, notices=(*baskets.notices, notice))


def _list_column(origin: str, listed: Sequence[str], column: str | None) -> str:
    """Return the column of lists: the given one, or the only one."""
    wanted = listed if column is None else [name for name in listed if name == column]
    if len(wanted) == 1:
        return wanted[0]
    if not wanted:
        which = "no column has" if column is None else t("notice.column_no", column=column)
        raise refusal("no_column_of_lists", origin=origin, which=which)
    raise refusal("several_columns_lists", origin=origin, wanted=", ".join(wanted))


def _counted(lists: CountedLists, origin: str, unit: str, column: str) -> Baskets:
    """Give items codes, without blanks around them; report merged and empty ones."""
    texts = ["" if text is None else text.strip() for text in lists.texts]
    items = tuple(in_order(sorted({*texts} - {""})))
    place = {label: code for code, label in enumerate(items)} | {"": -1}
    codes = np.array([place[text] for text in texts], np.int32)[lists.codes]
    record = np.repeat(np.arange(len(lists.lengths)), lists.lengths)
    if unit == "row" and (codes < 0).any():
        where = _where(lists, int(record[np.argmax(codes < 0)]), ", row ")
        raise refusal("list_empty_item", origin=origin, where=where, column=column)
    if not items:
        nothing = {
            "line": t("notice.no_line_item"),
            "person": t("notice.no_row_item", column=column),
            "row": t("notice.no_list_item", column=column),
        }
        raise BadInputError(f"{origin}: {nothing[unit]}")
    record, codes = record[codes >= 0], codes[codes >= 0]
    starts, once = rows_once(record, codes, len(lists.lengths))
    person = lists.person if isinstance(lists, ListsOfPersons) else None
    baskets = counted_baskets(items, starts, once, lists.counts, None, origin, person)
    return replace(baskets, notices=_notices(lists, record, codes, np.diff(starts), baskets, unit))


def _notices(
    lists: CountedLists, record: Counts, codes: Codes, distinct: Counts, baskets: Baskets, unit: str
) -> tuple[str, ...]:
    """Report records with repeated items, and empty ones; `distinct` counts the items of each."""
    notices = []
    lengths = np.bincount(record, minlength=len(distinct))
    repeated = np.flatnonzero(lengths > distinct)
    if len(repeated):
        named = codes[record == repeated[0]].tolist()
        item = baskets.items[next(code for code in named if named.count(code) > 1)]
        notices.append(
            t(
                "notice.baskets_name_item_more",
                origin=baskets.origin,
                counts=lists.counts[repeated].sum(),
                where=_where(lists, int(repeated[0]), f" {unit} "),
                item=item,
            )
        )
    empty = np.flatnonzero(lengths == 0)
    if len(empty):
        notices.append(
            t(
                "notice.baskets_no_items",
                origin=baskets.origin,
                counts=lists.counts[empty].sum(),
                where=_where(lists, int(empty[0]), f" (first: {unit} ", ")"),
            )
        )
    return tuple(notices)


def _where(lists: CountedLists, i: int, before: str, after: str = "") -> str:
    """Return the first record of a list for a message; empty if records have no order."""
    return "" if lists.first_records is None else f"{before}{lists.first_records[i]}{after}"


ELEMENT = re.compile(r"\s*(?:'(?P<quoted>(?:[^'\\]|\\.)*)'|(?P<plain>[^,]*))\s*(?:,|$)", re.DOTALL)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)

Split = Callable[[str], list[str | None]]
"""Splits a field; None is a missing item."""


def engine_list(text: str) -> list[str | None]:
    r"""Parse DuckDB's text of a list.

    >>> engine_list("[a, 'b, c', 'it\\'s', NULL, 'NULL']")
    ['a', 'b, c', "it's", None, 'NULL']
    >>> engine_list("[]")
    []
    """
    inner, items, position = text[1:-1], list[str | None](), 0
    while position < len(inner):
        match = ELEMENT.match(inner, position)
        assert match is not None, t("notice.duckdb_writes_no_other")
        if match["quoted"] is not None:
            items.append(ESCAPED.sub(r"\1", match["quoted"]))
        else:
            items.append(None if match["plain"] == "NULL" else match["plain"])
        position = match.end()
    return items


def json_list(text: str) -> list[str | None]:
    """Parse a JSON list.

    >>> json_list('["a", 1, null]')
    ['a', '1', None]
    """
    values = json.loads(text, parse_int=str, parse_float=str)
    return [None if value is None else value if isinstance(value, str) else json.dumps(value) for value in values]


def splitter(texts: Iterable[str | None], separator: str | None, is_list: bool) -> tuple[Split, str]:
    """Return the function that splits the fields of a column, and its description.

    A column of lists has lists; so have texts that are all JSON lists; all others have a separator, given or detected.
    """
    if is_list:
        return engine_list, "lists"
    present = [text for text in texts if text is not None and text.strip()]
    if separator is None and present and all(map(_is_json_list, present)):
        return json_list, "lists"
    if separator is not None and len(separator) != 1:
        raise refusal("separator_character_not", separator=separator)
    mark = separator or _separator(present)
    return lambda text: list(split_line(text, mark)), t("notice.items_separated", mark=mark)


def _separator(texts: Sequence[str]) -> str:
    """Detect the separator of items, ignoring marks between quotes."""
    return separator_of([re.sub(r'"(?:[^"]|"")*"', "", text) for text in texts])


def _is_json_list(text: str) -> bool:
    if not text.lstrip().startswith("["):
        return False
    try:
        return isinstance(json.loads(text), list)
    except ValueError:
        return False


UNLISTED = "columns without a role are not published: "
"""The beginning of a table's notice about columns without a role."""


@dataclass(frozen=True, repr=False)
class HeldItems(RedactedRepr):
    """The list of items of each cell's records; lists are indices of `lists`, which may repeat."""

    cell: Counts
    held: Counts
    count: Counts
    lists: Sequence[Sequence[str]]
    notices: tuple[str, ...] = ()


def items_of_column(table: Table, column: str, separator: str | None = None) -> HeldItems:
    """Read the items in a column of the table."""
    engine, kind = table.engine, table.engine.nested.get(column, "")
    is_list = kind.endswith("[]")
    if kind and not is_list:
        raise refusal("column_holds", origin=engine.origin, column=column, kind=kind)
    if is_list and engine.name != "duckdb":
        raise refusal("lists_of_another_engine", engine=engine, column=column)
    pairs = column_pairs(engine, column, table.link)
    split, words = splitter(pairs.values, separator, is_list)
    lists, empty, notices = [], 0, [t("notice.column_read", origin=engine.origin, column=column, words=words)]
    for text in pairs.values:
        items, lacking = _items(text, split)
        if lacking:
            raise refusal("list_empty_item_take", origin=engine.origin, column=column, text=text)
        lists.append(items)
    empty = int(pairs.counts[np.array([not items for items in lists], bool)[pairs.value]].sum())
    repeated = np.array([len(set(items)) < len(items) for items in lists], bool)[pairs.value]
    if repeated.any():
        number = counted(int(pairs.counts[repeated].sum()), "record")
        notices.append(t("notice.name_item_more_than", origin=engine.origin, number=number, column=column))
    if empty:
        notices.append(f"{engine.origin}: {_without_items(empty)}")
    return HeldItems(pairs.cell, pairs.value, pairs.counts, lists, tuple(notices))


def _items(text: str | None, split: Split) -> tuple[list[str], bool]:
    """Split a field; return also whether one of its items is empty."""
    items = [] if text is None or not text.strip() else split(text)
    named = ["" if item is None else item.strip() for item in items]
    return named, "" in named


def _without_items(records: int) -> str:
    return t("notice.without_items", records=records)


def items_by_owner(source: Any, owner: str, item: str) -> tuple[dict[str, list[str]], tuple[str, ...]]:
    """Read a source with one row per item: the items of every owner, with notices."""
    rows = open_rows(source, Reading(as_written=(owner, item)))
    for name in (owner, item):
        if name not in rows.columns:
            raise refusal("no_column_item_reading", origin=rows.origin, name=name, columns=", ".join(rows.columns))
    by_owner: dict[str, list[str]] = {}
    repeated = nobody = unsaid = 0
    for batch in rows.count_texts((owner, item)):
        for who, what, number in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if who is None or not who.strip():
                nobody += number
            elif what is None or not what.strip():
                unsaid += number
            else:
                by_owner.setdefault(who.strip(), []).append(what.strip())
                repeated += number - 1
    if nobody:
        raise refusal("missing_nobody_knows_whose_item_reading", origin=rows.origin, owner=owner, nobody=nobody)
    said = [
        (repeated, t("notice.repeat_item_person", repeated=repeated)),
        (unsaid, t("notice.without_item_passed_over", unsaid=unsaid)),
    ]
    notices = [f"{rows.origin}: {sentence}" for number, sentence in said if number]
    others = [name for name in rows.columns if name not in (owner, item)]
    if others:
        notices.append(f"{rows.origin}: not read: {', '.join(map(repr, others))}")
    return by_owner, tuple(notices)


def with_items_of_file(table: Table, source: Any, owner: str, item: str) -> Table:
    """Return a table whose rows have their items in a column of lists, for comparison in an audit."""
    frame = rows_with_items(table.engine, [*table.roles.quasi, *table.roles.sensitive], source, owner, item, item)
    return replace(table, engine=open_rows(frame, Reading(origin=table.engine.origin, notations=False)))


def rows_with_items(rows: Engine, names: Sequence[str], source: Any, owner: str, item: str, column: str) -> pa.Table:
    """Join the items of a second source to some columns of rows, in a column of lists with this name."""
    if owner not in rows.columns:
        known = ", ".join(map(repr, rows.columns[:30]))
        raise refusal("no_column_id", origin=rows.origin, owner=owner, known=known)
    by_owner, _ = items_by_owner(source, owner, item)
    texts: list[tuple[str | None, ...]] = []
    for batch in rows.count_texts([*names, owner]):
        values = [column.to_pylist() for column in batch.columns]
        for *row, number in zip(*values, strict=True):
            texts += [tuple(row)] * number  # one row per record, because owners may be missing
    columns = {name: pa.array([row[place] for row in texts], pa.string()) for place, name in enumerate(names)}
    held = [by_owner.get((row[-1] or "").strip(), []) for row in texts]
    return pa.table({**columns, column: pa.array(held, pa.list_(pa.string()))})


def items_of_file(table: Table, source: Any, owner: str, item: str) -> HeldItems:
    """Read the items from a second source with one row per item, whose owners are in a column of the table."""
    by_owner, read = items_by_owner(source, owner, item)
    pairs = column_pairs(table.engine, owner, table.link)
    names = [None if value is None else value.strip() for value in pairs.values]
    _check_named(table, owner, names, pairs.value, pairs.counts)
    known = by_owner.keys() & set(names)
    if not known:
        raise refusal("no_common_owner", source=source, owner=owner, table=table)
    strangers, lists = len(by_owner) - len(known), [by_owner.get(name or "", []) for name in names]
    empty = int(pairs.counts[np.array([not items for items in lists], bool)[pairs.value]].sum())
    said = [
        (strangers, t("notice.values_no_record", strangers=strangers, owner=owner, origin=table.engine.origin)),
        (empty, _without_items(empty)),
    ]
    notices = [*read, *(f"{source}: {sentence}" for number, sentence in said if number)]
    return HeldItems(pairs.cell, pairs.value, pairs.counts, lists, tuple(notices))


def _check_named(table: Table, owner: str, names: Sequence[str | None], value: Counts, counts: Counts) -> None:
    """Raise unless all records have different owners."""
    records = np.bincount(value, counts, len(names))
    if None in names or "" in names:
        raise refusal("owner_missing", table=table, owner=owner)
    distinct = len(set(names))
    if distinct < len(names) or (records > 1).any():
        raise refusal("repeat_value", origin=table.engine.origin, records=int(records.sum()) - distinct, owner=owner)


def tied(table: Table, held: HeldItems, column: str, named: str, tree: Any = None, sensitive: Named = ()) -> MixedTable:
    """Give the items codes and assign the baskets to the cells of the table."""
    items = tuple(in_order(sorted({item for record in held.lists for item in record})))
    if not items:
        raise refusal("no_record_item", origin=table.engine.origin, column=column)
    place = {label: code for code, label in enumerate(items)}
    lengths = np.array([len(record) for record in held.lists], np.int64)
    codes = np.fromiter((place[item] for record in held.lists for item in record), np.int32, int(lengths.sum()))
    starts, once = rows_once(np.repeat(np.arange(len(lengths)), lengths), codes, len(lengths))
    first, link = equal_rows(starts, once)
    basket = link[held.held]
    weights = np.bincount(basket, held.count, len(first)).astype(np.int64)
    present = weights > 0  # dropped records may have the only copy of a basket
    number = np.cumsum(present) - 1
    kept = taken_rows(starts, once, first[present])
    baskets = _only_present(items, *kept, weights[present], table.engine.origin)
    baskets = with_tree(baskets, tree)
    pairs = CellBaskets.gathered(held.cell, number[basket], held.count)
    roles = _notices_of(table, {column, named})
    table = replace(table, notices=(), has_items=True)
    notices = (*roles, *held.notices, *baskets.notices)
    return mixed_table(table, replace(baskets, notices=()), pairs, column, sensitive, notices)


def _only_present(items: tuple[str, ...], starts: Counts, codes: Any, weights: Counts, origin: str) -> Baskets:
    """Make baskets of the items that occur in records."""
    used, small = np.unique(codes, return_inverse=True)
    labels = tuple(items[code] for code in used.tolist())
    return Baskets(labels, starts, small.ravel().astype(np.int32), weights, None, origin)


def _notices_of(table: Table, read: set[str]) -> tuple[str, ...]:
    """Return the notices of the table, with the columns of items and owners counted as read."""
    others = [name for name in table.engine.columns if name not in table.roles.named and name not in read]
    said = [notice for notice in table.notices if not notice.startswith(UNLISTED)]
    if others:
        said.append(t("notice.quasi_sensitive_keeps_column", UNLISTED=UNLISTED, others=", ".join(map(repr, others))))
    return tuple(said)
