"""Baskets from files and frames: one basket per line, rows of (who, item), or a column of lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.arrays import Codes, Counts
from sfumato.engines import CountedLists, Engine, Reading, open_rows
from sfumato.engines.items.layouts import ItemRows, find_rows
from sfumato.engines.protocol import SourceLayout
from sfumato.engines.text_files import JSON, PARQUET
from sfumato.errors import BadInputError
from sfumato.table import Hierarchy
from sfumato.table.hierarchies.categories import in_order
from sfumato.transactions.baskets import Baskets, baskets_of, counted_baskets, rows_once
from sfumato.transactions.files.trees import read_tree

SHOWN = 8
"""How many columns, or items, a notice names."""

EXAMPLE = "One of the sets that were read: "
"""How a notice begins that shows what somebody has."""


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
) -> Baskets:
    """Read baskets from a file, a frame, or any collection of sets.

    With `who` and `item`: rows of a table, one per item, with the column that says whose it is. With `column`, or from
    a Parquet or JSON file: lists of items. Otherwise text, one basket per line, items separated by `separator` (found
    out if not given: tab, semicolon, comma, else blanks); a text with a header and one item per row is recognised, and
    refused where that is unsure. `lines` says that every line is a basket, whatever it looks like. `tree` is a
    hierarchy over the items or a level table. Beyond `memory` (`"4GB"`) an engine counts on disk, in a private folder
    of `spill`.
    """
    if (who is None) != (item is None):
        raise BadInputError("rows of items need both columns: who has it (--id) and the item (--item)")
    if lines and (who is not None or column is not None):
        raise BadInputError("--lines says that every line is a basket; leave out --id, --item and --column, or --lines")
    is_file = isinstance(source, str | Path)
    reading = Reading(encoding=encoding, empty=True, memory=memory, spill=spill, delimiter=separator)
    in_text = is_text_of_items(source, who, column)
    found = find_rows(Path(source), encoding, separator) if in_text and not lines else None
    if found is not None:
        rows = open_rows(source, replace(reading, delimiter=found.separator, header=True, notations=False))
        baskets = _from_table(rows, found.who, found.item, None)
        baskets = replace(baskets, notices=(*_recognised(baskets, found), *baskets.notices))
    elif in_text:
        rows = open_rows(source, replace(reading, layout="lines", every_line=lines))
        baskets = _counted(rows.lists("items"), rows.origin, "line", "items")
    elif is_file or isinstance(source, pa.Table) or hasattr(source, "__arrow_c_stream__"):
        origin = "" if is_file else "the frame"
        layout: SourceLayout = "table" if who is not None else "lists"
        rows = open_rows(source, replace(reading, origin=origin, layout=layout, notations=False))
        baskets = _from_table(rows, who, item, column)
    else:
        baskets = baskets_of(source)
        return with_tree(baskets, tree)
    return with_tree(replace(baskets, notices=(*rows.notices, *baskets.notices)), tree)


def is_text_of_items(source: Any, who: str | None, column: str | None) -> bool:
    """Say whether a source is a text file of which nobody says where its items are."""
    is_file = isinstance(source, str | Path)
    return is_file and who is None and column is None and Path(source).suffix.lower() not in (*JSON, *PARQUET)


def _recognised(baskets: Baskets, rows: ItemRows) -> tuple[str, str]:
    """Say that a file has one item per row, and show a set of it."""
    chosen = int(np.argmax((baskets.lengths > 1) & (baskets.lengths <= SHOWN)))
    example = ", ".join(baskets.basket(chosen)[:SHOWN]) + (", ..." if baskets.lengths[chosen] > SHOWN else "")
    read = (
        f"{baskets.origin}: read as a table of one item per row: the items in {rows.item!r} with the same {rows.who!r} "
        f"are one set ({baskets.size:,} sets of {len(baskets.items):,} items). If that is wrong, name the columns "
        "(--id, --item), or say that every line is a set of items (--lines)"
    )
    return read, f"{EXAMPLE}{{{example}}}"


def with_tree(baskets: Baskets, tree: Hierarchy | Path | str | None) -> Baskets:
    """Return baskets with a tree over their items, where one is given."""
    if tree is None:
        return baskets
    hierarchy, notices = read_tree(tree, baskets.places)
    return replace(baskets, tree=hierarchy, notices=baskets.notices + notices)


def _from_table(rows: Engine, who: str | None, item: str | None, column: str | None) -> Baskets:
    for name in (who, item, column):
        if name is not None and name not in rows.columns:
            raise BadInputError(f"{rows.origin}: there is no column {name!r}; there are {', '.join(rows.columns)}")
    if who is not None and item is not None:
        counted = _counted(rows.gathered(who, item), rows.origin, "person", item)
        return _with_unread(counted, rows, (who, item))
    listed = [name for name, kind in rows.nested.items() if kind.endswith("[]")]
    name = _list_column(rows.origin, listed, column)
    return _with_unread(_counted(rows.lists(name), rows.origin, "row", name), rows, (name,))


def _with_unread(baskets: Baskets, rows: Engine, read: Sequence[str]) -> Baskets:
    """Say which columns of a table stay behind when baskets are read from it: nothing vanishes silently."""
    others = [name for name in rows.columns if name not in read]
    if not others:
        return baskets
    named = ", ".join(map(repr, others[:SHOWN])) + (", ..." if len(others) > SHOWN else "")
    notice = (
        f"{rows.origin}: not read: {named}; baskets are sets of items alone. A table whose records have items, too, is "
        "read with --quasi and --items"
    )
    return replace(baskets, notices=(*baskets.notices, notice))


def _list_column(origin: str, listed: Sequence[str], column: str | None) -> str:
    """Return the column that holds the lists: the one that was named, or the only one."""
    wanted = listed if column is None else [name for name in listed if name == column]
    if len(wanted) == 1:
        return wanted[0]
    if not wanted:
        which = "no column has" if column is None else f"the column {column!r} has no"
        raise BadInputError(
            f"{origin}: {which} lists of items; for one row per item name the column that says whose it is (--id) and "
            "that of the items (--item)"
        )
    raise BadInputError(f"{origin}: several columns have lists ({', '.join(wanted)}); name one (--column)")


def _counted(lists: CountedLists, origin: str, unit: str, column: str) -> Baskets:
    """Give items codes, without blanks around them; say what was merged or empty."""
    texts = ["" if text is None else text.strip() for text in lists.texts]
    items = tuple(in_order(sorted({*texts} - {""})))
    place = {label: code for code, label in enumerate(items)} | {"": -1}
    codes = np.array([place[text] for text in texts], np.int32)[lists.codes]
    record = np.repeat(np.arange(len(lists.lengths)), lists.lengths)
    if unit == "row" and (codes < 0).any():
        where = _where(lists, int(record[np.argmax(codes < 0)]), ", row ")
        raise BadInputError(f"{origin}{where}: the list in {column!r} has an empty item; take it out")
    if not items:
        nothing = {
            "line": "no line has an item; give a file with one basket per line",
            "person": f"no row has an item in {column!r}",
            "row": f"no list in {column!r} has an item",
        }
        raise BadInputError(f"{origin}: {nothing[unit]}")
    record, codes = record[codes >= 0], codes[codes >= 0]
    starts, once = rows_once(record, codes, len(lists.lengths))
    baskets = counted_baskets(items, starts, once, lists.counts, None, origin)
    return replace(baskets, notices=_notices(lists, record, codes, np.diff(starts), baskets, unit))


def _notices(
    lists: CountedLists, record: Counts, codes: Codes, distinct: Counts, baskets: Baskets, unit: str
) -> tuple[str, ...]:
    """Say which records name an item more than once, and which have none; `distinct` counts the items of each."""
    notices = []
    lengths = np.bincount(record, minlength=len(distinct))
    repeated = np.flatnonzero(lengths > distinct)
    if len(repeated):
        named = codes[record == repeated[0]].tolist()
        item = baskets.items[next(code for code in named if named.count(code) > 1)]
        notices.append(
            f"{baskets.origin}: {lists.counts[repeated].sum():,} baskets name an item more than once (first"
            f"{_where(lists, int(repeated[0]), f' {unit} ')}: {item!r}); it counts once"
        )
    empty = np.flatnonzero(lengths == 0)
    if len(empty):
        notices.append(
            f"{baskets.origin}: {lists.counts[empty].sum():,} baskets have no items"
            f"{_where(lists, int(empty[0]), f' (first: {unit} ', ')')}; they are kept as records without items"
        )
    return tuple(notices)


def _where(lists: CountedLists, i: int, before: str, after: str = "") -> str:
    """Say in which record a list stands first; nothing where records have no order."""
    return "" if lists.first_records is None else f"{before}{lists.first_records[i]}{after}"
