"""Rounding: every number becomes a multiple of a base near it (Hundepool et al. 2012, section 3.3).

    method=nearest: publish base x round(x / base)
    method=random:  with x = base (m + r), m whole and 0 <= r < 1, publish base (m + 1) with probability r, else base m:
                    right on average, whatever x is

Of dates the base is a number of days. Multiples outside of the domain are not published: at its ends the last multiple
inside stands for what is beyond. Where the domain is no grid with the base on it (values as they occur, or leaves that
are stretches), the leaf nearest to the multiple is published.

What is published looks like a value and is not one. Everybody who knows the base knows within which stretch the value
lies (twice as wide a one where it is random), so it hides what generalizing to stretches of that width hides, and no
more; nobody is put into a group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from sfumato.anonymizers.perturbed.columns import number_places
from sfumato.anonymizers.record_maker import InColumns, RecordMaker
from sfumato.arrays import Codes, Numbers
from sfumato.configuration import Option, seed_option
from sfumato.errors import BadInputError
from sfumato.release import Records
from sfumato.release.maker import Dial
from sfumato.release.records import leaf_numbers


@dataclass(frozen=True)
class Rounding(RecordMaker):
    """Publish a multiple of a base in place of every number."""

    base: Annotated[float, Option("Numbers become multiples of it; of dates it is a number of days.", more_than=0)]
    columns: InColumns = ()
    method: Annotated[
        Literal["nearest", "random"],
        Option("To the nearest multiple, or to one of the two around it, at random and right on average."),
    ] = "nearest"
    seed: Annotated[int | None, seed_option("Which way is rounded.", when=("method", "random"))] = None

    name: ClassVar[str] = "rounding"
    title: ClassVar[str] = "Rounding"
    example: ClassVar[str | None] = "rounding base=5"
    caution: ClassVar[str] = (
        "Rounded values look exact and are not; who knows the base knows the stretch of every value. Nobody is put "
        "into a group: people may be alone in the file."
    )

    @property
    def draws_at_random(self) -> bool:
        """Only where it is said so."""
        return self.method == "random"

    def dial(self, records: int) -> Dial:
        """Turn the base."""
        return Dial("base", 2, 100, whole=True)

    def check_columns(self, columns: Records) -> None:
        """Raise where there is no column of numbers to round, or no multiple in its domain."""
        for place in number_places(self.name, columns, self.columns):
            self._ends(columns, place)

    def records(self, original: Records, generator: np.random.Generator) -> Records:
        """Round."""
        places = number_places(self.name, original, self.columns)
        return original.replaced({place: self._rounded(original, place, generator) for place in places})

    def _rounded(self, original: Records, place: int, generator: np.random.Generator) -> Codes:
        times: Numbers = original.numbers(place) / self.base
        if self.method == "random":
            times = np.floor(times + generator.random(len(times)))
        else:
            times = np.round(times)
        return original.nearest(place, self.base * np.clip(times, *self._ends(original, place)))

    def _ends(self, records: Records, place: int) -> tuple[float, float]:
        """Return the first and the last multiple inside a domain, as how many times the base."""
        hierarchy = records.hierarchies[place]
        leaves = leaf_numbers(hierarchy)[: hierarchy.domain_size]
        first, last = float(np.ceil(leaves[0] / self.base)), float(np.floor(leaves[-1] / self.base))
        if first > last:
            raise BadInputError(
                f"{self.name}: no multiple of {self.base:g} lies between {hierarchy.domain_in_words()}, the domain of "
                f"column {records.names[place]!r}; take a smaller base, or name other columns"
            )
        return first, last
