"""The groups that a cut vector makes of a table's cells: the kernels that number and count them.

Attributes are joined to a few *blocks* (`cut_table`). A cell's group then needs one lookup per block instead of one
per attribute: for every vector the small tables of the blocks are filled first. Groups are distinguished by hashing,
or by the key itself where only few are possible.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.cut_vector.cut_vector import Bits
from sfumato.runtime._kernel_helpers import hashed
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.runtime.kernels import kernel

MOST_PACKED = 2**32 - 1
"""Keys and sizes up to here fit into half an entry of a hash table."""


class SpaceLayout(NamedTuple):
    """The positions of attributes and blocks: the part of a space that the kernel reads."""

    offsets: Counts
    """The first bit of every attribute, and the end."""

    block: Counts
    """The first attribute of every block, and the end; attributes are in the order of blocks."""

    attribute: Counts
    """The attributes in the order of blocks."""

    begins: Numbers
    """Where, on the scale of losses, the first value of parts that begin with an atom stands, by attribute."""

    ends: Numbers
    """And where parts that end with an atom show their last one ends."""

    first: Counts
    """Which leaf the first one is, by atom; nothing is lost where it is the last as well."""

    last: Counts
    least: Numbers
    """The excess in every attribute's losses: the width of one mean leaf."""

    weights: Numbers
    """How much a loss in each attribute counts, 1 on the mean."""


@kernel
def largest_block(layout: SpaceLayout) -> int:
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
def fill_tables(vector: Bits, layout: SpaceLayout, keys: Counts, losses: Numbers) -> int:
    """Fill for every block the keys and losses of its joint codes; return how many keys there can be."""
    stride = 1
    for b in range(len(layout.block) - 1):
        size = 1
        keys[b, 0], losses[b, 0] = 0, 0.0
        for i in range(layout.block[b], layout.block[b + 1]):
            start, end = layout.offsets[layout.attribute[i]], layout.offsets[layout.attribute[i] + 1]
            atoms = end - start + 1
            part, parts, loss = np.zeros(atoms, np.int64), 0, np.zeros(atoms)
            first, a = 0, layout.attribute[i]
            atom_of = start + a  # where its atoms stand
            for atom in range(atoms):
                part[atom] = parts
                if atom == atoms - 1 or vector[start + atom]:
                    lost = layout.weights[a]
                    if layout.first[atom_of + first] == layout.last[atom_of + atom]:
                        lost = 0.0
                    elif first > 0 or atom < atoms - 1:  # the whole domain is shown whole
                        width = layout.ends[atom_of + atom] - layout.begins[atom_of + first]
                        lost *= max(width - layout.least[a], 0.0)
                    for inside in range(first, atom + 1):
                        loss[inside] = lost
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
def exponent(slots: int) -> int:
    """Return which power of two this is."""
    power = 0
    while slots > 1:
        slots >>= 1
        power += 1
    return power


@kernel
def add_keys(codes: Codes, tables: NDArray[Any], keys: NDArray[Any]) -> None:
    """Work out the key of every cell's group: the sum over its blocks."""
    blocks, cells = codes.shape
    for i in range(cells):  # unsigned indices spare a test for negative ones
        keys[i] = tables[0, np.uint64(codes[0, i])]
    for b in range(1, blocks):
        for i in range(cells):
            keys[i] += tables[b, np.uint64(codes[b, i])]


@kernel
def count_groups(
    codes: Codes,
    counts: Counts,
    table_keys: Counts,
    table_losses: Numbers,
    span: int,
    packed: NDArray[np.uint64],
    sizes: Counts,
    losses: Numbers,
) -> int:
    """Find the sizes of all groups, and the loss of one record of each, without saying which cell is in which.

    Key and size share one entry of the hash table, 32 bits each, so a cell costs one look; there is no branch on
    whether its group is new. `packed` is all 0 before and after.
    """
    blocks, cells = codes.shape
    direct, shift = span <= len(packed), np.uint64(32 - exponent(len(packed)))
    none, one, half, last = np.uint64(0), np.uint64(1), np.uint64(32), np.uint64(len(packed) - 1)
    wanted, first, place = np.empty(cells, np.uint32), np.empty(cells + 1, np.int32), np.empty(cells + 1, np.int32)
    add_keys(codes, table_keys.astype(np.uint32), wanted)
    groups = 0
    for i in range(cells):
        key = np.uint64(wanted[i])
        slot = key
        if not direct:
            slot = ((key * np.uint64(0x9E3779B1)) & np.uint64(0xFFFFFFFF)) >> shift
        entry = packed[slot]
        while not direct and entry != none and entry >> half != key:
            slot = (slot + one) & last
            entry = packed[slot]
        first[groups], place[groups] = i, slot
        groups += entry == none
        packed[slot] = (entry if entry != none else key << half) + np.uint64(counts[i])
    for g in range(groups):
        slot, cell = np.uint64(place[g]), np.uint64(first[g])
        sizes[g] = packed[slot] & np.uint64(0xFFFFFFFF)
        packed[slot] = none
        losses[g] = 0.0
        for b in range(blocks):
            losses[g] += table_losses[b, np.uint64(codes[b, cell])]
    return groups


@kernel
def number_groups(
    codes: Codes,
    counts: Counts,
    table_keys: Counts,
    table_losses: Numbers,
    span: int,
    slots: int,
    group: Codes,
    sizes: Counts,
    losses: Numbers,
) -> int:
    """Number the groups of all cells in order of appearance, count them and note the loss of one record of each."""
    blocks, cells = codes.shape
    direct, shift = span <= slots, 64 - exponent(slots)
    one, last = np.uint64(1), np.uint64(slots - 1)
    keys, numbers = np.empty(slots, np.int64), np.full(span if direct else slots, np.int32(-1))
    groups = 0
    wanted = np.empty(cells, np.int64)
    add_keys(codes, table_keys, wanted)
    for i in range(cells):
        key = wanted[i]
        slot = np.uint64(key)
        if not direct:
            slot = hashed(key, shift)
            while numbers[slot] >= 0 and keys[slot] != key:
                slot = (slot + one) & last
        g = numbers[slot]
        if g < 0:
            g = groups
            numbers[slot], keys[slot] = g, key
            loss = 0.0
            for b in range(blocks):
                loss += table_losses[b, codes[b, i]]
            sizes[g], losses[g] = 0, loss
            groups += 1
        group[i] = g
        sizes[np.uint64(g)] += counts[i]
    return groups
