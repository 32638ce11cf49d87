"""All non-dominated points that a search has seen, and the frontier it hands back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers import CutSpace, CutVector
from sfumato.anonymizers.cut_vector.space import Bits
from sfumato.errors import BadInputError
from sfumato.kernels import kernel
from sfumato.quiet import Quiet
from sfumato.tradeoff.search.problems import Problem
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.grids import Grid

Numbers = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class FrontierPoint(Quiet):
    """One release of a frontier: its cuts, and what is known of it."""

    spoken: ClassVar[tuple[str, ...]] = ("publishable",)

    cuts: str
    values: Mapping[str, float]
    publishable: Candidate | None
    """The candidate that makes this release; None where what is said of it need not hold."""

    @property
    def candidate(self) -> Candidate:
        """The candidate that makes this release, for a map or to publish."""
        if self.publishable is None:
            raise BadInputError("this point belongs to an unsound problem (order=paper), so it cannot be published")
        return self.publishable


@dataclass(frozen=True)
class Frontier:
    """The releases that no other that was looked at beats, by the first objective, the better end first."""

    problem: Problem
    points: tuple[FrontierPoint, ...]
    vectors: Bits = field(repr=False, compare=False)
    """The cut vectors of the points: seeds for another search."""

    evaluations: int
    """Cut vectors that were worked out, each once."""

    exact: bool = False
    """Whether the whole space was looked at."""

    stopped: str = ""
    """Why the search ended early, if it did: time, or interrupted."""

    def __iter__(self) -> Iterator[FrontierPoint]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def costs(self) -> Numbers:
        """The objectives, turned so that lower is better: points x objectives."""
        down = [name for name in self.problem.objectives if is_gain(name)]
        rows = [[p.values[n] * (-1 if n in down else 1) for n in self.problem.objectives] for p in self.points]
        return np.array(rows, np.float64).reshape(len(self.points), len(self.problem.objectives))

    def spread(self, number: int) -> list[int]:
        """Choose points that lie evenly along the frontier: each the farthest from those before, gains as logarithms.

        Distances are shares of what all points span in each objective. The points in their order, the ends among them.
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
    """Say whether more of an objective is better."""
    from sfumato.measures import MEASURES

    return name.startswith("weighted_") or (name in MEASURES and MEASURES[name].better == "higher")


class Archive:
    """Keeps the non-dominated rows; of equal ones the first. A search adds everything it works out."""

    def __init__(self, problem: Problem, space: CutSpace) -> None:
        self.problem, self.space = problem, space
        self.costs: Numbers = np.zeros((0, len(problem.objectives)))
        self.vectors: Bits = np.zeros((0, space.bits), np.uint8)
        self.facts: Numbers | None = None

    def add(self, vectors: Bits, facts: Sequence[Numbers]) -> bool:
        """Add all rows of some vectors; say whether the archive has changed."""
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
        """The facts; none where nothing was added."""
        return np.zeros((0, 0)) if self.facts is None else self.facts

    @property
    def frontier_facts(self) -> Numbers:
        """The facts in the order of the frontier: by the first objective, the better end first."""
        return self.rows[np.lexsort(self.costs.T[::-1])]

    def take(self, vectors: Bits, facts: Numbers) -> None:
        """Take over the rows of another archive."""
        if len(facts):
            self.vectors, self.facts, self.costs = vectors, facts, self.problem.costs(facts)

    def frontier(self, evaluations: int, exact: bool = False, stopped: str = "") -> Frontier:
        """Hand back what was found."""
        points, order = [], np.lexsort(self.costs.T[::-1])
        for i in order:
            assert self.facts is not None
            cuts, facts = self.space.text(self.vectors[i]), self.facts[i]
            candidate = self.problem.candidate(CutVector(cuts), facts) if self.problem.publishable else None
            points.append(FrontierPoint(cuts, self.problem.values(facts), candidate))
        return Frontier(self.problem, tuple(points), self.vectors[order], evaluations, exact, stopped)


def undominated(costs: Numbers) -> NDArray[np.int64]:
    """Find the rows that no other dominates or equals before them, in order of their numbers."""
    order = np.lexsort(costs.T[::-1]) if len(costs) else np.zeros(0, np.int64)
    return np.sort(order[_first_of_front(np.ascontiguousarray(costs[order]))])


@kernel
def _first_of_front(costs: Numbers) -> NDArray[np.bool_]:
    """Mark the rows, sorted, that no row before is at most as large as everywhere."""
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
