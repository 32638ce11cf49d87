"""Declared hierarchies: TOML entries and level tables in ARX's format (`value;level1;level2;...`).

Trees of items come from level tables (`item, parent, grandparent, ...`, optionally compressed or with a header), or
from a bundled classification by its name (`icd-9-cm`, `icd-10`), for the items that occur.

In catalogues a category may have the name of a code in it (ICD-9 has the code 250 and the category 250). To distinguish
them in a release, such a node is called `250 (all)`.
"""

import csv
import gzip
import io
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any

from sfumato.config.documents import named, parse_toml, read_text
from sfumato.data.hierarchies.categorical import flat, from_level_table, groups, prefixes, tree
from sfumato.data.hierarchies.classifications import CLASSIFICATIONS, countries, education, icd
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.hierarchies.notation import read_number
from sfumato.data.hierarchies.numeric import dates, numeric
from sfumato.engines._text_files import existing_file
from sfumato.errors import BadInputError
from sfumato.texts.catalogue import refusal, t


@dataclass(frozen=True)
class Filed:
    """The declaration of a column in a file, with the name of the file for messages."""

    content: Any
    origin: str = field(compare=False)


Declared = Hierarchy | Mapping[str, object] | Sequence[object] | str | Path | Filed
"""The possible declarations of a hierarchy: the value, a TOML-like table, nested lists, or a level table's path."""

Observed = Callable[[], tuple[Sequence[str], Sequence[int]]]
"""Returns the values of the column with their counts, for the kinds of hierarchy that need them."""


@dataclass(frozen=True)
class EntryKind:
    """A type of TOML entry: its builder, its required and its optional keys."""

    build: Callable[..., Hierarchy]
    needed: tuple[str, ...] = ()
    further: tuple[str, ...] = ()


KINDS: dict[str, EntryKind] = {
    "numeric": EntryKind(
        numeric,
        ("lower", "upper"),
        (
            *("resolution", "edges", "intervals", "fan_out", "quantiles", "cuts"),
            *("labels", "open_below", "open_above", "continuous"),
        ),
    ),
    "dates": EntryKind(dates, ("first", "last"), ("levels", "cuts", "labels")),
    "prefixes": EntryKind(prefixes, (), ("values", "keep")),
    "flat": EntryKind(flat, (), ("values",)),
    "tree": EntryKind(lambda children: tree(children), ("children",)),
    "level-table": EntryKind(lambda rows: from_level_table(rows), ("rows",)),
    "icd": EntryKind(icd, (), ("values",)),
    "countries": EntryKind(countries, (), ("values",)),
    "education": EntryKind(education, (), ("values",)),
    "groups": EntryKind(groups, ("groups",), ("values",)),
}


def declared(column: str, given: Declared, observed: Observed) -> Hierarchy:
    """Return the declared hierarchy of a column; errors name the file and the column."""
    if isinstance(given, Filed):
        with named(given.origin):
            return declared(column, given.content, observed)
    try:
        if isinstance(given, Hierarchy):
            return given
        if isinstance(given, str | Path):
            return read_level_table(Path(given))
        if isinstance(given, Mapping):
            return from_entry(dict(given), observed)
        if isinstance(given, list | tuple):
            return tree(given)
        raise refusal("table_type", given=given)
    except BadInputError as error:
        raise refusal("hierarchy_column", column=column, error=error) from None


def level_table_of(given: Declared | None) -> Path | None:
    """Return the path of the level table in a declaration, if it is one."""
    content = given.content if isinstance(given, Filed) else given
    return Path(content) if isinstance(content, str | Path) else None


def place_of(given: Declared | None) -> str:
    """Return in brackets the file with the values of a hierarchy, if there is one."""
    path = level_table_of(given) or (given.origin if isinstance(given, Filed) else None)
    return "" if path is None else f" ({path})"


def from_entry(entry: dict[str, object], observed: Observed) -> Hierarchy:
    """Build the hierarchy of a TOML entry."""
    name = entry.pop("type", None)
    if not isinstance(name, str) or name not in KINDS:
        raise refusal("unknown_type", name=name, KINDS=", ".join(KINDS))
    kind = KINDS[name]
    missing = entry.pop("missing", False)
    if not isinstance(missing, bool):
        raise refusal("missing_must_true_false", missing=missing)
    observed_before = entry.pop("observed", False)
    if not isinstance(observed_before, bool):
        raise refusal("observed_must_true_false", observed_before=observed_before)
    known = (*kind.needed, *kind.further, "missing", "observed")
    unknown = sorted(set(entry) - set(known))
    if unknown:
        raise refusal("unknown_key_type", unknown=unknown[0], name=name, known=", ".join(known))
    lacking = [key for key in kind.needed if key not in entry]
    if lacking:
        raise refusal("type_needs_well", name=name, lacking=" and ".join(lacking))
    if "values" in kind.further and "values" not in entry:
        entry["values"], entry["observed"] = observed()[0], True
    if "quantiles" in entry:
        values, counts = observed()
        bad = [value for value in values if not isfinite(read_number(value))]
        if bad:
            raise refusal("quantiles_need_numbers", bad=bad[0])
        entry["values"], entry["counts"] = [read_number(value) for value in values], counts
    try:
        built = kind.build(**entry)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise refusal("type_cannot_built_from", name=name, entry=", ".join(sorted(entry)), error=error) from None
    built = replace(built, observed=True) if observed_before else built
    return built.with_missing() if missing else built


def read_level_table(path: Path) -> Hierarchy:
    """Read a level table: no header, one row per value, its ancestors from fine to coarse; `;`, `,` or tab."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise refusal("no_such_file", path=path) from None
    except (OSError, UnicodeDecodeError) as error:
        raise refusal("cannot_read_utf_text", path=path, error=error) from None
    try:
        return from_level_table(level_rows(text))
    except BadInputError as error:
        raise BadInputError(f"{path}: {error}") from None


def level_rows(text: str) -> list[list[str]]:
    """Split the text of a level table into its rows of labels."""
    first = text.partition("\n")[0]
    delimiter = max(";\t,|", key=first.count)
    return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]


def level_tables(folder: Path) -> list[Path]:
    """List the level tables in a folder; empty if it is no folder."""
    return sorted(folder.glob("*_hierarchy_*.csv"))


def read_hierarchies(path: Path) -> dict[str, Declared]:
    """Read the hierarchies of many columns: a TOML file, or a folder of `<table>_hierarchy_<column>.csv` files."""
    if path.is_dir():
        files: dict[str, Declared] = {}
        for file in level_tables(path):
            files[file.stem.split("_hierarchy_", 1)[1]] = file
        if not files:
            raise refusal("no_file_named_table", path=path)
        return files
    if not path.exists():
        raise refusal("no_such_file_folder", path=path)
    content = parse_toml(read_text(path), str(path))
    content.pop("schema", None)
    if isinstance(study := content.get("table"), Mapping) and "source" in study:
        return _hierarchies_of_study(study, path)
    return {column: Filed(entry, str(path)) for column, entry in content.items()}


def _hierarchies_of_study(table: Mapping[str, Any], path: Path) -> dict[str, Declared]:
    """Return the hierarchies that a study declares for its table."""
    given = read_hierarchies(path.parent / str(table["hierarchies"])) if "hierarchies" in table else {}
    entries = {column: Filed(entry, str(path)) for column, entry in dict(table.get("hierarchy", {})).items()}
    if not given and not entries:
        raise refusal("study_without_hierarchies", path=path)
    return given | entries


WANTED = (
    "give a level table (one row per item, its ancestors from fine to coarse), or a bundled one: "
    f"{', '.join(CLASSIFICATIONS)}"
)


def read_tree(tree: Hierarchy | Path | str, items: Collection[str] = ()) -> tuple[Hierarchy, tuple[str, ...]]:
    """Return a hierarchy of items, read from a level table if necessary, with notices."""
    if isinstance(tree, Hierarchy):
        return tree, ()
    if is_classification(tree):
        return _built(CLASSIFICATIONS[str(tree)].rows(items), str(tree), [])
    path = existing_file(Path(tree), WANTED)
    try:
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix.lower() == ".gz" else content).decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise refusal("cannot_read_utf_text", path=path, error=error) from None
    rows = [[label.strip() for label in row] for row in level_rows(text)]  # like items of baskets
    notices: list[str] = []
    if _has_header(rows, items):
        notices.append(t("notice.first_row", path=path, rows=", ".join(rows[0])))
        rows = rows[1:]
    return _built(rows, str(path), notices)


def is_classification(tree: Path | str) -> bool:
    """Return whether a tree is a bundled one: it has the name of one, and there is no such file."""
    return str(tree) in CLASSIFICATIONS and not Path(tree).exists()


def _built(rows: list[list[str]], origin: str, notices: list[str]) -> tuple[Hierarchy, tuple[str, ...]]:
    """Build the hierarchy of a level table; `origin` is its name in messages."""
    try:
        rows, renamed = _told_apart(rows)
        if renamed:
            old, new = renamed[0]
            notices.append(t("notice.nodes_above_items_name", origin=origin, renamed=len(renamed), old=old, new=new))
        return from_level_table(rows, numbers=False), tuple(notices)
    except BadInputError as error:
        raise BadInputError(f"{origin}: {error}") from None


def _has_header(rows: list[list[str]], items: Collection[str]) -> bool:
    """Return whether the first row has column names: no item of the baskets, and no label that occurs elsewhere."""
    if len(rows) < 2 or rows[0][0] in items or not items:
        return False
    others = {label for row in rows[1:] for label in row}
    return len(set(rows[0])) == len(rows[0]) and others.isdisjoint(rows[0])


def _told_apart(rows: list[list[str]]) -> tuple[list[list[str]], list[tuple[str, str]]]:
    """Rename inner nodes that have the name of another node with fewer or other items."""
    if len({len(row) for row in rows}) != 1:
        return rows, []  # the builder reports the error
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
