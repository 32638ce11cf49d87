"""Searching cut vectors for the frontier of a problem: NSGA-II as Dewri et al. used it, and more; or all of them.

    search = Search(table, Problem2(eta=0.1), space)
    frontier = search.run()          # 250 generations, unless time is up or Ctrl-C is pressed
    frontier = search.run(seconds=60)  # goes on where it stopped

Every vector is worked out once and kept; the archive keeps every non-dominated point, whatever the population forgets.
Work is divided among threads, vector by vector, so their number cannot matter: same seed, same frontier.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers import CutSpace, cut_space
from sfumato.anonymizers.cut_space import Bits
from sfumato.configuration import Configured, check_choice, check_number, check_whole
from sfumato.errors import BadInputError
from sfumato.table import Table
from sfumato.tradeoff.archive import Archive, Frontier
from sfumato.tradeoff.measured_problem import problem
from sfumato.tradeoff.problems import Problem
from sfumato.tradeoff.variation import drawn, levelled, neighbours

Numbers = NDArray[np.float64]
Progress = Callable[[int, int, str], None]
AT_ONCE = 8
"""Vectors that one thread is handed at a time."""

MOST_VECTORS = 5_000_000
"""No larger space is looked at as a whole."""

CHUNK = 20_000
OPERATORS = ("own", "paper")
BATCH = 40
"""Points of the archive whose neighbours a local search works out at a time."""


@dataclass(frozen=True)
class NSGA2(Configured):
    """How to search. The defaults of the first four are the paper's for problems 1 and 2."""

    population: int = 200
    generations: int = 250
    crossover: float = 0.9
    mutation: float = 0.1
    operators: str = "own"
    """own: mutates constrained attributes too, begins with full-domain levels, ends with a local search; or paper."""

    seed: int = 0
    name: ClassVar[str] = "nsga2"

    def __post_init__(self) -> None:
        check_whole("population", self.population, least=4)
        check_whole("generations", self.generations, least=1)
        check_number("crossover", self.crossover, least=0, most=1)
        check_number("mutation", self.mutation, least=0, most=1)
        check_choice("operators", self.operators, OPERATORS)
        check_whole("seed", self.seed, least=0)


class Evaluator:
    """Works out vectors, each once, by several threads."""

    def __init__(self, table: Table, wanted: Problem, space: CutSpace, workers: int | None = None) -> None:
        workers = workers if workers is not None else (os.cpu_count() or 1)
        check_whole("workers", workers, least=1)
        self.judge = wanted.judge(table, space)
        self.workers = workers
        self.known: dict[bytes, Numbers] = {}
        self.seconds = 0.0

    def facts(self, vectors: Bits) -> tuple[Numbers, NDArray[np.int64]]:
        """Return the facts of vectors, and which of them were new."""
        keys = [vector.tobytes() for vector in vectors]
        new = {key: i for i, key in reversed(list(enumerate(keys))) if key not in self.known}
        fresh = np.array(sorted(new.values()), np.int64)
        if len(fresh):
            for i, own in zip(fresh, self.worked_out(vectors[fresh]), strict=True):
                self.known[keys[i]] = own
        return np.array([self.known[key] for key in keys]), fresh

    def worked_out(self, vectors: Bits) -> Numbers:
        """Work out vectors without looking whether they are known."""
        started = time.perf_counter()
        parts = [vectors[i : i + AT_ONCE] for i in range(0, len(vectors), AT_ONCE)]
        if self.workers == 1 or len(parts) == 1:
            found = [self.judge(part) for part in parts]
        else:
            with ThreadPoolExecutor(self.workers) as pool:
                found = list(pool.map(self.judge, parts))
        self.seconds += time.perf_counter() - started
        return np.concatenate(found)


class Search:
    """A search that can be stopped and continued."""

    def __init__(
        self,
        table: Table,
        wanted: Problem | str,
        space: CutSpace | None = None,
        solver: NSGA2 | None = None,
        workers: int | None = None,
        start: Bits | None = None,
    ) -> None:
        self.problem = problem(wanted) if isinstance(wanted, str) else wanted
        self.space = space if space is not None else cut_space(table.cells)
        self.solver = solver or NSGA2()
        self.evaluator = Evaluator(table, self.problem, self.space, workers)
        self.archive = Archive(self.problem, self.space)
        self.start = start
        """Vectors to begin with, such as those of a frontier that was found before."""

        if start is not None and not all(self.space.is_valid(vector) for vector in start):
            raise BadInputError("start: these cut vectors do not belong to the space (cut along the hierarchy)")
        self.generation = 0
        self.polished = False
        self._algorithm: Any = None

    def run(
        self, seconds: float | None = None, progress: Progress | None = None, generations: int | None = None
    ) -> Frontier:
        """Search until all generations are done, time is up or Ctrl-C is pressed; called again, it goes on."""
        if seconds is not None:
            check_number("seconds", seconds, least=0, strict=True)
        ends = None if seconds is None else time.monotonic() + seconds
        last = self.solver.generations
        if generations is not None:
            last = min(last, self.generation + generations)
        stopped = ""
        try:
            while self.generation < last:
                if ends is not None and time.monotonic() >= ends:
                    stopped = "time"
                    break
                self._next_generation()
                if progress is not None:
                    progress(self.generation, self.solver.generations, f"{len(self.archive.costs)} points")
            if self.generation == self.solver.generations and self.solver.operators == "own" and not self.polished:
                stopped = self._polish(ends)
        except KeyboardInterrupt:
            stopped = "interrupted"
        return self.archive.frontier(len(self.evaluator.known), stopped=stopped)

    def look_at(self, vectors: Bits) -> Numbers:
        """Work out vectors, add them to the archive, return all their facts."""
        facts, fresh = self.evaluator.facts(vectors)
        if len(fresh):
            self.archive.add(vectors[fresh], facts[fresh])
        return facts

    def _next_generation(self) -> None:
        if self._algorithm is None:
            from sfumato.tradeoff.evolving import algorithm_of  # pymoo is slow to import

            self._algorithm = algorithm_of(self)
        self._algorithm.next()
        self.generation += 1

    def first_population(self, generator: np.random.Generator) -> Bits:
        """Draw the vectors of the first generation."""
        own = self.solver.operators == "own"
        none = np.zeros((0, self.space.bits), np.uint8)
        given = none if self.start is None else self.start[: self.solver.population]
        left = self.solver.population - len(given)
        seeds = levelled(self.space, left // 2, generator) if own else none
        random = drawn(self.space, left - len(seeds), generator, spread=own)
        return np.concatenate([given, seeds, random]).astype(np.uint8)

    def _polish(self, ends: float | None) -> str:
        """Improve the archive's points step by step until none of their neighbours is non-dominated, or work is up."""
        done: set[bytes] = set()
        limit = len(self.evaluator.known) + self.solver.population * self.solver.generations // 4
        while len(self.evaluator.known) < limit:
            open_ones = [vector for vector in self.archive.vectors if vector.tobytes() not in done][:BATCH]
            if not open_ones:
                break
            if ends is not None and time.monotonic() >= ends:
                return "time"
            done |= {vector.tobytes() for vector in open_ones}
            self.look_at(np.concatenate([neighbours(self.space, vector) for vector in open_ones]))
        self.polished = True
        return ""


def pareto(
    table: Table,
    wanted: Problem | str,
    space: CutSpace | None = None,
    solver: NSGA2 | None = None,
    seconds: float | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Frontier:
    """Search the cut vectors of a table for the frontier of a problem, such as `problem-2 eta=0.1`."""
    return Search(table, wanted, space, solver, workers).run(seconds, progress)


def exact(
    table: Table,
    wanted: Problem | str,
    space: CutSpace | None = None,
    within: str = "cuts",
    workers: int | None = None,
) -> Frontier:
    """Look at all cut vectors, or at all that are one level for every attribute (`within="levels"`)."""
    check_choice("within", within, ("cuts", "levels"))
    own = problem(wanted) if isinstance(wanted, str) else wanted
    space = space if space is not None else cut_space(table.cells)
    size = space.count if within == "cuts" else space.level_count
    if size > MOST_VECTORS:
        raise BadInputError(
            f"the space has {size:,} cut vectors, too many to look at all (at most {MOST_VECTORS:,}); search it with "
            "pareto(...), look within levels only, or make it smaller by coarser levels"
        )
    evaluator, archive = Evaluator(table, own, space, workers), Archive(own, space)
    for vectors in _chunks(space, within):
        archive.add(vectors, evaluator.worked_out(vectors))
    return replace(archive.frontier(size), exact=within == "cuts")


def _chunks(space: CutSpace, within: str) -> Iterator[Bits]:
    sets = [own.every() if within == "cuts" else own.partitions for own in space.attributes]
    combined = product(*sets)
    while chunk := list(islice(combined, CHUNK)):
        yield np.array([np.concatenate(parts) for parts in chunk], np.uint8).reshape(len(chunk), space.bits)
