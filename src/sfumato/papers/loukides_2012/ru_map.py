"""The R-U map of one set of baskets: releases of some anonymizers over k, measured, counted again, and read.

`curve` is the frontier of one anonymizer, `knees` where it bends, `best` its release of the most utility within a
bound on risk. Utility is 1 / ARE under a named estimator; risk is 1 / the fewest records that fit two known items.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sfumato.errors import InfeasibleError
from sfumato.mixed.declaration import DataDeclaration
from sfumato.papers.loukides_2012.knees import knees_by_angle, knees_by_kneedle
from sfumato.papers.loukides_2012.second_opinion import Checked, checked, checked_file
from sfumato.tradeoff.choice.curve import Curve
from sfumato.tradeoff.exploration.exploration import attempted
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.grids import Grid
from sfumato.tradeoff.study.study import Study
from sfumato.transactions import BasketRelease, Baskets, SuppressionLimit, UtilityConstraints, basket_requirement
from sfumato.transactions.anonymizers.registry import candidate_maker
from sfumato.transactions.files.declaration import BasketsDeclaration

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
