"""Rounding: every number becomes the nearest multiple of a base (Hundepool et al. 2012, section 3.3).

    for every value x of a column of numbers: publish base * round(x / base)

What is published looks like a value and is not one. Everybody who knows the base knows within which stretch the value
lies, so it hides what generalizing to stretches of that width hides, and no more; nobody is put into a group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sfumato.anonymizers.perturbed.columns import number_places
from sfumato.anonymizers.record_maker import InColumns, RecordMaker
from sfumato.configuration import Option
from sfumato.release import Records


@dataclass(frozen=True)
class Rounding(RecordMaker):
    """Publish the nearest multiple of a base in place of every number."""

    base: Annotated[float, Option("Numbers become multiples of it.", more_than=0)]
    columns: InColumns = ()

    name: ClassVar[str] = "rounding"
    title: ClassVar[str] = "Rounding"
    example: ClassVar[str | None] = "rounding base=5"
    caution: ClassVar[str] = (
        "Rounded values look exact and are not; who knows the base knows the stretch of every value. Nobody is put "
        "into a group: people may be alone in the file."
    )

    def check_columns(self, columns: Records) -> None:
        """Raise where there is no column of numbers to round."""
        number_places(self.name, columns, self.columns)

    def records(self, original: Records, generator: np.random.Generator) -> Records:
        """Round."""
        places = number_places(self.name, original, self.columns)
        rounded = {place: self.base * np.round(original.numbers(place) / self.base) for place in places}
        return original.replaced({place: original.nearest(place, numbers) for place, numbers in rounded.items()})
