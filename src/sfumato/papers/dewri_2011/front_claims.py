"""The claims about problems 1 and 2: that their fronts are fronts, and where they are flat (sections 7.1 and 7.2).

A frontier is non-dominated and rises because it was picked to be, so its own numbers prove nothing. What is tested is
that its releases, made and measured anew from their groups and boxes, have the k and the loss that were said, and rise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from sfumato.measures import measure
from sfumato.papers.dewri_2011.study import ETA, LEVELS, Dewri2011, over
from sfumato.papers.results import Claim, claim_rows
from sfumato.release import Release
from sfumato.tradeoff import FrontierPoint, Problem, Problem1, Problem2

row = claim_rows(__name__.rpartition(".")[0])

LEAST_POINTS = 30
FLAT_LOSS, FLAT_GROWTH, FLAT_FROM = 0.01, 1.5, 5
"""A flat stretch: k grows by half or more for at most one point of loss, from k = 5 on."""

PAPER_STRETCH = (14, 36)
"""The flat stretch that the paper names: k 14 at a loss of 25 %, 36 at 26 %."""

ZOOMS = (2000, 200, 50)
"""Up to which k figure 7 is drawn again, larger."""

CHECKED = 60
"""Points of a frontier that are made as releases to measure them anew."""

Stretch = tuple[float, float, float, float]
Measured = tuple[float, float]


def front_claims(study: Dewri2011) -> Iterator[Claim]:
    """Judge the fronts of problems 1 and 2."""
    for id, problem, name in (("problem-1-front", Problem1(), "weighted_k"), ("problem-2-front", Problem2(ETA), "k")):
        yield _front(study, id, problem, name)
    yield _unbeaten(study)
    for id, eta in (("problem-2-flat", ETA), ("problem-2-flat-1-percent", 0.01)):
        yield _flat(study, id, eta)
    yield from _stretch_claims(study)
    yield _zooms(study)


def _front(study: Dewri2011, id: str, problem: Problem, name: str) -> Claim:
    front = study.frontiers[problem]
    points = sorted(front, key=lambda point: point.values[name])
    checked = points[:: max(1, len(points) // CHECKED)]
    claimed = [(point.values[name], point.values["generalization_loss"]) for point in checked]
    measured = []
    for point in checked:
        release = study.release(problem, point)
        measured.append((float(measure(release)[name]), atom_loss(release)))
    apart, rising = largest_error(claimed, measured), is_rising(measured)
    ours = {"points": len(points), "measured": len(checked), "differ_by": apart, "rising": rising}
    holds = len(points) >= LEAST_POINTS and apart < 1e-6 and rising
    return row(id, ours | {"vectors": front.evaluations}, holds, tested_over=over(checked, name))


def atom_loss(release: Release) -> float:
    """Work the generalization loss out from the boxes: the atoms that each spans, suppressed records counting none."""
    lost = np.zeros(len(release.boxes.mass))
    for column, quasi in enumerate(release.cells.quasi):
        starts = np.asarray(quasi.hierarchy.levels[LEVELS.get(quasi.name, 0)].starts)
        first, last = (
            np.searchsorted(starts, ends[:, column], "right") for ends in (release.boxes.lo, release.boxes.hi)
        )
        lost += (last - first) / (len(starts) - 1)
    return float((lost * release.boxes.mass).sum() / (release.cells.records * len(release.cells.quasi)))


def largest_error(claimed: Sequence[Measured], measured: Sequence[Measured]) -> float:
    """Return the largest difference: of privacy as a share of what was said, of loss as it is."""
    return max(max(abs(b[0] / a[0] - 1), abs(b[1] - a[1])) for a, b in zip(claimed, measured, strict=True))


def is_rising(measured: Sequence[Measured]) -> bool:
    """Say whether more privacy costs more everywhere: none of these releases beats or equals another."""
    return all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(sorted(measured)))


def _unbeaten(study: Dewri2011) -> Claim:
    """Hold our front against those of other searches, which might have found better releases."""
    front = study.frontiers[Problem2(ETA)]
    others = [point for run in study.runs for point in run.frontier]
    lost, won = beaten(front, others), beaten(others, front)
    ours = {"ours beaten": f"{lost} of {len(front)}", "theirs beaten": f"{won} of {len(others)}"}
    holds = lost == 0 if others else None
    return row("problem-2-unbeaten", ours, holds, tested_over=over(front, "k"))


def beaten(points: Iterable[FrontierPoint], others: Iterable[FrontierPoint]) -> int:
    """Count the points of (k, generalization loss) that one of the others beats."""
    sizes, losses = np.array([(p.values["k"], p.values["generalization_loss"]) for p in others]).reshape(-1, 2).T
    number = 0
    for point in points:
        k, loss = point.values["k"], point.values["generalization_loss"]
        as_good = (sizes >= k) & (losses <= loss + 1e-12)
        number += bool((as_good & ((sizes > k) | (losses < loss - 1e-12))).any())
    return number


def _flat(study: Dewri2011, id: str, eta: float) -> Claim:
    front = study.frontiers[Problem2(eta)]
    flat = flat_stretches(front)
    large = [point for point in front if point.values["k"] >= FLAT_FROM]
    ours = [[round(value, 4) for value in stretch] for stretch in flat[:10]]
    return row(id, ours, bool(flat) if large else None, tested_over=f"{over(large, 'k')}; {where_flat(flat)}")


def where_flat(flat: Sequence[Stretch]) -> str:
    """Say at which k the flat stretches are: the paper's lies where people choose k, ours need not."""
    if not flat:
        return f"no stretch from k = {FLAT_FROM} on"
    begins = f"ours (k, GL, k, GL) begin at k = {flat[0][0]:,.0f}, the paper's at k = {PAPER_STRETCH[0]}"
    small = sum(stretch[0] <= PAPER_STRETCH[1] for stretch in flat)
    return f"{len(flat)} points begin one, {small} of them up to k = {PAPER_STRETCH[1]}; {begins}"


def flat_stretches(front: Iterable[FrontierPoint]) -> list[Stretch]:
    """Find for every point the farthest one that has half as much k again, or more, for at most one point of loss."""
    points = sorted(
        (point.values["k"], point.values["generalization_loss"]) for point in front if point.values["k"] >= FLAT_FROM
    )
    stretches = []
    for i, (k, loss) in enumerate(points):
        reach = [later for later in points[i + 1 :] if later[1] <= loss + FLAT_LOSS and later[0] >= FLAT_GROWTH * k]
        if reach:
            stretches.append((k, loss, *reach[-1]))
    return stretches


def _stretch_claims(study: Dewri2011) -> Iterator[Claim]:
    """Ask what the paper's own stretch costs here: from k = 14 to k = 36, with our operators and with the paper's."""
    runs = [run.frontier for run in study.runs if run.crossing == "special"]
    for name in ("generalization_loss", "loss"):
        cost = step_cost(study.frontiers[Problem2(ETA)], name)
        theirs = [step_cost(front, name) for front in runs]
        ours = {"ours": _rounded(cost), "the paper's operators, by seed": [_rounded(each) for each in theirs]}
        holds, whole = None if cost is None else cost <= FLAT_LOSS, over(study.frontiers[Problem2(ETA)], "k")
        yield row(f"problem-2-from-14-to-36-{name}", ours, holds, tested_over=whole)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def step_cost(front: Iterable[FrontierPoint], name: str) -> float | None:
    """Return what the step costs: the least loss that has k = 36 less the least that has k = 14; None without one."""
    points = list(front)
    least = [
        min((point.values[name] for point in points if point.values["k"] >= k), default=None) for k in PAPER_STRETCH
    ]
    return None if least[0] is None or least[1] is None else least[1] - least[0]


def _zooms(study: Dewri2011) -> Claim:
    """Count the flat stretches of every magnification: the paper sees some in each."""
    front = study.frontiers[Problem2(ETA)]
    counts = {f"k up to {most:,}": zoomed(front, most) for most in ZOOMS}
    points = [point for point in front if FLAT_FROM <= point.values["k"] <= ZOOMS[0]]
    holds = all(counts.values()) if points else None
    return row("problem-2-flat-zooms", counts, holds, tested_over=over(points, "k"))


def zoomed(front: Iterable[FrontierPoint], most: int) -> int:
    """Count the flat stretches among the points up to one k."""
    return len(flat_stretches(point for point in front if point.values["k"] <= most))
