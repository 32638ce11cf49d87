"""The map of Adult: figure 2 of Li & Li 2009 against plain numpy (target 10x), exploring, 1,000 candidates, more QIs.

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/frontier.py [--repeats 3] [--candidates 1000]

The plain program is what one would write with numpy in an afternoon: recursive Mondrian on arrays, large populations
level by level with masks, uniform estimation and JS by array expressions, everything from the definitions. It cuts once
per requirement and publishes the groups in both forms. Both sides start from the cells and end with (p_loss, u_loss) of
the 64 releases; their numbers are compared to 1e-9. Ours is timed twice: with these two measures alone, and with all
measures and threads (`explore`), which does much more than the plain program.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common import median_seconds, print_table, verdict
from sfumato import anonymize, load
from sfumato.measures import Queries, Scales, measure
from sfumato.measures.divergence import js_of_rows
from sfumato.release.populations import large_populations
from sfumato.release.regions import are_points, estimated_histograms, overlap_estimates
from sfumato.requirements import requirement
from sfumato.table import Cells, Table
from sfumato.tradeoff import Grid, bundled_study, explore
from sfumato.tradeoff.study.presets import LI_LI_2009

TARGET_RATIO = 10
TARGET_SECONDS = 6.0
MIN_SUPPORT = 0.05
TOLERANCE = 1e-9
Numbers = NDArray[np.float64]
Counts = NDArray[np.int64]
Admits = Callable[[Counts], bool]
QUASI = (
    ("age", "workclass", "education", "marital-status", "race", "sex"),
    ("native-country", "salary", "hours-per-week"),
    ("relationship", "education-num", "capital-loss"),
)


# -- the plain program ---------------------------------------------------------------------------------------


def plain_js(p: Numbers, q: Numbers) -> Numbers:
    """JS of rows of shares."""
    middle = np.maximum((p + q) / 2, 1e-300)
    left = p * np.log(np.where(p > 0, p / middle, 1))
    right = q * np.log(np.where(q > 0, q / middle, 1))
    return (left + right).sum(axis=-1) / 2


def plain_requirement(text: str, q: Numbers) -> Admits:
    """Read one of the figure's requirements as a test of a histogram."""
    name, parameter = text.split()[:2]
    value = float(parameter.partition("=")[2])

    def ratios(counts: Counts) -> Numbers:
        present = counts > 0
        return np.abs(np.log(counts[present] / counts.sum() / q[present]))

    tests: dict[str, Admits] = {
        "k-anonymity": lambda counts: counts.sum() >= value,
        "l-diversity": lambda counts: counts.max() / counts.sum() <= 1 / value + TOLERANCE,
        "t-closeness": lambda counts: plain_js(counts / counts.sum(), q) <= value + TOLERANCE,
        "delta-disclosure": lambda counts: ratios(counts).max() < value - TOLERANCE,
    }
    return tests[name]


def plain_mondrian(cells: Cells, admits: Admits) -> list[Counts]:
    """Cut at the median of the widest attribute while both halves hold; return the cells of every group."""
    widths = [quasi.hierarchy.cumulative for quasi in cells.quasi]
    values, size = cells.values[:, 0], cells.sensitive[0].size

    def histogram(own: Counts) -> Counts:
        return np.bincount(values[own], weights=cells.counts[own], minlength=size).astype(np.int64)

    def partition(own: Counts) -> list[Counts]:
        codes = cells.codes[own]
        lo, hi = codes.min(axis=0), codes.max(axis=0)
        spread = [(w[b + 1] - w[a]) / w[-1] if a < b else -1.0 for w, a, b in zip(widths, lo, hi, strict=True)]
        for attribute in np.argsort(-np.array(spread), kind="stable"):
            if spread[attribute] < 0:
                break
            column = codes[:, attribute]
            weights = np.bincount(column, weights=cells.counts[own])
            occurring = np.flatnonzero(weights)
            before = np.cumsum(weights[occurring])
            best = np.argmin(np.abs(2 * before[:-1] - before[-1]))
            below = column <= occurring[best]
            left, right = own[below], own[~below]
            if admits(histogram(left)) and admits(histogram(right)):
                return partition(left) + partition(right)
        return [own]

    return partition(np.arange(cells.size))


def plain_populations(cells: Cells) -> list[tuple[dict[int, tuple[int, int]], NDArray[np.bool_]]]:
    """Find large populations level by level: nodes by attribute, and a mask over cells."""
    least = MIN_SUPPORT * cells.records - TOLERANCE
    items = []
    for a, quasi in enumerate(cells.quasi):
        for lo, hi in quasi.hierarchy.nodes:
            if (lo, hi) != (0, quasi.hierarchy.size - 1):
                mask = (cells.codes[:, a] >= lo) & (cells.codes[:, a] <= hi)
                if cells.counts[mask].sum() >= least:
                    items.append((a, (lo, hi), mask))
    level = [({a: node}, mask) for a, node, mask in items]
    found = list(level)
    while level:
        longer = []
        for nodes, mask in level:
            for a, node, own in items:
                if a > max(nodes):
                    both = mask & own
                    if cells.counts[both].sum() >= least:
                        longer.append(({**nodes, a: node}, both))
        level = longer
        found += level
    return found


def plain_boxes(cells: Cells, groups: list[Counts], populations: list[Any], shares: Numbers, sizes: Numbers) -> Numbers:
    """Estimate populations from the groups' boxes: mass x overlap / volume."""
    lo = np.array([cells.codes[own].min(axis=0) for own in groups])
    hi = np.array([cells.codes[own].max(axis=0) for own in groups])
    content = shares * sizes[:, None]
    estimates = []
    for nodes, _ in populations:
        weight = np.ones(len(groups))
        for a, (first, last) in nodes.items():
            cumulative = cells.quasi[a].hierarchy.cumulative
            inside = cumulative[np.minimum(hi[:, a], last) + 1] - cumulative[np.maximum(lo[:, a], first)]
            weight *= np.maximum(inside, 0) / (cumulative[hi[:, a] + 1] - cumulative[lo[:, a]])
        estimates.append(weight @ content)
    return np.array(estimates)


def plain_points(cells: Cells, groups: list[Counts], populations: list[Any], shares: Numbers) -> Numbers:
    """Estimate populations from buckets: every cell has the distribution of its group."""
    guessed = np.empty((cells.size, shares.shape[1]))
    for own, share in zip(groups, shares, strict=True):
        guessed[own] = cells.counts[own][:, None] * share
    return np.array([guessed[mask].sum(axis=0) for _, mask in populations])


def plain_map(cells: Cells, texts: list[str]) -> list[tuple[float, float]]:
    """Make and measure both releases of every requirement: (p_loss, u_loss), generalized and bucketized in turns."""
    q = cells.sensitive[0].counts / cells.records
    size, values = len(q), cells.values[:, 0]
    populations = plain_populations(cells)
    truth = np.array([np.bincount(values[mask], cells.counts[mask], size) for _, mask in populations])
    truth /= truth.sum(axis=1, keepdims=True)
    points = []
    for text in texts:
        groups = plain_mondrian(cells, plain_requirement(text, q))
        counts = np.array([np.bincount(values[own], cells.counts[own], size) for own in groups])
        sizes = counts.sum(axis=1)
        shares = counts / sizes[:, None]
        p_loss = float(plain_js(shares, q).max())
        boxes = plain_boxes(cells, groups, populations, shares, sizes)
        buckets = plain_points(cells, groups, populations, shares)
        for estimate in (boxes, buckets):
            u_loss = plain_js(truth, estimate / estimate.sum(axis=1, keepdims=True)).mean()
            points.append((p_loss, float(u_loss)))
    return points


# -- ours ------------------------------------------------------------------------------------------------------


def figure_texts() -> list[str]:
    """The figure's 32 requirements."""
    return [text.format(value) for text, values in LI_LI_2009.items() for value in values]


def own_map(table: Table) -> list[tuple[float, float]]:
    """Make and measure the same releases with sfumato, on one thread, the two measures alone."""
    cells = table.cells
    shares = cells.sensitive[0].shares
    populations = large_populations(cells, MIN_SUPPORT)
    truth = populations.sums(cells.truth)
    assert truth is not None
    points = []
    for candidate in bundled_study("adult").candidates[:64]:
        release = candidate.anonymizer.anonymize(table, candidate.requirement, candidate.form)
        if are_points(release):
            estimate = populations.sums(estimated_histograms(release))
        else:
            estimate = overlap_estimates(release, populations.regions)
        points.append((measure(release)["p_loss"], float(js_of_rows(truth, estimate, shares).mean())))
    return points


def figure(repeats: int) -> None:
    """Print both programs' times for the 64 releases; their numbers must agree."""
    study, table = bundled_study("adult"), load("adult")
    cells, texts = table.cells, figure_texts()
    explored = explore(study, table=table)
    ours, plain = own_map(table), plain_map(cells, texts)
    named = [(point.measures["p_loss"], point.measures["u_loss"]) for point in explored.points[:64]]
    for other in (plain, named):
        difference = np.abs(np.array(ours) - np.array(other)).max()
        assert difference < 1e-9, difference
    two, everything, baseline = [], [], []
    for _ in range(repeats):
        two.append(median_seconds(lambda: own_map(table), 1, 0))
        everything.append(median_seconds(lambda: explore(study, table=table), 1, 0))
        baseline.append(median_seconds(lambda: plain_map(cells, texts), 1, 0))
    ratio = float(np.median(np.array(baseline) / np.array(two)))
    whole = float(np.median(np.array(baseline) / np.array(everything)))
    medians = [float(np.median(times)) for times in (baseline, two, everything)]
    print(f"figure 2: 64 releases of {cells.records:,} records ({cells.size:,} cells); equal to 1e-9\n")
    rows = [
        ("plain numpy: p_loss, u_loss", f"{medians[0]:.1f} s", "-"),
        ("sfumato: p_loss, u_loss, one thread", f"{medians[1]:.2f} s", f"{ratio:.1f}x"),
        ("sfumato: explore, 67 points, all measures, threads", f"{medians[2]:.2f} s", f"{whole:.1f}x"),
    ]
    print_table(["what", "median", "ratio"], rows)
    print(f"target {TARGET_RATIO}x: {verdict(ratio, TARGET_RATIO, at_least=True)}\n")


def where_plain_spends() -> None:
    """Print what each step costs the plain program."""
    cells = load("adult").cells
    q = cells.sensitive[0].counts / cells.records
    steps = dict.fromkeys(("populations", "mondrian", "boxes", "buckets"), 0.0)

    def timed(step: str, job: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        made = job()
        steps[step] += time.perf_counter() - started
        return made

    populations = timed("populations", lambda: plain_populations(cells))
    for text in figure_texts():
        admits = plain_requirement(text, q)
        groups = timed("mondrian", lambda admits=admits: plain_mondrian(cells, admits))
        counts = np.array([np.bincount(cells.values[own, 0], cells.counts[own], len(q)) for own in groups])
        sizes = counts.sum(axis=1)
        about = (cells, groups, populations, counts / sizes[:, None])
        timed("boxes", lambda about=about, sizes=sizes: plain_boxes(*about, sizes))
        timed("buckets", lambda about=about: plain_points(*about))
    print_table(["plain numpy", "seconds"], [(step, f"{seconds:.1f}") for step, seconds in steps.items()])


# -- exploring ---------------------------------------------------------------------------------------------------


def exploring(repeats: int) -> None:
    """Print what exploring costs: the call by number of workers, and the command where there is one."""
    study = bundled_study("adult")
    rows = []
    for workers in sorted({1, 2, os.cpu_count() or 1}):
        seconds = median_seconds(lambda workers=workers: explore(study, workers=workers), repeats)
        rows.append((f"explore(bundled_study('adult'), workers={workers})", f"{seconds:.2f} s"))
    command = [sys.executable, "-m", "sfumato.cli", "explore", "adult", "--out"]
    script = Path(sys.executable).with_name("sfumato")
    if script.exists():
        command = [str(script), "explore", "adult", "--out"]
    folder = Path(tempfile.mkdtemp())

    def run() -> int:
        target = folder / f"run{time.monotonic_ns()}"
        return subprocess.run([*command, str(target)], capture_output=True, check=False).returncode

    if run() == 0:
        seconds = median_seconds(run, repeats)
        rows.append((f"sfumato explore adult: {verdict(seconds, TARGET_SECONDS)}", f"{seconds:.2f} s"))
    else:
        rows.append(("sfumato explore adult", "there is no such command yet"))
    shutil.rmtree(folder)
    print_table(["warm", "median"], rows)


def many(candidates: int) -> None:
    """Explore many candidates and print time and memory as they come."""
    ks = [2 + 3 * i for i in range(-(-candidates // 4))]
    grid = Grid(
        bundled_study("adult").grids[0].anonymizers,
        tuple(requirement(f"k-anonymity k={k}") for k in ks),
        ("generalization", "bucketization"),
        (0.0, 0.01),
    )
    study = replace(bundled_study("adult"), grids=(grid,))
    rows: list[tuple[Any, ...]] = []
    started = time.perf_counter()

    def listen(finished: int, total: int, last: str) -> None:
        if finished and finished % max(candidates // 10, 1) == 0:
            status = Path("/proc/self/status").read_text().split("VmRSS:")[1]
            rows.append((finished, f"{time.perf_counter() - started:.1f} s", f"{int(status.split()[0]) / 1024:.0f} MB"))

    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache.jsonl"
        explore(study, cache, progress=listen)
        size = cache.stat().st_size
        again = median_seconds(lambda: explore(study, cache), 1, 0)
    print(
        f"{len(study.candidates):,} candidates; the cache holds {size / 1e6:.1f} MB; resumed when done: {again:.2f} s\n"
    )
    print_table(["candidates", "seconds", "memory (RSS)"], rows)


def populations(repeats: int) -> None:
    """Search large populations with more and more quasi-identifiers; measure one release of each form."""
    rows = []
    quasi: tuple[str, ...] = ()
    for more in QUASI:
        quasi += more
        table = load("adult", quasi=quasi)
        found = large_populations(table.cells, MIN_SUPPORT)
        seconds = median_seconds(lambda table=table: large_populations(table.cells, MIN_SUPPORT), repeats)
        steps, times = "not kept", ["not measured: members would need gigabytes"] * 2
        if found.plan is not None:
            steps, times = f"{len(found.plan.sources):,}", []
            prepared = Scales(queries=Queries(number=10)).prepare(table).ready()
            for form in ("generalization", "bucketization"):
                release = anonymize(table, "k-anonymity k=10", form=form)
                seconds_of_one = median_seconds(lambda release=release, own=prepared: own.measure(release), 1)
                times.append(f"{seconds_of_one:.2f} s")
            del prepared
        rows.append(
            (
                len(quasi),
                f"{len(found.points.codes):,}",
                f"{found.size:,}",
                f"{seconds:.2f} s",
                steps,
                *times,
            )
        )
    print_table(
        ["QIs", "points", "populations", "search", "plan", "measuring: generalized k=10", "bucketized"],
        rows,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--candidates", type=int, default=1000)
    parser.add_argument("--only", choices=("figure", "exploring", "many", "populations"))
    chosen = parser.parse_args()
    if chosen.only in (None, "figure"):
        figure(chosen.repeats)
        where_plain_spends()
    if chosen.only in (None, "exploring"):
        exploring(chosen.repeats)
    if chosen.only in (None, "populations"):
        populations(chosen.repeats)
    if chosen.only in (None, "many"):
        many(chosen.candidates)
