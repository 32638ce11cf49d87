"""The claims about problem 4: what is sound, what a little more loss buys, which choices there are (section 7.4)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from sfumato.anonymizers import CutVector
from sfumato.papers.dewri_2011.study import (
    DISTINCT,
    ETA,
    FREQUENCY,
    LIMIT,
    PAPER_K,
    PAPER_L,
    RELAXED,
    SHOWN,
    Dewri2011,
    over,
    pairs_of,
    within,
)
from sfumato.papers.results import Claim, all_of, claim_rows
from sfumato.process.interrupts import unfinished
from sfumato.publish import audit
from sfumato.requirements import KAnonymity
from sfumato.tradeoff import Frontier, FrontierPoint, Problem4
from sfumato.workers.crew import Crew

row = claim_rows(__name__.rpartition(".")[0])


def safe_claims(study: Dewri2011) -> Iterator[Claim]:
    """Judge problem 4, sound and as printed."""
    yield _sound(study)
    for id, problem in (("relaxing-helps", FREQUENCY), ("relaxing-helps-distinct", DISTINCT)):
        yield from relaxing(id, study.frontiers[problem])
    for problem in (PAPER_L, PAPER_K):
        yield _printed(study, problem)
    yield from choice_claims(*(below(study.frontiers[problem], SHOWN) for problem in (PAPER_K, PAPER_L)))


def below(front: Iterable[FrontierPoint], loss: float) -> list[FrontierPoint]:
    """Return the points of less than a loss, as figure 10 draws them."""
    return [point for point in front if point.values["loss"] < loss]


def _sound(study: Dewri2011) -> Claim:
    reported = [
        (problem, point)
        for problem in (FREQUENCY, DISTINCT)
        for point in study.frontiers[problem]
        if point.values["loss"] <= SHOWN
    ]
    confirmed = Crew().all(lambda each: _audited(study, *each), reported)
    wrong = [dict(point.values) for (_, point), good in zip(reported, confirmed, strict=True) if not good]
    text = f"every (k, l) reported within a loss of {SHOWN:.0%} is confirmed by an audit of the written file"
    ours = {"reported": len(reported), "confirmed": sum(confirmed), "wrong": wrong[:3]}
    where = over([point for _, point in reported], "loss")
    return row("problem-4-sound", ours, all_of(confirmed), claim=text, tested_over=where)


def _audited(study: Dewri2011, problem: Problem4, point: FrontierPoint) -> bool:
    """Write the release of a point and audit the file."""
    release, roles = study.release(problem, point), study.sensitive.roles
    require = str(point.candidate.requirement)
    with tempfile.TemporaryDirectory() as folder, unfinished(Path(folder)):
        path = Path(folder) / "release.csv"
        release.to_csv(path)
        audited = audit(path, roles.quasi, roles.sensitive, require=require, suppressed="keep")
    enough = audited["k"] >= point.values["k"] and audited[problem.letter] >= point.values[problem.letter] - 1e-9
    return bool(audited.holds and enough and release.suppressed <= ETA * study.sensitive.cells.records)


def relaxing(id: str, front: Frontier) -> Iterator[Claim]:
    """Ask what a little more loss buys: some larger k nearly always, so the paper's kind of gain is asked for.

    The publisher has chosen (20,4) and is offered (20,5): no less k and a whole l more. Where nothing fits the smaller
    loss there is nothing to compare with.
    """
    less, more = within(front, LIMIT), within(front, RELAXED)
    gains = gained(less, more, front.problem.objectives[1])
    where = (
        f"{len(less)} pairs within {LIMIT:.0%}: {pairs_of(less)}; {len(more)} within {RELAXED:.0%}: {pairs_of(more)}"
    )
    yield row(id, gains, bool(gains) if less else None, tested_over=where)
    holds = len(more) > len(less) if less else None
    yield row(f"{id}-choices", [len(less), len(more)], holds, tested_over=where)


def gained(less: Sequence[FrontierPoint], more: Sequence[FrontierPoint], letter: str) -> list[list[list[float]]]:
    """List what some points offer beyond others: (k, l) and a pair with no less k and at least one more of l."""
    pairs = [[[point.values["k"], point.values[letter]] for point in points] for points in (less, more)]
    return [[old, new] for old in pairs[0] for new in pairs[1] if new[0] >= old[0] and new[1] >= old[1] + 1]


def _printed(study: Dewri2011, problem: Problem4) -> Claim:
    broken, total = _broken(study, problem)
    ours = f"{broken} of {total} claims break"
    return row(f"problem-4-printed-{problem.preferred}", ours, broken == 0 if total else None)


def _broken(study: Dewri2011, problem: Problem4) -> tuple[int, int]:
    """Count the claims of the printed order that its own groups break: what it keeps, made and measured."""
    broken = 0
    for point in study.frontiers[problem]:
        release = CutVector(point.cuts).anonymize(study.sensitive, KAnonymity(1))
        histograms = release.histograms
        assert histograms is not None
        k, l = point.values["k"], point.values[problem.letter]  # noqa: E741
        diversity = np.floor(release.sizes / histograms.counts.max(axis=1) + 1e-9)
        first, second = (release.sizes, diversity) if problem.preferred == "l" else (diversity, release.sizes)
        a, b = (k, l) if problem.preferred == "l" else (l, k)
        left = (first > a) | ((first == a) & (second >= b))
        broken += bool((release.sizes[left] < k).any() or (diversity[left] < l).any())
    return broken, len(study.frontiers[problem])


def choice_claims(k_first: Sequence[FrontierPoint], l_first: Sequence[FrontierPoint]) -> Iterator[Claim]:
    """Count the choices for k and for l in figure 10, where k and where l is preferred: both ways to read the text."""
    letter = PAPER_L.letter
    k_of_k, l_of_k, k_of_l, l_of_l = (
        len({point.values[name] for point in points}) for points in (k_first, l_first) for name in ("k", letter)
    )
    known = bool(k_first and l_first)
    where = (
        f"loss below {SHOWN:.0%}: {len(k_first)} points with k preferred, {len(l_first)} with l; l by frequency, whole"
    )
    for id, ours, holds in (
        ("choices-k-preferred", [k_of_k, l_of_k], k_of_k > l_of_k),
        ("choices-l-preferred", [l_of_l, k_of_l], l_of_l > k_of_l),
        ("choices-preference", {"k": [k_of_k, k_of_l], "l": [l_of_l, l_of_k]}, k_of_k > k_of_l and l_of_l > l_of_k),
    ):
        yield row(id, ours, holds if known else None, tested_over=where)
