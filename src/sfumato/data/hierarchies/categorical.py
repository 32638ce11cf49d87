"""Builders of hierarchies of categories: trees, level tables, prefixes of codes, flat lists, groups.

Every builder returns a `Hierarchy`; two builders of the same tree return equal hierarchies, so a loss does not depend
on the form of the declaration. A structure places values in known groups; an unknown value remains alone up to the
root.

Categories without a structure can be grouped by the similarity of their records in the other quasi-identifiers. Such
groups are learned from the records, so they reveal that their values occur with similar values elsewhere. Therefore
only frequent values are grouped, sensitive columns are not used, a group's name states its origin, and the domain
remains observed, which differential privacy refuses.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from math import ceil, inf, isfinite, sqrt
from statistics import mode

import numpy as np

from sfumato.data.cells import Cells, weighted_counts
from sfumato.data.hierarchies.hierarchy import MISSING, ROOT, Hierarchy, Level
from sfumato.data.hierarchies.notation import read_number, write_number
from sfumato.runtime.arrays import Counts, Numbers
from sfumato.texts.catalogue import refusal


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
            raise refusal("node_tree_list_label", node=node)
        for child in node[1:]:
            _walk(child, [*above, value_text(node[0])], paths)
    else:
        paths.append([*above, value_text(node)])


def listed(name: str, given: object) -> list[object]:
    """Return a given list; a single text is an error."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise refusal("must_list", name=name, given=given)
    return list(given)


def value_text(value: object) -> str:
    """Return a value of a TOML file or a list as the text in a table."""
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
        raise refusal("hierarchy_no_rows")
    seen: dict[str, int] = {}
    parents: dict[tuple[int, str], tuple[str, int]] = {}
    for number, row in enumerate(rows, start=1):
        if not row:
            raise refusal("row_empty_categorical", number=number)
        if len(row) != len(rows[0]):
            raise refusal("row_levels_row", number=number, row=len(row), rows=len(rows[0]))
        if row[0] == MISSING:
            raise refusal("empty_value_in_level_table", number=number)
        if row[0] in seen:
            raise refusal("value_listed_twice", row=row[0], seen=seen[row[0]], number=number)
        seen[row[0]] = number
        if MISSING in row:
            raise refusal("row_empty_label", number=number, row=row[0])
        for depth, (label, parent) in enumerate(pairwise(row)):
            known, first = parents.setdefault((depth, label), (parent, number))
            if known != parent:
                raise refusal(
                    "two_parents", label=label, depth=depth, known=known, first=first, parent=parent, number=number
                )


def _sorted_by_tree(rows: list[list[str]]) -> list[list[str]]:
    """Sort rows so that every node is a run of rows: by first occurrence, or by value if all values are numbers."""
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
    """Parse a number in its canonical text, None otherwise (`007` is a code, not a number)."""
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
        raise refusal("keep_must_fall_from", longest=longest, keep=keep)
    width = mode(map(len, codes)) if observed else longest  # one longer code would be visible in all other labels
    rows = [[code, *(_masked(code, length, width) for length in keep), ROOT] for code in codes]
    return from_level_table(rows, observed=observed, numbers=False)


def _masked(code: str, length: int, width: int) -> str:
    return code if len(code) <= length else code[:length] + "*" * max(width - length, 1)


APART = " (group)"

Place = tuple[tuple[object, ...], tuple[str, ...]]
"""The sort key of a value, and the labels of its groups from fine to coarse."""


def grouped(values: Iterable[object], place: Callable[[str], Place | None], observed: bool) -> Hierarchy:
    """Build the hierarchy of values by their places; a level equal to the one below is omitted."""
    taken = {value_text(value) for value in listed("values", values)}
    texts = sorted(taken)
    places = {text: spot for text in texts if (spot := place(text)) is not None}
    levels = max((len(labels) for _, labels in places.values()), default=0)
    known = sorted(places, key=lambda text: (places[text][0], text))
    alone = [text for text in texts if text not in places]
    paths = {text: [_apart(label, taken) for label in places[text][1]] for text in known}
    paths |= {text: [text] * levels for text in alone}
    rows = [[text] for text in (*known, *alone)]
    for level in range(levels):
        labels = [paths[row[0]][level] for row in rows]
        if len(set(labels)) < len({row[-1] for row in rows}):
            rows = [[*row, label] for row, label in zip(rows, labels, strict=True)]
    return from_level_table(rows, observed=observed)


def _apart(label: str, taken: set[str]) -> str:
    """Return a label different from all values."""
    while label in taken:
        label += APART
    return label


def share_known(values: Sequence[str], place: Callable[[str], Place | None]) -> tuple[int, float]:
    """Return the number of values that a structure knows, and their share."""
    known = sum(place(value) is not None for value in values)
    return known, known / max(len(values), 1)


LEAST_RECORDS = 20
LEAST_SHARE = 0.01
"""The least share of the records of a grouped value, in addition to their least number, as for drafts."""

FEWEST = 6
"""The least number of frequent values for groups."""

COARSE = 20
"""The other columns are used at their finest level with at most this many nodes."""


def groups(values: Iterable[object], groups: Sequence[object], observed: bool = False) -> Hierarchy:
    """Build a hierarchy of groups, each a list of its label and its values; a value in no group remains alone.

    >>> groups(["a", "b", "c"], [["similar: a, c", "a", "c"]]).levels[1].labels
    ('similar: a, c', 'b')
    """
    labels: dict[str, tuple[int, str]] = {}
    for place, group in enumerate(listed("groups", groups)):
        members = [value_text(part) for part in listed("a group", group)]
        if len(members) < 2:
            raise refusal("group_list_label_values", group=group)
        for value in members[1:]:
            if labels.setdefault(value, (place, members[0])) != (place, members[0]):
                raise refusal("value_stands_two_groups", value=value)
    return grouped(values, lambda text: ((labels[text][0],), (labels[text][1],)) if text in labels else None, observed)


def similar_groups(cells: Cells, column: str) -> list[list[str]]:
    """Group the frequent values of a quasi-identifier by the others; empty if there is too little evidence.

    The distance of two values is the total variation of their shares of the other columns' values, summed over the
    columns. The two nearest groups on average are merged until about the square root of the number of values is left.
    """
    place = [quasi.name for quasi in cells.quasi].index(column)
    hierarchy = cells.quasi[place].hierarchy
    counts = weighted_counts(cells.codes[:, place], cells.counts, hierarchy.size)[: hierarchy.domain_size]
    frequent = np.flatnonzero(counts >= max(LEAST_RECORDS, LEAST_SHARE * int(cells.counts.sum())))
    if len(frequent) < FEWEST or len(cells.quasi) < 2:
        return []
    parts = [_shares(cells, place, other, frequent) for other in range(len(cells.quasi)) if other != place]
    shares = np.concatenate(parts, axis=1)
    apart = np.abs(shares[:, None] - shares[None]).sum(axis=2) / 2
    members = _joined(apart, ceil(sqrt(len(frequent))))
    names = [[hierarchy.leaves[frequent[i]] for i in group] for group in members if len(group) > 1]
    return [[f"similar: {', '.join(values)}", *values] for values in names]


def _shares(cells: Cells, place: int, other: int, values: Counts) -> Numbers:
    """Return, for each value, the distribution of its records over the nodes of another column."""
    hierarchy = cells.quasi[other].hierarchy
    level = next(at for at, level in enumerate(hierarchy.levels) if len(level.labels) <= COARSE)
    nodes = len(hierarchy.levels[level].labels)
    node = hierarchy.ancestors[level][cells.codes[:, other]]
    size = cells.quasi[place].hierarchy.size
    table = weighted_counts(cells.codes[:, place].astype(np.int64) * nodes + node, cells.counts, size * nodes)
    rows = table.reshape(size, nodes)[values]
    shares: Numbers = rows / rows.sum(axis=1, keepdims=True)
    return shares


def _joined(apart: Numbers, wanted: int) -> list[list[int]]:
    """Merge the two nearest groups on average, the first of equals, until `wanted` are left."""
    members = [[i] for i in range(len(apart))]
    while len(members) > wanted:
        distances = [
            (round(float(apart[np.ix_(a, b)].mean()), 12), i, j)
            for i, a in enumerate(members)
            for j, b in enumerate(members)
            if i < j
        ]
        _, i, j = min(distances)
        members[i] = sorted(members[i] + members.pop(j))
    return members
