"""What a tuner is after: a better frontier on the axes, or the best of some measures within bounds on others.

Both are one: what a further release gains is the volume that it alone dominates, of the releases that are within the
bounds, in the frame of the map. The frame reaches from the trivial release to the original, made for this if the study
lacks them, so that whatever lies between them counts from the first release on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, log

import numpy as np

from sfumato.measures.all_measures import MEASURES
from sfumato.runtime.arrays import Numbers
from sfumato.tradeoff.comparison import cost, exclusive, hypervolume, non_dominated
from sfumato.tradeoff.map import Point
from sfumato.tradeoff.question.question import Bound
from sfumato.tradeoff.question.recipients import ABOUT_HIDING, refusal, shows_exact

HOPE = 1 / 3
"""How far beyond the straight line between two releases, towards the better of each measure, a new one is hoped for."""

DOUBT = 0.002
"""A small share of hope for what seems to gain nothing."""

BEYOND = 1e-3
"""So much beyond its worst end, as a share of its extent, does the frame reach: a release there counts a little."""

Measures = Mapping[str, float]


def scaled(name: str, value: float) -> float:
    """Return a measure as a cost (lower is better); a gain without an upper end, such as k, by its logarithm."""
    endless = MEASURES[name].better == "higher" and MEASURES[name].most == inf
    return cost(name, log(value) if endless and value > 0 else value)


@dataclass(frozen=True)
class Aim:
    """A good frontier of some measures, among the releases within bounds; of one measure it is its best value."""

    axes: tuple[str, ...]
    bounds: tuple[Bound, ...] = ()
    asked: bool = False
    """Whether it is a question: then nothing counts that would not be an answer."""

    @property
    def names(self) -> tuple[str, ...]:
        """The measures that it needs to know."""
        return tuple(dict.fromkeys([*self.axes, *(bound.measure for bound in self.bounds)]))

    def sees(self, point: Point) -> bool:
        """Say whether a point has finite values of all these measures."""
        return point.has(self.names) and all(isfinite(point.measures[name]) for name in self.names)

    def counts(self, point: Point) -> bool:
        """Say whether it sees a point that may also be an answer, where one is wanted."""
        shows = self.is_about_hiding and shows_exact(point)
        return self.sees(point) and not (self.asked and (shows or refusal(point)))

    @property
    def is_about_hiding(self) -> bool:
        """Whether it asks how well quasi-identifiers are hidden: then who shows them is no answer."""
        return self.asked and not ABOUT_HIDING.isdisjoint(self.names)

    def fits(self, measures: Measures) -> bool:
        """Say whether measures keep within the bounds."""
        return not self.missed(measures)

    def missed(self, measures: Measures) -> set[Bound]:
        """Return the bounds that measures do not keep; one on a measure that is not known yet may be kept."""
        known = (bound for bound in self.bounds if bound.measure in measures)
        return {bound for bound in known if bound.outside(measures[bound.measure]) > 0.0}

    def place(self, measures: Measures) -> Numbers:
        """Return where measures lie on the axes, as costs."""
        return np.array([scaled(name, measures[name]) for name in self.axes])

    def judge(self, points: Sequence[Point], ends: Sequence[Point] = ()) -> Judge:
        """Return what says how much a further point would gain, in the frame of these points and of the map's ends."""
        seen = [point.measures for point in points if self.counts(point)]
        return Judge(self, seen, [point.measures for point in ends if point.status == "measured"])


class Judge:
    """The frontier of the releases within the bounds, and what a further one would take, as a part of the frame."""

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
        """Which part of the frame nothing dominates yet."""
        return max(1.0 - hypervolume(self.front, self.corner) / float(self.extent.prod()), 0.0)

    def between(self, here: Measures, there: Measures) -> float:
        """Say what a release between two others promises: better than half way, and a little for the best of both.

        Where only one of them is within the bounds, or each misses another bound, it is the best of both.
        """
        missed = self.aim.missed(here), self.aim.missed(there)
        if missed[0] & missed[1]:
            return 0.0
        ends = self.aim.place(here), self.aim.place(there)
        if missed[0] or missed[1]:
            return self.hope(*ends, 1.0)
        return self.hope(*ends, HOPE) + DOUBT * self.hope(*ends, 1.0)

    def hope(self, here: Numbers, there: Numbers, share: float) -> float:
        """Say what a place between two others would gain, better than half way by a share of what is possible."""
        return self.gain((1 - share) * (here + there) / 2 + share * np.minimum(here, there))

    def gain_of(self, measures: Measures) -> float:
        """Say what a release of these measures would gain; nothing where its place is not known."""
        known = all(name in measures for name in self.aim.axes)
        return self.gain(self.aim.place(measures)) if known and self.aim.fits(measures) else 0.0

    def stands(self, measures: Measures) -> bool:
        """Say whether a release is within the bounds and no other dominates it."""
        return self.aim.fits(measures) and not self.beats(measures)

    def beats(self, measures: Measures) -> bool:
        """Say whether a release of the frontier dominates these measures."""
        place = self.aim.place(measures)
        return bool(((self.front <= place).all(axis=1) & (self.front < place).any(axis=1)).any())

    def gain(self, new: Numbers) -> float:
        """Say which part of the frame a place alone would dominate."""
        return exclusive(new, self.front, self.corner) / float(self.extent.prod())


def frame(axes: Sequence[str], places: Sequence[Numbers], ends: Sequence[Measures]) -> tuple[Numbers, Numbers]:
    """Return the best and the worst corner of the frame, in costs.

    Along each axis it spans what the ends of the map and the releases on the frontier have; where the ends do not
    differ, all that the measure can be, if that is finite, otherwise what all releases have if the frontier is a point.
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
