"""What Cormode et al. 2013 made and measured: trees for k, l, t and epsilon, attacked and queried on one scale.

The paper cuts negative counts at 0 for its classifier (section II) and says nothing of the kind of queries, so queries
read noisy counts as they were drawn; the other reading (`Outcome.cut`) comes from the same draws. It prints neither the
height of its private trees nor whether they are kd-trees: several heights and a quadtree are drawn, and claims are
judged at HEIGHT, where a box has 7 records on the average, about the k = 8 that the paper takes wherever it takes one
k. (That rule was found after an outside look at several heights had shown how much depends on it; so claims about
private trees give the numbers of all heights.) Averages over draws are means, as in the paper.

What came of the settings of Cormode et al. 2013, and how outcomes and curves of them are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from operator import attrgetter

import numpy as np
import pyarrow as pa

from sfumato.anonymizers import anonymizer
from sfumato.anonymizers.dp.mechanism import BoxMechanism
from sfumato.anonymizers.dp.noise import UnsafeSeededNoise
from sfumato.data import bundled
from sfumato.data.hierarchies.declared import Declared
from sfumato.data.reading import Table, read
from sfumato.measures.attribute_attack import Attack
from sfumato.measures.queries import CLOSED_HALF_RANGES, HALF_RANGES, Queries
from sfumato.measures.reconstruction import UniformReader
from sfumato.measures.scales import Prepared, Scales
from sfumato.papers.claims import Progress
from sfumato.release.release import Published
from sfumato.requirements.requirement import KAnonymity, requirement
from sfumato.runtime.threads import Crew


@dataclass(frozen=True)
class Outcome:
    """What came of one setting: how often the attack was right, and the median error of queries, in every draw."""

    parameter: float
    boxes: int
    accuracies: tuple[float, ...]
    errors: tuple[float, ...]
    """One number where nothing is drawn at random."""

    cut_errors: tuple[float, ...] = ()
    """The errors of the same draws where queries too read negative counts as 0; empty where there is no noise."""

    @property
    def accuracy(self) -> float:
        """The mean accuracy of the attack."""
        return float(np.mean(self.accuracies))

    @property
    def error(self) -> float:
        """The mean error."""
        return float(np.mean(self.errors))

    @property
    def cut(self) -> Outcome:
        """The same draws with negative counts cut at 0 for queries too."""
        return replace(self, errors=self.cut_errors or self.errors)


Number = Callable[[Outcome], float]
Curves = Mapping[str, Sequence[Outcome]]


def rounded(outcomes: Iterable[Outcome], of: Number) -> dict[str, float]:
    """Return a number of every outcome by its parameter."""
    return {f"{outcome.parameter:g}": round(of(outcome), 4) for outcome in outcomes}


accuracy: Number = attrgetter("accuracy")
error: Number = attrgetter("error")
"""Of queries, which read noisy counts as they were drawn."""


def deviation(outcome: Outcome) -> float:
    """The standard deviation of the error over the draws."""
    return float(np.std(outcome.errors))


def both(outcome: Outcome) -> list[float]:
    """Error and accuracy."""
    return [round(outcome.error, 4), round(outcome.accuracy, 4)]


def at(outcomes: Iterable[Outcome], parameter: float) -> Outcome:
    """Find the outcome of a parameter."""
    return next(outcome for outcome in outcomes if outcome.parameter == parameter)


def rises(values: Sequence[float], slack: float = 0.0) -> bool:
    """Say whether values rise, each by no less than minus a slack."""
    return all(b >= a - slack for a, b in pairwise(values))


def least_accuracy(curves: Curves, most_error: float) -> dict[str, float]:
    """Find how little a model leaves the attack with an error below a bound; without such a release it is left out."""
    return _least({name: [o.accuracy for o in curve if o.error < most_error] for name, curve in curves.items()})


def least_error(curves: Curves, most_accuracy: float) -> dict[str, float]:
    """Find the least error of a model with the attack below a bound; without such a release it is left out."""
    return _least({name: [o.error for o in curve if o.accuracy < most_accuracy] for name, curve in curves.items()})


def _least(reached: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {name: round(min(values), 4) for name, values in reached.items() if values}


def dominates(one: Outcome, other: Outcome) -> bool:
    """Say whether a release is better on one axis and no worse on the other."""
    no_worse = one.error <= other.error and one.accuracy <= other.accuracy
    return no_worse and (one.error < other.error or one.accuracy < other.accuracy)


def levels_off(outcomes: Sequence[Outcome]) -> float | None:
    """Find the first parameter from which on accuracy and error are those of the last, to .002."""
    last = outcomes[-1]
    same = [abs(o.accuracy - last.accuracy) <= 0.002 and abs(o.error - last.error) <= 0.002 for o in outcomes]
    return next((outcome.parameter for i, outcome in enumerate(outcomes) if all(same[i:])), None)


def along(curve: Sequence[Outcome], of: Number, at_error: float) -> float | None:
    """Read a number off a curve at an error, between its releases; None beyond its ends."""
    ordered = sorted(curve, key=error)
    errors = [outcome.error for outcome in ordered]
    if not errors[0] <= at_error <= errors[-1]:
        return None
    return float(np.interp(at_error, errors, [of(outcome) for outcome in ordered]))


HEIGHT = 12
SEED = 2013

K, L = "k-anonymity", "l-diversity"
T_STOP, T_STOP_EQUAL = "t as a rule to stop, ordered", "t as a rule to stop, equal"
T, T_EQUAL = "t-closeness, ordered", "t-closeness, equal"
QUADTREE = "DP quadtree"
K_8, EPSILON_1 = "k = 8", "epsilon = 1"


@dataclass(frozen=True)
class CurveGrid:
    """The parameters of all curves."""

    ks: tuple[int, ...] = tuple(2**power for power in range(1, 13))
    ls: tuple[int, ...] = tuple(range(2, 11))
    ts: tuple[float, ...] = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    epsilons: tuple[float, ...] = (0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10)
    heights: tuple[int, ...] = (4, 6, 8, 10, HEIGHT)
    """Of private kd-trees over epsilon, on Adult."""

    heights_at_one: tuple[int, ...] = (2, 4, 6, 8, 10, 12)
    """Of trees for k = 8 and epsilon = 1, in figure 6a."""

    shares: tuple[float, ...] = (0.1, 0.25, 0.5, 0.75, 1)
    draws: int = 8


def kd_tree(height: int) -> str:
    """Name the series of private kd-trees of a height."""
    return f"DP kd-tree, height {height}"


DP = kd_tree(HEIGHT)


@dataclass(frozen=True)
class Series:
    """A curve of the paper: an anonymizer, a requirement, and the values of the one parameter that `{}` stands for."""

    maker: str
    requirement: str
    values: Sequence[float]


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper: where it comes from, the roles and the order of its values, how it is cut and queried."""

    name: str
    source: str
    quasi: tuple[str, ...]
    sensitive: str
    hierarchies: Mapping[str, Declared] = field(default_factory=dict)
    alphabetical: tuple[str, ...] = ()
    """Columns whose categories are in the order of the alphabet, not in that of a tree."""

    tree: str = "mondrian ranges=tight"
    queries: Queries = HALF_RANGES

    def open(self, share: float = 1.0) -> Table:
        """Load the table, or a random share of its records."""
        frame: pa.Table = bundled.frame(self.source)
        if share < 1:
            chosen = np.random.default_rng(SEED).permutation(len(frame))[: round(share * len(frame))]
            frame = frame.take(pa.array(np.sort(chosen)))
        flat = {
            name: {"type": "flat", "values": bundled.frame(self.source)[name].unique().to_pylist()}
            for name in self.alphabetical
        }
        hierarchies = {**bundled.hierarchies(self.source), **self.hierarchies, **flat}
        return read(frame, quasi=self.quasi, sensitive=[self.sensitive], hierarchies=hierarchies)

    def prepare(self, share: float = 1.0) -> Prepared:
        """Make the queries and the attack ready for the table, or for a share of it."""
        prepared = Scales(queries=self.queries, reader=UniformReader()).prepare(self.open(share))
        assert prepared.points is not None and prepared.truth is not None and prepared.workloads is not None
        return prepared

    def series(self, grid: CurveGrid) -> dict[str, Series]:
        """Return the curves of every table; the paper's t is a rule to stop cutting, on top of k = 8."""
        stopping = self.tree + ' stop="t-closeness t={{}} distance={}"'
        return {
            K: Series(self.tree, "k-anonymity k={}", grid.ks),
            L: Series(self.tree, "l-diversity l={} variant=frequency", grid.ls),
            T_STOP: Series(stopping.format("ordered"), "k-anonymity k=8", grid.ts),
            T_STOP_EQUAL: Series(stopping.format("equal"), "k-anonymity k=8", grid.ts),
            DP: private("dp-kd-tree", HEIGHT, grid),
        }


def private(maker: str, height: int, grid: CurveGrid) -> Series:
    """Return a curve of private trees over epsilon."""
    return Series(f"{maker} epsilon={{}} height={height}", "k-anonymity k=1", grid.epsilons)


def only_on_adult(grid: CurveGrid) -> dict[str, Series]:
    """Return the curves beside the paper's: t-closeness as a requirement, private trees of all heights, a quadtree."""
    close = "k-anonymity k=8 & t-closeness t={{}} distance={}"
    return {
        T: Series(ADULT.tree, close.format("ordered"), grid.ts),
        T_EQUAL: Series(ADULT.tree, close.format("equal"), grid.ts),
        **{kd_tree(height): private("dp-kd-tree", height, grid) for height in grid.heights},
        QUADTREE: private("dp-quadtree", HEIGHT, grid),
    }


QUASI = ("workclass", "education", "sex", "hours-per-week", "salary")
ADULT = PaperTable("Adult", "adult-train", QUASI, "occupation")


ALPHABET = PaperTable(
    "Adult by alphabet",
    "adult-train",
    QUASI,
    "occupation",
    alphabetical=("workclass", "education", "sex", "salary", "occupation"),
    tree=f"mondrian mode=relaxed ranges=tight seed={SEED} spread=width",
    queries=CLOSED_HALF_RANGES,
)
"""Adult as the authors' own program may have coded it, without trees of categories: these are numbers in the order of
the alphabet, a tree halves exactly and cuts the attribute of most codes first, a query takes both ends of its ranges.
With that queries select the 13 % of the records that the paper prints."""

CENSUS = PaperTable(
    "Adult for Census",
    "adult",
    ("hours-per-week", "salary", "education", "occupation"),
    "age",
    {"age": {"type": "numeric", "lower": 15, "upper": 94, "resolution": 5}},
)
"""The paper's Census table is not ours to ship. It has 100,000 records, a number of many values (age), a state of few
(insured), education and occupation as quasi-identifiers, and classes of salary as sensitive attribute: ordered, many,
the commonest with 11 %. Nearest to that in Adult: hours, salary, education, occupation, and classes of five years of
age; all 45,222 records."""


class Cormode2013:
    """The trees of the paper, measured once."""

    def __init__(
        self, progress: Progress | None = None, grid: CurveGrid | None = None, crew: Crew | None = None
    ) -> None:
        self.crew = crew or Crew()
        self.progress = progress or (lambda done, total, last: None)
        self.grid = grid or CurveGrid()
        self.series = {panel.name: panel.series(self.grid) for panel in (ADULT, ALPHABET, CENSUS)}
        self.series[ADULT.name] |= only_on_adult(self.grid)
        curves = sum(len(series.values) for of_panel in self.series.values() for series in of_panel.values())
        self.steps = curves + 2 * len(self.grid.heights_at_one) + 2 * len(self.grid.shares)
        self.done = 0

    @cached_property
    def prepared(self) -> dict[str, Prepared]:
        """Every table with its queries."""
        return {panel.name: panel.prepare() for panel in (ADULT, ALPHABET, CENSUS)}

    @cached_property
    def outcomes(self) -> dict[str, dict[str, list[Outcome]]]:
        """Every curve on every table."""
        return {name: self._curves(self.prepared[name], series) for name, series in self.series.items()}

    @property
    def adult(self) -> dict[str, list[Outcome]]:
        """The curves on Adult."""
        return self.outcomes[ADULT.name]

    @property
    def alphabet(self) -> dict[str, list[Outcome]]:
        """The curves on Adult as its authors may have coded it."""
        return self.outcomes[ALPHABET.name]

    @cached_property
    def heights(self) -> dict[str, list[Outcome]]:
        """k = 8 and epsilon = 1 with trees of several heights, on the table that stands for Census."""
        heights = self.grid.heights_at_one
        series = {
            K_8: Series("mondrian ranges=tight height={}", "k-anonymity k=8", heights),
            EPSILON_1: Series("dp-kd-tree epsilon=1 height={}", "k-anonymity k=1", heights),
        }
        return self._curves(self.prepared[CENSUS.name], series)

    @cached_property
    def sizes(self) -> dict[str, list[Outcome]]:
        """k = 8 and epsilon = 1 on shares of Adult."""
        outcomes: dict[str, list[Outcome]] = {K_8: [], EPSILON_1: []}
        for share in self.grid.shares:
            prepared = self.prepared[ADULT.name] if share == 1 else ADULT.prepare(share)
            series = {
                K_8: Series("mondrian ranges=tight", "k-anonymity k=8", (share,)),
                EPSILON_1: Series(f"dp-kd-tree epsilon=1 height={HEIGHT}", "k-anonymity k=1", (share,)),
            }
            for name, curve in self._curves(prepared, series).items():
                outcomes[name] += curve
        return outcomes

    def rho(self, panel: str = ADULT.name) -> float:
        """The share of the commonest sensitive value: how often the attack is right on the root alone."""
        return float(self.prepared[panel].table.cells.sensitive[0].shares.max())

    @cached_property
    def root_accuracy(self) -> float:
        """How often the attack is right on the root of Adult alone."""
        prepared = self.prepared[ADULT.name]
        return attacked(prepared, self.root_of(prepared.table))

    def selectivity(self, panel: str) -> float:
        """The median share of the records that a query selects."""
        prepared = self.prepared[panel]
        return float(np.median(prepared.workloads[0].answers)) / prepared.table.cells.records

    def _curves(self, prepared: Prepared, series: Mapping[str, Series]) -> dict[str, list[Outcome]]:
        """Make and measure all settings of some curves, by threads."""
        settings = [(name, value) for name, curve in series.items() for value in curve.values]
        outcomes: dict[tuple[str, float], Outcome] = {}
        for setting, outcome in self.crew.each(lambda one: self.measured(prepared, series[one[0]], one[1]), settings):
            outcomes[setting] = outcome
            self.done += 1
            self.progress(self.done, self.steps, f"{series[setting[0]].maker.format(setting[1])}, {setting[0]}")
        return {name: [outcomes[name, value] for value in curve.values] for name, curve in series.items()}

    def measured(self, prepared: Prepared, series: Series, value: float) -> Outcome:
        """Make one release, or several draws of a noisy one, and attack and query it."""
        maker, wanted = anonymizer(series.maker.format(value)), requirement(series.requirement.format(value))
        if isinstance(maker, BoxMechanism):
            seeds = np.random.SeedSequence([SEED, round(1000 * value)]).generate_state(self.grid.draws, np.uint64)
            draws = [maker.draw(prepared.table, UnsafeSeededNoise(int(seed))) for seed in seeds]
            accuracies = tuple(attacked(prepared, draw) for draw in draws)
            errors, cut_errors = (
                tuple(queried(prepared, draw.read(reading)) for draw in draws) for reading in ("unbiased", "cut")
            )
            return Outcome(value, len(draws[0].boxes.lo), accuracies, errors, cut_errors)
        release = self.root_of(prepared.table)
        if wanted.admits(prepared.table.cells.baseline)[0]:  # otherwise the tree has no more than its root
            release = maker.anonymize(prepared.table, wanted)
        return Outcome(value, len(release.boxes.lo), (attacked(prepared, release),), (queried(prepared, release),))

    @staticmethod
    def root_of(table: Table) -> Published:
        """Return the release of the root alone."""
        return anonymizer("without-quasi").anonymize(table, KAnonymity(1))


def attacked(prepared: Prepared, release: Published) -> float:
    """Return how often the attack is right."""
    return Attack().against(release, prepared.points, prepared.truth).accuracy


def queried(prepared: Prepared, release: Published) -> float:
    """Return the median relative error of the queries."""
    points = prepared.point_estimates(release)
    return float(np.median(prepared.query_errors(release, prepared.scales.queries, prepared.workloads[0], points)))
