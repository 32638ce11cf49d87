"""What PostgreSQL takes for cells and releases, beside what it takes at least: a bare GROUP BY, a bare join-and-stream.

    python benchmarks/postgresql.py 5000000 /tmp/census-5m.parquet

A server of its own is started in the system's temporary folder, as the tests start one, with PostgreSQL's own settings
but for those of durability. Jobs run several times in turn; what is compared is the best of each, in seconds of the
clock and of processors (of the server and of this process). Both sides read through the same Arrow driver.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato
from census import NEUTRAL, QUASI, SENSITIVE, make_census
from sfumato.engines.postgresql.connection import Session
from sfumato.release.writing import row_layout

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from postgresql_server import Server

TURNS = 3
TARGETS = {"cells": 1.3, "release": 1.5}
NAMES = (*QUASI, *SENSITIVE)


def processor_seconds(server: Server) -> float:
    """Add up what this process and all processes of the server have used, those that have ended too."""
    postmaster = int((server.data / "postmaster.pid").read_text().split()[0])
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(stat.parent.name) == postmaster:
            ticks += sum(map(int, fields[11:15]))
        elif int(fields[1]) == postmaster:
            ticks += sum(map(int, fields[11:13]))
    return sum(os.times()[:2]) + ticks / os.sysconf("SC_CLK_TCK")


def timed(server: Server, jobs: dict[str, Callable[[], object]]) -> dict[str, tuple[float, float]]:
    """Run jobs in turn; of each the least seconds of the clock, and of processors."""
    least = {name: (float("inf"), float("inf")) for name in jobs}
    for _ in range(TURNS):
        for name, job in jobs.items():
            clock, used = time.perf_counter(), processor_seconds(server)
            job()
            taken = time.perf_counter() - clock, processor_seconds(server) - used
            least[name] = min(least[name][0], taken[0]), min(least[name][1], taken[1])
    return least


def report(least: dict[str, tuple[float, float]], bare: str, ours: str) -> None:
    for name, (clock, used) in least.items():
        print(f"{name}: {clock:.2f} s, {used:.2f} s of processors")
    clock, used = (mine / theirs for mine, theirs in zip(least[ours], least[bare], strict=True))
    print(f"-> {ours}: {clock:.2f} of {bare} by the clock, {used:.2f} of its processors (target {TARGETS[ours]})")


def loaded(server: Server, path: Path) -> str:
    """Bring the census to the server, and let it know its distributions."""
    import adbc_driver_postgresql.dbapi as driver

    with driver.connect(server.url(), autocommit=True) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("census", pq.ParquetFile(path).iter_batches(1 << 16), mode="create")
        cursor.execute("VACUUM ANALYZE census")
    return server.url("public.census")


def lookup(release: sfumato.Release) -> pa.Table:
    """What every tuple of values is published as."""
    layout, cells = row_layout(release), release.cells
    cell, group = release.assignment.cell, release.assignment.group
    texts = {f"out_{t.name}": [t.texts[code] for code in t.codes[group]] for t in layout.by_group}
    texts |= {f"out_{t.name}": [t.texts[code] for code in t.codes[cell]] for t in layout.by_cell}
    keys = {a.name: [a.hierarchy.leaves[c] for c in cells.codes[cell, i]] for i, a in enumerate(cells.quasi)}
    keys |= {a.name: [a.labels[v] for v in cells.values[cell, j]] for j, a in enumerate(cells.sensitive)}
    kinds = {"age": pa.int32(), "household": pa.int32()}
    listed = {f"in_{name}": pa.array(values).cast(kinds.get(name, pa.string())) for name, values in keys.items()}
    return pa.table({**listed, **texts})


def bare_release(session: Session, path: Path) -> None:
    """Join every row to what it is published as, and stream it into a file."""
    shown = ", ".join([*(f"out_{name}" for name in NAMES), *NEUTRAL])
    same = " AND ".join(f"{name} = in_{name}" for name in NAMES)
    statement = f"SELECT {shown} FROM census JOIN pg_temp.lookup ON {same}"
    with session.stream(statement) as rows, pq.ParquetWriter(path, rows.schema, compression="zstd") as writer:
        for batch in rows:
            writer.write_batch(batch)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=int)
    parser.add_argument("path", type=Path)
    given = parser.parse_args()
    make_census(given.path, given.rows)
    server = Server()
    try:
        url = loaded(server, given.path)
        clock = time.perf_counter()
        table = sfumato.read(url, quasi=QUASI, sensitive=SENSITIVE, neutral=NEUTRAL)
        cells = table.cells.size
        print(f"{given.rows:,} rows, {cells:,} cells; opened and counted in {time.perf_counter() - clock:.1f} s")
        engine, bare = table.engine, Session(server.url(), "the bare server")
        names = ", ".join(NAMES)

        counted = {
            "bare GROUP BY": lambda: bare.query(f"SELECT {names}, count(*) FROM census GROUP BY {names}"),
            "cells": lambda: engine.count_cells(table.codings),
        }
        report(timed(server, counted), "bare GROUP BY", "cells")
        release = sfumato.anonymize(table, "k-anonymity k=10", "mondrian")
        bare.upload("lookup", lookup(release))
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder)
            clock = time.perf_counter()
            release.to_parquet(out / "release.parquet")
            print(f"the first release, which brings codes up: {time.perf_counter() - clock:.2f} s")
            written = {
                "bare join-and-stream": lambda: bare_release(bare, out / "bare.parquet"),
                "release": lambda: release.to_parquet(out / "release.parquet", force=True),
            }
            report(timed(server, written), "bare join-and-stream", "release")
            rows = [pq.ParquetFile(out / name).metadata.num_rows for name in ("bare.parquet", "release.parquet")]
            assert rows == [int(np.sum(release.assignment.count))] * 2, rows
    finally:
        server.remove()


if __name__ == "__main__":
    main()
