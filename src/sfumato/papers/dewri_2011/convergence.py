"""How fast a search of section 6 converges: Lunacek's crossover against Iyengar's, which mends what it breaks.

Iyengar crosses constrained attributes like all others, anywhere, and takes the nearest valid generalization where that
tears a node apart (section 6.3); nearest is here the one that the fewest bits differ from, and a tie keeps a node one
part. All else is the paper's: the same seeds, first populations, mutation and selection. Quality is the area that a
frontier beats (hypervolume), k on a logarithmic scale, so a hundredth of it is one point of loss at every k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.cut_vector.space import Bits
from sfumato.tradeoff import Frontier, Search
from sfumato.tradeoff.search.variation import SpaceTree, cross, tree_of

Crossing = Literal["special", "repair"]
CROSSINGS: tuple[Crossing, ...] = ("special", "repair")
"""Lunacek's, the paper's own; and Iyengar's."""


@dataclass(frozen=True)
class SearchRun:
    """One search: how good its frontier was after some generations, and the last one."""

    crossing: Crossing
    seed: int
    areas: tuple[float, ...]
    frontier: Frontier


def hypervolume(frontier: Frontier, records: int) -> float:
    """Return the area that a frontier of (k, loss) beats, k on a logarithmic scale, both from 0 to 1."""
    points = sorted(
        (np.log(point.values["k"]) / np.log(records), point.values["generalization_loss"]) for point in frontier
    )
    area, before = 0.0, 0.0
    for k, loss in points:
        area += (k - before) * (1 - loss)
        before = k
    return float(area)


def converge(search: Search, steps: Sequence[int], crossing: Crossing = "special") -> SearchRun:
    """Search with one of the crossovers, and look at the frontier after some numbers of generations."""
    from sfumato.tradeoff.search.nsga2 import algorithm_of  # pymoo is slow to import

    algorithm = algorithm_of(search)
    if crossing == "repair":
        algorithm.mating.crossover = _mending(tree_of(search.space), search.solver.crossover)
    areas, frontier = [], search.archive.frontier(0)
    for generation in range(1, max(steps) + 1):
        algorithm.next()
        if generation in steps:
            frontier = search.archive.frontier(len(search.evaluator.known))
            areas.append(hypervolume(frontier, search.table.cells.records))
    return SearchRun(crossing, search.solver.seed, tuple(areas), frontier)


def _mending(tree: SpaceTree, rate: float) -> Any:
    """Return pymoo's form of Iyengar's crossover."""
    from pymoo.core.crossover import Crossover

    class Mending(Crossover):  # type: ignore[misc]
        """Crosses every attribute at one place, and mends the constrained ones."""

        def _do(self, problem: Any, x: NDArray[np.int16], *_: Any, random_state: Any = None, **__: Any) -> Any:
            left, right = (np.ascontiguousarray(parents[:, :-1].astype(np.uint8)) for parents in x)
            rolls = random_state.random((len(left), len(tree.constrained), 2))
            anywhere = tree._replace(constrained=np.zeros_like(tree.constrained))
            cross(left, right, anywhere, rolls, False)
            crossed = x.copy()
            crossed[0, :, :-1], crossed[1, :, :-1] = mended(left, tree), mended(right, tree)
            return crossed

    return Mending(2, 2, prob=rate)


def mended(vectors: Bits, tree: SpaceTree) -> Bits:
    """Return for every vector the valid one that the fewest bits differ from.

    Of every node of a hierarchy, lowest first, it is known how many bits differ if it is one part, and how many if it
    is cut into its children, each of them at its best.
    """
    nearest = vectors.copy()
    for a in np.flatnonzero(tree.constrained):
        nodes = range(tree.owners[a], tree.owners[a + 1])
        above = {node: _parent(tree, node, nodes) for node in nodes}
        apart: dict[int, NDArray[np.bool_]] = {}
        below = {node: np.zeros(len(vectors), np.int64) for node in nodes}
        for node in reversed(nodes):
            one = vectors[:, tree.first[node] : tree.last[node]].sum(axis=1, dtype=np.int64)
            cut = below[node] + ((tree.children[node] == 1) & (vectors == 0)).sum(axis=1)
            apart[node] = cut < one
            if (parent := above[node]) is not None:
                below[parent] += np.minimum(one, cut)
        nearest[:, tree.offsets[a] : tree.offsets[a + 1]] = 0
        for node in nodes:
            if (parent := above[node]) is not None:
                apart[node] &= apart[parent]
            nearest[apart[node]] |= tree.children[node]
    return nearest


def _parent(tree: SpaceTree, node: int, nodes: range) -> int | None:
    """Find the smallest node around another one; nodes come highest first."""
    around = [n for n in nodes if n < node and tree.first[n] <= tree.first[node] and tree.last[node] <= tree.last[n]]
    return max(around, key=lambda n: (-(tree.last[n] - tree.first[n]), n), default=None)
