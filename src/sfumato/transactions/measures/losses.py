"""What generalization and suppression of items cost: NCP and UL.

NCP (Terrovitis et al. 2008, Loukides et al. 2012): an occurrence of an item costs the share of all items that its
published item stands for; nothing where it is published as itself; 1 where it is suppressed.

UL (Loukides et al. 2011): a published set of s of the I items costs (2^s - 1)/(2^I - 1), times a weight, times the
share of the records that show it. 2^I overflows every number, so sums are taken of logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Codes, Numbers
from sfumato.configuration import Configured, Option
from sfumato.errors import BadInputError
from sfumato.phrases import SMALLEST
from sfumato.transactions.baskets import Baskets
from sfumato.transactions.policy.weights import ItemWeights, read_weights
from sfumato.transactions.recoding import SUPPRESSED, BasketRelease


@dataclass(frozen=True)
class ItemLosses(Configured):
    """How losses are counted, where the papers leave room."""

    leaf_zero: Annotated[
        Literal["yes", "no"],
        Option(
            "Whether an item that is published as itself costs nothing in NCP, or 1/I as the paper's words have it."
        ),
    ] = "yes"
    singletons: Annotated[
        Literal["yes", "no"], Option("Whether items that are published as themselves count in UL.")
    ] = "yes"
    weights: Annotated[
        Literal["one", "tree", "file"],
        Option(
            "The weight of a published set in UL: one, by the tree the mean distance of its items, or the mean of what "
            "the owner's file says of its items."
        ),
    ] = "one"
    file: Annotated[
        str | None,
        Option(
            "The owner's weights of items, and penalties for leaving them out: lines such as `250 401: 3 10`.",
            takes="file",
            when=("weights", "file"),
            needed="weights.txt",
        ),
    ] = None
    name: ClassVar[str] = "item-losses"

    def measure(self, release: BasketRelease) -> dict[str, float]:
        """Return ncp, ul, ul_log2 and the shares suppressed; ul only where it can be written."""
        baskets = release.baskets
        log2 = self.ul_log2(release)
        ul = float(2.0**log2)
        return {
            "ncp": self.ncp(release),
            **({"ul": ul} if ul >= SMALLEST or log2 == -np.inf else {}),  # a small loss must not read as none
            "ul_log2": log2,
            "items_suppressed": len(release.suppressed) / max(len(baskets.items), 1),
            "occurrences_suppressed": release.suppressed_occurrences / max(baskets.occurrences, 1),
        }

    def ncp(self, release: BasketRelease) -> float:
        """Return the mean cost of an occurrence of an item."""
        baskets = release.baskets
        published = release.published
        costs = published.leaves / published.domain
        if self.leaf_zero == "yes":
            costs = np.where(published.leaves == 1, 0.0, costs)
        cost = np.append(costs, 1.0)[published.codes]  # the last is what a suppressed item costs: -1
        weights = np.repeat(baskets.weights, baskets.lengths)
        return float((cost * weights).sum() / max(baskets.occurrences, 1))

    def ul_log2(self, release: BasketRelease) -> float:
        """Return log2 of UL; minus infinity where nothing is lost.

        A suppressed occurrence costs as if its item were published as the set of all items, times its penalty where
        the owner has said one.
        """
        worth = None if self.file is None else read_weights(release.baskets, self.file)
        records, published = release.baskets.size, release.published
        terms = []
        for label, (size, support) in enumerate(
            zip(published.leaves.tolist(), release.part_supports.tolist(), strict=True)
        ):
            if support and (size > 1 or self.singletons == "yes"):
                members = published.members(label)
                weight = self._weight(release.baskets, members) if worth is None else worth.weights[members].mean()
                if weight > 0:
                    loss = set_loss_log2(size, published.domain)
                    terms.append(loss + np.log2(weight) + np.log2(support) - np.log2(records))
        if release.suppressed_occurrences:
            terms.append(np.log2(_left_out(release, worth)) - np.log2(records))
        return sum_of_log2(np.array(terms))

    def _weight(self, baskets: Baskets, members: Codes) -> float:
        if self.weights == "one" or len(members) == 1:
            return 1.0
        if baskets.tree is None:
            raise BadInputError("item-losses weights=tree needs a tree of items, and there is none; say weights=one")
        leaves = np.sort(baskets.leaf[members])
        return mean_distance(np.stack([above[leaves] for above in baskets.tree.ancestors]), _widths(baskets))


def _left_out(release: BasketRelease, worth: ItemWeights | None) -> float:
    """Return how many items of records are left out, each times its penalty."""
    if worth is None:
        return release.suppressed_occurrences
    gone, baskets = release.published.codes == SUPPRESSED, release.baskets
    records = np.repeat(baskets.weights, baskets.lengths)[gone]
    return float((worth.penalties[baskets.codes[gone]] * records).sum())


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
