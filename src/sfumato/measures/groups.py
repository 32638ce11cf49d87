"""Measures read off the groups of a release: sizes, boxes and histograms, all in one pass over the groups."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import kernel
from sfumato.measures.measure import MEASURES
from sfumato.release import Release
from sfumato.requirements.requirement import sensitive_levels
from sfumato.table import Sensitive

Numbers = NDArray[np.float64]
Counts = NDArray[np.int64]
Codes = NDArray[np.int32]
WORKERS = os.cpu_count() or 1
LEAST_GROUPS = 10_000
"""Fewer groups than this are not worth a thread."""

SMALL = 48
"""Sizes and counts below this have their logarithms remembered."""

LOG_2 = math.log(2)
BINS = 1024

COLUMNS = (
    "l_frequency",
    "l_distinct",
    "l_entropy",
    "l_recursive",
    "t_equal",
    "t_ordered",
    "t_hierarchical",
    "t_js",
    "delta",
    "beta",
)
JS = COLUMNS.index("t_js")
RECURSIVE_C = 3.0
"""The c with which `l_recursive` is reported, as in Brickell & Shmatikov 2008."""


@dataclass(frozen=True)
class Measured:
    """The measures of a release: by name, and for each sensitive attribute apart."""

    values: Mapping[str, float]
    by_sensitive: Mapping[str, Mapping[str, float]]

    def __getitem__(self, name: str) -> float:
        return self.values[name]


def measure(release: Release) -> Measured:
    """Measure a release by everything that can be read off its groups.

    Where there are several sensitive attributes, a measure about sensitive values is that of the worst attribute.
    """
    by_sensitive = {}
    if release.histograms is not None:
        for position, attribute in enumerate(release.histograms.sensitive):
            per_group = of_groups(release.histograms.of(position), release.sizes, attribute)
            by_sensitive[attribute.name] = _worst_groups(per_group) | _spread(per_group[:, JS], release.sizes)
    values = {**_sizes(release), **_losses(release)}
    for name in (*COLUMNS, "p_loss", "p_loss_mean", "p_loss_median", "p_loss_95"):
        found = [own[name] for own in by_sensitive.values()]
        if found:
            values[name] = min(found) if MEASURES[name].better == "higher" else max(found)
    ordered = {name: values[name] for name in MEASURES if name in values}
    return Measured(ordered, by_sensitive)


def _worst_groups(per_group: Numbers) -> dict[str, float]:
    worst = {}
    for i, name in enumerate(COLUMNS):
        column = per_group[:, i]
        worst[name] = float(column.min() if MEASURES[name].better == "higher" else column.max())
    worst["p_loss"] = worst["t_js"]
    return worst


def _spread(losses: Numbers, sizes: Counts) -> dict[str, float]:
    """Return mean and quantiles over records of the groups' privacy losses."""
    losses = np.ascontiguousarray(losses)
    return {
        "p_loss_mean": float((losses * sizes).sum()) / float(sizes.sum()),
        "p_loss_median": weighted_quantile(losses, sizes, 0.5),
        "p_loss_95": weighted_quantile(losses, sizes, 0.95),
    }


def _sizes(release: Release) -> dict[str, float]:
    sizes = release.sizes.astype(np.float64)
    published = release.assignment.records
    squares = float((sizes * sizes).sum())
    return {
        "k": int(release.quasi_counts.min()),
        "smallest_group": int(release.sizes.min()),
        "prosecutor": 1 / int(release.quasi_counts.min()),
        "marketer": len(release.quasi_counts) / published,
        "discernibility": squares + float(release.suppressed) * release.cells.records,
        "average_group": published / release.groups,
        "weighted_k": squares / published,
        "suppressed": release.suppressed,
    }


def _losses(release: Release) -> dict[str, float]:
    """Loss as ARX and Dewri et al. compute it: each suppressed record counts 1, both as shares of all cells."""
    widths = [quasi.hierarchy.cumulative for quasi in release.cells.quasi]
    sizes = np.array([quasi.hierarchy.size for quasi in release.cells.quasi])
    starts = np.cumsum([0, *(len(width) for width in widths[:-1])])
    boxes = release.boxes
    total = total_loss(boxes.lo, boxes.hi, boxes.mass, np.concatenate(widths), starts, sizes)
    generalized = total / (len(release.cells.quasi) * release.cells.records)
    suppressed = release.suppressed / release.cells.records
    return {
        "loss": generalized + suppressed,
        "generalization_loss": generalized,
        "suppression_loss": suppressed,
    }


def of_groups(counts: Counts, sizes: Counts, attribute: Sensitive) -> Numbers:
    """Return for every group the measures in `COLUMNS` of one sensitive attribute."""
    counts, levels = np.ascontiguousarray(counts), sensitive_levels(attribute)
    out = np.empty((len(COLUMNS), len(sizes)))
    stretch = max(-(-len(sizes) // WORKERS), LEAST_GROUPS)

    def work(start: int) -> None:
        part = slice(start, start + stretch)
        measure_groups(counts[part], sizes[part], attribute.shares, levels, RECURSIVE_C, out[:, part])

    starts = range(0, len(sizes), stretch)
    if len(starts) == 1:
        work(0)
    else:
        with ThreadPoolExecutor(len(starts)) as pool:
            list(pool.map(work, starts))
    return out.T


@kernel
def measure_groups(counts: Counts, sizes: Counts, q: Numbers, levels: Counts, c: float, out: Numbers) -> None:
    """Work all measures of `COLUMNS` out together in one pass.

    Logarithms cost most. Small groups repeat the same few (size, count, value) again and again, so their terms of
    the divergence are remembered, as n ln n is for small counts.
    """
    values = len(q)
    ends, inverse_q, q_log_q = node_ends(levels), 1 / q, q * np.log(q)
    known = np.full((SMALL, SMALL, values), np.nan)
    n_log_n = np.zeros(SMALL)
    for n in range(1, SMALL):
        n_log_n[n] = n * math.log(n)
    ordered_counts = np.empty(values, np.int64)
    for g in range(len(sizes)):
        size = sizes[g]
        share = 1.0 / size
        small = size < SMALL
        distinct = 0
        sum_n_log_n = equal = ordered = js = running = most = 0.0
        least = math.inf
        for s in range(values):
            n = counts[g, s]
            p = n * share
            difference = p - q[s]
            equal += abs(difference)
            ordered += abs(running)
            running += difference
            ratio = p * inverse_q[s]
            most, least = max(most, ratio), min(least, ratio)
            if n == 0:
                js += q[s] * LOG_2
                continue
            place = distinct  # keep the counts in falling order
            while place > 0 and ordered_counts[place - 1] < n:
                ordered_counts[place] = ordered_counts[place - 1]
                place -= 1
            ordered_counts[place] = n
            distinct += 1
            sum_n_log_n += n_log_n[n] if n < SMALL else n * math.log(n)
            term = known[size, n, s] if small else math.nan
            if math.isnan(term):
                term = q_log_q[s] - (p + q[s]) * math.log((p + q[s]) / 2)
                if small:
                    known[size, n, s] = term
            js += term
        p_log_p = sum_n_log_n * share - math.log(size)
        out[0, g] = size / ordered_counts[0]
        out[1, g] = distinct
        out[2, g] = math.exp(-p_log_p)
        out[3, g] = recursive_rank(ordered_counts, distinct, c)
        out[4, g] = equal / 2
        out[5, g] = ordered / (values - 1)
        out[6, g] = tree_distance(counts, g, share, q, ends, equal)
        out[7, g] = max((js + p_log_p) / 2, 0.0)
        out[8, g] = max(math.log(most), -math.log(least)) if least > 0 else math.inf
        out[9, g] = most - 1


@kernel
def weighted_quantile(values: Numbers, weights: Counts, share: float) -> float:
    """The smallest value that at least this share of the weight does not exceed, by narrowing bins, without sorting."""
    low, high, total = values[0], values[0], 0
    for i in range(len(values)):
        low, high, total = min(low, values[i]), max(high, values[i]), total + weights[i]
    before = 0
    while low < high:
        scale = BINS / (high - low)
        binned = np.zeros(BINS, np.int64)
        for i in range(len(values)):
            if low <= values[i] <= high:
                binned[min(int((values[i] - low) * scale), BINS - 1)] += weights[i]
        chosen = 0
        while chosen < BINS - 1 and before + binned[chosen] < share * total:
            before += binned[chosen]
            chosen += 1
        least, most = high, low
        for i in range(len(values)):
            if low <= values[i] <= high and min(int((values[i] - low) * scale), BINS - 1) == chosen:
                least, most = min(least, values[i]), max(most, values[i])
        if least == low and most == high:  # too close for floating-point numbers to part them further
            break
        low, high = least, most
    return low


@kernel
def node_ends(levels: Counts) -> NDArray[np.bool_]:
    """Mark at every level below the root the last value of each node."""
    height, values = levels.shape[0] - 1, levels.shape[1]
    ends = np.ones((height, values), np.bool_)
    for level in range(height):
        for s in range(values - 1):
            ends[level, s] = levels[level, s] != levels[level, s + 1]
    return ends


@kernel
def tree_distance(counts: Counts, g: int, share: float, q: Numbers, ends: NDArray[np.bool_], equal: float) -> float:
    """Earth mover's distance on the value hierarchy; `equal` is what the leaves' edges carry."""
    height = ends.shape[0]
    total = equal
    for level in range(1, height):
        surplus = 0.0
        for s in range(len(q)):
            surplus += counts[g, s] * share - q[s]
            if ends[level, s]:
                total += abs(surplus)
                surplus = 0.0
    return total / (2 * height)


@kernel
def recursive_rank(ordered: Counts, present: int, c: float) -> int:
    """The largest l with r_1 < c (r_l + ... + r_m): add up the smallest counts until they are enough."""
    tail = 0
    for rank in range(present, 0, -1):
        tail += ordered[rank - 1]
        if ordered[0] < c * tail:
            return rank
    return 0


@kernel
def total_loss(lo: Codes, hi: Codes, mass: Counts, widths: Numbers, starts: Counts, sizes: Counts) -> float:
    """Add up the losses of all boxes, records x attributes."""
    total = 0.0
    for b in range(len(mass)):
        loss = 0.0
        for a in range(len(sizes)):
            if lo[b, a] < hi[b, a]:
                start, least = starts[a], 1.0 / sizes[a]
                share = (widths[start + hi[b, a] + 1] - widths[start + lo[b, a]]) / widths[start + sizes[a]]
                loss += min(max((share - least) / (1 - least), 0.0), 1.0)
        total += loss * mass[b]
    return total
