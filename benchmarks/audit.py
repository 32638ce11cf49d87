"""The audit of a large published file beside DuckDB's own GROUP BY on the same columns (targets: 2x, 2 GB).

Run: python benchmarks/audit.py [--rows 10000000] [--repeats 3] [--folder /tmp]

DuckDB makes two Parquet files of generalized texts (six quasi-identifiers, one sensitive attribute of 14 values): one
with few large groups, one with many small ones. Audit and GROUP BY take turns in one process; the GROUP BY hands its
result over as Arrow batches, as the audit's own does. Peak memory is that of a fresh process which audits once.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb

from common import compare_seconds, print_table, verdict

QUASI = ("age", "zip", "sex", "job", "status", "origin")
GROUPS = (50_000, 500_000)
"""Groups of the two files: 200 and 20 records each, in 10 million rows."""

SIZES = (18, 300, 2, 6, 3, 3)
"""Texts of each quasi-identifier."""


def make(path: Path, rows: int, groups: int) -> None:
    """Write a published file: each row falls into a group by a hash, and the group's number gives its texts."""
    path.unlink(missing_ok=True)
    spread, digits, before = f"(g * 7919) % {math.prod(SIZES)}", [], 1
    for size in SIZES:
        digits.append(f"(({spread}) // {before} % {size})")
        before *= size
    age, zip_code, sex, job, status, origin = digits
    columns = [
        f"({age} * 5) || '-' || ({age} * 5 + 4) AS age",
        f"lpad({zip_code}::VARCHAR, 3, '0') || '**' AS zip",
        f"['female', 'male'][{sex} + 1] AS sex",
        f"'{{baker, job ' || {job} || '}}' AS job",
        f"['{{Divorced, Widowed}}', 'Married', 'Never-married'][{status} + 1] AS status",
        f"['*', 'Europe', 'Asia'][{origin} + 1] AS origin",
        "'disease ' || floor(14 * pow(hash(i + 99) / 18446744073709551616.0, 1.5))::INT AS disease",
    ]
    rows_of = f"SELECT i, (hash(i) % {groups})::BIGINT AS g FROM range({rows}) AS r(i)"
    duckdb.sql(f"COPY (SELECT {', '.join(columns)} FROM ({rows_of})) TO '{path}' (FORMAT parquet)")


def group_by(path: Path) -> int:
    """Let DuckDB count the same columns."""
    names = ", ".join((*QUASI, "disease"))
    with duckdb.connect() as connection:
        batches = connection.sql(f"SELECT {names}, count(*) FROM '{path}' GROUP BY {names}").to_arrow_reader(1 << 17)
        return sum(batch.num_rows for batch in batches)


def audit(path: Path) -> Any:
    """Audit the file."""
    import sfumato

    return sfumato.audit(path, QUASI, ["disease"], require="k-anonymity k=2 & l-diversity l=2 variant=distinct")


def fresh_peak(path: Path) -> float:
    """Return the peak memory of a new process that audits the file, in MB."""
    command = [sys.executable, __file__, "--once", str(path)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def measure(folder: Path, rows: int, repeats: int) -> None:
    printed = []
    for wanted in GROUPS:
        path = folder / "published.parquet"
        make(path, rows, wanted)
        cells, groups = group_by(path), audit(path).groups
        own, plain, _ = compare_seconds(lambda path=path: audit(path), lambda path=path: group_by(path), repeats)
        peak = fresh_peak(path)
        said = f"{verdict(own / plain, 2)}, {verdict(peak, 2048)}"
        times = (f"{own:.2f} s", f"{plain:.2f} s", f"{own / plain:.2f}x")
        printed.append((f"{rows:,}", f"{groups:,}", f"{cells:,}", *times, f"{peak:.0f} MB", said))
    print_table(["rows", "groups", "counts", "audit", "GROUP BY", "ratio", "peak memory", ""], printed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--once", type=Path, help="Audit this file and print the peak memory of the process.")
    chosen = parser.parse_args()
    if chosen.once:
        audit(chosen.once)
        status = Path("/proc/self/status").read_text()  # ru_maxrss would have the parent's memory in it
        print(int(status.split("VmHWM:")[1].split()[0]) / 1024)
    else:
        with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
            measure(Path(name), chosen.rows, chosen.repeats)
