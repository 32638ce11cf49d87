"""A command of two checkouts in turns: processor time, user and system, each turn in a fresh folder.

    git worktree add /tmp/before 5ebbf9d
    python benchmarks/turns.py /tmp/before . --turns 6 -- explore adult --out OUT

`OUT` is replaced by a folder that is empty before every turn. Both write bytecode and keep their machine code, and a
first turn of each, which compiles, does not count.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

START = "import sys; sys.argv[0] = 'sfumato'; from sfumato.{} import main; main()"


def spent(checkout: Path, words: list[str]) -> float:
    """Run the command of a checkout once; return the seconds of processors that it took."""
    module = "__main__" if (checkout / "src/sfumato/__main__.py").is_file() else "cli"
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        given = [word.replace("OUT", f"{folder}/out") for word in words]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-c", START.format(module), *given]
        subprocess.run(command, env=environment, check=True, capture_output=True, cwd=folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    """Take turns and print medians, least values and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    checkouts = (given.before.resolve(), given.after.resolve())
    for checkout in checkouts:
        spent(checkout, given.command)
    turns = [[spent(checkout, given.command) for checkout in checkouts] for _ in range(given.turns)]
    before, after = zip(*turns, strict=True)
    for name, seconds in (("before", before), ("after", after)):
        each = " ".join(f"{value:.2f}" for value in seconds)
        print(f"{name:7} median {statistics.median(seconds):.2f} s, least {min(seconds):.2f} s ({each})")
    medians = statistics.median(after) / statistics.median(before)
    print(f"ratio of the medians {medians:.3f}, of the least {min(after) / min(before):.3f}")


if __name__ == "__main__":
    main()
