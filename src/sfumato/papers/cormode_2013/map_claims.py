"""What Cormode et al. 2013 state of their maps: which model is in front where, over data sizes and heights, on Census.

Of two models the one is better that leaves the attack less at no more error. A claim about a stretch of the map is
tested by those models only that have a release there, and not at all where its own model has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sfumato.papers.cormode_2013.outcomes import (
    Curves,
    Outcome,
    accuracy,
    along,
    at,
    both,
    dominates,
    error,
    least_accuracy,
    least_error,
)
from sfumato.papers.cormode_2013.study import (
    CENSUS,
    DP,
    EPSILON_1,
    HEIGHT,
    K_8,
    QUADTREE,
    T_STOP,
    T_STOP_EQUAL,
    Cormode2013,
    K,
    L,
    kd_tree,
)
from sfumato.papers.results import Claim, all_of, claim_rows

row = claim_rows(__name__.rpartition(".")[0])

HIGH_UTILITY = 0.10
"""The paper's "high utility": an error below 10 %."""

ALMOST_ZERO = 0.05
"""A breach below this is "nearly zero"."""

STAND_IN = "another table stands for the paper's"
EXACT = (K, L, T_STOP, T_STOP_EQUAL)
"""The models without noise, as the paper has them."""


def map_claims(study: Cormode2013) -> Iterator[Claim]:
    """Compare the maps with the paper's."""
    yield from _high_utility(study)
    yield from _high_privacy(study)
    yield from _sizes(study)
    yield from _heights(study)
    yield from _census(study)


def _models(curves: Curves, private: str, cut: bool = False) -> dict[str, Sequence[Outcome]]:
    """The models of the paper's map: those without noise, and one kind of private tree in one reading."""
    noisy = [outcome.cut for outcome in curves[private]] if cut else curves[private]
    return {**{name: curves[name] for name in EXACT}, "DP": noisy}


def _trees(study: Cormode2013) -> tuple[str, ...]:
    """Name all private trees on Adult."""
    return (*map(kd_tree, study.grid.heights), QUADTREE)


def _high_utility(study: Cormode2013) -> Iterator[Claim]:
    known = least_accuracy(_models(study.adult, DP), HIGH_UTILITY)
    noiseless = {name: value for name, value in known.items() if name != "DP"}
    trees = {name: study.adult[name] for name in _trees(study)}
    by_tree = least_accuracy(trees, HIGH_UTILITY)
    cut = least_accuracy({name: [o.cut for o in curve] for name, curve in trees.items()}, HIGH_UTILITY)
    where = f"error below {HIGH_UTILITY:.0%}: {', '.join(known) or 'no model'}"
    yield row(
        "high-utility",
        known,
        min(known, key=known.__getitem__) in (T_STOP, T_STOP_EQUAL) if len(known) > 1 else None,
        tested_over=where,
    )
    yield row(
        "dp-no-better-at-high-utility",
        {**known, "private trees, as drawn": by_tree, "private trees, counts cut": cut},
        known["DP"] >= min(noiseless.values()) if "DP" in known and noiseless else None,
        tested_over=where,
    )
    yield _converges(study)


def _converges(study: Cormode2013) -> Claim:
    """Compare the releases of least error: errors in single digits, accuracies within a tenth of what the map spans."""
    models = {name: study.adult[name] for name in (K, T_STOP, T_STOP_EQUAL, DP, QUADTREE)}
    ends = {name: min(curve, key=error) for name, curve in models.items()}
    everything = [outcome.accuracy for curve in models.values() for outcome in curve]
    span = max(everything) - min(everything)
    accuracies = [outcome.accuracy for outcome in ends.values()]
    return row(
        "all-models-converge",
        {name: both(outcome) for name, outcome in ends.items()},
        max(o.error for o in ends.values()) < HIGH_UTILITY and max(accuracies) - min(accuracies) <= span / 10,
        tested_over=f"k = 2, t = .9, epsilon = 10; accuracies span {span:.3f}",
    )


def _high_privacy(study: Cormode2013) -> Iterator[Claim]:
    twice = 2 * study.root_accuracy
    private = least_error(_models(study.adult, DP), twice)
    others = [value for name, value in private.items() if name != "DP"]
    by_tree: dict[str, dict[str, float | None]] = {}
    for name in _trees(study):
        as_drawn, cut = (least_error(_models(study.adult, name, way), twice).get("DP") for way in (False, True))
        by_tree[name] = {"as drawn": as_drawn, "cut": cut}
    yield row(
        "dp-at-high-privacy",
        private,
        private["DP"] < min(others) if "DP" in private and others else None,
        tested_over=f"accuracy below {twice:.3f}; kd-tree of height {HEIGHT}, counts as drawn",
    )
    quadtree = by_tree[QUADTREE]["as drawn"]
    beyond = at(study.adult[QUADTREE], 0.5).accuracy / study.root_accuracy - 1
    yield row(
        "quadtree",
        {**by_tree, "best of the others": min(others, default=None)},
        quadtree < min(others) if quadtree is not None and others else None,
        reason=f"its breach at epsilon = .5 is {beyond:.2f}, and the next epsilon of the grid is .1; kd-trees of "
        "height 8 and more come first with counts as drawn, none of them with counts cut",
        tested_over=f"accuracy below {twice:.3f}",
    )
    yield from _epsilon_one(study)


def _epsilon_one(study: Cormode2013) -> Iterator[Claim]:
    rho = study.root_accuracy
    breaches = {
        name: {f"{epsilon:g}": round(at(study.adult[name], epsilon).accuracy / rho - 1, 4) for epsilon in (0.5, 1)}
        for name in _trees(study)
    }
    yield row("epsilon-.5-and-1", breaches, breaches[DP]["0.5"] < 1 <= breaches[DP]["1"])
    one = at(study.adult[DP], 1)
    better = {
        name: [f"{outcome.parameter:g}", *both(outcome)]
        for name in EXACT
        for outcome in study.adult[name]
        if dominates(outcome, one)
    }
    yield row("epsilon-1-dominated", {"epsilon = 1": both(one), "better": better}, bool(better))


# -- size and height ---------------------------------------------------------------------------------------


def _sizes(study: Cormode2013) -> Iterator[Claim]:
    k, dp = study.sizes[K_8], study.sizes[EPSILON_1]
    shares = {name: [[o.parameter, *both(o)] for o in curve] for name, curve in study.sizes.items()}
    yield row(
        "data-size",
        shares,
        all_of(curve[-1].error < curve[0].error and curve[-1].accuracy > curve[0].accuracy for curve in (k, dp)),
    )
    yield row(
        "dp-right-and-below-with-less-data",
        {"k=8": both(k[0]), "epsilon=1": both(dp[0])},
        dp[0].error > k[0].error and dp[0].accuracy < k[0].accuracy,
        tested_over=f"{k[0].parameter:.0%} of the data",
    )
    on_curve = along(k, accuracy, dp[-1].error)
    yield row(
        "k-dominates-with-more-data",
        {
            "k=8": both(k[-1]),
            "epsilon=1": both(dp[-1]),
            "k=8 at that error": None if on_curve is None else round(on_curve, 4),
        },
        None if on_curve is None else on_curve <= dp[-1].accuracy,
        tested_over=f"errors from {min(map(error, k)):.3f} to {max(map(error, k)):.3f}, which the curve of k = 8 has",
    )


def _heights(study: Cormode2013) -> Iterator[Claim]:
    k, dp = study.heights[K_8], study.heights[EPSILON_1]
    gaps = {}
    for outcome in dp:
        expected = along(k, accuracy, outcome.error)
        if expected is not None:
            gaps[f"{outcome.parameter:g}"] = round(abs(outcome.accuracy - expected), 4)
    everything = [outcome.accuracy for outcome in (*k, *dp)]
    span = max(everything) - min(everything)
    yield row(
        "heights-alike",
        gaps,
        all_of(gap <= span / 10 for gap in gaps.values()),
        reason="the curves lie on each other up to height 10; at height 12 noise takes from the attack what it takes "
        f"from queries (accuracies span {span:.3f})",
        tested_over=f"errors that both curves have, heights {', '.join(gaps)} of "
        f"{', '.join(f'{o.parameter:g}' for o in dp)}",
    )


# -- the other table ---------------------------------------------------------------------------------------


def _census(study: Cormode2013) -> Iterator[Claim]:
    census, rho = study.outcomes[CENSUS.name], study.rho(CENSUS.name)
    breaches = {f"{k:g}": round(at(census[K], k).accuracy / rho - 1, 4) for k in (8, 1024)}
    yield row("census-k", breaches, all_of(abs(breach - 0.5) <= 0.1 for breach in breaches.values()))
    ends = [along(census[K], accuracy, bound) for bound in (0.05, 0.4)]
    lost = None if None in ends else (ends[0] or 0) / rho - (ends[1] or 0) / rho
    yield row(
        "census-k-poor", None if lost is None else round(lost, 4), None if lost is None else abs(lost - 0.1) <= 0.05
    )
    yield _census_at_a_quarter(census, rho)


def _census_at_a_quarter(census: Curves, rho: float) -> Claim:
    noisy = min((o.accuracy / rho - 1 for o in census[DP] if o.error < 0.25), default=None)
    costs = least_error(_models(census, DP), rho * (1 + ALMOST_ZERO))
    return row(
        "census-dp-at-25-percent",
        {"breach": None if noisy is None else round(noisy, 4), "errors": costs},
        None if noisy is None else noisy < ALMOST_ZERO,
    )
