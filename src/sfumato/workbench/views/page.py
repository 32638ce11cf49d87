"""How every page is made: a template of ours, the texts, and where one is in the walk; and how a study is changed.

Changes of a study are made on a text that is known, taken back, made again. A page whose data cannot be read says why.
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
"""The walk of a project, in order; each is a page `/projects/NAME/STEP`."""


PATIENCE = 5.0
"""Seconds after which a page says that it is being worked out: kernels are compiled the first time."""

MOST_WAITING = 32
"""Pages that are worked out, or were and nobody has come back for them."""

VERSION = Option("The version of the study that the change was made on: refused where it has changed since.")


def page(template: str, call: Call, step: str = "", **values: Any) -> HTMLResponse:
    """Fill in a page; `data` among the values is what its script reads."""
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


def put_entries(section: Any, said: Mapping[str, Any]) -> None:
    """Write entries into a section of a study; of one that is None nothing is said any more."""
    for name, value in said.items():
        if value is not None:
            section[name] = value
        else:
            section.pop(name, None)


@endpoint("POST", "/api/projects/{project}/undo")
def undo(call: Call) -> dict[str, Any]:
    """Take the last change of the study back."""
    return {"why": call.project.undo(), **state(call.project)}


@endpoint("POST", "/api/projects/{project}/redo")
def redo(call: Call) -> dict[str, Any]:
    """Make the change again that was taken back last."""
    return {"why": call.project.redo(), **state(call.project)}


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
        return page("unreadable.html", call, step, sentence=project.told(str(error)), state=state(project))
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
