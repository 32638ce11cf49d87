"""Mondrian k=10: on Adult (30,162 records, 6 quasi-identifiers; target under 50 ms warm) and on synthetic cells.

Run: python benchmarks/mondrian.py [--sizes 30000 300000 3000000] [--repeats 5]

The baseline is Mondrian by the same rule in plain numpy, which makes the same groups (checked here); it is left out
above 300,000 cells, where it takes minutes. `partition` is the kernel alone; `anonymize` adds merging equal boxes,
counting histograms and checking the requirement. Cuts by a score are compared with the median's. Growth is the factor
from one size to the next one.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common import (
    compare_seconds,
    forget_groups,
    median_seconds,
    peak_megabytes,
    print_table,
    rowless,
    synthetic_cells,
    verdict,
)
from sfumato import KAnonymity, Release, Requirement, anonymizer, load, requirement
from sfumato.anonymizers.anonymizer import Anonymizer
from sfumato.anonymizers.mondrian._cuts import Groups, problem_of
from sfumato.anonymizers.mondrian.mondrian import Mondrian, partition
from sfumato.data.cells import Cells

K = 10
TARGET = 0.050
MOST_PLAIN = 300_000
MOST_TIMES = 3
CUTS = (
    "cut=range",
    "cut=variance",
    "cut=loss",
    "cut=information-gain target=salary",
    "cut=information-gain target=occupation",
    "cut=variance target=hours-per-week",
)


def kernel_job(cells: Cells) -> Callable[[], Groups]:
    """Lay the cells out for the kernel, and return a call of it."""
    problem = problem_of(cells, KAnonymity(K))
    bottom, top = np.zeros(len(cells.quasi), np.int32), (problem.sizes - 1).astype(np.int32)
    state = np.zeros(1, np.uint64)
    return lambda: partition(problem, np.arange(cells.size), cells.counts, bottom, top, False, state)


def anonymize_job(maker: Anonymizer, table: Any, requirement: Requirement) -> Callable[[], Release]:
    """Return a call that makes a release from the beginning."""

    def job() -> Release:
        forget_groups(table.cells)
        return maker.anonymize(table, requirement)

    return job


def plain_mondrian(cells: Cells, k: int) -> list[NDArray[np.int64]]:
    """Do the same in plain numpy, as the docstring of `sfumato.anonymizers.mondrian.mondrian` says."""
    cumulative = [quasi.hierarchy.cumulative for quasi in cells.quasi]
    groups: list[NDArray[np.int64]] = []

    def divide(node: NDArray[np.int64]) -> None:
        codes, counts = cells.codes[node], cells.counts[node]
        size, lo, hi = counts.sum(), codes.min(axis=0), codes.max(axis=0)
        spread = [(widths[hi[a] + 1] - widths[lo[a]]) / widths[-1] for a, widths in enumerate(cumulative)]
        for a in np.argsort(-np.array(spread), kind="stable"):
            if lo[a] == hi[a]:
                continue
            left = np.bincount(codes[:, a] - lo[a], weights=counts).cumsum()[:-1]
            best = np.abs(2 * left - size).argmin()
            if left[best] >= k and size - left[best] >= k:
                goes_left = codes[:, a] <= lo[a] + best
                divide(node[goes_left])
                divide(node[~goes_left])
                return
        groups.append(node)

    divide(np.arange(cells.size))
    return groups


def check_same(groups: Groups, plain: Sequence[NDArray[np.int64]]) -> None:
    assert groups.size == len(plain)
    assert np.array_equal(groups.cells, np.concatenate(plain))


def memory_of(n: int) -> float:
    """Return the peak memory of the kernel beyond the cells themselves; to be called in a fresh process."""
    kernel_job(synthetic_cells(100))()
    return peak_megabytes(kernel_job(synthetic_cells(n)))


def measure_adult(repeats: int) -> None:
    table = load("adult-train")
    cells, requirement, anonymizer = table.cells, KAnonymity(K), Mondrian()
    kernel = kernel_job(cells)
    check_same(kernel(), plain_mondrian(cells, K))
    plain = median_seconds(lambda: plain_mondrian(cells, K), 3)
    rows = []
    for name, job in (("partition", kernel), ("anonymize", anonymize_job(anonymizer, table, requirement))):
        seconds = median_seconds(job, 5 * repeats, 3)
        rows.append((name, f"{seconds * 1e3:.1f} ms", f"{plain / seconds:.0f}x", verdict(seconds, TARGET)))
    print(f"adult-train: {cells.records:,} records, {cells.size:,} cells, {kernel().size:,} groups; k={K}")
    print(f"plain numpy: {plain * 1e3:.0f} ms; target {TARGET * 1e3:.0f} ms\n")
    print_table(["job", "median", "faster than plain numpy", "target"], rows)


def measure_cuts(repeats: int) -> None:
    """Compare cuts by a score with the median's, in turns, on all of Adult with rows."""
    table = load("adult", neutral=["salary", "hours-per-week"])
    median = Mondrian()
    rows = []
    for require in ("k-anonymity k=10", "l-diversity l=3 variant=frequency", "t-closeness t=0.2 distance=js"):
        wanted = requirement(require)
        for text in CUTS:
            maker = anonymizer(f"mondrian {text}")
            own, plain, ratio = compare_seconds(
                anonymize_job(maker, table, wanted), anonymize_job(median, table, wanted), 3 * repeats
            )
            rows.append((require, text, f"{own * 1e3:.1f} ms", f"{plain * 1e3:.1f} ms", f"{1 / ratio:.1f}x"))
    print(f"adult: {table.cells.records:,} records, {table.cells.size:,} cells; target {MOST_TIMES}x the median\n")
    print_table(["requirement", "cut", "anonymize", "at the median", "ratio"], rows)


def measure_synthetic(sizes: Sequence[int], repeats: int) -> None:
    rows = []
    before: tuple[int, float, float, float] | None = None
    for n in sizes:
        cells = synthetic_cells(n)
        kernel, anonymizer, table = kernel_job(cells), Mondrian(), rowless(cells)
        whole = median_seconds(anonymize_job(anonymizer, table, KAnonymity(K)), repeats)
        seconds = median_seconds(kernel, repeats)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            memory = pool.apply(memory_of, (n,))
        plain = median_seconds(lambda: plain_mondrian(cells, K), 1, 0) if n <= MOST_PLAIN else None  # noqa: B023
        growth = [f"x{new / old:.1f}" for new, old in zip((n, seconds, whole, memory), before or (), strict=False)]
        rows.append(
            (
                f"{n:,}",
                f"{kernel().size:,}",
                f"{seconds:.3f} s",
                f"{whole:.3f} s",
                f"{memory:.0f} MB",
                f"{plain:.1f} s = {plain / seconds:.0f}x" if plain else "-",
                ", ".join(growth) or "-",
            )
        )
        before = (n, seconds, whole, memory)
    header = ["cells", "groups", "partition", "anonymize", "peak memory", "plain numpy"]
    print(f"synthetic cells, 6 quasi-identifiers, k={K}\n")
    print_table([*header, "growth of cells, partition, anonymize, memory"], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[30_000, 300_000, 3_000_000])
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()
    measure_adult(chosen.repeats)
    measure_cuts(chosen.repeats)
    measure_synthetic(chosen.sizes, chosen.repeats)
