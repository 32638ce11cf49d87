"""Roll-up: the groups of a transformation from those of a finer one, never from cells again.

A group's key holds, for every attribute in a bit field of its own, the first leaf of its node: rolling up looks one
number up for every attribute whose level changes, and merges the groups whose keys become equal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Counts, Numbers
from sfumato.kernel_helpers import members_by
from sfumato.kernels import kernel
from sfumato.table.rows import number_numbers, number_rows

Columns = NDArray[np.int32]
Levels = tuple[int, ...]


class Ladder(NamedTuple):
    """What kernels read of all hierarchies: for each attribute, level and leaf the node above, and its loss."""

    firsts: Counts
    """The first leaf of the node above a leaf, at `bases[attribute] + level * sizes[attribute] + leaf`."""

    losses: Numbers
    """The loss of that node, at the same place."""

    bases: Counts
    sizes: Counts
    words: Counts
    """The word of a key in which an attribute's bit field lies, and where in it."""

    shifts: Counts
    masks: Counts


class TransformationGroups(NamedTuple):
    """The groups of one transformation, and the sensitive values of each; behind these its persons, if counted."""

    keys: Counts
    """One row per group, as many words as are needed."""

    sizes: Counts
    offsets: Counts
    """Group g's sensitive values stand at `offsets[g]:offsets[g + 1]`: a column of the histogram and its count."""

    columns: Columns
    counts: Counts


@kernel
def group_cells(
    ladder: Ladder, codes: Columns, counts: Counts, offsets: Counts, columns: Columns, held: Counts, width: int
) -> TransformationGroups:
    """Group cells by their quasi-identifiers as they are; `held` records of cell c are in each of its columns."""
    n, d = codes.shape
    keys = np.zeros((n, ladder.words[d - 1] + 1), np.int64)
    for i in range(n):
        for a in range(d):
            keys[i, ladder.words[a]] |= np.int64(codes[i, a]) << ladder.shifts[a]
    return merge(keys, counts, offsets, columns, held, width)


@kernel
def roll_up(
    ladder: Ladder, groups: TransformationGroups, before: Counts, after: Counts, width: int
) -> TransformationGroups:
    """Compute the groups of a transformation from those of a finer one; `width` is that of a histogram."""
    keys = raised(ladder, groups.keys, before, after)
    return merge(keys, groups.sizes, groups.offsets, groups.columns, groups.counts, width)


@kernel
def raised(ladder: Ladder, keys: Counts, before: Counts, after: Counts) -> Counts:
    """Replace the nodes of every attribute whose level rises by the nodes above."""
    stays = np.zeros(keys.shape[1], np.int64)
    for a in range(len(before)):
        if before[a] == after[a]:
            stays[ladder.words[a]] |= ladder.masks[a] << ladder.shifts[a]
    new = keys & stays
    for a in range(len(before)):
        word, shift, mask = ladder.words[a], ladder.shifts[a], ladder.masks[a]
        start = ladder.bases[a] + after[a] * ladder.sizes[a]
        nodes = ladder.firsts[start : start + ladder.sizes[a]] << shift
        if before[a] == after[a] or nodes[-1] == 0:  # the root's first leaf is 0
            continue
        for g in range(len(keys)):
            new[g, word] |= nodes[(keys[g, word] >> shift) & mask]
    return new


@kernel
def merge(
    keys: Counts, sizes: Counts, offsets: Counts, columns: Columns, counts: Counts, width: int
) -> TransformationGroups:
    """Merge groups with equal keys, in the order of their first appearance."""
    first, number = number_numbers(keys[:, 0]) if keys.shape[1] == 1 else number_rows(keys)
    groups = len(first)
    merged_keys = np.empty((groups, keys.shape[1]), np.int64)
    for g in range(groups):
        for word in range(keys.shape[1]):
            merged_keys[g, word] = keys[first[g], word]
    merged_sizes = np.zeros(groups, np.int64)
    for g in range(len(sizes)):
        merged_sizes[number[g]] += sizes[g]
    if len(columns) == 0:
        return TransformationGroups(merged_keys, merged_sizes, np.zeros(groups + 1, np.int64), columns, counts)
    if groups * width <= len(columns):
        merged = merge_few(groups, number, offsets, columns, counts, width)
    else:
        merged = merge_many(groups, number, offsets, columns, counts, width)
    return TransformationGroups(merged_keys, merged_sizes, merged[0], merged[1], merged[2])


@kernel
def merge_few(
    groups: int, number: Counts, offsets: Counts, columns: Columns, counts: Counts, width: int
) -> tuple[Counts, Columns, Counts]:
    """Put the sensitive values of merged groups together: where few are left, by a whole histogram for each."""
    histograms = np.zeros(groups * width, np.int64)
    for g in range(len(number)):
        start = number[g] * width
        for e in range(offsets[g], offsets[g + 1]):
            histograms[start + columns[e]] += counts[e]
    new_offsets = np.zeros(groups + 1, np.int64)
    new_columns, new_counts = np.empty(groups * width, np.int32), np.empty(groups * width, np.int64)
    used = 0
    for g in range(groups):
        for column in range(width):
            new_columns[used], new_counts[used] = column, histograms[g * width + column]
            used += new_counts[used] > 0
        new_offsets[g + 1] = used
    return new_offsets, new_columns[:used].copy(), new_counts[:used].copy()


@kernel
def merge_many(
    groups: int, number: Counts, offsets: Counts, columns: Columns, counts: Counts, width: int
) -> tuple[Counts, Columns, Counts]:
    """Put the sensitive values of merged groups together, group after group, each value of a group once."""
    starts, members = members_by(number, groups)
    new_offsets = np.zeros(groups + 1, np.int64)
    new_columns, new_counts = np.empty(len(columns), np.int32), np.empty(len(columns), np.int64)
    where = np.full(width, -1, np.int64)
    used = 0
    for g in range(groups):
        begin = used
        for m in range(starts[g], starts[g + 1]):
            for e in range(offsets[members[m]], offsets[members[m] + 1]):
                column = columns[e]
                if where[column] < begin:
                    where[column] = used
                    new_columns[used], new_counts[used] = column, counts[e]
                    used += 1
                else:
                    new_counts[where[column]] += counts[e]
        new_offsets[g + 1] = used
    return new_offsets, new_columns[:used].copy(), new_counts[:used].copy()
