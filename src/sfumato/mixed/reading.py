"""The items of a table's records, from a column of it or from a second file, tied to its cells.

Nothing here reads rows one by one: an engine counts which texts the records of a cell have in the column of items, or
in the column that names them, and every distinct text is taken apart once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.arrays import Counts
from sfumato.engines import Engine, Reading, column_pairs, open_rows
from sfumato.errors import BadInputError
from sfumato.mixed.item_texts import Split, splitter
from sfumato.mixed.mixed_table import CellBaskets, MixedTable, Named, mixed_table
from sfumato.phrases import counted
from sfumato.quiet import Quiet
from sfumato.table import Table
from sfumato.table.hierarchies.categories import in_order
from sfumato.transactions.baskets import Baskets, equal_rows, rows_once, taken_rows
from sfumato.transactions.files.reading import with_tree

UNLISTED = "columns without a role are not published: "
"""How the notice of a table begins that names the columns without a role."""


@dataclass(frozen=True, repr=False)
class HeldItems(Quiet):
    """Which list of items the records of every cell have; lists are places in `lists`, not all of them different."""

    cell: Counts
    held: Counts
    count: Counts
    lists: Sequence[Sequence[str]]
    notices: tuple[str, ...] = ()


def items_of_column(table: Table, column: str, separator: str | None = None) -> HeldItems:
    """Read the items that stand in a column of the table."""
    engine, kind = table.engine, table.engine.nested.get(column, "")
    is_list = kind.endswith("[]")
    if kind and not is_list:
        raise BadInputError(f"{engine.origin}: the column {column!r} holds {kind}, no lists of items (--items)")
    if is_list and engine.name != "duckdb":
        raise BadInputError(
            f"{engine.origin}: a column of lists ({column!r}) is read from files and frames only; write its items as "
            "one text with a separator between them, or hand them over as a second file (--items-file)"
        )
    pairs = column_pairs(engine, column, table.link)
    split, words = splitter(pairs.values, separator, is_list)
    lists, empty, notices = [], 0, [f"{engine.origin}: the column {column!r} is read as {words}"]
    for text in pairs.values:
        items, lacking = _items(text, split)
        if lacking:
            raise BadInputError(f"{engine.origin}, column {column!r}: the list {text!r} has an empty item; take it out")
        lists.append(items)
    empty = int(pairs.counts[np.array([not items for items in lists], bool)[pairs.value]].sum())
    repeated = np.array([len(set(items)) < len(items) for items in lists], bool)[pairs.value]
    if repeated.any():
        number = counted(int(pairs.counts[repeated].sum()), "record")
        notices.append(f"{engine.origin}: {number} name an item more than once in {column!r}; it counts once")
    if empty:
        notices.append(f"{engine.origin}: {_without_items(empty)}")
    return HeldItems(pairs.cell, pairs.value, pairs.counts, lists, tuple(notices))


def _items(text: str | None, split: Split) -> tuple[list[str], bool]:
    """Take a field apart; say whether an item in it is empty."""
    items = [] if text is None or not text.strip() else split(text)
    named = ["" if item is None else item.strip() for item in items]
    return named, "" in named


def _without_items(records: int) -> str:
    return f"{counted(records, 'record')} without items; kept as records that have none"


def items_by_owner(source: Any, owner: str, item: str) -> tuple[dict[str, list[str]], tuple[str, ...]]:
    """Read a source with one row per item: the items of every owner, and what was noticed."""
    rows = open_rows(source, Reading(as_written=(owner, item)))
    for name in (owner, item):
        if name not in rows.columns:
            raise BadInputError(f"{rows.origin}: there is no column {name!r}; there are {', '.join(rows.columns)}")
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
        raise BadInputError(f"{rows.origin}: {owner!r} is missing in {counted(nobody, 'row')}, so nobody knows whose")
    said = [
        (repeated, f"{counted(repeated, 'row')} repeat an item of a person; it counts once"),
        (unsaid, f"{counted(unsaid, 'row')} without an item are passed over"),
    ]
    notices = [f"{rows.origin}: {sentence}" for number, sentence in said if number]
    others = [name for name in rows.columns if name not in (owner, item)]
    if others:
        notices.append(f"{rows.origin}: not read: {', '.join(map(repr, others))}")
    return by_owner, tuple(notices)


def with_items_of_file(table: Table, source: Any, owner: str, item: str) -> Table:
    """Return a table whose rows have their items in a column of lists: what an audit compares a file with."""
    frame = rows_with_items(table.engine, [*table.roles.quasi, *table.roles.sensitive], source, owner, item, item)
    return replace(table, engine=open_rows(frame, Reading(origin=table.engine.origin, notations=False)))


def rows_with_items(rows: Engine, names: Sequence[str], source: Any, owner: str, item: str, column: str) -> pa.Table:
    """Put the items of a second source beside some columns of rows, in a column of lists that is called so."""
    if owner not in rows.columns:
        known = ", ".join(map(repr, rows.columns[:30]))
        raise BadInputError(f"{rows.origin}: there is no column {owner!r} (--id); the columns are {known}")
    by_owner, _ = items_by_owner(source, owner, item)
    texts: list[tuple[str | None, ...]] = []
    for batch in rows.count_texts([*names, owner]):
        values = [column.to_pylist() for column in batch.columns]
        for *row, number in zip(*values, strict=True):
            texts += [tuple(row)] * number  # persons are named once; who is not gets a row for each
    columns = {name: pa.array([row[place] for row in texts], pa.string()) for place, name in enumerate(names)}
    held = [by_owner.get((row[-1] or "").strip(), []) for row in texts]
    return pa.table({**columns, column: pa.array(held, pa.list_(pa.string()))})


def items_of_file(table: Table, source: Any, owner: str, item: str) -> HeldItems:
    """Read the items from a second source with one row per item, whose owners the table names in a column."""
    by_owner, read = items_by_owner(source, owner, item)
    pairs = column_pairs(table.engine, owner, table.link)
    names = [None if value is None else value.strip() for value in pairs.values]
    _check_named(table, owner, names, pairs.value, pairs.counts)
    known = by_owner.keys() & set(names)
    if not known:
        raise BadInputError(
            f"{source}: no value of {owner!r} is one of {table.engine.origin}; both files must name a person alike"
        )
    strangers, lists = len(by_owner) - len(known), [by_owner.get(name or "", []) for name in names]
    empty = int(pairs.counts[np.array([not items for items in lists], bool)[pairs.value]].sum())
    said = [
        (strangers, f"{strangers:,} values of {owner!r} are no record of {table.engine.origin}; their items are left"),
        (empty, _without_items(empty)),
    ]
    notices = [*read, *(f"{source}: {sentence}" for number, sentence in said if number)]
    return HeldItems(pairs.cell, pairs.value, pairs.counts, lists, tuple(notices))


def _check_named(table: Table, owner: str, names: Sequence[str | None], value: Counts, counts: Counts) -> None:
    """Raise unless every record has a name of its own."""
    records = np.bincount(value, counts, len(names))
    if None in names or "" in names:
        raise BadInputError(
            f"{table.engine.origin}: {owner!r} is missing in some records, so nobody knows which items are theirs; "
            "give every record a value, or take these records out"
        )
    distinct = len(set(names))
    if distinct < len(names) or (records > 1).any():
        raise BadInputError(
            f"{table.engine.origin}: {counted(int(records.sum()) - distinct, 'record')} repeat a value of {owner!r}; "
            "one record is one person: keep one record of each"
        )


def tied(table: Table, held: HeldItems, column: str, named: str, tree: Any = None, sensitive: Named = ()) -> MixedTable:
    """Give the items codes and tie the baskets to the cells of the table."""
    items = tuple(in_order(sorted({item for record in held.lists for item in record})))
    if not items:
        raise BadInputError(f"{table.engine.origin}: no record has an item in {column!r}; is it the right column?")
    place = {label: code for code, label in enumerate(items)}
    lengths = np.array([len(record) for record in held.lists], np.int64)
    codes = np.fromiter((place[item] for record in held.lists for item in record), np.int32, int(lengths.sum()))
    starts, once = rows_once(np.repeat(np.arange(len(lengths)), lengths), codes, len(lengths))
    first, link = equal_rows(starts, once)
    basket = link[held.held]
    weights = np.bincount(basket, held.count, len(first)).astype(np.int64)
    present = weights > 0  # records that miss a value are left out, and with them perhaps a basket
    number = np.cumsum(present) - 1
    kept = taken_rows(starts, once, first[present])
    baskets = _only_present(items, *kept, weights[present], table.engine.origin)
    baskets = with_tree(baskets, tree)
    pairs = CellBaskets.gathered(held.cell, number[basket], held.count)
    roles = _notices_of(table, {column, named})
    table = replace(table, notices=())
    notices = (*roles, *held.notices, *baskets.notices)
    return mixed_table(table, replace(baskets, notices=()), pairs, column, sensitive, notices)


def _only_present(items: tuple[str, ...], starts: Counts, codes: Any, weights: Counts, origin: str) -> Baskets:
    """Make baskets of the items that some record has."""
    used, small = np.unique(codes, return_inverse=True)
    labels = tuple(items[code] for code in used.tolist())
    return Baskets(labels, starts, small.ravel().astype(np.int32), weights, None, origin)


def _notices_of(table: Table, read: set[str]) -> tuple[str, ...]:
    """Return what is said of the table, where the columns of items and names count as read."""
    others = [name for name in table.engine.columns if name not in table.roles.named and name not in read]
    said = [notice for notice in table.notices if not notice.startswith(UNLISTED)]
    if others:
        said.append(f"{UNLISTED}{', '.join(map(repr, others))} (--quasi or --sensitive keeps a column)")
    return tuple(said)
