"""The frontiers of Dewri et al. 2011: which tables, which space, which problems and solvers; each searched once.

Beside the frontiers, which our own operators search, there are runs of problem 2 with the paper's operators and other
seeds, and with Iyengar's crossover instead of Lunacek's: all that is said of seeds, crossovers and the paper's settings
reads the same runs.

The paper prints neither its hierarchies nor the granularity of age: these are the bundled hierarchies and five-year
ages (level 1), frozen before any result was looked at. In problem 4 occupation is sensitive: it leaves the
quasi-identifiers and the columns that losses are a share of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import TypeVar

from sfumato.anonymizers import CutSpace, CutVector, cut_space
from sfumato.papers.dewri_2011.convergence import CROSSINGS, Crossing, SearchRun, converge
from sfumato.release import Release
from sfumato.table import Table, load
from sfumato.tradeoff import (
    NSGA2,
    Frontier,
    FrontierPoint,
    Problem,
    Problem1,
    Problem2,
    Problem3,
    Problem4,
    Search,
    pareto,
)
from sfumato.workers.crew import Crew

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
        self.table = load("adult-train", quasi=(*UNCONSTRAINED, *CONSTRAINED), sensitive=())
        others = [name for name in CONSTRAINED if name != "occupation"]
        self.sensitive = load("adult-train", quasi=(*UNCONSTRAINED, *others), sensitive=("occupation",))

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
