"""Changed and synthetic releases of Adult: the table of docs/concepts/perturbation.md.

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/perturbation.py [--source adult]

Each is made twice with a seed; processor seconds are those of the second time. What is measured is said in the docs.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from common import print_table
from sfumato import Scales, anonymizer, load, requirement
from sfumato.measures.fidelity.fidelity import Fidelity
from sfumato.release.records import RecordRelease, replicated_uniques, unchanged_records

JOBS = (
    ("original", "k-anonymity k=1"),
    ("mondrian", "k-anonymity k=5"),
    ("local-suppression", "k-anonymity k=5"),
    ("top-coding share=0.01", "k-anonymity k=1"),
    ("microaggregation k=5", "k-anonymity k=5"),
    ("microaggregation k=50", "k-anonymity k=50"),
    ("pram keep=0.9", "k-anonymity k=1"),
    ("pram keep=0.6", "k-anonymity k=1"),
    ("rank-swapping distance=0.05", "k-anonymity k=1"),
    ("record-swapping share=0.1", "k-anonymity k=1"),
    ("record-swapping share=0.5 match=sex", "k-anonymity k=1"),
    ("noise scale=0.2 preserve=covariance", "k-anonymity k=1"),
    ("rounding base=5", "k-anonymity k=1"),
    ("cart", "k-anonymity k=1"),
    ("cart leaf=50", "k-anonymity k=1"),
)
MEASURED = ("k", "u_loss", "query_error", "marginal_error_2", "attack_accuracy")


def row(text: str, wanted: str, table: Any, prepared: Any) -> list[str]:
    """Make and measure one release."""
    maker: Any = anonymizer(text).with_seed(1)
    for _ in range(2):
        started = time.process_time()
        release = maker.anonymize(table, requirement(wanted))
        seconds = time.process_time() - started
    values = prepared.measure(release).values
    same = f"{unchanged_records(release) / table.cells.records:.0%}" if isinstance(release, RecordRelease) else ""
    if isinstance(release, RecordRelease) and not release.people:
        copied, unique = replicated_uniques(release)
        same = f"{copied:,} of {unique:,} uniques"
    measured = [f"{values[name]:.4g}" if name in values else "" for name in MEASURED]
    return [f"`{text}`", *measured, same, f"{seconds:.2f}"]


def report(source: str) -> None:
    """Print the table."""
    table = load(source)
    prepared = Scales(fidelity=Fidelity()).prepare(table)
    rows = [row(text, wanted, table, prepared) for text, wanted in JOBS]
    print_table(["maker", *(f"`{name}`" for name in MEASURED), "as recorded", "seconds"], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", default="adult")
    report(parser.parse_args().source)
