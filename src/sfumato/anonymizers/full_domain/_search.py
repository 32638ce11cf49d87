"""Searching the lattice: branch and bound over its boxes, a descent and a genetic search for those too large.

A *box* is all transformations between two, level by level. Its bound joins two facts: nothing in it is finer than
its lowest corner, and whatever its highest corner cannot publish, none of it can (`objectives`). The box with the
least bound is cut in two, its lower half is bounded again by checking the half's highest corner. This repeats until no
box has a bound below the best transformation found. That transformation is the optimum, though most of the lattice was
never checked. Stopped early, the least bound limits how much better the optimum could be.

A fixed number of boxes is cut at a time, by several threads; results do not depend on their number.

The objective of a search of the lattice: the value of a transformation, and a bound for all between two.

Bounds are what lets an exact search leave most of the lattice out. For every transformation between `lo` and `hi`
(level by level), values are at least as general as at `lo`, and the deficit of `hi` is suppressed (`deficits`).

Groupings that a search keeps, so that others are rolled up from few groups.
"""

import heapq
import math
import operator
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np

from sfumato.anonymizers.full_domain._lattice import Lattice, LatticeNode, Levels, TransformationGroups
from sfumato.runtime.arrays import Counts
from sfumato.runtime.cancellation import check_cancelled
from sfumato.runtime.kernels import kernel
from sfumato.runtime.threads import together


@dataclass(frozen=True, eq=False)
class Objective(ABC):
    """A number to make small. Smaller is better; a transformation that publishes nothing is never asked about."""

    lattice: Lattice
    budget: int
    """How many records may be suppressed."""

    reads_lowest: ClassVar[bool] = False
    """Whether bounds get better when the finest transformation of a box is checked too."""

    @abstractmethod
    def value(self, node: LatticeNode) -> float:
        """Return the value of a transformation."""

    @abstractmethod
    def bound(self, lo: Levels, low: LatticeNode | None, high: LatticeNode) -> float:
        """Return what no transformation between `lo` and `high` can fall below; `low` is known or not."""


@dataclass(frozen=True, eq=False)
class Loss(Objective):
    """The measure `loss`, with attributes weighted and joined in one of three ways."""

    weights: tuple[float, ...]
    aggregate: str

    def value(self, node: LatticeNode) -> float:
        """Join the attributes' losses; a suppressed record counts 1 in each."""
        return self._joined(node.levels, node.suppressed_loss, node.suppressed)

    def bound(self, lo: Levels, low: LatticeNode | None, high: LatticeNode) -> float:
        """Join what is lost at `lo` with what the deficit of `high` costs on top."""
        return self._joined(lo, high.deficit_loss, high.deficit)

    def _joined(self, levels: Levels, saved: Sequence[float], added: float) -> float:
        """Join the losses at these levels, after something is taken off each and something added to all."""
        records = self.lattice.records
        losses = [
            min(max((by_level[level] - less + added) / records, 0.0), 1.0)
            for by_level, level, less in zip(self.lattice.level_losses, levels, saved, strict=True)
        ]
        return joined(losses, self.weights, self.aggregate)


def joined(losses: Sequence[float], weights: Sequence[float], aggregate: str) -> float:
    """Join the losses of all attributes: their weighted mean, largest, or geometric mean (of 1 + loss, less 1)."""
    if aggregate == "max":
        return max(weight * loss for weight, loss in zip(weights, losses, strict=True)) / max(weights)
    if aggregate == "geometric":
        logarithms = [weight * math.log1p(loss) for weight, loss in zip(weights, losses, strict=True)]
        return math.expm1(sum(logarithms) / sum(weights))
    return sum(weight * loss for weight, loss in zip(weights, losses, strict=True)) / sum(weights)


@dataclass(frozen=True, eq=False)
class GeneralizationLoss(Loss):
    """The part of `loss` that is due to generalization alone."""

    def value(self, node: LatticeNode) -> float:
        """Join the losses of what is published."""
        return self._joined(node.levels, node.suppressed_loss, 0)

    def bound(self, lo: Levels, low: LatticeNode | None, high: LatticeNode) -> float:
        """Take everything off that the budget could hide."""
        return self._joined(lo, [0.0] * len(lo), -self.budget)


@dataclass(frozen=True, eq=False)
class Discernibility(Objective):
    """Every record costs the size of its group, a suppressed one the size of the table (Bayardo & Agrawal 2005)."""

    reads_lowest: ClassVar[bool] = True

    def value(self, node: LatticeNode) -> float:
        """Sum the costs up."""
        return node.squares + float(node.suppressed) * self.lattice.records

    def bound(self, lo: Levels, low: LatticeNode | None, high: LatticeNode) -> float:
        """Groups only grow above `lo`, whether published or not."""
        finest = 0.0 if low is None else low.all_squares
        return max(finest, float(high.deficit) * self.lattice.records)


@dataclass(frozen=True, eq=False)
class AverageGroup(Objective):
    """Published records per group. It falls and rises along the lattice, so it prunes little."""

    reads_lowest: ClassVar[bool] = True

    def value(self, node: LatticeNode) -> float:
        """Divide."""
        return (self.lattice.records - node.suppressed) / node.groups

    def bound(self, lo: Levels, low: LatticeNode | None, high: LatticeNode) -> float:
        """Count all groups of `lo`, and as few records as the budget allows."""
        return 1.0 if low is None else max(1.0, (self.lattice.records - self.budget) / low.all_groups)


def objective(lattice: Lattice, budget: int, minimize: str, weights: Sequence[float], aggregate: str) -> Objective:
    """Make the objective of a name."""
    if minimize in ("loss", "generalization_loss"):
        kind = Loss if minimize == "loss" else GeneralizationLoss
        return kind(lattice, budget, tuple(map(float, weights)), aggregate)
    others = {"discernibility": Discernibility, "average_group": AverageGroup}
    return others[minimize](lattice, budget)


KEPT_GROUPS = 3_000_000
"""Groups, or values and persons in them, that are kept besides those of the finest transformation."""

SMALL = 4
"""The factor by which a cell of a stored group needs less memory."""

OCCUPIED = 0.1
"""The share of all possible groups that is expected to occur (a twentieth and less does, in Adult)."""

NONE = -1


class Sources:
    """The stored groupings: that of the finest transformation, and coarser ones within the memory limit."""

    def __init__(self, base: TransformationGroups, levels: Levels, nodes: Sequence[Sequence[int]]):
        self._groupings = [base]
        self._nodes = nodes
        self._levels = np.array([levels])
        self._sizes = np.array([len(base.sizes)])
        self._room = KEPT_GROUPS

    def find(self, levels: Levels) -> tuple[TransformationGroups, Levels]:
        """Find the fewest groups that are kept and not coarser than these levels, and their levels."""
        place = smallest_source(self._levels, self._sizes, len(self._groupings), np.array(levels))
        return self._groupings[place], tuple(self._levels[place].tolist())

    def keep(self, groups: TransformationGroups, levels: Levels, source: TransformationGroups) -> None:
        """Keep groups that are at most half as many as those they came from, within the memory limit."""
        count, size = len(self._groupings), len(groups.sizes)
        room = max(size, len(groups.columns), len(groups.of_cell) // SMALL)
        if 2 * size > len(source.sizes) or room > self._room:
            return
        if count == len(self._sizes):
            self._levels = np.concatenate([self._levels, np.zeros_like(self._levels)])
            self._sizes = np.concatenate([self._sizes, np.zeros_like(self._sizes)])
        self._levels[count], self._sizes[count] = levels, size
        self._groupings.append(groups)
        self._room -= room

    def promise_fewer(self, levels: Levels, source: TransformationGroups) -> bool:
        """Return whether these levels can be expected to have fewer groups than the source."""
        possible = math.prod(nodes[level] for nodes, level in zip(self._nodes, levels, strict=True))
        return possible * OCCUPIED < len(source.sizes)


@kernel
def smallest_source(kept: Counts, sizes: Counts, count: int, levels: Counts) -> int:
    """Return the place of the smallest grouping that is nowhere coarser than these levels; the first of equal ones."""
    best = NONE
    for place in range(count):
        if best == NONE or sizes[place] < sizes[best]:
            finer = True
            for a in range(len(levels)):
                if kept[place, a] > levels[a]:
                    finer = False
                    break
            if finer:
                best = place
    return best


AT_ONCE = 4
"""Boxes that are cut at a time."""

MUCH_WORK = 20_000
"""To roll up fewer groups and sensitive values than this, threads cost more than they save."""

EQUAL = 1e-12
"""Values closer than this are the same."""

POPULATION = 48
IDLE_GENERATIONS = 20
"""After so many generations without a transformation that is new, a genetic search ends."""


class Box(NamedTuple):
    """Transformations from `lo` to `high`, and what none of them can fall below. Ordered by that bound."""

    bound: float
    lo: Levels
    hi: Levels
    high: LatticeNode

    @property
    def size(self) -> int:
        """The number of transformations."""
        return transformations(self.lo, self.hi)


def transformations(lo: Levels, hi: Levels) -> int:
    """Count the transformations between two."""
    return math.prod(above - below + 1 for below, above in zip(lo, hi, strict=True))


class Job(NamedTuple):
    """A transformation that is to be rolled up, and from where."""

    levels: Levels
    source: TransformationGroups
    finer: Levels
    """The levels of the source."""


Result = TypeVar("Result")


@dataclass
class LatticeSearch:
    """One search under way: what was checked, the best so far, and groups to roll others up from."""

    lattice: Lattice
    objective: Objective
    budget: int
    lowest: Levels
    highest: Levels
    nodes: dict[Levels, LatticeNode] = field(default_factory=dict)
    best: LatticeNode | None = None
    value: float = math.inf
    _prepared: set[Levels] = field(default_factory=set)
    bound: float = -math.inf
    """A lower bound for all transformations that were not checked; the value itself when the search is complete."""

    def __post_init__(self) -> None:
        self.base = self.lattice.roll_up(self.lattice.bottom, self.lattice.zero, self.lowest)
        nodes = [[len(level.starts) for level in quasi.hierarchy.levels] for quasi in self.lattice.cells.quasi]
        self._sources = Sources(self.base, self.lowest, nodes)

    @property
    def size(self) -> int:
        """The number of transformations of the lattice."""
        return transformations(self.lowest, self.highest)

    def check(self, several: Iterable[Levels]) -> list[LatticeNode]:
        """Check transformations, each once, by several threads; remember the best."""
        asked = list(several)
        jobs = self._jobs(levels for levels in dict.fromkeys(asked) if levels not in self.nodes)
        for job, (node, groups) in zip(jobs, self._spread(self._checked, jobs), strict=True):
            self.nodes[node.levels] = node
            self._sources.keep(groups, job.levels, job.source)
            value = self.objective.value(node) if self.feasible(node) else math.inf
            if value < self.value - EQUAL:
                self.best, self.value = node, value
        return [self.nodes[levels] for levels in asked]

    def prepare(self, several: Iterable[Levels]) -> None:
        """Roll up transformations that are not asked about, but from which much coarser ones will be rolled up."""
        new = [levels for levels in dict.fromkeys(several) if levels not in self._prepared]
        self._prepared.update(new)
        jobs = [job for job in self._jobs(new) if self._sources.promise_fewer(job.levels, job.source)]
        for job, groups in zip(jobs, self._spread(self._rolled_up, jobs), strict=True):
            self._sources.keep(groups, job.levels, job.source)

    def feasible(self, node: LatticeNode) -> bool:
        """Return whether a transformation publishes something and suppresses no more than it may."""
        return node.groups > 0 and node.suppressed <= self.budget

    def _jobs(self, several: Iterable[Levels]) -> list[Job]:
        return [Job(levels, *self._sources.find(levels)) for levels in several]

    def _spread(self, call: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
        """Call a function for every job; where there is much to do, by several threads, of which this is one."""
        check_cancelled()
        work = sum(len(job.source.sizes) + len(job.source.columns) + len(job.source.of_cell) for job in jobs)
        return [call(job) for job in jobs] if work < MUCH_WORK else together(call, jobs)

    def _rolled_up(self, job: Job) -> TransformationGroups:
        return self.lattice.roll_up(job.source, job.finer, job.levels)

    def _checked(self, job: Job) -> tuple[LatticeNode, TransformationGroups]:
        groups = self._rolled_up(job)
        return self.lattice.check(groups, job.levels), groups


def branch_and_bound(search: LatticeSearch, deadline: float = math.inf) -> None:
    """Cut boxes of the lattice until the best transformation is known, or the time is over."""
    (top,) = search.check([search.highest])
    heap = _worth(search, [_box(search, -math.inf, search.lowest, search.highest, top)])
    while heap and heap[0].bound < search.value - EQUAL:
        if time.monotonic() > deadline:
            search.bound = min(heap[0].bound, search.value)
            return
        taken = [heapq.heappop(heap) for _ in range(min(AT_ONCE, len(heap)))]
        for box in _cut(search, taken):
            heapq.heappush(heap, box)
    search.bound = search.value


def _cut(search: LatticeSearch, boxes: Sequence[Box]) -> list[Box]:
    """Cut each box in two, and return the halves that may hold something better than the best."""
    if search.objective.reads_lowest:
        search.check(box.lo for box in boxes)
    search.prepare(box.lo for box in boxes if sum(map(operator.lt, box.lo, box.hi)) > 1)
    cuts = [(box, *_where(search, box)) for box in boxes if box.size > 1]
    lower = search.check(_with(box.hi, a, level) for box, a, level in cuts)
    halves = []
    for (box, a, level), high in zip(cuts, lower, strict=True):
        halves.append(_box(search, box.bound, box.lo, high.levels, high))
        halves.append(_box(search, box.bound, _with(box.lo, a, level + 1), box.hi, box.high))
    return _worth(search, halves)


def _where(search: LatticeSearch, box: Box) -> tuple[int, int]:
    """Choose the attribute whose highest level costs most above the next lower one, which ends the lower half.

    So the upper half, of one level, soon has a bound above the best; cuts in the middle need 1.2 to 5 times the checks.
    """
    losses, aim = search.lattice.level_losses, search.objective
    weights = aim.weights if isinstance(aim, Loss) else [1.0] * len(losses)
    steps = [
        weight * (by_level[above] - by_level[above - 1]) if above > below else -1.0
        for weight, by_level, below, above in zip(weights, losses, box.lo, box.hi, strict=True)
    ]
    a = steps.index(max(steps))
    return a, box.hi[a] - 1


def _box(search: LatticeSearch, above: float, lo: Levels, hi: Levels, high: LatticeNode) -> Box:
    bound = search.objective.bound(lo, search.nodes.get(lo), high)
    return Box(max(above, bound), lo, hi, high)


def _worth(search: LatticeSearch, boxes: Sequence[Box]) -> list[Box]:
    """Leave out boxes of one transformation, which is checked, and those that are too dear or cannot be feasible."""
    return [
        box
        for box in boxes
        if box.lo != box.hi and box.high.deficit <= search.budget and box.bound < search.value - EQUAL
    ]


def _with(levels: Levels, attribute: int, level: int) -> Levels:
    return (*levels[:attribute], level, *levels[attribute + 1 :])


def descend(search: LatticeSearch, deadline: float) -> None:
    """Walk down from the highest transformation, always to the best of the next finer ones: a quick first answer."""
    (here,) = search.check([search.highest])
    while time.monotonic() < deadline:
        steps = [
            _with(here.levels, a, level - 1)
            for a, (level, least) in enumerate(zip(here.levels, search.lowest, strict=True))
            if level > least
        ]
        below = search.check(steps)
        better = min(below, key=lambda node: _fitness(search, node), default=None)
        if better is None or _fitness(search, better) >= _fitness(search, here):
            return
        here = better


def _fitness(search: LatticeSearch, node: LatticeNode) -> tuple[bool, float]:
    """Order transformations: feasible ones by value, all others after them by what they would suppress."""
    feasible = search.feasible(node)
    return not feasible, search.objective.value(node) if feasible else float(node.suppressed)


def evolve(search: LatticeSearch, deadline: float, seed: int) -> None:
    """Breed transformations: tournaments of two, each level from either parent, now and then a level up or down."""
    rng = np.random.default_rng(seed)
    lowest, highest = np.array(search.lowest), np.array(search.highest)
    drawn = rng.integers(lowest, highest + 1, (POPULATION, len(lowest)))
    population = search.check([*_tuples(drawn), *([search.best.levels] if search.best else [])])
    idle = 0
    while time.monotonic() < deadline and idle < IDLE_GENERATIONS:
        population.sort(key=lambda node: _fitness(search, node))
        del population[POPULATION:]
        ranks = rng.integers(0, len(population), (2, POPULATION, 2)).min(axis=2)  # sorted: the smaller rank wins
        parents = np.array([node.levels for node in population])[ranks]
        children = np.where(rng.random(parents[0].shape) < 0.5, parents[0], parents[1])
        steps = rng.integers(-1, 2, children.shape) * (rng.random(children.shape) < 1.5 / len(lowest))
        known = {node.levels for node in population}
        bred = _tuples(np.clip(children + steps, lowest, highest))
        idle = 0 if any(levels not in search.nodes for levels in bred) else idle + 1
        population += search.check([levels for levels in dict.fromkeys(bred) if levels not in known])


def _tuples(rows: np.ndarray) -> list[Levels]:
    return [tuple(int(level) for level in row) for row in rows]


def decide_all(search: LatticeSearch) -> list[LatticeNode]:
    """Check every transformation, each from a finer one at hand; only a few groupings are kept at a time."""
    lattice, highest = search.lattice, search.highest
    widest_first = sorted(range(len(highest)), key=lambda a: -lattice.ladder.sizes[a])

    def raised(
        groups: TransformationGroups, levels: Levels, attribute: int
    ) -> Iterator[tuple[TransformationGroups, Levels]]:
        while levels[attribute] < highest[attribute]:
            above = _with(levels, attribute, levels[attribute] + 1)
            groups, levels = lattice.roll_up(groups, levels, above), above
            yield groups, levels

    def visit(groups: TransformationGroups, levels: Levels, rest: Sequence[int]) -> list[LatticeNode]:
        nodes = [lattice.check(groups, levels)]
        for i, a in enumerate(rest):
            for coarser, above in raised(groups, levels, a):
                nodes += visit(coarser, above, rest[i + 1 :])
        return nodes

    base, lowest = search.base, search.lowest
    branches = [
        (coarser, above, widest_first[i + 1 :])
        for i, a in enumerate(widest_first)
        for coarser, above in raised(base, lowest, a)
    ]
    parts = together(lambda branch: visit(*branch), branches)
    return [lattice.check(base, lowest), *(node for part in parts for node in part)]
