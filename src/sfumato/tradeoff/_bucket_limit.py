"""The tighter floor: the limit of buckets without suppression, where one release must serve all populations at once.

**The program.** A release of buckets without suppression shows every record's quasi-identifiers as they are. So what a
reader estimates of a point x (a combination of quasi-identifiers with n_x records) is n_x R_x, R_x a mixture of bucket
histograms: JS(Q, R_x) <= p as in `limit`. Every record is in one bucket and every bucket shows the values that it has,
so sum_x n_x R_x = N Q. Of a population y a reader estimates R_y = sum of n_x R_x over its points, divided by n_y. Hence

    U_loss  >=  min over all such R of  mean over y of JS(P_y, R_y),

a convex program. For generalized releases, and where records are suppressed, what a reader counts in a population is
not its number of records, and this is not proved.

**The certificate.** Each JS lies above straight lines (`requirements/cheapest_js`): for any slopes g_y with
2 g_yi < ln 2, JS(P_y, R) >= sum_i g_yi R_i + 1/2 sum_i P_yi ln(2 - e^(2 g_yi)). With prices m of the totals, and
c_x = m + N / Y times the sum of g_y / n_y over the populations y of x, no R of the program costs less than

    sum_x n_x / N min { <c_x, R> : JS(Q, R) <= p }  -  <m, Q>  +  1 / 2Y sum_y sum_i P_yi ln(2 - e^(2 g_yi)),

and each minimum has a bound that is a straight line in p. Whatever g and m are, this is a bound at every p.

**The search.** Nesterov's accelerated dual averaging, JS to Q being what keeps steps short: slopes of all rounds are
averaged, the cheapest R for them (with JS to Q as a price that fades) is the next step, and these averages are the g
of the certificate. What is left after k rounds is about 4 p / k^2. Points of the same populations are one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from sfumato.errors import BadInputError
from sfumato.measures.scales import Prepared
from sfumato.release.populations import Populations
from sfumato.requirements._jensen_shannon import add_changes, cheapest_rows, distributions, js
from sfumato.runtime.arrays import Counts, Numbers
from sfumato.runtime.kernels import kernel
from sfumato.tradeoff.limit import Limit, Tangent, envelope, limit, tangents_of

GAP = 2e-3
"""The search at one P_loss ends where bound and value are apart by this part of the value."""

LOW = 0.1
"""A value below this part of the trivial release's U_loss is taken for that part: so low, it need not be as near."""

NOTHING = 0.5
"""A value below this part of the gap, as a part of that U_loss, is as good as 0, and the search ends."""

MOST_ROUNDS, MOST_STEPS = 400, 30
"""Rounds at one P_loss; steps that the prices of the totals take in each."""

FAR = 0.005
"""How far totals may be from the table's, as a part of gap and radius: the bound holds whatever they are."""

FIRST: Numbers = 4.0 ** -np.arange(1.0, 11.0)
"""Where the first tangents touch, as parts of the largest P_loss of a point's records."""

MOST_TANGENTS, ROOM = 24, 0.01
"""Tangents, and the part of the area under the floor that they may leave open between them."""

ROUNDING = 2.3e-16
"""What a bound gives away for the rounding of each term of a sum, as a part of it."""

LEAST, LOWEST = 1e-290, -330.0
"""No share is taken for smaller, no slope for lower."""

RUNAWAY = 1e3
"""Prices so many times larger than costs differ move nothing any more, and stay as they are."""


@dataclass(frozen=True)
class Solved:
    """What was found at one P_loss: what no release can undercut, and what a solution of the program comes to."""

    p_loss: float
    bound: float
    slope: float
    """The bound at any other P_loss is this straight line."""

    value: float
    """The U_loss of a solution: the true least is between bound and value."""


@dataclass(frozen=True)
class BucketLimit(Limit):
    """A line under the releases in buckets without suppression; nowhere below the limit of all releases."""

    solved: tuple[Solved, ...] = ()
    """Where the program was solved, by rising P_loss; of several sensitive attributes, one after the other."""


def tighter_limit(prepared: Prepared, p_losses: Sequence[float] | None = None) -> BucketLimit | None:
    """Work out the limit of buckets without suppression, from tangents at the given P_loss, or where they are needed.

    There is none without a limit, or where populations are so many that the search for them was not kept.
    """
    if p_losses is not None and not all(math.isfinite(p_loss) and p_loss > 0 for p_loss in p_losses):
        raise BadInputError(f"the floor is worked out at a P_loss above 0, not at {', '.join(map(str, p_losses))}")
    plain = limit(prepared)
    if plain is None or prepared.populations.plan is None:
        return None
    tangents, solved = [_lines(plain)], []
    for i in range(len(prepared.table.cells.sensitive)):
        program = Program.of(prepared, i)
        solutions: list[Solved] = []

        def touch(p_loss: float, program: Program = program, solutions: list[Solved] = solutions) -> Tangent:
            solutions.append(solve(program, p_loss))
            return solutions[-1].p_loss, solutions[-1].bound, solutions[-1].slope

        if p_losses is None:
            tangents.append(tangents_of(touch, FIRST * program.end, MOST_TANGENTS, ROOM))
        else:
            tangents.append(np.array([touch(float(p_loss)) for p_loss in p_losses]).reshape(-1, 3))
        solved += sorted(solutions, key=lambda solution: solution.p_loss)
    return BucketLimit(envelope(np.concatenate(tangents)), plain.trivial, plain.revealed, tuple(solved))


def _lines(plain: Limit) -> Numbers:
    """Return the lines between the vertices of a limit as tangents, and 0."""
    lines = [(*left, (right[1] - left[1]) / (right[0] - left[0])) for left, right in pairwise(plain.points)]
    return np.array([*lines, (0.0, 0.0, 0.0)])


@dataclass(frozen=True, eq=False)
class Program:
    """The convex program of one sensitive attribute; points of the same populations are one atom."""

    populations: Populations
    truth: Numbers
    """The true distribution of every population."""

    q: Numbers
    weights: Numbers
    """The share of the records that each atom has."""

    sizes: Numbers
    """The share of the records that each population has, as a column."""

    first: Counts
    """A point of each atom, which stands for all of them."""

    end: float
    """A P_loss from which on the floor is 0: every atom may show its own distribution."""

    @staticmethod
    def of(prepared: Prepared, sensitive: int) -> Program:
        """Set the program of one sensitive attribute up."""
        cells, populations = prepared.table.cells, prepared.populations
        columns = cells.span(sensitive)
        first, number = atoms(populations)
        histograms = np.zeros((len(first), columns.stop - columns.start))
        np.add.at(histograms, number, prepared.truth[:, columns])
        q, counts = distributions(cells.sensitive[sensitive].shares), histograms.sum(axis=1)
        end = max(float(js(q, row)) for row in distributions(histograms))
        truth = distributions(prepared.population_truth[:, columns])
        sizes = populations.supports[:, None] / cells.records
        return Program(populations, truth, q, counts / cells.records, sizes, first, end)

    @cached_property
    def trivial(self) -> float:
        """The mean loss where every point has the distribution of the table."""
        return measured(self.truth, np.tile(self.q, (len(self.truth), 1)), np.empty_like(self.truth))

    @cached_property
    def strengths(self) -> Numbers:
        """How much each atom counts in the mean of all populations, about 1; little, not nothing, if it is in none."""
        return np.maximum(self.costs(np.ones((len(self.truth), 1)))[:, 0], 1e-3)

    def costs(self, slopes: Numbers) -> Numbers:
        """Return what each value costs at every atom, per record, where the mean of populations has these slopes."""
        spread = self.populations.spread(slopes / (len(self.truth) * self.sizes))
        assert spread is not None  # there is no program where the plan was not kept
        return np.ascontiguousarray(spread[self.first])

    def estimates(self, atoms: Numbers) -> Numbers:
        """Return the distribution of every population where each atom has the given one."""
        values = np.zeros((len(self.populations.points.codes), atoms.shape[1]))
        values[self.first] = atoms * self.weights[:, None]
        sums = self.populations.sums(values)
        assert sums is not None
        return sums / self.sizes


def atoms(populations: Populations) -> tuple[Counts, Counts]:
    """Find the points that are in the same populations: one of each kind, and the kind of every point.

    Each population draws whole numbers, and points with the same sums of them are the same. That two others are taken
    for one has a chance of less than points squared in 2^100.
    """
    drawn = np.random.default_rng(0).integers(0, 2**52 // populations.size, (populations.size, 4))
    sums = populations.spread(drawn.astype(np.float64))  # below 2^52, so they are exact
    assert sums is not None
    _, first, number = np.unique(sums, axis=0, return_index=True, return_inverse=True)
    return first, number.reshape(-1)


def solve(program: Program, p_loss: float, gap: float = GAP, rounds: int = MOST_ROUNDS) -> Solved:
    """Solve the program at one P_loss, until bound and value are as near to each other as the part `gap`."""
    if p_loss >= program.end:
        return Solved(p_loss, 0.0, 0.0, 0.0)
    search = _Search(program, p_loss, gap)
    step = value = np.tile(program.q, (len(program.truth), 1))
    slopes, summed, weight = np.empty_like(value), np.zeros_like(value), 0.0
    held = search.points.copy()
    best = Solved(p_loss, 0.0, 0.0, program.trivial)
    for _ in range(rounds):
        more = (1 + math.sqrt(1 + 4 * weight)) / 2
        measured(program.truth, (weight * value + more * step) / (weight + more), slopes)
        summed += more * slopes
        bound, slope = search.cheapest(summed / (weight + more), weight + more)
        step = program.estimates(search.points)
        value = (weight * value + more * step) / (weight + more)
        weight += more
        held += more / weight * (search.points - held)
        reached = min(best.value, measured(program.truth, _feasible(program, held, value, p_loss), slopes))
        best = replace(best, value=reached) if bound <= best.bound else Solved(p_loss, bound, slope, reached)
        near = best.value - best.bound <= gap * max(best.value, LOW * program.trivial)
        if near or best.value <= NOTHING * gap * program.trivial:
            break
    return best


def _feasible(program: Program, held: Numbers, rows: Numbers, p_loss: float) -> Numbers:
    """Return the populations' distributions with totals exact and every atom in the ball: moved, and drawn to Q."""
    q = program.q
    off = program.weights @ held - q
    return q + reach(held - off, q, p_loss) * (rows - off - q)


class _Search:
    """Where the search for the cheapest R of all atoms stands: it goes on from where it was in the last round."""

    def __init__(self, program: Program, p_loss: float, gap: float) -> None:
        self.program, self.p_loss, self.gap = program, p_loss, gap
        self.prices = np.zeros(len(program.q))
        self.points = np.tile(program.q, (len(program.weights), 1))
        self.numbers = np.zeros((4, len(program.weights)))
        """Of every atom: tau, k, bound and multiplier (`requirements/cheapest_js`)."""

    def cheapest(self, slopes: Numbers, weight: float) -> tuple[float, float]:
        """Find R for averaged slopes, and prices that make the totals those of the table; return bound and slope."""
        program = self.program
        costs, most = program.costs(slopes), 2 * weight / program.strengths
        step, before, rise, root = np.zeros(len(program.q)), math.inf, 0.0, np.sqrt(program.q)
        for _ in range(MOST_STEPS):
            prices = self.prices + step
            priced = costs + prices
            cheapest_rows(priced, program.q, self.p_loss, most, self.numbers, self.points)
            off = program.weights @ self.points - program.q
            far, ahead = float(np.abs(off / root).max()), float(off @ step)
            if far > before and ahead < 0:  # too long a step: the bound, concave in the prices, falls again
                step = step * min(max(rise / max(rise - ahead, LEAST), 0.1), 0.5)
                continue
            self.prices, before = prices, far
            if far <= FAR * self.gap * math.sqrt(self.p_loss):
                break
            step = self._newton(priced, most, off, root, costs)
            if not step.any():
                break
            rise = float(off @ step)
        return self._certified(slopes, priced, prices)

    def _newton(self, priced: Numbers, most: Numbers, off: Numbers, root: Numbers, costs: Numbers) -> Numbers:
        """Return the step of Newton's method for the prices, none longer than costs differ at an atom.

        Where the atoms leave no room (all of them at corners), prices could run away without moving anything.
        """
        program, taus = self.program, self.numbers[0]
        changes = add_changes(priced, program.q, program.weights, taus, most, self.points) / np.outer(root, root)
        changes += 1e-9 * float(program.weights @ taus) * np.eye(len(root))
        step: Numbers = np.linalg.solve(changes, off / root) / root
        longest = float(program.weights @ np.ptp(costs, axis=1))
        if not np.isfinite(step).all() or np.abs(self.prices).max() > RUNAWAY * longest:
            return np.zeros_like(step)
        return step * min(1.0, longest / max(float(np.abs(step).max()), LEAST))

    def _certified(self, slopes: Numbers, priced: Numbers, prices: Numbers) -> tuple[float, float]:
        """Return the bound for these slopes and prices with its slope in P_loss; what rounding may do is given away."""
        program, (_, _, bounds, multipliers) = self.program, self.numbers
        falls = float(program.weights @ multipliers)
        bound = float(program.weights @ bounds - prices @ program.q) + heights(program.truth, slopes)
        sums = float(program.weights @ np.abs(priced).max(axis=1) + np.abs(prices).max()) + falls + 1
        return bound - ROUNDING * (64 + len(priced) + len(slopes)) * sums, -falls


@kernel
def reach(rows: Numbers, q: Numbers, radius: float) -> float:
    """Return which part of the way from Q to the rows all of them are distributions within the radius."""
    part = 1.0
    for row in range(len(rows)):
        inside = 1.0
        for i in range(len(q)):
            if rows[row, i] < 0.0:
                inside = min(inside, q[i] / (q[i] - rows[row, i]))
        far = js(q, q + inside * (rows[row] - q))
        part = min(part, inside * min(1.0, radius / far if far > radius else 1.0))
    return part


@kernel
def measured(truth: Numbers, rows: Numbers, slopes: Numbers) -> float:
    """Return the mean JS of all rows to the truth; its slope in each share, ln(2 R / (P + R)) / 2, goes to `slopes`."""
    total = 0.0
    for y in range(len(truth)):
        for i in range(truth.shape[1]):
            p, r = truth[y, i], rows[y, i]
            slopes[y, i] = math.log(2 * r / (p + r)) / 2 if r > LEAST else (LOWEST if p > 0.0 else math.log(2.0) / 2)
            total += r * slopes[y, i]
            if p > 0.0:
                total += p * math.log(2 * p / (p + r)) / 2
    return total / len(truth)


@kernel
def heights(truth: Numbers, slopes: Numbers) -> float:
    """Return the mean over all rows of 1/2 sum P_i ln(2 - e^(2 g_i)): how high the lines with these slopes start."""
    total = 0.0
    for y in range(len(truth)):
        for i in range(truth.shape[1]):
            if truth[y, i] > 0.0:
                total += truth[y, i] * math.log(2 - math.exp(2 * slopes[y, i])) / 2
    return total / len(truth)
