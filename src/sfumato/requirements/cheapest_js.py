"""The distribution of a Jensen-Shannon ball around Q at which a linear cost is least, with a certified lower bound.

For costs c and a radius p: R with JS(Q, R) <= p and the least sum_i c_i R_i, natural logarithms. For numbers
a_i < ln 2 each term of JS lies above a straight line (its conjugate), whatever R is:

    JS(Q, R)  >=  1/2 sum_i ( a_i R_i + Q_i ln(2 - e^a_i) ),   equal at R_i = Q_i u_i / (1 - u_i), u_i = e^a_i / 2.

**The certificate.** With a_i = k - tau c_i, for any tau > 0 and any k that keep all a_i below ln 2, and for any R of
the ball, p >= JS(Q, R) gives

    sum_i c_i R_i  >=  ( k - 2 p + sum_i Q_i ln(2 - e^a_i) ) / tau,

a straight line in p that falls by 2 / tau, the multiplier of the ball. No solver is trusted: it only looks for the k
at which R is a distribution, and for the tau at which it lies on the sphere, where both sides are equal. The least
c_i is a bound as well, with multiplier 0.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.arrays import Numbers
from sfumato.kernels import kernel

STEEPEST = 1e6
"""The largest tau, times the difference of two costs: beyond it all but the cheapest values have no share."""

SLIGHTEST = 1e-290
"""Costs that differ by less are equal."""

MOST_STEPS = 80
CLOSE = 1e-10
"""How near to the sphere, as a part of the radius, the search ends."""


@kernel
def cheapest_rows(
    costs: Numbers,
    q: Numbers,
    radius: float,
    most: Numbers,
    numbers: Numbers,
    points: Numbers,
) -> None:
    """Find the cheapest distribution of every row; `numbers` are tau, k (from which it starts), bound and multiplier.

    It is in the ball but for the part 1e-10 of the radius at which the search ends. The multiplier is what a larger
    radius can gain: in a ball of radius p + e nothing costs less than bound - multiplier * e. A tau larger than `most`
    is not taken: R then minimizes the cost plus 2 / `most` times JS(Q, R).
    """
    taus, ks, bounds, multipliers = numbers[0], numbers[1], numbers[2], numbers[3]
    above = np.empty(len(q))
    for row in range(len(costs)):
        lowest = costs[row].min()
        above[:] = costs[row] - lowest
        taus[row], ks[row] = search_tau(above, q, radius, most[row], taus[row], ks[row], points[row])
        if not taus[row] > SLIGHTEST:  # costs beyond all bounds: nothing costs less than the lowest
            bounds[row], multipliers[row] = lowest, 0.0
            continue
        total = ks[row] - 2 * radius
        for i in range(len(q)):
            total += q[i] * math.log(2 - math.exp(ks[row] - taus[row] * above[i]))
        bounds[row], multipliers[row] = lowest + total / taus[row], 2 / taus[row]
        if total < 0.0:
            bounds[row], multipliers[row] = lowest, 0.0


@kernel
def search_tau(
    above: Numbers, q: Numbers, radius: float, most: float, tau: float, k: float, r: Numbers
) -> tuple[float, float]:
    """Find tau such that its R lies on the sphere, and its k; R comes back in `r`. Newton's method within a bracket.

    The root of JS(Q, R) is nearly straight in tau. `above` are costs above the lowest.
    """
    most = min(most, STEEPEST / max(above.max(), SLIGHTEST))
    low, high = 0.0, most
    if not 0.0 < tau <= most:
        tau = min(most, 1 / max(above.max(), SLIGHTEST))
    for _ in range(MOST_STEPS):
        k = search_k(above, q, tau, k)
        distance, mean, change = on_the_way(above, q, tau, k, r)
        if distance < radius:
            low = tau
        else:
            high = tau
        if abs(distance - radius) <= CLOSE * radius or high - low <= 4e-16 * high:
            break
        root = math.sqrt(distance)
        following = tau + 2 * root * (math.sqrt(radius) - root) / change if change * root > 0.0 else most
        if following >= most and low < high == most:
            following = most
        elif not low < following < high:
            following = (low + high) / 2
        if following == tau:
            break
        k += mean * (following - tau)
        tau = following
    return tau, k


@kernel
def search_k(above: Numbers, q: Numbers, tau: float, k: float) -> float:
    """Find k such that R is a distribution: its sum grows with k, is at most 1 at k = 0, and at least 1 at `high`."""
    low, high = 0.0, math.inf
    for i in range(len(q)):
        high = min(high, tau * above[i] + math.log(2 / (1 + q[i])))
    k = min(max(k, low), high)
    for _ in range(MOST_STEPS):
        total = steep = 0.0
        for i in range(len(q)):
            u = math.exp(k - tau * above[i]) / 2
            share = q[i] * u / (1 - u)
            total, steep = total + share, steep + share / (1 - u)
        if total > 1.0:
            high = k
        else:
            low = k
        if abs(total - 1) <= 1e-13:
            break
        following = k - math.log(total) * total / steep
        k = following if low < following < high else (low + high) / 2
    return k


@kernel
def on_the_way(above: Numbers, q: Numbers, tau: float, k: float, r: Numbers) -> tuple[float, float, float]:
    """Fill R for tau and k; return JS(Q, R), how k follows tau, and how JS(Q, R) changes with tau."""
    double = weights = weighted = 0.0
    for i in range(len(q)):
        a = k - tau * above[i]
        u = math.exp(a) / 2
        r[i] = q[i] * u / (1 - u)
        double += q[i] * math.log(2 * (1 - u)) + r[i] * a
        weights, weighted = weights + r[i] / (1 - u), weighted + r[i] / (1 - u) * above[i]
    mean, square = weighted / weights, 0.0
    for i in range(len(q)):
        square += r[i] * (1 + r[i] / q[i]) * (above[i] - mean) ** 2
    return max(double / 2, 0.0), mean, tau * square / 2


@kernel
def add_changes(costs: Numbers, q: Numbers, weights: Numbers, taus: Numbers, most: Numbers, points: Numbers) -> Numbers:
    """Return how the weighted sum of all rows' R falls where all costs change alike: a matrix values x values.

    R moves against the costs, weighted by how easily each share moves, but stays a distribution, and on the sphere.
    """
    values = len(q)
    changes, easy, bent = np.zeros((values, values)), np.empty(values), np.empty(values)
    for row in range(len(costs)):
        for i in range(values):
            easy[i] = points[row, i] * (1 + points[row, i] / q[i])
        total = easy.sum()
        mean = (easy * costs[row]).sum() / total
        for i in range(values):
            bent[i] = easy[i] * (costs[row, i] - mean)
        square = (bent * (costs[row] - mean)).sum()
        inverse = 1 / square if square > 0.0 and taus[row] < most[row] else 0.0
        factor = weights[row] * taus[row]
        for i in range(values):
            changes[i, i] += factor * easy[i]
            for j in range(values):
                changes[i, j] -= factor * (easy[i] * easy[j] / total + bent[i] * bent[j] * inverse)
    return changes
