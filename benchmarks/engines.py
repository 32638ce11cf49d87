"""Rows beyond memory: what the engine takes beside DuckDB's bare statements, in one run, as ratios.

    python benchmarks/engines.py --rows 1000000 10000000              # two minutes
    python benchmarks/engines.py --rows 50000000 --memory 4GB         # the target; ten minutes, 2 GB of disk
    python benchmarks/engines.py --rows 1000000 10000000 100000000 --memory 4GB
    python benchmarks/engines.py --rows 1000000 --copies 10 --only explore    # the same cells, ten times the records
    CANDIDATES=4 python benchmarks/engines.py --rows 100000000 --memory 4GB --only explore    # 4 candidates, not 20

Every step of a size runs in a process of its own, so that peaks of memory are its own. Ratios are of processor time,
which other work on the machine disturbs least; wall time stands beside it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from census import NEUTRAL, QUASI, SENSITIVE, make_census

HIERARCHIES = {
    "age": {"type": "numeric", "lower": 0, "upper": 99, "intervals": [5, 20]},
    "district": {"type": "prefixes"},
}
COLUMNS = (*sorted(QUASI), *SENSITIVE)
SIZES = (2, 3, 5, 8, 10, 20, 50, 100, 200, 500)
"""The k that exploring asks for, each of two anonymizers; fewer where `CANDIDATES` in the environment says so."""

COPIES = "-copies-"
TARGETS = {"cells": 1.3, "release": 1.5, "release with neutral columns": 1.5, "audit": 2.0}


def timed(job: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Run a job; return what it returns, and what it took."""
    wall, used = time.perf_counter(), time.process_time()
    result = job()
    return result, {"wall": time.perf_counter() - wall, "cpu": time.process_time() - used}


def bare_connection(memory: str | None) -> duckdb.DuckDBPyConnection:
    """Open DuckDB with as many threads and as much memory as the engine has."""
    from sfumato.runtime.threads import workers

    connection = duckdb.connect()
    connection.execute(f"SET threads = {workers()}")
    connection.execute(f"SET temp_directory = '{tempfile.gettempdir()}/bare-spill'")
    if memory:
        connection.execute(f"SET memory_limit = '{memory}'")
    return connection


def table_of(path: Path, memory: str | None, neutral: tuple[str, ...] = (), most_cells: int | None = None) -> Any:
    """Read the census."""
    import sfumato

    roles = {"quasi": QUASI, "sensitive": SENSITIVE, "neutral": neutral}
    return sfumato.read(path, **roles, hierarchies=HIERARCHIES, memory=memory, most_cells=most_cells)


# -- the steps: each in a process of its own -------------------------------------------------------------------


def bare_cells(path: Path, memory: str | None, folder: Path) -> dict[str, Any]:
    """Count by DuckDB's GROUP BY alone, the result as an Arrow table."""
    query = f"SELECT {', '.join(COLUMNS)}, count(*) AS n FROM '{path}' GROUP BY ALL"
    with bare_connection(memory) as connection:
        rows, took = timed(lambda: connection.sql(query).to_arrow_table().num_rows)
    return {"cells": rows, **took}


def cells(path: Path, memory: str | None, folder: Path) -> dict[str, Any]:
    """Open the table, find all codes, count the cells."""
    import sfumato.data.reading  # noqa: F401  (what is imported is not measured)

    table, took = timed(lambda: (lambda opened: (opened.cells, opened)[1])(table_of(path, memory, most_cells=1 << 60)))
    return {"cells": table.cells.size, **took}


def released(path: Path, memory: str | None, folder: Path, neutral: tuple[str, ...]) -> dict[str, Any]:
    """Make a release and write it to Parquet, and the same rows by a bare join."""
    import sfumato
    from sfumato.engines.duckdb.grouped import literal
    from sfumato.release.writing import write_draft

    table = table_of(path, memory, neutral)
    release = sfumato.anonymize(table, "k-anonymity k=10", "full-domain")
    write_draft(release, folder / "warm.csv", "csv") if table.cells.records < 100_000 else None
    _, took = timed(lambda: write_draft(release, folder / "out.parquet", "parquet"))
    shown = shown_labels(table, release)
    with bare_connection(memory) as connection:
        joins = []
        for name, labels in shown.items():
            values = ", ".join(f"({literal(text)}, {literal(label)})" for text, label in labels.items())
            connection.execute(f"CREATE TABLE shown_{name} AS SELECT * FROM (VALUES {values}) AS t(value, label)")
            joins.append(f"JOIN shown_{name} ON shown_{name}.value = census.{name}::VARCHAR")
        columns = ", ".join([*(f"shown_{name}.label AS {name}" for name in shown), *SENSITIVE, *neutral])
        query = f"SELECT {columns} FROM '{path}' AS census {' '.join(joins)}"
        bare = timed(
            lambda: connection.execute(
                f"COPY ({query}) TO '{folder}/bare.parquet' (FORMAT parquet, COMPRESSION zstd)"
            ).fetchall()
        )[1]
    return {"bare": bare, "records": release.assignment.records, **took}


def shown_labels(table: Any, release: Any) -> dict[str, dict[str, str]]:
    """Say for every quasi-identifier of a full-domain release as what each of its texts is shown."""
    shown = {}
    for i, quasi in enumerate(table.cells.quasi):
        texts, codes = release.quasi_texts(i)
        groups = _groups_of(table, release, i, quasi.name)
        shown[quasi.name] = {text: texts[codes[group]] for text, group in groups.items()}
    return shown


def _groups_of(table: Any, release: Any, place: int, name: str) -> dict[str, int]:
    """Say for every text of a column a group whose label of it is the text's: levels are the same everywhere."""
    coding = next(coding for coding in table.codings if coding.column == name)
    first: dict[int, int] = {}
    assignment = release.assignment
    for code, group in zip(table.cells.codes[assignment.cell, place].tolist(), assignment.group.tolist(), strict=True):
        first.setdefault(code, group)
    return {text: first[code] for text, code in coding.codes.items() if text is not None and code in first}


def release(path: Path, memory: str | None, folder: Path) -> dict[str, Any]:
    """Write a release without neutral columns."""
    return released(path, memory, folder, ())


def neutral_release(path: Path, memory: str | None, folder: Path) -> dict[str, Any]:
    """Write a release with two neutral columns."""
    return released(path, memory, folder, NEUTRAL)


def audit(path: Path, memory: str | None, folder: Path) -> dict[str, Any]:
    """Audit the census itself as if it were published, beside the GROUP BY of the same columns."""
    import sfumato
    from sfumato.auditing.published_file import open_published

    sfumato.audit(make_census(folder / "small.parquet", 1000), QUASI, SENSITIVE)  # kernels, imports
    with bare_connection(memory) as connection:
        query = f"SELECT {', '.join(COLUMNS)}, count(*) AS n FROM '{path}' GROUP BY ALL"
        bare = timed(lambda: connection.sql(query).to_arrow_table().num_rows)[1]
    counting = timed(lambda: open_published(path).count(COLUMNS))[1]
    found, took = timed(lambda: sfumato.audit(path, QUASI, SENSITIVE, memory=memory))
    return {"bare": bare, "counting": counting, "groups": found.groups, **took}


def explore(path: Path, memory: str | None, folder: Path) -> dict[str, Any]:
    """Explore candidates (20) by p_loss, loss and query_error; other readers and small populations are not asked for.

    Of a census in several copies the same groups are asked for: k as many times as large.
    """
    from sfumato.anonymizers import anonymizer
    from sfumato.data.declaration import TableDeclaration
    from sfumato.measures.reconstruction import UniformReader
    from sfumato.measures.scales import Scales
    from sfumato.requirements.requirement import requirement
    from sfumato.tradeoff.exploration.explore import explore as run
    from sfumato.tradeoff.study.grids import Grid
    from sfumato.tradeoff.study.study import Study

    copies = copies_in(path)
    wanted = tuple(requirement(f"k-anonymity k={copies * k}") for k in SIZES[: most_sizes()])
    makers = (anonymizer("mondrian"), anonymizer("mondrian mode=relaxed"))
    declared = TableDeclaration(str(path), QUASI, SENSITIVE, hierarchy=HIERARCHIES, memory=memory)
    study = Study(
        "census",
        declared,
        (Grid(makers, wanted),),
        Scales(min_support=0.5, reader=UniformReader()),
        ("p_loss", "loss", "query_error"),
    )
    table, opening = timed(declared.open)
    _, counting = timed(lambda: table.cells)
    _, digest = timed(lambda: study.digest_of(table))
    points, took = timed(lambda: run(study, table=table))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    coarse = {name: tree.size for name, tree in table.hierarchies.items() if name in table.fine}
    about = {"cells": table.cells.size, "points": len(points.points), "coarsened": coarse}
    made = {point.status: sum(p.status == point.status for p in points.points) for point in points.points}
    search = {name: took[name] - digest[name] for name in took}  # a digest of all rows is part of exploring
    parts = {"opening": opening, "counting": counting, "digest": digest, "search": search}
    return {"peak": peak, **parts, **about, "made": made, **took}


STEPS: dict[str, Callable[[Path, str | None, Path], dict[str, Any]]] = {
    "bare GROUP BY": bare_cells,
    "cells": cells,
    "release": release,
    "release with neutral columns": neutral_release,
    "audit": audit,
    "explore": explore,
}


# -- running and telling ---------------------------------------------------------------------------------------


def measured(step: str, path: Path, memory: str | None) -> dict[str, Any]:
    """Run a step in a process of its own."""
    words = [sys.executable, __file__, "--step", step, "--path", str(path)]
    done = subprocess.run([*words, *(["--memory", memory] if memory else [])], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def row(name: str, took: dict[str, Any], bare: dict[str, Any] | None) -> str:
    """Write one line of the table."""
    ratio = took["cpu"] / bare["cpu"] if bare else math.nan
    target = TARGETS.get(name)
    reached = "" if target is None else f"{target}x: {'reached' if ratio <= target else 'missed'}"
    beside = f"{bare['cpu']:.1f} s" if bare else ""
    shown = "" if math.isnan(ratio) else f"{ratio:.2f}x"
    cells = [name, f"{took['cpu']:.1f} s", f"{took['wall']:.1f} s", beside, shown, reached, f"{took['peak']:,.0f} MB"]
    return f"| {' | '.join(cells)} |"


def most_sizes() -> int:
    """Say how many k exploring asks for: half of the candidates."""
    return int(os.environ.get("CANDIDATES", 2 * len(SIZES))) // 2


def copied(path: Path, copies: int) -> Path:
    """Write a census several times into one file: the same cells, with more records."""
    target = path.with_name(f"{path.stem}{COPIES}{copies}.parquet")
    if not target.exists():
        with duckdb.connect() as connection:
            query = f"SELECT census.* FROM '{path}' AS census, range({copies})"
            connection.execute(f"COPY ({query}) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
    return target


def copies_in(path: Path) -> int:
    """Say how often a census stands in a file."""
    return int(path.stem.partition(COPIES)[2] or 1)


def report(rows: int, copies: int, folder: Path, memory: str | None, only: list[str]) -> None:
    """Measure one size and print what was found."""
    path = make_census(folder / f"census-{rows}.parquet", rows)
    path = path if copies == 1 else copied(path, copies)
    print(f"\n### {copies * rows:,} records, {path.stat().st_size / 1e6:,.0f} MB of Parquet\n")
    print("| step | processor | wall | bare DuckDB | ratio | target | peak memory |\n|" + " --- |" * 7)
    known: dict[str, Any] = {}
    for step in STEPS:
        if only and step not in only:
            continue
        took = known[step] = measured(step, path, memory)
        bare = known.get("bare GROUP BY") if step == "cells" else took.get("bare")
        print(row(step, took, bare), flush=True)
    for step, took in known.items():
        said = {key: value for key, value in took.items() if key not in ("wall", "cpu", "peak", "bare")}
        print(f"\n{step}: {said}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--copies", type=int, default=1, help="How often every record stands.")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "census")
    parser.add_argument("--memory", help="For the engine and for bare DuckDB alike, such as 4GB.")
    parser.add_argument("--only", nargs="+", default=[], choices=[*STEPS])
    parser.add_argument("--step", choices=[*STEPS], help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step is None:
        given.folder.mkdir(exist_ok=True)
        for rows in given.rows:
            report(rows, given.copies, given.folder, given.memory, given.only)
        return
    with tempfile.TemporaryDirectory() as folder:
        found = STEPS[given.step](given.path, given.memory, Path(folder))
    print(json.dumps({"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, **found}))


if __name__ == "__main__":
    main()
