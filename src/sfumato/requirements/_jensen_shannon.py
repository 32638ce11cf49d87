"""The distribution of a Jensen-Shannon ball around Q that is nearest to a given one, with a certified lower bound.

For rows P and a radius p: R with JS(Q, R) <= p and the least JS(P, R), natural logarithms. Both are convex in R. For
a multiplier lambda >= 0 and theta = lambda / (1 + lambda), R minimizes (1 - theta) JS(P, R) + theta JS(Q, R) exactly if
all R_i have the same slope

    h_i(R_i) = (1 - theta) ln(2 R_i / (P_i + R_i)) + theta ln(2 R_i / (Q_i + R_i)) = mu,

each h_i grows with R_i, and Newton's method finds all R_i and mu at once. JS(Q, R) falls from JS(Q, P) at theta = 0 to
0 at theta = 1; its square root is nearly straight, so theta takes a handful of steps.

**The certificate.** A solver that stops early gives a distance that is too large. A bound that no R undercuts: for
every lambda >= 0, min_R JS(P, R) + lambda (JS(Q, R) - p) is at most the minimum sought, and for a convex f and any R,
f(R') >= f(R) - sum_i R_i (f_i - min f_i) for all R' of the simplex, f_i its slopes at R. Both hold whatever R and
lambda the solver came to. A second bound needs no solver: the root of JS is a metric (Endres & Schindelin 2003), so
sqrt JS(P, R) >= sqrt JS(P, Q) - sqrt p. The better of the two is taken.
"""

import math
from dataclasses import dataclass

import numpy as np

from sfumato.runtime.arrays import Numbers
from sfumato.runtime.kernels import kernel
from sfumato.texts.catalogue import refusal

LEAST = 1e-290
"""No share is taken for smaller while it is searched for, so that its logarithm is finite."""

ROUNDING = 4e-15
"""What a bound gives away for the rounding of each term of a sum (a term is off by some 2e-16)."""

MOST_STEPS = 80
CLOSE = 1e-14


@dataclass(frozen=True, eq=False)
class Nearest:
    """For every row the nearest distribution of the ball, how far it is, and what no other can undercut."""

    points: Numbers
    distances: Numbers
    bounds: Numbers
    multipliers: Numbers
    """What a larger radius can gain: for a ball of radius p + e no point is nearer than bound - multiplier * e."""


def nearest_js(rows: Numbers, centre: Numbers, radius: float | Numbers, close: float = CLOSE) -> Nearest:
    """Find for every row (a distribution, or counts) the nearest R with JS(centre, R) <= radius.

    `centre` must be positive; `radius` is one number, or one for every row. `close` is how near to the sphere, as a
    part of the radius, the search for R ends; bounds are off by the square of that only, so they may take it easier.
    """
    rows = np.atleast_2d(np.asarray(rows, np.float64))
    centre = np.asarray(centre, np.float64)
    radii = np.ascontiguousarray(np.broadcast_to(np.asarray(radius, np.float64), len(rows)))
    if rows.shape[1] != len(centre) or len(centre) < 1 or not (centre > 0).all():
        raise refusal("centre_ball_needs_positive")
    if not (rows >= 0).all() or not (rows.sum(axis=1) > 0).all() or not (radii >= 0).all():
        raise refusal("shares_radii_cannot_negative")
    shares = distributions(rows)
    points, numbers = np.empty_like(shares), np.empty((3, len(rows)))
    nearest_rows(shares, distributions(centre), radii, close, points, *numbers)
    return Nearest(points, *numbers)


def distributions(counts: Numbers) -> Numbers:
    """Divide every row by its sum, unless it is a distribution already: what is handed in is then left as it is."""
    totals = counts.sum(axis=-1, keepdims=True)
    return np.ascontiguousarray(counts / np.where(np.abs(totals - 1) <= 1e-12, 1.0, totals))


@kernel
def nearest_rows(
    rows: Numbers,
    q: Numbers,
    radii: Numbers,
    close: float,
    points: Numbers,
    distances: Numbers,
    bounds: Numbers,
    multipliers: Numbers,
) -> None:
    """Find the nearest distribution of every row, its distance, and the bound with its multiplier."""
    for row in range(len(rows)):
        p, r, radius = rows[row], points[row], radii[row]
        apart = js(q, p)
        if apart <= radius:
            r[:], distances[row], bounds[row], multipliers[row] = p, 0.0, 0.0, 0.0
            continue
        far = math.sqrt(apart) * (1 - ROUNDING)
        metric = max(far - math.sqrt(radius), 0.0) ** 2 - ROUNDING
        theta = search_theta(p, q, radius, apart, close, r)
        dual = dual_bound(p, q, r, theta, radius)
        into_ball(q, radius, r)
        distances[row], bounds[row], multipliers[row] = js(p, r), max(metric, dual, 0.0), 0.0
        if bounds[row] > 0.0 and dual >= metric:
            multipliers[row] = theta / (1 - theta)
        elif bounds[row] > 0.0:
            multipliers[row] = far / math.sqrt(radius) - 1 if radius > 0.0 else math.inf


@kernel
def js(p: Numbers, r: Numbers) -> float:
    """Jensen-Shannon divergence, to full relative precision also where both are nearly equal."""
    total = 0.0
    for i in range(len(p)):
        both = p[i] + r[i]
        if p[i] <= 0.0 or r[i] <= 0.0:
            total += both * math.log(2.0)
            continue
        d = (r[i] - p[i]) / both
        if abs(d) > 0.5:
            total += p[i] * math.log(2 * p[i] / both) + r[i] * math.log(2 * r[i] / both)
        else:
            total += both * (math.log1p(-d * d) / 2 + d * math.atanh(d))
    return max(total / 2, 0.0)


@kernel
def slope(p: float, q: float, r: float, theta: float) -> float:
    """What h_i is: twice the slope of (1 - theta) JS(P, R) + theta JS(Q, R)."""
    return (1 - theta) * math.log(2 * r / (p + r)) + theta * math.log(2 * r / (q + r))


@kernel
def search_theta(p: Numbers, q: Numbers, radius: float, apart: float, close: float, r: Numbers) -> float:
    """Find theta such that its R lies on the sphere; R comes back in `r`. Newton's method within a bracket."""
    low, high = 0.0, 1.0
    theta = 1 - math.sqrt(radius / apart)
    for i in range(len(p)):
        r[i] = max((1 - theta) * p[i] + theta * q[i], LEAST)
    for _ in range(MOST_STEPS):
        if theta >= 1.0:
            r[:] = q
            return 1.0
        balance(p, q, theta, r)
        distance = js(q, r)
        if distance > radius:
            low = theta
        else:
            high = theta
        if abs(distance - radius) <= close * radius or high - low <= 2e-16:
            break
        root = math.sqrt(distance)
        change = js_change(p, q, theta, r) / (2 * max(root, 1e-150))
        following = theta + (math.sqrt(radius) - root) / change if change < 0 else -1.0
        if not low < following < high:
            following = (low + high) / 2
        if following == theta:
            break
        theta = following
    return theta


@kernel
def balance(p: Numbers, q: Numbers, theta: float, r: Numbers) -> None:
    """Find the R whose slopes are all equal, from the R that is given: Newton's method for ln R_i and mu together.

    mu is between 0 and the largest slope at (1 - theta) P + theta Q. As a function of ln R_i a slope is concave and
    grows, so steps towards a given mu cannot overshoot upwards, and a step that falls too far is made good.
    """
    most = 0.0
    for i in range(len(p)):
        most = max(most, slope(p[i], q[i], (1 - theta) * p[i] + theta * q[i], theta))
    slopes, steep = np.empty(len(p)), np.empty(len(p))
    for _ in range(MOST_STEPS):
        total = weights = weighted = 0.0
        for i in range(len(p)):
            slopes[i] = slope(p[i], q[i], r[i], theta)
            steep[i] = (1 - theta) * p[i] / (p[i] + r[i]) + theta * q[i] / (q[i] + r[i])
            weight = r[i] / steep[i]
            total, weights, weighted = total + r[i], weights + weight, weighted + weight * slopes[i]
        mu = min(max((1 - total + weighted) / weights, 0.0), most)
        moved = 0.0
        for i in range(len(p)):
            change = (mu - slopes[i]) / steep[i]
            before = r[i]
            r[i] = max(before * math.exp(min(max(change, -700.0), 700.0)), LEAST)
            moved = max(moved, max(before, r[i]) * min(change * change, abs(change)))
        if moved <= 1e-17:  # a step of Newton's method leaves the square of itself to be done
            break


@kernel
def js_change(p: Numbers, q: Numbers, theta: float, r: Numbers) -> float:
    """How fast JS(Q, R) changes with theta, where R follows with equal slopes: from the derivative of h_i = mu."""
    weights = weighted = 0.0
    for i in range(len(p)):
        weight = r[i] / ((1 - theta) * p[i] / (p[i] + r[i]) + theta * q[i] / (q[i] + r[i]))
        difference = math.log((p[i] + r[i]) / (q[i] + r[i]))
        weights, weighted = weights + weight, weighted + weight * difference
    mean, change = weighted / weights, 0.0
    for i in range(len(p)):
        weight = r[i] / ((1 - theta) * p[i] / (p[i] + r[i]) + theta * q[i] / (q[i] + r[i]))
        difference = math.log((p[i] + r[i]) / (q[i] + r[i]))
        change += weight * math.log(2 * r[i] / (q[i] + r[i])) * (mean - difference)
    return change / 2


@kernel
def dual_bound(p: Numbers, q: Numbers, r: Numbers, theta: float, radius: float) -> float:
    """What JS(P, R') cannot undercut for any R' of the ball, by the multiplier of theta and the slopes at R."""
    if theta >= 1.0:
        return 0.0
    least = math.inf
    for i in range(len(p)):
        least = min(least, slope(p[i], q[i], r[i], theta))
    gap = 0.0
    for i in range(len(p)):
        gap += r[i] * (slope(p[i], q[i], r[i], theta) - least)
    factor = theta / (1 - theta)
    given = (gap / 2 + ROUNDING) * (1 + factor)
    return js(p, r) + factor * (js(q, r) * (1 - ROUNDING) - radius) - given


@kernel
def into_ball(q: Numbers, radius: float, r: Numbers) -> None:
    """Make R a distribution and draw it towards Q until it is inside: JS to Q shrinks at least as fast as R moves."""
    total = 0.0
    for i in range(len(q)):
        r[i] = r[i] if r[i] > LEAST else 0.0
        total += r[i]
    r /= total
    step = 1e-15
    while js(q, r) > radius:
        if step >= 1.0:
            r[:] = q
            return
        step = max(step, 1 - radius / js(q, r))
        for i in range(len(q)):
            r[i] += min(step, 1.0) * (q[i] - r[i])
        step *= 4


STEEPEST = 1e6
"""The largest tau, times the difference of two costs: beyond it all but the cheapest values have no share."""

SLIGHTEST = 1e-290
"""Costs that differ by less are equal."""

CHEAPEST_JS_CLOSE = 1e-10
"""How near to the sphere, as a part of the radius, the search ends."""
