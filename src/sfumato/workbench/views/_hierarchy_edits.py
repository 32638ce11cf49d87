"""The view of a column's hierarchy (tree or intervals with counts, risk by level), and its changes.

Hierarchies of categories are nested groups that can be renamed, moved, merged and dissolved. A path identifies a group:
its place below the root, its place in that group, and so on.

Hierarchies of numbers and days are changed by the cuts of their levels. Levels remain nested: a cut added to a level is
added to all finer ones; a cut removed from a level is removed from all coarser ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.data.hierarchies.hierarchy import MISSING, ROOT, Hierarchy, Level
from sfumato.data.hierarchies.notation import read_date, read_number
from sfumato.texts.catalogue import refusal
from sfumato.tradeoff.hierarchy_levels import SMALL, ColumnHierarchy
from sfumato.workbench.opened_data import in_forms

Path = tuple[int, ...]


@dataclass(frozen=True)
class Branch:
    """A group with its members; a value has none."""

    label: str
    children: tuple[Branch, ...] = ()

    def nested(self) -> object:
        """Return it as in a study: a value as its text, a group as a list that begins with its label."""
        return [self.label, *(child.nested() for child in self.children)] if self.children else self.label

    def at(self, path: Path) -> Branch:
        """Return the branch at a path."""
        here = self
        for place in path:
            if not 0 <= place < len(here.children):
                raise refusal("hierarchies.no_group")
            here = here.children[place]
        return here

    def replaced(self, path: Path, by: Sequence[Branch]) -> Branch:
        """Return the tree with the branch at a path replaced; empty groups are removed."""
        if not path:
            raise refusal("hierarchies.everything")
        place, *rest = path
        here = self.at((place,))
        below = tuple(by) if not rest else _whole(here.replaced(tuple(rest), by))
        return replace(self, children=(*self.children[:place], *below, *self.children[place + 1 :]))


def _whole(branch: Branch) -> tuple[Branch, ...]:
    return (branch,) if branch.children else ()


def branches_of(tree: Hierarchy) -> Branch:
    """Return a hierarchy as nested groups; a node that repeats on the next level appears once."""
    return Branch("*", _below(tree, tree.height, 0, tree.domain_size))


def _below(tree: Hierarchy, level: int, start: int, end: int) -> tuple[Branch, ...]:
    """Return the parts of a node of a level."""
    if level == 0:
        return ()
    finer = tree.levels[level - 1]
    bounds = [*finer.starts, tree.size]
    branches = []
    for place, label in enumerate(finer.labels):
        first, beyond = bounds[place], min(bounds[place + 1], tree.domain_size)
        if not start <= first < end:
            continue
        children = _below(tree, level - 1, first, beyond)
        if len(children) == 1 and children[0].label == label:
            children = children[0].children
        branches.append(Branch(label, children))
    return tuple(branches)


def renamed(root: Branch, path: Path, label: str) -> Branch:
    """Rename a group."""
    here = root.at(path)
    if not here.children:
        raise refusal("hierarchies.keeps_name", label=here.label)
    return root.replaced(path, [replace(here, label=label)])


def dissolved(root: Branch, path: Path) -> Branch:
    """Replace a group by its members."""
    here = root.at(path)
    if not here.children:
        raise refusal("hierarchies.single", label=here.label)
    return root.replaced(path, here.children)


def moved(root: Branch, paths: Sequence[Path], to: Path) -> Branch:
    """Move groups or values to the end of a group."""
    if any(to[: len(path)] == path for path in paths):
        raise refusal("hierarchies.into_itself")
    target = root.at(to)
    if to and not target.children:
        raise refusal("hierarchies.holds_nothing", label=target.label)
    places, mark = _outermost(paths), Branch("", ())
    opened = replace(target, children=(*target.children, mark))
    marked = root.replaced(to, [opened]) if to else opened
    return _in_place_of(_without(marked, places), mark, [root.at(path) for path in places])


def merged(root: Branch, paths: Sequence[Path], label: str) -> Branch:
    """Merge groups and values into one group at the place of the first."""
    places = _outermost(paths)
    if not places:
        raise refusal("hierarchies.choose_more")
    members = [branch for here in map(root.at, places) for branch in here.children or (here,)]
    return _without(root.replaced(places[0], [Branch(label, tuple(members))]), places[1:])


def _outermost(paths: Sequence[Path]) -> list[Path]:
    """Sort paths, without those inside others."""
    chosen: list[Path] = []
    for path in sorted(set(paths)):
        if not any(path[: len(other)] == other for other in chosen):
            chosen.append(path)
    return chosen


def _without(root: Branch, places: Sequence[Path]) -> Branch:
    """Remove the branches at some places, the last first, so that the other places remain valid."""
    for path in reversed(places):
        root = root.replaced(path, [])
    return root


def _in_place_of(root: Branch, mark: Branch, by: Sequence[Branch]) -> Branch:
    """Replace a mark by branches."""
    children: list[Branch] = []
    for child in root.children:
        if child is mark:
            children += by
        else:
            children.append(_in_place_of(child, mark, by) if child.children else child)
    return replace(root, children=tuple(children))


BINS = 90
"""The maximum number of bars of a histogram."""

CANDIDATES = 1_500
"""The maximum number of offered cuts; others can be typed."""

MOST_BRANCHES = 1_500
"""The maximum number of groups and values of a displayed tree."""

MOST_NODES = 400
"""The maximum number of drawn intervals of one level."""


def shown(view: ColumnHierarchy) -> dict[str, Any]:
    """Return the values of the page of a hierarchy."""
    tree = view.hierarchy
    numbers = tree.scale != "category" and tree.domain_size > 1
    return {
        "scale": tree.scale,
        "records": view.records,
        "values": tree.domain_size,
        "observed": tree.observed,
        "others": list(view.others),
        "levels": _levels(view),
        "tree": None if numbers else tree_values(tree, tree.leaves, view.counts),
        "intervals": _intervals(view) if numbers else None,
        "notices": list(map(in_forms, view.notices)),
    }


def _levels(view: ColumnHierarchy) -> list[dict[str, Any]]:
    """Return the risk of publishing the column at each level."""
    tree = view.hierarchy
    return [
        {
            "level": risk.level,
            "nodes": len(tree.levels[risk.level].labels) - int(tree.missing and risk.level < tree.height),
            "example": risk.example,
            "inner": 0 < risk.level < tree.height,
            "alone": _risk_values(risk.alone),
            "together": _risk_values(risk.together),
        }
        for risk in view.levels
    ]


def _risk_values(risk: Any) -> dict[str, Any] | None:
    if risk is None:
        return None
    return {"small": risk.below[SMALL], "unique": risk.uniques, "k": risk.smallest, "share": risk.above(SMALL)}


# -- trees -----------------------------------------------------------------------------------------------------------


def tree_values(tree: Hierarchy, labels: Sequence[str], counts: Any) -> dict[str, Any]:
    """Return the groups with the numbers of records; of many values the first ones."""
    return _branch(branches_of(tree), (), dict(zip(labels, counts.tolist(), strict=True)), [MOST_BRANCHES])


def _branch(branch: Branch, path: tuple[int, ...], counts: dict[str, int], left: list[int]) -> dict[str, Any]:
    left[0] -= 1
    children = []
    for place, child in enumerate(branch.children):
        if left[0] > 0:
            children.append(_branch(child, (*path, place), counts, left))
    return {
        "label": branch.label,
        "path": list(path),
        "records": _records(branch, counts),
        "group": bool(branch.children),
        "children": children,
        "hidden": len(branch.children) - len(children),
    }


def _records(branch: Branch, counts: dict[str, int]) -> int:
    return sum(_records(child, counts) for child in branch.children) if branch.children else counts.get(branch.label, 0)


# -- intervals -------------------------------------------------------------------------------------------------------


def _intervals(view: ColumnHierarchy) -> dict[str, Any]:
    """Return the levels as intervals of a line, with a histogram of the column."""
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
    """Return the text of the first value of a leaf."""
    return tree.write_value(tree.firsts[leaf])


def _offered(tree: Hierarchy, used: set[int]) -> list[int]:
    """Choose leaves for cuts: all, or evenly spaced ones and the present ones."""
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
    """Count the records of equal intervals; a leaf in several of them is spread over them."""
    size = view.hierarchy.domain_size
    bins = min(BINS, size)
    below = np.concatenate([[0], np.cumsum(view.counts[:size])])
    counts = np.diff(np.interp(np.linspace(0, 1, bins + 1), line, below))
    return [{"from": i / bins, "to": (i + 1) / bins, "records": float(n)} for i, n in enumerate(counts.tolist())]


JOINED = 2
"""The number of neighbours that a node of a new level joins."""


def leaf_at(tree: Hierarchy, text: str) -> int:
    """Return the leaf that begins at a value; raise if there is none."""
    number = read_date(text) if tree.scale == "date" else read_number(text)
    leaf = next((leaf for leaf, first in enumerate(tree.firsts) if first == number), None)
    if not leaf:
        raise refusal("hierarchies.no_start", text=text, domain=tree.domain_in_words())
    return leaf


def with_cut(tree: Hierarchy, level: int, leaf: int) -> Hierarchy:
    """Cut a level, and all finer ones, at a leaf."""
    levels = [sorted({*cuts, leaf}) if place <= level else cuts for place, cuts in _inner(tree)]
    return _of(tree, levels)


def without_cut(tree: Hierarchy, level: int, leaf: int) -> Hierarchy:
    """Remove a cut of a level and of all coarser ones."""
    levels = [[cut for cut in cuts if cut != leaf] if place >= level else cuts for place, cuts in _inner(tree)]
    return _of(tree, levels)


def moved_cut(tree: Hierarchy, level: int, leaf: int, to: int) -> Hierarchy:
    """Move a cut of a level, and of all coarser ones that have it; finer ones are also cut at the new place."""
    levels = [
        sorted({to if cut == leaf else cut for cut in cuts} if place >= level else {*cuts, to})
        for place, cuts in _inner(tree)
    ]
    return _of(tree, levels)


def with_level(tree: Hierarchy, level: int) -> Hierarchy:
    """Add a level above another one; its nodes join pairs of neighbours."""
    if not 0 <= level < tree.height:
        raise refusal("hierarchies.no_level", level=level)
    cuts = [cut for cut in tree.levels[level].starts[1:] if cut < tree.domain_size]
    above = {cut for place, cuts_above in _inner(tree) if place > level for cut in cuts_above}
    joined = sorted({*cuts[JOINED - 1 :: JOINED], *above})
    if not joined or len(joined) >= len(cuts):
        raise refusal("hierarchies.no_room")
    levels = [cuts_of for _, cuts_of in _inner(tree)]
    return _of(tree, [*levels[:level], joined, *levels[level:]])


def without_level(tree: Hierarchy, level: int) -> Hierarchy:
    """Remove a level of any hierarchy."""
    if not 0 < level < tree.height:
        raise refusal("hierarchies.ends_stay")
    return replace(tree, levels=(*tree.levels[:level], *tree.levels[level + 1 :]))


def called(tree: Hierarchy, level: int, node: int, label: str) -> Hierarchy:
    """Rename an interval of a level, and the same interval on other levels."""
    if not 0 < level < tree.height or not 0 <= node < len(tree.levels[level].labels):
        raise refusal("hierarchies.ends_keep_names")
    before = tree.levels[level].labels[node]
    inner = (
        Level(each.starts, tuple(label if name == before else name for name in each.labels))
        for each in tree.levels[1:-1]
    )
    return replace(tree, levels=(tree.levels[0], *inner, tree.levels[-1]))


def _inner(tree: Hierarchy) -> list[tuple[int, list[int]]]:
    """List the cuts of each level between leaves and root, with its number."""
    return [
        (place, [start for start in level.starts[1:] if start < tree.domain_size])
        for place, level in enumerate(tree.levels[1:-1], start=1)
    ]


def _of(tree: Hierarchy, cuts: Sequence[Sequence[int]]) -> Hierarchy:
    """Build the same domain with other levels; a level equal to its neighbour is removed.

    Unchanged intervals keep their labels.
    """
    names = {interval: label for interval, label in tree.nodes.items() if label != ROOT}
    leaves, plain = tree.levels[0], tree.without_nodes()
    levels, finer = [leaves], tree.size
    for each in cuts:
        starts = [0, *each]
        if not 1 < len(starts) < finer:
            continue
        finer = len(starts)
        ends = [*starts[1:], tree.domain_size]
        texts = plain.stretch_texts(starts, ends)
        labels = [names.get((a, b - 1), text) for a, b, text in zip(starts, ends, texts, strict=True)]
        if tree.missing:
            starts, labels = [*starts, tree.domain_size], [*labels, MISSING]
        levels.append(Level(tuple(starts), tuple(labels)))
    return replace(tree, levels=(*levels, tree.levels[-1]))
