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

import numpy as np

from sfumato.anonymizers.mondrian._cuts import (
    CutProblem,
    code_weights,
    count_values,
    only_sizes,
    side_admitted,
    sizes_admitted,
    spread_of,
)
from sfumato.anonymizers.mondrian._scores import (
    RANGE,
    ScoredNode,
    Scoring,
    Values,
    count_targets,
    middle_of_gap,
    place_of,
    places_of,
    scores_of,
)
from sfumato.requirements._predicates import group_admitted
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.runtime.kernels import kernel

EQUAL_SCORES = 1e-9
"""Scores per record that differ by no more are equal."""


@kernel
def scored_cut(
    problem: CutProblem,
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
    best, code, best_score = -1, 0, -np.inf
    if sizes_admitted(problem.rules, size // 2):  # otherwise the smaller half of any cut is too small
        pairs, targets = count_targets(scoring, cells)
        node = ScoredNode(cells, counts, size, histogram, pairs, targets)
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
def by_spread(problem: CutProblem, lo: Codes, hi: Codes) -> Counts:
    """List the attributes that can be cut, the widest spread first, ties in their order."""
    spreads, order = np.empty(len(lo)), np.empty(len(lo), np.int64)
    count = 0
    for a in range(len(lo)):
        if lo[a] == hi[a] or not problem.may_cut[a]:
            continue
        spread = spread_of(problem, a, lo[a], hi[a])
        place = count
        while place > 0 and spreads[place - 1] < spread:
            spreads[place], order[place] = spreads[place - 1], order[place - 1]
            place -= 1
        spreads[place], order[place] = spread, a
        count += 1
    return order[:count]


@kernel
def any_size_admitted(problem: CutProblem, weights: Counts, size: int) -> bool:
    """Return whether any cut of an attribute makes two parts that the rules about sizes admit."""
    left = 0
    for place in range(len(weights) - 1):
        left += weights[place]
        if sizes_admitted(problem.rules, left):  # the first such cut leaves most to the right
            return sizes_admitted(problem.rules, size - left)
    return False


@kernel
def best_place(
    problem: CutProblem,
    node: ScoredNode,
    values: Values,
    attribute: int,
    scores: Numbers,
    least: float,
    left_histogram: Counts,
) -> tuple[int, float]:
    """Find the admitted cut of an attribute whose score is highest and above a least one, or no place (-1)."""
    by_size = only_sizes(problem.rules)
    heads, following = np.empty(0, np.int64), np.empty(0, np.int64)
    rest = np.empty(len(node.histogram), np.int64)
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
            if counted == 0:
                heads, following = listed(problem, node, values, attribute)
            while counted <= place:  # sensitive values are counted as far as a cut that is worth asking about
                add_values(problem, node, heads[counted], following, left_histogram)
                counted += 1
            if not group_admitted(problem.rules, left_histogram, left):
                continue
            for s in range(len(rest)):
                rest[s] = node.histogram[s] - left_histogram[s]
            if not group_admitted(problem.rules, rest, node.size - left):
                continue
        code = values.codes[place]
        if not (
            side_admitted(problem, node.cells, attribute, code, True, left)
            and side_admitted(problem, node.cells, attribute, code, False, node.size - left)
        ):
            continue
        best, best_score, best_left = place, max(best_score, scores[place]), left
    return best, best_score


@kernel
def listed(problem: CutProblem, node: ScoredNode, values: Values, attribute: int) -> tuple[Counts, Counts]:
    """List the entries of every code: the first of each, and for every entry the next one of its code, or -1."""
    heads, following = np.full(len(values.codes), -1, np.int64), np.empty(len(node.cells), np.int64)
    for i in range(len(node.cells) - 1, -1, -1):
        place = place_of(values, problem.codes[node.cells[i], attribute])
        following[i] = heads[place]
        heads[place] = i
    return heads, following


@kernel
def add_values(problem: CutProblem, node: ScoredNode, head: int, following: Counts, histogram: Counts) -> None:
    """Add the sensitive values of a list of entries to a histogram."""
    i = head
    while i >= 0:
        for s in range(problem.columns.shape[1]):
            histogram[problem.columns[node.cells[i], s]] += node.counts[i]
        i = following[i]
