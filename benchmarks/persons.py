"""Counting persons against counting records: 200,000 visits of 40,000 patients, with and without `person`.

Run: python benchmarks/persons.py [--records 200000] [--persons 40000] [--repeats 5]

`anonymize` makes a release from cells that are counted already. `explore` makes a map of a few candidates from the
beginning: it reads the rows, counts cells and pairs, makes and measures. Ratios are those of one run; the prototype
behind the definitions took 1.15 to 1.33 times the time of counting records.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato
from common import compare_seconds, print_table, verdict
from sfumato import Table, anonymizer, requirement

HIERARCHIES = {
    "age": {"type": "numeric", "lower": 0, "upper": 100, "intervals": [5, 10, 20]},
    "weight": {"type": "numeric", "lower": 40, "upper": 140, "intervals": [5, 20]},
    "town": {"type": "prefixes", "keep": [2, 1]},
}
MOST_TIMES = 1.6
"""The ratio above which a kernel is to be looked at."""


def visits(records: int, persons: int, seed: int = 1) -> pa.Table:
    """Draw visits: age and town of a patient stay, the weight differs between visits."""
    draw = np.random.default_rng(seed)
    whose = draw.integers(0, persons, records)
    age, town, usual = draw.integers(0, 100, persons), draw.integers(100, 400, persons), draw.normal(80, 12, persons)
    weight = np.clip(np.rint(usual[whose] + draw.normal(0, 3, records)), 40, 139).astype(int)
    columns = {"patient": whose, "age": age[whose], "weight": weight, "town": town[whose].astype(str)}
    return pa.table(columns | {"illness": draw.choice(["flu", "cold", "gout", "cough"], records)})


def anonymize_job(table: Table, maker: str, required: str) -> Callable[[], Any]:
    """Return a call that makes a release from counted cells."""
    made_by, wanted = anonymizer(maker), requirement(required)
    return lambda: made_by.anonymize(table, wanted)


def explore_job(folder: Path, more: str) -> Callable[[], Any]:
    """Return a call that reads the rows anew and makes a map of six candidates."""
    toml = (
        f'schema = 1\nname = "visits"\naxes = ["k", "loss"]\n[table]\nsource = "{folder / "visits.parquet"}"\n{more}\n'
        'quasi = ["age", "weight", "town"]\n[table.hierarchy]\n'
        'age = { type = "numeric", lower = 0, upper = 100, intervals = [5, 10, 20] }\n'
        'weight = { type = "numeric", lower = 40, upper = 140, intervals = [5, 20] }\n'
        'town = { type = "prefixes", keep = [2, 1] }\n[[candidates]]\nanonymizers = ["mondrian", "full-domain"]\n'
        'requirements = ["k-anonymity k=5", "k-anonymity k=10", "k-anonymity k=50"]\n'
    )
    return lambda: sfumato.explore(sfumato.Study.from_toml(toml), workers=1)


def main() -> None:
    """Print the time of every job by records, and how many times as long it takes by persons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--persons", type=int, default=40_000)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    rows = visits(given.records, given.persons)
    by_unit = {}
    for unit, more in (("records", {"one_record_per_person": True}), ("persons", {"person": "patient"})):
        started = time.perf_counter()
        by_unit[unit] = sfumato.read(
            rows, quasi=["age", "weight", "town"], sensitive=["illness"], hierarchies=HIERARCHIES, **more
        )
        assert by_unit[unit].cells.records == given.records
        print(f"read and counted, {unit}: {time.perf_counter() - started:.2f} s (once)")
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(rows, Path(folder) / "visits.parquet")
        jobs = {
            f"{maker} k={k}": [anonymize_job(table, maker, f"k-anonymity k={k}") for table in by_unit.values()]
            for maker in ("mondrian", "full-domain", "hilbert", "local-recoding passes=0")
            for k in (5, 10, 50)
        }
        for maker in ("mondrian", "full-domain"):
            for part in ("l-diversity l=2 variant=frequency", "t-closeness t=0.3 distance=equal"):
                required = f"k-anonymity k=10 & {part}"
                tables = by_unit.values()
                jobs[f"{maker} {part}"] = [anonymize_job(table, maker, required) for table in tables]
        jobs["explore, 6 candidates"] = [
            explore_job(Path(folder), more) for more in ("one_record_per_person = true", 'person = "patient"')
        ]
        for name, (by_records, by_persons) in jobs.items():
            records, persons, times = compare_seconds(by_records, by_persons, given.repeats)
            lines.append([name, f"{records:.3f}", f"{persons:.3f}", f"{times:.2f}", verdict(times, MOST_TIMES)])
    print_table(["job", "records (s)", "persons (s)", "times", f"at most {MOST_TIMES}"], lines)


if __name__ == "__main__":
    main()
