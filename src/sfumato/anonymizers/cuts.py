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
    code_weights,
    count_values,
    domain_width,
    only_sizes,
    sizes_admitted,
    width,
)
from sfumato.anonymizers.scoring import GAIN, LOSS, RANGE, TARGET_VARIANCE, VARIANCE, Scoring
from sfumato.anonymizers.trimming import loss
from sfumato.kernels import kernel
from sfumato.requirements.predicates import group_admitted

EQUAL_SCORES = 1e-9
"""Scores per record that differ by no more are equal."""


class Node(NamedTuple):
    """What is asked about a node: its entries, and its records counted."""

    cells: Counts
    counts: Counts
    size: int
    histogram: Counts
    """Its sensitive values, where a rule is about them."""

    targets: Counts
    """How often each value of the target occurs that does, in the order of `Scoring.numbers`."""


class Values(NamedTuple):
    """The codes of one attribute that occur in a node, ascending, and the records with each."""

    codes: Counts
    weights: Counts
    places: Counts
    """For codes from the lowest on, where they stand in `codes`; empty where codes lie too far apart for that."""


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
    node = Node(cells, counts, size, histogram, count_targets(scoring, cells))
    best, code, best_score = -1, 0, -np.inf
    if sizes_admitted(problem.rules, size // 2):  # otherwise the smaller half of any cut is too small
        for attribute in by_spread(problem, lo, hi):
            codes, weights = code_weights(problem, cells, counts, attribute, lo[attribute], hi[attribute])
            if not any_size_admitted(problem, weights, size):
                continue
            values = Values(codes, weights, places_of(codes, len(cells)))
            scores = scores_of(problem, scoring, node, values, attribute, lo, hi)
            place, score = best_place(problem, node, values, attribute, scores, best_score, left_histogram)
            if place >= 0:
                best, best_score = attribute, score
                code = codes[place]
                if scoring.kind == RANGE:
                    code = middle_of_gap(problem, attribute, codes, place)
                    break
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
def any_size_admitted(problem: Problem, weights: Counts, size: int) -> bool:
    """Say whether any cut of an attribute makes two parts that the rules about sizes admit."""
    left = 0
    for place in range(len(weights) - 1):
        left += weights[place]
        if sizes_admitted(problem.rules, left):  # the first such cut leaves most to the right
            return sizes_admitted(problem.rules, size - left)
    return False


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
def best_place(
    problem: Problem,
    node: Node,
    values: Values,
    attribute: int,
    scores: Numbers,
    least: float,
    left_histogram: Counts,
) -> tuple[int, float]:
    """Find the admitted cut of an attribute whose score is highest and above a least one, or no place (-1)."""
    by_size = only_sizes(problem.rules)
    heads, following = empty_lists() if by_size else listed(problem, node, values, attribute)
    left_histogram[:] = 0
    best, best_score, best_left = -1, least, 0
    left = counted = 0
    for place in range(len(scores)):
        left += values.weights[place]
        if not (sizes_admitted(problem.rules, left) and sizes_admitted(problem.rules, node.size - left)):
            continue
        if scores[place] < best_score - EQUAL_SCORES:
            continue
        closer = best >= 0 and abs(2 * left - node.size) < abs(2 * best_left - node.size)
        if scores[place] <= best_score + EQUAL_SCORES and not closer:
            continue
        if not by_size:
            while counted <= place:  # sensitive values are counted as far as a cut that is worth asking about
                add_values(problem, node, heads[counted], following, left_histogram)
                counted += 1
            if not group_admitted(problem.rules, left_histogram, left):
                continue
            if not group_admitted(problem.rules, node.histogram - left_histogram, node.size - left):
                continue
        best, best_score, best_left = place, max(best_score, scores[place]), left
    return best, best_score


@kernel
def empty_lists() -> tuple[Counts, Counts]:
    """Return what `listed` does, of nothing."""
    return np.empty(0, np.int64), np.empty(0, np.int64)


@kernel
def listed(problem: Problem, node: Node, values: Values, attribute: int) -> tuple[Counts, Counts]:
    """List the entries of every code: the first of each, and for every entry the next one of its code, or -1."""
    heads, following = np.full(len(values.codes), -1, np.int64), np.empty(len(node.cells), np.int64)
    for i in range(len(node.cells) - 1, -1, -1):
        place = place_of(values, problem.codes[node.cells[i], attribute])
        following[i] = heads[place]
        heads[place] = i
    return heads, following


@kernel
def add_values(problem: Problem, node: Node, head: int, following: Counts, histogram: Counts) -> None:
    """Add the sensitive values of a list of entries to a histogram."""
    i = head
    while i >= 0:
        for s in range(problem.columns.shape[1]):
            histogram[problem.columns[node.cells[i], s]] += node.counts[i]
        i = following[i]


# -- scores ------------------------------------------------------------------------------------------------


@kernel
def scores_of(
    problem: Problem, scoring: Scoring, node: Node, values: Values, attribute: int, lo: Codes, hi: Codes
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
def weighted_middles(problem: Problem, attribute: int, values: Values) -> Numbers:
    """Return for every code the sum over its records of where its leaf lies, from 0 to 1."""
    sums = np.empty(len(values.codes))
    whole = domain_width(problem, attribute)
    for place in range(len(sums)):
        code = problem.starts[attribute] + values.codes[place]
        sums[place] = values.weights[place] * (problem.widths[code] + problem.widths[code + 1]) / 2 / whole
    return sums


@kernel
def known_numbers(
    problem: Problem, scoring: Scoring, node: Node, values: Values, attribute: int
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
def loss_reductions(
    problem: Problem, node: Node, values: Values, attribute: int, node_lo: Codes, node_hi: Codes
) -> Numbers:
    """Say how much each cut lowers the loss, with the ranges of both parts in all attributes."""
    lo, hi = ranges_by_code(problem, node, values, attribute)
    lefts = growing_losses(problem, values.weights, lo, hi, True)
    rights = growing_losses(problem, values.weights, lo, hi, False)
    whole = node.size * mean_loss(problem, node_lo, node_hi)
    scores = np.empty(len(values.codes) - 1)
    for place in range(len(scores)):
        scores[place] = (whole - lefts[place] - rights[place + 1]) / node.size
    return scores


@kernel
def ranges_by_code(problem: Problem, node: Node, values: Values, attribute: int) -> tuple[Codes, Codes]:
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
def growing_losses(problem: Problem, weights: Counts, lo: Codes, hi: Codes, upwards: bool) -> Numbers:
    """Return the loss of all records from the first code up to each, or from the last one down to each.

    Only what a code widens is worked out anew.
    """
    n, d = lo.shape
    found, losses = np.empty(n), np.zeros(d)
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
        found[place] = records * total / d
    return found


@kernel
def mean_loss(problem: Problem, lo: Codes, hi: Codes) -> float:
    """Return the mean loss of a box over the attributes."""
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
def count_targets(scoring: Scoring, cells: Counts) -> Counts:
    """Count the target's values in a node, and number those that occur, so that the others cost nothing."""
    pairs = 0
    if scoring.kind == GAIN:
        for i in range(len(cells)):
            for j in range(scoring.offsets[cells[i]], scoring.offsets[cells[i] + 1]):
                scoring.numbers[scoring.values[j]] = -1
                pairs += 1
    targets = np.zeros(min(pairs, len(scoring.numbers)), np.int64)
    found = 0
    if scoring.kind == GAIN:
        for i in range(len(cells)):
            for j in range(scoring.offsets[cells[i]], scoring.offsets[cells[i] + 1]):
                value = scoring.values[j]
                if scoring.numbers[value] < 0:
                    scoring.numbers[value] = found
                    found += 1
                targets[scoring.numbers[value]] += scoring.counts[j]
    return targets[:found]


@kernel
def gains(problem: Problem, scoring: Scoring, node: Node, values: Values, attribute: int) -> Numbers:
    """Return the information gain of each cut.

    A part of n records with c of each value has n times the entropy n ln n - sum of c ln c; while values move from the
    right of the cut to its left, the sums are kept up to date.
    """
    counted = np.zeros((len(values.codes), len(node.targets)), np.int64)
    for i in range(len(node.cells)):
        cell = node.cells[i]
        place = place_of(values, problem.codes[cell, attribute])
        for j in range(scoring.offsets[cell], scoring.offsets[cell + 1]):
            counted[place, scoring.numbers[scoring.values[j]]] += scoring.counts[j]
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
