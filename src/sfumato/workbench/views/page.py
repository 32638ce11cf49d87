"""How every page is made: a template of ours, the texts, and where one is in the walk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse

from sfumato.texts.catalogue import t, texts
from sfumato.texts.render import in_script, render

if TYPE_CHECKING:
    from sfumato.workbench.endpoints import Call

STEPS = ("columns", "hierarchies", "risk", "wishes", "run", "map", "publish")
"""The walk of a project, in order; each is a page `/projects/NAME/STEP`."""


def error_page(sentence: str, status: int, inside: bool = True) -> HTMLResponse:
    """Say on a page of its own why something was not answered; who is not inside has no way back to the projects."""
    whole = sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
    return HTMLResponse(render("workbench/error.html", t=t, sentence=whole, inside=inside), status)


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
