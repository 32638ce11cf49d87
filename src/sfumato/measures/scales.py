"""The scales on which many releases of one data set are measured together.

Everything that does not depend on a release (large populations, their true histograms, the queries and their answers,
the attacked persons) is prepared once; a release then costs milliseconds. A table, baskets and a table with items have
a class of scales each, with a prepared form.

Beside attributes, the table's side is measured as every release of a table, by its groups and boxes. The items' side
is measured within groups for an attacker's knowledge (`itemset_risk`, `least_support`, `candidates`), and over all
records for losses. A suppressed record has lost all its items.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, nan
from typing import Annotated, Any

import numpy as np

from sfumato.config.options import Option, check_options
from sfumato.config.sections import section_values
from sfumato.data.cells import Points
from sfumato.data.dataset import MixedTable
from sfumato.data.items import Baskets
from sfumato.data.reading import Table
from sfumato.measures.all_measures import (
    ANALYSIS,
    ATTACK_MEASURES,
    ESTIMATORS,
    FIDELITY,
    MEASURES,
    READ_NOISY,
    RECONSTRUCTED,
)
from sfumato.measures.analysis.analysis import Analysis, JudgedTable
from sfumato.measures.attacks.attacks import AttackedTable, Attacks
from sfumato.measures.attribute_attack import Attack
from sfumato.measures.classification.classification import Classification, ClassificationTask, worth
from sfumato.measures.divergence import js_of_rows, kl
from sfumato.measures.fidelity.fidelity import Fidelity, Portrait
from sfumato.measures.groups import Measured, defined, measure, of_functions
from sfumato.measures.items.estimates import LONGEST, BasketReader, MixedReader, Questions
from sfumato.measures.items.expectation import Expectation
from sfumato.measures.items.linking import Linking, Persons, attacked, matching_distribution, rho, sensitive_codes
from sfumato.measures.items.losses import ItemLosses, ItemStudy, read_studies
from sfumato.measures.items.queries import ItemQueries, JointQueries
from sfumato.measures.queries import Queries, Workload
from sfumato.measures.reconstruction import EmReader, Entries, Reader, guessed, weighted_estimates
from sfumato.release._itemsets import Rows, Spread, itemset_spread
from sfumato.release.items import BasketRelease, MixedRelease
from sfumato.release.populations import MOST_MEMBERS, Populations, large_populations
from sfumato.release.regions import Members, are_points, estimated_histograms, overlap_estimates
from sfumato.release.release import Published, Release, counts_people
from sfumato.requirements.items import BasketRequirement, Itemset, PrivacyConstraints
from sfumato.runtime.arrays import Numbers, RedactedRepr
from sfumato.runtime.cancellation import check_cancelled
from sfumato.runtime.threads import SingleFlight
from sfumato.texts.catalogue import refusal


@dataclass(frozen=True)
class Scales:
    """How releases are measured: the least support of a large population, queries, a column to learn, the attack."""

    min_support: Annotated[float, Option(more_than=0, most=1)] = 0.05
    """The least share of records that makes a population large."""

    queries: Annotated[Queries, Option(takes="queries")] = field(default_factory=Queries)
    """The random workload of COUNT queries."""

    classification: Annotated[Classification | None, Option(takes="classification")] = None
    """A column that classifiers learn from every release."""

    attack: Annotated[Attack, Option(takes="attack")] = field(default_factory=Attack)
    """How the attacker learns, and whom he guesses."""

    draws: Annotated[int, Option(least=1)] = 8
    """How often a noisy release is drawn and measured: its point on a map is the median."""

    reader: Annotated[Reader, Option(takes="reader")] = field(default_factory=EmReader)
    """Analysts of releases besides the uniform one of u_loss and query_error: none, where it is uniform."""

    attacks: Annotated[Attacks | None, Option(takes="attacks")] = None
    """Attacks that compare with records which the makers never saw; they are on where an axis is one of them."""

    fidelity: Annotated[Fidelity | None, Option(takes="fidelity")] = None
    """The comparison of every release with the original: counts of columns, associations, models."""

    analysis: Analysis | None = None
    """The user's own analysis, which runs on every release: the section `[analysis]` of a study."""

    def __post_init__(self) -> None:
        check_options(self)

    def prepare(self, table: Table) -> Prepared:
        """Work out everything that does not depend on a release."""
        return Prepared(table, self)

    def having(self, measures: Iterable[str]) -> Scales:
        """Return the same with what these measures need and is not measured without being asked for."""
        wanted = tuple(measures)
        if self.analysis is None and any(name in ANALYSIS for name in wanted):
            raise refusal("analysis.not_run")
        named = tuple(name for name in wanted if name in FIDELITY)
        scales = replace(self, fidelity=(self.fidelity or Fidelity()).having(named)) if named else self
        attacked = self.attacks is None and any(name in ATTACK_MEASURES for name in wanted)
        return replace(scales, attacks=Attacks()) if attacked else scales


@dataclass(frozen=True, eq=False)
class Prepared:
    """Scales made ready for one table."""

    table: Table
    scales: Scales

    @cached_property
    def points(self) -> Points:
        """The distinct combinations of quasi-identifiers."""
        return self.table.cells.points

    @cached_property
    def truth(self) -> Numbers:
        """The true sensitive counts of every point."""
        return self.table.cells.truth

    @cached_property
    def populations(self) -> Populations:
        """The large populations."""
        return large_populations(self.table.cells, self.scales.min_support)

    @cached_property
    def population_members(self) -> Members | None:
        """The points of every population, needed only where the search was too large to keep its plan."""
        populations = self.populations
        if populations.plan is None and int(populations.supports.sum()) > MOST_MEMBERS:
            raise refusal("too_many_populations", populations=populations, prepared=self)
        return None if populations.plan is not None else Members.of(self.points, populations.regions)

    @cached_property
    def population_truth(self) -> Numbers:
        """The true sensitive counts of every large population."""
        return self._population_sums(self.truth)

    @cached_property
    def workloads(self) -> tuple[Workload, ...]:
        """The queries, one workload for every sensitive attribute."""
        cells = self.table.cells
        return tuple(self.scales.queries.workload(cells, self.points, i) for i in range(len(cells.sensitive)))

    @cached_property
    def once(self) -> SingleFlight:
        """The results for one release that apply to another one of the same groups."""
        return SingleFlight()

    @cached_property
    def task(self) -> ClassificationTask | None:
        """The column that shall be learned, with the records that teach it."""
        return self.scales.classification.prepare(self.table) if self.scales.classification else None

    @cached_property
    def attacks(self) -> AttackedTable | None:
        """The table as attackers see it, where its releases are attacked."""
        return self.scales.attacks.prepare(self.table) if self.scales.attacks else None

    @cached_property
    def portrait(self) -> Portrait | None:
        """The original as releases are held against it, where that is asked for."""
        return self.scales.fidelity.prepare(self.table) if self.scales.fidelity else None

    @cached_property
    def judged(self) -> JudgedTable | None:
        """The findings of the user's analysis on the original."""
        return self.scales.analysis.prepare(self.table) if self.scales.analysis else None

    def ready(self) -> Prepared:
        """Work everything out now, so that threads only read."""
        assert self.judged is not None or self.scales.analysis is None
        if self.attacks is not None:
            self.attacks.ready()
        if self.portrait is not None:
            self.portrait.ready()
        if self.task is not None:
            self.task.ready()
        if self.table.cells.sensitive:
            assert self.population_truth is not None and self.workloads is not None
            assert self.populations.regions.bank is not None
        return self

    def measure(self, release: Published) -> Measured:
        """Measure one release on all scales; of a noisy or synthetic one, by the measures that say `reads_noisy`."""
        measured = self._compared(release, self._estimated(release))
        learned = None if self.task is None else self.task.learn(release)
        if self.task is None or learned is None:
            return measured
        adversary = measured.values.get("a_acc", 0.0)  # of a release without sensitive values he learns nothing
        compared = (
            worth(self.task, learned, adversary) if isinstance(release, Release) or "a_acc" in measured.values else None
        )
        values = {
            **measured.values,
            "workload_accuracy": learned.accuracy,
            "utility_gain": learned.accuracy - self.task.baselines[self.task.base].accuracy,
            **{f"workload_{name}": learned.mean(learned.best, name) for name in ("balanced", "auc", "brier")},
        }
        return replace(measured, values={name: values[name] for name in MEASURES if name in values}, worth=compared)

    def _compared(self, release: Published, measured: Measured) -> Measured:
        """Add what a comparison with the original gives."""
        values, pictures = dict(measured.values), dict[str, Any]()
        if self.portrait is not None:
            compared = self.portrait.compared(release)
            values, pictures = {**values, **compared.values}, {"fidelity": compared.picture}
        if self.judged is not None:
            kept, pictures["analysis"] = self.judged.compared(release)
            values |= kept
        ordered = {name: values[name] for name in MEASURES if name in values}
        return replace(measured, values=ordered, pictures=pictures)

    def _estimated(self, release: Published) -> Measured:
        """Measure what follows from groups, boxes and the estimates that they allow."""
        counted = counts_people(release)
        measured = measure(release) if counted else Measured(promised(release) | of_functions(release), {})
        if not release.shows_sensitive:
            return measured
        check_cancelled()
        points = self.point_estimates(release)
        by_sensitive = {
            attribute.name: dict(measured.by_sensitive.get(attribute.name, {}))
            for attribute in self.table.cells.sensitive
        }
        losses = self.utility_losses(release, points)
        for i, attribute in enumerate(self.table.cells.sensitive):
            numbers = by_sensitive[attribute.name]
            if losses:
                numbers["u_loss"] = losses[i]
            errors = self.query_errors(release, self.scales.queries, self.workloads[i], points, i)
            numbers["query_error"], numbers["query_error_median"] = float(errors.mean()), float(np.median(errors))
            numbers["kl"] = kl(release, self.points, self.truth, points, i)
            check_cancelled()
            attacked = self.scales.attack.against(release, i)
            numbers["attack_accuracy"], numbers["empirical_breach"] = attacked.accuracy, attacked.breach
        if isinstance(release, Release) and isinstance(self.scales.reader, EmReader):
            entries = Entries.of(release, self.points)
            for i, numbers in enumerate(by_sensitive.values()):
                check_cancelled()
                numbers |= self._reconstructed(release, self.scales.reader, entries, i)
        values = dict(measured.values)
        for name in (*READ_NOISY, *RECONSTRUCTED):
            worst = [measures[name] for measures in by_sensitive.values() if name in measures]
            if worst:
                values[name] = max(worst)
        ordered = {name: values[name] for name in MEASURES if name in values}
        return defined(release, replace(measured, values=ordered, by_sensitive=by_sensitive))

    def utility_losses(self, release: Published, points: Numbers | None) -> list[float]:
        """Measure `u_loss` for every sensitive attribute; none where there is no large population.

        A population of nobody does not count; NaN where all are such.
        """
        if not self.populations.size:
            return []
        cells, losses = self.table.cells, []
        estimates = self._population_estimates(release, points)
        for i, attribute in enumerate(cells.sensitive):
            span = cells.span(i)
            truth, estimate = (np.ascontiguousarray(sums[:, span]) for sums in (self.population_truth, estimates))
            there = truth.sum(axis=1) > 0
            apart = js_of_rows(truth[there], estimate[there], attribute.shares)
            losses.append(float(apart.mean()) if there.any() else nan)
        return losses

    def _reconstructed(self, release: Release, reader: EmReader, entries: Entries, sensitive: int) -> dict[str, float]:
        """Measure what a better reader makes of a release: a researcher, and an adversary by the same inference."""
        cells, workload = self.table.cells, self.workloads[sensitive]
        span = cells.span(sensitive)
        assert release.histograms is not None
        histograms = release.histograms.of(sensitive).astype(np.float64)
        key = (reader, sensitive, release.assignment.digest)
        dealt = self.once.result(key, lambda: reader.dealt(entries, histograms))
        if are_points(release):
            points = entries.by_point(dealt, self.points)
            answers = workload.members.sums(points)
            populations = self._population_sums(points) if self.populations.size else None
        else:  # of boxes the researcher knows less than an adversary who knows who is in them
            content = np.ascontiguousarray(release.content[:, span])
            weights = reader.leaf_weights(release, content)
            answers = weighted_estimates(release, workload.regions, weights, content)
            regions = self.populations.regions
            populations = weighted_estimates(release, regions, weights, content) if self.populations.size else None
        attacked = guessed(release, entries, dealt, sensitive)
        errors = workload.errors(answers, self.scales.queries.sanity * cells.records)
        numbers = {
            "query_error_em": float(errors.mean()),
            "definetti_accuracy": attacked.accuracy,
            "definetti_gain": attacked.gain,
        }
        if populations is not None:
            truth = np.ascontiguousarray(self.population_truth[:, span])
            numbers["u_loss_em"] = float(js_of_rows(truth, populations, cells.sensitive[sensitive].shares).mean())
        return numbers

    def point_estimates(self, release: Published) -> Numbers | None:
        """Return the estimated sensitive counts of every point, where records are published as points."""
        if not isinstance(release, Release) or not are_points(release):
            return None
        return estimated_histograms(release)

    def _population_sums(self, values: Numbers) -> Numbers:
        sums = self.populations.sums(values)
        if sums is None:
            assert self.population_members is not None
            sums = self.population_members.sums(values)
        return sums

    def _population_estimates(self, release: Published, points: Numbers | None) -> Numbers:
        """Estimate the sensitive counts of every large population; noise that makes one negative is cut at 0."""
        if points is not None:
            return self._population_sums(points)
        return np.maximum(overlap_estimates(release, self.populations.regions), 0.0)

    def query_errors(
        self, release: Published, queries: Queries, workload: Workload, points: Numbers | None, sensitive: int = 0
    ) -> Numbers:
        """Return the relative error of every query of a workload on one sensitive attribute.

        `points` are the estimated counts of every point where the release has point boxes, None where not.
        """
        cells = self.table.cells
        span = cells.span(sensitive)
        if points is None:
            histograms = overlap_estimates(release, workload.regions)[:, span]
        else:
            histograms = workload.members.sums(points[:, span])
        return workload.errors(histograms, queries.sanity * cells.records)


def promised(release: Published) -> dict[str, float]:
    """Return the budget of a release that is differentially private."""
    return {} if release.guarantee is None else {"epsilon": release.guarantee.epsilon}


RESAMPLES = 200
"""Bootstrap samples for the interval of a mean error where there is one workload only."""


@dataclass(frozen=True)
class BasketScales:
    """The measures of a release of transactions."""

    known: Annotated[int, Option(least=1, most=LONGEST)] = 2
    """Items of a person that an attacker may know."""

    constraints: Annotated[str | None, Option(takes="file")] = None
    """A file of the sets of items that an attacker may know, one per line, instead of all sets of known items."""

    sensitive: Annotated[tuple[str, ...], Option()] = ()
    """Items nobody should learn about a person: rho is measured where there are some."""

    studies: Annotated[str | None, Option(takes="file")] = None
    """A file of studies, one per line: a name, a colon and the items (or nodes of the tree) that must stay
    distinguishable from all others."""

    queries: Annotated[ItemQueries, Option(takes="queries")] = field(default_factory=ItemQueries)
    """Which queries are asked."""

    linking: Annotated[Linking, Option(takes="linking")] = field(default_factory=Linking)
    """Whom the attacker looks for."""

    losses: Annotated[ItemLosses, Option(takes="losses")] = field(default_factory=ItemLosses)
    """How lost detail is weighed."""

    def __post_init__(self) -> None:
        check_options(self)

    def prepare(self, baskets: Baskets) -> PreparedBaskets:
        """Draw queries and persons once, for all releases."""
        return PreparedBaskets(self, baskets)


@dataclass(frozen=True, eq=False, repr=False)
class PreparedBaskets(RedactedRepr):
    """Scales with everything drawn that all releases share."""

    scales: BasketScales
    data: Baskets

    @cached_property
    def workloads(self) -> list[tuple[list[Itemset], Numbers]]:
        """The queries of every workload with their true answers."""
        reader = BasketReader.of_baskets(self.data)
        drawn = self.scales.queries.draw(self.data)
        return [(queries, reader.answers(queries).astype(np.float64)) for queries in drawn]

    @cached_property
    def expectation(self) -> Expectation | None:
        """All queries with their weights; None where they are drawn."""
        return self.scales.queries.expectation(self.data)

    @cached_property
    def persons(self) -> list[Itemset]:
        """The attacker's knowledge about the attacked persons."""
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
        """Count the persons who fit every set of items an attacker may know."""
        if self.constraints is None:
            return itemset_spread(Rows.of_persons(release), self.scales.known)
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
    """Count the persons who fit each of some sets of known items; who knows a suppressed item knows nothing by it."""
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
    """The measures of a release of a table with items."""

    known: Annotated[int, Option(least=0, most=LONGEST)] = 2
    """Items of a person that an attacker may know beside the quasi-identifiers."""

    queries: Annotated[Queries, Option(takes="queries")] = field(default_factory=Queries)
    """The random workload of queries on the table."""

    item_queries: Annotated[ItemQueries, Option(takes="queries")] = field(default_factory=ItemQueries)
    """The random workload of queries on items."""

    joint_queries: Annotated[JointQueries, Option(takes="queries")] = field(default_factory=JointQueries)
    """The random workload of queries on both."""

    linking: Annotated[Linking, Option(takes="linking")] = field(default_factory=Linking)
    """Whom the attacker looks for."""

    def __post_init__(self) -> None:
        check_options(self)

    def prepare(self, data: MixedTable) -> PreparedMixed:
        """Draw queries and persons once, for all releases."""
        return PreparedMixed(self, data)


@dataclass(frozen=True, eq=False, repr=False)
class PreparedMixed(RedactedRepr):
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
        """The attacked persons, and the knowledge about each."""
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
    """Return the fewest records of a group that show the same parts: for all sets of up to so many that occur, and for
    groups alone."""
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
    kind: Any = MixedScales if release.kind == "items" else BasketScales
    return kind(**section_values("[scales]", scales, kind)).prepare(release.data).measure(release)
