"""Writing a release with items: each record as the published form of its items, and of its columns if it has some.

Sets of items alone:
- `lines`: one record per line, published items separated by commas, quoted where they hold one (RFC 4180); no header.
- `long`: two columns, `record` and `item`; a record without items has one row with an empty item.
- Parquet: one column `items`, a list.

With further columns, the items of a record are one field of CSV, `;` between them, each in double quotes if it contains
`;` or a quote, and a list in Parquet. A record without published items has an empty field. Within a field items are
ordered by text, rows by a digest of their content, so the order reveals nothing.

A published label is self-explanatory if it is an item, a set in full (`{a, b}`), or `*` for all items. A node of a
declared tree is clear to analysts with the tree. All others need a legend, which is part of the release: nodes of a
tree that was made from the order of items, and **class names** (`g001`) for sets that would make the file much larger
if they were written in full at every occurrence.

    auto     sets get names if writing them in full takes more than twice the characters of names and legend, and more
             than a small file has anyway
    always   all labels of several items are names or nodes in the legend
    never    all labels of several items are in full; nodes of a declared tree keep their names

The rule uses only published content. Names are numbered in the order of the first items of their sets, which the legend
shows anyway. Only sets that some record shows have one; no published item, item of a set or node has the same name. The
legend lists only the content of the file, and names the file.
"""

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from sfumato.auditing._item_coverage import Whose
from sfumato.auditing.items import KIND, SCHEMA, legend_file
from sfumato.auditing.notation import set_members
from sfumato.config.options import check_choice
from sfumato.engines._text_files import check_escaping, escape_file
from sfumato.engines.item_files import write_lists, write_rows_with_items
from sfumato.engines.locations import input_files
from sfumato.errors import BadInputError
from sfumato.release.items import BasketRelease, MixedRelease, ShowsItems, set_label
from sfumato.release.writing import Format, format_of
from sfumato.runtime.arrays import RedactedRepr
from sfumato.runtime.staging import check_targets, staged

LegendMode = Literal["auto", "always", "never"]
MODES = ("auto", "always", "never")
EVERYTHING = "*"
WORTH_A_NAME = 2
"""The factor by which sets in full exceed names and legend before they get names."""

SMALL = 100_000
"""Characters of sets in full that are always acceptable, because people read small files."""


@dataclass(frozen=True, repr=False)
class Behind(RedactedRepr):
    """The items of a published label in order, and the number of records that show it."""

    items: tuple[str, ...]
    records: int
    is_known: bool = False
    """Whether it is a node of a tree that analysts have."""


@dataclass(frozen=True, repr=False)
class Names(RedactedRepr):
    """The file's text for each published label, and the legend."""

    texts: Mapping[str, str]
    legend: Mapping[str, tuple[str, ...]]
    """By the text in the file; empty if every text is self-explanatory."""


def names_of(sets_behind: Mapping[str, Behind], domain: int, mode: str = "auto", taken: Collection[str] = ()) -> Names:
    """Determine the file's texts of its labels; `domain` is the number of all items.

    `taken` are further texts that analysts may know, such as the nodes of a tree.

    >>> names = names_of({"{a, b}": Behind(("a", "b"), 90_000), "c": Behind(("c",), 7)}, 3)
    >>> names.texts["{a, b}"], names.texts["c"], dict(names.legend)
    ('g1', 'c', {'g1': ('a', 'b')})
    """
    check_choice("legend", mode, MODES)
    sets = dict.fromkeys(label for label, behind in sets_behind.items() if is_spelled(label, behind, taken))
    opaque = [
        label for label in sets_behind if label not in sets and not _says_itself(label, sets_behind[label], domain)
    ]
    if mode == "never":
        return Names({label: label for label in sets_behind} | _spelled(opaque, sets_behind), {})
    named = _class_names(sets, sets_behind, taken)
    if mode == "auto" and not _is_worth_names(named, sets_behind):
        named = {}
    if mode == "always":
        opaque = [label for label in sets_behind if label not in sets and sets_behind[label].items != (label,)]
    legend = {text: sets_behind[label].items for label, text in named.items()}
    legend |= {label: sets_behind[label].items for label in opaque}
    return Names({label: named.get(label, label) for label in sets_behind}, dict(sorted(legend.items())))


def names_as_before(labels: Sequence[str], stands_for: Mapping[str, tuple[str, ...]]) -> Names:
    """Use the texts of an earlier release; the legend has those that are not self-explanatory."""
    legend = {
        label: stands_for[label]
        for label in sorted(labels)
        if label != EVERYTHING
        and stands_for[label] != (label,)
        and not is_spelled(label, Behind(stands_for[label], 1), ())
    }
    return Names({label: label for label in labels}, legend)


def is_spelled(label: str, behind: Behind, taken: Collection[str]) -> bool:
    """Return whether a label is the full set of its items, and cannot be read as anything else."""
    if len(behind.items) < 2 or behind.is_known or label in taken:
        return False
    return tuple(member for member, _ in set_members(label) or ()) == behind.items


def _says_itself(label: str, behind: Behind, domain: int) -> bool:
    everything = label == EVERYTHING and len(behind.items) == domain
    return behind.is_known or behind.items == (label,) or everything


def _spelled(labels: Sequence[str], sets_behind: Mapping[str, Behind]) -> dict[str, str]:
    known = frozenset(item for behind in sets_behind.values() for item in behind.items)
    return {label: set_label(list(sets_behind[label].items), known) for label in labels}


def _class_names(sets: Collection[str], sets_behind: Mapping[str, Behind], taken: Collection[str]) -> dict[str, str]:
    """Number sets in order, with a prefix that is no prefix of a number among the texts of analysts."""
    texts = {
        *taken,
        *(set(sets_behind) - set(sets)),
        *(item for behind in sets_behind.values() for item in behind.items),
    }
    prefix = "g"
    while any(re.fullmatch(prefix + r"\d+", text) for text in texts):
        prefix += "g"
    width = len(str(len(sets)))
    return {label: f"{prefix}{number:0{width}}" for number, label in enumerate(sets, start=1)}


def _is_worth_names(named: Mapping[str, str], behind: Mapping[str, Behind]) -> bool:
    """Return whether sets in full take much more space than names and legend."""
    spelled = sum(len(label) * behind[label].records for label in named)
    short = sum(len(name) * behind[label].records + len(name) + len(label) for label, name in named.items())
    return spelled > max(SMALL, WORTH_A_NAME * short)


def release_names(release: ShowsItems, mode: str = "auto") -> Names:
    """Determine the file's texts of the parts of a release."""
    tree = release.baskets.tree
    taken = () if tree is None else {label for level in tree.levels for label in level.labels}
    return names_of(behind_parts(release), len(release.baskets.items), mode, taken)


def behind_parts(release: ShowsItems) -> dict[str, Behind]:
    """Return the items of each part that some record shows, in the order of their first items.

    A node of a declared tree contains all its leaves, occurring or not.
    """
    baskets, parts, supports = release.baskets, release.parts, release.part_supports
    tree = baskets.tree
    leaves = {} if tree is None else {name: tree.leaves[lo : hi + 1] for (lo, hi), name in tree.nodes.items()}
    shown = {}  # not in the order of pieces or groups, which could reveal facts about records
    for part in sorted(np.flatnonzero(supports).tolist(), key=lambda part: parts.members(part).tolist()):
        label, items = parts.labels[part], tuple(baskets.items[code] for code in parts.members(part).tolist())
        is_node = label in leaves and set(items) == baskets.places.keys() & set(leaves[label])
        shown[label] = Behind(tuple(leaves[label]) if is_node else items, int(supports[part]), is_node)
    return shown


# -- the file --------------------------------------------------------------------------------------------------


def write_legend(legend: Mapping[str, Sequence[str]], draft: Path, name: str, data: Path) -> None:
    """Write the legend of a data file that is in `data` and will be called `name`: one line for each entry."""
    with data.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    head = {"schema": SCHEMA, "kind": KIND, "file": name, "sha256": digest}
    lines = [f"  {_json(key)}: {_json(value)}" for key, value in head.items()]
    entries = [f"    {_json(text)}: {_json(list(items))}" for text, items in legend.items()]
    lines.append('  "legend": {\n' + ",\n".join(entries) + "\n  }")
    draft.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


ItemTexts = tuple[str, ...]
"""The published form of the items of a record."""

Row = tuple[tuple[str, ...], ItemTexts]
"""The texts of a record's columns, and the published form of its items."""


class Sheet(NamedTuple):
    """The content of a file: the names of its columns, the column of items, and the rows in order."""

    names: Sequence[str]
    items: int
    rows: Sequence[Row]


def published_sheet(release: MixedRelease, names: Names) -> Sheet:
    """Return the published form of each record, in an order that depends only on it."""
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
    """Return the index of the column of items: as in the input, last if they were in a second file."""
    order = list(release.data.table.engine.columns)
    names = release.data.columns
    if release.data.column not in order:
        return len(names)
    at = order.index(release.data.column)
    return sum(order.index(name) < at for name in names)


def _items_of_rows(release: ShowsItems, names: Names | None) -> list[ItemTexts]:
    starts, codes = release.shown
    texts = [label if names is None else names.texts.get(label, label) for label in release.labels]
    ends = zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    return [tuple(sorted(texts[code] for code in codes[lo:hi].tolist())) for lo, hi in ends]


def _digest(row: Row) -> bytes:
    framed = "\x01".join(("\x00".join(row[0]), "\x00".join(row[1])))
    return sha256(framed.encode()).digest()


LAYOUTS = ("lines", "long")


def published_rows(release: BasketRelease, names: Names | None = None) -> list[ItemTexts]:
    """Return the published form of each record, with the file's names, in an order that depends only on it."""
    each = zip(_items_of_rows(release, names), release.count.tolist(), strict=True)
    records = [shows for shows, count in each for _ in range(count)]
    return sorted(records, key=lambda row: sha256("\x00".join(row).encode()).digest())


def rows_of_kinds(release: BasketRelease, names: Names) -> Whose:
    """Count the records of each kind of persons that show the same: what an audit of what was written counts by."""
    rows = Whose()
    each = zip(
        _items_of_rows(release, names), release.baskets.people.kind.tolist(), release.count.tolist(), strict=True
    )
    for shows, kind, count in each:
        rows[frozenset(shows), kind] += count
    return rows


def write_items(
    release: ShowsItems,
    path: str | Path,
    layout: str = "lines",
    force: bool = False,
    escape_formulas: bool = False,
    legend: str = "auto",
) -> list[Path]:
    """Write a release to a CSV or Parquet file, with its legend if it needs one, all or nothing.

    `escape_formulas` writes a leading `'` in items that a spreadsheet would run as formulas. `legend` is the mode for
    labels of several items: `auto`, `always` or `never`.
    """
    target = Path(path)
    check_escaping(escape_formulas, target, format_of(target))
    layout = laid_out(layout, format_of(target))
    names = release_names(release, legend)
    targets = files_of(target, names)
    check_targets(targets, force, input_files(release.data.origin))
    with staged(targets) as drafts:
        write_item_drafts(release, names, drafts, target, layout, escape_formulas)
    return targets


def files_of(path: Path, names: Names) -> list[Path]:
    """Return the files of a release: the data, and the legend if it needs one."""
    return [path, *([legend_file(path)] if names.legend else [])]


def write_item_drafts(
    release: ShowsItems, names: Names, drafts: Sequence[Path], path: Path, layout: str, escape_formulas: bool
) -> list[ItemTexts]:
    """Write the future file `path`, and its legend, to drafts; return the rows of sets of items."""
    rows: list[ItemTexts] = []
    if isinstance(release, BasketRelease):
        rows = published_rows(release, names)
        write_lists(rows, drafts[0], format_of(path), layout, escape_formulas)
    else:
        assert isinstance(release, MixedRelease)
        sheet = published_sheet(release, names)
        write_rows_with_items(sheet.names, sheet.rows, drafts[0], format_of(path), sheet.items)
        if escape_formulas:
            escape_file(drafts[0])
    if names.legend:
        write_legend(names.legend, drafts[1], path.name, drafts[0])
    return rows


def laid_out(layout: str, format: Format) -> str:
    """Return the layout of baskets, by default lines (`rows`); raise if the format does not support it."""
    layout = "lines" if layout == "rows" else layout
    check_choice("layout", layout, LAYOUTS)
    if format == "parquet" and layout != "lines":
        raise BadInputError("a Parquet file has one list of items per record; leave out --layout, or write a .csv file")
    return layout
