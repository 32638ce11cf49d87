"""Baskets, requirements, and the anonymizers of baskets: what they publish keeps what was promised."""

import gzip
import json
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import run
from plain_baskets import (
    complete_holds,
    constraint_holds,
    is_honest,
    km_holds,
    matching_holds,
    owners,
    partitions,
    plain_clusters,
    plain_cut,
    plain_tree,
    published,
    records,
    supports,
    utility_loss,
)
from sfumato import BadInputError, Hierarchy, InfeasibleError, read_baskets, tree
from sfumato.anonymizers.items import BASKET_ANONYMIZERS, DEFAULT_MAKER, anonymize_baskets, basket_anonymizer
from sfumato.anonymizers.items._item_tree import balanced_tree
from sfumato.anonymizers.items.coat_pcta import UPCTA
from sfumato.data.bundled import load_baskets
from sfumato.data.hierarchies.hierarchy import Level
from sfumato.data.items import baskets_of, rows_once
from sfumato.measures.items.queries import ItemQueries
from sfumato.measures.scales import BasketScales, measure_baskets
from sfumato.release._itemsets import Rows, rare_itemsets
from sfumato.release.item_verification import verify, violations
from sfumato.release.items import BasketRelease, global_release, set_recoding
from sfumato.requirements.items import KMAnonymity, SuppressionLimit, UtilityConstraints, basket_requirement
from strategies import tries

FIGURE_1 = [set("abcdef"), set("abeg"), set("ae"), set("bfg"), set("ab"), set("cf")]
"""Figure 1(a) of Loukides et al. 2012: Anne, Greg, Jack, Tom, Mary, Jim."""

SET_BASED = [
    "coat",
    "pcta",
    DEFAULT_MAKER,
    "coat visit=once",
    "pcta order=ascending visit=round loss=size",
    "upcta visit=stay",
]
GLOBAL = ["aa", "aa fanout=2", "vpa parts=2", *SET_BASED]
KM_MAKERS = [*GLOBAL, "lra pieces=2"]


@st.composite
def random_baskets(draw, most_items=7, most=14):
    """Small baskets, some of them empty, many of them alike."""
    names = "abcdefghij"[: draw(st.integers(1, most_items))]
    own = draw(st.lists(st.sets(st.sampled_from(names)), min_size=1, max_size=most))
    return baskets_of(own, persons=draw(persons_of(own)))


def persons_of(own):
    """Whose records they are: of few persons, or each of its own."""
    return st.none() | st.lists(st.integers(0, max(1, len(own) // 2)), min_size=len(own), max_size=len(own))


@st.composite
def random_trees(draw, items):
    """A tree over the items, in an order of its own, with a leaf that no basket has."""
    leaves = draw(st.permutations([*items, "never"]))
    levels = [Level(tuple(range(len(leaves))), tuple(leaves))]
    for depth in range(draw(st.integers(0, 2))):
        kept = draw(st.sets(st.sampled_from(levels[-1].starts)))
        starts = tuple(sorted({0, *kept}))
        levels.append(Level(starts, tuple(f"node {depth} {start}" for start in starts)))
    if len(levels[-1].starts) > 1:
        levels.append(Level((0,), ("*",)))
    else:
        levels[-1] = Level((0,), ("*",))
    return Hierarchy(tuple(levels), (1.0,) * len(leaves))


# -- values --------------------------------------------------------------------------------------------------


def test_figure_1_has_the_supports_of_the_paper():
    own = baskets_of(FIGURE_1)
    assert dict(zip(own.items, own.supports.tolist(), strict=True)) == {
        "a": 4,
        "b": 4,
        "c": 2,
        "d": 1,
        "e": 3,
        "f": 3,
        "g": 2,
    }
    assert (own.size, own.occurrences, supports(FIGURE_1, 2)["a", "e"], supports(FIGURE_1, 2)["a", "c"]) == (
        6,
        19,
        3,
        1,
    )


@given(st.lists(st.lists(st.sampled_from("abcde"), max_size=6), min_size=1, max_size=12), st.randoms())
@tries(60)
def test_baskets_keep_every_record_whatever_the_order(given_sets, random):
    own = baskets_of(given_sets)
    assert sorted(map(sorted, records(own))) == sorted(sorted(set(record)) for record in given_sets)
    assert own.weights.sum() == own.size == len(given_sets)
    shuffled = [random.sample(record, len(record)) for record in random.sample(given_sets, len(given_sets))]
    other = baskets_of(shuffled)
    assert own.digest == other.digest
    assert own.filled == sum(bool(record) for record in given_sets)
    assert {own.basket(i): int(own.weights[i]) for i in range(own.distinct)} == {
        tuple(sorted(key)): [frozenset(r) for r in given_sets].count(key) for key in {frozenset(r) for r in given_sets}
    }


@given(st.data())
@tries(60)
def test_baskets_keep_every_record_of_every_person_however_they_are_called(data):
    given_sets = data.draw(st.lists(st.frozensets(st.sampled_from("abc")), min_size=1, max_size=12))
    persons = data.draw(persons_of(given_sets).filter(bool))
    own = baskets_of(given_sets, persons=persons)

    def by_person(sets, whose):
        held = Counter(zip(whose, map(frozenset, sets), strict=True))
        return sorted(sorted((sorted(s), n) for (who, s), n in held.items() if who == one) for one in set(whose))

    assert by_person(records(own), owners(own)) == by_person(given_sets, persons)
    assert own.filled == len({who for record, who in zip(given_sets, persons, strict=True) if record})
    some = np.array(sorted(data.draw(st.sets(st.integers(0, own.distinct - 1), min_size=1))))
    assert sorted(set(own.people.some(some).kind.tolist())) == list(range(len(set(own.people.kind[some].tolist()))))
    other = data.draw(st.permutations(list(zip(given_sets, (-who for who in persons), strict=True))))
    assert baskets_of([s for s, _ in other], persons=[who for _, who in other]).digest == own.digest


@given(st.lists(st.frozensets(st.sampled_from("abcdef")), min_size=1, max_size=14), st.integers(1, 4), st.data())
@tries(60)
def test_one_record_for_every_person_gives_what_records_give(given_sets, k, data):
    """The releases, and all that is measured of them, are equal to the last digit."""
    maker = data.draw(st.sampled_from([*KM_MAKERS, "partition fanout=2"]))
    text = f"k-anonymity k={k}" if maker.startswith("partition") else f"km-anonymity k={k} m=2"
    made, found = [], []
    for persons in (None, data.draw(st.permutations(range(len(given_sets))))):
        own = baskets_of(given_sets, persons=persons)
        try:
            made.append(anonymize_baskets(own, text, maker))
        except InfeasibleError as error:
            made.append(str(error).replace(" of=persons", "").replace("person", "record"))
            continue
        if own.items:
            measured = measure_baskets(made[-1], BasketScales(queries=ItemQueries(size=1), sensitive=own.items[:1]))
            found.append((dict(measured.values), measured.intervals, measured.matching))
    if isinstance(made[0], str):
        assert made[0] == made[1]
        return
    assert found[:1] == found[1:]
    assert published(made[0]) == published(made[1]) and (made[0].piece == made[1].piece).all()
    assert [list(each.parts) for each in made[0].recodings] == [list(each.parts) for each in made[1].recodings]


def test_items_that_are_numbers_are_in_the_order_of_numbers():
    assert baskets_of([["10", "9"], ["100"]]).items == ("9", "10", "100")


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 7)), max_size=40))
@tries(60)
def test_rows_once_is_what_sets_say(pairs):
    row, code = np.array([p[0] for p in pairs], np.int64), np.array([p[1] for p in pairs], np.int32)
    starts, codes = rows_once(row, code, 6)
    plain = [sorted({c for r, c in pairs if r == own and c >= 0}) for own in range(6)]
    assert [codes[starts[r] : starts[r + 1]].tolist() for r in range(6)] == plain


@given(random_baskets(), st.integers(1, 4), st.integers(1, 5))
@tries(60)
def test_rare_itemsets_are_those_that_loops_find(own, size, k):
    found, counts, least = rare_itemsets(Rows.of_baskets(own), size, k)
    plain = supports(records(own), size, owners(own))
    named = {tuple(own.items[i] for i in codes): int(n) for codes, n in zip(found, counts, strict=True)}
    assert named == {key: n for key, n in plain.items() if n < k}
    assert least == min(plain.values(), default=0)
    few, _, _ = rare_itemsets(Rows.of_baskets(own), size, k, most=1)
    assert len(few) == min(1, len(named))


@given(random_baskets(), st.data())
@tries(80)
def test_verifying_agrees_with_the_plain_checker(own, data):
    keys = np.array(data.draw(st.lists(st.integers(-1, 3), min_size=len(own.items), max_size=len(own.items))), np.int64)
    release = global_release(own, set_recoding(own.items, keys))
    k, m = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    assert (not violations(release, KMAnonymity(k, m))) == km_holds(release, k, m)
    assert (not violations(release, basket_requirement(f"k-anonymity k={k}"))) == complete_holds(release, k)
    assert release.suppressed_occurrences == sum(int(own.supports[i]) for i in range(len(own.items)) if keys[i] < 0)
    if not km_holds(release, k, m):
        with pytest.raises(AssertionError, match="breaks km-anonymity"):
            verify(release, KMAnonymity(k, m))


def test_labels_of_sets_cannot_be_confused_with_items():
    own = baskets_of([["a", "b", "{a, b}"]])
    assert set_recoding(own.items, np.array([0, 0, 1])).labels == ('{"a", "b"}', "{a, b}")


# -- requirements --------------------------------------------------------------------------------------------


def test_requirements_print_as_they_are_typed():
    for text in (
        "km-anonymity k=5 m=2",
        "k-anonymity k=3",
        "privacy-constraints k=4 file=known.txt protect-subsets=no",
    ):
        assert str(basket_requirement(text)) == text
    for text in KM_MAKERS:
        assert str(basket_anonymizer(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("km-anonymity k=5", "m is not given; write km-anonymity k=5 m=2"),
        ("km-anonymity k=0 m=2", "k must be a whole number of at least 1, not 0"),
        ("l-diversity l=2", "unknown requirement 'l-diversity'; known are km-anonymity"),
        ("privacy-constraints k=2 file=x protect-subsets=maybe", "protect-subsets must be one of yes, no"),
    ],
)
def test_bad_requirements_are_named(text, message):
    with pytest.raises(BadInputError, match=message):
        basket_requirement(text)


def test_anonymizers_refuse_what_they_cannot_promise():
    own = baskets_of(FIGURE_1)
    with pytest.raises(BadInputError, match="aa satisfies km-anonymity, not k-anonymity"):
        anonymize_baskets(own, "k-anonymity k=2", "aa")
    with pytest.raises(BadInputError, match="pcta knows no utility constraints"):
        anonymize_baskets(own, "km-anonymity k=2 m=2", "pcta", "utility-constraints level=1")
    with pytest.raises(BadInputError, match="seed must be one of least, any"):
        basket_anonymizer("coat seed=most")


# -- k^m-anonymity -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("maker", KM_MAKERS)
@given(own=random_baskets(), k=st.integers(1, 5), m=st.integers(1, 3), data=st.data())
@tries(25)
def test_every_release_is_km_anonymous(maker, own, k, m, data):
    if data.draw(st.booleans()):
        own = own.with_tree(data.draw(random_trees(own.items)))
    if 0 < own.filled < k:
        with pytest.raises(InfeasibleError, match=f"k={own.filled} is the most"):
            anonymize_baskets(own, KMAnonymity(k, m), maker)
        return
    release = anonymize_baskets(own, KMAnonymity(k, m), maker)
    assert km_holds(release, k, m)
    assert matching_holds(release, k, m)
    assert is_honest(release)
    persons = None if own.persons is None else owners(own)[::-1]
    again = anonymize_baskets(baskets_of(records(own)[::-1], own.tree, persons=persons), KMAnonymity(k, m), maker)
    assert again.recodings[0].labels == release.recodings[0].labels


def skewed_baskets(seed, items=9, records=30):
    """Baskets in which some items are common and others rare, as they are in shops; of every other seed by persons."""
    random = np.random.default_rng(seed)
    chances = random.random(items) ** 2
    sets = [[f"i{i}" for i in np.flatnonzero(random.random(items) < chances)] for _ in range(records)]
    return baskets_of(sets, persons=(records * random.random(records) ** 2).astype(int) if seed % 4 > 1 else None)


STRATEGIES = list(
    product(["ascending", "descending"], ["least", "any"], ["stay", "once", "round"], ["subsets", "size"])
)


@pytest.mark.parametrize("choices", STRATEGIES, ids="-".join)
def test_clusters_are_merged_as_a_plain_account_of_the_algorithm_says(choices):
    """The kernels, which count as little as they can, choose at every step what counting everything anew chooses."""
    maker = UPCTA(*choices)
    for seed in range(8):
        own, blocks = skewed_baskets(seed, records=30 if seed < 5 else 10), None  # few records: many ties
        if seed % 2:
            own = own.with_tree(balanced_tree(own.items, 3))
            blocks = UtilityConstraints(level=1)
        k = 3 + seed % 5
        release = maker.anonymize(own, KMAnonymity(k, 2), blocks, SuppressionLimit(1.0))
        rows = [{own.places[item] for item in record} for record in records(own)]
        allowed = None if blocks is None else dict(enumerate(blocks.blocks(own).tolist()))
        plain = plain_clusters(rows, range(len(own.items)), k, 2, maker, allowed, whose=owners(own))
        assert {frozenset(members) for members in release.recoding.members} == plain


@pytest.mark.parametrize("visit", ["stay", "once"])
def test_parts_are_priced_by_the_tree_as_the_plain_account_says(visit):
    maker = UPCTA("ascending", "least", visit, "tree")
    for seed in range(6):
        own = skewed_baskets(seed, records=30)
        tree = balanced_tree(own.items, 3)
        own, k = own.with_tree(tree), 3 + seed % 3
        nodes = [{own.places[leaf] for leaf in tree.leaves[low : high + 1]} for low, high in tree.nodes]
        rows = [{own.places[item] for item in record} for record in records(own)]
        plain = plain_clusters(rows, range(len(own.items)), k, 2, maker, nodes=nodes, whose=owners(own))
        release = maker.anonymize(own, KMAnonymity(k, 2))
        assert {frozenset(members) for members in release.recoding.members} == plain
    with pytest.raises(BadInputError, match="loss=tree needs a tree of items"):
        maker.anonymize(own.with_tree(None), KMAnonymity(2, 2))


def test_a_given_tree_keeps_its_nodes_apart_by_default_and_is_ignored_by_name():
    """Sets priced by size mix two kinds of items; sets priced by the tree do so only where nothing else is left."""
    draw = np.random.default_rng(6)
    items = [f"{kind}{n:02d}" for kind in "ab" for n in range(20)]
    rows = [[items[i] for i in {int(40 * draw.random() ** 2) for _ in range(3)}] for _ in range(400)]
    own = baskets_of([*rows, *([item] for item in items)], tree([["as", *items[:20]], ["bs", *items[20:]]]))

    def mixing(release):
        parts = [[own.items[code] for code in members] for members in release.recoding.members if len(members) > 1]
        return sum(len({item[0] for item in part}) > 1 for part in parts) / len(parts)

    default = anonymize_baskets(own, "km-anonymity k=5 m=2")
    assert default.maker == "coat order=ascending visit=once loss=tree" and mixing(default) < 0.1
    assert mixing(anonymize_baskets(own, "km-anonymity k=5 m=2", "coat order=ascending visit=once loss=size")) > 0.3
    plain = own.with_tree(None)
    assert anonymize_baskets(plain, "km-anonymity k=5 m=2").maker == "coat order=ascending visit=once loss=size"


def test_the_price_of_a_given_tree_is_said(tmp_path):
    (tmp_path / "t.dat").write_text("a b\nc d\na c\n" * 4)
    (tmp_path / "tree.csv").write_text("a;x;*\nb;x;*\nc;y;*\nd;y;*\n")
    words = ("anonymize", "t.dat", "--baskets", "--tree", "tree.csv", "--require", "km-anonymity k=2 m=2", "--to")
    said = " ".join(run(*words, "o.csv", cwd=tmp_path).stderr.split())
    assert "counts of pairs are less exact" in said and "coat order=ascending visit=once loss=size" in said
    named = run(*words, "p.csv", "--with", "coat order=ascending visit=once loss=size", cwd=tmp_path)
    assert named.returncode == 0 and "less exact" not in named.stderr


class Owned(NamedTuple):
    """What items are worth, and how many may be left out."""

    weights: list[Fraction]
    penalties: list[Fraction]
    most: int


@pytest.mark.parametrize("choices", STRATEGIES[::3], ids="-".join)
def test_what_items_are_worth_is_honoured_as_the_plain_account_says(choices, tmp_path):
    """Dear items are merged last, cheap ones left out first, and instead of a merge where that costs less."""
    file, gone = tmp_path / "weights.txt", Counter()
    for seed in range(12):
        random = np.random.default_rng(seed)
        data, blocks = skewed_baskets(seed, records=30), None
        if seed % 2:
            data = data.with_tree(balanced_tree(data.items, 3))
            blocks = UtilityConstraints(level=1)
        items = len(data.items)
        weights = [Fraction(int(number)) for number in random.integers(1, 9, items)]
        penalties = [Fraction(1, int(number)) for number in 2 ** random.integers(0, 12, items)]
        lines = zip(data.items, weights, penalties, strict=True)
        file.write_text("".join(f"{item}: {float(w)} {float(y)}\n" for item, w, y in lines))
        k, most = 3 + seed % 5, items // 3 if blocks is None else items
        release = UPCTA(*choices, str(file)).anonymize(data, KMAnonymity(k, 2), blocks, SuppressionLimit(most / items))
        rows = [{data.places[item] for item in record} for record in records(data)]
        allowed = None if blocks is None else dict(enumerate(blocks.blocks(data).tolist()))
        owner = Owned(weights, penalties, most)
        plain = plain_clusters(rows, range(items), k, 2, UPCTA(*choices), allowed, owner, whose=owners(data))
        assert {frozenset(members) for members in release.recoding.members} == plain
        gone[blocks is None] += items - sum(map(len, plain))
    assert min(gone.values()) > 0  # both by choice and for want of partners


@pytest.mark.parametrize("seed", range(10))
def test_verifying_finds_the_last_record_that_lacks(seed):
    """The least support of a pair is the largest k that holds; one more is refused."""
    own = skewed_baskets(seed)
    release = global_release(own, set_recoding(own.items, np.arange(len(own.items)) // 2))
    least = min(n for size in (1, 2) for n in supports(published(release), size, owners(own)).values())
    assert not violations(release, KMAnonymity(least, 2))
    assert violations(release, KMAnonymity(least + 1, 2))[0].support == least


def test_verifying_asks_every_piece_by_itself():
    own = baskets_of([{"a"}] * 2 + [{"a", "b"}] * 3)
    recoding = set_recoding(own.items, np.array([0, 1]))
    assert not violations(global_release(own, recoding), KMAnonymity(3, 2))
    split = BasketRelease(own, (recoding, recoding), np.array([0, 1], np.int32))
    assert [(weak.support, weak.parts) for weak in violations(split, KMAnonymity(3, 2))] == [(2, ("a",))]


@pytest.mark.parametrize("seed", range(10))
def test_local_releases_of_skewed_baskets_hold(seed):
    own = skewed_baskets(seed, items=7, records=40)
    own = baskets_of([record for record in records(own) if record])
    k = 2 + seed % 4
    assert complete_holds(anonymize_baskets(own, f"k-anonymity k={k}", "partition fanout=2"), k)
    assert km_holds(anonymize_baskets(own, KMAnonymity(k, 2), "lra pieces=3"), k, 2)


@pytest.mark.parametrize("seed", range(12))
def test_aa_lifts_many_items_as_the_plain_account_says(seed):
    own = skewed_baskets(seed, items=10)
    own = own.with_tree(balanced_tree(own.items, 2 + seed % 2))
    release = anonymize_baskets(own, KMAnonymity(2 + seed % 5, 2 + seed % 2), "aa")
    chains = plain_tree(own.tree, own.items)
    cut = plain_cut(records(own), own.items, 2 + seed % 5, 2 + seed % 2, chains, whose=owners(own))
    members = {frozenset(own.items[i] for i in part) for part in release.recoding.members}
    assert members == {node[0] for node in cut.values()}


@given(own=random_baskets(6, 10), k=st.integers(2, 4), m=st.integers(1, 3), data=st.data())
@tries(100)
def test_aa_lifts_as_a_plain_account_of_the_algorithm_says(own, k, m, data):
    if own.filled < k:
        return
    own = own.with_tree(data.draw(random_trees(own.items)))
    release = anonymize_baskets(own, KMAnonymity(k, m), "aa")
    cut = plain_cut(records(own), own.items, k, m, plain_tree(own.tree, own.items), whose=owners(own))
    members = {frozenset(own.items[i] for i in part) for part in release.recoding.members}
    assert members == {node[0] for node in cut.values()}
    assert sorted(release.recoding.leaves.tolist()) == sorted(node[1] for node in set(cut.values()))


def test_nothing_is_changed_where_nothing_must_be():
    own = baskets_of([{"a", "b"}] * 3 + [{"b"}])
    for maker in GLOBAL:
        assert anonymize_baskets(own, "km-anonymity k=3 m=2", maker).recoding.labels == ("a", "b")


def test_aa_with_the_tree_of_two_levels_gives_figure_1b_for_every_k():
    own = baskets_of(FIGURE_1, tree(list("abcdefg")))
    for k in range(2, 7):
        release = anonymize_baskets(own, KMAnonymity(k, 2), "aa")
        assert release.recoding.labels == ("*",)
        assert release.part_supports.tolist() == [6]


@pytest.mark.parametrize("maker", KM_MAKERS)
def test_what_one_person_shows_twice_is_shown_by_one(maker):
    """a is in two baskets of one person: k=2 is two persons, so a is published together with what others have."""
    own = baskets_of([{"a"}, {"a", "b"}, {"b"}, {"c"}, {"c"}, {"d"}], persons=[1, 1, 2, 2, 3, 4])
    for m in (1, 2):
        assert km_holds(anonymize_baskets(own, KMAnonymity(2, m), maker), 2, m)
        assert not km_holds(anonymize_baskets(own, KMAnonymity(1, m), maker), 2, m)


def test_aa_takes_the_lift_that_adds_least_to_the_penalty():
    """c is rare. Lifting it to {c, d} costs 2 x (1 + 2), to the root 6 x all: the first is taken, a and b stay."""
    shop = tree([["ab", "a", "b"], ["cd", "c", "d"], ["ef", "e", "f"]])
    own = baskets_of([{"a"}, {"a"}, {"b"}, {"b"}, {"c"}, {"d"}, {"d"}, {"e"}, {"e"}, {"f"}, {"f"}], shop)
    assert anonymize_baskets(own, "km-anonymity k=2 m=1", "aa").recoding.labels == ("a", "b", "cd", "e", "f")


OPTIMA = {2: (0.05118, 304), 3: (0.07218, 133), 4: (0.08530, 52), 5: (0.15354, 27), 6: (0.17323, 7)}


def test_no_release_of_figure_1_is_better_than_the_best_of_all_877_partitions():
    own = baskets_of(FIGURE_1)
    everything = [[set(part) for part in partition] for partition in partitions(list("abcdefg"))]
    assert len(everything) == 877
    for k, (optimum, feasible) in OPTIMA.items():
        losses = []
        for partition in everything:
            rows = [{i for i, part in enumerate(partition) if part & row} for row in FIGURE_1]
            if all(n >= k for size in (1, 2) for n in supports(rows, size).values()):
                losses.append(utility_loss(partition, FIGURE_1, 7))
        assert (len(losses), round(min(losses), 5)) == (feasible, pytest.approx(optimum, abs=6e-6))
        for maker in GLOBAL:
            release = anonymize_baskets(own, KMAnonymity(k, 2), maker)
            parts = [{own.items[i] for i in members} for members in release.recoding.members]
            assert utility_loss(parts, FIGURE_1, 7) >= min(losses) - 1e-12


def test_coat_as_published_step_by_step():
    """Worked by hand: k=2, m=1; only c (1) is rare. Cheapest partner under UL: 2^2 - 1 times the union's support, so
    b (support 2, union 3) beats a (3, union 4)."""
    own = baskets_of([{"a"}, {"a"}, {"a"}, {"b"}, {"b"}, {"c"}])
    assert anonymize_baskets(own, "km-anonymity k=2 m=1", "coat").recoding.labels == ("a", "{b, c}")


def test_a_merge_prefers_what_already_occurs_together():
    """Unions count records once: c with a (always together, union 3) beats c with b (union 4)."""
    own = baskets_of([{"a", "c"}, {"a"}, {"a"}, {"b"}, {"b"}, {"b"}])
    assert anonymize_baskets(own, "km-anonymity k=2 m=1", "coat").recoding.labels == ("{a, c}", "b")


# -- constraints, blocks, suppression ------------------------------------------------------------------------


@pytest.mark.parametrize("subsets", ["yes", "no"])
@given(own=random_baskets(), k=st.integers(2, 4), maker=st.sampled_from(SET_BASED), data=st.data())
@tries(30)
def test_privacy_constraints_hold(tmp_path_factory, subsets, own, k, maker, data):
    if not own.items or own.filled < k:
        return
    chosen = data.draw(st.lists(st.sets(st.sampled_from(own.items), min_size=1, max_size=3), min_size=1, max_size=4))
    file = tmp_path_factory.mktemp("policy") / "known.txt"
    file.write_text("\n".join(" ".join(sorted(line)) for line in chosen))
    limit = SuppressionLimit(1.0)
    blocks = None
    if maker.startswith(("coat", "upcta")) and data.draw(st.booleans()):
        groups = file.with_name("groups.txt")
        groups.write_text(",".join(own.items[:2]) + "\n" + (",".join(own.items[2:4]) + "\n" if own.items[2:4] else ""))
        blocks = UtilityConstraints(file=str(groups))
    text = f'privacy-constraints k={k} file="{file}" protect-subsets={subsets}'
    release = anonymize_baskets(own, text, maker, blocks, limit)
    for line in chosen:
        assert constraint_holds(release, sorted(line), k)
        if subsets == "yes":
            assert all(constraint_holds(release, [item], k) for item in line)
    if blocks is not None:
        for members in release.recoding.members:
            assert set(members) <= {0, 1} or set(members) <= {2, 3} or len(members) == 1


@pytest.mark.parametrize("maker", ["coat", "upcta", DEFAULT_MAKER])
@given(own=random_baskets(), k=st.integers(2, 4), m=st.integers(1, 3), data=st.data())
@tries(20)
def test_utility_constraints_are_kept_by_suppressing(maker, own, k, m, data):
    own = own.with_tree(data.draw(random_trees(own.items)))
    blocks = UtilityConstraints(level=min(1, own.tree.height))
    release = anonymize_baskets(own, KMAnonymity(k, m), maker, blocks, SuppressionLimit(1.0))
    assert km_holds(release, k, m)
    allowed = blocks.blocks(own)
    assert all(len({int(allowed[i]) for i in members}) == 1 for members in release.recoding.members)
    share = len(release.unpublished) / max(len(own.items), 1)
    if share > 0:
        with pytest.raises(InfeasibleError, match="of the items suppressed where at most"):
            anonymize_baskets(own, KMAnonymity(k, m), maker, blocks, SuppressionLimit(share * 0.9))


def test_a_suppression_limit_may_count_occurrences():
    own = baskets_of([{"a"}] * 8 + [{"b"}] * 2)
    alone = UtilityConstraints(level=0)
    own = own.with_tree(tree(["a", "b"]))
    kept = anonymize_baskets(own, "km-anonymity k=3 m=1", "coat", alone, "suppression share=.2 of=occurrences")
    assert kept.recoding.labels == ("a",)
    assert kept.unpublished.tolist() == [1]
    with pytest.raises(InfeasibleError, match=r"needs 50.00% of the items .* \(suppression share=0.5\)"):
        anonymize_baskets(own, "km-anonymity k=3 m=1", "coat", alone, "suppression share=.2")
    with pytest.raises(InfeasibleError, match=r"needs 20.00% of the occurrences .* share=0.2 of=occurrences"):
        anonymize_baskets(own, "km-anonymity k=3 m=1", "coat", alone, "suppression share=.1 of=occurrences")


def test_who_knows_one_item_of_a_constraint_is_kept_out_unless_said_otherwise(tmp_path):
    """{a, b} is in no record, which is fine as such; but a alone singles out a record."""
    own = baskets_of([{"a"}, {"b"}, {"b"}, {"c"}, {"c"}])
    file = written(tmp_path / "known.txt", "a b\n")
    safe = anonymize_baskets(own, f"privacy-constraints k=2 file={file}", "coat")
    assert min(len(members) for members in safe.recoding.members if 0 in members) == 2
    loose = anonymize_baskets(own, f"privacy-constraints k=2 file={file} protect-subsets=no", "coat")
    assert loose.recoding.labels == ("a", "b", "c")


def test_a_constraint_that_a_merge_brings_into_being_is_served(tmp_path):
    """{a, d} is in no record; b must be merged, cheapest with a, and then {a, d} is in two records, fewer than k."""
    file = tmp_path / "known.txt"
    file.write_text("b\na d\n")
    own = baskets_of([{"a"}] * 3 + [{"b", "d"}] * 2 + [{"d"}] * 9)
    merged = global_release(own, set_recoding(own.items, np.array([0, 0, 1])))
    assert not constraint_holds(merged, ["a", "d"], 3)
    release = anonymize_baskets(own, f"privacy-constraints k=3 file={file}", "coat")
    assert constraint_holds(release, ["a", "d"], 3)
    assert constraint_holds(release, ["b"], 3)


# -- complete k-anonymity ------------------------------------------------------------------------------------


@given(own=random_baskets(most=20), k=st.integers(1, 4), data=st.data())
@tries(60)
def test_partition_hides_every_basket_among_k(own, k, data):
    if data.draw(st.booleans()):
        own = own.with_tree(data.draw(random_trees(own.items)))
    empty = len({who for record, who in zip(records(own), owners(own), strict=True) if not record})
    if 0 < empty < k or 0 < own.filled < k:
        with pytest.raises(InfeasibleError, match="cannot look like the others"):
            anonymize_baskets(own, f"k-anonymity k={k}", "partition fanout=2")
        return
    release = anonymize_baskets(own, f"k-anonymity k={k}", "partition fanout=2")
    assert complete_holds(release, k)
    assert matching_holds(release, k, 3)
    assert is_honest(release)


def test_partition_gathers_records_of_k_persons_not_k_records():
    """Two records of one person are gathered with others until two persons are among them."""
    sets, persons = [{"a"}] * 4 + [{"b"}, {"a", "b"}], [1, 2, 3, 4, 5, 5]
    own = baskets_of(sets, tree([["ab", "a", "b"]]), persons=persons)
    release = anonymize_baskets(own, "k-anonymity k=2", "partition")
    assert complete_holds(release, 2)
    assert complete_holds(anonymize_baskets(baskets_of(sets, own.tree), "k-anonymity k=2", "partition"), 2)


def test_partition_divides_as_far_as_it_can():
    """Four like baskets and four of another kind: with k=4 all items can be shown as they are, with k=5 none."""
    own = baskets_of([{"a", "b"}] * 4 + [{"c"}] * 4, tree([["ab", "a", "b"], ["cd", "c", "d"]]))
    assert [sorted(row) for row in published(anonymize_baskets(own, "k-anonymity k=4", "partition"))] == (
        [["a", "b"]] * 4 + [["c"]] * 4
    )
    assert published(anonymize_baskets(own, "k-anonymity k=5", "partition")) == [{"*"}] * 8


def test_local_recoding_shows_more_than_global():
    """The one {b, c} costs its own piece alone; with one cut for all it costs every basket with b or c."""
    own = baskets_of([{"a", "c"}] * 6 + [{"b", "d"}] * 5 + [{"b", "c"}], tree([["ab", "a", "b"], ["cd", "c", "d"]]))
    local = anonymize_baskets(own, "km-anonymity k=3 m=2", "lra pieces=2")
    whole = anonymize_baskets(own, "km-anonymity k=3 m=2", "aa")
    exact = [sum(row <= set("abcd") for row in published(release)) for release in (local, whole)]
    assert exact == [6, 0]  # the six {a, c}: in the other piece c becomes cd


# -- reading -------------------------------------------------------------------------------------------------


def in_order(sets):
    return sorted(map(sorted, sets))


def written(path, text):
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.dat", "x y z\ny\n"),
        ("a.csv", "x,y,z\ny\n"),
        ("a.txt", "x; y ;z\r\ny\r\n"),
        ("a.tsv.gz", "x\ty\tz\ny\n"),
        ("a.txt", "\ufeffx y  z \ny"),
    ],
)
def test_lines_are_read_whatever_separates_items(tmp_path, name, text):
    assert in_order(records(read_baskets(written(tmp_path / name, text)))) == in_order([{"x", "y", "z"}, {"y"}])


def test_names_with_blanks_and_commas_survive(tmp_path):
    assert {"whole milk", "soda"} in records(read_baskets(written(tmp_path / "a", "whole milk\tsoda\nsoda\n")))
    assert {"jars, white", "tea"} in records(read_baskets(written(tmp_path / "b", '"jars, white",tea\ntea\n')))
    assert in_order(records(read_baskets(written(tmp_path / "c", "a b\nc d\n"), separator=";"))) == in_order(
        [{"a b"}, {"c d"}]
    )


def test_rows_lists_and_json_say_the_same(tmp_path):
    wanted = [{"x", "y"}, set(), {"y"}]
    rows = written(tmp_path / "rows.csv", "patient,code\n7,x\n8,\n7,y\n9,y\n")
    assert in_order(records(read_baskets(rows, who="patient", item="code"))) == in_order(wanted)
    pq.write_table(pa.table({"n": [1, 2, 3], "codes": [["y", "x"], [], ["y"]]}), tmp_path / "lists.parquet")
    assert in_order(records(read_baskets(tmp_path / "lists.parquet"))) == in_order(wanted)
    lines = "\n".join(json.dumps({"codes": sorted(own)}) for own in wanted)
    assert in_order(records(read_baskets(written(tmp_path / "lists.jsonl", lines), column="codes"))) == in_order(wanted)
    assert in_order(records(read_baskets(pa.table({"codes": [["y", "x"], None, ["y"]]})))) == in_order(wanted)


@pytest.mark.parametrize(
    "text",
    [
        '{"codes": [1, "1", 1.0, "x"]}\n{"codes": null}\n{"codes": [1e0, 9007199254740993]}',
        '[{"codes": [1, "1", 1.0, "x"]}, {"n": 7}, {"codes": [1e0, 9007199254740993]}]',
        '[1, "1", 1.0, "x"]\n[]\n[1e0, 9007199254740993]',
        '[[1, "1", 1.0, "x"], [], [1e0, 9007199254740993]]',
    ],
)
def test_items_of_lists_in_json_stand_as_they_are_written(text, tmp_path):
    wanted = [{"1", '"1"', "1.0", '"x"'}, set(), {"1e0", "9007199254740993"}]
    assert in_order(records(read_baskets(written(tmp_path / "lists.json", text)))) == in_order(wanted)


def test_items_in_rows_of_json_stand_as_they_are_written(tmp_path):
    rows = ['{"who": 1, "item": 5}', '{"who": 1.0, "item": 5.0}', '{"who": 1, "item": 5e0}']
    found = read_baskets(written(tmp_path / "rows.jsonl", "\n".join(rows)), who="who", item="item")
    assert in_order(records(found)) == in_order([{"5", "5e0"}, {"5.0"}])


@pytest.mark.parametrize(
    "text, options, said",
    [
        ('{"x": ["a"]}\n{"x": "a"}', {}, "no column has lists of items"),
        ('{"x": ["a"], "n": 1}', {"column": "n"}, "the column 'n' has no lists of items"),
        ('{"x": ["a"], "n": 1}', {"column": "no"}, "there is no column 'no'; there are x, n"),
        ('{"x": ["a"], "y": ["b"]}', {}, r"several columns have lists \(x, y\)"),
        ('{"x": ["a"]}\n{"x": ["b", null]}', {}, "row 2: the list in 'x' has an empty item"),
        ('{"x": []}', {}, "no list in 'x' has an item"),
        ('{"x": ' + "[" * 5000, {}, "nested too deeply"),
        ("7", {}, "object 1: this is no object"),
    ],
)
def test_json_without_lists_of_items_is_refused_in_a_sentence(text, options, said, tmp_path):
    with pytest.raises(BadInputError, match=f"lists.json.*{said}"):
        read_baskets(written(tmp_path / "lists.json", text), **options)


def test_what_was_merged_or_empty_is_noticed(tmp_path):
    own = read_baskets(written(tmp_path / "a.txt", "x y x\n\ny\n"))
    assert in_order(records(own)) == in_order([{"x", "y"}, set(), {"y"}])
    assert "1 baskets name an item more than once (first line 1: 'x'); it counts once" in own.notices[0]
    assert "1 baskets have no items (first: line 2)" in own.notices[1]


def bad_files(folder):
    tree_file = written(folder / "tree.csv", "x,letters\ny,letters\n")
    good = written(folder / "good.txt", "x y\nz w v q\n")
    rows = written(folder / "rows.csv", "patient,code\n7,x\n,y\n")
    pq.write_table(pa.table({"codes": ["a b"]}), folder / "texts.parquet")
    pq.write_table(pa.table({"codes": [["a"], ["b", None]]}), folder / "gaps.parquet")
    return [
        (folder / "no.txt", {}, "no.txt: there is no such file"),
        (folder, {}, "this is a folder"),
        (written(folder / "empty.txt", ""), {}, "empty.txt: the file is empty; give one with a basket per line"),
        (written(folder / "blank.txt", "\n \n"), {}, "no line has an item"),
        (written(folder / "binary.txt", "x y\nx\x00y\n"), {}, "binary.txt, line 2: not a text file"),
        (good, {"tree": tree_file}, r"good\.txt: 4 items \('q', 'v', 'w', ...\) are not in the item tree; add them"),
        (written(folder / "one.txt", "x z\n"), {"tree": tree_file}, "the item 'z' is not in the item tree; add it"),
        (rows, {"who": "patient", "item": "code"}, "rows.csv, row 2: 'patient' is missing"),
        (rows, {"who": "patient", "item": "drug"}, "no column 'drug'; there are patient, code"),
        (rows, {"who": "patient"}, "need both columns"),
        (folder / "texts.parquet", {}, "texts.parquet: no column has lists of items"),
        (folder / "texts.parquet", {"column": "codes"}, "the column 'codes' has no lists"),
        (folder / "gaps.parquet", {}, "gaps.parquet, row 2: the list in 'codes' has an empty item"),
    ]


def test_bad_files_are_told_in_one_sentence(tmp_path):
    for source, options, message in bad_files(tmp_path):
        with pytest.raises(BadInputError, match=message) as told:
            read_baskets(source, **options)
        assert "\n" not in str(told.value)
    (tmp_path / "latin.txt").write_bytes("x\ncafé\n".encode("latin-1"))
    with pytest.raises(BadInputError, match=r"latin\.txt, line 2: the bytes are not utf-8 text"):
        read_baskets(tmp_path / "latin.txt", encoding="utf-8")
    assert in_order(records(read_baskets(tmp_path / "latin.txt", encoding="latin-1"))) == in_order([{"x"}, {"café"}])
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"x y\n" * 99)[:20])
    with pytest.raises(BadInputError, match="not a whole gzip file"):
        read_baskets(tmp_path / "cut.gz")


def test_bad_policies_name_line_and_item(tmp_path):
    own = baskets_of(FIGURE_1)
    for text, message in (
        ("a b\nc x\n", "line 2: the item 'x' is in no basket"),
        ("\n", "there is no line with items"),
    ):
        file = written(tmp_path / "known.txt", text)
        with pytest.raises(BadInputError, match=message):
            anonymize_baskets(own, f"privacy-constraints k=2 file={file}", "coat")
    groups = written(tmp_path / "groups.txt", "a b\nb c\n")
    with pytest.raises(BadInputError, match="line 2: the item 'b' is in line 1 already"):
        anonymize_baskets(own, "km-anonymity k=2 m=1", "coat", UtilityConstraints(file=str(groups)))
    with pytest.raises(BadInputError, match="needs a tree of items"):
        anonymize_baskets(own, "km-anonymity k=2 m=1", "coat", "utility-constraints level=1")
    with pytest.raises(BadInputError, match="either a file or a level"):
        UtilityConstraints()


def test_a_line_that_is_an_item_is_that_item(tmp_path):
    own = baskets_of([["whole milk"], ["whole milk", "soda"]])
    file = written(tmp_path / "known.txt", "whole milk\n")
    assert basket_requirement(f"privacy-constraints k=2 file={file}").itemsets(own) == [(1,)]


def test_the_automatic_tree_is_balanced_and_says_so():
    made = balanced_tree(tuple("abcdefg"), 3)
    assert [level.labels for level in made.levels[1:]] == [("a..c", "d..f", "g"), ("*",)]
    assert balanced_tree(("a", "a..b", "b"), 2).levels[1].labels == ("a..a..b", "b")


# -- the data ------------------------------------------------------------------------------------------------


def test_online_retail_is_what_its_notice_says():
    own = load_baskets("online-retail")
    assert (own.size, len(own.items), own.origin) == (4_372, 3_885, "online-retail")
    assert own.items[int(own.supports.argmax())] == "REGENCY CAKESTAND 3 TIER"
    assert own.supports.max() == 887
    with pytest.raises(BadInputError, match="there are online-retail"):
        load_baskets("offline-retail")


VIOLATED = {2: (432_079, 51), 5: (645_565, 211), 10: (694_042, 455), 25: (714_205, 1_068), 100: (721_136, 2_408)}


def test_bms_webview_2_has_the_supports_of_the_notes(shared):
    own = read_baskets(shared / "data/transactions/bms_webview_2.dat.gz")
    assert (own.size, own.distinct, len(own.items), own.lengths.max()) == (77_512, 48_684, 3_340, 161)
    for k, (pairs, items) in VIOLATED.items():
        found, _, least = rare_itemsets(Rows.of_baskets(own), 2, k)
        assert (len(found), int((own.supports < k).sum()), least) == (pairs, items, 1)
    found, _, _ = rare_itemsets(Rows.of_baskets(own), 2, own.size)
    assert len(found) == 722_045


def test_trees_of_the_shared_data_fit_their_baskets(shared):
    folder = shared / "data/transactions"
    own = read_baskets(folder / "bms_webview_2.dat.gz", tree=folder / "bms_webview_2_hierarchy.txt.gz")
    assert [len(level.starts) for level in own.tree.levels] == [3340, 835, 209, 53, 14, 4, 1]
    release = anonymize_baskets(own, "km-anonymity k=5 m=2", "aa")
    assert set(release.recoding.labels) <= set(own.tree.intervals)
    assert len(release.recoding.labels) > 20


def test_trees_of_codes_with_header_and_categories_named_like_codes(shared):
    folder = shared / "data/transactions"
    icd = "uci_diabetes130_icd9"
    own = read_baskets(folder / f"{icd}_by_patient.dat.gz", tree=folder / f"{icd}_hierarchy.csv.gz")
    assert (own.size, len(own.items)) == (71_517, 915)
    assert [len(level.starts) for level in own.tree.levels] == [915, 881, 138, 18, 1]
    assert "(code, category3, block, chapter) is taken for a header" in own.notices[0]
    assert own.notices[1].endswith("(first: '250' is called '250 (all)')")
    lo, hi = own.tree.intervals["250 (all)"]
    assert {leaf.partition(".")[0] for leaf in own.tree.leaves[lo : hi + 1]} == {"250"}
    shop = read_baskets(folder / "groceries.tsv.gz", tree=folder / "groceries_hierarchy.csv.gz")
    assert [len(level.starts) for level in shop.tree.levels] == [169, 55, 10, 1]


def test_a_first_row_that_may_be_an_item_is_no_header(tmp_path):
    baskets = written(tmp_path / "b.txt", "x y\n")
    own = read_baskets(baskets, tree=written(tmp_path / "t.csv", "w,letters\nx,letters\ny,letters\n"))
    assert own.tree.leaves == ("w", "x", "y")
    assert own.notices == ()
    headed = read_baskets(baskets, tree=written(tmp_path / "h.csv", "item,kind\nx,letters\ny,letters\n"))
    assert headed.tree.leaves == ("x", "y")


def test_all_anonymizers_can_be_typed():
    names = [kind.name for kind in BASKET_ANONYMIZERS]
    assert names == ["aa", "coat", "pcta", "upcta", "lra", "vpa", "partition", "suppress-control", "td-control"]
