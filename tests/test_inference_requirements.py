"""What may not be inferred from baskets: rho-uncertainty, (h,k,p)-coherence, PS-rules, by the written file."""

from __future__ import annotations

import csv
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import plain_inference as plain
import sfumato
from plain_baskets import is_honest, owners, published
from sfumato import BadInputError, DeltaDisclosure, InfeasibleError, audit_baskets, tree
from sfumato.anonymizers.items import anonymize_baskets, usual_maker
from sfumato.data.items import baskets_of
from sfumato.measures.items.losses import ItemStudy
from sfumato.release.item_verification import verify, violations
from sfumato.release.items import global_release, set_recoding
from sfumato.release.writing_items import write_items
from sfumato.requirements.items import basket_requirement
from strategies import flat_sensitive, group_counts, one_histogram, sensitives, single_requirements, tries

MAKERS = ["suppress-control", "td-control"]
ALL = "suppression share=1"


# -- the definitions, plainly: over sets of texts, each with its person --------------------------------------


def occurring(rows, most, allowed):
    """Every set of up to `most` allowed texts that some row shows."""
    return {frozenset(some) for row, _ in rows for n in range(most + 1) for some in combinations(row & allowed, n)}


def fitting(rows, known):
    """The persons with a row that shows all that is known."""
    return {who for row, who in rows if known <= row}


def texts_of(rows):
    return frozenset().union(*(row for row, _ in rows))


def rho_holds(rows, secret, rho, m):
    texts = texts_of(rows)
    return all(
        Fraction(len(fitting(rows, known | {item})), len(fitting(rows, known))) <= rho
        for known in occurring(rows, m, texts)
        for item in secret - known
    )


def coherent(rows, private, h, k, p):
    public = texts_of(rows) - private
    return all(
        (not known or len(fitting(rows, known)) >= k)
        and all(Fraction(len(fitting(rows, known | {item})), len(fitting(rows, known))) <= h for item in private)
        for known in occurring(rows, p, public)
    )


def rules_hold(rows, rules, k, c, stands):
    """`stands` says for every item which text stands for it; items that are left out are not there."""
    for known, concluded in rules:
        for some in (frozenset(part) for n in range(len(known) + 1) for part in combinations(known, n)):
            texts = frozenset(stands[item] for item in some if item in stands)
            fit = fitting(rows, texts)
            if texts and 0 < len(fit) < k:
                return False
            if concluded <= stands.keys() and fit:
                behind = frozenset(stands[item] for item in concluded)
                if Fraction(len(fitting(rows, texts | behind)), len(fit)) > c:
                    return False
    return True


def alone(release, secret):
    return all(release.recoding.labels[part] == item for item, part in parts_of(release).items() if item in secret)


def parts_of(release):
    items, parts = release.baskets.items, release.recoding.parts.tolist()
    return {item: part for item, part in zip(items, parts, strict=True) if part >= 0}


def stands(release):
    return {item: release.recoding.labels[part] for item, part in parts_of(release).items()}


def written(release, path):
    """The rows of the file, read by nothing of ours, each with its person."""
    write_items(release, path, force=True)
    with path.open(newline="", encoding="utf-8") as stream:
        rows = [frozenset(text for text in row if text) for row in csv.reader(stream)]
    shown = list(zip(map(frozenset, published(release)), owners(release.baskets), strict=True))
    assert Counter(rows) == Counter(row for row, _ in shown)
    return shown


@st.composite
def baskets_and_secrets(draw):
    names = "abcdefg"[: draw(st.integers(2, 7))]
    rows = draw(st.lists(st.sets(st.sampled_from(names)), min_size=1, max_size=12))
    occurring_names = sorted(set().union(*rows))
    if not occurring_names:
        rows, occurring_names = [*rows, {"a", "b"}], ["a", "b"]
    secret = draw(st.sets(st.sampled_from(occurring_names), min_size=1, max_size=3))
    hierarchy = tree([["y", *"abc"], ["z", *"defg"]]) if draw(st.booleans()) else None
    of_few = st.lists(st.integers(0, len(rows) // 2), min_size=len(rows), max_size=len(rows))
    return baskets_of(rows, hierarchy, persons=draw(st.none() | of_few)), frozenset(secret)


SHARES = st.sampled_from(["0", "0.25", "0.3333333333", "0.5", "0.75", "1"])


@given(baskets_and_secrets(), SHARES, st.integers(0, 7), st.sampled_from(MAKERS))
@tries(40)
def test_rho_uncertainty_holds_on_the_written_file(tmp_path_factory, drawn, rho, m, maker):
    baskets, secret = drawn
    release = anonymize_baskets(
        baskets, f"rho-uncertainty rho={rho} m={m} sensitive={','.join(secret)}", maker, None, ALL
    )
    rows = written(release, tmp_path_factory.getbasetemp() / "rho.csv")
    assert rho_holds(rows, secret, Fraction(rho) + Fraction(1, 10**9), m)
    assert alone(release, secret) and is_honest(release)


@given(baskets_and_secrets(), SHARES, st.integers(1, 4), st.integers(1, 3), st.sampled_from(MAKERS))
@tries(40)
def test_coherence_holds_on_the_written_file(tmp_path_factory, drawn, h, k, p, maker):
    baskets, secret = drawn
    release = anonymize_baskets(
        baskets, f"hkp-coherence h={h} k={k} p={p} private={','.join(secret)}", maker, None, ALL
    )
    rows = written(release, tmp_path_factory.getbasetemp() / "hkp.csv")
    assert coherent(rows, secret, Fraction(h) + Fraction(1, 10**9), k, p)
    assert alone(release, secret) and is_honest(release)


@given(baskets_and_secrets(), SHARES, st.integers(1, 4), st.sampled_from(MAKERS), st.data())
@tries(40)
def test_rules_hold_on_the_written_file(tmp_path_factory, drawn, c, k, maker, data):
    baskets, secret = drawn
    public = sorted(set(baskets.items) - secret)
    sides = st.tuples(
        st.frozensets(st.sampled_from(public), max_size=3) if public else st.just(frozenset()),
        st.frozensets(st.sampled_from(sorted(secret)), min_size=1, max_size=2),
    )
    rules = data.draw(st.lists(sides, min_size=1, max_size=4))
    file = tmp_path_factory.getbasetemp() / "rules.txt"
    file.write_text("# known -> not to be inferred\n" + "".join(f"{' '.join(i)} -> {' '.join(j)}\n" for i, j in rules))
    release = anonymize_baskets(baskets, f'ps-rules k={k} c={c} file="{file}"', maker, None, ALL)
    rows = written(release, tmp_path_factory.getbasetemp() / "rules.csv")
    assert rules_hold(rows, rules, k, Fraction(c) + Fraction(1, 10**9), stands(release))
    assert alone(release, frozenset().union(*(j for _, j in rules))) and is_honest(release)


@st.composite
def any_release(draw):
    baskets, secret = draw(baskets_and_secrets())
    keys = draw(st.lists(st.integers(-1, 4), min_size=len(baskets.items), max_size=len(baskets.items)))
    return global_release(baskets, set_recoding(baskets.items, np.array(keys))), secret


@given(any_release(), SHARES, st.integers(1, 3), st.integers(1, 3), st.sampled_from(["rho", "hkp"]))
@tries(60)
def test_proof_and_audit_say_of_any_release_what_the_definition_says(tmp_path_factory, drawn, share, k, m, kind):
    release, secret = drawn
    named = ",".join(secret)
    path = tmp_path_factory.getbasetemp() / "any.csv"
    rows = written(release, path)
    shown = frozenset(stands(release)[item] for item in secret if item in stands(release))
    bound = Fraction(share) + Fraction(1, 10**9)
    if kind == "rho":
        wanted, holds = f"rho-uncertainty rho={share} m={m} sensitive={named}", rho_holds(rows, shown, bound, m)
    else:
        wanted = f"hkp-coherence h={share} k={k} p={m} private={named}"
        holds = coherent(rows, shown, bound, k, m)
    holds = holds and alone(release, secret)
    assert (not violations(release, basket_requirement(wanted))) == holds
    if release.recoding.labels:
        assert audit_baskets(path, wanted, release.baskets).holds == holds


@given(any_release(), SHARES, st.integers(1, 3), st.data())
@tries(40)
def test_proof_and_audit_agree_about_rules(tmp_path_factory, drawn, c, k, data):
    release, secret = drawn
    public = sorted(set(release.baskets.items) - secret)
    known = data.draw(st.frozensets(st.sampled_from(public), max_size=3)) if public else frozenset()
    file, path = tmp_path_factory.getbasetemp() / "rule.txt", tmp_path_factory.getbasetemp() / "rule.csv"
    file.write_text(f"{','.join(known)} -> {','.join(secret)}\n")
    rows = written(release, path)
    bound = Fraction(c) + Fraction(1, 10**9)
    holds = rules_hold(rows, [(known, secret)], k, bound, stands(release)) and alone(release, secret)
    wanted = f'ps-rules k={k} c={c} file="{file}"'
    assert (not violations(release, basket_requirement(wanted))) == holds
    if release.recoding.labels:
        assert audit_baskets(path, wanted, release.baskets).holds == holds


# -- by hand ---------------------------------------------------------------------------------------------------

ROWS = [{"a", "s"}, {"a", "s"}, {"a", "b"}, {"b", "c"}, {"c", "d"}, {"d"}, {"a", "d", "s"}, {"c"}]


def test_an_item_behind_many_rules_is_left_out_first():
    """`a` shows s in 3 of 4 records, `d` in 1 of 3: for rho = 1/2 it is enough to leave out a or s, and s is rarer."""
    release = anonymize_baskets(
        baskets_of(ROWS), "rho-uncertainty rho=0.5 m=1 sensitive=s", "suppress-control", None, ALL
    )
    assert release.recoding.labels == ("a", "b", "c", "d")


def test_private_items_are_kept_for_coherence():
    release = anonymize_baskets(
        baskets_of(ROWS), "hkp-coherence h=0.5 k=2 p=1 private=s", "suppress-control", None, ALL
    )
    assert "s" in release.recoding.labels and "a" not in release.recoding.labels


def test_generalizing_keeps_what_suppressing_would_leave_out():
    """Of who has a, all have s; of who has a or b, half do: together they may be published."""
    rows = [{"a", "s"}, {"b"}, {"c"}, {"c"}]
    own = baskets_of(rows, tree([["ab", "a", "b"], ["cs", "c", "s"]]))
    release = anonymize_baskets(own, "rho-uncertainty rho=0.5 m=1 sensitive=s")
    assert (
        release.recoding.labels == ("{a, b}", "c", "s")
        and usual_maker(basket_requirement("k-anonymity k=2"), True) != "td-control"
    )
    assert anonymize_baskets(
        own, "rho-uncertainty rho=0.5 m=1 sensitive=s", "suppress-control", None, ALL
    ).unpublished.size


@pytest.mark.parametrize("text", ["rho-uncertainty rho=0.5 m=1 sensitive=s", "hkp-coherence h=0.5 k=2 p=1 private=s"])
def test_a_share_of_persons_counts_a_person_once(text, tmp_path):
    """Of the records with a three of four show s, all of them Ann's; of the persons one of two has s."""
    sets = [{"a", "s"}, {"a", "b", "s"}, {"a", "c", "s"}, {"a"}, {"b"}, {"c"}]
    for persons, holds in ((["Ann"] * 3 + ["Ben"] * 3, True), (None, False)):
        own = baskets_of(sets, persons=persons)
        release = global_release(own, set_recoding(own.items, np.arange(4)))
        written(release, tmp_path / "out.csv")
        assert (not violations(release, basket_requirement(text))) == holds
        assert audit_baskets(tmp_path / "out.csv", text, own).holds == holds


def test_who_knows_nothing_counts():
    own = baskets_of([{"s"}, {"s"}, {"a"}])
    release = global_release(own, set_recoding(own.items, np.arange(2)))
    assert [
        weak.parts for weak in violations(release, basket_requirement("rho-uncertainty rho=0.5 m=0 sensitive=s"))
    ] == [("-> s",)]
    with pytest.raises(AssertionError, match="-> s"):
        verify(release, basket_requirement("hkp-coherence h=0.5 k=1 p=1 private=s"))


def test_sensitive_items_by_nodes_and_files(tmp_path):
    own = baskets_of(ROWS, tree([["letters", "a", "b", "c"], ["rest", "d", "s"]]))
    file = tmp_path / "secret.txt"
    file.write_text("# what nobody should learn\nrest\na\n")
    assert basket_requirement(f'rho-uncertainty rho=0 m=1 file="{file}"').sensitive_items(own) == (0, 3, 4)
    assert basket_requirement("hkp-coherence h=0 k=1 p=1 private=letters").sensitive_items(own) == (0, 1, 2)
    with pytest.raises(BadInputError, match="'nowhere' is in no basket"):
        basket_requirement("rho-uncertainty rho=0 m=1 sensitive=nowhere").sensitive_items(own)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b s", "write for example a b -> s"),
        ("a ->", "write for example a b -> s"),
        ("a -> s\ns -> b", "an item is public or sensitive"),
        ("a -> nowhere", "'nowhere' is in no basket"),
    ],
)
def test_bad_rules_are_named_by_line(tmp_path, text, message):
    file = tmp_path / "rules.txt"
    file.write_text(text)
    with pytest.raises(BadInputError, match=message):
        anonymize_baskets(baskets_of(ROWS), f'ps-rules k=2 c=0.5 file="{file}"', "td-control", None, ALL)


def test_requests_that_cannot_be_met_say_what_can():
    own = baskets_of(ROWS)
    with pytest.raises(InfeasibleError, match="suppression share="):
        anonymize_baskets(own, "rho-uncertainty rho=0 m=1 sensitive=s", "suppress-control")
    with pytest.raises(BadInputError, match="choose td-control or suppress-control"):
        anonymize_baskets(own, "rho-uncertainty rho=0 m=1 sensitive=s", "coat")
    with pytest.raises(BadInputError, match="needs the items it protects"):
        basket_requirement("hkp-coherence h=0.5 k=5 p=2")
    with pytest.raises(BadInputError, match="not rho-uncertainty"):
        anonymize_baskets(own, "rho-uncertainty rho=0 m=1 sensitive=s", "aa")


def test_utility_constraints_are_kept(tmp_path):
    file = tmp_path / "groups.txt"
    file.write_text("a d\nb c\n")
    release = anonymize_baskets(
        baskets_of(ROWS),
        "hkp-coherence h=0.5 k=4 p=1 private=s",
        "td-control",
        f'utility-constraints file="{file}"',
        ALL,
    )
    for members in release.recoding.members:
        assert len({{0: 0, 3: 0, 1: 1, 2: 1, 4: 2}[item] for item in members}) == 1
    assert published(release)


@given(data=st.data(), attribute=sensitives(), one=single_requirements())
@tries(300)
def test_a_promise_about_every_group_is_one_about_every_mixture_of_them(data, attribute, one):
    groups = data.draw(st.lists(group_counts(attribute.size), min_size=2, max_size=4))
    weights = data.draw(st.lists(st.integers(0, 9), min_size=len(groups), max_size=len(groups)).filter(any))
    mixture = [
        sum(weight * count for weight, count in zip(weights, counts, strict=True))
        for counts in zip(*groups, strict=True)
    ]
    *every, mixed = one.admits(one_histogram(attribute, *groups, mixture)).tolist()
    assert mixed or not all(every) or not one.monotone


def test_a_mixture_can_break_what_ignores_absent_values():
    """q is half of the table: .5 of one group, none of the other, and .05 of a mixture of one part in ten."""
    one = DeltaDisclosure(1.0, "ignore")
    assert not one.monotone
    assert one.admits(one_histogram(flat_sensitive([10, 10]), [1, 1], [2, 0], [19, 1])).tolist() == [True, True, False]


AGES = (1, 2, 3, 4, 5)
BOXES = {"A": (1, 2), "B": (1, 3), "C": (3, 4), "D": (4, 5), "E": (4, 5)}
"""Five people and their five records, each published with a range of ages that covers its own person."""


def fits(age: int, record: str) -> bool:
    low, high = BOXES[record]
    return low <= age <= high


def test_two_candidates_on_both_sides_do_not_keep_anybody_from_being_found():
    assert all(sum(fits(age, record) for record in BOXES) >= 2 for age in AGES)
    assert all(sum(fits(age, record) for age in AGES) >= 2 for record in BOXES)
    matched = [
        dict(zip(AGES, order, strict=True))
        for order in permutations(BOXES)
        if all(fits(age, record) for age, record in zip(AGES, order, strict=True))
    ]
    possible = {age: {own[age] for own in matched} for age in AGES}
    assert possible == {1: {"A", "B"}, 2: {"A", "B"}, 3: {"C"}, 4: {"D", "E"}, 5: {"D", "E"}}


def test_the_audit_of_such_a_file_sees_the_groups_that_are_too_small(tmp_path):
    path = tmp_path / "overlapping.csv"
    rows = [f"{low}-{high},{record}" for record, (low, high) in BOXES.items()]
    path.write_text("\n".join(["age,illness", *rows]) + "\n")
    found = sfumato.audit(path, ["age"], ["illness"], require="k-anonymity k=2")
    assert found["k"] == 1 and not found.holds


SOME = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
ITEMS = "abcde"
SLACK = Fraction(1, 10**9)
files = st.lists(st.frozensets(st.sampled_from([*ITEMS, "{a, b}", "{c, d}"]), max_size=4), min_size=1, max_size=10)


def lines(path: Path, rows: list[frozenset[str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(sorted(row) or [""] for row in rows)
    return path


@SOME
@given(
    rows=files,
    secret=st.sets(st.sampled_from(ITEMS), min_size=1, max_size=2),
    share=st.sampled_from(["0", "0.25", "0.5", "0.6666666667", "1"]),
    k=st.integers(1, 3),
    m=st.integers(1, 4),
)
def test_inference_is_judged_as_the_definitions_say(tmp_path: Path, rows, secret, share, k, m) -> None:
    path = lines(tmp_path / "published.csv", rows)
    assert plain.read_lines(path) == rows
    original = baskets_of([set(ITEMS)])
    stands, bound = plain.reading(rows, ITEMS), Fraction(share) + SLACK
    alone, named = plain.sensitive_alone(stands, secret), ",".join(sorted(secret))
    rho = audit_baskets(path, f"rho-uncertainty rho={share} m={m} sensitive={named}", original)
    assert (not rho.failures) == (alone and plain.rho_uncertain(rows, secret, bound, m))
    coherence = audit_baskets(path, f"hkp-coherence h={share} k={k} p={m} private={named}", original)
    assert (not coherence.failures) == (alone and plain.coherent(rows, secret, bound, k, m))
    known = sorted(set(ITEMS) - secret)[:2]
    rules = tmp_path / "rules.txt"
    rules.write_text(f"{' '.join(known)} -> {' '.join(sorted(secret))}\n")
    listed = audit_baskets(path, f'ps-rules k={k} c={share} file="{rules}"', original)
    assert (not listed.failures) == (alone and plain.rules_hold(rows, [(known, sorted(secret))], k, bound, stands))


@SOME
@given(
    people=st.lists(st.frozensets(st.sampled_from(ITEMS)), min_size=1, max_size=8).filter(any),
    keys=st.lists(st.integers(-1, 3), min_size=5, max_size=5),
    studies=st.lists(st.frozensets(st.sampled_from(ITEMS), min_size=1, max_size=3), min_size=1, max_size=4),
)
def test_studies_are_supported_as_the_written_file_shows(tmp_path: Path, people, keys, studies) -> None:
    baskets = baskets_of(people)
    release = global_release(baskets, set_recoding(baskets.items, np.array(keys[: len(baskets.items)])))
    path = tmp_path / "published.csv"
    write_items(release, path, force=True)
    rows = plain.read_lines(path)
    stands = plain.reading(rows, baskets.items)
    supported = sum(ItemStudy(str(number), study).supported(release) for number, study in enumerate(studies))
    assert supported == plain.supported_studies(stands, people, rows, studies, told="together")
