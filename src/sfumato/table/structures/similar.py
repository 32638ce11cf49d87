"""Categories without a structure of their own, grouped by how alike their records are in the other quasi-identifiers.

The groups are learned from the records, so they say something about them: that the values of a group go along with
about the same values elsewhere. Therefore only values that many records have are grouped, all others stay alone;
sensitive columns are not looked at; a group says by its name what it is; and the domain stays an observed one, which
differential privacy refuses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, sqrt

import numpy as np

from sfumato.arrays import Counts, Numbers
from sfumato.errors import BadInputError
from sfumato.table.cells import Cells
from sfumato.table.hierarchies.categories import listed, value_text
from sfumato.table.hierarchies.hierarchy import Hierarchy
from sfumato.table.rows import weighted_counts
from sfumato.table.structures.structure import grouped

LEAST_RECORDS = 20
LEAST_SHARE = 0.01
"""So many records, and such a share of all, must have a value before it is grouped: what drafts may show."""

FEWEST = 6
"""Fewer values that many records have are not worth groups."""

COARSE = 20
"""The other columns are looked at on the finest level with no more nodes than this."""


def groups(values: Iterable[object], groups: Sequence[object], observed: bool = False) -> Hierarchy:
    """Build a hierarchy of groups, each a list of its label and its values; a value in no group stays by itself.

    >>> groups(["a", "b", "c"], [["similar: a, c", "a", "c"]]).levels[1].labels
    ('similar: a, c', 'b')
    """
    labels: dict[str, tuple[int, str]] = {}
    for place, group in enumerate(listed("groups", groups)):
        members = [value_text(part) for part in listed("a group", group)]
        if len(members) < 2:
            raise BadInputError(f"a group is a list of its label and its values, not {group!r}")
        for value in members[1:]:
            if labels.setdefault(value, (place, members[0])) != (place, members[0]):
                raise BadInputError(f"the value {value!r} stands in two groups; leave it in one of them")
    return grouped(values, lambda text: ((labels[text][0],), (labels[text][1],)) if text in labels else None, observed)


def similar_groups(cells: Cells, column: str) -> list[list[str]]:
    """Group the frequent values of a quasi-identifier by the others; nothing where there is too little to go by.

    Two values are as far apart as their shares of the other columns' values differ (total variation, summed over the
    columns); the two groups that are nearest on average are joined until about the root of the values' number is left.
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
    """Return, for every value, how its records are spread over the nodes of another column."""
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
    """Join the two groups that are nearest on average, the first of equals, until so many are left."""
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
