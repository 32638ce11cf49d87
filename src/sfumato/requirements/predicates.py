"""One predicate per kind of requirement over one group's histogram, and its application to many groups.

Requirements are compiled to rows of numbers (`Rules`), so that an anonymizer's kernel can ask about a candidate
group without leaving machine code, while the checks of a finished release ask the very same predicate.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Counts, Numbers
from sfumato.kernels import kernel
from sfumato.requirements.distances import (
    TOLERANCE,
    distinct,
    entropy,
    equal_distance,
    hierarchical_distance,
    js_distance,
    largest,
    largest_gain,
    largest_log_ratio,
    ordered_distance,
    recursive_holds,
)

SIZE = 0
FREQUENCY, DISTINCT, ENTROPY, RECURSIVE = 1, 2, 3, 4
EQUAL, ORDERED, HIERARCHICAL, JS = 5, 6, 7, 8
DELTA, DELTA_PRESENT = 9, 10
BETA, BETA_ENHANCED = 11, 12


class Rules(NamedTuple):
    """Compiled requirements: one row per rule, and the baseline of all sensitive attributes side by side."""

    kinds: NDArray[np.int64]
    firsts: NDArray[np.int64]
    """Where the rule's sensitive attribute starts among the columns of a histogram."""

    lasts: NDArray[np.int64]
    parameters: NDArray[np.float64]
    q: NDArray[np.float64]
    levels: NDArray[np.int64]
    heights: NDArray[np.int64]


@kernel
def rule_admits(rules: Rules, rule: int, counts: Counts, size: int) -> bool:
    """Say whether one rule admits a group with these counts (of all sensitive attributes) and this size."""
    rule_counts = counts[rules.firsts[rule] : rules.lasts[rule]]
    q = rules.q[rules.firsts[rule] : rules.lasts[rule]]
    return admits(rules.kinds[rule], rules.parameters[rule], rule_counts, size, q, rule_levels(rules, rule))


@kernel
def rule_levels(rules: Rules, rule: int) -> Counts:
    """Return the node above each value at each level, for the sensitive attribute that a rule is about."""
    return rules.levels[: rules.heights[rule] + 1, rules.firsts[rule] : rules.lasts[rule]]


@kernel
def admits(kind: int, parameters: Numbers, counts: Counts, size: int, q: Numbers, levels: Counts) -> bool:
    """Say whether a rule of this kind admits a group with these counts of the rule's own sensitive attribute."""
    value = parameters[0]
    if kind == SIZE:
        return size >= value
    if EQUAL <= kind <= JS:
        return distance(kind, counts, size, q, levels) <= value + TOLERANCE
    if kind == FREQUENCY:
        whole = parameters[1]  # the l of a share 1/l where it is a whole number, 0 otherwise
        return largest(counts) * whole <= size if whole > 0 else largest(counts) / size <= value + TOLERANCE
    if kind == DISTINCT:
        return distinct(counts) >= value
    if kind == ENTROPY:
        return entropy(counts, size) >= math.log(value) - TOLERANCE
    if kind == RECURSIVE:
        return recursive_holds(counts, size, parameters[1], int(value))
    if kind == DELTA:
        return largest_log_ratio(counts, size, q, True) < value - TOLERANCE
    if kind == DELTA_PRESENT:
        return largest_log_ratio(counts, size, q, False) < value - TOLERANCE
    if kind == BETA:
        return largest_gain(counts, size, q) <= value + TOLERANCE
    for s in range(len(q)):
        if (counts[s] / size - q[s]) / q[s] > min(value, -math.log(q[s])) + TOLERANCE:
            return False
    return True


@kernel
def distance(kind: int, counts: Counts, size: int, q: Numbers, levels: Counts) -> float:
    """Return the distance from Q that a rule of t-closeness speaks of."""
    if kind == EQUAL:
        return equal_distance(counts, size, q)
    if kind == ORDERED:
        return ordered_distance(counts, size, q)
    if kind == JS:
        return js_distance(counts, size, q)
    return hierarchical_distance(counts, size, q, levels)


@kernel
def group_admitted(rules: Rules, counts: NDArray[np.int64], size: int) -> bool:
    """Say whether all rules admit a group; a group without records is never admitted."""
    if size <= 0:
        return False
    for rule in range(len(rules.kinds)):
        if not rule_admits(rules, rule, counts, size):
            return False
    return True


@kernel
def groups_admitted(rules: Rules, counts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say for every group whether all rules admit it."""
    admitted = np.empty(len(sizes), np.bool_)
    for group in range(len(sizes)):
        admitted[group] = group_admitted(rules, counts[group], sizes[group])
    return admitted
