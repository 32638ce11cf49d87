"""The general form of a search over cut vectors: any of our measures as objectives, under any requirement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from sfumato.anonymizers import CutSpace, CutVector
from sfumato.anonymizers.cut_vector.space import Bits
from sfumato.configuration import Option, parse
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.measures import ATTACK_MEASURES, FIDELITY, MEASURES, RECONSTRUCTED, Prepared, Scales, UniformReader
from sfumato.release import Release
from sfumato.requirements import requirement
from sfumato.table import Table
from sfumato.tradeoff.dominance import cost
from sfumato.tradeoff.search.problems import Judge, Numbers, Problem, Problem1, Problem2, Problem3, Problem4, rounded
from sfumato.tradeoff.study.candidate import Candidate


@dataclass(frozen=True)
class MeasuredProblem(Problem):
    """Any two or more of our measures as objectives, under any requirement, on the releases themselves."""

    minimize: Annotated[
        str, Option("The measures, such as `p_loss, u_loss`; those of which more is better are made large.")
    ]
    require: Annotated[str, Option("What every release must satisfy.", takes="requirement")] = "k-anonymity k=1"
    suppress: Annotated[float, Option("The largest share of the records that may be left out.", least=0, most=1)] = 0.0
    scales: Scales = Scales()  # noqa: RUF009
    enumerated: ClassVar[int] = 2_000
    name: ClassVar[str] = "measured"
    example: ClassVar[str | None] = 'measured minimize="p_loss, u_loss" require="k-anonymity k=10"'

    def __post_init__(self) -> None:
        super().__post_init__()
        requirement(self.require)
        if len(self.objectives) < 2:
            raise BadInputError('minimize must name two measures or more, such as minimize="p_loss, u_loss"')
        for name in self.objectives:
            if name not in MEASURES:
                known = [measure for measure in MEASURES if MEASURES[measure].said_of == "table"]
                raise BadInputError(f"minimize: unknown measure {name!r}; known are {', '.join(known)}")
            if MEASURES[name].said_of != "table":
                raise BadInputError(f"minimize: {name} is said of sets of items, and cuts make releases of tables")
            if self.objectives.count(name) > 1:
                raise BadInputError(f"minimize: {name} stands twice; name different measures")

    @property
    def objectives(self) -> tuple[str, ...]:
        """The measures."""
        return tuple(name.strip() for name in self.minimize.split(",") if name.strip())

    @property
    def axes(self) -> tuple[str, str]:
        """The first two measures."""
        return self.objectives[0], self.objectives[1]

    def on_scales(self, scales: Scales) -> MeasuredProblem:
        """Return the problem on the scales of a study."""
        return replace(self, scales=scales)

    @property
    def share(self) -> float:
        """The share of the records that may be suppressed."""
        return self.suppress

    def judge(self, table: Table, space: CutSpace) -> Judge:
        """Prepare the scales once; then every vector is a release that is made and measured."""
        clever = any(name in RECONSTRUCTED for name in self.objectives)
        scales = self.scales if clever else replace(self.scales, reader=UniformReader())
        if not any(map(_is_learned, self.objectives)):
            scales = replace(scales, classification=None)
        if not any(name in FIDELITY for name in self.objectives):
            scales = replace(scales, fidelity=None)
        if not any(name in ATTACK_MEASURES for name in self.objectives):
            scales = replace(scales, attacks=None)
        scales = scales.having(self.objectives)
        prepared = scales.prepare(table).ready()

        def judged(vectors: Bits) -> list[Numbers]:
            return [np.array([self._measured(prepared, space.text(vector))]) for vector in vectors]

        return judged

    def _measured(self, prepared: Prepared, cuts: str) -> Sequence[float]:
        """Measure one release; infinite costs where the requirement cannot be met."""

        def made(table: Table) -> Release:
            return CutVector(cuts).anonymize(table, requirement(self.require), suppress=self.suppress)

        try:
            release = made(prepared.table)
        except InfeasibleError:
            return [math.nan] * len(self.objectives)
        values = dict(prepared.measure(release).values)
        if prepared.attacks is not None:  # nothing is found where too few records are left without the control
            values |= dict.fromkeys(ATTACK_MEASURES, math.nan)
            values |= prepared.attacks.attacked([release], lambda table, turn: [made(table)]).measures
        lacking = [name for name in self.objectives if name not in values]
        if lacking:
            raise BadInputError(f"minimize: {lacking[0]} cannot be measured on this table: {_why(lacking[0])}")
        return [values[name] for name in self.objectives]

    def costs(self, facts: Numbers) -> Numbers:
        """Turn measures so that lower is better."""
        signs = np.array([cost(name, 1.0) for name in self.objectives])
        return np.where(np.isnan(facts), np.inf, rounded(facts * signs))

    def values(self, facts: Numbers) -> dict[str, float]:
        """Name the measures."""
        return dict(zip(self.objectives, map(float, facts), strict=True))

    def candidate(self, maker: CutVector, facts: Numbers) -> Candidate:
        """Require what was required."""
        return Candidate(maker, requirement(self.require), suppress=self.suppress)


def _is_learned(name: str) -> bool:
    return name.startswith("workload") or name == "utility_gain"


def _why(name: str) -> str:
    if _is_learned(name):
        return "it needs a column to learn (scales with a classification)"
    return "it needs a sensitive attribute" if MEASURES[name].needs_sensitive else "it is not defined here"


PROBLEMS: tuple[type[Problem], ...] = (Problem1, Problem2, Problem3, Problem4, MeasuredProblem)


def problem(text: str) -> Problem:
    """Read a problem from its text form, such as `problem-2 eta=0.1`."""
    return parse(text, PROBLEMS, "problem")
