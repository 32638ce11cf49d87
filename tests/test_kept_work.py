"""What is kept between runs is believed where it fits its check sum, is for its owner alone, and stays in place."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from command_line import run
from points import point_of
from sfumato import Search, read, requirement
from sfumato.anonymizers.cut_vector.cut_vector import CutVector, cut_space
from sfumato.tradeoff.exploration.folder import Cache, mend_cache
from sfumato.tradeoff.limit import Limit
from sfumato.tradeoff.search import checkpoint as checkpoints
from sfumato.tradeoff.search.pareto import NSGA2
from sfumato.tradeoff.search.problems import Problem1, Problem2, Problem4
from small_tables import small_table

POINT = point_of("a", "mondrian", "generalization", "k-anonymity k=2", {}, "measured", measures={"k": 2.0, "t": 0.1})
LIMIT = Limit(((0.0, 1.0), (1.0, 0.0)), 1.0, 0.5)


@pytest.fixture
def kept(tmp_path):
    cache = Cache(tmp_path / "cache.jsonl")
    for number in range(4):
        cache.add_point(f"key {number}", replace(POINT, id=str(number)))
    cache.add_limit("key", LIMIT)
    cache.add_limit("none", None)
    return tmp_path / "cache.jsonl"


def test_what_is_kept_is_read_back(kept):
    cache = Cache(kept)
    assert mend_cache(kept) == ""
    for number in range(4):
        assert cache.point(f"key {number}", POINT.candidate) == replace(POINT, id=str(number))
    assert cache.limits == {"key": LIMIT, "none": None}


def test_the_cache_is_for_its_owner_alone(kept):
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    kept.chmod(0o644)
    mend_cache(kept)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("how", ["value", "key", "cut", "garbage", "no check", "deep"])
def test_a_changed_entry_is_taken_out_and_told(kept, place, how):
    lines = kept.read_text().splitlines()
    entry = json.loads(lines[place])
    name = "key" if "key" in entry else "limit of"
    if how == "value" and "point" in entry:
        entry["point"]["measures"]["t"] = 0.05
    elif how == "value":
        entry["limit"] = [[0.0, 0.5], [1.0, 0.0]]
    elif how == "key":
        entry[name] = "key 9"
    elif how == "no check":
        del entry["check"]
    changed = {"cut": lines[place][:-9], "garbage": "\xff\x00nonsense", "deep": "[" * 100_000}
    lines[place] = changed.get(how) or json.dumps(entry)
    kept.write_text("\n".join(lines), encoding="latin-1")
    sentence = mend_cache(kept)
    assert "1 entry does not fit" in sentence and str(kept) in sentence
    cache = Cache(kept)
    left = [name for name in ("key 0", "key 1", "key 2", "key 3") if cache.point(name, POINT.candidate) is not None]
    assert len(left) + len(cache.limits) == 5
    assert mend_cache(kept) == ""
    cache.add_point("new", POINT)
    assert Cache(kept).point("new", POINT.candidate) == POINT


STUDY = """
name = "NAME"
axes = ["k", "loss"]
[table]
source = "t.csv"
quasi = ["age"]
sensitive = ["d"]
[[candidates]]
requirements = ["k-anonymity k=3", "k-anonymity k=6"]
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    folder = tmp_path / "inner" / "here"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    Path("t.csv").write_text("age,d\n" + "".join(f"{20 + i % 6},{'xyz'[i % 3]}\n" for i in range(36)))
    return tmp_path


def test_a_changed_cache_changes_no_map(here):
    Path("study.toml").write_text(STUDY)
    words = ["explore", "study.toml", "--out", "map"]
    code, out, _ = run(*words)
    assert code == 0 and "cache.jsonl contain records" in out
    points, cache = Path("map/points.json"), Path("map/cache.jsonl")
    before, text = points.read_bytes(), cache.read_text()
    for changed in (text.replace('"k": 6', '"k": 60'), text.replace('"loss": 0.', '"loss": 0.5'), text[:-30], "{}\n"):
        assert changed != text
        cache.write_text(changed)
        code, _, err = run(*words)
        assert code == 0 and "not fit" in err and "measuring again" in err
        assert points.read_bytes() == before


NAMES = [
    "../../x",
    "/tmp/sfumato-x",
    "..",
    ".",
    "",
    "  ",
    "a/b",
    "a\\\\b",
    "CON",
    "nul.txt",
    "x\\u0000y",
    "x\\ny",
    "a" * 300,
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_never_leaves_the_folder(here, name):
    Path("study.toml").write_text(STUDY.replace("NAME", name))
    before = set(here.rglob("*"))
    code, _, err = run("explore", "study.toml")
    assert code == 2 and "name" in err and "--out" in err
    assert set(here.rglob("*")) == before


COPYING = """
import os, signal, sys
from sfumato.engines.protocol import Reading
from sfumato.engines import open_rows
from sfumato.engines.duckdb import sources
from pathlib import Path
def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "kill":
    sources._text_rows = killed  # while the copy is there
print(open_rows(sys.argv[1], Reading(encoding="latin-1")).distinct("d").values)
"""


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="files cannot be read by their numbers here")
@pytest.mark.parametrize("how", ["kill", "end"])
def test_a_table_that_is_rewritten_while_reading_leaves_nothing_even_when_killed(tmp_path, how):
    folder = tmp_path / "temporary"
    folder.mkdir()
    table = tmp_path / "t.csv"
    table.write_text("age,d\n" + "20,é\n" * 10_000, encoding="latin-1")
    environment = {**os.environ, "TMPDIR": str(folder), "PYTHONIOENCODING": "utf-8"}
    words = [sys.executable, "-c", COPYING, str(table), how]
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert done.returncode == (-signal.SIGKILL if how == "kill" else 0), done.stderr
    assert how == "kill" or "é" in done.stdout
    left = [path for path in folder.rglob("*") if path.is_file() and path.read_bytes()]
    assert left == []  # but for the lock by which the next run sees that the folder's owner is dead


def test_a_changed_checkpoint_is_told_for_damaged(tmp_path):
    from sfumato.tradeoff.search.checkpoint import Snapshot, read_checkpoint, write_checkpoint

    path = tmp_path / "search.npz"
    bits = np.array([[0, 1, 1]], np.uint8)
    write_checkpoint(
        path, "key", Snapshot(3, bits, np.array([[0.5, 2.0]]), False, known=bits, rank=np.zeros(1, np.int64))
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = read_checkpoint(path, "key")
    assert again is not None and again.facts.tolist() == [[0.5, 2.0]] and again.known.tolist() == bits.tolist()
    assert read_checkpoint(path, "other") is None
    with np.load(path) as held:
        arrays = dict(held)
    for name in ("facts", "rank", "generation"):
        np.savez(path, **{**arrays, name: arrays[name] + 1})
        with pytest.raises(ValueError, match="check sum"):
            read_checkpoint(path, "key")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError):
        read_checkpoint(path, "key")


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
    assert "continuing after generation 1" in last.resume(path)
    assert last.run().points == whole.points


def test_a_crash_while_writing_leaves_the_file_of_before(small, tmp_path, monkeypatch):
    path = tmp_path / "search.npz"
    search = Search(small, Problem2(0.1), solver=SOLVER)
    search.run(generations=2, checkpoint=path)
    before = path.read_bytes()

    def crash(stream, **arrays):
        stream.write(b"half")
        raise RuntimeError("power is gone")

    monkeypatch.setattr(checkpoints.np, "savez_compressed", crash)
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
    assert not code and "continuing after generation 3 of 16" in said  # two stages
    assert found["frontier"] == whole["frontier"] and found["evaluations"] == whole["evaluations"]
    code, found, said = run("--out", "parts")
    assert "finished" in said and found["frontier"] == whole["frontier"]
    study = tmp_path / "study.toml"
    study.write_text(study.read_text().replace("generations=8", "generations=8 seed=5"))
    code, found, said = run("--out", "parts")
    assert "belongs to another search" in said and not code
