"""All attacks on releases of Adult, 45,222 records x 9 columns: processor time of what is shared, and of a release.

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/attacks.py

Target: 60 s of processor time a release, made again and attacked against the control; what all releases share is
worked out once, before them.
"""

from __future__ import annotations

import time

from common import print_table, verdict
from sfumato.anonymizers import anonymizer
from sfumato.anonymizers.dp.mechanism import Mechanism
from sfumato.anonymizers.dp.noise import UnsafeSeededNoise
from sfumato.data.declaration import TableDeclaration
from sfumato.measures.attacks.attacks import Attacks
from sfumato.requirements.requirement import requirement

QUASI = ("age", "workclass", "education", "marital-status", "race", "sex", "hours-per-week", "native-country")
CANDIDATES = (
    ("original", "k-anonymity k=1"),
    ("mondrian", "k-anonymity k=5"),
    ("mondrian", "k-anonymity k=100"),
    ("anatomy", "l-diversity l=3 variant=frequency"),
    ("rounding base=5", "k-anonymity k=1"),
    ("dp-privtree epsilon=1", "k-anonymity k=1"),
    ("without-quasi", "k-anonymity k=1"),
)
TARGET_SECONDS = 60


def maker(text, required):
    """Return what makes the releases of a candidate from any table."""
    configured = anonymizer(text)
    if isinstance(configured, Mechanism):
        return lambda table, turn=0: [configured.draw(table, UnsafeSeededNoise(seed)) for seed in range(3)]
    form = "bucketization" if text == "anatomy" else "generalization"
    return lambda table, turn=0: [configured.with_seed(1).anonymize(table, requirement(required), form)]


def main() -> None:
    """Attack every candidate after a warm-up, and print what it took and what was found."""
    table = TableDeclaration("adult", quasi=QUASI, sensitive=("occupation",)).open()
    warm = Attacks().prepare(table).ready()
    make = maker(*CANDIDATES[0])
    warm.attacked(make(table), make)
    started = time.process_time()
    attacked = Attacks().prepare(table).ready()
    shared = time.process_time() - started
    rows, slowest = [], 0.0
    names = ("singling_out", "linkability", "inference", "membership", "record_linkage", "attack_worst")
    for text, required in CANDIDATES:
        make = maker(text, required)
        releases = make(table)
        started = time.process_time()
        outcome = attacked.attacked(releases, make)
        seconds = time.process_time() - started
        slowest = max(slowest, seconds)
        values = [
            f"{outcome.measures[name]:.3f} ({outcome.intervals[name][0]:.3f}-{outcome.intervals[name][1]:.3f})"
            if name in outcome.measures
            else "-"
            for name in names
        ]
        rows.append([f"{text}, {required}", f"{seconds:.1f} s", *values])
    print(f"{table.cells.records:,} records x {len(QUASI) + 1} columns; shared by all releases: {shared:.1f} s")
    print_table(["release", "processor time", *names], rows)
    print(f"slowest {slowest:.1f} s of processor time, target {TARGET_SECONDS} s: {verdict(slowest, TARGET_SECONDS)}")


if __name__ == "__main__":
    main()
