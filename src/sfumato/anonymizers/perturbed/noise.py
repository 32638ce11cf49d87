"""Additive noise that keeps covariances (Kim 1986; Brand 2002): every number becomes itself and something random.

    S: the covariance matrix of the columns of numbers, m their means
    every record x:  z = x + e,   e drawn from a normal distribution with mean 0 and covariance scale^2 S

Noise with the covariance of the data itself leaves correlations as they are and multiplies all variances by
1 + scale^2. `preserve=covariance` (Kim's transformation) takes that back,

    z = m + (x + e - m) / sqrt(1 + scale^2),

so that means and covariances are those of the table on average. What is published is the nearest leaf of each column's
domain: rounding to leaves of width w adds about w^2 / 12 to a variance, and values that fall beyond an end of the
domain become that end, which makes variances smaller and draws means inwards. On a domain that is wide beside the data
both hardly matter; a domain taken from the data itself cuts off a share of the tails.

Missing values stay; covariances are those of the records that have all the numbers. A constant column gets no noise.

What it promises: nothing. A large outlier stays one, since noise is in proportion to the spread of all; who knows the
scale knows about where every value was, and somebody who can look several columns up filters the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from sfumato.anonymizers.perturbed.columns import number_places
from sfumato.anonymizers.record_maker import InColumns, RecordMaker, Seed
from sfumato.arrays import Numbers
from sfumato.configuration import Option
from sfumato.release import Records
from sfumato.release.maker import Dial


@dataclass(frozen=True)
class AddedNoise(RecordMaker):
    """Publish every number with noise that is correlated as the numbers are."""

    scale: Annotated[
        float, Option("How large the noise is: its standard deviation to that of the column.", more_than=0, most=100)
    ]
    preserve: Annotated[
        Literal["nothing", "covariance"],
        Option("Whether values are drawn in towards the mean, so that variances stay as they were on average."),
    ] = "nothing"
    columns: InColumns = ()
    seed: Seed = None

    name: ClassVar[str] = "noise"
    title: ClassVar[str] = "Additive noise"
    example: ClassVar[str | None] = "noise scale=0.2"
    caution: ClassVar[str] = (
        "Numbers have noise in them and look exact. An outlier stays an outlier, and nobody is put into a group: "
        "people may be found by their other columns, and about by these."
    )

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
