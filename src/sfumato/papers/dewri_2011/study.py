"""The frontiers of Dewri et al. 2011: which tables, which space, which problems and solvers; each searched once.

The paper prints neither its hierarchies nor the granularity of age: these are the bundled hierarchies and five-year
ages (level 1), frozen before any result was looked at. In problem 4 occupation is sensitive: it leaves the
quasi-identifiers and the columns that losses are a share of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from sfumato.anonymizers import CutVector, cut_space
from sfumato.release import Release
from sfumato.table import Table, load
from sfumato.tradeoff import NSGA2, Frontier, FrontierPoint, Problem, Problem1, Problem2, Problem3, Problem4, pareto

UNCONSTRAINED = ("age", "education", "race", "sex", "salary")
CONSTRAINED = ("workclass", "marital-status", "occupation", "native-country")
LEVELS = {"age": 1}
ETA = 0.1
SEED = 2011
USUAL, LARGE = NSGA2(200, 250, seed=SEED), NSGA2(500, 250, seed=SEED)
FREQUENCY, DISTINCT = Problem4(ETA, "frequency"), Problem4(ETA, "distinct")
PAPER_L, PAPER_K = Problem4(ETA, order="paper"), Problem4(ETA, order="paper", preferred="k")
LIMIT, RELAXED, SHOWN = 0.20, 0.21, 0.30
Progress = Callable[[int, int, str], None]


class Dewri2011:
    """The frontiers of the paper, searched once."""

    def __init__(self, progress: Progress | None = None, usual: NSGA2 = USUAL, large: NSGA2 = LARGE) -> None:
        self.progress = progress or (lambda done, total, last: None)
        self.usual, self.large = usual, large
        self.table = load("adult-train", quasi=(*UNCONSTRAINED, *CONSTRAINED), sensitive=())
        others = [name for name in CONSTRAINED if name != "occupation"]
        self.sensitive = load("adult-train", quasi=(*UNCONSTRAINED, *others), sensitive=("occupation",))

    @cached_property
    def frontiers(self) -> dict[Problem, Frontier]:
        """All frontiers, by problem."""
        wanted = {
            Problem1(): self.usual,
            Problem2(ETA): self.usual,
            Problem2(0.01): self.usual,
            Problem3(): self.large,
            FREQUENCY: self.large,
            DISTINCT: self.large,
            PAPER_L: self.large,
            PAPER_K: self.large,
        }
        frontiers: dict[Problem, Frontier] = {}
        for number, (problem, solver) in enumerate(wanted.items(), start=1):
            table = self.table_of(problem)
            bound = [quasi.name for quasi in table.cells.quasi if quasi.name in CONSTRAINED]
            if not problem.publishable:
                solver = replace(solver, operators="paper")
            space = cut_space(table.cells, bound, LEVELS, counts_atoms=True)
            frontiers[problem] = pareto(table, problem, space, solver)
            self.progress(number, len(wanted), str(problem))
        return frontiers

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
