"""Record swapping: records change places with others that agree with them in what must stay (Dalenius & Reiss 1982).

    choose the records to protect: at random, or (targeted) those whose quasi-identifiers the fewest others share
    give each a partner, drawn from the records that agree with it in the columns of `match`
    swap the values of `columns` between the two, all of them together

So the values of every column stay exactly those of the table; so do the combinations of the swapped columns, each by
itself with those of `match`. What the swapped columns tell of all the others changes for the share of records that are
swapped. Household data of censuses are protected in this way: homes are swapped between households of the same size.

What it promises: that a record's swapped values are its own is likely and not certain. It promises nothing of groups:
all combinations of the swapped columns stand in the file as they stand in the table, also those of one person alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from sfumato.anonymizers.perturbed.columns import all_places
from sfumato.anonymizers.record_maker import InColumns, RecordMaker, Seed
from sfumato.arrays import Counts, Numbers
from sfumato.configuration import Option
from sfumato.errors import BadInputError
from sfumato.release import Records
from sfumato.release.maker import Dial
from sfumato.table import Points


@dataclass(frozen=True)
class RecordSwapping(RecordMaker):
    """Swap values between pairs of records that agree in other columns."""

    share: Annotated[float, Option("The share of the records that are swapped, about.", more_than=0, most=1)] = 0.1
    match: Annotated[
        tuple[str, ...], Option("The columns in which two records must agree to be swapped.", takes="columns")
    ] = ()
    columns: InColumns = ()
    target: Annotated[
        Literal["random", "rare"],
        Option("Which records get a partner: any, or those first whose quasi-identifiers the fewest others share."),
    ] = "random"
    seed: Seed = None

    name: ClassVar[str] = "record-swapping"
    title: ClassVar[str] = "Record swapping"
    caution: ClassVar[str] = (
        "Some values are other people's, nobody can tell which. Every combination of the swapped columns stands in the "
        "file as it stands in the table, also that of one person alone; nobody is put into a group."
    )

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
