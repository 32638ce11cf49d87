"""The attack and 2000 half-range queries on 10,000 boxes and 30,000 records, against plain numpy.

Run: python benchmarks/attack.py [--repeats N]

Target: both together under .5 s when warm. The plain attack adds every box to all leaves of its interval and takes the
logarithms of all points at once; the plain queries work out the overlap of every box with one query after the other.
"""

from __future__ import annotations

import argparse

import numpy as np

from common import compare_seconds, print_table, rowless, synthetic_cells, verdict
from sfumato.measures.attribute_attack import Attack
from sfumato.measures.queries import HALF_RANGES
from sfumato.measures.scales import Scales
from sfumato.release.content import Budget, Guarantee, noisy_release
from sfumato.release.regions import overlap_estimates

RECORDS, BOXES = 30_000, 10_000
TARGET_SECONDS = 0.5


def halved_boxes(sizes, number, random):
    """Halve boxes in random attributes until there are enough: what a quadtree or kd-tree has for leaves."""
    waiting = [(np.zeros(len(sizes), np.int32), np.asarray(sizes, np.int32) - 1)]
    while len(waiting) < number:
        lo, hi = waiting.pop(0)
        a = random.choice(np.flatnonzero(hi > lo))
        upper, lower = lo.copy(), hi.copy()
        lower[a] = (lo[a] + hi[a]) // 2
        upper[a] = lower[a] + 1
        waiting += [(lo, lower), (upper, hi)]
    return (np.array(ends) for ends in zip(*waiting, strict=True))


def plain_attack(release, points, truth):
    """The same attack in numpy, without its rules for ties and zeros."""
    content, boxes = np.maximum(release.content, 0.0), release.boxes
    totals = content.sum(axis=0)
    score = np.tile(np.log(totals), (len(points.codes), 1))
    for a, quasi in enumerate(release.cells.quasi):
        widths, below = np.asarray(quasi.hierarchy.widths), quasi.hierarchy.cumulative
        per_width = content / (below[boxes.hi[:, a] + 1] - below[boxes.lo[:, a]])[:, None]
        joint = np.zeros((len(widths), content.shape[1]))
        for b in range(len(per_width)):
            joint[boxes.lo[b, a] : boxes.hi[b, a] + 1] += per_width[b]
        with np.errstate(divide="ignore"):
            score += np.log(joint * widths[:, None] / totals)[points.codes[:, a]]
    return truth[np.arange(len(truth)), score.argmax(axis=1)].sum() / truth.sum()


def plain_estimates(release, regions):
    """The same estimates in numpy, one region after the other."""
    boxes, quasi = release.boxes, release.cells.quasi
    found, masks = np.empty((regions.size, release.content.shape[1])), [own.masks for own in regions.selections]
    for r in range(regions.size):
        weight = np.ones(len(boxes.lo))
        for a, own in enumerate(quasi):
            chosen = masks[a][regions.used[r, a]] * np.asarray(own.hierarchy.widths)
            selected, below = np.concatenate([[0.0], np.cumsum(chosen)]), own.hierarchy.cumulative
            lo, end = boxes.lo[:, a], boxes.hi[:, a] + 1
            weight *= (selected[end] - selected[lo]) / (below[end] - below[lo])
        found[r] = weight @ release.content
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=5)
    repeats = options.parse_args().repeats
    cells, random = synthetic_cells(RECORDS), np.random.default_rng(0)
    lo, hi = halved_boxes([quasi.hierarchy.size for quasi in cells.quasi], BOXES, random)
    counts = random.poisson(2.0, (BOXES, cells.sensitive[0].hierarchy.size)).astype(np.float64)
    release = noisy_release(rowless(cells), lo, hi, counts, Guarantee(Budget(1.0), (), "", ()))
    prepared = Scales(queries=HALF_RANGES).prepare(release.table)
    points, truth, regions = prepared.points, prepared.truth, prepared.workloads[0].regions
    attack = Attack()
    assert np.isclose(attack.against(release).accuracy, plain_attack(release, points, truth))
    assert np.allclose(overlap_estimates(release, regions), plain_estimates(release, regions))
    jobs = {
        "attack": (
            lambda: attack.against(release),
            lambda: plain_attack(release, points, truth),
        ),
        "2000 queries": (
            lambda: overlap_estimates(release, regions),
            lambda: plain_estimates(release, regions),
        ),
    }
    rows, sum_of_all = [], 0.0
    for name, (own, plain) in jobs.items():
        ours, theirs, ratio = compare_seconds(own, plain, repeats)
        sum_of_all += ours
        rows.append([name, f"{1e3 * ours:.0f} ms", f"{1e3 * theirs:.0f} ms", f"{ratio:.1f}x", ""])
    rows.append(["both", f"{1e3 * sum_of_all:.0f} ms", "", "", verdict(sum_of_all, TARGET_SECONDS)])
    print_table([f"{BOXES:,} boxes, {RECORDS:,} records", "ours", "plain numpy", "ratio", "target .5 s"], rows)


if __name__ == "__main__":
    main()
