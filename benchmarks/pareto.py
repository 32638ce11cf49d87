"""Pareto search on Adult: 50,000 evaluations of problem 2 (12 s, 20x plain numpy), quality against the exact frontier.

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/pareto.py [--only speed|quality] [--seeds 20] [--plain 96]
[--generations 250]

The plain program is what one would write with numpy: for every cut vector the parts by cumulative sums, one key per
cell, `np.unique` for the groups, sorted sizes for k. Both sides start from the same merged cells of 9 attributes and
agree on k and loss. Ours has two threads, numpy has one; the ratio of processor time is that of one thread each, and
does not suffer from others' load. Quality is hypervolume: with five attributes cut along their hierarchies, all of
whose cut vectors can be looked at, against the exact frontier; on the full space, ours against the paper's settings.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from common import print_table, verdict
from sfumato import load
from sfumato.anonymizers.cut_vector.cut_vector import CutAttribute, CutSpace, cut_space
from sfumato.data.cells import Cells
from sfumato.data.reading import Table
from sfumato.papers.dewri_2011 import hypervolume
from sfumato.tradeoff.search._enumeration import exact
from sfumato.tradeoff.search._variation import drawn
from sfumato.tradeoff.search.pareto import NSGA2, Search
from sfumato.tradeoff.search.problems import Problem2

QUASI = ("age", "education", "race", "sex", "salary", "workclass", "marital-status", "occupation", "native-country")
CONSTRAINED = ("workclass", "marital-status", "occupation", "native-country")
FEW = ("age", "race", "marital-status", "salary", "sex")
ETA = 0.1
RECORDS = 30_162
TARGET_SECONDS, TARGET_RATIO, TARGET_QUALITY = 12.0, 20, 0.99


def merged(cells: Cells, space: CutSpace) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct tuples of atoms and their counts: what the plain program begins with, as the kernel does."""
    atoms = [
        np.searchsorted(own.starts, codes, side="right") - 1
        for own, codes in zip(space.attributes, cells.codes.T, strict=True)
    ]
    rows, inverse = np.unique(np.stack(atoms, axis=1), axis=0, return_inverse=True)
    return rows, np.bincount(inverse.ravel(), weights=cells.counts).astype(np.int64)


def plain(
    rows: NDArray[np.int64], counts: NDArray[np.int64], space: CutSpace, vector: NDArray[np.uint8]
) -> tuple[int, float]:
    """k and generalization loss of problem 2, by array expressions."""
    parts, losses = [], np.zeros(len(rows))
    for a, (own, cuts) in enumerate(zip(space.attributes, space.parts(vector), strict=True)):
        part = np.concatenate([[0], np.cumsum(cuts, dtype=np.int64)])
        widths = np.bincount(part)
        losses += ((widths[part] - 1) / own.bits)[rows[:, a]]
        parts.append(part[rows[:, a]])
    keys = np.ravel_multi_index(parts, [int(part.max()) + 1 for part in parts])
    _, group = np.unique(keys, return_inverse=True)
    sizes = np.bincount(group, weights=counts).astype(np.int64)
    rising = np.sort(sizes)
    below = np.concatenate([[0], np.cumsum(rising)[:-1]])
    first = np.searchsorted(rising, rising, side="left")
    k = int(rising[below[first] <= int(ETA * RECORDS + 1e-9)].max())
    kept = sizes[group] >= k
    return k, float((losses * counts)[kept].sum() / (RECORDS * len(parts)))


def looked_at(search: Search, number: int) -> NDArray[np.uint8]:
    """Some of the vectors that a search has worked out, evenly from the first to the last."""
    known = list(search.evaluator.known)
    chosen = [known[i] for i in np.linspace(0, len(known) - 1, number).astype(int)]
    return np.frombuffer(b"".join(chosen), np.uint8).reshape(number, -1)


def speed(cells: Cells, space: CutSpace, search: Search, vectors: NDArray[np.uint8]) -> tuple[float, ...]:
    """Time our evaluations and the plain ones in turns on the same vectors; compare what they say.

    Returns the seconds of ours and of the plain ones, the ratio, and the ratio of the processor's time.
    """
    number = len(vectors)
    begins = merged(cells, space)
    ratios, busy, ours, theirs = [], [], [], []
    for _ in range(7):
        started, busy_at_first = time.perf_counter(), time.process_time()
        facts = search.evaluator.worked_out(vectors)
        middle, busy_between = time.perf_counter(), time.process_time()
        expected = [plain(*begins, space, vector) for vector in vectors]
        ended, busy_at_last = time.perf_counter(), time.process_time()
        assert np.allclose([rows[0][:2] for rows in facts], expected, atol=1e-12)
        ours.append((middle - started) / number)
        theirs.append((ended - middle) / number)
        ratios.append(theirs[-1] / ours[-1])
        busy.append((busy_at_last - busy_between) / (busy_between - busy_at_first))
    return tuple(statistics.median(own) for own in (ours, theirs, ratios, busy))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--plain", type=int, default=96)
    parser.add_argument("--generations", type=int, default=250)
    parser.add_argument("--only", choices=("speed", "quality"))
    asked = parser.parse_args()
    table = load("adult-train", quasi=QUASI, sensitive=())
    space = cut_space(table.cells, CONSTRAINED, {"age": 1}, counts_atoms=True)
    if asked.only != "quality":
        fast(table, space, asked.generations, asked.plain)
    if asked.only != "speed":
        against_exact(asked.seeds)
        against_paper(table, space, asked.seeds, asked.generations)


def fast(table: Table, space: CutSpace, generations: int, number: int) -> None:
    """Time a whole search, and single evaluations against the plain program."""
    paper = NSGA2(200, generations, operators="paper")
    Search(table, Problem2(ETA), space, replace(paper, generations=2)).run()  # compiled
    search = Search(table, Problem2(ETA), space, paper)
    started, busy_at_first = time.perf_counter(), time.process_time()
    frontier = search.run()
    seconds, busy = time.perf_counter() - started, time.process_time() - busy_at_first
    outside = 1 - search.evaluator.seconds / seconds
    print(f"{frontier.evaluations:,} evaluations: {seconds:.1f} s, {busy:.1f} s of processors, ", end="")
    print(f"{outside:.0%} outside the kernel:", end=" ")
    print(verdict(seconds, TARGET_SECONDS))
    rows = []
    for what, vectors in (
        ("of the search", looked_at(search, number)),
        ("random, finer", drawn(space, number, np.random.default_rng(1), True)),
    ):
        own, theirs, ratio, busy = speed(table.cells, space, search, vectors)
        reached = verdict(ratio, TARGET_RATIO, at_least=True)
        times = (f"{own * 1e6:.0f} us", f"{theirs * 1e6:.0f} us")
        rows.append((what, *times, f"{ratio:.0f}x", reached, f"{busy:.0f}x"))
    header = ("cut vectors", "ours, two threads", "plain numpy", "ratio", f"target {TARGET_RATIO}x", "processor time")
    print_table(header, rows)


def against_exact(seeds: int) -> None:
    """Hypervolume against the exact frontier of a small space."""
    few = load("adult-train", quasi=FEW, sensitive=())
    chosen = cut_space(few.cells, FEW, {"age": 1}).attributes
    small = CutSpace(tuple(CutAttribute(own.name, own.hierarchy, True, own.level) for own in chosen))
    best = hypervolume(exact(few, Problem2(ETA), small), few.cells.records)
    found = []
    for seed in range(seeds):
        solver = NSGA2(100, 40, seed=seed)
        found.append(hypervolume(Search(few, Problem2(ETA), small, solver).run(), few.cells.records) / best)
    print(f"\n{small.count:,} cut vectors, all looked at; share of the exact hypervolume over {seeds} seeds:")
    median = statistics.median(found)
    print(f"median {median:.4f}, least {min(found):.4f}: {verdict(median, TARGET_QUALITY, at_least=True)}")


def converging(search: Search, steps: list[int]) -> list[float]:
    """Hypervolume after some numbers of generations; the last one of ours includes the local search."""
    return [hypervolume(search.run(generations=step - search.generation), RECORDS) for step in steps]


def against_paper(table: Table, space: CutSpace, seeds: int, generations: int) -> None:
    """Hypervolume on the full space, ours and the paper's settings with the same seeds, as generations go by."""
    steps = [step for step in (1, 10, 25, 50, 100, 175) if step < generations - 1] + [generations - 1, generations]
    curves: dict[str, list[list[float]]] = {"paper": [], "own": []}
    for seed in range(seeds):
        for name, found in curves.items():
            solver = NSGA2(200, generations, operators=name, seed=seed)
            found.append(converging(Search(table, Problem2(ETA), space, solver), steps))
        print(f"seed {seed}: " + ", ".join(f"{name} {own[-1][-1]:.4f}" for name, own in curves.items()), flush=True)
    rows = [
        (step, *(f"{statistics.median(curve[i] for curve in own):.4f}" for own in curves.values()))
        for i, step in enumerate(steps)
    ]
    print(f"\nConvergence on the full space, hypervolume, median over {seeds} seeds:")
    print_table(("generations", "the paper's settings", "ours"), rows)
    paper, own = ([curve[-1] for curve in found] for found in curves.values())
    better = statistics.median(own) > statistics.median(paper)
    print(f"the paper's settings {min(paper):.4f} to {max(paper):.4f}, ours {min(own):.4f} to {max(own):.4f}:", end=" ")
    print("above" if better else "NOT ABOVE")


if __name__ == "__main__":
    main()
