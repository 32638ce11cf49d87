"""Singling out: finding a description that fits exactly one person (Giomi et al. 2023, section 4.1).

The attacker looks for predicates that fit exactly one record of the release, and bets that each fits exactly one
person of the table. As in the authors' own tool, equal records count once, in the release, the table and the control.

    Univariate:    a value that one released record has; the smallest and the largest number, where one has it.
    Multivariate:  take a random released record and some random columns; a category must be equal, a number at least
                   as large where it lies above the release's median, at most as large where not; join by "and". Keep a
    predicate if it fits exactly one released record and was not had before, until there are n.
    Success: the records of the table that it fits are all of one person; persons with equal records count once.
    Naive: random values of random columns, joined by random comparisons.

Leaves are ordered, so a predicate is an interval of leaf codes in every column that it names, and counting stops at
the second record that fits.

The control has another size than the table, and the chance to fit exactly one record depends on it. A predicate of
weight w does so in n persons with probability n w (1 - w)^(n - 1) (Cohen and Nissim, PNAS 2020). The weights of the
predicates are assumed to be Gamma distributed, so that matches are negative binomial. Both parameters follow from the
shares of predicates that fit no record and exactly one record of the control. They determine the share expected at the
table's size.

Linkability: joining what two sources know of one person by way of the release (Giomi et al. 2023, section 4.2).

One source knows some columns of a record of a person, another one the others. For each the attacker takes all released
records that are nearest to what it knows. Where exactly one is nearest to both, he takes the two for one person. The
authors' tool takes one nearest record for each source, ties at random. On columns of few values it finds nothing, even
in the original, because hundreds of records tie.

    Success: exactly one released record is nearest by the first columns and by the others.
    Naive: a random record each, which is the same one.

Columns are dealt to the two sources in turn, by falling entropy in the table, so that both know about as much.

Attribute inference: guessing a secret from what is known of a person (Giomi et al. 2023, section 4.3).

The attacker knows the quasi-identifiers. He looks for the released record that is nearest by them and guesses that the
person has its sensitive value. A number is guessed right within 5 % of the guess.

    Success: the nearest released record has a value that the person has in some record.
    Naive: the value of a random released record.

The success against the control is what anybody learns of anybody from statistics. The advantage is the additional
knowledge about the people in the release.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, log1p

import numpy as np

from sfumato.data.cells import Sensitive, distinct_rows
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.measures.attacks._persons import PersonRecords
from sfumato.measures.attacks.advantage import Advantage, Rate
from sfumato.measures.attacks.record_linkage import TOLERANCE as SAME
from sfumato.measures.attacks.record_linkage import distance
from sfumato.release.records import leaf_numbers
from sfumato.runtime.arrays import Codes, Counts, Flags, Numbers
from sfumato.runtime.cancellation import check_cancelled
from sfumato.runtime.kernels import kernel

ROUNDS = 200
"""How many times as many predicates as wanted are tried at most."""


@dataclass(frozen=True, eq=False)
class Predicates:
    """Conjunctions of intervals: in each named column leaf codes from `lo` to `hi`. One row each."""

    columns: Codes
    lo: Codes
    hi: Codes

    def __len__(self) -> int:
        return len(self.columns)

    def fit(self, persons: PersonRecords, most: int = 2) -> Counts:
        """Count the persons whom every predicate fits by a record; counting stops at `most`."""
        return fitting(self.columns, self.lo, self.hi, persons.codes, persons.owner, most)

    def chosen(self, which: Counts) -> Predicates:
        """Keep some of them, in this order."""
        return Predicates(*(np.ascontiguousarray(part[which]) for part in (self.columns, self.lo, self.hi)))

    def joined(self, other: Predicates) -> Predicates:
        """Put others behind these, and keep of equal ones the first."""
        mine, others = (np.column_stack([each.columns, each.lo, each.hi]) for each in (self, other))
        rows = np.ascontiguousarray(np.concatenate([mine, others]))
        width = self.columns.shape[1]
        first, _ = distinct_rows(rows)
        return Predicates(*(np.ascontiguousarray(rows[first, i * width : (i + 1) * width]) for i in range(3)))


def none(columns: int) -> Predicates:
    """Return no predicate, about so many columns."""
    return Predicates(*(np.zeros((0, columns), np.int32) for _ in range(3)))


def univariate(
    released: Codes, hierarchies: tuple[Hierarchy, ...], wanted: int, generator: np.random.Generator
) -> Predicates:
    """List what one released record alone has: a value, or the smallest or largest number."""
    found = none(1)
    for place, hierarchy in enumerate(hierarchies):
        values, counts = np.unique(released[:, place], return_counts=True)
        rare = values[counts == 1]
        lo, hi = [rare], [rare]
        numbers = values[values < hierarchy.domain_size]
        if hierarchy.scale != "category" and len(numbers):
            lo.append(np.array([0, numbers[-1]], np.int32))
            hi.append(np.array([numbers[0], hierarchy.domain_size - 1], np.int32))
        ends = [np.concatenate(part).astype(np.int32)[:, None] for part in (lo, hi)]
        found = found.joined(Predicates(np.full(ends[0].shape, place, np.int32), *ends))
    alone = np.flatnonzero(found.fit(PersonRecords.each(released)) == 1)
    return found.chosen(generator.permutation(alone)[:wanted])


def multivariate(
    released: Codes,
    hierarchies: tuple[Hierarchy, ...],
    wanted: int,
    columns: int,
    generator: np.random.Generator,
) -> Predicates:
    """Describe random released records by some of their columns, more extreme numbers included, where that fits one."""
    found = none(columns)
    medians = np.full(len(hierarchies), -1.0)
    ordered = np.array([hierarchy.scale != "category" for hierarchy in hierarchies])
    sizes = np.array([hierarchy.domain_size for hierarchy in hierarchies], np.int32)
    for place in np.flatnonzero(ordered):
        numbers = released[released[:, place] < sizes[place], place]
        medians[place] = np.median(numbers) if len(numbers) else -1.0
    for _ in range(ROUNDS):
        check_cancelled()
        rows = released[generator.integers(len(released), size=wanted)]
        chosen = np.sort(_some_columns(wanted, len(hierarchies), columns, generator), axis=1).astype(np.int32)
        lo = np.take_along_axis(rows, chosen, axis=1)
        hi, number = lo.copy(), ordered[chosen] & (lo < sizes[chosen])
        above = lo > medians[chosen]
        hi = np.where(number & above, sizes[chosen] - 1, hi).astype(np.int32)
        lo = np.where(number & ~above, 0, lo).astype(np.int32)
        tried = Predicates(chosen, lo, hi)
        found = found.joined(tried.chosen(np.flatnonzero(tried.fit(PersonRecords.each(released)) == 1)))
        if len(found) >= wanted:
            break
    return found.chosen(np.arange(min(len(found), wanted)))


def _some_columns(rows: int, size: int, columns: int, generator: np.random.Generator) -> Counts:
    """Draw some different columns for every row."""
    return np.argsort(generator.random((rows, size)), axis=1)[:, :columns]


def guessed_at_random(
    released: Codes, hierarchies: tuple[Hierarchy, ...], wanted: int, columns: int, generator: np.random.Generator
) -> Predicates:
    """Join random comparisons with random values that the release has; "is not" is left to nobody: it fits too many."""
    chosen = _some_columns(wanted, len(hierarchies), columns, generator).astype(np.int32)
    lo, hi = np.empty_like(chosen), np.empty_like(chosen)
    for place, hierarchy in enumerate(hierarchies):
        here = chosen == place
        value = generator.choice(np.unique(released[:, place]), int(here.sum())).astype(np.int32)
        turn = generator.integers(3, size=len(value))
        ranged = (hierarchy.scale != "category") & (value < hierarchy.domain_size)
        lo[here] = np.where(ranged & (turn == 1), 0, value)
        hi[here] = np.where(ranged & (turn == 2), hierarchy.domain_size - 1, value)
    return Predicates(chosen, lo, hi)


def singling_out(
    name: str, predicates: Predicates, naive: Predicates, training: PersonRecords, control: PersonRecords
) -> Advantage:
    """Count how many predicates fit exactly one person of the table, and of the control at the table's size.

    `training` and `control` are distinct persons.
    """
    tries = len(predicates)
    counts = predicates.fit(control)
    control_rate = rescaled(int((counts == 0).sum()), int((counts == 1).sum()), tries, len(training) / len(control))
    return Advantage(
        name,
        Rate(int((predicates.fit(training) == 1).sum()), tries),
        control_rate,
        Rate(int((naive.fit(training) == 1).sum()), len(naive)),
        on=f"{predicates.columns.shape[1]} columns" if predicates.columns.shape[1] > 1 else "1 column",
    )


def rescaled(nobody: int, one: int, tries: int, factor: float) -> Rate:
    """Expect how many predicates fit exactly one of `factor` times as many persons.

    The share is reported as from the number of tries that has the relative error of the count.
    """
    if not tries or factor == 1:
        return Rate(one, tries)
    if not one:
        return Rate(0, max(int(tries / factor), 1))
    counted = one / tries
    share = min(counted * growth((nobody + 0.5) / (tries + 1), one / (nobody + 0.5), factor), 1 - 1 / (2 * tries))
    equivalent = min(max(round(tries * counted * (1 - share) / (share * max(1 - counted, 1 / tries))), 1), tries)
    return Rate(share * equivalent, equivalent)


def growth(nobody: float, ratio: float, factor: float) -> float:
    """Say by how much the share of predicates that fit exactly one grows with `factor` times as many persons.

    `nobody` is the share that fits none now, `ratio` the one that fits one, to that. Matches are negative binomial.
    With x = n / (rate + n), a share (1 - x)^a fits none of n and a x (1 - x)^a exactly one. So
    log(1 - x) / x = log(nobody) / ratio, which falls from -1 to minus infinity with x.
    """
    slope = log(nobody) / ratio
    if slope > -1:  # no more spread than the same weight for all: Poisson
        return factor * exp(log(nobody) * (factor - 1))
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if log1p(-middle) / middle > slope else (low, middle)
    x, shape = low or high, ratio / (low or high)
    larger = factor * x / (1 - x + factor * x)
    return larger / x * exp(shape * (log1p(-larger) - log1p(-x)))


@kernel
def fitting(columns: Codes, lo: Codes, hi: Codes, records: Codes, owner: Counts, most: int) -> Counts:
    """Count the persons with a record in each box of some columns, up to `most`; O(predicates x records) at worst."""
    counts = np.zeros(len(columns), np.int64)
    for p in range(len(columns)):
        last = -1
        for i in range(len(records)):
            inside = owner[i] != last
            for c in range(columns.shape[1]):
                code = records[i, columns[p, c]]
                if code < lo[p, c] or code > hi[p, c]:
                    inside = False
                    break
            if inside:
                last = owner[i]
                counts[p] += 1
                if counts[p] == most:
                    break
    return counts


def two_sources(codes: Codes) -> tuple[list[int], list[int]]:
    """Deal columns to two sources: the most telling to the first, the next to the second, and so on."""
    order = sorted(range(codes.shape[1]), key=lambda place: (-_entropy(codes[:, place]), place))
    return sorted(order[::2]), sorted(order[1::2])


def _entropy(column: Codes) -> float:
    counts = np.unique(column, return_counts=True)[1] / len(column)
    return float(-(counts * np.log(counts)).sum())


def linkability(
    targets: Numbers,
    others: Numbers,
    released: Numbers,
    sources: tuple[list[int], list[int]],
    generator: np.random.Generator,
) -> Advantage:
    """Link what two sources know of the records of persons in the table (`targets`) and in the control (`others`)."""
    both = np.concatenate([targets, others])
    halves = [np.ascontiguousarray(places[:, source]) for places in (both, released) for source in sources]
    linked = linked_by_one(*halves)
    drawn = generator.integers(len(released), size=(2, len(targets)))
    return Advantage(
        "linkability",
        Rate(int(linked[: len(targets)].sum()), len(targets)),
        Rate(int(linked[len(targets) :].sum()), len(others)),
        Rate(int((drawn[0] == drawn[1]).sum()), len(targets)),
    )


@kernel
def linked_by_one(first: Numbers, second: Numbers, left: Numbers, right: Numbers) -> Flags:
    """Return for each target whether exactly one released record is nearest to both of its halves, ties included."""
    linked = np.zeros(len(first), np.bool_)
    for i in range(len(first)):
        least, other, together = np.inf, np.inf, 0
        for j in range(len(left)):
            near = distance(first[i], left[j], least + SAME)
            beside = distance(second[i], right[j], other + SAME)
            if near < least - SAME or beside < other - SAME:
                together = 0  # those before are not nearest any more
            least, other = min(least, near), min(other, beside)
            together += near <= least + SAME and beside <= other + SAME
        linked[i] = together == 1
    return linked


TOLERANCE = 0.05
"""A guessed number may be wrong by this share of itself."""


def inference(attribute: Sensitive, guesses: Codes, naive: Codes, secrets: PersonRecords, members: int) -> Advantage:
    """Compare the leaf guessed of every person with those of all records of the person.

    The first `members` persons are of the table, the others of the control.
    """
    right = secrets.any(guessed_right(attribute, guesses[secrets.owner], secrets.codes))
    inside = secrets.some(np.arange(members))
    return Advantage(
        "inference",
        Rate(int(right[:members].sum()), members),
        Rate(int(right[members:].sum()), len(right) - members),
        Rate(int(inside.any(guessed_right(attribute, naive[inside.owner], inside.codes)).sum()), members),
        on=attribute.name,
    )


def guessed_right(attribute: Sensitive, guesses: Codes, secrets: Codes) -> Flags:
    """Say which guesses are right: the same value, or a number that is nearly the same."""
    same = np.asarray(guesses == secrets)
    if attribute.hierarchy.scale != "number":
        return same
    numbers = leaf_numbers(attribute.hierarchy)
    guessed, true = _numbers(numbers, guesses), _numbers(numbers, secrets)
    with np.errstate(invalid="ignore"):
        return np.asarray(same | (np.abs(guessed - true) <= TOLERANCE * np.abs(guessed)))


def _numbers(numbers: Numbers, codes: Codes) -> Numbers:
    known = (codes >= 0) & (codes < len(numbers))
    return np.where(known, numbers[np.where(known, codes, 0)], np.nan)
