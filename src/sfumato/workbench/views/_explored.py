"""The map of a project as it stands on disk: what all pages after a run read, kept while its files stay the same."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from sfumato.config.documents import from_plain
from sfumato.errors import SfumatoError
from sfumato.report.page import chart_content, judged, plain_place, point_content, point_settings
from sfumato.report.point_summary import anonymize_command, done_sentence, headlines, plain_axes, useful_measure
from sfumato.texts.catalogue import t
from sfumato.tradeoff.exploration.details import SAMPLE
from sfumato.tradeoff.exploration.folder import kept_points, map_files, read_map, read_point
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.question.question import rank
from sfumato.tradeoff.question.recipients import ABOUT_HIDING, refusal, shows_exact, warnings
from sfumato.workbench.errors import MissingError
from sfumato.workbench.opened_data import all_in_forms
from sfumato.workbench.projects import MAPPED, Project

CACHE = "cache.jsonl"
MOST_KEPT = 8
"""Maps that are kept in memory; each can be read again."""

CHANGED_SECONDS = 2.0
"""A study that was written so much later than its map was changed since."""


@dataclass(frozen=True)
class Explored:
    """A map, with what the cache knows besides of its points."""

    map_: Map
    is_changed: bool = False
    """Whether the study was changed since the map was made."""

    @cached_property
    def plain(self) -> tuple[str, str] | None:
        """The headlines that it opens on; None where its points do not lie on two of them."""
        return plain_axes(self.map_)

    @cached_property
    def chart(self) -> Mapping[str, Any]:
        """What the map is drawn from, but for its points."""
        return chart_content(self.map_, False, self.plain)

    @cached_property
    def on_map(self) -> Mapping[str, Any]:
        """The map as values: what is drawn, and what the rule for bounds has to know of every release."""
        measures = [each | {"hiding": _is_about_hiding(self.map_, each["name"])} for each in self.chart["measures"]]
        points = [_on_map(self, point) for point in self.measured]
        return {**self.chart, "measures": measures, "points": points, "knee": _knee(self.map_)}

    @property
    def measured(self) -> list[Point]:
        """The points that were made and measured."""
        return [point for point in self.map_.points if point.status == "measured"]

    def point(self, id: str) -> Point:
        """Return a point that was measured, by its id."""
        for point in self.measured:
            if point.id == id:
                return point
        raise MissingError(t("point.none", point=id))

    def told(self, point: Point) -> dict[str, Any]:
        """Collect everything that is told of a point, but for its records, of which it is said how many there are."""
        hidden = sample(point)
        tables = [each for each in _tables(point) if each not in hidden["tables"]]
        worst = () if hidden["worst"] else point.details.get("worst", ())
        shown = dict(point.details) | {"records": (), "tables": tables, "worst": worst}
        return point_content(self.map_, point, self.plain is not None) | {
            "details": {name: value for name, value in shown.items() if value},
            "records": sample_size(point),
            "command": anonymize_command(self.map_.study, point),
        }

    def drawn(self, *points: Point) -> dict[str, Any]:
        """Collect what the scripts read that draw some releases alone, without the map."""
        kept = {name: self.chart[name] for name in ("public", "axes", "measures")}
        return kept | {"points": [self.told(point) for point in points]}


def sample(point: Point) -> dict[str, Any]:
    """Return what the details of a release show of records: before and after, and groups of a single person."""
    worst = list(point.details.get("worst", ()))
    return {
        "records": list(point.details.get("records", ())),
        "tables": [each for each in _tables(point) if each["title"] == SAMPLE],
        "worst": worst if any(group["size"] <= 1 for group in worst) else [],
    }


def sample_size(point: Point) -> int:
    """Count the records that are shown of a release when somebody asks for them."""
    shown = sample(point)
    return len(shown["records"]) + sum(len(each["rows"]) for each in shown["tables"]) + len(shown["worst"])


def _tables(point: Point) -> Sequence[Mapping[str, Any]]:
    tables: Sequence[Mapping[str, Any]] = point.details.get("tables", ())
    return tables


def explored(project: Project) -> Explored:
    """Read the map of a project; raises where there is none yet."""
    if not project.is_explored:
        raise MissingError(t("map.none", project=project.name))
    files = [*map_files(project.folder), project.folder / CACHE]
    times = tuple(file.stat().st_mtime_ns if file.is_file() else 0 for file in files)
    read = _read(project.folder, times, _is_changed(project, times))
    project.desk.trust.check([point.candidate for point in read.map_.points])  # its file names makers, too
    return read


@lru_cache(maxsize=MOST_KEPT)
def _read(folder: Path, times: tuple[int, ...], is_changed: bool) -> Explored:
    map_ = read_map(folder)
    kept = {(entry["id"], _key(entry["measures"])): entry for entry in kept_points(folder / CACHE)}
    points = tuple(_whole(point, kept.get((point.id, _key(point.measures)), {})) for point in map_.points)
    return Explored(replace(map_, points=points), is_changed)


def _is_changed(project: Project, times: tuple[int, ...]) -> bool:
    """Say whether the study has another text than when its map was made.

    Of a map that a run of ours made this is known; of one that the command line made, the files' times tell.
    """
    measured, studied, _ = times
    mapped = project.notes().get(MAPPED, {})
    if mapped.get("at") == measured:
        return bool(mapped["version"] != project.version)
    return (studied - measured) / 1e9 > CHANGED_SECONDS


def live(project: Project, told: Collection[str]) -> Explored:
    """Read the map of a project together with what a run under way has told of, by id, and added to the cache.

    A map that was made before the study changed says nothing of what is being run, so only the new points are shown.
    """
    if not told:
        return explored(project)
    before = explored(project) if project.is_explored else None
    study: Any = project.study
    new = {entry["id"]: entry for entry in kept_points(project.folder / CACHE) if entry["id"] in told}
    points = [read_point(entry, study.candidate_of(entry)) for entry in new.values()]
    if before is None or before.is_changed:
        declared = study.data.table
        about = {} if declared is None else {"quasi": list(declared.quasi), "sensitive": list(declared.sensitive)}
        return Explored(Map(study, tuple(points), about))
    kept = [point for point in before.map_.points if point.id not in new]
    return Explored(replace(before.map_, study=study, points=(*kept, *points)))


def _key(measures: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(from_plain(dict(measures)).items()))


def _whole(point: Point, entry: Mapping[str, Any]) -> Point:
    """Give a point what `points.json` does not keep of it: groups, columns and some records."""
    return replace(point, details=entry.get("details", {}))


def _on_map(read: Explored, point: Point) -> dict[str, Any]:
    """Say of a release what is shown of it beside the map, and whether it can be the answer to a question."""
    place = plain_place(read.map_, point) if read.plain else {}
    return {
        **point_settings(point),
        **judged(read.map_, point),
        "headlines": [headline.values() for headline in headlines(read.map_, point)],
        "done": done_sentence(read.map_, point),
        "warnings": all_in_forms(warnings(point)),
        "refused": refusal(point),
        "exact": shows_exact(point),
        "rank": [int(part) for part in rank(point)[:3]],
        **place,
    }


def _is_about_hiding(map_: Map, name: str) -> bool:
    """Say whether a measure, or a headline, is about how well quasi-identifiers are hidden."""
    own = {"found": True, "guessed": False, "kept": useful_measure(map_) in ABOUT_HIDING}
    return own.get(name, name in ABOUT_HIDING)


def _knee(map_: Map) -> str | None:
    """Name the knee of the frontier, where it has one."""
    try:
        return map_.choose().landmarks["knee"]
    except SfumatoError:
        return None
