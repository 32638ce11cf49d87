"""Baskets from files and frames: one basket per line, rows of (who, item), or a column of lists."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.engines.json_texts import json_lists
from sfumato.engines.loading import JSON, PARQUET, connect, load_file, load_frame
from sfumato.engines.reading import existing_file
from sfumato.errors import BadInputError
from sfumato.table import Hierarchy
from sfumato.table.hierarchies.categories import in_order
from sfumato.transactions.baskets import Baskets, Counts, baskets_of, coded_baskets
from sfumato.transactions.files.lines import numbered_lines, separator_of, split_line
from sfumato.transactions.files.trees import read_tree


def read_baskets(
    source: Any,
    *,
    who: str | None = None,
    item: str | None = None,
    column: str | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
    tree: Hierarchy | Path | str | None = None,
) -> Baskets:
    """Read baskets from a file, a frame, or any collection of sets.

    With `who` and `item`: rows of a table, one per item, with the column that says whose it is. With `column`, or from
    a Parquet or JSON file: lists of items. Otherwise text, one basket per line, items separated by `separator` (found
    out if not given: tab, semicolon, comma, else blanks). `tree` is a hierarchy over the items or a level table.
    """
    if (who is None) != (item is None):
        raise BadInputError("rows of items need both columns: who has it (--id) and the item (--item)")
    if isinstance(source, str | Path):
        path = Path(source)
        listed = column is not None or path.suffix.lower() in (*JSON, *PARQUET)
        if who is not None or listed:
            found = _from_table(path, str(path), who, item, column, encoding)
        else:
            found = read_lines(path, separator, encoding)
    elif isinstance(source, pa.Table) or hasattr(source, "__arrow_c_stream__"):
        found = _from_table(source, "the frame", who, item, column, encoding)
    else:
        found = baskets_of(source)
    if tree is None:
        return found
    own, noticed = read_tree(tree, found.places)
    return replace(found, tree=own, notices=found.notices + noticed)


# -- one basket per line -------------------------------------------------------------------------------------


def read_lines(path: Path, separator: str | None = None, encoding: str = "utf-8") -> Baskets:
    """Read one basket per line; an empty line is a basket without items."""
    if separator is not None and len(separator) != 1:
        raise BadInputError(f"a separator is one character, not {separator!r}")
    lines = [text for _, text in numbered_lines(path, encoding)]
    if not any(line.strip() for line in lines):
        raise BadInputError(f"{path}: no line has an item; give a file with one basket per line")
    mark = separator or separator_of(lines)
    return _coded([split_line(line, mark) for line in lines], str(path), "line")


def _coded(sets: list[list[str]], origin: str, unit: str) -> Baskets:
    """Give items codes; say what was merged or empty."""
    labels = in_order(sorted({item for own in sets for item in own}))
    place = {label: code for code, label in enumerate(labels)}
    lengths = np.array([len(own) for own in sets], np.int64)
    codes = np.fromiter((place[item] for own in sets for item in own), np.int32, int(lengths.sum()))
    found = coded_baskets(tuple(labels), lengths, codes, None, origin)
    return replace(found, notices=_notices(sets, lengths, found, unit))


def _notices(sets: list[list[str]], lengths: Counts, found: Baskets, unit: str) -> tuple[str, ...]:
    notices = []
    repeated = np.flatnonzero(lengths > found.lengths[found.link])
    if len(repeated):
        first = sets[int(repeated[0])]
        item = next(label for label in first if first.count(label) > 1)
        notices.append(
            f"{found.origin}: {len(repeated):,} baskets name an item more than once (first {unit} "
            f"{int(repeated[0]) + 1}: {item!r}); it counts once"
        )
    empty = np.flatnonzero(lengths == 0)
    if len(empty):
        notices.append(
            f"{found.origin}: {len(empty):,} baskets have no items (first: {unit} {int(empty[0]) + 1}); they are kept "
            "as records without items"
        )
    return tuple(notices)


# -- tables --------------------------------------------------------------------------------------------------


def _from_table(
    source: Any, origin: str, who: str | None, item: str | None, column: str | None, encoding: str
) -> Baskets:
    if isinstance(source, Path) and source.suffix.lower() in JSON and who is None:
        names, lists = json_lists(existing_file(source))
        name = _list_column(origin, names, [name for name in names if name in lists], column)
        return _from_lists(lists[name], origin, name)
    with connect() as connection:
        if isinstance(source, Path):
            names = load_file(connection, source, None, encoding, [""])
        else:
            names = load_frame(connection, source, origin, [""])
        if who is not None and item is not None:
            owner, own = _place(origin, names, who), _place(origin, names, item)
            query = f"SELECT c{owner}::VARCHAR, c{own}::VARCHAR FROM rows"
            return _from_rows(connection.sql(query).to_arrow_table(), origin, who, item)
        kinds = zip(names, connection.sql("SELECT * FROM rows").types, strict=True)
        name = _list_column(origin, names, [name for name, kind in kinds if str(kind).endswith("[]")], column)
        texts = connection.sql(f"SELECT c{names.index(name)}::VARCHAR[] FROM rows").to_arrow_table().column(0)
        return _from_lists(texts.to_pylist(), origin, name)


def _place(origin: str, names: tuple[str, ...], name: str) -> int:
    if name not in names:
        raise BadInputError(f"{origin}: there is no column {name!r}; there are {', '.join(names)}")
    return names.index(name)


def _list_column(origin: str, names: tuple[str, ...], listed: list[str], column: str | None) -> str:
    """Return the column that holds the lists: the one that was named, or the only one."""
    if column is not None:
        _place(origin, names, column)
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


def _from_rows(rows: pa.Table, origin: str, who: str, item: str) -> Baskets:
    """Gather rows of (who, item) to one basket per person, in the order of their first rows."""
    owners, items = rows.column(0).to_pylist(), rows.column(1).to_pylist()
    gathered: dict[str, list[str]] = {}
    for number, (owner, label) in enumerate(zip(owners, items, strict=True), start=1):
        if owner is None:
            raise BadInputError(f"{origin}, row {number}: {who!r} is missing, so nobody knows whose {label!r} it is")
        own = gathered.setdefault(owner, [])
        if label is not None and label.strip():
            own.append(label.strip())
    if not any(gathered.values()):
        raise BadInputError(f"{origin}: no row has an item in {item!r}")
    return _coded(list(gathered.values()), origin, "person")


def _from_lists(lists: list[list[str | None] | None], origin: str, column: str) -> Baskets:
    sets: list[list[str]] = []
    for number, own in enumerate(lists, start=1):
        labels = [] if own is None else own
        for label in labels:
            if label is None or not label.strip():
                raise BadInputError(f"{origin}, row {number}: the list in {column!r} has an empty item; take it out")
        sets.append([label.strip() for label in labels if label is not None])
    if not any(sets):
        raise BadInputError(f"{origin}: no list in {column!r} has an item")
    return _coded(sets, origin, "row")
