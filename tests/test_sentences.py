"""Measures as sentences: true for every value, bounds rounded to the worse side; headlines and their scale."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from math import inf, log

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from points import point_of
from sfumato import MEASURES, Grid, Map, Study, anonymizer, flat, measure, read, requirement
from sfumato.report.answer_summary import choice_lines
from sfumato.report.map_summary import map_lines
from sfumato.report.measure_sentences import Subject, at_most, beside, one_in, sentence, sentences, times
from sfumato.report.point_summary import (
    headlines,
    plain_axes,
    plain_intervals,
    plain_meaning,
    plain_names,
    plain_values,
    whole_percent,
)
from sfumato.texts.catalogue import texts
from sfumato.tradeoff.question.knee import place
from sfumato.tradeoff.study.study import read_study as bundled_baskets
from strategies import tries

pytestmark = pytest.mark.quick
ILLNESS = Subject(("illness",), "income", 1000, 0.05, "any two items of", 5)
SUBJECTS = [Subject(), ILLNESS, Subject(("illness", "debt"), records=0)]
GUESSED = ("a_acc", "attack_accuracy", "definetti_accuracy")


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_has_a_sentence_for_every_value(name):
    measure_ = MEASURES[name]
    assert (f"measure.{name}.usual" in texts()) != (name in GUESSED)
    ends = [value for value in (measure_.least, 0.0, 1.0, measure_.most) if measure_.least <= value <= measure_.most]
    inside = [measure_.least + 3.25, 7.5] if measure_.most == inf else [0.31 * measure_.most, 0.62 * measure_.most]
    tiny = [] if measure_.most == inf else [1e-7]
    for subject in SUBJECTS:
        for text in [sentence(name, value, subject) for value in (*ends, *inside, *tiny)]:
            assert text[0] == text[0].upper() and text.endswith(".") and not re.search(r"[{}]|nan|\de[+-]\d", text), (
                text
            )
        assert len({sentence(name, value, subject) for value in inside}) == 2, "the value is not in it"
    column = {"illness", "income", "item", "record", "quasi", "people", "group", "person", "sets"}
    assert any(word in sentence(name, inside[0], ILLNESS) for word in column)
    if measure_.needs_sensitive and "illness" not in sentence(name, inside[0], ILLNESS):
        assert name in ("query_error", "query_error_em", "query_error_median", "kl")


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_how_often_is_near_and_never_or_always_only_where_it_is_so(some, of):
    share = Fraction(min(some, of), of)
    text = times(float(share))
    assert (text == "never") == (share == 0) and (text == "always") == (share == 1)
    if found := re.fullmatch(r"(once|[\d,]+ times) in ([\d,]+)", text):
        many = 1 if found[1] == "once" else int(found[1].split(" ")[0].replace(",", ""))
        told = Fraction(many, int(found[2].replace(",", "")))
        assert abs(told - share) <= Fraction(51, 1000) * min(share, 1 - share)


@given(st.integers(1, 10**5), st.floats(0, 1))
def test_what_bounds_a_risk_is_never_rounded_to_the_better_side(k, share):
    assert one_in(1 / k) == ("for certain" if k == 1 else f"at most 1 time in {k:,}")
    assert Fraction(at_most(share).removesuffix(" %")) / 100 >= Fraction(share) - Fraction(1, 10**8)
    least = 1 + share
    said = re.search(r"worst group ([\d.]+) %", sentence("l_frequency", least, ILLNESS))
    assert said is None or Fraction(said[1]) / 100 >= 1 / Fraction(least) - Fraction(1, 10**8)


@given(st.floats(0, 1), st.floats(0.01, 1))
def test_a_guess_reads_as_better_than_none_only_where_it_is(share, other):
    text = beside(share, other)
    if share <= other:
        assert text.endswith("no more often than without the data")
    elif "hardly" not in text:
        first, second = re.fullmatch(r"(.+), (.+) without the data", text).groups()
        assert first.split(" ")[0] != second.split(" ")[0]


@pytest.fixture(scope="module")
def clinic():
    """Eight people in two towns: of four in a, three have flu; of four in b, two have gout and two flu."""
    rows = {"town": list("aaaabbbb"), "illness": ["flu", "flu", "flu", "cold", "gout", "gout", "flu", "flu"]}
    return read(pa.table(rows), quasi=["town"], sensitive=["illness"], hierarchies={"town": flat(["a", "b"])}), rows


def test_sentences_of_a_table_are_what_counting_its_rows_says(clinic):
    table, rows = clinic
    release = anonymizer("original").anonymize(table, requirement("k-anonymity k=1"), "generalization", 0.0)
    said = sentences(measure(release).values, Subject(("illness",), records=8))
    groups = defaultdict(Counter)
    for town, illness in zip(rows["town"], rows["illness"], strict=True):
        groups[town][illness] += 1
    whole = Counter(rows["illness"])
    sizes = [sum(group.values()) for group in groups.values()]
    assert said["k"] == f"Every record shares its quasi-identifiers with {min(sizes) - 1} other records or more."
    assert said["prosecutor"] == f"The record that is easiest to find is found at most 1 time in {min(sizes)}."
    most = max(Fraction(max(group.values()), sum(group.values())) for group in groups.values())
    assert said["l_frequency"] == f"In the worst group {float(100 * most)} % of the records have the same illness."
    right = Fraction(sum(max(group.values()) for group in groups.values()), 8) - Fraction(max(whole.values()), 8)
    assert right == 0
    assert said["a_acc"].endswith("is right as often as without the quasi-identifiers.")
    apart = [
        sum(abs(Fraction(g[v], sum(g.values())) - Fraction(whole[v], 8)) for v in whole) / 2 for g in groups.values()
    ]
    assert said["t_equal"].startswith(
        f"In the group that stands out most, {float(100 * max(apart)):.1f} % of the records"
    )
    assert said["delta"].startswith("Some illness is absent from a group")
    ratio = max(Fraction(g[v], sum(g.values())) / Fraction(whole[v], 8) for g in groups.values() for v in whole)
    assert said["beta"] == f"Some illness is {ratio} times as common in a group as in the table."
    assert said["discernibility"].startswith("The average record is in a group of 4, ")
    dealt = anonymizer("mondrian").anonymize(table, requirement("k-anonymity k=3"), "bucketization", 0.0)
    told = sentences(measure(dealt).values, Subject(("illness",), records=8)).values()
    assert not any("look the same" in sentence for sentence in told), "exact values do not, in whatever bucket"
    assert said["suppressed"] == "No record is suppressed." and said["loss"].startswith("Nothing")


# -- headlines and places


STUDY = Study(
    "any", sfumato.TableDeclaration("adult"), (Grid((anonymizer("mondrian"),), (requirement("k-anonymity k=1"),)),)
)
LINKED = {"a": {"record_linkage": 0.52}, "b": {}}
ABOUT = {"records": 1000, "quasi": ["age"], "sensitive": ["illness"]}


def made(id, maker="mondrian", form="generalization", changes=None, **measures):
    values = {"attack_accuracy": 0.26, "empirical_breach": 1.0, **measures}
    asked = "k-anonymity k=1" if maker.startswith(("dp-", "pram", "micro")) else "k-anonymity k=2"
    return point_of(id, maker, form, asked, {}, "measured", None, values, changes=changes or {})


def mapped(*points, about=ABOUT, study=STUDY):
    return Map(study, points, about)


ENDS = (
    made("t", "without-quasi", p_loss=0.0, u_loss=0.0483, prosecutor=0.001, k=1000, a_acc=0.0, loss=1.0),
    made("o", "original", p_loss=0.69, u_loss=0.0, prosecutor=1.0, k=1, a_acc=0.4, loss=0.0),
)


def test_the_scale_runs_from_publishing_nothing_to_the_original():
    point = made("r", p_loss=0.2, u_loss=0.0098, prosecutor=0.05, k=20, a_acc=0.18, query_error=0.2, delta=inf)
    map_ = mapped(point, *ENDS)
    assert place(map_, "u_loss", point).share == pytest.approx(1 - 0.0098 / 0.0483)
    assert place(map_, "k", point).share == pytest.approx((1 / 20 - 1 / 1000) / (1 - 1 / 1000))
    assert place(map_, "p_loss", point).share == pytest.approx(0.2 / 0.69)
    assert [place(map_, "u_loss", end).share for end in ENDS] == [0, 1]
    found, learned, useful = headlines(map_, point)
    assert useful.said.startswith("80 % of the achievable usefulness is kept. ") and useful.measures == ("u_loss",)
    assert (found.said, found.share) == ("The record that is easiest to find is found at most 1 time in 20.", 0.05)
    assert learned.said.endswith("its illness is right 31 times in 100, 13 without the data.")
    assert learned.measures == ("a_acc",) and learned.share == pytest.approx(0.13 + 0.18)


@pytest.mark.parametrize(
    ("name", "changed", "reason"),
    [
        ("u_loss", {}, "not known of the trivial release"),
        ("query_error", {"t": 0.5}, "not known of the original"),
        ("query_error", {"t": 0.5, "o": 0.5}, "no more useful than publishing nothing"),
        ("p_loss", {"t": 0.5, "o": 0.2}, "no riskier than publishing nothing"),
        ("delta", {"t": 0.0, "o": inf}, "infinite"),
        ("l_distinct", {"t": 3, "o": 1}, "not measured of this release"),
    ],
)
def test_there_is_no_place_without_two_different_ends_and_it_is_said_why(name, changed, reason):
    point = made("r", u_loss=0.1, query_error=0.2, p_loss=0.3, delta=1.0)
    makers = {"t": "without-quasi", "o": "original"}
    ends = [made(id, makers[id], **{name: value}) for id, value in changed.items()]
    where = place(mapped(point, *ends), name, point)
    assert where.share is None and reason in where.reason


def test_headlines_of_noise_of_exact_values_and_of_nothing_sensitive():
    noisy = made("n", "dp-kd-tree epsilon=1 height=3", u_loss=0.06)
    exact = made("b", form="bucketization", prosecutor=1.0, k=1, a_acc=0.0, u_loss=0.01)
    map_ = mapped(noisy, exact, *ENDS)
    found, learned, useful = headlines(map_, noisy)
    assert "noisy counts" in found.said and found.share is None and "finds" not in found.said
    assert learned.said.endswith("is right 26 times in 100, 13 without the data.")
    assert useful.said.startswith("It is less useful than publishing nothing.") and useful.share < 0
    assert headlines(map_, exact)[0].said == "The record that is easiest to find is found for certain."
    bare = point_of("q", "mondrian", "generalization", "k-anonymity k=2", {}, "measured", None, {"prosecutor": 0.5})
    _, learned, useful = headlines(mapped(bare, about={"records": 9, "sensitive": []}), bare)
    assert learned.said.startswith("No column was declared sensitive") and useful.said == "Not measured."
    _, learned, _ = headlines(mapped(bare), bare)
    assert learned.said == "No illness is published, so nothing of it can be learned here."


def test_where_values_were_changed_people_are_found_by_record_linkage_and_not_by_k():
    changed = [made(id, "pram keep=0.8", prosecutor=1.0, k=1, **linked) for id, linked in LINKED.items()]
    averaged = made("m", "microaggregation k=5", prosecutor=0.2, k=5)
    map_ = mapped(*changed, averaged, *ENDS)
    assert [headlines(map_, point)[0].share for point in (*changed, averaged)] == [0.52, None, 0.2]
    assert headlines(map_, changed[0])[0].measures == ("record_linkage",)
    assert "does not show how easily" in headlines(map_, changed[1])[0].said


def test_why_candidates_failed_is_said_once_with_all_of_them():
    reason = "the domain was taken from the records"
    failed = [point_of(id, "mondrian", "generalization", "k-anonymity k=2", {}, "failed", reason, {}) for id in "ab"]
    lines = "\n".join(map_lines(mapped(*failed, *ENDS), None))
    assert lines.count(reason) == 1 and f"mondrian failed: {reason}" in lines


def test_the_guess_that_is_told_is_the_best_of_all_and_compares_published_people_only_with_all():
    point = made("r", a_acc=0.02, definetti_accuracy=0.4, suppressed=0)
    left_out = made("s", a_acc=0.02, definetti_accuracy=0.4, suppressed=3)
    map_ = mapped(point, left_out)
    assert headlines(map_, point)[1].said.endswith("right 40 times in 100, 13 without the data.")
    assert headlines(map_, left_out)[1].said.endswith("right 40 times in 100.")
    several = mapped(point, about=ABOUT | {"sensitive": ["illness", "debt"]})
    said = headlines(several, point)[1].said
    assert "illness or debt" in said and "without the data" not in said


def test_a_map_opens_on_what_its_study_is_about_and_on_formulas_where_that_is_not_known():
    point = made("r", p_loss=0.2, u_loss=0.0098, prosecutor=0.05, k=20, loss=0.3, a_acc=0.1)
    assert plain_axes(mapped(point, *ENDS)) == ("guessed", "kept")
    by_k = Study("by k", STUDY.table, STUDY.grids, axes=("k", "loss"))
    assert plain_axes(mapped(point, *ENDS, study=by_k)) == ("found", "kept")
    assert plain_values(mapped(point, *ENDS, study=by_k), point)["kept"] == pytest.approx(0.7)
    assert plain_axes(mapped(point)) is None
    near, far = (made(name, p_loss=0.2, u_loss=0.0098, prosecutor=risk, a_acc=0.12) for name, risk in MARKS)
    assert plain_axes(mapped(point, near, *ENDS)) == ("guessed", "kept")
    assert plain_axes(mapped(point, far, *ENDS)) == ("found", "kept")  # a guess tells these releases hardly apart


MARKS = (("near", 0.1), ("far", 0.5))


def test_a_map_of_attacked_releases_opens_on_the_worst_attack():
    """By what is guessed a swapped table looks safest, for its attacker is misled; by the worst attack it is not."""
    known = {"u_loss": 0.0098, "prosecutor": 0.05, "k": 20}
    swapped = made("s", "rank-swapping", **known | {"attack_accuracy": 0.1, "empirical_breach": -0.2})
    grouped = made("g", **known | {"attack_accuracy": 0.3, "empirical_breach": 1.4})
    map_ = mapped(swapped, grouped, *ENDS)
    assert plain_axes(map_) == ("guessed", "kept") and "attacked" not in plain_names(map_)
    assert plain_values(map_, swapped)["guessed"] == pytest.approx(0.1 / 0.8)  # what is right without the file
    meaning = plain_meaning(map_, "guessed", "illness")
    assert "who is misled by a file guesses without it" in meaning and "no attack was tried" in meaning
    assert "no attack was tried" not in plain_meaning(mapped(grouped, *ENDS), "guessed", "illness")
    attacked = [
        replace(point, measures={**point.measures, "attack_worst": worst})
        for point, worst in ((swapped, 0.5), (grouped, 0.04))
    ]
    map_ = mapped(*attacked, *ENDS)
    assert plain_axes(map_) == ("attacked", "kept") and "attacked" in plain_names(map_)
    assert [plain_values(map_, point)["attacked"] for point in attacked] == [0.5, 0.04]
    assert "no attack was tried" not in plain_meaning(map_, "guessed", "illness")


def test_draws_lie_between_shares_too():
    point = made("n", "dp-kd-tree epsilon=1 height=3", u_loss=0.02)
    drawn = point_of(
        *("n", point.anonymizer, "generalization", "k-anonymity k=1", {}, "measured", None, point.measures),
        intervals={
            "u_loss": (0.01, 0.03),
            "attack_accuracy": (0.2, 0.4),
            "empirical_breach": (0.2 / 0.13 - 1, 0.4 / 0.13 - 1),
        },
    )
    spread = plain_intervals(mapped(drawn, *ENDS), drawn)
    assert spread["kept"] == pytest.approx((1 - 0.03 / 0.0483, 1 - 0.01 / 0.0483))
    assert spread["guessed"] == pytest.approx((0.2, 0.4)) and "found" not in spread


def test_the_terminal_says_the_headlines_first_with_formulas_in_brackets():
    point = made(
        "r", p_loss=0.2, u_loss=0.0098, prosecutor=0.05, k=20, a_acc=0.1, suppressed=13, changes={"age": "by decade"}
    )
    map_ = mapped(point, *ENDS)
    lines = "\n".join(choice_lines(map_.choose(by="knee"), map_, "publish it"))
    order = [lines.index(text) for text in ("Who can be found", "What can be learned", "How useful it is", "p_loss  ")]
    assert order == sorted(order) and "[prosecutor 0.05]" in lines and "[u_loss 0.0098]" in lines
    assert "What was done: age by decade; 1.3 % of the records left out." in lines
    table = "\n".join(map_lines(map_, None))
    assert re.search(r"r +5 % +26 % +80 % \[ +0\.2000 +0\.0098\]", table)


@tries(200)
@given(st.floats(0, 1.5))
def test_whole_percent_reads_as_none_or_all_only_where_it_is(share):
    text = whole_percent(share)
    if not text.startswith(("less", "more")):
        assert (text in ("0 %", "0.0 %")) == (share < 1e-9) and abs(float(text.split(" ")[0]) / 100 - share) <= 0.0051
        assert text != "100 %" or abs(share - 1) < 1e-9


def test_baskets_speak_of_items():
    study = bundled_baskets("online-retail")
    said = sentence("itemset_risk", 0.2, Subject.of(Map(study, ())))
    assert said == "An attacker who knows any two items of a person finds the record at most 1 time in 5."
    errors = [sentence(*each, Subject()) for each in (("query_utility", 4.0), ("bounded_utility", 0.8), ("are", 0.25))]
    assert set(errors) == {"Counts of records with some items are off by 25 %, on average."}
    assert sentence("query_utility", inf, Subject()).endswith("are exact.")
    assert sentence("p_loss", log(2), ILLNESS).startswith("100.0 % of the maximum")
