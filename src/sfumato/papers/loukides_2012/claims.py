"""Loukides, Gkoulalas-Divanis & Shao, "Assessing Disclosure Risk and Data Utility Trade-off in Transaction Data
Anonymization", IJSI 2012: figure 1, and R-U maps as in figures 5 to 7.

AA, COAT and PCTA in the readings that their names stand for here, k^2-anonymity, COAT under a single utility
constraint, nothing suppressed. The values of k, the queries (a random record, two items of it; the error is the exact
expectation, no sample) and the bound of .2 were fixed before results were looked at. The paper's diagnoses are
proprietary; its workloads are not in it. Section 5 says that published sets were expanded before queries were answered,
the worked example of section 3.4 takes every item with probability 1/2: all is shown under both estimators, `expanded`
and `half`. PCTA with another loop is reported beside it.

The figures of Loukides et al. 2012 with our points: R-U maps with utility to the right and risk upwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.papers.claims import Claim, Figure, FigureLine, Progress, Results, all_of, claim_rows
from sfumato.papers.loukides_2012.example import example_claims
from sfumato.papers.loukides_2012.study import (
    BOUND,
    ESTIMATORS,
    MAKERS,
    RISK,
    VARIANTS,
    WITHIN,
    WITHOUT,
    MeasuredRelease,
    RUMap,
    axes,
    opened,
)
from sfumato.tradeoff.map import Point
from sfumato.tradeoff.study.presets import LOUKIDES_2012 as KS

BEATEN = "beaten by another k"
PANELS = {"AA": "6a", "COAT": "6b", "PCTA": "6c"}


def figures_6_and_7(map_: RUMap) -> list[Figure]:
    """Draw one map for every anonymizer, and all of them on one for every estimator."""
    single = [_single(map_, label, name) for label, name in PANELS.items()]
    return [*single, *(_figures_compared(map_, estimator, "7") for estimator in ESTIMATORS)]


def figure_5(map_: RUMap) -> list[Figure]:
    """Draw COAT's map of diagnoses, with and without the utility constraints of their tree; and all anonymizers'."""
    labels = [label for label in ("COAT", WITHIN) if label in map_.grids]
    drawn = []
    for estimator in ESTIMATORS:
        curves = _curves(map_, labels, estimator) + _knees(map_, "COAT", estimator)
        title = f"Loukides et al. 2012, figure 5: COAT on {map_.name} ({estimator})"
        drawn.append(Figure(_name("5", estimator), title, _figures_utility(estimator), "risk", curves))
    return [*drawn, *(_figures_compared(map_, estimator, "5-compared") for estimator in ESTIMATORS)]


def _single(map_: RUMap, label: str, name: str) -> Figure:
    curves: list[FigureLine] = []
    beaten: list[Mapping[str, Any]] = []
    for estimator in ESTIMATORS:
        drawn = _curves(map_, [label], estimator, [estimator])
        curves += [drawn[0], *_knees(map_, label, estimator, f", {estimator}")]
        beaten += [point for curve in drawn[1:] for point in curve.points]
    curves += [FigureLine(BEATEN, beaten, line=False)] if beaten else []
    title = f"Loukides et al. 2012, figure {name}: {label} on {map_.name}"
    return Figure(name, title, "utility (1/ARE)", "risk", curves, x_scale="log")


def _figures_compared(map_: RUMap, estimator: str, name: str) -> Figure:
    curves = _curves(map_, [label for label in (*MAKERS, WITHOUT) if label in map_.grids], estimator)
    ends = [float(point["x"]) for curve in curves for point in curve.points]
    bound = [{"x": x, "y": BOUND} for x in (min(ends), max(ends))] if ends else []
    title = f"Loukides et al. 2012, figure {name.partition('-')[0]}: three anonymizers on {map_.name} ({estimator})"
    return Figure(
        _name(name, estimator),
        title,
        _figures_utility(estimator),
        "risk",
        [*curves, FigureLine(f"risk {BOUND:g}", bound, marks=False)],
        x_scale="log",
    )


def _name(figure: str, estimator: str) -> str:
    return figure if estimator == ESTIMATORS[0] else f"{figure}-{estimator}"


def _figures_utility(estimator: str) -> str:
    return f"utility (1/ARE, {estimator})"


def _points(runs: Sequence[MeasuredRelease], estimator: str) -> list[dict[str, float]]:
    return [
        {"x": run.point.measures[axes(estimator)[1]], "y": run.point.measures[RISK], "parameter": run.k} for run in runs
    ]


def _curves(map_: RUMap, labels: Sequence[str], estimator: str, names: Sequence[str] | None = None) -> list[FigureLine]:
    """Join the releases of each anonymizer that no other of it beats, and mark the rest."""
    joined, beaten = [], list[MeasuredRelease]()
    for label, name in zip(labels, names or labels, strict=True):
        kept = {_place(point, estimator) for point in map_.curve(label, estimator).points}
        joined.append(
            FigureLine(
                name, _points([run for run in map_.of(label) if _place(run.point, estimator) in kept], estimator)
            )
        )
        beaten += [run for run in map_.of(label) if _place(run.point, estimator) not in kept]
    return [*joined, FigureLine(BEATEN, _points(beaten, estimator), line=False)] if beaten else joined


def _place(point: Point, estimator: str) -> tuple[float, ...]:
    return tuple(point.measures[axis] for axis in axes(estimator))


def _knees(map_: RUMap, label: str, estimator: str, suffix: str = "") -> list[FigureLine]:
    """Mark the knees; one mark where both methods find the same."""
    knees = {way: run for way, run in map_.knees(label, estimator).items() if run is not None}
    if len(knees) == 2 and knees["angle"] is knees["kneedle"]:
        knees = {"both": knees["angle"]}
    names = {"angle": "knee by angle", "kneedle": "knee by Kneedle", "both": "knee"}
    return [FigureLine(f"{names[way]}{suffix}", _points([run], estimator), line=False) for way, run in knees.items()]


row = claim_rows(__name__.rpartition(".")[0])

KS_5 = (2, 3, 5, 7, 10, 15, 25, 40, 60, 80)
TABLE_1 = {"records": 77_512, "items": 3_340, "longest": 161, "mean": 5.0}
"""BMS-WebView-2 as table 1 has it."""


def reproduce(progress: Progress | None = None, data: Sequence[Path] = ()) -> Results:
    """Make the releases of the paper, measure and check them, and hold the paper's claims against them.

    `data` are files with one basket per line: one of ICD-9 diagnoses for figure 5, one for figures 6 and 7.
    """
    baskets, diagnoses = opened([Path(file) for file in data])
    steps: list[str] = []

    def report(what: str) -> None:
        steps.append(what)
        if progress is not None:
            progress(len(steps), sum(map(len, maps)), what)

    maps = [RUMap(baskets, KS, report, variants=True)]
    if diagnoses is not None:
        maps.append(RUMap(diagnoses, KS_5, report, within=True))
    claims, optima = example_claims()
    claims = [
        *claims,
        *_required(maps),
        *_compared(maps),
        *_variants(maps[0]),
        *_knee_of_figure_5(maps[-1]),
        *_errata(maps[0]),
    ]
    figures = [optima, *figures_6_and_7(maps[0])]
    if diagnoses is not None:
        figures += figure_5(maps[1])
    more = {
        "maps": {map_.name: map_.values() for map_ in maps},
        "processor_seconds": {map_.name: map_.seconds() for map_ in maps},
    }
    return Results("loukides-2012", claims, figures, more)


# -- what must hold ----------------------------------------------------------------------------------------


def _required(maps: Sequence[RUMap]) -> Iterable[Claim]:
    yield _feasible(maps)
    yield _bounded_risk(maps)
    yield _knee_found(maps)
    yield _set_based_beats_aa(maps)


def _feasible(maps: Sequence[RUMap]) -> Claim:
    ours: dict[str, Any] = {}
    holds = True
    for map_ in maps:
        made = [run for run in map_.runs if run.release is not None]
        passed = [run for run in made if run.checked and run.checked.honest and run.checked.least >= run.k]
        within = {label: map_.best("half", [label]) for label in map_.files}
        files = [label for label, run in within.items() if run and _is_proven(map_, label, run)]
        broken = [run.point.reason for run in map_.runs if run.point.status == "failed"]
        lacking = {f"{run.label} k={run.k}": run.point.reason for run in map_.runs if run.point.status == "infeasible"}
        ours[map_.name] = {
            "releases": len(made),
            "pass": len(passed),
            "files": len(map_.files),
            "files pass": len(files),
        }
        ours[map_.name] |= ({"cannot be made": lacking} if lacking else {}) | ({"failed": broken} if broken else {})
        holds &= bool(made) and len(passed) == len(made) and len(files) == len(map_.files) and not broken
    return row("feasible", ours, holds)


def _is_proven(map_: RUMap, label: str, run: MeasuredRelease) -> bool:
    return map_.files[label].honest and map_.files[label].least >= run.k


def _bounded_risk(maps: Sequence[RUMap]) -> Claim:
    ours: dict[str, Any] = {}
    comparisons: list[bool] = []
    for map_ in maps:
        risks = {label: {run.k: run.point.measures[RISK] for run in map_.of(label)} for label in map_.grids}
        ours[map_.name] = {label: {k: round(risk, 6) for k, risk in by_k.items()} for label, by_k in risks.items()}
        comparisons += [risk <= 1 / k + 1e-12 for by_k in risks.values() for k, risk in by_k.items()]
        for run in map_.runs:
            if run.checked is not None:
                counted = 1 / run.checked.least if run.checked.least else 0.0
                comparisons.append(abs(counted - run.point.measures[RISK]) < 1e-12)
    over = _over_k(maps, (label for map_ in maps for label in map_.grids))
    return row("risk-is-1-over-k-or-less", ours, all_of(comparisons), tested_over=over)


def _over_k(maps: Sequence[RUMap], labels: Iterable[str]) -> str:
    """Say over which k releases of some anonymizers could be made, by baskets."""
    wanted, parts = set(labels), []
    for map_ in maps:
        ks = sorted({run.k for label in map_.grids if label in wanted for run in map_.of(label)})
        parts.append(f"{map_.name}: k {ks[0]} to {ks[-1]}" if ks else f"{map_.name}: no release")
    return "; ".join(parts)


def _knee_found(maps: Sequence[RUMap]) -> Claim:
    """Look for the knees of figures 6 (three anonymizers) and 5 (COAT on diagnoses); others are told beside them."""
    ours: dict[str, Any] = {}
    at_knees: list[int | None] = []
    for map_ in maps:
        claimed = tuple(MAKERS) if map_ is maps[0] else ("COAT",)
        for label in map_.grids:
            for estimator in ESTIMATORS:
                knees = {way: None if run is None else run.k for way, run in map_.knees(label, estimator).items()}
                ours.setdefault(map_.name, {}).setdefault(label, {})[estimator] = knees
                at_knees += [knees["angle"]] if label in claimed else []
    reason = None if None not in at_knees else "a curve without a knee is straight or has fewer than three releases"
    holds, over = all_of(k is not None for k in at_knees), _over_k(maps, MAKERS)
    return row("knee-found", ours, holds, reason=reason, tested_over=over)


def _utilities(map_: RUMap, estimator: str) -> dict[str, float | None]:
    """Return the best utility of every anonymizer within the bound on risk; None where none of its releases is."""
    best = {label: map_.best(estimator, [label]) for label in map_.grids}
    return {label: None if run is None else run.point.measures[axes(estimator)[1]] for label, run in best.items()}


def _above(utilities: Mapping[str, float | None], label: str, other: str) -> bool | None:
    """Say whether one anonymizer reaches more utility than another; None where one has no release in the bound."""
    mine, theirs = utilities[label], utilities[other]
    return None if mine is None or theirs is None else mine > theirs


def _set_based_beats_aa(maps: Sequence[RUMap]) -> Claim:
    ours: dict[str, Any] = {}
    comparisons: list[bool | None] = []
    for map_ in maps:
        utilities = {estimator: _utilities(map_, estimator) for estimator in ESTIMATORS}
        ours[map_.name] = {estimator: _rounded(by) for estimator, by in utilities.items()}
        trees = [label for label in ("AA", WITHOUT) if label in map_.grids]
        comparisons += [
            _above(by, label, aa) for by in utilities.values() for label in ("COAT", "PCTA") for aa in trees
        ]
    holds = all_of(comparisons)
    reason = None if holds else "where the tree of items follows what is bought or diagnosed together, AA loses less"
    over = f"risk up to {BOUND:g}; {_over_k(maps, (*MAKERS, WITHOUT))}"
    return row("set-based-beats-aa-at-.2", ours, holds, reason=reason, tested_over=over)


def _rounded(values: Mapping[str, float | None]) -> dict[str, float | None]:
    return {name: None if value is None else float(f"{value:.4g}") for name, value in values.items()}


# -- what is reported --------------------------------------------------------------------------------------


def _compared(maps: Sequence[RUMap]) -> Iterable[Claim]:
    ours: dict[str, Any] = {}
    ahead: list[bool | None] = []
    chosen = []
    for map_ in maps:
        for estimator in ESTIMATORS:
            best = {label: map_.best(estimator, [label]) for label in ("COAT", "PCTA")}
            reached = {label: None if run is None else _utility(run, estimator) for label, run in best.items()}
            ours.setdefault(map_.name, {})[estimator] = reached
            utilities = _utilities(map_, estimator)
            ahead.append(_above(utilities, "PCTA", "COAT"))
            chosen.append(map_.best(estimator))
    yield row(
        "pcta-beats-coat-at-.2",
        ours,
        all_of(ahead),
        tested_over=f"risk up to {BOUND:g}; {_over_k(maps, ('COAT', 'PCTA'))}",
    )
    names = [None if run is None else f"{run.label} k={run.k}" for run in chosen]
    keys = [f"{map_.name}, {estimator}" for map_ in maps for estimator in ESTIMATORS]
    yield row(
        "choice-at-.2",
        dict(zip(keys, names, strict=True)),
        all_of(None if run is None else run.label == "PCTA" for run in chosen),
        tested_over=f"risk up to {BOUND:g}; {_over_k(maps, MAKERS)}",
    )


def _utility(run: MeasuredRelease, estimator: str) -> dict[str, Any]:
    return {"k": run.k} | _rounded({"utility": run.point.measures[axes(estimator)[1]]})


def _variants(map_: RUMap) -> Iterable[Claim]:
    """Hold PCTA, and PCTA with another loop, against COAT at every k."""
    errors = {label: {run.k: run.point.measures["are_half"] for run in map_.of(label)} for label in map_.grids}
    for label in ("PCTA", *VARIANTS):
        common = [k for k in errors[label] if k in errors["COAT"]]
        ahead = [k for k in common if errors[label][k] < errors["COAT"][k]]
        ours = {
            "baskets": map_.name,
            "ahead at k": ahead,
            "are": {name: _rounded({str(k): errors[name][k] for k in common}) for name in (label, "COAT")},
        }
        id = f"{(MAKERS | VARIANTS)[label].replace(' visit=', '-')}-beats-coat-at-every-k"
        yield row(id, ours, all_of(k in ahead for k in common), tested_over=_over_k([map_], [label, "COAT"]))


def _knee_of_figure_5(map_: RUMap) -> Iterable[Claim]:
    """Compare the knee of COAT's curve with its ends, on diagnoses where there are some."""
    for estimator in ESTIMATORS:
        ours = _knee_against_ends(map_, estimator)
        holds = ours["protection"] >= 12.5 and ours["utility"] > 2 if "knee" in ours else None
        over = _over_k([map_], ["COAT"]) if "knee" in ours else "no curve with a knee"
        yield row(f"figure-5-knee-{estimator}", ours, holds, tested_over=over)


def _knee_against_ends(map_: RUMap, estimator: str) -> dict[str, Any]:
    """Say how many times less risk than the largest the knee has, and how many times the least utility."""
    knee, runs = map_.knees("COAT", estimator)["angle"], map_.of("COAT")
    if knee is None:
        return {"baskets": map_.name}
    axis = axes(estimator)[1]
    exposed, least = (pick(run.point.measures[name] for run in runs) for pick, name in ((max, RISK), (min, axis)))
    return {
        "baskets": map_.name,
        "knee": knee.k,
        "protection": round(exposed / knee.point.measures[RISK], 2),
        "utility": round(knee.point.measures[axis] / least, 2),
    }


def _errata(map_: RUMap) -> Iterable[Claim]:
    baskets = map_.baskets
    mean = baskets.occurrences / baskets.size
    ours = {"records": baskets.size, "items": len(baskets.items), "longest": int(baskets.lengths.max())}
    if ours["records"] == TABLE_1["records"]:
        yield row("table-1", ours | {"mean": round(mean, 3)}, {**ours, "mean": round(mean, 1)} == TABLE_1)
    yield row("erratum-table-1", "a mean above the largest cannot be", False)
    short = int(baskets.weights[baskets.lengths == 1].sum())
    yield row("erratum-km", {"records with fewer than m = 2 items": short}, short == 0)
