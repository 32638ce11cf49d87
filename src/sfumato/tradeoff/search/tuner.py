"""Tuning: a budget of time is spent where the staircase of the frontier has its largest steps.

The study's own candidates come first. Then families of candidates (`dials`) are tried at a few values each, and between
two neighbouring values of a family whatever promises most is tried next: the point half way, a little better than
the straight line, and how much area it would take from under the staircase, times how well promises of that family
were kept so far. No clock has a say in what is tried next, only in when to stop: more time continues the same
sequence, so the frontier never gets worse with a larger budget, and a run that was stopped goes on from what is kept.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from math import inf
from pathlib import Path

from sfumato.errors import BadInputError
from sfumato.process.interrupts import Cancel
from sfumato.table import Table
from sfumato.tradeoff.exploration.exploration import Exploration, Progress
from sfumato.tradeoff.limit.score import Frame, Place, drawable, place
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.search.families import Family, families_of
from sfumato.tradeoff.study.study import Candidate, Grid, Study, of_table, read_study

AT_ONCE = 4
"""Candidates that are decided on together; fixed, so that the number of workers has no say."""

HOPE = 1 / 3
"""How far beyond the straight line between two releases, towards the better of each measure, a new one is hoped for."""

DOUBT = 0.002
"""Area of promises, as a share of the whole, after which a family is judged by what it kept of them."""

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def read_budget(text: str) -> float:
    """Read a stretch of time such as 60s, 5m or 1h, in seconds."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text)
    if match is None or match[2] not in UNITS or not 0 < float(match[1]) * UNITS[match[2]] <= 30 * 86400:
        raise BadInputError(f"budget {text!r}: write a time such as 60s, 5m or 1h")
    return float(match[1]) * UNITS[match[2]]


def tune(
    study: Study | str,
    seconds: float = inf,
    cache: Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    table: Table | None = None,
    tries: int | None = None,
    cancel: Cancel | None = None,
) -> Map:
    """Explore a study and whatever else seems worth a try, until time is up or nothing is left to try.

    `tries` bounds the candidates beside the study's own: unlike time, the same number gives the same map anywhere.

    The map's study has every candidate that was measured, so it can be explored again, chosen from and published.
    `cancel` stops it as it stops `explore`; the map of what was measured is then one of the study's own candidates.
    """
    if seconds == inf and tries is None:
        raise BadInputError("a tuner needs to know when to stop: give seconds, tries or both")
    started = time.monotonic()
    given = of_table(read_study(study) if isinstance(study, str) else study)
    table = table if table is not None else given.table.open()
    exploration: Exploration[Candidate] = Exploration(given, cache, workers, table, cancel)
    own = sorted(exploration.candidates, key=lambda one: not one.anonymizer.baseline)
    tuner = Tuner(given.axes, families_of(given, table))
    told = progress or (lambda done, total, last: None)
    history: list[tuple[float, str]] = []
    batch: Sequence[Candidate] = own
    while batch and time.monotonic() < started + seconds:
        kept = exploration.known_of(batch)
        fresh = (candidate for candidate in batch if candidate not in kept)
        with exploration.mapped_when_stopped(lambda: _points_of(own, kept, tuner.points)):  # noqa: B023
            for candidate, point in exploration.measured(fresh, None if seconds == inf else started + seconds):
                kept[candidate] = point
                total = len(own) + (tries or 0) if seconds == inf else int(seconds)
                told(len(tuner.points) if seconds == inf else int(time.monotonic() - started), total, str(candidate))
        for candidate in batch:
            if candidate in kept:
                tuner.learn(candidate, kept[candidate])
                history.append((round(time.monotonic() - started, 3), candidate.id))
        left = AT_ONCE if tries is None else tries + len(own) - len(tuner.points)
        batch = tuner.next()[: max(left, 0)]
    wanted = set(own)
    measured = {one: point for one, point in tuner.points.items() if one in wanted or point.status == "measured"}
    grown = replace(given, grids=(*given.grids, *_grids([one for one in measured if one not in wanted])))
    shown = {point.id for point in measured.values()}
    order = [(seconds, id) for seconds, id in history if id in shown]
    tuning = {
        "budget": seconds,
        "order": order,
        "added": len(set(measured) - wanted),
        "unreached": len(wanted - set(measured)),
        "exhausted": not tuner.next(),
    }
    with exploration.mapped_when_stopped(lambda: _points_of(own, tuner.points)):
        return exploration.map(list(measured.values()), grown, {"tuning": tuning})


def _points_of(candidates: Sequence[Candidate], *known: Mapping[Candidate, Point]) -> list[Point]:
    return [points[one] for one in candidates for points in known if one in points]


def _grids(candidates: Sequence[Candidate]) -> list[Grid]:
    """Put candidates into as few blocks as there are makers, forms and limits."""
    found: dict[tuple[object, ...], list[Candidate]] = {}
    for one in candidates:
        maker = one.anonymizer if not one.anonymizer.noisy else one.anonymizer.name
        found.setdefault((maker, one.form, one.suppress), []).append(one)
    return [
        Grid(
            tuple(dict.fromkeys(one.anonymizer for one in block)),
            tuple(dict.fromkeys(one.requirement for one in block)),
            (block[0].form,),
            (block[0].suppress,),
        )
        for block in found.values()
    ]


@dataclass
class Tuner:
    """Decides what to try next, from the points so far alone."""

    axes: tuple[str, str]
    families: list[Family]
    points: dict[Candidate, Point] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._first = [list(dict.fromkeys(family.first)) for family in self.families]
        self._places: list[dict[float, Place]] = [{} for _ in self.families]
        self._promised = [0.0] * len(self.families)
        self._kept = [0.0] * len(self.families)
        self._hopes: dict[Candidate, tuple[int, float]] = {}
        self._closed: set[int] = set()

    def learn(self, candidate: Candidate, point: Point) -> None:
        """Take the point of a candidate in, and remember whether it kept what was promised."""
        before = self._all_places()
        self.points[candidate] = point
        found = place(point, self.axes) if drawable(point, self.axes) else None
        for i, family in enumerate(self.families):
            value = family.value_of(candidate)
            if value is not None and found is not None:
                self._places[i][value] = found
            elif value is not None and point.status == "failed":  # it cannot serve such a requirement or table
                self._closed.add(i)
        if candidate in self._hopes:
            i, hope = self._hopes.pop(candidate)
            self._promised[i] += hope
            if found is not None:
                self._kept[i] += min(Staircase(before).gain(found), hope)

    def _all_places(self) -> list[Place]:
        return [place(point, self.axes) for point in self.points.values() if drawable(point, self.axes)]

    def next(self) -> list[Candidate]:
        """Return what to try next: half of it between known values, half of it families of which less is known."""
        hopes = self._best_hopes()
        chosen = [candidate for _, _, candidate in hopes[: AT_ONCE // 2]]
        chosen += islice(self._first_tries(chosen), AT_ONCE - len(chosen))
        chosen += islice((one for _, _, one in hopes if one not in chosen), AT_ONCE - len(chosen))
        self._hopes |= {candidate: (i, hope) for hope, i, candidate in hopes if candidate in chosen}
        return chosen

    def _first_tries(self, chosen: Sequence[Candidate]) -> list[Candidate]:
        """List what families shall be tried at first, each once, the least known family before the others."""
        tries: list[tuple[int, int, Candidate]] = []
        for i, queue in enumerate(self._first):
            left = [one for one in queue if one not in self.points and one not in chosen]
            if left and i not in self._closed:
                tries.append((len(queue) - len(left), i, left[0]))
        return list(dict.fromkeys(candidate for _, _, candidate in sorted(tries, key=lambda own: own[:2])))

    def _best_hopes(self) -> list[tuple[float, int, Candidate]]:
        """List the values half way between known ones of every family, the most promising first, each once."""
        stairs = Staircase(self._all_places())
        found: dict[Candidate, tuple[float, int]] = {}
        for i, family in enumerate(self.families):
            trust = (DOUBT + self._kept[i]) / (DOUBT + self._promised[i])
            for (low, here), (high, there) in pairwise(sorted(self._places[i].items())):
                middle = family.dial.between(low, high)
                if i in self._closed or middle is None or family.at(middle) in self.points:
                    continue
                hope = stairs.hope(here, there, HOPE) + DOUBT * stairs.hope(here, there, 1.0)
                if hope > 0:
                    found.setdefault(family.at(middle), (trust * hope, i))
        return sorted(((hope, i, one) for one, (hope, i) in found.items()), key=lambda own: (-own[0], own[1]))


class Staircase:
    """The frontier of some places, and what a further place would take from under it, as a part of what they span."""

    def __init__(self, places: Sequence[Place]) -> None:
        self.places = places
        ends = [(min(own), max(own)) for own in zip(*places, strict=True)]
        flat = not ends or any(low == high for low, high in ends)
        self.frame = None if flat else Frame(ends[0], ends[1])
        self.area = 0.0 if self.frame is None else self.frame.area(places)

    def hope(self, here: Place, there: Place, share: float) -> float:
        """Say what a place between two others would gain, better than half way by a share of what is possible."""
        hoped = tuple((1 - share) * (a + b) / 2 + share * min(a, b) for a, b in zip(here, there, strict=True))
        return self.gain((hoped[0], hoped[1]))

    def gain(self, new: Place) -> float:
        """Say which part of the area a place takes from under the staircase."""
        return 0.0 if self.frame is None else self.area - self.frame.area([*self.places, new])
