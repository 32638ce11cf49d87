"""A noisy release: boxes whose sensitive counts are random numbers, and the guarantee that this gives.

No record is assigned to anything here, so nothing that counts records can read such a release by mistake: the only
things it knows are its boxes, which came out of the mechanism, and their counts, which came out of it too.

Noise makes counts negative. One draw can be read in two ways: `unbiased`, as it is, so that sums over many boxes are
right on average; or `cut`, with negative counts made 0, as nobody can draw fewer records than none from a box.

It is written as synthetic records, a table that looks like the original. Every box gives as many records with a
sensitive value as its noisy count of it says, rounded, none where that is negative; a record lies anywhere in its box,
leaves in proportion to their width. Nobody's record is among them but by chance. Drawing looks at nothing but what the
release publishes, so the guarantee is that of the release.

Releases that are written as records of their own: drawn from noisy counts, perturbed, synthetic.

Their rows are not those of the table, so no engine recodes them; they are made as a small table of texts and written in
the order that `write_table` gives them, which tells nothing of how they were made.

Differential privacy as a promise: the budget, its parts, and what two currencies of it are worth.

A budget is epsilon, or epsilon with a delta. With epsilon alone it is kept in epsilon, and the parts add up. With a
delta it is kept in rho of zero-concentrated differential privacy (zCDP, Bun & Steinke 2016), whose parts add up too and
under which Gaussian noise is cheap. What rho is worth (Canonne, Kamath & Steinke 2020, proposition 12 for Renyi
differential privacy, of which zCDP is alpha rho at every order alpha): rho-zCDP is (epsilon, delta)-differentially
private with, for any alpha > 1,

    delta = exp((alpha - 1) (alpha rho - epsilon)) / alpha * (1 - 1 / alpha) ^ (alpha - 1)

Every alpha gives a delta that holds, so a search that stops short of the best one is still right.
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
"""What a budget is kept in: epsilon, or rho of zero-concentrated differential privacy."""

HALVINGS = 200
"""More than enough for a search by halves to end between two neighbouring floating-point numbers."""

ROUNDING = 1e-9
"""By how much a delta is taken to be larger than worked out: far more than rounding can have made of it."""


@dataclass(frozen=True)
class Budget:
    """What a release may cost. With a delta, whatever epsilon bounds may be exceeded with at most that probability."""

    epsilon: float
    delta: float = 0.0
    contribution: int | None = None
    """How many records of one person are counted at most, where persons are protected; None where records are."""

    @property
    def factor(self) -> int:
        """How many times as much a person costs as a record."""
        return (self.contribution or 1) ** (2 if self.delta else 1)

    @property
    def unit(self) -> Unit:
        """What it is kept in."""
        return "rho" if self.delta else "epsilon"

    @property
    def amount(self) -> float:
        """How much of that there is to spend."""
        return rho_of(self.epsilon, self.delta) if self.delta else self.epsilon


@dataclass(frozen=True)
class Spent:
    """A part of the budget: what it paid for, and how much; parts of one level look at disjoint records."""

    what: str
    level: int
    amount: float
    """In what the budget is kept in."""


@dataclass(frozen=True)
class Guarantee:
    """Differential privacy as it was kept: neighbouring tables, the budget in its parts, what is public anyway."""

    budget: Budget
    spent: tuple[Spent, ...]
    neighbours: str
    """What two neighbouring tables are, in words."""

    public: tuple[str, ...]
    """What was taken as known to everybody, in sentences."""

    def __post_init__(self) -> None:
        if sum(Fraction(part.amount) for part in self.spent) > Fraction(self.budget.amount):
            raise AssertionError(t("refusal.parts_budget_sum_up", amount=self.budget.amount))

    @property
    def epsilon(self) -> float:
        """The budget of the whole release, which all parts together do not exceed."""
        return self.budget.epsilon

    @property
    def delta(self) -> float:
        """With which probability epsilon may not hold; 0 where it always does."""
        return self.budget.delta

    @property
    def by_level(self) -> dict[int, float]:
        """What was spent on every level, the root is 0: all parts look at the same records, so they add up."""
        levels = sorted({part.level for part in self.spent})
        return {level: math.fsum(p.amount for p in self.spent if p.level == level) for level in levels}

    @property
    def by_purpose(self) -> dict[str, float]:
        """What was spent on counts, on medians and so on."""
        purposes = dict.fromkeys(part.what for part in self.spent)
        return {what: math.fsum(p.amount for p in self.spent if p.what == what) for what in purposes}


def rounded_down(exact: Fraction) -> float:
    """Return the largest number that is not more than an exact one."""
    number = float(exact)
    return number if number <= exact else math.nextafter(number, 0)


def delta_of(rho: float, epsilon: float) -> float:
    """Return a delta with which rho-zCDP is (epsilon, delta)-differentially private: nearly the least, never less."""
    low, high = 1.0, (epsilon + 1) / (2 * rho) + 2
    for _ in range(HALVINGS):  # the logarithm of delta is convex in alpha: look for where it stops falling
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
    """Return how much rho of zCDP (epsilon, delta) buys: nearly the most, never more."""
    low, high = 0.0, epsilon + 1
    for _ in range(HALVINGS):
        rho = (low + high) / 2
        if not low < rho < high:
            break
        low, high = (rho, high) if delta_of(rho, epsilon) <= delta else (low, rho)
    return low


class WrittenRecords(Published):
    """A release that is published as records of its own."""

    @property
    @abstractmethod
    def rows_written(self) -> int:
        """How many records are written."""

    @abstractmethod
    def record_table(self) -> pa.Table:
        """Return its records as texts, columns in the order of the input; raise where it may not be published."""

    def write_draft(self, draft: Path, format: Format, escape_formulas: bool = False) -> None:
        """Write its records wherever they will be moved to."""
        write_table(self.record_table(), draft, format)
        if escape_formulas:
            escape_file(draft)

    def to_arrow(self) -> pa.Table:
        """Return its records as an Arrow table, in an order that tells nothing."""
        return typed(shuffled_table(self.record_table()), self.table.engine.texts)


MOST_ROWS = 100_000_000
"""More rows are no table any more: then the noise has outgrown the records by far."""

READINGS = ("cut", "unbiased")
"""How negative counts may be read: made 0, or as they are."""


@dataclass(frozen=True, eq=False, repr=False)
class NoisyRelease(WrittenRecords):
    """Boxes with noisy sensitive counts; every box is a group of its own."""

    kind: ClassVar[str] = "noisy"  # type: ignore[misc]

    table: Table
    boxes: Boxes
    drawn: Numbers
    """The noisy counts of every box as they were drawn, negative ones too: boxes x all declared values of the
    sensitive attribute, whether they occur or not."""

    guarantee: Guarantee
    details: Mapping[str, Any] = field(default_factory=dict)
    publishable: bool = True
    """Whether its noise is a secret. Noise from a seed is not: then the release serves tests and maps only."""

    reading: str = "unbiased"
    """How negative counts are read: one of READINGS."""

    def __repr__(self) -> str:
        return f"<NoisyRelease: {self.groups:,} boxes, epsilon {self.guarantee.epsilon:g}>"

    @property
    def groups(self) -> int:
        """The number of boxes."""
        return len(self.boxes.lo)

    @cached_property
    def counts(self) -> Numbers:
        """The noisy counts as they are read; this is what is published, and either reading of it costs nothing."""
        return np.maximum(self.drawn, 0.0) if self.reading == "cut" else self.drawn

    def read(self, reading: str) -> NoisyRelease:
        """Return the same draw with its negative counts read in this way; no noise is drawn again."""
        check_choice("reading", reading, READINGS)
        release = replace(self, reading=reading)
        return replace(release, boxes=replace(self.boxes, mass=release.counts.sum(axis=1)))

    @property
    def content(self) -> Numbers:
        """The noisy counts of the values that occur in the table, for the publisher's measures."""
        return self.counts[:, self.cells.sensitive[0].leaves]

    @property
    def synthetic_counts(self) -> Counts:
        """How many records are drawn of every box and value: the noisy counts, rounded, none below 0."""
        return rounded(self.counts)

    @property
    def rows_written(self) -> int:
        """How many records are drawn."""
        return int(self.synthetic_counts.sum())

    def record_table(self) -> pa.Table:
        """Draw records, if the release may be published.

        They are drawn from what is published anyway, so they cost no budget. Another call draws others.
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
    """Make a noisy release of boxes and their drawn counts of all declared values of the one sensitive attribute."""
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
