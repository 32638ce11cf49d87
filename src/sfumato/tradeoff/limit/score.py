"""The score of a set of releases: the area under its staircase, as a part of the worst. Lower is better.

On P_loss and U_loss the staircase runs from P_loss 0, at the U_loss of the release without quasi-identifiers (which
anybody can make), to the P_loss of a revealed rarest value, and the area is divided by the product of these two: 1 is
no better than that release, 0 would be no loss of utility at any risk. Both ends are facts of the table, so scores of
different studies of it compare, and the limit has a score that no truthful releases can undercut.

Any other two measures have no such ends. There the box is what the map itself spans, and the score is 1 minus the part
of it that the releases dominate (their hypervolume); it compares sets of releases of one map, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, ClassVar

from sfumato.errors import BadInputError
from sfumato.quiet import Quiet
from sfumato.tradeoff.choice.bounds import check_measure
from sfumato.tradeoff.dominance import cost
from sfumato.tradeoff.limit.limit import AXES

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Map, Point

Place = tuple[float, float]
NOTHING = 1e-9
"""A stretch that is not longer is none: measures that are equal by definition differ by rounding."""


@dataclass(frozen=True)
class ScoreBox:
    """The box in which a staircase runs, in costs (lower is better): it starts at the upper left corner."""

    x: tuple[float, float]
    y: tuple[float, float]

    def area(self, places: Iterable[Place]) -> float:
        """Return the area under the staircase of some places, as a part of the box."""
        steps = self.steps(places)
        under = sum((right[0] - left[0]) * (left[1] - self.y[0]) for left, right in pairwise(steps))
        return under / ((self.x[1] - self.x[0]) * (self.y[1] - self.y[0]))

    def steps(self, places: Iterable[Place]) -> list[Place]:
        """Return where the staircase goes down, from its start to the right end of the box."""
        steps = [(self.x[0], self.y[1])]
        for x, y in sorted(places):
            if y < steps[-1][1] and x < self.x[1]:
                steps.append((max(x, self.x[0]), max(y, self.y[0])))
        return [*steps, (self.x[1], steps[-1][1])]


@dataclass(frozen=True, repr=False)
class Part(Quiet):
    """What the releases of one anonymizer in one form give to the frontier."""

    spoken: ClassVar[tuple[str, ...]] = ("anonymizer", "form")

    anonymizer: str
    form: str
    score: float
    """Of these releases alone."""

    without: float
    """Of all other releases: what the map would score without these."""

    frontier: int
    """How many of them are on the frontier."""

    share: float
    """For which part of the range of the first measure the best release is one of these."""

    stretches: tuple[tuple[float, float], ...]
    """Where that is: values of the first measure, from and to."""


@dataclass(frozen=True, repr=False)
class Scores(Quiet):
    """The scores of a map: of all releases together, of each anonymizer's, and of the limit."""

    spoken: ClassVar[tuple[str, ...]] = ("axes",)

    axes: tuple[str, str]
    union: float
    limit: float | None
    anonymizers: dict[str, float]
    parts: tuple[Part, ...]


def frame_of(map_: Map, axes: Sequence[str]) -> ScoreBox:
    """Return the box of two measures: for P_loss and U_loss that of the table, for others what the map spans."""
    x, y = axes
    if (x, y) == AXES:
        if map_.limit is None:
            raise BadInputError(
                "a score on p_loss and u_loss needs the map's limit, which this map does not have: explore the study "
                "again (a table without large populations has none)"
            )
        if map_.limit.revealed <= NOTHING:
            raise BadInputError(
                "there is no score on p_loss and u_loss: the sensitive column has one value, so nobody can lose privacy"
            )
        if map_.limit.trivial <= NOTHING:
            raise BadInputError(
                "there is no score on p_loss and u_loss: every large population has the sensitive values of the whole "
                "table, so the release without quasi-identifiers loses nothing either"
            )
        return ScoreBox((0.0, map_.limit.revealed), (0.0, map_.limit.trivial))
    places = [place(point, axes) for point in map_.points if drawable(point, axes)]
    ends = [(min(values), max(values)) for values in zip(*places, strict=True)] or [(0.0, 0.0)] * 2
    for name, (least, most) in zip(axes, ends, strict=True):
        if most - least <= NOTHING:
            raise BadInputError(
                f"there is no score on {x} and {y}: all points of the map have the same {name}, or none"
            )
    return ScoreBox(ends[0], ends[1])


def score(map_: Map, points: Iterable[Point] | None = None, axes: Sequence[str] | None = None) -> float:
    """Score some points of a map, or all; the release without quasi-identifiers always counts, the original never."""
    axes = _checked(map_, axes)
    frame = frame_of(map_, axes)
    return frame.area(place(point, axes) for point in _scored(map_, points, axes))


def scores(map_: Map, axes: Sequence[str] | None = None) -> Scores:
    """Score a map, each anonymizer's releases, and the limit; say which part of the frontier each of them gives."""
    axes = _checked(map_, axes)
    frame = frame_of(map_, axes)
    releases = [point for point in map_.points if drawable(point, axes) and not point.is_baseline]
    floor = map_.limit.area if map_.limit is not None and tuple(axes) == AXES else None
    names = list(dict.fromkeys(maker_name(point) for point in releases))
    kinds = list(dict.fromkeys((maker_name(point), point.form) for point in releases))
    return Scores(
        (axes[0], axes[1]),
        score(map_, None, axes),
        None if floor is None else floor / ((frame.x[1] - frame.x[0]) * (frame.y[1] - frame.y[0])),
        {name: score(map_, [point for point in releases if maker_name(point) == name], axes) for name in names},
        tuple(_part(map_, axes, frame, releases, kind) for kind in kinds),
    )


def _part(map_: Map, axes: Sequence[str], frame: ScoreBox, releases: list[Point], kind: tuple[str, str]) -> Part:
    """Say what one kind of releases gives: alone, missing, and where on the frontier."""
    members = [point for point in releases if (maker_name(point), point.form) == kind]
    others = [point for point in releases if (maker_name(point), point.form) != kind]
    best = {point.id for point in map_.frontier(*axes)}
    steps = frame.steps(place(point, axes) for point in _scored(map_, None, axes))
    places = {place(point, axes) for point in members}
    held = [(left[0], right[0]) for left, right in pairwise(steps) if left in places and right[0] > left[0]]
    joined: list[tuple[float, float]] = []
    for start, end in held:
        joined = [*joined[:-1], (joined[-1][0], end)] if joined and joined[-1][1] == start else [*joined, (start, end)]
    return Part(
        *kind,
        score(map_, members, axes),
        score(map_, others, axes),
        sum(point.id in best for point in members),
        sum(end - start for start, end in held) / (frame.x[1] - frame.x[0]),
        tuple((cost(axes[0], start), cost(axes[0], end)) for start, end in joined),  # turned back: values again
    )


def maker_name(point: Point) -> str:
    """Return the name of the anonymizer without its settings."""
    return point.candidate.anonymizer.name


def place(point: Point, axes: Sequence[str]) -> Place:
    """Return where a point lies on two measures, turned so that lower is better."""
    x, y = (cost(name, point.measures[name]) for name in axes)
    return x, y


def drawable(point: Point, axes: Sequence[str]) -> bool:
    """Say whether a point has finite values of both measures."""
    return point.has(axes) and all(isfinite(point.measures[name]) for name in axes)


def _scored(map_: Map, points: Iterable[Point] | None, axes: Sequence[str]) -> list[Point]:
    given = map_.points if points is None else [*points, *(point for point in map_.points if point.is_baseline)]
    return [point for point in given if drawable(point, axes) and point.candidate.anonymizer.is_release]


def _checked(map_: Map, axes: Sequence[str] | None) -> tuple[str, str]:
    names = tuple(map_.study.axes[:2] if axes is None else axes)
    if len(names) != 2 or names[0] == names[1]:
        raise BadInputError(f"a score needs two different measures, not {', '.join(names) or 'none'}")
    for name in names:
        check_measure(name)
    return AXES if set(names) == set(AXES) else (names[0], names[1])
