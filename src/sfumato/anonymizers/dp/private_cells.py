"""The records behind a mechanism: every question about them is answered with noise and entered in the account.

A mechanism is handed a `Domain`, which is public, and `PrivateCells`, which only answers. It never sees the table. So
what it publishes can depend on the records through these answers alone, and the account says what they cost:
boxes of one question are disjoint, so a record has a part in one answer only (parallel composition) and the question
costs epsilon once; questions look at the same records, so they add up (sequential composition).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.dp.account import Account
from sfumato.anonymizers.dp.noise import Noise
from sfumato.arrays import Codes, Counts
from sfumato.errors import BadInputError
from sfumato.kernels import kernel
from sfumato.phrases import listed
from sfumato.release import Budget, coded_columns
from sfumato.table import Cells, Hierarchy, Table


@dataclass(frozen=True)
class Domain:
    """What everybody may know: the declared leaves of every quasi-identifier and of the sensitive attribute."""

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
    """Return the declared domain of a table with one sensitive attribute; what the records tell of it is refused."""
    quasi, sensitive = table.cells.quasi, table.cells.sensitive
    if len(sensitive) != 1:
        found = ", ".join(attribute.name for attribute in sensitive) or "none"
        raise BadInputError(
            "a differentially private release in boxes counts the values of exactly one sensitive attribute "
            f"(--sensitive), and the table has {len(sensitive)}: {found}; mst and aim take any number"
        )
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
        raise BadInputError(
            f"the {domains} of {_columns(observed)} {were} taken from the records, so {they} would change with a "
            f"single one of them and a differentially private release may not show {them}; declare all values that are "
            f"possible, whether they occur or not: {remedies} (and take out observed = true, where it stands there)"
        )
    if table.fine:
        of_them, are = ("it", "is") if len(table.fine) == 1 else ("each", "are")
        raise BadInputError(
            f"{_columns(table.fine)} {are} coarsened because the table has many distinct combinations (most_cells), "
            f"which the records themselves tell: declare a coarser hierarchy of {of_them}, or allow more combinations "
            "(--most-cells)"
        )
    if table.grown:
        miss = "misses" if len(table.grown) == 1 else "miss"
        raise BadInputError(
            f"{_columns(table.grown)} {miss} values in some records, and that was learned from the records themselves, "
            "so a differentially private release may not show it; leave these records out (--missing drop), or "
            f"declare that values may be missing: missing = true in {listed(map(_entry, table.grown))}"
        )


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

    def __init__(self, cells: Cells, noise: Noise, budget: float) -> None:
        self._codes, self._counts = cells.codes, cells.counts
        self._values = cells.sensitive[0].leaves[cells.values[:, 0]]
        self._box = np.zeros(len(cells.counts), np.int64)
        self._noise, self.account = noise, Account(Budget(budget))

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
            raise AssertionError("the shape of the tree is not paid for")
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
