"""All measures of a table with items, prepared for one data set: both sides, and both together.

The table's side is measured as every release of a table, by its groups and boxes. The items' side is measured within
groups where it is about what somebody knows (`itemset_risk`, `least_support`, `candidates`), over all records where it
is about what is lost; a record that is not published has lost all its items.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Annotated, Any

import numpy as np

from sfumato.config.options import Option, check_options
from sfumato.config.sections import section_values
from sfumato.data.dataset import MixedTable
from sfumato.measures.all_measures import ESTIMATORS, MEASURES
from sfumato.measures.groups import Measured
from sfumato.measures.items.basket_scales import BasketScales, query_values
from sfumato.measures.items.estimates import LONGEST, MixedReader, Questions
from sfumato.measures.items.linking import Linking, Persons, attacked
from sfumato.measures.items.losses import ItemLosses
from sfumato.measures.items.queries import ItemQueries, JointQueries
from sfumato.measures.queries import Queries
from sfumato.measures.scales import Prepared, Scales
from sfumato.release._itemsets import Rows, Spread, itemset_spread
from sfumato.release.items import BasketRelease, MixedRelease
from sfumato.runtime.arrays import Numbers, Quiet


@dataclass(frozen=True)
class MixedScales:
    """What is measured of a release of a table with items."""

    known: Annotated[
        int, Option("Items of a person that an attacker may know beside the quasi-identifiers.", least=0, most=LONGEST)
    ] = 2
    queries: Annotated[Queries, Option("The random workload of queries on the table.", takes="queries")] = field(
        default_factory=Queries
    )
    item_queries: Annotated[ItemQueries, Option("The random workload of queries on items.", takes="queries")] = field(
        default_factory=ItemQueries
    )
    joint_queries: Annotated[JointQueries, Option("The random workload of queries on both.", takes="queries")] = field(
        default_factory=JointQueries
    )
    linking: Annotated[Linking, Option("Whom the attacker looks for.", takes="linking")] = field(
        default_factory=Linking
    )

    def __post_init__(self) -> None:
        check_options(self)

    def prepare(self, data: MixedTable) -> PreparedMixed:
        """Draw queries and persons once, for all releases."""
        return PreparedMixed(self, data)


@dataclass(frozen=True, repr=False)
class MixedMeasures(Quiet):
    """The measures of one release: all of them, and what only the table's side says."""

    values: Mapping[str, float]
    relational: Measured

    def __getitem__(self, name: str) -> float:
        return self.values[name]


@dataclass(frozen=True, eq=False, repr=False)
class PreparedMixed(Quiet):
    """Scales with everything drawn that all releases share."""

    scales: MixedScales
    data: MixedTable

    @cached_property
    def original(self) -> MixedReader:
        """The original as it is read."""
        return MixedReader.of_data(self.data)

    @cached_property
    def table(self) -> Prepared:
        """The scales of the table's side."""
        return Scales(queries=self.scales.queries).prepare(self.data.table)

    @cached_property
    def item_queries(self) -> tuple[Questions, Numbers]:
        """The queries on items, and their answers."""
        drawn = [query for workload in self.scales.item_queries.draw(self.data.baskets) for query in workload]
        questions = Questions.of_items(self.data, drawn)
        return questions, self.original.fitting(questions).astype(np.float64)

    @cached_property
    def joint_queries(self) -> tuple[Questions, Numbers]:
        """The queries on both, and their answers."""
        questions = self.scales.joint_queries.draw(self.data)
        return questions, self.original.fitting(questions).astype(np.float64)

    @cached_property
    def persons(self) -> Persons:
        """Who is attacked, and what is known of each."""
        return Persons.drawn(self.data, self.scales.linking, self.scales.known)

    def ready(self) -> PreparedMixed:
        """Draw everything now, so that threads find it done."""
        _ = self.item_queries, self.joint_queries, self.persons, self.table.ready()
        return self

    def measure(self, release: MixedRelease) -> MixedMeasures:
        """Measure a release on all scales."""
        relational = self.table.measure(release.relational)
        reader = MixedReader.of(release)
        values = {
            **relational.values,
            **known_within_groups(release, self.scales.known),
            **attacked(release, reader, self.persons, self.scales.linking),
            **self._errors(reader),
            **ItemLosses().measure(release),
        }
        return MixedMeasures({name: values[name] for name in MEASURES if name in values}, relational)

    def _errors(self, reader: MixedReader) -> dict[str, float]:
        """Answer the queries as a reader would: the mean relative errors."""
        asked, (questions, answers) = self.scales.item_queries, self.item_queries
        against = np.maximum(answers, asked.sanity * self.data.records)
        errors = {name: np.abs(reader.estimates(questions, name) - answers) / against for name in ESTIMATORS}
        means = {name: float(each.mean()) for name, each in errors.items()}
        joint = self.scales.joint_queries.errors(reader, *self.joint_queries, self.data.records)
        return {
            **query_values(means, asked.estimator, float(np.median(errors[asked.estimator]))),
            "joint_query_error": float(joint.mean()),
            "joint_query_error_median": float(np.median(joint)),
        }


def known_within_groups(release: MixedRelease, known: int) -> dict[str, float]:
    """Say how few records of a group show the same parts: all sets of up to so many that occur, and groups alone."""
    sizes = np.bincount(release.group, release.count, release.relational.groups)
    spread = group_spread(release, known) if known else Spread.of(np.zeros(0, np.int64))
    values = spread.measures()
    fewest = min(float(sizes[sizes > 0].min(initial=inf)), values["least_support"])
    return {**values, "candidates": fewest}


def group_spread(release: MixedRelease, known: int) -> Spread:
    """Count the records of every set of up to so many parts within its group: a part of another group is another."""
    starts, codes = release.shown
    width = max(len(release.parts.labels), 1)
    tagged = np.repeat(release.group, np.diff(starts)) * width + codes
    used, small = np.unique(tagged, return_inverse=True)
    rows = Rows(starts, small.ravel().astype(np.int32), release.count, len(used))
    return itemset_spread(rows, known)


def measure_items(release: BasketRelease | MixedRelease, scales: Mapping[str, Any]) -> Any:
    """Measure a release with items on scales that are written as in a study."""
    kind: Any = MixedScales if isinstance(release, MixedRelease) else BasketScales
    data = release.data if isinstance(release, MixedRelease) else release.baskets
    return kind(**section_values("[scales]", scales, kind)).prepare(data).measure(release)
