"""Differentially private trees: all but the noise of a tree with 131,072 leaves x 14 values, and the noise itself.

    python benchmarks/dp.py

The plain baseline asks the same questions with numpy, box by box for medians, and makes the counts consistent by
walking the tree level by level in numpy. Both work without noise, so they must come to the same counts.
"""

from __future__ import annotations

import time

import numpy as np

from common import compare_seconds, print_table, rowless, synthetic_cells, verdict
from sfumato.anonymizers.dp._private_cells import declared_domain, next_attributes, shares
from sfumato.anonymizers.dp.noise import Noise, OpenDPNoise, variance
from sfumato.anonymizers.dp.trees import DPKdTree, DPQuadtree

RECORDS = 100_000
HEIGHT = 17
TARGET = 1.0


class NoNoise(Noise):
    """Exact answers, so that what is timed is everything else."""

    safe = False

    def add(self, counts, epsilon):
        """Add nothing."""
        return counts

    def choose(self, scores, offsets, epsilon):
        """Take the middle of every list: as cheap as it gets."""
        return np.diff(offsets) // 2


def plain(table, medians: bool):
    """Grow the same tree with plain numpy: masks instead of kernels, one box at a time for medians."""
    domain, cells = declared_domain(table), table.cells
    values = cells.sensitive[0].leaves[cells.values[:, 0]]
    lo, hi = domain.whole()
    box = np.zeros(cells.size, np.int64)
    noisy, starts = [], []
    for depth in range(HEIGHT + 1):
        counts = np.zeros((len(lo), domain.values.size))
        np.add.at(counts, (box, values), cells.counts)
        noisy.append(counts)
        if depth == HEIGHT:
            break
        attribute = next_attributes(depth, lo, hi)
        if medians:
            order = np.argsort(box, kind="stable")
            edges = np.searchsorted(box[order], np.arange(len(lo) + 1))
            cut = np.zeros(len(lo), np.int32)
            for b in np.flatnonzero(attribute >= 0):
                a, own = attribute[b], order[edges[b] : edges[b + 1]]
                first, last = lo[b, a], hi[b, a]
                below = np.cumsum(np.bincount(cells.codes[own, a] - first, cells.counts[own], last - first + 1))
                scores = -np.abs(2 * below[:-1] - below[-1])
                cut[b] = first + len(scores) // 2
        else:
            cut = domain.middles(attribute, lo, hi)
        parts = np.where(attribute >= 0, 2, 1)
        child = np.cumsum(parts) - parts
        above = (attribute[box] >= 0) & (cells.codes[np.arange(cells.size), attribute[box]] > cut[box])
        box = child[box] + above
        own = np.flatnonzero(attribute >= 0)
        lo, hi = np.repeat(lo, parts, axis=0), np.repeat(hi, parts, axis=0)
        hi[child[own], attribute[own]] = cut[own]
        lo[child[own] + 1, attribute[own]] = cut[own] + 1
        starts.append(child)
    own = [variance(e) for e in shares(0.7 if medians else 1.0, HEIGHT + 1, 2 ** (1 / 3))]
    return _consistent(noisy, starts, own)[-1]


def _consistent(noisy, starts, own):
    best, spread = [noisy[-1]], [np.full(len(noisy[-1]), own[-1])]
    for depth in range(len(starts) - 1, -1, -1):
        parent = np.repeat(np.arange(len(starts[depth])), np.diff([*starts[depth], len(best[0])]))
        total, below = np.zeros(len(starts[depth])), np.zeros_like(noisy[depth])
        np.add.at(total, parent, spread[0])
        np.add.at(below, parent, best[0])
        weight = total / (own[depth] + total)
        best.insert(0, weight[:, None] * noisy[depth] + (1 - weight)[:, None] * below)
        spread.insert(0, weight * own[depth])
    result = [best[0]]
    for depth, start in enumerate(starts):
        parent = np.repeat(np.arange(len(start)), np.diff([*start, len(best[depth + 1])]))
        total, below = np.zeros(len(start)), np.zeros_like(noisy[depth])
        np.add.at(total, parent, spread[depth + 1])
        np.add.at(below, parent, best[depth + 1])
        gap = (result[-1] - below) / total[:, None]
        result.append(best[depth + 1] + spread[depth + 1][:, None] * gap[parent])
    return result


def main() -> None:
    table = rowless(synthetic_cells(RECORDS))
    rows = []
    for maker in (DPQuadtree(1.0, HEIGHT, counts="unbiased"), DPKdTree(1.0, HEIGHT, counts="unbiased")):
        medians = isinstance(maker, DPKdTree)
        release = maker.draw(table, NoNoise())
        assert np.allclose(release.counts, plain(table, medians))
        ours, theirs, ratio = compare_seconds(
            lambda maker=maker: maker.draw(table, NoNoise()), lambda medians=medians: plain(table, medians), repeats=3
        )
        shown = f"{release.groups:,} x {release.counts.shape[1]}"
        rows.append([maker.name, shown, f"{ours:.2f} s", f"{theirs:.2f} s", f"{ratio:.1f}x", verdict(ours, TARGET)])
    print_table(["tree", "leaves x values", "all but the noise", "plain numpy", "ratio", f"target {TARGET:g} s"], rows)
    noise, n = OpenDPNoise(), 100_000
    noise.add(np.zeros(10, np.int64), 0.5)
    started = time.perf_counter()
    noise.add(np.zeros(n, np.int64), 0.5)
    adding = time.perf_counter() - started
    scores, offsets = np.tile(-np.abs(np.arange(50) - 25), 1000), np.arange(0, 50_001, 50)
    noise.choose(scores[:50], offsets[:2], 0.5)
    started = time.perf_counter()
    noise.choose(scores, offsets, 0.5)
    choosing = time.perf_counter() - started
    print(f"OpenDP: {adding:.2f} s per 100,000 counts, {choosing:.2f} s per 1,000 medians of 50 candidates")


if __name__ == "__main__":
    main()
