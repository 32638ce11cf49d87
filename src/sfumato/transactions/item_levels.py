"""Trees of items from level tables as they come: with a heading, and with codes that are an item and a group at once.

In ICD-9 the diagnosis 250 is also the category of 250.01, 250.02, ...; published, the two must not look the same.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection

from sfumato.errors import BadInputError
from sfumato.table import Hierarchy
from sfumato.table.building import from_level_table

Rows = list[list[str]]


def item_levels(text: str, origin: str, items: Collection[str] = ()) -> Hierarchy:
    """Build the tree that the text of a level table describes: one row per item, its ancestors from fine to coarse.

    `items` are those that occur, by which a heading is told from an item.
    """
    delimiter = max(";\t,|", key=text.partition("\n")[0].count)
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    try:
        return from_level_table(told_apart(without_heading(rows, items)))
    except BadInputError as error:
        raise BadInputError(f"{origin}: {error}") from None


def without_heading(rows: Rows, items: Collection[str]) -> Rows:
    """Leave a first row out that is about no item that occurs and shares no label with any other row."""
    if len(rows) < 2 or not items or rows[0][0] in items:
        return rows
    others = {label for row in rows[1:] for label in row}
    return rows if others & set(rows[0]) else rows[1:]


def told_apart(rows: Rows) -> Rows:
    """Rename groups that are called like a smaller group or an item: `250` of 34 codes becomes `250 (all)`.

    >>> told_apart([["250", "250"], ["250.1", "250"], ["251", "251"]])
    [['250', '250 (all)'], ['250.1', '250 (all)'], ['251', '251']]
    """
    under: dict[tuple[int, str], set[int]] = {}
    for number, row in enumerate(rows):
        for depth, label in enumerate(row):
            under.setdefault((depth, label), set()).add(number)
    taken = {label for row in rows for label in row}
    meant: dict[str, set[int]] = {}
    new: dict[tuple[int, str], str] = {}
    for (depth, label), members in sorted(under.items(), key=lambda own: own[0][0]):
        name = label
        while meant.setdefault(name, members) != members:
            name += " (all)"
            while name in taken and name not in meant:
                name += " (all)"
        new[depth, label] = name
    return [[new[depth, label] for depth, label in enumerate(row)] for row in rows]
