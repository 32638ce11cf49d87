"""Stopping a search and going on from its file: the same frontier as at once, whatever happened in between."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sfumato.anonymizers.cut_vector.cut_vector import CutVector, cut_space
from sfumato.data.reading import read
from sfumato.requirements.requirement import requirement
from sfumato.tradeoff.search import checkpoint as checkpoints
from sfumato.tradeoff.search.pareto import NSGA2, Search
from sfumato.tradeoff.search.problems import Problem1, Problem2, Problem4
from small_tables import small_table

SOLVER = NSGA2(population=24, generations=10, seed=3)


@pytest.fixture(scope="module")
def small():
    return small_table()


def stopping_after(number):
    """Press Ctrl-C in the middle of a generation: when the `number`th batch of vectors is worked out."""

    def press(search):
        judge, seen = search.evaluator.judge, []

        def judged(vectors):
            seen.append(len(vectors))
            if len(seen) > number:
                raise KeyboardInterrupt
            return judge(vectors)

        search.evaluator.judge = judged
        return search

    return press


@pytest.mark.parametrize("wanted", [Problem1(), Problem2(0.2, minimize="loss"), Problem4(0.1)], ids=str)
@pytest.mark.parametrize("operators", ["own", "paper"])
def test_interrupted_and_resumed_is_the_same_as_at_once(small, wanted, operators, tmp_path):
    solver, path = replace(SOLVER, operators=operators), tmp_path / "search.npz"
    whole = Search(small, wanted, solver=solver).run()
    stops = 0
    for number in (1, 7, 12, 19, 25, 33):  # batches until Ctrl-C, counted anew in every process
        search = stopping_after(number)(Search(small, wanted, solver=solver, workers=1))
        search.resume(path)
        before = search.generation
        found = search.run(checkpoint=path)
        stops += found.stopped == "interrupted"
        assert search.generation >= before
    assert stops >= 2
    last = Search(small, wanted, solver=solver)
    assert "generation" in last.resume(path) or "finished" in last.resume(path)
    found = last.run(checkpoint=path)
    assert not found.stopped
    assert found.points == whole.points and found.evaluations == whole.evaluations
    again = Search(small, wanted, solver=solver)
    assert "finished" in again.resume(path)
    assert again.run().points == whole.points


def test_ctrl_c_in_the_middle_of_a_generation_loses_that_generation_only(small):
    whole = Search(small, Problem2(0.1), solver=SOLVER).run()
    search = stopping_after(9)(Search(small, Problem2(0.1), solver=SOLVER, workers=1))
    found = search.run()
    assert found.stopped == "interrupted" and 0 < search.generation < 10
    other = Search(small, Problem2(0.1), solver=SOLVER)
    assert other.run(generations=search.generation).points == found.points
    judge = Search(small, Problem2(0.1), solver=SOLVER).evaluator.judge
    search.evaluator.judge = judge
    assert search.run().points == whole.points


def test_a_local_search_that_was_stopped_goes_on_there(small, tmp_path):
    path, solver = tmp_path / "search.npz", NSGA2(population=40, generations=3, seed=1)
    whole = Search(small, Problem2(0.1), solver=solver).run()
    stopped = stopping_after(17)(Search(small, Problem2(0.1), solver=solver, workers=1))
    found = stopped.run(checkpoint=path)
    assert found.stopped and stopped.generation == 3 and stopped._done and not stopped.polished
    last = Search(small, Problem2(0.1), solver=solver)
    last.resume(path)
    found = last.run()
    assert found.points == whole.points and found.evaluations == whole.evaluations


def test_another_search_or_a_damaged_file_begins_anew(small, tmp_path):
    path = tmp_path / "search.npz"
    first = Search(small, Problem2(0.1), solver=SOLVER)
    assert first.resume(path) == ""
    first.run(generations=4, checkpoint=path)
    for other in (
        Search(small, Problem2(0.2), solver=SOLVER),
        Search(small, Problem2(0.1), solver=replace(SOLVER, seed=4)),
        Search(small, Problem2(0.1), cut_space(small.cells, constrained=["age"]), solver=SOLVER),
        Search(small_table(seed=6), Problem2(0.1), solver=SOLVER),
        Search(small, Problem2(0.1), solver=SOLVER, start=np.zeros((1, 9), np.uint8)),
    ):
        assert "belongs to another search" in other.resume(path) and other.generation == 0
    content = path.read_bytes()
    for damaged in (
        content[: len(content) // 2],
        content[:-30],
        b"",
        b"PK" + bytes(400),
        content[:3000] + b"xx" + content[3002:],
    ):
        path.write_bytes(damaged)
        search = Search(small, Problem2(0.1), solver=SOLVER)
        assert "damaged" in search.resume(path) and search.generation == 0
        assert not search.evaluator.known
    assert search.run(checkpoint=path).points == Search(small, Problem2(0.1), solver=SOLVER).run().points


def test_another_version_begins_anew(small, tmp_path, monkeypatch):
    path = tmp_path / "search.npz"
    Search(small, Problem2(0.1), solver=SOLVER).run(generations=2, checkpoint=path)
    monkeypatch.setattr(checkpoints, "source_digest", lambda *parts: "another")
    assert "another search" in Search(small, Problem2(0.1), solver=SOLVER).resume(path)


def test_a_space_without_cuts_can_be_resumed(tmp_path):
    table, path = read(pa.table({"a": ["x"]}), quasi=["a"]), tmp_path / "search.npz"
    solver = NSGA2(population=4, generations=3)
    whole = Search(table, Problem1(), solver=solver).run()
    Search(table, Problem1(), solver=solver).run(generations=1, checkpoint=path)
    last = Search(table, Problem1(), solver=solver)
    assert "going on after generation 1" in last.resume(path)
    assert last.run().points == whole.points


def test_a_crash_while_writing_leaves_the_file_of_before(small, tmp_path, monkeypatch):
    path = tmp_path / "search.npz"
    search = Search(small, Problem2(0.1), solver=SOLVER)
    search.run(generations=2, checkpoint=path)
    before = path.read_bytes()

    def crash(stream, **arrays):
        stream.write(b"half")
        raise RuntimeError("power is gone")

    monkeypatch.setattr(checkpoints.np, "savez", crash)
    with pytest.raises(RuntimeError):
        search.run(generations=2, checkpoint=path)
    assert path.read_bytes() == before and [own.name for own in tmp_path.iterdir()] == ["search.npz"]


def test_the_command_goes_on_where_it_was_stopped(small, tmp_path, monkeypatch, capsys):
    from sfumato.commands.app import main

    CutVector("age=@0, sex=@0, town=@0").anonymize(small, requirement("k-anonymity k=1")).to_csv(tmp_path / "rows.csv")
    (tmp_path / "study.toml").write_text(
        'schema = 1\nname = "s"\naxes = ["k", "loss"]\n[table]\nsource = "rows.csv"\nquasi = ["age", "sex", "town"]\n'
        'sensitive = ["illness"]\n[[candidates]]\nanonymizers = ["mondrian"]\nrequirements = ["k-anonymity k=2"]\n'
        '[search]\npoints = 3\nsolver = "nsga2 population=24 generations=8"\n'
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sfumato.report.folder.save_map", lambda shown, folder: [])

    def run(*more):
        words = ("explore", "study.toml", "--preset", "dewri", "--json", *more)
        monkeypatch.setattr(sys, "argv", ["sfumato", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return ended.value.code, json.loads(said.out)["search"] if said.out else None, said.err

    _, whole, _ = run("--out", "whole")
    code, found, said = run("--out", "parts", "--budget", "0.000000001s")
    assert code == 130 and found is None and "before the first generation" in said

    run_search = Search.run
    monkeypatch.setattr(Search, "run", lambda self, *a, **own: run_search(self, *a, generations=3, **own))
    run("--out", "parts")
    monkeypatch.setattr(Search, "run", run_search)
    code, found, said = run("--out", "parts")
    assert not code and "going on after generation 3 of 16" in said  # two stages
    assert found["frontier"] == whole["frontier"] and found["evaluations"] == whole["evaluations"]
    code, found, said = run("--out", "parts")
    assert "finished" in said and found["frontier"] == whole["frontier"]
    study = tmp_path / "study.toml"
    study.write_text(study.read_text().replace("generations=8", "generations=8 seed=5"))
    code, found, said = run("--out", "parts")
    assert "belongs to another search" in said and not code
