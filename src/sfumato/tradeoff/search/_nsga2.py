"""NSGA-II by pymoo, with our sampling, crossover and mutation. Imported when a search begins: importing pymoo is slow.

An individual is a cut vector. A problem can have several rows of facts for a vector (thresholds of suppression, or one
for each l). Then it also selects a row: its place in the list, in steps of a `CHOICES`th.
"""

import json
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.crossover import Crossover
from pymoo.core.duplicate import DuplicateElimination
from pymoo.core.mutation import Mutation
from pymoo.core.population import Population
from pymoo.core.problem import Problem as Judged
from pymoo.core.sampling import Sampling
from pymoo.termination.max_gen import MaximumGenerationTermination

from sfumato.tradeoff.search._variation import SpaceTree, cross, flip, mutate, tree_of
from sfumato.tradeoff.search.checkpoint import Snapshot
from sfumato.tradeoff.search.pareto import Search

Individuals = NDArray[np.int16]
ENDLESS = 10**9
CHOICES = 16
"""Steps in which an individual selects a row of its vector."""

OTHER_ROW = 0.1
"""The probability that an individual selects another row."""


def algorithm_of(search: Search, begun: Snapshot | None = None) -> Any:
    """Set up NSGA-II for a search, at its beginning or after a generation; each `next()` is one generation."""
    solver, tree = search.solver, tree_of(search.space)
    algorithm = NSGA2(
        pop_size=solver.population,
        sampling=_Sampling(search),
        crossover=_Crossover(tree, solver.crossover, swap=solver.operators == "own"),
        mutation=_Mutation(tree, solver.mutation, solver.operators == "own", search),
        eliminate_duplicates=_Duplicates(),
    )
    endless = MaximumGenerationTermination(ENDLESS)
    algorithm.setup(_Problem(search), termination=endless, seed=solver.seed, verbose=False)
    if begun is not None:
        population = Population.new("X", begun.individuals)
        algorithm.evaluator.eval(algorithm.problem, population)
        population.set("rank", begun.rank)
        population.set("crowding", begun.crowding)
        algorithm.pop, algorithm.n_iter, algorithm.is_initialized = population, search.generation + 1, True
        algorithm.random_state.bit_generator.state = json.loads(begun.random)
        algorithm.start_time = time.time()  # pymoo needs it if no new individual is possible
    return algorithm


def evolved(algorithm: Any) -> dict[str, Any]:
    """Return the state of an algorithm between two generations."""
    population = dict(zip(("individuals", "rank", "crowding"), algorithm.pop.get("X", "rank", "crowding"), strict=True))
    kinds = {"individuals": np.int16, "rank": np.int64, "crowding": np.float64}
    random = {"random": json.dumps(algorithm.random_state.bit_generator.state)}
    return {name: population[name].astype(kind) for name, kind in kinds.items()} | random


class _Problem(Judged):  # type: ignore[misc]
    """Evaluates a population through the search, which evaluates each vector once."""

    def __init__(self, search: Search) -> None:
        super().__init__(n_var=search.space.bits + 1, n_obj=len(search.problem.objectives), xl=0, xu=1, vtype=int)
        self.search = search

    def _evaluate(self, x: Individuals, out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        facts = self.search.look_at(np.ascontiguousarray(x[:, :-1].astype(np.uint8)))
        numbers = np.array([len(rows) for rows in facts])
        places = np.cumsum(numbers) - numbers + x[:, -1].astype(np.int64) * numbers // CHOICES
        chosen = self.search.problem.costs(np.concatenate(facts)[places])
        if self.search.solver.operators == "own":  # who beats whom stays; but half of a frontier is not its largest k
            chosen = np.where(chosen <= -1, -1 - np.log(np.maximum(-chosen, 1)), chosen)
        out["F"] = np.where(np.isfinite(chosen).all(axis=1, keepdims=True), chosen, 1e30)


class _Sampling(Sampling):  # type: ignore[misc]
    def __init__(self, search: Search) -> None:
        super().__init__()
        self.search = search

    def _do(self, problem: Any, n_samples: int, *args: Any, random_state: Any = None, **kwargs: Any) -> Individuals:
        vectors = self.search.first_population(random_state)
        rows = random_state.integers(CHOICES if self.search.current.several else 1, size=len(vectors))
        return np.concatenate([vectors.astype(np.int16), rows[:, None].astype(np.int16)], axis=1)


class _Crossover(Crossover):  # type: ignore[misc]
    def __init__(self, tree: SpaceTree, rate: float, swap: bool) -> None:
        super().__init__(2, 2, prob=rate)
        self.tree, self.swap = tree, swap

    def _do(self, problem: Any, x: Individuals, *args: Any, random_state: Any = None, **kwargs: Any) -> Individuals:
        left, right = (np.ascontiguousarray(parents[:, :-1].astype(np.uint8)) for parents in x)
        rolls = random_state.random((len(left), len(self.tree.constrained), 2))
        cross(left, right, self.tree, rolls, self.swap)
        crossed = x.copy()
        crossed[0, :, :-1], crossed[1, :, :-1] = left, right
        return crossed


class _Mutation(Mutation):  # type: ignore[misc]
    def __init__(self, tree: SpaceTree, rate: float, by_attribute: bool, search: Search) -> None:
        super().__init__(prob=1.0)
        self.tree, self.rate, self.by_attribute, self.search = tree, rate, by_attribute, search

    def _do(self, problem: Any, x: Individuals, *args: Any, random_state: Any = None, **kwargs: Any) -> Individuals:
        vectors = np.ascontiguousarray(x[:, :-1].astype(np.uint8))
        if self.by_attribute:
            rolls = random_state.random((len(vectors), len(self.tree.constrained), 3))
            mutate(vectors, self.tree, rolls, max(self.rate, 1 / max(len(self.tree.constrained), 1)))
        else:
            flip(vectors, self.tree, random_state.random(vectors.shape), self.rate)
        changed = x.copy()
        changed[:, :-1] = vectors
        if self.search.current.several:
            other = random_state.random(len(x)) < OTHER_ROW
            changed[other, -1] = random_state.integers(CHOICES, size=int(other.sum()))
        return changed


class _Duplicates(DuplicateElimination):  # type: ignore[misc]
    """Equal individuals, found by their bytes."""

    def _do(self, pop: Any, other: Any, is_duplicate: NDArray[np.bool_]) -> NDArray[np.bool_]:
        seen = set() if other is None else {row.tobytes() for row in other.get("X").astype(np.int16)}
        for i, row in enumerate(pop.get("X").astype(np.int16)):
            key = row.tobytes()
            is_duplicate[i] = key in seen
            if other is None:
                seen.add(key)
        return is_duplicate
