"""Codes for the values of columns, one number for the codes of a row, and back again.

Small tables of a column's distinct values are joined to the rows, and the codes of a row are packed into one number, or
a few where one is too short: grouping by that is cheaper than grouping by the values themselves. Numbers are packed so
that their order is the lexicographic order of the codes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.engines.columns import numbers_in
from sfumato.engines.protocol import Coding

LARGEST = (1 << 63) - 1
"""Of a number that holds the codes of several columns."""

AT_ONCE = 1 << 16
"""So many numbers are unpacked at a time, which stay near the processor while they are."""

KEYED_BY_VALUE = re.compile("(VARCHAR|BOOLEAN|DATE|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|UUID|TIMESTAMP|DECIMAL|ENUM)\\b")
"""Types of which two values are equal where their texts are: others are told apart by their texts alone."""


@dataclass(frozen=True)
class CodedColumn:
    """A column whose values have codes: the table of them, what is looked up in it, and how many codes there can be."""

    table: str
    key: str
    """What a row is looked up by: the column itself, or its text."""

    size: int
    """Codes are from -1 to below this."""

    @property
    def join(self) -> str:
        """Write how the codes of a row are found; a value without a code has none, and a missing one may have one."""
        return f"JOIN {self.table} ON {self.table}.value IS NOT DISTINCT FROM {self.key}"


@dataclass(frozen=True)
class Packing:
    """How the codes of some columns become one number, or a few."""

    columns: tuple[CodedColumn, ...]

    @property
    def parts(self) -> list[list[int]]:
        """Say which columns share a number, by their places."""
        parts: list[list[int]] = [[]]
        room = LARGEST
        for place, column in enumerate(self.columns):
            if room // (column.size + 1) == 0:
                parts.append([])
                room = LARGEST
            parts[-1].append(place)
            room //= column.size + 1
        return parts

    @property
    def names(self) -> list[str]:
        """Name the numbers."""
        return [f"k{i}" for i in range(len(self.parts))]

    @property
    def joins(self) -> str:
        """Write the joins by which rows get their codes."""
        return " ".join(column.join for column in self.columns)

    @property
    def numbers(self) -> list[str]:
        """Write the expression of every number; it is missing where a value has no code."""
        return [
            " + ".join(["0", *(f"({self.columns[i].table}.code + 1)::BIGINT * {s}" for i, s in self._strides(part))])
            for part in self.parts
        ]

    @property
    def codes(self) -> list[str]:
        """Write the expression that finds the code of every column in the numbers again."""
        found = {}
        for name, part in zip(self.names, self.parts, strict=True):
            for place, stride in self._strides(part):
                found[place] = f"({name} // {stride}) % {self.columns[place].size + 1} - 1"
        return [found[place] for place in range(len(self.columns))]

    def _strides(self, part: Sequence[int]) -> list[tuple[int, int]]:
        strides, stride = [], 1
        for place in reversed(part):
            strides.append((place, stride))
            stride *= self.columns[place].size + 1
        return strides[::-1]

    def packed(self, codes: Sequence[NDArray[np.integer]]) -> list[NDArray[np.int64]]:
        """Return the numbers of tuples of codes, of which a column each is given."""
        numbers = []
        for part in self.parts:
            number = np.zeros(len(codes[0]), np.int64)
            for place, stride in self._strides(part):
                number += (codes[place].astype(np.int64) + 1) * stride
            numbers.append(number)
        return numbers

    def unpacked(self, keys: Sequence[NDArray[np.int64]]) -> NDArray[np.int32]:
        """Return the codes that numbers stand for: one row per tuple, one column per coded column."""
        codes = np.empty((len(keys[0]), len(self.columns)), np.int32)
        strides = [self._strides(part) for part in self.parts]
        for start in range(0, len(codes), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            for key, places in zip(keys, strides, strict=True):
                rest = key[some].copy()
                for place, stride in places:
                    code = rest // stride
                    rest -= code * stride
                    codes[some, place] = code - 1
        return codes


def packing_of(codings: Sequence[Coding]) -> Packing:
    """Say how the codes of a row, in fields s0, s1, ..., become one number, or a few."""
    sizes = [max(coding.codes.values(), default=-1) + 1 for coding in codings]
    return Packing(tuple(CodedColumn(f"s{i}", f"y{i}", size) for i, size in enumerate(sizes)))


def in_order(counted: pa.Table, keys: int) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Sort counted numbers, so that the codes they stand for are in lexicographic order.

    Where a number and its count fit into one together that is sorted, which takes half of the time.
    """
    columns, counts = [numbers_in(counted.column(i)) for i in range(keys)], numbers_in(counted.column(keys))
    bits = int(counts.max(initial=0)).bit_length()
    if keys == 1 and int(columns[0].max(initial=0)) < LARGEST >> bits:
        both = columns[0] << bits
        both |= counts
        both.sort()
        return [both >> bits], both & ((1 << bits) - 1)
    order = np.argsort(columns[0]) if keys == 1 else np.lexsort(columns[::-1])
    return [column[order] for column in columns], counts[order]
