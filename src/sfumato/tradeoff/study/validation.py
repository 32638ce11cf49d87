"""Whether a study would run: what would fail or be infeasible at `explore`, said before anything is made."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from sfumato.anonymizers import Anonymizer, WithoutSensitive
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.table import Cells, CountedValues, Table
from sfumato.table.cells import sorted_cells
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.study import Study


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
    whole = requirement.monotone and not candidate.suppress and not isinstance(maker, WithoutSensitive)
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
