"""Trees of items from level tables: `item, parent, grandparent, ...`, perhaps compressed, perhaps with a header.

Or from a bundled classification by its name (`icd-9-cm`, `icd-10`), for the items that occur.

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
from sfumato.transactions.files.classifications import CLASSIFICATIONS

WANTED = (
    "give a level table (one row per item, its ancestors from fine to coarse), or a bundled one: "
    f"{', '.join(CLASSIFICATIONS)}"
)


def read_tree(tree: Hierarchy | Path | str, items: Collection[str] = ()) -> tuple[Hierarchy, tuple[str, ...]]:
    """Return a hierarchy of items, read from a level table if it is not one yet, and what was noticed."""
    if isinstance(tree, Hierarchy):
        return tree, ()
    if is_classification(tree):
        return _built(CLASSIFICATIONS[str(tree)].rows(items), str(tree), [])
    path = existing_file(Path(tree), WANTED)
    try:
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix.lower() == ".gz" else content).decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path}: cannot be read as UTF-8 text ({error})") from None
    rows = [[label.strip() for label in row] for row in level_rows(text)]  # as items of baskets are read
    notices: list[str] = []
    if _has_header(rows, items):
        notices.append(f"{path}: the first row ({', '.join(rows[0])}) is taken for a header")
        rows = rows[1:]
    return _built(rows, str(path), notices)


def is_classification(tree: Path | str) -> bool:
    """Say whether a tree is a bundled one: it has the name of one, and no file is called so."""
    return str(tree) in CLASSIFICATIONS and not Path(tree).exists()


def _built(rows: list[list[str]], origin: str, notices: list[str]) -> tuple[Hierarchy, tuple[str, ...]]:
    """Build the hierarchy of a level table; `origin` is where it comes from, for messages."""
    try:
        rows, renamed = _told_apart(rows)
        if renamed:
            old, new = renamed[0]
            notices.append(
                f"{origin}: {len(renamed):,} nodes above the items have the name of another node; they get another "
                f"(first: {old!r} is called {new!r})"
            )
        return from_level_table(rows, numbers=False), tuple(notices)
    except BadInputError as error:
        raise BadInputError(f"{origin}: {error}") from None


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
