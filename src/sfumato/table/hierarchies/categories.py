"""Builders of hierarchies of categories: trees written by hand, level tables, prefixes of codes, flat lists.

Every builder returns a `Hierarchy`; two builders that describe the same tree return equal hierarchies, so a loss
does not depend on how a hierarchy was given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import inf, isfinite
from statistics import mode

from sfumato.errors import BadInputError
from sfumato.table.hierarchies.hierarchy import (
    MISSING,
    ROOT,
    Hierarchy,
    Level,
    read_number,
    write_number,
)


def flat(values: Iterable[object], observed: bool = False) -> Hierarchy:
    """Build a hierarchy of one level: every value a leaf, in ascending order (numbers as numbers), and the root."""
    leaves = in_order([value_text(value) for value in listed("values", values)])
    return from_level_table([[leaf, ROOT] for leaf in leaves], observed=observed)


def tree(children: Sequence[object]) -> Hierarchy:
    """Build a hierarchy from nested lists: the root's children; a list is a node, its first item the label.

    >>> tree([["Government", "Federal", "State"], "Private"]).leaves
    ('Federal', 'State', 'Private')
    """
    paths: list[list[str]] = []
    for child in listed("children", children):
        _walk(child, [], paths)
    depth = max((len(path) for path in paths), default=0)
    rows = []
    for path in paths:
        padded = path + [path[-1]] * (depth - len(path))
        rows.append([*reversed(padded), ROOT])
    return from_level_table(rows)


def _walk(node: object, above: list[str], paths: list[list[str]]) -> None:
    if isinstance(node, list | tuple):
        if len(node) < 2 or isinstance(node[0], list | tuple):
            raise BadInputError(f"a node of a tree is a list of its label and its children, not {node!r}")
        for child in node[1:]:
            _walk(child, [*above, value_text(node[0])], paths)
    else:
        paths.append([*above, value_text(node)])


def listed(name: str, given: object) -> list[object]:
    """Return a list that was given as one; a single text is not."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise BadInputError(f"{name} must be a list, not {given!r}")
    return list(given)


def value_text(value: object) -> str:
    """Write a value of a TOML file or a list the way a table would show it."""
    if isinstance(value, bool):
        return str(value).lower()
    return write_number(value) if isinstance(value, float) else str(value)


def from_level_table(table: Sequence[Sequence[object]], observed: bool = False, numbers: bool = True) -> Hierarchy:
    """Build a hierarchy from rows `value, level 1, level 2, ...`, the last level one node (`*` is added if not).

    Values that all are numbers become a numeric domain, unless `numbers` is false.
    """
    rows = [[value_text(label) for label in listed("a row", row)] for row in listed("rows", table)]
    _check_level_table(rows)
    if len({row[-1] for row in rows}) > 1 or len(rows[0]) == 1:
        rows = [[*row, ROOT] for row in rows]
    elif len(rows) > 1:
        rows = [[*row[:-1], ROOT] for row in rows]
    ordered = _sorted_by_tree(rows)
    levels = tuple(_level([row[depth] for row in ordered]) for depth in range(len(ordered[0])))
    values = [_exact_number(row[0]) for row in ordered]
    stretches = tuple(value for value in values if value is not None)
    if numbers and len(stretches) == len(rows) and all(a < b for a, b in pairwise(stretches)):
        return Hierarchy(levels, (1.0,) * len(rows), "number", stretches, stretches, observed=observed)
    return Hierarchy(levels, (1.0,) * len(rows), observed=observed)


def _check_level_table(rows: list[list[str]]) -> None:
    if not rows:
        raise BadInputError("the hierarchy has no rows")
    seen: dict[str, int] = {}
    parents: dict[tuple[int, str], tuple[str, int]] = {}
    for number, row in enumerate(rows, start=1):
        if not row:
            raise BadInputError(f"row {number} is empty")
        if len(row) != len(rows[0]):
            raise BadInputError(f"row {number} has {len(row)} levels where row 1 has {len(rows[0])}")
        if row[0] == MISSING:
            raise BadInputError(
                f"row {number} has an empty value; missing values get a leaf of their own without a row"
            )
        if row[0] in seen:
            raise BadInputError(f"the value {row[0]!r} is listed twice, in rows {seen[row[0]]} and {number}")
        seen[row[0]] = number
        if MISSING in row:
            raise BadInputError(f"row {number} ({row[0]!r}) has an empty label, which would read as a missing value")
        for depth, (label, parent) in enumerate(pairwise(row)):
            known, first = parents.setdefault((depth, label), (parent, number))
            if known != parent:
                raise BadInputError(
                    f"not a tree: {label!r} (level {depth}) is under {known!r} in row {first} "
                    f"but under {parent!r} in row {number}"
                )


def _sorted_by_tree(rows: list[list[str]]) -> list[list[str]]:
    """Sort rows so that every node is a run of rows: by first appearance, or by value if all values are numbers."""
    values = [_exact_number(row[0]) for row in rows]
    numeric = all(value is not None for value in values)
    first: dict[tuple[int, str], float] = {}
    for position, (row, value) in enumerate(zip(rows, values, strict=True)):
        rank = float(value) if numeric and value is not None else float(position)
        for depth, label in enumerate(row):
            first[depth, label] = min(rank, first.get((depth, label), inf))
    return sorted(rows, key=lambda row: [first[depth, row[depth]] for depth in range(len(row) - 1, -1, -1)])


def _level(labels: list[str]) -> Level:
    starts = [0] + [i for i in range(1, len(labels)) if labels[i] != labels[i - 1]]
    return Level(tuple(starts), tuple(labels[i] for i in starts))


def _exact_number(text: str) -> float | None:
    """Read a number that would be written back in just this way, None otherwise (`007` is a code, not a number)."""
    value = read_number(text)
    return value if isfinite(value) and write_number(value) == text else None


def in_order(values: list[str]) -> list[str]:
    """Sort labels: as numbers if all are, else as texts."""
    numbers = [read_number(value) for value in values]
    if all(isfinite(number) for number in numbers):
        return [value for _, value in sorted(zip(numbers, values, strict=True))]
    return sorted(values)


def prefixes(values: Iterable[object], keep: Sequence[int] | None = None, observed: bool = False) -> Hierarchy:
    """Build the hierarchy of codes (ZIP, ICD) whose levels keep fewer and fewer leading characters.

    >>> prefixes(["81667", "81675", "81925"], keep=[3, 1]).levels[1].labels
    ('816**', '819**')
    """
    codes = sorted(value_text(value) for value in listed("values", values))
    longest = max((len(code) for code in codes), default=0)
    keep = list(range(longest - 1, 0, -1)) if keep is None else list(keep)
    if any(not 0 < length < longest for length in keep) or any(a <= b for a, b in pairwise(keep)):
        raise BadInputError(f"keep must fall from below {longest} (the longest code) to at least 1, not {keep}")
    width = mode(map(len, codes)) if observed else longest  # one longer code would show in all the others' labels
    rows = [[code, *(_masked(code, length, width) for length in keep), ROOT] for code in codes]
    return from_level_table(rows, observed=observed, numbers=False)


def _masked(code: str, length: int, width: int) -> str:
    return code if len(code) <= length else code[:length] + "*" * max(width - length, 1)
