"""The release of a cut vector, measured without making it: privacy, suppression, losses. The kernels.

Privacy of a group is its size (k), or the diversity of its sensitive values: the reciprocal of the largest share
(frequency) or their number (distinct). Loss is Dewri et al.'s: (atoms of the part - 1) / (atoms of the domain - 1).
It is summed over the published records and, weighted, over attributes, as a share of all records times attributes.

A table as these kernels read it: cells merged to distinct tuples of atoms, attributes in blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.anonymizers.cut_vector._groups import (
    MOST_PACKED,
    SpaceLayout,
    count_groups,
    fill_tables,
    largest_block,
    number_groups,
)
from sfumato.anonymizers.cut_vector.cut_vector import Bits, CutSpace
from sfumato.data.cells import Cells, find_sensitive, number_rows, weighted_counts
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.runtime.kernels import kernel
from sfumato.texts.catalogue import refusal

SIZE, FREQUENCY, DISTINCT = 0, 1, 2
"""The definition of the privacy of a group."""

KEEP_ALL, LIMITED, FREE, SAFE, PAPER_L, PAPER_K = 1, 2, 3, 4, 5, 6
"""Which groups are suppressed: problems 1 to 4; problem 4 as printed with l or with k preferred."""

COLUMNS = 7
PRIVACY, GENERALIZED, SUPPRESSED, SMALLEST, LEAST, WEIGHTED, GROUPS = range(COLUMNS)
"""Columns of the facts: the privacy reached; the loss by generalization and the loss by suppression; the smallest size
and the least diversity of the published groups (0: not computed); the mean privacy of a record before suppression; the
number of published groups."""

CLOSE = 1e-9
"""By so much, relatively, a privacy may fall short of the mean and still count as reaching it."""


@kernel
def weigh(
    vectors: Bits,
    layout: SpaceLayout,
    codes: Codes,
    values: Codes,
    counts: Counts,
    sensitive: int,
    problem: int,
    privacy: int,
    budget: int,
    every: bool,
) -> tuple[Numbers, Counts]:
    """Work out many vectors, one after the other, each from the cells alone: rows of facts, and how many each has.

    With `every` problems 2 and 4 have a row for every threshold of suppression, the largest first.
    """
    blocks, cells = codes.shape
    slots = 4
    while slots < 2 * cells:
        slots *= 2
    most, attributes, total = largest_block(layout), len(layout.offsets) - 1, counts.sum()
    table_keys, table_losses = np.empty((blocks, most), np.int64), np.empty((blocks, most))
    packed = np.zeros(0 if sensitive else slots, np.uint64)
    group, sizes, losses = np.empty(cells, np.int32), np.empty(cells, np.int64), np.empty(cells)
    measured, diversity = np.empty(cells), np.ones(cells)
    facts, ends, used = np.zeros((len(vectors) + 1, COLUMNS)), np.zeros(len(vectors), np.int64), 0
    for v in range(len(vectors)):
        span = fill_tables(vectors[v], layout, table_keys, table_losses)
        if not sensitive and span <= MOST_PACKED and total < MOST_PACKED:
            groups = count_groups(codes, counts, table_keys, table_losses, span, packed, sizes, losses)
        else:
            groups = number_groups(codes, counts, table_keys, table_losses, span, slots, group, sizes, losses)
        if sensitive:
            fill_diversity(group, values, counts, sizes, groups, sensitive, privacy, diversity)
        for g in range(groups):
            measured[g] = sizes[g] if privacy == SIZE else diversity[g]
        if problem == SAFE:
            facts, used = safe_rows(sizes, diversity, losses, groups, sensitive, budget, every, measured, facts, used)
        else:
            facts = with_room(facts, used)
            row = facts[used]
            bound = one_row(sizes, diversity, losses, groups, problem, privacy, budget, sensitive, measured, row)
            used += 1
            if every:
                order = below(measured, groups, bound)
                facts, used = add_rows(sizes, diversity, losses, order, measured, bound, sensitive, 0.0, facts, used)
        ends[v] = used
    facts[:used, GENERALIZED] /= total * attributes
    facts[:used, SUPPRESSED] /= total
    return facts[:used], ends


@kernel
def with_room(facts: Numbers, used: int) -> Numbers:
    """Return the rows, or twice as many where all are used."""
    if used < len(facts):
        return facts
    larger = np.zeros((2 * used, facts.shape[1]))
    larger[:used] = facts
    return larger


@kernel
def below(measured: Numbers, groups: int, bound: float) -> Counts:
    """List the groups of less privacy than a bound, the most private first."""
    chosen, number = np.empty(groups, np.int64), 0
    for g in range(groups):
        chosen[number] = g
        number += measured[g] < bound
    return chosen[:number][np.argsort(-measured[chosen[:number]])]


@kernel
def add_rows(
    sizes: Counts,
    diversity: Numbers,
    losses: Numbers,
    order: Counts,
    measured: Numbers,
    bound: float,
    sensitive: int,
    diverse: float,
    facts: Numbers,
    used: int,
) -> tuple[Numbers, int]:
    """Add a row for every smaller threshold: groups below the bound are kept one after the other, in the order given.

    The last row is that of the bound; groups of negative privacy are never kept. With `diverse` rows of groups that are
    all at least so diverse are left out: they are rows of a larger l.
    """
    row = facts[used - 1].copy()
    if diverse and row[LEAST] + CLOSE >= diverse:
        used -= 1
    for i in range(len(order)):
        g = order[i]
        if measured[g] < 0 or measured[g] >= bound:
            continue
        if row[PRIVACY] > measured[g] and row[PRIVACY] < bound and (not diverse or row[LEAST] + CLOSE < diverse):
            facts = with_room(facts, used)
            facts[used] = row
            used += 1
        row[PRIVACY] = measured[g]
        row[GENERALIZED] += sizes[g] * losses[g]
        row[SUPPRESSED] -= sizes[g]
        row[SMALLEST] = min(row[SMALLEST], sizes[g])
        row[LEAST] = min(row[LEAST], diversity[g]) if sensitive else 0.0
        row[GROUPS] += 1
    if row[PRIVACY] < bound and (not diverse or row[LEAST] + CLOSE < diverse):
        facts = with_room(facts, used)
        facts[used] = row
        used += 1
    return facts, used


@kernel
def fill_diversity(
    group: Codes,
    values: Codes,
    counts: Counts,
    sizes: Counts,
    groups: int,
    sensitive: int,
    privacy: int,
    diversity: Numbers,
) -> None:
    """Work out every group's diversity: values that occur, or the reciprocal of the largest share."""
    histogram = np.zeros(groups * sensitive, np.int64)
    for i in range(len(group)):
        histogram[group[i] * sensitive + values[i]] += counts[i]
    for g in range(groups):
        most, different = 0, 0
        for s in range(g * sensitive, (g + 1) * sensitive):
            most = max(most, histogram[s])
            different += histogram[s] > 0
        diversity[g] = different if privacy == DISTINCT else sizes[g] / most


@kernel
def threshold(measured: Numbers, sizes: Counts, groups: int, spent: int, budget: int) -> float:
    """Find the largest privacy that groups have such that those below it hold at most the budget; -1 are left out.

    Selection as by Hoare: of what is still open either the part below a pivot or the part above it is looked at again.
    """
    values, weights = np.empty(groups), np.empty(groups, np.int64)
    left = 0
    for g in range(groups):  # here and below everything is written, and stays only where the count goes on
        values[left], weights[left] = measured[g], sizes[g]
        left += measured[g] >= 0
    best = np.inf
    while left > 0:
        first, middle, last = values[0], values[left // 2], values[left - 1]
        pivot = max(min(first, middle), min(max(first, middle), last))
        below, equal = 0, 0
        for i in range(left):
            below += weights[i] * (values[i] < pivot)
            equal += weights[i] * (values[i] == pivot)
        lower = spent + below > budget
        if not lower:
            best = pivot
            spent += below + equal
            if spent > budget:
                break
        kept = 0
        for i in range(left):
            value, weight = values[i], weights[i]
            values[kept], weights[kept] = value, weight
            kept += value < pivot if lower else value > pivot
        left = kept
    return best


@kernel
def one_row(
    sizes: Counts,
    diversity: Numbers,
    losses: Numbers,
    groups: int,
    problem: int,
    privacy: int,
    budget: int,
    sensitive: int,
    measured: Numbers,
    row: Numbers,
) -> float:
    """Suppress as problem 1, 2, 3 or the printed problem 4 says, note the facts, and return the least that is kept."""
    mean, total = 0.0, 0
    for g in range(groups):
        mean += measured[g] * sizes[g]
        total += sizes[g]
    mean /= total
    bound, width = 0.0, 0.0
    if problem == LIMITED:
        bound = threshold(measured, sizes, groups, 0, budget)
    elif problem == FREE:
        bound = mean * (1 - CLOSE)
    elif problem != KEEP_ALL:  # one number in the order of the paper's classes
        width = float(sensitive + 1) if problem == PAPER_L else float(total + 1)
        for g in range(groups):
            l = np.floor(diversity[g] + CLOSE)  # noqa: E741
            measured[g] = sizes[g] * width + l if problem == PAPER_L else l * width + sizes[g]
        bound = threshold(measured, sizes, groups, 0, budget)
    keep(sizes, diversity, losses, groups, measured, bound, sensitive, row)
    row[WEIGHTED] = mean
    if problem in (KEEP_ALL, FREE):
        row[PRIVACY] = mean
    elif problem == LIMITED:
        row[PRIVACY] = bound
    else:  # the printed claim, which need not hold
        outer = np.floor(bound / width)
        inner = bound - outer * width
        row[SMALLEST], row[LEAST] = (outer, inner) if problem == PAPER_L else (inner, outer)
        row[PRIVACY] = row[SMALLEST]
    return float(bound)


@kernel
def keep(
    sizes: Counts,
    diversity: Numbers,
    losses: Numbers,
    groups: int,
    measured: Numbers,
    bound: float,
    sensitive: int,
    row: Numbers,
) -> None:
    """Note the facts of the groups at or above a bound; the losses not yet as shares."""
    smallest, least, left = np.inf, np.inf, 0
    generalized, suppressed = 0.0, 0
    for g in range(groups):  # no branches: which groups are kept cannot be foretold
        good = measured[g] >= bound
        generalized += sizes[g] * losses[g] if good else 0.0
        suppressed += 0 if good else sizes[g]
        smallest = min(smallest, sizes[g] if good else np.inf)
        least = min(least, diversity[g] if good else np.inf)
        left += good
    row[GENERALIZED], row[SUPPRESSED] = generalized, suppressed
    row[SMALLEST], row[LEAST], row[GROUPS] = smallest, (least if sensitive else 0.0), left


@kernel
def safe_rows(
    sizes: Counts,
    diversity: Numbers,
    losses: Numbers,
    groups: int,
    sensitive: int,
    budget: int,
    every: bool,
    measured: Numbers,
    facts: Numbers,
    used: int,
) -> tuple[Numbers, int]:
    """For every l the largest k such that groups smaller than k or less diverse than l fit the budget: (k, l)-safe.

    With `every` also all smaller k. There is no row of an l that cannot be had.
    """
    mean, total = 0.0, 0
    for g in range(groups):
        mean += float(sizes[g]) * sizes[g]
        total += sizes[g]
    order = np.empty(0, np.int64)
    for r in range(sensitive):
        spent, left = 0, 0
        for g in range(groups):
            good = diversity[g] + CLOSE >= r + 1
            measured[g] = sizes[g] if good else -1.0
            spent += 0 if good else sizes[g]
            left += good
        if left == 0 or spent > budget:
            break
        bound = threshold(measured, sizes, groups, spent, budget)
        if r == 0 and every:  # no l has a larger k than the first
            order = below(measured, groups, bound)
        facts = with_room(facts, used)
        keep(sizes, diversity, losses, groups, measured, max(bound, 0.0), sensitive, facts[used])
        facts[used, PRIVACY], facts[used, WEIGHTED] = bound, mean / total
        used += 1
        if every:
            facts, used = add_rows(sizes, diversity, losses, order, measured, bound, sensitive, r + 2.0, facts, used)
    return facts, used


MOST_JOINT = 1024
"""Joint codes of a block: its tables stay in the fastest cache."""

LARGEST_KEY = 2**62


@dataclass(frozen=True, eq=False)
class CutTable:
    """A table's cells as the kernels read them: joint codes of blocks, sensitive values, counts."""

    space: CutSpace
    layout: SpaceLayout
    codes: Codes
    """Blocks x cells."""

    values: Codes
    """The sensitive value of every cell; empty where none is asked for."""

    counts: Counts
    sensitive: int
    """The number of sensitive values, 0 where none are asked for."""

    records: int

    @staticmethod
    def of(cells: Cells, space: CutSpace, on: str | None = None, diverse: bool = False) -> CutTable:
        """Merge cells to atoms; with `diverse` the sensitive attribute `on` (or the only one) is kept."""
        domains = [attribute.bits + 1 for attribute in space.attributes]
        if np.prod(np.array(domains, np.float64)) > LARGEST_KEY:
            raise refusal("too_many_combinations_values")
        atoms = np.empty(cells.codes.shape, np.int64)
        for a, attribute in enumerate(space.attributes):
            atoms[:, a] = np.searchsorted(attribute.starts, cells.codes[:, a], side="right") - 1
        order, starts = _blocks(domains)
        joint = np.zeros((cells.size, len(starts) - 1), np.int64)
        for b in range(len(starts) - 1):
            for a in order[starts[b] : starts[b + 1]]:
                joint[:, b] = joint[:, b] * domains[a] + atoms[:, a]
        rows, sensitive = joint, 0
        if diverse:
            place = find_sensitive(cells.sensitive, on)
            rows = np.concatenate([joint, cells.values[:, [place]].astype(np.int64)], axis=1)
            sensitive = cells.sensitive[place].size
        first, number = number_rows(rows)
        counts = weighted_counts(number, cells.counts, len(first))
        values = rows[first, -1].astype(np.int32) if diverse else np.zeros(0, np.int32)
        codes = np.ascontiguousarray(joint[first].T.astype(np.int32))
        layout = _layout(space, cells, order, starts)
        return CutTable(space, layout, codes, values, counts, sensitive, cells.records)

    def facts(self, vectors: Bits, problem: int, privacy: int, budget: int, every: bool = False) -> list[Numbers]:
        """Work out vectors, for each an array (rows, columns of facts).

        Problem 4 has a row for every l from 1 on that can be had. With `every` there is one for every threshold of
        suppression.
        """
        rows, ends = weigh(
            vectors, self.layout, self.codes, self.values, self.counts, self.sensitive, problem, privacy, budget, every
        )
        return np.split(rows, ends[:-1])


def _layout(space: CutSpace, cells: Cells, order: list[int], starts: list[int]) -> SpaceLayout:
    losing = [attribute.losing(cells.codes[:, a]) for a, attribute in enumerate(space.attributes)]
    return SpaceLayout(
        np.array(space.offsets, np.int64),
        np.array(starts, np.int64),
        np.array(order, np.int64),
        np.concatenate([np.zeros(0), *(about.begins for about in losing)]),
        np.concatenate([np.zeros(0), *(about.ends for about in losing)]),
        np.concatenate([np.zeros(0, np.int64), *(about.first for about in losing)]),
        np.concatenate([np.zeros(0, np.int64), *(about.last for about in losing)]),
        np.array([about.least for about in losing], np.float64),
        cells.weights,
    )


def _blocks(domains: list[int]) -> tuple[list[int], list[int]]:
    """Join attributes to blocks, the largest domains first, each into the first block with enough free entries."""
    blocks: list[list[int]] = []
    sizes: list[int] = []
    for a in sorted(range(len(domains)), key=lambda a: (-domains[a], a)):
        fits = [b for b, size in enumerate(sizes) if size * domains[a] <= MOST_JOINT]
        if fits:
            blocks[fits[0]].append(a)
            sizes[fits[0]] *= domains[a]
        else:
            blocks.append([a])
            sizes.append(domains[a])
    return [a for block in blocks for a in block], [0, *map(int, np.cumsum([len(block) for block in blocks]))]
