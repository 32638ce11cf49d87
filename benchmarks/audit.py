"""The audit of a large published file beside DuckDB's own GROUP BY on the same columns (targets: 2x, 2 GB).

Run: python benchmarks/audit.py [--rows 10000000] [--repeats 3] [--folder /tmp]

DuckDB makes two Parquet files of generalized texts (six quasi-identifiers, one sensitive attribute of 14 values): one
with few large groups, one with many small ones. Audit and GROUP BY take turns in one process; the GROUP BY hands its
result over as Arrow batches, as the audit's own does. Peak memory is that of a fresh process which audits once.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb

from common import compare_seconds, print_table, verdict

QUASI = ("age", "zip", "sex", "job", "status", "origin")
KINDS = {"few groups": (10, 100), "many groups": (5, 400)}
"""The width of published ages and the number of published ZIP prefixes."""


def make(path: Path, rows: int, width: int, prefixes: int) -> None:
    """Write a published file: texts that depend on a hash of the row number, skewed towards low values."""
    path.unlink(missing_ok=True)

    def skewed(size: int, salt: int) -> str:
        return f"floor({size} * pow(hash(i + {salt} * 1000003) / 18446744073709551616.0, 1.5))::INT"

    age = f"{skewed(90 // width, 1)} * {width}"
    columns = [
        f"({age}) || '-' || ({age} + {width - 1}) AS age",
        f"lpad(({skewed(prefixes, 2)})::VARCHAR, 3, '0') || '**' AS zip",
        f"['female', 'male'][{skewed(2, 3)} + 1] AS sex",
        f"'job {{' || ({skewed(6, 4)}) || '}}' AS job",
        f"['{{Divorced, Widowed}}', 'Married', 'Never-married'][{skewed(3, 5)} + 1] AS status",
        f"['*', 'Europe', 'Asia'][{skewed(3, 6)} + 1] AS origin",
        f"'disease ' || ({skewed(14, 7)}) AS disease",
    ]
    duckdb.sql(f"COPY (SELECT {', '.join(columns)} FROM range({rows}) AS r(i)) TO '{path}' (FORMAT parquet)")


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
    for kind, (width, prefixes) in KINDS.items():
        path = folder / "published.parquet"
        make(path, rows, width, prefixes)
        cells, groups = group_by(path), audit(path).groups
        own, plain, _ = compare_seconds(lambda path=path: audit(path), lambda path=path: group_by(path), repeats)
        peak = fresh_peak(path)
        said = f"{verdict(own / plain, 2)}, {verdict(peak, 2048)}"
        times = (f"{own:.2f} s", f"{plain:.2f} s", f"{own / plain:.2f}x")
        printed.append((kind, f"{rows:,}", f"{groups:,}", f"{cells:,}", *times, f"{peak:.0f} MB", said))
    print_table(["file", "rows", "groups", "counts", "audit", "GROUP BY", "ratio", "peak memory", ""], printed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--once", type=Path, help="Audit this file and print the peak memory of the process.")
    chosen = parser.parse_args()
    if chosen.once:
        audit(chosen.once)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    else:
        with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
            measure(Path(name), chosen.rows, chosen.repeats)
