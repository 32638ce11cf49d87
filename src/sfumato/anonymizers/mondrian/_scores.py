"""How good a cut is: the scores of all cuts of one attribute of a node (`_scored_cuts` defines them).

The input of the scores of Mondrian's cuts: the score, and the target's values in every cell.
"""

import math
from typing import NamedTuple

import numpy as np

from sfumato.anonymizers.mondrian._cuts import CutProblem, domain_width, width
from sfumato.anonymizers.mondrian._suppression import loss
from sfumato.data.cells import CountedValues
from sfumato.data.reading import Table
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.runtime.kernels import kernel
from sfumato.texts.catalogue import refusal

RANGE, VARIANCE, LOSS, GAIN, TARGET_VARIANCE = 1, 2, 3, 4, 5
KINDS = {"range": RANGE, "variance": VARIANCE, "loss": LOSS, "information-gain": GAIN}
LOOKED_UP = 1 << 16
"""n ln n is looked up for smaller n."""


class Scoring(NamedTuple):
    """How cuts are scored, and what is known of the target. It contains arrays for counting: one run, one value.

    Strict cuts keep cells whole, so the target's counts of a cell are those of an entry.
    """

    kind: int
    offsets: Counts
    """The target's values in cell c stand at `offsets[c]:offsets[c + 1]` of `values` and `counts`."""

    values: Counts
    counts: Counts
    known: Counts
    """For every cell the records whose target is a known number."""

    sums: Numbers
    """For every cell the sum of these numbers, in standard deviations from the mean."""

    logs: Numbers
    """n ln n for small n."""

    numbers: Counts
    """An array for a number per value of the target, filled again in every node."""


def scoring_of(table: Table, cut: str, target: str | None) -> Scoring:
    """Lay out for the kernels how cuts are scored."""
    nothing, none = np.zeros(0, np.int64), np.zeros(0)
    kind = KINDS[cut]
    if target is None:
        return Scoring(kind, nothing, nothing, nothing, nothing, none, none, nothing)
    counted = table.counts_of(target)
    if kind == VARIANCE:
        known, sums = _numbers(table, target, counted)
        return Scoring(TARGET_VARIANCE, nothing, nothing, nothing, known, sums, none, nothing)
    n = np.arange(min(int(counted.counts.sum()) + 1, LOOKED_UP), dtype=np.float64)
    numbers = np.zeros(len(counted.labels), np.int64)
    offsets, values, counts = (np.array(array, np.int64) for array in (counted.offsets, counted.values, counted.counts))
    return Scoring(kind, offsets, values, counts, nothing, none, n * np.log(np.maximum(n, 1)), numbers)


def _numbers(table: Table, target: str, counted: CountedValues) -> tuple[Counts, Numbers]:
    """Return for every cell how many records have a number, and the sum of these, with mean 0 and variance 1."""
    present = np.array([label is not None for label in counted.labels])
    strange = np.flatnonzero(present & ~np.isfinite(counted.numbers))
    if len(strange):
        raise refusal("not_finite_number", origin=table.engine.origin, target=target, labels=counted.labels[strange[0]])
    weights = np.where(present[counted.values], counted.counts, 0)
    numbers = np.where(present, counted.numbers, 0.0)[counted.values]
    all_known = max(int(weights.sum()), 1)
    numbers = numbers - (weights * numbers).sum() / all_known
    spread = np.sqrt((weights * numbers**2).sum() / all_known)
    numbers = numbers / (spread if spread > 0 else 1.0)
    cell = np.repeat(np.arange(len(counted.offsets) - 1), np.diff(counted.offsets))
    known = np.bincount(cell, weights, len(counted.offsets) - 1).astype(np.int64)
    return known, np.bincount(cell, weights * numbers, len(counted.offsets) - 1).astype(np.float64)


def without_number(scoring: Scoring, records: int) -> dict[str, int]:
    """Return how many records did not count for the variance of a target because they miss it."""
    missing = records - int(scoring.known.sum()) if scoring.kind == TARGET_VARIANCE else 0
    return {"target_missing": missing} if missing else {}


class ScoredNode(NamedTuple):
    """A node to score: its entries, and its records counted."""

    cells: Counts
    counts: Counts
    size: int
    histogram: Counts
    """Its sensitive values, where a rule is about them."""

    pairs: Counts
    """For every pair of an entry and a value of the target a row: the cell, the number of the value, the count."""

    targets: Counts
    """How often each numbered value of the target occurs."""


class Values(NamedTuple):
    """The codes of one attribute that occur in a node, ascending, and the records with each."""

    codes: Counts
    weights: Counts
    places: Counts
    """For codes from the lowest on, their position in `codes`; empty where codes lie too far apart for that."""


@kernel
def places_of(codes: Counts, entries: int) -> Counts:
    """Number the codes from the lowest one on, unless they lie too far apart for so few entries."""
    reach = codes[-1] - codes[0] + 1
    if reach > 4 * entries + 32:
        return np.empty(0, np.int64)
    places = np.empty(reach, np.int64)
    for place in range(len(codes)):
        places[codes[place] - codes[0]] = place
    return places


@kernel
def place_of(values: Values, code: int) -> int:
    """Return where a code stands among those that occur."""
    if len(values.places) > 0:
        return int(values.places[code - values.codes[0]])
    return int(np.searchsorted(values.codes, code))


@kernel
def scores_of(
    problem: CutProblem, scoring: Scoring, node: ScoredNode, values: Values, attribute: int, lo: Codes, hi: Codes
) -> Numbers:
    """Score the cuts after all codes of an attribute but the last."""
    if scoring.kind == RANGE:
        return closeness_to_middle(problem, attribute, values)
    if scoring.kind == VARIANCE:
        return variance_reductions(values.weights, weighted_middles(problem, attribute, values), node.size)
    if scoring.kind == TARGET_VARIANCE:
        known, sums = known_numbers(problem, scoring, node, values, attribute)
        return variance_reductions(known, sums, node.size)
    if scoring.kind == LOSS:
        return loss_reductions(problem, node, values, attribute, lo, hi)
    return gains(problem, scoring, node, values, attribute)


@kernel
def closeness_to_middle(problem: CutProblem, attribute: int, values: Values) -> Numbers:
    """Return how far each cut, anywhere between its two neighbouring values, lies from the middle (negative)."""
    scores = np.zeros(len(values.codes) - 1)
    lo = values.codes[0]
    middle = width(problem, attribute, lo, values.codes[-1]) / 2
    for place in range(len(scores)):
        below = width(problem, attribute, lo, values.codes[place])
        above = width(problem, attribute, lo, values.codes[place + 1] - 1)
        scores[place] = -max(below - middle, middle - above, 0.0) / domain_width(problem, attribute)
    return scores


@kernel
def middle_of_gap(problem: CutProblem, attribute: int, codes: Counts, place: int) -> int:
    """Find the last code to go left, from one value to just before the next one, so that widths are halved best."""
    start = problem.starts[attribute]
    middle = problem.widths[start + codes[0]] + width(problem, attribute, codes[0], codes[-1]) / 2
    below: int = codes[place]
    ends = problem.widths[start + below + 1 : start + codes[place + 1] + 1]  # where each of these leaves ends
    steps = int(np.searchsorted(ends, middle))
    if steps == len(ends) or (steps > 0 and middle - ends[steps - 1] <= ends[steps] - middle):
        steps -= 1
    return below + steps


@kernel
def weighted_middles(problem: CutProblem, attribute: int, values: Values) -> Numbers:
    """Return for every code the sum over its records of where its leaf lies, from 0 to 1."""
    sums = np.empty(len(values.codes))
    whole = domain_width(problem, attribute)
    for place in range(len(sums)):
        code = problem.starts[attribute] + values.codes[place]
        sums[place] = values.weights[place] * (problem.widths[code] + problem.widths[code + 1]) / 2 / whole
    return sums


@kernel
def known_numbers(
    problem: CutProblem, scoring: Scoring, node: ScoredNode, values: Values, attribute: int
) -> tuple[Counts, Numbers]:
    """Return for every code the records whose target is a known number, and the sum of these."""
    known, sums = np.zeros(len(values.codes), np.int64), np.zeros(len(values.codes))
    for i in range(len(node.cells)):
        place = place_of(values, problem.codes[node.cells[i], attribute])
        known[place] += scoring.known[node.cells[i]]
        sums[place] += scoring.sums[node.cells[i]]
    return known, sums


@kernel
def variance_reductions(known: Counts, sums: Numbers, size: int) -> Numbers:
    """Return how much each cut lowers the sum of squares around the mean: the part explained by the means."""
    scores = np.zeros(len(sums) - 1)
    all_known, total = known.sum(), sums.sum()
    left, left_sum = 0, 0.0
    for place in range(len(scores)):
        left += known[place]
        left_sum += sums[place]
        right = all_known - left
        if left > 0 and right > 0:
            apart = left_sum / left - (total - left_sum) / right
            scores[place] = apart * apart * left / all_known * right / size
    return scores


@kernel
def loss_reductions(
    problem: CutProblem, node: ScoredNode, values: Values, attribute: int, node_lo: Codes, node_hi: Codes
) -> Numbers:
    """Return how much each cut lowers the loss, with the ranges of both parts in all attributes."""
    lo, hi = ranges_by_code(problem, node, values, attribute)
    lefts = growing_losses(problem, values.weights, lo, hi, True)
    rights = growing_losses(problem, values.weights, lo, hi, False)
    whole = node.size * mean_loss(problem, node_lo, node_hi)
    scores = np.empty(len(values.codes) - 1)
    for place in range(len(scores)):
        scores[place] = (whole - lefts[place] - rights[place + 1]) / node.size
    return scores


@kernel
def ranges_by_code(problem: CutProblem, node: ScoredNode, values: Values, attribute: int) -> tuple[Codes, Codes]:
    """Find the ranges, in all attributes, of the records with each code of one."""
    d = len(problem.sizes)
    lo, hi = np.empty((len(values.codes), d), np.int32), np.full((len(values.codes), d), -1, np.int32)
    for i in range(len(node.cells)):
        cell = node.cells[i]
        place = place_of(values, problem.codes[cell, attribute])
        fresh = hi[place, attribute] < 0
        for a in range(d):
            code = problem.codes[cell, a]
            if fresh or code < lo[place, a]:
                lo[place, a] = code
            if code > hi[place, a]:
                hi[place, a] = code
    return lo, hi


@kernel
def growing_losses(problem: CutProblem, weights: Counts, lo: Codes, hi: Codes, upwards: bool) -> Numbers:
    """Return the loss of all records from the first code up to each, or from the last one down to each.

    Only ranges that a code widens are recomputed.
    """
    n, d = lo.shape
    sums, losses = np.empty(n), np.zeros(d)
    part_lo, part_hi = np.empty(d, np.int32), np.full(d, -1, np.int32)
    records = 0
    for step in range(n):
        place = step if upwards else n - 1 - step
        records += weights[place]
        total = 0.0
        for a in range(d):
            if step == 0 or lo[place, a] < part_lo[a] or hi[place, a] > part_hi[a]:
                part_lo[a] = lo[place, a] if step == 0 else min(lo[place, a], part_lo[a])
                part_hi[a] = max(hi[place, a], part_hi[a])
                losses[a] = loss(problem, a, part_lo[a], part_hi[a])
            total += losses[a]
        sums[place] = records * total / d
    return sums


@kernel
def mean_loss(problem: CutProblem, lo: Codes, hi: Codes) -> float:
    """Return the mean loss of a box over the attributes, weighted."""
    total = 0.0
    for a in range(len(lo)):
        total += loss(problem, a, lo[a], hi[a])
    return total / len(lo)


# -- information gain --------------------------------------------------------------------------------------


@kernel
def n_log_n(scoring: Scoring, n: int) -> float:
    """Return n ln n, looked up where it can be."""
    return float(scoring.logs[n]) if n < len(scoring.logs) else n * math.log(n)


@kernel
def count_targets(scoring: Scoring, cells: Counts) -> tuple[Counts, Counts]:
    """List and count the target's values in a node; those that occur are numbered, so that others cost nothing."""
    number = 0
    if scoring.kind == GAIN:
        for i in range(len(cells)):
            for j in range(scoring.offsets[cells[i]], scoring.offsets[cells[i] + 1]):
                scoring.numbers[scoring.values[j]] = -1
                number += 1
    pairs, targets = np.empty((number, 3), np.int64), np.zeros(min(number, len(scoring.numbers)), np.int64)
    distinct = place = 0
    if scoring.kind == GAIN:
        for i in range(len(cells)):
            for j in range(scoring.offsets[cells[i]], scoring.offsets[cells[i] + 1]):
                if scoring.numbers[scoring.values[j]] < 0:
                    scoring.numbers[scoring.values[j]] = distinct
                    distinct += 1
                value = scoring.numbers[scoring.values[j]]
                pairs[place, 0], pairs[place, 1], pairs[place, 2] = cells[i], value, scoring.counts[j]
                targets[value] += scoring.counts[j]
                place += 1
    return pairs, targets[:distinct]


@kernel
def gains(problem: CutProblem, scoring: Scoring, node: ScoredNode, values: Values, attribute: int) -> Numbers:
    """Return the information gain of each cut.

    A part of n records with c of each value has n times the entropy n ln n - sum of c ln c. While values move from the
    right of the cut to its left, the sums are kept up to date.
    """
    counted = np.zeros((len(values.codes), len(node.targets)), np.int64)
    for i in range(len(node.pairs)):
        place = place_of(values, problem.codes[node.pairs[i, 0], attribute])
        counted[place, node.pairs[i, 1]] += node.pairs[i, 2]
    scores = np.empty(len(values.codes) - 1)
    left, right = np.zeros(len(node.targets), np.int64), node.targets.copy()
    gained = n_log_n(scoring, node.size)
    below = 0
    for place in range(len(scores)):
        for value in range(len(left)):
            count = counted[place, value]
            if count > 0:
                gained -= n_log_n(scoring, left[value]) + n_log_n(scoring, right[value])
                left[value] += count
                right[value] -= count
                gained += n_log_n(scoring, left[value]) + n_log_n(scoring, right[value])
        below += values.weights[place]
        apart = n_log_n(scoring, below) + n_log_n(scoring, node.size - below)
        scores[place] = (gained - apart) / node.size
    return scores
