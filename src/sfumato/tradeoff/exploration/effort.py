"""Estimates of the cost of exploring a study, as orders of magnitude.

Most of the time is spent on reading releases: each box meets each region (a query, a large population), and its records
spread over its leaves for each sensitive value. Most of the memory holds leaves of hierarchies, bits of selections, and
counts of boxes by value. `benchmarks/README.md` has the measured cost of each step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.anonymizers.trivial import WithoutQuasi
from sfumato.data.cells import Cells, sorted_cells
from sfumato.measures.reconstruction import EmReader
from sfumato.measures.scales import Scales
from sfumato.release.populations import large_populations
from sfumato.requirements._predicates import SIZE
from sfumato.tradeoff.study.candidate import Candidate

USUAL_GROUP = 1.4
"""The size of a usual group relative to the smallest allowed one."""

GLOBAL = 20
"""The factor by which global recoding has fewer groups."""

SAMPLED = 400
"""The approximate number of records in the sample that counts large populations."""

SECONDS_AT_LEAST, SECONDS_PER_LEAF, SECONDS_PER_CANDIDATE = 2.0, 6e-6, 0.03
SECONDS_PER_DRAWN_LEAF = 1.2e-8
"""Per leaf and query: drawing the selection."""

SECONDS_PER_CELL = 2e-6
"""Per cell: making one release."""

SECONDS_PER_OVERLAP = 8.5e-8
"""Per box and region: their overlap, for one sensitive attribute."""

SECONDS_PER_ANSWER = 6.5e-10
"""Per box, region and further value."""

SECONDS_PER_SPREAD = 7e-9
"""Per box, value and leaf: spreading the records, in all rounds of the EM estimator."""

SHARE_OF_READER = 0.5
"""The share of all answers that the EM estimator needs."""

GIGABYTES_AT_LEAST, BYTES_PER_LEAF, BYTES_PER_SELECTED = 0.35, 700, 0.4
"""Per leaf of a selection: two bits and sums."""

BYTES_PER_COUNT = 120
"""Per box, value and thread: the counts, and the estimates of two estimators."""


@dataclass(frozen=True)
class Effort:
    """The cost of an exploration."""

    seconds: float
    gigabytes: float


@dataclass(frozen=True, eq=False)
class Load:
    """The properties of a table that determine the cost of a release on some scales."""

    cells: Cells
    scales: Scales
    populations: int
    """The approximate number of large ones."""

    @staticmethod
    def of(cells: Cells, scales: Scales) -> Load:
        """Count the large populations in a sample."""
        return Load(cells, scales, populations_about(cells, scales.min_support) if cells.sensitive else 0)

    @property
    def leaves(self) -> int:
        """The leaves of all quasi-identifiers."""
        return sum(quasi.hierarchy.size for quasi in self.cells.quasi)

    @property
    def values(self) -> int:
        """The values of all sensitive attributes."""
        return int(self.cells.spans[-1])

    @property
    def drawn(self) -> int:
        """The number of leaves drawn for the queries."""
        return self.scales.queries.number * self.leaves if self.cells.sensitive else 0

    def boxes(self, candidate: Candidate) -> int:
        """The approximate number of boxes of a release: the number of groups of the required size."""
        if isinstance(candidate.anonymizer, WithoutQuasi):
            return 1
        rules = [rule for part in candidate.requirement.parts for rule in part.rules()]
        least = max((int(k) for kind, k, _ in rules if kind == SIZE), default=1)
        fewer = GLOBAL if candidate.anonymizer.has_lattice else 1
        return max(min(self.cells.size, int(self.cells.records / (USUAL_GROUP * least * fewer))), 1)

    def seconds(self, candidate: Candidate) -> float:
        """The seconds of one thread for one candidate."""
        boxes, sensitive = self.boxes(candidate), len(self.cells.sensitive)
        regions = boxes * (self.scales.queries.number + self.populations)
        answers = regions * (SECONDS_PER_OVERLAP * sensitive + SECONDS_PER_ANSWER * self.values)
        spread = 0.0
        if isinstance(self.scales.reader, EmReader):
            leaves = sum(min(quasi.hierarchy.size, 2 * boxes) for quasi in self.cells.quasi)
            there = min(self.values, sensitive * self.cells.records / boxes)  # no more values than records
            spread = SECONDS_PER_SPREAD * boxes * leaves * there
        else:
            answers *= 1 - SHARE_OF_READER
        searching = getattr(candidate.anonymizer, "seconds", None) or 0.0
        each = SECONDS_PER_CANDIDATE + SECONDS_PER_CELL * self.cells.size + answers + spread
        return each + float(searching)

    def effort(self, candidates: list[Candidate], threads: int) -> Effort:
        """Estimate the cost of making and measuring all candidates."""
        ready = SECONDS_AT_LEAST + SECONDS_PER_LEAF * self.leaves + SECONDS_PER_DRAWN_LEAF * self.drawn
        held = BYTES_PER_LEAF * self.leaves + BYTES_PER_SELECTED * self.drawn
        counts = sorted((self.boxes(candidate) * max(self.values, 1) for candidate in candidates), reverse=True)
        held += BYTES_PER_COUNT * sum(counts[:threads])
        seconds = ready + sum(map(self.seconds, candidates)) / threads
        return Effort(seconds, GIGABYTES_AT_LEAST + held / 1e9)


def populations_about(cells: Cells, min_support: float) -> int:
    """Count the large populations of a table in a sample of its records, where a share is about the same."""
    below, records = np.cumsum(cells.counts), np.arange(min(cells.records, SAMPLED))
    taken = np.searchsorted(below, (records * cells.records) // len(records), side="right")
    few = sorted_cells(cells.quasi, [], cells.codes[taken], np.ones(len(taken), np.int64))
    return large_populations(few, min_support).size
