"""The frontier that Li & Li 2009 end with ("somewhere below the t-closeness line"), and the limit under it.

All makers on the same table, each on a grid that was fixed before results were looked at; Mondrian's dense grid of t
contains that of every other maker of t-closeness, so nobody wins by a finer grid. A score is the area under the
staircase of some releases on P_loss and U_loss (`tradeoff/limit/score`), and what counts is how much of the room
between Mondrian and the limit is left:

    ratio = (score of all releases - limit) / (score of Mondrian with t-closeness on a dense grid - limit)

Where releases are buckets, a second, higher limit is drawn: that of buckets without suppression
(`tradeoff/limit/floor`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import count

import numpy as np

from sfumato.anonymizers import anonymizer
from sfumato.data.declaration import DataDeclaration, TableDeclaration
from sfumato.measures.all_measures import RECONSTRUCTED
from sfumato.measures.reconstruction import EmReader, Reader, UniformReader
from sfumato.measures.scales import Scales
from sfumato.papers.claims import Claim, Figure, FigureLine, Progress, all_of, claim_rows
from sfumato.release.release import Form
from sfumato.requirements.requirement import requirement
from sfumato.tradeoff._bucket_limit import tighter_limit
from sfumato.tradeoff.exploration.explore import explore
from sfumato.tradeoff.limit import AXES, Limit
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.grids import Grid, ends
from sfumato.tradeoff.study.presets import LI_LI_2009
from sfumato.tradeoff.study.study import Study

row = claim_rows(__name__.rpartition(".")[0])

JS = "t-closeness t={} distance=js"
T = tuple(float(f"{t:.4g}") for t in np.geomspace(0.003, 0.5, 36))
DENSE = tuple(sorted({*T, *(float(f"{t:.4g}") for t in np.linspace(0.005, 0.4, 80))}))
T_EQUAL = tuple(float(f"{t:.4g}") for t in np.geomspace(0.02, 0.6, 10))
BETA = tuple(float(f"{beta:.4g}") for beta in np.geomspace(0.1, 20, 10))
ABOVE = 1e-9
"""How far a release may seem to be below the limit: what is given away to rounding."""

UNIFORM = UniformReader()
AIM, MUST = 0.39, 0.65
WITHIN = 0.05
"""The P_loss at which makers are compared by an attack."""

MONDRIAN = "mondrian_dense"
GRIDS: dict[str, tuple[str, str, tuple[float, ...]]] = {
    MONDRIAN: ("mondrian ranges=tight", JS, DENSE),
    "exchange": ("exchange", JS, T),
    "hilbert": ("hilbert ranges=tight", JS, T),
    "sabre": ("sabre ranges=tight", JS, T_EQUAL),
    "sabre_equal": ("sabre ranges=tight", "t-closeness t={} distance=equal", T_EQUAL),
    "burel": ("burel ranges=tight", "beta-likeness beta={} variant=enhanced", BETA),
    "anatomy": ("anatomy", "l-diversity l={} variant=frequency", (2, 3, 4, 5, 6, 7)),
    "exchange_beta": ("exchange", "beta-likeness beta={} variant=enhanced", BETA),
    "mondrian_beta": ("mondrian ranges=tight", "beta-likeness beta={} variant=enhanced", BETA),
}
ONE_FORM = ("exchange", "anatomy")
"""Makers of buckets only."""

SIX = ("age", "workclass", "education", "marital-status", "race", "sex")


@dataclass(frozen=True)
class Panel:
    """One map: a sensitive attribute and a form."""

    name: str
    sensitive: str
    quasi: tuple[str, ...]
    form: Form
    reader: Reader = UNIFORM
    """Who reads the releases besides the uniform reader."""

    @property
    def sets(self) -> dict[str, list[Candidate]]:
        """The candidates by the name under which they are scored."""
        paper = [text.format(value) for text, values in LI_LI_2009.items() for value in values]
        sets = {"mondrian_paper": [self._candidate("mondrian ranges=tight", text) for text in paper]}
        for name, (maker, text, values) in GRIDS.items():
            if self.form == "bucketization" or maker.split(" ")[0] not in ONE_FORM:
                sets[name] = [self._candidate(maker, text.format(f"{value:g}")) for value in values]
        return sets

    def _candidate(self, maker: str, text: str) -> Candidate:
        return Candidate(anonymizer(maker), requirement(text), self.form)

    @property
    def study(self) -> Study:
        """The study of this map."""
        blocks = [Grid.of([one]) for candidates in self.sets.values() for one in candidates]
        table = DataDeclaration(TableDeclaration("adult", quasi=self.quasi, sensitive=(self.sensitive,)))
        return Study(self.name, table, (*ends(), *blocks), Scales(reader=self.reader))


PANELS = (
    Panel("occupation", "occupation", SIX, "bucketization", EmReader(rounds=30)),
    Panel("occupation, generalized", "occupation", SIX, "generalization"),
    Panel("salary", "salary", SIX, "bucketization"),
    Panel(
        "marital-status", "marital-status", tuple(sorted({*SIX, "occupation"} - {"marital-status"})), "bucketization"
    ),
)
"""The first is the one that counts, and is read by a patient reader too: buckets that mix records on purpose resist a
hasty one. Where another attribute is sensitive, occupation may take its place."""


class LiLiFrontier:
    """All makers on some panels, measured once, and what can be said of them."""

    def __init__(self, progress: Progress | None = None, panels: Iterable[Panel] = PANELS) -> None:
        self.panels = tuple(panels)
        self.progress = progress or (lambda done, total, last: None)

    @cached_property
    def maps(self) -> dict[str, Map]:
        """The map of every panel."""
        studies = {panel.name: panel.study for panel in self.panels}
        total, steps, maps = sum(len(study.candidates) for study in studies.values()), count(1), {}
        for name, study in studies.items():
            maps[name] = explore(
                study, progress=lambda done, _, last: self.progress(next(steps), total, last) if last else None
            )
        return maps

    @cached_property
    def bucket_limits(self) -> dict[str, Limit]:
        """The limit of buckets without suppression, of every panel that is made of them."""
        limits: dict[str, Limit] = {}
        for panel in self.panels:
            if panel.form == "bucketization":
                tighter = tighter_limit(panel.study.scales.prepare(panel.study.table.open()))
                assert tighter is not None  # Adult has large populations, not too many
                limits[panel.name] = tighter
        return limits

    def points(self, panel: Panel, name: str) -> list[Point]:
        """Return the measured releases of one set of a panel."""
        ids = {candidate.id for candidate in panel.sets[name]}
        return [point for point in self.maps[panel.name].points if point.id in ids and point.status == "measured"]

    def scores(self, panel: Panel) -> dict[str, float | None]:
        """Score every set of a panel, all releases and the limit, and say what is left of the room to the limit."""
        map_ = self.maps[panel.name]
        scores: dict[str, float | None] = {"limit": map_.scores().limit}
        if panel.name in self.bucket_limits:
            tighter = self.bucket_limits[panel.name]
            scores["limit_bucketized"] = tighter.area / (tighter.trivial * tighter.revealed)
        for name in panel.sets:
            points = self.points(panel, name)
            scores[name] = map_.score(points) if points else None
        scores["union"] = map_.score()
        scores["ratio"] = ratio(scores)
        return scores


def ratio(scores: Mapping[str, float | None]) -> float | None:
    """Return what is left of the room between Mondrian on a dense grid and the limit."""
    floor, dense, union = scores["limit"], scores[MONDRIAN], scores["union"]
    if floor is None or dense is None or union is None or dense <= floor:
        return None
    return (union - floor) / (dense - floor)


def frontier_claims(study: LiLiFrontier, scores: Mapping[str, Mapping[str, float | None]]) -> Iterator[Claim]:
    """Hold the run against what it must show."""
    first = scores[study.panels[0].name]
    ours = {name: None if value is None else round(value, 4) for name, value in first.items()}
    left = first["ratio"]
    assert left is not None  # Adult has a limit, and Mondrian does not reach it
    yield row("frontier-ratio", ours, left <= MUST)
    yield row("frontier-aim", round(left, 4), left <= AIM, paper=AIM)
    limits = {panel.name: study.maps[panel.name].limit for panel in study.panels}
    text = "no release is below the limit (the least U_loss above it, by panel)"
    yield _above("above-limit", text, study, limits)
    text = "no release in buckets is below the limit for buckets, which leave no record out"
    yield _above("above-limit-bucketized", text, study, study.bucket_limits)
    yield _attacked(study)
    for panel in study.panels[1:]:
        rounded = {name: None if value is None else round(value, 4) for name, value in scores[panel.name].items()}
        value = scores[panel.name]["ratio"]
        text = f"the same for {panel.name}"
        holds = None if value is None else value < 1
        yield Claim(f"frontier-{panel.name}", text, "not in the paper", rounded, holds, "reported")


def _attacked(study: LiLiFrontier) -> Claim:
    """Hold the makers against each other on the axis of an attack: of each the most useful release within a P_loss."""
    panel, ours = study.panels[0], {}
    for name in panel.sets:
        inside = [
            point
            for point in study.points(panel, name)
            if point.has(RECONSTRUCTED) and point.measures["p_loss"] <= WITHIN
        ]
        if inside:
            best = min(inside, key=lambda point: point.measures["u_loss"]).measures
            ours[name] = {key: round(best[key], 4) for key in ("p_loss", "u_loss", "u_loss_em", "definetti_accuracy")}
    accuracy = {name: values["definetti_accuracy"] for name, values in ours.items()}
    first = min(ours, key=lambda name: ours[name]["u_loss"], default=MONDRIAN)
    compared = first != MONDRIAN and MONDRIAN in ours  # where Mondrian itself is the best, nobody is held against it
    holds = accuracy[first] <= accuracy[MONDRIAN] if compared else None
    over = f"{len(ours)} makers with a release within that P_loss; the best is {first}" if ours else "no release"
    return row("frontier-attacked", ours, holds, tested_over=over)


def _above(name: str, text: str, study: LiLiFrontier, limits: Mapping[str, Limit | None]) -> Claim:
    """Hold the releases of every panel that has a limit against it."""
    room = {}
    for panel in study.panels:
        floor = limits.get(panel.name)
        points = [point for point in study.maps[panel.name].points if point.form == panel.form and point.has(AXES)]
        if floor is not None and points:
            room[panel.name] = min(point.measures["u_loss"] - floor.at(point.measures["p_loss"]) for point in points)
    ours = {panel_name: round(value, 6) for panel_name, value in room.items()}
    over = ", ".join(room) or "no panel with a limit"
    return Claim(name, text, "a limit", ours, all_of(least >= -ABOVE for least in room.values()), tested_over=over)


def frontier_figures(study: LiLiFrontier) -> list[Figure]:
    """Draw the frontier of every set with the limit, and of the first panel what cleverer readers make of it."""
    figures = []
    for panel in study.panels:
        limit = study.maps[panel.name].limit
        lines = {"limit": limit, "limit for buckets": study.bucket_limits.get(panel.name)}
        floor = [
            FigureLine(label, [{"x": x, "y": y} for x, y in line.points], marks=False)
            for label, line in lines.items()
            if line is not None
        ]
        title = f"The frontier and its limit: {panel.name}"
        name = "frontier" if panel is study.panels[0] else f"frontier-{panel.name.replace(', ', '-')}"
        figures.append(
            Figure(name, title, "P_loss (worst record)", "U_loss", [*_curves(study, panel, "p_loss", "u_loss"), *floor])
        )
    first = study.panels[0]
    if any(point.has(RECONSTRUCTED) for point in study.maps[first.name].points):
        for name, x, y, title in (
            ("frontier-em", "p_loss", "u_loss_em", "The same releases for a reader who learns across groups"),
            ("frontier-definetti", "definetti_accuracy", "u_loss", "The same releases against the deFinetti attack"),
        ):
            curves = [
                FigureLine(curve.label, curve.points, line=False) for curve in _curves(study, first, x, y, every=True)
            ]
            figures.append(Figure(name, title, x, y, curves))
    return figures


def _curves(study: LiLiFrontier, panel: Panel, x: str, y: str, every: bool = False) -> Iterator[FigureLine]:
    """Draw every set: the releases that none of the same set beats, or every one."""
    for name in panel.sets:
        points = sorted(
            (point.measures[x], point.measures[y], point.requirement)
            for point in study.points(panel, name)
            if point.has((x, y))
        )
        kept: list[tuple[float, float, str]] = []
        for entry in points:
            if every or not kept or entry[1] < kept[-1][1]:
                kept.append(entry)
        yield FigureLine(name.replace("_", " "), [{"x": a, "y": b, "parameter": text} for a, b, text in kept])
