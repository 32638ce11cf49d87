"""Mondrian (LeFevre, DeWitt & Ramakrishnan 2006): cut the records in two, again and again, while both halves hold.

    partition(records):
        for attribute in all attributes, the widest spread among these records first:
            left, right = the records on either side of the attribute's median
            if the requirement admits left and right:
                return partition(left) + partition(right)
        return one group

It runs on cells: a cell with a count stands for that many records. The spread is the width of the records' range
over the width of the domain. A *strict* cut keeps records of equal value together, at the boundary between two
values that halves best; a *relaxed* cut halves exactly and may send equal records, even of one cell, to both sides.
Categories are cut along the leaf order of their hierarchy. With a budget for suppression, records are left out only
after all cutting, and only where that saves more loss than it costs (`trimming`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.anonymizer import Anonymizer, infeasible
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
    find_ranges,
    median_cut,
    problem_of,
    room,
    room_for_rows,
    sizes_admitted,
    width,
)
from sfumato.anonymizers.trimming import trim
from sfumato.configuration import check_choice
from sfumato.errors import BadInputError
from sfumato.kernels import kernel
from sfumato.release import Assignment, Form, Release, bucketization, generalization
from sfumato.requirements import Requirement
from sfumato.requirements.predicates import group_admitted
from sfumato.table import Table


@dataclass(frozen=True)
class Mondrian(Anonymizer):
    """Cut at the median of the widest attribute as long as both halves satisfy the requirement."""

    mode: str = "strict"
    """strict: equal records stay together; relaxed: they may be split between two groups."""

    box: str = "tight"
    """tight: publish the range of a group's records; region: publish the whole part of the domain it was cut to."""

    name: ClassVar[str] = "mondrian"

    def __post_init__(self) -> None:
        check_choice("mode", self.mode, ("strict", "relaxed"))
        check_choice("box", self.box, ("tight", "region"))

    def release(self, table: Table, requirement: Requirement, form: Form, budget: int) -> Release:
        """Partition the cells, spend the budget, and publish the groups in the form asked for."""
        if self.mode == "relaxed" and form == "generalization" and not requirement.monotone:
            raise BadInputError(
                f"mondrian mode=relaxed may make groups with equal boxes, which are one group in the file, and "
                f"{requirement} need not survive merging; use mode=strict or --form bucketization"
            )
        cells = table.cells
        problem = problem_of(cells, requirement)
        relaxed = self.mode == "relaxed"
        bottom, top = np.zeros(len(cells.quasi), np.int32), (problem.sizes - 1).astype(np.int32)
        everything = np.arange(cells.size)
        if group_admitted(problem.rules, cells.baseline.counts[0], cells.records):
            groups = partition(problem, everything, cells.counts, bottom, top, relaxed)
        else:
            groups = one_group(problem, everything, cells.counts, bottom, top)
        groups = trim(problem, groups, budget, lambda *node: partition(problem, *node, relaxed))
        if not len(groups.lo):
            raise infeasible(requirement, cells.baseline, "even all records in one group are not enough")
        return self._published(table, groups, form)

    def _published(self, table: Table, groups: Groups, form: Form) -> Release:
        number = np.repeat(np.arange(len(groups.lo)), np.diff(groups.offsets))
        assignment = Assignment(groups.cells, number, groups.counts)
        if form == "bucketization":
            return bucketization(table, assignment, len(groups.lo))
        if self.box == "region":
            return generalization(table, assignment, groups.region_lo, groups.region_hi)
        return generalization(table, assignment, groups.lo, groups.hi)


@kernel
def partition(
    problem: Problem, cells: Counts, counts: Counts, region_lo: Codes, region_hi: Codes, relaxed: bool
) -> Groups:
    """Partition the records of these entries, which are admitted as one group.

    Pending nodes lie one above the other in an arena, the topmost is cut next, so memory stays linear. Time is
    O(entries x attributes) per level of cuts, with as many levels as the logarithm of the number of groups.
    """
    d = len(region_lo)
    arena, arena_counts = cells.copy(), counts.copy()
    bounds = np.empty((16, 2), np.int64)
    regions = np.empty((16, 2 * d), np.int32)
    bounds[0, 0], bounds[0, 1] = 0, len(cells)
    regions[0, :d], regions[0, d:] = region_lo, region_hi
    pending = 1

    out, out_counts = np.empty(len(cells), np.int64), np.empty(len(cells), np.int64)
    offsets = np.zeros(17, np.int64)
    boxes = np.empty((16, 4 * d), np.int32)
    used = groups = 0

    histogram = np.empty(len(problem.rules.q), np.int64)
    left_histogram = np.empty(len(problem.rules.q), np.int64)
    lo, hi = np.empty(d, np.int32), np.empty(d, np.int32)

    while pending > 0:
        pending -= 1
        start, end = bounds[pending, 0], bounds[pending, 1]
        node, node_counts = arena[start:end], arena_counts[start:end]
        find_ranges(problem, node, lo, hi)
        attribute, code, at_code, whole = find_cut(
            problem, node, node_counts, lo, hi, histogram, left_histogram, relaxed
        )
        if attribute < 0:
            out, out_counts = room(out, used + end - start), room(out_counts, used + end - start)
            out[used : used + end - start] = node
            out_counts[used : used + end - start] = node_counts
            used += end - start
            offsets, boxes = room(offsets, groups + 2), room_for_rows(boxes, groups + 1)
            boxes[groups, :d], boxes[groups, d : 2 * d] = lo, hi
            boxes[groups, 2 * d :] = regions[pending]
            groups += 1
            offsets[groups] = used
            continue
        left, left_counts, right, right_counts = divide(problem, node, node_counts, attribute, code, at_code)
        middle, end = start + len(right), start + len(right) + len(left)
        arena, arena_counts = room(arena, end), room(arena_counts, end)
        arena[start:middle], arena_counts[start:middle] = right, right_counts
        arena[middle:end], arena_counts[middle:end] = left, left_counts
        bounds, regions = room_for_rows(bounds, pending + 2), room_for_rows(regions, pending + 2)
        regions[pending + 1] = regions[pending]
        bounds[pending, 0], bounds[pending, 1] = start, middle
        bounds[pending + 1, 0], bounds[pending + 1, 1] = middle, end
        regions[pending, attribute] = code + 1 if whole else code
        regions[pending + 1, d + attribute] = code
        pending += 2

    boxes = boxes[:groups].copy()
    return Groups(
        out[:used].copy(),
        out_counts[:used].copy(),
        offsets[: groups + 1].copy(),
        boxes[:, :d].copy(),
        boxes[:, d : 2 * d].copy(),
        boxes[:, 2 * d : 3 * d].copy(),
        boxes[:, 3 * d :].copy(),
    )


@kernel
def find_cut(
    problem: Problem,
    cells: Counts,
    counts: Counts,
    lo: Codes,
    hi: Codes,
    histogram: Counts,
    left_histogram: Counts,
    relaxed: bool,
) -> tuple[int, int, int, bool]:
    """Find the first admitted cut, the widest attribute first: attribute (-1: none), code, how many of it go left,
    and whether these are all records with that code."""
    size = count_values(problem, cells, counts, histogram)
    spreads = np.empty(len(lo))
    for a in range(len(lo)):
        spreads[a] = width(problem, a, lo[a], hi[a]) / domain_width(problem, a) if lo[a] < hi[a] else -1.0
    for _ in range(len(lo)):
        a = np.argmax(spreads)
        if spreads[a] < 0:
            break
        spreads[a] = -1.0
        codes, weights = code_weights(problem, cells, counts, a, lo[a], hi[a])
        code, at_code, left = median_cut(codes, weights, size, relaxed)
        if not (sizes_admitted(problem.rules, left) and sizes_admitted(problem.rules, size - left)):
            continue
        count_left(problem, cells, counts, a, code, at_code, left_histogram)
        if group_admitted(problem.rules, left_histogram, left) and group_admitted(
            problem.rules, histogram - left_histogram, size - left
        ):
            return a, code, at_code, at_code == weights[np.searchsorted(codes, code)]
    return -1, 0, 0, False


def one_group(problem: Problem, cells: Counts, counts: Counts, region_lo: Codes, region_hi: Codes) -> Groups:
    """Keep these entries together as one group."""
    lo, hi = np.empty_like(region_lo), np.empty_like(region_hi)
    find_ranges(problem, cells, lo, hi)
    offsets = np.array([0, len(cells)])
    boxes: list[NDArray[np.int32]] = [lo[None], hi[None], region_lo[None], region_hi[None]]
    return Groups(cells, counts, offsets, *boxes)
