"""Selections of an attribute's leaves, with memory proportional to the selection.

An interval of leaves is stored by its two ends. A scattered selection is one bit per leaf, with the cumulative selected
width at each block of leaves. The width below any other leaf starts from its block and adds leaf by leaf, in the same
order as over all leaves. So a million leaves take an eighth of a megabyte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.data.cells import laid_out
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.runtime.kernels import kernel

Words = NDArray[np.uint64]
Masks = NDArray[np.bool_]

FEW_LEAVES = 4096
"""The largest domain with the cumulative width stored for each leaf."""

BLOCK = 8
"""In larger domains it is stored for every 2^BLOCK leaves."""


@dataclass(frozen=True, eq=False)
class Selections:
    """Some selections of the leaves of one attribute: all intervals, or all scattered."""

    hierarchy: Hierarchy
    first: Codes
    end: Codes
    """All selected leaves are from `first` to before `end`."""

    bits: Words | None = None
    """Selections x words of 64 leaves: the selected leaves; None for all from first to before end."""

    def __len__(self) -> int:
        return len(self.first)

    @staticmethod
    def stretches(hierarchy: Hierarchy, first: NDArray[np.integer], end: NDArray[np.integer]) -> Selections:
        """Select leaves from `first` to before `end`."""
        return Selections(hierarchy, first.astype(np.int32), end.astype(np.int32))

    @staticmethod
    def scattered(hierarchy: Hierarchy, bits: Words) -> Selections:
        """Select leaves by their bits."""
        number = len(bits)
        return Selections(hierarchy, np.zeros(number, np.int32), np.full(number, hierarchy.size, np.int32), bits)

    @property
    def masks(self) -> Masks:
        """The array (selections, leaves) of selected leaves, for few leaves."""
        leaves = np.arange(self.hierarchy.size)
        if self.bits is None:
            return (leaves >= self.first[:, None]) & (leaves < self.end[:, None])
        return unpacked(self.bits, self.hierarchy.size)

    def only(self, kept: Counts) -> Selections:
        """Keep some of the selections."""
        bits = None if self.bits is None else self.bits[kept]
        return Selections(self.hierarchy, self.first[kept], self.end[kept], bits)


def one_after_another(parts: Sequence[Selections]) -> Selections:
    """Concatenate selections of one attribute and one kind."""
    first, end = (np.concatenate([getattr(part, name) for part in parts]) for name in ("first", "end"))
    rows = [part.bits for part in parts if part.bits is not None]
    return Selections(parts[0].hierarchy, first, end, np.concatenate(rows) if rows else None)


def words_for(leaves: int) -> int:
    """Return the number of words for the bits of so many leaves."""
    return -(-leaves // 64)


def unpacked(bits: Words, leaves: int) -> Masks:
    """Return the masks of so many leaves from bits: 64 leaves per word, the first leaf lowest."""
    small = np.ascontiguousarray(bits.astype("<u8")).view(np.uint8).reshape(len(bits), -1)
    return np.unpackbits(small, axis=1, count=leaves, bitorder="little").astype(np.bool_)


class Bank(NamedTuple):
    """The concatenated selections of all attributes, for kernels."""

    starts: Counts
    """The first selection of each attribute."""

    first: Codes
    end: Codes
    words: Counts
    """The first word of each selection; -1: all leaves from first to before end are selected."""

    bits: Words
    sums: Counts
    """The first cumulative width of each scattered selection's blocks."""

    below: Numbers
    leaves: Counts
    """The first cumulative width of each attribute."""

    cumulative: Numbers
    widths: Numbers
    """The widths of leaves, with the same starts."""

    shifts: Counts
    """Per attribute: a block has 2^shift leaves."""


def bank_of(selections: Sequence[Selections]) -> Bank:
    """Concatenate the selections of all attributes."""
    words, bits, sums, below, shifts = [], [], [], [], []
    word = total = 0
    for selection in selections:
        shift = 0 if selection.hierarchy.size <= FEW_LEAVES else BLOCK
        shifts.append(shift)
        if selection.bits is None:
            words.append(np.full(len(selection), -1))
            sums.append(np.full(len(selection), -1))
            continue
        widths = widths_below(selection.bits, np.asarray(selection.hierarchy.widths, np.float64), shift)
        words.append(word + np.arange(len(selection)) * selection.bits.shape[1])
        sums.append(total + np.arange(len(selection)) * widths.shape[1])
        bits.append(selection.bits.ravel())
        below.append(widths.ravel())
        word, total = word + selection.bits.size, total + widths.size
    first, starts = laid_out([selection.first for selection in selections])
    cumulative, leaves = laid_out([selection.hierarchy.cumulative for selection in selections])
    return Bank(
        starts[:-1],
        first,
        np.concatenate([selection.end for selection in selections]),
        np.concatenate(words).astype(np.int64),
        np.concatenate(bits) if bits else np.zeros(1, np.uint64),
        np.concatenate(sums).astype(np.int64),
        np.concatenate(below) if below else np.zeros(1),
        leaves[:-1],
        cumulative,
        np.concatenate([(*selection.hierarchy.widths, 0.0) for selection in selections]),
        np.array(shifts, np.int64),
    )


# -- kernels ---------------------------------------------------------------------------------------------------------


@kernel
def widths_below(bits: Words, widths: Numbers, shift: int) -> Numbers:
    """Sum the selected widths below every block and below the end: selections x blocks."""
    leaves = len(widths)
    blocks = ((leaves + (1 << shift) - 1) >> shift) + 1
    below = np.empty((len(bits), blocks))
    for i in range(len(bits)):
        total = 0.0
        for leaf in range(leaves):
            if leaf & ((1 << shift) - 1) == 0:
                below[i, leaf >> shift] = total
            if (bits[i, leaf >> 6] >> np.uint64(leaf & 63)) & np.uint64(1):
                total += widths[leaf]
        below[i, blocks - 1] = total
    return below


@kernel
def is_selected(bank: Bank, selection: int, leaf: int) -> bool:
    """Return whether a leaf is selected."""
    word = bank.words[selection]
    if word < 0:
        return bool(bank.first[selection] <= leaf < bank.end[selection])
    return has_bit(bank.bits, word, leaf)


@kernel
def has_bit(bits: Words, word: int, leaf: int) -> bool:
    """Return whether the bit of a leaf is set, given the first word of its selection."""
    return bool((bits[word + (leaf >> 6)] >> np.uint64(leaf & 63)) & np.uint64(1))


@kernel
def width_below(bank: Bank, attribute: int, selection: int, leaf: int) -> float:
    """Sum the widths of the selected leaves below a leaf; reads at most a block of them."""
    word, base = bank.words[selection], bank.leaves[attribute]
    if word < 0:
        first, last = bank.first[selection], min(leaf, bank.end[selection])
        return float(bank.cumulative[base + last] - bank.cumulative[base + first]) if last > first else 0.0
    shift = bank.shifts[attribute]
    block = leaf >> shift
    total = bank.below[bank.sums[selection] + block]
    for place in range(block << shift, leaf):
        if has_bit(bank.bits, word, place):
            total += bank.widths[base + place]
    return float(total)


@kernel
def all_widths_below(bank: Bank, attribute: int, selection: int, leaves: Codes, below: Numbers) -> None:
    """Do the same for many leaves at once.

    One call per leaf would count the references to all arrays of the bank again, at fifty times the cost of the lookup.
    """
    word, base, shift = bank.words[selection], bank.leaves[attribute], bank.shifts[attribute]
    if word < 0:
        first, end, cumulative = bank.first[selection], bank.end[selection], bank.cumulative
        for i in range(len(leaves)):
            last = min(leaves[i], end)
            below[i] = cumulative[base + last] - cumulative[base + first] if last > first else 0.0
    elif shift == 0:
        start, sums = bank.sums[selection], bank.below
        for i in range(len(leaves)):
            below[i] = sums[start + leaves[i]]
    else:
        for i in range(len(leaves)):
            below[i] = width_below(bank, attribute, selection, leaves[i])


@kernel
def choose_smallest(numbers: Numbers, chosen: int, bits: Words) -> None:
    """Set the bits of the `chosen` smallest numbers in 0 to below 1 of each row; of equal ones the first.

    Numbers are counted in narrow bins; only the bin of the last chosen one is sorted.
    """
    rows, leaves = numbers.shape
    bins = 1
    while bins < leaves and bins < 1 << 14:
        bins *= 2
    count = np.empty(bins, np.int64)
    within = np.empty(leaves)
    for i in range(rows):
        count[:] = 0
        for leaf in range(leaves):
            count[int(numbers[i, leaf] * bins)] += 1
        last, before = 0, 0
        while before + count[last] < chosen:
            before += count[last]
            last += 1
        inside = 0
        for leaf in range(leaves):
            if int(numbers[i, leaf] * bins) == last:
                within[inside] = numbers[i, leaf]
                inside += 1
        ordered = np.sort(within[:inside])
        most = ordered[chosen - before - 1]
        equal = chosen - before
        for value in ordered:
            equal -= value < most
        for leaf in range(leaves):
            number = numbers[i, leaf]
            if number < most or (number == most and equal > 0):
                equal -= number == most
                bits[i, leaf >> 6] |= np.uint64(1) << np.uint64(leaf & 63)
