"""The publisher's questions of Dewri et al. (section 1), each one call: how much privacy is there for so much loss?

1. `without_suppression(table, loss=0.25)`: nothing suppressed;
2. `with_suppression(table, suppress=0.1, loss=0.25)`: at most a tenth suppressed;
3. `k_and_l(table, loss=0.25)`: protection against both kinds of attack;
4. `k_and_l(table, suppress=0.1, loss=0.2, relaxed=0.21)`: and what a little more loss would buy.

Loss is generalization and suppression loss together, so what is searched makes that sum small. Every answer comes with
its neighbours on the frontier, and every point of it can be published (`point.candidate`). The same questions can be
put to a map, where nothing is searched: `choice/reply`.
"""

from __future__ import annotations

from typing import Literal

from sfumato.anonymizers import CutSpace
from sfumato.errors import BadInputError
from sfumato.table import Table
from sfumato.tradeoff.choice.answers import Answer, answered, best_within, check_losses
from sfumato.tradeoff.search.archive import Frontier, FrontierPoint
from sfumato.tradeoff.search.pareto import NSGA2, pareto
from sfumato.tradeoff.search.problems import KernelProblem, Problem, Problem1, Problem2, Problem4


def without_suppression(
    table: Table,
    loss: float = 0.25,
    assured: bool = True,
    space: CutSpace | None = None,
    solver: NSGA2 | None = None,
    seconds: float | None = None,
) -> Answer[FrontierPoint]:
    """Question 1: the largest k without suppression within a loss; `assured=False` asks for the average record's."""
    wanted = Problem2(0.0, minimize="loss") if assured else Problem1()
    frontier = pareto(table, wanted, space, solver, seconds)
    who = "every record" if assured else "the average record"
    return answer(f"k of {who}, no record suppressed, loss at most {loss:.0%}:", frontier, loss)


def with_suppression(
    table: Table,
    suppress: float = 0.1,
    loss: float = 0.25,
    space: CutSpace | None = None,
    solver: NSGA2 | None = None,
    seconds: float | None = None,
) -> Answer[FrontierPoint]:
    """Question 2: the largest k with at most a share of the records suppressed, within a loss."""
    frontier = pareto(table, Problem2(suppress, minimize="loss"), space, solver, seconds)
    return answer(f"k, at most {suppress:.0%} of the records suppressed, loss at most {loss:.0%}:", frontier, loss)


def k_and_l(
    table: Table,
    suppress: float = 0.0,
    loss: float = 0.25,
    relaxed: float | None = None,
    variant: Literal["frequency", "distinct"] = "frequency",
    on: str | None = None,
    space: CutSpace | None = None,
    solver: NSGA2 | None = None,
    seconds: float | None = None,
) -> Answer[FrontierPoint]:
    """Questions 3 and 4: which pairs (k, l) can be had together within a loss, and which more within a relaxed one."""
    wanted = Problem4(suppress, variant, on=on, minimize="loss")
    frontier = pareto(table, wanted, space, solver, seconds)
    asked = f"k and l ({variant}), at most {suppress:.0%} of the records suppressed, loss at most {loss:.0%}:"
    return answer(asked, frontier, loss, relaxed)


def within(frontier: Frontier, loss: float) -> tuple[FrontierPoint, ...]:
    """Return the points within a loss that none other within it equals or beats in privacy, the largest k first."""
    return best_within(frontier, frontier.problem.privacies, loss)


def bought(frontier: Frontier, loss: float, relaxed: float) -> tuple[FrontierPoint, ...]:
    """Return what a relaxed loss offers: the best points within it that no point within the loss equals or beats."""
    return answered("", frontier, frontier.problem.privacies, loss, relaxed).bought


def check_question(wanted: Problem, loss: float, relaxed: float | None) -> None:
    """Raise unless this can be asked of a problem."""
    check_losses(loss, relaxed)
    if not isinstance(wanted, KernelProblem):
        raise BadInputError(f"what fits a loss is asked of problems 1 to 4, not of {wanted.name}")


def answer(question: str, frontier: Frontier, loss: float, relaxed: float | None = None) -> Answer[FrontierPoint]:
    """Say what a frontier of one of the four problems offers within a loss, and what more within a relaxed one."""
    check_question(frontier.problem, loss, relaxed)
    return answered(question, frontier, frontier.problem.privacies, loss, relaxed)
