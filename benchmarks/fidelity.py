"""How long it takes to hold releases of Adult against the original, by kind of release; what a sample would have.

    OPENBLAS_NUM_THREADS=1 python benchmarks/fidelity.py    # a minute

Processor time of one thread, the median of three after a warm-up. Target: errors of one and two columns in well under
a second for a release of Mondrian.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import sfumato
from common import print_table
from sfumato.anonymizers import anonymizer
from sfumato.anonymizers.dp.mechanism import Mechanism
from sfumato.anonymizers.dp.noise import UnsafeSeededNoise
from sfumato.measures.fidelity.fidelity import Fidelity
from sfumato.requirements.requirement import KAnonymity

KINDS = (
    ("mondrian, ranges", "mondrian", "k-anonymity k=10", "generalization"),
    ("mondrian, buckets", "mondrian", "k-anonymity k=10", "bucketization"),
    ("full-domain", "full-domain", "k-anonymity k=10", "generalization"),
    ("without quasi-identifiers", "without-quasi", "k-anonymity k=1", "generalization"),
    ("original", "original", "k-anonymity k=1", "generalization"),
    ("records, rounded", "rounding base=5", "", ""),
    ("records, sequential trees", "cart seed=1", "", ""),
    ("records, MST", "mst epsilon=1", "", ""),
    ("noisy tree", "dp-kd-tree epsilon=1 height=8", "", ""),
)


def made(table: sfumato.Table, text: str, requirement: str, form: str) -> Any:
    """Make a release of any kind."""
    maker = anonymizer(text)
    if isinstance(maker, Mechanism):
        return maker.draw(table, UnsafeSeededNoise(1))
    return maker.anonymize(
        table, sfumato.requirement(requirement) if requirement else KAnonymity(1), form or "generalization"
    )


def seconds(job: Callable[[], Any]) -> float:
    """Return the processor time of a job, the median of three after one that does not count."""
    job()
    times = []
    for _ in range(3):
        started = time.process_time()
        job()
        times.append(time.process_time() - started)
    return statistics.median(times)


def main() -> None:
    """Measure and print."""
    table = sfumato.load("adult")
    looks = {"1 and 2 columns": Fidelity(ways=2), "and 3": Fidelity(ways=3)}
    portraits = {name: look.prepare(table).ready() for name, look in looks.items()}
    rows = []
    for name, *how in KINDS:
        release = made(table, *how)
        times = [seconds(partial(portrait.compared, release)) for portrait in portraits.values()]
        values = portraits["and 3"].compared(release).values
        told = ("marginal_error_1", "marginal_error_2", "marginal_error_3", "sample_equivalent", "pmse")
        told = (*told, "correlation_error")
        rows.append([name, *(f"{each:.2f} s" for each in times), *(f"{values[of]:.4f}" for of in told)])
    heads = ["release", *looks, "1 column", "2", "3", "as a sample of", "pmse", "associations"]
    print_table(heads, rows)
    prepared = seconds(lambda: Fidelity().prepare(table).ready())
    print(f"\nOnce for the table: {prepared:.2f} s. A resample of it has {portraits['and 3'].baselines}.")


if __name__ == "__main__":
    main()
