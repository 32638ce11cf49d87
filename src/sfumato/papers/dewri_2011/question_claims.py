"""The publisher's questions (sections 1 and 7.5): the paper's answers beside ours."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.papers.dewri_2011.study import DISTINCT, ETA, FREQUENCY, LIMIT, RELAXED, SHOWN, Dewri2011
from sfumato.papers.dewri_2011.words import PRINTED, WHY, over, pairs_of, within
from sfumato.papers.results import Claim
from sfumato.tradeoff import Problem1, Problem2


def question_claims(study: Dewri2011) -> Iterator[Claim]:
    """Put the four questions to the frontiers."""
    first, second = study.frontiers[Problem1()], study.frontiers[Problem2(ETA)]
    for loss, paper in ((0.22, 2528), (0.25, None)):
        best = within(first, loss)
        ours = round(best[0].values["weighted_k"], 1) if best else None
        text = f"question 1: weighted-k without suppression at {loss:.0%} loss"
        text += " is at least the paper's" if paper else ""
        reason = WHY if paper else "the paper asks this and prints no number"
        where = over([point for point in first if point.values["loss"] <= loss], "loss")
        yield Claim(f"question-1-at-{loss:.0%}", text, paper, ours, _reaches(ours, paper), "reported", reason, where)
    for name in ("loss", "generalization_loss"):
        for bound, paper in ((0.25, 14), (0.26, 36)):
            inside = [point for point in second if point.values[name] <= bound]
            most = max((point.values["k"] for point in inside), default=None)
            what = name.replace("_", " ")
            text = f"question 2: k with 10 % suppressed and a {what} of {bound:.0%} is at least the paper's"
            id, where = f"question-2-at-{bound:.0%}-{name}", over(inside, name)
            yield Claim(id, text, paper, most, _reaches(most, paper), "reported", WHY, where)
    yield from _pair_claims(study)


def _reaches(ours: float | None, paper: float | None) -> bool | None:
    """Say whether our number is at least the paper's; None where one of the two is not there."""
    return None if ours is None or paper is None else ours >= paper


def _pair_claims(study: Dewri2011) -> Iterator[Claim]:
    for variant, problem in (("frequency", FREQUENCY), ("distinct", DISTINCT)):
        for bound, pairs in ((LIMIT, [[20, 4]]), (RELAXED, [[20, 5], [22, 3], [18, 6]]), (SHOWN, [[15, 7]])):
            inside = within(study.frontiers[problem], bound)
            ours = pairs_of(inside)
            good = all(any(pair[0] >= a and pair[1] >= b for pair in ours) for a, b in pairs) if ours else None
            text = (
                f"question 4: (k, l) by {variant} with 10 % suppressed and a loss of {bound:.0%}: at least the paper's"
            )
            reason = f"{WHY}; {PRINTED}; ours are k, l, loss"
            id, where = f"question-4-{variant}-at-{bound:.0%}", over(inside, "loss")
            yield Claim(id, text, pairs, ours, good, "reported", reason, where)
