"""Enumerating all cut vectors of a small space, which gives an exact frontier.

    front = Enumeration(table, Problem2(eta=0.1, minimize="loss"), space).run()   # front.exact

The map keeps the result (`decided`). The answer of a later question then includes its distance from the best of all
these cuts.

Also the archive of nondominated points of a search, and its frontier.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.cut_vector._evaluation import SUPPRESSED
from sfumato.anonymizers.cut_vector.cut_vector import Bits, CutSpace, CutVector, cut_space
from sfumato.config.options import check_choice, check_number
from sfumato.data.reading import Table
from sfumato.errors import BadInputError, StoppedError
from sfumato.measures.all_measures import ATTACK_MEASURES, MEASURES
from sfumato.runtime.arrays import RedactedRepr
from sfumato.runtime.cancellation import check_cancelled
from sfumato.runtime.kernels import kernel
from sfumato.texts.catalogue import refusal
from sfumato.tradeoff.question.best_possible import Decided
from sfumato.tradeoff.search.checkpoint import BETWEEN, Snapshot, kept_snapshot, key_of, write_checkpoint
from sfumato.tradeoff.search.problems import Evaluator, KernelProblem, Problem, Problem4, problem
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.grids import Grid


@dataclass(frozen=True, repr=False)
class FrontierPoint(RedactedRepr):
    """One release of a frontier: its cuts and measures."""

    public_fields: ClassVar[tuple[str, ...]] = ("publishable",)

    cuts: str
    values: Mapping[str, float]
    publishable: Candidate | None
    """The candidate that makes this release; None if its measures need not be true."""

    @property
    def candidate(self) -> Candidate:
        """The candidate that makes this release, for a map or for publication."""
        if self.publishable is None:
            raise BadInputError("this point belongs to an unsound problem (order=paper), so it cannot be published")
        return self.publishable


@dataclass(frozen=True)
class Frontier:
    """The nondominated releases, ordered by the first objective, best first."""

    problem: Problem
    points: tuple[FrontierPoint, ...]
    vectors: Bits = field(repr=False, compare=False)
    """The cut vectors of the points: seeds for another search."""

    evaluations: int
    """The number of distinct evaluated cut vectors."""

    exact: bool = False
    """Whether the whole space was enumerated."""

    stopped: str = ""
    """The reason why the search ended early, if it did: time, or interrupted."""

    def __iter__(self) -> Iterator[FrontierPoint]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def costs(self) -> Numbers:
        """The objectives as costs (lower is better): points x objectives."""
        down = [name for name in self.problem.objectives if is_gain(name)]
        rows = [[p.values[n] * (-1 if n in down else 1) for n in self.problem.objectives] for p in self.points]
        return np.array(rows, np.float64).reshape(len(self.points), len(self.problem.objectives))

    def spread(self, number: int) -> list[int]:
        """Choose evenly spaced points of the frontier: each the farthest from those before, gains on a log scale.

        Distances are shares of the range of each objective. The result is in frontier order and contains both ends.
        """
        places = self.costs
        for column, name in enumerate(self.problem.objectives):
            if is_gain(name) and (places[:, column] < 0).all():
                places[:, column] = -np.log(-places[:, column])
        spans = np.ptp(places, axis=0) if len(places) else np.ones(places.shape[1])
        places = places / np.where(spans > 0, spans, 1)
        apart, chosen = np.full(len(places), np.inf), [0, len(places) - 1][: min(number, len(places))]
        while len(chosen) < min(number, len(places)):
            for one in chosen[-2:]:
                apart = np.minimum(apart, np.linalg.norm(places - places[one], axis=1))
            apart[chosen] = -1.0
            chosen.append(int(apart.argmax()))
        return sorted(chosen)

    @property
    def grids(self) -> tuple[Grid, ...]:
        """The points as candidates of a study: `Study(name, table, frontier.grids)` puts them on a map."""
        return tuple(Grid.of([point.candidate]) for point in self.points)


def is_gain(name: str) -> bool:
    """Return whether a higher value of an objective is better."""
    from sfumato.measures.all_measures import MEASURES

    return name.startswith("weighted_") or (name in MEASURES and MEASURES[name].better == "higher")


class Archive:
    """The nondominated rows of a search; of equal rows the first."""

    def __init__(self, problem: Problem, space: CutSpace) -> None:
        self.problem, self.space = problem, space
        self.costs: Numbers = np.zeros((0, len(problem.objectives)))
        self.vectors: Bits = np.zeros((0, space.bits), np.uint8)
        self.facts: Numbers | None = None

    def add(self, vectors: Bits, facts: Sequence[Numbers]) -> bool:
        """Add all rows of some vectors; return whether the archive has changed."""
        flat = np.concatenate(facts)
        columns = flat.shape[1]
        costs = self.problem.costs(flat)
        fine = np.isfinite(costs).all(axis=1)
        flat = flat[fine]
        kept = np.zeros((0, columns)) if self.facts is None else self.facts
        all_costs = np.concatenate([self.costs, costs[fine]])
        all_facts = np.concatenate([kept, flat])
        owners = np.repeat(np.arange(len(vectors)), [len(rows) for rows in facts])[fine]
        before = len(self.costs)
        chosen = undominated(all_costs)
        old, new = chosen[chosen < before], chosen[chosen >= before]  # in this order, because chosen is sorted
        self.vectors = np.concatenate([self.vectors[old], vectors[owners[new - before]]])
        self.costs, self.facts = all_costs[chosen], all_facts[chosen]
        return len(new) > 0

    @property
    def rows(self) -> Numbers:
        """The facts; empty before the first addition."""
        return np.zeros((0, 0)) if self.facts is None else self.facts

    @property
    def frontier_facts(self) -> Numbers:
        """The facts in frontier order: by the first objective, best first."""
        return self.rows[np.lexsort(self.costs.T[::-1])]

    def take(self, vectors: Bits, facts: Numbers) -> None:
        """Copy the rows of another archive."""
        if len(facts):
            self.vectors, self.facts, self.costs = vectors, facts, self.problem.costs(facts)

    def frontier(self, evaluations: int, exact: bool = False, stopped: str = "") -> Frontier:
        """Return the frontier of the archive."""
        points, order = [], np.lexsort(self.costs.T[::-1])
        for i in order:
            assert self.facts is not None
            cuts, facts = self.space.text(self.vectors[i]), self.facts[i]
            candidate = self.problem.candidate(CutVector(cuts), facts) if self.problem.publishable else None
            points.append(FrontierPoint(cuts, self.problem.values(facts), candidate))
        return Frontier(self.problem, tuple(points), self.vectors[order], evaluations, exact, stopped)


def undominated(costs: Numbers) -> NDArray[np.int64]:
    """Return the rows that no other row dominates and no earlier row equals, in order."""
    order = np.lexsort(costs.T[::-1]) if len(costs) else np.zeros(0, np.int64)
    return np.sort(order[_first_of_front(np.ascontiguousarray(costs[order]))])


@kernel
def _first_of_front(costs: Numbers) -> NDArray[np.bool_]:
    """Mark the sorted rows that no earlier row dominates or equals."""
    rows, columns = costs.shape
    good = np.zeros(rows, np.bool_)
    front = np.empty(rows, np.int64)
    size = 0
    for i in range(rows):
        beaten = False
        for f in range(size - 1, -1, -1):
            below = True
            for c in range(columns):
                if costs[front[f], c] > costs[i, c]:
                    below = False
                    break
            if below:
                beaten = True
                break
        if not beaten:
            good[i] = True
            front[size] = i
            size += 1
    return good


Numbers = NDArray[np.float64]
Progress = Callable[[int, int, str], None]
MOST_VECTORS = 5_000_000
"""The largest space that is enumerated."""

CHUNK = 2_000
"""Vectors between two checks of the time during an enumeration."""

KNOWN = frozenset(MEASURES) - frozenset(ATTACK_MEASURES)
"""The measures of every release; an attack needs enough records."""

NEARLY = 1 - 3e-9
"""The distance below a whole number that a share of counts may have, and that no bound rounds away."""

NOTHING_REQUIRED = "k-anonymity k=1"
"""The default requirement of a measured problem."""


class Enumeration:
    """An enumeration of all cut vectors, or of those with one level per attribute; it can be stopped and continued."""

    def __init__(
        self,
        table: Table,
        wanted: Problem | str,
        space: CutSpace | None = None,
        workers: int | None = None,
        within: str = "cuts",
    ) -> None:
        check_choice("within", within, ("cuts", "levels"))
        self.problem = problem(wanted) if isinstance(wanted, str) else wanted
        self.table, self.within = table, within
        self.space = space if space is not None else cut_space(table.cells)
        self.size = self.space.count if within == "cuts" else self.space.level_count
        if self.size > MOST_VECTORS:
            raise refusal("too_many_cut_vectors", value=how_many(self.size), most_vectors=MOST_VECTORS)
        self.solver, self.start = f"exact within {within}", None
        self.evaluator = Evaluator(table, self.problem, self.space, workers)
        self.archive = Archive(self.problem, self.space)
        self.unsuppressed = Archive(self.problem, self.space)
        """The frontier without suppression, if every threshold of suppression is enumerated."""

        self.chunk = 0
        """The number of enumerated chunks."""

    def run(
        self, seconds: float | None = None, progress: Progress | None = None, checkpoint: Path | None = None
    ) -> Frontier:
        """Enumerate all vectors until time is up or Ctrl-C is pressed; a further call continues."""
        if seconds is not None:
            check_number("seconds", seconds, least=0, strict=True)
        ends = None if seconds is None else time.monotonic() + seconds
        written, stopped = time.monotonic(), ""
        try:
            for vectors in islice(_chunks(self.space, self.within), self.chunk, None):
                check_cancelled()
                if ends is not None and time.monotonic() >= ends:
                    stopped = "time"
                    break
                facts = self.evaluator.worked_out(vectors)
                self.archive.add(vectors, facts)
                if self.keeps_unsuppressed:
                    self.unsuppressed.add(vectors, [rows[rows[:, SUPPRESSED] == 0.0] for rows in facts])
                self.chunk += 1
                if checkpoint is not None and time.monotonic() - written >= BETWEEN:
                    self._keep(checkpoint)
                    written = time.monotonic()
                if progress is not None:
                    progress(min(self.chunk * CHUNK, self.size), self.size, f"{len(self.archive.costs)} points")
        except (KeyboardInterrupt, StoppedError):
            stopped = "interrupted"
        if checkpoint is not None and self.chunk:
            self._keep(checkpoint)
        frontier = self.archive.frontier(min(self.chunk * CHUNK, self.size), stopped=stopped)
        return replace(frontier, exact=self.within == "cuts" and not stopped)

    @property
    def keeps_unsuppressed(self) -> bool:
        """Whether releases without suppression have a separate archive."""
        return isinstance(self.problem, KernelProblem) and self.problem.every and self.problem.share > 0

    @property
    def is_whole(self) -> bool:
        """Whether the enumeration is complete."""
        return self.within == "cuts" and self.chunk * CHUNK >= self.size

    @property
    def decided(self) -> tuple[Decided, ...]:
        """The frontiers of all cuts of the space; empty before the enumeration is complete.

        If suppression can narrow published boxes (`_may_narrow`), only the frontier without suppression is exact.
        """
        names = self.problem.objectives
        if not self.is_whole or not self.problem.publishable or self.table.shared or not set(names) <= KNOWN:
            return ()
        known = [] if self._may_narrow() else [(self.archive, self.problem.share)]
        known += [(self.unsuppressed, 0.0)] if self.keeps_unsuppressed else []
        required = getattr(self.problem, "require", "")
        return tuple(
            Decided(
                names,
                tuple(self._row(facts) for facts in archive.frontier_facts),
                share,
                self.size,
                in_words(self.space),
                "" if required == NOTHING_REQUIRED else required,
            )
            for archive, share in known
        )

    def _may_narrow(self) -> bool:
        """Whether a release with suppression may have less loss than was counted.

        In an observed domain, a part is published narrower if only suppressed records have its end
        (`release.shown_ends`). It makes no difference if the part could be cut there with the same suppressed records:
        anywhere, or between leaves whose only ancestor is the root.
        """
        if not self.problem.share or not isinstance(self.problem, KernelProblem):
            return False  # no suppression, or the releases themselves were measured
        free = self.problem.every or self.problem.privacy == "k"
        return not free or any(
            attribute.level > 0 or attribute.between_bands or (attribute.constrained and attribute.hierarchy.height > 1)
            for attribute in self.space.attributes
            if attribute.hierarchy.observed or attribute.name in self.table.grown
        )

    def _row(self, facts: Numbers) -> tuple[float, ...]:
        """Return a row of a frontier; a diversity that counts as a whole number is just below the next one."""
        values = self.problem.values(facts)
        whole = isinstance(self.problem, Problem4) and self.problem.variant == "frequency"
        return tuple(
            (values[name] + 1) * NEARLY if whole and name == "l_frequency" else values[name]
            for name in self.problem.objectives
        )

    def resume(self, checkpoint: Path) -> str:
        """Load the checkpoint, if there is one; return a sentence about it."""
        kept, sentence = kept_snapshot(checkpoint, key_of(self))
        if kept is None:
            return sentence
        self.chunk = kept.generation
        self.archive.take(kept.vectors, kept.facts)
        self.unsuppressed.take(kept.front, kept.front_facts)
        if kept.polished:
            return f"this search is finished: its frontier is taken from {checkpoint}"
        return f"continuing after {self.chunk * CHUNK:,} of {self.size:,} cut vectors, from {checkpoint}"

    def _keep(self, checkpoint: Path) -> None:
        finished, other = self.chunk * CHUNK >= self.size, self.unsuppressed
        kept = Snapshot(self.chunk, self.archive.vectors, self.archive.rows, finished)
        write_checkpoint(checkpoint, key_of(self), replace(kept, front=other.vectors, front_facts=other.rows))


def how_many(number: int) -> str:
    """Format a number of vectors of any size."""
    return f"{number:,}" if number < 10**15 else f"more than 10^{math.floor(math.log10(number))}"


def in_words(space: CutSpace) -> str:
    """Describe where each column may be cut."""
    ways = []
    for attribute in space.attributes:
        where = "between bands" if attribute.between_bands else "anywhere"
        where = "along its hierarchy" if attribute.constrained else where
        ways.append(f"{attribute.name} {where}" + (f" from level {attribute.level}" if attribute.level else ""))
    return ", ".join(ways)


def exact(
    table: Table,
    wanted: Problem | str,
    space: CutSpace | None = None,
    within: str = "cuts",
    workers: int | None = None,
) -> Frontier:
    """Enumerate all cut vectors, or those with one level per attribute (`within="levels"`)."""
    return Enumeration(table, wanted, space, workers, within).run()


def _chunks(space: CutSpace, within: str) -> Iterator[Bits]:
    sets = [attribute.every() if within == "cuts" else attribute.partitions for attribute in space.attributes]
    combined = product(*sets)
    while chunk := list(islice(combined, CHUNK)):
        yield np.array([np.concatenate(parts) for parts in chunk], np.uint8).reshape(len(chunk), space.bits)
