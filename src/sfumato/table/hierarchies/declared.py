"""Hierarchies that a person declared: TOML entries and level tables in ARX's format (`value;level1;level2;...`)."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any

from sfumato.documents import named, parse_toml, read_text
from sfumato.errors import BadInputError
from sfumato.table.hierarchies.categories import flat, from_level_table, prefixes, tree
from sfumato.table.hierarchies.hierarchy import Hierarchy, read_number
from sfumato.table.hierarchies.ranges import dates, numeric
from sfumato.table.structures.countries import countries
from sfumato.table.structures.education import education
from sfumato.table.structures.icd import icd
from sfumato.table.structures.similar import groups


@dataclass(frozen=True)
class Filed:
    """What a file declares for a column, with the name of the file, for whoever has to correct it there."""

    content: Any
    origin: str = field(compare=False)


Declared = Hierarchy | Mapping[str, object] | Sequence[object] | str | Path | Filed
"""What may stand for a hierarchy: the value, a TOML-like table, nested lists, or the path of a level table."""

Observed = Callable[[], tuple[Sequence[str], Sequence[int]]]
"""Gives the values of the column with their counts, for the kinds of hierarchy that need them."""


@dataclass(frozen=True)
class EntryKind:
    """A type of TOML entry: what builds it, which keys it needs, which more it takes."""

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
    """Make the hierarchy that was declared for a column, naming the file and the column where it cannot be."""
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
        raise BadInputError(f"a table with a type, nested lists or a path is needed, not {given!r}")
    except BadInputError as error:
        raise BadInputError(f"hierarchy of column {column!r}: {error}") from None


def level_table_of(given: Declared | None) -> Path | None:
    """Return the level table that a declaration names, if it does."""
    content = given.content if isinstance(given, Filed) else given
    return Path(content) if isinstance(content, str | Path) else None


def place_of(given: Declared | None) -> str:
    """Say in brackets which file holds the values of a hierarchy, if one does."""
    path = level_table_of(given) or (given.origin if isinstance(given, Filed) else None)
    return "" if path is None else f" ({path})"


def from_entry(entry: dict[str, object], observed: Observed) -> Hierarchy:
    """Build what a TOML entry declares."""
    name = entry.pop("type", None)
    if not isinstance(name, str) or name not in KINDS:
        raise BadInputError(f"unknown type {name!r}; known are {', '.join(KINDS)}")
    kind = KINDS[name]
    missing = entry.pop("missing", False)
    if not isinstance(missing, bool):
        raise BadInputError(f"missing must be true or false, not {missing!r}")
    observed_before = entry.pop("observed", False)
    if not isinstance(observed_before, bool):
        raise BadInputError(f"observed must be true or false, not {observed_before!r}")
    known = (*kind.needed, *kind.further, "missing", "observed")
    unknown = sorted(set(entry) - set(known))
    if unknown:
        raise BadInputError(f"unknown key {unknown[0]!r} for type {name}; known are {', '.join(known)}")
    lacking = [key for key in kind.needed if key not in entry]
    if lacking:
        raise BadInputError(f"type {name} needs {' and '.join(lacking)} as well")
    if "values" in kind.further and "values" not in entry:
        entry["values"], entry["observed"] = observed()[0], True
    if "quantiles" in entry:
        values, counts = observed()
        bad = [value for value in values if not isfinite(read_number(value))]
        if bad:
            raise BadInputError(f"quantiles need numbers, and the column holds {bad[0]!r}")
        entry["values"], entry["counts"] = [read_number(value) for value in values], counts
    try:
        built = kind.build(**entry)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise BadInputError(f"type {name} cannot be built from {', '.join(sorted(entry))}: {error}") from None
    built = replace(built, observed=True) if observed_before else built
    return built.with_missing() if missing else built


def read_level_table(path: Path) -> Hierarchy:
    """Read a level table: no header, one row per value, its ancestors from fine to coarse; `;`, `,` or tab."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise BadInputError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path}: cannot be read as UTF-8 text ({error})") from None
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
    """List the level tables in a folder; none where it is no folder."""
    return sorted(folder.glob("*_hierarchy_*.csv"))


def read_hierarchies(path: Path) -> dict[str, Declared]:
    """Read the hierarchies of many columns: a TOML file, or a folder of `<table>_hierarchy_<column>.csv` files."""
    if path.is_dir():
        files: dict[str, Declared] = {}
        for file in level_tables(path):
            files[file.stem.split("_hierarchy_", 1)[1]] = file
        if not files:
            raise BadInputError(f"{path}: no file named <table>_hierarchy_<column>.csv in this folder")
        return files
    if not path.exists():
        raise BadInputError(f"{path}: there is no such file or folder")
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
        raise BadInputError(
            f"{path}: this study declares no hierarchy ([table.hierarchy.COLUMN]); leave the option out"
        )
    return given | entries
