"""Loukides, Gkoulalas-Divanis & Shao, "Assessing Disclosure Risk and Data Utility Trade-off in Transaction Data
Anonymization", IJSI 2012: figure 1, and R-U maps as in figures 5 to 7.

AA, COAT and PCTA as implemented here, k^2-anonymity, COAT under a single utility constraint, no suppression. The values
of k, the queries (a random record, two items of it; the error is the exact expectation, no sample) and the bound of .2
were fixed before results were seen. The paper's diagnoses are proprietary, and it does not contain its workloads.
According to section 5, published sets were expanded before queries were answered; the worked example of section 3.4
takes every item with probability 1/2. All results use both estimators, `expanded` and `half`. PCTA with another loop is
reported too.

**R-U map** of one data set: releases of some anonymizers over k, measured and counted a second time. `curve` is the
frontier of one anonymizer, `knees` its knees, `best` its release of the most utility within a bound on risk. Utility is
1 / ARE under a named estimator; risk is 1 / the fewest records that match two known items.

**Second count**: plain sets and one matrix, without code of the makers or of the verification. Published rows are
derived from the records and the published form of each item, or read from the written file; sets of one and two
published items are counted in them.

**Knees** of the paper's curves: by angle (section 5, the method of Zhao et al. 2008), and by Kneedle (Satopaa et al.
2011, offline). Both use costs (lower is better), scaled to 0..1 between the curve's ends. The points are exact, so they
are neither smoothed nor resampled.

**Baskets**: given files, else the bundled Online Retail. Figures 6 and 7 use any baskets, figure 5 (diagnoses) a file
with ICD-9 codes as items. The tree of items is a level table next to the file, named after it:
`bms_webview_2_hierarchy.txt.gz` for `bms_webview_2.dat.gz`.

**Worked example**: six patients with diagnoses a to g (figure 1). Its optima are found by enumerating all 877
partitions of the seven items, each counted from its definition.

**Figures**: R-U maps with utility to the right and risk upwards.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise
from math import degrees, inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.items import PAPER, anonymize_baskets, candidate_maker
from sfumato.data.bundled import load_baskets
from sfumato.data.declaration import BasketsDeclaration, DataDeclaration
from sfumato.data.hierarchies.hierarchy import ROOT, Hierarchy, Level
from sfumato.data.item_reading import read_baskets
from sfumato.data.items import Baskets, baskets_of
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.measures.items.estimates import BasketReader
from sfumato.measures.items.losses import ItemLosses
from sfumato.papers.claims import Claim, ClaimRows, Figure, FigureLine, Progress, Results, all_of
from sfumato.release.items import BasketRelease
from sfumato.release.writing_items import write_items
from sfumato.requirements.items import SuppressionLimit, UtilityConstraints, basket_requirement
from sfumato.runtime.arrays import Counts
from sfumato.runtime.cancellation import unfinished
from sfumato.tradeoff.exploration.explore import attempted
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.question.knee import ALIKE, Curve
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.grids import Grid
from sfumato.tradeoff.study.presets import LOUKIDES_2012
from sfumato.tradeoff.study.study import Study

row = ClaimRows(__name__)


Row = frozenset[str]
BLOCK = 4096
"""Rows counted at a time."""


@dataclass(frozen=True)
class Checked:
    """The second count of one release."""

    least: int
    """The fewest records that show any one or two published items that occur together."""

    honest: bool
    """Whether every record shows what its own items are called, and nothing else."""


def checked(release: BasketRelease) -> Checked:
    """Count a release again, and compare every record with what is published of it."""
    rows = release.recoded
    actual = [frozenset(row) for row in slices([rows.labels[code] for code in rows.codes.tolist()], rows.starts)]
    return Checked(least_support(counted(release)), expected_rows(release) == actual)


def checked_file(release: BasketRelease) -> Checked:
    """Write a release, and check the file: its counts, and that it shows exactly the records."""
    with TemporaryDirectory() as folder, unfinished(Path(folder)):
        path = write_items(release, Path(folder) / "release.csv")[0]
        rows, legend = Counter(read_rows(path)), read_legend(path)
    label_of = {text: legend_label(text, legend, release) for text in legend}
    shown: Counter[Row] = Counter()
    for row, number in rows.items():
        shown[frozenset(label_of.get(text, text) for text in row)] += number
    return Checked(least_support(rows), shown == counted(release))


def expected_rows(release: BasketRelease) -> list[Row]:
    """List the expected published form of every distinct basket."""
    names = called(release)
    return [published(row, names) for row in originals(release.baskets)]


def counted(release: BasketRelease) -> Counter[Row]:
    """Count the records that should show each row."""
    rows: Counter[Row] = Counter()
    for row, weight in zip(expected_rows(release), release.baskets.weights.tolist(), strict=True):
        rows[row] += weight
    return rows


def read_rows(path: Path) -> Iterable[Row]:
    """Read a written release: one record per line, items separated by commas."""
    with path.open(encoding="utf-8", newline="") as stream:
        for fields in csv.reader(stream):
            yield frozenset(field for field in fields if field)


def read_legend(path: Path) -> dict[str, Row]:
    """Read the items of each name from the legend of a file; empty without a legend."""
    beside = path.with_name(f"{path.name}.legend.json")
    if not beside.is_file():
        return {}
    content = json.loads(beside.read_text(encoding="utf-8"))
    return {text: frozenset(items) for text, items in content["legend"].items()}


def legend_label(text: str, legend: Mapping[str, Row], release: BasketRelease) -> str:
    """Return the label in the release of a name in the legend, by its items; empty if none matches."""
    names = called(release)
    labels = {names.get(item, "") for item in legend[text]}
    behind = {item for item, name in names.items() if name in labels}
    return labels.pop() if len(labels) == 1 and behind == legend[text] else ""


def originals(baskets: Baskets) -> Iterable[list[str]]:
    """List the distinct baskets by the labels of their items."""
    return slices([baskets.items[code] for code in baskets.codes.tolist()], baskets.starts)


def slices(labels: list[str], starts: Counts) -> Iterable[list[str]]:
    """Cut a list at some places."""
    return (labels[begin:end] for begin, end in pairwise(starts.tolist()))


def called(release: BasketRelease) -> dict[str, str]:
    """Return the published label of every item; suppressed items have no entry."""
    recoding = release.recoding
    item_parts = zip(release.baskets.items, recoding.parts.tolist(), strict=True)
    return {item: recoding.labels[part] for item, part in item_parts if part >= 0}


def published(row: Iterable[str], names: Mapping[str, str]) -> Row:
    """Publish one record."""
    return frozenset(names[item] for item in row if item in names)


def least_support(rows: Mapping[Row, int]) -> int:
    """Return the fewest records with any one or two labels that some record has; 0 if there are none."""
    labels = sorted({label for row in rows for label in row})
    place = {label: number for number, label in enumerate(labels)}
    together = np.zeros((len(labels), len(labels)))
    entries = list(rows.items())
    for start in range(0, len(entries), BLOCK):
        block = entries[start : start + BLOCK]
        incidence = np.zeros((len(block), len(labels)))
        for number, (row, _) in enumerate(block):
            incidence[number, [place[label] for label in row]] = 1
        together += incidence.T @ (incidence * np.array([[weight] for _, weight in block]))
    return int(together[together > 0].min(initial=np.inf)) if (together > 0).any() else 0


NEAR = 0.05
"""The least distance of the neighbours of an angle, so that two nearly equal releases make no knee."""

LEAST_BEND = 1.0
"""The least bend of a knee in degrees."""


def angles(curve: Curve) -> dict[str, float]:
    """Return the angle in degrees at every inner finite point: below 180 if it bends to the ideal corner."""
    place, found = curve.square, {}
    for i in range(1, len(place) - 1):
        away = np.hypot(*(place - place[i]).T) >= NEAR
        before = max((j for j in range(i) if away[j]), default=0)
        after = min((j for j in range(i + 1, len(place)) if away[j]), default=len(place) - 1)
        (dx, dy), (ex, ey) = place[i] - place[before], place[after] - place[i]
        found[curve.finite[i].id] = 180.0 - degrees(np.arctan2(dx * ey - dy * ex, dx * ex + dy * ey))
    return found


def knees_by_angle(curve: Curve) -> list[Point]:
    """List the points at which the curve bends to the ideal corner, the sharpest angle first."""
    turns, below = angles(curve), _below_diagonal(curve)
    bends = [i for i, point in enumerate(curve.finite) if turns.get(point.id, 180.0) <= 180.0 - LEAST_BEND]
    sharp = {i: round(turns[curve.finite[i].id], 6) for i in bends}
    return [curve.finite[i] for i in sorted(bends, key=lambda i: (sharp[i], -round(float(below[i]), 9), i))]


def knees_by_kneedle(curve: Curve, sensitivity: float = 1.0) -> list[Point]:
    """List the knees that Kneedle declares, the farthest below the diagonal first.

    A local maximum of the difference curve is a knee if the curve falls below it by more than `sensitivity` mean
    steps before the next maximum.
    """
    below = _below_diagonal(curve)
    peaks = [i for i in range(1, len(below) - 1) if below[i] > ALIKE and _is_peak(below, i)]
    knees = []
    for i, following in pairwise([*peaks, len(below)]):
        threshold = below[i] - sensitivity / (len(below) - 1)
        if (below[i + 1 : following] < threshold - ALIKE).any():
            knees.append(i)
    return [curve.finite[i] for i in sorted(knees, key=lambda i: (-round(float(below[i]), 9), i))]


def _below_diagonal(curve: Curve) -> NDArray[np.float64]:
    """Return the distance of each finite point from the line between the ends: the difference curve."""
    return np.asarray(1.0 - curve.square.sum(axis=1))


def _is_peak(values: NDArray[np.float64], i: int) -> bool:
    """Return whether i is a local maximum; of a plateau the first place."""
    later = next((value for value in values[i + 1 :] if abs(value - values[i]) > ALIKE), inf)
    return bool(values[i] > values[i - 1] + ALIKE and values[i] > later)


RISK = "itemset_risk"
ESTIMATORS = ("half", "expanded")
MAKERS = {"AA": "aa", "COAT": "coat", "PCTA": "pcta"}
VARIANTS = {"PCTA, in rounds": "pcta visit=round", "PCTA, staying": "pcta visit=stay"}
"""PCTA with another loop: a constraint is queued again after each merge; or processed until it holds, as in CBA's inner
loop `while sup(p) < k` (Loukides, Gkoulalas-Divanis & Malin, ITAB 2010)."""

WITHIN, WITHOUT = "COAT within the tree", "AA without the tree"
"""For baskets with a meaningful tree: COAT within its coarsest groups, and AA with a tree of the items' order."""

BOUND = 0.2
"""The usually accepted risk in biomedicine (section 5)."""


def axes(estimator: str) -> tuple[str, str]:
    """Return the two axes of a map under an estimator."""
    return RISK, f"utility_{estimator}"


@dataclass(frozen=True)
class MeasuredRelease:
    """One release: its maker, k, measures, and second count."""

    label: str
    k: int
    point: Point
    release: BasketRelease | None
    checked: Checked | None


class RUMap:
    """All releases of one set of baskets."""

    def __init__(
        self,
        baskets: Baskets,
        ks: Sequence[int],
        report: Callable[[str], None] | None = None,
        within: bool = False,
        variants: bool = False,
    ) -> None:
        self.baskets, self.report = baskets, report or (lambda what: None)
        self.name = Path(baskets.origin).name.partition(".")[0]
        asked = tuple(basket_requirement(f"km-anonymity k={k} m=2") for k in ks)
        makers = MAKERS | VARIANTS if variants else MAKERS
        grids = {label: Grid((candidate_maker(text),), asked) for label, text in makers.items()}
        if within and baskets.tree is not None:
            coarsest = UtilityConstraints(level=baskets.tree.height - 1)
            grids[WITHIN] = Grid(
                (candidate_maker("coat"),), asked, utility=(coarsest,), limits=(SuppressionLimit(1.0),)
            )
            grids[WITHOUT] = grids["AA"]
        self.grids = grids
        self.study = Study(self.name, DataDeclaration(items=BasketsDeclaration(baskets.origin)), tuple(grids.values()))

    def __len__(self) -> int:
        return sum(len(grid.candidates) for grid in self.grids.values())

    @cached_property
    def runs(self) -> list[MeasuredRelease]:
        """Make, measure and check all releases."""
        prepared = self.study.scales.prepare(self.baskets).ready()
        runs = []
        for label, grid in self.grids.items():
            for candidate in grid.candidates:
                runs.append(self._run(label, candidate, prepared))
                self.report(f"{self.name}: {label}, k = {candidate.requirement.k}")
        return runs

    def _run(self, label: str, candidate: Candidate, prepared: Any) -> MeasuredRelease:
        baskets = self.baskets.with_tree(None) if label == WITHOUT else self.baskets
        made: list[BasketRelease] = []

        def outcome() -> Mapping[str, Any]:
            made.append(candidate.make(baskets))
            measured = prepared.measure(made[0])
            return {"measures": dict(measured.values), "intervals": dict(measured.intervals)}

        point = attempted(replace(candidate.point(), id=f"{label}, k={candidate.requirement.k}"), outcome)
        release = made[0] if made else None
        second = None if release is None else checked(release)
        return MeasuredRelease(label, candidate.requirement.k, point, release, second)

    def of(self, label: str) -> list[MeasuredRelease]:
        """Return the feasible releases of one anonymizer, by k."""
        return [run for run in self.runs if run.label == label and run.release is not None]

    def run_of(self, point: Point) -> MeasuredRelease:
        """Return the run of a point."""
        return next(run for run in self.runs if run.point.id == point.id)

    def curve(self, label: str, estimator: str) -> Curve:
        """Return the frontier of one anonymizer."""
        return Curve.through([run.point for run in self.of(label)], axes(estimator))

    def knees(self, label: str, estimator: str) -> dict[str, MeasuredRelease | None]:
        """Return the knee of one anonymizer's curve, by angle and by Kneedle."""
        curve = self.curve(label, estimator)
        by_way = {"angle": knees_by_angle(curve), "kneedle": knees_by_kneedle(curve)}
        return {way: self.run_of(points[0]) if points else None for way, points in by_way.items()}

    def best(
        self, estimator: str, labels: Sequence[str] = tuple(MAKERS), bound: float = BOUND
    ) -> MeasuredRelease | None:
        """Return the release of most utility within a bound on risk, of some anonymizers."""
        points = tuple(run.point for label in labels for run in self.of(label))
        try:
            chosen = Map(self.study, points).choose(max={RISK: bound}, axes=axes(estimator), by="best")
        except InfeasibleError:
            return None
        return self.run_of(chosen.point)

    @cached_property
    def files(self) -> dict[str, Checked]:
        """Write the best release of every anonymizer, and check the files."""
        chosen = {label: self.best("half", [label]) for label in self.grids}
        return {label: checked_file(run.release) for label, run in chosen.items() if run and run.release}

    def values(self) -> dict[str, Any]:
        """Return the whole map as plain values."""
        baskets = self.baskets
        return {
            "records": baskets.size,
            "items": len(baskets.items),
            "occurrences": baskets.occurrences,
            "longest": int(baskets.lengths.max()),
            "tree": None if baskets.tree is None else [len(level.labels) for level in baskets.tree.levels],
            "queries": str(self.study.scales.queries),
            "points": [
                {
                    "anonymizer": run.label,
                    "k": run.k,
                    "status": run.point.status,
                    "reason": run.point.reason,
                    "published_items": None if run.release is None else run.release.recoding.size,
                    "measures": dict(run.point.measures),
                    "intervals": dict(run.point.intervals),
                }
                for run in self.runs
            ],
        }


BUNDLED = "online-retail"
ICD_9 = re.compile(r"(\d{1,3}|V\d{2}|E\d{3})(\.\d{1,2})?")
MOSTLY, SOME = 0.95, 0.05
"""The least share of items in ICD-9 baskets that look like a code, and that can only be a code (V58, 250.83)."""


def opened(files: Sequence[Path]) -> tuple[Baskets, Baskets | None]:
    """Open the baskets of figures 6 and 7, and those of figure 5 if given."""
    by_kind: dict[bool, Baskets] = {}
    for file in files:
        baskets = read_file(file)
        diagnoses = has_diagnoses(baskets)
        if diagnoses in by_kind:
            kind = "ICD-9 diagnoses, for figure 5" if diagnoses else "baskets for figures 6 and 7"
            raise BadInputError(
                f"--data {file}: {by_kind[diagnoses].origin} was given already, and both are {kind}; give one of them"
            )
        by_kind[diagnoses] = baskets
    return by_kind.get(False) or load_baskets(BUNDLED), by_kind.get(True)


def read_file(file: Path) -> Baskets:
    """Read the baskets of a file, with its tree of items."""
    if file.is_dir():
        raise BadInputError(f"--data {file}: this is a folder; give a file in it, with one basket per line")
    return read_baskets(file, tree=tree_beside(file))


def tree_beside(file: Path) -> Path | None:
    """Return the level table whose name before `_hierarchy` begins the file's name; the longest such name."""
    named = {
        path: path.name.partition("_hierarchy.")[0]
        for path in sorted(file.resolve().parent.glob("*_hierarchy.*"))
        if path.name != file.name
    }
    fitting = [path for path, name in named.items() if name and file.name.startswith(name)]
    return max(fitting, key=lambda path: len(named[path]), default=None)


def has_diagnoses(baskets: Baskets) -> bool:
    """Return whether the items are ICD-9 codes."""
    codes = [item for item in baskets.items if ICD_9.fullmatch(item)]
    certain = [item for item in codes if not item.isdigit()]
    items = len(baskets.items)
    return len(codes) >= MOSTLY * items and len(certain) >= SOME * items


PATIENTS = {"Anne": "abcdef", "Greg": "abeg", "Jack": "ae", "Tom": "bfg", "Mary": "ab", "Jim": "cf"}
KS = range(2, 7)
Partition = Sequence[frozenset[str]]


def figure_1() -> Baskets:
    """Return figure 1(a), with the two-level hierarchy of section 3.4."""
    items = tuple(sorted(set("".join(PATIENTS.values()))))
    tree = Hierarchy((Level(tuple(range(len(items))), items), Level((0,), (ROOT,))), (1.0,) * len(items))
    return baskets_of(map(set, PATIENTS.values()), tree, "figure 1")


def partitions(items: Sequence[str]) -> Iterator[list[frozenset[str]]]:
    """Yield all partitions of some items."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for partition in partitions(rest):
        yield [frozenset(first), *partition]
        for place, part in enumerate(partition):
            yield [*partition[:place], part | {first}, *partition[place + 1 :]]


def rows_of(partition: Partition) -> list[frozenset[int]]:
    """Return the published rows of the patients: the indices of the parts that have an item of each."""
    return [
        frozenset(place for place, part in enumerate(partition) if part & set(items)) for items in PATIENTS.values()
    ]


def is_feasible(partition: Partition, k: int) -> bool:
    """Return whether at least k patients show any one or two parts that a patient shows."""
    rows = rows_of(partition)
    known = {parts for row in rows for size in (1, 2) for parts in combinations(sorted(row), size)}
    return all(sum(set(parts) <= row for row in rows) >= k for parts in known)


def utility_loss(partition: Partition) -> Fraction:
    """Return UL of a partition (definition 3.6, weights of one, nothing suppressed)."""
    items, rows = sum(map(len, partition)), rows_of(partition)
    return sum(
        (
            Fraction(2 ** len(part) - 1, 2**items - 1) * Fraction(sum(place in row for row in rows), len(rows))
            for place, part in enumerate(partition)
        ),
        Fraction(0),
    )


def optima() -> dict[int, tuple[float, int]]:
    """Return for each k the least UL of all feasible partitions, and the number of these."""
    priced = [(utility_loss(partition), partition) for partition in partitions(figure_1().items)]
    best = {}
    for k in KS:
        losses = [loss for loss, partition in priced if is_feasible(partition, k)]
        best[k] = float(min(losses)), len(losses)
    return best


def made(baskets: Baskets) -> dict[tuple[str, int], BasketRelease]:
    """Make the releases of the three anonymizers for every k."""
    return {(maker, k): anonymize_baskets(baskets, f"km-anonymity k={k} m=2", maker) for maker in PAPER for k in KS}


def loss_of(release: BasketRelease) -> float:
    """Return UL of a release of the example, by the partition it publishes."""
    items = release.baskets.items
    return float(utility_loss([frozenset(items[i] for i in part) for part in release.recoding.members]))


def example_claims() -> tuple[list[Claim], Figure]:
    """Compare figure 1 and its optima with the anonymizers' releases of the example."""
    baskets = figure_1()
    releases, best = made(baskets), optima()
    claims = [_worked(baskets, releases["aa", 6]), _bounds(releases, best), *_reported(baskets, releases)]
    curves = [
        FigureLine("least possible", [{"x": k, "y": loss} for k, (loss, _) in best.items()]),
        *(
            FigureLine(maker.upper(), [{"x": k, "y": loss_of(releases[maker, k])} for k in KS])
            for maker in PAPER
            if maker != "aa"
        ),
    ]
    title = "Figure 1(a): utility loss of set-based generalization, and the least of all 877 partitions"
    return claims, Figure("1-optima", title, "k (m = 2)", "UL", curves)


def _worked(baskets: Baskets, release: BasketRelease) -> Claim:
    query = [(baskets.places["a"],)]
    true = int(BasketReader.of_baskets(baskets).matches(query)[0])
    answer = float(BasketReader.of(release).estimates(query, ["half"])[0, 0])
    losses = ItemLosses().measure(release)
    ours = {
        "ncp": losses["ncp"],
        "ul": losses["ul"],
        "answer": answer,
        "error": abs(answer - true) / true,
        "risk": round(1 / checked(release).least, 6),
    }
    paper = {name: float(Fraction(value)) for name, value in row.paper("figure-1").items()}
    return row("figure-1", ours, all(abs(ours[name] - paper[name]) < 1e-6 for name in paper))


def _bounds(releases: dict[tuple[str, int], BasketRelease], best: dict[int, tuple[float, int]]) -> Claim:
    losses = {maker: {k: round(loss_of(releases[maker, k]), 5) for k in KS} for maker in PAPER}
    ours = {
        "least possible": {k: round(loss, 5) for k, (loss, _) in best.items()},
        "feasible partitions": {k: number for k, (_, number) in best.items()},
        **losses,
    }
    above = all(
        loss_of(release) >= best[k][0] - 1e-12 and checked(release).least >= k for (_, k), release in releases.items()
    )
    return row("optimum-bounds", ours, above)


def _reported(baskets: Baskets, releases: dict[tuple[str, int], BasketRelease]) -> Iterable[Claim]:
    parts = {k: releases["aa", k].recoding.size for k in KS}
    yield row("aa-for-every-k", parts, set(parts.values()) == {1})
    pair = (baskets.places["c"], baskets.places["f"])
    both = int(BasketReader.of_baskets(baskets).matches([pair])[0])
    yield row("erratum-cf", both, both == 1)


BEATEN = "beaten by another k"
PANELS = {"AA": "6a", "COAT": "6b", "PCTA": "6c"}


def figures_6_and_7(map_: RUMap) -> list[Figure]:
    """Draw one map for every anonymizer, and all of them on one for every estimator."""
    single = [_single(map_, label, name) for label, name in PANELS.items()]
    return [*single, *(_figures_compared(map_, estimator, "7") for estimator in ESTIMATORS)]


def figure_5(map_: RUMap) -> list[Figure]:
    """Draw COAT's map of diagnoses, with and without the utility constraints of their tree, and that of all makers."""
    labels = [label for label in ("COAT", WITHIN) if label in map_.grids]
    drawn = []
    for estimator in ESTIMATORS:
        curves = _curves(map_, labels, estimator) + _knees(map_, "COAT", estimator)
        title = f"Loukides et al. 2012, figure 5: COAT on {map_.name} ({estimator})"
        drawn.append(Figure(_name("5", estimator), title, _figures_utility(estimator), "risk", curves))
    return [*drawn, *(_figures_compared(map_, estimator, "5-compared") for estimator in ESTIMATORS)]


def _single(map_: RUMap, label: str, name: str) -> Figure:
    curves: list[FigureLine] = []
    beaten: list[Mapping[str, Any]] = []
    for estimator in ESTIMATORS:
        drawn = _curves(map_, [label], estimator, [estimator])
        curves += [drawn[0], *_knees(map_, label, estimator, f", {estimator}")]
        beaten += [point for curve in drawn[1:] for point in curve.points]
    curves += [FigureLine(BEATEN, beaten, line=False)] if beaten else []
    title = f"Loukides et al. 2012, figure {name}: {label} on {map_.name}"
    return Figure(name, title, "utility (1/ARE)", "risk", curves, x_scale="log")


def _figures_compared(map_: RUMap, estimator: str, name: str) -> Figure:
    curves = _curves(map_, [label for label in (*MAKERS, WITHOUT) if label in map_.grids], estimator)
    ends = [float(point["x"]) for curve in curves for point in curve.points]
    bound = [{"x": x, "y": BOUND} for x in (min(ends), max(ends))] if ends else []
    title = f"Loukides et al. 2012, figure {name.partition('-')[0]}: three anonymizers on {map_.name} ({estimator})"
    return Figure(
        _name(name, estimator),
        title,
        _figures_utility(estimator),
        "risk",
        [*curves, FigureLine(f"risk {BOUND:g}", bound, marks=False)],
        x_scale="log",
    )


def _name(figure: str, estimator: str) -> str:
    return figure if estimator == ESTIMATORS[0] else f"{figure}-{estimator}"


def _figures_utility(estimator: str) -> str:
    return f"utility (1/ARE, {estimator})"


def _points(runs: Sequence[MeasuredRelease], estimator: str) -> list[dict[str, float]]:
    return [
        {"x": run.point.measures[axes(estimator)[1]], "y": run.point.measures[RISK], "parameter": run.k} for run in runs
    ]


def _curves(map_: RUMap, labels: Sequence[str], estimator: str, names: Sequence[str] | None = None) -> list[FigureLine]:
    """Join the nondominated releases of each anonymizer, and mark the rest."""
    joined, beaten = [], list[MeasuredRelease]()
    for label, name in zip(labels, names or labels, strict=True):
        kept = {_place(point, estimator) for point in map_.curve(label, estimator).points}
        joined.append(
            FigureLine(
                name, _points([run for run in map_.of(label) if _place(run.point, estimator) in kept], estimator)
            )
        )
        beaten += [run for run in map_.of(label) if _place(run.point, estimator) not in kept]
    return [*joined, FigureLine(BEATEN, _points(beaten, estimator), line=False)] if beaten else joined


def _place(point: Point, estimator: str) -> tuple[float, ...]:
    return tuple(point.measures[axis] for axis in axes(estimator))


def _knees(map_: RUMap, label: str, estimator: str, suffix: str = "") -> list[FigureLine]:
    """Mark the knees; one mark if both methods find the same."""
    knees = {way: run for way, run in map_.knees(label, estimator).items() if run is not None}
    if len(knees) == 2 and knees["angle"] is knees["kneedle"]:
        knees = {"both": knees["angle"]}
    names = {"angle": "knee by angle", "kneedle": "knee by Kneedle", "both": "knee"}
    return [FigureLine(f"{names[way]}{suffix}", _points([run], estimator), line=False) for way, run in knees.items()]


KS_5 = (2, 3, 5, 7, 10, 15, 25, 40, 60, 80)
TABLE_1 = {"records": 77_512, "items": 3_340, "longest": 161, "mean": 5.0}
"""BMS-WebView-2 in table 1."""


def reproduce(progress: Progress | None = None, full: bool = False, data: Sequence[Path] = ()) -> Results:
    """Make the releases of the paper, measure and check them, and compare them with the paper's claims.

    Every run is a full one.

    `data` are files with one basket per line: one of ICD-9 diagnoses for figure 5, one for figures 6 and 7.
    """
    baskets, diagnoses = opened([Path(file) for file in data])
    steps: list[str] = []

    def report(what: str) -> None:
        steps.append(what)
        if progress is not None:
            progress(len(steps), sum(map(len, maps)), what)

    maps = [RUMap(baskets, LOUKIDES_2012, report, variants=True)]
    if diagnoses is not None:
        maps.append(RUMap(diagnoses, KS_5, report, within=True))
    claims, optima = example_claims()
    claims = [
        *claims,
        *_required(maps),
        *_compared(maps),
        *_variants(maps[0]),
        *_knee_of_figure_5(maps[-1], diagnoses is not None),
        *_errata(maps[0]),
    ]
    figures = [optima, *figures_6_and_7(maps[0])]
    if diagnoses is not None:
        figures += figure_5(maps[1])
    more = {"maps": {map_.name: map_.values() for map_ in maps}}
    made_of = {map_.name: map_.baskets.digest for map_ in maps}
    return Results("loukides-2012", claims, figures, more, made_of)


# -- required ----------------------------------------------------------------------------------------------


def _required(maps: Sequence[RUMap]) -> Iterable[Claim]:
    yield _feasible(maps)
    yield _bounded_risk(maps)
    yield _knee_found(maps)
    yield _set_based_beats_aa(maps)


def _feasible(maps: Sequence[RUMap]) -> Claim:
    ours: dict[str, Any] = {}
    holds = True
    for map_ in maps:
        made = [run for run in map_.runs if run.release is not None]
        passed = [run for run in made if run.checked and run.checked.honest and run.checked.least >= run.k]
        within = {label: map_.best("half", [label]) for label in map_.files}
        files = [label for label, run in within.items() if run and _is_proven(map_, label, run)]
        broken = [run.point.reason for run in map_.runs if run.point.status == "failed"]
        lacking = {f"{run.label} k={run.k}": run.point.reason for run in map_.runs if run.point.status == "infeasible"}
        ours[map_.name] = {
            "releases": len(made),
            "pass": len(passed),
            "files": len(map_.files),
            "files pass": len(files),
        }
        ours[map_.name] |= ({"cannot be made": lacking} if lacking else {}) | ({"failed": broken} if broken else {})
        holds &= bool(made) and len(passed) == len(made) and len(files) == len(map_.files) and not broken
    return row("feasible", ours, holds)


def _is_proven(map_: RUMap, label: str, run: MeasuredRelease) -> bool:
    return map_.files[label].honest and map_.files[label].least >= run.k


def _bounded_risk(maps: Sequence[RUMap]) -> Claim:
    ours: dict[str, Any] = {}
    comparisons: list[bool] = []
    for map_ in maps:
        risks = {label: {run.k: run.point.measures[RISK] for run in map_.of(label)} for label in map_.grids}
        ours[map_.name] = {label: {k: round(risk, 6) for k, risk in by_k.items()} for label, by_k in risks.items()}
        comparisons += [risk <= 1 / k + 1e-12 for by_k in risks.values() for k, risk in by_k.items()]
        for run in map_.runs:
            if run.checked is not None:
                counted = 1 / run.checked.least if run.checked.least else 0.0
                comparisons.append(abs(counted - run.point.measures[RISK]) < 1e-12)
    over = _over_k(maps, (label for map_ in maps for label in map_.grids))
    return row("risk-is-1-over-k-or-less", ours, all_of(comparisons), tested_over=over)


def _over_k(maps: Sequence[RUMap], labels: Iterable[str]) -> str:
    """Describe the k of the feasible releases of some anonymizers, by baskets."""
    wanted, parts = set(labels), []
    for map_ in maps:
        ks = sorted({run.k for label in map_.grids if label in wanted for run in map_.of(label)})
        parts.append(f"{map_.name}: k {ks[0]} to {ks[-1]}" if ks else f"{map_.name}: no release")
    return "; ".join(parts)


def _knee_found(maps: Sequence[RUMap]) -> Claim:
    """Find the knees of figures 6 (three anonymizers) and 5 (COAT on diagnoses); further ones are only reported."""
    ours: dict[str, Any] = {}
    at_knees: list[int | None] = []
    for map_ in maps:
        claimed = tuple(MAKERS) if map_ is maps[0] else ("COAT",)
        for label in map_.grids:
            for estimator in ESTIMATORS:
                knees = {way: None if run is None else run.k for way, run in map_.knees(label, estimator).items()}
                ours.setdefault(map_.name, {}).setdefault(label, {})[estimator] = knees
                at_knees += [knees["angle"]] if label in claimed else []
    reason = None if None not in at_knees else "a curve without a knee is straight or has fewer than three releases"
    holds, over = all_of(k is not None for k in at_knees), _over_k(maps, MAKERS)
    return row("knee-found", ours, holds, reason=reason, tested_over=over)


def _utilities(map_: RUMap, estimator: str) -> dict[str, float | None]:
    """Return the best utility of every anonymizer within the bound on risk; None without such a release."""
    best = {label: map_.best(estimator, [label]) for label in map_.grids}
    return {label: None if run is None else run.point.measures[axes(estimator)[1]] for label, run in best.items()}


def _above(utilities: Mapping[str, float | None], label: str, other: str) -> bool | None:
    """Return whether one anonymizer has more utility than another; None if one has no release within the bound."""
    mine, theirs = utilities[label], utilities[other]
    return None if mine is None or theirs is None else mine > theirs


def _set_based_beats_aa(maps: Sequence[RUMap]) -> Claim:
    ours: dict[str, Any] = {}
    comparisons: list[bool | None] = []
    for map_ in maps:
        utilities = {estimator: _utilities(map_, estimator) for estimator in ESTIMATORS}
        ours[map_.name] = {estimator: _rounded(by) for estimator, by in utilities.items()}
        trees = [label for label in ("AA", WITHOUT) if label in map_.grids]
        comparisons += [
            _above(by, label, aa) for by in utilities.values() for label in ("COAT", "PCTA") for aa in trees
        ]
    holds = all_of(comparisons)
    reason = None if holds else "if the tree of items follows joint purchases or diagnoses, AA loses less"
    over = f"risk up to {BOUND:g}; {_over_k(maps, (*MAKERS, WITHOUT))}"
    return row("set-based-beats-aa-at-.2", ours, holds, reason=reason, tested_over=over)


def _rounded(values: Mapping[str, float | None]) -> dict[str, float | None]:
    return {name: None if value is None else float(f"{value:.4g}") for name, value in values.items()}


# -- reported ----------------------------------------------------------------------------------------------


def _compared(maps: Sequence[RUMap]) -> Iterable[Claim]:
    ours: dict[str, Any] = {}
    ahead: list[bool | None] = []
    chosen = []
    for map_ in maps:
        for estimator in ESTIMATORS:
            best = {label: map_.best(estimator, [label]) for label in ("COAT", "PCTA")}
            reached = {label: None if run is None else _utility(run, estimator) for label, run in best.items()}
            ours.setdefault(map_.name, {})[estimator] = reached
            utilities = _utilities(map_, estimator)
            ahead.append(_above(utilities, "PCTA", "COAT"))
            chosen.append(map_.best(estimator))
    yield row(
        "pcta-beats-coat-at-.2",
        ours,
        all_of(ahead),
        tested_over=f"risk up to {BOUND:g}; {_over_k(maps, ('COAT', 'PCTA'))}",
    )
    names = [None if run is None else f"{run.label} k={run.k}" for run in chosen]
    keys = [f"{map_.name}, {estimator}" for map_ in maps for estimator in ESTIMATORS]
    yield row(
        "choice-at-.2",
        dict(zip(keys, names, strict=True)),
        all_of(None if run is None else run.label == "PCTA" for run in chosen),
        tested_over=f"risk up to {BOUND:g}; {_over_k(maps, MAKERS)}",
    )


def _utility(run: MeasuredRelease, estimator: str) -> dict[str, Any]:
    return {"k": run.k} | _rounded({"utility": run.point.measures[axes(estimator)[1]]})


def _variants(map_: RUMap) -> Iterable[Claim]:
    """Compare PCTA, and PCTA with another loop, with COAT at every k."""
    errors = {label: {run.k: run.point.measures["are_half"] for run in map_.of(label)} for label in map_.grids}
    for label in ("PCTA", *VARIANTS):
        common = [k for k in errors[label] if k in errors["COAT"]]
        ahead = [k for k in common if errors[label][k] < errors["COAT"][k]]
        ours = {
            "baskets": map_.name,
            "ahead at k": ahead,
            "are": {name: _rounded({str(k): errors[name][k] for k in common}) for name in (label, "COAT")},
        }
        id = f"{(MAKERS | VARIANTS)[label].replace(' visit=', '-')}-beats-coat-at-every-k"
        yield row(id, ours, all_of(k in ahead for k in common), tested_over=_over_k([map_], [label, "COAT"]))


def _knee_of_figure_5(map_: RUMap, diagnoses: bool) -> Iterable[Claim]:
    """Compare the knee of COAT's curve with its ends: a claim about diagnoses, not tested on other baskets."""
    for estimator in ESTIMATORS:
        ours = _knee_against_ends(map_, estimator)
        holds = ours["protection"] >= 12.5 and ours["utility"] > 2 if "knee" in ours and diagnoses else None
        over = _over_k([map_], ["COAT"]) if "knee" in ours else "no curve with a knee"
        yield row(f"figure-5-knee-{estimator}", ours, holds, tested_over=over)


def _knee_against_ends(map_: RUMap, estimator: str) -> dict[str, Any]:
    """Return the factors by which the knee lowers the largest risk and raises the least utility."""
    knee, runs = map_.knees("COAT", estimator)["angle"], map_.of("COAT")
    if knee is None:
        return {"baskets": map_.name}
    axis = axes(estimator)[1]
    exposed, least = (pick(run.point.measures[name] for run in runs) for pick, name in ((max, RISK), (min, axis)))
    return {
        "baskets": map_.name,
        "knee": knee.k,
        "protection": round(exposed / knee.point.measures[RISK], 2),
        "utility": round(knee.point.measures[axis] / least, 2),
    }


def _errata(map_: RUMap) -> Iterable[Claim]:
    baskets = map_.baskets
    mean = baskets.occurrences / baskets.size
    ours = {"records": baskets.size, "items": len(baskets.items), "longest": int(baskets.lengths.max())}
    if ours["records"] == TABLE_1["records"]:
        yield row("table-1", ours | {"mean": round(mean, 3)}, {**ours, "mean": round(mean, 1)} == TABLE_1)
    yield row("erratum-table-1", "a mean above the largest cannot be", False)
    short = int(baskets.weights[baskets.lengths == 1].sum())
    yield row("erratum-km", {"records with fewer than m = 2 items": short}, short == 0)
