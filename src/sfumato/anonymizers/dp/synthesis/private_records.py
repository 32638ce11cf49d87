"""The records behind a synthesizer: every question about them is answered with noise and entered in the account.

A synthesizer is handed a `RecordDomain`, which is public, and `PrivateRecords`, which only answers. It never sees the
table. Two questions are all there is to ask:

- `marginal`: how many records have every combination of values of some columns. One record is in one combination, so
  one more or less changes one count by 1.
- `worst`: which of several marginals is predicted worst. The score is weight x (sum of |count - predicted count|), less
  an allowance that does not depend on the records; one record changes it by at most the weight. Predictions are rounded
  to a thousandth of a record, so that scores are whole numbers and their sensitivity is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.anonymizers.dp.account import Account
from sfumato.anonymizers.dp.noise import Noise, variance
from sfumato.anonymizers.dp.private_cells import check_declared
from sfumato.arrays import Counts, Numbers
from sfumato.release import Budget, Unit, coded_columns
from sfumato.release.records import cell_codes
from sfumato.table import Cells, Table

Places = tuple[int, ...]
"""Some columns by their places in the domain, in rising order."""

FINE = 1000
"""In how many parts of a record predictions are told apart."""


@dataclass(frozen=True)
class RecordDomain:
    """What everybody may know: the coded columns, quasi-identifiers first, and how many declared values each has."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    quasi: int
    """How many of them are quasi-identifiers; the others are sensitive."""

    def cells(self, places: Places) -> int:
        """Count the combinations of values of some columns."""
        return math.prod(self.sizes[place] for place in places)

    def shape(self, places: Places) -> tuple[int, ...]:
        """Return the number of values of every one of some columns."""
        return tuple(self.sizes[place] for place in places)

    @property
    def pairs(self) -> list[Places]:
        """All pairs of columns."""
        return [(a, b) for b in range(len(self.sizes)) for a in range(b)]


def record_domain(table: Table) -> RecordDomain:
    """Return the declared domain of all coded columns of a table; one that was taken from the records is refused."""
    check_declared(table)
    attributes = coded_columns(table.cells)
    names = tuple(attribute.name for attribute in attributes)
    return RecordDomain(names, tuple(each.hierarchy.size for each in attributes), len(table.cells.quasi))


@dataclass(frozen=True)
class CountedTable:
    """A table that was counted: its columns, and the noise in every count (one standard deviation)."""

    names: tuple[str, ...]
    deviation: float


class PrivateRecords:
    """Records that answer questions with noise, until the budget is spent."""

    def __init__(self, cells: Cells, domain: RecordDomain, noise: Noise, budget: Budget) -> None:
        self._codes, self._counts = cell_codes(cells).astype(np.int64), cells.counts
        self._domain, self._noise, self.account = domain, noise, Account(budget)
        self._exact: dict[Places, Counts] = {}
        self.counted: list[CountedTable] = []

    @property
    def unit(self) -> Unit:
        """What is paid with."""
        return self.account.budget.unit

    def marginal(self, places: Places, what: str, level: int, amount: float) -> Numbers:
        """Count the records by their values in some columns, noisy: an array with one axis per column."""
        self.account.spend(what, level, amount)
        deviation = math.sqrt(variance(amount, self.unit))
        self.counted.append(CountedTable(tuple(self._domain.names[place] for place in places), deviation))
        return self._noise.add(self._marginal(places), amount, self.unit).astype(np.float64)

    def worst(
        self,
        predicted: Mapping[Places, Numbers],
        what: str,
        level: int,
        amount: float,
        weights: Mapping[Places, int] | None = None,
        allowances: Mapping[Places, float] | None = None,
    ) -> Places:
        """Choose one of the marginals that are predicted worst."""
        self.account.spend(what, level, amount)
        weight = dict.fromkeys(predicted, 1) if weights is None else weights
        allowed = dict.fromkeys(predicted, 0.0) if allowances is None else allowances
        scores = np.array(
            [
                weight[places] * (self._distance(places, counts) - round(FINE * allowed[places]))
                for places, counts in predicted.items()
            ],
            np.int64,
        )
        sensitivity = FINE * max(weight[places] for places in predicted)
        chosen = self._noise.choose(scores, np.array([0, len(scores)]), amount, self.unit, sensitivity)
        return list(predicted)[int(chosen[0])]

    def _distance(self, places: Places, predicted: Numbers) -> int:
        """Sum up how far the counts are from the predicted ones, in parts of a record."""
        return int(np.abs(FINE * self._marginal(places) - np.rint(FINE * predicted).astype(np.int64)).sum())

    def _marginal(self, places: Places) -> Counts:
        if places not in self._exact:
            shape = self._domain.shape(places)
            flat = np.ravel_multi_index(tuple(self._codes[:, place] for place in places), shape)
            counts = np.bincount(flat, self._counts, self._domain.cells(places))
            self._exact[places] = np.rint(counts).astype(np.int64).reshape(shape)
        return self._exact[places]
