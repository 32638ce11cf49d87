"""Baskets that scale: what must be quick, bounded or refused at once, and equal to the plain account."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plain_basket_measures import supports as plain_supports
from plain_baskets import (
    complete_holds,
    km_holds,
    plain_lra,
    plain_partition,
    plain_tree,
    plain_vpa,
    published,
    records,
)
from sfumato.anonymizers.items import anonymize_baskets, candidate_maker
from sfumato.anonymizers.items._item_tree import balanced_tree
from sfumato.anonymizers.items.partition import CutPieces
from sfumato.data.items import baskets_of
from sfumato.errors import BadInputError
from sfumato.measures.items.queries import ItemQueries
from sfumato.measures.scales import BasketScales, measure_baskets
from sfumato.release._itemsets import Rows, itemset_spread, weakest
from sfumato.release.items import BasketRelease
from sfumato.requirements.items import basket_requirement


def test_too_many_subsets_are_refused_before_any_is_listed(tmp_path, monkeypatch):
    letters = [f"i{i:02}" for i in range(40)]
    baskets = baskets_of([letters])
    file = tmp_path / "known.txt"
    lines = [letters[start : start + 20] for start in range(15)] + [letters[:3]]
    file.write_text("\n".join(" ".join(line) for line in [letters[:2], *lines]) + "\n")
    monkeypatch.setattr("sfumato.requirements.items.subsets_of", pytest.fail)
    with pytest.raises(
        BadInputError, match=r"15,728,\d+ subsets .* \(line 2 has 20 items\), or say protect-subsets=no"
    ):
        basket_requirement(f"privacy-constraints k=2 file={file}").itemsets(baskets)
    listed = basket_requirement(f"privacy-constraints k=2 file={file} protect-subsets=no").itemsets(baskets)
    assert len(listed) == 17
    file.write_text(" ".join(letters) + "\n")
    with pytest.raises(BadInputError, match=r"far too many|1,099,511,627,775 subsets"):
        basket_requirement(f"privacy-constraints k=2 file={file}").itemsets(baskets)


# -- Partition ---------------------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.frozensets(st.sampled_from("abcdefgh"), min_size=1, max_size=6), min_size=6, max_size=30),
    st.integers(1, 4),
    st.integers(2, 3),
)
def test_partition_divides_as_the_plain_account_does(rows, k, fanout):
    baskets = baskets_of(rows)
    release = anonymize_baskets(baskets, f"k-anonymity k={k}", f"partition fanout={fanout}")
    assert complete_holds(release, k)
    tree = balanced_tree(baskets.items, fanout)
    distinct = [baskets.basket(row) for row in range(baskets.distinct)]
    shows = plain_partition(distinct, baskets.weights.tolist(), k, plain_tree(tree, baskets.items))
    by_members = {frozenset(tree.leaves[lo : hi + 1]): label for (lo, hi), label in tree.nodes.items()}
    wanted = [{by_members[node[0]] for node in nodes} for nodes in shows]
    rows = release.recoded
    labels = [
        [rows.labels[code] for code in rows.codes[rows.starts[b] : rows.starts[b + 1]]] for b in range(len(wanted))
    ]
    assert [set(own) for own in labels] == wanted


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 5))
def test_a_recoding_made_when_asked_says_what_the_file_shows(seed, k):
    random = np.random.default_rng(seed)
    baskets = baskets_of([random.choice(40, random.integers(1, 6), replace=False).tolist() for _ in range(60)])
    lazy = anonymize_baskets(baskets, f"k-anonymity k={k}", "partition fanout=3")
    full = BasketRelease(baskets, tuple(lazy.recodings), lazy.piece.copy(), lazy.maker)
    assert published(lazy) == published(full)
    one, other = measure_baskets(lazy), measure_baskets(full)
    assert dict(one.values) == pytest.approx(dict(other.values), rel=1e-12)
    assert one.matching == other.matching
    assert lazy.unpublished.tolist() == full.unpublished.tolist() == []


def test_very_many_pieces_are_measured_without_pieces_times_items(monkeypatch):
    """Over 3,000 pieces and 6,000 items: in full their recodings alone would be 18 million codes."""
    random = np.random.default_rng(3)
    items = (6000 * random.random((20_000, 4)) ** 3).astype(int)
    baskets = baskets_of(items.tolist())
    monkeypatch.setattr(CutPieces, "__getitem__", lambda *_: pytest.fail("a recoding was made in full"))
    release = anonymize_baskets(baskets, "k-anonymity k=3", "partition")
    measure_baskets(release)
    assert len(release.recodings) > 3000
    assert not isinstance(release.recodings, tuple)


# -- VPA and LRA -------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.frozensets(st.sampled_from("abcdefg"), min_size=1, max_size=4), min_size=8, max_size=25),
    st.integers(2, 4),
    st.integers(1, 2),
    st.integers(2, 3),
)
def test_vpa_lifts_as_the_plain_account_does(rows, k, m, parts):
    baskets = baskets_of([*rows, set("abcdefg")])
    release = anonymize_baskets(baskets, f"km-anonymity k={k} m={m}", f"vpa parts={parts} fanout=2")
    assert km_holds(release, k, m)
    width = max(width for width in (1, 2, 4, 8) if -(-7 // width) >= parts)  # nodes of the highest level of so many
    runs = [list(baskets.items[at : at + width]) for at in range(0, 7, width)]
    tree = plain_tree(balanced_tree(baskets.items, 2), baskets.items)
    cut = plain_vpa([set(row) for row in records(baskets)], baskets.items, k, m, tree, runs)
    members = {frozenset(baskets.items[i] for i in part) for part in release.recoding.members}
    assert members == {node[0] for node in cut.values()}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.frozensets(st.sampled_from("abcdefg"), max_size=4), min_size=12, max_size=30),
    st.integers(2, 4),
    st.integers(1, 2),
    st.integers(2, 4),
)
def test_lra_cuts_and_lifts_as_the_plain_account_does(rows, k, m, most):
    baskets = baskets_of([*rows, *[set("abcdefg")] * 4])
    release = anonymize_baskets(baskets, f"km-anonymity k={k} m={m}", f"lra pieces={most} fanout=2")
    tree = plain_tree(balanced_tree(baskets.items, 2), baskets.items)
    plain = plain_lra([set(row) for row in records(baskets)], list(baskets.items), k, m, tree, most)
    for basket, piece in enumerate(release.piece.tolist()):
        recoding, names = release.recodings[piece], baskets.basket(basket)
        parts = {recoding.parts[baskets.places[name]] for name in names}
        assert {frozenset(baskets.items[i] for i in recoding.members[part]) for part in parts} == plain[
            frozenset(names)
        ]


@pytest.mark.parametrize(("parts", "k"), [(2, 3), (3, 6), (5, 3)])
def test_vpa_loses_about_what_aa_does(parts, k):
    random = np.random.default_rng(4)
    baskets = baskets_of([sorted({int(60 * random.random() ** 3) for _ in range(4)}) for _ in range(300)])

    def lost(maker):
        recoding = anonymize_baskets(baskets, f"km-anonymity k={k} m=2", f"{maker} fanout=3").recoding
        return sum(len(part) * sum(baskets.supports[item] for item in part) for part in recoding.members)

    assert lost(f"vpa parts={parts}") <= 1.25 * lost("aa")


# -- sets of items -----------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.lists(st.frozensets(st.integers(0, 8), max_size=6), min_size=1, max_size=30), st.integers(1, 8))
def test_the_rarest_pairs_are_listed_whatever_their_number(rows, most):
    baskets = baskets_of([*rows, range(9)])
    counts = plain_supports([frozenset(baskets.places[item] for item in row) for row in records(baskets)], 2)
    wanted = sorted((n, len(own), tuple(sorted(own))) for own, n in counts.items())[:most]
    assert [(n, len(own), own) for n, own in weakest(Rows.of_baskets(baskets), most)] == wanted


def test_sets_that_are_too_many_are_drawn_with_an_interval_and_the_rarest_is_exact(monkeypatch):
    random = np.random.default_rng(5)
    baskets = baskets_of([(30 * random.random(8) ** 2).astype(int).tolist() for _ in range(3000)])
    exact = itemset_spread(Rows.of_baskets(baskets), 3)
    assert exact.intervals == {}
    monkeypatch.setattr("sfumato.release._itemsets.MOST_SETS", 1000)
    drawn = itemset_spread(Rows.of_baskets(baskets), 3)
    assert drawn.least == exact.least
    assert drawn.measures()["itemset_risk"] == exact.measures()["itemset_risk"]
    assert drawn.numbers.sum() == pytest.approx(exact.numbers.sum(), rel=0.05)
    for name, (low, high) in drawn.intervals.items():
        assert low <= exact.measures()[name] <= high
        assert low <= drawn.measures()[name] <= high


def test_one_very_long_basket_takes_no_memory_for_its_pairs():
    """10,000 items have 50 million pairs: each once in a list would be 400 MB, and was held three times."""
    rows = Rows.of_baskets(baskets_of([range(3000), range(0, 3000, 2), range(10)]))
    itemset_spread(Rows.of_baskets(baskets_of([range(5), range(3)])), 2)  # kernels are compiled
    tracemalloc.start()
    spread, rarest = itemset_spread(rows, 2), weakest(rows, 4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8e6  # 4.5 million pairs would be 36 MB
    assert spread.numbers.sum() == 3000 + 3000 * 2999 // 2
    assert [own for _, own in rarest] == [(11,), (13,), (15,), (17,)]


# -- odd baskets -------------------------------------------------------------------------------------------------

PROMISES = dict.fromkeys(("aa", "coat", "pcta", "upcta", "lra", "vpa", "one-item"), "km-anonymity k=3 m=2")
PROMISES["partition"] = "k-anonymity k=3"


@pytest.mark.parametrize("maker", PROMISES)
def test_an_item_that_is_called_like_everything_is_never_taken_for_it(maker):
    """Whatever is published as `*` stands for the item of that name alone; trees, whose root is `*`, are refused."""
    rows = [{"*"}] * 4 + [{"*", "a"}] * 4 + [{"b"}] * 3 + [{"c", "d"}, {"e"}, {"f", "a"}]
    wanted = basket_requirement(PROMISES[maker])
    if maker in ("aa", "lra", "vpa", "partition"):
        with pytest.raises(BadInputError, match=r"an item is called '\*'.* rename the item, or take coat or pcta"):
            candidate_maker(maker).anonymize(baskets_of(rows), wanted)
        return
    release = candidate_maker(maker).anonymize(baskets_of(rows), wanted)
    for shown, row in zip(published(release), records(release.baskets), strict=True):
        assert "*" not in shown or "*" in row
    if "*" in release.labels:
        assert release.parts.members(release.labels.index("*")).tolist() == [release.baskets.places["*"]]


@pytest.mark.parametrize("maker", PROMISES)
def test_baskets_of_one_item_are_made_and_measured(maker):
    wanted = basket_requirement(PROMISES[maker])
    alone = candidate_maker(maker).anonymize(baskets_of([{"a"}] * 5), wanted)
    assert set(alone.labels) <= {"a", "*"}
    release = candidate_maker(maker).anonymize(baskets_of([{"a"}] * 5 + [{"b"}] * 2 + [{"c"}] * 2), wanted)
    assert km_holds(release, 3, 1)
    queries = ItemQueries(size=1)
    for own in (alone, release):
        assert measure_baskets(own, BasketScales(queries=queries))["itemset_risk"] <= 1 / 3
