"""Ctrl-C: real signals to real processes. One sentence, 130, nothing half-written, and soon."""

import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from sfumato.runtime import cancellation as interrupts

HANGING = 600
"""Seconds after which something is held to hang; five are promised, on a machine that does nothing else."""

STARTED = "from sfumato.__main__ import main; print('now', flush=True); main()"
"""The command line, which says when it could be interrupted; before that it would be Python that is."""

STUDY = """
schema = 1
name = "people"
[table]
source = "people.csv"
quasi = ["age", "town"]
sensitive = ["illness"]
[[candidates]]
anonymizers = ["mondrian", "full-domain"]
requirements = [{requirements}]
forms = ["generalization", "bucketization"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table that keeps a command busy for a while, and a study of it."""
    folder = tmp_path_factory.mktemp("busy")
    dice = random.Random(1)
    rows = [f"{dice.randrange(90)},t{dice.randrange(300)},{dice.choice('abcdefgh')}" for _ in range(20_000)]
    (folder / "people.csv").write_text("\n".join(["age,town,illness", *rows]) + "\n")
    requirements = ", ".join(f'"k-anonymity k={k}"' for k in range(2, 120))
    (folder / "study.toml").write_text(STUDY.format(requirements=requirements))
    return folder


def stopped(folder, words, after):
    """Start a command, press Ctrl-C some time after it says that it has begun; return the process and what it said."""
    command = words if words[0] == sys.executable else [sys.executable, "-c", STARTED, *words]
    running = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "now\n"
    after(running)
    os.kill(running.pid, signal.SIGINT)
    return running, running.communicate(timeout=HANGING)[1]


def waiting(seconds):
    """Wait for some seconds."""
    return lambda _: time.sleep(seconds)


def first_seen(path):
    """Wait until a file has something in it."""

    def wait(running):
        while running.poll() is None and not (path.exists() and path.stat().st_size):
            time.sleep(0.02)

    return wait


COMMANDS = {
    "explore": ("explore", "study.toml", "--out", "map"),
    "anonymize": (
        *("anonymize", "people.csv", "--quasi", "age,town", "--sensitive", "illness"),
        *("--require", "k-anonymity k=5", "--with", "full-domain", "--to", "published.csv"),
    ),
    "check": ("check", "study.toml"),
    "audit": ("audit", "people.csv", "--quasi", "age,town", "--sensitive", "illness"),
    "search": ("explore", "study.toml", "--preset", "dewri", "--out", "search"),
    "reproduce": ("reproduce", "dewri-2011", "--out", "paper"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_ctrl_c_at_any_moment_is_one_sentence_and_130(folder, command):
    known = set(folder.iterdir())
    pause = random.Random(command).uniform(1, 3)
    running, said = stopped(folder, COMMANDS[command], waiting(pause))
    while running.returncode == 0:  # it had ended: press sooner
        for path in set(folder.iterdir()) - known:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        pause *= 0.7
        running, said = stopped(folder, COMMANDS[command], waiting(pause))
    assert "Traceback" not in said
    assert running.returncode == 130
    assert [line for line in said.splitlines() if line.startswith("sfumato: ")] == [said.splitlines()[-1]]
    assert said.splitlines()[-1].startswith("sfumato: stopped")
    assert not [path for path in folder.rglob("*") if ".part" in path.name or path.name.startswith("sfumato-")]
    new = {path.name for path in set(folder.iterdir()) - known}
    assert new <= {"map", "search", "paper"} and not list(folder.rglob("points.json"))


def test_what_was_measured_is_kept_and_the_same_command_goes_on(folder):
    cache = folder / "kept" / "cache.jsonl"
    words = ("explore", "study.toml", "--out", "kept", "--workers", "1")
    running, said = stopped(folder, words, first_seen(cache))
    assert running.returncode == 130
    assert (
        said.splitlines()[-1] == "sfumato: stopped; results so far are kept, and the same command continues from there"
    )
    kept = cache.read_text()
    assert kept.endswith("\n") and kept.count("\n") >= 1


WORK = """
    import sys, tempfile
    from pathlib import Path
    import numpy as np
    from sfumato.runtime import cancellation as interrupts
    from sfumato.engines.duckdb.sources import connect
    from sfumato.runtime.kernels import kernel
    from sfumato.runtime.staging import staged

    @kernel
    def forever(start):
        total = start
        while total >= 0:
            total = (total * 3 + 1) % 1000003
        return total

    def work():
        with interrupts.last_words("stopped; there"), staged([Path("never.csv")]) as [draft]:
            draft.write_text("half")
            with tempfile.TemporaryDirectory(dir=".") as copy, interrupts.unfinished(Path(copy)):
                print("now", flush=True)
                {busy}
        return 0

    sys.exit(interrupts.run(work))
"""
BUSY = {
    "a kernel without the GIL": "forever(7)",
    "a query": 'connect().sql("SELECT count(*) FROM range(10000000000) a JOIN range(1000) b ON true").fetchall()',
    "Python": "while True: pass",
    "something that takes no notice": """
                while True:
                    try:
                        __import__("time").sleep(60)
                    except KeyboardInterrupt:
                        pass""",
}


@pytest.mark.parametrize("busy", BUSY)
def test_nothing_is_so_busy_that_it_cannot_be_left(tmp_path, busy):
    (tmp_path / "work.py").write_text(textwrap.dedent(WORK.replace("{busy}", BUSY[busy])))

    running, said = stopped(tmp_path, [sys.executable, "work.py"], waiting(0.3))
    assert running.returncode == 130 and said == "sfumato: stopped; there\n"
    assert [path.name for path in tmp_path.iterdir()] == ["work.py"]


KEEPS = """
    import sys, time
    from pathlib import Path
    from sfumato.errors import StoppedError
    from sfumato.runtime import cancellation as interrupts

    def work():
        try:
            with interrupts.ends_itself():
                print("now", flush=True)
                while True:
                    interrupts.check_cancelled()
                    time.sleep(0.01)
        except StoppedError:
            time.sleep(0.5)
            Path("kept").write_text("what was found")
        return 130

    sys.exit(interrupts.run(work))
"""


def test_who_is_stopped_has_the_time_to_keep_what_was_found(tmp_path):
    (tmp_path / "work.py").write_text(textwrap.dedent(KEEPS))
    running, said = stopped(tmp_path, [sys.executable, "work.py"], waiting(0))
    assert running.returncode == 130 and said == "sfumato: stopped\n"
    assert (tmp_path / "kept").read_text() == "what was found"


TALKS = """
    import sys, time
    from sfumato.runtime import cancellation as interrupts

    class Slow:
        def close(self):
            time.sleep(0.2)

    def work():
        kept = interrupts.interruptible(Slow())
        print("now", flush=True)
        while True:
            print("note: more", file=sys.stderr, flush=True)
            time.sleep(0.02)

    sys.exit(interrupts.run(work))
"""


def test_nothing_is_said_after_the_last_words(tmp_path):
    (tmp_path / "work.py").write_text(textwrap.dedent(TALKS))
    running, said = stopped(tmp_path, [sys.executable, "work.py"], waiting(0.1))
    assert running.returncode == 130 and said.count("sfumato: stopped") == 1
    assert said.splitlines()[-1] == "sfumato: stopped"


def test_without_ctrl_c_the_exit_code_and_errors_pass():
    assert interrupts.run(lambda: 7) == 7

    def fails() -> int:
        raise ValueError("as ever")

    with pytest.raises(ValueError, match="as ever"):
        interrupts.run(fails)
