"""The publisher's questions of Dewri et al. (section 1), each one call: how much privacy is there for so much loss?

1. `without_suppression(table, loss=0.25)`: nothing suppressed;
2. `with_suppression(table, suppress=0.1, loss=0.25)`: at most a tenth suppressed;
3. `k_and_l(table, loss=0.25)`: protection against both kinds of attack;
4. `k_and_l(table, suppress=0.1, loss=0.2, relaxed=0.21)`: and what a little more loss would buy.

Loss is generalization and suppression loss together, so what is searched makes that sum small. Every answer comes with
its neighbours on the frontier, and every point of it can be published (`point.candidate`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.anonymizers import CutSpace
from sfumato.configuration import check_number
from sfumato.errors import BadInputError
from sfumato.table import Table
from sfumato.tradeoff.archive import Frontier, FrontierPoint
from sfumato.tradeoff.pareto import NSGA2, pareto
from sfumato.tradeoff.problems import Counted, Problem, Problem1, Problem2, Problem4

EQUAL = 1e-9


@dataclass(frozen=True)
class Answer:
    """What is known of a question."""

    question: str
    best: tuple[FrontierPoint, ...]
    """The releases within the loss that no other within it beats in privacy; none if nothing fits."""

    cheaper: FrontierPoint | None
    """The next point on the frontier with less privacy than the best and less loss."""

    dearer: FrontierPoint | None
    """The point of least loss beyond the bound: what the next step would cost."""

    bought: tuple[FrontierPoint, ...]
    """What the relaxed bound offers and the bound does not."""

    frontier: Frontier

    def __str__(self) -> str:
        lines = [self.question]
        lines += [f"  {_said(point)}" for point in self.best] or ["  No release that was found keeps within this loss."]
        if self.cheaper is not None:
            lines.append(f"  With less privacy: {_said(self.cheaper)}")
        if self.dearer is not None:
            lines.append(f"  The next step: {_said(self.dearer)}")
        lines += [f"  With the relaxed bound also: {_said(point)}" for point in self.bought]
        return "\n".join(lines)


def without_suppression(
    table: Table,
    loss: float = 0.25,
    assured: bool = True,
    space: CutSpace | None = None,
    solver: NSGA2 | None = None,
    seconds: float | None = None,
) -> Answer:
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
) -> Answer:
    """Question 2: the largest k with at most a share of the records suppressed, within a loss."""
    frontier = pareto(table, Problem2(suppress, minimize="loss"), space, solver, seconds)
    return answer(f"k, at most {suppress:.0%} of the records suppressed, loss at most {loss:.0%}:", frontier, loss)


def k_and_l(
    table: Table,
    suppress: float = 0.0,
    loss: float = 0.25,
    relaxed: float | None = None,
    variant: str = "frequency",
    on: str | None = None,
    space: CutSpace | None = None,
    solver: NSGA2 | None = None,
    seconds: float | None = None,
) -> Answer:
    """Questions 3 and 4: which pairs (k, l) can be had together within a loss, and which more within a relaxed one."""
    wanted = Problem4(suppress, variant, on=on, minimize="loss")
    frontier = pareto(table, wanted, space, solver, seconds)
    asked = f"k and l ({variant}), at most {suppress:.0%} of the records suppressed, loss at most {loss:.0%}:"
    return answer(asked, frontier, loss, relaxed)


def within(frontier: Frontier, loss: float) -> tuple[FrontierPoint, ...]:
    """Return the points within a loss that none other within it equals or beats in privacy, the largest k first."""
    names = [name for name in frontier.problem.objectives if not name.endswith("loss")]
    inside = sorted(
        (point for point in frontier if point.values["loss"] <= loss + EQUAL),
        key=lambda point: ([-point.values[name] for name in names], point.values["loss"]),
    )
    kept: list[FrontierPoint] = []
    for point in inside:
        if not _offered(point, kept, names):
            kept.append(point)
    return tuple(kept)


def bought(frontier: Frontier, loss: float, relaxed: float) -> tuple[FrontierPoint, ...]:
    """Return what a relaxed loss offers: the best points within it that no point within the loss equals or beats."""
    names = [name for name in frontier.problem.objectives if not name.endswith("loss")]
    before = within(frontier, loss)
    return tuple(point for point in within(frontier, relaxed) if not _offered(point, before, names))


def _offered(point: FrontierPoint, others: Sequence[FrontierPoint], names: Sequence[str]) -> bool:
    return any(all(other.values[name] >= point.values[name] for name in names) for other in others)


def check_question(wanted: Problem, loss: float, relaxed: float | None) -> None:
    """Raise unless this can be asked of a problem."""
    check_number("loss", loss, least=0, most=1)
    if relaxed is not None and not loss < relaxed <= 1:
        raise BadInputError(f"relaxed must be more than loss ({loss:g}) and at most 1, not {relaxed!r}")
    if not isinstance(wanted, Counted):
        raise BadInputError(f"what fits a loss is asked of problems 1 to 4, not of {wanted.name}")


def answer(question: str, frontier: Frontier, loss: float, relaxed: float | None = None) -> Answer:
    """Say what a frontier of one of the four problems offers within a loss, and what more within a relaxed one."""
    check_question(frontier.problem, loss, relaxed)
    best = within(frontier, loss)
    beyond = [point for point in frontier if point.values["loss"] > loss + EQUAL]
    below = [point for point in frontier if best and point.values["loss"] < best[0].values["loss"] - EQUAL]
    return Answer(
        question,
        best,
        max(below, key=lambda point: point.values["loss"], default=None) if len(best) == 1 else None,
        min(beyond, key=lambda point: point.values["loss"], default=None),
        () if relaxed is None else bought(frontier, loss, relaxed),
        frontier,
    )


def _said(point: FrontierPoint) -> str:
    """Put a point into words: privacy first, then losses."""
    values = point.values
    shown = [
        f"{name.replace('_', ' ')} {value:,.2f}".removesuffix(".00")
        for name, value in values.items()
        if "loss" not in name
    ]
    loss = f"{values['generalization_loss']:.1%} by generalization, {values['suppression_loss']:.1%} by suppression"
    return f"{', '.join(shown)} at a loss of {values['loss']:.1%} ({loss})"
