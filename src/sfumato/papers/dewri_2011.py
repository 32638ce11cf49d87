"""Dewri, Ray, Ray & Whitley, "Exploring Privacy versus Data Quality Tradeoffs in Anonymization Techniques", 2011.

NSGA-II over cut vectors of Adult's 30,162 complete training records, problems 1 to 4. The paper prints neither its
hierarchies nor the granularity of age. The bundled hierarchies and five-year ages (level 1) were fixed before any
result was seen, so points are comparable in shape only. Losses count atoms: ages in steps of five years. In problem 4
occupation is sensitive, so it is not a quasi-identifier and not part of the loss. Problem 4 is solved in its sound
form; the printed form runs too, to count how often its claims fail.

**Frontiers**: tables, space, problems and solvers, each searched once with our operators. Further runs of problem 2 use
the paper's operators with other seeds, and Iyengar's crossover instead of Lunacek's. All claims about seeds, crossovers
and the paper's settings use these runs.

**Convergence** (section 6): Lunacek's crossover against Iyengar's. Iyengar crosses constrained attributes like all
others and takes the nearest valid generalization if that divides a node (section 6.3). Nearest means the fewest
different bits; a tie keeps a node as one part. All else is the paper's: the same seeds, first populations, mutation and
selection. Quality is the hypervolume of a frontier, k on a logarithmic scale, so 0.01 is one point of loss at every k.

**Example** of section 5.4: tables 1 and 2, and the claims about them.

**Problems 1 and 2**: that their fronts are fronts, and where they are flat (sections 7.1 and 7.2). A frontier is
nondominated and rising by construction, so its own numbers prove nothing. The test makes and measures its releases from
their groups and boxes: they have the reported k and loss, and rise.

**Plots**: the insets of figure 6 (section 7.1) and the trends of problem 3 (section 7.3).

**Problem 4**: what is sound, the gain from more loss, and the choices (section 7.4).

**Solver**: seeds do not matter, and Lunacek's crossover converges faster (sections 6, 7).

**Figures** with our frontiers: 6 with insets, 7 with a fit, 8 to 11, and convergence.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise, product
from math import comb
from pathlib import Path
from statistics import median
from typing import Any, Literal, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.anonymizers.cut_vector.cut_vector import Bits, CutSpace, CutVector, cut_space
from sfumato.auditing.audit import audit
from sfumato.data.bundled import load
from sfumato.data.hierarchies.categorical import tree
from sfumato.data.hierarchies.numeric import numeric
from sfumato.data.reading import Table, read
from sfumato.measures.groups import measure
from sfumato.papers.claims import Claim, ClaimRows, Figure, FigureLine, Inset, Results, all_of
from sfumato.release.release import Release
from sfumato.requirements.requirement import KAnonymity
from sfumato.runtime.cancellation import unfinished
from sfumato.runtime.threads import Crew
from sfumato.tradeoff.search._enumeration import Frontier, FrontierPoint
from sfumato.tradeoff.search._variation import SpaceTree, cross, tree_of
from sfumato.tradeoff.search.pareto import NSGA2, Search, pareto
from sfumato.tradeoff.search.problems import Problem, Problem1, Problem2, Problem3, Problem4

row = ClaimRows(__name__)


Crossing = Literal["special", "repair"]
CROSSINGS: tuple[Crossing, ...] = ("special", "repair")
"""Lunacek's, the paper's own; and Iyengar's."""


@dataclass(frozen=True)
class SearchRun:
    """One search: the quality of its frontier after some generations, and the last frontier."""

    crossing: Crossing
    seed: int
    areas: tuple[float, ...]
    frontier: Frontier


def hypervolume(frontier: Frontier, records: int) -> float:
    """Return the hypervolume of a frontier of (k, loss), k on a logarithmic scale, both from 0 to 1."""
    points = sorted(
        (np.log(point.values["k"]) / np.log(records), point.values["generalization_loss"]) for point in frontier
    )
    area, before = 0.0, 0.0
    for k, loss in points:
        area += (k - before) * (1 - loss)
        before = k
    return float(area)


def converge(search: Search, steps: Sequence[int], crossing: Crossing = "special") -> SearchRun:
    """Search with one of the crossovers, and evaluate the frontier after some numbers of generations."""
    from sfumato.tradeoff.search._nsga2 import algorithm_of  # importing pymoo is slow

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
    """Return Iyengar's crossover for pymoo."""
    from pymoo.core.crossover import Crossover

    class Mending(Crossover):  # type: ignore[misc]
        """Crosses every attribute at one place, and repairs the constrained ones."""

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
    """Return for each vector the valid one with the fewest different bits.

    For each node of a hierarchy, lowest first: the number of different bits if it is one part, and if it is cut into
    its children, each of them optimal.
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
    """Return the smallest node around another one; nodes are ordered from the highest."""
    around = [n for n in nodes if n < node and tree.first[n] <= tree.first[node] and tree.last[node] <= tree.last[n]]
    return max(around, key=lambda n: (-(tree.last[n] - tree.first[n]), n), default=None)


UNCONSTRAINED = ("age", "education", "race", "sex", "salary")
CONSTRAINED = ("workclass", "marital-status", "occupation", "native-country")
LEVELS = {"age": 1}
ETA = 0.1
SEED = 2011
USUAL, LARGE = NSGA2(200, 250, seed=SEED), NSGA2(500, 250, seed=SEED)
SHORT_USUAL, SHORT_LARGE = NSGA2(100, 60, seed=SEED), NSGA2(150, 60, seed=SEED)
"""The solvers of a short run."""

FREQUENCY, DISTINCT = Problem4(ETA, "frequency"), Problem4(ETA, "distinct")
PAPER_L, PAPER_K = Problem4(ETA, order="paper"), Problem4(ETA, order="paper", preferred="k")
LIMIT, RELAXED, SHOWN = 0.20, 0.21, 0.30
SEEDS = tuple(range(SEED, SEED + 5))
STEPS = (1, 10, 25, 50, 100, 175, 250)
"""Generations after which a run's frontier is evaluated."""

Progress = Callable[[int, int, str], None]
Job = TypeVar("Job")
Result = TypeVar("Result")


class Dewri2011:
    """The searched frontiers of the paper."""

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
        """Run all jobs, several at once, because most of a search uses one thread; report each."""
        total, results = len(self._wanted) + len(CROSSINGS) * len(SEEDS), {}
        for (place, job), result in Crew().each(lambda numbered: search(numbered[1]), enumerate(jobs)):
            results[place] = result
            self._searches += 1
            self.progress(self._searches, total, " ".join(map(str, job)) if isinstance(job, tuple) else str(job))
        return [results[place] for place in range(len(jobs))]

    @property
    def steps(self) -> tuple[int, ...]:
        """Generations after which a run's frontier is evaluated, always including the last."""
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


# -- helpers of claims

EQUAL = 1e-9


def over(points: Iterable[FrontierPoint], name: str) -> str:
    """Describe the range of a value over some points."""
    values = [point.values[name] for point in points]
    return f"{name} {min(values):,.6g} to {max(values):,.6g}" if values else "no point"


def pairs_of(points: Sequence[FrontierPoint]) -> list[list[float]]:
    """Return points of problem 4 as k, l, loss."""
    pairs = []
    for point in points:
        l = next(value for name, value in point.values.items() if name.startswith("l_"))  # noqa: E741
        pairs.append([point.values["k"], l, round(point.values["loss"], 4)])
    return pairs


def within(frontier: Frontier, loss: float) -> tuple[FrontierPoint, ...]:
    """Return the points within a loss that no other one there equals or beats in privacy, the largest k first."""
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
    """Return the gain of a relaxed loss: the best points within it that no point within the loss equals or beats."""
    best = within(frontier, loss)
    return tuple(p for p in within(frontier, relaxed) if not _offered(p, best, frontier.problem.privacies))


def _offered(point: FrontierPoint, others: Sequence[FrontierPoint], names: Sequence[str]) -> bool:
    return any(all(other.values[name] >= point.values[name] for name in names) for other in others)


EXAMPLE = {
    "age": [15, 17, 20, 26, 28, 30, 30],
    "marital status": ["Never Married"] * 2 + ["Civ-Spouse", "AF-Spouse", "AF-Spouse", "Civ-Spouse", "AF-Spouse"],
}
STATUS: list[object] = [
    ["Not Married", "Never Married", ["Once-Married", "Divorced", "Widowed", "Separated"]],
    ["Married", "Spouse-Absent", "Civ-Spouse", "AF-Spouse"],
]


def example_claims() -> Iterator[Claim]:
    """Judge the paper's claims about its two small tables."""
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
    ours = {"k and l": safe, "values of each group": values}
    yield row("safe-example", ours, safe.__eq__)


LEAST_POINTS = 30
FLAT_LOSS, FLAT_GROWTH, FLAT_FROM = 0.01, 1.5, 5
"""A flat interval: k grows by half or more for at most one point of loss, from k = 5 on."""

PAPER_STRETCH = (14, 36)
"""The flat interval that the paper names: k 14 at a loss of 25 %, 36 at 26 %."""

ZOOMS = (2000, 200, 50)
"""The maximum k of the magnifications of figure 7."""

CHECKED = 60
"""The points of a frontier that are made as releases and measured."""

Stretch = tuple[float, float, float, float]
Measured = tuple[float, float]


def front_claims(study: Dewri2011) -> Iterator[Claim]:
    """Judge the fronts of problems 1 and 2."""
    for id, problem, name in (("problem-1-front", Problem1(), "weighted_k"), ("problem-2-front", Problem2(ETA), "k")):
        yield _front(study, id, problem, name)
    yield _unbeaten(study)
    for id, eta in (("problem-2-flat", ETA), ("problem-2-flat-1-percent", 0.01)):
        yield _flat(study, id, eta)
    yield from _stretch_claims(study)
    yield _zooms(study)


def _front(study: Dewri2011, id: str, problem: Problem, name: str) -> Claim:
    front = study.frontiers[problem]
    points = sorted(front, key=lambda point: point.values[name])
    checked = points[:: max(1, len(points) // CHECKED)]
    claimed = [(point.values[name], point.values["generalization_loss"]) for point in checked]
    measured = []
    for point in checked:
        release = study.release(problem, point)
        measured.append((float(measure(release)[name]), atom_loss(release)))
    apart, rising = largest_error(claimed, measured), is_rising(measured)
    ours = {"points": len(points), "measured": len(checked), "differ_by": apart, "rising": rising}
    holds = len(points) >= LEAST_POINTS and apart < 1e-6 and rising
    return row(id, ours | {"vectors": front.evaluations}, holds, tested_over=over(checked, name))


def atom_loss(release: Release) -> float:
    """Compute the generalization loss from the boxes: the atoms that each spans; suppressed records do not count."""
    lost = np.zeros(len(release.boxes.mass))
    for column, quasi in enumerate(release.cells.quasi):
        starts = np.asarray(quasi.hierarchy.levels[LEVELS.get(quasi.name, 0)].starts)
        first, last = (
            np.searchsorted(starts, ends[:, column], "right") for ends in (release.boxes.lo, release.boxes.hi)
        )
        lost += (last - first) / (len(starts) - 1)
    return float((lost * release.boxes.mass).sum() / (release.cells.records * len(release.cells.quasi)))


def largest_error(claimed: Sequence[Measured], measured: Sequence[Measured]) -> float:
    """Return the largest difference: relative for privacy, absolute for loss."""
    return max(max(abs(b[0] / a[0] - 1), abs(b[1] - a[1])) for a, b in zip(claimed, measured, strict=True))


def is_rising(measured: Sequence[Measured]) -> bool:
    """Return whether more privacy costs more everywhere: no release dominates or equals another."""
    return all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(sorted(measured)))


def _unbeaten(study: Dewri2011) -> Claim:
    """Compare our front with those of other searches, which might have found better releases."""
    front = study.frontiers[Problem2(ETA)]
    others = [point for run in study.runs for point in run.frontier]
    lost, won = beaten(front, others), beaten(others, front)
    ours = {"ours beaten": f"{lost} of {len(front)}", "theirs beaten": f"{won} of {len(others)}"}
    return row("problem-2-unbeaten", ours, None, tested_over=over(front, "k"))


def beaten(points: Iterable[FrontierPoint], others: Iterable[FrontierPoint]) -> int:
    """Count the points of (k, generalization loss) that another one dominates."""
    sizes, losses = np.array([(p.values["k"], p.values["generalization_loss"]) for p in others]).reshape(-1, 2).T
    number = 0
    for point in points:
        k, loss = point.values["k"], point.values["generalization_loss"]
        as_good = (sizes >= k) & (losses <= loss + 1e-12)
        number += bool((as_good & ((sizes > k) | (losses < loss - 1e-12))).any())
    return number


def _flat(study: Dewri2011, id: str, eta: float) -> Claim:
    front = study.frontiers[Problem2(eta)]
    flat = flat_stretches(front)
    large = [point for point in front if point.values["k"] >= FLAT_FROM]
    ours = [[round(value, 4) for value in stretch] for stretch in flat[:10]]
    small = any(stretch[0] <= PAPER_STRETCH[1] for stretch in flat)
    return row(id, ours, small if large else None, tested_over=f"{over(large, 'k')}; {where_flat(flat)}")


def where_flat(flat: Sequence[Stretch]) -> str:
    """Describe the k of the flat intervals; the paper's is where users choose k, ours need not be."""
    if not flat:
        return f"no interval from k = {FLAT_FROM} on"
    begins = f"ours (k, GL, k, GL) begin at k = {flat[0][0]:,.0f}, the paper's at k = {PAPER_STRETCH[0]}"
    small = sum(stretch[0] <= PAPER_STRETCH[1] for stretch in flat)
    return f"{len(flat)} points begin one, {small} of them up to k = {PAPER_STRETCH[1]}; {begins}"


def flat_stretches(front: Iterable[FrontierPoint]) -> list[Stretch]:
    """Return for each point the farthest one with half as much k again, or more, for at most one point of loss."""
    points = sorted(
        (point.values["k"], point.values["generalization_loss"]) for point in front if point.values["k"] >= FLAT_FROM
    )
    stretches = []
    for i, (k, loss) in enumerate(points):
        reach = [later for later in points[i + 1 :] if later[1] <= loss + FLAT_LOSS and later[0] >= FLAT_GROWTH * k]
        if reach:
            stretches.append((k, loss, *reach[-1]))
    return stretches


def _stretch_claims(study: Dewri2011) -> Iterator[Claim]:
    """Compare the cost of the paper's own interval, from k = 14 to k = 36, with our operators and with the paper's."""
    runs = [run.frontier for run in study.runs if run.crossing == "special"]
    for name in ("generalization_loss", "loss"):
        cost = step_cost(study.frontiers[Problem2(ETA)], name)
        theirs = [step_cost(front, name) for front in runs]
        ours = {"ours": _rounded(cost), "the paper's operators, by seed": [_rounded(each) for each in theirs]}
        holds, whole = None if cost is None else cost <= FLAT_LOSS, over(study.frontiers[Problem2(ETA)], "k")
        yield row(f"problem-2-from-14-to-36-{name}", ours, holds, tested_over=whole)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def step_cost(front: Iterable[FrontierPoint], name: str) -> float | None:
    """Return the cost of the step: the least loss with k = 36 less the least with k = 14; None without one of them."""
    points = list(front)
    least = [
        min((point.values[name] for point in points if point.values["k"] >= k), default=None) for k in PAPER_STRETCH
    ]
    return None if least[0] is None or least[1] is None else least[1] - least[0]


def _zooms(study: Dewri2011) -> Claim:
    """Count the flat intervals of each magnification: the paper sees some in each."""
    front = study.frontiers[Problem2(ETA)]
    counts = {f"k up to {most:,}": zoomed(front, most) for most in ZOOMS}
    points = [point for point in front if FLAT_FROM <= point.values["k"] <= ZOOMS[0]]
    holds = all(counts.values()) if points else None
    return row("problem-2-flat-zooms", counts, holds, tested_over=over(points, "k"))


def zoomed(front: Iterable[FrontierPoint], most: int) -> int:
    """Count the flat intervals among the points up to a k."""
    return len(flat_stretches(point for point in front if point.values["k"] <= most))


LOW, HIGH = 0.05, 0.22
"""The losses of the two insets: the paper gives one as 22 % (section 7.5), the other only as low."""

NEAR = (5000, 0.35, 0.17)
"""The encircled region of figure 9: k, generalization loss, suppression loss."""

Sizes = NDArray[np.int64]
Curve = list[tuple[int, float]]


def shape_claims(study: Dewri2011) -> Iterator[Claim]:
    """Judge the insets and the trends."""
    low, high = (cumulated(study.release(Problem1(), inset_point(study, loss)).sizes) for loss in (LOW, HIGH))
    yield from inset_claims(low, high)
    yield from trend_claims(list(study.frontiers[Problem3()]))
    yield from near_claims(list(study.frontiers[Problem3()]))


def inset_point(study: Dewri2011, loss: float) -> FrontierPoint:
    """Return the point of problem 1 whose loss is nearest to a loss."""
    return min(study.frontiers[Problem1()], key=lambda point: abs(point.values["generalization_loss"] - loss))


def cumulated(sizes: Sizes) -> Curve:
    """Return the curve of an inset: for each occurring group size, the share of the records in groups up to it."""
    different, groups = np.unique(sizes, return_counts=True)
    records = np.cumsum(different * groups)
    return [(int(size), float(share)) for size, share in zip(different, records / records[-1], strict=True)]


def inset_claims(low: Curve, high: Curve) -> Iterator[Claim]:
    """Judge the shapes of a release of low loss and one of high loss, without our own bounds."""
    where = f"two releases, near a loss of {LOW:.0%} and of {HIGH:.0%}"
    jumps = [largest_jump(low), largest_jump(high)]
    ours: Any = [round(jump, 4) for jump in jumps]
    yield row("inset-jumps", ours, jumps[0] < jumps[1], tested_over=where)
    shares = [middle_share(low), middle_share(high)]
    ours = [round(share, 4) for share in shares]
    yield row("inset-extremes", ours, shares[1] < shares[0], tested_over=where)
    ahead = largest_lead(high, low)
    ours = {"the other way by at most": round(ahead, 4), "half of the records up to": [_median(low), _median(high)]}
    yield row("inset-order", ours, ahead <= 0, tested_over=where)


def largest_jump(curve: Curve) -> float:
    """Return the largest share of the records that a single group size adds."""
    return float(np.diff([0.0, *(share for _, share in curve)]).max())


def middle_share(curve: Curve) -> float:
    """Return the share of the records in groups of the middle third of sizes, from 1 to the largest, by logarithm."""
    largest = curve[-1][0]
    return _share(curve, largest ** (2 / 3)) - _share(curve, largest ** (1 / 3))


def largest_lead(first: Curve, second: Curve) -> float:
    """Return the largest lead of the first curve over the second; negative if it is always below."""
    sizes = sorted({size for size, _ in (*first, *second)})
    return max(_share(first, size) - _share(second, size) for size in sizes if size < max(first[-1][0], second[-1][0]))


def _share(curve: Curve, size: float) -> float:
    return max((share for each, share in curve if each <= size + 1e-9), default=0.0)


def _median(curve: Curve) -> int:
    return next(size for size, share in curve if share >= 0.5)


def trend_claims(points: Sequence[FrontierPoint]) -> Iterator[Claim]:
    """Judge the trends of figure 8 by rank correlations: any two of three objectives may be uncorrelated."""
    names = ("weighted_k_before", "generalization_loss", "suppression_loss")
    for id, one, other, sign in (
        ("trend-generalization-suppression", names[1], names[2], -1),
        ("trend-k-suppression", names[0], names[2], -1),
        ("trend-k-generalization", names[0], names[1], 1),
    ):
        ranks = rank_correlation(points, one, other)
        ours, holds = (None, None) if ranks is None else (round(ranks, 4), ranks * sign > 0)
        yield row(id, ours, holds, tested_over=f"{len(points)} points, {over(points, one)}")


def rank_correlation(points: Sequence[FrontierPoint], one: str, other: str) -> float | None:
    """Return Spearman's correlation of two values; None if one of them is constant."""
    first, second = (_ranks(np.array([point.values[name] for point in points])) for name in (one, other))
    if len(points) < 2 or not np.ptp(first) or not np.ptp(second):
        return None
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return mean ranks: equal values have the same."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[places]


def near_claims(points: Sequence[FrontierPoint]) -> Iterator[Claim]:
    """Search for the encircled releases of figure 9, within each of its two bounds."""
    k, general, suppressed = NEAR
    for id, name, bound in (
        ("problem-3-near-5000", "suppression_loss", 0.2),
        ("problem-3-near-5000-right", "generalization_loss", 0.3),
    ):
        inside = [point for point in points if point.values[name] < bound]
        good = [p for p in map(three, inside) if p[0] >= k and p[1] <= general and p[2] <= suppressed]
        rows = [[round(value, 3) for value in three(point)] for point in encircled(inside)]
        yield row(id, rows, bool(good) if inside else None, tested_over=over(inside, "weighted_k_before"))


def encircled(points: Iterable[FrontierPoint]) -> list[FrontierPoint]:
    """Return the three points nearest to the paper's encircled region, k by its logarithm."""
    return sorted(points, key=lambda point: _distance(three(point)))[:3]


def _distance(point: tuple[float, float, float]) -> float:
    return float(np.hypot(np.hypot(np.log(point[0] / NEAR[0]), point[1] - NEAR[1]), point[2] - NEAR[2]))


def three(point: FrontierPoint) -> tuple[float, float, float]:
    """Return the objectives of problem 3: weighted-k, generalization loss, suppression loss."""
    values = point.values
    return values["weighted_k_before"], values["generalization_loss"], values["suppression_loss"]


def safe_claims(study: Dewri2011) -> Iterator[Claim]:
    """Judge problem 4, sound and as printed."""
    yield _sound(study)
    for id, problem in (("relaxing-helps", FREQUENCY), ("relaxing-helps-distinct", DISTINCT)):
        yield from relaxing(id, study.frontiers[problem])
    for problem in (PAPER_L, PAPER_K):
        yield _printed(study, problem)
    yield from choice_claims(*(below(study.frontiers[problem], SHOWN) for problem in (PAPER_K, PAPER_L)))


def below(front: Iterable[FrontierPoint], loss: float) -> list[FrontierPoint]:
    """Return the points of less than a loss, as figure 10 draws them."""
    return [point for point in front if point.values["loss"] < loss]


def _sound(study: Dewri2011) -> Claim:
    reported = [
        (problem, point)
        for problem in (FREQUENCY, DISTINCT)
        for point in study.frontiers[problem]
        if point.values["loss"] <= SHOWN
    ]
    confirmed = Crew().all(lambda each: _audited(study, *each), reported)
    wrong = [dict(point.values) for (_, point), good in zip(reported, confirmed, strict=True) if not good]
    ours = {"reported": len(reported), "confirmed": sum(confirmed), "wrong": wrong[:3]}
    where = over([point for _, point in reported], "loss")
    return row("problem-4-sound", ours, all_of(confirmed), tested_over=where)


def _audited(study: Dewri2011, problem: Problem4, point: FrontierPoint) -> bool:
    """Write the release of a point and audit the file."""
    release, roles = study.release(problem, point), study.sensitive.roles
    require = str(point.candidate.requirement)
    with tempfile.TemporaryDirectory() as folder, unfinished(Path(folder)):
        path = Path(folder) / "release.csv"
        release.to_csv(path)
        audited = audit(path, roles.quasi, roles.sensitive, require=require, suppressed="keep")
    enough = audited["k"] >= point.values["k"] and audited[problem.letter] >= point.values[problem.letter] - 1e-9
    return bool(audited.holds and enough and release.suppressed <= ETA * study.sensitive.cells.records)


def relaxing(id: str, front: Frontier) -> Iterator[Claim]:
    """Judge the gain from a little more loss. Some larger k is nearly always possible, so a larger l is required.

    The paper's publisher has chosen (20,4) and is offered (20,5): no less k and one more l. Without points within the
    smaller loss nothing is tested.
    """
    less, more = within(front, LIMIT), within(front, RELAXED)
    gains = gained(less, more, front.problem.objectives[1])
    where = (
        f"{len(less)} pairs within {LIMIT:.0%}: {pairs_of(less)}; {len(more)} within {RELAXED:.0%}: {pairs_of(more)}"
    )
    yield row(id, gains, bool(gains) if less else None, tested_over=where)
    holds = len(more) > len(less) if less else None
    yield row(f"{id}-choices", [len(less), len(more)], holds, tested_over=where)


def gained(less: Sequence[FrontierPoint], more: Sequence[FrontierPoint], letter: str) -> list[list[list[float]]]:
    """List the gains of some points over others: (k, l) and a pair with no less k and at least one more l."""
    pairs = [[[point.values["k"], point.values[letter]] for point in points] for points in (less, more)]
    return [[old, new] for old in pairs[0] for new in pairs[1] if new[0] >= old[0] and new[1] >= old[1] + 1]


def _printed(study: Dewri2011, problem: Problem4) -> Claim:
    broken, total = _broken(study, problem)
    ours = f"{broken} of {total} claims break"
    return row(f"problem-4-printed-{problem.preferred}", ours, broken == 0 if total else None)


def _broken(study: Dewri2011, problem: Problem4) -> tuple[int, int]:
    """Count the claims of the printed order that its own groups violate, made and measured."""
    broken = 0
    for point in study.frontiers[problem]:
        release = CutVector(point.cuts).anonymize(study.sensitive, KAnonymity(1))
        histograms = release.histograms
        assert histograms is not None
        k, l = point.values["k"], point.values[problem.letter]  # noqa: E741
        diversity = np.floor(release.sizes / histograms.counts.max(axis=1) + 1e-9)
        first, second = (release.sizes, diversity) if problem.preferred == "l" else (diversity, release.sizes)
        a, b = (k, l) if problem.preferred == "l" else (l, k)
        left = (first > a) | ((first == a) & (second >= b))
        broken += bool((release.sizes[left] < k).any() or (diversity[left] < l).any())
    return broken, len(study.frontiers[problem])


def choice_claims(k_first: Sequence[FrontierPoint], l_first: Sequence[FrontierPoint]) -> Iterator[Claim]:
    """Count the choices for k and for l in figure 10, with k and with l preferred: both readings of the text."""
    letter = PAPER_L.letter
    k_of_k, l_of_k, k_of_l, l_of_l = (
        len({point.values[name] for point in points}) for points in (k_first, l_first) for name in ("k", letter)
    )
    known = bool(k_first and l_first)
    where = (
        f"loss below {SHOWN:.0%}: {len(k_first)} points with k preferred, {len(l_first)} with l; l by frequency, whole"
    )
    for id, ours, holds in (
        ("choices-k-preferred", [k_of_k, l_of_k], k_of_k > l_of_k),
        ("choices-l-preferred", [l_of_l, k_of_l], l_of_l > k_of_l),
        ("choices-preference", {"k": [k_of_k, k_of_l], "l": [l_of_l, l_of_k]}, k_of_k > k_of_l and l_of_l > l_of_k),
    ):
        yield row(id, ours, holds if known else None, tested_over=where)


BOUNDS = (0.25, 0.26)
"""The losses of question 2, whose answers are compared between seeds."""


def solver_claims(study: Dewri2011) -> Iterator[Claim]:
    """Judge seeds and crossovers."""
    special, repair = (areas_of(study.runs, crossing) for crossing in ("special", "repair"))
    yield from seed_claims([run for run in study.runs if run.crossing == "special"])
    yield from crossover_claims(special, repair, study.steps)
    area = hypervolume(study.frontiers[Problem2(ETA)], study.table.cells.records)
    ours = {"ours": round(area, 4), "the paper's operators": [round(areas[-1], 4) for areas in special]}
    yield row("hypervolume", ours, None)


def areas_of(runs: Sequence[SearchRun], crossing: Crossing) -> list[tuple[float, ...]]:
    """Return the hypervolumes of every run with a crossover, in order of the seeds."""
    return [run.areas for run in runs if run.crossing == crossing]


def seed_claims(runs: Sequence[SearchRun]) -> Iterator[Claim]:
    """Compare fronts of several seeds: as wholes, and by their answers.

    The least difference is that of a flat interval: one point of loss, or half as much k again.
    """
    where = f"problem 2, {len(runs)} seeds, the paper's operators"
    areas = [run.areas[-1] for run in runs]
    spread = max(areas) - min(areas)
    ours: dict[str, object] = {"hypervolumes": [round(area, 4) for area in areas], "spread": round(spread, 4)}
    yield row("seeds-fronts", ours, spread <= FLAT_LOSS, tested_over=where)
    most = {f"{bound:.0%}": [_most(run, bound) for run in runs] for bound in BOUNDS}
    known = all(k is not None for answers in most.values() for k in answers)
    holds = all(differ_little(answers) for answers in most.values()) if known else None
    yield row("seeds-answers", most, holds, tested_over=where)


def _most(run: SearchRun, bound: float) -> float | None:
    return max((point.values["k"] for point in run.frontier if point.values["loss"] <= bound), default=None)


def differ_little(answers: Sequence[float | None]) -> bool:
    """Return whether the largest answer is less than 1.5 times the smallest."""
    sizes = [answer for answer in answers if answer is not None]
    return max(sizes) < FLAT_GROWTH * min(sizes)


def crossover_claims(
    special: Sequence[Sequence[float]], repair: Sequence[Sequence[float]], steps: Sequence[int]
) -> Iterator[Claim]:
    """Compare two crossovers: which is ahead, and when one reaches the other's end."""
    curves = [[median(areas[i] for areas in runs) for i in range(len(steps))] for runs in (special, repair)]
    where = f"problem 2, {len(special)} seeds, hypervolume (median) after generations {', '.join(map(str, steps))}"
    ours = {"special": [round(area, 4) for area in curves[0]], "repair": [round(area, 4) for area in curves[1]]}
    ahead = [a > b for a, b in zip(*curves, strict=True)][1:]
    yield row("crossover-ahead", ours, all(ahead) if ahead else None, tested_over=where)
    reached = next((step for step, area in zip(steps, curves[0], strict=True) if area >= curves[1][-1]), None)
    holds = reached is not None and reached <= steps[-1] / 2
    yield row("crossover-faster", reached, holds, tested_over=where)


TITLE = "Dewri et al. 2011, figure"


def _series(points: Iterable[FrontierPoint], x: str, y: str) -> list[dict[str, Any]]:
    return [{"x": point.values[x], "y": point.values[y]} for point in points]


def figures(study: Dewri2011) -> Iterator[Figure]:
    """Draw all figures."""
    yield from _weighted_figures(study)
    yield from _limited_figures(study)
    yield from _free_figures(study)
    yield from _safe_figures(study)
    yield from _solver_figures(study)


def _weighted_figures(study: Dewri2011) -> Iterator[Figure]:
    paper: list[dict[str, Any]] = [{"x": 2528, "y": 0.22, "label": "paper"}]
    points = _series(study.frontiers[Problem1()], "weighted_k", "generalization_loss")
    curve = FigureLine("ours", points, line=False, opacity=0.5)
    insets = [_inset(study, LOW, (0.34, 0.13)), _inset(study, HIGH, (0.71, 0.13))]
    yield Figure("6", f"{TITLE} 6: problem 1", "weighted-k", "generalization loss", [curve], paper, insets=insets)


def _inset(study: Dewri2011, loss: float, place: tuple[float, float]) -> Inset:
    """The share of records in groups up to a size, for the release nearest to a loss."""
    point = inset_point(study, loss)
    sizes = cumulated(study.release(Problem1(), point).sizes)
    curve = FigureLine(f"loss {loss:.0%}", [{"x": size, "y": share} for size, share in [(1, 0.0), *sizes]])
    (at,) = _series([point], "weighted_k", "generalization_loss")
    return Inset(curve, at, place, "group size", "records in groups up to it")


def _limited_figures(study: Dewri2011) -> Iterator[Figure]:
    named: list[dict[str, Any]] = [{"x": 14, "y": 0.25, "label": "paper"}, {"x": 36, "y": 0.26, "label": "paper"}]
    for number, most in enumerate((None, *ZOOMS)):
        curves = []
        for eta in (ETA, 0.01):
            inside = [p for p in study.frontiers[Problem2(eta)] if most is None or p.values["k"] <= most]
            curves.append(FigureLine(f"at most {eta:.0%} suppressed", _series(inside, "k", "loss"), line=False))
        title = f"{TITLE} 7: problem 2" + ("" if most is None else f", k up to {most}")
        yield Figure(f"7{'abcd'[number]}", title, "k", "loss", curves, named if most in (200, 50) else ())
    front, (fitted, error) = study.frontiers[Problem2(ETA)], fitted_curve(study.frontiers[Problem2(ETA)])
    curves = [
        FigureLine("ours", _series(front, "k", "generalization_loss"), line=False, opacity=0.5),
        FigureLine("fitted", fitted, marks=False),
    ]
    title = f"Dewri et al. 2011, section 7.5: a cubic of ln k that never falls nor is below 0, at most {error:.3f} off"
    yield Figure("7-fitted", title, "k", "generalization loss", curves, x_scale="log")


def _free_figures(study: Dewri2011) -> Iterator[Figure]:
    three = study.frontiers[Problem3()]
    names = {
        "weighted_k_before": "weighted-k",
        "generalization_loss": "generalization loss",
        "suppression_loss": "suppression loss",
    }
    rows = [{label: point.values[name] for name, label in names.items()} for point in three]
    yield Figure(
        "8", f"{TITLE} 8: problem 3", "", "", [FigureLine("ours", rows, line=False)], matrix=tuple(names.values())
    )
    for letter, name, bound, x, y in (
        ("a", "suppression_loss", 0.2, "weighted_k_before", "generalization_loss"),
        ("b", "generalization_loss", 0.3, "weighted_k_before", "suppression_loss"),
    ):
        inside = [point for point in three if point.values[name] < bound]
        title = f"{TITLE} 9: problem 3, {names[name]} below {bound:.0%}"
        crosses: list[dict[str, Any]] = [{"x": NEAR[0], "y": NEAR[1 if letter == "a" else 2], "label": "paper"}]
        curve = FigureLine("ours", _series(inside, x, y), line=False, opacity=0.5)
        rings = _series(encircled(inside), x, y)
        yield Figure(f"9{letter}", title, names[x], names[y], [curve], crosses, encircled=rings)


def _safe_figures(study: Dewri2011) -> Iterator[Figure]:
    for letter, printed, preferred in (("a", PAPER_K, "k"), ("b", PAPER_L, "l")):
        curves = []
        for label, problem in (
            ("sound, l distinct", DISTINCT),
            ("sound, l by frequency", FREQUENCY),
            (f"as printed, {preferred} preferred (unsound)", printed),
        ):
            inside = below(study.frontiers[problem], SHOWN)
            curves.append(FigureLine(label, _series(inside, "k", problem.letter), line=False, opacity=0.4))
        paper: list[dict[str, Any]] = [{"x": 15, "y": 7, "label": "paper"}] if letter == "b" else []
        yield Figure(
            f"10{letter}", f"{TITLE} 10: problem 4, loss below {SHOWN:.0%}", "k", "l", curves, paper, whole=True
        )
    for letter, most, pairs in (("a", LIMIT, [(20, 4)]), ("b", RELAXED, [(20, 5), (22, 3), (18, 6)])):
        curves = [
            FigureLine(label, _pairs(study.frontiers[problem], most), line=False, opacity=0.6)
            for label, problem in (("l distinct", DISTINCT), ("l by frequency", FREQUENCY))
        ]
        named = [{"x": x, "y": y, "label": "paper"} for x, y in pairs]
        fresh = [
            {"x": point.values["k"], "y": point.values[problem.letter]}
            for problem in (DISTINCT, FREQUENCY)
            for point in bought(study.frontiers[problem], LIMIT, RELAXED)
        ]
        title = f"{TITLE} 11: problem 4, loss at most {most:.0%}" + (": new choices encircled" if letter == "b" else "")
        rings = fresh if letter == "b" else []
        yield Figure(f"11{letter}", title, "k", "l", curves, named, encircled=rings, whole=True)


def _pairs(front: Frontier, most: float) -> list[dict[str, Any]]:
    """All pairs (k, l) of a front within a loss, each once."""
    letter = front.problem.objectives[1]
    inside = [point for point in front if point.values["loss"] <= most]
    return [{"x": x, "y": y} for x, y in sorted({(point.values["k"], point.values[letter]) for point in inside})]


def _solver_figures(study: Dewri2011) -> Iterator[Figure]:
    """Draw hypervolume by generations: the median of the seeds as a line, every seed as a mark."""
    curves = []
    for crossing, label in zip(CROSSINGS, ("Lunacek's crossover", "Iyengar's, with repair"), strict=True):
        areas = areas_of(study.runs, crossing)
        middle = [{"x": step, "y": median(run[i] for run in areas)} for i, step in enumerate(study.steps)]
        every = [{"x": step, "y": run[i]} for run in areas for i, step in enumerate(study.steps)]
        curves += [FigureLine(label, middle), FigureLine(label, every, line=False, opacity=0.35)]
    area = hypervolume(study.frontiers[Problem2(ETA)], study.table.cells.records)
    ends = [{"x": step, "y": area} for step in (study.steps[0], study.steps[-1])]
    curves.append(FigureLine("end of our operators", ends, marks=False))
    title = f"Dewri et al. 2011, sections 6.3 and 7: convergence in problem 2, {len(SEEDS)} seeds and their median"
    yield Figure("crossover", title, "generations", "hypervolume", curves, zero=False)


def fitted_curve(front: Frontier) -> tuple[list[dict[str, Any]], float]:
    """Fit the loss of a frontier by a cubic of ln k (least squares); return its points and the largest error.

    A cubic in Bernstein form with nonnegative, nondecreasing coefficients is nonnegative and nondecreasing, as a loss
    must be. So the differences of coefficients are fitted as nonnegative numbers.
    """
    from scipy.optimize import nnls  # slow to import

    points = sorted((point.values["k"], point.values["generalization_loss"]) for point in front)
    sizes, losses = np.array(points).T
    share = np.log(sizes / sizes[0]) / max(np.log(sizes[-1] / sizes[0]), 1e-9)
    basis = np.stack([comb(3, i) * share**i * (1 - share) ** (3 - i) for i in range(4)], axis=1)
    from_here_on = np.cumsum(basis[:, ::-1], axis=1)[:, ::-1]
    fitted = from_here_on @ nnls(from_here_on, losses)[0]
    curve = [{"x": float(x), "y": float(y)} for x, y in zip(sizes, fitted, strict=True)]
    return curve, float(np.abs(fitted - losses).max())


def reproduce(
    progress: Progress | None = None, full: bool = False, usual: NSGA2 | None = None, large: NSGA2 | None = None
) -> Results:
    """Search everything and compare it with the paper; a short run has smaller populations and fewer generations."""
    usual = usual or (USUAL if full else SHORT_USUAL)
    large = large or (LARGE if full else SHORT_LARGE)
    study = Dewri2011(progress, usual, large)
    parts = (front_claims, shape_claims, safe_claims, solver_claims, question_claims)
    claims = [*example_claims(), *(claim for part in parts for claim in part(study))]
    made_of = {"adult-train": study.table.digest(), "full": full, "solvers": [str(usual), str(large)], "seeds": SEEDS}
    return Results("dewri-2011", claims, list(figures(study)), made_of=made_of)


def question_claims(study: Dewri2011) -> Iterator[Claim]:
    """Answer the four questions from the frontiers."""
    first, second = study.frontiers[Problem1()], study.frontiers[Problem2(ETA)]
    for loss in (0.22, 0.25):
        best = within(first, loss)
        ours = round(best[0].values["weighted_k"], 1) if best else None
        where = over([point for point in first if point.values["loss"] <= loss], "loss")
        yield row(f"question-1-at-{loss:.0%}", ours, partial(_reaches, ours), tested_over=where)
    for name in ("loss", "generalization_loss"):
        for bound in (0.25, 0.26):
            inside = [point for point in second if point.values[name] <= bound]
            most = max((point.values["k"] for point in inside), default=None)
            where = over(inside, name)
            yield row(f"question-2-at-{bound:.0%}-{name}", most, partial(_reaches, most), tested_over=where)
    for variant, problem in (("frequency", FREQUENCY), ("distinct", DISTINCT)):
        for bound in (LIMIT, RELAXED, SHOWN):
            pairs = within(study.frontiers[problem], bound)
            id, where = f"question-4-{variant}-at-{bound:.0%}", over(pairs, "loss")
            yield row(id, pairs_of(pairs), partial(_have, pairs_of(pairs)), tested_over=where)


def _reaches(ours: float | None, paper: float | None) -> bool | None:
    """Return whether our number is at least the paper's; None if one of the two is missing."""
    return None if ours is None or paper is None else ours >= paper


def _have(ours: Sequence[Sequence[float]], paper: Sequence[Sequence[float]]) -> bool | None:
    """Return whether for each pair of the paper one of ours is at least as good; None if we have none."""
    return all(any(pair[0] >= a and pair[1] >= b for pair in ours) for a, b in paper) if ours else None
