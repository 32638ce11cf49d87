"""Reading ARX's Adult with its hierarchies, beside a bare read of the same file by DuckDB (target: twice its time).

Run: python benchmarks/reading.py FOLDER [--repeats 9]    (the folder with adult.csv and adult_hierarchy_*.csv)

Both take turns in one process. Seconds are of processors; the bare read makes a table of texts, the other one also
finds delimiter and header, reads numbers and dates, checks values against hierarchies and counts the cells.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

import sfumato
from common import print_table, verdict

TARGET = 2.0
QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class")


def processor_seconds(job: Callable[[], Any]) -> float:
    """Return the processor time of a job."""
    started = time.process_time()
    job()
    return time.process_time() - started


def main() -> None:
    """Read the file in turns, and print both medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeats", type=int, default=9)
    given = parser.parse_args()
    path = given.folder / "adult.csv"

    def own() -> object:
        return sfumato.read(path, quasi=QUASI, sensitive="occupation", hierarchies=given.folder).cells

    def plain() -> None:
        with duckdb.connect() as connection:
            connection.execute("SET threads = 1")
            connection.execute(f"CREATE TABLE rows AS FROM read_csv('{path}', delim = ';', all_varchar = true)")

    own(), plain()
    pairs = [(processor_seconds(own), processor_seconds(plain)) for _ in range(given.repeats)]
    ours, theirs = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = statistics.median(mine / bare for mine, bare in pairs)
    row = (f"{1e3 * ours:.0f}", f"{1e3 * theirs:.0f}", f"{ratio:.2f}", verdict(ratio, TARGET))
    print_table(("with hierarchies, ms", "bare read, ms", "ratio", f"target {TARGET:g}"), [row])


if __name__ == "__main__":
    main()
