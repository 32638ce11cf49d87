"""Measures read off the groups of a release: sizes, boxes and histograms, all in one pass over the groups."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import kernel
from sfumato.measures.measure import MEASURES
from sfumato.release import Release
from sfumato.requirements.distances import falling
from sfumato.requirements.requirement import sensitive_levels
from sfumato.table import Sensitive

Numbers = NDArray[np.float64]
Counts = NDArray[np.int64]

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
            by_sensitive[attribute.name] = _worst_groups(per_group)
    values = {**_sizes(release), **_losses(release)}
    for name in (*COLUMNS, "p_loss"):
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


def _sizes(release: Release) -> dict[str, float]:
    sizes = release.sizes.astype(np.float64)
    published = release.assignment.records
    return {
        "k": int(release.quasi_counts.min()),
        "smallest_group": int(release.sizes.min()),
        "discernibility": float(sizes @ sizes + float(release.suppressed) * release.cells.records),
        "average_group": published / release.groups,
        "weighted_k": float(sizes @ sizes) / published,
        "suppressed": release.suppressed,
    }


def _losses(release: Release) -> dict[str, float]:
    """Loss as ARX and Dewri et al. compute it: each suppressed record counts 1, both as shares of all cells."""
    total = 0.0
    for i, quasi in enumerate(release.cells.quasi):
        loss = quasi.hierarchy.losses(release.boxes.lo[:, i], release.boxes.hi[:, i])
        total += float(loss @ release.boxes.mass)
    generalized = total / (len(release.cells.quasi) * release.cells.records)
    suppressed = release.suppressed / release.cells.records
    return {
        "loss": generalized + suppressed,
        "generalization_loss": generalized,
        "suppression_loss": suppressed,
    }


def of_groups(counts: Counts, sizes: Counts, attribute: Sensitive) -> Numbers:
    """Return for every group the measures in `COLUMNS` of one sensitive attribute."""
    return measure_groups(
        np.ascontiguousarray(counts), sizes, attribute.shares, sensitive_levels(attribute), RECURSIVE_C
    )


@kernel
def measure_groups(counts: Counts, sizes: Counts, q: Numbers, levels: Counts, c: float) -> Numbers:
    """Work all measures of `COLUMNS` out together: two logarithms for every value that is present."""
    values = len(q)
    log_q = np.log(q)
    ends = node_ends(levels)
    out = np.empty((len(sizes), 10))
    for g in range(len(sizes)):
        size = sizes[g]
        largest = distinct = 0
        entropy = equal = ordered = js = running = beta = delta = 0.0
        for s in range(values):
            n = counts[g, s]
            p = n / size
            difference = p - q[s]
            equal += abs(difference)
            running += difference
            if s < values - 1:
                ordered += abs(running)
            if n == 0:
                js += q[s] * math.log(2.0)
                delta = math.inf
                continue
            distinct += 1
            largest = max(largest, n)
            log_p = math.log(p)
            log_middle = math.log((p + q[s]) / 2)
            entropy -= p * log_p
            js += p * (log_p - log_middle) + q[s] * (log_q[s] - log_middle)
            delta = max(delta, abs(log_p - log_q[s]))
            beta = max(beta, difference / q[s])
        out[g, 0] = size / largest
        out[g, 1] = distinct
        out[g, 2] = math.exp(entropy)
        out[g, 3] = recursive_rank(counts[g], largest, c)
        out[g, 4] = equal / 2
        out[g, 5] = ordered / (values - 1)
        out[g, 6] = tree_distance(counts[g], size, q, ends)
        out[g, 7] = max(js / 2, 0.0)
        out[g, 8] = delta
        out[g, 9] = beta
    return out


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
def tree_distance(counts: Counts, size: int, q: Numbers, ends: NDArray[np.bool_]) -> float:
    """Earth mover's distance on the value hierarchy, as in `distances.hierarchical_distance`."""
    height = ends.shape[0]
    total = 0.0
    for level in range(height):
        surplus = 0.0
        for s in range(len(q)):
            surplus += counts[s] / size - q[s]
            if ends[level, s]:
                total += abs(surplus)
                surplus = 0.0
    return total / (2 * height)


@kernel
def recursive_rank(counts: Counts, largest: int, c: float) -> int:
    """The largest l with r_1 < c (r_l + ... + r_m): add up the smallest counts until they are enough."""
    ordered = falling(counts)
    tail = 0
    for rank in range(len(ordered), 0, -1):
        tail += ordered[rank - 1]
        if largest < c * tail:
            return rank
    return 0
