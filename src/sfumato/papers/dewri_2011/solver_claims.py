"""What the paper says of its solver: seeds do not matter, and Lunacek's crossover converges faster (sections 6, 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from sfumato.papers.dewri_2011.convergence import Crossing, SearchRun, hypervolume
from sfumato.papers.dewri_2011.front_claims import FLAT_GROWTH, FLAT_LOSS
from sfumato.papers.dewri_2011.study import ETA, Dewri2011
from sfumato.papers.results import Claim, claim_rows
from sfumato.tradeoff import Problem2

row = claim_rows(__name__.rpartition(".")[0])

BOUNDS = (0.25, 0.26)
"""The losses of question 2, whose answers are compared between seeds."""


def solver_claims(study: Dewri2011) -> Iterator[Claim]:
    """Judge seeds and crossovers."""
    special, repair = (areas_of(study.runs, crossing) for crossing in ("special", "repair"))
    yield from seed_claims([run for run in study.runs if run.crossing == "special"])
    yield from crossover_claims(special, repair, study.steps)
    area = hypervolume(study.frontiers[Problem2(ETA)], study.table.cells.records)
    ours = {"ours": round(area, 4), "the paper's operators": [round(areas[-1], 4) for areas in special]}
    yield row("hypervolume", ours, None)


def areas_of(runs: Sequence[SearchRun], crossing: Crossing) -> list[tuple[float, ...]]:
    """Return the hypervolumes of every run with a crossover, in order of the seeds."""
    return [run.areas for run in runs if run.crossing == crossing]


def seed_claims(runs: Sequence[SearchRun]) -> Iterator[Claim]:
    """Compare fronts of several seeds: as wholes, and by what they answer.

    What counts as a difference is what counts as one along a front: one point of loss, or half as much k again.
    """
    where = f"problem 2, {len(runs)} seeds, the paper's operators"
    areas = [run.areas[-1] for run in runs]
    spread = max(areas) - min(areas)
    ours: dict[str, object] = {"hypervolumes": [round(area, 4) for area in areas], "spread": round(spread, 4)}
    yield row("seeds-fronts", ours, spread <= FLAT_LOSS, tested_over=where)
    most = {f"{bound:.0%}": [_most(run, bound) for run in runs] for bound in BOUNDS}
    known = all(k is not None for answers in most.values() for k in answers)
    holds = all(differ_little(answers) for answers in most.values()) if known else None
    yield row("seeds-answers", most, holds, tested_over=where)


def _most(run: SearchRun, bound: float) -> float | None:
    return max((point.values["k"] for point in run.frontier if point.values["loss"] <= bound), default=None)


def differ_little(answers: Sequence[float | None]) -> bool:
    """Say whether the largest answer is less than half as much again as the smallest."""
    sizes = [answer for answer in answers if answer is not None]
    return max(sizes) < FLAT_GROWTH * min(sizes)


def crossover_claims(
    special: Sequence[Sequence[float]], repair: Sequence[Sequence[float]], steps: Sequence[int]
) -> Iterator[Claim]:
    """Compare two crossovers: which is ahead on its way, and when the one has what the other ends with."""
    curves = [[median(areas[i] for areas in runs) for i in range(len(steps))] for runs in (special, repair)]
    where = f"problem 2, {len(special)} seeds, hypervolume (median) after generations {', '.join(map(str, steps))}"
    ours = {"special": [round(area, 4) for area in curves[0]], "repair": [round(area, 4) for area in curves[1]]}
    ahead = [a > b for a, b in zip(*curves, strict=True)][1:]
    paper = "a much faster rate of convergence"
    reason = (
        "the paper believes so and shows no curve; its mutation leaves constrained attributes as they are, so mending "
        "is the only thing that brings new cuts of them; generations are counted, not the time that mending takes"
    )
    yield row("crossover-ahead", ours, all(ahead) if ahead else None, paper=paper, reason=reason, tested_over=where)
    reached = next((step for step, area in zip(steps, curves[0], strict=True) if area >= curves[1][-1]), None)
    text = f"Lunacek's crossover has what Iyengar's ends with (generation {steps[-1]}) in at most half the generations"
    holds = reached is not None and reached <= steps[-1] / 2
    yield row("crossover-faster", reached, holds, claim=text, paper=paper, reason=reason, tested_over=where)
