"""Resampling a table: releases of a map are remade, and measured on tables whose records are drawn with replacement.

The recoding stays that of the release (every box, every group): it is what would be published, and it costs no search.
Every resample has a seed of its own, so results do not depend on the number of workers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import isclose, isnan
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymizers import Anonymizer, WithoutQuasi, assigned
from sfumato.arrays import Counts
from sfumato.errors import SfumatoError, StoppedError
from sfumato.measures import Prepared, measure
from sfumato.phrases import listed
from sfumato.process.interrupts import Cancel, look
from sfumato.quiet import Quiet
from sfumato.release import Release
from sfumato.tradeoff.choice.robust import Resampled
from sfumato.tradeoff.exploration.exploration import TableWork, repeatable
from sfumato.tradeoff.study.study import NOTHING, Candidate, Study
from sfumato.workers import Crew

if TYPE_CHECKING:
    from sfumato.tradeoff.map import Map, Point

SEED = 1
SLOWEST = 20.0
"""A release that took longer to make than this many seconds is not remade for an interval."""

U_LOSS = "u_loss"


@dataclass(frozen=True, eq=False, repr=False)
class TableJudge(Quiet):
    """Opens the table of a map, once, and measures on resamples of it; says why where it cannot."""

    map_: Map
    resamples: int
    workers: int | None = None
    cancel: Cancel | None = None

    @cached_property
    def _crew(self) -> Crew:
        return Crew(self.workers, self.cancel)

    @cached_property
    def _opened(self) -> Prepared | str:
        """The scales on the table, or why it is not at hand."""
        study = self.map_.study
        if not isinstance(study, Study):
            return "Only tables are resampled, so there is no interval."
        try:
            work = self._crew.do(lambda: TableWork.of(study, study.table.open()))
        except StoppedError:
            raise
        except (SfumatoError, OSError) as error:
            return f"The table is not at hand, so there is no interval: {error}"
        if work.digest != self.map_.about.get("digest"):
            return f"{work.table.engine.origin} has changed since the map was made, so there is no interval."
        if work.table.roles.person is not None:
            return "Resampling draws single records, and persons are counted, so there is no interval."
        return Prepared(work.table, study.scales)

    def resampled(self, points: Sequence[Point], measures: Sequence[str]) -> Resampled:
        """Measure points on resampled tables; what cannot be is left out, with a note that says why."""
        if isinstance(self._opened, str):
            return Resampled(self.resamples, SEED, {}, self._opened)
        return crew_resampled(self._crew, self._opened, points, measures, self.resamples)

    def whole(self) -> Mapping[str, float]:
        """Measure all records in one group; nothing where the table is not at hand."""
        prepared = self._opened
        if isinstance(prepared, str):
            return {}
        everybody = partial(WithoutQuasi().anonymize, prepared.table, NOTHING)
        return self._crew.do(lambda: measure(assigned(everybody()))).values


def crew_resampled(
    crew: Crew, prepared: Prepared, points: Sequence[Point], measures: Sequence[str], resamples: int
) -> Resampled:
    """Remake points and measure them on resamples of a table that is open."""
    known: dict[str, Release] = {}
    unknown: list[str] = []
    for point in points:
        release = crew.do(partial(_remade, prepared, point))
        values = {} if release is None else _values(prepared, release, measures)
        if release is None or any(not isclose(values[n], point.measures[n], abs_tol=1e-9) for n in values):
            unknown.append(point.id)
        else:
            known[point.id] = release
    each = crew.all(partial(_on_resample, prepared, known, measures), range(resamples))
    values_of = {id: {name: tuple(one[id][name] for one in each) for name in each[0][id]} for id in known}
    finite = {
        id: {n: values for n, values in named.items() if not any(map(isnan, values))} for id, named in values_of.items()
    }
    lacking = [name for name in measures if any(name not in finite[id] for id in known)]
    notes = [
        f"Not resampled: {listed(unknown)}, which is noisy, is slow to make, or comes out otherwise every time."
        if unknown
        else "",
        f"Not measured on resamples: {listed(lacking)}." if lacking else "",
    ]
    return Resampled(resamples, SEED, finite, " ".join(filter(None, notes)))


def _remade(prepared: Prepared, point: Point) -> Release | None:
    """Make the release of a point again; None where that takes long, or its groups are not known."""
    candidate = point.candidate
    assert isinstance(candidate, Candidate)
    maker = repeatable(candidate)
    if not isinstance(maker, Anonymizer) or point.seconds > SLOWEST:
        return None
    return maker.anonymize(prepared.table, candidate.requirement, candidate.form, candidate.suppress)


def _values(prepared: Prepared, release: Release, measures: Sequence[str]) -> dict[str, float]:
    """Measure what follows from the groups, and `u_loss`; the others take too long to do often."""
    values = {name: value for name, value in measure(release).values.items() if name in measures}
    if U_LOSS in measures and release.histograms is not None:
        losses = prepared.utility_losses(release, prepared.point_estimates(release))
        values |= {U_LOSS: max(losses)} if losses else {}
    return values


def _on_resample(
    prepared: Prepared, releases: Mapping[str, Release], measures: Sequence[str], number: int
) -> dict[str, dict[str, float]]:
    """Draw one resample and measure all releases on it."""
    cells, random = prepared.table.cells, np.random.default_rng([SEED, number])
    counts = random.multinomial(cells.records, cells.counts / cells.records)
    drawn, values = prepared.recounted(counts), {}
    for id, release in releases.items():
        look()
        entries = np.random.default_rng([SEED, number, *id.encode()])
        again = release.recounted(drawn.table, dealt(release, cells.counts, counts, entries))
        values[id] = _values(drawn, again, measures)
    return values


def dealt(release: Release, before: Counts, after: Counts, random: np.random.Generator) -> Counts:
    """Deal the records that cells have now to the groups that their records went to, by the shares of these.

    A cell that went to one group stays whole; of one that was divided every record draws, being suppressed included.
    """
    entries = release.assignment
    order = np.argsort(entries.cell, kind="stable")
    cells = entries.cell[order]
    starts = np.flatnonzero(np.r_[True, cells[1:] != cells[:-1]])
    rank = np.arange(len(cells)) - np.repeat(starts, np.diff(np.r_[starts, len(cells)]))
    old, new, count = before.copy(), after.copy(), np.zeros_like(entries.count)
    for turn in range(int(rank.max(initial=-1)) + 1):
        place = order[rank == turn]
        cell = entries.cell[place]
        count[place] = random.binomial(new[cell], np.minimum(entries.count[place] / old[cell], 1.0))
        old[cell] -= entries.count[place]
        new[cell] -= count[place]
    return count
