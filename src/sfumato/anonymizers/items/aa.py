"""AA: Apriori-based anonymization for k^m-anonymity (Terrovitis, Mamoulis & Kalnis, VLDB 2008).

    cut := every item as itself
    for size in 1 .. m:
        while some set J of `size` nodes of the cut is in some records but in fewer than k:
            of all ways to lift nodes of J to ancestors so that at least k records have them,
            take the one that adds least to the normalized certainty penalty; all items under a lifted node follow

Sets of a size are taken in the order of a count-tree's paths, the most frequent nodes first. A lift may make a set of
others too rare (two rare sets unite to a rare one). So a size is counted again until no such set is found; larger
sizes can only lift further. Supports of nodes are unions of rows and do not change, so a lift costs no counting.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sfumato.anonymizers.items._item_tree import NONE, Nodes, balanced_tree, cut_recoding, nodes_of
from sfumato.anonymizers.items.item_anonymizer import BasketAnonymizer, Task, check_enough_records
from sfumato.config.options import Option
from sfumato.data.cells import weighted_counts
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.items import Baskets, RowPersons, rows_once
from sfumato.release._itemsets import Rows, rare_itemsets
from sfumato.release.items import BasketRelease, global_release
from sfumato.requirements.items import BasketRequirement, KMAnonymity
from sfumato.runtime._kernel_helpers import has_number
from sfumato.runtime.arrays import Codes, Counts
from sfumato.runtime.kernels import kernel


@dataclass(frozen=True)
class TreeBased(BasketAnonymizer):
    """Generalization to nodes of the tree of items; where there is none, to one made of their order."""

    fanout: Annotated[int, Option(least=2)] = 5
    """How many children a node of the automatic tree has (used only where the baskets have no tree)."""

    requirements: ClassVar[tuple[type[BasketRequirement], ...]] = (KMAnonymity,)

    def tree_for(self, baskets: Baskets) -> Hierarchy:
        """Return the tree of the baskets, or the automatic one."""
        return baskets.tree if baskets.tree is not None else balanced_tree(baskets.items, self.fanout)


@dataclass(frozen=True)
class AA(TreeBased):
    """Lift nodes of one cut through the tree, set by set, until every set of up to m of them is in k records."""

    name: ClassVar[str] = "aa"

    def release(self, task: Task) -> BasketRelease:
        """Find the cut."""
        check_enough_records(task)
        assert isinstance(task.requirement, KMAnonymity)
        tree = self.tree_for(task.baskets)
        nodes = nodes_of(tree, task.baskets)
        cut = lifted(task.baskets, nodes, nodes.leaf.copy(), task.requirement)
        return global_release(task.baskets, cut_recoding(tree, nodes, cut), str(self))


def lifted(
    baskets: Baskets, nodes: Nodes, cut: Codes, requirement: KMAnonymity, part: tuple[int, int] | None = None
) -> Codes:
    """Lift a cut (for every item its node) until k^m-anonymity holds; the steps of the algorithm above.

    `part` is a run of items in the order of their leaves: then only nodes within it are lifted to, and what these
    cannot help stays as it is.
    """
    supports = _supports(baskets, nodes)
    low, high = part or (0, len(nodes.order))
    for size in range(1, requirement.m + 1):
        while True:
            row = np.repeat(np.arange(baskets.distinct), baskets.lengths)
            starts, codes = rows_once(row, cut[baskets.codes], baskets.distinct)
            rows = Rows(starts, codes, baskets.weights, len(nodes.parent), baskets.persons)
            rare, _, _ = rare_itemsets(rows, size, requirement.k)
            if not len(rare):
                break
            rare = _in_tree_order(rare, supports)
            if not lift_sets(nodes, baskets.people, cut, rare, requirement.k, low, high):
                break
    return cut


def _supports(baskets: Baskets, nodes: Nodes) -> Counts:
    node = np.repeat(np.arange(len(nodes.parent)), np.diff(nodes.begins))
    return weighted_counts(node, baskets.weights[nodes.rows], len(nodes.parent))


def _in_tree_order(sets: Codes, supports: Counts) -> Codes:
    """Sort the nodes within sets, and the sets, as the paths of a count-tree: the most frequent nodes first."""
    rank = np.empty(len(supports), np.int64)
    rank[np.lexsort((np.arange(len(supports)), -supports))] = np.arange(len(supports))
    within = np.take_along_axis(sets, np.argsort(rank[sets], axis=1), axis=1)
    return np.ascontiguousarray(within[np.lexsort(rank[within].T[::-1])])


# -- lifting -------------------------------------------------------------------------------------------------


@kernel
def lift_sets(nodes: Nodes, people: RowPersons, cut: Codes, sets: Codes, k: int, low: int, high: int) -> int:
    """Lift every set that still consists of nodes of the cut, in turn; changes `cut`. Returns how many it lifted."""
    number, size = len(nodes.parent), sets.shape[1]
    in_cut = np.zeros(number, np.bool_)
    spent = np.zeros(number, np.int64)  # what the cut costs under every node
    for at in range(len(nodes.order)):
        in_cut[cut[nodes.order[at]]] = True
    for node in range(number):
        if in_cut[node]:
            spent[node] += nodes.cost[node]
            above = nodes.parent[node]
            while above != NONE:
                spent[above] += nodes.cost[node]
                above = nodes.parent[above]
    best, lifts = np.empty(size, np.int32), 0
    for place in range(len(sets)):
        stale = False
        for member in sets[place]:
            stale = stale or not in_cut[member]
        if stale:
            continue
        cheapest_lift(nodes, people, spent, sets[place], k, low, high, best)
        for chosen in best:
            if not in_cut[chosen]:
                _lift_to(nodes, cut, in_cut, spent, int(chosen))
                lifts += 1
    return lifts


@kernel
def _lift_to(nodes: Nodes, cut: Codes, in_cut: np.ndarray, spent: Counts, node: int) -> None:
    """Publish all items under a node as this node, unless they are under a higher one already."""
    if in_cut[cut[nodes.order[nodes.low[node]]]] and _is_under(nodes, node, cut[nodes.order[nodes.low[node]]]):
        return
    for at in range(nodes.low[node], nodes.high[node]):
        in_cut[cut[nodes.order[at]]] = False
        cut[nodes.order[at]] = node
    in_cut[node] = True
    more = nodes.cost[node] - spent[node]
    above = node
    while above != NONE:
        spent[above] += more
        above = nodes.parent[above]


@kernel
def _is_under(nodes: Nodes, node: int, above: int) -> bool:
    return nodes.low[above] <= nodes.low[node] and nodes.high[node] <= nodes.high[above] and node <= above


@kernel
def cheapest_lift(
    nodes: Nodes, people: RowPersons, spent: Counts, node_set: Codes, k: int, low: int, high: int, best: Codes
) -> None:
    """Write to `best` the cheapest lift of a set that at least k persons have in a record.

    Only nodes with items from `low` to before `high` are lifted to. If none helps, that is the root for all; where a
    part of the items does not reach up to the root, the set as it is. All combinations of ancestors are priced; the
    cheapest is counted first (ties: the fewest steps up, then the first in the order of enumeration). A combination is
    a number with one digit per node: how many steps it is lifted.
    """
    size = len(node_set)
    heights, total = np.empty(size, np.int64), 1
    for i in range(size):
        heights[i], above = 1, node_set[i]
        while nodes.parent[above] != NONE and _is_within(nodes, nodes.parent[above], low, high):
            above = nodes.parent[above]
            heights[i] += 1
        total *= heights[i]
        best[i] = above if nodes.parent[above] == NONE else node_set[i]
    costs, steps = np.empty(total, np.int64), np.empty(total, np.int64)
    trial = np.empty(size, np.int32)
    for combination in range(total):
        steps[combination] = _combined(nodes, node_set, heights, combination, trial)
        costs[combination] = _added(nodes, spent, trial)
    for _ in range(total):
        chosen = -1
        for combination in range(total):
            if costs[combination] < 0:
                continue
            if chosen < 0 or (costs[combination], steps[combination]) < (costs[chosen], steps[chosen]):
                chosen = combination
        _combined(nodes, node_set, heights, chosen, trial)
        if _has(nodes, people, trial, k):
            best[:] = trial
            return
        costs[chosen] = -1


@kernel
def _is_within(nodes: Nodes, node: int, low: int, high: int) -> bool:
    return bool(low <= nodes.low[node] and nodes.high[node] <= high)


@kernel
def _combined(nodes: Nodes, node_set: Codes, heights: Counts, combination: int, trial: Codes) -> int:
    """Write the nodes that a combination of steps leads to; return the number of steps."""
    steps = 0
    for i in range(len(node_set)):
        up = combination % heights[i]
        combination //= heights[i]
        trial[i] = node_set[i]
        steps += up
        for _ in range(up):
            trial[i] = nodes.parent[trial[i]]
    return steps


@kernel
def _covered(nodes: Nodes, trial: Codes, i: int) -> bool:
    """Return whether a node is under another of the set, or equals an earlier one."""
    for j in range(len(trial)):
        if j != i and _is_under(nodes, trial[i], trial[j]) and (trial[i] != trial[j] or j < i):
            return True
    return False


@kernel
def _added(nodes: Nodes, spent: Counts, trial: Codes) -> int:
    """Return what a cut with these nodes costs more than the present one."""
    added = 0
    for i in range(len(trial)):
        if not _covered(nodes, trial, i):
            added += nodes.cost[trial[i]] - spent[trial[i]]
    return added


@kernel
def _has(nodes: Nodes, people: RowPersons, trial: Codes, k: int) -> bool:
    """Return whether at least k persons have a record with all of these nodes."""
    least = -1
    fewest = len(nodes.rows) + 1
    for i in range(len(trial)):
        rows = nodes.begins[trial[i] + 1] - nodes.begins[trial[i]]
        if rows < fewest and not _covered(nodes, trial, i):
            least, fewest = i, rows
    support, last = 0, NONE
    for at in range(nodes.begins[trial[least]], nodes.begins[trial[least] + 1]):
        row, together = nodes.rows[at], True
        for i in range(len(trial)):
            if i != least and together and not _covered(nodes, trial, i):
                together = has_number(nodes.rows, nodes.begins[trial[i]], nodes.begins[trial[i] + 1], row)
        if together and people.kind[row] != last:
            last = people.kind[row]
            support += people.number[row]
            if support >= k:
                return True
    return False
