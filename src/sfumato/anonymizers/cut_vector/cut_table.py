"""A table as the kernels of `cut_counting` read it: cells merged to distinct tuples of atoms, attributes in blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.anonymizers.cut_vector.facts import weigh
from sfumato.anonymizers.cut_vector.groups import SpaceLayout
from sfumato.anonymizers.cut_vector.space import Bits, CutSpace
from sfumato.arrays import Codes, Counts, Numbers
from sfumato.errors import BadInputError
from sfumato.table import Cells
from sfumato.table.cells import find_sensitive
from sfumato.table.rows import number_rows, weighted_counts

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
            raise BadInputError(
                "there are too many combinations of values to count cut vectors; give coarser levels to the largest "
                "domains, or take fewer quasi-identifiers"
            )
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
    """Join attributes to blocks, the largest domains first, each into the first block that has room."""
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
