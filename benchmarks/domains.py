"""How `sfumato explore` grows with the size of a domain and with the number of sensitive values.

Every case is a fresh process on a table of few rows, with a limit on its memory; processor seconds and the largest
resident memory are those the system counted for it. `--sources` takes another checkout's `src`, to compare.

    python benchmarks/domains.py [--sources /path/to/src] [--gigabytes 8] [--only LEAVES ...]
"""

from __future__ import annotations

import argparse
import datetime
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CASES = (
    ("numbers", 301, 1_000, 4),
    ("numbers", 301, 100_000, 4),
    ("numbers", 3_000, 1_000_000, 4),
    ("days", 3_000, 36_525, 2_850),
)
"""What leaves are, rows, leaves, sensitive values."""

STUDY = """
schema = 1
name = "domain"
axes = ["p_loss", "u_loss"]
[table]
source = "table.csv"
quasi = ["wide", "sex"]
sensitive = ["value"]
[table.hierarchy.wide]
{hierarchy}
[[candidates]]
anonymizers = ["mondrian", "full-domain"]
requirements = ["k-anonymity k=5", "k-anonymity k=20"]
forms = ["generalization", "bucketization"]
"""


def write_case(folder: Path, kind: str, rows: int, leaves: int, values: int) -> None:
    """Write a random table and its study."""
    dice, first = random.Random(1), datetime.date(1920, 1, 1)
    lines = ["wide,sex,value"]
    for i in range(rows):
        leaf = dice.randrange(leaves)
        wide = leaf if kind == "numbers" else first + datetime.timedelta(leaf)
        lines.append(f"{wide},{dice.choice('mf')},v{i if i < values else dice.randrange(values)}")
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    widths = [width for width in (10, 100, 1_000, 10_000, 100_000) if width < leaves]
    hierarchy = f'type = "numeric"\nlower = 0\nupper = {leaves - 1}\nintervals = {widths}'
    if kind == "days":
        hierarchy = f'type = "dates"\nfirst = "{first}"\nlast = "{first + datetime.timedelta(leaves - 1)}"'
    (folder / "study.toml").write_text(STUDY.format(hierarchy=hierarchy))


def explored(folder: Path, sources: Path | None, gigabytes: float) -> str:
    """Explore once and return a row's end: how it ended, processor seconds, wall seconds, peak memory."""
    environment = {**os.environ, **({} if sources is None else {"PYTHONPATH": str(sources)})}
    most = int(gigabytes * 2**30)
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "sfumato.commands.app", "explore", "study.toml", "--out", "map"],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
    )
    said = process.stderr.read().decode() if process.stderr else ""
    _, status, used = os.wait4(process.pid, 0)
    ended = "done" if status == 0 else said.strip().splitlines()[-1][:60]
    seconds = used.ru_utime + used.ru_stime
    return f"{ended} | {seconds:.1f} s | {time.perf_counter() - started:.0f} s | {used.ru_maxrss / 1e6:.2f} GB"


def main() -> None:
    """Print the table."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--sources", type=Path)
    words.add_argument("--gigabytes", type=float, default=8)
    words.add_argument("--only", type=int, nargs="*")
    given = words.parse_args()
    print("| leaves | rows | values | `explore`, 8 candidates | processor | wall | peak memory |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kind, rows, leaves, values in CASES:
        if given.only and leaves not in given.only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            write_case(Path(folder), kind, rows, leaves, values)
            ended = explored(Path(folder), given.sources, given.gigabytes)
            print(f"| {leaves:,} {kind} | {rows:,} | {values:,} | {ended} |", flush=True)


if __name__ == "__main__":
    main()
