"""A better reader than uniformity: groups read together, by expectation maximization (Li & Li 2009, future work).

The uniform reader gives every record the histogram of its group. But groups are related: if sales are frequent in all
groups with many young people, then within one group too the young are likelier to be in sales. The analyst keeps a
model of few numbers, P(leaf | value) of every quasi-identifier (naive Bayes), and alternates. Given the model, the
values of every group are assigned again to its records; given the assignment, the model is counted again. It starts
from the uniform reading.

With exact quasi-identifiers (points), the assignment keeps both margins of a group: the records of every point and the
histogram. Of all such assignments it is the one nearest to the model (iterative proportional fitting, which is also
the maximum entropy). Two sets are projected onto each other in turn, so the divergence of what is dealt from the model
never rises (Csiszar & Tusnady 1984). The points inside boxes are unknown. Each value's records are spread over the
leaves of the box by the model, one attribute after the other, which is the usual EM of values known to an interval.

An adversary who knows everybody's quasi-identifiers and group can do the same with published points, whatever was
published: `definetti`.

The deFinetti attack (Kifer 2009): what the inference of a better reader gives an adversary.

He knows everybody's quasi-identifiers and in which group each published person is. He learns across all groups how
quasi-identifiers go with sensitive values (`reconstruction`). He assigns the values of every group to its people by
that, and guesses for each the most frequently assigned value. He is compared with an attacker who infers nothing and
guesses the commonest value of the person's group. Only published people are guessed. If persons are counted, a
person is guessed once for each group and combination of quasi-identifiers in it that the person's published records
have. The guess is right if one of these records has the value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.config.options import Configured, Option
from sfumato.data.cells import Points, distinct_rows, find_sensitive
from sfumato.errors import BadInputError
from sfumato.measures.attribute_attack import spread_over_leaves
from sfumato.release._selections import Bank, all_widths_below, has_bit
from sfumato.release.regions import Held, Intervals, Regions, Stretches, held_in, most_selected, shown_intervals
from sfumato.release.release import Release
from sfumato.runtime.arrays import Codes, Counts, Numbers
from sfumato.runtime.kernels import kernel

SMOOTHING = 1.0
"""Records of every value that are thought to be spread over the leaves as all records are, so that nothing is 0."""

STILL = 1e-6
"""Rounds end early when no number of the model moves by more than this."""

BALANCED = 1e-6
"""A group is dealt when no value misses its count by more than this share of the group's records."""

MOST_SCALINGS = 1000
"""Dealing one group stops after so many scalings of its rows and columns at the latest."""

LEAST_ODDS = 1e-200
"""Products of many probabilities are kept above this: the values of a group have to go somewhere."""

LEAST_CODE = -1
"""That of a value outside of its domain."""

FULL = 8
"""Of a box that has one in so many of all values, whole rows are multiplied: faster than numbers picked out."""

OUTSIDE, PARTLY, WHOLLY = 0, 1, 2
"""How much of an interval a region has."""


@dataclass(frozen=True)
class UniformReader(Configured):
    """Every record has the sensitive values of its group, wherever it is in its box: nothing is measured besides."""

    name: ClassVar[str] = "uniform"


@dataclass(frozen=True)
class EmReader(Configured):
    """Groups are read together, in a few rounds of model and dealing. No round at all is the uniform reading.

    Few rounds are better than many: naive Bayes counts twice what two quasi-identifiers say alike, and the rounds end
    in what the model believes rather than in what is true. The number is fixed, never chosen by looking at the truth.
    """

    rounds: Annotated[int, Option(least=0)] = 5
    """Rounds of model and dealing; 0 is the uniform reading."""

    name: ClassVar[str] = "em"
    example: ClassVar[str | None] = "em rounds=5"

    def dealt(self, entries: Entries, histograms: Numbers) -> Numbers:
        """Deal the sensitive values of every group among its entries: entries x values, both margins kept."""
        rows, known = entries.model_rows
        values, scaling = histograms.shape[1], histograms.copy()
        model = np.ones((known, values))
        totals, nothing = histograms.sum(axis=0), np.empty((0, values))
        usual = None
        for _ in range(self.rounds):
            counts = np.zeros(model.shape)
            deal_groups(rows, entries.starts, entries.mass, histograms, model, scaling, counts, nothing)
            usual = counts.sum(axis=1) / totals.sum() if usual is None else usual
            before, model = model, relative(learned(counts, usual, totals))
            if largest_change(model, before, np.ones(known)) <= STILL:
                break
        dealt = np.zeros((len(rows), values))
        deal_groups(rows, entries.starts, entries.mass, histograms, model, scaling, np.zeros(model.shape), dealt)
        return dealt

    def leaf_weights(self, release: Release, content: Numbers) -> list[LeafWeights]:
        """Learn from boxes how the records of every value fall on the leaves of every quasi-identifier."""
        totals = content.sum(axis=0)
        by_attribute = []
        for a, quasi in enumerate(release.cells.quasi):
            ends = (release.boxes.lo[:, a], release.boxes.hi[:, a])
            cut = Stretches.of(quasi.hierarchy, *ends)
            lo, hi = map(cut.of_leaves, ends)
            weights = np.repeat(cut.widths[:, None], content.shape[1], axis=1)
            usual = None
            for _ in range(self.rounds):
                counts = spread_by_weight(lo, hi, weights, content)
                usual = counts.sum(axis=1) / totals.sum() if usual is None else usual
                before, weights = weights, learned(counts, usual, totals)
                if largest_change(weights, before, cut.widest / cut.widths) <= STILL:
                    break
            by_attribute.append(LeafWeights(cut, weights))
        return by_attribute


Reader = UniformReader | EmReader
READERS: tuple[type[Reader], ...] = (UniformReader, EmReader)


@dataclass(frozen=True, eq=False)
class Entries:
    """Which points are in which group, group by group: what somebody sees who knows everybody's quasi-identifiers."""

    point: Counts
    codes: Codes
    group: Counts
    starts: Counts
    """The entries of group g stand at `starts[g]:starts[g + 1]`."""

    mass: Numbers
    """The records of every entry."""

    of_assignment: Counts
    """The entry to which every row of the release's assignment belongs."""

    @cached_property
    def model_rows(self) -> tuple[Codes, int]:
        """The rows of the model that speak of every entry, and how many there are: one for every leaf that occurs."""
        rows, known = np.empty_like(self.codes, order="C"), 0
        for a, codes in enumerate(self.codes.T):
            occurs = np.bincount(codes - LEAST_CODE) > 0
            places = known - 1 + np.cumsum(occurs)
            rows[:, a] = places[codes - LEAST_CODE]
            known += int(occurs.sum())
        return rows, known

    @staticmethod
    def of(release: Release, points: Points) -> Entries:
        """Find the entries of a release."""
        assignment = release.assignment
        point = points.number[assignment.cell]
        first, number = distinct_rows(np.stack([assignment.group, point], axis=1).astype(np.int32))
        order = np.argsort(assignment.group[first], kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        first, number = first[order], place[number]
        group = assignment.group[first]
        mass = np.bincount(number, weights=assignment.count, minlength=len(first)).astype(np.float64)
        starts = np.searchsorted(group, np.arange(release.groups + 1)).astype(np.int64)
        return Entries(point[first], points.codes[point[first]], group, starts, mass, number)

    def by_point(self, dealt: Numbers, points: Points) -> Numbers:
        """Add up what was dealt to the entries of every point: points x values."""
        sums = np.zeros((len(points.codes), dealt.shape[1]))
        np.add.at(sums, self.point, dealt)
        return sums


@dataclass(frozen=True, eq=False)
class LeafWeights:
    """How the records of every value fall on the leaves of one attribute, in each stretch by the width of leaves."""

    cut: Stretches
    weights: Numbers
    """Stretches x values."""


def largest_change(after: Numbers, before: Numbers, shares: Numbers) -> float:
    """Return the largest movement of a number; for rows that represent several records, their largest share."""
    return float((np.abs(after - before).max(axis=1) * shares).max(initial=0.0))


def learned(counts: Numbers, usual: Numbers, totals: Numbers) -> Numbers:
    """Count the model again: P(leaf | value) from assigned records, smoothed towards all records (`usual`)."""
    shares: Numbers = (counts + SMOOTHING * usual[:, None]) / (totals + SMOOTHING)
    return shares


def relative(model: Numbers) -> Numbers:
    """Divide every leaf's row by its mean over the values: only ratios matter, and their products stay in range."""
    means = model.mean(axis=1, keepdims=True)
    ratios: Numbers = np.where(means > 0, model / np.where(means > 0, means, 1.0), 1.0)
    return ratios


def spread_by_weight(lo: Codes, hi: Codes, weights: Numbers, content: Numbers) -> Numbers:
    """Spread the counts of boxes over the leaves of one attribute, each value by its own weights: leaves x values."""
    whole = _per_interval(lo, hi + 1, weights)
    per_weight = np.divide(content, whole, out=np.zeros(content.shape), where=whole > 0)
    leaves, alike = np.arange(len(weights) + 1, dtype=np.float64), np.empty(weights.shape)
    spread_over_leaves(lo, hi, leaves, per_weight * (hi + 1 - lo)[:, None], alike)  # every leaf as much as the next
    return alike * weights


def _per_interval(lo: Codes, end: Codes, weights: Numbers) -> Numbers:
    """Add up the weights of the leaves from lo to before end: intervals x values."""
    below = np.concatenate([np.zeros((1, weights.shape[1])), np.cumsum(weights, axis=0)])
    sums: Numbers = below[end] - below[lo]
    return sums


def weighted_estimates(release: Release, regions: Regions, learned: Sequence[LeafWeights], content: Numbers) -> Numbers:
    """Estimate the sensitive counts inside every region from boxes, each value spread by its own weights."""
    intervals = shown_intervals(release)
    lo, end, inverse = np.empty_like(intervals.lo), np.empty_like(intervals.end), []
    for a, leaf_weights in enumerate(learned):
        stretch = slice(int(intervals.offsets[a]), int(intervals.offsets[a + 1]))
        lo[stretch], end[stretch] = (
            leaf_weights.cut.of_leaves(intervals.lo[stretch]),
            leaf_weights.cut.of_leaves(intervals.end[stretch]),
        )
        whole = _per_interval(lo[stretch], end[stretch], leaf_weights.weights)
        inverse.append(np.divide(1.0, whole, out=np.zeros(whole.shape), where=whole > 0))
    held = held_in(content)
    sizes = [leaf_weights.cut.size for leaf_weights in learned]
    tabled = np.diff(intervals.offsets) * held.values <= 2 * len(held.value)
    directly = [
        leaf_weights.cut.leaves > leaf_weights.cut.size and work < leaf_weights.weights.size
        for leaf_weights, work in zip(learned, _work(held, lo, end, intervals), strict=True)
    ]
    return combine_weights(
        regions.bank,
        regions.used,
        intervals.order,
        lo,
        end,
        np.concatenate(inverse),
        intervals.offsets,
        intervals.number,
        np.concatenate([leaf_weights.weights for leaf_weights in learned]),
        np.cumsum([0, *sizes], dtype=np.int64),
        np.concatenate([leaf_weights.cut.bounds for leaf_weights in learned]),
        np.array(directly),
        tabled & ~np.array(directly),
        held,
        content,
    )


def _work(held: Held, lo: Codes, end: Codes, intervals: Intervals) -> list[int]:
    """Return, for every attribute, how many weights are added up where boxes add those of their own values alone."""
    present = np.diff(held.starts)
    lengths = [(end - lo)[intervals.offsets[a] + number] for a, number in enumerate(intervals.number)]
    return [int((present * length).sum()) for length in lengths]


# -- kernels ---------------------------------------------------------------------------------------------------------


@kernel
def deal_groups(
    rows: Codes,
    starts: Counts,
    mass: Numbers,
    histograms: Numbers,
    model: Numbers,
    scaling: Numbers,
    counts: Numbers,
    dealt: Numbers,
) -> None:
    """Deal every group's values among its entries by the model, and count per leaf what was dealt.

    `rows` are the rows of the model that speak of every entry. `scaling` holds the factors of every group's values and
    is where the next round starts from; `counts` is added to; `dealt`, all zeros, is filled where it is not empty.
    Only the values that a group has are looked at.
    """
    values = histograms.shape[1]
    largest = most = 0
    for g in range(len(starts) - 1):
        present = 0
        for s in range(values):
            present += histograms[g, s] > 0
        largest, most = max(largest, starts[g + 1] - starts[g]), max(most, present)
    odds, held = np.empty((largest, values if 2 * most >= values else most)), np.empty(values, np.int64)
    target, factors = np.empty(values), np.empty(values)
    for g in range(len(starts) - 1):
        first, number, present = starts[g], starts[g + 1] - starts[g], 0
        for s in range(values):
            if histograms[g, s] > 0:
                held[present] = s
                present += 1
        whole = 2 * present >= values
        if whole:  # rows as they stand are faster than half of their numbers picked out; what is not there stays 0
            present = values
            for s in range(values):
                held[s] = s
        for j in range(present):
            target[j], factors[j] = histograms[g, held[j]], scaling[g, held[j]]
        for i in range(number):
            for j in range(present):
                odds[i, j] = 1.0
            for a in range(rows.shape[1]):
                row = rows[first + i, a]
                if whole:
                    for j in range(present):
                        odds[i, j] *= model[row, j]
                else:
                    for j in range(present):
                        odds[i, j] *= model[row, held[j]]
            for j in range(present):
                odds[i, j] = max(odds[i, j], LEAST_ODDS)
        balance(odds[:number, :present], mass[first : first + number], target[:present], factors[:present])
        for j in range(present):
            scaling[g, held[j]] = factors[j]
        for i in range(number):
            for a in range(rows.shape[1]):
                row = rows[first + i, a]
                if whole:
                    for j in range(present):
                        counts[row, j] += odds[i, j]
                else:
                    for j in range(present):
                        counts[row, held[j]] += odds[i, j]
        if len(dealt) > 0:
            for i in range(number):
                for j in range(present):
                    dealt[first + i, held[j]] = odds[i, j]


@kernel
def balance(odds: Numbers, mass: Numbers, target: Numbers, factors: Numbers) -> None:
    """Scale columns and rows in turn until they add up to the group's histogram (`target`) and the entries' records.

    In the end rows add up exactly, and columns to within `BALANCED`. They are only approximate in the rare groups
    where some shares have to vanish and `MOST_SCALINGS` is reached. `odds` are then the assignment, and `factors`
    those of the columns.
    """
    number, present = odds.shape
    factor, reached = np.empty(number), np.empty(present)
    size = 0.0
    for j in range(present):
        size += target[j]
    for turn in range(MOST_SCALINGS):
        if turn > 0:
            for j in range(present):
                factors[j] = target[j] / reached[j]
        for j in range(present):
            reached[j] = 0.0
        for i in range(number):
            total = 0.0
            for j in range(present):
                total += odds[i, j] * factors[j]
            factor[i] = mass[i] / total
            for j in range(present):
                reached[j] += factor[i] * odds[i, j]
        worst = 0.0
        for j in range(present):
            worst = max(worst, abs(reached[j] * factors[j] - target[j]))
        if worst <= BALANCED * size:
            break
    for i in range(number):
        for j in range(present):
            odds[i, j] *= factor[i] * factors[j]


@kernel
def combine_weights(
    bank: Bank,
    used: Codes,
    order: Counts,
    lo: Codes,
    end: Codes,
    inverse: Numbers,
    offsets: Counts,
    interval_of: Codes,
    weights: Numbers,
    stretches: Counts,
    bounds: Codes,
    directly: NDArray[np.bool_],
    tabled: NDArray[np.bool_],
    held: Held,
    content: Numbers,
) -> Numbers:
    """For every region multiply the boxes' shares of its attributes, value by value, and add up the boxes' content.

    As `combine_overlaps` of `release.regions`, but every value has its own weights: those of the stretches of attribute
    a stand at `stretches[a]:stretches[a + 1]` of `weights`, and `lo` and `end` are stretches. Nothing is multiplied
    where a box is wholly inside. Weights are summed up over all intervals and values of an attribute, and kept for the
    next region that selects the same. They are summed `directly` for the values of a box where that is less. If
    boxes share few intervals, the shares of these are `tabled`. Which boxes a region meets is kept for regions that
    begin alike. `content` is what `held` lists the numbers of.
    """
    boxes, kept_rows = len(held.starts) - 1, 0
    rows = np.zeros(used.shape[1], np.int64)
    for a in range(used.shape[1]):
        rows[a] = kept_rows
        kept_rows += 0 if directly[a] else stretches[a + 1] - stretches[a] + 1
    estimates = np.zeros((len(used), held.values))
    below, chosen, extent = np.empty((kept_rows, held.values)), np.empty(len(weights)), np.empty(len(lo), np.int64)
    selection, depth = np.full(used.shape[1], -1, np.int64), most_selected(used)
    met, number = np.empty((depth, boxes), np.int32), np.zeros(depth, np.int64)
    attribute, narrowed, partly = np.full(depth, -1), np.full(depth, -1), np.empty(depth, np.int64)
    shown, shares, table = np.empty(depth, np.int64), np.empty(held.values), np.empty(inverse.shape)
    all_tabled = tabled.all()
    for r in range(len(used)):
        level, same = -1, True
        for a in order:
            if used[r, a] < 0:
                continue
            first, behind = stretches[a], stretches[a + 1]
            if selection[a] != used[r, a]:
                selection[a] = used[r, a]
                chosen[first:behind] = selected_shares(bank, a, used[r, a], bounds[first + a : behind + a + 1])
                cut_intervals(chosen[first:behind], lo, end, offsets[a : a + 2], extent)
                if not directly[a]:
                    add_up(chosen[first:behind], weights[first:behind], below[rows[a] :])
                if tabled[a]:
                    fill_table(below[rows[a] :], lo, end, inverse, offsets[a : a + 2], extent, table)
            level += 1
            same = same and attribute[level] == a and narrowed[level] == used[r, a]
            if same:  # the region before begins alike
                continue
            attribute[level], narrowed[level], kept = a, used[r, a], 0
            for i in range(boxes if level == 0 else number[level - 1]):
                b = i if level == 0 else met[level - 1, i]
                met[level, kept] = b
                kept += extent[offsets[a] + interval_of[a, b]] != OUTSIDE
            number[level] = kept
        attribute[level + 1 :] = -1
        for i in range(boxes if level < 0 else number[level]):
            b, parts = i if level < 0 else met[level, i], 0
            for place in range(level + 1):
                at = offsets[attribute[place]] + interval_of[attribute[place], b]
                partly[parts], shown[parts] = attribute[place], at  # overwritten by the next where nothing is cut
                parts += extent[at] == PARTLY
            start, behind = held.starts[b], held.starts[b + 1]
            if all_tabled and FULL * (behind - start) >= held.values:  # whole rows, what is not there stays 0
                for s in range(held.values):
                    shares[s] = content[b, s]
                for part in range(parts):
                    at = shown[part]
                    for s in range(held.values):
                        shares[s] *= table[at, s]
                for s in range(held.values):
                    estimates[r, s] += shares[s]
                continue
            for entry in range(start, behind):
                s, share = held.value[entry], held.amount[entry]
                for part in range(parts):
                    a, at = partly[part], shown[part]
                    if tabled[a]:
                        share *= table[at, s]
                        continue
                    if directly[a]:
                        inside = 0.0
                        for stretch in range(stretches[a] + lo[at], stretches[a] + end[at]):
                            inside += weights[stretch, s] * chosen[stretch]
                    else:
                        inside = below[rows[a] + end[at], s] - below[rows[a] + lo[at], s]
                    share *= inside * inverse[at, s]
                estimates[r, s] += share
    return estimates


@kernel
def selected_shares(bank: Bank, attribute: int, used: int, bounds: Codes) -> Numbers:
    """Say which share of the width of every stretch is selected."""
    below, shares = np.empty(len(bounds)), np.empty(len(bounds) - 1)
    selection, base, cumulative = bank.starts[attribute] + used, bank.leaves[attribute], bank.cumulative
    word, bits, first, end = bank.words[selection], bank.bits, bank.first[selection], bank.end[selection]
    all_widths_below(bank, attribute, selection, bounds, below)
    for i in range(len(shares)):
        leaf = bounds[i]
        width = cumulative[base + bounds[i + 1]] - cumulative[base + leaf]
        shares[i] = (below[i + 1] - below[i]) / width
        if bounds[i + 1] - leaf == 1:  # selected or not, whatever a difference of large sums has lost
            shares[i] = 1.0 if (first <= leaf < end if word < 0 else has_bit(bits, word, leaf)) else 0.0
    return shares


@kernel
def cut_intervals(chosen: Numbers, lo: Codes, end: Codes, between: Counts, extent: Counts) -> None:
    """Return, for every interval of one attribute, whether the chosen parts cover none of it, some or all."""
    some, all_ = np.zeros(len(chosen) + 1, np.int64), np.zeros(len(chosen) + 1, np.int64)
    for i in range(len(chosen)):
        some[i + 1] = some[i] + (chosen[i] > 0.0)
        all_[i + 1] = all_[i] + (chosen[i] == 1.0)
    for i in range(between[0], between[1]):
        inside, wholly = some[end[i]] - some[lo[i]], all_[end[i]] - all_[lo[i]]
        extent[i] = OUTSIDE if inside == 0 else WHOLLY if wholly == end[i] - lo[i] else PARTLY


@kernel
def add_up(chosen: Numbers, weights: Numbers, below: Numbers) -> None:
    """Add up the chosen weights below every stretch, value by value."""
    values = weights.shape[1]
    for s in range(values):
        below[0, s] = 0.0
    for i in range(len(weights)):
        for s in range(values):
            below[i + 1, s] = below[i, s] + weights[i, s] * chosen[i]


@kernel
def fill_table(
    below: Numbers, lo: Codes, end: Codes, inverse: Numbers, between: Counts, extent: Counts, table: Numbers
) -> None:
    """Work out, value by value, which share of every interval of one attribute is chosen, where only some of it is."""
    for i in range(between[0], between[1]):
        if extent[i] == PARTLY:
            for s in range(table.shape[1]):
                table[i, s] = (below[end[i], s] - below[lo[i], s]) * inverse[i, s]


# -- the deFinetti attack --------------------------------------------------------------------------------------------

DEALT_ALIKE = 1e-9
"""Of values that were dealt equally to within this share, the one that is commoner in the group is guessed."""


@dataclass(frozen=True)
class DeFinetti:
    """How often the attack guesses right, beside guessing the commonest value of every group."""

    accuracy: float
    baseline: float

    @property
    def gain(self) -> float:
        """How much more often the attack is right than the baseline; below 0 the inference misleads him."""
        return self.accuracy - self.baseline


def definetti(release: Release, reader: EmReader | None = None, on: str | None = None) -> DeFinetti:
    """Attack one sensitive attribute of a release (the only one, where none is named)."""
    if release.histograms is None:
        raise BadInputError("this release shows no sensitive value, so there is nothing to learn them from")
    position = find_sensitive(release.cells.sensitive, on)
    entries = Entries.of(release, release.cells.points)
    histograms = release.histograms.of(position).astype(np.float64)
    return guessed(release, entries, (reader or EmReader()).dealt(entries, histograms), position)


def guessed(release: Release, entries: Entries, dealt: Numbers, sensitive: int) -> DeFinetti:
    """Guess everybody's value by what was dealt to them (entries x values), and count how often that is right."""
    assert release.histograms is not None
    histograms, assignment = release.histograms.of(sensitive), release.assignment
    guess, entry = best_values(dealt, histograms[entries.group]), entries.of_assignment
    if release.group_persons is None:
        true = release.cells.values[assignment.cell, sensitive]
        right = int(assignment.count[guess[entry] == true].sum())
        return DeFinetti(right / assignment.records, int(histograms.max(axis=1).sum()) / assignment.records)
    by_entry = replace(assignment, group=entry)
    counted = release.cells.group_persons(by_entry, len(guess))
    assert counted is not None
    having, people = counted.having[:, release.cells.span(sensitive)], int(counted.persons.sum())
    common = release.group_persons.having[:, release.cells.span(sensitive)].argmax(axis=1)[entries.group]
    shares = [int(having[np.arange(len(guess)), each].sum()) / people for each in (guess, common)]
    return DeFinetti(*shares)


def best_values(dealt: Numbers, common: Counts) -> Counts:
    """Take the value most of which was dealt; among equals the commoner in the group, then the first."""
    top = dealt.max(axis=1, keepdims=True)
    values: Counts = np.where(dealt >= top * (1 - DEALT_ALIKE), common, -1).argmax(axis=1)
    return values
