"""Exchange on Adult (45,222 records; target under 2 s a release) and on made-up records.

Run: python benchmarks/exchange.py [--sizes 45000 450000 4500000]

The baseline is `mondrian` with the same requirement in the same run. Seconds are of processor, because machines are
shared; the first release of a table also searches for its large populations, which is shown apart. Growth is the factor
from one size to the next one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from common import print_table, verdict
from sfumato import load, read, requirement
from sfumato.anonymizers.exchange import Exchange
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.data.reading import Table

REQUIRED = requirement("t-closeness t=0.05 distance=js")
TARGET = 2.0


def seconds(job: Callable[[], Any]) -> float:
    """Return the processor time of a job."""
    started = time.process_time()
    job()
    return time.process_time() - started


def made_up(records: int) -> Table:
    """Draw records whose sensitive value hangs on three of five quasi-identifiers."""
    generator = np.random.default_rng(1)
    sizes = (90, 40, 16, 7, 2)
    columns = [(size * generator.random(records) ** 1.5).astype(np.int64) for size in sizes]
    drift = columns[0] / 30 + columns[2] / 5 + 2 * columns[4]
    value = np.clip(generator.normal(drift, 2.0), 0, 13).astype(np.int64)
    named = {f"q{i}": pa.array(own.astype(str)) for i, own in enumerate(columns)}
    frame = pa.table({**named, "s": pa.array(np.char.add("v", value.astype(str)))})
    return read(frame, quasi=list(named), sensitive=["s"])


def measured(name: str, table: Table) -> list[Any]:
    """Time the first release of a table, the next one, and Mondrian's."""
    cells = table.cells.size

    def exchange() -> None:
        Exchange(seed=1).anonymize(table, REQUIRED, "bucketization")

    first, following = seconds(exchange), seconds(exchange)
    plain = seconds(lambda: Mondrian().anonymize(table, REQUIRED, "bucketization"))
    return [name, f"{cells:,}", round(first, 2), round(following, 2), round(plain, 3), round(following / plain, 1)]


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[45_000, 450_000, 4_500_000])
    chosen = parser.parse_args()
    measured("warm-up", made_up(2_000))
    rows = [measured("Adult, 45,222", load("adult"))]
    print(f"Adult: {rows[0][3]} s, target {TARGET} s: {verdict(rows[0][3], TARGET)}\n")
    rows += [measured(f"made up, {size:,}", made_up(size)) for size in chosen.sizes]
    for before, row in zip([None, None, *rows[1:]], rows, strict=False):
        row.append("" if before is None else round(row[3] / before[3], 1))
    print_table(["records", "cells", "first, s", "next, s", "mondrian, s", "next / mondrian", "growth"], rows)


if __name__ == "__main__":
    main()
