"""The publisher's questions put to a map: against their definition, point by point, and through the command line."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from points import point_of
from sfumato.errors import BadInputError
from sfumato.plain import json_text
from sfumato.tradeoff import Grid, Map, Study, ask
from sfumato.tradeoff.choice.bounds import Bound
from strategies import tries

ANY = Study(
    "any",
    sfumato.TableDeclaration("adult"),
    (Grid((sfumato.anonymizer("mondrian"),), (sfumato.requirement("k-anonymity k=1"),)),),
)


def make_point(id, k, l, generalized, suppressed, require="k-anonymity k=2", **kind):
    measures = {
        "k": k,
        "l_frequency": l,
        "l_distinct": l + 1,
        "loss": generalized + suppressed,
        "generalization_loss": generalized,
        "suppression_loss": suppressed,
    }
    own = {"anonymizer": "mondrian", "form": "generalization", "status": "measured", **kind}
    return point_of(id, own["anonymizer"], own["form"], require, {}, own["status"], None, measures)


places = st.tuples(
    st.integers(1, 6), st.integers(1, 4), st.integers(0, 8).map(lambda n: n / 10), st.sampled_from([0.0, 0.05, 0.1])
)
KINDS = [{}, {}, {}, {"form": "bucketization"}, {"anonymizer": "original"}, {"status": "infeasible"}]


@given(
    st.lists(st.tuples(places, st.sampled_from(KINDS)), min_size=1, max_size=12),
    st.integers(0, 9).map(lambda n: n / 10),
    st.sampled_from([None, 0.0, 0.05]),
    st.sampled_from([("k",), ("k", "l_frequency")]),
)
@tries(150)
def test_answers_are_what_the_question_says(drawn, loss, suppress, names):
    shown = Map(ANY, tuple(make_point(f"{i:02}", *own, **kind) for i, (own, kind) in enumerate(drawn)))
    counted = [p for p, (_, kind) in zip(shown.points, drawn, strict=True) if not kind]
    if not counted:
        with pytest.raises(BadInputError, match="no release of this map"):
            ask(shown, loss, prefer=names)
        return
    relaxed = min(loss + 0.15, 1.0)
    answer = ask(shown, loss, relaxed, suppress, names)
    inside = [p for p in counted if suppress is None or p.measures["suppression_loss"] <= suppress]

    def best(most):
        pairs = {tuple(p.measures[n] for n in names) for p in inside if p.measures["loss"] <= most + 1e-9}
        return {a for a in pairs if not any(b != a and all(x >= y for x, y in zip(b, a, strict=True)) for b in pairs)}

    def pairs_of(points):
        return {tuple(own.values[name] for name in names) for own in points}

    assert pairs_of(answer.best) == best(loss)
    for own in answer.best:  # with the least loss that has this privacy, and no other way round
        same = [p for p in inside if tuple(p.measures[n] for n in names) == tuple(own.values[n] for n in names)]
        assert own.values["loss"] == min(p.measures["loss"] for p in same)
    offered = best(loss)
    new = {a for a in best(relaxed) if not any(all(x >= y for x, y in zip(b, a, strict=True)) for b in offered)}
    assert pairs_of(answer.bought) == new
    if answer.dearer is not None:
        assert answer.dearer.values["loss"] > loss
    if len(answer.best) == 1 and answer.cheaper is not None:
        assert answer.cheaper.values["loss"] < answer.best[0].values["loss"]
        assert any(answer.cheaper.values[name] < answer.best[0].values[name] for name in names)


def test_what_is_asked_for_is_what_every_release_requires():
    both = "k-anonymity k=2 & l-diversity l=2 variant=frequency"
    first, second = make_point("a", 5, 2, 0.1, 0.0, both), make_point("b", 3, 3, 0.1, 0.0, both)
    assert [own.point.id for own in ask(Map(ANY, (first, second)), 0.2).best] == ["a", "b"]
    third = make_point("c", 9, 1, 0.1, 0.0)
    assert [own.point.id for own in ask(Map(ANY, (first, second, third)), 0.2).best] == ["c"]
    bounded = ask(Map(ANY, (first, second, third)), 0.2, bounds=[Bound("l_frequency", "min", 2)])
    assert [own.point.id for own in bounded.best] == ["a"] and "l_frequency at least 2" in bounded.question


def test_neighbours_on_the_frontier_are_told():
    shown = Map(ANY, tuple(make_point(str(k), k, 1, k / 100, 0.0) for k in (5, 10, 20, 40)))
    answer = ask(shown, 0.2, 0.4, suppress=0)
    assert answer.text(str).splitlines() == [
        "The most k on this map, loss at most 0.2, no record suppressed:",
        "  20: k 20 at a loss of 20.0% (20.0% by generalization, 0.0% by suppression)",
        "  With less privacy: 10: k 10 at a loss of 10.0% (10.0% by generalization, 0.0% by suppression)",
        "  The next step: 40: k 40 at a loss of 40.0% (40.0% by generalization, 0.0% by suppression)",
        "  With the relaxed bound also: 40: k 40 at a loss of 40.0% (40.0% by generalization, 0.0% by suppression)",
    ]


@pytest.fixture
def folder(tmp_path):
    points = [make_point(f"{k:08}", k, 1, k / 100, 0.05 if k > 10 else 0.0) for k in (5, 10, 20, 40)]
    keys = ("id", "anonymizer", "form", "requirement", "parameters", "status", "reason", "measures")
    table = {"digest": "", "records": 9, "cells": 9, "dropped": 0, "quasi": [], "sensitive": []}
    content = {"table": table, "points": [{key: getattr(point, key) for key in keys} for point in points]}
    (tmp_path / "points.json").write_text(json_text(content))
    (tmp_path / "study.toml").write_text(ANY.to_toml())
    return tmp_path


def run(monkeypatch, capsys, *arguments):
    from sfumato.cli import main

    monkeypatch.setattr(sys, "argv", ["sfumato", "choose", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code or 0, *capsys.readouterr()


def test_the_command_answers_and_says_how_to_publish(folder, monkeypatch, capsys):
    code, out, _ = run(monkeypatch, capsys, folder, "--loss", 0.25, "--relaxed", 0.45)
    assert code == 0 and "00000020: k 20" in out and "With the relaxed bound also: 00000040: k 40" in out
    assert f"sfumato release {folder} --point 00000020 --to release-00000020.csv" in out
    code, out, _ = run(monkeypatch, capsys, folder, "--loss", 0.25, "--suppress", 0, "--json")
    told = json.loads(out)
    assert [own["k"] for own in told["best"]] == [10] and told["less_private"]["k"] == 5 and told["next_step"] is None
    code, out, err = run(monkeypatch, capsys, folder, "--loss", 0.01)
    assert code == 1 and "The next step: 00000005: k 5 at a loss of 5.0%" in err and "Traceback" not in err
    code, out, _ = run(monkeypatch, capsys, folder, "--loss", 0.01, "--json")
    assert code == 1 and json.loads(out)["best"] == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--loss", 0.2, "--knee"], "two ways to choose"),
        (["--loss", 0.2, "--for", "public"], "two ways to choose"),
        (["--suppress", 0.1], "give --loss too"),
        (["--relaxed", 0.1], "give --loss too"),
        (["--loss", 0.2, "--relaxed", 0.1], "relaxed must be more than loss"),
        (["--loss", 2], "loss must be"),
        (["--loss", 0.2, "--suppress", 2], "suppress must be"),
        (["--loss", 0.2, "--prefer", "p_loss"], "less of p_loss is better: ask with --max loss=0.2 --prefer p_loss"),
        (["--loss", 0.2, "--prefer", "beauty"], "unknown measure"),
        (["--loss", 0.2, "--prefer", "weighted_k"], "no release of this map has weighted_k"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(folder, monkeypatch, capsys, options, says):
    code, _, err = run(monkeypatch, capsys, folder, *options)
    assert code == 2 and says in err and "Traceback" not in err
