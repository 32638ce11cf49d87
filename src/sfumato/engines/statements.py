"""The SQL by which DuckDB puts together what is published."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sfumato.engines.protocol import Layout


def published(layout: Layout, names: Sequence[str]) -> str:
    """Write the query that gives the published rows in an order that depends on nothing but what they show."""
    shown = _shown(layout, names)
    if layout.permuted:
        query = _permuted(layout, shown)
    else:
        query = f"SELECT {_listed(layout.order, shown)} {_source(layout)}"
    return f"SELECT * FROM ({query}) ORDER BY {shuffled(_by_name(layout, range(len(layout.order))))}"


def _source(layout: Layout) -> str:
    joins = ["FROM placed"]
    if layout.neutral:
        joins.append("JOIN rows ON rows.rowid = placed.line")
    if layout.by_group or layout.group_column is not None:
        joins.append("JOIN grp_texts USING (grp)")
    if layout.by_cell:
        joins.append("JOIN cell_texts USING (cell)")
    return " ".join(joins)


def _shown(layout: Layout, names: Sequence[str]) -> dict[str, str]:
    """Say for every published column by which expression it is found."""
    shown = {column.name: f"grp_texts.t{i}::VARCHAR" for i, column in enumerate(layout.by_group)}
    shown |= {column.name: f"cell_texts.t{i}::VARCHAR" for i, column in enumerate(layout.by_cell)}
    shown |= {name: f"rows.c{names.index(name)}" for name in layout.neutral}
    if layout.group_column is not None:
        shown[layout.group_column] = "grp_texts.label"
    return shown


def _listed(order: Iterable[str], shown: dict[str, str]) -> str:
    return ", ".join(f"{shown[name]} AS o{i}" for i, name in enumerate(order))


def _permuted(layout: Layout, shown: dict[str, str]) -> str:
    """Deal the permuted columns out anew within each group: both sides sorted by what they themselves show.

    The pairing is a function of the two published margins of the group, so it tells nothing about who had what.
    """
    sides = []
    for permuted in (False, True):
        listed = {i: shown[name] for i, name in enumerate(layout.order) if (name in layout.permuted) == permuted}
        columns = "".join(f"{expression} AS o{i}, " for i, expression in listed.items())
        sides.append(
            f"SELECT *, row_number() OVER (PARTITION BY grp ORDER BY {shuffled(_by_name(layout, listed))}) AS turn "
            f"FROM (SELECT {columns}placed.grp {_source(layout)})"
        )
    columns = ", ".join(f"o{i}" for i in range(len(layout.order)))
    return f"SELECT {columns} FROM ({sides[0]}) AS kept JOIN ({sides[1]}) AS dealt USING (grp, turn)"


def _by_name(layout: Layout, positions: Iterable[int]) -> list[str]:
    """List outputs in the order of their columns' names, so that nothing depends on the order of columns."""
    return [f"o{i}" for i in sorted(positions, key=lambda i: layout.order[i])]


def shuffled(outputs: Sequence[str]) -> str:
    """Order by a digest of what is shown: no trace of the input's order, the same for the same content."""
    texts = ", ".join(f"coalesce('v' || {output}::VARCHAR, 'n')" for output in outputs)
    return f"md5(to_json([{texts}])::VARCHAR), {', '.join(outputs)}"
