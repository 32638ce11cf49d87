"""Cuts that are chosen by a score: the middle of the range, the variance, the loss, or what is learnt of a target.

    partition(records):
        cuts = all cuts between two values of one attribute whose halves the requirement both admits
        if there are none:
            return one group
        left, right = the halves of the cut with the highest score
        return partition(left) + partition(right)

Scores, per record of the node, with n records divided into parts of n1 and n2:

- *variance*: how much the variance of the cut attribute falls, (n V - n1 V1 - n2 V2) / n, its leaves placed from 0 to
  1 at the middle of their widths; with a target, the variance of the target instead (in units of the table's);
- *loss*: how much the loss falls (the measure `loss`, of the ranges of the records in all attributes);
- *information gain*: how much the entropy of the target falls, in nats (LeFevre, DeWitt & Ramakrishnan 2006,
  Workload-aware anonymization; their regression trees are variance with a target);
- *range*: the cut whose two neighbouring values lie around the middle of the range, or nearest to it. Of the widest
  attribute that has an admitted cut, so spreads come before scores.

Scores that differ by less than a tolerance are equal. Among equal ones the cut that Mondrian would try first wins: the
widest attribute, then the most equal halves. So cutting goes on where nothing is to be gained, as in the paper:
smaller boxes never tell less.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sfumato.anonymizers.cutting import (
    Codes,
    Counts,
    Numbers,
    Problem,
    count_values,
    domain_width,
    only_sizes,
    sizes_admitted,
    width,
)
from sfumato.anonymizers.scoring import GAIN, LOSS, RANGE, VARIANCE, Scoring
from sfumato.anonymizers.trimming import loss
from sfumato.kernels import kernel
from sfumato.requirements.predicates import group_admitted

EQUAL_SCORES = 1e-9
"""Scores per record that differ by no more are equal."""


class Values(NamedTuple):
    """The codes of one attribute that occur in a node, ascending, and the entries of each as a linked list."""

    codes: Counts
    weights: Counts
    """The records with each code."""

    heads: Counts
    """The first entry of each code."""

    following: Counts
    """For every entry the next one of the same code, or -1."""


@kernel
def scored_cut(
    problem: Problem,
    scoring: Scoring,
    cells: Counts,
    counts: Counts,
    lo: Codes,
    hi: Codes,
    histogram: Counts,
    left_histogram: Counts,
) -> tuple[int, int, bool, Counts]:
    """Find the admitted cut of the highest score.

    Returns the attribute (-1: there is none), the last code that goes left, that all of its records do, and how many
    records of every entry do.
    """
    size = counts.sum() if only_sizes(problem.rules) else count_values(problem, cells, counts, histogram)
    best, code, best_score, side = -1, 0, -np.inf, 0
    if sizes_admitted(problem.rules, size // 2):  # otherwise the smaller half of any cut is too small
        if scoring.kind == GAIN:
            count_target(scoring, cells)
        for attribute in by_spread(problem, lo, hi):
            values = listed(problem, cells, counts, attribute, lo[attribute], hi[attribute])
            if not any_size_admitted(problem, values, size):
                continue
            scores = scores_of(problem, scoring, cells, values, attribute, size, side)
            side = 1 - side
            place, score = best_place(
                problem, cells, counts, values, scores, best_score, size, histogram, left_histogram
            )
            if place >= 0:
                best, best_score = attribute, score
                code = values.codes[place]
                if scoring.kind == RANGE:
                    code = middle_of_gap(problem, attribute, values.codes, place)
                    break
        if scoring.kind == GAIN:
            forget_target(scoring, cells)
    taken = np.zeros(len(cells) if best >= 0 else 0, np.int64)
    for i in range(len(taken)):
        if problem.codes[cells[i], best] <= code:
            taken[i] = counts[i]
    return best, code, True, taken


@kernel
def by_spread(problem: Problem, lo: Codes, hi: Codes) -> Counts:
    """List the attributes that can be cut, the largest share of the domain first, ties in their order."""
    spreads, order = np.empty(len(lo)), np.empty(len(lo), np.int64)
    found = 0
    for a in range(len(lo)):
        if lo[a] == hi[a]:
            continue
        spread = width(problem, a, lo[a], hi[a]) / domain_width(problem, a)
        place = found
        while place > 0 and spreads[place - 1] < spread:
            spreads[place], order[place] = spreads[place - 1], order[place - 1]
            place -= 1
        spreads[place], order[place] = spread, a
        found += 1
    return order[:found]


@kernel
def listed(problem: Problem, cells: Counts, counts: Counts, attribute: int, lo: int, hi: int) -> Values:
    """List the entries of a node by their code of an attribute; linear, or by sorting where codes lie far apart."""
    n, reach = len(cells), hi - lo + 1
    following = np.empty(n, np.int64)
    if reach > 4 * n + 32:
        own = np.empty(n, np.int64)
        for i in range(n):
            own[i] = problem.codes[cells[i], attribute]
        codes = np.unique(own)
        places = np.searchsorted(codes, own)
    else:
        codes = np.arange(lo, hi + 1)
        places = np.empty(n, np.int64)
        for i in range(n):
            places[i] = problem.codes[cells[i], attribute] - lo
    weights, heads = np.zeros(len(codes), np.int64), np.full(len(codes), -1, np.int64)
    for i in range(n - 1, -1, -1):
        following[i] = heads[places[i]]
        heads[places[i]] = i
        weights[places[i]] += counts[i]
    found = 0
    for place in range(len(codes)):
        if heads[place] >= 0:
            codes[found], weights[found], heads[found] = codes[place], weights[place], heads[place]
            found += 1
    return Values(codes[:found], weights[:found], heads[:found], following)


@kernel
def any_size_admitted(problem: Problem, values: Values, size: int) -> bool:
    """Say whether any cut of an attribute makes two parts that the rules about sizes admit."""
    left = 0
    for place in range(len(values.codes) - 1):
        left += values.weights[place]
        if sizes_admitted(problem.rules, left):  # the first such cut leaves most to the right
            return sizes_admitted(problem.rules, size - left)
    return False


@kernel
def best_place(
    problem: Problem,
    cells: Counts,
    counts: Counts,
    values: Values,
    scores: Numbers,
    least: float,
    size: int,
    histogram: Counts,
    left_histogram: Counts,
) -> tuple[int, float]:
    """Find the admitted cut of an attribute whose score is above a least one, or no place (-1).

    Sensitive values are counted as far as the next cut that is worth asking the requirement about.
    """
    by_size = only_sizes(problem.rules)
    left_histogram[:] = 0
    best, best_score, best_left = -1, least, 0
    left = counted = 0
    for place in range(len(values.codes) - 1):
        left += values.weights[place]
        if not (sizes_admitted(problem.rules, left) and sizes_admitted(problem.rules, size - left)):
            continue
        if scores[place] < best_score - EQUAL_SCORES:
            continue
        if scores[place] <= best_score + EQUAL_SCORES and (
            best < 0 or abs(2 * left - size) >= abs(2 * best_left - size)
        ):
            continue
        if not by_size:
            while counted <= place:
                add_values(problem, cells, counts, values, counted, left_histogram)
                counted += 1
            if not group_admitted(problem.rules, left_histogram, left):
                continue
            if not group_admitted(problem.rules, histogram - left_histogram, size - left):
                continue
        best, best_score, best_left = place, max(best_score, scores[place]), left
    return best, best_score


@kernel
def add_values(problem: Problem, cells: Counts, counts: Counts, values: Values, place: int, histogram: Counts) -> None:
    """Add the sensitive values of the entries with one code to a histogram."""
    i = values.heads[place]
    while i >= 0:
        for s in range(problem.columns.shape[1]):
            histogram[problem.columns[cells[i], s]] += counts[i]
        i = values.following[i]


# -- scores ------------------------------------------------------------------------------------------------


@kernel
def scores_of(
    problem: Problem, scoring: Scoring, cells: Counts, values: Values, attribute: int, size: int, side: int
) -> Numbers:
    """Score the cuts after all codes of an attribute but the last."""
    if scoring.kind == GAIN:
        return gains(scoring, cells, values, size, side)
    if scoring.kind == LOSS:
        return loss_reductions(problem, cells, values, size)
    if scoring.kind == RANGE:
        return closeness_to_middle(problem, attribute, values)
    known, sums = values.weights, np.empty(len(values.codes))
    if scoring.kind == VARIANCE:
        start = problem.starts[attribute]
        for place in range(len(sums)):
            code = start + values.codes[place]
            middle = (problem.widths[code] + problem.widths[code + 1]) / 2 / domain_width(problem, attribute)
            sums[place] = values.weights[place] * middle
    else:
        known = np.zeros(len(sums), np.int64)
        for place in range(len(sums)):
            sums[place] = 0.0
            i = values.heads[place]
            while i >= 0:
                known[place] += scoring.known[cells[i]]
                sums[place] += scoring.sums[cells[i]]
                i = values.following[i]
    return variance_reductions(known, sums, size)


@kernel
def variance_reductions(known: Counts, sums: Numbers, size: int) -> Numbers:
    """Say how much each cut lowers the sum of squares around the mean: what the means of the parts explain."""
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
def closeness_to_middle(problem: Problem, attribute: int, values: Values) -> Numbers:
    """Say how far each cut, anywhere between its two neighbouring values, lies from the middle (negative)."""
    scores = np.zeros(len(values.codes) - 1)
    lo = values.codes[0]
    middle = width(problem, attribute, lo, values.codes[-1]) / 2
    for place in range(len(scores)):
        below = width(problem, attribute, lo, values.codes[place])
        above = width(problem, attribute, lo, values.codes[place + 1] - 1)
        scores[place] = -max(below - middle, middle - above, 0.0) / domain_width(problem, attribute)
    return scores


@kernel
def middle_of_gap(problem: Problem, attribute: int, codes: Counts, place: int) -> int:
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
def loss_reductions(problem: Problem, cells: Counts, values: Values, size: int) -> Numbers:
    """Say how much each cut lowers the loss, with the ranges of both parts in all attributes."""
    cuts = len(values.codes) - 1
    d = len(problem.sizes)
    lo, hi = np.empty(d, np.int64), np.empty(d, np.int64)
    scores = np.empty(cuts)
    right = 0
    forget_ranges(problem, lo, hi)
    for place in range(cuts, 0, -1):
        widen(problem, cells, values, place, lo, hi)
        right += values.weights[place]
        scores[place - 1] = -right * mean_loss(problem, lo, hi)
    widen(problem, cells, values, 0, lo, hi)
    before = size * mean_loss(problem, lo, hi)
    forget_ranges(problem, lo, hi)
    left = 0
    for place in range(cuts):
        widen(problem, cells, values, place, lo, hi)
        left += values.weights[place]
        scores[place] = (before + scores[place] - left * mean_loss(problem, lo, hi)) / size
    return scores


@kernel
def forget_ranges(problem: Problem, lo: Counts, hi: Counts) -> None:
    """Make ranges of nothing."""
    for a in range(len(lo)):
        lo[a], hi[a] = problem.sizes[a], -1


@kernel
def widen(problem: Problem, cells: Counts, values: Values, place: int, lo: Counts, hi: Counts) -> None:
    """Widen ranges so that they hold the entries with one code."""
    i = values.heads[place]
    while i >= 0:
        for a in range(len(lo)):
            code = problem.codes[cells[i], a]
            lo[a] = min(lo[a], code)
            hi[a] = max(hi[a], code)
        i = values.following[i]


@kernel
def mean_loss(problem: Problem, lo: Counts, hi: Counts) -> float:
    """Return the mean loss of a box over the attributes."""
    total = 0.0
    for a in range(len(lo)):
        total += loss(problem, a, lo[a], hi[a])
    return total / len(lo)


# -- information gain --------------------------------------------------------------------------------------


@kernel
def count_target(scoring: Scoring, cells: Counts) -> None:
    """Count the target's values of a node, all of them on the first of the two sides."""
    for i in range(len(cells)):
        for j in range(scoring.offsets[cells[i]], scoring.offsets[cells[i] + 1]):
            scoring.sides[0, scoring.values[j]] += scoring.counts[j]


@kernel
def forget_target(scoring: Scoring, cells: Counts) -> None:
    """Leave zeros behind."""
    for i in range(len(cells)):
        for j in range(scoring.offsets[cells[i]], scoring.offsets[cells[i] + 1]):
            scoring.sides[0, scoring.values[j]] = scoring.sides[1, scoring.values[j]] = 0


@kernel
def n_log_n(scoring: Scoring, n: int) -> float:
    """Return n ln n, looked up where it can be."""
    return float(scoring.logs[n]) if n < len(scoring.logs) else n * math.log(n)


@kernel
def gains(scoring: Scoring, cells: Counts, values: Values, size: int, side: int) -> Numbers:
    """Return the information gain of each cut; the target's counts move from one of the two sides to the other.

    A part of n records with c of each value has n times the entropy n ln n - sum of c ln c; while values move from the
    right of the cut to its left one by one, the sums are kept up to date.
    """
    right, left = scoring.sides[side], scoring.sides[1 - side]
    scores = np.empty(len(values.codes) - 1)
    together = n_log_n(scoring, size)
    gathered = 0.0  # what the sums of both sides have gained or lost on the node's
    below = 0
    for place in range(len(values.codes)):
        i = values.heads[place]
        while i >= 0:
            for j in range(scoring.offsets[cells[i]], scoring.offsets[cells[i] + 1]):
                value, count = scoring.values[j], scoring.counts[j]
                gathered -= n_log_n(scoring, left[value]) + n_log_n(scoring, right[value])
                left[value] += count
                right[value] -= count
                gathered += n_log_n(scoring, left[value]) + n_log_n(scoring, right[value])
            i = values.following[i]
        below += values.weights[place]
        if place < len(scores):
            apart = n_log_n(scoring, below) + n_log_n(scoring, size - below)
            scores[place] = (together - apart + gathered) / size
    return scores
