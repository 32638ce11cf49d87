"""The Hilbert curve in any number of dimensions: points that are near on it are near in all quasi-identifiers.

The curve visits every point of a cube of 2^bits places per attribute, each step to a neighbour. Leaf codes of smaller
domains are stretched over the whole side of the cube, so an attribute counts by its share of the domain, not by its
number of leaves. The transform is Skilling's (2004), bit by bit from the highest one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.arrays import Codes, Counts
from sfumato.kernels import kernel
from sfumato.table import Cells

WORD = 63
"""Bits of a place on the curve that are kept in one number."""


class CurvePoints(NamedTuple):
    """The points of a table (distinct quasi-identifiers) in their order on the curve."""

    cells: Counts
    """All cells, those of a point together, the points in their order."""

    offsets: Counts
    """The cells of the p-th point stand at `offsets[p]:offsets[p + 1]`."""

    weights: Counts
    """The records of each of these cells."""

    counts: Counts
    """The records of every point."""


def points_on_curve(cells: Cells) -> CurvePoints:
    """Put the points of a table in the order in which the curve visits them."""
    first = cells.points.first  # cells are sorted by quasi-identifiers, so those of a point stand together
    lengths = np.diff(np.append(first, cells.size))
    order = order_on_curve(cells.points.codes, cells.domains)
    offsets = np.concatenate([[0], np.cumsum(lengths[order])])
    cell = np.arange(cells.size) + np.repeat(first[order] - offsets[:-1], lengths[order])
    return CurvePoints(cell, offsets, cells.counts[cell], cells.points.counts[order])


def order_on_curve(codes: Codes, sizes: Counts) -> Counts:
    """Sort points with these leaf codes, of domains of these sizes, along the curve."""
    bits = max(1, int(sizes.max() - 1).bit_length())
    words = places_on_curve(codes, sizes, bits)
    return np.lexsort(words.T[::-1]) if words.shape[1] > 1 else np.argsort(words[:, 0], kind="stable")


@kernel
def places_on_curve(codes: Codes, sizes: Counts, bits: int) -> Counts:
    """Say where on the curve every point lies, as numbers of `WORD` bits, the highest first."""
    n, d = codes.shape
    words = np.zeros((n, (d * bits + WORD - 1) // WORD), np.int64)
    axes = np.empty(d, np.int64)
    for i in range(n):
        for a in range(d):
            axes[a] = (np.int64(codes[i, a]) << bits) // sizes[a]
        to_curve(axes, bits)
        place = 0
        for bit in range(bits - 1, -1, -1):
            for a in range(d):
                words[i, place // WORD] = words[i, place // WORD] << 1 | (axes[a] >> bit & 1)
                place += 1
    return words


@kernel
def to_curve(axes: Counts, bits: int) -> None:
    """Turn the coordinates of a place into its number on the curve: bit b of axis a is bit (b + 1) d - 1 - a of it."""
    d = len(axes)
    bit = 1 << (bits - 1)
    while bit > 1:  # undo the turns and mirrorings of the smaller cubes
        for a in range(d):
            if axes[a] & bit:
                axes[0] ^= bit - 1
            else:
                swapped = (axes[0] ^ axes[a]) & (bit - 1)
                axes[0] ^= swapped
                axes[a] ^= swapped
        bit >>= 1
    for a in range(1, d):  # what is left is a Gray code
        axes[a] ^= axes[a - 1]
    flips = 0
    bit = 1 << (bits - 1)
    while bit > 1:
        if axes[d - 1] & bit:
            flips ^= bit - 1
        bit >>= 1
    for a in range(d):
        axes[a] ^= flips
