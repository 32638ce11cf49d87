"""The queries of Li & Li 2009 (section 5.2, figure 3): what their error says, and which reading of `sel` was meant.

The text calls sel the share of values of each attribute; the result it reports (less error as qd grows, because a query
on more attributes retrieves more records) needs the workload of the Anatomy paper that it cites, each of the qd + 1
attributes selecting |A| sel^(1/(qd+1)) values, *rounded up*: rounding up is what lets the share of the records that is
really selected grow with qd. That this is Xiao & Tao's formula is confirmed by public code that quotes it from them:
SamBoger/Query-Accuracy-on-l-Diversity on GitHub, `src/adult/MeasureAdultDatabase.java` (read, nothing taken from it).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.measures import Queries
from sfumato.papers.li_li_2009.study import DIMENSIONS, LiLi2009, T
from sfumato.papers.results import Claim, Figure, FigureLine, claim_rows

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
