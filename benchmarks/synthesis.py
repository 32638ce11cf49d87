"""How well differentially private releases keep pairs of columns of Adult: the mean total variation of all pairs.

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/synthesis.py [--draws 5] [--epsilon 1] [--mbi]

Of every pair of the seven columns (six quasi-identifiers and occupation), half of the sum of |share in the table -
share in the release|; then the mean over the 21 pairs, the mean over draws, and the largest draw. From the published
rows, in plain numpy. `--mbi` estimates a small model with mbi 2 too, if it is installed, and says how far ours is.
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations

import numpy as np

import sfumato
from common import print_table
from sfumato.anonymizers.dp._models import Estimate
from sfumato.anonymizers.dp._private_cells import record_domain

MAKERS = (
    "mst epsilon={}",
    "mst epsilon={} delta=1e-6",
    "mst epsilon={} delta=1e-9",
    "aim epsilon={} delta=1e-6",
    "aim epsilon={} delta=1e-9",
    "dp-privtree epsilon={}",
    "dp-grid epsilon={}",
    "dp-kd-tree epsilon={} height=8",
)


def coded(columns: dict[str, list[str | None]], values: dict[str, list[str | None]]) -> np.ndarray:
    """Number the texts of every column."""
    places = {name: {value: place for place, value in enumerate(values[name])} for name in values}
    return np.column_stack([[places[name][value] for value in columns[name]] for name in values])


def shares(codes: np.ndarray, sizes: list[int], a: int, b: int) -> np.ndarray:
    return np.bincount(codes[:, a] * sizes[b] + codes[:, b], minlength=sizes[a] * sizes[b]) / len(codes)


def mean_distance(truth: np.ndarray, codes: np.ndarray, sizes: list[int]) -> float:
    """Return the mean total variation of all pairs."""
    pairs = combinations(range(len(sizes)), 2)
    return float(
        np.mean([np.abs(shares(truth, sizes, *pair) - shares(codes, sizes, *pair)).sum() / 2 for pair in pairs])
    )


def independent_distance(truth: np.ndarray, sizes: list[int]) -> float:
    """Return what columns without noise that have nothing to do with each other would have."""
    single = [np.bincount(truth[:, a], minlength=size) / len(truth) for a, size in enumerate(sizes)]
    pairs = combinations(range(len(sizes)), 2)
    return float(
        np.mean(
            [np.abs(shares(truth, sizes, a, b) - np.outer(single[a], single[b]).ravel()).sum() / 2 for a, b in pairs]
        )
    )


def against_mbi(table: sfumato.Table) -> str:
    """Estimate the same model of noisy pairs with ours and with mbi; say how far apart and how long."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import mbi

    domain, random = record_domain(table), np.random.default_rng(1)
    release = sfumato.anonymizer("mst epsilon=1").draw(table)
    model = release.details["model"]
    pairs = [tuple(map(domain.names.index, each.names)) for each in release.details["counted"] if len(each.names) > 1]
    noisy = {pair: model.total * model.shares(pair) + random.normal(0, 10, domain.shape(pair)) for pair in pairs}
    estimate = Estimate(domain)
    started = time.process_time()
    for pair, counts in noisy.items():
        estimate.add(pair, counts, 100.0)
    ours, own = estimate.fit(3000), time.process_time() - started
    started = time.process_time()
    theirs = mbi.estimation.MirrorDescent().estimate(
        mbi.Domain(range(len(domain.sizes)), domain.sizes),
        [mbi.LinearMeasurement(counts.ravel(), pair, 10.0) for pair, counts in noisy.items()],
        known_total=ours.total,
        iters=3000,
    )
    other = time.process_time() - started
    apart = [
        np.abs(ours.total * ours.shares(pair).ravel() - np.asarray(theirs.project(pair).datavector())).sum() / 2
        for pair in combinations(range(len(domain.sizes)), 2)
    ]
    return f"ours {own:.2f} s, mbi {other:.1f} s; total variation between them {np.mean(apart) / ours.total:.5f}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--mbi", action="store_true")
    options = parser.parse_args()
    table = sfumato.load("adult")
    attributes = (*table.cells.quasi, *table.cells.sensitive)
    values = {each.name: [leaf or None for leaf in each.hierarchy.leaves] for each in attributes}
    sizes = [len(leaves) for leaves in values.values()]
    counts = table.cells.counts
    leaves = [each.leaves[table.cells.values[:, s]] for s, each in enumerate(table.cells.sensitive)]
    truth = np.repeat(np.column_stack([table.cells.codes, *leaves]), counts, axis=0).astype(np.int64)
    random = np.random.default_rng(1)
    boots = [
        mean_distance(truth, truth[random.integers(0, len(truth), len(truth))], sizes) for _ in range(options.draws)
    ]
    lines = [
        ["independent columns, no noise", f"{independent_distance(truth, sizes):.4f}", "", ""],
        ["bootstrap of the table", f"{np.mean(boots):.4f}", f"{max(boots):.4f}", ""],
    ]
    for text in MAKERS:
        maker = sfumato.anonymizer(text.format(options.epsilon))
        maker.draw(table)  # compiles kernels, imports OpenDP
        found, seconds = [], []
        for _ in range(options.draws):
            started = time.process_time()
            release = maker.draw(table)
            seconds.append(time.process_time() - started)
            codes = coded(release.record_table().to_pydict(), values)
            found.append(mean_distance(truth, codes, sizes))
        lines.append([str(maker), f"{np.mean(found):.4f}", f"{max(found):.4f}", f"{np.mean(seconds):.2f} s"])
    print_table(["release", "mean", "largest draw", "processor time"], lines)
    if options.mbi:
        print(against_mbi(table))


if __name__ == "__main__":
    main()
