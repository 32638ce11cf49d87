"""Studies that a release still supports: sets of items that must stay distinguishable from all others.

Hospitals release diagnosis codes for studies of given sets of codes (Loukides, Gkoulalas-Divanis & Malin, PNAS 2010).
A study is supported by a release when, wherever one of its codes occurs, the code is published, and every published
part that stands for one of its codes stands for codes of the study alone. Then who has some code of the study can be
told from the file, record by record; which of them may remain open.

Here *wherever* is: in every piece of the baskets that has a recoding of its own. Codes of a tree that nobody has
count too: a node that stands for one of them beside the study's codes does not tell the study's from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.errors import BadInputError
from sfumato.transactions.baskets import Baskets
from sfumato.transactions.policy.item_lists import lines_of, named_items, names_in, spans_of
from sfumato.transactions.recoding import SUPPRESSED, BasketRelease, PublishedLabels

COLON = ":"


@dataclass(frozen=True)
class ItemStudy:
    """A set of items that must stay distinguishable, by the name of the study."""

    name: str
    labels: frozenset[str]
    """The items, and of nodes of the tree all items under them, whether they occur or not."""

    def supported(self, release: BasketRelease) -> bool:
        """Say whether a release supports the study."""
        baskets, published = release.baskets, release.published
        left_out = np.unique(baskets.codes[published.codes == SUPPRESSED])
        if any(baskets.items[item] in self.labels for item in left_out.tolist()):
            return False
        behind = (stands_for(baskets, published, label) for label in range(len(published.labels)))
        return all(items <= self.labels or items.isdisjoint(self.labels) for items in behind)


def stands_for(baskets: Baskets, published: PublishedLabels, label: int) -> frozenset[str]:
    """Return the items that a label stands for: those that occur, and the others under its node of the tree."""
    members = frozenset(baskets.items[item] for item in published.members(label).tolist())
    if published.leaves[label] == len(members) or baskets.tree is None:
        return members
    leaves = baskets.tree.leaves
    for span in spans_of(baskets.tree, published.labels[label]):
        if len(span) == published.leaves[label]:
            return frozenset(leaves[place] for place in span)
    return members | frozenset(leaves)  # a part for everything


def read_studies(baskets: Baskets, file: str) -> tuple[ItemStudy, ...]:
    """Read studies from a file, one per line: a name, a colon, and items or nodes of the tree."""
    lines, mark = lines_of(baskets, file)
    studies: dict[str, ItemStudy] = {}
    for number, text in lines:
        name, colon, rest = (part.strip() for part in text.partition(COLON))
        if not colon or not name or not rest:
            raise BadInputError(
                f"{file}, line {number}: a study has a name, a colon and its items; write for example asthma: 493 494"
            )
        if name in studies:
            raise BadInputError(f"{file}, line {number}: the study {name!r} stands in another line already")
        named = names_in(baskets, rest, mark)
        codes = named_items(baskets, named, f"{file}, line {number}")
        labels = {baskets.items[code] for code in codes} | _under(baskets, named)
        studies[name] = ItemStudy(name, frozenset(labels))
    return tuple(studies.values())


def _under(baskets: Baskets, names: Sequence[str]) -> set[str]:
    """Return all leaves of the tree under the nodes among some names."""
    if baskets.tree is None:
        return set()
    tree, nodes = baskets.tree, [name for name in names if name not in baskets.places]
    return {tree.leaves[place] for name in nodes for span in spans_of(tree, name) for place in span}
