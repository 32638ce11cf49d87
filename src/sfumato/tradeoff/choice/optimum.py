"""How far from the best possible an answer can be, where that is known.

- The limit line: no truthful release with at most this P_loss has less U_loss (`tradeoff/limit`), whoever makes it.
- The exact lattice: `full-domain` decides every combination of whole levels, so a point of it says of all others that
  satisfy what it was required to, with at most as many records suppressed, that none has less loss.

Further bounds of a question only leave fewer releases, so both hold with them too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isfinite
from typing import TYPE_CHECKING

from sfumato.anonymizers import FullDomain
from sfumato.measures import MEASURES
from sfumato.requirements import KAnonymity
from sfumato.tradeoff.choice.question import SHARE, Question
from sfumato.tradeoff.dominance import cost

if TYPE_CHECKING:
    from sfumato.tradeoff.limit.limit import Limit
    from sfumato.tradeoff.map import Map, Point

LINE, LATTICE = "limit", "lattice"
EVERY_LEVEL = FullDomain()
"""What decides all combinations of levels by the loss that is measured."""


@dataclass(frozen=True)
class Optimum:
    """A value of the measure that is asked for which no release can better."""

    measure: str
    value: float
    kind: str
    """limit: of all truthful releases; lattice: of those with one level for every column."""

    gap: float
    """How much better than the answer that is: 0 where the answer is the best there is of this kind."""


def optimum(map_: Map, question: Question, point: Point) -> Optimum | None:
    """Return what is known of the best possible; None where nothing is, or the answer is beyond it already."""
    if len(question.asked) > 1:
        return None
    name = question.asked[0]
    for kind, value in ((LINE, _line(map_.limit, question)), (LATTICE, _lattice(map_, question))):
        if value is not None:
            gap = cost(name, point.measures[name]) - cost(name, value)
            says_nothing = gap > 0 and value <= MEASURES[name].least  # everybody knows that
            if gap >= -1e-9 and not says_nothing:
                return Optimum(name, value, kind, max(gap, 0.0))
    return None


def _line(limit: Limit | None, question: Question) -> float | None:
    """Return the least u_loss within a p_loss, or the other way round."""
    if limit is None:
        return None
    most = {bound.measure: bound.value for bound in question.bounds if bound.side == "max"}
    if question.asked == ("u_loss",) and "p_loss" in most:
        return limit.at(most["p_loss"])
    if question.asked == ("p_loss",) and "u_loss" in most:
        return _least_p_loss(limit, most["u_loss"])
    return None


def _least_p_loss(limit: Limit, u_loss: float) -> float:
    """Return where the line comes down to a u_loss: it is convex and falls, so once."""
    if limit.points[0][1] <= u_loss:
        return limit.points[0][0]
    for (x, y), (x2, y2) in pairwise(limit.points):
        if y2 <= u_loss < y:
            return x + (x2 - x) * (y - u_loss) / (y - y2)
    return limit.points[-1][0]


def _lattice(map_: Map, question: Question) -> float | None:
    """Return the least loss of whole levels with a k, or the largest k within a loss."""
    within = {(bound.measure, bound.side): bound for bound in question.bounds}
    share = within[SHARE, "max"].value if (SHARE, "max") in within else 1.0
    if question.asked == ("loss",) and ("k", "min") in within:
        least_k = within["k", "min"].value
        return max((loss for k, loss in _least_losses(map_, share) if k <= least_k and isfinite(loss)), default=None)
    if question.asked == ("k",) and ("loss", "max") in within:
        bound = within["loss", "max"]
        beyond = [k for k, loss in _least_losses(map_, share) if bound.outside(loss)]
        return min(beyond) - 1.0 if beyond else None
    return None


def _least_losses(map_: Map, share: float) -> Iterator[tuple[int, float]]:
    """List, for k that all levels were decided for, what no transformation with at most a share suppressed is below.

    Where fewer records could be suppressed than the share, one that suppresses more has at least that loss.
    """
    for point in map_.points:
        candidate = point.candidate
        exact = candidate.anonymizer == EVERY_LEVEL and point.form == "generalization"
        if exact and isinstance(candidate.requirement, KAnonymity) and point.status != "failed":
            loss = point.measures["loss"] if point.has(["loss"]) else inf
            yield candidate.requirement.k, loss if candidate.suppress >= share else min(loss, candidate.suppress)
