"""Aggregate queries: how well COUNT queries are answered from a release (Li & Li 2009, section 5.2).

A query selects values of `dimensions` random quasi-identifiers and of the sensitive attribute. With
`reading="query"` it selects ceil(|A| sel^(1/(qd+1))) of the |A| values of each attribute, so that a query on
independent, uniform attributes selects `selectivity` of the records or a little more (Xiao & Tao 2006, "Anatomy";
public code that quotes the formula rounds up as well, see `papers/li_li_queries`); with
`reading="attribute"` it selects `selectivity` of the values of each (Li & Li's literal text). The selected values are
drawn at random (`select="values"`) or are a range (`"range"`).

With `reading="half-range"` a query selects a range of half of the leaves of every quasi-identifier and of half of the
sensitive values, rounded up, each range equally likely to start anywhere it fits (Cormode et al. 2013). Categories
are taken in the order of their hierarchy's leaves.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import ceil
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.configuration import Configured, check_choice, check_number, check_whole
from sfumato.errors import BadInputError
from sfumato.release.regions import Members, Points, Regions
from sfumato.table import Cells

Numbers = NDArray[np.float64]
MOST_DRAWS = 100
"""How many times as many queries are drawn as are asked for, in search of some with an answer above zero."""


@dataclass(frozen=True)
class Queries(Configured):
    """A random workload of COUNT queries."""

    dimensions: int = 4
    """Quasi-identifiers in a predicate; all of them where there are fewer."""

    selectivity: float = 0.05
    reading: str = "query"
    number: int = 1000
    seed: int = 0
    sanity: float = 0.001
    """Relative errors are taken to at least this share of the records; 0 takes queries with an answer above zero."""

    select: str = "values"
    rounding: str = "up"
    """How the number of selected values becomes a whole number: up, or to the nearest (at least one)."""

    name: ClassVar[str] = "queries"

    @property
    def unread(self) -> tuple[str, ...]:
        """The fields that have no say because the reading decides them."""
        return ("dimensions", "selectivity", "select", "rounding") if self.reading == "half-range" else ()

    def __post_init__(self) -> None:
        check_whole("dimensions", self.dimensions, least=1)
        check_number("selectivity", self.selectivity, least=0, strict=True, most=1)
        check_choice("reading", self.reading, ("query", "attribute", "half-range"))
        check_whole("number", self.number, least=1)
        check_whole("seed", self.seed, least=0)
        check_number("sanity", self.sanity, least=0, most=1)
        check_choice("select", self.select, ("values", "range"))
        check_choice("rounding", self.rounding, ("up", "nearest"))
        for own in fields(self):
            if own.name in self.unread and getattr(self, own.name) != own.default:
                raise BadInputError(
                    f"{own.name} has no say where reading=half-range: it takes a range of half of every domain; "
                    f"leave {own.name} out or take another reading"
                )

    def workload(self, cells: Cells, points: Points, sensitive: int) -> Workload:
        """Draw the queries and answer them on the original table."""
        rng = np.random.default_rng(self.seed)
        truth = points.true_histograms(cells)
        own = slice(int(cells.spans[sensitive]), int(cells.spans[sensitive + 1]))
        found: list[Workload] = []
        lacking = self.number
        for _ in range(MOST_DRAWS):
            drawn = self._draw(cells, points, sensitive, rng)
            answers = (drawn.members.sums(truth[:, own]) * drawn.values).sum(axis=1)
            kept = np.flatnonzero(answers > 0)[:lacking] if self.sanity == 0 else np.arange(self.number)
            found.append(drawn.only(kept, answers))
            lacking -= len(kept)
            if lacking <= 0:
                return joined(points, found)
        raise BadInputError(
            f"{self}: only {self.number - lacking} of {MOST_DRAWS * self.number} queries have an answer above zero; "
            f"use {'' if self.unread else 'a larger selectivity, fewer dimensions, or '}a sanity bound above 0"
        )

    def _draw(self, cells: Cells, points: Points, sensitive: int, rng: np.random.Generator) -> Workload:
        d = len(cells.quasi)
        dimensions = d if self.reading == "half-range" else min(self.dimensions, d)
        chosen = np.argsort(rng.random((self.number, d)), axis=1)[:, :dimensions]
        used = np.full((self.number, d), -1, np.int32)
        np.put_along_axis(used, chosen, 0, axis=1)
        banks = []
        for a, quasi in enumerate(cells.quasi):
            asking = np.flatnonzero(used[:, a] >= 0)
            used[asking, a] = np.arange(len(asking))
            banks.append(self._selections(quasi.hierarchy.size, dimensions, max(len(asking), 1), rng))
        values = self._selections(cells.sensitive[sensitive].size, dimensions, self.number, rng)
        regions = Regions(tuple(banks), used)
        return Workload(regions, Members.of(points, regions), values, np.zeros(self.number))

    def _share(self, dimensions: int) -> float:
        """The share of the values of each attribute that a query on so many quasi-identifiers selects."""
        if self.reading == "half-range":
            return 0.5
        return self.selectivity ** (1 / (dimensions + 1)) if self.reading == "query" else self.selectivity

    def _selections(self, size: int, dimensions: int, number: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        share = self._share(dimensions)
        whole = ceil(size * share - 1e-9) if self.rounding == "up" else round(size * share)
        selected = min(max(whole, 1), size)
        if self.select == "range" or self.reading == "half-range":
            first = rng.integers(0, size - selected + 1, number)[:, None]
            leaf = np.arange(size)
            return (leaf >= first) & (leaf < first + selected)
        rank = np.argsort(np.argsort(rng.random((number, size)), axis=1), axis=1)
        return rank < selected


HALF_RANGES = Queries(reading="half-range", number=2000, sanity=0)
"""The queries of Cormode et al. 2013: ranges of half of every domain, 2000 of them with an answer above zero."""


@dataclass(frozen=True, eq=False)
class Workload:
    """Queries with their true answers."""

    regions: Regions
    members: Members
    values: NDArray[np.bool_]
    """The sensitive values that each query selects."""

    answers: Numbers

    def only(self, kept: NDArray[np.int64], answers: Numbers) -> Workload:
        """Keep some of the queries."""
        regions = Regions(self.regions.selections, self.regions.used[kept])
        return Workload(regions, self.members, self.values[kept], answers[kept])

    def errors(self, histograms: Numbers, least: float) -> Numbers:
        """Return the relative errors of estimated histograms (queries x values), relative to at least `least`."""
        estimates = (histograms * self.values).sum(axis=1)
        errors: Numbers = np.abs(estimates - self.answers) / np.maximum(self.answers, max(least, 1e-300))
        return errors


def joined(points: Points, parts: list[Workload]) -> Workload:
    """Join draws to one workload, each bank behind the other."""
    attributes = range(len(parts[0].regions.selections))
    banks = tuple(np.concatenate([part.regions.selections[a] for part in parts]) for a in attributes)
    used = []
    before = np.zeros(len(banks), np.int32)
    for part in parts:
        used.append(np.where(part.regions.used >= 0, part.regions.used + before, -1).astype(np.int32))
        before = before + np.array([len(bank) for bank in part.regions.selections], np.int32)
    regions = Regions(banks, np.concatenate(used))
    values = np.concatenate([part.values for part in parts])
    answers = np.concatenate([part.answers for part in parts])
    return Workload(regions, Members.of(points, regions), values, answers)
