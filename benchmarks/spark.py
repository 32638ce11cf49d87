"""What Spark takes for cells and releases, beside what it takes at least: a bare GROUP BY, a bare join-and-write.

    python benchmarks/spark.py 10000000 /tmp/census-10m.parquet

Everything runs in one process and one session (local[2]), each job several times in turn; what is compared is the best
of each, in seconds of the clock and of processors (of the JVM and of Python).
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import sfumato
from census import NEUTRAL, QUASI, SENSITIVE, make_census
from engines import HIERARCHIES, shown_labels
from sfumato.engines.spark.sources import collected

SETTINGS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
SETTINGS |= {"spark.driver.memory": "6g", "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "4"}
TARGETS = {"cells": 1.3, "release": 1.5, "release without neutral columns": 1.5}
RELEASED = {"release": NEUTRAL, "release without neutral columns": ()}
"""The releases that are written, with their neutral columns."""


def session(memory: str) -> SparkSession:
    builder = SparkSession.builder.master("local[2]").appName("benchmark")
    for name, value in (SETTINGS | {"spark.driver.memory": memory}).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def processor_seconds(spark: SparkSession) -> float:
    """Add up what this process and its JVM have used."""
    jvm = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
    fields = Path(f"/proc/{jvm}/stat").read_text().rpartition(")")[2].split()
    return sum(os.times()[:2]) + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def timed(spark: SparkSession, jobs: dict[str, Callable[[], object]], turns: int) -> dict[str, tuple[float, float]]:
    """Run jobs in turn; of each the least seconds of the clock, and of processors."""
    least = {name: (float("inf"), float("inf")) for name in jobs}
    for _ in range(turns):
        for name, job in jobs.items():
            clock, used = time.perf_counter(), processor_seconds(spark)
            job()
            taken = time.perf_counter() - clock, processor_seconds(spark) - used
            least[name] = min(least[name][0], taken[0]), min(least[name][1], taken[1])
    return least


def bare_release(frame: DataFrame, shown: dict[str, dict[str, str]], neutral: tuple[str, ...]) -> DataFrame:
    """Join every row to the label of each of its values, column by column: the least that writing a release can be."""
    for name, labels in shown.items():
        pairs = pa.table({f"in_{name}": list(labels), f"out_{name}": list(labels.values())})
        lookup = frame.sparkSession.createDataFrame(pairs)
        frame = frame.join(lookup.hint("broadcast"), frame[name].cast("string") == lookup[f"in_{name}"])
    return frame.selectExpr(*(f"out_{name} AS {name}" for name in shown), *SENSITIVE, *neutral)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=int)
    parser.add_argument("path", type=Path)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--memory", default=SETTINGS["spark.driver.memory"], help="Of the driver.")
    parser.add_argument("--only", nargs="+", default=[*TARGETS], choices=[*TARGETS])
    given = parser.parse_args()
    make_census(given.path, given.rows)
    spark = session(given.memory)
    frame = spark.read.parquet(str(given.path))
    clock = time.perf_counter()
    columns = {"quasi": QUASI, "sensitive": SENSITIVE, "hierarchies": HIERARCHIES, "most_cells": 1 << 60}
    tables = {name: sfumato.read(frame, **columns, neutral=RELEASED[name]) for name in RELEASED if name in given.only}
    table = next(iter(tables.values()), None) or sfumato.read(frame, **columns)
    opened = time.perf_counter() - clock
    print(f"{given.rows:,} rows, {table.cells.size:,} cells; opened in {opened:.1f} s", flush=True)
    engine = table.engine
    codings = engine._links[int(table.link)].codings  # type: ignore[attr-defined]
    names = [*QUASI, *SENSITIVE]
    counted = {
        "bare GROUP BY": lambda: collected(frame.groupBy(*names).count()),
        "cells": lambda: engine.count_cells(codings),
    }
    if "cells" in given.only:
        report(timed(spark, counted, given.turns), "bare GROUP BY", "cells")
    folder = Path(tempfile.mkdtemp(prefix="spark-benchmark-"))
    try:
        for what, one in tables.items():
            release = sfumato.anonymize(one, "k-anonymity k=10", "full-domain")
            bare = bare_release(frame, shown_labels(one, release), RELEASED[what])
            written = {
                "bare join-and-write": lambda bare=bare: bare.write.mode("overwrite").parquet(str(folder / "bare")),
                what: lambda release=release: release.to_parquet(folder / "release.parquet", force=True),
            }
            report(timed(spark, written, given.turns), "bare join-and-write", what)
    finally:
        shutil.rmtree(folder)
        spark.stop()


def report(least: dict[str, tuple[float, float]], bare: str, ours: str) -> None:
    for name, (clock, used) in least.items():
        print(f"{name}: {clock:.1f} s, {used:.1f} s of processors")
    clock, used = (ours_ / bare_ for ours_, bare_ in zip(least[ours], least[bare], strict=True))
    print(
        f"-> {ours}: {clock:.2f} of {bare} by the clock, {used:.2f} of its processors (target {TARGETS[ours]})",
        flush=True,
    )


if __name__ == "__main__":
    main()
