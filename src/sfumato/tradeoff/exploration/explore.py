"""Exploring a study: threads make and measure every candidate, and a cache keeps every result.

Also making the release of a point again, from the measured table and only if it may be published.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato._packages import up_to
from sfumato.anonymizers.anonymizer import Anonymizer
from sfumato.anonymizers.dp.mechanism import Mechanism
from sfumato.anonymizers.dp.noise import UnsafeSeededNoise
from sfumato.anonymizers.external.external import ExternalRelease
from sfumato.data.declaration import ATTRIBUTES, BOTH, ITEMS
from sfumato.data.items import Baskets
from sfumato.data.reading import Table
from sfumato.errors import InfeasibleError, SfumatoError, StoppedError, lacks_memory
from sfumato.measures.all_measures import published_risks
from sfumato.measures.analysis.analysis import read_analysis
from sfumato.measures.attacks.attacks import Remake
from sfumato.measures.items.linking import MOST_INFERRED_FROM
from sfumato.measures.scales import Prepared, PreparedBaskets, PreparedMixed, protected_risk
from sfumato.release.changes import column_changes
from sfumato.release.content import NoisyRelease
from sfumato.release.records import RecordRelease
from sfumato.release.release import Published, Release
from sfumato.requirements.items import CompleteKAnonymity, KMAnonymity, PrivacyConstraints, RhoUncertainty
from sfumato.runtime.cancellation import Cancel, check_cancelled, pressed
from sfumato.runtime.kernels import source_digest
from sfumato.runtime.threads import Crew
from sfumato.texts.catalogue import refusal
from sfumato.tradeoff.exploration import details
from sfumato.tradeoff.exploration.folder import Cache
from sfumato.tradeoff.limit import AXES, Limit, limit
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.question.best_possible import Decided
from sfumato.tradeoff.question.recipients import check_changed, check_published, check_shown, hardly_changed
from sfumato.tradeoff.study.candidate import Candidate, files_of
from sfumato.tradeoff.study.draft import as_study
from sfumato.tradeoff.study.study import Study, of_table

if TYPE_CHECKING:
    from sfumato.tradeoff.search.families import Proposals
    from sfumato.tradeoff.search.tuner import Aim

Progress = Callable[[int, int, str], None]
"""Called after each candidate with the numbers of done and all candidates, and the last one's name."""

NO_MEMORY = "there was not enough memory; use fewer threads (--workers 1) or a larger machine"
"""The reason of a failed point that is tried again next time, because it does not concern the candidate."""


def explore(
    study: Study | str | Any,
    cache: Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    table: Any = None,
    cancel: Cancel | None = None,
) -> Map:
    """Make and measure all candidates of a study, or of a reference to one: path, bundled name, draft or frame.

    A frame is drafted (`draft`), so the roles of its columns are guesses; `map.study.table` contains them.

    `cache` is a file to which every measured point is added at once. A point in it with the same table, configuration
    and version is not measured again. Lines with a wrong check sum are ignored, and a warning gives their number. The
    result does not depend on the number of workers. `table` is the data of the study (a table or baskets), if open.

    `cancel` can be set from another thread. Then `StoppedError` is raised within a second; its `map` has the measured
    points, and so has the cache, from which the same call continues. The current candidates stop at their next
    `check_cancelled` and are discarded.
    """
    exploration = Exploration(as_study(study), cache, workers, table, cancel)
    return exploration.explored(progress or (lambda finished, total, last: None))


class Exploration:
    """A running study: its data, the points measured before, and the means to measure more."""

    def __init__(
        self,
        study: Study,
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
        """Measure all candidates that are not in the cache, and return the map."""
        done = self.known_of(self.candidates)
        report(len(done), len(self.candidates), "")
        with self.mapped_when_stopped(lambda: [done[one] for one in self.candidates if one in done]):
            for candidate, point in self.measured(one for one in self.candidates if one not in done):
                done[candidate] = point
                report(len(done), len(self.candidates), str(candidate))
            return self.map([done[candidate] for candidate in self.candidates])

    def key(self, candidate: Candidate) -> str:
        """Return the cache key of a candidate's point."""
        return sha256(f"{self.work.key} {candidate}".encode()).hexdigest()

    def known_of(self, candidates: Iterable[Candidate]) -> dict[Candidate, Point]:
        """Return the cached points of candidates."""
        points = {candidate: self.cache.point(self.key(candidate), candidate) for candidate in candidates}
        return {candidate: point for candidate, point in points.items() if point is not None}

    @cached_property
    def candidates(self) -> Sequence[Candidate]:
        """All candidates of the study, each once, in order."""
        return self.crew.do(lambda: self.work.candidates)

    @cached_property
    def _measure(self) -> Callable[[Candidate], Point]:
        return self.crew.do(self.work.prepared)

    def measured(self, candidates: Iterable[Candidate], ends: float | None = None) -> Iterator[tuple[Candidate, Point]]:
        """Make and measure candidates and cache each at once; start none after `ends` on the monotonic clock."""
        wanted = list(candidates)
        if not wanted:
            return
        for candidate, point in self.crew.each(self._measure, wanted, ends):
            if _says_something(point):
                self.cache.add_point(self.key(candidate), point)
            yield candidate, point

    def map(self, points: Sequence[Point], study: Study | None = None, more: Mapping[str, Any] | None = None) -> Map:
        """Return the map of some points of the study, or of a larger one, with the limit of the data."""
        floor = self._limit() if any(point.has(AXES) for point in points) else None
        about = {**self.work.about, **(more or {})}
        return Map(study or self.study, tuple(points), about, floor, self.cache.decided.get(self._decided_key, ()))

    def decide(self, decided: Iterable[Decided]) -> None:
        """Cache the frontier of all cuts of a space, for this and later maps of the same data."""
        self.cache.add_decided(self._decided_key, decided)

    @property
    def _decided_key(self) -> str:
        return sha256(f"{self.work.key} decided".encode()).hexdigest()

    @property
    def _limit_key(self) -> str:
        return sha256(f"{self.work.key} limit".encode()).hexdigest()

    def _limit(self) -> Limit | None:
        """Compute the limit of the data, or take it from the cache."""
        key = self._limit_key
        if key not in self.cache.limits:
            self.cache.add_limit(key, self.crew.do(self.work.limit))
        return self.cache.limits[key]

    @contextmanager
    def mapped_when_stopped(self, points: Callable[[], Sequence[Point]]) -> Iterator[None]:
        """Add a map of the points so far to a `StoppedError` raised inside."""
        try:
            yield
        except StoppedError as stopped:
            stopped.map = Map(self.study, tuple(points()), self.work.about, self.cache.limits.get(self._limit_key))
            raise


SOURCES = (*up_to("measures"), "tradeoff/exploration")
"""The packages and folders whose sources determine a point."""


@dataclass(frozen=True, eq=False)
class OpenStudy:
    """A study with open data: its candidates, and the function that measures them."""

    study: Study
    """The study, completed with decisions made when its data were opened."""

    data: Any

    @cached_property
    def digest(self) -> str:
        """A digest of the data, as far as points depend on them."""
        return self.study.digest_of(self.data)

    @cached_property
    def key(self) -> str:
        """A digest of everything a point depends on besides its candidate: data, scales, files, and our sources."""
        parts = [self.digest, self.study.scales, self._files, self._reading]
        return sha256("\n".join(map(repr, [*parts, source_digest(*SOURCES)])).encode()).hexdigest()

    @property
    def _files(self) -> list[tuple[str, str]]:
        """Digest the files that scales and candidates read, so that a changed file is measured again."""
        paths = sorted({Path(name) for name in files_of(self.study.scales, *self.study.candidates)})
        return [(str(path), sha256(path.read_bytes()).hexdigest() if path.is_file() else "") for path in paths]

    @property
    def _reading(self) -> list[Any]:
        """Return how a table is read, and the digest of its attacks."""
        table, attacks = self.data, getattr(self.study.scales, "attacks", None)
        if not isinstance(table, Table):
            return []
        hierarchies = sorted((name, hierarchy.content) for name, hierarchy in table.hierarchies.items())
        return [table.roles, table.missing, table.ranges, hierarchies, *([] if attacks is None else [attacks.digest])]

    @cached_property
    def candidates(self) -> Sequence[Candidate]:
        """All candidates in order, without repetition; equal texts are equal candidates."""
        return self.study.candidates_of(self.data) if self._is_table else self.study.candidates

    @property
    def _is_table(self) -> bool:
        return self.study.parts == ATTRIBUTES

    @property
    def about(self) -> Mapping[str, Any]:
        """Facts of the data: records, digest, notices."""
        data, has = self.data, self.study.parts
        table = data if self._is_table else getattr(data, "table", None)
        baskets = data if has == ITEMS else getattr(data, "baskets", None)
        return {
            **({} if table is None else table_facts(table)),
            **({"column": data.column} if has == BOTH else {}),
            **({"records": data.size, "distinct": data.distinct} if has == ITEMS else {}),
            **({} if baskets is None else items_facts(baskets)),
            **({"weights": dict(data.roles.weights)} if self._is_table and data.roles.weights else {}),
            **({"coarsened": data.coarsened} if self._is_table and data.coarsened else {}),
            "notices": [*data.notices, *(data.household_notices() if self._is_table else [])],
            "digest": self.digest,
            "origin": data.engine.origin if self._is_table else data.origin,
        }

    @cached_property
    def _ready(self) -> Any:
        return self.study.scales.prepare(self.data).ready()

    def prepared(self) -> Callable[[Candidate], Point]:
        """Prepare the scales; return the thread-safe function that makes and measures one candidate.

        An unreadable file is reported before any release is made.
        """
        for candidate in self.candidates:
            if isinstance(candidate.anonymizer, ExternalRelease):
                candidate.anonymizer.check_readable(self.data)
        return partial(measured_point, prepared=self._ready)

    def proposals(self, aim: Aim, workers: int | None) -> Proposals:
        """Return the further candidates that a tuner can propose."""
        from sfumato.tradeoff.search.families import proposals  # it imports studies

        return proposals(self.study, self.data, aim, workers)

    def limit(self) -> Limit | None:
        """Compute the limit on p_loss and u_loss; None if none is proved."""
        return limit(self._ready) if self._is_table else None


def table_facts(table: Table) -> dict[str, Any]:
    """Return the facts of a table for its map."""
    return {
        "records": table.cells.records,
        "cells": table.cells.size,
        "dropped": table.dropped,
        "quasi": [quasi.name for quasi in table.cells.quasi],
        "sensitive": [sensitive.name for sensitive in table.cells.sensitive],
    }


def items_facts(baskets: Baskets) -> dict[str, Any]:
    """Return the facts of items for a map."""
    return {"items": len(baskets.items), "occurrences": baskets.occurrences, "tree": baskets.tree is not None}


def measured_point(candidate: Candidate, prepared: Any) -> Point:
    """Make and measure one release; an infeasible candidate is a point with the reason."""
    measured: Any = _measured_table if candidate.has == ATTRIBUTES else _measured_items
    return attempted(candidate.point(), lambda: measured(candidate, prepared))


def _measured_table(candidate: Candidate, prepared: Prepared) -> dict[str, Any]:
    """Make and measure a release of a table."""
    maker: Any = candidate.anonymizer
    if isinstance(maker, Mechanism):
        maker.check(prepared.table, candidate.requirement, candidate.form, candidate.suppress)
        return over_draws(maker, candidate, prepared)

    def made(table: Table, turn: int = 0) -> Published:
        return candidate.repeatable(turn).make(table)  # type: ignore[no-any-return]

    release = made(prepared.table)
    check_cancelled()
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
    if maker.external:
        values["brought"] = release.details["brought"]
    if isinstance(release, RecordRelease):
        values["refused"] = hardly_changed(release)
        return attacks({**values, "details": details.record_details(release) | details.pictured(measured)})
    values["least"] = release.details.get("least")
    ranges = maker.ranges_of(prepared.table) if isinstance(maker, Anonymizer) else "tight"
    bounds = {} if maker.external else published_risks(release, candidate.requirement, candidate.suppress)
    values |= {
        "published": bounds,
        "details": details.details(release, measured.losses, ranges) | details.pictured(measured),
        "changes": column_changes(release),
    }
    return attacks(values)


def _measured_items(candidate: Candidate, prepared: PreparedBaskets | PreparedMixed) -> dict[str, Any]:
    """Make and measure a release with items."""
    release = candidate.repeatable().make(prepared.data)
    measured = prepared.measure(release)
    return {
        "measures": protected_risk(release, candidate.requirement) | dict(measured.values),
        "by_sensitive": measured.of_columns,
        "published": promised_risk(candidate, prepared.scales),
        "intervals": dict(measured.intervals),
        "details": details.item_details(release, measured, candidate.anonymizer, prepared.studies),
        "changes": details.item_changes(release),
    }


def promised_risk(candidate: Candidate, scales: Any) -> dict[str, float]:
    """Bound the risk if the requirement covers every set of items that the scales assume known; else return nothing."""
    wanted: Any = candidate.requirement
    if candidate.anonymizer.baseline:
        return {}
    if candidate.has == BOTH:
        return {"itemset_risk": 1 / wanted.k} if wanted.m >= scales.known else {}
    covered = isinstance(wanted, CompleteKAnonymity) or (
        isinstance(wanted, KMAnonymity) and scales.constraints is None and wanted.m >= scales.known
    )
    bounds = {"itemset_risk": 1 / wanted.k} if covered else {}
    if isinstance(wanted, PrivacyConstraints):
        bounds = {"protected_risk": 1 / wanted.k}
    if isinstance(wanted, RhoUncertainty) and scales.sensitive:
        named = set(scales.sensitive) <= set(wanted.sensitive)
        bounds |= {"rho": wanted.rho} if named and min(scales.known, MOST_INFERRED_FROM) <= wanted.m else {}
    return bounds


def _says_something(point: Point) -> bool:
    """Return whether a point concerns its candidate: not if memory was short or Ctrl-C interrupted it."""
    return point.reason != NO_MEMORY and not (point.status == "failed" and pressed())


def attempted(point: Point, measurement: Callable[[], Mapping[str, Any]]) -> Point:
    """Complete a point with the measures of its release, or with the reason why it cannot be made."""
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
    """Draw a noisy release several times; return the medians of its measures, and their smallest and largest values.

    The noise has a seed, so that a map is reproducible. None of these draws can be published.
    """
    seeds = _seeds(candidate, prepared.scales)
    releases, measured = [], []
    for seed in seeds:
        check_cancelled()
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
        "details": details.noisy_details(releases[0]) | details.pictured(measured[0]),
    }

    def again(table: Table, turn: int) -> Iterator[Published]:
        drawn = np.random.default_rng([int(candidate.id, 16), turn]).integers(2**63, size=len(seeds)) if turn else seeds
        return (mechanism.draw(table, UnsafeSeededNoise(int(seed))) for seed in drawn)

    return with_attacks(combined, prepared, releases, again)


def _seeds(candidate: Candidate, scales: Any) -> Any:
    """Return the seeds of the draws of a noisy release."""
    return np.random.SeedSequence(int(candidate.id, 16)).generate_state(scales.draws, np.uint64)


def judged(map_: Map, given: Any, workers: int | None = None) -> Map:
    """Run an analysis on every release of a map, and add its measures."""
    study, table, asked = of_table(map_.study), opened_again(map_), read_analysis(given)
    crew = Crew(workers)
    prepared = crew.do(lambda: asked.prepare(table))

    def compared(point: Point) -> Point:
        candidate, releases = point.candidate, list[Any]()
        if isinstance(candidate.anonymizer, Mechanism):
            noise = [UnsafeSeededNoise(int(seed)) for seed in _seeds(candidate, study.scales)]
            releases = [candidate.anonymizer.draw(table, each) for each in noise]
        else:
            releases = [candidate.repeatable().make(table)]
        found = [prepared.compared(release) for release in releases]
        values = {name: [each.get(name, nan) for each, _ in found] for name in found[0][0]}
        several = {name: (min(drawn), max(drawn)) for name, drawn in values.items() if len(found) > 1}
        return replace(
            point,
            measures={**point.measures, **{name: float(np.median(drawn)) for name, drawn in values.items()}},
            intervals={**point.intervals, **several},
            details={**point.details, "analysis": found[0][1]},
        )

    measured = crew.all(lambda point: compared(point) if point.status == "measured" else point, map_.points)
    return replace(map_, study=study.with_analysis(asked), points=tuple(measured))


def with_attacks(
    values: dict[str, Any], prepared: Prepared, releases: Sequence[Published], again: Remake | None
) -> dict[str, Any]:
    """Add the results of attacks to the values of a candidate; `again` makes its release once more."""
    if prepared.attacks is None:
        return values
    outcome = prepared.attacks.attacked(releases, again)
    tables = details.attack_tables(outcome.details, prepared.attacks.made_of)
    tables = [*values["details"].get("tables", []), *tables]
    return values | {
        "measures": {**values["measures"], **outcome.measures},
        "intervals": {**values.get("intervals", {}), **outcome.intervals},
        "details": {**values["details"], "attacks": outcome.details, "tables": tables},
    }


def remade(map_: Map, point: Point) -> Release | NoisyRelease | RecordRelease:
    """Make the release of a point from the table of its map, which must be unchanged."""
    check_published(point)
    return made(point, opened_again(map_))


def opened_again(map_: Map) -> Table:
    """Open the table of a map, which must be unchanged."""
    study = of_table(map_.study)
    table = study.table.open()
    if study.digest_of(table) != map_.about.get("digest"):
        raise refusal("data_changed", table=table)
    return table


def made(point: Point, table: Table) -> Release | NoisyRelease | RecordRelease:
    """Make the release of a point; raise if it shows unique persons."""
    candidate = point.candidate
    if isinstance(candidate.anonymizer, Mechanism):
        return candidate.anonymizer.draw(table)
    release: Release | NoisyRelease | RecordRelease = candidate.make(table)
    if isinstance(release, Release) and not candidate.anonymizer.external:
        check_shown(release, point.id)
    if isinstance(release, RecordRelease) and not candidate.anonymizer.external:
        check_changed(release, f"point {point.id}")
    return release
