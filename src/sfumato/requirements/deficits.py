"""How many records of a group can never be published at a finer recoding: what makes a search of a lattice short.

Let g be a group that a coarse recoding makes. Any finer recoding divides g into parts, publishes the admitted ones
and leaves r records out. Together the admitted parts still satisfy what the requirement bounds (the largest share, a
distance from Q, minus the entropy: all convex), and r records more can only move that bound so far. Solved for r this
is the *deficit* of g: a number of records that every finer recoding has to suppress. A group that is too small has
no admitted part at all, and its deficit is its size.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import kernel
from sfumato.requirements.distances import (
    TOLERANCE,
    distinct,
    entropy,
    equal_distance,
    falling,
    hierarchical_distance,
    js_distance,
    largest,
    ordered_distance,
)
from sfumato.requirements.predicates import (
    BETA,
    DELTA,
    DELTA_PRESENT,
    DISTINCT,
    ENTROPY,
    EQUAL,
    FREQUENCY,
    HIERARCHICAL,
    JS,
    ORDERED,
    RECURSIVE,
    SIZE,
    Rules,
)

SLACK = 1e-6
"""Records by which a deficit is rounded down before it is rounded up: rounding errors must not make it too large."""


@kernel
def group_deficit(rules: Rules, most: NDArray[np.float64], counts: NDArray[np.int64], size: int) -> int:
    """Return the largest deficit of all rules: at most the size of the group. `most` is `largest_distances(rules)`."""
    deficit = 0.0
    for rule in range(len(rules.kinds)):
        deficit = max(deficit, rule_deficit(rules, rule, most[rule], counts, size))
    return min(size, math.ceil(deficit - SLACK))


@kernel
def largest_distances(rules: Rules) -> NDArray[np.float64]:
    """Return for every rule about a distance the largest there is: that of a group with one single value."""
    most = np.zeros(len(rules.kinds))
    single = np.zeros(len(rules.q), np.int64)
    for rule in range(len(rules.kinds)):
        if rules.kinds[rule] in (EQUAL, ORDERED, HIERARCHICAL, JS):
            for s in range(rules.firsts[rule], rules.lasts[rule]):
                single[s] = 1
                most[rule] = max(most[rule], rule_distance(rules, rule, single, 1))
                single[s] = 0
    return most


@kernel
def rule_distance(rules: Rules, rule: int, counts: NDArray[np.int64], size: int) -> float:
    """Return the distance from Q that a rule of t-closeness speaks of."""
    kind = rules.kinds[rule]
    own = counts[rules.firsts[rule] : rules.lasts[rule]]
    q = rules.q[rules.firsts[rule] : rules.lasts[rule]]
    if kind == EQUAL:
        return equal_distance(own, size, q)
    if kind == ORDERED:
        return ordered_distance(own, size, q)
    if kind == JS:
        return js_distance(own, size, q)
    levels = rules.levels[: rules.heights[rule] + 1, rules.firsts[rule] : rules.lasts[rule]]
    return hierarchical_distance(own, size, q, levels)


@kernel
def rule_deficit(rules: Rules, rule: int, most: float, counts: NDArray[np.int64], size: int) -> float:
    """Return how many records of this group cannot lie in groups that one rule admits."""
    kind, value = rules.kinds[rule], rules.parameters[rule, 0]
    own = counts[rules.firsts[rule] : rules.lasts[rule]]
    q = rules.q[rules.firsts[rule] : rules.lasts[rule]]
    if kind == SIZE:
        return float(size) if size < value else 0.0
    if kind == DISTINCT:
        return float(size) if distinct(own) < value else 0.0
    if kind == FREQUENCY:
        return convex_deficit(largest(own) / size, value, 1.0, size)
    if kind == ENTROPY:  # at least (1 - r/n) ln l of entropy is left
        return convex_deficit(-entropy(own, size), -math.log(value), 0.0, size)
    if kind == RECURSIVE:
        return recursive_deficit(own, rules.parameters[rule, 1], int(value))
    if kind in (EQUAL, ORDERED, HIERARCHICAL, JS):
        return convex_deficit(rule_distance(rules, rule, counts, size), value, most, size)
    return share_deficit(kind, value, own, q, size)


@kernel
def convex_deficit(found: float, allowed: float, most: float, size: int) -> float:
    """Solve found <= (1 - r/n) allowed + (r/n) most for r: a convex quantity that can never exceed `most`."""
    allowed += TOLERANCE
    if found <= allowed or most <= allowed:
        return 0.0
    return size * (found - allowed) / (most - allowed)


@kernel
def recursive_deficit(counts: NDArray[np.int64], c: float, l: int) -> float:  # noqa: E741
    """Return r_1 - c (r_l + ... + r_m), which admitted groups keep below 0 and a record raises by at most 1."""
    ordered = falling(counts)
    tail = 0
    for i in range(l - 1, len(ordered)):
        tail += ordered[i]
    return max(0.0, float(ordered[0] - c * tail) - TOLERANCE)


@kernel
def share_deficit(kind: int, value: float, counts: NDArray[np.int64], q: NDArray[np.float64], size: int) -> float:
    """Solve bounds on the share of each value, from above and for delta-disclosure also from below."""
    deficit = 0.0
    for s in range(len(q)):
        if kind in (DELTA, DELTA_PRESENT):
            most = q[s] * math.exp(value)
        elif kind == BETA:
            most = q[s] * (1 + value)
        else:
            most = q[s] * (1 + min(value, -math.log(q[s])))
        deficit = max(deficit, convex_deficit(counts[s] / size, most, 1.0, size))
        if kind == DELTA:
            deficit = max(deficit, convex_deficit(-counts[s] / size, -q[s] * math.exp(-value), 0.0, size))
    return deficit
