"""Exploring a study: every candidate is made and measured, by threads; what is done is kept and never done twice."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from sfumato.anonymizers import Anonymizer, Brought, Maker, Mechanism, UnsafeSeededNoise
from sfumato.configuration import without_seed
from sfumato.errors import InfeasibleError, SfumatoError, StoppedError, lacks_memory
from sfumato.measures import Prepared, Remake, published_risks
from sfumato.process.interrupts import Cancel, look, pressed
from sfumato.release import Published, RecordRelease, Release
from sfumato.release.changes import column_changes
from sfumato.table import Table
from sfumato.tradeoff.choice.exposure import hardly_changed
from sfumato.tradeoff.choice.optimum import Decided
from sfumato.tradeoff.exploration.cache import Cache
from sfumato.tradeoff.exploration.details import attack_tables, details, noisy_details, pictured, record_details
from sfumato.tradeoff.limit.limit import AXES, Limit, limit
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.study.draft import as_study
from sfumato.tradeoff.study.explorable import Explorable, Opened, Settings
from sfumato.tradeoff.study.study import Candidate, Study
from sfumato.workers import Crew

if TYPE_CHECKING:
    from sfumato.tradeoff.search.aims import Aim
    from sfumato.tradeoff.search.families import Proposals

Own = TypeVar("Own", bound=Settings)
"""The candidates of a kind of study."""

Progress = Callable[[int, int, str], None]
"""Told after every candidate: how many are done, of how many, and which was the last."""

NO_MEMORY = "there was not enough memory for it; work with fewer threads (--workers 1) or take a larger machine"
"""Why a point failed that is tried again next time, since it says nothing of the candidate."""


def explore(
    study: Explorable | str | Any,
    cache: Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    table: Any = None,
    cancel: Cancel | None = None,
) -> Map:
    """Make and measure all candidates of a study, or of what stands for one: a path, a bundled name, a draft, a frame.

    A frame is drafted (`draft`), so the roles of its columns are guesses; `map.study.table` says what they are.

    `cache` is a file to which every measured point is added at once; points found there under the same table,
    configuration and version are not worked out again, unless they do not fit their check sum: a warning says how
    many. The result does not depend on the number of workers. `table` is what the study is about (a table, or
    baskets), where that is open already.

    `cancel` can be set from another thread: `StoppedError` is then raised within a second, and its `map` has what was
    measured, which the cache has too. The same call goes on from there. A candidate that is just being made goes on to
    its next `interrupts.look`, and is then forgotten.
    """
    exploration: Exploration[Any] = Exploration(as_study(study), cache, workers, table, cancel)
    return exploration.explored(progress or (lambda finished, total, last: None))


class Exploration(Generic[Own]):
    """A study at work: its data, what was measured before, and the means to measure more."""

    def __init__(
        self,
        study: Explorable,
        cache: Path | None = None,
        workers: int | None = None,
        data: Any = None,
        cancel: Cancel | None = None,
    ) -> None:
        self.crew = Crew(workers, cancel)
        self.work = self.crew.do(lambda: study.opened(data))
        self.study = self.work.study
        self.cache = Cache(cache)
        if self.cache.mended:
            warnings.warn(self.cache.mended, stacklevel=2)

    def explored(self, report: Progress) -> Map:
        """Measure all candidates that are not known yet, and return the map."""
        done = self.known_of(self.candidates)
        report(len(done), len(self.candidates), "")
        with self.mapped_when_stopped(lambda: [done[one] for one in self.candidates if one in done]):
            for candidate, point in self.measured(one for one in self.candidates if one not in done):
                done[candidate] = point
                report(len(done), len(self.candidates), str(candidate))
            return self.map([done[candidate] for candidate in self.candidates])

    def key(self, candidate: Own) -> str:
        """Return the name under which a candidate's point is kept."""
        return sha256(f"{self.work.key} {candidate}".encode()).hexdigest()

    def known_of(self, candidates: Iterable[Own]) -> dict[Own, Point]:
        """Return the points that need not be worked out again."""
        points = {candidate: self.cache.point(self.key(candidate), candidate) for candidate in candidates}
        return {candidate: point for candidate, point in points.items() if point is not None}

    @cached_property
    def candidates(self) -> Sequence[Own]:
        """All candidates of the study, each once, in order."""
        return self.crew.do(lambda: self.work.candidates)

    @cached_property
    def _measure(self) -> Callable[[Own], Point]:
        return self.crew.do(self.work.prepared)

    def measured(self, candidates: Iterable[Own], ends: float | None = None) -> Iterator[tuple[Own, Point]]:
        """Make and measure candidates, each kept at once; none is begun after `ends` on the monotonic clock."""
        wanted = list(candidates)
        if not wanted:
            return
        for candidate, point in self.crew.each(self._measure, wanted, ends):
            if _says_something(point):
                self.cache.add_point(self.key(candidate), point)
            yield candidate, point

    def map(
        self, points: Sequence[Point], study: Explorable | None = None, more: Mapping[str, Any] | None = None
    ) -> Map:
        """Put points on a map of the study (or of one that has grown), with the limit of the data under them."""
        floor = self._limit() if any(point.has(AXES) for point in points) else None
        about = {**self.work.about, **(more or {})}
        return Map(study or self.study, tuple(points), about, floor, self.cache.decided.get(self._decided_key, ()))

    def decide(self, decided: Iterable[Decided]) -> None:
        """Keep what was found of all cuts of a space, for this map and for later ones of the same data."""
        self.cache.add_decided(self._decided_key, decided)

    @property
    def _decided_key(self) -> str:
        return sha256(f"{self.work.key} decided".encode()).hexdigest()

    @property
    def _limit_key(self) -> str:
        return sha256(f"{self.work.key} limit".encode()).hexdigest()

    def _limit(self) -> Limit | None:
        """Work the limit of the data out, or take it from the cache."""
        key = self._limit_key
        if key not in self.cache.limits:
            self.cache.add_limit(key, self.crew.do(self.work.limit))
        return self.cache.limits[key]

    @contextmanager
    def mapped_when_stopped(self, points: Callable[[], Sequence[Point]]) -> Iterator[None]:
        """Let work that is stopped inside raise its `StoppedError` with a map of the points so far."""
        try:
            yield
        except StoppedError as stopped:
            stopped.map = Map(self.study, tuple(points()), self.work.about, self.cache.limits.get(self._limit_key))
            raise


@dataclass(frozen=True, eq=False)
class TableWork(Opened):
    """A study of a table with the table at hand."""

    study: Study
    table: Table
    digest: str

    sources: ClassVar[tuple[str, ...]] = ("tradeoff/exploration",)

    @staticmethod
    def of(study: Study, table: Table) -> TableWork:
        """Read the table through once, for its digest."""
        return TableWork(study, table, study.digest_of(table))

    @property
    def dependencies(self) -> list[Any]:
        """What a point depends on besides its candidate: the table and how it is read, the scales, a control."""
        table = self.table
        hierarchies = sorted((name, hierarchy.content) for name, hierarchy in table.hierarchies.items())
        attacks = self.study.scales.attacks
        control = [] if attacks is None else [attacks.digest]
        return [self.digest, table.roles, table.missing, table.ranges, hierarchies, self.study.scales, *control]

    @cached_property
    def candidates(self) -> Sequence[Candidate]:
        """All candidates, each once, in order."""
        return self.study.candidates_of(self.table)

    @property
    def about(self) -> Mapping[str, Any]:
        """What is said of the table itself."""
        table = self.table
        return {
            **table_facts(table),
            **({"weights": dict(table.roles.weights)} if table.roles.weights else {}),
            **({"coarsened": table.coarsened} if table.coarsened else {}),
            "notices": [*table.notices, *table.household_notices()],
            "digest": self.digest,
            "origin": table.engine.origin,
        }

    @cached_property
    def _ready(self) -> Prepared:
        return self.study.scales.prepare(self.table).ready()

    def prepared(self) -> Callable[[Candidate], Point]:
        """Make the scales ready; return what makes and measures one candidate.

        A file that was named and cannot be read is said before anything is made.
        """
        for candidate in self.candidates:
            if isinstance(candidate.anonymizer, Brought):
                candidate.anonymizer.check_readable(self.table)
        return partial(measured_point, prepared=self._ready)

    def proposals(self, aim: Aim, workers: int | None) -> Proposals:
        """Say what a tuner can try on the table beside the candidates."""
        from sfumato.tradeoff.search.families import table_proposals  # it is about studies: not before them

        return table_proposals(self.study, self.table, aim, workers)

    def limit(self) -> Limit | None:
        """Work out the line below which no truthful release of the table can lie."""
        return limit(self._ready)


def table_facts(table: Table) -> dict[str, Any]:
    """Say of a table what stands beside its map."""
    return {
        "records": table.cells.records,
        "cells": table.cells.size,
        "dropped": table.dropped,
        "quasi": [quasi.name for quasi in table.cells.quasi],
        "sensitive": [sensitive.name for sensitive in table.cells.sensitive],
    }


def measured_point(candidate: Candidate, prepared: Prepared) -> Point:
    """Make one release and measure it; a candidate that cannot be made is a point that says why."""

    def measurement() -> dict[str, Any]:
        maker = repeatable(candidate)
        if isinstance(maker, Mechanism):
            maker.check(prepared.table, candidate.requirement, candidate.form, candidate.suppress)
            return over_draws(maker, candidate, prepared)

        def made(table: Table, turn: int = 0) -> Published:
            again = repeatable(candidate, turn)
            return again.anonymize(table, candidate.requirement, candidate.form, candidate.suppress)

        release = made(prepared.table)
        look()
        measured = prepared.measure(release)
        worth = measured.worth
        again = None if not maker.remakes else lambda table, turn: [made(table, turn)]
        attacks = partial(with_attacks, prepared=prepared, releases=[release], again=again)
        values: dict[str, Any] = {
            "measures": dict(measured.values),
            "by_sensitive": measured.of_columns,
            "worth": None if worth is None else {**asdict(worth), "verdict": worth.verdict},
        }
        assert isinstance(release, Release | RecordRelease)
        if maker.foreign:
            values["brought"] = release.details["brought"]
        if isinstance(release, RecordRelease):
            values["refused"] = hardly_changed(release)
            return attacks({**values, "details": record_details(release) | pictured(measured)})
        values["least"] = release.details.get("least")
        ranges = maker.ranges_of(prepared.table) if isinstance(maker, Anonymizer) else "tight"
        bounds = {} if maker.foreign else published_risks(release, candidate.requirement, candidate.suppress)
        values |= {
            "published": bounds,
            "details": details(release, measured.losses, ranges) | pictured(measured),
            "changes": column_changes(release),
        }
        return attacks(values)

    return attempted(candidate.point(), measurement)


def _says_something(point: Point) -> bool:
    """Say whether a point tells of its candidate: not where memory lacked, or Ctrl-C ended its query."""
    return point.reason != NO_MEMORY and not (point.status == "failed" and pressed())


def attempted(point: Point, measurement: Callable[[], Mapping[str, Any]]) -> Point:
    """Fill a point with what is found of its release; where that cannot be made, with the reason."""
    started = time.perf_counter()
    try:
        point = replace(point, **measurement())
    except StoppedError:
        raise
    except InfeasibleError as error:
        point = replace(point, status="infeasible", reason=str(error))
    except SfumatoError as error:
        point = replace(point, status="failed", reason=str(error))
    except Exception as error:  # one anonymizer's defect must not cost the others' results
        reason = NO_MEMORY if lacks_memory(error) else f"{type(error).__name__}: {error}"
        point = replace(point, status="failed", reason=reason)
    return replace(point, seconds=time.perf_counter() - started)


def over_draws(mechanism: Mechanism, candidate: Candidate, prepared: Prepared) -> dict[str, Any]:
    """Draw a noisy release several times; its measures are the medians, with the smallest and the largest beside.

    The noise comes from a seed so that a map comes out the same twice. None of these draws can be published.
    """
    seeds = np.random.SeedSequence(int(candidate.id, 16)).generate_state(prepared.scales.draws, np.uint64)
    releases, measured = [], []
    for seed in seeds:
        look()
        releases.append(mechanism.draw(prepared.table, UnsafeSeededNoise(int(seed))))
        measured.append(prepared.measure(releases[-1]))
    values = {name: [draw[name] for draw in measured] for name in measured[0].values}
    combined = {
        "measures": {name: float(np.median(draws)) for name, draws in values.items()},
        "by_sensitive": {
            column: {name: float(np.median([draw.of_columns[column][name] for draw in measured])) for name in own}
            for column, own in measured[0].of_columns.items()
        },
        "intervals": {name: (min(draws), max(draws)) for name, draws in values.items()},
        "details": noisy_details(releases[0]) | pictured(measured[0]),
    }

    def again(table: Table, turn: int) -> Iterator[Published]:
        drawn = np.random.default_rng([int(candidate.id, 16), turn]).integers(2**63, size=len(seeds)) if turn else seeds
        return (mechanism.draw(table, UnsafeSeededNoise(int(seed))) for seed in drawn)

    return with_attacks(combined, prepared, releases, again)


def with_attacks(
    values: dict[str, Any], prepared: Prepared, releases: Sequence[Published], again: Remake | None
) -> dict[str, Any]:
    """Add to what is found of a candidate what attacks on it find, where there are any; `again` makes it once more."""
    if prepared.attacks is None:
        return values
    outcome = prepared.attacks.attacked(releases, again)
    tables = attack_tables(outcome.details, prepared.attacks.options.made_of)
    tables = [*values["details"].get("tables", []), *tables]
    return values | {
        "measures": {**values["measures"], **outcome.measures},
        "intervals": {**values.get("intervals", {}), **outcome.intervals},
        "details": {**values["details"], "attacks": outcome.details, "tables": tables},
    }


def repeatable(candidate: Candidate, turn: int = 0) -> Maker:
    """Return the candidate's anonymizer with a seed of its own where it draws at random and has none.

    A map is for the publisher's eyes and must come out the same twice; a release that is published draws afresh. Every
    turn after the first has another seed, whatever the candidate's own is.
    """
    maker = candidate.anonymizer
    if isinstance(maker, Mechanism):
        return maker
    return (without_seed(maker) if turn else maker).with_seed(int(candidate.id, 16) + turn)
