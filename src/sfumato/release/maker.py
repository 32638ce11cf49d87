"""What everybody who makes releases says of itself, of tables or of baskets, exact or noisy: nobody keeps a table of
their names.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self

from sfumato.configuration import Configured, without_seed

DIGITS = 4
"""Significant digits of a dial's values: they are read by people."""


@dataclass(frozen=True)
class Dial:
    """The number in which the candidates of a family differ, which a search turns.

    It turns on a logarithmic scale, because that is how people choose: k = 5, 10, 20 are as far apart as 50, 100, 200.
    """

    field: str
    least: float
    most: float
    whole: bool = False

    def at(self, share: float) -> float:
        """Return the value at a share of the way, rounded to what people would type."""
        return self.rounded(self.least * (self.most / self.least) ** share)

    def between(self, low: float, high: float) -> float | None:
        """Return the value half way between two others, or nothing where none is left."""
        middle = self.rounded(math.sqrt(low * high))
        return middle if low < middle < high else None

    def rounded(self, value: float) -> float:
        """Round to a whole number, or to a few significant digits."""
        return round(value) if self.whole else float(f"{value:.{DIGITS}g}")


def size_dial(field: str, records: int) -> Dial | None:
    """Return the dial of how many records stand together at least; none where there are too few for a choice."""
    return Dial(field, 2, max(records // 2, 2), whole=True) if records >= 4 else None


class ReleaseMaker(Configured):
    """Whoever makes a release. It prints as what one would type."""

    noisy: ClassVar[bool] = False
    """Whether its releases are drawn with noise, differentially privately: nothing that counts people can be said."""

    shown_as: ClassVar[str] = ""
    """What it publishes, in words, where that is not groups: boxes with noisy counts, synthetic records."""

    takes_requirements: ClassVar[bool] = True
    """Whether it makes its releases satisfy whatever is required of them; otherwise it promises what it promises."""

    has_lattice: ClassVar[bool] = False
    """Whether it decides a lattice of transformations, which `lattice` returns."""

    effort: ClassVar[float] = 1.0
    """What making and measuring a release takes, in releases of Mondrian: its order (`benchmarks/effort.py`)."""

    baseline: ClassVar[str] = ""
    """Of an end of the map: what it is, in a sentence. Elsewhere nothing."""

    called: ClassVar[str] = ""
    """Of an end of the map: what a neighbour of it is told that it is."""

    caution: ClassVar[str] = ""
    """What a person should know before publishing what it makes, whatever its numbers are."""

    is_release: ClassVar[bool] = True
    """Whether it may be published at all; the original is only the other end of the map."""

    is_found: ClassVar[bool] = False
    """Whether its settings are found by looking at the records, so that the settings alone tell something of them."""

    shows_exact: ClassVar[bool] = False
    """Whether exact quasi-identifiers are shown, in whatever form: people's own, or perturbed ones that look so."""

    drawn_as: ClassVar[str] = ""
    """What it is drawn as on a map, where that is not its requirement."""

    people: ClassVar[bool] = True
    """Whether what it publishes stands for people, so that measures that count them can be said of it."""

    foreign: ClassVar[bool] = False
    """Whether it was made elsewhere, so that nothing is promised of it."""

    remakes: ClassVar[bool] = True
    """Whether it makes a release of another table as well: a file that was brought stays what it is."""

    @property
    def described_in_words(self) -> str:
        """Say in a sentence what it is, where its settings do not say it to everybody."""
        return ""

    @property
    def family(self) -> str:
        """What its releases are drawn as, where that is not their requirement."""
        return ""

    @property
    def public(self) -> Self:
        """The same as everybody may know it: without a seed, with which its release could be made again."""
        return without_seed(self)

    @property
    def draws_at_random(self) -> bool:
        """Whether anything is drawn at random: where there is a seed, unless a maker knows better."""
        return any(field.name == "seed" for field in fields(self))  # type: ignore[arg-type]

    def dial(self, records: int) -> Dial | None:
        """Name the number of its own that a search should turn on a table of so many records, if there is one."""
        return None

    def with_seed(self, seed: int) -> Self:
        """Return the same maker with a seed where it draws at random and has none."""
        if not self.draws_at_random or getattr(self, "seed", None) is not None:
            return self
        return replace(self, seed=seed)  # type: ignore[type-var]
