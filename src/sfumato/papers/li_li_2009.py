"""Li & Li, "On the Tradeoff Between Privacy and Utility in Data Publishing", KDD 2009: figures 2 and 3.

Mondrian with four requirements in two forms on Adult, P_loss against U_loss and against the error of aggregate
queries. The hierarchies are the bundled ones, the queries those of the Anatomy paper that Li & Li cite (each of the
qd + 1 attributes selects sel^(1/(qd+1)) of its values), 1,000 with an answer above zero. What the paper leaves open
(sel and qd of figures 3b and 3c beyond the text) was fixed here before results were looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from sfumato.anonymizers import anonymize
from sfumato.measures import Queries, Scales
from sfumato.papers.li_li_frontier import LiLiFrontier, frontier_claims, frontier_figures
from sfumato.papers.results import Claim, Curve, Figure, Progress, Results
from sfumato.release import FORMS, Release
from sfumato.requirements.distances import js_distance
from sfumato.table import load
from sfumato.tradeoff.limit import Limit, limit
from sfumato.tradeoff.study import LI_LI_2009

PAPER_Q = {
    "Tech-support": 0.0314,
    "Craft-repair": 0.1331,
    "Other-service": 0.1063,
    "Sales": 0.1196,
    "Exec-managerial": 0.1323,
    "Prof-specialty": 0.1329,
    "Handlers-cleaners": 0.0452,
    "Machine-op-inspct": 0.0657,
    "Adm-clerical": 0.1225,
    "Farming-fishing": 0.0327,
    "Transport-moving": 0.0512,
    "Priv-house-serv": 0.0052,
    "Protective-serv": 0.0216,
    "Armed-Forces": 0.0003,
}
FAMILIES = {
    "k-anonymity": "k-anonymity k={}",
    "l-diversity": "l-diversity l={} variant=frequency",
    "t-closeness": "t-closeness t={} distance=js",
    "semantic privacy (absent ignored)": "delta-disclosure delta={} absent=ignore",
}
STRICT_DELTA = "semantic privacy (absent infinite)"
T, L, K, DELTA = "t-closeness", "l-diversity", "k-anonymity", "semantic privacy (absent ignored)"
QUERIES = Queries(dimensions=4, selectivity=0.05, sanity=0)
SELECTIVITIES = (0.02, 0.05, 0.1, 0.2)
DIMENSIONS = (2, 3, 4, 5, 6)
Key = tuple[str, float, str]
"""A family of requirements, its parameter, the form."""


class LiLi2009:
    """The releases of the paper, measured once, and what can be said of them."""

    def __init__(self, progress: Progress | None = None) -> None:
        self.table = load("adult")
        self.prepared = Scales(queries=QUERIES).prepare(self.table)
        self.progress = progress or (lambda done, total, last: None)

    @cached_property
    def releases(self) -> dict[Key, Release]:
        """All releases: four requirements with eight parameters in two forms, delta also in the strict reading."""
        wanted: list[tuple[str, str, float, str]] = []
        for name, text in FAMILIES.items():
            for value in LI_LI_2009[text]:
                wanted += [(name, text, value, form) for form in FORMS]
        strict = "delta-disclosure delta={}"
        wanted += [(STRICT_DELTA, strict, value, "bucketization") for value in LI_LI_2009[FAMILIES[DELTA]]]
        made: dict[Key, Release] = {}
        for number, (name, text, value, form) in enumerate(wanted, start=1):
            made[name, value, form] = anonymize(self.table, text.format(value), form=form)  # type: ignore[arg-type]
            self.progress(number, 2 * len(wanted), f"{text.format(value)}, {form}")
        return made

    @cached_property
    def measures(self) -> dict[Key, dict[str, float]]:
        """The measures of all releases."""
        found = {}
        for number, (key, release) in enumerate(self.releases.items(), start=1):
            found[key] = dict(self.prepared.measure(release).values)
            self.progress(len(self.releases) + number, 2 * len(self.releases), f"{key[0]} {key[1]:g}, {key[2]}")
        return found

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
        found = limit(self.prepared)
        assert found is not None  # Adult has a sensitive attribute and large populations
        return found

    def curve(self, family: str, form: str, y: str) -> list[tuple[float, float, float]]:
        """Return (P_loss, y, parameter) of one family in one form, by rising P_loss."""
        found = [
            (own["p_loss"], own[y], value)
            for (name, value, shape), own in self.measures.items()
            if name == family and shape == form
        ]
        return sorted(found)

    def errors(self, queries: Queries) -> dict[float, float]:
        """Return the mean error of a workload for the bucketized t-closeness releases, by t."""
        workload = queries.workload(self.table.cells, self.prepared.points, 0)
        found = {}
        for (name, value, form), release in self.releases.items():
            if name == T and form == "bucketization":
                points = self.prepared.point_estimates(release)
                found[value] = float(self.prepared.query_errors(release, queries, workload, points).mean())
        return found

    @cached_property
    def by_selectivity(self) -> dict[float, dict[float, float]]:
        """Errors for figure 3b: by sel, then by t."""
        return {sel: self.errors(Queries(dimensions=4, selectivity=sel, sanity=0)) for sel in SELECTIVITIES}

    @cached_property
    def by_dimension(self) -> dict[int, dict[float, float]]:
        """Errors for figure 3c: by qd, then by t."""
        return {qd: self.errors(Queries(dimensions=qd, selectivity=0.05, sanity=0)) for qd in DIMENSIONS}


def reproduce(progress: Progress | None = None, frontier: bool = False) -> Results:
    """Make all releases of the paper, measure them, and hold the paper's claims against them.

    `frontier` lets all makers loose on the table as well, and says how near they come to the limit.
    """
    study = LiLi2009(progress)
    claims = [*_data_claims(study), *_curve_claims(study), *_query_claims(study), *_reported_claims(study)]
    figures = _figures(study)
    if not frontier:
        return Results("li-li-2009", claims, figures)
    makers = LiLiFrontier(progress)
    scores = {panel.name: makers.scores(panel) for panel in makers.panels}
    more = {"scores": scores[makers.panels[0].name], "scores_by_panel": scores}
    claims += frontier_claims(makers, scores)
    return Results("li-li-2009", claims, [*figures, *frontier_figures(makers)], more)


# -- claims ------------------------------------------------------------------------------------------------


def _data_claims(study: LiLi2009) -> Iterable[Claim]:
    occupation = study.table.cells.sensitive[0]
    shares = dict(zip(occupation.labels, occupation.shares.tolist(), strict=True))
    ours = {label: round(shares[label], 4) for label in PAPER_Q}
    apart = max(abs(ours[label] - share) for label, share in PAPER_Q.items())
    text = "the distribution Q of occupation, as printed (to one unit of the last digit)"
    yield Claim("q-distribution", text, PAPER_Q, ours, apart < 1.5e-4, reason=f"the largest difference is {apart:.4f}")
    for id, label, paper in (("js-armed-forces", "Armed-Forces", 0.692), ("js-craft-repair", "Craft-repair", 0.488)):
        revealed = np.zeros(occupation.size, np.int64)
        revealed[occupation.labels.index(label)] = 1
        loss = js_distance(revealed, 1, occupation.shares)
        text = f"P_loss of a record whose value {label} is revealed"
        yield Claim(id, text, paper, round(loss, 4), round(loss, 3) == paper)
    loss = study.trivial["u_loss"]
    text = "U_loss with all quasi-identifiers removed"
    yield Claim("u-loss-trivial", text, 0.05, round(loss, 4), 0.045 <= loss <= 0.055)
    ends = [study.trivial["p_loss"], study.original["u_loss"]]
    text = "P_loss of the release without quasi-identifiers and U_loss of the original are 0"
    yield Claim("baselines", text, [0, 0], ends, max(ends) < 1e-9)


def _curve_claims(study: LiLi2009) -> Iterable[Claim]:
    ours = {}
    for other in (K, L, DELTA, STRICT_DELTA):
        ours[other] = _lead(study.curve(T, "bucketization", "u_loss"), study.curve(other, "bucketization", "u_loss"))
    text = "t-closeness has the lower U_loss at every P_loss that both curves reach (interpolated, bucketized)"
    holds = all(own["largest_excess"] <= 1e-12 for own in ours.values())
    apart = [other for other, own in ours.items() if own["from"] > own["to"]]
    reason = f"no P_loss is reached by both t-closeness and {', '.join(apart)}" if apart else None
    yield Claim("t-below-k-l-delta", text, "t-closeness performs better", ours, holds, reason=reason)
    pairs = {
        f"{name} {value:g}": [study.measures[name, value, form]["u_loss"] for form in reversed(FORMS)]
        for name, value, form in study.releases
        if name in (L, T) and form == "bucketization"
    }
    text = "bucketization has the lower U_loss for every parameter of l-diversity and t-closeness"
    rounded = {name: [round(value, 5) for value in pair] for name, pair in pairs.items()}
    below = all(bucketized < generalized for bucketized, generalized in pairs.values())
    yield Claim("bucketization-below-generalization", text, "substantially better", rounded, below)
    losses = [own["u_loss"] for (name, _, _), own in study.measures.items() if name != STRICT_DELTA]
    text = "every release has a lower U_loss than the trivial one"
    limit = study.trivial["u_loss"]
    yield Claim(
        "u-loss-below-trivial", text, "all below .05", [round(max(losses), 4), round(limit, 4)], max(losses) < limit
    )
    over = {f"t={value:g}": round(own["p_loss"], 4) for (name, value, _), own in study.measures.items() if name == T}
    bounded = all(own["p_loss"] <= value + 1e-9 for (name, value, _), own in study.measures.items() if name == T)
    yield Claim("t-bounds-p-loss", "P_loss of a t-close release is at most t", "P_loss <= t", over, bounded)


def _lead(ours: Sequence[tuple[float, float, float]], other: Sequence[tuple[float, float, float]]) -> dict[str, float]:
    """Compare two curves over the range of P_loss that both reach: where is the first above the second?"""
    (x, y), (u, v) = (np.array([point[:2] for point in curve]).T for curve in (ours, other))
    low, high = float(max(x.min(), u.min())), float(min(x.max(), u.max()))
    if low > high:
        return {"from": round(low, 4), "to": round(high, 4), "mean_lead": 0.0, "largest_excess": 0.0}
    at = np.unique(np.concatenate([x, u, np.linspace(low, high, 500)]))
    at = at[(at >= low) & (at <= high)]
    excess = np.interp(at, x, y) - np.interp(at, u, v)
    return {
        "from": round(low, 4),
        "to": round(high, 4),
        "mean_lead": round(float(-excess.mean()), 5),
        "largest_excess": float(excess.max()),
    }


def _query_claims(study: LiLi2009) -> Iterable[Claim]:
    means = {f"sel={sel:g}": _mean(errors) for sel, errors in study.by_selectivity.items()}
    falling = list(means.values())
    text = "the mean relative error (over all t) falls as sel grows, qd = 4"
    holds = all(a > b for a, b in pairwise(falling))
    yield Claim("error-falls-with-sel", text, "smaller when sel is larger", means, holds)
    means = {f"qd={qd}": _mean(errors) for qd, errors in study.by_dimension.items()}
    text = "the mean relative error (over all t) falls with qd, sel = .05 (trend: slope below 0, last below first)"
    values = list(means.values())
    slope = float(np.polyfit(DIMENSIONS, values, 1)[0])
    yield Claim(
        "error-falls-with-qd", text, "more accurate as qd increases", means, slope < 0 and values[-1] < values[0]
    )


def _mean(errors: dict[float, float]) -> float:
    return round(float(np.mean(list(errors.values()))), 5)


def _reported_claims(study: LiLi2009) -> Iterable[Claim]:
    for form in FORMS:
        own = study.measures[K, 5000, form]
        yield Claim(
            f"k-5000-{form}",
            "P_loss and U_loss at k = 5000",
            [0.086, 0.0288],
            [round(own["p_loss"], 4), round(own["u_loss"], 4)],
            round(own["p_loss"], 3) == 0.086 and round(own["u_loss"], 4) == 0.0288,
            "reported",
            "other hierarchies and another median rule give other groups of 5,000 to 10,000 records",
        )
    losses = [own["u_loss"] for (name, _, _), own in study.measures.items() if name != STRICT_DELTA]
    share = sum(loss < 0.04 for loss in losses) / len(losses)
    yield Claim(
        "u-loss-below-.04",
        "U_loss is below .04 in all cases (share of the 64 releases)",
        1.0,
        round(share, 4),
        share == 1.0,
        "reported",
        f"the largest is {max(losses):.4f}; generalized releases of few groups, whose boxes depend on the hierarchies",
    )
    share = sum(loss < 0.02 for loss in losses) / len(losses)
    yield Claim(
        "u-loss-below-.02", "and below .02 in many cases (share)", "many", round(share, 4), share > 0.3, "reported"
    )
    for value in (3, 3.5):
        loss = study.measures[L, value, "bucketization"]["p_loss"]
        yield Claim(
            f"p-loss-l-{value:g}",
            f"P_loss at l = {value:g} is above .488",
            "> .488",
            round(loss, 4),
            loss > 0.488,
            "reported",
            "one group decides it: the largest share of a rare value among all groups",
        )
    yield _above_limit(study)
    yield _rank_correlation(study)
    yield _literal_reading(study)
    yield _rounded_to_nearest(study)


def _above_limit(study: LiLi2009) -> Claim:
    """Hold every release against the limit: a check of limit, P_loss and U_loss at once."""
    room = [own["u_loss"] - study.limit.at(own["p_loss"]) for own in study.measures.values()]
    text = "the efficient frontier lies below t-closeness; no release is below our limit (least U_loss above it)"
    return Claim(
        "limit", text, "somewhere below the t-closeness line", round(min(room), 6), min(room) >= -1e-9, "reported"
    )


def _rank_correlation(study: LiLi2009) -> Claim:
    keys = [key for key in study.measures if key[2] == "bucketization" and key[0] != STRICT_DELTA]
    ranks = [np.argsort(np.argsort([study.measures[key][name] for key in keys])) for name in ("u_loss", "query_error")]
    correlation = float(np.corrcoef(ranks[0], ranks[1])[0, 1])
    text = "figure 3a shows the pattern of figure 2a (rank correlation of U_loss and query error, bucketized)"
    return Claim("rank-correlation", text, "similar pattern", round(correlation, 4), correlation > 0.8, "reported")


def _literal_reading(study: LiLi2009) -> Claim:
    found = {}
    for qd in (1, 2):
        queries = Queries(dimensions=qd, selectivity=0.05, reading="attribute", sanity=0)
        found[f"qd={qd}"] = _mean(study.errors(queries))
    text = "under the literal reading (sel of the values of each attribute) the error would fall with qd"
    reason = "under this reading larger qd means smaller populations; most queries are empty from qd = 3 on"
    falls = found["qd=2"] < found["qd=1"]
    return Claim("literal-selectivity", text, "falls", found, falls, "reported", reason)


def _rounded_to_nearest(study: LiLi2009) -> Claim:
    found = {}
    for qd in DIMENSIONS:
        found[f"qd={qd}"] = _mean(study.errors(Queries(dimensions=qd, selectivity=0.05, rounding="nearest", sanity=0)))
    values = list(found.values())
    text = "the error would also fall with qd if the number of selected values were rounded to the nearest"
    reason = (
        "then it is flat: rounding up makes queries on more attributes select more records, which is the reason the "
        "paper itself gives for its trend"
    )
    return Claim("qd-rounded-to-nearest", text, "falls", found, values[-1] < 0.9 * values[0], "reported", reason)


# -- figures -----------------------------------------------------------------------------------------------


def _figures(study: LiLi2009) -> list[Figure]:
    loss, error = "P_loss (worst record)", "mean relative error of queries"

    def curve(label: str, family: str, form: str, y: str) -> Curve:
        points = [{"x": x, "y": value, "parameter": at} for x, value, at in study.curve(family, form, y)]
        return Curve(label, points)

    families = (K, L, T, DELTA, STRICT_DELTA)
    two_forms = [curve(f"{name}, {form}", name, form, "u_loss") for name in (L, T) for form in FORMS]
    named = [{"x": 0.086, "y": 0.0288, "label": "paper: k = 5000"}]
    floor = Curve("limit", [{"x": x, "y": y} for x, y in study.limit.points], marks=False)
    return [
        Figure(
            "2a",
            "Li & Li 2009, figure 2a: requirements (bucketized)",
            loss,
            "U_loss",
            [*(curve(name, name, "bucketization", "u_loss") for name in families), floor],
            named,
        ),
        Figure("2b", "Li & Li 2009, figure 2b: forms", loss, "U_loss", [*two_forms, floor]),
        Figure(
            "3a",
            "Li & Li 2009, figure 3a: queries, qd = 4, sel = .05",
            loss,
            error,
            [curve(name, name, "bucketization", "query_error") for name in families],
        ),
        Figure(
            "3b",
            "Li & Li 2009, figure 3b: sel (t-closeness, qd = 4)",
            loss,
            error,
            _error_curves(study, study.by_selectivity, "sel"),
        ),
        Figure(
            "3c",
            "Li & Li 2009, figure 3c: qd (t-closeness, sel = .05)",
            loss,
            error,
            _error_curves(study, study.by_dimension, "qd"),
        ),
    ]


def _error_curves(
    study: LiLi2009, found: dict[float, dict[float, float]] | dict[int, dict[float, float]], name: str
) -> list[Curve]:
    curves = []
    for value, errors in found.items():
        points = [
            {"x": study.measures[T, t, "bucketization"]["p_loss"], "y": error, "parameter": t}
            for t, error in errors.items()
        ]
        curves.append(Curve(f"{name} = {value:g}", points))
    return curves
