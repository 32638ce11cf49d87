"""The section `[search]` of a study: how time is spent on candidates that are not listed.

`explore` with a budget, `ask --search` and the preset `dewri` read it. The study of a map contains it, so a search can
continue. Its texts are parsed when a plan is made, so an invalid one is refused with the study.
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
"""The default number of points of a problem's frontier on its map."""


@dataclass(frozen=True)
class SearchPlan:
    """How time is spent on further candidates: how long, within which bounds, by which makers, over which cuts."""

    budget: Annotated[str | None, Option()] = None
    """How long to search: a time such as 60s or 5m."""

    within: Annotated[str | None, Option(takes="bounds")] = None
    """Bounds as in a question, such as "loss 0.25 and suppressed 5%": releases outside them are not searched."""

    require: Annotated[str | None, Option(takes="requirement")] = None
    """An additional requirement for every candidate that the search proposes."""

    makers: Annotated[tuple[str, ...], Option()] = ()
    """Names of the anonymizers that the search may propose; default: all."""

    problem: Annotated[str | None, Option(takes="problem")] = None
    """The problem of the search over cuts: "problem-2 eta=0.1 minimize=loss"; default: the axes."""

    solver: Annotated[str | None, Option(takes="solver")] = None
    """The solver of the search over cuts: "nsga2 operators=paper"."""

    exact: Annotated[bool | None, Option()] = None
    """Whether all cuts are enumerated; default: if they are few and no solver is given."""

    constrained: Annotated[tuple[str, ...] | None, Option(takes="columns")] = None
    """Columns to cut along their hierarchy only; default: all but numbers."""

    levels: Annotated[tuple[str, ...], Option()] = ()
    """The finest level that a column may show, such as age=1; for numbers, age=0 allows cuts within bands."""

    points: Annotated[
        int | None,
        Option(
            f"The maximum number of cut vectors on the map; for a problem ({POINTS}) evenly spaced on its frontier.",
            least=1,
        ),
    ] = None

    def __post_init__(self) -> None:
        check_options(self)
        for name in self.makers:
            check_choice("makers", name, [kind.name for kind in makers()])
        _ = self.seconds, self.bounds, self.required, self.nsga2, self.finest, self.wanted(Scales())
        if self.exact and self.solver is not None:
            raise BadInputError("exact enumerates all cuts, so a solver has no effect; give one of the two")

    @property
    def seconds(self) -> float | None:
        """The budget in seconds."""
        from sfumato.tradeoff.search.tuner import read_budget  # tuners import studies

        return None if self.budget is None else read_budget(self.budget)

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The bounds of the search."""
        return () if self.within is None else read_within(self.within)

    @property
    def required(self) -> Requirement | None:
        """The additional requirement of every proposed candidate."""
        return None if self.require is None else requirement(self.require)

    def joined(self, other: Requirement) -> Requirement:
        """Return a requirement with the additional one before it, each part once."""
        more = () if self.required is None else self.required.parts
        lacking = tuple(part for part in more if part not in other.parts)
        return All((*lacking, *other.parts)) if lacking else other

    def proposes(self, maker: str) -> bool:
        """Return whether the search may propose releases of a maker."""
        return not self.makers or maker in self.makers

    @property
    def only_cuts(self) -> bool:
        """Whether it only searches cuts for a problem; such a search ends without a time limit."""
        return self.problem is not None and self.makers == (CUTS,)

    def wanted(self, scales: Scales) -> Problem | None:
        """Return the problem over cuts, on the scales of the study if it is a measured one."""
        from sfumato.tradeoff.search.problems import problem  # problems import candidates

        return None if self.problem is None else problem(self.problem).on_scales(scales)

    @property
    def nsga2(self) -> NSGA2 | None:
        """The solver of the search over cuts, if given."""
        from sfumato.tradeoff.search.pareto import read_solver  # searches import candidates

        return None if self.solver is None else read_solver(self.solver)

    @property
    def finest(self) -> dict[str, int]:
        """The finest levels by column."""
        return read_levels(self.levels)

    def space(self, cells: Cells) -> CutSpace:
        """Return the searched cuts of a table; for numbers and dates, those between bands."""
        constrained = None if self.constrained is None else list(self.constrained)
        return cut_space(cells, constrained, self.finest, between_bands=True)


def read_levels(texts: Sequence[str]) -> dict[str, int]:
    """Parse the finest levels of columns: `age=1`."""
    levels = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or not value.strip().isdigit():
            raise BadInputError(f"level {text!r}: write a column and a level of its hierarchy, such as age=1")
        levels[name.strip()] = int(value)
    return levels
