"""The first page: the projects of the folder."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from sfumato.workbench.endpoints import Call, Endpoint, a_list, an_object, flag, text
from sfumato.workbench.views.page import page


def projects(call: Call) -> dict[str, Any]:
    """List the projects, each with how far it is."""
    return {"projects": [{"name": each.name, "explored": each.is_explored} for each in call.desk.projects()]}


def home(call: Call) -> Response:
    """Show the projects, and the way to a new one."""
    return page("home.html", call, **projects(call))


PROJECTS = an_object(projects=a_list(an_object(name=text, explored=flag)))
ENDPOINTS = (
    Endpoint("GET", "/", "Shows the projects of the folder.", home),
    Endpoint("GET", "/api/projects", "Lists the projects, each with how far it is.", projects, gives=PROJECTS),
)
