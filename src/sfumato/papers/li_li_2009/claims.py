"""Li & Li, "On the Tradeoff Between Privacy and Utility in Data Publishing", KDD 2009: figures 2 and 3.

Mondrian with four requirements in two forms on Adult (`li_li_study`), P_loss against U_loss and against the error of
aggregate queries (`li_li_queries`); what the paper says of it, and what comes out.

The tie of Li & Li 2009, section 3.1: adversary and researcher who know, read and want the same gain the same.

Brickell & Shmatikov let the researcher know neutral attributes that the adversary does not. Without these, both guess
the sensitive value of a record from its group, beyond the commonest value of the table: a tie by definition, as long as
the researcher is tested on the records that he learned from. Tested on others, as classifiers are, he gains less.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers import anonymize
from sfumato.papers.claims import Claim, Figure, FigureLine, Progress, Results, all_of, claim_rows
from sfumato.papers.li_li_2009.frontier import LiLiFrontier, frontier_claims, frontier_figures
from sfumato.papers.li_li_2009.study import (
    DELTA,
    FAMILIES,
    STRICT,
    STRICT_DELTA,
    K,
    L,
    LiLi2009,
    T,
    query_claims,
    query_figures,
    reading_claims,
)
from sfumato.release.release import FORMS, Release
from sfumato.requirements._predicates import js_distance

FOLDS = 10
SEED = 2009
TIE = 0.025
"""What counts as equal where records were not seen before: as for classifiers in Brickell & Shmatikov 2008."""

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
    """Guess the commonest value of every record's group; say how much better that is than the commonest of all."""
    group, value = _records(release)
    return float((_guesses(group, value, release)[group] == value).mean()) - _commonest(release)


def _gain_on_unseen(release: Release) -> float:
    """Do the same, but let every guess be learned from the other folds alone."""
    group, value = _records(release)
    fold = np.random.default_rng(SEED).permutation(len(value)) % FOLDS
    right = 0
    for held in range(FOLDS):
        learned, asked = fold != held, fold == held
        right += int((_guesses(group[learned], value[learned], release)[group[asked]] == value[asked]).sum())
    return right / len(value) - _commonest(release)


def _guesses(group: Whole, value: Whole, release: Release) -> Whole:
    """Return the commonest value of every group among some records; the table's where a group has none of them."""
    shares = release.cells.sensitive[0].shares
    counts = np.bincount(group * len(shares) + value, minlength=release.groups * len(shares))
    table = counts.reshape(release.groups, len(shares)) + shares / 2  # less than a record: for ties and empty groups
    guesses: Whole = table.argmax(axis=1)
    return guesses


def _commonest(release: Release) -> float:
    return float(release.cells.sensitive[0].shares.max())


row = claim_rows(__name__.rpartition(".")[0])

BELOW_ONE = (0.2, 0.4, 0.6, 0.8, 0.99)
"""Values of delta for which the paper got a single class."""

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


def reproduce(progress: Progress | None = None, frontier: bool = False) -> Results:
    """Make all releases of the paper, measure them, and hold the paper's claims against them.

    `frontier` lets all makers loose on the table as well, and says how near they come to the limit.
    """
    study = LiLi2009(progress)
    claims = [*_data_claims(study), *_curve_claims(study), *query_claims(study), *_reported_claims(study)]
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
        reason="the figure was very probably made with absent values ignored" if strict.below is None else None,
        tested_over=strict.over,
    )
    pairs = {
        f"{name} {value:g}": [study.measures[name, value, form]["u_loss"] for form in reversed(FORMS)]
        for name, value, form in study.releases
        if name in (L, T) and form == "bucketization"
    }
    rounded = {name: [round(value, 5) for value in pair] for name, pair in pairs.items()}
    below = all(bucketized < generalized for bucketized, generalized in pairs.values())
    yield row("bucketization-below-generalization", rounded, below)
    losses = [measures["u_loss"] for (name, _, _), measures in study.measures.items() if name != STRICT_DELTA]
    limit = study.trivial["u_loss"]
    yield row("u-loss-below-trivial", [round(max(losses), 4), round(limit, 4)], max(losses) < limit)
    ours = {
        f"t={value:g}": round(measures["p_loss"], 4)
        for (name, value, _), measures in study.measures.items()
        if name == T
    }
    bounded = all(
        measures["p_loss"] <= value + 1e-9 for (name, value, _), measures in study.measures.items() if name == T
    )
    yield row("t-bounds-p-loss", ours, bounded)


@dataclass(frozen=True)
class Lead:
    """How far t-closeness lies below another curve, over the range of P_loss that both reach."""

    low: float
    high: float
    excess: Sequence[float]
    """U_loss of t-closeness less that of the other, at many places of the range; none where there is no range."""

    @property
    def below(self) -> bool | None:
        """Whether t-closeness is below all over the range; None where there is none."""
        return all_of(excess <= 1e-12 for excess in self.excess)

    @property
    def over(self) -> str:
        """The range in words."""
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
    """Hold every release against the limit (a check of limit, P_loss and U_loss at once), and t-closeness most of all.

    That there is room below t-closeness is necessary for the paper's guess; `--frontier` says who gets into it.
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
