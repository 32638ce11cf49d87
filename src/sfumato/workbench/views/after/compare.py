"""The page of two or three points side by side."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from sfumato.texts.catalogue import t
from sfumato.tradeoff import Point
from sfumato.words.points import settings
from sfumato.workbench.endpoints import Call, Endpoint
from sfumato.workbench.errors import FieldError
from sfumato.workbench.views.after.explored import Explored, explored
from sfumato.workbench.views.page import page

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
