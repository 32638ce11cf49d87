"""Regions: parts of the quasi-identifiers' space in which sensitive values are alike, and what populations are made of.

A decision tree cuts the table into regions: the cut of the largest information gain about the sensitive attribute
first, as long as both sides keep enough records. What a researcher asks of a release are distributions in large
populations (conjunctions of hierarchy nodes); a `Composition` says of each which share of it lies in which region.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.mondrian.cut_kernels import problem_of
from sfumato.anonymizers.mondrian.mondrian import partition
from sfumato.anonymizers.mondrian.score_data import scoring_of
from sfumato.arrays import Codes, Counts, Numbers
from sfumato.kernels import kernel
from sfumato.release.populations import Populations, large_populations
from sfumato.requirements import KAnonymity
from sfumato.table import Points, Sensitive, Table

LEAST_RECORDS = 10
"""No region has fewer records (unless the table has), or its histogram would be mere chance."""

MOST_POPULATIONS = 1500
"""Of more populations than this, so many are taken, evenly in the order of their search."""


class Composition(NamedTuple):
    """The regions of population y, with their shares of it, stand at `offsets[y]:offsets[y + 1]`."""

    offsets: Counts
    region: Counts
    share: Numbers
    truth: Numbers
    """The true sensitive distribution of every population."""

    weights: Numbers
    """For every region the sum of its shares."""


@dataclass(frozen=True, eq=False)
class Cut:
    """A table cut into regions."""

    region: Counts
    """The region of every cell."""

    value: Counts
    """The sensitive value of every cell."""

    histograms: Counts
    """The sensitive values of every region: regions x values."""

    composition: Composition


def cut_table(table: Table, attribute: Sensitive, least: int, support: float) -> Cut:
    """Cut a table into regions of at least so many records."""
    cells = table.cells
    place = [sensitive.name for sensitive in cells.sensitive].index(attribute.name)
    value = cells.values[:, place].astype(np.int64)
    problem = problem_of(cells, KAnonymity(min(least, cells.records)))
    scoring = scoring_of(table, "information-gain", attribute.name)
    unused = np.zeros(1, np.uint64)
    groups = partition(problem, np.arange(cells.size), cells.counts, *cells.whole, False, unused, scoring)
    region = np.empty(cells.size, np.int64)
    region[groups.cells] = np.repeat(np.arange(groups.size), np.diff(groups.offsets))
    histograms = np.ascontiguousarray(cells.histograms(cells.assigned(region), groups.size).of(place))
    return Cut(region, value, histograms, composition_of(table, region, value, histograms.shape, support))


_populations: WeakKeyDictionary[Table, dict[float, Populations]] = WeakKeyDictionary()
"""The populations of a table, which are searched for once and not for every release."""


def composition_of(table: Table, region: Counts, value: Counts, shape: tuple[int, ...], support: float) -> Composition:
    """Say what every large population is made of."""
    known = _populations.setdefault(table, {})
    if support not in known:
        known[support] = large_populations(table.cells, support)
    populations = known[support]
    chosen = np.unique(np.linspace(0, populations.size - 1, min(populations.size, MOST_POPULATIONS)).astype(np.int64))
    rows, inside, starts = _alike(table, populations)
    every = np.concatenate([rows[:, : len(table.cells.quasi)], region[:, None], value[:, None]], axis=1)
    kinds = Points.of(every.astype(np.int32), table.cells.counts)
    parts, truth = count_parts(
        rows[kinds.first],
        region[kinds.first],
        value[kinds.first],
        kinds.counts.astype(np.float64),
        inside,
        starts,
        populations.regions.used[chosen],
        shape[0],
        shape[1],
    )
    offsets, listed = np.cumsum([0, *(parts > 0).sum(axis=1)]), np.nonzero(parts)
    share = (parts / parts.sum(axis=1, keepdims=True))[listed]
    weights = np.bincount(listed[1], weights=share, minlength=shape[0]).astype(np.float64)
    return Composition(offsets, listed[1], share, truth / truth.sum(axis=1, keepdims=True), weights)


def _alike(table: Table, populations: Populations) -> tuple[Codes, NDArray[np.bool_], Counts]:
    """Number leaves that belong to the same nodes alike: cells become fewer, whatever the size of domains.

    Returns the numbers of every cell, and for every attribute (from its start on) the selections x numbers.
    """
    rows, banks = [], []
    widest = max(*map(len, populations.regions.selections), 1)
    for a, selection in enumerate(populations.regions.selections):
        cuts = np.unique(np.concatenate([[0], selection.first, selection.end]))  # no node ends between two of them
        inside = (selection.first[:, None] <= cuts) & (cuts < selection.end[:, None])
        classes, kind = (
            np.unique(inside, axis=1, return_inverse=True) if len(selection) else (inside, np.zeros(1, np.int64))
        )
        between = np.searchsorted(cuts, table.cells.codes[:, a], side="right") - 1
        rows.append(kind.ravel()[between].astype(np.int32))
        padded = np.zeros((widest, classes.shape[1]), np.bool_)
        padded[: len(classes)] = classes
        banks.append(padded)
    starts = np.cumsum([0, *(bank.shape[1] for bank in banks)], dtype=np.int64)
    return np.stack(rows, axis=1), np.concatenate(banks, axis=1), starts


@kernel
def count_parts(
    rows: Codes,
    region: Counts,
    value: Counts,
    counts: Numbers,
    inside: NDArray[np.bool_],
    starts: Counts,
    used: Codes,
    regions: int,
    values: int,
) -> tuple[Numbers, Numbers]:
    """Count the records of every population by region and by sensitive value."""
    parts, truth = np.zeros((len(used), regions)), np.zeros((len(used), values))
    for y in range(len(used)):
        for i in range(len(rows)):
            member = True
            for a in range(rows.shape[1]):
                if used[y, a] >= 0 and not inside[used[y, a], starts[a] + rows[i, a]]:
                    member = False
                    break
            if member:
                parts[y, region[i]] += counts[i]
                truth[y, value[i]] += counts[i]
    return parts, truth
