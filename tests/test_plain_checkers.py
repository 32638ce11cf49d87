"""The plain checkers of patients and of inference, on tables small enough to work out by hand."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import plain_inference as inference
import plain_patients as plain

ROWS = [frozenset(text) for text in ("ab", "abs", "as", "b", "bt")]
"""a in 3, b in 4, ab in 2; s in 2, t in 1."""


def test_rho_is_the_largest_confidence_of_a_sensitive_item() -> None:
    assert inference.rho(ROWS, "st", most=0) == Fraction(2, 5)  # s in 2 of 5
    assert inference.rho(ROWS, "st", most=1) == Fraction(2, 3)  # a -> s
    assert inference.rho(ROWS, "st", most=2) == Fraction(2, 3)  # ab -> s is 1 of 2
    assert inference.rho(ROWS, "t", most=1) == Fraction(1, 4)
    assert inference.rho([*ROWS, frozenset("st")], "st", most=1) == Fraction(2, 3)
    assert inference.rho([frozenset("st"), frozenset("a")], "st", most=1) == 1  # who knows s is sure of t
    assert inference.rho([frozenset("st"), frozenset("a")], "st", most=1, known="public") == Fraction(1, 2)
    assert inference.rho_uncertain(ROWS, "st", Fraction(2, 3))
    assert not inference.rho_uncertain(ROWS, "st", Fraction(65, 100))


def test_coherence_counts_records_and_shares() -> None:
    assert inference.coherent(ROWS, "st", Fraction(2, 3), k=2, p=2)
    assert not inference.coherent(ROWS, "st", Fraction(2, 3), k=3, p=2)  # ab is in two
    assert inference.coherent(ROWS, "st", Fraction(2, 3), k=3, p=1)
    assert not inference.coherent(ROWS, "st", Fraction(1, 2), k=2, p=1)  # a -> s
    assert not inference.coherent([frozenset("s")], "s", Fraction(1, 2), k=1, p=1)  # of all records too


def test_rules_are_counted_through_what_a_text_stands_for() -> None:
    rows = [frozenset(["{a, c}", "b"]), frozenset(["{a, c}", "s"]), frozenset(["b"])]
    stands = inference.reading(rows, ["a", "b", "c", "s", "x"])
    assert stands["{a, c}"] == frozenset("ac")
    assert inference.rules_hold(rows, [("a", "s")], 2, Fraction(1, 2), stands)
    assert not inference.rules_hold(rows, [("a", "s")], 3, Fraction(1, 2), stands)
    assert not inference.rules_hold(rows, [("a", "s")], 2, Fraction(49, 100), stands)
    assert not inference.rules_hold(rows, [("ab", "s")], 2, Fraction(1), stands)  # one record has both
    assert inference.rules_hold(rows, [("ax", "s")], 2, Fraction(1, 2), stands)  # x is published nowhere
    assert inference.rules_hold(rows, [("a", "x")], 2, Fraction(0), stands)
    assert inference.sensitive_alone(stands, "s") and not inference.sensitive_alone(stands, "a")


def test_an_item_that_looks_like_a_set_is_itself() -> None:
    rows = [frozenset(["{a, b}"]), frozenset(['{"x, y", z}'])]
    stands = inference.reading(rows, ["{a, b}", "a", "b", "x, y", "z"])
    assert stands == {"{a, b}": frozenset(["{a, b}"]), '{"x, y", z}': frozenset(["x, y", "z"])}


def test_studies_need_their_items_apart_or_together() -> None:
    original = [frozenset("ab"), frozenset("b"), frozenset("c"), frozenset("de")]
    rows = [frozenset(["{a, b}"]), frozenset(["{a, b}"]), frozenset("c"), frozenset("d")]
    stands = inference.reading(rows, "abcde")
    studies = ["c", "d", "cd", "a", "ab", "e", "z"]
    assert inference.supported_studies(stands, original, rows, studies) == 4  # c, d, cd, and z that nobody has
    assert inference.supported_studies(stands, original, rows, studies, told="together") == 5  # and ab


def test_groups_and_their_sets_bound_who_knows_both(tmp_path: Path) -> None:
    file = tmp_path / "published.csv"
    file.write_text('age,sex,codes\n20-29,f,a;b\n20-29,f,"{a, ""b, c""};b"\n20-29,f,\n30,m,"""x;y"";b"\n30,m,b\n')
    records = plain.read_records(file, ["age", "sex"], "codes")
    assert [row for _, row in records] == [
        {"a", "b"},
        {'{a, "b, c"}', "b"},
        set(),
        {"x;y", "b"},
        {"b"},
    ]
    assert plain.least_group(records) == 2
    assert plain.least_candidates(records, 0) == 2
    assert plain.least_candidates(records, 1) == 1
    assert plain.k_km_holds(records, 1, 9) and not plain.k_km_holds(records, 2, 1)


def test_the_attack_by_both_counts_over_overlapping_texts() -> None:
    original = [(("21",), frozenset("ab")), (("25",), frozenset("b")), (("30",), frozenset("c"))]
    records = [(("20-29",), frozenset(["{a, b}"])), (("25",), frozenset(["b"])), (("*",), frozenset())]
    stands = plain.stands_for(records, "abc", None)
    covering = plain.by_notation([True], [None])
    person = original[0]
    assert plain.candidates(records, person, "", stands, covering) == 2  # 20-29 and *
    assert plain.candidates(records, person, "a", stands, covering) == 1
    assert plain.candidates(records, original[1], "b", stands, covering) == 2
    assert plain.candidates(records, original[2], "c", stands, covering) == 1  # c is published nowhere: * alone is left
    assert plain.attack(records, original, 1, stands, covering) == 1
    assert plain.covered(records, original, stands, covering)
    assert not plain.covered([*records[:2], records[1]], original, stands, covering)  # 25 is one person only


@pytest.mark.parametrize(("estimator", "of_part"), [("half", "1/2"), ("nonempty", "2/3"), ("uniform", "1/2")])
def test_joint_queries_multiply_share_of_box_and_odds_of_part(estimator: str, of_part: str) -> None:
    original = [(("20",), frozenset("a")), (("21",), frozenset("b"))]
    records = [(("20-23",), frozenset(["{a, b}"])), (("20-23",), frozenset(["{a, b}"]))]
    stands = plain.stands_for(records, "ab", None)
    covering, domains = plain.by_notation([True], [None]), [[str(year) for year in range(20, 30)]]
    query = ((frozenset(["20", "25"]),), frozenset("a"))
    answer = plain.estimate(records, query, stands, covering, domains, estimator)
    assert answer == 2 * Fraction(1, 4) * Fraction(of_part)
    error = plain.joint_query_error(records, original, [query], stands, covering, domains, estimator)
    assert error == abs(answer - 1)
