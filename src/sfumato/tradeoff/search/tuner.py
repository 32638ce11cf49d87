"""Tuning: a budget of time is spent where the frontier can still gain, or where a question can be answered better.

The study's own candidates come first. Then families of candidates (`families`) are tried at a few values each, and
between two neighbouring values of a family whatever promises most is tried next: the point half way, a little better
than the straight line, and how much area it would take from under the staircase (or how much better than the best
answer it may be: `aims`), times how well promises of that family were kept so far. Cut vectors (`cuts`) take part as
long as they gain their share. No clock has a say in what is tried next, only in when to stop: more time continues the
same sequence, so the frontier never gets worse with a larger budget, and a run that was stopped goes on from what is
kept.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from math import inf
from pathlib import Path

import numpy as np

from sfumato.anonymizers import CutVector, Hilbert
from sfumato.errors import BadInputError
from sfumato.process.interrupts import Cancel
from sfumato.requirements import KAnonymity
from sfumato.table import Table
from sfumato.tradeoff.choice.bounds import Bound
from sfumato.tradeoff.dominance import non_dominated
from sfumato.tradeoff.exploration.exploration import Exploration, Progress
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.search.aims import Aim, scaled
from sfumato.tradeoff.search.cuts import Cuts, cuts_of
from sfumato.tradeoff.search.families import Family, families_of
from sfumato.tradeoff.study.plan import SearchPlan
from sfumato.tradeoff.study.study import Candidate, Grid, Study, of_table, read_study

AT_ONCE = 4
"""Candidates that are decided on together; fixed, so that the number of workers has no say."""

DOUBT = 0.002
"""Area of promises, as a share of the whole, after which a family is judged by what it kept of them."""

FEW_CUTS = 8
"""So many cut vectors are tried before they are judged."""

FAIR = 2.0
"""Cut vectors go on with each batch as long as a try of theirs gains at least one over so much of another's."""

FIRST_OWN = 4
"""Of the study's own candidates so many come before anything else: the ends of the map."""

LOSSES = ("loss", "generalization_loss")
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def read_budget(text: str) -> float:
    """Read a stretch of time such as 60s, 5m or 1h, in seconds."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text)
    if match is None or match[2] not in UNITS or not 0 < float(match[1]) * UNITS[match[2]] <= 30 * 86400:
        raise BadInputError(f"budget {text!r}: write a time such as 60s, 5m or 1h")
    return float(match[1]) * UNITS[match[2]]


def tune(
    study: Study | str,
    seconds: float = inf,
    cache: Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    table: Table | None = None,
    tries: int | None = None,
    cancel: Cancel | None = None,
    best: str | None = None,
    bounds: Sequence[Bound] = (),
) -> Map:
    """Explore a study and whatever else seems worth a try, until time is up or nothing is left to try.

    `tries` bounds the candidates beside the study's own: unlike time, the same number gives the same map anywhere.

    With `best` it looks for the best of that measure within `bounds`, instead of a better frontier on the axes.

    The map's study has every candidate that was measured, so it can be explored again, chosen from and published.
    `cancel` stops it as it stops `explore`; the map of what was measured is then one of the study's own candidates.
    """
    if seconds == inf and tries is None:
        raise BadInputError("a tuner needs to know when to stop: give seconds, tries or both")
    started = time.monotonic()
    given = of_table(read_study(study) if isinstance(study, str) else study)
    table = table if table is not None else given.table.open()
    exploration: Exploration[Candidate] = Exploration(given, cache, workers, table, cancel)
    own = sorted(exploration.candidates, key=lambda one: not one.anonymizer.baseline)
    plan = given.search or SearchPlan()
    aim = Aim(given.axes, best, tuple(dict.fromkeys([*bounds, *plan.bounds])))
    tuner = Tuner(aim, families_of(given, table), cuts_of(given, table, given.axes, workers), plan.points)
    told = progress or (lambda done, total, last: None)
    history: list[tuple[float, str]] = []
    batch: Sequence[Candidate] = own[:FIRST_OWN]  # the ends of the map are there however little time there is
    after: Sequence[Candidate] = [*straight(aim, table, plan), *own[FIRST_OWN:]]
    while batch and (after or time.monotonic() < started + seconds):
        kept = exploration.known_of(batch)
        fresh = (candidate for candidate in batch if candidate not in kept)
        with exploration.mapped_when_stopped(lambda: _points_of(own, kept, tuner.points)):  # noqa: B023
            for candidate, point in exploration.measured(fresh, None if seconds == inf or after else started + seconds):
                kept[candidate] = point
                total = len(own) + (tries or 0) if seconds == inf else int(seconds)
                told(len(tuner.points) if seconds == inf else int(time.monotonic() - started), total, str(candidate))
        for candidate in batch:
            if candidate in kept:
                tuner.learn(candidate, kept[candidate])
                history.append((round(time.monotonic() - started, 3), candidate.id))
        left = AT_ONCE if tries is None else tries + len(own) - len(tuner.points)
        batch, after = (after, ()) if after else (tuner.next()[: max(left, 0)], ())
    wanted = set(own)
    measured = {one: point for one, point in tuner.points.items() if one in wanted or point.status == "measured"}
    grown = replace(given, grids=(*given.grids, *_grids([one for one in measured if one not in wanted])))
    shown = {point.id for point in measured.values()}
    order = [(seconds, id) for seconds, id in history if id in shown]
    tuning = {
        "budget": seconds,
        "order": order,
        "added": len(set(measured) - wanted),
        "unreached": len(wanted - set(measured)),
        "exhausted": not tuner.next(),
    }
    with exploration.mapped_when_stopped(lambda: _points_of(own, tuner.points)):
        return exploration.map(list(measured.values()), grown, {"tuning": tuning})


def straight(aim: Aim, table: Table, plan: SearchPlan) -> list[Candidate]:
    """List candidates that answer a question directly: the largest k within a loss along the Hilbert curve."""
    losses = [bound.value for bound in aim.bounds if bound.measure in LOSSES and bound.side == "max"]
    if aim.best != "k" or not losses or table.shared or table.cells.records < 2 or not plan.proposes(Hilbert.name):
        return []
    maker = Hilbert(within=float(f"{min(max(min(losses), 0.0), 1.0):.6g}"))
    return [Candidate(maker, plan.joined(KAnonymity(2)))]


def _points_of(candidates: Sequence[Candidate], *known: Mapping[Candidate, Point]) -> list[Point]:
    return [points[one] for one in candidates for points in known if one in points]


def _grids(candidates: Sequence[Candidate]) -> list[Grid]:
    """Put candidates into as few blocks as there are makers, forms and limits."""
    found: dict[tuple[object, ...], list[Candidate]] = {}
    for one in candidates:
        maker: object = one.anonymizer
        if one.anonymizer.noisy or isinstance(maker, CutVector):
            maker = one.anonymizer.name, one.requirement
        found.setdefault((maker, one.form, one.suppress), []).append(one)
    return [
        Grid(
            tuple(dict.fromkeys(one.anonymizer for one in block)),
            tuple(dict.fromkeys(one.requirement for one in block)),
            (block[0].form,),
            (block[0].suppress,),
        )
        for block in found.values()
    ]


@dataclass
class Tuner:
    """Decides what to try next, from the points so far alone."""

    aim: Aim
    families: list[Family]
    cuts: Cuts | None = None
    most_cuts: int | None = None
    """At most so many cut vectors are tried."""

    points: dict[Candidate, Point] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._first = [list(dict.fromkeys(family.first)) for family in self.families]
        self._known: list[dict[float, Point]] = [{} for _ in self.families]
        self._promised = [0.0] * len(self.families)
        self._kept = [0.0] * len(self.families)
        self._hopes: dict[Candidate, tuple[int, float]] = {}
        self._closed: set[int] = set()
        self._cut: set[Candidate] = set()
        self._won = {True: 0.0, False: 0.0}
        self._tried = {True: 0, False: 0}

    def learn(self, candidate: Candidate, point: Point) -> None:
        """Take the point of a candidate in, and remember whether it kept what was promised."""
        judge = self.aim.judge(list(self.points.values()))
        self.points[candidate] = point
        seen = self.aim.sees(point)
        gain = judge.gain_of(point.measures) if seen else 0.0
        for i, family in enumerate(self.families):
            value = family.value_of(candidate)
            if value is not None and seen:
                self._known[i][value] = point
            elif value is not None and point.status == "failed":  # it cannot serve such a requirement or table
                self._closed.add(i)
        if candidate in self._hopes:
            i, hope = self._hopes.pop(candidate)
            self._promised[i] += hope
            self._kept[i] += min(gain, hope)
        is_cut = candidate in self._cut
        self._won[is_cut] += gain
        self._tried[is_cut] += 1
        if gain > 0 and self.cuts is not None:
            self.cuts.moved()

    def next(self) -> list[Candidate]:
        """Return what to try next: half of it between known values, then cuts, then families of which less is known."""
        hopes = self._best_hopes()
        chosen = [candidate for _, _, candidate in hopes[: AT_ONCE // 2]]
        chosen += self._next_cuts(1 if self._cuts_are_worth_it() else 0)
        chosen += islice(self._first_tries(chosen), AT_ONCE - len(chosen))
        chosen += islice((one for _, _, one in hopes if one not in chosen), AT_ONCE - len(chosen))
        chosen += self._next_cuts(AT_ONCE - len(chosen))
        self._hopes |= {candidate: (i, hope) for hope, i, candidate in hopes if candidate in chosen}
        return list(dict.fromkeys(chosen))

    def _cuts_are_worth_it(self) -> bool:
        """Whether cut vectors gained a fair share for their number; now and then they are tried all the same."""
        if self._tried[True] < FEW_CUTS or sum(self._tried.values()) % (4 * AT_ONCE) < AT_ONCE:
            return True
        return FAIR * self._won[True] * self._tried[False] >= self._won[False] * self._tried[True]

    def _next_cuts(self, most: int) -> list[Candidate]:
        left = most if self.most_cuts is None else min(most, self.most_cuts - len(self._cut))
        if self.cuts is None or left < 1:
            return []
        judge = self.aim.judge(list(self.points.values()))
        measured = [(one, point) for one, point in self.points.items() if self.aim.wants(point)]
        costs = [[scaled(name, point.measures[name]) for name in self.aim.axes] for _, point in measured]
        front = non_dominated(np.array(costs, np.float64).reshape(len(measured), len(self.aim.axes)))
        chosen = self.cuts.next(judge.gain_of, self.points, [measured[i][0] for i in front], left)
        self._cut |= set(chosen)
        return chosen

    def _first_tries(self, chosen: Sequence[Candidate]) -> list[Candidate]:
        """List what families shall be tried at first, each once, the least known family before the others."""
        tries: list[tuple[int, int, Candidate]] = []
        for i, queue in enumerate(self._first):
            left = [one for one in queue if one not in self.points and one not in chosen]
            if left and i not in self._closed:
                tries.append((len(queue) - len(left), i, left[0]))
        return list(dict.fromkeys(candidate for _, _, candidate in sorted(tries, key=lambda each: each[:2])))

    def _best_hopes(self) -> list[tuple[float, int, Candidate]]:
        """List the values half way between known ones of every family, the most promising first, each once."""
        judge = self.aim.judge(list(self.points.values()))
        hopes: dict[Candidate, tuple[float, int]] = {}
        for i, family in enumerate(self.families):
            trust = (DOUBT + self._kept[i]) / (DOUBT + self._promised[i])
            for (low, here), (high, there) in pairwise(sorted(self._known[i].items())):
                middle = family.dial.between(low, high)
                if i in self._closed or middle is None or family.at(middle) in self.points:
                    continue
                hope = judge.between(here.measures, there.measures)
                if hope > 0:
                    hopes.setdefault(family.at(middle), (trust * hope, i))
        return sorted(((hope, i, one) for one, (hope, i) in hopes.items()), key=lambda each: (-each[0], each[1]))
