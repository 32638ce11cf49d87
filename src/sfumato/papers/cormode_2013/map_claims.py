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
from sfumato.papers.results import Claim, all_of, reported

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
    yield reported(
        "high-utility",
        "where the error must be below 10 %, t-closeness leaves the attack least (accuracy by model)",
        "t-closeness",
        known,
        min(known, key=known.__getitem__) in (T_STOP, T_STOP_EQUAL) if len(known) > 1 else None,
        "of the models without noise it is t-closeness; epsilon = 2 in a tree of this height leaves the attack less",
        where,
    )
    yield reported(
        "dp-no-better-at-high-utility",
        "differential privacy protects no better than the best of the others where the error is in single digits",
        "same or worse",
        {**known, "private trees, as drawn": by_tree, "private trees, counts cut": cut},
        known["DP"] >= min(noiseless.values()) if "DP" in known and noiseless else None,
        "by .01 in accuracy, and only in some of the trees: at height 10 it is no better, lower ones do not get there",
        where,
    )
    yield _converges(study)


def _converges(study: Cormode2013) -> Claim:
    """Compare the releases of least error: errors in single digits, accuracies within a tenth of what the map spans."""
    models = {name: study.adult[name] for name in (K, T_STOP, T_STOP_EQUAL, DP, QUADTREE)}
    ends = {name: min(curve, key=error) for name, curve in models.items()}
    everything = [outcome.accuracy for curve in models.values() for outcome in curve]
    span = max(everything) - min(everything)
    accuracies = [outcome.accuracy for outcome in ends.values()]
    return reported(
        "all-models-converge",
        "all models but l-diversity meet where the error is least (error and accuracy there; errors below .1, "
        "accuracies within a tenth of the span of the map)",
        "converge",
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
    yield reported(
        "dp-at-high-privacy",
        "where the breach must be below 1, differential privacy has the least error (by model)",
        "DP",
        private,
        private["DP"] < min(others) if "DP" in private and others else None,
        tested_over=f"accuracy below {twice:.3f}; kd-tree of height {HEIGHT}, counts as drawn",
    )
    quadtree = by_tree[QUADTREE]["as drawn"]
    beyond = at(study.adult[QUADTREE], 0.5).accuracy / study.root_accuracy - 1
    yield reported(
        "quadtree",
        "that does not depend on which private tree it is: a quadtree has the least error there too (all trees)",
        "kd-tree or quadtree, not said which",
        {**by_tree, "best of the others": min(others, default=None)},
        quadtree < min(others) if quadtree is not None and others else None,
        f"its breach at epsilon = .5 is {beyond:.2f}, and the next epsilon of the grid is .1; kd-trees of height 8 and "
        "more come first with counts as drawn, none of them with counts cut",
        f"accuracy below {twice:.3f}",
    )
    yield from _epsilon_one(study)


def _epsilon_one(study: Cormode2013) -> Iterator[Claim]:
    rho = study.root_accuracy
    breaches = {
        name: {f"{epsilon:g}": round(at(study.adult[name], epsilon).accuracy / rho - 1, 4) for epsilon in (0.5, 1)}
        for name in _trees(study)
    }
    yield reported(
        "epsilon-.5-and-1",
        "epsilon <= .5 is suitable, epsilon = 1 is not advisable (breach below 1 at .5, not at 1; by tree)",
        "suitable, not advisable",
        breaches,
        breaches[DP]["0.5"] < 1 <= breaches[DP]["1"],
        "the breach depends on the height of the tree, which the paper does not print",
        f"kd-tree of height {HEIGHT}",
    )
    one = at(study.adult[DP], 1)
    better = {
        name: [f"{outcome.parameter:g}", *both(outcome)]
        for name in EXACT
        for outcome in study.adult[name]
        if dominates(outcome, one)
    }
    yield reported(
        "epsilon-1-dominated",
        "there are releases without noise that beat epsilon = 1 on both axes (parameter, error, accuracy)",
        "better ones exist",
        {"epsilon = 1": both(one), "better": better},
        bool(better),
        "the nearest curve of the others has more error at that accuracy: on Adult epsilon = 1 lies before them all",
    )


# -- size and height ---------------------------------------------------------------------------------------


def _sizes(study: Cormode2013) -> Iterator[Claim]:
    k, dp = study.sizes[K_8], study.sizes[EPSILON_1]
    shares = {name: [[o.parameter, *both(o)] for o in curve] for name, curve in study.sizes.items()}
    yield reported(
        "data-size",
        "more data: better answers and a better attack, for k = 8 and for epsilon = 1 (share of the data, error, "
        "accuracy)",
        "both grow",
        shares,
        all_of(curve[-1].error < curve[0].error and curve[-1].accuracy > curve[0].accuracy for curve in (k, dp)),
    )
    yield reported(
        "dp-right-and-below-with-less-data",
        "with little data epsilon = 1 has more privacy and less utility than k = 8",
        "bottom right of the plot",
        {"k=8": both(k[0]), "epsilon=1": both(dp[0])},
        dp[0].error > k[0].error and dp[0].accuracy < k[0].accuracy,
        tested_over=f"{k[0].parameter:.0%} of the data",
    )
    on_curve = along(k, accuracy, dp[-1].error)
    yield reported(
        "k-dominates-with-more-data",
        "with all data epsilon = 1 is dominated by k-anonymity: the curve of k = 8 leaves the attack less at the same "
        "error (error and accuracy)",
        "k-anonymity in front",
        {
            "k=8": both(k[-1]),
            "epsilon=1": both(dp[-1]),
            "k=8 at that error": None if on_curve is None else round(on_curve, 4),
        },
        None if on_curve is None else on_curve <= dp[-1].accuracy,
        "k = 8 answers better and is attacked better: neither dominates, and along the curves epsilon = 1 is in front",
        f"errors from {min(map(error, k)):.3f} to {max(map(error, k)):.3f}, which the curve of k = 8 has",
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
    yield reported(
        "heights-alike",
        "k = 8 and epsilon = 1 trade alike over heights: at the same error accuracies are within a tenth of what the "
        "two curves span (gap by height of the private tree)",
        "almost the same",
        gaps,
        all_of(gap <= span / 10 for gap in gaps.values()),
        f"the curves lie on each other up to height 10; at height 12 noise takes from the attack what it takes from "
        f"queries (accuracies span {span:.3f})",
        f"errors that both curves have, heights {', '.join(gaps)} of {', '.join(f'{o.parameter:g}' for o in dp)}",
    )


# -- the other table ---------------------------------------------------------------------------------------


def _census(study: Cormode2013) -> Iterator[Claim]:
    census, rho = study.outcomes[CENSUS.name], study.rho(CENSUS.name)
    breaches = {f"{k:g}": round(at(census[K], k).accuracy / rho - 1, 4) for k in (8, 1024)}
    yield reported(
        "census-k",
        "Census: a breach of .5 at k = 8, and at k = 1024 still",
        {"8": 0.5, "1024": 0.5},
        breaches,
        all_of(abs(breach - 0.5) <= 0.1 for breach in breaches.values()),
        STAND_IN,
    )
    ends = [along(census[K], accuracy, bound) for bound in (0.05, 0.4)]
    lost = None if None in ends else (ends[0] or 0) / rho - (ends[1] or 0) / rho
    yield reported(
        "census-k-poor",
        "Census: k-anonymity gives away 5 % to 40 % of error for about .1 of breach",
        0.1,
        None if lost is None else round(lost, 4),
        None if lost is None else abs(lost - 0.1) <= 0.05,
        STAND_IN,
    )
    yield _census_at_a_quarter(census, rho)


def _census_at_a_quarter(census: Curves, rho: float) -> Claim:
    noisy = min((o.accuracy / rho - 1 for o in census[DP] if o.error < 0.25), default=None)
    costs = least_error(_models(census, DP), rho * (1 + ALMOST_ZERO))
    return reported(
        "census-dp-at-25-percent",
        "Census: at an error of 25 % differential privacy leaves a breach of nearly zero (below .05), for which the "
        "others need about 60 % (least breach there; error for a breach below .05, by model)",
        {"breach": "nearly 0", "others": 0.6},
        {"breach": None if noisy is None else round(noisy, 4), "errors": costs},
        None if noisy is None else noisy < ALMOST_ZERO,
        f"{STAND_IN}; between the epsilons .1 and .5 of the grid the breach falls through zero, at .3 to .4 of error",
    )
