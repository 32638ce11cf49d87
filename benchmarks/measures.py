"""All cheap measures together: on Adult (target under 25 ms), and at 1 M cells against plain numpy (target 10x).

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/measures.py [--cells 1000000] [--repeats 7]

The release is Mondrian's at k=10. The plain version is straightforward vectorised numpy, measure by measure, each from
its definition over the array groups x values; it gives the same numbers (checked here). Both sides start from the
assignment of cells to groups, so counting the histograms is part of both. With more threads than idle cores every BLAS
product (`@`) waits for the scheduler, about 8 ms each, on either side: hence one thread of OpenBLAS.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from common import compare_seconds, median_seconds, print_table, rowless, synthetic_cells, verdict
from sfumato import KAnonymity, load, measure
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.data.cells import Sensitive
from sfumato.measures.groups import RECURSIVE_C
from sfumato.release.release import Release

TARGET_SECONDS = 0.025
TARGET_RATIO = 10
Counts = NDArray[np.int64]


def plain_histograms(release: Release) -> tuple[Counts, Counts]:
    """Count the sensitive values of every group, and its records."""
    cells, assignment = release.cells, release.assignment
    counts = np.zeros((release.groups, cells.sensitive[0].size), np.int64)
    np.add.at(counts, (assignment.group, cells.values[assignment.cell, 0]), assignment.count)
    sizes = np.bincount(assignment.group, weights=assignment.count, minlength=release.groups).astype(np.int64)
    return counts, sizes


def l_entropy(counts: Counts, sizes: Counts) -> float:
    p = counts / sizes[:, None]
    return np.exp(-(p * np.log(np.where(p > 0, p, 1))).sum(axis=1)).min()


def l_recursive(counts: Counts) -> int:
    falling = -np.sort(-counts, axis=1)
    tails = falling[:, ::-1].cumsum(axis=1)[:, ::-1]
    return (falling[:, :1] < RECURSIVE_C * tails).sum(axis=1).min()


def t_equal(counts: Counts, sizes: Counts, q: NDArray[np.float64]) -> float:
    return np.abs(counts / sizes[:, None] - q).sum(axis=1).max() / 2


def t_ordered(counts: Counts, sizes: Counts, q: NDArray[np.float64]) -> float:
    running = np.cumsum(counts / sizes[:, None] - q, axis=1)[:, :-1]
    return np.abs(running).sum(axis=1).max() / (len(q) - 1)


def t_hierarchical(counts: Counts, sizes: Counts, attribute: Sensitive) -> float:
    surplus = counts / sizes[:, None] - attribute.shares
    levels = attribute.hierarchy.ancestors[:-1, attribute.leaves]
    total = np.zeros(len(sizes))
    for level in levels:
        starts = np.flatnonzero(np.r_[True, level[1:] != level[:-1]])
        total += np.abs(np.add.reduceat(surplus, starts, axis=1)).sum(axis=1)
    return total.max() / (2 * len(levels))


def t_js(counts: Counts, sizes: Counts, q: NDArray[np.float64]) -> float:
    p = counts / sizes[:, None]
    middle = (p + q) / 2
    return (p * np.log(np.where(p > 0, p / middle, 1)) + q * np.log(q / middle)).sum(axis=1).max() / 2


def delta(counts: Counts, sizes: Counts, q: NDArray[np.float64]) -> float:
    with np.errstate(divide="ignore"):
        return np.abs(np.log(counts / sizes[:, None] / q)).max()


def losses(release: Release) -> float:
    total = 0.0
    for i, quasi in enumerate(release.cells.quasi):
        lo, hi, cumulative = release.boxes.lo[:, i], release.boxes.hi[:, i], quasi.hierarchy.cumulative
        least = 1 / quasi.hierarchy.size
        share = (cumulative[hi + 1] - cumulative[lo]) / cumulative[-1]
        total += np.where(lo == hi, 0, np.clip((share - least) / (1 - least), 0, 1)) @ release.boxes.mass
    return (total / len(release.cells.quasi) + release.suppressed) / release.cells.records


def plain_measures(release: Release, counts: Counts, sizes: Counts) -> dict[str, float]:
    """Work every measure out by itself, from the definitions."""
    attribute, q = release.cells.sensitive[0], release.cells.sensitive[0].shares
    js = t_js(counts, sizes, q)
    return {
        "k": sizes.min(),
        "l_frequency": (sizes / counts.max(axis=1)).min(),
        "l_distinct": (counts > 0).sum(axis=1).min(),
        "l_entropy": l_entropy(counts, sizes),
        "l_recursive": l_recursive(counts),
        "t_equal": t_equal(counts, sizes, q),
        "t_ordered": t_ordered(counts, sizes, q),
        "t_hierarchical": t_hierarchical(counts, sizes, attribute),
        "t_js": js,
        "p_loss": js,
        "delta": delta(counts, sizes, q),
        "beta": ((counts / sizes[:, None] - q) / q).max(),
        "loss": losses(release),
        "discernibility": float((sizes.astype(float) ** 2).sum()) + release.suppressed * release.cells.records,
        "average_group": sizes.sum() / len(sizes),
        "weighted_k": (sizes.astype(float) ** 2).sum() / sizes.sum(),
        "suppressed": release.suppressed,
    }


def compare(name: str, release: Release, repeats: int) -> tuple[float, float]:
    """Print both sides step by step; return our seconds and the ratio."""
    counts, sizes = plain_histograms(release)
    ours, plain = measure(release), plain_measures(release, counts, sizes)
    for key, value in plain.items():
        assert np.isclose(ours[key], value), (key, ours[key], value)

    def counted() -> Release:
        return replace(release, histograms=release.cells.histograms(release.assignment, release.groups))

    steps: list[tuple[str, Callable[[], object], Callable[[], object]]] = [
        ("histograms", counted, lambda: plain_histograms(release)),
        ("measures", lambda: measure(release), lambda: plain_measures(release, counts, sizes)),
        ("together", lambda: measure(counted()), lambda: plain_measures(release, *plain_histograms(release))),
    ]
    rows = []
    for step, own_job, plain_job in steps:
        own_seconds, plain_seconds, ratio = compare_seconds(own_job, plain_job, repeats)
        rows.append((step, f"{own_seconds * 1e3:.2f} ms", f"{plain_seconds * 1e3:.1f} ms", f"{ratio:.1f}x"))
    cells = release.cells
    shape = f"{release.groups:,} groups x {counts.shape[1]} values"
    print(f"{name}: {cells.records:,} records, {cells.size:,} cells, {shape}\n")
    print_table(["step", "sfumato", "plain numpy", "ratio"], rows)
    return own_seconds, ratio


def where_plain_spends(release: Release, repeats: int) -> None:
    """Print what each measure costs the plain version."""
    counts, sizes = plain_histograms(release)
    attribute, q = release.cells.sensitive[0], release.cells.sensitive[0].shares
    jobs: dict[str, Callable[[], object]] = {
        "l_frequency": lambda: (sizes / counts.max(axis=1)).min(),
        "l_distinct": lambda: (counts > 0).sum(axis=1).min(),
        "l_entropy": lambda: l_entropy(counts, sizes),
        "l_recursive": lambda: l_recursive(counts),
        "t_equal": lambda: t_equal(counts, sizes, q),
        "t_ordered": lambda: t_ordered(counts, sizes, q),
        "t_hierarchical": lambda: t_hierarchical(counts, sizes, attribute),
        "t_js": lambda: t_js(counts, sizes, q),
        "delta": lambda: delta(counts, sizes, q),
        "beta": lambda: ((counts / sizes[:, None] - q) / q).max(),
        "loss": lambda: losses(release),
    }
    print_table(["plain numpy", "median"], [(n, f"{median_seconds(j, repeats) * 1e3:.1f} ms") for n, j in jobs.items()])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    chosen = parser.parse_args()
    anonymizer, requirement = Mondrian(), KAnonymity(10)
    seconds, _ = compare("adult-train", anonymizer.anonymize(load("adult-train"), requirement), 3 * chosen.repeats)
    print(f"target {TARGET_SECONDS * 1e3:.0f} ms: {verdict(seconds, TARGET_SECONDS)}\n")
    large = anonymizer.anonymize(rowless(synthetic_cells(chosen.cells)), requirement)
    _, ratio = compare("synthetic", large, chosen.repeats)
    print(f"target {TARGET_RATIO}x: {verdict(ratio, TARGET_RATIO, at_least=True)}\n")
    where_plain_spends(large, chosen.repeats)
