"""Hilbert, Anatomy, SABRE and BUREL: seconds a release on Adult (target: under 2 s warm), growth on synthetic cells.

Run: python benchmarks/makers.py [--sizes 45000 450000 5000000] [--repeats 3]; with --compare nothing but the table of
docs/concepts/anonymizers.md: what each maker reaches on Adult for its requirements, beside Mondrian.

Each maker works out one release with a fixed seed, the check of every group included. The baseline of the same run is a
plain Python version of its core (the recursion over the curve; drawing from piles; taking the nearest records of a
bucket), on the smallest size alone, where it takes seconds. Growth is the factor from one size to the next one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from common import median_seconds, print_table, rowless, synthetic_cells, verdict
from sfumato import Scales, anonymizer, load, requirement
from sfumato.anonymizers._redistribution import halved, take_nearest, worst_of
from sfumato.anonymizers.anatomy import drawn_buckets
from sfumato.anonymizers.hilbert import best_cuts, points_on_curve
from sfumato.anonymizers.mondrian._cuts import problem_of
from sfumato.requirements._predicates import EQUAL
from sfumato.requirements.requirement import sensitive_levels

TARGET = 2.0
JOBS = (
    ("hilbert seed=1", "k-anonymity k=10", "generalization"),
    ("hilbert", "l-diversity l=3 variant=frequency", "generalization"),
    ("hilbert", "t-closeness t=0.1 distance=js", "bucketization"),
    ("hilbert within=0.05 seed=1", "k-anonymity k=5", "generalization"),
    ("anatomy seed=1", "l-diversity l=5 variant=frequency", "bucketization"),
    ("sabre seed=1", "t-closeness t=0.2 distance=equal", "generalization"),
    ("sabre seed=1", "t-closeness t=0.2 distance=hierarchical", "generalization"),
    ("burel seed=1", "beta-likeness beta=4 variant=enhanced", "generalization"),
)


CLOSE = ("t-closeness t=0.2 distance=equal", "t-closeness t=0.1 distance=hierarchical", "t-closeness t=0.1 distance=js")
COMPARED = (
    (("k-anonymity k=10", "k-anonymity k=50"), "generalization", ("hilbert seed=1",)),
    (
        ("l-diversity l=3 variant=frequency", "l-diversity l=5 variant=frequency"),
        "bucketization",
        ("hilbert", "anatomy seed=1"),
    ),
    (
        (
            "t-closeness t=0.2 distance=equal",
            "t-closeness t=0.1 distance=hierarchical",
            "t-closeness t=0.1 distance=js",
        ),
        "bucketization",
        ("hilbert", "sabre seed=1"),
    ),
    (
        (
            "t-closeness t=0.2 distance=equal",
            "t-closeness t=0.1 distance=hierarchical",
            "t-closeness t=0.1 distance=js",
        ),
        "generalization",
        ("hilbert", "sabre seed=1"),
    ),
    (
        ("beta-likeness beta=2 variant=enhanced", "beta-likeness beta=4 variant=enhanced"),
        "bucketization",
        ("hilbert", "burel seed=1"),
    ),
    (
        ("beta-likeness beta=2 variant=enhanced", "beta-likeness beta=4 variant=enhanced"),
        "generalization",
        ("hilbert", "burel seed=1"),
    ),
)


def plain_cuts(codes: Any, starts: Any, hierarchies: Any, k: int) -> float:
    """Cut the curve by the same recursion in plain Python; returns the loss."""
    point = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    n = len(point)
    cost = [0.0] + [float("inf")] * n
    for end in range(k, n + 1):
        lo = hi = codes[point[end - 1]]
        for start in range(end - 1, max(0, end - 2 * k + 1) - 1, -1):
            lo, hi = np.minimum(lo, codes[point[start]]), np.maximum(hi, codes[point[start]])
            if end - start >= k and cost[start] < cost[end]:
                loss = sum(h.loss(int(a), int(b)) for h, a, b in zip(hierarchies, lo, hi, strict=True))
                cost[end] = min(cost[end], cost[start] + (end - start) * loss / len(hierarchies))
    return cost[n]


def plain_piles(piles: Sequence[int], l: int) -> int:  # noqa: E741
    """Draw from the l largest piles in plain Python; returns the number of buckets."""
    left, buckets = list(piles), 0
    while sum(size > 0 for size in left) >= l:
        for v in sorted(range(len(left)), key=lambda v: -left[v])[:l]:
            left[v] -= 1
        buckets += 1
    return buckets


def plain_nearest(taken: Any, rank: Any, offsets: Any, middles: Any) -> Any:
    """Let groups take the nearest free records by looking at all of a bucket."""
    group = np.full(len(rank), -1)
    following = iter(middles)
    for g, wanted in enumerate(taken):
        middle = rank[next(record for record in following if group[record] < 0)]
        for b, number in enumerate(wanted):
            free = offsets[b] + np.flatnonzero(group[offsets[b] : offsets[b + 1]] < 0)
            group[free[np.argsort(np.abs(rank[free] - middle), kind="stable")[:number]]] = g
    return group


def once(job: Callable[[], Any]) -> float:
    started = time.perf_counter()
    job()
    return time.perf_counter() - started


def measure_cores(n: int) -> None:
    """Compare the cores with their plain versions on synthetic cells."""
    cells = synthetic_cells(n)
    points, piles = points_on_curve(cells), cells.sensitive[0].counts
    starts = np.concatenate([[0], np.cumsum(points.counts)])
    problem = problem_of(cells, requirement("k-anonymity k=10"))
    hierarchies = [quasi.hierarchy for quasi in cells.quasi]
    codes = cells.codes[points.cells[points.offsets[:-1]]]
    generator = np.random.default_rng(1)
    bucket = np.arange(len(piles))
    worst = worst_of(EQUAL, 0.2, 1, bucket, piles, sensitive_levels(cells.sensitive[0]))
    taken, offsets = halved(worst), np.concatenate([[0], np.cumsum(piles)])
    rank = np.concatenate([np.sort(generator.integers(0, len(points.counts), size)) for size in piles])
    middles = generator.permutation(len(rank))
    few = np.searchsorted(starts, 3_000)  # the plain recursion on the first points alone
    short = points._replace(
        cells=points.cells[: points.offsets[few]], offsets=points.offsets[: few + 1], counts=points.counts[:few]
    )
    jobs = (
        (f"curve, k=10, {starts[few]:,} records", lambda: best_cuts(problem, short, starts[: few + 1], 10),
         lambda: plain_cuts(codes[:few], starts[: few + 1], hierarchies, 10)),
        ("piles, l=5", lambda: drawn_buckets(piles, 5), lambda: plain_piles(piles.tolist(), 5)),
        (f"nearest, {len(taken):,} groups", lambda: take_nearest(taken, rank, offsets, middles),
         lambda: plain_nearest(taken, rank, offsets, middles)),
    )  # fmt: skip
    rows = []
    for name, own, plain in jobs:
        seconds, theirs = median_seconds(own, 3), once(plain)
        rows.append((name, f"{seconds:.4f} s", f"{theirs:.2f} s", f"{theirs / seconds:.0f}x"))
    print(f"cores on {n:,} synthetic cells\n")
    print_table(["core", "kernel", "plain Python", "ratio"], rows)


def measure_adult(repeats: int) -> None:
    table = load("adult")
    rows = []
    for maker, require, form in JOBS:
        own, wanted = anonymizer(maker), requirement(require)
        seconds = median_seconds(lambda: own.anonymize(table, wanted, form), repeats)  # type: ignore[union-attr] # noqa: B023
        rows.append((maker, require, form, f"{seconds:.3f} s", verdict(seconds, TARGET)))
    print(f"adult: {table.cells.records:,} records; target {TARGET:g} s a release\n")
    print_table(["maker", "requirement", "form", "anonymize", "target"], rows)


def compare() -> None:
    """Say what every maker reaches on Adult for its requirements, beside Mondrian."""
    table = load("adult")
    prepared = Scales().prepare(table)
    rows = []
    for requires, form, makers in COMPARED:
        for require in requires:
            for maker in ("mondrian", *makers):
                release = anonymizer(maker).anonymize(table, requirement(require), form)  # type: ignore[union-attr,arg-type]
                found = prepared.measure(release).values
                numbers = [f"{found[name]:.4f}" for name in ("loss", "p_loss", "u_loss")]
                rows.append((require, form, maker.partition(" ")[0], f"{release.groups:,}", *numbers))
    print_table(["requirement", "form", "anonymizer", "groups", "loss", "p_loss", "u_loss"], rows)


def cpu_seconds(job: Callable[[], Any]) -> float:
    """Return the processor time of a job: sizes are measured one after the other, and the load may change."""
    started = time.process_time()
    job()
    return time.process_time() - started


def measure_growth(sizes: Sequence[int], only: Sequence[str]) -> None:
    """Measure processor time once, after a run on few cells; each row is printed as soon as it is there."""
    few, tables = rowless(synthetic_cells(1_000)), [rowless(synthetic_cells(n)) for n in sizes]
    grown = ", ".join(f"x{b / a:.1f}" for a, b in pairwise(sizes))
    print(f"synthetic cells, 6 quasi-identifiers; processor time; cells grow by {grown}\n")
    for maker, require, form in JOBS:
        if "within" in maker or (only and maker.split()[0] not in only):  # the dual is a dozen releases
            continue
        own, wanted = anonymizer(maker), requirement(require)
        own.anonymize(few, wanted, form)  # type: ignore[union-attr]
        times = [cpu_seconds(lambda: own.anonymize(table, wanted, form)) for table in tables]  # type: ignore[union-attr] # noqa: B023
        growth = ", ".join(f"x{b / a:.1f}" for a, b in pairwise(times))
        row = (maker, require, *(f"{seconds:.2f} s" for seconds in times), growth)
        print_table(["maker", "requirement", *(f"{n:,} cells" for n in sizes), "growth"], [row])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[45_000, 450_000, 5_000_000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[], help="makers whose growth is measured, such as sabre")
    parser.add_argument("--compare", action="store_true")
    chosen = parser.parse_args()
    if chosen.compare:
        compare()
        raise SystemExit
    measure_adult(chosen.repeats)
    measure_cores(min(chosen.sizes))
    measure_growth(chosen.sizes, chosen.only)
