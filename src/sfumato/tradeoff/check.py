"""The risk of a table before anonymization, and which quasi-identifiers cause it.

Also whether a study would run: the candidates that would fail or be infeasible in `explore`.
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
from sfumato.data.reading import Table, as_table, check_keywords
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
from sfumato.runtime.arrays import Counts, Numbers, RedactedRepr
from sfumato.texts.catalogue import refusal, t
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
    """List the infeasible parts of a study, as far as they are known without releases of the whole table."""
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
        pass  # of a few records; the whole table is checked next
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
    """A few records of a table under all its declarations; settings that do not fit them do not fit the table."""

    few: Cells | None = None
    whole: Table | None = None
    rows: tuple[int, ...] = ()
    """Their cells in the whole table."""
    sharing: tuple[int, ...] = ()

    @property
    def memberships(self) -> None:
        """Skip this check: the records are too few."""

    @property
    def repeated_key(self) -> None:
        """Skip this check: it is reported once for the whole table."""

    @property
    def shared(self) -> tuple[int, ...]:
        """The attributes that the members of households share in the whole table."""
        return self.sharing

    @property
    def cells(self) -> Cells:
        """The cells of the few records."""
        assert self.few is not None
        return self.few

    def counts_of(self, column: str) -> CountedValues:
        """Give each record the first value of its cell; the set of values is the table's."""
        assert self.whole is not None
        counted = self.whole.counts_of(column)
        ones = np.ones(len(self.rows), np.int64)
        values = counted.values[counted.offsets[list(self.rows)]]
        return replace(counted, offsets=np.arange(len(ones) + 1), values=values, counts=ones)


def sketched(table: Table) -> Sketch:
    """Keep the first cell of a table and, for each sensitive attribute, the first one with another value."""
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
"""The number of worst groups in the output."""

BESIDE = ("household_column", "shared")
"""Fields that are written inside other fields."""

OF_PUBLISHING = ("columns without a role", "identifier ")
"""Beginnings of notices that concern only a release, or that this check reports in full."""


@dataclass(frozen=True, repr=False)
class AttributeRisk(RedactedRepr):
    """The contribution of one quasi-identifier to the risk."""

    public_fields: ClassVar[tuple[str, ...]] = ("name",)

    name: str
    values: int
    """The number of distinct values that occur."""

    alone: GroupRisk
    """The risk of a table with this quasi-identifier only."""

    without: GroupRisk | None
    """The risk of a table without it; None if it is the only one."""


@dataclass(frozen=True, repr=False)
class RareCombination(RedactedRepr):
    """A combination that few records have. It shows records: internal."""

    quasi: dict[str, str]
    records: int
    """Records with exactly these values."""

    frequency: int
    """Matching records; more than `records` if missing values match everything."""

    unique_by: tuple[str, ...]
    """The smallest known set of quasi-identifiers that makes it unique."""


@dataclass(frozen=True, repr=False)
class RepeatedPersons(RedactedRepr):
    """Repeated values of an identifier: persons with several records."""

    identifier: str
    persons: int
    repeated: int
    """Persons with several records."""

    most_records: int
    unnamed: int
    """Records without a value, each counted as a separate person."""

    smallest: int
    """The smallest number of different persons in a group: k counted in persons."""

    filled_by_one: int
    """Groups of several records of one person."""


@dataclass(frozen=True, repr=False)
class IndividualRisk(RedactedRepr):
    """The risk of records seen as a sample of a population."""

    source: str
    """The source of the population frequencies."""

    population: float
    highest: float
    average: float
    expected: float
    """The expected number of re-identified records: the sum of all risks."""

    above: dict[float, float]
    """The share of records with a risk above each threshold."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Check(RedactedRepr):
    """The risk of a table before anonymization; fields in the order of the JSON output."""

    table: str
    study: str | None = None
    dropped: int
    missing: Missing
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    risk: GroupRisk
    attributes: tuple[AttributeRisk, ...]
    """By contribution to the risk, largest first."""

    subsets: dict[tuple[str, ...], GroupRisk]
    """The risk from an attacker who knows only some quasi-identifiers."""

    all_subsets: bool
    unique_by: dict[int, int]
    """Unique records by the number of quasi-identifiers that makes them unique; 0: more than were examined."""

    smallest_groups: int
    """The number of combinations with the smallest frequency."""

    neutral: tuple[str, ...] = ()
    with_neutral: tuple[int, int] | None = None
    """By quasi-identifiers and neutral columns: the smallest group and the number of unique records."""

    worst: tuple[RareCombination, ...]
    person: str | None = None
    """The declared person column."""

    persons: tuple[RepeatedPersons, ...] = ()
    individual: IndividualRisk | None = None
    population: PopulationUniques | None = None
    why_no_population: str = ""
    household: HouseholdRisk | None = None
    household_column: str | None = None
    shared: tuple[str, ...] = ()
    candidates: int = 0
    problems: tuple[StudyProblem, ...] = ()

    notices: tuple[str, ...] = ()

    @property
    def records(self) -> int:
        """The number of examined records."""
        return self.risk.records

    @property
    def valid(self) -> bool:
        """Whether no part of the study would fail."""
        return not any(problem.kind == "failed" for problem in self.problems)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values."""
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
    **columns: Any,
) -> Check:
    """Measure the risk of a table before anonymization, and check whether a study of it would run.

    `source` is a table, a study, or a reference to one (path, bundled name, draft, frame); or a file or frame with the
    roles of its columns, such as `check(frame, quasi=["age"])`. `weight` and `household` name columns of any role; the
    default of `household` is the declared one. With `missing="any"` a missing value matches every value.
    """
    if columns:
        check_keywords("check", columns, ("weight", "population", "sampling_fraction"))
        source = as_table(source, columns)  # type: ignore[arg-type]
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
        )
    return outcome


def _as_it_stands(table: Table, meaning: Missing, given: Combinations, frequencies: Counts) -> Check:
    """Measure the risk from the quasi-identifiers alone."""
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
    """Count groups for an attacker who also knows the neutral columns."""
    coded = (*table.roles.quasi, *table.roles.sensitive)
    names = (*table.roles.quasi, *table.roles.neutral)
    return group_sizes_in(table.engine, names, coded if table.missing == "drop" else ())


# -- reading -----------------------------------------------------------------------------------------------


def _opened(source: Table | TableDeclaration, missing: Missing | None) -> tuple[Table, Missing]:
    """Open the table, and return it with the meaning of missing values."""
    if missing is not None:
        check_choice("missing", missing, ("value", "drop", "any"))
    read_as: Literal["value", "drop"] | None = "value" if missing == "any" else missing
    if isinstance(source, TableDeclaration):
        table = (source if read_as is None else replace(source, missing=read_as)).open()
        return table, missing or table.missing
    if read_as is not None and read_as != source.missing:
        raise refusal("read_with", source=source, read_as=read_as)
    return source, missing or source.missing


def _combinations(table: Table, meaning: Missing) -> tuple[Combinations, Counts]:
    """Return the distinct combinations of quasi-identifiers, and the combination of each cell."""
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
    """Return the size of the population, if it or the sampling fraction is given."""
    if population is not None and fraction is not None:
        raise BadInputError("give the size of the population or the sampling fraction, not both")
    if fraction is not None:
        check_number("sampling_fraction", fraction, least=0, strict=True, most=1)
        return round(records / fraction)
    if population is not None:
        check_whole("population", population, least=1)
        if population < records:
            raise refusal("population", population=population, records=records)
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
        notices.append(f"{small:,} records have a weight below 1 in {column!r}; a weight is a number of persons")
    if size is not None and not 0.9 < total / size < 1.1:
        notices.append(f"the weights in {column!r} add up to {total:,.6g}, not to the population of {size:,}")
    return weights, tuple(notices)


def _bad_weight(table: Table, column: str, pairs: CellValues, numbers: Numbers) -> str:
    """Describe the first invalid weight and its row."""
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
        reason = f"the weight {value!r} is negative; a weight is the number of persons that a record represents"
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
        source = "its size, with the same weight for each record"
    else:
        return None, 1 / frequencies
    risks = individual_risks(frequencies.astype(np.float64), population)
    expected = float((risks * given.counts).sum())
    above = {t: int(given.counts[risks > t].sum()) / records for t in THRESHOLDS.values()}
    return IndividualRisk(source, total, float(risks.max()), expected / records, expected, above), risks


def _why_no_population(size: int | None, meaning: Missing) -> str:
    if size is None:
        return "the size of the population is not known"
    return "groups cannot be estimated because a missing value matches everything" if meaning == "any" else ""


def _attributes(names: Sequence[str], subsets: Subsets) -> tuple[AttributeRisk, ...]:
    """Describe each quasi-identifier, in decreasing order of the average risk that it adds."""
    attributes = []
    for a, name in enumerate(names):
        others = tuple(b for b in range(len(names)) if b != a)
        attributes.append(
            AttributeRisk(name, subsets.risks[(a,)].combinations, subsets.risks[(a,)], subsets.risks.get(others))
        )
    return tuple(sorted(attributes, key=lambda each: (each.without.average if each.without else 0.0, each.name)))


def _worst(table: Table, given: Combinations, frequencies: Counts, keys: Counts) -> tuple[RareCombination, ...]:
    """List the smallest groups, first those that the fewest attributes make unique."""
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
    """Return the columns that count persons: the declared one, or identifiers that look like person keys."""
    column = table.roles.person or table.repeated_key
    return () if column is None else (column,)


def _persons(table: Table, column: str, number: Counts) -> RepeatedPersons:
    """Count the distinct values of an identifier in the table and in each group."""
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
    """Return the notices of the table, and report values of a quasi-identifier that count as one."""
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
