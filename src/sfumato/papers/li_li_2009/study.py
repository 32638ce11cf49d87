"""The releases of Li & Li 2009 (figure 2), each made and measured once, and the errors of queries on them (figure 3).

The hierarchies are the bundled ones, the queries those of the Anatomy paper that Li & Li cite (`measures/queries`),
1,000 with an answer above zero. What the paper leaves open (sel and qd of figures 3b and 3c beyond the text) was fixed
here before results were looked at.

The queries of Li & Li 2009 (section 5.2, figure 3): what their error says, and which reading of `sel` was meant.

The text calls sel the share of values of each attribute; the result it reports (less error as qd grows, because a query
on more attributes retrieves more records) needs the workload of the Anatomy paper that it cites, each of the qd + 1
attributes selecting |A| sel^(1/(qd+1)) values, *rounded up*: rounding up is what lets the share of the records that is
really selected grow with qd. That this is Xiao & Tao's formula is confirmed by public code that quotes it from them:
SamBoger/Query-Accuracy-on-l-Diversity on GitHub, `src/adult/MeasureAdultDatabase.java` (read, nothing taken from it).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.anonymizers import anonymize
from sfumato.data.bundled import load
from sfumato.data.reading import Table
from sfumato.measures.queries import Queries
from sfumato.measures.scales import Scales
from sfumato.papers.claims import Claim, Figure, FigureLine, Progress, claim_rows
from sfumato.release.release import FORMS, Release
from sfumato.tradeoff.limit import Limit, limit
from sfumato.tradeoff.study.presets import LI_LI_2009

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
    """The releases of the paper, measured once, and what can be said of them."""

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
        """The line below which no truthful release of the table can lie, whatever its form."""
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
        """Return the mean share of the records that the queries of a workload really select."""
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


row = claim_rows(__name__.rpartition(".")[0])

SEL = 0.05
"""The selectivity of figure 3c."""

LITERAL_DIMENSIONS = (1, 2)
"""Under the literal reading queries on more attributes are empty, or nearly so."""

EIGHT = "all eight t, bucketized"


def query_claims(study: LiLi2009) -> Iterable[Claim]:
    """Hold figures 3b and 3c against the errors of queries."""
    means = {f"sel={sel:g}": _mean(errors) for sel, errors in study.by_selectivity.items()}
    holds = all(a > b for a, b in pairwise(means.values()))
    over = f"sel {min(study.by_selectivity):g} to {max(study.by_selectivity):g}, {EIGHT}"
    yield row("error-falls-with-sel", means, holds, tested_over=over)
    means = {f"qd={qd}": _mean(errors) for qd, errors in study.by_dimension.items()}
    holds = _trend(list(means.values())) < 0
    yield row("error-falls-with-qd", means, holds, tested_over=_over_dimensions(EIGHT))


def reading_claims(study: LiLi2009) -> Iterable[Claim]:
    """Say what each reading of sel does to the queries: how much they select, and how their error moves with qd."""
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
    """Return the mean error of a workload on so many quasi-identifiers, by their number."""
    return {f"qd={qd}": _mean(study.errors(replace(workload, dimensions=qd))) for qd in dimensions}


def _mean(errors: dict[float, float]) -> float:
    return round(float(np.mean(list(errors.values()))), 5)


def _trend(values: Sequence[float]) -> int:
    """Return 1 where a line through values over qd rises and the last is above the first, -1 where both fall."""
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
