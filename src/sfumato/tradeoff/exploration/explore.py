"""Exploring a study: every candidate is made and measured, by threads; what is done is kept and never done twice.

Making the release of a point again: from the table that was measured, and only if it may be published.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato._packages import up_to
from sfumato.anonymizers.anonymizer import Anonymizer
from sfumato.anonymizers.dp.mechanism import Mechanism
from sfumato.anonymizers.dp.noise import UnsafeSeededNoise
from sfumato.anonymizers.external.external import Brought
from sfumato.data.declaration import ATTRIBUTES, BOTH, ITEMS
from sfumato.data.items import Baskets
from sfumato.data.reading import Table
from sfumato.errors import BadInputError, InfeasibleError, SfumatoError, StoppedError, lacks_memory
from sfumato.measures.all_measures import published_risks
from sfumato.measures.attacks.attacks import Remake
from sfumato.measures.items.linking import MOST_INFERRED_FROM
from sfumato.measures.scales import Prepared, PreparedBaskets, PreparedMixed, protected_risk
from sfumato.release.changes import column_changes
from sfumato.release.content import NoisyRelease
from sfumato.release.records import RecordRelease
from sfumato.release.release import Published, Release
from sfumato.requirements.items import CompleteKAnonymity, KMAnonymity, PrivacyConstraints, RhoUncertainty
from sfumato.runtime.cancellation import Cancel, look, pressed
from sfumato.runtime.kernels import source_digest
from sfumato.runtime.threads import Crew
from sfumato.texts.catalogue import t
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
"""Told after every candidate: how many are done, of how many, and which was the last."""

NO_MEMORY = "there was not enough memory for it; work with fewer threads (--workers 1) or take a larger machine"
"""Why a point failed that is tried again next time, since it says nothing of the candidate."""


def explore(
    study: Study | str | Any,
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
    exploration = Exploration(as_study(study), cache, workers, table, cancel)
    return exploration.explored(progress or (lambda finished, total, last: None))


class Exploration:
    """A study at work: its data, what was measured before, and the means to measure more."""

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
        """Measure all candidates that are not known yet, and return the map."""
        done = self.known_of(self.candidates)
        report(len(done), len(self.candidates), "")
        with self.mapped_when_stopped(lambda: [done[one] for one in self.candidates if one in done]):
            for candidate, point in self.measured(one for one in self.candidates if one not in done):
                done[candidate] = point
                report(len(done), len(self.candidates), str(candidate))
            return self.map([done[candidate] for candidate in self.candidates])

    def key(self, candidate: Candidate) -> str:
        """Return the name under which a candidate's point is kept."""
        return sha256(f"{self.work.key} {candidate}".encode()).hexdigest()

    def known_of(self, candidates: Iterable[Candidate]) -> dict[Candidate, Point]:
        """Return the points that need not be worked out again."""
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
        """Make and measure candidates, each kept at once; none is begun after `ends` on the monotonic clock."""
        wanted = list(candidates)
        if not wanted:
            return
        for candidate, point in self.crew.each(self._measure, wanted, ends):
            if _says_something(point):
                self.cache.add_point(self.key(candidate), point)
            yield candidate, point

    def map(self, points: Sequence[Point], study: Study | None = None, more: Mapping[str, Any] | None = None) -> Map:
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


SOURCES = (*up_to("measures"), "tradeoff/exploration")
"""The packages and folders on whose sources a point depends."""


@dataclass(frozen=True, eq=False)
class OpenStudy:
    """A study with its data at hand: its candidates, and how each becomes a point."""

    study: Study
    """The study, with what opening its data has decided."""

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
        """Digest the files that scales and candidates read, so that a changed one is measured anew."""
        paths = sorted({Path(name) for name in files_of(self.study.scales, *self.study.candidates)})
        return [(str(path), sha256(path.read_bytes()).hexdigest() if path.is_file() else "") for path in paths]

    @property
    def _reading(self) -> list[Any]:
        """Say how a table is read, and what its attacks compare with."""
        table, attacks = self.data, getattr(self.study.scales, "attacks", None)
        if not isinstance(table, Table):
            return []
        hierarchies = sorted((name, hierarchy.content) for name, hierarchy in table.hierarchies.items())
        return [table.roles, table.missing, table.ranges, hierarchies, *([] if attacks is None else [attacks.digest])]

    @cached_property
    def candidates(self) -> Sequence[Candidate]:
        """All candidates, each once, in order. Their texts tell them apart."""
        return self.study.candidates_of(self.data) if self._is_table else self.study.candidates

    @property
    def _is_table(self) -> bool:
        return self.study.parts == ATTRIBUTES

    @property
    def about(self) -> Mapping[str, Any]:
        """What is said of the data themselves: records, digest, notices."""
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
        """Make the scales ready; return what makes and measures one candidate, by many threads at once.

        A file that was named and cannot be read is said before anything is made.
        """
        for candidate in self.candidates:
            if isinstance(candidate.anonymizer, Brought):
                candidate.anonymizer.check_readable(self.data)
        return partial(measured_point, prepared=self._ready)

    def proposals(self, aim: Aim, workers: int | None) -> Proposals:
        """Say what a tuner can try beside the candidates."""
        from sfumato.tradeoff.search.families import proposals  # they are about studies: not before them

        return proposals(self.study, self.data, aim, workers)

    def limit(self) -> Limit | None:
        """Work out the line below which no truthful release can lie on p_loss and u_loss; None where none is proved."""
        return limit(self._ready) if self._is_table else None


def table_facts(table: Table) -> dict[str, Any]:
    """Say of a table what stands beside its map."""
    return {
        "records": table.cells.records,
        "cells": table.cells.size,
        "dropped": table.dropped,
        "quasi": [quasi.name for quasi in table.cells.quasi],
        "sensitive": [sensitive.name for sensitive in table.cells.sensitive],
    }


def items_facts(baskets: Baskets) -> dict[str, Any]:
    """Say of items what stands beside a map."""
    return {"items": len(baskets.items), "occurrences": baskets.occurrences, "tree": baskets.tree is not None}


def measured_point(candidate: Candidate, prepared: Any) -> Point:
    """Make one release and measure it; a candidate that cannot be made is a point that says why."""
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
        return attacks({**values, "details": details.record_details(release) | details.pictured(measured)})
    values["least"] = release.details.get("least")
    ranges = maker.ranges_of(prepared.table) if isinstance(maker, Anonymizer) else "tight"
    bounds = {} if maker.foreign else published_risks(release, candidate.requirement, candidate.suppress)
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
    """Bound the risk by what is promised of every set of items that the scales take for known; else say nothing."""
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
        "details": details.noisy_details(releases[0]) | details.pictured(measured[0]),
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
    tables = details.attack_tables(outcome.details, prepared.attacks.options.made_of)
    tables = [*values["details"].get("tables", []), *tables]
    return values | {
        "measures": {**values["measures"], **outcome.measures},
        "intervals": {**values.get("intervals", {}), **outcome.intervals},
        "details": {**values["details"], "attacks": outcome.details, "tables": tables},
    }


def remade(map_: Map, point: Point) -> Release | NoisyRelease | RecordRelease:
    """Open the table of a map, which must be the one that was measured, and make the release of a point."""
    check_published(point)
    return made(point, opened_again(map_))


def opened_again(map_: Map) -> Table:
    """Open the table of a map, which must be the one that was measured."""
    study = of_table(map_.study)
    table = study.table.open()
    if study.digest_of(table) != map_.about.get("digest"):
        raise BadInputError(t("refusal.data_changed", table=table))
    return table


def made(point: Point, table: Table) -> Release | NoisyRelease | RecordRelease:
    """Make a release by the settings of a point; refuse it where it shows somebody alone."""
    candidate = point.candidate
    if isinstance(candidate.anonymizer, Mechanism):
        return candidate.anonymizer.draw(table)
    release: Release | NoisyRelease | RecordRelease = candidate.make(table)
    if isinstance(release, Release) and not candidate.anonymizer.foreign:
        check_shown(release, point.id)
    if isinstance(release, RecordRelease) and not candidate.anonymizer.foreign:
        check_changed(release, f"point {point.id}")
    return release
