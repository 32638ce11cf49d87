"""Tuning: time is spent where the frontier can still gain, or where a question can be answered better.

The study's own candidates come first; with a question they alternate with candidates that may answer it. Each family of
candidates (`families`) is tried at a few values of its parameter. Then the best offer is tried next:

- Between two neighbouring values of a family: the point half way, slightly better than the straight line. Its offer is
  the gain of this point (`Judge`), times the smaller of two shares of kept offers: of this family, and between releases
  with as many ends on the frontier. So a family on the frontier is refined, and a dominated one is not.
- Beyond the known values of a family: the gain of the last try on that side. For the next cut vector: that of the last.
- For the first member of a family: the prior is the realised share of first tries of comparable families. They differ
  in form or suppression limit, or restrict values that no objective measures.

Offers are divided by the cost that a maker declares for a release. Time decides only when to stop, never what is tried
next. More time therefore continues the same sequence: the frontier never gets worse, and a stopped run can continue.

An aim is a better frontier on the axes, or the best of some measures within bounds on others. Both use one gain: the
volume that a further release alone dominates, among the releases within the bounds, in the frame of the map. The frame
reaches from the trivial release to the original, which are made if the study lacks them. So releases between them count
from the first one on.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, isfinite, log
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sfumato.anonymizers.cut_vector.cut_vector import CutVector
from sfumato.errors import BadInputError
from sfumato.measures.all_measures import MEASURES
from sfumato.runtime.arrays import Numbers
from sfumato.runtime.cancellation import Cancel
from sfumato.texts.catalogue import listed
from sfumato.tradeoff.comparison import cost, exclusive, hypervolume, non_dominated
from sfumato.tradeoff.exploration.explore import Exploration, Progress
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.question.question import Bound
from sfumato.tradeoff.question.recipients import ABOUT_HIDING, shows_exact, unpublishable_reason
from sfumato.tradeoff.search.families import CountedCuts, Family, Proposals
from sfumato.tradeoff.study.draft import as_study
from sfumato.tradeoff.study.search_plan import SearchPlan
from sfumato.tradeoff.study.study import Study

HOPE = 1 / 3
"""The hoped-for gain beyond the straight line between two releases, as a share of the step to the better of each."""

DOUBT = 0.002
"""A small share of the hope for a candidate without expected gain."""

BEYOND = 1e-3
"""The margin of the frame beyond its worst end, as a share of its extent, so that a release there counts a little."""

Measures = Mapping[str, float]


def scaled(name: str, value: float) -> float:
    """Return a measure as a cost (lower is better); a gain without an upper end, such as k, by its logarithm."""
    endless = MEASURES[name].better == "higher" and MEASURES[name].most == inf
    return cost(name, log(value) if endless and value > 0 else value)


@dataclass(frozen=True)
class Aim:
    """A good frontier of some measures among the releases within bounds; the best value of a single measure."""

    axes: tuple[str, ...]
    bounds: tuple[Bound, ...] = ()
    asked: bool = False
    """Whether it is a question; then only possible answers count."""

    @property
    def names(self) -> tuple[str, ...]:
        """The necessary measures."""
        return tuple(dict.fromkeys([*self.axes, *(bound.measure for bound in self.bounds)]))

    def sees(self, point: Point) -> bool:
        """Return whether a point has finite values of all these measures."""
        return point.has(self.names) and all(isfinite(point.measures[name]) for name in self.names)

    def counts(self, point: Point) -> bool:
        """Return whether a point has the measures and, for a question, may be an answer."""
        shows = self.is_about_hiding and shows_exact(point)
        return self.sees(point) and not (self.asked and (shows or unpublishable_reason(point)))

    @property
    def is_about_hiding(self) -> bool:
        """Whether it asks how well quasi-identifiers are hidden; then releases that show them are no answers."""
        return self.asked and not ABOUT_HIDING.isdisjoint(self.names)

    def fits(self, measures: Measures) -> bool:
        """Return whether measures are within the bounds."""
        return not self.missed(measures)

    def missed(self, measures: Measures) -> set[Bound]:
        """Return the violated bounds; a bound on an unknown measure is not violated."""
        known = (bound for bound in self.bounds if bound.measure in measures)
        return {bound for bound in known if bound.outside(measures[bound.measure]) > 0.0}

    def place(self, measures: Measures) -> Numbers:
        """Return the costs of measures on the axes."""
        return np.array([scaled(name, measures[name]) for name in self.axes])

    def judge(self, points: Sequence[Point], ends: Sequence[Point] = ()) -> Judge:
        """Return the judge of the gain of a further point, in the frame of these points and of the map's ends."""
        seen = [point.measures for point in points if self.counts(point)]
        return Judge(self, seen, [point.measures for point in ends if point.status == "measured"])


class Judge:
    """The frontier of the releases within the bounds, and the gain of a further one as a share of the frame."""

    def __init__(self, aim: Aim, seen: Sequence[Measures], ends: Sequence[Measures] = ()) -> None:
        self.aim = aim
        inside = [aim.place(measures) for measures in seen if aim.fits(measures)]
        places = np.array(inside, np.float64).reshape(len(inside), len(aim.axes))
        self.front = places[non_dominated(places)]
        best, worst = frame(aim.axes, [aim.place(measures) for measures in seen], ends)
        self.extent = np.where(worst > best, worst - best, 1.0)
        self.corner = worst + BEYOND * self.extent

    @property
    def open(self) -> float:
        """The share of the frame that nothing dominates yet."""
        return max(1.0 - hypervolume(self.front, self.corner) / float(self.extent.prod()), 0.0)

    def between(self, here: Measures, there: Measures) -> float:
        """Return the expected gain between two releases: better than half way, plus a little for the best of both.

        If only one of them is within the bounds, or each violates another bound, it is the best of both.
        """
        missed = self.aim.missed(here), self.aim.missed(there)
        if missed[0] & missed[1]:
            return 0.0
        ends = self.aim.place(here), self.aim.place(there)
        if missed[0] or missed[1]:
            return self.hope(*ends, 1.0)
        return self.hope(*ends, HOPE) + DOUBT * self.hope(*ends, 1.0)

    def hope(self, here: Numbers, there: Numbers, share: float) -> float:
        """Return the gain of a place between two others, better than half way by a share of the possible."""
        return self.gain((1 - share) * (here + there) / 2 + share * np.minimum(here, there))

    def gain_of(self, measures: Measures) -> float:
        """Return the gain of a release with these measures; 0 if an axis is unknown."""
        known = all(name in measures for name in self.aim.axes)
        return self.gain(self.aim.place(measures)) if known and self.aim.fits(measures) else 0.0

    def stands(self, measures: Measures) -> bool:
        """Return whether a release is within the bounds and nondominated."""
        return self.aim.fits(measures) and not self.beats(measures)

    def beats(self, measures: Measures) -> bool:
        """Return whether a release of the frontier dominates these measures."""
        place = self.aim.place(measures)
        return bool(((self.front <= place).all(axis=1) & (self.front < place).any(axis=1)).any())

    def gain(self, new: Numbers) -> float:
        """Return the share of the frame that a place alone would dominate."""
        return exclusive(new, self.front, self.corner) / float(self.extent.prod())


def frame(axes: Sequence[str], places: Sequence[Numbers], ends: Sequence[Measures]) -> tuple[Numbers, Numbers]:
    """Return the best and the worst corner of the frame, in costs.

    Along each axis the frame contains the ends of the map and the releases on the frontier. If the ends are equal, it
    contains the range of the measure if finite, else all releases if the frontier is a point.
    """
    every = np.array(places, np.float64).reshape(len(places), len(axes))
    rows = every[non_dominated(every)]
    spans = []
    for i, name in enumerate(axes):
        known = [scaled(name, each[name]) for each in ends if isfinite(each.get(name, inf))]
        values = [*rows[:, i].tolist(), *known]
        bounds = MEASURES[name].least, MEASURES[name].most
        if (not known or min(known) == max(known)) and all(map(isfinite, bounds)):
            values += [cost(name, bound) for bound in bounds]
        elif min(values, default=0.0) == max(values, default=0.0):
            values += every[:, i].tolist()
        spans.append((min(values, default=0.0), max(values, default=0.0)))
    return np.array([span[0] for span in spans]), np.array([span[1] for span in spans])


AT_ONCE = 4
"""Candidates per decision; fixed, so that the number of workers has no effect."""

MEMORY = 0.95
"""The factor by which each earlier offer loses weight when another one is evaluated."""

CREDIT = 0.02
"""The assumed gain of the first try of a family, or of the first cut vector, as a share of the open frame."""

ASIDE = 0.02
"""The factor of it for a family that restricts sensitive values, if no objective measures these."""

POOR = 0.25
"""Half a batch is always filled; further offers must reach this share of the best."""

DEAR = 2.0 * AT_ONCE
"""The maximum cost of further offers, in releases of Mondrian; for expensive ones the last result decides."""

LAST = 0.99
"""The weight of the last gain in the expected gain of the next try; the rest is of earlier gains."""

DIFFER = ("is_exact", "suppress")
"""The differences between families of a kin: the form, and the suppression limit."""

CUTS = -1
"""The index of cut vectors among the families."""

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def read_budget(text: str) -> float:
    """Parse a time such as 60s, 5m or 1h into seconds."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text)
    if match is None or match[2] not in UNITS or not 0 < float(match[1]) * UNITS[match[2]] <= 30 * 86400:
        raise BadInputError(f"budget {text!r}: write a time such as 60s, 5m or 1h")
    return float(match[1]) * UNITS[match[2]]


def tune(
    study: Study | str | Any,
    seconds: float = inf,
    cache: Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    table: Any = None,
    tries: int | None = None,
    cancel: Cancel | None = None,
    best: str | Sequence[str] | None = None,
    bounds: Sequence[Bound] = (),
) -> Map:
    """Explore a study (given as to `explore`) and promising further candidates until time is up or all are tried.

    `tries` limits the candidates besides the study's own: unlike time, the same number gives the same map anywhere.

    With `best` it searches for the best value of one or several measures within `bounds`, instead of a better frontier
    on the axes. `table` is the data of the study (a table or baskets), if open.

    The map's study has every measured candidate, so it can be explored again, chosen from and published. `cancel`
    stops it like `explore`; then the map has only the study's own candidates.
    """
    if seconds == inf and tries is None:
        raise BadInputError("a tuner needs a limit: give seconds, tries or both")
    given = as_study(study)
    asked = (best,) if isinstance(best, str) else tuple(best or ())
    plan = given.search or SearchPlan()
    within = tuple(dict.fromkeys([*bounds, *plan.bounds]))
    aim = Aim(asked, within, asked=True) if asked else Aim(given.axes, within)
    drawn, notices = _drawn_for(given, aim)
    exploration: Exploration = Exploration(drawn, cache, workers, table, cancel)
    tuning = _Tuning(exploration, aim, seconds, tries, progress or (lambda done, total, last: None))
    tuning.run()
    _check_made(aim, list(tuning.tuner.points.values()))
    with exploration.mapped_when_stopped(lambda: _points_of(tuning.own, tuning.tuner.points)):
        return tuning.map(notices)


def _check_made(aim: Aim, points: Collection[Point]) -> None:
    """Raise if epsilon is asked for, and no mechanism can be run on the table."""
    failed = [point for point in points if point.status == "failed" and point.candidate.anonymizer.noisy]
    if "epsilon" in aim.names and failed and not any(point.has(["epsilon"]) for point in points):
        point = failed[0]
        raise BadInputError(f"no release with an epsilon can be made: {point.candidate.anonymizer}: {point.reason}")


def _drawn_for(given: Study, aim: Aim) -> tuple[Study, list[str]]:
    """Return the study on axes that the releases in question have, and a sentence if the axes change."""
    drawn = given.on_axes_for(aim.names)
    if drawn.axes == given.axes:
        return given, []
    axes = f"{listed(drawn.axes)}, not on {listed(given.axes)}"
    return drawn, [f"the map is drawn on {axes}: releases with an epsilon have no measures of groups"]


def _points_of(candidates: Sequence[Any], *known: Mapping[Any, Point]) -> list[Point]:
    return [points[one] for one in candidates for points in known if one in points]


class _Tuning:
    """A running tuner: the order of candidates until time is up."""

    def __init__(
        self, exploration: Exploration, aim: Aim, seconds: float, tries: int | None, progress: Progress
    ) -> None:
        self.started = time.monotonic()
        self.exploration, self.seconds, self.tries, self.progress = exploration, seconds, tries, progress
        self.own = sorted(exploration.candidates, key=lambda one: not one.anonymizer.baseline)
        self.wanted = set(self.own)
        self.proposals: Proposals = exploration.work.proposals(aim, exploration.crew.workers)
        self.tuner = Tuner(aim, list(self.proposals.families), most_cuts=self.proposals.most_cuts)
        self.order: list[tuple[float, str]] = []

    def run(self) -> None:
        """Try batch after batch; then add known points of the study's own candidates that were not reached."""
        ends = None if self.seconds == inf else self.started + self.seconds
        for number, batch in enumerate(self._batches()):
            if number < 2:  # the first release and the ends of the map ignore the time limit
                self._try(list(dict.fromkeys(batch)), None)
            elif ends is not None and time.monotonic() >= ends:
                break
            else:
                self._try(list(dict.fromkeys(batch)), ends)
        known = self.exploration.known_of(one for one in self.own if one not in self.tuner.points)
        for one, point in known.items():
            self._learn(one, point)

    def _batches(self) -> Iterator[list[Any]]:
        """Yield batches: a first release, the ends of the map, the study's own candidates, then the tuner's.

        With a question, the study's own alternate with possible answers. Without own candidates, the first release
        answers the question directly, if there is one.
        """
        rest = [one for one in self.own if not one.anonymizer.baseline]
        yield rest[:1] or list(self.proposals.straight[:1])
        yield [*(one for one in self.own if one.anonymizer.baseline), *self.proposals.ends]
        self.tuner.cuts = self.proposals.cuts()
        step = AT_ONCE if self.tuner.aim.asked else len(rest)
        yield [*self.proposals.straight, *rest[1 : step + 1]]
        rest = rest[step + 1 :]
        while batch := [*self._thought_of(), *rest[:step]]:
            yield batch
            rest = [one for one in rest[step:] if one not in self.tuner.points]

    def _thought_of(self) -> list[Any]:
        """Return the next candidates of the tuner, within its limit."""
        if self.tries is None:
            return self.tuner.next()
        left = self.tries - sum(one not in self.wanted for one in self.tuner.points)
        return self.tuner.next()[:left] if left > 0 else []

    def _try(self, batch: Sequence[Any], ends: float | None) -> None:
        kept = self.exploration.known_of(batch)
        fresh = [candidate for candidate in batch if candidate not in kept]
        with self.exploration.mapped_when_stopped(lambda: _points_of(self.own, kept, self.tuner.points)):
            for candidate, point in self.exploration.measured(fresh, ends):
                kept[candidate] = point
                self._report(str(candidate))
        for candidate in batch:
            if candidate in kept:
                self._learn(candidate, kept[candidate])

    def _report(self, last: str) -> None:
        if self.seconds == inf:
            self.progress(len(self.tuner.points), len(self.own) + (self.tries or 0), last)
        else:
            self.progress(int(time.monotonic() - self.started), int(self.seconds), last)

    def _learn(self, candidate: Any, point: Point) -> None:
        """Pass a point to the tuner; an end of the map that the study lacks only sets the frame."""
        if candidate in self.proposals.ends:
            self.tuner.ends.append(point)
        if candidate in self.wanted or candidate not in self.proposals.ends:
            self.tuner.learn(candidate, point)
            self.order.append((round(time.monotonic() - self.started, 3), candidate.id))

    def map(self, notices: Sequence[str]) -> Map:
        """Return the map of the study's own candidates and the measured further ones, with notices."""
        points = self.tuner.points
        shown = {one: point for one, point in points.items() if one in self.wanted or point.status == "measured"}
        added = [one for one in shown if one not in self.wanted]
        ids = {point.id for point in shown.values()}
        tuning = {
            "budget": self.seconds,
            "order": [(seconds, id) for seconds, id in self.order if id in ids],
            "added": len(added),
            "unreached": len(self.wanted - set(shown)),
            "exhausted": self.tuner.exhausted,
        }
        bound = self.exploration.crew.do(self.proposals.bound)
        decided = () if self.tuner.cuts is None else self.tuner.cuts.decided
        self.exploration.decide([*decided, *([] if bound is None else [bound])])
        grown = self.exploration.study.grown(added, found=True)
        about = {"tuning": tuning, "notices": [*self.exploration.work.about["notices"], *notices]}
        return self.exploration.map(list(shown.values()), grown, about)


class Offer(NamedTuple):
    """A possible next candidate with its expected gain."""

    place: int
    """Its family, or `CUTS`."""

    candidate: Any
    """None is the next cut vector, which is computed when its turn comes."""

    gain: float
    """The expected gain, as a share of the frame."""

    worth: float
    """The expected gain per cost, times the share of kept offers of its kind."""

    ends: int | None = None
    """Between two releases: the number of them on the frontier."""

    kinds: tuple[str, ...] = ()
    """Of a first try of a family: its differences from its known kin, and whether it is aside."""


@dataclass
class KeptPromises:
    """The mean realised share of offers of a kind, later ones with more weight.

    It starts with one kept offer.
    """

    promised: float = 1.0
    kept: float = 1.0

    @property
    def share(self) -> float:
        """The expected realised share of the next offer."""
        return self.kept / self.promised

    def take(self, share: float) -> None:
        """Add the realised share of an offer."""
        self.promised = MEMORY * self.promised + 1.0
        self.kept = MEMORY * self.kept + share


@dataclass
class Tuner:
    """Chooses the next candidates, from the points so far alone."""

    aim: Aim
    families: list[Family]
    cuts: CountedCuts | None = None
    most_cuts: int | None = None
    """The maximum number of cut vectors."""

    points: dict[Any, Point] = field(default_factory=dict)
    ends: list[Point] = field(default_factory=list)
    """The trivial release and the original, the ends of the map's frame."""

    exhausted: bool = False
    """Whether the last call had nothing left to try."""

    def __post_init__(self) -> None:
        bounds = self.aim.bounds if self.aim.asked else ()
        self._first = [family.first_within(bounds) for family in self.families]
        self._known: list[dict[float, Point]] = [{} for _ in self.families]
        self._relevant: list[Point] = []  # nondominated when added: enough for the frame and the frontier
        self._trust = [KeptPromises() for _ in self.families]
        self._trust_between = [KeptPromises() for _ in range(3)]  # by the number of ends on the frontier
        self._trust_first = {kind: KeptPromises() for kind in (*DIFFER, "aside")}
        self._middles: dict[tuple[int, float, float], Any] = {}
        self._hopes: dict[Any, Offer] = {}
        self._closed: set[int] = set()
        self._cut: set[Any] = set()
        tells = any(MEASURES[name].needs_sensitive for name in self.aim.names)
        self._aside = [not tells and family.is_about_values for family in self.families]
        self._share = {CUTS: CREDIT} | {i: CREDIT * (ASIDE if each else 1.0) for i, each in enumerate(self._aside)}
        self._credit: dict[Any, float] = {}
        self._tried = dict.fromkeys(self._share, 0)
        freest: dict[str, int] = {}
        for i, family in sorted(self._places, key=lambda place: place[1].suppress):
            freest[family.without_suppression.key] = i
        self._freest = [freest[family.without_suppression.key] for family in self.families]
        kin: dict[str, list[int]] = {}
        for i, family in sorted(self._places, key=lambda place: (not place[1].is_exact, -place[1].suppress)):
            kin.setdefault(family.kin, []).append(i)
        self._kin = [kin[family.kin] for family in self.families]

    @property
    def _places(self) -> Iterator[tuple[int, Family]]:
        return enumerate(self.families)

    def learn(self, candidate: Any, point: Point) -> None:
        """Add the point of a candidate, and compare it with its offer."""
        judge = self._judge()
        self.points[candidate] = point
        seen = self.aim.sees(point)
        gain = judge.gain_of(point.measures) if self.aim.counts(point) else 0.0
        if self.aim.counts(point) and not judge.beats(point.measures):
            self._relevant.append(point)
        for i, family in self._places:
            value = family.value_of(candidate)
            if value is None:
                continue
            self._take(i, gain, judge)
            self._take_side(i, candidate, gain)
            if seen:
                self._known[i][value] = point
            elif point.status == "failed":  # the maker does not support such a requirement or table
                self._closed.add(i)
        if candidate in self._hopes:
            offer = self._hopes.pop(candidate)
            kept = min(gain / offer.gain, 1.0) if offer.gain > 0 else 1.0
            self._trust[offer.place].take(kept)
            if offer.ends is not None:
                self._trust_between[offer.ends].take(kept)
            for kind in offer.kinds if point.status != "failed" else ():  # a failure is no evidence about its kind
                self._trust_first[kind].take(kept)
        if candidate in self._cut:
            self._take(CUTS, gain, judge)

    def _take(self, place: int, gain: float, judge: Judge) -> None:
        """Update the expected gain of the next try of a family with the gain of this one."""
        self._credit[place] = LAST * gain + (1 - LAST) * self._credit_of(place, judge.open)
        self._tried[place] += 1

    def _take_side(self, place: int, candidate: Any, gain: float) -> None:
        """Update the expected gain beyond the known values on this side."""
        side = self._first[place].get(candidate)
        if side is not None:
            for each in (side,) if side else (-1, 1):
                self._credit[place, each] = gain

    def _credit_of(self, place: int, left: float) -> float:
        """Return the expected gain of the next try, given the open share of the frame."""
        return self._credit.get(place, self._share[place] * left)

    def next(self) -> list[Any]:
        """Return the offers with the highest expected gain per cost."""
        judge = self._judge()
        offers = sorted(
            [*self._between(judge), *self._beyond(judge.open)], key=lambda offer: (-offer.worth, offer.place)
        )
        chosen: dict[Any, Offer] = {}
        for offer in offers:
            poor = offer.worth < POOR * max((each.worth for each in chosen.values()), default=0.0)
            dear = sum(self._effort_of(each.place) for each in (*chosen.values(), offer)) > DEAR
            if len(chosen) >= AT_ONCE // 2 and (poor or dear or len(chosen) == AT_ONCE):
                break
            for candidate in self._next_cuts(1) if offer.candidate is None else [offer.candidate]:
                chosen.setdefault(candidate, offer)
        for candidate in self._next_cuts(AT_ONCE // 2 - len(chosen)):
            chosen.setdefault(candidate, Offer(CUTS, candidate, 0.0, 0.0))
        self._hopes |= {one: offer for one, offer in chosen.items() if offer.place != CUTS}
        self.exhausted = not chosen
        return list(chosen)

    def _effort_of(self, place: int) -> float:
        return CutVector.effort if place == CUTS else self.families[place].effort

    def _judge(self) -> Judge:
        return self.aim.judge(self._relevant, self.ends)

    def _next_cuts(self, most: int) -> list[Any]:
        left = most if self.most_cuts is None else min(most, self.most_cuts - len(self._cut))
        if self.cuts is None or left < 1:
            return []
        judge = self._judge()
        chosen = self.cuts.next(judge.gain_of, self.points, left)
        self._cut |= set(chosen)
        if not chosen:  # an unsuccessful search was a try too
            self._take(CUTS, 0.0, judge)
        return chosen

    def _beyond(self, left: float) -> list[Offer]:
        """List the next try beyond the known values of each family, and of cut vectors, by their last gains.

        A family waits for the first of its kin that can be made, and starts with its expected gain. The first of a kin
        shows exact values, which are more useful, and has the highest suppression limit.
        """
        offers = []
        for i, family in self._places:
            known = i if self._tried[i] else next((each for each in self._kin[i] if each not in self._closed), i)
            if i in self._closed or (known != i and not self._tried[known]):
                continue
            kinds = () if self._tried[i] else self._kinds_of(known, i)
            trust = min([self._trust[known].share, *(self._trust_first[kind].share for kind in kinds)])
            for side, candidate in self._next_sides(i):
                credit = self._credit.get((i, side), self._credit_of(known, left))
                offers.append(Offer(i, candidate, credit, trust * credit / family.effort, kinds=kinds))
        if self.cuts is not None:
            credit = self._credit_of(CUTS, left)
            offers.append(Offer(CUTS, None, credit, credit / CutVector.effort))
        return offers

    def _next_sides(self, place: int) -> Iterator[tuple[int, Any]]:
        """Yield the next tries of a family on both sides of its middle, which comes first."""
        left = {side: one for one, side in reversed(self._first[place].items()) if one not in self.points}
        for side in (0,) if 0 in left else sorted(left):
            yield side, left[side]

    def _kinds_of(self, known: int, place: int) -> tuple[str, ...]:
        """Return the kinds of a first try of a family that has a known kin."""
        here, there = self.families[known], self.families[place]
        differs = tuple(name for name in DIFFER if getattr(here, name) != getattr(there, name))
        return (*differs, "aside") if self._aside[place] else differs

    def _between(self, judge: Judge) -> list[Offer]:
        """List the values half way between known ones of each family that have an expected gain."""
        offers: dict[Any, Offer] = {}
        for i, family in self._places:
            for (low, here), (high, there), share in self._gaps(i):
                candidate = self._middle(i, low, high)
                if i in self._closed or candidate is None or candidate in self.points or self._repeats(i, low, high):
                    continue
                hope = share * judge.between(here.measures, there.measures)
                if hope > 0:
                    ends = judge.stands(here.measures) + judge.stands(there.measures)
                    trust = min(self._trust[i].share, self._trust_between[ends].share)
                    offers.setdefault(candidate, Offer(i, candidate, hope, trust * hope / family.effort, ends))
        return list(offers.values())

    def _repeats(self, place: int, *values: float) -> bool:
        """Return whether a family makes the same releases at some values as the one with the highest limit."""
        own, freest = self._known[place], self._known[self._freest[place]]
        return own is not freest and all(value in freest and self._same(own[value], freest[value]) for value in values)

    def _middle(self, place: int, low: float, high: float) -> Any:
        """Return the member of a family half way between two values; None if there is none."""
        key = place, low, high
        if key not in self._middles:
            value = self.families[place].dial.between(low, high)
            self._middles[key] = None if value is None else self.families[place].at(value)
        return self._middles[key]

    def _gaps(self, place: int) -> Iterator[tuple[tuple[float, Point], tuple[float, Point], float]]:
        """Yield neighbouring values of a family whose releases differ, and the share of the offer that counts.

        If a release stays the same over an interval and then jumps, bisection finds both sides repeatedly. Of the
        interval from the start of the first to the end of the second release, only the unknown part counts.
        """
        runs: list[list[tuple[float, Point]]] = []
        for value, point in sorted(self._known[place].items()):
            if runs and self._same(runs[-1][-1][1], point):
                runs[-1].append((value, point))
            else:
                runs.append([(value, point)])
        for below, above in pairwise(runs):
            first = below[0][0]
            share = log(above[0][0] / below[-1][0]) / log(above[-1][0] / first) if first > 0 else 1.0
            yield below[-1], above[0], share

    def _same(self, one: Point, other: Point) -> bool:
        return all(one.measures[name] == other.measures[name] for name in self.aim.names)
