"""Aggregate queries: how well COUNT queries are answered from a release (Li & Li 2009, section 5.2).

A query selects values of `dimensions` random quasi-identifiers and of the sensitive attribute. With
`reading="query"` it selects ceil(|A| sel^(1/(qd+1))) of the |A| values of each attribute, so that a query on
independent, uniform attributes selects `selectivity` of the records or a little more (Xiao & Tao 2006, "Anatomy";
public code that quotes the formula rounds up as well, see `papers/li_li_2009`); with
`reading="attribute"` it selects `selectivity` of the values of each (Li & Li's literal text). The selected values are
drawn at random (`select="values"`) or are a range (`"range"`).

With `reading="half-range"` a query selects a range of half of the leaves of every quasi-identifier and of half of the
sensitive values, rounded up. Each range is equally likely to start anywhere it fits (Cormode et al. 2013). Categories
are taken in the order of their hierarchy's leaves. `reading="closed-half-range"` takes both ends of [i, i + n/2] of n
leaves: n/2 + 1 of them, rounded down, and both values of an attribute that has two.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import ceil
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.config.options import Configured, Option
from sfumato.data.cells import Cells, Points
from sfumato.release._selections import Selections, choose_smallest, one_after_another, unpacked, words_for
from sfumato.release.regions import Members, Regions
from sfumato.runtime.arrays import Counts, Numbers
from sfumato.texts.catalogue import refusal, t

Words = NDArray[np.uint64]
HALVES = ("half-range", "closed-half-range")
"""The readings in which a query takes a range of half of every domain."""

MOST_DRAWS = 100
"""How many times as many queries are drawn as are asked for, in search of some with an answer above zero."""

AT_ONCE = 4_000_000
"""So many random numbers are drawn at a time."""


@dataclass(frozen=True)
class Queries(Configured):
    """A random workload of COUNT queries."""

    dimensions: Annotated[int, Option(least=1)] = 4
    """Quasi-identifiers in a predicate; all of them where there are fewer."""

    selectivity: Annotated[float, Option(more_than=0, most=1)] = 0.05
    """The share of the domain that is selected."""

    reading: Annotated[Literal["query", "attribute", "half-range", "closed-half-range"], Option()] = "query"
    """Whether the selectivity is that of the whole query, or of every attribute; or a range of half of every domain,
    with one end or both."""

    number: Annotated[int, Option(least=1)] = 1000
    """How many queries."""

    seed: Annotated[int, Option(least=0)] = 0
    """What decides the queries."""

    sanity: Annotated[float, Option(least=0, most=1)] = 0.001
    """Relative errors are taken to at least this share of the records; 0 takes queries with an answer above zero."""

    select: Annotated[Literal["values", "range"], Option()] = "values"
    """Whether single values are selected, or a range of them."""

    rounding: Annotated[Literal["up", "nearest"], Option()] = "up"
    """How the number of selected values becomes a whole number: up, or to the nearest (at least one)."""

    name: ClassVar[str] = "queries"

    @property
    def halves(self) -> bool:
        """Whether a query takes a range of half of every domain."""
        return self.reading in HALVES

    @property
    def unread(self) -> tuple[str, ...]:
        """The fields that have no say because the reading decides them."""
        return ("dimensions", "selectivity", "select", "rounding") if self.halves else ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in fields(self):
            if field.name in self.unread and getattr(self, field.name) != field.default:
                raise refusal("option_without_a_say", field=field, queries=self)

    def workload(self, cells: Cells, points: Points, sensitive: int) -> Workload:
        """Draw the queries and answer them on the original table."""
        rng = np.random.default_rng(self.seed)
        truth = cells.truth
        span = cells.span(sensitive)
        parts: list[Workload] = []
        lacking = self.number
        for _ in range(MOST_DRAWS):
            drawn = self._draw(cells, points, sensitive, rng)
            answers = (drawn.members.sums(truth[:, span]) * drawn.values).sum(axis=1)
            kept = np.flatnonzero(answers > 0)[:lacking] if self.sanity == 0 else np.arange(self.number)
            parts.append(drawn.only(kept, answers))
            lacking -= len(kept)
            if lacking <= 0:
                return joined(points, parts)
        raise refusal(
            "only_queries_answer_above",
            self=self,
            number=self.number - lacking,
            MOST_DRAWS=MOST_DRAWS * self.number,
            unread="" if self.unread else t("refusal.larger_selectivity"),
        )

    def _draw(self, cells: Cells, points: Points, sensitive: int, rng: np.random.Generator) -> Workload:
        d = len(cells.quasi)
        dimensions = d if self.halves else min(self.dimensions, d)
        chosen = np.argsort(rng.random((self.number, d)), axis=1)[:, :dimensions]
        used = np.full((self.number, d), -1, np.int32)
        np.put_along_axis(used, chosen, 0, axis=1)
        banks = []
        for a, quasi in enumerate(cells.quasi):
            asking = np.flatnonzero(used[:, a] >= 0)
            used[asking, a] = np.arange(len(asking))
            drawn = self._selected(quasi.hierarchy.size, dimensions, max(len(asking), 1), rng)
            if isinstance(drawn, Stretch):
                banks.append(Selections.stretches(quasi.hierarchy, drawn.first, drawn.end))
            else:
                banks.append(Selections.scattered(quasi.hierarchy, drawn))
        size = cells.sensitive[sensitive].size
        drawn = self._selected(size, dimensions, self.number, rng)
        values = drawn.masks(size) if isinstance(drawn, Stretch) else unpacked(drawn, size)
        regions = Regions(tuple(banks), used)
        return Workload(regions, Members.of(points, regions), values, np.zeros(self.number))

    def _share(self, dimensions: int) -> float:
        """The share of the values of each attribute that a query on so many quasi-identifiers selects."""
        if self.halves:
            return 0.5
        return self.selectivity ** (1 / (dimensions + 1)) if self.reading == "query" else self.selectivity

    def _selected(self, size: int, dimensions: int, number: int, rng: np.random.Generator) -> Stretch | Words:
        """Draw the values that each of so many queries selects from `size`: a stretch of them, or bits."""
        share = self._share(dimensions)
        whole = ceil(size * share - 1e-9) if self.rounding == "up" else round(size * share)
        if self.reading == "closed-half-range":
            whole = size // 2 + 1
        selected = min(max(whole, 1), size)
        if self.select == "range" or self.halves:
            first = rng.integers(0, size - selected + 1, number)
            return Stretch(first, first + selected)
        bits = np.zeros((number, words_for(size)), np.uint64)
        rows = max(AT_ONCE // size, 1)
        for start in range(0, number, rows):
            part = bits[start : start + rows]
            choose_smallest(rng.random((len(part), size)), selected, part)
        return bits


class Stretch(NamedTuple):
    """Values from `first` to before `end`, one stretch for every query."""

    first: Counts
    end: Counts

    def masks(self, size: int) -> NDArray[np.bool_]:
        """Return, for every value, whether it is selected."""
        value = np.arange(size)
        return (value >= self.first[:, None]) & (value < self.end[:, None])


HALF_RANGES = Queries(reading="half-range", number=2000, sanity=0)
"""The queries of Cormode et al. 2013: ranges of half of every domain, 2000 of them with an answer above zero."""

CLOSED_HALF_RANGES = Queries(reading="closed-half-range", number=2000, sanity=0)
"""The same with both ends of every range taken in, which selects about as much as the paper says its queries do."""


@dataclass(frozen=True, eq=False)
class Workload:
    """Queries with their true answers."""

    regions: Regions
    members: Members
    values: NDArray[np.bool_]
    """The sensitive values that each query selects."""

    answers: Numbers

    def only(self, kept: NDArray[np.int64], answers: Numbers) -> Workload:
        """Keep some of the queries, with these answers."""
        if len(kept) == len(self.answers):
            return replace(self, answers=answers)
        return Workload(self.regions.only(kept), self.members, self.values[kept], answers[kept])

    def errors(self, histograms: Numbers, least: float) -> Numbers:
        """Return the relative errors of estimated histograms (queries x values), relative to at least `least`."""
        estimates = (histograms * self.values).sum(axis=1)
        errors: Numbers = np.abs(estimates - self.answers) / np.maximum(self.answers, max(least, 1e-300))
        return errors


def joined(points: Points, parts: list[Workload]) -> Workload:
    """Join draws to one workload, each bank behind the other; a single draw has all the queries there are."""
    if len(parts) == 1:
        return parts[0]
    attributes = range(len(parts[0].regions.selections))
    banks = tuple(one_after_another([part.regions.selections[a] for part in parts]) for a in attributes)
    used = []
    before = np.zeros(len(banks), np.int32)
    for part in parts:
        used.append(np.where(part.regions.used >= 0, part.regions.used + before, -1).astype(np.int32))
        before = before + np.array([len(bank) for bank in part.regions.selections], np.int32)
    regions = Regions(banks, np.concatenate(used))
    values = np.concatenate([part.values for part in parts])
    answers = np.concatenate([part.answers for part in parts])
    return Workload(regions, Members.of(points, regions), values, answers)
