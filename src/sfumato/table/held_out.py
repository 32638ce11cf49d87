"""A table without some of its records, which were held out: makers see a table that never had them.

Which records are held out is drawn from a seed over the cells, which stand in the order of their codes: so it depends
on the seed and on what the records are, and not on the order in which they came.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from sfumato.arrays import Counts
from sfumato.errors import BadInputError
from sfumato.table.cells import Cells, CountedValues, sorted_cells
from sfumato.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class RemainingTable(Table):
    """What is left of a table: its declarations, and fewer records. Cells that nobody is left of are gone."""

    whole: Table | None = None
    kept: Counts | None = None
    """How many records of every cell of the whole table are left."""

    @staticmethod
    def of(table: Table, kept: Counts) -> RemainingTable:
        """Keep so many records of every cell of a table."""
        declared = {field.name: getattr(table, field.name) for field in fields(Table)}
        return RemainingTable(**declared, whole=table, kept=kept)

    @cached_property
    def places(self) -> Counts:
        """Which cells of the whole table are left."""
        assert self.kept is not None
        return np.flatnonzero(self.kept)

    def remaining(self, cell: Counts) -> tuple[Counts, Counts]:
        """Of rows with these cells of the whole table, in random order, say which are left, and of which cell here."""
        assert self.whole is not None and self.kept is not None
        order = np.argsort(cell, kind="stable")
        starts = np.searchsorted(cell[order], np.arange(self.whole.cells.size))
        rank = np.empty(len(cell), np.int64)
        rank[order] = np.arange(len(cell)) - starts[cell[order]]
        left = np.flatnonzero(rank < self.kept[cell])
        return left, np.searchsorted(self.places, cell[left])

    @cached_property
    def _counted(self) -> tuple[Cells, int, str]:
        assert self.whole is not None and self.kept is not None
        cells = self.whole.cells
        left = [attribute.leaves[cells.values[self.places, s]] for s, attribute in enumerate(cells.sensitive)]
        codes = np.column_stack([cells.codes[self.places], *left]).astype(np.int32)
        sensitive = [(attribute.name, attribute.hierarchy) for attribute in cells.sensitive]
        return (
            sorted_cells(cells.quasi, sensitive, codes, self.kept[self.places]),
            self.whole.dropped,
            self.whole.link,
        )

    def _count_neutral(self, column: str) -> CountedValues:
        """Draw, cell by cell, which of a neutral column's values the records that are left have."""
        assert self.whole is not None and self.kept is not None
        counted, generator = self.whole.counts_of(column), np.random.default_rng(int(self.kept.sum()))
        counts = counted.counts.copy()
        for cell in np.flatnonzero(self.kept < self.whole.cells.counts):
            span = slice(counted.offsets[cell], counted.offsets[cell + 1])
            counts[span] = generator.multivariate_hypergeometric(counts[span], int(self.kept[cell]))
        number = np.repeat(np.arange(self.whole.cells.size), np.diff(counted.offsets))
        there = counts > 0
        offsets = np.r_[0, np.cumsum(np.bincount(number[there], minlength=self.whole.cells.size)[self.places])]
        return replace(counted, offsets=offsets, values=counted.values[there], counts=counts[there])


def held_out(cells: Cells, share: float, generator: np.random.Generator) -> Counts:
    """Draw a share of the records, without replacement: how many of every cell are held out."""
    wanted = round(share * cells.records)
    if not 0 < wanted < cells.records:
        raise BadInputError(
            f"a share of {share:g} of {cells.records:,} records holds out {wanted:,} of them, and both sides need some"
        )
    return generator.multivariate_hypergeometric(cells.counts, wanted, method="marginals")
