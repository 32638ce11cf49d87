"""The measures of baskets: the worked example of the paper, and everything against plain twins."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plain_basket_measures as plain
from plain_baskets import baskets_by_record, owners
from sfumato.data.hierarchies.categorical import tree as tree_of
from sfumato.data.items import Baskets, baskets_of
from sfumato.errors import BadInputError
from sfumato.measures.all_measures import ESTIMATORS, MEASURES
from sfumato.measures.items.estimates import BasketReader, member_odds
from sfumato.measures.items.linking import Linking, rho
from sfumato.measures.items.losses import ItemLosses, set_loss_log2
from sfumato.measures.items.queries import ItemQueries, read_queries
from sfumato.measures.scales import BasketScales, interval, measure_baskets
from sfumato.release._itemsets import Rows, Spread, frequent_pairs, itemset_spread, weakest
from sfumato.release.items import BasketRelease, global_release, set_recoding

FIGURE_1 = ("abcdef", "abeg", "ae", "bfg", "ab", "cf")
"""Loukides et al. 2012, figure 1(a): Anne, Greg, Jack, Tom, Mary, Jim."""


def figure_1() -> Baskets:
    return baskets_of([list(own) for own in FIGURE_1])


def all_as_one(baskets: Baskets) -> BasketRelease:
    return global_release(baskets, set_recoding(baskets.items, np.zeros(len(baskets.items), int)))


def as_it_is(baskets: Baskets) -> BasketRelease:
    return global_release(baskets, set_recoding(baskets.items, np.arange(len(baskets.items))))


# -- figure 1 ------------------------------------------------------------------------------------------------


def test_figure_1() -> None:
    """NCP 1, UL 1, an estimate of 3 for the true 4, a relative error of .25, a risk of 1/6."""
    baskets = figure_1()
    assert dict(zip(baskets.items, baskets.supports.tolist(), strict=True)) == {
        "a": 4, "b": 4, "c": 2, "d": 1, "e": 3, "f": 3, "g": 2,
    }  # fmt: skip
    release = all_as_one(baskets)
    asked = ItemQueries(size=1, number=50, workloads=1)
    found = measure_baskets(release, BasketScales(queries=asked))
    assert found["ncp"] == 1 and found["ul"] == 1 and found["ul_log2"] == 0
    assert found["itemset_risk"] == 1 / 6 and found["least_support"] == 6
    [true] = BasketReader.of_baskets(baskets).matches([(0,)])
    [[estimate]] = BasketReader.of(release).estimates([(0,)], ["half"])
    assert (true, estimate, abs(estimate - true) / true) == (4, 3, 0.25)


def test_estimators_of_figure_1() -> None:
    """The table of the notes: the query `a` under every estimator."""
    found = BasketReader.of(all_as_one(figure_1())).estimates([(0,)], list(ESTIMATORS))
    wanted = {"half": 3, "expanded": 6, "nonempty": 6 * 64 / 127, "uniform": 6 / 7}
    assert dict(zip(ESTIMATORS, found[:, 0].tolist(), strict=True)) == pytest.approx(wanted)


def test_untouched_figure_1_costs_its_singletons() -> None:
    baskets = figure_1()
    assert ItemLosses().measure(as_it_is(baskets))["ul"] == pytest.approx(19 / 6 / 127)
    assert ItemLosses(singletons="no").measure(as_it_is(baskets))["ul"] == 0
    assert ItemLosses().ncp(as_it_is(baskets)) == 0
    assert ItemLosses(leaf_zero="no").ncp(as_it_is(baskets)) == pytest.approx(1 / 7)


def test_optimum_of_the_notes() -> None:
    """{ab | ce | dg | f} has the least UL of all k^2-anonymous partitions for k = 2."""
    baskets = figure_1()
    release = global_release(baskets, set_recoding(baskets.items, np.array([0, 0, 1, 2, 1, 3, 2])))
    assert ItemLosses().measure(release)["ul"] == pytest.approx(0.05118, abs=1e-5)
    assert itemset_spread(Rows.of_release(release), 2).least == 2


# -- against plain twins ---------------------------------------------------------------------------------------


@st.composite
def releases(
    draw: st.DrawFn, pieces: int = 1
) -> tuple[BasketRelease, list[frozenset[str]], list[dict[str, str | None]]]:
    """Draw records, and for every piece a partition with some items suppressed."""
    items = "abcdefg"[: draw(st.integers(1, 7))]
    rows = draw(st.lists(st.frozensets(st.sampled_from(items), max_size=5), min_size=1, max_size=12))
    of_few = st.lists(st.integers(0, 4), min_size=len(rows) + 1, max_size=len(rows) + 1)
    baskets = baskets_of([frozenset(items), *rows], persons=draw(st.none() | of_few))
    many = draw(st.integers(1, pieces))
    keys = [np.array(draw(st.lists(st.integers(-1, 3), min_size=len(items), max_size=len(items)))) for _ in range(many)]
    recodings = tuple(set_recoding(baskets.items, own) for own in keys)
    piece = np.array(draw(st.lists(st.integers(0, many - 1), min_size=baskets.distinct, max_size=baskets.distinct)))
    release = BasketRelease(baskets, recodings, piece.astype(np.int32))
    records = [frozenset(baskets.basket(int(row))) for row in baskets_by_record(baskets)]
    parts = []
    for row in baskets_by_record(baskets):
        own = recodings[piece[row]]
        parts.append(
            {item: None if p < 0 else own.labels[p] for item, p in zip(baskets.items, own.parts.tolist(), strict=True)}
        )
    return release, records, parts


@settings(max_examples=60, deadline=None)
@given(releases(pieces=3), st.integers(1, 4))
def test_supports_of_published_sets(case, most) -> None:
    release, records, parts = case
    found = itemset_spread(Rows.of_persons(release), most)
    shown = [plain.published(row, part) for row, part in zip(records, parts, strict=True)]
    wanted = sorted(plain.supports(shown, most, owners(release.baskets)).values())
    assert [int(s) for s, n in zip(found.supports, found.numbers, strict=True) for _ in range(n)] == wanted
    assert found.risk() == (1 / wanted[0] if wanted else 0)
    for share in (0.95, 0.5):
        risk = found.risk(share)
        if wanted:
            assert sum(1 / own <= risk for own in wanted) >= share * len(wanted) - 1e-9
            assert sum(1 / own < risk for own in wanted) < share * len(wanted)


@settings(max_examples=60, deadline=None)
@given(releases(pieces=3), st.sampled_from(list(ESTIMATORS)), st.sampled_from(["product", "exact"]), st.data())
def test_answers(case, estimator, joint, data) -> None:
    release, records, parts = case
    items = release.baskets.items
    queries = data.draw(st.lists(st.frozensets(st.sampled_from(items), min_size=1, max_size=4), min_size=1, max_size=4))
    codes = [tuple(sorted(release.baskets.places[item] for item in own)) for own in queries]
    reader = BasketReader.of(release)
    whose = owners(release.baskets)
    assert reader.matches(codes).tolist() == [plain.matches(records, parts, own, whose) for own in queries]
    assert reader.answers(codes).tolist() == [plain.matches(records, parts, own) for own in queries]
    wanted = [float(plain.estimate(records, parts, own, estimator, joint)) for own in queries]
    assert reader.estimates(codes, [estimator], joint)[0].tolist() == pytest.approx(wanted)


@settings(max_examples=60, deadline=None)
@given(releases(), st.booleans(), st.booleans())
def test_losses(case, leaf_zero, singletons) -> None:
    release, records, parts = case
    said = {True: "yes", False: "no"}
    own = ItemLosses(leaf_zero=said[leaf_zero], singletons=said[singletons])
    assert own.ncp(release) == pytest.approx(float(plain.ncp(records, parts[0], leaf_zero)))
    found, wanted = own.measure(release), plain.utility_loss(records, parts[0], singletons)
    assert found["ul"] == pytest.approx(float(wanted))
    assert found["ul_log2"] == pytest.approx(math.log2(wanted) if wanted else -math.inf)
    gone = [item for item, part in parts[0].items() if part is None]
    assert found["items_suppressed"] == len(gone) / len(parts[0])
    occurrences = [item for row in records for item in row]
    assert found["occurrences_suppressed"] == pytest.approx(sum(i in gone for i in occurrences) / len(occurrences))


@settings(max_examples=60, deadline=None)
@given(releases(), st.integers(1, 2), st.data())
def test_rho(case, known, data) -> None:
    release, records, parts = case
    items = release.baskets.items
    sensitive = data.draw(st.sets(st.sampled_from(items), min_size=1, max_size=2))
    codes = [release.baskets.places[item] for item in sensitive]
    wanted = plain.rho(records, parts[0], sensitive, known, owners(release.baskets))
    assert rho(release, codes, known) == pytest.approx(float(wanted))


@pytest.mark.parametrize("estimator", list(ESTIMATORS))
@pytest.mark.parametrize("joint", ["product", "exact"])
def test_odds_by_counting_subsets(estimator: str, joint: str) -> None:
    for size in range(1, 6):
        for known in range(min(size, 3) + 1):
            [found] = member_odds(estimator, np.array([size]), known, joint)
            assert found == pytest.approx(float(plain.odds(estimator, size, known, joint)))


def test_ul_underflows_and_its_logarithm_does_not() -> None:
    assert set_loss_log2(3, 3340) == pytest.approx(3 - 3340 + math.log2(7 / 8))
    assert 2.0 ** set_loss_log2(3, 3340) == 0.0


def test_weights_by_the_tree() -> None:
    """The mean distance of a, b, c under ((a b) c) (d e): of the pairs 2/5, 3/5, 3/5."""
    items = tree_of([["X", ["Y", "a", "b"], "c"], ["Z", "d", "e"]])
    baskets = baskets_of([["a", "d"], ["b", "c"], ["e"], ["c"]], tree=items)
    release = global_release(baskets, set_recoding(baskets.items, np.array([0, 0, 0, 1, 2])))
    found = ItemLosses(weights="tree", singletons="no").measure(release)["ul"]
    assert found == pytest.approx(7 / 31 * 8 / 15 * 3 / 4)


# -- workloads and attack --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["transaction", "uniform-items", "frequency-weighted", "frequent-pairs"])
def test_every_query_has_an_answer_and_a_seed_repeats_it(kind: str) -> None:
    baskets = figure_1()
    asked = ItemQueries(kind, number=40, workloads=2, seed=3, top=0.5)
    drawn = asked.draw(baskets)
    assert [len(own) for own in drawn] == [40, 40] and drawn == asked.draw(baskets) and drawn[0] != drawn[1]
    for queries in drawn:
        assert all(len(set(own)) == 2 for own in queries)
        assert (BasketReader.of_baskets(baskets).matches(queries) > 0).all()


def test_frequent_pairs_and_the_rarest() -> None:
    rows = [frozenset(own) for own in FIGURE_1]
    baskets = figure_1()
    pairs = {own: n for own, n in plain.supports(rows, 2).items() if len(own) == 2}
    top = frequent_pairs(Rows.of_baskets(baskets), 2 / len(pairs))
    assert [frozenset(baskets.items[i] for i in own) for own in top] == [frozenset("ab"), frozenset("ae")]
    found = weakest(Rows.of_baskets(baskets), 4)
    assert [n for n, _ in found] == [1] * 4 and found[0][1] == (baskets.places["d"],)


def test_the_attack_knows_items_of_one_record_of_every_person() -> None:
    """Three persons have {a, b}; one of them has two more baskets, and any one of the three may be known."""
    baskets = baskets_of(map(set, ["ab", "ab", "ab", "cd", "e"]), persons=[1, 2, 3, 3, 3])
    drawn = [Linking(seed=seed).draw(baskets, 2) for seed in range(30)]
    assert all(len(known) == 3 and known[:2] == [(0, 1), (0, 1)] for known in drawn)
    assert {known[2] for known in drawn} == {(0, 1), (2, 3), (4,)}
    found = Linking().measure(BasketReader.of_baskets(baskets), [(0, 1), (0, 1), (2, 3)])
    assert (found["match_least"], found["match_median"], found["matched_below"]) == (1, 3, 1)


def test_a_file_of_queries(tmp_path) -> None:
    path = tmp_path / "queries.txt"
    path.write_text("a b\n\nf\n")
    baskets = figure_1()
    assert read_queries(path, baskets) == [(0, 1), (5,)]
    path.write_text("a z\n")
    with pytest.raises(BadInputError, match=r"line 1: the item 'z' is in no basket"):
        read_queries(path, baskets)
    path.write_text("a b\nd g\n")
    with pytest.raises(BadInputError, match="line 2: no record has all"):
        read_queries(path, baskets)


def test_the_attack_finds_everybody_in_the_original_and_nobody_in_one_item() -> None:
    baskets = figure_1()
    linking = Linking(below=2)
    known = linking.draw(baskets, 6)
    assert sorted(known) == sorted(tuple(baskets.places[i] for i in own) for own in FIGURE_1)
    original = linking.measure(BasketReader.of_baskets(baskets), known)
    rows = [frozenset(own) for own in FIGURE_1]
    fits = [sum(own <= row for row in rows) for own in rows]
    assert original["match_least"] == min(fits) and original["matched_below"] == sum(n < 2 for n in fits) / 6
    one = linking.measure(BasketReader.of(all_as_one(baskets)), known)
    assert one == {"match_least": 6, "match_median": 6, "matched_below": 0}


def test_listed_constraints_are_the_only_risk(tmp_path) -> None:
    """Who may know a and e only: three records have both."""
    path = tmp_path / "known.txt"
    path.write_text("a e\n")
    found = measure_baskets(as_it_is(figure_1()), BasketScales(constraints=str(path)))
    assert found["itemset_risk"] == pytest.approx(1 / 3)


def test_measures_are_declared_and_within_their_range() -> None:
    for release in (all_as_one(figure_1()), as_it_is(figure_1())):
        found = measure_baskets(release, BasketScales(sensitive=("g",), queries=ItemQueries(number=30)))
        for name, value in found.values.items():
            own = MEASURES[name]
            assert own.said_of == "baskets" and own.least <= value <= own.most, name
        for name, (low, high) in found.intervals.items():
            assert low <= found[name] + 1e-12 and found[name] <= high + 1e-12, name
        assert found["query_utility"] == (1 / found["are"] if found["are"] else math.inf)
        assert found["bounded_utility"] == 1 / (1 + found["are"])
        assert found["are"] == found["are_half"]


def test_interval_of_several_workloads_is_their_range() -> None:
    assert interval([np.array([0.0, 1.0]), np.array([2.0])], 0) == (0.5, 2.0)
    low, high = interval([np.arange(100.0)], 0)
    assert low < 49.5 < high and high - low < 30


def test_spread_of_nothing_is_no_risk() -> None:
    assert Spread.of(np.zeros(0, np.int64)).risk() == 0


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ItemQueries("random"), "kind must be one of transaction"),
        (lambda: ItemQueries(size=6), "size must be a whole number of at least 1 and at most 5"),
        (lambda: ItemQueries("frequent-pairs", size=3), "asks for pairs"),
        (lambda: ItemQueries("file"), "kind=file needs file as well, for example file=queries.txt"),
        (lambda: ItemQueries(estimator="mean"), "estimator must be one of half"),
        (lambda: BasketScales(known=0), "known must be a whole number"),
        (lambda: measure_baskets(all_as_one(figure_1()), BasketScales(sensitive=("z",))), "sensitive item 'z'"),
        (
            lambda: ItemQueries("uniform-items", size=5).draw(baskets_of([["a", "b"]])),
            "no uniform-items query of 5 items",
        ),
        (lambda: ItemLosses(weights="tree").measure(all_as_one(figure_1())), "needs a tree of items"),
    ],
)
def test_bad_configurations_say_what_is_allowed(make, said) -> None:
    with pytest.raises(BadInputError, match=said):
        make()


def test_a_workload_of_figure_1_by_hand() -> None:
    """All items as one, queries of one item: |6/2 - sup| / sup, each record's items equally likely."""
    baskets = figure_1()
    asked = ItemQueries(size=1, number=500, workloads=1, seed=1)
    [queries] = asked.draw(baskets)
    wanted = [abs(Fraction(3) - int(baskets.supports[q[0]])) / int(baskets.supports[q[0]]) for q in queries]
    found = measure_baskets(all_as_one(baskets), BasketScales(queries=asked))
    assert found["are"] == pytest.approx(float(sum(wanted) / len(wanted)))


def test_queries_of_transactions_ask_only_who_has_enough_items() -> None:
    """Of figure 1 only Anne, Greg and Tom have three items or more."""
    baskets = figure_1()
    [queries] = ItemQueries(size=3, number=200, workloads=1).draw(baskets)
    long = [frozenset(own) for own in FIGURE_1 if len(own) >= 3]
    drawn = [frozenset(baskets.items[code] for code in own) for own in queries]
    assert all(len(own) == 3 and any(own <= row for row in long) for own in drawn) and frozenset("bfg") in drawn
