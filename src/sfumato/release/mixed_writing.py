"""Writing a release of a table with items: the columns of the table, and one with what is published of the items.

In CSV the items of a record are one field, `;` between them, each in double quotes where it holds `;` or a quote; in
Parquet a list. A record that shows no item has an empty field. Within a field items stand in the order of their texts,
rows in the order of a digest of what they show: the file tells nothing but what it shows. Where spelling sets out would
make the file much larger, they are called by names that a legend explains, as for baskets.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np

from sfumato.engines.formulas import check_escaping, escape_file
from sfumato.engines.item_files import write_rows_with_items
from sfumato.engines.locations import input_files
from sfumato.release.items import MixedRelease
from sfumato.release.legend import Behind, Names, names_of, write_legend
from sfumato.release.writing import format_of
from sfumato.release.writing_items import files_of
from sfumato.runtime.arrays import Quiet
from sfumato.runtime.staging import check_targets, staged

Row = tuple[tuple[str, ...], tuple[str, ...]]
"""The texts of a record's columns, and what is published of its items."""


class Sheet(Quiet):
    """What a file holds: the names of its columns, which one holds the items, and the rows in their order."""

    def __init__(self, names: Sequence[str], items: int, rows: Sequence[Row]) -> None:
        self.names, self.items, self.rows = tuple(names), items, rows


def mixed_names(release: MixedRelease, mode: str = "auto") -> Names:
    """Decide what the file of a release calls the parts that it shows."""
    baskets = release.data.baskets
    nodes = () if baskets.tree is None else tuple(baskets.tree.nodes.values())
    return names_of(behind_parts(release), len(baskets.items), mode, nodes)


def behind_parts(release: MixedRelease) -> dict[str, Behind]:
    """Say what stands behind every part that some record shows; behind a node of a declared tree are all its leaves."""
    baskets, parts = release.data.baskets, release.parts
    supports = release.part_supports.tolist()
    nodes = {} if baskets.tree is None else {label: ends for ends, label in baskets.tree.nodes.items()}
    shown = {}
    for part in sorted(np.flatnonzero(release.part_supports).tolist(), key=lambda part: parts.members(part).tolist()):
        label, members = parts.labels[part], parts.members(part).tolist()
        is_node = label in nodes and parts.sizes[part] == nodes[label][1] - nodes[label][0] + 1
        items = tuple(baskets.items[code] for code in members)
        if is_node and baskets.tree is not None:
            items = tuple(baskets.tree.leaves[nodes[label][0] : nodes[label][1] + 1])
        shown[label] = Behind(items, supports[part], is_node)
    return shown


def published_sheet(release: MixedRelease, names: Names) -> Sheet:
    """Return what is published of every record, in an order that depends on nothing else."""
    data, relational = release.data, release.relational
    columns: dict[str, list[str]] = {}
    group = release.placed.group
    for attribute, quasi in enumerate(data.cells.quasi):
        texts, codes = relational.quasi_texts(attribute)
        columns[quasi.name] = [texts[code] for code in codes[group].tolist()]
    cell = data.pairs.cell[release.placed.pair]
    for place, sensitive in enumerate(data.cells.sensitive):
        if sensitive.name != data.column:
            labels = sensitive.labels
            columns[sensitive.name] = [labels[value] for value in data.cells.values[cell, place].tolist()]
    shown = _items_of_rows(release, names)
    rows: list[Row] = []
    each = list(zip(*(columns[name] for name in data.columns), strict=True))
    for shows, row, count in zip(each, release.rows_of_placed.tolist(), release.placed.count.tolist(), strict=True):
        rows += [(shows, shown[row])] * count
    place = items_place(release)
    return Sheet([*data.columns[:place], data.column, *data.columns[place:]], place, sorted(rows, key=_digest))


def items_place(release: MixedRelease) -> int:
    """Say where among the columns the items stand: as in the input, behind all where they were in a second file."""
    order = list(release.data.table.engine.columns)
    names = release.data.columns
    if release.data.column not in order:
        return len(names)
    at = order.index(release.data.column)
    return sum(order.index(name) < at for name in names)


def _items_of_rows(release: MixedRelease, names: Names) -> list[tuple[str, ...]]:
    starts, codes = release.shown
    texts = [names.texts.get(label, label) for label in release.parts.labels]
    ends = zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    return [tuple(sorted(texts[code] for code in codes[lo:hi].tolist())) for lo, hi in ends]


def _digest(row: Row) -> bytes:
    framed = "\x01".join(("\x00".join(row[0]), "\x00".join(row[1])))
    return sha256(framed.encode()).digest()


def write_drafts(sheet: Sheet, names: Names, drafts: Sequence[Path], path: Path, escape_formulas: bool = False) -> None:
    """Write the records, and the legend where there is one, wherever they will be moved to."""
    write_rows_with_items(sheet.names, sheet.rows, drafts[0], format_of(path), sheet.items)
    if escape_formulas:
        escape_file(drafts[0])
    if len(drafts) > 1:
        write_legend(names.legend, drafts[1], path.name, drafts[0])


def write_mixed(
    release: MixedRelease, path: str | Path, force: bool = False, escape_formulas: bool = False, legend: str = "auto"
) -> list[Path]:
    """Write a release to a CSV or Parquet file, and its legend beside it where it needs one; all or nothing."""
    target = Path(path)
    check_escaping(escape_formulas, target, format_of(target))
    names = mixed_names(release, legend)
    targets = files_of(target, names)
    check_targets(targets, force, input_files(release.data.origin))
    with staged(targets) as drafts:
        write_drafts(published_sheet(release, names), names, drafts, target, escape_formulas)
    return targets
