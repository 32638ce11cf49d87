"""What a cut vector would publish, without making the release: group sizes, diversity, losses. The kernels.

Attributes are joined to a few *blocks* (`cut_table`), so that a cell's group needs one lookup per block instead of one
per attribute: for every vector the small tables of the blocks are filled first. Groups are numbered by hashing, or by
the key itself where there can be only few.

Privacy of a group is its size (k), or the diversity of its sensitive values: the reciprocal of the largest share
(frequency) or their number (distinct). Loss is Dewri et al.'s: (atoms of the part - 1) / (atoms of the domain - 1),
summed over the records that are left and over attributes, as a share of all records times attributes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.cut_space import Bits
from sfumato.kernels import kernel

Counts = NDArray[np.int64]
Codes = NDArray[np.int32]
Numbers = NDArray[np.float64]

SIZE, FREQUENCY, DISTINCT = 0, 1, 2
"""What the privacy of a group is."""

KEEP_ALL, LIMITED, FREE, SAFE, PAPER_L, PAPER_K = 1, 2, 3, 4, 5, 6
"""Which groups are suppressed: problems 1 to 4; problem 4 as printed with l or with k preferred."""

PRIVACY, GENERALIZED, SUPPRESSED, SMALLEST, LEAST, WEIGHTED, GROUPS = range(7)
"""Columns of the facts: the privacy reached; losses by generalization and by suppression; of the groups that are left
the smallest size and the least diversity (0: not asked for); the mean privacy that a record sees before suppression;
the number of groups left."""

CLOSE = 1e-9
"""By so much, relatively, a privacy may fall short of the mean and still count as reaching it."""


class Layout(NamedTuple):
    """Where attributes and blocks stand: what the kernel reads of a space."""

    offsets: Counts
    """Where the bits of every attribute begin, and the end."""

    block: Counts
    """Where the attributes of every block begin, and the end; attributes stand in the order of blocks."""

    attribute: Counts
    """The attributes in the order of blocks."""


@kernel
def weigh(
    vectors: Bits,
    layout: Layout,
    codes: Codes,
    values: Codes,
    counts: Counts,
    sensitive: int,
    problem: int,
    privacy: int,
    budget: int,
    found: Numbers,
) -> None:
    """Work out many vectors, one after the other, each from the cells alone."""
    blocks, cells = codes.shape
    slots = 4
    while slots < 2 * cells:
        slots *= 2
    keys, numbers = np.empty(slots, np.int64), np.empty(slots, np.int32)
    table_keys, table_losses = (
        np.empty((blocks, largest_block(layout)), np.int64),
        np.empty((blocks, largest_block(layout))),
    )
    group = np.empty(cells, np.int32)
    sizes, losses = np.empty(cells, np.int64), np.empty(cells)
    measured = np.empty(cells)
    diversity = np.ones(cells)
    for v in range(len(vectors)):
        span = fill_tables(vectors[v], layout, table_keys, table_losses)
        groups = number_groups(codes, counts, table_keys, table_losses, span, keys, numbers, group, sizes, losses)
        if sensitive:
            fill_diversity(group, values, counts, sizes, groups, sensitive, privacy, diversity)
        for g in range(groups):
            measured[g] = sizes[g] if privacy == SIZE else diversity[g]
        if problem == SAFE:
            safe_rows(sizes, diversity, losses, groups, sensitive, budget, measured, found[v])
        else:
            one_row(sizes, diversity, losses, groups, problem, privacy, budget, sensitive, measured, found[v, 0])
        attributes = len(layout.offsets) - 1
        total = 0
        for i in range(cells):
            total += counts[i]
        for r in range(found.shape[1]):
            found[v, r, GENERALIZED] /= total * attributes
            found[v, r, SUPPRESSED] /= total


@kernel
def largest_block(layout: Layout) -> int:
    """Find how many joint codes the largest block has."""
    most = 1
    for b in range(len(layout.block) - 1):
        size = 1
        for i in range(layout.block[b], layout.block[b + 1]):
            a = layout.attribute[i]
            size *= layout.offsets[a + 1] - layout.offsets[a] + 1
        most = max(most, size)
    return most


@kernel
def fill_tables(vector: Bits, layout: Layout, keys: Counts, losses: Numbers) -> int:
    """Fill for every block the keys and losses of its joint codes; return how many keys there can be."""
    stride = 1
    for b in range(len(layout.block) - 1):
        size = 1
        keys[b, 0], losses[b, 0] = 0, 0.0
        for i in range(layout.block[b], layout.block[b + 1]):
            start, end = layout.offsets[layout.attribute[i]], layout.offsets[layout.attribute[i] + 1]
            atoms = end - start + 1
            part, parts, loss = np.zeros(atoms, np.int64), 0, np.zeros(atoms)
            first = 0
            for atom in range(atoms):
                part[atom] = parts
                if atom == atoms - 1 or vector[start + atom]:
                    for inside in range(first, atom + 1):
                        loss[inside] = (atom - first) / (atoms - 1) if atoms > 1 else 0.0
                    first = atom + 1
                    parts += 1
            for j in range(size - 1, -1, -1):  # from the end, so that nothing is read after it was overwritten
                key, lost = keys[b, j], losses[b, j]
                for atom in range(atoms):
                    keys[b, j * atoms + atom] = key + part[atom] * stride
                    losses[b, j * atoms + atom] = lost + loss[atom]
            size *= atoms
            stride *= parts
    return stride


@kernel
def hashed(key: int, shift: int) -> np.uint64:
    """Return the slot at which to look first: the highest bits of a product."""
    return (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift)


@kernel
def number_groups(
    codes: Codes,
    counts: Counts,
    table_keys: Counts,
    table_losses: Numbers,
    span: int,
    keys: Counts,
    numbers: Codes,
    group: Codes,
    sizes: Counts,
    losses: Numbers,
) -> int:
    """Number the groups of all cells in order of appearance, count them and note the loss of one record of each."""
    blocks, cells = codes.shape
    slots = len(keys)
    shift = 64
    while slots > 1:
        slots >>= 1
        shift -= 1
    slots = len(keys)
    direct = span <= slots
    one, last = np.uint64(1), np.uint64(slots - 1)
    numbers[: span if direct else slots] = -1
    found = 0
    wanted = np.empty(cells, np.int64)
    for i in range(cells):  # unsigned indices spare a test for negative ones
        wanted[i] = table_keys[0, np.uint64(codes[0, i])]
    for b in range(1, blocks):
        for i in range(cells):
            wanted[i] += table_keys[b, np.uint64(codes[b, i])]
    for i in range(cells):
        key = wanted[i]
        slot = np.uint64(key)
        if not direct:
            slot = hashed(key, shift)
            while numbers[slot] >= 0 and keys[slot] != key:
                slot = (slot + one) & last
        g = numbers[slot]
        if g < 0:
            g = found
            numbers[slot], keys[slot] = g, key
            loss = 0.0
            for b in range(blocks):
                loss += table_losses[b, codes[b, i]]
            sizes[g], losses[g] = 0, loss
            found += 1
        group[i] = g
        sizes[np.uint64(g)] += counts[i]
    return found


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
def threshold(measured: Numbers, sizes: Counts, groups: int, spent: int, budget: int, gap: float) -> float:
    """Find the largest privacy that groups have such that those below it hold at most the budget; -1 are left out.

    Bisection: what lies below the lower end fits, what lies below the upper end does not.
    """
    least, most = np.inf, -1.0
    for g in range(groups):
        if measured[g] >= 0:
            least, most = min(least, measured[g]), max(most, measured[g])
    lower, upper = least, most
    if fits(measured, sizes, groups, spent, budget, most):
        return most
    while upper - lower > gap:
        middle = (lower + upper) / 2
        if fits(measured, sizes, groups, spent, budget, middle):
            lower = middle
        else:
            upper = middle
    best = most
    for g in range(groups):
        if lower <= measured[g] < best:
            best = measured[g]
    return best


@kernel
def fits(measured: Numbers, sizes: Counts, groups: int, spent: int, budget: int, bound: float) -> bool:
    """Say whether the groups below a bound hold at most what is left of the budget."""
    for g in range(groups):
        if 0 <= measured[g] < bound:
            spent += sizes[g]
    return spent <= budget


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
) -> None:
    """Suppress as problem 1, 2, 3 or the printed problem 4 says, and note the facts."""
    mean, total = 0.0, 0
    for g in range(groups):
        mean += measured[g] * sizes[g]
        total += sizes[g]
    mean /= total
    bound, width = 0.0, 0.0
    if problem == LIMITED:
        bound = threshold(measured, sizes, groups, 0, budget, 1e-9 if privacy == FREQUENCY else 0.5)
    elif problem == FREE:
        bound = mean * (1 - CLOSE)
    elif problem != KEEP_ALL:  # one number in the order of the paper's classes
        width = float(sensitive + 1) if problem == PAPER_L else float(total + 1)
        for g in range(groups):
            l = np.floor(diversity[g] + CLOSE)  # noqa: E741
            measured[g] = sizes[g] * width + l if problem == PAPER_L else l * width + sizes[g]
        bound = threshold(measured, sizes, groups, 0, budget, 0.5)
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
    row[GENERALIZED], row[SUPPRESSED] = 0.0, 0.0
    for g in range(groups):
        if measured[g] >= bound:
            row[GENERALIZED] += sizes[g] * losses[g]
            smallest, least = min(smallest, sizes[g]), min(least, diversity[g])
            left += 1
        else:
            row[SUPPRESSED] += sizes[g]
    row[SMALLEST], row[LEAST], row[GROUPS] = smallest, (least if sensitive else 0.0), left


@kernel
def safe_rows(
    sizes: Counts,
    diversity: Numbers,
    losses: Numbers,
    groups: int,
    sensitive: int,
    budget: int,
    measured: Numbers,
    rows: Numbers,
) -> None:
    """For every l the largest k such that groups smaller than k or less diverse than l fit the budget: (k, l)-safe.

    Rows from an l that cannot be had stay 0.
    """
    mean, total = 0.0, 0
    for g in range(groups):
        mean += float(sizes[g]) * sizes[g]
        total += sizes[g]
    for r in range(sensitive):
        spent, left = 0, 0
        for g in range(groups):
            good = diversity[g] + CLOSE >= r + 1
            measured[g] = sizes[g] if good else -1.0
            spent += 0 if good else sizes[g]
            left += good
        if left == 0 or spent > budget:
            break
        bound = threshold(measured, sizes, groups, spent, budget, 0.5)
        keep(sizes, diversity, losses, groups, measured, max(bound, 0.0), sensitive, rows[r])
        rows[r, PRIVACY], rows[r, WEIGHTED] = bound, mean / total
