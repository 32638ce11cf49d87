"""The section `[search]` of a study: how time is spent on candidates that nobody has listed.

It is data like all of a study: `explore` with a budget, `ask --search` and the preset `dewri` (which only fills it in)
read it, and the study that a map keeps has it, so that a search goes on from there. What its texts stand for is read
when a plan is made, so that a wrong one is refused with the study.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from sfumato.anonymizers import makers
from sfumato.anonymizers.cut_vector.cut_vector import CutSpace, cut_space
from sfumato.config.options import Option, check_choice, check_options
from sfumato.data.cells import Cells
from sfumato.errors import BadInputError
from sfumato.measures.scales import Scales
from sfumato.requirements.requirement import All, Requirement, requirement
from sfumato.tradeoff.question.question import Bound, read_within

if TYPE_CHECKING:
    from sfumato.tradeoff.search.pareto import NSGA2
    from sfumato.tradeoff.search.problems import Problem

CUTS = "cut-vector"
POINTS = 40
"""Points of a problem's frontier on its map, where nothing is said."""


@dataclass(frozen=True)
class SearchPlan:
    """How time is spent on further candidates: how long, within which bounds, by which makers, over which cuts."""

    budget: Annotated[str | None, Option()] = None
    """How long to search: a time such as 60s or 5m."""

    within: Annotated[str | None, Option(takes="bounds")] = None
    """Bounds as in a question, such as "loss 0.25 and suppressed 5%": time is spent only where they hold."""

    require: Annotated[str | None, Option(takes="requirement")] = None
    """What every candidate that the search proposes must satisfy in addition."""

    makers: Annotated[tuple[str, ...], Option()] = ()
    """Names of the anonymizers that the search may propose; without any, all."""

    problem: Annotated[str | None, Option(takes="problem")] = None
    """What cuts are searched for: "problem-2 eta=0.1 minimize=loss"; without one, for the axes."""

    solver: Annotated[str | None, Option(takes="solver")] = None
    """How cuts are searched: "nsga2 operators=paper"."""

    exact: Annotated[bool | None, Option()] = None
    """Whether all cuts are looked at; where it is not said, if they are few and no solver named."""

    constrained: Annotated[tuple[str, ...] | None, Option(takes="columns")] = None
    """Columns to cut along their hierarchy only; where it is not said, all but numbers."""

    levels: Annotated[tuple[str, ...], Option()] = ()
    """The finest level that a column may show, such as age=1; of numbers, age=0 allows cuts within bands."""

    points: Annotated[
        int | None,
        Option(
            f"At most so many cut vectors are put on the map; of a problem ({POINTS}) evenly along its frontier.",
            least=1,
        ),
    ] = None

    def __post_init__(self) -> None:
        check_options(self)
        for name in self.makers:
            check_choice("makers", name, [kind.name for kind in makers()])
        _ = self.seconds, self.bounds, self.required, self.nsga2, self.finest, self.wanted(Scales())
        if self.exact and self.solver is not None:
            raise BadInputError("exact looks at all cuts, so there is nothing for a solver to do; give one of the two")

    @property
    def seconds(self) -> float | None:
        """The budget, in seconds."""
        from sfumato.tradeoff.search.tuner import read_budget  # tuners are about candidates of studies

        return None if self.budget is None else read_budget(self.budget)

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The bounds within which time is spent."""
        return () if self.within is None else read_within(self.within)

    @property
    def required(self) -> Requirement | None:
        """What every proposed candidate must satisfy in addition."""
        return None if self.require is None else requirement(self.require)

    def joined(self, other: Requirement) -> Requirement:
        """Return a requirement with what is required in addition before it, each part once."""
        more = () if self.required is None else self.required.parts
        lacking = tuple(part for part in more if part not in other.parts)
        return All((*lacking, *other.parts)) if lacking else other

    def proposes(self, maker: str) -> bool:
        """Say whether the search may propose releases of a maker."""
        return not self.makers or maker in self.makers

    @property
    def only_cuts(self) -> bool:
        """Whether it is the search of a problem over cuts and nothing else, which ends by itself."""
        return self.problem is not None and self.makers == (CUTS,)

    def wanted(self, scales: Scales) -> Problem | None:
        """Return the problem of the cuts, measured on the scales of the study where it is measured."""
        from sfumato.tradeoff.search.problems import problem  # problems are about candidates of studies

        return None if self.problem is None else problem(self.problem).on_scales(scales)

    @property
    def nsga2(self) -> NSGA2 | None:
        """How cuts are searched, where that is said."""
        from sfumato.tradeoff.search.pareto import read_solver  # searches are about candidates of studies

        return None if self.solver is None else read_solver(self.solver)

    @property
    def finest(self) -> dict[str, int]:
        """The finest levels by column."""
        return read_levels(self.levels)

    def space(self, cells: Cells) -> CutSpace:
        """Return the cuts of a table that are searched: of numbers and dates, those between bands."""
        constrained = None if self.constrained is None else list(self.constrained)
        return cut_space(cells, constrained, self.finest, between_bands=True)


def read_levels(texts: Sequence[str]) -> dict[str, int]:
    """Read the finest levels of columns: `age=1`."""
    levels = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or not value.strip().isdigit():
            raise BadInputError(f"level {text!r}: write a column and a level of its hierarchy, such as age=1")
        levels[name.strip()] = int(value)
    return levels
