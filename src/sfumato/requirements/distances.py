"""Distances between a group's histogram and the whole table's distribution Q, as kernels over one histogram.

`counts` are a group's counts of one sensitive attribute (whole numbers, or real ones in noisy releases), `size` its
number of records, `q` the shares in the whole table (all positive), `levels` the node above each value at each level
of the attribute's hierarchy. Natural logarithms everywhere.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Numbers
from sfumato.kernel_helpers import falling
from sfumato.kernels import kernel

TOLERANCE = 1e-9
"""The one tolerance of comparisons that cannot be made on whole numbers: in makers, measures and audit alike."""

Table = NDArray[np.int64]


@kernel
def largest(counts: Table) -> int:
    """The count of the commonest value."""
    most = counts[0]
    for s in range(1, len(counts)):
        most = max(most, counts[s])
    return most


@kernel
def distinct(counts: Table) -> int:
    """The number of values that are present."""
    present = 0
    for s in range(len(counts)):
        present += counts[s] > 0
    return present


@kernel
def equal_distance(counts: Table, size: int, q: Numbers) -> float:
    """Half the L1 distance: the earth mover's distance when all values are equally far apart."""
    total = 0.0
    for s in range(len(q)):
        total += abs(counts[s] / size - q[s])
    return total / 2


@kernel
def ordered_distance(counts: Table, size: int, q: Numbers) -> float:
    """Earth mover's distance of ordered values, neighbours 1/(m-1) apart (Li et al. 2007, section 4.1)."""
    total = 0.0
    running = 0.0
    for s in range(len(q) - 1):
        running += counts[s] / size - q[s]
        total += abs(running)
    return total / (len(q) - 1)


@kernel
def hierarchical_distance(counts: Table, size: int, q: Numbers, levels: Table) -> float:
    """Earth mover's distance on the tree (Li et al. 2007, section 4.2).

    Values whose lowest common node stands at level j of H are j/H apart, so every edge has length 1/(2H) and carries
    the surplus of the subtree below it.
    """
    height = levels.shape[0] - 1
    total = 0.0
    for level in range(height):
        surplus = 0.0
        for s in range(len(q)):
            surplus += counts[s] / size - q[s]
            if s + 1 == len(q) or levels[level, s + 1] != levels[level, s]:
                total += abs(surplus)
                surplus = 0.0
    return total / (2 * height)


@kernel
def js_distance(counts: Table, size: int, q: Numbers) -> float:
    """Jensen-Shannon divergence in nats, 0 to ln 2 (the P_loss of Li & Li 2009)."""
    total = 0.0
    for s in range(len(q)):
        if counts[s] == 0:
            total += q[s] * math.log(2.0)
        else:
            p = counts[s] / size
            middle = (p + q[s]) / 2
            total += p * math.log(p / middle) + q[s] * math.log(q[s] / middle)
    return max(total / 2, 0.0)


@kernel
def largest_log_ratio(counts: Table, size: int, q: Numbers, absent_is_infinite: bool) -> float:
    """The delta of delta-disclosure: the largest |ln(p/q)|; a value that is absent is infinite, or left out."""
    largest = 0.0
    for s in range(len(q)):
        if counts[s] > 0:
            largest = max(largest, abs(math.log(counts[s] / size / q[s])))
        elif absent_is_infinite:
            return math.inf
    return largest


@kernel
def largest_gain(counts: Table, size: int, q: Numbers) -> float:
    """The beta of beta-likeness: the largest relative gain (p - q) / q."""
    largest = 0.0
    for s in range(len(q)):
        largest = max(largest, (counts[s] / size - q[s]) / q[s])
    return largest


@kernel
def entropy(counts: Table, size: int) -> float:
    """Entropy of the group's distribution in nats."""
    total = 0.0
    for s in range(len(counts)):
        if counts[s] > 0:
            total -= counts[s] / size * math.log(counts[s] / size)
    return total


@kernel
def recursive_holds(counts: Table, size: int, c: float, rank: int) -> bool:
    """Recursive (c,l)-diversity: r_1 < c (r_l + ... + r_m) with counts r in falling order."""
    ordered = falling(counts)
    tail = 0
    for s in range(rank - 1, len(ordered)):
        tail += ordered[s]
    return ordered[0] / size < c * tail / size - TOLERANCE
