"""Spending a budget for suppression after cutting: leave out a group's outliers where that saves more than it costs.

A trim removes the records of a group at one end of one attribute. Removing records pays where the rest of the group is
still admitted, the removed part is not admitted as a group, and the loss of the rest falls by more than the removed
records cost. A suppressed record counts loss 1. The trim that saves most per removed record comes first; the rest of a
trimmed group is cut again. So nothing is suppressed that generalization could have saved at a lower loss.
"""

import heapq
from collections.abc import Callable

import numpy as np

from sfumato.anonymizers.mondrian._cuts import (
    CutProblem,
    Groups,
    code_weights,
    count_up_to,
    count_values,
    divide,
    domain_width,
    side_admitted,
)
from sfumato.requirements._predicates import group_admitted
from sfumato.runtime.arrays import Codes, Counts
from sfumato.runtime.kernels import kernel

CutAgain = Callable[[Counts, Counts, Codes, Codes], Groups]


def trim(problem: CutProblem, groups: Groups, admitted: bool, budget: int, boxes: bool, cut_again: CutAgain) -> Groups:
    """Return the groups after the best trims within the budget.

    Either all groups are admitted, or there is one that is not: it takes the smallest trim after which it is, and
    without such a trim no group is left. If boxes are not published there is no loss to save, and that is all.
    """
    if admitted and not boxes:
        return groups
    pieces: dict[int, Groups] = {g: one_piece(groups, g) for g in range(groups.size)}
    queue: list[tuple[float, int, int]] = []
    for number, piece in pieces.items():
        _consider(problem, piece, number, budget, queue)
    following = groups.size
    while queue and budget:
        _, number, removed = heapq.heappop(queue)
        piece = pieces[number]
        if removed > budget:
            _consider(problem, piece, number, budget, queue)
            continue
        attribute, code, keep_left, removed, _ = best_trim(problem, piece.cells, piece.counts, piece.boxes[0], budget)
        del pieces[number]
        budget -= removed
        again = cut_again(*_kept(problem, piece, attribute, code, keep_left))
        for g in range(again.size):
            pieces[following] = one_piece(again, g)
            if boxes:
                _consider(problem, pieces[following], following, budget, queue)
            following += 1
        admitted = True
    return joined(groups, list(pieces.values()) if admitted else [])


def _consider(
    problem: CutProblem, piece: Groups, number: int, budget: int, queue: list[tuple[float, int, int]]
) -> None:
    attribute, _, _, removed, gain = best_trim(problem, piece.cells, piece.counts, piece.boxes[0], budget)
    if attribute >= 0:
        heapq.heappush(queue, (-gain / removed, number, int(removed)))


def _kept(
    problem: CutProblem, piece: Groups, attribute: int, code: int, keep_left: bool
) -> tuple[Counts, Counts, Codes, Codes]:
    """Return the entries that stay, and their region."""
    below = np.where(problem.codes[piece.cells, attribute] <= code, piece.counts, 0)
    left, left_counts, right, right_counts = divide(piece.cells, piece.counts, below)
    _, _, region_lo, region_hi = (box.copy() for box in np.split(piece.boxes[0], 4))
    if keep_left:
        region_hi[attribute] = code
        return left, left_counts, region_lo, region_hi
    region_lo[attribute] = problem.codes[right, attribute].min()
    return right, right_counts, region_lo, region_hi


def one_piece(groups: Groups, g: int) -> Groups:
    """Return one group alone."""
    part = slice(groups.offsets[g], groups.offsets[g + 1])
    cells, counts = groups.cells[part], groups.counts[part]
    return Groups(cells, counts, np.array([0, len(cells)]), groups.boxes[g : g + 1])


def joined(like: Groups, pieces: list[Groups]) -> Groups:
    """Join pieces of one or more groups each."""
    if not pieces:
        return Groups(like.cells[:0], like.counts[:0], like.offsets[:1], like.boxes[:0])
    cells, counts, _, boxes = (np.concatenate(column) for column in zip(*pieces, strict=True))
    sizes = np.concatenate([np.diff(piece.offsets) for piece in pieces])
    return Groups(cells, counts, np.concatenate([[0], np.cumsum(sizes)]), boxes)


@kernel
def loss(problem: CutProblem, attribute: int, lo: int, hi: int) -> float:
    """Return the loss of publishing the range of leaves lo..hi (as in `Hierarchy.loss`), times the column's weight."""
    leaves = problem.sizes[attribute]
    if lo == hi or leaves == 1:
        return 0.0
    start = problem.starts[attribute]
    share = (problem.ends[start + hi] - problem.begins[start + lo]) / domain_width(problem, attribute)
    return float(problem.weights[attribute] * max((share - 1 / leaves) / (1 - 1 / leaves), 0.0))


@kernel
def best_trim(
    problem: CutProblem, cells: Counts, counts: Counts, box: Codes, budget: int
) -> tuple[int, int, bool, int, float]:
    """Find the trim of one group that saves most per record: attribute (-1: none), code, which side, cost, gain.

    The gain counts the trimmed attribute alone, and attributes that may not be cut as if they lost nothing, so it is a
    lower bound. A group that is not admitted itself takes the smallest trim after which it is, by any attribute.
    """
    d = len(problem.sizes)
    lo, hi = box[:d], box[d : 2 * d]
    histogram = np.empty(len(problem.rules.q), np.int64)
    left_histogram = np.empty(len(problem.rules.q), np.int64)
    size = count_values(problem, cells, counts, histogram)
    admitted = group_admitted(problem.rules, histogram, size) and side_admitted(problem, cells, 0, hi[0], True, size)
    mean = 0.0
    for a in range(d):
        if problem.may_cut[a]:
            mean += loss(problem, a, lo[a], hi[a]) / d
    best, best_code, best_left, best_removed, best_gain, best_rate = -1, 0, False, 0, 0.0, 0.0
    for a in range(d):
        if lo[a] == hi[a] or (admitted and not problem.may_cut[a]):
            continue
        codes, weights = code_weights(problem, cells, counts, a, lo[a], hi[a])
        before = loss(problem, a, lo[a], hi[a])
        left = 0
        for i in range(len(codes) - 1):
            left += weights[i]
            for keep_left in (False, True):
                kept = left if keep_left else size - left
                removed = size - kept
                if removed > budget:
                    continue
                after = loss(problem, a, lo[a], codes[i]) if keep_left else loss(problem, a, codes[i + 1], hi[a])
                gain = removed * (mean - 1) + kept * (before - after) / d
                rate = gain / removed if admitted else 1.0 / removed
                if rate <= best_rate:
                    continue
                count_up_to(problem, cells, counts, a, codes[i], left_histogram)
                rest = left_histogram if keep_left else histogram - left_histogram
                if not group_admitted(problem.rules, rest, kept):
                    continue
                if not side_admitted(problem, cells, a, codes[i], keep_left, kept):
                    continue
                alone = admitted and group_admitted(problem.rules, histogram - rest, removed)
                if alone and side_admitted(problem, cells, a, codes[i], not keep_left, removed):
                    continue
                best, best_code, best_left, best_removed = a, codes[i], keep_left, removed
                best_gain, best_rate = gain, rate
    return best, best_code, best_left, best_removed, best_gain
