"""The expected error of queries of one or two items: against an account in plain fractions, and against samples."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plain_basket_measures as plain
from sfumato import BadInputError
from sfumato.anonymizers.items import anonymize_baskets
from sfumato.data.declaration import BasketsDeclaration
from sfumato.data.items import baskets_of
from sfumato.measures.all_measures import ESTIMATORS
from sfumato.measures.items import queries as of_queries
from sfumato.measures.items.expectation import weighted_median
from sfumato.measures.items.queries import ItemQueries
from sfumato.measures.scales import BasketScales, measure_baskets
from sfumato.tradeoff.study.presets import usual_baskets
from test_basket_measures import all_as_one, figure_1, releases

KINDS = ["transaction", "uniform-items", "frequency-weighted", "frequent-pairs"]


def likely(rows: list[frozenset[str]], kind: str, size: int, top: float) -> dict[frozenset[str], Fraction]:
    """How likely every query is drawn, by the words of the kinds; queries that no record answers are not kept."""
    counts = plain.supports(rows, size)
    sets = {own: n for own, n in counts.items() if len(own) == size}
    if kind == "transaction":
        odds: Counter[frozenset[str]] = Counter()
        long = [row for row in rows if len(row) >= size]
        for row in long:
            chosen = [frozenset(own) for own in combinations(sorted(row), size)]
            for own in chosen:
                odds[own] += Fraction(1, len(chosen) * len(long))
        return dict(odds)
    if kind == "uniform-items":
        weights = {own: Fraction(1) for own in sets}
    elif kind == "frequency-weighted":
        weights = {own: Fraction(int(np.prod([counts[frozenset([item])] for item in own]))) for own in sets}
    else:
        ordered = sorted(sets, key=lambda own: (-sets[own], sorted(own)))
        weights = {own: Fraction(1) for own in ordered[: max(1, round(top * len(ordered)))]}
    total = sum(weights.values())
    return {own: weight / total for own, weight in weights.items()}


@settings(max_examples=80, deadline=None)
@given(
    releases(pieces=3),
    st.sampled_from(KINDS),
    st.integers(1, 2),
    st.sampled_from(["product", "exact"]),
    st.sampled_from([0.0, 0.3]),
)
def test_the_expectation_is_that_of_all_queries(case, kind: str, size: int, joint: str, sanity: float) -> None:
    release, records, parts = case
    size = 2 if kind == "frequent-pairs" else size
    odds = likely(records, kind, size, 0.4)
    asked = ItemQueries(kind, size, workload="exact", joint=joint, sanity=sanity, top=0.4)
    if not odds:
        with pytest.raises(BadInputError, match="has an answer above zero"):
            asked.expectation(release.baskets)
        return
    counts = plain.supports(records, size)
    found = measure_baskets(release, BasketScales(queries=asked))
    assert found.intervals == {}
    for estimator in ESTIMATORS:
        errors = {}
        for own in odds:
            estimate = plain.estimate(records, parts, own, estimator, joint)
            against = max(Fraction(counts[own]), Fraction(sanity) * len(records))
            errors[own] = abs(estimate - counts[own]) / against
        assert found[f"are_{estimator}"] == pytest.approx(float(sum(odds[own] * errors[own] for own in odds)))
        if estimator == "half":
            below = Fraction(0)
            for own in sorted(odds, key=errors.__getitem__):
                below += odds[own]
                if below >= Fraction(1, 2):
                    assert found["are_median"] == pytest.approx(float(errors[own]))
                    break


@pytest.mark.parametrize(("maker", "wanted"), [("coat", "km-anonymity k=6 m=2"), ("partition", "k-anonymity k=6")])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 2])
def test_samples_come_to_it(maker: str, wanted: str, kind: str, size: int) -> None:
    """The mean of many queries lies within four standard errors of the expectation."""
    if kind == "frequent-pairs" and size == 1:
        return
    random = np.random.default_rng(7)
    baskets = baskets_of([{f"i{i}" for i in random.zipf(1.5, 5).clip(1, 25)} for _ in range(120)])
    release = anonymize_baskets(baskets, wanted, maker)
    exact = measure_baskets(release, BasketScales(queries=ItemQueries(kind, size, top=0.3)))
    sampled = ItemQueries(kind, size, workload="sampled", number=4000, workloads=1, top=0.3)
    prepared = BasketScales(queries=sampled).prepare(baskets)
    found = prepared.measure(release)
    low, high = found.intervals["are"]  # 95 %: four standard errors wide
    assert abs(found["are"] - exact["are"]) <= max(high - low, 1e-12)
    assert "are" not in exact.intervals and exact["are"] > 0


def test_all_items_as_one_by_hand() -> None:
    """Figure 1, all items as one: every answer to one item is 3; each record's items are equally likely."""
    baskets = figure_1()
    supports = dict(zip(baskets.items, baskets.supports.tolist(), strict=True))
    wanted = sum(
        Fraction(1, 6 * len(row)) * abs(3 - Fraction(supports[item])) / supports[item]
        for row in ("abcdef", "abeg", "ae", "bfg", "ab", "cf")
        for item in row
    )
    found = measure_baskets(all_as_one(baskets), BasketScales(queries=ItemQueries(size=1)))
    assert found["are"] == pytest.approx(float(wanted))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 5)), min_size=1, max_size=30))
def test_weighted_median(pairs) -> None:
    values, weights = (np.array(column, float) for column in zip(*pairs, strict=True))
    ordered = sorted(value for value, times in pairs for _ in range(times))
    assert weighted_median(values, weights) == ordered[(len(ordered) - 1) // 2]


def test_when_it_is_exact_and_when_drawn(monkeypatch) -> None:
    assert ItemQueries().is_exact and ItemQueries(size=1).is_exact and not ItemQueries(size=3).is_exact
    assert not any(asked.is_exact for asked in (ItemQueries(number=5), ItemQueries(seed=1), ItemQueries(workloads=1)))
    assert not ItemQueries(workload="sampled").is_exact
    baskets = figure_1()
    monkeypatch.setattr(of_queries, "MOST_PAIRS", 3)
    assert ItemQueries().expectation(baskets) is None  # too many pairs: drawn, unless it is asked for
    assert ItemQueries(workload="exact").expectation(baskets) is not None
    study = usual_baskets("s", BasketsDeclaration("online-retail"), (2,))
    assert study.with_seed(5) == study and study.scales.queries.is_exact


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"size": 3}, "one or two items"),
        ({"kind": "file", "file": "q.txt"}, "not of a file"),
        ({"number": 7}, "have no say in item-queries workload=exact"),
    ],
)
def test_what_cannot_be_exact_is_refused(options, said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        ItemQueries(workload="exact", **options)
