"""Objectives of a search over cut vectors: Dewri et al.'s four problems, and any of our measures.

1. Weighted: no suppression; the average privacy of the records, against generalization loss.
2. Limited: groups of the least privacy are suppressed, at most a share eta of the records; the remaining privacy.
3. Free: groups below the mean privacy are suppressed; mean privacy, generalization and suppression loss.
4. Safe: (k, l)-safe with at most a share eta suppressed; k, l, and generalization loss.

Privacy is k, or l of a sensitive attribute by frequency (their definition 4) or by distinct values (their section 4.3).
**Problem 4 as printed is unsound**: by their equations 8 and 9 large groups of little diversity survive, so the claimed
(k, l) may be false. `order="paper"` computes it for comparison; none of its results can be published. The sound form
suppresses every group that is smaller than k or less diverse than l, and returns for each cut vector all pairs.

A measured problem has any of our measures as objectives, under any requirement. Threads evaluate each vector once.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.cut_vector import _evaluation as counting
from sfumato.anonymizers.cut_vector.cut_vector import Bits, CutSpace, CutVector
from sfumato.config.options import Configured, Option, parse
from sfumato.data.cells import find_sensitive
from sfumato.data.reading import Table
from sfumato.errors import BadInputError, InfeasibleError
from sfumato.measures.all_measures import ANALYSIS, ATTACK_MEASURES, FIDELITY, MEASURES, RECONSTRUCTED
from sfumato.measures.reconstruction import UniformReader
from sfumato.measures.scales import Prepared, Scales
from sfumato.release.release import Release
from sfumato.requirements.requirement import KAnonymity, LDiversity, Requirement, requirement
from sfumato.runtime.threads import Crew
from sfumato.texts.catalogue import refusal
from sfumato.tradeoff.comparison import cost
from sfumato.tradeoff.study.candidate import Candidate

Numbers = NDArray[np.float64]
Judge = Callable[[Bits], list[Numbers]]
"""Evaluates vectors: for each an array (rows, facts). Called by several threads."""

PRIVACIES = {"k": counting.SIZE, "l-frequency": counting.FREQUENCY, "l-distinct": counting.DISTINCT}
Privacy = Annotated[
    Literal["k", "l-frequency", "l-distinct"], Option("The privacy to maximize: the group size or the diversity.")
]
On = Annotated[
    str | None, Option("The sensitive column of diversity; needed only where there are several.", takes="sensitive")
]
Eta = Annotated[float, Option("The largest share of the records that may be suppressed.", least=0, most=1)]
Minimized = Annotated[
    Literal["generalization_loss", "loss"],
    Option("The loss to minimize: as in the paper, or with the suppressed records."),
]
LADDER = (0.0, 0.1, 1.0)
"""The limits on suppression of the stages, if every threshold counts."""

LOSSES = {
    "generalization_loss": [counting.GENERALIZED],
    "suppression_loss": [counting.SUPPRESSED],
    "loss": [counting.GENERALIZED, counting.SUPPRESSED],
}
"""By loss, the facts of which it is the sum."""

DIGITS = 12
"""Costs that agree in so many digits are equal: the order of the summands depends on the cuts."""


class Problem(Configured, ABC):
    """Objectives over cut vectors, and the release of a vector."""

    publishable: bool = True
    """Whether its values are true of the release."""

    @property
    @abstractmethod
    def objectives(self) -> tuple[str, ...]:
        """The names of the objectives."""

    @property
    def privacies(self) -> tuple[str, ...]:
        """The objectives that are not losses."""
        return tuple(name for name in self.objectives if not name.endswith("loss"))

    @property
    def share(self) -> float:
        """The maximum share of suppressed records."""
        return 0.0

    @property
    def several(self) -> bool:
        """Whether one vector may represent several releases."""
        return False

    def on_scales(self, scales: Scales) -> Problem:
        """Return the problem on the scales of a study, if it measures anything."""
        return self

    def stages(self, records: int) -> tuple[Problem, ...]:
        """Return the problems that a search solves in order, each starting from the result of the last one."""
        return (self,)

    enumerated: ClassVar[int] = 200_000
    """The largest space that is enumerated instead of searched."""

    @property
    @abstractmethod
    def axes(self) -> tuple[str, str]:
        """The two axes of a map of its releases: its objectives, if these are two."""

    @abstractmethod
    def judge(self, table: Table, space: CutSpace) -> Judge:
        """Prepare a table, and return the function that evaluates vectors."""

    @abstractmethod
    def costs(self, facts: Numbers) -> Numbers:
        """Return facts (last axis) as objectives, lower is better; infinite if there is no release."""

    @abstractmethod
    def values(self, facts: Numbers) -> dict[str, float]:
        """Return the facts of one row by name."""

    @abstractmethod
    def candidate(self, maker: CutVector, facts: Numbers) -> Candidate:
        """Return the release of one row of facts, as a candidate for a map."""


class KernelProblem(Problem):
    """A problem that the kernels of `cut_vector/_evaluation.py` evaluate."""

    privacy: Privacy
    on: On

    @property
    @abstractmethod
    def kind(self) -> int:
        """The rule of suppression: a number of `cut_vector/_evaluation.py`."""

    @property
    def share(self) -> float:
        """The maximum share of suppressed records: eta, if the problem has one."""
        eta: float = getattr(self, "eta", 0.0)
        return eta

    @property
    def every(self) -> bool:
        """Whether every threshold of suppression is tried; only then less suppression can be less loss."""
        return getattr(self, "minimize", "") == "loss" and self.publishable

    def costs(self, facts: Numbers) -> Numbers:
        """Return the objectives as costs."""
        return rounded(np.stack([self._cost(name, facts) for name in self.objectives], axis=-1))

    def _cost(self, name: str, facts: Numbers) -> Numbers:
        """Return a loss, or the negative privacy."""
        if name in LOSSES:
            return np.sum(facts[..., LOSSES[name]], axis=-1)  # type: ignore[no-any-return]
        return -facts[..., counting.WEIGHTED if name.startswith("weighted") else counting.PRIVACY]

    def stages(self, records: int) -> tuple[Problem, ...]:
        """Return the limits on suppression up to the wanted one.

        A stage does not depend on the wanted limit, so a larger limit finds at least as much.
        """
        if not self.every:
            return (self,)
        shares = {allowed(share, records): share for share in reversed(LADDER)}
        enough = min(number for number in shares if number >= allowed(self.share, records))
        changed: Any = self
        return tuple(replace(changed, eta=shares[number]) for number in sorted(shares) if number <= enough)

    def within(self, facts: Numbers, records: int) -> NDArray[np.bool_]:
        """Mark the rows of facts within the limit on suppression."""
        return np.rint(facts[:, counting.SUPPRESSED] * records) <= allowed(self.share, records)

    @property
    def axes(self) -> tuple[str, str]:
        """The privacy as measured on a release, and the loss."""
        name = self.objectives[0]
        return (name if name in MEASURES else self.letter, self.objectives[-1])

    def judge(self, table: Table, space: CutSpace) -> Judge:
        """Merge the cells to atoms once."""
        cells, privacy = table.cells, PRIVACIES[self.privacy]
        if self.on is not None:
            find_sensitive(cells.sensitive, self.on)
        budget = allowed(self.share, cells.records)
        counted = counting.CutTable.of(cells, space, self.on, diverse=privacy != counting.SIZE)
        return lambda vectors: counted.facts(vectors, self.kind, privacy, budget, self.every)

    def values(self, facts: Numbers) -> dict[str, float]:
        """Return the facts of one row by name."""
        means = {name: float(facts[counting.WEIGHTED]) for name in self.objectives if name.startswith("weighted")}
        found = {
            **means,
            "generalization_loss": float(facts[counting.GENERALIZED]),
            "suppression_loss": float(facts[counting.SUPPRESSED]),
            "loss": float(facts[counting.GENERALIZED] + facts[counting.SUPPRESSED]),
            "k": float(facts[counting.SMALLEST]),
        }
        return found | ({} if self.privacy == "k" else {self.letter: float(facts[counting.LEAST])})

    @property
    def letter(self) -> str:
        """The name of the privacy: k, l_frequency or l_distinct."""
        return self.privacy.replace("-", "_")

    def _required(self, bound: float) -> Requirement:
        """Return the requirement of a privacy; the frequency l has as many digits as can be typed."""
        if self.privacy == "k":
            return KAnonymity(math.ceil(bound - 1e-6))
        if self.privacy == "l-distinct":
            return LDiversity(math.ceil(bound - 1e-6), "distinct", on=self.on)
        return LDiversity(max(math.floor(bound * 1e6) / 1e6, 1.0), "frequency", on=self.on)

    def candidate(self, maker: CutVector, facts: Numbers) -> Candidate:
        """Return the candidate that requires the remaining privacy, with the allowed suppression."""
        least = facts[counting.SMALLEST] if self.privacy == "k" else facts[counting.LEAST]
        return Candidate(maker, self._required(float(least)), suppress=self.share)


@dataclass(frozen=True)
class Problem1(KernelProblem):
    """No suppression: maximize the average privacy of the records, minimize the generalization loss."""

    privacy: Privacy = "k"
    on: On = None
    name: ClassVar[str] = "problem-1"
    kind = counting.KEEP_ALL

    @property
    def objectives(self) -> tuple[str, ...]:
        """Mean privacy, generalization loss."""
        return (f"weighted_{self.letter}", "generalization_loss")


@dataclass(frozen=True)
class Problem2(KernelProblem):
    """At most a share eta suppressed: maximize the privacy of the rest, minimize the loss."""

    eta: Eta
    privacy: Privacy = "k"
    on: On = None
    minimize: Minimized = "generalization_loss"

    name: ClassVar[str] = "problem-2"
    kind = counting.LIMITED

    @property
    def several(self) -> bool:
        """Whether one vector may represent several releases, one per threshold."""
        return self.every and self.eta > 0

    @property
    def objectives(self) -> tuple[str, ...]:
        """Privacy, loss."""
        return (self.letter, self.minimize)


@dataclass(frozen=True)
class Problem3(KernelProblem):
    """Groups below the mean privacy are suppressed: that mean, generalization and suppression loss.

    The mean is of all records before suppression; the measure `weighted_k` of the release is larger.
    """

    privacy: Privacy = "k"
    on: On = None
    name: ClassVar[str] = "problem-3"
    kind = counting.FREE

    @property
    def objectives(self) -> tuple[str, ...]:
        """Mean privacy, generalization loss, suppression loss."""
        return (f"weighted_{self.letter}_before", "generalization_loss", "suppression_loss")

    @property
    def axes(self) -> tuple[str, str]:
        """The remaining privacy, and the sum of both losses."""
        return (self.letter, "loss")

    def candidate(self, maker: CutVector, facts: Numbers) -> Candidate:
        """Return the candidate that requires the mean, with the necessary suppression."""
        return Candidate(
            maker, self._required(float(facts[counting.WEIGHTED])), suppress=float(facts[counting.SUPPRESSED])
        )


@dataclass(frozen=True)
class Problem4(KernelProblem):
    """(k, l)-safe with at most a share eta suppressed: maximize k and l, minimize the loss."""

    eta: Eta
    variant: Annotated[Literal["frequency", "distinct"], Option()] = "frequency"
    """The meaning of l: frequency (definition 4) or distinct (section 4.3)."""

    order: Annotated[Literal["sound", "paper"], Option()] = "sound"
    """sound; or paper, whose claims may be false, so it is never published."""

    preferred: Annotated[Literal["l", "k"], Option(when=("order", "paper"))] = "l"
    """The preferred one of k and l; the sound form returns all pairs."""

    on: On = None
    minimize: Minimized = "generalization_loss"
    name: ClassVar[str] = "problem-4"

    @property
    def privacy(self) -> str:  # type: ignore[override]
        """The diversity that is counted."""
        return f"l-{self.variant}"

    @property
    def publishable(self) -> bool:  # type: ignore[override]
        """Whether its claims are true; those of the paper's order may be false."""
        return self.order == "sound"

    @property
    def kind(self) -> int:
        """The rule of suppression."""
        if self.order == "sound":
            return counting.SAFE
        return counting.PAPER_L if self.preferred == "l" else counting.PAPER_K

    @property
    def several(self) -> bool:
        """Whether one vector may represent several releases, by l and by threshold."""
        return self.order == "sound"

    @property
    def objectives(self) -> tuple[str, ...]:
        """Size of groups, diversity, loss."""
        return ("k", self.letter, self.minimize)

    def _cost(self, name: str, facts: Numbers) -> Numbers:
        """Return the cost; here l is a whole number, as in the paper."""
        return -self._whole_l(facts) if name == self.letter else super()._cost(name, facts)

    def values(self, facts: Numbers) -> dict[str, float]:
        """Return the facts of one row by name, with the whole l."""
        return super().values(facts) | {self.letter: float(self._whole_l(facts))}

    def candidate(self, maker: CutVector, facts: Numbers) -> Candidate:
        """Return the candidate that requires both."""
        if self.order == "paper":
            raise refusal("unsound")
        diverse = LDiversity(int(self._whole_l(facts)), self.variant, on=self.on)
        return Candidate(maker, KAnonymity(int(facts[counting.PRIVACY])) & diverse, suppress=self.eta)

    def _whole_l(self, facts: Numbers) -> Numbers:
        return np.floor(facts[..., counting.LEAST] + counting.CLOSE)


def allowed(share: float, records: int) -> int:
    """Return the largest number of records within a share."""
    return int(share * records + 1e-9)


def rounded(costs: Numbers) -> Numbers:
    """Round costs, so that equal costs compare equal."""
    return costs.astype(np.float64).round(DIGITS)


@dataclass(frozen=True)
class MeasuredProblem(Problem):
    """Any two or more of our measures as objectives, under any requirement, measured on releases."""

    minimize: Annotated[str, Option()]
    """The measures, such as `p_loss, u_loss`; those of which higher is better are maximized."""

    require: Annotated[str, Option(takes="requirement")] = "k-anonymity k=1"
    """The requirement of every release."""

    suppress: Annotated[float, Option(least=0, most=1)] = 0.0
    """The largest share of suppressed records."""

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
                raise BadInputError(f"minimize: {name} measures sets of items, but cuts make releases of tables")
            if self.objectives.count(name) > 1:
                raise BadInputError(f"minimize: {name} appears twice; name different measures")

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
        """Prepare the scales once; then every vector is made and measured as a release."""
        clever = any(name in RECONSTRUCTED for name in self.objectives)
        scales = self.scales if clever else replace(self.scales, reader=UniformReader())
        if not any(map(_is_learned, self.objectives)):
            scales = replace(scales, classification=None)
        if not any(name in FIDELITY for name in self.objectives):
            scales = replace(scales, fidelity=None)
        if not any(name in ANALYSIS for name in self.objectives):
            scales = replace(scales, analysis=None)
        if not any(name in ATTACK_MEASURES for name in self.objectives):
            scales = replace(scales, attacks=None)
        scales = scales.having(self.objectives)
        prepared = scales.prepare(table).ready()

        def judged(vectors: Bits) -> list[Numbers]:
            return [np.array([self._measured(prepared, space.text(vector))]) for vector in vectors]

        return judged

    def _measured(self, prepared: Prepared, cuts: str) -> Sequence[float]:
        """Measure one release; infinite costs if the requirement cannot be satisfied."""

        def made(table: Table) -> Release:
            return CutVector(cuts).anonymize(table, requirement(self.require), suppress=self.suppress)

        try:
            release = made(prepared.table)
        except InfeasibleError:
            return [math.nan] * len(self.objectives)
        values = dict(prepared.measure(release).values)
        if prepared.attacks is not None:  # attacks find nothing if too few records remain without the control
            values |= dict.fromkeys(ATTACK_MEASURES, math.nan)
            values |= prepared.attacks.attacked([release], lambda table, turn: [made(table)]).measures
        lacking = [name for name in self.objectives if name not in values]
        if lacking:
            raise BadInputError(f"minimize: {lacking[0]} cannot be measured on this table: {_why(lacking[0])}")
        return [values[name] for name in self.objectives]

    def costs(self, facts: Numbers) -> Numbers:
        """Return measures as costs."""
        signs = np.array([cost(name, 1.0) for name in self.objectives])
        return np.where(np.isnan(facts), np.inf, rounded(facts * signs))

    def values(self, facts: Numbers) -> dict[str, float]:
        """Return the measures by name."""
        return dict(zip(self.objectives, map(float, facts), strict=True))

    def candidate(self, maker: CutVector, facts: Numbers) -> Candidate:
        """Return the candidate with the requirement of the problem."""
        return Candidate(maker, requirement(self.require), suppress=self.suppress)


def _is_learned(name: str) -> bool:
    return name.startswith("workload") or name == "utility_gain"


def _why(name: str) -> str:
    if _is_learned(name):
        return "it needs a column to learn (scales with a classification)"
    return "it needs a sensitive attribute" if MEASURES[name].needs_sensitive else "it is not defined here"


PROBLEMS: tuple[type[Problem], ...] = (Problem1, Problem2, Problem3, Problem4, MeasuredProblem)


def problem(text: str) -> Problem:
    """Parse a problem from its text form, such as `problem-2 eta=0.1`."""
    return parse(text, PROBLEMS, "problem")


AT_ONCE = 8
"""Vectors per task of a thread."""

MOST_KEPT = 2**28
"""Bytes of facts that are kept; those of further vectors are computed again when met."""


class Evaluator:
    """Evaluates vectors, each once, by several threads."""

    def __init__(self, table: Table, wanted: Problem, space: CutSpace, workers: int | None = None) -> None:
        self.judge = wanted.judge(table, space)
        self.crew = Crew(workers)
        self.known: dict[bytes, Numbers | None] = {}
        """The facts of each met vector; None if its facts are not kept."""

        self.kept = 0
        self.seconds = 0.0

    def facts(self, vectors: Bits) -> tuple[list[Numbers], NDArray[np.int64]]:
        """Return the rows of facts of vectors, and the indices of new ones."""
        keys = [vector.tobytes() for vector in vectors]
        lacking = {key: i for i, key in reversed(list(enumerate(keys))) if self.known.get(key) is None}
        needed = np.array(sorted(lacking.values()), np.int64)
        fresh = np.array([i for i in needed if keys[i] not in self.known], np.int64)
        rows = {key: facts for key in keys if (facts := self.known.get(key)) is not None}
        for i, facts in zip(needed, self.worked_out(vectors[needed]), strict=True):
            rows[keys[i]] = facts
            self.kept += facts.nbytes
            self.known[keys[i]] = facts.copy() if self.kept <= MOST_KEPT else None
        return [rows[key] for key in keys], fresh

    def worked_out(self, vectors: Bits) -> list[Numbers]:
        """Evaluate vectors without looking them up."""
        started = time.perf_counter()
        parts = [vectors[i : i + AT_ONCE] for i in range(0, len(vectors), AT_ONCE)]
        facts = self.crew.all(self.judge, parts)
        self.seconds += time.perf_counter() - started
        return [rows for part in facts for rows in part]
