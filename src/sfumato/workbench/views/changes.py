"""Changes of a study: made on a text that is known, taken back, made again. And pages whose data cannot be read."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import tomlkit
from starlette.responses import Response

from sfumato.configuration import Option
from sfumato.errors import SfumatoError
from sfumato.texts.catalogue import t
from sfumato.workbench.data.sentences import in_forms
from sfumato.workbench.data.sources import is_gone
from sfumato.workbench.desk import Project, lock_of
from sfumato.workbench.endpoints import Call, Endpoint
from sfumato.workbench.errors import ConflictError
from sfumato.workbench.views.page import page

PATIENCE = 5.0
"""Seconds after which a page says that it is being worked out: kernels are compiled the first time."""

MOST_WAITING = 32
"""Pages that are worked out, or were and nobody has come back for them."""

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
    """Make a page about the data of a project.

    Where they cannot be read it says why, and what can be done; where that takes long, that it is being worked out.
    """
    project = call.project
    try:
        if is_gone(project):
            return page("gone.html", call, step, file=project.notes()["source"]["name"])
        content = _worked_out(
            f"{project.folder} {project.version} {step} {sorted(call.query.items())}", project, values
        )
    except SfumatoError as error:
        return page("unreadable.html", call, step, sentence=in_forms(project.locally(str(error))), state=state(project))
    if content is None:
        return page("waiting.html", call, step)
    return page(template, call, step, state=state(project), **content)


_working: dict[str, Future[dict[str, Any]]] = {}
_at_work = threading.Lock()


def _worked_out(key: str, project: Project, values: Callable[[Project], dict[str, Any]]) -> dict[str, Any] | None:
    """Work out what a page shows; None where that takes longer than anybody waits, and goes on meanwhile."""
    with _at_work:
        future = _working.get(key)
        if future is None:
            for other in (
                [each for each, done in _working.items() if done.done()] if len(_working) > MOST_WAITING else ()
            ):
                del _working[other]  # nobody came back for it
            future = _working[key] = Future()
            threading.Thread(target=_work, args=(future, project, values), daemon=True).start()
    try:
        content = future.result(PATIENCE)
    except TimeoutError:
        return None
    finally:
        if future.done():
            with _at_work:
                _working.pop(key, None)
    return content


def _work(future: Future[dict[str, Any]], project: Project, values: Callable[[Project], dict[str, Any]]) -> None:
    try:
        future.set_result(values(project))
    except Exception as error:
        future.set_exception(error)


ENDPOINTS = (
    Endpoint("POST", "/api/projects/{project}/undo", "Takes the last change of the study back.", undo),
    Endpoint("POST", "/api/projects/{project}/redo", "Makes the change again that was taken back last.", redo),
)
