"""The R-U map of one set of baskets: releases of some anonymizers over k, measured, counted again, and read.

`curve` is the frontier of one anonymizer, `knees` where it bends, `best` its release of the most utility within a
bound on risk. Utility is 1 / ARE under a named estimator; risk is 1 / the fewest records that fit two known items.

A second opinion on releases of baskets: plain sets and one matrix, sharing nothing with who made or verified them.

Published rows are derived here from the records and from what each item is called in the release, or read from the
written file; sets of one and two published items are counted in them.

The knees of the paper's curves: by angle (section 5, the method of Zhao et al. 2008), Kneedle's beside it.

Both look at the curve with its axes turned so that lower is better, and scaled to 0..1 between its ends. Kneedle is
that of Satopaa et al. 2011, offline; the points are exact, so they are neither smoothed nor resampled.

Which baskets the maps of Loukides et al. 2012 are drawn of: files that are given, else the bundled Online Retail.

Figures 6 and 7 take the first kind of file, figure 5 (diagnoses) a file whose items are ICD-9 codes. The tree of items
is a level table beside the file, named after it: `bms_webview_2_hierarchy.txt.gz` beside `bms_webview_2.dat.gz`.
"""

from __future__ import annotations

import csv
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import degrees, inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.items import candidate_maker
from sfumato.data.bundled import load_baskets
from sfumato.data.declaration import BasketsDeclaration, DataDeclaration
from sfumato.data.item_reading import read_baskets
from sfumato.data.items import Baskets
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.release.items import BasketRelease
from sfumato.release.writing_items import write_items
from sfumato.requirements.items import SuppressionLimit, UtilityConstraints, basket_requirement
from sfumato.runtime.arrays import Counts
from sfumato.runtime.cancellation import unfinished
from sfumato.tradeoff.exploration.explore import attempted
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.question.curve import ALIKE, Curve
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.grids import Grid
from sfumato.tradeoff.study.study import Study

Row = frozenset[str]
BLOCK = 4096
"""Rows that are counted at a time."""


@dataclass(frozen=True)
class Checked:
    """What the second opinion says of one release."""

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
    """Write a release, and check the file: what a reader can count, and that it shows all records and no others."""
    with TemporaryDirectory() as folder, unfinished(Path(folder)):
        path = write_items(release, Path(folder) / "release.csv")[0]
        rows, legend = Counter(read_rows(path)), read_legend(path)
    label_of = {text: legend_label(text, legend, release) for text in legend}
    shown: Counter[Row] = Counter()
    for row, number in rows.items():
        shown[frozenset(label_of.get(text, text) for text in row)] += number
    return Checked(least_support(rows), shown == counted(release))


def expected_rows(release: BasketRelease) -> list[Row]:
    """List what should be published of every distinct basket."""
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
    """Read which items stand behind the names of a file, from the legend beside it; nothing where it has none."""
    beside = path.with_name(f"{path.name}.legend.json")
    if not beside.is_file():
        return {}
    content = json.loads(beside.read_text(encoding="utf-8"))
    return {text: frozenset(items) for text, items in content["legend"].items()}


def legend_label(text: str, legend: Mapping[str, Row], release: BasketRelease) -> str:
    """Say what a name in the legend of a file is called in the release, by the items behind it; else nothing fits."""
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
    """Say what every item is called in a release; an item that is not published has no entry."""
    recoding = release.recoding
    item_parts = zip(release.baskets.items, recoding.parts.tolist(), strict=True)
    return {item: recoding.labels[part] for item, part in item_parts if part >= 0}


def published(row: Iterable[str], names: Mapping[str, str]) -> Row:
    """Publish one record."""
    return frozenset(names[item] for item in row if item in names)


def least_support(rows: Mapping[Row, int]) -> int:
    """Return the fewest records that show any one or two labels that some record shows; 0 if none shows any."""
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
"""An angle is taken between neighbours at least this far away, so that two nearly equal releases make no knee."""

LEAST_BEND = 1.0
"""A curve that turns by less than this many degrees is straight."""


def angles(curve: Curve) -> dict[str, float]:
    """Return the angle in degrees at every finite point but the ends: below 180 where it bends to the ideal corner."""
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
    """List the knees that Kneedle declares, the one furthest below the diagonal first.

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
    """Return how far each finite point lies on the good side of the line between the ends: the difference curve."""
    return np.asarray(1.0 - curve.square.sum(axis=1))


def _is_peak(values: NDArray[np.float64], i: int) -> bool:
    """Say whether values rise to i and fall after it; of a plateau the first place counts."""
    later = next((value for value in values[i + 1 :] if abs(value - values[i]) > ALIKE), inf)
    return bool(values[i] > values[i - 1] + ALIKE and values[i] > later)


RISK = "itemset_risk"
ESTIMATORS = ("half", "expanded")
MAKERS = {"AA": "aa", "COAT": "coat", "PCTA": "pcta"}
VARIANTS = {"PCTA, in rounds": "pcta visit=round", "PCTA, staying": "pcta visit=stay"}
"""PCTA with another loop: a constraint behind all that wait after one merge; or until it holds, as CBA's inner loop
`while sup(p) < k` has it (Loukides, Gkoulalas-Divanis & Malin, ITAB 2010)."""

WITHIN, WITHOUT = "COAT within the tree", "AA without the tree"
"""On baskets whose tree has a meaning: COAT kept to its coarsest groups, AA with a tree of the items' order instead."""

BOUND = 0.2
"""The risk that is usually accepted in biomedicine (section 5)."""


def axes(estimator: str) -> tuple[str, str]:
    """Return the two measures that a map is drawn on under an estimator."""
    return RISK, f"utility_{estimator}"


@dataclass(frozen=True)
class MeasuredRelease:
    """One release: who made it, for which k, what it measures, and what the second opinion says."""

    label: str
    k: int
    point: Point
    release: BasketRelease | None
    checked: Checked | None
    seconds: float
    """Processor time of making it (which includes its verification)."""


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
        seconds = [0.0]

        def outcome() -> Mapping[str, Any]:
            started = time.process_time()
            made.append(candidate.make(baskets))
            seconds[0] = time.process_time() - started
            measured = prepared.measure(made[0])
            return {"measures": dict(measured.values), "intervals": dict(measured.intervals)}

        point = attempted(replace(candidate.point(), id=f"{label}, k={candidate.requirement.k}"), outcome)
        release = made[0] if made else None
        second = None if release is None else checked(release)
        return MeasuredRelease(label, candidate.requirement.k, point, release, second, seconds[0])

    def of(self, label: str) -> list[MeasuredRelease]:
        """Return the releases of one anonymizer that could be made, by k."""
        return [run for run in self.runs if run.label == label and run.release is not None]

    def run_of(self, point: Point) -> MeasuredRelease:
        """Return the run of a point."""
        return next(run for run in self.runs if run.point.id == point.id)

    def curve(self, label: str, estimator: str) -> Curve:
        """Return the frontier of one anonymizer."""
        return Curve.through([run.point for run in self.of(label)], axes(estimator))

    def knees(self, label: str, estimator: str) -> dict[str, MeasuredRelease | None]:
        """Find the knee of one anonymizer's curve, by angle and by Kneedle."""
        curve = self.curve(label, estimator)
        by_way = {"angle": knees_by_angle(curve), "kneedle": knees_by_kneedle(curve)}
        return {way: self.run_of(points[0]) if points else None for way, points in by_way.items()}

    def best(
        self, estimator: str, labels: Sequence[str] = tuple(MAKERS), bound: float = BOUND
    ) -> MeasuredRelease | None:
        """Choose, of some anonymizers' releases, that of the most utility within a bound on risk."""
        points = tuple(run.point for label in labels for run in self.of(label))
        try:
            chosen = Map(self.study, points).choose(max={RISK: bound}, axes=axes(estimator), by="best")
        except InfeasibleError:
            return None
        return self.run_of(chosen.point)

    @cached_property
    def files(self) -> dict[str, Checked]:
        """Write what would be chosen of every anonymizer, and check the files."""
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

    def seconds(self) -> dict[str, Any]:
        """Return the processor time of every release, and of all."""
        by_label = {label: {run.k: round(run.seconds, 3) for run in self.of(label)} for label in self.grids}
        return {**by_label, "all": round(sum(run.seconds for run in self.runs), 2)}


BUNDLED = "online-retail"
ICD_9 = re.compile(r"(\d{1,3}|V\d{2}|E\d{3})(\.\d{1,2})?")
MOSTLY, SOME = 0.95, 0.05
"""ICD-9 baskets: this share of the items looks like a code, and this share like nothing but a code (V58, 250.83)."""


def opened(files: Sequence[Path]) -> tuple[Baskets, Baskets | None]:
    """Open the baskets of figures 6 and 7, and those of figure 5 where there are some."""
    by_kind: dict[bool, Baskets] = {}
    for file in files:
        baskets = read_file(file)
        diagnoses = has_diagnoses(baskets)
        if diagnoses in by_kind:
            kind = "ICD-9 diagnoses, for figure 5" if diagnoses else "baskets for figures 6 and 7"
            raise BadInputError(
                f"--data {file}: {by_kind[diagnoses].origin} was given already, and both hold {kind}; give one of them"
            )
        by_kind[diagnoses] = baskets
    return by_kind.get(False) or load_baskets(BUNDLED), by_kind.get(True)


def read_file(file: Path) -> Baskets:
    """Read the baskets of a file, with the tree of items beside it."""
    if file.is_dir():
        raise BadInputError(f"--data {file}: this is a folder; name a file in it, with one basket per line")
    return read_baskets(file, tree=tree_beside(file))


def tree_beside(file: Path) -> Path | None:
    """Find the level table whose name, before `_hierarchy`, is how the file's name begins; the longest such name."""
    named = {
        path: path.name.partition("_hierarchy.")[0]
        for path in sorted(file.resolve().parent.glob("*_hierarchy.*"))
        if path.name != file.name
    }
    fitting = [path for path, name in named.items() if name and file.name.startswith(name)]
    return max(fitting, key=lambda path: len(named[path]), default=None)


def has_diagnoses(baskets: Baskets) -> bool:
    """Say whether the items are ICD-9 codes."""
    codes = [item for item in baskets.items if ICD_9.fullmatch(item)]
    certain = [item for item in codes if not item.isdigit()]
    items = len(baskets.items)
    return len(codes) >= MOSTLY * items and len(certain) >= SOME * items
