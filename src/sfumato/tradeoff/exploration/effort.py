"""What exploring a study will roughly take, from counts alone: seconds and memory, as orders of magnitude.

Most of the work is reading releases: every box is held against every region (a query, a large population), and its
records are spread over the leaves it covers, for every sensitive value. Most of the memory is what a leaf of a
hierarchy, a bit of a selection and the counts of boxes by value take. The costs of each were measured once
(`benchmarks/README.md`); another machine, or an anonymizer that searches long, makes a difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, floor, log10

import numpy as np

from sfumato.anonymizers import WithoutQuasi
from sfumato.measures import EmReader, Scales
from sfumato.measures.attacks.shadow import PAIRS
from sfumato.release.populations import large_populations
from sfumato.requirements.predicates import SIZE
from sfumato.table import Cells, Table
from sfumato.table.cells import sorted_cells
from sfumato.tradeoff.study.candidate import Candidate
from sfumato.tradeoff.study.study import Study
from sfumato.workers import workers

USUAL_GROUP = 1.4
"""Records of a usual group, to one of the smallest that is allowed."""

GLOBAL = 20
"""How many times fewer groups a maker has that recodes every value alike."""

SAMPLED = 400
"""Records by which the large populations of a table are counted, about."""

SECONDS_AT_LEAST, SECONDS_PER_LEAF, SECONDS_PER_CANDIDATE = 2.0, 6e-6, 0.03
SECONDS_PER_DRAWN_LEAF = 1.2e-8
"""To draw which leaves a query selects."""

SECONDS_PER_CELL = 2e-6
"""To make one release."""

SECONDS_PER_OVERLAP = 8.5e-8
"""To hold one box against one region, for one sensitive attribute."""

SECONDS_PER_ANSWER = 6.5e-10
"""The same, for one value more."""

SECONDS_PER_SPREAD = 7e-9
"""To spread the records of one box and value over one leaf, in all rounds of the reader that learns."""

SECONDS_PER_COMPARED = 4e-8
"""To compare one record that is attacked with one released record, in all attacks."""

SECONDS_PER_COUNTED = 1.2e-7
"""To count one cell for one set of columns, where releases are compared with the original."""

SHARE_OF_READER = 0.5
"""How much of all answers the reader that learns takes."""

GIGABYTES_AT_LEAST, BYTES_PER_LEAF, BYTES_PER_SELECTED = 0.35, 700, 0.4
"""Of a selection so many bytes per leaf: a bit, twice, and sums."""

BYTES_PER_COUNT = 120
"""Of every box and value, for one thread: the counts, and what two readers make of them."""


@dataclass(frozen=True)
class Effort:
    """What an exploration will take."""

    seconds: float
    gigabytes: float
    threads: int

    @property
    def told(self) -> dict[str, float]:
        """What a program is told of it."""
        return {"gigabytes": self.gigabytes, "threads": self.threads}

    @property
    def in_words(self) -> str:
        """Say how much memory it takes. Seconds only order plans: how long a run takes, only a run tells."""
        return f"about {_rounded(self.gigabytes):,g} GB of memory"


@dataclass(frozen=True, eq=False)
class Load:
    """What of a table decides how long a release of it takes to be made and measured on some scales."""

    cells: Cells
    scales: Scales
    populations: int
    """How many of them are large, about."""

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
        """How many leaves are drawn for the queries."""
        return self.scales.queries.number * self.leaves if self.cells.sensitive else 0

    def boxes(self, candidate: Candidate) -> int:
        """The boxes of a release, about: as many as groups of the size that is required."""
        if isinstance(candidate.anonymizer, WithoutQuasi):
            return 1
        rules = [rule for part in candidate.requirement.parts for rule in part.rules()]
        least = max((int(k) for kind, k, _ in rules if kind == SIZE), default=1)
        fewer = GLOBAL if candidate.anonymizer.has_lattice else 1
        return max(min(self.cells.size, int(self.cells.records / (USUAL_GROUP * least * fewer))), 1)

    def seconds(self, candidate: Candidate) -> float:
        """The seconds that one thread takes for one candidate."""
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
        draws = self.scales.draws if candidate.anonymizer.noisy else 1
        each = SECONDS_PER_CANDIDATE + SECONDS_PER_CELL * self.cells.size + answers + spread + self.compared
        return draws * each + float(searching) + self.attacks(candidate)

    def attacks(self, candidate: Candidate) -> float:
        """The seconds that attacks on one candidate take."""
        options = self.scales.attacks
        if options is None:
            return 0.0
        draws = options.draws if candidate.anonymizer.noisy else 1
        shadows = 4 * PAIRS * options.shadow * SECONDS_PER_CANDIDATE
        return draws * options.number * self.cells.records * SECONDS_PER_COMPARED + shadows

    @property
    def compared(self) -> float:
        """The seconds that comparing one release with the original takes."""
        wanted, columns = self.scales.fidelity, len(self.cells.quasi) + len(self.cells.sensitive)
        if wanted is None:
            return 0.0
        sets = sum(min(comb(columns, ways), wanted.most) for ways in range(1, wanted.ways + 1))
        return SECONDS_PER_COUNTED * sets * self.cells.size

    def effort(self, candidates: list[Candidate], threads: int) -> Effort:
        """Estimate what making and measuring all candidates takes."""
        ready = SECONDS_AT_LEAST + SECONDS_PER_LEAF * self.leaves + SECONDS_PER_DRAWN_LEAF * self.drawn
        held = BYTES_PER_LEAF * self.leaves + BYTES_PER_SELECTED * self.drawn
        counts = sorted((self.boxes(candidate) * max(self.values, 1) for candidate in candidates), reverse=True)
        held += BYTES_PER_COUNT * sum(counts[:threads])
        seconds = ready + sum(map(self.seconds, candidates)) / threads
        return Effort(seconds, GIGABYTES_AT_LEAST + held / 1e9, threads)


def effort_of(study: Study, table: Table) -> Effort:
    """Estimate what exploring a study of a table takes."""
    return Load.of(table.cells, study.scales).effort(study.candidates_of(table), workers())


def populations_about(cells: Cells, min_support: float) -> int:
    """Count the large populations of a table in a sample of its records: a share is about the same there."""
    below, records = np.cumsum(cells.counts), np.arange(min(cells.records, SAMPLED))
    taken = np.searchsorted(below, (records * cells.records) // len(records), side="right")
    few = sorted_cells(cells.quasi, [], cells.codes[taken], np.ones(len(taken), np.int64))
    return large_populations(few, min_support).size


def _rounded(number: float) -> float:
    """Round to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** floor(log10(number))
    return float(min((1, 2, 5, 10), key=lambda step: abs(log10(number / (step * power))))) * power
