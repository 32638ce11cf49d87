"""Measures read off the groups of a release: sizes, boxes and histograms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.cells import Sensitive, laid_out
from sfumato.data.persons import GroupPersons
from sfumato.measures.all_measures import MEASURES, READ_NOISY
from sfumato.measures.divergence import adversary_gains
from sfumato.measures.person_risk import exposures, gains_of_persons, recursive_ranks, singled_out
from sfumato.release.release import Grouped, Published, counts_people
from sfumato.requirements.requirement import sensitive_levels
from sfumato.runtime.arrays import Codes, Counts, Numbers, RedactedRepr
from sfumato.runtime.kernels import kernel
from sfumato.runtime.threads import together, workers
from sfumato.texts.catalogue import refusal

if TYPE_CHECKING:
    from sfumato.measures.classification.classification import Worth

LEAST_GROUPS = 10_000
"""Fewer groups than this are not worth a thread."""

SMALL = 48
"""Sizes and counts below this have their logarithms remembered."""

LOGS = np.array([math.log(max(n, 1)) for n in range(SMALL)])
N_LOG_N = np.arange(SMALL) * LOGS

LOG_2 = math.log(2)
BINS = 1024

COLUMNS = (
    "l_frequency",
    "l_distinct",
    "l_entropy",
    "l_recursive",
    "t_equal",
    "t_ordered",
    "t_hierarchical",
    "t_js",
    "delta",
    "beta",
)
L_FREQUENCY, L_DISTINCT, L_ENTROPY, L_RECURSIVE, T_EQUAL, T_ORDERED, T_HIERARCHICAL, JS, DELTA, BETA = range(10)
AVERAGES = ("p_loss", "p_loss_mean", "p_loss_median", "p_loss_95", "a_know", "a_acc", "information_gain")
OF_PERSONS = ("one_value_left", "certain")
RECURSIVE_C = 3.0
"""The c with which `l_recursive` is reported, as in Brickell & Shmatikov 2008."""


@dataclass(frozen=True, repr=False)
class Measured(RedactedRepr):
    """The measures of a release: by name, and for each sensitive attribute apart."""

    values: Mapping[str, float]
    by_sensitive: Mapping[str, Mapping[str, float]]
    worth: Worth | None = None
    """How well a column is learned from the release, where that was asked for."""

    pictures: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """What is shown of comparisons with the original, where these were asked for: fidelity, analysis."""

    losses: Numbers | None = field(default=None, compare=False)
    """The privacy loss (`t_js`) of every group, by the first sensitive attribute."""

    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Between which values measures lie over workloads of queries."""

    matching: Mapping[str, int] = field(default_factory=dict)
    """How many records fit what is known of a person's items: least, percentiles, most."""

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    @property
    def of_columns(self) -> dict[str, dict[str, float]]:
        """The measures of each sensitive column, where there are several: of one, `values` has them."""
        several = len(self.by_sensitive) > 1
        return {name: dict(own) for name, own in self.by_sensitive.items()} if several else {}


def measure(release: Any, scales: Mapping[str, Any] | None = None) -> Measured:
    """Measure a release by everything that can be read off its groups; of one with items, on `[scales]`, too.

    With several sensitive attributes, a measure about sensitive values is that of the worst attribute.
    """
    if release.kind in ("baskets", "items"):
        from sfumato.measures.scales import measure_items

        return measure_items(release, scales or {})
    need_records(release)
    by_sensitive, losses, unread = {}, None, False
    if release.histograms is not None:
        for position, attribute in enumerate(release.histograms.sensitive):
            counts, persons = release.histograms.of(position), release.group_persons
            if persons is not None:
                by_sensitive[attribute.name] = _of_persons(release, persons, position)
                continue
            if not release.truthful and (counts.sum(axis=1) != release.sizes).any():
                unread = True  # values that nobody in the table has: Q says nothing of them
                continue
            per_group = of_groups(counts, release.sizes, attribute)
            losses = per_group[:, JS] if losses is None else losses
            by_sensitive[attribute.name] = (
                _worst_groups(per_group)
                | _spread(per_group[:, JS], release.sizes)
                | adversary_gains(counts, release.sizes, attribute.shares)
            )
    values = {**_sizes(release), **(_losses(release) if release.truthful else {})}
    for name in (*COLUMNS, *AVERAGES, *(OF_PERSONS if release.group_persons is not None else ())):
        by_attribute = [measures[name] for measures in by_sensitive.values() if name in measures]
        if by_attribute and not unread:  # the worst of some attributes may be better than the worst of all
            values[name] = min(by_attribute) if MEASURES[name].better == "higher" else max(by_attribute)
    values |= of_functions(release)
    ordered = {name: values[name] for name in MEASURES if name in values}
    return defined(release, Measured(ordered, by_sensitive, losses=losses))


def of_functions(release: Published) -> dict[str, float]:
    """Compute the measures that are functions of a release: of a noisy or synthetic one, those that can read it."""
    return {
        name: declared.function(release)
        for name, declared in MEASURES.items()
        if declared.function is not None
        and (declared.reads_noisy or counts_people(release))
        and (release.shows_sensitive or not declared.needs_sensitive)
    }


def _of_persons(release: Grouped, persons: GroupPersons, position: int) -> dict[str, float]:
    """Measure the information of groups about one sensitive attribute, counted by persons; averages run over
    sightings."""
    assert release.histograms is not None
    cells, columns = release.cells, release.cells.span(position)
    per_group = of_persons(persons, columns, position, cells.sensitive[position])
    known = persons, cells.values[:, position], position, release.histograms
    return (
        _worst_groups(per_group)
        | _spread(per_group[:, JS], persons.persons)
        | gains_of_persons(cells, persons, columns)
        | ({} if persons.pairs.in_engine else exposures(*known))
    )


def of_persons(persons: GroupPersons, columns: slice, position: int, attribute: Sensitive) -> Numbers:
    """Return for every group the measures in `COLUMNS` of one sensitive attribute, counted by persons."""
    weighted, sizes = np.ascontiguousarray(persons.weighted[:, columns]), persons.persons
    out = np.empty((len(COLUMNS), len(sizes)))
    out[L_FREQUENCY] = sizes / persons.having[:, columns].max(axis=1)
    out[L_DISTINCT] = persons.matchings[:, position]
    out[L_RECURSIVE] = recursive_ranks(weighted, sizes, RECURSIVE_C)
    levels = sensitive_levels(attribute)
    distances(weighted, sizes, attribute.q, out)
    tree_distances(weighted, sizes, attribute.q, last_values(levels), len(levels) - 1, out)
    weighted_divergences(weighted, sizes, attribute.q, out)
    return out.T


def defined(release: Published, measured: Measured) -> Measured:
    """Keep of what was measured what is defined: where persons are counted, no risk that counts records."""
    if release.cells.persons is None:
        return measured
    values, by_sensitive = (
        {name: number for name, number in measured.values.items() if MEASURES[name].holds_of_persons},
        {
            attribute: {name: number for name, number in numbers.items() if MEASURES[name].holds_of_persons}
            for attribute, numbers in measured.by_sensitive.items()
        },
    )
    return replace(measured, values=values, by_sensitive=by_sensitive, losses=None)


def need_records(release: Published) -> None:
    """Raise unless a release has groups of people: noisy counts and synthetic records are nobody's."""
    if not counts_people(release):
        counting = ", ".join(name for name in MEASURES if name not in READ_NOISY)
        raise refusal("no_groups_to_count", counting=counting, read_noisy=", ".join(READ_NOISY))


def _worst_groups(per_group: Numbers) -> dict[str, float]:
    worst = {}
    for i, name in enumerate(COLUMNS):
        column = per_group[:, i]
        worst[name] = float(column.min() if MEASURES[name].better == "higher" else column.max())
    worst["p_loss"] = worst["t_js"]
    return worst


def _spread(losses: Numbers, sizes: Counts) -> dict[str, float]:
    """Return mean and quantiles over records of the groups' privacy losses."""
    losses = np.ascontiguousarray(losses)
    return {
        "p_loss_mean": float((losses * sizes).sum()) / float(sizes.sum()),
        "p_loss_median": weighted_quantile(losses, sizes, 0.5),
        "p_loss_95": weighted_quantile(losses, sizes, 0.95),
    }


def _sizes(release: Grouped) -> dict[str, float]:
    sizes = release.sizes.astype(np.float64)
    published = release.records
    squares = float((sizes * sizes).sum())
    return {
        "smallest_group": int(release.sizes.min()),
        "discernibility": squares + float(release.suppressed) * release.cells.records,
        "average_group": published / release.groups,
        "weighted_k": squares / published,
        "suppressed": release.suppressed,
        **_identity(release),
    }


def _identity(release: Grouped) -> dict[str, float]:
    """Measure how easily somebody is found: by persons where these are counted, by records otherwise."""
    counted = release.group_persons
    if counted is None:
        k = int(release.quasi_counts.min())
        return {"k": k, "prosecutor": 1 / k, "marketer": len(release.quasi_counts) / release.records}
    return {
        "k": int(counted.persons.min()),
        "prosecutor": float((counted.largest / release.sizes).max()),
        "marketer": release.groups / int(counted.persons.sum()),
        "weighted_k": float((counted.persons.astype(np.float64) ** 2).sum()) / int(counted.persons.sum()),
        **({} if counted.pairs.in_engine else {"singled_out": singled_out(counted)}),
    }


def _losses(release: Grouped) -> dict[str, float]:
    """Loss as ARX and Dewri et al. compute it: each suppressed record counts 1, both as shares of all cells.

    A box's loss in an attribute of n leaves is (share of the width - 1/n) / (1 - 1/n). It is computed as a difference
    of scaled ends minus 1 / (n - 1), so that no box needs a division; that of the whole domain remains exactly 1.
    Attributes count by their weights, which are 1 on the mean.
    """
    hierarchies = [quasi.hierarchy for quasi in release.cells.quasi]
    if any(hierarchy.inside for hierarchy in hierarchies):
        return _shares(_coarse_loss(release), release)
    scales = np.array([1 / (1 - 1 / max(hierarchy.size, 2)) for hierarchy in hierarchies])
    ends = [
        hierarchy.cumulative / hierarchy.cumulative[-1] * scale
        for hierarchy, scale in zip(hierarchies, scales, strict=True)
    ]
    joined, starts = laid_out(ends)
    boxes = release.boxes
    weights = release.cells.weights
    return _shares(total_loss(boxes.lo, boxes.hi, boxes.mass, joined, starts[:-1], scales - 1, weights), release)


def _coarse_loss(release: Grouped) -> float:
    """Add up the losses of all boxes where leaves are nodes of finer hierarchies: there a leaf loses something too."""
    boxes, cells = release.boxes, release.cells
    loss = sum(
        cells.weights[a] * quasi.hierarchy.losses(boxes.lo[:, a], boxes.hi[:, a]) for a, quasi in enumerate(cells.quasi)
    )
    return float(np.minimum(loss, float(len(cells.quasi))) @ boxes.mass)


def _shares(total: float, release: Grouped) -> dict[str, float]:
    generalized = total / (len(release.cells.quasi) * release.cells.records)
    suppressed = release.suppressed / release.cells.records
    return {
        "loss": generalized + suppressed,
        "generalization_loss": generalized,
        "suppression_loss": suppressed,
    }


def of_groups(counts: Counts, sizes: Counts, attribute: Sensitive) -> Numbers:
    """Return for every group the measures in `COLUMNS` of one sensitive attribute."""
    counts, levels = np.ascontiguousarray(counts), sensitive_levels(attribute)
    out = np.empty((len(COLUMNS), len(sizes)))
    stretch = max(-(-len(sizes) // workers()), LEAST_GROUPS)

    def work(start: int) -> None:
        part = slice(start, start + stretch)
        measure_groups(counts[part], sizes[part], attribute.shares, levels, RECURSIVE_C, out[:, part])

    together(work, range(0, len(sizes), stretch))
    return out.T


def measure_groups(counts: Counts, sizes: Counts, q: Numbers, levels: Counts, c: float, out: Numbers) -> None:
    """Work all measures of `COLUMNS` out in a few short passes.

    The loops avoid branches that hang on a single count: counts have no pattern by which a processor could guess
    them. Nor do they take a view of a row: each view changes a reference count, which threads share.
    """
    diversities(counts, sizes, c, out)
    distances(counts, sizes, q, out)
    tree_distances(counts, sizes, q, last_values(levels), len(levels) - 1, out)
    divergences(counts, sizes, q, out)


@kernel
def diversities(counts: Counts, sizes: Counts, c: float, out: Numbers) -> None:
    """The three ways to count a group's values, from its counts in falling order r_1, ..., r_m.

    Recursive diversity is the largest l with r_1 < c (r_l + ... + r_m): the smallest counts are added up until they
    are enough. That takes few of them, mostly ones, so looking for the next smallest is faster than sorting.
    """
    for g in range(len(sizes)):
        distinct = ones = top = 0
        for s in range(counts.shape[1]):
            n = counts[g, s]
            distinct, ones, top = distinct + (n > 0), ones + (n == 1), max(top, n)
        rank, tail, smallest, times = distinct, 0, 1, ones
        while rank > 0:
            while times > 0 and top >= c * (tail + smallest):
                rank, tail, times = rank - 1, tail + smallest, times - 1
            if times > 0:
                break
            before, smallest = smallest, top
            for s in range(counts.shape[1]):
                smallest = min(smallest, counts[g, s] if counts[g, s] > before else top)
            for s in range(counts.shape[1]):
                times += counts[g, s] == smallest
        out[L_FREQUENCY, g] = sizes[g] / top
        out[L_DISTINCT, g] = distinct
        out[L_RECURSIVE, g] = rank


@kernel
def distances(counts: Counts | Numbers, sizes: Counts, q: Numbers, out: Numbers) -> None:
    """How far a group's distribution p is from q, and the largest and smallest p/q."""
    values, inverse_q = len(q), 1 / q
    for g in range(len(sizes)):
        share = 1.0 / sizes[g]
        equal = ordered = running = most = 0.0
        least = math.inf
        for s in range(values):
            p = counts[g, s] * share
            difference = p - q[s]
            equal += abs(difference)
            ordered += abs(running)
            running += difference
            ratio = p * inverse_q[s]
            most, least = max(most, ratio), min(least, ratio)
        out[T_EQUAL, g] = equal / 2
        out[T_ORDERED, g] = ordered / (values - 1)
        out[DELTA, g] = max(math.log(most), -math.log(least)) if least > 0 else math.inf
        out[BETA, g] = most - 1


@kernel
def tree_distances(
    counts: Counts | Numbers, sizes: Counts, q: Numbers, lasts: Counts, height: int, out: Numbers
) -> None:
    """Earth mover's distance on the value hierarchy: half of what its edges carry; those of the leaves are known."""
    for g in range(len(sizes)):
        share = 1.0 / sizes[g]
        total, s = 2 * out[T_EQUAL, g], 0
        for last in lasts:
            if s > last:  # the next level
                s = 0
            carried = 0.0
            while s <= last:
                carried += counts[g, s] * share - q[s]
                s += 1
            total += abs(carried)
        out[T_HIERARCHICAL, g] = total / (2 * height)


def last_values(levels: Counts) -> Counts:
    """List the last value of every node between leaves and root, level by level."""
    inner = levels[1:-1]
    return np.nonzero(np.diff(inner, axis=1, append=inner[:, -1:] + 1))[1]


@kernel
def divergences(counts: Counts, sizes: Counts, q: Numbers, out: Numbers) -> None:
    """Entropy and Jensen-Shannon divergence of every group.

    Logarithms cost most. Small groups repeat the same few (size, count, value) again and again, so their terms of
    the divergence are remembered, as logarithms of small counts are. Unsigned indices spare a test for negative ones.
    """
    q_log_q, known = q * np.log(q), np.full((SMALL, SMALL, len(q)), np.nan)
    for g in range(len(sizes)):
        size = np.uint64(sizes[g])
        share = 1.0 / sizes[g]
        js = sum_n_log_n = 0.0
        log_size = LOGS[size] if sizes[g] < SMALL else math.log(sizes[g])
        if sizes[g] < SMALL:
            for s in range(len(q)):
                place = np.uint64(counts[g, s])
                term = known[size, place, s]
                if math.isnan(term):
                    term = known[size, place, s] = divergence_term(counts[g, s] * share, q[s], q_log_q[s])
                js += term
                sum_n_log_n += N_LOG_N[place]
        else:
            for s in range(len(q)):
                n = counts[g, s]
                js += divergence_term(n * share, q[s], q_log_q[s])
                sum_n_log_n += N_LOG_N[n] if n < SMALL else n * math.log(n)
        p_log_p = sum_n_log_n * share - log_size
        out[L_ENTROPY, g] = math.exp(-p_log_p)
        out[JS, g] = max((js + p_log_p) / 2, 0.0)


@kernel
def weighted_divergences(weighted: Numbers, sizes: Counts, q: Numbers, out: Numbers) -> None:
    """Work out the same where the counts need not be whole: nothing is remembered of their terms."""
    q_log_q = q * np.log(q)
    for g in range(len(sizes)):
        share, js, sum_n_log_n = 1.0 / sizes[g], 0.0, 0.0
        for s in range(len(q)):
            n = weighted[g, s]
            js += divergence_term(n * share, q[s], q_log_q[s])
            if n == int(n) and n < SMALL:
                sum_n_log_n += N_LOG_N[int(n)]
            else:
                sum_n_log_n += n * math.log(n)
        log_size = LOGS[sizes[g]] if sizes[g] < SMALL else math.log(sizes[g])
        p_log_p = sum_n_log_n * share - log_size
        out[L_ENTROPY, g] = math.exp(-p_log_p)
        out[JS, g] = max((js + p_log_p) / 2, 0.0)


@kernel
def divergence_term(p: float, q: float, q_log_q: float) -> float:
    """A value's contribution to twice the divergence, apart from p ln p."""
    return q_log_q - (p + q) * math.log((p + q) / 2) if p > 0 else q * LOG_2


@kernel
def weighted_quantile(values: Numbers, weights: Counts, share: float) -> float:
    """The smallest value that at least this share of the weight does not exceed.

    No sorting: values are put into bins, and those of the bin in question into narrower ones, until all are equal.
    """
    values, weights = values.copy(), weights.copy()
    place, total, before, left = np.empty(len(values), np.int64), weights.sum(), 0, len(values)
    while True:
        low = high = values[0]
        for i in range(left):
            low, high = min(low, values[i]), max(high, values[i])
        if low == high:
            return low
        binned = np.zeros(BINS, np.int64)
        for i in range(left):
            place[i] = min(int((values[i] - low) / (high - low) * BINS), BINS - 1)
            binned[place[i]] += weights[i]
        chosen = 0
        while chosen < BINS - 1 and before + binned[chosen] < share * total:
            before += binned[chosen]
            chosen += 1
        kept = 0
        for i in range(left):
            if place[i] == chosen:
                values[kept], weights[kept] = values[i], weights[i]
                kept += 1
        left = kept


@kernel
def total_loss(
    lo: Codes, hi: Codes, mass: Counts | Numbers, ends: Numbers, starts: Counts, least: Numbers, weights: Numbers
) -> float:
    """Add up the losses of all boxes, records x attributes; a record cannot lose more than all, however sums round."""
    total = 0.0
    for b in range(len(mass)):
        loss = 0.0
        for a in range(len(starts)):
            wide = ends[starts[a] + hi[b, a] + 1] - ends[starts[a] + lo[b, a]] - least[a]
            loss += weights[a] * max(wide, 0.0) if lo[b, a] < hi[b, a] else 0.0
        total += min(loss, float(len(starts))) * mass[b]
    return total
