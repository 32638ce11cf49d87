"""The generalization lattice: one level per attribute, the groups it makes, and what is to say of them.

A *transformation* is a vector of levels; every record's value is replaced by its node at that level. Groups of a
transformation are computed from the groups of a finer one (`rolling`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.anonymizers.full_domain.roll_up import Ladder, Levels, TransformationGroups, group_cells, roll_up
from sfumato.anonymizers.mondrian.cut_kernels import only_sizes
from sfumato.arrays import Counts, Numbers
from sfumato.kernels import kernel
from sfumato.requirements import Requirement
from sfumato.requirements.deficits import (
    ADMITTED,
    SLACK,
    convex_deficit,
    deficit_unless_admitted,
    largest_distances,
)
from sfumato.requirements.distances import TOLERANCE
from sfumato.requirements.predicates import SIZE, Rules, rule_levels
from sfumato.requirements.requirement import PersonRule
from sfumato.table import Cells

WORD = 63
"""Bits of a key's word that are used."""


@dataclass(frozen=True, eq=False)
class LatticeNode:
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

    suppressed_loss: list[float]
    """For every attribute what its values lose in the suppressed records, summed up, had they been published."""

    deficit_loss: list[float]
    """The same for the records of the deficit; at a finer transformation they would lose no more."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """The transformations of a table's quasi-identifiers, laid out for the kernels together with a requirement."""

    cells: Cells
    rules: Rules
    persons: PersonRule
    """What is required of persons, where they are counted."""

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
        """The number of columns of a histogram, with one for every person where persons are counted."""
        return int(self.cells.spans[-1]) + (0 if self.cells.persons is None else self.cells.persons.number)

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
        if cells.persons is not None:
            pairs = cells.persons
            cell = np.concatenate([cell, pairs.cell])
            order = np.argsort(cell, kind="stable")
            columns = np.concatenate([columns, pairs.person + cells.spans[-1]])[order]
            cell, held = cell[order], np.concatenate([held, pairs.count])[order]
        offsets = np.searchsorted(cell, np.arange(cells.size + 1))
        return group_cells(self.ladder, cells.codes, cells.counts, offsets, columns.astype(np.int32), held, self.width)

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
            lack_persons(groups, int(self.cells.spans[-1]), self.persons.k, self.persons.share, deficits)
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
    return Lattice(cells, requirement.compile(cells.sensitive), requirement.of_persons, ladder)


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

    Most groups of a fine transformation are too small: they are told apart before another rule is asked.
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
                if columns[e] < len(histogram):  # behind these are persons
                    histogram[columns[e]] = counts[e]
            deficit = deficit_unless_admitted(kind, parameters, most[rule], part, sizes[g], q, levels)
            deficits[g] = max(deficits[g], deficit)
            for e in range(offsets[g], offsets[g + 1]):
                if columns[e] < len(histogram):
                    histogram[columns[e]] = 0
    return deficits


@kernel
def lack_persons(groups: TransformationGroups, first: int, k: int, share: float, deficits: Counts) -> None:
    """Raise the deficits of groups with too few persons, or with one who has too large a share of the records.

    Persons are the columns from `first` on. A part of a group has no more persons; the records of one person are at
    most the share of what is published, and any other record can at worst be his.
    """
    for g in range(len(deficits)):
        size = groups.sizes[g]
        if deficits[g] == size:
            continue
        persons, largest = 0, 0
        for e in range(groups.offsets[g], groups.offsets[g + 1]):
            if groups.columns[e] >= first:
                persons, largest = persons + 1, max(largest, groups.counts[e])
        if persons < k:
            deficits[g] = size
        elif largest > (share + TOLERANCE) * size:
            lacking = math.ceil(convex_deficit(largest / size, share, 1.0, size) - SLACK)
            deficits[g] = max(deficits[g], min(size, max(lacking, 0)))


@kernel
def smallest_size(rules: Rules) -> float:
    """Return how many records every rule about sizes asks for; at least one."""
    least = 1.0
    for rule in range(len(rules.kinds)):
        if rules.kinds[rule] == SIZE:
            least = max(least, rules.parameters[rule, 0])
    return least
