"""Dewri, Ray, Ray & Whitley, "Exploring Privacy versus Data Quality Tradeoffs in Anonymization Techniques", 2011.

NSGA-II over cut vectors of Adult's 30,162 complete training records, problems 1 to 4. The paper prints neither its
hierarchies nor the granularity of age: these are the bundled hierarchies and five-year ages (level 1), frozen before
any result was looked at, so its points are comparable in shape only. Losses count atoms: ages in steps of five years.
In problem 4 occupation is sensitive: it leaves the quasi-identifiers and the columns that losses are a share of.
Problem 4 is solved in its sound form; the printed one is run beside it to see how often its claims fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from sfumato.papers.claims import Claim, Results, claim_rows
from sfumato.papers.dewri_2011.claims import front_claims, safe_claims, shape_claims, solver_claims
from sfumato.papers.dewri_2011.figures import figures
from sfumato.papers.dewri_2011.study import (
    DISTINCT,
    ETA,
    FREQUENCY,
    LARGE,
    LIMIT,
    RELAXED,
    SHOWN,
    USUAL,
    Dewri2011,
    Progress,
    example_claims,
    over,
    pairs_of,
    within,
)
from sfumato.tradeoff.search.pareto import NSGA2
from sfumato.tradeoff.search.problems import Problem1, Problem2

row = claim_rows(__name__.rpartition(".")[0])


def reproduce(progress: Progress | None = None, usual: NSGA2 = USUAL, large: NSGA2 = LARGE) -> Results:
    """Search all frontiers and hold the paper's claims against them."""
    study = Dewri2011(progress, usual, large)
    parts = (front_claims, shape_claims, safe_claims, solver_claims, question_claims)
    claims = [*example_claims(), *(claim for part in parts for claim in part(study))]
    return Results("dewri-2011", claims, list(figures(study)))


def question_claims(study: Dewri2011) -> Iterator[Claim]:
    """Put the four questions to the frontiers."""
    first, second = study.frontiers[Problem1()], study.frontiers[Problem2(ETA)]
    for loss in (0.22, 0.25):
        best = within(first, loss)
        ours = round(best[0].values["weighted_k"], 1) if best else None
        where = over([point for point in first if point.values["loss"] <= loss], "loss")
        yield row(f"question-1-at-{loss:.0%}", ours, partial(_reaches, ours), tested_over=where)
    for name in ("loss", "generalization_loss"):
        for bound in (0.25, 0.26):
            inside = [point for point in second if point.values[name] <= bound]
            most = max((point.values["k"] for point in inside), default=None)
            where = over(inside, name)
            yield row(f"question-2-at-{bound:.0%}-{name}", most, partial(_reaches, most), tested_over=where)
    for variant, problem in (("frequency", FREQUENCY), ("distinct", DISTINCT)):
        for bound in (LIMIT, RELAXED, SHOWN):
            pairs = within(study.frontiers[problem], bound)
            id, where = f"question-4-{variant}-at-{bound:.0%}", over(pairs, "loss")
            yield row(id, pairs_of(pairs), partial(_have, pairs_of(pairs)), tested_over=where)


def _reaches(ours: float | None, paper: float | None) -> bool | None:
    """Say whether our number is at least the paper's; None where one of the two is not there."""
    return None if ours is None or paper is None else ours >= paper


def _have(ours: Sequence[Sequence[float]], paper: Sequence[Sequence[float]]) -> bool | None:
    """Say whether for every pair of the paper one of ours is at least as good; None where we have none."""
    return all(any(pair[0] >= a and pair[1] >= b for pair in ours) for a, b in paper) if ours else None
