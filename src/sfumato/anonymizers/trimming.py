"""Spending a budget for suppression after cutting: leave out a group's outliers where that saves more than it costs.

A trim removes the records of a group at one end of one attribute. It is worth taking where the rest of the group
is still admitted, the removed part could not stand alone, and the loss of the rest falls by more than the removed
records cost (a suppressed record counts loss 1). The trim that saves most per removed record comes first; the rest
of a trimmed group is cut again. So nothing is suppressed that generalization could have saved at a lower loss.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np

from sfumato.anonymizers.cutting import (
    Codes,
    Counts,
    Groups,
    Problem,
    code_weights,
    count_left,
    count_values,
    divide,
    domain_width,
    width,
)
from sfumato.kernels import kernel
from sfumato.requirements.predicates import group_admitted

CutAgain = Callable[[Counts, Counts, Codes, Codes], Groups]


def trim(problem: Problem, groups: Groups, budget: int, cut_again: CutAgain) -> Groups:
    """Return the groups after the best trims within the budget; groups that are not admitted are left out."""
    pieces = [one_piece(groups, g) for g in range(len(groups.lo))] if budget else []
    if not budget:
        return groups if all_admitted(problem, groups) else without_groups(groups)
    queue: list[tuple[float, int, int]] = []
    for number in range(len(pieces)):
        _consider(problem, pieces, number, budget, queue)
    removed_pieces = {n for n, piece in enumerate(pieces) if not all_admitted(problem, piece)}
    while queue and budget:
        _, number, removed = heapq.heappop(queue)
        if removed > budget:
            _consider(problem, pieces, number, budget, queue)
            continue
        piece = pieces[number]
        attribute, code, keep_left, removed, _ = best_trim(problem, piece.cells, piece.counts, piece.lo[0], piece.hi[0], budget)
        kept, region_lo, region_hi = _keep(problem, piece, attribute, code, keep_left)
        budget -= removed
        removed_pieces.add(number)
        again = cut_again(*kept, region_lo, region_hi)
        for g in range(len(again.lo)):
            pieces.append(one_piece(again, g))
            _consider(problem, pieces, len(pieces) - 1, budget, queue)
    return joined(groups, [piece for n, piece in enumerate(pieces) if n not in removed_pieces])


def _consider(
    problem: Problem, pieces: list[Groups], number: int, budget: int, queue: list[tuple[float, int, int]]
) -> None:
    piece = pieces[number]
    attribute, _, _, removed, gain = best_trim(
        problem, piece.cells, piece.counts, piece.lo[0], piece.hi[0], budget
    )
    if attribute >= 0:
        heapq.heappush(queue, (-gain / removed, number, int(removed)))


def _keep(
    problem: Problem, piece: Groups, attribute: int, code: int, keep_left: bool
) -> tuple[tuple[Counts, Counts], Codes, Codes]:
    left, left_counts, right, right_counts = divide(
        problem, piece.cells, piece.counts, attribute, code, np.iinfo(np.int64).max
    )
    region_lo, region_hi = piece.region_lo[0].copy(), piece.region_hi[0].copy()
    if keep_left:
        region_hi[attribute] = code
        return (left, left_counts), region_lo, region_hi
    region_lo[attribute] = code + 1
    return (right, right_counts), region_lo, region_hi


def one_piece(groups: Groups, g: int) -> Groups:
    """Return one group alone."""
    part = slice(groups.offsets[g], groups.offsets[g + 1])
    cells, counts = groups.cells[part], groups.counts[part]
    return Groups(cells, counts, np.array([0, len(cells)]), *(box[g : g + 1] for box in groups[3:]))


def joined(like: Groups, pieces: list[Groups]) -> Groups:
    """Join single groups to many."""
    if not pieces:
        return without_groups(like)
    offsets = np.cumsum([0, *(len(piece.cells) for piece in pieces)])
    columns = [np.concatenate([piece[i] for piece in pieces]) for i in (0, 1, 3, 4, 5, 6)]
    return Groups(columns[0], columns[1], offsets, *columns[2:])


def without_groups(like: Groups) -> Groups:
    """Return no group at all, in the same shape."""
    return Groups(like.cells[:0], like.counts[:0], like.offsets[:1], *(box[:0] for box in like[3:]))


@kernel
def all_admitted(problem: Problem, groups: Groups) -> bool:
    """Say whether every group is admitted."""
    histogram = np.empty(len(problem.rules.q), np.int64)
    for g in range(len(groups.lo)):
        part = slice(groups.offsets[g], groups.offsets[g + 1])
        size = count_values(problem, groups.cells[part], groups.counts[part], histogram)
        if not group_admitted(problem.rules, histogram, size):
            return False
    return True


@kernel
def loss(problem: Problem, attribute: int, lo: int, hi: int) -> float:
    """Return the loss of publishing leaves lo..hi (the formula of `Hierarchy.loss`)."""
    leaves = problem.sizes[attribute]
    if lo == hi or leaves == 1:
        return 0.0
    share = width(problem, attribute, lo, hi) / domain_width(problem, attribute)
    return max((share - 1 / leaves) / (1 - 1 / leaves), 0.0)


@kernel
def best_trim(
    problem: Problem, cells: Counts, counts: Counts, lo: Codes, hi: Codes, budget: int
) -> tuple[int, int, bool, int, float]:
    """Find the trim of one group that saves most per record: attribute (-1: none), code, which side, cost, gain.

    The gain counts the trimmed attribute alone, so it is a lower bound. A group that is not admitted itself takes
    the smallest trim after which it is.
    """
    d = len(lo)
    histogram = np.empty(len(problem.rules.q), np.int64)
    left_histogram = np.empty(len(problem.rules.q), np.int64)
    size = count_values(problem, cells, counts, histogram)
    admitted = group_admitted(problem.rules, histogram, size)
    mean = 0.0
    for a in range(d):
        mean += loss(problem, a, lo[a], hi[a]) / d
    best, best_code, best_left, best_removed, best_gain, best_rate = -1, 0, False, 0, 0.0, 0.0
    for a in range(d):
        if lo[a] == hi[a]:
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
                count_left(problem, cells, counts, a, codes[i], weights[i], left_histogram)
                rest = left_histogram if keep_left else histogram - left_histogram
                if not group_admitted(problem.rules, rest, kept):
                    continue
                if admitted and group_admitted(problem.rules, histogram - rest, removed):
                    continue
                best, best_code, best_left, best_removed = a, codes[i], keep_left, removed
                best_gain, best_rate = gain, rate
    return best, best_code, best_left, best_removed, best_gain
