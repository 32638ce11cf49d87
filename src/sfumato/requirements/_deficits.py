"""Lower bounds on the records of a group that every finer recoding suppresses; they prune searches of a lattice.

Let g be a group of a coarse recoding. Any finer recoding divides g into parts, publishes the admitted ones and
suppresses r records. The union of the admitted parts satisfies what the requirement bounds (the largest share, a
distance from Q, minus the entropy: all convex). A further r records change that quantity by a bounded amount. Solved
for r, this gives the *deficit* of g: a number of records that every finer recoding suppresses. A group that is too
small has no admitted part, so its deficit is its size.
"""

import math

import numpy as np

from sfumato.requirements._predicates import (
    BETA,
    DELTA,
    DELTA_PRESENT,
    DISTINCT,
    ENTROPY,
    EQUAL,
    FREQUENCY,
    JS,
    RECURSIVE,
    SIZE,
    TOLERANCE,
    Rules,
    admits,
    distance,
    entropy,
    largest,
    rule_levels,
)
from sfumato.runtime._kernel_helpers import falling
from sfumato.runtime.arrays import Counts, Numbers
from sfumato.runtime.kernels import kernel

ADMITTED = -1
"""In place of a deficit: the group is admitted."""

SLACK = 1e-6
"""The tolerance before a deficit is rounded up, so that rounding errors do not make it too large."""


@kernel
def largest_distances(rules: Rules) -> Numbers:
    """Return for each rule about a distance its maximum: that of a group with a single value."""
    most = np.zeros(len(rules.kinds))
    single = np.zeros(len(rules.q), np.int64)
    for rule in range(len(rules.kinds)):
        if EQUAL <= rules.kinds[rule] <= JS:
            q, counts = rules.q[rules.firsts[rule] : rules.lasts[rule]], single[rules.firsts[rule] : rules.lasts[rule]]
            for s in range(len(counts)):
                counts[s] = 1
                most[rule] = max(most[rule], distance(rules.kinds[rule], counts, 1, q, rule_levels(rules, rule)))
                counts[s] = 0
    return most


@kernel
def deficit_unless_admitted(
    kind: int, parameters: Numbers, most: float, counts: Counts, size: int, q: Numbers, levels: Counts
) -> int:
    """Return a lower bound on the records of a group outside of admitted groups; ADMITTED if the rule admits this one.

    Both are computed at once for one rule, because a search asks about millions of groups.
    """
    if EQUAL <= kind <= JS:
        value = distance(kind, counts, size, q, levels)
        if value <= parameters[0] + TOLERANCE:
            return ADMITTED
        deficit = convex_deficit(value, parameters[0], most, size)
    elif admits(kind, parameters, counts, size, q, levels):
        return ADMITTED
    else:
        deficit = deficit_of(kind, parameters, counts, size, q)
    return min(size, math.ceil(deficit - SLACK))


@kernel
def deficit_of(kind: int, parameters: Numbers, counts: Counts, size: int, q: Numbers) -> float:
    """Return the deficit of a group that a rule (not about a distance) does not admit."""
    value = parameters[0]
    if kind in (SIZE, DISTINCT):
        return float(size)
    if kind == FREQUENCY:
        return convex_deficit(largest(counts) / size, value, 1.0, size)
    if kind == ENTROPY:  # at least (1 - r/n) ln l of entropy is left
        return convex_deficit(-entropy(counts, size), -math.log(value), 0.0, size)
    if kind == RECURSIVE:
        return recursive_deficit(counts, parameters[1], int(value))
    return share_deficit(kind, value, counts, q, size)


@kernel
def convex_deficit(value: float, allowed: float, most: float, size: int) -> float:
    """Solve value <= (1 - r/n) allowed + (r/n) most for r: a convex quantity that can never exceed `most`."""
    allowed += TOLERANCE
    if value <= allowed or most <= allowed:
        return 0.0
    return size * (value - allowed) / (most - allowed)


@kernel
def recursive_deficit(counts: Counts, c: float, l: int) -> float:  # noqa: E741
    """Return r_1 - c (r_l + ... + r_m): negative for admitted groups, and a record raises it by at most 1."""
    ordered = falling(counts)
    tail = 0
    for i in range(l - 1, len(ordered)):
        tail += ordered[i]
    return max(0.0, float(ordered[0] - c * tail) - TOLERANCE)


@kernel
def share_deficit(kind: int, value: float, counts: Counts, q: Numbers, size: int) -> float:
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
