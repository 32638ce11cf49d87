"""The limit of Adult: its time against a general convex solver, and the scores that the issue's prototypes came to.

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/limit.py [--rows 12] [--dense 80]

The plain baseline is scipy's SLSQP on the same problem, population by population (without any certificate); a few
populations are enough for a ratio. Scores are of bucketized Mondrian releases, as `map.score()` counts them.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import rel_entr

from common import compare_seconds, median_seconds, print_table
from sfumato import anonymize, load
from sfumato.measures import Prepared, Scales
from sfumato.requirements.nearest_js import nearest_js
from sfumato.tradeoff.limit.limit import Limit, limit
from sfumato.tradeoff.limit.score import ScoreBox
from sfumato.tradeoff.study.presets import LI_LI_2009

Numbers = NDArray[np.float64]
RADIUS = 0.02
CLOSENESS = "t-closeness t={} distance=js"


def js(p: Numbers, q: Numbers) -> float:
    """Jensen-Shannon divergence by its definition."""
    middle = (p + q) / 2
    return float((rel_entr(p, middle).sum() + rel_entr(q, middle).sum()) / 2)


def general(rows: Numbers, q: Numbers) -> float:
    """The mean least distance by a general solver."""
    found = []
    for p in rows:
        ball = {"type": "ineq", "fun": lambda r: 100 * (RADIUS - js(q, np.maximum(r, 0)))}
        total = {"type": "eq", "fun": lambda r: r.sum() - 1}
        solved = minimize(
            lambda r, p=p: js(p, np.maximum(r, 0)), q, bounds=[(1e-12, 1)] * len(q), constraints=[ball, total]
        )
        found.append(float(solved.fun))
    return float(np.mean(found))


def score(prepared: Prepared, floor: Limit, texts: list[str]) -> float:
    """Score bucketized Mondrian releases with these requirements."""
    places = []
    for text in texts:
        measured = prepared.measure(anonymize(prepared.table, text, form="bucketization"))
        places.append((measured["p_loss"], measured["u_loss"]))
    return ScoreBox((0.0, floor.revealed), (0.0, floor.trivial)).area(places)


def main() -> None:
    """Print times and scores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=12)
    parser.add_argument("--dense", type=int, default=80)
    given = parser.parse_args()
    prepared = Scales().prepare(load("adult")).ready()
    truth, q = prepared.population_truth, prepared.table.cells.sensitive[0].shares
    rows = truth[:: len(truth) // given.rows] / truth[:: len(truth) // given.rows].sum(axis=1, keepdims=True)
    own, plain, ratio = compare_seconds(lambda: nearest_js(rows, q, RADIUS), lambda: general(rows, q), 3)
    found = nearest_js(rows, q, RADIUS)
    print(f"{len(rows)} populations: {own:.5f} s, SLSQP {plain:.3f} s, {ratio:,.0f} times")
    print(f"mean bound {found.bounds.mean():.9f}, distance {found.distances.mean():.9f}, SLSQP {general(rows, q):.9f}")
    print(f"the whole limit, {len(truth):,} populations: {median_seconds(lambda: limit(prepared), 3):.2f} s")
    floor = limit(prepared)
    assert floor is not None
    paper = [text.format(value) for text, values in LI_LI_2009.items() for value in values]
    alone = [CLOSENESS.format(value) for value in LI_LI_2009[CLOSENESS]]
    dense = [CLOSENESS.format(round(float(t), 4)) for t in np.linspace(0.005, 0.4, given.dense)]
    print_table(
        ("what", "prototype", "here"),
        [
            ("U_loss of the trivial release", "0.0481", f"{floor.trivial:.4f}"),
            ("P_loss of a revealed rarest value", "0.6917", f"{floor.revealed:.4f}"),
            ("score of the limit", "0.0194", f"{floor.area / floor.trivial / floor.revealed:.4f}"),
            ("the paper's 32 Mondrian settings", "0.117", f"{score(prepared, floor, paper):.4f}"),
            ("its eight t alone", "0.139", f"{score(prepared, floor, alone):.4f}"),
            (f"t on a grid of {given.dense}", "0.095", f"{score(prepared, floor, dense):.4f}"),
        ],
    )


if __name__ == "__main__":
    main()
