"""What a tuner is after: a lower staircase on two axes, within bounds if there are some, or the best of one measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, log

from sfumato.measures import MEASURES
from sfumato.tradeoff.choice.bounds import Bound
from sfumato.tradeoff.dominance import cost
from sfumato.tradeoff.limit.score import Frame, Place
from sfumato.tradeoff.map import Point

HOPE = 1 / 3
"""How far beyond the straight line between two releases, towards the better of each measure, a new one is hoped for."""

DOUBT = 0.002
"""A small share of hope for what seems to gain nothing."""


def scaled(name: str, value: float) -> float:
    """Return a measure as a cost (lower is better); a gain without an upper end, such as k, by its logarithm."""
    endless = MEASURES[name].better == "higher" and MEASURES[name].most == inf
    return cost(name, log(value) if endless and value > 0 else value)


@dataclass(frozen=True)
class Aim:
    """The best of a measure within bounds; without a measure, a low staircase on the axes within them."""

    axes: tuple[str, str]
    best: str | None = None
    bounds: tuple[Bound, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The measures that it needs to know."""
        wanted = self.axes if self.best is None else (self.best,)
        return tuple(dict.fromkeys([*wanted, *(bound.measure for bound in self.bounds)]))

    def sees(self, point: Point) -> bool:
        """Say whether a point has finite values of all these measures."""
        return point.has(self.names) and all(isfinite(point.measures[name]) for name in self.names)

    def wants(self, point: Point) -> bool:
        """Say whether a point may be part of the staircase, or of what leads to the best."""
        return self.sees(point) and (self.best is not None or fits(point.measures, self.bounds))

    def judge(self, points: Sequence[Point]) -> Staircase | BestWithin:
        """Return what says how much a further point would gain."""
        seen = [point.measures for point in points if self.sees(point)]
        if self.best is not None:
            return BestWithin(self, seen)
        return Staircase([place_of(measures, self.axes) for measures in seen], self.axes)._within(self.bounds, seen)


def fits(measures: Mapping[str, float], bounds: Sequence[Bound]) -> bool:
    """Say whether measures keep within the bounds; a measure that is not known may."""
    known = (bound for bound in bounds if bound.measure in measures)
    return all(bound.outside(measures[bound.measure]) == 0.0 for bound in known)


def place_of(measures: Mapping[str, float], axes: Sequence[str]) -> Place:
    """Return where measures lie on two axes, as costs."""
    x, y = (scaled(name, measures[name]) for name in axes)
    return x, y


class Staircase:
    """The frontier of some places, and what a further place would take from under it, as a part of what they span."""

    def __init__(self, places: Sequence[Place], axes: Sequence[str] = ()) -> None:
        self.places, self.axes = places, axes
        ends = [(min(costs), max(costs)) for costs in zip(*places, strict=True)]
        flat = not ends or any(low == high for low, high in ends)
        self.frame = None if flat else Frame(ends[0], ends[1])
        self.area = 0.0 if self.frame is None else self.frame.area(places)
        self.bounds: Sequence[Bound] = ()

    def _within(self, bounds: Sequence[Bound], seen: Sequence[Mapping[str, float]]) -> Staircase:
        """Count only what keeps within bounds, in the box of all."""
        self.bounds = bounds
        self.places = [place for place, each in zip(self.places, seen, strict=True) if fits(each, bounds)]
        self.area = 0.0 if self.frame is None else self.frame.area(self.places)
        return self

    def between(self, here: Mapping[str, float], there: Mapping[str, float]) -> float:
        """Say what a release between two others promises: better than half way, and a little for the best of both."""
        if not (fits(here, self.bounds) or fits(there, self.bounds)):
            return 0.0
        ends = place_of(here, self.axes), place_of(there, self.axes)
        return self.hope(*ends, HOPE) + DOUBT * self.hope(*ends, 1.0)

    def gain_of(self, measures: Mapping[str, float]) -> float:
        """Say what a release of these measures would gain."""
        return self.gain(place_of(measures, self.axes)) if fits(measures, self.bounds) else 0.0

    def hope(self, here: Place, there: Place, share: float) -> float:
        """Say what a place between two others would gain, better than half way by a share of what is possible."""
        hoped = tuple((1 - share) * (a + b) / 2 + share * min(a, b) for a, b in zip(here, there, strict=True))
        return self.gain((hoped[0], hoped[1]))

    def gain(self, new: Place) -> float:
        """Say which part of the area a place takes from under the staircase."""
        return 0.0 if self.frame is None else self.area - self.frame.area([*self.places, new])


class BestWithin:
    """The best release within bounds so far, and what one between two others could add to it."""

    def __init__(self, aim: Aim, seen: Sequence[Mapping[str, float]]) -> None:
        assert aim.best is not None
        self.best, self.bounds = aim.best, aim.bounds
        costs = [scaled(self.best, each[self.best]) for each in seen]
        inside = [value for value, each in zip(costs, seen, strict=True) if fits(each, self.bounds)]
        self.worst = max(costs, default=0.0)
        self.reached = min(inside, default=self.worst)

    def between(self, here: Mapping[str, float], there: Mapping[str, float]) -> float:
        """Say how much better than the best so far a release between two others can be; one of them must fit."""
        if fits(here, self.bounds) == fits(there, self.bounds):
            return 0.0
        return max(self.reached - min(scaled(self.best, each[self.best]) for each in (here, there)), 0.0)

    def gain_of(self, measures: Mapping[str, float]) -> float:
        """Say how much better than the best so far a release of these measures is."""
        lacking = [bound for bound in self.bounds if bound.measure not in measures]
        if lacking or not fits(measures, self.bounds):
            return 0.0
        return max(self.reached - scaled(self.best, measures[self.best]), 0.0)
