"""The verdicts on releases: is each worth it against the trivial sanitizations, for the column that was learned?

Brickell & Shmatikov (2008) ask it: a release has to give a researcher more than the better trivial sanitization does,
and what it gives is to be held against what an adversary gains. Accuracies are shares, gains differences of them.
`report/verdicts.py` has the sentences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sfumato.measures.classification.classification import Classification
from sfumato.runtime.arrays import Quiet

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Map, Point

VERDICTS = {
    "better": "beats both trivial sanitizations",
    "no better": "does not beat the better trivial sanitization",
    "not shown": "not shown to beat the better trivial sanitization: the interval of its gain contains zero",
}
"""By verdict, what it means."""


@dataclass(frozen=True, repr=False)
class Verdicts(Quiet):
    """What the releases of a map are worth for the workload of its study."""

    map_: Map
    workload: Classification

    @staticmethod
    def of(map_: Map) -> Verdicts | None:
        """Return the verdicts of a map; None where no column was learned."""
        workload = map_.study.learned
        if workload is None or all(point.worth is None for point in map_.points):
            return None
        return Verdicts(map_, workload)

    @cached_property
    def known(self) -> list[Point]:
        """All points that were compared, trivial sanitizations and original included."""
        return [point for point in self.map_.points if point.worth is not None]

    @cached_property
    def releases(self) -> list[Point]:
        """The releases that were judged, the largest gain first."""
        judged = [point for point in self.known if not point.is_baseline]
        return sorted(judged, key=lambda point: (-worth_of(point)["gain"], point.id))

    @cached_property
    def by_verdict(self) -> dict[str, list[str]]:
        """The ids of the judged releases by verdict."""
        return {verdict: [p.id for p in self.releases if worth_of(p)["verdict"] == verdict] for verdict in VERDICTS}

    @cached_property
    def has_adversary(self) -> bool:
        """Whether there is a sensitive value for an adversary to guess."""
        return any("a_acc" in point.measures for point in self.known)

    @property
    def marks(self) -> str:
        """What the marks of the map mean; nothing where no release is marked."""
        crossed, struck = (bool(self.by_verdict[verdict]) for verdict in ("no better", "not shown"))
        beat = f"beat the better trivial sanitization at learning {self.workload.target}"
        if crossed:
            other = "; a single stroke marks one that is not shown to" if struck else ""
            return f"A cross marks a release that does not {beat}{other}."
        return f"A stroke marks a release that is not shown to {beat}." if struck else ""


def worth_of(point: Point) -> Mapping[str, Any]:
    """Return the worth of a point that has one."""
    assert point.worth is not None
    return point.worth


def mark_of(point: Point) -> str:
    """Name the mark of a point on the map: its verdict, where it is a release that is not the better for it."""
    if point.is_baseline or point.worth is None or point.worth["verdict"] == "better":
        return ""
    return str(point.worth["verdict"])
