"""The records behind a mechanism: every question about them is answered with noise and entered in the account.

A mechanism is handed a `Domain`, which is public, and `PrivateCells`, which only answers. It never sees the table. The
published records depend on the private ones through these answers alone, and the account records their cost. Boxes of
one question are disjoint, so a record is part of one answer only (parallel composition) and the question costs epsilon
once. Questions read the same records, so their costs add up (sequential composition).

The shared parts of the differentially private trees: cutting boxes level by level, distributing the budget,
consistency.

A tree is a list of levels, from the one box of everything down. All levels are complete: a box that is not cut goes
on as its own only child, so every level covers the whole domain and every record is counted once on each.

The records behind a synthesizer: every question about them is answered with noise and entered in the account.

A synthesizer is handed a `RecordDomain`, which is public, and `PrivateRecords`, which only answers. It never sees the
table. Two questions are all there is to ask:

- `marginal`: how many records have every combination of values of some columns. One record is in one combination, so
  one more or less changes one count by 1.
- `worst`: which of several marginals is predicted worst. The score is weight x (sum of |count - predicted count|), less
  an allowance that does not depend on the records; one record changes it by at most the weight. Predictions are rounded
  to a thousandth of a record, so that scores are whole numbers and their sensitivity is exact.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.dp.account import Account
from sfumato.anonymizers.dp.noise import Noise, variance
from sfumato.data.cells import Cells
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.reading import Table
from sfumato.release.content import Budget, Unit, rounded_down
from sfumato.release.records import cell_codes, coded_columns
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.runtime.kernels import kernel
from sfumato.texts.catalogue import listed, refusal, t


@dataclass(frozen=True)
class Domain:
    """Public knowledge: the declared leaves of every quasi-identifier and of the sensitive attribute."""

    names: tuple[str, ...]
    hierarchies: tuple[Hierarchy, ...]
    sensitive: str
    values: Hierarchy

    @property
    def halvings(self) -> int:
        """How many times the domain can be halved until all boxes are single combinations of leaves."""
        return sum((hierarchy.size - 1).bit_length() for hierarchy in self.hierarchies)

    def whole(self) -> tuple[Codes, Codes]:
        """Return the one box of everything."""
        last = [hierarchy.size - 1 for hierarchy in self.hierarchies]
        return np.zeros((1, len(last)), np.int32), np.array([last], np.int32)

    def middles(self, attribute: Counts, lo: Codes, hi: Codes) -> Codes:
        """Halve boxes by width: the last leaf of the lower half, for boxes with more than one leaf there."""
        cut = np.zeros(len(lo), np.int32)
        for a, hierarchy in enumerate(self.hierarchies):
            boxes = np.flatnonzero(attribute == a)
            first, last, widths = lo[boxes, a], hi[boxes, a], hierarchy.cumulative
            middle = (widths[first] + widths[last + 1]) / 2
            above = np.clip(np.searchsorted(widths, middle), first + 1, last)
            below = np.clip(above - 1, first + 1, last)
            nearer = np.abs(widths[below] - middle) <= np.abs(widths[above] - middle)
            cut[boxes] = np.where(nearer, below, above) - 1
        return cut


def declared_domain(table: Table) -> Domain:
    """Return the declared domain of a table with one sensitive attribute; a domain derived from the records is
    refused."""
    quasi, sensitive = table.cells.quasi, table.cells.sensitive
    if len(sensitive) != 1:
        found = ", ".join(attribute.name for attribute in sensitive) or "none"
        raise refusal("differentially_private_release_boxes", sensitive=len(sensitive), found=found)
    check_declared(table)
    names, hierarchies = tuple(attribute.name for attribute in quasi), tuple(attribute.hierarchy for attribute in quasi)
    return Domain(names, hierarchies, sensitive[0].name, sensitive[0].hierarchy)


def check_declared(table: Table) -> None:
    """Raise where the domain of a coded column was taken from the records, for then it would not be public.

    All columns are named at once, each with its remedy.
    """
    observed = {each.name: each.hierarchy for each in coded_columns(table.cells) if each.hierarchy.observed}
    if observed:
        remedies = "; ".join(f"{_entry(name)} {REMEDIES[hierarchy.scale]}" for name, hierarchy in observed.items())
        domains, were, they, them = (
            ("domain", "was", "it", "it") if len(observed) == 1 else ("domains", "were", "they", "them")
        )
        raise refusal(
            "taken_from_records",
            domains=domains,
            columns=_columns(observed),
            were=were,
            they=they,
            them=them,
            remedies=remedies,
        )
    if table.fine:
        of_them, are = ("it", "is") if len(table.fine) == 1 else ("each", "are")
        raise refusal("coarsened_because_table_many", columns=_columns(table.fine), are=are, of_them=of_them)
    if table.grown:
        miss = "misses" if len(table.grown) == 1 else "miss"
        raise refusal("values_some_records", columns=_columns(table.grown), miss=miss, grown=map(_entry, table.grown))


REMEDIES = {
    "number": 'type="numeric" lower=.. upper=..',
    "date": 'type="dates" first=.. last=..',
    "category": 'type="flat" values=[..]',
}
"""How a domain is declared."""


def _columns(names: Collection[str]) -> str:
    """Name columns.

    >>> _columns(["age"]), _columns(["age", "sex"])
    ("column 'age'", "columns 'age' and 'sex'")
    """
    return f"{'column' if len(names) == 1 else 'columns'} {listed(map(repr, names))}"


def _entry(name: str) -> str:
    """Write the heading under which a study declares a column, as TOML wants it."""
    import tomlkit  # wanted for this message only

    return f"[table.hierarchy.{tomlkit.key(name).as_string()}]"


class PrivateCells:
    """Records that answer questions with noise, until the budget is spent. Each record is in one box at a time."""

    def __init__(self, cells: Cells, noise: Noise, budget: Budget) -> None:
        self._codes, self._counts = cells.codes, cells.counts
        self._values = cells.sensitive[0].leaves[cells.values[:, 0]]
        self._box = np.zeros(len(cells.counts), np.int64)
        self._noise, self.account = noise, Account(budget)

    def histograms(self, boxes: int, values: int, level: int, epsilon: float) -> Counts:
        """Count the sensitive values of every box: boxes x values, noisy. A record changes one count by 1."""
        self.account.spend("counts", level, epsilon)
        exact = np.zeros((boxes, values), np.int64)
        tally(self._values, self._counts, self._box, exact)
        return self._noise.add(exact, epsilon)

    def sizes(self, boxes: int, level: int, epsilon: float) -> Counts:
        """Count the records of every box, noisy. A record changes one count by 1."""
        self.account.spend("sizes", level, epsilon)
        return self._noise.add(self._sizes(boxes), epsilon)

    def medians(self, attribute: Counts, lo: Codes, hi: Codes, level: int, epsilon: float) -> Codes:
        """Choose where to cut every box along its attribute (-1: not at all): the last leaf of the lower part.

        A cut scores -|records below - records above|, and a record changes that by 1. All cuts between two leaves of
        the box are candidates, whatever values occur.
        """
        self.account.spend("medians", level, epsilon)
        cut = np.flatnonzero(attribute >= 0)
        first = np.zeros(len(attribute), np.int32)
        leaves = np.zeros(len(attribute), np.int64)
        first[cut] = lo[cut, attribute[cut]]
        leaves[cut] = hi[cut, attribute[cut]] - first[cut] + 1
        starts = np.concatenate([[0], np.cumsum(leaves)])
        along = np.zeros(starts[-1], np.int64)
        tally_along(self._codes, self._counts, self._box, attribute, first, starts, along)
        offsets = np.concatenate([[0], np.cumsum(leaves[cut] - 1)])
        scores = np.empty(offsets[-1], np.int64)
        score_cuts(along, starts[cut], offsets, scores)
        first[cut] += self._noise.choose(scores, offsets, epsilon).astype(np.int32)
        return first

    def growing(self, boxes: int, asked: Counts, level: int, decay: int, rate: float) -> NDArray[np.bool_]:
        """Say which of the boxes asked for are to be cut further, by PrivTree's rule; `spend_on_shape` has paid.

        Their size less `decay` per level, but at least -`decay`, plus noise of scale 1 / `rate`, has to exceed 0.
        """
        if not any(part.what == "shape" for part in self.account.spent):
            raise AssertionError(t("refusal.shape_tree_not_paid"))
        biased = np.maximum(self._sizes(boxes)[asked] - level * decay, -decay)
        return self._noise.add(biased, rate) > 0

    def spend_on_shape(self, epsilon: float) -> None:
        """Pay for the shape of a whole tree, whatever its height."""
        self.account.spend("shape", 0, epsilon)

    def divide(self, attribute: Counts, cut: Codes, child: Counts) -> None:
        """Send every record on: box b becomes `child[b]`, for codes above its cut `child[b] + 1`. Nothing is told."""
        send(self._codes, attribute, cut, child, self._box)

    def _sizes(self, boxes: int) -> Counts:
        exact = np.zeros((boxes, 1), np.int64)
        tally(np.zeros(len(self._box), np.int32), self._counts, self._box, exact)
        return exact[:, 0]


@kernel
def tally(values: Codes, counts: Counts, box: Counts, out: Counts) -> None:
    """Count the records of every box by value."""
    for i in range(len(counts)):
        out[box[i], values[i]] += counts[i]


@kernel
def tally_along(
    codes: Codes, counts: Counts, box: Counts, attribute: Counts, first: Codes, starts: Counts, out: Counts
) -> None:
    """Count the records of every box by their leaf of the attribute along which it will be cut."""
    for i in range(len(counts)):
        b = box[i]
        if attribute[b] >= 0:
            out[starts[b] + codes[i, attribute[b]] - first[b]] += counts[i]


@kernel
def score_cuts(along: Counts, starts: Counts, offsets: Counts, out: Counts) -> None:
    """Score every cut between two neighbouring leaves by how evenly it divides the records."""
    for b in range(len(starts)):
        cuts = offsets[b + 1] - offsets[b]
        whole = 0
        for j in range(cuts + 1):
            whole += along[starts[b] + j]
        below = 0
        for j in range(cuts):
            below += along[starts[b] + j]
            out[offsets[b] + j] = -abs(2 * below - whole)


@kernel
def send(codes: Codes, attribute: Counts, cut: Codes, child: Counts, box: Counts) -> None:
    """Put every record into the part of its box that it belongs to; a box that is not cut (-1) stays whole."""
    for i in range(len(box)):
        b = box[i]
        a = attribute[b]
        box[i] = child[b] + (a >= 0 and codes[i, max(a, 0)] > cut[b])


Cut = Callable[[int, Counts, Codes, Codes], Codes]
"""The cuts: from level, attribute of every box (-1: not cut), its lower and upper ends, to the last leaf below."""

CUBE_ROOT = 2 ** (1 / 3)
LEAST_VARIANCE = 1e-12
"""Noise that is nearly never there counts as this much, so that levels can still be weighed against each other."""


@dataclass(frozen=True, eq=False)
class BoxLevel:
    """The boxes of one level, and where each one's children start on the next."""

    lo: Codes
    hi: Codes
    child: Counts

    @property
    def size(self) -> int:
        """The number of boxes."""
        return len(self.lo)


def shares(epsilon: float, levels: int, ratio: float) -> list[float]:
    """Share out a budget over levels, each `ratio` times the one before; together never more than `epsilon`.

    Level i of n gets epsilon (r - 1) r^i / (r^n - 1), or epsilon / n where r is 1.
    """
    weights = [ratio**i for i in range(levels)]
    parts = [epsilon * weight / math.fsum(weights) for weight in weights]
    largest = weights.index(max(weights))  # bears what rounding leaves
    parts[largest] = _rest(epsilon, [*parts[:largest], *parts[largest + 1 :]])
    return parts


def split(epsilon: float, share: float) -> tuple[float, float]:
    """Split a budget in two, the first with the given share; together never more than `epsilon`."""
    return epsilon * share, _rest(epsilon, [epsilon * share])


def _rest(epsilon: float, parts: Sequence[float]) -> float:
    """Return what the parts leave of a budget, rounded down."""
    return rounded_down(Fraction(epsilon) - sum(map(Fraction, parts)))


def next_attributes(level: int, lo: Codes, hi: Codes) -> Counts:
    """Take the attributes in turn, one per level; where a box has one leaf only, the next that has more (-1: none)."""
    turn = (level + np.arange(lo.shape[1])) % lo.shape[1]
    wide = (hi > lo)[:, turn]
    attributes: Counts = np.where(wide.any(axis=1), turn[wide.argmax(axis=1)], -1)
    return attributes


def cut_boxes(level: BoxLevel, attribute: Counts, cut: Codes) -> tuple[Codes, Codes]:
    """Return the boxes of the next level, the children of a box side by side, the lower one first."""
    parts = np.where(attribute >= 0, 2, 1)
    lo, hi = np.repeat(level.lo, parts, axis=0), np.repeat(level.hi, parts, axis=0)
    divided = np.flatnonzero(attribute >= 0)
    lower = level.child[divided]
    hi[lower, attribute[divided]] = cut[divided]
    lo[lower + 1, attribute[divided]] = cut[divided] + 1
    return lo, hi


def next_level(
    private: PrivateCells, lo: Codes, hi: Codes, attribute: Counts, cut: Codes
) -> tuple[BoxLevel, Codes, Codes]:
    """Cut the boxes and send the records along; return the level that is done with and the boxes of the next."""
    parts = np.where(attribute >= 0, 2, 1)
    level = BoxLevel(lo, hi, np.cumsum(parts) - parts)
    private.divide(attribute, cut, level.child)
    return level, *cut_boxes(level, attribute, cut)


def grow(
    domain: Domain, private: PrivateCells, budgets: Sequence[float], cut: Cut
) -> tuple[list[BoxLevel], list[Numbers]]:
    """Grow a tree with one level per budget; return its levels with their noisy histograms."""
    levels, noisy = [], []
    lo, hi = domain.whole()
    for depth, epsilon in enumerate(budgets):
        noisy.append(private.histograms(len(lo), domain.values.size, depth, epsilon).astype(np.float64))
        if depth + 1 == len(budgets):
            break
        attribute = next_attributes(depth, lo, hi)
        done, lo, hi = next_level(private, lo, hi, attribute, cut(depth, attribute, lo, hi))
        levels.append(done)
    return [*levels, BoxLevel(lo, hi, np.zeros(0, np.int64))], noisy


def consistent(levels: Sequence[BoxLevel], noisy: Sequence[Numbers], budgets: Sequence[float]) -> list[Numbers]:
    """Make children sum up to their parents: the best linear unbiased estimate from the counts of all levels.

    Hay et al. 2010 for equal noise, Cormode et al. 2012 for noise that differs by level. Here every box has its own
    variance, so boxes that are not cut fit in. Upwards a box's own count and the sum of its children are averaged by
    inverse variance; downwards what is then left over is dealt out to the children by variance.
    """
    level_variances = [max(variance(epsilon), LEAST_VARIANCE) for epsilon in budgets]
    best, spread = [noisy[-1]], [np.full(levels[-1].size, level_variances[-1])]
    sums: list[Numbers] = []
    totals: list[Numbers] = []
    for level, counts, noise in reversed(list(zip(levels[:-1], noisy[:-1], level_variances[:-1], strict=True))):
        sums.append(np.add.reduceat(best[-1], level.child, axis=0))
        totals.append(np.add.reduceat(spread[-1], level.child))
        weight = totals[-1] / (noise + totals[-1])
        best.append(sums[-1] + weight[:, None] * (counts - sums[-1]))
        spread.append(weight * noise)
    result = [best.pop()]
    spread.pop()
    while best:
        left_over = (result[-1] - sums.pop()) / totals.pop()[:, None]
        children, variances = best.pop(), spread.pop()
        level = levels[len(result) - 1]
        parent = np.repeat(np.arange(level.size), np.diff(level.child, append=len(children)))
        result.append(children + variances[:, None] * left_over[parent])
    return result


Places = tuple[int, ...]
"""Some columns by their places in the domain, in rising order."""

FINE = 1000
"""The number of parts of a record that predictions distinguish."""


@dataclass(frozen=True)
class RecordDomain:
    """Public knowledge: the coded columns, quasi-identifiers first, and how many declared values each has."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    quasi: int
    """How many of them are quasi-identifiers; the others are sensitive."""

    def cells(self, places: Places) -> int:
        """Count the combinations of values of some columns."""
        return math.prod(self.sizes[place] for place in places)

    def shape(self, places: Places) -> tuple[int, ...]:
        """Return the number of values of every one of some columns."""
        return tuple(self.sizes[place] for place in places)

    @property
    def pairs(self) -> list[Places]:
        """All pairs of columns."""
        return [(a, b) for b in range(len(self.sizes)) for a in range(b)]


def record_domain(table: Table) -> RecordDomain:
    """Return the declared domain of all coded columns of a table; one that was taken from the records is refused."""
    check_declared(table)
    attributes = coded_columns(table.cells)
    names = tuple(attribute.name for attribute in attributes)
    return RecordDomain(names, tuple(each.hierarchy.size for each in attributes), len(table.cells.quasi))


@dataclass(frozen=True)
class CountedTable:
    """A table that was counted: its columns, and the noise in every count (one standard deviation)."""

    names: tuple[str, ...]
    deviation: float


class PrivateRecords:
    """Records that answer questions with noise, until the budget is spent."""

    def __init__(self, cells: Cells, domain: RecordDomain, noise: Noise, budget: Budget) -> None:
        self._codes, self._counts = cell_codes(cells).astype(np.int64), cells.counts
        self._domain, self._noise, self.account = domain, noise, Account(budget)
        self._exact: dict[Places, Counts] = {}
        self.counted: list[CountedTable] = []

    @property
    def unit(self) -> Unit:
        """What is paid with."""
        return self.account.budget.unit

    def marginal(self, places: Places, what: str, level: int, amount: float) -> Numbers:
        """Count the records by their values in some columns, noisy: an array with one axis per column."""
        self.account.spend(what, level, amount)
        deviation = math.sqrt(variance(amount, self.unit))
        self.counted.append(CountedTable(tuple(self._domain.names[place] for place in places), deviation))
        return self._noise.add(self._marginal(places), amount, self.unit).astype(np.float64)

    def worst(
        self,
        predicted: Mapping[Places, Numbers],
        what: str,
        level: int,
        amount: float,
        weights: Mapping[Places, int] | None = None,
        allowances: Mapping[Places, float] | None = None,
    ) -> Places:
        """Choose one of the marginals that are predicted worst."""
        self.account.spend(what, level, amount)
        weight = dict.fromkeys(predicted, 1) if weights is None else weights
        allowed = dict.fromkeys(predicted, 0.0) if allowances is None else allowances
        scores = np.array(
            [
                weight[places] * (self._distance(places, counts) - round(FINE * allowed[places]))
                for places, counts in predicted.items()
            ],
            np.int64,
        )
        sensitivity = FINE * max(weight[places] for places in predicted)
        chosen = self._noise.choose(scores, np.array([0, len(scores)]), amount, self.unit, sensitivity)
        return list(predicted)[int(chosen[0])]

    def _distance(self, places: Places, predicted: Numbers) -> int:
        """Sum up how far the counts are from the predicted ones, in parts of a record."""
        return int(np.abs(FINE * self._marginal(places) - np.rint(FINE * predicted).astype(np.int64)).sum())

    def _marginal(self, places: Places) -> Counts:
        if places not in self._exact:
            shape = self._domain.shape(places)
            flat = np.ravel_multi_index(tuple(self._codes[:, place] for place in places), shape)
            counts = np.bincount(flat, self._counts, self._domain.cells(places))
            self._exact[places] = np.rint(counts).astype(np.int64).reshape(shape)
        return self._exact[places]
