"""Changes of a study: made on a text that is known, taken back, made again. And pages whose data cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tomlkit
from starlette.responses import Response

from sfumato.configuration import Option
from sfumato.errors import SfumatoError
from sfumato.workbench.data.sources import is_gone
from sfumato.workbench.desk import Project, lock_of
from sfumato.workbench.endpoints import Call, Endpoint
from sfumato.workbench.errors import ConflictError
from sfumato.workbench.texts import t
from sfumato.workbench.views.page import page

VERSION = Option("The version of the study that the change was made on: refused where it has changed since.")


def state(project: Project) -> dict[str, Any]:
    """Say which text of the study this is, and what can be taken back or made again."""
    notes = project.notes()
    last = {name: (notes.get(name) or [{"why": None}])[-1]["why"] for name in ("undo", "redo")}
    return {"version": project.version, **last}


def changed(
    project: Project, version: str | None, why: str, edit: Callable[[tomlkit.TOMLDocument], None]
) -> dict[str, Any]:
    """Change a study, unless it is another one by now."""
    with lock_of(project.folder):
        if version is not None and version != project.version:
            raise ConflictError(t("changes.stale"))
        project.change(why, edit)
        return state(project)


def undo(call: Call) -> dict[str, Any]:
    """Take the last change back."""
    why = call.project.undo()
    return {"why": why, **state(call.project)}


def redo(call: Call) -> dict[str, Any]:
    """Make the change again that was taken back last."""
    why = call.project.redo()
    return {"why": why, **state(call.project)}


def data_page(template: str, call: Call, step: str, values: Callable[[Project], dict[str, Any]]) -> Response:
    """Make a page about the data of a project; where they cannot be read it says why, and what can be done."""
    project = call.project
    try:
        if is_gone(project):
            return page("gone.html", call, step, file=project.notes()["source"]["name"])
        content = values(project)
    except SfumatoError as error:
        return page("unreadable.html", call, step, sentence=project.locally(str(error)), state=state(project))
    return page(template, call, step, state=state(project), **content)


ENDPOINTS = (
    Endpoint("POST", "/api/projects/{project}/undo", "Takes the last change of the study back.", undo),
    Endpoint("POST", "/api/projects/{project}/redo", "Makes the change again that was taken back last.", redo),
)
