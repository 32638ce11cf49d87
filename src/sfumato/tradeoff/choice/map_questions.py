"""The publisher's questions of Dewri et al. (section 1), put to a map: how much privacy is there for so much loss?

Nothing is searched: the answer is the best of the releases that stand on the map. Releases that show exact
quasi-identifiers (bucketizations, the trivial ones) and noisy ones have no such loss, so they do not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from sfumato.configuration import check_number
from sfumato.errors import BadInputError
from sfumato.measures import MEASURES
from sfumato.phrases import number
from sfumato.quiet import Quiet
from sfumato.requirements import KAnonymity, LDiversity, requirement
from sfumato.tradeoff.choice.answers import Answer, answered, check_losses, said
from sfumato.tradeoff.choice.bounds import Bound, check_measure
from sfumato.tradeoff.dominance import non_dominated
from sfumato.tradeoff.map import Map, Point

LOSSES = ("loss", "generalization_loss", "suppression_loss")


@dataclass(frozen=True, repr=False)
class Placed(Quiet):
    """A point of a map, with the measures that a question is about."""

    spoken: ClassVar[tuple[str, ...]] = ("point",)

    point: Point
    values: Mapping[str, float]

    def __str__(self) -> str:
        return f"{self.point.id}: {said(self.values)}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"point": self.point.id, "requirement": self.point.requirement, **self.values}


def ask(
    shown: Map,
    loss: float,
    relaxed: float | None = None,
    suppress: float | None = None,
    prefer: Sequence[str] = (),
    bounds: Sequence[Bound] = (),
) -> Answer[Placed]:
    """Say which privacy the releases of a map have within a loss, and what a relaxed loss would buy.

    `prefer` names the privacies, such as k or k and l_frequency; where none is named, those that every release of the
    map requires, or k. `suppress` is the largest share of suppressed records; None: as many as there are.
    """
    check_losses(loss, relaxed)
    if suppress is not None:
        check_number("suppress", suppress, least=0, most=1)
        bounds = [*bounds, Bound("suppression_loss", "max", suppress)]
    releases = [point for point in shown.points if _counts(point)]
    names = tuple(dict.fromkeys(prefer)) or _required(releases)
    for name in names:
        check_measure(name)
        if MEASURES[name].better != "higher":
            raise BadInputError(
                f"within a loss as much privacy as possible is asked for, such as k or l_distinct; less of {name} is "
                f"better: ask with --max loss={loss:g} --prefer {name}"
            )
    known = [point for point in releases if point.has([*names, *LOSSES])]
    if not known:
        raise BadInputError(f"no release of this map has {' and '.join(names)} and a loss; ask for another (--prefer)")
    inside = [point for point in known if all(bound.admits(point) for bound in bounds)]
    costs = [[*(-point.measures[name] for name in names), point.measures["loss"]] for point in inside]
    kept = non_dominated(np.array(costs, np.float64).reshape(len(inside), len(names) + 1))
    frontier = [
        Placed(own, {name: own.measures[name] for name in (*names, *LOSSES)}) for own in (inside[i] for i in kept)
    ]
    return answered(_question(names, loss, suppress, bounds), frontier, names, loss, relaxed)


def _counts(point: Point) -> bool:
    return (
        point.form == "generalization" and not point.is_baseline and not point.is_noisy and point.status == "measured"
    )


def _required(releases: Sequence[Point]) -> tuple[str, ...]:
    """Name the privacies that all releases require, k first; k where there is none."""
    found = []
    for point in releases:
        parts = requirement(point.requirement).parts
        own = {"k" for part in parts if isinstance(part, KAnonymity)}
        own |= {f"l_{part.variant}" for part in parts if isinstance(part, LDiversity)}
        found.append({name for name in own if name in MEASURES})
    common = reduce(set.__and__, found) if found else set()
    return tuple(sorted(common)) or ("k",)


def _question(names: Sequence[str], loss: float, suppress: float | None, bounds: Sequence[Bound]) -> str:
    """Put a question into words."""
    asked = [f"loss at most {loss:.4g}"]
    if suppress is not None:
        asked.append(
            "no record suppressed" if suppress == 0 else f"at most {number(suppress * 100)}% of the records suppressed"
        )
    asked += [str(bound) for bound in bounds if suppress is None or bound.measure != "suppression_loss"]
    return f"The most {' and '.join(names)} on this map, {', '.join(asked)}:"
