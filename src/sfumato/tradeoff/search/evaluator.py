"""Working out cut vectors, each once, by several threads."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers import CutSpace
from sfumato.anonymizers.cut_vector.space import Bits
from sfumato.table import Table
from sfumato.tradeoff.search.problems import Problem
from sfumato.workers import Crew

Numbers = NDArray[np.float64]
AT_ONCE = 8
"""Vectors that one thread is handed at a time."""

MOST_KEPT = 2**28
"""Bytes of facts that are kept; those of further vectors are worked out anew where they are met again."""


class Evaluator:
    """Works out vectors, each once, by several threads."""

    def __init__(self, table: Table, wanted: Problem, space: CutSpace, workers: int | None = None) -> None:
        self.judge = wanted.judge(table, space)
        self.crew = Crew(workers)
        self.known: dict[bytes, Numbers | None] = {}
        """The facts of every vector that was met; None where it is known that it was, but not its facts."""

        self.kept = 0
        self.seconds = 0.0

    def facts(self, vectors: Bits) -> tuple[list[Numbers], NDArray[np.int64]]:
        """Return the rows of facts of vectors, and which of them were new."""
        keys = [vector.tobytes() for vector in vectors]
        lacking = {key: i for i, key in reversed(list(enumerate(keys))) if self.known.get(key) is None}
        needed = np.array(sorted(lacking.values()), np.int64)
        fresh = np.array([i for i in needed if keys[i] not in self.known], np.int64)
        rows = {key: facts for key in keys if (facts := self.known.get(key)) is not None}
        for i, facts in zip(needed, self.worked_out(vectors[needed]), strict=True):
            rows[keys[i]] = facts
            self.kept += facts.nbytes
            self.known[keys[i]] = facts.copy() if self.kept <= MOST_KEPT else None
        return [rows[key] for key in keys], fresh

    def worked_out(self, vectors: Bits) -> list[Numbers]:
        """Work out vectors without looking whether they are known."""
        started = time.perf_counter()
        parts = [vectors[i : i + AT_ONCE] for i in range(0, len(vectors), AT_ONCE)]
        facts = self.crew.all(self.judge, parts)
        self.seconds += time.perf_counter() - started
        return [rows for part in facts for rows in part]
