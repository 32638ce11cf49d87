"""Where the axes disagree: releases that look good by one measure and bad by another of the same kind, in words.

One place for what the report, `explore` and `choose` say. The rule is written down and no matter of taste: among the
measured releases (trivial sanitizations and the original left out) a release looks good by a measure when fewer than a
third of them are strictly better, and bad when fewer than a third are strictly worse; where both hold, because most
are alike, it looks neither. A measure that is an axis is compared with the others of its kind in `COMPARED`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from statistics import median
from typing import ClassVar

from sfumato.measures import MEASURES
from sfumato.phrases import counted, listed, number, percent
from sfumato.quiet import Quiet
from sfumato.tradeoff.map import Map, Point, cost

COMPARED = {
    "risk": ("p_loss", "a_know", "attack_accuracy", "definetti_accuracy"),
    "utility": ("u_loss", "u_loss_em", "query_error", "query_error_em"),
}
"""What is held against an axis: the worst and the mean person's loss, two attacks; two readers of two tasks."""

THIRDS = {
    ("risk", "good"): "safer",
    ("risk", "bad"): "riskier",
    ("utility", "good"): "more useful",
    ("utility", "bad"): "less useful",
}
FEWEST = 6
"""Among fewer releases than this a third says nothing."""

ALIKE = 1e-9
"""Measures closer than this, relative to their size, are equal."""

READ = ("u_loss", "u_loss_em", "definetti_accuracy", "definetti_gain")


@dataclass(frozen=True, repr=False)
class Standing(Quiet):
    """Where a release stands by one measure among those that have it."""

    spoken: ClassVar[tuple[str, ...]] = ("measure", "side")

    measure: str
    value: float
    rank: int
    """1 is the best; releases that are equal share the best of their ranks."""

    of: int
    side: str
    """good, bad, or nothing."""


@dataclass(frozen=True, repr=False)
class Disagreement(Quiet):
    """A release that looks good by an axis and bad by other measures of the same kind, or the other way round."""

    spoken: ClassVar[tuple[str, ...]] = ("point",)

    point: Point
    axis: Standing
    others: tuple[Standing, ...]

    @property
    def said(self) -> str:
        """Say it in a sentence."""
        kind = MEASURES[self.axis.measure].kind
        first, second = (THIRDS[kind, side] for side in (self.axis.side, self.others[0].side))
        return (
            f"By {self.axis.measure} it is among the {first} third of the releases ({_place(self.axis)}), but among "
            f"the {second} third by {listed([self._told(own) for own in self.others])}."
        )

    def _told(self, own: Standing) -> str:
        return f"{own.measure} ({_place(own)}{_beside(self.point, own.measure)})"


@dataclass(frozen=True, repr=False)
class Disagreements(Quiet):
    """What the measures of a map say of its releases where they do not say the same."""

    shown: Map

    @staticmethod
    def of(shown: Map) -> Disagreements | None:
        """Return the disagreements of a map; None where it has too few releases to rank them."""
        found = Disagreements(shown)
        return found if len(found.releases) >= FEWEST else None

    @cached_property
    def releases(self) -> list[Point]:
        """The measured releases, without trivial sanitizations and the original."""
        return [point for point in self.shown.points if point.status == "measured" and not point.is_baseline]

    @cached_property
    def _costs(self) -> dict[str, list[float]]:
        """Of every measure the costs of all releases that have it, the best first."""
        return {name: sorted(cost(name, p.measures[name]) for p in self.releases if p.has([name])) for name in MEASURES}

    def standing(self, point: Point, measure: str) -> Standing | None:
        """Say where a release stands by a measure; None where too few releases have it, or this one has not."""
        known = self._costs[measure]
        if point.is_baseline or not point.has([measure]) or len(known) < FEWEST:
            return None
        own = cost(measure, point.measures[measure])
        near = ALIKE * abs(own) if isfinite(own) else 0.0
        better, worse = bisect_left(known, own - near), len(known) - bisect_right(known, own + near)
        good, bad = 3 * better < len(known), 3 * worse < len(known)
        side = "" if good == bad else "good" if good else "bad"
        return Standing(measure, point.measures[measure], better + 1, len(known), side)

    @cached_property
    def compared(self) -> dict[str, list[str]]:
        """For each axis of the study the other measures of its kind that are held against it and are known."""
        found = {}
        for axis in self.shown.study.axes:
            others = [name for name in COMPARED[MEASURES[axis].kind] if name != axis]
            found[axis] = [name for name in others if len(self._costs[name]) >= FEWEST]
        return {axis: others for axis, others in found.items() if others and len(self._costs[axis]) >= FEWEST}

    def of_point(self, point: Point, axes: Sequence[str] = ()) -> list[Disagreement]:
        """List where the axes (the study's, unless others are given) and the measures held against them disagree."""
        found = []
        for name in axes or self.shown.study.axes:
            axis = self.standing(point, name)
            if axis is None or not axis.side:
                continue
            beside = [self.standing(point, other) for other in COMPARED[MEASURES[name].kind] if other != name]
            apart = tuple(own for own in beside if own is not None and own.side and own.side != axis.side)
            found += [Disagreement(point, axis, apart)] if apart else []
        return found

    @cached_property
    def frontier(self) -> list[Point]:
        """The releases on the frontier of the study's axes."""
        return [point for point in self.shown.frontier() if not point.is_baseline]

    @cached_property
    def on_frontier(self) -> list[Disagreement]:
        """All disagreements about releases on the frontier, in its order."""
        return [own for point in self.frontier for own in self.of_point(point)]

    # -- in words

    def rule(self) -> str:
        """Say when a release looks good or bad, and by what."""
        pairs = [f"{axis} with {listed(others)}" for axis, others in self.compared.items()]
        return (
            f"Among {counted(len(self.releases), 'release')}, one looks good by a measure when fewer than a third are "
            "better by it, and bad when fewer than a third are worse; when both hold it looks neither. "
            f"Compared were {listed(pairs)}."
        )

    def tally(self) -> str:
        """Say how many releases of the frontier look good by one measure and bad by another."""
        torn, many = {own.point.id for own in self.on_frontier}, counted(len(self.frontier), "release")
        if not torn:
            return f"None of the {many} on the frontier looks good by one measure and bad by another of the same kind."
        return (
            f"{len(torn):,} of the {many} on the frontier {'looks' if len(torn) == 1 else 'look'} good by one measure "
            "and bad by another of the same kind."
        )

    def readers(self) -> str:
        """Say what reading across groups gives the researcher and the adversary; nothing where it was not measured."""
        known = [point.measures for point in self.releases if point.has(READ)]
        if not known:
            return ""
        plain, clever = (number(median(own[name] for own in known)) for name in ("u_loss", "u_loss_em"))
        right = percent(median(own["definetti_accuracy"] for own in known))
        usual = percent(median(own["definetti_accuracy"] - own["definetti_gain"] for own in known))
        return (
            f"Half of the releases cost a researcher who assumes uniformity a u_loss of at most {plain}, and one who "
            f"learns across groups (u_loss_em) at most {clever}. The same inference serves an adversary who knows "
            f"everybody's group: the deFinetti attack guesses {right} of the people right in the median release, "
            f"against {usual} by the commonest value of each group."
        )


def _place(own: Standing) -> str:
    return f"{number(own.value)}, rank {own.rank:,} of {own.of:,}"


def _beside(point: Point, measure: str) -> str:
    """Say what an attack's accuracy is to be held against."""
    own = point.measures
    if measure == "definetti_accuracy" and "definetti_gain" in own:
        usual = own[measure] - own["definetti_gain"]
        return (
            f": the deFinetti attack is right about {percent(own[measure])} of the people, guessing the commonest "
            f"value of each group about {percent(usual)}"
        )
    if measure == "attack_accuracy" and own.get("empirical_breach", -1.0) > -1:
        usual = own[measure] / (1 + own["empirical_breach"])
        return (
            f": the attack is right about {percent(own[measure])} of the people, guessing the table's commonest value "
            f"about {percent(usual)}"
        )
    return ""
