"""Partitioning along the Hilbert curve (Ghinita, Karras, Kalnis & Mamoulis 2007), and its dual.

    Put the records in the order in which a Hilbert curve visits their quasi-identifiers.
    K-anonymity:  cost(j) = min over k <= j - i < 2k of  cost(i) + loss of the records i..j.
    Otherwise:    the same recursion over admitted groups i..j: short ones near cuts that will do, or long ones
    within=x:     the largest k (or l) of which the loss is at most x.

In one dimension the best partition is a matter of dynamic programming: groups of 2k records or more can be cut without
loss, so looking back 2k - 1 records is enough. The result is the best among groups of records that follow each other
on the curve. For other requirements (the paper: l-diversity, by a heuristic) we do the following, and ask every
stretch the requirement's own predicate. A first pass cuts as soon as a group is admitted; stretches of whole points
are tried, up to twice as long as the group that it has found there. And stretches of any length are, between the ends
of some thousand blocks of records. The lower loss wins.

Records with equal quasi-identifiers are divided for k-anonymity alone, and at random: other cuts fall between points,
and the sensitive values decide where on the curve but not in which order.

If persons are counted, all cuts fall between points, since the owner of a record within a point is unknown. Groups up
to twice as long as those of the first pass are tried: one of 2k persons need not divide into two of k.

The Hilbert curve in any number of dimensions: points that are near on it are near in all quasi-identifiers.

The curve visits every point of a cube of 2^bits places per attribute, each step to a neighbour. Leaf codes of smaller
domains are stretched over the whole side of the cube, so an attribute counts by its share of the domain, not by its
number of leaves. The transform is Skilling's (2004), bit by bit from the highest one.
"""

import math
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.anonymizer import (
    Anonymizer,
    OfRanges,
    check_feasible,
    check_nothing_suppressed,
    largest_within,
    loss_of,
    published,
)
from sfumato.anonymizers.local_recoding.local_recoding import deal
from sfumato.anonymizers.mondrian._cuts import (
    CutProblem,
    PersonCounter,
    cells_admitted,
    count_persons_of_cell,
    only_sizes,
    problem_of,
)
from sfumato.anonymizers.mondrian._scores import mean_loss
from sfumato.config.options import Option, seed_option
from sfumato.data.cells import Assignment, Cells
from sfumato.data.reading import Table
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.release.release import Form, Release
from sfumato.requirements._predicates import TOLERANCE, group_admitted
from sfumato.requirements.requirement import KAnonymity, LDiversity, Requirement
from sfumato.runtime._kernel_helpers import drawing_state
from sfumato.runtime.arrays import Codes, Counts
from sfumato.runtime.kernels import kernel
from sfumato.texts.catalogue import refusal, t

WORD = 63
"""Bits of a place on the curve that are kept in one number."""


class CurvePoints(NamedTuple):
    """The points of a table (distinct quasi-identifiers) in their order on the curve."""

    cells: Counts
    """All cells, those of a point together, the points in their order."""

    offsets: Counts
    """The cells of the p-th point stand at `offsets[p]:offsets[p + 1]`."""

    weights: Counts
    """The records of each of these cells."""

    counts: Counts
    """The records of every point."""


def points_on_curve(cells: Cells) -> CurvePoints:
    """Put the points of a table in the order in which the curve visits them."""
    first = cells.points.first  # cells are sorted by quasi-identifiers, so those of a point stand together
    lengths = np.diff(np.append(first, cells.size))
    order = order_on_curve(cells.points.codes, cells.domains)
    offsets = np.concatenate([[0], np.cumsum(lengths[order])])
    cell = np.arange(cells.size) + np.repeat(first[order] - offsets[:-1], lengths[order])
    return CurvePoints(cell, offsets, cells.counts[cell], cells.points.counts[order])


def order_on_curve(codes: Codes, sizes: Counts) -> Counts:
    """Sort points with these leaf codes, of domains of these sizes, along the curve."""
    bits = max(1, int(sizes.max() - 1).bit_length())
    words = places_on_curve(codes, sizes, bits)
    return np.lexsort(words.T[::-1]) if words.shape[1] > 1 else np.argsort(words[:, 0], kind="stable")


@kernel
def places_on_curve(codes: Codes, sizes: Counts, bits: int) -> Counts:
    """Say where on the curve every point lies, as numbers of `WORD` bits, the highest first."""
    n, d = codes.shape
    words = np.zeros((n, (d * bits + WORD - 1) // WORD), np.int64)
    axes = np.empty(d, np.int64)
    for i in range(n):
        for a in range(d):
            axes[a] = (np.int64(codes[i, a]) << bits) // sizes[a]
        to_curve(axes, bits)
        place = 0
        for bit in range(bits - 1, -1, -1):
            for a in range(d):
                words[i, place // WORD] = words[i, place // WORD] << 1 | (axes[a] >> bit & 1)
                place += 1
    return words


@kernel
def to_curve(axes: Counts, bits: int) -> None:
    """Turn the coordinates of a place into its number on the curve: bit b of axis a is bit (b + 1) d - 1 - a of it."""
    d = len(axes)
    bit = 1 << (bits - 1)
    while bit > 1:  # undo the turns and mirrorings of the smaller cubes
        for a in range(d):
            if axes[a] & bit:
                axes[0] ^= bit - 1
            else:
                swapped = (axes[0] ^ axes[a]) & (bit - 1)
                axes[0] ^= swapped
                axes[a] ^= swapped
        bit >>= 1
    for a in range(1, d):  # what is left is a Gray code
        axes[a] ^= axes[a - 1]
    flips = 0
    bit = 1 << (bits - 1)
    while bit > 1:
        if axes[d - 1] & bit:
            flips ^= bit - 1
        bit >>= 1
    for a in range(d):
        axes[a] ^= flips


Found = tuple[int, int, int]
"""The records of an interval, and where persons are counted its persons and the most records of one of them."""

State = NDArray[np.uint64]
MOST_POINTS = 256
"""If the first pass needs longer intervals than this, they stay as they are: trying others has quadratic cost."""

MOST_STEPS = 500_000_000
"""If persons are counted, longer ones are tried as well if that takes no more steps than this."""

MOST_BLOCKS = 2_048
"""Stretches of any length are tried between the ends of so many blocks."""


@dataclass(frozen=True)
class Hilbert(Anonymizer):
    """Cut the Hilbert order of the records into groups, best for k-anonymity; or find the largest k within a loss."""

    within: Annotated[float | None, Option(least=0, most=1)] = None
    """The most loss that is allowed; what is required is then the least, and the most is looked for."""

    ranges: OfRanges = "rounded"
    seed: Annotated[
        int | None, seed_option("Which of several records with equal quasi-identifiers go where, for k-anonymity.")
    ] = None
    name: ClassVar[str] = "hilbert"
    effort: ClassVar[float] = 6.0
    counts_persons = True
    keeps_cells = False

    def release(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release:
        """Cut the curve, once or as often as it takes to find the largest parameter within the loss."""
        check_nothing_suppressed(self, budget)
        persons = table.cells.persons is not None
        if not requirement.survives_merging(persons):
            usable = "k-anonymity or l-diversity variant=distinct" if persons else "delta-disclosure absent=infinite"
            raise BadInputError(f"hilbert merges groups, and {requirement} need not survive merging; use {usable}")
        check_feasible(requirement, table.cells)
        state = drawing_state(self.seed)
        points = points_on_curve(table.cells)
        if self.within is None:
            return self._cut(table, points, requirement, form, state.copy())
        if form != "generalization":
            raise refusal("hilbert_within_form")
        return self._strictest(table, points, requirement, state)

    def _strictest(self, table: Table, points: CurvePoints, requirement: Requirement, state: State) -> Release:
        """Find the largest k or l within the loss."""
        allowed, made = self.within or 0.0, dict[int, Release]()

        def loss(step: int) -> float:
            wanted = stricter(requirement, step - 1)
            if not wanted.admits(table.cells.baseline)[0]:
                return math.inf
            made[step] = self._cut(table, points, wanted, "generalization", state.copy())
            return loss_of(made[step]) / table.cells.records

        step = largest_within(loss, allowed, table.cells.records, 1)
        if step is None:
            alone = loss_of(made[1]) / table.cells.records
            least = math.ceil(alone * 10_000) / 10_000
            raise InfeasibleError(
                f"{requirement} alone loses {alone:.4f} on this curve; feasible from within={least:g}"
            )
        return replace(made[step], details={"reached": str(stricter(requirement, step - 1))})

    def _cut(self, table: Table, points: CurvePoints, requirement: Requirement, form: Form, state: State) -> Release:
        """Cut the curve into groups that are admitted, at the least loss that is found, and publish them."""
        shown = self.ranges_of(table)
        problem = problem_of(table.cells, requirement, rounded=shown == "rounded")
        starts = np.concatenate([[0], np.cumsum(points.counts)])
        if table.cells.persons is not None:
            ends = starts[person_cuts(problem, points)]
        elif only_sizes(problem.rules):
            ends = best_cuts(problem, points, starts, int(problem.rules.parameters[:, 0].max()))
        else:
            near = admitted_cuts(problem, points, quick_cuts(problem, points, problem.persons))
            far = far_cuts(problem, points, blocks_of(starts))
            ends = starts[min(near, far, key=lambda cuts: cuts[0])[1]]
        return published(table, dealt_out(points, starts, ends, state), len(ends), form, shown)

    def account(self, release: Release) -> list[str]:
        """Report how much of an allowed loss was used."""
        reached = release.details.get("reached")
        return [t("notice.reached_within", reached=reached, within=self.within)] if reached else []


def stricter(requirement: Requirement, step: int) -> Requirement:
    """Return the requirement itself (step 0), or with the step-th whole number above its k or l."""
    if isinstance(requirement, KAnonymity):
        return replace(requirement, k=requirement.k + step)
    if isinstance(requirement, LDiversity) and requirement.variant != "recursive":
        return replace(requirement, l=math.floor(requirement.l) + step) if step else requirement
    raise refusal("hilbert_within_requirement", requirement=requirement)


def dealt_out(points: CurvePoints, starts: Counts, ends: Counts, state: State) -> Assignment:
    """Deal the records of every point out to the groups that end at these records; `starts` are those of points."""
    firsts = np.concatenate([[0], ends[:-1]])
    cuts = np.unique(np.concatenate([starts[:-1], firsts]))
    point = np.searchsorted(starts, cuts, side="right") - 1
    group = np.searchsorted(firsts, cuts, side="right") - 1
    shares = np.stack([point, group, np.diff(np.append(cuts, ends[-1]))], axis=1)
    place, group, count = deal(points.offsets, points.weights, shares, state)
    return Assignment(points.cells[place], group, count)


@kernel
def best_cuts(problem: CutProblem, points: CurvePoints, starts: Counts, k: int) -> Counts:
    """Cut the curve into groups of at least k records at the least loss: the ends of the groups, in records.

    Time is O(records x k), and O(attributes) for every point that a look back comes to.
    """
    n = starts[-1]
    d = problem.codes.shape[1]
    cost = np.full(n + 1, np.inf)
    before = np.zeros(n + 1, np.int64)
    cost[0] = 0.0
    lo, hi = np.empty(d, np.int32), np.empty(d, np.int32)
    last = 0
    for end in range(k, n + 1):
        while starts[last + 1] < end:
            last += 1
        farthest = max(0, end - 2 * k + 1)
        point, place, loss = last, end, 0.0
        while place > farthest:
            codes = problem.codes[points.cells[points.offsets[point]]]
            if widened(codes, codes, lo, hi, point == last):
                loss = mean_loss(problem, lo, hi)
            first = max(starts[point], farthest)
            for start in range(min(place - 1, end - k), first - 1, -1):
                whole = cost[start] + (end - start) * loss
                if whole < cost[end]:
                    cost[end], before[end] = whole, start
            place = first
            point -= 1
    return followed(before, n)


@kernel
def widened(other_lo: Codes, other_hi: Codes, lo: Codes, hi: Codes, afresh: bool) -> bool:
    """Widen a box so that it covers another, or start it there; return whether its loss has to be recomputed."""
    wider = afresh
    for a in range(len(lo)):
        if afresh or other_lo[a] < lo[a]:
            lo[a] = other_lo[a]
            wider = True
        if afresh or other_hi[a] > hi[a]:
            hi[a] = other_hi[a]
            wider = True
    return wider


@kernel
def followed(before: Counts, n: int) -> Counts:
    """Follow the best cuts back from the end of the curve; list the ends of the groups, ascending."""
    ends = np.empty(len(before), np.int64)
    groups, end = 0, n
    while end > 0:
        ends[groups] = end
        end = before[end]
        groups += 1
    return ends[:groups][::-1].copy()


@kernel
def quick_cuts(problem: CutProblem, points: CurvePoints, counter: PersonCounter) -> Counts:
    """Cut behind every point at which the group is admitted; what is left at the end joins the groups before it."""
    n = len(points.counts)
    ends = np.empty(n + 1, np.int64)
    histogram = np.zeros(len(problem.rules.q), np.int64)
    groups = start = 0
    found = 0, 0, 0
    counter.stamps[-1] += 1
    for p in range(n):
        found = count_point(problem, points, p, histogram, counter, found)
        if interval_admitted(problem, points, start, p + 1, histogram, counter, found):
            ends[groups] = start = p + 1
            groups += 1
            histogram[:] = 0
            counter.stamps[-1] += 1
            found = 0, 0, 0
    while found[0] > 0 and groups > 0 and not interval_admitted(problem, points, start, n, histogram, counter, found):
        groups -= 1
        end, start = start, ends[groups - 1] if groups > 0 else 0
        for p in range(start, end):
            found = count_point(problem, points, p, histogram, counter, found)
    if found[0] > 0:
        ends[groups] = n
        groups += 1
    return ends[:groups]


@kernel
def count_point(
    problem: CutProblem, points: CurvePoints, point: int, histogram: Counts, counter: PersonCounter, found: Found
) -> Found:
    """Count one more point of an interval: its records, its persons, and the most records of one person."""
    size, persons, largest = found
    size += add_point(problem, points, point, histogram)
    if counter.k > 0:
        for i in range(points.offsets[point], points.offsets[point + 1]):
            persons, largest = count_persons_of_cell(counter, points.cells[i], persons, largest)
    return size, persons, largest


@kernel
def interval_admitted(
    problem: CutProblem,
    points: CurvePoints,
    first: int,
    end: int,
    histogram: Counts,
    counter: PersonCounter,
    found: Found,
) -> bool:
    """Return whether the points first..end, which were counted one by one, satisfy the requirement."""
    size, persons, largest = found
    if not group_admitted(problem.rules, histogram, size) or persons < counter.k:
        return False
    if counter.own.shape[1] == 0:
        return bool(largest <= (counter.share + TOLERANCE) * size)
    return cells_admitted(problem, points.cells[points.offsets[first] : points.offsets[end]], size)


@kernel
def add_point(problem: CutProblem, points: CurvePoints, point: int, histogram: Counts) -> int:
    """Add the records of a point to a histogram; return how many there are."""
    for i in range(points.offsets[point], points.offsets[point + 1]):
        for s in range(problem.columns.shape[1]):
            histogram[problem.columns[points.cells[i], s]] += points.weights[i]
    return int(points.counts[point])


@kernel
def admitted_cuts(problem: CutProblem, points: CurvePoints, quick: Counts) -> tuple[float, Counts]:
    """Cut the curve into admitted stretches of points, given cuts that will do: the loss, and the ends, in points.

    The given cuts are among those that are tried, so nothing is lost against them.
    """
    n, d = len(points.counts), problem.codes.shape[1]
    cost = np.full(n + 1, np.inf)
    before = np.zeros(n + 1, np.int64)
    cost[0] = 0.0
    lo, hi = np.empty(d, np.int32), np.empty(d, np.int32)
    histogram = np.empty(len(problem.rules.q), np.int64)
    group = 0
    for end in range(1, n + 1):
        if end > quick[group]:
            group += 1
        first = quick[group - 1] if group > 0 else 0
        length = quick[group] - first
        if length > MOST_POINTS and end < quick[group]:
            continue
        farthest = max(0, end - 2 * length) if length <= MOST_POINTS else first
        histogram[:] = 0
        size, loss = 0, 0.0
        for start in range(end - 1, farthest - 1, -1):
            size += add_point(problem, points, start, histogram)
            codes = problem.codes[points.cells[points.offsets[start]]]
            if widened(codes, codes, lo, hi, start == end - 1):
                loss = mean_loss(problem, lo, hi)
            whole = cost[start] + size * loss
            if whole < cost[end] and group_admitted(problem.rules, histogram, size):
                cost[end], before[end] = whole, start
    return cost[n], followed(before, n)


def person_cuts(problem: CutProblem, points: CurvePoints) -> Counts:
    """Cut the curve into intervals of points that are admitted where persons are counted: the ends, in points."""
    shared, n = problem.persons, len(points.counts)
    counter = shared._replace(stamps=np.zeros_like(shared.stamps), held=np.zeros_like(shared.held))
    quick, most = quick_cuts(problem, points, counter), max(MOST_POINTS, MOST_STEPS // n)
    return followed(starts_by_persons(problem, points, counter, quick, most), n)


@kernel
def starts_by_persons(
    problem: CutProblem, points: CurvePoints, counter: PersonCounter, quick: Counts, most: int
) -> Counts:
    """Find for every point the start of the interval before it at which the cuts up to there lose least.

    Given cuts that will do, intervals up to twice as long are tried; none where they are longer than `most` points. The
    inner loop repeats `count_point`: a call takes several times as long.
    """
    n, d = len(points.counts), problem.codes.shape[1]
    cost, before = np.full(n + 1, np.inf), np.zeros(n + 1, np.int64)
    cost[0] = 0.0
    lo, hi = np.empty(d, np.int32), np.empty(d, np.int32)
    cells, offsets, counts, stamps, held = points.cells, points.offsets, points.counts, counter.stamps, counter.held
    group = 0
    for end in range(1, n + 1):
        if end > quick[group]:
            group += 1
        first = quick[group - 1] if group > 0 else 0
        length = quick[group] - first
        if length > most and end < quick[group]:
            continue
        stamps[-1] += 1
        now, size, persons, largest, loss = stamps[-1], 0, 0, 0, 0.0
        matched = counter.own.shape[1] == 0
        for start in range(end - 1, (max(0, end - 2 * length) if length <= most else first) - 1, -1):
            size += counts[start]
            for i in range(offsets[start], offsets[start + 1]):
                for p in range(counter.offsets[cells[i]], counter.offsets[cells[i] + 1]):
                    person = counter.person[p]
                    if stamps[person] != now:
                        stamps[person], held[person] = now, 0
                        persons += 1
                    held[person] += counter.records[p]
                    largest = max(largest, held[person])
            codes = problem.codes[cells[offsets[start]]]
            if widened(codes, codes, lo, hi, start == end - 1):
                loss = mean_loss(problem, lo, hi)
            whole = cost[start] + size * loss
            if whole < cost[end] and persons >= counter.k and largest <= (counter.share + TOLERANCE) * size:
                if not matched:  # distinct values of different persons remain so in longer intervals
                    matched = cells_admitted(problem, cells[offsets[start] : offsets[end]], size)
                if matched:
                    cost[end], before[end] = whole, start
    return before


def blocks_of(starts: Counts) -> Counts:
    """Cut the curve into blocks of about as many records each: their ends, in points, after a 0."""
    steps = np.linspace(0, starts[-1], min(MOST_BLOCKS, len(starts) - 1) + 1)
    return np.unique(np.searchsorted(starts, steps))


@kernel
def far_cuts(problem: CutProblem, points: CurvePoints, blocks: Counts) -> tuple[float, Counts]:
    """Cut the curve into admitted stretches of whole blocks, however long: the least loss, and the ends, in points."""
    n, d = len(blocks) - 1, problem.codes.shape[1]
    sums = np.zeros((n + 1, len(problem.rules.q)), np.int64)
    sizes = np.zeros(n + 1, np.int64)
    box_lo, box_hi = np.empty((n, d), np.int32), np.empty((n, d), np.int32)
    for block in range(n):
        sums[block + 1] = sums[block]
        sizes[block + 1] = sizes[block]
        for p in range(blocks[block], blocks[block + 1]):
            sizes[block + 1] += add_point(problem, points, p, sums[block + 1])
            codes = problem.codes[points.cells[points.offsets[p]]]
            widened(codes, codes, box_lo[block], box_hi[block], p == blocks[block])
    cost = np.full(n + 1, np.inf)
    before = np.zeros(n + 1, np.int64)
    cost[0] = 0.0
    lo, hi = np.empty(d, np.int32), np.empty(d, np.int32)
    for end in range(1, n + 1):
        loss = 0.0
        for start in range(end - 1, -1, -1):
            if widened(box_lo[start], box_hi[start], lo, hi, start == end - 1):
                loss = mean_loss(problem, lo, hi)
            size = sizes[end] - sizes[start]
            whole = cost[start] + size * loss
            if whole < cost[end] and group_admitted(problem.rules, sums[end] - sums[start], size):
                cost[end], before[end] = whole, start
    return cost[n], blocks[followed(before, n)]
