"""The same treatment for the members of a household: what they share is cut first, by itself, and then no more.

    parts  = cut along the shared attributes only
    groups = cut every part along the other attributes only
    publish of the shared attributes the ends of the part, of the others those of the group

Members agree in what they share, so strict cuts of it keep a household in one part, and whoever knows of two members
sees one box of the shared attributes, not two to intersect. A part cut down to the last admitted one leaves nothing for
the other attributes; so parts are also kept larger, at halves, quarters, ... of the table, and the best loss decides.

A trim of a shared attribute leaves out whole households of a part; a trim of another one may leave out one member.

A member that lacks a value of what the others share is cut with them (`Table.cells_together`); what a part shows is
what its records really have, so the missing value is then in the box of the whole part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sfumato.anonymizers.mondrian.cut_kernels import CutProblem, Groups, problem_of
from sfumato.anonymizers.mondrian.trim import joined, trim
from sfumato.arrays import Codes, Counts, Flags
from sfumato.requirements import KAnonymity, Requirement
from sfumato.table import Cells, Table, distinct_rows, ranges

Cut = Callable[[CutProblem, Counts, Counts, Codes, Codes], Groups]
"""Cuts the records of these entries, in this region, as long as the halves are admitted."""


def shared_first(
    table: Table, cells: Cells, requirement: Requirement, whole: Groups, admitted: bool, budget: int, cut: Cut
) -> Iterator[Groups]:
    """Make the groups of all sizes of parts that are tried; `whole` is the one group of all records.

    `cells` have the codes that are cut: members of a household have the same of what they share.
    """
    shared = _shared(table)
    for least in (1, *_part_sizes(cells, shared, requirement, whole, cut)) if admitted else (1,):
        parts = _parts(cells, shared, requirement, whole, admitted, budget, cut, least)
        if parts.size:
            left = budget - (cells.records - int(parts.counts.sum()))
            yield _with_ends_of_parts(_groups(cells, shared, requirement, parts, left, cut), table)


def _shared(table: Table) -> Flags:
    flags = np.zeros(len(table.cells.quasi), np.bool_)
    flags[list(table.shared)] = True
    return flags


def _part_sizes(cells: Cells, shared: Flags, requirement: Requirement, whole: Groups, cut: Cut) -> list[int]:
    """Halve the table again and again, as long as that is more than the smallest part without such a limit."""
    parts = _parts(cells, shared, requirement, whole, True, 0, cut, 1)
    smallest = int(np.add.reduceat(parts.counts, parts.offsets[:-1]).min())
    records = cells.records
    return [records >> halved for halved in range(records.bit_length()) if records >> halved > smallest]


def _parts(
    cells: Cells,
    shared: Flags,
    requirement: Requirement,
    whole: Groups,
    admitted: bool,
    budget: int,
    cut: Cut,
    least: int,
) -> Groups:
    """Cut along shared attributes into parts of at least so many records, and trim these."""
    larger = problem_of(cells, requirement & KAnonymity(least))._replace(may_cut=shared)

    def cut_shared(cells: Counts, counts: Counts, region_lo: Codes, region_hi: Codes) -> Groups:
        return cut(larger, cells, counts, region_lo, region_hi)

    parts = _cut_each(whole, cut_shared) if admitted else whole
    if not budget:
        return parts
    problem = problem_of(cells, requirement)._replace(may_cut=shared)
    return trim(problem, parts, admitted, budget, True, cut_shared)


def _groups(cells: Cells, shared: Flags, requirement: Requirement, parts: Groups, budget: int, cut: Cut) -> Groups:
    """Cut every part along the attributes that are not shared, and trim the groups."""
    problem = problem_of(cells, requirement)._replace(may_cut=~shared)

    def cut_others(cells: Counts, counts: Counts, region_lo: Codes, region_hi: Codes) -> Groups:
        return cut(problem, cells, counts, region_lo, region_hi)

    groups = _cut_each(parts, cut_others)
    return trim(problem, groups, True, budget, True, cut_others) if budget else groups


def _cut_each(groups: Groups, cut: Callable[[Counts, Counts, Codes, Codes], Groups]) -> Groups:
    """Cut every group by itself."""
    pieces = []
    for g in range(groups.size):
        members = slice(groups.offsets[g], groups.offsets[g + 1])
        _, _, region_lo, region_hi = np.split(groups.boxes[g], 4)
        pieces.append(cut(groups.cells[members], groups.counts[members], region_lo, region_hi))
    return joined(groups, pieces)


def _with_ends_of_parts(groups: Groups, table: Table) -> Groups:
    """Widen the boxes to what all published records of their part have of the shared attributes.

    Groups of one part have the same region of these, for only parts were cut there.
    """
    shared = _shared(table)
    lo, hi, region_lo, region_hi = np.split(groups.boxes, 4, axis=1)
    _, part = distinct_rows(np.concatenate([region_lo[:, shared], region_hi[:, shared]], axis=1))
    codes = table.cells.codes[groups.cells][:, shared]
    low, high = ranges(np.repeat(part, np.diff(groups.offsets)), codes, codes)
    lo[:, shared], hi[:, shared] = low[part], high[part]
    region_lo[:, shared] = np.minimum(region_lo[:, shared], low[part])
    region_hi[:, shared] = np.maximum(region_hi[:, shared], high[part])
    return groups._replace(boxes=np.concatenate([lo, hi, region_lo, region_hi], axis=1))
