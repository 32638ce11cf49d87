"""The scales on which many releases of one table are measured together.

What does not depend on a release (large populations, their true histograms, the queries and their answers) is
prepared once per table; a release then costs milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import nan
from typing import Annotated

import numpy as np

from sfumato.config.options import Option, check_options
from sfumato.data.assignment import Points
from sfumato.data.reading import Table
from sfumato.errors import BadInputError
from sfumato.measures.all_measures import ATTACK_MEASURES, FIDELITY, MEASURES, READ_NOISY, RECONSTRUCTED
from sfumato.measures.attacks.attacks import AttackedTable, Attacks
from sfumato.measures.attribute_attack import Attack
from sfumato.measures.classification.classification import Classification, ClassificationTask, worth
from sfumato.measures.divergence import js_of_rows, kl
from sfumato.measures.fidelity.fidelity import Fidelity, Portrait
from sfumato.measures.groups import Measured, defined, measure
from sfumato.measures.queries import Queries, Workload
from sfumato.measures.reconstruction import EmReader, Entries, Reader, guessed, weighted_estimates
from sfumato.release.content import Guarantee
from sfumato.release.populations import MOST_MEMBERS, Populations, large_populations
from sfumato.release.regions import Members, are_points, estimated_histograms, overlap_estimates
from sfumato.release.release import Grouped, Published, Release, counts_people
from sfumato.runtime.arrays import Numbers
from sfumato.runtime.cancellation import look
from sfumato.runtime.threads import Once


@dataclass(frozen=True)
class Scales:
    """How releases are measured: the least support of a large population, queries, a column to learn, the attack."""

    min_support: Annotated[
        float, Option("The least share of records that makes a population large.", more_than=0, most=1)
    ] = 0.05
    queries: Annotated[Queries, Option("The random workload of COUNT queries.", takes="queries")] = field(
        default_factory=Queries
    )
    classification: Annotated[
        Classification | None, Option("A column that classifiers learn from every release.", takes="classification")
    ] = None
    attack: Annotated[Attack, Option("How the attacker learns, and whom he guesses.", takes="attack")] = field(
        default_factory=Attack
    )
    draws: Annotated[
        int, Option("How often a noisy release is drawn and measured: its point on a map is the median.", least=1)
    ] = 8
    reader: Annotated[
        Reader,
        Option(
            "Who reads releases besides the uniform reader of u_loss and query_error: nobody, where it is uniform.",
            takes="reader",
        ),
    ] = field(default_factory=EmReader)
    attacks: Annotated[
        Attacks | None,
        Option(
            "Attacks that compare with records which the makers never saw; they are on where an axis is one of them.",
            takes="attacks",
        ),
    ] = None
    fidelity: Annotated[
        Fidelity | None,
        Option(
            "What of every release is compared with the original: counts of columns, associations, models.",
            takes="fidelity",
        ),
    ] = None

    def __post_init__(self) -> None:
        check_options(self)

    def prepare(self, table: Table) -> Prepared:
        """Work out everything that does not depend on a release."""
        return Prepared(table, self)

    def having(self, measures: Iterable[str]) -> Scales:
        """Return the same with what these measures need and is not measured without being asked for."""
        wanted = tuple(measures)
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
            raise BadInputError(
                f"{populations.size:,} large populations are too many to measure u_loss; raise min_support above "
                f"{self.scales.min_support:g} or take fewer quasi-identifiers"
            )
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
    def once(self) -> Once:
        """What was worked out for one release, and serves another one of the same groups."""
        return Once()

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

    def ready(self) -> Prepared:
        """Work everything out now, so that threads only read."""
        if self.table.roles.person is not None and (self.scales.attacks or self.scales.classification):
            what = "attacks hold" if self.scales.attacks else "classifiers hold"
            raise BadInputError(
                f"{what} single records out, and a person ({self.table.roles.person}) has several, so a held-out "
                "record is no control; leave [scales] attacks and classification out where persons are counted"
            )
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
        if self.portrait is None:
            return measured
        compared = self.portrait.compared(release)
        values = {**measured.values, **compared.values}
        ordered = {name: values[name] for name in MEASURES if name in values}
        return replace(measured, values=ordered, fidelity=compared.picture)

    def _estimated(self, release: Published) -> Measured:
        """Measure what follows from groups, boxes and the estimates that they allow."""
        measured = measure(release) if counts_people(release) else Measured(promised(release), {})
        if isinstance(release, Grouped) and release.histograms is None:
            return measured
        look()
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
            look()
            attacked = self.scales.attack.against(release, self.points, self.truth, i)
            numbers["attack_accuracy"], numbers["empirical_breach"] = attacked.accuracy, attacked.breach
        if isinstance(release, Release) and isinstance(self.scales.reader, EmReader):
            entries = Entries.of(release, self.points)
            for i, numbers in enumerate(by_sensitive.values()):
                look()
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
    guarantee: Guarantee | None = getattr(release, "guarantee", None)
    return {} if guarantee is None else {"epsilon": guarantee.epsilon}
