"""Cut vectors (Dewri et al. 2011) as candidates of a tuner, beside all other makers.

Where the axes are k and a loss, both can be counted without making a release: the evolutionary search runs a few
generations at a time, and what its archive has that the map does not is put on the map. On any other axes a release has
to be made and measured to be known, so the tuner's own points are the archive: seeds first (what full-domain recoding
and Mondrian make of the table), then one step from vectors that stand on the frontier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sfumato.anonymizers import CutSpace, CutVector
from sfumato.anonymizers.cut_vector.space import Bits
from sfumato.requirements import KAnonymity, Requirement
from sfumato.table import Table
from sfumato.tradeoff.choice.optimum import Decided
from sfumato.tradeoff.search.archive import Frontier
from sfumato.tradeoff.search.enumeration import Enumeration
from sfumato.tradeoff.search.measured_problem import MeasuredProblem
from sfumato.tradeoff.search.pareto import NSGA2, Search, search_of
from sfumato.tradeoff.search.problems import Problem2
from sfumato.tradeoff.search.seeds import seeds
from sfumato.tradeoff.search.variation import mutate, tree_of
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.plan import SearchPlan
from sfumato.tradeoff.study.study import Study

MOST_BITS = 4_000
"""In larger spaces neither a step nor a generation is cheap, and few cuts are worth anything."""

FEW_VECTORS = 20_000
"""A space of no more cut vectors is looked at as a whole."""

GENERATIONS = 10
"""How far the evolutionary search goes before its archive is looked at again."""

POPULATION = 60
PATIENCE = 60
"""Steps without any gain after which no further one is tried until something else has moved the frontier."""

SUPPRESSED = (0.0, 0.05)
"""How many records may be left out where a study has no candidates that say so."""

Gain = Callable[[dict[str, float]], float]
"""What a release of some measures would take from under the staircase."""


@dataclass
class CountedCuts:
    """The search over cuts, for axes that are counted: a few generations at a time, or all of a small space at once."""

    search: Search | Enumeration
    plan: SearchPlan
    axes: Sequence[str]
    idle: int = 0
    proposed: int = 0
    whole: Frontier | None = None

    def next(self, gain: Gain, known: Iterable[Candidate], frontier: Sequence[Candidate], most: int) -> list[Candidate]:
        """Search on, and return the candidates whose exact gain is the largest.

        Where the problem does not tell of the axes, what a release gains there is not known before it is made: then
        those are returned that lie evenly along the frontier of the problem.
        """
        if self.idle >= PATIENCE:
            return []
        counted = self.counted()
        tried = set(known)
        new = {
            i: one
            for i, point in enumerate(counted.points)
            if point.publishable is not None and point.values.get("k", 2) >= 2
            if (one := required(point.publishable, self.plan)) not in tried
        }
        if all(set(self.axes) <= set(point.values) for point in counted.points):
            sizes = {i: gain(dict(counted.points[i].values)) for i in new}
            order = sorted((i for i in new if sizes[i] > 0), key=lambda i: (-sizes[i], new[i].id))
        else:
            order = [i for i in counted.spread(self.proposed + most) if i in new]
        self.idle = 0 if order else self.idle + 1
        self.proposed += len(order[:most])
        return [new[i] for i in order[:most]]

    def counted(self) -> Frontier:
        """Search on, and return the frontier so far."""
        if isinstance(self.search, Search):
            return self.search.run(generations=GENERATIONS)
        if self.whole is None:
            self.whole = self.search.run()
        return self.whole

    @property
    def decided(self) -> tuple[Decided, ...]:
        """What is known of all cuts of the space, once all were looked at."""
        return self.search.decided

    def moved(self) -> None:
        """Take note that the frontier has moved, which makes no difference to what was counted."""


@dataclass
class SteppedCuts:
    """Steps from cut vectors that stand on the frontier, for axes that have to be measured."""

    space: CutSpace
    wanted: Requirement
    suppress: float
    first: list[Bits]
    vectors: dict[Candidate, Bits] = field(default_factory=dict)
    steps: int = 0
    idle: int = 0

    def __post_init__(self) -> None:
        self._tree = tree_of(self.space)

    def candidate(self, vector: Bits) -> Candidate:
        """Return the candidate that publishes a vector."""
        one = Candidate(CutVector(self.space.text(vector)), self.wanted, suppress=self.suppress)
        self.vectors.setdefault(one, vector)
        return one

    def next(self, gain: Gain, known: Iterable[Candidate], frontier: Sequence[Candidate], most: int) -> list[Candidate]:
        """Return seeds while there are some, then steps from the frontier, each drawn by its own number."""
        tried, chosen = set(known), list[Candidate]()
        while self.first and len(chosen) < most:
            one = self.candidate(self.first.pop(0))
            if one not in tried:
                chosen.append(one)
        origins = [one for one in frontier if one in self.vectors] or [one for one in self.vectors if one in tried]
        while len(chosen) < most and origins and self.idle < PATIENCE:
            self.steps += 1
            self.idle += 1
            step = self._step(self.vectors[origins[self.steps % len(origins)]])
            if step is not None and step not in tried and step not in chosen:
                chosen.append(step)
        return chosen

    def _step(self, vector: Bits) -> Candidate | None:
        """Change a vector in about one attribute; nothing where that leaves it as it was."""
        changed = vector[None].copy()
        attributes = len(self.space.attributes)
        rolls = np.random.default_rng(self.steps).random((1, attributes, 3))
        rolls[0, int(rolls[0, 0, 1] * attributes) % attributes, 0] = 0.0
        mutate(changed, self._tree, rolls, 1 / (2 * attributes))
        return None if (changed[0] == vector).all() else self.candidate(changed[0])

    @property
    def decided(self) -> tuple[Decided, ...]:
        """What is known of all cuts: nothing, since they are not all tried."""
        return ()

    def moved(self) -> None:
        """Take note that the frontier has moved: steps may be worth a try again."""
        self.idle = 0


Cuts = CountedCuts | SteppedCuts


def cuts_of(study: Study, table: Table, axes: Sequence[str], workers: int | None) -> Cuts | None:
    """Return who proposes cut vectors for a study on its axes; nobody where releases may not be generalized."""
    plan = study.search or SearchPlan()
    makers = ((one, one.anonymizer) for one in study.candidates_of(table))
    own = [one for one, maker in makers if not maker.baseline and maker.takes_requirements]
    if not plan.proposes(CutVector.name) or (own and all(one.form == "bucketization" for one in own)):
        return None
    space = plan.space(table.cells)
    if not 0 < space.bits <= MOST_BITS or table.shared:
        return None
    suppress = max((one.suppress for one in own), default=max(SUPPRESSED))
    least = min((part.k for one in own for part in one.requirement.parts if isinstance(part, KAnonymity)), default=2)
    wanted = plan.joined(KAnonymity(max(least, 2)))
    wanted = wanted if table.roles.person is None else wanted.by_persons
    given = plan.wanted(study.scales)
    if given is None and (plan.solver is not None or plan.exact is not None) and not is_counted(axes):
        given = MeasuredProblem(", ".join(axes), str(wanted), suppress, study.scales)
    if given is not None:
        return CountedCuts(search_of(table, given, space, plan.nsga2, workers, plan.exact), plan, axes)
    if is_counted(axes) and plan.required is None and table.roles.person is None:
        loss = next(name for name in axes if name != "k")
        problem = Problem2(suppress, minimize=loss)  # type: ignore[arg-type]
        if plan.exact or (plan.exact is None and plan.solver is None and space.count <= FEW_VECTORS):
            return CountedCuts(Enumeration(table, problem, space, workers), plan, axes)
        solver = plan.nsga2 or NSGA2(population=POPULATION, generations=1_000_000)
        return CountedCuts(Search(table, problem, space, solver, workers, stages=plan.solver is not None), plan, axes)
    made = seeds(table, space, suppress)
    return SteppedCuts(space, wanted, suppress, list(made))


def is_counted(axes: Sequence[str]) -> bool:
    """Say whether measures can be counted without making a release: k and a loss."""
    return "k" in axes and set(axes) <= {"k", "loss", "generalization_loss"}


def required(candidate: Candidate, plan: SearchPlan) -> Candidate:
    """Return a candidate with what a plan requires in addition."""
    return replace(candidate, requirement=plan.joined(candidate.requirement))
