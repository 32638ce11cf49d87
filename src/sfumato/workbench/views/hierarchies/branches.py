"""Hierarchies of categories as nested groups, changed by hand: renamed, moved, put together, taken apart.

A group is named by its path: at which place below the root, at which below that, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sfumato.errors import BadInputError
from sfumato.table import Hierarchy
from sfumato.texts.catalogue import t

Path = tuple[int, ...]


@dataclass(frozen=True)
class Branch:
    """A group with what is in it; a value has nothing in it."""

    label: str
    children: tuple[Branch, ...] = ()

    def nested(self) -> object:
        """Write it as a study does: a value as its text, a group as a list that begins with its label."""
        return [self.label, *(child.nested() for child in self.children)] if self.children else self.label

    def at(self, path: Path) -> Branch:
        """Return what is at a path."""
        here = self
        for place in path:
            if not 0 <= place < len(here.children):
                raise BadInputError(t("hierarchies.no_group"))
            here = here.children[place]
        return here

    def replaced(self, path: Path, by: Sequence[Branch]) -> Branch:
        """Return the same with others in place of what is at a path; a group that becomes empty goes too."""
        if not path:
            raise BadInputError(t("hierarchies.everything"))
        place, *rest = path
        here = self.at((place,))
        below = tuple(by) if not rest else _whole(here.replaced(tuple(rest), by))
        return replace(self, children=(*self.children[:place], *below, *self.children[place + 1 :]))


def _whole(branch: Branch) -> tuple[Branch, ...]:
    return (branch,) if branch.children else ()


def branches_of(tree: Hierarchy) -> Branch:
    """Read a hierarchy as nested groups; a node that is only repeated on the next level stands once."""
    return Branch("*", _below(tree, tree.height, 0, tree.domain_size))


def _below(tree: Hierarchy, level: int, start: int, end: int) -> tuple[Branch, ...]:
    """Read what a node of a level consists of."""
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
    """Call a group otherwise."""
    here = root.at(path)
    if not here.children:
        raise BadInputError(t("hierarchies.keeps_name", label=here.label))
    return root.replaced(path, [replace(here, label=label)])


def dissolved(root: Branch, path: Path) -> Branch:
    """Take a group apart: what is in it stands in its place."""
    here = root.at(path)
    if not here.children:
        raise BadInputError(t("hierarchies.single", label=here.label))
    return root.replaced(path, here.children)


def moved(root: Branch, paths: Sequence[Path], to: Path) -> Branch:
    """Move groups or values into a group, to its end."""
    if any(to[: len(path)] == path for path in paths):
        raise BadInputError(t("hierarchies.into_itself"))
    target = root.at(to)
    if to and not target.children:
        raise BadInputError(t("hierarchies.holds_nothing", label=target.label))
    chosen = [root.at(path) for path in _outermost(paths)]
    mark = Branch("", ())
    marked = _with_children(root, to, (*target.children, mark))
    for path in sorted(_outermost(paths), reverse=True):
        marked = marked.replaced(path, [])
    return _in_place_of(marked, mark, chosen)


def merged(root: Branch, paths: Sequence[Path], label: str) -> Branch:
    """Put groups and values together as one group, where the first of them was."""
    places = _outermost(paths)
    if not places:
        raise BadInputError(t("hierarchies.choose_more"))
    members: list[Branch] = []
    for path in places:
        here = root.at(path)
        members += here.children or (here,)
    mark = Branch("", ())
    marked = root.replaced(places[0], [mark])
    for path in sorted(places[1:], reverse=True):
        marked = marked.replaced(path, [])
    return _in_place_of(marked, mark, [Branch(label, tuple(members))])


def _outermost(paths: Sequence[Path]) -> list[Path]:
    """Sort paths, without those that are inside others."""
    chosen: list[Path] = []
    for path in sorted(set(paths)):
        if not any(path[: len(other)] == other for other in chosen):
            chosen.append(path)
    return chosen


def _with_children(root: Branch, path: Path, children: tuple[Branch, ...]) -> Branch:
    if not path:
        return replace(root, children=children)
    return root.replaced(path, [replace(root.at(path), children=children)])


def _in_place_of(root: Branch, mark: Branch, by: Sequence[Branch]) -> Branch:
    """Put branches where a mark stands."""
    children: list[Branch] = []
    for child in root.children:
        if child is mark:
            children += by
        else:
            children.append(_in_place_of(child, mark, by) if child.children else child)
    return replace(root, children=tuple(children))
