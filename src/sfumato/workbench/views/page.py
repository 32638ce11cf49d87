"""Rendering pages from templates and texts, and changing a study.

A change applies to a known version and can be undone and redone. A page whose data cannot be read shows the reason.
"""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

import tomlkit
from starlette.responses import HTMLResponse, Response

from sfumato.config.options import Option
from sfumato.errors import SfumatoError
from sfumato.texts.catalogue import t, texts
from sfumato.texts.html import in_script, render
from sfumato.workbench.data_sources import is_gone
from sfumato.workbench.endpoints import Call, endpoint
from sfumato.workbench.errors import ConflictError
from sfumato.workbench.projects import Project, lock_of

STEPS = ("columns", "hierarchies", "risk", "wishes", "run", "map", "publish")
"""The steps of a project, in order; each is a page `/projects/NAME/STEP`."""


PATIENCE = 5.0
"""Seconds after which a page reports that it is computing; kernels are compiled the first time."""

MOST_WAITING = 32
"""Pages that are being computed, or were and have not been requested again."""

VERSION = Option("The version of the study to which the change applies; refused if it has changed since.")


def page(template: str, call: Call, step: str = "", **values: Any) -> HTMLResponse:
    """Render a page; its script reads the value `data`."""
    project = call.project.name if "project" in call.names else None
    data = in_script(values.pop("data", {}))
    return HTMLResponse(
        render(
            f"workbench/{template}",
            t=t,
            texts=in_script(texts("pages")),
            csrf=call.csrf,
            step=step,
            steps=STEPS,
            project=project,
            data=data,
            **values,
        )
    )


def state(project: Project) -> dict[str, Any]:
    """Return the version of the study, and what can be undone or redone."""
    notes = project.notes()
    last = {name: (notes.get(name) or [{"why": None}])[-1]["why"] for name in ("undo", "redo")}
    return {"version": project.version, **last}


def changed(
    project: Project, version: str | None, why: str, edit: Callable[[tomlkit.TOMLDocument], None]
) -> dict[str, Any]:
    """Change a study, unless its version is another one."""
    with lock_of(project.folder):
        if version is not None and version != project.version:
            raise ConflictError(t("changes.stale"))
        project.change(why, edit)
        return state(project)


def put_entries(section: Any, said: Mapping[str, Any]) -> None:
    """Write entries into a section of a study; None removes one."""
    for name, value in said.items():
        if value is not None:
            section[name] = value
        else:
            section.pop(name, None)


@endpoint("POST", "/api/projects/{project}/undo")
def undo(call: Call) -> dict[str, Any]:
    """Undo the last change of the study."""
    return {"why": call.project.undo(), **state(call.project)}


@endpoint("POST", "/api/projects/{project}/redo")
def redo(call: Call) -> dict[str, Any]:
    """Redo the last undone change."""
    return {"why": call.project.redo(), **state(call.project)}


def data_page(template: str, call: Call, step: str, values: Callable[[Project], dict[str, Any]]) -> Response:
    """Return a page about the data of a project.

    If they cannot be read, it shows the reason and the remedy; if that takes long, that it is computing.
    """
    project = call.project
    try:
        if is_gone(project):
            return page("gone.html", call, step, file=project.notes()["source"]["name"])
        content = _worked_out(
            f"{project.folder} {project.version} {step} {sorted(call.query.items())}", project, values
        )
    except SfumatoError as error:
        return page("unreadable.html", call, step, sentence=project.in_page_words(str(error)), state=state(project))
    if content is None:
        return page("waiting.html", call, step)
    return page(template, call, step, state=state(project), **content)


_working: dict[str, Future[dict[str, Any]]] = {}
_at_work = threading.Lock()


def _worked_out(key: str, project: Project, values: Callable[[Project], dict[str, Any]]) -> dict[str, Any] | None:
    """Compute the values of a page; return None if it takes too long, and continue in the background."""
    with _at_work:
        future = _working.get(key)
        if future is None:
            for other in (
                [each for each, done in _working.items() if done.done()] if len(_working) > MOST_WAITING else ()
            ):
                del _working[other]  # it was not requested again
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
