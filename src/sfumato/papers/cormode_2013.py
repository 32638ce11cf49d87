"""Cormode, Procopiuc, Shen, Srivastava & Yu, "Empirical Privacy and Empirical Utility of Anonymized Data", 2013.

Mondrian trees for k, l and t and private kd-trees are all boxes with histograms, so one naive Bayes attack and one
workload of queries measure them on one map.

**Measurements.** The paper cuts negative counts at 0 for its classifier (section II) and does not define the queries.
So queries read noisy counts as drawn; the other reading (`Outcome.cut`) uses the same draws. The paper prints neither
the height of its private trees nor whether they are kd-trees: several heights and a quadtree are drawn. Claims are
judged at HEIGHT, where a box has 7 records on average, close to the k = 8 that the paper uses elsewhere. This rule was
chosen after a look at several heights had shown a strong dependence, so claims about private trees list all heights.
Averages over draws are means, as in the paper.

**Claims** compare accuracies and errors, because the paper's breach has another rho. The paper uses 11 % as the
accuracy of always guessing the most frequent value. On Adult it is 13.4 %, and the paper's own lower bound of a breach
of .2 is .134 / .11 - 1. A breach that the paper prints is compared with ours over its .11 (`PAPER_RHO`).

**Maps.** The claims state which model is best where, over data sizes and heights, on Census. A model is better if the
attack succeeds less at no more error. A claim about an interval of the map is tested with the models that have a
release there, and not at all if its own model has none.

**Figures** 1 to 4 by parameter, 5 the maps, 6 heights and data sizes. Breaches are over the true share of the most
frequent value. Points that the paper's text names are crosses, converted from its 11 % to that share, so that equal
accuracies have equal heights. A map has the error to the right and the breach upwards, as in the paper: the ideal
corner is at the bottom left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

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
from sfumato.papers.claims import Claim, ClaimRows, Figure, FigureLine, Progress, Results, all_of
from sfumato.release.release import Published
from sfumato.requirements.requirement import KAnonymity, requirement
from sfumato.runtime.threads import Crew
from sfumato.texts.catalogue import refusal

row = ClaimRows(__name__)


@dataclass(frozen=True)
class Outcome:
    """The results of one setting: the success rate of the attack, and the median error of queries, in every draw."""

    parameter: float
    boxes: int
    accuracies: tuple[float, ...]
    errors: tuple[float, ...]
    """One number without randomness."""

    cut_errors: tuple[float, ...] = ()
    """The errors of the same draws if queries, too, read negative counts as 0; empty without noise."""

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
        """The same draws with negative counts cut at 0 for queries, too."""
        return replace(self, errors=self.cut_errors or self.errors)


Number = Callable[[Outcome], float]
Curves = Mapping[str, Sequence[Outcome]]


def rounded(outcomes: Iterable[Outcome], of: Number) -> dict[str, float]:
    """Return a number of each outcome by its parameter."""
    return {f"{outcome.parameter:g}": round(of(outcome), 4) for outcome in outcomes}


accuracy: Number = attrgetter("accuracy")
error: Number = attrgetter("error")
"""The error of queries that read noisy counts as drawn."""


def deviation(outcome: Outcome) -> float:
    """The standard deviation of the error over the draws."""
    return float(np.std(outcome.errors))


def both(outcome: Outcome) -> list[float]:
    """Return error and accuracy."""
    return [round(outcome.error, 4), round(outcome.accuracy, 4)]


def at(outcomes: Iterable[Outcome], parameter: float) -> Outcome:
    """Return the outcome of a parameter."""
    return next(outcome for outcome in outcomes if outcome.parameter == parameter)


def rises(values: Sequence[float], slack: float = 0.0) -> bool:
    """Return whether values rise, each by no less than minus a slack."""
    return all(b >= a - slack for a, b in pairwise(values))


def least_accuracy(curves: Curves, most_error: float) -> dict[str, float]:
    """Return the least accuracy of each model with an error below a bound; models without one are omitted."""
    return _least({name: [o.accuracy for o in curve if o.error < most_error] for name, curve in curves.items()})


def least_error(curves: Curves, most_accuracy: float) -> dict[str, float]:
    """Return the least error of each model with an accuracy below a bound; models without one are omitted."""
    return _least({name: [o.error for o in curve if o.accuracy < most_accuracy] for name, curve in curves.items()})


def _least(reached: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {name: round(min(values), 4) for name, values in reached.items() if values}


def dominates(one: Outcome, other: Outcome) -> bool:
    """Return whether a release is better on one axis and no worse on the other."""
    no_worse = one.error <= other.error and one.accuracy <= other.accuracy
    return no_worse and (one.error < other.error or one.accuracy < other.accuracy)


def levels_off(outcomes: Sequence[Outcome]) -> float | None:
    """Return the first parameter from which accuracy and error equal those of the last, to .002."""
    last = outcomes[-1]
    same = [abs(o.accuracy - last.accuracy) <= 0.002 and abs(o.error - last.error) <= 0.002 for o in outcomes]
    return next((outcome.parameter for i, outcome in enumerate(outcomes) if all(same[i:])), None)


def along(curve: Sequence[Outcome], of: Number, at_error: float) -> float | None:
    """Return a number of a curve at an error, interpolated between its releases; None beyond its ends."""
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
    """Heights of private kd-trees over epsilon, on Adult."""

    heights_at_one: tuple[int, ...] = (2, 4, 6, 8, 10, 12)
    """Heights of trees for k = 8 and epsilon = 1, in figure 6a."""

    shares: tuple[float, ...] = (0.1, 0.25, 0.5, 0.75, 1)
    draws: int = 8


def kd_tree(height: int) -> str:
    """Return the name of the series of private kd-trees of a height."""
    return f"DP kd-tree, height {height}"


DP = kd_tree(HEIGHT)


@dataclass(frozen=True)
class Series:
    """A curve of the paper: an anonymizer, a requirement, and the values of the parameter that replaces `{}`."""

    maker: str
    requirement: str
    values: Sequence[float]


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper: its source, the roles and the order of its values, its cuts and queries."""

    name: str
    source: str
    quasi: tuple[str, ...]
    sensitive: str
    hierarchies: Mapping[str, Declared] = field(default_factory=dict)
    alphabetical: tuple[str, ...] = ()
    """Columns with categories in alphabetical order instead of a tree."""

    tree: str = "mondrian ranges=tight"
    queries: Queries = HALF_RANGES

    def open(self, share: float = 1.0) -> Table:
        """Load the table, or a random share of its records; or a file as it is."""
        if self.source not in bundled.DATASETS:
            return read(self.source, quasi=self.quasi, sensitive=[self.sensitive])
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
        """Prepare the queries and the attack for the table, or for a share of it."""
        prepared = Scales(queries=self.queries, reader=UniformReader()).prepare(self.open(share))
        assert prepared.points is not None and prepared.truth is not None and prepared.workloads is not None
        return prepared

    def series(self, grid: CurveGrid) -> dict[str, Series]:
        """Return the curves of every table; the paper's t is a stopping rule, in addition to k = 8."""
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
    """Return further curves: t-closeness as a requirement, private trees of all heights, a quadtree."""
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
"""Adult as the authors' program may have coded it, without trees of categories: as numbers in alphabetical order. A
tree halves exactly and first cuts the attribute with most codes; a query includes both ends of its ranges. Then queries
select 13 % of the records, as the paper prints."""

CENSUS = PaperTable(
    "Adult for Census",
    "adult",
    ("hours-per-week", "salary", "education", "occupation"),
    "age",
    {"age": {"type": "numeric", "lower": 15, "upper": 94, "resolution": 5}},
)
"""A substitute for the paper's Census table, which we may not distribute. That table has 100,000 records. Its
quasi-identifiers are a number with many values (age), a state with few (insured), education and occupation. The
sensitive attribute has ordered classes of salary, the most frequent with 11 %. The nearest in Adult are hours, salary,
education, occupation, and classes of five years of age; all 45,222 records."""

CENSUS_QUASI = ("age", "insurance", "education", "occupation")
"""The quasi-identifiers of a file of the paper's Census table; `salary` is sensitive."""


class Cormode2013:
    """The measured trees of the paper; `census` is a file of the paper's Census table."""

    def __init__(
        self,
        progress: Progress | None = None,
        grid: CurveGrid | None = None,
        crew: Crew | None = None,
        census: Path | None = None,
    ) -> None:
        self.census = CENSUS if census is None else PaperTable("Census", str(census), CENSUS_QUASI, "salary")
        self.crew = crew or Crew()
        self.progress = progress or (lambda done, total, last: None)
        self.grid = grid or CurveGrid()
        self.series = {panel.name: panel.series(self.grid) for panel in (ADULT, ALPHABET, self.census)}
        self.series[ADULT.name] |= only_on_adult(self.grid)
        curves = sum(len(series.values) for of_panel in self.series.values() for series in of_panel.values())
        self.steps = curves + 2 * len(self.grid.heights_at_one) + 2 * len(self.grid.shares)
        self.done = 0

    @cached_property
    def prepared(self) -> dict[str, Prepared]:
        """Every table with its queries."""
        return {panel.name: panel.prepare() for panel in (ADULT, ALPHABET, self.census)}

    @cached_property
    def outcomes(self) -> dict[str, dict[str, list[Outcome]]]:
        """Every curve on every table."""
        return {name: self._curves(self.prepared[name], series) for name, series in self.series.items()}

    def of_census(self, holds: bool | None) -> bool | None:
        """Return whether a claim about the paper's Census table holds: not tested on the table that replaces it."""
        return None if self.census is CENSUS else holds

    @property
    def adult(self) -> dict[str, list[Outcome]]:
        """The curves on Adult."""
        return self.outcomes[ADULT.name]

    @property
    def alphabet(self) -> dict[str, list[Outcome]]:
        """The curves on Adult in the coding of `ALPHABET`."""
        return self.outcomes[ALPHABET.name]

    @cached_property
    def heights(self) -> dict[str, list[Outcome]]:
        """k = 8 and epsilon = 1 with trees of several heights, on the substitute for Census."""
        heights = self.grid.heights_at_one
        series = {
            K_8: Series("mondrian ranges=tight height={}", "k-anonymity k=8", heights),
            EPSILON_1: Series("dp-kd-tree epsilon=1 height={}", "k-anonymity k=1", heights),
        }
        return self._curves(self.prepared[self.census.name], series)

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
        """The share of the most frequent sensitive value: the attack's success rate on the root alone."""
        return float(self.prepared[panel].table.cells.sensitive[0].shares.max())

    @cached_property
    def root_accuracy(self) -> float:
        """The attack's success rate on the root of Adult alone."""
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
        if wanted.admits(prepared.table.cells.baseline)[0]:  # otherwise the tree is its root
            release = maker.anonymize(prepared.table, wanted)
        return Outcome(value, len(release.boxes.lo), (attacked(prepared, release),), (queried(prepared, release),))

    @staticmethod
    def root_of(table: Table) -> Published:
        """Return the release of the root alone."""
        return anonymizer("without-quasi").anonymize(table, KAnonymity(1))


def attacked(prepared: Prepared, release: Published) -> float:
    """Return the success rate of the attack."""
    return Attack().against(release).accuracy


def queried(prepared: Prepared, release: Published) -> float:
    """Return the median relative error of the queries."""
    points = prepared.point_estimates(release)
    return float(np.median(prepared.query_errors(release, prepared.scales.queries, prepared.workloads[0], points)))


HIGH_UTILITY = 0.10
"""The paper's "high utility": an error below 10 %."""

PLACES, HANDS_DOWN = 40, 0.9
"""The places at which models are compared, and the share of them that wins hands down."""

ALMOST_ZERO = 0.05
"""A breach below this is "nearly zero"."""

STAND_IN = "another table replaces the paper's"
EXACT = (K, L, T_STOP, T_STOP_EQUAL)
"""The models without noise."""


def map_claims(study: Cormode2013) -> Iterator[Claim]:
    """Compare the maps with the paper's."""
    yield from _headlines(study)
    yield from _high_utility(study)
    yield from _high_privacy(study)
    yield from _sizes(study)
    yield from _heights(study)
    yield from _census(study)


def _models(curves: Curves, private: str, cut: bool = False) -> dict[str, Sequence[Outcome]]:
    """The models of the paper's map: those without noise, and one kind of private tree in one reading."""
    noisy = [outcome.cut for outcome in curves[private]] if cut else curves[private]
    return {**{name: curves[name] for name in EXACT}, "DP": noisy}


def _trees(study: Cormode2013) -> tuple[str, ...]:
    """Return the names of all private trees on Adult."""
    return (*map(kd_tree, study.grid.heights), QUADTREE)


def _headlines(study: Cormode2013) -> Iterator[Claim]:
    """Compare the models of figure 5a at places of the error axis that two of them reach, by interpolation."""
    curves = {**{name: study.adult[name] for name in (K, L, T_STOP)}, "DP": study.adult[DP]}
    outcomes = [outcome for curve in curves.values() for outcome in curve]
    errors, accuracies = ([of(outcome) for outcome in outcomes] for of in (error, accuracy))
    front, gaps = dict.fromkeys(curves, 0), []
    for place in np.geomspace(min(errors), max(errors), PLACES):
        there = {name: value for name in curves if (value := along(curves[name], accuracy, place)) is not None}
        if len(there) > 1:
            front[min(there, key=there.__getitem__)] += 1
            others = [value for name, value in there.items() if name != "DP"]
            gaps += [abs(there["DP"] - min(others))] if "DP" in there else []
    places, span = sum(front.values()), max(accuracies) - study.root_accuracy
    over = f"{places} of {PLACES} places of the error axis, Adult, private kd-tree of height {HEIGHT}, counts as drawn"
    most = max(front.values())
    yield row("no-model-wins", front, most < HANDS_DOWN * places if places else None, tested_over=over)
    mean = float(np.mean(gaps)) / span if gaps else None
    ours = None if mean is None else round(mean, 4)
    yield row("less-dramatic", ours, None if mean is None else mean < 0.5, tested_over=over)
    yield row("dp-often-best", front, front["DP"] > places / 2 if places else None, tested_over=over)


def _high_utility(study: Cormode2013) -> Iterator[Claim]:
    known = least_accuracy(_models(study.adult, DP), HIGH_UTILITY)
    noiseless = {name: value for name, value in known.items() if name != "DP"}
    trees = {name: study.adult[name] for name in _trees(study)}
    by_tree = least_accuracy(trees, HIGH_UTILITY)
    cut = least_accuracy({name: [o.cut for o in curve] for name, curve in trees.items()}, HIGH_UTILITY)
    where = f"error below {HIGH_UTILITY:.0%}: {', '.join(known) or 'no model'}"
    yield row(
        "high-utility",
        known,
        min(known, key=known.__getitem__) in (T_STOP, T_STOP_EQUAL) if len(known) > 1 else None,
        tested_over=where,
    )
    yield row(
        "dp-no-better-at-high-utility",
        {**known, "private trees, as drawn": by_tree, "private trees, counts cut": cut},
        known["DP"] >= min(noiseless.values()) if "DP" in known and noiseless else None,
        tested_over=where,
    )
    yield _converges(study)


def _converges(study: Cormode2013) -> Claim:
    """Compare the releases of least error: errors in single digits, accuracies within a tenth of the map's range."""
    models = {name: study.adult[name] for name in (K, T_STOP, T_STOP_EQUAL, DP, QUADTREE)}
    ends = {name: min(curve, key=error) for name, curve in models.items()}
    everything = [outcome.accuracy for curve in models.values() for outcome in curve]
    span = max(everything) - min(everything)
    accuracies = [outcome.accuracy for outcome in ends.values()]
    return row(
        "all-models-converge",
        {name: both(outcome) for name, outcome in ends.items()},
        max(o.error for o in ends.values()) < HIGH_UTILITY and max(accuracies) - min(accuracies) <= span / 10,
        tested_over=f"k = 2, t = .9, epsilon = 10; accuracies span {span:.3f}",
    )


def _high_privacy(study: Cormode2013) -> Iterator[Claim]:
    twice = 2 * study.root_accuracy
    private = least_error(_models(study.adult, DP), twice)
    others = [value for name, value in private.items() if name != "DP"]
    by_tree: dict[str, dict[str, float | None]] = {}
    for name in _trees(study):
        as_drawn, cut = (least_error(_models(study.adult, name, way), twice).get("DP") for way in (False, True))
        by_tree[name] = {"as drawn": as_drawn, "cut": cut}
    yield row(
        "dp-at-high-privacy",
        private,
        private["DP"] < min(others) if "DP" in private and others else None,
        tested_over=f"accuracy below {twice:.3f}; kd-tree of height {HEIGHT}, counts as drawn",
    )
    beyond = at(study.adult[QUADTREE], 0.5).accuracy / study.root_accuracy - 1
    yield row(
        "quadtree",
        {**by_tree, "best of the others": min(others, default=None)},
        None,
        reason=f"its breach at epsilon = .5 is {beyond:.2f}, and the next epsilon of the grid is .1; kd-trees of "
        "height 8 and more are best with counts as drawn, none of them with counts cut",
        tested_over=f"accuracy below {twice:.3f}",
    )
    yield from _epsilon_one(study)


def _epsilon_one(study: Cormode2013) -> Iterator[Claim]:
    rho = study.root_accuracy
    breaches = {
        name: {f"{epsilon:g}": round(at(study.adult[name], epsilon).accuracy / rho - 1, 4) for epsilon in (0.5, 1)}
        for name in _trees(study)
    }
    yield row("epsilon-.5-and-1", breaches, breaches[DP]["0.5"] < 1 <= breaches[DP]["1"])
    one = at(study.adult[DP], 1)
    better = {
        name: [f"{outcome.parameter:g}", *both(outcome)]
        for name in EXACT
        for outcome in study.adult[name]
        if dominates(outcome, one)
    }
    yield row("epsilon-1-dominated", {"epsilon = 1": both(one), "better": better}, bool(better))


# -- size and height ---------------------------------------------------------------------------------------


def _sizes(study: Cormode2013) -> Iterator[Claim]:
    k, dp = study.sizes[K_8], study.sizes[EPSILON_1]
    shares = {name: [[o.parameter, *both(o)] for o in curve] for name, curve in study.sizes.items()}
    yield row(
        "data-size",
        shares,
        all_of(curve[-1].error < curve[0].error and curve[-1].accuracy > curve[0].accuracy for curve in (k, dp)),
    )
    yield row(
        "dp-right-and-below-with-less-data",
        {"k=8": both(k[0]), "epsilon=1": both(dp[0])},
        dp[0].error > k[0].error and dp[0].accuracy < k[0].accuracy,
        tested_over=f"{k[0].parameter:.0%} of the data",
    )
    on_curve = along(k, accuracy, dp[-1].error)
    yield row(
        "k-dominates-with-more-data",
        {
            "k=8": both(k[-1]),
            "epsilon=1": both(dp[-1]),
            "k=8 at that error": None if on_curve is None else round(on_curve, 4),
        },
        None if on_curve is None else on_curve <= dp[-1].accuracy,
        tested_over=f"errors from {min(map(error, k)):.3f} to {max(map(error, k)):.3f}, which the curve of k = 8 has",
    )


def _heights(study: Cormode2013) -> Iterator[Claim]:
    k, dp = study.heights[K_8], study.heights[EPSILON_1]
    gaps = {}
    for outcome in dp:
        expected = along(k, accuracy, outcome.error)
        if expected is not None:
            gaps[f"{outcome.parameter:g}"] = round(abs(outcome.accuracy - expected), 4)
    everything = [outcome.accuracy for outcome in (*k, *dp)]
    span = max(everything) - min(everything)
    yield row(
        "heights-alike",
        gaps,
        study.of_census(all_of(gap <= span / 10 for gap in gaps.values())),
        reason="the curves coincide up to height 10; at height 12 noise reduces the attack's success as much as the "
        f"queries' accuracy (accuracies span {span:.3f})",
        tested_over=f"errors that both curves have, heights {', '.join(gaps)} of "
        f"{', '.join(f'{o.parameter:g}' for o in dp)}",
    )


# -- the other table ---------------------------------------------------------------------------------------


def _census(study: Cormode2013) -> Iterator[Claim]:
    census, rho = study.outcomes[study.census.name], study.rho(study.census.name)
    breaches = {f"{k:g}": round(at(census[K], k).accuracy / rho - 1, 4) for k in (8, 1024)}
    yield row("census-k", breaches, study.of_census(all(abs(breach - 0.5) <= 0.1 for breach in breaches.values())))
    ends = [along(census[K], accuracy, bound) for bound in (0.05, 0.4)]
    lost = None if None in ends else (ends[0] or 0) / rho - (ends[1] or 0) / rho
    holds = None if lost is None else abs(lost - 0.1) <= 0.05
    yield row("census-k-poor", None if lost is None else round(lost, 4), study.of_census(holds))
    yield _census_at_a_quarter(study, census, rho)


def _census_at_a_quarter(study: Cormode2013, census: Curves, rho: float) -> Claim:
    noisy = min((o.accuracy / rho - 1 for o in census[DP] if o.error < 0.25), default=None)
    costs = least_error(_models(census, DP), rho * (1 + ALMOST_ZERO))
    return row(
        "census-dp-at-25-percent",
        {"breach": None if noisy is None else round(noisy, 4), "errors": costs},
        study.of_census(None if noisy is None else noisy < ALMOST_ZERO),
    )


PAPER_RHO = 0.11
"""The accuracy of always guessing the most frequent value, as the paper prints it."""


def claims(study: Cormode2013) -> Iterator[Claim]:
    """Compare everything with the paper."""
    yield from _required(study)
    yield from _baseline(study)
    yield from _single_models(study)
    yield from _closeness(study)
    yield from _budget(study)
    yield _classifiers(study)
    yield from map_claims(study)


# -- required ----------------------------------------------------------------------------------------------


def _required(study: Cormode2013) -> Iterator[Claim]:
    adult, root = study.adult, study.root_accuracy
    yield row("root-accuracy", round(root, 4), abs(root - 0.134) <= 0.0005)
    small = [outcome for outcome in adult[K] if outcome.parameter <= 8]
    yield row("k-small", rounded(small, over_paper), all_of(over_paper(outcome) > 1.8 for outcome in small))
    yield _falls_with_k(adult[K])
    at_root = [outcome for outcome in adult[L] if outcome.parameter >= 6]
    yield row(
        "l-6-root",
        {f"{outcome.parameter:g}": outcome.boxes for outcome in at_root},
        all_of(outcome.boxes == 1 for outcome in at_root),
        reason=f"ours stays at the root from l = {first_root(adult[L]):g} on",
    )
    yield row(
        "error-grows-with-k-and-l",
        {name: rounded(adult[name], error) for name in (K, L)},
        all_of(
            rises([o.error for o in adult[name]], 0.02) and adult[name][-1].error > adult[name][0].error
            for name in (K, L)
        ),
    )
    yield from _required_of_noise(study)


def first_root(outcomes: Sequence[Outcome]) -> float:
    """Return the parameter from which a tree is its root alone; infinite if it never is."""
    return min((outcome.parameter for outcome in outcomes if outcome.boxes == 1), default=float("inf"))


def _falls_with_k(outcomes: Sequence[Outcome]) -> Claim:
    accuracies = [outcome.accuracy for outcome in outcomes]
    slope = float(np.polyfit(np.log2([outcome.parameter for outcome in outcomes]), accuracies, 1)[0])
    ups = [f"{a.parameter:g} to {b.parameter:g}" for a, b in pairwise(outcomes) if b.accuracy > a.accuracy]
    return row(
        "falls-with-k",
        rounded(outcomes, accuracy),
        slope < 0 and accuracies[-1] < accuracies[0],
        reason=f"not step by step: it rises from k = {', '.join(ups)}, where the tree has a few dozen boxes"
        if ups
        else None,
    )


def _required_of_noise(study: Cormode2013) -> Iterator[Claim]:
    least, curve = at(study.adult[DP], 0.01), study.adult[DP]
    yield row(
        "epsilon-.01",
        {"error": round(least.error, 4), "cut": round(least.cut.error, 4), "accuracy": round(least.accuracy, 4)},
        min(least.error, least.cut.error) > 0.5 and least.accuracy <= study.root_accuracy + 0.02,
    )
    averages: dict[str, Callable[[Sequence[float]], Any]] = {"means": np.mean, "medians": np.median}
    yield row(
        "epsilon-monotone",
        {"error": rounded(curve, error), "accuracy": rounded(curve, accuracy)},
        all_of(
            rises([-average(outcome.errors) for outcome in curve], 0.01)
            and rises([average(outcome.accuracies) for outcome in curve], 0.01)
            for average in averages.values()
        ),
    )


# -- the scale ---------------------------------------------------------------------------------------------


def over_paper(outcome: Outcome) -> float:
    """Return the breach as the paper would have computed it, over its rho."""
    return outcome.accuracy / PAPER_RHO - 1


def _baseline(study: Cormode2013) -> Iterator[Claim]:
    rhos = {name: round(study.rho(name), 4) for name in (ADULT.name, study.census.name)}
    yield row("rho", rhos, abs(rhos[ADULT.name] - PAPER_RHO) <= 0.005)
    lower = study.root_accuracy / PAPER_RHO - 1
    yield row("beta-root", round(lower, 4), abs(lower - 0.2) <= 0.05)
    selected = {name: round(study.selectivity(name), 4) for name in (ADULT.name, ALPHABET.name)}
    for id_, name in (("selectivity", ADULT.name), ("selectivity-alphabet", ALPHABET.name)):
        yield row(id_, selected[name], abs(selected[name] - 0.13) <= 0.01)


def _single_models(study: Cormode2013) -> Iterator[Claim]:
    for id_, curves in (("k-1024", study.adult), ("k-1024-alphabet", study.alphabet)):
        large = at(curves[K], 1024)
        ours = {"accuracy": round(large.accuracy, 4), "beta": round(over_paper(large), 4)}
        yield row(id_, ours, abs(large.accuracy - 0.165) <= 0.02)
    steps = [outcome for outcome in study.adult[L] if outcome.parameter <= first_root(study.adult[L])]
    yield row(
        "falls-sharply-with-l",
        {f"{outcome.parameter:g}": both(outcome) for outcome in steps},
        all_of(b.error > a.error and b.accuracy < a.accuracy for a, b in pairwise(steps)),
        tested_over=f"l from {steps[0].parameter:g} to {steps[-1].parameter:g}, where the tree is its root alone",
    )
    in_alphabet = {f"{outcome.parameter:g}": outcome.boxes for outcome in study.alphabet[L] if outcome.parameter >= 5}
    yield row(
        "l-root-alphabet",
        in_alphabet,
        first_root(study.alphabet[L]) == 6,
        reason=f"ours from l = {first_root(study.alphabet[L]):g} on, with our order of categories from "
        f"{first_root(study.adult[L]):g} on: a matter of one cut",
    )


def _closeness(study: Cormode2013) -> Iterator[Claim]:
    for id_, curves, name in (
        ("stop", study.adult, T_STOP),
        ("required", study.adult, T),
        ("stop-equal", study.adult, T_STOP_EQUAL),
        ("required-equal", study.adult, T_EQUAL),
        ("stop-alphabet", study.alphabet, T_STOP),
    ):
        reached = levels_off(curves[name])
        yield row(f"t-levels-off-{id_}", reached, reached is not None and abs(reached - 0.35) <= 0.05)


# -- the budget --------------------------------------------------------------------------------------------


def _readings(study: Cormode2013, parameter: float) -> dict[str, dict[str, float]]:
    """Return the errors of one epsilon by height, as drawn and with negative counts cut."""
    return {
        f"height {height}": {
            "as drawn": round(at(study.adult[kd_tree(height)], parameter).error, 4),
            "cut": round(at(study.adult[kd_tree(height)], parameter).cut.error, 4),
            "accuracy": round(at(study.adult[kd_tree(height)], parameter).accuracy, 4),
        }
        for height in study.grid.heights
    }


def _budget(study: Cormode2013) -> Iterator[Claim]:
    curve = study.adult[DP]
    least, most = at(curve, 0.01), at(curve, 10)
    yield row(
        "epsilon-.01-error", _readings(study, 0.01), 0.5 <= least.error <= 2 and least.accuracy < study.root_accuracy
    )
    yield row("epsilon-10", _readings(study, 10), most.error < 0.1)
    worse = sum(outcome.cut.error > outcome.error for outcome in curve)
    yield row(
        "cut-counts",
        {"as drawn": rounded(curve, error), "cut": rounded([outcome.cut for outcome in curve], error)},
        None,
        reason=f"worse for {worse} of {len(curve)} budgets at height {HEIGHT}; in lower trees, whose boxes are full, "
        "cutting hardly matters or helps a little",
    )
    spreads = rounded(curve, deviation)
    yield row(
        "mean-of-8-draws",
        {"deviation": spreads, "relative": rounded(curve, lambda outcome: deviation(outcome) / outcome.error)},
        spreads["0.01"] == max(spreads.values()),
        tested_over=f"{len(least.errors)} draws",
    )


def _classifiers(study: Cormode2013) -> Claim:
    prepared = study.prepared[ADULT.name]
    release = anonymizer("mondrian ranges=tight").anonymize(prepared.table, KAnonymity(64))
    kinds = {
        "naive-bayes": Attack(),
        "pairs": Attack(kind="pairs"),
        "random-forest": Attack("random-forest", seed=SEED, draws=2),
    }
    accuracies = {name: round(attack.against(release).accuracy, 4) for name, attack in kinds.items()}
    return row("classifiers-agree", accuracies, max(accuracies.values()) - min(accuracies.values()) <= 0.05)


TITLE = "Cormode et al. 2013, figure"
ERROR, BREACH = "median relative error of queries", "empirical breach (beta)"
CUT = "{}, counts cut at 0"


def figures(study: Cormode2013) -> Iterator[Figure]:
    """Draw all figures."""
    yield from _by_parameter(study)
    yield from _budgets(study)
    yield from _maps(study)
    yield from _effects(study)


parameter: Number = attrgetter("parameter")


def breach(rho: float) -> Number:
    """Return the breach over a share of the most frequent value."""
    return lambda outcome: outcome.accuracy / rho - 1


def curve(label: str, outcomes: Iterable[Outcome], x: Number, y: Number) -> FigureLine:
    """Draw a line through outcomes."""
    return FigureLine(label, [{"x": x(o), "y": y(o), "parameter": o.parameter} for o in outcomes])


def crosses(rho: float, *points: tuple[float, float]) -> list[dict[str, Any]]:
    """Return crosses for breaches that the paper prints over its own rho, on our axis."""
    return [{"x": x, "y": (1 + beta) * PAPER_RHO / rho - 1, "label": "paper"} for x, beta in points]


def _by_parameter(study: Cormode2013) -> Iterator[Figure]:
    """Figures 1 to 3: the effects of k, l and t on every table."""
    plots = {"1": ("k", (K,)), "2": ("l", (L,)), "3": ("t", (T_STOP, T_STOP_EQUAL, T, T_EQUAL))}
    rho = study.rho()
    printed = {"1": crosses(rho, (8, 1.8), (1024, 0.5)), "2": crosses(rho, (6, 0.2))}
    for number, (axis, names) in plots.items():
        scale: Literal["log", "linear"] = "log" if number == "1" else "linear"
        lines = [
            (f"{panel}: {name}" if len(names) > 1 else panel, panel, curves[name])
            for panel, curves in study.outcomes.items()
            for name in names
            if name in curves and (number != "3" or panel == ADULT.name or name == T_STOP)
        ]
        errors = [curve(label, outcomes, parameter, error) for label, _, outcomes in lines]
        yield Figure(f"{number}-error", f"{TITLE} {number}: error", axis, ERROR, errors, x_scale=scale)
        breaches = [curve(label, outcomes, parameter, breach(study.rho(panel))) for label, panel, outcomes in lines]
        title, paper = f"{TITLE} {number}: breach", printed.get(number, ())
        yield Figure(f"{number}-breach", title, axis, BREACH, breaches, paper, x_scale=scale)


def _budgets(study: Cormode2013) -> Iterator[Figure]:
    """Figure 4: the effect of epsilon on every table, and on Adult for trees of all heights, in both readings."""
    private = {f"{panel}: kd-tree": (panel, curves[DP]) for panel, curves in study.outcomes.items()}
    private[f"{ADULT.name}: quadtree"] = (ADULT.name, study.adult[QUADTREE])
    errors = [curve(label, outcomes, parameter, error) for label, (_, outcomes) in private.items()]
    breaches = [curve(label, both[1], parameter, breach(study.rho(both[0]))) for label, both in private.items()]
    printed = [{"x": 0.01, "y": 1.0, "label": "paper"}]
    title = f"{TITLE} 4:"
    yield _logarithmic("4-error", f"{title} error, counts as drawn", ERROR, errors, printed)
    yield _logarithmic("4-breach", f"{title} breach", BREACH, breaches, y_scale="linear")
    heights = {f"height {height}": study.adult[kd_tree(height)] for height in study.grid.heights}
    as_drawn = [curve(label, outcomes, parameter, error) for label, outcomes in heights.items()]
    cut = [curve(label, [o.cut for o in outcomes], parameter, error) for label, outcomes in heights.items()]
    attacked = [curve(label, outcomes, parameter, breach(study.rho())) for label, outcomes in heights.items()]
    yield _logarithmic("4-heights-error", f"{title} Adult by height, counts as drawn", ERROR, as_drawn, printed)
    yield _logarithmic("4-heights-error-cut", f"{title} Adult by height, counts cut at 0", ERROR, cut, printed)
    yield _logarithmic("4-heights-breach", f"{title} Adult by height", BREACH, attacked, y_scale="linear")


def _logarithmic(
    name: str,
    title: str,
    y: str,
    curves: Sequence[FigureLine],
    paper: Sequence[Mapping[str, Any]] = (),
    y_scale: Literal["linear", "log"] = "log",
) -> Figure:
    return Figure(name, title, "epsilon", y, curves, paper, x_scale="log", y_scale=y_scale)


def _map(name: str, title: str, curves: Curves, rho: float) -> Figure:
    """Draw a map: error to the right, breach upwards."""
    lines = [curve(label, outcomes, error, breach(rho)) for label, outcomes in curves.items()]
    return Figure(name, f"{TITLE} {title}", ERROR, BREACH, lines, x_scale="symlog")


def _maps(study: Cormode2013) -> Iterator[Figure]:
    """Figure 5: all models on one map, on every table; then the private trees by height in both readings."""
    for letter, panel in (("a", ADULT), ("b", study.census), ("a-alphabet", ALPHABET)):
        curves = study.outcomes[panel.name]
        models: dict[str, Sequence[Outcome]] = {name: curves[name] for name in (K, L, T_STOP)}
        models["DP"] = curves[DP]
        yield _map(f"5{letter}", f"5: {panel.name}", models, study.rho(panel.name))
    trees = {f"DP, height {height}": study.adult[kd_tree(height)] for height in study.grid.heights}
    trees[QUADTREE] = study.adult[QUADTREE]
    others = {name: study.adult[name] for name in (K, T_STOP, T_STOP_EQUAL)}
    yield _map("5a-heights", "5: Adult, private trees, counts as drawn", {**others, **trees}, study.rho())
    cut = {CUT.format(name): [outcome.cut for outcome in outcomes] for name, outcomes in trees.items()}
    yield _map("5a-heights-cut", "5: Adult, private trees, counts cut at 0", {**others, **cut}, study.rho())


def _effects(study: Cormode2013) -> Iterator[Figure]:
    """Figure 6: heights on the substitute for Census, shares of the data of Adult."""
    yield _map("6a", f"6a: heights, {study.census.name}", study.heights, study.rho(study.census.name))
    yield _map("6b", "6b: shares of the data, Adult", study.sizes, study.rho())


def reproduce(progress: Progress | None = None, full: bool = False, data: Sequence[Path] = ()) -> Results:
    """Make and measure everything, and compare it with the paper. The run is always a full one.

    `data` is a file of the paper's Census table: columns age, insurance, education, occupation and salary.
    """
    if len(data) > 1:
        raise refusal("paper_one_file", data=data[1])
    study = Cormode2013(progress, census=data[0] if data else None)
    found, drawn = list(claims(study)), list(figures(study))
    made_of = {name: prepared.table.digest() for name, prepared in study.prepared.items()}
    return Results("cormode-2013", found, drawn, made_of={**made_of, "seed": SEED, **asdict(study.grid)})
