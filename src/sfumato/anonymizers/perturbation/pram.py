"""PRAM, post-randomisation: every category is replaced by one drawn from the row of a known matrix that it has.

    Kooiman, Willenborg & Gouweleeuw 1997; Gouweleeuw, Kooiman, Willenborg & de Wolf 1998.

    `p`: the shares of the categories of a column (within a stratum).
    R: the matrix of transitions, R[a, b] the probability that a is published as b.
    For every record with category a: publish b with probability R[a, b].

R is invariant where p R = p: then the shares of the published categories are those of the table on average, and nobody
has to correct for R. We take the simplest invariant matrix,

    R = keep I + (1 - keep) 1 p'        since        p R = keep p + (1 - keep) (p 1) p' = p.

It means: with probability `keep` a value stays; otherwise it is drawn again from the column, where it may come out
the same. So at least the share `keep` stays on average: of a value of share p_a, keep + (1 - keep) p_a. The papers'
way through the inverse of any matrix (two draws) gives others.

Columns are drawn independently of each other, so the more columns, the weaker their associations: a pair keeps keep^2
of its correlation. `within` draws inside the values of another column: the joint shares with that one stay on average
too. A missing value is a category like any other.

Promised: that a published category is the person's own is likely and never certain, and nothing more. It promises
nothing of groups, and where `keep` is high a rare combination is most probably the rare person's.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sfumato.anonymizers.anonymizer import Dial
from sfumato.anonymizers.perturbation.record_anonymizer import InColumns, RecordMaker, Seed, category_places
from sfumato.config.options import Option
from sfumato.errors import BadInputError
from sfumato.release.records import Records
from sfumato.runtime.arrays import Codes


@dataclass(frozen=True)
class Pram(RecordMaker):
    """Publish each category with a known probability as it is, and else one drawn from the column."""

    keep: Annotated[float, Option(least=0, most=1)]
    """The probability that a value stays; otherwise it is drawn from the column."""

    columns: InColumns = ()
    within: Annotated[str | None, Option(takes="column")] = None
    """A column within whose values is drawn, so that joint shares with it stay on average."""

    seed: Seed = None

    name: ClassVar[str] = "pram"
    example: ClassVar[str | None] = "pram keep=0.8"

    def dial(self, records: int) -> Dial:
        """Turn the probability to keep a value."""
        return Dial("keep", 0.1, 0.99)

    def check_columns(self, columns: Records) -> None:
        """Raise where there is no column of categories to change, or none of the name of `within`."""
        self._places(columns)

    def records(self, original: Records, generator: np.random.Generator) -> Records:
        """Draw."""
        places = self._places(original)
        stratum = (
            np.zeros(len(original), np.int32) if self.within is None else original.codes[:, original.place(self.within)]
        )
        drawn = {place: original.codes[:, place].copy() for place in places}
        for value in np.unique(stratum):
            inside = np.flatnonzero(stratum == value)
            for place, column in drawn.items():
                column[inside] = randomised(original.codes[inside, place], self.keep, generator)
        return original.replaced(drawn)

    def _places(self, records: Records) -> list[int]:
        places = category_places(self.name, records, self.columns)
        if self.within is None:
            return places
        if self.within in self.columns:
            raise BadInputError(
                f"within: {self.within!r} stays as it is, so it cannot be drawn; take it out of columns"
            )
        stratum = records.place(self.within)
        others = [place for place in places if place != stratum]
        if not others:
            raise BadInputError(f"{self.name}: beside within={self.within} there is no column of categories to change")
        return others


def randomised(codes: Codes, keep: float, generator: np.random.Generator) -> Codes:
    """Draw for every record of a stratum what it shows: its own value, or that of any record, each equally likely."""
    stays = generator.random(len(codes)) < keep
    return np.where(stays, codes, codes[generator.integers(0, len(codes), len(codes))])
