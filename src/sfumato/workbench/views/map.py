"""The page of the map: all releases by risk and utility, the publisher's questions, and the recommendation.

The map of a project is read from disk and kept while its files are unchanged. Another page compares two or three
points.
"""

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property, lru_cache
from math import isfinite
from pathlib import Path
from typing import Any

from starlette.responses import Response

from sfumato.config.documents import from_plain
from sfumato.errors import SfumatoError
from sfumato.measures.all_measures import MEASURES
from sfumato.report import point_summary
from sfumato.report.answer_summary import choice_values, reply_values
from sfumato.report.page import chart_content, judged, plain_place, point_content, point_settings
from sfumato.texts.catalogue import t
from sfumato.tradeoff.exploration.details import SAMPLE
from sfumato.tradeoff.exploration.folder import kept_points, map_files, read_map, read_point
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.question.answer import NothingFitsError
from sfumato.tradeoff.question.question import rank
from sfumato.tradeoff.question.recipients import ABOUT_HIDING, RECIPIENTS, shows_exact, unpublishable_reason, warnings
from sfumato.workbench.endpoints import Call, endpoint
from sfumato.workbench.errors import FieldError, MissingError
from sfumato.workbench.opened_data import all_in_forms
from sfumato.workbench.projects import MAPPED, Project
from sfumato.workbench.views.page import page

MAP = "/api/projects/{project}/map"
MOST = 3
"""The maximum number of compared releases."""

CACHE = "cache.jsonl"
MOST_KEPT = 8
"""Maps in memory; each can be read again."""

CHANGED_SECONDS = 2.0
"""A study that is newer than its map by more than this was changed."""


@dataclass(frozen=True)
class Explored:
    """A map, with the details of points from the cache."""

    map_: Map
    is_changed: bool = False
    """Whether the study was changed after the map was made."""

    @cached_property
    def plain(self) -> tuple[str, str] | None:
        """The two headlines of the initial axes; None if its points do not have two."""
        return point_summary.plain_axes(self.map_)

    @cached_property
    def chart(self) -> Mapping[str, Any]:
        """The values of the chart, except for its points."""
        return chart_content(self.map_, False, self.plain)

    @cached_property
    def on_map(self) -> Mapping[str, Any]:
        """The map as values: the chart, and the properties of each release that bounds need."""
        measures = [each | {"hiding": _is_about_hiding(self.map_, each["name"])} for each in self.chart["measures"]]
        points = [_on_map(self, point) for point in self.measured]
        return {**self.chart, "measures": measures, "points": points, "knee": _knee(self.map_)}

    @property
    def measured(self) -> list[Point]:
        """The measured points."""
        return [point for point in self.map_.points if point.status == "measured"]

    def point(self, id: str) -> Point:
        """Return a measured point by its id."""
        found = next((point for point in self.measured if point.id == id), None)
        if found is None:
            raise MissingError(t("point.none", point=id))
        return found

    def point_fields(self, point: Point) -> dict[str, Any]:
        """Return all values of a point, except for its records, of which only the number is included."""
        hidden = sample(point)
        tables = [each for each in _tables(point) if each not in hidden["tables"]]
        worst = () if hidden["worst"] else point.details.get("worst", ())
        shown = dict(point.details) | {"records": (), "tables": tables, "worst": worst}
        return point_content(self.map_, point, self.plain is not None) | {
            "details": {name: value for name, value in shown.items() if value},
            "records": sample_size(point),
            "command": point_summary.anonymize_command(self.map_.study, point),
        }

    def drawn(self, *points: Point) -> dict[str, Any]:
        """Return the values for drawing some releases without the map."""
        kept = {name: self.chart[name] for name in ("public", "axes", "measures")}
        return kept | {"points": [self.point_fields(point) for point in points]}


def sample(point: Point) -> dict[str, Any]:
    """Return the records in the details of a release: before and after, and groups of a single person."""
    worst = list(point.details.get("worst", ()))
    return {
        "records": list(point.details.get("records", ())),
        "tables": [each for each in _tables(point) if each["title"] == SAMPLE],
        "worst": worst if any(group["size"] <= 1 for group in worst) else [],
    }


def sample_size(point: Point) -> int:
    """Count the records that are shown of a release on request."""
    shown = sample(point)
    return len(shown["records"]) + sum(len(each["rows"]) for each in shown["tables"]) + len(shown["worst"])


def _tables(point: Point) -> Sequence[Mapping[str, Any]]:
    tables: Sequence[Mapping[str, Any]] = point.details.get("tables", ())
    return tables


def explored(project: Project) -> Explored:
    """Read the map of a project; raise if there is none yet."""
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
    points = [(point, kept.get((point.id, _key(point.measures)), {})) for point in map_.points]
    whole = tuple(replace(point, details=entry.get("details", {})) for point, entry in points)  # not in points.json
    return Explored(replace(map_, points=whole), is_changed)


def _is_changed(project: Project, times: tuple[int, ...]) -> bool:
    """Return whether the study's text has changed since its map was made.

    A map of our own run has a note about it; for a map of the command line the files' times decide.
    """
    measured, studied, _ = times
    mapped = project.notes().get(MAPPED, {})
    if mapped.get("at") == measured:
        return bool(mapped["version"] != project.version)
    return (studied - measured) / 1e9 > CHANGED_SECONDS


def live(project: Project, told: Collection[str]) -> Explored:
    """Read the map of a project together with the points that a running run has reported, by id, from the cache.

    A map from before a change of the study does not apply to the run, so only the new points are shown.
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


def _on_map(read: Explored, point: Point) -> dict[str, Any]:
    """Return the values of a release next to the map, and whether it can answer a question."""
    place = plain_place(read.map_, point) if read.plain else {}
    return {
        **point_settings(point),
        **judged(read.map_, point),
        "headlines": [headline.values() for headline in point_summary.headlines(read.map_, point)],
        "done": point_summary.done_sentence(read.map_, point),
        "warnings": all_in_forms(warnings(point)),
        "refused": unpublishable_reason(point),
        "exact": shows_exact(point),
        "rank": [int(part) for part in rank(point)[:3]],
        **place,
    }


def _is_about_hiding(map_: Map, name: str) -> bool:
    """Return whether a measure, or a headline, is about how well quasi-identifiers are hidden."""
    own = {"found": True, "guessed": False, "kept": point_summary.useful_measure(map_) in ABOUT_HIDING}
    return own.get(name, name in ABOUT_HIDING)


def _knee(map_: Map) -> str | None:
    """Return the knee of the frontier, if it has one."""
    try:
        return map_.choose(by="knee").landmarks["knee"]
    except SfumatoError:
        return None


# -- pages -----------------------------------------------------------------------------------------------------------


def now(call: Call) -> Explored:
    """Read the map of a project, with the points that a running run has measured so far."""
    return live(call.project, [each["id"] for each in call.house.runs.point_fields(call.project)])


@endpoint("GET", MAP)
def map_values(call: Call) -> dict[str, Any]:
    """Return the map of a project: measures, releases, frontier and limit."""
    project, read = call.project, now(call)
    return {**read.on_map, "project": project.name, "running": call.house.runs.progress(project).is_under_way}


def examples(map_: Map) -> list[str]:
    """Return some example questions for this map, first about the study's own axes."""
    known = [name for name in MEASURES if any(point.has([name]) for point in map_.points)]
    axes = [name for name in map_.study.axes[:2] if name in known]
    asked = []
    if len(axes) == 2:
        within = {name: f"{name} {_middle(map_, name):g}" for name in axes}
        asked += [f"{axes[1]} within {within[axes[0]]}", f"{axes[0]} within {within[axes[1]]}"]
    if {"k", "loss"} <= set(known):
        asked.insert(2, "k within loss 0.25")
    return list(dict.fromkeys(asked))


def _middle(map_: Map, name: str) -> float:
    """Return the median of a measure over the releases, with few digits."""
    known = [point for point in map_.points if point.has([name])]
    releases = [point for point in known if not point.is_baseline] or known
    values = sorted(value for point in releases if isfinite(value := point.measures[name]))
    return float(f"{values[len(values) // 2]:.2g}") if values else 0.0


@endpoint("GET", f"{MAP}/ask", query="question")
def ask(call: Call) -> dict[str, Any]:
    """Answer a question such as “k within loss 0.25” over the map."""
    question, read = call.query.get("question", ""), now(call)
    try:
        reply = read.map_.ask(question)
    except SfumatoError as error:
        raise FieldError("question", _shorter(str(error), read.map_)) from None
    return all_in_forms(reply_values(reply, read.map_, call.project.folder))


def _shorter(sentence: str, map_: Map) -> str:
    """Shorten the list of measures in a sentence: the page has them in its choices of axes."""
    quoted = re.search(r"'([^']*)'", sentence)
    near = get_close_matches(quoted[1], MEASURES, 3) if quoted else []
    few = near or [name for name in dict.fromkeys([*map_.study.axes, "k", "loss"]) if name in MEASURES]
    return sentence.replace(", ".join(MEASURES), t("map.few", measures=", ".join(few)))


@endpoint("GET", f"{MAP}/choose", query="for")
def choose(call: Call) -> dict[str, Any]:
    """Recommend a release: the knee, or the best for a recipient; if none fits, the necessary relaxations."""
    recipient = call.query.get("for") or None
    if recipient is not None and recipient not in RECIPIENTS:
        raise FieldError("for", t("map.bad_recipient", known=", ".join(RECIPIENTS), recipient=recipient))
    project = call.project
    words = ["sfumato", "choose", str(project.folder), *(["--for", recipient] if recipient else [])]
    return all_in_forms(recommended(now(call).map_, recipient)) | {"recipient": recipient, "command": shlex.join(words)}


def recommended(map_: Map, recipient: str | None) -> dict[str, Any]:
    """Return the recommended release with reasons, without opening the table; or the reason why there is none."""
    try:
        choice = map_.choose(recipient=recipient)
    except NothingFitsError as nothing:
        return nothing.to_dict()
    except SfumatoError as error:
        return {"point": None, "why": [str(error)], "relax": [], "nearest": None, "impossible": []}
    return choice_values(choice, map_) | {"words": point_summary.settings(choice.point)}


@endpoint("GET", "/projects/{project}/map")
def map_page(call: Call) -> Response:
    """Show the map; before the first run, a link to it."""
    project = call.project
    try:
        read = now(call)
    except MissingError:
        return page("map-empty.html", call, "map", data={"project": project.name})
    progress = call.house.runs.progress(project)
    return page(
        "map.html",
        call,
        "map",
        changed=read.is_changed and not progress.is_under_way,
        settings=point_summary.settings,
        frontier=[(point, point_summary.headlines(read.map_, point)) for point in read.map_.frontier()],
        recipients=RECIPIENTS.values(),
        examples=examples(read.map_),
        data={**read.on_map, "project": project.name, "running": progress.is_under_way},
    )


def chosen(call: Call, read: Explored) -> list[Point]:
    """Return the points to compare, each once, in the given order."""
    ids = list(dict.fromkeys(id.strip() for id in call.query.get("points", "").split(",") if id.strip()))
    if len(ids) > MOST:
        raise FieldError("points", t("compare.too_many", most=MOST, given=len(ids)))
    return [read.point(id) for id in ids]


@endpoint("GET", "/api/projects/{project}/compare", query="points")
def compared(call: Call) -> dict[str, Any]:
    """Return the compared values of two or three releases."""
    read = explored(call.project)
    points = chosen(call, read)
    if len(points) < 2:
        raise FieldError("points", t("compare.too_few"))
    return read.drawn(*points)


@endpoint("GET", "/projects/{project}/compare", query="points")
def compare_page(call: Call) -> Response:
    """Show two or three points side by side, or a choice of points."""
    read = explored(call.project)
    points = chosen(call, read)
    data = read.drawn(*points) | {"project": call.project.name}
    return page(
        "compare.html",
        call,
        "map",
        chosen=[point.id for point in points],
        offered=[(point.id, point_summary.settings(point)) for point in read.measured],
        told=[
            (point.id, point_summary.settings(point), each["headlines"])
            for point, each in zip(points, data["points"], strict=True)
        ],
        most=MOST,
        data=data,
    )
