"""Looking at all cut vectors of a small space: the frontier that comes out is exact, and says what none of them beats.

    front = Enumeration(table, Problem2(eta=0.1, minimize="loss"), space).run()   # front.exact

What was decided so (`decided`) is kept with a map: a question that its best release answers is then answered with how
far from the best of all these cuts that is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers import CutSpace, cut_space
from sfumato.anonymizers.cut_vector.facts import SUPPRESSED
from sfumato.anonymizers.cut_vector.space import Bits
from sfumato.configuration import check_choice, check_number
from sfumato.errors import BadInputError, StoppedError
from sfumato.measures import ATTACK_MEASURES, MEASURES
from sfumato.process.interrupts import look
from sfumato.table import Table
from sfumato.tradeoff.choice.optimum import Decided
from sfumato.tradeoff.search.archive import Archive, Frontier
from sfumato.tradeoff.search.checkpoint import (
    BETWEEN,
    NOT_EVOLVED,
    ONLY_STAGE,
    Snapshot,
    kept_snapshot,
    key_of,
    write_checkpoint,
)
from sfumato.tradeoff.search.evaluator import Evaluator
from sfumato.tradeoff.search.measured_problem import problem
from sfumato.tradeoff.search.problems import KernelProblem, Problem, Problem4

Numbers = NDArray[np.float64]
Progress = Callable[[int, int, str], None]
MOST_VECTORS = 5_000_000
"""No larger space is looked at as a whole."""

CHUNK = 2_000
"""Vectors that are looked at between two looks at the clock, where all are."""

KNOWN = frozenset(MEASURES) - frozenset(ATTACK_MEASURES)
"""The measures that every release has: an attack on too few records finds nothing."""

NEARLY = 1 - 3e-9
"""So near does a share of counts come to a whole number from below, and no bound takes it for that number."""

NOTHING_REQUIRED = "k-anonymity k=1"
"""What a measured problem requires where nothing is said."""


class Enumeration:
    """Looks at all cut vectors, or at all that are one level for every attribute; it can be stopped and continued."""

    def __init__(
        self,
        table: Table,
        wanted: Problem | str,
        space: CutSpace | None = None,
        workers: int | None = None,
        within: str = "cuts",
    ) -> None:
        check_choice("within", within, ("cuts", "levels"))
        self.problem = problem(wanted) if isinstance(wanted, str) else wanted
        self.table, self.within = table, within
        self.space = space if space is not None else cut_space(table.cells)
        self.size = self.space.count if within == "cuts" else self.space.level_count
        if self.size > MOST_VECTORS:
            raise BadInputError(
                f"the space has {how_many(self.size)} cut vectors, too many to look at all (at most {MOST_VECTORS:,}); "
                "search it (pareto, no --exact), look within levels only, or make it smaller by coarser levels "
                "(--level)"
            )
        self.solver, self.start = f"exact within {within}", None
        self.evaluator = Evaluator(table, self.problem, self.space, workers)
        self.archive = Archive(self.problem, self.space)
        self.unsuppressed = Archive(self.problem, self.space)
        """What of all is best if nobody is left out, where every threshold of suppression is looked at."""

        self.chunk = 0
        """How many chunks were looked at."""

    def run(
        self, seconds: float | None = None, progress: Progress | None = None, checkpoint: Path | None = None
    ) -> Frontier:
        """Look at all vectors unless time is up or Ctrl-C is pressed; called again, it goes on."""
        if seconds is not None:
            check_number("seconds", seconds, least=0, strict=True)
        ends = None if seconds is None else time.monotonic() + seconds
        written, stopped = time.monotonic(), ""
        try:
            for vectors in islice(_chunks(self.space, self.within), self.chunk, None):
                look()
                if ends is not None and time.monotonic() >= ends:
                    stopped = "time"
                    break
                facts = self.evaluator.worked_out(vectors)
                self.archive.add(vectors, facts)
                if self.keeps_unsuppressed:
                    self.unsuppressed.add(vectors, [rows[rows[:, SUPPRESSED] == 0.0] for rows in facts])
                self.chunk += 1
                if checkpoint is not None and time.monotonic() - written >= BETWEEN:
                    self._keep(checkpoint)
                    written = time.monotonic()
                if progress is not None:
                    progress(min(self.chunk * CHUNK, self.size), self.size, f"{len(self.archive.costs)} points")
        except (KeyboardInterrupt, StoppedError):
            stopped = "interrupted"
        if checkpoint is not None and self.chunk:
            self._keep(checkpoint)
        frontier = self.archive.frontier(min(self.chunk * CHUNK, self.size), stopped=stopped)
        return replace(frontier, exact=self.within == "cuts" and not stopped)

    @property
    def keeps_unsuppressed(self) -> bool:
        """Whether releases without suppression are looked at beside those with it."""
        return isinstance(self.problem, KernelProblem) and self.problem.every and self.problem.share > 0

    @property
    def is_whole(self) -> bool:
        """Whether all cuts were looked at."""
        return self.within == "cuts" and self.chunk * CHUNK >= self.size

    @property
    def decided(self) -> tuple[Decided, ...]:
        """What is known now of all cuts of the space; nothing before all were looked at.

        Where suppression can narrow what is shown (`_may_narrow`), it is known only of those without suppression.
        """
        names = self.problem.objectives
        if not self.is_whole or not self.problem.publishable or self.table.shared or not set(names) <= KNOWN:
            return ()
        known = [] if self._may_narrow() else [(self.archive, self.problem.share)]
        known += [(self.unsuppressed, 0.0)] if self.keeps_unsuppressed else []
        required = getattr(self.problem, "require", "")
        return tuple(
            Decided(
                names,
                tuple(self._row(facts) for facts in archive.frontier_facts),
                share,
                self.size,
                in_words(self.space),
                "" if required == NOTHING_REQUIRED else required,
            )
            for archive, share in known
        )

    def _may_narrow(self) -> bool:
        """Whether a release with suppression may have less loss than was counted.

        Where the domain was observed, a part whose end only suppressed records have is shown narrower
        (`release.shown_ends`). Where that part could have been cut there too, so that the same records fall short, it
        makes no difference: anywhere, or between leaves that have nothing but the root above them.
        """
        if not self.problem.share or not isinstance(self.problem, KernelProblem):
            return False  # nobody is left out, or releases were made and measured
        free = self.problem.every or self.problem.privacy == "k"
        return not free or any(
            attribute.level > 0 or attribute.between_bands or (attribute.constrained and attribute.hierarchy.height > 1)
            for attribute in self.space.attributes
            if attribute.hierarchy.observed or attribute.name in self.table.grown
        )

    def _row(self, facts: Numbers) -> tuple[float, ...]:
        """Return what a row of a frontier has; a diversity that counts as a whole number reaches nearly to the next."""
        values = self.problem.values(facts)
        whole = isinstance(self.problem, Problem4) and self.problem.variant == "frequency"
        return tuple(
            (values[name] + 1) * NEARLY if whole and name == "l_frequency" else values[name]
            for name in self.problem.objectives
        )

    def resume(self, checkpoint: Path) -> str:
        """Take it up from its checkpoint, if there is one; say in a sentence what became of it."""
        kept, sentence = kept_snapshot(checkpoint, key_of(self))
        if kept is None:
            return sentence
        self.chunk = kept.generation
        self.archive.take(kept.vectors, kept.facts)
        self.unsuppressed.take(kept.stage.vectors, kept.stage.facts)
        if kept.polished:
            return f"this search is finished: its frontier is taken from {checkpoint}"
        return f"going on after {self.chunk * CHUNK:,} of {self.size:,} cut vectors, from {checkpoint}"

    def _keep(self, checkpoint: Path) -> None:
        finished = self.chunk * CHUNK >= self.size
        front = replace(ONLY_STAGE, vectors=self.unsuppressed.vectors, facts=self.unsuppressed.rows)
        kept = Snapshot(self.chunk, NOT_EVOLVED, 0, self.archive.vectors, self.archive.rows, 0, 0, finished, front)
        write_checkpoint(checkpoint, key_of(self), kept, (), ())


def how_many(number: int) -> str:
    """Write a number of vectors, however many digits it has."""
    return f"{number:,}" if number < 10**15 else f"more than 10^{math.floor(math.log10(number))}"


def in_words(space: CutSpace) -> str:
    """Say where each column may be cut."""
    ways = []
    for attribute in space.attributes:
        where = "between bands" if attribute.between_bands else "anywhere"
        where = "along its hierarchy" if attribute.constrained else where
        ways.append(f"{attribute.name} {where}" + (f" from level {attribute.level}" if attribute.level else ""))
    return ", ".join(ways)


def exact(
    table: Table,
    wanted: Problem | str,
    space: CutSpace | None = None,
    within: str = "cuts",
    workers: int | None = None,
) -> Frontier:
    """Look at all cut vectors, or at all that are one level for every attribute (`within="levels"`)."""
    return Enumeration(table, wanted, space, workers, within).run()


def _chunks(space: CutSpace, within: str) -> Iterator[Bits]:
    sets = [attribute.every() if within == "cuts" else attribute.partitions for attribute in space.attributes]
    combined = product(*sets)
    while chunk := list(islice(combined, CHUNK)):
        yield np.array([np.concatenate(parts) for parts in chunk], np.uint8).reshape(len(chunk), space.bits)
