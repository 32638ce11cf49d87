"""Searching cut vectors for the frontier of a problem: NSGA-II as Dewri et al. used it, and more; or enumeration.

    search = Search(table, Problem2(eta=0.1), space)
    frontier = search.run()          # 250 generations, unless time is up or Ctrl-C is pressed
    frontier = search.run(seconds=60)  # continues where it stopped
    search.resume(path)              # later: `run(checkpoint=path)` writes the file

Every vector is evaluated once. The archive keeps every nondominated point, also those that the population loses.
If every threshold of suppression counts, the search solves the stages of its problem in order. The stages do not depend
on the final limit of suppression, so a larger limit finds at least as much. Threads evaluate single vectors, so their
number does not affect the frontier: same seed, same frontier.

**Seeds**, the first cut vectors of a search. They use no random numbers and do not depend on the objectives.

- *Full-domain optima*: for several k the levels of least loss, with as much suppression as the problem allows.
- *Mondrian's cuts*: its boxes overlap in each attribute, so they are no cut vector. But a cut is useful where many
  boxes begin. For several k each attribute is cut at the most frequent beginnings, so often that its parts are about as
  wide as the boxes. Attributes that are cut along their hierarchy get the nearest allowed set of cuts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.cut_vector.cut_vector import Bits, CutAttribute, CutSpace, cut_space
from sfumato.anonymizers.full_domain._lattice import Levels
from sfumato.anonymizers.full_domain.full_domain import FullDomain
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.config.options import Configured, Option, check_number, parse
from sfumato.data.reading import Table
from sfumato.errors import BadInputError, InfeasibleError, StoppedError
from sfumato.requirements.requirement import KAnonymity
from sfumato.runtime.cancellation import check_cancelled
from sfumato.texts.catalogue import refusal
from sfumato.tradeoff.question.best_possible import Decided
from sfumato.tradeoff.search import checkpoint as checkpoints
from sfumato.tradeoff.search._enumeration import Archive, Enumeration, Frontier
from sfumato.tradeoff.search._variation import drawn, levelled, neighbours
from sfumato.tradeoff.search.problems import Evaluator, KernelProblem, Problem, allowed, problem

SIZES = (2, 5, 10, 25, 100, 500, 2500)
"""The k of the seeds, if half of the records, or persons, are at least so many."""

MOST_LEVELS = 200_000
"""The largest lattice that is searched for optima."""


def seeds(table: Table, space: CutSpace, suppress: float) -> Bits:
    """List seeds, each once: full-domain and Mondrian's in turn, from the smallest k to the largest."""
    persons = table.cells.persons
    sizes = [k for k in SIZES if 2 * k <= (persons.number if persons else table.cells.records)]
    vectors: dict[bytes, Bits] = {}
    optima = full_domain_seeds(table, space, sizes, suppress)
    for vector in chain.from_iterable(zip_longest(optima, mondrian_seeds(table, space, sizes))):
        if vector is not None:
            vectors.setdefault(vector.tobytes(), vector)
    return np.array(list(vectors.values()), np.uint8).reshape(len(vectors), space.bits)


def full_domain_seeds(table: Table, space: CutSpace, sizes: list[int], suppress: float) -> Iterator[Bits]:
    """Yield for each k the levels of least loss, as cuts; nothing if the lattice is too large."""
    combinations = np.prod([float(quasi.hierarchy.height + 1) for quasi in table.cells.quasi])
    if combinations > MOST_LEVELS:
        return
    budget = allowed(suppress, table.cells.records)
    for k in sizes:
        best = FullDomain().find(table, KAnonymity(k), budget).best
        if best is not None:
            yield levels_as_cuts(space, best.levels)


def levels_as_cuts(space: CutSpace, levels: Levels) -> Bits:
    """Return one level per attribute as cuts; levels below the atoms become the atoms."""
    parts = [
        np.isin(attribute.starts[1:], attribute.hierarchy.levels[level].starts)
        for attribute, level in zip(space.attributes, levels, strict=True)
    ]
    return np.concatenate([np.zeros(0, np.bool_), *parts]).astype(np.uint8)


def mondrian_seeds(table: Table, space: CutSpace, sizes: list[int]) -> Iterator[Bits]:
    """Yield for each k the cuts that Mondrian's boxes have in common."""
    for k in sizes:
        try:
            boxes = Mondrian(ranges="region").release(table, KAnonymity(k), "generalization", 0).boxes
        except InfeasibleError:  # one person has most of the records
            return
        parts = []
        for a, attribute in enumerate(space.attributes):
            begins = np.searchsorted(attribute.starts, boxes.lo[:, a], side="right") - 1
            ends = np.searchsorted(attribute.starts, boxes.hi[:, a], side="right") - 1
            cuts = common_cuts(attribute.bits, begins, ends, boxes.mass)
            parts.append(nearest_allowed(attribute, cuts) if attribute.constrained else cuts)
        yield np.concatenate([np.zeros(0, np.uint8), *parts])


def common_cuts(bits: int, begins: NDArray[Any], ends: NDArray[Any], mass: NDArray[Any]) -> Bits:
    """Cut before the atoms at which most records' boxes begin, until parts are as wide as the mean box."""
    width = float((ends - begins + 1) @ mass / mass.sum())
    wanted = round((bits + 1) / width) - 1
    weights = np.bincount(begins, weights=mass, minlength=bits + 1)[1:]
    order = np.lexsort((np.arange(bits), -weights))[:wanted]
    cuts = np.zeros(bits, np.uint8)
    cuts[order[weights[order] > 0]] = 1
    return cuts


def nearest_allowed(attribute: CutAttribute, cuts: Bits) -> Bits:
    """Return the allowed cuts with the fewest differences from these; of several, those with fewer cuts."""

    def best(first: int, last: int) -> tuple[int, list[int]]:
        whole = int(cuts[first:last].sum())
        children = attribute.children(first, last)
        if not children:
            return whole, []
        between = [child[1] for child in children[:-1]]
        below = [best(*child) for child in children]
        apart = sum(1 - int(cuts[cut]) for cut in between) + sum(cost for cost, _ in below)
        if whole <= apart:
            return whole, []
        return apart, between + [cut for _, chosen in below for cut in chosen]

    allowed = np.zeros(attribute.bits, np.uint8)
    allowed[best(0, attribute.bits)[1]] = 1
    return allowed


Numbers = NDArray[np.float64]
Progress = Callable[[int, int, str], None]
MOST_PLACES = 20_000
"""The longest vector: it has a byte for each possible cut, and all evaluated vectors are kept."""

MOST_LOCAL = 4_000
"""With more possible cuts, a vector has too many neighbours for a local search."""


@dataclass(frozen=True)
class NSGA2(Configured):
    """The search over cuts. The defaults of the first four options are the paper's for problems 1 and 2."""

    population: Annotated[int, Option(least=4)] = 200
    """Vectors per generation."""

    generations: Annotated[int, Option(least=1)] = 250
    """The number of generations."""

    crossover: Annotated[float, Option(least=0, most=1)] = 0.9
    """The probability that two vectors are crossed."""

    mutation: Annotated[float, Option(least=0, most=1)] = 0.1
    """The probability that a vector is changed."""

    operators: Annotated[Literal["own", "paper"], Option()] = "own"
    """own: starts with seeds and full-domain levels, mutates constrained attributes too, ends with a local search; or
    as in the paper."""

    seed: Annotated[int, Option(least=0)] = 0
    """The seed of the random numbers."""

    name: ClassVar[str] = "nsga2"


def check_searchable(space: CutSpace) -> None:
    """Raise if a space has too many possible cuts for the memory."""
    if space.bits > MOST_PLACES:
        most = max(space.attributes, key=lambda attribute: attribute.bits)
        raise refusal("many_cuts", most=most, most_places=MOST_PLACES)


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
        stages: bool = True,
    ) -> None:
        self.problem = problem(wanted) if isinstance(wanted, str) else wanted
        self.table, self.workers = table, workers
        self.space = space if space is not None else cut_space(table.cells)
        self.solver = solver or NSGA2()
        self.archive = Archive(self.problem, self.space)
        check_searchable(self.space)
        self.stages = self.problem.stages(table.cells.records) if stages else (self.problem,)
        """The problems that are solved in order; without `stages` only the wanted one."""

        self.start = start
        """The first vectors, such as those of an earlier frontier."""

        if start is not None and not all(self.space.is_valid(vector) for vector in start):
            raise BadInputError("start: these cut vectors do not belong to the space (cut along the hierarchy)")
        self.generation = 0
        self._begin(0, 0, np.zeros((0, self.space.bits), np.uint8) if start is None else start)
        self._last: checkpoints.Snapshot | None = None

    def _begin(self, stage: int, before: int, start: Bits) -> None:
        """Begin a stage with empty results, because its problem is another one."""
        self.stage, self._before, self._start = stage, before, start
        self.evaluator = Evaluator(self.table, self.current, self.space, self.workers)
        self.front = self.archive if len(self.stages) == 1 else Archive(self.current, self.space)
        self.polished = False
        self._limit = 0
        self._done: dict[bytes, None] = {}
        self._algorithm: Any = None
        self._looked: set[bytes] = set()

    @property
    def current(self) -> Problem:
        """The problem of the current stage."""
        return self.stages[self.stage]

    @property
    def evaluations(self) -> int:
        """The number of evaluated cut vectors, each counted once per stage."""
        return self._before + len(self.evaluator.known)

    def run(
        self,
        seconds: float | None = None,
        progress: Progress | None = None,
        generations: int | None = None,
        checkpoint: Path | None = None,
    ) -> Frontier:
        """Search until all generations are done, time is up or Ctrl-C is pressed; a further call continues.

        After Ctrl-C the result is that of the last complete generation. `checkpoint` is a file for `resume`, written
        every few seconds and at the end.
        """
        if seconds is not None:
            check_number("seconds", seconds, least=0, strict=True)
        keeper = None if checkpoint is None else _Keeper(self, checkpoint)
        ends = None if seconds is None else time.monotonic() + seconds
        last = self.generations if generations is None else min(self.generations, self.generation + generations)
        stopped = ""
        try:
            while not stopped:
                check_cancelled()
                if self.generation < min(last, self._ending):
                    stopped = self._evolve(ends, keeper, progress)
                elif self.generation == self._ending and self.solver.operators == "own" and not self.polished:
                    stopped = self._polish(ends, keeper, progress)
                elif self.generation < last:
                    self._climb()
                else:
                    break
        except (KeyboardInterrupt, StoppedError):
            stopped = "interrupted"
            self._restore(self._last)
        if keeper is not None:
            keeper.keep(at_once=True)
        return self.archive.frontier(self.evaluations, stopped=stopped)

    @property
    def decided(self) -> tuple[Decided, ...]:
        """Empty: a search does not decide all cuts."""
        return ()

    @property
    def generations(self) -> int:
        """The generations of all stages."""
        return self.solver.generations * len(self.stages)

    @property
    def _ending(self) -> int:
        """The last generation of the stage."""
        return self.solver.generations * (self.stage + 1)

    def _evolve(self, ends: float | None, keeper: _Keeper | None, progress: Progress | None) -> str:
        """Run one generation, if there is time."""
        if ends is not None and time.monotonic() >= ends:
            return "time"
        self._next_generation()
        if keeper is not None:
            keeper.keep()
        if progress is not None:
            progress(self._done_before + self.generation, self.total, f"{len(self.archive.costs)} points")
        return ""

    def _climb(self) -> None:
        """Start the next stage; half of its first generation is evenly spaced on the front of this one."""
        number = min(len(self.front.vectors), self.solver.population // 2)
        chosen = np.linspace(0, len(self.front.vectors) - 1, number).round().astype(np.int64)
        order = np.lexsort(self.front.costs.T[::-1])
        self._begin(self.stage + 1, self.evaluations, self.front.vectors[order[chosen]])
        self._last = self._snapshot()

    def resume(self, checkpoint: Path) -> str:
        """Load a checkpoint, if there is one; return a sentence about it."""
        kept, sentence = checkpoints.kept_snapshot(checkpoint, checkpoints.key_of(self))
        if kept is None:
            return sentence
        assert not isinstance(kept.known, int) and not isinstance(kept.done, int)
        self._begin(kept.stage, kept.before, kept.start)
        self.evaluator.known, self._done = (
            dict.fromkeys(row.tobytes() for row in each) for each in (kept.known, kept.done)
        )
        self._restore(replace(kept, known=len(kept.known), done=len(kept.done)))
        if self.generation == self.generations and (self.polished or self.solver.operators == "paper"):
            return f"this search is finished: its frontier is taken from {checkpoint}"
        return f"continuing after generation {self.generation} of {self.generations}, from {checkpoint}"

    def look_at(self, vectors: Bits) -> list[Numbers]:
        """Evaluate vectors, add them to the archive, return all their rows of facts."""
        facts, fresh = self.evaluator.facts(vectors)
        if len(fresh):
            self.front.add(vectors[fresh], [facts[i] for i in fresh])
            if self.front is not self.archive:
                self._keep_allowed(vectors[fresh], [facts[i] for i in fresh])
        return facts

    def _keep_allowed(self, vectors: Bits, facts: list[Numbers]) -> None:
        """Add to the archive the rows with no more suppression than the wanted problem allows."""
        wanted, records = self.problem, self.table.cells.records
        assert isinstance(wanted, KernelProblem)
        self.archive.add(vectors, [rows[wanted.within(rows, records)] for rows in facts])

    def _look_further(self) -> None:
        """If the final problem allows more suppression than the stage, evaluate the stage's front under it."""
        if self.stage + 1 == len(self.stages):
            return
        fresh = {one.tobytes(): i for i, one in enumerate(self.front.vectors) if one.tobytes() not in self._looked}
        if fresh:
            vectors = self.front.vectors[list(fresh.values())]
            self.archive.add(vectors, self._final.worked_out(vectors))
            self._looked |= set(fresh)

    @cached_property
    def _final(self) -> Evaluator:
        """Evaluates vectors of earlier stages under the wanted problem."""
        return Evaluator(self.table, self.problem, self.space, self.workers)

    def _next_generation(self) -> None:
        from sfumato.tradeoff.search._nsga2 import algorithm_of  # importing pymoo is slow

        if self._algorithm is None:
            self._algorithm = algorithm_of(self)
        self._algorithm.next()
        self.generation += 1
        self._look_further()
        self._last = self._snapshot()

    def first_population(self, generator: np.random.Generator) -> Bits:
        """Return the first generation of a stage: given vectors, seeds, whole levels, then random ones."""
        own = self.solver.operators == "own"
        none = np.zeros((0, self.space.bits), np.uint8)
        given = self._start[: self.solver.population]
        left = self.solver.population - len(given)
        made = seeds(self.table, self.space, self.current.share)[: left // 2] if own else none
        levels = levelled(self.space, left // 2 - len(made), generator) if own else none
        random = drawn(self.space, left - len(made) - len(levels), generator, spread=own)
        return np.concatenate([given, made, levels, random]).astype(np.uint8)

    @property
    def total(self) -> int:
        """The generations of a whole search; those of the local search are as many vectors."""
        return self.generations + self._local * len(self.stages)

    @property
    def _local(self) -> int:
        """The number of generations that the local search of a stage counts as."""
        return self.solver.generations // 4 if self.solver.operators == "own" else 0

    @property
    def _done_before(self) -> int:
        """The number of generations that the local searches of earlier stages count as."""
        return self._local * self.stage

    def _polish(self, ends: float | None, keeper: _Keeper | None, progress: Progress | None) -> str:
        """Improve the archive's points step by step until none of their neighbours is nondominated, or time is up.

        Each step evaluates about as many vectors as a generation, so the time limit is as exact as there.
        """
        if self.space.bits > MOST_LOCAL:
            self.polished = True
            self._last = self._snapshot()
            return ""
        known = self.evaluator.known
        self._limit = self._limit or len(known) + self.solver.population * self.solver.generations // 4
        while len(known) < self._limit:
            check_cancelled()
            steps, number = {}, 0
            for vector in self.front.vectors:
                if vector.tobytes() in self._done or vector.tobytes() in steps:
                    continue
                steps[vector.tobytes()] = neighbours(self.space, vector)
                number += len(steps[vector.tobytes()])
                if number >= self.solver.population:
                    break
            if not steps:
                break
            if ends is not None and time.monotonic() >= ends:
                return "time"
            together = np.concatenate(list(steps.values()))
            fresh = np.array([vector.tobytes() not in known for vector in together], np.bool_)
            if fresh.any():
                self.look_at(together[fresh])
            self._done |= dict.fromkeys(steps)
            self._look_further()
            self._last = self._snapshot()
            if keeper is not None:
                keeper.keep()
            if progress is not None:
                left = max((self._limit - len(known)) // self.solver.population, 0)
                whole = self.generation + self._done_before + self._local
                progress(whole - left, self.total, f"{len(self.archive.costs)} points, local search")
        self.polished = True
        self._last = self._snapshot()
        return ""

    # -- between two generations

    def _snapshot(self) -> checkpoints.Snapshot:
        here = checkpoints.Snapshot(
            self.generation,
            self.archive.vectors,
            self.archive.rows,
            self.polished,
            len(self.evaluator.known),
            len(self._done),
            self._limit,
            self.stage,
            self._before,
            self._start,
        )
        if self.front is not self.archive:
            here = replace(here, front=self.front.vectors, front_facts=self.front.rows)
        if self._algorithm is None:
            return here
        from sfumato.tradeoff.search._nsga2 import evolved

        return replace(here, **evolved(self._algorithm))

    def _restore(self, own: checkpoints.Snapshot | None) -> None:
        """Restore a snapshot, discarding later work; None restores the beginning."""
        known, done = (0, 0) if own is None else (own.known, own.done)
        for met, number in ((self.evaluator.known, known), (self._done, done)):
            assert isinstance(number, int)
            for key in list(met)[number:]:
                del met[key]
        one, self.archive = self.front is self.archive, Archive(self.problem, self.space)
        self.front = self.archive if one else Archive(self.current, self.space)
        self._last, self._algorithm = own, None
        if own is None:
            self.generation, self._limit, self.polished = 0, 0, False
            return
        from sfumato.tradeoff.search._nsga2 import algorithm_of

        self.generation, self._limit, self.polished = own.generation, own.limit, own.polished
        self.archive.take(own.vectors, own.facts)
        if not one:
            self.front.take(own.front, own.front_facts)
        if len(own.individuals):
            self._algorithm = algorithm_of(self, own)


class _Keeper:
    """Writes checkpoints of a search, at most one every few seconds."""

    def __init__(self, search: Search, path: Path) -> None:
        self.search, self.path, self.key = search, path, checkpoints.key_of(search)
        self.written = time.monotonic()

    def keep(self, at_once: bool = False) -> None:
        """Write the last snapshot, if it is time."""
        own = self.search._last
        if own is not None and (at_once or time.monotonic() - self.written >= checkpoints.BETWEEN):
            assert isinstance(own.known, int) and isinstance(own.done, int)
            bits, known, done = self.search.space.bits, self.search.evaluator.known, self.search._done
            met = {"known": islice(known, own.known), "done": islice(done, own.done)}
            rows: Any = {name: checkpoints.joined(vectors, bits) for name, vectors in met.items()}
            checkpoints.write_checkpoint(self.path, self.key, replace(own, **rows))
            self.written = time.monotonic()


def pareto(
    table: Table,
    wanted: Problem | str,
    space: CutSpace | None = None,
    solver: NSGA2 | None = None,
    seconds: float | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Frontier:
    """Search the cut vectors of a table for the frontier of a problem, such as `problem-2 eta=0.1`.

    Without a solver, a small space is enumerated.
    """
    return search_of(table, wanted, space, solver, workers).run(seconds, progress)


def read_solver(text: str) -> NSGA2:
    """Parse a solver from its text form, such as `nsga2 operators=paper mutation=0.05`."""
    return parse(text, (NSGA2,), "solver")


def search_of(
    table: Table,
    wanted: Problem | str,
    space: CutSpace | None = None,
    solver: NSGA2 | None = None,
    workers: int | None = None,
    enumerate_all: bool | None = None,
) -> Search | Enumeration:
    """Return an enumeration if it is requested, or if the space is small and no solver is given; else a search."""
    wanted = problem(wanted) if isinstance(wanted, str) else wanted
    space = space if space is not None else cut_space(table.cells)
    if enumerate_all is None:
        enumerate_all = solver is None and space.count <= wanted.enumerated
    if enumerate_all:
        return Enumeration(table, wanted, space, workers)
    return Search(table, wanted, space, solver, workers)
