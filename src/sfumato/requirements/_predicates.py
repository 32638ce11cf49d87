"""One predicate per kind of requirement over one group's histogram, and its application to many groups.

Requirements are compiled to rows of numbers (`Rules`). So a kernel of an anonymizer and the checks of a finished
release use the same predicate.

Distances between a group's histogram and the whole table's distribution Q are kernels over one histogram. `counts` are
a group's counts of one sensitive attribute (whole numbers, or real ones in noisy releases), and `size` is its number
of records. `q` are the shares in the whole table (all positive), `levels` the node above each value at each level of
the attribute's hierarchy. All logarithms are natural.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.runtime._kernel_helpers import falling
from sfumato.runtime.arrays import Counts, Numbers
from sfumato.runtime.kernels import kernel

TOLERANCE = 1e-9
"""The tolerance of all comparisons of real numbers, in makers, measures and audit."""

Table = NDArray[np.int64]


@kernel
def largest(counts: Table) -> int:
    """The count of the most frequent value."""
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

    Values whose lowest common node is at level j of H are j/H apart, so every edge has length 1/(2H) and carries the
    surplus of its subtree.
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
    """The delta of delta-disclosure: the largest |ln(p/q)|; an absent value is infinite, or ignored."""
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


SIZE = 0
FREQUENCY, DISTINCT, ENTROPY, RECURSIVE = 1, 2, 3, 4
EQUAL, ORDERED, HIERARCHICAL, JS = 5, 6, 7, 8
DELTA, DELTA_PRESENT = 9, 10
BETA, BETA_ENHANCED = 11, 12


class Rules(NamedTuple):
    """Compiled requirements: one row per rule, and the baseline of all sensitive attributes side by side."""

    kinds: NDArray[np.int64]
    firsts: NDArray[np.int64]
    """The first column of the rule's sensitive attribute in a histogram."""

    lasts: NDArray[np.int64]
    parameters: NDArray[np.float64]
    q: NDArray[np.float64]
    levels: NDArray[np.int64]
    heights: NDArray[np.int64]


@kernel
def rule_admits(rules: Rules, rule: int, counts: Counts | Numbers, size: int) -> bool:
    """Return whether one rule admits a group with these counts (of all sensitive attributes) and this size."""
    rule_counts = counts[rules.firsts[rule] : rules.lasts[rule]]
    q = rules.q[rules.firsts[rule] : rules.lasts[rule]]
    return admits(rules.kinds[rule], rules.parameters[rule], rule_counts, size, q, rule_levels(rules, rule))


@kernel
def rule_admits_persons(
    rules: Rules, rule: int, persons: int, having: Counts, weighted: Numbers, matching: int
) -> bool:
    """Return whether one rule admits a group of persons, with `having` persons per value and `weighted` shares.

    `matching` is the largest matching of persons with values of the rule's sensitive attribute.
    """
    kind = rules.kinds[rule]
    if kind == SIZE:
        return persons >= rules.parameters[rule, 0]
    if kind == DISTINCT:
        return matching >= rules.parameters[rule, 0]
    if kind == FREQUENCY:
        return rule_admits(rules, rule, having, persons)
    return rule_admits(rules, rule, weighted, persons)


@kernel
def groups_of_persons_admitted(
    rules: Rules, rule: int, persons: Counts, having: Counts, weighted: Numbers, matchings: Counts
) -> NDArray[np.bool_]:
    """Return for each group whether one rule admits it, counted by persons."""
    admitted = np.empty(len(persons), np.bool_)
    for g in range(len(persons)):
        admitted[g] = rule_admits_persons(rules, rule, persons[g], having[g], weighted[g], matchings[g])
    return admitted


@kernel
def rule_levels(rules: Rules, rule: int) -> Counts:
    """Return the node above each value at each level, for the sensitive attribute that a rule is about."""
    return rules.levels[: rules.heights[rule] + 1, rules.firsts[rule] : rules.lasts[rule]]


@kernel
def admits(kind: int, parameters: Numbers, counts: Any, size: int, q: Numbers, levels: Counts) -> bool:
    """Return whether a rule of this kind admits a group with these counts of the rule's sensitive attribute."""
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
    """Return the distance from Q of a rule of t-closeness."""
    if kind == EQUAL:
        return equal_distance(counts, size, q)
    if kind == ORDERED:
        return ordered_distance(counts, size, q)
    if kind == JS:
        return js_distance(counts, size, q)
    return hierarchical_distance(counts, size, q, levels)


@kernel
def group_admitted(rules: Rules, counts: NDArray[np.int64], size: int) -> bool:
    """Return whether all rules admit a group; an empty group is never admitted."""
    if size <= 0:
        return False
    for rule in range(len(rules.kinds)):
        if not rule_admits(rules, rule, counts, size):
            return False
    return True


@kernel
def groups_admitted(rules: Rules, counts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each group whether all rules admit it."""
    admitted = np.empty(len(sizes), np.bool_)
    for group in range(len(sizes)):
        admitted[group] = group_admitted(rules, counts[group], sizes[group])
    return admitted
