"""The frontiers of Dewri et al. 2011: which tables, which space, which problems and solvers; each searched once.

Beside the frontiers, which our own operators search, there are runs of problem 2 with the paper's operators and other
seeds, and with Iyengar's crossover instead of Lunacek's: all that is said of seeds, crossovers and the paper's settings
reads the same runs.

The paper prints neither its hierarchies nor the granularity of age: these are the bundled hierarchies and five-year
ages (level 1), frozen before any result was looked at. In problem 4 occupation is sensitive: it leaves the
quasi-identifiers and the columns that losses are a share of.

How fast a search of section 6 converges: Lunacek's crossover against Iyengar's, which mends what it breaks.

Iyengar crosses constrained attributes like all others, anywhere, and takes the nearest valid generalization where that
tears a node apart (section 6.3); nearest is here the one that the fewest bits differ from, and a tie keeps a node one
part. All else is the paper's: the same seeds, first populations, mutation and selection. Quality is the area that a
frontier beats (hypervolume), k on a logarithmic scale, so a hundredth of it is one point of loss at every k.

The example of section 5.4: tables 1 and 2, and what is true of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Literal, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.anonymizers.cut_vector.cut_vector import Bits, CutSpace, CutVector, cut_space
from sfumato.data.bundled import load
from sfumato.data.hierarchies.categorical import tree
from sfumato.data.hierarchies.numeric import numeric
from sfumato.data.reading import Table, read
from sfumato.measures.groups import measure
from sfumato.papers.claims import Claim, claim_rows
from sfumato.release.release import Release
from sfumato.requirements.requirement import KAnonymity
from sfumato.runtime.threads import Crew
from sfumato.tradeoff.search._enumeration import Frontier, FrontierPoint
from sfumato.tradeoff.search._variation import SpaceTree, cross, tree_of
from sfumato.tradeoff.search.pareto import NSGA2, Search, pareto
from sfumato.tradeoff.search.problems import Problem, Problem1, Problem2, Problem3, Problem4

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
    from sfumato.tradeoff.search._nsga2 import algorithm_of  # pymoo is slow to import

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


UNCONSTRAINED = ("age", "education", "race", "sex", "salary")
CONSTRAINED = ("workclass", "marital-status", "occupation", "native-country")
LEVELS = {"age": 1}
ETA = 0.1
SEED = 2011
USUAL, LARGE = NSGA2(200, 250, seed=SEED), NSGA2(500, 250, seed=SEED)
FREQUENCY, DISTINCT = Problem4(ETA, "frequency"), Problem4(ETA, "distinct")
PAPER_L, PAPER_K = Problem4(ETA, order="paper"), Problem4(ETA, order="paper", preferred="k")
LIMIT, RELAXED, SHOWN = 0.20, 0.21, 0.30
SEEDS = tuple(range(SEED, SEED + 5))
STEPS = (1, 10, 25, 50, 100, 175, 250)
"""Generations after which a run's frontier is looked at."""

Progress = Callable[[int, int, str], None]
Job = TypeVar("Job")
Result = TypeVar("Result")


class Dewri2011:
    """The frontiers of the paper, searched once."""

    def __init__(self, progress: Progress | None = None, usual: NSGA2 = USUAL, large: NSGA2 = LARGE) -> None:
        self.progress = progress or (lambda done, total, last: None)
        self.usual, self.large = usual, large
        self._searches = 0
        self.table: Table = load("adult-train", quasi=(*UNCONSTRAINED, *CONSTRAINED), sensitive=())
        others = [name for name in CONSTRAINED if name != "occupation"]
        self.sensitive: Table = load("adult-train", quasi=(*UNCONSTRAINED, *others), sensitive=("occupation",))

    @cached_property
    def frontiers(self) -> dict[Problem, Frontier]:
        """All frontiers, by problem."""
        return dict(zip(self._wanted, self._each(self._searched, list(self._wanted)), strict=True))

    @cached_property
    def runs(self) -> tuple[SearchRun, ...]:
        """Problem 2 with the paper's operators: Lunacek's crossover and Iyengar's, each with all seeds."""
        return tuple(self._each(self._run, list(product(CROSSINGS, SEEDS))))

    def _searched(self, problem: Problem) -> Frontier:
        operators = self._wanted[problem].operators if problem.publishable else "paper"
        solver = replace(self._wanted[problem], operators=operators)
        return pareto(self.table_of(problem), problem, self.space_of(problem), solver)

    def _run(self, which: tuple[Crossing, int]) -> SearchRun:
        crossing, seed = which
        solver = replace(self.usual, operators="paper", seed=seed)
        search = Search(self.table, Problem2(ETA), self.space_of(Problem2(ETA)), solver)
        return converge(search, self.steps, crossing)

    def _each(self, search: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
        """Search for all jobs, several at once, since much of a search is work of one thread; tell of each."""
        total, results = len(self._wanted) + len(CROSSINGS) * len(SEEDS), {}
        for (place, job), result in Crew().each(lambda numbered: search(numbered[1]), enumerate(jobs)):
            results[place] = result
            self._searches += 1
            self.progress(self._searches, total, " ".join(map(str, job)) if isinstance(job, tuple) else str(job))
        return [results[place] for place in range(len(jobs))]

    @property
    def steps(self) -> tuple[int, ...]:
        """Generations after which a run's frontier is looked at: the last ones always."""
        return (*(step for step in STEPS if step < self.usual.generations), self.usual.generations)

    @property
    def _wanted(self) -> dict[Problem, NSGA2]:
        usual: dict[Problem, NSGA2] = dict.fromkeys((Problem1(), Problem2(ETA), Problem2(0.01)), self.usual)
        return usual | dict.fromkeys((Problem3(), FREQUENCY, DISTINCT, PAPER_L, PAPER_K), self.large)

    def space_of(self, problem: Problem) -> CutSpace:
        """Return the cut vectors of a problem."""
        cells = self.table_of(problem).cells
        bound = [quasi.name for quasi in cells.quasi if quasi.name in CONSTRAINED]
        return cut_space(cells, bound, LEVELS, counts_atoms=True)

    def table_of(self, problem: Problem) -> Table:
        """Return the table of a problem: in problem 4 occupation is sensitive."""
        return self.sensitive if isinstance(problem, Problem4) else self.table

    def release(self, problem: Problem, point: FrontierPoint) -> Release:
        """Make the release of a point."""
        candidate = point.candidate
        assert isinstance(candidate.anonymizer, CutVector)
        return candidate.anonymizer.anonymize(
            self.table_of(problem), candidate.requirement, candidate.form, candidate.suppress
        )


# -- what claims share

EQUAL = 1e-9


def over(points: Iterable[FrontierPoint], name: str) -> str:
    """Say which stretch of one value some points span."""
    values = [point.values[name] for point in points]
    return f"{name} {min(values):,.6g} to {max(values):,.6g}" if values else "no point"


def pairs_of(points: Sequence[FrontierPoint]) -> list[list[float]]:
    """Write points of problem 4: k, l, loss."""
    pairs = []
    for point in points:
        l = next(value for name, value in point.values.items() if name.startswith("l_"))  # noqa: E741
        pairs.append([point.values["k"], l, round(point.values["loss"], 4)])
    return pairs


def within(frontier: Frontier, loss: float) -> tuple[FrontierPoint, ...]:
    """Return the points within a loss that none other within it equals or beats in privacy, the largest k first."""
    names = frontier.problem.privacies
    inside = sorted(
        (point for point in frontier if point.values["loss"] <= loss + EQUAL),
        key=lambda point: ([-point.values[name] for name in names], point.values["loss"]),
    )
    kept: list[FrontierPoint] = []
    for point in inside:
        if not _offered(point, kept, names):
            kept.append(point)
    return tuple(kept)


def bought(frontier: Frontier, loss: float, relaxed: float) -> tuple[FrontierPoint, ...]:
    """Return what a relaxed loss offers: the best points within it that no point within the loss equals or beats."""
    best = within(frontier, loss)
    return tuple(p for p in within(frontier, relaxed) if not _offered(p, best, frontier.problem.privacies))


def _offered(point: FrontierPoint, others: Sequence[FrontierPoint], names: Sequence[str]) -> bool:
    return any(all(other.values[name] >= point.values[name] for name in names) for other in others)


row = claim_rows(__name__.rpartition(".")[0])

EXAMPLE = {
    "age": [15, 17, 20, 26, 28, 30, 30],
    "marital status": ["Never Married"] * 2 + ["Civ-Spouse", "AF-Spouse", "AF-Spouse", "Civ-Spouse", "AF-Spouse"],
}
STATUS: list[object] = [
    ["Not Married", "Never Married", ["Once-Married", "Divorced", "Widowed", "Separated"]],
    ["Married", "Spouse-Absent", "Civ-Spouse", "AF-Spouse"],
]


def example_claims() -> Iterator[Claim]:
    """Judge what the paper says of its two small tables."""
    domains = {"age": numeric(10, 39), "marital status": tree(STATUS)}
    whole = read(pa.table(EXAMPLE), quasi=["age", "marital status"], hierarchies=domains)
    secret = read(pa.table(EXAMPLE), quasi=["age"], sensitive=["marital status"], hierarchies=domains)
    weighted, safe, values = [], [], []
    for ages in ("20", "20|30"):
        status = '"marital status"="Spouse-Absent"'
        release = CutVector(f"age={ages}, {status}").anonymize(whole, KAnonymity(2))
        weighted.append(measure(release)["weighted_k"])
        hidden = CutVector(f"age={ages}").anonymize(secret, KAnonymity(2))
        measured = measure(hidden)
        safe.append([measured["k"], measured["l_distinct"]])
        assert hidden.histograms is not None
        values.append(sorted((hidden.histograms.counts > 0).sum(axis=1).tolist()))
    holds = np.allclose(weighted, [29 / 7, 17 / 7], rtol=0, atol=1e-12)
    yield row("weighted-k-example", [round(value, 6) for value in weighted], bool(holds))
    reason = f"the paper says T1 is (2,2)-safe; values per group of T1 and T2: {values}"
    yield row("safe-example", safe, safe == [[2, 1], [2, 1]], reason=reason)
