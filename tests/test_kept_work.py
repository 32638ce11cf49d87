"""What is kept between runs is believed where it fits its check sum, is for its owner alone, and stays in place."""

import json
import os
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from command_line import run
from points import point_of
from sfumato.tradeoff.exploration.folder import Cache, mend_cache
from sfumato.tradeoff.limit import Limit

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
    assert code == 0 and "cache.jsonl show records" in out
    points, cache = Path("map/points.json"), Path("map/cache.jsonl")
    before, text = points.read_bytes(), cache.read_text()
    for changed in (text.replace('"k": 6', '"k": 60'), text.replace('"loss": 0.', '"loss": 0.5'), text[:-30], "{}\n"):
        assert changed != text
        cache.write_text(changed)
        code, _, err = run(*words)
        assert code == 0 and "not fit" in err and "measured anew" in err
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
    from sfumato.tradeoff.search.checkpoint import ONLY_STAGE, Evolved, Snapshot, read_checkpoint, write_checkpoint

    path = tmp_path / "search.npz"
    bits = np.array([[0, 1, 1]], np.uint8)
    evolved = Evolved(bits.astype(np.int16), np.zeros(1, np.int64), np.ones(1), {"state": 1})
    snapshot = Snapshot(3, evolved, 1, bits, np.array([[0.5, 2.0]]), 7, 0, False, ONLY_STAGE)
    write_checkpoint(path, "key", snapshot, [bits[0].tobytes()], [])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = read_checkpoint(path, "key")
    assert again is not None and again.facts.tolist() == [[0.5, 2.0]] and again.known == (bits[0].tobytes(),)
    assert read_checkpoint(path, "other") is None
    with np.load(path) as held:
        arrays = dict(held)
    for name in ("facts", "rank", "about"):
        changed = {**arrays, name: np.array("{}") if name == "about" else arrays[name] + 1}
        np.savez(path, **changed)
        with pytest.raises(ValueError, match="not a checkpoint" if name == "about" else "check sum"):
            read_checkpoint(path, "key")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError):
        read_checkpoint(path, "key")
