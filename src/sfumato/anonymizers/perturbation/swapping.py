"""Record swapping: records change places with others that agree with them in what must stay (Dalenius & Reiss 1982).

    Choose the records to protect: at random, or (targeted) those whose quasi-identifiers the fewest others share.
    Give each a partner, drawn from the records that agree with it in the columns of `match`.
    Swap the values of `columns` between the two, all of them together.

So the values of every column stay exactly those of the table; so do the combinations of the swapped columns, each
separately with those of `match`. For the share of records that are swapped, the relations between the swapped columns
and all others change. Household data of censuses are protected in this way: homes are swapped between households of
the same size.

Promised: that a record's swapped values are its own is likely and not certain. It promises nothing about groups: all
combinations of the swapped columns occur in the file as in the table, also those of one person alone.

Rank swapping: every number changes places with one of nearly the same rank (Moore 1996).

    For each column of numbers:
        sort the records by it, equal values in a random order
        for every record in that order that has not been swapped:
            draw one of those not swapped yet that are at most `distance` x n ranks above it, and swap their values.

The values of a column stay exactly those of the table, so does everything that is computed of one column alone.
Columns are swapped independently of each other: relations between them are blurred, the more the larger the distance.
Missing values have no rank and stay.

Promised: no number is known for certain, but every number lies within the distance of ranks, and the few values
at the ends of a long tail are their persons' own. It promises nothing of groups.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.anonymizer import Dial
from sfumato.anonymizers.perturbation.record_anonymizer import InColumns, RecordMaker, Seed, all_places, number_places
from sfumato.config.options import Option
from sfumato.data.cells import Points
from sfumato.errors import BadInputError
from sfumato.release.records import Records
from sfumato.runtime._kernel_helpers import uniform
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.runtime.kernels import kernel


@dataclass(frozen=True)
class RecordSwapping(RecordMaker):
    """Swap values between pairs of records that agree in other columns."""

    share: Annotated[float, Option(more_than=0, most=1)] = 0.1
    """The share of the records that are swapped, about."""

    match: Annotated[tuple[str, ...], Option(takes="columns")] = ()
    """The columns in which two records must agree to be swapped."""

    columns: InColumns = ()
    target: Annotated[Literal["random", "rare"], Option()] = "random"
    """Which records get a partner: any, or those first whose quasi-identifiers the fewest others share."""

    seed: Seed = None

    name: ClassVar[str] = "record-swapping"

    def dial(self, records: int) -> Dial:
        """Turn the share of records that are swapped."""
        return Dial("share", 0.01, 1.0)

    def check_columns(self, columns: Records) -> None:
        """Raise where a column is named that is not there, or that would both stay and go."""
        self._places(columns)

    def records(self, original: Records, generator: np.random.Generator) -> Records:
        """Choose, pair, swap."""
        places = self._places(original)
        kinds = Points.of(original.codes[:, [original.place(name) for name in self.match]], np.ones(len(original)))
        urgency = generator.random(len(original))
        if self.target == "rare":
            quasi = Points.of(original.codes[:, : len(original.cells.quasi)], np.ones(len(original)))
            urgency += quasi.counts[quasi.number]
        one, other = pairs(kinds.number, urgency, int(self.share * len(original) / 2 + 0.5), generator)
        codes = original.codes.copy()
        for place in places:
            codes[one, place], codes[other, place] = original.codes[other, place], original.codes[one, place]
        return original.recoded(codes)

    def _places(self, records: Records) -> list[int]:
        matched = [records.place(name) for name in self.match]
        places = all_places(self.name, records, self.columns)
        both = [name for name in self.columns if name in self.match]
        if both:
            raise BadInputError(
                f"match: {both[0]!r} stays where it is, so it cannot be swapped; take it out of columns"
            )
        others = [place for place in places if place not in matched]
        if not others:
            raise BadInputError(f"{self.name}: beside those of match there is no column to swap")
        return others


def pairs(kind: Counts, urgency: Numbers, wanted: int, generator: np.random.Generator) -> tuple[Counts, Counts]:
    """Pair the records of least urgency number with others of the same kind, drawn at random: at most so many pairs.

    A record is in one pair at most. Of a kind at most half can be chosen, for the other half are the partners.
    """
    chosen = np.zeros(len(kind), np.bool_)
    chosen[np.argsort(urgency, kind="stable")[:wanted]] = True
    order = np.lexsort((np.where(chosen, urgency, np.inf), kind))
    starts = np.flatnonzero(np.diff(kind[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(kind)))
    number = np.repeat(np.arange(len(starts)), sizes)
    within = np.arange(len(kind)) - starts[number]
    number_chosen = np.minimum(np.bincount(number, chosen[order], len(starts)).astype(np.int64), sizes // 2)
    is_one = within < number_chosen[number]
    rest = np.flatnonzero(~is_one)
    rest = rest[np.lexsort((generator.random(len(rest)), number[rest]))]
    rest_starts = np.cumsum(sizes - number_chosen) - (sizes - number_chosen)
    one = np.flatnonzero(is_one)
    partner = rest[rest_starts[number[one]] + within[one]]
    return order[one], order[partner]


TRIES = 32
"""How often a partner is drawn before those that are free are looked through: equally likely either way."""


@dataclass(frozen=True)
class RankSwapping(RecordMaker):
    """Swap numbers between records of nearly the same rank."""

    distance: Annotated[float, Option(more_than=0, most=1)] = 0.05
    """How far apart the ranks of two swapped values are at most, as a share of the records."""

    columns: InColumns = ()
    seed: Seed = None

    name: ClassVar[str] = "rank-swapping"

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
