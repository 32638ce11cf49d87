"""Additive noise that keeps covariances (Kim 1986; Brand 2002): every number becomes itself and something random.

    S: the covariance matrix of the columns of numbers, m their means.
    Every record x:  z = x + e,   e drawn from a normal distribution with mean 0 and covariance scale^2 S.

Noise with the covariance of the data itself leaves correlations as they are and multiplies all variances by
1 + scale^2. `preserve=covariance` (Kim's transformation) takes that back,

    z = m + (x + e - m) / sqrt(1 + scale^2),

so that means and covariances are those of the table on average. The published value is the nearest leaf of each
column's domain: rounding to leaves of width w adds about w^2 / 12 to a variance. Values that fall beyond an end of the
domain become that end, which makes variances smaller and draws means inwards. On a domain that is wide beside the data
both hardly matter; a domain taken from the data itself cuts off a share of the tails.

Missing values stay; covariances are those of the records that have all the numbers. A constant column gets no noise.

What it promises: nothing. A large outlier stays one, since noise is in proportion to the spread of all. An attacker
who knows the scale knows about where every value was, and one who knows several columns can filter the noise.

Rounding: every number becomes a multiple of a base near it (Hundepool et al. 2012, section 3.3).

    `method=nearest`: publish base x round(x / base).
    `method=random`:  with x = base (m + r), m whole and 0 <= r < 1, publish base (m + 1) with probability r,
                      else base m: right on average, whatever x is.

Of dates the base is a number of days. Multiples outside the domain are not published: at its ends the last multiple
inside replaces them. If the domain is not a grid that contains the base (values as they occur, or leaves that are
intervals), the leaf nearest to the multiple is published.

The published number looks like a recorded value and is not one. An attacker who knows the base knows an interval that
contains the value (twice as wide with the random method). So rounding hides as much as generalizing to intervals of
that width, and no more; there are no groups.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from sfumato.anonymizers.anonymizer import Dial
from sfumato.anonymizers.perturbation.record_anonymizer import InColumns, RecordMaker, Seed, number_places
from sfumato.config.options import Option, seed_option
from sfumato.errors import BadInputError
from sfumato.release.records import Records, leaf_numbers
from sfumato.runtime.arrays import Codes, Numbers


@dataclass(frozen=True)
class AddedNoise(RecordMaker):
    """Publish every number with noise that is correlated as the numbers are."""

    scale: Annotated[float, Option(more_than=0, most=100)]
    """How large the noise is: its standard deviation to that of the column."""

    preserve: Annotated[Literal["nothing", "covariance"], Option()] = "nothing"
    """Whether values are drawn in towards the mean, so that variances stay as they were on average."""

    columns: InColumns = ()
    seed: Seed = None

    name: ClassVar[str] = "noise"
    example: ClassVar[str | None] = "noise scale=0.2"

    def dial(self, records: int) -> Dial:
        """Turn the scale of the noise."""
        return Dial("scale", 0.01, 5.0)

    def check_columns(self, columns: Records) -> None:
        """Raise where there is no column of numbers."""
        number_places(self.name, columns, self.columns)

    def records(self, original: Records, generator: np.random.Generator) -> Records:
        """Add the noise."""
        places = number_places(self.name, original, self.columns)
        numbers = np.column_stack([original.numbers(place) for place in places])
        noisy = numbers + correlated_noise(covariances(numbers), self.scale, len(numbers), generator)
        if self.preserve == "covariance":
            means = np.array([_mean(column) for column in numbers.T])
            noisy = means + (noisy - means) / np.sqrt(1 + self.scale**2)
        return original.replaced({place: original.nearest(place, noisy[:, c]) for c, place in enumerate(places)})


def covariances(numbers: Numbers) -> Numbers:
    """Return the covariances of columns: of the records that have all; without any, variances of each column alone."""
    complete = numbers[~np.isnan(numbers).any(axis=1)]
    if len(complete) > 1:
        return np.atleast_2d(np.cov(complete, rowvar=False))
    known = [column[~np.isnan(column)] for column in numbers.T]
    return np.diag([column.var(ddof=1) if len(column) > 1 else 0.0 for column in known])


def correlated_noise(covariance: Numbers, scale: float, records: int, generator: np.random.Generator) -> Numbers:
    """Draw normal noise with `scale`^2 times a covariance, which need not have full rank."""
    variances, directions = np.linalg.eigh(covariance)
    spread = directions * (scale * np.sqrt(np.maximum(variances, 0.0)))
    drawn: Numbers = generator.standard_normal((records, len(covariance))) @ spread.T
    return drawn


def _mean(column: Numbers) -> float:
    known = column[~np.isnan(column)]
    return float(known.mean()) if len(known) else 0.0


@dataclass(frozen=True)
class Rounding(RecordMaker):
    """Replace every number by a multiple of a base."""

    base: Annotated[float, Option(more_than=0)]
    """Numbers become multiples of it; of dates it is a number of days."""

    columns: InColumns = ()
    method: Annotated[Literal["nearest", "random"], Option()] = "nearest"
    """To the nearest multiple, or to one of the two around it, at random and right on average."""

    seed: Annotated[int | None, seed_option("Which way is rounded.", when=("method", "random"))] = None

    name: ClassVar[str] = "rounding"
    example: ClassVar[str | None] = "rounding base=5"

    @property
    def draws_at_random(self) -> bool:
        """Only where it is declared."""
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
