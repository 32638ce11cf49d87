"""The publisher's questions put to a map: against their definition, point by point, and through the command line."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
import sfumato.tradeoff.study.candidate
from command_line import run
from points import point_of
from sfumato import MEASURES, BadInputError, Grid, Map, Question, Study, ask
from sfumato.config.documents import json_text
from sfumato.tradeoff.limit import Limit
from sfumato.tradeoff.question.question import Bound, read_question
from strategies import tries

ANY = Study(
    "any",
    sfumato.TableDeclaration("adult"),
    (Grid((sfumato.anonymizer("mondrian"),), (sfumato.requirement("k-anonymity k=1"),)),),
)
NAMES = ("k", "l_frequency", "loss", "suppression_loss", "u_loss")


def make_point(id, k, l, generalized, suppressed, require="k-anonymity k=2", **kind):
    measures = {
        "k": k,
        "l_frequency": l,
        "loss": generalized + suppressed,
        "generalization_loss": generalized,
        "suppression_loss": suppressed,
        "u_loss": 0.5 / (1 + k * generalized),
    }
    own = {"anonymizer": "mondrian", "form": "generalization", "status": "measured", "parameters": {}, **kind}
    return point_of(id, own["anonymizer"], own["form"], require, own["parameters"], own["status"], None, measures)


places = st.tuples(
    st.integers(1, 6), st.integers(1, 4), st.integers(0, 8).map(lambda n: n / 10), st.sampled_from([0.0, 0.05, 0.1])
)
KINDS = st.sampled_from(
    [
        {},
        {},
        {"anonymizer": "hilbert"},
        {"anonymizer": "full-domain"},
        {"form": "bucketization"},
        {"anonymizer": "without-sensitive"},
        {"anonymizer": "original"},
        {"status": "infeasible"},
    ]
)
LIMITS = {
    "k": st.integers(1, 6),
    "l_frequency": st.integers(1, 4),
    "loss": st.integers(0, 10).map(lambda n: n / 10),
    "suppression_loss": st.sampled_from([0.0, 0.05, 0.1]),
    "u_loss": st.integers(0, 5).map(lambda n: n / 10),
}


@st.composite
def maps(draw):
    drawn = draw(st.lists(st.tuples(places, KINDS), min_size=1, max_size=10))
    return Map(ANY, tuple(make_point(f"{i:02}", *own, **kind) for i, (own, kind) in enumerate(drawn)))


@st.composite
def questions(draw):
    asked = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True))
    bounded = draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True))
    natural = {name: "max" if MEASURES[name].better == "lower" else "min" for name in bounded}
    return Question(tuple(asked), tuple(Bound(name, natural[name], draw(LIMITS[name])) for name in bounded))


def worse_or_equal(name, one, other):
    """Whether `one` is at most as good as `other`."""
    return one <= other if MEASURES[name].better == "higher" else one >= other


def plainly_counted(map_, question):
    """The points that count, from the documentation alone."""
    names = {*question.asked, *(bound.measure for bound in question.bounds)}
    counted = []
    for point in map_.points:
        exact = point.form == "bucketization" or point.anonymizer == "without-sensitive"
        if point.status != "measured" or point.anonymizer == "original":
            continue
        if (exact and names & {"k", "loss"}) or (not exact and point.measures["k"] == 1):
            continue
        counted.append(point)
    return counted


def keeps(bound, value):
    """Whether a value is within a bound: 0.2 + 0.1 is within 0.3."""
    return worse_or_equal(bound.measure, bound.value, value) or abs(value - bound.value) <= 1e-9


def plainly_inside(map_, question, bounds=None):
    return [
        point
        for point in plainly_counted(map_, question)
        if all(keeps(bound, point.measures[bound.measure]) for bound in bounds or question.bounds)
    ]


@given(maps(), questions())
@tries(200)
def test_answers_are_what_brute_force_finds(map_, question):
    try:
        reply = ask(map_, question)
    except BadInputError as error:
        assert "no point of this map has the measure" in str(error)
        assert not any(p.status == "measured" for p in map_.points)
        return
    rows = [tuple(p.measures[name] for name in question.asked) for p in plainly_inside(map_, question)]
    beaten = [
        any(
            other != row and all(worse_or_equal(*each) for each in zip(question.asked, row, other, strict=True))
            for other in rows
        )
        for row in rows
    ]
    wanted = {row for row, lost in zip(rows, beaten, strict=True) if not lost}
    assert {tuple(p.measures[name] for name in question.asked) for p in reply.best} == wanted
    assert len(reply.best) == len(wanted) and (reply.answer is None) == (not wanted)
    everybody = plainly_counted(map_, question)
    if reply.dearer is not None:  # outside the first bound, inside the others, and better in something than each best
        assert reply.dearer in everybody and reply.dearer not in plainly_inside(map_, question)
        for best in reply.best:
            assert any(
                not worse_or_equal(name, reply.dearer.measures[name], best.measures[name]) for name in question.asked
            )
    if reply.cheaper is not None and len(reply.best) == 1:
        first = question.bounds[0].measure
        assert reply.cheaper in plainly_inside(map_, question)
        assert not worse_or_equal(first, reply.cheaper.measures[first], reply.best[0].measures[first])
        assert worse_or_equal(
            question.asked[0], reply.cheaper.measures[question.asked[0]], reply.best[0].measures[question.asked[0]]
        )


def first_value(map_, question):
    reply = ask(map_, question)
    return None if reply.answer is None else reply.answer.measures[question.asked[0]]


def never_worse(name, before, after):
    return before is None or (after is not None and worse_or_equal(name, before, after))


@given(maps(), questions(), places, st.data())
@tries(150)
def test_more_freedom_never_gives_a_worse_answer(map_, question, place, data):
    if not any(p.status == "measured" for p in map_.points):
        return
    before, name = first_value(map_, question), question.asked[0]
    more = Map(ANY, (*map_.points, make_point("new", *place)))
    assert never_worse(name, before, first_value(more, question))
    for i, bound in enumerate(question.bounds):
        other = data.draw(LIMITS[bound.measure])
        value = max(bound.value, other) if bound.side == "max" else min(bound.value, other)
        loose = (*question.bounds[:i], Bound(bound.measure, bound.side, value), *question.bounds[i + 1 :])
        assert never_worse(name, before, first_value(map_, Question(question.asked, loose)))
        assert never_worse(name, before, first_value(map_, Question(question.asked, loose[:i] + loose[i + 1 :])))


@given(maps(), questions())
@tries(60)
def test_the_best_of_all_makers_is_the_answer(map_, question):
    if not any(p.status == "measured" for p in map_.points):
        return
    reply = ask(map_, question)
    plain = [p for p in plainly_counted(map_, question) if not p.is_baseline]
    assert {name for name, _ in reply.tried} == {p.anonymizer for p in plain}
    inside = {p.id for p in plainly_inside(map_, question)}
    for name, point in reply.tried:
        own = [p for p in plain if p.anonymizer == name]
        assert point in own and (point.id in inside) == any(p.id in inside for p in own)
    if reply.answer is not None and not reply.answer.is_baseline:
        assert reply.tried[0][1].measures[question.asked[0]] == reply.answer.measures[question.asked[0]]


@given(questions())
@tries(60)
def test_a_question_reads_back_as_it_is_written(question):
    assert read_question(str(question)) == question


def test_the_grammar_has_signs_shares_and_the_direction_of_each_measure():
    question = read_question("k and l_frequency within loss 25%, suppressed <= .05 or loss ≤ 0.3")
    assert question.asked == ("k", "l_frequency")
    assert question.bounds == (Bound("loss", "max", 0.25), Bound("suppression_loss", "max", 0.05))
    assert question.relaxed == (Bound("loss", "max", 0.3),)
    assert read_question("u_loss within k 50 and k <= 90").bounds == (Bound("k", "min", 50), Bound("k", "max", 90))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "a measure is expected at its end"),
        ("within loss 0.2", "a measure is expected, not 'within'"),
        ("k within", "a measure is expected at its end; ask for example"),
        ("k within loss", "the bound on loss must be a number"),
        ("k within loss much", "must be a number, not 'much'"),
        ("k within loss 0.2 0.3", "'0.3' is not expected there"),
        ("k within loss < 0.2", "must be a number, not '<'"),
        ("beauty within loss 0.2", "unknown measure 'beauty'"),
        ("k, k within loss 0.2", "k is asked for twice"),
        ("k within loss 0.2 and loss 0.3", "loss is bounded twice"),
        ("k within loss 25", "write 0.25 or 25% for a quarter"),
        ("k within loss 0.25 or loss 0.2", "must be looser than the bound on loss that it relaxes: which is 0.25"),
        ("k within loss 0.25 or u_loss 0.2", "none is given"),
        ("k by colour", "'by' is not expected there"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(text, says):
    with pytest.raises(BadInputError) as error:
        read_question(text)
    assert says in str(error.value)


def test_measures_of_baskets_are_not_asked_of_a_table():
    map_ = Map(ANY, (make_point("a", 5, 2, 0.1, 0.0),))
    with pytest.raises(BadInputError, match="ncp applies to baskets, but this study is of a table"):
        ask(map_, "ncp within k 2")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("epsilon within loss 0.2", "only differentially private releases have one; --search 60s searches for some"),
        ("k within marginal_error_2 0.1", "ask the study instead of its map"),
        ("attack_worst within k 2", "ask the study instead of its map"),
        ("weighted_k within loss 0.2", "'weighted_k'; it has k, l_frequency"),
    ],
)
def test_where_a_measure_is_to_be_had_that_a_map_lacks_is_said(text, says):
    with pytest.raises(BadInputError) as error:
        ask(Map(ANY, (make_point("a", 5, 2, 0.1, 0.0),)), text)
    assert says in str(error.value)


# ---------------------------------------------------------------- who may be published


def test_nobody_who_is_alone_is_an_answer_whoever_made_it():
    unchanged = make_point("same", 1, 4, 0.0, 0.0, anonymizer="hilbert")
    weighted = make_point("one", 1, 4, 0.1, 0.0, anonymizer="full-domain")
    fine = make_point("fine", 3, 1, 0.2, 0.0)
    map_ = Map(ANY, (unchanged, weighted, fine))
    for text in ("l_frequency within loss 0.2", "loss within k 1", "loss", "u_loss within loss 0.5"):
        reply = map_.ask(text)
        assert reply.answer is fine and {p.id for p in reply.refused} == {"same", "one"}
    assert map_.choose(prefer="loss", min={"k": 1}).point is fine
    nothing = map_.ask("loss within loss 0.1")
    assert nothing.answer is None and len(nothing.refused) == 2


def test_exact_quasi_identifiers_come_with_their_warning_first():
    from sfumato.report.answer_summary import answer_words

    bucket = make_point("bucket", 1, 4, 0.0, 0.0, form="bucketization")
    map_ = Map(ANY, (bucket, make_point("fine", 3, 1, 0.2, 0.0)))
    assert map_.ask("l_frequency within loss 0.3").answer.id == "fine"  # a question about hiding
    reply = map_.ask("l_frequency within u_loss 0.5")
    assert reply.answer is bucket
    assert answer_words(reply).startswith("Before you publish point bucket: it does not hide who is in the table")
    same = Map(ANY, (make_point("same", 4, 2, 0.0, 0.0),)).ask("k")
    assert answer_words(same).startswith("Before you publish point same: it shows every record as it is")


def test_what_a_release_shows_decides_whether_it_is_published():
    """Whatever the map says of its point: the release itself is looked at."""
    from sfumato.publish.cautions import cautions_of
    from sfumato.tradeoff.question.recipients import check_shown

    rows = {"age": [20, 30, 40, 50], "ill": ["a", "b", "a", "b"]}
    one = sfumato.read(pa.table(rows), quasi=["age"], sensitive=["ill"])
    k_1 = sfumato.requirement("k-anonymity k=1")
    for maker in ("mondrian", "original", "full-domain"):
        release = sfumato.anonymizer(maker).anonymize(one, k_1)
        with pytest.raises(BadInputError, match="shows the table as it is: 4 groups of 4 would hold one record"):
            check_shown(release, "x")
    pairs = sfumato.anonymizer("mondrian").anonymize(one, sfumato.requirement("k-anonymity k=2"))
    buckets = sfumato.anonymizer("mondrian").anonymize(one, sfumato.requirement("k-anonymity k=2"), "bucketization")
    without = sfumato.anonymizer("without-sensitive")
    for release in (pairs, buckets, without.anonymize(one, k_1)):
        check_shown(release, "x")
    nothing_sensitive = sfumato.read(pa.table(rows), quasi=["age"])
    with pytest.raises(BadInputError, match="not a release to publish"):
        check_shown(without.anonymize(nothing_sensitive, k_1), "x")
    twice = sfumato.read(
        pa.table({name: values * 2 for name, values in rows.items()}), quasi=["age"], sensitive=["ill"]
    )
    maker = sfumato.anonymizer("mondrian")
    exact = maker.anonymize(twice, sfumato.requirement("k-anonymity k=2"))
    check_shown(exact, "x")
    assert exact.is_exact and not pairs.is_exact and not buckets.is_exact
    assert (
        "nothing was generalized" in cautions_of(exact, sfumato.tradeoff.study.candidate.Candidate(maker, k_1))[0].text
    )


# ---------------------------------------------------------------- how far from the best


def test_the_limit_says_how_far_u_loss_can_be_from_the_best():
    limit = Limit(((0.0, 0.4), (0.1, 0.2), (0.3, 0.0)), 0.4, 0.6)
    point = point_of(
        "a",
        "mondrian",
        "generalization",
        "k-anonymity k=2",
        {},
        "measured",
        None,
        {"k": 2, "p_loss": 0.2, "u_loss": 0.15},
    )
    map_ = Map(ANY, (point,), limit=limit)
    known = map_.ask("u_loss within p_loss 0.2").bound
    assert known.kind == "limit" and known.value == pytest.approx(0.1) and known.gap == pytest.approx(0.05)
    turned = map_.ask("p_loss within u_loss 0.15").bound
    assert turned.value == pytest.approx(0.15) and turned.gap == pytest.approx(0.05)
    assert map_.ask("u_loss within k 2").bound is None


def test_an_exact_lattice_bounds_what_whole_levels_can_have():
    def decided(id, k, loss, suppress=0.0):
        return make_point(
            id, k, 1, loss, 0.0, f"k-anonymity k={k}", anonymizer="full-domain", parameters={"suppress": suppress}
        )

    map_ = Map(ANY, (decided("a", 5, 0.1), decided("b", 10, 0.2), decided("c", 20, 0.3)))
    none = map_.ask("k within loss 0.25 and suppressed 0").bound
    assert none.kind == "lattice" and none.value == 19 and none.gap == 9
    assert map_.ask("k within loss 0.25").bound is None  # with records suppressed there could be more
    freely = Map(ANY, tuple(decided(p.id, p.measures["k"], p.measures["loss"], 0.25) for p in map_.points))
    assert freely.ask("k within loss 0.2").bound.value == 19
    cheapest = freely.ask("loss within k 10 and suppressed 0").bound
    assert cheapest.value == pytest.approx(0.2) and cheapest.gap == 0
    better = Map(ANY, (*map_.points, make_point("h", 90, 1, 0.2, 0.0, anonymizer="hilbert")))
    assert better.ask("k within loss 0.25 and suppressed 0").bound is None  # beyond what whole levels can have


# ---------------------------------------------------------------- the commands


@pytest.fixture
def folder(tmp_path):
    points = [make_point(f"{k:08}", k, 1, k / 100, 0.05 if k > 10 else 0.0) for k in (5, 10, 20, 40)]
    keys = ("id", "anonymizer", "form", "requirement", "parameters", "status", "reason", "measures")
    table = {"digest": "", "records": 9, "cells": 9, "dropped": 0, "quasi": [], "sensitive": []}
    content = {"table": table, "points": [{key: getattr(point, key) for key in keys} for point in points]}
    (tmp_path / "points.json").write_text(json_text(content))
    (tmp_path / "study.toml").write_text(ANY.to_toml())
    return tmp_path


ALONE = ("--search", 0)
"""The map alone, without a search."""


def test_the_command_answers_and_says_how_to_publish(folder, monkeypatch):
    code, out, _ = run("ask", folder, *ALONE, "k within loss 0.25 or loss 0.45", "--details")
    assert "With loss 0.45 also:" in run("ask", folder, *ALONE, "k within loss 0.25 or loss 0.45")[1]
    assert code == 0 and "point 00000020: k 20 at loss 0.25" in out
    assert "With loss 0.45 also:\n  - 00000040: k 40" in out
    assert f"sfumato release {folder} --point 00000020 --to release-00000020.csv" in out
    code, out, _ = run("ask", folder, *ALONE, "k within loss 0.25 and suppressed 0", "--json")
    values = json.loads(out)
    assert code == 0 and values["answer"]["id"] == "00000010" and values["answer"]["measures"]["k"] == 10
    assert "k 10 at loss 0.1" in values["answer"]["words"]
    assert [(each["side"], each["measures"]["k"]) for each in values["neighbours"]] == [("cheaper", 5)]
    assert values["bound"] is None and values["why_no_bound"].startswith("Not known")
    code, out, err = run("ask", folder, *ALONE, "k within loss 0.01")
    assert code == 1 and out == "" and "With loss 0.05 instead of 0.01 00000005 would fit" in err
    code, out, _ = run("ask", folder, *ALONE, "k within loss 0.01", "--json")
    values = json.loads(out)
    assert code == 1 and values["answer"] is None and values["command"] is None
    assert values["neighbours"][0]["side"] == "dearer" and values["neighbours"][0]["measures"]["k"] == 5


STUDY = """
name = "patients"
axes = ["k", "loss"]
[table]
source = "patients.csv"
quasi = ["age", "zip"]
sensitive = ["ill"]
[scales]
min_support = 0.1
queries = "queries number=20"
[[candidates]]
anonymizers = ["mondrian", "hilbert", "full-domain"]
requirements = ["k-anonymity k=1", "k-anonymity k=2", "k-anonymity k=4"]
suppress = [0.0, 0.1]
[[candidates]]
anonymizers = ["mondrian"]
requirements = ["l-diversity l=2 variant=distinct"]
forms = ["bucketization"]
[[candidates]]
anonymizers = ["without-quasi", "original"]
"""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["ask", "study.toml", "ncp within k 2"], "ncp applies to baskets, but this study is of a table"),
        (
            ["explore", "study.toml", "--preset", "dewri problem-4 eta=0.1 on=zip minimize=loss"],
            "no sensitive attribute",
        ),
    ],
)
def test_what_is_refused_leaves_no_folder_behind(tmp_path, monkeypatch, words, says):
    (tmp_path / "patients.csv").write_text("age,zip,ill\n20,100,a\n21,100,b\n22,101,a\n")
    (tmp_path / "study.toml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    code, _, err = run(*words)
    assert code == 2 and says in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["patients.csv", "study.toml"]


@pytest.mark.usefixtures("counted_time")
def test_what_a_search_finds_stays_and_every_answer_is_published_and_audited(tmp_path, monkeypatch):
    rows = [f"{20 + i},{100 + i % 7},{'abc'[i * i % 3]}" for i in range(24)]
    (tmp_path / "patients.csv").write_text("\n".join(["age,zip,ill", *rows]) + "\n")
    (tmp_path / "study.toml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)

    def answer(source, text, *options):
        code, out, _ = run("ask", source, text, "--json", *options)
        assert code == 0
        return json.loads(out)["answer"]

    before = answer("study.toml", "loss within k 3")
    searched = answer("patients-map", "loss within k 3", "--search", "0.5s")
    assert searched["measures"]["loss"] <= before["measures"]["loss"]
    assert answer("study.toml", "loss within k 3") == searched  # the study has grown, and stays so
    map_ = sfumato.read_map("patients-map")
    assert map_.study.axes == ("k", "loss")
    (tmp_path / "patients-map" / "cache.jsonl").unlink()  # as for another version, whose kept points are not trusted
    answer("patients-map", "loss within k 4", "--search", "0.01s")
    assert {p.id for p in map_.points} <= {p.id for p in sfumato.read_map("patients-map").points}
    texts = ("loss within k 1", "k within loss 0.6", "u_loss within p_loss 0.5", "weighted_k within loss 0.6")
    answers = {
        map_.ask(text).answer.id for text in (*texts, "l_distinct, k within loss 0.9 and suppressed 10%", "loss")
    }
    for id in {searched["id"], *answers}:
        code, out, _ = run("release", "patients-map", "--point", id, "--to", f"{id}.csv")
        assert code == 0 and "Re-checked on the written file" in out
    alone = [p for p in map_.points if p.form == "generalization" and p.measures.get("k") == 1]
    assert {p.candidate.anonymizer.name for p in alone} >= {"mondrian", "original"}
    for point in alone:
        code, _, err = run("release", "patients-map", "--point", point.id, "--to", "x.csv")
        assert code == 2 and "not a release to publish" in err and not (tmp_path / "x.csv").exists()
