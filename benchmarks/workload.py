"""Learning from a release: distinct rows with weights against every record, one figure, and the adversary's sums.

Run: python benchmarks/workload.py [--without-figure]

The figure is number 3 of Brickell & Shmatikov 2008: 15 sanitizations and both trivial ones and the original, three
classifiers, ten folds, 45,222 records (target under 180 s on two cores). A row of weight w teaches what w records
teach (tests/test_workload.py); what that saves depends on how coarse the release is.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from common import compare_seconds, print_table, verdict
from sfumato import anonymize
from sfumato.measures.classification._classifiers import CLASSIFIERS, features, trained
from sfumato.measures.classification._validation import Validation, deal
from sfumato.measures.classification.classification import Classification
from sfumato.measures.divergence import adversary_gains
from sfumato.papers.brickell_shmatikov_2008 import PANELS, BrickellShmatikov2008, opened

GROUPS, VALUES = 10_000, 14
TARGET_MILLISECONDS = 1.0
TARGET_FIGURE = 180.0


def plain_gains(counts, sizes, q):
    """The same sums in plain numpy."""
    p = counts / sizes[:, None]
    know = (np.abs(p - q).sum(axis=1) / 2 * sizes).sum() / sizes.sum()
    gain = (p * np.log(np.where(p > 0, p, 1) / q) * sizes[:, None]).sum() / sizes.sum()
    return know, (p.max(axis=1) * sizes).sum() / sizes.sum() - q.max(), gain


def adversary() -> None:
    random = np.random.default_rng(0)
    counts = random.poisson(3, (GROUPS, VALUES)) + (np.arange(VALUES) == 0)
    sizes, q = counts.sum(axis=1), counts.sum(axis=0) / counts.sum()
    assert np.allclose(list(adversary_gains(counts, sizes, q).values()), plain_gains(counts, sizes, q))
    own, plain, ratio = compare_seconds(
        lambda: adversary_gains(counts, sizes, q), lambda: plain_gains(counts, sizes, q), 21
    )
    found = verdict(1e3 * own, TARGET_MILLISECONDS)
    print_table(
        ["measures", "groups", "ms", "plain numpy ms", "ratio", "target 1 ms"],
        [
            [
                "a_know, a_acc, information_gain",
                f"{GROUPS:,}",
                f"{1e3 * own:.2f}",
                f"{1e3 * plain:.2f}",
                f"{ratio:.1f}x",
                found,
            ]
        ],
    )


def rows_against_records() -> None:
    panel, rows = PANELS[2], []
    table = opened(panel.quasi, panel.sensitive)
    task = Classification(panel.target, sample=0).prepare(table)
    for k in (10, 100, 1000):
        release = anonymize(table, f"k-anonymity k={k}", f"mondrian cut=information-gain target={panel.target}")
        validation = Validation.of(task, release, deal(task.records, release.assignment))
        weights = validation.training_weights(0)
        row, label = np.nonzero(weights)
        w = weights[row, label]
        every = np.repeat(np.arange(len(row)), w.astype(int))
        for name in CLASSIFIERS:
            x = features(validation.readings[CLASSIFIERS[name][1]], validation.train.rows[row])
            wide, wide_label, ones = x[every], label[every], np.ones(len(every))
            own, plain, ratio = compare_seconds(
                lambda x=x, y=label, w=w, name=name: trained(name, 0, x, y, w),
                lambda x=wide, y=wide_label, w=ones, name=name: trained(name, 0, x, y, w),
                3,
            )
            rows.append([k, name, f"{len(row):,}", f"{len(every):,}", f"{own:.2f}", f"{plain:.2f}", f"{ratio:.1f}x"])
    print_table(["k", "classifier", "rows", "records", "s", "s on records", "ratio"], rows)


def figure() -> None:
    started = time.perf_counter()
    found = BrickellShmatikov2008(panels=PANELS[2:3]).findings["3"]
    seconds = time.perf_counter() - started
    fits = (len(found.made) + 3) * 3 * 10
    print_table(
        ["figure", "sanitizations", "fits", "s", "target 180 s"],
        [["3", len(found.made), fits, f"{seconds:.0f}", verdict(seconds, TARGET_FIGURE)]],
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-figure", action="store_true")
    asked = parser.parse_args()
    adversary()
    rows_against_records()
    if not asked.without_figure:
        figure()
