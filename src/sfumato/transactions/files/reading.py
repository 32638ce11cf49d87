"""Baskets from files and frames: one basket per line, rows of (who, item), or a column of lists."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.engines.loading import READERS, connect, load_file, load_frame, load_typed
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
        listed = column is not None or path.suffix.lower() in READERS
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
    with connect() as connection:
        if isinstance(source, Path):
            typed = source.suffix.lower() in READERS
            names = (
                load_typed(connection, source, [""]) if typed else load_file(connection, source, None, encoding, [""])
            )
        else:
            names = load_frame(connection, source, origin, [""])
        if who is not None and item is not None:
            owner, own = _place(origin, names, who), _place(origin, names, item)
            query = f"SELECT c{owner}::VARCHAR, c{own}::VARCHAR FROM rows"
            return _from_rows(connection.sql(query).to_arrow_table(), origin, who, item)
        place = _place(origin, names, column) if column is not None else _only_list(connection, origin, names)
        kind = str(connection.sql(f"SELECT c{place} FROM rows").types[0])
        if not kind.endswith("[]"):
            raise BadInputError(
                f"{origin}: the column {names[place]!r} has no lists of items; for one row per item name the column "
                "that says whose it is (--id) and that of the items (--item)"
            )
        lists = connection.sql(f"SELECT c{place}::VARCHAR[] FROM rows").to_arrow_table().column(0)
        return _from_lists(lists.to_pylist(), origin, names[place])


def _place(origin: str, names: tuple[str, ...], name: str) -> int:
    if name not in names:
        raise BadInputError(f"{origin}: there is no column {name!r}; there are {', '.join(names)}")
    return names.index(name)


def _only_list(connection: Any, origin: str, names: tuple[str, ...]) -> int:
    kinds = [str(kind) for kind in connection.sql("SELECT * FROM rows").types]
    lists = [place for place, kind in enumerate(kinds) if kind.endswith("[]")]
    if len(lists) == 1:
        return lists[0]
    if not lists:
        raise BadInputError(
            f"{origin}: no column has lists of items; for one row per item name the column that says whose it is "
            "(--id) and that of the items (--item)"
        )
    listed = ", ".join(names[place] for place in lists)
    raise BadInputError(f"{origin}: several columns have lists ({listed}); name one (--column)")


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
