"""The page of the map: all releases by risk and utility, the publisher's questions, and what is recommended.

The page of two or three points side by side.
"""

from __future__ import annotations

import re
import shlex
from difflib import get_close_matches
from math import isfinite
from typing import Any

from starlette.responses import Response

from sfumato.errors import SfumatoError
from sfumato.measures.all_measures import MEASURES
from sfumato.report.answer_summary import choice_values, reply_values
from sfumato.report.point_summary import headlines, settings
from sfumato.texts.catalogue import t
from sfumato.tradeoff.map import Map, Point
from sfumato.tradeoff.question.answer import NothingFitsError
from sfumato.tradeoff.question.recipients import RECIPIENTS
from sfumato.workbench.endpoints import Call, Endpoint
from sfumato.workbench.errors import FieldError, MissingError
from sfumato.workbench.opened_data import all_in_forms
from sfumato.workbench.views._explored import Explored, explored, live
from sfumato.workbench.views.page import page


def now(call: Call) -> Explored:
    """Read the map of a project, with what a run that is under way has measured so far."""
    return live(call.project, [each["id"] for each in call.runs.told(call.project)])


def map_values(call: Call) -> dict[str, Any]:
    """Collect what the map is drawn from."""
    project, read = call.project, now(call)
    return {**read.on_map, "project": project.name, "running": call.runs.progress(project).is_under_way}


def examples(map_: Map) -> list[str]:
    """Ask some questions that this map can answer, of the study's own axes first."""
    known = [name for name in MEASURES if any(point.has([name]) for point in map_.points)]
    axes = [name for name in map_.study.axes[:2] if name in known]
    asked = []
    if len(axes) == 2:
        within = {name: f"{name} {_middle(map_, name):g}" for name in axes}
        asked += [f"{axes[1]} within {within[axes[0]]}", f"{axes[0]} within {within[axes[1]]}"]
        asked.append(f"{axes[1]} within {within[axes[0]]} by maker")
    if {"k", "loss"} <= set(known):
        asked.insert(2, "k within loss 0.25")
    return list(dict.fromkeys(asked))


def _middle(map_: Map, name: str) -> float:
    """Return what the release in the middle has of a measure, with few digits."""
    known = [point for point in map_.points if point.has([name])]
    releases = [point for point in known if not point.is_baseline] or known
    values = sorted(value for point in releases if isfinite(value := point.measures[name]))
    return float(f"{values[len(values) // 2]:.2g}") if values else 0.0


def ask(call: Call) -> dict[str, Any]:
    """Answer a question over the map, in words."""
    question, read = call.query.get("question", ""), now(call)
    try:
        reply = read.map_.ask(question)
    except SfumatoError as error:
        raise FieldError("question", _shorter(str(error), read.map_)) from None
    return all_in_forms(reply_values(reply, read.map_, call.project.folder))


def _shorter(sentence: str, map_: Map) -> str:
    """Name a few measures where a sentence lists all there are: the page has them in its choices of axes."""
    quoted = re.search(r"'([^']*)'", sentence)
    near = get_close_matches(quoted[1], MEASURES, 3) if quoted else []
    few = near or [name for name in dict.fromkeys([*map_.study.axes, "k", "loss"]) if name in MEASURES]
    return sentence.replace(", ".join(MEASURES), t("map.few", measures=", ".join(few)))


def choose(call: Call) -> dict[str, Any]:
    """Recommend a release: the knee, or the best for a recipient; where none fits, say what to relax."""
    recipient = call.query.get("for") or None
    if recipient is not None and recipient not in RECIPIENTS:
        raise FieldError("for", t("map.bad_recipient", known=", ".join(RECIPIENTS), recipient=recipient))
    project = call.project
    words = ["sfumato", "choose", str(project.folder), *(["--for", recipient] if recipient else [])]
    return all_in_forms(recommended(now(call).map_, recipient)) | {"recipient": recipient, "command": shlex.join(words)}


def recommended(map_: Map, recipient: str | None) -> dict[str, Any]:
    """Say which release is recommended and why, without opening the table; or why none is."""
    try:
        choice = map_.choose(recipient=recipient)
    except NothingFitsError as nothing:
        return nothing.to_dict()
    except SfumatoError as error:
        return {"point": None, "why": [str(error)], "relax": [], "nearest": None, "impossible": []}
    return choice_values(choice, map_) | {"words": settings(choice.point)}


def map_page(call: Call) -> Response:
    """Show the map; where there is none yet, the way to it."""
    project = call.project
    try:
        read = now(call)
    except MissingError:
        return page("map-empty.html", call, "map", data={"project": project.name})
    progress = call.runs.progress(project)
    return page(
        "map.html",
        call,
        "map",
        changed=read.is_changed and not progress.is_under_way,
        settings=settings,
        frontier=[(point, headlines(read.map_, point)) for point in read.map_.frontier()],
        recipients=RECIPIENTS.values(),
        examples=examples(read.map_),
        data={**read.on_map, "project": project.name, "running": progress.is_under_way},
    )


MAP = "/api/projects/{project}/map"

MOST = 3


def chosen(call: Call, read: Explored) -> list[Point]:
    """Return the points that are to be compared, each once, in the order they were named."""
    ids = list(dict.fromkeys(id.strip() for id in call.query.get("points", "").split(",") if id.strip()))
    if len(ids) > MOST:
        raise FieldError("points", t("compare.too_many", most=MOST, given=len(ids)))
    return [read.point(id) for id in ids]


def compared(call: Call) -> dict[str, Any]:
    """Tell what two or three releases are compared by."""
    read = explored(call.project)
    points = chosen(call, read)
    if len(points) < 2:
        raise FieldError("points", t("compare.too_few"))
    return read.drawn(*points)


def compare_page(call: Call) -> Response:
    """Show two or three points side by side; before that, let them be chosen."""
    read = explored(call.project)
    points = chosen(call, read)
    data = read.drawn(*points) | {"project": call.project.name}
    return page(
        "compare.html",
        call,
        "map",
        chosen=[point.id for point in points],
        offered=[(point.id, settings(point)) for point in read.measured],
        told=[
            (point.id, settings(point), each["headlines"]) for point, each in zip(points, data["points"], strict=True)
        ],
        most=MOST,
        data=data,
    )


ENDPOINTS = (
    Endpoint("GET", "/projects/{project}/map", "Shows the map of a project.", map_page),
    Endpoint("GET", MAP, "Tells the map of a project: measures, releases, frontier and limit.", map_values),
    Endpoint("GET", f"{MAP}/ask", "Answers a question such as “k within loss 0.25”.", ask, query=("question",)),
    Endpoint("GET", f"{MAP}/choose", "Recommends a release, for a recipient or for anybody.", choose, query=("for",)),
    Endpoint(
        "GET",
        "/projects/{project}/compare",
        "Shows two or three points side by side.",
        compare_page,
        query=("points",),
    ),
    Endpoint(
        "GET",
        "/api/projects/{project}/compare",
        "Tells what two or three releases are compared by.",
        compared,
        query=("points",),
    ),
)
