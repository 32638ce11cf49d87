"""What is shown of a column's hierarchy: its tree or its intervals with counts, and what each level would do to k."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.table import Hierarchy
from sfumato.tradeoff.levels import SMALL, ColumnHierarchy
from sfumato.workbench.data.sentences import in_forms
from sfumato.workbench.views.hierarchies.branches import Branch, branches_of

BINS = 90
"""Bars of a histogram, at most."""

CANDIDATES = 1_500
"""Places that are offered for cuts, at most; others can be typed."""

MOST_BRANCHES = 1_500
"""Groups and values that a tree shows, at most."""

MOST_NODES = 400
"""Intervals of one level that are drawn, at most."""


def shown(view: ColumnHierarchy) -> dict[str, Any]:
    """Say everything that the page shows of a hierarchy."""
    tree = view.hierarchy
    numbers = tree.scale != "category" and tree.domain_size > 1
    return {
        "scale": tree.scale,
        "records": view.records,
        "values": tree.domain_size,
        "observed": tree.observed,
        "others": list(view.others),
        "levels": _levels(view),
        "tree": None if numbers else _tree(view),
        "intervals": _intervals(view) if numbers else None,
        "notices": list(map(in_forms, view.notices)),
    }


def _levels(view: ColumnHierarchy) -> list[dict[str, Any]]:
    """Say what publishing the column on each level would do."""
    levels = []
    for risk in view.levels:
        counts = {"alone": risk.alone, "together": risk.together}
        levels.append(
            {
                "level": risk.level,
                "nodes": len(view.hierarchy.levels[risk.level].labels)
                - int(view.hierarchy.missing and risk.level < view.hierarchy.height),
                "example": risk.example,
                "inner": 0 < risk.level < view.hierarchy.height,
                **{
                    name: None
                    if each is None
                    else {
                        "small": each.below[SMALL],
                        "unique": each.uniques,
                        "k": each.smallest,
                        "share": each.above(SMALL),
                    }
                    for name, each in counts.items()
                },
            }
        )
    return levels


# -- trees -----------------------------------------------------------------------------------------------------------


def _tree(view: ColumnHierarchy) -> dict[str, Any]:
    """Write the groups with their records; of very many values the first ones."""
    counts = dict(zip(view.hierarchy.leaves, view.counts.tolist(), strict=True))
    return branch_values(branches_of(view.hierarchy), counts)


def branch_values(root: Branch, counts: dict[str, int]) -> dict[str, Any]:
    """Write groups with the counts of the values in them, as far as there is room."""
    return _branch(root, (), counts, [MOST_BRANCHES])


def _branch(branch: Branch, path: tuple[int, ...], counts: dict[str, int], left: list[int]) -> dict[str, Any]:
    left[0] -= 1
    children, records = [], 0 if branch.children else counts.get(branch.label, 0)
    hidden = 0
    for place, child in enumerate(branch.children):
        if left[0] > 0:
            children.append(_branch(child, (*path, place), counts, left))
            records += children[-1]["records"]
        else:
            hidden += 1
            records += _records(child, counts)
    return {
        "label": branch.label,
        "path": list(path),
        "records": records,
        "group": bool(branch.children),
        "children": children,
        "hidden": hidden,
    }


def _records(branch: Branch, counts: dict[str, int]) -> int:
    return sum(_records(child, counts) for child in branch.children) if branch.children else counts.get(branch.label, 0)


# -- intervals -------------------------------------------------------------------------------------------------------


def _intervals(view: ColumnHierarchy) -> dict[str, Any]:
    """Write the levels as stretches of a line, with a histogram of the column below them."""
    tree, size = view.hierarchy, view.hierarchy.domain_size
    ends = tree.cumulative[: size + 1]
    line = ends / ends[-1]
    inner = [(place, level) for place, level in enumerate(tree.levels) if 0 < place < tree.height]
    places = _offered(tree, {start for _, level in inner for start in level.starts if 0 < start < size})
    return {
        "bars": _bars(view, line),
        "missing": int(view.counts[size:].sum()),
        "places": [{"at": float(line[leaf]), "text": begin(tree, leaf)} for leaf in places],
        "first": tree.write_value(tree.firsts[0]) if np.isfinite(tree.firsts[0]) else f"<{begin(tree, 1)}",
        "last": tree.write_value(tree.lasts[-1]) if np.isfinite(tree.lasts[-1]) else f"{begin(tree, size - 1)}+",
        "levels": [
            {"level": place, "nodes": _nodes(view, place, line), "too_many": len(level.starts) > MOST_NODES}
            for place, level in inner
        ],
    }


def begin(tree: Hierarchy, leaf: int) -> str:
    """Write the value at which a leaf begins."""
    return tree.write_value(tree.firsts[leaf])


def _offered(tree: Hierarchy, used: set[int]) -> list[int]:
    """Choose leaves at which cuts may be: all, or evenly some, and those that have one."""
    step = max(1, -(-tree.domain_size // CANDIDATES))
    return sorted({*range(1, tree.domain_size, step), *used})


def _nodes(view: ColumnHierarchy, place: int, line: Any) -> list[dict[str, Any]]:
    tree, level = view.hierarchy, view.hierarchy.levels[place]
    starts = [start for start in level.starts if start < tree.domain_size]
    if len(starts) > MOST_NODES:
        return []
    return [
        {
            "label": level.labels[i],
            "from": float(line[a]),
            "to": float(line[b]),
            "begins": begin(tree, a) if a else None,
            "records": int(view.counts[a:b].sum()),
        }
        for i, (a, b) in enumerate(pairwise([*starts, tree.domain_size]))
    ]


def _bars(view: ColumnHierarchy, line: Any) -> list[dict[str, float]]:
    """Count the records of stretches of equal width; those of a leaf in several stretches are spread over them."""
    size = view.hierarchy.domain_size
    bins = min(BINS, size)
    below = np.concatenate([[0], np.cumsum(view.counts[:size])])
    counts = np.diff(np.interp(np.linspace(0, 1, bins + 1), line, below))
    return [{"from": i / bins, "to": (i + 1) / bins, "records": float(n)} for i, n in enumerate(counts.tolist())]
