"""The first page: the projects of the folder."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from sfumato.errors import SfumatoError
from sfumato.workbench.data.sentences import in_forms
from sfumato.workbench.desk import Project
from sfumato.workbench.endpoints import Call, Endpoint, a_list, an_object, flag, text
from sfumato.workbench.runs import STATES
from sfumato.workbench.views.page import page


def projects(call: Call) -> dict[str, Any]:
    """List the projects, each with how far it is."""
    return {"projects": [_told(call, each) for each in call.desk.projects()]}


def _told(call: Call, project: Project) -> dict[str, Any]:
    """Say how far a project is; of one whose study cannot be used, why."""
    wrong, section = "", ""
    try:
        section = call.desk.project(project.name).study.section
        state = call.runs.progress(project).state
    except SfumatoError as error:
        wrong, state = in_forms(call.desk.locally(str(error), project.name)), "idle"
    return {"name": project.name, "explored": project.is_explored, "section": section, "state": state, "wrong": wrong}


def home(call: Call) -> Response:
    """Show the projects, and the way to a new one."""
    return page("home.html", call, **projects(call))


PROJECT = an_object(name=text, explored=flag, section=text, state={"enum": list(STATES)}, wrong=text)
ENDPOINTS = (
    Endpoint("GET", "/", "Shows the projects of the folder.", home),
    Endpoint(
        "GET",
        "/api/projects",
        "Lists the projects, each with how far it is.",
        projects,
        gives=an_object(projects=a_list(PROJECT)),
    ),
)
