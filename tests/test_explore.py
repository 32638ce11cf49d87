"""`sfumato explore` on the command line: what it leaves behind, the same bytes for any number of workers, resuming."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import run
from held_runs import HELD, held_until
from sfumato import Search, Study, numeric, read, requirement
from sfumato.anonymizers.cut_vector import _evaluation as counting
from sfumato.anonymizers.cut_vector._evaluation import CutTable
from sfumato.anonymizers.cut_vector._groups import count_groups, fill_tables, number_groups
from sfumato.anonymizers.cut_vector.cut_vector import CutAttribute, cut_space
from sfumato.anonymizers.full_domain.full_domain import FullDomain
from sfumato.tradeoff.search._variation import drawn
from sfumato.tradeoff.search.pareto import NSGA2, common_cuts, full_domain_seeds, mondrian_seeds, nearest_allowed, seeds
from sfumato.tradeoff.search.problems import MeasuredProblem, Problem1, Problem2, Problem3, Problem4
from small_tables import small_table
from strategies import cells_of_tables, hierarchies, table_of, tries

HANGING = 600
"""Seconds after which something is held to hang."""

STUDY = """
name = "small"
[table]
source = "people.csv"
quasi = ["age", "home town"]
sensitive = ["ill"]
[scales]
queries = "queries number=50 dimensions=2 selectivity=0.2"
[[candidates]]
anonymizers = ["mondrian", "mondrian mode=relaxed"]
requirements = ["k-anonymity k=2", "k-anonymity k=5", "k-anonymity k=100000", "l-diversity l=2 variant=frequency"]
forms = ["generalization", "bucketization"]
[[candidates]]
anonymizers = ["without-quasi", "without-sensitive", "original"]
"""


@pytest.fixture
def folder(tmp_path):
    lines = ["age,home town,ill,note"]
    lines += [f"{i * 7 % 60},town {i % 5},{['flu', 'none', 'gout'][(i * i + i // 7) % 3]},n" for i in range(200)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def sfumato(folder, *words):
    return run(*words, cwd=folder)


def test_explore_leaves_what_the_design_lists(folder):
    ended = sfumato(folder, "explore", "study.toml", "--out", "map", "--json")
    assert ended.returncode == 0, ended.stderr
    said = json.loads(ended.stdout)
    assert said["points"] == 19 and said["states"] == {"measured": 15, "infeasible": 4}
    names = {file.name for file in (folder / "map").iterdir()}
    assert {"points.json", "timings.json", "report.html", "report-public.html", "map-public.png", "study.toml"} <= names
    content = json.loads((folder / "map" / "points.json").read_text())
    assert content["schema"] == 1 and len(content["points"]) == 19
    wanted = {"id", "anonymizer", "form", "requirement", "parameters", "status", "reason", "measures", "on_frontier"}
    assert all(set(point) - {"published", "changes"} == wanted for point in content["points"])
    risks = {"k", "a_know"}  # by promise, and as a bound from the published file: for the public map
    assert all(set(point.get("published", {})) <= risks for point in content["points"])
    infeasible = [point for point in content["points"] if point["status"] == "infeasible"]
    assert all("k=200" in point["reason"] for point in infeasible)
    assert {point["id"] for point in content["points"] if point["on_frontier"]} == set(said["frontier"])
    again = Study.from_toml((folder / "map" / "study.toml").read_text())
    assert again.candidates == Study.from_toml(STUDY).candidates


def test_a_table_in_place_of_a_study_is_told_how_to_come_to_one(folder):
    (folder / "my people.csv").write_text("age;zip\n31;04103\n")
    (folder / "wrong.toml").write_text("age;zip\n")
    ended = sfumato(folder, "explore", "my people.csv")
    assert ended.returncode == 2 and "`sfumato init 'my people.csv'` drafts a study of it" in ended.stderr
    ended = sfumato(folder, "explore", "wrong.toml")
    assert ended.returncode == 2 and "drafts a study" not in ended.stderr


def test_points_are_the_same_bytes_for_any_number_of_workers_and_after_resuming(folder):
    written = []
    for name, workers in (("one", "1"), ("three", "3")):
        assert sfumato(folder, "explore", "study.toml", "--out", name, "--workers", workers).returncode == 0
        written.append((folder / name / "points.json").read_bytes())
    cache = (folder / "one" / "cache.jsonl").read_text().splitlines()
    (folder / "cut").mkdir()
    (folder / "cut" / "cache.jsonl").write_text("\n".join(cache[:5]) + "\n" + cache[5][:40])
    assert sfumato(folder, "explore", "study.toml", "--out", "cut").returncode == 0
    written.append((folder / "cut" / "points.json").read_bytes())
    assert written[0] == written[1] == written[2]


def test_a_stopped_run_says_so_and_goes_on(folder):
    """A gate holds it, so that it cannot end before it is stopped."""
    (folder / "study.toml").write_text(STUDY + HELD)
    with held_until(folder / "may end"):
        command = [
            sys.executable,
            "-m",
            "sfumato.commands.app",
            "explore",
            "study.toml",
            "--out",
            "map",
            "--workers",
            "1",
        ]
        running = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        cache = folder / "map" / "cache.jsonl"
        while running.poll() is None and not (cache.exists() and cache.stat().st_size):
            time.sleep(0.02)
        os.kill(running.pid, signal.SIGINT)
        _, said = running.communicate(timeout=HANGING)
        assert running.returncode == 130 and "Traceback" not in said and "continues from there" in said
        assert not (folder / "map" / "points.json").exists()
        kept = len(cache.read_text().splitlines())
        (folder / "may end").touch()
        assert sfumato(folder, "explore", "study.toml", "--out", "map").returncode == 0
    assert kept > 0 and len(json.loads((folder / "map" / "points.json").read_text())["points"]) > kept


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (('source = "people.csv"', 'source = "nobody.csv"'), ["nobody.csv", "no such file"]),
        (("[scales]", "[scale]"), ["study.toml", "'scale'", "known are"]),
        (("queries number=50", "queries numbr=50"), ["study.toml", "'numbr'"]),
        (("k-anonymity k=5", "k-anonymity k=five"), ["study.toml", "whole number", "'five'"]),
        (('name = "small"', "name = "), ["study.toml", "TOML"]),
        (('"home town"', '"home twon"'), ["'home twon'", "'home town'"]),
    ],
)
def test_a_bad_study_is_one_sentence_and_exit_2(folder, change, parts):
    (folder / "study.toml").write_text(STUDY.replace(*change))
    ended = sfumato(folder, "explore", "study.toml", "--out", "map")
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr and len(ended.stderr.strip().splitlines()) <= 2
    for part in parts:
        assert part in ended.stderr


@pytest.fixture(scope="module")
def small():
    return small_table()


@given(cells_of_tables(sensitive=(0, 0), rows=24), st.data())
@tries(40)
def test_seeds_are_in_the_space_and_always_the_same(cells, data):
    names = [quasi.name for quasi in cells.quasi]
    bound = data.draw(st.lists(st.sampled_from(names), unique=True))
    levels = {quasi.name: data.draw(st.integers(0, quasi.hierarchy.height)) for quasi in cells.quasi}
    space, table = cut_space(cells, bound, levels), table_of(cells)
    found = seeds(table, space, data.draw(st.sampled_from([0.0, 0.1, 1.0])))
    assert all(space.is_valid(vector) for vector in found)
    assert len({vector.tobytes() for vector in found}) == len(found)
    assert found.shape[1] == space.bits and (len(found) > 0) == (cells.records >= 4)


@given(hierarchies(1, 6), st.data())
@tries(60)
def test_the_nearest_allowed_cuts_are_those_of_brute_force(hierarchy, data):
    own = CutAttribute("a", hierarchy, True, data.draw(st.integers(0, hierarchy.height)))
    wanted = np.array(data.draw(st.lists(st.integers(0, 1), min_size=own.bits, max_size=own.bits)), np.uint8)
    found = nearest_allowed(own, wanted)
    assert own.is_valid(found)
    assert (found != wanted).sum() == min((cuts != wanted).sum() for cuts in own.every())


def test_full_domain_seeds_are_the_levels_of_the_optimum(small):
    space = cut_space(small.cells)
    for suppress in (0.0, 0.1):
        for k, vector in zip((2, 10, 25), full_domain_seeds(small, space, [2, 10, 25], suppress), strict=True):
            best = FullDomain().anonymize(small, requirement(f"k-anonymity k={k}"), suppress=suppress)
            levels = best.details["transformation"]
            expected = []
            for own in space.attributes:
                starts = own.hierarchy.levels[levels[own.name]].starts
                expected += [int(start in starts) for start in own.starts[1:]]
            assert vector.tolist() == expected


def test_common_cuts_are_where_most_records_boxes_begin():
    begins, ends, mass = np.array([0, 3, 3, 5]), np.array([2, 4, 7, 7]), np.array([10, 5, 5, 12])
    mean = (3 * 10 + 2 * 5 + 5 * 5 + 3 * 12) / 32
    assert (
        round(8 / mean) == 3
    )  # three parts: cuts before atom 5, where 12 records' boxes begin, and atom 3, where 10 do
    assert np.flatnonzero(common_cuts(7, begins, ends, mass)).tolist() == [2, 4]
    wider = common_cuts(7, begins, np.array([4, 7, 7, 7]), mass)
    assert np.flatnonzero(wider).tolist() == [4]  # (5 * 10 + 5 * 5 + 5 * 5 + 3 * 12) / 32 is 4.25: two parts
    assert common_cuts(7, np.array([0]), np.array([7]), np.array([3])).sum() == 0
    finest = common_cuts(2, np.array([0, 1, 2]), np.array([0, 1, 2]), np.array([1, 1, 1]))
    assert finest.tolist() == [1, 1]


def test_mondrian_seeds_get_coarser_with_k(small):
    cuts = [int(vector.sum()) for vector in mondrian_seeds(small, cut_space(small.cells), [2, 10, 45])]
    assert all(a >= b for a, b in pairwise(cuts)) and cuts[0] > cuts[-1]


@pytest.mark.parametrize(
    "wanted",
    [Problem1(), Problem2(0.1), Problem3(), Problem4(0.1), MeasuredProblem("k, loss", suppress=0.1)],
    ids=lambda own: own.name,
)
def test_our_first_population_has_the_seeds_and_the_papers_has_not(small, wanted):
    made = {vector.tobytes() for vector in seeds(small, cut_space(small.cells), wanted.share)}
    search = Search(small, wanted, solver=NSGA2(population=60, generations=1))
    first = {vector.tobytes() for vector in search.first_population(np.random.default_rng(1))}
    assert made <= first
    paper = Search(small, wanted, solver=replace(search.solver, operators="paper"))
    drawn_only = drawn(paper.space, 60, np.random.default_rng(1), False)
    assert (paper.first_population(np.random.default_rng(1)) == drawn_only).all()
    few = Search(small, wanted, solver=NSGA2(population=4, generations=1)).first_population(np.random.default_rng(1))
    assert len(few) == 4


# -- the kernels that count groups ---------------------------------------------------------------------------


@given(cells_of_tables(sensitive=(0, 0), rows=24), st.integers(0, 2**32 - 1))
@tries(60)
def test_counted_groups_are_the_numbered_ones(cells, seed):
    space = cut_space(cells, constrained=())
    table = CutTable.of(cells, space)
    n, blocks = table.codes.shape[1], table.codes.shape[0]
    keys, losses = np.empty((blocks, 4096), np.int64), np.empty((blocks, 4096))
    slots = 4
    while slots < 2 * n:
        slots *= 2
    packed = np.zeros(slots, np.uint64)
    for vector in drawn(space, 4, np.random.default_rng(seed), True):
        span = fill_tables(vector, table.layout, keys, losses)
        both = []
        for packs in (True, False):
            sizes, lost, group = np.empty(n, np.int64), np.empty(n), np.empty(n, np.int32)
            given_ = (table.codes, table.counts, keys, losses, span)
            found = (
                count_groups(*given_, packed, sizes, lost)
                if packs
                else number_groups(*given_, slots, group, sizes, lost)
            )
            both.append((sizes[:found].tolist(), lost[:found].tolist()))
        assert both[0] == both[1]
        assert not packed.any()


def test_keys_too_large_for_half_an_entry_are_counted_too():
    generator = np.random.default_rng(4)
    names = ["a", "b", "c", "d"]
    rows = {name: generator.choice([0, 1, 500, 998, 999], 60).tolist() for name in names}
    table = read(pa.table(rows), quasi=names, hierarchies={name: numeric(0, 999) for name in names})
    space = cut_space(table.cells, constrained=())
    assert (np.prod([own.bits + 1.0 for own in space.attributes])) > 2**32
    vectors = np.stack([np.ones(space.bits, np.uint8), np.zeros(space.bits, np.uint8)])
    found = np.concatenate(CutTable.of(table.cells, space).facts(vectors, counting.KEEP_ALL, counting.SIZE, 0))
    different = len(set(zip(*rows.values(), strict=True)))
    assert found[:, counting.GROUPS].tolist() == [different, 1]
    assert found[:, counting.GENERALIZED].tolist() == [0.0, 1.0]
