"""One instrument: the section [search] does what it says in every command, and one question has one answer."""

from __future__ import annotations

import json
import random
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import BadInputError, Grid, Search, Study, TableDeclaration, requirement, tune
from sfumato.anonymizers.cut_vector.cut_vector import cut_space
from sfumato.tradeoff.exploration.run import explored
from sfumato.tradeoff.question.question import Bound
from sfumato.tradeoff.search._enumeration import exact
from sfumato.tradeoff.search.pareto import NSGA2, pareto
from sfumato.tradeoff.search.problems import Problem2, Problem4
from sfumato.tradeoff.search.tuner import Aim
from sfumato.tradeoff.study.grids import ends
from sfumato.tradeoff.study.search_plan import SearchPlan
from strategies import cells_of_tables, table_of, tries

AXES = ("k", "loss")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """A table of 90 people: two columns to cut, one to protect."""
    generator = random.Random(3)
    path = tmp_path_factory.mktemp("rows") / "t.csv"
    lines = [f"{generator.randint(1, 6)},{generator.choice('abcd')},{generator.choice('pqr')}" for _ in range(90)]
    path.write_text("\n".join(["a,b,s", *lines]))
    return TableDeclaration(str(path), ("a", "b"), ("s",))


def study_of(rows, axes=AXES, grids=(), levels=("a=0",), **plan):
    """A study of the table; `a=0` lets it be cut anywhere, not only between bands."""
    return Study("small", rows, (*ends(), *grids), axes=axes, search=SearchPlan(levels=levels, **plan))


def proposed(map_, study):
    own = {one.id for one in study.candidates}
    return [point for point in map_.points if point.id not in own]


# -- the section -------------------------------------------------------------------------------------------


def test_the_section_is_read_written_and_may_stand_for_candidates():
    text = '[table]\nsource = "adult"\n[search]\nbudget = "60s"\nconstrained = []\nexact = true\nmakers = ["hilbert"]\n'
    study = Study.from_toml(text)
    assert study.search == SearchPlan("60s", exact=True, constrained=(), makers=("hilbert",))
    assert study.grids == (*ends(),) and Study.from_toml(study.to_toml()) == study
    with pytest.raises(BadInputError, match=r"\[\[candidates\]\] or \[search\]"):
        Study.from_toml('[table]\nsource = "adult"\n')


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('makers = ["mondrain"]', "makers must be one of mondrian"),
        ('within = "loss"', "the bounds 'loss' cannot be read: the bound on loss must be a number"),
        ('within = "loss 0.1 by maker"', "'by' is not expected"),
        ('require = "k-anonimity k=2"', "k-anonimity"),
        ('problem = "problem-9"', "unknown problem"),
        ('solver = "nsga2 colour=red"', "unknown key 'colour'"),
        ('levels = ["age"]', "such as age=1"),
        ('budget = "soon"', "such as 60s"),
        ("points = 0", "points must be"),
        ('exact = true\nsolver = "nsga2"', "give one of the two"),
        ("colour = 1", "unknown key 'colour'"),
    ],
)
def test_a_wrong_section_is_refused_with_the_study(line, says):
    with pytest.raises(BadInputError, match=says.replace("[", r"\[")):
        Study.from_toml(f'[table]\nsource = "adult"\n[search]\n{line}\n')


@pytest.mark.parametrize("axes", [AXES, ("p_loss", "loss")])
def test_only_the_named_makers_are_proposed_and_what_is_required_holds(rows, axes):
    extra = "l-diversity l=2 variant=distinct"
    study = study_of(rows, axes, makers=("mondrian", "cut-vector"), require=extra)
    found = proposed(tune(study, tries=14, workers=1), study)
    assert {point.candidate.anonymizer.name for point in found} == {"mondrian", "cut-vector"}
    assert all(requirement(extra) in point.candidate.requirement.parts for point in found)
    assert all(point.measures["l_distinct"] >= 2 for point in found)


def test_time_is_spent_only_where_the_bounds_hold(rows):
    bound = Bound("loss", "max", 0.3)
    aim = Aim(AXES, (bound,))
    study = study_of(rows, makers=("mondrian",), within="loss 0.3")
    seen = tune(study, tries=8, workers=1).points
    judge = aim.judge([point for point in seen if aim.sees(point)])
    inside, outside = {"k": 50.0, "loss": 0.2}, {"k": 60.0, "loss": 0.5}
    assert judge.gain_of(inside) > 0 == judge.gain_of(outside)
    assert judge.between(outside, {"k": 80.0, "loss": 0.9}) == 0 < judge.between(inside, outside)
    cuts = proposed(tune(study_of(rows, makers=("cut-vector",), within="loss 0.3"), tries=12), study)
    free = proposed(tune(study_of(rows, makers=("cut-vector",)), tries=12), study)
    assert cuts and all(bound.admits(point) for point in cuts) and not all(bound.admits(point) for point in free)


def test_cuts_are_those_of_the_section(rows):
    about = {"makers": ("cut-vector",), "levels": ("a=1",), "constrained": ("a", "b"), "points": 3}
    study = study_of(rows, grids=(Grid(suppress=(0.1,)),), **about)
    map_ = tune(study, tries=20, workers=1)
    found = proposed(map_, study)
    space = cut_space(rows.open().cells, ["a", "b"], {"a": 1})
    assert 0 < len(found) <= 3
    allowed = {point.cuts for point in exact(rows.open(), Problem2(0.1, minimize="loss"), space)}
    assert all(point.candidate.anonymizer.cuts in allowed for point in found)


def test_a_solver_and_exact_decide_how_cuts_are_searched(rows):
    from sfumato.tradeoff.search._enumeration import Enumeration
    from sfumato.tradeoff.search.families import CountedCuts, cuts_of

    def way(axes=AXES, **plan):
        return cuts_of(study_of(rows, axes, **plan), rows.open(), axes, 1)

    measured = ("p_loss", "loss")
    assert isinstance(way().search, Enumeration) and way(measured) is None
    assert isinstance(way(exact=False).search, Search)
    solver = "nsga2 population=8 generations=2"
    for axes in (AXES, measured):
        named = way(axes, solver=solver)
        assert isinstance(named, CountedCuts) and named.search.solver == NSGA2(8, 2)
        assert set(named.search.problem.objectives) == set(axes)
    assert way(measured, exact=True).search.size == cut_space(rows.open().cells).count
    assert way(problem="problem-4 eta=0.1").search.problem == Problem4(0.1)


def test_a_problem_that_does_not_tell_of_the_axes_still_proposes(rows):
    """What its cuts gain on the axes is known only when they are made: those along its own frontier are."""
    study = study_of(rows, ("p_loss", "u_loss"), makers=("cut-vector",), problem="problem-2 eta=0.1 minimize=loss")
    found = proposed(tune(study, tries=4, workers=1), study)
    allowed = {point.cuts for point in exact(rows.open(), Problem2(0.1, minimize="loss"))}
    assert len(found) >= 2 and all(point.candidate.anonymizer.cuts in allowed for point in found)


@pytest.mark.usefixtures("counted_time")
def test_a_budget_of_the_section_is_spent_and_a_study_of_ends_alone_needs_one(rows, tmp_path):
    from sfumato.tradeoff.exploration.run import check_searchable

    study = study_of(rows, budget="1s", makers=("mondrian",))
    assert explored(study, tmp_path).map_.about["tuning"]["budget"] == 1
    check_searchable(study, None)
    check_searchable(study_of(rows), 5.0)
    with pytest.raises(BadInputError, match="how long to search"):
        check_searchable(study_of(rows), None)


# -- the search over cuts is a preset -----------------------------------------------------------------------


@pytest.fixture
def command(rows, tmp_path, monkeypatch, capsys):
    from sfumato.commands.app import main

    study = Study("s", rows, (Grid(),), axes=AXES)
    (tmp_path / "study.toml").write_text(study.to_toml())
    monkeypatch.chdir(tmp_path)
    for draw in ("report_bytes", "picture_bytes"):
        monkeypatch.setattr(f"sfumato.report.folder.{draw}", lambda *arguments, **options: b"")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return ended.value.code or 0, said.out, said.err

    return run


def asked(command, folder, question):
    code, out, _ = command("ask", folder, question, "--search", "0", "--json")
    return None if code else json.loads(out)["answer"]["measures"]


def searched(command, rows, folder, **plan):
    """Write a study with this plan and search its cuts; what is said of the search."""
    study = Study("s", rows, (Grid(),), axes=AXES, search=SearchPlan(levels=("a=0",), **plan))
    (folder / "study.toml").write_text(study.to_toml())
    code, out, err = command("explore", "study.toml", "--preset", "dewri", "--json")
    assert code == 0, err
    return json.loads(out)["search"]


@pytest.mark.parametrize("solver", [None, "nsga2 population=12 generations=3"])
def test_one_question_has_one_answer(command, rows, solver, tmp_path):
    """On the map of a frontier, whatever was asked before; and where all cuts are looked at, that of brute force."""
    found = searched(command, rows, tmp_path, points=2, solver=solver)
    for loss in (0.3, 0.6, 0.45):
        code, out, _ = command("ask", "s-dewri-map", f"k within loss {loss}", "--search", "20s", "--json")
        answer = json.loads(out)["answer"]
        assert code == (0 if answer else 1)
        inside = [p["k"] for p in found["frontier"] if p["loss"] <= loss + 1e-9 and p["k"] > 1]
        # a release may show narrower ranges than its cuts
        assert not inside or answer["measures"]["k"] >= max(inside)
        if solver is None and inside:
            whole = exact(rows.open(), Problem2(0.1, minimize="loss"))
            assert answer["measures"]["k"] >= max(p.values["k"] for p in whole if p.values["loss"] <= loss + 1e-9)
    before = {loss: asked(command, "s-dewri-map", f"k within loss {loss}") for loss in (0.3, 0.6)}
    assert searched(command, rows, tmp_path, points=2, solver=solver) == found
    assert before == {loss: asked(command, "s-dewri-map", f"k within loss {loss}") for loss in (0.3, 0.6)}


def test_explore_goes_on_with_the_map_of_the_preset(command, rows, tmp_path):
    whole = searched(command, rows, tmp_path, points=5, solver="nsga2 population=12 generations=4")
    folder = tmp_path / "s-dewri-map"
    study = Study.from_toml((folder / "study.toml").read_text())
    assert study.search.only_cuts and study.axes == AXES
    points = json.loads((folder / "points.json").read_text())["points"]
    code, out, err = command("explore", "s-dewri-map/study.toml", "--json")
    assert code == 0 and "finished" in err and json.loads(out)["files"][0].startswith("s-dewri-map")
    again = json.loads((folder / "points.json").read_text())["points"]
    assert {point["id"] for point in again} == {point["id"] for point in points}
    mapped = [point["measures"]["k"] for point in again if point["anonymizer"].startswith("cut-vector")]
    assert 5 <= len(mapped) <= len(whole["frontier"]) and {"original", "without-quasi"} <= {
        point["anonymizer"] for point in again
    }


def test_who_types_frontier_is_told_the_new_spelling(command):
    code, out, err = command("frontier", "study.toml", "--loss", 0.25)
    assert (code, out) == (2, "") and err.count("\n") == 1 and "sfumato explore STUDY --preset dewri" in err


# -- more freedom is never worse, also where it is searched ------------------------------------------------


def best(frontier, loss):
    """The largest k within a loss."""
    return max((point.values["k"] for point in frontier if point.values["loss"] <= loss + 1e-9), default=0)


@given(
    cells_of_tables(sensitive=(1, 1), rows=16),
    st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.05, 0.1, 0.3])), min_size=2, max_size=2),
    st.tuples(st.floats(0, 1), st.floats(0, 1)),
    st.sampled_from([Problem2(0.0, minimize="loss"), Problem4(0.0, minimize="loss")]),
    st.sampled_from(["own", "paper"]),
    st.integers(0, 3),
)
@tries(12)
def test_a_search_is_monotone_in_suppression_loss_and_generations(cells, etas, losses, wanted, operators, seed):
    table, solver = table_of(cells), NSGA2(population=6, generations=2, operators=operators, seed=seed)
    small, large = (replace(wanted, eta=eta) for eta in sorted(etas))
    few, many = (pareto(table, each, solver=solver, workers=1) for each in (small, large))
    tight, loose = sorted(losses)
    assert best(many, tight) >= best(few, tight) and best(few, loose) >= best(few, tight)
    assert all(point.values["suppression_loss"] <= small.eta + 1e-9 for point in few)
    search, before = Search(table, large, solver=solver, workers=1), 0
    for _ in range(search.generations):
        after = best(search.run(generations=1), tight)
        assert after >= before
        before = after
    assert search.run().points == many.points
