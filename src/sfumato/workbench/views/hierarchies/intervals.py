"""Hierarchies of numbers and days, changed by their cuts: where the stretches of a level begin.

Levels stay nested: a cut that a level gets, all finer ones get too; a cut that it loses, all coarser ones lose too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sfumato.errors import BadInputError
from sfumato.table import Hierarchy
from sfumato.table.hierarchies.hierarchy import MISSING, ROOT, Level, read_date, read_number
from sfumato.texts.catalogue import t

JOINED = 2
"""Neighbours that one node of a new level joins."""


def leaf_at(tree: Hierarchy, text: str) -> int:
    """Find the leaf that begins at a value; raise where none does."""
    number = read_date(text) if tree.scale == "date" else read_number(text)
    leaf = next((leaf for leaf, first in enumerate(tree.firsts) if first == number), None)
    if not leaf:
        raise BadInputError(t("hierarchies.no_start", text=text, domain=tree.domain_in_words()))
    return leaf


def with_cut(tree: Hierarchy, level: int, leaf: int) -> Hierarchy:
    """Cut a level at a leaf, and all finer ones."""
    levels = [sorted({*cuts, leaf}) if place <= level else cuts for place, cuts in _inner(tree)]
    return _of(tree, levels)


def without_cut(tree: Hierarchy, level: int, leaf: int) -> Hierarchy:
    """Join what a cut parts on a level, and on all coarser ones."""
    levels = [[cut for cut in cuts if cut != leaf] if place >= level else cuts for place, cuts in _inner(tree)]
    return _of(tree, levels)


def moved_cut(tree: Hierarchy, level: int, leaf: int, to: int) -> Hierarchy:
    """Move a cut of a level, and of all coarser ones that have it; finer ones are cut at the new place as well."""
    levels = []
    for place, cuts in _inner(tree):
        moved = sorted({to if cut == leaf else cut for cut in cuts}) if place >= level else sorted({*cuts, to})
        levels.append(moved)
    return _of(tree, levels)


def with_level(tree: Hierarchy, level: int) -> Hierarchy:
    """Put a level above another: its nodes join neighbours two by two."""
    if not 0 <= level < tree.height:
        raise BadInputError(t("hierarchies.no_level", level=level))
    cuts = list(tree.levels[level].starts[1:])
    cuts = [cut for cut in cuts if cut < tree.domain_size]
    joined = cuts[JOINED - 1 :: JOINED]
    above = {cut for place, cuts_above in _inner(tree) if place > level for cut in cuts_above}
    joined = sorted({*joined, *above})
    if not joined or len(joined) >= len(cuts):
        raise BadInputError(t("hierarchies.no_room"))
    levels = [cuts_of for _, cuts_of in _inner(tree)]
    return _of(tree, [*levels[:level], joined, *levels[level:]])


def without_level(tree: Hierarchy, level: int) -> Hierarchy:
    """Take a level out, whatever the hierarchy is of."""
    if not 0 < level < tree.height:
        raise BadInputError(t("hierarchies.ends_stay"))
    return replace(tree, levels=(*tree.levels[:level], *tree.levels[level + 1 :]))


def called(tree: Hierarchy, level: int, node: int, label: str) -> Hierarchy:
    """Call a stretch of a level otherwise, and the same stretch on other levels."""
    if not 0 < level < tree.height or not 0 <= node < len(tree.levels[level].labels):
        raise BadInputError(t("hierarchies.ends_keep_names"))
    before = tree.levels[level].labels[node]
    inner = (
        Level(each.starts, tuple(label if name == before else name for name in each.labels))
        for each in tree.levels[1:-1]
    )
    return replace(tree, levels=(tree.levels[0], *inner, tree.levels[-1]))


def _inner(tree: Hierarchy) -> list[tuple[int, list[int]]]:
    """List the cuts of every level between leaves and root, with its number."""
    return [
        (place, [start for start in level.starts[1:] if start < tree.domain_size])
        for place, level in enumerate(tree.levels[1:-1], start=1)
    ]


def _of(tree: Hierarchy, cuts: Sequence[Sequence[int]]) -> Hierarchy:
    """Build the same domain with other levels; a level that says nothing more than its neighbour is left out.

    What a stretch was called it is still called where it is the same.
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
