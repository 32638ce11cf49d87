"""`sfumato explore` on the command line: what it leaves behind, the same bytes for any number of workers, resuming."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from command_line import run
from held_runs import HELD, held_until
from sfumato.tradeoff.study.study import Study

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
    assert {"points.json", "timings.json", "report.html", "report-public.html", "map.png", "study.toml"} <= names
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
        assert running.returncode == 130 and "Traceback" not in said and "goes on from there" in said
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
