"""The generalization lattice: one level per attribute, the groups it makes, and facts about them.

A *transformation* is a vector of levels; every record's value is replaced by its node at that level. Groups of a
transformation are computed from the groups of a finer one.

Roll-up: the groups of a transformation from those of a finer one, never from cells again.

A group's key holds the first leaf of its node in a separate bit field per attribute. Rolling up looks one number up
for every attribute whose level changes, and merges the groups whose keys become equal.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.mondrian._cuts import only_sizes
from sfumato.data.cells import Cells, Histograms, number_numbers, number_rows
from sfumato.data.persons import GroupPersons, PersonPairs
from sfumato.requirements._deficits import ADMITTED, SLACK, convex_deficit, deficit_unless_admitted, largest_distances
from sfumato.requirements._predicates import SIZE, TOLERANCE, Rules, rule_levels
from sfumato.requirements.requirement import KAnonymity, Requirement
from sfumato.runtime._kernel_helpers import members_by
from sfumato.runtime.arrays import Counts, Numbers
from sfumato.runtime.kernels import kernel

Columns = NDArray[np.int32]
Levels = tuple[int, ...]


class Ladder(NamedTuple):
    """The kernels' view of all hierarchies: for each attribute, level and leaf the node above, and its loss."""

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
    """The groups of one transformation, with the sensitive values of each, or where persons are counted its cells."""

    keys: Counts
    """One row per group, as many words as are needed."""

    sizes: Counts
    offsets: Counts
    """Group g's sensitive values stand at `offsets[g]:offsets[g + 1]`: a column of the histogram and its count."""

    columns: Columns
    counts: Counts
    of_cell: Columns = np.zeros(0, np.int32)
    """The group of every cell, where persons are counted."""


@kernel
def group_cells(
    ladder: Ladder,
    codes: Columns,
    counts: Counts,
    offsets: Counts,
    columns: Columns,
    held: Counts,
    width: int,
    of_cell: Columns,
) -> TransformationGroups:
    """Group cells by their quasi-identifiers as they are; `held` records of cell c are in each of its columns."""
    n, d = codes.shape
    keys = np.zeros((n, ladder.words[d - 1] + 1), np.int64)
    for i in range(n):
        for a in range(d):
            keys[i, ladder.words[a]] |= np.int64(codes[i, a]) << ladder.shifts[a]
    return merge(TransformationGroups(keys, counts, offsets, columns, held, of_cell), keys, width)


@kernel
def roll_up(
    ladder: Ladder, groups: TransformationGroups, before: Counts, after: Counts, width: int
) -> TransformationGroups:
    """Compute the groups of a transformation from those of a finer one; `width` is that of a histogram."""
    keys = raised(ladder, groups.keys, before, after)
    return merge(groups, keys, width)


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
def merge(finer: TransformationGroups, keys: Counts, width: int) -> TransformationGroups:
    """Merge groups with equal keys, in the order of their first appearance."""
    sizes, offsets, columns, counts = finer.sizes, finer.offsets, finer.columns, finer.counts
    first, number = number_numbers(keys[:, 0]) if keys.shape[1] == 1 else number_rows(keys)
    groups = len(first)
    merged_keys = np.empty((groups, keys.shape[1]), np.int64)
    for g in range(groups):
        for word in range(keys.shape[1]):
            merged_keys[g, word] = keys[first[g], word]
    merged_sizes = np.zeros(groups, np.int64)
    for g in range(len(sizes)):
        merged_sizes[number[g]] += sizes[g]
    of_cell = np.empty_like(finer.of_cell)
    for i in range(len(of_cell)):
        of_cell[i] = number[finer.of_cell[i]]
    if len(columns) == 0:
        return TransformationGroups(merged_keys, merged_sizes, np.zeros(groups + 1, np.int64), columns, counts, of_cell)
    if groups * width <= len(columns):
        merged = merge_few(groups, number, offsets, columns, counts, width)
    else:
        merged = merge_many(groups, number, offsets, columns, counts, width)
    return TransformationGroups(merged_keys, merged_sizes, merged[0], merged[1], merged[2], of_cell)


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


WORD = 63
"""Bits of a key's word that are used."""


@dataclass(frozen=True, eq=False)
class LatticeNode:
    """The result of a transformation: computed once, from its groups."""

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

    suppressed_loss: list[float]
    """For every attribute what its values lose in the suppressed records, summed up, had they been published."""

    deficit_loss: list[float]
    """The same for the records of the deficit; at a finer transformation they would lose no more."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """The transformations of a table's quasi-identifiers, laid out for the kernels together with a requirement."""

    cells: Cells
    requirement: Requirement
    rules: Rules
    """The requirement on records: sizes alone where persons are counted."""

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
    def width(self) -> int:
        """The number of columns of a histogram."""
        return int(self.cells.spans[-1])

    @cached_property
    def level_losses(self) -> list[list[float]]:
        """For every attribute and level the loss summed up over all records."""
        losses = []
        for a, quasi in enumerate(self.cells.quasi):
            marginal = np.bincount(self.cells.codes[:, a], weights=self.cells.counts, minlength=quasi.hierarchy.size)
            base, size = int(self.ladder.bases[a]), quasi.hierarchy.size
            table = self.ladder.losses[base : base + len(quasi.hierarchy.levels) * size].reshape(-1, size)
            losses.append((table @ marginal).tolist())
        return losses

    @cached_property
    def bottom(self) -> TransformationGroups:
        """The groups of the finest transformation: records that agree in all quasi-identifiers."""
        cells = self.cells
        values = cells.columns if not only_sizes(self.rules) else cells.columns[:, :0]
        cell = np.repeat(np.arange(cells.size), values.shape[1])
        columns, held = values.ravel(), np.repeat(cells.counts, values.shape[1])
        of_cell = np.arange(0 if cells.persons is None else cells.size, dtype=np.int32)
        offsets = np.searchsorted(cell, np.arange(cells.size + 1))
        of_values = offsets, columns.astype(np.int32), held
        return group_cells(self.ladder, cells.codes, cells.counts, *of_values, self.width, of_cell)

    @property
    def zero(self) -> Levels:
        """The finest transformation."""
        return (0,) * len(self.cells.quasi)

    def roll_up(self, groups: TransformationGroups, before: Levels, after: Levels) -> TransformationGroups:
        """Compute the groups of a transformation from those of a finer one."""
        return roll_up(self.ladder, groups, np.array(before), np.array(after), self.width)

    def check(self, groups: TransformationGroups, levels: Levels) -> LatticeNode:
        """Say which groups of a transformation are admitted and what the others cost."""
        d = len(levels)
        deficits = deficits_of(self.rules, self.most, groups)
        if self.cells.persons is not None:
            self._count_persons(self.cells.persons, groups, deficits)
        numbers = check_groups(self.ladder, groups, np.array(levels), deficits).tolist()
        published, suppressed, deficit, squares, all_squares = numbers[:5]
        return LatticeNode(
            levels,
            int(published),
            len(groups.sizes),
            int(suppressed),
            int(deficit),
            squares,
            all_squares,
            numbers[5 : 5 + d],
            numbers[5 + d :],
        )

    def _count_persons(self, pairs: PersonPairs, groups: TransformationGroups, deficits: Counts) -> None:
        """Raise the deficits of groups that are not admitted by persons.

        No part of a group has more persons or a larger matching. A part that need not survive merging has no deficit:
        a subset of the group may be admitted.
        """
        cells, rule = self.cells, self.requirement.of_persons
        counted = GroupPersons(pairs, groups.of_cell, len(deficits), cells.columns, cells.spans)
        lack_persons(counted.persons, counted.largest, groups.sizes, rule.k, rule.share, deficits)
        for part in sorted(self.requirement.parts, key=lambda part: not part.survives_merging(persons=True)):
            good = np.flatnonzero(deficits == ADMITTED)
            if not part.about_sensitive or not len(good):
                continue
            few, sizes = counted.some(good), groups.sizes[good]
            bad = good[~part.admits(Histograms(cells.sensitive, sizes, np.zeros((len(good), 0), np.int64), few))]
            deficits[bad] = groups.sizes[bad] if part.survives_merging(persons=True) else 0


def lattice_of(cells: Cells, requirement: Requirement) -> Lattice:
    """Lay the hierarchies of a table's quasi-identifiers out as a lattice, beside a requirement."""
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
    words, shifts, masks = _bit_fields(cells.domains.tolist())
    ladder = Ladder(
        np.concatenate(firsts).astype(np.int64),
        np.concatenate(losses),
        np.array(bases, np.int64),
        cells.domains,
        words,
        shifts,
        masks,
    )
    of_records = requirement if cells.persons is None else KAnonymity(requirement.of_persons.k)
    return Lattice(cells, requirement, of_records.compile(cells.sensitive), ladder)


def _bit_fields(sizes: list[int]) -> tuple[Counts, Counts, Counts]:
    """Give every attribute a bit field, filling word after word."""
    words, shifts, word, used = [], [], 0, 0
    bits = [max(1, (size - 1).bit_length()) for size in sizes]
    for width in bits:
        if used + width > WORD:
            word, used = word + 1, 0
        words.append(word)
        shifts.append(used)
        used += width
    return (
        np.array(words, np.int64),
        np.array(shifts, np.int64),
        np.array([(1 << width) - 1 for width in bits], np.int64),
    )


@kernel
def check_groups(ladder: Ladder, groups: TransformationGroups, levels: Counts, deficits: Counts) -> Numbers:
    """Count what is published and what is not; see `Node` for the fields."""
    d = len(levels)
    out = np.zeros(5 + 2 * d)
    keys, sizes = groups.keys, groups.sizes
    words, shifts, masks, losses = ladder.words, ladder.shifts, ladder.masks, ladder.losses
    starts = ladder.bases + levels * ladder.sizes
    generalized = np.flatnonzero(levels)  # at level 0 nothing is lost
    published, suppressed, missing, squares, all_squares = 0, 0, 0, 0.0, 0.0
    for g in range(len(sizes)):
        size, deficit = sizes[g], deficits[g]
        square = float(size) * size
        all_squares += square
        if deficit == ADMITTED:
            published += 1
            squares += square
            continue
        suppressed += size
        missing += deficit
        for a in generalized:
            loss = losses[starts[a] + ((keys[g, words[a]] >> shifts[a]) & masks[a])]
            out[5 + a] += size * loss
            out[5 + d + a] += deficit * loss
    out[0], out[1], out[2], out[3], out[4] = published, suppressed, missing, squares, all_squares
    return out


@kernel
def deficits_of(rules: Rules, most: Numbers, groups: TransformationGroups) -> Counts:
    """Return the deficit of every group, or ADMITTED where all rules admit it.

    Most groups of a fine transformation are too small: they are excluded before another rule is checked.
    """
    sizes, offsets, columns, counts = groups.sizes, groups.offsets, groups.columns, groups.counts
    deficits = np.where(sizes < smallest_size(rules), sizes, ADMITTED)
    histogram = np.zeros(len(rules.q), np.int64)
    for rule in range(len(rules.kinds)):
        kind, parameters, first, last = rules.kinds[rule], rules.parameters[rule], rules.firsts[rule], rules.lasts[rule]
        part, q, levels = histogram[first:last], rules.q[first:last], rule_levels(rules, rule)
        if kind == SIZE:
            continue
        for g in range(len(sizes)):
            if deficits[g] == sizes[g]:
                continue
            for e in range(offsets[g], offsets[g + 1]):
                histogram[columns[e]] = counts[e]
            deficit = deficit_unless_admitted(kind, parameters, most[rule], part, sizes[g], q, levels)
            deficits[g] = max(deficits[g], deficit)
            for e in range(offsets[g], offsets[g + 1]):
                histogram[columns[e]] = 0
    return deficits


@kernel
def lack_persons(persons: Counts, largest: Counts, sizes: Counts, k: int, share: float, deficits: Counts) -> None:
    """Raise the deficits of groups with too few persons, or with one who has too large a share of the records.

    A part of a group has no more persons; the records of one person are at most the share of what is published, and any
    other record can at worst be his.
    """
    for g in range(len(deficits)):
        if persons[g] < k:
            deficits[g] = sizes[g]
        elif largest[g] > (share + TOLERANCE) * sizes[g]:
            lacking = math.ceil(convex_deficit(largest[g] / sizes[g], share, 1.0, sizes[g]) - SLACK)
            deficits[g] = max(deficits[g], min(sizes[g], max(lacking, 0)))


@kernel
def smallest_size(rules: Rules) -> float:
    """Return how many records every rule about sizes asks for; at least one."""
    least = 1.0
    for rule in range(len(rules.kinds)):
        if rules.kinds[rule] == SIZE:
            least = max(least, rules.parameters[rule, 0])
    return least
