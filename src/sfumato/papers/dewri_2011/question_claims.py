"""The publisher's questions (sections 1 and 7.5): the paper's answers beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from sfumato.papers.dewri_2011.study import DISTINCT, ETA, FREQUENCY, LIMIT, RELAXED, SHOWN, Dewri2011
from sfumato.papers.dewri_2011.words import over, pairs_of, within
from sfumato.papers.results import Claim, claim_rows
from sfumato.tradeoff import Problem1, Problem2

row = claim_rows(__name__.rpartition(".")[0])


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
