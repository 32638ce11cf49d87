"""The limit: below this line there is no truthful release of a table, whoever makes it (P_loss across, U_loss up).

**Why it holds.** Let a release have P_loss at most p: every group's histogram P_g has JS(Q, P_g) <= p, Q the table's.
Under the uniform reading, what a reader estimates of a large population y is a sum of group histograms, each with a
weight that is not negative (how many of the group's records a box holds, times the part of the box inside y). As a
distribution, that is a mixture R_y of the P_g. The ball { R : JS(Q, R) <= p } is convex, so R_y lies in it, and

    U_loss  =  mean over y of JS(P_y, R_y)  >=  mean over y of min { JS(P_y, R) : JS(Q, R) <= p }.

**With suppression too.** Suppressed records are missing from the weights alone; the mixture of what is left is still
one of histograms in the ball. A population of which no record is left counts the loss of the trivial release,
JS(P_y, Q), and Q is in every ball. P_y and Q are those of the whole table, suppressed records included, on both sides.

**With several sensitive attributes.** P_loss and U_loss are each that of the worst. So every attribute has a P_loss of
at most p and a U_loss of at least its own limit; the largest of these limits is the limit.

**Between the numbers.** Each minimum is convex and falls with p, and its dual bound is a straight line in p that no p
violates. So the tangents of the mean at some p are certified for all p; the limit is the largest of them, and its
vertices, joined by straight lines, are exactly that. Tangents are added where two neighbours leave most room.

The score of a set of releases: the area under its staircase, as a part of the worst. Lower is better.

On P_loss and U_loss the staircase runs from P_loss 0, at the U_loss of the release without quasi-identifiers (which
anybody can make), to the P_loss of a revealed rarest value, and the area is divided by the product of these two: 1 is
no better than that release, 0 would be no loss of utility at any risk. Both ends are facts of the table, so scores of
different studies of it compare, and the limit has a score that no truthful releases can undercut.

Any other two measures have no such ends. There the box is what the map itself spans, and the score is 1 minus the part
of it that the releases dominate (their hypervolume); it compares sets of releases of one map, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sfumato.errors import BadInputError
from sfumato.measures.scales import Prepared
from sfumato.requirements._jensen_shannon import distributions, js, nearest_js
from sfumato.runtime.arrays import Numbers, Quiet
from sfumato.runtime.threads import together
from sfumato.texts.catalogue import t
from sfumato.tradeoff.comparison import cost
from sfumato.tradeoff.question.question import check_measure

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Map, Point

Tangent = tuple[float, float, float]
AXES = ("p_loss", "u_loss")
"""The measures between which the limit is proved. Others have none."""

FIRST: Numbers = 4.0 ** -np.arange(14.0)
"""Where the first tangents touch, as parts of the largest P_loss at which the limit is above 0."""

MOST_TANGENTS, MOST_ROWS = 48, 400_000
"""Tangents of a curve; fewer where there are very many populations, since each looks at all of them."""

ROOM = 1e-3
"""Tangents are added until what they leave open between them is this part of the area under the limit."""

CLOSE = 1e-6
"""How near to the sphere the search for each minimum ends; its bound is then off by a part of 1e-12."""

STRETCH = 256
"""Populations that one thread looks at at a time."""


@dataclass(frozen=True, repr=False)
class Limit(Quiet):
    """A line under the map: for every P_loss a U_loss that no truthful release of the table can be below."""

    points: tuple[tuple[float, float], ...]
    """(P_loss, U_loss) by rising P_loss, to be joined by straight lines; beyond the last one it is 0."""

    trivial: float
    """U_loss of the release without quasi-identifiers, where every frontier starts."""

    revealed: float
    """P_loss of a record whose value is revealed and is the rarest: the largest that there is."""

    @cached_property
    def _columns(self) -> Numbers:
        return np.array(self.points).reshape(-1, 2).T

    def at(self, p_loss: float) -> float:
        """Return the U_loss that no truthful release with at most this P_loss is below."""
        x, y = self._columns
        return float(np.interp(p_loss, x, y))

    @property
    def area(self) -> float:
        """The area under the limit from P_loss 0 to that of a revealed rarest value."""
        x, y = self._columns
        inside = x < self.revealed
        x, y = np.append(x[inside], self.revealed), np.append(y[inside], self.at(self.revealed))
        return float(np.trapezoid(y, x))


MEANING = t("meaning.limit")
"""What the line means and when, for a person without theory."""


def limit(prepared: Prepared) -> Limit | None:
    """Work the limit of a table out; there is none without a sensitive attribute or without large populations.

    Groups of records bound no loss of persons, so where persons are counted there is none either.
    """
    cells = prepared.table.cells
    if not cells.sensitive or not prepared.populations.size or cells.persons is not None:
        return None
    tangents, trivial, revealed = [np.zeros((1, 3))], 0.0, 0.0
    for i, attribute in enumerate(cells.sensitive):
        columns = cells.span(i)
        rows, q = distributions(prepared.population_truth[:, columns]), distributions(attribute.shares)
        apart = np.array([js(row, q) for row in rows])
        most = max(min(MOST_TANGENTS, MOST_ROWS // len(rows)), len(FIRST))
        tangents.append(tangents_of(partial(tangent, rows, q), FIRST * float(apart.max()), most))
        trivial, revealed = max(trivial, float(apart.mean())), max(revealed, revealed_loss(q))
    return Limit(envelope(np.concatenate(tangents)), trivial, revealed)


def revealed_loss(q: Numbers) -> float:
    """Return the P_loss of a record whose sensitive value is revealed, and is the rarest one."""
    return float(js(q, np.eye(len(q))[int(np.argmin(q))]))


def tangents_of(touch: Callable[[float], Tangent], first: Numbers, most: int, room: float = ROOM) -> Numbers:
    """Find tangents of a curve: rows (P_loss, U_loss, slope), by rising P_loss; `touch` gives the one at a P_loss.

    They touch at `first`, then where two neighbours leave most room, until that is the part `room` or there are `most`.
    """
    if not first.any():
        return np.zeros((1, 3))
    tangents = [touch(float(at)) for at in np.sort(first)]
    while len(tangents) < most:
        left_open = [between(left, right) for left, right in pairwise(tangents)]
        below = sum((right[0] - left[0]) * (left[1] + right[1]) / 2 for left, right in pairwise(tangents))
        place = int(np.argmax([area for area, _ in left_open]))
        if sum(area for area, _ in left_open) <= room * below:
            break
        tangents.insert(place + 1, touch(left_open[place][1]))
    return np.array(tangents)


def tangent(rows: Numbers, q: Numbers, p_loss: float) -> Tangent:
    """Return P_loss, the certified mean of all populations' least losses there, and the slope that goes with it."""

    def work(start: int) -> tuple[Numbers, Numbers]:
        nearest = nearest_js(rows[start : start + STRETCH], q, p_loss, CLOSE)
        return nearest.bounds, nearest.multipliers

    parts = together(work, range(0, len(rows), STRETCH))
    bounds, multipliers = (np.concatenate(pieces) for pieces in zip(*parts, strict=True))
    return p_loss, float(bounds.mean()), -float(multipliers.mean())


def between(left: Sequence[float], right: Sequence[float]) -> tuple[float, float]:
    """Return the area between two neighbouring tangents and their chord, and where the tangents meet."""
    if right[2] - left[2] <= 0:
        return 0.0, (left[0] + right[0]) / 2
    wide, high = right[0] - left[0], right[1] - left[1]
    at = (high - right[2] * wide) / (left[2] - right[2])
    if not 0 < at < wide:
        return 0.0, (left[0] + right[0]) / 2
    return abs(wide * left[2] * at - at * high) / 2, left[0] + at


def envelope(tangents: Numbers) -> tuple[tuple[float, float], ...]:
    """Return the vertices of the largest of all tangents, from P_loss 0 on; the last one lies on 0.

    One of the tangents must be 0 everywhere. From a line the walk goes on to the one, less steep, that it meets first.
    """
    slopes = tangents[:, 2]
    starts = tangents[:, 1] - slopes * tangents[:, 0]
    now = int(np.lexsort((slopes, starts))[-1])
    vertices = [(0.0, float(starts[now]))]
    while (flatter := np.nonzero(slopes > slopes[now])[0]).size:
        meets = (starts[now] - starts[flatter]) / (slopes[flatter] - slopes[now])
        nearest = int(np.lexsort((-slopes[flatter], meets))[0])
        now = int(flatter[nearest])
        at = float(meets[nearest])
        if at > vertices[-1][0]:
            vertices.append((at, max(float(starts[now] + slopes[now] * at), 0.0)))
    return tuple(vertices)


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
            raise BadInputError(t("refusal.score_limit"))
        if map_.limit.revealed <= NOTHING:
            raise BadInputError(t("refusal.score_privacy"))
        if map_.limit.trivial <= NOTHING:
            raise BadInputError(t("refusal.score_utility"))
        return ScoreBox((0.0, map_.limit.revealed), (0.0, map_.limit.trivial))
    places = [place(point, axes) for point in map_.points if drawable(point, axes)]
    ends = [(min(values), max(values)) for values in zip(*places, strict=True)] or [(0.0, 0.0)] * 2
    for name, (least, most) in zip(axes, ends, strict=True):
        if most - least <= NOTHING:
            raise BadInputError(t("refusal.score_alike", x=x, y=y, name=name))
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
