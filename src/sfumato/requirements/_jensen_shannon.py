"""The distribution of a Jensen-Shannon ball around Q that is nearest to a given one, with a certified lower bound.

For rows P and a radius p: R with JS(Q, R) <= p and the least JS(P, R), natural logarithms. Both are convex in R. Let
lambda >= 0 be a multiplier and theta = lambda / (1 + lambda). R minimizes (1 - theta) JS(P, R) + theta JS(Q, R)
exactly if all R_i have the same slope

    h_i(R_i) = (1 - theta) ln(2 R_i / (P_i + R_i)) + theta ln(2 R_i / (Q_i + R_i)) = mu.

Each h_i increases with R_i, and Newton's method finds all R_i and mu at once. JS(Q, R) decreases from JS(Q, P) at
theta = 0 to 0 at theta = 1; its square root is nearly linear, so theta needs few steps.

**Certificate.** A solver that stops early returns too large a distance. Two lower bounds do not depend on it. First,
for every lambda >= 0, min_R JS(P, R) + lambda (JS(Q, R) - p) is at most the minimum. Second, for a convex f and any R,
f(R') >= f(R) - sum_i R_i (f_i - min f_i) for all R' of the simplex, f_i its slopes at R. Both are true for any R and
lambda. Second, the root of JS is a metric (Endres & Schindelin 2003), so sqrt JS(P, R) >= sqrt JS(P, Q) - sqrt p. The
larger bound is used.
"""

import math
from dataclasses import dataclass

import numpy as np

from sfumato.runtime.arrays import Numbers
from sfumato.runtime.kernels import kernel
from sfumato.texts.catalogue import refusal

LEAST = 1e-290
"""The least share during the search, so that its logarithm is finite."""

ROUNDING = 4e-15
"""The tolerance of a bound for the rounding of each term of a sum (about 2e-16 per term)."""

MOST_STEPS = 80
CLOSE = 1e-14


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest distribution of the ball for each row, its distance, and a lower bound on this distance."""

    points: Numbers
    distances: Numbers
    bounds: Numbers
    multipliers: Numbers
    """The gain of a larger radius: for radius p + e, the distance is at least bound - multiplier * e."""


def nearest_js(rows: Numbers, centre: Numbers, radius: float | Numbers, close: float = CLOSE) -> Nearest:
    """Return for each row (a distribution, or counts) the nearest R with JS(centre, R) <= radius.

    `centre` must be positive; `radius` is one number, or one for each row. `close` is the distance from the sphere, as
    a share of the radius, at which the search for R ends; the error of bounds is only quadratic in it.
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
    """Divide each row by its sum; a distribution is returned unchanged."""
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
    """Return h_i: twice the slope of (1 - theta) JS(P, R) + theta JS(Q, R)."""
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
    """Find the R with equal slopes, starting from the given R: Newton's method for ln R_i and mu together.

    mu is between 0 and the largest slope at (1 - theta) P + theta Q. As a function of ln R_i a slope is concave and
    increasing, so steps towards a given mu cannot overshoot upwards, and later steps correct one that is too long.
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
        if moved <= 1e-17:  # the error after a Newton step is quadratic
            break


@kernel
def js_change(p: Numbers, q: Numbers, theta: float, r: Numbers) -> float:
    """Return the derivative of JS(Q, R) by theta, with R at equal slopes: from the derivative of h_i = mu."""
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
    """Return a lower bound on JS(P, R') for all R' of the ball, from the multiplier of theta and the slopes at R."""
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
    """Normalize R and move it towards Q until it is inside: JS to Q decreases at least as fast as R moves."""
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
"""The distance from the sphere, as a share of the radius, at which the search ends."""
