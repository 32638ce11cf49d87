"""A noisy release: boxes with random sensitive counts, and the guarantee of differential privacy.

No record is assigned to anything here, so no code that counts records can read such a release by mistake. It contains
only its boxes and their counts, which are both outputs of the mechanism.

Noise makes counts negative. A draw has two readings. `unbiased` keeps it as drawn, so that sums over many boxes are
right on average. `cut` sets negative counts to 0, because no fewer than zero records can be drawn from a box.

It is written as synthetic records, in a table that looks like the original. Every box yields as many records with a
sensitive value as its noisy count, rounded, or none if that is negative. A record is anywhere in its box, by the widths
of leaves. Equality with a real record is chance. Drawing reads only the content of the release, so the guarantee is
that of the release.

**Written records**: rows drawn from noisy counts, perturbed or synthetic. They are not rows of the table, so no engine
recodes them; they form a small table of texts, in the order of `write_table`, which reveals nothing about their origin.

**Budget** of differential privacy: epsilon, or epsilon with a delta. Epsilon alone is accounted in epsilon, and the
parts are summed. With a delta it is accounted in rho of zero-concentrated differential privacy (zCDP, Bun & Steinke
2016), whose parts are summed too and under which Gaussian noise is cheap. The conversion of rho (Canonne, Kamath &
Steinke 2020, proposition 12 for Renyi differential privacy, of which zCDP is alpha rho at every order alpha). Thus
rho-zCDP is (epsilon, delta)-differentially private with, for any alpha > 1:

    `delta` = exp((alpha - 1) (alpha rho - epsilon)) / alpha * (1 - 1 / alpha) ^ (alpha - 1)

Every alpha gives a valid delta, so a search that stops early is still right.
"""

from __future__ import annotations

import math
import secrets
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.config.options import check_choice
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.reading import Table
from sfumato.engines._text_files import escape_file
from sfumato.engines.duckdb.write import shuffled_table, write_table
from sfumato.engines.protocol import number_column, text_column
from sfumato.release.regions import uniform_leaves
from sfumato.release.release import Boxes, Published
from sfumato.release.writing import Format, typed
from sfumato.runtime.arrays import Counts, Numbers
from sfumato.texts.catalogue import refusal, t

Unit = Literal["epsilon", "rho"]
"""The unit of a budget: epsilon, or rho of zero-concentrated differential privacy."""

HALVINGS = 200
"""More than enough bisections to reach neighbouring floating-point numbers."""

ROUNDING = 1e-9
"""The relative safety margin of delta, far above rounding errors."""


@dataclass(frozen=True)
class Budget:
    """The cost limit of a release. With a delta, epsilon's bounds may be exceeded with at most that probability."""

    epsilon: float
    delta: float = 0.0
    contribution: int | None = None
    """The most counted records per person, if persons are protected; None if records are."""

    @property
    def factor(self) -> int:
        """The cost of a person relative to a record."""
        return (self.contribution or 1) ** (2 if self.delta else 1)

    @property
    def unit(self) -> Unit:
        """Its unit."""
        return "rho" if self.delta else "epsilon"

    @property
    def amount(self) -> float:
        """Its amount in this unit."""
        return rho_of(self.epsilon, self.delta) if self.delta else self.epsilon


@dataclass(frozen=True)
class Spent:
    """A part of the budget: its purpose and amount; parts of one level use disjoint records."""

    what: str
    level: int
    amount: float
    """In the unit of the budget."""


@dataclass(frozen=True)
class Guarantee:
    """Differential privacy as achieved: neighbouring tables, the budget in parts, and public facts."""

    budget: Budget
    spent: tuple[Spent, ...]
    neighbours: str
    """A definition of neighbouring tables."""

    public: tuple[str, ...]
    """The facts that are assumed to be public, in sentences."""

    def __post_init__(self) -> None:
        if sum(Fraction(part.amount) for part in self.spent) > Fraction(self.budget.amount):
            raise AssertionError(t("refusal.parts_budget_sum_up", amount=self.budget.amount))

    @property
    def epsilon(self) -> float:
        """The epsilon of the whole release, which the sum of all parts does not exceed."""
        return self.budget.epsilon

    @property
    def delta(self) -> float:
        """The probability that epsilon may not hold; 0 if it always does."""
        return self.budget.delta

    @property
    def by_level(self) -> dict[int, float]:
        """The amount of each level, the root is 0: all levels use the same records, so they are summed."""
        levels = sorted({part.level for part in self.spent})
        return {level: math.fsum(p.amount for p in self.spent if p.level == level) for level in levels}

    @property
    def by_purpose(self) -> dict[str, float]:
        """The amount of each purpose: counts, medians and so on."""
        purposes = dict.fromkeys(part.what for part in self.spent)
        return {what: math.fsum(p.amount for p in self.spent if p.what == what) for what in purposes}


def rounded_down(exact: Fraction) -> float:
    """Return the largest floating-point number that is at most an exact one."""
    number = float(exact)
    return number if number <= exact else math.nextafter(number, 0)


def delta_of(rho: float, epsilon: float) -> float:
    """Return a delta with which rho-zCDP is (epsilon, delta)-differentially private: nearly the least, never less."""
    low, high = 1.0, (epsilon + 1) / (2 * rho) + 2
    for _ in range(HALVINGS):  # the logarithm of delta is convex in alpha: search for its minimum
        alpha = (low + high) / 2
        if (2 * alpha - 1) * rho - epsilon + math.log1p(-1 / alpha) < 0:
            low = alpha
        else:
            high = alpha
    alpha = high
    exponent = (alpha - 1) * (alpha * rho - epsilon + math.log1p(-1 / alpha)) - math.log(alpha)
    return math.exp(min(exponent, 0.0)) * (1 + ROUNDING)


@cache
def rho_of(epsilon: float, delta: float) -> float:
    """Return the rho of zCDP for (epsilon, delta): nearly the most, never more."""
    low, high = 0.0, epsilon + 1
    for _ in range(HALVINGS):
        rho = (low + high) / 2
        if not low < rho < high:
            break
        low, high = (rho, high) if delta_of(rho, epsilon) <= delta else (low, rho)
    return low


class WrittenRecords(Published):
    """A release with its own rows."""

    @property
    @abstractmethod
    def rows_written(self) -> int:
        """The number of written records."""

    @abstractmethod
    def record_table(self) -> pa.Table:
        """Return its records as texts, columns in the order of the input; raise if it may not be published."""

    def write_draft(self, draft: Path, format: Format, escape_formulas: bool = False) -> None:
        """Write its records to a draft."""
        write_table(self.record_table(), draft, format)
        if escape_formulas:
            escape_file(draft)

    def to_arrow(self) -> pa.Table:
        """Return its records as an Arrow table, in an order that reveals nothing."""
        return typed(shuffled_table(self.record_table()), self.table.engine.texts)


MOST_ROWS = 100_000_000
"""The most rows; above it the noise exceeds the records by far."""

READINGS = ("cut", "unbiased")
"""The readings of negative counts: set to 0, or unchanged."""


@dataclass(frozen=True, eq=False, repr=False)
class NoisyRelease(WrittenRecords):
    """Boxes with noisy sensitive counts; each box is a separate group."""

    kind: ClassVar[str] = "noisy"  # type: ignore[misc]

    table: Table
    boxes: Boxes
    drawn: Numbers
    """The drawn noisy counts of every box, negative ones too: boxes x all declared values of the sensitive attribute,
    occurring or not."""

    guarantee: Guarantee
    details: Mapping[str, Any] = field(default_factory=dict)
    publishable: bool = True
    """Whether its noise is secret. Noise from a seed is not: then the release is for tests and maps only."""

    reading: str = "unbiased"
    """The reading of negative counts: one of READINGS."""

    def __repr__(self) -> str:
        return f"<NoisyRelease: {self.groups:,} boxes, epsilon {self.guarantee.epsilon:g}>"

    @property
    def groups(self) -> int:
        """The number of boxes."""
        return len(self.boxes.lo)

    @cached_property
    def counts(self) -> Numbers:
        """The noisy counts in this reading, which are published; both readings are free."""
        return np.maximum(self.drawn, 0.0) if self.reading == "cut" else self.drawn

    def read(self, reading: str) -> NoisyRelease:
        """Return the same draw with another reading of its negative counts, without new noise."""
        check_choice("reading", reading, READINGS)
        release = replace(self, reading=reading)
        return replace(release, boxes=replace(self.boxes, mass=release.counts.sum(axis=1)))

    @property
    def content(self) -> Numbers:
        """The noisy counts of the values that occur in the table, for internal measures."""
        return self.counts[:, self.cells.sensitive[0].leaves]

    @property
    def synthetic_counts(self) -> Counts:
        """The number of records drawn of each box and value: the noisy counts, rounded, none below 0."""
        return rounded(self.counts)

    @property
    def rows_written(self) -> int:
        """The number of drawn records."""
        return int(self.synthetic_counts.sum())

    def record_table(self) -> pa.Table:
        """Draw records, if the release may be published.

        They are drawn from published content, so they cost no budget. Another call draws others.
        """
        if not self.publishable:
            raise refusal("noise_from_a_seed")
        return synthetic_table(self)


def noisy_release(
    table: Table,
    lo: Any,
    hi: Any,
    counts: Numbers,
    guarantee: Guarantee,
    publishable: bool = True,
) -> NoisyRelease:
    """Return a noisy release of boxes and their drawn counts of all declared values of the one sensitive attribute."""
    lo, hi = np.asarray(lo, np.int32), np.asarray(hi, np.int32)
    boxes = Boxes(lo, hi, counts.sum(axis=1), np.arange(len(lo)))
    return NoisyRelease(table, boxes, counts, guarantee, publishable=publishable)


def synthetic_table(release: NoisyRelease) -> pa.Table:
    """Draw records, as texts: quasi-identifiers and the sensitive attribute, columns in the order of the input."""
    rows = release.synthetic_counts
    if rows.sum() > MOST_ROWS:
        raise refusal("counts_of_noise", rows=rows.sum())
    generator = np.random.default_rng(secrets.randbits(256))
    box, value = (np.repeat(index, rows.ravel()) for index in np.indices(rows.shape).reshape(2, -1))
    columns = {}
    for a, quasi in enumerate(release.cells.quasi):
        lo, hi = release.boxes.lo[box, a], release.boxes.hi[box, a]
        columns[quasi.name] = _texts(quasi.hierarchy, uniform_leaves(quasi.hierarchy, lo, hi, generator))
    sensitive = release.cells.sensitive[0]
    columns[sensitive.name] = _texts(sensitive.hierarchy, value)
    return pa.table({name: columns[name] for name in release.table.published if name in columns})


def rounded(counts: Numbers) -> Counts:
    """Round counts to whole numbers of records, none below 0."""
    return np.rint(np.maximum(counts, 0)).astype(np.int64)


def _texts(hierarchy: Hierarchy, codes: NDArray[np.integer]) -> pa.Array:
    return text_column([label or None for label in hierarchy.leaves]).take(number_column(codes))
