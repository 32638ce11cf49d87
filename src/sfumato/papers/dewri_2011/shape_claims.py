"""What the paper sees in its plots: the insets of figure 6 (section 7.1) and the trends of problem 3 (section 7.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.papers.dewri_2011.study import Dewri2011, over
from sfumato.papers.results import Claim, claim_rows
from sfumato.tradeoff import FrontierPoint, Problem1, Problem3

row = claim_rows(__name__.rpartition(".")[0])

LOW, HIGH = 0.05, 0.22
"""The losses of the two insets: the paper says of one 22 % (section 7.5), of the other only that it is low."""

NEAR = (5000, 0.35, 0.17)
"""The encircled region of figure 9: k, generalization loss, suppression loss."""

Sizes = NDArray[np.int64]
Curve = list[tuple[int, float]]


def shape_claims(study: Dewri2011) -> Iterator[Claim]:
    """Judge the insets and the trends."""
    low, high = (cumulated(study.release(Problem1(), inset_point(study, loss)).sizes) for loss in (LOW, HIGH))
    yield from inset_claims(low, high)
    yield from trend_claims(list(study.frontiers[Problem3()]))
    yield from near_claims(list(study.frontiers[Problem3()]))


def inset_point(study: Dewri2011, loss: float) -> FrontierPoint:
    """Return the point of problem 1 whose loss is nearest to a loss."""
    return min(study.frontiers[Problem1()], key=lambda point: abs(point.values["generalization_loss"] - loss))


def cumulated(sizes: Sizes) -> Curve:
    """Return an inset's curve: for every group size that occurs, the share of the records in groups up to it."""
    different, groups = np.unique(sizes, return_counts=True)
    records = np.cumsum(different * groups)
    return [(int(size), float(share)) for size, share in zip(different, records / records[-1], strict=True)]


def inset_claims(low: Curve, high: Curve) -> Iterator[Claim]:
    """Judge the shapes of a release of low loss and one of high loss, without any bound of our own."""
    where = f"two releases, near a loss of {LOW:.0%} and of {HIGH:.0%}"
    jumps = [largest_jump(low), largest_jump(high)]
    ours: Any = [round(jump, 4) for jump in jumps]
    yield row("inset-jumps", ours, jumps[0] < jumps[1], tested_over=where)
    shares = [middle_share(low), middle_share(high)]
    ours = [round(share, 4) for share in shares]
    yield row("inset-extremes", ours, shares[1] < shares[0], tested_over=where)
    ahead = largest_lead(high, low)
    ours = {"the other way by at most": round(ahead, 4), "half of the records up to": [_median(low), _median(high)]}
    yield row("inset-order", ours, ahead <= 0, tested_over=where)


def largest_jump(curve: Curve) -> float:
    """Return the largest share of the records that one group size adds."""
    return float(np.diff([0.0, *(share for _, share in curve)]).max())


def middle_share(curve: Curve) -> float:
    """Return the share of the records in groups of the middle third of sizes, from 1 to the largest, by logarithm."""
    largest = curve[-1][0]
    return _share(curve, largest ** (2 / 3)) - _share(curve, largest ** (1 / 3))


def largest_lead(first: Curve, second: Curve) -> float:
    """Return by how much the first curve is above the second where it is most so; negative where it never is."""
    sizes = sorted({size for size, _ in (*first, *second)})
    return max(_share(first, size) - _share(second, size) for size in sizes if size < max(first[-1][0], second[-1][0]))


def _share(curve: Curve, size: float) -> float:
    return max((share for each, share in curve if each <= size + 1e-9), default=0.0)


def _median(curve: Curve) -> int:
    return next(size for size, share in curve if share >= 0.5)


def trend_claims(points: Sequence[FrontierPoint]) -> Iterator[Claim]:
    """Judge the trends of figure 8 by rank correlations: of three objectives no two need go together."""
    names = ("weighted_k_before", "generalization_loss", "suppression_loss")
    for id, one, other, sign in (
        ("trend-generalization-suppression", names[1], names[2], -1),
        ("trend-k-suppression", names[0], names[2], -1),
        ("trend-k-generalization", names[0], names[1], 1),
    ):
        ranks = rank_correlation(points, one, other)
        ours, holds = (None, None) if ranks is None else (round(ranks, 4), ranks * sign > 0)
        yield row(id, ours, holds, tested_over=f"{len(points)} points, {over(points, one)}")


def rank_correlation(points: Sequence[FrontierPoint], one: str, other: str) -> float | None:
    """Return Spearman's correlation of two values; None where one of them does not vary."""
    first, second = (_ranks(np.array([point.values[name] for point in points])) for name in (one, other))
    if len(points) < 2 or not np.ptp(first) or not np.ptp(second):
        return None
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return mean ranks: equal values have the same."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[places]


def near_claims(points: Sequence[FrontierPoint]) -> Iterator[Claim]:
    """Look for the encircled releases of figure 9, within each of its two bounds."""
    k, general, suppressed = NEAR
    for id, name, bound in (
        ("problem-3-near-5000", "suppression_loss", 0.2),
        ("problem-3-near-5000-right", "generalization_loss", 0.3),
    ):
        inside = [point for point in points if point.values[name] < bound]
        good = [p for p in map(three, inside) if p[0] >= k and p[1] <= general and p[2] <= suppressed]
        rows = [[round(value, 3) for value in three(point)] for point in encircled(inside)]
        yield row(id, rows, bool(good) if inside else None, tested_over=over(inside, "weighted_k_before"))


def encircled(points: Iterable[FrontierPoint]) -> list[FrontierPoint]:
    """Return the three points nearest to the paper's encircled region, k by its logarithm."""
    return sorted(points, key=lambda point: _distance(three(point)))[:3]


def _distance(point: tuple[float, float, float]) -> float:
    return float(np.hypot(np.hypot(np.log(point[0] / NEAR[0]), point[1] - NEAR[1]), point[2] - NEAR[2]))


def three(point: FrontierPoint) -> tuple[float, float, float]:
    """Return what problem 3 trades: weighted-k, generalization loss, suppression loss."""
    values = point.values
    return values["weighted_k_before"], values["generalization_loss"], values["suppression_loss"]
