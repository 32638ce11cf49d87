"""Kernels that choose a cut and cut records in two: ranges, medians, and dividing the entries of a node.

A node is a list of entries (a cell and a number of its records). A cut is an attribute, a code, and how many of the
records with just that code go left: all of them in a strict cut.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.data.cells import Cells, laid_out
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.persons import largest_matching
from sfumato.requirements._predicates import (
    DISTINCT,
    SIZE,
    TOLERANCE,
    Rules,
    distinct,
    group_admitted,
    rule_admits_persons,
)
from sfumato.requirements.requirement import KAnonymity, Requirement
from sfumato.runtime._kernel_helpers import members_by, room, sorted_together, uniform
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.runtime.kernels import kernel


class PersonCounter(NamedTuple):
    """Whose records the cells hold, what is required of the persons of a group, and stamps to count them with."""

    k: int
    """Different persons at least; 0 where records are counted."""

    share: float
    """The largest share of a group's records that belongs to one person."""

    most: int
    """The most records that one person has in the table: in larger groups nobody can have too large a share."""

    rules: Rules
    """The whole requirement; the rules of a cut problem are about sizes then."""

    starts: Counts
    """The first column of every sensitive attribute, and the end."""

    offsets: Counts
    """The persons of cell c stand at `offsets[c]:offsets[c + 1]`."""

    person: Codes
    records: Codes
    own: Counts
    """For every such person and attribute the number of the person's value in the cell, among all that persons have."""

    stamps: Counts
    """Of every person the last time it was counted; one more number at the end counts the times."""

    held: Counts
    """The records of every person then."""

    place: Counts
    """The place of every person among those counted then."""

    own_stamps: Counts
    """Of every number in `own` the last time it was counted."""


class CutProblem(NamedTuple):
    """The input of every kernel: the cells, the widths of the domains, the compiled requirement."""

    codes: Codes
    columns: Counts
    """For every cell the columns of a histogram it adds to, one per sensitive attribute."""

    widths: Numbers
    """The cumulative widths of all domains, one after the other."""

    begins: Numbers
    """For every leaf the width below the published end of a range that begins there."""

    ends: Numbers
    """For every leaf the width up to the published end of a range that ends there."""

    starts: Counts
    """Where each attribute's widths start."""

    sizes: Counts
    """The number of leaves of each attribute."""

    weights: Numbers
    """How much a loss in each attribute counts, 1 on the mean."""

    rules: Rules
    may_cut: NDArray[np.bool_]
    """Which attributes may be cut or trimmed."""

    units: Numbers
    """The unit of each attribute's spread: the width of its domain, or 1."""

    stop: Rules
    """A group that these do not admit is not cut any further."""

    height: int
    """How often a record may be on either side of a cut at most; 0 where there is no limit."""

    persons: PersonCounter


class Groups(NamedTuple):
    """Groups of entries: those of group g stand at `offsets[g]:offsets[g + 1]`."""

    cells: Counts
    counts: Counts
    offsets: Counts
    boxes: Codes
    """Four stretches of codes a row: the tight box from and to, then the region from and to."""

    @property
    def size(self) -> int:
        """The number of groups."""
        return len(self.boxes)


def problem_of(
    cells: Cells,
    requirement: Requirement,
    stop: Requirement | None = None,
    height: int | None = None,
    spread: str = "share",
    rounded: bool = False,
) -> CutProblem:
    """Lay cells and requirement out for the kernels; without a rule to stop, only the requirement ends cutting.

    Losses count ranges whose ends are `rounded` outward, or the ranges as they are.
    """
    widths, starts = laid_out([quasi.hierarchy.cumulative for quasi in cells.quasi])
    of_records = requirement if cells.persons is None else KAnonymity(requirement.of_persons.k)
    begins, ends = zip(*(_published_widths(quasi.hierarchy, rounded) for quasi in cells.quasi), strict=True)
    return CutProblem(
        cells.codes,
        cells.columns,
        widths,
        laid_out(begins)[0],
        laid_out(ends)[0],
        starts[:-1],
        cells.domains,
        cells.weights,
        of_records.compile(cells.sensitive),
        np.ones(len(cells.quasi), np.bool_),
        widths[starts[1:] - 1] if spread == "share" else np.ones(len(cells.quasi)),
        (KAnonymity(1) if stop is None else stop).compile(cells.sensitive),
        height or 0,
        person_counter(cells, requirement),
    )


def _published_widths(hierarchy: Hierarchy, rounded: bool) -> tuple[Numbers, Numbers]:
    """Say for every leaf the width below and up to it, or below and up to where a range is rounded to."""
    leaves = np.arange(hierarchy.size)
    lo, hi = hierarchy.bands if rounded else (leaves, leaves)
    return np.append(hierarchy.cumulative[lo], 0.0), np.append(hierarchy.cumulative[hi + 1], 0.0)


def person_counter(cells: Cells, requirement: Requirement) -> PersonCounter:
    """Lay out whose records the cells hold; nothing where records are counted."""
    rules, nothing = requirement.compile(cells.sensitive), np.zeros(0, np.int64)
    if cells.persons is None:
        nobody = nothing.astype(np.int32)
        scratch = np.zeros(1, np.int64), nothing, nothing, nothing
        return PersonCounter(0, 1.0, 0, rules, cells.spans, nothing, nobody, nobody, nothing[:, None][:, :0], *scratch)
    persons, rule = cells.persons, requirement.of_persons
    offsets, person, records = persons.by_cell
    own = np.zeros((len(person), 0), np.int64)
    if not only_sizes(rules):
        own = cells.once.result("values of persons", lambda: _numbered_values(cells, offsets, person))
    stamps, held = np.zeros(persons.number + 1, np.int64), np.zeros(persons.number, np.int64)
    scratch = stamps, held, held.copy(), np.zeros(int(own.max(initial=-1)) + 1, np.int64)
    return PersonCounter(rule.k, rule.share, persons.most, rules, cells.spans, offsets, person, records, own, *scratch)


def _numbered_values(cells: Cells, offsets: Counts, person: Codes) -> Counts:
    """Number what persons have, a person's value of an attribute once, in the order of cells: pairs x attributes."""
    values = np.repeat(cells.values.astype(np.int64), np.diff(offsets), axis=0)
    own, seen = np.zeros_like(values), 0
    for a in range(values.shape[1]):
        own[:, a] = (
            seen + np.unique(person.astype(np.int64) * cells.sensitive[a].size + values[:, a], return_inverse=True)[1]
        )
        seen = int(own[:, a].max()) + 1
    return own


@kernel
def side_admitted(problem: CutProblem, cells: Counts, attribute: int, code: int, left: bool, size: int) -> bool:
    """Return whether the side of a cut (`left`: up to the code) satisfies the requirement, counted by persons.

    The side has `size` records. Without rules about sensitive values counting stops at k persons, where the share of
    one is bounded by the size alone.
    """
    counter = problem.persons
    if counter.k == 0:
        return True
    allowed, values = (counter.share + TOLERANCE) * size, counter.own.shape[1] > 0
    small = counter.most > allowed
    counter.stamps[-1] += 1
    persons = largest = 0
    for i in range(len(cells)):
        if (problem.codes[cells[i], attribute] <= code) == left:
            persons, largest = count_persons_of_cell(counter, cells[i], persons, largest)
            if small and largest > allowed:
                return False
            if not (small or values) and persons >= counter.k:
                return True
    return persons >= counter.k and (not values or values_admitted(problem, cells, attribute, code, left, persons))


@kernel
def count_persons_of_cell(counter: PersonCounter, cell: int, persons: int, largest: int) -> tuple[int, int]:
    """Count the persons of one more cell: how many were counted this time, and the most records of one of them."""
    now = counter.stamps[-1]
    for p in range(counter.offsets[cell], counter.offsets[cell + 1]):
        person = counter.person[p]
        if counter.stamps[person] != now:
            counter.stamps[person], counter.held[person], counter.place[person] = now, 0, persons
            persons += 1
        counter.held[person] += counter.records[p]
        largest = max(largest, counter.held[person])
    return persons, largest


@kernel
def cells_admitted(problem: CutProblem, cells: Counts, size: int) -> bool:
    """Return whether these cells, with so many records together, satisfy the requirement, counted by persons."""
    return side_admitted(problem, cells, 0, problem.sizes[0], True, size)


@kernel
def values_admitted(problem: CutProblem, cells: Counts, attribute: int, code: int, left: bool, persons: int) -> bool:
    """Return whether the rules about sensitive values admit the side of a cut whose persons were just counted."""
    counter, rules = problem.persons, problem.persons.rules
    now = counter.stamps[-1]
    having, weighted = np.zeros(len(rules.q), np.int64), np.zeros(len(rules.q))
    for i in range(len(cells)):
        cell = cells[i]
        if (problem.codes[cell, attribute] <= code) != left:
            continue
        for p in range(counter.offsets[cell], counter.offsets[cell + 1]):
            share = counter.records[p] / counter.held[counter.person[p]]
            for a in range(counter.own.shape[1]):
                column = problem.columns[cell, a]
                weighted[column] += share
                if counter.own_stamps[counter.own[p, a]] != now:
                    counter.own_stamps[counter.own[p, a]] = now
                    having[column] += 1
    for rule in range(len(rules.kinds)):
        first, least, matching = rules.firsts[rule], rules.parameters[rule, 0], 0
        if rules.kinds[rule] == DISTINCT and distinct(having[first : rules.lasts[rule]]) >= least:
            matching = side_matching(problem, cells, attribute, code, left, persons, first, rules.lasts[rule])
        if not rule_admits_persons(rules, rule, persons, having, weighted, matching):
            return False
    return True


@kernel
def side_matching(
    problem: CutProblem, cells: Counts, attribute: int, code: int, left: bool, persons: int, first: int, last: int
) -> int:
    """Return the largest matching of the persons of the side of a cut with values of columns `first` to `last`."""
    counter, used, a = problem.persons, 0, 0
    while counter.starts[a] != first:
        a += 1
    place, value = np.empty(16, np.int64), np.empty(16, np.int64)
    for i in range(len(cells)):
        cell = cells[i]
        if (problem.codes[cell, attribute] <= code) != left:
            continue
        pairs = counter.offsets[cell + 1] - counter.offsets[cell]
        place, value = room(place, used + pairs), room(value, used + pairs)
        for p in range(counter.offsets[cell], counter.offsets[cell + 1]):
            place[used], value[used] = counter.place[counter.person[p]], problem.columns[cell, a] - first
            used += 1
    starts, members = members_by(place[:used], persons)
    return largest_matching(starts, value[members], last - first, last - first)


@kernel
def may_go_on(problem: CutProblem, cells: Counts, counts: Counts, histogram: Counts) -> bool:
    """Return whether the records of these entries may be cut further."""
    if only_sizes(problem.stop):
        return sizes_admitted(problem.stop, counts.sum())
    size = count_values(problem, cells, counts, histogram)
    return group_admitted(problem.stop, histogram, size)


@kernel
def find_ranges(problem: CutProblem, cells: Counts, lo: Codes, hi: Codes) -> None:
    """Write the smallest and largest code of every attribute among these cells to lo and hi."""
    for a in range(len(lo)):
        lo[a] = hi[a] = problem.codes[cells[0], a]
    for i in range(1, len(cells)):
        for a in range(len(lo)):
            code = problem.codes[cells[i], a]
            lo[a] = min(lo[a], code)
            hi[a] = max(hi[a], code)


@kernel
def width(problem: CutProblem, attribute: int, lo: int, hi: int) -> float:
    """Return the width of leaves lo..hi of an attribute."""
    start = problem.starts[attribute]
    return problem.widths[start + hi + 1] - problem.widths[start + lo]


@kernel
def domain_width(problem: CutProblem, attribute: int) -> float:
    """Return the width of an attribute's whole domain."""
    return width(problem, attribute, 0, problem.sizes[attribute] - 1)


@kernel
def spread_of(problem: CutProblem, attribute: int, lo: int, hi: int) -> float:
    """Return how far leaves lo..hi of an attribute spread, in its unit: the widest attribute is cut first."""
    return width(problem, attribute, lo, hi) / problem.units[attribute]


@kernel
def count_values(problem: CutProblem, cells: Counts, counts: Counts, histogram: Counts) -> int:
    """Write the sensitive values of these entries to the histogram; return the number of records."""
    for s in range(len(histogram)):
        histogram[s] = 0
    size = 0
    for i in range(len(cells)):
        size += counts[i]
        for s in range(problem.columns.shape[1]):
            histogram[problem.columns[cells[i], s]] += counts[i]
    return size


@kernel
def only_sizes(rules: Rules) -> bool:
    """Return whether no rule is about sensitive values, so that histograms need not be counted."""
    for rule in range(len(rules.kinds)):
        if rules.kinds[rule] != SIZE:
            return False
    return True


@kernel
def sizes_admitted(rules: Rules, size: int) -> bool:
    """Return whether the rules about sizes alone admit a group of this size."""
    for rule in range(len(rules.kinds)):
        if rules.kinds[rule] == SIZE and size < rules.parameters[rule, 0]:
            return False
    return size > 0


@kernel
def code_weights(
    problem: CutProblem, cells: Counts, counts: Counts, attribute: int, lo: int, hi: int
) -> tuple[Counts, Counts]:
    """List the codes of an attribute that occur, ascending, and the records with each; linear, or by sorting."""
    reach = hi - lo + 1
    if reach > 4 * len(cells) + 32:
        return sparse_code_weights(problem, cells, counts, attribute)
    dense = np.zeros(reach, np.int64)
    for i in range(len(cells)):
        dense[problem.codes[cells[i], attribute] - lo] += counts[i]
    codes, weights = np.empty(reach, np.int64), np.empty(reach, np.int64)
    distinct = 0
    for code in range(reach):
        if dense[code] > 0:
            codes[distinct], weights[distinct] = lo + code, dense[code]
            distinct += 1
    return codes[:distinct], weights[:distinct]


@kernel
def sparse_code_weights(problem: CutProblem, cells: Counts, counts: Counts, attribute: int) -> tuple[Counts, Counts]:
    """Do the same where a few cells lie far apart: sort codes and counts together by merging."""
    n = len(cells)
    codes, weights = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        codes[i], weights[i] = problem.codes[cells[i], attribute], counts[i]
    codes, weights = sorted_together(codes, weights)
    last = 0
    for i in range(1, n):
        if codes[i] != codes[last]:
            last += 1
            codes[last], weights[last] = codes[i], weights[i]
        else:
            weights[last] += weights[i]
    return codes[: last + 1], weights[: last + 1]


@kernel
def median_cut(codes: Counts, weights: Counts, size: int, relaxed: bool) -> tuple[int, int, int]:
    """Cut at the median: the place of the last code that goes left, how many of its records do, and all that do."""
    if relaxed:
        half = size // 2
        before = 0
        for i in range(len(codes)):
            if before + weights[i] >= half:
                return i, half - before, half
            before += weights[i]
    best = 0
    left = best_left = weights[0]
    for i in range(1, len(codes) - 1):
        left += weights[i]
        if abs(2 * left - size) < abs(2 * best_left - size):
            best, best_left = i, left
    return best, weights[best], best_left


@kernel
def count_up_to(
    problem: CutProblem, cells: Counts, counts: Counts, attribute: int, code: int, histogram: Counts
) -> None:
    """Write the sensitive values of the records up to a code of an attribute to the histogram."""
    for s in range(len(histogram)):
        histogram[s] = 0
    for i in range(len(cells)):
        if problem.codes[cells[i], attribute] <= code:
            for s in range(problem.columns.shape[1]):
                histogram[problem.columns[cells[i], s]] += counts[i]


@kernel
def taken_left(
    problem: CutProblem,
    cells: Counts,
    counts: Counts,
    attribute: int,
    code: int,
    at_code: int,
    state: NDArray[np.uint64],
) -> Counts:
    """Return how many records of every entry go left of a cut.

    Of the records with just the cut's code, whole combinations of quasi-identifiers go left in their order. Records of
    the one combination that must be divided agree in all quasi-identifiers. Which of them go left is drawn at random,
    because any rule that reads their sensitive values would reveal something about them.
    """
    taken = np.zeros(len(cells), np.int64)
    i = 0
    while i < len(cells):
        entry_code = problem.codes[cells[i], attribute]
        if entry_code != code:
            taken[i] = counts[i] if entry_code < code else 0
            i += 1
            continue
        end, together = i, 0
        while end < len(cells) and same_point(problem.codes, cells[i], cells[end]):
            together += counts[end]
            end += 1
        wanted = min(at_code, together)
        at_code -= wanted
        for j in range(i, end):
            if wanted == together:
                taken[j] = counts[j]
                wanted -= counts[j]
                together -= counts[j]
                continue
            for _ in range(counts[j]):
                if uniform(state) * together < wanted:
                    taken[j] += 1
                    wanted -= 1
                together -= 1
        i = end
    return taken


@kernel
def same_point(codes: Codes, a: int, b: int) -> bool:
    """Return whether two cells agree in all quasi-identifiers."""
    for attribute in range(codes.shape[1]):
        if codes[a, attribute] != codes[b, attribute]:
            return False
    return True


@kernel
def divide(cells: Counts, counts: Counts, taken: Counts) -> tuple[Counts, Counts, Counts, Counts]:
    """Send entries left and right, in their order."""
    n = len(cells)
    left, left_counts = np.empty(n, np.int64), np.empty(n, np.int64)
    right, right_counts = np.empty(n, np.int64), np.empty(n, np.int64)
    a = b = 0
    for i in range(n):
        if taken[i] > 0:
            left[a], left_counts[a] = cells[i], taken[i]
            a += 1
        if taken[i] < counts[i]:
            right[b], right_counts[b] = cells[i], counts[i] - taken[i]
            b += 1
    return left[:a], left_counts[:a], right[:b], right_counts[:b]


@kernel
def find_cut(
    problem: CutProblem,
    cells: Counts,
    counts: Counts,
    lo: Codes,
    hi: Codes,
    histogram: Counts,
    left_histogram: Counts,
    relaxed: bool,
    state: NDArray[np.uint64],
) -> tuple[int, int, bool, Counts]:
    """Find the first admitted cut, the widest attribute first.

    Returns the attribute (-1: there is none), the last code that goes left, whether all of its records do, and how
    many records of every entry do.
    """
    nothing = np.empty(0, np.int64)
    no_histograms = only_sizes(problem.rules)
    size = counts.sum() if no_histograms else count_values(problem, cells, counts, histogram)
    if not sizes_admitted(problem.rules, size // 2):  # the smaller half of any cut is too small
        return -1, 0, False, nothing
    spreads = np.empty(len(lo))
    for a in range(len(lo)):
        can = problem.may_cut[a] and lo[a] < hi[a]
        spreads[a] = spread_of(problem, a, lo[a], hi[a]) if can else -1.0
    for _ in range(len(lo)):
        widest = 0
        for a in range(1, len(lo)):
            if spreads[a] > spreads[widest]:
                widest = a
        if spreads[widest] < 0:
            break
        spreads[widest] = -1.0
        codes, weights = code_weights(problem, cells, counts, widest, lo[widest], hi[widest])
        place, at_code, left = median_cut(codes, weights, size, relaxed)
        if not (sizes_admitted(problem.rules, left) and sizes_admitted(problem.rules, size - left)):
            continue
        if not (
            side_admitted(problem, cells, widest, codes[place], True, left)
            and side_admitted(problem, cells, widest, codes[place], False, size - left)
        ):
            continue
        taken = taken_left(problem, cells, counts, widest, codes[place], at_code, state)
        if no_histograms:
            return widest, codes[place], at_code == weights[place], taken
        count_values(problem, cells, taken, left_histogram)
        if not group_admitted(problem.rules, left_histogram, left):
            continue
        for s in range(len(histogram)):
            left_histogram[s] = histogram[s] - left_histogram[s]
        if group_admitted(problem.rules, left_histogram, size - left):
            return widest, codes[place], at_code == weights[place], taken
    return -1, 0, False, nothing
