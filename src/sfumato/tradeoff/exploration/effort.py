"""What exploring a study will roughly take, from counts alone: seconds and memory, as orders of magnitude.

Most of the work is reading releases: every box is held against every query for every sensitive value. Most of the
memory is what a leaf of a hierarchy, a bit of a selection and the counts of boxes by value take. The costs of each were
measured once (`benchmarks/README.md`); another machine, or an anonymizer that searches long, makes a difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log10

from sfumato.table import Table
from sfumato.tradeoff.study.study import Study
from sfumato.workers import workers

USUAL_GROUP = 5
"""Records of a small group: a release has at most about so many times fewer boxes than records."""

SECONDS_AT_LEAST, SECONDS_PER_LEAF, SECONDS_PER_CANDIDATE = 2.0, 6e-6, 0.03
SECONDS_PER_DRAWN_LEAF = 1.2e-8
"""To draw which leaves a query selects."""

SECONDS_PER_CELL = 2e-6
"""To make one release."""

SECONDS_PER_ANSWER = 1e-9
"""To hold one box against one query for one value."""

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
    def in_words(self) -> str:
        """Say it as an order of magnitude."""
        return f"about {_time(self.seconds)} and {_rounded(self.gigabytes):,g} GB of memory"


def effort_of(study: Study, table: Table) -> Effort:
    """Estimate what exploring a study of a table takes."""
    threads, cells, queries = workers(), table.cells, study.scales.queries
    leaves = sum(quasi.hierarchy.size for quasi in cells.quasi)
    values, boxes = max(int(cells.spans[-1]), 1), max(min(cells.size, cells.records // USUAL_GROUP), 1)
    draws = study.scales.draws
    releases = sum(draws if candidate.anonymizer.noisy else 1 for candidate in study.candidates_of(table))
    answers = queries.number * boxes * values if cells.sensitive else 0
    drawn = queries.number * leaves if cells.sensitive else 0
    each = SECONDS_PER_CANDIDATE + SECONDS_PER_CELL * cells.size + SECONDS_PER_ANSWER * answers
    ready = SECONDS_AT_LEAST + SECONDS_PER_LEAF * leaves + SECONDS_PER_DRAWN_LEAF * drawn
    held = BYTES_PER_LEAF * leaves + BYTES_PER_SELECTED * drawn
    held += BYTES_PER_COUNT * boxes * values * min(threads, releases)
    return Effort(ready + each * releases / threads, GIGABYTES_AT_LEAST + held / 1e9, threads)


def _rounded(number: float) -> float:
    """Round to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** floor(log10(number))
    return float(min((1, 2, 5, 10), key=lambda step: abs(log10(number / (step * power))))) * power


def _time(seconds: float) -> str:
    for unit, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= 1.5 * unit:
            number = _rounded(seconds / unit)
            return f"{number:,g} {name}{'' if number == 1 else 's'}"
    number = _rounded(max(seconds, 1.0))
    return f"{number:,g} second{'' if number == 1 else 's'}"
