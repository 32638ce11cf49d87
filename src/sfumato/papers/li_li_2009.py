"""Li & Li, "On the Tradeoff Between Privacy and Utility in Data Publishing", KDD 2009: figures 2 and 3.

Mondrian with four requirements in two forms on Adult: P_loss against U_loss and against the error of aggregate queries.

**Releases** (figure 2), each made and measured once, and the errors of queries on them (figure 3). The hierarchies are
the bundled ones. The queries are those of the Anatomy paper that Li & Li cite (`measures/queries`), 1,000 with an
answer above zero. Missing parameters (sel and qd of figures 3b and 3c) were fixed before results were seen.

**Queries** (section 5.2, figure 3), and the intended reading of `sel`. The text defines sel as the share of values of
each attribute. Its result (less error as qd grows, because a query on more attributes retrieves more records) needs the
workload of the cited Anatomy paper: each of the qd + 1 attributes selects |A| sel^(1/(qd+1)) values, *rounded up*. Only
with rounding up does the share of selected records grow with qd. Public code that quotes the formula from Xiao & Tao
confirms it: SamBoger/Query-Accuracy-on-l-Diversity on GitHub, `src/adult/MeasureAdultDatabase.java` (read, not copied).

**Frontier** in the paper's conclusion ("somewhere below the t-closeness line"), and the limit. All makers run on the
same table with grids fixed before results were seen. Mondrian's dense grid of t contains that of every other maker of
t-closeness, so no maker wins by a finer grid. A score is the area under the staircase of some releases on P_loss and
U_loss (`Map.score`). The result is the remaining share of the gap between Mondrian and the limit:

    Ratio = (score of all releases - limit) / (score of Mondrian with t-closeness on a dense grid - limit).

**Tie** of section 3.1: an adversary and a researcher with equal knowledge, estimator and goal gain the same. In
Brickell & Shmatikov the researcher knows neutral attributes that the adversary does not. Without these, both guess the
sensitive value of a record from its group, compared with the most frequent value of the table. That is a tie by
definition, if the researcher is tested on the training records. If tested on others, as classifiers are, the
researcher gains less.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers import anonymize, anonymizer
from sfumato.data.bundled import load
from sfumato.data.declaration import DataDeclaration, TableDeclaration
from sfumato.data.reading import Table
from sfumato.measures.all_measures import RECONSTRUCTED
from sfumato.measures.queries import Queries
from sfumato.measures.reconstruction import EmReader, Reader, UniformReader
from sfumato.measures.scales import Scales
from sfumato.papers.claims import Claim, ClaimRows, Figure, FigureLine, Progress, Results, all_of
from sfumato.release.release import FORMS, Form, Release
from sfumato.requirements._predicates import js_distance
from sfumato.requirements.requirement import requirement
from sfumato.tradeoff.exploration.explore import explore
from sfumato.tradeoff.limit import AXES, Limit, limit
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.grids import Grid, ends
from sfumato.tradeoff.study.presets import LI_LI_2009
from sfumato.tradeoff.study.study import Study

row = ClaimRows(__name__)


FAMILIES = {
    "k-anonymity": "k-anonymity k={}",
    "l-diversity": "l-diversity l={} variant=frequency",
    "t-closeness": "t-closeness t={} distance=js",
    "semantic privacy (absent ignored)": "delta-disclosure delta={} absent=ignore",
}
STRICT_DELTA = "semantic privacy (absent infinite)"
STRICT = "delta-disclosure delta={}"
T, L, K, DELTA = "t-closeness", "l-diversity", "k-anonymity", "semantic privacy (absent ignored)"
QUERIES = Queries(dimensions=4, selectivity=0.05, sanity=0)
SELECTIVITIES = (0.02, 0.05, 0.1, 0.2)
DIMENSIONS = (2, 3, 4, 5, 6)
Key = tuple[str, float, str]
"""A family of requirements, its parameter, the form."""


class LiLi2009:
    """The measured releases of the paper, and the claims about them."""

    def __init__(self, progress: Progress | None = None) -> None:
        self.table: Table = load("adult")
        self.queries = QUERIES
        self.prepared = Scales(queries=self.queries).prepare(self.table)
        self.progress = progress or (lambda done, total, last: None)

    @cached_property
    def releases(self) -> dict[Key, Release]:
        """All releases: four requirements with eight parameters in two forms, delta also in the strict reading."""
        wanted: list[tuple[str, str, float, str]] = []
        for name, text in FAMILIES.items():
            for value in LI_LI_2009[text]:
                wanted += [(name, text, value, form) for form in FORMS]
        wanted += [(STRICT_DELTA, STRICT, value, "bucketization") for value in LI_LI_2009[FAMILIES[DELTA]]]
        made: dict[Key, Release] = {}
        for number, (name, text, value, form) in enumerate(wanted, start=1):
            made[name, value, form] = anonymize(self.table, text.format(value), "mondrian ranges=tight", form)  # type: ignore[arg-type]
            self.progress(number, 2 * len(wanted), f"{text.format(value)}, {form}")
        return made

    @cached_property
    def measures(self) -> dict[Key, dict[str, float]]:
        """The measures of all releases."""
        measures = {}
        for number, (key, release) in enumerate(self.releases.items(), start=1):
            measures[key] = dict(self.prepared.measure(release).values)
            self.progress(len(self.releases) + number, 2 * len(self.releases), f"{key[0]} {key[1]:g}, {key[2]}")
        return measures

    @cached_property
    def trivial(self) -> dict[str, float]:
        """The measures without quasi-identifiers."""
        return dict(self.prepared.measure(anonymize(self.table, "k-anonymity k=1", "without-quasi")).values)

    @cached_property
    def original(self) -> dict[str, float]:
        """The measures of the original."""
        return dict(self.prepared.measure(anonymize(self.table, "k-anonymity k=1", "original")).values)

    @cached_property
    def limit(self) -> Limit:
        """The bound on U_loss of truthful releases of the table, in any form."""
        line = limit(self.prepared)
        assert line is not None  # Adult has a sensitive attribute and large populations
        return line

    def curve(self, family: str, form: str, y: str) -> list[tuple[float, float, float]]:
        """Return (P_loss, y, parameter) of one family in one form, by rising P_loss."""
        points = [
            (measures["p_loss"], measures[y], value)
            for (name, value, shape), measures in self.measures.items()
            if name == family and shape == form
        ]
        return sorted(points)

    def errors(self, queries: Queries) -> dict[float, float]:
        """Return the mean error of a workload for the bucketized t-closeness releases, by t."""
        workload = queries.workload(self.table.cells, self.prepared.points, 0)
        errors = {}
        for (name, value, form), release in self.releases.items():
            if name == T and form == "bucketization":
                points = self.prepared.point_estimates(release)
                errors[value] = float(self.prepared.query_errors(release, queries, workload, points).mean())
        return errors

    def selected(self, queries: Queries) -> float:
        """Return the mean share of the records that the queries of a workload select."""
        workload = queries.workload(self.table.cells, self.prepared.points, 0)
        return float(workload.answers.mean()) / self.table.cells.records

    @cached_property
    def by_selectivity(self) -> dict[float, dict[float, float]]:
        """Errors for figure 3b: by sel, then by t."""
        return {sel: self.errors(Queries(dimensions=4, selectivity=sel, sanity=0)) for sel in SELECTIVITIES}

    @cached_property
    def by_dimension(self) -> dict[int, dict[float, float]]:
        """Errors for figure 3c: by qd, then by t."""
        return {qd: self.errors(Queries(dimensions=qd, selectivity=0.05, sanity=0)) for qd in DIMENSIONS}


SEL = 0.05
"""The selectivity of figure 3c."""

LITERAL_DIMENSIONS = (1, 2)
"""Under the literal reading queries on more attributes are empty, or nearly so."""

EIGHT = "all eight t, bucketized"


def query_claims(study: LiLi2009) -> Iterable[Claim]:
    """Compare figures 3b and 3c with the errors of queries."""
    means = {f"sel={sel:g}": _mean(errors) for sel, errors in study.by_selectivity.items()}
    holds = all(a > b for a, b in pairwise(means.values()))
    over = f"sel {min(study.by_selectivity):g} to {max(study.by_selectivity):g}, {EIGHT}"
    yield row("error-falls-with-sel", means, holds, tested_over=over)
    means = {f"qd={qd}": _mean(errors) for qd, errors in study.by_dimension.items()}
    holds = _trend(list(means.values())) < 0
    yield row("error-falls-with-qd", means, holds, tested_over=_over_dimensions(EIGHT))


def reading_claims(study: LiLi2009) -> Iterable[Claim]:
    """Compare the readings of sel: the selected share, and the dependence of the error on qd."""
    yield _realised(study)
    yield _rounded_to_nearest(study)
    yield _literal_reading(study)


def _realised(study: LiLi2009) -> Claim:
    shares = {}
    for rounding in ("up", "nearest"):
        queries = {qd: Queries(dimensions=qd, selectivity=SEL, rounding=rounding, sanity=0) for qd in DIMENSIONS}
        shares[rounding] = {f"qd={qd}": round(study.selected(workload), 4) for qd, workload in queries.items()}
    rises = _trend(list(shares["up"].values())) > 0
    over = _over_dimensions(f"sel = {SEL:g}, {study.queries.number:,} queries each")
    return row("realised-selectivity", shares, rises, tested_over=over)


def _rounded_to_nearest(study: LiLi2009) -> Claim:
    workload = Queries(selectivity=SEL, rounding="nearest", sanity=0)
    means = _means(study, workload, DIMENSIONS)
    values = list(means.values())
    falls, over = values[-1] < 0.9 * values[0], _over_dimensions(EIGHT)
    return row("qd-rounded-to-nearest", means, falls, tested_over=over)


def _literal_reading(study: LiLi2009) -> Claim:
    workload = Queries(selectivity=SEL, reading="attribute", sanity=0)
    means = _means(study, workload, LITERAL_DIMENSIONS)
    first, last = means.values()
    over = f"qd {LITERAL_DIMENSIONS[0]} to {LITERAL_DIMENSIONS[-1]}, {EIGHT}"
    return row("literal-selectivity", means, last < first, tested_over=over)


def _over_dimensions(more: str) -> str:
    return f"qd {DIMENSIONS[0]} to {DIMENSIONS[-1]}, {more}"


def _means(study: LiLi2009, workload: Queries, dimensions: Sequence[int]) -> dict[str, float]:
    """Return the mean error of a workload by its number of quasi-identifiers."""
    return {f"qd={qd}": _mean(study.errors(replace(workload, dimensions=qd))) for qd in dimensions}


def _mean(errors: dict[float, float]) -> float:
    return round(float(np.mean(list(errors.values()))), 5)


def _trend(values: Sequence[float]) -> int:
    """Return 1 if the regression over qd rises and the last value is above the first, -1 if both fall, else 0."""
    slope, change = float(np.polyfit(DIMENSIONS, values, 1)[0]), values[-1] - values[0]
    return 1 if slope > 0 < change else -1 if slope < 0 > change else 0


def query_figures(study: LiLi2009, x: str, y: str) -> list[Figure]:
    """Draw figures 3b and 3c."""
    by_sel, by_qd = _error_curves(study, study.by_selectivity, "sel"), _error_curves(study, study.by_dimension, "qd")
    return [
        Figure("3b", "Li & Li 2009, figure 3b: sel (t-closeness, qd = 4)", x, y, by_sel),
        Figure("3c", "Li & Li 2009, figure 3c: qd (t-closeness, sel = .05)", x, y, by_qd),
    ]


def _error_curves(study: LiLi2009, by_value: Mapping[Any, dict[float, float]], name: str) -> list[FigureLine]:
    losses = {t: study.measures[T, t, "bucketization"]["p_loss"] for errors in by_value.values() for t in errors}
    return [
        FigureLine(f"{name} = {value:g}", [{"x": losses[t], "y": error, "parameter": t} for t, error in errors.items()])
        for value, errors in by_value.items()
    ]


JS = "t-closeness t={} distance=js"
TS = tuple(float(f"{t:.4g}") for t in np.geomspace(0.003, 0.5, 36))
DENSE = tuple(sorted({*TS, *(float(f"{t:.4g}") for t in np.linspace(0.005, 0.4, 80))}))
T_EQUAL = tuple(float(f"{t:.4g}") for t in np.geomspace(0.02, 0.6, 10))
BETA = tuple(float(f"{beta:.4g}") for beta in np.geomspace(0.1, 20, 10))
ABOVE = 1e-9
"""The tolerance for releases below the limit, for rounding."""

UNIFORM = UniformReader()
MUST = 0.65
WITHIN = 0.05
"""The P_loss at which an attack compares makers."""

MONDRIAN = "mondrian_dense"
GRIDS: dict[str, tuple[str, str, tuple[float, ...]]] = {
    MONDRIAN: ("mondrian ranges=tight", JS, DENSE),
    "exchange": ("exchange", JS, TS),
    "hilbert": ("hilbert ranges=tight", JS, TS),
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
    """The second estimator besides the uniform one."""

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
"""The first one is required, and uses an EM estimator with many rounds, because mixed buckets resist one with few. If
another attribute is sensitive, occupation may replace it."""


class LiLiFrontier:
    """The measured releases of all makers on some panels, and the claims about them."""

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

    def points(self, panel: Panel, name: str) -> list[Point]:
        """Return the measured releases of one set of a panel."""
        ids = {candidate.id for candidate in panel.sets[name]}
        return [point for point in self.maps[panel.name].points if point.id in ids and point.status == "measured"]

    def scores(self, panel: Panel) -> dict[str, float | None]:
        """Score every set of a panel, all releases and the limit, with the remaining share of the gap."""
        map_ = self.maps[panel.name]
        scores: dict[str, float | None] = {"limit": map_.scores().limit}
        for name in panel.sets:
            points = self.points(panel, name)
            scores[name] = map_.score(points) if points else None
        scores["union"] = map_.score()
        scores["ratio"] = ratio(scores)
        return scores


def ratio(scores: Mapping[str, float | None]) -> float | None:
    """Return the remaining share of the gap between Mondrian on a dense grid and the limit."""
    floor, dense, union = scores["limit"], scores[MONDRIAN], scores["union"]
    if floor is None or dense is None or union is None or dense <= floor:
        return None
    return (union - floor) / (dense - floor)


def frontier_claims(study: LiLiFrontier, scores: Mapping[str, Mapping[str, float | None]]) -> Iterator[Claim]:
    """Compare the run with the required results."""
    first = scores[study.panels[0].name]
    ours = {name: None if value is None else round(value, 4) for name, value in first.items()}
    left = first["ratio"]
    assert left is not None  # Adult has a limit, and Mondrian does not reach it
    yield row("frontier-ratio", ours, left <= MUST)
    yield _above_limit(study)
    yield _attacked(study)
    for panel in study.panels[1:]:
        rounded = {name: None if value is None else round(value, 4) for name, value in scores[panel.name].items()}
        text = f"the same for {panel.name}: the share that is left"
        yield Claim(f"frontier-{panel.name}", text, None, rounded, None, "check")


def _attacked(study: LiLiFrontier) -> Claim:
    """Compare the makers by an attack: of each the most useful release within a P_loss."""
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
    first = min(ours, key=lambda name: ours[name]["u_loss"], default=MONDRIAN)
    over = f"{len(ours)} makers with a release within that P_loss; the best is {first}" if ours else "no release"
    return row("frontier-attacked", ours, None, tested_over=over)


def _above_limit(study: LiLiFrontier) -> Claim:
    """Compare the releases of every panel with its limit."""
    room = {}
    for panel in study.panels:
        map_ = study.maps[panel.name]
        points = [point for point in map_.points if point.form == panel.form and point.has(AXES)]
        if map_.limit is not None and points:
            gaps = (point.measures["u_loss"] - map_.limit.at(point.measures["p_loss"]) for point in points)
            room[panel.name] = min(gaps)
    ours = {panel_name: round(value, 6) for panel_name, value in room.items()}
    over = ", ".join(room) or "no panel with a limit"
    return row("above-limit", ours, all_of(least >= -ABOVE for least in room.values()), tested_over=over)


def frontier_figures(study: LiLiFrontier) -> list[Figure]:
    """Draw the frontier of every set with the limit, and the first panel under two stronger attackers."""
    figures = []
    for panel in study.panels:
        limit = study.maps[panel.name].limit
        line = [] if limit is None else [FigureLine("limit", [{"x": x, "y": y} for x, y in limit.points], marks=False)]
        title = f"The frontier and its limit: {panel.name}"
        name = "frontier" if panel is study.panels[0] else f"frontier-{panel.name.replace(', ', '-')}"
        figures.append(
            Figure(name, title, "P_loss (worst record)", "U_loss", [*_curves(study, panel, "p_loss", "u_loss"), *line])
        )
    first = study.panels[0]
    if any(point.has(RECONSTRUCTED) for point in study.maps[first.name].points):
        for name, x, y, title in (
            ("frontier-em", "p_loss", "u_loss_em", "The same releases for an analyst who learns across groups"),
            ("frontier-definetti", "definetti_accuracy", "u_loss", "The same releases against the deFinetti attack"),
        ):
            curves = [
                FigureLine(curve.label, curve.points, line=False) for curve in _curves(study, first, x, y, every=True)
            ]
            figures.append(Figure(name, title, x, y, curves))
    return figures


def _curves(study: LiLiFrontier, panel: Panel, x: str, y: str, every: bool = False) -> Iterator[FigureLine]:
    """Draw every set: its nondominated releases, or all."""
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


FOLDS = 10
SEED = 2009
TIE = 0.025
"""The tolerance for equality on unseen records, as for classifiers in Brickell & Shmatikov 2008."""

Whole = NDArray[np.int64]


def tie_claims(study: LiLi2009) -> Iterator[Claim]:
    """Compare what adversary and researcher gain in accuracy from every generalized release of figure 2."""
    keys = [key for key in study.releases if key[2] == "generalization" and key[0] != STRICT_DELTA]
    adversary = {key: study.measures[key]["a_acc"] for key in keys}
    same = {key: _gain_on_seen(study.releases[key]) - adversary[key] for key in keys}
    unseen = {key: _gain_on_unseen(study.releases[key]) - adversary[key] for key in keys}
    over = f"{len(keys)} generalized releases, A_acc {min(adversary.values()):.4f} to {max(adversary.values()):.4f}"
    gap = max(map(abs, same.values()))
    yield row("tie", round(gap, 6), gap < 1e-9, tested_over=over)
    widest = max(unseen, key=lambda key: abs(unseen[key]))
    ours = {
        "mean gap": round(float(np.mean(list(unseen.values()))), 4),
        "widest gap": round(unseen[widest], 4),
        "at": f"{widest[0]} {widest[1]:g}",
        "within": sum(abs(gap) <= TIE for gap in unseen.values()),
        "of": len(keys),
    }
    yield row("tie-on-unseen-records", ours, all(abs(gap) <= TIE for gap in unseen.values()), tested_over=over)


def _records(release: Release) -> tuple[Whole, Whole]:
    """Return the group and the sensitive value of every published record."""
    rows = release.assignment
    return np.repeat(rows.group, rows.count), np.repeat(release.cells.values[rows.cell, 0].astype(np.int64), rows.count)


def _gain_on_seen(release: Release) -> float:
    """Guess the most frequent value of each record's group; return the gain over the most frequent of all."""
    group, value = _records(release)
    return float((_guesses(group, value, release)[group] == value).mean()) - _commonest(release)


def _gain_on_unseen(release: Release) -> float:
    """Do the same, but learn each guess from the other folds only."""
    group, value = _records(release)
    fold = np.random.default_rng(SEED).permutation(len(value)) % FOLDS
    right = 0
    for held in range(FOLDS):
        learned, asked = fold != held, fold == held
        right += int((_guesses(group[learned], value[learned], release)[group[asked]] == value[asked]).sum())
    return right / len(value) - _commonest(release)


def _guesses(group: Whole, value: Whole, release: Release) -> Whole:
    """Return the most frequent value of each group among some records; the table's for a group without records."""
    shares = release.cells.sensitive[0].shares
    counts = np.bincount(group * len(shares) + value, minlength=release.groups * len(shares))
    table = counts.reshape(release.groups, len(shares)) + shares / 2  # below one record: for ties and empty groups
    guesses: Whole = table.argmax(axis=1)
    return guesses


def _commonest(release: Release) -> float:
    return float(release.cells.sensitive[0].shares.max())


BELOW_ONE = (0.2, 0.4, 0.6, 0.8, 0.99)
"""Values of delta for which the paper got a single class."""

SUBSTANTIALLY = 0.2
"""The share by which U_loss is lower, on average."""

THREE_SMALLEST = 0.15
"""The largest of the three t that the paper would choose from."""

PAPER_Q: dict[str, float] = row.paper("q-distribution")


def reproduce(progress: Progress | None = None, full: bool = False, frontier: bool = False) -> Results:
    """Make all releases of the paper, measure them, and compare them with the paper's claims.

    `frontier` also runs all makers on the table, and measures their distance from the limit. Every run is a full one.
    """
    study = LiLi2009(progress)
    claims = [*_data_claims(study), *_curve_claims(study), *query_claims(study), *_reported_claims(study)]
    figures = _figures(study)
    made_of = {"adult": study.table.digest(), "queries": str(QUERIES), "parameters": dict(LI_LI_2009)}
    if not frontier:
        return Results("li-li-2009", claims, figures, made_of=made_of)
    makers = LiLiFrontier(progress)
    scores = {panel.name: makers.scores(panel) for panel in makers.panels}
    more = {"scores": scores[makers.panels[0].name], "scores_by_panel": scores}
    claims += frontier_claims(makers, scores)
    return Results("li-li-2009", claims, [*figures, *frontier_figures(makers)], more, made_of)


# -- claims ------------------------------------------------------------------------------------------------


def _data_claims(study: LiLi2009) -> Iterable[Claim]:
    occupation = study.table.cells.sensitive[0]
    shares = dict(zip(occupation.labels, occupation.shares.tolist(), strict=True))
    ours = {label: round(shares[label], 4) for label in PAPER_Q}
    apart = max(abs(ours[label] - share) for label, share in PAPER_Q.items())
    yield row("q-distribution", ours, apart < 1.5e-4, reason=f"the largest difference is {apart:.4f}")
    for id, label in (("js-armed-forces", "Armed-Forces"), ("js-craft-repair", "Craft-repair")):
        revealed = np.zeros(occupation.size, np.int64)
        revealed[occupation.labels.index(label)] = 1
        loss = js_distance(revealed, 1, occupation.shares)
        yield row(id, round(loss, 4), round(loss, 3).__eq__)
    loss = study.trivial["u_loss"]
    yield row("u-loss-trivial", round(loss, 4), 0.045 <= loss <= 0.055)
    ends = [study.trivial["p_loss"], study.original["u_loss"]]
    yield row("baselines", ends, max(ends) < 1e-9)


def _curve_claims(study: LiLi2009) -> Iterable[Claim]:
    leads = {other: _lead(study, other) for other in (K, L, DELTA, STRICT_DELTA)}
    drawn = {other: leads[other] for other in (K, L, DELTA)}
    holds = all_of(lead.below for lead in drawn.values())
    over = "; ".join(f"{other}: {lead.over}" for other, lead in drawn.items())
    ranges = {other: lead.content() for other, lead in drawn.items()}
    yield row("t-below-k-l-delta", ranges, holds, tested_over=over)
    strict = leads[STRICT_DELTA]
    yield row(
        "t-below-delta-infinite",
        strict.content(),
        strict.below,
        reason="the figure very probably ignores absent values" if strict.below is None else None,
        tested_over=strict.over,
    )
    pairs = {
        f"{name} {value:g}": [study.measures[name, value, form]["u_loss"] for form in reversed(FORMS)]
        for name, value, form in study.releases
        if name in (L, T) and form == "bucketization"
    }
    rounded = {name: [round(value, 5) for value in pair] for name, pair in pairs.items()}
    below = all(bucketized < generalized for bucketized, generalized in pairs.values())
    less = float(np.mean([1 - bucketized / generalized for bucketized, generalized in pairs.values()]))
    ours = {"mean share less": round(less, 4), "bucketized, generalized": rounded}
    yield row("bucketization-below-generalization", ours, below and less >= SUBSTANTIALLY)
    yield _choice(study)
    losses = [measures["u_loss"] for (name, _, _), measures in study.measures.items() if name != STRICT_DELTA]
    limit = study.trivial["u_loss"]
    yield row("u-loss-below-trivial", [round(max(losses), 4), round(limit, 4)], max(losses) < limit)
    p_losses = {
        f"t={value:g}": round(measures["p_loss"], 4)
        for (name, value, _), measures in study.measures.items()
        if name == T
    }
    bounded = all(
        measures["p_loss"] <= value + 1e-9 for (name, value, _), measures in study.measures.items() if name == T
    )
    yield row("t-bounds-p-loss", p_losses, bounded)


def _choice(study: LiLi2009) -> Claim:
    """Find the t of the best trade-off: the point farthest below the line between the two baselines."""
    curve = study.curve(T, "bucketization", "u_loss")
    whole = study.original["p_loss"], study.trivial["u_loss"]
    below = {t: round(1 - p / whole[0] - u / whole[1], 4) for p, u, t in curve}
    best = max(below, key=below.__getitem__)
    ours = {"knee": best, "below the line": {f"t={t:g}": value for t, value in sorted(below.items())}}
    return row("choice-among-smallest-t", ours, best <= THREE_SMALLEST)


@dataclass(frozen=True)
class Lead:
    """The distance of t-closeness below another curve, over their common range of P_loss."""

    low: float
    high: float
    excess: Sequence[float]
    """U_loss of t-closeness less that of the other, at many places of the range; empty without a common range."""

    @property
    def below(self) -> bool | None:
        """Whether t-closeness is below everywhere in the range; None if it is empty."""
        return all_of(excess <= 1e-12 for excess in self.excess)

    @property
    def over(self) -> str:
        """A description of the range."""
        if not self.excess:
            return f"no P_loss: one curve begins at {self.low:.4f}, the other ends at {self.high:.4f}"
        return f"P_loss {self.low:.4f} to {self.high:.4f}"

    def content(self) -> dict[str, float]:
        """Return the range and the lead as plain numbers."""
        ends = {"from": round(self.low, 4), "to": round(self.high, 4)}
        if not self.excess:
            return ends
        return ends | {
            "mean_lead": round(float(-np.mean(self.excess)), 5),
            "largest_excess": round(float(max(self.excess)), 6),
        }


def _lead(study: LiLi2009, other: str) -> Lead:
    """Compare t-closeness with another requirement, bucketized and interpolated."""
    curves = (study.curve(name, "bucketization", "u_loss") for name in (T, other))
    (x, y), (u, v) = (np.array([point[:2] for point in curve]).T for curve in curves)
    low, high = float(max(x.min(), u.min())), float(min(x.max(), u.max()))
    if low > high:
        return Lead(low, high, ())
    at = np.unique(np.concatenate([x, u, np.linspace(low, high, 500)]))
    at = at[(at >= low) & (at <= high)]
    return Lead(low, high, (np.interp(at, x, y) - np.interp(at, u, v)).tolist())


def _reported_claims(study: LiLi2009) -> Iterable[Claim]:
    for form in FORMS:
        measures = study.measures[K, 5000, form]
        ours = [round(measures["p_loss"], 4), round(measures["u_loss"], 4)]
        yield row(f"k-5000-{form}", ours, [round(measures["p_loss"], 3), ours[1]].__eq__)
    losses = [measures["u_loss"] for (name, _, _), measures in study.measures.items() if name != STRICT_DELTA]
    share = sum(loss < 0.04 for loss in losses) / len(losses)
    yield row(
        "u-loss-below-.04",
        round(share, 4),
        share == 1.0,
        reason=f"the largest is {max(losses):.4f}; generalized releases of few groups, whose boxes depend on the "
        "hierarchies",
    )
    share = sum(loss < 0.02 for loss in losses) / len(losses)
    yield row("u-loss-below-.02", round(share, 4), share > 0.3)
    for value in (3, 3.5):
        loss = study.measures[L, value, "bucketization"]["p_loss"]
        yield row(f"p-loss-l-{value:g}", round(loss, 4), loss > 0.488)
    yield _one_class(study)
    yield from tie_claims(study)
    yield from _limit_claims(study)
    yield _rank_correlation(study)
    yield from reading_claims(study)


def _one_class(study: LiLi2009) -> Claim:
    """Count the groups that Mondrian makes for a delta below 1, in both readings of absent values."""
    counts = {
        reading: {
            f"delta={value:g}": anonymize(study.table, text.format(value), form="bucketization").groups
            for value in BELOW_ONE
        }
        for reading, text in ((DELTA, FAMILIES[DELTA]), (STRICT_DELTA, STRICT))
    }
    return row(
        "one-class-below-delta-1",
        counts,
        all(groups == 1 for by_delta in counts.values() for groups in by_delta.values()),
        tested_over=f"delta {BELOW_ONE[0]:g} to {BELOW_ONE[-1]:g}",
    )


def _limit_claims(study: LiLi2009) -> Iterable[Claim]:
    """Compare every release with the limit (a check of limit, P_loss and U_loss at once), and t-closeness most of all.

    A gap below t-closeness is necessary for the paper's conjecture; `--frontier` shows which makers reach it.
    """
    room = {key: measures["u_loss"] - study.limit.at(measures["p_loss"]) for key, measures in study.measures.items()}
    least = min(room.values())
    over = f"{len(room)} releases"
    yield row("limit", round(least, 6), least >= -1e-9, tested_over=over)
    free = {
        f"t={value:g}": round(room[name, value, form] / study.measures[name, value, form]["u_loss"], 4)
        for name, value, form in room
        if name == T and form == "bucketization"
    }
    yield row("room-below-t-closeness", free, all_of(share > 0 for share in free.values()))


def _rank_correlation(study: LiLi2009) -> Claim:
    keys = [key for key in study.measures if key[2] == "bucketization" and key[0] != STRICT_DELTA]
    ranks = [np.argsort(np.argsort([study.measures[key][name] for key in keys])) for name in ("u_loss", "query_error")]
    correlation = float(np.corrcoef(ranks[0], ranks[1])[0, 1])
    return row(
        "rank-correlation", round(correlation, 4), correlation > 0.8, tested_over=f"{len(keys)} bucketized releases"
    )


# -- figures -----------------------------------------------------------------------------------------------


def _figures(study: LiLi2009) -> list[Figure]:
    loss, error = "P_loss (worst record)", "mean relative error of queries"

    def curve(label: str, family: str, form: str, y: str) -> FigureLine:
        points = [{"x": x, "y": value, "parameter": at} for x, value, at in study.curve(family, form, y)]
        return FigureLine(label, points)

    families = (K, L, T, DELTA, STRICT_DELTA)
    two_forms = [curve(f"{name}, {form}", name, form, "u_loss") for name in (L, T) for form in FORMS]
    named = [{"x": 0.086, "y": 0.0288, "label": "paper: k = 5000"}]
    floor = FigureLine("limit", [{"x": x, "y": y} for x, y in study.limit.points], marks=False)
    ends = [
        FigureLine(label, [{"x": measures["p_loss"], "y": measures["u_loss"]}], line=False)
        for label, measures in (
            ("baseline: no quasi-identifiers", study.trivial),
            ("baseline: original", study.original),
        )
    ]
    in_buckets = [curve(name, name, "bucketization", "u_loss") for name in families]
    queried = [curve(name, name, "bucketization", "query_error") for name in families]
    title = "Li & Li 2009, figure"
    return [
        Figure("2a", f"{title} 2a: requirements (bucketized)", loss, "U_loss", [*in_buckets, *ends, floor], named),
        Figure("2b", f"{title} 2b: forms", loss, "U_loss", [*two_forms, *ends, floor]),
        Figure("3a", f"{title} 3a: queries, qd = 4, sel = .05", loss, error, queried),
        *query_figures(study, loss, error),
    ]
