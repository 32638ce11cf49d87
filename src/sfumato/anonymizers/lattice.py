"""The generalization lattice: one level per attribute, the groups it makes, and what is to say of them.

A *transformation* is a vector of levels; every record's value is replaced by its node at that level. Groups of a
transformation are computed from the groups of a finer one (roll-up), never from cells again. A group's key holds,
for every attribute in a bit field of its own, the first leaf of its node: rolling up looks one number up for every
attribute whose level changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.cutting import only_sizes
from sfumato.kernels import kernel
from sfumato.requirements.deficits import group_deficit, largest_distances
from sfumato.requirements.predicates import SIZE, Rules, group_admitted
from sfumato.table import Cells
from sfumato.table.distinct import number_rows

Counts = NDArray[np.int64]
Numbers = NDArray[np.float64]
Levels = tuple[int, ...]

WORD = 63
"""Bits of a key's word that are used."""


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


class Grouping(NamedTuple):
    """The groups of one transformation, and the sensitive values of each."""

    keys: Counts
    """One row per group, as many words as are needed."""

    sizes: Counts
    offsets: Counts
    """Group g's sensitive values stand at `offsets[g]:offsets[g + 1]`: a column of the histogram and its count."""

    columns: NDArray[np.int32]
    counts: Counts


@dataclass(frozen=True, eq=False)
class Node:
    """What a transformation gives: computed once, from its groups."""

    levels: Levels
    groups: int
    """Groups that are admitted, and so published."""

    all_groups: int
    suppressed: int
    """Records of all other groups."""

    deficit: int
    """Records that no finer transformation can publish either."""

    squares: float
    """Sum of the squared sizes of the groups that are published."""

    all_squares: float
    """The same over all groups."""

    suppressed_loss: Numbers
    """For every attribute what its values lose in the suppressed records, summed up, had they been published."""

    deficit_loss: Numbers
    """The same for the records of the deficit; at a finer transformation they would lose no more."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """The transformations of a table's quasi-identifiers, laid out for the kernels together with a requirement."""

    cells: Cells
    rules: Rules
    ladder: Ladder

    @cached_property
    def most(self) -> Numbers:
        """For every rule about a distance how far a single value can be from Q."""
        return largest_distances(self.rules)

    @property
    def tops(self) -> Levels:
        """The highest level of every attribute."""
        return tuple(quasi.hierarchy.height for quasi in self.cells.quasi)

    @cached_property
    def records(self) -> int:
        """The number of records."""
        return self.cells.records

    @cached_property
    def level_losses(self) -> list[Numbers]:
        """For every attribute and level the loss summed up over all records."""
        found = []
        for a, quasi in enumerate(self.cells.quasi):
            marginal = np.bincount(self.cells.codes[:, a], weights=self.cells.counts, minlength=quasi.hierarchy.size)
            base, size = int(self.ladder.bases[a]), quasi.hierarchy.size
            table = self.ladder.losses[base : base + len(quasi.hierarchy.levels) * size].reshape(-1, size)
            found.append(table @ marginal)
        return found

    @cached_property
    def bottom(self) -> Grouping:
        """The groups of the finest transformation: records that agree in all quasi-identifiers."""
        values = self.cells.values if not only_sizes(self.rules) else self.cells.values[:, :0]
        columns = (values + self.cells.spans[:-1][: values.shape[1]]).astype(np.int32)
        return group_cells(self.ladder, self.cells.codes, columns, self.cells.counts, int(self.cells.spans[-1]))

    @property
    def zero(self) -> Levels:
        """The finest transformation."""
        return (0,) * len(self.cells.quasi)

    def roll_up(self, groups: Grouping, before: Levels, after: Levels) -> Grouping:
        """Compute the groups of a transformation from those of a finer one."""
        return roll_up(
            self.ladder, groups, np.array(before, np.int64), np.array(after, np.int64), int(self.cells.spans[-1])
        )

    def check(self, groups: Grouping, levels: Levels) -> Node:
        """Say which groups of a transformation are admitted and what the others cost."""
        d = len(levels)
        found = check_groups(self.ladder, self.rules, self.most, groups, np.array(levels, np.int64))
        published, suppressed, deficit, squares, all_squares = found[:5]
        return Node(
            levels,
            int(published),
            len(groups.sizes),
            int(suppressed),
            int(deficit),
            squares,
            all_squares,
            found[5 : 5 + d],
            found[5 + d :],
        )


def lattice_of(cells: Cells, rules: Rules) -> Lattice:
    """Lay the hierarchies of a table's quasi-identifiers out as a lattice."""
    firsts, losses, bases, base = [], [], [], 0
    for quasi in cells.quasi:
        hierarchy = quasi.hierarchy
        bases.append(base)
        for level, above in zip(hierarchy.levels, hierarchy.ancestors, strict=True):
            starts = np.asarray(level.starts)
            ends = np.append(starts[1:], hierarchy.size) - 1
            firsts.append(starts[above])
            losses.append(hierarchy.losses(starts, ends)[above])
            base += hierarchy.size
    words, shifts, masks = _bit_fields([quasi.hierarchy.size for quasi in cells.quasi])
    ladder = Ladder(
        np.concatenate(firsts).astype(np.int64),
        np.concatenate(losses),
        np.array(bases, np.int64),
        np.array([quasi.hierarchy.size for quasi in cells.quasi], np.int64),
        words,
        shifts,
        masks,
    )
    return Lattice(cells, rules, ladder)


def _bit_fields(sizes: list[int]) -> tuple[Counts, Counts, Counts]:
    """Give every attribute a bit field, filling word after word."""
    words, shifts, word, used = [], [], 0, 0
    bits = [max(1, (size - 1).bit_length()) for size in sizes]
    for own in bits:
        if used + own > WORD:
            word, used = word + 1, 0
        words.append(word)
        shifts.append(used)
        used += own
    return np.array(words, np.int64), np.array(shifts, np.int64), np.array([(1 << own) - 1 for own in bits], np.int64)


@kernel
def group_cells(
    ladder: Ladder, codes: NDArray[np.int32], columns: NDArray[np.int32], counts: Counts, width: int
) -> Grouping:
    """Group cells by their quasi-identifiers as they are."""
    n, d = codes.shape
    keys = np.zeros((n, ladder.words[d - 1] + 1), np.int64)
    for i in range(n):
        for a in range(d):
            keys[i, ladder.words[a]] |= np.int64(codes[i, a]) << ladder.shifts[a]
    each = columns.shape[1]
    flat, weights = np.empty(n * each, np.int32), np.empty(n * each, np.int64)
    for i in range(n):
        for s in range(each):
            flat[i * each + s], weights[i * each + s] = columns[i, s], counts[i]
    return merge(keys, counts, np.arange(n + 1) * each, flat, weights, width)


@kernel
def roll_up(ladder: Ladder, groups: Grouping, before: Counts, after: Counts, width: int) -> Grouping:
    """Replace the nodes of every attribute whose level rises by the nodes above, and merge what becomes equal."""
    keys = groups.keys.copy()
    for a in range(len(before)):
        if before[a] == after[a]:
            continue
        table = ladder.firsts[ladder.bases[a] + after[a] * ladder.sizes[a] :]
        word, shift, mask = ladder.words[a], ladder.shifts[a], ladder.masks[a]
        for g in range(len(keys)):
            key = keys[g, word]
            keys[g, word] = (key & ~(mask << shift)) | (table[(key >> shift) & mask] << shift)
    return merge(keys, groups.sizes, groups.offsets, groups.columns, groups.counts, width)


@kernel
def merge(
    keys: Counts, sizes: Counts, offsets: Counts, columns: NDArray[np.int32], counts: Counts, width: int
) -> Grouping:
    """Merge groups with equal keys, in the order of their first appearance."""
    first, number = number_rows(keys)
    found = len(first)
    merged_keys = np.empty((found, keys.shape[1]), np.int64)
    for g in range(found):
        merged_keys[g] = keys[first[g]]
    merged_sizes = np.zeros(found, np.int64)
    for g in range(len(sizes)):
        merged_sizes[number[g]] += sizes[g]
    if len(columns) == 0:
        return Grouping(merged_keys, merged_sizes, np.zeros(found + 1, np.int64), columns, counts)
    return merge_values(merged_keys, merged_sizes, number, offsets, columns, counts, width)


@kernel
def merge_values(
    keys: Counts,
    sizes: Counts,
    number: Counts,
    offsets: Counts,
    columns: NDArray[np.int32],
    counts: Counts,
    width: int,
) -> Grouping:
    """Put the sensitive values of merged groups together, each value of a group once."""
    found = len(keys)
    starts = np.zeros(found + 1, np.int64)
    for g in range(len(number)):
        starts[number[g] + 1] += 1
    for g in range(found):
        starts[g + 1] += starts[g]
    members, place = np.empty(len(number), np.int64), starts[:found].copy()
    for g in range(len(number)):
        members[place[number[g]]] = g
        place[number[g]] += 1
    new_offsets = np.zeros(found + 1, np.int64)
    new_columns, new_counts = np.empty(len(columns), np.int32), np.empty(len(columns), np.int64)
    where = np.full(width, -1, np.int64)
    used = 0
    for g in range(found):
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
    return Grouping(keys, sizes, new_offsets, new_columns[:used].copy(), new_counts[:used].copy())


@kernel
def check_groups(ladder: Ladder, rules: Rules, most: Numbers, groups: Grouping, levels: Counts) -> Numbers:
    """Count what is published and what is not; see `Node` for the fields.

    Most groups of a fine transformation are too small: they are told apart before a predicate is asked.
    """
    d = len(levels)
    out = np.zeros(5 + 2 * d)
    histogram = np.zeros(len(rules.q), np.int64)
    least, sizes_only = smallest_size(rules), only_sizes(rules)
    keys, sizes, offsets, columns, counts = groups.keys, groups.sizes, groups.offsets, groups.columns, groups.counts
    words, shifts, masks, losses = ladder.words, ladder.shifts, ladder.masks, ladder.losses
    starts = ladder.bases + levels * ladder.sizes
    for g in range(len(sizes)):
        size = sizes[g]
        out[4] += float(size) * size
        deficit = size
        admitted = size >= least
        if admitted and not sizes_only:
            for e in range(offsets[g], offsets[g + 1]):
                histogram[columns[e]] = counts[e]
            admitted = group_admitted(rules, histogram, size)
            if not admitted:
                deficit = group_deficit(rules, most, histogram, size)
            for e in range(offsets[g], offsets[g + 1]):
                histogram[columns[e]] = 0
        if admitted:
            out[0] += 1
            out[3] += float(size) * size
            continue
        out[1] += size
        out[2] += deficit
        for a in range(d):
            loss = losses[starts[a] + ((keys[g, words[a]] >> shifts[a]) & masks[a])]
            out[5 + a] += size * loss
            out[5 + d + a] += deficit * loss
    return out


@kernel
def smallest_size(rules: Rules) -> float:
    """Return how many records every rule about sizes asks for; at least one."""
    least = 1.0
    for rule in range(len(rules.kinds)):
        if rules.kinds[rule] == SIZE:
            least = max(least, rules.parameters[rule, 0])
    return least
