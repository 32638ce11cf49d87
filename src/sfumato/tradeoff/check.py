"""Checking a table as it stands, before anything is made of it: how risky it is, and what makes it so.

Whether a study would run: what would fail or be infeasible at `explore`, said before anything is made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato.anonymizers.anonymizer import Anonymizer
from sfumato.anonymizers.trivial import WithoutSensitive
from sfumato.auditing.published_file import group_sizes_in
from sfumato.config.options import check_choice, check_number, check_whole
from sfumato.data.cells import Cells, CountedValues, distinct_rows, sorted_cells
from sfumato.data.declaration import TableDeclaration
from sfumato.data.hierarchies.notation import read_number
from sfumato.data.households import memberships_of, unnamed_pairs
from sfumato.data.reading import Table
from sfumato.engines.protocol import CellValues, column_pairs
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.measures.group_risk import THRESHOLDS, GroupRisk, group_risk
from sfumato.measures.subsets import (
    NEVER,
    Combinations,
    HouseholdRisk,
    Subsets,
    all_subsets,
    household_risk,
    members_of,
)
from sfumato.measures.superpopulation import PopulationUniques, individual_risks, population_uniques
from sfumato.runtime.arrays import Counts, Numbers, Quiet
from sfumato.texts.catalogue import t
from sfumato.tradeoff.exploration.effort import Effort, effort_of
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.draft import as_study
from sfumato.tradeoff.study.study import Study, of_table


@dataclass(frozen=True)
class StudyProblem:
    """A candidate that cannot be made: its settings do not fit the table (failed), or no release satisfies it."""

    candidate: str
    kind: Literal["failed", "infeasible"]
    reason: str


def problems(study: Study, table: Table) -> tuple[StudyProblem, ...]:
    """List what of a study cannot be made, as far as that can be told without making releases of the whole table."""
    sketch = sketched(table)
    lattices = {candidate for grid in study.grids if grid.lattice for candidate in grid.candidates}
    outcomes = [_problem(candidate, table, sketch, candidate in lattices) for candidate in study.candidates]
    if table.why_no_persons is not None:
        outcomes.insert(0, StudyProblem("the table", "failed", table.why_no_persons))
    try:
        study.scales.prepare(table).ready()
    except BadInputError as error:
        outcomes.append(StudyProblem("the scales", "failed", str(error)))
    return tuple(problem for problem in outcomes if problem is not None)


def _problem(candidate: Candidate, table: Table, sketch: Table, lattice: bool) -> StudyProblem | None:
    maker: Any = candidate.anonymizer
    requirement = candidate.requirement
    try:
        if lattice and isinstance(maker, Anonymizer):
            maker.lattice(sketch, requirement, candidate.suppress)
        attempt = maker.anonymize if isinstance(maker, Anonymizer) else maker.check
        attempt(sketch, requirement, candidate.form, candidate.suppress)
    except BadInputError as error:
        return StudyProblem(str(candidate), "failed", str(error))
    except InfeasibleError:
        pass  # of a few records; what holds of the whole table is asked next
    one_group = table.cells.baseline
    proves = requirement.survives_merging(table.cells.persons is not None)
    whole = proves and not candidate.suppress and not isinstance(maker, WithoutSensitive)
    if whole and not requirement.admits(one_group)[0]:
        return StudyProblem(
            str(candidate), "infeasible", f"even in one group {requirement.explain_failure(one_group, 0)}"
        )
    return None


@dataclass(frozen=True, eq=False, repr=False)
class Sketch(Table):
    """A few records of a table under all its declarations: settings that do not fit it do not fit the table."""

    few: Cells | None = None
    whole: Table | None = None
    rows: tuple[int, ...] = ()
    """Which cells of the whole table they are."""
    sharing: tuple[int, ...] = ()

    @property
    def memberships(self) -> None:
        """Nothing is said of so few."""

    @property
    def repeated_key(self) -> None:
        """It is said once of the whole table."""

    @property
    def shared(self) -> tuple[int, ...]:
        """What the members of households share in the whole table."""
        return self.sharing

    @property
    def cells(self) -> Cells:
        """The few cells."""
        assert self.few is not None
        return self.few

    def counts_of(self, column: str) -> CountedValues:
        """Give every one of the few records the first value of its cell; which values there are is the table's."""
        assert self.whole is not None
        counted = self.whole.counts_of(column)
        ones = np.ones(len(self.rows), np.int64)
        values = counted.values[counted.offsets[list(self.rows)]]
        return replace(counted, offsets=np.arange(len(ones) + 1), values=values, counts=ones)


def sketched(table: Table) -> Sketch:
    """Keep of a table the first cell and, for every sensitive attribute, the first one with another value."""
    cells = table.cells
    kept = {0, *(int(np.argmax(values != values[0])) for values in cells.values.T)}
    rows = sorted(kept)
    leaves = [attribute.leaves[cells.values[rows, i]] for i, attribute in enumerate(cells.sensitive)]
    codes = np.column_stack([cells.codes[rows], *leaves]).astype(np.int32)
    sensitive = [(attribute.name, attribute.hierarchy) for attribute in cells.sensitive]
    few = sorted_cells(cells.quasi, sensitive, codes, np.ones(len(rows), np.int64))
    declared = {field.name: getattr(table, field.name) for field in fields(Table)}
    return Sketch(**declared, few=few, whole=table, rows=tuple(rows), sharing=table.shared)


Missing = Literal["value", "drop", "any"]

SHOWN = 5
"""How many of the worst groups are shown."""

BESIDE = ("household_column", "shared")
"""What is written as a part of something else."""

OF_PUBLISHING = ("columns without a role", "identifier ")
"""How notices begin that speak of what a release would hold, or that are said in full here."""


@dataclass(frozen=True, repr=False)
class AttributeRisk(Quiet):
    """What one quasi-identifier adds to the risk."""

    spoken: ClassVar[tuple[str, ...]] = ("name",)

    name: str
    values: int
    """How many different values occur."""

    alone: GroupRisk
    """The risk of a table with this quasi-identifier only."""

    without: GroupRisk | None
    """The risk of a table without it; None where it is the only one."""


@dataclass(frozen=True, repr=False)
class RareCombination(Quiet):
    """A combination that few records have. It shows records: for the publisher's eyes only."""

    quasi: dict[str, str]
    records: int
    """How many records have exactly these values."""

    frequency: int
    """How many records look like it; more where missing values match everything."""

    unique_by: tuple[str, ...]
    """The fewest quasi-identifiers that make it unique, as far as is known."""


@dataclass(frozen=True, repr=False)
class RepeatedPersons(Quiet):
    """What an identifier says about persons with several records."""

    identifier: str
    persons: int
    repeated: int
    """Persons with several records."""

    most_records: int
    unnamed: int
    """Records without a value, each taken for a person of its own."""

    smallest: int
    """The smallest number of different persons in a group: what k really is, in persons."""

    filled_by_one: int
    """Groups of several records that all belong to one person."""


@dataclass(frozen=True, repr=False)
class IndividualRisk(Quiet):
    """The risk of records seen as a sample of a population."""

    source: str
    """Where the frequencies in the population come from."""

    population: float
    highest: float
    average: float
    expected: float
    """The expected number of records that are found: the sum of all risks."""

    above: dict[float, float]
    """The share of records with a risk above each threshold."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Check(Quiet):
    """How risky a table is as it stands; its fields in the order in which a program reads them."""

    table: str
    study: str | None = None
    dropped: int
    missing: Missing
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    risk: GroupRisk
    attributes: tuple[AttributeRisk, ...]
    """By what they add to the risk, most first."""

    subsets: dict[tuple[str, ...], GroupRisk]
    """The risk for somebody who knows only some quasi-identifiers."""

    all_subsets: bool
    unique_by: dict[int, int]
    """How many unique records need how many quasi-identifiers to be so; 0: more than were looked at."""

    smallest_groups: int
    """How many combinations have the smallest frequency."""

    neutral: tuple[str, ...] = ()
    with_neutral: tuple[int, int] | None = None
    """By quasi-identifiers and neutral columns: the smallest group, and the records alone in theirs."""

    worst: tuple[RareCombination, ...]
    person: str | None = None
    """The column that is declared to say whose record it is."""

    persons: tuple[RepeatedPersons, ...] = ()
    individual: IndividualRisk | None = None
    population: PopulationUniques | None = None
    why_no_population: str = ""
    household: HouseholdRisk | None = None
    household_column: str | None = None
    shared: tuple[str, ...] = ()
    candidates: int = 0
    problems: tuple[StudyProblem, ...] = ()
    effort: Effort | None = None
    """What exploring the study will roughly take."""

    notices: tuple[str, ...] = ()

    @property
    def records(self) -> int:
        """The number of records that were looked at."""
        return self.risk.records

    @property
    def valid(self) -> bool:
        """Whether nothing in the study would fail for what it says."""
        return not any(problem.kind == "failed" for problem in self.problems)

    def to_dict(self) -> dict[str, Any]:
        """Write everything as plain values."""
        individual, household, population = self.individual, self.household, self.population
        written: dict[str, Any] = {
            "risk": _plain_risk(self.risk),
            "attributes": [
                vars(each) | {"alone": _plain_risk(each.alone), "without": each.without and _plain_risk(each.without)}
                for each in self.attributes
            ],
            "subsets": [{"quasi": names, **_plain_risk(risk)} for names, risk in self.subsets.items()],
            "unique_by": {"more" if n == 0 else str(n): count for n, count in self.unique_by.items()},
            "with_neutral": self.with_neutral and dict(zip(("k", "alone"), self.with_neutral, strict=True)),
            "worst": list(map(vars, self.worst)),
            "persons": list(map(vars, self.persons)),
            "individual": individual and vars(individual) | {"above": _by_text(individual.above)},
            "population": population
            and vars(population)
            | {name: getattr(population, name) for name in ("model", "uniques", "share")}
            | {"zayatz_share": population.zayatz / population.population}
            | {"pitman_share": population.pitman and population.pitman / population.population},
            "household": household
            and vars(household)
            | {"column": self.household_column, "sizes": _by_text(household.sizes), "shared": self.shared},
            "problems": list(map(vars, self.problems)),
            "effort": self.effort and self.effort.told,
        }
        first = {name: getattr(self, name) for name in ("table", "study", "records")}
        last = {"valid": self.valid, "notices": self.notices}
        content = {name: value for name, value in (first | vars(self)).items() if name not in (*last, *BESIDE)}
        return content | written | last


def _by_text(numbers: Mapping[Any, float]) -> dict[str, float]:
    return {str(key): value for key, value in numbers.items()}


def check(
    source: Table | Any,
    *,
    weight: str | None = None,
    household: str | None = None,
    population: int | None = None,
    sampling_fraction: float | None = None,
    missing: Missing | None = None,
) -> Check:
    """Say how risky a table is as it stands, and whether a study of it would run.

    `source` is a table, a study, or what stands for one (a path, a bundled name, a draft, a frame). `weight` and
    `household` name columns, whatever their role; without `household` it is the one the table declares.
    `missing="any"` lets a missing value match everything.
    """
    study = None if isinstance(source, Table) else of_table(as_study(source))
    table, meaning = _opened(source if study is None else study.table, missing)
    given, number = _combinations(table, meaning)
    frequencies = given.frequencies()
    outcome = _as_it_stands(table, meaning, given, frequencies)
    size = _population(outcome.records, population, sampling_fraction)
    weights, notices = _weights(table, weight, number, given.size, size)
    if size is None and weights is not None and weights.sum() >= outcome.records:
        size = round(float(weights.sum()))
    individual, risks = _individual(given, frequencies, weight, weights, size)
    outcome = replace(
        outcome,
        neutral=table.roles.neutral,
        with_neutral=_with_neutral(table) if table.roles.neutral and meaning != "any" else None,
        persons=tuple(_persons(table, column, number) for column in _persons_told_by(table)),
        individual=individual,
        population=None if size is None or meaning == "any" else population_uniques(given.counts, size),
        why_no_population=_why_no_population(size, meaning),
        notices=(*_notices(table, study), *notices),
    )
    household = household or table.roles.household
    if household is not None:
        members = memberships_of(table.engine, _column(table, household, "--household"), table.link)
        homes = household_risk(given, risks, members.by(number), table.cells.missing)
        shared = tuple(outcome.quasi[a] for a in homes.shared)
        outcome = replace(outcome, household_column=household, household=homes, shared=shared)
    if study is not None:
        outcome = replace(
            outcome,
            study=study.name,
            candidates=len(study.candidates),
            problems=problems(study, table),
            effort=effort_of(study, table),
        )
    return outcome


def _as_it_stands(table: Table, meaning: Missing, given: Combinations, frequencies: Counts) -> Check:
    """Say what the quasi-identifiers alone say."""
    cells = table.cells
    risk = group_risk(frequencies, given.counts)
    names = tuple(quasi.name for quasi in cells.quasi)
    subsets = all_subsets(given)
    needed = np.where(subsets.keys == NEVER, 0, subsets.keys >> 48)[frequencies == 1]
    return Check(
        table=table.engine.origin,
        missing=meaning,
        dropped=table.dropped,
        quasi=names,
        sensitive=tuple(attribute.name for attribute in cells.sensitive),
        person=table.roles.person,
        risk=risk,
        attributes=_attributes(names, subsets),
        subsets={tuple(names[a] for a in members): subset_risk for members, subset_risk in subsets.risks.items()},
        all_subsets=subsets.complete,
        unique_by={int(n): int(count) for n, count in zip(*np.unique(needed, return_counts=True), strict=True)},
        worst=_worst(table, given, frequencies, subsets.keys),
        smallest_groups=int((frequencies == risk.smallest).sum()),
    )


def _with_neutral(table: Table) -> tuple[int, int]:
    """Count groups as an attacker does who knows the neutral columns too."""
    coded = (*table.roles.quasi, *table.roles.sensitive)
    names = (*table.roles.quasi, *table.roles.neutral)
    return group_sizes_in(table.engine, names, coded if table.missing == "drop" else ())


# -- reading -----------------------------------------------------------------------------------------------


def _opened(source: Table | TableDeclaration, missing: Missing | None) -> tuple[Table, Missing]:
    """Open the table, and say what a missing value means."""
    if missing is not None:
        check_choice("missing", missing, ("value", "drop", "any"))
    read_as: Literal["value", "drop"] | None = "value" if missing == "any" else missing
    if isinstance(source, TableDeclaration):
        table = (source if read_as is None else replace(source, missing=read_as)).open()
        return table, missing or table.missing
    if read_as is not None and read_as != source.missing:
        raise BadInputError(t("refusal.read_with", source=source, read_as=read_as))
    return source, missing or source.missing


def _combinations(table: Table, meaning: Missing) -> tuple[Combinations, Counts]:
    """Return the distinct combinations of quasi-identifiers, and for every cell which one it has."""
    cells = table.cells
    codes = cells.points.codes
    missing = np.zeros(codes.shape, bool)
    if meaning == "any":
        for a, quasi in enumerate(cells.quasi):
            if quasi.hierarchy.missing:
                missing[:, a] = codes[:, a] == quasi.hierarchy.size - 1
    return Combinations(codes, missing, cells.points.counts), cells.points.number


def _column(table: Table, name: str, option: str) -> str:
    if name not in table.engine.columns:
        known = ", ".join(map(repr, table.engine.columns[:30]))
        raise BadInputError(f"{table.engine.origin}: there is no column {name!r} ({option}); the columns are {known}")
    return name


def _population(records: int, population: int | None, fraction: float | None) -> int | None:
    """Return the size of the population, if it is given in one way or the other."""
    if population is not None and fraction is not None:
        raise BadInputError("give the size of the population or the sampling fraction, not both")
    if fraction is not None:
        check_number("sampling_fraction", fraction, least=0, strict=True, most=1)
        return round(records / fraction)
    if population is not None:
        check_whole("population", population, least=1)
        if population < records:
            raise BadInputError(t("refusal.population", population=population, records=records))
    return population


def _weights(
    table: Table, column: str | None, number: Counts, combinations: int, size: int | None
) -> tuple[Numbers | None, tuple[str, ...]]:
    """Add up the sampling weights of every combination; every weight must be a number of at least 0."""
    if column is None:
        return None, ()
    pairs = column_pairs(table.engine, _column(table, column, "--weight"), table.link)
    numbers = np.array([np.nan if value is None else read_number(value) for value in pairs.values], np.float64)
    if not (np.isfinite(numbers) & (numbers >= 0)).all():
        raise BadInputError(_bad_weight(table, column, pairs, numbers))
    weights = np.bincount(number[pairs.cell], numbers[pairs.value] * pairs.counts, combinations).astype(np.float64)
    records, total = int(pairs.counts.sum()), float(weights.sum())
    if total == 0:
        raise BadInputError(f"{table.engine.origin}, column {column!r}: every weight is 0; give sampling weights")
    notices = []
    if total < records:
        notices.append(t("refusal.weights_small", column=column, total=total, records=records))
    elif (small := int(pairs.counts[numbers[pairs.value] < 1].sum())) > 0:
        notices.append(f"{small:,} records have a weight below 1 in {column!r}: each stands for less than itself")
    if size is not None and not 0.9 < total / size < 1.1:
        notices.append(f"the weights in {column!r} add up to {total:,.6g}, not to the population of {size:,}")
    return weights, tuple(notices)


def _bad_weight(table: Table, column: str, pairs: CellValues, numbers: Numbers) -> str:
    """Name the first weight that is none, and its row."""
    distinct = table.engine.distinct(column)
    at = {value: i for i, value in enumerate(distinct.values)}
    first = list(at.values()) if distinct.first_rows is None else distinct.first_rows.tolist()
    bad = np.flatnonzero(~(np.isfinite(numbers) & (numbers >= 0))).tolist()
    place = min(bad, key=lambda i: first[at[pairs.values[i]]])
    value = pairs.values[place]
    if value is None:
        rows = int(pairs.counts[pairs.value == place].sum())
        reason = f"{rows:,} records have no weight; give every record one"
    elif numbers[place] < 0:
        reason = f"the weight {value!r} is negative; a weight says how many persons a record stands for"
    else:
        reason = f"the weight {value!r} is not a finite number; correct it"
    return f"{table.engine.origin}, column {column!r}{distinct.place(at[value])}: {reason}"


# -- saying ------------------------------------------------------------------------------------------------


def _individual(
    given: Combinations, frequencies: Counts, column: str | None, weights: Numbers | None, size: int | None
) -> tuple[IndividualRisk | None, Numbers]:
    """Return the individual risk, and the risk of every combination: one over its frequency without a population."""
    records = int(given.counts.sum())
    if weights is not None:
        population, total = given.alike(weights), float(weights.sum())
        source = f"the sampling weights in {column!r}"
    elif size is not None:
        population, total = frequencies * np.float64(size / records), float(size)
        source = "its size, every record standing for equally many"
    else:
        return None, 1 / frequencies
    risks = individual_risks(frequencies.astype(np.float64), population)
    expected = float((risks * given.counts).sum())
    above = {t: int(given.counts[risks > t].sum()) / records for t in THRESHOLDS.values()}
    return IndividualRisk(source, total, float(risks.max()), expected / records, expected, above), risks


def _why_no_population(size: int | None, meaning: Missing) -> str:
    if size is None:
        return "the size of the population is not known"
    return "where a missing value matches everything there are no groups to estimate from" if meaning == "any" else ""


def _attributes(names: Sequence[str], subsets: Subsets) -> tuple[AttributeRisk, ...]:
    """Describe every quasi-identifier, those first without which the average risk would fall most."""
    attributes = []
    for a, name in enumerate(names):
        others = tuple(b for b in range(len(names)) if b != a)
        attributes.append(
            AttributeRisk(name, subsets.risks[(a,)].combinations, subsets.risks[(a,)], subsets.risks.get(others))
        )
    return tuple(sorted(attributes, key=lambda each: (each.without.average if each.without else 0.0, each.name)))


def _worst(table: Table, given: Combinations, frequencies: Counts, keys: Counts) -> tuple[RareCombination, ...]:
    """Show the smallest groups, those first that the fewest attributes make unique."""
    worst = []
    quasi = table.cells.quasi
    for i in np.lexsort((keys, frequencies))[:SHOWN]:
        by = () if keys[i] == NEVER else members_of(int(keys[i]))
        values = {attribute.name: attribute.hierarchy.leaves[given.codes[i, a]] for a, attribute in enumerate(quasi)}
        worst.append(
            RareCombination(values, int(given.counts[i]), int(frequencies[i]), tuple(quasi[a].name for a in by))
        )
    return tuple(worst)


def _persons_told_by(table: Table) -> tuple[str, ...]:
    """Name the columns by which persons can be counted: the declared one, or an identifier that seems to be one."""
    column = table.roles.person or table.repeated_key
    return () if column is None else (column,)


def _persons(table: Table, column: str, number: Counts) -> RepeatedPersons:
    """Count the persons an identifier tells apart, in the table and in every group."""
    pairs = column_pairs(table.engine, column, table.link)
    unnamed = unnamed_pairs(pairs)
    lone = int(pairs.counts[unnamed].sum())
    group = number[pairs.cell]
    named = np.stack([group[~unnamed], pairs.value[~unnamed]], axis=1).astype(np.int32)
    first, _ = distinct_rows(named)
    persons = np.bincount(named[first, 0], minlength=int(number.max()) + 1)
    persons += np.bincount(group[unnamed], pairs.counts[unnamed], len(persons)).astype(np.int64)
    records = np.bincount(group, pairs.counts, len(persons))
    of_person = np.bincount(pairs.value[~unnamed], pairs.counts[~unnamed])
    of_person = of_person[of_person > 0]
    return RepeatedPersons(
        column,
        len(of_person) + lone,
        int((of_person > 1).sum()),
        int(of_person.max()) if len(of_person) else 1,
        lone,
        int(persons.min()),
        int(((persons == 1) & (records > 1)).sum()),
    )


def _notices(table: Table, study: Study | None) -> list[str]:
    """Pass on what is to be known of the table, and say where several values of a quasi-identifier count as one."""
    notices = [notice for notice in table.notices if study is not None or not notice.startswith(OF_PUBLISHING)]
    for coding in table.codings:
        leaves = len(set(coding.codes.values()))
        if coding.column in table.roles.quasi and leaves < len(coding.codes):
            notices.append(t("refusal.coded", coding=coding, texts=len(coding.codes), leaves=leaves))
    return notices


def _plain_risk(risk: GroupRisk) -> dict[str, Any]:
    return {
        "combinations": risk.combinations,
        "k": risk.smallest,
        "uniques": risk.uniques,
        "uniques_share": risk.uniques_share,
        "prosecutor": risk.highest,
        "marketer": risk.average,
        "above": {str(threshold): risk.above(smallest) for smallest, threshold in THRESHOLDS.items()},
        "distinction": risk.average,
        "separation": risk.separation,
    }
