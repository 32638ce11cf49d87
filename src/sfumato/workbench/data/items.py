"""Tables whose records have items: which column holds them, what is seen of them, and a first study."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from sfumato.engines import Engine
from sfumato.mixed.declaration import DataDeclaration, ItemsDeclaration
from sfumato.mixed.reading import UNLISTED
from sfumato.table import TableDeclaration
from sfumato.texts.catalogue import t
from sfumato.tradeoff import draft
from sfumato.tradeoff.study.draft import Draft
from sfumato.tradeoff.study.presets import USUAL_KS, first_with_items
from sfumato.tradeoff.study.study import Study
from sfumato.workbench.data.opened import of_data, of_rows, rows_of
from sfumato.workbench.errors import FieldError

OF_ITEMS = ("column", "separator", "tree", "source", "id", "item")
"""Of a table whose records have items, what can be said of these; how its rows are read is said as of every table."""

ROLES = ("identifier", "quasi", "sensitive")
"""Roles that are guessed of columns beside items."""

LOOKED_AT_VALUES = 2_000
"""Values of a column that tell whether it holds sets of items."""

SEVERAL = re.compile(r"[^;|]+[;|][^;|]+|^\s*\[")
"""A text of several items, or a list."""

MOSTLY = 0.2
"""The share of such texts from which on a column seems to hold sets of items."""


def with_items(table: TableDeclaration, items: dict[str, Any]) -> DataDeclaration:
    """Say where the items of a table are; where nobody says in which column, the one that looks like it."""
    if "column" not in items and "source" not in items:
        column = of_rows(table, "items", guess_items)
        if column is None:
            raise FieldError("column", t("open.which_column"))
        items = {**items, "column": column}
    return DataDeclaration(table, ItemsDeclaration(**items))


def guess_items(rows: Engine) -> str | None:
    """Name the column that seems to hold sets of items: lists, or texts that most often are several words."""
    lists = [name for name, kind in rows.nested.items() if kind.endswith("[]")]
    if lists:
        return lists[0]
    shares = {}
    for name in rows.columns:
        distinct = rows.sample(name, LOOKED_AT_VALUES)
        pairs = list(zip(distinct.values, distinct.counts.tolist(), strict=True))
        several = sum(count for text, count in pairs if text is not None and SEVERAL.search(text))
        shares[name] = several / max(1, sum(count for _, count in pairs))
    best = max(shares, key=lambda name: shares[name], default=None)
    return best if best is not None and shares[best] >= MOSTLY else None


def items_seen(declared: DataDeclaration) -> dict[str, Any]:
    """Say what the items are read as, before columns have roles: the first other column stands for all of them."""
    with rows_of(declared.rows) as rows:
        first = next(
            (name for name in rows.columns if name != declared.beside.column and name not in rows.nested), None
        )
    if first is None:
        raise FieldError("column", t("open.only_items"))
    flat = declared.with_table(quasi=(first,), sensitive=(), neutral=(), identifier=(), hierarchy={})
    found: dict[str, Any] = of_data(
        flat,
        "items-seen",
        lambda data: {
            "items": len(data.baskets.items),
            "notices": [each for each in data.notices if not each.startswith(UNLISTED)],
        },
    )
    return found


def drafted_with_items(declared: DataDeclaration, name: str) -> tuple[Draft, Study]:
    """Draft the first study of a table with items: roles as of every table, candidates as of those with items."""
    drafted = draft(declared.rows)
    held = (declared.beside.column, declared.beside.id)
    guesses = tuple(each for each in drafted.guesses if each.column not in held)
    names = {role: tuple(each.column for each in guesses if each.role == role) for role in ROLES}
    coded = {each.column: dict(each.hierarchy) for each in guesses if each.hierarchy is not None and each.role}
    said: dict[str, Any] = {**names, "hierarchy": coded, "as_written": declared.rows.as_written}
    ks = [k for k in USUAL_KS if k <= drafted.records] or [1]
    study = first_with_items(name, replace(declared, table=replace(drafted.declaration, **said)), ks)
    return replace(drafted, guesses=guesses), study
