"""The worked example of Loukides et al. 2012: six patients with diagnoses a to g (figure 1), small enough to try all.

The optima are found here by going through all 877 partitions of the seven items, each counted from its definition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations

from sfumato.anonymizers.items import PAPER, anonymize_baskets
from sfumato.data.hierarchies.hierarchy import ROOT, Hierarchy, Level
from sfumato.data.items import Baskets, baskets_of
from sfumato.measures.items.estimates import BasketReader
from sfumato.measures.items.losses import ItemLosses
from sfumato.papers.claims import Claim, Figure, FigureLine, claim_rows
from sfumato.papers.loukides_2012.study import checked
from sfumato.release.items import BasketRelease

row = claim_rows(__name__.rpartition(".")[0])

PATIENTS = {"Anne": "abcdef", "Greg": "abeg", "Jack": "ae", "Tom": "bfg", "Mary": "ab", "Jim": "cf"}
KS = range(2, 7)
NOTED_OPTIMA = {2: 0.05118, 3: 0.07218, 4: 0.08530, 5: 0.15354, 6: 0.17323}
"""The least UL of any feasible partition as our notes on the paper have it, by k."""

NOTED_FEASIBLE = {2: 304, 3: 133, 4: 52, 5: 27, 6: 7}
"""How many of the partitions satisfy k^2-anonymity, likewise."""

Partition = Sequence[frozenset[str]]


def figure_1() -> Baskets:
    """Return figure 1(a), with the two-level hierarchy of section 3.4."""
    items = tuple(sorted(set("".join(PATIENTS.values()))))
    tree = Hierarchy((Level(tuple(range(len(items))), items), Level((0,), (ROOT,))), (1.0,) * len(items))
    return baskets_of(map(set, PATIENTS.values()), tree, "figure 1")


def partitions(items: Sequence[str]) -> Iterator[list[frozenset[str]]]:
    """Yield all partitions of some items."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for partition in partitions(rest):
        yield [frozenset(first), *partition]
        for place, part in enumerate(partition):
            yield [*partition[:place], part | {first}, *partition[place + 1 :]]


def rows_of(partition: Partition) -> list[frozenset[int]]:
    """Publish the patients under a partition: each as the places of the parts that have an item of theirs."""
    return [
        frozenset(place for place, part in enumerate(partition) if part & set(items)) for items in PATIENTS.values()
    ]


def is_feasible(partition: Partition, k: int) -> bool:
    """Say whether one or two parts that a patient shows are always shown by k."""
    rows = rows_of(partition)
    known = {parts for row in rows for size in (1, 2) for parts in combinations(sorted(row), size)}
    return all(sum(set(parts) <= row for row in rows) >= k for parts in known)


def utility_loss(partition: Partition) -> Fraction:
    """Return UL of a partition (definition 3.6, weights of one, nothing suppressed)."""
    items, rows = sum(map(len, partition)), rows_of(partition)
    return sum(
        (
            Fraction(2 ** len(part) - 1, 2**items - 1) * Fraction(sum(place in row for row in rows), len(rows))
            for place, part in enumerate(partition)
        ),
        Fraction(0),
    )


def optima() -> dict[int, tuple[float, int]]:
    """Return for every k the least UL of all feasible partitions, and how many there are."""
    priced = [(utility_loss(partition), partition) for partition in partitions(figure_1().items)]
    best = {}
    for k in KS:
        losses = [loss for loss, partition in priced if is_feasible(partition, k)]
        best[k] = float(min(losses)), len(losses)
    return best


def made(baskets: Baskets) -> dict[tuple[str, int], BasketRelease]:
    """Make the releases of the three anonymizers for every k."""
    return {(maker, k): anonymize_baskets(baskets, f"km-anonymity k={k} m=2", maker) for maker in PAPER for k in KS}


def loss_of(release: BasketRelease) -> float:
    """Return UL of a release of the example, by the partition it publishes."""
    items = release.baskets.items
    return float(utility_loss([frozenset(items[i] for i in part) for part in release.recoding.members]))


def example_claims() -> tuple[list[Claim], Figure]:
    """Hold figure 1 and its optima against what the anonymizers make of the example."""
    baskets = figure_1()
    releases, best = made(baskets), optima()
    claims = [_worked(baskets, releases["aa", 6]), _bounds(releases, best), *_reported(baskets, releases)]
    curves = [
        FigureLine("least possible", [{"x": k, "y": loss} for k, (loss, _) in best.items()]),
        *(
            FigureLine(maker.upper(), [{"x": k, "y": loss_of(releases[maker, k])} for k in KS])
            for maker in PAPER
            if maker != "aa"
        ),
    ]
    title = "Figure 1(a): utility loss of set-based generalization, and the least of all 877 partitions"
    return claims, Figure("1-optima", title, "k (m = 2)", "UL", curves)


def _worked(baskets: Baskets, release: BasketRelease) -> Claim:
    query = [(baskets.places["a"],)]
    true = int(BasketReader.of_baskets(baskets).matches(query)[0])
    answer = float(BasketReader.of(release).estimates(query, ["half"])[0, 0])
    losses = ItemLosses().measure(release)
    ours = {
        "ncp": losses["ncp"],
        "ul": losses["ul"],
        "answer": answer,
        "error": abs(answer - true) / true,
        "risk": round(1 / checked(release).least, 6),
    }
    paper = {"ncp": 1, "ul": 1, "answer": 3, "error": 0.25, "risk": round(1 / 6, 6)}
    return row("figure-1", ours, all(abs(ours[name] - paper[name]) < 1e-6 for name in paper), paper=paper)


def _bounds(releases: dict[tuple[str, int], BasketRelease], best: dict[int, tuple[float, int]]) -> Claim:
    losses = {maker: {k: round(loss_of(releases[maker, k]), 5) for k in KS} for maker in PAPER}
    ours = {
        "least possible": {k: round(loss, 5) for k, (loss, _) in best.items()},
        "feasible partitions": {k: number for k, (_, number) in best.items()},
        **losses,
    }
    noted = all(abs(best[k][0] - NOTED_OPTIMA[k]) < 1e-5 and best[k][1] == NOTED_FEASIBLE[k] for k in KS)
    above = all(
        loss_of(release) >= best[k][0] - 1e-12 and checked(release).least >= k for (_, k), release in releases.items()
    )
    return row("optimum-bounds", ours, noted and above)


def _reported(baskets: Baskets, releases: dict[tuple[str, int], BasketRelease]) -> Iterable[Claim]:
    parts = {k: releases["aa", k].recoding.size for k in KS}
    yield row("aa-for-every-k", parts, set(parts.values()) == {1})
    pair = (baskets.places["c"], baskets.places["f"])
    both = int(BasketReader.of_baskets(baskets).matches([pair])[0])
    yield row("erratum-cf", both, both == 1)
