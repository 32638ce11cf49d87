"""The cost of generalization and suppression of items: NCP and UL.

NCP (Terrovitis et al. 2008, Loukides et al. 2012): the cost of an occurrence of an item is the share of all items in
its published part. It is 0 where the item is published as itself, and 1 where it is suppressed.

UL (Loukides et al. 2011): a published set of s of the I items costs (2^s - 1)/(2^I - 1), times a weight, times the
share of the records that show it. The number 2^I overflows every number, so sums are in logarithms.

Studies that a release still supports: sets of items that must stay distinguishable from all others.

Hospitals release diagnosis codes for studies of given sets of codes (Loukides, Gkoulalas-Divanis & Malin, PNAS 2010).
A release supports a study if two conditions are met wherever one of the study's codes occurs. The code is published,
and every published part that includes one of the study's codes includes no other codes. Then the file shows, record by
record, who has some code of the study; which of them may remain open.

Here *wherever* means: in every piece of the baskets with its own recoding. Codes of a tree that do not occur count
too: a node that includes one of them and the study's codes does not separate the study.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.config.options import Configured, Option
from sfumato.data.items import Baskets
from sfumato.errors import BadInputError
from sfumato.release.items import SUPPRESSED, BasketRelease, ItemParts, ShowsItems
from sfumato.requirements.items import ItemWeights, lines_of, named_items, names_in, read_weights, spans_of
from sfumato.runtime.arrays import Codes, Numbers
from sfumato.texts.catalogue import SMALLEST, refusal


@dataclass(frozen=True)
class ItemLosses(Configured):
    """How losses are counted, where the papers leave it open."""

    leaf_zero: Annotated[Literal["yes", "no"], Option()] = "yes"
    """Whether an item that is published as itself costs nothing in NCP, or 1/I as the paper's words have it."""

    singletons: Annotated[Literal["yes", "no"], Option()] = "yes"
    """Whether items that are published as themselves count in UL."""

    weights: Annotated[Literal["one", "tree", "file"], Option()] = "one"
    """The weight of a published set in UL: one, by the tree the mean distance of its items, or the mean of its items'
    weights in the owner's file."""

    file: Annotated[str | None, Option(takes="file", when=("weights", "file"), needed="weights.txt")] = None
    """The owner's weights of items, and penalties for leaving them out: lines such as `250 401: 3 10`."""

    name: ClassVar[str] = "item-losses"

    def measure(self, published: ShowsItems) -> dict[str, float]:
        """Return ncp, ul, ul_log2 and the shares suppressed, over the items of all records; ul if it can be written.

        A record that is not published has lost all its items.
        """
        baskets = published.baskets
        log2 = self.ul_log2(published)
        ul = float(2.0**log2)
        return {
            "ncp": self.ncp(published),
            **({"ul": ul} if ul >= SMALLEST or log2 == -np.inf else {}),  # a small loss must not read as none
            "ul_log2": log2,
            "items_suppressed": len(published.unpublished) / max(len(baskets.items), 1),
            "occurrences_suppressed": _lost(published) / max(baskets.occurrences, 1),
        }

    def ncp(self, published: ShowsItems) -> float:
        """Return the mean cost of an occurrence of an item."""
        parts = published.parts
        costs = parts.sizes / parts.domain
        if self.leaf_zero == "yes":
            costs = np.where(parts.sizes == 1, 0.0, costs)
        cost = np.append(costs, 1.0)[published.part]  # the last is what a suppressed item costs: -1
        lost = _lost(published) - published.suppressed_occurrences
        total = (cost * published.count[published.row_of_item]).sum() + lost
        return float(total / max(published.baskets.occurrences, 1))

    def ul_log2(self, published: ShowsItems) -> float:
        """Return log2 of UL; minus infinity where nothing is lost.

        A suppressed occurrence costs as if its item were published as the set of all items, times its penalty where
        the owner has said one.
        """
        baskets, parts = published.baskets, published.parts
        worth = None if self.file is None else read_weights(baskets, self.file)
        terms = []
        for part, (size, support) in enumerate(
            zip(parts.sizes.tolist(), published.part_supports.tolist(), strict=True)
        ):
            if support and (size > 1 or self.singletons == "yes"):
                members = parts.members(part)
                weight = self._weight(baskets, members) if worth is None else worth.weights[members].mean()
                if weight > 0:
                    loss = set_loss_log2(size, parts.domain)
                    terms.append(loss + np.log2(weight) + np.log2(support) - np.log2(baskets.size))
        if _lost(published):
            terms.append(np.log2(_left_out(published, worth)) - np.log2(baskets.size))
        return sum_of_log2(np.array(terms))

    def _weight(self, baskets: Baskets, members: Codes) -> float:
        if self.weights == "one" or len(members) == 1:
            return 1.0
        if baskets.tree is None:
            raise BadInputError("item-losses weights=tree needs a tree of items, and there is none; say weights=one")
        leaves = np.sort(baskets.leaf[members])
        return mean_distance(np.stack([above[leaves] for above in baskets.tree.ancestors]), _widths(baskets))


def _lost(published: ShowsItems) -> int:
    """Return how many items of records are left out, by themselves or with their records."""
    shown = published.part >= 0
    return published.baskets.occurrences - int(published.count[published.row_of_item[shown]].sum())


def _left_out(published: ShowsItems, worth: ItemWeights | None) -> float:
    """Return how many items of records are left out, each times its penalty."""
    if worth is None:
        return _lost(published)
    gone = published.part == SUPPRESSED
    records = published.count[published.row_of_item[gone]]
    return float((worth.penalties[published.items[gone]] * records).sum())


def set_loss_log2(size: int, domain: int) -> float:
    """Return log2 of (2^size - 1)/(2^domain - 1).

    >>> set_loss_log2(7, 7), round(2 ** set_loss_log2(2, 7), 6) == round(3 / 127, 6)
    (0.0, True)
    """
    return float(size - domain + np.log1p(-(2.0**-size)) / np.log(2) - np.log1p(-(2.0**-domain)) / np.log(2))


def sum_of_log2(terms: Numbers) -> float:
    """Return log2 of the sum of numbers given by their log2."""
    if not len(terms):
        return float("-inf")
    top = terms.max()
    return float(top + np.log2(np.exp2(terms - top).sum()))


def mean_distance(ancestors: NDArray[np.integer], widths: list[Numbers]) -> float:
    """Return the mean over pairs of leaves of the share of all leaves under their lowest common ancestor.

    `ancestors` has for every level, from the leaves up, the node above each leaf.
    """
    leaves = ancestors.shape[1]
    total = 0.0
    below = np.zeros(leaves)
    for above, width in zip(ancestors, widths, strict=True):
        nodes, place, counts = np.unique(above, return_inverse=True, return_counts=True)
        met_below = np.zeros(len(nodes))
        np.add.at(met_below, place, below)
        met = counts * (counts - 1) / 2
        total += float(((met - met_below) * width[nodes]).sum())
        below = (met / counts)[place]  # a node's pairs, spread over its leaves so that they add up again
    return float(total / (leaves * (leaves - 1) / 2))


def _widths(baskets: Baskets) -> list[Numbers]:
    """For every level of the tree and each of its nodes the share of all leaves under it."""
    assert baskets.tree is not None
    size = baskets.tree.size
    return [np.diff(np.array([*level.starts, size])) / size for level in baskets.tree.levels]


COLON = ":"


@dataclass(frozen=True)
class ItemStudy:
    """A set of items that must stay distinguishable, by the name of the study."""

    name: str
    labels: frozenset[str]
    """The items, and of nodes of the tree all items under them, whether they occur or not."""

    def supported(self, release: BasketRelease) -> bool:
        """Return whether a release supports the study."""
        baskets, parts = release.baskets, release.parts
        left_out = np.unique(baskets.codes[release.part == SUPPRESSED])
        if any(baskets.items[item] in self.labels for item in left_out.tolist()):
            return False
        behind = (stands_for(baskets, parts, label) for label in range(len(parts.labels)))
        return all(items <= self.labels or items.isdisjoint(self.labels) for items in behind)


def stands_for(baskets: Baskets, parts: ItemParts, label: int) -> frozenset[str]:
    """Return the items of a label: those that occur, and the others under its node of the tree."""
    members = frozenset(baskets.items[item] for item in parts.members(label).tolist())
    if parts.sizes[label] == len(members) or baskets.tree is None:
        return members
    leaves = baskets.tree.leaves
    for span in spans_of(baskets.tree, parts.labels[label]):
        if len(span) == parts.sizes[label]:
            return frozenset(leaves[place] for place in span)
    return members | frozenset(leaves)  # a part for everything


def read_studies(baskets: Baskets, file: str) -> tuple[ItemStudy, ...]:
    """Read studies from a file, one per line: a name, a colon, and items or nodes of the tree."""
    lines, mark = lines_of(baskets, file)
    studies: dict[str, ItemStudy] = {}
    for number, text in lines:
        name, colon, rest = (part.strip() for part in text.partition(COLON))
        if not colon or not name or not rest:
            raise refusal("line_of_studies", file=file, number=number)
        if name in studies:
            raise BadInputError(f"{file}, line {number}: the study {name!r} is in another line already")
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
