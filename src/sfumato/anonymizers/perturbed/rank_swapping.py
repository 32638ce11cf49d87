"""Rank swapping: every number changes places with one of nearly the same rank (Moore 1996).

    for each column of numbers:
        sort the records by it, equal values in a random order
        for every record in that order that has not been swapped:
            draw one of those not swapped yet that are at most `distance` x n ranks above it, and swap their values

The values of a column stay exactly those of the table, so does everything that is computed of one column alone. Columns
are swapped independently of each other: what they tell of one another gets blurred, the more the larger the distance.
Missing values have no rank and stay.

What it promises: nobody's number is known for certain, but everybody's lies within the distance of ranks, and at the
ends of a long tail those few values stand for themselves. It promises nothing of groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.perturbed.columns import number_places
from sfumato.anonymizers.record_maker import InColumns, RecordMaker, Seed
from sfumato.arrays import Codes, Counts
from sfumato.configuration import Option
from sfumato.kernel_helpers import uniform
from sfumato.kernels import kernel
from sfumato.release import Records
from sfumato.release.maker import Dial

TRIES = 32
"""How often a partner is drawn before those that are free are looked through: equally likely either way."""


@dataclass(frozen=True)
class RankSwapping(RecordMaker):
    """Swap numbers between records of nearly the same rank."""

    distance: Annotated[
        float,
        Option(
            "How far apart the ranks of two swapped values are at most, as a share of the records.", more_than=0, most=1
        ),
    ] = 0.05
    columns: InColumns = ()
    seed: Seed = None

    name: ClassVar[str] = "rank-swapping"
    title: ClassVar[str] = "Rank swapping"
    caution: ClassVar[str] = (
        "Numbers are other people's, of nearly the same rank; what columns tell of one another is blurred. Nobody is "
        "put into a group, and the few values at the ends of a long tail stand for themselves."
    )

    def dial(self, records: int) -> Dial:
        """Turn the distance of ranks."""
        return Dial("distance", max(1 / records, 1e-4), 1.0)

    def check_columns(self, columns: Records) -> None:
        """Raise where there is no column of numbers to swap."""
        number_places(self.name, columns, self.columns)

    def records(self, original: Records, generator: np.random.Generator) -> Records:
        """Swap."""
        places = number_places(self.name, original, self.columns)
        return original.replaced({place: self._swapped(original, place, generator) for place in places})

    def _swapped(self, original: Records, place: int, generator: np.random.Generator) -> Codes:
        numbers, codes = original.numbers(place), original.codes[:, place].copy()
        known = np.flatnonzero(~np.isnan(numbers))
        order = known[np.lexsort((generator.random(len(known)), numbers[known]))]
        window = max(int(self.distance * len(order)), 1)
        partner = partners(len(order), window, generator.integers(0, 2**64, 1, np.uint64))
        codes[order] = codes[order[partner]]
        return codes


@kernel
def partners(n: int, window: int, state: NDArray[np.uint64]) -> Counts:
    """Pair ranks 0 to n - 1 at random, at most `window` apart; who finds nobody free is its own partner.

    Every free rank of the window is equally likely: drawn until one is free, or after many tries looked for.
    """
    partner = np.arange(n)
    for i in range(n):
        reach = min(i + window, n - 1) - i
        if partner[i] != i or reach == 0:
            continue
        other = i
        for _ in range(TRIES):
            drawn = i + 1 + int(uniform(state) * reach)
            if partner[drawn] == drawn:
                other = drawn
                break
        if other == i:
            free = 0
            for j in range(i + 1, i + reach + 1):
                if partner[j] == j:
                    free += 1
                    if uniform(state) * free < 1:
                        other = j
        partner[i], partner[other] = other, i
    return partner
