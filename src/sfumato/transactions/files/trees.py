"""Trees of items from level tables: `item, parent, grandparent, ...`, perhaps compressed, perhaps with a header.

Catalogues of codes give a category the name of a code in it (ICD-9 has the code 250 and the category 250). A reader of
a release could not tell the two apart, so such a node is called `250 (all)`.
"""

from __future__ import annotations

import gzip
from collections.abc import Collection
from pathlib import Path

from sfumato.engines.text_files import existing_file
from sfumato.errors import BadInputError
from sfumato.table import Hierarchy, from_level_table
from sfumato.table.hierarchies.declared import level_rows

WANTED = "give a level table: one row per item, its ancestors from fine to coarse"


def read_tree(tree: Hierarchy | Path | str, items: Collection[str] = ()) -> tuple[Hierarchy, tuple[str, ...]]:
    """Return a hierarchy of items, read from a level table if it is not one yet, and what was noticed."""
    if isinstance(tree, Hierarchy):
        return tree, ()
    path = existing_file(Path(tree), WANTED)
    try:
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix.lower() == ".gz" else content).decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path}: cannot be read as UTF-8 text ({error})") from None
    rows = [[label.strip() for label in row] for row in level_rows(text)]  # as items of baskets are read
    notices = []
    if _has_header(rows, items):
        notices.append(f"{path}: the first row ({', '.join(rows[0])}) is taken for a header")
        rows = rows[1:]
    try:
        rows, renamed = _told_apart(rows)
        if renamed:
            old, new = renamed[0]
            notices.append(
                f"{path}: {len(renamed):,} nodes above the items have the name of another node; they get another "
                f"(first: {old!r} is called {new!r})"
            )
        return from_level_table(rows, numbers=False), tuple(notices)
    except BadInputError as error:
        raise BadInputError(f"{path}: {error}") from None


def _has_header(rows: list[list[str]], items: Collection[str]) -> bool:
    """Say whether the first row names columns: no item of the baskets, and no label that stands anywhere else."""
    if len(rows) < 2 or rows[0][0] in items or not items:
        return False
    others = {label for row in rows[1:] for label in row}
    return len(set(rows[0])) == len(rows[0]) and others.isdisjoint(rows[0])


def _told_apart(rows: list[list[str]]) -> tuple[list[list[str]], list[tuple[str, str]]]:
    """Rename nodes above the leaves that have the name of another node, of fewer or of other items."""
    if len({len(row) for row in rows}) != 1:
        return rows, []  # the builder says what is wrong
    known: dict[str, frozenset[int]] = {row[0]: frozenset([number]) for number, row in enumerate(rows)}
    columns = [[row[0] for row in rows]]
    renamed: list[tuple[str, str]] = []
    for depth in range(1, len(rows[0])):
        under: dict[str, set[int]] = {}
        for number, row in enumerate(rows):
            under.setdefault(row[depth], set()).add(number)
        names = {}
        for label, members in under.items():
            name = label
            while known.setdefault(name, frozenset(members)) != members:
                name += " (all)"
            names[label] = name
            renamed += [(label, name)] if name != label else []
        columns.append([names[row[depth]] for row in rows])
    return [list(row) for row in zip(*columns, strict=True)], renamed
