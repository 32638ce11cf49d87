"""Large populations (Li & Li 2009, section 4.2): all conjunctions of hierarchy nodes that enough records satisfy.

A frequent-pattern search in the manner of FP-growth on hierarchies: attributes are decided one after the other, the one
with the largest domain first. Deciding an attribute (one of its frequent nodes, or none) projects the records to the
remaining attributes and merges equal ones, so tables shrink quickly. The steps of the search are stored as a plan:
additive values (such as a release's estimated histograms) are summed for all populations by replaying the merges,
without another search.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.config.options import check_number
from sfumato.data.cells import Cells, Points, laid_out, number_rows
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.release._selections import Selections
from sfumato.release.regions import Regions
from sfumato.runtime._kernel_helpers import put, room
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.runtime.kernels import kernel

LONGEST_PLAN = 150_000_000
"""The most steps of a stored plan (over a gigabyte); above it, sums are computed region by region."""

MOST_MEMBERS = 500_000_000
"""The most records of all populations together without a plan."""


class Plan(NamedTuple):
    """The merges of a search: table t, at some depth, is filled from the current table one depth above."""

    depths: Counts
    rows: Counts
    offsets: Counts
    sources: Codes
    targets: Codes
    patterns: Counts
    """The population of each table of the last depth, -1 for other tables."""


@dataclass(frozen=True, eq=False)
class Populations:
    """The large populations of a table, with their true histograms."""

    points: Points
    regions: Regions
    lo: Codes
    hi: Codes
    supports: Counts
    plan: Plan | None

    @property
    def size(self) -> int:
        """The number of large populations."""
        return len(self.lo)

    def sums(self, values: Numbers) -> Numbers | None:
        """Sum values (points x columns) over every population; None without a plan."""
        return None if self.plan is None else replay(self.plan, np.ascontiguousarray(values), len(self.lo))


def large_populations(cells: Cells, min_support: float) -> Populations:
    """Return all conjunctions of nodes, at most one per quasi-identifier, with at least this share of the records."""
    check_number("min_support", min_support, least=0, strict=True, most=1)
    points, weights = cells.points, cells.points.counts
    order = sorted(range(len(cells.quasi)), key=lambda a: (-cells.quasi[a].hierarchy.size, a))
    least = max(int(np.ceil(min_support * cells.records - 1e-9)), 1)
    codes, nodes, within = np.empty((len(points.codes), len(order)), np.int32), [], []
    occurring = np.empty(len(order), np.int64)
    for depth, a in enumerate(order):
        known, codes[:, depth] = np.unique(points.codes[:, a], return_inverse=True)
        occurring[depth] = len(known)
        frequent, inside = _frequent_nodes(cells.quasi[a].hierarchy, known, codes[:, depth], weights, least)
        nodes.append(frequent)
        within.append(inside)
    places, starts = laid_out(within)
    conjunctions, supports, plan, kept = search(codes, weights, occurring, places, starts, least, LONGEST_PLAN)
    return _as_populations(cells, points, order, nodes, conjunctions, supports, Plan(*plan) if kept else None)


def _frequent_nodes(
    hierarchy: Hierarchy, known: Codes, codes: Codes, weights: Counts, least: int
) -> tuple[Counts, Counts]:
    """List the nodes other than the root that have enough records, each interval once.

    Returns their first and last leaves, and their first and last indices among the occurring leaves (`known`): a search
    among these costs the number of occurring leaves, for any domain.
    """
    below = np.concatenate([[0], np.cumsum(np.bincount(codes, weights=weights, minlength=len(known)))])
    intervals = hierarchy.node_intervals
    intervals = intervals[intervals[:, 1] - intervals[:, 0] < hierarchy.size - 1]
    first, end = np.searchsorted(known, intervals[:, 0]), np.searchsorted(known, intervals[:, 1], side="right")
    frequent = below[end] - below[first] >= least
    return intervals[frequent], np.stack([first, end - 1], axis=1)[frequent]


def _as_populations(
    cells: Cells,
    points: Points,
    order: list[int],
    nodes: list[NDArray[np.int64]],
    conjunctions: Codes,
    supports: Counts,
    plan: Plan | None,
) -> Populations:
    """Translate the found nodes from search order to intervals of codes in the order of the attributes."""
    used = np.full((len(conjunctions), len(order)), -1, np.int32)
    lo, hi = (np.tile(end, (len(conjunctions), 1)) for end in cells.whole)
    selections: dict[int, Selections] = {}
    for depth, a in enumerate(order):
        chosen = conjunctions[:, depth] >= 0
        frequent, used[chosen, a] = np.unique(conjunctions[chosen, depth], return_inverse=True)
        first, last = nodes[depth][frequent].T
        selections[a] = Selections.stretches(cells.quasi[a].hierarchy, first, last + 1)
        lo[chosen, a], hi[chosen, a] = first[used[chosen, a]], last[used[chosen, a]]
    return Populations(points, Regions(tuple(selections[a] for a in range(len(order))), used), lo, hi, supports, plan)


@kernel
def search(
    codes: Codes, weights: Counts, domains: Counts, nodes: Counts, starts: Counts, least: int, longest: int
) -> tuple[Codes, Counts, tuple[Counts, Counts, Counts, Codes, Codes, Counts], bool]:
    """Search the attributes depth first; at each depth try no node, then every frequent node.

    Time is proportional to the sizes of all projected tables; one table per depth is in memory.
    """
    d = codes.shape[1]
    conjunctions, supports = np.empty((64, d), np.int32), np.empty(64, np.int64)
    patterns = 0
    depths, rows, offsets = np.zeros(64, np.int64), np.zeros(64, np.int64), np.zeros(65, np.int64)
    which = np.full(64, -1, np.int64)
    sources, targets = np.empty(1024, np.int32), np.empty(1024, np.int32)
    tables = steps = 0
    keeping = True

    level_codes = [codes]
    level_weights = [weights]
    prefixes = [leaf_prefix(codes, weights, domains[0])]
    option = np.full(d + 1, -1, np.int64)
    chosen = np.full(d, -1, np.int64)
    depth = 0
    while depth >= 0:
        if depth == d or option[depth] >= starts[depth + 1] - starts[depth]:
            if depth < d:
                level_codes.pop()
                level_weights.pop()
                prefixes.pop()
            depth -= 1
            continue
        node = option[depth]
        option[depth] += 1
        lo, hi = 0, domains[depth] - 1
        if node >= 0:
            lo, hi = nodes[starts[depth] + node, 0], nodes[starts[depth] + node, 1]
        if prefixes[depth][hi + 1] - prefixes[depth][lo] < least:
            continue
        chosen[depth] = node
        source, target, kept_codes, kept_weights = project(level_codes[depth], level_weights[depth], lo, hi)
        if keeping:
            if steps + len(source) > longest:
                keeping = False
            else:
                sources, targets = room(sources, steps + len(source)), room(targets, steps + len(source))
                put(sources, steps, source)
                put(targets, steps, target)
                steps += len(source)
                depths, rows = room(depths, tables + 1), room(rows, tables + 1)
                offsets, which = room(offsets, tables + 2), room(which, tables + 1)
                depths[tables], rows[tables], which[tables] = depth + 1, len(kept_weights), -1
                tables += 1
                offsets[tables] = steps
        if depth + 1 == d:
            if is_pattern(chosen):
                conjunctions, supports = room(conjunctions, patterns + 1), room(supports, patterns + 1)
                for a in range(d):
                    conjunctions[patterns, a] = chosen[a]
                supports[patterns] = kept_weights[0]
                if keeping:
                    which[tables - 1] = patterns
                patterns += 1
            continue
        level_codes.append(kept_codes)
        level_weights.append(kept_weights)
        prefixes.append(leaf_prefix(kept_codes, kept_weights, domains[depth + 1]))
        depth += 1
        option[depth] = -1
    plan = (depths[:tables], rows[:tables], offsets[: tables + 1], sources[:steps], targets[:steps], which[:tables])
    return conjunctions[:patterns], supports[:patterns], plan, keeping


@kernel
def is_pattern(chosen: Counts) -> bool:
    """Return whether any attribute is decided."""
    for a in range(len(chosen)):
        if chosen[a] >= 0:
            return True
    return False


@kernel
def leaf_prefix(codes: Codes, weights: Counts, leaves: int) -> Counts:
    """Cumulative records below each leaf of the first remaining attribute."""
    prefix = np.zeros(leaves + 1, np.int64)
    for i in range(len(weights)):
        prefix[codes[i, 0] + 1] += weights[i]
    for leaf in range(leaves):
        prefix[leaf + 1] += prefix[leaf]
    return prefix


@kernel
def project(codes: Codes, weights: Counts, lo: int, hi: int) -> tuple[Codes, Codes, Codes, Counts]:
    """Keep the rows whose first code is in lo..hi, drop that attribute, merge equal rows."""
    n, width = codes.shape
    source = np.empty(n, np.int32)
    kept = 0
    for i in range(n):
        if lo <= codes[i, 0] <= hi:
            source[kept] = i
            kept += 1
    source = source[:kept].copy()
    if width == 1:
        total = np.zeros(1, np.int64)
        for i in range(kept):
            total[0] += weights[source[i]]
        return source, np.zeros(kept, np.int32), np.empty((1, 0), np.int32), total
    rest = np.empty((kept, width - 1), np.int32)
    for i in range(kept):
        for a in range(1, width):
            rest[i, a - 1] = codes[source[i], a]
    first, number = number_rows(rest)
    merged = np.empty((len(first), width - 1), np.int32)
    for i in range(len(first)):
        for a in range(width - 1):
            merged[i, a] = rest[first[i], a]
    merged_weights = np.zeros(len(first), np.int64)
    target = np.empty(kept, np.int32)
    for i in range(kept):
        target[i] = number[i]
        merged_weights[number[i]] += weights[source[i]]
    return source, target, merged, merged_weights


@kernel
def replay(plan: Plan, values: Numbers, patterns: int) -> Numbers:
    """Sum values over every population by repeating the merges of the search."""
    columns = values.shape[1]
    largest = 1
    deepest = 0
    for t in range(len(plan.rows)):
        largest = max(largest, plan.rows[t])
        deepest = max(deepest, plan.depths[t])
    buffers = np.empty((deepest + 1, largest, columns))
    sums = np.empty((patterns, columns))
    for t in range(len(plan.rows)):
        depth = plan.depths[t]
        for r in range(plan.rows[t]):
            for c in range(columns):
                buffers[depth, r, c] = 0.0
        for i in range(plan.offsets[t], plan.offsets[t + 1]):
            source, target = plan.sources[i], plan.targets[i]
            if depth == 1:
                for c in range(columns):
                    buffers[depth, target, c] += values[source, c]
            else:
                for c in range(columns):
                    buffers[depth, target, c] += buffers[depth - 1, source, c]
        if plan.patterns[t] >= 0:
            for c in range(columns):
                sums[plan.patterns[t], c] = buffers[depth, 0, c]
    return sums
