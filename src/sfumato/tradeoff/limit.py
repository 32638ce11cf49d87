"""The limit: a bound on P_loss and U_loss below which no truthful release of a table exists, whoever makes it.

**Proof.** Let a release have P_loss at most p: each group's histogram P_g has JS(Q, P_g) <= p, Q the table's. Under
uniformity, the estimate of a large population y is a weighted sum of group histograms. The weights are nonnegative: the
number of the group's records in a box, times the part of the box inside y. As a distribution, the estimate is a mixture
R_y of the P_g. The ball { R : JS(Q, R) <= p } is convex, so it contains R_y. Therefore

    U_loss  =  mean over y of JS(P_y, R_y)  >=  mean over y of min { JS(P_y, R) : JS(Q, R) <= p }.

**Suppression.** Suppressed records only reduce the weights; the estimate remains a mixture of histograms in the ball. A
population without published records has the loss of the trivial release, JS(P_y, Q), and every ball contains Q. P_y and
Q are of the whole table, suppressed records included, on both sides.

**Several sensitive attributes.** P_loss and U_loss are those of the worst attribute. So each attribute has a P_loss of
at most p and a U_loss of at least its own limit; the limit is the largest of these limits.

**Between the vertices.** Each minimum is convex and decreasing in p. Its dual bound is a line in p that is valid for
all p, so the tangents of the mean at some p are certified for all p. The limit is the maximum of the tangents: its
vertices, joined by lines. Tangents are added where two neighbours leave the largest gap.

**Score** of a set of releases: the area under its staircase frontier as a share of the maximum. Lower is better.
On P_loss and U_loss the staircase runs from P_loss 0, at the U_loss of the release without quasi-identifiers (which
anybody can make), to the P_loss of a revealed rarest value. The area is divided by the product of these two numbers: 1
is no better than that release, 0 would be no loss of utility at any risk. Both numbers are facts of the table, so
scores of different studies of it are comparable, and no truthful releases have a score below that of the limit.

Other pairs of measures have no such ends. There the box is the range of the map itself, and the score is 1 minus the
share of the box that the releases dominate (their hypervolume). It compares only sets of releases of one map.

**The largest k within a loss.** Lay a grid over the table: the codes of each column that occur, in order, in bins of
consecutive ones. Let S be a published group of at least k records (k persons have at least k records). Its box covers
the codes of its records, so in every column it reaches at least from the last code of the lowest bin of S to the first
code of the highest one. A wider interval never has less loss, so the loss of the box is at least

    c(B)  =  the weighted mean, over the columns, of the loss of these inner intervals

of the smallest box of bins B that contains S. B contains at least k records of the table. So with

    L_k(b)  =  the least c(B) of all boxes of bins that contain the bin b and at least k records

every record of S, in a bin b, loses at least L_k(b). A suppressed record counts as a loss of 1, which no L_k exceeds.
The loss of a release, the mean over all records, is therefore at least the mean of L_k(b(r)) over all records r of the
table, however they are grouped. It rises with k. The maximum of several grids' L_k is a bound, too, record by record.

Nothing says that some release reaches it: each record takes its own best box, and boxes overlap.

Boxes of bins are all combinations of an interval of bins in each column. The records in each of them are counted once;
then the least c over the intervals that contain a bin is taken column by column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations_with_replacement, pairwise
from math import isfinite, prod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sfumato.anonymizers.anonymizer import largest_within
from sfumato.data.cells import Cells
from sfumato.errors import BadInputError
from sfumato.measures.scales import Prepared
from sfumato.requirements._jensen_shannon import distributions, js, nearest_js
from sfumato.runtime.arrays import Counts, Numbers, RedactedRepr
from sfumato.runtime.threads import together
from sfumato.texts.catalogue import refusal, t
from sfumato.tradeoff.comparison import cost
from sfumato.tradeoff.question.best_possible import Decided
from sfumato.tradeoff.question.question import check_measure

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Map, Point

Tangent = tuple[float, float, float]
AXES = ("p_loss", "u_loss")
"""The measures for which the limit is proved."""

FIRST: Numbers = 4.0 ** -np.arange(14.0)
"""The contact points of the first tangents, as shares of the largest P_loss with a positive limit."""

MOST_TANGENTS, MOST_ROWS = 48, 400_000
"""Tangents of a curve; fewer for many populations, since each tangent reads all of them."""

GAP = 1e-3
"""Tangents are added until the area between them and the curve is at most this share of the area under the limit."""

CLOSE = 1e-6
"""The distance from the sphere at which each minimization ends; the relative error of the bound is then 1e-12."""

STRETCH = 256
"""Populations that one thread processes at a time."""


@dataclass(frozen=True, repr=False)
class Limit(RedactedRepr):
    """A line under the map: for each P_loss, a U_loss that no truthful release of the table is below."""

    points: tuple[tuple[float, float], ...]
    """(P_loss, U_loss) by rising P_loss, joined by lines; 0 beyond the last."""

    trivial: float
    """U_loss of the release without quasi-identifiers, the start of every frontier."""

    revealed: float
    """The maximum P_loss: that of a record whose value is revealed and the rarest."""

    @cached_property
    def _columns(self) -> Numbers:
        return np.array(self.points).reshape(-1, 2).T

    def at(self, p_loss: float) -> float:
        """Return the least U_loss of any truthful release with at most this P_loss."""
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
"""The explanation of the line for readers without theory."""


def limit(prepared: Prepared) -> Limit | None:
    """Compute the limit of a table; it needs a sensitive attribute and large populations.

    With a person column there is no limit, because groups of records do not bound the loss of persons.
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
    """Return the P_loss of a record whose sensitive value is revealed and the rarest."""
    return float(js(q, np.eye(len(q))[int(np.argmin(q))]))


def tangents_of(touch: Callable[[float], Tangent], first: Numbers, most: int, gap: float = GAP) -> Numbers:
    """Return tangents of a curve: rows (P_loss, U_loss, slope), by rising P_loss; `touch` returns the one at a P_loss.

    First those at `first`, then where two neighbours leave the largest gap, until the share `gap` or `most` is reached.
    """
    if not first.any():
        return np.zeros((1, 3))
    tangents = [touch(float(at)) for at in np.sort(first)]
    while len(tangents) < most:
        left_open = [between(left, right) for left, right in pairwise(tangents)]
        below = sum((right[0] - left[0]) * (left[1] + right[1]) / 2 for left, right in pairwise(tangents))
        place = int(np.argmax([area for area, _ in left_open]))
        if sum(area for area, _ in left_open) <= gap * below:
            break
        tangents.insert(place + 1, touch(left_open[place][1]))
    return np.array(tangents)


def tangent(rows: Numbers, q: Numbers, p_loss: float) -> Tangent:
    """Return P_loss, the certified mean of the least losses of all populations there, and its slope."""

    def work(start: int) -> tuple[Numbers, Numbers]:
        nearest = nearest_js(rows[start : start + STRETCH], q, p_loss, CLOSE)
        return nearest.bounds, nearest.multipliers

    parts = together(work, range(0, len(rows), STRETCH))
    bounds, multipliers = (np.concatenate(pieces) for pieces in zip(*parts, strict=True))
    return p_loss, float(bounds.mean()), -float(multipliers.mean())


def between(left: Sequence[float], right: Sequence[float]) -> tuple[float, float]:
    """Return the area between two neighbouring tangents and their chord, and their intersection."""
    if right[2] - left[2] <= 0:
        return 0.0, (left[0] + right[0]) / 2
    wide, high = right[0] - left[0], right[1] - left[1]
    at = (high - right[2] * wide) / (left[2] - right[2])
    if not 0 < at < wide:
        return 0.0, (left[0] + right[0]) / 2
    return abs(wide * left[2] * at - at * high) / 2, left[0] + at


def envelope(tangents: Numbers) -> tuple[tuple[float, float], ...]:
    """Return the vertices of the maximum of all tangents, from P_loss 0 on; the last vertex has U_loss 0.

    One of the tangents must be 0 everywhere. After each line follows the less steep line that intersects it first.
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
"""The length below which an interval is empty: measures that are equal by definition differ by rounding."""


@dataclass(frozen=True)
class ScoreBox:
    """The box of a staircase, in costs (lower is better); the staircase starts at the upper left corner."""

    x: tuple[float, float]
    y: tuple[float, float]

    def area(self, places: Iterable[Place]) -> float:
        """Return the area under the staircase of some places, as a share of the box."""
        steps = self.steps(places)
        under = sum((right[0] - left[0]) * (left[1] - self.y[0]) for left, right in pairwise(steps))
        return under / ((self.x[1] - self.x[0]) * (self.y[1] - self.y[0]))

    def steps(self, places: Iterable[Place]) -> list[Place]:
        """Return the steps of the staircase, from its start to the right end of the box."""
        steps = [(self.x[0], self.y[1])]
        for x, y in sorted(places):
            if y < steps[-1][1] and x < self.x[1]:
                steps.append((max(x, self.x[0]), max(y, self.y[0])))
        return [*steps, (self.x[1], steps[-1][1])]


@dataclass(frozen=True, repr=False)
class Part(RedactedRepr):
    """The contribution of the releases of one anonymizer in one form to the frontier."""

    public_fields: ClassVar[tuple[str, ...]] = ("anonymizer", "form")

    anonymizer: str
    form: str
    score: float
    """The score of these releases alone."""

    without: float
    """The score of the map without these releases."""

    frontier: int
    """The number of these releases on the frontier."""

    share: float
    """The share of the first measure's range in which the best release is one of these."""

    stretches: tuple[tuple[float, float], ...]
    """The intervals of the first measure in which the best release is one of these."""


@dataclass(frozen=True, repr=False)
class Scores(RedactedRepr):
    """The scores of a map: of all releases together, of each anonymizer's, and of the limit."""

    public_fields: ClassVar[tuple[str, ...]] = ("axes",)

    axes: tuple[str, str]
    union: float
    limit: float | None
    anonymizers: dict[str, float]
    parts: tuple[Part, ...]


def frame_of(map_: Map, axes: Sequence[str]) -> ScoreBox:
    """Return the box of two measures: the table's for P_loss and U_loss, the map's range for others."""
    x, y = axes
    if (x, y) == AXES:
        if map_.limit is None:
            raise refusal("score_limit")
        if map_.limit.revealed <= NOTHING:
            raise refusal("score_privacy")
        if map_.limit.trivial <= NOTHING:
            raise refusal("score_utility")
        return ScoreBox((0.0, map_.limit.revealed), (0.0, map_.limit.trivial))
    places = [place(point, axes) for point in map_.points if drawable(point, axes)]
    ends = [(min(values), max(values)) for values in zip(*places, strict=True)] or [(0.0, 0.0)] * 2
    for name, (least, most) in zip(axes, ends, strict=True):
        if most - least <= NOTHING:
            raise refusal("score_alike", x=x, y=y, name=name)
    return ScoreBox(ends[0], ends[1])


def score(map_: Map, points: Iterable[Point] | None = None, axes: Sequence[str] | None = None) -> float:
    """Score some points of a map, or all; the release without quasi-identifiers always counts, the original never."""
    axes = _checked(map_, axes)
    frame = frame_of(map_, axes)
    return frame.area(place(point, axes) for point in _scored(map_, points, axes))


def scores(map_: Map, axes: Sequence[str] | None = None) -> Scores:
    """Score a map, each anonymizer's releases and the limit, with each anonymizer's part of the frontier."""
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
    """Return the part of one anonymizer in one form: its score, the score without it, and its intervals."""
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
        tuple((cost(axes[0], start), cost(axes[0], end)) for start, end in joined),  # from costs back to values
    )


def maker_name(point: Point) -> str:
    """Return the name of the anonymizer without its settings."""
    return point.candidate.anonymizer.name


def place(point: Point, axes: Sequence[str]) -> Place:
    """Return the costs of a point on two measures."""
    x, y = (cost(name, point.measures[name]) for name in axes)
    return x, y


def drawable(point: Point, axes: Sequence[str]) -> bool:
    """Return whether a point has finite values of both measures."""
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


# -- the largest k within a loss -------------------------------------------------------------------------

MOST_BOXES = 1_000_000
"""The boxes of bins of a grid."""

FINEST = 40
"""The bins of the column that a grid shows as finely as it can."""

LESS = 1e-6
"""The allowance for rounding."""


class BinnedTable:
    """The boxes of bins of a table: how many records each contains, and what it loses at least."""

    def __init__(self, cells: Cells, sizes: Sequence[int]) -> None:
        points, self.inside, lost = cells.points, list[list[Counts]](), np.zeros((), np.float32)
        bins = [_bins(codes, points.counts, size) for codes, size in zip(points.codes.T, sizes, strict=True)]
        self.bin_of = tuple(of for of, _, _ in bins)
        dense = np.zeros([len(first) for _, first, _ in bins], np.int64)
        np.add.at(dense, self.bin_of, points.counts)
        for a, (_, first, last) in enumerate(bins):
            pairs = np.array(list(combinations_with_replacement(range(len(first)), 2)))
            lo, hi = pairs.T
            losses = cells.quasi[a].hierarchy.losses(np.where(lo < hi, last[lo], first[lo]), first[hi])
            losses = np.where(lo < hi, losses, 0.0) * cells.weights[a] / len(bins)
            sums = np.concatenate([np.zeros_like(dense.take([0], a)), dense.cumsum(a)], a)
            dense = sums.take(hi + 1, a) - sums.take(lo, a)
            lost = lost[..., None] + losses.astype(np.float32)
            self.inside.append([np.flatnonzero((lo <= b) & (b <= hi)) for b in range(len(first))])
        self.counts, self.losses = dense, lost

    def least_losses(self, k: int) -> Numbers:
        """Return for each point of the table the least loss of a box with at least k records that contains it."""
        least = np.where(self.counts >= k, self.losses, np.float32(1))
        for a, inside in enumerate(self.inside):
            least = np.stack([least.take(boxes, a).min(a) for boxes in inside], a)
        return np.clip(least[self.bin_of].astype(np.float64) - LESS, 0.0, 1.0)


def _bins(codes: Counts, counts: Counts, size: int) -> tuple[Counts, Counts, Counts]:
    """Put the codes that occur into at most `size` bins of about as many records: the bin of each, its ends."""
    values, place = np.unique(codes, return_inverse=True)
    weights = np.bincount(place, counts)
    middle = (np.cumsum(weights) - weights / 2) / weights.sum()
    bins = np.arange(len(values)) if len(values) <= size else (middle * size).astype(np.int64)
    _, first, number = np.unique(bins, return_index=True, return_inverse=True)
    last = np.append(first[1:], len(values)) - 1
    return number[place], values[first], values[last]


def _sizes(cells: Cells, finest: int | None) -> list[int]:
    """Return how many bins each column has: one column as many as it can, the others alike."""
    sizes = [len(np.unique(codes)) for codes in cells.points.codes.T]
    if finest is not None:
        sizes[finest] = min(sizes[finest], FINEST)
    while prod(size * (size + 1) // 2 for size in sizes) > MOST_BOXES:
        others = [a for a, size in enumerate(sizes) if a != finest and size > 2]
        most = max(others or range(len(sizes)), key=lambda a: sizes[a])
        sizes[most] -= 1
    return sizes


def best_of_all_partitions(cells: Cells, loss: float) -> Decided | None:
    """Return upper bounds on k within losses about `loss`, for every truthful release; None for unknown codes."""
    if (cells.points.codes < 0).any() or cells.records < 2:
        return None
    sizes = dict.fromkeys(tuple(_sizes(cells, a)) for a in (None, *range(len(cells.quasi))))
    grids = [BinnedTable(cells, each) for each in sizes]
    known: dict[int, float] = {1: 0.0}

    def least(k: int) -> float:
        each = np.maximum.reduce([grid.least_losses(k) for grid in grids])
        known[k] = float(each @ cells.points.counts) / cells.records
        return known[k]

    largest_within(least, loss, cells.records)
    ks = sorted(known)
    rows = tuple(
        (float(following - 1), known[k]) for k, following in zip(ks, [*ks[1:], cells.records + 1], strict=True)
    )
    return Decided(("k", "loss"), rows, 1.0, 0, "")
