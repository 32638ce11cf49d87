"""The command line as a user meets it: `--help` (target .35 s), `anonymize adult` warm (1.5 s) and first ever (30 s).

Run: python benchmarks/commands.py [--python /tmp/bench_venv/bin/python] [--repeats 9] [--rows 3000000]

Every command is a fresh process of the given Python. Printed are the median time, processor time, peak memory and the
ratio to the bare interpreter (`python -c pass`). Packages that are no dependency (pandas, scipy) slow imports, so
measure in a fresh environment: python3 -m venv /tmp/bench_venv && /tmp/bench_venv/bin/pip install . The first run
ever has an empty NUMBA_CACHE_DIR. `--rows` also sends a synthetic CSV (6 quasi-identifiers) through the whole path.
Peak memory cannot be seen below that of this script (about 28 MB).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from common import DOMAINS, VALUES, print_table, verdict

Run = tuple[float, float, float, str]
"""Seconds, seconds of processor time, peak memory in MB, standard output."""


def run(command: list[str], cache: Path, output: Path) -> Run:
    """Run a command with this cache of machine code; it must succeed."""
    with output.open("w+") as stream:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=stream, stderr=subprocess.DEVNULL, env={**os.environ, "NUMBA_CACHE_DIR": str(cache)}
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        stream.seek(0)
        assert process.returncode == 0, command
        return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, stream.read()


def measure_commands(python: str, folder: Path, repeats: int) -> None:
    sfumato = [python, "-m", "sfumato.commands.app"]
    anonymize = [*sfumato, "anonymize", "adult", "--require", "k-anonymity k=10", "--force"]
    anonymize += ["--to", str(folder / "release.csv")]
    warm = folder / "warm"
    jobs = [
        ("python -c pass", [python, "-c", "pass"], None, repeats),
        ("import duckdb, numba, pyarrow", [python, "-c", "import duckdb, numba, pyarrow"], None, repeats),
        ("sfumato --help", [*sfumato, "--help"], 0.35, repeats),
        ("sfumato anonymize adult, first run ever", anonymize, 30.0, 3),
        ("sfumato anonymize adult, warm", anonymize, 1.5, repeats),
    ]
    rows, bare = [], 0.0
    for name, command, target, times in jobs:
        first = "first" in name
        caches = [folder / f"empty{i}" if first else warm for i in range(times)]
        if not first:
            run(command, warm, folder / "out")
        runs = [run(command, cache, folder / "out") for cache in caches]
        seconds = statistics.median(run[0] for run in runs)
        processor = statistics.median(run[1] for run in runs)
        bare = bare or seconds
        spread = f"{min(runs)[0]:.2f}-{max(runs)[0]:.2f}"
        said = verdict(seconds, target) if target else ""
        memory = f"{runs[-1][2]:.0f} MB"
        times_shown = (f"{seconds:.2f} s", spread, f"{processor:.2f} s")
        rows.append((name, *times_shown, f"{seconds / bare:.0f}x", memory, target or "", said))
    print_table(["command", "median", "range", "processor", "to bare Python", "peak memory", "target (s)", ""], rows)


def write_synthetic(path: Path, rows: int, seed: int = 1) -> None:
    """Write a CSV of six quasi-identifiers and a sensitive attribute, skewed towards low values."""
    import pyarrow as pa
    from pyarrow import csv

    generator = np.random.default_rng(seed)
    columns = {f"q{i}": (size * generator.random(rows) ** 1.5).astype(int) for i, size in enumerate(DOMAINS)}
    values = np.array([f"v{i:03}" for i in range(VALUES)])
    columns["s"] = values[(VALUES * generator.random(rows) ** 1.5).astype(int)]
    csv.write_csv(pa.table(columns), path)


def measure_rows(python: str, folder: Path, rows: int, repeats: int) -> None:
    source, target, cache = folder / "rows.csv", folder / "rows-release.csv", folder / "warm"
    write_synthetic(source, rows)
    command = [python, "-m", "sfumato.commands.app", "anonymize", str(source), "--quasi", "q0,q1,q2,q3,q4,q5"]
    command += ["--sensitive", "s", "--require", "k-anonymity k=10", "--to", str(target), "--force", "--json"]
    runs = [run(command, cache, folder / "out") for _ in range(repeats)]
    seconds, processor, memory, said = sorted(runs)[len(runs) // 2]
    steps = {name: f"{value:.1f} s" for name, value in json.loads(said)["seconds_by_step"].items()}
    size = f"{source.stat().st_size / 1e6:.0f} MB of CSV"
    print(f"{rows:,} rows, {size}\n")
    whole = (f"{seconds:.1f} s", f"{processor:.1f} s")
    print_table(["whole", "processor", *steps, "peak memory"], [(*whole, *steps.values(), f"{memory:.0f} MB")])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--rows", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        measure_commands(chosen.python, Path(name), chosen.repeats)
        if chosen.rows:
            measure_rows(chosen.python, Path(name), chosen.rows, 3)
