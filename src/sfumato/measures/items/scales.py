"""All measures of items, prepared for one data set: every release is measured on the same scales.

Beside attributes, the table's side is measured as every release of a table, by its groups and boxes. The items' side is
measured within groups where it is about what somebody knows (`itemset_risk`, `least_support`, `candidates`), over all
records where it is about what is lost; a record that is not published has lost all its items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import Annotated, Any

import numpy as np

from sfumato.config.options import Option, check_options
from sfumato.config.sections import section_values
from sfumato.data.dataset import MixedTable
from sfumato.data.items import Baskets
from sfumato.measures.all_measures import ESTIMATORS, MEASURES
from sfumato.measures.groups import Measured
from sfumato.measures.items.estimates import LONGEST, BasketReader, MixedReader, Questions
from sfumato.measures.items.expectation import Expectation
from sfumato.measures.items.linking import Linking, Persons, attacked, matching_distribution, rho, sensitive_codes
from sfumato.measures.items.losses import ItemLosses, ItemStudy, read_studies
from sfumato.measures.items.queries import ItemQueries, JointQueries
from sfumato.measures.queries import Queries
from sfumato.measures.scales import Prepared, Scales
from sfumato.release._itemsets import Rows, Spread, itemset_spread
from sfumato.release.items import BasketRelease, MixedRelease
from sfumato.requirements.items import BasketRequirement, Itemset, PrivacyConstraints
from sfumato.runtime.arrays import Numbers, Quiet

RESAMPLES = 200
"""Bootstrap samples for the interval of a mean error where there is one workload only."""


@dataclass(frozen=True)
class BasketScales:
    """What is measured of a release of baskets."""

    known: Annotated[int, Option("Items of a person that an attacker may know.", least=1, most=LONGEST)] = 2
    constraints: Annotated[
        str | None,
        Option(
            "A file of the sets of items that an attacker may know, one per line, instead of all sets of known items.",
            takes="file",
        ),
    ] = None
    sensitive: Annotated[
        tuple[str, ...], Option("Items nobody should learn about a person: rho is measured where there are some.")
    ] = ()
    studies: Annotated[
        str | None,
        Option(
            "A file of studies, one per line: a name, a colon and the items (or nodes of the tree) that must stay "
            "distinguishable from all others.",
            takes="file",
        ),
    ] = None
    queries: Annotated[ItemQueries, Option("Which queries are asked.", takes="queries")] = field(
        default_factory=ItemQueries
    )
    linking: Annotated[Linking, Option("Whom the attacker looks for.", takes="linking")] = field(
        default_factory=Linking
    )
    losses: Annotated[ItemLosses, Option("How lost detail is weighed.", takes="losses")] = field(
        default_factory=ItemLosses
    )

    def __post_init__(self) -> None:
        check_options(self)

    def prepare(self, baskets: Baskets) -> PreparedBaskets:
        """Draw queries and persons once, for all releases."""
        return PreparedBaskets(self, baskets)


@dataclass(frozen=True, eq=False, repr=False)
class PreparedBaskets(Quiet):
    """Scales with everything drawn that all releases share."""

    scales: BasketScales
    data: Baskets

    @cached_property
    def workloads(self) -> list[tuple[list[Itemset], Numbers]]:
        """The queries of every workload with their true answers."""
        reader = BasketReader.of_baskets(self.data)
        drawn = self.scales.queries.draw(self.data)
        return [(queries, reader.matches(queries).astype(np.float64)) for queries in drawn]

    @cached_property
    def expectation(self) -> Expectation | None:
        """All queries with their weights; None where they are drawn."""
        return self.scales.queries.expectation(self.data)

    @cached_property
    def persons(self) -> list[Itemset]:
        """What is known of the persons who are attacked."""
        return self.scales.linking.draw(self.data, self.scales.known)

    @cached_property
    def constraints(self) -> list[Itemset] | None:
        """The sets of items an attacker may know, where they are listed."""
        file = self.scales.constraints
        return None if file is None else PrivacyConstraints(1, file).itemsets(self.data)

    @cached_property
    def studies(self) -> tuple[ItemStudy, ...]:
        """The studies that a release should support."""
        file = self.scales.studies
        return () if file is None else read_studies(self.data, file)

    @cached_property
    def sensitive(self) -> tuple[int, ...]:
        """The sensitive items."""
        return sensitive_codes(self.data, self.scales.sensitive)

    def ready(self) -> PreparedBaskets:
        """Draw everything now, so that threads find it done."""
        _ = self.expectation or self.workloads, self.persons, self.constraints, self.sensitive, self.studies
        return self

    def measure(self, release: BasketRelease) -> Measured:
        """Measure a release on all scales."""
        reader = BasketReader.of(release)
        errors, intervals = self._errors(reader) if self.expectation is None else (self._expected(release), {})
        spread = self.spread(release, reader)
        values = {
            **spread.measures(),
            **self.scales.linking.measure(reader, self.persons),
            **errors,
            **self.scales.losses.measure(release),
        }
        if self.sensitive:
            values["rho"] = rho(release, self.sensitive, self.scales.known)
        if self.studies:
            values["studies_supported"] = float(sum(study.supported(release) for study in self.studies))
        ordered = {name: values[name] for name in MEASURES if name in values}
        matching = matching_distribution(reader.matches(self.persons)) if self.persons else {}
        return Measured(ordered, {}, intervals={**intervals, **spread.intervals}, matching=matching)

    def spread(self, release: BasketRelease, reader: BasketReader | None = None) -> Spread:
        """Count the records that fit every set of items an attacker may know."""
        if self.constraints is None:
            return itemset_spread(Rows.of_release(release), self.scales.known)
        return listed_spread(reader or BasketReader.of(release), self.constraints)

    def _expected(self, release: BasketRelease) -> dict[str, float]:
        """Work out the errors that queries are expected to have: no draw, no interval."""
        asked = self.scales.queries
        assert self.expectation is not None
        means, median = self.expectation.errors(release, asked.estimator, asked.joint, asked.sanity)
        return query_values(means, asked.estimator, median) | utility_values(means)

    def _errors(self, reader: BasketReader) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
        """Answer the workloads by every estimator: the mean relative errors, and how far workloads differ."""
        asked = self.scales.queries
        errors = {name: list[Numbers]() for name in ESTIMATORS}
        for queries, true in self.workloads:
            estimates = reader.estimates(queries, list(ESTIMATORS), asked.joint)
            against = np.maximum(true, asked.sanity * self.data.size)
            for name, estimate in zip(ESTIMATORS, estimates, strict=True):
                errors[name].append(np.abs(estimate - true) / against)
        means = {name: float(np.concatenate(by_workload).mean()) for name, by_workload in errors.items()}
        ends = {name: interval(by_workload, asked.seed) for name, by_workload in errors.items()}
        median = float(np.median(np.concatenate(errors[asked.estimator])))
        values = query_values(means, asked.estimator, median) | utility_values(means)
        low, high = ends[asked.estimator]
        intervals = {"are": (low, high), "query_utility": (inverse(high), inverse(low))}
        intervals["bounded_utility"] = 1 / (1 + high), 1 / (1 + low)
        intervals |= {f"are_{name}": bounds for name, bounds in ends.items()}
        for name in ("half", "expanded"):
            intervals[f"utility_{name}"] = inverse(ends[name][1]), inverse(ends[name][0])
        return values, {name: bounds for name, bounds in intervals.items() if np.isfinite(bounds).all()}


def listed_spread(reader: BasketReader, itemsets: Sequence[Itemset]) -> Spread:
    """Count the records that fit each of some sets of known items; who knows a suppressed item knows nothing by it."""
    known = [tuple(item for item in itemset if reader.is_shown(item)) for itemset in itemsets]
    return Spread.of(reader.matches([itemset for itemset in known if itemset]))


def protected_risk(release: BasketRelease, requirement: BasketRequirement) -> dict[str, float]:
    """Measure the risk of the promise, over the sets of items that it protects, where these are listed.

    Of k^m-anonymity they are all sets of up to m items, so that `itemset_risk` of m known items says it already.
    """
    if not isinstance(requirement, PrivacyConstraints):
        return {}
    spread = listed_spread(BasketReader.of(release), requirement.itemsets(release.baskets))
    return {"protected_risk": spread.risk()}


def query_values(means: Mapping[str, float], estimator: str, median: float) -> dict[str, float]:
    """Return the measures of mean errors by estimator; one of them is what `are` means."""
    are = means[estimator]
    return {
        "are": are,
        "are_median": median,
        "query_utility": inverse(are),
        "bounded_utility": 1 / (1 + are),
        **{f"are_{name}": value for name, value in means.items()},
    }


def utility_values(means: Mapping[str, float]) -> dict[str, float]:
    """Return the utility by the two estimators of the paper."""
    return {f"utility_{name}": inverse(means[name]) for name in ("half", "expanded")}


def interval(errors: list[Numbers], seed: int) -> tuple[float, float]:
    """Return the smallest and the largest mean of a workload; of a single one a 95 % bootstrap interval."""
    if len(errors) > 1:
        means = [float(workload.mean()) for workload in errors]
        return min(means), max(means)
    workload, random = errors[0], np.random.default_rng(seed)
    means = [float(workload[random.integers(len(workload), size=len(workload))].mean()) for _ in range(RESAMPLES)]
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


def inverse(error: float) -> float:
    """Return 1 / error, infinite where there is none."""
    return 1 / error if error > 0 else inf


def measure_baskets(release: BasketRelease, scales: BasketScales | None = None) -> Measured:
    """Measure one release of baskets, on the usual scales or others."""
    return (scales or BasketScales()).prepare(release.baskets).measure(release)


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


@dataclass(frozen=True, eq=False, repr=False)
class PreparedMixed(Quiet):
    """Scales with everything drawn that all releases share."""

    scales: MixedScales
    data: MixedTable
    studies: tuple[ItemStudy, ...] = ()

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

    def measure(self, release: MixedRelease) -> Measured:
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
        return replace(relational, values={name: values[name] for name in MEASURES if name in values})

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
