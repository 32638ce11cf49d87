"""The better reader: dealing values within groups against plain numpy, growth to 100 times the cells, and on Adult.

Run: python benchmarks/reader.py [--repeats N] [--largest CELLS] [--adult]

The plain reader deals all groups at once with whole arrays (products, sums by group, scaling rows and columns until all
groups are balanced). With --adult the 64 releases of Li & Li 2009 are measured with and without the better reader, and
the tables of docs/concepts/attacks.md are printed.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

from common import compare_seconds, median_seconds, print_table, synthetic_cells
from sfumato.measures.reconstruction import BALANCED, MOST_SCALINGS, EmReader, Entries, UniformReader, learned, relative

CELLS, GROUP, ROUNDS = 20_000, 20, 5


def random_groups(cells, size, seed=0):
    """Put cells at random into groups, each record of a cell with it; return entries and histograms."""
    order = np.random.default_rng(seed).permutation(cells.size)
    group = np.arange(cells.size) // size
    starts = np.append(np.arange(0, cells.size, size), cells.size).astype(np.int64)
    mass = cells.counts[order].astype(np.float64)
    histograms = np.zeros((len(starts) - 1, cells.sensitive[0].size))
    np.add.at(histograms, (group, cells.values[order, 0]), mass)
    return Entries(order, cells.codes[order], group, starts, mass, order), histograms


def plain_dealt(entries, histograms, hierarchies, rounds):
    """The same rounds with whole arrays."""
    offsets = np.cumsum([0, *(own.size for own in hierarchies)])
    rows, group, mass = entries.codes + offsets[:-1], entries.group, entries.mass[:, None]
    totals, sizes = histograms.sum(axis=0), histograms.sum(axis=1, keepdims=True)
    dealt, scaling, usual = mass * (histograms / sizes)[group], histograms.copy(), None
    for _ in range(rounds):
        counts = np.zeros((offsets[-1], len(totals)))
        for a in range(rows.shape[1]):
            np.add.at(counts, rows[:, a], dealt)
        usual = counts.sum(axis=1) / totals.sum() if usual is None else usual
        model = relative(learned(counts, usual, totals))
        odds = np.prod(model[rows], axis=1)
        for _ in range(MOST_SCALINGS):
            factor = mass / (odds * scaling[group]).sum(axis=1, keepdims=True)
            reached = np.add.reduceat(odds * factor, entries.starts[:-1])
            if (np.abs(reached * scaling - histograms) <= BALANCED * sizes).all():
                break
            scaling = histograms / reached
        dealt = odds * factor * scaling[group]
    return dealt


def dealing(repeats, largest):
    """Time dealing at growing numbers of cells, at the first against plain numpy."""
    rows = []
    for cells_wanted in (CELLS, 10 * CELLS, 100 * CELLS):
        if cells_wanted > largest:
            continue
        cells = synthetic_cells(cells_wanted)
        entries, histograms = random_groups(cells, GROUP)
        hierarchies, reader = [quasi.hierarchy for quasi in cells.quasi], EmReader(ROUNDS)

        def ours(reader=reader, entries=entries, histograms=histograms):
            return reader.dealt(entries, histograms)

        if cells_wanted == CELLS:
            assert np.allclose(ours(), plain_dealt(entries, histograms, hierarchies, ROUNDS), atol=1e-3)
            own, _, ratio = compare_seconds(
                ours, lambda e=entries, h=histograms, s=hierarchies: plain_dealt(e, h, s, ROUNDS), repeats
            )
            told = f"{ratio:.1f}x"
        else:
            own, told = median_seconds(ours, max(repeats // 2, 1)), ""
        rows.append([f"{cells_wanted:,}", f"{1e3 * own:.0f} ms", told])
    print_table([f"cells, groups of {GROUP}, {ROUNDS} rounds", "ours", "plain numpy / ours"], rows)


def on_adult():
    """Measure the 64 releases of Li & Li 2009 by both readers."""
    from sfumato.data.bundled import load
    from sfumato.tradeoff.study.presets import bundled_study

    table, study = load("adult"), bundled_study("adult")
    clever, plain = (replace(study.scales, reader=r).prepare(table).ready() for r in (EmReader(), UniformReader()))
    rows, spent = [], {"em": 0.0, "uniform": 0.0}
    for candidate in study.candidates:
        release = candidate.repeatable().make(table)
        if release.histograms is None:
            continue
        clever.measure(release) if not rows else None
        for name, scales in (("uniform", plain), ("em", clever)):
            started = time.thread_time()
            found = scales.measure(release)
            spent[name] += time.thread_time() - started
        trivial = bool(candidate.anonymizer.baseline)
        what = candidate.anonymizer.name if trivial else str(candidate.requirement)
        names = ("p_loss", "u_loss", "u_loss_em", "query_error", "query_error_em")
        right, gain = found["definetti_accuracy"], found["definetti_gain"]
        told = [f"{found[name]:.4f}" for name in names]
        told += [f"{100 * share:.1f} %" for share in (right - gain, right, found["attack_accuracy"])]
        rows.append([what, candidate.form[0].upper(), *told])
    head = ["requirement", "", "p_loss", "u_loss", "u_loss_em", "query_error", "query_error_em"]
    print_table([*head, "commonest of group", "deFinetti", "Cormode's attack"], rows)
    each = {name: 1e3 * seconds / len(rows) for name, seconds in spent.items()}
    more = each["em"] - each["uniform"]
    print(
        f"processor time a release: {each['uniform']:.0f} ms by the uniform reader alone, {each['em']:.0f} ms by both"
    )
    print(f"so 67 releases by two threads take {67 * more / 2e3:.1f} s longer\n")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--largest", type=int, default=100 * CELLS)
    options.add_argument("--adult", action="store_true")
    given = options.parse_args()
    if given.adult:
        on_adult()
    else:
        dealing(given.repeats, given.largest)


if __name__ == "__main__":
    main()
